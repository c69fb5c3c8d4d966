//! MJCF.

use dalembert::scene::robot::Robot;

use super::ReadOptions;
use super::xml::{Document, Loader, Parsed};
use crate::error::Diagnostic;

pub(super) fn read(
    doc: &mut Document,
    parsed: Parsed,
    _loader: &mut Loader<'_>,
    _options: &ReadOptions,
) -> Result<Robot, Diagnostic> {
    Err(doc.files.error(doc.node(parsed.root).span(), "MJCF is not read yet"))
}
