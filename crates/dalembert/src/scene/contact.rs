//! What a user says about touching, for the methods `ipc`, `impulse` and `lagrange`.

use crate::math::Vec3;

/// A solid half-space that does not move: the ground, a wall.
#[derive(Debug, Clone, PartialEq)]
pub struct Ground {
    /// Name, unique in the scene.
    pub name: String,
    /// A point of its surface \[m\].
    pub point: Vec3,
    /// Direction out of the solid, of any length.
    pub normal: Vec3,
    /// Velocity of its surface, as of a conveyor belt; along the plane \[m/s\] (`impulse` only).
    pub belt: Vec3,
}

impl Default for Ground {
    fn default() -> Self {
        Self { name: String::from("ground"), point: Vec3::zeros(), normal: Vec3::z(), belt: Vec3::zeros() }
    }
}

/// What holds between two bodies, or grounds. Later rules go before earlier ones.
///
/// Under `impulse` a rule changes only what it says; under `ipc` it counts as a whole, and only friction and `enabled`
/// are read.
#[derive(Debug, Clone, PartialEq)]
pub struct ContactRule {
    /// Names of bodies, soft things, sets of particles, grounds, robots or their bodies (`robot/body`); `*` for anything.
    pub between: [String; 2],
    /// Coefficient of friction μ ≥ 0; that of the method's settings if there is none.
    pub friction: Option<f64>,
    /// Coefficient of restitution ≥ 0: speed after a bounce over speed before (`impulse` and `lagrange`).
    pub restitution: Option<f64>,
    /// Friction against turning about the normal, as a torque over the normal force \[m\] (`impulse` only).
    pub torsional_friction: Option<f64>,
    /// Friction against rolling, as a torque over the normal force \[m\] (`impulse` only).
    pub rolling_friction: Option<f64>,
    /// Stiffness kp of soft contact \[N/m\]; hard if there is none (`impulse` only).
    pub stiffness: Option<f64>,
    /// Damping kd of soft contact \[N·s/m\] (`impulse` only).
    pub damping: f64,
    /// False if they pass through each other.
    pub enabled: bool,
}

impl Default for ContactRule {
    fn default() -> Self {
        Self {
            between: [String::from("*"), String::from("*")],
            friction: None,
            restitution: None,
            torsional_friction: None,
            rolling_friction: None,
            stiffness: None,
            damping: 0.0,
            enabled: true,
        }
    }
}

impl ContactRule {
    /// A rule between two things that says nothing yet.
    pub fn between(a: impl Into<String>, b: impl Into<String>) -> Self {
        Self { between: [a.into(), b.into()], ..Self::default() }
    }

    /// Friction μ between two things.
    pub fn friction(a: impl Into<String>, b: impl Into<String>, mu: f64) -> Self {
        Self { friction: Some(mu), ..Self::between(a, b) }
    }

    /// Two things that pass through each other.
    pub fn off(a: impl Into<String>, b: impl Into<String>) -> Self {
        Self { enabled: false, ..Self::between(a, b) }
    }
}
