//! Continuous collision detection of straight motions.

use crate::math::Vec3;

/// How far a pair may go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CcdOptions {
    /// Distance that the pair must keep: the sum of its radii \[m\].
    pub separation: f64,
    /// Part of the first gap (distance − separation) that is left where the motion stops, in (0, 1).
    pub rest: f64,
    /// Advances before the interval method takes over.
    pub advances: u32,
}

impl Default for CcdOptions {
    fn default() -> Self {
        Self { separation: 0.0, rest: 0.1, advances: 64 }
    }
}

/// Part of the motion from `x0` to `x1` that the pair (point, triangle) may take: 1 if all of it, 0 if they touch
/// already. Never later than the time at which their distance is `separation`.
pub fn point_triangle(x0: &[Vec3; 4], x1: &[Vec3; 4], options: &CcdOptions) -> f64 {
    let _ = (x0, x1, options);
    unimplemented!()
}

/// The same for two edges (a, b), (c, d).
pub fn edge_edge(x0: &[Vec3; 4], x1: &[Vec3; 4], options: &CcdOptions) -> f64 {
    let _ = (x0, x1, options);
    unimplemented!()
}

/// The same for a point and an edge.
pub fn point_edge(x0: &[Vec3; 3], x1: &[Vec3; 3], options: &CcdOptions) -> f64 {
    let _ = (x0, x1, options);
    unimplemented!()
}

/// The same for two points.
pub fn point_point(x0: &[Vec3; 2], x1: &[Vec3; 2], options: &CcdOptions) -> f64 {
    let _ = (x0, x1, options);
    unimplemented!()
}

/// The same for a point at heights `h0`, `h1` \[m\] above a half-plane: closed form.
pub fn point_plane(h0: f64, h1: f64, options: &CcdOptions) -> f64 {
    let _ = (h0, h1, options);
    unimplemented!()
}
