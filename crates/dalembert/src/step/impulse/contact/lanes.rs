//! The sweeps of a pile, four manifolds at a time.
//!
//! Manifolds are coloured: none of one colour shares a body that moves with another (greedily, the first colour free for
//! both bodies). Those of one colour do not depend on each other, so four of them are visited together, one per lane,
//! and the result is that of visiting them in turn. Lanes without a manifold, and points that a manifold lacks, have a
//! response of zero: nothing comes of them. Two such groups of one colour are visited point by point in turn: points of one
//! manifold wait for each other, and the other group uses the time. What a visit does is in `faces`.
//!
//! Several threads share the groups of a large colour. Bodies are read by all and written by none while they work: each
//! group leaves the velocities of its eight bodies behind, which are put in their places once the colour is done. A visit
//! reads what no other of its colour writes, so the bits are those of visiting the groups in turn, whoever does it.
//!
//! A heap of thousands does not fit into the memory near a processor, and each pass over its groups is paid for. So they are
//! passed once when they are laid out, which is also where the impulses of the step before act, once in each sweep, and once
//! at the end, where they know by themselves which points they were given.

pub(super) use wide::f64x4 as Lanes;

use super::faces::{Answers, Group, Point, Push, Relax, Visit};

/// Colours beyond which manifolds are visited one by one.
const COLOURS: usize = 64;
/// Groups that a thread takes at least; colours of fewer than two such pieces stay on one thread.
const PIECE: usize = 24;

/// A body: velocity, angular velocity, what it has moved and turned since the step began, the inverse inertia in world axes,
/// and 1/m. Rows of four, of which the last number is not used unless it says so: four bodies turn into lanes by
/// transposition.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(super) struct Body {
    pub(super) v: [f64; 4],
    pub(super) w: [f64; 4],
    pub(super) moved: [f64; 4],
    pub(super) turned: [f64; 4],
    /// xx, yy, zz, xy and xz, yz, 1/m.
    pub(super) inverse: [[f64; 4]; 2],
}

impl Body {
    /// One over the mass \[1/kg\], and the inverse inertia \[1/(kg m²)\] as xx, yy, zz, xy, xz, yz.
    pub(super) fn inverse(inv_mass: f64, [xx, yy, zz, xy, xz, yz]: [f64; 6]) -> [[f64; 4]; 2] {
        [[xx, yy, zz, xy], [xz, yz, inv_mass, 0.0]]
    }

    /// One over the mass \[1/kg\].
    pub(super) fn inv_mass(&self) -> f64 {
        self.inverse[1][2]
    }

    /// The inverse inertia \[1/(kg m²)\]: xx, yy, zz, xy, xz, yz.
    pub(super) fn inv_inertia(&self) -> [f64; 6] {
        let [[xx, yy, zz, xy], [xz, yz, ..]] = self.inverse;
        [xx, yy, zz, xy, xz, yz]
    }
}

/// Three numbers per lane.
pub(super) type V3 = [Lanes; 3];

#[inline(always)]
pub(super) fn all(a: f64) -> Lanes {
    Lanes::splat(a)
}

#[inline(always)]
pub(super) fn dot(a: &V3, b: &V3) -> Lanes {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]))
}

#[inline(always)]
pub(super) fn cross(a: &V3, b: &V3) -> V3 {
    let minor = |i: usize, j: usize| a[i].mul_sub(b[j], a[j] * b[i]);
    [minor(1, 2), minor(2, 0), minor(0, 1)]
}

