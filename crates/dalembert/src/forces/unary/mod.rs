//! Forces that act on each point by itself.

mod attractor;
mod closure;
mod drag;
mod gravity;
mod push;

pub use attractor::{Attraction, Attractor};
pub use closure::PointClosure;
pub use drag::Drag;
pub use gravity::Gravity;
pub use push::Push;
