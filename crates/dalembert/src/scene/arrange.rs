//! Generators: where the particles of a set lie, and which of them are neighbours.

use super::MOST_POINTS;
use crate::describe::short::*;
use crate::describe::{Kind, variants};
use crate::math::{Random, Vec3};

const fn count(min: i64) -> Kind {
    integer(min, MOST_POINTS as i64)
}

variants! {
    /// Where the particles of a set lie.
    pub enum Arrangement {
        /// Particles at equal distances on a straight line, both ends included.
        Chain: "chain", "A straight line of particles.", "chain" {
            /// First particle.
            from: Vec3 = REQUIRED, VEC3, "m";
            /// Last particle.
            to: Vec3 = REQUIRED, VEC3, "m";
            /// Number of particles.
            count: usize = REQUIRED, count(2), "";
        }
        /// A rectangular lattice centred on `position`; x runs fastest, then y, then z.
        Grid: "grid", "A rectangular lattice.", "grid" {
            /// Full lengths along x, y and z.
            size: Vec3 = REQUIRED, list(&NOT_NEGATIVE, 3, 3), "m";
            /// Particles along x, y and z.
            count: [usize; 3] = REQUIRED, list(const { &count(1) }, 3, 3), "";
        }
        /// A rectangular patch in the xy-plane centred on `position`, to be joined by springs; x runs fastest.
        Cloth: "cloth", "A rectangular patch.", "cloth_patch" {
            /// Full lengths along x and y.
            size: [f64; 2] = REQUIRED, list(&POSITIVE, 2, 2), "m";
            /// Particles along x and y.
            count: [usize; 2] = REQUIRED, list(const { &count(2) }, 2, 2), "";
        }
        /// Particles at random places, uniform in a box centred on `position`.
        Cloud: "cloud", "Random places in a box.", "cloud" {
            /// Full lengths of the box.
            size: Vec3 = REQUIRED, list(&NOT_NEGATIVE, 3, 3), "m";
            /// Number of particles.
            count: usize = REQUIRED, count(1), "";
            /// Seed of this cloud; if absent, the seed of the scene and the place of the cloud in it decide.
            seed: Option<u64> = OPTIONAL, Kind::COUNT, "";
        }
    }
    others {
        /// Given one by one.
        Positions(Vec<Vec3>),
    }
}

/// Which neighbours a set of springs joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Edges {
    /// Nearest neighbours along the lines of the arrangement.
    #[default]
    Structural,
    /// Diagonals of the squares of a grid or cloth.
    Shear,
    /// Every other neighbour along the lines: resists bending.
    Bend,
}

impl Edges {
    /// Names in scene files.
    pub const ALL: &'static [(&'static str, Edges)] =
        &[("structural", Edges::Structural), ("shear", Edges::Shear), ("bend", Edges::Bend)];

    /// From a particle to its neighbours, in particles along x, y, z.
    fn steps(self) -> &'static [[i64; 3]] {
        match self {
            Edges::Structural => &[[1, 0, 0], [0, 1, 0], [0, 0, 1]],
            Edges::Shear => &[[1, 1, 0], [1, -1, 0], [1, 0, 1], [1, 0, -1], [0, 1, 1], [0, 1, -1]],
            Edges::Bend => &[[2, 0, 0], [0, 2, 0], [0, 0, 2]],
        }
    }
}

impl Default for Arrangement {
    fn default() -> Self {
        Arrangement::Positions(vec![Vec3::zeros()])
    }
}

impl Arrangement {
    /// Number of particles.
    pub fn count(&self) -> usize {
        match self {
            Arrangement::Positions(x) => x.len(),
            Arrangement::Chain { count, .. } | Arrangement::Cloud { count, .. } => *count,
            Arrangement::Grid { count, .. } => count.iter().fold(1, |a, b| a.saturating_mul(*b)),
            Arrangement::Cloth { count, .. } => count[0].saturating_mul(count[1]),
        }
    }

