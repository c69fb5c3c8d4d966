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
//!
//! **Heaps.** What happens in one island reaches no other. So islands are put together into heaps of about `ENOUGH` contacts,
//! and all parts of the step are done for one heap before the next: a crowd of a thousand ragdolls is read from memory once
//! per step instead of once per sweep. An island is never cut. Who shares a heap with whom changes no bit, since colours,
//! visits and joints of an island know of no other; several threads take heaps side by side.

use std::ops::Range;

use rayon::prelude::*;

use super::lanes::{Ask, Body, Given, Patch, Sweeper};
use super::ties::When;
use super::trees::{Crowd, CrowdRoom, Trees};
use super::{ContactWork, StepInput};
use crate::bodies::Rigid;
use crate::collide::rigid::{Manifold, Touch};
use crate::contact::ContactLaw;
use crate::contact::problem::ContactProblem;
use crate::contact::response::NONE;
use crate::math::{Vec3, set_triple, triple};
use crate::model::Model;
use crate::state::{ContactPoint, State};
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

/// A heap takes islands until it has so many contacts, each limb of a tree counting as `LIMB` of them: about what a
/// processor keeps near itself.
const ENOUGH: u32 = 2500;
const LIMB: u32 = 4;

/// The heaps of a step.
#[derive(Debug, Default)]
pub(super) struct Pile {
    /// Heap of each slot, and its place among the bodies there.
    local: Vec<[u32; 2]>,
    /// Heap of each island, at its root.
    of_root: Vec<u32>,
    heaps: Vec<Heap>,
    /// How many of them this step has.
    used: usize,
    /// Of heaps that are solved side by side.
    rooms: Vec<Room>,
}

/// What solving a heap needs and nobody asks for afterwards.
#[derive(Debug, Default)]
struct Room {
    sweeper: Sweeper,
    crowd: CrowdRoom,
}

/// Some islands, solved by themselves.
#[derive(Debug, Default)]
struct Heap {
    slots: Vec<u32>,
    /// The last one is the world.
    bodies: Vec<Body>,
    /// Velocities at the beginning of a part.
    begun: Vec<[[f64; 4]; 2]>,
    patches: Vec<Patch>,
    given: Vec<Given>,
    /// Of each patch: its manifold, and the place of its first point among all contacts in the order of detection.
    sources: Vec<(u32, u32)>,
    /// Islands of joints, and how many fours of trees and rows with bounds they make.
    trees: Vec<u32>,
    crowd: [usize; 2],
    /// Contacts, and what counts as such.
    weight: u32,
    /// Contacts that pressed.
    pressed: u32,
}

/// What a patch is made of.
pub(super) struct NewPatch<'a> {
    pub(super) heap: u32,
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

/// True if points have the features that they had.
fn are_same(points: &[Touch], known: &[ContactPoint]) -> bool {
    points.len() == known.len() && points.iter().zip(known).all(|(p, c)| p.feature == c.feature)
}

/// Forces to begin with: those of the same features, and for points that have none the nearest that are left. Where edges
/// of two boxes lie on each other, rounding decides which of them names a point.
fn heirs(points: &[Touch], known: &[ContactPoint]) -> [Vec3; 4] {
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
    /// Forgets the heaps of the step before; islands have their roots among so many nodes.
    pub(super) fn begin(&mut self, slots: usize, nodes: usize) {
        self.local.resize(slots, [NONE; 2]);
        for heap in &mut self.heaps[..self.used] {
            heap.slots.iter().for_each(|s| self.local[*s as usize] = [NONE; 2]);
            heap.begin();
        }
        self.used = 0;
        self.of_root.clear();
        self.of_root.resize(nodes, NONE);
    }

    /// True if there is no heap.
    pub(super) fn is_empty(&self) -> bool {
        self.used == 0
    }

    fn heaps(&self) -> &[Heap] {
        &self.heaps[..self.used]
    }

    /// How many contacts it has.
    pub(super) fn len(&self) -> usize {
        self.heaps().iter().map(|heap| heap.given.len()).sum()
    }

    /// Its contacts with their forces after steps of h seconds, each to its place in the order of detection; `manifolds`
    /// are those that it was made of. Returns the smallest gap \[m\].
    pub(super) fn remember(&self, manifolds: &[Manifold], h: f64, contacts: &mut [ContactPoint]) -> f64 {
        let least = |least: f64, heap: &Heap| least.min(heap.remember(manifolds, h, contacts));
        self.heaps().iter().fold(f64::INFINITY, least)
    }

    /// What a body of the pile has moved and turned in this step; nothing if it belongs to none.
    fn motion(&self, slot: usize) -> Option<(Vec3, Vec3)> {
        let [heap, place] = *self.local.get(slot)?;
        let body = self.heaps.get(heap as usize)?.bodies.get(place as usize)?;
        Some((xyz(&body.moved), xyz(&body.turned)))
    }

    /// The heap of an island, given by its root and its number of contacts.
    pub(super) fn heap_of(&mut self, root: u32, contacts: u32) -> u32 {
        let place = &mut self.of_root[root as usize];
        if *place == NONE {
            let full = self.used.checked_sub(1).is_none_or(|last| self.heaps[last].is_full());
            self.used += usize::from(full);
            if self.used > self.heaps.len() {
                self.heaps.push(Heap::default());
            }
            *place = self.used as u32 - 1;
            self.heaps[*place as usize].weight += contacts;
        }
        *place
    }

    fn body(&mut self, heap: u32, node: u32) -> u32 {
        if node == NONE {
            return NONE;
        }
        let [of, place] = &mut self.local[node as usize];
        if *of == NONE {
            let slots = &mut self.heaps[heap as usize].slots;
            (*of, *place) = (heap, slots.len() as u32);
            slots.push(node);
        }
        *place
    }

    /// An island of joints with the bodies of some slots belongs to a heap.
    pub(super) fn add_tree(&mut self, heap: u32, island: u32, slots: Range<u32>) {
        let own = &mut self.heaps[heap as usize];
        own.trees.push(island);
        own.weight += LIMB * slots.len() as u32;
        slots.for_each(|slot| {
            self.body(heap, slot);
        });
    }

    /// A manifold between bodies of a heap; steps of h seconds.
    pub(super) fn add(&mut self, new: &NewPatch, h: f64) {
        let bodies = new.nodes.map(|node| self.body(new.heap, node));
        self.heaps[new.heap as usize].add(new, bodies, h);
    }
}

