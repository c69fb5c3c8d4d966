//! Bodies: they own coordinates, velocities and inertia.

pub mod generalized;
pub mod particles;

pub use generalized::{Coordinates, Generalized, PendulumChain, PointMap};
pub use particles::Particles;
