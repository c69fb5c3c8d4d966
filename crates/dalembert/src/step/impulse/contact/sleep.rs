//! Islands that have come to rest are left alone until something moves them.
//!
//! A body is at rest while no point of it is faster than `sleep_speed`. When all bodies of an island of contacts have been
//! at rest for `sleep_after`, they fall asleep: velocities become zero, places stay as they are to the last bit, and the
//! contacts between them are kept as they were. What sleeps wakes, with all that it touches, when something awake comes
//! near it, when a force from outside acts on it, or when a velocity is given to it. Bodies under joints, robots and
//! particles do not sleep, nor does what they touch. Times at rest are in the state, so a run that is saved and resumed
//! goes on with the same bits.

use super::{ContactWork, NONE};
use crate::contact::{Part, TouchModel};
use crate::math::triple;
use crate::model::Model;
use crate::state::{ContactPoint, State};
use crate::step::impulse::Impulse;

/// Who sleeps in a step.
#[derive(Debug, Default)]
pub(super) struct Sleepers {
    /// Of each part; empty if nothing sleeps.
    pub(super) parts: Vec<bool>,
    /// Contacts between sleepers.
    pub(super) contacts: Vec<ContactPoint>,
    up: Vec<u32>,
    wakes: Vec<bool>,
    ready: Vec<bool>,
}

fn root(up: &mut [u32], mut n: u32) -> u32 {
    while up[n as usize] != n {
        up[n as usize] = up[up[n as usize] as usize];
        n = up[n as usize];
    }
    n
}

/// Nothing but gravity acts from afar.
fn may_sleep(settings: &Impulse, model: &Model) -> bool {
    settings.sleep_after.is_finite() && model.forces.iter().all(|f| f.force.kind() == "gravity")
}

fn disturbed(state: &State, k: usize) -> bool {
    let some = |x: &[f64]| x.get(6 * k..6 * k + 6).is_some_and(|x| x != [0.0; 6]);
    some(&state.v) || some(&state.applied)
}

/// True if every body sleeps or is fixed, and nothing disturbs them: then a step changes nothing but the time.
pub(in crate::step::impulse) fn all_asleep(settings: &Impulse, model: &Model, state: &State) -> bool {
    let Some(touch) = model.touch.as_ref().filter(|_| may_sleep(settings, model)) else { return false };
    let only = model.robots.is_empty() && model.layout.particles == 0 && model.generalized.is_empty();
    if !only || state.rest.len() != touch.parts.len() || state.rest.is_empty() {
        return false;
    }
    touch.parts.iter().zip(&touch.held).zip(&state.rest).all(|((part, held), rest)| match part {
        Part::Rigid(k) => *held || *rest < 0.0 && !disturbed(state, *k as usize),
        _ => false,
    })
}

impl ContactWork {
    /// Who sleeps at the start of a step.
    pub(super) fn find_sleepers(
        &mut self,
        settings: &Impulse,
        touch: &TouchModel,
        model: &Model,
        state: &State,
    ) {
        let s = &mut self.sleepers;
        s.parts.clear();
        s.contacts.clear();
        if !may_sleep(settings, model) || state.rest.len() != touch.parts.len() {
            return;
        }
        if state.rest.iter().all(|r| *r >= 0.0) {
            return;
        }
        s.parts.extend(state.rest.iter().map(|r| *r < 0.0));
        // Who touches whom among them.
        s.up.clear();
        s.up.extend(0..touch.parts.len() as u32);
        let body = |collider: u32| touch.colliders[collider as usize].body as usize;
        for c in &state.contacts {
            let (a, b) = (body(c.a), body(c.b));
            if s.parts.get(a) == Some(&true) && s.parts.get(b) == Some(&true) {
                let (a, b) = (root(&mut s.up, a as u32), root(&mut s.up, b as u32));
                s.up[a.max(b) as usize] = a.min(b);
            }
        }
        s.wakes.clear();
        s.wakes.resize(touch.parts.len(), false);
        for (i, part) in touch.parts.iter().enumerate() {
            if let Part::Rigid(k) = part
                && s.parts[i]
                && disturbed(state, *k as usize)
            {
                s.wakes[root(&mut s.up, i as u32) as usize] = true;
            }
        }
        self.wake();
    }

    /// Wakes the groups that are marked; true if there were any sleepers among them.
    fn wake(&mut self) -> bool {
        let s = &mut self.sleepers;
        let mut any = false;
        for i in 0..s.parts.len() {
            if s.parts[i] && s.wakes[root(&mut s.up, i as u32) as usize] {
                s.parts[i] = false;
                any = true;
            }
        }
        any
    }

