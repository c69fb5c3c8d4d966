//! Coupler: the coordinates of two joints move in proportion, $\theta_1 + k\,\theta_2 = c$.
//!
//! Gears on parallel shafts: k is the ratio (negative for a belt). A rack and pinion: the first coordinate is the
//! rack's slide and k is minus the pinion's radius.

use super::axis::{Axis, coordinate};
use super::rows::Ends;
use super::{Body, Constraint, End, Holder, Rows};

/// One coordinate of a coupler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coupling {
    /// Which coordinate.
    pub axis: Axis,
    /// The joint's ends.
    pub ends: [End; 2],
}

/// Two joint coordinates in proportion.
#[derive(Debug, Clone, PartialEq)]
pub struct Coupler {
    /// The coordinates θ₁ and θ₂.
    pub joints: [Coupling; 2],
    /// k \[1, or m/rad for a rack and pinion\].
    pub ratio: f64,
    /// c: the value at the start \[rad or m\].
    pub offset: f64,
    holders: [Holder; 4],
}

impl Coupler {
    /// θ₁ + k θ₂ = c.
    pub fn new(joints: [Coupling; 2], ratio: f64, offset: f64) -> Self {
        let [a, b] = joints;
        let holders = [a.ends[0].holder, a.ends[1].holder, b.ends[0].holder, b.ends[1].holder];
        Self { joints, ratio, offset, holders }
    }

    fn ends<'a>(&'a self, k: usize, bodies: &'a [Body]) -> Ends<'a> {
        Ends::new(&self.joints[k].ends, &bodies[2 * k..2 * k + 2])
    }
}

impl Constraint for Coupler {
    fn kind(&self) -> &'static str {
        "coupler"
    }

    fn rows(&self) -> usize {
        1
    }

    fn holders(&self) -> &[Holder] {
        &self.holders
    }

    fn evaluate(&self, _t: f64, bodies: &[Body], turns: &[f64], out: &mut Rows) {
        let mut sum = -self.offset;
        for k in 0..2 {
            let factor = if k == 0 { 1.0 } else { self.ratio };
            let e = self.ends(k, bodies);
            // One pair of ends writes to blocks 0 and 1: build it apart, then move it to its own pair.
            let mut part = Rows { ask: out.ask, ..Rows::default() };
            let value = match self.joints[k].axis {
                Axis::Angle => e.add_angle(0, factor, turns[k], &mut part),
                Axis::Position => e.add_position(0, factor, &mut part),
            };
            sum += factor * value;
            out.bias[0] += part.bias[0];
            out.jacobian[2 * k] = part.jacobian[0];
            out.jacobian[2 * k + 1] = part.jacobian[1];
        }
        out.violation[0] = sum;
    }

    fn coordinates(&self, bodies: &[Body], turns: &[f64]) -> [Option<f64>; 2] {
        [0, 1].map(|k| Some(coordinate(self.joints[k].axis, &self.ends(k, bodies), turns[k])))
    }

    fn pivots_on_one(&self) -> bool {
        false
    }
}
