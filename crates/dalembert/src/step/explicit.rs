//! Method `explicit`: $M\dot v = f(t, x, v)$, $\dot x = v$ by an explicit integrator.
//!
//! Evaluation of the rates, in order: prescribed points take their places, points are carried, forces are summed and
//! gathered, $a = C M^{-1} f$. Coordinates with prescribed motion are functions of time, not states: their rates are
//! zero and they are set at every stage. Joints run as spring-dampers, $\lambda = -k_p C - k_d\dot C$, $F = A^T\lambda$.
//!
//! Symplectic Euler, the default, fuses local forces, mass, filter, kick $v' = v + h a$ and drift $x' = x + h v'$
//! into one pass over windows of points that stay in cache; windows run in parallel. It writes new buffers and swaps
//! them in at the end, so a failed step changes nothing.

use rayon::prelude::*;

use super::integrator::Integrator;
use super::phase::{self, Scheme};
use super::system::System;
use super::{StepError, StepReport, Workspace};
use crate::forces::Points;
use crate::joints::Ask;
use crate::mapping::gather_all;
use crate::math::all_finite;
use crate::model::{Model, start_forces};
use crate::robot::RobotScheme;
use crate::state::State;

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
        let robots = work.robots.advance(self.robot_scheme(), model, state, h)?;
        let mut report = match self.integrator {
            Integrator::SymplecticEuler if model.only_particles() => symplectic_euler(model, state, h, work),
            Integrator::SymplecticEuler => kick_drift(model, state, h, work, false),
            Integrator::Verlet => kick_drift(model, state, h, work, true),
            _ => runge_kutta(self, model, state, h, work),
        }?;
        work.robots.store(robots, model, state, &mut report);
        Ok(report)
    }

    /// The scheme of robots; none if they have none like the integrator.
    pub(super) fn robot_scheme(&self) -> Option<RobotScheme> {
        match self.integrator {
            Integrator::SymplecticEuler => Some(RobotScheme::SemiImplicit),
            other => other.robot_scheme(),
        }
    }
}

/// f += the forces of joints that run as spring-dampers.
fn add_joint_forces(
    model: &Model,
    s: &mut System,
    t: f64,
    q: &[f64],
    v: &[f64],
    memory: &State,
    f: &mut [f64],
) {
    if model.constraints.is_empty() {
        return;
    }
    s.load_bodies(model, q, v);
    s.evaluate(model, t, &memory.turns, &memory.broken, Ask::Jacobian);
    s.add_explicit_forces(model, &memory.broken, f);
}

/// Runge–Kutta and adaptive integrators, on phase space.
fn runge_kutta(
    settings: &Explicit,
    model: &Model,
    state: &mut State,
    h: f64,
    work: &mut Workspace,
) -> Result<StepReport, StepError> {
    let scheme = Scheme {
        integrator: settings.integrator,
        tolerance: settings.tolerance,
        min_step: settings.min_step,
        method: "explicit",
    };
    let mut system = std::mem::take(&mut work.lagrange);
    let mut before = std::mem::take(&mut work.next);
    if !model.constraints.is_empty() {
        before.copy_from(state);
        system.prepare(model);
    }
    let done = phase::integrate(&scheme, model, state, h, work, |t, q, v, f| {
        add_joint_forces(model, &mut system, t, q, v, &before, f);
    });
    work.lagrange = system;
    work.next = before;
    if done.is_ok() {
        model.update_turns(&state.q, &state.v, &mut state.turns);
    }
    done
}

/// Symplectic Euler (kick, drift) or Verlet (half kick, drift, half kick) for bodies of every kind.
fn kick_drift(
    model: &Model,
    state: &mut State,
    h: f64,
    work: &mut Workspace,
    verlet: bool,
) -> Result<StepReport, StepError> {
    let Workspace { next, f, v: half, lagrange: system, .. } = work;
    next.copy_from(state);
    if !model.constraints.is_empty() {
        system.prepare(model);
    }
    f.resize(model.layout.len_v(), 0.0);
    let mut accelerations = |next: &State, t: f64, f: &mut [f64]| {
        model.forces_into(t, &next.q, &next.v, &next.applied, f);
        add_joint_forces(model, system, t, &next.q, &next.v, state, f);
        model.accelerations_from(&next.q, &next.v, f);
    };
    let end = state.time_after(h);
    accelerations(next, state.time, f);
    if verlet {
        super::kick(model, &mut next.v, f, 0.5 * h);
        super::drift(model, &mut next.q, &mut next.v, h);
        model.settle_at(end, &mut next.q, &mut next.v);
        // Forces that depend on the velocity see v + h a, which is off by O(h²) only, so the order stays 2.
        half.clone_from(&next.v);
        super::kick(model, &mut next.v, f, 0.5 * h);
        model.settle_at(end, &mut next.q, &mut next.v);
        accelerations(next, end, f);
        next.v.copy_from_slice(half);
        super::kick(model, &mut next.v, f, 0.5 * h);
    } else {
        super::kick(model, &mut next.v, f, h);
        super::drift(model, &mut next.q, &mut next.v, h);
    }
    model.settle_at(end, &mut next.q, &mut next.v);
    if !all_finite(&next.q) || !all_finite(&next.v) {
        let name = if verlet { "explicit, verlet" } else { "explicit, symplectic_euler" };
        return Err(phase::not_finite(model, state, h, &next.q, &next.v, name));
    }
    next.advance_time(h);
    model.update_turns(&next.q, &next.v, &mut next.turns);
    std::mem::swap(state, next);
    Ok(fixed(state, h, if verlet { 2 } else { 1 }))
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
    work.q.clone_from(&state.q);
    work.v.clone_from(&state.v);

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
        return Err(phase::not_finite(model, state, h, &work.q, &work.v, "explicit, symplectic_euler"));
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
    if !model.forces.iter().any(|b| ours(b.force.is_local())) && state.applied.is_empty() {
        return false;
    }
    f.resize(state.v.len(), 0.0);
    start_forces(&state.applied, f);
    let points = model.points(state.time, &state.q, &state.v);
    for batch in model.forces.iter().filter(|b| ours(b.force.is_local())) {
        batch.force.add_force(&points, &mut f[model.layout.points_v()..model.layout.robots_v()]);
    }
    gather_all(&model.mappings, &state.q, f);
    true
}

fn fixed(state: &State, h: f64, evaluations: u32) -> StepReport {
    StepReport { time: state.time, substeps: 1, evaluations, last_substep: h, ..StepReport::default() }
}
