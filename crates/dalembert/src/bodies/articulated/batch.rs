//! Many states of one tree, side by side: $(q, v)_k \leftarrow \mathrm{step}((q, v)_k)$ for every k, on all threads.
//!
//! States do not meet, so the result has the same bits for any number of threads.

use rayon::prelude::*;

use super::step::Scheme;
use super::tree::Tree;
use super::work::TreeWork;

/// States of one tree, one after the other in flat arrays, with buffers for the threads.
#[derive(Debug, Clone)]
pub struct TreeBatch {
    /// Coordinates of all states: state k owns `coordinates()` numbers from `k · coordinates()` on.
    pub q: Vec<f64>,
    /// Velocities of all states, in the same way.
    pub v: Vec<f64>,
    works: Vec<TreeWork>,
    count: usize,
}

impl TreeBatch {
    /// `count` states as placed and at rest.
    pub fn new(tree: &Tree, count: usize) -> Self {
        // More parts than threads, so that an uneven load levels out.
        let parts = (8 * rayon::current_num_threads()).clamp(1, count.max(1));
        Self {
            q: tree.neutral().repeat(count),
            v: vec![0.0; count * tree.freedoms()],
            works: vec![TreeWork::new(tree); parts],
            count,
        }
    }

    /// Number of states.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Coordinates and velocities of state k.
    pub fn state_mut(&mut self, tree: &Tree, k: usize) -> (&mut [f64], &mut [f64]) {
        let (nq, nv) = (tree.coordinates(), tree.freedoms());
        (&mut self.q[k * nq..(k + 1) * nq], &mut self.v[k * nv..(k + 1) * nv])
    }

    /// `steps` steps of h seconds of every state. `forces` adds to the forces on the dofs of state k at (q, v).
    pub fn step(
        &mut self,
        tree: &Tree,
        scheme: Scheme<'_>,
        h: f64,
        steps: usize,
        forces: impl Fn(usize, &[f64], &[f64], &mut [f64]) + Sync,
    ) {
        let (nq, nv) = (tree.coordinates(), tree.freedoms());
        if self.count == 0 || nv == 0 {
            return;
        }
        let each = self.count.div_ceil(self.works.len());
        let states = self.q.par_chunks_mut(each * nq).zip(self.v.par_chunks_mut(each * nv));
        states.zip(&mut self.works).enumerate().for_each(|(part, ((q, v), work))| {
            for (i, (q, v)) in q.chunks_mut(nq).zip(v.chunks_mut(nv)).enumerate() {
                let k = part * each + i;
                for _ in 0..steps {
                    tree.step(scheme, q, v, h, work, |q, v, tau| forces(k, q, v, tau));
                }
            }
        });
    }
}
