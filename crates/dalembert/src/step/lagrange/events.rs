//! Event-driven step with contact: from impact to impact.
//!
//! Between events the equations of motion are smooth: points that rest get their forces ([`Resting`]), everything else
//! flies. A step is tried as a whole; if at its end something has sunk in that was apart, or a point that slid has turned
//! round, the moment when that happened is found and the step ends there. The state at a moment τ of the step is the
//! integrator's step of size τ, whose error is that of the integrator: for one step of a Runge-Kutta method it is the
//! dense output of the highest order there is. The root is bracketed, and found by the Illinois form of the rule of false
//! position with bisection in reserve. Then velocities jump ([`impact`]), and the rest of the step follows.
//!
//! **Infinitely many bounces** in a finite time (a ball with 0 < ε < 1) end when a bounce is slower than the rest speed:
//! from then on the point rests. If one step has more than a hundred impacts none of the rest bounces.
//!
//! **Many points that rest and slide** have events without end: an arch whose forty points stop and begin to slide by turns
//! cuts a step of 5 ms into two hundred parts. A step gives up after [`MOST_TRIALS`] trials and says so.

use super::super::phase::{self, Scheme};
use super::super::system::System;
use super::super::{StepError, StepReport, Workspace};
use super::contact_points::{ContactPointWork, Delassus, Point, same};
use super::resting::{Resting, slides};
use super::{Lagrange, LagrangeReport, add_multiplier_forces, impact, project};
use crate::contact::RigidContactModel;
use crate::joints::Ask;
use crate::model::Model;
use crate::state::{ContactPoint, State};

/// Impacts of one step that may bounce.
const BOUNCES: u32 = 100;
/// Impacts of one step, bouncing or not.
const MOST_IMPACTS: u32 = 2000;

/// Integrations of one step, those that look for the moments of events included. Ordinary steps need fewer than a thousand;
/// an arch of nine stones some thousands, a second of work for each.
pub(super) const MOST_TRIALS: u32 = 30_000;

/// Lengths and speeds that count as nothing.
struct Small {
    /// Points nearer than this touch \[m\].
    gap: f64,
    /// Points nearer than this, and slower than the rest speed, rest as well: their gaps go as Baumgarte's rule says. So a
    /// face that stands a rounding off another one stands on it, and does not roll on its rim, which would be as fast as
    /// the gap is small \[m\].
    near: f64,
    /// Points slower than this along the normal rest \[m/s\].
    speed: f64,
    /// Impacts slower than this do not bounce \[m/s\].
    rest_speed: f64,
}

/// What a trial began with.
struct Start<'a> {
    state: &'a State,
    /// Points near each other.
    points: &'a [Point],
    resting: &'a [Point],
}

struct Run<'a> {
    settings: &'a Lagrange,
    model: &'a Model,
    shapes: &'a RigidContactModel,
    scheme: Scheme,
    small: Small,
    /// Size of the whole step \[s\].
    h: f64,
    most_trials: u32,
}

impl Lagrange {
    /// Advances by h seconds, by at most `most_trials` integrations; the state may be left half-way if it fails.
    pub(super) fn step_with_contact(
        &self,
        model: &Model,
        shapes: &RigidContactModel,
        state: &mut State,
        h: f64,
        most_trials: u32,
        system: &mut System,
        contact: &mut ContactPointWork,
        work: &mut Workspace,
        worst: &mut LagrangeReport,
    ) -> Result<StepReport, StepError> {
        let scheme = Scheme {
            integrator: self.integrator,
            tolerance: self.tolerance,
            min_step: self.min_step,
            method: "lagrange",
        };
        let gap = 1e-10 * shapes.length;
        // A bounce that does not lift a point out of what counts as touching is none.
        let rest_speed = self.rest_speed.max(3.0 * (2.0 * model.gravity.norm() * gap).sqrt());
        let small = Small { gap, near: 1e3 * gap, speed: 1e-3 * self.rest_speed, rest_speed };
        let run = Run { settings: self, model, shapes, scheme, small, h, most_trials };
        run.go(state, system, contact, work, worst)
    }
}

