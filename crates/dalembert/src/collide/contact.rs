//! Contacts: pairs closer than a gap, and the way from their forces and stiffnesses to the unknowns.
//!
//! The gap of a contact is $g = |r| - \xi$ with $r = \sum_i w_i x_i$ over at most four vertices, so
//! $\partial g/\partial x_i = w_i n$, $n = r/|r|$. Each vertex is a sum over blocks of unknowns, so the same holds for
//! blocks with weights $W_j$ (four per affine body, one per point): a force $f$ of the contact gives the gradient
//! $W_j f$, a stiffness N the blocks $W_j W_k N$. If N is positive semi-definite, so is the sum.

use super::barrier::LogBarrier;
use super::candidates::Candidates;
use super::distance::Region;
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
    /// Numbers of the two primitives, as in [`Candidates`]: names the contact from step to step.
    pub pair: [u32; 2],
    /// The vertices; unused places repeat the first.
    pub vertices: [u32; 4],
    /// Their weights at the nearest points: Σ w x = r. Unused ones are zero. Against a half-plane w = (1, 0, 0, 0).
    pub weights: [f64; 4],
    /// Unit direction from the second primitive to the first.
    pub normal: Vec3,
    /// Distance less the radii \[m\].
    pub gap: f64,
    /// Nearest features.
    pub region: Region,
}

/// Contacts of a state, sorted by pairs of bodies, with their weights over the unknown blocks.
#[derive(Debug, Clone, Default)]
pub struct ContactSet {
    /// The contacts.
    pub contacts: Vec<Contact>,
}

/// Takes the blocks of a contact Hessian.
pub trait HessianSink {
    /// Adds the symmetric matrix `N` at block (row, column) of the lower triangle, row ≥ column. The block at
    /// (column, row), if the caller stores it, is the same.
    fn add(&mut self, row: u32, column: u32, N: &Sym3);
}

impl ContactSet {
    /// Keeps the candidates with a gap below `gap_max` \[m\] at positions `x`.
    pub fn update(&mut self, surface: &Surface, candidates: &Candidates, x: &[Vec3], gap_max: f64) {
        let _ = (surface, candidates, x, gap_max);
        unimplemented!()
    }

    /// Block numbers and weights of contact `k`, zeros left out: ∂(Σ w x)/∂z.
    pub fn blocks(&self, k: usize) -> (&[u32], &[f64]) {
        let _ = k;
        unimplemented!()
    }

    /// Σ_k κ b(g_k) \[J\] for the stiffness `kappa` \[N/m\]; forces κ b′ n \[N\] and stiffnesses κ b″ n nᵀ \[N/m\] of
    /// each contact.
    pub fn barrier(
        &self,
        law: &LogBarrier,
        kappa: f64,
        forces: &mut Vec<Vec3>,
        stiffnesses: &mut Vec<Sym3>,
    ) -> f64 {
        let _ = (law, kappa, forces, stiffnesses);
        unimplemented!()
    }

    /// Adds W_j f_k of every contact to the flat gradient over the unknowns.
    pub fn add_gradient(&self, forces: &[Vec3], gradient: &mut [f64]) {
        let _ = (forces, gradient);
        unimplemented!()
    }

    /// Adds W_j W_l N_k of every contact. Contacts of two affine bodies are summed first and handed over once per pair.
    pub fn add_hessian(&self, stiffnesses: &[Sym3], sink: &mut impl HessianSink) {
        let _ = (stiffnesses, sink);
        unimplemented!()
    }
}
