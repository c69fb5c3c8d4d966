//! Many bodies in one heap: small steps instead of many sweeps.
//!
//! Sweeps over a heap of N layers need about N² rounds for the impulses of one step. What counts is how far bodies move
//! into each other while the impulses are not yet right, and that shrinks with the square of the step: so a step is cut
//! into `PARTS` equal parts of length δ with two sweeps each (Macklin and others 2019, "Small steps in physics
//! simulation"). Shapes are asked once per step: within it a gap changes by the motion of its two points,
//!
//! $$ g = g_0 + n\cdot\big(d_a + \vartheta_a\times r_a - d_b - \vartheta_b\times r_b\big), $$
//!
//! with d and ϑ what the bodies have moved and turned since. In each part
//!
//! ```text
//! kick      v += δ M⁻¹F, and the impulses of the part before once more
//! push      normal rows once, soft: u_n ≥ −g/δ where things are apart, overlaps part at the rate ε/δ
//! drift     d += δ v, ϑ += δ ω
//! relax     all rows once, hard: u_n ≥ −g/δ or 0, and Coulomb's law across
//! ```
//!
//! A row that pushes follows a damped spring over δ, implicitly: with a = ωδ and the ratio ζ of its damping it asks for
//! $u_n = \epsilon|g|/\delta - \gamma\,w\,p$, $\epsilon = a/(a + 2\zeta)$, $\gamma = 1/(a(a + 2\zeta))$, w being the row's own
//! answer. So a visit adds $-(u_n - \epsilon|g|/\delta)/(w(1+\gamma)) - p\,\gamma/(1+\gamma)$: it forgets a part of its
//! impulse, which keeps rows that share a load from working against each other, and a tall heap stands. What the push
//! leaves in the velocities is taken away again by relaxing, before any later part sees it (Catto 2024, "Solver2D", soft
//! steps).
//!
//! The impulses of the part before changed the velocities of a body by $v_{end} - v_{start} - \delta M^{-1}F$, so kick
//! and warm start together are $v \leftarrow 2 v_{end} - v_{start}$, without a loop over contacts.
//!
//! **One contact.** The impulse is $p = p_n n + p_t$. The normal row is solved for $p_n \ge 0$, then
//! $p_t \leftarrow P(p_t - u_t/w)$ with P onto the disc of radius $\mu p_n$ and w the larger eigenvalue of the tangential
//! part of W: it stays where Coulomb's law with its round cone holds.
//!
//! Impulses of all parts are added up, so momentum balances to rounding however far the sweeps have come; how far is the
//! residual: what one more sweep moves.

use super::lanes::{Ask, Body, Given, Patch, Sweeper};
use super::sweep::tangents;
use super::ties::When;
use super::trees::Trees;
use super::{ContactWork, NONE};
use crate::bodies::Rigid;
use crate::collide::rigid::{Manifold, Touch};
use crate::math::{Vec3, set_triple, triple};
use crate::model::{ContactPoint, Model, State, TouchLaw, TouchModel};
use crate::step::StepReport;
use crate::step::impulse::{Impulse, ImpulseWork};

/// Parts of a step.
const PARTS: u32 = 6;
/// a = ωδ of the spring that parts things: about a quarter of a turn per part. Stiffer or more damped ones leave more for
/// the next sweep, softer ones let a heap sink; measured on pyramids and heaps.
const SPRING: f64 = 1.7;
/// ζ of that spring.
const DAMPING: f64 = 1.0;
/// Overlaps below this part of the smallest shape are left: contacts that open and close again never rest.
const SLOP: f64 = 2e-4;
/// A heap counts as solved if one sweep more moved no relative velocity by more than this part of the fastest.
const RULE: f64 = 0.1;

/// The heaps of a step, all in one.
#[derive(Debug, Default)]
pub(super) struct Pile {
    /// Place of each slot among the bodies.
    local: Vec<u32>,
    slots: Vec<u32>,
    /// The last one is the world.
    bodies: Vec<Body>,
    /// Velocities at the beginning of a part, and what forces add in one.
    begun: Vec<[[f64; 4]; 2]>,
    kicks: Vec<[[f64; 4]; 2]>,
    patches: Vec<Patch>,
    given: Vec<Given>,
    /// Of each patch: its manifold, and the place of its first point among all contacts in the order of detection.
    sources: Vec<(u32, u32)>,
    sweeper: Sweeper,
}

/// What a patch is made of.
pub(super) struct NewPatch<'a> {
    pub(super) nodes: [u32; 2],
    pub(super) centers: [Vec3; 2],
    pub(super) law: &'a TouchLaw,
    pub(super) belt: Vec3,
    pub(super) manifold: &'a Manifold,
    /// Its number among all of them.
    pub(super) number: u32,
    /// Contacts of the step before between the same two.
    pub(super) known: &'a [ContactPoint],
    /// Place of its first contact in the order of detection.
    pub(super) place: u32,
}

