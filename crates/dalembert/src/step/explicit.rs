//! Method `explicit`: $M\dot v = f(t, x, v)$, $\dot x = v$ by an explicit integrator.
//!
//! Evaluation of the rates, in order: prescribed points take their places, points are carried, forces are summed and
//! gathered, $a = C M^{-1} f$. Coordinates with prescribed motion are functions of time, not states: their rates are
//! zero and they are set at every stage.
//!
//! Symplectic Euler, the default, fuses local forces, mass, filter, kick $v' = v + h a$ and drift $x' = x + h v'$
//! into one pass over windows of points that stay in cache; windows run in parallel. It writes new buffers and swaps
//! them in at the end, so a failed step changes nothing.

use rayon::prelude::*;

use super::{StepError, StepReport, Workspace};
use crate::forces::Points;
use crate::mapping::{carry_all, gather_all};
use crate::math::all_finite;
use crate::model::{Model, State};
use crate::solve::ode::{self, AdaptiveMethod, AdaptiveOptions, Flat};

/// The explicit integrators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrator {
    /// Explicit Euler, order 1.
    Euler,
    /// Kick, then drift: order 1, symplectic.
    SymplecticEuler,
    /// Midpoint rule, order 2.
    Midpoint,
    /// Velocity Verlet (leapfrog), order 2, symplectic.
    Verlet,
    /// Classical Runge–Kutta, order 4.
    Rk4,
    /// Euler with step doubling, adaptive.
    EulerDoubling,
    /// Dormand–Prince 5(4), adaptive.
    DormandPrince,
}

impl Integrator {
    /// All integrators with their names in scene files.
    pub const ALL: &'static [(&'static str, Integrator)] = &[
        ("euler", Integrator::Euler),
        ("symplectic_euler", Integrator::SymplecticEuler),
        ("midpoint", Integrator::Midpoint),
        ("verlet", Integrator::Verlet),
        ("rk4", Integrator::Rk4),
        ("euler_doubling", Integrator::EulerDoubling),
        ("dormand_prince", Integrator::DormandPrince),
    ];

    /// Name in scene files.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, i)| *i == self).map_or("?", |(n, _)| n)
    }

    /// The integrator with the given name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, i)| *i)
    }

    /// True if it chooses its own inner steps.
    pub fn is_adaptive(self) -> bool {
        matches!(self, Integrator::EulerDoubling | Integrator::DormandPrince)
    }
}

/// Settings of the method `explicit`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Explicit {
    /// The integrator.
    pub integrator: Integrator,
    /// Error allowed per inner step of an adaptive integrator, absolute and relative alike.
    pub tolerance: f64,
    /// Smallest inner step of an adaptive integrator \[s\].
    pub min_step: f64,
}

impl Default for Explicit {
    fn default() -> Self {
        Self { integrator: Integrator::SymplecticEuler, tolerance: 1e-6, min_step: 1e-12 }
    }
}

/// Points per window of the fused pass: its results fit in the first-level cache.
const WINDOW: usize = 512;
/// Points of a window that are worked on at a time: few enough for the memory to fetch the next ones meanwhile.
const STRIP: usize = 32;
/// Fewer points than this stay on one thread.
const PARALLEL_POINTS: usize = 16_384;

impl Explicit {
    pub(super) fn step(
        &self,
        model: &Model,
        state: &mut State,
        h: f64,
        work: &mut Workspace,
    ) -> Result<StepReport, StepError> {
        match self.integrator {
            Integrator::SymplecticEuler => symplectic_euler(model, state, h, work),
            Integrator::Verlet => verlet(model, state, h, work),
            Integrator::Euler => runge_kutta(&ode::EULER, model, state, h, work),
            Integrator::Midpoint => runge_kutta(&ode::MIDPOINT, model, state, h, work),
            Integrator::Rk4 => runge_kutta(&ode::RK4, model, state, h, work),
            Integrator::EulerDoubling | Integrator::DormandPrince => self.adaptive(model, state, h, work),
        }
    }

