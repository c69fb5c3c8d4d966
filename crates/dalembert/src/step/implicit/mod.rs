//! Method `implicit`: forces are taken at the end of the step, so that stiff things stay calm.
//!
//! **One stage.** Every scheme here asks for a velocity u with
//!
//! $$ M(u - v_s) = c\, f\big(q_s \oplus d\,u,\; w\big),\qquad w = a u + (1 - a) v, $$
//!
//! where $\oplus$ drifts: points straight, rigid bodies by their free flight, which keeps their angular momentum.
//!
//! | scheme | $q_s$ | $M v_s$ | c | d | a | then |
//! |---|---|---|---|---|---|---|
//! | Euler | q | M v | h | h | 1 | q ⊕ h u, u |
//! | BDF2 | q ⊕ (q − q₋)/3 | M (4v − v₋)/3 | 2h/3 | 2h/3 | 1 | q_s ⊕ d u, u |
//! | midpoint | q | M v | h/2 | h/2 | 1 | q ⊕ h u, 2u − v |
//! | trapezoid | q | M v + (h/4) f(q, v) | h/4 | h | 2 | q ⊕ h u, 2u − v |
//!
//! The trapezoid is Newmark's rule with β = 1/4, γ = 1/2. With $K = -\partial f/\partial q$, $B = -\partial f/\partial v$,
//! Rayleigh damping $-\alpha M w - \beta K w$ and the linear model of f about $(q_s, v)$ the stage is one linear system
//! for $\delta = u - \hat u$, where $\hat u$ is v, with the motion of prescribed points as it is given:
//!
//! $$ C\big[(1 + c a\alpha) M + c a B + c(d + a\beta) K\big]C\,\delta
//!    = C\big[M(v_s - \hat u) + c\,(f - K(d\hat u + \beta\hat w) - B(\hat w - v) - \alpha M\hat w)\big]. $$
//!
//! For Euler this is $(M + hB + h^2K)\,\Delta v = h(f - hKv)$. One such solve per step is the default. With `newton` > 1
//! the stage is solved: the residual is taken at $q_s \oplus d u$, the system is linearised there, and a line search on
//!
//! $$ \Phi(u) = \tfrac12 (u - v_s)^T M (u - v_s) + \tfrac{c}{d} W(q_s\oplus d u) $$
//!
//! (or, where forces have no energy, on the residual) keeps every iteration going down. `static` looks for f = 0
//! in the same way, with neither mass nor velocity. Book: "Implicit steps".

mod equilibrium;

use std::cell::RefCell;

use super::tangent::{Factors, Linearization};
use super::{StepError, StepReport, Workspace};
use crate::bodies::Rigid;
use crate::forces::Tangent;
use crate::math::{Blocks, all_finite, dot, rotation, set_triple, triple};
use crate::model::Model;
use crate::solve::cg::CgStop;
use crate::solve::line_search::LineSearch;
use crate::solve::linear::{Linear, LinearError, LinearReport, LinearSolver, System};
use crate::state::State;

/// The implicit schemes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scheme {
    /// Implicit Euler: order 1, damps what it cannot follow.
    #[default]
    Euler,
    /// Second backward difference: order 2, damps fast motion. Its first step is Euler's.
    Bdf2,
    /// Implicit midpoint: order 2, damps nothing.
    Midpoint,
    /// Trapezoid rule, which is Newmark's average acceleration: order 2, damps nothing.
    Trapezoid,
    /// Equilibrium of the forces at the end of the step.
    Static,
}

impl Scheme {
    /// All schemes with their names in scene files.
    pub const ALL: &'static [(&'static str, Scheme)] = &[
        ("euler", Scheme::Euler),
        ("bdf2", Scheme::Bdf2),
        ("midpoint", Scheme::Midpoint),
        ("trapezoid", Scheme::Trapezoid),
        ("newmark", Scheme::Trapezoid),
        ("static", Scheme::Static),
    ];

    /// Name in scene files.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, s)| *s == self).map_or("?", |(n, _)| n)
    }

    /// The scheme with the given name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, s)| *s)
    }
}

