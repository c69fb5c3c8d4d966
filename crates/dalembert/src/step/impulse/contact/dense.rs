//! A few contacts, all at once, whatever answers to them: Newton's method in their impulses.
//!
//! The same augmented Lagrangian as in [`super::direct`], seen from the other side: with all answers gathered in one dense
//! matrix, u = W p + q, an outer round solves
//!
//! $$ p = P\big(p_k - \rho\,(W p + q + s n)\big), \qquad (1 + D\,W)\,\Delta p = P - p =: e, \qquad D = \rho\,\partial P. $$
//!
//! D is a sum $C C^T$ over a few axes of each unit: three where it sticks, two where it slips, none where it parts. With
//! $e = C a + e_\perp$, the part of e along the axes and the rest,
//!
//! $$ \Delta p = e_\perp + C y, \qquad (1 + C^T W C)\,y = a - C^T W e_\perp, $$
//!
//! symmetric, positive definite and as small as there are axes, however the contacts depend on each other. Bodies
//! among joints and robots are no different from bodies by themselves.
//!
//! Three kinds of units share one solve: contacts, P onto Coulomb's cone; spin friction, P onto an interval about the normal
//! and a disc across it, as large as the contact presses; rows of robots with bounds (dry friction and limits of joints), P
//! onto an interval. The function that a round makes least has the term $P\cdot(y - \tfrac12 P)/\rho$ of each unit, with
//! y the argument of P: by Moreau the slope of it is P, for any convex set.
//!
//! Every full step of Newton's method is looked at by the rule that counts, how far the velocity of each contact is from
//! what Coulomb's law allows: where the impulses of the step before tell who sticks, slips and parts, one step is all.

use std::ops::Range;

use super::direct::{CLIMB, SOFT, STIFF};
use super::lanes::Lanes;
use super::rest::Four;
use super::sweep::Contact;
use super::swift::Swift;
use super::units::{Parts, Unit};
use super::{ContactWork, NONE};
use crate::math::{Mat3, Vec3, set_triple, triple};
use crate::model::Model;

/// Most unknowns.
pub(super) const MOST: usize = 150;
const ROUNDS: u32 = 12;
const NEWTON: u32 = 20;
/// Steps of Newton's method while the impulses of the step before are believed.
const TRUSTED: u32 = 6;
/// Rounds that make nothing better before the search ends.
const PATIENCE: u32 = 2;
/// Swift steps that failed are tried again where there is less than this part of what was left then.
const NEARER: f64 = 0.3;
/// The same for a search that begins with nothing.
const MOST_ANEW: usize = 60;
const ROUNDS_ANEW: u32 = 40;
const PATIENCE_ANEW: u32 = 16;

/// An axis of D: the first unknown of its unit, and c.
#[derive(Debug, Clone, Copy)]
struct Axis {
    at: usize,
    c: [f64; 3],
}

/// Where a unit whose one side is a link has its columns: cluster, W and stride; sign; first unknown; column.
#[derive(Debug, Clone, Copy)]
struct Placed {
    cluster: [u32; 3],
    sign: f64,
    at: usize,
    column: usize,
}

/// How a row of a cluster becomes a row of unknowns.
#[derive(Debug, Default)]
struct Signs {
    /// Signs of all columns, where these are the unknowns in their order; empty otherwise.
    fours: Vec<[f64; 4]>,
    /// Otherwise the first of each run of columns, and how many it has.
    runs: Vec<(Placed, usize)>,
}

impl Signs {
    /// `sign` times a row of a cluster, into a row of unknowns. What follows there up to the next four is written later.
    #[inline(always)]
    fn copy(&self, sign: f64, from: &[f64], to: &mut [f64]) {
        if self.fours.is_empty() {
            for (run, len) in &self.runs {
                let (from, to, sign) = (&from[run.column..], &mut to[run.at..], sign * run.sign);
                to.iter_mut().zip(&from[..*len]).for_each(|(to, from)| *to = sign * from);
            }
            return;
        }
        let (from, to, sign) = (from.as_chunks::<4>().0, to.as_chunks_mut::<4>().0, Lanes::splat(sign));
        for ((to, from), own) in to.iter_mut().zip(from).zip(&self.fours) {
            *to = (sign * Lanes::from(*own) * Lanes::from(*from)).to_array();
        }
    }
}

