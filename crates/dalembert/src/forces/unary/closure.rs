//! A force written by the user for one point: f(t, x, v, m).
//!
//! Stiffness and damping come from central differences of the closure, with step $\varepsilon^{1/3}(1+|x|)$ and an
//! error of about $\varepsilon^{2/3} \approx 4\cdot 10^{-11}$ of the force's scale.

use crate::forces::{Blocks, Force, Points};
use crate::math::{Mat3, Vec3, add_triple, triple};
use crate::state::PointSet;

type PointForce = dyn Fn(f64, &Vec3, &Vec3, f64) -> Vec3 + Send + Sync;
type PointEnergy = dyn Fn(f64, &Vec3, f64) -> f64 + Send + Sync;

/// Applies a user's closure to each point of a set.
pub struct PointClosure {
    /// Points that feel it.
    pub on: PointSet,
    /// Force \[N\] from time \[s\], position \[m\], velocity \[m/s\], mass \[kg\].
    pub force: Box<PointForce>,
    /// Energy \[J\] from time, position, mass, if the force has one.
    pub energy: Option<Box<PointEnergy>>,
}

impl PointClosure {
    /// −∂f/∂x or −∂f/∂v of point i by central differences.
    fn jacobian(&self, p: &Points, i: usize, along_velocity: bool) -> Mat3 {
        let (x, v, m) = (p.position(i), p.velocity(i), p.mass[i]);
        let at = if along_velocity { v } else { x };
        let mut out = Mat3::zeros();
        for k in 0..3 {
            let e = f64::EPSILON.cbrt() * (1.0 + at[k].abs());
            let (mut high, mut low) = (at, at);
            high[k] += e;
            low[k] -= e;
            let f = |y: &Vec3| {
                if along_velocity { (self.force)(p.time, &x, y, m) } else { (self.force)(p.time, y, &v, m) }
            };
            out.set_column(k, &(-(f(&high) - f(&low)) / (high[k] - low[k])));
        }
        out
    }
}

impl Force for PointClosure {
    fn kind(&self) -> &'static str {
        "point_closure"
    }

    fn energy(&self, p: &Points) -> f64 {
        let Some(energy) = &self.energy else { return 0.0 };
        self.on.within(p.first, p.len()).flatten().map(|i| energy(p.time, &p.position(i), p.mass[i])).sum()
    }

    fn add_force(&self, p: &Points, f: &mut [f64]) {
        for i in self.on.within(p.first, p.len()).flatten() {
            add_triple(f, i, &(self.force)(p.time, &p.position(i), &p.velocity(i), p.mass[i]));
        }
    }

    fn add_stiffness_times(&self, p: &Points, dx: &[f64], df: &mut [f64]) {
        for i in self.on.within(p.first, p.len()).flatten() {
            add_triple(df, i, &(self.jacobian(p, i, false) * triple(dx, i)));
        }
    }

    fn add_stiffness_blocks(&self, p: &Points, out: &mut Blocks) {
        for i in self.on.within(p.first, p.len()).flatten() {
            out.add(p.first + i, p.first + i, self.jacobian(p, i, false));
        }
    }

    fn add_damping_times(&self, p: &Points, dv: &[f64], df: &mut [f64]) {
        for i in self.on.within(p.first, p.len()).flatten() {
            add_triple(df, i, &(self.jacobian(p, i, true) * triple(dv, i)));
        }
    }

    fn add_damping_blocks(&self, p: &Points, out: &mut Blocks) {
        for i in self.on.within(p.first, p.len()).flatten() {
            out.add(p.first + i, p.first + i, self.jacobian(p, i, true));
        }
    }

    fn is_local(&self) -> bool {
        true
    }

    fn is_conservative(&self) -> bool {
        self.energy.is_some()
    }
}
