//! Trees of joints among heaps.
//!
//! Many islands of joints under many contacts, such as a crowd of ragdolls, are not solved one by one to the last digit:
//! they join the heaps (see `pile`), whose small steps hold their joints exactly after every sweep over the contacts. So
//! joints hold at the end of each part to rounding, and contacts are as good as the sweeps make them. Rows are those of the
//! start of the step: what they miss by turning since is closed by moving the bodies onto C = 0 afterwards, with the same
//! factors.
//!
//! **Which.** An island of joints may join if it is a tree of rigid bodies (at most one joint with the world) under plain hard
//! joints, none of which may break. Hard limits, rate motors and dry friction on their coordinates are swept like contacts
//! (see `ties`); loops, springs and servos stay with the exact path. It does join if in the whole scene such islands, with
//! all that they touch, have more contacts than a heap has at least, and `projection` is on.

use rayon::prelude::*;
use wide::f64x4 as Lanes;

use super::ContactWork;
use super::lanes::Body;
use super::ties::{Tie, When, is_tie};
use super::tree_lanes::{Alone, FREE, Factors, Limb, V6};
use crate::contact::response::{InverseInertia, NONE};
use crate::joints::{Ask, Hold, Holder, JointKind};
use crate::math::{set_triple, triple};
use crate::model::Model;
use crate::state::State;
use crate::step::StepReport;
use crate::step::impulse::ImpulseWork;
use crate::step::system::{Island, Keep};

/// Joints are closed to this part of the smallest shape, in no more than so many rounds.
const CLOSED: f64 = 5e-4;
const MOST_ROUNDS: u32 = 4;
/// Fours of trees that a thread holds at least.
const PIECE: usize = 8;

/// A tree among the islands of joints.
#[derive(Debug)]
struct Tree {
    /// Limbs of trees that are alike stand in one place.
    shape: u32,
    /// Node of the island of each limb.
    nodes: Vec<u32>,
    /// Constraint of the island that holds each limb, and the place of the limb's own block among its blocks.
    joints: Vec<(u32, u8)>,
    /// Constraints of the island that are rows with bounds.
    ties: Vec<u32>,
}

/// Up to four trees of one shape.
#[derive(Debug, Default)]
struct Four {
    shape: u32,
    /// Islands; `NONE` where there is none.
    islands: [u32; 4],
    /// Bodies of each limb in the heap; where a lane is not used, those of the first lane.
    bodies: Vec<[u32; 4]>,
    factors: Factors,
    /// Velocities, and room, where several threads hold trees.
    v: Vec<V6>,
    room: Vec<V6>,
}

/// Rows of four trees: own block, then the parent's, each number in all lanes.
type Blocks = Vec<[[f64; 4]; 12]>;

/// All trees of a model, and those of a step.
#[derive(Debug, Default)]
pub(super) struct Trees {
    /// Of each island of joints; none for those that are solved by themselves.
    trees: Vec<Option<Tree>>,
    shapes: Vec<Vec<Limb>>,
    /// The trees of this step may be solved here.
    pub(super) allowed: bool,
    /// Which of them are.
    taken: Vec<bool>,
    list: Vec<u32>,
    fours: Vec<Four>,
    spare: Vec<Four>,
    ties: Vec<Tie>,
    /// Length of a part of the step \[s\], and how many there are.
    part: f64,
    parts: f64,
    room: CrowdRoom,
    by: Vec<Lanes>,
    blocks: Blocks,
    /// Joint forces of the step before, of one island.
    last: Vec<[f64; 6]>,
}

/// Room for holding trees.
#[derive(Debug, Default)]
pub(super) struct CrowdRoom {
    v: Vec<V6>,
    room: Vec<V6>,
}

/// The trees of one heap.
pub(super) struct Crowd<'a> {
    shapes: &'a [Vec<Limb>],
    fours: &'a mut [Four],
    ties: &'a mut [Tie],
    part: f64,
    parts: f64,
}

