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
//! Nothing here reads a file and nothing moves: readers fill a [`Robot`], and the engine builds from it.
//!
//! [`aligned_frame`]: super::aligned_frame

use crate::bodies::{MassError, MassProperties};
use crate::joints::JointKind;
use crate::math::{Mat3, Pose, Vec3};

macro_rules! index {
    ($(#[$doc:meta] $name:ident)*) => {$(
        #[$doc]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub usize);
    )*};
}

index! {
    /// Number of a body in [`Robot::bodies`]; 0 is the world.
    RobotBodyId
    /// Number of a joint, counted through all bodies in their order: see [`Robot::joints`].
    RobotJointId
    /// Number of a geom, counted through all bodies in their order: see [`Robot::geoms`].
    RobotGeomId
    /// Number of a site, counted through all bodies in their order: see [`Robot::sites`].
    RobotSiteId
    /// Number of a mesh in [`Robot::meshes`].
    RobotMeshId
    /// Number of a height field in [`Robot::height_fields`].
    HeightFieldId
    /// Number of a tendon in [`Robot::tendons`].
    TendonId
    /// Number of an actuator in [`Robot::actuators`].
    ActuatorId
    /// Number of a sensor in [`Robot::sensors`].
    SensorId
}

/// A robot, or a whole scene of robots with the ground that they stand on.
#[derive(Debug, Clone, PartialEq)]
pub struct Robot {
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

impl Robot {
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

/// Mass, centre and inertia of a body. All zero for a body that is only a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inertial {
    /// Mass \[kg\], ≥ 0.
    pub mass: f64,
    /// Centre of mass in the body's frame \[m\].
    pub center: Vec3,
    /// Inertia about the centre of mass, in the body's axes \[kg·m²\]; symmetric.
    pub inertia: Mat3,
}

impl Default for Inertial {
    fn default() -> Self {
        Self { mass: 0.0, center: Vec3::zeros(), inertia: Mat3::zeros() }
    }
}

impl Inertial {
    /// The same, if a mass distribution can have it.
    pub fn mass_properties(&self) -> Result<MassProperties, MassError> {
        MassProperties::new(self.mass, self.center, self.inertia)
    }
}

/// A joint between a body and its parent. Units are those of the coordinate: rad and N·m for a turn, m and N for a
/// shift.
#[derive(Debug, Clone, PartialEq)]
pub struct RobotJoint {
    /// Name, unique among joints, or empty.
    pub name: String,
    /// How it moves.
    pub kind: JointKind,
    /// Point on the axis, in the body's frame \[m\].
    pub anchor: Vec3,
    /// Direction of the axis, length 1, in the body's frame.
    pub axis: Vec3,
    /// Direction of the second axis of a universal joint, length 1, in the body's frame.
    pub second_axis: Vec3,
    /// Lowest and highest position \[rad or m\]; of a ball: 0 and the largest turn.
    pub limits: Option<[f64; 2]>,
    /// The limit pushes from this distance on \[rad or m\].
    pub limit_margin: f64,
    /// How soft the limit is.
    pub limit_softness: ContactSoftness,
    /// The position at which the body stands as its pose says \[rad or m\].
    pub reference: f64,
    /// Stiffness of the spring towards `spring_reference` \[N·m/rad or N/m\].
    pub stiffness: f64,
    /// Rest position of the spring \[rad or m\].
    pub spring_reference: f64,
    /// Viscous friction \[N·m·s/rad or N·s/m\].
    pub damping: f64,
    /// Dry friction: the largest force with which the joint resists motion \[N·m or N\].
    pub friction_loss: f64,
    /// How soft the dry friction is.
    pub friction_softness: ContactSoftness,
    /// Inertia of the rotor seen through its gear, added to the diagonal of the mass matrix \[kg·m² or kg\].
    pub armature: f64,
    /// Bound on the sum of all actuator forces at this joint \[N·m or N\]: lowest and highest.
    pub effort_limits: Option<[f64; 2]>,
    /// Bound on the speed that a URDF gives \[rad/s or m/s\].
    pub velocity_limit: Option<f64>,
    /// Whether actuators take the weight that gravity compensation removes.
    pub actuator_gravity_compensation: bool,
    /// Number for switching in a display.
    pub group: i32,
}

impl RobotJoint {
    /// A joint about z through the origin, without limits, friction or spring.
    pub fn new(name: impl Into<String>, kind: JointKind) -> Self {
        Self {
            name: name.into(),
            kind,
            anchor: Vec3::zeros(),
            axis: Vec3::z(),
            second_axis: Vec3::x(),
            limits: None,
            limit_margin: 0.0,
            limit_softness: ContactSoftness::default(),
            reference: 0.0,
            stiffness: 0.0,
            spring_reference: 0.0,
            damping: 0.0,
            friction_loss: 0.0,
            friction_softness: ContactSoftness::default(),
            armature: 0.0,
            effort_limits: None,
            velocity_limit: None,
            actuator_gravity_compensation: false,
            group: 0,
        }
    }
}

/// MuJoCo's two descriptions of a soft constraint, kept as the file gives them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactSoftness {
    /// Positive: time constant \[s\] and damping ratio. Negative: −stiffness and −damping, per unit of inertia.
    pub solref: [f64; 2],
    /// Smallest and largest impedance, width of the transition \[m or rad\], its midpoint, its power.
    pub solimp: [f64; 5],
}

