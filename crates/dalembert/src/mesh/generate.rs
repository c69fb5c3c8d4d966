//! Meshes of simple solids, sheets and rods, centred at the origin.
//!
//! A block is a lattice. A round solid has a core, a bulged square or cube, whose outer faces are carried outwards in
//! layers until they lie on the round surface (an "O-grid"): no element has its edges flattened as it would by
//! blowing a cube up to a ball. Round surfaces are inscribed, so volumes come out low by a part that shrinks with the
//! square of the element size.

use std::f64::consts::{FRAC_PI_4, TAU};

use super::{HexMesh, SegmentMesh, SurfaceMesh, TetMesh};
use crate::math::Vec3;

/// A generator refuses to make more nodes than this.
pub const MOST_NODES: usize = 1 << 24;

/// Why a mesh cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GenerateError {
    /// A length that is not a positive number.
    #[error("{what} is {value} m; it must be positive and finite")]
    Size {
        /// Which length.
        what: &'static str,
        /// Its value \[m\].
        value: f64,
    },
    /// Too few cells.
    #[error("{what} is {value}; it must be at least {least}")]
    Count {
        /// Which count.
        what: &'static str,
        /// Its value.
        value: usize,
        /// The least that works.
        least: usize,
    },
    /// More nodes than a generator makes.
    #[error("the mesh would have about {nodes:e} nodes; at most {MOST_NODES} are made: ask for fewer cells")]
    TooMany {
        /// Number of nodes.
        nodes: f64,
    },
    /// A tube as thick as its ring.
    #[error("the tube's radius {tube} m must be below the ring's radius {ring} m")]
    Thick {
        /// Radius of the tube \[m\].
        tube: f64,
        /// Radius of the ring \[m\].
        ring: f64,
    },
}

/// How the squares of a grid are cut into triangles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Diagonals {
    /// All from lower left to upper right.
    #[default]
    Same,
    /// Turned from square to square, like a chess board: the sheet prefers no diagonal direction.
    Alternating,
}

fn positive(what: &'static str, value: f64) -> Result<(), GenerateError> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(GenerateError::Size { what, value }) }
}

fn at_least(least: usize, what: &'static str, value: usize) -> Result<(), GenerateError> {
    if value >= least { Ok(()) } else { Err(GenerateError::Count { what, value, least }) }
}

fn not_too_many(nodes: f64) -> Result<(), GenerateError> {
    if nodes <= MOST_NODES as f64 { Ok(()) } else { Err(GenerateError::TooMany { nodes }) }
}

/// Number of lattice node (i, j, k) where `n` cells lie along each axis; x runs fastest.
fn lattice(n: &[usize; 3], i: usize, j: usize, k: usize) -> u32 {
    (i + (n[0] + 1) * (j + (n[1] + 1) * k)) as u32
}

/// A fraction of 0 … n as a place between −1 and 1, ends exact.
fn between_ends(i: usize, n: usize) -> f64 {
    (2.0 * i as f64 - n as f64) / n as f64
}

/// The six tetrahedra of a cube: four around the diagonal 0–6 and the corners at 2 and 4 (as in SOFA).
const CUBE_TETS: [[usize; 4]; 6] =
    [[0, 5, 1, 6], [0, 1, 3, 6], [1, 3, 6, 2], [6, 3, 0, 7], [6, 7, 0, 5], [7, 5, 4, 0]];

impl HexMesh {
    /// A block of `size` \[m\] with `cells` hexahedra along each axis. Node (i, j, k) has the number
    /// i + (nx + 1)(j + (ny + 1) k).
    pub fn block(size: Vec3, cells: [usize; 3]) -> Result<Self, GenerateError> {
        for (d, what) in
            ["x size of the block", "y size of the block", "z size of the block"].iter().enumerate()
        {
            positive(what, size[d])?;
        }
        for (d, what) in ["number of cells along x", "number of cells along y", "number of cells along z"]
            .iter()
            .enumerate()
        {
            at_least(1, what, cells[d])?;
        }
        not_too_many(cells.iter().map(|&n| n as f64 + 1.0).product())?;
        let n = cells;
        let mut points = Vec::with_capacity((n[0] + 1) * (n[1] + 1) * (n[2] + 1));
        let mut hexes = Vec::with_capacity(n[0] * n[1] * n[2]);
        for k in 0..=n[2] {
            for j in 0..=n[1] {
                for i in 0..=n[0] {
                    let unit = Vec3::new(between_ends(i, n[0]), between_ends(j, n[1]), between_ends(k, n[2]));
                    points.push(0.5 * unit.component_mul(&size));
                }
            }
        }
        for k in 0..n[2] {
            for j in 0..n[1] {
                for i in 0..n[0] {
                    hexes.push(cube(&n, i, j, k));
                }
            }
        }
        Ok(Self { points, hexes })
    }

