//! Linear complementarity with bounds (box LCP) by block principal pivoting (Júdice and Pires 1994) with Murty's rule (1974).
//!
//! Find λ with $\text{low} \le \lambda \le \text{high}$ and w = D λ − d such that $w_i = 0$ where $\lambda_i$ is between its
//! bounds, $w_i \ge 0$ at the low one, $w_i \le 0$ at the high one. The rows at a bound are the active set
//! ([`solve_active_set`]): each round solves the free rows directly and changes the rows that are wrong, all of them while their
//! number falls, otherwise only the last, which always ends.
//!
//! [`solve_box_lcp`] does this for a dense D, symmetric and positive semidefinite. If rounding keeps the rounds from ending,
//! projected Gauss-Seidel does the rest, and the report says what is left. Rows may depend on each other: a pivot that is
//! nothing beside the row's own `scale` is left out, its λ is 0.

use super::dense::{cholesky_semidefinite, solve_cholesky};
use crate::math::dot;

/// Where a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Active {
    /// Between its bounds.
    Free,
    /// At its low bound.
    Low,
    /// At its high bound.
    High,
}

/// How an active-set iteration ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActiveSetReport {
    /// Solves, the first one included.
    pub rounds: u32,
    /// Rows that are still wrong.
    pub wrong: usize,
}

/// Rounds without fewer wrong rows before rows change one by one. Any number ends; 3 to 10 are usual in the literature.
const PATIENCE: u32 = 4;

/// Changes the active set until no row is wrong, at most for `most_rounds` solves, of which the first is done.
///
/// `better(problem, i, active[i])` is where row i belongs given the last solution; `solve` finds another one.
pub fn solve_active_set<P>(
    problem: &mut P,
    active: &mut [Active],
    most_rounds: u32,
    better: impl Fn(&P, usize, Active) -> Active,
    mut solve: impl FnMut(&mut P, &[Active]),
) -> ActiveSetReport {
    let (mut fewest, mut patience) = (usize::MAX, PATIENCE);
    let mut report = ActiveSetReport { rounds: 1, wrong: 0 };
    loop {
        let mut last = 0;
        report.wrong = 0;
        for (i, now) in active.iter().enumerate() {
            if better(problem, i, *now) != *now {
                (report.wrong, last) = (report.wrong + 1, i);
            }
        }
        if report.wrong == 0 || report.rounds >= most_rounds {
            return report;
        }
        if report.wrong < fewest {
            (fewest, patience) = (report.wrong, PATIENCE);
        } else {
            patience = patience.saturating_sub(1);
        }
        let changing = if patience > 0 { 0..active.len() } else { last..last + 1 };
        for i in changing {
            active[i] = better(problem, i, active[i]);
        }
        solve(problem, active);
        report.rounds += 1;
    }
}

/// A row of the unknowns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Lowest λ; −∞ for none.
    pub low: f64,
    /// Highest λ; ∞ for none.
    pub high: f64,
    /// Size of a diagonal entry that counts: pivots below 1e-10 of it are rounding.
    pub scale: f64,
}

/// What a solve did.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BoxLcpReport {
    /// Rounds of the active set.
    pub rounds: u32,
    /// Sweeps that followed.
    pub sweeps: u32,
    /// Largest w that should be 0 or has the wrong sign, over the largest |d| or D |λ|.
    pub residual: f64,
    /// Pivots left out in the last round.
    pub weak: u32,
}

/// Buffers; they grow to the largest system seen.
#[derive(Debug, Clone, Default)]
pub struct BoxLcpWork {
    active: Vec<Active>,
    free: Vec<usize>,
    factor: Vec<f64>,
    x: Vec<f64>,
    w: Vec<f64>,
}

/// Rounds of the active set before projected Gauss-Seidel.
const MOST_ROUNDS: u32 = 60;
/// Rounds of projected Gauss-Seidel.
const MOST_SWEEPS: u32 = 500;
/// Pivots below this part of a row's scale are rounding.
const WEAK: f64 = 1e-10;

