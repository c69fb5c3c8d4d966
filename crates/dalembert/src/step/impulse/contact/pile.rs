//! Many bodies in one heap: small steps instead of many sweeps.
//!
//! Sweeps over a heap of N layers need about N² rounds for the impulses of one step. What counts is how far bodies move
//! into each other while the impulses are not yet right, and that shrinks with the square of the step: so a step is cut
//! into `SMALL` equal parts of length δ, each with one sweep there and one back (Macklin and others 2019, "Small steps in
//! physics simulation"; Catto 2023). Shapes are asked once per step: within it a gap changes by the motion of its two
//! points,
//!
//! $$ g = g_0 + n\cdot\big(d_a + \vartheta_a\times r_a - d_b - \vartheta_b\times r_b\big), $$
//!
//! with d and ϑ what the bodies have moved and turned since. In each part
//!
//! ```text
//! kick      v += δ M⁻¹F, and the impulses of the part before once more
//! there     u_n ≥ −g/δ, or SHARE |g|/δ (at most push_speed) where things overlap
//! drift     d += δ v, ϑ += δ ω
//! back      u_n ≥ −g/δ, or 0 where things touch: the speed that parted them goes again
//! ```
//!
//! The impulses of the part before changed the velocities of a body by $v_{end} - v_{start} - \delta M^{-1}F$, so kick
//! and warm start together are $v \leftarrow 2 v_{end} - v_{start}$, without a loop over contacts.
//!
//! **One contact.** The impulse is $p = p_n n + p_t$. The normal row is solved for $p_n \ge 0$, then
//! $p_t \leftarrow P(p_t - u_t/w)$ with P onto the disc of radius $\mu p_n$ and w the larger eigenvalue of the tangential
//! part of W: it stays where Coulomb's law with its round cone holds. Points of one manifold are visited together.
//!
//! Impulses of all parts are added up, so momentum balances to rounding however far the sweeps have come; how far is the
//! residual: what the last sweep moved.

use super::sweep::tangents;
use super::{ContactWork, NONE};
use crate::bodies::Rigid;
use crate::math::{Mat3, Vec3, set_triple, triple};
use crate::model::{ContactPoint, Model, State, TouchLaw, TouchModel};
use crate::step::StepReport;
use crate::step::impulse::Impulse;

/// Parts of a step.
const SMALL: u32 = 4;
/// Share of an overlap that is taken away per part.
const SHARE: f64 = 0.2;
/// Overlaps below this part of the smallest shape are left.
const SLOP: f64 = 1e-5;
/// Heaps end up within this residual; more means that the step was too long for them.
const RULE: f64 = 0.1;

/// A body of the pile.
#[derive(Debug, Clone, Copy)]
struct Body {
    v: Vec3,
    w: Vec3,
    /// What it has moved and turned since the step began.
    moved: Vec3,
    turned: Vec3,
    inv_mass: f64,
    /// Inverse inertia, world axes: xx, yy, zz, xy, xz, yz.
    inv_inertia: [f64; 6],
}

/// Two bodies and the plane between them.
#[derive(Debug, Clone, Copy)]
struct Patch {
    /// Bodies of the pile; `NONE` for the world.
    bodies: [u32; 2],
    first: u32,
    count: u32,
    normal: Vec3,
    friction: f64,
    restitution: f64,
    /// Tangential velocity of one surface against the other if they stick \[m/s\].
    belt: Vec3,
}

/// One point of contact.
#[derive(Debug, Clone, Copy)]
struct Point {
    arms: [Vec3; 2],
    /// W n.
    response: Vec3,
    /// 1/(n·W n), and one over the larger eigenvalue of W across n.
    inv_normal: f64,
    inv_across: f64,
    gap: f64,
    /// Impulse of this part of the step along the normal, and across it.
    p_n: f64,
    p_t: Vec3,
    /// Impulses of all parts.
    sum: Vec3,
    /// Normal velocity before the step.
    before: f64,
}

