//! Joints of affine bodies that are more than linear rows: coordinates, and what acts on them.
//!
//! A *coordinate* is a weighted sum of [measures](crate::joints::affine::Measure): an angle, a slide, a row of a joint, or
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

use super::Model;
use crate::joints::affine::Measure;
use crate::math::rotation::unwrap_angle;
use crate::state::State;

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

/// What a term does; `low`, `target` and so on in rad or m, forces in N·m or N.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum JointRole {
    /// Holds the coordinate exactly.
    Hold {
        /// Where.
        target: f64,
    },
    /// Not below; exactly if `kp` is infinite.
    Lower {
        /// Limit.
        low: f64,
        /// Stiffness.
        kp: f64,
        /// Damping beyond the limit.
        kd: f64,
    },
    /// Not above; exactly if `kp` is infinite.
    Upper {
        /// Limit.
        high: f64,
        /// Stiffness.
        kp: f64,
        /// Damping beyond the limit.
        kd: f64,
    },
    /// Implicit spring and damper with at most `max`.
    Spring {
        /// Rest.
        target: f64,
        /// Stiffness.
        kp: f64,
        /// Damping.
        kd: f64,
        /// Largest effort.
        max: f64,
    },
    /// Keeps a rate with at most `max`; with rate 0 this is dry friction.
    Rate {
        /// Rate \[rad/s or m/s\].
        rate: f64,
        /// Largest effort.
        max: f64,
    },
    /// A constant effort.
    Effort(f64),
    /// A rotor's inertia \[kg·m² or kg\].
    Armature(f64),
}

impl JointRole {
    /// Stiffness of a term that stores energy \[N·m/rad or N/m\]; else 0.
    fn stiffness(&self) -> f64 {
        match *self {
            JointRole::Spring { kp, .. } => kp,
            JointRole::Lower { kp, .. } | JointRole::Upper { kp, .. } if kp.is_finite() => kp,
            _ => 0.0,
        }
    }

    /// True if its λ is found by the method of multipliers.
    pub fn is_exact(&self) -> bool {
        match self {
            JointRole::Hold { .. } | JointRole::Rate { .. } => true,
            JointRole::Lower { kp, .. } | JointRole::Upper { kp, .. } => kp.is_infinite(),
            _ => false,
        }
    }
}

/// A term on a coordinate.
#[derive(Debug, Clone, PartialEq)]
pub struct JointTerm {
    /// Such as `elbow`, `elbow.motor`.
    pub name: String,
    /// Number of the coordinate.
    pub coordinate: u32,
    /// What it does.
    pub role: JointRole,
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

/// What of a joint of affine bodies a [`Quantity`](super::Quantity) reads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum JointPart {
    Value(u32, bool),
    Rate(u32, bool),
    Gap(usize),
    Force(usize),
    /// Force of one term.
    TermForce(usize),
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

    /// Slope of a coordinate over the blocks, one entry per block.
    pub fn slope(&self, c: u32, z: &[f64], out: &mut Vec<(u32, crate::math::Vec3)>) {
        out.clear();
        for &(factor, m) in &self.coordinates[c as usize].parts {
            self.measures[m as usize].add_slope(z, factor, out);
        }
    }

    /// Rate of a coordinate for velocities v of the blocks.
    pub fn rate(&self, c: u32, z: &[f64], v: &[f64]) -> f64 {
        let mut list = Vec::new();
        self.slope(c, z, &mut list);
        list.iter().map(|(i, g)| g.dot(&crate::math::triple(v, *i as usize))).sum()
    }

    /// The joint with the given name.
    pub fn joint(&self, name: &str) -> Option<usize> {
        self.joints.iter().position(|j| j.name == name)
    }

