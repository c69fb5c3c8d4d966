//! Positions after the velocities are known.

use std::ops::Range;

use super::sweep::{Contact, Side};
use super::{ContactWork, Moved, NONE};
use crate::bodies::Rigid;
use crate::contact::TouchModel;
use crate::math::{Vec3, set_triple, triple};
use crate::model::Model;
use crate::state::State;
use crate::step::impulse::Impulse;

/// Share of an overlap that is taken away per step.
const SHARE: f64 = 0.2;
/// Overlaps below this part of the smallest shape are left.
const SLOP: f64 = 1e-5;
/// Nothing is parted unless some overlap is beyond that by this part of it.
const DEEP: f64 = 0.01;
/// Rounds in which bodies may be found in each other's way.
const HELD_ROUNDS: u32 = 4;
/// Sweeps that move the velocities of links by less than this part of the fastest are the last.
const PARTED: f64 = 1e-3;
/// Sweeps over the position-only velocities.
const SWEEPS: u32 = 40;
/// Points that give way by less than this part of the most yielding one of their island cannot be parted.
const YIELDS: f64 = 1e-9;

/// The part of these rates that is nowhere faster than `most`.
fn part_within(most: f64, rates: impl Iterator<Item = f64>) -> f64 {
    let fastest = rates.fold(0.0, f64::max);
    if fastest > most { most / fastest } else { 1.0 }
}

