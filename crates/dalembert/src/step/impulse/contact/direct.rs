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
//! steps to nothing: then the sets are found from inside the cones (see `inside`), and stiff rounds have the last word. If
//! that fails, the rounds begin soft, at ρ = 10/W, where many contacts change sets at once, and ρ grows thirty times from
//! round to round. A round that Newton's method does not finish counts for nothing, and the ones behind it are softer.
//!
//! A round need not be nearer to its least than a part of what is off anyway: what its slope M(x − v_free) − ΣJᵀp leaves
//! over is a change of velocities by M⁻¹ of it once impulses and velocities are matched.

use std::ops::Range;

use super::inside;
use super::sweep::{Contact, Field, Side, unrest};
use super::{ContactWork, NONE};
use crate::math::{Mat3, Vec3, add_triple, dot, triple};

/// ρ over 1/W: at most, of the first soft round, and how it grows.
pub(super) const STIFF: f64 = 1e8;
pub(super) const SOFT: f64 = 10.0;
pub(super) const CLIMB: f64 = 30.0;
const ROUNDS: u32 = 20;
/// Rounds that make nothing better before the search ends.
const PATIENCE: u32 = 3;
const NEWTON: u32 = 30;
/// Steps of Newton's method while the impulses of the step before are believed.
const TRUSTED: u32 = 4;
/// A round is solved to this part of what the one before it left.
const SHARE: f64 = 0.03;
/// What a search aims at, of the tolerance.
const GOAL: f64 = 0.1;
/// Impulses that are off by less than this part of what they were know which contacts stick, slip and part.
const SEEN: f64 = 0.01;
/// Looks along a step, and the part of its first slope that may be left.
const LOOKS: u32 = 10;
const FLAT: f64 = 0.1;
/// Most multiplications of one factorisation.
const DEAREST: f64 = 1.5e6;

