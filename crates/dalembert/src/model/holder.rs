//! Bodies as constraints see them: where a holder is, how it moves, and how a projection moves it.

use std::ops::Range;

use super::Model;
use crate::bodies::Rigid;
use crate::joints::{Body, Holder, MOST_HOLDERS};
use crate::math::rotation::{matrix, quaternion};
use crate::math::{Mat3, Vec3, set_triple, triple};

impl Model {
    /// Pose and velocity of a holder, as constraints see it.
    pub fn body(&self, holder: Holder, q: &[f64], v: &[f64]) -> Body {
        let (x, R) = self.pose(holder, q);
        let (v, w) = match holder {
            Holder::World => (Vec3::zeros(), Vec3::zeros()),
            Holder::Particle(i) => (triple(&v[self.layout.points_v()..], i as usize), Vec3::zeros()),
            Holder::Rigid(k) => (triple(v, 2 * k as usize), triple(v, 2 * k as usize + 1)),
        };
        Body { x, R, v, w }
    }

    /// Centre of mass and rotation of a holder.
    #[inline]
    pub(crate) fn pose(&self, holder: Holder, q: &[f64]) -> (Vec3, Mat3) {
        match holder {
            Holder::World => (Vec3::zeros(), Mat3::identity()),
            Holder::Particle(i) => (triple(&q[self.layout.points_q()..], i as usize), Mat3::identity()),
            Holder::Rigid(k) => {
                let q = &q[7 * k as usize..];
                (triple(q, 0), matrix(&quaternion(q, 3)))
            }
        }
    }

    /// Where the coordinates of a holder lie in q.
    #[inline]
    pub(crate) fn coordinates_of(&self, holder: Holder) -> Range<usize> {
        match holder {
            Holder::World => 0..0,
            Holder::Particle(i) => {
                let first = self.layout.points_q() + 3 * i as usize;
                first..first + 3
            }
            Holder::Rigid(k) => 7 * k as usize..7 * k as usize + 7,
        }
    }

    /// Moves a body by a small step Δ (linear, angular), as a projection does.
    pub(crate) fn nudge(&self, holder: Holder, delta: &[f64], q: &mut [f64]) {
        match holder {
            Holder::World => {}
            Holder::Particle(i) => {
                let points = &mut q[self.layout.points_q()..];
                let x = triple(points, i as usize) + triple(delta, 0);
                set_triple(points, i as usize, &x);
            }
            Holder::Rigid(k) => {
                let k = k as usize;
                Rigid::advance(&mut q[7 * k..7 * k + 7], &delta[..6]);
            }
        }
    }

    /// Brings the memory of joint angles up to date.
    pub(crate) fn update_turns(&self, q: &[f64], v: &[f64], turns: &mut [f64]) {
        if turns.is_empty() {
            return;
        }
        let mut bodies = [Body::WORLD; MOST_HOLDERS];
        for c in self.constraints.iter().filter(|c| !c.turns.is_empty()) {
            let holders = c.constraint.holders();
            for (b, h) in bodies.iter_mut().zip(holders) {
                *b = self.body(*h, q, v);
            }
            let memory = &mut turns[c.turns.clone()];
            let now = c.constraint.coordinates(&bodies[..holders.len()], memory);
            for (m, n) in memory.iter_mut().zip(now) {
                *m = n.unwrap_or(*m);
            }
        }
    }
}