/// The heaps of a step, all in one.
#[derive(Debug, Default)]
pub(super) struct Pile {
    /// Place of each slot among the bodies.
    local: Vec<u32>,
    slots: Vec<u32>,
    bodies: Vec<Body>,
    /// Velocities at the beginning of a part, and what forces add in one.
    begun: Vec<[Vec3; 2]>,
    kicks: Vec<[Vec3; 2]>,
    patches: Vec<Patch>,
    points: Vec<Point>,
    /// For the state: one for each point.
    seen: Vec<ContactPoint>,
    /// Place among all contacts in the order of detection.
    places: Vec<u32>,
}

#[inline(always)]
fn symmetric_times(s: &[f64; 6], x: &Vec3) -> Vec3 {
    Vec3::new(
        s[0] * x.x + s[3] * x.y + s[4] * x.z,
        s[3] * x.x + s[1] * x.y + s[5] * x.z,
        s[4] * x.x + s[5] * x.y + s[2] * x.z,
    )
}

const STILL: Body = Body {
    v: Vec3::new(0.0, 0.0, 0.0),
    w: Vec3::new(0.0, 0.0, 0.0),
    moved: Vec3::new(0.0, 0.0, 0.0),
    turned: Vec3::new(0.0, 0.0, 0.0),
    inv_mass: 0.0,
    inv_inertia: [0.0; 6],
};

impl Body {
    /// J M⁻¹ Jᵀ e of a point.
    #[inline(always)]
    fn answer(&self, arm: &Vec3, e: &Vec3) -> Vec3 {
        self.inv_mass * e + symmetric_times(&self.inv_inertia, &arm.cross(e)).cross(arm)
    }

    #[inline(always)]
    fn push(&mut self, arm: &Vec3, p: &Vec3) {
        self.v += self.inv_mass * p;
        self.w += symmetric_times(&self.inv_inertia, &arm.cross(p));
    }

    #[inline(always)]
    fn velocity(&self, arm: &Vec3) -> Vec3 {
        self.v + self.w.cross(arm)
    }

    #[inline(always)]
    fn shift(&self, arm: &Vec3) -> Vec3 {
        self.moved + self.turned.cross(arm)
    }
}

/// What a sweep asks of the normal rows.
#[derive(Debug, Clone, Copy)]
struct Ask {
    inv_step: f64,
    /// Share of an overlap over δ; 0 on the way back.
    rate: f64,
    push_speed: f64,
    slop: f64,
}

impl Ask {
    /// The least normal velocity at a gap.
    #[inline(always)]
    fn target(&self, gap: f64) -> f64 {
        if gap > 0.0 {
            -gap * self.inv_step
        } else {
            (self.rate * (-gap - self.slop)).max(0.0).min(self.push_speed)
        }
    }
}

/// All points of a patch in turn; returns the largest change of a relative velocity \[m/s\].
#[inline(always)]
fn visit(a: &mut Body, b: &mut Body, patch: &Patch, points: &mut [Point], back: bool, ask: &Ask) -> f64 {
    let (n, mu) = (&patch.normal, patch.friction);
    let mut most = 0.0f64;
    let count = points.len();
    for k in 0..count {
        let c = &mut points[if back { count - 1 - k } else { k }];
        let gap = c.gap + n.dot(&(a.shift(&c.arms[0]) - b.shift(&c.arms[1])));
        let mut u = a.velocity(&c.arms[0]) - b.velocity(&c.arms[1]);
        let p_n = (c.p_n - (n.dot(&u) - ask.target(gap)) * c.inv_normal).max(0.0);
        let d_n = p_n - c.p_n;
        u += d_n * c.response - patch.belt;
        let across = u - n.dot(&u) * n;
        let mut p_t = c.p_t - c.inv_across * across;
        let (size, bound) = (p_t.norm_squared(), mu * p_n);
        if size > bound * bound {
            p_t *= bound / size.sqrt();
        }
        let d_t = p_t - c.p_t;
        let change = d_n * n + d_t;
        // Squares of changes of velocity; their root is taken once.
        let moved = (d_n * d_n / (c.inv_normal * c.inv_normal))
            .max(d_t.norm_squared() / (c.inv_across * c.inv_across));
        most = most.max(moved);
        (c.p_n, c.p_t) = (p_n, p_t);
        a.push(&c.arms[0], &change);
        b.push(&c.arms[1], &-change);
    }
    most
}

