//! The penalty ρ of an augmented Lagrangian over 1/W (Hestenes 1969; Powell 1969): soft where the sets of contacts that stick,
//! slip and separate must be found, stiff where they are known.

/// Settings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tuning {
    /// The largest: an outer round shrinks the error in a mode of W with eigenvalue λ by 1/(1 + ρλ), so that few rounds are
    /// enough at any ratio of masses; a larger one loses the digits of the Hessian.
    pub(crate) stiff: f64,
    /// Of the first soft round, in which many contacts may change sets at once.
    pub(crate) soft: f64,
    /// Growth from round to round.
    pub(crate) growth: f64,
}

impl Default for Tuning {
    fn default() -> Self {
        Self { stiff: 1e8, soft: 10.0, growth: 30.0 }
    }
}

/// ρ of the round at hand.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Penalty {
    pub(crate) now: f64,
    /// The largest with which Newton's method has not failed.
    most: f64,
}

impl Penalty {
    /// Begins stiff, or soft.
    pub(crate) fn new(tuning: &Tuning, soft: bool) -> Self {
        Self { now: if soft { tuning.soft } else { tuning.stiff }, most: tuning.stiff }
    }

    /// For the next round: soft if the sets that the impulses tell proved `wrong`, softer if this round was not `done`.
    pub(crate) fn adapt(&mut self, tuning: &Tuning, wrong: bool, done: bool) {
        if wrong {
            self.now = tuning.soft;
        } else if !done {
            self.most = (self.now / tuning.growth).max(tuning.soft);
            self.now = self.most;
        } else {
            self.now = (self.now * tuning.growth).min(self.most);
        }
    }

    /// It cannot grow any more.
    pub(crate) fn is_at_most(&self) -> bool {
        self.now >= self.most
    }
}
