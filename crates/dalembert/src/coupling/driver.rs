//! The built-in driver: our own reduced dynamics of a robot of the scene.
//!
//! The machine takes its implicit step without contact, $(M + hB + h^2K)(v^* - v) = h(\tau - b - hKv)$, with its limits and
//! dry friction. So $\tilde{\delta\theta} = h v^*$ and the effective mass is $M + hB + h^2K$, armature included: with contact
//! forces f the term's minimum is $(M + hB + h^2K)(v^+ - v^*) = h J^T f$, the same step with f known. The links' poses at the
//! robot's own q are the reference, and after the step $q \leftarrow q \oplus \delta\theta$, $v \leftarrow v^* + (\delta\theta - \tilde{\delta\theta})/h$: the robot's
//! coordinates stay the only memory of where it is, over any number of turns.
//!
//! **Loops** of the robot hold in the free step. Against contact they hold as rows $a$ of their constraints added to the mass,
//! $M + \kappa a^Ta$, with κ [`LOOP_STIFFNESS`] times what inertia gives the row: contact opens a loop by that part of what it moves the
//! links, and the next free step closes it.
//!
//! **Several joints of one body** have links without mass between them, whose poses follow from the body's joints one by one.

use super::{Articulation, Drive, DriveReport, Driver, dof_of_pose};
use crate::bodies::articulated::machine::{
    Machine, MachineScheme, MachineState, MachineStepError, MachineWork,
};
use crate::bodies::articulated::robot::{JointKind, RobotJointId};
use crate::math::Pose;
use crate::math::rotation::{exp, quaternion};
use crate::model::{Model, State};

/// Inertia of the rows of loops, in units of what the tree gives them.
const LOOP_STIFFNESS: f64 = 1e4;

/// Pose of body `body` of a robot once the first `count` of its joints have moved to q; `parent` is that of its parent.
pub fn pose_between(machine: &Machine, parent: &Pose, body: usize, count: usize, q: &[f64]) -> Pose {
    let robot = &machine.robot;
    let first: usize = robot.bodies[..body].iter().map(|b| b.joints.len()).sum();
    let mut pose = parent.then(&robot.bodies[body].pose);
    for (k, joint) in robot.bodies[body].joints[..count].iter().enumerate() {
        let Some(at) = machine.joint_place(RobotJointId(first + k)).map(|p| p.q.start) else { continue };
        let anchor = pose.point(&joint.anchor);
        match joint.kind {
            JointKind::Hinge => pose.rotation *= exp(&(joint.axis * (q[at] - joint.reference))),
            JointKind::Ball => pose.rotation *= quaternion(q, at),
            JointKind::Slide => {
                pose.position += pose.rotation * joint.axis * (q[at] - joint.reference);
                continue;
            }
            _ => continue,
        }
        pose.position = anchor - pose.rotation * joint.anchor;
    }
    pose
}

/// Mass, increments and reference of a robot at `state`, for a step of h seconds, into `drive`; `ahead` becomes the state
/// after that step without contact.
pub fn drive_of_robot(
    machine: &Machine,
    articulation: &Articulation,
    state: &MachineState,
    h: f64,
    ahead: &mut MachineState,
    work: &mut MachineWork,
    drive: &mut Drive,
) -> Result<(), MachineStepError> {
    let tree = &machine.tree;
    let m = tree.freedoms();
    ahead.copy_from(state);
    machine.step(MachineScheme::Implicit, ahead, h, work)?;
    drive.mass.clear();
    drive.mass.resize(m * m, 0.0);
    drive.delta.clear();
    drive.delta.resize(m, 0.0);
    drive.reference.clear();
    tree.difference(&state.q, &ahead.q, &mut drive.delta);
    machine.effective_mass(state, ahead, h, work, &mut drive.mass);
    machine.stiffen_loops(&state.q, LOOP_STIFFNESS, work, &mut drive.mass);
    let bodies = articulation.links.len() - articulation.between.len();
    for k in 0..bodies {
        drive.reference.extend(dof_of_pose(&tree.link_pose(k, &work.tree)));
    }
    for &(body, count) in &articulation.between {
        let parent = match machine.robot.bodies[body].parent.0 {
            0 => Pose::identity(),
            p => tree.link_pose(p - 1, &work.tree),
        };
        let pose = pose_between(machine, &parent, body, count, &state.q);
        drive.reference.extend(dof_of_pose(&pose));
    }
    Ok(())
}

/// Buffers of all robots that drive articulations.
#[derive(Debug, Default)]
pub(crate) struct RobotDrivers {
    /// State before, state ahead, buffers; by the number of the robot.
    parts: Vec<(MachineState, MachineState, MachineWork)>,
    packed: Vec<f64>,
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
        drive: &mut Drive,
    ) -> Result<(), MachineStepError> {
        if self.parts.len() != model.robots.len() {
            let room = |r: &crate::model::RobotPart| (r.machine.blank(), r.machine.blank(), r.machine.work());
            self.parts = model.robots.iter().map(room).collect();
        }
        let robot = &model.robots[k];
        let (before, ahead, work) = &mut self.parts[k];
        before.unpack(state.time, &state.robots[robot.place.clone()]);
        drive_of_robot(&robot.machine, a, before, h, ahead, work, drive)
    }
}

/// Writes increments back to the robots: q, v and accelerations; the rest is as the free step left it.
pub(crate) fn take_back(
    model: &Model,
    articulations: &[Articulation],
    drives: &[Drive],
    reports: &[DriveReport],
    drivers: &mut RobotDrivers,
    h: f64,
    next: &mut State,
) {
    let RobotDrivers { parts, packed } = drivers;
    for ((a, drive), report) in articulations.iter().zip(drives).zip(reports) {
        let Driver::Robot(k) = a.driver else { continue };
        let robot = &model.robots[k];
        let (before, ahead, _) = &mut parts[k];
        ahead.q.copy_from_slice(&before.q);
        robot.machine.tree.integrate(&mut ahead.q, &report.delta, 1.0);
        for d in 0..report.delta.len() {
            ahead.v[d] += (report.delta[d] - drive.delta[d]) / h;
            ahead.acceleration[d] = (ahead.v[d] - before.v[d]) / h;
        }
        packed.clear();
        ahead.pack(packed);
        next.robots[robot.place.clone()].copy_from_slice(packed);
    }
}
