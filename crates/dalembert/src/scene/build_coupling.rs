//! Articulations of an `ipc` scene: those of a user, and those that robots of the scene become.
//!
//! Every body of a robot becomes an affine link `ROBOT/BODY` with the surfaces of its collision geoms, every joint an exact
//! joint `ROBOT/joints/JOINT` between links, and the whole an articulation that the robot's own reduced dynamics drive. A body
//! with several joints has links without mass or surface between them. Links of one robot do not touch each other, unless a rule
//! `between = ["ROBOT", "ROBOT"]` says so; then neighbours, what is welded together and what the robot's file excludes still do not.
//! Geoms of its world become a fixed body `ROBOT/world` and grounds; they, its free bodies and its links touch as its file says.

use std::collections::BTreeMap;

use super::build_affine_joints::Joined;
use super::build_free_bodies::plain;
use super::diagnostics::Diagnostics;
use super::expanded::{Expanded, Rest};
use super::geom_shape::compound;
use super::joint::JointItem;
use super::{AffineBody, BodyMass, ContactRule, Fix, Ground, Scene};
use crate::bodies::Shape;
use crate::bodies::articulated::TreeWork;
use crate::bodies::articulated::description::{
    EqualityKind, GeomShape, RobotBody, RobotBodyId, RobotDescription, RobotJoint, RobotJointId,
};
use crate::bodies::articulated::free_bodies::BodyPlace;
use crate::coupling::{Articulation, Driver, Freedom, Link, pose_between};
use crate::joints::JointKind;
use crate::joints::affine::BlockVector;
use crate::math::{Mat3, Pose, Vec3};
use crate::model::NamedRobot;
use crate::robot::{Robot, RobotState};
use crate::state::{Block, BlockKind};
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
    /// More bodies, fixed to those of the joints, that the mass matrix stands for as well.
    pub welded: Vec<String>,
    /// Number of the robot that drives it; none: a caller.
    pub(super) robot: Option<usize>,
    /// Bodies of that robot in the order of its tree.
    pub(super) links: Vec<String>,
    /// Frames of its bodies between their joints: see [`Articulation::between`].
    pub(super) between: Vec<(usize, usize)>,
}

impl ArticulationItem {
    /// An articulation of hinges, sliders and balls that a caller drives.
    pub fn new(name: impl Into<String>, joints: &[&str]) -> Self {
        let joints = joints.iter().map(|j| ArticulationJoint::Joint(j.to_string())).collect();
        Self {
            name: name.into(),
            joints,
            welded: Vec::new(),
            robot: None,
            links: Vec::new(),
            between: Vec::new(),
        }
    }

    /// Puts six freedoms of a floating body before the joints.
    pub fn floating(mut self, body: impl Into<String>) -> Self {
        self.joints.insert(0, ArticulationJoint::Free(body.into()));
        self
    }

    /// Takes in bodies that fixed joints tie to the others: they lose inertia and weight too.
    pub fn welded(mut self, bodies: impl IntoIterator<Item = String>) -> Self {
        self.welded.extend(bodies);
        self
    }
}

