//! Named numbers that can be read off a state: for expectations, tracks, plots and tables.
//!
//! | text | meaning |
//! |---|---|
//! | `time` | time \[s\] |
//! | `energy.kinetic`, `energy.potential`, `energy.total` | energies \[J\] |
//! | `energy.FORCE` | energy stored in one named batch of forces \[J\]; `energy.joints`: in soft joints |
//! | `momentum.x`, `.y`, `.z`, `momentum.norm` | linear momentum \[kg·m/s\] |
//! | `angular_momentum.x`, …, `.norm` | about the origin \[kg·m²/s\] |
//! | `NAME.x`, `.y`, `.z` | position of the mean point of a set \[m\] |
//! | `NAME.vx`, `.vy`, `.vz`, `NAME.speed` | its velocity \[m/s\] |
//! | `NAME[3].x`, `NAME[-1].vx`, … | the same of one point; −1 is the last |
//! | `NAME.lowest`, `NAME.highest` | least and greatest z over the set \[m\] |
//! | `BODY.x`, `.y`, `.z`, `.vx`, `.vy`, `.vz`, `.speed` | origin of the frame of a rigid or affine body \[m\], its velocity \[m/s\] |
//! | `BODY.wx`, `.wy`, `.wz` | angular velocity of a rigid or affine body, world axes \[rad/s\] |
//! | `BODY.qw`, `.qx`, `.qy`, `.qz` | orientation of a rigid or affine body, a unit quaternion |
//! | `NAME.u0`, `NAME.du0`, … | generalized coordinate and its rate |
//! | `JOINT.angle`, `JOINT.position` | coordinate of a joint, over many turns \[rad\], \[m\] |
//! | `JOINT.rate` | rate of the angle, of a slider's position \[rad/s\], \[m/s\] |
//! | `JOINT.force` | norm of λ over the joint's rows \[N, N·m\]; `JOINT.motor.force`, `JOINT.upper.force`, … |
//! | `JOINT.gap`, `joints.gap` | worst violation of a joint; of all that hold exactly \[m, rad\] |
//! | `JOINT.broken` | 1 if it has broken, else 0 |
//! | `ROBOT.JOINT`, `ROBOT.JOINT.rate` | coordinate and velocity of a robot's joint \[rad or m\] |
//! | `ROBOT.BODY.x`, `.y`, `.z` | origin of a robot's body, or of a site \[m\]; a free body also has the other parts of a rigid body |
//! | `ROBOT.gap` | worst gap of the robot's loops \[m or rad\] |
//! | `NAME.contact.x`, `.y`, `.z`, `.norm` | force of all contacts of the last step on a body, ground, set of particles or link (`ROBOT/LINK`), under `impulse`, `lagrange` and `ipc` \[N\] |
//! | `contacts.count`, `contacts.gap` | points of contact (pairs of primitives under `ipc`) that carry a force; least gap of all points, 0 if there are none \[m\] |
//! | `ROBOT.SENSOR.touch` | what a touch sensor of a robot reads, under `impulse` and `lagrange` \[N\] |
//!
//! λ is that of the last step where a method solves for it, and the spring-damper's at the state where none does.

use super::affine_joints::JointPart;
use super::{Model, NamedRobot};
use crate::bodies::Rigid;
use crate::joints::{Axis, AxisRow, Body, Role, Rows};
use crate::math::{Vec3, norm, triple};
use crate::robot::LinkFrame;
use crate::state::{BlockKind, State};

/// A number that can be read off any state of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// The text it was parsed from.
    pub text: String,
    what: What,
}

#[derive(Debug, Clone, PartialEq)]
enum What {
    Time,
    Kinetic,
    Potential,
    Total,
    Term(usize),
    Momentum(Part),
    AngularMomentum(Part),
    Position(std::ops::Range<usize>, Part),
    Velocity(std::ops::Range<usize>, Part),
    Lowest(std::ops::Range<usize>),
    Highest(std::ops::Range<usize>),
    /// Origin of the frame of rigid body k.
    Origin(usize, Part),
    OriginVelocity(usize, Part),
    /// Component of the angular velocity of rigid body k, world axes.
    Spin(usize, usize),
    /// w, x, y, z of rigid body k.
    Quaternion(usize, usize),
    /// Entry of q, of v.
    Coordinate(usize),
    CoordinateRate(usize),
    /// Coordinate of a constraint.
    Joint(usize, Axis),
    JointRate(usize, Axis),
    JointForce(usize),
    JointGap(usize),
    Broken(usize),
    /// Of a joint of affine bodies.
    Affine(JointPart),
    /// Part of the pose or velocity of the affine body whose centre is this point, taken as a rigid one.
    Pose(usize, usize),
    WorstGap,
    /// Entry of a robot in q, or in v if it is a rate.
    RobotNumber(usize, bool),
    /// Component of the place of a frame of robot k.
    RobotPlace(usize, LinkFrame, usize),
    RobotGap(usize),
    /// Force of contacts on the thing of this name in the touch model.
    Contact(usize, Part),
    ContactCount,
    ContactGap,
    /// Names of the robot and of its sensor.
    TouchSensor(String, String),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    Component(usize),
    Norm,
}

