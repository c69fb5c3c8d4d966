//! Anderson acceleration of a fixed-point iteration x ← G(x) (Anderson 1965; Walker and Ni 2011).
//!
//! With the moves $f_k = G(x_k) - x_k$ and the differences $\Delta f_k = f_k - f_{k-1}$, $\Delta g_k = G(x_k) - G(x_{k-1})$ of
//! the last few iterations the next x is $G(x) - \sum_k \gamma_k\,\Delta g_k$ with γ minimising $|f - \sum_k \gamma_k\,\Delta f_k|$
//! in a weighted norm. Gauss-Seidel alone carries news up a stack of N boxes in about N² iterations, accelerated in about N.

use super::dense::{cholesky, solve_cholesky};
use crate::math::dot;

/// A step changes x at most by this multiple of what x and the move are: larger ones extrapolate rounding.
const FARTHEST: f64 = 1e2;
/// A move larger than the last one by this factor shows that the acceleration leads away: it begins anew.
const ASTRAY: f64 = 2.0;
/// Added to the scaled normal equations, so that equal moves do no harm.
const REGULARIZATION: f64 = 1e-11;

/// The last iterations.
#[derive(Debug, Clone, Default)]
pub struct Anderson {
    n: usize,
    memory: usize,
    /// How many differences there are, and where the next one goes.
    count: usize,
    next: usize,
    /// Differences of moves, weighted, and of results: `memory` lists of n numbers each.
    moves: Vec<f64>,
    results: Vec<f64>,
    /// Products of the moves.
    products: Vec<f64>,
    /// Size of the last move, the move, and the result.
    last: Option<f64>,
    last_move: Vec<f64>,
    last_result: Vec<f64>,
    now: Vec<f64>,
    /// Normal equations.
    A: Vec<f64>,
    gamma: Vec<f64>,
}

impl Anderson {
    /// Forgets all iterations; n unknowns and `memory` differences from now on.
    pub fn begin(&mut self, n: usize, memory: usize) {
        (self.n, self.memory) = (n, memory);
        self.forget();
        for list in [&mut self.last_move, &mut self.last_result, &mut self.now] {
            list.resize(n, 0.0);
        }
        self.moves.resize(n * memory, 0.0);
        self.results.resize(n * memory, 0.0);
        self.products.resize(memory * memory, 0.0);
    }

    fn forget(&mut self) {
        (self.count, self.next, self.last) = (0, 0, None);
    }

    /// What is to be added to `result` = G(`from`), into `change`; false if nothing. `weight(i)` is that of unknown i in the
    /// square of the norm.
    pub fn accelerate(
        &mut self,
        from: &[f64],
        result: &[f64],
        weight: impl Fn(usize) -> f64,
        change: &mut Vec<f64>,
    ) -> bool {
        if self.memory == 0 {
            return false;
        }
        for (i, now) in self.now.iter_mut().enumerate() {
            *now = weight(i).sqrt() * (result[i] - from[i]);
        }
        let size = dot(&self.now, &self.now).sqrt();
        if self.last.is_some_and(|last| !(size <= ASTRAY * last)) {
            self.forget();
        }
        if self.last.is_some() {
            self.push_differences(result);
        }
        self.last = Some(size);
        self.last_move.copy_from_slice(&self.now);
        self.last_result.copy_from_slice(result);
        if self.count == 0 || !self.solve() {
            return false;
        }
        change.clear();
        change.resize(self.n, 0.0);
        for (gamma, list) in self.gamma.iter().zip(self.results.chunks_exact(self.n)) {
            change.iter_mut().zip(list).for_each(|(change, g)| *change -= gamma * g);
        }
        let norm = |list: &[f64]| -> f64 {
            list.iter().enumerate().map(|(i, x)| weight(i) * x * x).sum::<f64>().sqrt()
        };
        if !(norm(change) <= FARTHEST * (norm(result) + size)) {
            self.forget();
            return false;
        }
        true
    }