    /// A part of a joint by name: `elbow` and `angle`, `elbow.motor` and `force`.
    pub(super) fn part(&self, name: &str, part: &str) -> Option<JointPart> {
        let Some(k) = self.joint(name) else {
            let term = self.terms.iter().position(|t| t.name == name)?;
            return (part == "force").then_some(JointPart::TermForce(term));
        };
        let j = &self.joints[k];
        match part {
            "angle" => j.angle.map(|c| JointPart::Value(c, true)),
            "position" => j.position.map(|c| JointPart::Value(c, false)),
            "rate" => match (j.angle, j.position) {
                (Some(c), _) => Some(JointPart::Rate(c, true)),
                (None, c) => c.map(|c| JointPart::Rate(c, false)),
            },
            "gap" => Some(JointPart::Gap(k)),
            "force" => Some(JointPart::Force(k)),
            _ => None,
        }
    }
}

impl Model {
    pub(super) fn affine_joint_part(&self, name: &str, part: &str) -> Option<JointPart> {
        self.contact.as_ref()?.joints.part(name, part)
    }

    pub(super) fn read_affine_joint(&self, state: &State, part: JointPart) -> f64 {
        let Some(contact) = &self.contact else { return 0.0 };
        let joints = &contact.joints;
        let first = joints.measures.len();
        match part {
            JointPart::Value(c, _) => joints.value(c, &state.q, &state.turns),
            JointPart::Rate(c, _) => joints.rate(c, &state.q, &state.v),
            JointPart::TermForce(t) => state.turns[first + t].abs(),
            JointPart::Force(k) => {
                let j = &joints.joints[k];
                let own = j.own.clone().map(|t| state.turns[first + t].powi(2)).sum::<f64>();
                let at = first + joints.terms.len();
                let rows = &state.turns[at + 3 * j.rows.start..at + 3 * j.rows.end];
                (own + rows.iter().map(|x| x * x).sum::<f64>()).sqrt()
            }
            JointPart::Gap(k) => {
                let j = &joints.joints[k];
                let row = |r: &super::LinearRow| r.lack(&state.q).norm();
                let rows = contact.rows[j.rows.clone()].iter().map(row).fold(0.0, f64::max);
                let off = |t: usize| match joints.terms[t].role {
                    JointRole::Hold { target } | JointRole::Spring { target, .. } => {
                        (joints.value(joints.terms[t].coordinate, &state.q, &state.turns) - target).abs()
                    }
                    _ => 0.0,
                };
                j.own.clone().map(off).fold(rows, f64::max)
            }
        }
    }

    /// True if terms of affine joints store energy.
    pub(super) fn has_joint_springs(&self) -> bool {
        self.contact.as_ref().is_some_and(|c| c.joints.terms.iter().any(|t| t.role.stiffness() > 0.0))
    }

    /// Energy in servos, soft limits and soft rows of affine joints \[J\]; soft linear rows are forces of their own.
    pub(super) fn affine_joint_energy(&self, state: &State) -> f64 {
        let Some(contact) = &self.contact else { return 0.0 };
        let energy = |t: &JointTerm| {
            let kp = t.role.stiffness();
            if kp == 0.0 {
                return 0.0;
            }
            let x = contact.joints.value(t.coordinate, &state.q, &state.turns);
            let off = match t.role {
                JointRole::Lower { low, .. } => (x - low).min(0.0),
                JointRole::Upper { high, .. } => (x - high).max(0.0),
                JointRole::Spring { target, .. } => x - target,
                _ => 0.0,
            };
            0.5 * kp * off * off
        };
        contact.joints.terms.iter().map(energy).sum()
    }

    /// Worst violation of all joints of affine bodies that hold exactly \[m or rad\].
    pub(super) fn worst_affine_gap(&self, state: &State) -> f64 {
        let Some(contact) = &self.contact else { return 0.0 };
        let exact = |j: &AffineJoint| j.own.clone().all(|t| contact.joints.terms[t].role.is_exact());
        let gaps = contact.joints.joints.iter().enumerate().filter(|(_, j)| exact(j));
        gaps.map(|(k, _)| self.read_affine_joint(state, JointPart::Gap(k))).fold(0.0, f64::max)
    }
}
