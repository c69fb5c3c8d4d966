//! One step of a robot.
//!
//! *Implicit* (the default): dampers, springs and servos are taken at the end of the step,
//! $(M + hB + h^2K)\,\Delta v = h(\tau - b - hKv)$, rows are solved for at the velocity level, then q drifts with v⁺. A
//! servo that would leave its force range pushes with the bound instead. What is implicit depends on
//! [`Robot::integrator`], with the meanings of MuJoCo's integrators:
//!
//! | integrator | at the end of the step |
//! |---|---|
//! | `Discrete` | springs and dampers of joints and tendons, position and velocity gains of servos |
//! | `ImplicitFast` | dampers and velocity gains; gyroscopic forces of bodies by themselves |
//! | `Implicit` | the same, and gyroscopic forces of all |
//! | `Euler` | dampers of joints |
//!
//! Dampers and servos on tendons are soft rows. *Semi-implicit* is the same with all forces at
//! the start. *Runge-Kutta* holds loops at the acceleration level, $A\dot v = -\dot A v$, in every stage; limits and
//! friction act as impulses at its end. *Midpoint* is the implicit rule of the tree with impulses at its end; with
//! loops its order is 1. All of them end with q projected onto C = 0 by the smallest step in the metric of M.

use super::{Robot, RobotState, RobotWork};
use crate::bodies::articulated::description::RobotIntegrator;
use crate::bodies::articulated::{ForwardDynamics, Scheme};
use crate::solve::box_lcp::BoxLcpReport;

/// How a robot moves in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RobotScheme {
    /// Order 1; damping, springs and servos of single dofs implicit.
    #[default]
    Implicit,
    /// Order 1, all forces at the start of the step.
    SemiImplicit,
    /// Runge-Kutta of order 4.
    RungeKutta4,
    /// Implicit midpoint, order 2, nearly energy-conserving.
    Midpoint,
}

/// Which forces a step takes at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// None.
    Nothing,
    /// Dampers of joints.
    Joints,
    /// All dampers and velocity gains.
    Rates,
    /// Springs and position gains too.
    Springs,
}

/// What a step did.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RobotReport {
    /// Rows that were solved for: loops, limits, friction, servos on tendons.
    pub rows: u32,
    /// Rounds of the active set and of clamped servos, or Newton iterations of the midpoint rule.
    pub iterations: u32,
    /// What the rows were left with, relative.
    pub residual: f64,
    /// Rows that depend on others.
    pub weak_rows: u32,
    /// Worst gap of a loop after the step \[m or rad\].
    pub gap: f64,
    /// Newton steps of the projection.
    pub projections: u32,
    /// A solver gave up before it met its own rule.
    pub unfinished: bool,
}

/// Why a step failed. The state is as it was.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RobotStepError {
    /// Numbers overflowed.
    #[error(
        "robot `{robot}` stopped being finite at its dof {dof} in the step from t = {time} s with h = {h} s; a smaller dt would help"
    )]
    NonFinite {
        /// Name of the robot.
        robot: String,
        /// Which dof.
        dof: usize,
        /// Time before the step \[s\].
        time: f64,
        /// Step \[s\].
        h: f64,
    },
    /// A state of another robot.
    #[error("the state has {found} numbers where robot `{robot}` needs {needed}")]
    Mismatch {
        /// Name of the robot.
        robot: String,
        /// What it has.
        found: usize,
        /// What is needed.
        needed: usize,
    },
}

impl RobotStepError {
    /// The same under the name that a scene gave the robot.
    pub(crate) fn of(mut self, name: &str) -> Self {
        let (Self::NonFinite { robot, .. } | Self::Mismatch { robot, .. }) = &mut self;
        name.clone_into(robot);
        self
    }
}

/// Rounds in which servos find out whether they reach their force ranges.
const SERVO_ROUNDS: u32 = 8;
/// Newton steps of the projection.
const MOST_PROJECTIONS: u32 = 12;
/// A loop counts as closed when it gapes by less than this \[m or rad\].
const CLOSED: f64 = 1e-13;

impl Robot {
    /// Advances a state by h seconds.
    pub fn step(
        &self,
        scheme: RobotScheme,
        state: &mut RobotState,
        h: f64,
        work: &mut RobotWork,
    ) -> Result<RobotReport, RobotStepError> {
        self.check_state(state)?;
        work.before.copy_from(state);
        let mut report = RobotReport::default();
        match scheme {
            RobotScheme::Implicit => self.velocity_step(state, h, self.level(), work, &mut report),
            RobotScheme::SemiImplicit => self.velocity_step(state, h, Level::Nothing, work, &mut report),
            RobotScheme::RungeKutta4 => self.runge_kutta(state, h, work, &mut report),
            RobotScheme::Midpoint => self.midpoint(state, h, work, &mut report),
        }
        self.end_step(state, h, scheme == RobotScheme::RungeKutta4, work)?;
        Ok(report)
    }

