//! Slider: no turn, and no motion across t; the slide along t is left.

use super::{AffineEnds, AffineRows, Axis, B, Ends, JointInfo, MotionSubspace, N, Rows, T};

pub(super) const INFO: JointInfo = JointInfo {
    leaves: "One slide along the axis is left.",
    orients: [true, true],
    axes: &[(0, T)],
    coordinates: &[Axis::Position],
    reduced: Some(&[MotionSubspace::Slide.along_axis()]),
    ..JointInfo::new("slider", 5, evaluate, affine)
};

fn evaluate(e: &Ends, _: f64, _: &[f64], out: &mut Rows) {
    e.across(0, N, out);
    e.across(1, B, out);
    e.square(2, N, T, out);
    e.square(3, B, T, out);
    e.square(4, B, N, out);
}

fn affine(e: &AffineEnds, _: f64) -> AffineRows {
    AffineRows { rows: e.same_axes().into(), holds: vec![e.across(N), e.across(B)] }
}
