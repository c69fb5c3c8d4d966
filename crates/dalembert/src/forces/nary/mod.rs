//! Forces on fixed tuples of points.

mod affine;
mod angular_spring;
mod closure;
mod material;
mod parts;
mod spring;
mod tet;

pub use affine::{AffineBodies, AffineEnergy, AffineStiffness};
pub use angular_spring::{AngularSpring, AngularSprings};
pub use closure::{MOST_TUPLE, TupleClosure};
pub use material::{ElementError, Law, Material};
pub use parts::Parts;
pub use spring::{Spring, Springs};
pub use tet::Tets;
