//! Trees of joints among large islands.
//!
//! Many islands of joints under many contacts, such as a crowd of ragdolls, are not solved one by one to the last digit:
//! they join the large islands (see [`super::large_islands`]), whose substeps hold their joints exactly after every sweep over
//! the contacts. So joints hold at the end of each substep to rounding, and contacts are as good as the sweeps make them.
//! Rows are those of the start of the step: what they miss by turning since is closed by moving the bodies onto C = 0
//! afterwards, with the same factors.
//!
//! **Which.** An island of joints may join if it is a tree of rigid bodies (at most one joint with the world) under plain hard
//! joints, none of which may break. Hard limits, rate motors and dry friction on their coordinates are bounded rows; loops,
//! springs and servos stay with the exact path. It does join if in the whole scene such islands, with all that they touch,
//! have more contacts than a large island has at least, and `projection` is on.

use std::sync::Arc;

use super::ContactWork;
use super::large_islands::Group;
use crate::contact::response::{InverseInertia, NONE};
use crate::contact::solver::substepping::{
    Bound, BoundedRow, NO_PARENT, Problem, RowBatch, TreeBatch, TreeNode, WORLD,
};
use crate::joints::{Ask, Hold, Holder, JointKind, Role};
use crate::math::simd::Lanes;
use crate::math::{set_triple, triple};
use crate::model::Model;
use crate::state::State;
use crate::step::StepReport;
use crate::step::impulse::ImpulseWork;
use crate::step::system::{Island, Keep, System};

/// How joints of trees are closed after the substeps.
#[derive(Debug, Clone, Copy)]
struct Closing {
    /// To this part of the smallest shape: about the slop of contacts, beside which a finer joint is not seen.
    tolerance: f64,
    /// Rounds of Newton's method: where it converges it takes one or two.
    rounds: u32,
}

const CLOSING: Closing = Closing { tolerance: 5e-4, rounds: 4 };

/// A tree among the islands of joints.
#[derive(Debug)]
struct Tree {
    /// Trees of one topology are factored four at a time.
    topology: u32,
    /// Node of the island of each body.
    nodes: Vec<u32>,
    /// Constraint of the island that joins each body to its parent, and the place of the body's own block among its blocks.
    joints: Vec<(u32, u8)>,
    /// Constraints of the island that are bounded rows.
    bounded: Vec<u32>,
}

impl Tree {
    /// Rows of its joints into a lane.
    fn load_rows(&self, nodes: &[TreeNode], lane: usize, s: &System, rows: &mut [RowBatch]) {
        let mut rows = rows.iter_mut();
        for (node, (c, side)) in nodes.iter().zip(&self.joints).filter(|(node, _)| node.rows > 0) {
            let first = s.island.blocks(*c as usize).start;
            let sides = [first + *side as usize, first + 1 - *side as usize];
            for (r, row) in rows.by_ref().take(node.rows as usize).enumerate() {
                for (k, out) in row.iter_mut().enumerate() {
                    if k < 6 || node.parent != NO_PARENT {
                        out[lane] = s.jacobian[sides[k / 6]][6 * r + k % 6];
                    }
                }
            }
        }
    }

    /// Its limits, motors and dry friction; `body` gives the place in the problem of a node.
    fn load_bounded_rows(
        &self,
        delta: f64,
        state: &State,
        s: &System,
        problem: &mut Problem,
        body: impl Fn(u32) -> u32,
    ) {
        for &c in &self.bounded {
            let (c, member) = (c as usize, s.island.members[c as usize]);
            let Some(bound) = bound(&s.island.terms[c].hold, s.violation[c][0]) else { continue };
            let (mut bodies, mut jacobian) = ([WORLD; 2], [[0.0; 6]; 2]);
            for (side, (b, node)) in s.island.blocks(c).zip(s.island.nodes_of(c)).enumerate() {
                bodies[side] = body(*node);
                jacobian[side].copy_from_slice(&s.jacobian[b][..6]);
            }
            let last = s.island.lambda(&state.lambda, c)[0];
            let row = BoundedRow::new(bound, member, bodies, jacobian, last, delta, &problem.bodies);
            problem.bounded_rows.push(row);
        }
    }
}

