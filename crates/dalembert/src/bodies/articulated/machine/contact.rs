//! A step in two halves, for contact: v⁺ under given forces and how it answers to more; then the drift.

use super::{Machine, MachineReport, MachineState, MachineStepError, MachineWork};
use crate::math::{Vec3, all_finite};

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

    /// How rows and servos stand: −1 and 1 at their bounds, 0 between.
    pub(crate) fn stands(&self, work: &MachineWork, out: &mut Vec<i8>) {
        out.clear();
        out.extend_from_slice(&work.stands);
        out.extend(
            work.rows
                .bounds
                .iter()
                .zip(&work.lambda)
                .map(|(b, l)| if *l <= b.low { -1 } else { i8::from(*l >= b.high) }),
        );
    }

    /// Y ← the change of v⁺ by impulses: from columns Jᵀ, one per impulse, each dof's numbers side by side. Rows that hold
    /// go on holding: with D = h A M⁻¹Aᵀ + r over these, $Y = M^{-1}J^T - h M^{-1}A^T D^{-1} A M^{-1} J^T$.
    pub(crate) fn respond(&self, h: f64, columns: usize, Y: &mut [f64], work: &mut MachineWork) {
        self.tree.solve_at_hand(columns, &mut work.tree, Y);
        let m = work.rows.len();
        let MachineWork { rows, lambda, D, Y: own, .. } = work;
        let free: Vec<usize> =
            (0..m).filter(|&i| lambda[i] > rows.bounds[i].low && lambda[i] < rows.bounds[i].high).collect();
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
