//! 3×3 matrices in registers of four numbers, the last of which is zero.

use super::{Mat3, Vec3};
use wide::f64x4;

/// A 3-vector and a zero.
pub(crate) type Row = [f64; 4];

/// The columns of a 3×3 matrix, each filled up with a zero.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns(pub [f64x4; 3]);

/// The vector in a register.
#[inline(always)]
pub(crate) fn quad(v: &Vec3) -> f64x4 {
    f64x4::new([v.x, v.y, v.z, 0.0])
}

/// Triple number `i` of a flat slice, and a zero.
#[inline(always)]
pub(crate) fn row_of(a: &[f64], i: usize) -> Row {
    let s = &a[3 * i..3 * i + 3];
    [s[0], s[1], s[2], 0.0]
}

impl Columns {
    pub(crate) const ZERO: Self = Self([f64x4::ZERO; 3]);

    #[inline(always)]
    pub(crate) fn of(A: &Mat3) -> Self {
        Self(std::array::from_fn(|c| f64x4::new([A[(0, c)], A[(1, c)], A[(2, c)], 0.0])))
    }

    /// The same matrix.
    #[inline(always)]
    pub(crate) fn matrix(&self) -> Mat3 {
        let c = self.0.map(f64x4::to_array);
        Mat3::from_fn(|i, j| c[j][i])
    }

    #[inline(always)]
    #[must_use]
    pub(crate) fn transposed(&self) -> Self {
        let [a, b, c] = self.0;
        let [a, b, c, _] = f64x4::transpose([a, b, c, f64x4::ZERO]);
        Self([a, b, c])
    }

    #[inline(always)]
    pub(crate) fn plus(&mut self, other: &Self) {
        for c in 0..3 {
            self.0[c] += other.0[c];
        }
    }

    /// self += a bᵀ.
    #[inline(always)]
    pub(crate) fn plus_outer(&mut self, a: f64x4, b: &Row) {
        for c in 0..3 {
            self.0[c] = a.mul_add(f64x4::splat(b[c]), self.0[c]);
        }
    }

    /// A x, column by column: their sum is the product.
    #[inline(always)]
    pub(crate) fn times_plus(&self, x: &Row, sum: &mut [f64x4; 3]) {
        for c in 0..3 {
            sum[c] = self.0[c].mul_add(f64x4::splat(x[c]), sum[c]);
        }
    }

    /// A x.
    #[inline(always)]
    pub(crate) fn times(&self, x: &Row) -> f64x4 {
        let last = self.0[2] * f64x4::splat(x[2]);
        self.0[0].mul_add(f64x4::splat(x[0]), self.0[1].mul_add(f64x4::splat(x[1]), last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Random, outer};

    #[test]
    fn it_is_the_matrix_that_it_was_made_of() {
        let mut random = Random::new(3);
        let mut number = || random.between(-1.0, 1.0);
        let (A, B) = (Mat3::from_fn(|_, _| number()), Mat3::from_fn(|_, _| number()));
        let (x, y) = (Vec3::from_fn(|_, _| number()), Vec3::from_fn(|_, _| number()));
        let (a, near) = (Columns::of(&A), |P: Mat3, Q: Mat3| (P - Q).norm() < 1e-15);
        assert_eq!(a.matrix(), A);
        assert_eq!(a.transposed().matrix(), A.transpose());
        let product = a.times(&quad(&x).to_array()).to_array();
        assert!((Vec3::new(product[0], product[1], product[2]) - A * x).norm() < 1e-15);
        assert_eq!(product[3], 0.0);
        let mut sum = a;
        sum.plus(&Columns::of(&B));
        sum.plus_outer(quad(&x), &quad(&y).to_array());
        assert!(near(sum.matrix(), A + B + outer(&x, &y)));
    }
}
