//! Small products for the sweeps over a tree: $a b + c$ in one rounding, $R x$, $a \times b$, $R S R^T$.
//!
//! These run a few hundred times per joint and step, so every one is written out, with fused multiply-add where the
//! processor has it. A [`Number`] is one number, or four side by side: what trees of one shape share (see
//! [`fours`](super::aba_simd)) is written once.

use nalgebra::{Matrix3, Vector3};

use crate::math::Mat3;
pub(super) use crate::math::simd::{Number, fma};

/// a + b.
#[inline(always)]
pub(super) fn sum<S: Number>(a: &Vector3<S>, b: &Vector3<S>) -> Vector3<S> {
    Vector3::new(a.x + b.x, a.y + b.y, a.z + b.z)
}

/// s a.
#[inline(always)]
pub(super) fn scaled<S: Number>(s: S, a: &Vector3<S>) -> Vector3<S> {
    Vector3::new(s * a.x, s * a.y, s * a.z)
}

/// a · b.
#[inline(always)]
pub(super) fn dot<S: Number>(a: &Vector3<S>, b: &Vector3<S>) -> S {
    fma(a.x, b.x, fma(a.y, b.y, a.z * b.z))
}

/// a × b.
#[inline(always)]
pub(super) fn cross<S: Number>(a: &Vector3<S>, b: &Vector3<S>) -> Vector3<S> {
    Vector3::new(fma(a.y, b.z, -(a.z * b.y)), fma(a.z, b.x, -(a.x * b.z)), fma(a.x, b.y, -(a.y * b.x)))
}

/// c + a × b.
#[inline(always)]
pub(super) fn plus_cross<S: Number>(c: &Vector3<S>, a: &Vector3<S>, b: &Vector3<S>) -> Vector3<S> {
    Vector3::new(
        fma(a.y, b.z, fma(-a.z, b.y, c.x)),
        fma(a.z, b.x, fma(-a.x, b.z, c.y)),
        fma(a.x, b.y, fma(-a.y, b.x, c.z)),
    )
}

/// c + s a.
#[inline(always)]
pub(super) fn plus<S: Number>(c: &Vector3<S>, s: S, a: &Vector3<S>) -> Vector3<S> {
    Vector3::new(fma(s, a.x, c.x), fma(s, a.y, c.y), fma(s, a.z, c.z))
}

/// R x.
#[inline(always)]
pub(super) fn turn<S: Number>(R: &Matrix3<S>, x: &Vector3<S>) -> Vector3<S> {
    Vector3::new(
        fma(R.m11, x.x, fma(R.m12, x.y, R.m13 * x.z)),
        fma(R.m21, x.x, fma(R.m22, x.y, R.m23 * x.z)),
        fma(R.m31, x.x, fma(R.m32, x.y, R.m33 * x.z)),
    )
}

/// c + R x.
#[inline(always)]
pub(super) fn plus_turn<S: Number>(c: &Vector3<S>, R: &Matrix3<S>, x: &Vector3<S>) -> Vector3<S> {
    Vector3::new(
        fma(R.m11, x.x, fma(R.m12, x.y, fma(R.m13, x.z, c.x))),
        fma(R.m21, x.x, fma(R.m22, x.y, fma(R.m23, x.z, c.y))),
        fma(R.m31, x.x, fma(R.m32, x.y, fma(R.m33, x.z, c.z))),
    )
}

/// Rᵀ x.
#[inline(always)]
pub(super) fn turn_back<S: Number>(R: &Matrix3<S>, x: &Vector3<S>) -> Vector3<S> {
    Vector3::new(
        fma(R.m11, x.x, fma(R.m21, x.y, R.m31 * x.z)),
        fma(R.m12, x.x, fma(R.m22, x.y, R.m32 * x.z)),
        fma(R.m13, x.x, fma(R.m23, x.y, R.m33 * x.z)),
    )
}

/// A B.
#[inline(always)]
pub(super) fn product<S: Number>(A: &Matrix3<S>, B: &Matrix3<S>) -> Matrix3<S> {
    let column = |k: usize| turn(A, &Vector3::new(B[(0, k)], B[(1, k)], B[(2, k)]));
    Matrix3::from_columns(&[column(0), column(1), column(2)])
}

/// Column k of R.
#[inline(always)]
pub(super) fn column<S: Number>(R: &Matrix3<S>, k: usize) -> Vector3<S> {
    Vector3::new(R[(0, k)], R[(1, k)], R[(2, k)])
}

/// A symmetric 3×3 matrix: six numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sym3<S = f64> {
    pub(super) xx: S,
    pub(super) xy: S,
    pub(super) xz: S,
    pub(super) yy: S,
    pub(super) yz: S,
    pub(super) zz: S,
}

impl Sym3 {
    pub(super) fn from_matrix(m: &Mat3) -> Self {
        let mean = |i, j| 0.5 * (m[(i, j)] + m[(j, i)]);
        Self { xx: m.m11, xy: mean(0, 1), xz: mean(0, 2), yy: m.m22, yz: mean(1, 2), zz: m.m33 }
    }

    pub(super) fn matrix(&self) -> Mat3 {
        Mat3::new(self.xx, self.xy, self.xz, self.xy, self.yy, self.yz, self.xz, self.yz, self.zz)
    }
}

