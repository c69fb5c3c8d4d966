//! Robots of the scene that drive affine links: before a step each gives mass and increments, after it each takes back what
//! came out.

use super::work::IpcWork;
use crate::contact::potential::End;
use crate::coupling::{Articulation, CouplingWork, DriveError, DriveReport, Driver, drive_of_robot};
use crate::model::{Model, NamedRobot};
use crate::robot::{RobotState, RobotStepError, RobotWork};
use crate::state::{Drive, State};
use crate::step::StepError;

/// Buffers of all robots that drive articulations.
#[derive(Debug, Default)]
pub(super) struct RobotDrivers {
    /// State before, state ahead, buffers; by the number of the robot.
    parts: Vec<(RobotState, RobotState, RobotWork)>,
}

impl RobotDrivers {
    /// The drive of robot k.
    fn drive(
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
fn take_back(
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

impl IpcWork {
    /// Takes the drives of all articulations: of robots by their own dynamics, of others from the state.
    pub(super) fn take_drives(&mut self, model: &Model, state: &State, h: f64) -> Result<(), StepError> {
        let Some(ipc) = &model.ipc else { return Ok(()) };
        let start = std::time::Instant::now();
        let CouplingWork { drives, room, spent, .. } = &mut self.coupling;
        let drivers = &mut self.drivers;
        drives.resize_with(ipc.articulations.len(), Default::default);
        for ((k, a), drive) in ipc.articulations.iter().enumerate().zip(drives) {
            match a.driver {
                Driver::Robot(robot) => drivers.drive(model, a, robot, state, h, drive)?,
                Driver::External => match state.drives.get(k) {
                    Some(given) => drive.copy_from(given),
                    None => return Err(DriveError::Missing { articulation: a.name.clone() }.into()),
                },
            }
            drive.check_with(a, room)?;
        }
        *spent += start.elapsed();
        Ok(())
    }

    /// Returns to the drivers what articulations did, and writes the coordinates of robots.
    pub(super) fn return_drives(&mut self, model: &Model, h: f64, next: &mut State) {
        let Some(ipc) = model.ipc.as_ref().filter(|_| !self.coupling.is_empty()) else { return };
        let b = &mut self.b.value;
        b.fill(0.0);
        self.contact.energy(&ipc.geometry, End::Iterate);
        self.contact.gradient(&ipc.geometry, b);
        self.coupling.finish(&ipc.articulations, &self.q, b);
        let CouplingWork { drives, reports, .. } = &self.coupling;
        take_back(model, &ipc.articulations, drives, reports, &mut self.drivers, h, next);
    }
}
