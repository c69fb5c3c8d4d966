//! The linear system where all that moves are affine bodies without joints: boxes, stones, links of a chain net (affine body
//! dynamics: Lan et al. 2022).
//!
//! $H$ has a dense 12×12 block per body, inertia and stiffness and all contacts of it, and one per pair of bodies that
//! touch. Contacts of a pair come summed already ([`ContactSet::add_hessian`](crate::collide::ContactSet::add_hessian)), so
//! they are added to their two or three blocks and nothing is sorted but the pairs. Each island has its own factor over its
//! bodies ([`BlockCholesky`]), whose places are kept while the same bodies touch.
//!
//! **Factors that serve twice.** Let $\delta_1 = -H_1^{-1}g_1$ be a Newton step and g the gradient where it led. With the factor at
//! hand, $\delta_2 = -H_1^{-1}g = -H_1^{-1}\int(H - H_1)\,\delta_1$: the ratio $|\delta_2|/|\delta_1|$ is the part by which the
//! Hessian has changed on the way, and Newton's own next step differs from $\delta_2$ by about as much. So where $\delta_2$ is
//! much shorter than $\delta_1$ and ends the iteration, it is the step, and nothing is assembled or factored for it.
//!
//! That ratio knows of the direction of $\delta_1$ alone, and nothing of one in which friction has grown weaker. More is known
//! where the change of every contact is (`ContactPotential::take_hessian_change`): if
//! $-rH_1 \preceq H - H_1 \preceq rH_1$ along $\delta_2$, then the gradient behind it is $(1 - HH_1^{-1})g$, and the Newton step
//! that remains has the size $|H^{-1}(1 - HH_1^{-1})g| = |(H^{-1}H_1 - 1)\,\delta_2| \le \tfrac{r}{1 - r}|\delta_2|$ in the norm of
//! $H_1$. Where that is well below the tolerance $\delta_2$ ends the iteration, however long it is.
//!
//! Where nothing acts but weight and what keeps bodies stiff, energy, gradient and Hessian are taken body by body, and only for
//! bodies that are not done.

use super::islands::{Islands, NONE};
use super::potential::Potential;
use crate::collide::{HessianSink, Sym3};
use crate::forces::Tangent;
use crate::forces::nary::AffineStiffness;
use crate::math::{Mat3, triple};
use crate::model::{IpcModel, Model};
use crate::solve::block_cholesky::{Block, BlockCholesky, zero};
use crate::state::State;
use rayon::prelude::*;

type Block12 = Block<12>;

/// No body: the block is held.
const HELD: u32 = u32::MAX;
/// When a factor serves a second time.
struct Tuning {
    /// Bodies of an island from which on conjugate gradients are faster.
    most: usize,
    /// The step is shorter by this factor than the first one, and by that factor below the tolerance,
    shorter: f64,
    safe: f64,
    /// or what remains behind it is shorter than this part of the tolerance,
    remainder: f64,
    /// which is asked where the Hessian has changed by no more than this.
    most_change: f64,
}

const TUNING: Tuning = Tuning { most: 150, shorter: 0.1, safe: 0.8, remainder: 0.4, most_change: 0.5 };

/// What a last step with a factor that serves twice may leave, as a part of the tolerance.
pub(super) const SHORTER_AND_SAFE: f64 = TUNING.safe * TUNING.shorter;

/// H of all bodies, and how it is solved.
#[derive(Debug, Default)]
pub(super) struct BodySystem {
    /// Body of each block, and the first block of each body.
    body: Vec<u32>,
    first: Vec<u32>,
    /// What keeps each body stiff, and the weight of all blocks \[N\]; only where nothing else acts.
    stiff: Vec<AffineStiffness>,
    weight: Vec<f64>,
    /// Inertia, stiffness and contacts.
    diagonal: Vec<Block12>,
    /// Pairs of bodies, low number first, rising, and where their blocks are: row of the second, column of the first.
    pairs: Vec<([u32; 2], u32)>,
    blocks: Vec<Block12>,
    used: usize,
    islands: Vec<BodyIsland>,
    /// Island of each group, and place of each body in its island.
    island: Vec<u32>,
    place: Vec<u32>,
    /// First bodies of the groups that are solved, and the island that each body was the first of.
    leads: Vec<u32>,
    led: Vec<u32>,
    /// How often islands have been found, and the iterate at which H was assembled last.
    round: u64,
    pub(super) iterate: u64,
}