/// What the rounds work on.
struct Problem<'a> {
    D: &'a [f64],
    d: &'a [f64],
    bounds: &'a [Bounds],
    lambda: &'a mut [f64],
    work: &'a mut BoxLcpWork,
    /// The size that rounding of w is measured against.
    size: f64,
    weak: u32,
}

/// Solves for λ; D holds n × n numbers, n being the number of bounds.
pub fn solve_box_lcp(
    D: &[f64],
    d: &[f64],
    bounds: &[Bounds],
    lambda: &mut [f64],
    work: &mut BoxLcpWork,
) -> BoxLcpReport {
    let mut active = std::mem::take(&mut work.active);
    active.clear();
    active.extend(bounds.iter().zip(d).map(|(b, d)| match (b.low == 0.0, b.high == 0.0) {
        (true, _) if *d <= 0.0 => Active::Low,
        (_, true) if *d >= 0.0 => Active::High,
        _ => Active::Free,
    }));
    let mut problem = Problem { D, d, bounds, lambda, work, size: 0.0, weak: 0 };
    problem.solve(&active);
    let done = solve_active_set(&mut problem, &mut active, MOST_ROUNDS, Problem::better, Problem::solve);
    let mut report = BoxLcpReport { rounds: done.rounds, weak: problem.weak, ..BoxLcpReport::default() };
    work.active = active;
    if done.wrong > 0 {
        project_gauss_seidel(D, d, bounds, lambda, &mut report);
        times(D, d, lambda, &mut work.w);
    }
    report.residual = residual(D, d, bounds, lambda, &work.w);
    report
}

impl Problem<'_> {
    /// λ with the rows of the active set at their bounds, and w.
    fn solve(&mut self, active: &[Active]) {
        self.weak = solve_free(self.D, self.d, self.bounds, active, self.lambda, self.work);
        times(self.D, self.d, self.lambda, &mut self.work.w);
        let largest = |m: f64, (d, w): (&f64, &f64)| m.max(d.abs()).max(w.abs());
        self.size = self.d.iter().zip(&self.work.w).fold(f64::MIN_POSITIVE, largest);
    }

    fn better(&self, i: usize, now: Active) -> Active {
        let (b, x, w) = (&self.bounds[i], self.lambda[i], self.work.w[i]);
        let slack = 1e-12 * (x.abs() + self.size / b.scale.max(f64::MIN_POSITIVE));
        match now {
            Active::Free if x < b.low - slack => Active::Low,
            Active::Free if x > b.high + slack => Active::High,
            Active::Low if b.low < b.high && w < -1e-12 * self.size => Active::Free,
            Active::High if b.low < b.high && w > 1e-12 * self.size => Active::Free,
            now => now,
        }
    }
}

/// w ← D λ − d.
fn times(D: &[f64], d: &[f64], lambda: &[f64], w: &mut Vec<f64>) {
    let n = d.len();
    w.clear();
    w.extend((0..n).map(|i| dot(&D[i * n..(i + 1) * n], lambda) - d[i]));
}

/// λ of the free rows by a Cholesky factor of their part of D; returns how many pivots were left out.
fn solve_free(
    D: &[f64],
    d: &[f64],
    bounds: &[Bounds],
    active: &[Active],
    lambda: &mut [f64],
    work: &mut BoxLcpWork,
) -> u32 {
    let n = bounds.len();
    let BoxLcpWork { free, factor, x, .. } = work;
    free.clear();
    for i in 0..n {
        match active[i] {
            Active::Free => {
                free.push(i);
                lambda[i] = 0.0;
            }
            Active::Low => lambda[i] = bounds[i].low,
            Active::High => lambda[i] = bounds[i].high,
        }
    }
    let m = free.len();
    factor.resize(m * m, 0.0);
    x.clear();
    for (r, &i) in free.iter().enumerate() {
        let from = &D[i * n..(i + 1) * n];
        x.push(d[i] - dot(from, lambda));
        factor[r * m + r..(r + 1) * m].iter_mut().zip(&free[r..]).for_each(|(to, j)| *to = from[*j]);
    }
    let weak = cholesky_semidefinite(factor, m, |r| WEAK * bounds[free[r]].scale);
    solve_cholesky(factor, x);
    for (x, &i) in x.iter().zip(free.iter()) {
        lambda[i] = *x;
    }
    weak
}