/// The limbs of an island, if it is a tree that can be held here.
fn tree(island: &Island, model: &Model) -> Option<(Vec<Limb>, Tree)> {
    let n = island.nodes.len();
    let rigid = island.nodes.iter().all(|node| matches!(node.holder, Holder::Rigid(_)));
    if !rigid || n == 0 || !island.breakable.is_empty() {
        return None;
    }
    let mut at_node: Vec<Vec<u32>> = vec![Vec::new(); n];
    let mut root = None;
    let mut between = 0;
    let mut ties = Vec::new();
    for (c, entry) in island.entries(model).enumerate() {
        if is_tie(&entry.hold) {
            ties.push(c as u32);
            continue;
        }
        let joint = entry.constraint.as_joint()?;
        let ends = joint.ends.map(|e| e.holder);
        if entry.hold != Hold::Hard || matches!(joint.kind, JointKind::Distance { .. }) || ends[0] == ends[1]
        {
            return None;
        }
        match *island.nodes_of(c) {
            [a] if root.is_none() => root = Some((a, c as u32)),
            [a, b] => {
                at_node[a as usize].push(c as u32);
                at_node[b as usize].push(c as u32);
                between += 1;
            }
            _ => return None,
        }
    }
    // Connected, as an island is, and one joint fewer than bodies: a tree.
    if between + 1 != n {
        return None;
    }
    let rows = |c: u32| island.row_count[c as usize];
    let (first, held) = root.map_or((0, (NONE, 0)), |(node, c)| (node, (c, 0)));
    let free = Limb { parent: FREE, rows: if held.0 == NONE { 0 } else { rows(held.0) }, leaf: true };
    let (mut limbs, mut nodes, mut joints) = (vec![free], vec![first], vec![held]);
    let mut seen = vec![false; n];
    seen[first as usize] = true;
    let mut at = 0;
    while at < limbs.len() {
        for &c in &at_node[nodes[at] as usize] {
            let ends = island.nodes_of(c as usize);
            let Some(own) = ends.iter().position(|node| !seen[*node as usize]) else { continue };
            seen[ends[own] as usize] = true;
            limbs[at].leaf = false;
            limbs.push(Limb { parent: at as u32, rows: rows(c), leaf: true });
            nodes.push(ends[own]);
            joints.push((c, own as u8));
        }
        at += 1;
    }
    (limbs.len() == n).then_some((limbs, Tree { shape: 0, nodes, joints, ties }))
}

impl Trees {
    /// Finds the trees among the islands of joints, once.
    pub(super) fn find(&mut self, islands: &[Island], model: &Model) {
        for island in islands {
            let found = tree(island, model).map(|(limbs, tree)| {
                let shape = self.shapes.iter().position(|s| *s == limbs).unwrap_or_else(|| {
                    self.shapes.push(limbs);
                    self.shapes.len() - 1
                });
                Tree { shape: shape as u32, ..tree }
            });
            self.trees.push(found);
        }
        self.taken = vec![false; islands.len()];
    }

    /// Forgets the trees of the step before.
    pub(super) fn begin(&mut self) {
        self.list.iter().for_each(|i| self.taken[*i as usize] = false);
        self.list.clear();
        self.spare.append(&mut self.fours);
        self.ties.clear();
    }

    /// True if an island of joints could be one of a heap.
    pub(super) fn may_join(&self, island: u32) -> bool {
        self.allowed && self.trees.get(island as usize).is_some_and(Option::is_some)
    }

    /// True if an island of joints is one of a heap in this step.
    pub(super) fn has(&self, island: usize) -> bool {
        self.taken.get(island) == Some(&true)
    }

    /// An island of joints joins the heaps; true if it had not.
    pub(super) fn take(&mut self, island: u32) -> bool {
        let new = !self.taken[island as usize];
        if new {
            self.taken[island as usize] = true;
            self.list.push(island);
        }
        new
    }