/// The factor of one island.
#[derive(Debug, Default)]
struct BodyIsland {
    /// The round in which it was found last.
    round: u64,
    /// Its first body.
    lead: u32,
    bodies: Vec<u32>,
    before: Vec<u32>,
    /// How fast the farthest point of the step goes that was found when the factor was made \[m/s\]; 0 if the factor does
    /// not serve again. The iterate at which it was made.
    speed: f64,
    factored_at: u64,
    /// If the present step was found with a factor that served before: the part of it that remains when it is taken, 1 if that is
    /// not known.
    remainder: Option<f64>,
    pairs: Vec<[u32; 2]>,
    blocks: Vec<u32>,
    x: Vec<f64>,
    tried: Vec<f64>,
    factor: BlockCholesky<12>,
}

/// True if the model has nothing but affine bodies that move, all of them without joints, and forces with an energy.
pub(super) fn only_bodies(model: &Model, ipc: &IpcModel) -> bool {
    let held = ipc.held.iter().filter(|h| **h).count();
    let free = |first: u32| (first..first + 4).all(|i| !ipc.held[i as usize]);
    let bodies = ipc.affine.iter().filter(|&&first| free(first)).count();
    model.layout.nv == 3 * model.layout.particles
        && !ipc.has_joints()
        && model.constraints.is_empty()
        && model.robots.is_empty()
        && model.filters.len() <= held
        && model.forces.iter().all(|f| f.force.is_conservative())
        && held + 4 * bodies == model.layout.particles
}

/// A of the body with this first block.
#[inline(always)]
fn columns(q: &[f64], first: usize) -> Mat3 {
    Mat3::from_columns(&[1, 2, 3].map(|k| triple(q, first + k)))
}

/// Adds a 3×3 block at its place, and its mirror image.
#[inline(always)]
fn add(H: &mut Block12, i: usize, j: usize, block: &Mat3) {
    for c in 0..3 {
        for r in 0..3 {
            H[3 * j + c][3 * i + r] += block[(r, c)];
        }
    }
    if i != j {
        for c in 0..3 {
            for r in 0..3 {
                H[3 * i + r][3 * j + c] += block[(r, c)];
            }
        }
    }
}

/// Adds a symmetric 3×3 block at rows i, columns j.
#[inline(always)]
fn add_symmetric(H: &mut Block12, i: usize, j: usize, N: &Sym3) {
    let [xx, xy, xz, yy, yz, zz] = *N;
    let columns = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
    for c in 0..3 {
        for r in 0..3 {
            H[3 * j + c][3 * i + r] += columns[c][r];
        }
    }
}

impl BodySystem {
    /// Takes inertia and forces where the potential was evaluated last, and no contacts. False if a force acts on what is
    /// carried or joins two bodies.
    pub(super) fn assemble(&mut self, model: &Model, ipc: &IpcModel, potential: &Potential) -> bool {
        self.number(model, ipc);
        self.diagonal.clear();
        self.diagonal.resize(self.first.len(), zero());
        let Self { body, first, diagonal, .. } = self;
        let mut good = true;
        potential.each_block(model, &mut |i: usize, j: usize, block: &Mat3| {
            let (Some(&a), Some(&b)) = (body.get(i), body.get(j)) else {
                good = false;
                return;
            };
            if a == HELD || b == HELD {
                return;
            }
            good &= a == b;
            if a == b {
                let origin = first[a as usize] as usize;
                add(&mut diagonal[a as usize], i - origin, j - origin, block);
            }
        });
        self.pairs.clear();
        self.used = 0;
        good
    }

    /// Numbers the bodies, once per model.
    fn number(&mut self, model: &Model, ipc: &IpcModel) {
        if self.body.len() == model.layout.particles {
            return;
        }
        self.body.clear();
        self.body.resize(model.layout.particles, HELD);
        self.first.clear();
        for &first in ipc.affine.iter().filter(|&&first| !ipc.held[first as usize]) {
            let body = self.first.len() as u32;
            self.body[first as usize..first as usize + 4].fill(body);
            self.first.push(first);
        }
    }

