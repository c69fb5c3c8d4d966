//! Singular values of a 3×3 matrix with rotations on both sides, $F = U \Sigma V^T$, and the polar rotation $R = U V^T$.
//!
//! Both U and V are rotations (determinant +1), so a mirroring F shows as one negative number in Σ: the last, which is the
//! smallest in size. With $S = V \Sigma V^T$ the polar form is $F = R S$, and from $R^T dF - dF^T R$
//!
//! $$ R^T dR = [\omega]_\times, \qquad (\mathrm{tr}\,S\; I - S)\,\omega = \mathrm{vee}(R^T dF - dF^T R), $$
//!
//! where $\mathrm{vee}$ reads the vector out of a skew matrix. R is smooth as long as no $\sigma_i + \sigma_j$ vanishes.
//!
//! The singular values come from one-sided Jacobi rotations (Hestenes 1958): turn pairs of columns of F until all three
//! are at right angles, then their lengths are |σ|, each exact to rounding however small it is. The rotation alone
//! comes faster from Newton's iteration $X \leftarrow \tfrac12(X + X^{-T})$ (Higham 1986) where F is well away from flat.

use super::{Mat3, Vec3};

/// F = U Σ Vᵀ with rotations U and V.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Svd {
    /// Left rotation.
    pub U: Mat3,
    /// σ₁ ≥ σ₂ ≥ |σ₃|; σ₃ < 0 where det F < 0.
    pub sigma: Vec3,
    /// Right rotation.
    pub V: Mat3,
}

/// Sweeps before giving up, which only numbers that are not finite need.
const SWEEPS: usize = 12;

/// The singular values of F with rotations on both sides, for any finite F: mirrored, flat and zero ones too.
pub fn svd(F: &Mat3) -> Svd {
    let size = F.amax();
    if !(1e-60..1e60).contains(&size) && size > 0.0 && size.is_finite() {
        // Squares of squares are formed below: keep them inside the range of numbers.
        let unit = svd(&(F / size));
        return Svd { sigma: unit.sigma * size, ..unit };
    }
    // b = F V: columns become orthogonal.
    let mut b = [F.column(0).into_owned(), F.column(1).into_owned(), F.column(2).into_owned()];
    let mut v = [Vec3::x(), Vec3::y(), Vec3::z()];
    for _ in 0..SWEEPS {
        let mut turned = false;
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            let (pp, qq, pq) = (b[p].norm_squared(), b[q].norm_squared(), b[p].dot(&b[q]));
            // Orthogonal to rounding: |cos| below an ulp.
            if pq * pq <= 1e-32 * (pp * qq) || pq == 0.0 {
                continue;
            }
            turned = true;
            let half = 0.5 * (qq - pp);
            let t = pq / (half + (half * half + pq * pq).sqrt().copysign(half));
            let c = 1.0 / (1.0 + t * t).sqrt();
            let s = t * c;
            (b[p], b[q]) = (c * b[p] - s * b[q], s * b[p] + c * b[q]);
            (v[p], v[q]) = (c * v[p] - s * v[q], s * v[p] + c * v[q]);
        }
        if !turned {
            break;
        }
    }
    // Largest first; an exchange with a change of sign keeps V a rotation.
    let mut size = b.map(|c| c.norm_squared());
    for (p, q) in [(0, 1), (1, 2), (0, 1)] {
        if size[p] < size[q] {
            size.swap(p, q);
            (b[p], b[q]) = (b[q], -b[p]);
            (v[p], v[q]) = (v[q], -v[p]);
        }
    }
    let s0 = size[0].sqrt();
    let u0 = if s0 > 0.0 { b[0] / s0 } else { Vec3::x() };
    // The second column is orthogonal to the first up to rounding of its own length, except where it is all rounding.
    let rest = b[1] - u0 * u0.dot(&b[1]);
    let s1 = rest.norm();
    let u1 = if s1 > 1e-290 { rest / s1 } else { any_normal(&u0) };
    let u1 = (u1 - u0 * u0.dot(&u1)).normalize();
    let u2 = u0.cross(&u1);
    Svd {
        U: Mat3::from_columns(&[u0, u1, u2]),
        sigma: Vec3::new(s0, s1, u2.dot(&b[2])),
        V: Mat3::from_columns(&v),
    }
}

/// Some unit vector at right angles to the unit vector n.
pub fn any_normal(n: &Vec3) -> Vec3 {
    n.cross(&Vec3::ith(n.iamin(), 1.0)).normalize()
}

