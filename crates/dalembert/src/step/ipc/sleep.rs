//! Sleep: islands that have come to rest are left alone until something moves them.
//!
//! A body is at rest while no point of it is faster than `sleep_speed`. When all bodies of an island have been at rest
//! for `sleep_after`, they fall asleep: velocities become zero and places stay as they are to the last bit. What sleeps
//! takes part in contact again as soon as something awake comes within the gap of it, and with it all that it touches;
//! also when a force from outside or a velocity is given to it, or while prescribed motion goes on.

use super::Ipc;
use super::islands::NONE;
use super::work::IpcWork;
use crate::model::Model;
use crate::state::State;

/// Forces that depend on nothing but places and velocities.
const TIMELESS: [&str; 8] = [
    "gravity",
    "drag",
    "springs",
    "linear springs",
    "tets",
    "angular_springs",
    "affine bodies",
    "edge_moment",
];

impl IpcWork {
    /// Finds the units that sleep at the start of a step; true if nothing is awake.
    pub(super) fn find_sleepers(&mut self, settings: &Ipc, model: &Model, state: &State, h: f64) -> bool {
        self.islands.prepare(model, &state.q, &state.v);
        let islands = &self.islands;
        self.asleep.clear();
        self.asleep.resize(islands.units, false);
        let Some(ipc) = model.ipc.as_ref().filter(|_| may_sleep(settings, model, islands.several())) else {
            return false;
        };
        if state.rest.len() != ipc.geometry.surface.bodies.len() {
            return false;
        }
        self.asleep.fill(true);
        let mut has_body = vec![false; islands.units];
        for (&u, rest) in islands.unit_of_body.iter().zip(&state.rest).filter(|(u, _)| **u != NONE) {
            has_body[u as usize] = true;
            self.asleep[u as usize] &= *rest < 0.0;
        }
        let pushed = |i: usize| state.applied.get(3 * i..3 * i + 3).is_some_and(|f| f != [0.0; 3]);
        for (i, &u) in islands.unit_of_block.iter().enumerate().filter(|(_, u)| **u != NONE) {
            if pushed(i) || (i < model.layout.particles && state.v[3 * i..3 * i + 3] != [0.0; 3]) {
                self.asleep[u as usize] = false;
            }
        }
        self.asleep.iter_mut().zip(&has_body).for_each(|(a, b)| *a &= b);
        // Another engine may drive these at any moment.
        let driven = islands.unit_of_articulation.iter().filter(|u| **u != NONE);
        driven.for_each(|&u| self.asleep[u as usize] = false);
        let moves = |(i, place): (usize, crate::math::Vec3)| crate::math::triple(&state.q, i) != place;
        self.asleep.iter().all(|a| *a) && !model.filters.prescribed_places(state.time_after(h)).any(moves)
    }

    /// Counts the time at rest after a step, and puts islands to sleep.
    pub(super) fn fall_asleep(&mut self, settings: &Ipc, model: &Model, h: f64, next: &mut State) {
        let several = self.islands.several();
        let Some(ipc) = model.ipc.as_ref().filter(|_| may_sleep(settings, model, several)) else {
            next.rest.clear();
            return;
        };
        next.rest.resize(ipc.geometry.surface.bodies.len(), 0.0);
        self.islands.by_contacts(self.contact.connections());
        let islands = &self.islands;
        let mut speed = vec![0.0f64; islands.units];
        for i in 0..model.layout.particles {
            if let Some(speed) = speed.get_mut(islands.unit_of_block[i] as usize) {
                let v = next.v[3 * i..3 * i + 3].iter().map(|v| v * v).sum::<f64>().sqrt();
                *speed = speed.max(ipc.reach[i] * v);
            }
        }
        let mut ready = vec![!(self.prescribed.moved || self.contact.normal.widens()); islands.groups];
        for &u in islands.unit_of_articulation.iter().filter(|u| **u != NONE) {
            ready[islands.group_of_unit[u as usize] as usize] = false;
        }
        for (rest, &u) in next.rest.iter_mut().zip(&islands.unit_of_body).filter(|(_, u)| **u != NONE) {
            let u = u as usize;
            if self.asleep[u] {
                continue;
            }
            *rest = match *rest {
                _ if speed[u] > settings.sleep_speed => 0.0,
                slept if slept < 0.0 => settings.sleep_after,
                rest => rest + h,
            };
            ready[islands.group_of_unit[u] as usize] &= *rest >= settings.sleep_after;
        }
        let sleeps = |u: u32| u != NONE && ready[islands.group_of_unit[u as usize] as usize];
        for (rest, &u) in next.rest.iter_mut().zip(&islands.unit_of_body) {
            if sleeps(u) {
                *rest = -1.0;
            }
        }
        let mut has_body = vec![false; islands.units];
        islands.unit_of_body.iter().filter(|u| **u != NONE).for_each(|&u| has_body[u as usize] = true);
        for i in 0..model.layout.particles {
            let u = islands.unit_of_block[i];
            if sleeps(u) && has_body[u as usize] {
                next.v[3 * i..3 * i + 3].fill(0.0);
            }
        }
    }
}

fn may_sleep(settings: &Ipc, model: &Model, several: bool) -> bool {
    settings.sleep_after.is_finite()
        && several
        && settings.scheme != crate::step::Scheme::Static
        && model.ipc.as_ref().is_some_and(|ipc| ipc.torques.is_empty())
        && model.forces.iter().all(|f| TIMELESS.contains(&f.force.kind()))
}