/// Buffers.
#[derive(Debug, Default)]
pub(super) struct Dense {
    pub(super) n: usize,
    /// Unknowns to the next multiple of four: lists have so many numbers, zeros at their ends, and W so many rows and columns.
    pub(super) wide: usize,
    /// What there is, and its first unknown.
    pub(super) units: Vec<(Unit, usize)>,
    /// Symmetric. Four numbers follow the last row, so that each three can be read as a four.
    pub(super) W: Vec<f64>,
    q: Vec<f64>,
    pub(super) p: Vec<f64>,
    step: Vec<f64>,
    trial: Vec<f64>,
    /// W p + q of p, and of the trial.
    pub(super) u: Vec<f64>,
    trial_u: Vec<f64>,
    kept: Vec<f64>,
    /// All contacts, if none has spin friction.
    fours: Vec<Four>,
    /// ρ of each unit.
    rho: Vec<f64>,
    /// μ|u_t| of contacts; how far each presses.
    s: Vec<f64>,
    pressed: Vec<f64>,
    best: Vec<f64>,
    unit: Vec<f64>,
    axes: Vec<Axis>,
    /// Of units whose one side is a link.
    columns: Vec<Placed>,
    signs: Signs,
    /// CᵀW, four numbers more a row than W; then the factor of 1 + CᵀWC, the upper half; y.
    V: Vec<f64>,
    G: Vec<f64>,
    y: Vec<f64>,
    stiff: f64,
    /// How far s follows the velocities from round to round, 0 to 1.
    blend: f64,
    pub(super) tolerance: f64,
    /// How far a velocity is from what its law allows at p.
    pub(super) left: f64,
    swift: Swift,
    /// Nothing but links touches; then what impulses and angular impulses of contacts changed by, and those of rows.
    links: bool,
    pub(super) changes: Vec<[Vec3; 2]>,
    pub(super) row_changes: Vec<f64>,
}

/// y += a x. By fours, since most lists here are shorter than what a compiler thinks worth its while.
#[inline(always)]
fn add(y: &mut [f64], a: f64, x: &[f64]) {
    let n = y.len().min(x.len());
    let ((y4, y), (x4, x)) = (y[..n].as_chunks_mut::<4>(), x[..n].as_chunks::<4>());
    for (y, x) in y4.iter_mut().zip(x4) {
        *y = Lanes::splat(a).mul_add(Lanes::from(*x), Lanes::from(*y)).to_array();
    }
    y.iter_mut().zip(x).for_each(|(y, x)| *y = a.mul_add(*x, *y));
}

/// y += a W x, four rows of W at a time; there are as many as y has numbers, a multiple of four.
#[inline(always)]
fn add_times(y: &mut [f64], a: f64, W: &[f64], x: &[f64]) {
    let fours = y.len() / 4;
    let ((y, _), (W, _), (x, _)) = (y.as_chunks_mut::<4>(), W.as_chunks::<4>(), x.as_chunks::<4>());
    for (rows, x) in W.chunks_exact(4 * fours).zip(x).filter(|(_, x)| **x != [0.0; 4]) {
        let x = x.map(|x| Lanes::splat(a * x));
        let row = |i: usize| &rows[i * fours..(i + 1) * fours];
        for ((((y, a), b), c), d) in y.iter_mut().zip(row(0)).zip(row(1)).zip(row(2)).zip(row(3)) {
            let mut sum = x[0].mul_add(Lanes::from(*a), Lanes::from(*y));
            sum = x[1].mul_add(Lanes::from(*b), sum);
            sum = x[2].mul_add(Lanes::from(*c), sum);
            *y = x[3].mul_add(Lanes::from(*d), sum).to_array();
        }
    }
}

/// Σ a b, four sums side by side.
#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a4, b4) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut sum = Lanes::ZERO;
    for (a, b) in a4.0.iter().zip(b4.0) {
        sum = Lanes::from(*a).mul_add(Lanes::from(*b), sum);
    }
    let sum = sum.to_array();
    let rest: f64 = a4.1.iter().zip(b4.1).map(|(a, b)| a * b).sum();
    (sum[0] + sum[1]) + (sum[2] + sum[3]) + rest
}

impl ContactWork {
    /// Solves a small island with the rows of its robots. Returns how far a relative velocity is from what
    /// its law allows; never more than `before`, which [`unrest_now`](Self::unrest_now) found if nothing has changed since: then
    /// its lists are taken too. Otherwise after [`load_rates`](Self::load_rates).
    pub(super) fn solve_dense(
        &mut self,
        range: Range<usize>,
        before: Option<f64>,
        tolerance: f64,
        model: &Model,
    ) -> Option<f64> {
        let mut dense = std::mem::take(&mut self.dense);
        if before.is_none() {
            dense.list(&self.contacts[range.clone()], &self.rows_at_hand);
        }
        let moved = (dense.n <= MOST).then(|| {
            self.know_blocks(range.clone(), model);
            let mut x = std::mem::take(&mut self.field.x);
            let Self { field, contacts, spins, bound_rows, .. } = self;
            let mut parts = Parts { field, contacts: &mut contacts[range.clone()], spins, rows: bound_rows };
            let before = before.unwrap_or_else(|| dense.begin(&parts, &x, &self.change));
            let moved = dense.search(&mut parts, &mut x, before, tolerance);
            if !dense.changes.is_empty() {
                let rows = std::mem::take(&mut self.rows_at_hand);
                self.add_changes(range, model, &dense.changes, &rows, &dense.row_changes, &mut x);
                self.rows_at_hand = rows;
            }
            self.field.x = x;
            moved
        });
        self.dense = dense;
        moved
    }

