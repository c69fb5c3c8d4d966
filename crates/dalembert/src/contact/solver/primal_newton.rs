//! Primal Newton on the augmented Lagrangian of all contacts of bodies by themselves (Alart and Curnier 1991; De Saxcé and Feng
//! 1998).
//!
//! Gauss–Seidel is slow where heavy things stand on light ones. With $s = \mu|u_t|$ held, the law of all contacts is the
//! minimum of a convex function of the velocities x,
//!
//! $$ \tfrac12 |x - v_{free}|_M^2 + \sum_c \frac{1}{2\rho_c} \big|P_K(y_c)\big|^2, \qquad
//!    y_c = p_c - \rho_c\,(u_c - \text{target} + s_c n), $$
//!
//! whose gradient is $M(x - v_{free}) - \sum J^T P_K(y_c)$ and whose Hessian is $M + \sum J^T \rho\,\partial P_K J$, sparse,
//! symmetric and positive definite: bodies are its nodes, contacts its edges. $p \leftarrow P_K(y)$ and s from the new
//! velocities are the outer rounds, each of which shrinks the error in a mode of W with eigenvalue λ by 1/(1 + ρλ): with ρ at
//! 10⁸ of 1/W a few are enough at any ratio of masses. The Hessian is factored within its envelope, bodies numbered
//! breadth first (Cuthill and McKee 1969).
//!
//! Where the sets of contacts that stick, slip and separate are known, as they are from step to step of things at rest, one
//! stiff round is all. Where they are not, a stiff function has a kink in every direction and line searches cut the
//! steps to nothing: then the rounds begin soft, at ρ = 10/W, where many contacts change sets at once, and ρ grows thirty
//! times from round to round. A round that Newton's method does not finish counts for nothing, and the ones behind it
//! are softer.

use super::Residual;
use super::penalty::{self, Penalty};
use crate::contact::problem::{Contact, IslandProblem};
use crate::contact::response::{NONE, Responder, Responses};
use crate::math::rotation::skew;
use crate::math::{Mat3, Vec3, dot, triple};
use crate::solve::cone;
use crate::solve::line_search::LineSearch;

/// Settings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tuning {
    pub(crate) penalty: penalty::Tuning,
    /// Outer rounds, and those that make nothing better before the search ends.
    pub(crate) rounds: u32,
    pub(crate) patience: u32,
    /// Newton steps of a round, and of the first while the impulses of the step before are believed.
    pub(crate) steps: u32,
    pub(crate) trusted_steps: u32,
    /// Newton's method stops at steps of this part of the fastest velocity: what is left is rounding.
    pub(crate) step_tolerance: f64,
    /// The sets that the impulses tell are wrong if the first round leaves more than this part of the residual.
    pub(crate) progress: f64,
    /// Most multiplications of one factorisation: dearer islands are left to sweeps.
    pub(crate) most_work: f64,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            penalty: penalty::Tuning::default(),
            rounds: 20,
            patience: 3,
            steps: 30,
            trusted_steps: 8,
            step_tolerance: 1e-10,
            progress: 0.01,
            most_work: 1.5e6,
        }
    }
}

/// Buffers.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
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
    penalty: Penalty,
}

/// The projection of y, linear about p.
fn linearized(p: &Vec3, y: &Vec3, n: &Vec3, mu: f64) -> (Vec3, Mat3) {
    if *p == Vec3::zeros() {
        return (Vec3::zeros(), Mat3::zeros());
    }
    let (at, jacobian) = cone::project_with_derivative(p, n, mu);
    (at + jacobian * (y - p), jacobian)
}

/// Solves an island if it is one of hard contacts of bodies by themselves and not too dear; the residual is never more than the
/// one `before`.
pub(crate) fn solve(
    island: &mut IslandProblem,
    x: &mut [f64],
    scratch: &mut Scratch,
    tuning: &Tuning,
    before: f64,
    tolerance: f64,
) -> Option<Residual> {
    let plain =
        |c: &Contact| c.sides.iter().all(Responder::is_body_or_world) && c.softness == 0.0 && c.spin == NONE;
    let applies = island.contacts.iter().all(plain)
        && scratch.prepare(island.responses, island.contacts, tuning.most_work);
    applies.then(|| scratch.search(island, x, tuning, before, tolerance))
}

