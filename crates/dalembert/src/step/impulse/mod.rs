//! Method `impulse`: constraints at the velocity level.
//!
//! Forces act at the start of the step, then the joints correct the velocities so that each row meets
//! $\dot C^+ = -(\epsilon/h) C - r\lambda$. With $v^+ = v + h M^{-1}(F + A^T\lambda)$ this is
//!
//! $$ D\lambda = d,\quad D = h A M^{-1} A^T + r,\quad d = -\big(A v + h A M^{-1} F + (\epsilon/h) C\big), $$
//!
//! solved directly in its saddle-point form (see `system`) with R = r/h and unknowns v⁺, hλ. Limits, motors and friction
//! are rows whose force has bounds: an active-set iteration finds which of them are at a bound. Then bodies drift:
//! x by v⁺, rotations by the energy-momentum step, which keeps the spin's momentum and energy. A hard joint on a fast
//! link then gapes by about r(ωh)²/2; a mass-weighted projection closes it. Swings of light links between heavy
//! ones that are too fast for the step are damped (see `system::stiffen`). Scenes whose things touch take the steps of
//! `contact` instead. Book: "Impulse", "Contact by impulses".

mod contact;
mod project;
mod rows;
mod rules;
#[cfg(test)]
mod tests;

use std::ops::Range;

use super::system::{Island, Keep, System};
use super::{StepError, StepReport, Workspace};
use crate::joints::Holder;
use crate::math::{all_finite, norm};
use crate::model::Model;
use crate::robot::RobotScheme;
use crate::solve::box_lcp::Active;
use crate::state::State;

/// How the rows are solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowSolver {
    /// Sparse factorisation: exact, O(n) for trees.
    #[default]
    Direct,
    /// Projected Gauss–Seidel with this many sweeps: for comparison.
    Pgs {
        /// Sweeps over all rows.
        sweeps: u32,
    },
}

/// Settings of the method `impulse`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Impulse {
    /// Solver of the rows.
    pub solver: RowSolver,
    /// Equal inner steps per step, ≥ 1.
    pub substeps: u32,
    /// Project positions onto C = 0 after each inner step.
    pub projection: bool,
    /// Coefficient of friction where no rule or material says otherwise, ≥ 0.
    pub friction: f64,
    /// Coefficient of restitution where no rule or material says otherwise, ≥ 0.
    pub restitution: f64,
    /// Impacts slower than this do not bounce \[m/s\].
    pub bounce_speed: f64,
    /// Things that overlap are separated no faster than this \[m/s\].
    pub push_speed: f64,
    /// Contacts are solved until a sweep moves no relative velocity by more than this part of the fastest change that
    /// the step asks for.
    pub tolerance: f64,
    /// Most sweeps over the contacts.
    pub most_sweeps: u32,
    /// Islands of contacts that have been at rest for this long fall asleep \[s\]; infinite for never.
    pub sleep_after: f64,
    /// A body is at rest while no point of it is faster than this \[m/s\].
    pub sleep_speed: f64,
}

impl Default for Impulse {
    fn default() -> Self {
        Self {
            solver: RowSolver::Direct,
            substeps: 1,
            projection: true,
            friction: 0.5,
            restitution: 0.0,
            bounce_speed: 0.02,
            push_speed: 2.0,
            tolerance: 1e-6,
            most_sweeps: 200,
            sleep_after: f64::INFINITY,
            sleep_speed: 1e-3,
        }
    }
}

/// A row whose force has bounds.
#[derive(Debug, Clone, Copy)]
struct Bounded {
    constraint: usize,
    low: f64,
    high: f64,
    /// r of the row.
    regularization: f64,
}

/// Buffers of the method. Islands are solved one after the other with the same numbers.
#[derive(Debug, Default)]
pub(crate) struct ImpulseWork {
    system: System,
    islands: Vec<Island>,
    loose: Loose,
    bounded: Vec<Bounded>,
    /// The active set among them.
    active: Vec<Active>,
    /// Target rate of each row, if all is kept.
    target: Vec<[f64; 6]>,
    /// M v + h F of the nodes, if all is kept.
    momentum: Vec<f64>,
    /// Jacobian blocks of bounded rows, kept while they are switched off.
    kept: Vec<[f64; 36]>,
    /// λ of the last solution, where masses are to hold against it.
    found: Vec<[f64; 6]>,
    /// |λ|² of the step before.
    pull: f64,
    /// Coordinates of the nodes before a step of the projection.
    before: Vec<[f64; 7]>,
    /// In a place of its own: it is large, and moves.
    contact: Option<Box<contact::ContactWork>>,
}

