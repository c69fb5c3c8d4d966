//! The minimisation: projected Newton (Teran et al. 2005, Li et al. 2020) with steps that collisions and a line search limit.

use super::Ipc;
use super::work::IpcWork;
use crate::model::Model;
use crate::state::State;
use crate::step::{StepError, StepReport};

/// When joints hold.
struct Tuning {
    /// Their gap is less than this part of what the tolerance lets a point move in a step.
    joint_gap: f64,
    /// Most rounds of multipliers of joints; one or two are the rule.
    joint_rounds: u32,
}

const TUNING: Tuning = Tuning { joint_gap: 1e-3, joint_rounds: 30 };

/// How Newton's iteration ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Converged,
    /// Iterations ran out: more rounds of what does not converge would only take time.
    OutOfIterations,
}

impl Ipc {
    /// Minimises E with lagged friction, which is taken anew until it does not change or the passes are over.
    pub(super) fn minimise(
        &self,
        model: &Model,
        state: &State,
        h: f64,
        w: &mut IpcWork,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        w.begin(self, model, state, h)?;
        w.momentum.prepare(model, state);
        for pass in 1..=self.friction_passes.max(1) {
            let ended = self.newton_with_joints(model, state, h, w, report)?;
            let last = pass >= self.friction_passes;
            if (ended == Ended::OutOfIterations || last) && w.end_friction(model) {
                break;
            }
            let again = w.update_friction(model);
            if ended == Ended::OutOfIterations || !again || last {
                break;
            }
        }
        report.unfinished |= w.stands_still(state);
        if model.ipc.is_some() {
            report.contacts = w.contact.set.contacts.len() as u32;
            report.smallest_gap = w.contact.smallest_gap();
        }
        Ok(())
    }

    /// Newton's iteration, and multipliers of joints until they hold (the augmented Lagrangian of Hestenes 1969 and Powell 1969).
    fn newton_with_joints(
        &self,
        model: &Model,
        state: &State,
        h: f64,
        w: &mut IpcWork,
        report: &mut StepReport,
    ) -> Result<Ended, StepError> {
        for _ in 0..TUNING.joint_rounds {
            let ended = self.newton(model, state, h, w, report)?;
            let limit = TUNING.joint_gap * self.tolerance * h;
            if ended == Ended::OutOfIterations || w.joints.is_empty() || !w.update_joints(model, limit) {
                return Ok(ended);
            }
        }
        report.unfinished = true;
        Ok(Ended::Converged)
    }

    fn newton(
        &self,
        model: &Model,
        state: &State,
        h: f64,
        w: &mut IpcWork,
        report: &mut StepReport,
    ) -> Result<Ended, StepError> {
        let limit = report.iterations + self.most_newton;
        let mut moved = false;
        w.prescribed.begin_rounds();
        w.body_system.forget_factors();
        if !w.islands.several() {
            w.islands.done.fill(false);
        }
        loop {
            report.iterations += 1;
            let left = w.prescribed.left(&w.q);
            let pending = left > 0.0;
            if pending {
                w.prescribed.moved = true;
                w.steps.expect_change();
            } else {
                w.prescribed.part = 1.0;
            }
            let gap = w.contact.smallest_gap();
            w.group(model, pending);
            let assembled = w.linearise(self, model, state, h, pending, report);
            if pending {
                w.follow_prescribed(model);
            }
            let found_by = w.solve_system(self, model, state, h, assembled, pending, report)?;
            w.prescribed.write(&w.q, &mut w.delta);
            let mut speeds = w.speeds(model, h);
            report.residual = speeds.iter().copied().fold(0.0, f64::max);
            if report.iterations == 1 && !pending && w.guess(model, state)? {
                continue;
            }
            // The first step is always taken, or what is slow would never start.
            if moved && !pending && w.is_short_of_tolerance(self, model, &speeds) {
                return Ok(Ended::Converged);
            }
            let stopped = w.search_line(model, state, pending, report)?;
            if w.change.wants.is_empty() && !pending {
                w.note_wishes(&speeds);
            }
            moved = true;
            if pending {
                let left_now = w.prescribed.left(&w.q);
                let gaps = [gap, w.contact.smallest_gap()];
                let more = w.prescribed.end_round(1.0 - left_now / left, gaps, w.contact.normal.gap);
                if left_now > 0.0 && (!more || report.iterations >= limit) {
                    return Err(w.blocked(model, state));
                }
                continue;
            }
            w.take_remainders(found_by, &mut speeds);
            report.residual = speeds.iter().copied().fold(0.0, f64::max);
            if w.note_converged(self, model, &speeds, stopped, report) {
                return Ok(Ended::Converged);
            }
            if report.iterations >= limit {
                report.unfinished = true;
                return Ok(Ended::OutOfIterations);
            }
        }
    }
}