impl Default for ContactSoftness {
    fn default() -> Self {
        Self { solref: [0.02, 1.0], solimp: [0.9, 0.95, 0.001, 0.5, 2.0] }
    }
}

/// A shape on a body: to touch, to weigh, to see.
#[derive(Debug, Clone, PartialEq)]
pub struct RobotGeom {
    /// Name, unique among geoms, or empty.
    pub name: String,
    /// What it is.
    pub shape: GeomShape,
    /// Where it stands in the body's frame. A mesh stands in the frame of its file.
    pub pose: Pose,
    /// What it weighs by itself \[kg\]; what the body weighs is [`RobotBody::inertial`].
    pub mass: f64,
    /// Bits of the kinds of contact that it makes; 0 together with `contact_affinity`: it only looks.
    pub contact_type: u32,
    /// Bits of the kinds of contact that it takes: a and b touch if type of one and affinity of the other share a bit.
    pub contact_affinity: u32,
    /// 1: without friction; 3: sliding friction; 4: and torsional; 6: and rolling.
    pub contact_dimension: u8,
    /// Of two geoms that touch, the one of higher priority decides friction and softness.
    pub contact_priority: i32,
    /// Friction: sliding, torsional \[m\], rolling \[m\].
    pub friction: [f64; 3],
    /// How soft its contacts are.
    pub softness: ContactSoftness,
    /// Weight of its softness in the mean of two geoms.
    pub softness_weight: f64,
    /// Distance from which contacts are seen \[m\].
    pub margin: f64,
    /// Part of the margin in which they do not push yet \[m\].
    pub gap: f64,
    /// Number for switching in a display.
    pub group: i32,
    /// Red, green, blue, opacity, each from 0 to 1.
    pub color: [f64; 4],
    /// Name of the material, or empty.
    pub material: String,
}

impl RobotGeom {
    /// A shape at the origin of its body that touches everything, grey, weightless.
    pub fn new(name: impl Into<String>, shape: GeomShape) -> Self {
        Self {
            name: name.into(),
            shape,
            pose: Pose::identity(),
            mass: 0.0,
            contact_type: 1,
            contact_affinity: 1,
            contact_dimension: 3,
            contact_priority: 0,
            friction: [1.0, 0.005, 0.0001],
            softness: ContactSoftness::default(),
            softness_weight: 1.0,
            margin: 0.0,
            gap: 0.0,
            group: 0,
            color: [0.5, 0.5, 0.5, 1.0],
            material: String::new(),
        }
    }

    /// Whether it is there only to be seen.
    pub fn is_visual(&self) -> bool {
        self.contact_type == 0 && self.contact_affinity == 0
    }

    /// Whether the type of one of two geoms fits the affinity of the other.
    pub fn may_touch(&self, other: &Self) -> bool {
        self.contact_type & other.contact_affinity != 0 || other.contact_type & self.contact_affinity != 0
    }
}

