//! Sums over long vectors whose bits do not depend on the number of threads.
//!
//! A sum is $\sum_c s_c$ with one partial sum $s_c$ per chunk of [`CHUNK`] entries, added in order. Long vectors give
//! their chunks to several threads; short ones do the same sums in one.

use rayon::prelude::*;

/// Entries that are summed together.
pub(crate) const CHUNK: usize = 4096;

/// Vectors shorter than this stay on one thread: starting threads costs more than they save.
const PARALLEL: usize = 50_000;

/// Number of partial sums of a vector with `n` entries.
pub(crate) fn partial_sums(n: usize) -> usize {
    n.div_ceil(CHUNK)
}

/// Σ term(i), with eight running sums, which fill two vector registers.
#[inline(always)]
fn sum(n: usize, term: impl Fn(usize) -> f64) -> f64 {
    let mut lanes = [0.0; 8];
    let whole = n - n % 8;
    for i in (0..whole).step_by(8) {
        for k in 0..8 {
            lanes[k] += term(i + k);
        }
    }
    for i in whole..n {
        lanes[i - whole] += term(i);
    }
    ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]))
}

/// Σ over chunks of `of_chunk(first entry, end)`.
#[inline(always)]
fn chunked(n: usize, partial: &mut [f64], of_chunk: impl Fn(usize, usize) -> f64 + Sync) -> f64 {
    let run = |(c, s): (usize, &mut f64)| *s = of_chunk(c * CHUNK, n.min((c + 1) * CHUNK));
    if n < PARALLEL {
        partial.iter_mut().enumerate().for_each(run);
    } else {
        partial.par_iter_mut().enumerate().for_each(run);
    }
    partial.iter().sum()
}

/// aᵀ b.
pub(crate) fn dot(a: &[f64], b: &[f64], partial: &mut [f64]) -> f64 {
    chunked(a.len(), partial, |i, end| {
        let (a, b) = (&a[i..end], &b[i..end]);
        sum(a.len(), |k| a[k] * b[k])
    })
}

/// aᵀ W a, with ones for W if there is none.
pub(crate) fn square(a: &[f64], w: Option<&[f64]>, partial: &mut [f64]) -> f64 {
    chunked(a.len(), partial, |i, end| square_of_chunk(&a[i..end], w.map(|w| &w[i..end])))
}

#[inline(always)]
fn square_of_chunk(a: &[f64], w: Option<&[f64]>) -> f64 {
    match w {
        Some(w) => {
            let w = &w[..a.len()];
            sum(a.len(), |k| w[k] * a[k] * a[k])
        }
        None => sum(a.len(), |k| a[k] * a[k]),
    }
}

/// Calls `update(first entry, chunk of a)` for each chunk and adds up what it returns.
#[inline(always)]
fn each_chunk(a: &mut [f64], partial: &mut [f64], update: impl Fn(usize, &mut [f64]) -> f64 + Sync) -> f64 {
    if a.len() < PARALLEL {
        for ((c, a), s) in a.chunks_mut(CHUNK).enumerate().zip(&mut *partial) {
            *s = update(c * CHUNK, a);
        }
    } else {
        a.par_chunks_mut(CHUNK)
            .zip(partial.par_iter_mut())
            .enumerate()
            .for_each(|(c, (a, s))| *s = update(c * CHUNK, a));
    }
    partial.iter().sum()
}

/// a ← a + α b.
pub(crate) fn add_scaled(a: &mut [f64], alpha: f64, b: &[f64], partial: &mut [f64]) {
    each_chunk(a, partial, |i, a| {
        for (a, b) in a.iter_mut().zip(&b[i..]) {
            *a += alpha * b;
        }
        0.0
    });
}

/// a ← a + α b, and aᵀ W a of the result.
pub(crate) fn add_scaled_square(
    a: &mut [f64],
    alpha: f64,
    b: &[f64],
    w: Option<&[f64]>,
    partial: &mut [f64],
) -> f64 {
    each_chunk(a, partial, |i, a| {
        for (a, b) in a.iter_mut().zip(&b[i..]) {
            *a += alpha * b;
        }
        square_of_chunk(a, w.map(|w| &w[i..]))
    })
}

/// a ← b + β a.
pub(crate) fn scale_add(a: &mut [f64], beta: f64, b: &[f64], partial: &mut [f64]) {
    each_chunk(a, partial, |i, a| {
        for (a, b) in a.iter_mut().zip(&b[i..]) {
            *a = b + beta * *a;
        }
        0.0
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn a_sum_has_the_same_bits_on_any_number_of_threads() {
        for n in [0, 1, 7, 8, 4095, 4097, 49_999, 50_000, 70_003] {
            let mut random = Random::new(n as u64);
            let a: Vec<f64> = (0..n).map(|_| random.between(-1.0, 1.0)).collect();
            let b: Vec<f64> = (0..n).map(|_| random.between(-1.0, 1.0)).collect();
            let run = || {
                let mut partial = vec![0.0; partial_sums(n)];
                let mut c = a.clone();
                let square = add_scaled_square(&mut c, 0.3, &b, Some(&a), &mut partial);
                scale_add(&mut c, -0.7, &b, &mut partial);
                add_scaled(&mut c, 0.1, &a, &mut partial);
                (dot(&a, &b, &mut partial).to_bits(), square.to_bits(), c)
            };
            let exact: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            let first = run();
            assert!((f64::from_bits(first.0) - exact).abs() < 1e-12 * (n as f64 + 1.0));
            for threads in [1, 2, 4] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                assert_eq!(pool.install(run), first, "{n} entries, {threads} threads");
            }
        }
    }
}
