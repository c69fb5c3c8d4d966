//! Sparse Cholesky of a symmetric matrix of dense N×N blocks, $A = L L^T$, one block row per body, in the order of minimum
//! degree (Tinney and Walker 1967).
//!
//! Minimum degree: the row with the fewest neighbours goes first (of equal ones the lowest), and its
//! neighbours become neighbours of each other. What is eliminated leaves a column of L with its neighbours of that moment.
//! Column by column,
//!
//! $$ L_{kk} L_{kk}^T = A_{kk},\qquad L_{ik} = A_{ik} L_{kk}^{-T},\qquad A_{ij} \leftarrow A_{ij} - L_{ik} L_{jk}^T, $$
//!
//! for all i ≥ j below k; where each product goes is found once per pattern. Blocks are dense and their size is known to the
//! compiler, so all work is short loops over whole columns.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub use super::dense::Block;
use super::dense::cholesky_block;

/// Zeros.
pub const fn zero<const N: usize>() -> Block<N> {
    [[0.0; N]; N]
}

/// The factor and what is known of its pattern.
#[derive(Debug, Clone, Default)]
pub struct BlockCholesky<const N: usize> {
    rows: usize,
    /// The pattern that the following was made for: pairs of rows, low number first, rising.
    pairs: Vec<[u32; 2]>,
    /// Place of each row in the order of elimination, and the row at each place.
    place: Vec<u32>,
    order: Vec<u32>,
    /// Column k of L has the blocks from `start[k]` to `start[k + 1]`, in the places `below`, rising.
    start: Vec<u32>,
    below: Vec<u32>,
    /// Where each pair goes, and whether it is turned over; the blocks of L that no pair goes to.
    slots: Vec<(u32, bool)>,
    fills: Vec<u32>,
    /// Where the products of a column go: a block of L, or the diagonal beyond them.
    targets: Vec<u32>,
    L: Vec<Block<N>>,
    diagonal: Vec<Block<N>>,
    /// One over the diagonal of each L_kk.
    inverse: Vec<[f64; N]>,
    y: Vec<[f64; N]>,
}