    /// True if there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Rows and factors of the trees of a heap, in a step of `parts` of `part` seconds. `body` gives the place in the heap of
    /// a node of an island. Returns how many fours of trees there are, and how many rows with bounds.
    pub(super) fn load(
        &mut self,
        part: f64,
        parts: u32,
        list: &mut [u32],
        model: &Model,
        state: &State,
        own: &mut ImpulseWork,
        bodies: &[Body],
        body: impl Fn(u32, u32) -> u32,
    ) -> [usize; 2] {
        (self.part, self.parts) = (part, f64::from(parts));
        let before = [self.fours.len(), self.ties.len()];
        // Trees of one shape side by side, in the order in which they joined.
        let shape_of = |trees: &[Option<Tree>], i: u32| trees[i as usize].as_ref().map_or(0, |t| t.shape);
        list.sort_by_key(|i| shape_of(&self.trees, *i));
        for alike in list.chunk_by(|a, b| shape_of(&self.trees, *a) == shape_of(&self.trees, *b)) {
            for group in alike.chunks(4) {
                let mut four = self.spare.pop().unwrap_or_default();
                four.shape = shape_of(&self.trees, group[0]);
                four.islands = std::array::from_fn(|l| group.get(l).copied().unwrap_or(NONE));
                four.load(
                    &self.shapes,
                    &self.trees,
                    model,
                    state,
                    own,
                    bodies,
                    &body,
                    part,
                    &mut self.ties,
                    &mut self.blocks,
                );
                self.fours.push(four);
            }
        }
        [self.fours.len() - before[0], self.ties.len() - before[1]]
    }

    /// Trees of the heap that was loaded last, which has so many fours and rows with bounds.
    pub(super) fn last_crowd(&mut self, [fours, ties]: [usize; 2]) -> Crowd<'_> {
        let (part, parts) = (self.part, self.parts);
        let (fours, ties) = (self.fours.len() - fours, self.ties.len() - ties);
        let (fours, ties) = (&mut self.fours[fours..], &mut self.ties[ties..]);
        Crowd { shapes: &self.shapes, fours, ties, part, parts }
    }

    /// Trees of all heaps, in the order in which they were loaded.
    pub(super) fn crowds(&mut self, counts: impl Iterator<Item = [usize; 2]>) -> Vec<Crowd<'_>> {
        let Self { shapes, fours, ties, part, parts, .. } = self;
        let (mut fours, mut ties) = (&mut fours[..], &mut ties[..]);
        let one = |[m, n]: [usize; 2]| {
            let (own_fours, own_ties);
            (own_fours, fours) = std::mem::take(&mut fours).split_at_mut(m);
            (own_ties, ties) = std::mem::take(&mut ties).split_at_mut(n);
            Crowd { shapes, fours: own_fours, ties: own_ties, part: *part, parts: *parts }
        };
        counts.map(one).collect()
    }

    /// Forces of the joints into the state, after steps of h seconds.
    pub(super) fn store_forces(&self, own: &ImpulseWork, state: &mut State, h: f64) {
        let lambda = state.lambda.as_chunks_mut::<6>().0;
        for tie in &self.ties {
            lambda[tie.member as usize] = [tie.sum / h, 0.0, 0.0, 0.0, 0.0, 0.0];
        }
        for four in &self.fours {
            for (l, &i) in four.islands[..four.lanes()].iter().enumerate() {
                let Some(tree) = &self.trees[i as usize] else { continue };
                let mut row = 0;
                for (limb, joint) in self.shapes[four.shape as usize].iter().zip(&tree.joints) {
                    if limb.rows == 0 {
                        continue;
                    }
                    let out = &mut lambda[own.islands[i as usize].members[joint.0 as usize] as usize];
                    *out = [0.0; 6];
                    for out in &mut out[..limb.rows as usize] {
                        *out = four.factors.sum(row)[l] / h;
                        row += 1;
                    }
                }
            }
        }
    }

    /// Moves the bodies of all trees onto C = 0, by smallest steps in the metric of their masses.
    pub(super) fn close(
        &mut self,
        model: &Model,
        state: &mut State,
        own: &mut ImpulseWork,
        h: f64,
        length: f64,
        report: &mut StepReport,
    ) {
        let Self { shapes, trees, fours, room: CrowdRoom { v, room }, by, .. } = self;
        for four in fours {
            let limbs = &shapes[four.shape as usize];
            let rows = limbs.iter().map(|l| l.rows as usize).sum();
            let mut rounds = 0;
            let gap = loop {
                by.clear();
                by.resize(rows, Lanes::ZERO);
                let worst = four.measure(trees, limbs, model, state, own, h, by);
                // A gap that is not a number is not closed by more of them.
                if !(worst > CLOSED * length) || rounds == MOST_ROUNDS {
                    break worst;
                }
                rounds += 1;
                v.clear();
                v.resize(limbs.len(), [Lanes::ZERO; 6]);
                four.factors.change(limbs, by, v, room);
                for (l, &i) in four.islands[..four.lanes()].iter().enumerate() {
                    let Some(tree) = &trees[i as usize] else { continue };
                    for (x, node) in v.iter().zip(&tree.nodes) {
                        let delta: [f64; 6] = std::array::from_fn(|k| x[k].to_array()[l]);
                        model.nudge(
                            own.islands[i as usize].nodes[*node as usize].holder,
                            &delta,
                            &mut state.q,
                        );
                    }
                }
            };
            report.projections = report.projections.max(rounds);
            report.gap = report.gap.max(gap);
        }
    }
}

