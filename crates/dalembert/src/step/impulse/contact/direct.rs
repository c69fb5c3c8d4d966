//! Contacts of bodies by themselves, all at once: Newton's method on an augmented Lagrangian.
//!
//! Sweeps are slow where heavy things stand on light ones. There the law of all contacts, with $s = \mu|u_t|$ as it is
//! (De Saxcé and Feng 1998), is the minimum of a convex function of the velocities x,
//!
//! $$ \tfrac12 |x - v_{free}|_M^2 + \sum_c \frac{1}{2\rho_c} \big|P_K(y_c)\big|^2, \qquad
//!    y_c = p_c - \rho_c\,(u_c - \text{target} + s_c n), $$
//!
//! whose slope is $M(x - v_{free}) - \sum J^T P_K(y_c)$ and whose tangent is $M + \sum J^T \rho\,\partial P_K J$, sparse,
//! symmetric and positive definite: bodies are its nodes, contacts its edges. $p \leftarrow P_K(y)$ and s from the new
//! velocities are the outer rounds, each of which shrinks the error in a mode of W with eigenvalue λ by 1/(1 + ρλ): with ρ at
//! 10⁸ of 1/W a few are enough at any ratio of masses. The tangent is factored within its envelope, bodies numbered
//! breadth first (Cuthill and McKee 1969).
//!
//! Where the sets of contacts that stick, slip and part are known, as they are from step to step of things at rest, one
//! stiff round is all. Where they are not, a stiff function has a kink in every direction and Newton's method cuts its
//! steps to nothing: then the rounds begin soft, at ρ = 10/W, where many contacts change sets at once, and ρ grows thirty
//! times from round to round. A round that Newton's method does not finish counts for nothing, and the ones behind it
//! are softer.

use std::ops::Range;

use super::sweep::{Contact, Field, Side, unrest};
use super::{ContactWork, NONE};
use crate::math::rotation::skew;
use crate::math::{Mat3, Vec3, dot, triple};

/// ρ over 1/W: at most, of the first soft round, and how it grows.
pub(super) const STIFF: f64 = 1e8;
pub(super) const SOFT: f64 = 10.0;
pub(super) const CLIMB: f64 = 30.0;
const ROUNDS: u32 = 20;
/// Rounds that make nothing better before the search ends.
const PATIENCE: u32 = 3;
const NEWTON: u32 = 30;
/// Steps of Newton's method while the impulses of the step before are believed.
const TRUSTED: u32 = 8;
/// Most multiplications of one factorisation.
const DEAREST: f64 = 1.5e6;

/// Buffers.
#[derive(Debug, Default)]
pub(super) struct Direct {
    /// Slots of the bodies, in the order of elimination.
    bodies: Vec<u32>,
    /// Place of each slot in that list.
    local: Vec<u32>,
    /// Neighbours: pairs of slots.
    edges: Vec<(u32, u32)>,
    queue: Vec<u32>,
    /// Masses of the bodies.
    mass: Vec<(f64, Mat3)>,
    /// First column and place of each row of the envelope.
    first: Vec<usize>,
    row: Vec<usize>,
    values: Vec<f64>,
    step: Vec<f64>,
    trial: Vec<f64>,
    /// p of the outer round, s of each contact.
    p: Vec<Vec3>,
    s: Vec<f64>,
    /// The best impulses so far.
    best: Vec<Vec3>,
    /// ρ over 1/W of this round.
    stiff: f64,
    /// The largest that Newton's method can handle here.
    stiffest: f64,
}

/// The nearest point of the cone about n, and the slope there.
pub(super) fn project(y: &Vec3, n: &Vec3, mu: f64) -> (Vec3, Mat3) {
    let normal = n.dot(y);
    if mu == 0.0 {
        return if normal > 0.0 { (normal * n, n * n.transpose()) } else { (Vec3::zeros(), Mat3::zeros()) };
    }
    let across = y - normal * n;
    let size = across.norm();
    if size <= mu * normal {
        return (*y, Mat3::identity());
    }
    if mu * size <= -normal {
        return (Vec3::zeros(), Mat3::zeros());
    }
    let share = 1.0 / (1.0 + mu * mu);
    let t = across / size;
    let rim = n + mu * t;
    let along = share * (normal + mu * size);
    let turn = Mat3::identity() - n * n.transpose() - t * t.transpose();
    (along * rim, share * rim * rim.transpose() + (along * mu / size) * turn)
}

