//! Positions after the velocities are known.

use super::sweep::Side;
use super::{ContactWork, Moved, NONE};
use crate::bodies::Rigid;
use crate::math::{Vec3, set_triple, triple};
use crate::model::{Model, State, TouchModel};
use crate::step::impulse::Impulse;

/// Share of an overlap that is taken away per step.
const SHARE: f64 = 0.2;
/// Overlaps below this part of the smallest shape are left.
const SLOP: f64 = 1e-5;
/// Sweeps over the position-only velocities.
const SWEEPS: u32 = 40;

impl ContactWork {
    /// Velocities that part what overlaps, for the drift of this step only.
    pub(super) fn part_overlaps(&mut self, settings: &Impulse, touch: &TouchModel, h: f64) {
        self.push.clear();
        self.push.resize(self.field.x.len(), 0.0);
        let slop = SLOP * touch.length;
        for i in 0..self.islands.len() {
            let range = self.islands.first[i] as usize..self.islands.first[i + 1] as usize;
            // What the drift leaves of each gap.
            self.pushes.clear();
            let mut deep = false;
            for (c, info) in self.contacts[range.clone()].iter().zip(&self.info[range.clone()]) {
                let gap = info.gap + h * c.normal.dot(&self.field.relative(&self.field.x, c));
                let overlap = -gap - slop;
                let rate = if info.soft || info.impact >= 0.0 {
                    f64::NEG_INFINITY
                } else if overlap > 0.0 {
                    deep = true;
                    (SHARE * overlap / h).min(settings.push_speed)
                } else {
                    // What is apart may come closer, but not into each other.
                    -(gap + slop).max(0.0) / h
                };
                self.pushes.push(rate);
            }
            if !deep {
                continue;
            }
            let mut push = std::mem::take(&mut self.push);
            let mut impulses = std::mem::take(&mut self.impulses);
            impulses.clear();
            impulses.resize(range.len(), 0.0f64);
            for _ in 0..SWEEPS {
                for (k, c) in self.contacts[range.clone()].iter().enumerate() {
                    let (n, rate) = (&c.normal, self.pushes[k]);
                    if rate == f64::NEG_INFINITY {
                        continue;
                    }
                    let own = n.dot(&(c.W * n));
                    let now = n.dot(&self.field.relative(&push, c));
                    let new = (impulses[k] + (rate - now) / own).max(0.0);
                    let change = new - impulses[k];
                    if change != 0.0 {
                        impulses[k] = new;
                        self.field.push(&mut push, c, &(change * n));
                    }
                }
            }
            self.push = push;
            self.impulses = impulses;
        }
    }

    /// What contacts did to each body by itself.
    pub(super) fn note_moved(&mut self) {
        let n = self.slots();
        self.moved.clear();
        self.moved.resize(n, Moved { held: false, impact: -1.0 });
        for (c, info) in self.contacts.iter().zip(&self.info) {
            if c.impulse == Vec3::zeros() {
                continue;
            }
            for (side, node) in c.sides.iter().zip(info.nodes) {
                if let Side::Loose(_) = side {
                    let moved = &mut self.moved[node as usize];
                    if info.impact < 0.0 {
                        moved.held = true;
                    } else if moved.impact < 0.0 || info.impact < moved.impact {
                        moved.impact = info.impact;
                    }
                }
            }
        }
    }

    /// Bodies by themselves take their velocities and move.
    pub(super) fn drift_loose(&mut self, model: &Model, state: &mut State, h: f64) {
        self.note_moved();
        for (k, &slot) in self.slot_rigid.iter().enumerate() {
            let slot = slot as usize;
            if self.cluster_of[slot] != NONE
                || self.sleeping_rigid(k)
                || self.drift_piled(model, state, k, slot, h)
            {
                continue;
            }
            let State { q, v, .. } = &mut *state;
            let moved = self.moved[slot];
            let new = &self.field.x[6 * slot..6 * slot + 6];
            let (v0, free, v1) =
                (triple(&self.start, 2 * slot), triple(&self.free, 2 * slot), triple(new, 0));
            let x = triple(&q[7 * k..], 0);
            if moved.held || moved.impact < 0.0 {
                v[6 * k..6 * k + 6].copy_from_slice(new);
                model.rigid.free_flight_of(q, v, k, h);
            } else {
                // Turns as without the impact until it comes, then with it.
                let turn = triple(new, 1) - triple(&self.free, 2 * slot + 1);
                v[6 * k..6 * k + 6].copy_from_slice(&self.free[6 * slot..6 * slot + 6]);
                model.rigid.free_flight_of(q, v, k, moved.impact);
                let w = triple(v, 2 * k + 1) + turn;
                set_triple(v, 2 * k, &v1);
                set_triple(v, 2 * k + 1, &w);
                model.rigid.free_flight_of(q, v, k, h - moved.impact);
            }
            if !moved.held {
                // The parabola, and the kick of an impact from its time on.
                let late = if moved.impact < 0.0 { 0.0 } else { h - moved.impact };
                let to = x + 0.5 * h * (v0 + free) + late * (v1 - free);
                set_triple(&mut q[7 * k..], 0, &to);
            }
            let push = &self.push[6 * slot..6 * slot + 6];
            if push.iter().any(|p| *p != 0.0) {
                let delta: [f64; 6] = std::array::from_fn(|i| h * push[i]);
                Rigid::advance(&mut q[7 * k..7 * k + 7], &delta);
            }
        }
    }
}
