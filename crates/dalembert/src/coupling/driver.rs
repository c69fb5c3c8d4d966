//! The built-in driver: our own reduced dynamics of a robot of the scene.
//!
//! The machine takes its implicit step without contact, $(M + hB + h^2K)(v^* - v) = h(\tau - b - hKv)$, with its limits and
//! dry friction. So $\tilde{\delta\theta} = h v^*$ and the effective mass is $M + hB + h^2K$, armature included: with contact
//! forces f the term's minimum is $(M + hB + h^2K)(v^+ - v^*) = h J^T f$, the same step with f known. The links' poses at the
//! robot's own q are the reference, and after the step $q \leftarrow q \oplus \delta\theta$, $v \leftarrow \delta\theta/h$: the robot's
//! coordinates stay the only memory of where it is, over any number of turns.

use super::{Articulation, Drive, DriveReport, Driver, dof_of_pose};
use crate::bodies::articulated::machine::{
    Machine, MachineScheme, MachineState, MachineStepError, MachineWork,
};
use crate::model::{Model, State};

/// Mass, increments and reference of a robot at `state`, for a step of h seconds; `ahead` becomes the state after that step
/// without contact.
pub fn drive_of_robot(
    machine: &Machine,
    articulation: &Articulation,
    state: &MachineState,
    h: f64,
    ahead: &mut MachineState,
    work: &mut MachineWork,
) -> Result<Drive, MachineStepError> {
    let tree = &machine.tree;
    let m = tree.freedoms();
    ahead.copy_from(state);
    machine.step(MachineScheme::Implicit, ahead, h, work)?;
    let mut drive = Drive { mass: vec![0.0; m * m], delta: vec![0.0; m], reference: Vec::new() };
    tree.difference(&state.q, &ahead.q, &mut drive.delta);
    machine.effective_mass(state, ahead, h, work, &mut drive.mass);
    for k in 0..articulation.links.len() {
        drive.reference.extend(dof_of_pose(&tree.link_pose(k, &work.tree)));
    }
    Ok(drive)
}

/// Buffers of all robots that drive articulations.
#[derive(Debug, Default)]
pub(crate) struct RobotDrivers {
    /// State before, state ahead, buffers; by the number of the robot.
    parts: Vec<(MachineState, MachineState, MachineWork)>,
}

impl RobotDrivers {
    /// The drive of robot k.
    pub(crate) fn drive(
        &mut self,
        model: &Model,
        a: &Articulation,
        k: usize,
        state: &State,
        h: f64,
    ) -> Result<Drive, MachineStepError> {
        if self.parts.len() != model.robots.len() {
            let room = |r: &crate::model::RobotPart| (r.machine.blank(), r.machine.blank(), r.machine.work());
            self.parts = model.robots.iter().map(room).collect();
        }
        let robot = &model.robots[k];
        let (before, ahead, work) = &mut self.parts[k];
        before.unpack(state.time, &state.robots[robot.place.clone()]);
        drive_of_robot(&robot.machine, a, before, h, ahead, work)
    }
}

/// Writes increments back to the robots: q, v and accelerations; the rest is as the free step left it.
pub(crate) fn take_back(
    model: &Model,
    articulations: &[Articulation],
    reports: &[DriveReport],
    drivers: &mut RobotDrivers,
    h: f64,
    next: &mut State,
) {
    for (a, report) in articulations.iter().zip(reports) {
        let Driver::Robot(k) = a.driver else { continue };
        let robot = &model.robots[k];
        let (before, ahead, _) = &mut drivers.parts[k];
        ahead.q.copy_from_slice(&before.q);
        robot.machine.tree.integrate(&mut ahead.q, &report.delta, 1.0);
        for (d, delta) in report.delta.iter().enumerate() {
            ahead.v[d] = delta / h;
            ahead.acceleration[d] = (ahead.v[d] - before.v[d]) / h;
        }
        let mut packed = Vec::with_capacity(robot.place.len());
        ahead.pack(&mut packed);
        next.robots[robot.place.clone()].copy_from_slice(&packed);
    }
}
