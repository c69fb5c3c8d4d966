//! The minimisation: projected Newton with steps that collisions and a line search limit.

use super::super::{StepError, StepReport};
use super::Ipc;
use super::bodies::{Bodies, only_bodies};
use super::change::Change;
use super::drift::Drift;
use super::islands::{Islands, NONE};
use super::joints::JointWork;
use super::nodes::{Nodes, only_nodes};
use super::part::Part;
use super::potential::Potential;
use super::robots::{RobotDrivers, take_back};
use super::search::{PART, Steps, crowded};
use super::system::{Equations, ITERATE};
use super::touch::{Sink, Touch};
use crate::coupling::{CouplingWork, DriveError, Driver};
use crate::math::{Mat3, set_triple, triple};
use crate::model::{ContactModel, Model};
use crate::solve::cg::CgStop;
use crate::solve::linear::{LinearReport, LinearSolver, SolvedBy};
use crate::state::State;
use crate::step::Scheme;
use rayon::prelude::*;

/// Change of friction over the largest load of a body that asks for another pass.
const LOAD_CHANGE: f64 = 0.05;
/// Rounds in which prescribed bodies may come to where they are told to be.
const ROUNDS: u32 = 100;
/// A round that leads less far than this part of the way that was wanted is followed by one that wants half of what this
/// one got.
const POOR: f64 = 0.25;
/// Rounds want this part of the way at least.
const LEAST: f64 = 1e-6;
/// A rigid body that is squeezed by what moves as told keeps this part of its size, or the step fails.
const SHAPE: f64 = 0.9;
/// Joints hold when they gape by less than this part of what the tolerance lets a point move in a step.
const JOINT_PART: f64 = 1e-3;
/// Most rounds of multipliers of joints.
const JOINT_ROUNDS: u32 = 30;

/// Part of the residual that conjugate gradients leave where all that moves are nodes: the next iteration takes it.
const FORCING: f64 = 1e-2;

