//! The linear system where all that moves are nodes: cloth, solids, rods, particles; conjugate gradients with symmetric
//! Gauss–Seidel in the form of Eisenstat (1981).
//!
//! $A = L + D + L^T$ over 3×3 blocks: inertia and forces, at places that are found once, all contacts that fall on these
//! places, and the *far* ones, between nodes that no force joins, at places of their own behind those of each row. Inertia
//! makes A well conditioned unless the material is very stiff, so conjugate gradients need few iterations, and Newton's
//! method needs few digits.
//!
//! **Symmetric Gauss-Seidel, at the price of one product** (Eisenstat 1981). The preconditioner is
//! $M = (D + L)D^{-1}(D + L)^T$, positive definite if D is. With $\hat r = (D + L)^{-1}r$ and $\hat x = (D + L)^T x$ the system is
//! $\hat A\hat x = \hat b$, preconditioned by $D^{-1}$, and since $A = (D + L) + (D + L)^T - D$,
//!
//! $$ \hat A p = t + (D + L)^{-1}(p - D t),\qquad t = (D + L)^{-T}p, $$
//!
//! which runs through each triangle once. $x$ grows by α t where x̂ grows by α p. $\rho = \hat r^T D\hat r = r^T M^{-1}r$ \[J\] tells
//! when to stop.

use super::potential::Potential;
use crate::collide::{HessianSink, Sym3};
use crate::contact::potential::Cached;
use crate::forces::TangentSink;
use crate::math::{Columns, Mat3, Row, Vec3, quad, row_of, set_triple};
use crate::model::{IpcModel, Model};
use crate::state::PointId;
use wide::f64x4;

/// No row: the block is held.
const HELD: u32 = u32::MAX;
/// Most iterations; where more are needed a factor is faster.
const MOST_ITERATIONS: u32 = 120;

/// A, and how it is solved.
#[derive(Debug, Default)]
pub(super) struct NodeSystem {
    /// Row of each block.
    row: Vec<u32>,
    rows: usize,
    /// The blocks that inertia and forces hand over, in their order, and where each goes.
    places: Vec<(u32, u32)>,
    slots: Vec<Slot>,
    /// L^T by rows, then D, then a place for what is held.
    start: Vec<u32>,
    columns: Vec<u32>,
    blocks: Vec<Columns>,
    /// L by rows: where each begins, its columns, and their places in L^T.
    lower_start: Vec<u32>,
    lower_columns: Vec<u32>,
    lower_place: Vec<u32>,
    /// L, but for the touched places; of an assembly.
    lower: Cached<Vec<Columns>>,
    /// Places of L^T in L.
    lower_of: Vec<u32>,
    /// D without contacts; the places of L^T that contacts were added to, with what they hold without them; and which they are.
    own: Vec<Columns>,
    touched: Vec<(u32, Columns)>,
    /// The removal of contacts after which a place was touched last, and how many there have been.
    touched_after: Vec<u64>,
    removals: u64,
    /// How often forces were assembled, and the iterate at which they were last.
    assemblies: u64,
    of: Option<u64>,
    inverse: Vec<Columns>,
    /// Far contacts as they come, one of each two mirror images: row, column, block, which is symmetric.
    far: Vec<(u32, u32, Columns)>,
    /// The same by rows, in L^T and in L.
    far_upper: FarRows,
    far_lower: FarRows,
    /// Least mass of a row \[kg\].
    pub least_mass: f64,
    r: Vec<Row>,
    x: Vec<Row>,
    p: Vec<Row>,
    t: Vec<Row>,
    w: Vec<Row>,
}

/// Symmetric blocks by rows: where each row begins, and column and block of each.
#[derive(Debug, Default)]
struct FarRows {
    start: Vec<u32>,
    blocks: Vec<(u32, Columns)>,
}

