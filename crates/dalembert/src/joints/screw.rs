//! Screw: a cylindrical joint whose slide follows its turn, $s - p\,\theta/2\pi = 0$ with pitch p.

use std::f64::consts::TAU;

use super::Rows;
use super::rows::Ends;

pub(super) const ROWS: usize = 5;

pub(super) fn evaluate(e: &Ends, pitch: f64, turns: &[f64], out: &mut Rows) {
    super::cylindrical::evaluate(e, out);
    let row = super::cylindrical::ROWS;
    let s = e.add_position(row, 1.0, out);
    let theta = e.add_angle(row, -pitch / TAU, turns[0], out);
    out.violation[row] = s - pitch / TAU * theta;
}