#[inline(always)]
pub(super) fn add(a: &V3, b: &V3) -> V3 {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

#[inline(always)]
pub(super) fn sub(a: &V3, b: &V3) -> V3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// a + s b.
#[inline(always)]
pub(super) fn plus(a: &V3, s: Lanes, b: &V3) -> V3 {
    [s.mul_add(b[0], a[0]), s.mul_add(b[1], a[1]), s.mul_add(b[2], a[2])]
}

#[inline(always)]
fn most_of(a: Lanes) -> f64 {
    a.to_array().iter().fold(0.0, |m: f64, x| m.max(*x))
}

/// A row of four things, one thing per lane.
#[inline(always)]
pub(super) fn rows<T>(b: &[&T; 4], row: impl Fn(&T) -> &[f64; 4]) -> [Lanes; 4] {
    let [p, q, r, s] = b;
    let lane = |b: &T| Lanes::new(*row(b));
    Lanes::transpose([lane(p), lane(q), lane(r), lane(s)])
}

#[inline(always)]
pub(super) fn three([x, y, z, _]: [Lanes; 4]) -> V3 {
    [x, y, z]
}

/// Velocities of four bodies.
#[derive(Clone, Copy)]
pub(super) struct Four {
    pub(super) v: V3,
    pub(super) w: V3,
}

/// Inverse masses and inertias of four bodies. They are asked for where an impulse acts, not carried through a visit.
#[derive(Clone, Copy)]
pub(super) struct Masses {
    pub(super) inv_mass: Lanes,
    inv_inertia: [Lanes; 6],
}

impl Four {
    #[inline(always)]
    fn find<'a>(bodies: &'a [Body], &[p, q, r, s]: &[u32; 4]) -> [&'a Body; 4] {
        [&bodies[p as usize], &bodies[q as usize], &bodies[r as usize], &bodies[s as usize]]
    }

    #[inline(always)]
    pub(super) fn load(bodies: &[Body], which: &[u32; 4]) -> Self {
        let b = &Self::find(bodies, which);
        Self { v: three(rows(b, |b| &b.v)), w: three(rows(b, |b| &b.w)) }
    }

    /// What four bodies have moved and turned.
    #[inline(always)]
    pub(super) fn ways(bodies: &[Body], which: &[u32; 4]) -> [V3; 2] {
        let b = &Self::find(bodies, which);
        [three(rows(b, |b| &b.moved)), three(rows(b, |b| &b.turned))]
    }

    /// Velocities that stand where ways will be.
    #[inline(always)]
    fn load_next(bodies: &[Body], which: &[u32; 4]) -> Self {
        let [v, w] = Self::ways(bodies, which);
        Self { v, w }
    }

    #[inline(always)]
    fn store_next(&self, bodies: &mut [Body], which: &[u32; 4]) {
        let [v, w] = self.rows();
        for l in 0..4 {
            let body = &mut bodies[which[l] as usize];
            (body.moved, body.turned) = (v[l], w[l]);
        }
    }

    #[inline(always)]
    fn store(&self, bodies: &mut [Body], which: &[u32; 4]) {
        let [v, w] = self.rows();
        for l in 0..4 {
            let body = &mut bodies[which[l] as usize];
            (body.v, body.w) = (v[l], w[l]);
        }
    }

    /// v and ω of the four.
    #[inline(always)]
    fn rows(&self) -> [[[f64; 4]; 4]; 2] {
        [self.v, self.w].map(|[x, y, z]| Lanes::transpose([x, y, z, all(0.0)]).map(Lanes::to_array))
    }

    /// An impulse, and its moment about the centre.
    #[inline(always)]
    pub(super) fn push(&mut self, masses: &Masses, P: &V3, L: &V3) {
        self.v = plus(&self.v, masses.inv_mass, P);
        self.w = add(&self.w, &masses.turn(L));
    }
}

impl Masses {
    #[inline(always)]
    pub(super) fn load(bodies: &[Body], which: &[u32; 4]) -> Self {
        let b = &Four::find(bodies, which);
        let [xx, yy, zz, xy] = rows(b, |b| &b.inverse[0]);
        let [xz, yz, inv_mass, _] = rows(b, |b| &b.inverse[1]);
        Self { inv_mass, inv_inertia: [xx, yy, zz, xy, xz, yz] }
    }