impl FarRows {
    /// Takes blocks in any order, each row in the order in which they come. `of` gives row and column.
    fn take(
        &mut self,
        rows: usize,
        list: &[(u32, u32, Columns)],
        of: impl Fn(&(u32, u32, Columns)) -> [u32; 2],
    ) {
        self.start.clear();
        self.start.resize(rows + 1, 0);
        self.blocks.clear();
        if list.is_empty() {
            return;
        }
        // Count, add up, and put each where its row goes on; then every row begins where the one before ends.
        list.iter().for_each(|b| self.start[of(b)[0] as usize] += 1);
        let mut next = 0;
        for start in &mut self.start {
            next += std::mem::replace(start, next);
        }
        self.blocks.resize(list.len(), (0, Columns::ZERO));
        for b in list {
            let [row, column] = of(b);
            self.blocks[self.start[row as usize] as usize] = (column, b.2);
            self.start[row as usize] += 1;
        }
        self.start.rotate_right(1);
        self.start[0] = 0;
    }

    /// sum += Σ N x over row r.
    #[inline(always)]
    fn times_plus(&self, r: usize, x: &[Row], sum: &mut [f64x4; 3]) {
        for (c, N) in &self.blocks[self.start[r] as usize..self.start[r + 1] as usize] {
            N.times_plus(&x[*c as usize], sum);
        }
    }
}

/// The place of a block in `blocks`, which has it as it is or its transpose.
#[derive(Debug, Clone, Copy)]
enum Slot {
    Same(u32),
    Transposed(u32),
}

impl Slot {
    #[inline(always)]
    fn add(self, K: &Columns, blocks: &mut [Columns]) {
        match self {
            Self::Same(at) => blocks[at as usize].plus(K),
            Self::Transposed(at) => blocks[at as usize].plus(&K.transposed()),
        }
    }
}

/// Where N blocks go.
type Slots<'a, const N: usize> = &'a [Slot; N];

/// Puts blocks to their places.
struct Filler<'a> {
    places: &'a [(u32, u32)],
    slots: &'a [Slot],
    blocks: &'a mut [Columns],
    /// How many have come, and how many of them were expected.
    count: usize,
    expected: usize,
}

impl<'a> Filler<'a> {
    /// Where the next N blocks are expected from and where they go; none if others come.
    #[inline(always)]
    fn next<const N: usize>(
        &mut self,
        pairs: impl Fn(usize) -> (u32, u32),
    ) -> Option<(Slots<'a, N>, &mut [Columns])> {
        let range = self.count..self.count + N;
        let places: Option<&[(u32, u32); N]> = self.places.get(range.clone()).and_then(|p| p.try_into().ok());
        let slots: Option<Slots<'a, N>> = self.slots.get(range).and_then(|s| s.try_into().ok());
        let same = places.is_some_and(|places| (0..N).all(|k| places[k] == pairs(k)));
        self.expected += if same { N } else { 0 };
        self.count += N;
        slots.filter(|_| same).map(|slots| (slots, &mut *self.blocks))
    }
}

/// Corners of the blocks of four points, and of three, with i ≤ j.
const OF_FOUR: [(usize, usize); 10] =
    [(0, 0), (0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)];
const OF_THREE: [(usize, usize); 6] = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)];

impl TangentSink for Filler<'_> {
    fn block(&mut self, i: usize, j: usize, K: &Mat3) {
        if let Some(([slot], blocks)) = self.next::<1>(|_| (i as u32, j as u32)) {
            slot.add(&Columns::of(K), blocks);
        }
    }

    fn rank_one(&mut self, points: [PointId; 4], k: f64, g: &[Vec3; 4]) {
        let (kg, g) = (g.map(|g| quad(&(k * g)).to_array()), g.map(|g| quad(&g)));
        let pairs = |k: usize| (points[OF_FOUR[k].0].0, points[OF_FOUR[k].1].0);
        if let Some((slots, blocks)) = self.next::<10>(pairs) {
            for ((i, j), slot) in OF_FOUR.into_iter().zip(slots) {
                match *slot {
                    Slot::Same(at) => blocks[at as usize].plus_outer(g[i], &kg[j]),
                    Slot::Transposed(at) => blocks[at as usize].plus_outer(g[j], &kg[i]),
                }
            }
        }
    }

    fn triangle(&mut self, points: [PointId; 3], upper: &[[[f64; 4]; 3]; 6]) {
        let pairs = |k: usize| (points[OF_THREE[k].0].0, points[OF_THREE[k].1].0);
        if let Some((slots, blocks)) = self.next::<6>(pairs) {
            for (K, slot) in upper.iter().zip(slots) {
                slot.add(&Columns(K.map(f64x4::new)), blocks);
            }
        }
    }
}

