//! Contact and friction in the incremental potential.
//!
//! **Barrier.** Every pair with a gap below ĝ adds $\kappa_k b(g_k)$. The stiffness $\kappa_k$ is the larger one of its two
//! sides: $c\,m/d^2$ of an affine body of mass m, the diagonal of the curvature (inertia and elasticity) of a node. So a
//! weight $mg$ presses a body at rest to a gap of the order of ĝ at any mass and step.
//!
//! Pairs of nearly parallel edges fade by a factor m that goes to zero with the angle ([`Mollifier`]); the slope of m is
//! in the gradient, its curvature is left out.
//!
//! **Friction.** With the normal force $\lambda_k = -\kappa_k b'(g_k)$, normal n and weights w of an earlier iterate ("lagged"),
//! $D_k = \mu_k\lambda_k f_0(|u_k|)$ over the slip $u_k = (1 - nn^T)\sum_i w_i (x_i - x_{s,i})$. Its force grows with the slip up to
//! $\mu\lambda$ at the slip $\varepsilon d$, and its curvature
//! $\mu\lambda\big[\tfrac{f_1}{|u|}(1 - nn^T) + (f_1' - \tfrac{f_1}{|u|})\hat u\hat u^T\big]$ is positive semidefinite as it stands: along û it
//! is $f_1' \ge 0$, across it $f_1/|u|$. Along û a sliding contact has none, so that a step may slide back beyond where it
//! came from. With $f_1/|u|$ in both directions it never does: $f_0$ is concave in $|u|^2$, and the quadratic with that
//! curvature lies above D everywhere; but near the end the steps become far too short. So along û the larger one of
//! $f_1'$ and $\theta f_1/|u|$ is taken, with a caution θ of each body that grows when a step had to be cut and shrinks
//! when the energy fell by much more than the half of the slope that a right curvature promises.

use super::near::{Cover, Near, far2};
use crate::collide::barrier::{FrictionLaw, LogBarrier, Mollifier, squared_cross};
use crate::collide::ccd::CcdOptions;
use crate::collide::{Candidates, Contact, ContactSet, HessianSink, Kind, Sym3, TooMany};
use crate::math::{Blocks, Mat3, Vec3, add_triple};
use crate::model::{ContactForce, ContactModel, SETTLING};
use std::ops::Range;

/// Pairs are chosen for this many gaps beyond the gap, so that the choice serves for short ways to come.
const SLACK: f64 = 0.25;
/// Part of the gap at which pairs from beyond it are stopped.
const STOP: f64 = 0.9;
/// Part of κ below which a change of curvature counts against the inertia: about one in the number of contacts of a body.
const HARDLY: f64 = 1.0 / 16.0;

/// What touches now, what rubs, and who is near.
#[derive(Debug, Default)]
pub(super) struct Touch {
    near: Near,
    pub set: ContactSet,
    /// κ of each contact, faded \[N/m\], and b, b′, b″ at its gap.
    pub(super) kappa: Vec<f64>,
    barrier: Vec<[f64; 3]>,
    /// Pairs of nearly parallel edges: number of the contact, κ and dm/dc.
    pub(super) faded: Vec<(u32, f64, f64)>,
    /// κ of each vertex \[N/m\].
    pub(super) stiffness: Vec<f64>,
    pub(super) forces: Vec<Vec3>,
    pub(super) stiffnesses: Vec<Sym3>,
    /// Vertices now, and where a step would take them.
    pub x: Vec<Vec3>,
    pub x1: Vec<Vec3>,
    /// Vertices that slip counts from.
    start: Vec<Vec3>,
    pub(super) rub: ContactSet,
    /// μλ of each contact that rubs \[N\].
    pub(super) load: Vec<f64>,
    /// Slip below which friction is smoothed, and the gap at which contact begins \[m\].
    slip: f64,
    pub(super) gap: f64,
    /// Pairs that began nearer than that, and their own gaps in this step \[m\], sorted; empty when they have widened.
    pub(super) starts: Vec<([u32; 2], f64)>,
    /// θ of each body: how much of the curvature that never overshoots friction takes along the slip, 0 … 1.
    pub caution: Vec<f64>,
    /// False if nothing can touch.
    pub(super) active: bool,
    /// Σ |f| |x| over the contacts of each body \[J\].
    pub rounding: Vec<f64>,
    /// Energy of barrier and friction by bodies, where it was taken last \[J\].
    pub share: Vec<f64>,
    /// That of barriers alone.
    pressed: Vec<f64>,
    /// That of all barriers, and of friction \[J\].
    pub pressing: f64,
    pub rubbing: f64,
    /// Largest change of a load of friction of each body, over its largest load.
    pub change: Vec<f64>,
    /// κ b″ of the contacts that rub where they were taken \[N/m\]; how much the curvature of each body's contacts has changed
    /// since, a part of itself; and whether x is there, with no slip yet.
    firmness: Vec<f64>,
    pub(super) shifted: Vec<f64>,
    pub(super) at_start: bool,
    /// Bodies that are left alone: pairs of two of them do not count.
    quiet: Vec<bool>,
    /// Vertices of bodies that may move; x1 of all others is their x.
    moving: Vec<Range<usize>>,
    /// Bodies whose way is the one that was looked at last, and the vertices of all others.
    still: Vec<bool>,
    fresh: Vec<Range<usize>>,
    /// `set` holds the contacts at an x1 that differs from the present one in these bodies alone.
    ahead: bool,
    since: Vec<bool>,
    /// Whether bodies that nothing moves are told where to go in this step.
    told: bool,
    /// The candidates that may come near from x to x1; to be chosen anew if worn.
    choice: Candidates,
    worn: bool,
    /// Those of all candidates with a vertex whose way has changed since the others were followed.
    around: Candidates,
    /// Those of the choice that count; to be taken anew if stale.
    pub(super) live: Candidates,
    pub(super) stale: bool,
    /// Where vertices were at the end of the way that pairs were chosen for.
    chosen: Vec<Vec3>,
    /// `set` holds the contacts at x; it holds those that count and no others.
    at_x: bool,
    whole: bool,
    /// Contacts of pairs that are left out, where their bodies stand still; if `full` none is missing.
    left_out: Vec<Contact>,
    full: bool,
    loads: Vec<f64>,
}

