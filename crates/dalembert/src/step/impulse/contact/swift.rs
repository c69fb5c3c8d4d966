//! Newton's method on Coulomb's law itself, for islands that know their impulses nearly.
//!
//! The rounds of [`super::dense`] hold $s = \mu|u_t|$ while they solve: they get there from anywhere, but what slips costs
//! many of them. Near the answer the law is solved as it is. With $y = p - \rho(u + \mu|u_t| n)$, ρ = 3/tr W, a contact parts if
//! the projection of y onto its cone is zero, sticks if y is inside, and slips along $t = y_t/|y_t|$ otherwise. Then
//!
//! | | p starts as | Δp along | asks for |
//! |---|---|---|---|
//! | parts | 0 | | |
//! | sticks | p | three axes | $u^+ = 0$ |
//! | slips | $p_n(n + \mu t)$ | $n + \mu t$ | $u_n^+ = 0$ |
//! | | | $b = n\times t$ | $b\cdot u^+ + b\cdot\Delta p/\kappa = 0$, $\kappa = \mu p_n/\lvert u_t\rvert$ |
//! | row between its bounds | its impulse | one | rate⁺ = target |
//!
//! The last line of slipping is the slope of $p_t = -\mu p_n u_t/|u_t|$: the impulse turns as the velocity does. The others have
//! a softness, so that points which hold the same body twice share what they bear. It acts on the change alone, so 10⁻⁴ W
//! costs nothing near the answer, and a robot that is held more often than it has dofs does not leave it for a large change
//! that makes a small difference; 10⁻⁸ W is tried next. One small system, not symmetric where something slips, gives Δp;
//! steps follow until the law holds, and if they do not get there the rounds have their turn from where the steps began.
//!
//! A robot that is held more often than it has dofs creeps at points whose impulse is as large across as friction lets it be:
//! slower than the tolerance, so that the signs of rounding say whether they stick. Held, they would ask for impulses outside
//! their cones. So what was on the rim slips on at first, and what leaves its cone by a step slips in the next try of it.

use super::dense::{Dense, add, dot};
use super::direct::STIFF;
use super::lanes::Lanes;
use super::units::{Parts, Unit};
use crate::math::Vec3;

/// Steps.
const STEPS: u32 = 8;
/// Steps that do not make the best of all before the search ends.
const PATIENCE: u32 = 2;

/// W over the softness of steps that shy away from large changes.
const SHY: f64 = 1e4;

/// Times that points which leave their cones are let slip.
const LET_SLIP: u32 = 4;

/// Part of the tolerance at which no further step is made.
const POLISHED: f64 = 1e-4;

/// A direction in which the impulse of a unit may change, what is asked of u there, and its softness.
#[derive(Debug, Clone, Copy)]
struct Way {
    at: usize,
    /// Numbers of the unit.
    dim: usize,
    along: [f64; 3],
    test: [f64; 3],
    softness: f64,
    /// This and the next two are the three axes of the unit.
    first_of_three: bool,
}

/// Buffers.
#[derive(Debug, Default)]
pub(super) struct Swift {
    ways: Vec<Way>,
    /// Tests times W, row by row.
    V: Vec<f64>,
    /// The matrix, and behind each row its right-hand side; rows begin at multiples of four.
    A: Vec<f64>,
    y: Vec<f64>,
    start: Vec<f64>,
    from: Vec<f64>,
    /// Units that slip though they seem to stick.
    slips: Vec<bool>,
    kept: Vec<f64>,
}

impl Dense {
    /// True if p, put onto its sets, meets the law within the tolerance; otherwise p and u are as they were.
    pub(super) fn go_swiftly(&mut self, parts: &Parts, swift: &mut Swift) -> bool {
        if self.units.iter().any(|(unit, _)| matches!(unit, Unit::Spin(_))) {
            return false;
        }
        swift.start.clear();
        swift.start.extend_from_slice(&self.p);
        for stiff in [SHY, STIFF] {
            // What slipped before slips on, unless that proves wrong.
            swift.slips.clear();
            swift.slips.extend((0..self.units.len()).map(|i| self.on_rim(parts, i)));
            if self.go_along(parts, swift, stiff) {
                return true;
            }
            self.p.copy_from_slice(&swift.start);
            self.velocities_of_p();
        }
        false
    }

