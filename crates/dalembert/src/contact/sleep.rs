//! Sleep: islands that have come to rest are left alone until something moves them.
//!
//! A body is at rest while no point of it is faster than a bound. When all bodies of an island of contacts have been
//! at rest for long enough they fall asleep: velocities become zero, places stay as they are to the last bit, and the
//! contacts between them are kept as they were. What sleeps wakes, with all that it touches, when something awake comes
//! near it, when a force from outside acts on it, or when a velocity is given to it. Bodies under joints, robots and
//! particles do not sleep, nor does what they touch. Times at rest are in the state, so a run that is saved and resumed
//! goes on with the same bits.

use super::detection::Detection;
use super::law::{ColliderOwner, RigidContactModel};
use super::problem::ContactProblem;
use super::response::NONE;
use crate::math::triple;
use crate::solve::union_find::UnionFind;
use crate::state::{ContactPoint, State};

/// When islands fall asleep.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SleepRule {
    /// After so long at rest \[s\].
    pub(crate) after: f64,
    /// At rest is what has no point faster than this \[m/s\].
    pub(crate) speed: f64,
}

/// Who sleeps in a step.
#[derive(Debug, Default)]
pub(crate) struct Sleepers {
    /// Of each owner of colliders; empty if nothing sleeps.
    pub(crate) asleep: Vec<bool>,
    /// Contacts between sleepers.
    contacts: Vec<ContactPoint>,
    groups: UnionFind,
    wakes: Vec<bool>,
    ready: Vec<bool>,
}

fn is_disturbed(state: &State, k: usize) -> bool {
    let some = |x: &[f64]| x.get(6 * k..6 * k + 6).is_some_and(|x| x != [0.0; 6]);
    some(&state.v) || some(&state.applied)
}

/// True if every body sleeps or is fixed, and nothing disturbs them: then a step changes nothing but the time.
pub(crate) fn is_all_asleep(model: &RigidContactModel, state: &State) -> bool {
    if state.rest.len() != model.owners.len() || state.rest.is_empty() {
        return false;
    }
    model.owners.iter().zip(&model.held).zip(&state.rest).all(|((owner, held), rest)| match owner {
        ColliderOwner::Rigid(k) => *held || *rest < 0.0 && !is_disturbed(state, *k as usize),
        _ => false,
    })
}

impl Sleepers {
    /// Nothing sleeps.
    pub(crate) fn clear(&mut self) {
        self.asleep.clear();
        self.contacts.clear();
    }

    /// Who sleeps at the start of a step.
    pub(crate) fn find(&mut self, model: &RigidContactModel, state: &State) {
        self.clear();
        if state.rest.len() != model.owners.len() || state.rest.iter().all(|r| *r >= 0.0) {
            return;
        }
        self.asleep.extend(state.rest.iter().map(|r| *r < 0.0));
        // Who touches whom among them.
        self.groups.reset(model.owners.len());
        let body = |collider: u32| model.colliders[collider as usize].body as usize;
        for c in &state.contacts {
            let (a, b) = (body(c.a), body(c.b));
            if self.is_asleep(a) && self.is_asleep(b) {
                self.groups.join(a as u32, b as u32);
            }
        }
        self.wakes.clear();
        self.wakes.resize(model.owners.len(), false);
        for (i, owner) in model.owners.iter().enumerate() {
            if let ColliderOwner::Rigid(k) = owner
                && self.asleep[i]
                && is_disturbed(state, *k as usize)
            {
                self.wakes[self.groups.find(i as u32) as usize] = true;
            }
        }
        self.wake();
    }

    /// Wakes the groups that are marked; true if there were any sleepers among them.
    fn wake(&mut self) -> bool {
        let mut any = false;
        for i in 0..self.asleep.len() {
            if self.asleep[i] && self.wakes[self.groups.find(i as u32) as usize] {
                self.asleep[i] = false;
                any = true;
            }
        }
        any
    }

