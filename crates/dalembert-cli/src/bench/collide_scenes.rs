//! Contact scenes of known make: surfaces a fraction of a gap apart, and a step that brings them together.
//!
//! `benches/peers/ipctk/scenes.py` makes the same ones, number by number, for the peer.

use dalembert::collide::{BodyGeometry, Surface, VertexMap};
use dalembert::math::Vec3;

/// Positions, triangles and the proposed step of several bodies.
pub(super) struct ContactScene {
    pub(super) name: &'static str,
    pub(super) parts: Vec<Part>,
    /// Gap at which contacts begin [m].
    pub(super) gap_max: f64,
    /// Do bodies touch themselves?
    pub(super) self_contact: bool,
}

/// One body.
pub(super) struct Part {
    pub(super) x: Vec<Vec3>,
    pub(super) moved: Vec<Vec3>,
    pub(super) triangles: Vec<[u32; 3]>,
}

impl ContactScene {
    /// First and proposed positions of all vertices.
    pub(super) fn positions(&self) -> (Vec<Vec3>, Vec<Vec3>) {
        let all = |pick: fn(&Part) -> &Vec<Vec3>| self.parts.iter().flat_map(|p| pick(p).clone()).collect();
        (all(|p| &p.x), all(|p| &p.moved))
    }

    /// The surface with every vertex a block of its own, or with every body affine; and the number of blocks.
    pub(super) fn surface(&self, affine: bool) -> (Surface, usize) {
        let (mut surface, mut block) = (Surface::default(), 0);
        for part in &self.parts {
            let maps: Vec<VertexMap> = if affine {
                part.x.iter().map(|x| VertexMap::affine(block, x)).collect()
            } else {
                (0..part.x.len() as u32).map(|i| VertexMap::point(block + i)).collect()
            };
            block += if affine { 4 } else { part.x.len() as u32 };
            let body = BodyGeometry {
                maps: &maps,
                triangles: &part.triangles,
                self_contact: self.self_contact,
                ..Default::default()
            };
            if let Err(error) = surface.add(&body) {
                unreachable!("a scene of ours is refused: {error}");
            }
        }
        (surface, block as usize)
    }
}

/// All of them.
pub(super) fn all() -> [ContactScene; 3] {
    [cube_pile(5), ball_in_socket(4), cloth_on_sphere(60)]
}

/// n³ unit cubes half a gap apart, each turned by about a thousandth, drawn together.
pub(super) fn cube_pile(n: usize) -> ContactScene {
    let gap_max = 1e-2;
    let corners: [Vec3; 8] = std::array::from_fn(|k| {
        Vec3::new((k >> 2 & 1) as f64 - 0.5, (k >> 1 & 1) as f64 - 0.5, (k & 1) as f64 - 0.5)
    });
    let triangles = vec![
        [0, 1, 3],
        [0, 3, 2],
        [4, 6, 7],
        [4, 7, 5],
        [0, 4, 5],
        [0, 5, 1],
        [2, 3, 7],
        [2, 7, 6],
        [0, 2, 6],
        [0, 6, 4],
        [1, 5, 7],
        [1, 7, 3],
    ];
    let pitch = 1.0 + 0.5 * gap_max;
    let middle = 0.5 * (n as f64 - 1.0) * pitch * Vec3::new(1.0, 1.0, 1.0);
    let parts = (0..n * n * n)
        .map(|b| {
            let center = pitch * Vec3::new((b / (n * n)) as f64, (b / n % n) as f64, (b % n) as f64);
            let w = Vec3::from_fn(|k, _| 1e-3 * (b as f64 * (1.7 + k as f64) + 0.3).sin());
            let x: Vec<Vec3> = corners.iter().map(|c| c + w.cross(c) + center).collect();
            let moved = x.iter().map(|x| x - 0.02 * (center - middle)).collect();
            Part { x, moved, triangles: triangles.clone() }
        })
        .collect();
    ContactScene { name: "cube_pile", parts, gap_max, self_contact: false }
}

