//! The phase of robots in a step: each tree takes its own step of the same length, by the scheme that fits the method.
//!
//! | method | scheme of a robot |
//! |---|---|
//! | `impulse` | loops, limits and friction at the velocity level; dampers and servos implicit |
//! | `lagrange`, `explicit` with `rk4` | Runge-Kutta, loops at the acceleration level |
//! | both with `midpoint` | implicit midpoint |
//! | `explicit` with `symplectic_euler` | all forces at the start, loops at the velocity level |
//!
//! Under `impulse` with contact robots are solved together with what they touch, and under `ipc` they drive affine links by
//! [`coupling`](crate::coupling): there the phase is another one.

use super::{Integrator, Method, StepReport};
use crate::model::Model;
use crate::robot::{RobotReport, RobotScheme, RobotState, RobotStepError, RobotWork};
use crate::state::State;

/// Integrators that robots know, as a sentence has them.
pub const ROBOT_INTEGRATORS: &str = "`rk4`, `midpoint` or (`explicit` only) `symplectic_euler`";

/// The scheme of robots under a method; none if it does not take robots.
pub fn robot_scheme(method: &Method) -> Option<RobotScheme> {
    match method {
        Method::Explicit(explicit) => explicit.robot_scheme(),
        Method::Lagrange(lagrange) => lagrange.robot_scheme(),
        Method::Impulse(_) | Method::Ipc(_) => Some(RobotScheme::Implicit),
        Method::Implicit(_) => None,
    }
}

impl Integrator {
    /// The scheme of robots beside bodies that go by this integrator of higher order; none if robots have none like it.
    pub(super) fn robot_scheme(self) -> Option<RobotScheme> {
        match self {
            Integrator::Rk4 => Some(RobotScheme::RungeKutta4),
            Integrator::Midpoint => Some(RobotScheme::Midpoint),
            _ => None,
        }
    }
}

/// Buffers of all robots: a state each, and what its step needs.
#[derive(Debug, Default)]
pub(crate) struct RobotsWork {
    parts: Vec<(RobotState, RobotWork)>,
}

impl RobotsWork {
    /// Steps all robots by h seconds in the buffers; the state stays as it is until [`store`](Self::store). Nothing is done, and
    /// nothing reported, without robots or without a scheme.
    pub(super) fn advance(
        &mut self,
        scheme: Option<RobotScheme>,
        model: &Model,
        state: &State,
        h: f64,
    ) -> Result<Option<RobotReport>, RobotStepError> {
        let Some(scheme) = scheme.filter(|_| !model.robots.is_empty()) else { return Ok(None) };
        self.fit(model);
        let mut report = RobotReport::default();
        for (named, (own, work)) in model.robots.iter().zip(&mut self.parts) {
            named.load(state, own);
            let one = named.robot.step(scheme, own, h, work).map_err(|error| error.of(&named.name))?;
            report.take_robot(&one);
        }
        Ok(Some(report))
    }

    /// The state, and the report of the bodies, take what [`advance`](Self::advance) found.
    pub(super) fn store(
        &self,
        robots: Option<RobotReport>,
        model: &Model,
        state: &mut State,
        report: &mut StepReport,
    ) {
        let Some(robots) = robots else { return };
        for (named, (own, _)) in model.robots.iter().zip(&self.parts) {
            named.store(own, state);
        }
        report.take_robots(&robots);
    }

    /// Kinetic energy of all robots \[J\].
    pub(super) fn kinetic(&mut self, model: &Model, state: &State) -> f64 {
        self.fit(model);
        let mut sum = 0.0;
        for (named, (own, work)) in model.robots.iter().zip(&mut self.parts) {
            named.load(state, own);
            sum += named.robot.kinetic_energy(own, work);
        }
        sum
    }

    /// Room for the robots of a model, made anew if it was for another.
    fn fit(&mut self, model: &Model) {
        let fits = |(named, (state, _)): (&crate::model::NamedRobot, &(RobotState, RobotWork))| {
            let place = &named.place;
            let lengths = [&place.q, &place.v, &place.activations, &place.actuators].map(|range| range.len());
            [state.q.len(), state.v.len(), state.activation.len(), state.control.len()] == lengths
        };
        if self.parts.len() != model.robots.len() || !model.robots.iter().zip(&self.parts).all(fits) {
            self.parts = model.robots.iter().map(|named| (named.robot.blank(), named.robot.work())).collect();
        }
    }
}

impl RobotReport {
    /// Adds what another robot reports: the worst of what was left, sums of work.
    pub(super) fn take_robot(&mut self, one: &RobotReport) {
        self.iterations = self.iterations.max(one.iterations);
        self.residual = self.residual.max(one.residual);
        self.weak_rows += one.weak_rows;
        self.gap = self.gap.max(one.gap);
        self.projections += one.projections;
        self.unfinished |= one.unfinished;
    }
}

impl StepReport {
    /// Adds what the robots report.
    pub(super) fn take_robots(&mut self, robots: &RobotReport) {
        self.iterations = self.iterations.max(robots.iterations);
        self.residual = self.residual.max(robots.residual);
        self.weak_rows += robots.weak_rows;
        self.gap = self.gap.max(robots.gap);
        self.projections += robots.projections;
        self.unfinished |= robots.unfinished;
    }
}