/// What a step begins with.
#[derive(Clone, Copy)]
struct Start<'a> {
    model: &'a Model,
    state: &'a State,
    f: &'a [f64],
    h: f64,
    projection: bool,
}

/// What no constraint holds.
#[derive(Debug, Default)]
struct Loose {
    /// Numbers of constraints and velocities of the model that this was made for.
    made_for: Option<[usize; 2]>,
    rigid: Vec<usize>,
    /// Velocities of particles and generalized bodies.
    others: Vec<Range<usize>>,
}

/// Scenes with so many colliders are stepped on a thread of the pool.
const MANY_COLLIDERS: usize = 200;

impl Impulse {
    /// One step.
    pub(super) fn step(
        &self,
        model: &Model,
        state: &mut State,
        h: f64,
        work: &mut Workspace,
    ) -> Result<StepReport, StepError> {
        let large = model.rigid_contact.as_ref().is_some_and(|t| t.colliders.len() >= MANY_COLLIDERS);
        // With contact robots are solved together with what they touch.
        let scheme = model.rigid_contact.is_none().then_some(RobotScheme::Implicit);
        let robots = work.robots.advance(scheme, model, state, h)?;
        let mut report = super::on_pool(large, || self.step_bodies(model, state, h, work))?;
        work.robots.store(robots, model, state, &mut report);
        Ok(report)
    }

    fn step_bodies(
        &self,
        model: &Model,
        state: &mut State,
        h: f64,
        work: &mut Workspace,
    ) -> Result<StepReport, StepError> {
        let n = self.substeps.max(1);
        let inner = h / f64::from(n);
        let mut report = StepReport { substeps: n, last_substep: inner, ..StepReport::default() };
        if contact::all_asleep(self, model, state) {
            state.advance_time(h);
            return Ok(StepReport { time: state.time, ..report });
        }
        let mut next = std::mem::take(&mut work.next);
        next.copy_but_contacts(state);
        // Contacts are many, and the step makes new ones: it is lent the old ones.
        std::mem::swap(&mut next.contacts, &mut state.contacts);
        let mut step = |k| self.inner_step(model, (&mut *state, &mut next), inner, k == 0, work, &mut report);
        let done = (0..n).try_for_each(&mut step);
        if done.is_ok() {
            (next.time, next.time_rest, next.steps) = (state.time, state.time_rest, state.steps);
            next.advance_time(h);
            std::mem::swap(state, &mut next);
        }
        work.next = next;
        done?;
        (report.time, report.evaluations) = (state.time, n);
        Ok(report)
    }

    /// An inner step of `next`; the `first` gives `state` back the contacts that were lent.
    fn inner_step(
        &self,
        model: &Model,
        (state, next): (&mut State, &mut State),
        h: f64,
        first: bool,
        work: &mut Workspace,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let Some(contact) = &model.rigid_contact else {
            if first {
                state.contacts.clone_from(&next.contacts);
            }
            return self.substep(model, next, h, work, report);
        };
        let done = self.substep_with_contact(contact, model, next, h, work, report);
        match &mut work.impulse.contact {
            _ if !first => {}
            Some(contact) if done.is_ok() => contact.give_back(&mut state.contacts),
            _ => std::mem::swap(&mut next.contacts, &mut state.contacts),
        }
        done?;
        close(model, next, h)
    }

    fn substep(
        &self,
        model: &Model,
        state: &mut State,
        h: f64,
        work: &mut Workspace,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let Workspace { f, impulse: own, .. } = work;
        f.resize(model.layout.len_v(), 0.0);
        model.forces_into(state.time, &state.q, &state.v, &state.applied, f);

        own.prepare(model);
        let mut all = StepReport::default();
        for i in 0..own.islands.len() {
            let mut one = StepReport::default();
            let island = std::mem::take(&mut own.islands[i]);
            let once = self.solver == RowSolver::Direct && !island.has_axes;
            own.system.enter(island, if once { Keep::Unread } else { Keep::All });
            own.step_island(self, model, state, f, h, &mut one);
            own.islands[i] = own.system.leave();
            all.weak_rows += one.weak_rows;
            all.add_worst(&one);
        }
        report.weak_rows = report.weak_rows.max(all.weak_rows);
        report.projections += all.projections;
        report.add_worst(&StepReport { projections: 0, ..all });
        own.loose.step(model, state, f, h);
        close(model, state, h)
    }
}

