//! A step in two halves, for contact: v⁺ under given forces and how it answers to more; then the drift.

use std::ops::Range;

use super::actuators::Transmission;
use super::step::Level;
use super::tendons::TendonPath;
use super::{Robot, RobotReport, RobotState, RobotStepError, RobotWork};
use crate::bodies::articulated::TreeRange;
use crate::math::all_finite;

/// What a row with bounds asks for: rate⁺ + r λ = target with low ≤ λ ≤ high.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BoundedRow {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) target: f64,
    pub(crate) softness: f64,
    /// λ of the last trial.
    pub(crate) force: f64,
}

fn has_bounds(b: &crate::solve::box_lcp::Bounds) -> bool {
    b.low > f64::NEG_INFINITY || b.high < f64::INFINITY
}

impl Robot {
    /// True if all rows that a step may have are bounded: no loops, and no springs, dampers or servos on tendons and sites.
    /// Then what contacts do to v⁺ is known from M alone.
    pub(crate) fn is_simple(&self) -> bool {
        let level = self.level();
        let plain = |d: &super::actuators::Actuator| match d.transmission {
            Transmission::Dof { .. } | Transmission::Nothing => true,
            _ => [d.gain[1], d.gain[2], d.bias[1], d.bias[2]] == [0.0; 4],
        };
        self.loops.is_empty()
            && !self.tendons.iter().any(|c| c.is_row(level))
            && self.actuators.iter().all(plain)
    }

    /// Trees that answer to contacts by themselves. One that is not simple answers as a whole.
    pub(crate) fn groups(&self) -> Vec<TreeRange> {
        if !self.is_simple() {
            return vec![TreeRange { nodes: 1..self.tree.node_count(), dofs: 0..self.tree.freedoms() }];
        }
        let joined: Vec<Range<usize>> =
            self.tendons.iter().filter_map(|c| self.dofs_between(&c.path)).collect();
        self.tree.trees(&joined)
    }

    /// From the lowest to the highest dof that a tendon may pull on.
    fn dofs_between(&self, path: &TendonPath) -> Option<Range<usize>> {
        let dofs: Vec<usize> = match path {
            TendonPath::Joints(list) => list.iter().map(|(_, v, _)| *v).collect(),
            TendonPath::Sites(list) => {
                let links = list.iter().flat_map(|(frames, _)| frames).filter_map(|frame| frame.link);
                links.filter_map(|link| self.tree.dof_of_link(link)).collect()
            }
        };
        Some(*dofs.iter().min()?..dofs.iter().max()? + 1)
    }

    /// v* of an implicit step without any rows, into `work`, servos between the bounds of their forces. After kinematics;
    /// positions stay. For simple robots, like the three that follow.
    pub(crate) fn begin_trial(&self, state: &mut RobotState, h: f64, work: &mut RobotWork) {
        work.before.copy_from(state);
        self.fixed_forces(state, h, self.level(), work);
        work.lambda.clear();
        work.rows.clear();
        work.saturation.clear();
        work.saturation.resize(self.actuators.len(), 0);
        self.free_velocity(state, h, self.level(), work);
    }

    /// Rows that velocities v would reach within h.
    pub(crate) fn find_rows(&self, state: &RobotState, v: &[f64], h: f64, work: &mut RobotWork) {
        work.rows.clear();
        self.add_friction_rows(&state.q, work);
        self.add_limit_rows(&state.q, v, h, work);
        work.lambda.clear();
        work.lambda.resize(work.rows.len(), 0.0);
    }

    /// Looks whether servos reach the bounds of their forces at velocities v. If some stand otherwise now, v* and the factor
    /// of M are made anew.
    pub(crate) fn update_servos(
        &self,
        state: &mut RobotState,
        v: &[f64],
        h: f64,
        work: &mut RobotWork,
    ) -> bool {
        let level = self.level();
        if level < Level::Springs || !self.update_saturation(state, h, v, work) {
            return false;
        }
        self.free_velocity(state, h, level, work);
        true
    }

    /// Takes v⁺ from outside.
    pub(crate) fn set_velocity(&self, v: &[f64], work: &mut RobotWork) {
        work.v.copy_from_slice(v);
    }

    /// X ← M⁻¹X of some trees, with the factor at hand: `columns` numbers for each of their dofs.
    pub(crate) fn respond_in(&self, trees: &TreeRange, columns: usize, X: &mut [f64], work: &mut RobotWork) {
        self.tree.solve_at_hand_in(trees, columns, &mut work.tree, X);
    }

    /// v⁺ of an implicit step under forces `extra` on the dofs, into `work`; positions stay. May be asked again with
    /// other forces.
    pub(crate) fn trial(
        &self,
        state: &mut RobotState,
        extra: &[f64],
        h: f64,
        work: &mut RobotWork,
        report: &mut RobotReport,
    ) {
        work.before.copy_from(state);
        self.find_velocity(state, h, self.level(), extra, work, report);
    }

