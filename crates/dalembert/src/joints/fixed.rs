//! Fixed joint: a hinge whose angle stays zero, $b_a\cdot n_b = 0$; nothing is left.

use super::Rows;
use super::rows::{B, Ends, N, T};

pub(super) const ROWS: usize = 6;

pub(super) fn evaluate(e: &Ends, out: &mut Rows) {
    e.together(0, out);
    e.square(3, N, T, out);
    e.square(4, B, T, out);
    e.square(5, B, N, out);
}
