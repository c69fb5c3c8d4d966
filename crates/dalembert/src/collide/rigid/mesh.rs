//! Surfaces of triangles that stand still: any mesh, and fields of heights.
//!
//! A convex shape meets a surface triangle by triangle. Two things would go wrong if each triangle were a body of its
//! own: a shape sliding over a smooth floor would bump against edges inside of it, and a shape that has sunk in would be
//! pushed on through. So a triangle pushes sideways only over edges where the surface is convex (or ends), and the
//! surface of a solid pushes only outwards.

use std::sync::{Arc, OnceLock};

use super::super::bvh::{Aabb, Tree};
use super::features::Features;
use crate::math::Vec3;

/// A triangle of a surface, in the frame of the surface.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facet {
    pub(super) corners: [Vec3; 3],
    /// Unit normal, outwards.
    pub(super) normal: Vec3,
    /// Bit k: it may push sideways over the edge from corner k to the next.
    pub(super) open_edges: u8,
    pub(super) number: u32,
    /// It pushes only along its normal's side.
    pub(super) one_sided: bool,
    /// Everything below it is solid.
    pub(super) bottomless: bool,
}

/// Any triangles. A closed surface pushes outwards only, an open one to both sides.
#[derive(Debug, Clone)]
pub struct Mesh {
    vertices: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    open_edges: Vec<u8>,
    closed: bool,
    dropped: usize,
    tree: Tree,
    /// Made when it first meets another surface.
    features: OnceLock<Arc<Features>>,
}

/// Why triangles make no surface to collide with.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SurfaceError {
    /// A coordinate that is not finite.
    #[error("vertex {vertex} at ({}, {}, {}) must be finite", .position[0], .position[1], .position[2])]
    NotFinite {
        /// Which, from 0.
        vertex: usize,
        /// Its coordinates \[m\].
        position: [f64; 3],
    },
    /// A corner that does not exist.
    #[error("triangle {triangle} names vertex {vertex}, but the mesh has only {vertices} vertices")]
    OutOfRange {
        /// Triangle, from 0.
        triangle: usize,
        /// The number it names.
        vertex: u32,
        /// Number of vertices.
        vertices: usize,
    },
    /// No triangle with an area.
    #[error("the mesh has no triangle with an area")]
    Empty,
    /// A field of heights of the wrong size.
    #[error("a height field of {columns} × {rows} needs {} heights, not {heights}", columns * rows)]
    Heights {
        /// Points along x.
        columns: usize,
        /// Points along y.
        rows: usize,
        /// Heights given.
        heights: usize,
    },
    /// A field of heights without a cell.
    #[error(
        "a height field needs two points along each side and a positive spacing; it has {columns} × {rows} points at {spacing} m"
    )]
    NoCells {
        /// Points along x.
        columns: usize,
        /// Points along y.
        rows: usize,
        /// The smaller spacing \[m\].
        spacing: f64,
    },
}

/// Neighbours that bend away from each other by less than this angle \[rad\] make a smooth surface.
const SMOOTH: f64 = 1e-5;

fn unit_normal(p: &[Vec3; 3]) -> Option<Vec3> {
    let (u, v) = (p[1] - p[0], p[2] - p[0]);
    let n = u.cross(&v);
    // Twice the area against the longest side squared.
    let longest = u.norm_squared().max(v.norm_squared()).max((v - u).norm_squared());
    if n.norm() > 1e-12 * longest { n.try_normalize(0.0) } else { None }
}

/// True if `opposite`, the far corner of the neighbour over an edge, lies below the plane of the triangle.
fn bends_away(origin: &Vec3, normal: &Vec3, opposite: &Vec3, across: f64) -> bool {
    normal.dot(&(opposite - origin)) < -SMOOTH * across
}