impl Crowd<'_> {
    /// The impulses that rows with bounds begin with.
    pub(super) fn warm(&self, bodies: &mut [Body]) {
        self.ties.iter().for_each(|tie| tie.warm(bodies));
    }

    /// Visits the rows with bounds.
    pub(super) fn visit(&mut self, bodies: &mut [Body], when: When) {
        self.ties.iter_mut().for_each(|tie| tie.visit(bodies, when, self.part, self.parts));
    }

    /// Makes all joints hold: the velocities change as little as they can.
    pub(super) fn hold(&mut self, bodies: &mut [Body], CrowdRoom { v, room }: &mut CrowdRoom) {
        let Self { shapes, fours, .. } = self;
        if rayon::current_num_threads() > 1 && fours.len() >= 2 * PIECE {
            // Trees share no body: all are read before any is written.
            let from = &*bodies;
            fours.par_iter_mut().with_min_len(PIECE).for_each(|four| {
                let Four { shape, bodies, factors, v, room, .. } = four;
                v.clear();
                v.extend(bodies.iter().map(|which| velocities(from, which)));
                factors.hold(&shapes[*shape as usize], v, room);
            });
            fours.iter().for_each(|four| four.store(&four.v, bodies));
            return;
        }
        for four in fours.iter_mut() {
            let limbs = &shapes[four.shape as usize];
            v.clear();
            v.extend(four.bodies.iter().map(|which| velocities(bodies, which)));
            four.factors.hold(limbs, v, room);
            four.store(v, bodies);
        }
    }

    /// The impulses of this part of the step count.
    pub(super) fn add_up(&mut self) {
        self.fours.iter_mut().for_each(|four| four.factors.add_up());
        self.ties.iter_mut().for_each(Tie::add_up);
    }
}

/// Velocities of four bodies.
#[inline(always)]
fn velocities(bodies: &[Body], which: &[u32; 4]) -> V6 {
    let b = which.map(|i| &bodies[i as usize]);
    std::array::from_fn(|k| Lanes::new(b.map(|b| if k < 3 { b.v[k] } else { b.w[k - 3] })))
}

