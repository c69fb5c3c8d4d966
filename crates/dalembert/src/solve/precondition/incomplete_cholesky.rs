//! Incomplete Cholesky without fill, IC(0) (Meijerink and van der Vorst 1977): $P = L D L^T$ where L has ones on its diagonal and
//! blocks only where A has them.
//!
//! Row by row, with $S_{ik} = L_{ik} D_k$:
//!
//! - $S_{ik} = A_{ik} - \sum_{j<k} S_{ij} L_{kj}^T$ for the k < i of row i, $L_{ik} = S_{ik} D_k^{-1}$;
//! - $D_i = A_{ii} - \sum_k S_{ik} L_{ik}^T$.
//!
//! What falls on places that A does not have is dropped, so $D_i$ may fail to be positive definite although A is not to
//! blame. Then all diagonal blocks are multiplied by 1 + σ and the factor is begun anew with a larger σ (Manteuffel
//! 1980). As σ grows P tends to a multiple of [`BlockJacobi`](super::BlockJacobi), which always exists.

use super::{inverse_if_positive, positive_inverse};
use crate::math::{Mat3, add_triple, set_triple, triple};
use crate::solve::block_matrix::BlockMatrix;

/// Pivots below this times the diagonal entry of A count as a breakdown: their inverses would swamp all else.
const LEAST_PIVOT: f64 = 1e-2;

/// First shift after a breakdown, and the factor to the next.
const FIRST_SHIFT: f64 = 1e-3;
const SHIFT_GROWTH: f64 = 4.0;

/// Beyond this the off-diagonal part is left out altogether.
const LARGEST_SHIFT: f64 = 1e3;

const NONE: u32 = u32::MAX;

/// Incomplete Cholesky factor without fill, of 3×3 blocks.
#[derive(Clone, Debug, Default)]
pub struct IncompleteCholesky {
    /// Blocks of L left of the diagonal, by rows.
    start: Vec<u32>,
    columns: Vec<u32>,
    L: Vec<Mat3>,
    D_inverse: Vec<Mat3>,
    shift: f64,
    /// S of one row, and where in it each column is.
    S: Vec<Mat3>,
    place: Vec<u32>,
}

impl IncompleteCholesky {
    /// Factor of `a`, of which only the lower triangle is read.
    pub fn new(a: &BlockMatrix) -> Self {
        let mut factor = Self::default();
        factor.refill(a);
        factor
    }

    /// The same for other numbers, in the memory it has.
    pub fn refill(&mut self, a: &BlockMatrix) {
        self.shift = 0.0;
        while !self.factor(a) {
            self.shift = if self.shift == 0.0 { FIRST_SHIFT } else { SHIFT_GROWTH * self.shift };
            if self.shift > LARGEST_SHIFT {
                self.diagonal_only(a);
                return;
            }
        }
    }

    /// σ, zero if there was no breakdown.
    pub fn shift(&self) -> f64 {
        self.shift
    }

    fn factor(&mut self, a: &BlockMatrix) -> bool {
        let Self { start, columns, L, D_inverse, shift, S, place } = self;
        for list in [&mut *start, &mut *columns] {
            list.clear();
        }
        L.clear();
        D_inverse.clear();
        place.clear();
        place.resize(a.rows(), NONE);
        start.push(0);
        for i in 0..a.rows() {
            let (row, blocks) = a.row(i);
            let lower = row.partition_point(|&k| (k as usize) < i);
            S.clear();
            let mut D = a.diagonal(i) * (1.0 + *shift);
            for (at, (&k, block)) in row[..lower].iter().zip(blocks).enumerate() {
                let mut s = *block;
                let k = k as usize;
                for e in start[k] as usize..start[k + 1] as usize {
                    let j = place[columns[e] as usize];
                    if j != NONE {
                        s -= S[j as usize] * L[e].transpose();
                    }
                }
                let l = s * D_inverse[k];
                D -= s * l.transpose();
                S.push(s);
                L.push(l);
                columns.push(k as u32);
                place[k] = at as u32;
            }
            for &k in &row[..lower] {
                place[k as usize] = NONE;
            }
            start.push(columns.len() as u32);
            let Some(inverse) = inverse_if_positive(&D, a.diagonal(i), LEAST_PIVOT) else { return false };
            D_inverse.push(inverse);
        }
        true
    }

    fn diagonal_only(&mut self, a: &BlockMatrix) {
        self.columns.clear();
        self.L.clear();
        self.start.clear();
        self.start.resize(a.rows() + 1, 0);
        self.D_inverse.clear();
        self.D_inverse.extend((0..a.rows()).map(|i| positive_inverse(a.diagonal(i))));
    }

