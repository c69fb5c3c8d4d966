//! Islands: what must move together.
//!
//! A *unit* is what forces, joints and geometry tie together whatever happens: the blocks of a body, of all bodies that
//! joints or an articulation connect, and of all that share a batch of forces whose energy is known as a sum only. An *island* is a connected component of units over
//! the contacts of the moment. The incremental potential is a sum over islands, so each of them has its own Newton
//! step, its own part of that step, its own test of descent and its own end of the iteration.

use crate::collide::Contact;
use crate::model::{IpcModel, Model};
use crate::solve::union_find::UnionFind;

/// No unit, no group: what does not move.
pub(super) const NONE: u32 = u32::MAX;

/// How the energy of a batch of forces is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// By points, seen one at a time.
    Local,
    /// By points, as the batch says itself.
    Own,
    /// As a sum, all of it within one unit.
    Unit(u32),
}

/// Units, and the groups that move together now.
#[derive(Debug, Default)]
pub(super) struct Islands {
    /// Unit of each block and, after them, of each carried point; of each body of the surface; `NONE` for held ones.
    pub unit_of_block: Vec<u32>,
    pub unit_of_body: Vec<u32>,
    pub units: usize,
    pub sharing: Vec<Sharing>,
    /// Unit of each term on joint coordinates and of each articulation; `NONE` where nothing of it moves.
    pub unit_of_term: Vec<u32>,
    pub unit_of_articulation: Vec<u32>,
    /// Units with exact linear rows: their system is more than a matrix.
    pub tied: Vec<bool>,
    /// Group of each unit and of each body; `NONE` for bodies that stand still.
    pub group_of_unit: Vec<u32>,
    pub group_of_body: Vec<u32>,
    pub groups: usize,
    /// Everything is one group, held blocks as well.
    pub whole: bool,
    /// Blocks of each group, rising; only after [`by_contacts`](Self::by_contacts).
    pub blocks: Vec<Vec<u32>>,
    /// Units that have come to rest in this iteration.
    pub done: Vec<bool>,
    sets: UnionFind,
    of: usize,
}

/// Joins some blocks; the first of them.
fn join_blocks(sets: &mut UnionFind, blocks: impl Iterator<Item = u32>) -> u32 {
    let mut first = NONE;
    for i in blocks {
        if first == NONE {
            first = i;
        }
        sets.join(first, i);
    }
    first
}

/// Where each point counts as what moves, and the blocks that are tied together.
struct Ties {
    sets: UnionFind,
    /// The block itself, or for carried points one of the blocks that carry them, which are all tied together; `NONE` for held ones.
    home: Vec<u32>,
}

impl Ties {
    fn new(model: &Model, held: &[bool], q: &[f64]) -> Self {
        let n = model.layout.particles;
        let mut home: Vec<u32> =
            (0..n as u32).zip(held).map(|(i, held)| if *held { NONE } else { i }).collect();
        home.resize(model.layout.points, NONE);
        let mut ties = Self { sets: UnionFind::new(n), home };
        let mut jacobian = crate::math::Blocks::default();
        for m in &model.mappings {
            jacobian.entries.clear();
            m.add_jacobian_blocks(q, &mut jacobian);
            for (child, carrier, _) in &jacobian.entries {
                let carrier = ties.home[*carrier as usize];
                if carrier == NONE {
                    continue;
                }
                let home = &mut ties.home[*child as usize];
                if *home == NONE {
                    *home = carrier;
                }
                ties.sets.join(*home, carrier);
            }
        }
        ties
    }

    /// Ties the blocks of some points that are free; the first of them.
    fn tie(&mut self, points: impl Iterator<Item = u32>) -> u32 {
        let Self { sets, home } = self;
        join_blocks(sets, points.map(|i| home[i as usize]).filter(|&i| i != NONE))
    }
}

impl Islands {
    /// True if the model is more than one unit.
    pub(super) fn several(&self) -> bool {
        self.units > 1
    }