impl Part {
    fn of(self, a: &Vec3) -> f64 {
        match self {
            Part::Component(k) => a[k],
            Part::Norm => a.norm(),
        }
    }
}

/// The text names no quantity of the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no quantity `{text}`: {reason}")]
pub struct UnknownQuantity {
    /// The text.
    pub text: String,
    /// Why not.
    pub reason: String,
    /// The part of the text that was not understood.
    pub misspelt: String,
    /// What could stand in its place.
    pub candidates: Vec<String>,
}

/// Reads the text of a quantity.
struct Parser<'a> {
    model: &'a Model,
    text: &'a str,
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|s| s.to_string()).collect()
}

impl Parser<'_> {
    fn fail(&self, misspelt: &str, reason: &str, candidates: Vec<String>) -> UnknownQuantity {
        UnknownQuantity {
            text: self.text.into(),
            reason: reason.into(),
            misspelt: misspelt.into(),
            candidates,
        }
    }

    fn read(&self, name: &str, part: &str) -> Result<What, UnknownQuantity> {
        let model = self.model;
        let block = |kind: BlockKind| model.block(name).filter(|b| b.kind == kind);
        match name {
            "energy" => return self.energy(part),
            "momentum" => return self.axis(part).map(What::Momentum),
            "angular_momentum" => return self.axis(part).map(What::AngularMomentum),
            "joints" if part == "gap" => return Ok(What::WorstGap),
            "joints" => {
                return Err(self.fail(part, "of all joints together there is only the gap", words(&["gap"])));
            }
            _ => {}
        }
        if let Some(c) = model.constraint(name) {
            let known = ["angle", "position", "rate", "force", "gap", "broken"];
            return self.part_of_joint(name, part, &known, |part| joint_part(model, c, part));
        }
        let affine = |part: &str| model.affine_joint_part(name, part).map(What::Affine);
        if affine("gap").is_some() || affine(part).is_some() {
            let known = ["angle", "position", "rate", "force", "gap"];
            return self.part_of_joint(name, part, &known, affine);
        }
        if let Some(block) = block(BlockKind::Rigid) {
            return self.rigid(block.q.start / 7, part);
        }
        if let Some(block) = block(BlockKind::Affine)
            && let Some(i) = POSE.iter().position(|p| *p == part)
        {
            return Ok(What::Pose(block.points.start, i));
        }
        if let Some(what) = generalized_part(model, name, part) {
            return Ok(what);
        }
        self.points(name, part)
    }

    fn axis(&self, part: &str) -> Result<Part, UnknownQuantity> {
        const KNOWN: [&str; 4] = ["x", "y", "z", "norm"];
        match KNOWN.iter().position(|p| *p == part) {
            Some(3) => Ok(Part::Norm),
            Some(k) => Ok(Part::Component(k)),
            None => Err(self.fail(part, "the parts are x, y, z and norm", words(&KNOWN))),
        }
    }

    fn energy(&self, part: &str) -> Result<What, UnknownQuantity> {
        match part {
            "kinetic" => return Ok(What::Kinetic),
            "potential" => return Ok(What::Potential),
            "total" => return Ok(What::Total),
            _ => {}
        }
        let names = self.model.energy_names();
        names.iter().position(|name| *name == part).map(What::Term).ok_or_else(|| {
            let mut known = words(&["kinetic", "potential", "total"]);
            known.extend(words(&names));
            self.fail(part, "no such energy", known)
        })
    }

    fn part_of_joint(
        &self,
        name: &str,
        part: &str,
        parts: &[&str],
        find: impl Fn(&str) -> Option<What>,
    ) -> Result<What, UnknownQuantity> {
        find(part).ok_or_else(|| {
            let known: Vec<&str> = parts.iter().copied().filter(|p| find(p).is_some()).collect();
            self.fail(part, &format!("the parts of `{name}` are {}", known.join(", ")), words(&known))
        })
    }

    fn rigid(&self, k: usize, part: &str) -> Result<What, UnknownQuantity> {
        const KNOWN: [&str; 14] =
            ["x", "y", "z", "vx", "vy", "vz", "speed", "wx", "wy", "wz", "qw", "qx", "qy", "qz"];
        match KNOWN.iter().position(|p| *p == part) {
            Some(i @ 0..=2) => Ok(What::Origin(k, Part::Component(i))),
            Some(i @ 3..=5) => Ok(What::OriginVelocity(k, Part::Component(i - 3))),
            Some(6) => Ok(What::OriginVelocity(k, Part::Norm)),
            Some(i @ 7..=9) => Ok(What::Spin(k, i - 7)),
            Some(i) => Ok(What::Quaternion(k, i - 10)),
            None => Err(self.fail(part, "a rigid body has no such part", words(&KNOWN))),
        }
    }

    fn points(&self, name: &str, part: &str) -> Result<What, UnknownQuantity> {
        let model = self.model;
        let base = name.split('[').next().unwrap_or_default();
        let points = model.select(name).map_err(|reason| {
            let joints = model.constraints.iter().map(|c| c.name.clone());
            let blocks = model.blocks.iter().map(|b| b.name.clone());
            self.fail(base, &reason, blocks.chain(joints).collect())
        })?;
        const KNOWN: [&str; 9] = ["x", "y", "z", "vx", "vy", "vz", "speed", "lowest", "highest"];
        match KNOWN.iter().position(|p| *p == part) {
            Some(i @ 0..=2) => Ok(What::Position(points, Part::Component(i))),
            Some(i @ 3..=5) => Ok(What::Velocity(points, Part::Component(i - 3))),
            Some(6) => Ok(What::Velocity(points, Part::Norm)),
            Some(7) => Ok(What::Lowest(points)),
            Some(_) => Ok(What::Highest(points)),
            None => Err(self.fail(part, "a set of points has no such part", words(&KNOWN))),
        }
    }
}

