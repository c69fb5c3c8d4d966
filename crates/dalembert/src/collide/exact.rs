//! Does an edge meet a triangle? Decided without rounding.

use super::surface::Surface;
use crate::math::Vec3;

/// True if the segment a b and the triangle c d e have a common point, touching included.
pub fn segment_meets_triangle(segment: &[Vec3; 2], triangle: &[Vec3; 3]) -> bool {
    let _ = (segment, triangle);
    unimplemented!()
}

/// All (edge, triangle) that meet and share no vertex, sorted; pairs of one body only if it may touch itself.
pub fn intersections(surface: &Surface, x: &[Vec3]) -> Vec<(u32, u32)> {
    let _ = (surface, x);
    unimplemented!()
}
