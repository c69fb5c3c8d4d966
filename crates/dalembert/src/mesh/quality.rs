//! How good the elements of a mesh are, and what is wrong with it.
//!
//! Shape is measured by a number that is 1 for the best element and 0 for a flat one, negative for an inverted one:
//!
//! | element | measure |
//! |---|---|
//! | tetrahedron | radius ratio, 3 × inscribed / circumscribed radius |
//! | hexahedron | scaled Jacobian: least $\det(e_1, e_2, e_3)/(|e_1||e_2||e_3|)$ of the edges at its corners |
//! | triangle | radius ratio, 2 × inscribed / circumscribed radius |
//! | segment | 1, or 0 without length |

use super::{
    HEX_CORNERS, HexMesh, SegmentMesh, SurfaceMesh, TET_FACES, TetMesh, corners, hex_jacobian, hex_volume,
    tet_volume, triangle_area,
};
use crate::math::Vec3;

/// What a mesh is like. Numbers of nodes and elements count from 0.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeshReport {
    /// Kind of element: `tetrahedron`, `hexahedron`, `triangle` or `segment`.
    pub element: &'static str,
    /// Number of points.
    pub points: usize,
    /// Number of elements.
    pub elements: usize,
    /// Total volume \[m³\], area \[m²\] or length \[m\].
    pub measure: f64,
    /// Volume, area or length of the smallest element.
    pub smallest: f64,
    /// Lowest and highest coordinates \[m\].
    pub bounds: [Vec3; 2],
    /// Shape of the worst element, 1 at best.
    pub worst_quality: f64,
    /// Number of the worst element.
    pub worst_element: u32,
    /// Mean shape.
    pub mean_quality: f64,
    /// Least and greatest angle between faces \[rad\], of tetrahedra only.
    pub dihedral: Option<[f64; 2]>,
    /// Number of pieces that share no node.
    pub components: usize,
    /// Elements turned inside out; solids only.
    pub inverted: Vec<u32>,
    /// Elements without volume, area or length.
    pub flat: Vec<u32>,
    /// Elements that name a node twice.
    pub repeated: Vec<u32>,
    /// Nodes that no element uses.
    pub isolated: Vec<u32>,
    /// Faces of more than two solids, edges of more than two triangles: their corners.
    pub crowded: Vec<Vec<u32>>,
    /// Edges along which neighbouring triangles disagree about outside.
    pub twisted: Vec<[u32; 2]>,
    /// Edges of a surface with one triangle; 0 if it is closed. For a solid, of its outside.
    pub open_edges: usize,
}

impl MeshReport {
    /// True if nothing would keep the mesh from being simulated: no inverted, flat or repeated elements, no crowded
    /// faces or edges, no isolated nodes.
    pub fn is_sound(&self) -> bool {
        self.elements > 0
            && [&self.inverted, &self.flat, &self.repeated, &self.isolated].iter().all(|l| l.is_empty())
            && self.crowded.is_empty()
            && self.twisted.is_empty()
    }

    /// What is wrong, one sentence each, with the first culprit; empty for a sound mesh.
    pub fn problems(&self) -> Vec<String> {
        let mut out = Vec::new();
        let (one, many) = (self.element, plural(self.element));
        let mut say = |list: &[u32], singular: String, plural: String| match list {
            [] => {}
            [only] => out.push(format!("{singular}: {only}")),
            [first, ..] => out.push(format!("{} {plural}, the first is {first}", list.len())),
        };
        say(&self.inverted, format!("a {one} is inside out"), format!("{many} are inside out"));
        say(&self.flat, format!("a {one} has no size"), format!("{many} have no size"));
        say(&self.repeated, format!("a {one} names a node twice"), format!("{many} name a node twice"));
        say(&self.isolated, format!("no {one} uses a node"), format!("nodes are used by no {one}"));
        if let Some(first) = self.crowded.first() {
            let what = if first.len() == 2 { "edge" } else { "face" };
            out.push(format!(
                "{} {what}(s) shared by more than two {many}, the first has nodes {}",
                self.crowded.len(),
                first.iter().map(u32::to_string).collect::<Vec<_>>().join("-"),
            ));
        }
        if let Some([a, b]) = self.twisted.first() {
            let count = self.twisted.len();
            out.push(format!("neighbours disagree about outside at {count} edge(s), the first is {a}-{b}"));
        }
        if self.elements == 0 {
            out.push(format!("there are no {many}"));
        }
        out
    }
}

fn plural(element: &str) -> &'static str {
    match element {
        "tetrahedron" => "tetrahedra",
        "hexahedron" => "hexahedra",
        "triangle" => "triangles",
        _ => "segments",
    }
}

