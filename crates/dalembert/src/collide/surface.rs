//! The collision geometry of a whole scene, flat: vertices, edges, triangles, half-planes.
//!
//! Every collision vertex is a constant linear map of the unknown 3-vectors $z_j$ of the scene: $x = \sum_j w_j z_j$ with
//! one block (a particle, a node) or four (an affine body, $w = (1, X)$), or none (a body whose motion is prescribed).
//! Straight lines in z are therefore straight lines in x, and continuous collision detection of straight lines is exact.
//!
//! A primitive with radius r stands for all points within r of it: cloth and rods of thickness 2 r, balls. Two
//! primitives touch where their distance is the sum ξ of their radii.

use std::ops::Range;

use crate::math::{Vec3, triple};
use crate::mesh::unique_edges;

/// How a collision vertex follows from the unknown blocks: x = Σ w\[j\] z\[first_block + j\], j < n.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VertexMap {
    /// Number of the first block; its numbers start at 3 `first_block` in the flat vector of unknowns.
    pub first_block: u32,
    /// 0 (prescribed: no unknowns), 1 (a point) or 4 (an affine body).
    pub n: u8,
    /// Weights of the blocks; those past `n` are zero.
    pub w: [f64; 4],
}

impl VertexMap {
    /// A vertex that no unknown moves.
    pub const PRESCRIBED: Self = Self { first_block: u32::MAX, n: 0, w: [0.0; 4] };

    /// A vertex that is block `block` itself.
    pub fn point(block: u32) -> Self {
        Self { first_block: block, n: 1, w: [1.0, 0.0, 0.0, 0.0] }
    }

    /// The material point `X` \[m\] of an affine body with the blocks p, a₁, a₂, a₃ from `first_block`.
    pub fn affine(first_block: u32, X: &Vec3) -> Self {
        Self { first_block, n: 4, w: [1.0, X.x, X.y, X.z] }
    }

    /// Position for the flat unknowns `z`; `None` for a prescribed vertex.
    pub fn position(&self, z: &[f64]) -> Option<Vec3> {
        let first = self.first_block as usize;
        match self.n {
            0 => None,
            1 => Some(self.w[0] * triple(z, first)),
            n => Some((0..n as usize).map(|j| self.w[j] * triple(z, first + j)).sum()),
        }
    }
}

/// What a body brings: the argument of [`Surface::add`].
#[derive(Debug, Clone, Default)]
pub struct BodyGeometry<'a> {
    /// How each vertex follows from the unknowns; its length is the number of vertices.
    pub maps: &'a [VertexMap],
    /// Triangles, in numbers of the body's vertices.
    pub triangles: &'a [[u32; 3]],
    /// Segments that belong to no triangle (rods), in numbers of the body's vertices.
    pub segments: &'a [[u32; 2]],
    /// Radius \[m\] of every primitive of the body, ≥ 0.
    pub radius: f64,
    /// True if the body may touch itself (cloth, soft solids, rods); rigid and affine bodies never do.
    pub self_contact: bool,
    /// Contact group, a row of [`Groups`].
    pub group: u32,
    /// Edges inside a flat part of a surface that stays flat, in numbers of the body's vertices, low number first,
    /// sorted: they are left out. What meets such an edge meets the rim of the flat part or has a vertex in it.
    pub flat_edges: &'a [[u32; 2]],
}

/// What moves a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// No unknowns.
    Prescribed,
    /// All vertices follow the same four blocks, from this one.
    Affine(u32),
    /// Vertices follow blocks of their own; some may be prescribed.
    Points,
}

impl Carrier {
    fn of(maps: &[VertexMap]) -> Self {
        let first = maps.first().map_or(u32::MAX, |m| m.first_block);
        if maps.iter().all(|m| m.n == 0) {
            Self::Prescribed
        } else if maps.iter().all(|m| m.n == 4 && m.first_block == first) {
            Self::Affine(first)
        } else {
            Self::Points
        }
    }
}

/// A body's share of the lists of a [`Surface`].
#[derive(Debug, Clone, PartialEq)]
pub struct SurfaceBody {
    /// Its vertices.
    pub vertices: Range<u32>,
    /// Its edges: those of its triangles and its segments.
    pub edges: Range<u32>,
    /// Its triangles.
    pub triangles: Range<u32>,
    /// Radius \[m\] of its primitives.
    pub radius: f64,
    /// True if it may touch itself.
    pub self_contact: bool,
    /// What moves it.
    pub carrier: Carrier,
    /// True if it has vertices of no edge.
    pub has_lone_points: bool,
    /// True if it has edges of no triangle.
    pub has_lone_edges: bool,
    /// Contact group.
    pub group: u32,
}

impl SurfaceBody {
    /// True if no unknown moves it.
    #[inline]
    pub fn prescribed(&self) -> bool {
        self.carrier == Carrier::Prescribed
    }
}

/// The points x with n·x ≥ offset are free; what lies below is solid. It does not move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HalfPlane {
    /// Unit normal, out of the solid.
    pub normal: Vec3,
    /// n·x of the points of the plane \[m\].
    pub offset: f64,
    /// Contact group.
    pub group: u32,
}

