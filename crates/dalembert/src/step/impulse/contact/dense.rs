//! A few contacts, all at once, whatever answers to them: Newton's method in their impulses.
//!
//! The same augmented Lagrangian as in [`super::direct`], seen from the other side: with all answers gathered in one dense
//! matrix, u = W p + q, an outer round solves
//!
//! $$ p = P_K\big(p_k - \rho\,(W p + q + s n)\big), \qquad (1 + \rho\,\partial P_K W)\,\Delta p = P_K - p. $$
//!
//! The matrix is regular however the contacts depend on each other, since both factors are positive semidefinite. Bodies
//! among joints and robots are no different from bodies by themselves.

use std::ops::Range;

use super::direct::{project, stiffness, trusted};
use super::sweep::{Contact, Field, visit};
use super::{ContactWork, NONE};
use crate::math::{Mat3, Vec3, dot, triple};

/// Most contacts.
const MOST: usize = 40;
const ROUNDS: u32 = 4;
const NEWTON: u32 = 12;

/// Buffers.
#[derive(Debug, Default)]
pub(super) struct Dense {
    n: usize,
    W: Vec<f64>,
    A: Vec<f64>,
    q: Vec<f64>,
    p: Vec<f64>,
    step: Vec<f64>,
    trial: Vec<f64>,
    u: Vec<f64>,
    kept: Vec<f64>,
    s: Vec<f64>,
    best: Vec<Vec3>,
    unit: Vec<f64>,
}

impl ContactWork {
    /// Solves a small island. Returns how far a sweep behind it moves a relative velocity; never more than `before`.
    pub(super) fn solve_dense(&mut self, range: Range<usize>, before: f64, tolerance: f64) -> Option<f64> {
        let contacts = &mut self.contacts[range];
        if contacts.len() > MOST || contacts.iter().any(|c| c.spin != NONE) {
            return None;
        }
        let mut x = std::mem::take(&mut self.field.x);
        let moved = self.dense.search(&self.field, &mut x, contacts, before, tolerance);
        self.field.x = x;
        Some(moved)
    }
}

/// Impulses take new values, and velocities go with them.
fn set(field: &Field, x: &mut [f64], contacts: &mut [Contact], new: impl Fn(usize) -> Vec3) {
    for (k, c) in contacts.iter_mut().enumerate() {
        let change = new(k) - c.impulse;
        field.push(x, c, &change);
        c.impulse = new(k);
    }
}

impl Dense {
    fn search(
        &mut self,
        field: &Field,
        x: &mut [f64],
        contacts: &mut [Contact],
        before: f64,
        tolerance: f64,
    ) -> f64 {
        self.assemble(field, x, contacts);
        self.best.clear();
        self.best.extend(contacts.iter().map(|c| c.impulse));
        let (mut best, mut patience) = (before, 2);
        for _ in 0..ROUNDS {
            self.round(contacts);
            let p = std::mem::take(&mut self.p);
            set(field, x, contacts, |k| triple(&p, k));
            self.p = p;
            let moved = contacts.iter_mut().map(|c| visit(field, x, c)).fold(0.0, f64::max);
            if moved < best {
                best = moved;
                self.best.iter_mut().zip(&*contacts).for_each(|(p, c)| *p = c.impulse);
            } else {
                patience -= 1;
            }
            if best <= tolerance || patience == 0 {
                break;
            }
            self.p.as_chunks_mut::<3>().0.iter_mut().zip(&*contacts).for_each(|(p, c)| *p = c.impulse.into());
        }
        let best_impulses = std::mem::take(&mut self.best);
        set(field, x, contacts, |k| best_impulses[k]);
        self.best = best_impulses;
        best
    }

