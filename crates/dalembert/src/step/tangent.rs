//! The matrix of an implicit step, $A = m M + b B + k K$ about one state: multiplied without being made, or made of 3×3
//! blocks.
//!
//! A product runs through the parts of the model in this order, and so does the right-hand side of a step:
//!
//! ```text
//! mapping::carry        y → points                         w = J y
//! forces                points → forces                    K w, B w, of every batch
//! mapping               the turning of Jᵀ under a load     geometric stiffness, its symmetric part
//! mapping::gather_all   forces on points → on bodies       Jᵀ (K w)
//! bodies                                                   m M y
//! filters               forbidden directions drop out      C
//! ```
//!
//! **Blocks.** Every coordinate belongs to a 3-vector: a particle is one, a rigid body two (v and ω), a carried point is
//! $v_c = \sum_k J_{ck} v_k$ over the 3-vectors that carry it, through all levels. So a block $K_{cd}$ between two points
//! becomes $J_{ck}^T K_{cd} J_{dl}$ between the unknowns, and $A$ is a sparse matrix of 3×3 blocks. Filtered directions get
//! $C A C + (1 - C)$: regular, and with the same solution in what may move.

use super::joint_springs::JointSprings;
use crate::forces::{Force, Tangent, TangentSink};
use crate::mapping::gather_all;
use crate::math::{Blocks, Mat3, add_triple, triple};
use crate::model::Model;
use crate::state::State;

/// The factors of $m M + b B + k K$.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Factors {
    pub mass: f64,
    /// \[s\]
    pub damping: f64,
    /// \[s²\]
    pub stiffness: f64,
}

/// The tangent of everything about one state.
#[derive(Debug, Default)]
pub(crate) struct Linearization {
    /// Coordinates and velocities that it was taken at, with carried points.
    pub q: Vec<f64>,
    pub v: Vec<f64>,
    pub time: f64,
    /// Forces on all velocities there, gathered \[N or N·m\].
    pub f: Vec<f64>,
    /// That of each batch.
    tangents: Vec<Tangent>,
    caches: Vec<Vec<f64>>,
    geometric: Blocks,
    joints: JointSprings,
    /// Inertia of rigid bodies, world axes, at the start of the step.
    inertia: Vec<Mat3>,
    /// Carried vectors and products, over all velocities.
    carried: Vec<f64>,
    scaled: Vec<f64>,
    product: Vec<f64>,
    points: Blocks,
    jacobian: Blocks,
    expansion: Expansion,
    filter: Vec<Option<Mat3>>,
}

/// Which 3-vectors of the unknowns carry each point, and how: a sparse matrix of 3×3 blocks by rows.
#[derive(Debug, Default)]
struct Expansion {
    first: Vec<u32>,
    entries: Vec<(u32, Mat3)>,
}

impl Expansion {
    /// Composes the Jacobians of all mappings, children after their parents. `free` is the number of unknown 3-vectors,
    /// `all` that of all 3-vectors.
    fn compose(&mut self, free: usize, all: usize, jacobian: &Blocks) {
        let mut by_child: Vec<Vec<(u32, Mat3)>> = vec![Vec::new(); all - free];
        for (child, parent, J) in &jacobian.entries {
            by_child[*child as usize - free].push((*parent, *J));
        }
        self.first.clear();
        self.entries.clear();
        self.first.push(0);
        for parents in &by_child {
            let start = self.entries.len();
            for (parent, J) in parents {
                let parent = *parent as usize;
                let range = if parent < free {
                    self.add(start, parent as u32, *J);
                    continue;
                } else {
                    self.first[parent - free] as usize..self.first[parent - free + 1] as usize
                };
                for k in range {
                    let (block, upper) = self.entries[k];
                    self.add(start, block, J * upper);
                }
            }
            self.first.push(self.entries.len() as u32);
        }
    }

    fn add(&mut self, start: usize, block: u32, J: Mat3) {
        match self.entries[start..].iter_mut().find(|e| e.0 == block) {
            Some(entry) => entry.1 += J,
            None => self.entries.push((block, J)),
        }
    }

    fn of(&self, child: usize) -> &[(u32, Mat3)] {
        &self.entries[self.first[child] as usize..self.first[child + 1] as usize]
    }
}

