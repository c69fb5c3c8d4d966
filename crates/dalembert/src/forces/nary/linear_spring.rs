//! Spring and damper on a weighted sum of points: $W = \tfrac12 k_p\,|r|^2$, $r = \sum_i w_i x_i - c$.
//!
//! The force on point i is $-w_i (k_p r + k_d\dot r)$, and both tangents are constant: $w_i w_j k_p\mathbf 1$ and
//! $w_i w_j k_d\mathbf 1$. Between points of affine bodies this is a soft joint.

use crate::forces::{Blocks, Force, Points};
use crate::math::{Mat3, Vec3, add_triple, triple};

/// One spring.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearSpring {
    /// Points and their weights.
    pub terms: Vec<(u32, f64)>,
    /// c \[m\].
    pub value: Vec3,
    /// Stiffness \[N/m\], ≥ 0.
    pub kp: f64,
    /// Damping \[N·s/m\], ≥ 0.
    pub kd: f64,
}

impl LinearSpring {
    fn sum(&self, a: &[f64]) -> Vec3 {
        self.terms.iter().map(|&(i, w)| w * triple(a, i as usize)).sum()
    }

    fn spread(&self, force: &Vec3, out: &mut [f64]) {
        for &(i, w) in &self.terms {
            add_triple(out, i as usize, &(w * force));
        }
    }

    fn add_blocks(&self, k: f64, out: &mut Blocks) {
        for &(i, a) in &self.terms {
            for &(j, b) in &self.terms {
                out.add(i as usize, j as usize, Mat3::from_diagonal_element(k * a * b));
            }
        }
    }
}

/// A batch of them.
#[derive(Debug, Clone, Default)]
pub struct LinearSprings {
    /// The springs.
    pub springs: Vec<LinearSpring>,
}

impl Force for LinearSprings {
    fn kind(&self) -> &'static str {
        "linear springs"
    }

    fn energy(&self, p: &Points) -> f64 {
        self.springs.iter().map(|s| 0.5 * s.kp * (s.sum(p.x) - s.value).norm_squared()).sum()
    }

    fn add_force(&self, p: &Points, f: &mut [f64]) {
        for s in &self.springs {
            s.spread(&-(s.kp * (s.sum(p.x) - s.value) + s.kd * s.sum(p.v)), f);
        }
    }

    fn add_stiffness_times(&self, _p: &Points, dx: &[f64], df: &mut [f64]) {
        for s in &self.springs {
            s.spread(&(s.kp * s.sum(dx)), df);
        }
    }

    fn add_stiffness_blocks(&self, _p: &Points, out: &mut Blocks) {
        self.springs.iter().for_each(|s| s.add_blocks(s.kp, out));
    }

    fn add_damping_times(&self, _p: &Points, dv: &[f64], df: &mut [f64]) {
        for s in &self.springs {
            s.spread(&(s.kd * s.sum(dv)), df);
        }
    }

    fn add_damping_blocks(&self, _p: &Points, out: &mut Blocks) {
        self.springs.iter().for_each(|s| s.add_blocks(s.kd, out));
    }

    fn has_projection(&self) -> bool {
        true
    }

    fn is_conservative(&self) -> bool {
        self.springs.iter().all(|s| s.kd == 0.0)
    }
}