    /// What is wrong with the numbers, if anything: the key and a sentence.
    pub(super) fn defect(&self) -> Option<(&'static str, String)> {
        let finite = |v: &Vec3| v.iter().all(|x| x.is_finite());
        match self {
            Arrangement::Positions(x) => {
                if x.is_empty() {
                    return Some(("positions", "a set needs at least one particle".into()));
                }
                x.iter().position(|v| !finite(v)).map(|i| {
                    ("positions", format!("position {i} is not finite: ({}, {}, {})", x[i].x, x[i].y, x[i].z))
                })
            }
            Arrangement::Chain { from, to, count } => {
                if *count < 2 {
                    Some(("chain", format!("a chain needs at least 2 particles, not {count}")))
                } else if !finite(from) || !finite(to) {
                    Some(("chain", "the ends must be finite".into()))
                } else if from == to {
                    Some(("chain", "both ends lie at the same place".into()))
                } else {
                    None
                }
            }
            Arrangement::Grid { size, count } => {
                if !finite(size) || size.iter().any(|&s| s < 0.0) {
                    Some((
                        "grid",
                        format!("the size ({}, {}, {}) must not be negative", size.x, size.y, size.z),
                    ))
                } else if count.contains(&0) {
                    Some(("grid", format!("the count {count:?} holds a zero")))
                } else {
                    (0..3).find(|&d| count[d] > 1 && size[d] == 0.0).map(|d| {
                        (
                            "grid",
                            format!(
                                "{} particles share a length of 0 m along {}",
                                count[d],
                                ["x", "y", "z"][d]
                            ),
                        )
                    })
                }
            }
            Arrangement::Cloth { size, count } => {
                if size.iter().any(|s| !s.is_finite() || *s <= 0.0) {
                    Some(("cloth", format!("the size {size:?} must be positive")))
                } else if count.iter().any(|&n| n < 2) {
                    Some(("cloth", format!("the count {count:?} must be at least 2 each way")))
                } else {
                    None
                }
            }
            Arrangement::Cloud { size, count, .. } => {
                if *count == 0 {
                    Some(("cloud", "a cloud needs at least one particle".into()))
                } else if !finite(size) || size.iter().any(|&s| s < 0.0) {
                    Some((
                        "cloud",
                        format!("the size ({}, {}, {}) must not be negative", size.x, size.y, size.z),
                    ))
                } else {
                    None
                }
            }
        }
    }

    /// Positions \[m\] before the set's own offset.
    pub fn positions(&self, default_seed: u64) -> Vec<Vec3> {
        let along = |n: usize, i: usize| if n > 1 { i as f64 / (n - 1) as f64 - 0.5 } else { 0.0 };
        match self {
            Arrangement::Positions(x) => x.clone(),
            Arrangement::Chain { from, to, count } => {
                (0..*count).map(|i| from + (to - from) * (i as f64 / (*count - 1) as f64)).collect()
            }
            Arrangement::Grid { size, count: [nx, ny, nz] } => (0..nx * ny * nz)
                .map(|i| {
                    let (a, b, c) = (i % nx, i / nx % ny, i / (nx * ny));
                    Vec3::new(size.x * along(*nx, a), size.y * along(*ny, b), size.z * along(*nz, c))
                })
                .collect(),
            Arrangement::Cloth { size, count: [nx, ny] } => (0..nx * ny)
                .map(|i| Vec3::new(size[0] * along(*nx, i % nx), size[1] * along(*ny, i / nx), 0.0))
                .collect(),
            Arrangement::Cloud { size, count, seed } => {
                let mut random = Random::new(seed.unwrap_or(default_seed));
                let mut one = || Vec3::new(random.unit() - 0.5, random.unit() - 0.5, random.unit() - 0.5);
                (0..*count).map(|_| one().component_mul(size)).collect()
            }
        }
    }