/// Radius ratio of a tetrahedron, 3 r/R: 1 if regular, 0 if flat, negative if inverted.
pub fn tet_quality(x: &[Vec3; 4]) -> f64 {
    // r = 3V/ΣA, and 6 V R = Heron's formula for the products of opposite edges (Crelle).
    let V = tet_volume(x);
    let area: f64 = TET_FACES.iter().map(|f| triangle_area(&f.map(|k| x[k]))).sum();
    let d = |i: usize, j: usize| (x[i] - x[j]).norm();
    let [a, b, c] = [d(0, 1) * d(2, 3), d(0, 2) * d(1, 3), d(0, 3) * d(1, 2)];
    let heron = ((a + b + c) * (a + b - c) * (a - b + c) * (-a + b + c)).max(0.0).sqrt() / 4.0;
    if V == 0.0 || heron == 0.0 { 0.0 } else { 3.0 * (3.0 * V.abs() / area) * (6.0 * V) / heron }
}

/// Scaled Jacobian of a hexahedron: the least over its corners of the determinant of the unit edges there.
pub fn hex_quality(x: &[Vec3; 8]) -> f64 {
    let at = |s: &[f64; 3]| {
        let J = hex_jacobian(x, &Vec3::from(*s));
        let lengths: f64 = J.column_iter().map(|c| c.norm()).product();
        if lengths > 0.0 { J.determinant() / lengths } else { 0.0 }
    };
    HEX_CORNERS.iter().map(at).fold(f64::INFINITY, f64::min)
}

/// Radius ratio of a triangle, 2 r/R: 1 if regular, 0 if flat.
pub fn triangle_quality(x: &[Vec3; 3]) -> f64 {
    // r = 2A/(a + b + c), R = abc/(4A).
    let A = triangle_area(x);
    let [a, b, c] = [(x[1] - x[0]).norm(), (x[2] - x[1]).norm(), (x[0] - x[2]).norm()];
    if A == 0.0 { 0.0 } else { 16.0 * A * A / ((a + b + c) * a * b * c) }
}

/// Least and greatest angle between two faces of a tetrahedron \[rad\].
pub fn dihedral_angles(x: &[Vec3; 4]) -> [f64; 2] {
    let normals = TET_FACES.map(|f| {
        let [a, b, c] = f.map(|k| x[k]);
        (b - a).cross(&(c - a))
    });
    let mut range = [f64::INFINITY, f64::NEG_INFINITY];
    for i in 0..4 {
        for j in 0..i {
            // Outward normals turn by π minus the angle inside.
            let inside = std::f64::consts::PI - normals[i].angle(&normals[j]);
            range = [range[0].min(inside), range[1].max(inside)];
        }
    }
    range
}

fn report<const N: usize>(
    element: &'static str,
    points: &[Vec3],
    elements: &[[u32; N]],
    size_and_quality: impl Fn(&[Vec3; N]) -> (f64, f64),
) -> MeshReport {
    let mut out =
        MeshReport { element, points: points.len(), elements: elements.len(), ..Default::default() };
    let start = [Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY)];
    out.bounds = points.iter().fold(start, |[low, high], p| [low.inf(p), high.sup(p)]);
    // A size that is rounding only, beside an element as large as its longest edge.
    let dimension = if N >= 4 { 3 } else { N as i32 - 1 };
    (out.smallest, out.worst_quality) = (f64::INFINITY, f64::INFINITY);
    for (number, e) in elements.iter().enumerate() {
        let x = corners(points, e);
        let (size, quality) = size_and_quality(&x);
        let longest = x.iter().map(|p| (p - x[0]).norm()).fold(0.0, f64::max);
        out.measure += size;
        out.mean_quality += quality / elements.len() as f64;
        out.smallest = out.smallest.min(size);
        if quality < out.worst_quality {
            (out.worst_quality, out.worst_element) = (quality, number as u32);
        }
        if (1..N).any(|k| e[..k].contains(&e[k])) {
            out.repeated.push(number as u32);
        }
        if !(size.abs() > 1e-14 * longest.powi(dimension)) {
            out.flat.push(number as u32);
        } else if size < 0.0 || (N == 8 && quality <= 0.0) {
            out.inverted.push(number as u32);
        }
    }
    if elements.is_empty() {
        (out.smallest, out.worst_quality) = (0.0, 0.0);
    }
    out
}

impl SegmentMesh {
    /// What the mesh is like.
    pub fn report(&self) -> MeshReport {
        let mut out = report("segment", &self.points, &self.segments, |x| {
            let length = (x[1] - x[0]).norm();
            (length, f64::from(length > 0.0))
        });
        (out.components, out.isolated) = (self.components().1, self.isolated());
        out
    }
}

