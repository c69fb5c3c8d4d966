//! What each contact asks for.
//!
//! **The normal row.** A gap may close within the step but no more: $u_n^+ \ge -g/h$. What has closed stays: for g ≤ 0,
//! $u_n^+ \ge 0$. Soft contact follows the joints' rule, $u_n^+ = -(\epsilon/h) g - r\lambda$.
//!
//! **Restitution.** With $u_n^-$ and the acceleration a of the point without impulses, the impact comes at the time τ with
//! $g + u_n^-\tau + \tfrac12 a\tau^2 = 0$, at the speed $u_\tau = u_n^- + a\tau$, and leaves at $-e\,u_\tau$. So the row
//! asks for $u_n^+ = u_n^- + a h - (1+e)\,u_\tau$.

use super::ContactProblem;
use crate::contact::response::{NONE, Responder, TINY};
use crate::contact::softness::Compliance;
use crate::joints::Softness;

impl ContactProblem {
    /// Targets and softness of all contacts, once all velocities and responses are known; then the impulses of the step before act
    /// (warm start). Impacts slower than `bounce_speed` do not bounce.
    pub(crate) fn prepare(&mut self, bounce_speed: f64) {
        let h = self.h;
        self.free.clear();
        self.free.extend_from_slice(&self.x);
        self.take_free_robots();
        // Whatever falls from rest within a step or two has not bounced.
        let least = bounce_speed.max(2.0 * self.fall_speed());
        let rates = if self.info.iter().any(|i| self.pairs[i.pair as usize].law.restitution > 0.0) {
            self.robots.load_velocities(&self.x);
            (0..self.contacts.len()).map(|k| self.rate_of(&self.x, k)).collect()
        } else {
            Vec::new()
        };
        self.robots.load_velocities(&self.start);
        for k in 0..self.contacts.len() {
            let old = self.rate_of(&self.start, k);
            let (c, info) = (&mut self.contacts[k], &mut self.info[k]);
            let law = &self.pairs[info.pair as usize].law;
            c.update_response(&self.responses, &mut self.spins);
            let n = c.normal;
            let before = n.dot(&old);
            let mut normal = if info.gap > 0.0 { -info.gap / h } else { 0.0 };
            if let Some(compliance) = law.compliance {
                let s = softness(&compliance, c.normal_response(), h);
                normal = -s.error_reduction / h * info.gap;
                c.softness = s.regularization / h;
                c.update_response(&self.responses, &mut self.spins);
            } else if law.restitution > 0.0 && before < -least {
                let rate = n.dot(&rates[k]);
                let a = (rate - before) / h;
                if let Some(tau) = impact_time(info.gap, before, a, h) {
                    normal = rate - (1.0 + law.restitution) * (before + a * tau);
                    info.impact = tau;
                }
            }
            // The belts' own motion is in the target so far.
            c.target += (normal - n.dot(&c.target)) * n;
            info.speed = (old - c.target).norm();
        }
        for c in &self.contacts {
            c.apply_to_bodies(&self.responses, &mut self.x, &c.impulse);
            if c.spin != NONE {
                let s = self.spins[c.spin as usize].impulse;
                c.apply_angular_to_bodies(&self.responses, &mut self.x, &s);
            }
        }
    }

    /// W of the contacts of coupled bodies again, after these have come to respond in another way.
    pub(crate) fn update_responses(&mut self) {
        for c in &mut self.contacts {
            if c.sides.iter().any(|s| matches!(s, Responder::Jointed(..) | Responder::Link(..))) {
                c.update_response(&self.responses, &mut self.spins);
            }
        }
    }
}

/// The softness of a contact whose normal yields by `response` to a unit impulse.
fn softness(compliance: &Compliance, response: f64, h: f64) -> Softness {
    let (kp, kd) = match *compliance {
        Compliance::Gains { kp, kd } => (kp, kd),
        Compliance::PerMass { k, b } => {
            let mass = 1.0 / response.max(TINY);
            (mass * k, mass * b)
        }
    };
    Softness::from_gains(kp, kd, h)
}

/// When a gap closes that changes at a rate u < 0 with acceleration a; none if not within h.
fn impact_time(gap: f64, u: f64, a: f64, h: f64) -> Option<f64> {
    if gap <= 0.0 {
        return Some(0.0);
    }
    // g + uτ + ½aτ² = 0, the smaller root, without cancellation.
    let under = u * u - 2.0 * a * gap;
    if under < 0.0 {
        return None;
    }
    let tau = 2.0 * gap / (-u + under.sqrt());
    (tau >= 0.0 && tau <= h).then_some(tau)
}
