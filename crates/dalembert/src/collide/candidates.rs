//! Pairs of primitives that come near each other at rest or along a motion.

use super::ccd::CcdOptions;
use super::surface::Surface;
use crate::math::Vec3;

/// Pairs of primitives, each list sorted by its numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Candidates {
    /// (vertex, triangle)
    pub vertex_triangle: Vec<[u32; 2]>,
    /// (edge, edge), low number first
    pub edge_edge: Vec<[u32; 2]>,
    /// (vertex, edge): lone points against edges of no triangle
    pub vertex_edge: Vec<[u32; 2]>,
    /// (vertex, vertex): lone points, low number first
    pub vertex_vertex: Vec<[u32; 2]>,
    /// (vertex, half-plane)
    pub vertex_plane: Vec<[u32; 2]>,
}

/// More pairs than allowed, even without any motion.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("more than {limit} pairs of primitives lie within {radius} m of each other")]
pub struct TooMany {
    /// The limit.
    pub limit: usize,
    /// The radius of the search \[m\].
    pub radius: f64,
}

/// Answer of a search along a motion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Swept {
    /// Part of the motion that was searched: below 1 if the whole of it met too many pairs. The caller must not go
    /// further with these candidates.
    pub alpha: f64,
}

/// The broad phase: boxes and trees that are kept from search to search. Dropping it changes no result.
#[derive(Debug, Clone, Default)]
pub struct Broad {}

impl Broad {
    /// All pairs that may touch and come within `radius` \[m\] plus their own radii at positions `x`.
    pub fn near(
        &mut self,
        surface: &Surface,
        x: &[Vec3],
        radius: f64,
        limit: usize,
        out: &mut Candidates,
    ) -> Result<(), TooMany> {
        let _ = (surface, x, radius, limit, out);
        unimplemented!()
    }

    /// The same along the straight motion from `x0` to `x1`. If it meets more than `limit` pairs the motion is cut to a
    /// quarter, and again, down to nothing; [`Swept::alpha`] says how much was searched.
    pub fn swept(
        &mut self,
        surface: &Surface,
        x0: &[Vec3],
        x1: &[Vec3],
        radius: f64,
        limit: usize,
        out: &mut Candidates,
    ) -> Result<Swept, TooMany> {
        let _ = (surface, x0, x1, radius, limit, out);
        unimplemented!()
    }
}

impl Candidates {
    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.vertex_triangle.len()
            + self.edge_edge.len()
            + self.vertex_edge.len()
            + self.vertex_vertex.len()
            + self.vertex_plane.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Part of the motion from `x0` to `x1` that every pair may take, at most `longest`: additive continuous collision
    /// detection, each pair with the sum of its radii as separation (`options.separation` is added to it).
    pub fn free_step(
        &self,
        surface: &Surface,
        x0: &[Vec3],
        x1: &[Vec3],
        longest: f64,
        options: &CcdOptions,
    ) -> f64 {
        let _ = (surface, x0, x1, longest, options);
        unimplemented!()
    }

    /// The same, and `times[k]` of every pair, in the order vertex-triangle, edge-edge, vertex-edge, vertex-vertex,
    /// vertex-plane: 1 if the pair does not stop the motion.
    pub fn impact_times(
        &self,
        surface: &Surface,
        x0: &[Vec3],
        x1: &[Vec3],
        options: &CcdOptions,
        times: &mut Vec<f64>,
    ) -> f64 {
        let _ = (surface, x0, x1, options, times);
        unimplemented!()
    }
}
