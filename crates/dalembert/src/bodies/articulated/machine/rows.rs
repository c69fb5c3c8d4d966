//! Rows that hold a robot beyond its tree: C(q), its Jacobian A, and what is asked of A v⁺.
//!
//! | what | C | A v | Ȧ v |
//! |---|---|---|---|
//! | point | x_a − x_b | v_a − v_b | a_a − a_b |
//! | frame | log of R_aᵀ R_b besides | R_aᵀ(ω_b − ω_a) | R_aᵀ(α_b − α_a − ω_a × (ω_b − ω_a)) |
//! | polynomial | y − P(x) | ẏ − P′ẋ | ÿ − P′ẍ − P″ẋ² |
//! | limit | distance to it, ≥ 0 | its rate | |
//!
//! a and α are the accelerations without dv/dt. The rows of a frame's turn are exact where C = 0, which is where the
//! projection keeps them.

use super::drives::CordPath;
use super::{Machine, MachineWork, Spot};
use crate::bodies::articulated::TreeWork;
use crate::math::rotation::{from_matrix, log, quaternion, renormalise};
use crate::math::{Mat3, Vec3};
use crate::solve::box_lcp::{Bounds, BoxLcpReport, solve_box_lcp};

/// A number that rows are about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Measure {
    /// A coordinate and its dof.
    Joint { q: usize, v: usize },
    /// A tendon's length.
    Cord(usize),
}

/// A loop or coupling: always exact.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Loop {
    /// Two points are one.
    Point { a: Spot, b: Spot },
    /// Two frames are one.
    Frame { a: Spot, b: Spot },
    /// y − y₀ = P(x − x₀).
    Polynomial { y: Measure, x: Option<Measure>, y0: f64, x0: f64, c: [f64; 5] },
}

/// What has limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Limited {
    Measure(Measure),
    /// The angle of a ball.
    Ball {
        q: usize,
        v: usize,
    },
}

/// Lowest and highest value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limit {
    pub(super) what: Limited,
    pub(super) range: [f64; 2],
}

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
    pub(super) drive: Vec<Option<usize>>,
    groups: u32,
}

/// A bound of none.
const ANY: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

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
        self.drive.clear();
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

    fn close(&mut self, [low, high]: [f64; 2], target: f64) {
        self.start.push(self.dof.len());
        self.violation.push(0.0);
        self.bias.push(0.0);
        self.target.push(target);
        self.softness.push(0.0);
        self.bounds.push(Bounds { low, high, scale: 0.0 });
        self.group.push(self.groups);
        self.drive.push(None);
    }

    /// Adds a row with one entry.
    pub(super) fn push_one(&mut self, dof: usize, value: f64, bounds: [f64; 2], target: f64) {
        self.dof.push(dof as u32);
        self.value.push(value);
        self.close(bounds, target);
        self.groups += 1;
    }

    /// Adds a row with these entries; those of one dof add up.
    fn push_entries(&mut self, entries: impl Iterator<Item = (usize, f64)>, bounds: [f64; 2], target: f64) {
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

    fn last(&mut self, violation: f64, bias: f64) {
        let k = self.bounds.len() - 1;
        (self.violation[k], self.bias[k]) = (violation, bias);
    }
}

/// P(x), P′(x), P″(x).
fn polynomial(c: &[f64; 5], x: f64) -> [f64; 3] {
    let value = c.iter().rev().fold(0.0, |sum, c| sum * x + c);
    let first = (1..5).rev().fold(0.0, |sum, k| sum * x + k as f64 * c[k]);
    let second = (2..5).rev().fold(0.0, |sum, k| sum * x + (k * (k - 1)) as f64 * c[k]);
    [value, first, second]
}

impl Machine {
    /// A measure's value; its row is added to `row`. After kinematics.
    pub(super) fn measure(&self, what: Measure, q: &[f64], work: &TreeWork, row: &mut [f64]) -> f64 {
        match what {
            Measure::Joint { q: at, v } => {
                row[v] += 1.0;
                q[at]
            }
            Measure::Cord(k) => self.measure_cord(&self.cords[k], q, work, row),
        }
    }

