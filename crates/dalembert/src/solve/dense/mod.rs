//! Factors of small dense matrices: Cholesky's $A = U^TU$ of any size, $LL^T$ and $LDL^T$ of sizes known to the compiler, and
//! $LU$ of matrices that are not symmetric.
//!
//! | function | matrix | who asks |
//! |---|---|---|
//! | [`cholesky`] | symmetric positive definite or semidefinite, any size | contacts by Newton's method, rows with bounds, Anderson acceleration |
//! | [`cholesky_block`] | symmetric positive definite blocks by columns | [`block_cholesky`](super::block_cholesky) |
//! | `inverse_ldl` | symmetric blocks by rows, one or four at a time | [`kkt`](super::kkt), preconditioners |
//! | `Lu` | any, a few hundred rows at most | semismooth Newton |
//!
//! Golub and Van Loan 2013, chapters 3 and 4. Large sparse matrices go to [`direct`](super::direct).

mod lu;

pub(crate) use lu::Lu;

use crate::math::simd::{Number, axpy, dot_slices, fma};

/// A pivot that is not positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NotPositive {
    /// Row of the pivot.
    pub row: usize,
    /// Its value.
    pub value: f64,
}

/// U of $A = U^TU$ in place of the upper triangle of A, n × n row by row; what is below the diagonal is not read.
///
/// By outer products: row k of U, then what it takes of the rows below (Golub and Van Loan 2013, 4.2.5).
pub fn cholesky(A: &mut [f64], n: usize) -> Result<(), NotPositive> {
    for k in 0..n {
        let pivot = A[k * n + k];
        if !(pivot > 0.0) {
            return Err(NotPositive { row: k, value: pivot });
        }
        eliminate(A, n, k, 1.0 / pivot.sqrt());
    }
    Ok(())
}

/// The same for a positive semidefinite matrix: a pivot that is not above `least(k)` counts as zero, and so does its row of U.
/// Returns how many there are.
pub fn cholesky_semidefinite(A: &mut [f64], n: usize, least: impl Fn(usize) -> f64) -> u32 {
    let mut weak = 0;
    for k in 0..n {
        let pivot = A[k * n + k];
        if pivot > least(k) {
            eliminate(A, n, k, 1.0 / pivot.sqrt());
        } else {
            A[k * n + k..(k + 1) * n].fill(0.0);
            weak += 1;
        }
    }
    weak
}

/// Row k of U, which is row k of A times `scale`, and its product taken from the rows below.
#[inline(always)]
fn eliminate(A: &mut [f64], n: usize, k: usize, scale: f64) {
    let (above, below) = A.split_at_mut((k + 1) * n);
    let top = &mut above[k * n + k..];
    top.iter_mut().for_each(|a| *a *= scale);
    for (i, row) in below.chunks_exact_mut(n).take(n - k - 1).enumerate() {
        let factor = top[i + 1];
        if factor != 0.0 {
            axpy(&mut row[k + 1 + i..], -factor, &top[i + 1..]);
        }
    }
}

/// x ← $(U^TU)^{-1}x$; where a pivot counted as zero x becomes 0.
pub fn solve_cholesky(U: &[f64], x: &mut [f64]) {
    let n = x.len();
    for k in 0..n {
        let row = &U[k * n + k..(k + 1) * n];
        x[k] = if row[0] > 0.0 { x[k] / row[0] } else { 0.0 };
        let known = x[k];
        axpy(&mut x[k + 1..], -known, &row[1..]);
    }
    for k in (0..n).rev() {
        let row = &U[k * n + k..(k + 1) * n];
        x[k] = if row[0] > 0.0 { (x[k] - dot_slices(&row[1..], &x[k + 1..])) / row[0] } else { 0.0 };
    }
}

/// A dense block by columns: `b[c][r]` is row r of column c.
pub type Block<const N: usize> = [[f64; N]; N];

/// L of $A = LL^T$ in place of A, whole columns at a time; false if A is not positive definite.
pub fn cholesky_block<const N: usize>(A: &mut Block<N>) -> bool {
    for c in 0..N {
        let (done, rest) = A.split_at_mut(c);
        let column = &mut rest[0];
        for other in done.iter() {
            let f = other[c];
            for r in 0..N {
                column[r] = (-f).mul_add(other[r], column[r]);
            }
        }
        let d = column[c];
        if !(d > 0.0 && d < f64::INFINITY) {
            return false;
        }
        let inverse = 1.0 / d.sqrt();
        column[..c].fill(0.0);
        column.iter_mut().for_each(|x| *x *= inverse);
    }
    true
}

/// $S = LDL^T$ becomes $L^{-1}$, ones on its diagonal and anything above; returns D and $D^{-1}$. A pivot that is not above
/// `least` has zero for its inverse.
///
/// Row operations on (S | I), the part of I that has filled taking the place of the part of S that is done with.
#[inline(always)]
pub(crate) fn inverse_ldl<S: Number, const N: usize>(s: &mut [[S; N]; N], least: [S; N]) -> [[S; N]; 2] {
    let (mut d, mut inverse) = ([S::all(0.0); N], [S::all(0.0); N]);
    for k in 0..N {
        d[k] = s[k][k];
        inverse[k] = S::inverse_above(d[k], least[k]);
        s[k][k] = S::all(1.0);
        for i in k + 1..N {
            let l = s[i][k] * inverse[k];
            s[i][k] = S::all(0.0);
            for c in 0..N {
                s[i][c] = fma(-l, s[k][c], s[i][c]);
            }
        }
    }
    [d, inverse]
}

