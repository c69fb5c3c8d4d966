//! The minimisation: projected Newton with steps that collisions and a line search limit.

use super::super::{StepError, StepReport};
use super::Ipc;
use super::bend::bend;
use super::joints::JointWork;
use super::potential::Potential;
use super::system::Equations;
use super::touch::Touch;
use crate::collide::TooMany;
use crate::coupling::{CouplingWork, DriveError, Driver, take_back};
use crate::math::{dot, set_triple, triple};
use crate::model::{Model, State};
use crate::step::Scheme;

/// Halvings of a step.
const HALVINGS: u32 = 40;
/// Part of the promised decrease that a step must keep (Armijo).
const ARMIJO: f64 = 1e-4;
/// Turns whose chord stretches a body by less than this are cut along the chord.
const CHORD: f64 = 1e-7;
/// Relative change of a friction load that asks for another pass.
const LOAD_CHANGE: f64 = 0.05;
/// Rounds in which prescribed bodies may come to where they are told to be.
const ROUNDS: u32 = 100;
/// Joints hold when they gape by less than this part of what the tolerance lets a point move in a step.
const JOINT_PART: f64 = 1e-3;
/// Most rounds of multipliers of joints.
const JOINT_ROUNDS: u32 = 30;

/// Buffers of a step.
#[derive(Debug, Default)]
pub(crate) struct IpcWork {
    potential: Potential,
    pub(super) touch: Touch,
    joints: JointWork,
    pub(crate) coupling: CouplingWork,
    equations: Equations,
    /// The iterate with its carried points, and the next one.
    q: Vec<f64>,
    trial: Vec<f64>,
    carried: Vec<f64>,
    /// −∇E, the Newton step, and the way to go.
    b: Vec<f64>,
    delta: Vec<f64>,
    way: Vec<f64>,
    /// Held blocks and where they are told to be.
    told: Vec<(usize, crate::math::Vec3)>,
    /// Energy of contact and friction at q, and at the trial \[J\].
    here: f64,
    ahead: f64,
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
        for pass in 1..=self.friction_passes.max(1) {
            self.newton_held(model, state, h, w, report)?;
            let change = w.touch_friction(model);
            if change <= LOAD_CHANGE || pass == self.friction_passes {
                break;
            }
        }
        if model.contact.is_some() {
            report.contacts = w.touch.set.contacts.len() as u32;
            report.smallest_gap = w.touch.smallest_gap();
        }
        Ok(())
    }

    /// Newton's iteration, and multipliers of joints until they hold.
    fn newton_held(
        &self,
        model: &Model,
        state: &State,
        h: f64,
        w: &mut IpcWork,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        for _ in 0..JOINT_ROUNDS {
            self.newton(model, state, h, w, report)?;
            let Some(contact) = model.contact.as_ref().filter(|_| !w.joints.is_empty()) else {
                return Ok(());
            };
            if w.joints.update(contact, &w.q) <= JOINT_PART * self.tolerance * h {
                return Ok(());
            }
        }
        report.unfinished = true;
        Ok(())
    }

    fn newton(
        &self,
        model: &Model,
        state: &State,
        h: f64,
        w: &mut IpcWork,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let limit = report.iterations + self.most_newton;
        let mut rounds = 0;
        loop {
            report.iterations += 1;
            w.linearise(model, state, report);
            let pending = w.pending();
            if pending {
                w.follow(model);
            }
            w.equations.solve(model, &w.q, &w.b, &mut w.delta, self.solver, report)?;
            w.tell();
            let speed = w.speed(model) / h;
            report.residual = speed;
            let floor = w.search(model, state, pending, report)?;
            if pending {
                rounds += 1;
                if w.pending() && (rounds >= ROUNDS || report.iterations >= limit) {
                    return Err(w.blocked(model, state));
                }
                continue;
            }
            // What sticks moves slower than the speed below which friction is smoothed: it must be resolved.
            let rubs = w.touch.rubs();
            let tolerance = if rubs { self.tolerance.min(0.1 * self.friction_speed) } else { self.tolerance };
            if floor || speed <= tolerance {
                return Ok(());
            }
            if report.iterations >= limit {
                report.unfinished = true;
                return Ok(());
            }
        }
    }
}

