//! A sparse matrix of 3×3 blocks in rows: $y_i = \sum_j A_{ij} x_j$, with one sorted list of columns j per row i.
//!
//! It is filled from a list of [`Blocks`] whose entries add up. Where each entry goes is found once; as long as the
//! list names the same places in the same order, filling again only adds numbers. Every row has a diagonal block, if
//! only of zeros.

use rayon::prelude::*;

use crate::math::{Blocks, Mat3, Vec3, triple};

/// Rows that one task multiplies.
const ROWS: usize = 256;

/// Matrices with fewer blocks are multiplied on one thread.
const PARALLEL: usize = 50_000;

/// A square sparse matrix of 3×3 blocks.
#[derive(Clone, Debug, Default)]
pub struct BlockMatrix {
    /// Row i has the blocks from `start[i]` to `start[i + 1]`.
    start: Vec<u32>,
    columns: Vec<u32>,
    blocks: Vec<Mat3>,
    /// Where the diagonal block of each row is.
    diagonal: Vec<u32>,
    /// Where each entry of the list goes.
    slots: Vec<u32>,
}

impl BlockMatrix {
    /// The matrix of `rows` block rows that the list describes.
    ///
    /// # Panics
    /// If an entry lies outside.
    pub fn new(rows: usize, list: &Blocks) -> Self {
        let mut a = Self::default();
        a.rebuild(rows, list);
        a
    }

    /// Takes the numbers of another list. True if it has the same places in the same order as the last one; if not,
    /// the places are found anew.
    ///
    /// # Panics
    /// If an entry lies outside.
    pub fn refill(&mut self, rows: usize, list: &Blocks) -> bool {
        let same = self.rows() == rows && self.slots.len() == list.entries.len() && self.add_to_slots(list);
        if !same {
            self.rebuild(rows, list);
        }
        same
    }

    /// Sums the list into the slots; false if an entry does not belong to its slot. Two lists of one length whose
    /// entries all fit have the same places: each slot was made for an entry of the first.
    fn add_to_slots(&mut self, list: &Blocks) -> bool {
        self.blocks.fill(Mat3::zeros());
        for ((i, j, block), &slot) in list.entries.iter().zip(&self.slots) {
            let i = *i as usize;
            let fits = i < self.diagonal.len()
                && (self.start[i]..self.start[i + 1]).contains(&slot)
                && self.columns[slot as usize] == *j;
            if !fits {
                return false;
            }
            self.blocks[slot as usize] += block;
        }
        true
    }

    fn rebuild(&mut self, rows: usize, list: &Blocks) {
        for (i, j, _) in &list.entries {
            let inside = (*i as usize) < rows && (*j as usize) < rows;
            assert!(inside, "block ({i}, {j}) lies outside {rows} rows");
        }
        // Entries by row (a counting sort keeps their order), then columns within each row.
        let mut first = vec![0u32; rows + 1];
        for (i, _, _) in &list.entries {
            first[*i as usize + 1] += 1;
        }
        for i in 0..rows {
            first[i + 1] += first[i];
        }
        let mut next = first.clone();
        let mut by_row = vec![0u32; list.entries.len()];
        for (e, (i, _, _)) in list.entries.iter().enumerate() {
            by_row[next[*i as usize] as usize] = e as u32;
            next[*i as usize] += 1;
        }
        self.start.clear();
        self.start.push(0);
        self.columns.clear();
        self.diagonal.clear();
        self.slots.clear();
        self.slots.resize(list.entries.len(), 0);
        let mut row = Vec::new();
        for i in 0..rows {
            let entries = &by_row[first[i] as usize..first[i + 1] as usize];
            row.clear();
            row.push(i as u32);
            row.extend(entries.iter().map(|&e| list.entries[e as usize].1));
            row.sort_unstable();
            row.dedup();
            let at = self.columns.len() as u32;
            let slot = |j: u32| at + row.partition_point(|&c| c < j) as u32;
            for &e in entries {
                self.slots[e as usize] = slot(list.entries[e as usize].1);
            }
            self.diagonal.push(slot(i as u32));
            self.columns.extend_from_slice(&row);
            self.start.push(self.columns.len() as u32);
        }
        self.blocks.resize(self.columns.len(), Mat3::zeros());
        let fits = self.add_to_slots(list);
        debug_assert!(fits);
    }

