//! How heavy a body of a robot is, and how it moves against its parent.

use super::ContactSoftness;
use crate::bodies::{MassError, MassProperties};
use crate::joints::JointKind;
use crate::math::{Mat3, Vec3};

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