    /// Steps with a softness of W over `stiff`; false if they do not get there.
    fn go_along(&mut self, parts: &Parts, swift: &mut Swift, stiff: f64) -> bool {
        let (mut best, mut patience) = (f64::INFINITY, PATIENCE);
        for _ in 0..STEPS {
            if !self.step_once(parts, swift, stiff) {
                return false;
            }
            if self.left <= self.tolerance {
                self.polish(parts, swift);
                return true;
            }
            swift.slips.fill(false);
            if self.left < 0.5 * best {
                (best, patience) = (self.left, PATIENCE);
            } else {
                patience -= 1;
                if patience == 0 || !self.left.is_finite() {
                    return false;
                }
            }
        }
        false
    }

    /// One step more than asked for, kept if it is good: near the answer it squares what is left, and the next step of time
    /// begins from impulses that stay true for long.
    fn polish(&mut self, parts: &Parts, swift: &mut Swift) {
        if self.left <= POLISHED * self.tolerance {
            return;
        }
        let left = self.left;
        swift.kept.clear();
        swift.kept.extend_from_slice(&self.p);
        if !self.step_once(parts, swift, STIFF) || !(self.left < left) {
            self.p.copy_from_slice(&swift.kept);
            self.velocities_of_p();
            self.left = left;
        }
    }

    /// A step from p, whose velocities u are known, and the projection onto the sets, with what is `left` there; false if
    /// the system is singular.
    ///
    /// A point that seems to stick and by the step would leave its cone slips: the step is made again with that known.
    fn step_once(&mut self, parts: &Parts, swift: &mut Swift, stiff: f64) -> bool {
        swift.from.clear();
        swift.from.extend_from_slice(&self.p);
        for again in 0..=LET_SLIP {
            if again > 0 {
                self.p.copy_from_slice(&swift.from);
                self.velocities_of_p();
            }
            let stick = self.choose_ways(parts, stiff, swift);
            if self.p != swift.from {
                self.velocities_of_p();
            }
            if !self.step_ways(swift) {
                return false;
            }
            if !stick || !self.leave_cones(parts, swift) {
                break;
            }
        }
        for i in 0..self.units.len() {
            let (unit, at) = self.units[i];
            let p = parts.project(unit, &self.of(&self.p, i), 0.0);
            (0..Self::dim(unit)).for_each(|r| self.p[at + r] = p[r]);
        }
        self.velocities_of_p();
        self.left = self.unrest(parts, &self.p, &self.u);
        true
    }

    /// True if the impulse of a unit is as far across as friction lets it be.
    fn on_rim(&self, parts: &Parts, i: usize) -> bool {
        let Unit::Cone(k) = self.units[i].0 else { return false };
        let (c, p) = (&parts.contacts[k], self.of(&self.p, i));
        let normal = c.normal.dot(&p);
        normal > 0.0 && (p - normal * c.normal).norm() >= c.friction * normal * (1.0 - 1e-9)
    }

    /// Marks the points that stick outside their cones; true if there is a new one.
    fn leave_cones(&self, parts: &Parts, swift: &mut Swift) -> bool {
        let mut any = false;
        for (i, &(unit, _)) in self.units.iter().enumerate() {
            if let Unit::Cone(k) = unit
                && !swift.slips[i]
            {
                let (c, p) = (&parts.contacts[k], self.of(&self.p, i));
                let normal = c.normal.dot(&p);
                let out = normal > 0.0 && (p - normal * c.normal).norm() > c.friction * normal * (1.0 + 1e-9);
                swift.slips[i] = out;
                any |= out;
            }
        }
        any
    }

