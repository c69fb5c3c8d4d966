//! What a user says about contact, for the methods `ipc`, `impulse` and `lagrange`.

use crate::describe::short::*;
use crate::describe::{Kind, table};
use crate::math::Vec3;

table! {
    /// A solid half-space that does not move, for the methods `ipc`, `impulse` and `lagrange`.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Ground: "ground" {
        /// Name.
        name: String = word("ground"), Kind::Name, "";
        /// A point of its surface.
        point: Vec3 = ORIGIN, VEC3, "m";
        /// Direction out of the solid, of any length.
        normal: Vec3 = UP, VEC3, "";
        /// Velocity of its surface, as of a conveyor belt; what points across the plane is left out (`impulse`
        /// only).
        belt: Vec3 = ORIGIN, VEC3, "m/s";
    }
}

table! {
    /// What holds between two things that touch, for the methods `ipc`, `impulse` and `lagrange`; later rules go
    /// before earlier ones. Under `impulse` and `lagrange` everything touches if there is a ground or a rule; without
    /// either, bodies that no joint holds touch each other and all else, and bodies among joints pass through each
    /// other.
    #[derive(Debug, Clone, PartialEq)]
    pub struct ContactRule: "contact" {
        /// Two names of bodies, soft things, sets of particles, grounds, robots or their bodies (`robot/body`);
        /// `*` for anything.
        between: [String; 2] = REQUIRED, TWO_TEXTS, "";
        /// Coefficient of friction; that of the method's settings if absent.
        friction: Option<f64> = OPTIONAL, NOT_NEGATIVE, "";
        /// Speed after a bounce over speed before (`impulse` and `lagrange`); that of the method's settings if
        /// absent.
        restitution: Option<f64> = OPTIONAL, NOT_NEGATIVE, "";
        /// Friction against turning about the normal, as torque over normal force (`impulse` only).
        torsional_friction: Option<f64> = OPTIONAL, NOT_NEGATIVE, "m";
        /// Friction against rolling, as torque over normal force (`impulse` only).
        rolling_friction: Option<f64> = OPTIONAL, NOT_NEGATIVE, "m";
        /// Stiffness of soft contact at each point (`impulse` only); hard if absent.
        stiffness: Option<f64> = OPTIONAL, POSITIVE, "N/m";
        /// Damping of soft contact (`impulse` only).
        damping: f64 = number(0.0), NOT_NEGATIVE, "N·s/m";
        /// False if they pass through each other.
        enabled: bool = TRUE, BOOL, "";
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
