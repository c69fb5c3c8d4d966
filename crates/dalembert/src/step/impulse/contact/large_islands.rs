//! Large islands under contact: gathered from the scene, solved by substepping ([`crate::contact::solver::substepping`]), and
//! written back.
//!
//! What happens in one island reaches no other. So islands are put together into groups of about as many contacts as a
//! processor keeps near itself, and all substeps are done for one group before the next: a crowd of a thousand ragdolls is
//! read from memory once per step instead of once per sweep. An island is never cut. Who shares a group with whom changes
//! no bit, since colours, visits and joints of an island know of no other; several threads take groups side by side.

use std::ops::Range;

use rayon::prelude::*;

use super::joint_trees::JointTrees;
use super::{ContactWork, StepInput};
use crate::bodies::Rigid;
use crate::collide::rigid::{Manifold, Touch};
use crate::contact::ContactLaw;
use crate::contact::problem::ContactProblem;
use crate::contact::response::NONE;
use crate::contact::solver::substepping::{
    self, BodyState, Contacts, ManifoldConstraint, PointConstraint, Problem, Residual, Step, SurfaceLaw,
    Tuning, WORLD, vec3,
};
use crate::math::{Vec3, set_triple, triple};
use crate::model::Model;
use crate::state::{ContactPoint, State};
use crate::step::StepReport;
use crate::step::impulse::ImpulseWork;

/// Which islands are solved together.
#[derive(Debug, Clone, Copy)]
struct Grouping {
    /// A group takes islands until it has so many contacts. Against one group for all: 1000 ragdolls on the floor in 46 ms per
    /// step instead of 77, a pyramid of 528 boxes as fast.
    contacts: u32,
    /// So many contacts as one body of a tree of joints is counted: what a sweep reads of its rows and factors.
    per_tree_body: u32,
}

const GROUPING: Grouping = Grouping { contacts: 2500, per_tree_body: 4 };

/// Some islands, solved together.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// Slots of the bodies of the problem, which stand behind the world.
    slots: Vec<u32>,
    pub(super) problem: Problem,
    /// Of each manifold: its number in the detector, and the place of its first point in the order of detection.
    sources: Vec<(u32, u32)>,
    /// Islands of joints among them, and those of each batch of trees; `NONE` where a lane is not used.
    pub(super) joint_islands: Vec<u32>,
    pub(super) batches: Vec<[u32; 4]>,
    /// and what counts as such.
    weight: u32,
}

/// Large islands of a step, in groups.
#[derive(Debug, Default)]
pub(super) struct LargeIslands {
    tuning: Tuning,
    /// Group of each slot, and its place among the bodies there.
    place: Vec<[u32; 2]>,
    /// Group of each island, at its root.
    group_of_root: Vec<u32>,
    groups: Vec<Group>,
    /// Number of groups in this step.
    used: usize,
    /// One for each group that is solved at the same time.
    scratch: Vec<Contacts>,
}

/// A manifold of a large island.
pub(super) struct NewManifold<'a> {
    pub(super) group: u32,
    pub(super) nodes: [u32; 2],
    pub(super) centers: [Vec3; 2],
    pub(super) law: &'a ContactLaw,
    pub(super) belt: Vec3,
    pub(super) manifold: &'a Manifold,
    /// Its number among all of them.
    pub(super) number: u32,
    /// Contacts of the step before between the same two.
    pub(super) known: &'a [ContactPoint],
    /// Place of its first contact in the order of detection.
    pub(super) place: u32,
}

/// Forces of the step before: those of the same features, and for points that have none the nearest that are left. Where edges
/// of two boxes lie on each other, rounding decides which of them names a point.
fn warm_start_forces(points: &[Touch], known: &[ContactPoint]) -> [Vec3; 4] {
    let mut forces = [Vec3::zeros(); 4];
    let (mut taken, mut lacking) = (0u32, 0u32);
    for (k, p) in points.iter().enumerate() {
        match known.iter().position(|c| c.feature == p.feature) {
            Some(i) => {
                forces[k] = known[i].last;
                taken |= 1 << i;
            }
            None => lacking |= 1 << k,
        }
    }
    for (k, p) in points.iter().enumerate().filter(|(k, _)| lacking >> k & 1 == 1) {
        let left = known.iter().enumerate().filter(|(i, _)| taken >> i & 1 == 0);
        let distance = |c: &ContactPoint| (c.point - p.point).norm_squared();
        if let Some((i, c)) = left.min_by(|a, b| distance(a.1).total_cmp(&distance(b.1))) {
            forces[k] = c.last;
            taken |= 1 << i;
        }
    }
    forces
}

impl LargeIslands {
    /// Forgets the groups of the step before; islands have their roots among so many nodes.
    pub(super) fn begin(&mut self, slots: usize, nodes: usize) {
        self.place.resize(slots, [NONE; 2]);
        for group in &mut self.groups[..self.used] {
            group.slots.iter().for_each(|s| self.place[*s as usize] = [NONE; 2]);
            group.clear();
        }
        self.used = 0;
        self.group_of_root.clear();
        self.group_of_root.resize(nodes, NONE);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.used == 0
    }

