//! Eigenvalues of a symmetric 3×3 matrix, $A = V \Lambda V^T$, by Jacobi rotations (Jacobi 1846).
//!
//! A rotation in the plane (p, q) by the smaller angle with $\tan 2\phi = 2 a_{pq}/(a_{qq} - a_{pp})$ makes $a_{pq}$ zero.
//! Sweeps over the three planes converge quadratically; three or four of them do. Golub and Van Loan, section 8.5.

use super::{Mat3, Vec3};

/// Sweeps before giving up, which only numbers that are not finite need.
const SWEEPS: usize = 10;

/// Eigenvalues, in no order, and eigenvectors as columns of a matrix that turns or mirrors.
pub fn symmetric_eigen(A: &Mat3) -> (Vec3, Mat3) {
    let (mut a, mut V) = (*A, Mat3::identity());
    let small = f64::EPSILON * f64::EPSILON * A.norm_squared();
    for _ in 0..SWEEPS {
        let off = a[(0, 1)] * a[(0, 1)] + a[(0, 2)] * a[(0, 2)] + a[(1, 2)] * a[(1, 2)];
        if off <= small {
            break;
        }
        for (p, q, r) in [(0, 1, 2), (0, 2, 1), (1, 2, 0)] {
            let apq = a[(p, q)];
            if apq == 0.0 {
                continue;
            }
            let half = 0.5 * (a[(q, q)] - a[(p, p)]);
            let t = apq / (half + half.hypot(apq).copysign(half));
            let c = 1.0 / (1.0 + t * t).sqrt();
            let s = t * c;
            a[(p, p)] -= t * apq;
            a[(q, q)] += t * apq;
            let (arp, arq) = (a[(r, p)], a[(r, q)]);
            let (new_p, new_q) = (c * arp - s * arq, s * arp + c * arq);
            (a[(p, q)], a[(q, p)]) = (0.0, 0.0);
            (a[(r, p)], a[(p, r)]) = (new_p, new_p);
            (a[(r, q)], a[(q, r)]) = (new_q, new_q);
            let (vp, vq) = (V.column(p).into_owned(), V.column(q).into_owned());
            V.set_column(p, &(c * vp - s * vq));
            V.set_column(q, &(s * vp + c * vq));
        }
    }
    (a.diagonal(), V)
}

/// The symmetric part of a matrix with its negative eigenvalues set to zero.
pub fn positive_part(A: &Mat3) -> Mat3 {
    let (values, V) = symmetric_eigen(&((A + A.transpose()) * 0.5));
    V * Mat3::from_diagonal(&values.map(|l| l.max(0.0))) * V.transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn values_and_vectors_make_the_matrix_again() {
        let mut random = Random::new(5);
        for k in 0..1000 {
            let B = Mat3::from_fn(|_, _| random.between(-1.0, 1.0));
            // Full rank, rank two, rank one, and nearly equal values.
            let A = match k % 4 {
                0 => B + B.transpose(),
                1 => Mat3::identity() - B.column(0).normalize() * B.column(0).normalize().transpose(),
                2 => B.column(0) * B.column(0).transpose(),
                _ => Mat3::identity() + 1e-9 * (B + B.transpose()),
            };
            let (values, V) = symmetric_eigen(&A);
            let again = V * Mat3::from_diagonal(&values) * V.transpose();
            assert!((again - A).norm() < 3e-15 * A.norm(), "{A}");
            assert!((V.transpose() * V - Mat3::identity()).norm() < 3e-15);
        }
        assert_eq!(symmetric_eigen(&Mat3::zeros()), (Vec3::zeros(), Mat3::identity()));
    }
}
