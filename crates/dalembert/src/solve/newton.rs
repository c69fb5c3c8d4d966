//! Newton's method with a line search for the minimum of $f(x)$.
//!
//! $H d = -g$, then $x \leftarrow x + \alpha d$ with the first $\alpha = \alpha_{\max}, \tfrac12\alpha_{\max}, \dots$
//! for which $f(x + \alpha d) \le f(x) + c\,\alpha\, g^T d$ (Armijo). Where the decrease is lost in the rounding of f,
//! the gradient decides: $g(x + \alpha d)^T d \le (2\delta - 1)\, g^T d$ (from the approximate Wolfe condition of
//! Hager and Zhang, 2005) and $|g|$ has to fall. Book: "Solvers".

/// A function to be minimised, with the linear algebra that belongs to it.
///
/// Its methods take `&mut self`, so that they can share factors and caches. [`Closures`] makes one from three
/// closures.
pub trait Objective {
    /// f(x). A value that is not finite means: x is outside the domain.
    fn value(&mut self, x: &[f64]) -> f64;

    /// Writes g = ∇f(x).
    fn gradient(&mut self, x: &[f64], g: &mut [f64]);

    /// Solves H d = −g with the second derivative at x or something like it; false if that failed.
    fn solve(&mut self, x: &[f64], g: &[f64], d: &mut [f64]) -> bool;

    /// Largest α in (0, 1] for which x + α d may be looked at. Here: 1.
    fn max_step(&mut self, _x: &[f64], _d: &[f64]) -> f64 {
        1.0
    }

    /// Norm of g that the stop rule uses. Here: the Euclidean one; with mixed units give a weighted one.
    fn gradient_norm(&mut self, _x: &[f64], g: &[f64]) -> f64 {
        dot(g, g).sqrt()
    }
}

/// An [`Objective`] made of closures.
pub struct Closures<V, G, S> {
    /// f(x).
    pub value: V,
    /// Writes ∇f(x).
    pub gradient: G,
    /// Solves H d = −g; arguments x, g, d.
    pub solve: S,
}

impl<V, G, S> Objective for Closures<V, G, S>
where
    V: FnMut(&[f64]) -> f64,
    G: FnMut(&[f64], &mut [f64]),
    S: FnMut(&[f64], &[f64], &mut [f64]) -> bool,
{
    fn value(&mut self, x: &[f64]) -> f64 {
        (self.value)(x)
    }

    fn gradient(&mut self, x: &[f64], g: &mut [f64]) {
        (self.gradient)(x, g);
    }

    fn solve(&mut self, x: &[f64], g: &[f64], d: &mut [f64]) -> bool {
        (self.solve)(x, g, d)
    }
}

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewtonOptions {
    /// Converged if ‖g‖ ≤ relative · ‖g at the start‖.
    pub relative: f64,
    /// Converged also if ‖g‖ ≤ absolute, in the units of the norm; for starts that may be at the minimum.
    pub absolute: f64,
    /// Largest number of steps.
    pub max_iterations: usize,
    /// Largest number of halvings in one line search.
    pub max_halvings: usize,
    /// Rounding of f as a fraction of |f|: changes below it tell nothing. A sum of n terms has about √n ε.
    pub rounding: f64,
}

impl Default for NewtonOptions {
    fn default() -> Self {
        Self {
            relative: 1e-10,
            absolute: 0.0,
            max_iterations: 100,
            max_halvings: 50,
            rounding: 16.0 * f64::EPSILON,
        }
    }
}

/// Why the iteration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The gradient is small enough, or the full step no longer changes any digit of x.
    Converged,
    /// No step along the direction made things better.
    StalledLineSearch,
    /// The limit on the number of steps was reached.
    MaxIterations,
    /// Value or gradient at the start is not finite.
    NonFinite,
    /// The linear solve failed or gave numbers that are not finite.
    SolverFailed,
}

