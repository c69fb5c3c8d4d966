//! Articulations of an `ipc` scene: those of a user, and those that robots of the scene become.
//!
//! Every body of a robot becomes an affine link `ROBOT/BODY` with the surfaces of its collision geoms, every joint an exact
//! joint `ROBOT/JOINT` between links, and the whole an articulation that the robot's own reduced dynamics drive. Links of
//! one robot do not touch each other.

use std::sync::Arc;

use super::build::Notes;
use super::build_affine_joints::Joined;
use super::build_deformable::{Expanded, Rest};
use super::mechanism::{JointItem, JointType};
use super::{AffineBody, BodyMass, ContactRule, Scene};
use crate::bodies::articulated::machine::{Machine, MachineState};
use crate::bodies::articulated::robot::{EqualityKind, GeomShape, JointKind, Robot, RobotBody, RobotJointId};
use crate::bodies::{Shape, TriangleMesh};
use crate::coupling::{Articulation, Driver, Freedom, Link};
use crate::joints::affine::BlockVector;
use crate::math::{Mat3, Pose, Vec3};
use crate::model::{Block, BlockKind, RobotPart};
use crate::step::{Method, Scheme};

/// A joint of an articulation, as a user names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArticulationJoint {
    /// A hinge, slider or ball of the scene, by name.
    Joint(String),
    /// Six freedoms of a body that floats: shifts of its origin in world axes, turns in its own.
    Free(String),
}

/// Bodies whose joint-space dynamics are computed elsewhere (`ipc` only).
///
/// All bodies that its joints name (but held ones and the world) lose their inertia and weight: the mass matrix that the
/// driver gives stands for both.
#[derive(Debug, Clone, PartialEq)]
pub struct ArticulationItem {
    /// Name, unique among articulations.
    pub name: String,
    /// Its joints in the order of the freedoms.
    pub joints: Vec<ArticulationJoint>,
    /// Number of the robot that drives it; none: a caller.
    pub(super) robot: Option<usize>,
}

impl ArticulationItem {
    /// An articulation of hinges, sliders and balls that a caller drives.
    pub fn new(name: impl Into<String>, joints: &[&str]) -> Self {
        let joints = joints.iter().map(|j| ArticulationJoint::Joint(j.to_string())).collect();
        Self { name: name.into(), joints, robot: None }
    }

    /// Puts six freedoms of a floating body before the joints.
    pub fn floating(mut self, body: impl Into<String>) -> Self {
        self.joints.insert(0, ArticulationJoint::Free(body.into()));
        self
    }
}

/// Turns robots of an `ipc` scene into links, joints and articulations.
pub(super) fn expand_robots(scene: &mut Scene, robots: &[(RobotPart, MachineState)], notes: &mut Notes) {
    let Method::Ipc(settings) = scene.method else { return };
    for (k, (part, start)) in robots.iter().enumerate() {
        notes.at("robot", k, &part.name);
        if settings.scheme != Scheme::Euler {
            notes.error(
                "",
                format!("robots run with the scheme `euler` of `ipc`, not `{}`", settings.scheme.name()),
            );
        }
        robot(scene, k, part, start, settings.rigid_stiffness, notes);
    }
}

