//! Islands: bodies that constraints hold together, directly or through other bodies. The world joins none.
//!
//! Nothing that happens in one island reaches another within a step, so each is solved by itself: its numbers stay in
//! the processor's cache for the whole step, and its motion has the same bits whatever else is in the scene. Islands of
//! equal structure share one pattern of elimination.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::joints::{Constraint, Hold, Holder, Joint, MOST_HOLDERS, NamedConstraint};
use crate::math::Mat3;
use crate::model::Model;
use crate::solve::kkt::{Coupling, Pattern, Sorted};
use crate::solve::union_find::UnionFind;

pub(super) const NONE: u8 = u8::MAX;

/// One body that constraints hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    pub holder: Holder,
    /// Where its velocities begin in v.
    pub v: usize,
    /// Rigid bodies have 6 of them, particles 3.
    pub dofs: usize,
    /// Which of the filters holds a particle that may not move freely.
    pub filter: Option<u32>,
}

/// How a constraint is held, and where it finds its memory.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    pub hold: Hold,
    /// Its place in `State::turns`.
    pub turns: Range<u32>,
    /// Its place in `State::broken`.
    pub joint: u32,
}

impl Terms {
    /// Its part of `State::turns`.
    pub(super) fn turns<'a>(&self, all: &'a [f64]) -> &'a [f64] {
        &all[self.turns.start as usize..self.turns.end as usize]
    }

    /// True if the joint has broken.
    pub(crate) fn is_broken(&self, broken: &[bool]) -> bool {
        broken[self.joint as usize]
    }
}

/// Bodies and constraints that are solved together.
#[derive(Debug, Default)]
pub(crate) struct Island {
    pub nodes: Vec<Node>,
    pub filters: Vec<Mat3>,
    /// Number in the model of each constraint.
    pub members: Vec<u32>,
    /// Copies of those that are plain joints: in the model they lie scattered.
    joints: Vec<Option<Joint>>,
    /// Copies of what the model says of each constraint: there it lies scattered too.
    pub terms: Vec<Terms>,
    /// Per constraint: its rows, and whether it must hold exactly.
    pub row_count: Vec<u8>,
    pub exact: Vec<bool>,
    /// Some rows act along a joint's axis: their forces may have bounds.
    pub has_axes: bool,
    /// Constraints whose joint may break, and at what.
    pub breakable: Vec<(usize, f64)>,
    /// For each constraint, for each of its holders: place in its list of nodes, or `NONE` for the world.
    pub(super) slots: Vec<[u8; MOST_HOLDERS]>,
    /// Blocks of constraint c: `first[c]..first[c + 1]`, one for each of its distinct nodes.
    pub(super) first: Vec<u32>,
    /// Node of each block.
    pub(super) block_node: Vec<u32>,
    /// Order of elimination; none if the island is only looked at.
    pub(super) pattern: Option<Arc<Pattern>>,
}

impl Island {
    /// All bodies and constraints of a model, in the model's order.
    pub(crate) fn whole(model: &Model) -> Self {
        let (mut island, couplings) = Self::of_all(model);
        island.pattern = Some(Arc::new(Pattern::new(island.nodes.len(), &couplings)));
        island
    }

    /// The same without an order of elimination: to be looked at, not solved.
    pub(super) fn unsolved(model: &Model) -> Self {
        Self::of_all(model).0
    }

    fn of_all(model: &Model) -> (Self, Vec<Coupling>) {
        let members: Vec<u32> = (0..model.constraints.len() as u32).collect();
        Self::of(model, holders(model, &members), members)
    }

    /// True if this is [`whole`](Self::whole) of that model.
    pub(super) fn is_whole(&self, model: &Model) -> bool {
        self.pattern.is_some() && self.members.len() == model.constraints.len()
    }

    /// The islands of a model, in the order of their first constraints.
    pub(crate) fn all(model: &Model) -> Vec<Self> {
        let mut patterns: HashMap<(usize, Vec<Coupling>), Sorted> = HashMap::new();
        let islands = components(model).into_iter().map(|members| {
            let holders = holders(model, &members);
            let (island, couplings) = Self::of(model, holders.clone(), members);
            let key = (holders.len(), couplings);
            let Sorted { pattern, nodes, couplings } =
                &*patterns.entry(key).or_insert_with_key(|(n, c)| Pattern::sorted(*n, c));
            let holders = nodes.iter().map(|n| holders[*n as usize]).collect();
            let members = couplings.iter().map(|c| island.members[*c as usize]).collect();
            Self { pattern: Some(pattern.clone()), ..Self::of(model, holders, members).0 }
        });
        islands.collect()
    }