/// How the iteration went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewtonReport {
    /// Steps taken.
    pub iterations: usize,
    /// ‖g‖ at the result.
    pub gradient_norm: f64,
    /// f at the result.
    pub value: f64,
    /// Halvings in all line searches together.
    pub step_halvings: usize,
    /// Steps along −g, because the solution of H d = −g did not point downhill.
    pub steepest_descents: usize,
    /// Why it ended.
    pub stop: Stop,
}

/// Buffers of [`newton`].
#[derive(Clone, Debug, Default)]
pub struct NewtonWork {
    g: Vec<f64>,
    d: Vec<f64>,
    x_trial: Vec<f64>,
    g_trial: Vec<f64>,
}

/// c of the Armijo condition.
const ARMIJO: f64 = 1e-4;
/// δ of the approximate Wolfe condition.
const DELTA: f64 = 0.1;
/// A direction within this cosine of the level surface is no descent direction.
const LEAST_COSINE: f64 = 1e-14;

/// Walks `x` downhill to a point where ∇f = 0. At every accepted point value and gradient are finite.
///
/// ```
/// use dalembert::solve::newton::*;
///
/// // f = x²/2 − cos x has its minimum at 0.
/// let mut objective = Closures {
///     value: |x: &[f64]| 0.5 * x[0] * x[0] - x[0].cos(),
///     gradient: |x: &[f64], g: &mut [f64]| g[0] = x[0] + x[0].sin(),
///     solve: |x: &[f64], g: &[f64], d: &mut [f64]| {
///         d[0] = -g[0] / (1.0 + x[0].cos());
///         true
///     },
/// };
/// let mut x = [1.0];
/// let report = newton(&NewtonOptions::default(), &mut objective, &mut x, &mut NewtonWork::default());
/// assert!(report.stop == Stop::Converged && x[0].abs() < 1e-9);
/// ```
pub fn newton(
    options: &NewtonOptions,
    objective: &mut impl Objective,
    x: &mut [f64],
    work: &mut NewtonWork,
) -> NewtonReport {
    let NewtonWork { g, d, x_trial, g_trial } = work;
    for buffer in [&mut *g, &mut *d, &mut *x_trial, &mut *g_trial] {
        buffer.resize(x.len(), 0.0);
    }
    let mut value = objective.value(x);
    objective.gradient(x, g);
    let mut report = NewtonReport {
        iterations: 0,
        gradient_norm: objective.gradient_norm(x, g),
        value,
        step_halvings: 0,
        steepest_descents: 0,
        stop: Stop::NonFinite,
    };
    if !(value.is_finite() && report.gradient_norm.is_finite() && all_finite(g)) {
        return report;
    }
    let target = options.absolute.max(options.relative * report.gradient_norm);

    loop {
        if report.gradient_norm <= target {
            report.stop = Stop::Converged;
            return report;
        }
        if report.iterations == options.max_iterations {
            report.stop = Stop::MaxIterations;
            return report;
        }
        d.fill(0.0);
        if !objective.solve(x, g, d) || !all_finite(d) {
            report.stop = Stop::SolverFailed;
            return report;
        }
        let (mut slope, g_length, d_length) = (dot(g, d), dot(g, g).sqrt(), dot(d, d).sqrt());
        let downhill = slope < -LEAST_COSINE * g_length * d_length;
        if !downhill {
            // −g, as long as the step that was refused: g itself has the wrong unit for a length.
            let scale = if d_length > 0.0 { d_length / g_length } else { 1.0 };
            for (d, g) in d.iter_mut().zip(&*g) {
                *d = -scale * g;
            }
            slope = dot(g, d);
        } else if d.iter().zip(&*x).all(|(d, x)| d.abs() <= f64::EPSILON * x.abs()) {
            report.stop = Stop::Converged;
            return report;
        }

        let limit = objective.max_step(x, d);
        let found = if limit > 0.0 {
            line_search(
                options,
                objective,
                x,
                g,
                d,
                (value, slope),
                limit.min(1.0),
                x_trial,
                g_trial,
                &mut report,
            )
        } else {
            None
        };
        let Some(value_trial) = found else {
            report.stop = Stop::StalledLineSearch;
            return report;
        };
        report.steepest_descents += usize::from(!downhill);
        report.iterations += 1;
        x.copy_from_slice(x_trial);
        g.copy_from_slice(g_trial);
        value = value_trial;
        report.value = value;
        report.gradient_norm = objective.gradient_norm(x, g);
    }
}