/// The gap of a contact of two that began too near \[m\].
pub(super) fn own_gap(starts: &[([u32; 2], f64)], contact: &ContactModel, c: &Contact) -> Option<f64> {
    let found = starts.binary_search_by_key(&contact.start_pair(c), |s| s.0).ok()?;
    Some(starts[found].1)
}

/// Adds a range to a rising list.
fn add_range(list: &mut Vec<Range<usize>>, range: Range<usize>) {
    match list.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => list.push(range),
    }
}

/// Largest distance of these vertices, squared \[m²\].
fn far2_of(ranges: &[Range<usize>], a: &[Vec3], b: &[Vec3]) -> f64 {
    ranges.iter().map(|range| far2(&a[range.clone()], &b[range.clone()])).fold(0.0, f64::max)
}

/// Divides what a contact has between its bodies: by halves, or all of it to the one that can move.
pub(super) fn divide(contact: &ContactModel, bodies: [u32; 2], amount: f64, out: &mut [f64]) {
    let free = |b: u32| b != u32::MAX && !contact.surface.bodies[b as usize].prescribed();
    match bodies.map(free) {
        [true, true] => bodies.iter().for_each(|&b| out[b as usize] += 0.5 * amount),
        [true, false] => out[bodies[0] as usize] += amount,
        [false, true] => out[bodies[1] as usize] += amount,
        [false, false] => {}
    }
}

/// True for a pair that is left out: both sides are quiet, or one is and the other is no body.
fn idle(quiet: &[bool], bodies: [u32; 2]) -> bool {
    match bodies.map(|b| quiet.get(b as usize).copied()) {
        [Some(a), Some(b)] => a && b,
        [Some(a), None] | [None, Some(a)] => a,
        [None, None] => false,
    }
}

/// Calls `visit` for every contact of two lists in their order, with its place in each of them.
fn matched(old: &[Contact], new: &[Contact], mut visit: impl FnMut(Option<usize>, Option<usize>, &Contact)) {
    let key = |c: &Contact| (c.body_pair(), c.kind, c.pair);
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        let order = match (old.get(i), new.get(j)) {
            (Some(a), Some(b)) => key(a).cmp(&key(b)),
            (Some(_), None) => std::cmp::Ordering::Less,
            _ => std::cmp::Ordering::Greater,
        };
        let (a, b) = (order.is_le(), order.is_ge());
        visit(a.then_some(i), b.then_some(j), if a { &old[i] } else { &new[j] });
        i += usize::from(a);
        j += usize::from(b);
    }
}

/// Contacts of bodies that are not idle. Those of two bodies are asked about once.
fn live(set: &ContactSet, quiet: &[bool]) -> impl Iterator<Item = usize> {
    set.runs().map(|(run, _)| run).filter(|run| !idle(quiet, set.contacts[run.start].bodies)).flatten()
}

/// How pairs are followed. A pair that never comes within the gap stops nothing, so that it does not matter which of those
/// are among the candidates: they depend on what was sought before, and the step must not.
fn ways(contact: &ContactModel, rest: f64) -> CcdOptions {
    CcdOptions { rest, most: STOP * contact.gap, ..CcdOptions::default() }
}

/// Puts the blocks of contacts into a list.
pub(super) struct Sink<'a>(pub &'a mut Blocks);

impl HessianSink for Sink<'_> {
    fn add(&mut self, row: u32, column: u32, N: &Sym3) {
        let [xx, xy, xz, yy, yz, zz] = *N;
        let N = Mat3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz);
        self.0.add(row as usize, column as usize, N);
        if row != column {
            self.0.add(column as usize, row as usize, N);
        }
    }
}

fn sym3(N: &Mat3) -> Sym3 {
    [N[(0, 0)], N[(0, 1)], N[(0, 2)], N[(1, 1)], N[(1, 2)], N[(2, 2)]]
}

