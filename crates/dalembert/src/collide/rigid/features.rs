//! Corners and edges with which a mesh can touch another surface.
//!
//! Two polyhedral surfaces that touch do so with a corner on a face or with an edge on an edge. Corners inside of a flat
//! part and edges between coplanar triangles add nothing to that: the corners of the common part of two faces are corners
//! of outlines or crossings of outlines. A corner can touch along n if all its neighbours lie on the side of n, and an edge if
//! n lies on the arc between the normals of its two triangles: the parts of the sphere of directions that belong to them.

use super::super::bvh::{Aabb, Tree};
use super::hull::Hull;
use super::mesh::Mesh;
use crate::math::Vec3;

/// An edge that can touch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub(super) ends: [u32; 2],
    /// Normals of the triangles to its left and right: directions between them, the short way, belong to the edge.
    normals: [Vec3; 2],
    /// All directions belong to it: more than two triangles meet here, or they disagree about outside.
    free: bool,
}

/// A direction may miss the arc of an edge by this sine.
const ARC: f64 = 0.05;
/// Neighbours of a corner may lie behind it by this sine.
const CONE: f64 = 0.2;
/// Triangles that bend by less than this sine are one face.
const FLAT: f64 = 1e-5;

impl Edge {
    /// True if the unit vector `n`, across the edge along `e` (both in the frame of the mesh), belongs to it.
    pub(super) fn owns(&self, n: &Vec3, e: &Vec3) -> bool {
        let [l, r] = &self.normals;
        let least = -ARC * e.norm();
        self.free || (l.cross(n).dot(e) >= least && n.cross(r).dot(e) >= least)
    }
}

/// What a mesh touches other surfaces with.
#[derive(Debug, Clone)]
pub(super) struct Features {
    pub(super) normals: Vec<Vec3>,
    /// Bit k: the triangle stands for its corner k, which can touch.
    pub(super) corners: Vec<u8>,
    pub(super) edges: Vec<Edge>,
    /// Edges for which triangle t stands: `edges[first_edge[t]..first_edge[t + 1]]`.
    pub(super) first_edge: Vec<u32>,
    neighbours: Vec<u32>,
    first_neighbour: Vec<u32>,
    /// Diagonal of its box \[m\].
    pub(super) size: f64,
    pub(super) hull: Option<Hull>,
}

impl Features {
    pub(super) fn new(vertices: &[Vec3], triangles: &[[u32; 3]], closed: bool) -> Self {
        let at = |i: u32| vertices[i as usize];
        let normal = |t: &[u32; 3]| {
            let n = (at(t[1]) - at(t[0])).cross(&(at(t[2]) - at(t[0])));
            n.try_normalize(0.0).unwrap_or_else(Vec3::z)
        };
        let normals: Vec<Vec3> = triangles.iter().map(normal).collect();
        let mut all: Vec<([u32; 2], u32)> = Vec::with_capacity(3 * triangles.len());
        for (i, t) in triangles.iter().enumerate() {
            for k in 0..3 {
                let (a, b) = (t[k], t[(k + 1) % 3]);
                all.push(([a.min(b), a.max(b)], (3 * i + k) as u32));
            }
        }
        all.sort_unstable();
        let mut owned: Vec<(u32, Edge)> = Vec::new();
        let mut neighbours = vec![Vec::new(); vertices.len()];
        let mut touches = vec![false; vertices.len()];
        for group in all.chunk_by(|a, b| a.0 == b.0) {
            let [a, b] = group[0].0;
            neighbours[a as usize].push(b);
            neighbours[b as usize].push(a);
            if let Some(edge) = edge(group, triangles, &normals, &at, closed) {
                owned.push((group[0].1 / 3, edge));
            }
            // A corner that only touches from the hollow side of all its edges never comes first.
            if !flat(group, triangles, &normals) {
                touches[a as usize] = true;
                touches[b as usize] = true;
            }
        }
        owned.sort_by_key(|e| e.0);
        let mut first_edge = vec![0u32; triangles.len() + 1];
        owned.iter().for_each(|(t, _)| first_edge[*t as usize + 1] += 1);
        (0..triangles.len()).for_each(|t| first_edge[t + 1] += first_edge[t]);
        let mut corners = vec![0u8; triangles.len()];
        for (t, corner) in triangles.iter().zip(&mut corners) {
            for k in 0..3 {
                if std::mem::take(&mut touches[t[k] as usize]) {
                    *corner |= 1 << k;
                }
            }
        }
        let mut first_neighbour = vec![0u32; vertices.len() + 1];
        for (v, list) in neighbours.iter().enumerate() {
            first_neighbour[v + 1] = first_neighbour[v] + list.len() as u32;
        }
        let used: Vec<Vec3> = triangles.iter().flatten().map(|i| at(*i)).collect();
        let low = used.iter().fold(Vec3::repeat(f64::INFINITY), |a, b| a.inf(b));
        let high = used.iter().fold(Vec3::repeat(f64::NEG_INFINITY), |a, b| a.sup(b));
        Self {
            normals,
            corners,
            edges: owned.into_iter().map(|e| e.1).collect(),
            first_edge,
            neighbours: neighbours.concat(),
            first_neighbour,
            size: (high - low).norm(),
            hull: Hull::new(&used).ok(),
        }
    }

