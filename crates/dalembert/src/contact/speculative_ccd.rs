//! Speculative contacts and continuous collision detection: is what lies ahead of a fast body hit, where, or is it missed?
//!
//! The row $u_n^+ \ge -g/h$ with the normal of where two shapes stand at the start (a speculative contact) is a wall across that
//! normal. It is right as long as they move little against their size; a ball that flies past the corner of a box would be
//! thrown off its course by it. So pairs that are apart, and that move in the step by more than a part of the smaller one,
//! are followed along the velocities that they have without contacts ([`time_of_impact`]):
//!
//! * They meet at the time τ: the contacts are those of that moment. A point whose gap is $g_\tau$ there has lost
//!   $-\tau\,n\cdot u$ of what it had along n, so its row is that of the gap $g_\tau - \tau\,n\cdot u$, and arms reach from the
//!   centres as they are then.
//! * They do not: the pair is left out. When the velocities of the step are known it is followed along those, since other
//!   contacts may have turned the bodies towards each other; if they meet now, the step is solved again with the pair as it was
//!   found at the start.
//!
//! Half-spaces have no corners, and are not followed.

use std::ops::Range;

use super::detection::{Detection, MARGIN};
use super::law::{ColliderOwner, RigidContactModel};
use super::problem::ContactProblem;
use super::response::NONE;
use crate::collide::rigid::{Geometry, Manifold, Moving, time_of_impact};
use crate::math::{Vec3, triple};
use crate::state::State;

/// Two bodies that move farther against each other in a step than this part of the smaller one are fast.
const FAST: f64 = 0.25;

/// How a pair of colliders that are apart goes on.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum Prediction {
    /// As where it is: it touches, is slow, or nothing is known.
    #[default]
    Speculative,
    /// Without meeting in this step.
    Misses,
    /// It meets after so many seconds.
    Meets(f64),
}

/// What is known of the paths of this step.
#[derive(Debug, Default)]
pub(crate) struct SpeculativeCcd {
    /// Of each manifold; empty if nothing is fast.
    predictions: Vec<Prediction>,
    /// Radius of the smallest body that touches anything \[m\].
    pub(crate) smallest: f64,
    /// Some body moves so far that it is fast for the smallest one.
    pub(crate) fast: bool,
}

/// Where a body is, how it moves, and how large it is about its centre.
struct BodyMotion {
    center: Vec3,
    velocity: Vec3,
    angular_velocity: Vec3,
    radius: f64,
    link: bool,
}

impl BodyMotion {
    fn velocity_at(&self, x: &Vec3) -> Vec3 {
        self.velocity + self.angular_velocity.cross(&(x - self.center))
    }
}

/// True if so long a path in a step is fast for a body of this size.
fn is_fast(path: f64, radius: f64) -> bool {
    path > FAST * radius
}

/// What bodies are and where: of a step before or after it is solved.
#[derive(Clone, Copy)]
pub(crate) struct Snapshot<'a> {
    pub(crate) model: &'a RigidContactModel,
    pub(crate) state: &'a State,
    pub(crate) problem: &'a ContactProblem,
}

impl SpeculativeCcd {
    /// Takes note of a body that moves by so much in the step.
    pub(crate) fn note(&mut self, path: f64) {
        self.fast |= is_fast(path, self.smallest);
    }

    /// True if manifold m is left out.
    pub(crate) fn is_missed(&self, m: usize) -> bool {
        self.predictions.get(m) == Some(&Prediction::Misses)
    }

    /// The time at which the contacts of manifold m were found \[s\].
    pub(crate) fn time(&self, m: usize) -> f64 {
        if let Some(Prediction::Meets(t)) = self.predictions.get(m) { *t } else { 0.0 }
    }