    /// Who parts, sticks and slips; p becomes what the steps start from. True if something sticks.
    fn choose_ways(&mut self, parts: &Parts, stiff: f64, swift: &mut Swift) -> bool {
        let Swift { ways, slips, .. } = swift;
        let mut sticks = false;
        ways.clear();
        for i in 0..self.units.len() {
            let (unit, at) = self.units[i];
            let (u, p, rho) = (self.of(&self.u, i), self.of(&self.p, i), parts.weight(unit));
            let softness = 1.0 / (stiff * rho);
            let mut new = p;
            match unit {
                Unit::Cone(k) => {
                    let c = &parts.contacts[k];
                    let (n, mu) = (&c.normal, c.friction);
                    let across = u - n.dot(&u) * n;
                    let y = p - rho * (u + mu * across.norm() * n);
                    let normal = n.dot(&y);
                    let side = y - normal * n;
                    let size = side.norm();
                    let mut way = |along: Vec3, test: Vec3, softness: f64| {
                        let (along, test) = (along.into(), test.into());
                        ways.push(Way { at, dim: 3, along, test, softness, first_of_three: false });
                    };
                    if mu * size <= -normal || (mu == 0.0 && normal <= 0.0) {
                        new = Vec3::zeros();
                    } else if mu == 0.0 {
                        new = n.dot(&p).max(0.0) * n;
                        way(*n, *n, softness);
                    } else if size <= mu * normal && !slips[i] {
                        sticks = true;
                        for k in 0..3 {
                            let mut axis = [0.0; 3];
                            axis[k] = 1.0;
                            let first_of_three = k == 0;
                            ways.push(Way { at, dim: 3, along: axis, test: axis, softness, first_of_three });
                        }
                    } else {
                        let (t, pressed) = (side / size.max(f64::MIN_POSITIVE), n.dot(&p).max(0.0));
                        let rim = n + mu * t;
                        new = pressed * rim;
                        way(rim, *n, softness);
                        let (b, fast) = (n.cross(&t), (size - mu * pressed).max(0.0) / rho);
                        if pressed > 0.0 {
                            way(b, b, softness.max(fast / (mu * pressed)));
                        }
                    }
                }
                Unit::Row(k) => {
                    let row = &parts.rows[k];
                    let y = p.x - rho * u.x;
                    new.x = y.clamp(row.low, row.high);
                    if new.x == y {
                        new.x = p.x;
                        let one = [1.0, 0.0, 0.0];
                        ways.push(Way { at, dim: 1, along: one, test: one, softness, first_of_three: false });
                    }
                }
                Unit::Spin(_) => {}
            }
            (0..Self::dim(unit)).for_each(|r| self.p[at + r] = new[r]);
        }
        sticks
    }

    /// p += Δp; false if the system is singular.
    fn step_ways(&mut self, swift: &mut Swift) -> bool {
        let (n, r) = (self.n, swift.ways.len());
        let Swift { ways, V, A, y, .. } = swift;
        V.resize(r * n, 0.0);
        for (way, V) in ways.iter().zip(V.chunks_exact_mut(n)) {
            V.fill(0.0);
            for k in (0..way.dim).filter(|k| way.test[*k] != 0.0) {
                add(V, way.test[k], &self.W[(way.at + k) * n..][..n]);
            }
        }
        let wide = width(r);
        A.resize(r * wide, 0.0);
        for (i, (way, V)) in ways.iter().zip(V.chunks_exact(n)).enumerate() {
            let row = &mut A[i * wide..(i + 1) * wide];
            let mut j = 0;
            while j < r {
                let (c, at) = (&ways[j].along, ways[j].at);
                if ways[j].first_of_three {
                    row[j..j + 3].copy_from_slice(&V[at..at + 3]);
                    j += 3;
                    continue;
                }
                row[j] = match ways[j].dim {
                    1 => c[0] * V[at],
                    _ => c[0] * V[at] + c[1] * V[at + 1] + c[2] * V[at + 2],
                };
                j += 1;
            }
            row[i] += way.softness;
            row[r] = -(0..way.dim).map(|k| way.test[k] * self.u[way.at + k]).sum::<f64>();
            row[r + 1..].fill(0.0);
        }
        if !eliminate(A, r, y) {
            return false;
        }
        for (way, y) in ways.iter().zip(&*y) {
            (0..way.dim).for_each(|k| self.p[way.at + k] += y * way.along[k]);
        }
        true
    }
}

