//! The Delassus operator of a small island as one dense matrix: u = W p + q of all its unknowns.
//!
//! [`dual_newton`](super::dual_newton) and [`semismooth_newton`](super::semismooth_newton) work on it. Where nothing but links of
//! robots touches, W is copied from that of their trees, and what impulses do to the velocities is left to their half solves;
//! otherwise it is probed by unit impulses.

use super::contact_batch::ContactBatch;
use crate::contact::problem::{Contact, ConvexSet, IslandProblem};
use crate::contact::response::NONE;
use crate::math::simd::{Lanes, add_product};
use crate::math::{Mat3, Vec3, set_triple, triple};

/// Where a set whose one side is a link has its columns: trees, W and stride; sign; first unknown; column.
#[derive(Debug, Clone, Copy)]
struct Placed {
    trees: [u32; 3],
    sign: f64,
    at: usize,
    column: usize,
}

/// How a row of W of a robot's trees becomes a row of unknowns.
#[derive(Debug, Default)]
struct Signs {
    /// Signs of all columns, where these are the unknowns in their order; empty otherwise.
    fours: Vec<[f64; 4]>,
    /// Otherwise the first of each run of columns, and how many it has.
    runs: Vec<(Placed, usize)>,
}

impl Signs {
    /// `sign` times a row of W of the trees, into a row of unknowns. What follows there up to the next four is written later.
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

/// The unknowns of an island, u = W p + q, and where the search stands.
#[derive(Debug, Default)]
pub(crate) struct DenseDelassus {
    pub(crate) n: usize,
    /// Unknowns to the next multiple of four: lists have so many numbers, zeros at their ends, and W so many rows and columns.
    pub(crate) wide: usize,
    /// All sets, each with its first unknown.
    pub(crate) sets: Vec<(ConvexSet, usize)>,
    /// Symmetric. Four numbers follow the last row, so that each three can be read as a four.
    pub(crate) W: Vec<f64>,
    pub(crate) q: Vec<f64>,
    pub(crate) p: Vec<f64>,
    /// W p + q.
    pub(crate) u: Vec<f64>,
    /// The largest residual of a set at p \[m/s\], and the one that is good enough.
    pub(crate) residual: f64,
    pub(crate) tolerance: f64,
    /// All contacts, if none has spin friction.
    batches: Vec<ContactBatch>,
    unit: Vec<f64>,
    /// Of sets whose one side is a link.
    columns: Vec<Placed>,
    signs: Signs,
    /// Nothing but links touches; then what impulses and angular impulses of contacts changed by, and those of rows.
    links: bool,
    pub(crate) changes: Vec<[Vec3; 2]>,
    pub(crate) row_changes: Vec<f64>,
}

impl DenseDelassus {
    /// The unknowns of some contacts and rows.
    pub(crate) fn list(&mut self, contacts: &[Contact], rows: &[u32]) {
        self.sets.clear();
        self.n = 0;
        for (k, c) in contacts.iter().enumerate() {
            self.push(ConvexSet::Cone(k));
            if c.spin != NONE {
                self.push(ConvexSet::Spin(k));
            }
        }
        rows.iter().for_each(|k| self.push(ConvexSet::Row(*k as usize)));
        self.wide = self.n.next_multiple_of(4).max(4);
    }

    fn push(&mut self, set: ConvexSet) {
        self.sets.push((set, self.n));
        self.n += set.dim();
    }

    /// The numbers of set i in a list; a row has one.
    pub(crate) fn of(&self, list: &[f64], i: usize) -> Vec3 {
        let (set, at) = self.sets[i];
        if let ConvexSet::Row(_) = set { Vec3::new(list[at], 0.0, 0.0) } else { triple(&list[at..], 0) }
    }

    /// Impulses of the island take new values, and velocities go with them; among links it is written down what changed.
    pub(crate) fn write_back(&mut self, island: &mut IslandProblem, x: &mut [f64], new: &[f64]) {
        if self.links {
            self.changes.resize(island.contacts.len(), [Vec3::zeros(); 2]);
        }
        for i in 0..self.sets.len() {
            let set = self.sets[i].0;
            let p = self.of(new, i);
            let change = p - island.impulse(set);
            match set {
                ConvexSet::Cone(k) if self.links => self.changes[k][0] = change,
                ConvexSet::Spin(k) if self.links => self.changes[k][1] = change,
                ConvexSet::Row(_) if self.links => self.row_changes.push(change.x),
                _ => island.apply(x, set, &change),
            }
            island.set_impulse(set, p);
        }
    }