    /// What an implicit step takes at its end.
    pub(super) fn level(&self) -> Level {
        match self.integrator {
            RobotIntegrator::Discrete | RobotIntegrator::Rk4 => Level::Springs,
            RobotIntegrator::Implicit | RobotIntegrator::ImplicitFast => Level::Rates,
            RobotIntegrator::Euler => Level::Joints,
        }
    }

    fn check_state(&self, state: &RobotState) -> Result<(), RobotStepError> {
        let (nq, nv, nu) = (self.tree.coordinates(), self.tree.freedoms(), self.actuators.len());
        let RobotState { q, v, activation, control, tau, acceleration, force, .. } = state;
        for (list, needed) in [
            (q, nq),
            (v, nv),
            (tau, nv),
            (acceleration, nv),
            (control, nu),
            (force, nu),
            (activation, self.activations),
        ] {
            if list.len() != needed {
                let robot = self.description.name.clone();
                return Err(RobotStepError::Mismatch { robot, found: list.len(), needed });
            }
        }
        Ok(())
    }

    /// v⁺ by rows at the velocity level, then drift and projection.
    fn velocity_step(
        &self,
        state: &mut RobotState,
        h: f64,
        level: Level,
        work: &mut RobotWork,
        report: &mut RobotReport,
    ) {
        self.find_velocity(state, h, level, &[], work, report);
        self.take_velocity(state, h, level, work);
        self.tree.integrate(&mut state.q, &state.v, h);
        self.project(state, false, work, report);
    }

    /// v⁺ by rows at the velocity level, into `work`; `extra` are more forces on the dofs, or none.
    pub(super) fn find_velocity(
        &self,
        state: &mut RobotState,
        h: f64,
        level: Level,
        extra: &[f64],
        work: &mut RobotWork,
        report: &mut RobotReport,
    ) {
        self.tree.kinematics(&state.q, &mut work.tree);
        self.fixed_forces(state, h, level, work);
        work.fixed_tau.iter_mut().zip(extra).for_each(|(t, e)| *t += e);
        work.lambda.clear();
        work.saturation.clear();
        work.saturation.resize(self.actuators.len(), 0);
        let mut built = false;
        for round in 1..=SERVO_ROUNDS {
            report.iterations = round;
            self.free_velocity(state, h, level, work);
            if !built {
                built = true;
                let after = std::mem::take(&mut work.v);
                work.rows.clear();
                self.add_loop_rows(&state.q, None, work);
                self.add_servo_rows(state, h, level, work);
                self.add_tendon_rows(state, h, level, work);
                self.add_friction_rows(&state.q, work);
                self.add_limit_rows(&state.q, &after, h, work);
                work.v = after;
            }
            if work.rows.len() > 0 {
                let solved = self.solve_velocity(h, work);
                self.note(&solved, work, report);
            }
            let after = std::mem::take(&mut work.v);
            let again = level >= Level::Springs && self.update_saturation(state, h, &after, work);
            work.v = after;
            if !again {
                break;
            }
            report.unfinished |= round == SERVO_ROUNDS;
        }
    }

    /// v* without rows into `work`, servos as they stand. After kinematics and fixed forces.
    pub(super) fn free_velocity(&self, state: &mut RobotState, h: f64, level: Level, work: &mut RobotWork) {
        self.add_actuator_forces(state, h, level, work);
        let diagonal = if level > Level::Nothing { &work.u[..] } else { &[] };
        self.tree.accelerate_by_choice(&state.v, &work.tau, &[], diagonal, &mut work.tree, &mut work.dv);
        if level == Level::Rates && self.integrator == RobotIntegrator::Implicit {
            self.implicit_gyroscopic_all(&state.v, h, work);
        } else if level >= Level::Rates {
            self.implicit_gyroscopic_single(&state.v, h, work);
        }
        for d in 0..work.v.len() {
            work.v[d] = state.v[d] + h * work.dv[d];
        }
    }