/// Settings of the method `implicit`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Implicit {
    /// The scheme.
    pub scheme: Scheme,
    /// Most Newton iterations per step. With 1 the forces are linearised once per step. With 0 the scheme decides: 1 for
    /// Euler; up to 20 for schemes of order 2, which one linear solve would bring down to order 1; up to 100 for
    /// `static`.
    pub newton: u32,
    /// Newton stops when the residual is this part of the forces, mass-weighted.
    pub tolerance: f64,
    /// How linear systems are solved.
    pub solver: LinearSolver,
    /// Rayleigh damping by mass α \[1/s\], ≥ 0.
    pub rayleigh_mass: f64,
    /// Rayleigh damping by stiffness β \[s\], ≥ 0.
    pub rayleigh_stiffness: f64,
}

impl Default for Implicit {
    fn default() -> Self {
        Self {
            scheme: Scheme::Euler,
            newton: 0,
            tolerance: 1e-9,
            solver: LinearSolver::Automatic { tolerance: 1e-8 },
            rayleigh_mass: 0.0,
            rayleigh_stiffness: 0.0,
        }
    }
}

/// Points from which on a step runs in the pool of threads.
const MANY_POINTS: usize = 1000;
/// A residual need not fall along Newton's step: after six halvings a finite one is enough.
const OF_RESIDUAL: LineSearch = LineSearch { armijo: 1e-4, halvings: 30, take_last: true, finite_after: 6 };

/// Buffers of an implicit step.
#[derive(Debug, Default)]
pub(crate) struct ImplicitWork {
    here: Linearization,
    linear: Linear,
    /// Start: v, and p_s = M v_s.
    start: Vec<f64>,
    momentum: Vec<f64>,
    /// q_s with carried points, and the velocities there.
    stage_q: Vec<f64>,
    stage_v: Vec<f64>,
    /// u, its trial, the correction, and w.
    u: Vec<f64>,
    trial: Vec<f64>,
    delta: Vec<f64>,
    w: Vec<f64>,
    /// Right-hand side: minus the residual, filtered.
    b: Vec<f64>,
    temp: Vec<f64>,
    product: Vec<f64>,
    /// 1/m of each unknown.
    weights: Vec<f64>,
    /// Coordinates and velocities at q_s ⊕ d u.
    q: Vec<f64>,
    v: Vec<f64>,
}

/// The numbers of a stage.
#[derive(Debug, Clone, Copy)]
struct Stage {
    /// Time at which forces are taken \[s\].
    time: f64,
    c: f64,
    d: f64,
    a: f64,
}

impl Implicit {
    /// Most Newton iterations of a step.
    pub fn most_newton(&self) -> u32 {
        match (self.newton, self.scheme) {
            (0, Scheme::Euler) => 1,
            (0, Scheme::Static) => 100,
            (0, _) => 20,
            (given, _) => given,
        }
    }

    /// One step.
    pub(super) fn step(
        &self,
        model: &Model,
        state: &mut State,
        h: f64,
        work: &mut Workspace,
    ) -> Result<StepReport, StepError> {
        let large = model.layout.points >= MANY_POINTS;
        super::on_pool(large, || self.step_here(model, state, h, work))
    }

    fn step_here(
        &self,
        model: &Model,
        state: &mut State,
        h: f64,
        work: &mut Workspace,
    ) -> Result<StepReport, StepError> {
        let Workspace { implicit: w, next, .. } = work;
        next.copy_from(state);
        let mut report = StepReport { substeps: 1, last_substep: h, ..StepReport::default() };
        if self.scheme == Scheme::Static {
            self.equilibrium(model, state, h, w, &mut report)?;
            next.q.copy_from_slice(&w.q);
            next.v.fill(0.0);
        } else {
            let stage = self.begin(model, state, h, w);
            self.solve_stage(model, state, &stage, w, &mut report)?;
            self.finish(model, state, next, h, &stage, w);
        }
        model.settle_at(state.time_after(h), &mut next.q, &mut next.v);
        if !all_finite(&next.q) || !all_finite(&next.v) {
            let name = format!("implicit, {}", self.scheme.name());
            return Err(super::phase::not_finite(model, state, h, &next.q, &next.v, &name));
        }
        next.advance_time(h);
        model.update_turns(&next.q, &next.v, &mut next.turns);
        if self.scheme == Scheme::Bdf2 {
            next.remember(&model.layout, &state.q, &state.v, h);
        }
        std::mem::swap(state, next);
        report.time = state.time;
        Ok(report)
    }

