//! Meshes: points and the elements between them.
//!
//! Four kinds, by the dimension of their elements: [`SegmentMesh`] (rods), [`SurfaceMesh`] (cloth, shells, skins),
//! [`TetMesh`] and [`HexMesh`] (solids); [`QuadraticTetMesh`] adds a node to every edge of a tetrahedron. A mesh is
//! plain data with public fields: whoever simulates it turns its points into particles and its elements into forces.
//! Corners of elements are numbers of points, from 0.
//!
//! A tetrahedron (a, b, c, d) has the volume $V = \tfrac16 (b-a)\cdot\big((c-a)\times(d-a)\big)$, positive where the
//! triangle a, b, c is counter-clockwise seen from d's far side. A hexahedron has corners 0–3 around its bottom,
//! counter-clockwise seen from above, and 4–7 above them (the order of VTK and Gmsh):
//!
//! ```text
//!        7--------6          z
//!       /|       /|          |  y
//!      4--------5 |          | /
//!      | 3------|-2          |/
//!      |/       |/           o--- x
//!      0--------1
//! ```
//!
//! Making: `TetMesh::block`, `HexMesh::ball`, `SurfaceMesh::grid`, …. Looking: [`TetMesh::boundary`],
//! [`SurfaceMesh::hinges`], [`TetMesh::report`]. Choosing nodes: [`Region`]. Finding where a point is: [`TetLocator`] and its kin; carrying it along: [`Weights`].
//! Book: "Meshes".

mod boundary;
mod decompose;
mod generate;
mod hull;
mod locate;
mod quality;
mod select;
mod weights;

use boundary::outer_quads;
pub use boundary::{Boundary, Crowded, Hinge, unique_edges};
pub use decompose::{Decomposition, Fineness, decompose};
pub use generate::{Diagonals, GenerateError, MOST_NODES};
pub use hull::convex_hull;
pub use locate::{
    HexLocator, Place, SurfaceLocator, TetLocator, hex_weights, nearest_on_triangle, tet_weights,
};
pub use quality::{MeshReport, dihedral_angles, hex_quality, tet_quality, triangle_quality};
pub use select::Region;
pub use weights::{EmbedError, Weights};

use crate::math::{Mat3, Vec3};

/// Segments between points, as of a rod, a cable or a net.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SegmentMesh {
    /// Positions \[m\].
    pub points: Vec<Vec3>,
    /// The two ends of each segment.
    pub segments: Vec<[u32; 2]>,
}

/// Triangles, closed or not. A closed surface that passes its tests becomes a
/// [`TriangleMesh`](crate::bodies::TriangleMesh).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SurfaceMesh {
    /// Positions \[m\].
    pub points: Vec<Vec3>,
    /// Corners, counter-clockwise seen from the side that counts as outside.
    pub triangles: Vec<[u32; 3]>,
}

/// Tetrahedra.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TetMesh {
    /// Positions \[m\].
    pub points: Vec<Vec3>,
    /// Corners, in the order that makes volumes positive.
    pub tets: Vec<[u32; 4]>,
}

/// Hexahedra.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HexMesh {
    /// Positions \[m\].
    pub points: Vec<Vec3>,
    /// Corners: 0–3 around the bottom, 4–7 above them.
    pub hexes: Vec<[u32; 8]>,
}

/// Tetrahedra with a node in the middle of every edge.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QuadraticTetMesh {
    /// Positions \[m\]: first the corners, as they were, then the middles.
    pub points: Vec<Vec3>,
    /// Corners 0–3, then the middles of the edges of [`TET_EDGES`]: the order of VTK.
    pub tets: Vec<[u32; 10]>,
}

/// Edges of a tetrahedron, in the order of the middle nodes 4–9 of a quadratic one.
pub const TET_EDGES: [[usize; 2]; 6] = [[0, 1], [1, 2], [2, 0], [0, 3], [1, 3], [2, 3]];

/// Faces of a tetrahedron, counter-clockwise seen from outside; face k lies opposite corner k.
pub const TET_FACES: [[usize; 3]; 4] = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]];

/// Faces of a hexahedron, counter-clockwise seen from outside.
pub const HEX_FACES: [[usize; 4]; 6] =
    [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]];

/// Signs of the corners of a hexahedron on the reference cube \[−1, 1\]³.
pub const HEX_CORNERS: [[f64; 3]; 8] = [
    [-1.0, -1.0, -1.0],
    [1.0, -1.0, -1.0],
    [1.0, 1.0, -1.0],
    [-1.0, 1.0, -1.0],
    [-1.0, -1.0, 1.0],
    [1.0, -1.0, 1.0],
    [1.0, 1.0, 1.0],
    [-1.0, 1.0, 1.0],
];

/// Weights N of the eight corners at the place ξ of the reference cube \[−1, 1\]³: $N_k = \tfrac18\prod_d(1 + \xi_d s_{kd})$
/// with the corner's signs s; inside the cube none is negative, and they sum to 1 everywhere.
pub fn trilinear_weights(xi: &Vec3) -> [f64; 8] {
    HEX_CORNERS.map(|s| 0.125 * (1.0 + xi.x * s[0]) * (1.0 + xi.y * s[1]) * (1.0 + xi.z * s[2]))
}

/// Slopes ∂N/∂ξ of [`trilinear_weights`].
pub fn trilinear_slopes(xi: &Vec3) -> [Vec3; 8] {
    HEX_CORNERS.map(|s| {
        let f = [1.0 + xi.x * s[0], 1.0 + xi.y * s[1], 1.0 + xi.z * s[2]];
        0.125 * Vec3::new(s[0] * f[1] * f[2], s[1] * f[2] * f[0], s[2] * f[0] * f[1])
    })
}

