//! Joints as spring-dampers under `implicit`: $\lambda = -k_p C - k_d\dot C$, $F = A^T\lambda$, with the tangent
//! $K = A^T k_p A$, $B = A^T k_d A$.
//!
//! K leaves out the turning of A under λ, so it is never indefinite; Newton's method on the whole step makes up for it.

use crate::joints::{Body, Holder, MOST_HOLDERS, Rows};
use crate::math::{Blocks, Mat3, Vec3, outer};
use crate::model::Model;
use crate::state::State;

/// One row of A on one body.
#[derive(Debug, Clone, Copy)]
struct Arm {
    /// Where the velocities of the body begin in v.
    v: usize,
    dofs: usize,
    row: [f64; 6],
}

/// One active row: its gains, and its arms `first..end`.
#[derive(Debug, Clone, Copy)]
struct Spring {
    kp: f64,
    kd: f64,
    lambda: f64,
    first: usize,
    end: usize,
}

/// All rows of all joints at one state.
#[derive(Debug, Default)]
pub(crate) struct JointSprings {
    springs: Vec<Spring>,
    arms: Vec<Arm>,
    rows: Rows,
}

impl JointSprings {
    /// Finds rows, gains and forces at time t; `memory` says which joints have broken and how far angles have turned.
    pub(crate) fn evaluate(&mut self, model: &Model, t: f64, q: &[f64], v: &[f64], memory: &State) {
        self.springs.clear();
        self.arms.clear();
        let mut bodies = [Body::WORLD; MOST_HOLDERS];
        for entry in model.constraints.iter().filter(|c| !memory.broken[c.joint]) {
            let holders = entry.constraint.holders();
            for (body, holder) in bodies.iter_mut().zip(holders) {
                *body = model.body(*holder, q, v);
            }
            let bodies = &bodies[..holders.len()];
            self.rows.clear(holders.len());
            entry.constraint.evaluate(t, bodies, &memory.turns[entry.turns.clone()], &mut self.rows);
            for row in 0..entry.constraint.rows() {
                let C = self.rows.violation[row];
                let rate = self.rows.rate(row, bodies) + self.rows.drift[row];
                let Some(lambda) = entry.explicit_force(C, rate) else { continue };
                let (kp, kd) = entry.explicit_gains(C, rate);
                let first = self.arms.len();
                for (slot, holder) in holders.iter().enumerate() {
                    let (v, dofs) = match *holder {
                        Holder::World => continue,
                        Holder::Rigid(k) => (6 * k as usize, 6),
                        Holder::Particle(i) => (model.layout.points_v() + 3 * i as usize, 3),
                    };
                    let row = std::array::from_fn(|k| self.rows.jacobian[slot][6 * row + k]);
                    self.arms.push(Arm { v, dofs, row });
                }
                self.springs.push(Spring { kp, kd, lambda, first, end: self.arms.len() });
            }
        }
    }

    /// f += Aᵀ λ.
    pub(crate) fn add_forces(&self, f: &mut [f64]) {
        for s in &self.springs {
            self.add_row(s, s.lambda, f);
        }
    }

    /// out += Aᵀ (stiffness·kp + damping·kd) A y.
    pub(crate) fn add_times(&self, stiffness: f64, damping: f64, y: &[f64], out: &mut [f64]) {
        for s in &self.springs {
            let gain = stiffness * s.kp + damping * s.kd;
            if gain != 0.0 {
                let arms = &self.arms[s.first..s.end];
                let rate: f64 =
                    arms.iter().map(|a| (0..a.dofs).map(|k| a.row[k] * y[a.v + k]).sum::<f64>()).sum();
                self.add_row(s, gain * rate, out);
            }
        }
    }

    /// Adds the 3×3 blocks of Aᵀ (stiffness·kp + damping·kd) A, counted in threes of v.
    pub(crate) fn add_blocks(&self, stiffness: f64, damping: f64, out: &mut Blocks) {
        for s in &self.springs {
            let gain = stiffness * s.kp + damping * s.kd;
            let arms = &self.arms[s.first..s.end];
            for a in arms {
                for b in arms {
                    for (i, ra) in thirds(a) {
                        for (j, rb) in thirds(b) {
                            let block: Mat3 = outer(&ra, &rb) * gain;
                            out.add(i, j, block);
                        }
                    }
                }
            }
        }
    }

    fn add_row(&self, s: &Spring, force: f64, f: &mut [f64]) {
        for a in &self.arms[s.first..s.end] {
            for k in 0..a.dofs {
                f[a.v + k] += a.row[k] * force;
            }
        }
    }
}

/// The one or two 3-blocks of an arm.
fn thirds(a: &Arm) -> impl Iterator<Item = (usize, Vec3)> + '_ {
    (0..a.dofs / 3).map(|k| (a.v / 3 + k, Vec3::new(a.row[3 * k], a.row[3 * k + 1], a.row[3 * k + 2])))
}