    /// q_s and p_s = M v_s.
    fn begin(&self, model: &Model, state: &State, h: f64, w: &mut ImplicitWork) -> Stage {
        let end = state.time_after(h);
        w.start.clear();
        w.start.extend_from_slice(&state.v[..model.layout.nv]);
        w.stage_q.clone_from(&state.q);
        w.stage_v.clone_from(&state.v);
        w.here.load_inertia(model, &state.q);
        w.momentum.clear();
        w.momentum.resize(model.layout.nv, 0.0);
        w.here.add_mass_times(model, 1.0, &w.start, &mut w.momentum);
        let mut stage = Stage { time: end, c: h, d: h, a: 1.0 };
        match self.scheme {
            Scheme::Euler | Scheme::Static => {}
            Scheme::Midpoint => {
                stage = Stage { time: state.time + 0.5 * h, c: 0.5 * h, d: 0.5 * h, a: 1.0 };
            }
            Scheme::Trapezoid => {
                stage = Stage { time: end, c: 0.25 * h, d: h, a: 2.0 };
                w.here.evaluate(model, state.time, &state.q, &state.v, state);
                if self.rayleigh_stiffness != 0.0 {
                    w.here.linearize(model, Tangent::Exact);
                }
                let (c, start) = (stage.c, std::mem::take(&mut w.start));
                w.add_damped_force(self, model, c, &start);
                w.start = start;
                w.momentum.iter_mut().zip(&w.product).for_each(|(p, f)| *p += f);
            }
            Scheme::Bdf2 => {
                if let Some((before_q, before_v)) = state.remembered(&model.layout, h) {
                    stage = Stage { time: end, c: 2.0 * h / 3.0, d: 2.0 * h / 3.0, a: 1.0 };
                    // (4 p − p₋)/3, p₋ with the inertias of then.
                    w.here.load_inertia(model, before_q);
                    w.temp.clear();
                    w.temp.resize(model.layout.nv, 0.0);
                    w.here.add_mass_times(model, 1.0, before_v, &mut w.temp);
                    for (p, before) in w.momentum.iter_mut().zip(&w.temp) {
                        *p = (4.0 * *p - before) / 3.0;
                    }
                    third_further(model, before_q, &mut w.stage_q);
                    crate::mapping::carry_all(&model.mappings, &mut w.stage_q, &mut w.stage_v);
                    w.here.load_inertia(model, &w.stage_q);
                }
            }
        }
        w.here.weights(model, &mut w.weights);
        stage
    }

    /// u of the stage, by one linear solve or by Newton's method.
    fn solve_stage(
        &self,
        model: &Model,
        state: &State,
        stage: &Stage,
        w: &mut ImplicitWork,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let Stage { time, c, d, a } = *stage;
        let (alpha, beta) = (self.rayleigh_mass, self.rayleigh_stiffness);
        let factors = Factors { mass: 1.0 + c * a * alpha, damping: c * a, stiffness: c * (d + a * beta) };
        w.u.clone_from(&w.start);
        prescribed_velocities(model, time, d, &w.stage_q, &mut w.u);
        w.here.evaluate(model, time, &w.stage_q, &w.stage_v, state);
        if self.most_newton() == 1 {
            w.here.linearize_once(model);
        } else {
            w.here.linearize(model, Tangent::Exact);
        }
        report.evaluations += 1;
        // b = p_s − M û + c (f − K(d û + β ŵ) − B(ŵ − v) − α M ŵ)
        let nv = model.layout.nv;
        w.blend(a);
        w.b.clone_from(&w.momentum);
        w.here.add_mass_times(model, -1.0, &w.u, &mut w.b);
        w.here.add_mass_times(model, -c * alpha, &w.w, &mut w.b);
        w.b.iter_mut().zip(&w.here.f[..nv]).for_each(|(b, f)| *b += c * f);
        w.temp.clear();
        w.temp.extend(w.u.iter().zip(&w.w).map(|(u, w)| d * u + beta * w));
        w.take_product(model, Factors { stiffness: c, ..Factors::default() });
        w.temp.clear();
        w.temp.extend(w.w.iter().zip(&w.start).map(|(w, v)| w - v));
        w.take_product(model, Factors { damping: c, ..Factors::default() });
        model.filters.apply(0, &mut w.b[model.layout.points_v()..]);
        let scale = c * w.weighted(&w.here.f[..nv]) + w.weighted(&w.momentum);
        self.solve(model, factors, w, report)?;
        w.u.iter_mut().zip(&w.delta).for_each(|(u, delta)| *u += delta);
        report.iterations = 1;
        if self.most_newton() > 1 {
            self.newton(model, state, stage, factors, scale, w, report)?;
        }
        Ok(())
    }

