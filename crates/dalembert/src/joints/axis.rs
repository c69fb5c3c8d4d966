//! The coordinate of a joint, hinge angle or slider position, and what acts on it: limits, motors, friction,
//! armature. Each is one scalar row with bounds on its force.
//!
//! | role | row | bounds on λ |
//! |---|---|---|
//! | limit | $C = \theta - \theta_{low} \ge 0$, or $\theta_{high} - \theta \ge 0$ | λ ≥ 0 |
//! | velocity motor | $\dot\theta = $ target | ±max |
//! | position servo | soft: $\lambda = -k_p(\theta - \theta^*) - k_d\dot\theta$, implicit | ±max |
//! | friction | $\dot\theta = 0$ | ±max |
//! | armature | $\lambda = -I\,\ddot\theta$: a rotor geared to the joint | none |

use super::rows::Ends;
use super::{Body, Constraint, End, Holder, Rows};
use crate::math::rotation::unwrap_angle;

/// Which coordinate of two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// Turn of b against a about t \[rad\].
    Angle,
    /// Slide of b's anchor against a's along t of a \[m\].
    Position,
}

/// What acts on a coordinate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Role {
    /// The coordinate stays above this value.
    Lower(f64),
    /// The coordinate stays below this value.
    Upper(f64),
    /// Runs at this rate \[rad/s or m/s\] with at most `max` \[N·m or N\].
    Velocity {
        /// Target rate.
        target: f64,
        /// Largest effort.
        max: f64,
    },
    /// Held near this value by a spring and damper with at most `max` \[N·m or N\].
    Servo {
        /// Target value.
        target: f64,
        /// Stiffness \[N·m/rad or N/m\].
        kp: f64,
        /// Damping \[N·m·s/rad or N·s/m\].
        kd: f64,
        /// Largest effort.
        max: f64,
    },
    /// Constant effort \[N·m or N\].
    Effort(f64),
    /// Dry friction of this effort \[N·m or N\].
    Friction(f64),
    /// Inertia of a rotor on the coordinate \[kg·m² or kg\].
    Armature(f64),
}

impl Role {
    /// θ − low, high − θ, θ − target; 0 for roles on the rate alone.
    pub fn violation(&self, value: f64) -> f64 {
        match *self {
            Role::Lower(low) => value - low,
            Role::Upper(high) => high - value,
            Role::Servo { target, .. } => value - target,
            _ => 0.0,
        }
    }
}

/// One row on the coordinate of a joint.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisRow {
    /// Which coordinate.
    pub axis: Axis,
    /// What acts on it.
    pub role: Role,
    /// The joint's ends.
    pub ends: [End; 2],
    holders: [Holder; 2],
}

impl AxisRow {
    /// A role on the coordinate of two ends.
    pub fn new(axis: Axis, role: Role, ends: [End; 2]) -> Self {
        Self { axis, role, ends, holders: ends.map(|e| e.holder) }
    }

    /// The coordinate now, unwrapped near `last` \[rad or m\].
    pub fn value(&self, bodies: &[Body], last: f64) -> f64 {
        coordinate(self.axis, &Ends::new(&self.ends, bodies), last)
    }
}

/// The coordinate of two ends, unwrapped near `last`.
pub(super) fn coordinate(axis: Axis, e: &Ends, last: f64) -> f64 {
    match axis {
        Axis::Angle => unwrap_angle(last, e.angle()),
        Axis::Position => e.d.dot(&e.axis(0, super::rows::T)),
    }
}

impl Constraint for AxisRow {
    fn kind(&self) -> &'static str {
        match self.role {
            Role::Lower(_) | Role::Upper(_) => "limit",
            Role::Velocity { .. } => "velocity_motor",
            Role::Servo { .. } => "servo",
            Role::Effort(_) => "effort",
            Role::Friction(_) => "friction",
            Role::Armature(_) => "armature",
        }
    }

    fn rows(&self) -> usize {
        1
    }

    fn holders(&self) -> &[Holder] {
        &self.holders
    }

    fn evaluate(&self, _t: f64, bodies: &[Body], turns: &[f64], out: &mut Rows) {
        let e = Ends::new(&self.ends, bodies);
        let factor = if matches!(self.role, Role::Upper(_)) { -1.0 } else { 1.0 };
        let value = match self.axis {
            Axis::Angle => e.add_angle(0, factor, turns[0], out),
            Axis::Position => e.add_position(0, factor, out),
        };
        out.violation[0] = self.role.violation(value);
    }

    fn coordinates(&self, bodies: &[Body], turns: &[f64]) -> [Option<f64>; 2] {
        [Some(self.value(bodies, turns[0])), None]
    }

    fn axis(&self) -> Option<Axis> {
        Some(self.axis)
    }
}
