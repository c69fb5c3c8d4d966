//! Momentum: what nothing holds from outside keeps it, however well a linear system is solved.
//!
//! Let t carry all of an island along: 1 for places, 0 for columns of affine bodies. Forces within the island and contacts
//! within it do not change when it is carried along, so $t^T\nabla W = 0$ at every z, and $\nabla^2 W\,t = 0$. What is left
//! of the Hessian is inertia, $Ht = Mt/d^2$, and of the balance of forces
//!
//! $$ -t^T\nabla E = \frac{m}{d^2}(\bar s - \bar z) + f, $$
//!
//! with the mass m of the island, its centre $\bar z$ and the sum f of given forces: linear in z. A step δ that is
//! $H^{-1}b$ but for a residual has $t^T(b - H\delta)\ne0$, and that much momentum is lost. $\delta\leftarrow\delta + tc$ with
//!
//! $$ c = \frac{d^2}{m}\,t^T b - \frac1m\,t^T M\delta $$
//!
//! has none: after a whole step the momentum is right to rounding, whatever the stiffness, and steps after that keep it so,
//! whole or not, since they do not move the centre. c is a part of the path that collisions and the line search look at,
//! so nothing can come to intersect by it.
//!
//! A stiff body is nearly singular but for its inertia: where $\nabla^2W$ is $10^{16}$ times as large as $M/d^2$, rounding of $\nabla^2W\,t$
//! is as large as $Mt/d^2$, and a solver sees any motion of the whole body it likes. So $tc_0$, $c_0 = d^2t^Tb/m$, is taken out of the
//! system before, $b - Mtc_0/d^2$, where that is not a matrix that knows the centre to be free.

use super::islands::{Islands, NONE};
use crate::collide::Contact;
use crate::forces::Tangent;
use crate::math::{Blocks, Mat3, Vec3, add_triple, triple};
use crate::model::{IpcModel, Model};
use crate::solve::union_find::UnionFind;
use crate::state::State;

/// Rows of a stiffness that sum to less than this part of their size sum to nothing.
const NOTHING: f64 = 1e-9;

/// Who moves along with whom if nothing holds it, and what is known of it in an iteration.
#[derive(Debug, Default)]
pub(super) struct Momentum {
    /// Forces and particles of the model that this is about.
    of: Option<(usize, usize)>,
    /// Component of each block and of each body of the surface; the last one is all that something holds.
    component: Vec<u32>,
    /// Blocks that are places, and not columns of affine bodies,.
    places: Vec<u32>,
    of_body: Vec<u32>,
    components: u32,
    /// Mass of each component \[kg\], and a block of it.
    mass: Vec<f64>,
    block: Vec<u32>,
    sets: UnionFind,
    /// The island of each component, named after its lowest one, if nothing holds it and it is not done.
    island: Vec<u32>,
    /// Mass and tᵀb of each island, at its lowest component.
    whole: Vec<f64>,
    pull: Vec<Vec3>,
    /// What was taken out of b.
    kept: Vec<f64>,
    /// Momentum over mass that each group lacks \[m/s\].
    pub lack: Vec<f64>,
}

impl Momentum {
    /// Finds who moves along with whom, once per model.
    pub(super) fn prepare(&mut self, model: &Model, state: &State) {
        let n = model.layout.particles;
        let of = Some((model.forces.len(), n));
        if self.of == of {
            return;
        }
        self.of = of;
        let held = n as u32;
        let is_place = places(model);
        let mut sets = UnionFind::new(n + 1);
        tie(model, state, &mut sets);
        let mut number = vec![NONE; n + 1];
        self.component.clear();
        (self.components, self.mass, self.block) = (0, Vec::new(), Vec::new());
        let outside = sets.find(held);
        for i in 0..held {
            let root = sets.find(i);
            let own = &mut number[root as usize];
            if *own == NONE && root != outside {
                *own = self.components;
                self.components += 1;
                self.mass.push(0.0);
                self.block.push(i);
            }
            self.component.push(*own);
            if *own != NONE {
                self.mass[*own as usize] += model.particles.mass[i as usize];
            }
        }
        // What is held is the last one; a component without mass cannot be carried along.
        let last = self.components;
        let mass = &self.mass;
        let known = |c: &u32| *c != NONE && mass[*c as usize] > 0.0;
        self.component.iter_mut().filter(|c| !known(c)).for_each(|c| *c = last);
        self.places.clear();
        self.places.extend((0..held).filter(|i| is_place[*i as usize]));
        let geometry = model.ipc.as_ref().map(|ipc| &ipc.geometry);
        let bodies = geometry.map_or(&[][..], |g| &g.surface.bodies);
        self.of_body.clear();
        for body in bodies {
            let maps = geometry
                .map_or(&[][..], |g| &g.maps[body.vertices.start as usize..body.vertices.end as usize]);
            let first = maps.iter().find(|m| m.n > 0).map(|m| self.component[m.first_block as usize]);
            self.of_body.push(first.unwrap_or(last));
        }
    }