impl Touch {
    /// Begins a step at the blocks `q`: slip counts from the blocks `start`; friction is smoothed below `slip` \[m\].
    pub(super) fn begin(&mut self, contact: &ContactModel, q: &[f64], start: &[f64], slip: f64) {
        self.active = contact.can_touch();
        // Since the last step anything may have been moved.
        self.still.clear();
        self.since.clear();
        self.since.resize(contact.surface.bodies.len(), true);
        self.ahead = false;
        for list in [&mut self.moving, &mut self.fresh] {
            list.clear();
            list.push(0..contact.maps.len());
        }
        contact.positions(start, &mut self.start);
        contact.positions(q, &mut self.x1);
        // Where the last step ended its contacts serve.
        self.at_x &= self.x == self.x1 && self.gap == contact.gap;
        self.full &= self.at_x;
        self.x.clone_from(&self.x1);
        self.near.begin(&self.x);
        (self.slip, self.gap) = (slip, contact.gap);
        let bodies = contact.surface.bodies.len();
        for list in [&mut self.caution, &mut self.rounding, &mut self.share] {
            list.clear();
            list.resize(bodies, 0.0);
        }
        self.load.clear();
        self.rub.clear();
    }

    /// Takes the gaps that pairs which began too near have at time t \[s\], the end of the step. Contacts that were taken
    /// with other gaps do not serve.
    pub(super) fn widen_starts(&mut self, contact: &ContactModel, t: f64) {
        self.at_x &= self.starts.is_empty();
        self.starts.clear();
        if t < SETTLING {
            self.starts.extend(contact.starts.iter().map(|s| (s.pair, s.at(contact.gap, t))));
            self.at_x &= self.starts.is_empty();
        }
        self.full &= self.at_x;
    }

    /// True while gaps of pairs that began too near widen.
    pub(super) fn widens(&self) -> bool {
        !self.starts.is_empty()
    }

    /// Sets κ of every vertex: `mass_factor` times the mass for affine bodies, the mean of the diagonal for nodes.
    pub(super) fn stiffen(
        &mut self,
        contact: &ContactModel,
        factor: f64,
        mass_factor: f64,
        diagonal: &[f64],
    ) {
        self.stiffness.clear();
        for (v, map) in contact.maps.iter().enumerate() {
            let mass = contact.vertex_mass[v];
            let own = if map.n == 1 { diagonal[map.first_block as usize] } else { mass_factor * mass };
            self.stiffness.push(if mass > 0.0 { factor * own } else { 0.0 });
        }
    }

    /// Makes sure that the candidates hold every pair that comes within the gap on the way from x to x1; returns the
    /// part of the way for which they do.
    pub(super) fn cover(&mut self, contact: &ContactModel) -> Result<f64, TooMany> {
        if !self.active {
            return Ok(1.0);
        }
        match self.near.cover(&contact.surface, contact.gap, [&self.x, &self.x1], &self.still)? {
            Cover::Held => {
                self.worn |= !self.serves(contact);
                self.stale |= self.worn;
                Ok(1.0)
            }
            Cover::Sought(part) => {
                (self.worn, self.stale) = (true, true);
                Ok(part)
            }
        }
    }

    /// True if the last choice of pairs holds all that come within the gap between x and x1: a pair that was left out was
    /// farther apart than gap and slack at the end of the way then, and no vertex is farther than half the slack from there.
    fn serves(&self, contact: &ContactModel) -> bool {
        let slack2 = (0.5 * SLACK * contact.gap).powi(2);
        self.chosen.len() == self.x.len()
            && far2_of(&self.fresh, &self.x, &self.chosen) <= slack2
            && far2_of(&self.fresh, &self.x1, &self.chosen) <= slack2
    }

    /// x1 ← the vertices for the flat blocks `z`, which have changed in the bodies that `changed` names and in no others.
    pub(super) fn place(&mut self, contact: &ContactModel, z: &[f64], changed: impl Fn(u32) -> bool) {
        self.still.clear();
        self.fresh.clear();
        for (b, body) in contact.surface.bodies.iter().enumerate() {
            let still = self.stays(contact, b) || !changed(b as u32);
            self.still.push(still);
            if !still {
                self.since[b] = true;
                add_range(&mut self.fresh, body.vertices.start as usize..body.vertices.end as usize);
            }
        }
        for range in &self.fresh {
            for (x, map) in self.x1[range.clone()].iter_mut().zip(&contact.maps[range.clone()]) {
                *x = map.position(z).unwrap_or_default();
            }
        }
    }

    /// True if all vertices of x1 are somewhere.
    fn somewhere(&self) -> bool {
        let finite = |x: &Vec3| x.iter().all(|x| x.is_finite());
        self.fresh.iter().all(|range| self.x1[range.clone()].iter().all(finite))
    }

    /// x1 becomes x, where the contacts were taken.
    pub(super) fn arrive(&mut self) {
        std::mem::swap(&mut self.x, &mut self.x1);
        (self.at_x, self.ahead, self.at_start) = (true, false, false);
    }