    /// One more difference, in place of the oldest if there are `memory`.
    fn push_differences(&mut self, result: &[f64]) {
        let (n, at, memory) = (self.n, self.next, self.memory);
        let own = at * n..(at + 1) * n;
        for (d, (now, last)) in self.moves[own.clone()].iter_mut().zip(self.now.iter().zip(&self.last_move)) {
            *d = now - last;
        }
        for (d, (now, last)) in self.results[own].iter_mut().zip(result.iter().zip(&self.last_result)) {
            *d = now - last;
        }
        self.next = (at + 1) % memory;
        self.count = (self.count + 1).min(memory);
        for j in 0..self.count {
            let product = dot(&self.moves[at * n..(at + 1) * n], &self.moves[j * n..(j + 1) * n]);
            (self.products[at * memory + j], self.products[j * memory + at]) = (product, product);
        }
    }

    /// γ by the normal equations, scaled to a diagonal of one since moves shrink by many orders; false if that fails.
    fn solve(&mut self) -> bool {
        let (n, m, memory) = (self.n, self.count, self.memory);
        let product = |i: usize, j: usize| self.products[i * memory + j];
        self.A.clear();
        self.gamma.clear();
        for i in 0..m {
            let size = product(i, i);
            self.A.extend((0..m).map(|j| product(i, j) / (size * product(j, j)).sqrt().max(1e-300)));
            self.A[i * m + i] += REGULARIZATION;
            self.gamma.push(dot(&self.moves[i * n..(i + 1) * n], &self.now) / size.sqrt().max(1e-300));
        }
        if cholesky(&mut self.A, m).is_err() {
            return false;
        }
        solve_cholesky(&self.A, &mut self.gamma);
        for i in 0..m {
            self.gamma[i] /= product(i, i).sqrt().max(1e-300);
        }
        self.gamma.iter().all(|g| g.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::Anderson;

    /// Iterations until x = G(x) = A x + b to 1e-12, A being a slow contraction between neighbours.
    fn iterations(n: usize, memory: usize) -> usize {
        let step = |x: &[f64]| -> Vec<f64> {
            let at = |i: usize| x.get(i).copied().unwrap_or(0.0);
            (0..n).map(|i| 0.5 * (at(i.wrapping_sub(1)) + at(i + 1)) + 1.0).collect()
        };
        let (mut x, mut anderson, mut change) = (vec![0.0; n], Anderson::default(), Vec::new());
        anderson.begin(n, memory);
        for k in 1..100_000 {
            let mut next = step(&x);
            let moved = next.iter().zip(&x).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
            if moved < 1e-12 {
                return k;
            }
            if anderson.accelerate(&x, &next, |i| 1.0 + (i % 2) as f64, &mut change) {
                next.iter_mut().zip(&change).for_each(|(x, d)| *x += d);
            }
            x = next;
        }
        panic!("it does not converge");
    }

    #[test]
    fn it_takes_about_n_iterations_where_the_plain_ones_take_n_squared() {
        for n in [6, 10] {
            let (plain, fast) = (iterations(n, 0), iterations(n, n));
            assert!(fast <= 3 * n && plain > 20 * fast.min(n), "{n}: {plain} {fast}");
        }
    }

    #[test]
    fn a_move_that_grows_begins_anew() {
        let (mut anderson, mut change) = (Anderson::default(), Vec::new());
        anderson.begin(2, 4);
        let mut accelerate = |f: [f64; 2]| anderson.accelerate(&[0.0; 2], &f, |_| 1.0, &mut change);
        assert!(!accelerate([1.0, 0.5]), "one iteration has no difference");
        assert!(accelerate([0.5, 0.4]));
        assert!(!accelerate([5.0, 0.0]), "astray");
        assert!(accelerate([2.0, 1.0]));
        assert!(!accelerate([f64::NAN, 1.0]));
    }
}
