//! The outside of solids, the edges of surfaces, and what is wrong with either.
//!
//! A face that belongs to one element only lies on the outside; an inner one belongs to two. Faces, like edges, are
//! compared by their sorted corners: after sorting the list of all of them, equal ones stand side by side. Everything
//! comes out in an order that depends on the mesh alone.

use super::{HEX_FACES, HexMesh, SegmentMesh, SurfaceMesh, TET_FACES, TetMesh, quad_halves};
use crate::solve::union_find::UnionFind;

/// The outside of a solid as a surface of its own, and the way back.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Boundary {
    /// The surface, oriented outwards, with points of its own.
    pub surface: SurfaceMesh,
    /// Node of the solid at each point of the surface, rising.
    pub nodes: Vec<u32>,
    /// Element of the solid behind each triangle.
    pub elements: Vec<u32>,
}

impl Boundary {
    /// The triangles in the numbers of the solid's nodes.
    pub fn volume_triangles(&self) -> Vec<[u32; 3]> {
        self.surface.triangles.iter().map(|t| t.map(|i| self.nodes[i as usize])).collect()
    }

    fn new(points: &[crate::math::Vec3], triangles: Vec<([u32; 3], u32)>) -> Self {
        let mut nodes: Vec<u32> = triangles.iter().flat_map(|(t, _)| *t).collect();
        nodes.sort_unstable();
        nodes.dedup();
        // Binary search rather than a table over all nodes: the outside is small.
        let place = |i: u32| nodes.partition_point(|&n| n < i) as u32;
        let surface = SurfaceMesh {
            points: nodes.iter().map(|&i| points[i as usize]).collect(),
            triangles: triangles.iter().map(|(t, _)| t.map(place)).collect(),
        };
        let elements = triangles.iter().map(|(_, e)| *e).collect();
        Self { surface, nodes, elements }
    }
}

/// Two triangles over a common edge, as bending sees them: (edge\[0\], edge\[1\], opposite\[0\]) and
/// (edge\[1\], edge\[0\], opposite\[1\]) are the triangles in the order of their corners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hinge {
    /// The common edge, directed as in the first triangle.
    pub edge: [u32; 2],
    /// The corners that lie across it, of the first and of the second triangle.
    pub opposite: [u32; 2],
}

/// An edge or a face with more neighbours than a manifold has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crowded<const N: usize> {
    /// Its corners, rising.
    pub corners: [u32; N],
    /// Its elements, rising.
    pub elements: Vec<u32>,
}

/// Each edge once, as (low, high), rising.
pub fn unique_edges(edges: impl IntoIterator<Item = [u32; 2]>) -> Vec<[u32; 2]> {
    let mut edges: Vec<[u32; 2]> = edges.into_iter().map(|[a, b]| [a.min(b), a.max(b)]).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// (sorted corners, element, face of the element), sorted.
type Face<const N: usize> = ([u32; N], u32, u8);

fn sorted_faces<const N: usize, const E: usize>(elements: &[[u32; E]], faces: &[[usize; N]]) -> Vec<Face<N>> {
    let mut list = Vec::with_capacity(elements.len() * faces.len());
    for (e, element) in elements.iter().enumerate() {
        for (k, face) in faces.iter().enumerate() {
            let mut corners = face.map(|i| element[i]);
            corners.sort_unstable();
            list.push((corners, e as u32, k as u8));
        }
    }
    list.sort_unstable();
    list
}

/// Element and face of every face with one element, in the order of elements.
fn single<const N: usize>(faces: &[Face<N>]) -> Vec<(u32, u8)> {
    let alone = faces.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() == 1);
    let mut list: Vec<(u32, u8)> = alone.map(|same| (same[0].1, same[0].2)).collect();
    list.sort_unstable();
    list
}

fn crowded<const N: usize>(faces: &[Face<N>], most: usize) -> Vec<Crowded<N>> {
    let many = faces.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > most);
    many.map(|same| Crowded { corners: same[0].0, elements: same.iter().map(|f| f.1).collect() }).collect()
}

/// Outward quadrilaterals of hexahedra, with their elements.
fn outer_faces(hexes: &[[u32; 8]]) -> Vec<([u32; 4], u32)> {
    let outside = single(&sorted_faces(hexes, &HEX_FACES));
    outside.iter().map(|&(e, k)| (HEX_FACES[k as usize].map(|i| hexes[e as usize][i]), e)).collect()
}

/// Outward quadrilaterals of hexahedra.
pub(super) fn outer_quads(hexes: &[[u32; 8]]) -> Vec<[u32; 4]> {
    outer_faces(hexes).into_iter().map(|(quad, _)| quad).collect()
}

impl TetMesh {
    /// The outside.
    pub fn boundary(&self) -> Boundary {
        let outside = single(&sorted_faces(&self.tets, &TET_FACES));
        let triangle = |&(e, k): &(u32, u8)| (TET_FACES[k as usize].map(|i| self.tets[e as usize][i]), e);
        Boundary::new(&self.points, outside.iter().map(triangle).collect())
    }

