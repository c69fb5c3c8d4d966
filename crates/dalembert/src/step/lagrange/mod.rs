//! Method `lagrange`: constraints at the acceleration level.
//!
//! The multipliers make $\ddot C = A a + \dot A v = 0$: with $M a = Q + A^T\lambda$,
//!
//! $$ (A M^{-1} A^T)\,\lambda = -\dot A v - A M^{-1} Q, $$
//!
//! at every stage of any integrator of [`ode`](crate::solve::ode). What the integrator's error lets drift is removed after the step: the
//! smallest mass-weighted motion onto C = 0, then the smallest change of velocity onto $A v + C_t = 0$.
//! (Baumgarte's $\ddot C = -2\alpha\dot C - \alpha^2 C$ is an option instead.)
//!
//! Redundant rows make $A M^{-1} A^T$ singular, yet consistent. A regularised factorisation with proximal refinement from
//! λ = 0 then finds the λ of least norm; the motion is the same for any of them.
//!
//! At the inner stages of a step the bodies stand off C = 0 by ε ~ (h v)²/2. Rows that depend on each other on C = 0 then
//! do so only nearly: A has singular values of the order of ε, the equations contradict each other by as much, and the
//! quotient would be a spurious acceleration of order one. (On C = 0, as at a dead point, small singular values are
//! real.) So a stage whose equations are left with a residual is evaluated at the nearest configuration with C = 0
//! instead: another extension of the same motion off C = 0, so that the order stays. Book: "Lagrange".
//!
//! Rigid bodies that touch (see `scene::build_touch`: a ground, a rule, or bodies that no joint holds) collide at moments found in time and rest on each
//! other by forces that only push: `events` tells the order of things, `impact` and `resting` the laws. Book: "Rigid
//! contact".

mod complementarity;
mod contact_points;
mod events;
mod impact;
mod resting;
#[cfg(test)]
mod tests;

pub(crate) use contact_points::ContactPointWork;

use super::integrator::Integrator;
use super::phase::{self, Scheme};
use super::system::System;
use super::{StepError, StepReport, Workspace};
use crate::joints::Ask;
use crate::math::{all_finite, norm, set_triple, triple};
use crate::model::Model;
use crate::robot::RobotScheme;
use crate::state::State;

/// How several impacts at the same moment follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Impacts {
    /// One contact after the other, in turn, until none approaches.
    #[default]
    Sequential,
    /// All at once: no contact approaches more than ε times as fast as it did, and only those that would push.
    Simultaneous,
    /// Always the contact that approaches fastest, until none does.
    Chain,
}

impl Impacts {
    /// Names in scene files.
    pub const NAMES: [&'static str; 3] = ["sequential", "simultaneous", "chain"];

    /// The rule with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Sequential, Self::Simultaneous, Self::Chain];
        Self::NAMES.iter().position(|n| *n == name).map(|i| all[i])
    }
}

/// Settings of the method `lagrange`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lagrange {
    /// The integrator: any but the symplectic ones.
    pub integrator: Integrator,
    /// Error allowed per inner step of an adaptive integrator, absolute and relative alike.
    pub tolerance: f64,
    /// Smallest inner step of an adaptive integrator \[s\].
    pub min_step: f64,
    /// Project positions and velocities after each step.
    pub projection: bool,
    /// Baumgarte rate α \[1/s\]; 0 for none.
    pub baumgarte: f64,
    /// Coefficient of friction μ where no rule of contact says otherwise.
    pub friction: f64,
    /// Coefficient of restitution ε where no rule says otherwise.
    pub restitution: f64,
    /// Rule for impacts at the same moment.
    pub impacts: Impacts,
    /// Bounces slower than this come to rest, and what slides slower sticks \[m/s\].
    pub rest_speed: f64,
}

impl Default for Lagrange {
    fn default() -> Self {
        Self {
            integrator: Integrator::Rk4,
            tolerance: 1e-9,
            min_step: 1e-12,
            projection: true,
            baumgarte: 0.0,
            friction: 0.0,
            restitution: 0.0,
            impacts: Impacts::Sequential,
            rest_speed: 1e-5,
        }
    }
}

/// Regularization relative to the diagonal of A M⁻¹ Aᵀ.
const REGULARIZATION: f64 = 1e-9;
/// Rows whose relative residual is larger than this contradict each other; consistent ones come out near 1e-13.
const CONTRADICTION: f64 = 1e-10;
/// Newton steps of the position projection.
const MOST_PROJECTIONS: u32 = 10;

impl Lagrange {
    pub(super) fn step(
        &self,
        model: &Model,
        state: &mut State,
        h: f64,
        work: &mut Workspace,
    ) -> Result<StepReport, StepError> {
        let robots = work.robots.advance(self.robot_scheme(), model, state, h)?;
        let mut report = self.step_bodies(model, state, h, work)?;
        work.robots.store(robots, model, state, &mut report);
        Ok(report)
    }

    /// The scheme of robots; none if they have none like the integrator.
    pub(super) fn robot_scheme(&self) -> Option<RobotScheme> {
        self.integrator.robot_scheme()
    }

