//! VTK PolyData: one `.vtp` per frame and a `.pvd` that gives their times, as ParaView opens them.
//!
//! Points carry `velocity` \[m/s\] and `body`, the number of the body or set that they belong to. Points on their own are
//! vertices, springs are lines, bodies and cloth are polygons. Arrays are base64 of little-endian numbers behind their
//! length in bytes (u64); places and velocities are doubles. z points up.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

use dalembert::model::Model;
use dalembert::state::State;

use super::surface::Surface;
use super::{first_state, numbered, states};
use crate::recording::{Recording, RecordingError, atomic_write};

/// Writes `NAME_0000.vtp`, `NAME_0001.vtp`, … and `NAME.pvd`; returns their names.
pub fn write(model: &Model, recording: &Recording, path: &Path) -> Result<Vec<PathBuf>, RecordingError> {
    let surface = Surface::new(model, &first_state(model, recording)?);
    let mut written = Vec::new();
    let mut list = String::new();
    for (i, state) in states(model, recording).enumerate() {
        let (state, name) = (state?, numbered(path, i));
        atomic_write(&name, |out| Ok(out.write_all(frame(&surface, model, &state).as_bytes())?))?;
        let file = name.file_name().unwrap_or_default().to_string_lossy();
        let _ = writeln!(
            list,
            "    <DataSet timestep=\"{:?}\" part=\"0\" file=\"{}\"/>",
            state.time,
            escape(&file)
        );
        written.push(name);
    }
    let collection = path.with_extension("pvd");
    atomic_write(&collection, |out| {
        write!(
            out,
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"1.0\" byte_order=\"LittleEndian\" \
             header_type=\"UInt64\">\n  <Collection>\n{list}  </Collection>\n</VTKFile>\n"
        )?;
        Ok(())
    })?;
    written.push(collection);
    Ok(written)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

fn frame(surface: &Surface, model: &Model, state: &State) -> String {
    let (mut places, mut velocities) = (Vec::new(), Vec::new());
    surface.place(model, state, |p, v| {
        places.extend(p.iter().flat_map(|x| x.to_le_bytes()));
        velocities.extend(v.iter().flat_map(|x| x.to_le_bytes()));
    });
    let bytes =
        |numbers: &mut dyn Iterator<Item = i32>| numbers.flat_map(i32::to_le_bytes).collect::<Vec<u8>>();
    let blocks = bytes(&mut surface.block.iter().map(|b| *b as i32));
    let mut out = format!(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"PolyData\" version=\"1.0\" byte_order=\"LittleEndian\" \
         header_type=\"UInt64\">\n<PolyData>\n<FieldData><DataArray type=\"Float64\" Name=\"TimeValue\" \
         NumberOfTuples=\"1\" format=\"ascii\">{:?}</DataArray></FieldData>\n\
         <Piece NumberOfPoints=\"{}\" NumberOfVerts=\"{}\" NumberOfLines=\"{}\" NumberOfStrips=\"0\" \
         NumberOfPolys=\"{}\">\n",
        state.time,
        surface.block.len(),
        surface.loose.len(),
        surface.edges.len(),
        surface.triangles.len()
    );
    let array = |out: &mut String, kind: &str, name: &str, components: usize, data: &[u8]| {
        let _ = writeln!(
            out,
            "<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{components}\" format=\"binary\">{}</DataArray>",
            base64(data)
        );
    };
    out.push_str("<Points>\n");
    array(&mut out, "Float64", "Points", 3, &places);
    out.push_str("</Points>\n<PointData Vectors=\"velocity\" Scalars=\"body\">\n");
    array(&mut out, "Float64", "velocity", 3, &velocities);
    array(&mut out, "Int32", "body", 1, &blocks);
    out.push_str("</PointData>\n");
    let mut cells = |tag: &str, corners: &[u32], each: usize| {
        let _ = writeln!(out, "<{tag}>");
        array(&mut out, "Int32", "connectivity", 1, &bytes(&mut corners.iter().map(|i| *i as i32)));
        let ends = &mut (1..=corners.len() / each).map(|k| (k * each) as i32);
        array(&mut out, "Int32", "offsets", 1, &bytes(ends));
        let _ = writeln!(out, "</{tag}>");
    };
    cells("Verts", &surface.loose, 1);
    cells("Lines", surface.edges.as_flattened(), 2);
    cells("Polys", surface.triangles.as_flattened(), 3);
    out.push_str("</Piece>\n</PolyData>\n</VTKFile>\n");
    out
}

/// The length in bytes as u64, then the bytes, together in base64.
fn base64(data: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let length = (data.len() as u64).to_le_bytes();
    let mut out = String::with_capacity((data.len() + 8).div_ceil(3) * 4);
    let mut all = length.iter().chain(data).copied();
    while let Some(first) = all.next() {
        let rest = [all.next(), all.next()];
        let bits = u32::from_be_bytes([0, first, rest[0].unwrap_or(0), rest[1].unwrap_or(0)]);
        let letters = 2 + rest.iter().flatten().count();
        for k in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * k) & 63) as usize];
            out.push(if k < letters { char::from(letter) } else { '=' });
        }
    }
    out
}
