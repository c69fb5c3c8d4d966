//! Four trees of joints of one topology among the bodies of a problem: their joints hold exactly after every sweep over the
//! contacts.

use std::sync::Arc;

use rayon::prelude::*;

use super::bodies::BodyState;
use super::tree_factors::{InverseInertia, TreeFactors, TreeNode, V6, row_count};
use crate::math::simd::Lanes;

/// Batches of trees that a thread takes at least. One of ragdolls is more work than three batches of manifolds, so a task is as
/// long as one of contacts.
const BATCHES_PER_TASK: usize = 8;

/// A row of a joint in each of four trees: what multiplies the velocities of the body, then those of its parent.
pub(crate) type RowBatch = [[f64; 4]; 12];

/// Up to four trees of one topology.
#[derive(Debug, Default)]
pub(crate) struct TreeBatch {
    nodes: Arc<[TreeNode]>,
    /// Number of trees.
    pub lanes: usize,
    /// Places of the bodies of each node; unused lanes repeat the first.
    bodies: Vec<[u32; 4]>,
    factors: TreeFactors,
    v: Vec<V6>,
}

impl TreeBatch {
    /// Factors the joints of `lanes` trees, given the places of the bodies of each node and the rows of all joints in the
    /// order of nodes. Unused lanes repeat the first.
    pub(crate) fn prepare(
        &mut self,
        nodes: &Arc<[TreeNode]>,
        lanes: usize,
        bodies: impl Iterator<Item = [u32; 4]>,
        rows: &[RowBatch],
        states: &[BodyState],
    ) {
        debug_assert_eq!(rows.len(), row_count(nodes));
        self.nodes = nodes.clone();
        self.lanes = lanes;
        self.bodies.clear();
        self.bodies.extend(bodies);
        let half = |row: &RowBatch, first: usize| std::array::from_fn(|k| Lanes::new(row[first + k]));
        let rows = rows.iter().map(|row| [half(row, 0), half(row, 6)]);
        let masses = self.bodies.iter().map(|which| {
            let four = which.map(|b| &states[b as usize]);
            let inv_inertia = std::array::from_fn(|k| Lanes::new(four.map(|b| b.inv_inertia()[k])));
            InverseInertia { inv_mass: Lanes::new(four.map(BodyState::inv_mass)), inv_inertia }
        });
        self.factors.prepare(nodes, rows, masses);
    }

    /// Bodies of the trees, parents before children.
    pub(crate) fn nodes(&self) -> &[TreeNode] {
        &self.nodes
    }

    /// The impulse of a row over the step, per lane.
    pub(crate) fn total(&self, row: usize) -> [f64; 4] {
        self.factors.total(row)
    }

    /// Displacements of all nodes, smallest in the metric of the masses, that change the rows by `e`.
    pub(crate) fn displacements(&mut self, e: &[Lanes]) -> &[V6] {
        self.v.resize(self.nodes.len(), [Lanes::ZERO; 6]);
        self.factors.solve_rows(&self.nodes, e, &mut self.v);
        &self.v
    }

    /// The velocities of its bodies, projected so that all joints hold; bodies are left alone.
    fn project(&mut self, bodies: &[BodyState]) {
        self.v.clear();
        self.v.extend(self.bodies.iter().map(|which| -> V6 {
            let b = which.map(|i| &bodies[i as usize]);
            std::array::from_fn(|k| Lanes::new(b.map(|b| if k < 3 { b.v[k] } else { b.w[k - 3] })))
        }));
        self.factors.project_velocities(&self.nodes, &mut self.v);
    }

    fn store(&self, bodies: &mut [BodyState]) {
        for (which, v) in self.bodies.iter().zip(&self.v) {
            let v = v.map(Lanes::to_array);
            for (l, b) in which[..self.lanes].iter().enumerate() {
                let body = &mut bodies[*b as usize];
                body.v = [v[0][l], v[1][l], v[2][l], 0.0];
                body.w = [v[3][l], v[4][l], v[5][l], 0.0];
            }
        }
    }
}

/// Projects the velocities of all trees onto those that their joints allow.
pub(super) fn solve(trees: &mut [TreeBatch], bodies: &mut [BodyState]) {
    if rayon::current_num_threads() > 1 && trees.len() >= 2 * BATCHES_PER_TASK {
        // Trees share no body: all are read before any is written.
        let from = &*bodies;
        trees.par_iter_mut().with_min_len(BATCHES_PER_TASK).for_each(|tree| tree.project(from));
        trees.iter().for_each(|tree| tree.store(bodies));
    } else {
        for tree in trees {
            tree.project(bodies);
            tree.store(bodies);
        }
    }
}

/// Adds the impulses of a substep to those of the step.
pub(super) fn accumulate(trees: &mut [TreeBatch]) {
    trees.iter_mut().for_each(|tree| tree.factors.accumulate());
}
