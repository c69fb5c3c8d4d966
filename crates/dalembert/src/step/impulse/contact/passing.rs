//! Fast bodies: is what lies ahead hit, where, or is it passed?
//!
//! The row $u_n^+ \ge -g/h$ with the normal of where two shapes stand at the start is a wall across that normal. It is right as
//! long as they move little against their size; a ball that flies past the corner of a box would be thrown off its course
//! by it. So pairs that are apart, and whose way in the step is longer than a part of the smaller one, are followed along
//! the velocities that they have without contacts ([`time_of_impact`]):
//!
//! * They meet at the time τ: the contacts are those of that moment. A point whose gap is $g_\tau$ there has lost
//!   $-\tau\,n\cdot u$ of what it had along n, so its row is that of the gap $g_\tau - \tau\,n\cdot u$, and arms reach from the
//!   centres as they stand then.
//! * They do not: the pair is left out. When the velocities of the step are known it is followed along those, since other
//!   contacts may have turned the bodies towards each other; if they meet now, the step is solved again with the pair as it was
//!   found at the start.
//!
//! Half-spaces have no corners, and are not followed.

use std::ops::Range;

use super::detect::MARGIN;
use super::{ContactWork, NONE};
use crate::collide::rigid::{Geometry, Manifold, Moving, time_of_impact};
use crate::contact::{Part, TouchModel};
use crate::math::{Vec3, triple};
use crate::model::Model;
use crate::state::State;

/// Two bodies that move farther against each other in a step than this part of the smaller one are fast.
const FAST: f64 = 0.25;

/// How a pair of colliders that are apart goes on.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) enum Ahead {
    /// As where it stands: it touches, is slow, or nothing is known.
    #[default]
    Near,
    /// Without meeting in this step.
    Past,
    /// Until it meets, after so many seconds.
    Meets(f64),
}

/// What is known of the ways of this step.
#[derive(Debug, Default)]
pub(super) struct Passing {
    /// Of each manifold; empty if nothing is fast.
    ahead: Vec<Ahead>,
    /// Radius of the smallest body that touches anything \[m\].
    pub(super) smallest: f64,
    /// Some body moves so far that it is fast for the smallest one.
    pub(super) fast: bool,
}

/// Where a body is, how it moves, and how large it is about its centre.
struct Way {
    center: Vec3,
    velocity: Vec3,
    angular_velocity: Vec3,
    radius: f64,
    link: bool,
}

/// True if so long a way in a step is fast for a body of this size.
pub(super) fn is_fast(way: f64, radius: f64) -> bool {
    way > FAST * radius
}

impl Passing {
    /// True if manifold m is left out.
    pub(super) fn is_past(&self, m: usize) -> bool {
        self.ahead.get(m) == Some(&Ahead::Past)
    }

    /// The time from which on the contacts of manifold m are told \[s\].
    pub(super) fn time(&self, m: usize) -> f64 {
        if let Some(Ahead::Meets(t)) = self.ahead.get(m) { *t } else { 0.0 }
    }
}

impl ContactWork {
    /// Follows fast bodies along their velocities without contacts.
    pub(super) fn look_ahead(&mut self, touch: &TouchModel, model: &Model, state: &State, h: f64) {
        self.passing.ahead.clear();
        if !self.passing.fast {
            return;
        }
        let (mut ahead, mut k) = (std::mem::take(&mut self.passing.ahead), 0);
        while let Some(pair) = self.pair_from(k) {
            let go = self.follow(pair.clone(), touch, model, state, h);
            let mut len = pair.len();
            let mut told = go;
            if let Ahead::Meets(t) = go {
                match self.contacts_after(t, pair, touch, model, state, h) {
                    Some(count) => len = count,
                    None => told = Ahead::Near,
                }
            }
            ahead.extend(std::iter::repeat_n(told, len));
            k += len;
        }
        if ahead.iter().all(|a| *a == Ahead::Near) {
            ahead.clear();
        }
        self.passing.ahead = ahead;
    }

    /// Follows what was left out along the velocities that were found. True if something is met: it is in from now on.
    pub(super) fn look_again(&mut self, touch: &TouchModel, model: &Model, state: &State, h: f64) -> bool {
        if !self.passing.ahead.contains(&Ahead::Past) {
            return false;
        }
        self.robots.load_velocities(model, &self.field.x);
        let (mut met, mut k) = (false, 0);
        while let Some(pair) = self.pair_from(k) {
            k = pair.end;
            if !self.passing.is_past(pair.start) {
                continue;
            }
            let m = self.detector.manifolds()[pair.start];
            if self.meets(&m, touch, model, state, h, true).is_some() {
                self.passing.ahead[pair].fill(Ahead::Near);
                met = true;
            }
        }
        met
    }

    /// The manifolds of the pair that begins at manifold `k`.
    fn pair_from(&self, k: usize) -> Option<Range<usize>> {
        let list = self.detector.manifolds().get(k..)?;
        let first = list.first()?;
        let same = |m: &&Manifold| (m.a, m.b) == (first.a, first.b);
        Some(k..k + list.iter().take_while(same).count())
    }