fn robot(
    scene: &mut Scene,
    k: usize,
    part: &RobotPart,
    start: &MachineState,
    stiffness: f64,
    notes: &mut Notes,
) {
    let machine = &part.machine;
    let robot = &machine.robot;
    let mut work = machine.work();
    machine.tree.kinematics(&start.q, &mut work.tree);
    machine.tree.velocities(&start.v, &mut work.tree);
    let name = |i: usize| match i {
        0 => "world".to_string(),
        _ if robot.bodies[i].name.is_empty() => format!("{}/body{i}", part.name),
        _ => format!("{}/{}", part.name, robot.bodies[i].name),
    };
    let mut list: Vec<(usize, ArticulationJoint)> = Vec::new();
    for (i, body) in robot.bodies.iter().enumerate().skip(1) {
        let pose = machine.tree.link_pose(i - 1, &work.tree);
        scene.affine.push(link(name(i), body, robot, &pose, stiffness, machine, i - 1, &work.tree));
        let parent = name(body.parent.0);
        if body.joints.len() > 1 {
            let message =
                format!("body `{}` has {} joints; under `ipc` a link has one", body.name, body.joints.len());
            notes.error("", message);
            return;
        }
        let (kind, joint) = match body.joints.first() {
            None => (JointKind::Fixed, None),
            Some(joint) => (joint.kind, Some(joint)),
        };
        let anchor = joint.map_or(pose.position, |j| pose.point(&j.anchor));
        let axis = pose.rotation * joint.map_or(Vec3::z(), |j| j.axis);
        let label = match joint {
            Some(joint) if !joint.name.is_empty() => format!("{}/{}", part.name, joint.name),
            _ => format!("{}/joint{i}", part.name),
        };
        let kind = match kind {
            JointKind::Hinge => JointType::Hinge,
            JointKind::Slide => JointType::Slider,
            JointKind::Ball => JointType::Ball,
            JointKind::Fixed => JointType::Fixed,
            JointKind::Free => {
                let at = place(machine, robot, i);
                list.push((at, ArticulationJoint::Free(name(i))));
                continue;
            }
            _ => {
                let message = format!(
                    "joint `{label}`: under `ipc` the joints of a robot are hinge, slide, ball, free and fixed"
                );
                notes.error("", message);
                return;
            }
        };
        let label = if label == name(i) { format!("{label}.joint") } else { label };
        let label = label.replace('.', "_");
        let mut item =
            JointItem::new(label.clone(), kind, parent, name(i)).anchor(anchor.into()).axis(axis.into());
        if let (Some(joint), JointType::Hinge | JointType::Slider) = (joint, kind) {
            // The coordinates of links count from the start.
            let at = start.q[machine
                .tree
                .joints()
                .iter()
                .find(|p| p.v.start == place(machine, robot, i))
                .map_or(0, |p| p.q.start)];
            item.limits = joint.limits.map(|[low, high]| [low - at, high - at]);
        }
        if kind != JointType::Fixed {
            list.push((place(machine, robot, i), ArticulationJoint::Joint(label)));
        }
        scene.joint.push(item);
    }
    couplings(scene, part, notes);
    // A rule that names the robot means all its links.
    for side in 0..2 {
        for rule in std::mem::take(&mut scene.contact) {
            if rule.between[side] != part.name {
                scene.contact.push(rule);
                continue;
            }
            for i in 1..robot.bodies.len() {
                let mut one = rule.clone();
                one.between[side] = name(i);
                scene.contact.push(one);
            }
        }
    }
    for i in 1..robot.bodies.len() {
        for j in 1..i {
            scene.contact.push(ContactRule::off(name(i), name(j)));
        }
    }
    list.sort_by_key(|(at, _)| *at);
    let joints = list.into_iter().map(|(_, joint)| joint).collect();
    scene.articulation.push(ArticulationItem { name: part.name.clone(), joints, robot: Some(k) });
}

/// Joints that follow others become gears; other loops are refused.
fn couplings(scene: &mut Scene, part: &RobotPart, notes: &mut Notes) {
    let robot = &part.machine.robot;
    let label = |id: RobotJointId| {
        let name = robot.joints().nth(id.0).map(|(_, j)| j.name.clone()).unwrap_or_default();
        format!("{}/{}", part.name, name).replace('.', "_")
    };
    let mut pairs: Vec<(RobotJointId, RobotJointId, f64)> =
        robot.mimics.iter().map(|m| (m.joint, m.of, m.multiplier)).collect();
    for equality in &robot.equalities {
        match equality.kind {
            EqualityKind::Joints { joint, other: Some(other), polynomial: [_, factor, 0.0, 0.0, 0.0] } => {
                pairs.push((joint, other, factor));
            }
            _ => notes.error(
                "",
                "under `ipc` a robot's loops are joints that follow others in proportion; `impulse` takes all",
            ),
        }
    }
    for (k, (follower, leader, factor)) in pairs.into_iter().enumerate() {
        scene.gear.push(super::Gear {
            name: format!("{}/coupling{k}", part.name),
            joints: [label(follower), label(leader)],
            ratio: -factor,
            stiffness: super::Stiffness::Hard,
        });
    }
}

