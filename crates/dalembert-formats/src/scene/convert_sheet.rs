//! Cloth, rods, obstacles and pressure: from checked tables to the scene of the engine.

use dalembert::forces::unary::ObstacleShape;
use dalembert::math::Vec3;
use dalembert::mesh::Diagonals;
use dalembert::scene::{Bending, Cloth, Membrane, ObstacleItem, PressureItem, Rod, Sheet};

use super::convert::{count, counts, name, texts, vec3s};
use super::convert_deformable::surface;
use super::convert_mechanism::{orientation, unit};
use super::deformable_tables::MOST_CELLS_TOGETHER;
use crate::describe::View;
use crate::error::{Files, Problems};

/// All cloth; what is refused is among the problems.
pub(super) fn cloths(root: &View<'_>, files: &Files, problems: &mut Problems) -> Vec<Cloth> {
    let mut all = Vec::new();
    let mut together = 0.0;
    for t in root.tables("cloth") {
        let Some(sheet) = sheet(&t, files, problems) else { continue };
        together += match &sheet {
            Sheet::Grid { cells: [a, b], .. } => (a * b) as f64,
            Sheet::Surface(mesh) => 0.5 * mesh.triangles.len() as f64,
        };
        if together > MOST_CELLS_TOGETHER {
            let key = if t.has("grid") { "grid" } else { "surface" };
            let message = format!(
                "cloth grows to about {together:.1e} squares; a scene takes {MOST_CELLS_TOGETHER:e}: ask for fewer `cells`"
            );
            problems.push(files.error(t.span(key), message));
            break;
        }
        let membrane = match t.text("membrane") {
            "baraff_witkin" => Membrane::BaraffWitkin,
            _ => Membrane::Stvk,
        };
        all.push(Cloth {
            name: name(&t),
            sheet,
            membrane,
            young: t.number("young"),
            poisson: t.number("poisson"),
            thickness: t.number("thickness"),
            density: t.number("density"),
            bending: t.maybe_number("bending"),
            bending_law: match t.text("bending_law") {
                "quadratic" => Bending::Quadratic,
                _ => Bending::Hinges,
            },
            strain_limit: t.maybe_number("strain_limit"),
            position: t.vec3("position").into(),
            orientation: orientation(&t, "orientation", files, problems),
            velocity: t.vec3("velocity").into(),
        });
    }
    all
}

fn sheet(t: &View<'_>, files: &Files, problems: &mut Problems) -> Option<Sheet> {
    if let Some(s) = t.table("surface") {
        return surface(&s, files, problems).map(Sheet::Surface);
    }
    let grid = t.table("grid")?;
    let size = grid.numbers("size");
    let side = |i: usize| size.get(i).copied().unwrap_or_default();
    Some(Sheet::Grid {
        size: [side(0), side(1)],
        cells: counts(&grid, "cells"),
        diagonals: match grid.text("diagonals") {
            "same" => Diagonals::Same,
            _ => Diagonals::Alternating,
        },
    })
}

pub(super) fn rod(t: &View<'_>) -> Rod {
    let points = match t.table("line") {
        Some(line) => {
            let (from, to) = (Vec3::from(line.vec3("from")), Vec3::from(line.vec3("to")));
            let n = count(line.integer("edges")).max(1);
            (0..=n).map(|i| from.lerp(&to, i as f64 / n as f64)).collect()
        }
        None => vec3s(t, "points"),
    };
    let ends = t.maybe_text("clamped").unwrap_or_default();
    Rod {
        name: name(t),
        points,
        radius: t.number("radius"),
        young: t.number("young"),
        poisson: t.number("poisson"),
        density: t.number("density"),
        twist: t.bool("twist"),
        clamped: [ends == "start" || ends == "both", ends == "end" || ends == "both"],
        velocity: t.vec3("velocity").into(),
    }
}

pub(super) fn obstacle(t: &View<'_>, files: &Files, problems: &mut Problems) -> ObstacleItem {
    let ball = |s: &View<'_>| (Vec3::from(s.vec3("center")), s.number("radius"));
    let shape = if let Some(s) = t.table("sphere") {
        let (center, radius) = ball(&s);
        ObstacleShape::Sphere { center, radius }
    } else if let Some(s) = t.table("hollow") {
        let (center, radius) = ball(&s);
        ObstacleShape::Hollow { center, radius }
    } else {
        let through = t.table("plane").map(|p| p.vec3("through")).unwrap_or_default();
        let given = t.table("plane").map_or(Vec3::z(), |p| p.vec3("normal").into());
        let normal = unit(&given).unwrap_or_else(|| {
            let message = format!("({}, {}, {}) is no direction", given.x, given.y, given.z);
            if let Some(p) = t.table("plane") {
                problems.push(files.error(p.span("normal"), message));
            }
            Vec3::z()
        });
        ObstacleShape::Plane { point: through.into(), normal }
    };
    ObstacleItem {
        name: name(t),
        on: texts(t, "on"),
        shape,
        radius: t.number("radius"),
        stiffness: t.number("stiffness"),
        damping: t.number("damping"),
    }
}

pub(super) fn pressure(t: &View<'_>) -> PressureItem {
    PressureItem { name: name(t), on: t.text("on").to_owned(), pressure: t.number("pressure") }
}
