//! One contact: Coulomb's law with a round cone at a point, and friction against turning there.
//!
//! A contact with normal n (from b towards a) has the relative velocity $u = v_a - v_b$ of its two points and an impulse p on a,
//! −p on b. Everything is in world axes: with $W = J_a M_a^{-1} J_a^T + J_b M_b^{-1} J_b^T + R\,nn^T$ the impulses of the
//! others give u = W p + q, and p is the exact solution of Coulomb's law for u − target ([`cone::solve_contact`]):
//! separating, sticking or slipping. The softness R (r/h of the joints' rule) is that of a spring and damper along the normal.
//!
//! Spin friction holds the relative angular velocity: $|s_n| \le \mu_t p_n$ about the normal (torsional) and
//! $|s_t| \le \mu_r p_n$ across it (rolling), μ_t and μ_r being lengths.

use crate::contact::response::{NONE, Responder, Responses, TINY};
use crate::math::{Mat3, Vec3};
use crate::solve::cone;

/// Columns of W that are nothing beside the others get this part of its trace: a body among joints may not move in all
/// directions.
const FLOOR: f64 = 1e-11;

/// One point of contact.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contact {
    pub(crate) sides: [Responder; 2],
    /// From the centres of mass to the point \[m\].
    pub(crate) arms: [Vec3; 2],
    pub(crate) normal: Vec3,
    pub(crate) friction: f64,
    /// R of the normal row.
    pub(crate) softness: f64,
    /// u after the step if it sticks \[m/s\].
    pub(crate) target: Vec3,
    /// p on the first body \[N·s\].
    pub(crate) impulse: Vec3,
    /// W with R, and its inverse.
    pub(crate) W: Mat3,
    pub(crate) inverse: Mat3,
    /// Number of its spin friction; `NONE` if it has none.
    pub(crate) spin: u32,
}

/// Friction against relative turning at a contact.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpinFriction {
    /// About the normal \[m\].
    pub(crate) torsion: f64,
    /// Across it \[m\].
    pub(crate) rolling: f64,
    /// J M⁻¹Jᵀ of the relative angular velocity.
    pub(crate) W: Mat3,
    /// Angular impulse on the first body \[N·m·s\].
    pub(crate) impulse: Vec3,
}

/// ½(W + Wᵀ).
#[inline(always)]
fn symmetric(W: &Mat3) -> Mat3 {
    let mean = |a: f64, b: f64| 0.5 * (a + b);
    let (xy, xz, yz) = (mean(W.m12, W.m21), mean(W.m13, W.m31), mean(W.m23, W.m32));
    Mat3::new(W.m11, xy, xz, xy, W.m22, yz, xz, yz, W.m33)
}

impl Contact {
    /// v_a − v_b of its points.
    #[inline(always)]
    pub(crate) fn relative_velocity(&self, r: &Responses, x: &[f64]) -> Vec3 {
        r.velocity(x, &self.sides[0], &self.arms[0]) - r.velocity(x, &self.sides[1], &self.arms[1])
    }

    /// The same for the angular velocities of its bodies.
    pub(crate) fn relative_angular_velocity(&self, r: &Responses, x: &[f64]) -> Vec3 {
        r.angular_velocity(x, &self.sides[0]) - r.angular_velocity(x, &self.sides[1])
    }

    /// Impulse p on the first body, −p on the second.
    #[inline(always)]
    pub(crate) fn apply(&self, r: &Responses, x: &mut [f64], p: &Vec3) {
        r.apply(x, &self.sides[0], &self.arms[0], p);
        r.apply(x, &self.sides[1], &self.arms[1], &-p);
    }

    /// Angular impulse s on the first body, −s on the second.
    pub(crate) fn apply_angular(&self, r: &Responses, x: &mut [f64], s: &Vec3) {
        r.apply_angular(x, &self.sides[0], s);
        r.apply_angular(x, &self.sides[1], &-s);
    }