    /// How a pair goes on without contacts.
    fn follow(&self, pair: Range<usize>, touch: &TouchModel, model: &Model, state: &State, h: f64) -> Ahead {
        let list = &self.detector.manifolds()[pair];
        let m = list[0];
        let shapes = [m.a, m.b].map(|i| &touch.colliders[i as usize].shape);
        let apart = list.iter().all(|m| m.gap() > MARGIN * touch.length);
        if !apart || shapes.iter().any(|s| matches!(s, Geometry::HalfSpace)) {
            return Ahead::Near;
        }
        let [a, b] = [m.a, m.b].map(|i| self.way_of(i, touch, model, state, false));
        let turning = |w: &Way| w.angular_velocity.norm() * if w.radius.is_finite() { w.radius } else { 0.0 };
        let far = h * ((a.velocity - b.velocity).norm() + turning(&a) + turning(&b));
        if !is_fast(far, a.radius.min(b.radius)) {
            return Ahead::Near;
        }
        let rate = |n: &Vec3, x: &Vec3| n.dot(&(a.velocity_at(x) - b.velocity_at(x)));
        let closes = |m: &Manifold| m.points().iter().any(|p| p.gap + h * rate(&m.normal, &p.point) < 0.0);
        if !list.iter().any(closes) {
            // Its rows ask for nothing.
            return Ahead::Near;
        }
        match self.meets(&m, touch, model, state, h, false) {
            None => Ahead::Past,
            // Links have points where they stand.
            Some(_) if a.link || b.link => Ahead::Near,
            Some(t) => Ahead::Meets(t),
        }
    }

    /// When the colliders of a manifold meet within the step.
    fn meets(
        &self,
        m: &Manifold,
        touch: &TouchModel,
        model: &Model,
        state: &State,
        h: f64,
        solved: bool,
    ) -> Option<f64> {
        let [a, b] = [m.a, m.b].map(|i| self.moving(i, touch, model, state, solved));
        let [A, B] = [m.a, m.b].map(|i| &touch.colliders[i as usize].shape);
        time_of_impact((A, &a), (B, &b), h, MARGIN * touch.length)
    }

    /// Puts the contacts after t seconds in the place of those of the start; `None` if there are none.
    fn contacts_after(
        &mut self,
        t: f64,
        pair: Range<usize>,
        touch: &TouchModel,
        model: &Model,
        state: &State,
        h: f64,
    ) -> Option<usize> {
        let m = self.detector.manifolds()[pair.start];
        let both = [m.a, m.b];
        let [a, b] = both.map(|i| self.moving(i, touch, model, state, false));
        let reach = |i: u32| self.reach.get(touch.colliders[i as usize].body as usize).map_or(0.0, |r| *r);
        let margin = 2.0 * MARGIN * touch.length + (1.0 - t / h) * (reach(m.a) + reach(m.b));
        let poses = [a.after(t), b.after(t)];
        let mut found = self.detector.contacts_at(&touch.colliders, both, [&poses[0], &poses[1]], margin);
        for m in &mut found {
            let n = m.normal;
            for p in m.points_mut() {
                let then = |w: &Moving| Moving { center: w.center + w.velocity * t, ..*w };
                p.gap -= t * n.dot(&(then(&a).velocity_at(&p.point) - then(&b).velocity_at(&p.point)));
            }
        }
        let count = found.len();
        (count > 0).then(|| {
            self.detector.replace(pair, found);
            count
        })
    }

    /// A collider and its motion; that of its body when all is `solved`, or without contacts.
    fn moving(
        &self,
        collider: u32,
        touch: &TouchModel,
        model: &Model,
        state: &State,
        solved: bool,
    ) -> Moving {
        let way = self.way_of(collider, touch, model, state, solved);
        Moving {
            pose: touch.colliders[collider as usize].placed(&self.poses),
            center: way.center,
            velocity: way.velocity,
            angular_velocity: way.angular_velocity,
        }
    }

    /// Velocity and angular velocity of a body or particle, those without contacts before all is `solved`.
    fn velocities_of(&self, slot: u32, solved: bool) -> [Vec3; 2] {
        let cluster = self.cluster_of[slot as usize];
        let known = cluster == NONE || solved && self.clusters[cluster as usize].touched;
        let x = if known { &self.field.x } else { &self.start };
        [0, 1].map(|k| triple(x, 2 * slot as usize + k))
    }

    /// Where the centre of rigid body k will be after t seconds without contacts.
    pub(super) fn center_after(&self, t: f64, k: u32, state: &State) -> Vec3 {
        let now = triple(&state.q[7 * k as usize..], 0);
        if t == 0.0 {
            return now;
        }
        now + t * self.velocities_of(self.slot_rigid[k as usize], false)[0]
    }

    fn way_of(&self, collider: u32, touch: &TouchModel, model: &Model, state: &State, solved: bool) -> Way {
        let body = touch.colliders[collider as usize].body as usize;
        let rest = Way {
            center: Vec3::zeros(),
            velocity: Vec3::zeros(),
            angular_velocity: Vec3::zeros(),
            radius: f64::INFINITY,
            link: false,
        };
        let Some(part) = touch.parts.get(body) else { return rest };
        let radius = self.radius[body];
        let of_slot = |slot: u32, center: Vec3| {
            let [velocity, angular_velocity] = self.velocities_of(slot, solved);
            Way { center, velocity, angular_velocity, radius, link: false }
        };
        match *part {
            _ if touch.held[body] => Way { radius, ..rest },
            Part::Rigid(k) => of_slot(self.slot_rigid[k as usize], self.center_after(0.0, k, state)),
            Part::Particle(i) => of_slot(self.slot_particle[i as usize], self.poses[body].position),
            Part::Link { robot, link } => {
                let (pose, velocity, angular_velocity) =
                    self.robots.link(model, robot as usize, link as usize);
                Way { center: pose.position, velocity, angular_velocity, radius, link: true }
            }
        }
    }
}

impl Way {
    fn velocity_at(&self, x: &Vec3) -> Vec3 {
        self.velocity + self.angular_velocity.cross(&(x - self.center))
    }
}