    /// Finds the islands that nothing holds at this iterate, and what momentum they lack. Nothing where there is no inertia.
    pub(super) fn find_lack<'a>(
        &mut self,
        islands: &Islands,
        contacts: impl Iterator<Item = &'a Contact>,
        [inertia, d]: [f64; 2],
        b: &[f64],
    ) {
        self.lack.clear();
        self.lack.resize(islands.groups, 0.0);
        self.island.clear();
        if self.components == 0 || inertia == 0.0 {
            return;
        }
        let last = self.components;
        self.sets.reset(last as usize + 1);
        let mut before = [NONE; 2];
        for c in contacts {
            if std::mem::replace(&mut before, c.bodies) == c.bodies {
                continue;
            }
            let [a, b] = c.bodies.map(|b| self.of_body.get(b as usize).copied().unwrap_or(last));
            if a != b {
                self.sets.join(a, b);
            }
        }
        let outside = self.sets.find(last);
        self.whole.clear();
        self.whole.resize(last as usize, 0.0);
        self.pull.clear();
        self.pull.resize(last as usize, Vec3::zeros());
        for c in 0..last {
            let root = self.sets.find(c);
            let done = || {
                let unit = islands.unit_of_block[self.block[c as usize] as usize];
                unit == NONE || islands.done[unit as usize]
            };
            let free = root != outside && !done();
            self.island.push(if free { root } else { NONE });
            if free {
                self.whole[root as usize] += self.mass[c as usize];
            }
        }
        for i in self.places.iter().map(|i| *i as usize) {
            if let Some(root) = self.root(self.component[i]) {
                self.pull[root] += triple(b, i);
            }
        }
        for c in 0..last {
            if let Some(root) = self.root(c) {
                let lack = &mut self.lack[islands.group(self.block[c as usize] as usize) as usize];
                *lack = lack.max(self.pull[root].norm() / (inertia * d * self.whole[root]));
            }
        }
    }

    /// The island of a component.
    fn root(&self, component: u32) -> Option<usize> {
        self.island.get(component as usize).filter(|c| **c != NONE).map(|c| *c as usize)
    }

    /// b −= M t c₀/d², until [`put_back`](Self::put_back).
    pub(super) fn take_out(&mut self, model: &Model, b: &mut [f64]) {
        self.kept.clear();
        self.kept.extend_from_slice(b);
        for i in 0..self.component.len() {
            if let Some(root) = self.root(self.component[i]) {
                add_triple(b, i, &(-model.particles.mass[i] / self.whole[root] * self.pull[root]));
            }
        }
    }

    /// b is as it was.
    pub(super) fn put_back(&self, b: &mut [f64]) {
        b.copy_from_slice(&self.kept);
    }

    /// δ += t c.
    pub(super) fn correct(&mut self, model: &Model, inertia: f64, delta: &mut [f64]) {
        if self.island.is_empty() {
            return;
        }
        for p in 0..self.pull.len() {
            self.pull[p] /= inertia;
        }
        for i in 0..self.component.len() {
            if let Some(root) = self.root(self.component[i]) {
                self.pull[root] -= model.particles.mass[i] * triple(delta, i);
            }
        }
        for i in self.places.iter().map(|i| *i as usize) {
            if let Some(root) = self.root(self.component[i]) {
                add_triple(delta, i, &(self.pull[root] / self.whole[root]));
            }
        }
    }
}

/// Blocks that are places, and not columns of affine bodies.
fn places(model: &Model) -> Vec<bool> {
    let mut out = vec![true; model.layout.particles];
    let affine = model.ipc.as_ref().map_or(&[][..], |ipc| &ipc.affine);
    affine.iter().for_each(|&first| out[first as usize + 1..first as usize + 4].fill(false));
    out
}

