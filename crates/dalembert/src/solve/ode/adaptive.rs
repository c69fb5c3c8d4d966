//! Adaptive explicit integration: Euler with step doubling, and Dormand and Prince 5(4) (1980). Steps are chosen by an error
//! estimate (`step_size`).
//!
//! * Step doubling: $x_a$ from one Euler step h, $x_b$ from two of h/2, error $x_b - x_a = \tfrac h2 (k_{1/2} - k_1)$;
//!   $h \leftarrow h\, e^{-1/2}$. Global error ∝ tolerance^½.
//! * Dormand–Prince 5(4): error $h\sum(b_i - \hat b_i)k_i = O(h^5)$, result of order 5;
//!   $h \leftarrow h\, e_n^{-\alpha} e_{n-1}^{\beta}$ (PI control). Global error ∝ tolerance.
//!
//! Book: "Solvers".

use super::dense::LastStep;
use super::runge_kutta::stages;
use super::step_size::*;
use super::{DORMAND_PRINCE, DenseStep, Manifold, OdeWork, all_finite, combine};

/// What [`integrate_adaptive`] should do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveOptions {
    /// Scheme.
    pub method: AdaptiveMethod,
    /// Error allowed in one step.
    pub tolerance: Tolerance,
    /// Smallest step \[s\]. In any case steps stay above 16 ε max(|t|, |t_end|), where time still moves.
    pub min_step: f64,
    /// Largest step \[s\]; the smallest one wins if they contradict each other.
    pub max_step: f64,
    /// Largest number of steps in one call, accepted and rejected.
    pub max_steps: usize,
}

impl AdaptiveOptions {
    /// No limit on the step but rounding, and 100 000 steps per call.
    pub fn new(method: AdaptiveMethod, tolerance: impl Into<Tolerance>) -> Self {
        Self {
            method,
            tolerance: tolerance.into(),
            min_step: 0.0,
            max_step: f64::INFINITY,
            max_steps: 100_000,
        }
    }
}

/// How an adaptive integration went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AdaptiveReport {
    /// Steps accepted.
    pub accepted: usize,
    /// Steps rejected.
    pub rejected: usize,
    /// Calls of the rate closure.
    pub evaluations: usize,
    /// Smallest accepted step \[s\], without sign.
    pub smallest_step: f64,
    /// Last accepted step \[s\], without sign; usually clipped.
    pub last_step: f64,
}

/// Why an adaptive integration gave up. The point and the controller are as before the call.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum OdeError {
    /// The error asks for a step below the floor: a singularity, a jump or too small a tolerance.
    #[error(
        "step {step:e} s at t = {time} s is below the floor {floor:e} s; error is {error:.3e} × tolerance"
    )]
    StepTooSmall {
        /// Time reached \[s\].
        time: f64,
        /// Step asked for \[s\].
        step: f64,
        /// Smallest step allowed \[s\].
        floor: f64,
        /// Error of the rejected step in units of the tolerance.
        error: f64,
    },
    /// The limit on the number of steps was reached.
    #[error("{steps} steps reach only t = {time} s")]
    TooManySteps {
        /// Time reached \[s\].
        time: f64,
        /// Steps made, accepted and rejected.
        steps: usize,
    },
    /// A time, a coordinate or a rate is infinite or not a number, and no smaller step helps.
    #[error("time, point or rate is not finite at t = {time} s")]
    NonFinite {
        /// Time reached \[s\].
        time: f64,
    },
    /// A tolerance is negative or not finite, or both parts are zero.
    #[error("tolerance absolute = {absolute:e}, relative = {relative:e} must be ≥ 0, finite and not both 0")]
    BadTolerance {
        /// Absolute part.
        absolute: f64,
        /// Relative part.
        relative: f64,
    },
}

/// A remainder longer than the step only by the rounding of many added steps is still one step.
const STRETCH: f64 = 1.0 + 1e-6;