    /// How far the ends of an edge have moved against each other in the last step, over its length: the largest.
    pub(super) fn turned(&self, contact: &ContactModel) -> f64 {
        let moved = |v: u32| self.x[v as usize] - self.x1[v as usize];
        let mut most = 0.0f64;
        for body in contact.surface.bodies.iter().filter(|b| !b.prescribed()) {
            let range = body.edges.start as usize..body.edges.end as usize;
            for ([a, b], length2) in
                contact.surface.edges[range.clone()].iter().zip(&contact.edge_length2[range])
            {
                let turn2 = (moved(*a) - moved(*b)).norm_squared();
                most = if turn2 > most * length2 { turn2 / length2 } else { most };
            }
        }
        most.sqrt()
    }

    /// True for a contact of `set` that has been left out since it was taken.
    fn leaves(&self, bodies: [u32; 2]) -> bool {
        idle(&self.quiet, bodies)
    }

    /// True if pairs are left out.
    pub(super) fn leaves_out(&self) -> bool {
        self.quiet.contains(&true)
    }

    /// After the first look of a step: nothing moves but bodies that are free to, and, if `told`, those that are told to.
    pub(super) fn release(&mut self, contact: &ContactModel, told: bool) {
        self.told = told;
        self.find_moving(contact);
    }

    /// Leaves out the pairs of two quiet bodies from now on.
    pub(super) fn leave_out(&mut self, contact: &ContactModel, quiet: impl Fn(u32) -> bool) {
        // Bodies that nothing moves are no reason to choose pairs: two of them are never paired.
        let of = |b: u32| quiet(b) && !contact.surface.bodies[b as usize].prescribed();
        let bodies = contact.surface.bodies.len() as u32;
        if self.quiet.len() == bodies as usize && (0..bodies).all(|b| of(b) == self.quiet[b as usize]) {
            return;
        }
        self.quiet.clear();
        self.quiet.extend((0..bodies).map(of));
        (self.stale, self.whole) = (true, false);
        self.find_moving(contact);
    }

    /// True for a body that does not move.
    fn stays(&self, contact: &ContactModel, b: usize) -> bool {
        let prescribed = contact.surface.bodies[b].prescribed();
        self.quiet.get(b) == Some(&true) || prescribed && !self.told
    }

    /// Finds the bodies that may move; the others stay where they are.
    fn find_moving(&mut self, contact: &ContactModel) {
        self.moving.clear();
        for (b, body) in contact.surface.bodies.iter().enumerate() {
            let range = body.vertices.start as usize..body.vertices.end as usize;
            if self.stays(contact, b) {
                self.x1[range.clone()].copy_from_slice(&self.x[range]);
            } else {
                add_range(&mut self.moving, range);
            }
        }
    }

    /// Chooses the pairs that count and may come near, if that was put off.
    pub(super) fn choose(&mut self, contact: &ContactModel) {
        if !self.stale {
            return;
        }
        self.stale = false;
        let surface = &contact.surface;
        if std::mem::take(&mut self.worn) {
            let Near { candidates, sift, reference, .. } = &mut self.near;
            sift.follow(surface, reference, &self.x, &self.x1);
            self.chosen.clone_from(&self.x1);
            sift.choose(surface, candidates, contact.gap * (1.0 + SLACK), |_| true, &mut self.choice);
        }
        if !self.leaves_out() {
            return self.live.copy_from(&self.choice);
        }
        let quiet = |b: u32| self.quiet[b as usize] || surface.bodies[b as usize].prescribed();
        let vertex = |v: u32| quiet(surface.vertex_body[v as usize]);
        let edge = |e: u32| quiet(surface.edge_body[e as usize]);
        let triangle = |t: u32| quiet(surface.triangle_body[t as usize]);
        let keep = |from: &[[u32; 2]], to: &mut Vec<[u32; 2]>, idle: &dyn Fn(u32, u32) -> bool| {
            to.clear();
            to.extend(from.iter().filter(|[i, j]| !idle(*i, *j)));
        };
        let (all, live) = (&self.choice, &mut self.live);
        keep(&all.vertex_triangle, &mut live.vertex_triangle, &|v, t| vertex(v) && triangle(t));
        keep(&all.edge_edge, &mut live.edge_edge, &|e, f| edge(e) && edge(f));
        keep(&all.vertex_edge, &mut live.vertex_edge, &|v, e| vertex(v) && edge(e));
        keep(&all.vertex_vertex, &mut live.vertex_vertex, &|v, w| vertex(v) && vertex(w));
        keep(&all.vertex_plane, &mut live.vertex_plane, &|v, _| vertex(v));
    }