impl<const N: usize> BlockCholesky<N> {
    /// Factors the matrix with the diagonal blocks `diagonal` and the blocks `block(k)` at rows `pairs[k][1]`, columns
    /// `pairs[k][0]`; pairs have their low number first and rise. False if it is not positive definite.
    pub fn factor<'a>(
        &mut self,
        pairs: &[[u32; 2]],
        diagonal: impl ExactSizeIterator<Item = &'a Block<N>>,
        block: impl Fn(usize) -> &'a Block<N>,
    ) -> bool {
        if self.rows != diagonal.len() || self.pairs != pairs || self.order.len() != self.rows {
            self.analyse(diagonal.len(), pairs);
        }
        self.diagonal.resize(self.rows, zero());
        for (i, D) in diagonal.enumerate() {
            self.diagonal[self.place[i] as usize] = *D;
        }
        self.L.resize(self.below.len(), zero());
        self.fills.iter().for_each(|&slot| self.L[slot as usize] = zero());
        for (k, &(slot, turned)) in self.slots.iter().enumerate() {
            let (from, to) = (block(k), &mut self.L[slot as usize]);
            if turned {
                for c in 0..N {
                    for r in 0..N {
                        to[c][r] = from[r][c];
                    }
                }
            } else {
                *to = *from;
            }
        }
        self.eliminate()
    }

    fn eliminate(&mut self) -> bool {
        let mut target = 0;
        self.inverse.clear();
        for k in 0..self.rows {
            if !cholesky_block(&mut self.diagonal[k]) {
                return false;
            }
            let inverse = std::array::from_fn(|c| 1.0 / self.diagonal[k][c][c]);
            self.inverse.push(inverse);
            let (from, to) = (self.start[k] as usize, self.start[k + 1] as usize);
            let (column, later) = self.L[from..].split_at_mut(to - from);
            column.iter_mut().for_each(|X| divide(X, &self.diagonal[k], &inverse));
            for (j, J) in column.iter().enumerate() {
                for I in &column[j..] {
                    let t = self.targets[target] as usize;
                    target += 1;
                    // Columns to the right lie behind; their diagonal blocks have places of their own.
                    let out = match t.checked_sub(self.below.len()) {
                        Some(d) => &mut self.diagonal[d],
                        None => &mut later[t - to],
                    };
                    subtract_product(out, I, J);
                }
            }
        }
        true
    }

    /// x ← A⁻¹ x, N numbers per row.
    ///
    /// # Panics
    /// If x does not have N numbers per row.
    pub fn solve(&mut self, x: &mut [f64]) {
        let (x, rest) = x.as_chunks_mut::<N>();
        assert!(rest.is_empty() && x.len() == self.rows, "a vector of another size");
        let mut y = std::mem::take(&mut self.y);
        y.clear();
        y.extend(self.order.iter().map(|&i| x[i as usize]));
        for k in 0..self.rows {
            let (D, inverse, mut left) = (&self.diagonal[k], &self.inverse[k], y[k]);
            let mut z = [0.0; N];
            for c in 0..N {
                z[c] = left[c] * inverse[c];
                // Above its diagonal L is zero: whole columns fill vector registers.
                for r in 0..N {
                    left[r] = (-z[c]).mul_add(D[c][r], left[r]);
                }
            }
            y[k] = z;
            for s in self.start[k] as usize..self.start[k + 1] as usize {
                let (B, out) = (&self.L[s], &mut y[self.below[s] as usize]);
                let mut sum = *out;
                for c in 0..N {
                    for r in 0..N {
                        sum[r] = (-z[c]).mul_add(B[c][r], sum[r]);
                    }
                }
                *out = sum;
            }
        }
        for k in (0..self.rows).rev() {
            let mut z = y[k];
            for s in self.start[k] as usize..self.start[k + 1] as usize {
                let (B, other) = (&self.L[s], &y[self.below[s] as usize]);
                for c in 0..N {
                    // Four sums side by side.
                    let mut sum = [0.0; 4];
                    for r in 0..N {
                        sum[r & 3] = B[c][r].mul_add(other[r], sum[r & 3]);
                    }
                    z[c] -= (sum[0] + sum[1]) + (sum[2] + sum[3]);
                }
            }
            let (D, inverse) = (&self.diagonal[k], &self.inverse[k]);
            for r in (0..N).rev() {
                z[r] *= inverse[r];
                for c in 0..r {
                    z[c] = (-D[c][r]).mul_add(z[r], z[c]);
                }
            }
            y[k] = z;
        }
        for (z, &i) in y.iter().zip(&self.order) {
            x[i as usize] = *z;
        }
        self.y = y;
    }

    /// Finds the order and the places of L.
    fn analyse(&mut self, rows: usize, pairs: &[[u32; 2]]) {
        self.rows = rows;
        self.pairs.clear();
        self.pairs.extend_from_slice(pairs);
        let columns = self.eliminate_graph(rows, pairs);
        self.place.clear();
        self.place.resize(rows, 0);
        self.order.iter().enumerate().for_each(|(k, &i)| self.place[i as usize] = k as u32);
        self.start.clear();
        self.below.clear();
        self.start.push(0);
        for &i in &self.order {
            let from = self.below.len();
            self.below.extend(columns[i as usize].iter().map(|&j| self.place[j as usize]));
            self.below[from..].sort_unstable();
            self.start.push(self.below.len() as u32);
        }
        let slot = |column: u32, row: u32| {
            let range = self.start[column as usize] as usize..self.start[column as usize + 1] as usize;
            (range.start + self.below[range].partition_point(|&r| r < row)) as u32
        };
        self.slots.clear();
        self.slots.extend(pairs.iter().map(|&[a, b]| {
            let (p, q) = (self.place[a as usize], self.place[b as usize]);
            if p < q { (slot(p, q), false) } else { (slot(q, p), true) }
        }));
        let mut taken = vec![false; self.below.len()];
        self.slots.iter().for_each(|&(slot, _)| taken[slot as usize] = true);
        self.fills.clear();
        self.fills.extend((0..taken.len() as u32).filter(|&slot| !taken[slot as usize]));
        self.targets.clear();
        let blocks = self.below.len() as u32;
        for k in 0..rows {
            let column = &self.below[self.start[k] as usize..self.start[k + 1] as usize];
            for (j, &J) in column.iter().enumerate() {
                self.targets.push(blocks + J);
                // Both lists rise, and the column of J has all that follows J here.
                let mut at = self.start[J as usize] as usize;
                for &I in &column[j + 1..] {
                    while self.below[at] != I {
                        at += 1;
                    }
                    self.targets.push(at as u32);
                }
            }
        }
    }

    /// The order of least degree, and the neighbours of each row when it goes.
    fn eliminate_graph(&mut self, rows: usize, pairs: &[[u32; 2]]) -> Vec<Vec<u32>> {
        let mut near: Vec<Vec<u32>> = vec![Vec::new(); rows];
        for &[a, b] in pairs {
            near[a as usize].push(b);
            near[b as usize].push(a);
        }
        near.iter_mut().for_each(|list| list.sort_unstable());
        let mut queue: BinaryHeap<Reverse<(u32, u32)>> =
            near.iter().enumerate().map(|(i, list)| Reverse((list.len() as u32, i as u32))).collect();
        let mut gone = vec![false; rows];
        let mut merged = Vec::new();
        self.order.clear();
        while let Some(Reverse((degree, i))) = queue.pop() {
            if gone[i as usize] || near[i as usize].len() as u32 != degree {
                continue;
            }
            gone[i as usize] = true;
            self.order.push(i);
            let around = std::mem::take(&mut near[i as usize]);
            for &j in &around {
                let list = &mut near[j as usize];
                let before = list.len();
                merge_without(list, &around, [i, j], &mut merged);
                std::mem::swap(list, &mut merged);
                if list.len() != before {
                    queue.push(Reverse((list.len() as u32, j)));
                }
            }
            near[i as usize] = around;
        }
        near
    }
}