/// Magnitudes of flat space: mᵢ = |yᵢ|.
pub fn flat_magnitude(y: &[f64], m: &mut [f64]) {
    for (m, y) in m.iter_mut().zip(y) {
        *m = y.abs();
    }
}

/// Integrates from `t` to exactly `t_end` (forwards or backwards), `y` in place.
///
/// * `rate(t, y, dy)`: as for [`runge_kutta_step`](super::runge_kutta_step).
/// * `magnitude(y, m)`: fills m, of tangent length, with the size to which the relative tolerance refers in
///   each tangent coordinate. Flat space: [`flat_magnitude`]. For the turn of a rotation a sound choice is
///   1 (radian); 0 leaves the absolute tolerance alone.
/// * `controller`: remembered by the caller from call to call. Clipping the last step does not spoil it.
///
/// On error `y` and `controller` are as before the call. Rates are never remembered between calls, so the
/// caller may change `y` in between, and a fresh `work` gives the same bits.
pub fn integrate_adaptive<M: Manifold>(
    options: &AdaptiveOptions,
    rate: &mut impl FnMut(f64, &mut [f64], &mut [f64]),
    magnitude: &mut impl FnMut(&[f64], &mut [f64]),
    space: &M,
    t: f64,
    t_end: f64,
    y: &mut [f64],
    controller: &mut Controller,
    work: &mut OdeWork,
) -> Result<AdaptiveReport, OdeError> {
    let observe = &mut |_: &mut DenseStep<'_, M>| {};
    integrate_adaptive_observed(options, rate, magnitude, space, t, t_end, y, controller, work, observe)
}

