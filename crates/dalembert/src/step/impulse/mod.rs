//! Method `impulse`: constraints at the velocity level.
//!
//! Forces act at the start of the step, then the joints correct the velocities so that each row meets
//! $\dot C^+ = -(\epsilon/h) C - r\lambda$. With $v^+ = v + h M^{-1}(F + A^T\lambda)$ this is
//!
//! $$ D\lambda = d,\quad D = h A M^{-1} A^T + r,\quad d = -\big(A v + h A M^{-1} F + (\epsilon/h) C\big), $$
//!
//! solved directly in its saddle-point form (see `system`) with R = r/h and unknowns v⁺, hλ. Limits, motors and friction
//! are rows whose force has bounds: an active-set iteration finds which of them stand at a bound. Then bodies drift:
//! x by v⁺, rotations by the energy-momentum step, which keeps the spin's momentum and energy. A hard joint on a fast
//! link then gapes by about r(ωh)²/2; a mass-weighted projection closes it. Swings of light links between heavy
//! ones that are too fast for the step are damped (see `system::stiffen`). Scenes whose things touch take the steps of
//! `contact` instead. Book: "Impulse", "Contact by impulses".

mod contact;
mod project;
mod rules;
#[cfg(test)]
mod tests;

use std::ops::Range;

use rules::{Rule, row_rule};

use super::system::{Island, Keep, System};
use super::{StepError, StepReport, Workspace};
use crate::joints::{Ask, Holder};
use crate::math::{Vec3, all_finite, norm, set_triple, triple};
use crate::model::Model;
use crate::robot::RobotScheme;
use crate::solve::kkt::FactorReport;
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
    /// Things that overlap are parted no faster than this \[m/s\].
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

/// Where a row with bounds stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stand {
    /// The row holds; its force is unknown.
    Free,
    /// The force is at its lower bound.
    Low,
    /// The force is at its upper bound.
    High,
}

/// A row whose force has bounds.
#[derive(Debug, Clone, Copy)]
struct Bounded {
    constraint: usize,
    low: f64,
    high: f64,
    /// r of the row.
    regularization: f64,
    stand: Stand,
}

/// Buffers of the method. Islands are solved one after the other with the same numbers.
#[derive(Debug, Default)]
pub(crate) struct ImpulseWork {
    system: System,
    islands: Vec<Island>,
    loose: Loose,
    bounded: Vec<Bounded>,
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

/// More rounds than this mean that bounds and rows contradict each other.
const MOST_ROUNDS: u32 = 60;
/// Rounds with masses from forces found in the same step.
const STIFFER: u32 = 12;
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
        let large = model.touch.as_ref().is_some_and(|t| t.colliders.len() >= MANY_COLLIDERS);
        // With contact robots are solved together with what they touch.
        let scheme = model.touch.is_none().then_some(RobotScheme::Implicit);
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
        if contact::all_asleep(self, model, state) {
            state.advance_time(h);
            return Ok(StepReport {
                time: state.time,
                substeps: n,
                last_substep: h / f64::from(n),
                ..StepReport::default()
            });
        }
        let mut next = std::mem::take(&mut work.next);
        next.copy_but_contacts(state);
        // Contacts are many, and the step makes new ones: it is lent the old ones.
        std::mem::swap(&mut next.contacts, &mut state.contacts);
        let mut report = StepReport::default();
        for k in 0..n {
            let done = match &model.touch {
                None => {
                    if k == 0 {
                        state.contacts.clone_from(&next.contacts);
                    }
                    self.substep(model, &mut next, h / f64::from(n), work, &mut report)
                }
                Some(touch) => {
                    let done =
                        self.substep_touching(touch, model, &mut next, h / f64::from(n), work, &mut report);
                    match &mut work.impulse.contact {
                        _ if k > 0 => {}
                        Some(contact) if done.is_ok() => contact.give_back(&mut state.contacts),
                        _ => std::mem::swap(&mut next.contacts, &mut state.contacts),
                    }
                    done.and_then(|()| close(model, &mut next, h / f64::from(n)))
                }
            };
            if let Err(e) = done {
                work.next = next;
                return Err(e);
            }
        }
        (next.time, next.time_rest, next.steps) = (state.time, state.time_rest, state.steps);
        next.advance_time(h);
        std::mem::swap(state, &mut next);
        work.next = next;
        report.time = state.time;
        report.substeps = n;
        report.evaluations = n;
        report.last_substep = h / f64::from(n);
        Ok(report)
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
        self.solve_island(settings, model, state, f, h, false, report);
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

