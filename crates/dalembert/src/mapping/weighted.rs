//! Weighted: a child is a combination of parents, $x_c = \sum_k w_k\,x_{p_k}$.
//!
//! J holds the constant blocks $w_k I$, so velocities follow by the same sum, forces go back as
//! $f_{p_k} \mathrel{+}= w_k f_c$, and there is no geometric stiffness. Points inside elements (barycentric,
//! trilinear), on surfaces and in affine bodies are all of this form: [`Weights`] has the constructors.

use super::Mapping;
use crate::math::{Blocks, Mat3, Vec3, add_triple, set_triple, triple};
use crate::mesh::Weights;
use crate::state::Layout;

/// Child points that are constant combinations of parent points.
#[derive(Debug, Clone)]
pub struct Weighted {
    layout: Layout,
    weights: Weights,
    first_child: usize,
}

impl Weighted {
    /// Child number k, point `first_child + k`, follows row k of `weights`, whose parents are points before
    /// `first_child`, counted over all points of the model.
    pub fn new(layout: Layout, weights: Weights, first_child: usize) -> Self {
        debug_assert!(weights.last_parent().is_none_or(|p| (p as usize) < first_child));
        debug_assert!(first_child + weights.len() <= layout.points);
        Self { layout, weights, first_child }
    }

    fn combine(&self, points: &mut [f64]) {
        for c in 0..self.weights.len() {
            let x: Vec3 = self.weights.row(c).map(|(p, w)| w * triple(points, p as usize)).sum();
            set_triple(points, self.first_child + c, &x);
        }
    }
}

impl Mapping for Weighted {
    fn kind(&self) -> &'static str {
        "weighted"
    }

    fn carry(&self, q: &mut [f64]) {
        self.combine(&mut q[self.layout.points_q()..]);
    }

    fn carry_velocity(&self, _q: &[f64], v: &mut [f64]) {
        self.combine(&mut v[self.layout.points_v()..]);
    }

    fn gather_force(&self, _q: &[f64], f: &mut [f64]) {
        let points = &mut f[self.layout.points_v()..];
        for c in 0..self.weights.len() {
            let force = triple(points, self.first_child + c);
            for (p, w) in self.weights.row(c) {
                add_triple(points, p as usize, &(w * force));
            }
        }
    }

    fn add_jacobian_blocks(&self, _q: &[f64], out: &mut Blocks) -> bool {
        let base = self.layout.points_v() / 3;
        for c in 0..self.weights.len() {
            for (p, w) in self.weights.row(c) {
                out.add(base + self.first_child + c, base + p as usize, Mat3::from_diagonal_element(w));
            }
        }
        true
    }
}