impl Heap {
    fn begin(&mut self) {
        self.slots.clear();
        self.bodies.clear();
        self.begun.clear();
        self.patches.clear();
        self.given.clear();
        self.sources.clear();
        self.trees.clear();
        self.weight = 0;
    }

    /// Trees are held four at a time: it does not end between them.
    fn is_full(&self) -> bool {
        self.weight >= ENOUGH && self.trees.len().is_multiple_of(4)
    }

    fn remember(&self, manifolds: &[Manifold], h: f64, contacts: &mut [ContactPoint]) -> f64 {
        let (whole, part) = (1.0 / h, f64::from(PARTS) / h);
        let mut least = f64::INFINITY;
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
                least = least.min(t.gap);
            }
        }
        least
    }

    fn add(&mut self, new: &NewPatch, bodies: [u32; 2], h: f64) {
        let part = h / f64::from(PARTS);
        let first = self.given.len() as u32;
        let center = if new.nodes[0] == NONE { &new.centers[1] } else { &new.centers[0] };
        let points = new.manifold.points();
        let give = |p: &Touch, force: &Vec3| Given {
            arm: row(&(p.point - center), p.gap),
            p: row(&(part * force), 0.0),
            sum: [0.0; 4],
        };
        // Forces go from where they were kept to where they are used: a copy on the way would be waited for.
        if are_same(points, new.known) {
            self.given.extend(points.iter().zip(new.known).map(|(p, c)| give(p, &c.last)));
        } else {
            let forces = heirs(points, new.known);
            self.given.extend(points.iter().zip(&forces).map(|(p, force)| give(p, force)));
        }
        self.sources.push((new.number, new.place));
        let between = if new.nodes.contains(&NONE) { Vec3::zeros() } else { new.centers[0] - new.centers[1] };
        self.patches.push(Patch {
            bodies,
            first,
            count: self.given.len() as u32 - first,
            normal: row(&new.manifold.normal, new.law.friction),
            belt: row(&new.belt, 0.0),
            apart: row(&between, new.law.restitution),
        });
    }

    /// Its bodies as they are at the start of the step, the world behind them.
    fn load(&mut self, problem: &ContactProblem) {
        let part = 1.0 / f64::from(PARTS);
        for &slot in &self.slots {
            let slot = slot as usize;
            let inverse = &problem.responses.inverse[slot];
            let I = &inverse.inertia;
            let of = |x: &[f64]| [triple(x, 2 * slot), triple(x, 2 * slot + 1)];
            let (begin, free) = (of(&problem.start), of(&problem.x));
            let kick = |k: usize| part * (free[k] - begin[k]);
            self.bodies.push(Body {
                v: row(&begin[0], 0.0),
                w: row(&begin[1], 0.0),
                // Nothing has moved: velocities after the first kick stand here until the parts begin.
                moved: row(&(begin[0] + kick(0)), 0.0),
                turned: row(&(begin[1] + kick(1)), 0.0),
                inverse: Body::inverse(
                    inverse.mass,
                    [I[(0, 0)], I[(1, 1)], I[(2, 2)], I[(0, 1)], I[(0, 2)], I[(1, 2)]],
                ),
            });
            self.begun.push([row(&begin[0], 0.0), row(&begin[1], 0.0)]);
        }
        let world = self.bodies.len() as u32;
        self.bodies.push(Body::default());
        for body in self.patches.iter_mut().flat_map(|p| &mut p.bodies).filter(|b| **b == NONE) {
            *body = world;
        }
    }

    /// Velocities after the step, and what everything moves. Returns the fastest relative velocity before, and what one
    /// sweep more moved \[m/s\].
    fn run(
        &mut self,
        settings: &Impulse,
        h: f64,
        slop: f64,
        mut trees: Crowd,
        Room { sweeper, crowd: room }: &mut Room,
    ) -> (f64, f64) {
        let step = h / f64::from(PARTS);
        let bodies = &mut self.bodies;
        let fastest = sweeper.load(bodies, &self.patches, &self.given);
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
            if part > 0 {
                for (body, begun) in bodies.iter_mut().zip(&mut self.begun) {
                    let (start, end) = (*begun, [body.v, body.w]);
                    *begun = end;
                    for k in 0..4 {
                        body.v[k] += end[0][k] - start[0][k];
                        body.w[k] += end[1][k] - start[1][k];
                    }
                }
            } else {
                for body in bodies.iter_mut() {
                    (body.v, body.w) = (body.moved, body.turned);
                    (body.moved, body.turned) = ([0.0; 4], [0.0; 4]);
                }
                trees.warm(bodies);
                trees.hold(bodies, room);
            }
            sweeper.push_apart(bodies, &ask);
            trees.visit(bodies, When::Push);
            trees.hold(bodies, room);
            for b in bodies.iter_mut() {
                (0..3).for_each(|k| b.moved[k] += step * b.v[k]);
                (0..3).for_each(|k| b.turned[k] += step * b.w[k]);
            }
            sweeper.relax::<false>(bodies, &ask, part + 1 < PARTS);
            trees.visit(bodies, When::Relax);
            trees.hold(bodies, room);
            if part + 1 < PARTS {
                trees.add_up();
            }
        }
        let left = sweeper.relax::<true>(bodies, &ask, true);
        sweeper.bounce(bodies, settings.bounce_speed);
        trees.hold(bodies, room);
        trees.add_up();
        self.pressed = sweeper.unload(&mut self.given);
        (fastest, left)
    }
}