    /// Everything about some bodies and constraints at the start of the step. Constraints need their bodies loaded, now or
    /// before.
    fn load(&mut self, start: &Start, nodes: Range<usize>, constraints: Range<usize>) {
        let Start { model, state, .. } = *start;
        let (turns, broken) = (&state.turns, &state.broken);
        self.system.load_some(model, nodes.clone(), &state.q, &state.v);
        self.load_momentum(start, nodes.clone());
        self.system.evaluate_some(model, constraints.clone(), state.time, turns, broken, Ask::Jacobian);
        let first = self.bounded.len();
        self.choose_rows(start, constraints.clone());
        if self.system.keep == Keep::All {
            let (nodes, rows) = (6 * nodes.start..6 * nodes.end, 6 * constraints.start..6 * constraints.end);
            self.momentum[nodes.clone()].copy_from_slice(&self.system.x[nodes]);
            self.target.as_flattened_mut()[rows.clone()].copy_from_slice(&self.system.y[rows]);
        }
        self.take_stands(first, start.h);
    }

    /// M v + h F of some bodies.
    fn load_momentum(&mut self, start: &Start, nodes: Range<usize>) {
        let Start { f, h, .. } = *start;
        let s = &mut self.system;
        for n in nodes {
            let (node, body, inertia) = (&s.island.nodes[n], &s.bodies[n], &s.inertia[n]);
            let f = &f[node.v..node.v + node.dofs];
            let mut linear = inertia.linear * body.v + h * triple(f, 0);
            let turning = node.dofs == 6;
            let angular = if turning { inertia.angular * body.w + h * triple(f, 1) } else { Vec3::zeros() };
            // A filtered particle moves only where it may; the rest of its velocity is not an unknown.
            if let Some(filter) = node.filter {
                linear = s.island.filters[filter as usize] * linear;
            }
            set_triple(&mut s.x, 2 * n, &linear);
            set_triple(&mut s.x, 2 * n + 1, &angular);
        }
    }

    /// Target rate, softness r/h and bounds of the rows of some constraints.
    fn choose_rows(&mut self, start: &Start, constraints: Range<usize>) {
        let Start { state, h, projection, .. } = *start;
        let first = self.bounded.len();
        for c in constraints {
            let s = &mut self.system;
            let terms = &s.island.terms[c];
            let (violation, drift) = (s.violation[c], s.drift[c]);
            let last = s.island.lambda(&state.lambda, c);
            self.pull += last.iter().map(|l| l * l).sum::<f64>();
            // A row of a broken joint, or none at all: no Jacobian, multiplier 0.
            s.softness[c] = [1.0; 6];
            s.y[6 * c..6 * c + 6].fill(0.0);
            if terms.is_broken(&state.broken) {
                continue;
            }
            for row in 0..s.island.row_count[c] as usize {
                let rule = row_rule(&terms.hold, violation[row], || s.row_rate(c, row), h, projection);
                s.y[6 * c + row] = rule.target - drift[row];
                s.softness[c][row] = rule.regularization / h;
                if rule.low > f64::NEG_INFINITY || rule.high < f64::INFINITY {
                    let last = last[0];
                    let stand = if last <= rule.low || rule.low == rule.high {
                        Stand::Low
                    } else if last >= rule.high {
                        Stand::High
                    } else {
                        Stand::Free
                    };
                    let Rule { low, high, regularization, .. } = rule;
                    self.bounded.push(Bounded { constraint: c, low, high, regularization, stand });
                }
            }
        }
        for b in &self.bounded[first..] {
            self.kept.extend(self.system.island.blocks(b.constraint).map(|k| self.system.jacobian[k]));
        }
    }

