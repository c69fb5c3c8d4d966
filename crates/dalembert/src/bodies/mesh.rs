//! Closed triangle meshes and the integrals over their inside.
//!
//! By the divergence theorem an integral over the inside of a closed surface is a sum over its triangles. Said
//! without fields: choose any apex o; triangle (a, b, c) and o span a tetrahedron with signed volume
//! $V = \tfrac16 (a-o)\cdot\big((b-o)\times(c-o)\big)$, positive where the triangle is seen from inside. Summed over
//! the surface, each point of the inside is counted once and each point outside zero times. For one tetrahedron with
//! corners 0, a, b, c and $s = a + b + c$
//!
//! $$ \int dV = V,\qquad \int p\,dV = \frac V4\,s,\qquad
//!    \int p\,p^T dV = \frac V{20}\big(a a^T + b b^T + c c^T + s s^T\big), $$
//!
//! the last from $\int\lambda_i\lambda_j\,dV = V(1 + \delta_{ij})/20$ for barycentric coordinates. With
//! $C = \int r r^T dV$ about the centre, the inertia per unit density is $\mathrm{tr}(C)\,\mathbf 1 - C$.

use super::MassProperties;
use crate::math::{Mat3, Vec3, outer};

/// A closed surface of triangles, oriented outwards: what stands here has passed the tests of [`TriangleMesh::new`].
#[derive(Debug, Clone, PartialEq)]
pub struct TriangleMesh {
    vertices: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
}

/// Why triangles do not enclose a solid. Numbers count from 0.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MeshError {
    /// Nothing there.
    #[error("the mesh has no triangles")]
    Empty,
    /// A coordinate that is not finite.
    #[error("vertex {vertex} at ({}, {}, {}) must be finite", .position[0], .position[1], .position[2])]
    NotFinite {
        /// Vertex.
        vertex: usize,
        /// Its position \[m\].
        position: [f64; 3],
    },
    /// A corner that does not exist.
    #[error("triangle {triangle} names vertex {vertex}, but the mesh has only {vertices} vertices")]
    OutOfRange {
        /// Triangle.
        triangle: usize,
        /// Named vertex.
        vertex: u32,
        /// Number of vertices.
        vertices: usize,
    },
    /// A corner named twice.
    #[error("triangle {triangle} names vertex {vertex} twice")]
    Repeated {
        /// Triangle.
        triangle: usize,
        /// The vertex.
        vertex: u32,
    },
    /// An edge with a triangle on one side only.
    #[error("the mesh is open: edge {}-{} of triangle {triangle} has no triangle on its other side", .edge[0], .edge[1])]
    Open {
        /// Vertices of the edge.
        edge: [u32; 2],
        /// The only triangle.
        triangle: usize,
    },
    /// Two neighbours that disagree about outside.
    #[error("triangles {} and {} run along edge {}-{} in the same direction: their orientations disagree",
        .triangles[0], .triangles[1], .edge[0], .edge[1])]
    Orientation {
        /// Vertices of the edge.
        edge: [u32; 2],
        /// The two triangles.
        triangles: [usize; 2],
    },
    /// An edge of more than two triangles.
    #[error("edge {}-{} belongs to {count} triangles ({first} is one of them); a solid has two at every edge",
        .edge[0], .edge[1])]
    Crowded {
        /// Vertices of the edge.
        edge: [u32; 2],
        /// Number of triangles.
        count: usize,
        /// The first of them.
        first: usize,
    },
    /// Oriented inwards.
    #[error(
        "the mesh is inside out: its volume is {volume} m³; reverse the order of the vertices of every triangle"
    )]
    InsideOut {
        /// Signed volume \[m³\].
        volume: f64,
    },
    /// Nothing inside.
    #[error("the mesh encloses no volume ({volume} m³)")]
    Flat {
        /// Signed volume \[m³\].
        volume: f64,
    },
}