/// Forces to begin with: those of the same features, and for points that have none the nearest that are left. Where edges
/// of two boxes lie on each other, rounding decides which of them names a point.
fn heirs(points: &[Touch], known: &[ContactPoint]) -> [Vec3; 4] {
    let mut forces = [Vec3::zeros(); 4];
    if points.len() == known.len() && points.iter().zip(known).all(|(p, c)| p.feature == c.feature) {
        forces.iter_mut().zip(known).for_each(|(f, c)| *f = c.last);
        return forces;
    }
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
        let far = |c: &ContactPoint| (c.point - p.point).norm_squared();
        if let Some((i, c)) = left.min_by(|a, b| far(a.1).total_cmp(&far(b.1))) {
            forces[k] = c.last;
            taken |= 1 << i;
        }
    }
    forces
}

fn xyz(row: &[f64; 4]) -> Vec3 {
    Vec3::new(row[0], row[1], row[2])
}

fn row(x: &Vec3, last: f64) -> [f64; 4] {
    [x.x, x.y, x.z, last]
}

impl Pile {
    /// Forgets the heaps of the step before.
    pub(super) fn begin(&mut self, slots: usize) {
        self.slots.iter().for_each(|s| self.local[*s as usize] = NONE);
        self.local.resize(slots, NONE);
        self.slots.clear();
        self.bodies.clear();
        self.begun.clear();
        self.kicks.clear();
        self.patches.clear();
        self.given.clear();
        self.sources.clear();
    }

    /// True if there is no heap.
    pub(super) fn is_empty(&self) -> bool {
        self.patches.is_empty()
    }

    /// How many contacts it has.
    pub(super) fn len(&self) -> usize {
        self.given.len()
    }

    /// The smallest gap of its contacts \[m\].
    pub(super) fn smallest_gap(&self) -> f64 {
        self.given.iter().fold(f64::INFINITY, |least, c| least.min(c.gap()))
    }

    /// Its contacts with their forces after steps of h seconds, each to its place in the order of detection; `manifolds`
    /// are those that it was made of.
    pub(super) fn remember(&self, manifolds: &[Manifold], h: f64, contacts: &mut [ContactPoint]) {
        let (whole, part) = (1.0 / h, f64::from(PARTS) / h);
        for (patch, (manifold, place)) in self.patches.iter().zip(&self.sources) {
            let m = &manifolds[*manifold as usize];
            let own = &self.given[patch.first as usize..(patch.first + patch.count) as usize];
            let kept = contacts[*place as usize..].iter_mut();
            for ((t, c), kept) in m.points().iter().zip(own).zip(kept) {
                (kept.a, kept.b, kept.part, kept.feature) = (m.a, m.b, m.part, t.feature);
                (kept.point, kept.normal, kept.gap) = (t.point, m.normal, t.gap);
                kept.force = xyz(&c.sum) * whole;
                kept.torque = Vec3::zeros();
                kept.last = xyz(&c.p) * part;
            }
        }
    }

    /// What a body of the pile has moved and turned in this step; nothing if it belongs to none.
    fn motion(&self, slot: usize) -> Option<(Vec3, Vec3)> {
        let local = *self.local.get(slot)?;
        self.bodies.get(local as usize).map(|b| (xyz(&b.moved), xyz(&b.turned)))
    }

    pub(super) fn body(&mut self, node: u32) -> u32 {
        if node == NONE {
            return NONE;
        }
        let place = &mut self.local[node as usize];
        if *place == NONE {
            *place = self.slots.len() as u32;
            self.slots.push(node);
        }
        *place
    }

    /// A manifold between bodies of a pile; steps of h seconds.
    pub(super) fn add(&mut self, new: &NewPatch, h: f64) {
        let part = h / f64::from(PARTS);
        let bodies = new.nodes.map(|node| self.body(node));
        let n = new.manifold.normal;
        let first = self.given.len() as u32;
        let center = new.centers[if new.nodes[0] == NONE { 1 } else { 0 }];
        let forces = heirs(new.manifold.points(), new.known);
        let points = new.manifold.points().iter().zip(&forces);
        self.given.extend(points.map(|(p, force)| Given {
            arm: row(&(p.point - center), p.gap),
            p: row(&(part * force), 0.0),
            sum: [0.0; 4],
        }));
        self.sources.push((new.number, new.place));
        let [s, t] = tangents(&n);
        let between = if new.nodes.contains(&NONE) { Vec3::zeros() } else { new.centers[0] - new.centers[1] };
        self.patches.push(Patch {
            bodies,
            first,
            count: self.given.len() as u32 - first,
            normal: row(&n, new.law.friction),
            tangents: [row(&s, s.dot(&new.belt)), row(&t, t.dot(&new.belt))],
            apart: row(&between, new.law.restitution),
        });
    }