impl IpcWork {
    fn begin(&mut self, settings: &Ipc, model: &Model, state: &State, h: f64) -> Result<(), StepError> {
        self.potential.begin(settings.scheme, model, state, h);
        (self.here, self.ahead) = (0.0, 0.0);
        self.q.clone_from(&state.q);
        self.trial.clone_from(&state.q);
        self.carried.resize(model.layout.len_v(), 0.0);
        self.told.clear();
        self.told.extend(model.filters.told(self.potential.time));
        if let Some(contact) = &model.contact {
            self.touch.begin(contact, &self.potential.start, settings.friction_speed * self.potential.d);
            contact.positions(&self.q, &mut self.touch.x);
            self.touch.x1.clone_from(&self.touch.x);
            self.touch.cover(contact).map_err(|e| crowded(&e, state))?;
            // Stiffness of contact: from inertia and elasticity at the start of the step.
            let d = self.potential.d;
            let static_scheme = settings.scheme == Scheme::Static;
            let mass_factor = if static_scheme { 1.0 / (h * h) } else { 1.0 / (d * d) };
            let nodes = contact.maps.iter().any(|m| m.n == 1);
            let mut diagonal = Vec::new();
            if nodes {
                self.potential.slope(model, state, &self.q, &mut self.b);
                self.equations.start(model);
                self.potential.curvature(model, 0.0, &mut self.equations.list);
                diagonal = self.equations.mean_diagonal(model);
            }
            self.coupling.begin(&contact.articulations, &self.q, h);
            self.joints.begin(contact, state, &self.potential.start, d);
            self.touch.stiffen(contact, settings.contact_stiffness, mass_factor, &diagonal);
            let energy = self.touch.energy(contact, false);
            if !energy.is_finite() {
                return Err(StepError::Touching { time: state.time });
            }
            self.touch.take_friction(contact);
            self.here = self.touch.energy(contact, false);
        }
        Ok(())
    }

    /// Slope and curvature at the iterate.
    fn linearise(&mut self, model: &Model, state: &State, report: &mut StepReport) {
        report.evaluations += 1;
        self.potential.slope(model, state, &self.q, &mut self.b);
        self.equations.start(model);
        self.potential.curvature(model, 0.0, &mut self.equations.list);
        if let Some(contact) = &model.contact {
            self.touch.slope(contact, &mut self.b);
            self.touch.add_curvature(&mut self.equations.list);
            self.joints.slope(contact, &self.q, &mut self.b);
            self.joints.curvature(contact, &self.q, &mut self.equations.list);
            self.coupling.slope(&self.q, &mut self.b);
            self.coupling.curvature(&self.q, &mut self.equations.list);
        }
    }