    /// W and q = u − target − W p.
    fn assemble(&mut self, field: &Field, x: &[f64], contacts: &[Contact]) {
        let n = 3 * contacts.len();
        self.n = n;
        for list in [&mut self.q, &mut self.p, &mut self.step, &mut self.trial, &mut self.u, &mut self.kept] {
            list.clear();
            list.resize(n, 0.0);
        }
        self.W.resize(n * n, 0.0);
        self.A.resize(n * n, 0.0);
        self.s.resize(contacts.len(), 0.0);
        self.unit.clear();
        self.unit.resize(x.len(), 0.0);
        for (j, c) in contacts.iter().enumerate() {
            for k in 0..3 {
                let e = Vec3::ith(k, 1.0);
                field.push(&mut self.unit, c, &e);
                for (i, other) in contacts.iter().enumerate() {
                    let u = field.relative(&self.unit, other);
                    (0..3).for_each(|r| self.W[(3 * i + r) * n + 3 * j + k] = u[r]);
                }
                field.clear_push(&mut self.unit, c);
            }
        }
        for (i, c) in contacts.iter().enumerate() {
            // The own block with softness and floor.
            for r in 0..3 {
                for k in 0..3 {
                    self.W[(3 * i + r) * n + 3 * i + k] = c.W[(r, k)];
                }
                self.p[3 * i + r] = c.impulse[r];
            }
        }
        for (i, c) in contacts.iter().enumerate() {
            let soft = (c.softness * c.normal.dot(&c.impulse)) * c.normal;
            let u = field.relative(x, c) - c.target + soft;
            for r in 0..3 {
                self.q[3 * i + r] = u[r] - dot(&self.W[(3 * i + r) * n..(3 * i + r + 1) * n], &self.p);
            }
        }
    }

    /// u = W p + q for a list of impulses.
    fn velocities(&self, p: &[f64], u: &mut [f64]) {
        for (i, u) in u.iter_mut().enumerate() {
            *u = self.q[i] + dot(&self.W[i * self.n..(i + 1) * self.n], p);
        }
    }

    /// Where contact k aims, given u.
    fn aim(&self, k: usize, c: &Contact, u: &[f64]) -> Vec3 {
        triple(&self.kept, k) - stiffness(c) * (triple(u, k) + self.s[k] * c.normal)
    }

    fn merit(&self, contacts: &[Contact], p: &[f64], u: &[f64]) -> f64 {
        let mut sum = 0.0;
        for i in 0..self.n {
            sum += 0.5 * p[i] * (u[i] - self.q[i]);
        }
        for (k, c) in contacts.iter().enumerate() {
            let to = project(&self.aim(k, c, u), &c.normal, c.friction).0;
            sum += 0.5 * to.norm_squared() / stiffness(c);
        }
        sum
    }

    /// One outer round.
    fn round(&mut self, contacts: &[Contact]) {
        let n = self.n;
        let mut u = std::mem::take(&mut self.u);
        self.velocities(&self.p, &mut u);
        for (k, c) in contacts.iter().enumerate() {
            let own = triple(&u, k);
            self.s[k] = c.friction * (own - c.normal.dot(&own) * c.normal).norm();
        }
        self.kept.copy_from_slice(&self.p);
        let mut last = f64::INFINITY;
        for newton in 0..NEWTON {
            let mut size = 0.0f64;
            for (k, c) in contacts.iter().enumerate() {
                let aim = self.aim(k, c, &u);
                // The first step trusts the impulses that are there to say which contacts stick, slip and part.
                let (to, slope) = if newton == 0 {
                    trusted(&triple(&self.kept, k), &aim, &c.normal, c.friction)
                } else {
                    project(&aim, &c.normal, c.friction)
                };
                let D: Mat3 = stiffness(c) * slope;
                for r in 0..3 {
                    let row = 3 * k + r;
                    self.step[row] = to[r] - self.p[row];
                    size = size.max(self.step[row].abs());
                    let (A, W) = (&mut self.A[row * n..(row + 1) * n], &self.W);
                    A.fill(0.0);
                    for m in 0..3 {
                        let d = D[(r, m)];
                        if d != 0.0 {
                            let from = &W[(3 * k + m) * n..(3 * k + m + 1) * n];
                            A.iter_mut().zip(from).for_each(|(a, w)| *a += d * w);
                        }
                    }
                    A[row] += 1.0;
                }
            }
            let largest = self.p.iter().fold(0.0f64, |m, p| m.max(p.abs()));
            if size <= 1e-14 * largest || !self.eliminate() {
                break;
            }
            let slack = if last.is_finite() { 1e-12 * last.abs() } else { 0.0 };
            let (mut part, mut better) = (1.0, false);
            for _ in 0..20 {
                for i in 0..n {
                    self.trial[i] = self.p[i] + part * self.step[i];
                }
                self.velocities(&self.trial, &mut u);
                let now = self.merit(contacts, &self.trial, &u);
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
            if part == 1.0 && newton > 0 && moved <= 1e-10 * largest {
                break;
            }
        }
        // Onto the cones.
        self.velocities(&self.p, &mut u);
        for (k, c) in contacts.iter().enumerate() {
            let to = project(&self.aim(k, c, &u), &c.normal, c.friction).0;
            (0..3).for_each(|r| self.trial[3 * k + r] = to[r]);
        }
        std::mem::swap(&mut self.p, &mut self.trial);
        self.u = u;
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
