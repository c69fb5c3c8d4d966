//! Limits, rate motors and dry friction on the coordinates of joints in heaps.
//!
//! Each is one row $\dot C = J v$ between two bodies whose impulse p in a part of length δ has bounds. A visit is that of a
//! contact's normal row: with $w = J M^{-1}J^T$,
//!
//! $$ p \leftarrow \mathrm{clamp}\big(p + (\text{target} - J v)/w\big). $$
//!
//! A limit with C ≥ 0 asks for $-C/\delta$ while it is not reached, C moving by what the bodies have moved, and for nothing
//! beyond it, with p ≥ 0; before the bodies drift it comes back at a fifth of −C per step instead. A motor asks for its
//! rate and friction for rest, with |p| ≤ δ max.

use super::lanes::Body;
use crate::contact::response::NONE;
use crate::joints::{Hold, Role};

/// Share of what is beyond a limit that is taken back per step.
const BACK: f64 = 0.2;

/// What the row asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wish {
    /// Stays at C ≥ 0, from where it stands.
    Above(f64),
    /// Runs at this rate, with at most this impulse in a part.
    Rate(f64, f64),
}

/// One row with bounds.
#[derive(Debug, Clone)]
pub(super) struct Tie {
    bodies: [u32; 2],
    jacobian: [[f64; 6]; 2],
    /// M⁻¹Jᵀ.
    answer: [[f64; 6]; 2],
    /// 1/w; 0 for a row that moves nothing.
    inverse: f64,
    wish: Wish,
    /// Impulse in this part, and in all of them.
    impulse: f64,
    pub(super) sum: f64,
    /// Its constraint in the model.
    pub(super) member: u32,
}

/// When rows are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Before the bodies drift.
    Push,
    /// After it.
    Relax,
}

/// True for what is held by a row of this kind.
pub(super) fn is_tie(hold: &Hold) -> bool {
    match hold {
        Hold::Axis { role: Role::Lower(_) | Role::Upper(_), kp, .. } => kp.is_infinite(),
        Hold::Axis { role: Role::Velocity { .. } | Role::Friction(_), .. } => true,
        _ => false,
    }
}

/// M⁻¹ j of a body.
fn answer(body: &Body, j: &[f64; 6]) -> [f64; 6] {
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

impl Tie {
    /// A row with violation C; `bodies` by their places, `NONE` for the world, and `last` the force of the step before.
    pub(super) fn new(
        hold: &Hold,
        C: f64,
        member: u32,
        which: [u32; 2],
        jacobian: [[f64; 6]; 2],
        last: f64,
        part: f64,
        bodies: &[Body],
    ) -> Option<Self> {
        let Hold::Axis { role, .. } = hold else { return None };
        let wish = match *role {
            Role::Lower(_) | Role::Upper(_) => Wish::Above(C),
            Role::Velocity { target, max } => Wish::Rate(target, part * max),
            Role::Friction(max) => Wish::Rate(0.0, part * max),
            _ => return None,
        };
        let world = bodies.len() as u32 - 1;
        let which = which.map(|b| if b == NONE { world } else { b });
        let answer: [[f64; 6]; 2] = std::array::from_fn(|s| answer(&bodies[which[s] as usize], &jacobian[s]));
        let w: f64 = jacobian.as_flattened().iter().zip(answer.as_flattened()).map(|(a, b)| a * b).sum();
        let inverse = if w > 0.0 { 1.0 / w } else { 0.0 };
        let mut tie = Self { bodies: which, jacobian, answer, inverse, wish, impulse: 0.0, sum: 0.0, member };
        tie.impulse = tie.bounded(part * last);
        Some(tie)
    }

    fn bounded(&self, p: f64) -> f64 {
        match self.wish {
            Wish::Above(_) => p.max(0.0),
            Wish::Rate(_, most) => p.clamp(-most, most),
        }
    }

    fn push(&self, p: f64, bodies: &mut [Body]) {
        for (b, answer) in self.bodies.iter().zip(&self.answer) {
            let body = &mut bodies[*b as usize];
            (0..3).for_each(|k| body.v[k] += p * answer[k]);
            (0..3).for_each(|k| body.w[k] += p * answer[3 + k]);
        }
    }

    /// The impulse that it begins with.
    pub(super) fn warm(&self, bodies: &mut [Body]) {
        self.push(self.impulse, bodies);
    }

    /// One visit; parts of `part` seconds, `parts` of them in a step.
    pub(super) fn visit(&mut self, bodies: &mut [Body], when: When, part: f64, parts: f64) {
        let of = |s: usize| (&bodies[self.bodies[s] as usize], &self.jacobian[s]);
        let [(a, ja), (b, jb)] = [of(0), of(1)];
        let rate = times(ja, &a.v, &a.w) + times(jb, &b.v, &b.w);
        let target = match self.wish {
            Wish::Rate(target, _) => target,
            Wish::Above(C) => match C + times(ja, &a.moved, &a.turned) + times(jb, &b.moved, &b.turned) {
                C if C > 0.0 => -C / part,
                C if when == When::Push => -BACK / (part * parts) * C,
                _ => 0.0,
            },
        };
        let new = self.bounded(self.impulse + (target - rate) * self.inverse);
        let change = new - self.impulse;
        self.impulse = new;
        self.push(change, bodies);
    }

    /// The impulse of this part of the step counts.
    pub(super) fn add_up(&mut self) {
        self.sum += self.impulse;
    }
}