/// [`integrate_adaptive`], showing every accepted step to `observe`, which may evaluate it anywhere inside.
///
/// If the call fails, the steps before the failure have been shown.
pub fn integrate_adaptive_observed<M: Manifold>(
    options: &AdaptiveOptions,
    rate: &mut impl FnMut(f64, &mut [f64], &mut [f64]),
    magnitude: &mut impl FnMut(&[f64], &mut [f64]),
    space: &M,
    t: f64,
    t_end: f64,
    y: &mut [f64],
    controller: &mut Controller,
    work: &mut OdeWork,
    observe: &mut impl FnMut(&mut DenseStep<'_, M>),
) -> Result<AdaptiveReport, OdeError> {
    let AdaptiveOptions { method, tolerance, .. } = *options;
    check(tolerance)?;
    let span = (t_end - t).abs();
    if !span.is_finite() || !all_finite(y) {
        return Err(OdeError::NonFinite { time: t });
    }
    let mut report = AdaptiveReport { smallest_step: f64::INFINITY, ..Default::default() };
    work.fit_adaptive(y.len(), method.stages());
    if span == 0.0 {
        report.smallest_step = 0.0;
        return Ok(report);
    }
    let sign = (t_end - t).signum();
    let floor = options.min_step.max(16.0 * f64::EPSILON * t.abs().max(t_end.abs())).min(span);

    work.y0.copy_from_slice(y);
    magnitude(&work.y0, &mut work.m0);
    first_rate(rate, t, work)?;
    report.evaluations = 1;
    let mut memory = *controller;
    if !(memory.h > 0.0 && memory.h.is_finite()) {
        let h = first_step(method, tolerance, rate, space, t, t_end, work);
        memory = Controller { h, ..Default::default() };
        report.evaluations += 1;
    }
    let (mut time, mut rejected_before) = (t, false);
    loop {
        if report.accepted + report.rejected >= options.max_steps {
            return Err(OdeError::TooManySteps { time, steps: options.max_steps });
        }
        // The last step ends at t_end; the two last ones share a remainder that would leave a tiny step.
        let remaining = (t_end - time).abs();
        let full = memory.h.min(options.max_step).max(floor);
        let last = remaining <= full * STRETCH;
        let size = if last { remaining } else { full.min(0.5 * remaining) };
        let clipped = size < full;
        let h = sign * size;
        let finite = match method {
            AdaptiveMethod::EulerDoubling => euler_doubling(rate, space, time, h, work),
            AdaptiveMethod::DormandPrince => dormand_prince(rate, space, time, h, work),
        };
        report.evaluations += method.stages() - 1;
        magnitude(&work.y1, &mut work.m1);
        let error = weighted_norm(tolerance, &work.error, &work.m0, &work.m1);
        let finite = finite && error.is_finite();
        if !finite || error > 1.0 {
            report.rejected += 1;
            rejected_before = true;
            let factor = if finite { shrink(method, error) } else { SHRINK_NON_FINITE };
            memory.h = factor * size;
            if memory.h < floor {
                return Err(if finite {
                    OdeError::StepTooSmall { time, step: memory.h, floor, error }
                } else {
                    OdeError::NonFinite { time }
                });
            }
            continue;
        }
        report.accepted += 1;
        report.smallest_step = report.smallest_step.min(size);
        report.last_step = size;
        memory.accept(method, error, size, clipped, rejected_before);
        rejected_before = false;
        work.last_step = Some(LastStep { method, time, step: h });
        if let Some(mut step) = work.last_step(space) {
            observe(&mut step);
        }
        if last {
            break;
        }
        work.last_step = None;
        time += h;
        std::mem::swap(&mut work.y0, &mut work.y1);
        std::mem::swap(&mut work.m0, &mut work.m1);
        match method {
            AdaptiveMethod::EulerDoubling => {
                first_rate(rate, time, work)?;
                report.evaluations += 1;
            }
            // Stage 7 was the rate at (t + h, y₁): the same bits as an evaluation now.
            AdaptiveMethod::DormandPrince => work.k[..work.nt].copy_from_slice(&work.last_rate),
        }
    }
    y.copy_from_slice(&work.y1);
    *controller = memory;
    Ok(report)
}

fn check(tolerance: Tolerance) -> Result<(), OdeError> {
    let Tolerance { absolute, relative } = tolerance;
    let sum = absolute + relative;
    let good = absolute >= 0.0 && relative >= 0.0 && sum > 0.0 && sum.is_finite();
    if good { Ok(()) } else { Err(OdeError::BadTolerance { absolute, relative }) }
}

/// Row 0 of `k` ← f(t, y₀). No smaller step can mend a rate that is not finite here.
fn first_rate(
    rate: &mut impl FnMut(f64, &mut [f64], &mut [f64]),
    time: f64,
    work: &mut OdeWork,
) -> Result<(), OdeError> {
    work.stage.copy_from_slice(&work.y0);
    let k_1 = &mut work.k[..work.nt];
    rate(time, &mut work.stage, k_1);
    if all_finite(k_1) { Ok(()) } else { Err(OdeError::NonFinite { time }) }
}

/// Two Euler steps of h/2 from y₀ to y₁; true if the numbers are finite.
///
/// Along k₁ the step h is the step h/2 twice, so both results start from y_mid, one with (h/2) k₁ and one
/// with (h/2) k₂: their difference is (h/2)(k₂ − k₁), exactly in flat space and up to O(h³) elsewhere.
fn euler_doubling<M: Manifold>(
    rate: &mut impl FnMut(f64, &mut [f64], &mut [f64]),
    space: &M,
    t: f64,
    h: f64,
    work: &mut OdeWork,
) -> bool {
    let OdeWork { nt, stage, u, k, y0, y_mid, y1, error, .. } = work;
    let (k_1, k_2) = k.split_at_mut(*nt);
    combine(0.5 * h, &[1.0], k_1, u);
    y_mid.copy_from_slice(y0);
    space.advance(y_mid, u);
    stage.copy_from_slice(y_mid);
    rate(t + 0.5 * h, stage, k_2);
    combine(0.5 * h, &[1.0], k_2, u);
    y1.copy_from_slice(y_mid);
    space.advance(y1, u);
    for i in 0..*nt {
        error[i] = 0.5 * h * (k_2[i] - k_1[i]);
    }
    all_finite(error) && all_finite(y1)
}

/// Stages 2 to 7 from y₀ to y₁; true if the numbers are finite.
fn dormand_prince<M: Manifold>(
    rate: &mut impl FnMut(f64, &mut [f64], &mut [f64]),
    space: &M,
    t: f64,
    h: f64,
    work: &mut OdeWork,
) -> bool {
    let y0 = std::mem::take(&mut work.y0);
    stages(&DORMAND_PRINCE, 1, rate, space, t, h, &y0, work);
    work.y0 = y0;
    // The last stage stands at the result: b is the last row of a.
    let OdeWork { u, k, y0, y1, increment, error, .. } = work;
    increment.copy_from_slice(u);
    y1.copy_from_slice(y0);
    space.advance(y1, increment);
    combine(h, &ERROR_WEIGHTS, k, error);
    all_finite(error) && all_finite(y1)
}

/// bᵢ − b̂ᵢ.
const ERROR_WEIGHTS: [f64; 7] =
    [71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0];

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::{Flat, runge_kutta_step};
    use super::*;
    use AdaptiveMethod::{DormandPrince, EulerDoubling};

    fn run(
        options: &AdaptiveOptions,
        mut rate: impl FnMut(f64, &mut [f64], &mut [f64]),
        (t, t_end): (f64, f64),
        y: &mut [f64],
        controller: &mut Controller,
    ) -> Result<AdaptiveReport, OdeError> {
        let mut work = OdeWork::new(y.len(), y.len());
        integrate_adaptive(options, &mut rate, &mut flat_magnitude, &Flat, t, t_end, y, controller, &mut work)
    }

    fn kepler_start(e: f64) -> [f64; 4] {
        [1.0 - e, 0.0, 0.0, ((1.0 + e) / (1.0 - e)).sqrt()]
    }

    /// Kepler orbits at t = 20 for e = 0.1, 0.3, ... 0.9 (DETEST class D; Kepler's equation with 30 digits).
    const KEPLER: [(f64, [f64; 4]); 5] = [
        (0.1, [0.2198835352008397, 0.9427076846341813, -0.9787659841058177, 0.3287977990962036]),
        (0.3, [-0.1777027357140412, 0.9467784719905893, -1.03029416319297, 0.1211074890053952]),
        (0.5, [-0.5780432953035362, 0.8633840009194192, -0.9595083730380727, -0.0650491512671209]),
        (0.7, [-0.9538990293416394, 0.6907409024219432, -0.8212674270877433, -0.1539574259125825]),
        (0.9, [-1.295266250987574, 0.4003938963792322, -0.6775390924707566, -0.1270838154278686]),
    ];

    #[test]
    fn kepler_orbits_end_where_keplers_equation_says() {
        for (tolerance, bound) in [(1e-12, 1e-8), (1e-9, 1e-5)] {
            for (e, exact) in KEPLER {
                let mut y = kepler_start(e);
                let options = AdaptiveOptions::new(DormandPrince, tolerance);
                run(&options, kepler, (0.0, 20.0), &mut y, &mut Controller::default()).unwrap();
                let error = distance(&y, &exact);
                assert!(error < bound, "e = {e}, tolerance {tolerance:e}: {error:e}");
            }
        }
    }

    /// Slope of log error against log tolerance between two tolerances.
    fn order(method: AdaptiveMethod, loose: f64, tight: f64) -> f64 {
        let error = |tolerance: f64| {
            let mut y = kepler_start(0.3);
            let options =
                AdaptiveOptions { max_steps: 10_000_000, ..AdaptiveOptions::new(method, tolerance) };
            run(&options, kepler, (0.0, 4.0), &mut y, &mut Controller::default()).unwrap();
            let mut exact = kepler_start(0.3);
            let mut work = OdeWork::new(4, 4);
            let n = 4000;
            for _ in 0..n {
                let h = 4.0 / f64::from(n);
                runge_kutta_step(&DORMAND_PRINCE, &mut kepler, &Flat, 0.0, h, &mut exact, &mut work);
            }
            distance(&y, &exact)
        };
        (error(loose) / error(tight)).ln() / (loose / tight).ln()
    }

    #[test]
    fn global_error_goes_with_the_root_of_the_tolerance_for_step_doubling() {
        let order = order(EulerDoubling, 1e-7, 1e-10);
        assert!((order - 0.5).abs() < 0.03, "{order}");
    }

    #[test]
    fn global_error_goes_with_the_tolerance_for_dormand_prince() {
        let order = order(DormandPrince, 1e-5, 1e-10);
        assert!((order - 1.0).abs() < 0.1, "{order}");
    }

    #[test]
    fn error_weights_are_the_difference_of_the_two_results() {
        let embedded = DORMAND_PRINCE.b_embedded.unwrap();
        for i in 0..7 {
            assert!((ERROR_WEIGHTS[i] - (DORMAND_PRINCE.b[i] - embedded[i])).abs() < 1e-15, "{i}");
        }
    }

    #[test]
    fn step_doubling_measures_the_distance_of_its_two_results() {
        // One clipped step on y' = −y: x_a = 1 − h, x_b = (1 − h/2)², accepted iff |x_a − x_b| ≤ tol · w.
        let h = 0.1_f64;
        let distance = ((1.0 - 0.5 * h).powi(2) - (1.0 - h)).abs();
        let decay = |_: f64, y: &mut [f64], dy: &mut [f64]| dy[0] = -y[0];
        for (factor, accepted) in [(1.001, true), (0.999, false)] {
            let tolerance = Tolerance { absolute: factor * distance, relative: 0.0 };
            let options = AdaptiveOptions { max_steps: 1, ..AdaptiveOptions::new(EulerDoubling, tolerance) };
            let (mut y, mut controller) = ([1.0], Controller { h: 1.0, ..Default::default() });
            let result = run(&options, decay, (0.0, h), &mut y, &mut controller);
            assert_eq!(result.is_ok(), accepted);
            if accepted {
                assert!((y[0] - (1.0 - 0.5 * h).powi(2)).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn a_singularity_gives_an_error_and_leaves_everything_as_it_was() {
        // y' = y², y(0) = 1 has y = 1/(1 − t).
        let blow_up = |_: f64, y: &mut [f64], dy: &mut [f64]| dy[0] = y[0] * y[0];
        for method in [EulerDoubling, DormandPrince] {
            let (mut y, mut controller) = ([1.0], Controller { h: 0.01, previous_error: 0.5 });
            let options = AdaptiveOptions { min_step: 1e-7, ..AdaptiveOptions::new(method, 1e-3) };
            let error = run(&options, blow_up, (0.0, 2.0), &mut y, &mut controller).unwrap_err();
            let OdeError::StepTooSmall { time, step, floor, .. } = error else { panic!("{error}") };
            assert!((time - 1.0).abs() < 0.2 && step < floor && floor == 1e-7, "{error}");
            assert_eq!((y, controller), ([1.0], Controller { h: 0.01, previous_error: 0.5 }));
        }
        // Without a floor of the user's, rounding of the time is the floor.
        let options = AdaptiveOptions::new(DormandPrince, 1e-8);
        let error = run(&options, blow_up, (0.0, 2.0), &mut [1.0], &mut Controller::default()).unwrap_err();
        assert!(matches!(error, OdeError::StepTooSmall { .. }), "{error}");
    }

    #[test]
    fn numbers_that_are_not_finite_give_an_error() {
        for method in [EulerDoubling, DormandPrince] {
            let options = AdaptiveOptions::new(method, 1e-3);
            let nan_later =
                |t: f64, _: &mut [f64], dy: &mut [f64]| dy[0] = if t > 0.5 { f64::NAN } else { 1.0 };
            let mut y = [3.0];
            let error = run(&options, nan_later, (0.0, 1.0), &mut y, &mut Controller::default()).unwrap_err();
            let OdeError::NonFinite { time } = error else { panic!("{error}") };
            // Euler never looks at the end of its step, so it may stand a little beyond.
            assert!((0.5 - 1e-6..0.8).contains(&time) && y == [3.0], "{time}");
            let nan = |_: f64, _: &mut [f64], dy: &mut [f64]| dy[0] = f64::NAN;
            let one = |_: f64, _: &mut [f64], dy: &mut [f64]| dy[0] = 1.0;
            let mut c = Controller::default();
            assert!(matches!(
                run(&options, nan, (0.0, 1.0), &mut y, &mut c),
                Err(OdeError::NonFinite { .. })
            ));
            for (t, t_end, mut y) in
                [(0.0, f64::NAN, [0.0]), (f64::NEG_INFINITY, 0.0, [0.0]), (0.0, 1.0, [f64::INFINITY])]
            {
                let result = run(&options, one, (t, t_end), &mut y, &mut c);
                assert!(matches!(result, Err(OdeError::NonFinite { .. })));
            }
        }
    }

    #[test]
    fn the_number_of_steps_and_the_tolerance_are_checked() {
        let mut y = kepler_start(0.5);
        let options = AdaptiveOptions { max_steps: 7, ..AdaptiveOptions::new(DormandPrince, 1e-9) };
        let error = run(&options, kepler, (0.0, 20.0), &mut y, &mut Controller::default()).unwrap_err();
        assert!(matches!(error, OdeError::TooManySteps { steps: 7, time } if time > 0.0));
        assert_eq!(y, kepler_start(0.5));
        let mut work = OdeWork::new(4, 4);
        let c = &mut Controller::default();
        let result = integrate_adaptive(
            &options,
            &mut kepler,
            &mut flat_magnitude,
            &Flat,
            0.0,
            20.0,
            &mut y,
            c,
            &mut work,
        );
        assert!(result.is_err() && work.last_step(&Flat).is_none());
        for (absolute, relative) in [(0.0, 0.0), (-1.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
            let options = AdaptiveOptions::new(DormandPrince, Tolerance { absolute, relative });
            let result = run(&options, kepler, (0.0, 1.0), &mut y, &mut Controller::default());
            assert!(matches!(result, Err(OdeError::BadTolerance { .. })));
        }
    }

    #[test]
    fn resuming_from_a_saved_point_and_controller_gives_the_same_bits() {
        for (method, tolerance) in [(EulerDoubling, 1e-5), (DormandPrince, 1e-9)] {
            let options = AdaptiveOptions::new(method, tolerance);
            let (mut y, mut controller, mut work) =
                (kepler_start(0.5), Controller::default(), OdeWork::new(4, 4));
            let go = |t: f64, t_end: f64, y: &mut [f64], c: &mut Controller, work: &mut OdeWork| {
                integrate_adaptive(&options, &mut kepler, &mut flat_magnitude, &Flat, t, t_end, y, c, work)
                    .unwrap()
            };
            go(0.0, 1.0, &mut y, &mut controller, &mut work);
            let (mut saved, mut saved_controller) = (y, controller);
            go(1.0, 2.0, &mut y, &mut controller, &mut work);
            go(1.0, 2.0, &mut saved, &mut saved_controller, &mut OdeWork::new(4, 4));
            assert_eq!(y.map(f64::to_bits), saved.map(f64::to_bits));
            assert_eq!(controller, saved_controller);
        }
    }

    #[test]
    fn the_remembered_last_stage_has_the_bits_of_a_fresh_evaluation() {
        // Every accepted step made again by a plain step of the scheme from its own start.
        let mut worst = 0.0_f64;
        let mut replay = OdeWork::new(4, 4);
        let (mut y, mut work) = (kepler_start(0.5), OdeWork::new(4, 4));
        let mut steps = 0;
        integrate_adaptive_observed(
            &AdaptiveOptions::new(DormandPrince, 1e-8),
            &mut kepler,
            &mut flat_magnitude,
            &Flat,
            0.0,
            5.0,
            &mut y,
            &mut Controller::default(),
            &mut work,
            &mut |step: &mut DenseStep<'_, Flat>| {
                let (mut from, mut to) = ([0.0; 4], [0.0; 4]);
                step.evaluate(0.0, &mut from);
                step.evaluate(1.0, &mut to);
                let (t, h) = (step.time(), step.step());
                runge_kutta_step(&DORMAND_PRINCE, &mut kepler, &Flat, t, h, &mut from, &mut replay);
                worst = worst.max(distance(&from, &to));
                steps += 1;
            },
        )
        .unwrap();
        assert!(steps > 20 && worst == 0.0, "{worst:e}");
    }

    #[test]
    fn integration_lands_on_the_end_without_tiny_steps_and_keeps_the_step_in_mind() {
        let options = AdaptiveOptions::new(DormandPrince, 1e-9);
        let (mut y, mut controller, mut t) = (kepler_start(0.1), Controller::default(), 0.0);
        run(&options, kepler, (t, 3.0), &mut y, &mut controller).unwrap();
        t = 3.0;
        let natural = controller.h;
        // Many short calls, each a single clipped step, leave the memory at least as long.
        for i in 0..20 {
            let t_end = 3.0 + 1e-3 * f64::from(i + 1);
            let report = run(&options, kepler, (t, t_end), &mut y, &mut controller).unwrap();
            assert_eq!((report.accepted, report.rejected), (1, 0));
            t = t_end;
        }
        assert!(controller.h >= natural);
        // A long call in fixed steps that do not divide the span: the remainder is shared by two.
        let fixed = AdaptiveOptions { max_step: 0.1, ..AdaptiveOptions::new(DormandPrince, 1e3) };
        let mut controller = Controller { h: 0.1, ..Default::default() };
        let report = run(&fixed, kepler, (0.0, 1.001), &mut y, &mut controller).unwrap();
        assert_eq!(report.accepted, 11);
        assert!(report.smallest_step > 0.05 && controller.h >= 0.1, "{report:?}");
        let report = run(&fixed, kepler, (0.0, 1.0), &mut y, &mut controller).unwrap();
        assert_eq!((report.accepted, report.evaluations), (10, 61));
    }

    #[test]
    fn time_runs_backwards_as_well() {
        let mut y = kepler_start(0.3);
        let options = AdaptiveOptions::new(DormandPrince, 1e-11);
        let mut controller = Controller::default();
        run(&options, kepler, (0.0, 3.0), &mut y, &mut controller).unwrap();
        run(&options, kepler, (3.0, 0.0), &mut y, &mut controller).unwrap();
        assert!(distance(&y, &kepler_start(0.3)) < 1e-8);
        let report = run(&options, kepler, (3.0, 3.0), &mut y, &mut controller).unwrap();
        assert_eq!(report, AdaptiveReport::default());
    }

    #[test]
    fn on_rotations_the_global_error_goes_with_the_tolerance() {
        let space = Rotations { pulls_back: true };
        let end = |method: AdaptiveMethod, tolerance: f64| {
            let mut q = [1.0, 0.0, 0.0, 0.0];
            integrate_adaptive(
                &AdaptiveOptions::new(method, tolerance),
                &mut tumbling,
                &mut |_: &[f64], m: &mut [f64]| m.fill(1.0),
                &space,
                0.0,
                2.0,
                &mut q,
                &mut Controller::default(),
                &mut OdeWork::new(4, 3),
            )
            .unwrap();
            q
        };
        let exact = end(DormandPrince, 1e-13);
        for (method, loose, tight, expected) in
            [(DormandPrince, 1e-5, 1e-9, 1.0), (EulerDoubling, 1e-5, 1e-8, 0.5)]
        {
            let (a, b) = (distance(&end(method, loose), &exact), distance(&end(method, tight), &exact));
            let order = (a / b).ln() / (loose / tight).ln();
            assert!((order - expected).abs() < 0.1, "{method:?}: {order}");
        }
    }
}
