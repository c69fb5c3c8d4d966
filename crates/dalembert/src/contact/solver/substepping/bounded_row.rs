//! Bounded rows: limits, rate motors and dry friction on the coordinates of joints, by projected Gauss-Seidel.
//!
//! Each is one row $\dot C = J v$ between two bodies whose impulse p in a substep of length δ has bounds. With the effective
//! response $w = J M^{-1}J^T$ a visit sets
//!
//! $$ p \leftarrow \mathrm{clamp}\big(p + (\text{target} - J v)/w\big). $$
//!
//! A limit with C ≥ 0 has the target $-C/\delta$ while it is open, C moving with the bodies, and zero beyond it, with p ≥ 0;
//! the solve stage takes a share of what is beyond it back. A motor has its rate as target and friction zero, with |p| ≤ δ max.

use super::bodies::BodyState;

/// What the row asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bound {
    /// C ≥ 0, from this C at the start of the step.
    Limit(f64),
    /// This rate, with at most this force or torque.
    Rate(f64, f64),
}

/// One row between two bodies.
#[derive(Debug, Clone)]
pub(crate) struct BoundedRow {
    bodies: [u32; 2],
    jacobian: [[f64; 6]; 2],
    /// M⁻¹Jᵀ.
    response: [[f64; 6]; 2],
    /// 1/w; 0 for a row that moves nothing.
    inv_response: f64,
    /// A rate with the most impulse in a substep.
    bound: Bound,
    impulse: f64,
    /// Impulse over the step.
    pub total: f64,
    /// The caller's number of its constraint.
    pub constraint: u32,
}

/// M⁻¹ j of a body.
fn response(body: &BodyState, j: &[f64; 6]) -> [f64; 6] {
    let [xx, yy, zz, xy, xz, yz] = body.inv_inertia();
    let (m, w) = (body.inv_mass(), [j[3], j[4], j[5]]);
    [
        m * j[0],
        m * j[1],
        m * j[2],
        xx * w[0] + xy * w[1] + xz * w[2],
        xy * w[0] + yy * w[1] + yz * w[2],
        xz * w[0] + yz * w[1] + zz * w[2],
    ]
}

fn times(j: &[f64; 6], linear: &[f64; 4], angular: &[f64; 4]) -> f64 {
    (0..3).map(|k| j[k] * linear[k] + j[3 + k] * angular[k]).sum()
}

impl BoundedRow {
    /// A row between the bodies at these places, for substeps of δ seconds; `force` is that of the step before.
    pub(crate) fn new(
        bound: Bound,
        constraint: u32,
        bodies: [u32; 2],
        jacobian: [[f64; 6]; 2],
        force: f64,
        delta: f64,
        states: &[BodyState],
    ) -> Self {
        let bound = match bound {
            Bound::Rate(target, most) => Bound::Rate(target, delta * most),
            limit => limit,
        };
        let response: [[f64; 6]; 2] =
            std::array::from_fn(|s| response(&states[bodies[s] as usize], &jacobian[s]));
        let w: f64 = jacobian.as_flattened().iter().zip(response.as_flattened()).map(|(a, b)| a * b).sum();
        let inv_response = if w > 0.0 { 1.0 / w } else { 0.0 };
        let mut row =
            Self { bodies, jacobian, response, inv_response, bound, impulse: 0.0, total: 0.0, constraint };
        row.impulse = row.clamped(delta * force);
        row
    }

    fn clamped(&self, p: f64) -> f64 {
        match self.bound {
            Bound::Limit(_) => p.max(0.0),
            Bound::Rate(_, most) => p.clamp(-most, most),
        }
    }

    fn apply(&self, p: f64, bodies: &mut [BodyState]) {
        for (b, response) in self.bodies.iter().zip(&self.response) {
            let body = &mut bodies[*b as usize];
            (0..3).for_each(|k| body.v[k] += p * response[k]);
            (0..3).for_each(|k| body.w[k] += p * response[3 + k]);
        }
    }

    /// Applies the impulse of the step before.
    pub(super) fn warm_start(&self, bodies: &mut [BodyState]) {
        self.apply(self.impulse, bodies);
    }

    /// One visit in a substep of δ seconds; what is beyond a limit is taken back at `rate` times its size \[1/s\].
    pub(super) fn solve(&mut self, bodies: &mut [BodyState], delta: f64, rate: f64) {
        let of = |s: usize| (&bodies[self.bodies[s] as usize], &self.jacobian[s]);
        let [(a, ja), (b, jb)] = [of(0), of(1)];
        let now = times(ja, &a.v, &a.w) + times(jb, &b.v, &b.w);
        let target = match self.bound {
            Bound::Rate(target, _) => target,
            Bound::Limit(C) => {
                let C = C + times(ja, &a.translation, &a.rotation) + times(jb, &b.translation, &b.rotation);
                if C > 0.0 { -C / delta } else { -rate * C }
            }
        };
        let new = self.clamped(self.impulse + (target - now) * self.inv_response);
        let change = new - self.impulse;
        self.impulse = new;
        self.apply(change, bodies);
    }

    /// Adds the impulse of a substep to that of the step.
    pub(super) fn accumulate(&mut self) {
        self.total += self.impulse;
    }
}