    /// Impulses and velocities of what is listed; `rates` are v_a − v_b of the contacts. Returns the residual.
    pub(crate) fn begin(&mut self, island: &IslandProblem, x: &[f64], rates: &[Vec3]) -> f64 {
        self.changes.clear();
        self.row_changes.clear();
        let (n, wide) = (self.n, self.wide);
        for list in [&mut self.p, &mut self.u] {
            // The rest is written here.
            list.resize(wide, 0.0);
            list[n..].fill(0.0);
        }
        for &(set, i) in &self.sets {
            match set {
                ConvexSet::Cone(k) => {
                    set_triple(&mut self.p[i..], 0, &island.contacts[k].impulse);
                    set_triple(&mut self.u[i..], 0, &(rates[k] + island.off(set)));
                }
                ConvexSet::Spin(_) => {
                    set_triple(&mut self.p[i..], 0, &island.impulse(set));
                    set_triple(&mut self.u[i..], 0, &(island.velocity(x, set) + island.off(set)));
                }
                ConvexSet::Row(k) => {
                    self.p[i] = island.rows[k].impulse;
                    self.u[i] = island.velocity(x, set).x + island.off(set).x;
                }
            }
        }
        self.batches.clear();
        if island.contacts.iter().all(|c| c.spin == NONE) {
            let batches = island.contacts.chunks(4).enumerate();
            self.batches.extend(batches.map(|(i, four)| ContactBatch::new(four, 12 * i)));
        }
        self.residual_of(island, &self.p, &self.u)
    }

    /// W and q = u − W p.
    pub(crate) fn assemble(&mut self, island: &IslandProblem, len: usize) {
        let (n, wide) = (self.n, self.wide);
        // All of it is written before it is read.
        self.W.resize(wide * wide + 4, 0.0);
        self.links = island.only_links();
        if self.links {
            self.gather(island);
        } else {
            self.probe(island, len);
        }
        for column in n..wide {
            self.W[column..].iter_mut().step_by(wide).take(n).for_each(|w| *w = 0.0);
        }
        self.W[n * wide..].fill(0.0);
        for &(set, i) in &self.sets {
            // The own block has softness and floor.
            match set {
                ConvexSet::Cone(k) => {
                    let c = &island.contacts[k];
                    for r in 0..3 {
                        let own = Vec3::new(c.W[(r, 0)], c.W[(r, 1)], c.W[(r, 2)]);
                        set_triple(&mut self.W[(i + r) * wide + i..], 0, &own);
                    }
                }
                ConvexSet::Spin(_) => {}
                ConvexSet::Row(k) => self.W[i * wide + i] = island.rows[k].W,
            }
        }
        self.q.clear();
        self.q.extend_from_slice(&self.u);
        add_product(&mut self.q, -1.0, &self.W, &self.p);
    }

    /// W by unit impulses.
    fn probe(&mut self, island: &IslandProblem, len: usize) {
        let (n, wide) = (self.n, self.wide);
        self.unit.clear();
        self.unit.resize(len, 0.0);
        for &(set, j) in &self.sets {
            for k in 0..set.dim() {
                island.apply(&mut self.unit, set, &Vec3::ith(k, 1.0));
                for &(other, i) in &self.sets {
                    let u = island.velocity(&self.unit, other);
                    (0..other.dim()).for_each(|r| self.W[(i + r) * wide + j + k] = u[r]);
                }
                island.clear(&mut self.unit, set);
            }
        }
        for i in 0..n {
            for j in 0..i {
                let mean = 0.5 * (self.W[i * wide + j] + self.W[j * wide + i]);
                (self.W[i * wide + j], self.W[j * wide + i]) = (mean, mean);
            }
        }
    }

