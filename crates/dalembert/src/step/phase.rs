//! Phase space of a whole model, for integrators of first-order systems.
//!
//! $y = (q, p)$: coordinates, then for each of them what changes under forces. A particle has $p = v$, a rigid body
//! $(v, L)$ with L its angular momentum in world axes, a generalized body $\dot u$. In these variables
//!
//! $$ \frac{d}{dt}(x, R, v, L) = (v,\ \omega^* R,\ F/m,\ \tau),\qquad \omega = R I_B^{-1} R^T L, $$
//!
//! so the gyroscopic torque needs no term of its own and the spin's momentum is kept exactly without torque.
//! Rotations live on the group: an increment u turns R into exp(u) R, and stage rates are pulled back by dexp⁻¹.

use super::integrator::Integrator;
use super::{StepError, StepReport, Workspace};
use crate::bodies::Rigid;
use crate::mapping::carry_all;
use crate::math::{all_finite, rotation, set_triple, triple};
use crate::model::Model;
use crate::solve::ode::{self, AdaptiveMethod, AdaptiveOptions, Manifold, OdeError};
use crate::state::State;

/// The space of y = (q, p) of a model.
struct PhaseSpace<'a> {
    model: &'a Model,
}

impl Manifold for PhaseSpace<'_> {
    fn advance(&self, y: &mut [f64], u: &[f64]) {
        let layout = &self.model.layout;
        let (q, p) = y.split_at_mut(layout.robots_q());
        let (dq, dp) = u.split_at(layout.robots_v());
        let n = layout.rigid;
        Rigid::advance(&mut q[..7 * n], &dq[..6 * n]);
        for (q, u) in q[7 * n..].iter_mut().zip(&dq[6 * n..]) {
            *q += u;
        }
        for (p, u) in p.iter_mut().zip(dp) {
            *p += u;
        }
    }

    fn pull_back(&self, u: &[f64], k: &mut [f64]) {
        for body in 0..self.model.layout.rigid {
            let turn = rotation::dexp_inverse(&triple(u, 2 * body + 1), &triple(k, 2 * body + 1));
            set_triple(k, 2 * body + 1, &turn);
        }
    }
}

/// y ← (q, p).
fn load(model: &Model, state: &State, work: &mut Workspace) {
    let n = model.layout.robots_q() + model.layout.robots_v();
    work.y.resize(n, 0.0);
    work.v.resize(model.layout.robots_v(), 0.0);
    work.f.resize(model.layout.robots_v(), 0.0);
    let (q, p) = work.y.split_at_mut(model.layout.robots_q());
    q.copy_from_slice(&state.q[..model.layout.robots_q()]);
    p.copy_from_slice(&state.v[..model.layout.robots_v()]);
    for k in 0..model.layout.rigid {
        let L = model.rigid.world_inertia(q, k) * triple(p, 2 * k + 1);
        set_triple(p, 2 * k + 1, &L);
    }
    work.ode.resize(n, 2 * model.layout.robots_v());
}

/// v ← velocities from p: ω = I⁻¹ L for rigid bodies, the same numbers for all else.
fn velocities(model: &Model, q: &[f64], p: &[f64], v: &mut [f64]) {
    v.copy_from_slice(p);
    for k in 0..model.layout.rigid {
        let w = model.rigid.world_inv_inertia(q, k) * triple(p, 2 * k + 1);
        set_triple(v, 2 * k + 1, &w);
    }
}

/// (q, v) ← y, if it is finite.
fn commit(
    model: &Model,
    state: &mut State,
    h: f64,
    work: &mut Workspace,
    method: &str,
) -> Result<(), StepError> {
    let (q, p) = work.y.split_at_mut(model.layout.robots_q());
    velocities(model, q, p, &mut work.v);
    model.settle_at(state.time_after(h), q, &mut work.v);
    if !all_finite(q) || !all_finite(&work.v) {
        return Err(not_finite(model, state, h, q, &work.v, method));
    }
    state.q[..q.len()].copy_from_slice(q);
    state.v[..work.v.len()].copy_from_slice(&work.v);
    state.advance_time(h);
    Ok(())
}

/// The error of a step that led from `state` to q and v.
pub(super) fn not_finite(
    model: &Model,
    state: &State,
    h: f64,
    q: &[f64],
    v: &[f64],
    method: &str,
) -> StepError {
    let (object, index) = model.culprit(q, v);
    StepError::NonFinite { object, index, time: state.time, h, method: method.into() }
}

/// Tells who overflowed, if that is why the adaptive integrator gave up.
fn adaptive_error(
    error: OdeError,
    model: &Model,
    state: &State,
    h: f64,
    ode: &ode::OdeWork,
    method: &str,
) -> StepError {
    let OdeError::NonFinite { .. } = error else { return error.into() };
    let mut out = not_finite(model, state, h, &state.q, &state.v, method);
    if let (StepError::NonFinite { object, index, .. }, Some(i)) = (&mut out, ode.culprit())
        && all_finite(&state.q)
        && all_finite(&state.v)
    {
        // The tangent of y = (q, p) is (q̇, ṗ): two vectors that are laid out like v.
        (*object, *index) = model.owner(i % model.layout.robots_v());
    }
    out
}