    fn adaptive(
        &self,
        model: &Model,
        state: &mut State,
        h: f64,
        work: &mut Workspace,
    ) -> Result<StepReport, StepError> {
        load(model, state, work);
        let Workspace { y, ode, .. } = work;
        let (t, end) = (state.time, state.time_after(h));
        let scheme = match self.integrator {
            Integrator::EulerDoubling => AdaptiveMethod::EulerDoubling,
            _ => AdaptiveMethod::DormandPrince,
        };
        let options =
            AdaptiveOptions { min_step: self.min_step, ..AdaptiveOptions::new(scheme, self.tolerance) };
        let mut controller = state.controller;
        let mut rate = |t: f64, y: &mut [f64], dy: &mut [f64]| rates(model, t, y, dy);
        let report = ode::integrate_adaptive(
            &options,
            &mut rate,
            &mut ode::flat_magnitude,
            &Flat,
            t,
            end,
            y,
            &mut controller,
            ode,
        )
        .map_err(|e| adaptive_error(e, model, state, h, ode, self.integrator))?;
        commit(model, state, h, work, self.integrator)?;
        state.controller = controller;
        Ok(StepReport {
            time: state.time,
            substeps: report.accepted as u32,
            rejected: report.rejected as u32,
            evaluations: report.evaluations as u32,
            last_substep: report.last_step,
        })
    }
}

/// a ← C M⁻¹ f(t, q, v) on all points, after prescribed points and carried points took their places in q and v.
fn accelerations(model: &Model, t: f64, q: &mut [f64], v: &mut [f64], a: &mut [f64]) {
    let (pq, pv) = (model.layout.points_q(), model.layout.points_v());
    model.filters.prescribe_at(t, &mut q[pq..], &mut v[pv..]);
    carry_all(&model.mappings, q, v);
    model.forces_into(t, q, v, a);
    model.particles.solve_mass(0, &mut a[pv..]);
    model.filters.apply(0, &mut a[pv..]);
}

/// dy ← (v, a) for y = (q, v), both with their carried points.
fn rates(model: &Model, t: f64, y: &mut [f64], dy: &mut [f64]) {
    let (q, v) = y.split_at_mut(model.layout.len_q());
    let (dq, dv) = dy.split_at_mut(model.layout.len_v());
    accelerations(model, t, q, v, dv);
    dq.copy_from_slice(v);
    let carried = 3 * model.layout.particles;
    let points = &mut dq[model.layout.points_v()..];
    model.filters.clear_prescribed(points);
    points[carried..].fill(0.0);
}

/// y ← (q, v).
fn load(model: &Model, state: &State, work: &mut Workspace) {
    let n = model.layout.len_q() + model.layout.len_v();
    work.y.resize(n, 0.0);
    work.y[..model.layout.len_q()].copy_from_slice(&state.q);
    work.y[model.layout.len_q()..].copy_from_slice(&state.v);
    work.ode.resize(n, 2 * model.layout.len_v());
}

/// (q, v) ← y, if it is finite.
fn commit(
    model: &Model,
    state: &mut State,
    h: f64,
    work: &mut Workspace,
    integrator: Integrator,
) -> Result<(), StepError> {
    let (q, v) = work.y.split_at_mut(model.layout.len_q());
    model.settle_at(state.time_after(h), q, v);
    if !all_finite(q) || !all_finite(v) {
        return Err(not_finite(model, state, h, q, v, integrator));
    }
    state.q.copy_from_slice(q);
    state.v.copy_from_slice(v);
    state.advance_time(h);
    Ok(())
}

