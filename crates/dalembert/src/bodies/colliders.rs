//! From the shape of a body to the geometry that collides.

use std::sync::Arc;

use super::{Shape, TriangleMesh};
use crate::collide::rigid::{Geometry, Hull, Mesh};
use crate::math::{Pose, Vec3};

/// What colliding geometry leaves out of a shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Filled {
    /// Volume of the mesh over that of its convex hull.
    pub part: f64,
}

impl Shape {
    /// Adds the convex pieces that collide for this shape, each at its pose in the frame of the body, which stands at `at`.
    ///
    /// A mesh of a body that `moves` becomes its convex hull; the answer says how much of the hull the mesh fills if that
    /// is less than all but a thousandth, once for each such mesh. The mesh of a body that stands still keeps its hollows.
    pub fn colliders(&self, at: &Pose, moves: bool, out: &mut Vec<(Pose, Geometry)>) -> Vec<Filled> {
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
                    .flat_map(|(pose, part)| part.colliders(&at.then(pose), moves, out))
                    .collect();
            }
            Shape::Shell(shell) => {
                let surface = Mesh::new(shell.vertices().to_vec(), shell.triangles());
                if !moves && let Ok(surface) = surface {
                    out.push((*at, Geometry::Mesh(Arc::new(surface))));
                    return Vec::new();
                }
                let Ok(hull) = Hull::new(shell.vertices()) else { return Vec::new() };
                let part = shell.unit_mass_properties().mass / hull_volume(&hull);
                out.push((*at, Geometry::Hull(Arc::new(hull))));
                return if part > 0.999 { Vec::new() } else { vec![Filled { part }] };
            }
            Shape::Mesh(mesh) => {
                let Ok(hull) = Hull::new(mesh.vertices()) else { return Vec::new() };
                let part = mesh.unit_mass_properties().mass / hull_volume(&hull);
                let hollow = !(part > 0.999);
                if hollow
                    && !moves
                    && let Ok(surface) = Mesh::new(mesh.vertices().to_vec(), mesh.triangles())
                {
                    out.push((*at, Geometry::Mesh(Arc::new(surface))));
                    return Vec::new();
                }
                out.push((*at, Geometry::Hull(Arc::new(hull))));
                return if hollow { vec![Filled { part }] } else { Vec::new() };
            }
        };
        out.push((*at, geometry));
        Vec::new()
    }
}

fn hull_volume(hull: &Hull) -> f64 {
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
        assert!(convex.colliders(&Pose::identity(), true, &mut out).is_empty());
        assert!(
            matches!(&out[..], [(_, Geometry::Hull(hull))] if hull.vertices().len() == 8 && hull.faces() == 6)
        );
        // Two blocks as one mesh: the hull bridges the space of 1 between them.
        let pair = Shape::Compound(vec![block(-1.0, [1.0; 3]), block(1.0, [1.0; 3])]);
        let mesh = Shape::Mesh(Arc::new(pair.triangles()));
        out.clear();
        let filled = mesh.colliders(&Pose::identity(), true, &mut out);
        assert!((filled[0].part - 2.0 / 3.0).abs() < 1e-12, "{filled:?}");
        out.clear();
        assert!(mesh.colliders(&Pose::identity(), false, &mut out).is_empty());
        assert!(matches!(&out[..], [(_, Geometry::Mesh(mesh))] if mesh.is_closed()));
        out.clear();
        pair.colliders(&Pose::at(Vec3::z()), true, &mut out);
        assert_eq!(
            out.iter().map(|(p, _)| (p.position.x, p.position.z)).collect::<Vec<_>>(),
            [(-1.0, 1.0), (1.0, 1.0)]
        );
    }
}
