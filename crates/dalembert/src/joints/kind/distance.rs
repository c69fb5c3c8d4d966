//! Distance: $|d| - \ell = 0$, a massless rod with ball ends.
//!
//! With $n = d/|d|$: $\dot C = n\cdot\dot d$, $\ddot C = n\cdot\ddot d + |\dot d - n (n\cdot\dot d)|^2/|d|$.

use super::{AffineEnds, AffineRows, Body, Ends, GeometricStiffness, JointInfo, Measure, Rows};
use crate::math::{Mat3, Vec3, skew};

pub(super) const INFO: JointInfo = JointInfo {
    leaves: "The anchors keep their distance.",
    rod: true,
    geometric_stiffness: Some(geometric_stiffness),
    ..JointInfo::new("distance", 1, evaluate, affine)
};

fn evaluate(e: &Ends, length: f64, _: &[f64], out: &mut Rows) {
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

fn affine(e: &AffineEnds, length: f64) -> AffineRows {
    AffineRows { rows: vec![], holds: vec![(vec![(1.0, Measure::Length([e.d.clone()]))], length)] }
}

/// A rod under tension s = −λ > 0 turns with its ends: K = (s/ℓ)(1 − n nᵀ) on d. The blocks between the ends, and between
/// place and turn of one end, are bounded by doubling those on the diagonal.
fn geometric_stiffness(
    bodies: &[Body],
    arm: &[Vec3; 2],
    length: f64,
    lambda: &[f64],
    out: &mut [GeometricStiffness],
) {
    let lambda = lambda[0];
    let d = bodies[1].x + arm[1] - bodies[0].x - arm[0];
    let n = d / d.norm().max(1e-9 * length);
    let across = (2.0 * (-lambda).max(0.0) / length) * (Mat3::identity() - n * n.transpose());
    for (k, sign) in [(0, -1.0), (1, 1.0)] {
        out[k].add_force_at(&arm[k], &(sign * lambda * n));
        if arm[k] == Vec3::zeros() {
            out[k].linear += across;
        } else {
            let a = skew(&arm[k]);
            out[k].linear += 2.0 * across;
            out[k].angular += 2.0 * a.transpose() * across * a;
        }
    }
}
