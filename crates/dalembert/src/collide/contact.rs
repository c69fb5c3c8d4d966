//! Contacts: pairs of primitives closer than a gap, under their nearest features.
//!
//! The gap of a contact is $g = |r| - \xi$ with $r = \sum_i w_i x_i$ over at most four vertices, so
//! $\partial g/\partial x_i = w_i n$, $n = r/|r|$. What a Hessian of projected Newton steps leaves out against the exact one is
//! $b'\,\nabla^2 d$, the turning of the normal.

use super::distance::{self, Nearest, Region};
use super::surface::Surface;
use crate::math::Vec3;

/// Kinds of pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Vertex 0 against the triangle of vertices 1, 2, 3.
    VertexTriangle,
    /// Edge of vertices 0, 1 against edge of vertices 2, 3.
    EdgeEdge,
    /// Vertex 0 against the edge of vertices 1, 2.
    VertexEdge,
    /// Vertex 0 against vertex 1.
    VertexVertex,
    /// Vertex 0 against half-plane number `pair[1]`.
    VertexPlane,
}

/// A symmetric 3×3 matrix: xx, xy, xz, yy, yz, zz.
pub type Sym3 = [f64; 6];

/// Two primitives close to each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contact {
    /// What touches what.
    pub kind: Kind,
    /// Numbers of the two primitives, as in [`Candidates`](super::Candidates): names the contact from step to step.
    pub pair: [u32; 2],
    /// Their bodies; a half-plane is no body and has `u32::MAX`.
    pub bodies: [u32; 2],
    /// The vertices; unused places repeat the first.
    pub vertices: [u32; 4],
    /// Their weights at the nearest points: Σ w x = r. Unused ones are zero. Against a half-plane w = (1, 0, 0, 0).
    pub weights: [f64; 4],
    /// Unit direction from the second primitive to the first.
    pub normal: Vec3,
    /// Distance less the radii \[m\]. Not above zero if the two touch.
    pub gap: f64,
    /// Nearest features.
    pub region: Region,
    /// How many candidates this contact stands for: its energy counts that often. 1 unless contacts are merged.
    pub multiplicity: f64,
}

impl Contact {
    /// Its bodies, the lower number first.
    #[inline]
    pub fn body_pair(&self) -> [u32; 2] {
        [self.bodies[0].min(self.bodies[1]), self.bodies[0].max(self.bodies[1])]
    }

    /// Σ w x for vectors `x` at the vertices, as of a motion: velocity of the first nearest point against the second.
    #[inline]
    pub fn relative(&self, x: &[Vec3]) -> Vec3 {
        (0..4).map(|i| self.weights[i] * x[self.vertices[i] as usize]).sum()
    }

    /// Σ w (x − y): how far the nearest points have moved against each other from `y` to `x` \[m\].
    #[inline]
    pub fn slip(&self, x: &[Vec3], y: &[Vec3]) -> Vec3 {
        let moved = |i: usize| x[self.vertices[i] as usize] - y[self.vertices[i] as usize];
        (0..4).map(|i| self.weights[i] * moved(i)).sum()
    }

    /// The same contact as one of its nearest features.
    pub(super) fn by_features(self, surface: &Surface, x: &[Vec3]) -> Self {
        let (v, w) = (&self.vertices, &self.weights);
        match (self.kind, self.region) {
            (Kind::VertexTriangle, Region::PointEdge(_, [a, _])) => {
                // Sides (1, 2), (2, 3), (3, 1) are edges 0, 1, 2.
                // One that is left out as flat has no number: the triangle keeps the contact.
                match surface.triangle_edges[self.pair[1] as usize][a as usize - 1] {
                    u32::MAX => self,
                    e => self.vertex_edge(surface, v[0], e, 1.0),
                }
            }
            (Kind::VertexTriangle, Region::Points(_, b)) => self.vertex_vertex(v[0], v[b as usize]),
            (Kind::VertexEdge, Region::Points(_, b)) => self.vertex_vertex(v[0], v[b as usize]),
            (Kind::EdgeEdge, Region::PointEdge(p, [e, _])) if !nearly_parallel(v, x) => {
                let sign = if e == 2 { 1.0 } else { -1.0 };
                let edge = self.pair[usize::from(e == 2)];
                debug_assert!(w[p as usize] * sign > 0.0);
                self.vertex_edge(surface, v[p as usize], edge, sign)
            }
            (Kind::EdgeEdge, Region::Points(a, b)) if !nearly_parallel(v, x) => {
                self.vertex_vertex(v[a as usize], v[b as usize])
            }
            _ => self,
        }
    }

