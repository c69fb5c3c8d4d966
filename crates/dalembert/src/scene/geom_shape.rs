//! Shapes of a robot's geoms as shapes of bodies.

use std::sync::Arc;

use super::diagnostics::Diagnostics;
use crate::bodies::articulated::description::{
    GeomShape, HeightField, RobotDescription, RobotGeom, RobotMesh,
};
use crate::bodies::{Shape, TriangleMesh};
use crate::math::{Pose, Vec3};

/// Geoms at their poses as one shape; a point if none of them has a shape of finite size.
pub(super) fn compound<'a>(
    robot: &RobotDescription,
    geoms: impl Iterator<Item = (Pose, &'a RobotGeom)>,
    notes: &mut Diagnostics,
) -> Shape {
    let parts: Vec<(Pose, Shape)> =
        geoms.filter_map(|(pose, geom)| Some((pose, shape(robot, geom, notes)?))).collect();
    if parts.is_empty() { Shape::Point } else { Shape::Compound(parts) }
}

/// The shape of a geom; none of a plane, which has no end.
fn shape(robot: &RobotDescription, geom: &RobotGeom, notes: &mut Diagnostics) -> Option<Shape> {
    let shape = match geom.shape {
        GeomShape::Sphere { radius } => Shape::Sphere { radius },
        GeomShape::Capsule { radius, half_length } => Shape::Capsule { radius, length: 2.0 * half_length },
        GeomShape::Cylinder { radius, half_length } => Shape::Cylinder { radius, length: 2.0 * half_length },
        GeomShape::Ellipsoid { semi_axes } => Shape::Ellipsoid { semi_axes },
        GeomShape::Box { half } => Shape::Box { size: 2.0 * half },
        GeomShape::Mesh(id) => mesh_shape(robot.meshes.get(id.0)?, notes)?,
        GeomShape::HeightField(id) => terrain(robot.height_fields.get(id.0)?, notes)?,
        GeomShape::Plane { .. } => return None,
    };
    shape.validate().is_ok().then_some(shape)
}

/// The surface of a mesh: itself if it is closed, else that of its convex hull, as `impulse` takes it.
fn mesh_shape(mesh: &RobotMesh, notes: &mut Diagnostics) -> Option<Shape> {
    if mesh.vertices.is_empty() {
        return None;
    }
    if let Ok(closed) = TriangleMesh::new(mesh.vertices.clone(), mesh.triangles.clone()) {
        return Some(Shape::Mesh(Arc::new(closed)));
    }
    let hull = crate::mesh::convex_hull(&mesh.vertices).and_then(|triangles| {
        // Vertices inside the hull belong to no triangle.
        let mut used: Vec<u32> = triangles.iter().flatten().copied().collect();
        used.sort_unstable();
        used.dedup();
        let place = |i: u32| used.partition_point(|u| *u < i) as u32;
        let vertices = used.iter().map(|i| mesh.vertices[*i as usize]).collect();
        let triangles = triangles.iter().map(|t| t.map(place)).collect();
        TriangleMesh::new(vertices, triangles).map_err(|e| e.to_string())
    });
    match hull {
        Ok(hull) => Some(Shape::Mesh(Arc::new(hull))),
        Err(error) => {
            notes.error("file", format!("mesh `{}` does not collide: {error}", mesh.name));
            None
        }
    }
}

/// A height field as a closed solid: its surface, walls and a floor at the depth that the file gives.
fn terrain(field: &HeightField, notes: &mut Diagnostics) -> Option<Shape> {
    let (rows, columns) = (field.rows, field.columns);
    let [x, y, height, depth] = field.size;
    if rows < 2 || columns < 2 || field.heights.len() != rows * columns {
        let count = field.heights.len();
        let name = &field.name;
        let message = format!(
            "terrain `{name}` does not collide: it has {count} heights for {rows} rows and {columns} columns"
        );
        notes.error("file", message);
        return None;
    }
    // A floor without depth would touch the lowest points.
    let low = -if depth > 0.0 { depth } else { height.max(1e-3) };
    let across = |i: usize, n: usize, half: f64| half * (2.0 * i as f64 / (n - 1) as f64 - 1.0);
    let mut vertices = Vec::with_capacity(2 * rows * columns);
    for level in 0..2 {
        for r in 0..rows {
            for c in 0..columns {
                let z = if level == 0 { height * field.heights[r * columns + c] } else { low };
                vertices.push(Vec3::new(across(c, columns, x), across(r, rows, y), z));
            }
        }
    }
    let at = |level: usize, r: usize, c: usize| (level * rows * columns + r * columns + c) as u32;
    let mut triangles = Vec::new();
    let mut quad = |a: u32, b: u32, c: u32, d: u32| triangles.extend([[a, b, c], [a, c, d]]);
    for r in 0..rows - 1 {
        for c in 0..columns - 1 {
            quad(at(0, r, c), at(0, r, c + 1), at(0, r + 1, c + 1), at(0, r + 1, c));
            quad(at(1, r, c), at(1, r + 1, c), at(1, r + 1, c + 1), at(1, r, c + 1));
        }
    }
    for c in 0..columns - 1 {
        quad(at(1, 0, c), at(1, 0, c + 1), at(0, 0, c + 1), at(0, 0, c));
        let r = rows - 1;
        quad(at(1, r, c), at(0, r, c), at(0, r, c + 1), at(1, r, c + 1));
    }
    for r in 0..rows - 1 {
        quad(at(1, r, 0), at(0, r, 0), at(0, r + 1, 0), at(1, r + 1, 0));
        let c = columns - 1;
        quad(at(1, r, c), at(1, r + 1, c), at(0, r + 1, c), at(0, r, c));
    }
    match TriangleMesh::new(vertices, triangles) {
        Ok(mesh) => Some(Shape::Mesh(Arc::new(mesh))),
        Err(error) => {
            notes.error("file", format!("terrain `{}` does not collide: {error}", field.name));
            None
        }
    }
}