    /// Goes on from the first solution until the residual is small.
    fn newton(
        &self,
        model: &Model,
        state: &State,
        stage: &Stage,
        factors: Factors,
        scale: f64,
        w: &mut ImplicitWork,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let by_energy = self.rayleigh_stiffness == 0.0
            && state.applied.is_empty()
            && model.constraints.is_empty()
            && model.forces.iter().all(|b| b.force.is_conservative());
        self.residual(model, state, stage, w, report);
        let mut left = w.weighted(&w.b);
        // Largest force of a single kind: what cancels in equilibrium still sets the scale.
        let scale = scale.max(stage.c * w.largest_force(model, state));
        loop {
            report.residual = if scale > 0.0 { left / scale } else { left };
            if report.residual <= self.tolerance {
                return Ok(());
            }
            if report.iterations >= self.most_newton() || !left.is_finite() {
                report.unfinished = true;
                return Ok(());
            }
            report.iterations += 1;
            w.here.linearize(model, Tangent::Exact);
            self.solve(model, factors, w, report)?;
            let before = left;
            left = self.search(model, state, stage, by_energy, left, w, report);
            if left >= before && left <= 1e3 * f64::EPSILON * scale.max(before) {
                // Rounding: no step goes further down.
                report.residual = left / scale;
                return Ok(());
            }
        }
    }

    /// b ← minus the residual at u, filtered; the linearisation is moved there.
    fn residual(
        &self,
        model: &Model,
        state: &State,
        stage: &Stage,
        w: &mut ImplicitWork,
        report: &mut StepReport,
    ) {
        let Stage { time, c, d, a } = *stage;
        w.fly(model, time, d);
        w.blend(a);
        // Velocities at the end of the flight, and what w is beyond u.
        for (k, v) in w.v[..model.layout.nv].iter_mut().enumerate() {
            *v += w.w[k] - w.u[k];
        }
        crate::mapping::carry_all(&model.mappings, &mut w.q, &mut w.v);
        let (q, v) = (std::mem::take(&mut w.q), std::mem::take(&mut w.v));
        w.here.evaluate(model, time, &q, &v, state);
        (w.q, w.v) = (q, v);
        report.evaluations += 1;
        if self.rayleigh_stiffness != 0.0 {
            w.here.linearize(model, Tangent::Exact);
        }
        let stage_w = std::mem::take(&mut w.w);
        w.add_damped_force(self, model, c, &stage_w);
        w.w = stage_w;
        w.b.clone_from(&w.momentum);
        w.here.add_mass_times(model, -1.0, &w.u, &mut w.b);
        w.b.iter_mut().zip(&w.product).for_each(|(b, f)| *b += f);
        model.filters.apply(0, &mut w.b[model.layout.points_v()..]);
    }

    /// Moves u along δ as far as that leads down; returns the size of the residual there.
    fn search(
        &self,
        model: &Model,
        state: &State,
        stage: &Stage,
        by_energy: bool,
        left: f64,
        w: &mut ImplicitWork,
        report: &mut StepReport,
    ) -> f64 {
        w.trial.clone_from(&w.u);
        if !by_energy {
            let step = OF_RESIDUAL.search(left, -left, 0.0, |part| {
                w.move_along(part);
                self.residual(model, state, stage, w, report);
                w.weighted(&w.b)
            });
            return step.map_or(left, |step| step.value);
        }
        let derivative = -dot(&w.b, &w.delta);
        let (start, size) = self.merit(model, state, stage, w);
        // What rounding leaves of the merit.
        let noise = 8.0 * f64::EPSILON * size;
        LineSearch::default().search(start, derivative, noise, |part| {
            w.move_along(part);
            self.merit(model, state, stage, w).0
        });
        self.residual(model, state, stage, w, report);
        w.weighted(&w.b)
    }

