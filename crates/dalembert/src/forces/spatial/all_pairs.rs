//! Every point with every other: O(n²), for laws that reach everywhere (n-body gravitation).

use rayon::prelude::*;

use super::law::PairLaw;
use crate::forces::{Blocks, Force, Points};
use crate::math::{Mat3, Vec3, across, add_triple, outer, triple};

/// A pair law between all pairs of a set of points.
#[derive(Debug, Clone)]
pub struct AllPairs {
    /// The points, in the order of summation; each at most once.
    pub on: Vec<u32>,
    /// The law.
    pub law: PairLaw,
}

/// Below this number of pairs the loop stays on one thread.
const PARALLEL_PAIRS: usize = 100_000;

impl AllPairs {
    fn pair(&self, p: &Points, i: usize, j: usize) -> Option<(f64, Vec3, f64, f64)> {
        let d = p.position(i) - p.position(j);
        let r = d.norm();
        if r == 0.0 {
            return None; // no direction to push in
        }
        let (phi, derivative, second) = self.law.profile(r, p.mass[i] * p.mass[j]);
        Some((phi, d, derivative, second))
    }

    fn force_on(&self, p: &Points, i: usize) -> Vec3 {
        let mut sum = Vec3::zeros();
        for &j in &self.on {
            let j = j as usize;
            if j != i
                && let Some((_, d, derivative, _)) = self.pair(p, i, j)
            {
                sum -= d * derivative;
            }
        }
        sum
    }

    fn each_block(&self, p: &Points, mut f: impl FnMut(usize, usize, Mat3)) {
        for (a, &i) in self.on.iter().enumerate() {
            for &j in &self.on[..a] {
                let (i, j) = (i as usize, j as usize);
                if let Some((_, d, derivative, second)) = self.pair(p, i, j) {
                    let n = d.normalize();
                    f(i, j, outer(&n, &n) * second + across(&n) * derivative);
                }
            }
        }
    }
}

impl Force for AllPairs {
    fn kind(&self) -> &'static str {
        "all_pairs"
    }

    fn energy(&self, p: &Points) -> f64 {
        let mut sum = 0.0;
        for (a, &i) in self.on.iter().enumerate() {
            for &j in &self.on[..a] {
                sum += self.pair(p, i as usize, j as usize).map_or(0.0, |t| t.0);
            }
        }
        sum
    }

    fn add_force(&self, p: &Points, f: &mut [f64]) {
        let n = self.on.len();
        let whole = n * 3 == f.len() && self.on.iter().enumerate().all(|(k, &i)| k == i as usize);
        if whole && n * n >= PARALLEL_PAIRS {
            f.par_chunks_mut(3).enumerate().with_min_len(64).for_each(|(i, f)| {
                let sum = self.force_on(p, i);
                f[0] += sum.x;
                f[1] += sum.y;
                f[2] += sum.z;
            });
        } else {
            for &i in &self.on {
                add_triple(f, i as usize, &self.force_on(p, i as usize));
            }
        }
    }

    fn add_stiffness_times(&self, p: &Points, dx: &[f64], df: &mut [f64]) {
        self.each_block(p, |i, j, block| {
            let y = block * (triple(dx, i) - triple(dx, j));
            add_triple(df, i, &y);
            add_triple(df, j, &-y);
        });
    }

    fn add_stiffness_blocks(&self, p: &Points, out: &mut Blocks) {
        self.each_block(p, |i, j, block| out.add_pair(i, j, block));
    }

    fn is_internal(&self) -> bool {
        true
    }
}