    /// [`solve_dense`](Self::solve_dense) where velocities have changed since.
    pub(super) fn solve_dense_anew(
        &mut self,
        range: Range<usize>,
        tolerance: f64,
        model: &Model,
    ) -> Option<f64> {
        self.load_rates(range.clone(), model);
        self.solve_dense(range, None, tolerance, model)
    }

    /// v_a − v_b of the contacts of an island as they are, into `change`.
    fn load_rates(&mut self, range: Range<usize>, model: &Model) {
        self.move_links(range.clone(), model);
        let mut rates = std::mem::take(&mut self.change);
        rates.clear();
        rates.extend(range.map(|k| self.rate_of(model, &self.field.x, k)));
        self.change = rates;
    }

    /// How far the velocities of an island and of the rows at hand are from what their laws allow, as they are.
    pub(super) fn unrest_now(&mut self, range: Range<usize>, model: &Model) -> f64 {
        if self.contacts[range.clone()].iter().any(|c| c.spin != NONE) {
            // Turning is read from J.
            self.know_rows(range.clone(), model);
        }
        self.load_rates(range.clone(), model);
        let mut dense = std::mem::take(&mut self.dense);
        dense.list(&self.contacts[range.clone()], &self.rows_at_hand);
        let Self { field, contacts, spins, bound_rows, change: rates, .. } = self;
        let parts = Parts { field, contacts: &mut contacts[range], spins, rows: bound_rows };
        let worst = dense.begin(&parts, &field.x, rates);
        self.dense = dense;
        worst
    }
}

impl Dense {
    pub(super) fn list(&mut self, contacts: &[Contact], rows: &[u32]) {
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
        self.wide = self.n.next_multiple_of(4).max(4);
    }

    /// The numbers of unit i in a list; a row has one.
    pub(super) fn of(&self, list: &[f64], i: usize) -> Vec3 {
        let (unit, at) = self.units[i];
        if let Unit::Row(_) = unit { Vec3::new(list[at], 0.0, 0.0) } else { triple(&list[at..], 0) }
    }

    pub(super) fn dim(unit: Unit) -> usize {
        if let Unit::Row(_) = unit { 1 } else { 3 }
    }

    /// Impulses take new values, and velocities go with them; among links it is written down what changed.
    fn take(&mut self, parts: &mut Parts, x: &mut [f64], new: &[f64]) {
        if self.links {
            self.changes.resize(parts.contacts.len(), [Vec3::zeros(); 2]);
        }
        for i in 0..self.units.len() {
            let unit = self.units[i].0;
            let p = self.of(new, i);
            let change = p - parts.impulse(unit);
            match unit {
                Unit::Cone(k) if self.links => self.changes[k][0] = change,
                Unit::Spin(k) if self.links => self.changes[k][1] = change,
                Unit::Row(_) if self.links => self.row_changes.push(change.x),
                _ => parts.push(x, unit, &change),
            }
            parts.set(unit, p);
        }
    }

    /// Impulses and velocities of what is listed; `rates` are v_a − v_b of the contacts. Returns how far velocities are from what
    /// the laws allow.
    pub(super) fn begin(&mut self, parts: &Parts, x: &[f64], rates: &[Vec3]) -> f64 {
        let (n, wide) = (self.n, self.wide);
        for list in [&mut self.p, &mut self.u] {
            // The rest is written here.
            list.resize(wide, 0.0);
            list[n..].fill(0.0);
        }
        for &(unit, i) in &self.units {
            match unit {
                Unit::Cone(k) => {
                    set_triple(&mut self.p[i..], 0, &parts.contacts[k].impulse);
                    set_triple(&mut self.u[i..], 0, &(rates[k] + parts.off(unit)));
                }
                Unit::Spin(_) => {
                    set_triple(&mut self.p[i..], 0, &parts.impulse(unit));
                    set_triple(&mut self.u[i..], 0, &(parts.velocity(x, unit) + parts.off(unit)));
                }
                Unit::Row(k) => {
                    self.p[i] = parts.rows[k].impulse;
                    self.u[i] = parts.velocity(x, unit).x + parts.off(unit).x;
                }
            }
        }
        self.fours.clear();
        if parts.contacts.iter().all(|c| c.spin == NONE) {
            let fours = parts.contacts.chunks(4).enumerate();
            self.fours.extend(fours.map(|(i, four)| Four::new(four, 12 * i)));
        }
        self.unrest(parts, &self.p, &self.u)
    }