    /// Φ(u), and the size of its terms.
    fn merit(&self, model: &Model, state: &State, stage: &Stage, w: &mut ImplicitWork) -> (f64, f64) {
        let Stage { time, c, d, a } = *stage;
        w.fly(model, time, d);
        let W = c / d * model.potential_at(time, &w.q, &w.v, state);
        w.temp.clear();
        w.temp.resize(model.layout.nv, 0.0);
        w.here.add_mass_times(model, 0.5, &w.u, &mut w.temp);
        let kinetic = dot(&w.temp, &w.u) - dot(&w.momentum, &w.u);
        let mut drag = 0.0;
        if self.rayleigh_mass != 0.0 {
            w.blend(a);
            w.temp.fill(0.0);
            w.here.add_mass_times(model, 0.5 * c * self.rayleigh_mass / a, &w.w, &mut w.temp);
            drag = dot(&w.temp, &w.w);
        }
        (W + kinetic + drag, W.abs() + kinetic.abs() + drag.abs())
    }

    /// δ with A δ = b. What does not work with the exact tangent is tried with the projected one, then directly.
    fn solve(
        &self,
        model: &Model,
        factors: Factors,
        w: &mut ImplicitWork,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let attempts = [
            (Tangent::Exact, self.solver),
            (Tangent::Projected, self.solver),
            (Tangent::Projected, LinearSolver::Direct),
        ];
        let mut last = None;
        for (attempt, (tangent, solver)) in attempts.into_iter().enumerate() {
            if attempt > 0 {
                report.fallbacks += 1;
                w.here.linearize(model, tangent);
            }
            let done = w.solve_with(solver, model, factors)?;
            report.linear = Some(done);
            report.linear_iterations += done.iterations as u32;
            match done.stop {
                CgStop::Converged if done.positive_definite => return Ok(()),
                CgStop::MostIterations => {
                    report.unfinished = true;
                    return Ok(());
                }
                _ => last = Some(done),
            }
        }
        match last {
            Some(LinearReport { stop, iterations, residual, .. }) => {
                Err(StepError::Linear { stop, iterations, residual, time: w.here.time })
            }
            None => Ok(()),
        }
    }

    /// [`solve`](Self::solve) where nothing but stiffness holds the bodies: a stiffness that is singular gets some mass,
    /// as little as serves.
    fn solve_shifted(
        &self,
        model: &Model,
        factors: Factors,
        w: &mut ImplicitWork,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let mut done = self.solve(model, factors, w, report);
        if done.is_err() {
            // Stiffness per mass along the forces.
            w.temp.clone_from(&w.b);
            w.temp.iter_mut().zip(&w.weights).for_each(|(b, w)| *b *= w);
            w.product.resize(w.temp.len(), 0.0);
            w.here.times(model, factors, &w.temp, &mut w.product);
            let stiffness = dot(&w.temp, &w.product).abs() / dot(&w.b, &w.temp);
            let mut mass = 1e-9 * if stiffness > 0.0 { stiffness } else { 1.0 };
            while done.is_err() && mass < 1e12 * stiffness.max(1.0) {
                done = self.solve(model, Factors { mass, ..factors }, w, report);
                mass *= 100.0;
            }
        }
        done
    }

    /// The state after the stage.
    fn finish(
        &self,
        model: &Model,
        state: &State,
        next: &mut State,
        h: f64,
        stage: &Stage,
        w: &mut ImplicitWork,
    ) {
        let nv = model.layout.nv;
        next.v[..nv].copy_from_slice(&w.u);
        match self.scheme {
            Scheme::Midpoint | Scheme::Trapezoid => {
                next.q.copy_from_slice(&state.q);
                super::drift(model, &mut next.q, &mut next.v, h);
                // The second half of the impulse M (u − v), for rigid bodies in their new orientation.
                let r = 6 * model.layout.rigid;
                w.temp.clear();
                w.temp.extend(w.u.iter().zip(&w.start).map(|(u, v)| u - v));
                w.product.clear();
                w.product.resize(nv, 0.0);
                w.here.add_mass_times(model, 1.0, &w.temp, &mut w.product);
                model.rigid.solve_mass(&next.q, &mut w.product[..r]);
                for k in 0..nv {
                    next.v[k] += if k < r { w.product[k] } else { w.temp[k] };
                }
            }
            _ => {
                next.q.copy_from_slice(&w.stage_q);
                super::drift(model, &mut next.q, &mut next.v, stage.d);
            }
        }
    }
}

impl ImplicitWork {
    /// w ← a u + (1 − a) v.
    fn blend(&mut self, a: f64) {
        self.w.clear();
        self.w.extend(self.u.iter().zip(&self.start).map(|(u, v)| a * u + (1.0 - a) * v));
    }

