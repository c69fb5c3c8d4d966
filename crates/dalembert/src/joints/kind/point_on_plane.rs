//! Point on a plane: the anchor of b does not leave the plane across t through the anchor of a.

use super::{AffineEnds, AffineRows, Ends, JointInfo, Rows, T};

pub(super) const INFO: JointInfo = JointInfo {
    leaves: "The second anchor stays in the plane through the first across the axis.",
    orients: [true, false],
    axes: &[(0, T)],
    ..JointInfo::new("point_on_plane", 1, evaluate, affine)
};

fn evaluate(e: &Ends, _: f64, _: &[f64], out: &mut Rows) {
    e.across(0, T, out);
}

fn affine(e: &AffineEnds, _: f64) -> AffineRows {
    AffineRows { rows: vec![], holds: vec![e.across(T)] }
}
