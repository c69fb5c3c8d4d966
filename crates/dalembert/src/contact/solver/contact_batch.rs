//! Residuals of four contacts at a time.
//!
//! The same as [`IslandProblem::residual`](crate::contact::problem::IslandProblem::residual) of a contact,
//! $|p/\rho - P(p/\rho - u - \mu|u_t| n)|$: four square roots at once, and selections in place of branches.

use crate::contact::problem::Contact;
use crate::math::simd::{Lanes, V3};
use crate::solve::cone;

/// Four contacts: their first unknowns, normals, friction and 1/ρ. The last four repeat one of them if there are fewer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContactBatch {
    at: [usize; 4],
    n: V3,
    mu: Lanes,
    weight: Lanes,
}

impl ContactBatch {
    /// Up to four contacts whose unknowns lie side by side.
    pub(crate) fn new(contacts: &[Contact], first: usize) -> Self {
        let place = [0, 1, 2, 3].map(|k: usize| k.min(contacts.len() - 1));
        let of = |number: &dyn Fn(&Contact) -> f64| Lanes::from(place.map(|k| number(&contacts[k])));
        Self {
            at: place.map(|k| first + 3 * k),
            n: [of(&|c| c.normal.x), of(&|c| c.normal.y), of(&|c| c.normal.z)],
            mu: of(&|c| c.friction),
            weight: of(&|c| c.W.trace() / 3.0),
        }
    }

    /// The squares of their residuals, given lists of impulses and velocities.
    #[inline(always)]
    pub(crate) fn residuals_squared(&self, p: &[f64], u: &[f64]) -> [f64; 4] {
        let Self { at, n, mu, weight } = self;
        let three = |list: &[f64]| [0, 1, 2].map(|r| Lanes::from(at.map(|at| list[at + r])));
        cone::residual_squared_of_four(&three(p).map(|p| p * *weight), &three(u), n, *mu).to_array()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::problem::{ConvexSet, IslandProblem};
    use crate::contact::response::{NONE, Responder, Responses};
    use crate::math::{Mat3, Vec3, triple};

    #[test]
    fn residuals_of_four_at_a_time_are_those_of_each_by_itself() {
        let o = Vec3::zeros();
        let wave = |t: f64| Vec3::new((1.3 * t).sin(), (2.1 * t).cos(), (0.7 * t).sin());
        let contact = |k: usize| Contact {
            sides: [Responder::World; 2],
            arms: [o; 2],
            normal: (wave(0.4 * k as f64) + Vec3::new(0.0, 0.0, 1.5)).normalize(),
            friction: [0.0, 0.3, 1.2][k % 3],
            softness: 0.0,
            target: o,
            impulse: o,
            W: (1.0 + 0.1 * k as f64) * Mat3::identity(),
            inverse: Mat3::identity(),
            spin: NONE,
        };
        let mut contacts: Vec<Contact> = (0..42).map(contact).collect();
        let list =
            |s: f64| -> Vec<f64> { (0..42).flat_map(|k| <[f64; 3]>::from(wave(s * k as f64))).collect() };
        // Some have no impulse.
        let (mut p, u) = (list(0.9), list(1.7));
        p[..15].fill(0.0);
        let batches: Vec<ContactBatch> =
            contacts.chunks(4).enumerate().map(|(i, four)| ContactBatch::new(four, 12 * i)).collect();
        let responses = Responses::default();
        let island = IslandProblem {
            responses: &responses,
            free: &[],
            contacts: &mut contacts,
            spins: &mut [],
            rows: &mut [],
            members: &[],
        };
        for k in 0..42 {
            let found = batches[k / 4].residuals_squared(&p, &u)[k % 4].sqrt();
            let one = island.residual(ConvexSet::Cone(k), &triple(&u, k), &triple(&p, k), 0.0);
            assert!((found - one).abs() < 1e-14 * (1.0 + one), "{k}: {found} {one}");
        }
    }
}