/// True if the model has nothing but nodes that move, and nothing but forces with an energy that act on them.
pub(super) fn only_nodes(model: &Model, ipc: &IpcModel) -> bool {
    let held = ipc.held.iter().filter(|h| **h).count();
    model.layout.nv == 3 * model.layout.particles
        && model.constraints.is_empty()
        && model.robots.is_empty()
        && ipc.rows.is_empty()
        && ipc.joints.terms.is_empty()
        && ipc.articulations.is_empty()
        && model.filters.len() <= held
        && model.forces.iter().all(|f| f.force.is_conservative())
        && ipc.affine.iter().all(|&first| (first..first + 4).all(|i| ipc.held[i as usize]))
}

impl NodeSystem {
    /// Takes inertia and forces where the potential was evaluated last, at an iterate. False if a force acts on what is carried.
    pub(super) fn assemble(&mut self, model: &Model, potential: &Potential, iterate: u64) -> bool {
        self.of = Some(iterate);
        if self.row.len() == model.layout.particles && self.fill(model, potential) {
            return true;
        }
        self.find_places(model, potential) && self.fill(model, potential)
    }

    /// False if the blocks are not those of the last time.
    fn fill(&mut self, model: &Model, potential: &Potential) -> bool {
        self.blocks.fill(Columns::ZERO);
        let (places, slots) = (&self.places, &self.slots);
        let mut filler = Filler { places, slots, blocks: &mut self.blocks, count: 0, expected: 0 };
        potential.each_block(model, &mut filler);
        let same = filler.expected == filler.count && filler.count == self.places.len();
        self.note();
        same
    }

    /// What the blocks hold now is without contacts.
    fn note(&mut self) {
        self.assemblies += 1;
        self.removals += 1;
        self.touched.clear();
        self.touched_after.resize(self.columns.len(), 0);
        self.own.clear();
        self.own.extend_from_slice(self.blocks.get(self.columns.len()..).unwrap_or_default());
    }

    /// D.
    fn diagonal(&self) -> &[Columns] {
        &self.blocks[self.columns.len()..self.columns.len() + self.rows]
    }

    fn find_places(&mut self, model: &Model, potential: &Potential) -> bool {
        let n = model.layout.particles;
        self.row.clear();
        self.rows = 0;
        self.least_mass = f64::INFINITY;
        for i in 0..n {
            let held = model.filters.block(i).is_some_and(|C| C == Mat3::zeros());
            self.row.push(if held { HELD } else { self.rows as u32 });
            if !held {
                self.rows += 1;
                self.least_mass = self.least_mass.min(model.particles.mass[i]);
            }
        }
        self.places.clear();
        let places = &mut self.places;
        potential.each_block(model, &mut |i: usize, j: usize, _: &Mat3| places.push((i as u32, j as u32)));
        if self.places.iter().any(|(i, j)| *i as usize >= n || *j as usize >= n) {
            self.row.clear();
            return false;
        }
        let row = &self.row;
        let of = |(i, j): (u32, u32)| {
            let (r, c) = (row[i as usize], row[j as usize]);
            (r != HELD && c != HELD).then(|| (r.min(c), r.max(c)))
        };
        let mut all: Vec<(u32, u32)> =
            self.places.iter().filter_map(|p| of(*p)).filter(|(r, c)| r != c).collect();
        all.sort_unstable();
        all.dedup();
        self.slots.clear();
        let (upper, rows) = (all.len() as u32, self.rows as u32);
        self.slots.extend(self.places.iter().map(|p| match of(*p) {
            None => Slot::Same(upper + rows),
            Some((r, c)) if r == c => Slot::Same(upper + r),
            // Every pair of rows was put into the list.
            Some(pair) => {
                let at = all.partition_point(|q| *q < pair) as u32;
                let is_lower = row[p.0 as usize] > row[p.1 as usize];
                if is_lower { Slot::Transposed(at) } else { Slot::Same(at) }
            }
        }));
        self.start.clear();
        self.start.extend((0..=self.rows as u32).map(|r| all.partition_point(|q| q.0 < r) as u32));
        self.columns.clear();
        self.columns.extend(all.iter().map(|q| q.1));
        self.blocks.clear();
        self.blocks.resize(all.len() + self.rows + 1, Columns::ZERO);
        self.find_lower();
        true
    }