    /// Rows of all loops: C and A at q, and Ȧ v if `v` is given. After kinematics, and with v after velocities.
    pub(super) fn add_loop_rows(&self, q: &[f64], v: Option<&[f64]>, work: &mut MachineWork) {
        let MachineWork { tree: w, rows, dense, other: u, .. } = work;
        for hold in &self.loops {
            match hold {
                Loop::Point { a, b } => self.add_point(a, b, v.is_some(), w, rows, dense),
                Loop::Frame { a, b } => {
                    self.add_point(a, b, v.is_some(), w, rows, dense);
                    self.add_turn(a, b, v.is_some(), w, rows, dense);
                }
                Loop::Polynomial { y, x, y0, x0, c } => {
                    // Row of y, minus P′ times the row of x.
                    let value = self.measure(*y, q, w, dense) - y0;
                    let [mut p, mut second] = [c[0], 0.0];
                    let mut slope = 0.0;
                    if let Some(x) = x {
                        u.fill(0.0);
                        let at = self.measure(*x, q, w, u) - x0;
                        [p, slope, second] = polynomial(c, at);
                    }
                    let mut bias = 0.0;
                    if let Some(v) = v {
                        let of = |what: Measure| match what {
                            Measure::Joint { .. } => 0.0,
                            Measure::Cord(k) => self.cord_bias(&self.cords[k], w),
                        };
                        bias = of(*y);
                        if let Some(x) = x {
                            let rate = crate::math::dot(u, v);
                            bias -= slope * of(*x) + second * rate * rate;
                        }
                    }
                    if x.is_some() {
                        dense.iter_mut().zip(&*u).for_each(|(a, b)| *a -= slope * b);
                    }
                    rows.push_dense(dense, ANY, 0.0);
                    rows.last(value - p, bias);
                }
            }
            rows.end_group();
        }
    }

    fn add_point(
        &self,
        a: &Spot,
        b: &Spot,
        moving: bool,
        w: &TreeWork,
        rows: &mut RowSet,
        dense: &mut [f64],
    ) {
        let (xa, xb) = (self.position(a, w), self.position(b, w));
        let bias = if moving {
            self.point_motion(a, &xa, w).1 - self.point_motion(b, &xb, w).1
        } else {
            Vec3::zeros()
        };
        for k in 0..3 {
            let n = Vec3::ith(k, 1.0);
            self.add_point_row(a, &xa, &n, 1.0, w, dense);
            self.add_point_row(b, &xb, &n, -1.0, w, dense);
            rows.push_dense(dense, ANY, 0.0);
            rows.last((xa - xb)[k], bias[k]);
        }
    }

    fn add_turn(&self, a: &Spot, b: &Spot, moving: bool, w: &TreeWork, rows: &mut RowSet, dense: &mut [f64]) {
        let (Ra, Rb): (Mat3, Mat3) = (self.rotation(a, w), self.rotation(b, w));
        let error = log(&renormalise(&from_matrix(&(Ra.transpose() * Rb))));
        let spin = |spot: &Spot| {
            spot.link.map_or((Vec3::zeros(), Vec3::zeros()), |link| {
                let x = self.tree.link_position(link, w);
                let v = self.tree.point_velocity(link, &x, w).angular;
                (v, self.tree.point_bias_acceleration(link, &x, w).angular)
            })
        };
        let bias = if moving {
            let ((wa, aa), (wb, ab)) = (spin(a), spin(b));
            Ra.transpose() * (ab - aa - wa.cross(&(wb - wa)))
        } else {
            Vec3::zeros()
        };
        for k in 0..3 {
            let n = Ra.column(k).into_owned();
            for (spot, sign) in [(b, 1.0), (a, -1.0)] {
                if let Some(link) = spot.link {
                    let x = self.tree.link_position(link, w);
                    self.tree.each_column(link, &x, w, |d, _, s| dense[d] += sign * n.dot(&s));
                }
            }
            rows.push_dense(dense, ANY, 0.0);
            rows.last(error[k], bias[k]);
        }
    }

