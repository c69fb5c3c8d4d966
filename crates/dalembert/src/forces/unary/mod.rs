//! Forces that act on each point by itself.

mod attractor;
mod closure;
mod drag;
mod gravity;
mod obstacle;
mod push;

pub use attractor::{Attraction, Attractor};
pub use closure::PointClosure;
pub use drag::Drag;
pub use gravity::Gravity;
pub use obstacle::{Obstacle, ObstacleShape, Penalty};
pub use push::Push;
