//! Forces on fixed tuples of points.

mod affine;
mod angular_spring;
mod closure;
mod spring;

pub use affine::{AffineBodies, AffineEnergy, AffineStiffness};
pub use angular_spring::{AngularSpring, AngularSprings};
pub use closure::{MOST_TUPLE, TupleClosure};
pub use spring::{Spring, Springs};
