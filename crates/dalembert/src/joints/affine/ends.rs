//! Joints between affine bodies (Lan et al., Affine Body Dynamics, 2022; Chen et al., A Unified Newton Barrier Method for
//! Multibody Dynamics, 2022), as equations between blocks.
//!
//! A material point X of an affine body is $\sum_j w_j z_j$ with $w = (1, X)$, and an axis $\sum_j t_j z_j$ over its columns. So
//! what says "two points stay together" or "two axes stay parallel" is exactly linear in the unknowns and becomes rows:
//!
//! | joint | rows of three | terms |
//! |---|---|---|
//! | ball | $c_i = c_j$ | |
//! | hinge | $c_i = c_j$, $t_i = t_j$ | |
//! | fixed | $c_i = c_j$, $t_i = t_j$, $n_i = n_j$, $b_i = b_j$ | |
//! | slider | $t_i = t_j$, $n_i = n_j$, $b_i = b_j$ | $d\cdot n_i = d\cdot b_i = 0$ |
//! | cylindrical | $t_i = t_j$ | $d\cdot n_i = d\cdot b_i = 0$ |
//! | screw | $t_i = t_j$ | the same, and $\tfrac12 d\cdot(t_i + t_j) = \tfrac{p}{2\pi}\theta$ |
//! | planar | $t_i = t_j$ | $d\cdot t_i = 0$ |
//! | universal | $c_i = c_j$ | $t_i\cdot n_j = 0$ |
//! | distance | | $\lvert d\rvert = \ell$ |
//! | point on line, in plane | | $d\cdot n_i = d\cdot b_i = 0$, $d\cdot t_i = 0$ |
//!
//! The terms are held by multipliers ([`JointTerm`](super::JointTerm)). A soft joint has a spring and damper on every row
//! instead: kp in N/m between anchors, in N·m/rad between axes (a turn moves two of three axes, so each of three has half
//! of it).

use super::{BlockVector, Measure};
use crate::joints::rows::{B, N, T};

/// The two ends of a joint between affine bodies: what [`Ends`](crate::joints::rows::Ends) is between rigid ones.
pub struct AffineEnds {
    /// Anchors c_i, c_j.
    pub anchors: [BlockVector; 2],
    /// d = c_j − c_i.
    pub d: BlockVector,
    /// Axes t, n, b of i and of j.
    pub axes: [[BlockVector; 3]; 2],
    /// d·t at the start \[m\].
    pub start: f64,
}

/// A sum of measures with factors, and the value that it keeps.
pub type HeldMeasure = (Vec<(f64, Measure)>, f64);

/// What a joint holds between affine bodies.
#[derive(Default)]
pub struct AffineRows {
    /// Vectors that are zero, each with its share of a soft joint's gains.
    pub rows: Vec<(BlockVector, f64)>,
    /// Measures with a target each.
    pub holds: Vec<HeldMeasure>,
}

impl AffineEnds {
    /// The anchors stay together.
    pub fn together(&self) -> (BlockVector, f64) {
        (self.anchors[0].minus(&self.anchors[1]), 1.0)
    }

    /// An axis of i and the same of j stay one vector.
    pub fn aligned(&self, axis: usize, share: f64) -> (BlockVector, f64) {
        (self.axes[0][axis].minus(&self.axes[1][axis]), share)
    }

    /// All axes stay the same.
    pub fn same_axes(&self) -> [(BlockVector, f64); 3] {
        [T, N, B].map(|axis| self.aligned(axis, 0.5))
    }

    /// c_j does not leave c_i along an axis of i: d·e = 0.
    pub fn across(&self, axis: usize) -> HeldMeasure {
        (vec![(1.0, Measure::Dot([self.d.clone(), self.axes[0][axis].clone()]))], 0.0)
    }

    /// An axis of i and one of j stay square to each other.
    pub fn square(&self, axis_i: usize, axis_j: usize) -> HeldMeasure {
        let axes = [self.axes[0][axis_i].clone(), self.axes[1][axis_j].clone()];
        (vec![(1.0, Measure::Dot(axes))], 0.0)
    }

    /// The angle of j against i about t.
    pub fn angle(&self) -> Measure {
        let [i, j] = &self.axes;
        Measure::Angle([i[N].clone(), i[B].clone(), j[N].clone(), j[B].clone()])
    }

    /// The slide of j against i along the mean of both t.
    pub fn position(&self) -> Measure {
        Measure::Dot([self.d.clone(), self.axes[0][T].combined(0.5, &self.axes[1][T], 0.5)])
    }
}
