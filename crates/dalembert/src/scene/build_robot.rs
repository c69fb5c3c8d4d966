//! Robots in a scene: what a user writes, and how it becomes a robot with a first state.

use std::collections::BTreeMap;

use super::diagnostics::Diagnostics;
use super::{Drive, RobotItem, Scene};
use crate::bodies::articulated::description::{EqualityKind, RobotDescription, RobotIntegrator};
use crate::joints::JointKind;
use crate::math::rotation::{quaternion, renormalise, set_quaternion};
use crate::math::{Pose, Vec3};
use crate::model::{NamedRobot, RobotPlace, WholeRobot};
use crate::robot::{Controller, Robot, RobotState, Track, contact_notes};
use crate::step::{Method, ROBOT_INTEGRATORS, robot_scheme};

/// Robots and first states of all robots; what is wrong with them is among the notes.
pub(super) fn robots(
    scene: &mut Scene,
    whole: &mut [Option<Box<WholeRobot>>],
    notes: &mut Diagnostics,
) -> Vec<(NamedRobot, RobotState)> {
    let items = std::mem::take(&mut scene.robot);
    let mut made = Vec::with_capacity(items.len());
    let touch = matches!(scene.method, Method::Impulse(_));
    for (k, item) in items.into_iter().enumerate() {
        notes.at("robot", k, &item.name);
        if robot_scheme(&scene.method).is_none() {
            let method = scene.method.name();
            notes.error(
                "",
                format!(
                    "the method `{method}` with its integrator does not take robots; use `impulse` or `ipc`, or `lagrange` or `explicit` with {ROBOT_INTEGRATORS}"
                ),
            );
            continue;
        }
        let (name, collide) = (item.name.clone(), item.collide);
        if item.robot.options.integrator == RobotIntegrator::Rk4
            && matches!(scene.method, Method::Impulse(_) | Method::Ipc(_))
        {
            let method = scene.method.name();
            let why = "`lagrange` has it, without contact";
            notes.warn(
                "",
                format!("`RK4` is not used under `{method}`, whose steps are of first order; {why}"),
            );
        }
        if let Some((robot, start)) = robot(item, &scene.gravity, notes) {
            if touch {
                let described = whole[k].as_ref().map_or(&robot.description, |whole| &whole.robot);
                contact_notes(described).into_iter().for_each(|note| notes.warn("", note));
            }
            let (place, whole) = (RobotPlace::default(), whole[k].take());
            made.push((NamedRobot { name, robot: robot.into(), place, collide, whole }, start));
        }
    }
    made
}

fn robot(mut item: RobotItem, gravity: &Vec3, notes: &mut Diagnostics) -> Option<(Robot, RobotState)> {
    let before = notes.found;
    item.robot.options.gravity = *gravity;
    let mut robot = match Robot::new(item.robot) {
        Ok(robot) => robot,
        Err(error) => {
            notes.error("file", error.to_string());
            return None;
        }
    };
    let mut start = robot.blank();
    let key = if item.keyframe.is_empty() {
        robot.description.keyframes.first().cloned()
    } else {
        let found = robot.keyframe(&item.keyframe).cloned();
        if found.is_none() {
            let known: Vec<String> = robot.description.keyframes.iter().map(|key| key.name.clone()).collect();
            let message = format!("the robot has no keyframe `{}`", item.keyframe);
            notes.misspelt("keyframe", message, Some((item.keyframe.clone(), known)));
        }
        found
    };
    if let Some(key) = key {
        robot.take_keyframe(&mut start, &key);
        start.time = 0.0;
    }
    for (list, what) in [(&item.positions, "positions"), (&item.velocities, "velocities")] {
        for (joint, value) in list {
            notes.finite(what, *value);
            let Some(place) = single(&robot, joint, what, notes) else { continue };
            if what == "positions" {
                start.q[place.0] = *value;
            } else {
                start.v[place.1] = *value;
            }
        }
    }
    for (actuator, value) in &item.controls {
        notes.finite("controls", *value);
        match robot.actuator(actuator) {
            Some(id) => start.control[id.0] = *value,
            None => {
                let known = robot.description.actuators.iter().map(|a| a.name.clone()).collect();
                let message = format!("the robot has no actuator `{actuator}`");
                notes.misspelt("controls", message, Some((actuator.clone(), known)));
            }
        }
    }
    let controller = controller(&robot, &start, item.drive, notes);
    if notes.found > before {
        return None;
    }
    robot.notes.iter().for_each(|note| notes.warn("", note.clone()));
    robot.controller = controller;
    robot.integrator = item.integrator;
    let gap = robot.assemble(&mut start, &mut robot.work());
    if !(gap < 1e-6) {
        let message = format!(
            "its loops still gape by {gap:.3e} (m or rad) after they were pulled together: start it elsewhere"
        );
        notes.error("", message);
        return None;
    }
    Some((robot, start))
}

