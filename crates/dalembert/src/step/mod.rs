//! Methods: how a state moves on by h seconds.
//!
//! A method is a short list of named moves over bodies, mappings, forces and filters. All of them share one contract:
//! on success the state is at t + h; on failure it is as it was, bit for bit.

mod integrator;
mod joint_springs;
mod system;
mod tangent;

mod phase;

pub mod explicit;
pub mod lagrange;

pub mod implicit;

pub mod impulse;
pub mod ipc;

mod diverged;
mod robots;

pub use explicit::Explicit;
pub use implicit::{Implicit, Scheme};
pub use impulse::{Impulse, RowSolver};
pub use integrator::Integrator;
pub use ipc::{Ipc, Touching};
pub use lagrange::{Impacts, Lagrange, assemble};
pub use robots::{ROBOT_INTEGRATORS, robot_scheme};
pub use system::{RowCount, gaps, independent_rows, worst_gap};

use std::sync::Arc;

use crate::coupling::{Articulation, DriveError, DriveReport, Driver};
use crate::model::{Energy, Model};
use crate::solve::cg::CgStop;
use crate::solve::linear::LinearReport;
use crate::solve::ode::OdeWork;
use crate::state::Drive;
use crate::state::State;
use implicit::ImplicitWork;
use impulse::ImpulseWork;
use ipc::IpcWork;
use system::System;

/// What a step did.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StepReport {
    /// Time after the step \[s\].
    pub time: f64,
    /// Inner steps that were accepted; 1 for a fixed-step integrator.
    pub substeps: u32,
    /// Inner steps that were tried and rejected.
    pub rejected: u32,
    /// Evaluations of all forces.
    pub evaluations: u32,
    /// Size of the last inner step \[s\].
    pub last_substep: f64,
    /// Rounds of the constraint solver: active-set rounds, or sweeps.
    pub iterations: u32,
    /// What the constraint solver left over, relative; 0 if there is none.
    pub residual: f64,
    /// Rows that depend on other rows, so that their λ is a matter of choice.
    pub weak_rows: u32,
    /// Worst violation of a hard joint after the step \[m or rad\].
    pub gap: f64,
    /// Newton steps of the position projection.
    pub projections: u32,
    /// A solver gave up before it met its own rule.
    pub unfinished: bool,
    /// How the last linear system was solved, if there was one.
    pub linear: Option<LinearReport>,
    /// Iterations of linear solvers, in all.
    pub linear_iterations: u32,
    /// Linear systems that had to be solved again with a projected tangent, or directly.
    pub fallbacks: u32,
    /// Pairs of primitives in contact.
    pub contacts: u32,
    /// Smallest gap of a contact \[m\]; 0 if the method knows none, infinite if nothing is near.
    pub smallest_gap: f64,
}

impl StepError {
    /// True if the motion ran away: its numbers overflowed, or the step makes energy from nothing.
    pub fn is_divergence(&self) -> bool {
        use crate::robot::RobotStepError;
        use crate::solve::ode::OdeError;
        matches!(
            self,
            StepError::Diverged { .. }
                | StepError::NonFinite { .. }
                | StepError::Adaptive(OdeError::NonFinite { .. })
                | StepError::Robot(RobotStepError::NonFinite { .. })
        )
    }

    /// True if a prescribed motion was blocked: shorter steps may find a path.
    fn has_no_room(&self) -> bool {
        matches!(self, StepError::Blocked { .. } | StepError::Crushed { .. })
    }
}

impl StepReport {
    /// Adds what a part of the step reports: sums of work, the worst of what was left, the contacts at its end.
    fn take_part(&mut self, part: &StepReport) {
        self.substeps += part.substeps;
        self.rejected += part.rejected;
        self.evaluations += part.evaluations;
        self.last_substep = part.last_substep;
        self.iterations += part.iterations;
        self.residual = self.residual.max(part.residual);
        self.weak_rows = part.weak_rows;
        self.gap = part.gap;
        self.projections += part.projections;
        self.unfinished |= part.unfinished;
        self.linear = part.linear;
        self.linear_iterations += part.linear_iterations;
        self.fallbacks += part.fallbacks;
        self.contacts = part.contacts;
        self.smallest_gap = self.smallest_gap.min(part.smallest_gap);
    }
}