impl SurfaceMesh {
    /// What the mesh is like.
    pub fn report(&self) -> MeshReport {
        let mut out =
            report("triangle", &self.points, &self.triangles, |x| (triangle_area(x), triangle_quality(x)));
        (out.components, out.isolated) = (self.components().1, self.isolated());
        out.crowded = self.crowded_edges().iter().map(|c| c.corners.to_vec()).collect();
        out.twisted = self.twisted_edges().iter().map(|c| c.corners).collect();
        out.open_edges = self.boundary_edges().len();
        out
    }
}

impl TetMesh {
    /// What the mesh is like.
    pub fn report(&self) -> MeshReport {
        let mut out = report("tetrahedron", &self.points, &self.tets, |x| (tet_volume(x), tet_quality(x)));
        (out.components, out.isolated) = (self.components().1, self.isolated());
        out.crowded = self.crowded_faces().iter().map(|c| c.corners.to_vec()).collect();
        out.open_edges = self.boundary().surface.boundary_edges().len();
        let angles = self.tets.iter().map(|t| dihedral_angles(&corners(&self.points, t)));
        out.dihedral = angles.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
        out
    }
}

impl HexMesh {
    /// What the mesh is like. A hexahedron with a corner turned inside out counts as inverted.
    pub fn report(&self) -> MeshReport {
        let mut out = report("hexahedron", &self.points, &self.hexes, |x| (hex_volume(x), hex_quality(x)));
        (out.components, out.isolated) = (self.components().1, self.isolated());
        out.crowded = self.crowded_faces().iter().map(|c| c.corners.to_vec()).collect();
        out.open_edges = self.boundary().surface.boundary_edges().len();
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Diagonals;

    #[test]
    fn the_best_elements_have_quality_1() {
        let regular =
            [[1.0, 1.0, 1.0], [-1.0, -1.0, 1.0], [-1.0, 1.0, -1.0], [1.0, -1.0, -1.0]].map(Vec3::from);
        assert!(tet_volume(&regular) > 0.0);
        assert!((tet_quality(&regular) - 1.0).abs() < 1e-14);
        let angle = (1.0f64 / 3.0).acos();
        assert!(dihedral_angles(&regular).iter().all(|a| (a - angle).abs() < 1e-14));
        let [a, b, c, d] = regular;
        assert!((tet_quality(&[a, b, d, c]) + 1.0).abs() < 1e-14);
        assert!((triangle_quality(&[a, b, c]) - 1.0).abs() < 1e-14);
        assert!((hex_quality(&HEX_CORNERS.map(Vec3::from)) - 1.0).abs() < 1e-14);
        // The corner of a cube: r = (3 − √3)/6, R = √3/2.
        let corner = [Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::z()];
        let wanted = 3.0 * (3.0 - 3f64.sqrt()) / 6.0 / (3f64.sqrt() / 2.0);
        assert!((tet_quality(&corner) - wanted).abs() < 1e-14);
    }

    #[test]
    fn generated_meshes_are_sound() {
        let hexes = HexMesh::ball(1.0, 4).unwrap();
        for report in [
            TetMesh::block(Vec3::new(1.0, 2.0, 0.5), [2, 3, 4]).unwrap().report(),
            hexes.report(),
            hexes.to_tets().report(),
            TetMesh::torus(1.0, 0.3, 3, 36).unwrap().report(),
            TetMesh::cylinder(0.3, 1.0, 3, 4).unwrap().report(),
            SurfaceMesh::grid([1.0, 1.0], [4, 4], Diagonals::Alternating).unwrap().report(),
            hexes.boundary().surface.report(),
            SegmentMesh::rod(Vec3::x(), Vec3::y(), 4).unwrap().report(),
        ] {
            assert!(report.is_sound() && report.problems().is_empty(), "{report:?}");
            assert!(report.components == 1 && report.worst_quality > 0.15, "{report:?}");
            assert!(report.worst_quality <= report.mean_quality && report.mean_quality <= 1.0 + 1e-12);
            let open = if report.element == "triangle" && report.points == 25 { 16 } else { 0 };
            assert_eq!(report.open_edges, open);
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_number() {
        let mut mesh = TetMesh::block(Vec3::repeat(1.0), [2, 1, 1]).unwrap();
        mesh.points.push(Vec3::zeros());
        mesh.tets[3].swap(0, 1);
        let bad = mesh.tets[5];
        mesh.tets[7] = [bad[0], bad[1], bad[2], bad[2]];
        let report = mesh.report();
        assert_eq!(
            (&report.inverted[..], &report.flat[..], &report.repeated[..]),
            (&[3][..], &[7][..], &[7][..])
        );
        assert_eq!(report.isolated, [12]);
        assert!(!report.is_sound() && report.worst_element == 3);
        assert_eq!(report.problems()[0], "a tetrahedron is inside out: 3");
        assert_eq!(report.problems()[3], "no tetrahedron uses a node: 12");
        assert!(!TetMesh::default().report().is_sound());
    }
}