/// The rotation R of F = R S, nearest to F among rotations; defined for mirrored and flat F too.
pub fn polar_rotation(F: &Mat3) -> Mat3 {
    let cofactor = cofactor(F);
    let det = F.column(0).dot(&cofactor.column(0));
    let size = F.norm_squared();
    // Far from flat (for equal singular values det = (size/3)^1.5) Newton needs a handful of steps.
    if !(det > 0.01 * size * size.sqrt() && det > 1e-200) {
        let Svd { U, V, .. } = svd(F);
        return U * V.transpose();
    }
    // The scaling det^(-1/3) brings the mean singular value to one.
    let scale = 1.0 / det.cbrt();
    let mut X = F * (0.5 * scale) + cofactor * (0.5 / (det * scale));
    for _ in 0..20 {
        let C = self::cofactor(&X);
        let det = X.column(0).dot(&C.column(0));
        let next = X * 0.5 + C * (0.5 / det);
        let change = (next - X).norm_squared();
        X = next;
        // The error after a step is half the square of the change.
        if change < 1e-16 {
            break;
        }
    }
    X
}

/// The matrix of cofactors, det(F) F⁻ᵀ = ∂det/∂F.
#[inline(always)]
pub fn cofactor(F: &Mat3) -> Mat3 {
    let (a, b, c) = (F.column(0), F.column(1), F.column(2));
    Mat3::from_columns(&[b.cross(&c), c.cross(&a), a.cross(&b)])
}

/// The vector of a skew matrix, twice over: (A₂₁ − A₁₂, A₀₂ − A₂₀, A₁₀ − A₀₁).
#[inline(always)]
pub fn twice_axial(A: &Mat3) -> Vec3 {
    Vec3::new(A[(2, 1)] - A[(1, 2)], A[(0, 2)] - A[(2, 0)], A[(1, 0)] - A[(0, 1)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Random, rotation};

    /// Random matrices: plain, mirrored, nearly flat, of rank two, one and zero, with equal singular values, tiny, huge.
    fn matrices() -> Vec<Mat3> {
        let mut random = Random::new(11);
        let mut all = vec![Mat3::zeros(), Mat3::identity(), -Mat3::identity()];
        for k in 0..4000 {
            let B = Mat3::from_fn(|_, _| random.between(-1.0, 1.0));
            let turn = |random: &mut Random| {
                rotation::matrix(&rotation::exp(&Vec3::from_fn(|_, _| random.between(-3.0, 3.0))))
            };
            let (U, V) = (turn(&mut random), turn(&mut random));
            let with = |a: f64, b: f64, c: f64| U * Mat3::from_diagonal(&Vec3::new(a, b, c)) * V.transpose();
            let e = random.between(-1e-7, 1e-7);
            all.push(match k % 12 {
                0 => B,
                1 => with(1.0, 1.0, 1.0 + e),
                2 => with(2.0, 1.0, 0.0),
                3 => with(3.0, 0.0, 0.0),
                4 => with(1.0, e, e * 0.5),
                5 => with(2.0, 2.0, e),
                6 => with(1.3, 0.7, -0.2),
                7 => with(1.0, 1.0, -1.0),
                8 => B * 1e-100,
                9 => B * 1e100,
                10 => with(1.0, 1e-9, -1e-15),
                _ => Mat3::from_columns(&[B.column(0), B.column(0), B.column(1)]),
            });
        }
        all
    }

    #[test]
    fn two_rotations_and_the_singular_values_make_the_matrix_again() {
        for F in matrices() {
            let Svd { U, sigma, V } = svd(&F);
            let again = U * Mat3::from_diagonal(&sigma) * V.transpose();
            assert!((again - F).norm() <= 1e-14 * F.norm(), "{F} {}", (again - F).norm());
            for Q in [U, V] {
                assert!((Q.transpose() * Q - Mat3::identity()).norm() < 1e-14, "{F}");
                assert!((Q.determinant() - 1.0).abs() < 1e-14, "{F}");
            }
            let slack = 1e-15 * F.norm();
            assert!(sigma[0] + slack >= sigma[1] && sigma[1] + slack >= sigma[2].abs(), "{sigma}");
        }
    }

    #[test]
    fn the_polar_rotation_leaves_a_symmetric_matrix() {
        for F in matrices() {
            let R = polar_rotation(&F);
            let S = R.transpose() * F;
            assert!((R.transpose() * R - Mat3::identity()).norm() < 1e-14, "{F}");
            assert!((R.determinant() - 1.0).abs() < 1e-14);
            assert!((S - S.transpose()).norm() <= 2e-14 * F.norm(), "{F}");
            // Nearest rotation: R from the other algorithm is not nearer.
            let Svd { U, V, .. } = svd(&F);
            assert!(((U * V.transpose()).dot(&F) - R.dot(&F)).abs() <= 1e-13 * F.norm());
        }
    }
}