    /// Number of block rows.
    pub fn rows(&self) -> usize {
        self.diagonal.len()
    }

    /// Number of blocks stored.
    pub fn block_count(&self) -> usize {
        self.columns.len()
    }

    /// Columns of row `i`, ascending, and their blocks.
    pub fn row(&self, i: usize) -> (&[u32], &[Mat3]) {
        let range = self.start[i] as usize..self.start[i + 1] as usize;
        (&self.columns[range.clone()], &self.blocks[range])
    }

    /// Diagonal block of row `i`.
    pub fn diagonal(&self, i: usize) -> &Mat3 {
        &self.blocks[self.diagonal[i] as usize]
    }

    /// Where rows begin and which columns they have: two matrices with equal patterns differ in numbers only.
    pub fn pattern(&self) -> (&[u32], &[u32]) {
        (&self.start, &self.columns)
    }

    /// y ← A x.
    pub fn times(&self, x: &[f64], y: &mut [f64]) {
        self.each_row(x, y, |y, sum| y.copy_from_slice(sum.as_slice()));
    }

    /// y ← y + A x.
    pub fn add_times(&self, x: &[f64], y: &mut [f64]) {
        self.each_row(x, y, |y, sum| (0..3).for_each(|k| y[k] += sum[k]));
    }

    /// Each row is one sum in a fixed order, so the bits do not depend on the number of threads.
    #[inline(always)]
    fn each_row(&self, x: &[f64], y: &mut [f64], put: impl Fn(&mut [f64], Vec3) + Sync) {
        assert!(x.len() == 3 * self.rows() && y.len() == 3 * self.rows(), "vectors of another size");
        let run = |(task, y): (usize, &mut [f64])| {
            for (k, y) in y.chunks_exact_mut(3).enumerate() {
                let (columns, blocks) = self.row(task * ROWS + k);
                let mut sum = Vec3::zeros();
                for (j, block) in columns.iter().zip(blocks) {
                    sum += block * triple(x, *j as usize);
                }
                put(y, sum);
            }
        };
        if self.block_count() < PARALLEL {
            y.chunks_mut(3 * ROWS).enumerate().for_each(run);
        } else {
            y.par_chunks_mut(3 * ROWS).enumerate().for_each(run);
        }
    }

    /// Lower triangle of the scalar matrix by columns: where columns begin, rows (ascending) and values.
    ///
    /// Column 3j + c below the diagonal is read from row j of the upper triangle, so A must be symmetric.
    pub fn lower_by_columns(&self, start: &mut Vec<usize>, rows: &mut Vec<usize>, values: &mut Vec<f64>) {
        start.clear();
        start.push(0);
        rows.clear();
        values.clear();
        for j in 0..self.rows() {
            let (columns, blocks) = self.row(j);
            let from = (self.diagonal[j] - self.start[j]) as usize;
            for c in 0..3 {
                for (&i, block) in columns[from..].iter().zip(&blocks[from..]) {
                    let first = if i as usize == j { c } else { 0 };
                    for r in first..3 {
                        rows.push(3 * i as usize + r);
                        values.push(block[(c, r)]);
                    }
                }
                start.push(rows.len());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;
    use proptest::prelude::*;

    /// A random list; `symmetric` adds every block's mirror image.
    fn random_list(rows: usize, entries: usize, symmetric: bool, seed: u64) -> Blocks {
        let mut random = Random::new(seed);
        let mut list = Blocks::default();
        for _ in 0..entries {
            let (i, j) = (random.bits() as usize % rows, random.bits() as usize % rows);
            let block = Mat3::from_fn(|_, _| random.between(-1.0, 1.0));
            list.add(i, j, block);
            if symmetric {
                list.add(j, i, block.transpose());
            }
        }
        list
    }

    fn times(a: &BlockMatrix, x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; x.len()];
        a.add_times(x, &mut y);
        y
    }

    fn close(a: &[f64], b: &[f64]) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12)
    }