impl Four {
    /// Velocities of its bodies.
    #[inline(always)]
    fn store(&self, v: &[V6], bodies: &mut [Body]) {
        let lanes = self.lanes();
        for (which, v) in self.bodies.iter().zip(v) {
            let v = v.map(Lanes::to_array);
            for (l, b) in which[..lanes].iter().enumerate() {
                let body = &mut bodies[*b as usize];
                body.v = [v[0][l], v[1][l], v[2][l], 0.0];
                body.w = [v[3][l], v[4][l], v[5][l], 0.0];
            }
        }
    }

    /// Lanes in use.
    fn lanes(&self) -> usize {
        self.islands.iter().take_while(|i| **i != NONE).count()
    }

    fn load(
        &mut self,
        shapes: &[Vec<Limb>],
        trees: &[Option<Tree>],
        model: &Model,
        state: &State,
        own: &mut ImpulseWork,
        bodies: &[Body],
        body: impl Fn(u32, u32) -> u32,
        part: f64,
        ties: &mut Vec<Tie>,
        blocks: &mut Blocks,
    ) {
        let limbs = &shapes[self.shape as usize];
        let rows: usize = limbs.iter().map(|l| l.rows as usize).sum();
        blocks.clear();
        blocks.resize(rows, [[0.0; 4]; 12]);
        self.bodies.clear();
        self.bodies.resize(limbs.len(), [NONE; 4]);
        let lanes = self.lanes();
        for l in 0..4 {
            let i = self.islands[if l < lanes { l } else { 0 }];
            let Some(tree) = &trees[i as usize] else { continue };
            for (out, node) in self.bodies.iter_mut().zip(&tree.nodes) {
                out[l] = body(i, *node);
            }
            if l >= lanes {
                for out in blocks.as_flattened_mut() {
                    out[l] = out[0];
                }
                continue;
            }
            own.system.enter(std::mem::take(&mut own.islands[i as usize]), Keep::All);
            let s = &mut own.system;
            s.load_poses(model, &state.q, 0..limbs.len());
            s.evaluate(model, state.time, &state.turns, &state.broken, Ask::Jacobian);
            let mut row = 0;
            for (limb, (c, side)) in limbs.iter().zip(&tree.joints).filter(|(limb, _)| limb.rows > 0) {
                let first = s.island.blocks(*c as usize).start;
                let sides = [first + *side as usize, first + 1 - *side as usize];
                for r in 0..limb.rows as usize {
                    for (k, out) in blocks[row].iter_mut().enumerate() {
                        if k < 6 || limb.parent != FREE {
                            out[l] = s.jacobian[sides[k / 6]][6 * r + k % 6];
                        }
                    }
                    row += 1;
                }
            }
            for &c in &tree.ties {
                let (c, member) = (c as usize, s.island.members[c as usize]);
                let (mut which, mut jacobian) = ([NONE; 2], [[0.0; 6]; 2]);
                for (side, (b, node)) in s.island.blocks(c).zip(s.island.nodes_of(c)).enumerate() {
                    which[side] = body(i, *node);
                    jacobian[side].copy_from_slice(&s.jacobian[b][..6]);
                }
                let (hold, last) = (&s.island.terms[c].hold, s.island.lambda(&state.lambda, c)[0]);
                let C = s.violation[c][0];
                ties.extend(Tie::new(hold, C, member, which, jacobian, last, part, bodies));
            }
            own.islands[i as usize] = own.system.leave();
        }
        self.factors.begin(limbs);
        for (row, block) in blocks.iter().enumerate() {
            let half = |first: usize| std::array::from_fn(|k| Lanes::new(block[first + k]));
            self.factors.set_row(row, half(0), half(6));
        }
        let alone = self.bodies.iter().map(|which| {
            let b = which.map(|i| &bodies[i as usize]);
            let inv_inertia = std::array::from_fn(|k| Lanes::new(b.map(|b| b.inv_inertia()[k])));
            Alone { inv_mass: Lanes::new(b.map(Body::inv_mass)), inv_inertia }
        });
        self.factors.factor(limbs, alone);
    }

