//! The constraint system of a model: all joints at once, as a saddle-point system over the bodies they hold.
//!
//! Every method with exact constraints asks the same question: given right-hand sides f (per body) and g (per row),
//! find x and λ with
//!
//! $$ M x - A^T \lambda = f, \qquad A x + R\lambda = g. $$
//!
//! * `impulse`: x = v⁺, f = M v + h F, with what [`System::stiffen_by`] adds to M, g = −(ε/h) C − C_t, and hλ for λ, R = r/h.
//! * `lagrange`: x = a, f = Q, g = −J̇q̇.
//! * projection: x = Δq, f = 0, g = −C: the smallest motion, in the metric of the masses, onto C = 0.
//!
//! Eliminating x gives the textbook form D λ = d with D = A M⁻¹ Aᵀ + R. Here bodies and joints are eliminated together
//! ([`Kkt`]), which costs O(n) for tree-shaped joint graphs, hubs included.
//!
//! A particle that a filter holds, wholly or along some directions, keeps the columns of A that it may still move in.

mod island;
mod stiffen;
mod window;

use std::ops::Range;
use std::sync::Arc;

use crate::joints::{Ask, Block, Body, GeometricStiffness, Holder, MOST_HOLDERS, Rows};
use crate::math::{Mat3, Vec3, triple};
use crate::model::Model;
use crate::solve::kkt::{Chunk, FactorReport, Kkt, Pattern};
use crate::state::State;
pub(crate) use island::Island;
use island::NONE;
use window::Window;

/// What a least-norm solve reports.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LeastNorm {
    pub weak_rows: u32,
    pub residual: f64,
}

/// Inertia of one body about its centre of mass, world axes; a particle gets 1 for angles that it does not have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inertia {
    pub linear: Mat3,
    pub angular: Mat3,
}

impl Inertia {
    #[inline(always)]
    fn block(&self) -> Block {
        let mut block = [0.0; 36];
        for i in 0..3 {
            for j in 0..3 {
                block[6 * i + j] = self.linear[(i, j)];
                block[6 * (3 + i) + 3 + j] = self.angular[(i, j)];
            }
        }
        block
    }
}

/// What of masses and Jacobians is kept while an island is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Keep {
    /// All of it.
    #[default]
    All,
    /// What the elimination has not read yet: the island is loaded chunk by chunk.
    Unread,
}

/// One island, and the numbers of its bodies and constraints. Numbers are scratch: the next island takes their place.
#[derive(Debug, Default)]
pub(crate) struct System {
    pub island: Island,
    pub keep: Keep,
    kkt: Option<Kkt>,
    /// Per node.
    pub bodies: Vec<Body>,
    pub inertia: Window<Inertia>,
    /// Per block: ∂C/∂q with filters applied.
    pub jacobian: Window<Block>,
    /// Per constraint.
    pub violation: Vec<[f64; 6]>,
    pub bias: Vec<[f64; 6]>,
    /// Ċ by motions that are not unknowns: C_t, and what prescribed points contribute.
    pub drift: Vec<[f64; 6]>,
    /// R, per row; 1 for rows that are not used.
    pub softness: Vec<[f64; 6]>,
    /// Right-hand sides, then solutions: per node, per constraint.
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    rows: Rows,
    scales: Vec<[f64; 6]>,
    inv_mass: Vec<Block>,
    stiffness: Window<GeometricStiffness>,
    /// A copy of q that may be moved.
    pub q: Vec<f64>,
}

/// Rounds of proximal refinement: each divides what is left of a well-posed row by about 1/regularization.
const REFINEMENTS: usize = 3;

impl System {
    /// Takes all bodies and constraints of a model as one island, in the model's order.
    pub(crate) fn prepare(&mut self, model: &Model) {
        if !self.island.is_whole(model) {
            let island = Island::whole(model);
            self.enter(island, Keep::All);
        }
    }

