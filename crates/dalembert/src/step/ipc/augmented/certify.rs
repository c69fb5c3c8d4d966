//! Multipliers and certified places after a Newton step.

use super::super::super::{StepError, StepReport};
use super::super::islands::NONE;
use super::super::newton::IpcWork;
use super::super::search::crowded;
use super::super::touch::Touch;
use super::{GROWTH, MOST_GROWTH, PATIENCE, SLOW, of_kind};
use crate::collide::ccd::CcdOptions;
use crate::collide::{Kind, TooMany};
use crate::math::triple;
use crate::model::{ContactModel, Model};
use crate::state::State;

/// Part of a gap that the certified point leaves.
const REST: f64 = 0.2;
/// Rounds in which ways are shortened one by one.
const SETTLING: u32 = 12;
/// Rounds without progress after which a step gives up, and what counts as none: a part of the way.
pub(super) const MOST_STALLS: u32 = 20;
const NO_PROGRESS: f64 = 1e-4;
/// Constraints are made anew when a vertex of y has gone this part of δ.
const RENEW: f64 = 0.01;

impl IpcWork {
    /// After a Newton step: takes multipliers, takes y towards x, and makes the constraints there.
    pub(in crate::step::ipc) fn certify(&mut self, model: &Model, state: &State) -> Result<(), StepError> {
        let Some(contact) = model.contact.as_ref().filter(|_| self.touch.rows.on) else { return Ok(()) };
        self.take_multipliers(contact);
        self.advance(contact, state)?;
        let Touch { rows, .. } = &mut self.touch;
        let far = rows.y.iter().zip(&rows.at).map(|(a, b)| (a - b).norm_squared()).fold(0.0, f64::max);
        if rows.new_hits || far > (RENEW * rows.standoff).powi(2) {
            self.touch.take_rows(contact);
        }
        self.find_open();
        self.touch.sum(contact, false);
        self.here.clone_from(&self.touch.share);
        self.steps.current = false;
        Ok(())
    }

    /// λ ← what the linear model of the step pressed with, as far as the step was taken.
    fn take_multipliers(&mut self, contact: &ContactModel) {
        let Self { touch, islands, steps, delta, .. } = self;
        let Touch { rows, set, x, .. } = touch;
        let mut moved = std::mem::take(&mut rows.moved);
        contact.positions(delta, &mut moved);
        let part = |b: u32| match islands.group_of_body.get(b as usize) {
            Some(&g) if g != NONE => steps.part[g as usize],
            _ => 1.0,
        };
        for (k, c) in set.contacts.iter().enumerate() {
            let (lambda, rho) = (rows.lambda[k], rows.rho[k]);
            if rho == 0.0 {
                continue;
            }
            if lambda - rho * rows.value[k] > 0.0 {
                let value = rows.value[k] + c.normal.dot(&c.relative(&moved));
                let push = (lambda - rho * value).max(0.0);
                let part = part(c.bodies[0]).min(part(c.bodies[1])).clamp(0.0, 1.0);
                rows.lambda[k] += part * (push - lambda);
            } else if lambda - rho * rows.constraint(k, c, x) <= 0.0 {
                rows.lambda[k] = 0.0;
            }
        }
        rows.moved = moved;
    }

    /// Takes y towards x, every body and every node as far as it may go.
    fn advance(&mut self, contact: &ContactModel, state: &State) -> Result<(), StepError> {
        let n = self.touch.rows.z.len();
        self.way.clear();
        self.way.extend(self.q[..n].iter().zip(&self.touch.rows.z).map(|(x, y)| x - y));
        if self.way.iter().all(|w| *w == 0.0) {
            self.touch.rows.stalls = 0;
            return Ok(());
        }
        let movers = n / 3;
        let mut part = std::mem::take(&mut self.touch.rows.part);
        part.clear();
        part.resize(movers, 1.0);
        // While y moves, it is what the list of pairs follows.
        let Touch { x, rows, .. } = &mut self.touch;
        std::mem::swap(x, &mut rows.y);
        let done = self.shorten(contact, &mut part);
        let Touch { x, x1, rows, .. } = &mut self.touch;
        std::mem::swap(x, &mut rows.y);
        if let Err(error) = done {
            rows.part = part;
            return Err(crowded(&error, state));
        }
        std::mem::swap(x1, &mut rows.y);
        rows.z.copy_from_slice(&self.trial[..n]);
        let blocked = part.iter().copied().filter(|p| *p < 1.0).fold(f64::NAN, f64::max);
        rows.stalls = if blocked < NO_PROGRESS { rows.stalls + 1 } else { 0 };
        rows.part = part;
        Ok(())
    }

    /// trial ← y + the ways, x1 ← its vertices, ways shortened until all of them are free.
    fn shorten(&mut self, contact: &ContactModel, part: &mut [f64]) -> Result<(), TooMany> {
        let mut free = vec![1.0; contact.maps.len()];
        let mut changed = vec![true; contact.maps.len()];
        for round in 0..SETTLING {
            self.place(contact, part);
            free.fill(1.0);
            let covered = if round == 0 {
                self.touch.first_times(contact, &mut free)?
            } else {
                self.touch.free_vertices(contact, REST, Some(&changed), &mut free)?
            };
            let least = free.iter().copied().fold(covered, f64::min);
            if least >= 1.0 {
                return Ok(());
            }
            if covered < 1.0 || round + 1 == SETTLING {
                // Of what was looked at, every part is free.
                part.iter_mut().for_each(|p| *p *= least);
                break;
            }
            let mover = &self.touch.rows.mover;
            let of = |v: usize| mover[contact.maps[v].first_block as usize] as usize;
            let mut shorter = vec![1.0f64; part.len()];
            for (v, &f) in free.iter().enumerate().filter(|(v, f)| **f < 1.0 && contact.maps[*v].n > 0) {
                shorter[of(v)] = shorter[of(v)].min(f);
            }
            part.iter_mut().zip(&shorter).for_each(|(p, s)| *p *= s);
            for (v, changed) in changed.iter_mut().enumerate() {
                *changed = contact.maps[v].n > 0 && shorter[of(v)] < 1.0;
            }
        }
        self.place(contact, part);
        Ok(())
    }

