//! A few contacts, all at once, whatever answers to them: Newton's method in their impulses.
//!
//! The same augmented Lagrangian as in [`super::direct`], seen from the other side: with all answers gathered in one dense
//! matrix, u = W p + q, an outer round solves
//!
//! $$ p = P\big(p_k - \rho\,(W p + q + s n)\big), \qquad (1 + \rho\,\partial P\,W)\,\Delta p = P - p. $$
//!
//! The matrix is regular however the contacts depend on each other, since both factors are positive semidefinite. Bodies
//! among joints and robots are no different from bodies by themselves.
//!
//! Three kinds of units share one solve: contacts, P onto Coulomb's cone; spin friction, P onto an interval about the normal
//! and a disc across it, as large as the contact presses; rows of robots with bounds (dry friction and limits of joints), P
//! onto an interval. The function that a round makes least has the term $P\cdot(y - \tfrac12 P)/\rho$ of each unit, with
//! y the argument of P: by Moreau the slope of it is P, for any convex set.

use std::ops::Range;

use super::direct::{CLIMB, SOFT, STIFF, project, trusted};
use super::rows::BoundRow;
use super::sweep::{Contact, Field, Spin, unrest, unrest_spin};
use super::{ContactWork, NONE};
use crate::math::{Mat3, Vec3, dot, triple};

/// Most unknowns.
const MOST: usize = 150;
const ROUNDS: u32 = 12;
const NEWTON: u32 = 20;
/// Steps of Newton's method while the impulses of the step before are believed.
const TRUSTED: u32 = 6;
/// Rounds that make nothing better before the search ends.
const PATIENCE: u32 = 2;

/// What unknowns belong to.
#[derive(Debug, Clone, Copy)]
enum Unit {
    /// A contact.
    Cone(usize),
    /// The spin friction of a contact.
    Spin(usize),
    /// A row of a robot.
    Row(usize),
}

/// Buffers.
#[derive(Debug, Default)]
pub(super) struct Dense {
    n: usize,
    /// What there is, and its first unknown.
    units: Vec<(Unit, usize)>,
    W: Vec<f64>,
    A: Vec<f64>,
    q: Vec<f64>,
    p: Vec<f64>,
    step: Vec<f64>,
    trial: Vec<f64>,
    u: Vec<f64>,
    kept: Vec<f64>,
    /// μ|u_t| of contacts; how far each presses.
    s: Vec<f64>,
    pressed: Vec<f64>,
    best: Vec<f64>,
    unit: Vec<f64>,
    stiff: f64,
}

/// What a search works on.
struct Parts<'a> {
    field: &'a Field,
    contacts: &'a mut [Contact],
    spins: &'a mut [Spin],
    rows: &'a mut [BoundRow],
}

impl ContactWork {
    /// Solves a small island with the rows of its robots. Returns how far a sweep behind it would move a relative velocity;
    /// never more than `before`.
    pub(super) fn solve_dense(&mut self, range: Range<usize>, before: f64, tolerance: f64) -> Option<f64> {
        let mut dense = std::mem::take(&mut self.dense);
        dense.list(&self.contacts[range.clone()], &self.rows_at_hand);
        let moved = (dense.n <= MOST).then(|| {
            let mut x = std::mem::take(&mut self.field.x);
            let Self { field, contacts, spins, bound_rows, .. } = self;
            let mut parts = Parts { field, contacts: &mut contacts[range], spins, rows: bound_rows };
            let moved = dense.search(&mut parts, &mut x, before, tolerance);
            self.field.x = x;
            moved
        });
        self.dense = dense;
        moved
    }
}