    fn step_bodies(
        &self,
        model: &Model,
        state: &mut State,
        h: f64,
        work: &mut Workspace,
    ) -> Result<StepReport, StepError> {
        let mut system = std::mem::take(&mut work.lagrange);
        let mut before = std::mem::take(&mut work.next);
        before.copy_from(state);
        system.prepare(model);
        let mut worst = LagrangeReport::default();
        if let Some(shapes) = &model.rigid_contact {
            let mut contact = std::mem::take(&mut work.lagrange_contact);
            let done = self
                .step_with_contact(
                    model,
                    shapes,
                    state,
                    h,
                    events::MOST_TRIALS,
                    &mut system,
                    &mut contact,
                    work,
                    &mut worst,
                )
                .and_then(|mut report| {
                    (report.weak_rows, report.residual) = (worst.weak_rows, worst.residual);
                    if !model.constraints.is_empty() {
                        read_multipliers(model, state, &mut system, &mut work.f);
                    }
                    if all_finite(&state.q) && all_finite(&state.v) {
                        return Ok(report);
                    }
                    Err(phase::not_finite(model, &before, h, &state.q, &state.v, "lagrange, contact"))
                })
                .inspect_err(|_| state.copy_from(&before));
            (work.lagrange, work.next, work.lagrange_contact) = (system, before, contact);
            return done;
        }
        let scheme = Scheme {
            integrator: self.integrator,
            tolerance: self.tolerance,
            min_step: self.min_step,
            method: "lagrange",
        };
        let moved = phase::integrate(&scheme, model, state, h, work, |t, q, v, f| {
            let (turns, broken) = (&before.turns, &before.broken);
            add_multiplier_forces(model, &mut system, t, q, v, turns, broken, self.baumgarte, f, &mut worst);
        });
        let done = moved.and_then(|mut report| {
            report.weak_rows = worst.weak_rows;
            report.residual = worst.residual;
            if !model.constraints.is_empty() {
                if self.projection {
                    project(model, state, &mut system, &mut report);
                    model.settle(state);
                }
                read_multipliers(model, state, &mut system, &mut work.f);
                model.update_turns(&state.q, &state.v, &mut state.turns);
            }
            if all_finite(&state.q) && all_finite(&state.v) {
                return Ok(report);
            }
            let error = phase::not_finite(model, &before, h, &state.q, &state.v, "lagrange, projection");
            state.copy_from(&before);
            Err(error)
        });
        work.lagrange = system;
        work.next = before;
        done
    }
}

#[derive(Debug, Default)]
struct LagrangeReport {
    weak_rows: u32,
    residual: f64,
}

/// f += Aᵀ λ with λ from C̈ = 0 (or Baumgarte's rule).
fn add_multiplier_forces(
    model: &Model,
    s: &mut System,
    t: f64,
    q: &[f64],
    v: &[f64],
    turns: &[f64],
    broken: &[bool],
    alpha: f64,
    f: &mut [f64],
    worst: &mut LagrangeReport,
) {
    if model.constraints.is_empty() {
        return;
    }
    s.load_bodies(model, q, v);
    s.evaluate(model, t, turns, broken, Ask::Bias);
    s.add_explicit_forces(model, broken, f);
    let residual = solve_multipliers(model, s, broken, alpha, f, worst);
    if residual > CONTRADICTION {
        let mut place = std::mem::take(&mut s.q);
        place.clear();
        place.extend_from_slice(q);
        project_positions(model, t, &mut place, v, turns, broken, s);
        s.load_bodies(model, &place, v);
        s.evaluate(model, t, turns, broken, Ask::Bias);
        s.q = place;
        solve_multipliers(model, s, broken, alpha, f, worst);
    }
    let mut pull = std::mem::take(&mut s.x);
    pull.fill(0.0);
    for (c, entry) in model.constraints.iter().enumerate() {
        for row in 0..entry.constraint.rows() {
            s.add_row_force(c, row, -s.y[6 * c + row], &mut pull);
        }
    }
    for (n, node) in s.island.nodes.iter().enumerate() {
        for k in 0..node.dofs {
            f[node.v + k] += pull[6 * n + k];
        }
    }
    s.x = pull;
}

