//! From the shape of a body to the geometry that collides.

use std::sync::Arc;

use crate::bodies::{Shape, TriangleMesh};
use crate::collide::rigid::{Geometry, Hull, Mesh};
use crate::math::{Pose, Vec3};
use crate::mesh::{Fineness, decompose};

/// As what a mesh collides; other shapes collide as what they are.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Collide {
    /// The convex hull of a body that moves, the surface of one that stands still.
    #[default]
    Automatic,
    /// Its convex hull: hollows are filled.
    Hull,
    /// Its triangles, hollows and all. Slower, and two surfaces hold each other only while they overlap by less than a
    /// fiftieth of the smaller one's diagonal.
    Surface,
    /// Several convex hulls, see [`decompose`].
    Parts(Fineness),
}

/// What colliding geometry leaves out of a shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Filled {
    /// Volume of the mesh over that of its convex hull.
    pub part: f64,
}

impl Shape {
    /// Adds the convex pieces that collide for this shape, each at its pose in the frame of the body, which stands at `at`.
    ///
    /// What a mesh becomes is said by `collide` and whether the body `moves`. Where a hull stands for a mesh the answer says how much of
    /// it the mesh fills if that is less than all but a thousandth, once for each such mesh; zero for a sheet.
    pub fn colliders(
        &self,
        at: &Pose,
        moves: bool,
        collide: &Collide,
        out: &mut Vec<(Pose, Geometry)>,
    ) -> Vec<Filled> {
        let geometry = match self {
            Shape::Point => return Vec::new(),
            Shape::Sphere { radius } => Geometry::Sphere { radius: *radius },
            Shape::Box { size } => Geometry::Box { half: 0.5 * size },
            Shape::Capsule { radius, length } => {
                Geometry::Capsule { radius: *radius, half_length: 0.5 * length }
            }
            Shape::Cylinder { radius, length } => {
                Geometry::Cylinder { radius: *radius, half_length: 0.5 * length }
            }
            Shape::Cone { radius, length } => Geometry::Cone { radius: *radius, half_length: 0.5 * length },
            Shape::Ellipsoid { semi_axes } => Geometry::Ellipsoid { semi_axes: *semi_axes },
            Shape::Compound(parts) => {
                return parts
                    .iter()
                    .flat_map(|(pose, part)| part.colliders(&at.then(pose), moves, collide, out))
                    .collect();
            }
            Shape::Shell(shell) => {
                let (vertices, triangles) = (shell.vertices(), shell.triangles());
                return surface(vertices, triangles, None, at, moves, collide, out);
            }
            Shape::Mesh(mesh) => {
                let volume = mesh.unit_mass_properties().mass;
                return surface(mesh.vertices(), mesh.triangles(), Some(volume), at, moves, collide, out);
            }
        };
        out.push((*at, geometry));
        Vec::new()
    }
}

/// Colliders of a mesh of the given volume; none for a sheet.
fn surface(
    vertices: &[Vec3],
    triangles: &[[u32; 3]],
    volume: Option<f64>,
    at: &Pose,
    moves: bool,
    collide: &Collide,
    out: &mut Vec<(Pose, Geometry)>,
) -> Vec<Filled> {
    let Ok(hull) = Hull::new(vertices) else { return Vec::new() };
    let part = volume.map_or(0.0, |v| v / hull_volume(&hull));
    let hollow = !(part > 0.999);
    let surface = match collide {
        Collide::Automatic => !moves,
        Collide::Surface => true,
        Collide::Hull | Collide::Parts(_) => false,
    };
    if hollow
        && surface
        && let Ok(surface) = Mesh::new(vertices.to_vec(), triangles)
    {
        out.push((*at, Geometry::Mesh(Arc::new(surface))));
        return Vec::new();
    }
    if let (true, Collide::Parts(fineness)) = (hollow, collide) {
        out.extend(convex_parts(vertices, triangles, volume.is_none(), fineness).map(|h| (*at, h)));
        return Vec::new();
    }
    out.push((*at, Geometry::Hull(Arc::new(hull))));
    if hollow { vec![Filled { part }] } else { Vec::new() }
}

/// Hulls of the parts of a mesh.
pub(crate) fn convex_parts(
    vertices: &[Vec3],
    triangles: &[[u32; 3]],
    open: bool,
    fineness: &Fineness,
) -> impl Iterator<Item = Geometry> {
    let found = decompose(vertices, triangles, open, fineness);
    found.parts.into_iter().filter_map(|points| Some(Geometry::Hull(Arc::new(Hull::new(&points).ok()?))))
}

/// Volume of a hull \[m³\].
pub(crate) fn hull_volume(hull: &Hull) -> f64 {
    let mut triangles = Vec::new();
    for f in 0..hull.faces() {
        let c = hull.face(f);
        triangles.extend((2..c.len()).map(|k| [c[0], c[k - 1], c[k]]));
    }
    let vertices: Vec<Vec3> = hull.vertices().to_vec();
    TriangleMesh::trusted(vertices, triangles).unit_mass_properties().mass
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hollow_mesh_fills_its_hull_only_in_part() {
        let block =
            |x: f64, size: [f64; 3]| (Pose::at(Vec3::new(x, 0.0, 0.0)), Shape::Box { size: size.into() });
        let convex = Shape::Mesh(Arc::new(block(0.0, [1.0, 2.0, 3.0]).1.triangles()));
        let mut out = Vec::new();
        assert!(convex.colliders(&Pose::identity(), true, &Collide::Automatic, &mut out).is_empty());
        assert!(
            matches!(&out[..], [(_, Geometry::Hull(hull))] if hull.vertices().len() == 8 && hull.faces() == 6)
        );
        // Two blocks as one mesh: the hull bridges the space of 1 between them.
        let pair = Shape::Compound(vec![block(-1.0, [1.0; 3]), block(1.0, [1.0; 3])]);
        let mesh = Shape::Mesh(Arc::new(pair.triangles()));
        out.clear();
        let filled = mesh.colliders(&Pose::identity(), true, &Collide::Automatic, &mut out);
        assert!((filled[0].part - 2.0 / 3.0).abs() < 1e-12, "{filled:?}");
        out.clear();
        assert!(mesh.colliders(&Pose::identity(), false, &Collide::Automatic, &mut out).is_empty());
        assert!(matches!(&out[..], [(_, Geometry::Mesh(mesh))] if mesh.is_closed()));
        // Asked for, a mesh that moves keeps its hollows too: as its surface, or as two hulls.
        out.clear();
        assert!(mesh.colliders(&Pose::identity(), true, &Collide::Surface, &mut out).is_empty());
        assert!(matches!(&out[..], [(_, Geometry::Mesh(_))]));
        out.clear();
        let parts = Collide::Parts(Fineness::default());
        assert!(mesh.colliders(&Pose::identity(), true, &parts, &mut out).is_empty());
        assert_eq!(out.len(), 2);
        for (_, geometry) in &out {
            assert!(matches!(geometry, Geometry::Hull(hull) if (hull_volume(hull) - 1.0).abs() < 1e-12));
        }
        out.clear();
        pair.colliders(&Pose::at(Vec3::z()), true, &Collide::Automatic, &mut out);
        assert_eq!(
            out.iter().map(|(p, _)| (p.position.x, p.position.z)).collect::<Vec<_>>(),
            [(-1.0, 1.0), (1.0, 1.0)]
        );
    }
}