/// The nearest point of the cone about n alone: that of [`project`], to the last digit.
fn nearest(y: &Vec3, n: &Vec3, mu: f64) -> Vec3 {
    let normal = n.dot(y);
    if mu == 0.0 {
        return if normal > 0.0 { normal * n } else { Vec3::zeros() };
    }
    let across = y - normal * n;
    let size = across.norm();
    if size <= mu * normal {
        return *y;
    }
    if mu * size <= -normal {
        return Vec3::zeros();
    }
    let along = 1.0 / (1.0 + mu * mu) * (normal + mu * size);
    along * (n + mu * (across / size))
}

/// The projection of y, made linear about p.
pub(super) fn trusted(p: &Vec3, y: &Vec3, n: &Vec3, mu: f64) -> (Vec3, Mat3) {
    if *p == Vec3::zeros() {
        return (Vec3::zeros(), Mat3::zeros());
    }
    let (at, slope) = project(p, n, mu);
    (at + slope * (y - p), slope)
}

impl ContactWork {
    /// Solves an island by Newton's method if it is one of bodies by themselves and not too dear. Returns how far a sweep
    /// behind it moves a relative velocity; never more than the one `before`.
    pub(super) fn solve_direct(&mut self, range: Range<usize>, before: f64, tolerance: f64) -> Option<f64> {
        let plain = |c: &Contact| {
            let loose = c.sides.iter().all(|s| matches!(s, Side::Loose(_) | Side::World));
            loose && c.softness == 0.0 && c.spin == NONE
        };
        if !self.contacts[range.clone()].iter().all(plain) {
            return None;
        }
        let mut direct = std::mem::take(&mut self.direct);
        let moved = direct.prepare(&self.field, &self.contacts[range.clone()]).then(|| {
            let mut x = std::mem::take(&mut self.field.x);
            let moved =
                direct.search(&self.field, &self.free, &mut x, &mut self.contacts[range], before, tolerance);
            self.field.x = x;
            moved
        });
        self.direct = direct;
        moved
    }
}

impl Direct {
    /// Numbers the bodies and draws the envelope; false if it is too dear.
    fn prepare(&mut self, field: &Field, contacts: &[Contact]) -> bool {
        let slot = |s: &Side| if let Side::Loose(at) = s { Some(at / 6) } else { None };
        self.edges.clear();
        self.bodies.clear();
        for c in contacts {
            let ends = [slot(&c.sides[0]), slot(&c.sides[1])];
            self.bodies.extend(ends.iter().flatten());
            if let [Some(a), Some(b)] = ends {
                self.edges.push((a, b));
                self.edges.push((b, a));
            }
        }
        self.edges.sort_unstable();
        self.edges.dedup();
        self.bodies.sort_unstable();
        self.bodies.dedup();
        let n = self.bodies.len();
        self.local.resize(field.inverse.len(), NONE);
        self.bodies.iter().for_each(|b| self.local[*b as usize] = NONE);
        // Breadth first from the body that a walk from the first reaches last.
        let Some(&start) = self.bodies.first() else { return false };
        let far = self.walk(start);
        self.bodies.iter().for_each(|b| self.local[*b as usize] = NONE);
        self.walk(far);
        if self.queue.len() != n {
            return false;
        }
        std::mem::swap(&mut self.bodies, &mut self.queue);
        self.first.clear();
        self.row.clear();
        let (mut at, mut cost) = (0, 0.0);
        for (i, &body) in self.bodies.iter().enumerate() {
            let from = self.edges.partition_point(|e| e.0 < body);
            let low = self.edges[from..]
                .iter()
                .take_while(|e| e.0 == body)
                .map(|e| self.local[e.1 as usize] as usize)
                .fold(i, usize::min);
            for k in 0..6 {
                self.first.push(6 * low);
                self.row.push(at);
                at += 6 * i + k + 1 - 6 * low;
                cost += ((6 * (i - low) + k) as f64).powi(2);
            }
        }
        self.values.resize(at, 0.0);
        cost <= DEAREST
    }

    /// Numbers bodies breadth first; returns the last.
    fn walk(&mut self, start: u32) -> u32 {
        self.queue.clear();
        self.queue.push(start);
        self.local[start as usize] = 0;
        let mut at = 0;
        while at < self.queue.len() {
            let body = self.queue[at];
            at += 1;
            let from = self.edges.partition_point(|e| e.0 < body);
            for e in self.edges[from..].iter().take_while(|e| e.0 == body) {
                if self.local[e.1 as usize] == NONE {
                    self.local[e.1 as usize] = self.queue.len() as u32;
                    self.queue.push(e.1);
                }
            }
        }
        self.queue.last().copied().unwrap_or(start)
    }