    /// Begins a step: true if nothing acts but weight and what keeps the bodies stiff, so that each of them can be taken by
    /// itself.
    pub(super) fn begin(&mut self, model: &Model, ipc: &IpcModel, state: &State, time: f64) -> bool {
        self.number(model, ipc);
        let known = |kind: &str| ["gravity", "affine bodies"].contains(&kind);
        if !state.applied.is_empty() || !model.forces.iter().all(|f| known(f.force.kind())) {
            return false;
        }
        self.stiff.clear();
        self.weight.clear();
        self.weight.resize(model.layout.robots_v(), 0.0);
        let points = model.points(time, &state.q, &state.v);
        for batch in &model.forces {
            match batch.force.affine_bodies() {
                Some(list) => {
                    let free = |b: &&AffineStiffness| !ipc.held[b.columns[0].index()];
                    self.stiff.extend(list.bodies.iter().filter(free));
                }
                None => batch.force.add_force(&points, &mut self.weight),
            }
        }
        self.stiff.sort_unstable_by_key(|b| b.columns[0].index());
        self.stiff.len() == self.first.len()
            && self.stiff.iter().zip(&self.first).all(|(b, &first)| {
                b.columns.map(|c| c.index()) == [1, 2, 3].map(|k| first as usize + k)
            })
            && model.particles.shared.iter().all(|s| self.body[s.0 as usize] == self.body[s.1 as usize])
            // Forces on carried points would have to be gathered.
            && self.weight[model.layout.nv..].iter().all(|f| *f == 0.0)
    }

    /// Bodies that are not done, with their first blocks and units.
    fn live<'a>(&'a self, islands: &'a Islands) -> impl Iterator<Item = (usize, usize, usize)> + 'a {
        let unit = |first: u32| islands.unit_of_block[first as usize] as usize;
        let all = self.first.iter().enumerate().map(move |(k, &first)| (k, first as usize, unit(first)));
        all.filter(|(_, _, u)| !islands.done[*u])
    }

    /// b ← −∇ of all but contact at q in bodies that are not done, zero elsewhere.
    pub(super) fn gradient(
        &self,
        model: &Model,
        islands: &Islands,
        potential: &mut Potential,
        q: &[f64],
        b: &mut Vec<f64>,
    ) {
        b.clear();
        b.resize(model.layout.nv, 0.0);
        let mut rounding = std::mem::take(&mut potential.rounding);
        rounding.clear();
        rounding.resize(model.layout.nv / 3, 0.0);
        let [_, pull] = potential.inertia_at(model, q);
        for (k, first, _) in self.live(islands) {
            let S = self.stiff[k].gradient(&columns(q, first));
            for c in 0..12 {
                let at = 3 * first + c;
                let f = self.weight[at] - if c < 3 { 0.0 } else { S.as_slice()[c - 3] };
                rounding[at / 3] += (pull[at].abs() + f.abs()) * q[at].abs();
                b[at] = f - pull[at];
            }
        }
        potential.rounding = rounding;
    }

    /// Energy of all but contact at q and the size of its terms \[J\] by units; zero for units that are done.
    pub(super) fn energies(
        &self,
        model: &Model,
        islands: &Islands,
        potential: &mut Potential,
        q: &[f64],
        out: &mut [[f64; 2]],
    ) {
        let [off, pull] = potential.inertia_at(model, q);
        for (k, first, unit) in self.live(islands) {
            let (mut kinetic, mut high) = (0.0, 0.0);
            for at in 3 * first..3 * first + 12 {
                kinetic += 0.5 * off[at] * pull[at];
                high -= self.weight[at] * q[at];
            }
            let stretch = self.stiff[k].energy(&columns(q, first));
            out[unit][0] += stretch + high + kinetic;
            out[unit][1] += stretch + f64::abs(high) + kinetic;
        }
    }