impl<S: Number> Sym3<S> {
    /// S x.
    #[inline(always)]
    pub(super) fn times(&self, x: &Vector3<S>) -> Vector3<S> {
        Vector3::new(
            fma(self.xx, x.x, fma(self.xy, x.y, self.xz * x.z)),
            fma(self.xy, x.x, fma(self.yy, x.y, self.yz * x.z)),
            fma(self.xz, x.x, fma(self.yz, x.y, self.zz * x.z)),
        )
    }

    /// R S Rᵀ.
    #[inline(always)]
    pub(super) fn turned(&self, R: &Matrix3<S>) -> Self {
        // Rows of R S, then the upper half of (R S) Rᵀ.
        let row = |x: S, y: S, z: S| self.times(&Vector3::new(x, y, z));
        let (a, b, c) = (row(R.m11, R.m12, R.m13), row(R.m21, R.m22, R.m23), row(R.m31, R.m32, R.m33));
        let dot = |t: &Vector3<S>, x: S, y: S, z: S| fma(t.x, x, fma(t.y, y, t.z * z));
        Self {
            xx: dot(&a, R.m11, R.m12, R.m13),
            xy: dot(&a, R.m21, R.m22, R.m23),
            xz: dot(&a, R.m31, R.m32, R.m33),
            yy: dot(&b, R.m21, R.m22, R.m23),
            yz: dot(&b, R.m31, R.m32, R.m33),
            zz: dot(&c, R.m31, R.m32, R.m33),
        }
    }

    /// S + s u uᵀ.
    #[inline(always)]
    pub(super) fn plus_outer(&self, s: S, u: &Vector3<S>) -> Self {
        let (x, y, z) = (s * u.x, s * u.y, s * u.z);
        Self {
            xx: fma(x, u.x, self.xx),
            xy: fma(x, u.y, self.xy),
            xz: fma(x, u.z, self.xz),
            yy: fma(y, u.y, self.yy),
            yz: fma(y, u.z, self.yz),
            zz: fma(z, u.z, self.zz),
        }
    }

    /// S + O.
    #[inline(always)]
    pub(super) fn plus(&self, o: &Self) -> Self {
        Self {
            xx: self.xx + o.xx,
            xy: self.xy + o.xy,
            xz: self.xz + o.xz,
            yy: self.yy + o.yy,
            yz: self.yz + o.yz,
            zz: self.zz + o.zz,
        }
    }

    /// S + m (|d|² 1 − d dᵀ) + terms of a first moment: the inertia about a point at −r, of a body with mass m and
    /// first moment k about the old point: I + (2 k·r + m r²) 1 − (k rᵀ + r kᵀ + m r rᵀ).
    #[inline(always)]
    pub(super) fn shifted(&self, m: S, k: &Vector3<S>, r: &Vector3<S>) -> Self {
        // With e = k + m r/2 this is I + 2 (e·r) 1 − (e rᵀ + r eᵀ).
        let e = plus(k, S::all(0.5) * m, r);
        let two = S::all(2.0);
        let (xx, yy, zz) = (two * e.x * r.x, two * e.y * r.y, two * e.z * r.z);
        Self {
            xx: self.xx + (yy + zz),
            yy: self.yy + (xx + zz),
            zz: self.zz + (xx + yy),
            xy: self.xy - fma(e.x, r.y, e.y * r.x),
            xz: self.xz - fma(e.x, r.z, e.z * r.x),
            yz: self.yz - fma(e.y, r.z, e.z * r.y),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::rotation::{exp, matrix};
    use crate::math::{Random, Vec3, skew};

    #[test]
    fn the_small_products_are_those_of_matrices() {
        let mut random = Random::new(3);
        for _ in 0..20 {
            let mut v = || Vec3::from_fn(|_, _| random.between(-1.0, 1.0));
            let (a, b, c, u) = (v(), v(), v(), v());
            let (R, B) = (matrix(&exp(&v())), Mat3::from_columns(&[v(), v(), v()]));
            let S = Sym3::from_matrix(&(B * B.transpose()));
            let close = |x: Mat3, y: Mat3| assert!((x - y).norm() < 1e-14, "{x} {y}");
            assert!((cross(&a, &b) - a.cross(&b)).norm() < 1e-15);
            assert!((plus_cross(&c, &a, &b) - c - a.cross(&b)).norm() < 1e-15);
            assert!((turn(&R, &a) - R * a).norm() < 1e-15);
            assert!((plus_turn(&c, &R, &a) - c - R * a).norm() < 1e-15);
            assert!((turn_back(&R, &a) - R.transpose() * a).norm() < 1e-15);
            close(product(&R, &B), R * B);
            close(S.turned(&R).matrix(), R * S.matrix() * R.transpose());
            close(S.plus_outer(0.7, &u).matrix(), S.matrix() + 0.7 * u * u.transpose());
            let m = 1.3;
            let wanted = S.matrix() - skew(&a) * skew(&u) - skew(&u) * skew(&a) - m * skew(&u) * skew(&u);
            close(S.shifted(m, &a, &u).matrix(), wanted);
        }
    }
}