    /// Wakes what something awake has come near; true if contacts must be looked for again.
    pub(super) fn wake_touched(&mut self, touch: &TouchModel) -> bool {
        if self.sleepers.parts.is_empty() {
            return false;
        }
        let s = &mut self.sleepers;
        for m in self.detector.manifolds() {
            let [a, b] = [m.a, m.b].map(|c| touch.colliders[c as usize].body as usize);
            for (one, other) in [(a, b), (b, a)] {
                let moves = other < touch.parts.len() && !touch.held[other] && !s.parts[other];
                if s.parts.get(one) == Some(&true) && moves {
                    s.wakes[root(&mut s.up, one as u32) as usize] = true;
                }
            }
        }
        self.wake()
    }

    /// Keeps the contacts in which nothing awake takes part.
    pub(super) fn keep_sleeping_contacts(&mut self, touch: &TouchModel, state: &State) {
        let s = &mut self.sleepers;
        if s.parts.is_empty() {
            return;
        }
        let still = |collider: u32| {
            let body = touch.colliders[collider as usize].body as usize;
            body >= touch.parts.len() || touch.held[body] || s.parts[body]
        };
        s.contacts.extend(state.contacts.iter().filter(|c| still(c.a) && still(c.b)));
    }

    fn sleeps(&self, part: usize) -> bool {
        self.sleepers.parts.get(part) == Some(&true)
    }

    /// True for a rigid body that sleeps. Rigid bodies are the first parts, in their order.
    pub(super) fn sleeping_rigid(&self, k: usize) -> bool {
        self.sleeps(k)
    }

    /// Counts the time at rest after a step, and puts islands to sleep.
    pub(super) fn fall_asleep(
        &mut self,
        settings: &Impulse,
        touch: &TouchModel,
        model: &Model,
        state: &mut State,
        h: f64,
    ) {
        if !may_sleep(settings, model) {
            state.rest.clear();
            return;
        }
        state.rest.resize(touch.parts.len(), 0.0);
        let mut ready = std::mem::take(&mut self.sleepers.ready);
        ready.clear();
        // An island without contacts has nothing to rest on.
        ready.resize(self.slots() + self.robots.groups(), false);
        let mut islands = std::mem::take(&mut self.islands);
        for (meeting, touching) in self.meetings.iter().zip(self.detector.manifolds()) {
            for node in meeting.nodes.into_iter().filter(|n| *n != NONE) {
                ready[islands.root(self.top(node)) as usize] |=
                    touching.gap() <= 0.0 || meeting.nodes[0] != NONE;
            }
        }
        for (i, part) in touch.parts.iter().enumerate() {
            let loose = match part {
                Part::Rigid(k) if !touch.held[i] => Some((*k as usize, self.slot_rigid[*k as usize])),
                _ => None,
            };
            match loose {
                _ if self.sleeps(i) => {}
                Some((k, slot)) if self.cluster_of[slot as usize] == NONE => {
                    let speed =
                        triple(&state.v, 2 * k).norm() + triple(&state.v, 2 * k + 1).norm() * self.radius[i];
                    let rest = &mut state.rest[i];
                    // What was woken begins anew.
                    *rest = if speed > settings.sleep_speed || *rest < 0.0 { 0.0 } else { *rest + h };
                    ready[islands.root(slot) as usize] &= *rest >= settings.sleep_after;
                }
                Some((_, slot)) => ready[islands.root(self.top(slot)) as usize] = false,
                None => {
                    if let Part::Link { robot, link } = part {
                        let group = self.robots.group_of(*robot as usize, *link as usize);
                        if group != NONE {
                            ready[islands.root(self.slots() as u32 + group) as usize] = false;
                        }
                    } else if let Part::Particle(p) = part {
                        ready[islands.root(self.top(self.slot_particle[*p as usize])) as usize] = false;
                    }
                }
            }
        }
        for (i, part) in touch.parts.iter().enumerate() {
            if let Part::Rigid(k) = part
                && !touch.held[i]
                && !self.sleeps(i)
                && ready[islands.root(self.top(self.slot_rigid[*k as usize])) as usize]
            {
                state.rest[i] = -1.0;
                state.v[6 * *k as usize..6 * *k as usize + 6].fill(0.0);
            }
        }
        self.sleepers.ready = ready;
        self.islands = islands;
        if !self.sleepers.contacts.is_empty() {
            state.contacts.extend_from_slice(&self.sleepers.contacts);
            // Stable: points of one manifold keep their order.
            state.contacts.sort_by_key(ContactPoint::key);
        }
    }
}