    /// A bounded row that does not hold, from number `first` on, becomes a known force.
    fn take_stands(&mut self, first: usize, h: f64) {
        let s = &mut self.system;
        for b in self.bounded[first..].iter().filter(|b| b.stand != Stand::Free) {
            let force = if b.stand == Stand::Low { b.low } else { b.high };
            let mut x = std::mem::take(&mut s.x);
            s.add_row_force(b.constraint, 0, h * force, &mut x);
            s.x = x;
            s.y[6 * b.constraint] = 0.0;
            s.softness[b.constraint][0] = 1.0;
            s.island.blocks(b.constraint).for_each(|k| s.jacobian[k] = [0.0; 36]);
        }
    }

    /// Makes all bounded rows hold again, as [`take_stands`](Self::take_stands) found them.
    fn free_bounded(&mut self, h: f64) {
        let mut at = 0;
        for b in &self.bounded {
            self.system.softness[b.constraint][0] = b.regularization / h;
            for k in self.system.island.blocks(b.constraint) {
                self.system.jacobian[k] = self.kept[at];
                at += 1;
            }
        }
    }

    /// Solves with masses that hold against turning forces: those of the step before, and those found now where they
    /// are much larger, as when a slack chain becomes taut.
    fn solve_stiffened(&mut self, start: &Start, report: &mut StepReport) {
        let Start { model, state, h, .. } = *start;
        let last = |island: &Island, c: usize| island.lambda(&state.lambda, c);
        report.weak_rows = self.load_and_solve(start, last);
        self.find_stands(h, report);
        let mut before = self.pull.sqrt();
        for _ in 0..STIFFER {
            let now = norm(&self.system.y) / h;
            if now <= 2.0 * before || now.is_nan() {
                break;
            }
            before = now;
            self.keep_found(h);
            if !self.system.stiffen_by(model, &self.found, &state.broken, h) {
                break;
            }
            if self.system.keep == Keep::All {
                report.weak_rows = self.solve_again(h);
                self.find_stands(h, report);
            } else {
                let found = std::mem::take(&mut self.found);
                report.weak_rows = self.load_and_solve(start, |_, c| found[c]);
                self.found = found;
            }
        }
    }

    /// Loads and eliminates chunk by chunk, so that numbers are used while they are in the cache; then v⁺ and hλ.
    fn load_and_solve(&mut self, start: &Start, lambda: impl Fn(&Island, usize) -> [f64; 6]) -> u32 {
        let Start { model, state, h, .. } = *start;
        let pattern = self.system.pattern();
        let mut report = FactorReport::default();
        for chunk in pattern.chunks() {
            self.load(start, chunk.nodes.clone(), chunk.couplings.clone());
            self.system.stiffen_chunk(model, chunk, &lambda, &state.broken, h);
            self.system.factor_chunk(chunk, &mut report);
        }
        self.system.solve_backwards();
        report.weak_rows as u32
    }

    /// Keeps the forces that were found last, λ = −y/h.
    fn keep_found(&mut self, h: f64) {
        self.found.clear();
        self.found.extend(self.system.y.as_chunks::<6>().0.iter().map(|y| y.map(|y| -y / h)));
    }

    /// The same with other stands or masses.
    fn solve_again(&mut self, h: f64) -> u32 {
        self.free_bounded(h);
        self.system.x.copy_from_slice(&self.momentum);
        self.system.y.copy_from_slice(self.target.as_flattened());
        self.take_stands(0, h);
        self.system.factor_and_solve()
    }