    /// Wakes what something awake has come near; true if contacts must be looked for again.
    pub(crate) fn wake_touched(&mut self, model: &RigidContactModel, detection: &Detection) -> bool {
        if self.asleep.is_empty() {
            return false;
        }
        for m in detection.detector.manifolds() {
            let [a, b] = [m.a, m.b].map(|c| model.colliders[c as usize].body as usize);
            for (one, other) in [(a, b), (b, a)] {
                let moves = other < model.owners.len() && !model.held[other] && !self.asleep[other];
                if self.is_asleep(one) && moves {
                    self.wakes[self.groups.find(one as u32) as usize] = true;
                }
            }
        }
        self.wake()
    }

    /// Keeps the contacts in which nothing awake takes part.
    pub(crate) fn keep_contacts(&mut self, model: &RigidContactModel, state: &State) {
        if self.asleep.is_empty() {
            return;
        }
        let still = |collider: u32| {
            let body = model.colliders[collider as usize].body as usize;
            body >= model.owners.len() || model.held[body] || self.asleep[body]
        };
        self.contacts.extend(state.contacts.iter().filter(|c| still(c.a) && still(c.b)));
    }

    /// True for an owner that sleeps. Rigid bodies are the first owners, in their order.
    pub(crate) fn is_asleep(&self, owner: usize) -> bool {
        self.asleep.get(owner) == Some(&true)
    }

    /// Counts the time at rest after a step, and puts islands to sleep.
    pub(crate) fn fall_asleep(
        &mut self,
        rule: SleepRule,
        model: &RigidContactModel,
        problem: &mut ContactProblem,
        detection: &Detection,
        state: &mut State,
    ) {
        state.rest.resize(model.owners.len(), 0.0);
        let mut islands = std::mem::take(&mut problem.islands);
        let mut ready = std::mem::take(&mut self.ready);
        ready.clear();
        // An island without contacts has nothing to rest on.
        ready.resize(problem.slots() + problem.robots.groups.len(), false);
        for (pair, manifold) in problem.pairs.iter().zip(detection.detector.manifolds()) {
            for node in pair.nodes.into_iter().filter(|n| *n != NONE) {
                ready[islands.root(problem.representative(node)) as usize] |=
                    manifold.gap() <= 0.0 || pair.nodes[0] != NONE;
            }
        }
        for (i, owner) in model.owners.iter().enumerate() {
            let node = problem.node_of(model, i as u32);
            if self.is_asleep(i) || node == NONE {
                continue;
            }
            let island = islands.root(problem.representative(node)) as usize;
            match owner {
                ColliderOwner::Rigid(k) if problem.coupled_of[node as usize] == NONE => {
                    let (v, w) = (triple(&state.v, 2 * *k as usize), triple(&state.v, 2 * *k as usize + 1));
                    let rest = &mut state.rest[i];
                    // What was woken begins anew.
                    let moves = v.norm() + w.norm() * detection.radius[i] > rule.speed;
                    *rest = if moves || *rest < 0.0 { 0.0 } else { *rest + problem.h };
                    ready[island] &= *rest >= rule.after;
                }
                _ => ready[island] = false,
            }
        }
        for (i, owner) in model.owners.iter().enumerate() {
            if let ColliderOwner::Rigid(k) = owner
                && !model.held[i]
                && !self.is_asleep(i)
                && ready[islands.root(problem.representative(problem.node_of(model, i as u32))) as usize]
            {
                state.rest[i] = -1.0;
                state.v[6 * *k as usize..6 * *k as usize + 6].fill(0.0);
            }
        }
        (self.ready, problem.islands) = (ready, islands);
        if !self.contacts.is_empty() {
            state.contacts.extend_from_slice(&self.contacts);
            // Stable: points of one manifold keep their order.
            state.contacts.sort_by_key(ContactPoint::key);
        }
    }
}
