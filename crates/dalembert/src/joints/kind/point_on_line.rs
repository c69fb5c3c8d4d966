//! Point on a line: the anchor of b does not leave the line along t through the anchor of a.

use super::{AffineEnds, AffineRows, B, Ends, JointInfo, N, Rows, T};

pub(super) const INFO: JointInfo = JointInfo {
    leaves: "The second anchor stays on the line through the first along the axis.",
    orients: [true, false],
    axes: &[(0, T)],
    ..JointInfo::new("point_on_line", 2, evaluate, affine)
};

fn evaluate(e: &Ends, _: f64, _: &[f64], out: &mut Rows) {
    e.across(0, N, out);
    e.across(1, B, out);
}

fn affine(e: &AffineEnds, _: f64) -> AffineRows {
    AffineRows { rows: vec![], holds: vec![e.across(N), e.across(B)] }
}
