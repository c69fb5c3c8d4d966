//! Point on a line: the anchor of b does not leave the line along t through the anchor of a.

use super::Rows;
use super::rows::{B, Ends, N};

pub(super) const ROWS: usize = 2;

pub(super) fn evaluate(e: &Ends, out: &mut Rows) {
    e.across(0, N, out);
    e.across(1, B, out);
}