/// Turns robots of an `ipc` scene into links, joints and articulations.
pub(super) fn expand_robots(scene: &mut Scene, robots: &[(NamedRobot, RobotState)], notes: &mut Diagnostics) {
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
    part: &NamedRobot,
    start: &RobotState,
    stiffness: f64,
    notes: &mut Diagnostics,
) {
    let robot = &part.robot;
    let description = &robot.description;
    let mut work = robot.work();
    robot.tree.kinematics(&start.q, &mut work.tree);
    robot.tree.velocities(&start.v, &mut work.tree);
    let name = |i: usize| link_name(part, i);
    let mut list: Vec<(usize, ArticulationJoint)> = Vec::new();
    let (mut between, mut middle) = (Vec::new(), Vec::new());
    for (i, body) in description.bodies.iter().enumerate().skip(1) {
        let pose = robot.tree.link_pose(i - 1, &work.tree);
        let own = link(name(i), body, description, &pose, stiffness, robot, i - 1, &work.tree, notes);
        let mut parent = name(body.parent.0);
        if body.joints.is_empty() {
            let label = joint_name(&part.name, "", i);
            let item = JointItem::new(label, JointKind::Fixed, parent.clone(), name(i));
            scene.joint.push(item.anchor(pose.position.into()));
        }
        for (n, joint) in body.joints.iter().enumerate() {
            let (mut child, mut pose) = (name(i), pose);
            if n + 1 < body.joints.len() {
                child = format!("{}#{}", name(i), n + 1);
                pose = pose_above(robot, &work.tree, i, n + 1, &start.q);
                between.push((i, n + 1));
                middle.push(AffineBody {
                    name: child.clone(),
                    shape: Shape::Point,
                    mass: frame_mass(),
                    position: pose.position,
                    orientation: pose.rotation,
                    ..own.clone()
                });
            }
            let place = place(robot, description, i, n);
            let label = match n {
                1.. if joint.name.is_empty() => joint_name(&part.name, &format!("#{i}-{n}"), i),
                _ => joint_name(&part.name, &joint.name, i),
            };
            let kind = match joint.kind {
                JointKind::Hinge | JointKind::Slider | JointKind::Ball | JointKind::Fixed => joint.kind,
                JointKind::Free => {
                    list.push((place, ArticulationJoint::Free(name(i))));
                    continue;
                }
                _ => {
                    let message = format!(
                        "joint `{label}`: under `ipc` the joints of a robot are hinge, slider, ball, free and fixed"
                    );
                    notes.error("", message);
                    return;
                }
            };
            let mut item = JointItem::new(label.clone(), kind, parent, child.clone())
                .anchor(pose.point(&joint.anchor).into())
                .axis((pose.rotation * joint.axis).into());
            if let JointKind::Hinge | JointKind::Slider = kind {
                item.limits = limits_from_start(joint, robot, start, place);
            }
            if kind != JointKind::Fixed {
                list.push((place, ArticulationJoint::Joint(label)));
            }
            scene.joint.push(item);
            parent = child;
        }
        scene.affine.push(own);
    }
    let links = (1..description.bodies.len())
        .map(name)
        .chain(middle.iter().map(|frame| frame.name.clone()))
        .collect();
    scene.affine.extend(middle);
    couplings(scene, part);
    let world = world(scene, part, notes);
    let own = contact_rules(scene, part, &name, world.as_ref());
    own_contacts(scene, description, own.as_ref(), &name);
    file_contacts(scene, part, &name);
    if list.is_empty() {
        return;
    }
    list.sort_by_key(|(at, _)| *at);
    scene.articulation.push(ArticulationItem {
        name: part.name.clone(),
        joints: list.into_iter().map(|(_, joint)| joint).collect(),
        welded: Vec::new(),
        robot: Some(k),
        links,
        between,
    });
}

/// Name of the link that a body of a robot becomes.
fn link_name(part: &NamedRobot, i: usize) -> String {
    let bodies = &part.robot.description.bodies;
    match i {
        0 => "world".to_string(),
        _ if bodies[i].name.is_empty() => format!("{}/body{i}", part.name),
        _ => format!("{}/{}", part.name, plain(&bodies[i].name)),
    }
}

/// Frame of body i above its joint n.
fn pose_above(robot: &Robot, work: &TreeWork, i: usize, n: usize, q: &[f64]) -> Pose {
    let parent = match robot.description.bodies[i].parent.0 {
        0 => Pose::identity(),
        p => robot.tree.link_pose(p - 1, work),
    };
    pose_between(robot, &parent, i, n, q)
}

/// Limits of a joint with its first dof at `place`; the coordinates of links count from the start.
fn limits_from_start(
    joint: &RobotJoint,
    robot: &Robot,
    start: &RobotState,
    place: usize,
) -> Option<[f64; 2]> {
    let found = robot.tree.joints().iter().find(|p| p.v.start == place);
    let at = start.q[found.map_or(0, |p| p.q.start)];
    joint.limits.map(|[low, high]| [low - at, high - at])
}

