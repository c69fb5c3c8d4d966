//! The step bound: how far each group may go along its Newton step until something meets (continuous collision detection).
//!
//! Every group has its own part of the step. A pair of bodies that would meet shortens the paths of both their groups;
//! every pair of which one side has changed is then followed again, so that in the end the whole motion, with all
//! bodies going their own paths at the same time, is free. If that takes too many rounds, the whole motion is shortened by
//! one factor, which needs no more looking.

use super::islands::NONE;
use super::retraction::retract;
use super::steps::{Change, Shape, Steps};
use super::work::{IpcWork, System};
use crate::collide::TooMany;
use crate::contact::potential::End;
use crate::model::Model;
use crate::state::State;
use crate::step::StepError;

/// What collisions leave, and how often paths are shortened.
pub(super) struct Tuning {
    /// Part of a gap that a step leaves, and that the first guess and nodes that are stopped one by one leave.
    pub rest: f64,
    pub guess_rest: f64,
    /// Turns whose chord stretches a body by less than this are cut along the chord.
    chord: f64,
    /// Rounds in which groups are shortened one by one, and after which they go half of what is free.
    rounds: u32,
    whole_rounds: u32,
}

pub(super) const TUNING: Tuning =
    Tuning { rest: 0.1, guess_rest: 0.3, chord: 1e-7, rounds: 12, whole_rounds: 2 };

pub(super) fn too_many(error: &TooMany, state: &State) -> StepError {
    StepError::Crowded { message: error.to_string(), time: state.time }
}

impl IpcWork {
    /// The path of groups whose step has changed ← their part of δ, affine bodies retracted to rotations without stretch.
    fn retract(&mut self, model: &Model) {
        let Self { islands, steps, delta, path, q, block_system, .. } = self;
        let anew = |group: u32| steps.change[group as usize] == Change::Anew;
        path.resize(delta.len(), 0.0);
        for (i, (w, d)) in path.chunks_exact_mut(3).zip(delta.chunks_exact(3)).enumerate() {
            let group = islands.group(i);
            if group == NONE {
                w.fill(0.0);
            } else if anew(group) {
                let part = steps.part[group as usize];
                (0..3).for_each(|k| w[k] = part * d[k]);
            }
        }
        let Some(ipc) = &model.ipc else { return };
        for (shape, change) in steps.shape.iter_mut().zip(&steps.change) {
            if *change == Change::Anew {
                *shape = Shape::Straight;
            }
        }
        let mut turned = false;
        for &first in &ipc.affine {
            // The centre may be held while the columns are free, and the other way round.
            let group = islands.group(first as usize + 1);
            if group == NONE || ipc.held[first as usize + 1] || !anew(group) {
                continue;
            }
            let angle = retract(q, delta, steps.part[group as usize], first as usize + 1, path);
            turned |= angle > 0.0;
            if !(angle * angle < TUNING.chord) {
                steps.shape[group as usize] = Shape::Chord;
            }
        }
        if turned {
            let part = |i: usize| match islands.group(i) {
                NONE => None,
                g => anew(g).then(|| steps.part[g as usize]),
            };
            block_system.correct(model, part, path);
        }
    }

    /// trial ← the end of the path; x1 ← its vertices in groups that have changed.
    pub(super) fn place_trial(&mut self, model: &Model) {
        let Some(ipc) = &model.ipc else { return };
        self.write_trial();
        let Self { contact, islands, steps, trial, .. } = self;
        let changed = |b: u32| match islands.group_of_body[b as usize] {
            NONE => true,
            g => steps.change[g as usize] != Change::Same,
        };
        contact.path.place(&ipc.geometry, trial, changed);
    }

    /// trial ← the blocks at the end of the path.
    pub(super) fn write_trial(&mut self) {
        for (k, w) in self.path.iter().enumerate() {
            self.trial[k] = self.q[k] + w;
        }
    }

    /// Shortens paths until all are free. On entry the paths of groups that have changed are to be made anew.
    pub(super) fn bound_step(&mut self, model: &Model, state: &State, rest: f64) -> Result<(), StepError> {
        self.retract(model);
        if model.ipc.is_none() || std::mem::take(&mut self.steps.known_free) {
            // A path that is known is the one that was followed last.
            return Ok(());
        }
        self.steps.placed = false;
        for change in &mut self.steps.change {
            if *change == Change::Scaled {
                *change = Change::Anew;
            }
        }
        for round in 0.. {
            self.place_trial(model);
            let least = self.bound_groups(model, state, rest)?;
            if least >= 1.0 {
                break;
            }
            let one_chord = self.islands.groups == 1 && self.steps.shape[0] == Shape::Straight;
            if one_chord || round >= TUNING.rounds {
                self.scale_all(least);
                self.place_trial(model);
                break;
            }
            self.shorten_groups(model, if round < TUNING.whole_rounds { 1.0 } else { 0.5 });
        }
        self.steps.placed = true;
        Ok(())
    }