    /// Finds the units, once per model.
    pub(super) fn prepare(&mut self, model: &Model, q: &[f64], v: &[f64]) {
        let n = model.layout.particles;
        if self.of == n + 1 && self.sharing.len() == model.forces.len() {
            return;
        }
        self.of = n + 1;
        self.sharing.clear();
        self.unit_of_block.clear();
        self.unit_of_body.clear();
        self.unit_of_term.clear();
        self.unit_of_articulation.clear();
        self.tied.clear();
        let bodies = model.ipc.as_ref().map_or(0, |ipc| ipc.geometry.surface.bodies.len());
        let mut list = crate::math::Blocks::default();
        let known = model.mappings.iter().all(|m| m.add_jacobian_blocks(q, &mut list));
        match model.ipc.as_ref().filter(|ipc| known && separable(model, ipc)) {
            Some(ipc) => self.find_units(model, ipc, q, v),
            None => {
                self.units = 1;
                self.unit_of_block.resize(model.layout.points, 0);
                self.unit_of_body.resize(bodies, 0);
                self.sharing.resize(model.forces.len(), Sharing::Unit(0));
                let [terms, drives] = model
                    .ipc
                    .as_ref()
                    .map_or([0; 2], |ipc| [ipc.joints.terms.len(), ipc.articulations.len()]);
                self.unit_of_term.resize(terms, 0);
                self.unit_of_articulation.resize(drives, 0);
                self.tied.push(true);
            }
        }
    }

    fn find_units(&mut self, model: &Model, ipc: &IpcModel, q: &[f64], v: &[f64]) {
        let n = model.layout.particles;
        let mut ties = Ties::new(model, &ipc.held, q);
        let mut body_block = Vec::new();
        for body in &ipc.geometry.surface.bodies {
            let maps = &ipc.geometry.maps[body.vertices.start as usize..body.vertices.end as usize];
            body_block.push(ties.tie(maps.iter().flat_map(|m| m.first_block..m.first_block + m.n as u32)));
        }
        for &first in &ipc.affine {
            ties.tie(first..first + 4);
        }
        let mut list = Vec::new();
        let term_block: Vec<u32> = (ipc.joints.terms.iter())
            .map(|term| {
                ipc.joints.gradient(term.coordinate, q, &mut list);
                ties.tie(list.iter().map(|(i, _)| *i))
            })
            .collect();
        let row_block: Vec<u32> =
            ipc.rows.iter().map(|row| ties.tie(row.terms.iter().map(|(i, _)| *i))).collect();
        let drive_block: Vec<u32> = (ipc.articulations.iter())
            .map(|a| ties.tie(a.links.iter().flat_map(|l| l.first..l.first + 4)))
            .collect();
        let sums = self.tie_forces(model, &mut ties, q, v);
        self.number_units(&mut ties, n);
        let unit = |block: u32| if block == NONE { NONE } else { self.unit_of_block[block as usize] };
        self.unit_of_body.extend(body_block.iter().map(|&b| unit(b)));
        self.unit_of_term.extend(term_block.iter().map(|&b| unit(b)));
        self.unit_of_articulation.extend(drive_block.iter().map(|&b| unit(b)));
        let rows: Vec<u32> = row_block.iter().chain(&drive_block).map(|&b| unit(b)).collect();
        let carried: Vec<u32> = ties.home[n..].iter().map(|&home| unit(home)).collect();
        for (batch, block) in sums {
            self.sharing[batch] = Sharing::Unit(if block == NONE { 0 } else { unit(block) });
        }
        self.unit_of_block.extend(carried);
        self.units = self.units.max(1);
        self.tied.resize(self.units, false);
        rows.iter().filter(|u| **u != NONE).for_each(|&u| self.tied[u as usize] = true);
    }

    /// Ties what forces tie, and finds how their energies are known; those known as a sum, with one of their blocks.
    fn tie_forces(&mut self, model: &Model, ties: &mut Ties, q: &[f64], v: &[f64]) -> Vec<(usize, u32)> {
        let points = model.points(0.0, q, v);
        let mut sums = Vec::new();
        let mut list = crate::math::Blocks::default();
        for batch in &model.forces {
            if batch.force.is_local() {
                let own = batch.force.share_energy(&points, &mut |_, _| {});
                self.sharing.push(if own { Sharing::Own } else { Sharing::Local });
                continue;
            }
            list.entries.clear();
            batch.force.add_tangent_blocks(&points, crate::forces::Tangent::Projected, &mut list);
            batch.force.add_damping_blocks(&points, &mut list);
            if batch.force.share_energy(&points, &mut |_, _| {}) {
                list.entries.iter().for_each(|e| {
                    ties.tie([e.0, e.1].into_iter());
                });
                self.sharing.push(Sharing::Own);
            } else {
                let first = ties.tie(list.entries.iter().flat_map(|e| [e.0, e.1]));
                sums.push((self.sharing.len(), first));
                self.sharing.push(Sharing::Unit(0));
            }
        }
        sums
    }

    /// Numbers the sets of the first n blocks that are free, in the order of their lowest blocks.
    fn number_units(&mut self, ties: &mut Ties, n: usize) {
        let mut number = vec![NONE; n];
        self.units = 0;
        for i in 0..n as u32 {
            if ties.home[i as usize] == NONE {
                self.unit_of_block.push(NONE);
                continue;
            }
            let root = ties.sets.find(i) as usize;
            if number[root] == NONE {
                number[root] = self.units as u32;
                self.units += 1;
            }
            self.unit_of_block.push(number[root]);
        }
    }

