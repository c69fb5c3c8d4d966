//! Choosing points by where they are.
//!
//! Boundaries belong to a region; a region of touching size (a plane of thickness ε) asks for a tolerance, because
//! coordinates of generated and imported meshes are rounded.

use crate::math::Vec3;

/// A piece of space, or a list of points.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Region {
    /// Every point.
    #[default]
    All,
    /// No point.
    None,
    /// Points in an axis-parallel box.
    Box {
        /// Lowest coordinates \[m\]; −∞ for no limit.
        low: Vec3,
        /// Highest coordinates \[m\]; ∞ for no limit.
        high: Vec3,
    },
    /// Points on the side of a plane to which its normal points: n·(x − o) ≥ 0.
    HalfSpace {
        /// A point o of the plane \[m\].
        through: Vec3,
        /// Its normal n, of any length.
        normal: Vec3,
    },
    /// Points near a plane: |n·(x − o)| ≤ ε |n|.
    Plane {
        /// A point o of the plane \[m\].
        through: Vec3,
        /// Its normal n, of any length.
        normal: Vec3,
        /// Distance ε on either side \[m\].
        within: f64,
    },
    /// Points in a ball.
    Sphere {
        /// Centre \[m\].
        center: Vec3,
        /// Radius \[m\].
        radius: f64,
    },
    /// Points by their numbers; those beyond the last point choose nothing.
    Points(Vec<u32>),
    /// Points in every one of several regions.
    Intersection(Vec<Region>),
    /// Points in any of several regions.
    Union(Vec<Region>),
    /// Points outside a region.
    Outside(Box<Region>),
}

impl Region {
    /// The numbers of those of `points` \[m\] that lie in the region, rising.
    pub fn select(&self, points: &[Vec3]) -> Vec<u32> {
        match self {
            Region::Points(list) => {
                let mut list: Vec<u32> =
                    list.iter().copied().filter(|&i| (i as usize) < points.len()).collect();
                list.sort_unstable();
                list.dedup();
                list
            }
            _ => (0..points.len() as u32).filter(|&i| self.has(i, &points[i as usize])).collect(),
        }
    }

    /// True if point number `i` at `x` \[m\] lies in the region.
    pub fn has(&self, i: u32, x: &Vec3) -> bool {
        match self {
            Region::All => true,
            Region::None => false,
            Region::Box { low, high } => (0..3).all(|d| low[d] <= x[d] && x[d] <= high[d]),
            Region::HalfSpace { through, normal } => normal.dot(&(x - through)) >= 0.0,
            Region::Plane { through, normal, within } => {
                normal.dot(&(x - through)).abs() <= within * normal.norm()
            }
            Region::Sphere { center, radius } => (x - center).norm() <= *radius,
            Region::Points(list) => list.contains(&i),
            Region::Intersection(parts) => parts.iter().all(|part| part.has(i, x)),
            Region::Union(parts) => parts.iter().any(|part| part.has(i, x)),
            Region::Outside(part) => !part.has(i, x),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::HexMesh;

    #[test]
    fn regions_choose_the_points_that_lie_in_them() {
        // Nodes at −1, 0, 1 in each direction; number i + 3j + 9k.
        let points = HexMesh::block(Vec3::repeat(2.0), [2, 2, 2]).unwrap().points;
        let size = |region: Region| region.select(&points).len();
        assert_eq!((size(Region::All), size(Region::None)), (27, 0));
        let low = Vec3::new(f64::NEG_INFINITY, -1.0, 0.0);
        let boxed = Region::Box { low, high: Vec3::new(0.0, -1.0, f64::INFINITY) };
        assert_eq!(boxed.select(&points), [9, 10, 18, 19]);
        let (through, normal) = (Vec3::new(5.0, 5.0, 1.0), Vec3::new(0.0, 0.0, 7.0));
        let top = Region::Plane { through, normal, within: 1e-9 };
        assert_eq!(top.select(&points), (18..27).collect::<Vec<_>>());
        assert_eq!(size(Region::HalfSpace { through: Vec3::zeros(), normal }), 18);
        let ball = Region::Sphere { center: Vec3::zeros(), radius: 1.0 };
        assert_eq!(ball.select(&points), [4, 10, 12, 13, 14, 16, 22]);
        assert_eq!(Region::Points(vec![30, 4, 2, 4]).select(&points), [2, 4]);
        assert_eq!(Region::Intersection(vec![top.clone(), ball.clone()]).select(&points), [22]);
        assert_eq!(size(Region::Union(vec![top, ball.clone()])), 15);
        assert_eq!(size(Region::Outside(Box::new(ball))), 20);
    }
}