    fn begin(&mut self, field: &Field, contacts: &[Contact]) {
        self.mass.clear();
        self.mass.extend(self.bodies.iter().map(|b| {
            let inverse = &field.inverse[*b as usize];
            (1.0 / inverse.mass, inverse.inertia.try_inverse().unwrap_or_else(Mat3::identity))
        }));
        self.p.clear();
        self.p.extend(contacts.iter().map(|c| c.impulse));
        self.s.clear();
        self.s.resize(contacts.len(), 0.0);
    }

    /// Outer rounds; the impulses that a sweep would change least are kept.
    fn search(
        &mut self,
        field: &Field,
        free: &[f64],
        x: &mut [f64],
        contacts: &mut [Contact],
        before: f64,
        tolerance: f64,
    ) -> f64 {
        self.begin(field, contacts);
        self.best.clear();
        self.best.extend(contacts.iter().map(|c| c.impulse));
        let unrest = |x: &[f64], contacts: &[Contact]| {
            contacts.iter().map(|c| unrest(field, x, c)).fold(0.0, f64::max)
        };
        let (mut best, mut patience) = (before, PATIENCE);
        (self.stiff, self.stiffest) = (STIFF, STIFF);
        for k in 0..ROUNDS {
            let done = self.round(field, free, x, contacts, k == 0);
            // The velocities that go with the impulses, to the last digit.
            self.settle(field, free, x, contacts);
            let left = if done { unrest(x, contacts) } else { f64::INFINITY };
            let better = left < best;
            if better {
                best = left;
                self.best.iter_mut().zip(&*contacts).for_each(|(p, c)| *p = c.impulse);
            }
            if best <= tolerance {
                break;
            }
            if k == 0 && !(left < 0.01 * before) {
                // The sets that the impulses tell are not those of the answer.
                self.stiff = SOFT;
            } else if !done {
                self.stiffest = (self.stiff / CLIMB).max(SOFT);
                self.stiff = self.stiffest;
            } else {
                self.stiff = (self.stiff * CLIMB).min(self.stiffest);
            }
            if !better && (!done || self.stiff >= self.stiffest) {
                patience -= 1;
                if patience == 0 {
                    break;
                }
            }
            if !better {
                contacts.iter_mut().zip(&self.best).for_each(|(c, p)| c.impulse = *p);
                self.settle(field, free, x, contacts);
            }
        }
        contacts.iter_mut().zip(&self.best).for_each(|(c, p)| c.impulse = *p);
        self.settle(field, free, x, contacts);
        best
    }

    /// One outer round: the least of the convex function, then new impulses. False if Newton's method did not get there.
    fn round(
        &mut self,
        field: &Field,
        free: &[f64],
        x: &mut [f64],
        contacts: &mut [Contact],
        trust: bool,
    ) -> bool {
        for ((c, p), s) in contacts.iter().zip(&mut self.p).zip(&mut self.s) {
            let u = field.relative(x, c) - c.target;
            let across = u - c.normal.dot(&u) * c.normal;
            *s = c.friction * across.norm();
            *p = c.impulse;
        }
        let mut last = self.merit(field, free, x, contacts);
        // The first step trusts the impulses that are there to say which contacts stick, slip and part.
        if trust {
            self.assemble(field, free, x, contacts, true);
        }
        if trust && self.factor() {
            self.solve();
            self.try_step(x, 1.0);
            let now = self.merit(field, free, &self.trial, contacts);
            if now < last {
                self.take_trial(x);
                last = now;
            }
        }
        let scale = self.fastest(free).max(self.fastest(x));
        let mut done = false;
        for _ in 0..if trust { TRUSTED } else { NEWTON } {
            self.assemble(field, free, x, contacts, false);
            if !self.factor() {
                break;
            }
            self.solve();
            // Rounding of the merit must not stop a step that is still news for the impulses.
            let slack = 1e-12 * last.abs();
            let (mut part, mut better) = (1.0, false);
            for _ in 0..20 {
                self.try_step(x, part);
                let now = self.merit(field, free, &self.trial, contacts);
                if now <= last + slack {
                    (last, better) = (now.min(last), true);
                    break;
                }
                part *= 0.5;
            }
            if !better {
                break;
            }
            self.take_trial(x);
            let size = self.step.iter().fold(0.0f64, |m, d| m.max(d.abs()));
            // What is left of a step this small is rounding.
            if part == 1.0 && size < 1e-10 * scale {
                done = true;
                break;
            }
        }
        for (k, c) in contacts.iter_mut().enumerate() {
            c.impulse = nearest(&self.aim(k, field, x, c), &c.normal, c.friction);
        }
        done
    }