    /// Takes inertia and stiffness of the bodies that are not done, at q, and no contacts; see [`begin`](Self::begin).
    pub(super) fn assemble_each(&mut self, model: &Model, islands: &Islands, inertia: f64, q: &[f64]) {
        let mut diagonal = std::mem::take(&mut self.diagonal);
        diagonal.resize(self.first.len(), zero());
        let solved = self.solved_groups(islands);
        for (k, first, _) in self.live(islands).filter(|l| !solved[islands.group_of_unit[l.2] as usize]) {
            let H = &mut diagonal[k];
            *H = zero();
            for i in 0..12 {
                H[i][i] = inertia * model.particles.mass[first + i / 3];
            }
            let K = self.stiff[k].hessian(&columns(q, first), Tangent::Projected);
            for i in 0..3 {
                for j in 0..3 {
                    for c in 0..3 {
                        for r in 0..3 {
                            H[3 * j + c + 3][3 * i + r + 3] += K[i][j][(r, c)];
                        }
                    }
                }
            }
        }
        for &(i, j, shared) in &model.particles.shared {
            let k = self.body[i as usize];
            if k != HELD {
                let origin = self.first[k as usize];
                let block = Mat3::from_diagonal_element(inertia * shared);
                add(&mut diagonal[k as usize], (i - origin) as usize, (j - origin) as usize, &block);
            }
        }
        self.diagonal = diagonal;
        self.pairs.clear();
        self.used = 0;
    }

    /// The block of bodies a < b.
    fn pair(&mut self, a: u32, b: u32) -> &mut Block12 {
        let at = match self.pairs.last() {
            Some((last, _)) if *last < [a, b] => self.pairs.len(),
            _ => self.pairs.partition_point(|(p, _)| *p < [a, b]),
        };
        if self.pairs.get(at).is_none_or(|(p, _)| *p != [a, b]) {
            self.pairs.insert(at, ([a, b], self.used as u32));
            if self.blocks.len() == self.used {
                self.blocks.push(zero());
            }
            self.blocks[self.used] = zero();
            self.used += 1;
        }
        let slot = self.pairs[at].1 as usize;
        &mut self.blocks[slot]
    }

    /// Finds the islands that are not done, their bodies and their part of b.
    pub(super) fn find_islands(&mut self, groups: &Islands, b: &[f64]) {
        self.round += 1;
        let Self { first, islands, island, place, leads, led, round, .. } = self;
        island.clear();
        island.resize(groups.groups, NONE);
        place.resize(first.len(), 0);
        led.resize(first.len(), NONE);
        leads.clear();
        let unit = |at: u32| groups.unit_of_block[at as usize] as usize;
        let awake = || first.iter().enumerate().filter(|(_, at)| !groups.done[unit(**at)]);
        for (k, &at) in awake() {
            let g = groups.group_of_unit[unit(at)] as usize;
            if island[g] == NONE {
                island[g] = leads.len() as u32;
                leads.push(k as u32);
            }
        }
        // Each island goes where it was last time, if it was: the places of its factor are then known.
        if islands.len() < leads.len() {
            islands.resize_with(leads.len(), || BodyIsland { lead: NONE, ..BodyIsland::default() });
        }
        for &lead in &*leads {
            let own = &mut led[lead as usize];
            match islands.get_mut(*own as usize).filter(|i| i.lead == lead) {
                Some(island) => island.round = *round,
                None => *own = NONE,
            }
        }
        let mut next = 0;
        for &lead in &*leads {
            let own = &mut led[lead as usize];
            if *own == NONE {
                while islands[next].round == *round {
                    next += 1;
                }
                *own = next as u32;
                (islands[next].round, islands[next].lead) = (*round, lead);
            }
        }
        for own in island.iter_mut().filter(|g| **g != NONE) {
            *own = led[leads[*own as usize] as usize];
            islands[*own as usize].clear();
        }
        for (k, &at) in awake() {
            let own = &mut islands[island[groups.group_of_unit[unit(at)] as usize] as usize];
            place[k] = own.bodies.len() as u32;
            own.bodies.push(k as u32);
            own.x.extend_from_slice(&b[3 * at as usize..3 * at as usize + 12]);
        }
        for own in islands.iter_mut().filter(|i| i.round == *round && i.bodies != i.before) {
            own.speed = 0.0;
        }
    }

    /// No factor serves again.
    pub(super) fn forget_factors(&mut self) {
        self.islands.iter_mut().for_each(|i| i.speed = 0.0);
    }

    /// True if a factor may serve again that was made at the iterate `reference`, from which changes of the Hessian are counted.
    pub(super) fn asks_for_change(&self, reference: Option<u64>) -> bool {
        let mut found = self.islands.iter().filter(|i| i.round == self.round);
        found.any(|i| reference == Some(i.factored_at) && i.speed != 0.0)
    }

