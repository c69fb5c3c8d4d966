//! Ball joint: $p_a - p_b = 0$, three rows; three turns are left.

use super::{AffineEnds, AffineRows, Ends, JointInfo, MotionSubspace, Rows};

pub(super) const INFO: JointInfo = JointInfo {
    leaves: "The anchors stay together.",
    reduced: Some(&[MotionSubspace::Ball.at_anchor()]),
    geometric_stiffness: Some(super::anchors_turn),
    ..JointInfo::new("ball", 3, evaluate, affine)
};

fn evaluate(e: &Ends, _: f64, _: &[f64], out: &mut Rows) {
    e.together(0, out);
}

fn affine(e: &AffineEnds, _: f64) -> AffineRows {
    AffineRows { rows: vec![e.together()], holds: vec![] }
}
