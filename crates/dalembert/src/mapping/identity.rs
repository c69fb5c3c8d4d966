//! Identity: child i is parent i, $x_c = x_p$, $J = I$. A second name for a set of points, with forces of its own.

use std::ops::Range;

use super::Mapping;
use crate::math::{Blocks, Mat3};
use crate::state::Layout;

/// Child points that coincide with a contiguous range of parent points.
#[derive(Debug, Clone)]
pub struct Identity {
    layout: Layout,
    parents: Range<usize>,
    first_child: usize,
}

impl Identity {
    /// Children from point `first_child` on follow the points `parents`, which lie before them.
    pub fn new(layout: Layout, parents: Range<usize>, first_child: usize) -> Self {
        debug_assert!(parents.end <= first_child && first_child + parents.len() <= layout.points);
        Self { layout, parents, first_child }
    }

    fn copy(&self, a: &mut [f64], base: usize) {
        let from = base + 3 * self.parents.start..base + 3 * self.parents.end;
        a.copy_within(from, base + 3 * self.first_child);
    }
}

impl Mapping for Identity {
    fn kind(&self) -> &'static str {
        "identity"
    }

    fn carry(&self, q: &mut [f64]) {
        self.copy(q, self.layout.points_q());
    }

    fn carry_velocity(&self, _q: &[f64], v: &mut [f64]) {
        self.copy(v, self.layout.points_v());
    }

    fn gather_force(&self, _q: &[f64], f: &mut [f64]) {
        let base = self.layout.points_v();
        let (before, after) = f.split_at_mut(base + 3 * self.first_child);
        let parents = &mut before[base + 3 * self.parents.start..base + 3 * self.parents.end];
        for (p, c) in parents.iter_mut().zip(after) {
            *p += *c;
        }
    }

    fn add_jacobian_blocks(&self, _q: &[f64], out: &mut Blocks) -> bool {
        let base = self.layout.points_v() / 3;
        for (k, p) in self.parents.clone().enumerate() {
            out.add(base + self.first_child + k, base + p, Mat3::identity());
        }
        true
    }
}