    /// Finds the steps of islands with the factors of their last ones, where that is enough: see the head of this file.
    /// `speed` tells how fast a block goes that moves by a triple; `tolerance` and `change` of the Hessian since `reference` are
    /// those of each group.
    pub(super) fn try_factors(
        &mut self,
        groups: &Islands,
        speed: impl Fn(usize, &[f64]) -> f64 + Sync,
        tolerance: &[f64],
        change: &[f64],
        reference: Option<u64>,
    ) {
        let (first, round) = (&self.first, self.round);
        let one = |island: &mut BodyIsland| {
            if island.speed == 0.0 {
                return;
            }
            let lead = groups.group(first[island.lead as usize] as usize) as usize;
            let mut tried = std::mem::take(&mut island.tried);
            tried.clone_from(&island.x);
            island.factor.solve(&mut tried);
            let now = island.fastest(&tried, first, &speed);
            let known = reference == Some(island.factored_at);
            let r = if known { change.get(lead).copied().unwrap_or(1.0) } else { 1.0 };
            let remainder = if r < TUNING.most_change { r / (1.0 - r) } else { 1.0 };
            let short =
                now <= TUNING.safe * tolerance[lead] || remainder * now <= TUNING.remainder * tolerance[lead];
            if now <= TUNING.shorter * island.speed && short {
                island.remainder = Some(remainder);
                std::mem::swap(&mut island.x, &mut tried);
            }
            (island.speed, island.tried) = (0.0, tried);
        };
        self.islands.par_iter_mut().filter(|i| i.round == round).for_each(one);
    }

    /// The part of its step that remains when each group takes it, where that is known, and 1 for all others.
    pub(super) fn remainders(&self) -> impl Iterator<Item = f64> {
        let of = |i: &u32| self.islands.get(*i as usize).and_then(|i| i.remainder).unwrap_or(1.0);
        self.island.iter().map(of)
    }

    /// True for the groups whose step has been found already.
    pub(super) fn solved_groups(&self, groups: &Islands) -> Vec<bool> {
        let solved = |i: &u32| self.islands.get(*i as usize).is_some_and(|i| i.remainder.is_some());
        debug_assert_eq!(self.island.len(), groups.groups);
        self.island.iter().map(solved).collect()
    }

    /// δ ← H⁻¹ b in the groups that are not done. False if that failed or a group is too large: then another way must be
    /// taken. `speed` tells how fast a block goes that moves by a triple.
    pub(super) fn solve(
        &mut self,
        groups: &Islands,
        speed: impl Fn(usize, &[f64]) -> f64 + Sync,
        delta: &mut [f64],
    ) -> bool {
        let Self { first, diagonal, pairs, blocks, islands, island, place, leads, .. } = self;
        let (iterate, round) = (self.iterate, self.round);
        let found = |i: &BodyIsland| i.round == round;
        if islands.iter().any(|i| found(i) && i.bodies.len() > TUNING.most) {
            return false;
        }
        for &([a, b], slot) in pairs.iter() {
            let group = |k: u32| groups.group(first[k as usize] as usize);
            let g = group(a);
            if island[g as usize] != NONE && group(b) == g {
                let own = &mut islands[island[g as usize] as usize];
                own.pairs.push([place[a as usize], place[b as usize]]);
                own.blocks.push(slot);
            }
        }
        let one = |island: &mut BodyIsland| {
            if !found(island) || island.remainder.is_some() {
                return true;
            }
            let own = island.bodies.iter().map(|&k| &diagonal[k as usize]);
            let good = island.factor.factor(&island.pairs, own, |k| &blocks[island.blocks[k] as usize]);
            if good {
                island.factor.solve(&mut island.x);
                island.speed = island.fastest(&island.x, first, &speed);
                island.factored_at = iterate;
            }
            good && island.x.iter().all(|x| x.is_finite())
        };
        // Islands know nothing of each other: the bits are the same in any order and on any thread.
        let good = if leads.len() > 1 {
            islands.par_iter_mut().map(one).reduce(|| true, |a, b| a && b)
        } else {
            islands.iter_mut().all(one)
        };
        for island in islands.iter().filter(|i| found(i)) {
            for (k, x) in island.bodies.iter().zip(island.x.chunks_exact(12)) {
                let at = 3 * first[*k as usize] as usize;
                delta[at..at + 12].copy_from_slice(x);
            }
        }
        good
    }
}