    /// A cylinder along z of `radius` and `length` \[m\]: `across` cells along each side of its square core, half as
    /// many (at least one) layers around it, `along` cells along z.
    pub fn cylinder(radius: f64, length: f64, across: usize, along: usize) -> Result<Self, GenerateError> {
        positive("radius of the cylinder", radius)?;
        positive("length of the cylinder", length)?;
        at_least(1, "number of cells along the cylinder", along)?;
        let disc = Disc::new(across, along as f64 + 1.0)?;
        let mut points = Vec::with_capacity(disc.points.len() * (along + 1));
        for k in 0..=along {
            let z = 0.5 * length * between_ends(k, along);
            points.extend(disc.points.iter().map(|[x, y]| Vec3::new(radius * x, radius * y, z)));
        }
        Ok(Self { points, hexes: disc.stacked(along, false) })
    }

    /// A ball of `radius` \[m\]: `across` cells along each edge of its cubic core, half as many (at least one) layers
    /// around it.
    pub fn ball(radius: f64, across: usize) -> Result<Self, GenerateError> {
        positive("radius of the ball", radius)?;
        at_least(1, "number of cells across the ball's core", across)?;
        let (n, layers) = (across, across.div_ceil(2));
        let side = n as f64 + 1.0;
        not_too_many(side.powi(3) + 6.0 * side * side * layers as f64)?;
        let mut mesh = Self::block(Vec3::repeat(2.0), [n; 3])?;
        let core = mesh.points.len();
        // Faces of the core, turned outwards; their nodes get one more node per layer.
        let faces = super::outer_quads(&mesh.hexes);
        let mut shell = vec![u32::MAX; core];
        let mut on_shell = Vec::new();
        for &i in faces.iter().flatten() {
            if shell[i as usize] == u32::MAX {
                shell[i as usize] = on_shell.len() as u32;
                on_shell.push(i);
            }
        }
        let directions: Vec<Vec3> =
            on_shell.iter().map(|&i| even(&mesh.points[i as usize]).normalize()).collect();
        for p in &mut mesh.points {
            *p = radius * CORE * bulged(&even(p));
        }
        let node = |i: u32, layer: usize| match layer {
            0 => i,
            _ => (core + (layer - 1) * on_shell.len()) as u32 + shell[i as usize],
        };
        for layer in 1..=layers {
            let s = layer as f64 / layers as f64;
            for (i, direction) in on_shell.iter().zip(&directions) {
                let inner = mesh.points[*i as usize];
                mesh.points.push(inner + s * (radius * direction - inner));
            }
            for face in &faces {
                let [a, b, c, d] = face.map(|i| node(i, layer - 1));
                let [e, f, g, h] = face.map(|i| node(i, layer));
                mesh.hexes.push([a, b, c, d, e, f, g, h]);
            }
        }
        Ok(mesh)
    }

    /// A torus around z: `ring` \[m\] from the axis to the middle of a tube of radius `tube` \[m\]; `across` cells along
    /// each side of the tube's square core, half as many (at least one) layers around it, `around` cells along the
    /// ring.
    pub fn torus(ring: f64, tube: f64, across: usize, around: usize) -> Result<Self, GenerateError> {
        positive("radius of the torus's ring", ring)?;
        positive("radius of the torus's tube", tube)?;
        if tube >= ring {
            return Err(GenerateError::Thick { tube, ring });
        }
        at_least(3, "number of cells around the torus", around)?;
        let disc = Disc::new(across, around as f64)?;
        let mut points = Vec::with_capacity(disc.points.len() * around);
        for k in 0..around {
            // The disc's x points away from the axis and its y down, so that x, y and the way around are right-handed.
            let (s, c) = (TAU * k as f64 / around as f64).sin_cos();
            points.extend(disc.points.iter().map(|[x, y]| {
                let r = ring + tube * x;
                Vec3::new(r * c, r * s, -tube * y)
            }));
        }
        Ok(Self { points, hexes: disc.stacked(around, true) })
    }
}

