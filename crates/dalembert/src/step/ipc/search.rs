//! How far each group goes along its Newton step.
//!
//! Every group has its own part of the step. A pair of bodies that would meet shortens the ways of both their groups;
//! every pair of which one side has changed is then looked at again, so that in the end the whole motion, with all
//! bodies going their own ways at the same time, is free. If that takes too many rounds, the whole motion is shortened by
//! one factor, which needs no more looking.

use super::super::{StepError, StepReport};
use super::Ipc;
use super::bend::bend;
use super::bodies::{SAFE, SHORTER};
use super::islands::NONE;
use super::newton::IpcWork;
use crate::collide::TooMany;
use crate::math::triple;
use crate::model::Model;
use crate::state::State;

/// Halvings of a step.
const HALVINGS: u32 = 40;
/// Part of the promised decrease that a step must keep (Armijo).
const ARMIJO: f64 = 1e-4;
/// Turns whose chord stretches a body by less than this are cut along the chord.
const CHORD: f64 = 1e-7;
/// Part of a gap that collisions leave.
const REST: f64 = 0.1;
/// Steps that fall by this factor close in.
const CLOSING: f64 = 0.4;
/// A step below this part of the tolerance need not be taken. It was found with a curvature $\tilde H$ that may be of an earlier
/// iterate, and Newton's own step is $H^{-1}g = (1 - R)^{-1}\tilde H^{-1}g$ with $R = 1 - \tilde H^{-1}H$, by which steps fall. So
/// where they fall by $r \le 1 - $ `SHORT`, that is below the tolerance too: $|H^{-1}g| \le |\tilde H^{-1}g|/(1 - r)$.
const SHORT: f64 = 0.4;
/// The same for bodies: no more than what a last step with a factor that serves twice may leave (see `bodies`).
const SHORT_OF_BODIES: f64 = SAFE * SHORTER;
/// Forces keep their curvature for steps below this many tolerances.
const KEPT: f64 = 20.0;
/// They also do while no edge turns or stretches by more than this in a step, and steps fall by this factor.
const STEADY: f64 = 0.1;
const FALLING: f64 = 0.5;
/// Iterations in which nodes are stopped one by one.
const CLIPPED: u32 = 8;
/// Rounds in which groups are shortened one by one.
const SETTLING: u32 = 12;
/// Speed \[m/s\] at which the tolerance of a rubbing group is the tolerance itself; it falls with the speed.
const UNIT_SPEED: f64 = 1.0;

/// A group has come to rest when its Newton step is no more than this part of its change of velocity in the step: see `change`.
pub(super) const PART: f64 = 1.0 / 64.0;
/// Part of its change of velocity by which a group may miss the momentum that given forces leave it.
const KEPT_MOMENTUM: f64 = 1e-10;

/// What the search knows of each group.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// Part of δ, and whether the way may be cut along its chord.
    pub(super) part: Vec<f64>,
    straight: Vec<bool>,
    changed: Vec<bool>,
    /// The way is a part of one that was looked at.
    scaled: Vec<bool>,
    free: Vec<f64>,
    /// The whole ways of all groups are known to be free.
    known: bool,
    /// Nothing but rounding is left to gain, or nothing leads down.
    floor: Vec<bool>,
    stuck: Vec<bool>,
    energies: Vec<[f64; 2]>,
    /// How far each vertex may go.
    of_vertex: Vec<f64>,
    /// `energies` are those at q.
    pub current: bool,
    /// How fast the last whole step was \[m/s\]; 0 if it was cut.
    pub before: f64,
    /// How fast the last step was, cut or not \[m/s\].
    pub last: f64,
    /// `trial` and x1 are the end of the way.
    there: bool,
    /// Nodes were stopped one by one in the last step.
    clipped: bool,
    /// The next step will be small.
    pub closing: bool,
}

pub(super) fn crowded(error: &TooMany, state: &State) -> StepError {
    StepError::Crowded { message: error.to_string(), time: state.time }
}