impl Quantity {
    /// Reads a text such as `ball.z` or `energy.total`.
    pub fn parse(model: &Model, text: &str) -> Result<Self, UnknownQuantity> {
        if text == "time" {
            return Ok(Self { text: text.into(), what: What::Time });
        }
        let parser = Parser { model, text };
        let Some((name, part)) = text.rsplit_once('.') else {
            let reason = "a quantity reads `name.part`, such as `ball.z` or `energy.total`";
            return Err(parser.fail(text, reason, words(&["time"])));
        };
        if let Some(what) = robot_part(model, text).or_else(|| contact_part(model, name, part)) {
            return Ok(Self { text: text.into(), what });
        }
        if let Some(free) = free_body(model, name) {
            let own = Self::parse(model, &format!("{free}.{part}"))?;
            return Ok(Self { text: text.into(), ..own });
        }
        if let Some((misspelt, reason, candidates)) = no_contact_part(model, name, part) {
            return Err(parser.fail(misspelt, &reason, candidates));
        }
        Ok(Self { text: text.into(), what: parser.read(name, part)? })
    }

    /// The number in a state, in SI units.
    pub fn value(&self, model: &Model, state: &State) -> f64 {
        let x = &state.q[model.layout.points_q()..];
        let v = &state.v[model.layout.points_v()..];
        let mean = |a: &[f64], r: &std::ops::Range<usize>| {
            r.clone().map(|i| triple(a, i)).sum::<Vec3>() / r.len().max(1) as f64
        };
        match &self.what {
            What::Time => state.time,
            What::Kinetic => model.energy(state).kinetic,
            What::Potential => model.energy(state).potential,
            What::Total => model.energy(state).total(),
            What::Term(k) => model.energy_terms(state)[*k].1,
            What::Momentum(part) => part.of(&model.momentum(state).0),
            What::AngularMomentum(part) => part.of(&model.momentum(state).1),
            What::Position(r, part) => part.of(&mean(x, r)),
            What::Velocity(r, part) => part.of(&mean(v, r)),
            What::Lowest(r) => r.clone().map(|i| x[3 * i + 2]).fold(f64::INFINITY, f64::min),
            What::Highest(r) => r.clone().map(|i| x[3 * i + 2]).fold(f64::NEG_INFINITY, f64::max),
            What::Origin(k, part) => part.of(&model.rigid.pose(&state.q, *k).position),
            What::OriginVelocity(k, part) => {
                let origin = model.rigid.pose(&state.q, *k).position;
                part.of(&Rigid::velocity_at(&state.q, &state.v, *k, &origin))
            }
            What::Spin(k, i) => Rigid::angular_velocity(&state.v, *k)[*i],
            What::Quaternion(k, i) => state.q[7 * k + 3 + i],
            What::Coordinate(i) => state.q[*i],
            What::CoordinateRate(i) => state.v[*i],
            What::Joint(c, axis) => model.joint_coordinate(state, *c, *axis).0,
            What::JointRate(c, axis) => model.joint_coordinate(state, *c, *axis).1,
            What::JointForce(c) => model.joint_force(state, *c),
            What::JointGap(c) => model.joint_gap(state, *c),
            What::Broken(c) => f64::from(u8::from(state.broken[model.constraints[*c].joint])),
            What::Affine(part) => model.read_affine_joint(state, *part),
            What::Pose(first, part) => {
                let origin = model.origins.iter().find(|(point, _)| point == first);
                affine_pose(x, v, *first, &origin.map_or_else(Vec3::zeros, |(_, place)| *place))[*part]
            }
            What::WorstGap => {
                let exact = |c: &usize| {
                    let entry = &model.constraints[*c];
                    entry.is_exact() && !state.broken[entry.joint]
                };
                let gaps = (0..model.constraints.len()).filter(exact).map(|c| model.joint_gap(state, c));
                gaps.fold(model.worst_affine_gap(state), f64::max)
            }
            What::RobotNumber(i, false) => state.q[*i],
            What::RobotNumber(i, true) => state.v[*i],
            What::Contact(k, part) => part.of(&model.contact_force_of(state, *k)),
            What::ContactCount => model.contact_forces(state).count() as f64,
            What::ContactGap => {
                let found = model.contacts_of(state);
                let gaps = state.contacts.iter().map(|c| c.gap).chain(found.iter().map(|c| c.gap));
                gaps.reduce(f64::min).unwrap_or(0.0)
            }
            What::TouchSensor(robot, sensor) => model.touch_sensor(state, robot, sensor).unwrap_or(0.0),
            What::RobotPlace(k, frame, i) => {
                let (named, mut work) = (&model.robots[*k], model.robots[*k].robot.work());
                named.robot.tree.kinematics(named.q(state), &mut work.tree);
                named.robot.position(frame, &work.tree)[*i]
            }
            What::RobotGap(k) => {
                let named = &model.robots[*k];
                named.robot.worst_gap(named.q(state), &mut named.robot.work())
            }
        }
    }