    /// I⁻¹ x.
    #[inline(always)]
    pub(super) fn turn(&self, x: &V3) -> V3 {
        let s = &self.inv_inertia;
        [
            s[4].mul_add(x[2], s[3].mul_add(x[1], s[0] * x[0])),
            s[5].mul_add(x[2], s[1].mul_add(x[1], s[3] * x[0])),
            s[2].mul_add(x[2], s[5].mul_add(x[1], s[4] * x[0])),
        ]
    }
}

/// A manifold as it is given.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Patch {
    /// Bodies; the last one of the list for the world.
    pub(super) bodies: [u32; 2],
    /// Its points in the list of points.
    pub(super) first: u32,
    pub(super) count: u32,
    /// The last number is the coefficient of friction.
    pub(super) normal: [f64; 4],
    /// How fast the surfaces run if they stick \[m/s\]; the last number is not used.
    pub(super) belt: [f64; 4],
    /// From the centre of the second body to that of the first, zero if either is the world; then the restitution.
    pub(super) apart: [f64; 4],
}

/// A point as it is given, and what came of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Given {
    /// From the centre of the first body, or of the second if the first is the world; then the gap.
    pub(super) arm: [f64; 4],
    /// Impulse of one part of the step, world axes; the last number is not used.
    pub(super) p: [f64; 4],
    /// Of all parts.
    pub(super) sum: [f64; 4],
}

impl Given {
    /// Distance of the surfaces when the step began \[m\].
    pub(super) fn gap(&self) -> f64 {
        self.arm[3]
    }
}

/// What a sweep asks of the normal rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask {
    /// 1/δ \[1/s\].
    pub(super) inv_step: f64,
    /// Overlaps part at this part of their depth per second \[1/s\], no faster than `push_speed` \[m/s\].
    pub(super) rate: f64,
    pub(super) push_speed: f64,
    /// Overlaps below this are left \[m\].
    pub(super) slop: f64,
    /// Of a soft row: the share of a miss that one visit mends, and the share of the impulse that it forgets.
    pub(super) mends: f64,
    pub(super) forgets: f64,
}

/// Velocities of the bodies of a group after a visit: v and ω of the first ones, then of the second ones.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct After([[[[f64; 4]; 4]; 2]; 2]);

impl After {
    fn store(&self, bodies: &mut [Body], g: &Group) {
        for (which, [v, w]) in [&g.a, &g.b].into_iter().zip(&self.0) {
            for l in 0..4 {
                let body = &mut bodies[which[l] as usize];
                (body.v, body.w) = (v[l], w[l]);
            }
        }
    }
}

/// Where visits find bodies, and where they leave them.
trait Place {
    fn bodies(&self) -> &[Body];
    /// The bodies of group k of those that are visited.
    fn leave(&mut self, k: usize, g: &Group, four: &[Four; 2]);
}

/// Bodies that nobody else reads meanwhile.
struct Own<'a>(&'a mut [Body]);

impl Place for Own<'_> {
    #[inline(always)]
    fn bodies(&self) -> &[Body] {
        self.0
    }

    #[inline(always)]
    fn leave(&mut self, _: usize, g: &Group, [a, b]: &[Four; 2]) {
        a.store(self.0, &g.a);
        b.store(self.0, &g.b);
    }
}

/// Bodies that others read as well, and what becomes of them.
struct Shared<'a>(&'a [Body], &'a mut [After]);

impl Place for Shared<'_> {
    #[inline(always)]
    fn bodies(&self) -> &[Body] {
        self.0
    }

    #[inline(always)]
    fn leave(&mut self, k: usize, _: &Group, [a, b]: &[Four; 2]) {
        self.1[k] = After([a.rows(), b.rows()]);
    }
}

/// The bodies of a group.
#[inline(always)]
fn bodies_of(bodies: &[Body], g: &Group) -> [Four; 2] {
    [Four::load(bodies, &g.a), Four::load(bodies, &g.b)]
}

