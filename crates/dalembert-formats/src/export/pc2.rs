//! PC2: a cache of points over time, as modifiers of Blender, 3ds Max and others read it.
//!
//! Little-endian: `POINTCACHE2\0`, i32 version 1, i32 number of points, f32 first frame, f32 frames per sample, i32
//! number of samples; then f32 x, y, z of each point, sample by sample. A sample is a recorded frame; z points up.

use std::io::Write;
use std::path::Path;

use dalembert::model::Model;

use super::states;
use crate::recording::{Recording, RecordingError, atomic_write};

/// Writes the places of all points (particles and carried points) in every recorded frame.
pub fn write(model: &Model, recording: &Recording, path: &Path) -> Result<(), RecordingError> {
    atomic_write(path, |out| {
        out.write_all(b"POINTCACHE2\0")?;
        out.write_all(&1i32.to_le_bytes())?;
        out.write_all(&(model.layout.points as i32).to_le_bytes())?;
        out.write_all(&0f32.to_le_bytes())?;
        out.write_all(&1f32.to_le_bytes())?;
        out.write_all(&(recording.frame_count() as i32).to_le_bytes())?;
        for state in states(model, recording) {
            for x in &state?.q[model.layout.points_q()..model.layout.robots_q()] {
                out.write_all(&(*x as f32).to_le_bytes())?;
            }
        }
        Ok(())
    })
}