    /// The rows of L, from those of L^T.
    fn find_lower(&mut self) {
        let mut all = Vec::with_capacity(self.columns.len());
        for r in 0..self.rows as u32 {
            let range = self.start[r as usize]..self.start[r as usize + 1];
            all.extend(range.map(|k| (self.columns[k as usize], r, k)));
        }
        all.sort_unstable();
        self.lower_start.clear();
        self.lower_start.extend((0..=self.rows as u32).map(|r| all.partition_point(|q| q.0 < r) as u32));
        self.lower_columns.clear();
        self.lower_columns.extend(all.iter().map(|q| q.1));
        self.lower_place.clear();
        self.lower_place.extend(all.iter().map(|q| q.2));
        self.lower_of.clear();
        self.lower_of.resize(all.len(), 0);
        for (at, k) in self.lower_place.iter().enumerate() {
            self.lower_of[*k as usize] = at as u32;
        }
    }

    /// True if forces were assembled last at this iterate.
    pub(super) fn is_of(&self, iterate: u64) -> bool {
        self.of == Some(iterate)
    }

    /// Begins anew with what was assembled last, without contacts.
    pub(super) fn remove_contacts(&mut self) {
        self.removals += 1;
        self.far.clear();
        let mirrored = self.lower.is_of(self.assemblies);
        for (k, block) in self.touched.drain(..) {
            self.blocks[k as usize] = block;
            if mirrored {
                self.lower.value[self.lower_of[k as usize] as usize] = block.transposed();
            }
        }
        self.blocks[self.columns.len()..].copy_from_slice(&self.own);
    }

    /// A third of the trace of every diagonal block, without contacts.
    pub(super) fn mean_diagonal(&self) -> Vec<f64> {
        let of = |r: &u32| match *r {
            HELD => 0.0,
            r => self.own[r as usize].matrix().trace() / 3.0,
        };
        self.row.iter().map(of).collect()
    }

    /// δ with A δ = b in what may move, zero elsewhere: until ρ has fallen by η² or below `floor` \[J\]. Iterations and
    /// √(ρ/ρ₀); none if A is not positive definite or asks for too many iterations.
    pub(super) fn solve(
        &mut self,
        b: &[f64],
        delta: &mut Vec<f64>,
        eta: f64,
        floor: f64,
    ) -> Option<(u32, f64)> {
        delta.clear();
        delta.resize(b.len(), 0.0);
        if self.lower.is_of(self.assemblies) {
            for &(k, _) in &self.touched {
                self.lower.value[self.lower_of[k as usize] as usize] = self.blocks[k as usize].transposed();
            }
        } else {
            self.lower.value.clear();
            self.lower.value.extend(self.lower_place.iter().map(|k| self.blocks[*k as usize].transposed()));
            self.lower.taken_at(self.assemblies);
        }
        self.far_upper.take(self.rows, &self.far, |b| [b.0, b.1]);
        self.far_lower.take(self.rows, &self.far, |b| [b.1, b.0]);
        let mut inverse = std::mem::take(&mut self.inverse);
        inverse.clear();
        inverse
            .extend(self.diagonal().iter().map_while(|D| D.matrix().try_inverse().map(|D| Columns::of(&D))));
        self.inverse = inverse;
        if self.inverse.len() < self.rows {
            return None;
        }
        for list in [&mut self.x, &mut self.t, &mut self.w, &mut self.p, &mut self.r] {
            list.clear();
            list.resize(self.rows, [0.0; 4]);
        }
        for (i, &r) in self.row.iter().enumerate().filter(|(_, r)| **r != HELD) {
            self.r[r as usize] = row_of(b, i);
        }
        let (found, first, rho, iterations) = self.iterate(eta, floor);
        if !found {
            return None;
        }
        for (i, &r) in self.row.iter().enumerate().filter(|(_, r)| **r != HELD) {
            let [x, y, z, _] = self.x[r as usize];
            set_triple(delta, i, &Vec3::new(x, y, z));
        }
        Some((iterations, if first > 0.0 { (rho / first).sqrt() } else { 0.0 }))
    }

