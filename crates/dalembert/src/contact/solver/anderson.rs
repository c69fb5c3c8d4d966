//! Anderson acceleration (Anderson 1965; Walker and Ni 2011) of symmetric Gauss–Seidel sweeps.
//!
//! A sweep there and back is a map p ↦ G(p). With the moves $f_k = G(p_k) - p_k$ and the differences
//! $\Delta f_k = f_k - f_{k-1}$, $\Delta g_k = G(p_k) - G(p_{k-1})$ the next start is
//! $G(p) - \sum_k \gamma_k\,\Delta g_k$ with γ minimising $|f - \sum_k \gamma_k\,\Delta f_k|$. Moves are measured as
//! energy: each contact counts with the trace of its W, so that heavy and light bodies weigh alike.
//!
//! A stack of N boxes takes about N² plain sweeps, and about N accelerated ones.

use crate::contact::problem::Contact;
use crate::contact::response::TINY;
use crate::math::{Vec3, dot};

/// Sweeps that are combined.
const MEMORY: usize = 8;

/// Settings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tuning {
    /// A combination moves impulses at most by this multiple of what they are and move: larger ones extrapolate rounding.
    pub(crate) farthest: f64,
    /// Added to the unit diagonal of the normal equations, so that equal moves do no harm.
    pub(crate) regularization: f64,
}

impl Default for Tuning {
    fn default() -> Self {
        Self { farthest: 1e2, regularization: 1e-11 }
    }
}

/// Buffers.
#[derive(Debug, Default)]
pub(crate) struct Anderson {
    n: usize,
    /// How many differences there are, and where the next one goes.
    count: usize,
    next: usize,
    /// Differences of moves and of results, `MEMORY` lists of n numbers each; the moves weighted.
    moves: Vec<f64>,
    results: Vec<f64>,
    /// Products of the moves.
    products: [[f64; MEMORY]; MEMORY],
    /// The last move and result.
    last: Option<f64>,
    last_move: Vec<f64>,
    last_result: Vec<f64>,
    /// Where the last sweep began.
    from: Vec<f64>,
    /// The move of this sweep.
    now: Vec<f64>,
}

impl Anderson {
    /// Forgets all sweeps; `n` contacts from now on.
    pub(crate) fn begin(&mut self, n: usize) {
        self.n = 3 * n;
        (self.count, self.next, self.last) = (0, 0, None);
        for list in [&mut self.last_move, &mut self.last_result, &mut self.from, &mut self.now] {
            list.resize(3 * n, 0.0);
        }
        self.moves.resize(3 * n * MEMORY, 0.0);
        self.results.resize(3 * n * MEMORY, 0.0);
    }

    /// A sweep begins here.
    pub(crate) fn start(&mut self, contacts: &[Contact]) {
        for (from, c) in self.from.as_chunks_mut::<3>().0.iter_mut().zip(contacts) {
            *from = c.impulse.into();
        }
    }

    /// The sweep has ended: what is to be added to each impulse. False if nothing.
    pub(crate) fn accelerate(
        &mut self,
        tuning: &Tuning,
        contacts: &[Contact],
        change: &mut Vec<Vec3>,
    ) -> bool {
        let n = self.n;
        for (k, c) in contacts.iter().enumerate() {
            let weight = c.W.trace().sqrt();
            for i in 0..3 {
                self.now[3 * k + i] = weight * (c.impulse[i] - self.from[3 * k + i]);
            }
        }
        let size = dot(&self.now, &self.now).sqrt();
        if self.last.is_some_and(|last| !(size <= 2.0 * last)) {
            // The combination led away.
            (self.count, self.next, self.last) = (0, 0, None);
        }
        if self.last.is_some() {
            let at = self.next;
            let (moves, results) = (at * n..(at + 1) * n, at * n..(at + 1) * n);
            for (d, (now, last)) in self.moves[moves].iter_mut().zip(self.now.iter().zip(&self.last_move)) {
                *d = now - last;
            }
            let list = self.results[results].as_chunks_mut::<3>().0.iter_mut();
            for ((d, last), c) in list.zip(self.last_result.as_chunks::<3>().0).zip(contacts) {
                (0..3).for_each(|i| d[i] = c.impulse[i] - last[i]);
            }
            self.next = (at + 1) % MEMORY;
            self.count = (self.count + 1).min(MEMORY);
            for j in 0..self.count {
                let product = dot(&self.moves[at * n..(at + 1) * n], &self.moves[j * n..(j + 1) * n]);
                (self.products[at][j], self.products[j][at]) = (product, product);
            }
        }
        self.last = Some(size);
        self.last_move.copy_from_slice(&self.now);
        for (last, c) in self.last_result.as_chunks_mut::<3>().0.iter_mut().zip(contacts) {
            *last = c.impulse.into();
        }
        if self.count == 0 {
            return false;
        }
        let Some(weights) = self.weights(tuning) else { return false };
        change.clear();
        change.resize(contacts.len(), Vec3::zeros());
        for (j, weight) in weights.iter().enumerate().take(self.count) {
            let list = self.results[j * n..(j + 1) * n].as_chunks::<3>().0;
            for (d, g) in change.iter_mut().zip(list) {
                *d -= *weight * Vec3::from(*g);
            }
        }
        let weigh = |c: &Contact, p: &Vec3| c.W.trace() * p.norm_squared();
        let far: f64 = contacts.iter().zip(&*change).map(|(c, d)| weigh(c, d)).sum();
        let near: f64 = contacts.iter().map(|c| weigh(c, &c.impulse)).sum();
        if !(far.sqrt() <= tuning.farthest * (near.sqrt() + size)) {
            (self.count, self.next, self.last) = (0, 0, None);
            return false;
        }
        true
    }

    /// γ by the normal equations.
    fn weights(&self, tuning: &Tuning) -> Option<[f64; MEMORY]> {
        let (n, m) = (self.n, self.count);
        let mut A = [[0.0; MEMORY]; MEMORY];
        let mut b = [0.0; MEMORY];
        for i in 0..m {
            let size = self.products[i][i];
            for j in 0..m {
                // Scaled to a diagonal of one: moves shrink by many orders.
                A[i][j] = self.products[i][j] / (size * self.products[j][j]).sqrt().max(TINY);
            }
            A[i][i] += tuning.regularization;
            b[i] = dot(&self.moves[i * n..(i + 1) * n], &self.now) / size.sqrt().max(TINY);
        }
        // Cholesky, in place.
        for j in 0..m {
            for k in 0..j {
                for i in j..m {
                    A[i][j] -= A[i][k] * A[j][k];
                }
            }
            if !(A[j][j] > 0.0) {
                return None;
            }
            let pivot = A[j][j].sqrt();
            (j..m).for_each(|i| A[i][j] /= pivot);
        }
        for i in 0..m {
            let known: f64 = (0..i).map(|k| A[i][k] * b[k]).sum();
            b[i] = (b[i] - known) / A[i][i];
        }
        for i in (0..m).rev() {
            let known: f64 = (i + 1..m).map(|k| A[k][i] * b[k]).sum();
            b[i] = (b[i] - known) / A[i][i];
        }
        for i in 0..m {
            b[i] /= self.products[i][i].sqrt().max(TINY);
        }
        b.iter().all(|b| b.is_finite()).then_some(b)
    }
}