    /// Velocities after the step, and what everything moves. Returns the fastest relative velocity before, and what one
    /// sweep more moved \[m/s\].
    fn run(&mut self, settings: &Impulse, h: f64, slop: f64, trees: &mut Trees) -> (f64, f64) {
        let step = h / f64::from(PARTS);
        let Self { bodies, sweeper, .. } = self;
        sweeper.load(bodies, &self.patches, &self.given);
        let fastest = sweeper.look(bodies);
        let stiff = SPRING * (SPRING + 2.0 * DAMPING);
        let ask = Ask {
            inv_step: 1.0 / step,
            rate: SPRING / (SPRING + 2.0 * DAMPING) / step,
            push_speed: settings.push_speed,
            slop,
            mends: stiff / (1.0 + stiff),
            forgets: 1.0 / (1.0 + stiff),
        };
        for part in 0..PARTS {
            for ((body, begun), kick) in bodies.iter_mut().zip(&mut self.begun).zip(&self.kicks) {
                let (start, end) = (*begun, [body.v, body.w]);
                *begun = end;
                for k in 0..4 {
                    body.v[k] += if part == 0 { kick[0][k] } else { end[0][k] - start[0][k] };
                    body.w[k] += if part == 0 { kick[1][k] } else { end[1][k] - start[1][k] };
                }
            }
            if part == 0 {
                sweeper.warm(bodies);
                trees.warm(bodies);
                trees.hold(bodies);
            }
            sweeper.push_apart(bodies, &ask);
            trees.visit(bodies, When::Push);
            trees.hold(bodies);
            for b in bodies.iter_mut() {
                (0..3).for_each(|k| b.moved[k] += step * b.v[k]);
                (0..3).for_each(|k| b.turned[k] += step * b.w[k]);
            }
            sweeper.relax::<false>(bodies, &ask, part + 1 < PARTS);
            trees.visit(bodies, When::Relax);
            trees.hold(bodies);
            if part + 1 < PARTS {
                trees.add_up();
            }
        }
        let left = sweeper.relax::<true>(bodies, &ask, true);
        sweeper.bounce(bodies, settings.bounce_speed);
        trees.hold(bodies);
        trees.add_up();
        sweeper.unload(&self.patches, &mut self.given);
        (fastest, left)
    }
}

impl ContactWork {
    /// Velocities of the bodies of all heaps.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn solve_pile(
        &mut self,
        settings: &Impulse,
        touch: &TouchModel,
        model: &Model,
        state: &State,
        h: f64,
        own: &mut ImpulseWork,
        report: &mut StepReport,
    ) {
        let part = 1.0 / f64::from(PARTS);
        self.load_trees(model, state, h, own);
        let Self { pile, field, start, .. } = self;
        for &slot in &pile.slots {
            let slot = slot as usize;
            let I = &field.inverse[slot].inertia;
            let begin = [triple(start, 2 * slot), triple(start, 2 * slot + 1)];
            let free = [triple(&field.x, 2 * slot), triple(&field.x, 2 * slot + 1)];
            pile.bodies.push(Body {
                v: row(&begin[0], 0.0),
                w: row(&begin[1], 0.0),
                inverse: Body::inverse(
                    field.inverse[slot].mass,
                    [I[(0, 0)], I[(1, 1)], I[(2, 2)], I[(0, 1)], I[(0, 2)], I[(1, 2)]],
                ),
                ..Body::default()
            });
            pile.begun.push([row(&begin[0], 0.0), row(&begin[1], 0.0)]);
            let kick = |k: usize| row(&(part * (free[k] - begin[k])), 0.0);
            pile.kicks.push([kick(0), kick(1)]);
        }
        let world = pile.bodies.len() as u32;
        pile.bodies.push(Body::default());
        for body in pile.patches.iter_mut().flat_map(|p| &mut p.bodies).filter(|b| **b == NONE) {
            *body = world;
        }
        let first = |i: u32| self.clusters[i as usize].first / 6;
        let body = |i: u32, node: u32| pile.local[(first(i) + node) as usize];
        self.trees.load(h * part, PARTS, model, state, own, &pile.bodies, body);
        let (fastest, left) = pile.run(settings, h, SLOP * touch.length, &mut self.trees);
        let scale = fastest.max(h * model.gravity.norm()).max(1e-12);
        for (slot, body) in pile.slots.iter().zip(&pile.bodies) {
            set_triple(&mut field.x, 2 * *slot as usize, &xyz(&body.v));
            set_triple(&mut field.x, 2 * *slot as usize + 1, &xyz(&body.w));
        }
        report.iterations = report.iterations.max(2 * PARTS + 1);
        report.residual = report.residual.max(left / scale);
        report.unfinished |= !(left <= RULE * scale);
        report.contacts += pile.given.iter().filter(|c| c.sum != [0.0; 4]).count() as u32;
    }

    /// A body of the pile moves as it did in the parts of the step; its spin keeps its momentum as in free flight.
    pub(super) fn drift_piled(
        &self,
        model: &Model,
        state: &mut State,
        k: usize,
        slot: usize,
        h: f64,
    ) -> bool {
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
}