impl Parts<'_> {
    /// Impulse of a unit; a row has one number.
    fn impulse(&self, unit: Unit) -> Vec3 {
        match unit {
            Unit::Cone(k) => self.contacts[k].impulse,
            Unit::Spin(k) => self.spins[self.contacts[k].spin as usize].impulse,
            Unit::Row(k) => Vec3::new(self.rows[k].impulse, 0.0, 0.0),
        }
    }

    /// The velocity that a unit sees.
    fn velocity(&self, x: &[f64], unit: Unit) -> Vec3 {
        match unit {
            Unit::Cone(k) => self.field.relative(x, &self.contacts[k]),
            Unit::Spin(k) => {
                let c = &self.contacts[k];
                self.field.turn(x, &c.sides[0]) - self.field.turn(x, &c.sides[1])
            }
            Unit::Row(k) => Vec3::new(self.rows[k].rate(self.field, x), 0.0, 0.0),
        }
    }

    fn push(&self, x: &mut [f64], unit: Unit, p: &Vec3) {
        match unit {
            Unit::Cone(k) => self.field.push(x, &self.contacts[k], p),
            Unit::Spin(k) => self.field.push_turn(x, &self.contacts[k], p),
            Unit::Row(k) => self.rows[k].push(self.field, x, p.x),
        }
    }

    /// Target and softness are part of the velocity that a unit holds at zero.
    fn off(&self, unit: Unit) -> Vec3 {
        match unit {
            Unit::Cone(k) => {
                let c = &self.contacts[k];
                (c.softness * c.normal.dot(&c.impulse)) * c.normal - c.target
            }
            Unit::Spin(_) => Vec3::zeros(),
            Unit::Row(k) => {
                let r = &self.rows[k];
                Vec3::new(r.softness * r.impulse - r.target, 0.0, 0.0)
            }
        }
    }

    /// Zero again wherever an impulse of this unit moves something.
    fn clear_push(&self, x: &mut [f64], unit: Unit) {
        match unit {
            Unit::Cone(k) | Unit::Spin(k) => self.field.clear_push(x, &self.contacts[k]),
            Unit::Row(k) => {
                let r = &self.rows[k];
                x[r.first as usize..(r.first + r.len) as usize].fill(0.0);
            }
        }
    }

    fn set(&mut self, unit: Unit, p: Vec3) {
        match unit {
            Unit::Cone(k) => self.contacts[k].impulse = p,
            Unit::Spin(k) => self.spins[self.contacts[k].spin as usize].impulse = p,
            Unit::Row(k) => self.rows[k].impulse = p.x,
        }
    }

    fn unrest(&self, x: &[f64], unit: Unit) -> f64 {
        match unit {
            Unit::Cone(k) => unrest(self.field, x, &self.contacts[k]),
            Unit::Spin(k) => {
                let c = &self.contacts[k];
                unrest_spin(self.field, x, c, &self.spins[c.spin as usize]) * c.arms[0].norm()
            }
            Unit::Row(k) => self.rows[k].unrest(self.field, x),
        }
    }

    /// ρ of a unit over `stiff`.
    fn weight(&self, unit: Unit) -> f64 {
        match unit {
            Unit::Cone(k) => 3.0 / self.contacts[k].W.trace(),
            Unit::Spin(k) => 3.0 / self.spins[self.contacts[k].spin as usize].W.trace().max(1e-300),
            Unit::Row(k) => 1.0 / self.rows[k].W.max(1e-300),
        }
    }

    /// P and its slope.
    fn project(&self, unit: Unit, y: &Vec3, pressed: f64) -> (Vec3, Mat3) {
        match unit {
            Unit::Cone(k) => project(y, &self.contacts[k].normal, self.contacts[k].friction),
            Unit::Spin(k) => {
                let c = &self.contacts[k];
                let spin = &self.spins[c.spin as usize];
                onto_spin(y, &c.normal, spin.torsion * pressed, spin.rolling * pressed)
            }
            Unit::Row(k) => {
                let to = y.x.clamp(self.rows[k].low, self.rows[k].high);
                let slope = if to == y.x { 1.0 } else { 0.0 };
                (Vec3::new(to, 0.0, 0.0), Mat3::from_diagonal(&Vec3::new(slope, 0.0, 0.0)))
            }
        }
    }
}

