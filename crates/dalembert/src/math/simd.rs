//! SIMD: four numbers side by side ([`Lanes`]), and what is computed with them. The only such vocabulary of the engine.
//!
//! - [`Lanes`] holds one number of each of four things; [`V3`] three numbers of each, one thing per lane. Four things in memory
//!   become lanes by transposition ([`transposed`]).
//! - [`axpy`], [`dot_slices`] and [`add_product`] run over whole slices.
//! - [`Columns`] is a 3×3 matrix in three registers of four, the last number of each zero.
//! - [`Number`] is one number or four, for code that is written once for both.
//!
//! Sums have a fixed order, with one rounding per multiply-add.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::{Mat3, Vec3};

/// Four independent numbers, one per lane.
pub(crate) use wide::f64x4 as Lanes;

/// Three numbers per lane.
pub(crate) type V3 = [Lanes; 3];

/// The same number in every lane.
#[inline(always)]
pub(crate) fn splat(a: f64) -> Lanes {
    Lanes::splat(a)
}

/// a · b.
#[inline(always)]
pub(crate) fn dot(a: &V3, b: &V3) -> Lanes {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]))
}

/// a × b.
#[inline(always)]
pub(crate) fn cross(a: &V3, b: &V3) -> V3 {
    let minor = |i: usize, j: usize| a[i].mul_sub(b[j], a[j] * b[i]);
    [minor(1, 2), minor(2, 0), minor(0, 1)]
}

/// a + b.
#[inline(always)]
pub(crate) fn add(a: &V3, b: &V3) -> V3 {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// a − b.
#[inline(always)]
pub(crate) fn sub(a: &V3, b: &V3) -> V3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// a + s b.
#[inline(always)]
pub(crate) fn add_scaled(a: &V3, s: Lanes, b: &V3) -> V3 {
    [s.mul_add(b[0], a[0]), s.mul_add(b[1], a[1]), s.mul_add(b[2], a[2])]
}

/// |a|.
#[inline(always)]
pub(crate) fn length(a: &V3) -> Lanes {
    dot(a, a).sqrt()
}

/// The largest of the four numbers and 0.
#[inline(always)]
pub(crate) fn largest(a: Lanes) -> f64 {
    a.to_array().iter().fold(0.0, |m: f64, x| m.max(*x))
}

/// One row of four numbers of each of four things: number k of all of them is lane vector k.
#[inline(always)]
pub(crate) fn transposed<T>(things: &[&T; 4], row: impl Fn(&T) -> &[f64; 4]) -> [Lanes; 4] {
    let [p, q, r, s] = things;
    let lane = |thing: &T| Lanes::new(*row(thing));
    Lanes::transpose([lane(p), lane(q), lane(r), lane(s)])
}

/// The first three of four.
#[inline(always)]
pub(crate) fn three([x, y, z, _]: [Lanes; 4]) -> V3 {
    [x, y, z]
}

/// y += a x over slices; fours first, since most slices are shorter than what a compiler unrolls for.
#[inline(always)]
pub(crate) fn axpy(y: &mut [f64], a: f64, x: &[f64]) {
    let n = y.len().min(x.len());
    let ((y4, y), (x4, x)) = (y[..n].as_chunks_mut::<4>(), x[..n].as_chunks::<4>());
    for (y, x) in y4.iter_mut().zip(x4) {
        *y = splat(a).mul_add(Lanes::from(*x), Lanes::from(*y)).to_array();
    }
    y.iter_mut().zip(x).for_each(|(y, x)| *y = a.mul_add(*x, *y));
}

/// Σ aᵢ bᵢ over slices: four sums side by side, then what is left behind the last four.
#[inline(always)]
pub(crate) fn dot_slices(a: &[f64], b: &[f64]) -> f64 {
    let (a4, b4) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut sum = Lanes::ZERO;
    for (a, b) in a4.0.iter().zip(b4.0) {
        sum = Lanes::from(*a).mul_add(Lanes::from(*b), sum);
    }
    let sum = sum.to_array();
    let tail: f64 = a4.1.iter().zip(b4.1).map(|(a, b)| a * b).sum();
    (sum[0] + sum[1]) + (sum[2] + sum[3]) + tail
}

/// y += a W x for a symmetric matrix by rows, four rows at a time. It has as many rows as y has numbers, a multiple of four.
#[inline(always)]
pub(crate) fn add_product(y: &mut [f64], a: f64, W: &[f64], x: &[f64]) {
    let fours = y.len() / 4;
    let ((y, _), (W, _), (x, _)) = (y.as_chunks_mut::<4>(), W.as_chunks::<4>(), x.as_chunks::<4>());
    for (rows, x) in W.chunks_exact(4 * fours).zip(x).filter(|(_, x)| **x != [0.0; 4]) {
        let x = x.map(|x| splat(a * x));
        let row = |i: usize| &rows[i * fours..(i + 1) * fours];
        for ((((y, a), b), c), d) in y.iter_mut().zip(row(0)).zip(row(1)).zip(row(2)).zip(row(3)) {
            let mut sum = x[0].mul_add(Lanes::from(*a), Lanes::from(*y));
            sum = x[1].mul_add(Lanes::from(*b), sum);
            sum = x[2].mul_add(Lanes::from(*c), sum);
            *y = x[3].mul_add(Lanes::from(*d), sum).to_array();
        }
    }
}

/// One number, or four.
pub(crate) trait Number:
    nalgebra::Scalar
    + Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// The same number everywhere.
    fn all(x: f64) -> Self;

    /// a b + c, in one instruction where there is one.
    fn fused(a: Self, b: Self, c: Self) -> Self;

    /// 1/x where x is above `least`, 0 elsewhere.
    fn inverse_above(x: Self, least: Self) -> Self;
}

