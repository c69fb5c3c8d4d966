//! Free joint: holds nothing; six freedoms, the pose itself. The root of a robot that floats has one.

use super::{AffineEnds, AffineRows, Ends, JointInfo, MotionSubspace, Rows};

pub(super) const INFO: JointInfo = JointInfo {
    leaves: "Everything is left.",
    reduced: Some(&[MotionSubspace::Shift.in_world(), MotionSubspace::Ball.in_world()]),
    ..JointInfo::new("free", 0, evaluate, affine)
};

fn evaluate(_: &Ends, _: f64, _: &[f64], _: &mut Rows) {}

fn affine(_: &AffineEnds, _: f64) -> AffineRows {
    AffineRows::default()
}
