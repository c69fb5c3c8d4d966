//! Robots beside the other bodies: each takes its own step of the same length, by the scheme that fits the method.
//!
//! | method | scheme of a robot |
//! |---|---|
//! | `ipc` | the same without contact, then [coupled](crate::coupling) to affine links |
//! | `impulse` | loops, limits and friction at the velocity level; dampers and servos implicit |
//! | `lagrange`, `explicit` with `rk4` | Runge-Kutta, loops at the acceleration level |
//! | both with `midpoint` | implicit midpoint |
//! | `explicit` with `symplectic_euler` | all forces at the start, loops at the velocity level |

use super::{Integrator, Method, StepError, StepReport, Workspace};
use crate::model::Model;
use crate::robot::{RobotScheme, RobotState, RobotWork};
use crate::state::State;

/// Integrators that robots know, as a sentence has them.
pub const ROBOT_INTEGRATORS: &str = "`rk4`, `midpoint` or (`explicit` only) `symplectic_euler`";

/// The scheme of robots under a method; none if it does not take robots.
pub fn robot_scheme(method: &Method) -> Option<RobotScheme> {
    match (method, method.integrator()) {
        (Method::Impulse(_) | Method::Ipc(_), _) => Some(RobotScheme::Implicit),
        (Method::Explicit(_), Some(Integrator::SymplecticEuler)) => Some(RobotScheme::SemiImplicit),
        (_, Some(Integrator::Rk4)) => Some(RobotScheme::RungeKutta4),
        (_, Some(Integrator::Midpoint)) => Some(RobotScheme::Midpoint),
        _ => None,
    }
}

/// Buffers of all robots.
#[derive(Debug, Default)]
pub(crate) struct RobotsWork {
    parts: Vec<(RobotState, RobotWork)>,
    before: State,
    packed: Vec<f64>,
}

/// The other bodies first, then the robots; if any of them fails, the state is as it was.
pub(super) fn step(
    method: &Method,
    model: &Model,
    state: &mut State,
    h: f64,
    work: &mut Workspace,
) -> Result<StepReport, StepError> {
    let Some(scheme) = robot_scheme(method) else {
        let name = match method.integrator() {
            Some(integrator) => format!("{} with {}", method.name(), integrator.name()),
            None => method.name().to_owned(),
        };
        return Err(StepError::NoRobots(name, ROBOT_INTEGRATORS));
    };
    let mut own = std::mem::take(&mut work.robots);
    own.fit(model);
    own.before.copy_from(state);
    let done = method.step_bodies(model, state, h, work).and_then(|mut report| {
        for (part, (robot, room)) in model.robots.iter().zip(&mut own.parts) {
            robot.unpack(own.before.time, &own.before.robots[part.place.clone()]);
            let stepped = part.robot.step(scheme, robot, h, room)?;
            own.packed.clear();
            robot.pack(&mut own.packed);
            state.robots[part.place.clone()].copy_from_slice(&own.packed);
            report.iterations = report.iterations.max(stepped.iterations);
            report.residual = report.residual.max(stepped.residual);
            report.weak_rows += stepped.weak_rows;
            report.gap = report.gap.max(stepped.gap);
            report.projections += stepped.projections;
            report.unfinished |= stepped.unfinished;
        }
        Ok(report)
    });
    if done.is_err() {
        state.copy_from(&own.before);
    }
    work.robots = own;
    done
}

impl RobotsWork {
    /// Kinetic energy of all robots \[J\].
    pub(super) fn kinetic(&mut self, model: &Model, state: &State) -> f64 {
        self.fit(model);
        let mut sum = 0.0;
        for (part, (robot, room)) in model.robots.iter().zip(&mut self.parts) {
            robot.unpack(state.time, &state.robots[part.place.clone()]);
            sum += part.robot.kinetic_energy(robot, room);
        }
        sum
    }

    /// Room for the robots of a model, made anew if it was for another.
    fn fit(&mut self, model: &Model) {
        let fits = |(part, (state, _)): (&crate::model::NamedRobot, &(RobotState, RobotWork))| {
            let m = part.robot.lengths();
            [state.q.len(), state.v.len(), state.activation.len(), state.control.len()] == m[..4]
        };
        if self.parts.len() != model.robots.len() || !model.robots.iter().zip(&self.parts).all(fits) {
            self.parts = model.robots.iter().map(|part| (part.robot.blank(), part.robot.work())).collect();
        }
    }
}
