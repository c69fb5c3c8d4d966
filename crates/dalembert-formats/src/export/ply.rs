//! PLY: one binary mesh per frame. Elements `vertex` (place \[m\] in double precision, colour), `face` and `edge`; z points up.

use std::io::Write;
use std::path::{Path, PathBuf};

use dalembert::model::Model;
use dalembert::state::State;

use super::surface::Surface;
use super::{PALETTE, first_state, numbered, states};
use crate::recording::{Recording, RecordingError, atomic_write};

/// Writes `NAME_0000.ply`, `NAME_0001.ply`, …; returns their names.
pub fn write(model: &Model, recording: &Recording, path: &Path) -> Result<Vec<PathBuf>, RecordingError> {
    let surface = Surface::new(model, &first_state(model, recording)?);
    let mut written = Vec::new();
    for (i, state) in states(model, recording).enumerate() {
        let (state, name) = (state?, numbered(path, i));
        atomic_write(&name, |out| write_frame(&surface, model, &state, out))?;
        written.push(name);
    }
    Ok(written)
}

fn write_frame(
    surface: &Surface,
    model: &Model,
    state: &State,
    out: &mut impl Write,
) -> Result<(), RecordingError> {
    write!(
        out,
        "ply\nformat binary_little_endian 1.0\ncomment dalembert, time {:?} s\n\
         element vertex {}\nproperty double x\nproperty double y\nproperty double z\n\
         property uchar red\nproperty uchar green\nproperty uchar blue\n\
         element face {}\nproperty list uchar int vertex_indices\n",
        state.time,
        surface.block.len(),
        surface.triangles.len(),
    )?;
    // Some readers stumble over an element that has no members.
    if !surface.edges.is_empty() {
        write!(out, "element edge {}\nproperty int vertex1\nproperty int vertex2\n", surface.edges.len())?;
    }
    writeln!(out, "end_header")?;
    let mut bytes = Vec::new();
    let mut blocks = surface.block.iter();
    surface.place(model, state, |p, _| {
        p.iter().for_each(|x| bytes.extend(x.to_le_bytes()));
        let block = blocks.next().copied().unwrap_or_default();
        bytes.extend(PALETTE[block as usize % PALETTE.len()]);
    });
    for t in &surface.triangles {
        bytes.push(3);
        t.iter().for_each(|i| bytes.extend(i.to_le_bytes()));
    }
    surface.edges.iter().flatten().for_each(|i| bytes.extend(i.to_le_bytes()));
    Ok(out.write_all(&bytes)?)
}