/// Geoms of the world of a robot's file that touch: planes become grounds, all others one fixed body. All go by the name
/// `ROBOT/world`, which is returned; none if there are none.
fn world(scene: &mut Scene, part: &NamedRobot, notes: &mut Diagnostics) -> Option<String> {
    let description = &part.robot.description;
    let touching = || description.bodies[0].geoms.iter().filter(|geom| !geom.is_visual());
    if description.options.disables("contact") || touching().next().is_none() {
        return None;
    }
    let name = format!("{}/world", part.name);
    let shape = compound(description, touching().map(|geom| (geom.pose, geom)), notes);
    if shape != Shape::Point {
        scene.affine.push(AffineBody { mass: frame_mass(), ..AffineBody::new(name.clone(), shape) });
        scene.fix.push(Fix::points(name.clone()));
    }
    for plane in touching().filter(|geom| matches!(geom.shape, GeomShape::Plane { .. })) {
        let (point, normal) = (plane.pose.position, plane.pose.rotation * Vec3::z());
        scene.ground.push(Ground { name: name.clone(), point, normal, ..Ground::default() });
    }
    Some(name)
}

/// What touches neither links nor world by the robot's file passes through them: pairs of its world, links and free bodies, of
/// which one at least is no link.
fn file_contacts(scene: &mut Scene, part: &NamedRobot, name: &impl Fn(usize) -> String) {
    let (description, weld) = (part.description(), super::build_touch_robot::welds(part.description()));
    let is_link = |i: usize| i != 0 && matches!(part.body_place(RobotBodyId(i)), BodyPlace::Robot(_));
    let called = |i: usize| match part.body_place(RobotBodyId(i)) {
        BodyPlace::Robot(own) => name(own.0),
        BodyPlace::Free { free, .. } => part.whole.as_ref().map_or(String::new(), |w| w.names[free].clone()),
    };
    if description.options.disables("contact") {
        scene.contact.extend((1..description.bodies.len()).map(|i| ContactRule::off(called(i), "*")));
        return;
    }
    let touching = |i: usize| description.bodies[i].geoms.iter().filter(|geom| !geom.is_visual());
    let owner: Vec<usize> = description.geoms().map(|(body, _)| body.0).collect();
    let paired = |i: usize, j: usize| {
        description.contact_pairs.iter().any(|pair| {
            let [a, b] = pair.geoms.map(|geom| owner.get(geom.0).copied());
            [a, b] == [Some(i), Some(j)] || [b, a] == [Some(i), Some(j)]
        })
    };
    let meet = |i: usize, j: usize| {
        let kinds = touching(i).any(|a| touching(j).any(|b| a.may_touch(b)));
        paired(i, j) || (kinds && !super::build_touch_robot::never_touch(description, &weld, i, j))
    };
    // Bodies that are welded to a free body are one with it: any of them that touches makes all of it touch.
    let mut pairs: BTreeMap<[String; 2], bool> = BTreeMap::new();
    for i in 1..description.bodies.len() {
        for j in (0..i).filter(|j| !(is_link(i) && is_link(*j))) {
            if touching(i).next().is_none()
                || touching(j).next().is_none()
                || (j > 0 && called(i) == called(j))
            {
                continue;
            }
            let other = if j == 0 { format!("{}/world", part.name) } else { called(j) };
            *pairs.entry([called(i), other]).or_default() |= meet(i, j);
        }
    }
    let apart = pairs.into_iter().filter(|(_, touch)| !touch);
    scene.contact.extend(apart.map(|([a, b], _)| ContactRule::off(a, b)));
}

/// A rule that names the robot means all that its file holds. Takes out, and returns, what is said of the robot with itself.
fn contact_rules(
    scene: &mut Scene,
    part: &NamedRobot,
    name: &impl Fn(usize) -> String,
    world: Option<&String>,
) -> Option<ContactRule> {
    let itself = |rule: &ContactRule| rule.between.iter().all(|side| *side == part.name);
    let own = scene.contact.iter().rfind(|rule| itself(rule)).cloned();
    scene.contact.retain(|rule| !itself(rule));
    for side in 0..2 {
        for rule in std::mem::take(&mut scene.contact) {
            if rule.between[side] != part.name {
                scene.contact.push(rule);
                continue;
            }
            let free = part.whole.iter().flat_map(|whole| &whole.names);
            let links = (1..part.robot.description.bodies.len()).map(name);
            for own in links.chain(free.chain(world).cloned()) {
                let mut one = rule.clone();
                one.between[side] = own;
                scene.contact.push(one);
            }
        }
    }
    own.filter(|rule| rule.enabled)
}

