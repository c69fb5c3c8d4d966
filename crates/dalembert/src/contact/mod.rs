//! What touches what, and how: shapes as colliders, materials and the laws between two of them.

mod collider;
mod softness;

mod law;

pub use collider::{Collide, Filled};
pub(crate) use collider::{convex_parts, hull_volume};
pub use law::{Material, Part, TouchLaw, TouchModel, TouchRule};
pub(crate) use softness::compliance;
pub use softness::{Compliance, GeomSoftness};