/// Signed volume of a tetrahedron \[m³\].
pub fn tet_volume(x: &[Vec3; 4]) -> f64 {
    (x[1] - x[0]).dot(&(x[2] - x[0]).cross(&(x[3] - x[0]))) / 6.0
}

/// Signed volume of a hexahedron \[m³\]: the integral of the trilinear map's determinant, by eight Gauss points, which
/// are exact for it.
pub fn hex_volume(x: &[Vec3; 8]) -> f64 {
    let g = 1.0 / 3f64.sqrt();
    HEX_CORNERS.iter().map(|s| hex_jacobian(x, &(g * Vec3::from(*s))).determinant()).sum()
}

/// ∂x/∂ξ of the trilinear map at ξ \[m\].
pub fn hex_jacobian(x: &[Vec3; 8], xi: &Vec3) -> Mat3 {
    let slopes = trilinear_slopes(xi);
    x.iter().zip(&slopes).fold(Mat3::zeros(), |J, (x, g)| J + x * g.transpose())
}

/// Area of a triangle \[m²\].
pub fn triangle_area(x: &[Vec3; 3]) -> f64 {
    0.5 * (x[1] - x[0]).cross(&(x[2] - x[0])).norm()
}

/// The corners of an element \[m\].
pub fn corners<const N: usize>(points: &[Vec3], element: &[u32; N]) -> [Vec3; N] {
    element.map(|i| points[i as usize])
}

impl SegmentMesh {
    /// Sum of the lengths of all segments \[m\].
    pub fn length(&self) -> f64 {
        self.segments.iter().map(|s| (self.points[s[1] as usize] - self.points[s[0] as usize]).norm()).sum()
    }
}

impl SurfaceMesh {
    /// Sum of the areas of all triangles \[m²\].
    pub fn area(&self) -> f64 {
        self.triangles.iter().map(|t| triangle_area(&corners(&self.points, t))).sum()
    }

    /// Volume inside, if the surface is closed and oriented outwards \[m³\].
    pub fn enclosed_volume(&self) -> f64 {
        // An apex among the points keeps a surface far from the origin from cancelling.
        let apex = self.points.first().copied().unwrap_or_default();
        self.triangles
            .iter()
            .map(|t| {
                let [a, b, c] = corners(&self.points, t);
                tet_volume(&[apex, a, b, c])
            })
            .sum()
    }
}

impl TetMesh {
    /// Sum of the signed volumes of all tetrahedra \[m³\].
    pub fn volume(&self) -> f64 {
        self.tets.iter().map(|t| tet_volume(&corners(&self.points, t))).sum()
    }

    /// The same solid with a node in the middle of every edge; an edge shared by several tetrahedra has one.
    pub fn quadratic(&self) -> QuadraticTetMesh {
        let mut wanted: Vec<([u32; 2], usize, usize)> = Vec::with_capacity(6 * self.tets.len());
        for (t, tet) in self.tets.iter().enumerate() {
            for (k, e) in TET_EDGES.iter().enumerate() {
                let (a, b) = (tet[e[0]], tet[e[1]]);
                wanted.push(([a.min(b), a.max(b)], t, k));
            }
        }
        wanted.sort_unstable();
        let mut points = self.points.clone();
        let mut tets: Vec<[u32; 10]> =
            self.tets.iter().map(|t| std::array::from_fn(|k| if k < 4 { t[k] } else { 0 })).collect();
        for same in wanted.chunk_by(|a, b| a.0 == b.0) {
            let [a, b] = same[0].0;
            let middle = points.len() as u32;
            points.push(0.5 * (points[a as usize] + points[b as usize]));
            for (_, t, k) in same {
                tets[*t][4 + k] = middle;
            }
        }
        QuadraticTetMesh { points, tets }
    }
}

impl HexMesh {
    /// Sum of the signed volumes of all hexahedra \[m³\].
    pub fn volume(&self) -> f64 {
        self.hexes.iter().map(|h| hex_volume(&corners(&self.points, h))).sum()
    }

    /// Six tetrahedra for every hexahedron, on the same points, with matching faces.
    ///
    /// Each tetrahedron joins the corner of lowest number to half of one of the three faces that do not touch it;
    /// every quadrilateral is cut from its own lowest corner, so two neighbours cut their common face alike
    /// (after Dompierre, Labbé, Vallet and Camarero 1999).
    pub fn to_tets(&self) -> TetMesh {
        let mut tets = Vec::with_capacity(6 * self.hexes.len());
        for hex in &self.hexes {
            let lowest = hex.iter().copied().min().unwrap_or(0);
            for face in HEX_FACES.map(|f| f.map(|k| hex[k])) {
                if !face.contains(&lowest) {
                    // A corner and a face turned away from it make a positive tetrahedron.
                    tets.extend(quad_halves(&face).map(|[a, b, c]| [lowest, a, b, c]));
                }
            }
        }
        TetMesh { points: self.points.clone(), tets }
    }
}

/// The two triangles of a quadrilateral, cut from its corner of lowest number.
pub(crate) fn quad_halves(quad: &[u32; 4]) -> [[u32; 3]; 2] {
    let k = (0..4).min_by_key(|&k| quad[k]).unwrap_or(0);
    let q = |i: usize| quad[(k + i) % 4];
    [[q(0), q(1), q(2)], [q(0), q(2), q(3)]]
}
