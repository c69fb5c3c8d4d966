//! The mass matrix by the composite rigid body algorithm: $M_{ij} = s_j^T I^c_i s_i$ for j on the path of i to the world.
//!
//! $I^c_i$ is the inertia of everything behind node i as if it were one rigid body: mass, first moment and inertia are
//! summed from the leaves inwards. A unit velocity of dof i alone gives that body the momentum $(n, f)$, and dof j
//! feels its part. Momenta are moved to the root's origin once, so that an entry costs six products.

use super::fixed_size::{cross, dot, fma, plus, plus_cross};
use super::ltdl::TreeMatrix;
use super::tree::Tree;
use super::work::TreeWork;

impl Tree {
    /// M(q), armature on its diagonal, kept in `work`. After [`kinematics`](Self::kinematics).
    pub fn mass_matrix<'a>(&self, work: &'a mut TreeWork) -> &'a mut TreeMatrix {
        work.mass.fit(self);
        work.axes.resize(self.freedoms(), [0.0; 6]);
        let count = self.nodes.len();
        let frames = &work.frames[..count];
        let composite = &mut work.composite[..count];
        for i in 1..count {
            let node = &self.nodes[i];
            composite[i] = node.composite(&frames[i].R);
            let arm = frames[i].p - frames[node.root as usize].p;
            for k in 0..node.kind.freedoms() {
                let (s, shift) = node.axis(&frames[i].R, k);
                let m = plus_cross(&shift, &arm, &s);
                work.axes[node.v as usize + k] = [s.x, s.y, s.z, m.x, m.y, m.z];
            }
        }
        for i in (1..count).rev() {
            let (node, frame, body) = (&self.nodes[i], &frames[i], composite[i]);
            if node.parent != 0 {
                let above = &mut composite[node.parent as usize];
                above.mass += body.mass;
                above.moment += plus(&body.moment, body.mass, &frame.r);
                above.inertia = above.inertia.plus(&body.inertia.shifted(body.mass, &body.moment, &frame.r));
            }
            let arm = frame.p - frames[node.root as usize].p;
            for k in 0..node.kind.freedoms() {
                let d = node.v as usize + k;
                let (s, shift) = node.axis(&frame.R, k);
                let f = plus_cross(&(body.mass * shift), &s, &body.moment);
                let n = plus_cross(&body.inertia.times(&s), &body.moment, &shift);
                let row = &mut work.mass.entries[self.row[d]..self.row[d + 1]];
                let (far, near) = row.split_at_mut(row.len() - 1 - k);
                for (j, entry) in near.iter_mut().enumerate() {
                    let (s, shift) = node.axis(&frame.R, j);
                    *entry = dot(&s, &n) + dot(&shift, &f);
                }
                near[k] += self.armature[d];
                let n = n + cross(&arm, &f);
                let mut j = self.dof_parent[node.v as usize] as usize;
                for entry in far.iter_mut().rev() {
                    let s = &work.axes[j];
                    *entry = fma(s[0], n.x, fma(s[1], n.y, s[2] * n.z))
                        + fma(s[3], f.x, fma(s[4], f.y, s[5] * f.z));
                    j = self.dof_parent[j] as usize;
                }
            }
        }
        &mut work.mass
    }

    /// Factors M(q) as [`mass_matrix`](Self::mass_matrix) left it, for [`solve_factored`](Self::solve_factored).
    pub fn factor_mass(&self, work: &mut TreeWork) {
        work.factor.entries.clone_from(&work.mass.entries);
        work.factor.factor(self);
    }

    /// x ← M⁻¹ x. After [`factor_mass`](Self::factor_mass).
    pub fn solve_factored(&self, work: &TreeWork, x: &mut [f64]) {
        work.factor.solve(self, x);
    }

    /// y ← M x without forming M: two sweeps. After [`kinematics`](Self::kinematics).
    pub fn mass_times(&self, x: &[f64], work: &mut TreeWork, y: &mut [f64]) {
        self.response(x, work);
        self.inwards(work, y);
        for d in 0..y.len() {
            y[d] = fma(self.armature[d], x[d], y[d]);
        }
    }
}
