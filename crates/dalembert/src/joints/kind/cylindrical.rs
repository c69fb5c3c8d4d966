//! Cylindrical joint: t axes on one line; slide along t and turn about t are left.

use super::{AffineEnds, AffineRows, Axis, B, Ends, JointInfo, N, Rows, T};

pub(super) const INFO: JointInfo = JointInfo {
    leaves: "Slide along and turn about the axis are left.",
    orients: [true, true],
    axes: &[(0, T)],
    coordinates: &[Axis::Angle, Axis::Position],
    ..JointInfo::new("cylindrical", ROWS, evaluate, affine)
};

pub(super) const ROWS: usize = 4;

pub(super) fn evaluate(e: &Ends, _: f64, _: &[f64], out: &mut Rows) {
    e.across(0, N, out);
    e.across(1, B, out);
    e.square(2, N, T, out);
    e.square(3, B, T, out);
}

pub(super) fn affine(e: &AffineEnds, _: f64) -> AffineRows {
    AffineRows { rows: vec![e.aligned(T, 1.0)], holds: vec![e.across(N), e.across(B)] }
}
