//! What a user says about touching, for the method `ipc`.

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
}

impl Default for Ground {
    fn default() -> Self {
        Self { name: String::from("ground"), point: Vec3::zeros(), normal: Vec3::z() }
    }
}

/// What holds between two bodies, or grounds. Later rules go before earlier ones.
#[derive(Debug, Clone, PartialEq)]
pub struct ContactRule {
    /// Names of bodies, soft things, sets of particles or grounds; `*` for anything.
    pub between: [String; 2],
    /// Coefficient of friction μ ≥ 0; that of the method's settings if there is none.
    pub friction: Option<f64>,
    /// False if they pass through each other.
    pub enabled: bool,
}

impl ContactRule {
    /// Friction μ between two things.
    pub fn friction(a: impl Into<String>, b: impl Into<String>, mu: f64) -> Self {
        Self { between: [a.into(), b.into()], friction: Some(mu), enabled: true }
    }

    /// Two things that pass through each other.
    pub fn off(a: impl Into<String>, b: impl Into<String>) -> Self {
        Self { between: [a.into(), b.into()], friction: None, enabled: false }
    }
}