/// Why a step failed. The state is as it was before the step.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StepError {
    /// Numbers overflowed.
    #[error(
        "`{object}` (point {index}) stopped being finite in the step from t = {time} s with h = {h} s under `{method}`; a smaller dt or softer forces would help"
    )]
    NonFinite {
        /// Name of the body.
        object: String,
        /// Point within it.
        index: usize,
        /// Time before the step \[s\].
        time: f64,
        /// Step size \[s\].
        h: f64,
        /// Method and integrator.
        method: String,
    },
    /// The step makes energy from nothing: it is too long for what it steps.
    #[error(
        "`{object}` (point or dof {index}) has diverged at t = {time} s under `{method}`: a step of h = {h} s brings it to {speed:.3e} {unit}, which is {error:.3e} {unit} off what two halves of it give; a smaller dt, softer or more damped forces, or the method `implicit` or `ipc` would help"
    )]
    Diverged {
        /// Name of the body or robot.
        object: String,
        /// Point within it, or dof of a robot.
        index: usize,
        /// Time before the step \[s\].
        time: f64,
        /// Step size \[s\].
        h: f64,
        /// Its speed after the step \[m/s or rad/s\].
        speed: f64,
        /// Size of the difference of its velocity from that after two steps of half the size \[m/s or rad/s\].
        error: f64,
        /// Unit of both.
        unit: &'static str,
        /// Method and integrator.
        method: String,
    },
    /// An adaptive integrator could not go on.
    #[error("the adaptive step failed: {0}")]
    Adaptive(#[from] crate::solve::ode::OdeError),
    /// No linear solver could solve the system of an implicit step.
    #[error(
        "no linear solver could take the implicit step from t = {time} s ({stop:?}, residual {residual:.1e} after {iterations} iterations); parts that nothing holds need a mass, and a smaller dt or softer forces would help"
    )]
    Linear {
        /// What the last one met.
        stop: CgStop,
        /// Its iterations.
        iterations: usize,
        /// What was left, relative.
        residual: f64,
        /// Time of the forces \[s\].
        time: f64,
    },
    /// There was no memory for the matrix of an implicit step, or its numbers were not finite.
    #[error("the linear system of the implicit step could not be solved: {0}")]
    Factor(#[from] crate::solve::linear::LinearError),
    /// A robot could not go on.
    #[error(transparent)]
    Robot(#[from] crate::robot::RobotStepError),
    /// The method or its integrator does not take robots.
    #[error("`{0}` does not step robots; use `impulse` or `ipc`, or `lagrange` or `explicit` with {1}")]
    NoRobots(String, &'static str),
    /// A body with prescribed motion would squeeze a rigid one out of shape.
    #[error(
        "`{object}` has prescribed motion and would squeeze the rigid body `{squeezed}` to {percent:.0} % of its size in the step from t = {time} s: it has no room; a slower motion, more room or a soft body would help"
    )]
    Crushed {
        /// Name of the body with prescribed motion.
        object: String,
        /// Name of the rigid body.
        squeezed: String,
        /// What is left of it in the worst direction \[%\].
        percent: f64,
        /// Time before the step \[s\].
        time: f64,
    },
    /// A body with prescribed motion has no room.
    #[error(
        "`{object}` has prescribed motion but is {distance:.2e} m short of its place at the end of the step from t = {time} s: what it pushes has no room; a slower motion or a softer body would help"
    )]
    Blocked {
        /// Name of the body.
        object: String,
        /// What is left of its path \[m\].
        distance: f64,
        /// Time before the step \[s\].
        time: f64,
    },
    /// The state that the step began with has things that touch.
    #[error(
        "something touches or intersects already at t = {time} s, before the step; a state set by hand must keep things apart"
    )]
    Touching {
        /// Time before the step \[s\].
        time: f64,
    },
    /// More pairs of primitives are near each other than memory can hold.
    #[error("the step from t = {time} s was refused: {message}")]
    Crowded {
        /// What was found.
        message: String,
        /// Time before the step \[s\].
        time: f64,
    },
    /// Friction and rigid bodies contradict each other.
    #[error(
        "no forces of contact between `{a}` and `{b}` agree with rigid bodies and Coulomb friction at t = {time} s (as for a rod sliding on its tip, Painlevé 1895); less friction, or the method `impulse`, would help"
    )]
    NoContactForce {
        /// Name of one thing.
        a: String,
        /// Name of the other.
        b: String,
        /// Time before the step \[s\].
        time: f64,
    },
    /// Contacts change between resting, sliding and flying too often to follow each change.
    #[error(
        "the step of {h} s at t = {time} s needs more than {most} trials: contacts that stop, slide and part cut it into {parts} parts, and {done} s of it are done; take a shorter dt, or the method `impulse`, which does not follow each event"
    )]
    TooManyEvents {
        /// Size of the step \[s\].
        h: f64,
        /// Trials allowed in one step.
        most: u32,
        /// Parts between events so far.
        parts: u32,
        /// Time of the step that is done \[s\].
        done: f64,
        /// Time before the step \[s\].
        time: f64,
    },
    /// What drives an articulation gave no sense.
    #[error(transparent)]
    Drive(#[from] crate::coupling::DriveError),
    /// The caller asked for a step that is none.
    #[error("the step size must be a positive, finite number of seconds, but is {0}")]
    BadStepSize(f64),
}