/// The nearest point with |y·n| ≤ `about` and |y across n| ≤ `across`, and the slope there.
fn onto_spin(y: &Vec3, n: &Vec3, about: f64, across: f64) -> (Vec3, Mat3) {
    let normal = n.dot(y);
    let side = y - normal * n;
    let size = side.norm();
    let (mut to, mut slope) = (normal.clamp(-about, about) * n, Mat3::zeros());
    if normal.abs() <= about {
        slope += n * n.transpose();
    }
    if size <= across {
        to += side;
        slope += Mat3::identity() - n * n.transpose();
    } else {
        let t = side / size;
        to += across * t;
        slope += (across / size) * (Mat3::identity() - n * n.transpose() - t * t.transpose());
    }
    (to, slope)
}

impl Dense {
    fn list(&mut self, contacts: &[Contact], rows: &[u32]) {
        self.units.clear();
        self.n = 0;
        for (k, c) in contacts.iter().enumerate() {
            self.units.push((Unit::Cone(k), self.n));
            self.n += 3;
            if c.spin != NONE {
                self.units.push((Unit::Spin(k), self.n));
                self.n += 3;
            }
        }
        for &k in rows {
            self.units.push((Unit::Row(k as usize), self.n));
            self.n += 1;
        }
    }

    /// The numbers of unit i in a list; a row has one.
    fn of(&self, list: &[f64], i: usize) -> Vec3 {
        let (unit, at) = self.units[i];
        if let Unit::Row(_) = unit { Vec3::new(list[at], 0.0, 0.0) } else { triple(&list[at..], 0) }
    }

    fn dim(unit: Unit) -> usize {
        if let Unit::Row(_) = unit { 1 } else { 3 }
    }

    /// Impulses take new values, and velocities go with them.
    fn take(&self, parts: &mut Parts, x: &mut [f64], new: &[f64]) {
        for i in 0..self.units.len() {
            let unit = self.units[i].0;
            let p = self.of(new, i);
            parts.push(x, unit, &(p - parts.impulse(unit)));
            parts.set(unit, p);
        }
    }

    fn search(&mut self, parts: &mut Parts, x: &mut [f64], before: f64, tolerance: f64) -> f64 {
        self.assemble(parts, x);
        self.best.clear();
        self.best.extend_from_slice(&self.p);
        let (mut best, mut patience, mut stiffest) = (before, PATIENCE, STIFF);
        self.stiff = STIFF;
        for k in 0..ROUNDS {
            let done = self.round(parts, k == 0);
            let p = std::mem::take(&mut self.p);
            self.take(parts, x, &p);
            self.p = p;
            let rest = |i: &(Unit, usize)| parts.unrest(x, i.0);
            let left = if done { self.units.iter().map(rest).fold(0.0, f64::max) } else { f64::INFINITY };
            let better = left < best;
            if better {
                best = left;
                self.best.copy_from_slice(&self.p);
            }
            if best <= tolerance {
                break;
            }
            if k == 0 && !(left < 0.01 * before) {
                self.stiff = SOFT;
            } else if !done {
                stiffest = (self.stiff / CLIMB).max(SOFT);
                self.stiff = stiffest;
            } else {
                self.stiff = (self.stiff * CLIMB).min(stiffest);
            }
            if !better {
                if !done || self.stiff >= stiffest {
                    patience -= 1;
                    if patience == 0 {
                        break;
                    }
                }
                self.p.copy_from_slice(&self.best);
            }
        }
        let best_impulses = std::mem::take(&mut self.best);
        self.take(parts, x, &best_impulses);
        self.best = best_impulses;
        best
    }