impl Pile {
    pub(super) fn begin(&mut self, slots: usize) {
        self.slots.iter().for_each(|s| self.local[*s as usize] = NONE);
        self.local.resize(slots, NONE);
        self.slots.clear();
        self.bodies.clear();
        self.begun.clear();
        self.kicks.clear();
        self.patches.clear();
        self.points.clear();
        self.seen.clear();
        self.places.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.patches.is_empty()
    }

    /// How many contacts it has.
    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    /// The smallest gap of its contacts \[m\].
    pub(super) fn smallest_gap(&self) -> f64 {
        self.seen.iter().fold(f64::INFINITY, |least, c| least.min(c.gap))
    }

    /// What a body of the pile has moved and turned in this step; nothing if it belongs to none.
    pub(super) fn motion(&self, slot: usize) -> Option<(Vec3, Vec3)> {
        let local = *self.local.get(slot)?;
        self.bodies.get(local as usize).map(|b| (b.moved, b.turned))
    }

    /// Two bodies of a patch, or copies of what stands still.
    #[inline(always)]
    fn sweep(&mut self, back: bool, ask: &Ask) -> f64 {
        let mut most = 0.0f64;
        let Self { bodies, patches, points, .. } = self;
        let n = patches.len();
        for k in 0..n {
            let patch = &patches[if back { n - 1 - k } else { k }];
            let [i, j] = patch.bodies;
            let mut a = bodies.get(i as usize).copied().unwrap_or(STILL);
            let mut b = bodies.get(j as usize).copied().unwrap_or(STILL);
            let points = &mut points[patch.first as usize..(patch.first + patch.count) as usize];
            most = most.max(visit(&mut a, &mut b, patch, points, back, ask));
            if let Some(body) = bodies.get_mut(i as usize) {
                (body.v, body.w) = (a.v, a.w);
            }
            if let Some(body) = bodies.get_mut(j as usize) {
                (body.v, body.w) = (b.v, b.w);
            }
        }
        most.sqrt()
    }

    /// The impulses of the step before, on all bodies.
    fn warm(&mut self) {
        for patch in &self.patches {
            for c in &self.points[patch.first as usize..(patch.first + patch.count) as usize] {
                let p = c.p_n * patch.normal + c.p_t;
                if let Some(a) = self.bodies.get_mut(patch.bodies[0] as usize) {
                    a.push(&c.arms[0], &p);
                }
                if let Some(b) = self.bodies.get_mut(patch.bodies[1] as usize) {
                    b.push(&c.arms[1], &-p);
                }
            }
        }
    }

    /// Answers of all points, and their velocities before the step. Returns the fastest of these.
    fn load_points(&mut self) -> f64 {
        let mut fastest = 0.0f64;
        for patch in &self.patches {
            let a = self.bodies.get(patch.bodies[0] as usize).unwrap_or(&STILL);
            let b = self.bodies.get(patch.bodies[1] as usize).unwrap_or(&STILL);
            let n = &patch.normal;
            let [s, t] = tangents(n);
            for c in &mut self.points[patch.first as usize..(patch.first + patch.count) as usize] {
                let answer = |e: &Vec3| a.answer(&c.arms[0], e) + b.answer(&c.arms[1], e);
                let (along, first, second) = (answer(n), answer(&s), answer(&t));
                let (p, q, r) = (s.dot(&first), t.dot(&second), s.dot(&second));
                let across = 0.5 * (p + q) + (0.25 * (p - q) * (p - q) + r * r).sqrt();
                c.response = along;
                c.inv_normal = 1.0 / n.dot(&along);
                c.inv_across = 1.0 / across;
                let u = a.velocity(&c.arms[0]) - b.velocity(&c.arms[1]);
                c.before = n.dot(&u);
                fastest = fastest.max((u - patch.belt).norm_squared());
            }
        }
        fastest.sqrt()
    }