/// |d| of a triple.
fn norm(d: &[f64]) -> f64 {
    (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt()
}

/// Buffers of a step.
#[derive(Debug, Default)]
pub(crate) struct IpcWork {
    pub(super) potential: Potential,
    pub(super) touch: Touch,
    pub(super) joints: JointWork,
    pub(crate) coupling: CouplingWork,
    drivers: RobotDrivers,
    pub(super) islands: Islands,
    /// The system of everything, and those of islands.
    pub(super) equations: Equations,
    parts: Vec<Part>,
    row: Vec<u32>,
    /// The system where all that moves are nodes, and whether it serves in this step.
    nodes: Nodes,
    pub(super) by_nodes: bool,
    /// The system where all that moves are bodies without joints, whether it serves in this step, and whether it holds the
    /// curvature at q.
    pub(super) bodies: Bodies,
    by_bodies: bool,
    in_bodies: bool,
    /// Who drifts as a whole, and by how much everything changes its velocity.
    pub(super) drift: Drift,
    pub(super) change: Change,
    /// The present step was found by it.
    served: bool,
    /// Nothing acts on these bodies that they do not know themselves.
    pub(super) alone: bool,
    /// b and `nodes` hold slope and curvature at q, without contact.
    fresh: bool,
    /// Energy without contact at q and the size of its terms \[J\], where it came with the slope at the start.
    pub(super) at_start: Option<(f64, f64)>,
    /// b holds the slope at q without contact; `b_ahead` that at the trial.
    pub(super) sloped: bool,
    pub(super) sloped_ahead: bool,
    pub(super) b_ahead: Vec<f64>,
    /// The iterate with its carried points, and the next one.
    pub(super) q: Vec<f64>,
    pub(super) trial: Vec<f64>,
    carried: Vec<f64>,
    /// −∇E, the Newton step, and the way to go.
    pub(super) b: Vec<f64>,
    pub(super) delta: Vec<f64>,
    pub(super) way: Vec<f64>,
    pub(super) steps: Steps,
    /// Held blocks and where they are told to be, and the part of what is left of their way that a round wants.
    pub(super) told: Vec<(usize, crate::math::Vec3)>,
    wants: f64,
    /// Units that sleep, and whether a body moved as it was told in this step.
    pub(super) asleep: Vec<bool>,
    pub(super) moved: bool,
    /// Energy of contact and friction at q by bodies \[J\].
    pub(super) here: Vec<f64>,
}

impl Ipc {
    pub(super) fn minimise(
        &self,
        model: &Model,
        state: &State,
        h: f64,
        w: &mut IpcWork,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        w.begin(self, model, state, h)?;
        w.drift.prepare(model, state);
        for pass in 1..=self.friction_passes.max(1) {
            let ended = self.newton_held(model, state, h, w, report)?;
            if (!ended || pass >= self.friction_passes) && w.end_friction(model) {
                break;
            }
            let again = w.touch_friction(model);
            if !(ended && again) || pass == self.friction_passes {
                break;
            }
        }
        report.unfinished |= w.stands_still(state);
        if model.contact.is_some() {
            report.contacts = w.touch.set.contacts.len() as u32;
            report.smallest_gap = w.touch.smallest_gap();
        }
        Ok(())
    }

    /// Newton's iteration, and multipliers of joints until they hold. False if iterations ran out: more rounds of what does
    /// not converge would only take time.
    fn newton_held(
        &self,
        model: &Model,
        state: &State,
        h: f64,
        w: &mut IpcWork,
        report: &mut StepReport,
    ) -> Result<bool, StepError> {
        for _ in 0..JOINT_ROUNDS {
            if !self.newton(model, state, h, w, report)? {
                return Ok(false);
            }
            if w.joints.is_empty() || !w.update_joints(model, JOINT_PART * self.tolerance * h) {
                return Ok(true);
            }
        }
        report.unfinished = true;
        Ok(true)
    }

    /// False if iterations ran out.
    fn newton(
        &self,
        model: &Model,
        state: &State,
        h: f64,
        w: &mut IpcWork,
        report: &mut StepReport,
    ) -> Result<bool, StepError> {
        let limit = report.iterations + self.most_newton;
        let (mut rounds, mut went) = (0, false);
        w.wants = 1.0;
        w.bodies.forget_factors();
        if !w.islands.several() {
            w.islands.done.fill(false);
        }
        loop {
            report.iterations += 1;
            let left = w.left();
            let pending = left > 0.0;
            if !pending {
                w.wants = 1.0;
            }
            let gap = w.touch.smallest_gap();
            w.moved |= pending;
            w.steps.current &= !pending;
            w.steps.closing &= !pending;
            w.group(model, pending);
            w.linearise(self, model, state, h, pending, report);
            if pending {
                w.follow(model);
            }
            w.solve_all(self, model, state, h, pending, report)?;
            w.tell();
            let mut speeds = w.speeds(model, h);
            report.residual = speeds.iter().copied().fold(0.0, f64::max);
            if report.iterations == 1 && !pending && w.guess(model, state)? {
                continue;
            }
            // The first step is always taken, or what is slow would never start.
            if went && !pending && w.arrived(self, model, &speeds) {
                return Ok(true);
            }
            w.search(model, state, pending, report)?;
            if w.change.wants.is_empty() && !pending {
                w.note_wishes(&speeds);
            }
            went = true;
            if pending {
                rounds += 1;
                w.want(1.0 - w.left() / left, [gap, w.touch.smallest_gap()]);
                if w.left() > 0.0 && (rounds >= ROUNDS || report.iterations >= limit) {
                    return Err(w.blocked(model, state));
                }
                continue;
            }
            w.take_off(&mut speeds);
            report.residual = speeds.iter().copied().fold(0.0, f64::max);
            if w.rest(self, model, &speeds, report) {
                return Ok(true);
            }
            if report.iterations >= limit {
                report.unfinished = true;
                return Ok(report.iterations < limit);
            }
        }
    }
}

impl IpcWork {
    pub(super) fn begin(
        &mut self,
        settings: &Ipc,
        model: &Model,
        state: &State,
        h: f64,
    ) -> Result<(), StepError> {
        self.begin_at(settings, model, state, h, state.time_after(h))
    }

    /// The same for a step that ends at the given time \[s\].
    pub(super) fn begin_at(
        &mut self,
        settings: &Ipc,
        model: &Model,
        state: &State,
        h: f64,
        end: f64,
    ) -> Result<(), StepError> {
        self.potential.begin(settings.scheme, model, state, h);
        self.potential.time = end;
        (self.by_nodes, self.by_bodies, self.fresh, self.alone) = (false, false, false, false);
        (self.sloped, self.sloped_ahead, self.at_start) = (false, false, None);
        (self.steps.current, self.steps.closing) = (false, false);
        (self.steps.before, self.steps.last) = (0.0, 0.0);
        self.q.clone_from(&state.q);
        self.moved = false;
        self.islands.done.clone_from(&self.asleep);
        self.trial.clone_from(&state.q);
        self.carried.resize(model.layout.robots_v(), 0.0);
        self.told.clear();
        self.told.extend(model.filters.prescribed_places(self.potential.time));
        self.change.begin(model, &self.islands, state, self.potential.time, self.potential.d);
        if let Some(contact) = &model.contact {
            let slip = settings.friction_speed * self.potential.d;
            self.touch.begin(contact, &self.q, &self.potential.start, slip);
            self.touch.widen_starts(contact, self.potential.time);
            self.touch.cover(contact).map_err(|e| crowded(&e, state))?;
            // Stiffness of contact: from inertia and elasticity at the start of the step.
            let d = self.potential.d;
            let static_scheme = settings.scheme == Scheme::Static;
            let mass_factor = if static_scheme { 1.0 / (h * h) } else { 1.0 / (d * d) };
            let nodes = contact.maps.iter().any(|m| m.n == 1);
            let mut diagonal = Vec::new();
            self.by_bodies = self.islands.several()
                && !matches!(settings.solver, LinearSolver::Cg { .. })
                && only_bodies(model, contact);
            self.alone = self.by_bodies && self.bodies.begin(model, contact, state, self.potential.time);
            self.by_nodes = nodes
                && !self.islands.several()
                && settings.solver != LinearSolver::Direct
                && only_nodes(model, contact);
            if self.by_nodes {
                let energy = self.potential.energy_and_slope(model, state, &self.q, &mut self.b);
                self.at_start = Some(energy);
                self.by_nodes = self.nodes.assemble(model, &self.potential);
            } else if nodes {
                self.potential.slope(model, state, &self.q, &mut self.b);
            }
            if self.by_nodes {
                self.fresh = true;
                diagonal = self.nodes.mean_diagonal();
            } else if nodes {
                self.equations.start(model);
                self.potential.curvature(model, 0.0, &mut self.equations.list);
                diagonal = self.equations.mean_diagonal(model);
            }
            self.coupling.begin(&contact.articulations, &self.q, h);
            self.equations.recall(contact, state);
            self.joints.begin(contact, state, &self.potential.start, d);
            let (islands, asleep) = (&self.islands, &self.asleep);
            self.touch.leave_out(contact, |b| {
                let u = islands.unit_of_body[b as usize];
                u == NONE || asleep[u as usize]
            });
            self.touch.release(contact, !self.told.is_empty());
            self.touch.stiffen(contact, settings.contact_stiffness, mass_factor, &diagonal);
            let energy = self.touch.energy(contact, false);
            if !energy.is_finite() {
                return Err(StepError::Touching { time: state.time });
            }
            self.touch.take_friction(contact);
            self.touch.sum(contact, false);
            self.here.clone_from(&self.touch.share);
        }
        Ok(())
    }

    /// Slope and curvature at the iterate.
    fn linearise(
        &mut self,
        settings: &Ipc,
        model: &Model,
        state: &State,
        h: f64,
        pending: bool,
        report: &mut StepReport,
    ) {
        report.evaluations += 1;
        let fresh = std::mem::take(&mut self.fresh);
        if self.alone && !pending {
            self.bodies.slope(model, &self.islands, &mut self.potential, &self.q, &mut self.b);
        } else if !std::mem::take(&mut self.sloped) && !fresh {
            self.potential.slope(model, state, &self.q, &mut self.b);
        }
        if let Some(contact) = &model.contact {
            self.touch.slope(contact, &mut self.b);
            self.joints.slope(contact, &self.q, &mut self.b);
            self.coupling.slope(&self.q, &mut self.b);
        }
        // Where Newton's method closes in, forces have the curvature of the last time: it is a factor of how fast it does.
        let keep = fresh || pending || self.steps.closing;
        self.by_nodes = self.by_nodes && (keep || self.nodes.assemble(model, &self.potential));
        (self.in_bodies, self.served) = (false, false);
        if self.by_nodes && !pending {
            self.nodes.strip();
            self.touch.add_curvature(&mut self.nodes);
        } else if self.alone && !pending {
            let (tolerance, reach) =
                (self.tolerances(settings, model), model.contact.as_ref().map(|c| &c.reach));
            let speed = |i: usize, d: &[f64]| reach.map_or(1.0, |reach| reach[i]) * norm(d) / h;
            self.bodies.find_parts(&self.islands, &self.b);
            let change = if self.bodies.asks_for_change() { self.curvature_change() } else { Vec::new() };
            self.bodies.try_factors(&self.islands, speed, &tolerance, &change);
            self.bodies.at_start = self.touch.at_start;
            self.bodies.assemble_each(model, &self.islands, self.potential.inertia, &self.q);
            let Self { touch, bodies, islands, .. } = self;
            let solved = bodies.solved_groups(islands);
            let wanted = |pair: [u32; 2]| {
                pair.into_iter().any(|b| {
                    b != NONE && {
                        let g = islands.group_of_body[b as usize];
                        g != NONE && !solved[g as usize]
                    }
                })
            };
            touch.add_curvature_of(wanted, bodies);
            self.in_bodies = true;
        } else if let Some(contact) = model.contact.as_ref().filter(|_| self.by_bodies && !pending)
            && self.bodies.assemble(model, contact, &self.potential)
        {
            self.bodies.find_parts(&self.islands, &self.b);
            self.touch.add_curvature(&mut self.bodies);
            self.in_bodies = true;
        } else {
            self.list_blocks(model);
        }
    }

    /// The blocks of the curvature at the iterate.
    fn list_blocks(&mut self, model: &Model) {
        self.equations.start(model);
        // What is free goes the same part of its way as what is told: (1 + μ) M δ = M (s − q).
        let more = 1.0 / self.wants - 1.0;
        let shift = more / (self.potential.d * self.potential.d);
        self.potential.curvature(model, shift, &mut self.equations.list);
        if let Some(contact) = &model.contact {
            self.touch.add_curvature(&mut Sink(&mut self.equations.list));
            self.joints.curvature(contact, &self.q, &mut self.equations.list);
            let Equations { list, long, .. } = &mut self.equations;
            self.coupling.curvature(&self.q, list, long);
        }
    }

    /// δ, by the way that serves, with the momentum of what nothing holds.
    fn solve_all(
        &mut self,
        settings: &Ipc,
        model: &Model,
        state: &State,
        h: f64,
        pending: bool,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        if pending {
            self.drift.lack.clear();
            return self.solve(settings, model, report);
        }
        let Self { drift, islands, touch, potential, b, .. } = self;
        drift.look(islands, touch.ties(), [potential.inertia, potential.d], b);
        // Bodies have taken b already, and know their centres to be free.
        if self.in_bodies && self.solve_bodies(model, state, h, report) {
            self.drift.correct(model, self.potential.inertia, &mut self.delta);
            return Ok(());
        }
        self.drift.take_out(model, &mut self.b);
        let done = if self.solve_nodes(settings, model, report) {
            Ok(())
        } else {
            self.solve(settings, model, report)
        };
        self.drift.put_back(&mut self.b);
        done?;
        self.drift.correct(model, self.potential.inertia, &mut self.delta);
        Ok(())
    }

    /// δ where all that moves are nodes. False if it must be found another way, for the rest of the step.
    fn solve_nodes(&mut self, settings: &Ipc, model: &Model, report: &mut StepReport) -> bool {
        if !self.by_nodes {
            return false;
        }
        let eta = match settings.solver {
            LinearSolver::Cg { tolerance, .. } => tolerance,
            _ => FORCING,
        };
        // ρ bounds (m/d²)|error|² of every row: less than a tenth of what the tolerance lets a node move.
        let fine = if self.potential.inertia > 0.0 { PART * self.change.given() } else { f64::INFINITY };
        let speed = 0.1 * settings.tolerance.min(fine).min(0.1 * settings.friction_speed);
        let floor = self.nodes.least_mass * speed * speed;
        let Some((iterations, residual)) = self.nodes.solve(&self.b, &mut self.delta, eta, floor) else {
            self.by_nodes = false;
            self.list_blocks(model);
            return false;
        };
        report.linear_iterations += iterations;
        report.linear = Some(LinearReport {
            solver: SolvedBy::GaussSeidel,
            iterations: iterations as usize,
            residual,
            stop: CgStop::Converged,
            positive_definite: true,
        });
        true
    }

    /// δ where all that moves are bodies without joints. False if it must be found another way.
    fn solve_bodies(&mut self, model: &Model, state: &State, h: f64, report: &mut StepReport) -> bool {
        if !std::mem::take(&mut self.in_bodies) {
            return false;
        }
        let reach = model.contact.as_ref().map(|c| &c.reach);
        let speed = |i: usize, d: &[f64]| reach.map_or(1.0, |reach| reach[i]) * norm(d) / h;
        self.delta.clear();
        self.delta.resize(self.b.len(), 0.0);
        if self.islands.whole || !self.bodies.solve(&self.islands, speed, &mut self.delta) {
            if self.alone {
                // The curvature of all is taken where forces were.
                let rounding = self.potential.rounding.clone();
                self.potential.slope(model, state, &self.q, &mut self.b_ahead);
                self.potential.rounding = rounding;
            }
            self.list_blocks(model);
            return false;
        }
        self.served = true;
        report.linear = Some(LinearReport {
            solver: SolvedBy::Direct,
            iterations: 0,
            residual: 0.0,
            stop: CgStop::Converged,
            positive_definite: true,
        });
        true
    }

    /// How much the curvature of each group has changed since the start of the step, a part of itself.
    fn curvature_change(&mut self) -> Vec<f64> {
        let mut change = vec![0.0f64; self.islands.groups];
        self.touch.curvature_change();
        for (&of_body, &g) in self.touch.shifted.iter().zip(&self.islands.group_of_body) {
            if g != NONE {
                let out = &mut change[g as usize];
                *out = if of_body.is_nan() { f64::INFINITY } else { out.max(of_body) };
            }
        }
        change
    }

    /// Where it is known what a step leaves, and all of it was taken, that counts in place of the step.
    fn take_off(&self, speeds: &mut [f64]) {
        if self.served {
            for ((speed, leaves), part) in speeds.iter_mut().zip(self.bodies.leaves()).zip(&self.steps.part) {
                *speed *= if *part >= 1.0 { leaves } else { 1.0 };
            }
        }
    }

    /// The longest way that a prescribed block has yet to go, zero if all are where they are told to be \[m\].
    fn left(&self) -> f64 {
        self.told.iter().map(|(i, place)| (place - triple(&self.q, *i)).norm()).fold(0.0, f64::max)
    }

    /// What the next round wants, where this one went the part `came` of the way that was left and changed the smallest gap
    /// from the first to the second of `gaps`.
    ///
    /// Contacts are linear in a round; what they miss grows with the square of the way. Where that stops a round, all of it
    /// is cut, the way from one another as well, and gaps shrink from round to round until nothing moves. A round that is
    /// meant to be short keeps them open: rounds grow while they do not shrink.
    fn want(&mut self, came: f64, gaps: [f64; 2]) {
        let got = came / self.wants;
        let kept = gaps[1] / gaps[0];
        if got < POOR {
            self.wants = f64::max(0.5 * self.wants * got, LEAST);
        } else if kept < 0.5 {
            self.wants = f64::max(0.5 * self.wants, LEAST);
        } else if kept > 0.9 || gaps[1] > 0.1 * self.touch.gap {
            self.wants = f64::min(2.0 * self.wants, 1.0);
        }
    }

    /// The way of prescribed blocks in δ, and what it does to the others.
    fn follow(&mut self, model: &Model) {
        self.delta.clear();
        self.delta.resize(model.layout.nv, 0.0);
        self.tell();
        self.equations.follow(&self.delta, &mut self.b);
        if let Some(contact) = &model.contact {
            self.trial[..model.layout.nv].copy_from_slice(&self.q[..model.layout.nv]);
            self.trial.iter_mut().zip(&self.delta).for_each(|(z, d)| *z += d);
            contact.positions(&self.trial, &mut self.touch.x1);
            self.touch.follow(contact, &mut self.b);
        }
    }

    /// Finds the islands at the iterate. What is done is left out of contact until something touches it.
    fn group(&mut self, model: &Model, pending: bool) {
        let Some(contact) = model.contact.as_ref().filter(|_| self.islands.several()) else {
            return self.islands.together();
        };
        if pending {
            self.islands.done.fill(false);
        }
        let woke = self.islands.by_contacts(self.touch.ties());
        if self.touch.leaves_out() && (woke || pending) {
            self.touch.leave_out(contact, |_| false);
            self.touch.energy(contact, false);
            self.here.clone_from(&self.touch.share);
            self.islands.by_contacts(self.touch.ties());
        }
        let Self { islands, touch, asleep, .. } = self;
        asleep.iter_mut().zip(&islands.done).for_each(|(a, d)| *a &= d);
        touch.leave_out(contact, |b| {
            let u = islands.unit_of_body[b as usize];
            u == NONE || islands.done[u as usize]
        });
        if pending {
            self.islands.together();
        }
    }

    /// δ, all of it at once or island by island; zero for islands that are done.
    fn solve(&mut self, settings: &Ipc, model: &Model, report: &mut StepReport) -> Result<(), StepError> {
        let Self { islands, parts, row, equations, q, b, delta, .. } = self;
        delta.clear();
        delta.resize(model.layout.nv, 0.0);
        let Some(contact) = model.contact.as_ref().filter(|_| !islands.whole) else {
            return equations.solve(model, [q, b], |_| true, delta, settings.solver, report);
        };
        let mut tied = vec![false; islands.groups];
        for (u, &g) in islands.group_of_unit.iter().enumerate() {
            tied[g as usize] |= islands.tied[u] && !islands.done[u];
        }
        if tied.iter().any(|t| *t) {
            let wanted = |i: usize| islands.group(i) != NONE && tied[islands.group(i) as usize];
            equations.solve(model, [q, b], wanted, delta, settings.solver, report)?;
        }
        row.clear();
        row.resize(model.layout.particles, NONE);
        let mut slot = vec![NONE; islands.groups];
        let mut used = 0;
        for (u, &g) in islands.group_of_unit.iter().enumerate() {
            if islands.done[u] || tied[g as usize] || slot[g as usize] != NONE {
                continue;
            }
            slot[g as usize] = used as u32;
            let blocks = &islands.blocks[g as usize];
            blocks.iter().enumerate().for_each(|(r, &i)| row[i as usize] = r as u32);
            if parts.len() <= used {
                parts.push(Part::default());
            }
            parts[used].start(blocks, b);
            used += 1;
        }
        for (i, j, block) in &equations.list.entries {
            let (r, c) = (row[*i as usize], row[*j as usize]);
            if r != NONE && c != NONE {
                let part = &mut parts[slot[islands.group(*i as usize) as usize] as usize];
                part.list.entries.push((r, c, *block));
            }
        }
        let one = |part: &mut Part| part.solve(model, contact, q, settings.solver, ITERATE);
        // Islands know nothing of each other: the bits are the same in any order and on any thread.
        let failed = if used > 1 {
            parts[..used].par_iter_mut().map(one).find_any(Result::is_err)
        } else {
            parts[..used].iter_mut().map(one).find(Result::is_err)
        };
        if let Some(Err(stop)) = failed {
            return Err(StepError::Linear { stop, iterations: 0, residual: f64::NAN, time: report.time });
        }
        for part in &parts[..used] {
            part.spread(delta);
            report.linear_iterations += part.iterations;
            report.fallbacks += part.fallbacks;
            report.linear = part.report;
        }
        Ok(())
    }

    /// δ of prescribed blocks ← what a round wants of what is left of their way.
    fn tell(&mut self) {
        for (i, place) in &self.told {
            let left = place - triple(&self.q, *i);
            set_triple(&mut self.delta, *i, &(self.wants * left));
        }
    }

    /// Takes friction anew; true if a load changed so much that its island is to be solved again.
    fn touch_friction(&mut self, model: &Model) -> bool {
        let Some(contact) = &model.contact else { return false };
        self.steps.current = false;
        let rubs = contact.friction.iter().any(|mu| *mu != 0.0);
        let back = self.come_back(contact);
        let Self { islands, touch, .. } = self;
        if back && !rubs {
            touch.energy(contact, false);
        } else if back {
            touch.press(contact, false);
        }
        if rubs {
            touch.take_friction(contact);
            touch.sum(contact, false);
            islands.done.fill(true);
            for (&u, change) in islands.unit_of_body.iter().zip(&touch.change).filter(|(u, _)| **u != NONE) {
                islands.done[u as usize] &= *change <= LOAD_CHANGE;
            }
        }
        self.here.clone_from(&touch.share);
        rubs && !self.islands.done.iter().all(|d| *d)
    }

    /// After the last pass nobody asks for friction, unless something else tells what it did: then it is not taken, and this is
    /// true. All that does not sleep has its contacts again.
    fn end_friction(&mut self, model: &Model) -> bool {
        let Some(contact) = model.contact.as_ref() else { return false };
        if !self.coupling.is_empty() {
            return false;
        }
        self.come_back(contact);
        self.touch.take_contacts(contact, false);
        self.touch.end_friction();
        true
    }

    /// All that does not sleep takes part in contact again; true if something had not.
    fn call_back(&mut self, contact: &ContactModel) -> bool {
        let back = self.come_back(contact);
        if back {
            self.touch.energy(contact, false);
        }
        back
    }

    /// The same, and energies are yet to be taken.
    fn come_back(&mut self, contact: &ContactModel) -> bool {
        let Self { islands, touch, asleep, .. } = self;
        if !touch.leaves_out() {
            return false;
        }
        touch.leave_out(contact, |b| {
            let u = islands.unit_of_body[b as usize];
            u == NONE || asleep[u as usize]
        });
        true
    }

    /// Takes the multipliers of joints anew; true if one is off by more than `limit`, so that its island is to be solved again.
    fn update_joints(&mut self, model: &Model, limit: f64) -> bool {
        let Some(contact) = &model.contact else { return false };
        let Self { islands, joints, asleep, q, .. } = self;
        let mut again = false;
        let unit = |t: usize| islands.unit_of_term[t];
        let awake = |t: usize| asleep.get(unit(t) as usize) == Some(&false);
        joints.update(contact, q, limit, awake, |t| {
            again = true;
            islands.done[unit(t) as usize] = false;
        });
        if again {
            self.steps.current = false;
            if self.call_back(contact) {
                self.here.clone_from(&self.touch.share);
            }
        }
        again
    }

    pub(super) fn blocked(&self, model: &Model, state: &State) -> StepError {
        let left = |i: usize, place: &crate::math::Vec3| (place - triple(&self.q, i)).norm();
        let worst = self.told.iter().map(|(i, place)| (*i, left(*i, place)));
        let (point, distance) = worst.fold((0, 0.0), |a, b| if b.1 > a.1 { b } else { a });
        let (object, _) = model.owner(model.layout.points_v() + 3 * point);
        StepError::Blocked { object, distance, time: state.time }
    }

    /// The step squeezed a rigid body out of shape between what moves as told and something else, if it did.
    pub(super) fn crushed(&self, model: &Model, state: &State) -> Option<StepError> {
        let contact = model.contact.as_ref().filter(|_| self.moved)?;
        let least = |first: u32| {
            let A = Mat3::from_columns(&[1, 2, 3].map(|k| triple(&self.q, first as usize + k)));
            let G = A.transpose() * A;
            // σ² of A are the eigenvalues of G.
            if (G - Mat3::identity()).norm() < 1.0 - SHAPE * SHAPE {
                1.0
            } else {
                G.symmetric_eigenvalues().min().max(0.0).sqrt()
            }
        };
        let (part, first) =
            contact.rigid.iter().map(|&first| (least(first), first)).min_by(|a, b| a.0.total_cmp(&b.0))?;
        if part >= SHAPE {
            return None;
        }
        let name = |block: usize| model.owner(model.layout.points_v() + 3 * block).0;
        let squeezed = name(first as usize);
        let is = |b: u32| b != NONE && contact.names[b as usize] == squeezed;
        let told: Vec<String> = self.told.iter().map(|(i, _)| name(*i)).collect();
        let others = self.touch.set.contacts.iter().filter_map(|c| match c.bodies {
            [a, b] if is(a) && b != NONE => Some(&contact.names[b as usize]),
            [a, b] if is(b) && a != NONE => Some(&contact.names[a as usize]),
            _ => None,
        });
        let object = others.into_iter().find(|name| told.contains(name)).or(told.first())?.clone();
        Some(StepError::Crushed { object, squeezed, percent: 100.0 * part, time: state.time })
    }

    /// Takes the drives of all articulations: of robots by their own dynamics, of others from the state.
    pub(super) fn drive(&mut self, model: &Model, state: &State, h: f64) -> Result<(), StepError> {
        let Some(contact) = &model.contact else { return Ok(()) };
        let start = std::time::Instant::now();
        let CouplingWork { drives, room, spent, .. } = &mut self.coupling;
        let drivers = &mut self.drivers;
        drives.resize_with(contact.articulations.len(), Default::default);
        for ((k, a), drive) in contact.articulations.iter().enumerate().zip(drives) {
            match a.driver {
                Driver::Robot(robot) => drivers.drive(model, a, robot, state, h, drive)?,
                Driver::External => match state.drives.get(k) {
                    Some(given) => drive.copy_from(given),
                    None => return Err(DriveError::Missing { articulation: a.name.clone() }.into()),
                },
            }
            drive.check_with(a, room)?;
        }
        *spent += start.elapsed();
        Ok(())
    }

    /// What articulations did, and the robots' coordinates.
    pub(super) fn finish_drives(&mut self, model: &Model, h: f64, next: &mut State) {
        let Some(contact) = model.contact.as_ref().filter(|_| !self.coupling.is_empty()) else { return };
        self.b.fill(0.0);
        self.touch.energy(contact, false);
        self.touch.slope(contact, &mut self.b);
        self.coupling.finish(&contact.articulations, &self.q, &self.b);
        let CouplingWork { drives, reports, .. } = &self.coupling;
        take_back(model, &contact.articulations, drives, reports, &mut self.drivers, h, next);
    }

    /// The state after the step.
    pub(super) fn finish(&self, model: &Model, next: &mut State, scheme: Scheme) {
        let n = model.layout.nv;
        next.q[..n].copy_from_slice(&self.q[..n]);
        for k in 0..n {
            next.v[k] = if scheme == Scheme::Static {
                0.0
            } else {
                (self.q[k] - self.potential.start[k]) / self.potential.d
            };
        }
        if let Some(contact) = &model.contact {
            self.joints.finish(contact, &self.q, &self.equations.row_forces, &mut next.turns);
        }
        model.filters.settle(&mut next.v);
        for (i, velocity) in model.filters.prescribed_velocities(self.potential.time) {
            set_triple(&mut next.v, i, &velocity);
        }
    }
}
