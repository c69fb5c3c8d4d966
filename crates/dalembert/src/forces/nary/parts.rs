//! Sums over tuples of points, in parallel, in an order that does not depend on the number of threads.
//!
//! The point array is cut into parts of equal length. Tuples that lie inside one part touch nobody else's forces, so the
//! parts run in parallel on disjoint slices. A second cut, shifted by half a part, takes most of the tuples that crossed
//! the first; what is left runs alone. The cut depends on the tuples only, hence so does the order of every sum.
//! Neighbours should have near numbers, as they do on grids.

use std::ops::Range;

use rayon::prelude::*;

use crate::state::PointId;

/// Work below which threads cost more than they bring: tuples times the square of their points. That is 8 000 tetrahedra or
/// 32 000 springs.
const SERIAL: usize = 128_000;
/// Parts that a batch is cut into, unless they would become shorter or longer than is good.
const PARTS: usize = 16;
/// Points per part, at least and at most.
const PART: Range<usize> = 512..16_384;
/// Tuples per partial sum and per filled piece of a cache.
const PIECE: usize = 1024;

/// How a list of tuples is cut.
#[derive(Debug, Clone, Default)]
pub struct Parts {
    /// Number of tuples.
    count: usize,
    /// Lowest point of any tuple.
    first: usize,
    /// Points per part.
    size: usize,
    /// Tuples `cuts[k][j] .. cuts[k][j + 1]` lie inside part j of cut k. Empty for a batch that runs in one piece.
    cuts: [Vec<usize>; 2],
}

impl Parts {
    /// Sorts tuples by the part that they live in. `points` gives the points of one tuple.
    pub fn new<T, const N: usize>(tuples: &mut [T], points: impl Fn(&T) -> [PointId; N]) -> Self {
        let count = tuples.len();
        let whole = Self { count, ..Self::default() };
        if count * N * N < SERIAL {
            return whole;
        }
        let ends = |t: &T| {
            let p = points(t).map(PointId::index);
            (p.iter().copied().fold(usize::MAX, usize::min), p.iter().copied().fold(0, usize::max))
        };
        let first = tuples.iter().map(|t| ends(t).0).min().unwrap_or(0);
        let last = tuples.iter().map(|t| ends(t).1).max().unwrap_or(0);
        let span = last + 1 - first;
        let size = (span / PARTS).clamp(PART.start, PART.end);
        let key = |t: &T| {
            let (low, high) = ends(t);
            let (low, high) = (low - first, high - first);
            let shifted = |i: usize| (i + size / 2) / size;
            if low / size == high / size {
                (0, low / size)
            } else if shifted(low) == shifted(high) {
                (1, shifted(low))
            } else {
                (2, 0)
            }
        };
        tuples.sort_by_cached_key(key);
        let keys: Vec<(usize, usize)> = tuples.iter().map(key).collect();
        let cut = |k: usize| -> Vec<usize> {
            let end = keys.partition_point(|x| x.0 <= k);
            let start = keys.partition_point(|x| x.0 < k);
            let parts = keys[start..end].last().map_or(0, |x| x.1 + 1);
            (0..parts).map(|j| keys.partition_point(|x| *x < (k, j))).chain([end]).collect()
        };
        Self { first, size, cuts: [cut(0), cut(1)], ..whole }
    }

    /// True if there are so many that threads share them.
    pub fn many(&self) -> bool {
        !self.cuts[1].is_empty()
    }

    /// Number of tuples that fit no part of either cut and run alone.
    pub fn crossing(&self) -> usize {
        self.cuts[1].last().map_or(0, |end| self.count - end)
    }

    /// Lets `work(tuples, first, f)` add the forces of a range of tuples to a slice whose first triple belongs to
    /// point `first`.
    #[inline]
    pub fn scatter(&self, f: &mut [f64], work: impl Fn(Range<usize>, usize, &mut [f64]) + Sync) {
        let Some(&crossing) = self.cuts[1].last() else {
            return work(0..self.count, 0, f);
        };
        // All of it enters the pool of threads once.
        rayon::scope(|_| {
            for k in 0..2 {
                self.split(k, 0..self.cuts[k].len() - 1, 0, f, &work);
            }
            work(crossing..self.count, 0, f);
        });
    }