impl BodyIsland {
    /// Forgets all but the factor and whose it is.
    fn clear(&mut self) {
        std::mem::swap(&mut self.bodies, &mut self.before);
        self.bodies.clear();
        self.pairs.clear();
        self.blocks.clear();
        self.x.clear();
        self.remainder = None;
    }

    /// How fast the fastest block of a step goes \[m/s\].
    fn fastest(&self, x: &[f64], first: &[u32], speed: impl Fn(usize, &[f64]) -> f64) -> f64 {
        let of = |(&k, x): (&u32, &[f64])| {
            let block = first[k as usize] as usize;
            x.chunks_exact(3).enumerate().map(|(i, d)| speed(block + i, d)).fold(0.0, f64::max)
        };
        self.bodies.iter().zip(x.chunks_exact(12)).map(of).fold(0.0, f64::max)
    }
}

impl HessianSink for BodySystem {
    fn add(&mut self, row: u32, column: u32, N: &Sym3) {
        let (a, b) = (self.body[row as usize], self.body[column as usize]);
        if a == HELD || b == HELD {
            return;
        }
        let i = (row - self.first[a as usize]) as usize;
        let j = (column - self.first[b as usize]) as usize;
        if a == b {
            let H = &mut self.diagonal[a as usize];
            add_symmetric(H, i, j, N);
            if i != j {
                add_symmetric(H, j, i, N);
            }
        } else if a > b {
            add_symmetric(self.pair(b, a), i, j, N);
        } else {
            add_symmetric(self.pair(a, b), j, i, N);
        }
    }