    /// SI unit, for table heads.
    pub fn unit(&self) -> &'static str {
        match self.what {
            What::Time => "s",
            What::Kinetic | What::Potential | What::Total | What::Term(_) => "J",
            What::Momentum(_) => "kg·m/s",
            What::AngularMomentum(_) => "kg·m²/s",
            What::Position(..) | What::Lowest(_) | What::Highest(_) => "m",
            What::Velocity(..) | What::OriginVelocity(..) => "m/s",
            What::Origin(..) | What::Joint(_, Axis::Position) => "m",
            What::Spin(..) | What::JointRate(_, Axis::Angle) => "rad/s",
            What::Joint(_, Axis::Angle) => "rad",
            What::JointRate(_, Axis::Position) => "m/s",
            What::JointForce(_) | What::Affine(JointPart::Force(_) | JointPart::TermForce(_)) => "N or N·m",
            What::Affine(JointPart::Value(_, true)) => "rad",
            What::Affine(JointPart::Value(_, false)) => "m",
            What::Affine(JointPart::Rate(_, true)) => "rad/s",
            What::Affine(JointPart::Rate(_, false)) => "m/s",
            What::Affine(JointPart::Gap(_)) => "m or rad",
            What::JointGap(_) | What::WorstGap | What::RobotGap(_) => "m or rad",
            What::RobotNumber(_, false) => "rad or m",
            What::RobotNumber(_, true) => "rad/s or m/s",
            What::RobotPlace(..) | What::ContactGap => "m",
            What::Contact(..) | What::TouchSensor(..) => "N",
            What::ContactCount => "1",
            What::Pose(_, 0..=2) => "m",
            What::Pose(_, 3..=6) => "m/s",
            What::Pose(_, 7..=9) => "rad/s",
            What::Pose(..) => "1",
            What::Quaternion(..) | What::Coordinate(_) | What::CoordinateRate(_) | What::Broken(_) => "1",
        }
    }
}