    /// Follows the pairs with a vertex that is `changed` from x to x1 and lowers `part` of their vertices to how far each pair
    /// may go, at most 1. With none named all are followed. Returns the part of the way that was looked at.
    pub(super) fn free_vertices(
        &mut self,
        contact: &ContactModel,
        rest: f64,
        changed: Option<&[bool]>,
        part: &mut [f64],
    ) -> Result<f64, TooMany> {
        if !self.active {
            return Ok(1.0);
        }
        if !self.somewhere() {
            return Ok(0.0);
        }
        // Where some vertices stop and others go on the ways of bodies are others, even if each of them is a part of its old one.
        let covered = self.cover(contact)?;
        let follows = |v: &u32| changed.is_none_or(|c| c[*v as usize]);
        let options = ways(contact, rest);
        let longest = |vertices: [u32; 4]| f64::from(u8::from(vertices.iter().any(follows)));
        let mut take = |vertices: [u32; 4], t: f64| {
            for v in vertices {
                let part = &mut part[v as usize];
                *part = part.min(t);
            }
        };
        if self.only_contacts(contact, rest) {
            let take = |c: &Contact, t: f64| take(c.vertices, t);
            let of = |c: &Contact| longest(c.vertices);
            self.set.each_time(&contact.surface, &self.x, &self.x1, &options, of, take);
            return Ok(covered);
        }
        let of = |v: [u32; 4], _: [u32; 2]| longest(v);
        let take = |v: [u32; 4], _: [u32; 2], t: f64| take(v, t);
        if changed.is_some() && self.worn && !self.leaves_out() {
            // Where no corner has changed its way the pair was followed already; the choice of all pairs is put off.
            let Near { candidates, sift, reference, .. } = &mut self.near;
            sift.follow(&contact.surface, reference, &self.x, &self.x1);
            let any = |vertices: &[u32]| vertices.iter().any(follows);
            sift.choose(&contact.surface, candidates, contact.gap, any, &mut self.around);
            self.around.each_vertex_time(&contact.surface, &self.x, &self.x1, &options, of, take);
            return Ok(covered);
        }
        self.choose(contact);
        self.live.each_vertex_time(&contact.surface, &self.x, &self.x1, &options, of, take);
        Ok(covered)
    }

    /// True if nothing but the contacts at x can stop a way to x1: pairs that are farther apart than the gap keep `rest` of it
    /// however they move, since no vertex goes far.
    fn only_contacts(&self, contact: &ContactModel, rest: f64) -> bool {
        let most = 0.499 * (1.0 - rest) * contact.gap;
        self.at_x && far2_of(&self.moving, &self.x, &self.x1) <= most * most
    }

    /// Follows the pairs from x to x1: `longest` says how far a pair of bodies is followed, `take` gets how far it may
    /// go. Returns the part of the way that was looked at.
    pub(super) fn free_parts(
        &mut self,
        contact: &ContactModel,
        rest: f64,
        longest: impl Fn([u32; 2]) -> f64,
        mut take: impl FnMut([u32; 2], f64),
    ) -> Result<f64, TooMany> {
        if !self.active {
            return Ok(1.0);
        }
        if !self.somewhere() {
            return Ok(0.0);
        }
        let covered = self.cover(contact)?;
        let options = ways(contact, rest);
        if self.only_contacts(contact, rest) {
            let of = |c: &Contact| longest(c.bodies);
            let take = |c: &Contact, t: f64| take(c.bodies, t);
            self.set.each_time(&contact.surface, &self.x, &self.x1, &options, of, take);
            return Ok(covered);
        }
        self.choose(contact);
        self.live.each_time(&contact.surface, &self.x, &self.x1, &options, longest, take);
        Ok(covered)
    }

    /// Takes the contacts at x1 (`ahead`) or x, if they are not those at hand.
    pub(super) fn take_contacts(&mut self, contact: &ContactModel, ahead: bool) {
        if !self.active || self.at_x && self.whole && !ahead {
            return;
        }
        // Others are left out than when contacts were taken.
        let mut changed = true;
        if !self.whole {
            self.full &= self.at_x;
            changed = self.full && self.divide(contact);
        }
        if !ahead && self.at_x && self.full {
            if changed {
                self.set.map(&contact.surface);
                self.take_barriers(contact);
            }
            self.whole = true;
            return;
        }
        self.choose(contact);
        let x = if ahead { &self.x1 } else { &self.x };
        if ahead && self.ahead && self.whole {
            self.set.renew(&contact.surface, &self.live, x, contact.gap, |b| self.since[b as usize]);
        } else {
            self.set.update(&contact.surface, &self.live, x, contact.gap);
        }
        (self.at_x, self.ahead, self.whole) = (!ahead, ahead, true);
        self.since.fill(false);
        if !self.leaves_out() {
            self.left_out.clear();
            self.full = true;
        }
        self.take_barriers(contact);
    }

    fn take_barriers(&mut self, contact: &ContactModel) {
        let barrier = LogBarrier { gap_max: self.gap };
        self.barrier.clear();
        self.barrier.extend(self.set.contacts.iter().map(|c| barrier.at(c.gap)));
        if self.widens() {
            // κ ĝ/ĝₖ b(g; ĝₖ): the same force at the same part of the gap.
            for (c, out) in self.set.contacts.iter().zip(&mut self.barrier) {
                if let Some(own) = own_gap(&self.starts, contact, c) {
                    *out = LogBarrier { gap_max: own }.at(c.gap).map(|b| self.gap / own * b);
                }
            }
        }
    }