/// Halves α until the trial point is good enough and returns f there. `x_trial`, `g_trial` belong to it.
fn line_search(
    options: &NewtonOptions,
    objective: &mut impl Objective,
    x: &[f64],
    g: &[f64],
    d: &[f64],
    (value, slope): (f64, f64),
    alpha_max: f64,
    x_trial: &mut [f64],
    g_trial: &mut [f64],
    report: &mut NewtonReport,
) -> Option<f64> {
    let mut alpha = alpha_max;
    for _ in 0..=options.max_halvings {
        for i in 0..x.len() {
            x_trial[i] = x[i] + alpha * d[i];
        }
        if *x_trial == *x {
            return None;
        }
        let trial = objective.value(x_trial);
        let rounding = options.rounding * value.abs().max(trial.abs());
        // The change of f is rounding: trust the gradient, which still has many digits.
        let lost = (trial - value).abs() <= rounding;
        if trial.is_finite() && (lost || trial <= value + ARMIJO * alpha * slope) {
            objective.gradient(x_trial, g_trial);
            let flatter =
                || dot(g_trial, d) <= (2.0 * DELTA - 1.0) * slope && dot(g_trial, g_trial) < dot(g, g);
            if all_finite(g_trial) && (!lost || flatter()) {
                return Some(trial);
            }
        }
        alpha *= 0.5;
        report.step_halvings += 1;
    }
    None
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn all_finite(x: &[f64]) -> bool {
    x.iter().all(|x| x.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minimise(options: &NewtonOptions, objective: &mut impl Objective, x: &mut [f64]) -> NewtonReport {
        newton(options, objective, x, &mut NewtonWork::default())
    }

    /// f = offset + Σ |xᵢ − 1|^p with its true second derivative.
    fn power(p: i32, offset: f64) -> impl Objective {
        let pf = f64::from(p);
        Closures {
            value: move |x: &[f64]| offset + x.iter().map(|x| (x - 1.0).abs().powi(p)).sum::<f64>(),
            gradient: move |x: &[f64], g: &mut [f64]| {
                for (g, x) in g.iter_mut().zip(x) {
                    *g = pf * (x - 1.0).abs().powi(p - 2) * (x - 1.0);
                }
            },
            solve: move |x: &[f64], g: &[f64], d: &mut [f64]| {
                for i in 0..x.len() {
                    d[i] = -g[i] / (pf * (pf - 1.0) * (x[i] - 1.0).abs().powi(p - 2));
                }
                true
            },
        }
    }

    fn rosenbrock_gradient(x: &[f64], g: &mut [f64]) {
        let c = x[1] - x[0] * x[0];
        g.copy_from_slice(&[-2.0 * (1.0 - x[0]) - 400.0 * x[0] * c, 200.0 * c]);
    }

    fn rosenbrock_value(x: &[f64]) -> f64 {
        (1.0 - x[0]).powi(2) + 100.0 * (x[1] - x[0] * x[0]).powi(2)
    }

    #[test]
    fn a_quadratic_takes_one_step() {
        let mut x = [5.0, -3.0, 0.25];
        let report = minimise(&NewtonOptions::default(), &mut power(2, 7.0), &mut x);
        assert_eq!((report.stop, report.iterations, report.step_halvings), (Stop::Converged, 1, 0));
        assert_eq!((x, report.value), ([1.0; 3], 7.0));
    }

    #[test]
    fn rosenbrocks_valley_is_followed_to_its_end() {
        let mut x = [-1.2, 1.0];
        let mut rosenbrock = Closures {
            value: rosenbrock_value,
            gradient: rosenbrock_gradient,
            solve: |x: &[f64], g: &[f64], d: &mut [f64]| {
                let (a, b, c) = (2.0 - 400.0 * (x[1] - 3.0 * x[0] * x[0]), -400.0 * x[0], 200.0);
                let det = a * c - b * b;
                d.copy_from_slice(&[-(c * g[0] - b * g[1]) / det, -(a * g[1] - b * g[0]) / det]);
                det != 0.0
            },
        };
        let report = minimise(&NewtonOptions::default(), &mut rosenbrock, &mut x);
        assert_eq!(report.stop, Stop::Converged);
        assert!(report.iterations < 30 && report.step_halvings > 0 && report.steepest_descents == 0);
        assert!((x[0] - 1.0).abs() < 1e-9 && (x[1] - 1.0).abs() < 1e-9, "{x:?}");
    }

    #[test]
    fn near_the_minimum_the_number_of_right_digits_doubles() {
        // f = eˣ − 2x: x* = ln 2, and e_{n+1} = e_n²/2 + O(e_n³).
        let mut x = [0.9];
        let mut errors = vec![];
        let mut objective = Closures {
            value: |x: &[f64]| x[0].exp() - 2.0 * x[0],
            gradient: |x: &[f64], g: &mut [f64]| g[0] = x[0].exp() - 2.0,
            solve: |x: &[f64], g: &[f64], d: &mut [f64]| {
                errors.push((x[0] - 2.0_f64.ln()).abs());
                d[0] = -g[0] / x[0].exp();
                true
            },
        };
        let report =
            minimise(&NewtonOptions { relative: 1e-14, ..Default::default() }, &mut objective, &mut x);
        assert_eq!(report.stop, Stop::Converged);
        assert!((x[0] - 2.0_f64.ln()).abs() < 1e-15);
        for pair in errors.windows(2).filter(|pair| pair[1] > 1e-13) {
            assert!((pair[1] / (pair[0] * pair[0]) - 0.5).abs() < 0.1, "{errors:?}");
        }
        assert!(errors.len() >= 4);
    }

    #[test]
    fn a_direction_uphill_is_replaced_by_steepest_descent_and_the_report_says_so() {
        let mut x = [-1.2, 1.0];
        let options = NewtonOptions { max_iterations: 20, ..Default::default() };
        let before = rosenbrock_value(&x);
        let mut uphill = Closures {
            value: rosenbrock_value,
            gradient: rosenbrock_gradient,
            solve: |_: &[f64], g: &[f64], d: &mut [f64]| {
                d.copy_from_slice(g);
                true
            },
        };
        let report = minimise(&options, &mut uphill, &mut x);
        assert_eq!((report.stop, report.steepest_descents), (Stop::MaxIterations, 20));
        assert!(report.value < before && report.value == rosenbrock_value(&x));
        // A zero direction is none.
        let mut bowl = Closures {
            value: |x: &[f64]| 0.5 * x[0] * x[0],
            gradient: |x: &[f64], g: &mut [f64]| g[0] = x[0],
            solve: |_: &[f64], _: &[f64], _: &mut [f64]| true,
        };
        let report = minimise(&options, &mut bowl, &mut [3.0]);
        assert_eq!((report.stop, report.steepest_descents), (Stop::Converged, 1));
    }

    #[test]
    fn values_that_are_not_finite_are_never_accepted() {
        // f = x − ln x on x > 0, NaN elsewhere. From x = 3 the full Newton step goes to −3.
        let mut log_barrier = Closures {
            value: |x: &[f64]| x[0] - x[0].ln(),
            gradient: |x: &[f64], g: &mut [f64]| g[0] = 1.0 - 1.0 / x[0],
            solve: |x: &[f64], g: &[f64], d: &mut [f64]| {
                d[0] = -g[0] * x[0] * x[0];
                true
            },
        };
        let mut x = [3.0];
        let report = minimise(&NewtonOptions::default(), &mut log_barrier, &mut x);
        assert!(report.stop == Stop::Converged && report.step_halvings > 0, "{report:?}");
        assert!((x[0] - 1.0).abs() < 1e-9);
        let mut x = [-3.0];
        let report = minimise(&NewtonOptions::default(), &mut log_barrier, &mut x);
        assert_eq!((report.stop, report.iterations, x), (Stop::NonFinite, 0, [-3.0]));
    }

    #[test]
    fn a_flat_minimum_is_approached_linearly_by_two_thirds() {
        // f = (x − 1)⁴: the Newton step covers one third of the way, g shrinks by (2/3)³.
        let mut x = [3.0, -4.0];
        let report = minimise(&NewtonOptions::default(), &mut power(4, 0.0), &mut x);
        let expected = (1e-10_f64.ln() / (8.0_f64 / 27.0).ln()).ceil() as usize;
        assert_eq!((report.stop, report.iterations), (Stop::Converged, expected));
    }

    #[test]
    fn an_offset_that_hides_the_decrease_does_not_stop_the_search() {
        // The decrease (x − 1)⁴ ≤ 1e-4 is lost beside 1e13, so the gradient has to decide.
        let mut x = [1.1];
        let report = minimise(&NewtonOptions::default(), &mut power(4, 1e13), &mut x);
        assert_eq!((report.stop, report.step_halvings), (Stop::Converged, 0));
        assert!((x[0] - 1.0).abs() < 1e-4);
    }

    #[test]
    fn steps_stay_below_the_maximum_step() {
        struct Guarded<O>(O, f64, f64);
        impl<O: Objective> Objective for Guarded<O> {
            fn value(&mut self, x: &[f64]) -> f64 {
                self.2 = self.2.max(x[0]);
                self.0.value(x)
            }
            fn gradient(&mut self, x: &[f64], g: &mut [f64]) {
                self.0.gradient(x, g);
            }
            fn solve(&mut self, x: &[f64], g: &[f64], d: &mut [f64]) -> bool {
                self.0.solve(x, g, d)
            }
            fn max_step(&mut self, _x: &[f64], _d: &[f64]) -> f64 {
                self.1
            }
        }
        let mut guarded = Guarded(power(2, 0.0), 0.9, f64::NEG_INFINITY);
        let mut x = [-1.0];
        let report = minimise(&NewtonOptions::default(), &mut guarded, &mut x);
        // Each step leaves a tenth of the way.
        assert!(report.stop == Stop::Converged && (10..=11).contains(&report.iterations), "{report:?}");
        assert!(guarded.2 <= 1.0);
        for bad in [0.0, -1.0, f64::NAN] {
            let mut x = [-1.0];
            let report = minimise(&NewtonOptions::default(), &mut Guarded(power(2, 0.0), bad, 0.0), &mut x);
            assert_eq!((report.stop, x), (Stop::StalledLineSearch, [-1.0]), "{bad}");
        }
    }

    #[test]
    fn failures_of_the_solver_and_wrong_gradients_are_reported() {
        let mut failing = Closures {
            value: |x: &[f64]| x[0] * x[0],
            gradient: |x: &[f64], g: &mut [f64]| g[0] = 2.0 * x[0],
            solve: |_: &[f64], _: &[f64], _: &mut [f64]| false,
        };
        assert_eq!(minimise(&NewtonOptions::default(), &mut failing, &mut [1.0]).stop, Stop::SolverFailed);
        let mut wrong_sign = Closures {
            value: |x: &[f64]| x[0] * x[0],
            gradient: |x: &[f64], g: &mut [f64]| g[0] = -2.0 * x[0],
            solve: |_: &[f64], g: &[f64], d: &mut [f64]| {
                d[0] = -0.5 * g[0];
                true
            },
        };
        let report = minimise(&NewtonOptions::default(), &mut wrong_sign, &mut [1.0]);
        assert_eq!((report.stop, report.iterations), (Stop::StalledLineSearch, 0));
    }

    #[test]
    fn a_start_at_the_minimum_is_the_end() {
        let report = minimise(&NewtonOptions::default(), &mut power(2, 0.0), &mut [1.0]);
        assert_eq!((report.stop, report.iterations), (Stop::Converged, 0));
        let report = minimise(&NewtonOptions::default(), &mut power(2, 0.0), &mut []);
        assert_eq!((report.stop, report.iterations), (Stop::Converged, 0));
    }
}