    /// W from that of the trees, where all sides are links.
    fn gather(&mut self, island: &IslandProblem) {
        let wide = self.wide;
        if self.gather_one_tree(island) {
            return;
        }
        self.W.fill(0.0);
        for (a, &(set, i)) in self.sets.iter().enumerate() {
            for &(other, j) in &self.sets[..=a] {
                match (set, other) {
                    (ConvexSet::Row(a), ConvexSet::Row(b)) => {
                        let (a, b) = (&island.rows[a], &island.rows[b]);
                        if a.first == b.first && a.len == b.len {
                            self.W[i * wide + j] = a.response_to(island.responses, b);
                            self.W[j * wide + i] = self.W[i * wide + j];
                        }
                    }
                    (ConvexSet::Row(a), _) => {
                        let row = &island.rows[a];
                        for (sign, columns, column) in island.links(other) {
                            if columns.first != row.first || columns.len != row.len {
                                continue;
                            }
                            let u = sign * row.coupling_with(island.responses, columns, column);
                            for k in 0..3 {
                                self.W[i * wide + j + k] += u[k];
                                self.W[(j + k) * wide + i] += u[k];
                            }
                        }
                    }
                    _ => {
                        let mut block = Mat3::zeros();
                        for (s, at, row) in island.links(set) {
                            for (t, from, column) in island.links(other) {
                                if at.first == from.first && at.len == from.len {
                                    block += (s * t) * island.responses.block(at, row, column);
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

    /// How rows of W of the trees become rows of unknowns: columns that lie side by side here and there, with one sign, go together,
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

    /// The same where each contact has one side, all on the same trees; false if it is otherwise.
    fn gather_one_tree(&mut self, island: &IslandProblem) -> bool {
        let wide = self.wide;
        self.columns.clear();
        for &(set, at) in &self.sets {
            if let ConvexSet::Row(k) = set {
                let row = &island.rows[k];
                if row.coupling == NONE || self.columns.first().is_none_or(|f| f.trees[0] != row.first) {
                    return false;
                }
                continue;
            }
            let mut links = island.links(set);
            let Some((sign, columns, column)) = links.next() else { return false };
            let trees = [columns.first, columns.W, columns.stride];
            if links.next().is_some() || self.columns.first().is_some_and(|f| f.trees != trees) {
                return false;
            }
            self.columns.push(Placed { trees, sign, at, column: column as usize });
        }
        let list = &island.responses.numbers.list;
        self.find_signs();
        for &Placed { trees: [_, W, stride], sign, at, column } in &self.columns {
            let (from, stride) = (W as usize + column * stride as usize, stride as usize);
            let from = list[from..from + 3 * stride].chunks_exact(stride);
            for (from, to) in from.zip(self.W[at * wide..(at + 3) * wide].chunks_exact_mut(wide)) {
                self.signs.copy(sign, from, to);
            }
        }
        // Rows come behind all contacts.
        for (a, &(set, i)) in self.sets.iter().enumerate() {
            let ConvexSet::Row(k) = set else { continue };
            let row = &island.rows[k];
            let (above, own) = self.W.split_at_mut(i * wide);
            self.signs.copy(1.0, &list[row.coupling as usize..], own);
            for &(other, j) in self.sets[self.columns.len()..=a].iter() {
                if let ConvexSet::Row(other) = other {
                    own[j] = row.response_to(island.responses, &island.rows[other]);
                }
            }
            above.chunks_exact_mut(wide).zip(&*own).for_each(|(above, w)| above[i] = *w);
        }
        true
    }

    /// u ← W p + q for a list of impulses.
    pub(crate) fn velocities(&self, p: &[f64], u: &mut [f64]) {
        u.copy_from_slice(&self.q);
        add_product(u, 1.0, &self.W, p);
    }

    /// u ← W p + q.
    pub(crate) fn update_velocities(&mut self) {
        let mut u = std::mem::take(&mut self.u);
        self.velocities(&self.p, &mut u);
        self.u = u;
    }

    /// The largest residual of a set at impulses p with velocities u \[m/s\].
    pub(crate) fn residual_of(&self, island: &IslandProblem, p: &[f64], u: &[f64]) -> f64 {
        let (mut worst, mut pressed) = (0.0f64, 0.0);
        for own in self.batches.iter().flat_map(|batch| batch.residuals_squared(p, u)) {
            worst = if own.is_nan() { f64::INFINITY } else { worst.max(own) };
        }
        worst = worst.sqrt();
        let done = if self.batches.is_empty() { 0 } else { island.contacts.len() };
        for (i, &(set, _)) in self.sets.iter().enumerate().skip(done) {
            let p = self.of(p, i);
            if let ConvexSet::Cone(k) = set {
                pressed = island.contacts[k].normal.dot(&p).max(0.0);
            }
            let own = island.residual(set, &self.of(u, i), &p, pressed);
            worst = if own.is_nan() { f64::INFINITY } else { worst.max(own) };
        }
        worst
    }

    /// p onto its sets, with its velocities and residual; for islands without spin friction.
    pub(crate) fn project(&mut self, island: &IslandProblem) {
        for i in 0..self.sets.len() {
            let (set, at) = self.sets[i];
            let p = island.project(set, &self.of(&self.p, i), 0.0);
            (0..set.dim()).for_each(|r| self.p[at + r] = p[r]);
        }
        self.update_velocities();
        self.residual = self.residual_of(island, &self.p, &self.u);
    }
}