    /// The contacts at x that count are the set, all others are left out; true if the set has changed.
    fn divide(&mut self, contact: &ContactModel) -> bool {
        let Self { set, left_out, quiet, .. } = self;
        let out = quiet.contains(&true);
        // As pairs are chosen.
        let still =
            |b: u32| b == u32::MAX || quiet[b as usize] || contact.surface.bodies[b as usize].prescribed();
        set.divide(left_out, |bodies| !(out && bodies.into_iter().all(still)))
    }

    /// Forgets friction.
    pub(super) fn end_friction(&mut self) {
        self.load.clear();
        self.rub.clear();
    }

    /// Takes the contacts at x1 (`ahead`) or x; the energy of barrier and friction there \[J\], infinite where something
    /// touches.
    pub(super) fn energy(&mut self, contact: &ContactModel, ahead: bool) -> f64 {
        if !self.active {
            return 0.0;
        }
        self.press(contact, ahead);
        self.sum(contact, ahead)
    }

    /// Takes the contacts at x1 (`ahead`) or x, and the energies of their barriers.
    pub(super) fn press(&mut self, contact: &ContactModel, ahead: bool) {
        self.take_contacts(contact, ahead);
        let x = if ahead { &self.x1 } else { &self.x };
        self.kappa.clear();
        self.faded.clear();
        for (k, c) in self.set.contacts.iter().enumerate() {
            let mut kappa = c.vertices.iter().map(|&v| self.stiffness[v as usize]).fold(0.0, f64::max);
            if c.kind == Kind::EdgeEdge {
                let [a, b] = c.pair.map(|e| contact.edge_length2[e as usize]);
                let corners = c.vertices.map(|v| x[v as usize]);
                let cross = (corners[1] - corners[0]).cross(&(corners[3] - corners[2])).norm_squared();
                let [m, rate, _] = Mollifier::of_rest(a, b).at(cross);
                if rate != 0.0 {
                    self.faded.push((k as u32, kappa, rate));
                    kappa *= m;
                }
            }
            self.kappa.push(kappa);
        }
        self.pressing = 0.0;
        self.pressed.clear();
        self.pressed.resize(self.share.len(), 0.0);
        for (c, (kappa, barrier)) in self.set.contacts.iter().zip(self.kappa.iter().zip(&self.barrier)) {
            let energy = kappa * barrier[0];
            divide(contact, c.bodies, energy, &mut self.pressed);
            self.pressing += energy;
        }
    }

    /// The energy of the contacts taken last, where they were taken \[J\].
    pub(super) fn sum(&mut self, contact: &ContactModel, ahead: bool) -> f64 {
        if !self.active {
            return 0.0;
        }
        let x = if ahead { &self.x1 } else { &self.x };
        let law = FrictionLaw { slip_max: self.slip };
        self.share.clone_from(&self.pressed);
        self.rubbing = 0.0;
        for k in live(&self.rub, &self.quiet) {
            let c = &self.rub.contacts[k];
            let u = slip(&c.vertices, &c.weights, &c.normal, x, &self.start);
            let energy = self.load[k] * law.at(u.norm())[0];
            divide(contact, c.bodies, energy, &mut self.share);
            self.rubbing += energy;
        }
        let sum = self.pressing + self.rubbing;
        if sum.is_nan() { f64::INFINITY } else { sum }
    }

    /// Forces of the contacts taken last at x, slip counted from `start`.
    pub(super) fn forces(&mut self, contact: &ContactModel, start: &[f64], out: &mut Vec<ContactForce>) {
        out.clear();
        if !self.active {
            return;
        }
        contact.positions(start, &mut self.start);
        let law = FrictionLaw { slip_max: self.slip };
        let planes = contact.surface.bodies.len() as u32;
        for (k, (c, kappa)) in self.set.contacts.iter().zip(&self.kappa).enumerate() {
            let normal = -kappa * self.barrier[k][1];
            let u = slip(&c.vertices, &c.weights, &c.normal, &self.x, &self.start);
            let ratio = law.at(u.norm())[2];
            let point = c.vertices.iter().zip(&c.weights).filter(|(_, w)| **w > 0.0);
            out.push(ContactForce {
                a: c.bodies[0],
                b: if c.kind == Kind::VertexPlane { planes + c.pair[1] } else { c.bodies[1] },
                point: point.map(|(&v, w)| *w * self.x[v as usize]).sum(),
                normal: c.normal,
                force: normal * c.normal - friction_of(contact, c) * normal * ratio * u,
                gap: c.gap,
            });
        }
    }

