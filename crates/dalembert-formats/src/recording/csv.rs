//! Recordings as tables: comma-separated values with a header row that names the units.
//!
//! Numbers are the shortest decimals that read back to the same bits; a value that is not finite is `NaN`,
//! `inf` or `-inf`. Fields are quoted as RFC 4180 says; rows end with a line feed.

use std::borrow::Cow;
use std::io::Write;

use super::{Recording, RecordingError};

/// Writes the scalars of a recording, one row per time.
pub fn write_scalars(recording: &Recording, mut out: impl Write) -> Result<(), RecordingError> {
    let names = recording.header().scalar_names.iter().cloned();
    write_header(&mut out, names)?;
    for row in recording.scalars() {
        let row = row?;
        write_row(&mut out, row.time, row.values)?;
    }
    Ok(out.flush()?)
}

/// Writes rows of any numbers: a time \[s\], and one number for each of `names`.
pub fn write_table(
    names: impl IntoIterator<Item = String>,
    rows: impl IntoIterator<Item = Result<(f64, Vec<f64>), RecordingError>>,
    mut out: impl Write,
) -> Result<(), RecordingError> {
    write_header(&mut out, names.into_iter())?;
    for row in rows {
        let (time, values) = row?;
        write_row(&mut out, time, values)?;
    }
    Ok(out.flush()?)
}

fn write_header(out: &mut impl Write, names: impl Iterator<Item = String>) -> Result<(), RecordingError> {
    write!(out, "time [s]")?;
    for name in names {
        write!(out, ",{}", quoted(&name))?;
    }
    Ok(writeln!(out)?)
}

fn write_row(
    out: &mut impl Write,
    time: f64,
    values: impl IntoIterator<Item = f64>,
) -> Result<(), RecordingError> {
    write!(out, "{time:?}")?;
    for value in values {
        write!(out, ",{value:?}")?;
    }
    Ok(writeln!(out)?)
}

/// The field in quotes if it holds a character that would end it.
fn quoted(field: &str) -> Cow<'_, str> {
    if field.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\"")).into()
    } else {
        field.into()
    }
}
