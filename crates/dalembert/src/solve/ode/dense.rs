//! Dense output: the solution inside the last accepted step.
//!
//! For Dormand–Prince, with $\Delta = u_7$, $B = h k_1 - \Delta$, $D = \Delta - h k_7 - B$, $E = h\sum_i d_i k_i$,
//! $u(\theta) = \theta(\Delta + (1-\theta)(B + \theta(D + (1-\theta) E)))$ and $y(\theta) = y_n \oplus u(\theta)$:
//! the continuous extension of order 4 of Hairer, Nørsett and Wanner, Solving ODEs I (1993), II.6, in the
//! chart of the step. For step doubling it is the two Euler legs themselves. Book: "Solvers".

use super::{AdaptiveMethod, Manifold, OdeWork, combine};

/// dᵢ of the continuous extension (Hairer, Nørsett and Wanner, code DOPRI5).
const D: [f64; 7] = [
    -12715105075.0 / 11282082432.0,
    0.0,
    87487479700.0 / 32700410799.0,
    -10690763975.0 / 1880347072.0,
    701980252875.0 / 199316789632.0,
    -1453857185.0 / 822651844.0,
    69997945.0 / 29380423.0,
];

#[derive(Clone, Copy, Debug)]
pub(super) struct LastStep {
    pub method: AdaptiveMethod,
    pub time: f64,
    pub step: f64,
}

/// An accepted step, to be evaluated anywhere between its ends.
#[derive(Debug)]
pub struct DenseStep<'a, M: Manifold> {
    last: LastStep,
    space: &'a M,
    y0: &'a [f64],
    y_mid: &'a [f64],
    increment: &'a [f64],
    k: &'a [f64],
    u: &'a mut [f64],
}

impl OdeWork {
    /// The last accepted step of the last adaptive call. None if there was no step or the call failed.
    pub fn last_step<'a, M: Manifold>(&'a mut self, space: &'a M) -> Option<DenseStep<'a, M>> {
        let last = self.last_step?;
        let Self { y0, y_mid, increment, k, u, .. } = self;
        Some(DenseStep { last, space, y0, y_mid, increment, k, u })
    }
}

