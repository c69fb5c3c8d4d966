//! Scalar functions of time: what a time-dependent force or a prescribed motion is multiplied by.

use std::f64::consts::TAU;

/// A dimensionless function s(t) of time t \[s\].
#[derive(Debug, Clone, PartialEq)]
pub enum Signal {
    /// s = 1.
    Constant,
    /// s = sin(2π f t + φ) with frequency f \[Hz\] and phase φ \[rad\].
    Sine {
        /// Frequency f \[Hz\].
        frequency: f64,
        /// Phase φ \[rad\].
        phase: f64,
    },
    /// s = 1 for `from` ≤ t < `to` \[s\], else 0.
    Pulse {
        /// First instant \[s\].
        from: f64,
        /// Last instant, excluded \[s\].
        to: f64,
    },
    /// Straight lines between the given points; constant before the first and after the last.
    Table {
        /// Times \[s\], strictly increasing.
        times: Vec<f64>,
        /// Values, one for each time.
        values: Vec<f64>,
    },
}

impl Signal {
    /// s(t).
    pub fn value(&self, t: f64) -> f64 {
        match self {
            Signal::Constant => 1.0,
            Signal::Sine { frequency, phase } => (TAU * frequency * t + phase).sin(),
            Signal::Pulse { from, to } => f64::from(u8::from(t >= *from && t < *to)),
            Signal::Table { times, values } => table(times, values, t).0,
        }
    }

    /// ds/dt \[1/s\]; from the right at a corner of a table, 0 at the flanks of a pulse.
    pub fn rate(&self, t: f64) -> f64 {
        match self {
            Signal::Constant | Signal::Pulse { .. } => 0.0,
            Signal::Sine { frequency, phase } => TAU * frequency * (TAU * frequency * t + phase).cos(),
            Signal::Table { times, values } => table(times, values, t).1,
        }
    }

    /// What is wrong with the numbers, if anything.
    pub fn defect(&self) -> Option<String> {
        match self {
            Signal::Constant => None,
            Signal::Sine { frequency, phase } => (!frequency.is_finite() || !phase.is_finite())
                .then(|| format!("frequency {frequency} and phase {phase} must be finite")),
            Signal::Pulse { from, to } => (from.is_nan() || to.is_nan() || from > to)
                .then(|| format!("the pulse ends at {to} s, before it begins at {from} s")),
            Signal::Table { times, values } => {
                if times.len() != values.len() || times.is_empty() {
                    return Some(format!("{} times stand against {} values", times.len(), values.len()));
                }
                if times.iter().chain(values).any(|x| !x.is_finite()) {
                    return Some("times and values must be finite".into());
                }
                times
                    .windows(2)
                    .find(|w| w[0] >= w[1])
                    .map(|w| format!("times must increase, but {} is followed by {}", w[0], w[1]))
            }
        }
    }
}

/// Value and rate of the broken line at t.
fn table(times: &[f64], values: &[f64], t: f64) -> (f64, f64) {
    let after = times.partition_point(|&a| a <= t);
    if after == 0 {
        return (values.first().copied().unwrap_or(0.0), 0.0);
    }
    if after == times.len() {
        return (values[after - 1], 0.0);
    }
    let (t0, t1, s0, s1) = (times[after - 1], times[after], values[after - 1], values[after]);
    let rate = (s1 - s0) / (t1 - t0);
    (s0 + rate * (t - t0), rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_a_signal_is_its_derivative() {
        let signals = [
            Signal::Constant,
            Signal::Sine { frequency: 0.7, phase: 0.3 },
            Signal::Table { times: vec![0.0, 1.0, 4.0], values: vec![0.0, 2.0, -1.0] },
        ];
        for s in signals {
            for t in [-0.5, 0.25, 1.7, 3.2, 5.0] {
                let e = 1e-5;
                let rate = (s.value(t + e) - s.value(t - e)) / (2.0 * e);
                assert!((rate - s.rate(t)).abs() < 1e-7, "{s:?} at {t}");
            }
        }
    }

    #[test]
    fn a_table_that_goes_back_in_time_is_refused() {
        assert!(Signal::Table { times: vec![0.0, 0.0], values: vec![1.0, 2.0] }.defect().is_some());
        assert!(Signal::Table { times: vec![0.0], values: vec![] }.defect().is_some());
        assert!(Signal::Pulse { from: 2.0, to: 1.0 }.defect().is_some());
        assert!(Signal::Table { times: vec![0.0, 1.0], values: vec![1.0, 2.0] }.defect().is_none());
    }
}