/// −λ into `s.y`, accelerations into `s.x`; returns the relative residual of the rows. Constraints are evaluated, f holds all other forces.
fn solve_multipliers(
    model: &Model,
    s: &mut System,
    broken: &[bool],
    alpha: f64,
    f: &[f64],
    worst: &mut LagrangeReport,
) -> f64 {
    let mut x = std::mem::take(&mut s.x);
    s.gather(f, &mut x);
    for (n, node) in s.island.nodes.iter().enumerate() {
        if node.dofs == 6 {
            // M ω̇ = τ − ω × I ω
            let w = s.bodies[n].w;
            let gyro = w.cross(&(s.inertia[n].angular * w));
            for k in 0..3 {
                x[6 * n + 3 + k] -= gyro[k];
            }
        }
        if let Some(filter) = node.filter {
            let a = s.island.filters[filter as usize] * triple(&x, 2 * n);
            set_triple(&mut x, 2 * n, &a);
        }
    }
    s.x = x;
    for (c, entry) in model.constraints.iter().enumerate() {
        let softness = entry.acceleration_softness().filter(|_| !broken[entry.joint]);
        for row in 0..6 {
            let (mut soft, mut g) = (1.0, 0.0);
            match softness {
                Some(r) if row < entry.constraint.rows() => {
                    soft = r;
                    g = -s.bias[c][row];
                    if entry.is_exact() {
                        let rate = s.row_rate(c, row) + s.drift[c][row];
                        g -= 2.0 * alpha * rate + alpha * alpha * s.violation[c][row];
                    }
                }
                _ => s.clear_row(c, row),
            }
            s.softness[c][row] = soft;
            s.y[6 * c + row] = g;
        }
    }
    let solved = s.solve_least_norm(REGULARIZATION);
    worst.weak_rows = worst.weak_rows.max(solved.weak_rows);
    worst.residual = worst.residual.max(solved.residual);
    solved.residual
}

/// Pulls bodies together where exact joints gape: positions and velocities, by the smallest mass-weighted change.
pub fn assemble(model: &Model, state: &mut State) {
    let mut system = System::default();
    system.prepare(model);
    // Large gaps need several rounds; each halves the gap at least, or it is the last.
    for _ in 0..20 {
        let mut report = StepReport::default();
        project(model, state, &mut system, &mut report);
        if report.gap < 1e-12 || report.gap.is_nan() {
            break;
        }
    }
    model.settle(state);
    model.update_turns(&state.q, &state.v, &mut state.turns);
}

/// Positions onto C = 0, then velocities onto A v + C_t = 0, both by the smallest change in the metric of the masses.
fn project(model: &Model, state: &mut State, s: &mut System, report: &mut StepReport) {
    let State { q, v, turns, broken, time, .. } = state;
    (report.gap, report.projections) = project_positions(model, *time, q, v, turns, broken, s);
    s.x.fill(0.0);
    rows(model, s, |s, c, row| is_exact(model, c, broken).then(|| -(s.row_rate(c, row) + s.drift[c][row])));
    s.solve_least_norm(REGULARIZATION);
    for (n, node) in s.island.nodes.iter().enumerate() {
        for k in 0..node.dofs {
            v[node.v + k] += s.x[6 * n + k];
        }
    }
}

fn is_exact(model: &Model, c: usize, broken: &[bool]) -> bool {
    model.constraints[c].is_exact() && !broken[model.constraints[c].joint]
}

/// Positions onto C = 0; returns the gap that is left and the number of Newton steps. Constraints stand evaluated at
/// the result.
fn project_positions(
    model: &Model,
    t: f64,
    q: &mut [f64],
    v: &[f64],
    turns: &[f64],
    broken: &[bool],
    s: &mut System,
) -> (f64, u32) {
    let mut last = f64::INFINITY;
    let mut k = 0;
    loop {
        s.load_bodies(model, q, v);
        s.evaluate(model, t, turns, broken, Ask::Bias);
        let worst = s.worst_gap();
        if worst < 1e-14 || k == MOST_PROJECTIONS || worst > 0.5 * last || worst.is_nan() {
            return (worst, k);
        }
        last = worst;
        k += 1;
        s.x.fill(0.0);
        rows(model, s, |s, c, row| is_exact(model, c, broken).then(|| -s.violation[c][row]));
        s.solve_least_norm(REGULARIZATION);
        s.nudge_all(model, 1.0, q);
    }
}

/// Right-hand sides of the rows that take part; the others are switched off.
fn rows(model: &Model, s: &mut System, value: impl Fn(&System, usize, usize) -> Option<f64>) {
    for (c, entry) in model.constraints.iter().enumerate() {
        for row in 0..6 {
            let g = if row < entry.constraint.rows() { value(s, c, row) } else { None };
            s.softness[c][row] = if g.is_some() { 0.0 } else { 1.0 };
            s.y[6 * c + row] = g.unwrap_or(0.0);
            if g.is_none() {
                s.clear_row(c, row);
            }
        }
    }
}

/// λ at the end of the step into the state.
fn read_multipliers(model: &Model, state: &mut State, s: &mut System, f: &mut [f64]) {
    model.forces_into(state.time, &state.q, &state.v, &state.applied, f);
    s.load_bodies(model, &state.q, &state.v);
    s.evaluate(model, state.time, &state.turns, &state.broken, Ask::Bias);
    s.add_explicit_forces(model, &state.broken, f);
    solve_multipliers(model, s, &state.broken, 0.0, f, &mut LagrangeReport::default());
    for (l, y) in state.lambda.iter_mut().zip(&s.y) {
        *l = -y;
    }
    for (c, entry) in model.constraints.iter().enumerate() {
        let force = norm(&state.lambda[6 * c..6 * c + entry.constraint.rows()]);
        if entry.breaks_at.is_some_and(|limit| force > limit) {
            state.broken[entry.joint] = true;
        }
    }
}