/// Forces of contact.
fn contact_part(model: &Model, name: &str, part: &str) -> Option<What> {
    if !has_contact(model) {
        return None;
    }
    if name == "contacts" {
        return match part {
            "count" => Some(What::ContactCount),
            "gap" => Some(What::ContactGap),
            _ => None,
        };
    }
    if part == "touch" {
        let [robot, sensor] = touch_sensor(model, name)?;
        return model.rigid_contact.as_ref().map(|_| What::TouchSensor(robot.to_owned(), sensor.to_owned()));
    }
    let owner = name.strip_suffix(".contact")?;
    let number = model.contact_names().iter().position(|n| *n == owner)?;
    let part = match part {
        "x" => Part::Component(0),
        "y" => Part::Component(1),
        "z" => Part::Component(2),
        "norm" => Part::Norm,
        _ => return None,
    };
    Some(What::Contact(number, part))
}

/// True if forces of contact are known in states of the model.
fn has_contact(model: &Model) -> bool {
    model.rigid_contact.is_some() || model.contact_reader.is_some()
}

/// Names of the robot and of its touch sensor in `ROBOT.SENSOR`.
fn touch_sensor<'a>(model: &Model, name: &'a str) -> Option<[&'a str; 2]> {
    let (robot, sensor) = name.split_once('.')?;
    let known = model.robots.iter().find(|r| r.name == robot)?;
    let found = known.robot.description.sensors.iter().any(|s| s.name == sensor && s.kind == "touch");
    found.then_some([robot, sensor])
}

/// Why a text that asks for contact cannot be read: the part that was not understood, the reason, and what could stand there.
fn no_contact_part<'a>(
    model: &Model,
    name: &'a str,
    part: &'a str,
) -> Option<(&'a str, String, Vec<String>)> {
    let words = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
    if part == "touch" && touch_sensor(model, name).is_some() {
        let reason = "touch sensors are read under `impulse` and `lagrange`; under `ipc` read the force on a link, \
                      such as `ROBOT/LINK.contact.norm`";
        return Some((part, reason.into(), Vec::new()));
    }
    let owner = name.strip_suffix(".contact");
    if model.block(name).is_some() || (name != "contacts" && owner.is_none()) {
        return None;
    }
    if !has_contact(model) {
        let reason = "nothing in this scene can touch, or its method has no contact: `impulse`, `lagrange` and `ipc` do";
        return Some((name, reason.into(), Vec::new()));
    }
    let Some(owner) = owner else {
        let reason = "of all contacts together there are count and gap";
        return Some((part, reason.into(), words(&["count", "gap"])));
    };
    let names = model.contact_names();
    if !names.contains(&owner) {
        return Some((owner, format!("nothing that can touch is called `{owner}`"), words(&names)));
    }
    Some((part, "the parts are x, y, z and norm".into(), words(&["x", "y", "z", "norm"])))
}

/// A part of constraint c.
fn joint_part(model: &Model, c: usize, part: &str) -> Option<What> {
    let entry = &model.constraints[c];
    let measured: &[Axis] = entry.constraint.as_joint().map_or(&[], |joint| joint.kind.info().coordinates);
    let [angle, position] = [Axis::Angle, Axis::Position].map(|axis| measured.contains(&axis));
    match part {
        "angle" if angle => Some(What::Joint(c, Axis::Angle)),
        "position" if position => Some(What::Joint(c, Axis::Position)),
        "rate" if angle => Some(What::JointRate(c, Axis::Angle)),
        "rate" if position => Some(What::JointRate(c, Axis::Position)),
        "force" => Some(What::JointForce(c)),
        "gap" => Some(What::JointGap(c)),
        "broken" => Some(What::Broken(c)),
        _ => None,
    }
}

