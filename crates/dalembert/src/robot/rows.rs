//! Rows of a robot: $A v^+ + r\lambda = c$ with bounds on λ, and their dense system $(h A M^{-1}A^T + r)\lambda = c - A v^*$.

use super::{Robot, RobotWork};
use crate::solve::box_lcp::{Bounds, BoxLcpReport, solve_box_lcp};

/// Rows, one after the other; a row keeps only the dofs that it moves.
#[derive(Debug, Clone, Default)]
pub(super) struct RowSet {
    start: Vec<usize>,
    dof: Vec<u32>,
    value: Vec<f64>,
    /// C of each row.
    pub(super) violation: Vec<f64>,
    /// Ȧ v.
    pub(super) bias: Vec<f64>,
    /// c.
    pub(super) target: Vec<f64>,
    /// r.
    pub(super) softness: Vec<f64>,
    pub(super) bounds: Vec<Bounds>,
    /// Rows of one constraint share a number: sizes are compared among them.
    group: Vec<u32>,
    /// The servo that a row is, if it is one.
    pub(super) servo: Vec<Option<usize>>,
    groups: u32,
}

/// A bound of none.
pub(super) const ANY: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

impl RowSet {
    pub(super) fn clear(&mut self) {
        self.start.clear();
        self.start.push(0);
        self.dof.clear();
        self.value.clear();
        for list in [&mut self.violation, &mut self.bias, &mut self.target, &mut self.softness] {
            list.clear();
        }
        self.bounds.clear();
        self.group.clear();
        self.servo.clear();
        self.groups = 0;
    }

    pub(super) fn len(&self) -> usize {
        self.bounds.len()
    }

    /// Entries of a row: dofs and numbers.
    pub(super) fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.start[i]..self.start[i + 1];
        self.dof[range.clone()].iter().map(|d| *d as usize).zip(self.value[range].iter().copied())
    }

    /// Every entry of a row: dof and number.
    pub(super) fn each(&self, i: usize, mut entry: impl FnMut(usize, f64)) {
        self.row(i).for_each(|(d, a)| entry(d, a));
    }

    /// (A v) of a row.
    pub(super) fn times(&self, i: usize, v: &[f64]) -> f64 {
        self.row(i).map(|(d, a)| a * v[d]).sum()
    }

    pub(super) fn close(&mut self, [low, high]: [f64; 2], target: f64) {
        self.start.push(self.dof.len());
        self.violation.push(0.0);
        self.bias.push(0.0);
        self.target.push(target);
        self.softness.push(0.0);
        self.bounds.push(Bounds { low, high, scale: 0.0 });
        self.group.push(self.groups);
        self.servo.push(None);
    }

    /// Adds a row with one entry.
    pub(super) fn push_one(&mut self, dof: usize, value: f64, bounds: [f64; 2], target: f64) {
        self.dof.push(dof as u32);
        self.value.push(value);
        self.close(bounds, target);
        self.groups += 1;
    }

    /// Adds a row with these entries; those of one dof add up.
    pub(super) fn push_entries(
        &mut self,
        entries: impl Iterator<Item = (usize, f64)>,
        bounds: [f64; 2],
        target: f64,
    ) {
        let start = self.dof.len();
        for (d, a) in entries {
            match self.dof[start..].iter().position(|o| *o as usize == d) {
                Some(k) => self.value[start + k] += a,
                None => {
                    self.dof.push(d as u32);
                    self.value.push(a);
                }
            }
        }
        self.close(bounds, target);
        self.groups += 1;
    }

    /// Adds what is not zero of a full row, and clears it.
    pub(super) fn push_dense(&mut self, row: &mut [f64], bounds: [f64; 2], target: f64) {
        for (d, x) in row.iter_mut().enumerate().filter(|(_, x)| **x != 0.0) {
            self.dof.push(d as u32);
            self.value.push(*x);
            *x = 0.0;
        }
        self.close(bounds, target);
    }

    pub(super) fn end_group(&mut self) {
        self.groups += 1;
    }

    pub(super) fn last(&mut self, violation: f64, bias: f64) {
        let k = self.bounds.len() - 1;
        (self.violation[k], self.bias[k]) = (violation, bias);
    }
}

impl Robot {
    /// Y ← M⁻¹ Aᵀ and D ← h A Y + r, with the factor of M that is at hand.
    pub(super) fn assemble_rows(&self, h: f64, work: &mut RobotWork) {
        let RobotWork { tree: w, rows, Y, D, .. } = work;
        let (nv, m) = (self.tree.freedoms(), rows.len());
        Y.clear();
        Y.resize(nv * m, 0.0);
        for i in 0..m {
            for (d, a) in rows.row(i) {
                Y[d * m + i] = a;
            }
        }
        self.tree.solve_at_hand(m, w, Y);
        D.clear();
        D.resize(m * m, 0.0);
        for i in 0..m {
            let out = &mut D[i * m..(i + 1) * m];
            for (d, a) in rows.row(i) {
                let from = &Y[d * m..(d + 1) * m];
                out.iter_mut().zip(from).for_each(|(o, y)| *o += h * a * y);
            }
            out[i] += rows.softness[i];
        }
        // Sizes that count: the largest diagonal among the rows of one constraint.
        let mut first = 0;
        while first < m {
            let same = |i: &usize| rows.group[*i] == rows.group[first];
            let end = (first..m).take_while(same).last().unwrap_or(first) + 1;
            let scale = (first..end).fold(0.0f64, |s, i| s.max(D[i * m + i]));
            rows.bounds[first..end].iter_mut().for_each(|b| b.scale = scale);
            first = end;
        }
    }

    /// λ with D λ = d under the bounds, d given in `work.d`.
    pub(super) fn solve_rows(&self, work: &mut RobotWork) -> BoxLcpReport {
        let RobotWork { rows, D, d, lambda, box_lcp, .. } = work;
        lambda.clear();
        lambda.resize(rows.len(), 0.0);
        solve_box_lcp(D, d, &rows.bounds, lambda, box_lcp)
    }

    /// x += s Y λ.
    pub(super) fn add_response(&self, s: f64, Y: &[f64], lambda: &[f64], x: &mut [f64]) {
        let m = lambda.len();
        for (d, x) in x.iter_mut().enumerate() {
            *x += s * crate::math::dot(&Y[d * m..(d + 1) * m], lambda);
        }
    }
}
