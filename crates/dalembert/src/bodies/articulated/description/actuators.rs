//! What drives a robot: actuators, and the tendons that they may pull on.

use super::{ContactSoftness, RobotBodyId, RobotGeomId, RobotJointId, RobotSiteId, TendonId};

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
