//! Phase space of a whole model, for integrators of first-order systems.
//!
//! $y = (q, p)$: coordinates, then for each of them what changes under forces. A particle has $p = v$, a rigid body
//! $(v, L)$ with L its angular momentum in world axes, a generalized body $\dot u$. In these variables
//!
//! $$ \frac{d}{dt}(x, R, v, L) = (v,\ \omega^* R,\ F/m,\ \tau),\qquad \omega = R I_B^{-1} R^T L, $$
//!
//! so the gyroscopic torque needs no term of its own and the spin's momentum is kept exactly without torque.
//! Rotations live on the group: an increment u turns R into exp(u) R, and stage rates are pulled back by dexp⁻¹.

use super::{StepError, Workspace};
use crate::bodies::Rigid;
use crate::mapping::carry_all;
use crate::math::{all_finite, rotation, set_triple, triple};
use crate::model::{Model, State};
use crate::solve::ode::Manifold;

/// The space of y = (q, p) of a model.
pub(super) struct PhaseSpace<'a> {
    pub(super) model: &'a Model,
}

impl Manifold for PhaseSpace<'_> {
    fn advance(&self, y: &mut [f64], u: &[f64]) {
        let layout = &self.model.layout;
        let (q, p) = y.split_at_mut(layout.len_q());
        let (dq, dp) = u.split_at(layout.len_v());
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
pub(super) fn load(model: &Model, state: &State, work: &mut Workspace) {
    let n = model.layout.len_q() + model.layout.len_v();
    work.y.resize(n, 0.0);
    work.v.resize(model.layout.len_v(), 0.0);
    work.f.resize(model.layout.len_v(), 0.0);
    let (q, p) = work.y.split_at_mut(model.layout.len_q());
    q.copy_from_slice(&state.q);
    p.copy_from_slice(&state.v);
    for k in 0..model.layout.rigid {
        let L = model.rigid.world_inertia(q, k) * triple(p, 2 * k + 1);
        set_triple(p, 2 * k + 1, &L);
    }
    work.ode.resize(n, 2 * model.layout.len_v());
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
pub(super) fn commit(
    model: &Model,
    state: &mut State,
    h: f64,
    work: &mut Workspace,
    method: impl Fn() -> String,
) -> Result<(), StepError> {
    let (q, p) = work.y.split_at(model.layout.len_q());
    if !all_finite(&work.y) {
        let (object, index) = model.culprit(q, p);
        return Err(StepError::NonFinite { object, index, time: state.time, h, method: method() });
    }
    state.q.copy_from_slice(q);
    velocities(model, q, p, &mut state.v);
    state.advance_time(h);
    model.settle(state);
    Ok(())
}

/// dy ← rates at (t, y). `hold` adds the forces of constraints to f, given q and v.
pub(super) fn rates(
    model: &Model,
    t: f64,
    y: &mut [f64],
    dy: &mut [f64],
    v: &mut [f64],
    f: &mut [f64],
    hold: &mut impl FnMut(&Model, f64, &[f64], &[f64], &mut [f64]),
) {
    let layout = &model.layout;
    let (pq, pv) = (layout.points_q(), layout.points_v());
    let (q, p) = y.split_at_mut(layout.len_q());
    let (dq, dp) = dy.split_at_mut(layout.len_v());
    velocities(model, q, p, v);
    model.filters.prescribe_at(t, &mut q[pq..], &mut v[pv..]);
    carry_all(&model.mappings, q, v);
    model.forces_into(t, q, v, f);
    hold(model, t, q, v, f);

    dq.copy_from_slice(v);
    dp.copy_from_slice(f);
    for k in 0..layout.rigid {
        let a = triple(f, 2 * k) * model.rigid.inv_mass(k);
        set_triple(dp, 2 * k, &a);
    }
    for body in &model.generalized {
        body.accelerations(model, q, v, f, dp);
    }
    model.particles.solve_mass(0, &mut dp[pv..]);
    model.filters.apply(0, &mut dp[pv..]);
    // Carried and prescribed points are functions of something else, not states.
    let carried = pv + 3 * layout.particles;
    dq[carried..].fill(0.0);
    dp[carried..].fill(0.0);
    model.filters.clear_prescribed(&mut dq[pv..]);
}