    /// Follows fast bodies along their velocities without contacts.
    pub(crate) fn predict(&mut self, now: Snapshot, detection: &mut Detection) {
        let predictions = &mut self.predictions;
        predictions.clear();
        if !self.fast {
            return;
        }
        let mut k = 0;
        while let Some(pair) = pair_from(detection, k) {
            let mut prediction = now.follow(detection, pair.clone());
            let mut len = pair.len();
            if let Prediction::Meets(t) = prediction {
                match now.contacts_after(detection, t, pair) {
                    Some(count) => len = count,
                    None => prediction = Prediction::Speculative,
                }
            }
            predictions.extend(std::iter::repeat_n(prediction, len));
            k += len;
        }
        if predictions.iter().all(|p| *p == Prediction::Speculative) {
            predictions.clear();
        }
    }

    /// True if something was left out: then the velocities found must be [looked at](Self::recheck).
    pub(crate) fn has_missed(&self) -> bool {
        self.predictions.contains(&Prediction::Misses)
    }

    /// Follows what was left out along the velocities that were found, which the links have taken. True if something is met: it
    /// takes part from now on.
    pub(crate) fn recheck(&mut self, now: Snapshot, detection: &Detection) -> bool {
        let (mut met, mut k) = (false, 0);
        while let Some(pair) = pair_from(detection, k) {
            k = pair.end;
            if !self.is_missed(pair.start) {
                continue;
            }
            let m = &detection.detector.manifolds()[pair.start];
            if now.meets(detection, m, true).is_some() {
                self.predictions[pair].fill(Prediction::Speculative);
                met = true;
            }
        }
        met
    }
}

/// The manifolds of the pair that begins at manifold `k`.
fn pair_from(detection: &Detection, k: usize) -> Option<Range<usize>> {
    let list = detection.detector.manifolds().get(k..)?;
    let first = list.first()?;
    let same = |m: &&Manifold| (m.a, m.b) == (first.a, first.b);
    Some(k..k + list.iter().take_while(same).count())
}