/// The way a scene is advanced in time.
#[derive(Debug, Clone, PartialEq)]
pub enum Method {
    /// Explicit integration of M v̇ = f; joints as spring-dampers.
    Explicit(Explicit),
    /// Joints exact, by multipliers at the acceleration level.
    Lagrange(Lagrange),
    /// Joints hard or soft, at the velocity level.
    Impulse(Impulse),
    /// Forces at the end of the step; joints as spring-dampers.
    Implicit(Implicit),
    /// One minimisation per step, in which nothing ever intersects.
    Ipc(Ipc),
}

impl Default for Method {
    fn default() -> Self {
        Method::Explicit(Explicit::default())
    }
}

impl Method {
    /// Names of all methods, as in scene files.
    pub const NAMES: &'static [&'static str] = &["explicit", "lagrange", "impulse", "implicit", "ipc"];

    /// Name of the method, as in scene files.
    pub fn name(&self) -> &'static str {
        match self {
            Method::Explicit(_) => "explicit",
            Method::Lagrange(_) => "lagrange",
            Method::Impulse(_) => "impulse",
            Method::Implicit(_) => "implicit",
            Method::Ipc(_) => "ipc",
        }
    }

    /// The method with the given name and its default settings.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "explicit" => Some(Method::Explicit(Explicit::default())),
            "lagrange" => Some(Method::Lagrange(Lagrange::default())),
            "impulse" => Some(Method::Impulse(Impulse::default())),
            "implicit" => Some(Method::Implicit(Implicit::default())),
            "ipc" => Some(Method::Ipc(Ipc::default())),
            _ => None,
        }
    }

    /// The integrator, if the method has one.
    pub fn integrator(&self) -> Option<Integrator> {
        match self {
            Method::Explicit(m) => Some(m.integrator),
            Method::Lagrange(m) => Some(m.integrator),
            Method::Impulse(_) | Method::Implicit(_) | Method::Ipc(_) => None,
        }
    }

    /// Sets the integrator; false if the method has none.
    pub fn set_integrator(&mut self, integrator: Integrator) -> bool {
        match self {
            Method::Explicit(m) => m.integrator = integrator,
            Method::Lagrange(m) => m.integrator = integrator,
            Method::Impulse(_) | Method::Implicit(_) | Method::Ipc(_) => return false,
        }
        true
    }

    /// Advances `state` by `h` seconds.
    pub fn step(
        &self,
        model: &Model,
        state: &mut State,
        h: f64,
        work: &mut Workspace,
    ) -> Result<StepReport, StepError> {
        if !(h.is_finite() && h > 0.0) {
            return Err(StepError::BadStepSize(h));
        }
        if !model.robots.is_empty() && robot_scheme(self).is_none() {
            return Err(StepError::NoRobots(self.to_string(), ROBOT_INTEGRATORS));
        }
        diverged::check(self, model, state, h, work)?;
        self.advance(model, state, h, work)
    }

    /// The step itself.
    fn advance(
        &self,
        model: &Model,
        state: &mut State,
        h: f64,
        work: &mut Workspace,
    ) -> Result<StepReport, StepError> {
        match self {
            Method::Explicit(explicit) => explicit.step(model, state, h, work),
            Method::Lagrange(lagrange) => lagrange.step(model, state, h, work),
            Method::Impulse(impulse) => impulse.step(model, state, h, work),
            Method::Implicit(implicit) => implicit.step(model, state, h, work),
            Method::Ipc(ipc) => ipc.step(model, state, h, work),
        }
    }
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.integrator() {
            Some(integrator) => write!(f, "{} with {}", self.name(), integrator.name()),
            None => f.write_str(self.name()),
        }
    }
}

