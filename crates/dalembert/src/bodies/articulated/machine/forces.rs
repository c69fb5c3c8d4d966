//! Forces of a step: what acts as at its start, what goes onto the diagonal of M, and what becomes a soft row.

use super::drives::{Cord, Law, Pull};
use super::step::Level;
use super::{Machine, MachineState, MachineWork};
use crate::bodies::articulated::TreeWork;

impl Machine {
    /// τ of everything that is not a row or a servo of [`add_drives`](Self::add_drives), into `fixed_tau`; gains that are
    /// to be implicit into `diagonal` as B + hK, and −hKv into τ. After kinematics.
    pub(super) fn fixed_forces(&self, state: &MachineState, h: f64, level: Level, work: &mut MachineWork) {
        let MachineWork { tree: w, fixed_tau: tau, diagonal, dv, dense, other, .. } = work;
        tau.copy_from_slice(&state.tau);
        self.tree.add_passive_forces(&state.q, &state.v, w, tau);
        diagonal.fill(0.0);
        if level >= Level::Joints {
            diagonal.copy_from_slice(self.tree.damping());
        }
        self.add_controller(state, w, dv, other, tau, |d, kp, kd| {
            diagonal[d] += if level >= Level::Rates { kd } else { 0.0 };
            diagonal[d] += if level >= Level::Springs { h * kp } else { 0.0 };
        });
        if level >= Level::Springs {
            // −hKv: the spring's force at the end of the step. A damper's part is in the matrix alone.
            for d in 0..tau.len() {
                diagonal[d] += h * self.tree.stiffness()[d];
                tau[d] -= h * self.tree.stiffness()[d] * state.v[d];
            }
            if let Some(super::Controller::Pd { kp, .. }) = &self.controller {
                for j in self.driven() {
                    tau[j] -= h * kp * state.v[j];
                }
            }
        }
        for cord in self.cords.iter().filter(|cord| !cord.is_row(level)) {
            self.add_cord_force(cord, &state.q, &state.v, w, dense, tau);
        }
        let mut tau = std::mem::take(&mut work.fixed_tau);
        self.add_drag(&state.v, work, &mut tau);
        work.fixed_tau = tau;
    }

    /// Springs and dampers of tendons. After kinematics.
    pub(super) fn add_cord_forces(
        &self,
        q: &[f64],
        v: &[f64],
        w: &TreeWork,
        dense: &mut [f64],
        tau: &mut [f64],
    ) {
        for cord in &self.cords {
            self.add_cord_force(cord, q, v, w, dense, tau);
        }
    }

    fn add_cord_force(
        &self,
        cord: &Cord,
        q: &[f64],
        v: &[f64],
        w: &TreeWork,
        dense: &mut [f64],
        tau: &mut [f64],
    ) {
        if cord.stiffness != 0.0 || cord.damping != 0.0 {
            dense.fill(0.0);
            let length = self.measure_cord(cord, q, w, dense);
            let pull = -cord.stiffness * cord.stretch(length) - cord.damping * crate::math::dot(dense, v);
            tau.iter_mut().zip(&*dense).for_each(|(t, a)| *t += a * pull);
            dense.fill(0.0);
        }
    }

    /// Springs and dampers of tendons as rows: ℓ̇⁺ + rλ = −rk stretch with r = 1/(b + hk), or 1/b where the spring pulls
    /// as at the start. After kinematics.
    pub(super) fn add_cord_rows(&self, state: &MachineState, h: f64, level: Level, work: &mut MachineWork) {
        let MachineWork { tree: w, rows, dense, .. } = work;
        for cord in self.cords.iter().filter(|cord| cord.is_row(level)) {
            let stretch = cord.stretch(self.measure_cord(cord, &state.q, w, dense));
            let taut = stretch != 0.0 || cord.slack[0] == cord.slack[1];
            let k = if taut && level >= Level::Springs { cord.stiffness } else { 0.0 };
            if cord.damping + h * k > 0.0 {
                let r = 1.0 / (cord.damping + h * k);
                rows.push_dense(dense, [f64::NEG_INFINITY, f64::INFINITY], -r * cord.stiffness * stretch);
                rows.end_group();
                let last = rows.len() - 1;
                rows.softness[last] = r;
            }
            dense.fill(0.0);
        }
    }