/// `ROBOT.gap`, `ROBOT.JOINT`, `ROBOT.JOINT.rate` or `ROBOT.BODY.x`; names of joints and bodies may hold dots themselves.
fn robot_part(model: &Model, text: &str) -> Option<What> {
    let (k, named) = model
        .robots
        .iter()
        .enumerate()
        .find(|(_, named)| text.strip_prefix(&named.name).is_some_and(|rest| rest.starts_with('.')))?;
    let rest = &text[named.name.len() + 1..];
    if rest == "gap" {
        return Some(What::RobotGap(k));
    }
    let number = |name: &str, rate: bool| {
        let place = named.robot.joint(name)?;
        let own = &named.place;
        let at = if rate { own.v.start + place.v.start } else { own.q.start + place.q.start };
        Some(What::RobotNumber(at, rate))
    };
    if let Some(what) = number(rest, false) {
        return Some(what);
    }
    let (name, part) = rest.rsplit_once('.')?;
    if part == "rate" {
        return number(name, true);
    }
    let axis = ["x", "y", "z"].iter().position(|axis| *axis == part)?;
    let body = || named.robot.description.body(name).map(|body| named.robot.body_frame(body));
    let frame = named.robot.site(name).or_else(body)?;
    Some(What::RobotPlace(k, frame, axis))
}

/// The rigid body that `ROBOT.BODY` names, where a free body of a robot's file became one.
fn free_body<'a>(model: &'a Model, name: &str) -> Option<&'a str> {
    let own = |robot: &'a NamedRobot| robot.free_body(name.strip_prefix(&robot.name)?.strip_prefix('.')?);
    model.robots.iter().find_map(own)
}

/// `u3` or `du3` of a body with generalized coordinates.
fn generalized_part(model: &Model, name: &str, part: &str) -> Option<What> {
    let block = model.block(name).filter(|b| b.kind == BlockKind::Generalized)?;
    let number = |text: Option<&str>| text?.parse::<usize>().ok().filter(|k| *k < block.q.len());
    match number(part.strip_prefix("du")) {
        Some(k) => Some(What::CoordinateRate(block.v.start + k)),
        None => number(part.strip_prefix('u')).map(|k| What::Coordinate(block.q.start + k)),
    }
}

impl Model {
    /// Number of the constraint with the given name, such as `elbow` or `elbow.motor`.
    pub fn constraint(&self, name: &str) -> Option<usize> {
        self.constraints.iter().position(|c| c.name == name)
    }

    fn holders_of(&self, state: &State, c: usize) -> Vec<Body> {
        let holders = self.constraints[c].constraint.holders();
        holders.iter().map(|h| self.body(*h, &state.q, &state.v)).collect()
    }

    /// Value and rate of a coordinate of joint c; zero if it has no ends.
    fn joint_coordinate(&self, state: &State, c: usize, axis: Axis) -> (f64, f64) {
        let entry = &self.constraints[c];
        let Some(ends) = entry.constraint.ends() else { return (0.0, 0.0) };
        let bodies = self.holders_of(state, c);
        let last = state.turns[entry.turns.clone()].first().copied().unwrap_or(0.0);
        let row = AxisRow::new(axis, Role::Effort(0.0), *ends);
        let mut rows = Rows::default();
        crate::joints::Constraint::evaluate(&row, state.time, &bodies, &[last], &mut rows);
        (row.value(&bodies, last), rows.rate(0, &bodies))
    }

    fn joint_rows(&self, state: &State, c: usize) -> (Rows, Vec<Body>) {
        let entry = &self.constraints[c];
        let bodies = self.holders_of(state, c);
        let mut rows = Rows::default();
        entry.constraint.evaluate(state.time, &bodies, &state.turns[entry.turns.clone()], &mut rows);
        (rows, bodies)
    }

    /// Norm of λ over the rows of constraint c \[N or N·m\].
    fn joint_force(&self, state: &State, c: usize) -> f64 {
        let entry = &self.constraints[c];
        let n = entry.constraint.rows();
        let solved = norm(&state.lambda[6 * c..6 * c + n]);
        if solved != 0.0 || state.broken[entry.joint] {
            return solved;
        }
        let (rows, bodies) = self.joint_rows(state, c);
        let row = |i: usize| {
            entry.explicit_force(rows.violation[i], rows.rate(i, &bodies) + rows.drift[i]).unwrap_or(0.0)
        };
        norm(&(0..n).map(row).collect::<Vec<_>>())
    }