impl IpcWork {
    /// How fast the farthest point of each group would move \[m/s\].
    pub(super) fn speeds(&self, model: &Model, h: f64) -> Vec<f64> {
        let mut out = vec![0.0f64; self.islands.groups];
        let reach = |i: usize| model.contact.as_ref().map_or(1.0, |c| c.reach[i]);
        for (i, d) in self.delta.chunks_exact(3).enumerate() {
            let group = self.islands.group(i);
            if group != NONE {
                let far = reach(i) * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
                let out = &mut out[group as usize];
                *out = out.max(far / h);
            }
        }
        out
    }

    /// way of the changed groups ← their part of δ, stiff bodies turned without stretch.
    fn bend(&mut self, model: &Model) {
        let Self { islands, steps, delta, way, q, equations, .. } = self;
        way.resize(delta.len(), 0.0);
        for (i, (w, d)) in way.chunks_exact_mut(3).zip(delta.chunks_exact(3)).enumerate() {
            let group = islands.group(i);
            if group == NONE {
                w.fill(0.0);
            } else if steps.changed[group as usize] {
                let part = steps.part[group as usize];
                (0..3).for_each(|k| w[k] = part * d[k]);
            }
        }
        let Some(contact) = &model.contact else { return };
        for (straight, changed) in steps.straight.iter_mut().zip(&steps.changed) {
            *straight |= *changed;
        }
        let mut turned = false;
        for &first in &contact.affine {
            // The centre may be held while the columns are free, and the other way round.
            let group = islands.group(first as usize + 1);
            if group == NONE || contact.held[first as usize + 1] || !steps.changed[group as usize] {
                continue;
            }
            let angle = bend(q, delta, steps.part[group as usize], first as usize + 1, way);
            turned |= angle > 0.0;
            steps.straight[group as usize] &= angle * angle < CHORD;
        }
        if turned {
            let part = |i: usize| match islands.group(i) {
                NONE => None,
                g => steps.changed[g as usize].then(|| steps.part[g as usize]),
            };
            equations.correct(model, part, way);
        }
    }

    /// trial, x1 ← the blocks and the vertices at the end of the way, in groups that have changed.
    fn go(&mut self, model: &Model) {
        let Some(contact) = &model.contact else { return };
        let n = self.way.len();
        for (k, z) in self.trial[..n].iter_mut().enumerate() {
            *z = self.q[k] + self.way[k];
        }
        let Self { touch, islands, steps, trial, .. } = self;
        let changed = |b: u32| match islands.group_of_body[b as usize] {
            NONE => true,
            g => steps.changed[g as usize],
        };
        touch.place(contact, trial, changed);
    }

    /// Shortens ways until all are free. On entry the ways of changed groups are to be made anew.
    fn settle(&mut self, model: &Model, state: &State, rest: f64) -> Result<(), StepError> {
        self.bend(model);
        let there = std::mem::take(&mut self.steps.there);
        if model.contact.is_none() || std::mem::take(&mut self.steps.known) {
            // A way that is known is the one that was gone last.
            self.steps.there = there;
            return Ok(());
        }
        self.steps.scaled.clear();
        self.steps.scaled.resize(self.islands.groups, false);
        for round in 0.. {
            self.go(model);
            let least = self.free_ways(model, state, rest)?;
            if least >= 1.0 {
                self.steps.there = true;
                return Ok(());
            }
            let one_chord = self.islands.groups == 1 && self.steps.straight[0];
            if one_chord || round >= SETTLING {
                self.scale_all(least);
                self.go(model);
                self.steps.there = true;
                return Ok(());
            }
            self.shorten_groups(model, if round < 2 { 1.0 } else { 0.5 });
        }
        Ok(())
    }