/// Projected Gauss-Seidel from where λ is.
fn project_gauss_seidel(
    D: &[f64],
    d: &[f64],
    bounds: &[Bounds],
    lambda: &mut [f64],
    report: &mut BoxLcpReport,
) {
    let n = bounds.len();
    for (x, b) in lambda.iter_mut().zip(bounds) {
        *x = x.clamp(b.low, b.high);
    }
    while report.sweeps < MOST_SWEEPS {
        report.sweeps += 1;
        let mut change = 0.0f64;
        for i in 0..n {
            let (row, diagonal) = (&D[i * n..(i + 1) * n], D[i * n + i]);
            if diagonal > WEAK * bounds[i].scale {
                let next = lambda[i] + (d[i] - dot(row, lambda)) / diagonal;
                let next = next.clamp(bounds[i].low, bounds[i].high);
                change = change.max((next - lambda[i]).abs() * diagonal);
                lambda[i] = next;
            }
        }
        if change <= 1e-13 * d.iter().fold(0.0f64, |m, x| m.max(x.abs())) {
            break;
        }
    }
}

fn residual(D: &[f64], d: &[f64], bounds: &[Bounds], lambda: &[f64], w: &[f64]) -> f64 {
    let n = bounds.len();
    let (mut worst, mut size) = (0.0f64, f64::MIN_POSITIVE);
    for i in 0..n {
        let (b, x) = (&bounds[i], lambda[i]);
        // Rows without a pivot cannot be met: they say nothing about the solution.
        if D[i * n + i] <= WEAK * b.scale {
            continue;
        }
        let wrong = if x <= b.low {
            (-w[i]).max(0.0)
        } else if x >= b.high {
            w[i].max(0.0)
        } else {
            w[i].abs()
        };
        worst = worst.max(wrong);
        size = size.max(d[i].abs()).max((w[i] + d[i]).abs());
    }
    worst / size
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn rows_are_at_bounds_only_where_these_push_back() {
        let mut random = Random::new(7);
        let mut work = BoxLcpWork::default();
        for case in 0..200 {
            let (n, rank) = (1 + case % 12, 1 + case % 9);
            let A: Vec<f64> = (0..n * rank).map(|_| random.between(-1.0, 1.0)).collect();
            let row = |i: usize| &A[i * rank..(i + 1) * rank];
            let mut D = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..n {
                    D[i * n + j] = dot(row(i), row(j)) + if i == j { 1e-3 } else { 0.0 };
                }
            }
            let d: Vec<f64> = (0..n).map(|_| random.between(-1.0, 1.0)).collect();
            let bounds: Vec<Bounds> = (0..n)
                .map(|i| match (case + i) % 3 {
                    0 => Bounds { low: 0.0, high: f64::INFINITY, scale: D[i * n + i] },
                    1 => Bounds { low: -0.2, high: 0.2, scale: D[i * n + i] },
                    _ => Bounds { low: f64::NEG_INFINITY, high: f64::INFINITY, scale: D[i * n + i] },
                })
                .collect();
            let mut x = vec![0.0; n];
            let report = solve_box_lcp(&D, &d, &bounds, &mut x, &mut work);
            assert!(report.residual < 1e-9, "case {case}: {report:?}");
            assert!(x.iter().zip(&bounds).all(|(x, b)| *x >= b.low - 1e-9 && *x <= b.high + 1e-9));
        }
    }

    #[test]
    fn a_row_said_twice_is_met_once() {
        let D = [2.0, 2.0, 0.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0];
        let free = Bounds { low: f64::NEG_INFINITY, high: f64::INFINITY, scale: 2.0 };
        let mut x = [0.0; 3];
        let report = solve_box_lcp(&D, &[1.0, 1.0, 0.5], &[free; 3], &mut x, &mut BoxLcpWork::default());
        assert!((x[0] - 0.5).abs() < 1e-15 && x[1..] == [0.0; 2] && report.weak == 2, "{x:?} {report:?}");
        assert!(report.residual < 1e-15);
    }
}
