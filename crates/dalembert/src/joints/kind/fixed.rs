//! Fixed joint: a hinge whose angle stays zero, $b_a\cdot n_b = 0$; nothing is left.

use super::{AffineEnds, AffineRows, B, Ends, JointInfo, N, Rows, T};

pub(super) const INFO: JointInfo = JointInfo {
    leaves: "Nothing is left.",
    orients: [true, true],
    reduced: Some(&[]),
    geometric_stiffness: Some(super::anchors_turn),
    ..JointInfo::new("fixed", 6, evaluate, affine)
};

pub(in crate::joints) fn evaluate(e: &Ends, _: f64, _: &[f64], out: &mut Rows) {
    e.together(0, out);
    e.square(3, N, T, out);
    e.square(4, B, T, out);
    e.square(5, B, N, out);
}

fn affine(e: &AffineEnds, _: f64) -> AffineRows {
    let mut rows = vec![e.together()];
    rows.extend(e.same_axes());
    AffineRows { rows, holds: vec![] }
}