/// Tells who overflowed, if that is why the adaptive integrator gave up.
fn adaptive_error(
    error: ode::OdeError,
    model: &Model,
    state: &State,
    h: f64,
    ode: &ode::OdeWork,
    integrator: Integrator,
) -> StepError {
    let ode::OdeError::NonFinite { .. } = error else { return error.into() };
    let mut out = not_finite(model, state, h, &state.q, &state.v, integrator);
    if let (StepError::NonFinite { object, index, .. }, Some(i)) = (&mut out, ode.culprit())
        && all_finite(&state.q)
        && all_finite(&state.v)
    {
        // The tangent of y = (q, v) is (q̇, v̇): two vectors that are laid out like v.
        (*object, *index) = model.owner(i % model.layout.len_v());
    }
    out
}

fn not_finite(
    model: &Model,
    state: &State,
    h: f64,
    q: &[f64],
    v: &[f64],
    integrator: Integrator,
) -> StepError {
    let (object, index) = model.culprit(q, v);
    let method = format!("explicit, {}", integrator.name());
    StepError::NonFinite { object, index, time: state.time, h, method }
}

fn runge_kutta(
    tableau: &ode::Tableau,
    model: &Model,
    state: &mut State,
    h: f64,
    work: &mut Workspace,
) -> Result<StepReport, StepError> {
    load(model, state, work);
    let Workspace { y, ode, .. } = work;
    let mut rate = |t: f64, y: &mut [f64], dy: &mut [f64]| rates(model, t, y, dy);
    ode::runge_kutta_step(tableau, &mut rate, &Flat, state.time, h, y, ode);
    let integrator = match tableau.order {
        1 => Integrator::Euler,
        2 => Integrator::Midpoint,
        _ => Integrator::Rk4,
    };
    commit(model, state, h, work, integrator)?;
    Ok(fixed(state, h, tableau.b.len() as u32))
}

fn verlet(model: &Model, state: &mut State, h: f64, work: &mut Workspace) -> Result<StepReport, StepError> {
    work.q.clone_from(&state.q);
    work.v.clone_from(&state.v);
    let Workspace { q, v, ode, .. } = work;
    let carried = 3 * model.layout.particles;
    let mut accel = |t: f64, q: &mut [f64], v: &mut [f64], a: &mut [f64]| {
        accelerations(model, t, q, v, a);
        a[model.layout.points_v() + carried..].fill(0.0);
    };
    ode::verlet_step(&mut accel, &Flat, state.time, h, q, v, ode);
    swap_in(model, state, h, work, Integrator::Verlet)?;
    Ok(fixed(state, h, 2))
}

