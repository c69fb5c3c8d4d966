//! Which colliders touch, step after step.

use super::super::bvh::{Aabb, Tree};
use super::narrow::{Memory, Witness, collide};
use super::{Collider, Geometry, Manifold, WORLD};
use crate::math::Pose;

/// Finds contacts of colliders that move a little from call to call.
///
/// Bodies of excluded pairs ([`Detector::exclude`]), colliders of one body, and two that stand in the world do not meet.
#[derive(Debug, Clone, Default)]
pub struct Detector {
    /// Pairs of bodies that pass through each other, smaller number first, sorted.
    excluded: Vec<(u32, u32)>,
    placed: Vec<Pose>,
    boxes: Vec<Aabb>,
    tree: Tree,
    /// Colliders without an end.
    endless: Vec<u32>,
    pairs: Vec<(u32, u32)>,
    witnesses: Vec<Witness>,
    /// Those of the call before.
    old: (Vec<(u32, u32)>, Vec<Witness>),
    manifolds: Vec<Manifold>,
    memory: Memory,
}

impl Detector {
    /// Knows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Colliders of these two bodies pass through each other from now on: neighbours at a joint, for instance.
    pub fn exclude(&mut self, a: u32, b: u32) {
        let pair = (a.min(b), a.max(b));
        if let Err(place) = self.excluded.binary_search(&pair) {
            self.excluded.insert(place, pair);
        }
    }

    /// Forgets everything it has seen, but not what is excluded. For a changed list of colliders.
    pub fn reset(&mut self) {
        *self = Self { excluded: std::mem::take(&mut self.excluded), ..Self::default() };
    }

    /// Contacts of the last call, sorted by pair of colliders.
    pub fn manifolds(&self) -> &[Manifold] {
        &self.manifolds
    }

    /// Every contact of the colliders when their bodies stand at `bodies`, sorted by pair of colliders and part.
    ///
    /// `reach` is how far each body may move until the next call \[m\], empty for not at all: two colliders are
    /// reported if their distance is at most the sum of their margins and reaches.
    pub fn update(&mut self, colliders: &[Collider], bodies: &[Pose], reach: &[f64]) -> &[Manifold] {
        let reach = |c: &Collider| reach.get(c.body as usize).copied().unwrap_or(0.0).max(0.0) + c.margin;
        self.placed.clear();
        self.placed.extend(colliders.iter().map(|c| c.placed(bodies)));
        self.boxes.clear();
        self.endless.clear();
        for (i, (c, pose)) in colliders.iter().zip(&self.placed).enumerate() {
            if matches!(c.shape, Geometry::HalfSpace) {
                self.endless.push(i as u32);
                self.boxes.push(Aabb::EMPTY);
            } else {
                self.boxes.push(c.shape.bounds(pose, reach(c)));
            }
        }
        std::mem::swap(&mut self.old.0, &mut self.pairs);
        std::mem::swap(&mut self.old.1, &mut self.witnesses);
        self.find_pairs(colliders);
        self.manifolds.clear();
        let mut at = 0;
        for &(a, b) in &self.pairs {
            while at < self.old.0.len() && self.old.0[at] < (a, b) {
                at += 1;
            }
            let known = self.old.0.get(at) == Some(&(a, b));
            let mut witness = if known { self.old.1[at] } else { Witness::None };
            let (ca, cb) = (&colliders[a as usize], &colliders[b as usize]);
            let margin = reach(ca) + reach(cb);
            let (at_a, at_b) = (&self.placed[a as usize], &self.placed[b as usize]);
            let out = &mut self.manifolds;
            collide((&ca.shape, at_a), (&cb.shape, at_b), margin, &mut witness, &mut self.memory, |found| {
                out.push(Manifold { a, b, ..found });
            });
            self.witnesses.push(witness);
        }
        &self.manifolds
    }

    fn find_pairs(&mut self, colliders: &[Collider]) {
        let excluded = &self.excluded;
        let meet = |a: u32, b: u32| {
            let (a, b) = (&colliders[a as usize], &colliders[b as usize]);
            let (low, high) = (a.body.min(b.body), a.body.max(b.body));
            low != high
                && a.mask & b.group != 0
                && b.mask & a.group != 0
                && low != WORLD
                && (excluded.is_empty() || excluded.binary_search(&(low, high)).is_err())
        };
        self.pairs.clear();
        self.witnesses.clear();
        let pairs = &mut self.pairs;
        self.tree.refit(&self.boxes);
        self.tree.self_pairs(|a, b| {
            let (a, b) = (a.min(b), a.max(b));
            if meet(a, b) {
                pairs.push((a, b));
            }
            true
        });
        for &e in &self.endless {
            let others = (0..colliders.len() as u32).filter(|&i| i != e && meet(e, i));
            pairs.extend(others.map(|i| (e.min(i), e.max(i))));
        }
        pairs.sort_unstable();
        pairs.dedup();
    }
}