    /// True if a prescribed block is not yet where it is told to be.
    fn pending(&self) -> bool {
        self.told.iter().any(|(i, place)| triple(&self.q, *i) != *place)
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

    /// δ of prescribed blocks ← what is left of their way.
    fn tell(&mut self) {
        for (i, place) in &self.told {
            let left = place - triple(&self.q, *i);
            set_triple(&mut self.delta, *i, &left);
        }
    }

    /// How far the farthest point would move \[m\].
    fn speed(&self, model: &Model) -> f64 {
        let reach = |i: usize| model.contact.as_ref().map_or(1.0, |c| c.reach[i]);
        let moves = self.delta.chunks_exact(3).enumerate();
        moves.map(|(i, d)| reach(i) * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt()).fold(0.0, f64::max)
    }

    /// way ← `part` of δ, stiff bodies turned without stretch; the largest turn \[rad\].
    fn bend(&mut self, model: &Model, part: f64) -> f64 {
        self.way.clear();
        self.way.extend(self.delta.iter().map(|d| part * d));
        let mut largest = 0.0f64;
        if let Some(contact) = &model.contact {
            for &first in &contact.affine {
                // The centre may be held while the columns are free, and the other way round.
                if !contact.held[first as usize + 1] {
                    let angle = bend(&self.q, &self.delta, part, first as usize + 1, &mut self.way);
                    largest = largest.max(angle);
                }
            }
        }
        largest
    }

    /// Finds a way that is free, at most `part` of δ; returns the part and whether it may be cut along the chord.
    fn free_way(&mut self, model: &Model, state: &State, mut part: f64) -> Result<(f64, bool), StepError> {
        let Some(contact) = &model.contact else {
            self.way.clear();
            self.way.extend(self.delta.iter().map(|d| part * d));
            return Ok((part, true));
        };
        for attempt in 0.. {
            let angle = self.bend(model, part);
            if angle > 0.0 {
                self.equations.correct(model, part, &mut self.way);
            }
            let straight = angle * angle < CHORD;
            self.trial[..self.way.len()].copy_from_slice(&self.q[..self.way.len()]);
            self.trial.iter_mut().zip(&self.way).for_each(|(z, d)| *z += d);
            contact.positions(&self.trial, &mut self.touch.x1);
            let free = self.touch.free_part(contact).map_err(|e| crowded(&e, state))?;
            if free >= 1.0 {
                return Ok((part, straight));
            }
            if straight || part < 1e-12 {
                self.way.iter_mut().for_each(|d| *d *= free);
                return Ok((part * free, true));
            }
            // A shorter way is another chord, which may meet something else.
            part *= if attempt < 2 { free } else { 0.5 * free };
        }
        Ok((part, true))
    }

    /// trial ← q + way, with carried points and vertices; its energy and the size of its terms.
    fn look(&mut self, model: &Model, state: &State) -> (f64, f64) {
        let n = model.layout.nv;
        for (k, z) in self.trial[..n].iter_mut().enumerate() {
            *z = self.q[k] + self.way[k];
        }
        for m in &model.mappings {
            m.carry(&mut self.trial);
        }
        let (mut energy, mut size) = self.potential.energy(model, state, &self.trial, &self.q);
        if let Some(contact) = &model.contact {
            contact.positions(&self.trial, &mut self.touch.x1);
            let touch = self.touch.energy(contact, true);
            self.ahead = touch;
            let (joints, joints_size) = self.joints.energy(contact, &self.trial);
            let coupled = self.coupling.energy(&self.trial);
            energy += touch + joints + coupled;
            size += touch.abs() + joints_size + coupled;
        }
        (energy, size)
    }

    /// Goes along δ as far as nothing stops it and the energy falls. True if nothing but rounding is left to gain.
    fn search(
        &mut self,
        model: &Model,
        state: &State,
        pending: bool,
        report: &mut StepReport,
    ) -> Result<bool, StepError> {
        // Energy where we stand, with the terms of this iteration.
        let (mut here, mut size) = self.potential.energy(model, state, &self.q, &self.q);
        here += self.here;
        size += self.here;
        if let Some(contact) = &model.contact {
            let (joints, joints_size) = self.joints.energy(contact, &self.q);
            let coupled = self.coupling.energy(&self.q);
            here += joints + coupled;
            size += joints_size + coupled;
        }
        let slope = -dot(&self.b, &self.delta);
        let (mut part, mut straight) = self.free_way(model, state, 1.0)?;
        let noise = 4.0 * f64::EPSILON * (size + self.potential.rounding + self.touch.rounding);
        for halving in 0..=HALVINGS {
            let (energy, _) = self.look(model, state);
            report.evaluations += 1;
            let enough = energy <= here + ARMIJO * part * slope + noise;
            if energy.is_finite() && (enough || pending) {
                self.here = self.ahead;
                std::mem::swap(&mut self.q, &mut self.trial);
                std::mem::swap(&mut self.touch.x, &mut self.touch.x1);
                self.touch.cautious |= halving >= 2;
                let floor = !pending && part >= 1.0 && -slope <= noise;
                return Ok(floor);
            }
            if halving == HALVINGS {
                break;
            }
            if straight {
                self.way.iter_mut().for_each(|d| *d *= 0.5);
                part *= 0.5;
            } else {
                (part, straight) = self.free_way(model, state, 0.5 * part)?;
            }
        }
        // Nothing leads down: rounding, or a curvature that says nothing. Stay.
        if let Some(contact) = &model.contact {
            self.touch.energy(contact, false);
        }
        report.unfinished |= -slope > 1e-6 * size;
        Ok(true)
    }

    fn touch_friction(&mut self, model: &Model) -> f64 {
        let Some(contact) = &model.contact else { return 0.0 };
        if contact.friction.iter().all(|mu| *mu == 0.0) {
            return 0.0;
        }
        let change = self.touch.take_friction(contact);
        self.here = self.touch.energy(contact, false);
        change
    }

    fn blocked(&self, model: &Model, state: &State) -> StepError {
        let left = |i: usize, place: &crate::math::Vec3| (place - triple(&self.q, i)).norm();
        let worst = self.told.iter().map(|(i, place)| (*i, left(*i, place)));
        let (point, distance) = worst.fold((0, 0.0), |a, b| if b.1 > a.1 { b } else { a });
        let (object, _) = model.owner(model.layout.points_v() + 3 * point);
        StepError::Blocked { object, distance, time: state.time }
    }

    /// Takes the drives of all articulations: of robots by their own dynamics, of others from the state.
    pub(super) fn drive(&mut self, model: &Model, state: &State, h: f64) -> Result<(), StepError> {
        let Some(contact) = &model.contact else { return Ok(()) };
        self.coupling.drives.clear();
        for (k, a) in contact.articulations.iter().enumerate() {
            let drive = match a.driver {
                Driver::Robot(robot) => self.coupling.drivers.drive(model, a, robot, state, h)?,
                Driver::External => match state.drives.get(k) {
                    Some(drive) => drive.clone(),
                    None => return Err(DriveError::Missing { articulation: a.name.clone() }.into()),
                },
            };
            drive.check(a)?;
            self.coupling.drives.push(drive);
        }
        Ok(())
    }

    /// What articulations did, and the robots' coordinates.
    pub(super) fn finish_drives(&mut self, model: &Model, h: f64, next: &mut State) {
        let Some(contact) = model.contact.as_ref().filter(|_| !self.coupling.is_empty()) else { return };
        self.b.fill(0.0);
        self.touch.energy(contact, false);
        self.touch.slope(contact, &mut self.b);
        self.coupling.finish(&contact.articulations, &self.q, &self.b);
        let CouplingWork { reports, drivers, .. } = &mut self.coupling;
        take_back(model, &contact.articulations, reports, drivers, h, next);
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
        for (i, velocity) in model.filters.told_velocities(self.potential.time) {
            set_triple(&mut next.v, i, &velocity);
        }
    }
}

fn crowded(error: &TooMany, state: &State) -> StepError {
    StepError::Crowded { message: error.to_string(), time: state.time }
}