    /// The velocities after a part of a step: those of the bodies of the island, since nobody reads the others. A scene may have
    /// many islands, and each may only cost what it is made of.
    fn try_step(&mut self, x: &[f64], part: f64) {
        self.trial.resize(x.len(), 0.0);
        for (i, b) in self.bodies.iter().enumerate() {
            let at = 6 * *b as usize;
            (0..6).for_each(|k| self.trial[at + k] = x[at + k] - part * self.step[6 * i + k]);
        }
    }

    /// Takes the velocities that were tried.
    fn take_trial(&self, x: &mut [f64]) {
        for b in &self.bodies {
            let own = 6 * *b as usize..6 * *b as usize + 6;
            x[own.clone()].copy_from_slice(&self.trial[own]);
        }
    }

    /// The largest velocity of a body.
    fn fastest(&self, x: &[f64]) -> f64 {
        let of = |b: &u32| x[6 * *b as usize..6 * *b as usize + 6].iter().fold(0.0f64, |m, v| m.max(v.abs()));
        self.bodies.iter().map(of).fold(0.0, f64::max)
    }

    /// ρ of a contact.
    fn stiffness(&self, c: &Contact) -> f64 {
        3.0 * self.stiff / c.W.trace()
    }

    /// y of a contact.
    fn aim(&self, k: usize, field: &Field, x: &[f64], c: &Contact) -> Vec3 {
        let u = field.relative(x, c) - c.target + self.s[k] * c.normal;
        self.p[k] - self.stiffness(c) * u
    }

    fn merit(&self, field: &Field, free: &[f64], x: &[f64], contacts: &[Contact]) -> f64 {
        let mut sum = 0.0;
        for (b, (mass, inertia)) in self.bodies.iter().zip(&self.mass) {
            let b = 2 * *b as usize;
            let (v, w) = (triple(x, b) - triple(free, b), triple(x, b + 1) - triple(free, b + 1));
            sum += 0.5 * mass * v.norm_squared() + 0.5 * w.dot(&(inertia * w));
        }
        for (k, c) in contacts.iter().enumerate() {
            let p = nearest(&self.aim(k, field, x, c), &c.normal, c.friction);
            sum += 0.5 * p.norm_squared() / self.stiffness(c);
        }
        sum
    }

    /// Slope into `step`, tangent into the envelope. With `trust` contacts stay on the piece of their law where the impulses
    /// of the outer round are.
    fn assemble(&mut self, field: &Field, free: &[f64], x: &[f64], contacts: &[Contact], trust: bool) {
        self.values.fill(0.0);
        self.step.clear();
        self.step.resize(6 * self.bodies.len(), 0.0);
        for i in 0..self.bodies.len() {
            let (b, (mass, inertia)) = (2 * self.bodies[i] as usize, self.mass[i]);
            let v = mass * (triple(x, b) - triple(free, b));
            let w = inertia * (triple(x, b + 1) - triple(free, b + 1));
            self.add_slope(i, &v, &w);
            self.add_block(i, 0, i, 0, &Mat3::from_diagonal_element(mass));
            self.add_block(i, 1, i, 1, &inertia);
        }
        for (k, c) in contacts.iter().enumerate() {
            let aim = self.aim(k, field, x, c);
            let (p, slope) = if trust {
                trusted(&self.p[k], &aim, &c.normal, c.friction)
            } else {
                project(&aim, &c.normal, c.friction)
            };
            if p == Vec3::zeros() && slope == Mat3::zeros() {
                // It parts, and nothing comes of it.
                continue;
            }
            let H = self.stiffness(c) * slope;
            let place = |s: usize| match c.sides[s] {
                Side::Loose(at) => Some(self.local[at as usize / 6] as usize),
                _ => None,
            };
            let ends = [place(0), place(1)];
            // u = v + ω × r = v − [r] ω: J = (1, −[r]) for a, its negative for b.
            let arms = c.arms.map(|r| skew(&r));
            for s in 0..2 {
                let Some(i) = ends[s] else { continue };
                let sign = if s == 0 { 1.0 } else { -1.0 };
                self.add_slope(i, &(-sign * p), &(-sign * c.arms[s].cross(&p)));
                for t in 0..2 {
                    let Some(j) = ends[t] else { continue };
                    if j > i {
                        continue;
                    }
                    let both = if s == t { 1.0 } else { -1.0 };
                    let blocks = [[H, -H * arms[t]], [arms[s] * H, -arms[s] * H * arms[t]]];
                    for (r, row) in blocks.iter().enumerate() {
                        for (q, block) in row.iter().enumerate() {
                            self.add_block(i, r, j, q, &(both * block));
                        }
                    }
                }
            }
        }
    }