    /// z ← P⁻¹ r: forwards y = L⁻¹ r, then backwards z = L⁻ᵀ D⁻¹ y.
    pub fn apply(&self, r: &[f64], z: &mut [f64]) {
        for i in 0..self.D_inverse.len() {
            let mut y = triple(r, i);
            for e in self.row(i) {
                y -= self.L[e] * triple(z, self.columns[e] as usize);
            }
            set_triple(z, i, &y);
        }
        for (i, inverse) in self.D_inverse.iter().enumerate() {
            let y = triple(z, i);
            set_triple(z, i, &(inverse * y));
        }
        for i in (0..self.D_inverse.len()).rev() {
            let x = triple(z, i);
            for e in self.row(i) {
                add_triple(z, self.columns[e] as usize, &-self.L[e].tr_mul(&x));
            }
        }
    }

    fn row(&self, i: usize) -> std::ops::Range<usize> {
        self.start[i] as usize..self.start[i + 1] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Blocks, Random, dot};
    use proptest::prelude::*;

    /// Random blocks between random pairs, and enough on the diagonal to be positive definite, times `diagonal`.
    fn random_spd(rows: usize, pairs: &[(usize, usize)], diagonal: f64, seed: u64) -> BlockMatrix {
        let mut random = Random::new(seed);
        let mut list = Blocks::default();
        for i in 0..rows {
            list.add(i, i, Mat3::identity() * 0.1);
        }
        for &(i, j) in pairs.iter().filter(|(i, j)| i != j) {
            // Aᵢⱼ = G Hᵀ, with G Gᵀ and H Hᵀ on the diagonal: a sum of positive semidefinite pieces.
            let mut block = || Mat3::from_fn(|_, _| random.between(-1.0, 1.0));
            let (g, h) = (block(), block());
            list.add(i, i, g * g.transpose() * diagonal);
            list.add(j, j, h * h.transpose() * diagonal);
            list.add(i, j, g * h.transpose());
            list.add(j, i, h * g.transpose());
        }
        BlockMatrix::new(rows, &list)
    }

    fn random_pairs(rows: usize, count: usize, seed: u64) -> Vec<(usize, usize)> {
        let mut random = Random::new(seed);
        (0..count).map(|_| (random.bits() as usize % rows, random.bits() as usize % rows)).collect()
    }

    fn apply(factor: &IncompleteCholesky, r: &[f64]) -> Vec<f64> {
        let mut z = vec![f64::NAN; r.len()];
        factor.apply(r, &mut z);
        z
    }

    proptest! {
        #[test]
        fn it_is_exact_where_there_is_no_fill(rows in 1usize..20, seed: u64) {
            // A tree whose children have lower numbers than their parents.
            let pairs: Vec<_> = (1..rows).map(|i| (i - 1, i + (seed as usize >> i) % (rows - i))).collect();
            let a = random_spd(rows, &pairs, 1.0, seed);
            let factor = IncompleteCholesky::new(&a);
            prop_assume!(factor.shift() == 0.0);
            let x: Vec<f64> = (0..3 * rows).map(|i| (i as f64).sin()).collect();
            let mut b = vec![0.0; x.len()];
            a.times(&x, &mut b);
            for (z, x) in apply(&factor, &b).iter().zip(&x) {
                prop_assert!((z - x).abs() < 1e-8, "{z} {x}");
            }
        }

        #[test]
        fn it_is_symmetric_and_positive_whatever_the_matrix(
            rows in 1usize..20, count in 0usize..60, diagonal in -0.5f64..1.0, seed: u64,
        ) {
            let factor = IncompleteCholesky::new(&random_spd(rows, &random_pairs(rows, count, seed), diagonal, !seed));
            let mut random = Random::new(seed);
            let mut vector = || (0..3 * rows).map(|_| random.between(-1.0, 1.0)).collect::<Vec<f64>>();
            let (r, s) = (vector(), vector());
            let (z, t) = (apply(&factor, &r), apply(&factor, &s));
            prop_assert!(dot(&r, &z) > 0.0 && dot(&s, &t) > 0.0);
            let scale = (dot(&r, &z) * dot(&s, &t)).sqrt();
            prop_assert!((dot(&r, &t) - dot(&s, &z)).abs() < 1e-9 * scale);
        }
    }

    #[test]
    fn an_indefinite_matrix_still_gives_a_positive_preconditioner() {
        let mut list = Blocks::default();
        list.add(0, 0, -Mat3::identity());
        list.add(1, 1, Mat3::identity());
        let factor = IncompleteCholesky::new(&BlockMatrix::new(2, &list));
        assert_eq!(apply(&factor, &[1.0; 6]), [1.0; 6]);
        assert_eq!(apply(&IncompleteCholesky::new(&BlockMatrix::default()), &[]), [0.0; 0]);
    }
}