impl TetMesh {
    /// A block of `size` \[m\] with `cells` cubes along each axis, six tetrahedra each; nodes numbered as in
    /// [`HexMesh::block`]. Every other cube is mirrored, so the block prefers no diagonal direction.
    pub fn block(size: Vec3, cells: [usize; 3]) -> Result<Self, GenerateError> {
        let hexes = HexMesh::block(size, cells)?;
        let mut tets = Vec::with_capacity(6 * hexes.hexes.len());
        for (number, hex) in hexes.hexes.iter().enumerate() {
            let [i, j, k] = [number % cells[0], number / cells[0] % cells[1], number / cells[0] / cells[1]];
            let mut h = *hex;
            let mirrors: [(bool, [(usize, usize); 4]); 3] = [
                (i % 2 == 0, [(0, 1), (3, 2), (4, 5), (7, 6)]),
                (j % 2 == 1, [(0, 3), (1, 2), (4, 7), (5, 6)]),
                (k % 2 == 1, [(0, 4), (1, 5), (2, 6), (3, 7)]),
            ];
            let mut inverted = false;
            for (mirrored, swaps) in mirrors {
                if mirrored {
                    swaps.iter().for_each(|&(a, b)| h.swap(a, b));
                    inverted = !inverted;
                }
            }
            tets.extend(CUBE_TETS.map(|t| {
                let [a, b, c, d] = t.map(|corner| h[corner]);
                if inverted { [a, b, d, c] } else { [a, b, c, d] }
            }));
        }
        Ok(Self { points: hexes.points, tets })
    }

    /// [`HexMesh::cylinder`] in tetrahedra.
    pub fn cylinder(radius: f64, length: f64, across: usize, along: usize) -> Result<Self, GenerateError> {
        Ok(HexMesh::cylinder(radius, length, across, along)?.to_tets())
    }

    /// [`HexMesh::ball`] in tetrahedra.
    pub fn ball(radius: f64, across: usize) -> Result<Self, GenerateError> {
        Ok(HexMesh::ball(radius, across)?.to_tets())
    }

    /// [`HexMesh::torus`] in tetrahedra.
    pub fn torus(ring: f64, tube: f64, across: usize, around: usize) -> Result<Self, GenerateError> {
        Ok(HexMesh::torus(ring, tube, across, around)?.to_tets())
    }
}

impl SurfaceMesh {
    /// A sheet in the plane z = 0, `size` \[m\] along x and y, with `cells` squares along each, two triangles per
    /// square; its upper side counts as outside. Node (i, j) has the number i + (nx + 1) j.
    pub fn grid(size: [f64; 2], cells: [usize; 2], diagonals: Diagonals) -> Result<Self, GenerateError> {
        positive("x size of the grid", size[0])?;
        positive("y size of the grid", size[1])?;
        at_least(1, "number of cells along x", cells[0])?;
        at_least(1, "number of cells along y", cells[1])?;
        let n = cells;
        not_too_many((n[0] as f64 + 1.0) * (n[1] as f64 + 1.0))?;
        let mut points = Vec::with_capacity((n[0] + 1) * (n[1] + 1));
        let mut triangles = Vec::with_capacity(2 * n[0] * n[1]);
        for j in 0..=n[1] {
            for i in 0..=n[0] {
                let (x, y) = (0.5 * size[0] * between_ends(i, n[0]), 0.5 * size[1] * between_ends(j, n[1]));
                points.push(Vec3::new(x, y, 0.0));
            }
        }
        let node = |i: usize, j: usize| (i + (n[0] + 1) * j) as u32;
        for j in 0..n[1] {
            for i in 0..n[0] {
                let [a, b, c, d] = [node(i, j), node(i + 1, j), node(i + 1, j + 1), node(i, j + 1)];
                if diagonals == Diagonals::Alternating && (i + j) % 2 == 1 {
                    triangles.extend([[a, b, d], [b, c, d]]);
                } else {
                    triangles.extend([[a, b, c], [a, c, d]]);
                }
            }
        }
        Ok(Self { points, triangles })
    }
}

