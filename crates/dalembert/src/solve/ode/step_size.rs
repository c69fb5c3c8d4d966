//! Step-size control: the error norm, and the next step from the errors of the last two (PI control; Gustafsson 1991).
//!
//! With $w_i$ = absolute + relative · max(m_i(y_n), m_i(y_{n+1})) the error of a step is
//! $e = \sqrt{\tfrac1n \sum_i (e_i/w_i)^2}$ and the step is accepted if $e \le 1$. Hairer, Nørsett and Wanner 1993, II.4.

use super::{Manifold, OdeWork, all_finite, combine};

/// How steps are made and their error estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdaptiveMethod {
    /// Explicit Euler with h against twice h/2; the latter is kept. Order 1.
    EulerDoubling,
    /// Dormand and Prince 5(4) with PI control and dense output. Order 5.
    DormandPrince,
}

impl AdaptiveMethod {
    /// Power of h to which the error estimate of one step is proportional.
    fn error_order(self) -> f64 {
        match self {
            Self::EulerDoubling => 2.0,
            Self::DormandPrince => 5.0,
        }
    }

    pub(super) fn stages(self) -> usize {
        match self {
            Self::EulerDoubling => 2,
            Self::DormandPrince => 7,
        }
    }
}

/// Error allowed in one step: absolute + relative · magnitude, coordinate by coordinate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Part in the units of the coordinate, ≥ 0.
    pub absolute: f64,
    /// Part as a fraction of the magnitude, ≥ 0.
    pub relative: f64,
}

impl From<f64> for Tolerance {
    /// One number for both parts.
    fn from(tolerance: f64) -> Self {
        Self { absolute: tolerance, relative: tolerance }
    }
}

/// Memory of the step-size control. It belongs to the state: resuming with it gives the same bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Controller {
    /// Step to try next \[s\], > 0; anything else asks for an automatic first step.
    pub h: f64,
    /// Error of the last full step in units of the tolerance.
    pub previous_error: f64,
}

impl Default for Controller {
    fn default() -> Self {
        Self { h: 0.0, previous_error: LEAST_ERROR }
    }
}

impl Controller {
    /// After an accepted step of `size` \[s\] that may have been `clipped`, or that may follow a rejected one.
    pub(super) fn accept(
        &mut self,
        method: AdaptiveMethod,
        error: f64,
        size: f64,
        clipped: bool,
        rejected_before: bool,
    ) {
        let factor = grow(method, error, self.previous_error);
        let next = size * if rejected_before { factor.min(1.0) } else { factor };
        // A clipped step was short for reasons that are not its error: it may only lengthen the memory.
        if !clipped || next > self.h {
            *self = Self { h: next, previous_error: error.max(LEAST_ERROR) };
        }
    }
}

/// Aim at this fraction of the step that would just be accepted.
const SAFETY: f64 = 0.9;
/// A step is at most this much shorter ...
const SHRINK: f64 = 0.2;
/// ... or longer than the one before.
const GROWTH: f64 = 10.0;
/// Shrinking after a step in which something was not finite, where the error says nothing.
pub(super) const SHRINK_NON_FINITE: f64 = 0.1;
/// Errors below this count as this, so that one lucky step does not hold the next one back.
const LEAST_ERROR: f64 = 1e-4;
/// Weight of the previous error, and of the present one with respect to it (Hairer and Wanner, DOPRI5).
const BETA: f64 = 0.04;
/// √(mean (eᵢ/wᵢ)²), wᵢ = absolute + relative · max(m0ᵢ, m1ᵢ).
pub(super) fn weighted_norm(tolerance: Tolerance, e: &[f64], m0: &[f64], m1: &[f64]) -> f64 {
    if e.is_empty() {
        return 0.0;
    }
    let mut sum = 0.0;
    for i in 0..e.len() {
        let w = tolerance.absolute + tolerance.relative * m0[i].abs().max(m1[i].abs());
        // No error is fine even where none is allowed.
        if e[i] != 0.0 {
            sum += (e[i] / w).powi(2);
        }
    }
    (sum / e.len() as f64).sqrt()
}

/// Factor on h after a rejected step.
pub(super) fn shrink(method: AdaptiveMethod, error: f64) -> f64 {
    let exponent = match method {
        AdaptiveMethod::EulerDoubling => 0.5,
        AdaptiveMethod::DormandPrince => 0.2 - 0.75 * BETA,
    };
    (SAFETY * error.powf(-exponent)).clamp(SHRINK, SAFETY)
}

/// Factor on h after an accepted step.
fn grow(method: AdaptiveMethod, error: f64, previous_error: f64) -> f64 {
    let factor = match method {
        AdaptiveMethod::EulerDoubling => error.powf(-0.5),
        AdaptiveMethod::DormandPrince => {
            // A caller's nonsense in the memory counts as no memory.
            let previous =
                if previous_error > 0.0 { previous_error.clamp(LEAST_ERROR, 1.0) } else { LEAST_ERROR };
            error.powf(-(0.2 - 0.75 * BETA)) * previous.powf(BETA)
        }
    };
    (SAFETY * factor).clamp(SHRINK, GROWTH)
}

/// Guess for the first step (Hairer, Nørsett and Wanner, II.4): an Euler step that moves y by 1 % tells the
/// second derivative; then C h^p = 0.01 with C from both.
pub(super) fn first_step<M: Manifold>(
    method: AdaptiveMethod,
    tolerance: Tolerance,
    rate: &mut impl FnMut(f64, &mut [f64], &mut [f64]),
    space: &M,
    t: f64,
    t_end: f64,
    work: &mut OdeWork,
) -> f64 {
    let (span, sign) = ((t_end - t).abs(), (t_end - t).signum());
    let OdeWork { nt, stage, u, k, y0, m0, error, .. } = work;
    let (k_1, k_2) = k.split_at_mut(*nt);
    let k_2 = &mut k_2[..*nt];
    let (d0, d1) = (weighted_norm(tolerance, m0, m0, m0), weighted_norm(tolerance, k_1, m0, m0));
    let h0 = if d0 > 1e-5 && d1 > 1e-5 { 0.01 * d0 / d1 } else { 1e-6 * span };
    let h0 = if h0.is_finite() { h0.min(span) } else { 1e-6 * span };
    combine(sign * h0, &[1.0], k_1, u);
    stage.copy_from_slice(y0);
    space.advance(stage, u);
    rate(t + sign * h0, stage, k_2);
    for i in 0..*nt {
        error[i] = (k_2[i] - k_1[i]) / h0;
    }
    let steepest = d1.max(weighted_norm(tolerance, error, m0, m0));
    if !steepest.is_finite() || !all_finite(error) {
        return 0.01 * h0;
    }
    let h1 = if steepest <= 1e-15 { 1e-3 * span } else { (0.01 / steepest).powf(1.0 / method.error_order()) };
    (100.0 * h0).min(h1).min(span)
}