impl Snapshot<'_> {
    /// How a pair goes on without contacts.
    fn follow(&self, detection: &Detection, pair: Range<usize>) -> Prediction {
        let list = &detection.detector.manifolds()[pair];
        let (m, h) = (&list[0], self.problem.h);
        let shapes = [m.a, m.b].map(|i| &self.model.colliders[i as usize].shape);
        let apart = list.iter().all(|m| m.gap() > MARGIN * self.model.length);
        if !apart || shapes.iter().any(|s| matches!(s, Geometry::HalfSpace)) {
            return Prediction::Speculative;
        }
        let [a, b] = [m.a, m.b].map(|i| self.motion_of(detection, i, false));
        let turning =
            |w: &BodyMotion| w.angular_velocity.norm() * if w.radius.is_finite() { w.radius } else { 0.0 };
        let far = h * ((a.velocity - b.velocity).norm() + turning(&a) + turning(&b));
        if !is_fast(far, a.radius.min(b.radius)) {
            return Prediction::Speculative;
        }
        let rate = |n: &Vec3, x: &Vec3| n.dot(&(a.velocity_at(x) - b.velocity_at(x)));
        let closes = |m: &Manifold| m.points().iter().any(|p| p.gap + h * rate(&m.normal, &p.point) < 0.0);
        if !list.iter().any(closes) {
            // Its rows ask for nothing.
            return Prediction::Speculative;
        }
        match self.meets(detection, m, false) {
            None => Prediction::Misses,
            // Links have points where they are.
            Some(_) if a.link || b.link => Prediction::Speculative,
            Some(t) => Prediction::Meets(t),
        }
    }

    /// When the colliders of a manifold meet within the step.
    fn meets(&self, detection: &Detection, m: &Manifold, solved: bool) -> Option<f64> {
        let [a, b] = [m.a, m.b].map(|i| self.moving(detection, i, solved));
        let [A, B] = [m.a, m.b].map(|i| &self.model.colliders[i as usize].shape);
        time_of_impact((A, &a), (B, &b), self.problem.h, MARGIN * self.model.length)
    }

    /// Puts the contacts after t seconds in the place of those of the start; `None` if there are none.
    fn contacts_after(&self, detection: &mut Detection, t: f64, pair: Range<usize>) -> Option<usize> {
        let m = detection.detector.manifolds()[pair.start];
        let (both, colliders) = ([m.a, m.b], &self.model.colliders);
        let [a, b] = both.map(|i| self.moving(detection, i, false));
        let reach = |i: u32| detection.reach.get(colliders[i as usize].body as usize).map_or(0.0, |r| *r);
        let margin =
            2.0 * MARGIN * self.model.length + (1.0 - t / self.problem.h) * (reach(m.a) + reach(m.b));
        let poses = [a.after(t), b.after(t)];
        let mut found = detection.detector.contacts_at(colliders, both, [&poses[0], &poses[1]], margin);
        for m in &mut found {
            let n = m.normal;
            for p in m.points_mut() {
                let then = |w: &Moving| Moving { center: w.center + w.velocity * t, ..*w };
                p.gap -= t * n.dot(&(then(&a).velocity_at(&p.point) - then(&b).velocity_at(&p.point)));
            }
        }
        let count = found.len();
        (count > 0).then(|| {
            detection.detector.replace(pair, found);
            count
        })
    }

    /// A collider and its motion; that of its body when all is `solved`, or without contacts.
    fn moving(&self, detection: &Detection, collider: u32, solved: bool) -> Moving {
        let motion = self.motion_of(detection, collider, solved);
        Moving {
            pose: self.model.colliders[collider as usize].placed(&detection.poses),
            center: motion.center,
            velocity: motion.velocity,
            angular_velocity: motion.angular_velocity,
        }
    }

    /// Where the centre of rigid body k will be after t seconds without contacts.
    pub(crate) fn center_after(&self, t: f64, k: u32) -> Vec3 {
        let center = triple(&self.state.q[7 * k as usize..], 0);
        if t == 0.0 {
            return center;
        }
        center + t * self.problem.velocities_of(self.problem.slot_of_rigid[k as usize], false)[0]
    }

    fn motion_of(&self, detection: &Detection, collider: u32, solved: bool) -> BodyMotion {
        let Self { model, problem, .. } = self;
        let body = model.colliders[collider as usize].body as usize;
        let zero = Vec3::zeros();
        let still =
            |radius| BodyMotion { center: zero, velocity: zero, angular_velocity: zero, radius, link: false };
        let Some(owner) = model.owners.get(body) else { return still(f64::INFINITY) };
        let radius = detection.radius[body];
        let of_slot = |slot: u32, center: Vec3| {
            let [velocity, angular_velocity] = problem.velocities_of(slot, solved);
            BodyMotion { center, velocity, angular_velocity, radius, link: false }
        };
        match *owner {
            _ if model.held[body] => still(radius),
            ColliderOwner::Rigid(k) => of_slot(problem.slot_of_rigid[k as usize], self.center_after(0.0, k)),
            ColliderOwner::Particle(i) => {
                of_slot(problem.slot_of_particle[i as usize], detection.poses[body].position)
            }
            ColliderOwner::Link { robot, link } => {
                let (pose, velocity, angular_velocity) = problem.robots.link(robot as usize, link as usize);
                BodyMotion { center: pose.position, velocity, angular_velocity, radius, link: true }
            }
        }
    }
}

impl ContactProblem {
    /// Velocity and angular velocity of a body or particle, those without contacts before all is `solved`.
    fn velocities_of(&self, slot: u32, solved: bool) -> [Vec3; 2] {
        let coupled = self.coupled_of[slot as usize];
        let known = coupled == NONE || solved && self.coupled[coupled as usize].touched;
        let x = if known { &self.x } else { &self.start };
        [0, 1].map(|k| triple(x, 2 * slot as usize + k))
    }
}