    /// Active-set iteration over the bounded rows, each round a direct solve; the first is done.
    fn find_stands(&mut self, h: f64, report: &mut StepReport) {
        let mut fewest = usize::MAX;
        let mut patience = 4;
        let mut round = 1;
        loop {
            self.free_bounded(h);
            let wrong = self.wrong_stands(h);
            if wrong.0 == 0 || round >= MOST_ROUNDS {
                report.iterations = round;
                report.unfinished = wrong.0 > 0;
                break;
            }
            // Flip all wrong ones while their number falls; otherwise only the last one, which always ends (Murty 1974).
            let all = if wrong.0 < fewest {
                (fewest, patience) = (wrong.0, 4);
                true
            } else {
                patience -= 1;
                patience > 0
            };
            self.flip(h, if all { None } else { Some(wrong.1) });
            report.weak_rows = self.solve_again(h);
            round += 1;
        }
        for b in self.bounded.iter().filter(|b| b.stand != Stand::Free) {
            let force = if b.stand == Stand::Low { b.low } else { b.high };
            self.system.y[6 * b.constraint] = -h * force;
        }
    }

    /// The stand that a bounded row should take, given the solution.
    fn better_stand(&self, b: &Bounded, h: f64) -> Stand {
        let c = b.constraint;
        match b.stand {
            Stand::Free => {
                let force = -self.system.y[6 * c] / h;
                let slack = 1e-12 * (1.0 + force.abs());
                if force < b.low - slack {
                    Stand::Low
                } else if force > b.high + slack {
                    Stand::High
                } else {
                    Stand::Free
                }
            }
            Stand::Low | Stand::High if b.low == b.high => b.stand,
            Stand::Low | Stand::High => {
                let force = if b.stand == Stand::Low { b.low } else { b.high };
                let rate = self.system.row_times(c, 0, &self.system.x);
                // Positive: the row runs ahead of its target, so it asks for less force.
                let ahead = rate + b.regularization * force - self.target[c][0];
                let slack = 1e-11 * (1.0 + rate.abs() + self.target[c][0].abs());
                match b.stand {
                    Stand::Low if ahead < -slack => Stand::Free,
                    Stand::High if ahead > slack => Stand::Free,
                    stand => stand,
                }
            }
        }
    }

    fn wrong_stands(&self, h: f64) -> (usize, usize) {
        let mut count = 0;
        let mut last = 0;
        for (k, b) in self.bounded.iter().enumerate() {
            if self.better_stand(b, h) != b.stand {
                count += 1;
                last = k;
            }
        }
        (count, last)
    }

    fn flip(&mut self, h: f64, only: Option<usize>) {
        for k in 0..self.bounded.len() {
            if only.is_none_or(|o| o == k) {
                self.bounded[k].stand = self.better_stand(&self.bounded[k], h);
            }
        }
    }

    /// Projected Gauss–Seidel on D λ = d, row by row.
    fn solve_sweeps(&mut self, h: f64, sweeps: u32, report: &mut StepReport) {
        let n = self.target.len();
        let s = &mut self.system;
        s.y.fill(0.0);
        // v = M⁻¹ (M v + h F), then each row adds M⁻¹ Aᵀ of its impulse.
        s.inverse_masses();
        s.x.copy_from_slice(&self.momentum);
        s.inverse_mass_times_x();
        let mut worst = 0.0f64;
        for _ in 0..sweeps {
            worst = 0.0;
            for c in 0..n {
                for row in 0..s.island.row_count[c] as usize {
                    let diagonal = s.row_diagonal(c, row) + s.softness[c][row];
                    if diagonal <= 0.0 {
                        continue;
                    }
                    let old = -s.y[6 * c + row];
                    let rate = s.row_times(c, row, &s.x) + s.softness[c][row] * old;
                    let mut new = old + (self.target[c][row] - rate) / diagonal;
                    if let Some(b) = self.bounded.iter().find(|b| b.constraint == c) {
                        new = new.clamp(h * b.low, h * b.high);
                    }
                    worst = worst.max((new - old).abs() * diagonal);
                    s.y[6 * c + row] = -new;
                    s.add_row_kick(c, row, new - old);
                }
            }
        }
        report.iterations = sweeps;
        report.residual = worst;
        report.unfinished = worst > 1e-6;
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
