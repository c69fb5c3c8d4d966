//! Joints of affine bodies as a model reads them: quantities, energy and worst violation.

use super::Model;
use crate::joints::affine::{AffineJoint, AffineJoints, JointRole, JointTerm};
use crate::state::State;

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
    /// A part of a joint by name: `elbow` and `angle`, `elbow.motor` and `force`.
    fn part(&self, name: &str, part: &str) -> Option<JointPart> {
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
        self.ipc.as_ref()?.joints.part(name, part)
    }

    pub(super) fn read_affine_joint(&self, state: &State, part: JointPart) -> f64 {
        let Some(ipc) = &self.ipc else { return 0.0 };
        let joints = &ipc.joints;
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
                let rows = ipc.rows[j.rows.clone()].iter().map(row).fold(0.0, f64::max);
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
        self.ipc.as_ref().is_some_and(|c| c.joints.terms.iter().any(|t| t.role.stiffness() > 0.0))
    }

    /// Energy in servos, soft limits and soft rows of affine joints \[J\]; soft linear rows are forces of their own.
    pub(super) fn affine_joint_energy(&self, state: &State) -> f64 {
        let Some(ipc) = &self.ipc else { return 0.0 };
        let energy = |t: &JointTerm| {
            let kp = t.role.stiffness();
            if kp == 0.0 {
                return 0.0;
            }
            let x = ipc.joints.value(t.coordinate, &state.q, &state.turns);
            let off = match t.role {
                JointRole::Lower { low, .. } => (x - low).min(0.0),
                JointRole::Upper { high, .. } => (x - high).max(0.0),
                JointRole::Spring { target, .. } => x - target,
                _ => 0.0,
            };
            0.5 * kp * off * off
        };
        ipc.joints.terms.iter().map(energy).sum()
    }

    /// Worst violation of all joints of affine bodies that hold exactly \[m or rad\].
    pub(super) fn worst_affine_gap(&self, state: &State) -> f64 {
        let Some(ipc) = &self.ipc else { return 0.0 };
        let exact = |j: &AffineJoint| j.own.clone().all(|t| ipc.joints.terms[t].role.is_exact());
        let gaps = ipc.joints.joints.iter().enumerate().filter(|(_, j)| exact(j));
        gaps.map(|(k, _)| self.read_affine_joint(state, JointPart::Gap(k))).fold(0.0, f64::max)
    }
}