    /// The state takes v⁺ and the forces that go with it.
    pub(super) fn take_velocity(&self, state: &mut RobotState, h: f64, level: Level, work: &mut RobotWork) {
        for (i, k) in work.rows.servo.iter().enumerate() {
            if let Some(k) = k {
                state.force[*k] = work.lambda[i];
            }
        }
        self.read_servo_forces(state, h, level, work);
        state.v.copy_from_slice(&work.v);
    }

    /// work.v ← v⁺ from v*, by the rows.
    fn solve_velocity(&self, h: f64, work: &mut RobotWork) -> BoxLcpReport {
        self.assemble_rows(h, work);
        work.d.clear();
        for i in 0..work.rows.len() {
            work.d.push(work.rows.target[i] - work.rows.times(i, &work.v));
        }
        let solved = self.solve_rows(work);
        self.add_response(h, &work.Y, &work.lambda, &mut work.v);
        solved
    }

    fn note(&self, solved: &BoxLcpReport, work: &RobotWork, report: &mut RobotReport) {
        report.rows = report.rows.max(work.rows.len() as u32);
        report.iterations = report.iterations.max(solved.rounds);
        report.residual = report.residual.max(solved.residual);
        report.weak_rows = solved.weak;
        report.unfinished |= solved.residual > 1e-6;
    }

    /// dv/dt at (q, v) with loops held at the acceleration level; into `work.dv`.
    fn acceleration(&self, state: &mut RobotState, work: &mut RobotWork, report: &mut RobotReport) {
        self.tree.kinematics(&state.q, &mut work.tree);
        self.fixed_forces(state, 0.0, Level::Nothing, work);
        self.add_actuator_forces(state, 0.0, Level::Nothing, work);
        self.tree.accelerate_by_choice(&state.v, &work.tau, &[], &[], &mut work.tree, &mut work.dv);
        if self.loops.is_empty() {
            return;
        }
        self.tree.velocities(&state.v, &mut work.tree);
        work.rows.clear();
        self.add_loop_rows(&state.q, Some(&state.v), work);
        self.assemble_rows(1.0, work);
        work.d.clear();
        for i in 0..work.rows.len() {
            work.d.push(-work.rows.bias[i] - work.rows.times(i, &work.dv));
        }
        let solved = self.solve_rows(work);
        self.note(&solved, work, report);
        self.add_response(1.0, &work.Y, &work.lambda, &mut work.dv);
    }

    fn runge_kutta(&self, state: &mut RobotState, h: f64, work: &mut RobotWork, report: &mut RobotReport) {
        let start = std::mem::take(&mut work.before);
        let mut u = std::mem::take(&mut work.q);
        // `u` holds the rate of the local coordinates of a stage; before it is evaluated, these coordinates themselves.
        u.clear();
        u.resize(self.tree.freedoms(), 0.0);
        work.v_sum.fill(0.0);
        work.dv_sum.fill(0.0);
        for (weight, next) in [(1.0, 0.5), (2.0, 0.5), (2.0, 1.0), (1.0, 0.0)] {
            self.acceleration(state, work, report);
            self.tree.rate_of_turn(&state.v, &mut u);
            for d in 0..u.len() {
                work.v_sum[d] += weight / 6.0 * u[d];
                work.dv_sum[d] += weight / 6.0 * work.dv[d];
            }
            if next > 0.0 {
                state.q.copy_from_slice(&start.q);
                self.tree.integrate(&mut state.q, &u, next * h);
                state.time = start.time + next * h;
                state.activation.copy_from_slice(&start.activation);
                self.advance_activations(state, next * h, true);
                for d in 0..u.len() {
                    state.v[d] = start.v[d] + next * h * work.dv[d];
                    u[d] *= next * h;
                }
            }
        }
        state.time = start.time;
        state.activation.copy_from_slice(&start.activation);
        state.q.copy_from_slice(&start.q);
        self.tree.integrate(&mut state.q, &work.v_sum, h);
        for d in 0..u.len() {
            state.v[d] = start.v[d] + h * work.dv_sum[d];
        }
        work.q = u;
        work.before = start;
        self.finish(state, h, work, report);
    }