impl SegmentMesh {
    /// A straight rod between two points \[m\] in `cells` equal segments.
    pub fn rod(from: Vec3, to: Vec3, cells: usize) -> Result<Self, GenerateError> {
        positive("length of the rod", (to - from).norm())?;
        at_least(1, "number of segments", cells)?;
        not_too_many(cells as f64 + 1.0)?;
        let at = |i: usize| if i == cells { to } else { from + (to - from) * (i as f64 / cells as f64) };
        let points = (0..=cells).map(at).collect();
        Ok(Self { points, segments: (0..cells as u32).map(|i| [i, i + 1]).collect() })
    }
}

fn cube(n: &[usize; 3], i: usize, j: usize, k: usize) -> [u32; 8] {
    let at = |di: usize, dj: usize, dk: usize| lattice(n, i + di, j + dj, k + dk);
    [at(0, 0, 0), at(1, 0, 0), at(1, 1, 0), at(0, 1, 0), at(0, 0, 1), at(1, 0, 1), at(1, 1, 1), at(0, 1, 1)]
}

/// Half the width of a core, as a part of the radius.
const CORE: f64 = 0.55;

/// A place of \[−1, 1\]³ moved so that equal steps along an outer edge are equal angles from the middle.
fn even(p: &Vec3) -> Vec3 {
    p.map(|t| (FRAC_PI_4 * t).tan())
}

/// Half way between a cube and the ball (a square and the disc) inside it.
fn bulged(p: &Vec3) -> Vec3 {
    let length = p.norm();
    if length == 0.0 { *p } else { 0.5 * (p + p * (p.amax() / length)) }
}

/// A disc of radius 1 in quadrilaterals, counter-clockwise.
struct Disc {
    points: Vec<[f64; 2]>,
    quads: Vec<[u32; 4]>,
}

impl Disc {
    /// With `across` cells along each side of its core and half as many layers; of which `copies` will be made.
    fn new(across: usize, copies: f64) -> Result<Self, GenerateError> {
        at_least(1, "number of cells across the core", across)?;
        let (n, layers) = (across, across.div_ceil(2));
        let side = n as f64 + 1.0;
        not_too_many((side * side + 4.0 * n as f64 * layers as f64) * copies)?;
        let mut places = Vec::new();
        for j in 0..=n {
            for i in 0..=n {
                places.push(even(&Vec3::new(between_ends(i, n), between_ends(j, n), 0.0)));
            }
        }
        let node = |i: usize, j: usize| (i + (n + 1) * j) as u32;
        let mut quads = Vec::new();
        for j in 0..n {
            for i in 0..n {
                quads.push([node(i, j), node(i + 1, j), node(i + 1, j + 1), node(i, j + 1)]);
            }
        }
        // Around the core, counter-clockwise.
        let mut rim: Vec<u32> = (0..n).map(|i| node(i, 0)).collect();
        rim.extend((0..n).map(|j| node(n, j)));
        rim.extend((0..n).map(|i| node(n - i, n)));
        rim.extend((0..n).map(|j| node(0, n - j)));
        let core: Vec<Vec3> = places.iter().map(|p| CORE * bulged(p)).collect();
        let mut points: Vec<[f64; 2]> = core.iter().map(|p| [p.x, p.y]).collect();
        let first = points.len() as u32;
        let around = rim.len() as u32;
        let at = |k: u32, layer: usize| match layer {
            0 => rim[(k % around) as usize],
            _ => first + around * (layer as u32 - 1) + k % around,
        };
        for layer in 1..=layers {
            let s = layer as f64 / layers as f64;
            for &i in &rim {
                let (inner, outer) = (core[i as usize], places[i as usize].normalize());
                let p = inner + s * (outer - inner);
                points.push([p.x, p.y]);
            }
            for k in 0..around {
                quads.push([at(k, layer - 1), at(k, layer), at(k + 1, layer), at(k + 1, layer - 1)]);
            }
        }
        Ok(Self { points, quads })
    }

