//! Forces of a step: what acts as at its start, what goes onto the diagonal of M, and what becomes a soft row.

use super::step::Level;
use super::{Robot, RobotState, RobotWork};

impl Robot {
    /// τ of everything that is not a row or a servo of [`add_actuator_forces`](Self::add_actuator_forces), into `fixed_tau`; gains
    /// that are to be implicit into `diagonal` as B + hK, and −hKv into τ. After kinematics.
    pub(super) fn fixed_forces(&self, state: &RobotState, h: f64, level: Level, work: &mut RobotWork) {
        let RobotWork { tree: w, fixed_tau: tau, diagonal, dv, dense, other, .. } = work;
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
        for tendon in self.tendons.iter().filter(|tendon| !tendon.is_row(level)) {
            self.add_tendon_force(tendon, &state.q, &state.v, w, dense, tau);
        }
        let mut tau = std::mem::take(&mut work.fixed_tau);
        self.add_drag(&state.v, work, &mut tau);
        work.fixed_tau = tau;
    }

    /// Effective mass M + hB + h²K of an implicit step from `state`, dense and row by row: armature, dampers, springs and
    /// servos included, those on tendons as h(hkp + kd)aaᵀ, but for servos at the bounds of their force in `after`. After
    /// that step, with the buffers that it used.
    pub fn effective_mass(
        &self,
        state: &RobotState,
        after: &RobotState,
        h: f64,
        work: &mut RobotWork,
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
        self.add_tendon_rows(state, h, self.level(), work);
        for i in 0..work.rows.len() {
            let bounds = work.rows.bounds[i];
            let force = work.rows.servo[i].map_or(0.0, |k| after.force[k]);
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
    pub fn stiffen_loops(&self, q: &[f64], factor: f64, work: &mut RobotWork, mass: &mut [f64]) {
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
}