impl<M: Manifold> DenseStep<'_, M> {
    /// Time at which the step begins.
    pub fn time(&self) -> f64 {
        self.last.time
    }

    /// Size of the step, negative if time runs backwards.
    pub fn step(&self) -> f64 {
        self.last.step
    }

    /// Writes y(t + θ h) to `y`, which is as long as the point; θ is clamped to \[0, 1\].
    ///
    /// θ = 1 gives the bits of the accepted result.
    pub fn evaluate(&mut self, theta: f64, y: &mut [f64]) {
        let (theta, h, nt) = (theta.clamp(0.0, 1.0), self.last.step, self.u.len());
        match self.last.method {
            AdaptiveMethod::EulerDoubling => {
                let (from, fraction, row) =
                    if theta <= 0.5 { (self.y0, theta, 0) } else { (self.y_mid, theta - 0.5, 1) };
                combine(fraction * h, &[1.0], &self.k[row * nt..(row + 1) * nt], self.u);
                y.copy_from_slice(from);
            }
            AdaptiveMethod::DormandPrince => {
                combine(h, &D, self.k, self.u);
                for i in 0..nt {
                    let (delta, e) = (self.increment[i], self.u[i]);
                    let b = h * self.k[i] - delta;
                    let d = delta - h * self.k[6 * nt + i] - b;
                    self.u[i] = theta * (delta + (1.0 - theta) * (b + theta * (d + (1.0 - theta) * e)));
                }
                y.copy_from_slice(self.y0);
            }
        }
        self.space.advance(y, self.u);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::{AdaptiveOptions, Controller, Flat, flat_magnitude, integrate_adaptive_observed};
    use super::*;

    /// Worst dense error over \[0, 2\] in fixed steps of `h`, at nine places of every step.
    fn worst<M: Manifold>(
        method: AdaptiveMethod,
        mut rate: impl FnMut(f64, &mut [f64], &mut [f64]),
        space: &M,
        (y0, nt): (&[f64], usize),
        exact: impl Fn(f64) -> Vec<f64>,
        h: f64,
    ) -> f64 {
        // A tolerance that accepts everything leaves the steps at their ceiling.
        let options = AdaptiveOptions { max_step: h, ..AdaptiveOptions::new(method, 1e6) };
        let mut controller = Controller { h, ..Controller::default() };
        let (mut y, mut at, mut work) = (y0.to_vec(), y0.to_vec(), OdeWork::new(y0.len(), nt));
        let mut worst: f64 = 0.0;
        let mut ones = |_: &[f64], m: &mut [f64]| m.fill(1.0);
        let mut observe = |step: &mut DenseStep<'_, M>| {
            for i in 0..=8 {
                let theta = f64::from(i) / 8.0;
                step.evaluate(theta, &mut at);
                worst = worst.max(distance(&at, &exact(step.time() + theta * step.step())));
            }
        };
        let report = integrate_adaptive_observed(
            &options,
            &mut rate,
            &mut ones,
            space,
            0.0,
            2.0,
            &mut y,
            &mut controller,
            &mut work,
            &mut observe,
        )
        .unwrap();
        assert_eq!((report.accepted, report.rejected), (steps(2.0, h), 0));
        worst
    }

    #[test]
    fn the_weights_of_the_fourth_term_pick_the_fourth_derivative() {
        // h Σ dᵢ kᵢ = h⁴ u⁗ / 24: Σ dᵢ cᵢ^q = 0, 0, 0, 1/4.
        for (q, expected) in [(0, 0.0), (1, 0.0), (2, 0.0), (3, 0.25)] {
            let c = super::super::DORMAND_PRINCE.c;
            let sum: f64 = D.iter().zip(c).map(|(d, c)| d * c.powi(q)).sum();
            assert!((sum - expected).abs() < 1e-13, "{q}: {sum}");
        }
    }

    #[test]
    fn the_interpolant_has_at_least_order_four_and_small_errors() {
        let rate = |t: f64, y: &mut [f64], dy: &mut [f64]| dy[0] = -2.0 * t * y[0] * y[0];
        let error = |h: f64| {
            worst(AdaptiveMethod::DormandPrince, rate, &Flat, (&[1.0], 1), |t| vec![1.0 / (1.0 + t * t)], h)
        };
        let order = observed_order(0.02, error);
        assert!(order > 3.9 && error(0.02) < 1e-8, "{order}");
        let order = observed_order(1e-3, |h| {
            worst(AdaptiveMethod::EulerDoubling, rate, &Flat, (&[1.0], 1), |t| vec![1.0 / (1.0 + t * t)], h)
        });
        assert!((order - 1.0).abs() < 0.1, "{order}");
    }

    #[test]
    fn on_rotations_the_interpolant_lives_in_the_chart_of_the_step() {
        // Turning about a fixed axis at the rate cos t: q = (cos(s/2), sin(s/2) n), s = sin t.
        let n = [0.6, 0.0, 0.8];
        let mut rate = |t: f64, _: &mut [f64], w: &mut [f64]| w.copy_from_slice(&n.map(|n| n * t.cos()));
        let exact = |t: f64| {
            let half = 0.5 * t.sin();
            vec![half.cos(), half.sin() * n[0], half.sin() * n[1], half.sin() * n[2]]
        };
        let space = Rotations { pulls_back: true };
        let start: (&[f64], usize) = (&[1.0, 0.0, 0.0, 0.0], 3);
        let mut error = |h: f64| worst(AdaptiveMethod::DormandPrince, &mut rate, &space, start, exact, h);
        let order = (error(0.2) / error(0.1)).log2();
        assert!(order > 3.9, "{order}");
        // A tumbling that is not about a fixed axis; the reference is the same scheme in small steps.
        let mut samples = Vec::new();
        let fine = 1.0 / 512.0;
        let (mut q, mut work) = (start.0.to_vec(), OdeWork::new(4, 3));
        for i in 0..=1024 {
            samples.push(q.clone());
            let t = f64::from(i) * fine;
            super::super::runge_kutta_step(
                &super::super::DORMAND_PRINCE,
                &mut tumbling,
                &space,
                t,
                fine,
                &mut q,
                &mut work,
            );
        }
        let exact = |t: f64| samples[(t / fine).round() as usize].clone();
        let error = |h: f64| worst(AdaptiveMethod::DormandPrince, tumbling, &space, start, exact, h);
        let order = observed_order(1.0 / 16.0, error);
        assert!(order > 3.9, "{order}");
    }

    #[test]
    fn the_ends_of_the_interpolant_are_the_bits_of_the_step() {
        for method in [AdaptiveMethod::DormandPrince, AdaptiveMethod::EulerDoubling] {
            let mut y = vec![0.4, 0.0, 0.0, 2.0];
            let mut work = OdeWork::new(4, 4);
            assert!(work.last_step(&Flat).is_none());
            super::super::integrate_adaptive(
                &AdaptiveOptions::new(method, 1e-4),
                &mut kepler,
                &mut flat_magnitude,
                &Flat,
                0.0,
                0.5,
                &mut y,
                &mut Controller::default(),
                &mut work,
            )
            .unwrap();
            let mut end = vec![0.0; 4];
            let mut step = work.last_step(&Flat).unwrap();
            step.evaluate(1.0, &mut end);
            assert_eq!(end, y);
            assert!((step.time() + step.step() - 0.5).abs() < 1e-15);
        }
    }
}
