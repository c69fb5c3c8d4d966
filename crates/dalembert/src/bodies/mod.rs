//! Bodies: they own coordinates, velocities and inertia.

pub mod particles;

pub use particles::Particles;