    /// x ← the solution for the right-hand side r. True if it was found; ρ at first and at last, and iterations.
    fn iterate(&mut self, eta: f64, floor: f64) -> (bool, f64, f64, u32) {
        // r becomes r̂.
        let mut r = std::mem::take(&mut self.r);
        let mut p = std::mem::take(&mut self.p);
        self.forward(&mut r);
        let mut rho = self.weigh(&r, &mut p);
        let (first, mut iterations) = (rho, 0);
        let enough = floor.max(eta * eta * first);
        while rho > enough && iterations < MOST_ITERATIONS {
            iterations += 1;
            let curvature = self.times(&p);
            if !(curvature > 0.0) {
                break;
            }
            let alpha = f64x4::splat(rho / curvature);
            let both = self.x.iter_mut().zip(&self.t).zip(r.iter_mut().zip(&self.w));
            for ((x, t), (r, w)) in both {
                *x = alpha.mul_add(f64x4::new(*t), f64x4::new(*x)).to_array();
                *r = (-alpha).mul_add(f64x4::new(*w), f64x4::new(*r)).to_array();
            }
            let before = rho;
            let mut z = std::mem::take(&mut self.w);
            rho = self.weigh(&r, &mut z);
            let beta = f64x4::splat(rho / before);
            for (p, z) in p.iter_mut().zip(&z) {
                *p = beta.mul_add(f64x4::new(*p), f64x4::new(*z)).to_array();
            }
            self.w = z;
        }
        (self.r, self.p) = (r, p);
        (rho <= enough, first, rho, iterations)
    }

    /// x ← (D + L)⁻¹ x.
    fn forward(&self, x: &mut [Row]) {
        let Self { lower_start: start, lower_columns: columns, lower, far_lower, inverse, .. } = self;
        let lower = &lower.value;
        for r in 0..self.rows {
            let range = start[r] as usize..start[r + 1] as usize;
            let mut sum = [f64x4::ZERO; 3];
            for (L, c) in lower[range.clone()].iter().zip(&columns[range]) {
                L.times_plus(&x[*c as usize], &mut sum);
            }
            far_lower.times_plus(r, x, &mut sum);
            let y = f64x4::new(x[r]) - (sum[0] + sum[1] + sum[2]);
            x[r] = inverse[r].times(&y.to_array()).to_array();
        }
    }

    /// z ← D r; returns r·z.
    fn weigh(&self, r: &[Row], z: &mut [Row]) -> f64 {
        let mut sum = f64x4::ZERO;
        for ((r, z), D) in r.iter().zip(z).zip(self.diagonal()) {
            let y = D.times(r);
            sum = y.mul_add(f64x4::new(*r), sum);
            *z = y.to_array();
        }
        sum.reduce_add()
    }

    /// t ← (D + L)⁻ᵀ p, w ← Â p; returns p·w.
    fn times(&mut self, p: &[Row]) -> f64 {
        let Self { rows, start, columns, blocks: upper, far_upper, inverse, t, w, .. } = self;
        for r in (0..*rows).rev() {
            let range = start[r] as usize..start[r + 1] as usize;
            let mut sum = [f64x4::ZERO; 3];
            for (U, c) in upper[range.clone()].iter().zip(&columns[range]) {
                U.times_plus(&t[*c as usize], &mut sum);
            }
            far_upper.times_plus(r, t, &mut sum);
            // p − D t is what the columns to the right took from it.
            let taken = sum[0] + sum[1] + sum[2];
            let y = f64x4::new(p[r]) - taken;
            t[r] = inverse[r].times(&y.to_array()).to_array();
            w[r] = taken.to_array();
        }
        let mut w = std::mem::take(&mut self.w);
        self.forward(&mut w);
        let mut sum = f64x4::ZERO;
        for ((w, t), p) in w.iter_mut().zip(&self.t).zip(p) {
            let y = f64x4::new(*w) + f64x4::new(*t);
            sum = y.mul_add(f64x4::new(*p), sum);
            *w = y.to_array();
        }
        self.w = w;
        sum.reduce_add()
    }
}

/// A symmetric matrix in registers.
#[inline(always)]
fn columns_of(N: &Sym3) -> [f64x4; 3] {
    let [xx, xy, xz, yy, yz, zz] = *N;
    [[xx, xy, xz, 0.0], [xy, yy, yz, 0.0], [xz, yz, zz, 0.0]].map(f64x4::new)
}

