//! Subset: child i is parent $s_i$, $x_{c,i} = x_{p,s_i}$; J picks rows, Jᵀ adds forces back where they came from.

use super::Mapping;
use crate::math::{Blocks, Mat3, add_triple, set_triple, triple};
use crate::state::{Layout, PointId};

/// Child points that coincide with chosen parent points; one parent may have several children.
#[derive(Debug, Clone)]
pub struct Subset {
    layout: Layout,
    parents: Vec<PointId>,
    first_child: usize,
}

impl Subset {
    /// Child number k, point `first_child + k`, follows `parents[k]`, which lies before it.
    pub fn new(layout: Layout, parents: Vec<PointId>, first_child: usize) -> Self {
        debug_assert!(parents.iter().all(|p| p.index() < first_child));
        debug_assert!(first_child + parents.len() <= layout.points);
        Self { layout, parents, first_child }
    }

    fn copy(&self, points: &mut [f64]) {
        for (k, p) in self.parents.iter().enumerate() {
            let x = triple(points, p.index());
            set_triple(points, self.first_child + k, &x);
        }
    }
}

impl Mapping for Subset {
    fn kind(&self) -> &'static str {
        "subset"
    }

    fn carry(&self, q: &mut [f64]) {
        self.copy(&mut q[self.layout.points_q()..]);
    }

    fn carry_velocity(&self, _q: &[f64], v: &mut [f64]) {
        self.copy(&mut v[self.layout.points_v()..]);
    }

    fn gather_force(&self, _q: &[f64], f: &mut [f64]) {
        let points = &mut f[self.layout.points_v()..];
        for (k, p) in self.parents.iter().enumerate() {
            let force = triple(points, self.first_child + k);
            add_triple(points, p.index(), &force);
        }
    }

    fn add_jacobian_blocks(&self, _q: &[f64], out: &mut Blocks) -> bool {
        let base = self.layout.points_v() / 3;
        for (k, p) in self.parents.iter().enumerate() {
            out.add(base + self.first_child + k, base + p.index(), Mat3::identity());
        }
        true
    }
}