    /// free ← how far each group may go, all at the same time; returns the least. Only pairs with a group that has changed are
    /// looked at, and not those within a group whose way is a part of one that was looked at.
    fn free_ways(&mut self, model: &Model, state: &State, rest: f64) -> Result<f64, StepError> {
        let Self { islands, steps, touch, .. } = self;
        let Steps { changed, free, scaled, .. } = steps;
        free.clear();
        free.resize(islands.groups, 1.0);
        let Some(contact) = &model.contact else { return Ok(1.0) };
        let group = |b: u32| if b == NONE { NONE } else { islands.group_of_body[b as usize] };
        let cells = std::cell::Cell::from_mut(&mut free[..]).as_slice_of_cells();
        let is = |g: u32| g != NONE && changed[g as usize];
        let of = |g: u32| if g == NONE { 1.0 } else { cells[g as usize].get() };
        let longest = |bodies: [u32; 2]| {
            let [a, b] = bodies.map(group);
            let again = a == b && a != NONE && scaled[a as usize];
            if again || !(is(a) || is(b)) { 0.0 } else { of(a).max(of(b)) }
        };
        let take = |bodies: [u32; 2], t: f64| {
            for g in bodies.map(group).into_iter().filter(|g| *g != NONE) {
                let cell = &cells[g as usize];
                cell.set(cell.get().min(t));
            }
        };
        let covered = touch.free_parts(contact, rest, longest, take).map_err(|e| crowded(&e, state))?;
        if covered < 1.0 {
            free.iter_mut().for_each(|f| *f = f.min(covered));
        }
        Ok(free.iter().copied().fold(1.0, f64::min))
    }

    /// Every way by one factor: of what was looked at, every part is free.
    fn scale_all(&mut self, factor: f64) {
        self.way.iter_mut().for_each(|w| *w *= factor);
        self.steps.part.iter_mut().for_each(|p| *p *= factor);
        self.steps.straight.fill(true);
        self.steps.changed.fill(true);
    }

    /// Shortens the ways of groups that were stopped, to `factor` times what is free. A straight way is cut; a shorter way of
    /// a body that turns is another chord, which may meet something else and is looked at anew.
    fn shorten_groups(&mut self, model: &Model, factor: f64) {
        let Steps { part, straight, changed, free, scaled, .. } = &mut self.steps;
        let mut bent = false;
        for g in 0..self.islands.groups {
            changed[g] = free[g] < 1.0;
            scaled[g] = changed[g] && straight[g];
            if changed[g] {
                free[g] *= factor;
                part[g] *= free[g];
                bent |= !straight[g];
            }
        }
        for (i, w) in self.way.chunks_exact_mut(3).enumerate() {
            let g = self.islands.group(i);
            if g != NONE && scaled[g as usize] {
                w.iter_mut().for_each(|w| *w *= free[g as usize]);
            }
        }
        if bent {
            let keep = changed.clone();
            for (changed, scaled) in changed.iter_mut().zip(scaled) {
                *changed &= !*scaled;
            }
            self.bend(model);
            self.steps.changed = keep;
        }
    }

    /// Where all that moves are nodes and something is in the way: every node goes as far along δ as it may. True if that
    /// was done; the way is then free.
    fn clip(&mut self, model: &Model, state: &State) -> Result<bool, StepError> {
        let Some(contact) = model.contact.as_ref().filter(|_| self.by_nodes) else { return Ok(false) };
        self.way.clone_from(&self.delta);
        self.steps.there = false;
        let mut part = std::mem::take(&mut self.steps.of_vertex);
        let mut changed = vec![true; contact.maps.len()];
        let mut clipped = false;
        let mut done = false;
        for round in 0..SETTLING {
            self.go(model);
            part.clear();
            part.resize(contact.maps.len(), 1.0);
            let found =
                self.touch.free_vertices(contact, GUESS_REST, (round > 0).then_some(&changed), &mut part);
            let covered = found.map_err(|e| crowded(&e, state))?;
            let least = part.iter().copied().fold(covered, f64::min);
            if least >= 1.0 {
                done = true;
                break;
            }
            clipped = true;
            if covered < 1.0 || round + 1 == SETTLING {
                // Of what was looked at, every part is free.
                self.way.iter_mut().for_each(|w| *w *= least);
                done = true;
                break;
            }
            for (map, &part) in contact.maps.iter().zip(&part).filter(|(_, p)| **p < 1.0) {
                let first = 3 * map.first_block as usize;
                let blocks = &mut self.way[first..first + 3 * map.n as usize];
                blocks.iter_mut().for_each(|w| *w *= part);
            }
            changed.iter_mut().zip(&part).for_each(|(c, part)| *c = *part < 1.0);
        }
        self.steps.of_vertex = part;
        // The whole of δ is free: no need to look again.
        self.steps.known = done && !clipped;
        Ok(done && clipped)
    }

