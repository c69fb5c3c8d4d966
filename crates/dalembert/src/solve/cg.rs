//! Conjugate gradients (Hestenes and Stiefel 1952) for $A x = b$ with A symmetric positive definite, known only through
//! products $A p$.
//!
//! With the residual $r = b - A x$ and a preconditioner $P \approx A$, from $z = P^{-1} r$ and $p = z$ repeat
//!
//! - $\alpha = r^T z / p^T A p$, $x \leftarrow x + \alpha p$, $r \leftarrow r - \alpha A p$;
//! - $z = P^{-1} r$, $\beta = r^T z / (\text{the } r^T z \text{ before})$, $p \leftarrow z + \beta p$
//!
//! until $\sqrt{r^T W r} \le \text{tolerance} \sqrt{b^T W b}$. W is a diagonal that gives all entries one unit, such as
//! the inverse masses; so the rule is purely relative and a change of units changes no iteration.
//!
//! **Same bits for any number of threads.** Sums run over chunks of fixed length whose partial sums are added
//! in order.
//!
//! **The recurrence drifts.** After many iterations r is no longer b − A x. Where rounding may have reached the
//! tolerance, the true residual is computed before success is claimed, and the iteration restarts from it if it is too
//! large. Book: "Solvers".

use super::sums::{add_scaled, add_scaled_square, dot, partial_sums, scale_add, square};

/// How much worse than ε Σ|r| the drift of the recurrence is allowed to be before the true residual is computed:
/// |A||p| is larger than |A p| where stiff terms cancel.
const CANCELLATION: f64 = 1e4;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub struct CgOptions<'a> {
    /// Residual relative to the right-hand side, both in the norm of `weights`.
    pub tolerance: f64,
    /// Most products with A in the recurrence.
    pub most_iterations: usize,
    /// Diagonal of W ≥ 0, such as the inverse mass of each entry; none means ones. Entries of weight zero are not
    /// judged.
    pub weights: Option<&'a [f64]>,
}

impl Default for CgOptions<'_> {
    fn default() -> Self {
        Self { tolerance: 1e-6, most_iterations: 10_000, weights: None }
    }
}

/// Why the iteration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgStop {
    /// The residual is small enough.
    Converged,
    /// [`CgOptions::most_iterations`] were not enough.
    MostIterations,
    /// $p^T A p \le 0$ or $r^T P^{-1} r \le 0$: A or the preconditioner is not positive definite. x is the iterate before.
    NegativeCurvature,
    /// The true residual stays above the tolerance, and starting again from it gains less than a factor of two: as
    /// good as rounding allows.
    Stalled,
    /// A number that is not finite came in, or from one of the closures. x is the last iterate that was finite.
    NotFinite,
}

/// How the iteration went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CgReport {
    /// Steps along a direction p.
    pub iterations: usize,
    /// Last $\sqrt{r^T W r / b^T W b}$; NaN if a number was not finite at the start.
    pub residual: f64,
    /// Why it ended.
    pub stop: CgStop,
}

/// Buffers. After the first solution of a size there is no allocation.
#[derive(Clone, Debug, Default)]
pub struct CgWork {
    r: Vec<f64>,
    z: Vec<f64>,
    p: Vec<f64>,
    Ap: Vec<f64>,
    partial: Vec<f64>,
}

