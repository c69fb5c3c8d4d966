//! Planar joint: b keeps its height over the plane across t, and its t axis; two slides and the turn about t are left.

use super::Rows;
use super::rows::{B, Ends, N, T};

pub(super) const ROWS: usize = 3;

pub(super) fn evaluate(e: &Ends, out: &mut Rows) {
    e.across(0, T, out);
    e.square(1, N, T, out);
    e.square(2, B, T, out);
}