    /// An island of these bodies and constraints, in this order.
    fn of(model: &Model, holders: Vec<Holder>, members: Vec<u32>) -> (Self, Vec<Coupling>) {
        let number: HashMap<Holder, u32> = holders.iter().copied().zip(0..).collect();
        let entries = members.iter().map(|c| &model.constraints[*c as usize]);
        let mut island = Self { first: vec![0], ..Self::default() };
        for &holder in &holders {
            let node = match holder {
                Holder::Particle(i) => {
                    let block = model.filters.block(i as usize);
                    island.filters.extend(block);
                    let filter = block.map(|_| island.filters.len() as u32 - 1);
                    Node { holder, v: model.layout.points_v() + 3 * i as usize, dofs: 3, filter }
                }
                Holder::Rigid(k) => Node { holder, v: 6 * k as usize, dofs: 6, filter: None },
                Holder::World => Node { holder, v: 0, dofs: 0, filter: None },
            };
            island.nodes.push(node);
        }
        let mut couplings = Vec::with_capacity(members.len());
        for (c, entry) in entries.enumerate() {
            let mut slots = [NONE; MOST_HOLDERS];
            let mut list: Vec<u32> = Vec::new();
            for (slot, h) in entry.constraint.holders().iter().enumerate() {
                if *h == Holder::World {
                    continue;
                }
                let node = number.get(h).copied().unwrap_or(0);
                let place = list.iter().position(|n| *n == node).unwrap_or_else(|| {
                    list.push(node);
                    list.len() - 1
                });
                slots[slot] = place as u8;
            }
            island.joints.push(entry.constraint.as_joint().cloned());
            let turns = entry.turns.start as u32..entry.turns.end as u32;
            island.terms.push(Terms { hold: entry.hold, turns, joint: entry.joint as u32 });
            island.has_axes |= matches!(entry.hold, Hold::Axis { .. });
            island.row_count.push(entry.constraint.rows() as u8);
            island.exact.push(entry.is_exact());
            island.breakable.extend(entry.breaks_at.map(|limit| (c, limit)));
            island.slots.push(slots);
            island.block_node.extend(&list);
            island.first.push(island.block_node.len() as u32);
            // A particle has three directions only, and fewer under a filter: let the solver wait for all bodies.
            let whole = list.iter().all(|n| island.nodes[*n as usize].dofs == 6);
            let pivot_after_one = whole && entry.constraint.pivots_on_one();
            couplings.push(Coupling { nodes: list, rows: entry.constraint.rows(), pivot_after_one });
        }
        island.members = members;
        (island, couplings)
    }

    /// A constraint by its number in the island.
    #[inline]
    pub(crate) fn entry<'a>(&self, model: &'a Model, c: usize) -> &'a NamedConstraint {
        &model.constraints[self.members[c] as usize]
    }

    /// What it is made of.
    #[inline]
    pub(super) fn constraint<'a>(&'a self, model: &'a Model, c: usize) -> &'a dyn Constraint {
        match &self.joints[c] {
            Some(joint) => joint,
            None => &*self.entry(model, c).constraint,
        }
    }

    /// λ of a constraint, out of those of the whole model.
    #[inline]
    pub(crate) fn lambda(&self, all: &[f64], c: usize) -> [f64; 6] {
        all.as_chunks().0[self.members[c] as usize]
    }

    /// All constraints, in the order of the island.
    #[inline]
    pub(crate) fn entries<'a>(&'a self, model: &'a Model) -> impl Iterator<Item = &'a NamedConstraint> {
        self.members.iter().map(|c| &model.constraints[*c as usize])
    }

    /// The nodes that one constraint holds, in the order of its blocks.
    pub(crate) fn nodes_of(&self, c: usize) -> &[u32] {
        &self.block_node[self.blocks(c)]
    }

    /// The blocks of one constraint.
    #[inline]
    pub(crate) fn blocks(&self, c: usize) -> Range<usize> {
        self.first[c] as usize..self.first[c + 1] as usize
    }

    /// True if there is a constraint that must hold exactly.
    pub(crate) fn has_exact(&self) -> bool {
        self.exact.contains(&true)
    }
}

/// What a constraint holds, without the world.
fn held(entry: &NamedConstraint) -> impl Iterator<Item = Holder> {
    entry.constraint.holders().iter().copied().filter(|h| *h != Holder::World)
}

/// What some constraints hold, sorted.
fn holders(model: &Model, members: &[u32]) -> Vec<Holder> {
    let mut list: Vec<Holder> = members.iter().flat_map(|c| held(&model.constraints[*c as usize])).collect();
    list.sort_unstable();
    list.dedup();
    list
}

/// Numbers of the constraints of each island.
fn components(model: &Model) -> Vec<Vec<u32>> {
    // Rigid bodies, then points.
    let mut sets = UnionFind::new(model.layout.rigid + model.layout.points);
    let index = |h: Holder| match h {
        Holder::Rigid(k) => k,
        Holder::Particle(i) => model.layout.rigid as u32 + i,
        Holder::World => 0,
    };
    for entry in &model.constraints {
        sets.join_all(held(entry).map(index));
    }
    let mut islands: Vec<Vec<u32>> = Vec::new();
    let mut of_root = vec![u32::MAX; sets.len()];
    for (c, entry) in model.constraints.iter().enumerate() {
        // A constraint that holds nothing but the world is an island of its own.
        let mut new = u32::MAX;
        let place = match held(entry).next() {
            Some(h) => &mut of_root[sets.find(index(h)) as usize],
            None => &mut new,
        };
        if *place == u32::MAX {
            *place = islands.len() as u32;
            islands.push(Vec::new());
        }
        islands[*place as usize].push(c as u32);
    }
    islands
}