    fn add_slope(&mut self, i: usize, v: &Vec3, w: &Vec3) {
        for k in 0..3 {
            self.step[6 * i + k] += v[k];
            self.step[6 * i + 3 + k] += w[k];
        }
    }

    /// Adds a 3×3 block below or on the diagonal.
    fn add_block(&mut self, i: usize, r: usize, j: usize, q: usize, block: &Mat3) {
        for a in 0..3 {
            let (row, column) = (6 * i + 3 * r + a, 6 * j + 3 * q);
            if column > row {
                continue;
            }
            let from = self.row[row] + column - self.first[row];
            let wide = (row + 1 - column).min(3);
            let own = self.values[from..from + wide].iter_mut();
            own.enumerate().for_each(|(b, value)| *value += block[(a, b)]);
        }
    }

    /// L Lᵀ within the envelope; false if a pivot is not positive.
    fn factor(&mut self) -> bool {
        let n = self.first.len();
        for i in 0..n {
            let (fi, ri) = (self.first[i], self.row[i]);
            for j in fi..=i {
                let (fj, rj) = (self.first[j], self.row[j]);
                let from = fi.max(fj);
                let (done, rest) = self.values.split_at_mut(ri);
                let own = &mut rest[..i - fi + 1];
                let known = if j == i {
                    dot(&own[..i - fi], &own[..i - fi])
                } else {
                    dot(&own[from - fi..j - fi], &done[rj + from - fj..rj + j - fj])
                };
                if j == i {
                    let pivot = own[i - fi] - known;
                    if !(pivot > 0.0) {
                        return false;
                    }
                    own[i - fi] = pivot.sqrt();
                } else {
                    own[j - fi] = (own[j - fi] - known) / done[rj + j - fj];
                }
            }
        }
        true
    }

    /// step ← (L Lᵀ)⁻¹ step.
    fn solve(&mut self) {
        let n = self.first.len();
        for i in 0..n {
            let (fi, ri) = (self.first[i], self.row[i]);
            let known = dot(&self.values[ri..ri + i - fi], &self.step[fi..i]);
            self.step[i] = (self.step[i] - known) / self.values[ri + i - fi];
        }
        for i in (0..n).rev() {
            let (fi, ri) = (self.first[i], self.row[i]);
            self.step[i] /= self.values[ri + i - fi];
            let y = self.step[i];
            for (x, l) in self.step[fi..i].iter_mut().zip(&self.values[ri..ri + i - fi]) {
                *x -= l * y;
            }
        }
    }

    /// x ← free velocities and what the impulses make of them.
    fn settle(&self, field: &Field, free: &[f64], x: &mut [f64], contacts: &[Contact]) {
        for b in &self.bodies {
            let at = 6 * *b as usize;
            x[at..at + 6].copy_from_slice(&free[at..at + 6]);
        }
        for c in contacts {
            field.push(x, c, &c.impulse);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_of_the_projection_is_that_of_its_values() {
        let n = Vec3::new(0.3, -0.5, 0.8).normalize();
        let mut kinds = [0; 3];
        for k in 0..200 {
            let t = k as f64;
            let y = Vec3::new((1.3 * t).sin(), (2.1 * t).cos(), (0.7 * t).sin() - 0.2);
            let mu = [0.0, 0.3, 1.2][k % 3];
            let (p, D) = project(&y, &n, mu);
            assert_eq!(nearest(&y, &n, mu), p);
            kinds[k % 3] += usize::from(p != Vec3::zeros());
            assert!((D - D.transpose()).norm() < 1e-14);
            for i in 0..3 {
                let e = 1e-6 * Vec3::ith(i, 1.0);
                let (a, b) = (project(&(y + e), &n, mu).0, project(&(y - e), &n, mu).0);
                assert!(((a - b) / 2e-6 - D.column(i)).norm() < 1e-6, "{k} {i}");
            }
        }
        assert!(kinds.iter().all(|k| *k > 10), "{kinds:?}");
    }
}