    /// trial ← y + the parts of the ways, x1 ← its vertices.
    fn place(&mut self, contact: &ContactModel, part: &[f64]) {
        let Self { touch, trial, q, way, .. } = self;
        let rows = &touch.rows;
        for k in 0..way.len() {
            let p = part[rows.mover[k / 3] as usize];
            trial[k] = if p >= 1.0 { q[k] } else { rows.z[k] + p * way[k] };
        }
        contact.positions(trial, &mut touch.x1);
    }

    /// Finds the units that must go on.
    fn find_open(&mut self) {
        let Self { touch, islands, q, .. } = self;
        let Touch { rows, set, x, .. } = touch;
        let mut told_late = false;
        rows.open.fill(false);
        let n = rows.z.len();
        for i in 0..n / 3 {
            if rows.z[3 * i..3 * i + 3] != q[3 * i..3 * i + 3] {
                match rows.open.get_mut(islands.unit_of_block[i] as usize) {
                    Some(open) => *open = true,
                    None => told_late = true,
                }
            }
        }
        let mut grown = false;
        for (k, c) in set.contacts.iter().enumerate() {
            if rows.rho[k] == 0.0 {
                continue;
            }
            let value = rows.constraint(k, c, x);
            let pressed = rows.lambda[k] > 0.0;
            let error = if pressed { value.abs() } else { (-value).max(0.0) };
            let held = &mut rows.held[k];
            held.age = if pressed { held.age + 1 } else { 0 };
            let slow = held.age > PATIENCE && error > SLOW * held.error;
            held.error = error;
            if !(error > rows.tolerance) {
                continue;
            }
            if slow && held.of.growth < MOST_GROWTH {
                held.of.growth *= GROWTH;
                (held.age, grown) = (1, true);
                rows.rho[k] *= GROWTH;
            }
            for b in c.bodies.into_iter().filter(|b| *b != NONE) {
                let unit = islands.unit_of_body[b as usize];
                if let Some(open) = rows.open.get_mut(unit as usize) {
                    *open = true;
                }
            }
        }
        if told_late {
            rows.open.fill(true);
        }
        if grown {
            touch.kappa.clone_from(&touch.rows.rho);
        }
    }

    /// After the iteration: the state is where things are certified to be.
    pub(in crate::step::ipc) fn keep_certified(
        &mut self,
        model: &Model,
        state: &State,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let Some(contact) = model.contact.as_ref().filter(|_| self.touch.rows.on) else { return Ok(()) };
        let n = self.touch.rows.z.len();
        if self.q[..n] != self.touch.rows.z[..] {
            report.unfinished = true;
            self.q[..n].copy_from_slice(&self.touch.rows.z);
            self.touch.x.clone_from(&self.touch.rows.y);
            if self.told.iter().any(|(i, place)| triple(&self.q, *i) != *place) {
                return Err(self.blocked(model, state));
            }
        }
        // What came to rest early is a constraint again, so that it is saved and counted.
        let Self { islands, touch, asleep, .. } = self;
        touch.leave_out(contact, |b| {
            let u = islands.unit_of_body[b as usize];
            u == NONE || asleep[u as usize]
        });
        touch.take_rows(contact);
        Ok(())
    }
}

impl Touch {
    /// Follows all pairs on the way from y (in x) to x1: how far every vertex may go. Pairs that are stopped become constraints.
    /// Returns the part of the way that was looked at.
    fn first_times(&mut self, contact: &ContactModel, free: &mut [f64]) -> Result<f64, TooMany> {
        if !self.x1.iter().all(|x| x.iter().all(|x| x.is_finite())) {
            return Ok(0.0);
        }
        let covered = self.cover(contact)?;
        self.choose(contact);
        let Self { live, rows, x, x1, .. } = self;
        let surface = &contact.surface;
        let options = CcdOptions { rest: REST, ..CcdOptions::default() };
        live.impact_times(surface, x, x1, &options, &mut rows.times);
        let mut times = rows.times.iter();
        let kinds =
            [Kind::VertexTriangle, Kind::EdgeEdge, Kind::VertexEdge, Kind::VertexVertex, Kind::VertexPlane];
        for kind in kinds {
            for (&pair, &t) in of_kind(live, kind).iter().zip(times.by_ref()) {
                if t >= 1.0 {
                    continue;
                }
                let [i, j] = pair.map(|i| i as usize);
                let mut lower = |v: u32| free[v as usize] = free[v as usize].min(t);
                match kind {
                    Kind::VertexTriangle => surface.triangles[j].into_iter().for_each(&mut lower),
                    Kind::EdgeEdge | Kind::VertexEdge => surface.edges[j].into_iter().for_each(&mut lower),
                    Kind::VertexVertex => lower(pair[1]),
                    Kind::VertexPlane => {}
                }
                match kind {
                    Kind::EdgeEdge => surface.edges[i].into_iter().for_each(&mut lower),
                    _ => lower(pair[0]),
                }
                let list = of_kind(&mut rows.hits, kind);
                if let Err(place) = list.binary_search(&pair) {
                    list.insert(place, pair);
                    rows.new_hits = true;
                }
            }
        }
        Ok(covered)
    }
}