/// How an integrator runs: fixed by a tableau, or adaptive.
pub(super) struct Scheme {
    pub(super) integrator: Integrator,
    pub(super) tolerance: f64,
    pub(super) min_step: f64,
    /// Name of the method, for messages.
    pub(super) method: &'static str,
}

/// Integrates y over h seconds. `hold` adds the forces of constraints to f, given q and v.
pub(super) fn integrate(
    scheme: &Scheme,
    model: &Model,
    state: &mut State,
    h: f64,
    work: &mut Workspace,
    mut hold: impl FnMut(f64, &[f64], &[f64], &mut [f64]),
) -> Result<StepReport, StepError> {
    load(model, state, work);
    let Workspace { y, v, f, ode, .. } = work;
    let (t, end) = (state.time, state.time_after(h));
    let space = PhaseSpace { model };
    let mut rate =
        |t: f64, y: &mut [f64], dy: &mut [f64]| rates(model, t, y, dy, v, f, &state.applied, &mut hold);
    let mut controller = state.controller;
    let mut report = StepReport { substeps: 1, last_substep: h, ..StepReport::default() };
    let adaptive = match scheme.integrator {
        Integrator::EulerDoubling => Some(AdaptiveMethod::EulerDoubling),
        Integrator::DormandPrince => Some(AdaptiveMethod::DormandPrince),
        _ => None,
    };
    let name = || format!("{}, {}", scheme.method, scheme.integrator.name());
    if let Some(adaptive) = adaptive {
        let options =
            AdaptiveOptions { min_step: scheme.min_step, ..AdaptiveOptions::new(adaptive, scheme.tolerance) };
        let mut size = |y: &[f64], m: &mut [f64]| magnitudes(model, y, m);
        let r =
            ode::integrate_adaptive(&options, &mut rate, &mut size, &space, t, end, y, &mut controller, ode)
                .map_err(|e| adaptive_error(e, model, state, h, ode, &name()))?;
        report.substeps = r.accepted as u32;
        report.rejected = r.rejected as u32;
        report.evaluations = r.evaluations as u32;
        report.last_substep = r.last_step;
    } else {
        let tableau = match scheme.integrator {
            Integrator::Euler => &ode::EULER,
            Integrator::Midpoint => &ode::MIDPOINT,
            _ => &ode::RK4,
        };
        ode::runge_kutta_step(tableau, &mut rate, &space, t, h, y, ode);
        report.evaluations = tableau.b.len() as u32;
    }
    // The name is made only for a message: a warm step takes no memory.
    if let Err(e) = commit(model, state, h, work, "") {
        return Err(match e {
            StepError::NonFinite { object, index, time, h, .. } => {
                StepError::NonFinite { object, index, time, h, method: name() }
            }
            other => other,
        });
    }
    state.controller = controller;
    report.time = state.time;
    Ok(report)
}

/// Sizes that relative tolerances refer to: |y| for numbers in flat spaces, 1 for a turn.
fn magnitudes(model: &Model, y: &[f64], m: &mut [f64]) {
    let layout = &model.layout;
    let (q, p) = y.split_at(layout.robots_q());
    let (mq, mp) = m.split_at_mut(layout.robots_v());
    for k in 0..layout.rigid {
        for d in 0..3 {
            mq[6 * k + d] = q[7 * k + d].abs();
            mq[6 * k + 3 + d] = 1.0;
        }
    }
    let n = layout.rigid;
    for (m, q) in mq[6 * n..].iter_mut().zip(&q[7 * n..]) {
        *m = q.abs();
    }
    for (m, p) in mp.iter_mut().zip(p) {
        *m = p.abs();
    }
}

/// dy ← rates at (t, y).
fn rates(
    model: &Model,
    t: f64,
    y: &mut [f64],
    dy: &mut [f64],
    v: &mut [f64],
    f: &mut [f64],
    applied: &[f64],
    hold: &mut impl FnMut(f64, &[f64], &[f64], &mut [f64]),
) {
    let layout = &model.layout;
    let (pq, pv) = (layout.points_q(), layout.points_v());
    let (q, p) = y.split_at_mut(layout.robots_q());
    let (dq, dp) = dy.split_at_mut(layout.robots_v());
    velocities(model, q, p, v);
    model.filters.prescribe_at(t, &mut q[pq..], &mut v[pv..]);
    carry_all(&model.mappings, q, v);
    model.forces_into(t, q, v, applied, f);
    hold(t, q, v, f);

    dq.copy_from_slice(v);
    dp.copy_from_slice(f);
    for k in 0..layout.rigid {
        let a = triple(f, 2 * k) * model.rigid.inv_mass[k];
        set_triple(dp, 2 * k, &a);
    }
    for body in &model.generalized {
        body.accelerations(&model.particles.mass, q, v, f, dp);
    }
    model.particles.solve_mass(0, &mut dp[pv..]);
    model.filters.apply(0, &mut dp[pv..]);
    // Carried and prescribed points are functions of something else, not states.
    let carried = pv + 3 * layout.particles;
    dq[carried..].fill(0.0);
    dp[carried..].fill(0.0);
    model.filters.clear_prescribed(&mut dq[pv..]);
}