/// The end of an inner step: time, carried points, joint angles; refuses what is not finite.
fn close(model: &Model, state: &mut State, h: f64) -> Result<(), StepError> {
    state.time += h;
    model.settle(state);
    model.update_turns(&state.q, &state.v, &mut state.turns);
    if !all_finite(&state.q) || !all_finite(&state.v) {
        let (object, index) = model.culprit(&state.q, &state.v);
        return Err(StepError::NonFinite {
            object,
            index,
            time: state.time - h,
            h,
            method: "impulse".into(),
        });
    }
    Ok(())
}

impl StepReport {
    /// The larger of all numbers of the constraint solver.
    fn add_worst(&mut self, other: &StepReport) {
        self.iterations = self.iterations.max(other.iterations);
        self.residual = self.residual.max(other.residual);
        self.gap = self.gap.max(other.gap);
        self.projections = self.projections.max(other.projections);
        self.unfinished |= other.unfinished;
    }
}

impl Loose {
    fn new(model: &Model, islands: &[Island]) -> Self {
        let layout = &model.layout;
        let mut free = vec![true; layout.len_v()];
        for node in islands.iter().flat_map(|island| &island.nodes) {
            free[node.v..node.v + node.dofs].fill(false);
        }
        let rigid = (0..layout.rigid).filter(|k| free[6 * k]).collect();
        let mut others: Vec<Range<usize>> = Vec::new();
        for i in (6 * layout.rigid..layout.nv).filter(|i| free[*i]) {
            match others.last_mut() {
                Some(last) if last.end == i => last.end += 1,
                _ => others.push(i..i + 1),
            }
        }
        Self { made_for: Some([layout.constraints, layout.nv]), rigid, others }
    }

    /// v += h M⁻¹ F, then q moves along v.
    fn step(&self, model: &Model, state: &mut State, f: &mut [f64], h: f64) {
        let State { q, v, .. } = state;
        for &k in &self.rigid {
            model.rigid.solve_mass_of(q, f, k);
            (6 * k..6 * k + 6).for_each(|i| v[i] += h * f[i]);
            model.rigid.free_flight_of(q, v, k, h);
        }
        self.step_others(model, state, f, h);
    }

    /// The same for what is not a rigid body.
    fn step_others(&self, model: &Model, state: &mut State, f: &mut [f64], h: f64) {
        let State { q, v, .. } = state;
        model.point_accelerations(f);
        // Beyond rigid bodies there is one coordinate for each velocity.
        for i in self.others.iter().cloned().flatten() {
            v[i] += h * f[i];
            q[i + model.layout.rigid] += h * v[i];
        }
    }
}

impl ImpulseWork {
    /// Finds the islands, once.
    fn prepare(&mut self, model: &Model) {
        if self.loose.made_for != Some([model.layout.constraints, model.layout.nv]) {
            self.islands = Island::all(model);
            self.loose = Loose::new(model, &self.islands);
        }
    }

    /// A whole step of one island.
    fn step_island(
        &mut self,
        settings: &Impulse,
        model: &Model,
        state: &mut State,
        f: &[f64],
        h: f64,
        report: &mut StepReport,
    ) {
        let start = Start { model, state, f, h, projection: settings.projection };
        self.solve_island(settings, &start, false, report);
        self.store_forces(state, h);
        self.drift(model, state, h);
        if settings.projection {
            self.project(model, state, h, report);
        }
    }

    /// The bodies take their new velocities and move along them for h seconds.
    fn drift(&self, model: &Model, state: &mut State, h: f64) {
        let State { q, v, .. } = state;
        for (node, x) in self.system.island.nodes.iter().zip(self.system.x.as_chunks::<6>().0) {
            let own = node.v..node.v + node.dofs;
            v[own.clone()].copy_from_slice(&x[..node.dofs]);
            match node.holder {
                Holder::Rigid(k) => model.rigid.free_flight_of(q, v, k as usize, h),
                _ => own.for_each(|i| q[i + model.layout.rigid] += h * v[i]),
            }
        }
    }

    /// λ into the state; joints that were pulled too hard break.
    fn store_forces(&mut self, state: &mut State, h: f64) {
        let System { island, y, .. } = &self.system;
        let lambda = state.lambda.as_chunks_mut::<6>().0;
        for (&c, y) in island.members.iter().zip(y.as_chunks::<6>().0) {
            lambda[c as usize] = y.map(|y| -y / h);
        }
        for &(c, limit) in &island.breakable {
            if norm(&island.lambda(&state.lambda, c)) > limit {
                state.broken[island.terms[c].joint as usize] = true;
            }
        }
    }
}