impl NodeSystem {
    /// Adds a block at rows r and c.
    #[inline(always)]
    fn put(&mut self, r: u32, c: u32, N: Columns) {
        if r == HELD || c == HELD {
            return;
        }
        if r == c {
            self.blocks[self.columns.len() + r as usize].plus(&N);
            return;
        }
        let (r, c) = (r.min(c), r.max(c));
        let range = self.start[r as usize] as usize..self.start[r as usize + 1] as usize;
        // Rows are short.
        match self.columns[range.clone()].iter().position(|x| *x == c) {
            Some(k) => {
                let k = range.start + k;
                if self.touched_after[k] != self.removals {
                    self.touched_after[k] = self.removals;
                    self.touched.push((k as u32, self.blocks[k]));
                }
                self.blocks[k].plus(&N);
            }
            None => self.far.push((r, c, N)),
        }
    }
}

impl HessianSink for NodeSystem {
    fn add(&mut self, row: u32, column: u32, N: &Sym3) {
        let (r, c) = (self.row[row as usize], self.row[column as usize]);
        self.put(r, c, Columns(columns_of(N)));
    }

    fn add_contact(&mut self, blocks: &[u32], weights: &[f64], N: &Sym3) {
        let N = columns_of(N);
        for (i, (&row, &W)) in blocks.iter().zip(weights).enumerate() {
            let r = self.row[row as usize];
            for (&column, &other) in blocks[..=i].iter().zip(weights) {
                let w = f64x4::splat(W * other);
                self.put(r, self.row[column as usize], Columns(N.map(|N| N * w)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Random, add_triple, triple};

    /// A grid of rows with springs between neighbours, a few contacts on and off these places.
    fn sample(random: &mut Random) -> NodeSystem {
        let side = 9u32;
        let rows = side * side;
        let mut nodes = NodeSystem { rows: rows as usize, row: (0..rows).collect(), ..NodeSystem::default() };
        let mut pairs = Vec::new();
        for i in 0..rows {
            if i % side + 1 < side {
                pairs.push((i, i + 1));
            }
            if i + side < rows {
                pairs.push((i, i + side));
            }
        }
        pairs.sort_unstable();
        nodes.start = (0..=rows).map(|r| pairs.partition_point(|q| q.0 < r) as u32).collect();
        nodes.columns = pairs.iter().map(|q| q.1).collect();
        nodes.find_lower();
        let mut diagonal = vec![Columns::of(&Mat3::from_diagonal_element(3.0)); rows as usize];
        for (i, j) in &pairs {
            let n = Vec3::from_fn(|_, _| random.between(-1.0, 1.0));
            let K = 4.0 * n * n.transpose();
            // A block that is not symmetric, as elements make them; D is larger, so that A stays positive.
            let skew = crate::math::skew(&n);
            diagonal[*i as usize].plus(&Columns::of(&(K + 2.0 * Mat3::identity())));
            diagonal[*j as usize].plus(&Columns::of(&(K + 2.0 * Mat3::identity())));
            nodes.blocks.push(Columns::of(&(skew - K)));
        }
        nodes.blocks.extend(diagonal);
        nodes.blocks.push(Columns::ZERO);
        nodes.note();
        for _ in 0..20 {
            let n = Vec3::from_fn(|_, _| random.between(-1.0, 1.0)).normalize();
            let [i, j] = [0; 2].map(|_| (random.bits() % u64::from(rows)) as u32);
            for (a, b, sign) in [(i, i, 1.0), (j, j, 1.0), (i, j, -1.0)] {
                if i != j {
                    nodes.add(a, b, &crate::collide::dyad(sign * 30.0, &n));
                }
            }
        }
        nodes
    }

    /// A x, block by block.
    fn product(nodes: &NodeSystem, x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; x.len()];
        for r in 0..nodes.rows {
            add_triple(&mut y, r, &(nodes.diagonal()[r].matrix() * triple(x, r)));
            for k in nodes.start[r] as usize..nodes.start[r + 1] as usize {
                let c = nodes.columns[k] as usize;
                let U = nodes.blocks[k].matrix();
                add_triple(&mut y, r, &(U * triple(x, c)));
                add_triple(&mut y, c, &(U.tr_mul(&triple(x, r))));
            }
        }
        for (r, c, N) in &nodes.far {
            let N = N.matrix();
            add_triple(&mut y, *r as usize, &(N * triple(x, *c as usize)));
            add_triple(&mut y, *c as usize, &(N * triple(x, *r as usize)));
        }
        y
    }

    #[test]
    fn it_solves_with_contacts_on_and_off_the_places_of_forces() {
        let mut random = Random::new(5);
        let mut nodes = sample(&mut random);
        assert!(!nodes.far.is_empty());
        let wanted: Vec<f64> = (0..3 * nodes.rows).map(|_| random.between(-1.0, 1.0)).collect();
        let b = product(&nodes, &wanted);
        let mut x = Vec::new();
        let (iterations, _) = nodes.solve(&b, &mut x, 1e-10, 0.0).unwrap();
        assert!(iterations > 5 && iterations < 80, "{iterations}");
        let off = x.iter().zip(&wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-7, "{off}");
        // Few digits take few iterations.
        let (few, left) = nodes.solve(&b, &mut x, 1e-2, 0.0).unwrap();
        assert!(few < iterations / 2 && left <= 1e-2, "{few} {left}");
    }

    /// Contacts that come and go while forces keep their curvature leave nothing behind, in neither triangle.
    #[test]
    fn contacts_leave_nothing_behind() {
        let mut random = Random::new(7);
        let mut nodes = sample(&mut random);
        nodes.remove_contacts();
        let bare = nodes.blocks.clone();
        let b: Vec<f64> = (0..3 * nodes.rows).map(|_| random.between(-1.0, 1.0)).collect();
        let mut on_places = 0;
        for _ in 0..5 {
            nodes.remove_contacts();
            for _ in 0..30 {
                let n = Vec3::from_fn(|_, _| random.between(-1.0, 1.0)).normalize();
                let first = (random.bits() % (nodes.rows as u64 - 10)) as u32;
                // Neighbours in the grid, and a row that no force joins to them.
                nodes.add_contact(
                    &[first, first + 1, first + 9, first + 10],
                    &[0.5, 0.5, -0.3, -0.7],
                    &crate::collide::dyad(20.0, &n),
                );
            }
            on_places += nodes.touched.len();
            assert!(!nodes.far.is_empty());
            let (mut x, mut fresh_x) = (Vec::new(), Vec::new());
            let mut fresh = NodeSystem {
                rows: nodes.rows,
                row: nodes.row.clone(),
                start: nodes.start.clone(),
                columns: nodes.columns.clone(),
                blocks: nodes.blocks.clone(),
                far: nodes.far.clone(),
                ..NodeSystem::default()
            };
            fresh.find_lower();
            nodes.solve(&b, &mut x, 1e-10, 0.0).unwrap();
            fresh.solve(&b, &mut fresh_x, 1e-10, 0.0).unwrap();
            assert_eq!(x, fresh_x);
            let product = product(&nodes, &x);
            let off = product.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-6, "{off}");
        }
        assert!(on_places > 100, "{on_places}");
        // Without contacts it is what was assembled.
        nodes.remove_contacts();
        assert!(nodes.blocks.iter().zip(&bare).all(|(a, b)| a.matrix() == b.matrix()));
        let lower = |k: usize| nodes.lower.value[nodes.lower_of[k] as usize].transposed();
        assert!((0..nodes.columns.len()).all(|k| lower(k).matrix() == bare[k].matrix()));
    }

    #[test]
    fn a_matrix_that_is_not_positive_is_refused() {
        let mut random = Random::new(6);
        let mut nodes = sample(&mut random);
        nodes.add(3, 40, &[500.0, 0.0, 0.0, 500.0, 0.0, 500.0]);
        let b: Vec<f64> = (0..3 * nodes.rows).map(|_| random.between(-1.0, 1.0)).collect();
        assert!(nodes.solve(&b, &mut Vec::new(), 1e-10, 0.0).is_none());
        let first = nodes.columns.len();
        nodes.blocks[first] = Columns::ZERO;
        assert!(nodes.solve(&b, &mut Vec::new(), 1e-10, 0.0).is_none());
    }
}
