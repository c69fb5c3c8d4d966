//! Bodies: they own coordinates, velocities and inertia.

pub mod affine;
pub mod articulated;
pub mod generalized;
pub mod mass_properties;
pub mod mesh;
pub mod particles;
pub mod rigid;
pub mod shape;
pub mod shell;

pub use affine::AffineMass;
pub use generalized::{Coordinates, Generalized, PendulumChain, PointMap};
pub use mass_properties::{MassError, MassProperties};
pub use mesh::{MeshError, TriangleMesh};
pub use particles::Particles;
pub use rigid::Rigid;
pub use shape::{Bounds, Shape, ShapeError};
pub use shell::Shell;
