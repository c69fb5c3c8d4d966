//! Backtracking line search with the condition of sufficient decrease (Armijo 1966; Nocedal and Wright 2006, 3.1).

/// When a step is short enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LineSearch {
    /// Part of the decrease that the derivative promises which a step must keep.
    pub armijo: f64,
    /// Most halvings; the step after the last one is taken whatever it does if `take_last`.
    pub halvings: u32,
    /// The last step counts as good.
    pub take_last: bool,
    /// After this many halvings any finite value counts as good: for a residual, which need not fall along the step.
    pub finite_after: u32,
}

impl Default for LineSearch {
    fn default() -> Self {
        Self { armijo: 1e-4, halvings: 30, take_last: true, finite_after: u32::MAX }
    }
}

/// A step that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Part of the whole step.
    pub part: f64,
    /// The value there.
    pub value: f64,
}

impl LineSearch {
    /// Any step that does not rise, at most twenty of them: for a merit that is convex and piecewise quadratic.
    pub const NO_RISE: Self = Self { armijo: 0.0, halvings: 19, take_last: false, finite_after: u32::MAX };

    /// The first of the parts 1, ½, ¼, … with value(part) ≤ `start` + armijo · part · `derivative` + `noise`, if there is one.
    ///
    /// `start` is value(0), `derivative` its derivative (negative), `noise` what rounding makes of it. `value` leaves its
    /// arguments as they are at the part it was called with last.
    pub fn search(
        &self,
        start: f64,
        derivative: f64,
        noise: f64,
        mut value: impl FnMut(f64) -> f64,
    ) -> Option<Step> {
        let mut part = 1.0;
        for halving in 0..=self.halvings {
            let now = value(part);
            let good = now <= start + self.armijo * part * derivative + noise;
            let enough = halving > self.finite_after && now.is_finite();
            if good || enough || self.take_last && halving == self.halvings {
                return Some(Step { part, value: now });
            }
            part *= 0.5;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_falls_enough_is_taken_whole_and_a_long_one_is_halved() {
        let search = LineSearch::default();
        // (1 − t x)² along x = 1 and x = 10: the minimum is at t = 1 and at t = 0.1.
        for (x, wanted) in [(1.0, 1.0), (10.0, 0.125)] {
            let value = |t: f64| (1.0f64 - t * x).powi(2);
            let step = search.search(1.0, -2.0 * x, 0.0, value).unwrap();
            assert_eq!((step.part, step.value), (wanted, value(wanted)));
        }
    }

    #[test]
    fn where_nothing_falls_the_last_step_is_taken_only_if_that_is_asked_for() {
        let rising = |t: f64| 1.0 + t;
        let strict = LineSearch { take_last: false, halvings: 3, ..LineSearch::default() };
        assert_eq!(strict.search(1.0, -1.0, 0.0, rising), None);
        let lenient = LineSearch { take_last: true, ..strict };
        assert_eq!(lenient.search(1.0, -1.0, 0.0, rising).unwrap().part, 0.125);
        let finite = LineSearch { finite_after: 1, ..strict };
        assert_eq!(finite.search(1.0, -1.0, 0.0, rising).unwrap().part, 0.25);
        // Noise excuses what is below it, but not what is no number.
        assert_eq!(strict.search(1.0, -1.0, 2.0, rising).unwrap().part, 1.0);
        assert_eq!(strict.search(1.0, -1.0, f64::INFINITY, |_| f64::NAN), None);
    }
}