    /// q, v ← q_s ⊕ d u at time t.
    fn fly(&mut self, model: &Model, time: f64, d: f64) {
        self.q.clone_from(&self.stage_q);
        self.v.clone_from(&self.stage_v);
        self.v[..model.layout.nv].copy_from_slice(&self.u);
        super::drift(model, &mut self.q, &mut self.v, d);
        model.settle_at(time, &mut self.q, &mut self.v);
    }

    /// b −= (b B + k K) temp.
    fn take_product(&mut self, model: &Model, factors: Factors) {
        self.product.clear();
        self.product.resize(self.temp.len(), 0.0);
        self.here.times(model, factors, &self.temp, &mut self.product);
        self.b.iter_mut().zip(&self.product).for_each(|(b, p)| *b -= p);
    }

    /// product ← c (f − α M y − β K y) with the forces evaluated last.
    fn add_damped_force(&mut self, settings: &Implicit, model: &Model, c: f64, y: &[f64]) {
        let nv = model.layout.nv;
        self.product.clear();
        self.product.resize(nv, 0.0);
        let (alpha, beta) = (settings.rayleigh_mass, settings.rayleigh_stiffness);
        if alpha != 0.0 || beta != 0.0 {
            let factors = Factors { mass: -c * alpha, stiffness: -c * beta, ..Factors::default() };
            self.here.times(model, factors, y, &mut self.product);
        }
        self.product.iter_mut().zip(&self.here.f[..nv]).for_each(|(p, f)| *p += c * f);
    }

    /// u ← `trial` + part · δ.
    fn move_along(&mut self, part: f64) {
        for ((u, from), delta) in self.u.iter_mut().zip(&self.trial).zip(&self.delta) {
            *u = from + part * delta;
        }
    }

    /// √(yᵀ diag(M)⁻¹ y).
    fn weighted(&self, y: &[f64]) -> f64 {
        y.iter().zip(&self.weights).map(|(y, w)| w * y * y).sum::<f64>().sqrt()
    }

    /// δ by one solver.
    fn solve_with(
        &mut self,
        solver: LinearSolver,
        model: &Model,
        factors: Factors,
    ) -> Result<LinearReport, LinearError> {
        self.delta.clear();
        self.delta.resize(model.layout.nv, 0.0);
        let pv = model.layout.points_v();
        // Products and blocks come from the same place, one after the other.
        let here = RefCell::new(&mut self.here);
        let mut apply = |y: &[f64], out: &mut [f64]| {
            here.borrow_mut().times(model, factors, y, out);
            model.filters.apply(0, &mut out[pv..]);
        };
        let mut assemble = |out: &mut Blocks| here.borrow_mut().blocks_into(model, factors, out);
        let mut system = System {
            apply: &mut apply,
            assemble: Some(&mut assemble),
            positions: Some(&model.start_places),
            weights: Some(&self.weights),
        };
        self.linear.solver = solver;
        self.linear.solve(&mut system, &self.b, &mut self.delta)
    }
}

/// u of prescribed points ← the velocity that brings them from q to their prescribed place at time t, d seconds on.
fn prescribed_velocities(model: &Model, time: f64, d: f64, q: &[f64], u: &mut [f64]) {
    let (x, u) = (&q[model.layout.points_q()..], &mut u[model.layout.points_v()..]);
    for (point, place) in model.filters.prescribed_places(time) {
        set_triple(u, point, &((place - triple(x, point)) / d));
    }
}

/// q ← q ⊕ (q − q₋)/3.
fn third_further(model: &Model, before: &[f64], q: &mut [f64]) {
    let n = model.layout.rigid;
    for k in 0..n {
        let x = Rigid::position(q, k);
        let turn = rotation::log(&(Rigid::rotation(q, k) * Rigid::rotation(before, k).inverse()));
        let shift = (x - Rigid::position(before, k)) / 3.0;
        let mut u = [0.0; 6];
        u[..3].copy_from_slice(shift.as_slice());
        u[3..].copy_from_slice((turn / 3.0).as_slice());
        Rigid::advance(&mut q[7 * k..7 * k + 7], &u);
    }
    for k in 7 * n..model.layout.nq {
        q[k] += (q[k] - before[k]) / 3.0;
    }
}