    fn begin_ways(&mut self) {
        let Steps { part, straight, changed, floor, stuck, .. } = &mut self.steps;
        let n = self.islands.groups;
        part.clear();
        part.resize(n, 1.0);
        for list in [straight, changed, floor, stuck] {
            list.clear();
            list.resize(n, false);
        }
        self.steps.changed.fill(true);
    }

    /// trial ← q + way, with carried points and vertices.
    fn look(&mut self, model: &Model, state: &State) {
        let n = model.layout.nv;
        let there = std::mem::take(&mut self.steps.there);
        if !there {
            for (k, z) in self.trial[..n].iter_mut().enumerate() {
                *z = self.q[k] + self.way[k];
            }
        }
        if !self.alone {
            for m in &model.mappings {
                m.carry(&mut self.trial);
            }
        }
        if let Some(contact) = &model.contact {
            if !there {
                self.touch.place(contact, &self.trial, |_| true);
            }
            let energy = self.touch.energy(contact, true);
            if !energy.is_finite() {
                self.touch.share.fill(f64::INFINITY);
            }
        }
        self.take_energies(model, state, true);
    }

    /// Energies of groups and the sizes of their terms, at the trial (`ahead`) or at q.
    fn take_energies(&mut self, model: &Model, state: &State, ahead: bool) {
        let Self { islands, steps, potential, touch, joints, coupling, q, trial, here, b_ahead, .. } = self;
        let mut of_unit = vec![[0.0; 2]; islands.units];
        let at: &[f64] = if ahead { trial } else { q };
        // Most trials are accepted: their slope is needed next.
        self.sloped_ahead = ahead && self.by_nodes && !islands.several();
        let known = self.at_start.take().filter(|_| !ahead && !islands.several());
        if self.sloped_ahead {
            let (energy, size) = potential.energy_and_slope(model, state, at, b_ahead);
            of_unit[0] = [energy, size];
        } else if let Some((energy, size)) = known {
            of_unit[0] = [energy, size];
        } else if self.alone {
            self.bodies.energies(model, islands, potential, at, &mut of_unit);
        } else {
            potential.energies(model, state, [at, q], islands, &mut of_unit);
        }
        if let Some(contact) = &model.contact {
            joints.energies(contact, at, |t, energy, size| {
                if let Some(out) = of_unit.get_mut(islands.unit_of_term[t] as usize) {
                    out[0] += energy;
                    out[1] += size;
                }
            });
            coupling.energies(at, |a, energy| {
                if let Some(out) = of_unit.get_mut(islands.unit_of_articulation[a] as usize) {
                    out.iter_mut().for_each(|e| *e += energy);
                }
            });
        }
        steps.energies.clear();
        steps.energies.resize(islands.groups, [0.0; 2]);
        for (e, &g) in of_unit.iter().zip(&islands.group_of_unit) {
            steps.energies[g as usize][0] += e[0];
            steps.energies[g as usize][1] += e[1];
        }
        let touching = if ahead { &touch.share } else { here };
        for (e, &g) in touching.iter().zip(&islands.group_of_body) {
            if g != NONE {
                steps.energies[g as usize][0] += e;
                steps.energies[g as usize][1] += e;
            }
        }
        if ahead {
            self.keep_sides(model);
        }
    }

    /// An affine body that the trial turns inside out has an infinite energy there: no energy of its own tells a reflection
    /// from a rotation.
    fn keep_sides(&mut self, model: &Model) {
        let Some(contact) = &model.contact else { return };
        for &first in &contact.affine {
            let group = self.islands.group(first as usize + 1);
            if group == NONE {
                continue;
            }
            let volume = |q: &[f64]| {
                let [a, b, c] = [1, 2, 3].map(|k| triple(q, first as usize + k));
                a.cross(&b).dot(&c)
            };
            if volume(&self.q) * volume(&self.trial) <= 0.0 {
                self.steps.energies[group as usize][0] = f64::INFINITY;
            }
        }
    }

