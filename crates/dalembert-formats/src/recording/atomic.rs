//! Files that appear under their name only when they are whole.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::RecordingError;

/// Writes a file under `<path>.part` and renames it to `path` when `write` has succeeded.
///
/// A reader sees the old file or the whole new one, never a part of it. When `write` fails the `.part` is
/// removed and `path` stays as it was. An [`io::Error`](std::io::Error) in `write` comes back with the path.
pub fn atomic_write(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), RecordingError>,
) -> Result<(), RecordingError> {
    let path = path.as_ref();
    check_destination(path)?;
    let part = with_suffix(path, ".part");
    let file = File::create(&part).map_err(RecordingError::io("create", &part))?;
    let written = fill(file, write).and_then(|file| publish(file, &part, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&part); // the first error is the one to tell
        match error {
            RecordingError::Output(source) => RecordingError::io("write", path)(source),
            other => other,
        }
    })
}

fn fill(
    file: File,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), RecordingError>,
) -> Result<File, RecordingError> {
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    out.flush()?;
    Ok(out.into_inner().map_err(|e| e.into_error())?)
}

/// Brings `file` to the disk and gives it its final name.
pub(super) fn publish(file: File, part: &Path, path: &Path) -> Result<(), RecordingError> {
    file.sync_all().map_err(RecordingError::io("write", part))?;
    drop(file);
    fs::rename(part, path).map_err(RecordingError::io("create", path))?;
    // The rename itself is on the disk once the folder is; where folders cannot be synced, it is not needed.
    if cfg!(unix)
        && let Ok(folder) = File::open(folder_of(path))
    {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// Refuses a destination that the final rename could not take, before any work is done.
pub(super) fn check_destination(path: &Path) -> Result<(), RecordingError> {
    let folder = folder_of(path);
    if !folder.is_dir() {
        return Err(RecordingError::MissingFolder { path: path.to_owned(), folder });
    }
    if path.is_dir() || path.file_name().is_none() {
        let source = std::io::ErrorKind::IsADirectory.into();
        return Err(RecordingError::io("create", path)(source));
    }
    // The rename would put a plain file in the place of a device such as `/dev/null`, for every program.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(RecordingError::NotAFile { path: path.to_owned() });
    }
    Ok(())
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// `path` with `suffix` after its last character: `run.mcap` and `.part` give `run.mcap.part`.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}
