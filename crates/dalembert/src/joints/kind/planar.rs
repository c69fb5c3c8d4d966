//! Planar joint: b keeps its height over the plane across t, and its t axis; two slides and the turn about t are left.

use super::{AffineEnds, AffineRows, B, Ends, JointInfo, MotionSubspace, N, Rows, T};

pub(super) const INFO: JointInfo = JointInfo {
    leaves: "Motion across the axis and turn about it are left.",
    orients: [true, true],
    axes: &[(0, T)],
    reduced: Some(&[
        MotionSubspace::Slide.across_axis(0),
        MotionSubspace::Slide.across_axis(1),
        MotionSubspace::Turn.along_axis(),
    ]),
    ..JointInfo::new("planar", 3, evaluate, affine)
};

fn evaluate(e: &Ends, _: f64, _: &[f64], out: &mut Rows) {
    e.across(0, T, out);
    e.square(1, N, T, out);
    e.square(2, B, T, out);
}

fn affine(e: &AffineEnds, _: f64) -> AffineRows {
    AffineRows { rows: vec![e.aligned(T, 1.0)], holds: vec![e.across(T)] }
}