    /// Impulses that hold the laws within the tolerance, if they can be found, from those that it [began](Self::begin) with.
    /// `first` is how far velocities are from what the laws allow there; returns how far they are then.
    pub(super) fn search(&mut self, parts: &mut Parts, x: &mut [f64], first: f64, tolerance: f64) -> f64 {
        self.tolerance = tolerance;
        self.changes.clear();
        self.row_changes.clear();
        if first <= tolerance {
            return first;
        }
        self.assemble(parts, x.len());
        let mut swift = std::mem::take(&mut self.swift);
        swift.begin();
        let done = self.go_swiftly(parts, &mut swift, first);
        self.swift = swift;
        if done {
            let p = std::mem::take(&mut self.p);
            self.take(parts, x, &p);
            self.p = p;
            return self.left;
        }
        self.begin_rounds();
        let mut best = self.rounds(parts, first, first, false);
        if best > tolerance && self.n <= MOST_ANEW {
            best = self.rounds(parts, first, best, true);
        }
        let best_impulses = std::mem::take(&mut self.best);
        self.take(parts, x, &best_impulses);
        self.best = best_impulses;
        best
    }

    /// Room for rounds, and p as the best so far.
    fn begin_rounds(&mut self) {
        for list in [&mut self.step, &mut self.trial, &mut self.trial_u, &mut self.kept] {
            list.clear();
            list.resize(self.wide, 0.0);
        }
        for list in [&mut self.s, &mut self.pressed, &mut self.rho] {
            list.clear();
            list.resize(self.units.len(), 0.0);
        }
        self.best.clear();
        self.best.extend_from_slice(&self.p);
    }

    /// Outer rounds from p, or from nothing if `anew`: then s begins at zero, where the problem is convex, and follows the
    /// velocities by halves, so that slipping points which chase each other come to rest. Keeps the `best`, given how far
    /// that is from what the laws allow, and returns how far it is then.
    fn rounds(&mut self, parts: &Parts, first: f64, mut best: f64, anew: bool) -> f64 {
        let tolerance = self.tolerance;
        let (mut patience, mut stiffest) = (if anew { PATIENCE_ANEW } else { PATIENCE }, STIFF);
        self.stiff = if anew { SOFT } else { STIFF };
        self.blend = if anew { 0.0 } else { 1.0 };
        if anew {
            self.p.fill(0.0);
            self.s.fill(0.0);
            self.velocities_of_p();
        }
        // From p itself the swift steps did not get there.
        let mut tried = first;
        for k in 0..if anew { ROUNDS_ANEW } else { ROUNDS } {
            let done = self.round(parts, k == 0 && !anew);
            self.blend = if anew { 0.5 } else { 1.0 };
            // The sets may be known by now: a search that begins with nothing finds them long before it is near the law.
            let look = anew || self.left < NEARER * tried;
            if done && self.left > tolerance && look {
                let left = self.left;
                let mut swift = std::mem::take(&mut self.swift);
                if !self.go_swiftly(parts, &mut swift, left) {
                    (self.left, tried) = (left, left);
                }
                self.swift = swift;
            }
            let left = if done { self.left } else { f64::INFINITY };
            let better = left < best;
            if better {
                best = left;
                self.best.copy_from_slice(&self.p);
            }
            if best <= tolerance {
                break;
            }
            if k == 0 && !anew && !(left < 0.01 * first) {
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
                if !anew || !done {
                    self.p.copy_from_slice(&self.best);
                    self.velocities_of_p();
                }
            }
        }
        best
    }