    /// Turns to an island.
    pub(crate) fn enter(&mut self, island: Island, keep: Keep) {
        let (nodes, constraints, blocks) =
            (island.nodes.len(), island.members.len(), island.block_node.len());
        let (live_nodes, live_blocks) = match (keep, &island.pattern) {
            (Keep::Unread, Some(pattern)) => (pattern.node_window, pattern.block_window),
            _ => (nodes, blocks),
        };
        self.bodies.resize(nodes, Body::WORLD);
        let none = Inertia { linear: Mat3::zeros(), angular: Mat3::zeros() };
        self.inertia.resize(nodes, live_nodes, none);
        self.stiffness.resize(nodes, live_nodes, GeometricStiffness::default());
        self.jacobian.resize(blocks, live_blocks, [0.0; 36]);
        self.violation.resize(constraints, [0.0; 6]);
        self.bias.resize(constraints, [0.0; 6]);
        self.drift.resize(constraints, [0.0; 6]);
        self.softness.resize(constraints, [1.0; 6]);
        self.x.resize(6 * nodes, 0.0);
        self.y.resize(6 * constraints, 0.0);
        if let Some(pattern) = &island.pattern {
            match &mut self.kkt {
                Some(kkt) => kkt.adopt(pattern),
                None => self.kkt = Some(Kkt::of(pattern)),
            }
        }
        (self.island, self.keep) = (island, keep);
    }

    /// Gives the island back.
    pub(crate) fn leave(&mut self) -> Island {
        std::mem::take(&mut self.island)
    }

    /// Poses, velocities and masses of the bodies.
    pub(crate) fn load_bodies(&mut self, model: &Model, q: &[f64], v: &[f64]) {
        self.load_some(model, 0..self.island.nodes.len(), q, v);
    }

    /// The same for some of them.
    pub(crate) fn load_some(&mut self, model: &Model, nodes: Range<usize>, q: &[f64], v: &[f64]) {
        for n in nodes {
            let holder = self.island.nodes[n].holder;
            self.bodies[n] = model.body(holder, q, v);
            self.inertia[n] = inertia(model, holder, &self.bodies[n].R);
        }
    }

    /// Poses only, of some bodies.
    pub(crate) fn load_poses(&mut self, model: &Model, q: &[f64], nodes: Range<usize>) {
        for (node, body) in self.island.nodes[nodes.clone()].iter().zip(&mut self.bodies[nodes]) {
            (body.x, body.R) = model.pose(node.holder, q);
        }
    }

    /// Masses, and inertias in the poses loaded last, of some bodies.
    pub(crate) fn load_inertia(&mut self, model: &Model, nodes: Range<usize>) {
        for n in nodes {
            self.inertia[n] = inertia(model, self.island.nodes[n].holder, &self.bodies[n].R);
        }
    }

    /// C and as much else as is asked for of every constraint that is not broken, at the bodies loaded last.
    pub(crate) fn evaluate(&mut self, model: &Model, t: f64, turns: &[f64], broken: &[bool], ask: Ask) {
        self.evaluate_some(model, 0..self.island.members.len(), t, turns, broken, ask);
    }

    /// The same for some constraints.
    pub(crate) fn evaluate_some(
        &mut self,
        model: &Model,
        constraints: Range<usize>,
        t: f64,
        turns: &[f64],
        broken: &[bool],
        ask: Ask,
    ) {
        let mut bodies = [Body::WORLD; MOST_HOLDERS];
        self.rows.ask = ask;
        for c in constraints {
            let terms = &self.island.terms[c];
            let first = self.island.first[c] as usize;
            let blocks = first..self.island.first[c + 1] as usize;
            if terms.is_broken(broken) {
                (self.violation[c], self.bias[c], self.drift[c]) = ([0.0; 6], [0.0; 6], [0.0; 6]);
                blocks.for_each(|b| self.jacobian[b] = [0.0; 36]);
                continue;
            }
            let constraint = self.island.constraint(model, c);
            let holders = constraint.holders().len();
            let slots = &self.island.slots[c][..holders];
            for (body, place) in bodies.iter_mut().zip(slots) {
                *body = match *place {
                    NONE => Body::WORLD,
                    place => self.bodies[self.island.block_node[first + place as usize] as usize],
                };
            }
            let (out, rows) = (&mut self.rows, self.island.row_count[c] as usize);
            out.clear_rows(holders, rows);
            constraint.evaluate(t, &bodies[..holders], terms.turns(turns), out);
            self.violation[c] = out.violation;
            if ask == Ask::Violation {
                continue;
            }
            self.drift[c] = out.drift;
            if ask == Ask::Bias {
                self.bias[c] = out.bias;
            }
            // The solver reads three rows at least.
            let (numbers, read) = (6 * rows, 6 * rows.max(3));
            blocks.for_each(|b| self.jacobian[b][numbers..read].fill(0.0));
            for (slot, place) in slots.iter().enumerate().filter(|(_, place)| **place != NONE) {
                let node = &self.island.nodes[self.island.block_node[first + *place as usize] as usize];
                let from = &out.jacobian[slot];
                let to = &mut self.jacobian[first + *place as usize];
                let again = slots[..slot].contains(place);
                if node.dofs == 6 && !again {
                    to[..numbers].copy_from_slice(&from[..numbers]);
                    continue;
                }
                if !again {
                    to[..numbers].fill(0.0);
                }
                match (node.dofs, node.filter) {
                    (6, _) => to[..numbers].iter_mut().zip(from).for_each(|(a, b)| *a += b),
                    (_, None) => add_linear(from, to, rows, |a| a),
                    (_, Some(filter)) => {
                        let filter = self.island.filters[filter as usize];
                        add_linear(from, to, rows, |a| filter * a);
                        // What the filter took away is not an unknown: its motion is prescribed (or none).
                        let v = bodies[slot].v - filter * bodies[slot].v;
                        for row in 0..rows {
                            self.drift[c][row] += linear(from, row).dot(&v);
                        }
                    }
                }
            }
        }
    }