    /// Velocities after the step, and what everything moves. Returns the fastest relative velocity before, and what the
    /// last sweep moved \[m/s\].
    fn run(&mut self, settings: &Impulse, h: f64, slop: f64) -> (f64, f64) {
        let step = h / f64::from(SMALL);
        let fastest = self.load_points();
        let there =
            Ask { inv_step: 1.0 / step, rate: SHARE / step, push_speed: settings.push_speed, slop };
        let back = Ask { rate: 0.0, ..there };
        let mut left = 0.0;
        for part in 0..SMALL {
            for (k, body) in self.bodies.iter_mut().enumerate() {
                let (start, end) = (self.begun[k], [body.v, body.w]);
                self.begun[k] = end;
                let more = if part == 0 { self.kicks[k] } else { [end[0] - start[0], end[1] - start[1]] };
                (body.v, body.w) = (body.v + more[0], body.w + more[1]);
            }
            if part == 0 {
                self.warm();
            }
            self.sweep(part % 2 == 1, &there);
            for body in &mut self.bodies {
                body.moved += step * body.v;
                body.turned += step * body.w;
            }
            left = self.sweep(part % 2 == 0, &back);
            for patch in &self.patches {
                for c in &mut self.points[patch.first as usize..(patch.first + patch.count) as usize] {
                    c.sum += c.p_n * patch.normal + c.p_t;
                }
            }
        }
        self.bounce(settings);
        (fastest, left)
    }

    /// Contacts that came in faster than they may without bouncing, and pressed: each leaves as its restitution says.
    fn bounce(&mut self, settings: &Impulse) {
        if self.patches.iter().all(|p| p.restitution == 0.0) {
            return;
        }
        for k in 0..self.patches.len() {
            let patch = self.patches[k];
            for i in patch.first..patch.first + patch.count {
                let c = &mut self.points[i as usize];
                let n = &patch.normal;
                if patch.restitution == 0.0 || c.before > -settings.bounce_speed || c.sum.dot(n) <= 0.0 {
                    continue;
                }
                let [i, j] = patch.bodies;
                let a = self.bodies.get(i as usize).copied().unwrap_or(STILL);
                let b = self.bodies.get(j as usize).copied().unwrap_or(STILL);
                let u = n.dot(&(a.velocity(&c.arms[0]) - b.velocity(&c.arms[1])));
                let p = ((-patch.restitution * c.before - u) * c.inv_normal).max(0.0) * n;
                c.sum += p;
                if let Some(a) = self.bodies.get_mut(i as usize) {
                    a.push(&c.arms[0], &p);
                }
                if let Some(b) = self.bodies.get_mut(j as usize) {
                    b.push(&c.arms[1], &-p);
                }
            }
        }
    }
}

/// What a patch is made of.
pub(super) struct NewPatch<'a> {
    pub(super) nodes: [u32; 2],
    pub(super) centers: [Vec3; 2],
    pub(super) law: &'a TouchLaw,
    pub(super) belt: Vec3,
    pub(super) manifold: &'a crate::collide::rigid::Manifold,
    /// Contacts of the step before between the same two.
    pub(super) known: &'a [ContactPoint],
    /// Place of its first contact in the order of detection.
    pub(super) place: u32,
}

impl ContactWork {
    /// A manifold between bodies of a pile.
    pub(super) fn add_patch(&mut self, new: &NewPatch, h: f64) {
        let part = h / f64::from(SMALL);
        let bodies = new.nodes.map(|node| self.pile_body(node));
        let n = new.manifold.normal;
        let pile = &mut self.pile;
        let first = pile.points.len() as u32;
        for (k, p) in new.manifold.points().iter().enumerate() {
            let last = new.known.iter().find(|c| c.feature == p.feature);
            let force = last.map_or(Vec3::zeros(), |l| l.force);
            let along = n.dot(&force).max(0.0);
            pile.points.push(Point {
                arms: [p.point - new.centers[0], p.point - new.centers[1]],
                response: Vec3::zeros(),
                inv_normal: 0.0,
                inv_across: 0.0,
                gap: p.gap,
                p_n: part * along,
                p_t: part * (force - n.dot(&force) * n),
                sum: Vec3::zeros(),
                before: 0.0,
            });
            pile.seen.push(ContactPoint {
                a: new.manifold.a,
                b: new.manifold.b,
                part: new.manifold.part,
                feature: p.feature,
                point: p.point,
                normal: n,
                gap: p.gap,
                force: Vec3::zeros(),
                torque: Vec3::zeros(),
            });
            pile.places.push(new.place + k as u32);
        }
        let count = pile.points.len() as u32 - first;
        pile.patches.push(Patch {
            bodies,
            first,
            count,
            normal: n,
            friction: new.law.friction,
            restitution: new.law.restitution,
            belt: new.belt - n.dot(&new.belt) * n,
        });
    }