/// Numbers of a row of n unknowns with its right-hand side.
fn width(n: usize) -> usize {
    (n + 1).next_multiple_of(4)
}

/// y ← A⁻¹ b of rows with b behind them, by elimination with row exchanges; false if A is singular.
///
/// Rows are worked on by whole fours: what lies before the pivot within its four is not read again.
fn eliminate(A: &mut [f64], n: usize, y: &mut Vec<f64>) -> bool {
    let wide = width(n);
    for k in 0..n {
        let mut pivot = k;
        for i in k + 1..n {
            if A[i * wide + k].abs() > A[pivot * wide + k].abs() {
                pivot = i;
            }
        }
        // The diagonal is good enough almost always, and rows stay where they are.
        if A[k * wide + k].abs() >= 0.1 * A[pivot * wide + k].abs() {
            pivot = k;
        }
        if !(A[pivot * wide + k].abs() > 0.0) {
            return false;
        }
        let (above, below) = A.split_at_mut((k + 1) * wide);
        let own = &mut above[k * wide..];
        if pivot != k {
            let at = (pivot - k - 1) * wide;
            own.swap_with_slice(&mut below[at..at + wide]);
        }
        let scale = 1.0 / own[k];
        let top = &own.as_chunks::<4>().0[k / 4..];
        for row in below.chunks_exact_mut(wide) {
            let factor = -scale * row[k];
            if factor != 0.0 {
                for (a, t) in row.as_chunks_mut::<4>().0[k / 4..].iter_mut().zip(top) {
                    *a = Lanes::splat(factor).mul_add(Lanes::from(*t), Lanes::from(*a)).to_array();
                }
            }
        }
    }
    y.clear();
    y.resize(n, 0.0);
    for k in (0..n).rev() {
        let row = &A[k * wide..(k + 1) * wide];
        y[k] = (row[n] - dot(&row[k + 1..n], &y[k + 1..])) / row[k];
    }
    y.iter().all(|y| y.is_finite())
}

#[cfg(test)]
mod tests {
    use super::{eliminate, width};

    #[test]
    fn elimination_solves_with_and_without_exchanges() {
        // Rows that need an exchange at the first pivot, and a matrix that is not symmetric.
        let (a, b) = ([[0.0, 2.0, 1.0], [3.0, 0.5, -1.0], [1.0, -1.0, 4.0]], [3.0, 2.5, -2.0]);
        let mut rows: Vec<f64> = (0..3).flat_map(|i| [a[i][0], a[i][1], a[i][2], b[i]]).collect();
        let mut y = Vec::new();
        assert!(eliminate(&mut rows, 3, &mut y));
        for i in 0..3 {
            let left: f64 = (0..3).map(|j| a[i][j] * y[j]).sum::<f64>() - b[i];
            assert!(left.abs() < 1e-14, "{i} {left}");
        }
        let mut singular = vec![1.0, 2.0, 1.0, 0.0, 2.0, 4.0, 1.0, 0.0];
        assert!(!eliminate(&mut singular, 2, &mut y));
        // All lengths of the last four; columns in another order make exchanges.
        for n in 1..14 {
            let a = |i: usize, j: usize| {
                ((3 * i + 7 * j + i * j) as f64).sin() + if (i + 1) % n == j { 3.0 } else { 0.0 }
            };
            let b = |i: usize| (i as f64).cos();
            let mut rows = vec![0.0; n * width(n)];
            for (i, row) in rows.chunks_exact_mut(width(n)).enumerate() {
                (0..n).for_each(|j| row[j] = a(i, j));
                row[n] = b(i);
            }
            assert!(eliminate(&mut rows, n, &mut y), "{n}");
            for i in 0..n {
                let left: f64 = (0..n).map(|j| a(i, j) * y[j]).sum::<f64>() - b(i);
                assert!(left.abs() < 1e-12, "{n} {i} {left}");
            }
        }
    }
}