    /// The node that a constraint holds with one of its slots.
    #[inline]
    fn node_at(&self, c: usize, slot: usize) -> Option<usize> {
        let place = self.island.slots[c][slot];
        (place != NONE)
            .then(|| self.island.block_node[self.island.first[c] as usize + place as usize] as usize)
    }

    /// Factors with the current masses, Jacobians and softness; returns the number of rows that depend on others.
    pub(crate) fn factor(&mut self) -> u32 {
        let Self { kkt: Some(kkt), inertia, jacobian, softness, .. } = self else { return 0 };
        kkt.factor(|n| inertia[n].block(), jacobian, softness).weak_rows as u32
    }

    /// [`factor`](Self::factor), then [`solve`](Self::solve).
    pub(crate) fn factor_and_solve(&mut self) -> u32 {
        let Self { kkt: Some(kkt), inertia, jacobian, softness, x, y, .. } = self else { return 0 };
        kkt.factor_and_solve(|n| inertia[n].block(), jacobian, softness, x, y).weak_rows as u32
    }

    /// The pattern of elimination.
    pub(crate) fn pattern(&self) -> Arc<Pattern> {
        self.island.pattern.clone().unwrap_or_default()
    }

    /// [`factor`](Self::factor) for one chunk of the pattern, with the first half of [`solve`](Self::solve).
    pub(crate) fn factor_chunk(&mut self, chunk: &Chunk, report: &mut FactorReport) {
        let Self { kkt: Some(kkt), inertia, jacobian, softness, x, y, .. } = self else { return };
        kkt.factor_chunk(chunk, |n| inertia[n].block(), jacobian, softness, x, y, report);
    }

    /// The second half of [`solve`](Self::solve).
    pub(crate) fn solve_backwards(&mut self) {
        if let Some(kkt) = &mut self.kkt {
            kkt.solve_backwards(&mut self.x, &mut self.y);
        }
    }

    /// Solves for x and −λ from the right-hand sides in `x` and `y`.
    pub(crate) fn solve(&mut self) {
        if let Some(kkt) = &mut self.kkt {
            kkt.solve(&mut self.x, &mut self.y);
        }
    }

    /// (A x) of one row, with x six numbers per node.
    pub(crate) fn row_times(&self, c: usize, row: usize, x: &[f64]) -> f64 {
        let mut sum = 0.0;
        for b in self.island.first[c] as usize..self.island.first[c + 1] as usize {
            let node = self.island.block_node[b] as usize;
            for k in 0..6 {
                sum += self.jacobian[b][6 * row + k] * x[6 * node + k];
            }
        }
        sum
    }

    /// f += factor · Aᵀ λ of one row, f six numbers per node.
    pub(crate) fn add_row_force(&self, c: usize, row: usize, lambda: f64, f: &mut [f64]) {
        for b in self.island.first[c] as usize..self.island.first[c + 1] as usize {
            let node = self.island.block_node[b] as usize;
            for k in 0..6 {
                f[6 * node + k] += self.jacobian[b][6 * row + k] * lambda;
            }
        }
    }

    /// Copies the velocities of the nodes out of a flat vector: six numbers each, the last three 0 for a particle.
    pub(crate) fn gather(&self, v: &[f64], x: &mut [f64]) {
        for (n, node) in self.island.nodes.iter().enumerate() {
            x[6 * n..6 * n + 6].fill(0.0);
            x[6 * n..6 * n + node.dofs].copy_from_slice(&v[node.v..node.v + node.dofs]);
        }
    }