    /// Number of particles along each line of the lattice, if the arrangement has lines.
    fn lattice(&self) -> Option<[usize; 3]> {
        match self {
            Arrangement::Positions(x) => Some([x.len(), 1, 1]),
            Arrangement::Chain { count, .. } => Some([*count, 1, 1]),
            Arrangement::Grid { count, .. } => Some(*count),
            Arrangement::Cloth { count, .. } => Some([count[0], count[1], 1]),
            Arrangement::Cloud { .. } => None,
        }
    }

    /// How many pairs of neighbours there are, without making them.
    pub(super) fn edge_count(&self, kind: Edges) -> usize {
        let Some(n) = self.lattice() else { return 0 };
        let places = |step: &[i64; 3]| {
            (0..3)
                .map(|d| n[d].saturating_sub(step[d].unsigned_abs() as usize))
                .fold(1, usize::saturating_mul)
        };
        kind.steps().iter().map(places).fold(0, usize::saturating_add)
    }

    /// Pairs of neighbours; none for a cloud.
    pub fn edges(&self, kind: Edges) -> Vec<[usize; 2]> {
        let Some(n) = self.lattice() else { return Vec::new() };
        let steps = kind.steps();
        let mut out = Vec::new();
        for i in 0..n[0] * n[1] * n[2] {
            let at = [i % n[0], i / n[0] % n[1], i / (n[0] * n[1])];
            for s in steps {
                let to = [0, 1, 2].map(|d| at[d] as i64 + s[d]);
                if (0..3).all(|d| to[d] >= 0 && to[d] < n[d] as i64) {
                    out.push([i, (to[0] + to[1] * n[0] as i64 + to[2] * (n[0] * n[1]) as i64) as usize]);
                }
            }
        }
        out
    }

    /// Triples of successive particles along the lines; none for a cloud.
    pub fn corners(&self) -> Vec<[usize; 3]> {
        self.edges(Edges::Bend).into_iter().map(|[a, c]| [a, (a + c) / 2, c]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lattice_has_the_edges_that_counting_gives() {
        let grid = Arrangement::Grid { size: Vec3::new(3.0, 2.0, 1.0), count: [4, 3, 2] };
        assert_eq!(grid.positions(0).len(), 24);
        assert_eq!(grid.edges(Edges::Structural).len(), 3 * 3 * 2 + 4 * 2 * 2 + 4 * 3);
        assert_eq!(grid.edges(Edges::Shear).len(), 2 * (3 * 2 * 2 + 3 * 3 + 4 * 2));
        assert_eq!(grid.edges(Edges::Bend).len(), 2 * 3 * 2 + 4 * 2);
        for kind in [Edges::Structural, Edges::Shear, Edges::Bend] {
            assert_eq!(grid.edges(kind).len(), grid.edge_count(kind));
        }
        let x = grid.positions(0);
        for [a, b] in grid.edges(Edges::Structural) {
            assert!(((x[a] - x[b]).norm() - 1.0).abs() < 1e-12);
        }
        for [a, b, c] in grid.corners() {
            assert!((x[a] + x[c] - 2.0 * x[b]).norm() < 1e-12);
        }
        let chain = Arrangement::Chain { from: Vec3::zeros(), to: Vec3::x(), count: 5 };
        assert_eq!(chain.edges(Edges::Structural).len(), 4);
        assert!(chain.edges(Edges::Shear).is_empty());
    }

    #[test]
    fn a_cloud_fills_its_box_and_repeats_itself() {
        let cloud = Arrangement::Cloud { size: Vec3::new(2.0, 4.0, 6.0), count: 2000, seed: Some(7) };
        let x = cloud.positions(0);
        assert_eq!(x, cloud.positions(1));
        let most = x.iter().fold(Vec3::zeros(), |m, v| m.sup(&v.abs()));
        assert!(most.x < 1.0 && most.y < 2.0 && most.z < 3.0 && most.x > 0.98 && most.z > 2.95);
        assert!(cloud.edges(Edges::Structural).is_empty());
    }
}
