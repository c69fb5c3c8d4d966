//! Schur complement of a sparse matrix with some long rows, $(A + B^TB)\,x = b$, by its quasidefinite form (Vanderbei 1995).
//!
//! $B^TB$ of a row that touches k blocks has k² of them. Its quasi-definite form has k,
//!
//! $$ \begin{pmatrix} A & B^T \\ B & -1 \end{pmatrix}\begin{pmatrix} x \\ \mu \end{pmatrix} = \begin{pmatrix} b \\ 0 \end{pmatrix}, $$
//!
//! and with A positive definite it can be eliminated in any order. First x, by the sparse factor of A, then μ, by a dense one:
//!
//! $$ (1 + BA^{-1}B^T)\,\mu = BA^{-1}b,\qquad x = A^{-1}b - A^{-1}B^T\mu. $$
//!
//! Both factors exist exactly if $A$ is positive definite, so that failure is seen. Rounding grows with the condition of A, which
//! $A + B^TB$ need not share: up to three rounds with the residual of the whole matrix bring it back.

use super::block_matrix::BlockMatrix;
use super::dense::{cholesky, solve_cholesky};
use super::direct::Direct;
use crate::math::{Vec3, add_triple, norm, triple};

/// Most rounds of refinement.
const REFINEMENTS: usize = 3;
/// A residual below this, as a part of b, needs no refinement.
const ROUNDING: f64 = 1e-12;

/// Rows of B: 3-vectors at block columns.
#[derive(Debug, Default, Clone)]
pub struct LongRows {
    end: Vec<usize>,
    entries: Vec<(u32, Vec3)>,
}

impl LongRows {
    /// No rows.
    pub fn clear(&mut self) {
        self.end.clear();
        self.entries.clear();
    }

    /// One more row.
    pub fn push(&mut self, entries: impl IntoIterator<Item = (u32, Vec3)>) {
        self.entries.extend(entries);
        self.end.push(self.entries.len());
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.end.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.end.is_empty()
    }

    /// The entries of a row.
    pub fn row(&self, k: usize) -> &[(u32, Vec3)] {
        let start = if k == 0 { 0 } else { self.end[k - 1] };
        &self.entries[start..self.end[k]]
    }

    /// Row k times x.
    pub fn dot(&self, k: usize, x: &[f64]) -> f64 {
        self.row(k).iter().map(|(i, v)| v.dot(&triple(x, *i as usize))).sum()
    }

    /// y += factor · (row k)ᵀ.
    pub fn add_row(&self, k: usize, factor: f64, y: &mut [f64]) {
        self.row(k).iter().for_each(|(i, v)| add_triple(y, *i as usize, &(factor * v)));
    }

    /// y += factor · BᵀB x.
    pub fn add_times(&self, factor: f64, x: &[f64], y: &mut [f64]) {
        for k in 0..self.len() {
            self.add_row(k, factor * self.dot(k, x), y);
        }
    }
}

/// The factor of 1 + B A⁻¹ Bᵀ, and memory.
#[derive(Debug, Default)]
pub struct Bordered {
    /// B.
    pub rows: LongRows,
    /// A⁻¹Bᵀ, one column after the other.
    inverse: Vec<f64>,
    small: Vec<f64>,
    mu: Vec<f64>,
    r: Vec<f64>,
    correction: Vec<f64>,
}

impl Bordered {
    /// Factors with the factor of A in `direct`, of n scalar rows. False if 1 + B A⁻¹ Bᵀ is not positive definite: then A is not.
    pub fn factor(&mut self, direct: &mut Direct, n: usize) -> bool {
        let m = self.rows.len();
        self.inverse.clear();
        self.inverse.resize(m * n, 0.0);
        self.small.clear();
        self.small.resize(m * m, 0.0);
        for (k, column) in self.inverse.chunks_exact_mut(n).enumerate() {
            self.rows.add_row(k, 1.0, column);
            direct.solve_in_place(column);
            for i in k..m {
                self.small[k * m + i] = self.rows.dot(i, column) + f64::from(i == k);
            }
        }
        cholesky(&mut self.small, m).is_ok()
    }