impl TriangleMesh {
    /// A closed mesh: finite vertices \[m\], corners in range, every edge shared by two triangles that run along it in
    /// opposite directions, positive volume. Triangles are counter-clockwise seen from outside.
    pub fn new(vertices: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Result<Self, MeshError> {
        let mesh = Self { vertices, triangles };
        mesh.validate()?;
        Ok(mesh)
    }

    /// For surfaces of our own making.
    pub(crate) fn trusted(vertices: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Self {
        Self { vertices, triangles }
    }

    /// Vertices \[m\].
    pub fn vertices(&self) -> &[Vec3] {
        &self.vertices
    }

    /// Corners of the triangles, counter-clockwise seen from outside.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// The same solid seen through another order of corners: every triangle reversed, for a mesh that was refused
    /// as [`MeshError::InsideOut`].
    pub fn reversed(triangles: &[[u32; 3]]) -> Vec<[u32; 3]> {
        triangles.iter().map(|t| [t[0], t[2], t[1]]).collect()
    }

    fn validate(&self) -> Result<(), MeshError> {
        validate_corners(&self.vertices, &self.triangles)?;
        self.validate_edges()?;
        let volume = self.unit_mass_properties().mass;
        let (low, high) = self.extent();
        // Rounding of the sum of signed tetrahedra.
        let least = 1e-14 * (high - low).norm().powi(3);
        match volume {
            v if v < -least => Err(MeshError::InsideOut { volume }),
            v if v > least => Ok(()),
            _ => Err(MeshError::Flat { volume }),
        }
    }

    /// Every edge twice, in opposite directions: after sorting, equal edges stand side by side.
    fn validate_edges(&self) -> Result<(), MeshError> {
        // (low vertex, high vertex, runs from low to high, triangle)
        let mut edges: Vec<(u32, u32, bool, usize)> = Vec::with_capacity(3 * self.triangles.len());
        for (triangle, t) in self.triangles.iter().enumerate() {
            for k in 0..3 {
                let (a, b) = (t[k], t[(k + 1) % 3]);
                edges.push((a.min(b), a.max(b), a < b, triangle));
            }
        }
        edges.sort_unstable();
        for same in edges.chunk_by(|e, f| (e.0, e.1) == (f.0, f.1)) {
            let edge = [same[0].0, same[0].1];
            match same {
                [only] => return Err(MeshError::Open { edge, triangle: only.3 }),
                [a, b] if a.2 == b.2 => {
                    return Err(MeshError::Orientation { edge, triangles: [a.3, b.3] });
                }
                [_, _] => {}
                many => {
                    let first = many.iter().map(|e| e.3).min().unwrap_or(0);
                    return Err(MeshError::Crowded { edge, count: many.len(), first });
                }
            }
        }
        Ok(())
    }

    /// Lowest and highest coordinates over all vertices \[m\].
    pub(super) fn extent(&self) -> (Vec3, Vec3) {
        let start = (Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY));
        self.vertices.iter().fold(start, |(low, high), p| (low.inf(p), high.sup(p)))
    }

    /// Volume \[m³\] (as a mass), centre \[m\] and inertia about it \[m⁵\] at density 1.
    pub fn unit_mass_properties(&self) -> MassProperties {
        // An apex in the middle keeps a mesh far from the origin from cancelling.
        let (low, high) = self.extent();
        let apex = 0.5 * (low + high);
        let (mut volume, mut first, mut second) = (0.0, Vec3::zeros(), Mat3::zeros());
        for t in &self.triangles {
            let [a, b, c] = t.map(|i| self.vertices[i as usize] - apex);
            let V = a.dot(&b.cross(&c)) / 6.0;
            let s = a + b + c;
            volume += V;
            first += V / 4.0 * s;
            second += V / 20.0 * (outer(&a, &a) + outer(&b, &b) + outer(&c, &c) + outer(&s, &s));
        }
        let shift = first / volume;
        let C = second - volume * outer(&shift, &shift);
        MassProperties {
            mass: volume,
            center: apex + shift,
            inertia: Mat3::from_diagonal_element(C.trace()) - C,
        }
    }
}

/// Finite vertices, corners in range, none named twice.
pub(super) fn validate_corners(points: &[Vec3], triangles: &[[u32; 3]]) -> Result<(), MeshError> {
    if triangles.is_empty() {
        return Err(MeshError::Empty);
    }
    for (vertex, p) in points.iter().enumerate() {
        if !p.iter().all(|x| x.is_finite()) {
            return Err(MeshError::NotFinite { vertex, position: (*p).into() });
        }
    }
    let vertices = points.len();
    for (triangle, t) in triangles.iter().enumerate() {
        if let Some(&vertex) = t.iter().find(|&&v| v as usize >= vertices) {
            return Err(MeshError::OutOfRange { triangle, vertex, vertices });
        }
        for k in 0..3 {
            if t[k] == t[(k + 1) % 3] {
                return Err(MeshError::Repeated { triangle, vertex: t[k] });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bodies::Shape;
    use crate::math::rotation::{exp, matrix};

    fn tetrahedron() -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let vertices = vec![Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::z()];
        (vertices, vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    }

    #[test]
    fn a_box_of_triangles_is_a_box_even_far_away() {
        let size = Vec3::new(0.3, 2.0, 1.1);
        let shape = Shape::Box { size };
        let (surface, known) = (shape.triangles(), shape.unit_mass_properties().unwrap());
        let R = exp(&Vec3::new(0.2, -2.0, 0.6));
        let away = Vec3::new(100.0, -300.0, 50.0);
        let moved = surface.vertices().iter().map(|p| away + R * p).collect();
        let mesh = TriangleMesh::new(moved, surface.triangles().to_vec()).unwrap().unit_mass_properties();
        assert!((mesh.mass - known.mass).abs() < 1e-12);
        assert!((mesh.center - away).norm() < 1e-12);
        assert!((mesh.inertia - matrix(&R) * known.inertia * matrix(&R).transpose()).norm() < 1e-12);
    }

    #[test]
    fn the_corner_tetrahedron_has_its_known_integrals() {
        let (vertices, triangles) = tetrahedron();
        let t = TriangleMesh::new(vertices, triangles).unwrap().unit_mass_properties();
        assert!((t.mass - 1.0 / 6.0).abs() < 1e-16);
        assert!((t.center - Vec3::repeat(0.25)).norm() < 1e-15);
        // ∫ x² = 1/60, ∫ x y = 1/120 about the corner.
        let about = t.inertia_about(&Vec3::zeros());
        assert!((about[(0, 0)] - 2.0 / 60.0).abs() < 1e-16 && (about[(0, 1)] + 1.0 / 120.0).abs() < 1e-16);
    }

    #[test]
    fn broken_meshes_are_refused_with_the_culprit() {
        let (vertices, triangles) = tetrahedron();
        let build = |vertices: &[Vec3], triangles: &[[u32; 3]]| {
            TriangleMesh::new(vertices.to_vec(), triangles.to_vec()).unwrap_err()
        };
        assert_eq!(build(&vertices, &[]), MeshError::Empty);
        assert_eq!(
            build(&vertices, &[[0, 2, 7]]),
            MeshError::OutOfRange { triangle: 0, vertex: 7, vertices: 4 }
        );
        assert_eq!(build(&vertices, &[[0, 2, 2]]), MeshError::Repeated { triangle: 0, vertex: 2 });
        assert_eq!(build(&vertices, &triangles[..3]), MeshError::Open { edge: [1, 2], triangle: 0 });
        let mut one_turned = triangles.clone();
        one_turned[3] = [1, 3, 2];
        assert_eq!(build(&vertices, &one_turned), MeshError::Orientation { edge: [1, 2], triangles: [0, 3] });
        let mut twice = triangles.clone();
        twice.extend(&triangles);
        assert_eq!(build(&vertices, &twice), MeshError::Crowded { edge: [0, 1], count: 4, first: 0 });
        assert!(matches!(
            build(&vertices, &TriangleMesh::reversed(&triangles)),
            MeshError::InsideOut { volume } if volume < 0.0
        ));
        let mut flat = vertices.clone();
        flat[3] = Vec3::new(0.3, 0.3, 0.0);
        assert!(matches!(build(&flat, &triangles), MeshError::Flat { .. }));
        flat[3].z = f64::NAN;
        assert!(matches!(build(&flat, &triangles), MeshError::NotFinite { vertex: 3, .. }));
    }
}
