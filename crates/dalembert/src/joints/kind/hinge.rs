//! Hinge: a ball joint whose t axes stay aligned, $n_a\cdot t_b = b_a\cdot t_b = 0$; the turn about t is left.

use super::{AffineEnds, AffineRows, Axis, B, Ends, JointInfo, MotionSubspace, N, Rows, T};

pub(super) const INFO: JointInfo = JointInfo {
    leaves: "One turn about the axis is left.",
    orients: [true, true],
    axes: &[(0, T)],
    coordinates: &[Axis::Angle],
    reduced: Some(&[MotionSubspace::Turn.along_axis()]),
    geometric_stiffness: Some(super::anchors_turn),
    ..JointInfo::new("hinge", 5, evaluate, affine)
};

fn evaluate(e: &Ends, _: f64, _: &[f64], out: &mut Rows) {
    e.together(0, out);
    e.square(3, N, T, out);
    e.square(4, B, T, out);
}

fn affine(e: &AffineEnds, _: f64) -> AffineRows {
    AffineRows { rows: vec![e.together(), e.aligned(T, 1.0)], holds: vec![] }
}