/// A wavy ball in a shell of the same form and another tessellation, half a gap away; it twists and rises.
fn ball_in_socket(level: usize) -> ContactScene {
    let gap_max = 1e-2;
    let (unit, triangles) = icosphere(level);
    let radius = |p: &Vec3| 1.0 + 0.02 * (5.0 * p.x).sin() * (6.0 * p.y).sin() * (5.0 * p.z).sin();
    let ball: Vec<Vec3> = unit.iter().map(|p| radius(p) * p).collect();
    let shell: Vec<Vec3> = unit
        .iter()
        .map(|p| {
            let (s, c) = 0.7f64.sin_cos();
            let q = Vec3::new(c * p.x - s * p.y, s * p.x + c * p.y, p.z);
            let q = Vec3::new(q.x, c * q.y - s * q.z, s * q.y + c * q.z);
            (radius(&q) + 0.5 * gap_max) * q
        })
        .collect();
    let moved =
        ball.iter().map(|p| Vec3::new(p.x - 0.03 * p.y, p.y + 0.03 * p.x, p.z + 2.0 * gap_max)).collect();
    let parts = vec![
        Part { x: ball, moved, triangles: triangles.clone() },
        Part { x: shell.clone(), moved: shell, triangles },
    ];
    ContactScene { name: "ball_in_socket", parts, gap_max, self_contact: false }
}

/// n × n cells of cloth bent over a unit sphere at half a gap, moving further in.
fn cloth_on_sphere(n: usize) -> ContactScene {
    let gap_max = 1e-2;
    let (unit, sphere) = icosphere(5);
    let at = |i: usize| 1.6 * (i as f64 / n as f64 - 0.5);
    let mut cloth = Vec::new();
    for i in 0..=n {
        for j in 0..=n {
            let (x, y) = (at(i), at(j));
            let rho = (x * x + y * y).sqrt();
            let s = if rho > 0.0 { rho.sin() / rho } else { 1.0 };
            cloth.push((1.0 + 0.5 * gap_max) * Vec3::new(s * x, s * y, rho.cos()));
        }
    }
    let mut triangles = Vec::new();
    for i in 0..n as u32 {
        for j in 0..n as u32 {
            let a = i * (n as u32 + 1) + j;
            let (b, c, d) = (a + n as u32 + 1, a + n as u32 + 2, a + 1);
            triangles.extend(if (i + j) % 2 == 0 { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] });
        }
    }
    let moved = cloth.iter().map(|x| (1.0 - 2.0 * gap_max) * x).collect();
    let parts =
        vec![Part { x: unit.clone(), moved: unit, triangles: sphere }, Part { x: cloth, moved, triangles }];
    ContactScene { name: "cloth_on_sphere", parts, gap_max, self_contact: true }
}

/// The unit icosahedron, every triangle cut in four `level` times, corners on the unit sphere.
fn icosphere(level: usize) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let t = (1.0 + 5f64.sqrt()) / 2.0;
    let mut x: Vec<Vec3> = Vec::new();
    for turn in 0..3 {
        for (a, b) in [(-1.0, t), (1.0, t), (-1.0, -t), (1.0, -t)] {
            let p = [[a, b, 0.0], [0.0, a, b], [b, 0.0, a]][turn];
            x.push(Vec3::from(p).normalize());
        }
    }
    let mut triangles: Vec<[u32; 3]> = vec![
        [0, 11, 5],
        [0, 5, 1],
        [0, 1, 7],
        [0, 7, 10],
        [0, 10, 11],
        [1, 5, 9],
        [5, 11, 4],
        [11, 10, 2],
        [10, 7, 6],
        [7, 1, 8],
        [3, 9, 4],
        [3, 4, 2],
        [3, 2, 6],
        [3, 6, 8],
        [3, 8, 9],
        [4, 9, 5],
        [2, 4, 11],
        [6, 2, 10],
        [8, 6, 7],
        [9, 8, 1],
    ];
    for _ in 0..level {
        let mut middles = std::collections::BTreeMap::new();
        let mut finer = Vec::with_capacity(4 * triangles.len());
        for [a, b, c] in triangles {
            let mut middle = |a: u32, b: u32| {
                *middles.entry((a.min(b), a.max(b))).or_insert_with(|| {
                    x.push((x[a as usize] + x[b as usize]).normalize());
                    x.len() as u32 - 1
                })
            };
            let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
            finer.extend([[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]]);
        }
        triangles = finer;
    }
    (x, triangles)
}
