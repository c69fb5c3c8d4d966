//! Shapes of bodies, and surfaces carried by them, from the keys of a scene file.

use std::sync::Arc;

use super::MOST_POINTS;
use super::keys::*;
use crate::bodies::{Shape, Shell, TriangleMesh};
use crate::describe::short::*;
use crate::describe::{Field, Findings, Key, Kind, Rule, Table, View, fields};
use crate::math::{Pose, Quat, Vec3};
use crate::mesh::SurfaceMesh;

const ROUND: Table = Table::new(
    "round",
    "A round shape that stands along z, centred on the origin of the body.",
    &[
        Field::required("radius", POSITIVE, "m", "Radius."),
        Field::required(
            "length",
            NOT_NEGATIVE,
            "m",
            "Length along z; of a capsule without its half balls. A cone has its tip up.",
        ),
    ],
);

const fn round(key: &'static str, doc: &'static str) -> Field {
    Field::optional(key, Kind::Table(const { &ROUND }), "", doc)
}

const SOLIDS: &[Field] = &[
    Field::optional("sphere", POSITIVE, "m", "A ball of this radius."),
    Field::optional("box", SIZES, "m", "A box of these full sizes."),
    round("capsule", "A cylinder with half balls."),
    round("cylinder", "A round cylinder."),
    round("cone", "A round cone."),
    Field::optional("ellipsoid", SIZES, "m", "An ellipsoid of these semi-axes."),
];

/// Corners of elements among vertices.
pub(super) const CORNER: Kind = integer(0, u32::MAX as i64);

const TRIANGLES: Field = Field::optional(
    "triangles",
    list(&list(&CORNER, 3, 3), 1, usize::MAX),
    "",
    "Corners of the triangles of a mesh, from 0, counter-clockwise seen from outside.",
);
const SCALE: Field = Field::new("scale", POSITIVE, number(1.0), "", "Factor on the vertices of a mesh.");

/// The loader replaces `mesh` by `vertices` and `triangles`.
const MESH: &[Field] = &[
    Field::optional(
        "mesh",
        Kind::Text,
        "",
        "A mesh from a file (OBJ or STL) whose path is relative to this file; closed unless `thickness` is given.",
    ),
    Field::optional(
        "vertices",
        list(&Kind::VEC3, 3, MOST_POINTS),
        "m",
        "Vertices of a mesh, with `triangles`; closed unless `thickness` is given.",
    ),
    TRIANGLES,
    Field::optional(
        "thickness",
        POSITIVE,
        "m",
        "The mesh is a thin sheet, which need not close, and weighs as if it had this thickness. Contact is with its triangles.",
    ),
    SCALE,
];

const PLACE: &[Field] =
    &[Field::new("position", VEC3, ORIGIN, "m", "Its place in the body's frame."), ORIENTATION];

/// What a part or a skin may be.
const ONE_SOLID: Rule =
    Rule::ExactlyOne(&["sphere", "box", "capsule", "cylinder", "cone", "ellipsoid", "mesh", "vertices"]);
const MESH_TOGETHER: Rule = Rule::Together(&["vertices", "triangles"]);

const PART: Table = Table::new(
    "part",
    "One part of a compound: a shape, and where it stands in the body. Where parts overlap, mass counts twice.",
    fields![SOLIDS, MESH, PLACE],
)
.with_rules(&[ONE_SOLID, MESH_TOGETHER]);

/// A shape in the frame of a body.
pub(super) const SHAPE: Table = Table::new(
    "shape",
    "The shape of a rigid or affine body, in its own frame.",
    fields![
        SOLIDS,
        MESH,
        &[
            Field::optional(
                "compound",
                Kind::Tables(const { &PART }),
                "",
                "Several shapes, each at its place.",
            ),
            Field::optional("point", BOOL, "", "True for a body without extent; `inertia` gives the rest."),
        ],
    ],
)
.with_rules(&[
    Rule::ExactlyOne(&[
        "sphere",
        "box",
        "capsule",
        "cylinder",
        "cone",
        "ellipsoid",
        "mesh",
        "vertices",
        "compound",
        "point",
    ]),
    MESH_TOGETHER,
]);

/// A surface in the frame of a body.
pub(super) const SKIN: Table = Table::new(
    "skin",
    "A surface in the frame of a body: that of a shape, or triangles, which need not be closed.",
    fields![
        SOLIDS,
        &[
            // The loader replaces it by `vertices` and `triangles`.
            Field::optional(
                "mesh",
                Kind::Text,
                "",
                "Triangles from a file (OBJ, STL, PLY, or the outside of a `.msh` or `.vtk`) whose path is relative to this file.",
            ),
            Field::optional(
                "vertices",
                list(&Kind::VEC3, 3, MOST_POINTS),
                "m",
                "Vertices of a surface, with `triangles`.",
            ),
            TRIANGLES,
            SCALE,
        ],
        PLACE,
    ],
)
.with_rules(&[ONE_SOLID, MESH_TOGETHER]);