    /// (A v) of one row, from the velocities of the bodies loaded last; filtered directions are in `drift`.
    pub(crate) fn row_rate(&self, c: usize, row: usize) -> f64 {
        let mut sum = 0.0;
        for b in self.island.blocks(c) {
            let body = &self.bodies[self.island.block_node[b] as usize];
            let r = &self.jacobian[b][6 * row..6 * row + 6];
            for k in 0..3 {
                sum += r[k] * body.v[k] + r[3 + k] * body.w[k];
            }
        }
        sum
    }

    /// The part of a linear velocity that a node may have.
    pub(crate) fn allowed(&self, n: usize, v: &Vec3) -> Vec3 {
        match self.island.nodes[n].filter {
            Some(filter) => self.island.filters[filter as usize] * v,
            None => *v,
        }
    }

    /// Switches one row off.
    pub(crate) fn clear_row(&mut self, c: usize, row: usize) {
        for b in self.island.blocks(c) {
            self.jacobian[b][6 * row..6 * row + 6].fill(0.0);
        }
    }

    /// f += Aᵀ λ of the rows whose λ is a given function of C and Ċ: soft joints, servos, efforts.
    pub(crate) fn add_explicit_forces(&self, model: &Model, broken: &[bool], f: &mut [f64]) {
        for (c, entry) in self.island.entries(model).enumerate() {
            if broken[entry.joint] {
                continue;
            }
            for row in 0..entry.constraint.rows() {
                let rate = self.row_rate(c, row) + self.drift[c][row];
                let Some(lambda) = entry.explicit_force(self.violation[c][row], rate) else { break };
                for b in self.island.blocks(c) {
                    let node = &self.island.nodes[self.island.block_node[b] as usize];
                    for k in 0..node.dofs {
                        f[node.v + k] += self.jacobian[b][6 * row + k] * lambda;
                    }
                }
            }
        }
    }

    /// Solves A x + Rλ = g, M x − Aᵀλ = f with rows that may depend on each other: the λ of least norm.
    pub(crate) fn solve_least_norm(&mut self, regularization: f64) -> LeastNorm {
        let Some(kkt) = &mut self.kkt else { return LeastNorm::default() };
        let inertia = &self.inertia;
        let mass = |n: usize| inertia[n].block();
        self.scales.resize(self.softness.len(), [0.0; 6]);
        kkt.row_scales(mass, &self.jacobian, &mut self.scales);
        for (scale, soft) in self.scales.iter_mut().zip(&self.softness) {
            for row in 0..6 {
                scale[row] = soft[row] + regularization * scale[row];
            }
        }
        let size = crate::math::norm(&self.y) + crate::math::norm(&self.x);
        let factor = kkt.factor(mass, &self.jacobian, &self.scales);
        let mut residuals = [[0.0; 2]; REFINEMENTS];
        kkt.solve_refined(mass, &self.jacobian, &self.softness, &mut self.x, &mut self.y, &mut residuals);
        let left = residuals[REFINEMENTS - 1][1];
        let residual = if size > 0.0 { left / size } else { 0.0 };
        LeastNorm { weak_rows: factor.weak_rows as u32, residual }
    }

    /// Inverse masses for row-by-row solvers.
    pub(crate) fn inverse_masses(&mut self) {
        self.inv_mass.clear();
        self.inv_mass.extend(self.inertia.all().iter().map(|inertia| {
            let inverse = |m: &Mat3| m.try_inverse().unwrap_or_else(Mat3::zeros);
            Inertia { linear: inverse(&inertia.linear), angular: inverse(&inertia.angular) }.block()
        }));
    }

    /// x ← M⁻¹ x.
    pub(crate) fn inverse_mass_times_x(&mut self) {
        for (n, w) in self.inv_mass.iter().enumerate() {
            let x = &mut self.x[6 * n..6 * n + 6];
            let old: [f64; 6] = std::array::from_fn(|k| x[k]);
            for i in 0..6 {
                x[i] = (0..6).map(|k| w[6 * i + k] * old[k]).sum();
            }
        }
    }

    /// (A M⁻¹ Aᵀ) of one row with itself.
    pub(crate) fn row_diagonal(&self, c: usize, row: usize) -> f64 {
        let mut sum = 0.0;
        for b in self.island.blocks(c) {
            let (a, w) =
                (&self.jacobian[b][6 * row..6 * row + 6], &self.inv_mass[self.island.block_node[b] as usize]);
            for i in 0..6 {
                for j in 0..6 {
                    sum += a[i] * w[6 * i + j] * a[j];
                }
            }
        }
        sum
    }