/// Coordinate and dof of a joint with one of each.
fn single(robot: &Robot, joint: &str, key: &'static str, notes: &mut Diagnostics) -> Option<(usize, usize)> {
    let place = robot.joint(joint).filter(|place| place.q.len() == 1);
    if place.is_none() {
        let one = |kind: &JointKind| kind.position_count() == 1;
        let known =
            robot.description.joints().filter(|(_, j)| one(&j.kind)).map(|(_, j)| j.name.clone()).collect();
        let message = format!("the robot has no hinge, slide or screw called `{joint}`");
        notes.misspelt(key, message, Some((joint.to_owned(), known)));
    }
    place.map(|place| (place.q.start, place.v.start))
}

fn controller(
    robot: &Robot,
    start: &RobotState,
    drive: Drive,
    notes: &mut Diagnostics,
) -> Option<Controller> {
    let mut paths = |tracks: Vec<(String, Track)>| {
        let mut by_dof = BTreeMap::new();
        for (joint, track) in tracks {
            let Track { center, amplitude, frequency, phase } = track;
            [center, amplitude, frequency, phase].iter().for_each(|x| {
                notes.finite("drive", *x);
            });
            if let Some((_, v)) = single(robot, &joint, "drive", notes) {
                by_dof.insert(v, track);
            }
        }
        let joints = robot.tree.joints().iter();
        joints
            .map(|j| by_dof.get(&j.v.start).copied().unwrap_or_else(|| Track::at(start.q[j.q.start])))
            .collect()
    };
    match drive {
        Drive::Actuators => None,
        Drive::GravityCompensation => Some(Controller::GravityCompensation),
        Drive::Pd { kp, kd, tracks, gravity } => {
            let tracks = paths(tracks);
            notes.not_negative("drive", kp);
            notes.not_negative("drive", kd);
            Some(Controller::Pd { kp, kd, tracks, gravity })
        }
        Drive::ComputedTorque { kp, kd, tracks } => {
            let tracks = paths(tracks);
            notes.not_negative("drive", kp);
            notes.not_negative("drive", kd);
            Some(Controller::ComputedTorque { kp, kd, tracks })
        }
    }
}

/// Moves the robot's world to a pose, and fixes its roots if asked.
pub(super) fn place(robot: &mut RobotDescription, pose: &Pose, fixed: bool) {
    let roots: Vec<usize> = (1..robot.bodies.len()).filter(|i| robot.bodies[*i].parent.0 == 0).collect();
    if fixed {
        for joint in roots.iter().flat_map(|i| robot.bodies[*i].joints.clone()).collect::<Vec<_>>() {
            if joint.kind == JointKind::Free {
                fix_free(robot);
                break;
            }
        }
    }
    if *pose == Pose::identity() {
        return;
    }
    for i in roots {
        robot.bodies[i].pose = pose.then(&robot.bodies[i].pose);
    }
    let world = &mut robot.bodies[0];
    world.geoms.iter_mut().for_each(|geom| geom.pose = pose.then(&geom.pose));
    world.sites.iter_mut().for_each(|site| site.pose = pose.then(&site.pose));
    for equality in &mut robot.equalities {
        match &mut equality.kind {
            EqualityKind::Connect { bodies, anchor } if bodies[0].0 == 0 => *anchor = pose.point(anchor),
            EqualityKind::Weld { bodies, relative: Some(relative), .. } if bodies[0].0 == 0 => {
                *relative = pose.then(relative);
            }
            _ => {}
        }
    }
    let mut at = 0;
    let kinds: Vec<JointKind> = robot.joints().map(|(_, joint)| joint.kind).collect();
    let count = robot.position_count();
    for kind in kinds {
        if kind == JointKind::Free {
            for key in robot.keyframes.iter_mut().filter(|key| key.positions.len() == count) {
                let q = &mut key.positions;
                let own =
                    Pose::new(Vec3::new(q[at], q[at + 1], q[at + 2]), renormalise(&quaternion(q, at + 3)));
                let moved = pose.then(&own);
                q[at..at + 3].copy_from_slice(moved.position.as_slice());
                set_quaternion(q, at + 3, &moved.rotation);
            }
        }
        at += kind.position_count();
    }
}