    proptest! {
        #[test]
        fn it_multiplies_as_its_list_does(rows in 1usize..20, entries in 0usize..80, seed: u64) {
            let list = random_list(rows, entries, false, seed);
            let mut a = BlockMatrix::new(rows, &list);
            let x: Vec<f64> = (0..3 * rows).map(|i| (i as f64).sin()).collect();
            let mut expected = vec![0.0; x.len()];
            list.add_times(&x, &mut expected);
            prop_assert!(close(&times(&a, &x), &expected));
            let mut y = vec![f64::NAN; x.len()];
            a.times(&x, &mut y);
            prop_assert!(close(&y, &expected));
            // Other numbers in the same places.
            let mut twice = list.clone();
            twice.entries.iter_mut().for_each(|e| e.2 *= 2.0);
            prop_assert!(a.refill(rows, &twice));
            expected.iter_mut().for_each(|y| *y *= 2.0);
            prop_assert!(close(&times(&a, &x), &expected));
            // Other places.
            let other = random_list(rows, entries, false, !seed);
            a.refill(rows, &other);
            expected.fill(0.0);
            other.add_times(&x, &mut expected);
            prop_assert!(close(&times(&a, &x), &expected));
        }

        #[test]
        fn the_lower_triangle_is_half_of_a_symmetric_matrix(rows in 1usize..12, entries in 0usize..40, seed: u64) {
            let a = BlockMatrix::new(rows, &random_list(rows, entries, true, seed));
            let (mut start, mut at, mut values) = (vec![], vec![], vec![]);
            a.lower_by_columns(&mut start, &mut at, &mut values);
            let x: Vec<f64> = (0..3 * rows).map(|i| (i as f64).cos()).collect();
            let mut y = vec![0.0; x.len()];
            for j in 0..3 * rows {
                prop_assert!(at[start[j]..start[j + 1]].is_sorted() && at[start[j]] == j);
                for k in start[j]..start[j + 1] {
                    y[at[k]] += values[k] * x[j];
                    if at[k] != j {
                        y[j] += values[k] * x[at[k]];
                    }
                }
            }
            prop_assert!(close(&y, &times(&a, &x)));
        }
    }

    #[test]
    fn a_change_of_places_is_noticed() {
        let block = Mat3::identity();
        let list = |places: &[(usize, usize)]| {
            let mut list = Blocks::default();
            places.iter().for_each(|&(i, j)| list.add(i, j, block));
            list
        };
        let mut a = BlockMatrix::new(3, &list(&[(0, 1), (1, 0), (0, 1)]));
        assert!(a.refill(3, &list(&[(0, 1), (1, 0), (0, 1)])));
        assert_eq!((a.block_count(), a.row(0).1[1]), (5, block * 2.0));
        for other in [&[(0, 1), (0, 1), (1, 0)][..], &[(0, 1), (1, 0), (0, 2)], &[(0, 1), (1, 0)], &[]] {
            let mut a = a.clone();
            assert!(!a.refill(3, &list(other)), "{other:?}");
        }
        assert!(!a.refill(4, &list(&[(0, 1), (1, 0), (0, 1)])));
        assert_eq!(a.rows(), 4);
        assert_eq!(BlockMatrix::new(0, &Blocks::default()).rows(), 0);
    }

    #[test]
    fn a_large_product_has_the_same_bits_on_any_number_of_threads() {
        let rows = 8000;
        let a = BlockMatrix::new(rows, &random_list(rows, 60_000, false, 3));
        assert!(a.block_count() >= PARALLEL);
        let x: Vec<f64> = (0..3 * rows).map(|i| (i as f64).sin()).collect();
        let first = times(&a, &x);
        for threads in [1, 2, 4] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| times(&a, &x)), first, "{threads} threads");
        }
    }
}