    /// b −= the slope of barrier and friction at the contacts taken last, at x; stiffnesses are kept for
    /// [`add_curvature`](Self::add_curvature).
    pub(super) fn slope(&mut self, contact: &ContactModel, b: &mut [f64]) {
        self.rounding.fill(0.0);
        if !self.active {
            return;
        }
        let law = FrictionLaw { slip_max: self.slip };
        self.forces.clear();
        self.stiffnesses.clear();
        for (k, (c, kappa)) in self.set.contacts.iter().zip(&self.kappa).enumerate() {
            if self.leaves(c.bodies) {
                self.forces.push(Vec3::zeros());
                self.stiffnesses.push([0.0; 6]);
                continue;
            }
            let [_, first, second] = self.barrier[k];
            self.forces.push(-kappa * first * c.normal);
            let rounding = (kappa * first).abs() * self.x[c.vertices[0] as usize].amax();
            divide(contact, c.bodies, rounding, &mut self.rounding);
            self.stiffnesses.push(sym3(&(kappa * second * c.normal * c.normal.transpose())));
        }
        self.set.add_gradient_of(&self.forces, |bodies| !self.leaves(bodies), b);
        for &(k, kappa, rate) in &self.faded {
            let c = &self.set.contacts[k as usize];
            if self.leaves(c.bodies) {
                continue;
            }
            let (_, slopes) = squared_cross(&c.vertices.map(|v| self.x[v as usize]));
            let factor = -kappa * self.barrier[k as usize][0] * rate;
            for (v, slope) in c.vertices.iter().zip(&slopes) {
                let map = &contact.surface.maps[*v as usize];
                for j in 0..map.n as usize {
                    add_triple(b, map.first_block as usize + j, &(factor * map.w[j] * slope));
                }
            }
        }
        let touching = self.forces.len();
        let all = touching + self.rub.contacts.len();
        self.forces.resize(all, Vec3::zeros());
        self.stiffnesses.resize(all, [0.0; 6]);
        for k in live(&self.rub, &self.quiet) {
            let (c, load) = (&self.rub.contacts[k], self.load[k]);
            let u = slip(&c.vertices, &c.weights, &c.normal, &self.x, &self.start);
            let y = u.norm();
            let [_, _, ratio, rate] = law.at(y);
            self.forces[touching + k] = -load * ratio * u;
            let mut N = ratio * (Mat3::identity() - c.normal * c.normal.transpose());
            if y > 0.0 {
                let of = |b: u32| self.caution.get(b as usize).copied().unwrap_or(0.0);
                let theta = of(c.bodies[0]).max(of(c.bodies[1]));
                N += (rate.max(theta * ratio) - ratio) / (y * y) * u * u.transpose();
            }
            self.stiffnesses[touching + k] = sym3(&(load * N));
        }
        self.rub.add_gradient_of(&self.forces[touching..], |bodies| !idle(&self.quiet, bodies), b);
    }

    /// Adds the blocks of the curvature where the slope was taken last.
    pub(super) fn add_curvature(&self, out: &mut impl HessianSink) {
        self.add_curvature_of(|_| true, out);
    }

    /// The same for contacts of `wanted` bodies (a half-plane is `u32::MAX`).
    pub(super) fn add_curvature_of(&self, wanted: impl Fn([u32; 2]) -> bool, out: &mut impl HessianSink) {
        if !self.active {
            return;
        }
        let (touch, rub) = self.stiffnesses.split_at(self.kappa.len());
        self.set.add_hessian_of(touch, |bodies| !self.leaves(bodies) && wanted(bodies), out);
        self.rub.add_hessian_of(rub, |bodies| !idle(&self.quiet, bodies) && wanted(bodies), out);
    }