    /// x += M⁻¹ Aᵀ of one row times an impulse.
    pub(crate) fn add_row_kick(&mut self, c: usize, row: usize, impulse: f64) {
        for b in self.island.blocks(c) {
            let node = self.island.block_node[b] as usize;
            let (a, w) = (&self.jacobian[b][6 * row..6 * row + 6], &self.inv_mass[node]);
            for i in 0..6 {
                self.x[6 * node + i] += impulse * (0..6).map(|j| w[6 * i + j] * a[j]).sum::<f64>();
            }
        }
    }

    /// Largest |C| over all rows of constraints that must hold exactly and are not broken.
    pub(crate) fn worst_gap(&self) -> f64 {
        self.worst_of(0..self.island.members.len())
    }

    fn worst_of(&self, constraints: Range<usize>) -> f64 {
        // Rows beyond those of a constraint have C = 0, and so have broken ones.
        let mut worst = [0.0f64; 6];
        let exact = &self.island.exact[constraints.clone()];
        for (violation, _) in self.violation[constraints].iter().zip(exact).filter(|(_, exact)| **exact) {
            for (worst, C) in worst.iter_mut().zip(violation) {
                *worst = worst.max(C.abs());
            }
        }
        worst.iter().fold(0.0, |a, b| a.max(*b))
    }

    /// Evaluates the violations at q; returns the worst of the exact constraints.
    pub(crate) fn measure(
        &mut self,
        model: &Model,
        t: f64,
        q: &[f64],
        turns: &[f64],
        broken: &[bool],
    ) -> f64 {
        self.load_poses(model, q, 0..self.island.nodes.len());
        self.evaluate(model, t, turns, broken, Ask::Violation);
        self.worst_gap()
    }

    /// The same after all bodies have moved by `part` of `x`, if there is one; `before` keeps where they were.
    pub(crate) fn move_and_measure(
        &mut self,
        model: &Model,
        t: f64,
        part: Option<f64>,
        q: &mut [f64],
        before: &mut [[f64; 7]],
        turns: &[f64],
        broken: &[bool],
    ) -> f64 {
        let mut worst = 0.0f64;
        for chunk in self.pattern().chunks() {
            for n in chunk.nodes.clone() {
                let holder = self.island.nodes[n].holder;
                let place = model.coordinates_of(holder);
                before[n][..place.len()].copy_from_slice(&q[place]);
                if let Some(part) = part {
                    model.nudge(holder, &std::array::from_fn::<_, 6, _>(|k| part * self.x[6 * n + k]), q);
                }
            }
            self.load_poses(model, q, chunk.nodes.clone());
            self.evaluate_some(model, chunk.couplings.clone(), t, turns, broken, Ask::Violation);
            worst = worst.max(self.worst_of(chunk.couplings.clone()));
        }
        worst
    }

    /// Masses and rows of the exact constraints at the poses loaded last, chunk by chunk: x becomes the smallest motion onto
    /// C = 0 in the metric of the masses, stiffened by the forces given.
    pub(crate) fn close(
        &mut self,
        model: &Model,
        t: f64,
        turns: &[f64],
        broken: &[bool],
        lambda: impl Fn(&Island, usize) -> [f64; 6],
        h: f64,
    ) {
        let pattern = self.pattern();
        let mut report = FactorReport::default();
        for chunk in pattern.chunks() {
            self.load_inertia(model, chunk.nodes.clone());
            self.evaluate_some(model, chunk.couplings.clone(), t, turns, broken, Ask::Jacobian);
            self.keep_exact(chunk.couplings.clone(), broken);
            self.stiffen_chunk(model, chunk, &lambda, broken, h);
            self.load_gaps(chunk.nodes.clone(), chunk.couplings.clone());
            self.factor_chunk(chunk, &mut report);
        }
        self.solve_backwards();
    }

    /// Right-hand sides of a projection: g = −C in exact rows, 0 in the others and in f.
    pub(crate) fn load_gaps(&mut self, nodes: Range<usize>, constraints: Range<usize>) {
        self.x[6 * nodes.start..6 * nodes.end].fill(0.0);
        for c in constraints {
            let C = &self.violation[c];
            let g = if self.island.exact[c] { C.map(|C| -C) } else { [0.0; 6] };
            self.y[6 * c..6 * c + 6].copy_from_slice(&g);
        }
    }