impl Scratch {
    /// Numbers the bodies and draws the envelope; false if it is too dear.
    fn prepare(&mut self, responses: &Responses, contacts: &[Contact], most_work: f64) -> bool {
        let slot = |s: &Responder| if let Responder::Body(at) = s { Some(at / 6) } else { None };
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
        self.local.resize(responses.inverse.len(), NONE);
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
        cost <= most_work
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

    fn begin(&mut self, responses: &Responses, contacts: &[Contact]) {
        self.mass.clear();
        self.mass.extend(self.bodies.iter().map(|b| {
            let inverse = &responses.inverse[*b as usize];
            (1.0 / inverse.mass, inverse.inertia.try_inverse().unwrap_or_else(Mat3::identity))
        }));
        self.p.clear();
        self.p.extend(contacts.iter().map(|c| c.impulse));
        self.s.clear();
        self.s.resize(contacts.len(), 0.0);
    }

    /// Outer rounds; the impulses of the smallest residual are kept.
    fn search(
        &mut self,
        island: &mut IslandProblem,
        x: &mut [f64],
        tuning: &Tuning,
        before: f64,
        tolerance: f64,
    ) -> Residual {
        self.begin(island.responses, island.contacts);
        self.best.clear();
        self.best.extend(island.contacts.iter().map(|c| c.impulse));
        let (mut best, mut patience, mut rounds) = (before, tuning.patience, 0);
        self.penalty = Penalty::new(&tuning.penalty, false);
        while rounds < tuning.rounds {
            let first = rounds == 0;
            rounds += 1;
            let done = self.round(island, x, tuning, first);
            // The velocities that go with the impulses, to the last digit.
            self.settle(island, x);
            let residual = island.contacts.iter().map(|c| c.local_residual(island.responses, x));
            let left = if done { residual.fold(0.0, f64::max) } else { f64::INFINITY };
            let better = left < best;
            if better {
                best = left;
                self.best.iter_mut().zip(&*island.contacts).for_each(|(p, c)| *p = c.impulse);
            }
            if best <= tolerance {
                break;
            }
            self.penalty.adapt(&tuning.penalty, first && !(left < tuning.progress * before), done);
            if better {
                continue;
            }
            if !done || self.penalty.is_at_most() {
                patience -= 1;
                if patience == 0 {
                    break;
                }
            }
            self.take_best(island, x);
        }
        self.take_best(island, x);
        Residual { iterations: rounds, left: best }
    }

    fn take_best(&self, island: &mut IslandProblem, x: &mut [f64]) {
        island.contacts.iter_mut().zip(&self.best).for_each(|(c, p)| c.impulse = *p);
        self.settle(island, x);
    }

    /// One outer round: the minimum of the convex function, then new impulses. False if Newton's method did not get there.
    fn round(&mut self, island: &mut IslandProblem, x: &mut [f64], tuning: &Tuning, trust: bool) -> bool {
        for ((c, p), s) in island.contacts.iter().zip(&mut self.p).zip(&mut self.s) {
            let u = c.relative_velocity(island.responses, x) - c.target;
            let across = u - c.normal.dot(&u) * c.normal;
            *s = c.friction * across.norm();
            *p = c.impulse;
        }
        let mut last = self.merit(island, x);
        // The first step trusts the impulses that are there to say which contacts stick, slip and separate.
        if trust {
            self.assemble(island, x, true);
        }
        if trust && self.factor() {
            self.solve();
            self.try_step(x, 1.0);
            let now = self.merit(island, &self.trial);
            if now < last {
                self.take_trial(x);
                last = now;
            }
        }
        let scale = self.fastest(island.free).max(self.fastest(x));
        let mut done = false;
        for _ in 0..if trust { tuning.trusted_steps } else { tuning.steps } {
            self.assemble(island, x, false);
            if !self.factor() {
                break;
            }
            self.solve();
            // Rounding of the merit must not stop a step that is still news for the impulses.
            let slack = 1e-12 * last.abs();
            let found = LineSearch::NO_RISE.search(last, 0.0, slack, |part| {
                self.try_step(x, part);
                self.merit(island, &self.trial)
            });
            let Some(found) = found else { break };
            last = found.value.min(last);
            self.take_trial(x);
            let size = self.step.iter().fold(0.0f64, |m, d| m.max(d.abs()));
            if found.part == 1.0 && size < tuning.step_tolerance * scale {
                done = true;
                break;
            }
        }
        for k in 0..island.contacts.len() {
            let c = &island.contacts[k];
            let impulse = cone::project(&self.argument(k, island, x), &c.normal, c.friction);
            island.contacts[k].impulse = impulse;
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
        3.0 * self.penalty.now / c.W.trace()
    }

    /// y of a contact.
    fn argument(&self, k: usize, island: &IslandProblem, x: &[f64]) -> Vec3 {
        let c = &island.contacts[k];
        let u = c.relative_velocity(island.responses, x) - c.target + self.s[k] * c.normal;
        self.p[k] - self.stiffness(c) * u
    }

    fn merit(&self, island: &IslandProblem, x: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (b, (mass, inertia)) in self.bodies.iter().zip(&self.mass) {
            let b = 2 * *b as usize;
            let (v, w) =
                (triple(x, b) - triple(island.free, b), triple(x, b + 1) - triple(island.free, b + 1));
            sum += 0.5 * mass * v.norm_squared() + 0.5 * w.dot(&(inertia * w));
        }
        for (k, c) in island.contacts.iter().enumerate() {
            let p = cone::project(&self.argument(k, island, x), &c.normal, c.friction);
            sum += 0.5 * p.norm_squared() / self.stiffness(c);
        }
        sum
    }

    /// Gradient into `step`, Hessian into the envelope. With `trust` contacts stay on the piece of their law where the impulses
    /// of the outer round are.
    fn assemble(&mut self, island: &IslandProblem, x: &[f64], trust: bool) {
        self.values.fill(0.0);
        self.step.clear();
        self.step.resize(6 * self.bodies.len(), 0.0);
        for i in 0..self.bodies.len() {
            let (b, (mass, inertia)) = (2 * self.bodies[i] as usize, self.mass[i]);
            let v = mass * (triple(x, b) - triple(island.free, b));
            let w = inertia * (triple(x, b + 1) - triple(island.free, b + 1));
            self.add_gradient(i, &v, &w);
            self.add_block(i, 0, i, 0, &Mat3::from_diagonal_element(mass));
            self.add_block(i, 1, i, 1, &inertia);
        }
        for (k, c) in island.contacts.iter().enumerate() {
            let y = self.argument(k, island, x);
            let (p, jacobian) = if trust {
                linearized(&self.p[k], &y, &c.normal, c.friction)
            } else {
                cone::project_with_derivative(&y, &c.normal, c.friction)
            };
            if p == Vec3::zeros() && jacobian == Mat3::zeros() {
                // It separates, and nothing comes of it.
                continue;
            }
            let H = self.stiffness(c) * jacobian;
            let place = |s: usize| match c.sides[s] {
                Responder::Body(at) => Some(self.local[at as usize / 6] as usize),
                _ => None,
            };
            let ends = [place(0), place(1)];
            // u = v + ω × r = v − [r] ω: J = (1, −[r]) for a, its negative for b.
            let arms = c.arms.map(|r| skew(&r));
            for s in 0..2 {
                let Some(i) = ends[s] else { continue };
                let sign = if s == 0 { 1.0 } else { -1.0 };
                self.add_gradient(i, &(-sign * p), &(-sign * c.arms[s].cross(&p)));
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

    fn add_gradient(&mut self, i: usize, v: &Vec3, w: &Vec3) {
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
    fn settle(&self, island: &IslandProblem, x: &mut [f64]) {
        for b in &self.bodies {
            let at = 6 * *b as usize;
            x[at..at + 6].copy_from_slice(&island.free[at..at + 6]);
        }
        for c in &*island.contacts {
            c.apply(island.responses, x, &c.impulse);
        }
    }
}