    /// True if vertex `v` is the lowest of its neighbourhood along `n`, about.
    pub(super) fn is_lowest(&self, vertices: &[Vec3], v: u32, n: &Vec3) -> bool {
        let (x, v) = (&vertices[v as usize], v as usize);
        let list = self.first_neighbour[v] as usize..self.first_neighbour[v + 1] as usize;
        self.neighbours[list].iter().all(|&w| {
            let edge = vertices[w as usize] - x;
            edge.dot(n) >= -CONE * edge.norm()
        })
    }
}

fn flat(group: &[([u32; 2], u32)], triangles: &[[u32; 3]], normals: &[Vec3]) -> bool {
    let [one, two] = group else { return false };
    let [s, t] = [one.1 as usize, two.1 as usize];
    let opposite = triangles[s / 3][s % 3] != triangles[t / 3][t % 3];
    let (m, n) = (&normals[s / 3], &normals[t / 3]);
    opposite && m.dot(n) > 0.0 && m.cross(n).norm() < FLAT
}

/// The edge of these sides of triangles, if it can touch.
fn edge(
    group: &[([u32; 2], u32)],
    triangles: &[[u32; 3]],
    normals: &[Vec3],
    at: &impl Fn(u32) -> Vec3,
    closed: bool,
) -> Option<Edge> {
    let side = |i: usize| (group[i].1 as usize / 3, group[i].1 as usize % 3);
    let (t, k) = side(0);
    let ends = [triangles[t][k], triangles[t][(k + 1) % 3]];
    let left = normals[t];
    match group.len() {
        // A rim: the half circle of directions from above to below around the outside.
        1 => Some(Edge { ends, normals: [left, -left], free: false }),
        2 => {
            let (u, m) = side(1);
            if triangles[u][m] == ends[0] {
                return Some(Edge { ends, normals: [left; 2], free: true });
            }
            if flat(group, triangles, normals) {
                return None;
            }
            let far = at(triangles[u][(m + 2) % 3]) - at(ends[0]);
            if left.dot(&far) < 0.0 {
                return Some(Edge { ends, normals: [left, normals[u]], free: false });
            }
            // Hollow: it touches from behind, where there is a behind.
            let back = Edge { ends: [ends[1], ends[0]], normals: [-left, -normals[u]], free: false };
            (!closed).then_some(back)
        }
        _ => Some(Edge { ends, normals: [left; 2], free: true }),
    }
}

/// True if a triangle of the mesh other than those at its ends lies across the segment.
pub(super) fn blocked(mesh: &Mesh, tree: &Tree, from: &Vec3, to: &Vec3) -> bool {
    let d = to - from;
    let mut found = false;
    tree.query(&Aabb::of(from, to, 0.0), |i| {
        let [p, q, r] = mesh.corners(i);
        // Möller and Trumbore 1997.
        let (u, v) = (q - p, r - p);
        let across = d.cross(&v);
        let det = u.dot(&across);
        if det != 0.0 {
            let s = from - p;
            let (a, turn) = (s.dot(&across) / det, s.cross(&u));
            let (b, t) = (d.dot(&turn) / det, v.dot(&turn) / det);
            found |= a >= 0.0 && b >= 0.0 && a + b <= 1.0 && t > 1e-6 && t < 1.0 - 1e-6;
        }
        !found
    });
    found
}
