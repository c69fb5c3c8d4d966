//! Controllers that push on the dofs directly: $\tau = \tau(t, q, \dot q)$, on hinges and slides only.
//!
//! *Gravity compensation* gives the bias at rest, g(q). *PD* adds $k_p(q_d - q) + k_d(\dot q_d - \dot q)$. *Computed
//! torque* runs inverse dynamics on $\ddot q_d + k_d(\dot q_d - \dot q) + k_p(q_d - q)$, so that the error of every joint
//! obeys $\ddot e + k_d\dot e + k_p e = 0$ whatever the robot weighs.

use std::f64::consts::TAU;

use super::{Robot, RobotState};
use crate::bodies::articulated::TreeWork;
use crate::joints::JointKind;

/// The path of one joint: q_d(t) = center + amplitude · sin(2π f t + φ).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Track {
    /// Middle \[rad or m\].
    pub center: f64,
    /// Amplitude \[rad or m\].
    pub amplitude: f64,
    /// Frequency f \[Hz\].
    pub frequency: f64,
    /// Phase φ \[rad\].
    pub phase: f64,
}

impl Track {
    /// Stays at a place.
    pub fn at(center: f64) -> Self {
        Self { center, ..Self::default() }
    }

    /// q_d, its rate and its second rate at t.
    pub fn at_time(&self, t: f64) -> [f64; 3] {
        let w = TAU * self.frequency;
        let (s, c) = (w * t + self.phase).sin_cos();
        [self.center + self.amplitude * s, self.amplitude * w * c, -self.amplitude * w * w * s]
    }
}

/// What pushes on the dofs besides the actuators.
#[derive(Debug, Clone, PartialEq)]
pub enum Controller {
    /// Carries the weight of the links.
    GravityCompensation,
    /// Springs and dampers towards a path, with or without the weight carried.
    Pd {
        /// kp \[N·m/rad or N/m\].
        kp: f64,
        /// kd \[N·m·s/rad or N·s/m\].
        kd: f64,
        /// A path for each joint of the tree, in the order of [`Tree::joints`](crate::bodies::articulated::Tree::joints).
        tracks: Vec<Track>,
        /// Whether the weight is carried too.
        gravity: bool,
    },
    /// Inverse dynamics along a path.
    ComputedTorque {
        /// kp \[1/s²\].
        kp: f64,
        /// kd \[1/s\].
        kd: f64,
        /// As in PD.
        tracks: Vec<Track>,
    },
}

impl Robot {
    /// Adds the controller's forces to τ; PD gains go to `damping` and `stiffness` of the dofs too. After kinematics.
    pub(super) fn add_controller(
        &self,
        state: &RobotState,
        work: &mut TreeWork,
        scratch: &mut [f64],
        wanted: &mut [f64],
        tau: &mut [f64],
        mut gains: impl FnMut(usize, f64, f64),
    ) {
        let Some(controller) = &self.controller else { return };
        let joints = self.tree.joints();
        let driven =
            joints.iter().enumerate().filter(|(_, j)| matches!(j.kind, JointKind::Hinge | JointKind::Slider));
        let weight = |scratch: &mut [f64], wanted: &mut [f64], work: &mut TreeWork| {
            wanted.fill(0.0);
            self.tree.inverse_dynamics(wanted, None, &[], work, scratch);
        };
        match controller {
            Controller::GravityCompensation => {
                weight(scratch, wanted, work);
                driven.for_each(|(_, j)| tau[j.v.start] += scratch[j.v.start]);
            }
            Controller::Pd { kp, kd, tracks, gravity } => {
                if *gravity {
                    weight(scratch, wanted, work);
                }
                for (k, j) in driven {
                    let (q, v) = (j.q.start, j.v.start);
                    let [x, rate, _] = tracks.get(k).copied().unwrap_or_default().at_time(state.time);
                    tau[v] += kp * (x - state.q[q]) + kd * (rate - state.v[v]);
                    tau[v] += if *gravity { scratch[v] } else { 0.0 };
                    gains(v, *kp, *kd);
                }
            }
            Controller::ComputedTorque { kp, kd, tracks } => {
                wanted.fill(0.0);
                for (k, j) in driven.clone() {
                    let (q, v) = (j.q.start, j.v.start);
                    let [x, rate, second] = tracks.get(k).copied().unwrap_or_default().at_time(state.time);
                    wanted[v] = second + kd * (rate - state.v[v]) + kp * (x - state.q[q]);
                }
                self.tree.inverse_dynamics(&state.v, Some(wanted), &[], work, scratch);
                // What springs and dampers of the joints do is not the controller's to do.
                wanted.fill(0.0);
                self.tree.add_passive_forces(&state.q, &state.v, work, wanted);
                driven.for_each(|(_, j)| tau[j.v.start] += scratch[j.v.start] - wanted[j.v.start]);
            }
        }
    }
}