impl Run<'_> {
    fn go(
        &self,
        state: &mut State,
        system: &mut System,
        contact: &mut ContactPointWork,
        work: &mut Workspace,
        worst: &mut LagrangeReport,
    ) -> Result<StepReport, StepError> {
        let (model, shapes) = (self.model, self.shapes);
        let (time, rest, steps) = (state.time, state.time_rest, state.steps);
        let mut report = StepReport::default();
        let (mut done, mut impacts, mut stuck) = (0.0, 0, 0);
        let (mut parts, mut trials) = (0, 0);
        let mut impulses: Vec<(Point, [f64; 3])> = Vec::new();
        let mut trial = State::clone(state);
        let end = self.h * (1.0 - 1e-14);
        while done < end {
            let points = contact.find(model, shapes, (&state.q, &state.v), 0.1 * shapes.length, 0.0);
            let mut touching: Vec<Point> =
                points.iter().filter(|p| self.touches(p, &state.v)).copied().collect();
            let approach = |p: &Point| p.gap <= self.small.gap && p.rates(&state.v)[0] < -self.small.speed;
            if touching.iter().any(approach) && impacts < MOST_IMPACTS {
                impacts += 1;
                self.load(state, system);
                let A = Delassus::new(model, system, &state.q, &state.broken, &touching);
                let (rule, speed) = (self.settings.impacts, self.small.rest_speed);
                let v = &mut state.v[..6 * model.layout.rigid];
                let p = impact::resolve(rule, &A, &touching, v, speed, impacts <= BOUNCES);
                for (point, p) in touching.iter().zip(p.as_chunks::<3>().0) {
                    impulses.push((*point, *p));
                }
                model.settle(state);
                continue;
            }
            touching.retain(|p| p.rates(&state.v)[0] <= self.small.speed);
            let (tau, last) = self.trial_length(state, &touching, contact, self.h - done);
            let directions = slides(&touching, &state.v, self.settings.rest_speed);
            let resting = Resting { shapes, points: &touching, slides: &directions, alpha: 0.1 / self.h };
            parts += 1;
            let mut run = |tau: f64, trial: &mut State, contact: &mut ContactPointWork| {
                trials += 1;
                if trials > self.most_trials {
                    let (most, done) = (self.most_trials, done);
                    return Err(StepError::TooManyEvents { h: self.h, most, parts, done, time });
                }
                trial.copy_from(state);
                self.advance(&resting, trial, tau, system, contact, work, worst)
            };
            let found = run(tau, &mut trial, contact)?;
            add(&mut report, &found);
            let mut gone = tau;
            let start = Start { state, points: &points, resting: &touching };
            if self.lowest(&start, &trial, contact, true) < 0.0 && stuck < 3 {
                let value = |tau: f64, contact: &mut ContactPointWork| {
                    run(tau, &mut trial, contact)?;
                    Ok(self.lowest(&start, &trial, contact, false))
                };
                gone = self.locate(&start, tau, value, contact)?;
                run(gone, &mut trial, contact)?;
            }
            stuck = if gone <= 1e-12 * self.h { stuck + 1 } else { 0 };
            let step = if gone == tau && last { self.h } else { done + gone };
            done = step;
            std::mem::swap(state, &mut trial);
            if !model.constraints.is_empty() && self.settings.projection {
                project(model, state, system, &mut report);
                model.settle(state);
                model.update_turns(&state.q, &state.v, &mut state.turns);
            }
        }
        // One step, however many parts it had.
        (state.time, state.time_rest, state.steps) = (time, rest, steps);
        state.advance_time(self.h);
        report.time = state.time;
        self.read(state, system, contact, work, &impulses, &mut report);
        Ok(report)
    }

    /// True if a point touches, or is so near and slow that it rests.
    fn touches(&self, p: &Point, v: &[f64]) -> bool {
        let slow = || p.rates(v)[0].abs() <= self.settings.rest_speed;
        p.gap <= self.small.gap || (p.gap <= self.small.near && slow())
    }

    fn load(&self, state: &State, s: &mut System) {
        if !self.model.constraints.is_empty() {
            s.load_bodies(self.model, &state.q, &state.v);
            s.evaluate(self.model, state.time, &state.turns, &state.broken, Ask::Bias);
        }
    }

    /// How far to go at once: all the way if nothing is near, otherwise so that nothing passes through; and whether that
    /// is all the way.
    ///
    /// Where several points slide slowly the friction of each follows the direction in which it slides, and takes their differences (a
    /// turn about the normal) away at a rate of about 3 μ g over their speed: the step is shorter than that asks for.
    fn trial_length(
        &self,
        state: &State,
        touching: &[Point],
        contact: &mut ContactPointWork,
        left: f64,
    ) -> (f64, bool) {
        let (model, shapes) = (self.model, self.shapes);
        let fall = 0.5 * model.gravity.norm() * left * left;
        let near = contact.find(model, shapes, (&state.q, &state.v), fall + self.small.gap, 1.1 * left);
        let speed = near.iter().map(|p| -p.rates(&state.v)[0]).fold(0.0, f64::max);
        let most = 0.25 * shapes.length / (speed + model.gravity.norm() * left);
        let slide = |p: &Point| {
            let [_, t, u] = p.rates(&state.v);
            let speed = t.hypot(u);
            (p.friction > 0.0 && speed > self.settings.rest_speed)
                .then(|| 0.5 * speed / (p.friction * model.gravity.norm()))
        };
        let mut slides = touching.iter().filter_map(slide);
        let most = match (slides.next(), slides.next()) {
            (Some(one), Some(two)) => slides.fold(one.min(two), f64::min).min(most),
            _ => most,
        };
        if most >= left {
            (left, true)
        } else {
            (most.max(1e-3 * self.h).min(left), most.max(1e-3 * self.h) >= left)
        }
    }

    /// One step of the integrator with the forces of joints and of what rests.
    fn advance(
        &self,
        resting: &Resting,
        state: &mut State,
        tau: f64,
        system: &mut System,
        contact: &mut ContactPointWork,
        work: &mut Workspace,
        worst: &mut LagrangeReport,
    ) -> Result<StepReport, StepError> {
        let model = self.model;
        let (turns, broken) = (state.turns.clone(), state.broken.clone());
        let mut lost = false;
        let time = state.time;
        let report = phase::integrate(&self.scheme, model, state, tau, work, |t, q, v, f| {
            add_multiplier_forces(model, system, t, q, v, &turns, &broken, self.settings.baumgarte, f, worst);
            if !resting.points.is_empty() && !lost {
                lost = resting.add_forces(model, system, contact, (q, v), &broken, f).is_none();
            }
        })?;
        if lost {
            let p = &resting.points[0];
            let name = |c: u32| self.shapes.names[self.shapes.name_of[c as usize] as usize].clone();
            return Err(StepError::NoContactForce { a: name(p.key[0]), b: name(p.key[1]), time });
        }
        Ok(report)
    }

    /// The smallest of all that must stay positive: gaps of points that do not rest, and how fast sliding points still
    /// slide as they did. `coarse` leaves rounding of touching points out.
    fn lowest(&self, start: &Start, now: &State, contact: &mut ContactPointWork, coarse: bool) -> f64 {
        let Start { state: before, points, resting } = start;
        let near = 0.1 * self.shapes.length;
        let all = contact.find(self.model, self.shapes, (&now.q, &now.v), near, 0.0);
        let slack = if coarse { self.small.gap } else { 0.0 };
        let mut least = f64::INFINITY;
        for p in &all {
            if same(resting, p, 1e-3 * self.shapes.length).is_some() {
                continue;
            }
            // A point that touched and parts is looked at again when it comes back.
            let was = points.iter().find(|o| o.key == p.key).map_or(f64::INFINITY, |o| o.gap);
            if was <= self.small.gap && p.rates(&now.v)[0] >= 0.0 {
                continue;
            }
            least = least.min(p.gap + slack);
        }
        for r in resting.iter().filter(|r| r.friction > 0.0) {
            let slip = r.rates(&before.v);
            let speed = slip[1].hypot(slip[2]);
            if speed > self.settings.rest_speed
                && let Some(p) = same(&all, r, near)
            {
                let t = (r.axes[1] * slip[1] + r.axes[2] * slip[2]) / speed;
                // In metres, over the time of the step.
                let turned = p.velocity(&now.v).dot(&t) * self.h;
                least =
                    least.min(turned + if coarse { 1e-9 * self.settings.rest_speed * self.h } else { 0.0 });
            }
        }
        least
    }

    /// The moment within (0, tau) at which `lowest` becomes zero.
    fn locate(
        &self,
        begin: &Start,
        tau: f64,
        mut value: impl FnMut(f64, &mut ContactPointWork) -> Result<f64, StepError>,
        contact: &mut ContactPointWork,
    ) -> Result<f64, StepError> {
        let start = self.lowest(begin, begin.state, contact, false);
        let (mut low, mut high) = (0.0, tau);
        // The start counts as positive: what touches there was dealt with.
        let mut at_low = if start > 0.0 && start.is_finite() { start } else { self.small.gap };
        let mut at_high = value(tau, contact)?;
        let enough = 1e-16 * self.shapes.length;
        let mut best = (at_high.abs(), tau);
        let mut side = 0;
        for round in 0..100 {
            if high - low <= 1e-16 * self.h || best.0 <= enough {
                break;
            }
            // Every third time in the middle, so that the bracket shrinks whatever the function does.
            let middle = if round % 3 == 2 {
                0.5 * (low + high)
            } else {
                low + (high - low) * at_low / (at_low - at_high)
            };
            let middle = if middle > low && middle < high { middle } else { 0.5 * (low + high) };
            let found = value(middle, contact)?;
            // Nothing near is as good as positive.
            let found = if found.is_finite() { found } else { self.shapes.length };
            if found.abs() < best.0 {
                best = (found.abs(), middle);
            }
            if found > 0.0 {
                (low, at_low) = (middle, found);
                if side == 1 {
                    at_high *= 0.5;
                }
                side = 1;
            } else {
                (high, at_high) = (middle, found);
                if side == -1 {
                    at_low *= 0.5;
                }
                side = -1;
            }
        }
        Ok(best.1)
    }

    /// Contacts at the end of the step: forces of what rests, and impulses of the step as mean forces.
    fn read(
        &self,
        state: &mut State,
        system: &mut System,
        contact: &mut ContactPointWork,
        work: &mut Workspace,
        impulses: &[(Point, [f64; 3])],
        report: &mut StepReport,
    ) {
        let (model, shapes) = (self.model, self.shapes);
        let points = contact.find(model, shapes, (&state.q, &state.v), 0.1 * shapes.length, 0.0);
        report.smallest_gap = points.iter().fold(f64::INFINITY, |least, p| least.min(p.gap));
        let rests = |p: &&Point| self.touches(p, &state.v) && p.rates(&state.v)[0].abs() <= self.small.speed;
        let touching: Vec<Point> = points.iter().filter(rests).copied().collect();
        let directions = slides(&touching, &state.v, self.settings.rest_speed);
        let resting = Resting { shapes, points: &touching, slides: &directions, alpha: 0.1 / self.h };
        let mut f = std::mem::take(&mut work.f);
        model.forces_into(state.time, &state.q, &state.v, &state.applied, &mut f);
        let worst = &mut LagrangeReport::default();
        let (q, v) = (&state.q, &state.v);
        add_multiplier_forces(
            model,
            system,
            state.time,
            q,
            v,
            &state.turns,
            &state.broken,
            0.0,
            &mut f,
            worst,
        );
        self.load(state, system);
        let forces = resting.add_forces(model, system, contact, (q, v), &state.broken, &mut f);
        work.f = f;
        let mut all = forces.unwrap_or_default();
        for (p, impulse) in impulses {
            let mean = impulse.map(|p| p / self.h);
            match all.iter_mut().find(|(known, _)| known.key == p.key) {
                Some((_, force)) => (0..3).for_each(|d| force[d] += mean[d]),
                None => all.push((*p, mean)),
            }
        }
        all.sort_by_key(|(p, _)| p.key);
        state.contacts.clear();
        state.contacts.extend(all.iter().map(|(p, force)| ContactPoint {
            a: p.key[0],
            b: p.key[1],
            part: p.key[2],
            feature: p.key[3],
            point: p.point,
            normal: p.axes[0],
            gap: p.gap,
            force: p.vector(force),
            last: p.vector(force),
            ..ContactPoint::default()
        }));
        report.contacts = all.len() as u32;
    }
}

fn add(all: &mut StepReport, one: &StepReport) {
    all.substeps += one.substeps;
    all.rejected += one.rejected;
    all.evaluations += one.evaluations;
    all.last_substep = one.last_substep;
}