/// Visits M groups with their points and bodies, k being the number of the first.
#[inline(always)]
fn visit_some<const M: usize>(
    k: usize,
    groups: &mut [Group; M],
    points: &mut [Point],
    answers: &[Answers],
    mut four: [[Four; 2]; M],
    place: &mut impl Place,
    visit: &impl Visit,
) -> Lanes {
    let most = visit.visit(place.bodies(), groups, points, answers, &mut four);
    for (m, (four, g)) in four.iter().zip(groups.iter()).enumerate() {
        place.leave(k + m, g, four);
    }
    most
}

/// Visits groups of one colour, whose points are `points`, two at a time; returns the largest of what the visits return.
#[inline(always)]
fn visit_groups(
    groups: &mut [Group],
    points: &mut [Point],
    answers: &[Answers],
    mut place: impl Place,
    visit: &impl Visit,
) -> Lanes {
    let mut most = all(0.0);
    let first = groups.first().map_or(0, |g| g.first);
    // Those of several points come first; those of one have a way of their own.
    let several = groups.partition_point(|g| g.count > 1);
    let (many, alone) = groups.split_at_mut(several);
    for (begin, groups) in [(0, many), (several, alone)] {
        let even = begin + groups.len() / 2 * 2;
        let (pairs, last) = groups.as_chunks_mut::<2>();
        for (k, pair) in pairs.iter_mut().enumerate() {
            let points = &mut points[(pair[0].first - first) as usize..];
            let four = [bodies_of(place.bodies(), &pair[0]), bodies_of(place.bodies(), &pair[1])];
            most = visit_some(begin + 2 * k, pair, points, answers, four, &mut place, visit).fast_max(most);
        }
        for one in last.as_chunks_mut::<1>().0 {
            let points = &mut points[(one[0].first - first) as usize..];
            let four = [bodies_of(place.bodies(), &one[0])];
            most = visit_some(even, one, points, answers, four, &mut place, visit).fast_max(most);
        }
    }
    most
}

/// The same on several threads if the groups are many: bodies go into `after`.
fn share<V: Visit>(
    groups: &mut [Group],
    points: &mut [Point],
    answers: &[Answers],
    after: &mut [After],
    bodies: &[Body],
    visit: &V,
) -> Lanes {
    if groups.len() >= 2 * PIECE {
        let middle = groups.len() / 2;
        let (low, high) = groups.split_at_mut(middle);
        let (low_points, high_points) = points.split_at_mut((high[0].first - low[0].first) as usize);
        let (low_after, high_after) = after.split_at_mut(middle);
        let (a, b) = rayon::join(
            || share(low, low_points, answers, low_after, bodies, visit),
            || share(high, high_points, answers, high_after, bodies, visit),
        );
        return a.fast_max(b);
    }
    visit_groups(groups, points, answers, Shared(bodies, after), visit)
}

/// Buffers of the sweeps.
#[derive(Debug, Default)]
pub(super) struct Sweeper {
    groups: Vec<Group>,
    points: Vec<Point>,
    /// Of groups with several points, and one that those of one point share.
    answers: Vec<Answers>,
    /// Where the groups of each colour begin, and where the last ones end.
    colours: Vec<u32>,
    after: Vec<After>,
    /// n·u of each point before the step.
    before: Vec<Lanes>,
    /// Colours that a body has.
    taken: Vec<u64>,
    colour: Vec<u8>,
    /// Manifolds by colour and number of points.
    order: Vec<u32>,
    start: Vec<u32>,
    /// Where each group begins in that order and among the points, and where the last one ends.
    places: Vec<(u32, u32)>,
}

