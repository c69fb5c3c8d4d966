//! Soft solids, affine bodies, regions and embedded surfaces: from checked tables to the scene of the engine.

use dalembert::bodies::Shape;
use dalembert::forces::nary::{AffineEnergy, Law, MassKind};
use dalembert::math::Vec3;
use dalembert::mesh::{HexMesh, Region, SurfaceMesh, TetMesh};
use dalembert::scene::{AffineBody, BodyMass, Elements, MappedPoints, SoftBody, Solid};

use super::convert::{count, counts, name, texts, vec3s};
use super::convert_mechanism::{orientation, shape, unit};
use super::deformable_tables::MOST_CELLS_TOGETHER;
use crate::describe::View;
use crate::error::{Files, Problems};

/// All soft solids; those that are refused are among the problems.
pub(super) fn soft_bodies(root: &View<'_>, files: &Files, problems: &mut Problems) -> Vec<SoftBody> {
    let mut bodies = Vec::new();
    let mut together = 0.0;
    for t in root.tables("soft") {
        let Some((solid, elements)) = solid(&t, files, problems) else { continue };
        together += cells_of(&solid);
        if together > MOST_CELLS_TOGETHER {
            let key =
                ["box", "cylinder", "ball", "torus"].into_iter().find(|key| t.has(key)).unwrap_or("name");
            let message = format!(
                "soft bodies grow to about {together:.1e} cells; a scene takes {MOST_CELLS_TOGETHER:e}: ask for fewer `cells`"
            );
            problems.push(files.error(t.span(key), message));
            break;
        }
        bodies.push(SoftBody {
            name: name(&t),
            solid,
            elements,
            law: law(t.text("material")),
            young: t.number("young"),
            poisson: t.number("poisson"),
            density: t.number("density"),
            mass: match t.text("mass") {
                "consistent" => MassKind::Consistent,
                _ => MassKind::Lumped,
            },
            position: t.vec3("position").into(),
            orientation: orientation(&t, "orientation", files, problems),
            velocity: t.vec3("velocity").into(),
            angular_velocity: t.vec3("angular_velocity").into(),
        });
    }
    bodies
}

pub(super) fn law(word: &str) -> Law {
    match word {
        "linear" => Law::Linear,
        "stvk" => Law::StVenantKirchhoff,
        "neo_hookean" => Law::NeoHookean,
        "stable_neo_hookean" => Law::StableNeoHookean,
        _ => Law::Corotated,
    }
}

fn elements(word: &str) -> Elements {
    match word {
        "quadratic_tets" => Elements::QuadraticTets,
        "hexes" => Elements::Hexes,
        "bending_hexes" => Elements::BendingHexes,
        _ => Elements::Tets,
    }
}

/// Cells that the engine will make for a solid, about; an upper bound for round ones.
fn cells_of(solid: &Solid) -> f64 {
    // The square core of a disc has n² cells; n/2 layers (one at least) of 4n cells lie around it.
    let disc = |n: usize| (n * n + 4 * n * (n / 2).max(1)) as f64;
    match solid {
        Solid::Box { cells, .. } => cells.iter().map(|n| *n as f64).product(),
        Solid::Cylinder { cells: [across, along], .. } | Solid::Torus { cells: [across, along], .. } => {
            disc(*across) * *along as f64
        }
        Solid::Ball { cells: n, .. } => (n * n * n + 6 * n * n * (n / 2).max(1)) as f64,
        Solid::Tets(mesh) => mesh.tets.len() as f64 / 6.0,
        Solid::Hexes(mesh) => mesh.hexes.len() as f64,
    }
}

fn solid(t: &View<'_>, files: &Files, problems: &mut Problems) -> Option<(Solid, Elements)> {
    let wanted = t.maybe_text("elements").map(elements);
    if t.has("tets") || t.has("hexes") {
        return given_solid(t, wanted, files, problems);
    }
    for key in ["vertices", "scale"] {
        if t.has(key) {
            problems
                .push(files.error(t.key_span(key), format!("`{key}` is for meshes of `tets` or `hexes`")));
        }
    }
    let solid = if let Some(b) = t.table("box") {
        Solid::Box { size: b.vec3("size").into(), cells: counts(&b, "cells") }
    } else if let Some(c) = t.table("cylinder") {
        Solid::Cylinder { radius: c.number("radius"), length: c.number("length"), cells: counts(&c, "cells") }
    } else if let Some(b) = t.table("ball") {
        Solid::Ball { radius: b.number("radius"), cells: count(b.integer("cells")) }
    } else {
        let r = t.table("torus")?;
        Solid::Torus { ring: r.number("ring"), tube: r.number("tube"), cells: counts(&r, "cells") }
    };
    Some((solid, wanted.unwrap_or_default()))
}