/// What a geom is. Round shapes stand along z, centred at 0.
#[derive(Debug, Clone, PartialEq)]
pub enum GeomShape {
    /// The half space z ≤ 0.
    Plane {
        /// Half the extents of what is drawn along x and y \[m\]; 0: without end.
        half: [f64; 2],
    },
    /// A terrain.
    HeightField(HeightFieldId),
    /// A ball.
    Sphere {
        /// Radius \[m\].
        radius: f64,
    },
    /// A cylinder with a half ball on either end.
    Capsule {
        /// Radius \[m\].
        radius: f64,
        /// Half the length of the cylinder part \[m\].
        half_length: f64,
    },
    /// A round cylinder.
    Cylinder {
        /// Radius \[m\].
        radius: f64,
        /// Half the length \[m\].
        half_length: f64,
    },
    /// An ellipsoid.
    Ellipsoid {
        /// Half the diameters along the axes \[m\].
        semi_axes: Vec3,
    },
    /// A box with faces across the axes.
    Box {
        /// Half the sizes \[m\].
        half: Vec3,
    },
    /// A surface.
    Mesh(RobotMeshId),
}

/// A surface of triangles, as its file gives it, moved and scaled as the model asks.
#[derive(Debug, Clone, PartialEq)]
pub struct RobotMesh {
    /// Name, unique among meshes.
    pub name: String,
    /// The file, as the model names it; empty for vertices in the model itself.
    pub file: String,
    /// What the file's coordinates were multiplied by.
    pub scale: Vec3,
    /// Corners \[m\], scale applied.
    pub vertices: Vec<Vec3>,
    /// Three corners each, counter-clockwise seen from outside; not always closed. Empty if the file was not found.
    pub triangles: Vec<[u32; 3]>,
    /// Where the principal axes of its volume stand in its own frame, moments falling: the frame that MuJoCo gives
    /// to a geom of this mesh.
    pub inertial_frame: Pose,
}

/// A terrain over a rectangle.
#[derive(Debug, Clone, PartialEq)]
pub struct HeightField {
    /// Name, unique among height fields.
    pub name: String,
    /// The file, as the model names it; empty for heights in the model itself.
    pub file: String,
    /// Half extents along x and y, height of the value 1, depth of the ground below 0 \[m\].
    pub size: [f64; 4],
    /// How many rows (along y) and columns (along x).
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Heights from 0 to 1, row by row; empty if they are to be filled in later.
    pub heights: Vec<f64>,
}

/// A marked frame on a body.
#[derive(Debug, Clone, PartialEq)]
pub struct RobotSite {
    /// Name, unique among sites, or empty.
    pub name: String,
    /// Where it stands in the body's frame.
    pub pose: Pose,
    /// Its extent, for touch sensors and display.
    pub shape: GeomShape,
    /// Number for switching in a display.
    pub group: i32,
    /// Red, green, blue, opacity, each from 0 to 1.
    pub color: [f64; 4],
}

/// What a model asks of the simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct RobotOptions {
    /// Step \[s\].
    pub timestep: f64,
    /// Gravity \[m/s²\].
    pub gravity: Vec3,
    /// Time stepping method.
    pub integrator: RobotIntegrator,
    /// Velocity of the air \[m/s\].
    pub wind: Vec3,
    /// Magnetic field, for magnetometers.
    pub magnetic: Vec3,
    /// Density of the medium \[kg/m³\].
    pub density: f64,
    /// Viscosity of the medium \[Pa·s\].
    pub viscosity: f64,
    /// Whether the friction cone is round instead of a pyramid; `None` if the file does not say.
    pub elliptic_cone: Option<bool>,
    /// Impedance of friction over that of the normal direction.
    pub impedance_ratio: f64,
    /// Constraint solver.
    pub solver: RobotSolver,
    /// Most iterations of the solver.
    pub iterations: usize,
    /// Tolerance of the solver.
    pub tolerance: f64,
    /// If given: margin and softness of all contacts, instead of those of the geoms.
    pub contact_override: Option<(f64, ContactSoftness)>,
    /// Switches that the model sets, by their MJCF names ("contact", "gravity"), each on or off.
    pub flags: Vec<(String, bool)>,
    /// Other settings, by their MJCF names, which only another engine can use ("noslip_iterations").
    pub other: Vec<(String, String)>,
}