    /// Worst |C| of constraint c, or 0 if it has broken \[m or rad\].
    fn joint_gap(&self, state: &State, c: usize) -> f64 {
        let entry = &self.constraints[c];
        if state.broken[entry.joint] {
            return 0.0;
        }
        let (rows, _) = self.joint_rows(state, c);
        rows.violation[..entry.constraint.rows()].iter().fold(0.0, |w, x| w.max(x.abs()))
    }
}

impl Model {
    /// Points named by `NAME`, `NAME[i]` or `NAME[i:j]` (i included, j not; negative numbers count from the end).
    pub fn select(&self, text: &str) -> Result<std::ops::Range<usize>, String> {
        let (name, index) = split_index(text)?;
        let block = self
            .block(name)
            .filter(|block| block.kind != BlockKind::Robot)
            .ok_or_else(|| format!("the scene has no set of points called `{name}`"))?;
        let first = block.points.start;
        index.within(block.points.len(), name).map(|r| first + r.start..first + r.end)
    }
}

/// Parts of an affine body that is read as a rigid one.
const POSE: [&str; 14] = ["x", "y", "z", "vx", "vy", "vz", "speed", "wx", "wy", "wz", "qw", "qx", "qy", "qz"];

/// Pose and velocity of an affine body in the order of [`POSE`]: the origin of its frame, which lies at `origin` from its
/// centre of mass in body axes, and the rotation R nearest to its deformation A (A = R S with S symmetric); the angular velocity, in
/// world axes, is R w with w the skew part of $R^T\dot A$ for the small S − 1 of a stiff body.
fn affine_pose(x: &[f64], v: &[f64], first: usize, origin: &Vec3) -> [f64; 14] {
    let matrix = |a: &[f64]| crate::math::Mat3::from_columns(&[1, 2, 3].map(|k| triple(a, first + k)));
    let (U, _, Q) = crate::forces::nary::signed_svd(&matrix(x));
    let R = U * Q.transpose();
    let q = crate::math::Quat::from_rotation_matrix(&nalgebra::Rotation3::from_matrix_unchecked(R));
    let W = R.transpose() * matrix(v);
    let w = 0.5 * R * Vec3::new(W[(2, 1)] - W[(1, 2)], W[(0, 2)] - W[(2, 0)], W[(1, 0)] - W[(0, 1)]);
    let (p, u): (Vec3, Vec3) = (triple(x, first) + matrix(x) * origin, triple(v, first) + matrix(v) * origin);
    [p.x, p.y, p.z, u.x, u.y, u.z, u.norm(), w[0], w[1], w[2], q.w, q.i, q.j, q.k]
}

/// The bracket behind a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Index {
    All,
    One(i64),
    Slice(i64, i64),
}

impl Index {
    /// The range it means in a set of `n` points.
    pub(crate) fn within(self, n: usize, name: &str) -> Result<std::ops::Range<usize>, String> {
        let place = |i: i64| if i < 0 { n as i64 + i } else { i };
        let range = match self {
            Index::All => return Ok(0..n),
            Index::One(i) => (place(i), place(i) + 1),
            Index::Slice(i, j) => (place(i), place(j)),
        };
        if range.0 < 0 || range.1 > n as i64 || range.0 >= range.1 {
            let text = match self {
                Index::One(i) => format!("{i}"),
                Index::Slice(i, j) => format!("{i}:{j}"),
                Index::All => String::new(),
            };
            return Err(format!("`{name}[{text}]` is out of range: `{name}` has {n} points"));
        }
        Ok(range.0 as usize..range.1 as usize)
    }
}

/// Splits `name[i]` or `name[i:j]`.
pub(crate) fn split_index(text: &str) -> Result<(&str, Index), String> {
    let Some((name, rest)) = text.split_once('[') else {
        return Ok((text, Index::All));
    };
    let bad = || format!("`{text}` should read `{name}`, `{name}[3]` or `{name}[0:3]`");
    let inside = rest.strip_suffix(']').ok_or_else(bad)?;
    let number = |s: &str| s.trim().parse::<i32>().map(i64::from).map_err(|_| bad());
    match inside.split_once(':') {
        None => Ok((name, Index::One(number(inside)?))),
        Some((a, b)) => {
            // An empty end means "to the last point": one past −1 cannot be written as a negative number.
            let a = if a.trim().is_empty() { 0 } else { number(a)? };
            if b.trim().is_empty() {
                return Err(format!("`{text}` needs an end: `{name}[{a}:N]`"));
            }
            Ok((name, Index::Slice(a, number(b)?)))
        }
    }
}