    /// −C of all rows; returns the worst of them.
    fn measure(
        &self,
        trees: &[Option<Tree>],
        limbs: &[Limb],
        model: &Model,
        state: &State,
        own: &mut ImpulseWork,
        h: f64,
        by: &mut [Lanes],
    ) -> f64 {
        let mut worst = 0.0f64;
        for (l, &i) in self.islands[..self.lanes()].iter().enumerate() {
            let Some(tree) = &trees[i as usize] else { continue };
            own.system.enter(std::mem::take(&mut own.islands[i as usize]), Keep::All);
            let s = &mut own.system;
            let gap = s.measure(model, state.time + h, &state.q, &state.turns, &state.broken);
            worst = if gap.is_nan() { gap } else { worst.max(gap) };
            let mut row = 0;
            for (limb, (c, _)) in limbs.iter().zip(&tree.joints).filter(|(limb, _)| limb.rows > 0) {
                for r in 0..limb.rows as usize {
                    by[row].as_mut_array()[l] = -s.violation[*c as usize][r];
                    row += 1;
                }
            }
            own.islands[i as usize] = own.system.leave();
        }
        worst
    }
}

impl ContactWork {
    /// The trees of two nodes that meet join their heap, with all their bodies.
    pub(super) fn take_trees(&mut self, heap: u32, nodes: &[u32; 2]) {
        for node in nodes.iter().filter(|n| (**n as usize) < self.problem.slots()) {
            let island = self.problem.coupled_of[*node as usize];
            if island != NONE && self.trees.take(island) {
                let coupled = self.problem.coupled[island as usize];
                let slots = coupled.first / 6..(coupled.first + coupled.len) / 6;
                self.pile.add_tree(heap, island, slots);
            }
        }
    }

    /// Velocities without contacts and joints, and inverse masses, of the bodies of trees. Where joint forces of the step
    /// before would make light links swing too fast for the step, the bodies have more inertia, E, and keep their momentum:
    /// (M + E) v⁺ = M v + h F + …, as without contact (see `System::stiffen_by`).
    pub(super) fn load_trees(&mut self, model: &Model, state: &State, h: f64, own: &mut ImpulseWork) {
        let mut last = std::mem::take(&mut self.trees.last);
        for &island in &self.trees.list {
            let first = self.problem.coupled[island as usize].first as usize / 6;
            own.system.enter(std::mem::take(&mut own.islands[island as usize]), Keep::All);
            let s = &mut own.system;
            s.load_poses(model, &state.q, 0..s.island.nodes.len());
            last.clear();
            last.extend((0..s.island.members.len()).map(|c| s.island.lambda(&state.lambda, c)));
            let stiff = s.stiffen_by(model, &last, &state.broken, h);
            for n in 0..s.island.nodes.len() {
                let slot = first + n;
                let k = self.place[slot] / 6;
                let mut inertia = model.rigid.world_inv_inertia(&state.q, k);
                let mut w = triple(&state.v, 2 * k + 1);
                if stiff && let Some(inverse) = s.inertia[n].angular.try_inverse() {
                    w = inverse * (model.rigid.world_inertia(&state.q, k) * w);
                    inertia = inverse;
                    set_triple(&mut self.problem.start, 2 * slot + 1, &w);
                }
                let mass = model.rigid.inv_mass[k];
                self.problem.responses.inverse[slot] = InverseInertia { mass, inertia };
                let v = triple(&state.v, 2 * k) + h * mass * triple(&self.f_free, 2 * k);
                let w = w + h * (inertia * triple(&self.f_free, 2 * k + 1));
                set_triple(&mut self.problem.x, 2 * slot, &v);
                set_triple(&mut self.problem.x, 2 * slot + 1, &w);
            }
            own.islands[island as usize] = own.system.leave();
        }
        self.trees.last = last;
    }
}