/// Links that pass through each other, and those that touch by the rule `own`; what the scene says of two links goes before it.
fn own_contacts(
    scene: &mut Scene,
    description: &RobotDescription,
    own: Option<&ContactRule>,
    name: &impl Fn(usize) -> String,
) {
    let weld = super::build_touch_robot::welds(description);
    for i in 1..description.bodies.len() {
        for j in 1..i {
            let pair = [name(i), name(j)];
            let said = scene.contact.iter().any(|rule| {
                rule.between == pair || (rule.between[0] == pair[1] && rule.between[1] == pair[0])
            });
            let kinds = description.bodies[i]
                .geoms
                .iter()
                .any(|g| description.bodies[j].geoms.iter().any(|o| g.may_touch(o)));
            let touch = kinds && !super::build_touch_robot::never_touch(description, &weld, i, j);
            match own.filter(|_| touch) {
                Some(_) if said => {}
                Some(rule) => scene.contact.push(ContactRule { between: pair, ..rule.clone() }),
                None => {
                    let [a, b] = pair;
                    scene.contact.push(ContactRule::off(a, b));
                }
            }
        }
    }
}

/// `ROBOT/joints/JOINT`; bodies may have the same names as joints.
fn joint_name(robot: &str, joint: &str, body: usize) -> String {
    if joint.is_empty() {
        format!("{robot}/joints/#{body}")
    } else {
        format!("{robot}/joints/{}", plain(joint))
    }
}

