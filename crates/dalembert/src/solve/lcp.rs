//! Linear complementarity by Lemke's method (1965): find z ≥ 0 with w = M z + q ≥ 0 and z·w = 0.
//!
//! Resting contact asks for it: the accelerations at which contacts part are linear in their forces, both are never
//! negative, and one of the two is zero. **Lemke's method** adds a covering vector, w = M z + q + d z₀, starts with z₀
//! so large that w ≥ 0, and pivots: whatever leaves the basis, its complement enters, until z₀ leaves. Ties of the
//! ratio test are broken lexicographically by the rows of B⁻¹, so that no basis comes twice and the path ends. It ends
//! with a solution if M is copositive-plus (positive semidefinite for one) and there is any; for other M it may end in
//! a ray, and then other covering vectors are tried. If all fail the answer says so: with friction there need not be a
//! solution (Painlevé's rod).
//!
//! The last basis is solved anew from M and q, so that the digits do not depend on the length of the path.
//! Cottle, Pang and Stone 2009, chapter 4.

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LcpEnd {
    /// z solves the problem, to the residual reported.
    Solved,
    /// Every path ended in a ray: there may be no solution.
    Ray,
    /// The limit of pivots was reached.
    TooManyPivots,
}

/// What a search did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LcpReport {
    /// How it ended.
    pub end: LcpEnd,
    /// Pivots of all paths.
    pub pivots: u32,
    /// Largest of −z, −w and |z w|, each over the size of its terms.
    pub residual: f64,
}

/// Covering vectors that are tried, one after the other.
const TRIES: usize = 8;

/// Solves w = M z + q for n unknowns; M holds n × n numbers by rows. z is the result, zero if there is none.
pub fn solve_lcp(M: &[f64], q: &[f64], z: &mut [f64]) -> LcpReport {
    let n = q.len();
    assert!(M.len() == n * n && z.len() == n, "{n} unknowns need {} numbers", n * n);
    z.fill(0.0);
    let mut report = LcpReport { end: LcpEnd::Solved, pivots: 0, residual: 0.0 };
    if q.iter().all(|q| *q >= 0.0) {
        return report;
    }
    for attempt in 0..TRIES {
        let cover = |i: usize| 1.0 + attempt as f64 * ((7 * i + 3 * attempt) % 11) as f64 / 4.0;
        let mut path = Path::new(M, q, cover);
        report.end = path.follow();
        report.pivots += path.pivots;
        if report.end != LcpEnd::Solved {
            continue;
        }
        path.solution(M, q, z);
        report.residual = residual(M, q, z);
        if report.residual < 1e-9 {
            return report;
        }
        report.end = LcpEnd::Ray;
    }
    z.fill(0.0);
    report.residual = residual(M, q, z);
    report
}

/// Largest of −z, −w and |z w| with w = M z + q, each over the size of its terms.
pub fn residual(M: &[f64], q: &[f64], z: &[f64]) -> f64 {
    let n = q.len();
    let largest = z.iter().fold(0.0f64, |a, b| a.max(b.abs()));
    let mut worst = 0.0f64;
    for i in 0..n {
        let terms = || M[n * i..n * (i + 1)].iter().zip(z).map(|(m, z)| m * z);
        let w = terms().sum::<f64>() + q[i];
        let size = terms().map(f64::abs).sum::<f64>() + q[i].abs();
        if size.is_nan() {
            return f64::INFINITY;
        }
        if size > 0.0 {
            worst = worst.max(-w / size).max((z[i] * w).abs() / (size * largest.max(f64::MIN_POSITIVE)));
        }
        if largest > 0.0 {
            worst = worst.max(-z[i] / largest);
        }
    }
    worst
}

/// One path of pivots over the rows (B⁻¹ | columns | right-hand side).
struct Path {
    n: usize,
    /// Per row: n of w, n of z, z₀, right-hand side.
    rows: Vec<f64>,
    /// What stands in the basis of each row: 0..n is w, n..2n is z, 2n is z₀.
    basis: Vec<usize>,
    cover: Vec<f64>,
    pivots: u32,
}

