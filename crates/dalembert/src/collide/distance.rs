//! Squared distances between points, edges and triangles, their nearest points and derivatives.
//!
//! The nearest points of two primitives are weighted sums of their corners; the difference of the two is
//! $r = \sum_i w_i x_i$ with weights of both signs that sum to zero. With free parameters θ of the region (none at a
//! corner, one along an edge, two inside a triangle or between two edges) $d^2 = \min_\theta |r(x, \theta)|^2$, so
//!
//! $$ \nabla_{x_i} d^2 = 2\,w_i\,r $$
//!
//! in every region (the slope along θ vanishes at the minimum), and with $e_j = \partial r/\partial\theta_j$,
//! $w'_j = \partial w/\partial\theta_j$, $G_{jk} = e_j\cdot e_k$ and $c_j = w'_j\otimes r + w\otimes e_j$
//!
//! $$ \nabla^2 d^2 = 2\Big(w w^T\otimes 1 - \sum_{jk} (G^{-1})_{jk}\,c_j c_k^T\Big). $$

use crate::math::Vec3;

/// Which features of two primitives are nearest: the Voronoi region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Region {
    /// Corner against corner: numbers within the stencil of four.
    Points(u8, u8),
    /// Corner against the inside of an edge.
    PointEdge(u8, [u8; 2]),
    /// Point against the inside of the triangle.
    PointTriangle,
    /// Inside of an edge against the inside of another.
    EdgeEdge,
}

/// Nearest points of two primitives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nearest {
    /// Weights of the corners, positive on the first primitive, negative on the second; they sum to zero.
    pub w: [f64; 4],
    /// Σ w x: from the nearest point of the second primitive to that of the first \[m\].
    pub r: Vec3,
    /// Squared distance |r|² \[m²\].
    pub d2: f64,
    /// Nearest features.
    pub region: Region,
}

/// Points a and b; w = (1, −1, 0, 0).
pub fn point_point(x: &[Vec3; 2]) -> Nearest {
    let _ = x;
    unimplemented!()
}

/// Point p against the edge a b: x = (p, a, b), w = (1, −(1−t), −t, 0).
pub fn point_edge(x: &[Vec3; 3]) -> Nearest {
    let _ = x;
    unimplemented!()
}

/// Point p against the triangle a b c: x = (p, a, b, c).
pub fn point_triangle(x: &[Vec3; 4]) -> Nearest {
    let _ = x;
    unimplemented!()
}

/// Edge a b against edge c d: x = (a, b, c, d).
pub fn edge_edge(x: &[Vec3; 4]) -> Nearest {
    let _ = x;
    unimplemented!()
}

/// Gradient of the squared distance: 2 w r, one vector per corner \[m\].
pub fn gradient(nearest: &Nearest) -> [Vec3; 4] {
    nearest.w.map(|w| 2.0 * w * nearest.r)
}

/// Exact Hessian of the squared distance within the region, 12×12 over the four corners.
pub fn hessian(nearest: &Nearest, x: &[Vec3; 4]) -> [[f64; 12]; 12] {
    let _ = (nearest, x);
    unimplemented!()
}
