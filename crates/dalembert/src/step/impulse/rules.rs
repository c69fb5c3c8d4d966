//! What each row of a constraint asks of the velocities: $\dot C^+ = \text{target} - r\lambda$ with
//! $\text{low} \le \lambda \le \text{high}$.

use crate::joints::{Hold, Role, Softness};

/// What one row asks for.
pub(super) struct Rule {
    pub(super) target: f64,
    pub(super) regularization: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The rule of a row with violation C; `now` gives the rate at which it moves.
#[inline]
pub(super) fn row_rule(hold: &Hold, C: f64, now: impl Fn() -> f64, h: f64, projection: bool) -> Rule {
    let free = |target: f64, regularization: f64| Rule {
        target,
        regularization,
        low: f64::NEG_INFINITY,
        high: f64::INFINITY,
    };
    let soft = |kp: f64, kd: f64| {
        let s = Softness::from_gains(kp, kd, h);
        free(-s.error_reduction / h * C, s.regularization)
    };
    match *hold {
        // With the projection the velocity level has nothing to mend; without it a fifth of the gap per step, which is
        // stable where the whole gap is not.
        Hold::Hard => free(if projection { 0.0 } else { -0.2 / h * C }, 0.0),
        Hold::Gains { kp, kd } => soft(kp, kd),
        Hold::Given(s) => free(-s.error_reduction / h * C, s.regularization),
        Hold::Axis { role, kp, kd } => match role {
            Role::Lower(_) | Role::Upper(_) => {
                // Not reached yet: may close the distance within the step. Beyond: come back.
                let mut rule = if C > 0.0 || kp.is_infinite() {
                    free(if C > 0.0 { -C / h } else { -0.2 / h * C }, 0.0)
                } else {
                    soft(kp, kd)
                };
                rule.low = 0.0;
                rule
            }
            Role::Velocity { target, max } => Rule { low: -max, high: max, ..free(target, 0.0) },
            Role::Servo { kp, kd, max, .. } => Rule { low: -max, high: max, ..soft(kp, kd) },
            Role::Friction(max) => Rule { low: -max, high: max, ..free(0.0, 0.0) },
            Role::Effort(effort) => Rule { low: effort, high: effort, ..free(0.0, 0.0) },
            Role::Armature(inertia) => free(now(), h / inertia),
        },
    }
}
