//! Uniform gravity: $W = -m\,g\cdot x$, $f = m g$, $K = 0$.

use crate::forces::{Force, Points};
use crate::math::{Vec3, each_point};

/// Weight of every point that has mass.
#[derive(Debug, Clone, PartialEq)]
pub struct Gravity {
    /// Acceleration g \[m/s²\].
    pub acceleration: Vec3,
}

impl Force for Gravity {
    fn kind(&self) -> &'static str {
        "gravity"
    }

    fn energy(&self, p: &Points) -> f64 {
        (0..p.len()).map(|i| -p.mass[i] * self.acceleration.dot(&p.position(i))).sum()
    }

    fn share_energy(&self, p: &Points, add: &mut dyn FnMut(usize, f64)) -> bool {
        (0..p.len()).for_each(|i| add(i, -p.mass[i] * self.acceleration.dot(&p.position(i))));
        true
    }

    fn add_force(&self, p: &Points, f: &mut [f64]) {
        let g = self.acceleration;
        each_point(f, p.mass, |f, m| *f = [f[0] + m * g.x, f[1] + m * g.y, f[2] + m * g.z]);
    }

    fn is_local(&self) -> bool {
        true
    }
}
