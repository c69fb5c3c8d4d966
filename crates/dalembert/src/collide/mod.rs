//! Geometry of touching: who is near whom, how near, when they meet, and do they intersect.
//!
//! A [`Surface`] holds the collision primitives of a scene. [`Broad`] finds pairs near each other ([`Candidates`]),
//! [`distance`] measures them, [`ContactSet`] keeps those closer than a given gap and carries forces and stiffnesses of
//! contacts to the unknowns, [`barrier`] has the scalar laws, [`ccd`] says how far a motion may go, and [`exact`]
//! decides without rounding whether an edge meets a triangle.
//!
//! Everything here is geometry and one linear map per vertex: physics (masses, steps, who wins) is the method's. Pairs
//! come in an order that depends on the input alone. Book: "Contact geometry".

pub mod barrier;
pub mod bvh;
mod candidates;
#[cfg(test)]
mod candidates_tests;
pub mod ccd;
mod contact;
mod contact_set;
#[cfg(test)]
mod contact_tests;
pub mod corpus;
pub mod distance;
pub mod exact;
mod follow;
pub mod rigid;
mod surface;

pub use candidates::{Broad, Candidates, Swept, TooMany};
pub use contact::{Contact, HessianSink, Kind, Sym3, dyad};
pub use contact_set::ContactSet;
pub use surface::{BodyGeometry, Carrier, Groups, HalfPlane, Surface, SurfaceBody, SurfaceError, VertexMap};
