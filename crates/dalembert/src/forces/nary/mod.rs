//! Forces on fixed tuples of points.

mod affine;
mod angular_spring;
mod closure;
mod element;
mod hex;
mod mass;
mod material;
mod parts;
mod quadratic_tet;
mod solid;
mod spring;
mod tet;

pub use affine::{AffineBodies, AffineEnergy, AffineStiffness};
pub use angular_spring::{AngularSpring, AngularSprings};
pub use closure::{MOST_TUPLE, TupleClosure};
pub use element::{Element, Elements, Hessian};
pub use hex::{HexKind, Hexes};
pub use mass::{MassKind, MassMatrix};
pub use material::{ElementError, Law, Material};
pub use parts::Parts;
pub use quadratic_tet::{EDGES as TET_EDGES, QuadraticTets};
pub use solid::Solids;
pub use spring::{Spring, Springs};
pub use tet::Tets;