impl Linearization {
    /// Takes the world inertias of rigid bodies at q; they stay until this is called again.
    pub(crate) fn load_inertia(&mut self, model: &Model, q: &[f64]) {
        self.inertia.clear();
        self.inertia.extend((0..model.layout.rigid).map(|k| model.rigid.world_inertia(q, k)));
    }

    /// Keeps where forces are taken.
    fn keep(&mut self, model: &Model, time: f64, q: &[f64], v: &[f64]) {
        self.time = time;
        self.q.clear();
        self.q.extend_from_slice(q);
        self.v.clear();
        self.v.extend_from_slice(v);
        self.f.resize(model.layout.robots_v(), 0.0);
    }

    /// Forces at (q, v), carried points up to date, into `f`.
    pub(crate) fn evaluate(&mut self, model: &Model, time: f64, q: &[f64], v: &[f64], memory: &State) {
        self.keep(model, time, q, v);
        model.forces_into(time, q, v, &memory.applied, &mut self.f);
        if !model.constraints.is_empty() {
            self.joints.evaluate(model, time, q, v, memory);
            self.joints.add_forces(&mut self.f);
        }
    }

    /// The same for models of points without soft joints; returns their energy \[J\].
    pub(crate) fn evaluate_with_energy(
        &mut self,
        model: &Model,
        time: f64,
        q: &[f64],
        v: &[f64],
        memory: &State,
    ) -> f64 {
        debug_assert!(model.constraints.is_empty());
        self.keep(model, time, q, v);
        model.forces_with_energy(time, q, v, &memory.applied, &mut self.f)
    }

    /// Makes the tangent at what was evaluated last.
    pub(crate) fn linearize(&mut self, model: &Model, tangent: Tangent) {
        self.linearize_each(model, tangent, |_| tangent);
    }

    /// Makes the tangent at what was evaluated last, for [`free_blocks_into`](Self::free_blocks_into) alone: without what
    /// products need.
    pub(crate) fn linearize_blocks(&mut self, model: &Model, tangent: Tangent) {
        self.tangents.clear();
        self.tangents.resize(model.forces.len(), tangent);
        self.take_geometric(model, tangent);
    }

    /// Hands over the blocks of m M + K at what was evaluated last, K projected, those of each two points once. For
    /// models of particles alone; the places of carried points come after those of particles.
    pub(crate) fn each_block(&self, model: &Model, m: f64, sink: &mut dyn TangentSink) {
        for (i, mass) in model.particles.mass[..model.layout.particles].iter().enumerate() {
            sink.block(i, i, &Mat3::from_diagonal_element(m * mass));
        }
        for &(i, j, shared) in &model.particles.shared {
            sink.block(i as usize, j as usize, &Mat3::from_diagonal_element(m * shared));
        }
        let points = model.points(self.time, &self.q, &self.v);
        for batch in &model.forces {
            batch.force.each_tangent_block(&points, Tangent::Projected, sink);
        }
    }

    /// Makes the tangent for a step that linearises once: as it is, except where a cheaper one serves as well.
    pub(crate) fn linearize_once(&mut self, model: &Model) {
        self.linearize_each(model, Tangent::Exact, |force| {
            if force.has_cheap_projection() { Tangent::Projected } else { Tangent::Exact }
        });
    }

    fn linearize_each(&mut self, model: &Model, tangent: Tangent, of: impl Fn(&dyn Force) -> Tangent) {
        self.tangents.clear();
        self.tangents.extend(model.forces.iter().map(|batch| of(&*batch.force)));
        self.caches.resize(model.forces.len(), Vec::new());
        let points = model.points(self.time, &self.q, &self.v);
        for ((batch, tangent), cache) in model.forces.iter().zip(&self.tangents).zip(&mut self.caches) {
            batch.force.linearize(&points, *tangent, cache);
        }
        self.take_geometric(model, tangent);
    }

    fn take_geometric(&mut self, model: &Model, tangent: Tangent) {
        self.geometric.entries.clear();
        for m in &model.mappings {
            m.add_geometric_blocks(&self.q, &self.f, &mut self.geometric);
        }
        if tangent == Tangent::Projected {
            self.geometric.entries.iter_mut().for_each(|(_, _, K)| *K = crate::math::positive_part(K));
        }
    }