    /// W and q = u − W p.
    fn assemble(&mut self, parts: &Parts, len: usize) {
        let (n, wide) = (self.n, self.wide);
        // All of it is written before it is read.
        self.W.resize(wide * wide + 4, 0.0);
        self.links = parts.only_links();
        if self.links {
            self.gather(parts);
        } else {
            self.probe(parts, len);
        }
        for column in n..wide {
            self.W[column..].iter_mut().step_by(wide).take(n).for_each(|w| *w = 0.0);
        }
        self.W[n * wide..].fill(0.0);
        for &(unit, i) in &self.units {
            // The own block has softness and floor.
            match unit {
                Unit::Cone(k) => {
                    let c = &parts.contacts[k];
                    for r in 0..3 {
                        let own = Vec3::new(c.W[(r, 0)], c.W[(r, 1)], c.W[(r, 2)]);
                        set_triple(&mut self.W[(i + r) * wide + i..], 0, &own);
                    }
                }
                Unit::Spin(_) => {}
                Unit::Row(k) => self.W[i * wide + i] = parts.rows[k].W,
            }
        }
        self.q.clear();
        self.q.extend_from_slice(&self.u);
        add_times(&mut self.q, -1.0, &self.W, &self.p);
    }

    /// W by unit impulses.
    fn probe(&mut self, parts: &Parts, len: usize) {
        let (n, wide) = (self.n, self.wide);
        self.unit.clear();
        self.unit.resize(len, 0.0);
        for &(unit, j) in &self.units {
            for k in 0..Self::dim(unit) {
                parts.push(&mut self.unit, unit, &Vec3::ith(k, 1.0));
                for &(other, i) in &self.units {
                    let u = parts.velocity(&self.unit, other);
                    (0..Self::dim(other)).for_each(|r| self.W[(i + r) * wide + j + k] = u[r]);
                }
                parts.clear_push(&mut self.unit, unit);
            }
        }
        for i in 0..n {
            for j in 0..i {
                let mean = 0.5 * (self.W[i * wide + j] + self.W[j * wide + i]);
                (self.W[i * wide + j], self.W[j * wide + i]) = (mean, mean);
            }
        }
    }

    /// W from those of the clusters, where all sides are links.
    fn gather(&mut self, parts: &Parts) {
        let wide = self.wide;
        if self.gather_one_tree(parts) {
            return;
        }
        self.W.fill(0.0);
        for (a, &(unit, i)) in self.units.iter().enumerate() {
            for &(other, j) in &self.units[..=a] {
                match (unit, other) {
                    (Unit::Row(a), Unit::Row(b)) => {
                        let (a, b) = (&parts.rows[a], &parts.rows[b]);
                        if a.first == b.first && a.len == b.len {
                            self.W[i * wide + j] = a.answer_of(parts.field, b);
                            self.W[j * wide + i] = self.W[i * wide + j];
                        }
                    }
                    (Unit::Row(a), _) => {
                        let row = &parts.rows[a];
                        for (sign, columns, column) in parts.links(other) {
                            if columns.first != row.first || columns.len != row.len {
                                continue;
                            }
                            let u = sign * row.moves(parts.field, columns, column);
                            for k in 0..3 {
                                self.W[i * wide + j + k] += u[k];
                                self.W[(j + k) * wide + i] += u[k];
                            }
                        }
                    }
                    _ => {
                        let mut block = Mat3::zeros();
                        for (s, at, row) in parts.links(unit) {
                            for (t, from, column) in parts.links(other) {
                                if at.first == from.first && at.len == from.len {
                                    block += (s * t) * parts.field.block(at, row, column);
                                }
                            }
                        }
                        for r in 0..3 {
                            for k in 0..3 {
                                self.W[(i + r) * wide + j + k] = block[(r, k)];
                                self.W[(j + k) * wide + i + r] = block[(r, k)];
                            }
                        }
                    }
                }
            }
        }
    }

    /// How rows of the cluster become rows of unknowns: columns that lie side by side here and there, with one sign, go together,
    /// and all of them where each is in its place.
    fn find_signs(&mut self) {
        let Signs { fours, runs } = &mut self.signs;
        fours.clear();
        runs.clear();
        if self.columns.iter().all(|c| c.at == c.column) {
            fours.resize((3 * self.columns.len()).div_ceil(4), [1.0; 4]);
            for c in &self.columns {
                fours.as_flattened_mut()[c.at..c.at + 3].fill(c.sign);
            }
            return;
        }
        let beside =
            |a: &Placed, b: &Placed| a.sign == b.sign && a.at + 3 == b.at && a.column + 3 == b.column;
        runs.extend(self.columns.chunk_by(beside).map(|run| (run[0], 3 * run.len())));
    }

