//! The description of a robot: a tree of bodies, joints, actuators and sensors as plain data.
//!
//! A body hangs on its parent at a [`Pose`] and may move against it by joints. Several joints on one body act one
//! after the other. With the body at pose X = X_parent X_body, each joint in turn does
//!
//! | kind | coordinates q | what it does to the body |
//! |---|---|---|
//! | free | x y z, quaternion w x y z | replaces the pose by (x, quaternion), in the world |
//! | ball | quaternion w x y z | turns about the anchor |
//! | hinge | angle \[rad\] | turns by q − reference about the axis through the anchor |
//! | slider | shift \[m\] | shifts by q − reference along the axis |
//! | screw | angle \[rad\] | turns as a hinge and shifts by pitch · (q − reference) / 2π |
//! | planar | shifts x, y \[m\], angle \[rad\] | shifts along the first two axes of [`aligned_frame`] of the axis, then turns about the axis |
//! | universal | two angles \[rad\] | turns about the axis, then about the second axis |
//! | fixed | none | nothing |
//!
//! Anchor and axis are given in the frame of the body, and are taken as the joints before have left it. Velocities
//! have one number per freedom; of a free joint they are linear in world axes, then angular in body axes; of a ball,
//! angular in body axes.
//!
//! Nothing here reads a file and nothing moves: readers fill a [`RobotDescription`], and the engine builds from it.
//!
//! [`aligned_frame`]: super::aligned_frame

mod actuators;
mod constraints;
mod geoms;
mod joints;
mod options;
mod sensors;

pub use actuators::{Actuator, ActuatorDynamics, ActuatorLaw, PathPoint, Tendon, TendonPath, Transmission};
pub use constraints::{ContactExclude, ContactPair, Equality, EqualityKind, Mimic};
pub use geoms::{ContactSoftness, GeomShape, HeightField, RobotGeom, RobotMesh, RobotSite};
pub use joints::{Inertial, RobotJoint};
pub use options::{RobotIntegrator, RobotOptions, RobotSolver};
pub use sensors::{Sensor, SensorObject};

use crate::joints::JointKind;
use crate::math::Pose;

macro_rules! index {
    ($(#[$doc:meta] $name:ident)*) => {$(
        #[$doc]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub usize);
    )*};
}

index! {
    /// Number of a body in [`RobotDescription::bodies`]; 0 is the world.
    RobotBodyId
    /// Number of a joint, counted through all bodies in their order: see [`RobotDescription::joints`].
    RobotJointId
    /// Number of a geom, counted through all bodies in their order: see [`RobotDescription::geoms`].
    RobotGeomId
    /// Number of a site, counted through all bodies in their order: see [`RobotDescription::sites`].
    RobotSiteId
    /// Number of a mesh in [`RobotDescription::meshes`].
    RobotMeshId
    /// Number of a height field in [`RobotDescription::height_fields`].
    HeightFieldId
    /// Number of a tendon in [`RobotDescription::tendons`].
    TendonId
    /// Number of an actuator in [`RobotDescription::actuators`].
    ActuatorId
    /// Number of a sensor in [`RobotDescription::sensors`].
    SensorId
}

/// A robot, or a whole scene of robots with the ground that they stand on.
#[derive(Debug, Clone, PartialEq)]
pub struct RobotDescription {
    /// Name of the model.
    pub name: String,
    /// Step, gravity and solver settings that the model asks for.
    pub options: RobotOptions,
    /// Bodies; the first is the world, and parents stand before their children.
    pub bodies: Vec<RobotBody>,
    /// Surfaces that geoms use.
    pub meshes: Vec<RobotMesh>,
    /// Terrains that geoms use.
    pub height_fields: Vec<HeightField>,
    /// Lengths made of joints or of paths.
    pub tendons: Vec<Tendon>,
    /// What drives the robot.
    pub actuators: Vec<Actuator>,
    /// Constraints beyond the tree: loops, couplings.
    pub equalities: Vec<Equality>,
    /// Joints that follow others, as a URDF says it.
    pub mimics: Vec<Mimic>,
    /// What is measured.
    pub sensors: Vec<Sensor>,
    /// Named states.
    pub keyframes: Vec<Keyframe>,
    /// Pairs of bodies that never touch each other.
    pub contact_excludes: Vec<ContactExclude>,
    /// Pairs of geoms that may touch in a way of their own.
    pub contact_pairs: Vec<ContactPair>,
    /// Named numbers that mean something to their author.
    pub numbers: Vec<(String, Vec<f64>)>,
    /// Named texts that mean something to their author.
    pub texts: Vec<(String, String)>,
}

