//! Screw: a cylindrical joint whose slide follows its turn, $s - \ell\,\theta = 0$ with the lead $\ell = p/2\pi$ \[m/rad\] of
//! the pitch p \[m per turn\].

use super::{AffineEnds, AffineRows, Axis, Ends, JointInfo, MotionSubspace, Rows, T, cylindrical};

pub(super) const INFO: JointInfo = JointInfo {
    leaves: "A turn about the axis moves along it by `pitch` per turn.",
    orients: [true, true],
    axes: &[(0, T)],
    coordinates: &[Axis::Angle, Axis::Position],
    reduced: Some(&[MotionSubspace::Screw(0.0).along_axis()]),
    ..JointInfo::new("screw", 5, evaluate, affine)
};

fn evaluate(e: &Ends, lead: f64, turns: &[f64], out: &mut Rows) {
    cylindrical::evaluate(e, lead, turns, out);
    let row = cylindrical::ROWS;
    let s = e.add_position(row, 1.0, out);
    let theta = e.add_angle(row, -lead, turns[0], out);
    out.violation[row] = s - lead * theta;
}

fn affine(e: &AffineEnds, lead: f64) -> AffineRows {
    let mut rows = cylindrical::affine(e, lead);
    rows.holds.push((vec![(1.0, e.position()), (-lead, e.angle())], e.start));
    rows
}