    /// Runs parts of cut k; the first triple of `f` belongs to point `start`.
    fn split(
        &self,
        k: usize,
        parts: Range<usize>,
        start: usize,
        f: &mut [f64],
        work: &(impl Fn(Range<usize>, usize, &mut [f64]) + Sync),
    ) {
        match parts.len() {
            0 => {}
            1 => work(self.cuts[k][parts.start]..self.cuts[k][parts.end], start, f),
            _ => {
                let middle = parts.start + parts.len() / 2;
                let point = self.first + middle * self.size - k * (self.size / 2);
                let (low, high) = f.split_at_mut(3 * (point - start));
                rayon::join(
                    || self.split(k, parts.start..middle, start, low, work),
                    || self.split(k, middle..parts.end, point, high, work),
                );
            }
        }
    }

    /// Sum of `work` over ranges of tuples, such as an energy.
    pub fn sum(&self, work: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
        self.sum_of(0..self.count, &work)
    }

    fn sum_of(&self, range: Range<usize>, work: &(impl Fn(Range<usize>) -> f64 + Sync)) -> f64 {
        let pieces = range.len().div_ceil(PIECE);
        if pieces <= 1 || self.cuts[1].is_empty() {
            return work(range);
        }
        let middle = range.start + pieces / 2 * PIECE;
        let (low, high) =
            rayon::join(|| self.sum_of(range.start..middle, work), || self.sum_of(middle..range.end, work));
        low + high
    }

    /// Gives `cache` room for `per` numbers for each of `count` items and lets `work(item, numbers)` write each.
    pub fn fill(
        &self,
        cache: &mut Vec<f64>,
        count: usize,
        per: usize,
        work: impl Fn(usize, &mut [f64]) + Sync,
    ) {
        cache.resize(count * per, 0.0);
        let piece = |(k, piece): (usize, &mut [f64])| {
            for (i, numbers) in piece.chunks_exact_mut(per).enumerate() {
                work(k * PIECE + i, numbers);
            }
        };
        if self.cuts[1].is_empty() {
            piece((0, cache));
        } else {
            cache.par_chunks_mut(PIECE * per).enumerate().for_each(piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Triples from which on threads are used.
    const MANY: usize = SERIAL.div_ceil(9);

    /// Tuples on a long strip, mostly between neighbours, a few far apart; points start at 100.
    fn strip(count: usize) -> Vec<[PointId; 3]> {
        let far = |i: usize| if i.is_multiple_of(997) { (i * 7919) % count } else { i + 40 + i % 13 };
        (0..count).map(|i| [i, i + 1, far(i)].map(|p| PointId(100 + p as u32))).collect()
    }

    fn tuple_forces(tuples: &[[PointId; 3]], first: usize, f: &mut [f64]) {
        for t in tuples {
            for (k, p) in t.iter().enumerate() {
                f[3 * (p.index() - first) + k] += (p.index() as f64 * 0.7).sin();
            }
        }
    }

    #[test]
    fn parts_change_neither_the_set_of_tuples_nor_the_sum() {
        for count in [10, MANY - 1, MANY, 4 * MANY + 17] {
            let plain = strip(count);
            let mut sorted = plain.clone();
            let parts = Parts::new(&mut sorted, |t| *t);
            assert!(parts.crossing() <= count / 200, "{} of {count}", parts.crossing());
            let (mut a, mut b) = (vec![0.0; 3 * (count + 200)], vec![0.0; 3 * (count + 200)]);
            tuple_forces(&plain, 0, &mut a);
            parts.scatter(&mut b, |range, first, f| tuple_forces(&sorted[range], first, f));
            assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-12));
            let total = parts.sum(|range| range.map(|i| i as f64).sum());
            assert_eq!(total, (count * (count - 1) / 2) as f64);
            let mut cache = vec![7.0; 3];
            parts.fill(&mut cache, count, 2, |i, out| out.copy_from_slice(&[i as f64, -(i as f64)]));
            assert!((0..count).all(|i| cache[2 * i] == i as f64 && cache[2 * i + 1] == -(i as f64)));
        }
    }

    #[test]
    fn sums_have_the_same_bits_for_any_number_of_threads() {
        let mut tuples = strip(4 * MANY);
        let parts = Parts::new(&mut tuples, |t| *t);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut f = vec![0.1; 3 * (tuples.len() + 200)];
                parts.scatter(&mut f, |range, first, f| tuple_forces(&tuples[range], first, f));
                (f, parts.sum(|range| range.map(|i| (i as f64).sqrt()).sum()))
            })
        };
        assert_eq!(run(1), run(2));
        assert_eq!(run(1), run(3));
    }
}