    /// out ← (m M + b B + k K) y, not filtered. `y` and `out` hold the free velocities.
    pub(crate) fn times(&mut self, model: &Model, factors: Factors, y: &[f64], out: &mut [f64]) {
        let (nv, pv) = (model.layout.nv, model.layout.points_v());
        let n = model.layout.robots_v();
        self.product.clear();
        self.product.resize(n, 0.0);
        if factors.stiffness != 0.0 || factors.damping != 0.0 {
            self.carried.resize(n, 0.0);
            self.carried[..nv].copy_from_slice(y);
            for m in &model.mappings {
                m.carry_velocity(&self.q, &mut self.carried);
            }
            let points = model.points(self.time, &self.q, &self.v);
            if factors.stiffness != 0.0 {
                for (batch, cache) in model.forces.iter().zip(&self.caches) {
                    batch.force.add_tangent_times(
                        &points,
                        cache,
                        &self.carried[pv..],
                        &mut self.product[pv..],
                    );
                }
                self.geometric.add_times(&self.carried, &mut self.product);
                self.product.iter_mut().for_each(|p| *p *= factors.stiffness);
            }
            if factors.damping != 0.0 && model.forces.iter().any(|b| !b.force.is_conservative()) {
                self.scaled.clear();
                self.scaled.extend(self.carried.iter().map(|w| factors.damping * w));
                for batch in model.forces.iter().filter(|b| !b.force.is_conservative()) {
                    batch.force.add_damping_times(&points, &self.scaled[pv..], &mut self.product[pv..]);
                }
            }
            gather_all(&model.mappings, &self.q, &mut self.product);
            if !model.constraints.is_empty() {
                self.joints.add_times(factors.stiffness, factors.damping, y, &mut self.product);
            }
        }
        out.copy_from_slice(&self.product[..nv]);
        if factors.mass != 0.0 {
            self.add_mass_times(model, factors.mass, y, out);
        }
    }

    /// out += m M y.
    pub(crate) fn add_mass_times(&self, model: &Model, m: f64, y: &[f64], out: &mut [f64]) {
        for (k, I) in self.inertia.iter().enumerate() {
            add_triple(out, 2 * k, &(m * model.rigid.mass[k] * triple(y, 2 * k)));
            add_triple(out, 2 * k + 1, &(m * (I * triple(y, 2 * k + 1))));
        }
        let pv = model.layout.points_v();
        let (y, out) = (&y[pv..], &mut out[pv..]);
        for ((out, y), mass) in out.chunks_exact_mut(3).zip(y.chunks_exact(3)).zip(&model.particles.mass) {
            for k in 0..3 {
                out[k] += m * mass * y[k];
            }
        }
        for &(i, j, shared) in &model.particles.shared {
            let (i, j) = (i as usize, j as usize);
            add_triple(out, i, &(m * shared * triple(y, j)));
            if i != j {
                add_triple(out, j, &(m * shared * triple(y, i)));
            }
        }
    }

    /// 1/m of every free velocity, from the diagonal of M: the weight of residuals.
    pub(crate) fn weights(&self, model: &Model, out: &mut Vec<f64>) {
        out.clear();
        for (k, I) in self.inertia.iter().enumerate() {
            out.extend([1.0 / model.rigid.mass[k]; 3]);
            out.extend([3.0 / I.trace(); 3]);
        }
        let first = out.len();
        out.extend(model.particles.mass[..model.layout.particles].iter().flat_map(|m| [*m; 3]));
        for &(i, j, shared) in model.particles.shared.iter().filter(|s| s.0 == s.1) {
            debug_assert_eq!(i, j);
            out[first + 3 * i as usize..][..3].iter_mut().for_each(|m| *m += shared);
        }
        out[first..].iter_mut().for_each(|m| *m = if *m > 0.0 { 1.0 / *m } else { 1.0 });
    }

    /// C (m M + b B + k K) C + (1 − C) as 3×3 blocks over the unknown 3-vectors.
    pub(crate) fn blocks_into(&mut self, model: &Model, factors: Factors, out: &mut Blocks) {
        self.free_blocks_into(model, factors, out);
        filter_blocks(model, model.layout.points_v() / 3, &mut self.filter, out);
    }

