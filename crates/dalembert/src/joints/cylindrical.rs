//! Cylindrical joint: t axes on one line; slide along t and turn about t are left.

use super::Rows;
use super::rows::{B, Ends, N, T};

pub(super) const ROWS: usize = 4;

pub(super) fn evaluate(e: &Ends, out: &mut Rows) {
    e.across(0, N, out);
    e.across(1, B, out);
    e.square(2, N, T, out);
    e.square(3, B, T, out);
}