impl HalfPlane {
    /// Height of `x` above the plane \[m\].
    #[inline(always)]
    pub fn height(&self, x: &Vec3) -> f64 {
        self.normal.dot(x) - self.offset
    }
}

/// Which contact groups touch which. A table without rows lets everything touch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Groups {
    count: usize,
    apart: Vec<bool>,
}

impl Groups {
    /// A table of `count` groups that all touch each other and themselves.
    pub fn new(count: usize) -> Self {
        Self { count, apart: vec![false; count * count] }
    }

    /// Says whether groups `a` and `b` touch. Groups outside the table are left as they are: touching.
    pub fn set(&mut self, a: u32, b: u32, touch: bool) {
        let (a, b) = (a as usize, b as usize);
        if a < self.count && b < self.count {
            self.apart[a * self.count + b] = !touch;
            self.apart[b * self.count + a] = !touch;
        }
    }

    /// True if groups `a` and `b` touch.
    #[inline]
    pub fn touch(&self, a: u32, b: u32) -> bool {
        let (a, b) = (a as usize, b as usize);
        a >= self.count || b >= self.count || !self.apart[a * self.count + b]
    }
}

/// A body whose geometry cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SurfaceError {
    /// A corner that the body does not have.
    #[error("{kind} {index} names vertex {vertex}, but the body has {count} vertices")]
    UnknownVertex {
        /// "triangle" or "segment".
        kind: &'static str,
        /// Number of the element.
        index: usize,
        /// The vertex that it names.
        vertex: u32,
        /// Number of vertices of the body.
        count: usize,
    },
    /// An element with the same vertex twice.
    #[error("{kind} {index} has vertex {vertex} twice")]
    RepeatedVertex {
        /// "triangle" or "segment".
        kind: &'static str,
        /// Number of the element.
        index: usize,
        /// The vertex.
        vertex: u32,
    },
    /// A radius below zero or not a number.
    #[error("contact radius {radius} m must be a finite number ≥ 0")]
    Radius {
        /// The radius \[m\].
        radius: f64,
    },
}

/// Collision geometry of a scene. Positions are not in here: every query is given them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Surface {
    /// Bodies, in the order in which they were added; their primitives lie side by side.
    pub bodies: Vec<SurfaceBody>,
    /// How vertices follow from the unknowns.
    pub maps: Vec<VertexMap>,
    /// Body of each vertex.
    pub vertex_body: Vec<u32>,
    /// Codimension of each vertex: 1 on a triangle, 2 on segments only, 3 alone.
    pub codimension: Vec<u8>,
    /// Each edge once, (low, high), rising within a body.
    pub edges: Vec<[u32; 2]>,
    /// Body of each edge.
    pub edge_body: Vec<u32>,
    /// Triangles.
    pub triangles: Vec<[u32; 3]>,
    /// Body of each triangle.
    pub triangle_body: Vec<u32>,
    /// Edges of each triangle (a, b, c): a b, b c, c a; `u32::MAX` for one that is left out as flat.
    pub triangle_edges: Vec<[u32; 3]>,
    /// True for an edge that belongs to no triangle.
    pub edge_is_lone: Vec<bool>,
    /// Solid half-spaces.
    pub half_planes: Vec<HalfPlane>,
    /// Which groups touch.
    pub groups: Groups,
}

