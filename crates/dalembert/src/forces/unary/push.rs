//! A given force, constant or following a signal: $f = s(t)\,F$, $W = -s(t)\,F\cdot x$ at frozen time, $K = 0$.

use crate::forces::{Force, Points};
use crate::math::{Signal, Vec3, add_triple};
use crate::state::PointSet;

/// The same force on each point of a set.
#[derive(Debug, Clone, PartialEq)]
pub struct Push {
    /// Points that feel it.
    pub on: PointSet,
    /// Force F on each point \[N\].
    pub force: Vec3,
    /// Factor s(t).
    pub signal: Signal,
}

impl Force for Push {
    fn kind(&self) -> &'static str {
        "push"
    }

    fn energy(&self, p: &Points) -> f64 {
        let force = self.force * self.signal.value(p.time);
        -self.on.within(p.first, p.len()).flatten().map(|i| force.dot(&p.position(i))).sum::<f64>()
    }

    fn add_force(&self, p: &Points, f: &mut [f64]) {
        let force = self.force * self.signal.value(p.time);
        for i in self.on.within(p.first, p.len()).flatten() {
            add_triple(f, i, &force);
        }
    }

    fn is_local(&self) -> bool {
        true
    }
}