impl Default for RobotOptions {
    fn default() -> Self {
        Self {
            timestep: 0.002,
            gravity: Vec3::new(0.0, 0.0, -9.81),
            integrator: RobotIntegrator::default(),
            wind: Vec3::zeros(),
            magnetic: Vec3::new(0.0, -0.5, 0.0),
            density: 0.0,
            viscosity: 0.0,
            elliptic_cone: None,
            impedance_ratio: 1.0,
            solver: RobotSolver::default(),
            iterations: 100,
            tolerance: 1e-8,
            contact_override: None,
            flags: Vec::new(),
            other: Vec::new(),
        }
    }
}

impl RobotOptions {
    /// Whether the model switches `flag` off.
    pub fn disables(&self, flag: &str) -> bool {
        self.flags.iter().rev().find(|(name, _)| name == flag).is_some_and(|(_, on)| !on)
    }

    /// Whether the model switches `flag` on.
    pub fn enables(&self, flag: &str) -> bool {
        self.flags.iter().rev().find(|(name, _)| name == flag).is_some_and(|(_, on)| *on)
    }
}

/// Time stepping methods that models name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RobotIntegrator {
    /// Semi-implicit Euler, joint damping implicit.
    #[default]
    Euler,
    /// Runge-Kutta of order 4.
    Rk4,
    /// Implicit in velocity.
    Implicit,
    /// Implicit in velocity without the derivatives of Coriolis forces.
    ImplicitFast,
    /// Implicit in springs, dampers and servos: the discrete-time scheme of MuJoCo 4.
    Discrete,
}

impl RobotIntegrator {
    /// The ways in which a step at the velocity level takes forces at its end, by name.
    pub const STEPPED: [(&'static str, Self); 4] = [
        ("discrete", Self::Discrete),
        ("implicitfast", Self::ImplicitFast),
        ("implicit", Self::Implicit),
        ("euler", Self::Euler),
    ];
}

/// Constraint solvers that models name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RobotSolver {
    /// Projected Gauss-Seidel.
    Pgs,
    /// Conjugate gradients.
    Cg,
    /// Newton.
    #[default]
    Newton,
}

/// Something that drives a robot: force = gain(length, speed) · (control or activation) + bias(length, speed), sent
/// through a transmission.
#[derive(Debug, Clone, PartialEq)]
pub struct Actuator {
    /// Name, unique among actuators, or empty.
    pub name: String,
    /// What it pulls on.
    pub transmission: Transmission,
    /// Factor of the transmission. One number for hinges, slides and tendons; six (force, torque) for sites and free
    /// joints, three for balls.
    pub gear: [f64; 6],
    /// What lies between control and activation.
    pub dynamics: ActuatorDynamics,
    /// The gain.
    pub gain: ActuatorLaw,
    /// The bias.
    pub bias: ActuatorLaw,
    /// Damping as a share of the critical one, to be computed from the robot's inertia at its reference configuration:
    /// 2 · ratio · √(kp · m) is then taken from the third number of an affine bias.
    pub damping_ratio: Option<f64>,
    /// Control is clamped to this range.
    pub control_range: Option<[f64; 2]>,
    /// Force is clamped to this range \[N or N·m\].
    pub force_range: Option<[f64; 2]>,
    /// Activation is clamped to this range.
    pub activation_range: Option<[f64; 2]>,
    /// Range of the transmission's length, for muscles \[m or rad\].
    pub length_range: Option<[f64; 2]>,
    /// Whether the force uses the activation of the next step.
    pub activation_early: bool,
    /// Inertia of the motor seen at the transmission \[kg·m² or kg\].
    pub armature: f64,
    /// Number for switching.
    pub group: i32,
}

impl Actuator {
    /// A motor on a hinge or slide whose control is its torque or force \[N·m or N\].
    pub fn motor(name: impl Into<String>, joint: RobotJointId) -> Self {
        Self {
            name: name.into(),
            transmission: Transmission::Joint(joint),
            gear: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            dynamics: ActuatorDynamics::None,
            gain: ActuatorLaw::Fixed(1.0),
            bias: ActuatorLaw::None,
            damping_ratio: None,
            control_range: None,
            force_range: None,
            activation_range: None,
            length_range: None,
            activation_early: false,
            armature: 0.0,
            group: 0,
        }
    }
}

