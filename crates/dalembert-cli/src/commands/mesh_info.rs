//! `dalembert info` of a mesh file: counts, sizes, quality of elements, and what is wrong.

use std::fmt::Write as _;
use std::path::Path;

use dalembert::bodies::{MeshError, TriangleMesh};
use dalembert::math::Vec3;
use dalembert::mesh::{MeshReport, SurfaceMesh};
use dalembert_formats::mesh::{RawMesh, read_mesh};
use serde_json::{Value, json};

use crate::exit::{Failure, Outcome};
use crate::output::{self, number, safe};

pub(crate) fn command(path: &Path, as_object: bool) -> Outcome {
    let mesh = read_mesh(path).map_err(|error| Failure::Io(safe(&error.to_string())))?;
    let parts = parts(&mesh);
    let text = match as_object {
        true => format!("{:#}\n", as_json(path, &mesh, &parts)),
        false => as_text(path, &mesh, &parts),
    };
    output::print(&text)
}

/// One kind of element of a file.
struct Part {
    report: MeshReport,
    /// Why a surface bounds no solid, or its volume \[m³\]; of triangles only.
    closed: Option<Result<f64, MeshError>>,
}

fn parts(mesh: &RawMesh) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut add = |report: MeshReport, closed| {
        if report.elements > 0 {
            parts.push(Part { report, closed });
        }
    };
    add(mesh.tet_mesh().report(), None);
    add(mesh.hex_mesh().report(), None);
    let surface = mesh.surface_mesh();
    add(surface.report(), Some(enclosed(surface)));
    add(mesh.segment_mesh().report(), None);
    parts
}

fn enclosed(surface: SurfaceMesh) -> Result<f64, MeshError> {
    Ok(TriangleMesh::new(surface.points, surface.triangles)?.unit_mass_properties().mass)
}

/// Vertices that no element uses.
fn unused(mesh: &RawMesh) -> usize {
    let mut used = vec![false; mesh.vertices.len()];
    let corners = mesh.segments.as_flattened().iter().chain(mesh.triangles.as_flattened());
    for &i in corners.chain(mesh.tets.as_flattened()).chain(mesh.hexes.as_flattened()) {
        used[i as usize] = true;
    }
    used.iter().filter(|used| !**used).count()
}

fn as_text(path: &Path, mesh: &RawMesh, parts: &[Part]) -> String {
    let style = output::stdout();
    let mut out = format!("{}\n", style.bold(&safe(&path.display().to_string())));
    let _ = writeln!(out, "  vertices    {}", mesh.vertices.len());
    if let n @ 1.. = unused(mesh) {
        let _ = writeln!(out, "  unused      {n} of them");
    }
    if parts.is_empty() {
        let _ = writeln!(out, "  {}", style.yellow("there are no elements"));
    }
    for Part { report: r, closed } in parts {
        let (many, what, unit) = words(r.element);
        let _ = writeln!(out, "\n  {many}{}{}", " ".repeat(12 - many.len()), r.elements);
        let place = |p: &Vec3| format!("({}, {}, {})", number(p.x), number(p.y), number(p.z));
        let _ = writeln!(out, "    from      {} to {}", place(&r.bounds[0]), place(&r.bounds[1]));
        let (all, least) = (number(r.measure), number(r.smallest));
        let _ = writeln!(out, "    {what:9} {all} {unit}, the smallest {least} {unit}");
        if r.element != "segment" {
            let (mean, worst) = (number(r.mean_quality), number(r.worst_quality));
            let _ =
                writeln!(out, "    quality   {mean} on average, worst {worst} at number {}", r.worst_element);
        }
        if let Some([low, high]) = r.dihedral {
            let [low, high] = [low, high].map(|angle| number(angle.to_degrees()));
            let _ = writeln!(out, "    angles    {low}° to {high}° between faces");
        }
        let _ = writeln!(out, "    pieces    {}", r.components);
        match closed {
            Some(Ok(volume)) => {
                let _ = writeln!(out, "    closed    yes, around {} m³", number(*volume));
            }
            Some(Err(error)) => {
                let _ = writeln!(out, "    closed    no: {error}");
            }
            None => {}
        }
        for problem in r.problems() {
            let _ = writeln!(out, "    {} {problem}", style.yellow("problem  "));
        }
    }
    for note in &mesh.notes {
        let _ = writeln!(out, "\n  note: {note}");
    }
    out
}

/// Many of an element, the name of its size, and its unit.
fn words(element: &str) -> (&'static str, &'static str, &'static str) {
    match element {
        "tetrahedron" => ("tetrahedra", "volume", "m³"),
        "hexahedron" => ("hexahedra", "volume", "m³"),
        "triangle" => ("triangles", "area", "m²"),
        _ => ("segments", "length", "m"),
    }
}

fn as_json(path: &Path, mesh: &RawMesh, parts: &[Part]) -> Value {
    let part = |Part { report: r, closed }: &Part| {
        let (_, what, _) = words(r.element);
        json!({
            "element": r.element,
            "count": r.elements,
            "points": r.points,
            "low": r.bounds[0].as_slice(),
            "high": r.bounds[1].as_slice(),
            what: r.measure,
            "smallest": r.smallest,
            "mean_quality": r.mean_quality,
            "worst_quality": r.worst_quality,
            "worst_element": r.worst_element,
            "dihedral": r.dihedral,
            "components": r.components,
            "open_edges": r.open_edges,
            "enclosed_volume": closed.as_ref().and_then(|c| c.as_ref().ok()),
            "inverted": r.inverted,
            "flat": r.flat,
            "repeated": r.repeated,
            "crowded": r.crowded,
            "twisted": r.twisted,
            "problems": r.problems(),
        })
    };
    json!({
        "file": path.display().to_string(),
        "vertices": mesh.vertices.len(),
        "unused_vertices": unused(mesh),
        "parts": parts.iter().map(part).collect::<Vec<_>>(),
        "notes": mesh.notes,
    })
}