/// Free joints become fixed; keyframes lose their numbers, and the first gives the pose.
fn fix_free(robot: &mut RobotDescription) {
    let (nq, nv) = (robot.position_count(), robot.velocity_count());
    let kinds: Vec<(usize, JointKind)> = robot.joints().map(|(body, joint)| (body.0, joint.kind)).collect();
    let (mut keep_q, mut keep_v) = (Vec::new(), Vec::new());
    let (mut q, mut v) = (0, 0);
    for (body, kind) in kinds {
        let (a, b) = (kind.position_count(), kind.velocity_count());
        if kind == JointKind::Free {
            if let Some(key) = robot.keyframes.iter().find(|key| key.positions.len() == nq) {
                let p = &key.positions;
                let at = Vec3::new(p[q], p[q + 1], p[q + 2]);
                robot.bodies[body].pose = Pose::new(at, renormalise(&quaternion(p, q + 3)));
            }
            robot.bodies[body].joints.iter_mut().for_each(|joint| joint.kind = JointKind::Fixed);
        } else {
            keep_q.extend(q..q + a);
            keep_v.extend(v..v + b);
        }
        (q, v) = (q + a, v + b);
    }
    for key in &mut robot.keyframes {
        if key.positions.len() == nq {
            key.positions = keep_q.iter().map(|i| key.positions[*i]).collect();
        }
        if key.velocities.len() == nv {
            key.velocities = keep_v.iter().map(|i| key.velocities[*i]).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ParticleSet, Scene};
    use super::*;
    use crate::bodies::articulated::description::{Inertial, RobotBody, RobotBodyId, RobotJoint};
    use crate::math::Mat3;
    use crate::model::Quantity;
    use crate::state::State;
    use crate::step::Integrator;

    fn pendulum() -> RobotDescription {
        let mut robot = RobotDescription::new("pendulum");
        let mut body = RobotBody::new("rod", RobotBodyId(0));
        body.inertial =
            Inertial { mass: 2.0, center: Vec3::new(0.5, 0.0, 0.0), inertia: 0.1 * Mat3::identity() };
        let joint = RobotJoint { axis: Vec3::y(), ..RobotJoint::new("pivot", JointKind::Hinge) };
        body.joints.push(joint);
        robot.bodies.push(body);
        robot
    }

    #[test]
    fn a_robot_swings_beside_a_stone_under_every_method_that_takes_it() {
        for name in ["explicit", "lagrange", "impulse"] {
            let mut scene = Scene { dt: 1e-3, ..Scene::default() };
            scene.method = Method::from_name(name).unwrap();
            if name == "explicit" {
                scene.method.set_integrator(Integrator::Rk4);
            }
            scene.add(ParticleSet::at("stone", [0.0, 0.0, 10.0]));
            scene.add(RobotItem {
                pose: Pose::at(Vec3::new(0.0, 0.0, 3.0)),
                positions: vec![("pivot".into(), 0.3)],
                ..RobotItem::new("arm", pendulum())
            });
            let mut sim = scene.build().unwrap();
            let total = sim.energy().total();
            sim.run(0.5).unwrap();
            let value = |text: &str, sim: &crate::step::Simulation| {
                Quantity::parse(&sim.model, text).unwrap().value(&sim.model, &sim.state)
            };
            assert!((value("arm.pivot", &sim) - 0.3).abs() > 0.1);
            assert!((value("stone.z", &sim) - (10.0 - 0.5 * 9.81 * 0.25)).abs() < 5e-3);
            assert_eq!(value("arm.rod.z", &sim), 3.0);
            let drift = (sim.energy().total() - total).abs() / total;
            assert!(drift < if name == "lagrange" { 1e-6 } else { 1e-2 }, "{name}: {drift:e}");
            assert_eq!(sim.model.mass(), 3.0);
            // Saved and resumed, it goes on with the same bits.
            let mut packed = Vec::new();
            sim.state.pack(&sim.model.layout, &mut packed);
            let mut again = State::unpack(&sim.model.layout, &packed).unwrap();
            sim.model.settle(&mut again);
            assert_eq!(again, sim.state);
        }
    }

    #[test]
    fn controls_and_names_are_checked_and_other_methods_refuse_robots() {
        let mut scene = Scene { method: Method::from_name("impulse").unwrap(), ..Scene::default() };
        scene.add(RobotItem {
            positions: vec![("pivto".into(), 0.3)],
            controls: vec![("motor".into(), 1.0)],
            keyframe: "home".into(),
            ..RobotItem::new("arm", pendulum())
        });
        let text = scene.build().unwrap_err().to_string();
        for part in ["pivto", "no actuator `motor`", "no keyframe `home`"] {
            assert!(text.contains(part), "{text}");
        }
        let mut scene = Scene { method: Method::from_name("implicit").unwrap(), ..Scene::default() };
        scene.add(RobotItem::new("arm", pendulum()));
        assert!(scene.build().unwrap_err().to_string().contains("does not take robots"));
    }

    #[test]
    fn robots_are_blocks_at_the_end_of_q_and_v() {
        let mut scene = Scene { method: Method::from_name("impulse").unwrap(), ..Scene::default() };
        scene.add(ParticleSet::at("stone", [0.0, 0.0, 10.0]));
        for (name, angle) in [("left", 0.3), ("right", -0.2)] {
            scene.add(RobotItem {
                positions: vec![("pivot".into(), angle)],
                velocities: vec![("pivot".into(), 10.0 * angle)],
                ..RobotItem::new(name, pendulum())
            });
        }
        let mut sim = scene.build().unwrap();
        let layout = sim.model.layout;
        assert_eq!(sim.state.q[layout.robots_q()..], [0.3, -0.2]);
        assert_eq!(sim.state.v[layout.robots_v()..], [3.0, -2.0]);
        let right = sim.model.block("right").unwrap();
        assert_eq!((right.q.clone(), right.v.clone(), right.points.len()), (4..5, 4..5, 0));
        // A culprit among the robots has its name and dof.
        sim.state.robot_force[1] = f64::NAN;
        let before = sim.state.q.clone();
        let error = sim.step().unwrap_err().to_string();
        assert!(error.contains("`right`") && error.contains("dof 0"), "{error}");
        assert_eq!(sim.state.q, before);
    }

    #[test]
    fn controls_are_slices_by_name() {
        let mut scene = Scene { method: Method::from_name("impulse").unwrap(), ..Scene::default() };
        scene.gravity = Vec3::zeros();
        scene.add(RobotItem::new("arm", pendulum()));
        let mut sim = scene.build().unwrap();
        let arm = sim.model.robot("arm").unwrap();
        let pivot = arm.robot.joint("pivot").unwrap().clone();
        arm.tau_mut(&mut sim.state)[pivot.v.start] = 0.6;
        sim.run(1.0).unwrap();
        // Inertia about the pivot is 0.1 + 2 · 0.25.
        assert!((sim.model.robot("arm").unwrap().v(&sim.state)[0] - 1.0).abs() < 1e-9);
    }
}