impl ContactWork {
    /// Velocities of the bodies of all heaps.
    pub(super) fn solve_pile(
        &mut self,
        given: &StepInput,
        state: &State,
        own: &mut ImpulseWork,
        report: &mut StepReport,
    ) {
        let StepInput { settings, contact, model, h } = *given;
        self.load_trees(model, state, h, own);
        let Self { pile, problem, trees, .. } = self;
        let Pile { heaps, used, local, rooms, .. } = pile;
        let heaps = &mut heaps[..*used];
        let (part, slop) = (h / f64::from(PARTS), SLOP * contact.length);
        let body = |i: u32, node: u32| local[(problem.coupled[i as usize].first / 6 + node) as usize][1];
        let mut load = |heap: &mut Heap, trees: &mut Trees| {
            heap.load(problem);
            heap.crowd = trees.load(part, PARTS, &mut heap.trees, model, state, own, &heap.bodies, body);
        };
        let worse = |a: (f64, f64), b: (f64, f64)| (a.0.max(b.0), a.1.max(b.1));
        let mut worst = (0.0, 0.0);
        if rayon::current_num_threads() > 1 && heaps.len() > 1 {
            heaps.iter_mut().for_each(|heap| load(heap, trees));
            if rooms.len() < heaps.len() {
                rooms.resize_with(heaps.len(), Room::default);
            }
            let crowds = trees.crowds(heaps.iter().map(|heap| heap.crowd));
            let all = heaps.par_iter_mut().zip(rooms).zip(crowds);
            let all = all.map(|((heap, room), crowd)| heap.run(settings, h, slop, crowd, room));
            worst = all.reduce(|| worst, worse);
        } else {
            if rooms.is_empty() {
                rooms.push(Room::default());
            }
            for heap in heaps.iter_mut() {
                load(heap, trees);
                let crowd = trees.last_crowd(heap.crowd);
                worst = worse(worst, heap.run(settings, h, slop, crowd, &mut rooms[0]));
            }
        }
        let (fastest, left) = worst;
        let scale = fastest.max(h * model.gravity.norm()).max(1e-12);
        for heap in pile.heaps() {
            for (slot, body) in heap.slots.iter().zip(&heap.bodies) {
                set_triple(&mut problem.x, 2 * *slot as usize, &xyz(&body.v));
                set_triple(&mut problem.x, 2 * *slot as usize + 1, &xyz(&body.w));
            }
            report.contacts += heap.pressed;
        }
        report.iterations = report.iterations.max(2 * PARTS + 1);
        report.residual = report.residual.max(left / scale);
        report.unfinished |= !(left <= RULE * scale);
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
        let new = &self.problem.x[6 * slot..6 * slot + 6];
        v[6 * k..6 * k + 6].copy_from_slice(new);
        model.rigid.free_flight_of(q, v, k, h);
        let (more, turn) = (moved - h * triple(new, 0), turned - h * triple(new, 1));
        let delta = [more.x, more.y, more.z, turn.x, turn.y, turn.z];
        Rigid::advance(&mut q[7 * k..7 * k + 7], &delta);
        true
    }
}