/// Solves A x = b from the given x.
///
/// `apply(p, out)` writes A p and `precondition(r, out)` writes P⁻¹ r, both over what is in `out`. A right-hand side of
/// zeros gives zeros at once.
///
/// # Panics
/// If `b`, `x` and the weights differ in length.
///
/// ```
/// use dalembert::solve::cg::*;
///
/// // 2 on the diagonal, −1 beside it.
/// let apply = |p: &[f64], out: &mut [f64]| {
///     for i in 0..3 {
///         out[i] = 2.0 * p[i] - if i > 0 { p[i - 1] } else { 0.0 } - if i < 2 { p[i + 1] } else { 0.0 };
///     }
/// };
/// let mut x = [0.0; 3];
/// let report = cg(apply, plain, &[1.0, 0.0, 1.0], &mut x, &CgOptions::default(), &mut CgWork::default());
/// assert!(report.stop == CgStop::Converged && x.iter().all(|x| (x - 1.0).abs() < 1e-12));
/// ```
pub fn cg(
    mut apply: impl FnMut(&[f64], &mut [f64]),
    mut precondition: impl FnMut(&[f64], &mut [f64]),
    b: &[f64],
    x: &mut [f64],
    options: &CgOptions,
    work: &mut CgWork,
) -> CgReport {
    let n = b.len();
    assert_eq!(x.len(), n, "x and b differ in length");
    if let Some(w) = options.weights {
        assert_eq!(w.len(), n, "the weights and b differ in length");
    }
    let CgWork { r, z, p, Ap, partial } = work;
    for buffer in [&mut *r, &mut *z, &mut *p, &mut *Ap] {
        buffer.resize(n, 0.0);
    }
    partial.resize(partial_sums(n), 0.0);
    let w = options.weights;

    let mut report = CgReport { iterations: 0, residual: f64::NAN, stop: CgStop::NotFinite };
    let b_norm = square(b, w, partial).sqrt();
    if !b_norm.is_finite() || !dot(x, x, partial).is_finite() {
        return report;
    }
    if b_norm == 0.0 {
        x.fill(0.0);
        return CgReport { residual: 0.0, stop: CgStop::Converged, ..report };
    }

    let tolerance = options.tolerance;
    if x.iter().all(|x| *x == 0.0) {
        r.copy_from_slice(b); // no product needed
        report.residual = 1.0;
    } else {
        report.residual = true_residual(&mut apply, b, x, r, w, partial) / b_norm;
    }
    let mut residual_at_start = f64::INFINITY;
    let mut sum_of_residuals = 1.0 + report.residual;
    // Each round is one run of the recurrence from a true residual.
    loop {
        let ended = if !report.residual.is_finite() {
            Some(CgStop::NotFinite)
        } else if report.residual <= tolerance {
            Some(CgStop::Converged)
        } else if report.residual > 0.5 * residual_at_start {
            Some(CgStop::Stalled)
        } else {
            None
        };
        if let Some(stop) = ended {
            return CgReport { stop, ..report };
        }
        residual_at_start = report.residual;
        let mut rz_before = None;
        while report.residual > tolerance.max(f64::EPSILON * sum_of_residuals) {
            if report.iterations == options.most_iterations {
                return CgReport { stop: CgStop::MostIterations, ..report };
            }
            precondition(r, z);
            let rz = dot(r, z, partial);
            if let Some(stop) = not_positive(rz) {
                return CgReport { stop, ..report };
            }
            match rz_before {
                None => p.copy_from_slice(z),
                Some(before) => scale_add(p, rz / before, z, partial),
            }
            rz_before = Some(rz);
            apply(p, Ap);
            let pAp = dot(p, Ap, partial);
            if let Some(stop) = not_positive(pAp) {
                return CgReport { stop, ..report };
            }
            let alpha = rz / pAp;
            if !alpha.is_finite() {
                return CgReport { stop: CgStop::NotFinite, ..report };
            }
            add_scaled(x, alpha, p, partial);
            report.residual = add_scaled_square(r, -alpha, Ap, w, partial).sqrt() / b_norm;
            report.iterations += 1;
            sum_of_residuals += report.residual;
        }
        if report.residual.is_finite() && tolerance > CANCELLATION * f64::EPSILON * sum_of_residuals {
            return CgReport { stop: CgStop::Converged, ..report };
        }
        report.residual = true_residual(&mut apply, b, x, r, w, partial) / b_norm;
    }
}

/// Writes z = r, the preconditioner that does nothing.
pub fn plain(r: &[f64], z: &mut [f64]) {
    z.copy_from_slice(r);
}

/// r ← b − A x, and its norm.
fn true_residual(
    apply: &mut impl FnMut(&[f64], &mut [f64]),
    b: &[f64],
    x: &[f64],
    r: &mut [f64],
    w: Option<&[f64]>,
    partial: &mut [f64],
) -> f64 {
    apply(x, r);
    scale_add(r, -1.0, b, partial);
    square(r, w, partial).sqrt()
}