    /// Faces of more than two tetrahedra.
    pub fn crowded_faces(&self) -> Vec<Crowded<3>> {
        crowded(&sorted_faces(&self.tets, &TET_FACES), 2)
    }
}

impl HexMesh {
    /// The outside, every quadrilateral cut in two from its corner of lowest number, as [`HexMesh::to_tets`] cuts it.
    pub fn boundary(&self) -> Boundary {
        let halves = |(quad, e): &([u32; 4], u32)| quad_halves(quad).map(|t| (t, *e));
        Boundary::new(&self.points, outer_faces(&self.hexes).iter().flat_map(halves).collect())
    }

    /// Faces of more than two hexahedra.
    pub fn crowded_faces(&self) -> Vec<Crowded<4>> {
        crowded(&sorted_faces(&self.hexes, &HEX_FACES), 2)
    }
}

/// Edges of a triangle; edge k lies opposite corner k.
const TRIANGLE_EDGES: [[usize; 2]; 3] = [[1, 2], [2, 0], [0, 1]];

impl SurfaceMesh {
    fn sorted_edges(&self) -> Vec<Face<2>> {
        sorted_faces(&self.triangles, &TRIANGLE_EDGES)
    }

    /// The edge of a triangle as the triangle runs along it.
    fn directed(&self, triangle: u32, k: u8) -> [u32; 2] {
        TRIANGLE_EDGES[k as usize].map(|i| self.triangles[triangle as usize][i])
    }

    /// Each edge once, as (low, high), rising.
    pub fn edges(&self) -> Vec<[u32; 2]> {
        unique_edges(self.triangles.iter().flat_map(|t| TRIANGLE_EDGES.map(|e| e.map(|k| t[k]))))
    }

    /// Edges with a triangle on one side only, directed as in that triangle, in the order of triangles.
    pub fn boundary_edges(&self) -> Vec<[u32; 2]> {
        single(&self.sorted_edges()).iter().map(|&(t, k)| self.directed(t, k)).collect()
    }

    /// Edges between two triangles, with the corners across, in rising order of (low, high) corners. Edges of one
    /// triangle, of more than two, and of two triangles whose orientations disagree are no hinges.
    pub fn hinges(&self) -> Vec<Hinge> {
        let edges = self.sorted_edges();
        let hinge = |same: &[Face<2>]| match same {
            [a, b] => {
                let (edge, back) = (self.directed(a.1, a.2), self.directed(b.1, b.2));
                let across = |f: &Face<2>| self.triangles[f.1 as usize][f.2 as usize];
                (edge == [back[1], back[0]]).then(|| Hinge { edge, opposite: [across(a), across(b)] })
            }
            _ => None,
        };
        edges.chunk_by(|a, b| a.0 == b.0).filter_map(hinge).collect()
    }

    /// Edges of more than two triangles: the surface is no manifold there.
    pub fn crowded_edges(&self) -> Vec<Crowded<2>> {
        crowded(&self.sorted_edges(), 2)
    }

    /// Edges along which two triangles run in the same direction: their orientations disagree.
    pub fn twisted_edges(&self) -> Vec<Crowded<2>> {
        let edges = self.sorted_edges();
        let twisted = |same: &&[Face<2>]| match same {
            [a, b] => self.directed(a.1, a.2) == self.directed(b.1, b.2),
            _ => false,
        };
        let list = edges.chunk_by(|a, b| a.0 == b.0).filter(twisted);
        list.map(|same| Crowded { corners: same[0].0, elements: same.iter().map(|f| f.1).collect() })
            .collect()
    }
}

/// Nodes that no element uses, rising.
fn isolated<const N: usize>(points: usize, elements: &[[u32; N]]) -> Vec<u32> {
    let mut used = vec![false; points];
    for &i in elements.iter().flatten() {
        used[i as usize] = true;
    }
    (0..points as u32).filter(|&i| !used[i as usize]).collect()
}

/// Component of every element, numbered from 0 in the order in which they appear, and how many there are. Elements
/// that share a node belong together.
fn components<const N: usize>(points: usize, elements: &[[u32; N]]) -> (Vec<u32>, usize) {
    let mut sets = UnionFind::new(points);
    elements.iter().for_each(|element| sets.join_all(*element));
    let mut number = vec![u32::MAX; points];
    let mut count = 0;
    let mut of = Vec::with_capacity(elements.len());
    for element in elements {
        let place = &mut number[sets.find(element[0]) as usize];
        if *place == u32::MAX {
            *place = count;
            count += 1;
        }
        of.push(*place);
    }
    (of, count as usize)
}