    /// The velocities that [`trial`](Self::trial) found.
    pub(crate) fn velocity<'a>(&self, work: &'a RobotWork) -> &'a [f64] {
        &work.v
    }

    /// How servos stand: −1 and 1 at the bounds of their forces, 0 between.
    pub(crate) fn saturation(&self, work: &RobotWork, out: &mut Vec<i8>) {
        out.clear();
        out.extend_from_slice(&work.saturation);
    }

    /// Every row with bounds of the last [`trial`](Self::trial), with its entries.
    pub(crate) fn bounded_rows(
        &self,
        work: &RobotWork,
        mut each: impl FnMut(BoundedRow, &mut dyn Iterator<Item = (usize, f64)>),
    ) {
        let rows = &work.rows;
        for i in (0..rows.len()).filter(|i| has_bounds(&rows.bounds[*i])) {
            let (low, high) = (rows.bounds[i].low, rows.bounds[i].high);
            let (target, softness) = (rows.target[i], rows.softness[i]);
            each(BoundedRow { low, high, target, softness, force: work.lambda[i] }, &mut rows.row(i));
        }
    }

    /// Y ← the change of v⁺ by impulses: from columns Jᵀ, one per impulse, each dof's numbers side by side. Rows without
    /// bounds go on holding: with D = h A M⁻¹Aᵀ + r over these, $Y = M^{-1}J^T - h M^{-1}A^T D^{-1} A M^{-1} J^T$.
    pub(crate) fn respond(&self, h: f64, columns: usize, Y: &mut [f64], work: &mut RobotWork) {
        self.tree.solve_at_hand(columns, &mut work.tree, Y);
        let m = work.rows.len();
        let RobotWork { rows, D, Y: own, .. } = work;
        let free: Vec<usize> = (0..m).filter(|&i| !has_bounds(&rows.bounds[i])).collect();
        if free.is_empty() {
            return;
        }
        let k = free.len();
        let mut A = nalgebra::DMatrix::from_fn(k, k, |i, j| D[free[i] * m + free[j]]);
        for i in 0..k {
            A[(i, i)] += 1e-10 * rows.bounds[free[i]].scale;
        }
        let mut B = nalgebra::DMatrix::zeros(k, columns);
        for (i, &row) in free.iter().enumerate() {
            rows.each(row, |d, a| {
                for j in 0..columns {
                    B[(i, j)] += a * Y[d * columns + j];
                }
            });
        }
        let Some(Z) = A.cholesky().map(|A| A.solve(&B)) else { return };
        for d in 0..self.tree.freedoms() {
            for (i, &row) in free.iter().enumerate() {
                let y = h * own[d * m + row];
                if y != 0.0 {
                    (0..columns).for_each(|j| Y[d * columns + j] -= y * Z[(i, j)]);
                }
            }
        }
    }

    /// The second half: takes v⁺, moves along it and along `push`, closes loops.
    pub(crate) fn finish_step(
        &self,
        state: &mut RobotState,
        h: f64,
        push: &[f64],
        work: &mut RobotWork,
        report: &mut RobotReport,
    ) -> Result<(), RobotStepError> {
        self.take_velocity(state, h, self.level(), work);
        self.tree.integrate(&mut state.q, &state.v, h);
        if push.iter().any(|p| *p != 0.0) {
            self.tree.integrate(&mut state.q, push, h);
        }
        self.project(state, false, work, report);
        self.end_step(state, h, false, work)
    }

    /// Activations h seconds on; filters exactly if asked.
    pub(super) fn advance_activations(&self, state: &mut RobotState, h: f64, exact: bool) {
        for (k, actuator) in self.actuators.iter().enumerate() {
            actuator.advance_activation(state, k, h, exact);
        }
    }

    /// Activations, mean accelerations, time; refuses what is not finite and puts the state back.
    pub(super) fn end_step(
        &self,
        state: &mut RobotState,
        h: f64,
        exact: bool,
        work: &mut RobotWork,
    ) -> Result<(), RobotStepError> {
        self.advance_activations(state, h, exact);
        for ((a, v), before) in state.acceleration.iter_mut().zip(&state.v).zip(&work.before.v) {
            *a = (v - before) / h;
        }
        if all_finite(&state.q) && all_finite(&state.v) {
            state.time += h;
            return Ok(());
        }
        let dof = state.v.iter().position(|x| !x.is_finite()).unwrap_or(0);
        state.copy_from(&work.before);
        Err(RobotStepError::NonFinite { robot: self.description.name.clone(), dof, time: state.time, h })
    }
}