impl Sweeper {
    /// Colours the manifolds and lays them out; returns the fastest relative velocity \[m/s\] as bodies move now, which
    /// counts as the one before the step. The impulses that are given act on the velocities that stand where the ways of
    /// bodies will be: a group is warm while it is near, and asked for its velocities before.
    pub(super) fn load(&mut self, bodies: &mut [Body], patches: &[Patch], given: &[Given]) -> f64 {
        let world = bodies.len() as u32 - 1;
        self.paint(world, patches);
        self.divide(patches);
        self.before.resize(self.points.len(), Lanes::default());
        let Self { groups, points, answers, before, order, places, .. } = self;
        let blank = Patch { bodies: [world; 2], ..Patch::default() };
        let mut most = all(0.0);
        for (g, place) in groups.iter_mut().zip(places.windows(2)) {
            let lanes = &order[place[0].0 as usize..place[1].0 as usize];
            let of = |l: usize| lanes.get(l).map_or(&blank, |k| &patches[*k as usize]);
            let own = place[0].1 as usize..place[1].1 as usize;
            let (points, before) = (&mut points[own.clone()], &mut before[own]);
            let answers = &mut answers[g.answers as usize];
            let [a, b] = g.fill(&[of(0), of(1), of(2), of(3)], bodies, given, place[0].1, points, answers);
            g.look(points, before, &a, &b, &mut most);
            let mut next = [Four::load_next(bodies, &g.a), Four::load_next(bodies, &g.b)];
            g.warm(bodies, points, &mut next);
            next[0].store_next(bodies, &g.a);
            next[1].store_next(bodies, &g.b);
        }
        self.after.clear();
        let widest = self.colours.windows(2).map(|w| (w[1] - w[0]) as usize).max().unwrap_or(0);
        if rayon::current_num_threads() > 1 && widest >= 2 * PIECE {
            self.after.resize(widest, After::default());
        }
        most_of(most).sqrt()
    }

    /// Which manifolds go together, and room for them and their points.
    fn divide(&mut self, patches: &[Patch]) {
        self.colours.clear();
        self.places.clear();
        let (mut at, mut points, mut last) = (0, 0, None);
        while at < self.order.len() {
            let colour = Some(self.colour[self.order[at] as usize]);
            // Beyond the colours each stands by itself.
            if colour != last || colour == Some(COLOURS as u8) {
                self.colours.push(self.places.len() as u32);
                last = colour;
            }
            self.places.push((at as u32, points));
            let lanes = &self.order[at..at + self.lanes_of(at)];
            points += lanes.iter().fold(0, |most, k| most.max(patches[*k as usize].count));
            at += lanes.len();
        }
        self.colours.push(self.places.len() as u32);
        self.groups.resize(self.places.len(), Group::default());
        self.points.resize(points as usize, Point::default());
        self.places.push((at as u32, points));
        let mut next = 0;
        for (g, place) in self.groups.iter_mut().zip(self.places.windows(2)) {
            let several = place[1].1 > place[0].1 + 1;
            g.answers = if several { next + 1 } else { 0 };
            next += u32::from(several);
        }
        self.answers.resize(next as usize + 1, Answers::default());
    }

    /// How many manifolds go together from one place of the order on.
    fn lanes_of(&self, at: usize) -> usize {
        let colour = |k: &u32| self.colour[*k as usize];
        let first = colour(&self.order[at]);
        let most = if first as usize == COLOURS { 1 } else { 4 };
        self.order[at..].iter().take(most).take_while(|k| colour(k) == first).count()
    }

