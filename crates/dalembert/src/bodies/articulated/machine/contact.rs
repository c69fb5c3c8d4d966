//! A step in two halves, for contact: v⁺ under given forces and how it answers to more; then the drift.

use super::{Machine, MachineReport, MachineState, MachineStepError, MachineWork};
use crate::math::{Vec3, all_finite};

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

fn has_bounds(b: &crate::solve::boxed::Bounds) -> bool {
    b.low > f64::NEG_INFINITY || b.high < f64::INFINITY
}

impl Machine {
    /// v⁺ of an implicit step under forces `extra` on the dofs, into `work`; positions stay. May be asked again with
    /// other forces.
    pub(crate) fn trial(
        &self,
        state: &mut MachineState,
        extra: &[f64],
        h: f64,
        work: &mut MachineWork,
        report: &mut MachineReport,
    ) {
        work.before.copy_from(state);
        self.find_velocity(state, h, self.level(), extra, work, report);
    }

    /// The velocities that [`trial`](Self::trial) found.
    pub(crate) fn tried<'a>(&self, work: &'a MachineWork) -> &'a [f64] {
        &work.v
    }

    /// How servos stand: −1 and 1 at the bounds of their forces, 0 between.
    pub(crate) fn stands(&self, work: &MachineWork, out: &mut Vec<i8>) {
        out.clear();
        out.extend_from_slice(&work.stands);
    }

    /// Every row with bounds of the last [`trial`](Self::trial), with its entries.
    pub(crate) fn bounded_rows(
        &self,
        work: &MachineWork,
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
    pub(crate) fn respond(&self, h: f64, columns: usize, Y: &mut [f64], work: &mut MachineWork) {
        self.tree.solve_at_hand(columns, &mut work.tree, Y);
        let m = work.rows.len();
        let MachineWork { rows, D, Y: own, .. } = work;
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

    /// Rows of the velocity and of the angular velocity of a link at a place: for each dof three numbers of each.
    pub(crate) fn contact_rows(
        &self,
        link: usize,
        x: &Vec3,
        work: &MachineWork,
        linear: &mut [f64],
        angular: &mut [f64],
    ) {
        self.tree.each_column(link, x, &work.tree, |d, v, w| {
            linear[3 * d..3 * d + 3].copy_from_slice(v.as_slice());
            if !angular.is_empty() {
                angular[3 * d..3 * d + 3].copy_from_slice(w.as_slice());
            }
        });
    }

    /// The second half: takes v⁺, moves along it and along `push`, closes loops.
    pub(crate) fn conclude(
        &self,
        state: &mut MachineState,
        h: f64,
        push: &[f64],
        work: &mut MachineWork,
        report: &mut MachineReport,
    ) -> Result<(), MachineStepError> {
        self.take_velocity(state, h, self.level(), work);
        self.tree.integrate(&mut state.q, &state.v, h);
        if push.iter().any(|p| *p != 0.0) {
            self.tree.integrate(&mut state.q, push, h);
        }
        self.project(state, false, work, report);
        self.end_step(state, h, false, work)
    }

    /// Activations h seconds on; filters exactly if asked.
    pub(super) fn advance_activations(&self, state: &mut MachineState, h: f64, exact: bool) {
        for (k, drive) in self.drives.iter().enumerate() {
            drive.advance_activation(state, k, h, exact);
        }
    }

    /// Activations, mean accelerations, time; refuses what is not finite and puts the state back.
    pub(super) fn end_step(
        &self,
        state: &mut MachineState,
        h: f64,
        exact: bool,
        work: &mut MachineWork,
    ) -> Result<(), MachineStepError> {
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
        Err(MachineStepError::NonFinite { robot: self.robot.name.clone(), dof, time: state.time, h })
    }
}