/// Joins blocks that forces, joints and geometry tie together; those that something holds with the last number.
fn tie(model: &Model, state: &State, sets: &mut UnionFind) {
    let n = model.layout.particles;
    let held = n as u32;
    if model.layout.nv != 3 * n || !model.constraints.is_empty() {
        sets.join_everything();
        return;
    }
    let places = places(model);
    for i in 0..held {
        if model.filters.block(i as usize).is_some() {
            sets.join(i, held);
        }
    }
    // Carried points go along with the first block that carries them.
    let mut home: Vec<u32> =
        (0..model.layout.points as u32).map(|i| if i < held { i } else { NONE }).collect();
    let mut list = Blocks::default();
    for m in &model.mappings {
        list.entries.clear();
        if !m.add_jacobian_blocks(&state.q, &mut list) {
            sets.join_everything();
            return;
        }
        let mut sum = vec![Mat3::zeros(); model.layout.points];
        for (child, carrier, J) in &list.entries {
            let (child, from) = (*child as usize, home[*carrier as usize]);
            if home[child] == NONE {
                home[child] = from;
            }
            sets.join(home[child], from);
            if places.get(*carrier as usize) != Some(&false) {
                sum[child] += J;
            }
        }
        for (child, _, _) in &list.entries {
            if (sum[*child as usize] - Mat3::identity()).norm() > NOTHING {
                sets.join(home[*child as usize], held);
            }
        }
    }
    let home = |i: u32| if home[i as usize] == NONE { held } else { home[i as usize] };
    if let Some(ipc) = &model.ipc {
        tie_bodies(ipc, state, &places, sets);
    }
    let points = model.points(0.0, &state.q, &state.v);
    for batch in model.forces.iter().filter(|b| b.force.affine_bodies().is_none()) {
        list.entries.clear();
        batch.force.add_tangent_blocks(&points, Tangent::Projected, &mut list);
        batch.force.add_damping_blocks(&points, &mut list);
        for (i, j, _) in &list.entries {
            sets.join(home(*i), home(*j));
        }
        let pairs = ["all_pairs", "near_pairs"].contains(&batch.force.kind());
        if batch.force.is_internal() {
            if pairs || list.entries.is_empty() {
                sets.join_all(0..held);
            }
            continue;
        }
        if list.entries.is_empty() {
            // Given forces such as weight; or something that does not tell what it acts on.
            if !batch.force.is_conservative() {
                sets.join_everything();
                return;
            }
            continue;
        }
        // Forces that do not change when all is carried along, of elements for example; all others hold what they act on.
        let mut sum = vec![Mat3::zeros(); model.layout.points];
        let mut size = vec![0.0; model.layout.points];
        for (i, _, K) in &list.entries {
            sum[*i as usize] += K;
            size[*i as usize] += K.norm();
        }
        for (i, j, _) in &list.entries {
            for i in [*i, *j] {
                if !(sum[i as usize].norm() < NOTHING * size[i as usize]) {
                    sets.join(home(i), held);
                }
            }
        }
    }
}

/// Joins the blocks of bodies, and those that joints tie together.
fn tie_bodies(ipc: &IpcModel, state: &State, places: &[bool], sets: &mut UnionFind) {
    let held = places.len() as u32;
    for body in &ipc.geometry.surface.bodies {
        let maps = &ipc.geometry.maps[body.vertices.start as usize..body.vertices.end as usize];
        sets.join_all(maps.iter().flat_map(|m| m.first_block..m.first_block + m.n as u32));
    }
    for &first in &ipc.affine {
        sets.join_all(first..first + 4);
    }
    for row in &ipc.rows {
        sets.join_all(row.terms.iter().map(|(i, _)| *i));
        let size: f64 = row.terms.iter().map(|(_, w)| w.abs()).sum();
        let sum: f64 = row.terms.iter().filter(|(i, _)| places[*i as usize]).map(|(_, w)| w).sum();
        if sum.abs() > NOTHING * size {
            sets.join(row.terms[0].0, held);
        }
    }
    let mut gradient = Vec::new();
    for term in &ipc.joints.terms {
        ipc.joints.gradient(term.coordinate, &state.q, &mut gradient);
        sets.join_all(gradient.iter().map(|(i, _)| *i));
        let of_places = || gradient.iter().filter(|(i, _)| places[*i as usize]);
        let size: f64 = of_places().map(|(_, g)| g.norm()).sum();
        let sum: Vec3 = of_places().map(|(_, g)| g).sum();
        if sum.norm() > NOTHING * size {
            sets.join(gradient[0].0, held);
        }
    }
    for a in &ipc.articulations {
        a.links.iter().for_each(|l| sets.join(l.first, held));
    }
}