    /// Dofs that controllers drive.
    fn driven(&self) -> impl Iterator<Item = usize> + '_ {
        use crate::joints::JointKind::{Hinge, Slider};
        self.tree.joints().iter().filter(|j| matches!(j.kind, Hinge | Slider)).map(|j| j.v.start)
    }

    /// True if an actuator is taken at the end of the step.
    ///
    /// With springs: it holds against motion and pulls on a dof, or as a row. Without: it has a velocity gain (a row a
    /// positive one) and its force at the start is within its range.
    fn is_servo(&self, k: usize, law: &Law, level: Level, start: f64) -> bool {
        let drive = &self.drives[k];
        let on_dof = match drive.pull {
            Pull::Nothing => return false,
            Pull::Dof { .. } => true,
            _ => false,
        };
        match level {
            Level::Springs => law.kp >= 0.0 && law.kd >= 0.0 && law.kp + law.kd > 0.0,
            Level::Rates => (law.kd > 0.0 || (on_dof && law.kd < 0.0)) && drive.clamp_force(start) == start,
            Level::Nothing | Level::Joints => false,
        }
    }

    /// τ ← fixed forces and actuators, diagonal ← h(B + hK) of both.
    pub(super) fn add_drives(&self, state: &mut MachineState, h: f64, level: Level, work: &mut MachineWork) {
        work.tau.copy_from_slice(&work.fixed_tau);
        work.u.iter_mut().zip(&work.diagonal).for_each(|(u, b)| *u = h * b);
        for k in 0..self.drives.len() {
            let (drive, law) = (&self.drives[k], self.drives[k].law(state, k, h));
            let MachineWork { tree: w, tau, dense, u, stands, .. } = work;
            if let Pull::Dof { q, v } = drive.pull {
                let g = drive.gear[0];
                let (length, rate) = (g * state.q[q], g * state.v[v]);
                let whole = law.f0 - law.kp * length - law.kd * rate;
                let servo = self.is_servo(k, &law, level, whole);
                state.force[k] = match (servo, stands[k], drive.force_range) {
                    (true, 0, _) if level >= Level::Springs => {
                        u[v] += h * g * g * (law.kd + h * law.kp);
                        whole - h * law.kp * rate
                    }
                    (true, 0, _) => {
                        u[v] += h * g * g * law.kd;
                        whole
                    }
                    (true, -1, Some([low, _])) => low,
                    (true, _, Some([_, high])) => high,
                    _ => drive.clamp_force(whole),
                };
                tau[v] += g * state.force[k];
                continue;
            }
            dense.fill(0.0);
            let length = self.measure_drive(drive, &state.q, w, dense);
            let rate = crate::math::dot(dense, &state.v);
            let whole = law.f0 - law.kp * length - law.kd * rate;
            if !self.is_servo(k, &law, level, whole) {
                state.force[k] = drive.clamp_force(whole);
                tau.iter_mut().zip(&*dense).for_each(|(t, a)| *t += a * state.force[k]);
            }
            dense.fill(0.0);
        }
        self.bound_efforts(state, work);
    }

    /// Bounds on the sum of actuator forces on one joint, where a description has them.
    fn bound_efforts(&self, state: &MachineState, work: &mut MachineWork) {
        for &(d, [low, high]) in &self.efforts {
            let sum: f64 =
                self.drives.iter().zip(&state.force).fold(0.0, |sum, (drive, f)| match drive.pull {
                    Pull::Dof { v, .. } if v == d => sum + drive.gear[0] * f,
                    _ => sum,
                });
            work.tau[d] += sum.max(low).min(high) - sum;
        }
    }

    /// Which servos of single dofs stand wrong after a solve; true if any was moved.
    pub(super) fn move_stands(
        &self,
        state: &MachineState,
        h: f64,
        after: &[f64],
        work: &mut MachineWork,
    ) -> bool {
        let mut moved = false;
        for (k, drive) in self.drives.iter().enumerate() {
            let (Pull::Dof { q, v }, Some([low, high])) = (&drive.pull, drive.force_range) else { continue };
            let law = drive.law(state, k, h);
            if !self.is_servo(k, &law, Level::Springs, 0.0) {
                continue;
            }
            let (g, rate) = (drive.gear[0], drive.gear[0] * after[*v]);
            let force = law.f0 - law.kp * (g * state.q[*q] + h * rate) - law.kd * rate;
            let slack = 1e-12 * (force.abs() + low.abs() + high.abs());
            let stand = match work.stands[k] {
                0 if force < low - slack => -1,
                0 if force > high + slack => 1,
                -1 if force > low + slack => 0,
                1 if force < high - slack => 0,
                same => same,
            };
            moved |= stand != work.stands[k];
            work.stands[k] = stand;
        }
        moved
    }

    /// Rows of servos on tendons, sites and turning joints: ℓ̇⁺ + rλ = r(f₀ − kp ℓ), r = 1/(h kp + kd), λ in the force
    /// range; without springs r = 1/kd, and λ is free. After kinematics.
    pub(super) fn add_servo_rows(&self, state: &MachineState, h: f64, level: Level, work: &mut MachineWork) {
        const ANY: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];
        let MachineWork { tree: w, rows, dense, .. } = work;
        for (k, drive) in self
            .drives
            .iter()
            .enumerate()
            .filter(|(_, d)| !matches!(d.pull, Pull::Dof { .. } | Pull::Nothing))
        {
            let law = drive.law(state, k, h);
            let length = self.measure_drive(drive, &state.q, w, dense);
            let whole = law.f0 - law.kp * length - law.kd * crate::math::dot(dense, &state.v);
            if self.is_servo(k, &law, level, whole) {
                let springs = level >= Level::Springs;
                let r = 1.0 / if springs { h * law.kp + law.kd } else { law.kd };
                let range = drive.force_range.filter(|_| springs).unwrap_or(ANY);
                rows.push_dense(dense, range, r * (law.f0 - law.kp * length));
                rows.end_group();
                let last = rows.len() - 1;
                (rows.softness[last], rows.drive[last]) = (r, Some(k));
            }
            dense.fill(0.0);
        }
    }

    /// Effective mass M + hB + h²K of an implicit step from `state`, dense and row by row: armature, dampers, springs and
    /// servos included, those on tendons as h(hkp + kd)aaᵀ, but for servos at the bounds of their force in `after`. After
    /// that step, with the buffers that it used.
    pub fn effective_mass(
        &self,
        state: &MachineState,
        after: &MachineState,
        h: f64,
        work: &mut MachineWork,
        mass: &mut [f64],
    ) {
        let m = self.tree.freedoms();
        self.tree.kinematics(&state.q, &mut work.tree);
        self.tree.mass_matrix(&mut work.tree).to_dense(&self.tree, mass);
        for (d, x) in work.u.iter().enumerate() {
            mass[d * m + d] += x;
        }
        work.rows.clear();
        work.dense.fill(0.0);
        self.add_servo_rows(state, h, self.level(), work);
        self.add_cord_rows(state, h, self.level(), work);
        for i in 0..work.rows.len() {
            let bounds = work.rows.bounds[i];
            let force = work.rows.drive[i].map_or(0.0, |k| after.force[k]);
            if force > bounds.low && force < bounds.high {
                for (d, a) in work.rows.row(i) {
                    for (e, b) in work.rows.row(i) {
                        mass[d * m + e] += h / work.rows.softness[i] * a * b;
                    }
                }
            }
        }
    }

    /// Adds κ aᵀa to a dense mass matrix for every row a of the loops at q, with κ = `factor` / Σ a²/M of the diagonal. After
    /// [`effective_mass`](Self::effective_mass) with the same buffers.
    pub fn stiffen_loops(&self, q: &[f64], factor: f64, work: &mut MachineWork, mass: &mut [f64]) {
        let m = self.tree.freedoms();
        work.rows.clear();
        work.dense.fill(0.0);
        self.add_loop_rows(q, None, work);
        work.u.clear();
        work.u.extend((0..m).map(|d| mass[d * m + d]));
        for i in 0..work.rows.len() {
            let response: f64 = work.rows.row(i).map(|(d, a)| a * a / work.u[d]).sum();
            if !(response > 0.0) {
                continue;
            }
            for (d, a) in work.rows.row(i) {
                for (e, b) in work.rows.row(i) {
                    mass[d * m + e] += factor / response * a * b;
                }
            }
        }
    }

    /// Forces of implicit servos at the end of the step, for sensors.
    pub(super) fn read_servo_forces(
        &self,
        state: &mut MachineState,
        h: f64,
        level: Level,
        work: &MachineWork,
    ) {
        if level < Level::Springs {
            return;
        }
        for k in 0..self.drives.len() {
            let (drive, law) = (&self.drives[k], self.drives[k].law(state, k, h));
            if let (Pull::Dof { q, v }, true) = (&drive.pull, self.is_servo(k, &law, level, 0.0)) {
                let (g, rate) = (drive.gear[0], drive.gear[0] * work.v[*v]);
                let force = law.f0 - law.kp * (g * state.q[*q] + h * rate) - law.kd * rate;
                state.force[k] = drive.clamp_force(force);
            }
        }
    }
}