    /// [`apply`](Self::apply) to bodies by themselves only: coupled bodies have it from their own solvers.
    pub(crate) fn apply_to_bodies(&self, r: &Responses, x: &mut [f64], p: &Vec3) {
        for (k, p) in [*p, -p].iter().enumerate() {
            if let Responder::Body(_) = self.sides[k] {
                r.apply(x, &self.sides[k], &self.arms[k], p);
            }
        }
    }

    /// The same for an angular impulse.
    pub(crate) fn apply_angular_to_bodies(&self, r: &Responses, x: &mut [f64], s: &Vec3) {
        for (k, s) in [*s, -s].iter().enumerate() {
            if let Responder::Body(_) = self.sides[k] {
                r.apply_angular(x, &self.sides[k], s);
            }
        }
    }

    /// Zero again wherever an impulse of this contact moves something.
    pub(crate) fn clear(&self, x: &mut [f64]) {
        for side in &self.sides {
            let (first, len) = match *side {
                Responder::World => (0, 0),
                Responder::Body(at) => (at as usize, 6),
                Responder::Jointed(_, columns) | Responder::Link(_, columns) => {
                    (columns.first as usize, columns.len as usize)
                }
            };
            x[first..first + len].fill(0.0);
        }
    }

    /// J M⁻¹Jᵀ of two contacts of links: how an impulse at the other moves this one.
    pub(crate) fn response_to(&self, r: &Responses, other: &Contact) -> Mat3 {
        let mut W = Mat3::zeros();
        for (s, at) in self.sides.iter().enumerate() {
            for (t, from) in other.sides.iter().enumerate() {
                if let (Responder::Link(_, at), Responder::Link(_, from)) = (at, from)
                    && at.first == from.first
                    && at.len == from.len
                {
                    let block = r.block(at, at.column, from.column);
                    W += if s == t { block } else { -block };
                }
            }
        }
        W
    }

    /// W and that of its spin friction from the responses as they are; the inverse too where it is sure to be needed.
    pub(crate) fn update_response(&mut self, r: &Responses, spins: &mut [SpinFriction]) {
        let sum = |block: &dyn Fn(usize) -> Mat3| symmetric(&(Mat3::zeros() + block(0) + block(1)));
        self.W = sum(&|s| r.own_block(&self.sides[s], &self.arms[s]));
        if self.softness != 0.0 {
            self.W += self.softness * self.normal * self.normal.transpose();
        }
        let floor = FLOOR * self.W.trace() + TINY;
        (0..3).for_each(|k| self.W[(k, k)] += floor);
        if self.sides.iter().any(|s| matches!(s, Responder::Body(_) | Responder::Jointed(..))) {
            self.invert();
        }
        if self.spin != NONE {
            spins[self.spin as usize].W = sum(&|s| r.own_angular_block(&self.sides[s]));
        }
    }

    /// The inverse of W as it is.
    pub(crate) fn invert(&mut self) {
        let floor = FLOOR * self.W.trace() + TINY;
        self.inverse = self.W.try_inverse().unwrap_or_else(|| Mat3::from_diagonal_element(1.0 / floor));
    }

    /// What the normal yields to a unit impulse along it.
    pub(crate) fn normal_response(&self) -> f64 {
        self.normal.dot(&(self.W * self.normal))
    }

    /// q of u − target = W p + q, for the velocities as they are.
    fn offset(&self, r: &Responses, x: &[f64]) -> Vec3 {
        let u = self.relative_velocity(r, x) - self.target;
        u + (self.softness * self.normal.dot(&self.impulse)) * self.normal - self.W * self.impulse
    }

    /// The impulse that holds Coulomb's law for u − target = W p + q; the last impulse is where the search begins.
    #[inline]
    fn impulse_for(&self, q: &Vec3) -> Vec3 {
        cone::solve_contact(&self.W, &self.inverse, q, &self.normal, self.friction, &self.impulse)
    }

    /// How far solving this contact by itself would move its relative velocity \[m/s\].
    pub(crate) fn local_residual(&self, r: &Responses, x: &[f64]) -> f64 {
        (self.W * (self.impulse_for(&self.offset(r, x)) - self.impulse)).norm()
    }