    /// Solves (A + BᵀB) x = b with the last factors; the residual as a part of b.
    pub fn solve(&mut self, direct: &mut Direct, a: &BlockMatrix, b: &[f64], x: &mut [f64]) -> f64 {
        let size = norm(b);
        x.copy_from_slice(b);
        if size == 0.0 {
            return 0.0;
        }
        self.solve_in_place(direct, x);
        let mut residual = self.residual(a, b, x) / size;
        for _ in 0..REFINEMENTS {
            if !(residual > ROUNDING && residual.is_finite()) {
                break;
            }
            let mut correction = std::mem::take(&mut self.correction);
            correction.clone_from(&self.r);
            self.solve_in_place(direct, &mut correction);
            x.iter_mut().zip(&correction).for_each(|(x, c)| *x += c);
            let refined = self.residual(a, b, x) / size;
            let better = refined < residual;
            if better {
                residual = refined;
            } else {
                x.iter_mut().zip(&correction).for_each(|(x, c)| *x -= c);
            }
            self.correction = correction;
            if !better {
                break;
            }
        }
        residual
    }

    /// r ← b − (A + BᵀB) x, and its norm.
    fn residual(&mut self, a: &BlockMatrix, b: &[f64], x: &[f64]) -> f64 {
        self.r.resize(b.len(), 0.0);
        a.times(x, &mut self.r);
        self.r.iter_mut().zip(b).for_each(|(r, b)| *r = b - *r);
        self.rows.add_times(-1.0, x, &mut self.r);
        norm(&self.r)
    }

    fn solve_in_place(&mut self, direct: &mut Direct, x: &mut [f64]) {
        direct.solve_in_place(x);
        let m = self.rows.len();
        self.mu.clear();
        self.mu.extend((0..m).map(|k| self.rows.dot(k, x)));
        solve_cholesky(&self.small, &mut self.mu);
        for (column, mu) in self.inverse.chunks_exact(x.len()).zip(&self.mu) {
            x.iter_mut().zip(column).for_each(|(x, y)| *x -= mu * y);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Blocks, Mat3, Random};

    /// A chain of springs held at one end, and m random rows over all its nodes.
    fn sample(n: usize, m: usize, weak: f64) -> (Blocks, LongRows) {
        let mut random = Random::new(5);
        let mut list = Blocks::default();
        list.add(0, 0, Mat3::identity());
        (0..n).for_each(|i| list.add(i, i, weak * Mat3::identity()));
        for i in 1..n {
            let b = Mat3::from_fn(|_, _| random.between(-1.0, 1.0));
            list.add_pair(i - 1, i, b * b.transpose());
        }
        let mut rows = LongRows::default();
        for _ in 0..m {
            rows.push((0..n as u32).map(|i| (i, Vec3::from_fn(|_, _| random.between(-1.0, 1.0)))));
        }
        (list, rows)
    }

    #[test]
    fn it_solves_what_the_whole_matrix_says() {
        for (m, weak) in [(1, 1e-2), (7, 1e-2), (40, 1e-8)] {
            let n = 30;
            let (mut list, rows) = sample(n, m, weak);
            let a = BlockMatrix::new(n, &list);
            let b: Vec<f64> = (0..3 * n).map(|k| (k as f64).sin()).collect();
            let mut direct = Direct::default();
            direct.factor(&a, None).unwrap();
            let mut bordered = Bordered { rows: rows.clone(), ..Bordered::default() };
            assert!(bordered.factor(&mut direct, 3 * n));
            let mut x = vec![0.0; 3 * n];
            let residual = bordered.solve(&mut direct, &a, &b, &mut x);
            // The same with every block written out.
            for k in 0..m {
                for (i, v) in rows.row(k) {
                    rows.row(k).iter().for_each(|(j, w)| {
                        list.add(*i as usize, *j as usize, v * w.transpose());
                    });
                }
            }
            let whole = BlockMatrix::new(n, &list);
            let mut y = vec![0.0; 3 * n];
            whole.times(&x, &mut y);
            let off = y.iter().zip(&b).map(|(y, b)| (y - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-10 && residual < 1e-11, "{m}: {off:e} {residual:e}");
            let mut wanted = vec![0.0; 3 * n];
            direct.factor(&whole, None).unwrap();
            direct.solve(&whole, &b, &mut wanted, None);
            let size = norm(&wanted);
            let apart = x.iter().zip(&wanted).map(|(x, w)| (x - w).abs()).fold(0.0, f64::max);
            assert!(apart < 1e-7 * size, "{m}: {apart:e} of {size:e}");
        }
    }
}