impl Number for f64 {
    #[inline(always)]
    fn all(x: f64) -> Self {
        x
    }

    #[inline(always)]
    fn fused(a: Self, b: Self, c: Self) -> Self {
        if cfg!(any(target_feature = "fma", target_arch = "aarch64")) { a.mul_add(b, c) } else { a * b + c }
    }

    #[inline(always)]
    fn inverse_above(x: Self, least: Self) -> Self {
        if x > least { 1.0 / x } else { 0.0 }
    }
}

impl Number for Lanes {
    #[inline(always)]
    fn all(x: f64) -> Self {
        Self::splat(x)
    }

    #[inline(always)]
    fn fused(a: Self, b: Self, c: Self) -> Self {
        a.mul_add(b, c)
    }

    #[inline(always)]
    fn inverse_above(x: Self, least: Self) -> Self {
        let there = x.simd_gt(least);
        there & (Self::ONE / there.select(x, Self::ONE))
    }
}

/// a b + c, in one instruction where there is one.
#[inline(always)]
pub(crate) fn fma<S: Number>(a: S, b: S, c: S) -> S {
    S::fused(a, b, c)
}

/// A 3-vector and a zero.
pub(crate) type Row = [f64; 4];

/// The columns of a 3×3 matrix, each filled up with a zero.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns(pub [Lanes; 3]);

/// The vector in a register.
#[inline(always)]
pub(crate) fn quad(v: &Vec3) -> Lanes {
    Lanes::new([v.x, v.y, v.z, 0.0])
}

/// Triple number `i` of a flat slice, and a zero.
#[inline(always)]
pub(crate) fn row_of(a: &[f64], i: usize) -> Row {
    let s = &a[3 * i..3 * i + 3];
    [s[0], s[1], s[2], 0.0]
}

impl Columns {
    pub(crate) const ZERO: Self = Self([Lanes::ZERO; 3]);

    #[inline(always)]
    pub(crate) fn of(A: &Mat3) -> Self {
        Self(std::array::from_fn(|c| Lanes::new([A[(0, c)], A[(1, c)], A[(2, c)], 0.0])))
    }