    /// Solves this contact by itself, given what the others do; returns how far its relative velocity was moved \[m/s\].
    #[inline]
    pub(crate) fn solve(&mut self, r: &Responses, x: &mut [f64]) -> f64 {
        let new = self.impulse_for(&self.offset(r, x));
        let change = new - self.impulse;
        if change == Vec3::zeros() {
            return 0.0;
        }
        self.impulse = new;
        self.apply(r, x, &change);
        (self.W * change).norm()
    }
}

impl SpinFriction {
    /// The impulse for the relative angular velocity w as it is, at a contact with normal n that presses by `pressed`.
    pub(crate) fn impulse_for(&self, n: &Vec3, w: &Vec3, pressed: f64) -> Vec3 {
        let old = n.dot(&self.impulse);
        let stiff = n.dot(&(self.W * n)).max(TINY);
        let bound = self.torsion * pressed;
        let about = (old - n.dot(w) / stiff).clamp(-bound, bound);
        // Across: a step of projection, which ends where the law holds.
        let mut across = self.impulse - old * n - (w - n.dot(w) * n) / (0.5 * self.W.trace()).max(TINY);
        let (size, most) = (across.norm(), self.rolling * pressed);
        if size > most {
            across *= most / size;
        }
        about * n + across
    }

    /// Solves the spin friction of a contact by itself; returns how far its relative angular velocity was moved \[rad/s\].
    pub(crate) fn solve(&mut self, c: &Contact, r: &Responses, x: &mut [f64]) -> f64 {
        let w = c.relative_angular_velocity(r, x);
        let new = self.impulse_for(&c.normal, &w, c.normal.dot(&c.impulse).max(0.0));
        let change = new - self.impulse;
        if change == Vec3::zeros() {
            return 0.0;
        }
        self.impulse = new;
        c.apply_angular(r, x, &change);
        (self.W * change).norm()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::response::{Arena, InverseInertia};

    fn ball(at: u32, friction: f64, normal: Vec3) -> Contact {
        Contact {
            sides: [Responder::Body(at), Responder::World],
            arms: [-0.5 * normal, Vec3::zeros()],
            normal,
            friction,
            softness: 0.0,
            target: Vec3::zeros(),
            impulse: Vec3::zeros(),
            W: Mat3::zeros(),
            inverse: Mat3::zeros(),
            spin: NONE,
        }
    }

    #[test]
    fn a_ball_that_is_pushed_against_a_plane_slips_by_the_textbook_in_any_direction() {
        // 2 kg, radius 0.5, I = 0.4 m r²: an impulse p in the contact point moves it by 3.5 p/m across the normal.
        let (m, inertia) = (2.0, 0.4 * 2.0 * 0.25);
        for k in 0..60 {
            let normal = Vec3::new((k as f64).sin(), (2.0 * k as f64).cos(), 0.3).normalize();
            let [s, t] = cone::tangents(&normal);
            let along = (0.1 * k as f64).cos() * s + (0.1 * k as f64).sin() * t;
            for (speed, sticks) in [(0.1, true), (2.0, false)] {
                let v = -0.3 * normal + speed * along;
                let responses = Responses {
                    inverse: vec![InverseInertia { mass: 1.0 / m, inertia: Mat3::identity() / inertia }],
                    numbers: Arena::default(),
                };
                let mut x = vec![v.x, v.y, v.z, 0.0, 0.0, 0.0];
                let mut c = ball(0, 0.25, normal);
                c.W = responses.own_block(&c.sides[0], &c.arms[0]);
                c.inverse = c.W.try_inverse().unwrap();
                c.solve(&responses, &mut x);
                let u = c.relative_velocity(&responses, &x);
                let wanted = if sticks { Vec3::zeros() } else { (speed - 3.5 * 0.25 * 0.3) * along };
                assert!((u - wanted).norm() < 1e-13, "{k} {u}");
            }
        }
    }
}