    /// W and q = u − target − W p.
    fn assemble(&mut self, parts: &Parts, x: &[f64]) {
        let n = self.n;
        for list in [&mut self.q, &mut self.p, &mut self.step, &mut self.trial, &mut self.u, &mut self.kept] {
            list.clear();
            list.resize(n, 0.0);
        }
        self.W.resize(n * n, 0.0);
        self.A.resize(n * n, 0.0);
        self.s.resize(self.units.len(), 0.0);
        self.pressed.resize(self.units.len(), 0.0);
        self.unit.clear();
        self.unit.resize(x.len(), 0.0);
        for &(unit, j) in &self.units {
            for k in 0..Self::dim(unit) {
                parts.push(&mut self.unit, unit, &Vec3::ith(k, 1.0));
                for &(other, i) in &self.units {
                    let u = parts.velocity(&self.unit, other);
                    (0..Self::dim(other)).for_each(|r| self.W[(i + r) * n + j + k] = u[r]);
                }
                parts.clear_push(&mut self.unit, unit);
            }
        }
        for &(unit, i) in &self.units {
            let p = parts.impulse(unit);
            (0..Self::dim(unit)).for_each(|r| self.p[i + r] = p[r]);
            // The own block with softness and floor.
            match unit {
                Unit::Cone(k) => {
                    for r in 0..3 {
                        for m in 0..3 {
                            self.W[(i + r) * n + i + m] = parts.contacts[k].W[(r, m)];
                        }
                    }
                }
                Unit::Spin(_) => {}
                Unit::Row(k) => self.W[i * n + i] = parts.rows[k].W,
            }
        }
        for &(unit, i) in &self.units {
            let u = parts.velocity(x, unit) + parts.off(unit);
            for r in 0..Self::dim(unit) {
                self.q[i + r] = u[r] - dot(&self.W[(i + r) * n..(i + r + 1) * n], &self.p);
            }
        }
    }

    /// u = W p + q for a list of impulses.
    fn velocities(&self, p: &[f64], u: &mut [f64]) {
        for (i, u) in u.iter_mut().enumerate() {
            *u = self.q[i] + dot(&self.W[i * self.n..(i + 1) * self.n], p);
        }
    }

    /// Where unit i aims, given u.
    fn aim(&self, parts: &Parts, i: usize, u: &[f64]) -> Vec3 {
        let unit = self.units[i].0;
        let mut u = self.of(u, i);
        if let Unit::Cone(k) = unit {
            u += self.s[i] * parts.contacts[k].normal;
        }
        self.of(&self.kept, i) - (self.stiff * parts.weight(unit)) * u
    }

    fn merit(&self, parts: &Parts, p: &[f64], u: &[f64]) -> f64 {
        let mut sum = 0.0;
        for i in 0..self.n {
            sum += 0.5 * p[i] * (u[i] - self.q[i]);
        }
        for (i, (unit, _)) in self.units.iter().enumerate() {
            let y = self.aim(parts, i, u);
            let to = parts.project(*unit, &y, self.pressed[i]).0;
            sum += to.dot(&(y - 0.5 * to)) / (self.stiff * parts.weight(*unit));
        }
        sum
    }

