//! Boxes and trees of boxes.

use crate::math::Vec3;

/// A box with its sides along the axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aabb {
    /// Smallest coordinates \[m\].
    pub low: Vec3,
    /// Largest coordinates \[m\].
    pub high: Vec3,
}