impl Path {
    fn new(M: &[f64], q: &[f64], cover: impl Fn(usize) -> f64) -> Self {
        let n = q.len();
        let width = 2 * n + 2;
        let mut rows = vec![0.0; n * width];
        let cover: Vec<f64> = (0..n).map(cover).collect();
        for (i, row) in rows.chunks_exact_mut(width).enumerate() {
            row[i] = 1.0;
            for j in 0..n {
                row[n + j] = -M[n * i + j];
            }
            row[2 * n] = -cover[i];
            row[2 * n + 1] = q[i];
        }
        Self { n, rows, basis: (0..n).collect(), cover, pivots: 0 }
    }

    fn follow(&mut self) -> LcpEnd {
        let n = self.n;
        let width = 2 * n + 2;
        // z₀ enters where it lifts the lowest w, relative to its cover, to zero.
        let value = |i: usize, rows: &[f64]| rows[width * i + width - 1] / self.cover[i];
        let first = (0..n).min_by(|&a, &b| value(a, &self.rows).total_cmp(&value(b, &self.rows)));
        let Some(first) = first else { return LcpEnd::Solved };
        let mut entering = self.pivot(first, 2 * n);
        let most = 50 * n as u32 + 100;
        while entering != 2 * n {
            // What enters is the complement of what left.
            let column = if entering < n { entering + n } else { entering - n };
            let Some(row) = self.leaving(column) else { return LcpEnd::Ray };
            entering = self.pivot(row, column);
            if self.pivots > most {
                return LcpEnd::TooManyPivots;
            }
        }
        LcpEnd::Solved
    }

    /// The row that first reaches zero when a column enters; z₀ if it is among them.
    fn leaving(&self, column: usize) -> Option<usize> {
        let (n, width) = (self.n, 2 * self.n + 2);
        let largest = (0..n).map(|i| self.rows[width * i + column].abs()).fold(0.0, f64::max);
        let mut best: Option<usize> = None;
        for i in (0..n).filter(|&i| self.rows[width * i + column] > 1e-11 * largest) {
            best = match best {
                None => Some(i),
                Some(b) => Some(if self.earlier(i, b, column) { i } else { b }),
            };
        }
        best
    }

    /// True if row a reaches zero before row b: by the ratio, then by the ratios of B⁻¹, entry by entry.
    fn earlier(&self, a: usize, b: usize, column: usize) -> bool {
        let width = 2 * self.n + 2;
        let (ra, rb) = (&self.rows[width * a..width * (a + 1)], &self.rows[width * b..width * (b + 1)]);
        let places = std::iter::once(width - 1).chain(0..self.n);
        for (k, place) in places.enumerate() {
            let (x, y) = (ra[place] / ra[column], rb[place] / rb[column]);
            if (x - y).abs() > 1e-12 * (x.abs() + y.abs()) {
                return x < y;
            }
            if k == 0 && (self.basis[a] == 2 * self.n || self.basis[b] == 2 * self.n) {
                return self.basis[a] == 2 * self.n;
            }
        }
        false
    }

    /// A column takes the place of what stands in a row, which is returned.
    fn pivot(&mut self, row: usize, column: usize) -> usize {
        let (n, width) = (self.n, 2 * self.n + 2);
        self.pivots += 1;
        let factor = 1.0 / self.rows[width * row + column];
        self.rows[width * row..width * (row + 1)].iter_mut().for_each(|x| *x *= factor);
        let own: Vec<f64> = self.rows[width * row..width * (row + 1)].to_vec();
        for i in (0..n).filter(|&i| i != row) {
            let to = &mut self.rows[width * i..width * (i + 1)];
            let factor = to[column];
            if factor != 0.0 {
                to.iter_mut().zip(&own).for_each(|(x, y)| *x -= factor * y);
                to[column] = 0.0;
            }
        }
        std::mem::replace(&mut self.basis[row], column)
    }