    /// The same matrix.
    #[inline(always)]
    pub(crate) fn matrix(&self) -> Mat3 {
        let c = self.0.map(Lanes::to_array);
        Mat3::from_fn(|i, j| c[j][i])
    }

    #[inline(always)]
    #[must_use]
    pub(crate) fn transposed(&self) -> Self {
        let [a, b, c] = self.0;
        let [a, b, c, _] = Lanes::transpose([a, b, c, Lanes::ZERO]);
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
    pub(crate) fn plus_outer(&mut self, a: Lanes, b: &Row) {
        for c in 0..3 {
            self.0[c] = a.mul_add(Lanes::splat(b[c]), self.0[c]);
        }
    }

    /// A x, column by column: their sum is the product.
    #[inline(always)]
    pub(crate) fn times_plus(&self, x: &Row, sum: &mut [Lanes; 3]) {
        for c in 0..3 {
            sum[c] = self.0[c].mul_add(Lanes::splat(x[c]), sum[c]);
        }
    }

    /// A x.
    #[inline(always)]
    pub(crate) fn times(&self, x: &Row) -> Lanes {
        let last = self.0[2] * Lanes::splat(x[2]);
        self.0[0].mul_add(Lanes::splat(x[0]), self.0[1].mul_add(Lanes::splat(x[1]), last))
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
    #[test]
    fn lanes_do_what_each_number_does_by_itself() {
        let mut random = Random::new(5);
        let mut vector = || Vec3::from_fn(|_, _| random.between(-1.0, 1.0));
        let (a, b): ([Vec3; 4], [Vec3; 4]) =
            (std::array::from_fn(|_| vector()), std::array::from_fn(|_| vector()));
        let rows = |v: &[Vec3; 4]| v.map(|v| [v.x, v.y, v.z, 0.0]);
        let (a_rows, b_rows) = (rows(&a), rows(&b));
        let load = |r: &[[f64; 4]; 4]| three(transposed(&[&r[0], &r[1], &r[2], &r[3]], |row| row));
        let (x, y) = (load(&a_rows), load(&b_rows));
        let (products, turned) = (dot(&x, &y).to_array(), cross(&x, &y).map(Lanes::to_array));
        let sum = add_scaled(&sub(&x, &y), splat(2.0), &add(&x, &y)).map(Lanes::to_array);
        let (sizes, most) = (length(&x).to_array(), largest(length(&x)));
        for l in 0..4 {
            assert!((products[l] - a[l].dot(&b[l])).abs() < 1e-15);
            let at = |v: &[[f64; 4]; 3]| Vec3::new(v[0][l], v[1][l], v[2][l]);
            assert!((at(&turned) - a[l].cross(&b[l])).norm() < 1e-15);
            assert!((at(&sum) - (3.0 * a[l] + b[l])).norm() < 1e-15);
            assert!((sizes[l] - a[l].norm()).abs() < 1e-15 && sizes[l] <= most);
        }
    }

    #[test]
    fn slices_of_any_length_are_summed_whole() {
        for n in 0..14 {
            let a: Vec<f64> = (0..n).map(|k| f64::from(k) - 3.0).collect();
            let b: Vec<f64> = (0..n).map(|k| f64::from(k * k % 7)).collect();
            let wanted: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            assert_eq!(dot_slices(&a, &b), wanted);
            let mut y = a.clone();
            axpy(&mut y, 2.0, &b);
            assert!(y.iter().zip(a.iter().zip(&b)).all(|(y, (a, b))| *y == a + 2.0 * b));
        }
        let W: Vec<f64> = (0..64).map(|k| f64::from((k / 8 + k % 8) % 5)).collect();
        let x: Vec<f64> = (0..8).map(f64::from).collect();
        let mut y = vec![1.0; 8];
        add_product(&mut y, 2.0, &W, &x);
        for (i, y) in y.iter().enumerate() {
            assert_eq!(*y, 1.0 + 2.0 * (0..8).map(|j| W[8 * i + j] * x[j]).sum::<f64>());
        }
    }
}