/// $S^{-1} = L^{-T}D^{-1}L^{-1}$ from what [`inverse_ldl`] left, symmetric to the last bit.
#[inline(always)]
pub(crate) fn inverse_from_ldl<S: Number, const N: usize>(w: &[[S; N]; N], inverse: &[S; N]) -> [[S; N]; N] {
    let mut out = [[S::all(0.0); N]; N];
    for i in 0..N {
        for j in 0..=i {
            let mut sum = S::all(0.0);
            for k in i..N {
                sum = fma(w[k][i] * inverse[k], w[k][j], sum);
            }
            (out[i][j], out[j][i]) = (sum, sum);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Random, simd::Lanes};

    /// B Bᵀ with B of n rows and `rank` columns, plus a little of one.
    fn sample(n: usize, rank: usize, shift: f64, random: &mut Random) -> Vec<f64> {
        let b: Vec<f64> = (0..n * rank).map(|_| random.between(-1.0, 1.0)).collect();
        let row = |i: usize| &b[i * rank..(i + 1) * rank];
        let entry = |k: usize| {
            let (i, j) = (k / n, k % n);
            crate::math::dot(row(i), row(j)) + if i == j { shift } else { 0.0 }
        };
        (0..n * n).map(entry).collect()
    }

    fn product(A: &[f64], x: &[f64]) -> Vec<f64> {
        A.chunks(x.len()).map(|row| crate::math::dot(row, x)).collect()
    }

    fn apart(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn a_factor_of_any_size_solves_what_its_matrix_says() {
        let mut random = Random::new(2);
        for n in 1..30 {
            let A = sample(n, n, 0.1, &mut random);
            let wanted: Vec<f64> = (0..n).map(|_| random.between(-1.0, 1.0)).collect();
            let mut x = product(&A, &wanted);
            let mut U = A.clone();
            // Only the upper triangle counts.
            (0..n * n).filter(|k| k % n < k / n).for_each(|k| U[k] = f64::NAN);
            cholesky(&mut U, n).unwrap();
            solve_cholesky(&U, &mut x);
            assert!(apart(&x, &wanted) < 1e-10, "{n}");
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_is_named_with_its_pivot() {
        // (4 2; 2 5) (3/4, 5/2) = (8, 14).
        let (mut x, mut U) = ([8.0, 14.0], [4.0, 2.0, 2.0, 5.0]);
        cholesky(&mut U, 2).unwrap();
        solve_cholesky(&U, &mut x);
        assert!(apart(&x, &[0.75, 2.5]) < 1e-15);
        assert_eq!(cholesky(&mut [4.0, 4.0, 4.0, 3.0], 2), Err(NotPositive { row: 1, value: -1.0 }));
        assert!(cholesky(&mut [f64::NAN], 1).is_err());
        let mut block: Block<2> = [[4.0, 4.0], [4.0, 3.0]];
        assert!(!cholesky_block(&mut block));
    }

    #[test]
    fn dependent_rows_are_left_out_and_the_others_are_met() {
        let mut random = Random::new(9);
        for (n, rank) in [(5, 3), (8, 2), (12, 7)] {
            let A = sample(n, rank, 0.0, &mut random);
            let b = product(&A, &vec![1.0; n]);
            let (mut U, mut x) = (A.clone(), b.clone());
            let weak = cholesky_semidefinite(&mut U, n, |k| 1e-10 * A[k * n + k]);
            assert_eq!(weak as usize, n - rank);
            solve_cholesky(&U, &mut x);
            assert!(apart(&product(&A, &x), &b) < 1e-8);
        }
    }

    #[test]
    fn blocks_of_fixed_size_agree_with_any_size() {
        let mut random = Random::new(6);
        let A = sample(6, 6, 0.3, &mut random);
        let mut block: Block<6> = std::array::from_fn(|c| std::array::from_fn(|r| A[6 * r + c]));
        assert!(cholesky_block(&mut block));
        let mut U = A.clone();
        cholesky(&mut U, 6).unwrap();
        for r in 0..6 {
            assert!(apart(&block[r][r..], &U[6 * r + r..6 * r + 6]) < 1e-13);
        }
        // One matrix, and four of which the last is singular.
        let mut one: [[f64; 6]; 6] = std::array::from_fn(|i| std::array::from_fn(|j| A[6 * i + j]));
        let [d, inverse] = inverse_ldl(&mut one, [0.0; 6]);
        assert!(d.iter().all(|d| *d > 0.0));
        let one = inverse_from_ldl(&one, &inverse);
        let B = product(&A, &one.map(|row| row[2]));
        assert!((0..6).all(|i| (B[i] - if i == 2 { 1.0 } else { 0.0 }).abs() < 1e-12), "{B:?}");
        let mut four: [[Lanes; 6]; 6] = std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                let a = A[6 * i + j];
                Lanes::new([a, 2.0 * a, 4.0 * a, if i < 4 && j < 4 { a } else { 0.0 }])
            })
        });
        let [_, inverse] = inverse_ldl(&mut four, [Lanes::ZERO; 6]);
        let four = inverse_from_ldl(&four, &inverse);
        for i in 0..6 {
            for j in 0..6 {
                let [a, b, c, d] = four[i][j].to_array();
                assert_eq!([a, 0.5 * a, 0.25 * a], [one[i][j], b, c]);
                assert!(i < 4 && j < 4 || d == 0.0);
            }
        }
    }
}