    /// z of the last basis, solved from M and q: the rows whose z stands in the basis have w = 0.
    fn solution(&self, M: &[f64], q: &[f64], z: &mut [f64]) {
        let n = self.n;
        let mut free: Vec<usize> =
            self.basis.iter().filter(|&&b| (n..2 * n).contains(&b)).map(|b| b - n).collect();
        free.sort_unstable();
        let k = free.len();
        let A = nalgebra::DMatrix::from_fn(k, k, |i, j| M[n * free[i] + free[j]]);
        let b = nalgebra::DVector::from_fn(k, |i, _| -q[free[i]]);
        z.fill(0.0);
        let factor = A.clone().lu();
        if let Some(mut x) = factor.solve(&b) {
            // One step of refinement.
            if let Some(more) = factor.solve(&(&b - &A * &x)) {
                x += more;
            }
            free.iter().zip(x.iter()).for_each(|(&i, x)| z[i] = x.max(0.0));
        } else {
            // Redundant supports: the digits of the path.
            for (row, &b) in self.basis.iter().enumerate().filter(|(_, b)| (n..2 * n).contains(*b)) {
                z[b - n] = self.rows[(2 * n + 2) * row + 2 * n + 1].max(0.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    #[test]
    fn random_positive_definite_problems_are_solved() {
        let mut seed = 1;
        for n in 1..40 {
            let B: Vec<f64> = (0..n * n).map(|_| next(&mut seed)).collect();
            let mut M = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..n {
                    M[n * i + j] = (0..n).map(|k| B[n * i + k] * B[n * j + k]).sum::<f64>();
                }
                M[n * i + i] += 0.1;
            }
            let q: Vec<f64> = (0..n).map(|_| next(&mut seed)).collect();
            let mut z = vec![0.0; n];
            let report = solve_lcp(&M, &q, &mut z);
            assert_eq!(report.end, LcpEnd::Solved, "n = {n}");
            assert!(residual(&M, &q, &z) < 1e-12, "n = {n}: {:e}", residual(&M, &q, &z));
        }
    }

    #[test]
    fn four_legs_of_a_table_hold_its_weight() {
        // A rigid table on four legs: M = J M⁻¹ Jᵀ has rank three, any split that balances is a solution.
        let corners = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]];
        let mut M = vec![0.0; 16];
        for i in 0..4 {
            for j in 0..4 {
                let lever: f64 = (0..2).map(|k| corners[i][k] * corners[j][k]).sum();
                M[4 * i + j] = 1.0 + 3.0 * lever;
            }
        }
        let mut z = [0.0; 4];
        let report = solve_lcp(&M, &[-9.81; 4], &mut z);
        assert_eq!(report.end, LcpEnd::Solved);
        assert!((z.iter().sum::<f64>() - 9.81).abs() < 1e-12, "{z:?}");
        for k in 0..2 {
            let torque: f64 = (0..4).map(|i| corners[i][k] * z[i]).sum();
            assert!(torque.abs() < 1e-12, "{torque:e}");
        }
    }

    #[test]
    fn a_problem_without_a_solution_is_reported() {
        // w = −z − 1 is negative for every z ≥ 0.
        let mut z = [0.0];
        let report = solve_lcp(&[-1.0], &[-1.0], &mut z);
        assert_eq!(report.end, LcpEnd::Ray);
        assert_eq!(z, [0.0]);
    }

    #[test]
    fn numbers_that_are_not_numbers_end_the_search() {
        let mut z = [0.0; 2];
        let report = solve_lcp(&[1.0, f64::NAN, 0.0, 1.0], &[-1.0, -1.0], &mut z);
        assert_ne!(report.end, LcpEnd::Solved);
    }
}
