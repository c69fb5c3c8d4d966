//! Retraction of affine rotations: a step turns stiff bodies without stretching them (a retraction in the sense of Absil, Mahony and
//! Sepulchre 2008).
//!
//! A Newton step moves the matrix A of an affine body to $A + \delta A = A(1 + S + \Omega)$ with
//! $S = \mathrm{sym}(A^{-1}\delta A)$ and $\Omega = \mathrm{skew}(A^{-1}\delta A)$. The turn Ω alone has the strain
//! $\tfrac12((1 + \Omega)^T(1 + \Omega) - 1) = \tfrac12\Omega^T\Omega$, of second order in the angle but multiplied by a large
//! stiffness. $A\,e^{\Omega}(1 + S)$ agrees with it to first order and has the strain of S alone.

use crate::math::rotation::{exp, matrix};
use crate::math::{Mat3, Vec3, set_triple, triple};

/// Turns below this angle \[rad\] are left as they are: their strain, 5e-13, is below what any load makes.
const LEAST_TURN: f64 = 1e-6;
/// Largest turn of one step \[rad\].
const MOST_TURN: f64 = 1.0;

/// Replaces `part` times the linear step of the columns in `delta`, `first` … `first + 2`, in `out` by one that turns
/// without stretching. Returns the angle \[rad\]; 0 if nothing was changed.
pub(crate) fn retract(z: &[f64], delta: &[f64], part: f64, first: usize, out: &mut [f64]) -> f64 {
    let matrix_of = |a: &[f64]| Mat3::from_columns(&[0, 1, 2].map(|k| triple(a, first + k)));
    let (A, dA) = (matrix_of(z), part * matrix_of(delta));
    let Some(inverse) = A.try_inverse() else { return 0.0 };
    let B = inverse * dA;
    let turn = Vec3::new(B[(2, 1)] - B[(1, 2)], B[(0, 2)] - B[(2, 0)], B[(1, 0)] - B[(0, 1)]) * 0.5;
    let angle = turn.norm();
    if !(angle > LEAST_TURN && angle < MOST_TURN) {
        return if angle < MOST_TURN { 0.0 } else { angle };
    }
    let S = (B + B.transpose()) * 0.5;
    let retracted = A * (matrix(&exp(&turn)) * (Mat3::identity() + S)) - A;
    for k in 0..3 {
        set_triple(out, first + k, &retracted.column(k).into_owned());
    }
    angle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_leaves_lengths_and_agrees_to_first_order() {
        let A = matrix(&exp(&Vec3::new(0.3, -0.7, 1.1)));
        let z: Vec<f64> = A.as_slice().to_vec();
        for angle in [1e-3, 1e-2, 1e-1] {
            let turn = Vec3::new(0.6, 0.0, 0.8) * angle;
            let dA = A * crate::math::rotation::skew(&turn);
            let delta = dA.as_slice().to_vec();
            let mut out = delta.clone();
            assert!((retract(&z, &delta, 1.0, 0, &mut out) - angle).abs() < 1e-12);
            let next = A + Mat3::from_column_slice(&out);
            assert!((next.transpose() * next - Mat3::identity()).norm() < 1e-14);
            let off = out.iter().zip(&delta).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
            assert!(off < angle * angle, "{off} at {angle}");
        }
    }

    #[test]
    fn a_stretch_is_kept() {
        let z = Mat3::identity().as_slice().to_vec();
        let delta = [0.1, 0.02, 0.0, 0.02, -0.1, 0.0, 0.0, 0.0, 0.3];
        let mut out = delta;
        assert_eq!(retract(&z, &delta, 1.0, 0, &mut out), 0.0);
        assert_eq!(out, delta);
    }
}