    fn paint(&mut self, world: u32, patches: &[Patch]) {
        self.taken.clear();
        self.taken.resize(world as usize + 1, 0);
        self.colour.clear();
        // By colour, then by number of points, the most first: lanes of a group should have equally many.
        self.start.clear();
        self.start.resize(5 * (COLOURS + 1) + 1, 0);
        let place = |colour: usize, count: u32| 5 * colour + 4 - count as usize;
        for patch in patches {
            let [a, b] = patch.bodies.map(|i| i as usize);
            let free = !(self.taken[a] | self.taken[b]);
            let colour = free.trailing_zeros() as usize;
            if colour < COLOURS {
                for i in [a, b] {
                    if i != world as usize {
                        self.taken[i] |= 1 << colour;
                    }
                }
            }
            self.colour.push(colour as u8);
            self.start[place(colour, patch.count) + 1] += 1;
        }
        for k in 1..self.start.len() {
            self.start[k] += self.start[k - 1];
        }
        self.order.clear();
        self.order.resize(patches.len(), 0);
        for (k, patch) in patches.iter().enumerate() {
            let place = &mut self.start[place(self.colour[k] as usize, patch.count)];
            self.order[*place as usize] = k as u32;
            *place += 1;
        }
    }

    /// Visits all groups, colour by colour; returns the largest of what the visits return.
    #[inline(always)]
    fn visit(&mut self, bodies: &mut [Body], visit: &impl Visit) -> Lanes {
        let mut most = all(0.0);
        let Self { groups, points, answers, after, .. } = self;
        for colour in self.colours.windows(2) {
            let groups = &mut groups[colour[0] as usize..colour[1] as usize];
            let own = groups[0].own().start..groups[groups.len() - 1].own().end;
            if after.is_empty() || groups.len() < 2 * PIECE {
                most = visit_groups(groups, &mut points[own], answers, Own(bodies), visit).fast_max(most);
                continue;
            }
            most = share(groups, &mut points[own], answers, after, bodies, visit).fast_max(most);
            after.iter().zip(groups).for_each(|(after, g)| after.store(bodies, g));
        }
        most
    }

    /// One visit of all normal rows, soft and with the speed that parts what overlaps.
    pub(super) fn push_apart(&mut self, bodies: &mut [Body], ask: &Ask) {
        self.visit(bodies, &Push(ask));
    }

    /// One visit of all points as they should be, friction included, after the bodies have moved; or once more before they
    /// move again, if `MEASURE`, which returns the largest change of a relative velocity. Impulses are added up if `sum`.
    pub(super) fn relax<const MEASURE: bool>(&mut self, bodies: &mut [Body], ask: &Ask, sum: bool) -> f64 {
        let share = all(if sum { 1.0 } else { 0.0 });
        most_of(self.visit(bodies, &Relax::<MEASURE> { ask, share }))
    }

    /// Contacts that came in faster than `slowest`, and pressed, leave as their restitution says.
    pub(super) fn bounce(&mut self, bodies: &mut [Body], slowest: f64) {
        if self.groups.iter().all(|g| g.restitution == all(0.0)) {
            return;
        }
        for g in &self.groups {
            let (mut a, mut b) = (Four::load(bodies, &g.a), Four::load(bodies, &g.b));
            g.bounce(bodies, &mut self.points[g.own()], &self.before[g.own()], (&mut a, &mut b), slowest);
            a.store(bodies, &g.a);
            b.store(bodies, &g.b);
        }
    }

