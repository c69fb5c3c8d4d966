//! What is known of the step of each group while it is bounded and searched.

use crate::contact::potential::Cached;

/// How the path of a group differs from the one that collision detection followed last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Change {
    #[default]
    Same,
    /// It is another one.
    Anew,
    /// It is a part of that one.
    Scaled,
}

/// The shape of the path of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Shape {
    /// Some body turns: a part of the step is another chord.
    #[default]
    Chord,
    /// A part of the step is a part of the path.
    Straight,
}

/// Where the search has left a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Outcome {
    #[default]
    Descended,
    /// Nothing but rounding is left to gain.
    Floor,
    /// No part of the step leads down.
    Stuck,
}

/// Which part of the steps was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// A part of the step of each group.
    OfGroups,
    /// Nodes were stopped one by one.
    OfNodes,
}

/// The steps of all groups.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// Part of δ.
    pub part: Vec<f64>,
    pub shape: Vec<Shape>,
    pub change: Vec<Change>,
    /// How far each group, and each vertex, may go on its path.
    pub free: Vec<f64>,
    pub free_vertices: Vec<f64>,
    pub outcome: Vec<Outcome>,
    /// Energy of each group and size of its terms \[J\], of an iterate or a trial.
    pub energies: Cached<Vec<[f64; 2]>>,
    /// The whole paths of all groups are known to be free.
    pub known_free: bool,
    /// Trial and x1 are the end of the path.
    pub placed: bool,
    /// How fast the last whole step was \[m/s\], 0 if it was cut; and the last step, cut or not.
    pub last_whole: f64,
    pub last: f64,
    /// The next step will be small: forces keep their Hessian.
    pub converging: bool,
}

impl Steps {
    /// Begins a step of time.
    pub(crate) fn begin(&mut self) {
        self.energies.forget();
        self.converging = false;
        (self.last_whole, self.last) = (0.0, 0.0);
    }

    /// The potential changes other than by the steps.
    pub(crate) fn expect_change(&mut self) {
        self.energies.forget();
        self.converging = false;
    }

    /// Begins an iteration with whole steps of so many groups.
    pub(crate) fn begin_iteration(&mut self, groups: usize) {
        fn reset<T: Clone>(list: &mut Vec<T>, groups: usize, value: T) {
            list.clear();
            list.resize(groups, value);
        }
        reset(&mut self.part, groups, 1.0);
        reset(&mut self.shape, groups, Shape::default());
        reset(&mut self.change, groups, Change::Anew);
        reset(&mut self.outcome, groups, Outcome::default());
    }
}
