//! Joints of affine bodies that are more than linear rows: coordinates, and what acts on them.
//!
//! A *coordinate* is a weighted sum of [measures](Measure): an angle, a slide, a row of a joint, or
//! θ₁ + ratio·θ₂ of a gear. A *term* acts on one coordinate x with a force $-\psi'(x)$. Over one step of `ipc` every term is
//!
//! $$ \psi'(x) = \mathrm{clamp}\big(\lambda + \rho\,(x - x^*),\ l,\ u\big), $$
//!
//! where $x_s$ and $\dot x_s$ belong to the state that velocities count from and d is the step of the scheme:
//!
//! | term | ρ | x* | l … u | λ |
//! |---|---|---|---|---|
//! | hold | large | target | −∞ … ∞ | found |
//! | lower limit | large | limit | −∞ … 0 | found |
//! | upper limit | large | limit | 0 … ∞ | found |
//! | spring, servo, damper | $k_p + k_d/d$ | $(k_p x_0 + k_d x_s/d)/\rho$ | −max … max | 0 |
//! | soft lower limit | $k_p + k_d/d$ | $(k_p x_0 + k_d\min(x_s, x_0)/d)/\rho$ | −∞ … 0 | 0 |
//! | motor with a rate r, dry friction (r = 0) | large | $x_s + r d$ | −max … max | found |
//! | effort τ | 0 | | | −τ |
//! | rotor of inertia I | $I/d^2$ | $x_s + d\dot x_s$ | −∞ … ∞ | 0 |
//!
//! So a spring and damper is the implicit one at any step size, and kp, kd keep their meaning. Where λ is "found", the
//! method of multipliers takes $\lambda\leftarrow\psi'(x)$ after each minimisation until it does not change: then
//! $x = x^*$, or the force is at its bound. ψ is convex in x in every row of the table.

use std::ops::Range;

use super::Measure;
use crate::joints::{Hold, Role};
use crate::math::Vec3;
use crate::math::rotation::unwrap_angle;
use crate::math::triple;

/// All of them, and the blocks' masses.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AffineJoints {
    /// Scalar functions of the blocks.
    pub measures: Vec<Measure>,
    /// Weighted sums of measures.
    pub coordinates: Vec<JointCoordinate>,
    /// What acts on coordinates.
    pub terms: Vec<JointTerm>,
    /// Joints by name.
    pub joints: Vec<AffineJoint>,
    /// Inertia of every block \[kg, or kg·m² for the column of a body\]; infinite for held ones. For the size of ρ.
    pub inertia: Vec<f64>,
}

/// Σ α m.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JointCoordinate {
    /// Factor and number of each measure.
    pub parts: Vec<(f64, u32)>,
}

/// A term on a coordinate.
#[derive(Debug, Clone, PartialEq)]
pub struct JointTerm {
    /// Such as `elbow`, `elbow.motor`.
    pub name: String,
    /// Number of the coordinate.
    pub coordinate: u32,
    /// How the coordinate is held: at `target`, or as a role on it.
    pub hold: Hold,
    /// Where a hard or soft hold keeps the coordinate \[rad or m\].
    pub target: f64,
}

impl JointTerm {
    /// C of its row.
    pub fn violation(&self, x: f64) -> f64 {
        match self.hold {
            Hold::Axis { role, .. } => role.violation(x),
            _ => x - self.target,
        }
    }

    /// True if its λ is found by the method of multipliers.
    pub fn is_exact(&self) -> bool {
        match self.hold {
            Hold::Hard => true,
            Hold::Axis { role: Role::Velocity { .. } | Role::Friction(_), .. } => true,
            Hold::Axis { role: Role::Lower(_) | Role::Upper(_), kp, .. } => kp.is_infinite(),
            _ => false,
        }
    }
}

/// A joint as a user knows it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AffineJoint {
    /// Its name.
    pub name: String,
    /// Its exact linear rows.
    pub rows: Range<usize>,
    /// Its own terms: holds, or springs of a soft joint. Limits, motors and the rest follow up to `all.end`.
    pub own: Range<usize>,
    /// All its terms.
    pub all: Range<usize>,
    /// Coordinate that is its angle.
    pub angle: Option<u32>,
    /// Coordinate that is its position.
    pub position: Option<u32>,
}

impl AffineJoints {
    /// Numbers that a state keeps: where each measure stood, λ of each term, λ of each of `rows` linear rows.
    pub fn memory(&self, rows: usize) -> usize {
        self.measures.len() + self.terms.len() + 3 * rows
    }

    /// Value of a coordinate; angles continue from the memory `turns`.
    pub fn value(&self, c: u32, z: &[f64], turns: &[f64]) -> f64 {
        let part = |&(factor, m): &(f64, u32)| {
            let (measure, last) = (&self.measures[m as usize], turns[m as usize]);
            let value = measure.value(z);
            factor * if measure.turns() { unwrap_angle(last, value) } else { value }
        };
        self.coordinates[c as usize].parts.iter().map(part).sum()
    }

    /// Gradient of a coordinate over the blocks, one entry per block.
    pub fn gradient(&self, c: u32, z: &[f64], out: &mut Vec<(u32, Vec3)>) {
        out.clear();
        for &(factor, m) in &self.coordinates[c as usize].parts {
            self.measures[m as usize].add_gradient(z, factor, out);
        }
    }

    /// Rate of a coordinate for velocities v of the blocks.
    pub fn rate(&self, c: u32, z: &[f64], v: &[f64]) -> f64 {
        let mut list = Vec::new();
        self.gradient(c, z, &mut list);
        list.iter().map(|(i, g)| g.dot(&triple(v, *i as usize))).sum()
    }

    /// The joint with the given name.
    pub fn joint(&self, name: &str) -> Option<usize> {
        self.joints.iter().position(|j| j.name == name)
    }
}