    /// Impulses back to where they came from; returns how many points pressed.
    pub(super) fn unload(&self, given: &mut [Given]) -> u32 {
        let mut pressed = 0;
        for g in &self.groups {
            for (k, c) in self.points[g.own()].iter().enumerate() {
                let world = |p: &V3| {
                    let [x, y, z] = g.in_world(p);
                    Lanes::transpose([x, y, z, all(0.0)]).map(Lanes::to_array)
                };
                let (p, sum) = (world(&c.p), world(&c.sum));
                for l in 0..4 {
                    if k < g.counts[l] as usize {
                        let to = &mut given[g.given[l] as usize + k];
                        (to.p, to.sum) = (p[l], sum[l]);
                        pressed += u32::from(sum[l] != [0.0; 4]);
                    }
                }
            }
        }
        pressed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A heavy body that 100 others touch, each of which also touches the world.
    fn star() -> (Vec<Body>, Vec<Patch>, Vec<Given>) {
        let n = 101;
        let mut bodies: Vec<Body> = (0..n)
            .map(|k| Body {
                v: [0.1 * (k as f64).sin(), 0.2, -1.0 + 0.01 * k as f64, 0.0],
                inverse: Body::inverse(if k == 0 { 0.01 } else { 1.0 }, [3.0, 2.0, 1.0, 0.1, 0.0, 0.2]),
                ..Body::default()
            })
            .collect();
        bodies.push(Body::default());
        let (mut patches, mut given) = (Vec::new(), Vec::new());
        for k in 1..n as u32 {
            for other in [0, n as u32] {
                let count = 1 + k % 4;
                let first = given.len() as u32;
                for i in 0..count {
                    let arm = [0.1 * f64::from(i), 0.05, -0.1, -1e-3];
                    given.push(Given { arm, ..Given::default() });
                }
                patches.push(Patch {
                    bodies: [k, other],
                    first,
                    count,
                    normal: [0.0, 0.0, 1.0, 0.5],
                    belt: [0.0; 4],
                    apart: [0.0, 0.0, if other == 0 { 0.3 } else { 0.0 }, 0.0],
                });
            }
        }
        (bodies, patches, given)
    }

    #[test]
    fn no_two_manifolds_of_a_group_share_a_body_and_all_are_there() {
        let (mut bodies, patches, given) = star();
        let mut sweeper = Sweeper::default();
        sweeper.load(&mut bodies, &patches, &given);
        let world = bodies.len() as u32 - 1;
        let mut seen = 0;
        for g in &sweeper.groups {
            let mut list: Vec<u32> = g.a.iter().chain(&g.b).copied().filter(|b| *b != world).collect();
            seen += g.a.iter().filter(|b| **b != world).count();
            list.sort_unstable();
            assert!(list.windows(2).all(|w| w[0] != w[1]), "{list:?}");
        }
        assert_eq!(seen, patches.len());
    }

    #[test]
    fn impulses_change_momentum_by_their_sum_and_lie_in_the_cone() {
        let (mut bodies, patches, mut given) = star();
        let momentum = |bodies: &[Body]| -> [f64; 3] {
            let with_mass = bodies.iter().filter(|b| b.inv_mass() > 0.0);
            with_mass.fold([0.0; 3], |p, b| std::array::from_fn(|k| p[k] + b.v[k] / b.inv_mass()))
        };
        let before = momentum(&bodies);
        let mut sweeper = Sweeper::default();
        sweeper.load(&mut bodies, &patches, &given);
        let ask = Ask { inv_step: 1e3, rate: 0.0, push_speed: 1.0, slop: 0.0, mends: 1.0, forgets: 0.0 };
        let first = sweeper.relax::<true>(&mut bodies, &ask, true);
        for _ in 0..300 {
            sweeper.relax::<false>(&mut bodies, &ask, true);
        }
        let last = sweeper.relax::<true>(&mut bodies, &ask, true);
        assert!(last < 1e-3 * first, "{first} {last}");
        let pressed = sweeper.unload(&mut given);
        assert_eq!(pressed as usize, given.iter().filter(|c| c.sum != [0.0; 4]).count());
        let after = momentum(&bodies);
        let mut sum = [0.0; 3];
        for p in &patches {
            for c in &given[p.first as usize..(p.first + p.count) as usize] {
                assert!(c.p[2] >= 0.0 && c.p[0].hypot(c.p[1]) <= 0.5 * c.p[2] * (1.0 + 1e-12));
                if p.bodies[1] + 1 == bodies.len() as u32 {
                    (0..3).for_each(|k| sum[k] += c.p[k]);
                }
            }
        }
        assert!(sum[2] > 10.0, "{sum:?}");
        for k in 0..3 {
            assert!((after[k] - before[k] - sum[k]).abs() < 1e-9, "{before:?} {after:?} {sum:?}");
        }
    }
}