/// Buffers of a step. May be dropped at any moment without changing a result.
#[derive(Debug, Default)]
pub struct Workspace {
    /// Next coordinates.
    pub(crate) q: Vec<f64>,
    /// Next velocities.
    pub(crate) v: Vec<f64>,
    /// Forces on all velocities, free and carried.
    pub(crate) f: Vec<f64>,
    /// Both, one after the other, for first-order integrators.
    pub(crate) y: Vec<f64>,
    pub(crate) ode: OdeWork,
    /// The state that a step builds before it becomes the state, or the one before a step that may fail.
    pub(crate) next: State,
    pub(crate) lagrange: System,
    pub(crate) lagrange_contact: lagrange::ContactPointWork,
    pub(crate) impulse: ImpulseWork,
    pub(crate) implicit: ImplicitWork,
    pub(crate) robots: robots::RobotsWork,
    pub(crate) ipc: IpcWork,
}

impl Workspace {
    /// Empty; grows at the first step.
    pub fn new() -> Self {
        Self::default()
    }

    /// Time that the term of articulations has taken in all steps of `ipc` so far, the dynamics of robots included: to be
    /// compared with the time of the steps.
    pub fn coupling_time(&self) -> std::time::Duration {
        self.ipc.coupling.spent
    }
}

/// v += h a for every free velocity. Rotations of rigid bodies enter as (torque-free) changes of ω at fixed R.
fn kick(model: &Model, v: &mut [f64], a: &[f64], h: f64) {
    for (v, a) in v[..model.layout.nv].iter_mut().zip(a) {
        *v += h * a;
    }
}

/// q moves along v for h seconds: points and generalized coordinates straight, rigid bodies by their free flight, which
/// keeps angular momentum and energy of the spin.
fn drift(model: &Model, q: &mut [f64], v: &mut [f64], h: f64) {
    let layout = &model.layout;
    let n = layout.rigid;
    model.rigid.free_flight(&mut q[..7 * n], &mut v[..6 * n], h);
    for (q, v) in q[7 * n..layout.nq].iter_mut().zip(&v[6 * n..layout.nv]) {
        *q += h * v;
    }
}

/// A model, a state and a method: the plain bundle for users.
///
/// All fields are public; nothing is kept elsewhere.
#[derive(Debug)]
pub struct Simulation {
    /// What does not change.
    pub model: Arc<Model>,
    /// What changes.
    pub state: State,
    /// Buffers.
    pub workspace: Workspace,
    /// How a step is taken.
    pub method: Method,
    /// Step size h \[s\].
    pub dt: f64,
    /// Report of the last step.
    pub report: StepReport,
    /// Energy at the start, for drift.
    pub start_energy: Energy,
    /// Largest kinetic energy that was seen so far, at the start or after a step, for drift \[J\].
    pub largest_kinetic: f64,
}