/// out ← the union of two rising lists less two numbers.
fn merge_without(a: &[u32], b: &[u32], not: [u32; 2], out: &mut Vec<u32>) {
    out.clear();
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let next = match (a.get(i), b.get(j)) {
            (Some(&x), Some(&y)) => x.min(y),
            (Some(&x), None) => x,
            (None, Some(&y)) => y,
            (None, None) => break,
        };
        i += usize::from(a.get(i) == Some(&next));
        j += usize::from(b.get(j) == Some(&next));
        if !not.contains(&next) {
            out.push(next);
        }
    }
}

/// X ← X L⁻ᵀ, given one over the diagonal of L.
fn divide<const N: usize>(X: &mut Block<N>, L: &Block<N>, inverse: &[f64; N]) {
    for c in 0..N {
        let (done, rest) = X.split_at_mut(c);
        let column = &mut rest[0];
        for (m, other) in done.iter().enumerate() {
            let f = L[m][c];
            for r in 0..N {
                column[r] = (-f).mul_add(other[r], column[r]);
            }
        }
        column.iter_mut().for_each(|x| *x *= inverse[c]);
    }
}

/// out ← out − I Jᵀ.
fn subtract_product<const N: usize>(out: &mut Block<N>, I: &Block<N>, J: &Block<N>) {
    for (c, out) in out.iter_mut().enumerate() {
        let mut sum = *out;
        for m in 0..N {
            let f = -J[m][c];
            for r in 0..N {
                sum[r] = f.mul_add(I[m][r], sum[r]);
            }
        }
        *out = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    /// A graph with loops, as of a heap, with diagonals that outweigh what its pairs bring.
    fn sample(rows: u32, random: &mut Random) -> (Vec<[u32; 2]>, Vec<Block<4>>, Vec<Block<4>>) {
        let mut pairs = Vec::new();
        for a in 0..rows {
            for b in a + 1..rows {
                if random.between(0.0, 1.0) < 3.0 / f64::from(rows) || b == a + 1 && a % 5 != 0 {
                    pairs.push([a, b]);
                }
            }
        }
        let mut block = |_: usize| -> Block<4> {
            std::array::from_fn(|_| std::array::from_fn(|_| random.between(-1.0, 1.0)))
        };
        let off: Vec<Block<4>> = (0..pairs.len()).map(&mut block).collect();
        let diagonal = (0..rows as usize)
            .map(|i| {
                let B = block(i);
                let mut D = zero();
                for c in 0..4 {
                    for r in 0..4 {
                        D[c][r] = (0..4).map(|m| B[m][r] * B[m][c]).sum::<f64>();
                    }
                    D[c][c] += 40.0;
                }
                D
            })
            .collect();
        (pairs, off, diagonal)
    }

    fn product(pairs: &[[u32; 2]], off: &[Block<4>], diagonal: &[Block<4>], x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; x.len()];
        for (i, D) in diagonal.iter().enumerate() {
            for c in 0..4 {
                for r in 0..4 {
                    y[4 * i + r] += D[c][r] * x[4 * i + c];
                }
            }
        }
        for (&[a, b], B) in pairs.iter().zip(off) {
            let (a, b) = (4 * a as usize, 4 * b as usize);
            for c in 0..4 {
                for r in 0..4 {
                    y[b + r] += B[c][r] * x[a + c];
                    y[a + c] += B[c][r] * x[b + r];
                }
            }
        }
        y
    }

    #[test]
    fn it_solves_matrices_of_changing_patterns() {
        let mut random = Random::new(3);
        let mut cholesky = BlockCholesky::<4>::default();
        for rows in [1, 2, 7, 40, 40, 150] {
            let (pairs, off, diagonal) = sample(rows, &mut random);
            assert!(cholesky.factor(&pairs, diagonal.iter(), |k| &off[k]));
            let wanted: Vec<f64> = (0..4 * rows).map(|_| random.between(-1.0, 1.0)).collect();
            let mut x = product(&pairs, &off, &diagonal, &wanted);
            cholesky.solve(&mut x);
            let off = x.iter().zip(&wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-12, "{off} for {rows} rows");
        }
    }

    #[test]
    fn numbers_may_change_while_the_pattern_stays() {
        let mut random = Random::new(4);
        let mut cholesky = BlockCholesky::<4>::default();
        let (pairs, off, mut diagonal) = sample(30, &mut random);
        for _ in 0..3 {
            diagonal.iter_mut().for_each(|D| D[1][1] += 1.0);
            assert!(cholesky.factor(&pairs, diagonal.iter(), |k| &off[k]));
            let wanted: Vec<f64> = (0..120).map(|_| random.between(-1.0, 1.0)).collect();
            let mut x = product(&pairs, &off, &diagonal, &wanted);
            cholesky.solve(&mut x);
            assert!(x.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }

    #[test]
    fn a_chain_fills_nothing_and_what_is_not_positive_is_refused() {
        let mut random = Random::new(5);
        let (_, _, mut diagonal) = sample(20, &mut random);
        let pairs: Vec<[u32; 2]> = (0..19).map(|a| [a, a + 1]).collect();
        let B: Block<4> = [[0.5; 4]; 4];
        let mut cholesky = BlockCholesky::<4>::default();
        assert!(cholesky.factor(&pairs, diagonal.iter(), |_| &B));
        assert_eq!(cholesky.L.len(), 19);
        diagonal[11][2][2] = -1.0;
        assert!(!cholesky.factor(&pairs, diagonal.iter(), |_| &B));
        diagonal[11][2][2] = f64::NAN;
        assert!(!cholesky.factor(&pairs, diagonal.iter(), |_| &B));
    }
}
