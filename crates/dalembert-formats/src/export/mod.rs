//! Recordings as files of other tools.
//!
//! | ending | holds | for |
//! |---|---|---|
//! | [`.glb`](glb) | meshes of bodies with translation and rotation over time, points as morph targets | Blender, three.js |
//! | [`.ply`](ply) | one mesh per frame, `NAME_0000.ply` … | MeshLab, Blender |
//! | [`.vtp`](vtp) | one mesh per frame with velocities, and a `.pvd` that gives their times | ParaView |
//! | [`.pc2`](pc2) | places of all points over time | modifiers of Blender and others |
//!
//! Each file appears under its name only when it is whole. Lengths are in metres; z points up, except in glTF, where y
//! does and a root node turns the scene.

pub mod glb;
pub mod pc2;
pub mod ply;
mod surface;
pub mod topology;
pub mod vtp;

use std::path::{Path, PathBuf};

use dalembert::model::Model;
use dalembert::state::State;

use crate::recording::{Recording, RecordingError};

/// Colours of bodies in turn, red, green, blue, as they appear on a screen (sRGB); told apart by most eyes, on light
/// and on dark ground.
pub const PALETTE: [[u8; 3]; 8] = [
    [66, 125, 190],
    [232, 135, 52],
    [72, 160, 105],
    [203, 80, 88],
    [132, 108, 186],
    [65, 165, 175],
    [214, 168, 46],
    [150, 112, 88],
];

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// glTF 2.0, binary.
    Glb,
    /// A sequence of PLY meshes.
    Ply,
    /// A sequence of VTK PolyData files.
    Vtp,
    /// A point cache.
    Pc2,
}

impl Format {
    /// All kinds with their endings.
    pub const ALL: [(&'static str, Format); 4] =
        [("glb", Format::Glb), ("ply", Format::Ply), ("vtp", Format::Vtp), ("pc2", Format::Pc2)];

    /// The kind that the ending of a name stands for.
    pub fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        Format::ALL.iter().find(|(name, _)| *name == ending).map(|(_, format)| *format)
    }

    /// Writes a recording of `model`; returns the names of the files.
    pub fn write(
        self,
        model: &Model,
        recording: &Recording,
        path: &Path,
    ) -> Result<Vec<PathBuf>, RecordingError> {
        match self {
            Format::Glb => glb::write(model, recording, path).map(|()| vec![path.to_owned()]),
            Format::Pc2 => pc2::write(model, recording, path).map(|()| vec![path.to_owned()]),
            Format::Ply => ply::write(model, recording, path),
            Format::Vtp => vtp::write(model, recording, path),
        }
    }
}

/// The recorded states in order, with their carried points.
fn states<'a>(
    model: &'a Model,
    recording: &'a Recording,
) -> impl Iterator<Item = Result<State, RecordingError>> + 'a {
    recording.frames().map(|frame| {
        let mut state = State::unpack(&model.layout, &frame?.state)?;
        model.settle(&mut state);
        Ok(state)
    })
}

/// The first recorded state, from which sizes and neighbours are taken.
fn first_state(model: &Model, recording: &Recording) -> Result<State, RecordingError> {
    let mut state = State::unpack(&model.layout, &recording.frame(0)?.state)?;
    model.settle(&mut state);
    Ok(state)
}

/// `out.ply` and 7 give `out_0007.ply`.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}_{number:04}.{ending}"))
}