    fn add_patch(&mut self, blocks: &[u32], patch: &[Sym3]) {
        let body = |k: usize| self.body[blocks[k] as usize];
        let whole =
            |k: usize| body(k) != HELD && self.first[body(k) as usize] == blocks[k] && body(k) == body(k + 3);
        let bodies = blocks.len() / 4;
        if !(blocks.len() == 4 && whole(0) || blocks.len() == 8 && whole(0) && whole(4)) {
            let mut k = 0;
            for (i, &row) in blocks.iter().enumerate() {
                for &column in &blocks[..=i] {
                    self.add(row, column, &patch[k]);
                    k += 1;
                }
            }
            return;
        }
        // Place of row i, column j ≤ i in the patch.
        let at = |i: usize, j: usize| &patch[i * (i + 1) / 2 + j];
        for side in 0..bodies {
            let H = &mut self.diagonal[self.body[blocks[4 * side] as usize] as usize];
            for i in 0..4 {
                for j in 0..=i {
                    let N = at(4 * side + i, 4 * side + j);
                    add_symmetric(H, i, j, N);
                    if i != j {
                        add_symmetric(H, j, i, N);
                    }
                }
            }
        }
        if bodies == 2 {
            // Blocks rise, so bodies do.
            let H = self.pair(self.body[blocks[0] as usize], self.body[blocks[4] as usize]);
            for i in 0..4 {
                for j in 0..4 {
                    add_symmetric(H, i, j, at(4 + i, j));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::potential::BlockSink;
    use crate::math::{Blocks, Random, triple};

    /// Four bodies, the third of them held: contacts between them, alone and with what is held, whole and in parts.
    #[test]
    fn the_answer_solves_the_system_of_all_patches() {
        let mut random = Random::new(9);
        let body = |b: u32| if b == 2 { HELD } else { b - u32::from(b > 2) };
        let mut bodies = BodySystem {
            body: (0..16).map(|i| body(i / 4)).collect(),
            first: vec![0, 4, 12],
            diagonal: vec![zero(); 3],
            ..BodySystem::default()
        };
        let mut list = Blocks::default();
        for k in 0..3 {
            for i in 0..12 {
                bodies.diagonal[k][i][i] = 50.0;
            }
        }
        let patches: [&[u32]; 6] = [
            &[0, 1, 2, 3, 4, 5, 6, 7],
            &[4, 5, 6, 7],
            &[4, 5, 6, 7, 12, 13, 14, 15],
            &[0, 1, 2, 3, 4, 5, 6, 7],
            &[4, 5, 6, 7, 8, 9, 10, 11],
            &[0, 2, 12],
        ];
        for blocks in patches {
            let w: Vec<f64> = blocks.iter().map(|_| random.between(-1.0, 1.0)).collect();
            let n = crate::math::Vec3::from_fn(|_, _| random.between(-1.0, 1.0));
            let N = crate::collide::dyad(1.0, &n);
            let mut patch = Vec::new();
            for i in 0..blocks.len() {
                for j in 0..=i {
                    patch.push(N.map(|x| w[i] * w[j] * x));
                }
            }
            bodies.add_patch(blocks, &patch);
            BlockSink(&mut list).add_patch(blocks, &patch);
        }
        let mut islands = Islands::default();
        islands.unit_of_block = (0..16).map(|i| if i / 4 == 2 { NONE } else { body(i / 4) }).collect();
        (islands.units, islands.groups) = (3, 1);
        (islands.group_of_unit, islands.done) = (vec![0; 3], vec![false; 3]);
        let b: Vec<f64> = (0..48).map(|_| random.between(-1.0, 1.0)).collect();
        let mut x = vec![0.0; 48];
        let speed = |_: usize, d: &[f64]| d.iter().map(|d| d.abs()).fold(0.0, f64::max);
        bodies.find_islands(&islands, &b);
        assert!(bodies.solve(&islands, speed, &mut x));
        let free = |i: u32| i / 4 != 2;
        let mut y: Vec<f64> = x.iter().map(|x| 50.0 * x).collect();
        for (i, j, block) in list.entries.iter().filter(|e| free(e.0) && free(e.1)) {
            crate::math::add_triple(&mut y, *i as usize, &(block * triple(&x, *j as usize)));
        }
        for k in (0..48).filter(|k| free(k / 3)) {
            assert!((y[k as usize] - b[k as usize]).abs() < 1e-12, "{k}");
        }
        assert!(x[24..36].iter().all(|x| *x == 0.0));
        // Groups that are done stay where they are, and others do not notice.
        let alone = x[36..].to_vec();
        (islands.groups, islands.group_of_unit, islands.done) = (2, vec![0, 0, 1], vec![true, true, false]);
        bodies.find_islands(&islands, &b);
        let mut y = vec![0.0; 48];
        assert!(bodies.solve(&islands, speed, &mut y));
        assert!(y[..36].iter().all(|y| *y == 0.0) && y[36..] != alone[..]);
        // The factor serves again for a step that is short and ends the iteration, and once; also if it is known how much the
        // Hessian has changed since, and so that little is left.
        let fastest = y.iter().fold(0.0f64, |m, y| m.max(y.abs()));
        for (size, tolerance, change, serves) in [
            (0.05, 1.0, 1.0, true),
            (0.05, 0.0, 0.0, true),
            (0.05, 0.0, 0.1, false),
            (0.5, 1.0, 0.0, false),
            // 0.05 · 0.2/0.8 is left, and 0.4 of the tolerance may be.
            (0.05, 0.033 * fastest, 0.2, true),
            (0.05, 0.030 * fastest, 0.2, false),
            (0.05, 0.033 * fastest, 1.0, false),
        ] {
            bodies.iterate = 7;
            bodies.find_islands(&islands, &b);
            assert!(bodies.solve(&islands, speed, &mut y));
            assert!(bodies.asks_for_change(Some(7)));
            let small: Vec<f64> = b.iter().map(|b| size * b).collect();
            for again in [true, false] {
                bodies.find_islands(&islands, &small);
                bodies.try_factors(&islands, speed, &[0.0, tolerance], &[0.0, change], Some(7));
                assert_eq!(bodies.solved_groups(&islands), [false, serves && again], "{size} {tolerance}");
                let known = serves && again && change < 0.5;
                let left = if known { change / (1.0 - change) } else { 1.0 };
                assert_eq!(bodies.remainders().collect::<Vec<f64>>(), [1.0, left]);
            }
            let mut z = vec![0.0; 48];
            assert!(bodies.solve(&islands, speed, &mut z));
            for k in 0..48 {
                assert!((z[k] - size * y[k]).abs() < 1e-14, "{k}");
            }
        }
    }
}
