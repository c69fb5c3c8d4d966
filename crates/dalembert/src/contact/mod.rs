//! Contact: what touches what, and how; the contact problem of a step and its solvers.
//!
//! ```text
//! collider softness law    shapes as colliders, materials, and the law between two of them
//! response                 who responds to an impulse, and how: bodies, islands of joints, robots
//! island                   what touches what, directly or through others
//! problem                  targets, cones, bounds and the operator W of all contacts: plain data
//! solver                   Gauss–Seidel, Newton's methods, and the cascade of them
//! warm_start inactive sleep speculative_ccd restitution split_impulse
//! potential                barrier and friction of the method `ipc`, candidates and culling
//! ```

pub mod potential;

mod collider;
mod softness;

mod law;

pub(crate) mod response;

pub(crate) mod detection;
pub(crate) mod island;

pub(crate) mod problem;

pub(crate) mod warm_start;

pub(crate) mod inactive;
pub(crate) mod sleep;
pub(crate) mod solver;
pub(crate) mod speculative_ccd;

pub(crate) mod restitution;
pub(crate) mod split_impulse;

pub use collider::{Collide, Filled};
pub(crate) use collider::{convex_parts, hull_volume};
pub use law::{ColliderOwner, ContactLaw, Material, PairRule, RigidContactModel};
pub(crate) use softness::compliance;
pub use softness::{Compliance, GeomSoftness};