/// Joints that follow others in proportion become gears. Other loops hold by the mass that the driver gives.
fn couplings(scene: &mut Scene, part: &NamedRobot) {
    let description = &part.robot.description;
    let label = |id: RobotJointId| {
        let found = description.joints().nth(id.0);
        found.map_or(String::new(), |(body, joint)| joint_name(&part.name, &joint.name, body.0))
    };
    let mut pairs: Vec<(RobotJointId, RobotJointId, f64)> =
        description.mimics.iter().map(|m| (m.joint, m.of, m.multiplier)).collect();
    for equality in description.equalities.iter().filter(|e| e.active) {
        if let EqualityKind::Joints { joint, other: Some(other), polynomial: [_, factor, 0.0, 0.0, 0.0] } =
            equality.kind
        {
            pairs.push((joint, other, factor));
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

/// First dof of joint n of body i.
fn place(robot: &Robot, description: &RobotDescription, i: usize, n: usize) -> usize {
    let number: usize = description.bodies[..i].iter().map(|b| b.joints.len()).sum();
    robot.joint_place(RobotJointId(number + n)).map_or(usize::MAX, |p| p.v.start)
}

/// A frame without mass still needs numbers that say how large it is.
fn frame_mass() -> BodyMass {
    BodyMass::Given { mass: 0.1, center: Vec3::zeros(), inertia: 1e-4 * Mat3::identity() }
}

fn link(
    name: String,
    body: &RobotBody,
    description: &RobotDescription,
    pose: &Pose,
    stiffness: f64,
    robot: &Robot,
    number: usize,
    work: &TreeWork,
    notes: &mut Diagnostics,
) -> AffineBody {
    let touching = body.geoms.iter().filter(|geom| !geom.is_visual());
    let shape = compound(description, touching.map(|geom| (geom.pose, geom)), notes);
    let inertial = &body.inertial;
    let mass = if inertial.mass > 0.0 && inertial.mass_properties().is_ok() && inertial.inertia.trace() > 0.0
    {
        BodyMass::Given { mass: inertial.mass, center: inertial.center, inertia: inertial.inertia }
    } else {
        frame_mass()
    };
    let center = match &mass {
        BodyMass::Given { center, .. } => pose.point(center),
        _ => pose.position,
    };
    let motion = robot.tree.point_velocity(number, &center, work);
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

/// Affine bodies, found by name.
struct Bodies<'a> {
    expanded: &'a Expanded,
    blocks: &'a [Block],
}

impl Bodies<'_> {
    fn find(&self, name: &str) -> Option<Link> {
        let (set, block) =
            self.blocks.iter().enumerate().find(|(_, b)| b.name == name && b.kind == BlockKind::Affine)?;
        let center = self.expanded.rest.iter().find_map(|(s, rest)| match rest {
            Rest::Affine { center } if *s == set => Some(*center),
            _ => None,
        })?;
        Some(Link { name: name.into(), first: block.points.start as u32, center })
    }

    /// The axes of a body, those of the world for any other name.
    fn axes(&self, body: &str) -> Box<[BlockVector; 3]> {
        Box::new([0, 1, 2].map(|k| match self.find(body) {
            Some(link) => BlockVector::direction(link.first, &Vec3::ith(k, 1.0)),
            None => BlockVector::fixed(Vec3::ith(k, 1.0)),
        }))
    }

    fn note_unknown(&self, key: &'static str, body: &str, notes: &mut Diagnostics) {
        let known = self.blocks.iter().map(|b| b.name.clone()).collect();
        let message = format!("names `{body}`, which is no affine or rigid body");
        notes.misspelt(key, message, Some((body.into(), known)));
    }

    /// What a joint of the scene leaves free, and its bodies.
    fn freedom<'j>(
        &self,
        joined: &'j Joined,
        name: &str,
        notes: &mut Diagnostics,
    ) -> Option<(Freedom, &'j [String; 2])> {
        let Some(j) = joined.joints.joint(name) else {
            let known = joined.joints.joints.iter().map(|j| j.name.clone()).collect();
            let message = format!("names `{name}`, which is no joint of the scene");
            notes.misspelt("joints", message, Some((name.into(), known)));
            return None;
        };
        let (joint, (kind, sides)) = (&joined.joints.joints[j], &joined.sides[j]);
        let measure = |c: u32| {
            joined.joints.measures[joined.joints.coordinates[c as usize].parts[0].1 as usize].clone()
        };
        let freedom = match (*kind, joint.angle, joint.position) {
            (JointKind::Hinge, Some(c), _) | (JointKind::Slider, _, Some(c)) => Freedom::Single(measure(c)),
            (JointKind::Ball, ..) => {
                Freedom::Ball { parent: self.axes(&sides[0]), child: self.axes(&sides[1]) }
            }
            (kind, ..) => {
                let message = format!(
                    "joint `{name}` is a `{}`; an articulation takes hinge, slider and ball, and `floating` bodies",
                    kind.name()
                );
                notes.error("joints", message);
                return None;
            }
        };
        Some((freedom, sides))
    }
}

/// Articulations of the scene, and which points lose their inertia.
pub(super) fn articulations(
    scene: &mut Scene,
    expanded: &Expanded,
    blocks: &[Block],
    joined: &Joined,
    held: &[bool],
    notes: &mut Diagnostics,
) -> (Vec<Articulation>, Vec<bool>) {
    let bodies = Bodies { expanded, blocks };
    let find = |name: &str| bodies.find(name);
    let mut massless = vec![false; held.len()];
    let mut out: Vec<Articulation> = Vec::new();
    for (k, item) in std::mem::take(&mut scene.articulation).into_iter().enumerate() {
        notes.at("articulation", k, &item.name);
        if out.iter().any(|a| a.name == item.name) {
            notes.error("name", format!("the name `{}` is taken by another articulation", item.name));
            continue;
        }
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
                        let child = bodies.axes(body);
                        joints.push((body.clone(), Freedom::Free { point, child }));
                    }
                    None => bodies.note_unknown("joints", body, notes),
                },
                ArticulationJoint::Joint(name) => {
                    let Some((freedom, sides)) = bodies.freedom(joined, name, notes) else { continue };
                    sides.iter().for_each(|body| take(body));
                    joints.push((name.clone(), freedom));
                }
            }
        }
        for body in &item.welded {
            if find(body).is_none() {
                bodies.note_unknown("welded", body, notes);
            }
            take(body);
        }
        if item.robot.is_some() {
            // Link k of the tree is body k + 1, welded ones included.
            links = item.links.iter().filter_map(|name| find(name)).collect();
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
        out.push(Articulation { name: item.name, joints, links, between: item.between, driver });
    }
    (out, massless)
}
