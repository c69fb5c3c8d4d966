//! The scheme `static`: equilibrium C f(q) = 0 at the end of the step, by Newton's method with a line search on the potential.

use super::{Implicit, ImplicitWork, OF_RESIDUAL};
use crate::bodies::Rigid;
use crate::forces::Tangent;
use crate::math::dot;
use crate::model::Model;
use crate::solve::line_search::LineSearch;
use crate::state::State;
use crate::step::tangent::Factors;
use crate::step::{StepError, StepReport};

impl Implicit {
    /// q with C f(q) = 0 at the end of the step, into `w.q`: Newton's method on the potential.
    pub(super) fn equilibrium(
        &self,
        model: &Model,
        state: &State,
        h: f64,
        w: &mut ImplicitWork,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let (nv, time) = (model.layout.nv, state.time_after(h));
        let by_energy = state.applied.is_empty() && model.forces.iter().all(|b| b.force.is_conservative());
        w.q.clone_from(&state.q);
        w.v.clone_from(&state.v);
        w.v.fill(0.0);
        model.settle_at(time, &mut w.q, &mut w.v);
        w.v.fill(0.0);
        w.here.load_inertia(model, &w.q);
        w.here.weights(model, &mut w.weights);
        w.momentum.clear();
        w.momentum.resize(nv, 0.0);
        let factors = Factors { stiffness: 1.0, ..Factors::default() };
        let mut left = w.static_residual(model, state, time, report);
        let mut scale = 0.0f64;
        loop {
            // What is left is a force as well: of kinds that are not batches, such as soft joints, there is no other measure.
            scale = scale.max(w.largest_force(model, state)).max(left);
            report.residual = if scale > 0.0 { left / scale } else { 0.0 };
            if report.residual <= self.tolerance {
                return Ok(());
            }
            if report.iterations >= self.most_newton() || !left.is_finite() {
                report.unfinished = true;
                return Ok(());
            }
            report.iterations += 1;
            w.here.linearize(model, Tangent::Exact);
            self.solve_shifted(model, factors, w, report)?;
            w.stage_q.clone_from(&w.q);
            let before = left;
            if by_energy {
                let derivative = -dot(&w.b, &w.delta);
                let start = model.potential_at(time, &w.q, &w.v, state);
                let noise = 8.0 * f64::EPSILON * start.abs();
                LineSearch::default().search(start, derivative, noise, |part| {
                    w.move_positions(model, part);
                    model.potential_at(time, &w.q, &w.v, state)
                });
                left = w.static_residual(model, state, time, report);
            } else {
                let step = OF_RESIDUAL.search(left, -left, 0.0, |part| {
                    w.move_positions(model, part);
                    w.static_residual(model, state, time, report)
                });
                left = step.map_or(left, |step| step.value);
            }
            if left >= before && left <= 1e3 * f64::EPSILON * scale {
                report.residual = left / scale;
                return Ok(());
            }
        }
    }
}

impl ImplicitWork {
    /// q ← `stage_q` moved by part · δ, at rest.
    fn move_positions(&mut self, model: &Model, part: f64) {
        self.q.copy_from_slice(&self.stage_q);
        self.temp.clear();
        self.temp.extend(self.delta.iter().map(|x| part * x));
        advance(model, &mut self.q, &self.temp);
        crate::mapping::carry_all(&model.mappings, &mut self.q, &mut self.v);
        self.v.fill(0.0);
    }

    /// b ← C f at `q`; its size.
    fn static_residual(&mut self, model: &Model, state: &State, time: f64, report: &mut StepReport) -> f64 {
        self.here.evaluate(model, time, &self.q, &self.v, state);
        report.evaluations += 1;
        self.b.clear();
        self.b.extend_from_slice(&self.here.f[..model.layout.nv]);
        model.filters.apply(0, &mut self.b[model.layout.points_v()..]);
        self.weighted(&self.b)
    }

    /// Size of the largest force of one kind on the free velocities, forces from outside included, at the state evaluated
    /// last.
    pub(super) fn largest_force(&mut self, model: &Model, state: &State) -> f64 {
        let points = model.points(self.here.time, &self.here.q, &self.here.v);
        let n = model.layout.len_v();
        let mut largest = 0.0f64;
        let mut f = std::mem::take(&mut self.temp);
        for batch in &model.forces {
            f.clear();
            f.resize(n, 0.0);
            batch.force.add_force(&points, &mut f[model.layout.points_v()..model.layout.robots_v()]);
            crate::mapping::gather_all(&model.mappings, &self.here.q, &mut f);
            largest = largest.max(self.weighted(&f[..model.layout.nv]));
        }
        if !state.applied.is_empty() {
            f.clone_from(&state.applied);
            crate::mapping::gather_all(&model.mappings, &self.here.q, &mut f);
            // Whoever pushes at what is held must not blur what is free.
            model.filters.apply(0, &mut f[model.layout.points_v()..]);
            largest = largest.max(self.weighted(&f[..model.layout.nv]));
        }
        self.temp = f;
        let weight = model.rigid.mass.iter().map(|m| m * model.gravity.norm_squared()).sum::<f64>().sqrt();
        largest.max(weight)
    }
}

/// q ← q ⊕ δ: points straight, rigid bodies by the exponential map.
fn advance(model: &Model, q: &mut [f64], delta: &[f64]) {
    let (nq, nv, n) = (model.layout.nq, model.layout.nv, model.layout.rigid);
    Rigid::advance(&mut q[..7 * n], &delta[..6 * n]);
    for (q, delta) in q[7 * n..nq].iter_mut().zip(&delta[6 * n..nv]) {
        *q += delta;
    }
}