    fn midpoint(&self, state: &mut RobotState, h: f64, work: &mut RobotWork, report: &mut RobotReport) {
        let mut room =
            work.midpoint.take().unwrap_or_else(|| Box::new((RobotWork::new(self), state.clone())));
        let (other, stage) = &mut *room;
        stage.copy_from(state);
        stage.time += 0.5 * h;
        let (q, v) = (&mut state.q, &mut state.v);
        let done = self.tree.step(Scheme::Midpoint, q, v, h, &mut work.tree, |q, v, tau| {
            // The tree's own springs and dampers are added by its step; what is left is the rest.
            stage.q.copy_from_slice(q);
            stage.v.copy_from_slice(v);
            self.tree.kinematics(q, &mut other.tree);
            self.fixed_forces(stage, 0.0, Level::Nothing, other);
            self.add_actuator_forces(stage, 0.0, Level::Nothing, other);
            other.dv.fill(0.0);
            self.tree.add_passive_forces(q, v, &mut other.tree, &mut other.dv);
            for d in 0..tau.len() {
                tau[d] += other.tau[d] - other.dv[d];
            }
        });
        state.force.copy_from_slice(&stage.force);
        work.midpoint = Some(room);
        report.iterations = done.iterations;
        report.unfinished |= !done.converged;
        self.finish(state, h, work, report);
    }

    /// Limits and friction as impulses on v; loops projected, positions and velocities.
    fn finish(&self, state: &mut RobotState, h: f64, work: &mut RobotWork, report: &mut RobotReport) {
        let inequalities = !self.limits.is_empty() || !self.dry.is_empty();
        if self.loops.is_empty() && !inequalities {
            return;
        }
        self.project(state, true, work, report);
        if inequalities {
            self.tree.kinematics(&state.q, &mut work.tree);
            work.rows.clear();
            self.add_limit_rows(&state.q, &state.v, h, work);
            self.add_friction_rows(&state.q, work);
            if work.rows.len() > 0 {
                self.add_loop_rows(&state.q, None, work);
                self.factor_at(work);
                work.v.copy_from_slice(&state.v);
                let solved = self.solve_velocity(h, work);
                self.note(&solved, work, report);
                state.v.copy_from_slice(&work.v);
            }
        }
    }

    /// M⁻¹ at hand where kinematics saturation.
    fn factor_at(&self, work: &mut RobotWork) {
        match self.tree.forward {
            ForwardDynamics::Articulated => self.tree.articulate(&[], &mut work.tree),
            ForwardDynamics::Factored => {
                self.tree.mass_matrix(&mut work.tree);
                self.tree.factor_mass(&mut work.tree);
            }
        }
    }

    /// q onto C = 0, and v onto A v = 0 if asked, by the smallest steps in the metric of M.
    pub(super) fn project(
        &self,
        state: &mut RobotState,
        velocities: bool,
        work: &mut RobotWork,
        report: &mut RobotReport,
    ) {
        if self.loops.is_empty() {
            return;
        }
        let mut last = f64::INFINITY;
        for round in 0..=MOST_PROJECTIONS {
            self.tree.kinematics(&state.q, &mut work.tree);
            if round == 0 {
                self.factor_at(work);
            }
            work.rows.clear();
            self.add_loop_rows(&state.q, None, work);
            let gap = work.rows.violation.iter().fold(0.0f64, |m, c| m.max(c.abs()));
            report.gap = gap;
            if gap < CLOSED || round == MOST_PROJECTIONS || gap > 0.5 * last || gap.is_nan() {
                break;
            }
            last = gap;
            report.projections += 1;
            self.assemble_rows(1.0, work);
            work.d.clear();
            work.d.extend(work.rows.violation.iter().map(|c| -c));
            self.solve_rows(work);
            work.v.fill(0.0);
            self.add_response(1.0, &work.Y, &work.lambda, &mut work.v);
            self.tree.integrate(&mut state.q, &work.v, 1.0);
        }
        if velocities {
            self.assemble_rows(1.0, work);
            work.d.clear();
            for i in 0..work.rows.len() {
                work.d.push(-work.rows.times(i, &state.v));
            }
            self.solve_rows(work);
            self.add_response(1.0, &work.Y, &work.lambda, &mut state.v);
        }
    }

    /// Worst violation of a loop or coupling at q \[m or rad\].
    pub fn worst_gap(&self, q: &[f64], work: &mut RobotWork) -> f64 {
        self.tree.kinematics(q, &mut work.tree);
        work.rows.clear();
        self.add_loop_rows(q, None, work);
        work.rows.violation.iter().fold(0.0, |m: f64, c| m.max(c.abs()))
    }

    /// Closes the loops of a state set by hand: positions, then velocities. Returns the gap that is left \[m or rad\].
    pub fn assemble(&self, state: &mut RobotState, work: &mut RobotWork) -> f64 {
        let mut report = RobotReport::default();
        for _ in 0..20 {
            self.project(state, true, work, &mut report);
            if report.gap < 1e-11 || report.gap.is_nan() {
                break;
            }
        }
        report.gap
    }
}
