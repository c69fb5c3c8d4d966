//! Points as combinations of other points: $x_c = \sum_k w_{ck}\,x_{p_{ck}}$, as a table.
//!
//! One row per child, rows behind each other in flat arrays. Rows whose weights sum to 1 follow every motion
//! $x \mapsto F x + t$ of their parents exactly.

use rayon::prelude::*;

use super::{HexLocator, HexMesh, Place, SurfaceLocator, SurfaceMesh, TetLocator, TetMesh};
use crate::math::Vec3;

/// Weights of parents, one row per child.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// Row c is `parents[starts[c]..starts[c + 1]]` and the same part of `weights`; one number more than rows.
    starts: Vec<u32>,
    parents: Vec<u32>,
    weights: Vec<f64>,
}

/// Why points cannot be embedded in a mesh.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EmbedError {
    /// A point that is not finite.
    #[error("point {point} at ({}, {}, {}) must be finite", .position[0], .position[1], .position[2])]
    NotFinite {
        /// Number of the point.
        point: usize,
        /// Its position \[m\].
        position: [f64; 3],
    },
    /// A mesh that has nothing to hold a point.
    #[error("point {point} finds no {element} with a size to lie in")]
    NoElement {
        /// Number of the point.
        point: usize,
        /// Kind of element.
        element: &'static str,
    },
}

impl Default for Weights {
    fn default() -> Self {
        Self { starts: vec![0], parents: Vec::new(), weights: Vec::new() }
    }
}

impl Weights {
    /// Adds a child with its parents and their weights.
    pub fn push(&mut self, row: impl IntoIterator<Item = (u32, f64)>) {
        for (parent, weight) in row {
            self.parents.push(parent);
            self.weights.push(weight);
        }
        self.starts.push(self.parents.len() as u32);
    }

    /// Number of children.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// True if there are no children.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Parents and weights of child `c`.
    #[inline]
    pub fn row(&self, c: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let range = self.starts[c] as usize..self.starts[c + 1] as usize;
        self.parents[range.clone()].iter().copied().zip(self.weights[range].iter().copied())
    }

    /// Highest number of a parent.
    pub fn last_parent(&self) -> Option<u32> {
        self.parents.iter().copied().max()
    }

    /// The same with parent i called `first` + i: from the numbers of a mesh to those of a model.
    #[must_use]
    pub fn offset(mut self, first: u32) -> Self {
        self.parents.iter_mut().for_each(|p| *p += first);
        self
    }

    /// Positions of the children when the parents are at `parents` \[m\].
    pub fn apply(&self, parents: &[Vec3]) -> Vec<Vec3> {
        (0..self.len()).map(|c| self.row(c).map(|(p, w)| w * parents[p as usize]).sum()).collect()
    }

    /// Each of `points` \[m\] in the tetrahedron that contains it or, outside, extrapolated from the nearest one.
    pub fn in_tets(mesh: &TetMesh, points: &[Vec3]) -> Result<Self, EmbedError> {
        let locator = TetLocator::new(mesh);
        Self::embed("tetrahedron", points, &mesh.tets, |p| locator.locate(p))
    }

    /// Each of `points` \[m\] in the hexahedron that contains it or, outside, extrapolated from the nearest one.
    pub fn in_hexes(mesh: &HexMesh, points: &[Vec3]) -> Result<Self, EmbedError> {
        let locator = HexLocator::new(mesh);
        Self::embed("hexahedron", points, &mesh.hexes, |p| locator.locate(p))
    }

    /// Each of `points` \[m\] at the nearest point of a surface: a point off the surface moves onto it.
    pub fn on_surface(mesh: &SurfaceMesh, points: &[Vec3]) -> Result<Self, EmbedError> {
        let locator = SurfaceLocator::new(mesh);
        Self::embed("triangle", points, &mesh.triangles, |p| locator.locate(p))
    }

    /// Each of `points` X \[m\] fixed in an affine body that is stored as four points, its origin z₀ and the columns of
    /// A: $x = z_0 + X_1 z_1 + X_2 z_2 + X_3 z_3$. Weights (1, X); here they do not sum to 1.
    pub fn affine(points: &[Vec3]) -> Self {
        let mut weights = Self::default();
        for X in points {
            weights.push([(0, 1.0), (1, X.x), (2, X.y), (3, X.z)]);
        }
        weights
    }

    fn embed<const N: usize>(
        element: &'static str,
        points: &[Vec3],
        elements: &[[u32; N]],
        locate: impl Fn(&Vec3) -> Option<Place<N>> + Send + Sync,
    ) -> Result<Self, EmbedError> {
        if let Some(point) = points.iter().position(|p| !p.iter().all(|x| x.is_finite())) {
            return Err(EmbedError::NotFinite { point, position: points[point].into() });
        }
        let places: Vec<Option<Place<N>>> = points.par_iter().map(locate).collect();
        let mut out = Self::default();
        for (point, place) in places.into_iter().enumerate() {
            let place = place.ok_or(EmbedError::NoElement { point, element })?;
            out.push(elements[place.element as usize].into_iter().zip(place.weights));
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Mat3, Random};

    #[test]
    fn embedded_points_follow_every_affine_motion() {
        let mut random = Random::new(4);
        let F = Mat3::from_fn(|_, _| random.between(-1.0, 1.0));
        let shift = Vec3::new(0.3, -0.2, 0.7);
        let motion = |p: &Vec3| F * p + shift;
        let hexes = HexMesh::ball(1.0, 3).unwrap();
        let tets = hexes.to_tets();
        let surface = tets.boundary().surface;
        // Somewhat beyond the solid as well.
        let points: Vec<Vec3> = (0..1000).map(|_| Vec3::from_fn(|_, _| random.between(-0.7, 0.7))).collect();
        let moved = |points: &[Vec3]| points.iter().map(motion).collect::<Vec<_>>();
        let apart = |a: &[Vec3], b: &[Vec3]| a.iter().zip(b).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        let in_tets = Weights::in_tets(&tets, &points).unwrap();
        assert!(apart(&in_tets.apply(&moved(&tets.points)), &moved(&points)) < 1e-13);
        let in_hexes = Weights::in_hexes(&hexes, &points).unwrap();
        assert!(apart(&in_hexes.apply(&moved(&hexes.points)), &moved(&points)) < 1e-13);
        let on = Weights::on_surface(&surface, &points).unwrap();
        let there = on.apply(&surface.points);
        let again = Weights::on_surface(&surface, &there).unwrap();
        assert!(apart(&again.apply(&moved(&surface.points)), &moved(&there)) < 1e-13);
        let affine = Weights::affine(&points);
        let z = [shift, F.column(0).into(), F.column(1).into(), F.column(2).into()];
        assert!(apart(&affine.apply(&z), &moved(&points)) < 1e-13);
    }

    #[test]
    fn bad_points_and_empty_meshes_are_refused() {
        let mesh = TetMesh::block(Vec3::repeat(1.0), [1, 1, 1]).unwrap();
        let bad = [Vec3::zeros(), Vec3::new(0.0, f64::NAN, 0.0)];
        assert!(matches!(Weights::in_tets(&mesh, &bad), Err(EmbedError::NotFinite { point: 1, .. })));
        let error = Weights::in_tets(&TetMesh::default(), &bad[..1]).unwrap_err();
        assert_eq!(error, EmbedError::NoElement { point: 0, element: "tetrahedron" });
    }
}
