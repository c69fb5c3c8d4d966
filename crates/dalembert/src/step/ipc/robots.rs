//! Robots of the scene that drive affine links: before a step each gives mass and increments, after it each takes back what
//! came out.

use crate::coupling::{Articulation, DriveReport, Driver, drive_of_robot};
use crate::model::{Model, NamedRobot};
use crate::robot::{RobotState, RobotStepError, RobotWork};
use crate::state::{Drive, State};

/// Buffers of all robots that drive articulations.
#[derive(Debug, Default)]
pub(super) struct RobotDrivers {
    /// State before, state ahead, buffers; by the number of the robot.
    parts: Vec<(RobotState, RobotState, RobotWork)>,
}

impl RobotDrivers {
    /// The drive of robot k.
    pub(super) fn drive(
        &mut self,
        model: &Model,
        a: &Articulation,
        k: usize,
        state: &State,
        h: f64,
        drive: &mut Drive,
    ) -> Result<(), RobotStepError> {
        if self.parts.len() != model.robots.len() {
            let room = |r: &NamedRobot| (r.robot.blank(), r.robot.blank(), r.robot.work());
            self.parts = model.robots.iter().map(room).collect();
        }
        let named = &model.robots[k];
        let (before, ahead, work) = &mut self.parts[k];
        named.load(state, before);
        let done = drive_of_robot(&named.robot, a, before, h, ahead, work, drive);
        done.map_err(|error| error.of(&named.name))
    }
}

/// Writes increments back to the robots: q, v and accelerations; the rest is as the free step left it.
pub(super) fn take_back(
    model: &Model,
    articulations: &[Articulation],
    drives: &[Drive],
    reports: &[DriveReport],
    drivers: &mut RobotDrivers,
    h: f64,
    next: &mut State,
) {
    let RobotDrivers { parts } = drivers;
    for ((a, drive), report) in articulations.iter().zip(drives).zip(reports) {
        let Driver::Robot(k) = a.driver else { continue };
        let named = &model.robots[k];
        let (before, ahead, _) = &mut parts[k];
        ahead.q.copy_from_slice(&before.q);
        named.robot.tree.integrate(&mut ahead.q, &report.delta, 1.0);
        for d in 0..report.delta.len() {
            ahead.v[d] += (report.delta[d] - drive.delta[d]) / h;
            ahead.acceleration[d] = (ahead.v[d] - before.v[d]) / h;
        }
        named.store(ahead, next);
    }
}