    /// The trial becomes the iterate.
    fn accept(&mut self) {
        self.steps.current = self.by_nodes;
        self.sloped = std::mem::take(&mut self.sloped_ahead);
        if self.sloped {
            std::mem::swap(&mut self.b, &mut self.b_ahead);
        }
        std::mem::swap(&mut self.here, &mut self.touch.share);
        std::mem::swap(&mut self.q, &mut self.trial);
        self.touch.arrive();
        self.touch.share.resize(self.here.len(), 0.0);
    }

    /// A first guess: if something is in the way, every unit goes as far as it may on its own. True if that was done.
    pub(super) fn guess(&mut self, model: &Model, state: &State) -> Result<bool, StepError> {
        if !self.islands.several() {
            return Ok(false);
        }
        self.islands.apart();
        self.begin_ways();
        self.settle(model, state, GUESS_REST)?;
        if self.steps.part.iter().all(|p| *p >= 1.0) {
            self.steps.known = true;
            self.islands.by_contacts(self.touch.ties());
            return Ok(false);
        }
        self.look(model, state);
        let finite = self.steps.energies.iter().all(|e| e[0].is_finite());
        if finite {
            self.accept();
        } else if let Some(contact) = &model.contact {
            self.touch.energy(contact, false);
        }
        self.islands.by_contacts(self.touch.ties());
        Ok(finite)
    }

    /// Goes along δ as far as nothing stops it and the energy of every group falls.
    pub(super) fn search(
        &mut self,
        model: &Model,
        state: &State,
        pending: bool,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        self.begin_ways();
        self.steps.clipped = false;
        if !std::mem::take(&mut self.steps.current) {
            self.take_energies(model, state, false);
        }
        let here = self.steps.energies.clone();
        let mut slope = vec![0.0; self.islands.groups];
        let mut noise: Vec<f64> = here.iter().map(|e| e[1]).collect();
        for (i, r) in self.potential.rounding.iter().enumerate() {
            let g = self.islands.group(i);
            if g != NONE {
                noise[g as usize] += r;
                let (b, d) = (&self.b[3 * i..3 * i + 3], &self.delta[3 * i..3 * i + 3]);
                slope[g as usize] -= b[0] * d[0] + b[1] * d[1] + b[2] * d[2];
            }
        }
        for (r, &g) in self.touch.rounding.iter().zip(&self.islands.group_of_body) {
            if g != NONE {
                noise[g as usize] += r;
            }
        }
        noise.iter_mut().for_each(|n| *n *= 4.0 * f64::EPSILON);
        if !pending && report.iterations <= CLIPPED && self.clip(model, state)? {
            // The promise of the way that is left, in place of a part of δ.
            let promise = -crate::math::dot(&self.b, &self.way);
            self.look(model, state);
            report.evaluations += 1;
            if promise < 0.0 && self.steps.energies[0][0] <= here[0][0] + ARMIJO * promise + noise[0] {
                self.steps.clipped = true;
                self.accept();
                return Ok(());
            }
            self.begin_ways();
        }
        self.settle(model, state, REST)?;
        let groups = self.islands.groups;
        let mut cuts = vec![0u32; groups];
        for _ in 0..=4 * HALVINGS {
            self.look(model, state);
            report.evaluations += 1;
            let mut good = true;
            let lack = |w: &Self, g: usize| {
                let bound = here[g][0] + ARMIJO * w.steps.part[g] * slope[g] + noise[g];
                w.steps.energies[g][0] - bound
            };
            let failing = |x: f64| if pending { x == f64::INFINITY || x.is_nan() } else { !(x <= 0.0) };
            let any = (0..groups).any(|g| failing(lack(self, g)));
            self.steps.changed.fill(false);
            if any {
                // Groups that meet at the trial count together.
                let root = self.islands.joined(self.touch.ties());
                let mut sum = vec![0.0; groups];
                (0..groups).for_each(|g| sum[root[g] as usize] += lack(self, g));
                for g in 0..groups {
                    let fails = failing(sum[root[g] as usize]) && cuts[g] <= HALVINGS;
                    self.steps.changed[g] = fails;
                    good &= !fails && self.steps.energies[g][0].is_finite();
                    if fails {
                        cuts[g] += 1;
                        self.steps.part[g] *= if cuts[g] > HALVINGS { 0.0 } else { 0.5 };
                    }
                }
            }
            if good {
                for g in 0..groups {
                    let stuck = cuts[g] > HALVINGS;
                    report.unfinished |= stuck && -slope[g] > 1e-6 * here[g][1];
                    let whole = !pending && self.steps.part[g] >= 1.0 && -slope[g] <= noise[g];
                    self.steps.floor[g] = whole || stuck;
                    self.steps.stuck[g] = stuck;
                }
                let gains: Vec<f64> = (0..groups).map(|g| self.steps.energies[g][0] - here[g][0]).collect();
                self.adapt(&gains, &slope, &cuts);
                self.accept();
                return Ok(());
            }
            self.settle(model, state, REST)?;
        }
        // Nothing leads down: rounding, or a curvature that says nothing. Stay.
        if let Some(contact) = &model.contact {
            self.touch.energy(contact, false);
        }
        report.unfinished = true;
        self.steps.floor.fill(true);
        Ok(())
    }