/// A mesh that the file gives by its corners.
fn given_solid(
    t: &View<'_>,
    wanted: Option<Elements>,
    files: &Files,
    problems: &mut Problems,
) -> Option<(Solid, Elements)> {
    let scale = t.number("scale");
    let points: Vec<Vec3> = vec3s(t, "vertices").into_iter().map(|p| p * scale).collect();
    if !t.has("vertices") {
        let key = if t.has("tets") { "tets" } else { "hexes" };
        problems.push(files.error(t.key_span(key), format!("`{key}` wants `vertices` beside it")));
        return None;
    }
    if t.has("tets") {
        let tets = corners(t, "tets", points.len(), files, problems)?;
        if let Some(kind @ (Elements::Hexes | Elements::BendingHexes)) = wanted {
            let word = if kind == Elements::Hexes { "hexes" } else { "bending_hexes" };
            let message = format!("a mesh of tetrahedra has no elements `{word}`");
            problems.push(files.error(t.span("elements"), message));
            return None;
        }
        return Some((Solid::Tets(TetMesh { points, tets }), wanted.unwrap_or(Elements::Tets)));
    }
    let mesh = HexMesh { points, hexes: corners(t, "hexes", vec3s(t, "vertices").len(), files, problems)? };
    Some(match wanted {
        Some(kind @ (Elements::Tets | Elements::QuadraticTets)) => (Solid::Tets(mesh.to_tets()), kind),
        kind => (Solid::Hexes(mesh), kind.unwrap_or(Elements::Hexes)),
    })
}

/// Rows of corners, each the number of one of `count` vertices.
fn corners<const N: usize>(
    t: &View<'_>,
    key: &'static str,
    count: usize,
    files: &Files,
    problems: &mut Problems,
) -> Option<Vec<[u32; N]>> {
    let rows = t.integer_rows(key);
    let mut out = Vec::with_capacity(rows.len());
    for (i, row) in rows.iter().enumerate() {
        let mut corners = [0; N];
        for (slot, corner) in corners.iter_mut().zip(row) {
            match u32::try_from(*corner) {
                Ok(corner) if (corner as usize) < count => *slot = corner,
                _ => {
                    let message = format!(
                        "number {i} of `{key}` names vertex {corner}, but there are only {count} vertices"
                    );
                    problems.push(files.error(t.item_span(key, i), message));
                    return None;
                }
            }
        }
        out.push(corners);
    }
    Some(out)
}

/// An affine body; `None` if its shape is no shape, which is among the problems then.
pub(super) fn affine(t: &View<'_>, files: &Files, problems: &mut Problems) -> Option<AffineBody> {
    Some(AffineBody {
        name: name(t),
        shape: shape(&t.table("shape")?, files, problems)?,
        mass: match t.maybe_number("density") {
            Some(density) => BodyMass::Density(density),
            None => BodyMass::Mass(t.maybe_number("mass").unwrap_or_default()),
        },
        stiffness: t.number("stiffness"),
        energy: match t.text("energy") {
            "arap" => AffineEnergy::AsRigidAsPossible,
            _ => AffineEnergy::Orthogonality,
        },
        position: t.vec3("position").into(),
        orientation: orientation(t, "orientation", files, problems),
        velocity: t.vec3("velocity").into(),
        angular_velocity: t.vec3("angular_velocity").into(),
    })
}

/// The region that `inside` describes; everything if there is none.
pub(super) fn inside(t: &View<'_>, files: &Files, problems: &mut Problems) -> Region {
    let Some(region) = t.table("inside") else { return Region::All };
    if let [low, high] = vec3s(&region, "box")[..] {
        if !(0..3).all(|k| low[k] <= high[k]) {
            let message = "the first corner of `box` must be the lower one along x, y and z";
            problems.push(files.error(region.span("box"), message));
        }
        return Region::Box { low, high };
    }
    let mut normal = |plane: &View<'_>| {
        let given = Vec3::from(plane.vec3("normal"));
        unit(&given).unwrap_or_else(|| {
            let message = format!("({}, {}, {}) is no direction", given.x, given.y, given.z);
            problems.push(files.error(plane.span("normal"), message));
            Vec3::z()
        })
    };
    if let Some(p) = region.table("plane") {
        let normal = normal(&p);
        return Region::Plane { through: p.vec3("through").into(), normal, within: p.number("within") };
    }
    if let Some(p) = region.table("half_space") {
        let normal = normal(&p);
        return Region::HalfSpace { through: p.vec3("through").into(), normal };
    }
    match region.table("sphere") {
        Some(s) => Region::Sphere { center: s.vec3("center").into(), radius: s.number("radius") },
        // The rule of the table has refused a region without a form.
        None => Region::All,
    }
}

pub(super) fn points(t: &View<'_>, files: &Files, problems: &mut Problems) -> MappedPoints {
    let surface = t.table("surface").and_then(|s| surface(&s, files, problems));
    MappedPoints { name: name(t), of: texts(t, "of"), at: vec3s(t, "at"), surface }
}

pub(super) fn surface(t: &View<'_>, files: &Files, problems: &mut Problems) -> Option<SurfaceMesh> {
    let mut mesh = if t.has("vertices") {
        let scale = t.number("scale");
        let points: Vec<Vec3> = vec3s(t, "vertices").into_iter().map(|p| p * scale).collect();
        let triangles = corners(t, "triangles", points.len(), files, problems)?;
        SurfaceMesh { points, triangles }
    } else {
        let shape: Shape = shape(t, files, problems)?;
        let mesh = shape.triangles();
        SurfaceMesh { points: mesh.vertices().to_vec(), triangles: mesh.triangles().to_vec() }
    };
    let (turn, place) = (orientation(t, "orientation", files, problems), Vec3::from(t.vec3("position")));
    if t.has("orientation") || t.has("position") {
        mesh.points.iter_mut().for_each(|p| *p = turn * *p + place);
    }
    Some(mesh)
}