macro_rules! of_elements {
    ($mesh:ident, $elements:ident) => {
        impl $mesh {
            /// Nodes that no element uses, rising.
            pub fn isolated(&self) -> Vec<u32> {
                isolated(self.points.len(), &self.$elements)
            }

            /// Component of every element, numbered from 0 in order of appearance, and the number of components.
            /// Elements that share a node belong together.
            pub fn components(&self) -> (Vec<u32>, usize) {
                components(self.points.len(), &self.$elements)
            }
        }
    };
}

of_elements!(SegmentMesh, segments);
of_elements!(SurfaceMesh, triangles);
of_elements!(TetMesh, tets);
of_elements!(HexMesh, hexes);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bodies::TriangleMesh;
    use crate::math::Vec3;
    use crate::mesh::Diagonals;

    /// Points − edges + triangles, counting points that a triangle uses: 2 for a sphere, 0 for a torus, 1 for a sheet.
    fn euler_characteristic(surface: &SurfaceMesh) -> i64 {
        let mut used: Vec<u32> = surface.triangles.iter().flatten().copied().collect();
        used.sort_unstable();
        used.dedup();
        used.len() as i64 - surface.edges().len() as i64 + surface.triangles.len() as i64
    }

    #[test]
    fn the_outside_of_a_solid_is_closed_turned_outwards_and_has_its_volume() {
        let solids = [
            (HexMesh::block(Vec3::new(1.0, 2.0, 3.0), [2, 3, 4]).unwrap(), 2),
            (HexMesh::cylinder(0.4, 1.0, 3, 2).unwrap(), 2),
            (HexMesh::ball(0.5, 4).unwrap(), 2),
            (HexMesh::torus(1.0, 0.3, 2, 9).unwrap(), 0),
        ];
        for (hexes, euler) in solids {
            let tets = hexes.to_tets();
            let (a, b) = (hexes.boundary(), tets.boundary());
            assert_eq!(a.nodes, b.nodes);
            for (outside, volume) in [(&a, hexes.volume()), (&b, tets.volume())] {
                let surface = &outside.surface;
                assert_eq!(euler_characteristic(surface), euler);
                assert!(surface.boundary_edges().is_empty() && surface.crowded_edges().is_empty());
                // Bilinear faces are not quite their two triangles.
                assert!((surface.enclosed_volume() / volume - 1.0).abs() < 0.02);
                TriangleMesh::new(surface.points.clone(), surface.triangles.clone()).unwrap();
                let points = outside.nodes.iter().map(|&i| hexes.points[i as usize]);
                assert!(points.eq(surface.points.iter().copied()));
            }
            assert!((b.surface.enclosed_volume() - tets.volume()).abs() < 1e-12);
            for (t, &e) in b.volume_triangles().iter().zip(&b.elements) {
                assert!(t.iter().all(|i| tets.tets[e as usize].contains(i)));
            }
        }
    }

    #[test]
    fn a_sheet_has_its_rim_and_its_hinges() {
        let sheet = SurfaceMesh::grid([1.0, 1.0], [3, 4], Diagonals::Alternating).unwrap();
        let (edges, rim, hinges) = (sheet.edges(), sheet.boundary_edges(), sheet.hinges());
        assert_eq!(rim.len(), 14);
        assert_eq!(hinges.len() + rim.len(), edges.len());
        assert_eq!(euler_characteristic(&sheet), 1);
        for h in &hinges {
            let has = |corners: [u32; 3]| {
                sheet
                    .triangles
                    .iter()
                    .any(|t| (0..3).any(|k| corners == [t[k], t[(k + 1) % 3], t[(k + 2) % 3]]))
            };
            assert!(has([h.edge[0], h.edge[1], h.opposite[0]]) && has([h.edge[1], h.edge[0], h.opposite[1]]));
        }
    }

    #[test]
    fn culprits_are_named() {
        let mut fan =
            SurfaceMesh { points: vec![Vec3::zeros(); 7], triangles: vec![[0, 1, 2], [1, 0, 3], [0, 1, 4]] };
        assert_eq!(fan.crowded_edges(), [Crowded { corners: [0, 1], elements: vec![0, 1, 2] }]);
        assert_eq!(fan.isolated(), [5, 6]);
        fan.triangles.remove(1);
        assert_eq!(fan.twisted_edges(), [Crowded { corners: [0, 1], elements: vec![0, 1] }]);
        assert!(fan.hinges().is_empty() && fan.crowded_edges().is_empty());
        fan.triangles.push([3, 5, 6]);
        assert_eq!(fan.components(), (vec![0, 0, 1], 2));
        let book =
            TetMesh { points: vec![Vec3::zeros(); 6], tets: vec![[0, 1, 2, 3], [0, 2, 1, 4], [0, 1, 2, 5]] };
        assert_eq!(book.crowded_faces(), [Crowded { corners: [0, 1, 2], elements: vec![0, 1, 2] }]);
    }
}
