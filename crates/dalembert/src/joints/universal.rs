//! Universal joint: a ball joint with $t_a\cdot n_b = 0$, the cross of a cardan shaft; two turns are left.

use super::Rows;
use super::rows::{Ends, N, T};

pub(super) const ROWS: usize = 4;

pub(super) fn evaluate(e: &Ends, out: &mut Rows) {
    e.together(0, out);
    e.square(3, T, N, out);
}
