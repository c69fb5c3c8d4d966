//! Rigid bodies, joints and generalized coordinates, as a user writes them.

use crate::bodies::{PointMap, Shape};
use crate::contact::Collide;
use crate::joints::{Constraint, Equations, JointKind, Softness, Track};
use crate::math::{Mat3, Pose, Quat, Vec3};

/// How heavy a rigid body is.
#[derive(Debug, Clone, PartialEq)]
pub enum BodyMass {
    /// The shape filled with a density \[kg/m³\].
    Density(f64),
    /// The shape filled evenly with a mass \[kg\].
    Mass(f64),
    /// Given outright.
    Given {
        /// Mass \[kg\].
        mass: f64,
        /// Centre of mass in the body's frame \[m\].
        center: Vec3,
        /// Inertia about the centre of mass, body axes \[kg·m²\].
        inertia: Mat3,
    },
}

/// A rigid body.
#[derive(Debug, Clone, PartialEq)]
pub struct RigidBody {
    /// Name, unique in the scene.
    pub name: String,
    /// What it looks like, in its own frame.
    pub shape: Shape,
    /// How heavy it is.
    pub mass: BodyMass,
    /// Where its frame stands.
    pub pose: Pose,
    /// Velocity of its centre of mass, world axes \[m/s\].
    pub velocity: Vec3,
    /// Angular velocity, world axes \[rad/s\].
    pub angular_velocity: Vec3,
    /// As what a mesh collides under `impulse` and `lagrange`.
    pub collide: Collide,
}

impl RigidBody {
    /// A body of the given shape and water's density, at rest at the origin.
    pub fn new(name: impl Into<String>, shape: Shape) -> Self {
        Self {
            name: name.into(),
            shape,
            mass: BodyMass::Density(1000.0),
            pose: Pose::identity(),
            velocity: Vec3::zeros(),
            angular_velocity: Vec3::zeros(),
            collide: Collide::Automatic,
        }
    }

    /// Says as what a mesh collides under `impulse` and `lagrange`.
    pub fn collide(mut self, collide: Collide) -> Self {
        self.collide = collide;
        self
    }

    /// Sets the mass \[kg\], spread evenly over the shape.
    pub fn mass(mut self, mass: f64) -> Self {
        self.mass = BodyMass::Mass(mass);
        self
    }

    /// Sets mass \[kg\], centre of mass \[m\] and inertia about it \[kg·m²\], in the body's frame.
    pub fn inertia(mut self, mass: f64, center: Vec3, inertia: Mat3) -> Self {
        self.mass = BodyMass::Given { mass, center, inertia };
        self
    }

    /// Puts the body's frame at a place \[m\].
    pub fn at(mut self, position: [f64; 3]) -> Self {
        self.pose.position = position.into();
        self
    }

    /// Turns the body's frame.
    pub fn turned(mut self, rotation: Quat) -> Self {
        self.pose.rotation = rotation;
        self
    }

    /// Sets the velocity of the centre of mass, world axes \[m/s\].
    pub fn velocity(mut self, v: [f64; 3]) -> Self {
        self.velocity = v.into();
        self
    }

    /// Sets the angular velocity, world axes \[rad/s\].
    pub fn angular_velocity(mut self, w: [f64; 3]) -> Self {
        self.angular_velocity = w.into();
        self
    }
}

/// Where the anchors of a joint are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Anchors {
    /// At the second body's origin (or the particle) at the start.
    Default,
    /// One place in the world at the start \[m\].
    World(Vec3),
    /// One place in each body's frame \[m\].
    Local([Vec3; 2]),
}

/// What drives the coordinate of a joint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Motor {
    /// Runs at a rate \[rad/s or m/s\] with at most `max` \[N·m or N\].
    Velocity {
        /// Target rate.
        target: f64,
        /// Largest effort.
        max: f64,
    },
    /// Holds a value \[rad or m\] by a spring and damper with at most `max` \[N·m or N\].
    Position {
        /// Target value.
        target: f64,
        /// Stiffness \[N·m/rad or N/m\].
        kp: f64,
        /// Damping \[N·m·s/rad or N·s/m\].
        kd: f64,
        /// Largest effort.
        max: f64,
    },
    /// Constant effort \[N·m or N\].
    Effort(f64),
}

/// How stiffly a joint or its limits hold.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Stiffness {
    /// Exactly.
    #[default]
    Hard,
    /// Spring and damper in SI units.
    Gains {
        /// Stiffness kp \[N/m or N·m/rad\].
        kp: f64,
        /// Damping kd \[N·s/m or N·m·s/rad\].
        kd: f64,
    },
    /// ε and r as they are, whatever the step size (`impulse` only).
    Given(Softness),
}