/// All trees of a model, and those of a step.
#[derive(Debug, Default)]
pub(super) struct JointTrees {
    /// Of each island of joints; none for those that are solved by themselves.
    trees: Vec<Option<Tree>>,
    topologies: Vec<Arc<[TreeNode]>>,
    /// Trees may join large islands in this step.
    pub(super) allowed: bool,
    /// Which of them do.
    taken: Vec<bool>,
    list: Vec<u32>,
    /// Buffers of steps before.
    spare: Vec<TreeBatch>,
    rows: Vec<RowBatch>,
    gaps: Vec<Lanes>,
    /// Joint forces of the step before, of one island.
    last: Vec<[f64; 6]>,
}

/// What a hard limit, a rate motor or dry friction asks of its row with violation C.
fn bound(hold: &Hold, C: f64) -> Option<Bound> {
    match *hold {
        Hold::Axis { role: Role::Lower(_) | Role::Upper(_), kp, .. } if kp.is_infinite() => {
            Some(Bound::Limit(C))
        }
        Hold::Axis { role: Role::Velocity { target, max }, .. } => Some(Bound::Rate(target, max)),
        Hold::Axis { role: Role::Friction(max), .. } => Some(Bound::Rate(0.0, max)),
        _ => None,
    }
}

/// The topology of an island, if it is a tree that substepping can hold.
fn tree(island: &Island, model: &Model) -> Option<(Vec<TreeNode>, Tree)> {
    let n = island.nodes.len();
    let rigid = island.nodes.iter().all(|node| matches!(node.holder, Holder::Rigid(_)));
    if !rigid || n == 0 || !island.breakable.is_empty() {
        return None;
    }
    let mut at_node: Vec<Vec<u32>> = vec![Vec::new(); n];
    let mut root = None;
    let mut between = 0;
    let mut bounded = Vec::new();
    for (c, entry) in island.entries(model).enumerate() {
        if bound(&entry.hold, 0.0).is_some() {
            bounded.push(c as u32);
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
    let top = TreeNode { parent: NO_PARENT, rows: if held.0 == NONE { 0 } else { rows(held.0) }, leaf: true };
    let (mut topology, mut nodes, mut joints) = (vec![top], vec![first], vec![held]);
    let mut seen = vec![false; n];
    seen[first as usize] = true;
    let mut at = 0;
    while at < topology.len() {
        for &c in &at_node[nodes[at] as usize] {
            let ends = island.nodes_of(c as usize);
            let Some(own) = ends.iter().position(|node| !seen[*node as usize]) else { continue };
            seen[ends[own] as usize] = true;
            topology[at].leaf = false;
            topology.push(TreeNode { parent: at as u32, rows: rows(c), leaf: true });
            nodes.push(ends[own]);
            joints.push((c, own as u8));
        }
        at += 1;
    }
    (topology.len() == n).then_some((topology, Tree { topology: 0, nodes, joints, bounded }))
}

impl JointTrees {
    /// Finds the trees among the islands of joints, once.
    pub(super) fn find(&mut self, islands: &[Island], model: &Model) {
        for island in islands {
            let found = tree(island, model).map(|(nodes, tree)| {
                let same = self.topologies.iter().position(|t| **t == *nodes);
                let topology = same.unwrap_or_else(|| {
                    self.topologies.push(nodes.into());
                    self.topologies.len() - 1
                });
                Tree { topology: topology as u32, ..tree }
            });
            self.trees.push(found);
        }
        self.taken = vec![false; islands.len()];
    }

    /// Forgets the trees of the step before, whose buffers are those of these groups.
    pub(super) fn begin(&mut self, groups: &mut [Group]) {
        self.list.iter().for_each(|i| self.taken[*i as usize] = false);
        self.list.clear();
        groups.iter_mut().for_each(|group| self.spare.append(&mut group.problem.trees));
    }

    /// True if an island of joints could be part of a large island.
    pub(super) fn may_join(&self, island: u32) -> bool {
        self.allowed && self.trees.get(island as usize).is_some_and(Option::is_some)
    }

    /// True if an island of joints is part of a large island in this step.
    pub(super) fn has(&self, island: usize) -> bool {
        self.taken.get(island) == Some(&true)
    }

    /// An island of joints joins the large islands; true if it had not.
    fn take(&mut self, island: u32) -> bool {
        let new = !self.taken[island as usize];
        if new {
            self.taken[island as usize] = true;
            self.list.push(island);
        }
        new
    }

    /// Batches of trees and bounded rows of a group, for substeps of `delta` seconds. `body` gives the place in the problem of
    /// a node of an island.
    pub(super) fn load(
        &mut self,
        group: &mut Group,
        delta: f64,
        model: &Model,
        state: &State,
        own: &mut ImpulseWork,
        body: impl Fn(u32, u32) -> u32,
    ) {
        let Self { trees, topologies, spare, rows, .. } = self;
        let Group { joint_islands, batches, problem, .. } = group;
        let tree = |i: u32| trees[i as usize].as_ref();
        let topology = |i: &u32| tree(*i).map_or(0, |tree| tree.topology);
        // Trees of one topology side by side, in the order in which they joined.
        joint_islands.sort_by_key(topology);
        for alike in joint_islands.chunk_by(|a, b| topology(a) == topology(b)) {
            let nodes = &topologies[topology(&alike[0]) as usize];
            for four in alike.chunks(4) {
                rows.clear();
                rows.resize(nodes.iter().map(|n| n.rows as usize).sum(), [[0.0; 4]; 12]);
                for (lane, &i) in four.iter().enumerate() {
                    let Some(tree) = tree(i) else { continue };
                    own.system.enter(std::mem::take(&mut own.islands[i as usize]), Keep::All);
                    let s = &mut own.system;
                    s.load_poses(model, &state.q, 0..nodes.len());
                    s.evaluate(model, state.time, &state.turns, &state.broken, Ask::Jacobian);
                    tree.load_rows(nodes, lane, s, rows);
                    tree.load_bounded_rows(delta, state, s, problem, |node| body(i, node));
                    own.islands[i as usize] = own.system.leave();
                }
                for row in rows.as_flattened_mut() {
                    let first = row[0];
                    row[four.len()..].fill(first);
                }
                let place = |k: usize, l: usize| {
                    let island = *four.get(l).unwrap_or(&four[0]);
                    tree(island).map_or(WORLD, |tree| body(island, tree.nodes[k]))
                };
                let places = (0..nodes.len()).map(|k| std::array::from_fn(|l| place(k, l)));
                let mut batch = spare.pop().unwrap_or_default();
                batch.prepare(nodes, four.len(), places, rows, &problem.bodies);
                problem.trees.push(batch);
                batches.push(std::array::from_fn(|l| four.get(l).copied().unwrap_or(NONE)));
            }
        }
    }

    /// Forces of the joints into the state, after steps of h seconds.
    pub(super) fn store_forces(&self, groups: &[Group], own: &ImpulseWork, state: &mut State, h: f64) {
        let lambda = state.lambda.as_chunks_mut::<6>().0;
        for Group { batches, problem, .. } in groups {
            for row in &problem.bounded_rows {
                lambda[row.constraint as usize] = [row.total / h, 0.0, 0.0, 0.0, 0.0, 0.0];
            }
            for (batch, islands) in problem.trees.iter().zip(batches) {
                for (l, &i) in islands[..batch.lanes].iter().enumerate() {
                    let Some(tree) = &self.trees[i as usize] else { continue };
                    let mut row = 0;
                    for (node, joint) in batch.nodes().iter().zip(&tree.joints).filter(|(n, _)| n.rows > 0) {
                        let out = &mut lambda[own.islands[i as usize].members[joint.0 as usize] as usize];
                        *out = [0.0; 6];
                        for out in &mut out[..node.rows as usize] {
                            *out = batch.total(row)[l] / h;
                            row += 1;
                        }
                    }
                }
            }
        }
    }

    /// Moves the bodies of all trees onto C = 0, by smallest steps in the metric of their masses.
    pub(super) fn close(
        &mut self,
        groups: &mut [Group],
        model: &Model,
        state: &mut State,
        own: &mut ImpulseWork,
        h: f64,
        length: f64,
        report: &mut StepReport,
    ) {
        for Group { batches, problem, .. } in groups {
            for (batch, islands) in problem.trees.iter_mut().zip(batches) {
                let islands = &islands[..batch.lanes];
                let mut rounds = 0;
                let gap = loop {
                    let worst = self.measure(batch.nodes(), islands, model, state, own, h);
                    // A gap that is not a number is not closed by more of them.
                    if !(worst > CLOSING.tolerance * length) || rounds == CLOSING.rounds {
                        break worst;
                    }
                    rounds += 1;
                    let moves = batch.displacements(&self.gaps);
                    for (l, &i) in islands.iter().enumerate() {
                        let Some(tree) = &self.trees[i as usize] else { continue };
                        for (x, node) in moves.iter().zip(&tree.nodes) {
                            let delta: [f64; 6] = std::array::from_fn(|k| x[k].to_array()[l]);
                            let holder = own.islands[i as usize].nodes[*node as usize].holder;
                            model.nudge(holder, &delta, &mut state.q);
                        }
                    }
                };
                report.projections = report.projections.max(rounds);
                report.gap = report.gap.max(gap);
            }
        }
    }

    /// −C of all rows of a batch, into `gaps`; returns the worst of them.
    fn measure(
        &mut self,
        nodes: &[TreeNode],
        islands: &[u32],
        model: &Model,
        state: &State,
        own: &mut ImpulseWork,
        h: f64,
    ) -> f64 {
        let mut worst = 0.0f64;
        self.gaps.clear();
        self.gaps.resize(nodes.iter().map(|n| n.rows as usize).sum(), Lanes::ZERO);
        for (l, &i) in islands.iter().enumerate() {
            let Some(tree) = &self.trees[i as usize] else { continue };
            own.system.enter(std::mem::take(&mut own.islands[i as usize]), Keep::All);
            let s = &mut own.system;
            let gap = s.measure(model, state.time + h, &state.q, &state.turns, &state.broken);
            worst = if gap.is_nan() { gap } else { worst.max(gap) };
            let mut gaps = self.gaps.iter_mut();
            for (node, (c, _)) in nodes.iter().zip(&tree.joints).filter(|(node, _)| node.rows > 0) {
                for (r, gap) in gaps.by_ref().take(node.rows as usize).enumerate() {
                    gap.as_mut_array()[l] = -s.violation[*c as usize][r];
                }
            }
            own.islands[i as usize] = own.system.leave();
        }
        worst
    }
}

impl ContactWork {
    /// The trees of two nodes that meet join their group, with all their bodies.
    pub(super) fn take_trees(&mut self, group: u32, nodes: &[u32; 2]) {
        for node in nodes.iter().filter(|n| (**n as usize) < self.problem.slots()) {
            let island = self.problem.coupled_of[*node as usize];
            if island != NONE && self.joint_trees.take(island) {
                let coupled = self.problem.coupled[island as usize];
                let slots = coupled.first / 6..(coupled.first + coupled.len) / 6;
                self.large.add_joint_island(group, island, slots);
            }
        }
    }

    /// Velocities without contacts and joints, and inverse masses, of the bodies of trees. Where joint forces of the step
    /// before would make light links swing too fast for the step, the bodies have more inertia, E, and keep their momentum:
    /// (M + E) v⁺ = M v + h F + …, as without contact (see `System::stiffen_by`).
    pub(super) fn load_trees(&mut self, model: &Model, state: &State, h: f64, own: &mut ImpulseWork) {
        let mut last = std::mem::take(&mut self.joint_trees.last);
        for &island in &self.joint_trees.list {
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
        self.joint_trees.last = last;
    }
}
