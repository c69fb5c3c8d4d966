//! Forces on fixed tuples of points.

mod affine;
mod angular_spring;
mod bending;
mod closure;
mod element;
mod hex;
mod linear_spring;
mod mass;
mod material;
mod membrane;
mod parts;
mod pressure;
mod quadratic_tet;
mod rod;
mod rod_clamp;
mod solid;
mod spring;
mod tet;

pub use affine::{AffineBodies, AffineEnergy, AffineStiffness};
pub use angular_spring::{AngularSpring, AngularSprings};
pub use bending::{Hinge, Hinges, QuadraticHinge, QuadraticHinges, inner_edges, plate_stiffness};
pub use closure::{MOST_TUPLE, TupleClosure};
pub use element::{Element, Elements, Hessian};
pub use hex::{HexKind, Hexes};
pub use linear_spring::{LinearSpring, LinearSprings};
pub use mass::{MassKind, MassMatrix};
pub use material::{ElementError, Law, Material};
pub use membrane::{Membrane, Membranes, Weave, WovenCloth, WovenTriangle};
pub use parts::Parts;
pub use pressure::{PressedTriangle, Pressure, Traction};
pub use quadratic_tet::{EDGES as TET_EDGES, QuadraticTets};
pub use rod::{BendLaw, EdgeMoment, RodBend, RodBends, RodJoint, RodJoints, rod_markers, rod_stretch};
pub use rod_clamp::{RodClamp, RodClamps, RodFrameClamp, RodFrameClamps};
pub use solid::Solids;
pub use spring::{Spring, Springs};
pub use tet::Tets;