/// First dof of the joint of body i.
fn place(machine: &Machine, robot: &Robot, i: usize) -> usize {
    let number = robot.bodies[..i].iter().map(|b| b.joints.len()).sum();
    let id = crate::bodies::articulated::robot::RobotJointId(number);
    machine.joint_place(id).map_or(usize::MAX, |p| p.v.start)
}

#[allow(clippy::too_many_arguments)]
fn link(
    name: String,
    body: &RobotBody,
    robot: &Robot,
    pose: &Pose,
    stiffness: f64,
    machine: &Machine,
    number: usize,
    work: &crate::bodies::articulated::TreeWork,
) -> AffineBody {
    let mut parts = Vec::new();
    for geom in body.geoms.iter().filter(|g| g.contact_type != 0 || g.contact_affinity != 0) {
        let shape = match geom.shape {
            GeomShape::Sphere { radius } => Shape::Sphere { radius },
            GeomShape::Capsule { radius, half_length } => {
                Shape::Capsule { radius, length: 2.0 * half_length }
            }
            GeomShape::Cylinder { radius, half_length } => {
                Shape::Cylinder { radius, length: 2.0 * half_length }
            }
            GeomShape::Ellipsoid { semi_axes } => Shape::Ellipsoid { semi_axes },
            GeomShape::Box { half } => Shape::Box { size: 2.0 * half },
            GeomShape::Mesh(id) => {
                let mesh = &robot.meshes[id.0];
                match TriangleMesh::new(mesh.vertices.clone(), mesh.triangles.clone()) {
                    Ok(mesh) => Shape::Mesh(Arc::new(mesh)),
                    Err(_) => continue,
                }
            }
            GeomShape::Plane { .. } | GeomShape::HeightField(_) => continue,
        };
        if shape.validate().is_ok() {
            parts.push((geom.pose, shape));
        }
    }
    let shape = if parts.is_empty() { Shape::Point } else { Shape::Compound(parts) };
    // A frame without mass still needs numbers that say how large it is.
    let inertial = &body.inertial;
    let mass = if inertial.mass > 0.0 && inertial.mass_properties().is_ok() && inertial.inertia.trace() > 0.0
    {
        BodyMass::Given { mass: inertial.mass, center: inertial.center, inertia: inertial.inertia }
    } else {
        BodyMass::Given { mass: 0.1, center: Vec3::zeros(), inertia: 1e-4 * Mat3::identity() }
    };
    let center = match &mass {
        BodyMass::Given { center, .. } => pose.point(center),
        _ => pose.position,
    };
    let motion = machine.tree.point_velocity(number, &center, work);
    AffineBody {
        mass,
        stiffness,
        position: pose.position,
        orientation: pose.rotation,
        velocity: motion.linear,
        angular_velocity: motion.angular,
        ..AffineBody::new(name, shape)
    }
}