    /// Largest |ω| of the bodies \[rad/s\].
    pub(crate) fn fastest_turn(&self, v: &[f64]) -> f64 {
        let turning = self.island.nodes.iter().filter(|node| node.dofs == 6);
        turning.map(|node| triple(&v[node.v..], 1).norm_squared()).fold(0.0, f64::max).sqrt()
    }

    /// Leaves only the rows that must hold exactly, and those as hard as can be, of some constraints.
    pub(crate) fn keep_exact(&mut self, constraints: Range<usize>, broken: &[bool]) {
        for c in constraints {
            if self.island.exact[c] && !self.island.terms[c].is_broken(broken) {
                let rows = self.island.row_count[c] as usize;
                self.softness[c] = std::array::from_fn(|row| if row < rows { 0.0 } else { 1.0 });
            } else {
                self.softness[c] = [1.0; 6];
                self.island.blocks(c).for_each(|b| self.jacobian[b] = [0.0; 36]);
            }
        }
    }

    /// Moves all bodies by `scale` times `x`.
    pub(crate) fn nudge_all(&self, model: &Model, scale: f64, q: &mut [f64]) {
        for (node, x) in self.island.nodes.iter().zip(self.x.as_chunks::<6>().0) {
            model.nudge(node.holder, &x.map(|x| scale * x), q);
        }
    }
}

/// Mass and inertia of a holder that is turned by R.
fn inertia(model: &Model, holder: Holder, R: &Mat3) -> Inertia {
    let (mass, angular) = match holder {
        Holder::Rigid(k) => {
            (model.rigid.mass[k as usize], R * model.rigid.inertia[k as usize] * R.transpose())
        }
        Holder::Particle(i) => (model.particles.mass[i as usize], Mat3::identity()),
        Holder::World => (1.0, Mat3::identity()),
    };
    Inertia { linear: Mat3::from_diagonal_element(mass), angular }
}

fn linear(block: &Block, row: usize) -> Vec3 {
    Vec3::new(block[6 * row], block[6 * row + 1], block[6 * row + 2])
}

fn add_linear(from: &Block, to: &mut Block, rows: usize, map: impl Fn(Vec3) -> Vec3) {
    for row in 0..rows {
        let a = map(linear(from, row));
        for k in 0..3 {
            to[6 * row + k] += a[k];
        }
    }
}

/// Violations at a state; nothing else.
fn measured(model: &Model, state: &State) -> (System, f64) {
    let mut system = System::default();
    system.enter(Island::unsolved(model), Keep::All);
    let worst = system.measure(model, state.time, &state.q, &state.turns, &state.broken);
    (system, worst)
}

/// Worst |C| of the joints that must hold exactly, at a state \[m or rad\].
pub fn worst_gap(model: &Model, state: &State) -> f64 {
    measured(model, state).1
}

/// Number and worst |C| of each constraint that must hold exactly, at a state \[m or rad\].
pub fn gaps(model: &Model, state: &State) -> Vec<(usize, f64)> {
    let (system, _) = measured(model, state);
    let worst = |c: usize| {
        let rows = &system.violation[c][..model.constraints[c].constraint.rows()];
        // A gap that is not a number is the worst of all.
        rows.iter().fold(0.0f64, |w, x| if x.is_nan() { f64::NAN } else { w.max(x.abs()) })
    };
    let held = |c: &usize| model.constraints[*c].is_exact() && !state.broken[model.constraints[*c].joint];
    (0..model.constraints.len()).filter(held).map(|c| (c, worst(c))).collect()
}

/// Rows of the joints that hold exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowCount {
    /// All of them.
    pub rows: usize,
    /// Those that follow from the others.
    pub weak: usize,
}

/// Counts the exact rows and those that depend on others: each of the rest takes a degree of freedom.
pub fn independent_rows(model: &Model, state: &State) -> RowCount {
    let mut system = System::default();
    system.prepare(model);
    system.load_bodies(model, &state.q, &state.v);
    system.evaluate(model, state.time, &state.turns, &state.broken, Ask::Jacobian);
    let mut rows = 0;
    for (c, entry) in model.constraints.iter().enumerate() {
        let held = entry.is_exact() && !state.broken[entry.joint];
        for row in 0..6 {
            let used = held && row < entry.constraint.rows();
            rows += usize::from(used);
            system.softness[c][row] = if used { 0.0 } else { 1.0 };
            if !used {
                system.clear_row(c, row);
            }
        }
    }
    let weak = if rows == 0 { 0 } else { system.factor() as usize };
    RowCount { rows, weak }
}
