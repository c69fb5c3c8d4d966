//! Hinge: a ball joint whose t axes stay aligned, $n_a\cdot t_b = b_a\cdot t_b = 0$; the turn about t is left.

use super::Rows;
use super::rows::{B, Ends, N, T};

pub(super) const ROWS: usize = 5;

pub(super) fn evaluate(e: &Ends, out: &mut Rows) {
    e.together(0, out);
    e.square(3, N, T, out);
    e.square(4, B, T, out);
}