/// One pass over windows of points: f, then a = C M⁻¹ f, then v' = v + h a, then x' = x + h v'.
fn symplectic_euler(
    model: &Model,
    state: &mut State,
    h: f64,
    work: &mut Workspace,
) -> Result<StepReport, StepError> {
    let particles = model.layout.particles;
    let (pq, pv) = (model.layout.points_q(), model.layout.points_v());
    let fused = model.layout.points == particles;
    let has_shared = shared_forces(model, state, fused, &mut work.f);
    work.q.resize(state.q.len(), 0.0);
    work.v.resize(state.v.len(), 0.0);

    let shared = has_shared.then_some(&work.f[pv..]);
    let (x, v) = (&state.q[pq..], &state.v[pv..]);
    // f, a = C M⁻¹ f, v' = v + h a and x' = x + h v' for the points from `first` on.
    let strip = |first: usize, x_new: &mut [f64], v_new: &mut [f64]| {
        let part = 3 * first..3 * first + x_new.len();
        let points = Points {
            time: state.time,
            first,
            x: &x[part.clone()],
            v: &v[part.clone()],
            mass: &model.particles.mass[first..first + x_new.len() / 3],
        };
        // `v_new` holds forces, then accelerations, then velocities.
        match shared {
            Some(f) => v_new.copy_from_slice(&f[part]),
            None => v_new.fill(0.0),
        }
        if fused {
            for batch in model.forces.iter().filter(|b| b.force.is_local()) {
                batch.force.add_force(&points, v_new);
            }
        }
        model.particles.solve_mass(first, v_new);
        model.filters.apply(first, v_new);
        for ((x_new, v_new), (x, v)) in x_new.iter_mut().zip(v_new).zip(points.x.iter().zip(points.v)) {
            *v_new = v + h * *v_new;
            *x_new = x + h * *v_new;
        }
    };
    let window = |k: usize, x_new: &mut [f64], v_new: &mut [f64]| {
        // Strips are so short that the next one is on its way from memory while one is worked on. Results stay in
        // first-level cache until the window is whole: a block copy need not fetch the lines that it overwrites.
        let (mut x_next, mut v_next) = ([0.0; 3 * WINDOW], [0.0; 3 * WINDOW]);
        let (x_next, v_next) = (&mut x_next[..x_new.len()], &mut v_next[..x_new.len()]);
        for (s, (x, v)) in x_next.chunks_mut(3 * STRIP).zip(v_next.chunks_mut(3 * STRIP)).enumerate() {
            strip(k * WINDOW + s * STRIP, x, v);
        }
        x_new.copy_from_slice(x_next);
        v_new.copy_from_slice(v_next);
        all_finite(x_next)
    };
    let (x_new, v_new) = (&mut work.q[pq..pq + 3 * particles], &mut work.v[pv..pv + 3 * particles]);
    let finite = if particles >= PARALLEL_POINTS {
        x_new
            .par_chunks_mut(3 * WINDOW)
            .zip(v_new.par_chunks_mut(3 * WINDOW))
            .enumerate()
            .with_min_len(16)
            .map(|(k, (x, v))| window(k, x, v))
            .reduce(|| true, |a, b| a && b)
    } else {
        let pairs = x_new.chunks_mut(3 * WINDOW).zip(v_new.chunks_mut(3 * WINDOW));
        pairs.enumerate().fold(true, |ok, (k, (x, v))| window(k, x, v) && ok)
    };
    model.settle_at(state.time_after(h), &mut work.q, &mut work.v);
    if !finite || !model.filters.prescribed_finite(state.time_after(h)) {
        return Err(not_finite(model, state, h, &work.q, &work.v, Integrator::SymplecticEuler));
    }
    std::mem::swap(&mut state.q, &mut work.q);
    std::mem::swap(&mut state.v, &mut work.v);
    state.advance_time(h);
    Ok(fixed(state, h, 1))
}

/// f ← the forces that the fused pass cannot compute for itself: those between points, and all of them if there are
/// carried points. False if there are none, and then f is not touched.
fn shared_forces(model: &Model, state: &State, fused: bool, f: &mut Vec<f64>) -> bool {
    let ours = |local: bool| !(fused && local);
    if !model.forces.iter().any(|b| ours(b.force.is_local())) {
        return false;
    }
    f.resize(state.v.len(), 0.0);
    f.fill(0.0);
    let points = model.points(state.time, &state.q, &state.v);
    for batch in model.forces.iter().filter(|b| ours(b.force.is_local())) {
        batch.force.add_force(&points, &mut f[model.layout.points_v()..]);
    }
    gather_all(&model.mappings, &state.q, f);
    true
}

/// Swaps the next coordinates and velocities in, if they are finite.
fn swap_in(
    model: &Model,
    state: &mut State,
    h: f64,
    work: &mut Workspace,
    integrator: Integrator,
) -> Result<(), StepError> {
    model.settle_at(state.time_after(h), &mut work.q, &mut work.v);
    if !all_finite(&work.q) || !all_finite(&work.v) {
        return Err(not_finite(model, state, h, &work.q, &work.v, integrator));
    }
    std::mem::swap(&mut state.q, &mut work.q);
    std::mem::swap(&mut state.v, &mut work.v);
    state.advance_time(h);
    Ok(())
}

fn fixed(state: &State, h: f64, evaluations: u32) -> StepReport {
    StepReport { time: state.time, substeps: 1, rejected: 0, evaluations, last_substep: h }
}