impl RobotDescription {
    /// A robot of nothing but the world.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            options: RobotOptions::default(),
            bodies: vec![RobotBody::new("world", RobotBodyId(0))],
            meshes: Vec::new(),
            height_fields: Vec::new(),
            tendons: Vec::new(),
            actuators: Vec::new(),
            equalities: Vec::new(),
            mimics: Vec::new(),
            sensors: Vec::new(),
            keyframes: Vec::new(),
            contact_excludes: Vec::new(),
            contact_pairs: Vec::new(),
            numbers: Vec::new(),
            texts: Vec::new(),
        }
    }

    /// All joints in the order of their coordinates, each with its body.
    pub fn joints(&self) -> impl Iterator<Item = (RobotBodyId, &RobotJoint)> {
        self.of_bodies(|body| &body.joints)
    }

    /// All geoms in the order of their bodies, each with its body.
    pub fn geoms(&self) -> impl Iterator<Item = (RobotBodyId, &RobotGeom)> {
        self.of_bodies(|body| &body.geoms)
    }

    /// All sites in the order of their bodies, each with its body.
    pub fn sites(&self) -> impl Iterator<Item = (RobotBodyId, &RobotSite)> {
        self.of_bodies(|body| &body.sites)
    }

    /// Gives a robot without actuators a motor on every hinge and slide that has a name and follows no other: its
    /// control is the torque or force itself \[N·m or N\], up to the effort limit of the joint, and it is called as the
    /// joint is. A description without actuators (URDF) can then be driven.
    pub fn add_motors(&mut self) {
        if !self.actuators.is_empty() {
            return;
        }
        let moves = |joint: &RobotJoint| matches!(joint.kind, JointKind::Hinge | JointKind::Slider);
        let driven: Vec<(RobotJointId, String)> = self
            .joints()
            .enumerate()
            .map(|(k, (_, joint))| (RobotJointId(k), joint))
            .filter(|(id, joint)| moves(joint) && !joint.name.is_empty() && !self.follows(*id))
            .map(|(id, joint)| (id, joint.name.clone()))
            .collect();
        self.actuators = driven.into_iter().map(|(id, name)| Actuator::motor(name, id)).collect();
    }

    /// Whether any of its geoms can touch something.
    pub fn touches(&self) -> bool {
        let some = !self.contact_pairs.is_empty() || self.geoms().any(|(_, geom)| !geom.is_visual());
        some && !self.options.disables("contact")
    }

    fn follows(&self, joint: RobotJointId) -> bool {
        self.mimics.iter().any(|mimic| mimic.joint == joint)
    }

    fn of_bodies<'a, T: 'a>(
        &'a self,
        list: impl Fn(&'a RobotBody) -> &'a Vec<T>,
    ) -> impl Iterator<Item = (RobotBodyId, &'a T)> {
        let each = move |(i, body)| list(body).iter().map(move |item| (RobotBodyId(i), item));
        self.bodies.iter().enumerate().flat_map(each)
    }

    /// The body called `name`.
    pub fn body(&self, name: &str) -> Option<RobotBodyId> {
        self.bodies.iter().position(|body| body.name == name).map(RobotBodyId)
    }

    /// The joint called `name`.
    pub fn joint(&self, name: &str) -> Option<RobotJointId> {
        self.joints().position(|(_, joint)| joint.name == name).map(RobotJointId)
    }

    /// How many numbers a configuration has.
    pub fn position_count(&self) -> usize {
        self.joints().map(|(_, joint)| joint.kind.position_count()).sum()
    }

    /// How many numbers a velocity has: the freedoms.
    pub fn velocity_count(&self) -> usize {
        self.joints().map(|(_, joint)| joint.kind.velocity_count()).sum()
    }

    /// Mass of everything that is not the world \[kg\].
    pub fn total_mass(&self) -> f64 {
        self.bodies[1..].iter().map(|body| body.inertial.mass).sum()
    }

    /// The configuration in which all bodies stand as their poses say: references of hinges and slides, free bodies at
    /// their poses, balls unturned.
    pub fn reference_configuration(&self) -> Vec<f64> {
        let mut q = Vec::with_capacity(self.position_count());
        for (body, joint) in self.joints() {
            for factor in joint.kind.factors() {
                factor.push_neutral(joint.reference, &self.bodies[body.0].pose, &mut q);
            }
        }
        q
    }
}

