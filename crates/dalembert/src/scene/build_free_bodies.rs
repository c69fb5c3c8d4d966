//! Trees of a robot's file that are one free body (`<freejoint/>` alone) become rigid bodies `ROBOT/BODY` of the scene.
//!
//! They start where the keyframe of the robot puts them, and touch as the file says: see
//! [`build_touch_robot`](super::build_touch_robot).

use super::build_robot::place;
use super::diagnostics::Diagnostics;
use super::geom_shape::compound;
use super::{RigidBody, RobotItem, Scene};
use crate::bodies::articulated::description::{RobotDescription, RobotGeom};
use crate::bodies::articulated::free_bodies::{BodyPlace, FreeBody, Split, split};
use crate::math::rotation::{quaternion, renormalise};
use crate::math::{Pose, Vec3};
use crate::model::WholeRobot;

/// Puts every robot where it stands and takes out its free bodies; per robot the whole description, if it had any.
pub(super) fn free_bodies(scene: &mut Scene, notes: &mut Diagnostics) -> Vec<Option<Box<WholeRobot>>> {
    let mut out = Vec::with_capacity(scene.robot.len());
    for (k, item) in scene.robot.iter_mut().enumerate() {
        notes.at("robot", k, &item.name);
        if !notes.finite3("position", &item.pose.position) {
            out.push(None);
            continue;
        }
        place(&mut item.robot, &item.pose, item.fixed);
        (item.pose, item.fixed) = (Pose::identity(), false);
        let Some(Split { rest, places, free }) = split(&item.robot) else {
            out.push(None);
            continue;
        };
        let names: Vec<String> = free.iter().map(|f| body_name(&item.name, &item.robot, f.root.0)).collect();
        let (q, v) = start(item);
        for (k, (own, name)) in free.iter().zip(&names).enumerate() {
            let geoms = geoms(&item.robot, &places, k);
            let shape = compound(&item.robot, geoms.iter().map(|(pose, geom)| (*pose, *geom)), notes);
            let body = RigidBody::new(name, shape).collide(item.collide);
            scene.rigid.push(moving(body, own, &q, &v));
        }
        let robot = std::mem::replace(&mut item.robot, rest);
        out.push(Some(Box::new(WholeRobot { robot, places, names })));
    }
    out
}

/// `ROBOT/BODY`; a body without a name is called by its number.
pub(super) fn body_name(robot: &str, description: &RobotDescription, body: usize) -> String {
    match description.bodies[body].name.as_str() {
        "" => format!("{robot}/body{body}"),
        name => format!("{robot}/{}", plain(name)),
    }
}

/// A name without what quantities read otherwise.
pub(super) fn plain(name: &str) -> String {
    name.trim().replace(['.', ':', '[', ']'], "_")
}

/// Coordinates and velocities at the start: those of the keyframe, or else the reference configuration at rest.
fn start(item: &RobotItem) -> (Vec<f64>, Vec<f64>) {
    let robot = &item.robot;
    let (mut q, mut v) = (robot.reference_configuration(), vec![0.0; robot.velocity_count()]);
    if let Some(key) =
        robot.keyframes.iter().find(|key| item.keyframe.is_empty() || key.name == item.keyframe)
    {
        if key.positions.len() == q.len() {
            q.copy_from_slice(&key.positions);
        }
        if key.velocities.len() == v.len() {
            v.copy_from_slice(&key.velocities);
        }
    }
    (q, v)
}

/// Geoms of free body `k` that touch, in its frame.
fn geoms<'a>(robot: &'a RobotDescription, places: &[BodyPlace], k: usize) -> Vec<(Pose, &'a RobotGeom)> {
    let each = robot.geoms().filter(|(_, geom)| !geom.is_visual());
    each.filter_map(|(body, geom)| match &places[body.0] {
        BodyPlace::Free { free, pose } if *free == k => Some((pose.then(&geom.pose), geom)),
        _ => None,
    })
    .collect()
}

/// The body with mass and start of a free body. Of a free joint the velocity is that of the frame's origin in world axes,
/// and the angular velocity stands in body axes; that of a rigid body stands in world axes.
fn moving(body: RigidBody, own: &FreeBody, q: &[f64], v: &[f64]) -> RigidBody {
    let ((at, rate), mass) = (own.place, own.inertial);
    let three = |list: &[f64], i: usize| Vec3::new(list[i], list[i + 1], list[i + 2]);
    let pose = Pose::new(three(q, at), renormalise(&quaternion(q, at + 3)));
    let angular_velocity = pose.rotation * three(v, rate + 3);
    let velocity = three(v, rate) + angular_velocity.cross(&(pose.rotation * mass.center));
    RigidBody { pose, velocity, angular_velocity, ..body.inertia(mass.mass, mass.center, mass.inertia) }
}