/// Buffers.
#[derive(Debug, Default)]
pub(super) struct Direct {
    /// Slots of the bodies, in the order of elimination.
    pub(super) bodies: Vec<u32>,
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
    pub(super) step: Vec<f64>,
    /// The step as a change of the velocities of these bodies; other places are not read.
    pub(super) trial: Vec<f64>,
    /// p of the outer round, s of each contact.
    p: Vec<Vec3>,
    pub(super) s: Vec<f64>,
    /// u − target + s n of each contact, and its change along the step.
    pub(super) u: Vec<Vec3>,
    pub(super) du: Vec<Vec3>,
    /// Impulse of each contact at these velocities, and how it answers to them.
    pub(super) pull: Vec<Vec3>,
    pub(super) tangents: Vec<Mat3>,
    /// Of the way through the inside of the cones.
    pub(super) points: Vec<inside::Point>,
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
pub(super) fn nearest(y: &Vec3, n: &Vec3, mu: f64) -> Vec3 {
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
    pub(super) fn prepare(&mut self, field: &Field, contacts: &[Contact]) -> bool {
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

    pub(super) fn begin(&mut self, field: &Field, contacts: &[Contact]) {
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
        let mut trust = true;
        for k in 0..ROUNDS {
            let done = self.round(field, free, x, contacts, trust, (SHARE * best).max(GOAL * tolerance));
            trust = false;
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
            if k == 0 && !(left < SEEN * before) {
                // The sets that the impulses tell are not those of the answer.
                self.return_to_best(field, free, x, contacts);
                self.search_inside(field, free, x, contacts, before, GOAL * tolerance);
                self.settle(field, free, x, contacts);
                let left = unrest(x, contacts);
                if left < best {
                    best = left;
                    self.best.iter_mut().zip(&*contacts).for_each(|(p, c)| *p = c.impulse);
                }
                if best <= tolerance {
                    break;
                }
                self.return_to_best(field, free, x, contacts);
                trust = left < SEEN * before;
                self.stiff = if trust { STIFF } else { SOFT };
                continue;
            }
            if !done {
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
                self.return_to_best(field, free, x, contacts);
            }
        }
        self.return_to_best(field, free, x, contacts);
        best
    }

    /// The best impulses so far, and their velocities.
    fn return_to_best(&self, field: &Field, free: &[f64], x: &mut [f64], contacts: &mut [Contact]) {
        contacts.iter_mut().zip(&self.best).for_each(|(c, p)| c.impulse = *p);
        self.settle(field, free, x, contacts);
    }

    /// One outer round: the least of the convex function, then new impulses. It is found when what is left of its slope
    /// would move no body by more than `goal`; false if Newton's method did not get there.
    fn round(
        &mut self,
        field: &Field,
        free: &[f64],
        x: &mut [f64],
        contacts: &mut [Contact],
        trust: bool,
        goal: f64,
    ) -> bool {
        for ((c, p), s) in contacts.iter().zip(&mut self.p).zip(&mut self.s) {
            let u = field.relative(x, c) - c.target;
            let across = u - c.normal.dot(&u) * c.normal;
            *s = c.friction * across.norm();
            *p = c.impulse;
        }
        let scale = self.fastest(free).max(self.fastest(x));
        let mut done = false;
        // The first step trusts the impulses that are there to say which contacts stick, slip and part.
        let mut believe = trust;
        for _ in 0..if trust { TRUSTED } else { NEWTON } {
            self.look(field, x, contacts);
            self.answers(contacts, believe);
            self.slopes(free, x, contacts);
            if !believe && self.unbalanced(field) <= goal {
                done = true;
                break;
            }
            self.tangent(contacts);
            if !self.factor() {
                break;
            }
            self.solve();
            let size = self.step.iter().fold(0.0f64, |m, d| m.max(d.abs()));
            // What is left of a step this small is rounding.
            done = size < 1e-10 * scale;
            let part = if done { 1.0 } else { self.part(field, free, x, contacts) };
            for (i, b) in self.bodies.iter().enumerate() {
                let at = 6 * *b as usize;
                (0..6).for_each(|k| x[at + k] -= part * self.step[6 * i + k]);
            }
            if done || (part == 0.0 && !believe) {
                break;
            }
            believe = false;
        }
        self.look(field, x, contacts);
        for (k, c) in contacts.iter_mut().enumerate() {
            c.impulse = nearest(&self.aim(k, c), &c.normal, c.friction);
        }
        done
    }

    /// The largest velocity of a body.
    pub(super) fn fastest(&self, x: &[f64]) -> f64 {
        let of = |b: &u32| x[6 * *b as usize..6 * *b as usize + 6].iter().fold(0.0f64, |m, v| m.max(v.abs()));
        self.bodies.iter().map(of).fold(0.0, f64::max)
    }

    /// How much the slope at hand, as an impulse, would change the velocity of a body: the largest number.
    pub(super) fn unbalanced(&self, field: &Field) -> f64 {
        let of = |(i, b): (usize, &u32)| {
            let inverse = &field.inverse[*b as usize];
            let (v, w) = (inverse.mass * triple(&self.step, 2 * i), triple(&self.step, 2 * i + 1));
            v.amax().max((inverse.inertia * w).amax())
        };
        self.bodies.iter().enumerate().map(of).fold(0.0, f64::max)
    }

    /// ρ of a contact.
    fn stiffness(&self, c: &Contact) -> f64 {
        3.0 * self.stiff / c.W.trace()
    }

    /// u − target + s n of all contacts.
    fn look(&mut self, field: &Field, x: &[f64], contacts: &[Contact]) {
        self.u.clear();
        let all = contacts.iter().zip(&self.s);
        self.u.extend(all.map(|(c, s)| field.relative(x, c) - c.target + *s * c.normal));
    }

    /// y of a contact.
    fn aim(&self, k: usize, c: &Contact) -> Vec3 {
        self.p[k] - self.stiffness(c) * self.u[k]
    }

    /// How far to go along the step: where the function, of which along a line only a parabola and a sum over contacts are
    /// left, stops falling. Zero if it does not fall.
    fn part(&mut self, field: &Field, free: &[f64], x: &[f64], contacts: &[Contact]) -> f64 {
        self.trial.resize(x.len(), 0.0);
        let (mut linear, mut square) = (0.0, 0.0);
        for (i, (b, (mass, inertia))) in self.bodies.iter().zip(&self.mass).enumerate() {
            let at = 6 * *b as usize;
            (0..6).for_each(|k| self.trial[at + k] = -self.step[6 * i + k]);
            let b = 2 * *b as usize;
            let (dv, dw) = (triple(&self.trial, b), triple(&self.trial, b + 1));
            let (Pv, Pw) = (*mass * dv, inertia * dw);
            linear +=
                Pv.dot(&(triple(x, b) - triple(free, b))) + Pw.dot(&(triple(x, b + 1) - triple(free, b + 1)));
            square += 0.5 * (Pv.dot(&dv) + Pw.dot(&dw));
        }
        self.du.clear();
        self.du.extend(contacts.iter().map(|c| field.relative(&self.trial, c)));
        // Value and slope.
        let along = |a: f64| {
            let mut at = [a * (linear + a * square), linear + 2.0 * a * square];
            for (k, c) in contacts.iter().enumerate() {
                let stiff = self.stiffness(c);
                let y = self.p[k] - stiff * (self.u[k] + a * self.du[k]);
                let p = nearest(&y, &c.normal, c.friction);
                at[0] += 0.5 * p.norm_squared() / stiff;
                at[1] -= p.dot(&self.du[k]);
            }
            at
        };
        let [start, fall] = along(0.0);
        if !(fall < 0.0) {
            return 0.0;
        }
        // Rounding of the values must not stop a step that is still news for the impulses.
        let start = start + 1e-12 * start.abs();
        let (mut low, mut high) = ((0.0, fall), None);
        let mut a = 1.0;
        for _ in 0..LOOKS {
            let [value, slope] = along(a);
            if value <= start && slope <= FLAT * -fall && (slope >= FLAT * fall || a == 1.0) {
                return a;
            }
            if slope <= 0.0 {
                low = (a, slope);
            } else {
                high = Some((a, slope));
            }
            let Some(high) = high else { return a };
            // Where a straight slope between the two would be zero, but not at their very ends.
            let zero = low.0 + (high.0 - low.0) * (low.1 / (low.1 - high.1));
            let edge = 0.1 * (high.0 - low.0);
            a = zero.clamp(low.0 + edge, high.0 - edge);
        }
        low.0
    }

    /// Impulse and slope of each contact at the velocities that were looked at. With `trust` contacts stay on the piece of
    /// their law where the impulses of the outer round are.
    fn answers(&mut self, contacts: &[Contact], trust: bool) {
        self.pull.clear();
        self.tangents.clear();
        for (k, c) in contacts.iter().enumerate() {
            let aim = self.aim(k, c);
            let (p, slope) = if trust {
                trusted(&self.p[k], &aim, &c.normal, c.friction)
            } else {
                project(&aim, &c.normal, c.friction)
            };
            self.pull.push(p);
            self.tangents.push(self.stiffness(c) * slope);
        }
    }

    /// M (x − free) − Σ Jᵀp into `step`.
    pub(super) fn slopes(&mut self, free: &[f64], x: &[f64], contacts: &[Contact]) {
        self.step.clear();
        for (b, (mass, inertia)) in self.bodies.iter().zip(&self.mass) {
            let b = 2 * *b as usize;
            let v = *mass * (triple(x, b) - triple(free, b));
            let w = inertia * (triple(x, b + 1) - triple(free, b + 1));
            self.step.extend([v.x, v.y, v.z, w.x, w.y, w.z]);
        }
        for (c, p) in contacts.iter().zip(&self.pull) {
            for (side, (arm, p)) in c.sides.iter().zip(c.arms.iter().zip([-p, *p])) {
                if let Side::Loose(at) = side {
                    let i = 2 * self.local[*at as usize / 6] as usize;
                    add_triple(&mut self.step, i, &p);
                    add_triple(&mut self.step, i + 1, &arm.cross(&p));
                }
            }
        }
    }

    /// M + Σ JᵀHJ into the envelope.
    pub(super) fn tangent(&mut self, contacts: &[Contact]) {
        self.values.fill(0.0);
        for i in 0..self.bodies.len() {
            let (mass, inertia) = self.mass[i];
            let columns: [[f64; 6]; 6] = std::array::from_fn(|c| {
                std::array::from_fn(|r| match (r / 3, c / 3) {
                    (0, 0) if r == c => mass,
                    (1, 1) => inertia[(r - 3, c - 3)],
                    _ => 0.0,
                })
            });
            self.add_block(i, i, &columns, 1.0);
        }
        for (k, c) in contacts.iter().enumerate() {
            let H = self.tangents[k];
            if H == Mat3::zeros() {
                // It parts, and nothing comes of it.
                continue;
            }
            let place = |s: usize| match c.sides[s] {
                Side::Loose(at) => Some(self.local[at as usize / 6] as usize),
                _ => None,
            };
            let ends = [place(0), place(1)];
            for t in 0..2 {
                let Some(j) = ends[t] else { continue };
                // u = v + ω × r = v − [r] ω: J = (1, −[r]) for a, its negative for b. Columns of H J: those of H, and of
                // −H[r], whose rows are those of r × H.
                let turned: [Vec3; 3] = std::array::from_fn(|k| c.arms[t].cross(&H.column(k).into_owned()));
                let HJ: [Vec3; 6] = std::array::from_fn(|q| {
                    if q < 3 { H.column(q).into_owned() } else { Vec3::from_fn(|r, _| turned[r][q - 3]) }
                });
                for s in 0..2 {
                    let Some(i) = ends[s] else { continue };
                    if j > i {
                        continue;
                    }
                    let columns = HJ.map(|h| {
                        let m = c.arms[s].cross(&h);
                        [h.x, h.y, h.z, m.x, m.y, m.z]
                    });
                    self.add_block(i, j, &columns, if s == t { 1.0 } else { -1.0 });
                }
            }
        }
    }

    /// Adds a block of two bodies, given by columns, below or on the diagonal.
    fn add_block(&mut self, i: usize, j: usize, columns: &[[f64; 6]; 6], sign: f64) {
        for r in 0..6 {
            let row = 6 * i + r;
            let from = self.row[row] + 6 * j - self.first[row];
            let wide = if i == j { r + 1 } else { 6 };
            let own = self.values[from..from + wide].iter_mut();
            own.zip(columns).for_each(|(value, column)| *value += sign * column[r]);
        }
    }

    /// L Lᵀ within the envelope; false if a pivot is not positive.
    pub(super) fn factor(&mut self) -> bool {
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
    pub(super) fn solve(&mut self) {
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