impl Mesh {
    /// Takes triangles counter-clockwise seen from outside. Those without an area are left out.
    pub fn new(vertices: Vec<Vec3>, triangles: &[[u32; 3]]) -> Result<Self, SurfaceError> {
        if let Some(vertex) = vertices.iter().position(|p| !p.iter().all(|x| x.is_finite())) {
            return Err(SurfaceError::NotFinite { vertex, position: vertices[vertex].into() });
        }
        let count = vertices.len();
        for (triangle, t) in triangles.iter().enumerate() {
            if let Some(&vertex) = t.iter().find(|&&v| v as usize >= count) {
                return Err(SurfaceError::OutOfRange { triangle, vertex, vertices: count });
            }
        }
        let at = |t: &[u32; 3]| t.map(|i| vertices[i as usize]);
        let kept: Vec<[u32; 3]> =
            triangles.iter().filter(|t| unit_normal(&at(t)).is_some()).copied().collect();
        if kept.is_empty() {
            return Err(SurfaceError::Empty);
        }
        let mut edges: Vec<([u32; 2], u32)> = Vec::with_capacity(3 * kept.len());
        for (i, t) in kept.iter().enumerate() {
            edges.extend((0..3).map(|k| ([t[k], t[(k + 1) % 3]], (3 * i + k) as u32)));
        }
        edges.sort_unstable();
        let mut closed = kept.len() == triangles.len();
        let mut open_edges = vec![0; kept.len()];
        for (i, t) in kept.iter().enumerate() {
            let p = at(t);
            let n = unit_normal(&p).unwrap_or_else(Vec3::z);
            for k in 0..3 {
                let [a, b] = [t[k], t[(k + 1) % 3]];
                let first = edges.partition_point(|e| e.0 < [b, a]);
                let same = edges[first..].iter().take_while(|e| e.0 == [b, a]).count();
                closed &= same == 1;
                let open = same != 1 || {
                    let other = edges[first].1 as usize;
                    let opposite = vertices[kept[other / 3][(other % 3 + 2) % 3] as usize];
                    bends_away(&p[k], &n, &opposite, (opposite - p[k]).norm())
                };
                open_edges[i] |= u8::from(open) << k;
            }
        }
        let boxes: Vec<Aabb> = kept.iter().map(|t| around(&at(t))).collect();
        let mut tree = Tree::default();
        tree.build(&boxes);
        let dropped = triangles.len() - kept.len();
        let features = OnceLock::new();
        Ok(Self { vertices, triangles: kept, open_edges, closed, dropped, tree, features })
    }

    /// True if every edge joins two triangles that agree about outside.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// How many triangles without an area were left out.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Corners \[m\], those of triangles without an area included.
    pub fn vertices(&self) -> &[Vec3] {
        &self.vertices
    }

    /// Triangles with an area, counter-clockwise seen from outside.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// Box around it in its own frame.
    pub(super) fn bounds(&self) -> Aabb {
        self.tree.bounds()
    }

    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    pub(super) fn corners(&self, triangle: u32) -> [Vec3; 3] {
        self.triangles[triangle as usize].map(|v| self.vertices[v as usize])
    }

    pub(super) fn features(&self) -> &Features {
        self.features.get_or_init(|| Arc::new(Features::new(&self.vertices, &self.triangles, self.closed)))
    }

    pub(super) fn facets(&self, bounds: &Aabb, mut visit: impl FnMut(Facet)) {
        self.tree.query(bounds, |i| {
            let corners = self.corners(i);
            if let Some(normal) = unit_normal(&corners) {
                let open_edges = self.open_edges[i as usize];
                visit(Facet {
                    corners,
                    normal,
                    open_edges,
                    number: i,
                    one_sided: self.closed,
                    bottomless: false,
                });
            }
            true
        });
    }
}

fn around(p: &[Vec3; 3]) -> Aabb {
    Aabb::of(&p[0].inf(&p[1]).inf(&p[2]), &p[0].sup(&p[1]).sup(&p[2]), 0.0)
}

/// Heights over a grid in x and y, centred at 0; solid below, as deep as the field is wide. Each cell is cut from its low corner to its high one.
#[derive(Debug, Clone, PartialEq)]
pub struct HeightField {
    columns: usize,
    rows: usize,
    spacing: [f64; 2],
    /// Row by row, along x first \[m\].
    heights: Vec<f64>,
    low: f64,
    high: f64,
}