/// What an actuator pulls on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Transmission {
    /// A joint.
    Joint(RobotJointId),
    /// A joint, the gear of a ball or free joint seen in the parent's frame.
    JointInParent(RobotJointId),
    /// A tendon.
    Tendon(TendonId),
    /// A force and torque at a site, in the axes of the site or of a reference site.
    Site {
        /// Where it acts.
        site: RobotSiteId,
        /// Frame in which the gear is given.
        reference: Option<RobotSiteId>,
    },
    /// A crank that moves a slider.
    SliderCrank {
        /// Where the crank is joined.
        crank: RobotSiteId,
        /// The slider, which moves along the z axis of this site.
        slider: RobotSiteId,
        /// Length of the rod \[m\].
        length: f64,
    },
    /// Adhesion: pulls at all contacts of a body.
    Body(RobotBodyId),
}

/// What lies between control u and activation a.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ActuatorDynamics {
    /// a = u.
    None,
    /// ȧ = u.
    Integrator,
    /// ȧ = (u − a)/τ, stepped by Euler.
    Filter {
        /// Time constant τ \[s\].
        time: f64,
    },
    /// ȧ = (u − a)/τ, stepped exactly.
    FilterExact {
        /// Time constant τ \[s\].
        time: f64,
    },
    /// MuJoCo's muscle, its parameters as the file gives them.
    Muscle([f64; 10]),
    /// A law of the user's own, with its parameters.
    User([f64; 10]),
}

/// A gain or bias as a function of the transmission's length ℓ and speed v.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ActuatorLaw {
    /// Zero.
    None,
    /// A constant.
    Fixed(f64),
    /// p₀ + p₁ ℓ + p₂ v.
    Affine([f64; 3]),
    /// MuJoCo's muscle, its parameters as the file gives them.
    Muscle([f64; 10]),
    /// A law of the user's own, with its parameters.
    User([f64; 10]),
}

/// A length: a sum of joint positions, or a path through sites and around geoms.
#[derive(Debug, Clone, PartialEq)]
pub struct Tendon {
    /// Name, unique among tendons, or empty.
    pub name: String,
    /// What its length is.
    pub path: TendonPath,
    /// Lowest and highest length \[m, or rad for a sum of angles\].
    pub limits: Option<[f64; 2]>,
    /// The limit pushes from this distance on.
    pub limit_margin: f64,
    /// How soft the limit is.
    pub limit_softness: ContactSoftness,
    /// Stiffness \[N/m\] outside of `spring_lengths`.
    pub stiffness: f64,
    /// Viscous friction \[N·s/m\].
    pub damping: f64,
    /// The spring is slack between these lengths \[m\]; `None`: the length of the reference configuration.
    pub spring_lengths: Option<[f64; 2]>,
    /// Dry friction \[N\].
    pub friction_loss: f64,
    /// How soft the dry friction is.
    pub friction_softness: ContactSoftness,
    /// Inertia per rate of length \[kg\].
    pub armature: f64,
    /// Bound on the sum of all actuator forces on it \[N\].
    pub effort_limits: Option<[f64; 2]>,
    /// Radius of what is drawn \[m\].
    pub width: f64,
    /// Red, green, blue, opacity, each from 0 to 1.
    pub color: [f64; 4],
    /// Number for switching in a display.
    pub group: i32,
}

/// What the length of a tendon is.
#[derive(Debug, Clone, PartialEq)]
pub enum TendonPath {
    /// Σ coefficient · position.
    Joints(Vec<(RobotJointId, f64)>),
    /// A path.
    Spatial(Vec<PathPoint>),
}

/// A point of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PathPoint {
    /// Through a site.
    Site(RobotSiteId),
    /// Around a sphere or cylinder.
    Geom {
        /// The geom.
        geom: RobotGeomId,
        /// On the side of this site; if the site lies inside, the path runs inside.
        side: Option<RobotSiteId>,
    },
    /// The path goes on as a branch whose length is divided.
    Pulley {
        /// By what.
        divisor: f64,
    },
}

/// A constraint beyond the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Equality {
    /// Name, unique among equalities, or empty.
    pub name: String,
    /// What is held.
    pub kind: EqualityKind,
    /// Whether it holds from the start.
    pub active: bool,
    /// How soft it is.
    pub softness: ContactSoftness,
}