    /// b −= the change of slope that the motion of prescribed vertices from x to x1 makes, to first order.
    pub(super) fn follow(&mut self, contact: &ContactModel, b: &mut [f64]) {
        if !self.active {
            return;
        }
        let surface = &contact.surface;
        let (x, x1) = (&self.x, &self.x1);
        let moved = |vertices: &[u32; 4], weights: &[f64; 4]| -> Vec3 {
            let told = vertices.iter().zip(weights).filter(|(v, _)| surface.maps[**v as usize].n == 0);
            told.map(|(&v, w)| *w * (x1[v as usize] - x[v as usize])).sum()
        };
        let push = |N: &Sym3, u: Vec3| {
            let [xx, xy, xz, yy, yz, zz] = *N;
            -(Mat3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz) * u)
        };
        let (touch, rub) = self.stiffnesses.split_at(self.kappa.len());
        let of = |set: &ContactSet, N: &[Sym3]| -> Vec<Vec3> {
            set.contacts.iter().zip(N).map(|(c, N)| push(N, moved(&c.vertices, &c.weights))).collect()
        };
        self.set.add_gradient(&of(&self.set, touch), b);
        self.rub.add_gradient(&of(&self.rub, rub), b);
    }

    /// Takes normal forces, directions and weights of friction from the contacts taken last, and notes by how much the
    /// loads of each body have changed.
    pub(super) fn take_friction(&mut self, contact: &ContactModel) {
        self.change.clear();
        self.change.resize(contact.surface.bodies.len(), 0.0);
        if !self.active {
            return;
        }
        let mut loads = std::mem::take(&mut self.loads);
        loads.clear();
        for (k, (c, kappa)) in self.set.contacts.iter().zip(&self.kappa).enumerate() {
            loads.push(friction_of(contact, c) * (-kappa * self.barrier[k][1]));
        }
        self.compare(&loads);
        self.loads = std::mem::replace(&mut self.load, loads);
        if self.load.iter().all(|l| *l == 0.0) {
            self.rub.clear();
            self.load.clear();
        } else {
            self.rub.copy_from(&self.set);
        }
        let firm = self.kappa.iter().zip(&self.barrier).map(|(kappa, b)| kappa * b[2]);
        self.firmness.clear();
        self.firmness.extend(firm);
        self.at_start = self.rubs() && self.x == self.start;
    }

    /// Notes for each body how much the curvature of its contacts at x differs from that at the start, where slip counts from
    /// and friction was taken: the largest part over its contacts. A barrier has the curvature κ b″, friction
    /// μλ f₁′ ∝ 1 − |u|/εd along the slip, which falls fastest. Contacts that were hardly there count against the inertia of
    /// their bodies, of which κ is a multiple.
    pub(super) fn curvature_change(&mut self) {
        self.shifted.clear();
        self.shifted.resize(self.change.len(), 0.0);
        let Self { rub, set, firmness, kappa, barrier, stiffness, shifted, quiet, x, start, .. } = self;
        matched(&rub.contacts, &set.contacts, |i, j, c| {
            if idle(quiet, c.bodies) {
                return;
            }
            let before = i.map_or(0.0, |i| firmness[i]);
            let now = j.map_or(0.0, |j| kappa[j] * barrier[j][2]);
            let own = c.vertices.iter().map(|&v| stiffness[v as usize]).fold(0.0, f64::max);
            let pressed = (now - before).abs() / (before + HARDLY * own);
            let slipped = slip(&c.vertices, &c.weights, &c.normal, x, start).norm() / self.slip;
            for b in c.bodies.into_iter().filter(|b| *b != u32::MAX).map(|b| b as usize) {
                shifted[b] = shifted[b].max(pressed).max(slipped);
            }
        });
    }

    /// What the new loads would change in friction at the present slip, |Δμλ| f₁: the most for each body over its largest load.
    /// What slides counts with all of the change, what sticks with the part of its limit that it draws on: its force is what
    /// keeps it in place, and the limit only decides how slowly it creeps. Both lists are in the order of their contacts.
    fn compare(&mut self, loads: &[f64]) {
        let (x, start) = (&self.x, &self.start);
        let law = FrictionLaw { slip_max: self.slip };
        let mut largest = vec![0.0f64; self.change.len()];
        let mut note = |c: &Contact, before: f64, now: f64, change: &mut Vec<f64>| {
            let u = slip(&c.vertices, &c.weights, &c.normal, x, start);
            let part = law.at(u.norm())[1];
            for b in c.bodies.into_iter().filter(|b| *b != u32::MAX).map(|b| b as usize) {
                largest[b] = largest[b].max(before).max(now);
                change[b] = change[b].max(part * (now - before).abs());
            }
        };
        let (load, change) = (&self.load, &mut self.change);
        matched(&self.rub.contacts, &self.set.contacts, |i, j, c| {
            note(c, i.map_or(0.0, |i| load[i]), j.map_or(0.0, |j| loads[j]), change);
        });
        for (change, largest) in self.change.iter_mut().zip(&largest) {
            *change = if *largest > 0.0 { *change / largest } else { 0.0 };
        }
    }

    /// Contacts that push or rub: all that ties bodies together, each two of them by one contact at least.
    pub(super) fn ties(&self) -> impl Iterator<Item = &Contact> {
        self.set.firsts().chain(self.rub.firsts())
    }

    /// True if there is friction.
    pub(super) fn rubs(&self) -> bool {
        !self.load.is_empty()
    }

    /// Smallest gap of the contacts taken last \[m\]; infinite without contacts.
    pub(super) fn smallest_gap(&self) -> f64 {
        self.set.contacts.iter().map(|c| c.gap).fold(f64::INFINITY, f64::min)
    }
}

/// Coefficient of friction of a contact.
fn friction_of(contact: &ContactModel, c: &Contact) -> f64 {
    let surface = &contact.surface;
    let group = |v: u32| surface.bodies[surface.vertex_body[v as usize] as usize].group;
    let other = match c.kind {
        Kind::VertexPlane => surface.half_planes[c.pair[1] as usize].group,
        Kind::EdgeEdge => group(c.vertices[2]),
        _ => group(c.vertices[1]),
    };
    contact.friction(group(c.vertices[0]), other)
}

/// (1 − n nᵀ) Σ w (x − start) \[m\].
fn slip(vertices: &[u32; 4], weights: &[f64; 4], normal: &Vec3, x: &[Vec3], start: &[Vec3]) -> Vec3 {
    let mut u = Vec3::zeros();
    for (&v, w) in vertices.iter().zip(weights) {
        u += *w * (x[v as usize] - start[v as usize]);
    }
    u - normal * normal.dot(&u)
}
