//! Ball joint: $p_a - p_b = 0$, three rows; three turns are left.

use super::Rows;
use super::rows::Ends;

pub(super) const ROWS: usize = 3;

pub(super) fn evaluate(e: &Ends, out: &mut Rows) {
    e.together(0, out);
}