    /// Rows of limits that may be reached within h, given the velocity v without them. After kinematics.
    pub(super) fn add_limit_rows(&self, q: &[f64], v: &[f64], h: f64, work: &mut MachineWork) {
        let MachineWork { tree: w, rows, dense, .. } = work;
        // Not reached yet: may close the distance within the step. Beyond: come back by a fifth.
        let target = |gap: f64| if gap > 0.0 { -gap / h } else { -0.2 * gap / h };
        let near = |gap: f64, rate: f64| gap < 2.0 * h * rate.abs() + 1e-4;
        for limit in &self.limits {
            let [low, high] = limit.range;
            match limit.what {
                Limited::Measure(Measure::Joint { q: at, v: d }) => {
                    for (gap, sign) in [(q[at] - low, 1.0), (high - q[at], -1.0)] {
                        if near(gap, v[d]) {
                            rows.push_one(d, sign, [0.0, f64::INFINITY], target(gap));
                        }
                    }
                }
                Limited::Measure(Measure::Cord(k)) if matches!(&self.cords[k].path, CordPath::Joints(_)) => {
                    let CordPath::Joints(terms) = &self.cords[k].path else { continue };
                    let value: f64 = terms.iter().map(|(at, _, c)| c * q[*at]).sum();
                    let rate: f64 = terms.iter().map(|(_, d, c)| c * v[*d]).sum();
                    let sides = [(value - low, 1.0), (high - value, -1.0)];
                    if let Some((gap, sign)) = sides.into_iter().find(|(gap, _)| near(*gap, rate)) {
                        let entries = terms.iter().map(|(_, d, c)| (*d, sign * c));
                        rows.push_entries(entries, [0.0, f64::INFINITY], target(gap));
                    }
                }
                Limited::Measure(what) => {
                    let value = self.measure(what, q, w, dense);
                    let rate = crate::math::dot(dense, v);
                    let mut used = false;
                    for (gap, sign) in [(value - low, 1.0), (high - value, -1.0)] {
                        if near(gap, rate) && !used {
                            used = true;
                            dense.iter_mut().for_each(|x| *x *= sign);
                            rows.push_dense(dense, [0.0, f64::INFINITY], target(gap));
                            rows.end_group();
                        }
                    }
                    dense.fill(0.0);
                }
                Limited::Ball { q: at, v: d } => {
                    let turn = log(&renormalise(&quaternion(q, at)));
                    let (angle, gap) = (turn.norm(), high - turn.norm());
                    let spin = Vec3::new(v[d], v[d + 1], v[d + 2]);
                    if angle > 1e-9 && near(gap, spin.norm()) {
                        (0..3).for_each(|k| dense[d + k] = -turn[k] / angle);
                        rows.push_dense(dense, [0.0, f64::INFINITY], target(gap));
                        rows.end_group();
                    }
                }
            }
        }
    }

    /// Rows of dry friction of joints and tendons. After kinematics.
    pub(super) fn add_friction_rows(&self, q: &[f64], work: &mut MachineWork) {
        let MachineWork { tree: w, rows, dense, .. } = work;
        for &(d, f) in &self.dry {
            rows.push_one(d, 1.0, [-f, f], 0.0);
        }
        for cord in self.cords.iter().filter(|cord| cord.friction > 0.0) {
            self.measure_cord(cord, q, w, dense);
            rows.push_dense(dense, [-cord.friction, cord.friction], 0.0);
            rows.end_group();
        }
    }

    /// Y ← M⁻¹ Aᵀ and D ← h A Y + r, with the factor of M that is at hand.
    pub(super) fn assemble_rows(&self, h: f64, work: &mut MachineWork) {
        let MachineWork { tree: w, rows, Y, D, .. } = work;
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
    pub(super) fn solve_rows(&self, work: &mut MachineWork) -> BoxLcpReport {
        let MachineWork { rows, D, d, lambda, box_lcp, .. } = work;
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

#[cfg(test)]
mod tests {
    use super::polynomial;

    #[test]
    fn the_slopes_of_a_polynomial_are_those_of_its_values() {
        let (c, x, e) = ([0.3, -1.0, 0.5, 0.2, -0.1], 0.7, 1e-5);
        let [_, first, second] = polynomial(&c, x);
        let (a, b) = (polynomial(&c, x + e), polynomial(&c, x - e));
        assert!(((a[0] - b[0]) / (2.0 * e) - first).abs() < 1e-9);
        assert!(((a[1] - b[1]) / (2.0 * e) - second).abs() < 1e-9);
    }
}