pub(super) const SURFACE: Field = Field::optional(
    "surface",
    Kind::Table(const { &SKIN }),
    "",
    "A surface that a soft, affine or rigid body carries, in its frame; drawn, and its points come after `at`.",
);

/// The shape of the table `shape`; a point if there is none.
impl Key for Shape {
    fn read(t: &View<'_>, key: &'static str, out: &mut Findings) -> Option<Self> {
        match t.table(key) {
            Some(table) => shape(&table, out),
            None => Some(Self::Point),
        }
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::Point
    }
}

fn shape(t: &View<'_>, out: &mut Findings) -> Option<Shape> {
    if t.gives("point") {
        if !t.bool("point") {
            out.error(t.span("point"), "`point` can only be `true`");
        }
        return Some(Shape::Point);
    }
    if t.gives("compound") {
        let mut parts = Vec::new();
        for part in t.tables("compound") {
            parts.push((Pose::read(&part, "", out)?, shape(&part, out)?));
        }
        return Some(Shape::Compound(parts));
    }
    if t.has("vertices") {
        return mesh(t, out);
    }
    if t.has("scale") {
        out.error(t.key_span("scale"), "`scale` is for meshes");
    }
    if let Some(radius) = t.maybe_number("sphere") {
        return Some(Shape::Sphere { radius });
    }
    if let Some(size) = t.item("box") {
        return Some(Shape::Box { size });
    }
    if let Some(semi_axes) = t.item("ellipsoid") {
        return Some(Shape::Ellipsoid { semi_axes });
    }
    let round = |key: &str| t.table(key).map(|r| (r.number("radius"), r.number("length")));
    if let Some((radius, length)) = round("capsule") {
        return Some(Shape::Capsule { radius, length });
    }
    if let Some((radius, length)) = round("cylinder") {
        return Some(Shape::Cylinder { radius, length });
    }
    round("cone").map(|(radius, length)| Shape::Cone { radius, length })
}

/// Vertices, scaled.
pub(super) fn scaled_vertices(t: &View<'_>) -> Vec<Vec3> {
    let scale = t.number("scale");
    t.vec3s("vertices").into_iter().map(|v| Vec3::from(v) * scale).collect()
}

fn mesh(t: &View<'_>, out: &mut Findings) -> Option<Shape> {
    let vertices = scaled_vertices(t);
    let corner = |row: &Vec<i64>| {
        let at = |k: usize| row.get(k).and_then(|&i| u32::try_from(i).ok()).unwrap_or(u32::MAX);
        [at(0), at(1), at(2)]
    };
    let triangles = t.integer_rows("triangles").iter().map(corner).collect();
    let thickness = if t.gives("thickness") { t.maybe_number("thickness") } else { None };
    let shape = match thickness {
        None => TriangleMesh::new(vertices, triangles).map(|mesh| Shape::Mesh(Arc::new(mesh))),
        Some(thickness) => {
            Shell::new(vertices, triangles, thickness).map(|shell| Shape::Shell(Arc::new(shell)))
        }
    };
    match shape {
        Ok(shape) => Some(shape),
        Err(error) => {
            out.error(t.span("vertices"), error.to_string());
            None
        }
    }
}

/// Rows of corners, each the number of one of `count` vertices.
pub(super) fn corners<const N: usize>(
    t: &View<'_>,
    key: &'static str,
    count: usize,
    out: &mut Findings,
) -> Option<Vec<[u32; N]>> {
    let rows = t.integer_rows(key);
    let mut all = Vec::with_capacity(rows.len());
    for (i, row) in rows.iter().enumerate() {
        let mut corners = [0; N];
        for (slot, corner) in corners.iter_mut().zip(row) {
            match u32::try_from(*corner) {
                Ok(corner) if (corner as usize) < count => *slot = corner,
                _ => {
                    let message = format!(
                        "number {i} of `{key}` names vertex {corner}, but there are only {count} vertices"
                    );
                    out.error(t.item_span(key, i), message);
                    return None;
                }
            }
        }
        all.push(corners);
    }
    Some(all)
}

/// The surface of the table `surface`.
impl Key for SurfaceMesh {
    fn read(t: &View<'_>, key: &'static str, out: &mut Findings) -> Option<Self> {
        let t = t.table(key)?;
        let mut mesh = if t.has("vertices") {
            let points = scaled_vertices(&t);
            let triangles = corners(&t, "triangles", points.len(), out)?;
            Self { points, triangles }
        } else {
            let mesh = shape(&t, out)?.triangles();
            Self { points: mesh.vertices().to_vec(), triangles: mesh.triangles().to_vec() }
        };
        let (turn, place) = (Quat::read(&t, "orientation", out)?, Vec3::from(t.vec3("position")));
        if t.has("orientation") || t.has("position") {
            mesh.points.iter_mut().for_each(|p| *p = turn * *p + place);
        }
        Some(mesh)
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self { points: Vec::new(), triangles: Vec::new() }
    }
}