impl ContactWork {
    /// Velocities that part what overlaps, for the drift of this step only.
    pub(super) fn part_overlaps(&mut self, settings: &Impulse, touch: &TouchModel, model: &Model, h: f64) {
        self.push.clear();
        self.push.resize(self.field.x.len(), 0.0);
        let slop = SLOP * touch.length;
        self.robots.load_velocities(model, &self.field.x);
        for i in 0..self.islands.len() {
            let range = self.islands.first[i] as usize..self.islands.first[i + 1] as usize;
            // What the drift leaves of each gap.
            self.pushes.clear();
            let mut deep = false;
            for k in range.clone() {
                let (c, info) = (&self.contacts[k], &self.info[k]);
                let gap = info.gap + h * c.normal.dot(&self.rate_of(model, &self.field.x, k));
                // An overlap that this step makes is parted from the next one on: its impulses count on the drift alone.
                let overlap = -gap.max(info.gap) - slop;
                let rate = if info.soft || info.impact >= 0.0 {
                    f64::NEG_INFINITY
                } else if overlap > 0.0 {
                    deep |= overlap > DEEP * slop;
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
            let link = |c: &Contact| c.sides.iter().all(|s| matches!(s, Side::Link(..) | Side::World));
            if self.contacts[range.clone()].iter().all(link) {
                self.know_blocks(range.clone(), model);
                self.part_links(range.clone(), settings.push_speed, &mut impulses);
                let mut changes = std::mem::take(&mut self.best);
                changes.clear();
                let both = self.contacts[range.clone()].iter().zip(&impulses);
                changes.extend(both.map(|(c, p)| [*p * c.normal, Vec3::zeros()]));
                self.add_changes(range, model, &changes, &[], &[], &mut push);
                self.best = changes;
                (self.push, self.impulses) = (push, impulses);
                continue;
            }
            let yields = |c: &Contact| c.normal.dot(&(c.W * c.normal));
            let least = YIELDS * self.contacts[range.clone()].iter().map(yields).fold(0.0, f64::max);
            for _ in 0..SWEEPS {
                for (k, c) in self.contacts[range.clone()].iter().enumerate() {
                    let (n, rate) = (&c.normal, self.pushes[k]);
                    let own = yields(c);
                    if rate == f64::NEG_INFINITY || own <= least {
                        continue;
                    }
                    let now = n.dot(&self.field.relative(&push, c));
                    let new = (impulses[k] + (rate - now) / own).max(0.0);
                    let change = new - impulses[k];
                    if change != 0.0 {
                        impulses[k] = new;
                        self.field.push(&mut push, c, &(change * n));
                    }
                }
            }
            // Where there is no room for all of them, some would be thrown far to part others.
            let contacts = &self.contacts[range];
            let speeds = contacts.iter().map(|c| c.normal.dot(&self.field.relative(&push, c)));
            let less = part_within(settings.push_speed, speeds) - 1.0;
            if less < 0.0 {
                for (c, p) in contacts.iter().zip(&impulses).filter(|(_, p)| **p != 0.0) {
                    self.field.push(&mut push, c, &(less * *p * c.normal));
                }
            }
            self.push = push;
            self.impulses = impulses;
        }
        // A robot without room would be folded far to part a little of it: no dof goes faster either.
        let islands = self.joint_islands();
        for cluster in &self.clusters[islands..] {
            let own = &mut self.push[cluster.first as usize..(cluster.first + cluster.len) as usize];
            let part = part_within(settings.push_speed, own.iter().map(|v| v.abs()));
            if part < 1.0 {
                own.iter_mut().for_each(|v| *v *= part);
            }
        }
    }

    /// Impulses that part the overlaps of an island of links: the same sweeps in the space of the contacts, with
    /// $N_{ij} = n_i\cdot W_{ij} n_j$, until they change nothing that counts; none parts faster than `push_speed`.
    fn part_links(&mut self, range: Range<usize>, push_speed: f64, impulses: &mut [f64]) {
        let (contacts, m) = (&self.contacts[range], impulses.len());
        let (N, rates) = (&mut self.part_matrix, &mut self.part_rates);
        N.clear();
        N.resize(m * m, 0.0);
        rates.clear();
        rates.resize(m, 0.0);
        for (i, a) in contacts.iter().enumerate() {
            N[i * m + i] = a.normal.dot(&(a.W * a.normal));
            for (j, b) in contacts[..i].iter().enumerate() {
                let answer = a.normal.dot(&(self.field.between(a, b) * b.normal));
                (N[i * m + j], N[j * m + i]) = (answer, answer);
            }
        }
        let fastest = self.pushes.iter().fold(0.0f64, |most, r| most.max(*r));
        let least = YIELDS * (0..m).map(|k| N[k * m + k]).fold(0.0, f64::max);
        for _ in 0..SWEEPS {
            let mut moved = 0.0f64;
            let parted = |k: &usize| self.pushes[*k] != f64::NEG_INFINITY && N[k * m + k] > least;
            for k in (0..m).filter(parted) {
                let own = N[k * m + k];
                let new = (impulses[k] + (self.pushes[k] - rates[k]) / own).max(0.0);
                let change = new - impulses[k];
                if change != 0.0 {
                    impulses[k] = new;
                    rates.iter_mut().zip(&N[k * m..(k + 1) * m]).for_each(|(r, n)| *r += change * n);
                    moved = moved.max(own * change.abs());
                }
            }
            if moved <= PARTED * fastest {
                break;
            }
        }
        let part = part_within(push_speed, rates.iter().copied());
        impulses.iter_mut().for_each(|p| *p *= part);
    }

    /// What contacts did to each body by itself. Bodies that were found held before stay so unless `anew`.
    pub(super) fn note_moved(&mut self, touch: &TouchModel, h: f64, anew: bool) {
        let n = self.slots();
        if anew {
            self.moved.clear();
        }
        self.moved.resize(n, Moved::default());
        self.moved.iter_mut().for_each(|m| m.late = Vec3::zeros());
        self.note_particles();
        for (c, info) in self.contacts.iter().zip(&self.info) {
            if c.impulse == Vec3::zeros() {
                continue;
            }
            for (s, side) in c.sides.iter().enumerate() {
                if let Side::Loose(at) = *side {
                    let slot = at as usize / 6;
                    let sign = if s == 0 { 1.0 } else { -1.0 };
                    let moved = &mut self.moved[slot];
                    moved.held |= info.impact < 0.0;
                    let late = h - info.impact.max(0.0);
                    moved.late += (late * sign * self.field.inverse[slot].mass) * c.impulse;
                }
            }
        }
        // A kick that comes late leaves less way than h v⁺: whoever would be in the way of another moves by h v⁺.
        let slop = SLOP * touch.length;
        for _ in 0..HELD_ROUNDS {
            let mut found = false;
            for k in 0..self.contacts.len() {
                let (c, info) = (&self.contacts[k], &self.info[k]);
                if !c.sides.iter().any(|s| matches!(s, Side::Loose(_))) {
                    continue;
                }
                let way = self.way(&c.sides[0], &c.arms[0], h) - self.way(&c.sides[1], &c.arms[1], h);
                if info.soft || info.gap.max(0.0) + c.normal.dot(&way) >= -slop {
                    continue;
                }
                for s in 0..2 {
                    if let Side::Loose(at) = self.contacts[k].sides[s] {
                        let held = &mut self.moved[at as usize / 6].held;
                        found |= !*held;
                        *held = true;
                    }
                }
            }
            if !found {
                break;
            }
        }
    }

    /// How far the point of one side goes in the step.
    fn way(&self, side: &Side, arm: &Vec3, h: f64) -> Vec3 {
        let end = h * self.field.velocity(&self.field.x, side, arm);
        match *side {
            Side::Loose(at) if !self.moved[at as usize / 6].held => {
                let slot = at as usize / 6;
                let middle = 0.5 * (triple(&self.start, 2 * slot) + triple(&self.free, 2 * slot));
                end + h * (middle - triple(&self.field.x, 2 * slot)) + self.moved[slot].late
            }
            _ => end,
        }
    }

    /// Bodies by themselves take their velocities and move.
    pub(super) fn drift_loose(&mut self, model: &Model, state: &mut State, h: f64) {
        for (k, &slot) in self.slot_rigid.iter().enumerate() {
            let slot = slot as usize;
            if self.sleeping_rigid(k)
                || self.drift_piled(model, state, k, slot, h)
                || self.cluster_of[slot] != NONE
            {
                continue;
            }
            let State { q, v, .. } = &mut *state;
            let moved = self.moved[slot];
            let (v0, free) = (triple(&self.start, 2 * slot), triple(&self.free, 2 * slot));
            let x = triple(&q[7 * k..], 0);
            v[6 * k..6 * k + 6].copy_from_slice(&self.field.x[6 * slot..6 * slot + 6]);
            model.rigid.free_flight_of(q, v, k, h);
            if !moved.held {
                // The parabola, and the kick of each impact from its time on.
                let to = x + 0.5 * h * (v0 + free) + moved.late;
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