    /// The same without the filter.
    pub(crate) fn free_blocks_into(&mut self, model: &Model, factors: Factors, out: &mut Blocks) {
        let (free, pv) = (model.layout.nv / 3, model.layout.points_v() / 3);
        out.entries.clear();
        for (k, I) in self.inertia.iter().enumerate() {
            out.add(2 * k, 2 * k, Mat3::from_diagonal_element(factors.mass * model.rigid.mass[k]));
            out.add(2 * k + 1, 2 * k + 1, factors.mass * I);
        }
        for (i, m) in model.particles.mass[..model.layout.particles].iter().enumerate() {
            out.add(pv + i, pv + i, Mat3::from_diagonal_element(factors.mass * m));
        }
        for &(i, j, m) in &model.particles.shared {
            let (i, j, block) =
                (pv + i as usize, pv + j as usize, Mat3::from_diagonal_element(factors.mass * m));
            out.add(i, j, block);
            if i != j {
                out.add(j, i, block);
            }
        }
        let points = model.points(self.time, &self.q, &self.v);
        // Where points are the unknowns themselves, blocks go straight to their place.
        let direct = pv == 0 && model.mappings.is_empty();
        let list = if direct { &mut *out } else { &mut self.points };
        if !direct {
            list.entries.clear();
        }
        let from = list.entries.len();
        for (batch, tangent) in model.forces.iter().zip(&self.tangents) {
            batch.force.add_tangent_blocks(&points, *tangent, list);
        }
        if factors.stiffness != 1.0 {
            list.entries[from..].iter_mut().for_each(|e| e.2 *= factors.stiffness);
        }
        if factors.damping != 0.0 {
            let from = list.entries.len();
            for batch in model.forces.iter().filter(|b| !b.force.is_conservative()) {
                batch.force.add_damping_blocks(&points, list);
            }
            list.entries[from..].iter_mut().for_each(|e| e.2 *= factors.damping);
        }
        if !direct {
            self.expand_blocks(model, free, pv, out);
        }
        for (i, j, K) in &self.geometric.entries {
            out.add(*i as usize, *j as usize, factors.stiffness * K);
        }
        if !model.constraints.is_empty() {
            self.joints.add_blocks(factors.stiffness, factors.damping, out);
        }
    }

    /// Adds the blocks between points to `out`, through what carries the points.
    fn expand_blocks(&mut self, model: &Model, free: usize, pv: usize, out: &mut Blocks) {
        self.jacobian.entries.clear();
        // Most carried points are only looked at.
        let last = (free - pv) as u32;
        let carried = self.points.entries.iter().any(|(i, j, _)| *i >= last || *j >= last);
        if carried {
            for m in &model.mappings {
                m.add_jacobian_blocks(&self.q, &mut self.jacobian);
            }
            self.expansion.compose(free, model.layout.robots_v() / 3, &self.jacobian);
        }
        for (i, j, K) in &self.points.entries {
            let (i, j) = (pv + *i as usize, pv + *j as usize);
            if i < free && j < free {
                out.add(i, j, *K);
                continue;
            }
            let own = |b: usize| [(b as u32, Mat3::identity())];
            let (own_i, own_j) = (own(i), own(j));
            let rows = if i < free { &own_i[..] } else { self.expansion.of(i - free) };
            let columns = if j < free { &own_j[..] } else { self.expansion.of(j - free) };
            for (a, Ja) in rows {
                let left = Ja.tr_mul(K);
                for (b, Jb) in columns {
                    out.add(*a as usize, *b as usize, left * Jb);
                }
            }
        }
    }
}

/// A ← C A C + (1 − C).
fn filter_blocks(model: &Model, pv: usize, filter: &mut Vec<Option<Mat3>>, out: &mut Blocks) {
    if model.filters.is_empty() {
        return;
    }
    let n = pv + model.layout.particles;
    filter.clear();
    filter.resize(n, None);
    for i in 0..model.layout.particles {
        filter[pv + i] = model.filters.block(i);
    }
    for (i, j, block) in &mut out.entries {
        if let Some(C) = filter[*i as usize] {
            *block = C * *block;
        }
        if let Some(C) = filter[*j as usize] {
            *block *= C;
        }
    }
    for (i, C) in filter.iter().enumerate() {
        if let Some(C) = C {
            out.add(i, i, Mat3::identity() - C);
        }
    }
}
