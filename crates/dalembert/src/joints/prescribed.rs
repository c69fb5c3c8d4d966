//! A body with prescribed motion: a fixed joint to a frame that is carried about.
//!
//! The frame stands at o + c(t), turned by R(t) about o, with velocity ċ and angular velocity ω ([`Motion`]). With the rows
//! C of a fixed joint between the frame and the body, whose Jacobian has the blocks $A_f$ and $A_b$,
//!
//! $$ \dot C = A_b v_b + C_t,\qquad C_t = A_f v_f, $$
//!
//! and $\ddot C$ has $A_f\dot v_f$ beside what a fixed joint has. So contacts and joints meet a body that gives way to
//! nothing, and whose multipliers are the forces that carry it.

use super::rows::Ends;
use super::{Ask, Body, Constraint, End, Holder, JointInfo, JointKind, Rows};
use crate::filters::Motion;
use crate::math::Vec3;
use crate::math::rotation::matrix;

/// Carries a rigid body along a motion.
#[derive(Debug, Clone)]
pub struct Prescribed {
    motion: Motion,
    /// What the frame turns about at the start \[m\].
    center: Vec3,
    ends: [End; 2],
    holders: [Holder; 2],
}

impl Prescribed {
    /// Rigid body k, which stands at the pose of `start`, has prescribed motion from there.
    pub fn new(motion: Motion, k: u32, start: &Body) -> Self {
        let own = match &motion {
            Motion::Ride(ride) => ride.center,
            _ => None,
        };
        let center = own.unwrap_or(start.x);
        let holders = [Holder::World, Holder::Rigid(k)];
        let frame = End { holder: holders[0], anchor: start.x - center, axes: Body::WORLD.R };
        let body = End { holder: holders[1], anchor: Vec3::zeros(), axes: start.R.transpose() };
        Self { motion, center, ends: [frame, body], holders }
    }

    /// The frame at time t.
    fn frame(&self, t: f64) -> Body {
        let (shift, v) = self.motion.at(t);
        let mut frame = Body { x: self.center + shift, v, ..Body::WORLD };
        if let Motion::Ride(ride) = &self.motion {
            let (turn, w) = ride.turn(t);
            (frame.R, frame.w) = (matrix(&turn), w);
        }
        frame
    }

    /// Velocity \[m/s\] and angular velocity \[rad/s\] that the body has at time t.
    pub fn velocity(&self, t: f64) -> (Vec3, Vec3) {
        let frame = self.frame(t);
        (frame.v + frame.w.cross(&(frame.R * self.ends[0].anchor)), frame.w)
    }
}

const FIXED: &JointInfo = JointKind::Fixed.info();
/// Difference in time for the acceleration of the frame \[s\].
const MOMENT: f64 = 1e-5;

impl Constraint for Prescribed {
    fn kind(&self) -> &'static str {
        "motion"
    }

    fn rows(&self) -> usize {
        FIXED.rows
    }

    fn holders(&self) -> &[Holder] {
        &self.holders
    }

    fn evaluate(&self, t: f64, bodies: &[Body], _turns: &[f64], out: &mut Rows) {
        let frame = self.frame(t);
        let both = [frame, bodies[1]];
        (FIXED.evaluate)(&Ends::new(&self.ends, &both), 0.0, &[], out);
        if out.ask < Ask::Jacobian {
            return;
        }
        let change = match out.ask {
            Ask::Bias => {
                let [ahead, behind] = [t + MOMENT, t - MOMENT].map(|t| self.frame(t));
                Body {
                    v: (ahead.v - behind.v) / (2.0 * MOMENT),
                    w: (ahead.w - behind.w) / (2.0 * MOMENT),
                    ..Body::WORLD
                }
            }
            _ => Body::WORLD,
        };
        for row in 0..FIXED.rows {
            out.drift[row] = out.rate(row, &[frame]);
            out.bias[row] += out.rate(row, &[change]);
        }
        // The frame is no unknown.
        out.jacobian[0] = [0.0; 36];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::Ride;
    use crate::math::rotation::exp;

    #[test]
    fn the_rate_and_its_rate_of_a_body_with_prescribed_motion_are_those_of_its_violation() {
        let ride = Ride {
            velocity: Vec3::new(0.3, -0.2, 0.5),
            angular_velocity: Vec3::new(0.4, 1.1, -0.7),
            center: Some(Vec3::new(0.2, 0.1, -0.3)),
            ..Ride::default()
        };
        let turn = matrix(&exp(&Vec3::new(0.3, 0.2, -0.5)));
        let start = Body { x: Vec3::new(1.0, 2.0, 3.0), R: turn, ..Body::WORLD };
        let prescribed = Prescribed::new(Motion::Ride(ride), 0, &start);
        let (v, w) = (Vec3::new(0.1, 0.4, -0.3), Vec3::new(-0.6, 0.2, 0.9));
        let at = |t: f64| {
            let R = matrix(&exp(&(w * t))) * turn;
            let body = Body { x: start.x + v * t, R, v, w };
            let mut rows = Rows::default();
            prescribed.evaluate(t, &[Body::WORLD, body], &[], &mut rows);
            let rate: Vec<f64> =
                (0..6).map(|row| rows.rate(row, &[Body::WORLD, body]) + rows.drift[row]).collect();
            (rows, rate)
        };
        let d = 1e-5;
        let ([(before, slow), (now, rate), (after, fast)], mut worst) =
            ([0.7 - d, 0.7, 0.7 + d].map(at), 0.0f64);
        for row in 0..6 {
            worst = worst.max(((after.violation[row] - before.violation[row]) / (2.0 * d) - rate[row]).abs());
            worst = worst.max(((fast[row] - slow[row]) / (2.0 * d) - now.bias[row]).abs());
        }
        assert!(worst < 1e-8, "{worst:e}");
        let mut rows = Rows::default();
        prescribed.evaluate(0.0, &[Body::WORLD, start], &[], &mut rows);
        assert!(rows.violation.iter().all(|c| c.abs() < 1e-15), "{:?}", rows.violation);
    }
}