    /// The same where each contact has one side, all in one cluster; false if it is otherwise.
    fn gather_one_tree(&mut self, parts: &Parts) -> bool {
        let wide = self.wide;
        self.columns.clear();
        for &(unit, at) in &self.units {
            if let Unit::Row(k) = unit {
                let row = &parts.rows[k];
                if row.beside == NONE || self.columns.first().is_none_or(|f| f.cluster[0] != row.first) {
                    return false;
                }
                continue;
            }
            let mut links = parts.links(unit);
            let Some((sign, columns, column)) = links.next() else { return false };
            let cluster = [columns.first, columns.W, columns.stride];
            if links.next().is_some() || self.columns.first().is_some_and(|f| f.cluster != cluster) {
                return false;
            }
            self.columns.push(Placed { cluster, sign, at, column: column as usize });
        }
        let list = &parts.field.numbers.list;
        self.find_signs();
        for &Placed { cluster: [_, W, stride], sign, at, column } in &self.columns {
            let (from, stride) = (W as usize + column * stride as usize, stride as usize);
            let from = list[from..from + 3 * stride].chunks_exact(stride);
            for (from, to) in from.zip(self.W[at * wide..(at + 3) * wide].chunks_exact_mut(wide)) {
                self.signs.copy(sign, from, to);
            }
        }
        // Rows come behind all contacts.
        for (a, &(unit, i)) in self.units.iter().enumerate() {
            let Unit::Row(k) = unit else { continue };
            let row = &parts.rows[k];
            let (above, own) = self.W.split_at_mut(i * wide);
            self.signs.copy(1.0, &list[row.beside as usize..], own);
            for &(other, j) in self.units[self.columns.len()..=a].iter() {
                if let Unit::Row(other) = other {
                    own[j] = row.answer_of(parts.field, &parts.rows[other]);
                }
            }
            above.chunks_exact_mut(wide).zip(&*own).for_each(|(above, w)| above[i] = *w);
        }
        true
    }

    /// u ← W p + q for a list of impulses.
    fn velocities(&self, p: &[f64], u: &mut [f64]) {
        u.copy_from_slice(&self.q);
        add_times(u, 1.0, &self.W, p);
    }

    pub(super) fn velocities_of_p(&mut self) {
        let mut u = std::mem::take(&mut self.u);
        self.velocities(&self.p, &mut u);
        self.u = u;
    }

    /// How far velocities are from what the laws allow, the farthest.
    pub(super) fn unrest(&self, parts: &Parts, p: &[f64], u: &[f64]) -> f64 {
        let (mut worst, mut pressed) = (0.0f64, 0.0);
        for left in self.fours.iter().flat_map(|four| four.unrest_squared(p, u)) {
            worst = if left.is_nan() { f64::INFINITY } else { worst.max(left) };
        }
        worst = worst.sqrt();
        let done = if self.fours.is_empty() { 0 } else { parts.contacts.len() };
        for (i, &(unit, _)) in self.units.iter().enumerate().skip(done) {
            let own = self.of(p, i);
            if let Unit::Cone(k) = unit {
                pressed = parts.contacts[k].normal.dot(&own).max(0.0);
            }
            let left = parts.unrest(unit, &self.of(u, i), &own, pressed);
            worst = if left.is_nan() { f64::INFINITY } else { worst.max(left) };
        }
        worst
    }

    /// Where unit i aims, given u.
    fn aim(&self, parts: &Parts, i: usize, u: &[f64]) -> Vec3 {
        let mut u = self.of(u, i);
        if let Unit::Cone(k) = self.units[i].0 {
            u += self.s[i] * parts.contacts[k].normal;
        }
        self.of(&self.kept, i) - self.rho[i] * u
    }

    fn merit(&self, parts: &Parts, p: &[f64], u: &[f64]) -> f64 {
        let mut sum = 0.0;
        for i in 0..self.n {
            sum += 0.5 * p[i] * (u[i] - self.q[i]);
        }
        for (i, (unit, _)) in self.units.iter().enumerate() {
            let y = self.aim(parts, i, u);
            let to = parts.project(*unit, &y, self.pressed[i]);
            sum += to.dot(&(y - 0.5 * to)) / self.rho[i];
        }
        sum
    }

