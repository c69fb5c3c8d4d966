//! A small dense system with bounds: find λ with $\text{low} \le \lambda \le \text{high}$ and w = D λ − d such that
//! $w_i = 0$ where $\lambda_i$ is between its bounds, $w_i \ge 0$ at the low one, $w_i \le 0$ at the high one.
//!
//! D is symmetric and positive semidefinite. Rows stand free or at a bound; each round solves the free ones directly and
//! moves the rows that stand wrong: all of them while their number falls, otherwise only the last, which always ends
//! (Júdice and Pires 1994; Murty 1974). If rounding keeps it from ending, Gauss-Seidel sweeps with projection do the
//! rest, and the report says what is left.
//!
//! Rows may depend on each other: a pivot that is nothing beside the row's own `scale` is left out, its λ is 0.

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
pub struct BoxedReport {
    /// Rounds of the active set.
    pub rounds: u32,
    /// Sweeps that followed.
    pub sweeps: u32,
    /// Largest w that should be 0 or has the wrong sign, over the largest |d| or D |λ|.
    pub residual: f64,
    /// Pivots left out in the last round.
    pub weak: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stand {
    Free,
    Low,
    High,
}

/// Buffers; they grow to the largest system seen.
#[derive(Debug, Clone, Default)]
pub struct BoxedWork {
    stands: Vec<Stand>,
    free: Vec<usize>,
    factor: Vec<f64>,
    x: Vec<f64>,
    w: Vec<f64>,
}

const MOST_ROUNDS: u32 = 60;
const MOST_SWEEPS: u32 = 500;
const WEAK: f64 = 1e-10;

/// Solves for λ; D holds n × n numbers, n being the number of bounds.
pub fn solve_boxed(
    D: &[f64],
    d: &[f64],
    bounds: &[Bounds],
    lambda: &mut [f64],
    work: &mut BoxedWork,
) -> BoxedReport {
    let n = bounds.len();
    let mut report = BoxedReport::default();
    work.stands.clear();
    work.stands.extend(bounds.iter().zip(d).map(|(b, d)| match (b.low == 0.0, b.high == 0.0) {
        (true, _) if *d <= 0.0 => Stand::Low,
        (_, true) if *d >= 0.0 => Stand::High,
        _ => Stand::Free,
    }));
    let (mut fewest, mut patience) = (usize::MAX, 4);
    loop {
        report.rounds += 1;
        report.weak = solve_free(D, d, bounds, lambda, work);
        times(D, d, lambda, &mut work.w);
        let size = slack_size(d, &work.w);
        let (mut wrong, mut last) = (0, 0);
        for i in 0..n {
            if better(bounds, lambda, work, i, size) != work.stands[i] {
                (wrong, last) = (wrong + 1, i);
            }
        }
        if wrong == 0 {
            break;
        }
        if report.rounds >= MOST_ROUNDS {
            sweep(D, d, bounds, lambda, &mut report);
            times(D, d, lambda, &mut work.w);
            break;
        }
        if wrong < fewest {
            (fewest, patience) = (wrong, 4);
        } else {
            patience -= 1;
        }
        let only = if patience > 0 { 0..n } else { last..last + 1 };
        for i in only {
            work.stands[i] = better(bounds, lambda, work, i, size);
        }
    }
    report.residual = residual(D, d, bounds, lambda, &work.w);
    report
}

/// The size that rounding is measured against.
fn slack_size(d: &[f64], w: &[f64]) -> f64 {
    d.iter().zip(w).fold(f64::MIN_POSITIVE, |m, (d, w)| m.max(d.abs()).max(w.abs()))
}

fn better(bounds: &[Bounds], lambda: &[f64], work: &BoxedWork, i: usize, size: f64) -> Stand {
    let (b, x, w) = (&bounds[i], lambda[i], work.w[i]);
    let give = 1e-12 * (x.abs() + size / b.scale.max(f64::MIN_POSITIVE));
    match work.stands[i] {
        Stand::Free if x < b.low - give => Stand::Low,
        Stand::Free if x > b.high + give => Stand::High,
        Stand::Low if b.low < b.high && w < -1e-12 * size => Stand::Free,
        Stand::High if b.low < b.high && w > 1e-12 * size => Stand::Free,
        stand => stand,
    }
}

/// w ← D λ − d.
fn times(D: &[f64], d: &[f64], lambda: &[f64], w: &mut Vec<f64>) {
    let n = d.len();
    w.clear();
    w.extend((0..n).map(|i| crate::math::dot(&D[i * n..(i + 1) * n], lambda) - d[i]));
}

/// λ of the free rows by a Cholesky factor of their part of D; returns how many pivots were left out.
fn solve_free(D: &[f64], d: &[f64], bounds: &[Bounds], lambda: &mut [f64], work: &mut BoxedWork) -> u32 {
    let n = bounds.len();
    let BoxedWork { stands, free, factor, x, .. } = work;
    free.clear();
    for i in 0..n {
        match stands[i] {
            Stand::Free => {
                free.push(i);
                lambda[i] = 0.0;
            }
            Stand::Low => lambda[i] = bounds[i].low,
            Stand::High => lambda[i] = bounds[i].high,
        }
    }
    let m = free.len();
    factor.resize(m * m, 0.0);
    x.clear();
    let mut weak = 0;
    for (r, &i) in free.iter().enumerate() {
        let from = &D[i * n..(i + 1) * n];
        x.push(d[i] - crate::math::dot(from, lambda));
        let (above, own) = factor.split_at_mut(r * m);
        let own = &mut own[..m];
        for (c, &j) in free[..=r].iter().enumerate() {
            own[c] = from[j];
        }
        // Row r of L: L_rc = (D_rc − Σ L_rk L_ck)/L_cc.
        for c in 0..r {
            let other = &above[c * m..c * m + c + 1];
            let sum = crate::math::dot(&own[..c], &other[..c]);
            own[c] = if other[c] > 0.0 { (own[c] - sum) / other[c] } else { 0.0 };
        }
        let pivot = own[r] - crate::math::dot(&own[..r], &own[..r]);
        own[r] = if pivot > WEAK * bounds[i].scale { pivot.sqrt() } else { 0.0 };
        weak += u32::from(own[r] == 0.0);
    }
    for r in 0..m {
        let row = &factor[r * m..r * m + r + 1];
        let sum = crate::math::dot(&row[..r], &x[..r]);
        x[r] = if row[r] > 0.0 { (x[r] - sum) / row[r] } else { 0.0 };
    }
    for r in (0..m).rev() {
        let row = &factor[r * m..r * m + r + 1];
        x[r] = if row[r] > 0.0 { x[r] / row[r] } else { 0.0 };
        let (before, own) = x.split_at_mut(r);
        for (x, l) in before.iter_mut().zip(row) {
            *x -= l * own[0];
        }
    }
    for (x, &i) in x.iter().zip(free.iter()) {
        lambda[i] = *x;
    }
    weak
}

/// Projected Gauss-Seidel from where λ is.
fn sweep(D: &[f64], d: &[f64], bounds: &[Bounds], lambda: &mut [f64], report: &mut BoxedReport) {
    let n = bounds.len();
    for (x, b) in lambda.iter_mut().zip(bounds) {
        *x = x.clamp(b.low, b.high);
    }
    while report.sweeps < MOST_SWEEPS {
        report.sweeps += 1;
        let mut moved = 0.0f64;
        for i in 0..n {
            let (row, diagonal) = (&D[i * n..(i + 1) * n], D[i * n + i]);
            if diagonal > WEAK * bounds[i].scale {
                let next = lambda[i] + (d[i] - crate::math::dot(row, lambda)) / diagonal;
                let next = next.clamp(bounds[i].low, bounds[i].high);
                moved = moved.max((next - lambda[i]).abs() * diagonal);
                lambda[i] = next;
            }
        }
        if moved <= 1e-13 * d.iter().fold(0.0f64, |m, x| m.max(x.abs())) {
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
    fn rows_stand_at_bounds_only_where_these_push_back() {
        let mut random = Random::new(7);
        let mut work = BoxedWork::default();
        for case in 0..200 {
            let (n, rank) = (1 + case % 12, 1 + case % 9);
            let A: Vec<f64> = (0..n * rank).map(|_| random.between(-1.0, 1.0)).collect();
            let row = |i: usize| &A[i * rank..(i + 1) * rank];
            let mut D = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..n {
                    D[i * n + j] = crate::math::dot(row(i), row(j)) + if i == j { 1e-3 } else { 0.0 };
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
            let report = solve_boxed(&D, &d, &bounds, &mut x, &mut work);
            assert!(report.residual < 1e-9, "case {case}: {report:?}");
            assert!(x.iter().zip(&bounds).all(|(x, b)| *x >= b.low - 1e-9 && *x <= b.high + 1e-9));
        }
    }

    #[test]
    fn a_row_said_twice_is_met_once() {
        let D = [2.0, 2.0, 0.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0];
        let free = Bounds { low: f64::NEG_INFINITY, high: f64::INFINITY, scale: 2.0 };
        let mut x = [0.0; 3];
        let report = solve_boxed(&D, &[1.0, 1.0, 0.5], &[free; 3], &mut x, &mut BoxedWork::default());
        assert!((x[0] - 0.5).abs() < 1e-15 && x[1..] == [0.0; 2] && report.weak == 2, "{x:?} {report:?}");
        assert!(report.residual < 1e-15);
    }
}