    /// As vertex against edge; `sign` is −1 if the vertex belongs to the second primitive.
    fn vertex_edge(self, surface: &Surface, vertex: u32, edge: u32, sign: f64) -> Self {
        let [a, b] = surface.edges[edge as usize];
        let of = |i: u32| {
            let at = (0..4).filter(|&k| self.vertices[k] == i);
            at.map(|k| sign * self.weights[k]).find(|w| *w != 0.0).unwrap_or(0.0)
        };
        let bodies = [vertex, a].map(|i| surface.vertex_body[i as usize]);
        Self {
            kind: Kind::VertexEdge,
            pair: [vertex, edge],
            bodies,
            vertices: [vertex, a, b, vertex],
            weights: [1.0, of(a), of(b), 0.0],
            normal: sign * self.normal,
            region: Region::PointEdge(0, [1, 2]),
            ..self
        }
    }

    /// As vertex against vertex, of the first and of the second primitive; the lower number comes first.
    fn vertex_vertex(self, first: u32, second: u32) -> Self {
        let turned = first > second;
        let sorted = |a: u32, b: u32| if turned { [b, a] } else { [a, b] };
        let [a, b] = sorted(first, second);
        Self {
            kind: Kind::VertexVertex,
            pair: [a, b],
            bodies: sorted(self.bodies[0], self.bodies[1]),
            vertices: [a, b, a, a],
            weights: [1.0, -1.0, 0.0, 0.0],
            normal: if turned { -self.normal } else { self.normal },
            region: Region::Points(0, 1),
            ..self
        }
    }

    /// Exact Hessian of b(g) over the four vertices, given b′ and b″: b″ ∇d ∇dᵀ + b′ ∇²d with
    /// ∇²d = (∇²d² − 2 ∇d ∇dᵀ)/(2 d). Not positive semi-definite; for tests and exact Newton steps.
    pub fn exact_hessian(&self, x: &[Vec3], b1: f64, b2: f64) -> [[f64; 12]; 12] {
        let y = self.vertices.map(|i| x[i as usize]);
        let gradient = |a: usize| self.weights[a / 3] * self.normal[a % 3];
        let r: Vec3 = self.relative(x);
        let near = Nearest { w: self.weights, r, d2: r.norm_squared(), region: self.region };
        let plane = self.kind == Kind::VertexPlane;
        let H2 = if plane { [[0.0; 12]; 12] } else { distance::hessian(&near, &y) };
        let d = near.d2.sqrt();
        let mut H = [[0.0; 12]; 12];
        for a in 0..12 {
            for b in 0..12 {
                let dd = gradient(a) * gradient(b);
                let turn = if plane { 0.0 } else { (0.5 * H2[a][b] - dd) / d };
                H[a][b] = b2 * dd + b1 * turn;
            }
        }
        H
    }
}

/// Takes the blocks of a contact Hessian.
pub trait HessianSink {
    /// Adds the symmetric matrix `N` at block (row, column) of the lower triangle, row ≥ column. The block at
    /// (column, row), if the caller stores it, is the same.
    fn add(&mut self, row: u32, column: u32, N: &Sym3);

    /// Adds the lower triangle of a dense patch over rising `blocks`: (0,0), (1,0), (1,1), (2,0), …
    fn add_patch(&mut self, blocks: &[u32], patch: &[Sym3]) {
        let mut k = 0;
        for (i, &row) in blocks.iter().enumerate() {
            for &column in &blocks[..=i] {
                self.add(row, column, &patch[k]);
                k += 1;
            }
        }
    }

    /// Adds W_i W_j N at every two of at most four rising `blocks`: one contact with these weights.
    fn add_contact(&mut self, blocks: &[u32], weights: &[f64], N: &Sym3) {
        let (mut patch, mut k) = ([[0.0; 6]; 10], 0);
        for i in 0..weights.len() {
            for j in 0..=i {
                let w = weights[i] * weights[j];
                patch[k] = N.map(|N| w * N);
                k += 1;
            }
        }
        self.add_patch(blocks, &patch[..k]);
    }
}

impl<F: FnMut(u32, u32, &Sym3)> HessianSink for F {
    fn add(&mut self, row: u32, column: u32, N: &Sym3) {
        self(row, column, N);
    }
}

/// k n nᵀ.
#[inline(always)]
pub fn dyad(k: f64, n: &Vec3) -> Sym3 {
    let kn = k * n;
    [kn.x * n.x, kn.x * n.y, kn.x * n.z, kn.y * n.y, kn.y * n.z, kn.z * n.z]
}

/// True for edges (0, 1) and (2, 3) with sin² of their angle below 0.004.
fn nearly_parallel(v: &[u32; 4], x: &[Vec3]) -> bool {
    let [a, b, c, d] = v.map(|i| x[i as usize]);
    let (e, f) = (b - a, d - c);
    e.cross(&f).norm_squared() < 4e-3 * e.norm_squared() * f.norm_squared()
}