/// What an equality holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EqualityKind {
    /// Two bodies share a point: a ball joint.
    Connect {
        /// The bodies; the world is 0.
        bodies: [RobotBodyId; 2],
        /// The point, in the frame of the first body \[m\]. On the second it lies where it is in the reference
        /// configuration.
        anchor: Vec3,
    },
    /// Two sites share their origins.
    ConnectSites {
        /// The sites.
        sites: [RobotSiteId; 2],
    },
    /// Two bodies are welded.
    Weld {
        /// The bodies; the world is 0.
        bodies: [RobotBodyId; 2],
        /// Point in the frame of the second body where the weld is measured \[m\].
        anchor: Vec3,
        /// Pose of the second body in the first; `None`: that of the reference configuration.
        relative: Option<Pose>,
        /// Weight of torques against forces \[m\].
        torque_scale: f64,
    },
    /// Two sites share their frames.
    WeldSites {
        /// The sites.
        sites: [RobotSiteId; 2],
        /// Weight of torques against forces \[m\].
        torque_scale: f64,
    },
    /// y = c₀ + c₁ x + … + c₄ x⁴ for hinges or slides, both measured from their references; without x: y = c₀.
    Joints {
        /// y.
        joint: RobotJointId,
        /// x.
        other: Option<RobotJointId>,
        /// c.
        polynomial: [f64; 5],
    },
    /// The same for the lengths of tendons.
    Tendons {
        /// y.
        tendon: TendonId,
        /// x.
        other: Option<TendonId>,
        /// c.
        polynomial: [f64; 5],
    },
}

/// position of `joint` = multiplier · position of `of` + offset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mimic {
    /// The joint that follows.
    pub joint: RobotJointId,
    /// The joint that leads.
    pub of: RobotJointId,
    /// Factor.
    pub multiplier: f64,
    /// \[rad or m\]
    pub offset: f64,
}

/// Two bodies that never touch.
#[derive(Debug, Clone, PartialEq)]
pub struct ContactExclude {
    /// Name, or empty.
    pub name: String,
    /// The bodies.
    pub bodies: [RobotBodyId; 2],
}

/// Two geoms that may touch, whatever their masks say, with parameters of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct ContactPair {
    /// Name, or empty.
    pub name: String,
    /// The geoms.
    pub geoms: [RobotGeomId; 2],
    /// As [`RobotGeom::contact_dimension`]; `None`: from the geoms.
    pub dimension: Option<u8>,
    /// Sliding 1 and 2, torsional, rolling 1 and 2; `None`: from the geoms.
    pub friction: Option<[f64; 5]>,
    /// Time constant and damping ratio; `None`: from the geoms.
    pub solref: Option<[f64; 2]>,
    /// The same along the friction directions; `None`: as `solref`.
    pub solref_friction: Option<[f64; 2]>,
    /// Impedance; `None`: from the geoms.
    pub solimp: Option<[f64; 5]>,
    /// Distance from which contacts are seen \[m\]; `None`: from the geoms.
    pub margin: Option<f64>,
    /// Part of the margin in which they do not push yet \[m\]; `None`: from the geoms.
    pub gap: Option<f64>,
}

/// Something that is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Sensor {
    /// Name, unique among sensors, or empty.
    pub name: String,
    /// What is measured, by its MJCF name: `jointpos`, `gyro`, `framequat`, …
    pub kind: String,
    /// On what.
    pub object: SensorObject,
    /// In whose frame, where a kind has one.
    pub reference: Option<SensorObject>,
    /// Readings beyond ± this are cut off; 0: they are not.
    pub cutoff: f64,
    /// Standard deviation of noise.
    pub noise: f64,
    /// Attributes of this kind alone, as the file gives them.
    pub other: Vec<(String, String)>,
}

/// What a sensor sits on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SensorObject {
    /// Nothing in particular (clock, energy).
    Model,
    /// The frame of a body.
    Body(RobotBodyId),
    /// The centre of mass and principal axes of a body.
    BodyInertial(RobotBodyId),
    /// A joint.
    Joint(RobotJointId),
    /// A geom.
    Geom(RobotGeomId),
    /// A site.
    Site(RobotSiteId),
    /// A tendon.
    Tendon(TendonId),
    /// An actuator.
    Actuator(ActuatorId),
    /// A camera, by its place among the cameras of the file.
    Camera(usize),
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

    #[test]
    fn the_reference_configuration_has_the_right_length() {
        let mut robot = Robot::new("r");
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
