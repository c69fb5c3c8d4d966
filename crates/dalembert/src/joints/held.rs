//! A constraint as a model has it: under a name, and held hard, softly, or as a limit, motor, friction or rotor.

use std::ops::Range;

use super::{Constraint, Role, Softness};

/// How the rows of a constraint are held.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Hold {
    /// Exactly.
    Hard,
    /// By a spring kp \[N/m or N·m/rad\] and a damper kd \[N·s/m or N·m·s/rad\] on each row.
    Gains {
        /// Stiffness.
        kp: f64,
        /// Damping.
        kd: f64,
    },
    /// By given ε and r, whatever the step size (`impulse` only).
    Given(Softness),
    /// As the role on a joint coordinate says; limits and velocity motors may have gains (infinite kp: hard).
    Axis {
        /// What acts on the coordinate.
        role: Role,
        /// Stiffness of a soft limit; infinite for a hard one.
        kp: f64,
        /// Damping of a soft limit.
        kd: f64,
    },
}

impl Hold {
    /// Stiffness of a row that stores energy \[N/m or N·m/rad\]; else 0.
    pub(crate) fn stiffness(&self) -> f64 {
        match *self {
            Hold::Gains { kp, .. } | Hold::Axis { role: Role::Servo { kp, .. }, .. } => kp,
            Hold::Axis { role: Role::Lower(_) | Role::Upper(_), kp, .. } if kp.is_finite() => kp,
            _ => 0.0,
        }
    }

    /// Energy stored in a row \[J\]: that of a soft limit only beyond it.
    pub(crate) fn energy(&self, C: f64) -> f64 {
        let kp = self.stiffness();
        match self {
            Hold::Axis { role: Role::Lower(_) | Role::Upper(_), .. } if C >= 0.0 => 0.0,
            _ if kp == 0.0 => 0.0,
            _ => 0.5 * kp * C * C,
        }
    }
}

/// A constraint under a name.
pub struct NamedConstraint {
    /// Name of the joint, and what part of it: `elbow`, `elbow.upper`, `elbow.motor`.
    pub name: String,
    /// The constraint.
    pub constraint: Box<dyn Constraint>,
    /// How it is held.
    pub hold: Hold,
    /// Force or torque at which it breaks \[N or N·m\].
    pub breaks_at: Option<f64>,
    /// Its place in [`State::turns`](crate::state::State::turns).
    pub turns: Range<usize>,
    /// Number of the joint that it belongs to, in [`State::broken`](crate::state::State::broken).
    pub joint: usize,
}

impl NamedConstraint {
    /// True if C = 0 must hold exactly.
    pub fn is_exact(&self) -> bool {
        self.hold == Hold::Hard
    }

    /// λ of a row that is a given function of C and Ċ; `None` if it is not.
    pub(crate) fn explicit_force(&self, C: f64, rate: f64) -> Option<f64> {
        let spring = |kp: f64, kd: f64| -kp * C - kd * rate;
        match self.hold {
            Hold::Hard | Hold::Given(_) => None,
            Hold::Gains { kp, kd } => Some(spring(kp, kd)),
            Hold::Axis { role, kp, kd } => match role {
                Role::Lower(_) | Role::Upper(_) if C >= 0.0 => Some(0.0),
                Role::Lower(_) | Role::Upper(_) => kp.is_finite().then(|| spring(kp, kd).max(0.0)),
                Role::Servo { kp, kd, max, .. } => Some(spring(kp, kd).clamp(-max, max)),
                Role::Velocity { target, max } => {
                    (kd > 0.0).then(|| (-kd * (rate - target)).clamp(-max, max))
                }
                Role::Effort(effort) => Some(effort),
                Role::Friction(_) | Role::Armature(_) => None,
            },
        }
    }

    /// −∂λ/∂C and −∂λ/∂Ċ of [`explicit_force`](Self::explicit_force).
    pub(crate) fn explicit_gains(&self, C: f64, rate: f64) -> (f64, f64) {
        let within = |force: f64, max: f64| force.abs() < max;
        match self.hold {
            Hold::Hard | Hold::Given(_) => (0.0, 0.0),
            Hold::Gains { kp, kd } => (kp, kd),
            Hold::Axis { role, kp, kd } => match role {
                Role::Lower(_) | Role::Upper(_) if C < 0.0 && -kp * C - kd * rate > 0.0 => (kp, kd),
                Role::Servo { kp, kd, max, .. } if within(kp * C + kd * rate, max) => (kp, kd),
                Role::Velocity { target, max } if within(kd * (rate - target), max) => (0.0, kd),
                _ => (0.0, 0.0),
            },
        }
    }

    /// R of a row whose λ is found with the accelerations; `None` if it is not such a row.
    pub(crate) fn acceleration_softness(&self) -> Option<f64> {
        match self.hold {
            Hold::Hard => Some(0.0),
            Hold::Axis { role: Role::Armature(inertia), .. } => Some(1.0 / inertia),
            _ => None,
        }
    }

    /// Energy stored in a row \[J\].
    pub(crate) fn energy(&self, C: f64) -> f64 {
        self.hold.energy(C)
    }
}
