//! Masses that hold against forces which turn with their bodies.

use std::ops::Range;

use super::{Island, System};
use crate::joints::{Body, GeometricStiffness, MOST_HOLDERS};
use crate::math::{Mat3, symmetric_eigen};
use crate::model::Model;
use crate::solve::kkt::Chunk;

impl System {
    /// Loads the masses, and adds what keeps joint forces that turn with their bodies from exploding.
    ///
    /// A link under tension swings across it at ω² = K/M with K the geometric stiffness, and a velocity-level step, which
    /// takes the direction of a force from the start of the step, is symplectic Euler for this swing: stable for
    /// (ωh)² < 4 alone. With an inertia E more, (M + E) v⁺ = M v − h K x has the determinant M/(M + E) and is stable for
    /// h²K < 4M + 2E; E = h²K is implicit Euler. Here E is the positive part of h²K − M, eigenvalue by eigenvalue:
    /// swings with ωh < 1 stay as they are, undamped, and faster ones lose their energy. K comes from the λ of the step
    /// before, block by block, so that the factorisation keeps its pattern (as Tournier and others 2015; Andrews,
    /// Teichmann and Kry 2017).
    ///
    /// Returns true if it added anything. Unless all masses are kept, that is all it tells.
    pub(crate) fn stiffen_by(&mut self, model: &Model, lambda: &[[f64; 6]], broken: &[bool], h: f64) -> bool {
        let mut added = false;
        let pattern = self.pattern();
        for chunk in pattern.chunks() {
            self.load_inertia(model, chunk.nodes.clone());
            added |= self.stiffen_chunk(model, chunk, |_, c| lambda[c], broken, h);
        }
        added
    }

    /// The same for the bodies that a chunk eliminates, whose masses are loaded.
    pub(crate) fn stiffen_chunk(
        &mut self,
        model: &Model,
        chunk: &Chunk,
        lambda: impl Fn(&Island, usize) -> [f64; 6],
        broken: &[bool],
        h: f64,
    ) -> bool {
        chunk.nodes.clone().for_each(|n| self.stiffness[n] = GeometricStiffness::default());
        self.add_stiffness(model, chunk.couplings.clone(), lambda, broken);
        let mut added = false;
        for n in self.pattern().eliminated(chunk) {
            added |= self.stiffen_node(n, h);
        }
        added
    }

    /// Adds the stiffness of some constraints, with the forces `lambda` gives, to K of their nodes.
    fn add_stiffness(
        &mut self,
        model: &Model,
        constraints: Range<usize>,
        lambda: impl Fn(&Island, usize) -> [f64; 6],
        broken: &[bool],
    ) {
        let mut bodies = [Body::WORLD; MOST_HOLDERS];
        for c in constraints {
            let lambda = lambda(&self.island, c);
            if self.island.terms[c].is_broken(broken) || lambda.iter().all(|l| *l == 0.0) {
                continue;
            }
            let constraint = self.island.constraint(model, c);
            let n = constraint.holders().len();
            for slot in 0..n {
                bodies[slot] = self.node_at(c, slot).map_or(Body::WORLD, |node| self.bodies[node]);
            }
            let mut out = [GeometricStiffness::default(); MOST_HOLDERS];
            if !constraint.geometric_stiffness(&bodies[..n], &lambda, &mut out[..n]) {
                continue;
            }
            for slot in 0..n {
                if let Some(node) = self.node_at(c, slot) {
                    self.stiffness[node].linear += out[slot].linear;
                    self.stiffness[node].angular += out[slot].angular;
                }
            }
        }
    }

    /// Adds E of one node, whose K is complete, to its mass; false if it is zero.
    fn stiffen_node(&mut self, n: usize, h: f64) -> bool {
        let (K, inertia) = (&self.stiffness[n], &mut self.inertia[n]);
        let linear = add_excess(&mut inertia.linear, &(h * h * K.linear));
        let turning = self.island.nodes[n].dofs == 6;
        linear | (turning && add_excess(&mut inertia.angular, &(h * h * K.angular)))
    }
}

/// Adds the positive part of S − M, in the metric of M, to M; false if there is none.
fn add_excess(M: &mut Mat3, S: &Mat3) -> bool {
    if *S == Mat3::zeros() {
        return false;
    }
    // Most bodies stop here: M − S is positive (its leading minors are), so there is nothing to add.
    let D = *M - S;
    let minor = D.m11 * D.m22 - D.m12 * D.m21;
    if D.m11 > 0.0 && minor > 0.0 && D.determinant() > 0.0 {
        return false;
    }
    let Some(factor) = nalgebra::Cholesky::new(*M) else { return false };
    let L = factor.l();
    let Some(W) = L.try_inverse() else { return false };
    let (values, vectors) = symmetric_eigen(&(W * S * W.transpose()));
    let more = values.map(|s| (s - 1.0).max(0.0));
    let V = L * vectors;
    let E = V * Mat3::from_diagonal(&more) * V.transpose();
    *M += 0.5 * (E + E.transpose());
    more.max() > 0.0
}