/// Articulations of the scene, and which points lose their inertia.
pub(super) fn articulations(
    scene: &mut Scene,
    expanded: &Expanded,
    blocks: &[Block],
    joined: &Joined,
    held: &[bool],
    notes: &mut Notes,
) -> (Vec<Articulation>, Vec<bool>) {
    let mut massless = vec![false; held.len()];
    let mut out: Vec<Articulation> = Vec::new();
    for (k, item) in std::mem::take(&mut scene.articulation).into_iter().enumerate() {
        notes.at("articulation", k, &item.name);
        if out.iter().any(|a| a.name == item.name) {
            notes.error("name", format!("the name `{}` is taken by another articulation", item.name));
            continue;
        }
        let find = |name: &str| -> Option<Link> {
            let (set, block) =
                blocks.iter().enumerate().find(|(_, b)| b.name == name && b.kind == BlockKind::Affine)?;
            let center = expanded.rest.iter().find_map(|(s, rest)| match rest {
                Rest::Affine { center } if *s == set => Some(*center),
                _ => None,
            })?;
            Some(Link { name: name.into(), first: block.points.start as u32, center })
        };
        let axes = |body: &str| -> Box<[BlockVector; 3]> {
            Box::new([0, 1, 2].map(|k| match find(body) {
                Some(link) => BlockVector::direction(link.first, &Vec3::ith(k, 1.0)),
                None => BlockVector::fixed(Vec3::ith(k, 1.0)),
            }))
        };
        let (mut joints, mut links): (Vec<(String, Freedom)>, Vec<Link>) = (Vec::new(), Vec::new());
        let mut take = |body: &str| {
            if let Some(link) = find(body).filter(|l| links.iter().all(|m: &Link| m.name != l.name)) {
                links.push(link);
            }
        };
        for joint in &item.joints {
            match joint {
                ArticulationJoint::Free(body) => match find(body) {
                    Some(link) => {
                        take(body);
                        let point = BlockVector::point(link.first, &-link.center);
                        joints.push((body.clone(), Freedom::Free { point, child: axes(body) }));
                    }
                    None => {
                        let known = blocks.iter().map(|b| b.name.clone()).collect();
                        let message = format!("names `{body}`, which is no affine or rigid body");
                        notes.misspelt("joints", message, Some((body.clone(), known)));
                    }
                },
                ArticulationJoint::Joint(name) => {
                    let Some((j, sides)) = joined.joints.joint(name).map(|j| (j, &joined.sides[j])) else {
                        let known = joined.joints.joints.iter().map(|j| j.name.clone()).collect();
                        let message = format!("names `{name}`, which is no joint of the scene");
                        notes.misspelt("joints", message, Some((name.clone(), known)));
                        continue;
                    };
                    let joint = &joined.joints.joints[j];
                    let measure = |c: u32| {
                        joined.joints.measures[joined.joints.coordinates[c as usize].parts[0].1 as usize]
                            .clone()
                    };
                    let freedom = match (sides.0, joint.angle, joint.position) {
                        (JointType::Hinge, Some(c), _) | (JointType::Slider, _, Some(c)) => {
                            Freedom::Single(measure(c))
                        }
                        (JointType::Ball, ..) => {
                            Freedom::Ball { parent: axes(&sides.1[0]), child: axes(&sides.1[1]) }
                        }
                        (kind, ..) => {
                            let message = format!(
                                "joint `{name}` is a {kind:?}; an articulation takes hinge, slider and ball, and `floating` bodies"
                            );
                            notes.error("joints", message);
                            continue;
                        }
                    };
                    sides.1.iter().for_each(|body| take(body));
                    joints.push((name.clone(), freedom));
                }
            }
        }
        if item.robot.is_some() {
            // Link k of the tree is body k + 1, welded ones included.
            let prefix = format!("{}/", item.name);
            links = blocks
                .iter()
                .filter(|b| b.kind == BlockKind::Affine && b.name.starts_with(&prefix))
                .filter_map(|b| find(&b.name))
                .collect();
        }
        if joints.is_empty() {
            notes.error("joints", "needs at least one joint");
            continue;
        }
        for link in &links {
            for i in link.first as usize..link.first as usize + 4 {
                massless[i] |= !held[i];
            }
        }
        let driver = item.robot.map_or(Driver::External, Driver::Robot);
        out.push(Articulation { name: item.name, joints, links, driver });
    }
    (out, massless)
}