fn not_positive(curvature: f64) -> Option<CgStop> {
    if !curvature.is_finite() {
        Some(CgStop::NotFinite)
    } else if curvature <= 0.0 {
        Some(CgStop::NegativeCurvature)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;
    use proptest::prelude::*;

    /// A dense symmetric matrix for tests: rows of n numbers.
    fn times(a: &[f64]) -> impl FnMut(&[f64], &mut [f64]) + '_ {
        |p, out| {
            for (row, out) in a.chunks(p.len()).zip(out) {
                *out = row.iter().zip(p).map(|(a, p)| a * p).sum();
            }
        }
    }

    /// B Bᵀ + s I with random B.
    fn random_spd(n: usize, shift: f64, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let b: Vec<f64> = (0..n * n).map(|_| random.between(-1.0, 1.0)).collect();
        let entry = |i: usize, j: usize| {
            let product: f64 = (0..n).map(|k| b[i * n + k] * b[j * n + k]).sum();
            product + if i == j { shift } else { 0.0 }
        };
        (0..n * n).map(|ij| entry(ij / n, ij % n)).collect()
    }

    fn solve(a: &[f64], b: &[f64], x: &mut [f64], options: &CgOptions) -> CgReport {
        cg(times(a), plain, b, x, options, &mut CgWork::default())
    }

    fn residual(a: &[f64], b: &[f64], x: &[f64]) -> f64 {
        let mut r = vec![0.0; b.len()];
        times(a)(x, &mut r);
        r.iter().zip(b).map(|(r, b)| (r - b).powi(2)).sum::<f64>().sqrt()
            / b.iter().map(|b| b * b).sum::<f64>().sqrt()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_it_calls_solved_is_solved(
            n in 1usize..25, shift in 1e-6f64..10.0, seed: u64, digits in 1i32..11, warm: bool,
        ) {
            let a = random_spd(n, shift, seed);
            let mut random = Random::new(!seed);
            let mut vector = || (0..n).map(|_| random.between(-1.0, 1.0)).collect::<Vec<f64>>();
            let (b, mut x) = (vector(), if warm { vector() } else { vec![0.0; n] });
            let tolerance = 0.1f64.powi(digits);
            let report = solve(&a, &b, &mut x, &CgOptions { tolerance, ..CgOptions::default() });
            let true_one = residual(&a, &b, &x);
            if report.stop == CgStop::Converged {
                prop_assert!(true_one <= tolerance * (1.0 + 1e-6), "{true_one:e} {report:?}");
            } else {
                // Only rounding may stand in the way.
                prop_assert!(report.stop == CgStop::Stalled && digits > 8, "{report:?}");
            }
        }

        #[test]
        fn exact_arithmetic_would_end_after_n_steps(n in 1usize..12, seed: u64) {
            let a = random_spd(n, 1.0, seed);
            let mut x = vec![0.0; n];
            let report = solve(&a, &vec![1.0; n], &mut x, &CgOptions::default());
            prop_assert!(report.stop == CgStop::Converged && report.iterations <= n + 1, "{report:?}");
        }

        #[test]
        fn units_of_length_mass_and_time_change_no_iteration(seed: u64, mass in -30i32..30, b_power in -60i32..60) {
            // In other units every mass, every entry of A and b gets a factor: powers of two (four under a root), so that no bit differs.
            let n = 20;
            let (a, b) = (random_spd(n, 0.01, seed), vec![1.0; n]);
            let m: Vec<f64> = (0..n).map(|i| 1.0 / (1.0 + i as f64)).collect();
            let run = |a_factor: f64, b_factor: f64| {
                let (a, b): (Vec<_>, Vec<_>) =
                    (a.iter().map(|a| a * a_factor).collect(), b.iter().map(|b| b * b_factor).collect());
                let w: Vec<_> = m.iter().map(|m| m / a_factor).collect();
                let options = CgOptions { weights: Some(&w), ..CgOptions::default() };
                solve(&a, &b, &mut vec![0.0; n], &options)
            };
            prop_assert_eq!(run(1.0, 1.0), run(4f64.powi(mass), 2f64.powi(b_power)));
        }
    }

    #[test]
    fn the_exact_inverse_as_preconditioner_takes_one_step() {
        let b = [3.0, -1.0, 2.0];
        let mut x = [0.0; 3];
        let scale = |d: [f64; 3]| move |p: &[f64], out: &mut [f64]| (0..3).for_each(|i| out[i] = d[i] * p[i]);
        let options = CgOptions { tolerance: 1e-14, ..CgOptions::default() };
        let report = cg(
            scale([1.0, 4.0, 1e6]),
            scale([1.0, 0.25, 1e-6]),
            &b,
            &mut x,
            &options,
            &mut CgWork::default(),
        );
        assert_eq!((report.stop, report.iterations), (CgStop::Converged, 1));
        assert_eq!(x, [3.0, -0.25, 2e-6]);
    }

    #[test]
    fn nothing_to_do_takes_no_step() {
        let a = random_spd(4, 1.0, 1);
        let mut x = [1.0; 4];
        let report = solve(&a, &[0.0; 4], &mut x, &CgOptions::default());
        assert_eq!(
            (report.stop, report.iterations, report.residual, x),
            (CgStop::Converged, 0, 0.0, [0.0; 4])
        );
        let report = solve(&[], &[], &mut [], &CgOptions::default());
        assert_eq!((report.stop, report.iterations), (CgStop::Converged, 0));
        // The solution as a start.
        let (mut b, mut x) = ([0.0; 4], [1.0, 2.0, -3.0, 0.5]);
        times(&a)(&x, &mut b);
        let report = solve(&a, &b, &mut x, &CgOptions::default());
        assert_eq!((report.stop, report.iterations, x), (CgStop::Converged, 0, [1.0, 2.0, -3.0, 0.5]));
    }

    #[test]
    fn a_downward_bend_is_reported_with_the_iterate_before_it() {
        let report = solve(&[-1.0], &[1.0], &mut [0.0], &CgOptions::default());
        assert_eq!((report.stop, report.iterations, report.residual), (CgStop::NegativeCurvature, 0, 1.0));
        // The first direction (1, 1) has curvature 2, the second −48/… < 0.
        let a = [3.0, 0.0, 0.0, -1.0];
        let mut x = [0.0; 2];
        let report = solve(&a, &[1.0, 1.0], &mut x, &CgOptions::default());
        assert_eq!((report.stop, report.iterations, x), (CgStop::NegativeCurvature, 1, [1.0, 1.0]));
        // So is a preconditioner that turns r around.
        let turn = |r: &[f64], z: &mut [f64]| z.iter_mut().zip(r).for_each(|(z, r)| *z = -r);
        let report =
            cg(times(&[1.0]), turn, &[1.0], &mut [0.0], &CgOptions::default(), &mut CgWork::default());
        assert_eq!(report.stop, CgStop::NegativeCurvature);
    }

    #[test]
    fn a_singular_system_with_a_solution_is_solved() {
        // A free chain: A 1 = 0, and b sums to zero.
        let n = 50;
        let chain = |p: &[f64], out: &mut [f64]| {
            out.fill(0.0);
            for i in 1..n {
                let pull = p[i] - p[i - 1];
                out[i] += pull;
                out[i - 1] -= pull;
            }
        };
        let (mut b, mut x) = (vec![0.0; n], vec![0.0; n]);
        (b[0], b[n - 1]) = (-1.0, 1.0);
        let report = cg(chain, plain, &b, &mut x, &CgOptions::default(), &mut CgWork::default());
        assert_eq!(report.stop, CgStop::Converged);
        assert!((1..n).all(|i| (x[i] - x[i - 1] - 1.0).abs() < 1e-5));
    }

    #[test]
    fn a_system_without_solution_ends() {
        // diag(1, 0) x = (1, 1).
        let report = solve(&[1.0, 0.0, 0.0, 0.0], &[1.0, 1.0], &mut [0.0; 2], &CgOptions::default());
        assert_eq!(report.stop, CgStop::NegativeCurvature);
    }

    #[test]
    fn what_is_not_finite_never_reaches_x() {
        let a = random_spd(3, 1.0, 2);
        for bad in [f64::NAN, f64::INFINITY] {
            let mut x = [0.0; 3];
            assert_eq!(solve(&a, &[1.0, bad, 0.0], &mut x, &CgOptions::default()).stop, CgStop::NotFinite);
            assert_eq!(x, [0.0; 3]);
            let report = solve(&a, &[1.0; 3], &mut [0.0, bad, 0.0], &CgOptions::default());
            assert!(report.stop == CgStop::NotFinite && report.residual.is_nan());
            let mut broken = a.clone();
            broken[4] = bad;
            assert_eq!(solve(&broken, &[1.0; 3], &mut x, &CgOptions::default()).stop, CgStop::NotFinite);
            assert_eq!(x, [0.0; 3]);
            let spoil = |_: &[f64], z: &mut [f64]| z.fill(bad);
            let report =
                cg(times(&a), spoil, &[1.0; 3], &mut x, &CgOptions::default(), &mut CgWork::default());
            assert_eq!((report.stop, x), (CgStop::NotFinite, [0.0; 3]));
        }
    }

    #[test]
    fn rounding_is_admitted_and_not_called_success() {
        let n = 12;
        let a = random_spd(n, 1e-4, 5);
        let options = CgOptions { tolerance: 1e-17, ..CgOptions::default() };
        let mut x = vec![0.0; n];
        let report = solve(&a, &vec![1.0; n], &mut x, &options);
        assert!(report.stop == CgStop::Stalled && report.residual < 1e-10, "{report:?}");
        assert!((report.residual - residual(&a, &vec![1.0; n], &x)).abs() < 1e-15, "{report:?}");
        let few = CgOptions { most_iterations: 3, ..options };
        let report = solve(&a, &vec![1.0; n], &mut vec![0.0; n], &few);
        assert_eq!((report.stop, report.iterations), (CgStop::MostIterations, 3));
    }
}
