//! Distance: $|d| - \ell = 0$, a massless rod with ball ends.
//!
//! With $n = d/|d|$: $\dot C = n\cdot\dot d$, $\ddot C = n\cdot\ddot d + |\dot d - n (n\cdot\dot d)|^2/|d|$.

use super::Rows;
use super::rows::Ends;
use crate::math::Vec3;

pub(super) const ROWS: usize = 1;

pub(super) fn evaluate(e: &Ends, length: f64, out: &mut Rows) {
    let now = e.d.norm();
    // Anchors that fell together have no direction; any will part them.
    let n = if now > 0.0 { e.d / now } else { Vec3::z() };
    let rate = e.d_rate();
    let side = rate - n * n.dot(&rate);
    out.violation[0] = now - length;
    out.bias[0] = n.dot(&e.d_bias()) + side.norm_squared() / now.max(1e-9 * length);
    out.add(0, 0, &-n, &-e.arm[0].cross(&n));
    out.add(0, 1, &n, &e.arm[1].cross(&n));
}