    /// Everything in one group, held bodies as well.
    pub(super) fn together(&mut self) {
        (self.groups, self.whole) = (1, true);
        self.group_of_unit.clear();
        self.group_of_unit.resize(self.units, 0);
        self.group_of_body.clear();
        self.group_of_body.resize(self.unit_of_body.len(), 0);
    }

    /// Every unit a group.
    pub(super) fn apart(&mut self) {
        (self.groups, self.whole) = (self.units, false);
        self.group_of_unit.clear();
        self.group_of_unit.extend(0..self.units as u32);
        self.group_of_body.clone_from(&self.unit_of_body);
    }

    /// Units in contact with each other share a group. A group with a unit that is not done is not done; true if that
    /// concerns a unit that was.
    pub(super) fn by_contacts<'a>(&mut self, contacts: impl Iterator<Item = &'a Contact>) -> bool {
        let sets = &mut self.sets;
        sets.reset(self.units);
        let mut last = [NONE; 2];
        for c in contacts {
            // Contacts of two bodies lie side by side.
            let pair = c.body_pair();
            if std::mem::replace(&mut last, pair) == pair {
                continue;
            }
            let [a, b] = c.bodies.map(|b| if b == NONE { NONE } else { self.unit_of_body[b as usize] });
            if a != b && a != NONE && b != NONE {
                sets.join(a, b);
            }
        }
        self.group_of_unit.clear();
        (self.groups, self.whole) = (0, false);
        for u in 0..self.units as u32 {
            let root = sets.find(u);
            // Roots are the lowest of their set: numbered already, unless u is the root itself.
            let group = if root == u {
                self.groups += 1;
                self.groups as u32 - 1
            } else {
                self.group_of_unit[root as usize]
            };
            self.group_of_unit.push(group);
        }
        let of = |u: u32| if u == NONE { NONE } else { self.group_of_unit[u as usize] };
        self.group_of_body.clear();
        self.group_of_body.extend(self.unit_of_body.iter().map(|&u| of(u)));
        let mut busy = vec![false; self.groups];
        for (u, done) in self.done.iter().enumerate() {
            busy[self.group_of_unit[u] as usize] |= !done;
        }
        let mut woke = false;
        for (u, done) in self.done.iter_mut().enumerate() {
            woke |= *done && busy[self.group_of_unit[u] as usize];
            *done = !busy[self.group_of_unit[u] as usize];
        }
        self.blocks.resize_with(self.blocks.len().max(self.groups), Vec::new);
        self.blocks.iter_mut().for_each(Vec::clear);
        for (i, &u) in self.unit_of_block.iter().take(self.of - 1).enumerate() {
            if u != NONE {
                self.blocks[self.group_of_unit[u as usize] as usize].push(i as u32);
            }
        }
        woke
    }

    /// True for each group with exact linear rows that is not done.
    pub(super) fn tied_groups(&self) -> Vec<bool> {
        let mut tied = vec![false; self.groups];
        for (u, &g) in self.group_of_unit.iter().enumerate() {
            tied[g as usize] |= self.tied[u] && !self.done[u];
        }
        tied
    }

    /// Group of a block; `NONE` for one that stands still.
    pub(super) fn group(&self, block: usize) -> u32 {
        if self.whole {
            return 0;
        }
        match self.unit_of_block[block] {
            NONE => NONE,
            u => self.group_of_unit[u as usize],
        }
    }

    /// Groups that touch each other, and for each group the lowest number of those it is joined with.
    pub(super) fn joined<'a>(&self, contacts: impl Iterator<Item = &'a Contact>) -> Vec<u32> {
        let mut sets = UnionFind::new(self.groups);
        for c in contacts {
            let [a, b] = c.bodies.map(|b| if b == NONE { NONE } else { self.group_of_body[b as usize] });
            if a != b && a != NONE && b != NONE {
                sets.join(a, b);
            }
        }
        (0..self.groups as u32).map(|g| sets.find(g)).collect()
    }
}

/// True if all that acts is known by bodies: no forces among all, no direction of a block held alone.
fn separable(model: &Model, ipc: &IpcModel) -> bool {
    let held = ipc.held.iter().filter(|h| **h).count();
    // Forces over pairs that change from moment to moment tie everything together.
    let pairs = ["all_pairs", "near_pairs"];
    model.forces.iter().all(|f| !pairs.contains(&f.force.kind()))
        && model.constraints.is_empty()
        && model.layout.rigid == 0
        && model.filters.len() <= held
}
