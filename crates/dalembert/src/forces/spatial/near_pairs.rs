//! Pairs within a radius, found by a uniform grid in O(n).
//!
//! The law is cut at the radius R so that energy and force both go to zero there:
//! $\varphi_R(r) = \varphi(r) - \varphi(R) - (r - R)\,\varphi'(R)$ (the "shifted force" form). For a law that already
//! ends at R, such as soft repulsion, the shift is zero.

use std::sync::Mutex;

use rayon::prelude::*;

use super::grid::Grid;
use super::law::PairLaw;
use crate::forces::{Blocks, Force, Points};
use crate::math::{Mat3, Vec3, across, add_triple, outer, triple};

/// A pair law between all pairs of a set of points nearer than a radius.
#[derive(Debug)]
pub struct NearPairs {
    on: Vec<u32>,
    law: PairLaw,
    radius: f64,
    /// φ(R) and φ'(R) for unit masses.
    shift: (f64, f64),
    /// Buffers only, filled anew at each call; one set for each caller at work, because states of one model may
    /// step at the same time.
    buffers: Mutex<Vec<Buffers>>,
}

#[derive(Debug, Default)]
struct Buffers {
    grid: Grid,
    /// Result per point in the order of the grid.
    force: Vec<Vec3>,
}

/// Below this number of points the loop stays on one thread.
const PARALLEL_POINTS: usize = 8_192;
/// Points per task; fixed, so that sums keep their order.
const TASK: usize = 1_024;

impl NearPairs {
    /// `on`: the points, each at most once. `radius` R \[m\], > 0.
    pub fn new(on: Vec<u32>, law: PairLaw, radius: f64) -> Self {
        let (phi, derivative, _) = law.profile(radius, 1.0);
        Self { on, law, radius, shift: (phi, derivative * radius), buffers: Mutex::default() }
    }

    /// φ_R, φ_R'/r, φ_R'' at distance r < R.
    #[inline(always)]
    fn profile(&self, r: f64, mm: f64) -> (f64, f64, f64) {
        let (phi, derivative, second) = self.law.profile(r, mm);
        let scale = if matches!(self.law, PairLaw::Gravitation { .. }) { mm } else { 1.0 };
        let (phi_R, derivative_R) = (self.shift.0 * scale, self.shift.1 * scale);
        (phi - phi_R - (r - self.radius) * derivative_R, derivative - derivative_R / r, second)
    }

    fn with_grid<T>(&self, p: &Points, f: impl FnOnce(&mut Buffers) -> T) -> T {
        // The lock is held only to take a set and to give it back, never while working.
        let take = || self.buffers.lock().unwrap_or_else(|e| e.into_inner());
        let mut buffers = take().pop().unwrap_or_default();
        buffers.grid.fill(self.on.len(), self.radius, |i| p.position(self.on[i] as usize));
        let out = f(&mut buffers);
        take().push(buffers);
        out
    }

    /// Calls `visit(j, d, r)` for the neighbours j of sorted point k, with d = x_k − x_j.
    #[inline(always)]
    fn neighbours(&self, grid: &Grid, k: usize, mut visit: impl FnMut(usize, Vec3, f64)) {
        let x = grid.x[k];
        let R2 = self.radius * self.radius;
        grid.around(&x, |j| {
            let d = x - grid.x[j];
            let r2 = d.norm_squared();
            if r2 < R2 && r2 > 0.0 {
                visit(j, d, r2.sqrt());
            }
        });
    }

    fn each_block(&self, p: &Points, mut f: impl FnMut(usize, usize, Mat3)) {
        self.with_grid(p, |b| {
            for k in 0..self.on.len() {
                let i = self.on[b.grid.sorted[k] as usize] as usize;
                self.neighbours(&b.grid, k, |l, d, r| {
                    let j = self.on[b.grid.sorted[l] as usize] as usize;
                    if j < i {
                        let (_, derivative, second) = self.profile(r, p.mass[i] * p.mass[j]);
                        let n = d / r;
                        f(i, j, outer(&n, &n) * second + across(&n) * derivative);
                    }
                });
            }
        });
    }
}

impl Force for NearPairs {
    fn kind(&self) -> &'static str {
        "near_pairs"
    }

    fn energy(&self, p: &Points) -> f64 {
        self.with_grid(p, |b| {
            let mut sum = 0.0;
            for k in 0..self.on.len() {
                let i = self.on[b.grid.sorted[k] as usize] as usize;
                self.neighbours(&b.grid, k, |l, _, r| {
                    let j = self.on[b.grid.sorted[l] as usize] as usize;
                    sum += 0.5 * self.profile(r, p.mass[i] * p.mass[j]).0;
                });
            }
            sum
        })
    }

    fn add_force(&self, p: &Points, f: &mut [f64]) {
        self.with_grid(p, |b| {
            let n = self.on.len();
            let Buffers { grid, force } = b;
            force.resize(n, Vec3::zeros());
            let grid = &*grid;
            // Only gravitation asks for masses, and fetching them is dear: they lie in another order.
            let heavy = matches!(self.law, PairLaw::Gravitation { .. });
            let mass = |k: usize| if heavy { p.mass[self.on[grid.sorted[k] as usize] as usize] } else { 1.0 };
            let one = |k: usize| {
                let mine = mass(k);
                let mut sum = Vec3::zeros();
                self.neighbours(grid, k, |l, d, r| {
                    sum -= d * self.profile(r, mine * mass(l)).1;
                });
                sum
            };
            if n >= PARALLEL_POINTS {
                force.par_chunks_mut(TASK).enumerate().for_each(|(task, force)| {
                    for (k, slot) in force.iter_mut().enumerate() {
                        *slot = one(task * TASK + k);
                    }
                });
            } else {
                for (k, slot) in force.iter_mut().enumerate() {
                    *slot = one(k);
                }
            }
            for (k, force) in force.iter().enumerate() {
                add_triple(f, self.on[grid.sorted[k] as usize] as usize, force);
            }
        });
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
