//! Universal joint: a ball joint with $t_a\cdot n_b = 0$, the cross of a cardan shaft; two turns are left.

use super::{AffineEnds, AffineRows, Ends, JointInfo, MotionSubspace, N, Rows, T, direction};
use crate::math::{Mat3, Vec3};

pub(super) const INFO: JointInfo = JointInfo {
    leaves: "Two turns are left: about `axis` (of the first) and, across it, about `axis2` (of the second).",
    orients: [true, true],
    axes: &[(0, T), (1, N)],
    second_axis: Some(frames),
    reduced: Some(&[MotionSubspace::Turn.along_axis(), MotionSubspace::Turn.along_second_axis()]),
    geometric_stiffness: Some(super::anchors_turn),
    ..JointInfo::new("universal", 4, evaluate, affine)
};

/// n is the axis of end b, across t of end a.
fn frames(first: &Mat3, second: &Vec3) -> Result<[Mat3; 2], &'static str> {
    let t: Vec3 = first.column(0).into();
    let n = direction(second).unwrap_or(t);
    if n.dot(&t).abs() > 1e-9 {
        return Err("the second axis of a universal joint must be across the first");
    }
    let frame = Mat3::from_columns(&[t, n, t.cross(&n)]);
    Ok([frame, frame])
}

fn evaluate(e: &Ends, _: f64, _: &[f64], out: &mut Rows) {
    e.together(0, out);
    e.square(3, T, N, out);
}

fn affine(e: &AffineEnds, _: f64) -> AffineRows {
    AffineRows { rows: vec![e.together()], holds: vec![e.square(T, N)] }
}