    /// More caution with friction where steps were cut, less where the energy fell by more than a right curvature says.
    fn adapt(&mut self, gains: &[f64], slope: &[f64], cuts: &[u32]) {
        for (theta, &g) in self.touch.caution.iter_mut().zip(&self.islands.group_of_body) {
            if g == NONE {
                continue;
            }
            let g = g as usize;
            if cuts[g] >= 1 {
                *theta = (4.0 * *theta).clamp(1.0 / 16.0, 1.0);
            } else if self.steps.part[g] >= 1.0 && gains[g] < 0.7 * slope[g] {
                *theta = if *theta > 1.0 / 64.0 { 0.25 * *theta } else { 0.0 };
            }
        }
    }

    /// The tolerance of each group without friction, at q \[m/s\]: see `change`.
    fn limits(&self, settings: &Ipc, model: &Model) -> Vec<f64> {
        let Self { islands, potential, change, q, .. } = self;
        if potential.inertia == 0.0 {
            return vec![settings.tolerance; islands.groups];
        }
        let of = |[change, noise]: [f64; 2]| settings.tolerance.min(f64::max(PART * change, noise));
        change.of_groups(model, islands, potential, q).into_iter().map(of).collect()
    }

    /// True for each group that keeps its momentum if it goes the given part of its step.
    fn keeps_momentum(&self, model: &Model, part: impl Fn(usize) -> f64) -> Vec<bool> {
        let Self { islands, potential, change, drift, q, .. } = self;
        if drift.lack.iter().enumerate().all(|(g, lack)| (1.0 - part(g)) * lack == 0.0) {
            return vec![true; islands.groups];
        }
        let of = |(g, [change, noise]): (usize, [f64; 2])| {
            (1.0 - part(g)) * drift.lack[g] <= f64::max(KEPT_MOMENTUM * change, noise)
        };
        change.of_groups(model, islands, potential, q).into_iter().enumerate().map(of).collect()
    }

    /// True for each group that forces from outside act on and whose step is not short beside what these would do alone.
    fn pushed(&self, speeds: &[f64]) -> Vec<bool> {
        let given = self.change.given_of_groups(&self.islands);
        speeds.iter().zip(given).map(|(v, given)| given > 0.0 && *v > PART * given).collect()
    }

    /// Notes what wants to move in the first step.
    pub(super) fn note_wishes(&mut self, speeds: &[f64]) {
        let pushed = self.pushed(speeds);
        let groups = &self.islands.group_of_unit;
        self.change.wants.extend(groups.iter().map(|&g| pushed[g as usize]));
    }