/// A joint between two bodies, particles, or the world.
#[derive(Debug, Clone, PartialEq)]
pub struct JointItem {
    /// Name, unique among joints.
    pub name: String,
    /// Which joint.
    pub kind: JointKind,
    /// What it joins: bodies, particles such as `rope[3]`, or `world`.
    pub between: [String; 2],
    /// Where.
    pub anchors: Anchors,
    /// Axis in the world at the start, any length.
    pub axis: Vec3,
    /// Axis of the second body in the world at the start, for kinds that have one; of a universal joint across the first.
    pub axis2: Option<Vec3>,
    /// How it holds.
    pub stiffness: Stiffness,
    /// Least and greatest value of the coordinate \[rad or m\].
    pub limits: Option<[f64; 2]>,
    /// How the limits hold.
    pub limit_stiffness: Stiffness,
    /// What drives the coordinate.
    pub motor: Option<Motor>,
    /// Viscous damping of the coordinate \[N·m·s/rad or N·s/m\].
    pub damping: f64,
    /// Dry friction of the coordinate \[N·m or N\].
    pub friction: f64,
    /// Inertia of a rotor on the coordinate \[kg·m² or kg\].
    pub armature: f64,
    /// Force or torque at which the joint breaks, as the norm over its rows.
    pub break_force: Option<f64>,
    /// The bodies it joins still collide (for methods with contact).
    pub collide: bool,
}

impl JointItem {
    /// A hard joint at the second body's origin with its axis along z.
    pub fn new(name: impl Into<String>, kind: JointKind, a: impl Into<String>, b: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind,
            between: [a.into(), b.into()],
            anchors: Anchors::Default,
            axis: Vec3::z(),
            axis2: None,
            stiffness: Stiffness::Hard,
            limits: None,
            limit_stiffness: Stiffness::Hard,
            motor: None,
            damping: 0.0,
            friction: 0.0,
            armature: 0.0,
            break_force: None,
            collide: false,
        }
    }

    /// Puts both anchors at one place in the world \[m\].
    pub fn anchor(mut self, at: [f64; 3]) -> Self {
        self.anchors = Anchors::World(at.into());
        self
    }

    /// Sets the axis, in the world at the start.
    pub fn axis(mut self, axis: [f64; 3]) -> Self {
        self.axis = axis.into();
        self
    }

    /// Makes the joint a spring kp and damper kd in SI units.
    pub fn soft(mut self, kp: f64, kd: f64) -> Self {
        self.stiffness = Stiffness::Gains { kp, kd };
        self
    }

    /// Sets the limits of the coordinate \[rad or m\].
    pub fn limits(mut self, low: f64, high: f64) -> Self {
        self.limits = Some([low, high]);
        self
    }

    /// Drives the coordinate.
    pub fn motor(mut self, motor: Motor) -> Self {
        self.motor = Some(motor);
        self
    }

    /// Sets viscous damping of the coordinate \[N·m·s/rad or N·s/m\].
    pub fn damping(mut self, c: f64) -> Self {
        self.damping = c;
        self
    }
}

/// Two joints whose coordinates move in proportion: θ₁ + ratio·θ₂ stays as it is at the start.
#[derive(Debug, Clone, PartialEq)]
pub struct Gear {
    /// Name, unique among joints.
    pub name: String,
    /// Names of two joints with one coordinate each. A hinge gives its angle, a slider its position.
    pub joints: [String; 2],
    /// Ratio; for a rack and pinion minus the pinion's radius \[m\].
    pub ratio: f64,
    /// How it holds.
    pub stiffness: Stiffness,
}

/// A bead on a curve or surface.
#[derive(Debug, Clone, PartialEq)]
pub struct Bead {
    /// Name, unique among joints.
    pub name: String,
    /// Particles, each held by itself.
    pub on: Vec<String>,
    /// The curve or surface.
    pub track: Track,
}

/// Makes a constraint from its ends.
pub type MakeConstraint = Box<dyn FnOnce(&[crate::joints::End]) -> Box<dyn Constraint> + Send>;

/// A constraint that the user wrote in Rust: made once the bodies are known.
pub struct CustomConstraint {
    /// Name, unique among joints.
    pub name: String,
    /// The points that it is about: a body or particle, and a place in its frame \[m\].
    pub points: Vec<(String, Vec3)>,
    /// Makes the constraint from the ends.
    pub make: MakeConstraint,
}

impl std::fmt::Debug for CustomConstraint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CustomConstraint({}, {:?})", self.name, self.points)
    }
}

impl CustomConstraint {
    /// Equations C(x, t) = 0 on one to four points; only the function is needed.
    pub fn equations(
        name: impl Into<String>,
        points: &[(&str, [f64; 3])],
        equations: impl Equations + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            points: points.iter().map(|(n, p)| (n.to_string(), (*p).into())).collect(),
            make: Box::new(|ends| Box::new(crate::joints::UserConstraint::new(equations, ends))),
        }
    }
}

/// A body with generalized coordinates u: its points lie at x(u).
pub struct GeneralizedBody {
    /// Name, unique in the scene.
    pub name: String,
    /// The map x(u).
    pub map: Box<dyn PointMap>,
    /// Masses of its points \[kg\].
    pub masses: Vec<f64>,
    /// u at the start.
    pub coordinates: Vec<f64>,
    /// u̇ at the start.
    pub rates: Vec<f64>,
}

impl std::fmt::Debug for GeneralizedBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GeneralizedBody({}, u = {:?})", self.name, self.coordinates)
    }
}