    pub(super) fn groups(&self) -> &[Group] {
        &self.groups[..self.used]
    }

    pub(super) fn groups_mut(&mut self) -> &mut [Group] {
        &mut self.groups[..self.used]
    }

    /// Number of contacts.
    pub(super) fn len(&self) -> usize {
        self.groups().iter().map(|group| group.problem.points.len()).sum()
    }

    /// Writes contacts with their forces after steps of h seconds, each to its place in the order of detection; `manifolds`
    /// are those that they were made of. Returns the smallest gap \[m\].
    pub(super) fn store_contacts(
        &self,
        manifolds: &[Manifold],
        h: f64,
        contacts: &mut [ContactPoint],
    ) -> f64 {
        let rates = [1.0 / h, f64::from(self.tuning.substeps) / h];
        let least = |least: f64, group: &Group| least.min(group.store_contacts(manifolds, rates, contacts));
        self.groups().iter().fold(f64::INFINITY, least)
    }

    /// Translation and rotation of a body in this step; nothing if it belongs to no large island.
    fn displacement(&self, slot: usize) -> Option<(Vec3, Vec3)> {
        let [group, place] = *self.place.get(slot)?;
        let body = self.groups.get(group as usize)?.problem.bodies.get(place as usize)?;
        Some((vec3(&body.translation), vec3(&body.rotation)))
    }

    /// The group of an island, given by its root and its number of contacts.
    pub(super) fn group_of(&mut self, root: u32, contacts: u32) -> u32 {
        let group = &mut self.group_of_root[root as usize];
        if *group == NONE {
            let full = self.used.checked_sub(1).is_none_or(|last| self.groups[last].is_full());
            self.used += usize::from(full);
            if self.used > self.groups.len() {
                self.groups.push(Group::default());
            }
            *group = self.used as u32 - 1;
            self.groups[*group as usize].weight += contacts;
        }
        *group
    }

    /// The place of a node among the bodies of the problem of a group.
    fn body(&mut self, group: u32, node: u32) -> u32 {
        if node == NONE {
            return WORLD;
        }
        let [of, place] = &mut self.place[node as usize];
        if *of == NONE {
            let slots = &mut self.groups[group as usize].slots;
            slots.push(node);
            (*of, *place) = (group, slots.len() as u32);
        }
        *place
    }

    /// An island of joints with the bodies of some slots belongs to a group.
    pub(super) fn add_joint_island(&mut self, group: u32, island: u32, slots: Range<u32>) {
        let own = &mut self.groups[group as usize];
        own.joint_islands.push(island);
        own.weight += GROUPING.per_tree_body * slots.len() as u32;
        slots.for_each(|slot| {
            self.body(group, slot);
        });
    }

    /// A manifold between bodies of a group; steps of h seconds.
    pub(super) fn add_manifold(&mut self, new: &NewManifold, h: f64) {
        let bodies = new.nodes.map(|node| self.body(new.group, node));
        self.groups[new.group as usize].add(new, bodies, self.tuning.delta(h));
    }
}

impl Group {
    fn clear(&mut self) {
        self.slots.clear();
        self.problem.clear();
        self.sources.clear();
        self.joint_islands.clear();
        self.batches.clear();
        self.weight = 0;
    }

    /// Trees are held four at a time: a group does not end between them.
    fn is_full(&self) -> bool {
        self.weight >= GROUPING.contacts && self.joint_islands.len().is_multiple_of(4)
    }

    /// [`LargeIslands::store_contacts`], given 1/h and 1/δ.
    fn store_contacts(
        &self,
        manifolds: &[Manifold],
        [inv_h, inv_delta]: [f64; 2],
        contacts: &mut [ContactPoint],
    ) -> f64 {
        let mut least = f64::INFINITY;
        for (constraint, (manifold, place)) in self.problem.manifolds.iter().zip(&self.sources) {
            let m = &manifolds[*manifold as usize];
            let own = &self.problem.points[constraint.points()];
            let kept = contacts[*place as usize..].iter_mut();
            for ((t, c), kept) in m.points().iter().zip(own).zip(kept) {
                (kept.a, kept.b, kept.part, kept.feature) = (m.a, m.b, m.part, t.feature);
                (kept.point, kept.normal, kept.gap) = (t.point, m.normal, t.gap);
                kept.force = c.total() * inv_h;
                kept.torque = Vec3::zeros();
                kept.last = c.impulse() * inv_delta;
                least = least.min(t.gap);
            }
        }
        least
    }

