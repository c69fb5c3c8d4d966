//! What drives an articulation: an input of a step, beside the forces from outside.

/// What the driver of one articulation gives for a step. An input: it acts until it is set anew.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Drive {
    /// Effective mass M, m × m, row by row \[kg·m², kg or kg·m\]; symmetric and positive definite.
    pub mass: Vec<f64>,
    /// Predicted increments of this step, m numbers \[rad or m\].
    pub delta: Vec<f64>,
    /// `ref_dof_prev`: 12 numbers per link, place of its origin and rows of A, that increments count from; empty: the state.
    pub reference: Vec<f64>,
}

impl Drive {
    /// Becomes a copy of another one, in the memory at hand.
    pub fn copy_from(&mut self, other: &Drive) {
        self.mass.clone_from(&other.mass);
        self.delta.clone_from(&other.delta);
        self.reference.clone_from(&other.reference);
    }
}
