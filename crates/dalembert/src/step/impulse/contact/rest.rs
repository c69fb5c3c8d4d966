//! How far the velocities of contacts are from what Coulomb's law allows, four contacts at a time.
//!
//! The same as [`Parts::unrest`](super::units::Parts::unrest) of a contact, $|p/\rho - P(p/\rho - u - \mu|u_t| n)|$. Roots wait for
//! each other there, and whether a contact slips cannot be guessed: side by side nothing waits and nothing is guessed.

use super::lanes::{Lanes, V3, all, dot, plus, sub};
use super::sweep::Contact;

/// Four contacts: their first unknowns, normals, friction and 1/ρ. The last four repeat one of them if there are fewer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Four {
    at: [usize; 4],
    n: V3,
    mu: Lanes,
    weight: Lanes,
}

impl Four {
    /// Up to four contacts whose unknowns lie side by side.
    pub(super) fn new(contacts: &[Contact], first: usize) -> Self {
        let place = [0, 1, 2, 3].map(|k: usize| k.min(contacts.len() - 1));
        let of = |number: &dyn Fn(&Contact) -> f64| Lanes::from(place.map(|k| number(&contacts[k])));
        Self {
            at: place.map(|k| first + 3 * k),
            n: [of(&|c| c.normal.x), of(&|c| c.normal.y), of(&|c| c.normal.z)],
            mu: of(&|c| c.friction),
            weight: of(&|c| c.W.trace() / 3.0),
        }
    }

    /// The squares of how far they are, given lists of impulses and velocities.
    #[inline(always)]
    pub(super) fn unrest_squared(&self, p: &[f64], u: &[f64]) -> [f64; 4] {
        let Self { at, n, mu, weight } = self;
        let three = |list: &[f64]| [0, 1, 2].map(|r| Lanes::from(at.map(|at| list[at + r])));
        let (p, u) = (three(p).map(|p| p * *weight), three(u));
        let speed = length(&plus(&u, -dot(n, &u), n));
        let aim = plus(&sub(&p, &u), -(*mu * speed), n);
        let normal = dot(n, &aim);
        let side = plus(&aim, -normal, n);
        let size = length(&side);
        let along = mu.mul_add(size, normal) / mu.mul_add(*mu, all(1.0));
        let slip = along * *mu / size;
        let sticks = size.simd_le(*mu * normal);
        let parts = (*mu * size).simd_le(-normal);
        let to = [0, 1, 2].map(|r| {
            let rim = slip.mul_add(side[r], along * n[r]);
            sticks.select(aim[r], parts.select(Lanes::ZERO, rim))
        });
        let left = sub(&to, &p);
        dot(&left, &left).to_array()
    }
}

#[inline(always)]
fn length(a: &V3) -> Lanes {
    dot(a, a).sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::sweep::{Field, Side};
    use super::super::units::{Parts, Unit};
    use super::*;
    use crate::math::{Mat3, Vec3, triple};

    #[test]
    fn four_at_a_time_are_as_far_from_the_law_as_each_by_itself() {
        let o = Vec3::zeros();
        let wave = |t: f64| Vec3::new((1.3 * t).sin(), (2.1 * t).cos(), (0.7 * t).sin());
        let contact = |k: usize| Contact {
            sides: [Side::World; 2],
            arms: [o; 2],
            normal: (wave(0.4 * k as f64) + Vec3::new(0.0, 0.0, 1.5)).normalize(),
            friction: [0.0, 0.3, 1.2][k % 3],
            softness: 0.0,
            target: o,
            impulse: o,
            W: (1.0 + 0.1 * k as f64) * Mat3::identity(),
            inverse: Mat3::identity(),
            spin: u32::MAX,
        };
        let mut contacts: Vec<Contact> = (0..42).map(contact).collect();
        let list =
            |s: f64| -> Vec<f64> { (0..42).flat_map(|k| <[f64; 3]>::from(wave(s * k as f64))).collect() };
        // Some have no impulse.
        let (mut p, u) = (list(0.9), list(1.7));
        p[..15].fill(0.0);
        let fours: Vec<Four> =
            contacts.chunks(4).enumerate().map(|(i, four)| Four::new(four, 12 * i)).collect();
        let field = Field::default();
        let parts = Parts { field: &field, contacts: &mut contacts, spins: &mut [], rows: &mut [] };
        for k in 0..42 {
            let found = fours[k / 4].unrest_squared(&p, &u)[k % 4].sqrt();
            let one = parts.unrest(Unit::Cone(k), &triple(&u, k), &triple(&p, k), 0.0);
            assert!((found - one).abs() < 1e-14 * (1.0 + one), "{k}: {found} {one}");
        }
    }
}