    fn add(&mut self, new: &NewManifold, bodies: [u32; 2], delta: f64) {
        let points = &mut self.problem.points;
        let first = points.len();
        let center = if new.nodes[0] == NONE { &new.centers[1] } else { &new.centers[0] };
        let given = new.manifold.points();
        let make =
            |p: &Touch, force: &Vec3| PointConstraint::new(&(p.point - center), p.gap, &(delta * force));
        let same = given.len() == new.known.len()
            && given.iter().zip(new.known).all(|(p, c)| p.feature == c.feature);
        // Forces go from where they were kept to where they are used: a copy on the way would be waited for.
        if same {
            points.extend(given.iter().zip(new.known).map(|(p, c)| make(p, &c.last)));
        } else {
            let forces = warm_start_forces(given, new.known);
            points.extend(given.iter().zip(&forces).map(|(p, force)| make(p, force)));
        }
        let world = new.nodes.contains(&NONE);
        let offset = if world { Vec3::zeros() } else { new.centers[0] - new.centers[1] };
        let law =
            SurfaceLaw { friction: new.law.friction, restitution: new.law.restitution, velocity: new.belt };
        let own = first..points.len();
        self.sources.push((new.number, new.place));
        let constraint = ManifoldConstraint::new(bodies, own, &new.manifold.normal, &offset, &law);
        self.problem.manifolds.push(constraint);
    }

    /// The world, and its bodies as they are at the start of the step; `part` is δ/h.
    fn load(&mut self, contacts: &ContactProblem, part: f64) {
        let Problem { bodies, start: before, .. } = &mut self.problem;
        bodies.push(BodyState::default());
        before.push([[0.0; 4]; 2]);
        for &slot in &self.slots {
            let slot = slot as usize;
            let of = |x: &[f64]| [triple(x, 2 * slot), triple(x, 2 * slot + 1)];
            let (begin, free) = (of(&contacts.start), of(&contacts.x));
            let [v, w] = [0, 1].map(|k| begin[k] + part * (free[k] - begin[k]));
            let inverse = &contacts.responses.inverse[slot];
            bodies.push(BodyState::new(&v, &w, inverse.mass, &inverse.inertia));
            before.push(begin.map(|v| [v.x, v.y, v.z, 0.0]));
        }
    }
}

impl ContactWork {
    /// Velocities of the bodies of all large islands.
    pub(super) fn solve_large_islands(
        &mut self,
        given: &StepInput,
        state: &State,
        own: &mut ImpulseWork,
        report: &mut StepReport,
    ) {
        let StepInput { settings, contact, model, h } = *given;
        self.load_trees(model, state, h, own);
        let Self { large, problem, joint_trees, .. } = self;
        let LargeIslands { tuning, groups, used, place, scratch, .. } = large;
        let groups = &mut groups[..*used];
        let step = Step {
            h,
            length: contact.length,
            push_speed: settings.push_speed,
            bounce_speed: settings.bounce_speed,
        };
        let body = |i: u32, node: u32| place[(problem.coupled[i as usize].first / 6 + node) as usize][1];
        let mut load = |group: &mut Group, trees: &mut JointTrees| {
            group.load(problem, 1.0 / f64::from(tuning.substeps));
            trees.load(group, tuning.delta(h), model, state, own, body);
        };
        let together = if rayon::current_num_threads() > 1 { groups.len() } else { 1 };
        scratch.resize_with(together.max(scratch.len()), Contacts::default);
        let solve = |group: &mut Group, scratch: &mut Contacts| {
            substepping::solve(&mut group.problem, scratch, &step, tuning)
        };
        let residual = if together > 1 {
            groups.iter_mut().for_each(|group| load(group, joint_trees));
            let all = groups.par_iter_mut().zip(scratch).map(|(group, scratch)| solve(group, scratch));
            all.reduce(Residual::default, Residual::and)
        } else {
            let one = |group: &mut Group| {
                load(group, joint_trees);
                solve(group, &mut scratch[0])
            };
            groups.iter_mut().map(one).fold(Residual::default(), Residual::and)
        };
        for group in large.groups() {
            for (slot, body) in group.slots.iter().zip(&group.problem.bodies[1..]) {
                set_triple(&mut problem.x, 2 * *slot as usize, &vec3(&body.v));
                set_triple(&mut problem.x, 2 * *slot as usize + 1, &vec3(&body.w));
            }
        }
        let scale = residual.fastest.max(h * model.gravity.norm()).max(1e-12);
        report.contacts += residual.pressed;
        report.iterations = report.iterations.max(large.tuning.sweeps());
        report.residual = report.residual.max(residual.moved / scale);
        report.unfinished |= !(residual.moved <= large.tuning.tolerance * scale);
    }

    /// A body of a large island moves as it did in the substeps; its spin keeps its momentum as in free flight.
    pub(super) fn drift_large(
        &self,
        model: &Model,
        state: &mut State,
        k: usize,
        slot: usize,
        h: f64,
    ) -> bool {
        let Some((moved, turned)) = self.large.displacement(slot) else { return false };
        let State { q, v, .. } = state;
        let new = &self.problem.x[6 * slot..6 * slot + 6];
        v[6 * k..6 * k + 6].copy_from_slice(new);
        model.rigid.free_flight_of(q, v, k, h);
        let (more, turn) = (moved - h * triple(new, 0), turned - h * triple(new, 1));
        let delta = [more.x, more.y, more.z, turn.x, turn.y, turn.z];
        Rigid::advance(&mut q[7 * k..7 * k + 7], &delta);
        true
    }
}