/// One link of a robot.
#[derive(Debug, Clone, PartialEq)]
pub struct RobotBody {
    /// Name, unique among bodies, or empty.
    pub name: String,
    /// The body that it hangs on; the world hangs on itself.
    pub parent: RobotBodyId,
    /// Where its frame stands in the parent's frame, all joints at their references.
    pub pose: Pose,
    /// How heavy it is.
    pub inertial: Inertial,
    /// How it moves against its parent; none: it is welded to it.
    pub joints: Vec<RobotJoint>,
    /// Its shapes.
    pub geoms: Vec<RobotGeom>,
    /// Marked frames on it.
    pub sites: Vec<RobotSite>,
    /// Part of its weight that is taken away: 1 makes it float.
    pub gravity_compensation: f64,
    /// Whether it is moved from outside instead of by forces.
    pub mocap: bool,
}

impl RobotBody {
    /// A body without mass, at the origin of its parent.
    pub fn new(name: impl Into<String>, parent: RobotBodyId) -> Self {
        Self {
            name: name.into(),
            parent,
            pose: Pose::identity(),
            inertial: Inertial::default(),
            joints: Vec::new(),
            geoms: Vec::new(),
            sites: Vec::new(),
            gravity_compensation: 0.0,
            mocap: false,
        }
    }
}

/// A named state.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Keyframe {
    /// Name, or empty.
    pub name: String,
    /// Time \[s\].
    pub time: f64,
    /// Configuration; empty: the reference configuration.
    pub positions: Vec<f64>,
    /// Velocity; empty: rest.
    pub velocities: Vec<f64>,
    /// Activations; empty: zero.
    pub activations: Vec<f64>,
    /// Controls; empty: zero.
    pub controls: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec3;

    #[test]
    fn the_reference_configuration_has_the_right_length() {
        let mut robot = RobotDescription::new("r");
        let kinds = [
            JointKind::Free,
            JointKind::Ball,
            JointKind::Hinge,
            JointKind::Slider,
            JointKind::Fixed,
            JointKind::Planar,
            JointKind::Screw { pitch: 0.1 },
            JointKind::Universal,
        ];
        for (i, kind) in kinds.into_iter().enumerate() {
            let mut body = RobotBody::new(format!("b{i}"), RobotBodyId(0));
            body.pose = Pose::at(Vec3::new(1.0, 2.0, 3.0));
            body.joints.push(RobotJoint { reference: 0.5, ..RobotJoint::new(format!("j{i}"), kind) });
            robot.bodies.push(body);
        }
        let q = robot.reference_configuration();
        assert_eq!(q.len(), robot.position_count());
        assert_eq!(q[..7], [1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(q[11..13], [0.5, 0.5]);
        assert_eq!(robot.position_count(), 19);
        assert_eq!(robot.velocity_count(), 17);
        assert_eq!((robot.joint("j2"), robot.body("b2")), (Some(RobotJointId(2)), Some(RobotBodyId(3))));
    }
}