    /// True if something that wanted to move has not moved by a bit.
    pub(super) fn stands_still(&self, state: &State) -> bool {
        let mut still = self.change.wants.clone();
        for (i, &u) in self.islands.unit_of_block.iter().enumerate().take(self.delta.len() / 3) {
            if u != NONE
                && self.q[3 * i..3 * i + 3] != state.q[3 * i..3 * i + 3]
                && let Some(still) = still.get_mut(u as usize)
            {
                *still = false;
            }
        }
        still.contains(&true)
    }

    /// Speed below which each group is at rest, at q \[m/s\].
    pub(super) fn tolerances(&self, settings: &Ipc, model: &Model) -> Vec<f64> {
        let Self { islands, potential, touch, q, .. } = self;
        // What sticks moves slower than the speed below which friction is smoothed: it must be resolved.
        let mut tolerance = self.limits(settings, model);
        if touch.rubs() {
            let mut fastest = vec![0.0f64; islands.groups];
            let reach = |i: usize| model.contact.as_ref().map_or(1.0, |c| c.reach[i]);
            for i in 0..model.layout.particles {
                let g = islands.group(i);
                if g != NONE {
                    let moved =
                        (3 * i..3 * i + 3).map(|k| (q[k] - potential.start[k]).powi(2)).sum::<f64>().sqrt();
                    let fastest = &mut fastest[g as usize];
                    *fastest = fastest.max(reach(i) * moved / potential.d);
                }
            }
            for (t, v) in tolerance.iter_mut().zip(&fastest) {
                let fine = t.min(0.1 * settings.friction_speed);
                *t = (settings.tolerance * v / UNIT_SPEED).clamp(fine, *t);
            }
        }
        tolerance
    }

    /// True if the iteration may end where it is, since the steps at hand are too short to be taken: going costs more than
    /// finding where to. Only where all that moves are nodes, or bodies without joints.
    pub(super) fn arrived(&mut self, settings: &Ipc, model: &Model, speeds: &[f64]) -> bool {
        let short = if self.by_nodes { SHORT } else { SHORT_OF_BODIES };
        if !(self.by_nodes || self.alone) {
            return false;
        }
        let tolerance = self.tolerances(settings, model);
        if self.by_nodes && speeds[0] > (1.0 - SHORT) * self.steps.last {
            return false;
        }
        let there = speeds.iter().zip(&tolerance).all(|(v, t)| *v <= short * t)
            && self.keeps_momentum(model, |_| 0.0).iter().all(|k| *k);
        if there {
            self.islands.done.fill(true);
        }
        there
    }

    /// Notes which groups have come to rest; true if all have.
    pub(super) fn rest(
        &mut self,
        settings: &Ipc,
        model: &Model,
        speeds: &[f64],
        report: &mut StepReport,
    ) -> bool {
        let tolerance = self.tolerances(settings, model);
        let part = |g: usize| if self.steps.clipped { 0.0 } else { self.steps.part[g] };
        let keeps = self.keeps_momentum(model, part);
        let pushed = self.pushed(speeds);
        let Self { islands, steps, touch, .. } = self;
        if self.by_nodes {
            let whole = steps.part[0] >= 1.0 && !steps.clipped;
            let rate = speeds[0] / steps.before;
            let next = speeds[0] * rate;
            // Curvature changes with the turn of elements, and slowly.
            let turn = model.contact.as_ref().map_or(0.0, |contact| touch.turned(contact));
            let falls = speeds[0] < FALLING * steps.last;
            steps.closing = falls && turn < STEADY || whole && rate < CLOSING && next < KEPT * tolerance[0];
            steps.before = if whole { speeds[0] } else { 0.0 };
            steps.last = speeds[0];
        }
        for (u, &g) in islands.group_of_unit.iter().enumerate() {
            let g = g as usize;
            report.unfinished |= steps.stuck[g] && pushed[g] && !islands.done[u];
            islands.done[u] |= steps.floor[g] || speeds[g] <= tolerance[g] && keeps[g];
        }
        islands.done.iter().all(|d| *d)
    }
}

/// Part of a gap that the first guess leaves.
const GUESS_REST: f64 = 0.3;

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
