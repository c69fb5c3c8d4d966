//! The built-in driver: our own reduced dynamics of a robot of the scene.
//!
//! The robot takes its implicit step without contact, $(M + hB + h^2K)(v^* - v) = h(\tau - b - hKv)$, with its limits and
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

use super::{Articulation, dof_of_pose};
use crate::bodies::articulated::description::RobotJointId;
use crate::joints::JointKind;
use crate::math::Pose;
use crate::math::rotation::{exp, quaternion};
use crate::robot::{Robot, RobotScheme, RobotState, RobotStepError, RobotWork};
use crate::state::Drive;

/// Inertia of the rows of loops, in units of what the tree gives them.
const LOOP_STIFFNESS: f64 = 1e4;

/// Pose of body `body` of a robot once the first `count` of its joints have moved to q; `parent` is that of its parent.
pub fn pose_between(robot: &Robot, parent: &Pose, body: usize, count: usize, q: &[f64]) -> Pose {
    let description = &robot.description;
    let first: usize = description.bodies[..body].iter().map(|b| b.joints.len()).sum();
    let mut pose = parent.then(&description.bodies[body].pose);
    for (k, joint) in description.bodies[body].joints[..count].iter().enumerate() {
        let Some(at) = robot.joint_place(RobotJointId(first + k)).map(|p| p.q.start) else { continue };
        let anchor = pose.point(&joint.anchor);
        match joint.kind {
            JointKind::Hinge => pose.rotation *= exp(&(joint.axis * (q[at] - joint.reference))),
            JointKind::Ball => pose.rotation *= quaternion(q, at),
            JointKind::Slider => {
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
    robot: &Robot,
    articulation: &Articulation,
    state: &RobotState,
    h: f64,
    ahead: &mut RobotState,
    work: &mut RobotWork,
    drive: &mut Drive,
) -> Result<(), RobotStepError> {
    let tree = &robot.tree;
    let m = tree.freedoms();
    ahead.copy_from(state);
    robot.step(RobotScheme::Implicit, ahead, h, work)?;
    drive.mass.clear();
    drive.mass.resize(m * m, 0.0);
    drive.delta.clear();
    drive.delta.resize(m, 0.0);
    drive.reference.clear();
    tree.difference(&state.q, &ahead.q, &mut drive.delta);
    robot.effective_mass(state, ahead, h, work, &mut drive.mass);
    robot.stiffen_loops(&state.q, LOOP_STIFFNESS, work, &mut drive.mass);
    let bodies = articulation.links.len() - articulation.between.len();
    for k in 0..bodies {
        drive.reference.extend(dof_of_pose(&tree.link_pose(k, &work.tree)));
    }
    for &(body, count) in &articulation.between {
        let parent = match robot.description.bodies[body].parent.0 {
            0 => Pose::identity(),
            p => tree.link_pose(p - 1, &work.tree),
        };
        let pose = pose_between(robot, &parent, body, count, &state.q);
        drive.reference.extend(dof_of_pose(&pose));
    }
    Ok(())
}