    /// One outer round; false if Newton's method did not get there.
    fn round(&mut self, parts: &Parts, trust: bool) -> bool {
        let n = self.n;
        let mut u = std::mem::take(&mut self.u);
        self.velocities(&self.p, &mut u);
        let mut pressed = 0.0;
        for i in 0..self.units.len() {
            let own = self.of(&u, i);
            match self.units[i].0 {
                Unit::Cone(k) => {
                    let c = &parts.contacts[k];
                    self.s[i] = c.friction * (own - c.normal.dot(&own) * c.normal).norm();
                    pressed = c.normal.dot(&self.of(&self.p, i)).max(0.0);
                }
                // It follows its contact.
                Unit::Spin(_) => self.pressed[i] = pressed,
                Unit::Row(_) => {}
            }
        }
        self.kept.copy_from_slice(&self.p);
        let (mut last, mut done) = (f64::INFINITY, false);
        for newton in 0..if trust { TRUSTED } else { NEWTON } {
            let mut size = 0.0f64;
            for i in 0..self.units.len() {
                let (unit, at) = self.units[i];
                let aim = self.aim(parts, i, &u);
                // The first step trusts the impulses that are there to say which contacts stick, slip and part.
                let (to, slope) = match unit {
                    Unit::Cone(k) if trust && newton == 0 => {
                        let c = &parts.contacts[k];
                        trusted(&self.of(&self.kept, i), &aim, &c.normal, c.friction)
                    }
                    _ => parts.project(unit, &aim, self.pressed[i]),
                };
                let D: Mat3 = (self.stiff * parts.weight(unit)) * slope;
                for r in 0..Self::dim(unit) {
                    let row = at + r;
                    self.step[row] = to[r] - self.p[row];
                    size = size.max(self.step[row].abs());
                    let (A, W) = (&mut self.A[row * n..(row + 1) * n], &self.W);
                    A.fill(0.0);
                    for m in 0..Self::dim(unit) {
                        let d = D[(r, m)];
                        if d != 0.0 {
                            let from = &W[(at + m) * n..(at + m + 1) * n];
                            A.iter_mut().zip(from).for_each(|(a, w)| *a += d * w);
                        }
                    }
                    A[row] += 1.0;
                }
            }
            let largest = self.p.iter().fold(0.0f64, |m, p| m.max(p.abs()));
            if size <= 1e-14 * largest {
                done = true;
                break;
            }
            if !self.eliminate() {
                break;
            }
            let slack = if last.is_finite() { 1e-12 * last.abs() } else { 0.0 };
            let (mut part, mut better) = (1.0, false);
            for _ in 0..20 {
                for i in 0..n {
                    self.trial[i] = self.p[i] + part * self.step[i];
                }
                self.velocities(&self.trial, &mut u);
                let now = self.merit(parts, &self.trial, &u);
                if now <= last + slack {
                    (last, better) = (now.min(last), true);
                    break;
                }
                part *= 0.5;
            }
            if !better {
                break;
            }
            std::mem::swap(&mut self.p, &mut self.trial);
            let moved = self.step.iter().fold(0.0f64, |m, d| m.max(d.abs()));
            if part == 1.0 && newton > 0 && moved <= 1e-9 * largest {
                done = true;
                break;
            }
        }
        // Onto the sets.
        self.velocities(&self.p, &mut u);
        for i in 0..self.units.len() {
            let (unit, at) = self.units[i];
            let to = parts.project(unit, &self.aim(parts, i, &u), self.pressed[i]).0;
            (0..Self::dim(unit)).for_each(|r| self.trial[at + r] = to[r]);
        }
        if done {
            std::mem::swap(&mut self.p, &mut self.trial);
        }
        self.u = u;
        done
    }

    /// step ← A⁻¹ step by elimination with row exchanges; false if A is singular.
    fn eliminate(&mut self) -> bool {
        let n = self.n;
        for k in 0..n {
            let mut pivot = k;
            for i in k + 1..n {
                if self.A[i * n + k].abs() > self.A[pivot * n + k].abs() {
                    pivot = i;
                }
            }
            if !(self.A[pivot * n + k].abs() > 0.0) {
                return false;
            }
            if pivot != k {
                let (above, below) = self.A.split_at_mut(pivot * n);
                above[k * n..(k + 1) * n].swap_with_slice(&mut below[..n]);
                self.step.swap(k, pivot);
            }
            let (above, below) = self.A.split_at_mut((k + 1) * n);
            let top = &above[k * n..];
            let value = self.step[k];
            for (i, row) in below.chunks_exact_mut(n).enumerate() {
                let factor = row[k] / top[k];
                if factor != 0.0 {
                    row[k..].iter_mut().zip(&top[k..]).for_each(|(a, t)| *a -= factor * t);
                    self.step[k + 1 + i] -= factor * value;
                }
            }
        }
        for k in (0..n).rev() {
            let known = dot(&self.A[k * n + k + 1..(k + 1) * n], &self.step[k + 1..]);
            self.step[k] = (self.step[k] - known) / self.A[k * n + k];
        }
        self.step.iter().all(|x| x.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_of_the_spin_projection_is_that_of_its_values() {
        let n = Vec3::new(0.3, -0.5, 0.8).normalize();
        for k in 0..100 {
            let t = f64::from(k);
            let y = Vec3::new((1.3 * t).sin(), (2.1 * t).cos(), (0.7 * t).sin());
            let D = onto_spin(&y, &n, 0.4, 0.7).1;
            for i in 0..3 {
                let e = 1e-6 * Vec3::ith(i, 1.0);
                let (a, b) = (onto_spin(&(y + e), &n, 0.4, 0.7).0, onto_spin(&(y - e), &n, 0.4, 0.7).0);
                assert!(((a - b) / 2e-6 - D.column(i)).norm() < 1e-6, "{k} {i}");
            }
        }
    }
}
