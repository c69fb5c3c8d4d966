//! Point on a plane: the anchor of b does not leave the plane across t through the anchor of a.

use super::Rows;
use super::rows::{Ends, T};

pub(super) const ROWS: usize = 1;

pub(super) fn evaluate(e: &Ends, out: &mut Rows) {
    e.across(0, T, out);
}