/// After so many steps, one in [`RARELY`] is asked for its kinetic energy.
const OFTEN: u64 = 64;
/// See [`OFTEN`].
const RARELY: u64 = 8;

impl Simulation {
    /// Advances by one step of `dt` seconds.
    pub fn step(&mut self) -> Result<StepReport, StepError> {
        self.report = self.method.step(&self.model, &mut self.state, self.dt, &mut self.workspace)?;
        if self.state.steps <= OFTEN || self.state.steps.is_multiple_of(RARELY) {
            let kinetic = self.model.kinetic_of_bodies(&self.state)
                + self.workspace.robots.kinetic(&self.model, &self.state);
            self.largest_kinetic = self.largest_kinetic.max(kinetic);
        }
        Ok(self.report)
    }

    /// Makes the present state the one that [`energy_drift`](Self::energy_drift) is counted from.
    pub fn restart_energy(&mut self) {
        self.start_energy = self.energy();
        self.largest_kinetic = self.start_energy.kinetic;
    }

    /// Asks `driver` for mass and increments of every articulation that no robot of the scene drives, then advances by one
    /// step. If the driver fails, or what it says has no sense, the state stays as it is.
    pub fn step_driven(
        &mut self,
        mut driver: impl FnMut(&Articulation, &State) -> Result<Drive, String>,
    ) -> Result<StepReport, StepError> {
        let Some(ipc) = &self.model.ipc else { return self.step() };
        let mut drives = Vec::with_capacity(ipc.articulations.len());
        for a in &ipc.articulations {
            drives.push(if a.driver == Driver::External {
                driver(a, &self.state)
                    .map_err(|message| DriveError::Driver { articulation: a.name.clone(), message })?
            } else {
                Drive::default()
            });
        }
        let before = std::mem::replace(&mut self.state.drives, drives);
        let done = self.step();
        if done.is_err() {
            self.state.drives = before;
        }
        done
    }

    /// What the last step made of an articulation; none before the first step.
    pub fn articulation(&self, name: &str) -> Option<&DriveReport> {
        let list = &self.model.ipc.as_ref()?.articulations;
        self.workspace.ipc.coupling.reports.get(list.iter().position(|a| a.name == name)?)
    }

    /// Takes as many steps as fit into `duration` seconds (rounded to the nearest whole number).
    pub fn run(&mut self, duration: f64) -> Result<(), StepError> {
        for _ in 0..(duration / self.dt).round() as u64 {
            self.step()?;
        }
        Ok(())
    }

    /// Contacts now and their forces: those of the last step under `impulse`, those at the present state under `ipc`;
    /// none under other methods.
    pub fn contacts(&self) -> Result<Vec<crate::model::ContactForce>, StepError> {
        match &self.method {
            Method::Ipc(ipc) => Ok(ipc.touching(&self.model, &self.state, self.dt)?.forces),
            _ => Ok(self.model.contact_forces(&self.state).collect()),
        }
    }

    /// Kinetic and potential energy now \[J\].
    pub fn energy(&self) -> Energy {
        self.model.energy(&self.state)
    }

    /// Change of the total energy since the start relative to the largest energy exchanged so far; see
    /// [`Energy::drift`]. Work of drives and of forces from outside, and what friction takes, are part of the change.
    pub fn energy_drift(&self) -> f64 {
        self.energy().drift(&self.start_energy, self.largest_kinetic)
    }
}

/// Does work on a thread of the pool if there is much of it: the many places where threads share it then find their helpers
/// there already, instead of waking them.
fn on_pool<R: Send>(large: bool, work: impl FnOnce() -> R + Send) -> R {
    if large && rayon::current_thread_index().is_none() && rayon::current_num_threads() > 1 {
        rayon::scope(|_| work())
    } else {
        work()
    }
}