    fn pile_body(&mut self, node: u32) -> u32 {
        if node == NONE {
            return NONE;
        }
        let place = &mut self.pile.local[node as usize];
        if *place == NONE {
            *place = self.pile.slots.len() as u32;
            self.pile.slots.push(node);
        }
        *place
    }

    /// Velocities of the bodies of all heaps.
    pub(super) fn solve_pile(
        &mut self,
        settings: &Impulse,
        touch: &TouchModel,
        model: &Model,
        h: f64,
        report: &mut StepReport,
    ) {
        let part = 1.0 / f64::from(SMALL);
        for &slot in &self.pile.slots {
            let slot = slot as usize;
            let I: &Mat3 = &self.field.inverse[slot].inertia;
            let start = [triple(&self.start, 2 * slot), triple(&self.start, 2 * slot + 1)];
            let free = [triple(&self.field.x, 2 * slot), triple(&self.field.x, 2 * slot + 1)];
            self.pile.bodies.push(Body {
                v: start[0],
                w: start[1],
                inv_mass: self.field.inverse[slot].mass,
                inv_inertia: [I[(0, 0)], I[(1, 1)], I[(2, 2)], I[(0, 1)], I[(0, 2)], I[(1, 2)]],
                ..STILL
            });
            self.pile.begun.push(start);
            self.pile.kicks.push([part * (free[0] - start[0]), part * (free[1] - start[1])]);
        }
        let (fastest, left) = self.pile.run(settings, h, SLOP * touch.length);
        let scale = fastest.max(h * model.gravity.norm()).max(1e-12);
        for (slot, body) in self.pile.slots.iter().zip(&self.pile.bodies) {
            set_triple(&mut self.field.x, 2 * *slot as usize, &body.v);
            set_triple(&mut self.field.x, 2 * *slot as usize + 1, &body.w);
        }
        report.iterations = report.iterations.max(2 * SMALL);
        report.residual = report.residual.max(left / scale);
        report.unfinished |= !(left <= RULE * scale);
        report.contacts += self.pile.points.iter().filter(|c| c.sum != Vec3::zeros()).count() as u32;
    }

    /// A body of the pile moves as it did in the parts of the step; its spin keeps its momentum as in free flight.
    pub(super) fn drift_piled(&self, model: &Model, state: &mut State, k: usize, slot: usize, h: f64) -> bool {
        let Some((moved, turned)) = self.pile.motion(slot) else { return false };
        let State { q, v, .. } = state;
        let new = &self.field.x[6 * slot..6 * slot + 6];
        v[6 * k..6 * k + 6].copy_from_slice(new);
        model.rigid.free_flight_of(q, v, k, h);
        let (more, turn) = (moved - h * triple(new, 0), turned - h * triple(new, 1));
        let delta = [more.x, more.y, more.z, turn.x, turn.y, turn.z];
        Rigid::advance(&mut q[7 * k..7 * k + 7], &delta);
        true
    }

    /// Forces of the piles into the state.
    pub(super) fn remember_pile(&self, state: &mut State, h: f64) {
        for ((seen, c), place) in self.pile.seen.iter().zip(&self.pile.points).zip(&self.pile.places) {
            state.contacts[*place as usize] = ContactPoint { force: c.sum / h, ..*seen };
        }
    }
}