impl Surface {
    /// Adds a body and returns its number. An error changes nothing.
    pub fn add(&mut self, body: &BodyGeometry) -> Result<u32, SurfaceError> {
        let count = body.maps.len();
        check_elements("triangle", body.triangles, count)?;
        check_elements("segment", body.segments, count)?;
        if !(body.radius >= 0.0 && body.radius.is_finite()) {
            return Err(SurfaceError::Radius { radius: body.radius });
        }
        let (id, first) = (self.bodies.len() as u32, self.maps.len() as u32);
        let (first_edge, first_triangle) = (self.edges.len() as u32, self.triangles.len() as u32);
        self.maps.extend_from_slice(body.maps);
        self.triangles.extend(body.triangles.iter().map(|t| t.map(|i| first + i)));
        let sides = unique_edges(body.triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]));
        let all = unique_edges(sides.iter().copied().chain(body.segments.iter().copied()));
        let flat = |e: &[u32; 2]| body.flat_edges.binary_search(e).is_ok();
        let kept: Vec<[u32; 2]> = all.iter().copied().filter(|e| !flat(e)).collect();
        let edge = |a: u32, b: u32| {
            kept.binary_search(&[a.min(b), a.max(b)]).map_or(u32::MAX, |k| first_edge + k as u32)
        };
        self.triangle_edges
            .extend(body.triangles.iter().map(|&[a, b, c]| [edge(a, b), edge(b, c), edge(c, a)]));
        let mut codimension = vec![3u8; count];
        for [a, b] in &all {
            let of_triangle = sides.binary_search(&[*a, *b]).is_ok();
            for i in [*a, *b] {
                let c = &mut codimension[i as usize];
                *c = (*c).min(if of_triangle { 1 } else { 2 });
            }
            if !flat(&[*a, *b]) {
                self.edges.push([first + a, first + b]);
                self.edge_is_lone.push(!of_triangle);
            }
        }
        self.codimension.extend_from_slice(&codimension);
        self.vertex_body.resize(self.maps.len(), id);
        self.edge_body.resize(self.edges.len(), id);
        self.triangle_body.resize(self.triangles.len(), id);
        self.bodies.push(SurfaceBody {
            vertices: first..self.maps.len() as u32,
            edges: first_edge..self.edges.len() as u32,
            triangles: first_triangle..self.triangles.len() as u32,
            radius: body.radius,
            self_contact: body.self_contact,
            carrier: Carrier::of(body.maps),
            has_lone_points: codimension.contains(&3),
            has_lone_edges: self.edge_is_lone[first_edge as usize..].contains(&true),
            group: body.group,
        });
        Ok(id)
    }

    /// Number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.maps.len()
    }

    /// Radius of vertex `i` \[m\].
    pub fn radius(&self, i: u32) -> f64 {
        self.bodies[self.vertex_body[i as usize] as usize].radius
    }

    /// True if primitives of bodies `a` and `b` may touch at all. Two bodies whose motion is prescribed never do.
    #[inline]
    pub fn bodies_touch(&self, a: u32, b: u32) -> bool {
        let (A, B) = (&self.bodies[a as usize], &self.bodies[b as usize]);
        if a == b {
            return A.self_contact && self.groups.touch(A.group, A.group);
        }
        !(A.prescribed() && B.prescribed()) && self.groups.touch(A.group, B.group)
    }

    /// Positions of all vertices for the flat unknowns `z`; those of prescribed vertices stay as they are in `x`.
    ///
    /// # Panics
    /// If `x` does not have one entry per vertex.
    pub fn positions(&self, z: &[f64], x: &mut [Vec3]) {
        assert_eq!(x.len(), self.maps.len());
        for (x, map) in x.iter_mut().zip(&self.maps) {
            if let Some(at) = map.position(z) {
                *x = at;
            }
        }
    }
}

fn check_elements<const N: usize>(
    kind: &'static str,
    elements: &[[u32; N]],
    count: usize,
) -> Result<(), SurfaceError> {
    for (index, element) in elements.iter().enumerate() {
        if let Some(&vertex) = element.iter().find(|&&i| i as usize >= count) {
            return Err(SurfaceError::UnknownVertex { kind, index, vertex, count });
        }
        for (k, &vertex) in element.iter().enumerate() {
            if element[..k].contains(&vertex) {
                return Err(SurfaceError::RepeatedVertex { kind, index, vertex });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_that_are_left_out_shift_nothing() {
        let maps: Vec<VertexMap> = (0..5).map(VertexMap::point).collect();
        let triangles = [[0, 1, 2], [0, 2, 3]];
        let mut surface = Surface::default();
        for flat_edges in [&[[0, 2]][..], &[]] {
            let body = BodyGeometry {
                maps: &maps,
                triangles: &triangles,
                segments: &[[3, 4]],
                flat_edges,
                ..Default::default()
            };
            surface.add(&body).unwrap();
        }
        assert_eq!(surface.edges.len(), 5 + 6);
        assert_eq!(surface.edge_is_lone.len(), surface.edges.len());
        assert_eq!(surface.edge_body.len(), surface.edges.len());
        let lone: Vec<[u32; 2]> =
            (0..11).filter(|&e| surface.edge_is_lone[e]).map(|e| surface.edges[e]).collect();
        assert_eq!(lone, [[3, 4], [8, 9]]);
        for (t, edges) in surface.triangle_edges.iter().enumerate() {
            let [a, b, c] = surface.triangles[t];
            for (e, ends) in edges.iter().zip([[a, b], [b, c], [c, a]]) {
                let sorted = [ends[0].min(ends[1]), ends[0].max(ends[1])];
                match surface.edges.get(*e as usize) {
                    Some(found) => assert_eq!(*found, sorted),
                    None => assert_eq!(sorted, [0, 2]),
                }
            }
        }
        assert!(surface.bodies.iter().all(|b| b.has_lone_edges && !b.has_lone_points));
        assert_eq!(surface.codimension, [1, 1, 1, 1, 2, 1, 1, 1, 1, 2]);
    }

    #[test]
    fn faults_leave_the_surface_as_it_was() {
        let maps = [VertexMap::point(0), VertexMap::point(1), VertexMap::point(2)];
        let mut surface = Surface::default();
        let good = BodyGeometry { maps: &maps, triangles: &[[0, 1, 2]], ..Default::default() };
        surface.add(&good).unwrap();
        let before = surface.clone();
        let bad = [
            BodyGeometry { triangles: &[[0, 1, 3]], ..good.clone() },
            BodyGeometry { triangles: &[[0, 1, 1]], ..good.clone() },
            BodyGeometry { segments: &[[2, 9]], ..good.clone() },
            BodyGeometry { radius: -1.0, ..good.clone() },
            BodyGeometry { radius: f64::NAN, ..good.clone() },
        ];
        for body in bad {
            assert!(surface.add(&body).is_err(), "{body:?}");
            assert_eq!(surface, before);
        }
    }
}