    /// One outer round; false if Newton's method did not get there. Leaves p on its sets, u and what is `left` there.
    fn round(&mut self, parts: &Parts, trust: bool) -> bool {
        self.begin_round(parts);
        let (mut last, mut done) = (f64::INFINITY, false);
        for newton in 0..if trust { TRUSTED } else { NEWTON } {
            self.aim_all(parts, trust && newton == 0);
            let size = self.step.iter().fold(0.0f64, |m, d| m.max(d.abs()));
            let largest = self.p.iter().fold(0.0f64, |m, p| m.max(p.abs()));
            if size <= 1e-14 * largest {
                done = true;
                break;
            }
            if !self.newton() {
                break;
            }
            let slack = if last.is_finite() { 1e-12 * last.abs() } else { 0.0 };
            let (mut part, mut better) = (1.0, false);
            let mut u = std::mem::take(&mut self.trial_u);
            for _ in 0..20 {
                for i in 0..self.n {
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
            self.trial_u = u;
            if !better {
                break;
            }
            std::mem::swap(&mut self.p, &mut self.trial);
            std::mem::swap(&mut self.u, &mut self.trial_u);
            if part == 1.0 && self.look(parts) {
                return true;
            }
            let moved = self.step.iter().fold(0.0f64, |m, d| m.max(d.abs()));
            if part == 1.0 && newton > 0 && moved <= 1e-9 * largest {
                done = true;
                break;
            }
        }
        if done {
            // Onto the sets.
            for i in 0..self.units.len() {
                let (unit, at) = self.units[i];
                let to = parts.project(unit, &self.aim(parts, i, &self.u), self.pressed[i]);
                (0..Self::dim(unit)).for_each(|r| self.trial[at + r] = to[r]);
            }
            std::mem::swap(&mut self.p, &mut self.trial);
            self.velocities_of_p();
            self.left = self.unrest(parts, &self.p, &self.u);
        }
        done
    }

    /// s, p_k and ρ of a round.
    fn begin_round(&mut self, parts: &Parts) {
        let mut pressed = 0.0;
        for i in 0..self.units.len() {
            let (unit, own) = (self.units[i].0, self.of(&self.u, i));
            self.rho[i] = self.stiff * parts.weight(unit);
            match unit {
                Unit::Cone(k) => {
                    let c = &parts.contacts[k];
                    let now = c.friction * (own - c.normal.dot(&own) * c.normal).norm();
                    self.s[i] += self.blend * (now - self.s[i]);
                    pressed = c.normal.dot(&self.of(&self.p, i)).max(0.0);
                }
                // It follows its contact.
                Unit::Spin(_) => self.pressed[i] = pressed,
                Unit::Row(_) => {}
            }
        }
        self.kept.copy_from_slice(&self.p);
    }

    /// e = P − p into `step`, and the axes of D. With `trust` the impulses say who sticks and who parts, whatever the
    /// velocities are.
    fn aim_all(&mut self, parts: &Parts, trust: bool) {
        let mut axes = std::mem::take(&mut self.axes);
        axes.clear();
        for i in 0..self.units.len() {
            let (unit, at) = self.units[i];
            let (aim, rho) = (self.aim(parts, i, &self.u), self.rho[i]);
            let mut to = aim;
            let mut note = |c: Vec3, weight: f64| {
                let c = (rho * weight).sqrt() * c;
                if c.norm_squared() > 0.0 {
                    axes.push(Axis { at, c: c.into() });
                }
            };
            let known = self.of(&self.kept, i);
            let inside = |k: usize| {
                let (c, normal) = (&parts.contacts[k], parts.contacts[k].normal.dot(&known));
                (known - normal * c.normal).norm() < (1.0 - 1e-9) * c.friction * normal
            };
            match unit {
                Unit::Cone(_) if trust && known == Vec3::zeros() => to = known,
                Unit::Cone(k) if trust && inside(k) => (0..3).for_each(|k| note(Vec3::ith(k, 1.0), 1.0)),
                _ => to = parts.project_with_slope(unit, &aim, self.pressed[i], note),
            }
            (0..Self::dim(unit)).for_each(|r| self.step[at + r] = to[r] - self.p[at + r]);
        }
        self.axes = axes;
    }

    /// The impulses as they are, put onto their sets: true if the rule that counts is met, and then they stay there.
    fn look(&mut self, parts: &Parts) -> bool {
        let mut pressed = 0.0;
        for i in 0..self.units.len() {
            let (unit, at) = self.units[i];
            let p = parts.project(unit, &self.of(&self.p, i), pressed);
            if let Unit::Cone(k) = unit {
                pressed = parts.contacts[k].normal.dot(&p).max(0.0);
            }
            (0..Self::dim(unit)).for_each(|r| self.trial[at + r] = p[r]);
        }
        let mut u = std::mem::take(&mut self.trial_u);
        self.velocities(&self.trial, &mut u);
        self.trial_u = u;
        let left = self.unrest(parts, &self.trial, &self.trial_u);
        if left > self.tolerance {
            return false;
        }
        self.left = left;
        std::mem::swap(&mut self.p, &mut self.trial);
        std::mem::swap(&mut self.u, &mut self.trial_u);
        true
    }

    /// step ← Δp from e; false if the matrix is not positive definite.
    fn newton(&mut self) -> bool {
        let (wide, r) = (self.wide, self.axes.len());
        let Self { axes, V, G, y, step, W, .. } = self;
        y.clear();
        // a, and what is left of e.
        for Axis { at, c } in &*axes {
            let own: f64 = (0..3).map(|k| c[k] * step.get(at + k).map_or(0.0, |e| *e)).sum();
            let a = own / (c[0] * c[0] + c[1] * c[1] + c[2] * c[2]);
            y.push(a);
        }
        for (Axis { at, c }, a) in axes.iter().zip(&*y) {
            (0..3).filter(|k| c[*k] != 0.0).for_each(|k| step[at + k] -= a * c[k]);
        }
        // An axis may read two numbers behind the last.
        let stride = wide + 4;
        V.resize(r * stride, 0.0);
        for (Axis { at, c }, V) in axes.iter().zip(V.chunks_exact_mut(stride)) {
            V.fill(0.0);
            for k in (0..3).filter(|k| c[*k] != 0.0) {
                add(V, c[k], &W[(at + k) * wide..(at + k + 1) * wide]);
            }
        }
        G.resize(r * r, 0.0);
        for (i, V) in V.chunks_exact(stride).enumerate() {
            for (g, Axis { at, c }) in G[i * r + i..(i + 1) * r].iter_mut().zip(&axes[i..]) {
                let v = &V[*at..at + 3];
                *g = c[0] * v[0] + c[1] * v[1] + c[2] * v[2];
            }
            G[i * r + i] += 1.0;
            y[i] -= dot(&V[..wide], step);
        }
        if !factor(G, r) {
            return false;
        }
        solve(G, r, y);
        for (Axis { at, c }, y) in axes.iter().zip(&*y) {
            (0..3).filter(|k| c[*k] != 0.0).for_each(|k| step[at + k] += y * c[k]);
        }
        step.iter().all(|x| x.is_finite())
    }
}

/// G ← R with RᵀR = G, the upper half; false if a pivot is not positive.
fn factor(G: &mut [f64], n: usize) -> bool {
    for k in 0..n {
        let (above, below) = G.split_at_mut((k + 1) * n);
        let top = &mut above[k * n + k..];
        if !(top[0] > 0.0) {
            return false;
        }
        let scale = 1.0 / top[0].sqrt();
        top.iter_mut().for_each(|g| *g *= scale);
        for (i, row) in below.chunks_exact_mut(n).enumerate() {
            let f = top[i + 1];
            if f != 0.0 {
                add(&mut row[k + 1 + i..], -f, &top[i + 1..]);
            }
        }
    }
    true
}

/// y ← (RᵀR)⁻¹ y.
fn solve(R: &[f64], n: usize, y: &mut [f64]) {
    for k in 0..n {
        let row = &R[k * n + k..(k + 1) * n];
        y[k] /= row[0];
        let known = y[k];
        add(&mut y[k + 1..], -known, &row[1..]);
    }
    for k in (0..n).rev() {
        let row = &R[k * n + k..(k + 1) * n];
        y[k] = (y[k] - dot(&row[1..], &y[k + 1..])) / row[0];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_newton_solves_its_equation() {
        // Three units of three unknowns, one that sticks, one that slips, one row: (1 + D W) Δp = e.
        let (n, wide) = (7, 8);
        let root = |i: usize, m: usize| (1.7 * (i * n + m) as f64).sin();
        let mut dense = Dense { n, wide, ..Dense::default() };
        dense.W = vec![0.0; wide * wide];
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            dense.W[i * wide + j] = (0..n).map(|m| root(i, m) * root(j, m)).sum();
        }
        let axis = |at, c| Axis { at, c };
        dense.axes = vec![
            axis(0, [3.0, 0.0, 0.0]),
            axis(0, [0.0, 3.0, 0.0]),
            axis(0, [0.0, 0.0, 3.0]),
            axis(3, [0.6, 0.8, 0.0]),
            axis(3, [-0.4, 0.3, 0.0]),
            axis(6, [2.0, 0.0, 0.0]),
        ];
        let e: Vec<f64> = (0..n).map(|k| (k as f64).cos()).collect();
        dense.step = e.iter().copied().chain([0.0]).collect();
        assert!(dense.newton());
        let Wd: Vec<f64> =
            (0..n).map(|i| (0..n).map(|j| dense.W[i * wide + j] * dense.step[j]).sum()).collect();
        let mut left: Vec<f64> = (0..n).map(|i| dense.step[i] - e[i]).collect();
        for Axis { at, c } in &dense.axes {
            let own: f64 = (0..3).filter(|k| c[*k] != 0.0).map(|k| c[k] * Wd[at + k]).sum();
            (0..3).filter(|k| c[*k] != 0.0).for_each(|k| left[at + k] += own * c[k]);
        }
        assert!(left.iter().all(|l| l.abs() < 1e-11), "{left:?}");
    }
}
