//! Tetrahedra of ten points: corners and middles of edges, quadratic shape functions, four Gauss points.
//!
//! With barycentric coordinates L the corner functions are $L_i(2L_i - 1)$ and those of the middle of edge ij are
//! $4 L_i L_j$. They bend, where four-point tetrahedra lock. Four points integrate the linear law of straight elements
//! exactly. Everything else is [`Solids`]. Book: "Solids".

use super::material::{ElementError, Material};
use super::solid::{Sample, Solids, plain_stiffness};
use crate::math::{Mat3, Vec3};
use crate::state::PointId;

/// Ten-point tetrahedra of one material. Points 0 to 3 are corners, then come the middles of the edges in the order of
/// [`EDGES`] (that of VTK; Gmsh exchanges the last two).
pub type QuadraticTets = Solids<10>;

/// Corners at the ends of the edge whose middle is point 4 + k.
pub const EDGES: [[usize; 2]; 6] = [[0, 1], [1, 2], [0, 2], [0, 3], [1, 3], [2, 3]];

/// Gradients of the barycentric coordinates in the unit tetrahedron.
fn corner_gradients() -> [Vec3; 4] {
    [-Vec3::new(1.0, 1.0, 1.0), Vec3::x(), Vec3::y(), Vec3::z()]
}

/// N_i and ∂N_i/∂ξ at barycentric coordinates L.
pub(crate) fn shape(L: [f64; 4]) -> ([f64; 10], [Vec3; 10]) {
    let dL = corner_gradients();
    let (mut n, mut dn) = ([0.0; 10], [Vec3::zeros(); 10]);
    for i in 0..4 {
        n[i] = L[i] * (2.0 * L[i] - 1.0);
        dn[i] = dL[i] * (4.0 * L[i] - 1.0);
    }
    for (k, [i, j]) in EDGES.into_iter().enumerate() {
        n[4 + k] = 4.0 * L[i] * L[j];
        dn[4 + k] = (dL[i] * L[j] + dL[j] * L[i]) * 4.0;
    }
    (n, dn)
}

/// ∂X/∂ξ.
pub(crate) fn jacobian(X: &[Vec3; 10], dn: &[Vec3; 10]) -> Mat3 {
    (0..10).map(|i| X[i] * dn[i].transpose()).sum()
}

fn samples(X: &[Vec3; 10]) -> Vec<Sample<10>> {
    let (a, b) = ((5.0 + 3.0 * 5f64.sqrt()) / 20.0, (5.0 - 5f64.sqrt()) / 20.0);
    (0..4)
        .map(|q| {
            let mut L = [b; 4];
            L[q] = a;
            let (_, dn) = shape(L);
            let J = jacobian(X, &dn);
            let to_gradient = J.try_inverse().unwrap_or_default().transpose();
            (dn.map(|d| to_gradient * d), J.determinant() / 24.0)
        })
        .collect()
}

impl QuadraticTets {
    /// Tetrahedra whose points rest at the places of `rest` \[m\]; inverted and flat ones are refused.
    pub fn new(rest: &[Vec3], elements: &[[PointId; 10]], material: Material) -> Result<Self, ElementError> {
        Solids::build("quadratic_tets", rest, elements, material, samples, |_, samples, elastic| {
            plain_stiffness(samples, elastic)
        })
    }
}