    /// `cells` layers of hexahedra over copies of the disc, the last copy being the first one if `closed`.
    fn stacked(&self, cells: usize, closed: bool) -> Vec<[u32; 8]> {
        let copies = if closed { cells } else { cells + 1 };
        let mut hexes = Vec::with_capacity(self.quads.len() * cells);
        for k in 0..cells {
            let [low, high] = [k, (k + 1) % copies].map(|k| (k * self.points.len()) as u32);
            hexes.extend(self.quads.iter().map(|q| {
                let corner = |i: usize| if i < 4 { low + q[i] } else { high + q[i - 4] };
                std::array::from_fn(corner)
            }));
        }
        hexes
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;
    use crate::mesh::{HEX_CORNERS, TET_FACES, corners, hex_jacobian, tet_volume, triangle_area};

    /// Every face lies between two tetrahedra that see it from opposite sides, or is on the outside.
    fn outside_faces(mesh: &TetMesh) -> usize {
        let mut faces = Vec::new();
        for t in &mesh.tets {
            for f in TET_FACES.map(|f| f.map(|k| t[k])) {
                let mut sorted = f;
                sorted.sort_unstable();
                let turns = [f, [f[1], f[2], f[0]], [f[2], f[0], f[1]]].contains(&sorted);
                faces.push((sorted, turns));
            }
        }
        faces.sort_unstable();
        let mut outside = 0;
        for same in faces.chunk_by(|a, b| a.0 == b.0) {
            match same {
                [_] => outside += 1,
                [a, b] => assert_ne!(a.1, b.1, "face {:?} is seen twice from the same side", a.0),
                _ => panic!("face {:?} has {} tetrahedra", same[0].0, same.len()),
            }
        }
        outside
    }

    #[test]
    fn blocks_have_their_volume_and_matching_faces() {
        let size = Vec3::new(0.3, 2.0, 1.1);
        for cells in [[1, 1, 1], [2, 1, 1], [3, 2, 4], [2, 3, 3]] {
            let (hexes, tets) = (HexMesh::block(size, cells).unwrap(), TetMesh::block(size, cells).unwrap());
            assert!((hexes.volume() - size.product()).abs() < 1e-14);
            assert!((tets.volume() - size.product()).abs() < 1e-14);
            assert!(tets.tets.iter().all(|t| tet_volume(&corners(&tets.points, t)) > 0.0));
            let [x, y, z] = cells;
            for mesh in [&tets, &hexes.to_tets()] {
                assert!(mesh.tets.iter().all(|t| tet_volume(&corners(&mesh.points, t)) > 0.0));
                assert_eq!(outside_faces(mesh), 4 * (x * y + y * z + z * x), "{cells:?}");
                assert_eq!(mesh.tets.len(), 6 * x * y * z);
            }
        }
    }

    #[test]
    fn round_solids_converge_with_the_square_of_the_size() {
        let known = [PI * 0.09 * 2.0, 4.0 / 3.0 * PI * 0.027, 2.0 * PI * PI * 0.7 * 0.04];
        let make = |n: usize| {
            [
                HexMesh::cylinder(0.3, 2.0, n, 3).unwrap(),
                HexMesh::ball(0.3, n).unwrap(),
                HexMesh::torus(0.7, 0.2, n, 12 * n).unwrap(),
            ]
        };
        let (coarse, fine) = (make(4), make(8));
        for k in 0..3 {
            let lost = |m: &HexMesh| 1.0 - m.volume() / known[k];
            let (a, b) = (lost(&coarse[k]), lost(&fine[k]));
            assert!(b > 0.0 && b < 0.02, "solid {k} lacks {b}");
            assert!((3.5..4.5).contains(&(a / b)), "solid {k}: {a} then {b}");
        }
    }

    #[test]
    fn round_solids_have_good_elements_and_matching_faces() {
        for n in [1, 2, 3, 6] {
            for mesh in [
                HexMesh::cylinder(0.3, 2.0, n, 3).unwrap(),
                HexMesh::ball(0.3, n).unwrap(),
                HexMesh::torus(0.7, 0.2, n, 12).unwrap(),
            ] {
                for h in &mesh.hexes {
                    let x = corners(&mesh.points, h);
                    for s in HEX_CORNERS {
                        let J = hex_jacobian(&x, &Vec3::from(s));
                        let lengths: f64 = J.column_iter().map(|c| c.norm()).product();
                        assert!(J.determinant() > 0.3 * lengths, "corner {}", J.determinant() / lengths);
                    }
                }
                let tets = mesh.to_tets();
                assert!(outside_faces(&tets) > 0);
                assert!(tets.tets.iter().all(|t| tet_volume(&corners(&tets.points, t)) > 0.0));
                let worst = (tets.volume() / mesh.volume() - 1.0).abs();
                assert!(worst < 0.15, "n = {n}: {worst}");
            }
        }
    }

    #[test]
    fn a_grid_and_a_rod_have_their_size() {
        for diagonals in [Diagonals::Same, Diagonals::Alternating] {
            let sheet = SurfaceMesh::grid([2.0, 0.6], [5, 4], diagonals).unwrap();
            assert_eq!((sheet.points.len(), sheet.triangles.len()), (30, 40));
            assert!((sheet.area() - 1.2).abs() < 1e-15);
            for t in &sheet.triangles {
                let x = corners(&sheet.points, t);
                assert!((x[1] - x[0]).cross(&(x[2] - x[0])).z > 0.0);
                assert!((triangle_area(&x) - 0.03).abs() < 1e-15);
            }
        }
        let rod = SegmentMesh::rod(Vec3::x(), Vec3::new(1.0, 3.0, 4.0), 7).unwrap();
        assert!((rod.length() - 5.0).abs() < 1e-14 && rod.points.len() == 8);
    }

    #[test]
    fn middles_lie_between_their_corners_and_are_shared() {
        let mesh = TetMesh::block(Vec3::repeat(1.0), [2, 2, 2]).unwrap();
        let quadratic = mesh.quadratic();
        // Euler: nodes − edges + faces − tets = 1.
        let faces = (4 * mesh.tets.len() + outside_faces(&mesh)) / 2;
        let edges = mesh.points.len() + faces - mesh.tets.len() - 1;
        assert_eq!(quadratic.points.len(), mesh.points.len() + edges);
        for t in &quadratic.tets {
            for (k, [a, b]) in crate::mesh::TET_EDGES.iter().enumerate() {
                let x = |i: usize| quadratic.points[t[i] as usize];
                assert_eq!(x(4 + k), 0.5 * (x(*a) + x(*b)));
            }
        }
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        let huge = usize::MAX / 2;
        assert!(matches!(
            TetMesh::block(Vec3::repeat(1.0), [huge, huge, 1]),
            Err(GenerateError::TooMany { .. })
        ));
        assert!(matches!(HexMesh::ball(1.0, huge), Err(GenerateError::TooMany { .. })));
        assert!(matches!(HexMesh::torus(1.0, 0.1, 1, huge), Err(GenerateError::TooMany { .. })));
        assert!(matches!(SegmentMesh::rod(Vec3::x(), Vec3::y(), huge), Err(GenerateError::TooMany { .. })));
        let error = TetMesh::block(Vec3::new(1.0, -1.0, 1.0), [1, 1, 1]).unwrap_err();
        assert_eq!(error.to_string(), "y size of the block is -1 m; it must be positive and finite");
        let error = TetMesh::block(Vec3::repeat(1.0), [1, 0, 1]).unwrap_err();
        assert_eq!(error.to_string(), "number of cells along y is 0; it must be at least 1");
        assert!(HexMesh::torus(0.1, 0.2, 1, 9).is_err() && HexMesh::cylinder(f64::NAN, 1.0, 1, 1).is_err());
        assert!(SurfaceMesh::grid([1.0, f64::INFINITY], [1, 1], Diagonals::Same).is_err());
    }
}