impl HeightField {
    /// `columns` points along x and `rows` along y at the given spacings \[m\]; heights row by row \[m\].
    pub fn new(
        columns: usize,
        rows: usize,
        spacing: [f64; 2],
        heights: Vec<f64>,
    ) -> Result<Self, SurfaceError> {
        let least = spacing[0].min(spacing[1]);
        if columns < 2 || rows < 2 || !(least > 0.0 && spacing.iter().all(|s| s.is_finite())) {
            return Err(SurfaceError::NoCells { columns, rows, spacing: least });
        }
        if heights.len() != columns * rows {
            return Err(SurfaceError::Heights { columns, rows, heights: heights.len() });
        }
        if let Some(vertex) = heights.iter().position(|h| !h.is_finite()) {
            return Err(SurfaceError::NotFinite { vertex, position: [f64::NAN, f64::NAN, heights[vertex]] });
        }
        let low = heights.iter().fold(f64::INFINITY, |a, b| a.min(*b));
        let high = heights.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        Ok(Self { columns, rows, spacing, heights, low, high })
    }

    fn point(&self, i: usize, j: usize) -> Vec3 {
        let middle = |n: usize| 0.5 * (n - 1) as f64;
        Vec3::new(
            (i as f64 - middle(self.columns)) * self.spacing[0],
            (j as f64 - middle(self.rows)) * self.spacing[1],
            self.heights[j * self.columns + i],
        )
    }

    /// Box around the surface in its own frame, and as far below it as the field is wide.
    pub(super) fn bounds(&self) -> Aabb {
        let (mut low, mut high) = (self.point(0, 0), self.point(self.columns - 1, self.rows - 1));
        let deep = (high.x - low.x).max(high.y - low.y);
        (low.z, high.z) = (self.low - deep, self.high);
        Aabb::of(&low, &high, 0.0)
    }

    /// First and last cell along an axis that a range of coordinates touches.
    fn cells(&self, axis: usize, low: f64, high: f64) -> std::ops::Range<usize> {
        let count = if axis == 0 { self.columns } else { self.rows } - 1;
        let place = |x: f64| x / self.spacing[axis] + 0.5 * count as f64;
        // A cast from a float saturates.
        let (first, last) = (place(low).floor(), place(high).floor());
        if !(last >= 0.0 && first < count as f64) {
            return 0..0;
        }
        first.max(0.0) as usize..(last as usize + 1).min(count)
    }

    pub(super) fn facets(&self, bounds: &Aabb, mut visit: impl FnMut(Facet)) {
        let all = self.bounds();
        if !(bounds.low[2] <= all.high[2] && bounds.high[2] >= all.low[2]) {
            return;
        }
        for j in self.cells(1, bounds.low[1], bounds.high[1]) {
            for i in self.cells(0, bounds.low[0], bounds.high[0]) {
                for half in 0..2 {
                    let facet = self.facet(i, j, half);
                    if facet.corners.iter().any(|p| p.z >= bounds.low[2]) {
                        visit(facet);
                    }
                }
            }
        }
    }

    /// Triangle 0 of a cell lies below its diagonal, 1 above; edges run counter-clockwise from the low corner.
    fn facet(&self, i: usize, j: usize, half: usize) -> Facet {
        let (c, r) = (self.columns, self.rows);
        let p = |i: usize, j: usize| self.point(i, j);
        // Far corners of the neighbours over the three edges.
        let (corners, far): ([Vec3; 3], [Option<Vec3>; 3]) = if half == 0 {
            (
                [p(i, j), p(i + 1, j), p(i + 1, j + 1)],
                [(j > 0).then(|| p(i, j - 1)), (i + 2 < c).then(|| p(i + 2, j + 1)), Some(p(i, j + 1))],
            )
        } else {
            (
                [p(i, j), p(i + 1, j + 1), p(i, j + 1)],
                [Some(p(i + 1, j)), (j + 2 < r).then(|| p(i + 1, j + 2)), (i > 0).then(|| p(i - 1, j))],
            )
        };
        let normal = unit_normal(&corners).unwrap_or_else(Vec3::z);
        let mut open_edges = 0;
        for k in 0..3 {
            let open = far[k].is_none_or(|q| bends_away(&corners[k], &normal, &q, (q - corners[k]).norm()));
            open_edges |= u8::from(open) << k;
        }
        let number = (2 * (j * (c - 1) + i) + half) as u32;
        Facet { corners, normal, open_edges, number, one_sided: true, bottomless: true }
    }
}