    /// free ← how far each group may go, all at the same time; returns the least. Only pairs with a group that has changed are
    /// followed, and not those within a group whose path is a part of one that was followed.
    fn bound_groups(&mut self, model: &Model, state: &State, rest: f64) -> Result<f64, StepError> {
        let Self { islands, steps, contact, .. } = self;
        let Steps { change, free, .. } = steps;
        free.clear();
        free.resize(islands.groups, 1.0);
        let Some(ipc) = &model.ipc else { return Ok(1.0) };
        let group = |b: u32| if b == NONE { NONE } else { islands.group_of_body[b as usize] };
        let cells = std::cell::Cell::from_mut(&mut free[..]).as_slice_of_cells();
        let is = |g: u32| g != NONE && change[g as usize] != Change::Same;
        let of = |g: u32| if g == NONE { 1.0 } else { cells[g as usize].get() };
        let longest = |bodies: [u32; 2]| {
            let [a, b] = bodies.map(group);
            let followed = a == b && a != NONE && change[a as usize] == Change::Scaled;
            if followed || !(is(a) || is(b)) { 0.0 } else { of(a).max(of(b)) }
        };
        let take = |bodies: [u32; 2], t: f64| {
            for g in bodies.map(group).into_iter().filter(|g| *g != NONE) {
                let cell = &cells[g as usize];
                cell.set(cell.get().min(t));
            }
        };
        let covered = contact.bound_bodies(&ipc.geometry, rest, longest, take);
        let covered = covered.map_err(|e| too_many(&e, state))?;
        if covered < 1.0 {
            free.iter_mut().for_each(|f| *f = f.min(covered));
        }
        Ok(free.iter().copied().fold(1.0, f64::min))
    }

    /// Every path by one factor: of what was followed, every part is free.
    fn scale_all(&mut self, factor: f64) {
        self.path.iter_mut().for_each(|w| *w *= factor);
        self.steps.part.iter_mut().for_each(|p| *p *= factor);
        self.steps.shape.fill(Shape::Straight);
        self.steps.change.fill(Change::Anew);
    }

    /// Shortens the paths of groups that were stopped, to `factor` times what is free. A straight path is cut; a shorter path of
    /// a body that turns is another chord, which may meet something else and is followed anew.
    fn shorten_groups(&mut self, model: &Model, factor: f64) {
        let Steps { part, shape, change, free, .. } = &mut self.steps;
        for g in 0..self.islands.groups {
            change[g] = match shape[g] {
                _ if !(free[g] < 1.0) => Change::Same,
                Shape::Straight => Change::Scaled,
                Shape::Chord => Change::Anew,
            };
            if change[g] != Change::Same {
                free[g] *= factor;
                part[g] *= free[g];
            }
        }
        for (i, w) in self.path.chunks_exact_mut(3).enumerate() {
            let g = self.islands.group(i);
            if g != NONE && change[g as usize] == Change::Scaled {
                w.iter_mut().for_each(|w| *w *= free[g as usize]);
            }
        }
        if change.contains(&Change::Anew) {
            self.retract(model);
        }
    }

    /// Where all that moves are nodes and something is in the way: every node goes as far along δ as it may. True if that
    /// was done; the path is then free.
    pub(super) fn bound_nodes(&mut self, model: &Model, state: &State) -> Result<bool, StepError> {
        let nodes = self.system == System::Nodes;
        let Some(ipc) = model.ipc.as_ref().filter(|_| nodes) else { return Ok(false) };
        let geometry = &ipc.geometry;
        self.path.clone_from(&self.delta);
        self.steps.placed = false;
        let mut part = std::mem::take(&mut self.steps.free_vertices);
        let mut changed = vec![true; geometry.maps.len()];
        let (mut stopped, mut done) = (false, false);
        for round in 0..TUNING.rounds {
            self.place_trial(model);
            part.clear();
            part.resize(geometry.maps.len(), 1.0);
            let some = (round > 0).then_some(&changed[..]);
            let covered = self.contact.bound_vertices(geometry, TUNING.guess_rest, some, &mut part);
            let covered = covered.map_err(|e| too_many(&e, state))?;
            let least = part.iter().copied().fold(covered, f64::min);
            if least >= 1.0 {
                done = true;
                break;
            }
            stopped = true;
            if covered < 1.0 || round + 1 == TUNING.rounds {
                // Of what was followed, every part is free.
                self.path.iter_mut().for_each(|w| *w *= least);
                done = true;
                break;
            }
            for (map, &part) in geometry.maps.iter().zip(&part).filter(|(_, p)| **p < 1.0) {
                let first = 3 * map.first_block as usize;
                let blocks = &mut self.path[first..first + 3 * map.n as usize];
                blocks.iter_mut().for_each(|w| *w *= part);
            }
            changed.iter_mut().zip(&part).for_each(|(c, part)| *c = *part < 1.0);
        }
        self.steps.free_vertices = part;
        // The whole of δ is free: no need to follow it again.
        self.steps.known_free = done && !stopped;
        Ok(done && stopped)
    }

    /// A first guess: if something is in the way, every unit goes as far as it may on its own. True if that was done.
    pub(super) fn guess(&mut self, model: &Model, state: &State) -> Result<bool, StepError> {
        if !self.islands.several() {
            return Ok(false);
        }
        self.islands.apart();
        self.steps.begin_iteration(self.islands.groups);
        self.bound_step(model, state, TUNING.guess_rest)?;
        if self.steps.part.iter().all(|p| *p >= 1.0) {
            self.steps.known_free = true;
            self.islands.by_contacts(self.contact.connections());
            return Ok(false);
        }
        self.evaluate_trial(model, state);
        let finite = self.steps.energies.value.iter().all(|e| e[0].is_finite());
        if finite {
            self.accept();
        } else if let Some(ipc) = &model.ipc {
            self.contact.energy(&ipc.geometry, End::Iterate);
        }
        self.islands.by_contacts(self.contact.connections());
        Ok(finite)
    }
}

#[cfg(test)]
#[path = "step_bound_tests.rs"]
mod tests;
