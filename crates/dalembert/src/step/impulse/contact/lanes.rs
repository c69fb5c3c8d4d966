//! The sweeps of a pile, four manifolds at a time.
//!
//! Manifolds are coloured: none of one colour shares a body that moves with another (greedily, the first colour free for
//! both bodies). Those of one colour do not depend on each other, so four of them are visited together, one per lane,
//! and the result is that of visiting them in turn. Lanes without a manifold, and points that a manifold lacks, have a
//! response of zero: nothing comes of them.

use crate::math::Lanes;

/// Colours beyond which manifolds are visited one by one.
const COLOURS: usize = 64;

/// A body: velocity, angular velocity, what it has moved and turned since the step began, 1/m, and the inverse inertia in
/// world axes (xx, yy, zz, xy, xz, yz).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Body {
    pub(super) v: [f64; 3],
    pub(super) w: [f64; 3],
    pub(super) moved: [f64; 3],
    pub(super) turned: [f64; 3],
    /// Velocities that part what overlaps: they move bodies and are forgotten.
    pub(super) push_v: [f64; 3],
    pub(super) push_w: [f64; 3],
    pub(super) inv_mass: f64,
    pub(super) inv_inertia: [f64; 6],
}

/// Three numbers per lane.
type V3 = [Lanes; 3];

#[inline(always)]
fn dot(a: &V3, b: &V3) -> Lanes {
    a[2].times_plus(b[2], a[1].times_plus(b[1], a[0] * b[0]))
}

#[inline(always)]
fn cross(a: &V3, b: &V3) -> V3 {
    let minor = |i: usize, j: usize| a[i].times_plus(b[j], -(a[j] * b[i]));
    [minor(1, 2), minor(2, 0), minor(0, 1)]
}

#[inline(always)]
fn add(a: &V3, b: &V3) -> V3 {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

#[inline(always)]
fn sub(a: &V3, b: &V3) -> V3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// a + s b.
#[inline(always)]
fn plus(a: &V3, s: Lanes, b: &V3) -> V3 {
    std::array::from_fn(|k| s.times_plus(b[k], a[k]))
}

#[inline(always)]
fn map(a: Lanes, b: Lanes, f: impl Fn(f64, f64) -> f64) -> Lanes {
    Lanes(std::array::from_fn(|l| f(a.0[l], b.0[l])))
}

#[inline(always)]
fn greater(a: Lanes, b: Lanes) -> Lanes {
    map(a, b, |a, b| if a > b { a } else { b })
}

#[inline(always)]
fn less(a: Lanes, b: Lanes) -> Lanes {
    map(a, b, |a, b| if a < b { a } else { b })
}

/// Four bodies.
#[derive(Clone, Copy)]
struct Four {
    v: V3,
    w: V3,
    moved: V3,
    turned: V3,
    inv_mass: Lanes,
    inv_inertia: [Lanes; 6],
}

impl Four {
    #[inline(always)]
    fn load(bodies: &[Body], which: &[u32; 4]) -> Self {
        let b: [&Body; 4] = std::array::from_fn(|l| &bodies[which[l] as usize]);
        let three = |f: fn(&Body) -> &[f64; 3]| -> V3 {
            std::array::from_fn(|k| Lanes(std::array::from_fn(|l| f(b[l])[k])))
        };
        Self {
            v: three(|b| &b.v),
            w: three(|b| &b.w),
            moved: three(|b| &b.moved),
            turned: three(|b| &b.turned),
            inv_mass: Lanes(std::array::from_fn(|l| b[l].inv_mass)),
            inv_inertia: std::array::from_fn(|k| Lanes(std::array::from_fn(|l| b[l].inv_inertia[k]))),
        }
    }

    /// The same with the velocities that part things.
    #[inline(always)]
    fn load_push(bodies: &[Body], which: &[u32; 4]) -> Self {
        let b: [&Body; 4] = std::array::from_fn(|l| &bodies[which[l] as usize]);
        let three = |f: fn(&Body) -> &[f64; 3]| -> V3 {
            std::array::from_fn(|k| Lanes(std::array::from_fn(|l| f(b[l])[k])))
        };
        Self { v: three(|b| &b.push_v), w: three(|b| &b.push_w), ..Self::load(bodies, which) }
    }

    #[inline(always)]
    fn store_push(&self, bodies: &mut [Body], which: &[u32; 4]) {
        for l in 0..4 {
            let b = &mut bodies[which[l] as usize];
            for k in 0..3 {
                b.push_v[k] = self.v[k].0[l];
                b.push_w[k] = self.w[k].0[l];
            }
        }
    }

    #[inline(always)]
    fn store(&self, bodies: &mut [Body], which: &[u32; 4]) {
        for l in 0..4 {
            let b = &mut bodies[which[l] as usize];
            for k in 0..3 {
                b.v[k] = self.v[k].0[l];
                b.w[k] = self.w[k].0[l];
            }
        }
    }

    /// I⁻¹ x.
    #[inline(always)]
    fn turn(&self, x: &V3) -> V3 {
        let s = &self.inv_inertia;
        [
            s[4].times_plus(x[2], s[3].times_plus(x[1], s[0] * x[0])),
            s[5].times_plus(x[2], s[1].times_plus(x[1], s[3] * x[0])),
            s[2].times_plus(x[2], s[5].times_plus(x[1], s[4] * x[0])),
        ]
    }

    #[inline(always)]
    fn push(&mut self, arm: &V3, p: &V3) {
        self.v = plus(&self.v, self.inv_mass, p);
        self.w = add(&self.w, &self.turn(&cross(arm, p)));
    }

    #[inline(always)]
    fn velocity(&self, arm: &V3) -> V3 {
        add(&self.v, &cross(&self.w, arm))
    }

    #[inline(always)]
    fn shift(&self, arm: &V3) -> V3 {
        add(&self.moved, &cross(&self.turned, arm))
    }

    /// J M⁻¹ Jᵀ e of a point.
    #[inline(always)]
    fn answer(&self, arm: &V3, e: &V3) -> V3 {
        plus(&cross(&self.turn(&cross(arm, e)), arm), self.inv_mass, e)
    }
}

/// One point of each of four manifolds.
#[derive(Debug, Clone, Copy, Default)]
struct Point {
    /// From the centre of the first body; that from the other differs by the group's `apart`.
    arm: V3,
    gap: Lanes,
    /// 1/(n·W n), and one over the larger eigenvalue of W across n.
    inv_normal: Lanes,
    inv_across: Lanes,
    /// s·W n and t·W n.
    coupling: [Lanes; 2],
    /// Impulse along n, s, t in this part of the step.
    p: V3,
    /// The same in all parts.
    sum: V3,
}

/// Four manifolds that share no body.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    a: [u32; 4],
    b: [u32; 4],
    first: u32,
    count: u32,
    n: V3,
    s: V3,
    t: V3,
    /// From the centre of the second body to that of the first.
    apart: V3,
    friction: Lanes,
    restitution: Lanes,
    /// u_s and u_t if they stick.
    belt: [Lanes; 2],
}

/// A manifold as it is given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patch {
    /// Bodies; the last one of the list for the world.
    pub(super) bodies: [u32; 2],
    /// Its points in the list of points.
    pub(super) first: u32,
    pub(super) count: u32,
    pub(super) normal: [f64; 3],
    pub(super) tangents: [[f64; 3]; 2],
    /// From the centre of the second body to that of the first; zero if either is the world.
    pub(super) apart: [f64; 3],
    pub(super) friction: f64,
    pub(super) restitution: f64,
    pub(super) belt: [f64; 2],
}

/// A point as it is given, and what came of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Given {
    /// From the centre of the first body, or of the second if the first is the world.
    pub(super) arm: [f64; 3],
    pub(super) gap: f64,
    /// Impulse of one part of the step, world axes.
    pub(super) p: [f64; 3],
    /// Of all parts.
    pub(super) sum: [f64; 3],
}

/// What a sweep asks of the normal rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask {
    /// 1/δ \[1/s\].
    pub(super) inv_step: f64,
    /// Share of an overlap that is taken away per second \[1/s\].
    pub(super) rate: f64,
    /// No faster than this \[m/s\].
    pub(super) push_speed: f64,
    /// Overlaps below this are left \[m\].
    pub(super) slop: f64,
}

/// Buffers of the sweeps.
#[derive(Debug, Default)]
pub(super) struct Sweeper {
    groups: Vec<Group>,
    points: Vec<Point>,
    /// Of each point: the impulse that parts things, and n·u before the step.
    parting: Vec<Lanes>,
    before: Vec<Lanes>,
    /// Colours that a body has.
    taken: Vec<u64>,
    colour: Vec<u8>,
    /// Manifolds by colour and number of points.
    order: Vec<u32>,
    start: Vec<u32>,
}

impl Sweeper {
    /// Colours the manifolds and lays them out.
    pub(super) fn load(&mut self, bodies: &[Body], patches: &[Patch], given: &[Given]) {
        let world = bodies.len() as u32 - 1;
        self.paint(world, patches);
        self.groups.clear();
        self.points.clear();
        let mut at = 0;
        while at < self.order.len() {
            let colour = self.colour[self.order[at] as usize];
            let most = if colour as usize == COLOURS { 1 } else { 4 };
            let mut end = at + 1;
            while end < self.order.len() && end - at < most && self.colour[self.order[end] as usize] == colour
            {
                end += 1;
            }
            self.group(at..end, bodies, patches, given);
            at = end;
        }
        for list in [&mut self.parting, &mut self.before] {
            list.clear();
            list.resize(self.points.len(), Lanes::default());
        }
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

    fn group(&mut self, range: std::ops::Range<usize>, bodies: &[Body], patches: &[Patch], given: &[Given]) {
        let world = bodies.len() as u32 - 1;
        let lanes = &self.order[range];
        let count = lanes.iter().map(|k| patches[*k as usize].count).max().unwrap_or(0);
        let mut g = Group {
            a: [world; 4],
            b: [world; 4],
            first: self.points.len() as u32,
            count,
            ..Group::default()
        };
        let blank = Point::default();
        self.points.resize(self.points.len() + count as usize, blank);
        let points = &mut self.points[g.first as usize..];
        for (l, k) in lanes.iter().enumerate() {
            let patch = &patches[*k as usize];
            (g.a[l], g.b[l]) = (patch.bodies[0], patch.bodies[1]);
            for i in 0..3 {
                g.n[i].0[l] = patch.normal[i];
                g.s[i].0[l] = patch.tangents[0][i];
                g.t[i].0[l] = patch.tangents[1][i];
                g.apart[i].0[l] = patch.apart[i];
            }
            g.friction.0[l] = patch.friction;
            g.restitution.0[l] = patch.restitution;
            (g.belt[0].0[l], g.belt[1].0[l]) = (patch.belt[0], patch.belt[1]);
            let own = &given[patch.first as usize..(patch.first + patch.count) as usize];
            for (c, from) in points.iter_mut().zip(own) {
                for i in 0..3 {
                    c.arm[i].0[l] = from.arm[i];
                }
                c.gap.0[l] = from.gap;
                let along = |e: &[f64; 3]| e[0] * from.p[0] + e[1] * from.p[1] + e[2] * from.p[2];
                c.p[0].0[l] = along(&patch.normal).max(0.0);
                c.p[1].0[l] = along(&patch.tangents[0]);
                c.p[2].0[l] = along(&patch.tangents[1]);
                // Marks a point that is there.
                c.inv_normal.0[l] = 1.0;
            }
        }
        let (a, b) = (Four::load(bodies, &g.a), Four::load(bodies, &g.b));
        for c in points.iter_mut() {
            respond(&a, &b, &g, c);
        }
        self.groups.push(g);
    }

    /// The impulses of the step before, on all bodies.
    pub(super) fn warm(&self, bodies: &mut [Body]) {
        for g in &self.groups {
            let (mut a, mut b) = (Four::load(bodies, &g.a), Four::load(bodies, &g.b));
            for c in &self.points[g.first as usize..(g.first + g.count) as usize] {
                push(&mut a, &mut b, g, c, &c.p);
            }
            a.store(bodies, &g.a);
            b.store(bodies, &g.b);
        }
    }

    /// One visit of all points; adds the impulses up. The last one returns the largest change of a relative velocity.
    pub(super) fn sweep<const LAST: bool>(&mut self, bodies: &mut [Body], ask: &Ask) -> f64 {
        let mut most = Lanes::all(0.0);
        for g in &self.groups {
            let (mut a, mut b) = (Four::load(bodies, &g.a), Four::load(bodies, &g.b));
            for c in &mut self.points[g.first as usize..(g.first + g.count) as usize] {
                visit::<LAST>(&mut a, &mut b, g, c, ask, &mut most);
            }
            a.store(bodies, &g.a);
            b.store(bodies, &g.b);
        }
        most.0.iter().fold(0.0, |m: f64, x| m.max(*x))
    }

    /// One visit of all normal rows of the velocities that part things.
    pub(super) fn part(&mut self, bodies: &mut [Body], ask: &Ask) {
        for g in &self.groups {
            let (mut a, mut b) = (Four::load_push(bodies, &g.a), Four::load_push(bodies, &g.b));
            let own = g.first as usize..(g.first + g.count) as usize;
            for (c, q) in self.points[own.clone()].iter().zip(&mut self.parting[own]) {
                visit_push(&mut a, &mut b, g, c, q, ask);
            }
            a.store_push(bodies, &g.a);
            b.store_push(bodies, &g.b);
        }
    }

    /// The fastest relative velocity \[m/s\] as bodies move now, which counts as the one before the step.
    pub(super) fn look(&mut self, bodies: &[Body]) -> f64 {
        let mut most = Lanes::all(0.0);
        for g in &self.groups {
            let (a, b) = (Four::load(bodies, &g.a), Four::load(bodies, &g.b));
            let own = g.first as usize..(g.first + g.count) as usize;
            for (c, before) in self.points[own.clone()].iter().zip(&mut self.before[own]) {
                let u = relative(&a, &b, g, c);
                *before = dot(&g.n, &u);
                let there = map(c.inv_normal, Lanes::all(0.0), |i, _| if i > 0.0 { 1.0 } else { 0.0 });
                most = greater(most, dot(&u, &u) * there);
            }
        }
        most.0.iter().fold(0.0, |m: f64, x| m.max(*x)).sqrt()
    }

    /// Contacts that came in faster than `slowest`, and pressed, leave as their restitution says.
    pub(super) fn bounce(&mut self, bodies: &mut [Body], slowest: f64) {
        if self.groups.iter().all(|g| g.restitution == Lanes::all(0.0)) {
            return;
        }
        let none = Lanes::all(0.0);
        for g in &self.groups {
            let (mut a, mut b) = (Four::load(bodies, &g.a), Four::load(bodies, &g.b));
            let own = g.first as usize..(g.first + g.count) as usize;
            for (c, before) in self.points[own.clone()].iter_mut().zip(&self.before[own]) {
                let u = dot(&g.n, &relative(&a, &b, g, c));
                let wanted = -(g.restitution * *before) - u;
                let p = greater(wanted * c.inv_normal, none);
                let fast = map(*before, c.sum[0], |u, p| if u < -slowest && p > 0.0 { 1.0 } else { 0.0 });
                let bounces = map(g.restitution, none, |e, _| if e > 0.0 { 1.0 } else { 0.0 });
                let p = [p * fast * bounces, none, none];
                c.sum[0] += p[0];
                push(&mut a, &mut b, g, c, &p);
            }
            a.store(bodies, &g.a);
            b.store(bodies, &g.b);
        }
    }

    /// Impulses back to where they came from.
    pub(super) fn unload(&self, patches: &[Patch], given: &mut [Given]) {
        let mut at = 0;
        for g in &self.groups {
            let mut lanes = 0;
            while lanes < 4 && at + lanes < self.order.len() {
                let patch = &patches[self.order[at + lanes] as usize];
                if patch.bodies != [g.a[lanes], g.b[lanes]] {
                    break;
                }
                let own = &mut given[patch.first as usize..(patch.first + patch.count) as usize];
                for (c, to) in self.points[g.first as usize..].iter().zip(own) {
                    let world = |p: &V3| {
                        std::array::from_fn(|i| {
                            p[0].0[lanes] * g.n[i].0[lanes]
                                + p[1].0[lanes] * g.s[i].0[lanes]
                                + p[2].0[lanes] * g.t[i].0[lanes]
                        })
                    };
                    (to.p, to.sum) = (world(&c.p), world(&c.sum));
                }
                lanes += 1;
            }
            at += lanes.max(1);
        }
    }
}

/// Answers of a point. Those of points that are not there stay zero.
fn respond(a: &Four, b: &Four, g: &Group, c: &mut Point) {
    let arm_b = add(&c.arm, &g.apart);
    let answer = |e: &V3| add(&a.answer(&c.arm, e), &b.answer(&arm_b, e));
    let (n, s, t) = (answer(&g.n), answer(&g.s), answer(&g.t));
    let (p, q, r) = (dot(&g.s, &s), dot(&g.t, &t), dot(&g.s, &t));
    let normal = dot(&g.n, &n);
    for l in 0..4 {
        if c.inv_normal.0[l] == 0.0 {
            continue;
        }
        let (p, q, r) = (p.0[l], q.0[l], r.0[l]);
        let across = 0.5 * (p + q) + (0.25 * (p - q) * (p - q) + r * r).sqrt();
        c.inv_normal.0[l] = 1.0 / normal.0[l];
        c.inv_across.0[l] = 1.0 / across;
    }
    c.coupling = [dot(&g.s, &n), dot(&g.t, &n)];
}

/// The impulse (along n, s, t) on a, its opposite on b.
#[inline(always)]
fn push(a: &mut Four, b: &mut Four, g: &Group, c: &Point, p: &V3) {
    let world: V3 = std::array::from_fn(|i| p[2].times_plus(g.t[i], p[1].times_plus(g.s[i], p[0] * g.n[i])));
    a.push(&c.arm, &world);
    b.push(&add(&c.arm, &g.apart), &[-world[0], -world[1], -world[2]]);
}

/// Relative velocity of a point.
#[inline(always)]
fn relative(a: &Four, b: &Four, g: &Group, c: &Point) -> V3 {
    sub(&a.velocity(&c.arm), &b.velocity(&add(&c.arm, &g.apart)))
}

/// The gap of a point as it is now.
#[inline(always)]
fn gap(a: &Four, b: &Four, g: &Group, c: &Point) -> Lanes {
    c.gap + dot(&g.n, &sub(&a.shift(&c.arm), &b.shift(&add(&c.arm, &g.apart))))
}

#[inline(always)]
fn visit<const LAST: bool>(
    a: &mut Four,
    b: &mut Four,
    g: &Group,
    c: &mut Point,
    ask: &Ask,
    most: &mut Lanes,
) {
    let gap = gap(a, b, g, c);
    let u = relative(a, b, g, c);
    let zero = Lanes::all(0.0);
    let target = -(greater(gap, zero) * Lanes::all(ask.inv_step));
    let miss = (dot(&g.n, &u) - target) * c.inv_normal;
    let p_n = greater(c.p[0] - miss, zero);
    let d_n = p_n - c.p[0];
    let across = |e: &V3, coupling: Lanes, belt: Lanes| d_n.times_plus(coupling, dot(e, &u)) - belt;
    let (u_s, u_t) = (across(&g.s, c.coupling[0], g.belt[0]), across(&g.t, c.coupling[1], g.belt[1]));
    let p_s = c.p[1] - u_s * c.inv_across;
    let p_t = c.p[2] - u_t * c.inv_across;
    let size = p_s.times_plus(p_s, p_t * p_t);
    let bound = g.friction * p_n;
    // 1 inside the disc, its radius over the distance outside.
    let reach = greater(greater(size, bound * bound), Lanes::all(f64::MIN_POSITIVE));
    let part = map(bound, reach, |bound, reach| bound / reach.sqrt());
    let new = [p_n, p_s * part, p_t * part];
    let d = sub(&new, &c.p);
    c.p = new;
    c.sum = add(&c.sum, &new);
    if LAST {
        let of = |d: Lanes, inv: Lanes| map(d, inv, |d, inv| if inv > 0.0 { d.abs() / inv } else { 0.0 });
        *most = greater(
            *most,
            greater(of(d[0], c.inv_normal), of(greater(d[1], -d[1]) + greater(d[2], -d[2]), c.inv_across)),
        );
    }
    push(a, b, g, c, &d);
}

#[inline(always)]
fn visit_push(a: &mut Four, b: &mut Four, g: &Group, c: &Point, parting: &mut Lanes, ask: &Ask) {
    let n = &g.n;
    let gap = gap(a, b, g, c);
    let rate = dot(n, &relative(a, b, g, c));
    let zero = Lanes::all(0.0);
    // What is apart may come closer, but not into each other; what overlaps parts at a bounded speed.
    let apart = -(greater(gap, zero) * Lanes::all(ask.inv_step));
    let overlap = greater(-gap - Lanes::all(ask.slop), zero);
    let target = apart + less(overlap * Lanes::all(ask.rate), Lanes::all(ask.push_speed));
    let q = greater(*parting - (rate - target) * c.inv_normal, zero);
    let d = q - *parting;
    *parting = q;
    let p: V3 = std::array::from_fn(|i| d * n[i]);
    a.push(&c.arm, &p);
    b.push(&add(&c.arm, &g.apart), &[-p[0], -p[1], -p[2]]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A heavy body that 100 others touch, each of which also touches the world.
    fn star() -> (Vec<Body>, Vec<Patch>, Vec<Given>) {
        let n = 101;
        let mut bodies: Vec<Body> = (0..n)
            .map(|k| Body {
                v: [0.1 * (k as f64).sin(), 0.2, -1.0 + 0.01 * k as f64],
                inv_mass: if k == 0 { 0.01 } else { 1.0 },
                inv_inertia: [3.0, 2.0, 1.0, 0.1, 0.0, 0.2],
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
                    let arm = [0.1 * f64::from(i), 0.05, -0.1];
                    given.push(Given { arm, gap: -1e-3, ..Given::default() });
                }
                patches.push(Patch {
                    bodies: [k, other],
                    first,
                    count,
                    normal: [0.0, 0.0, 1.0],
                    tangents: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
                    apart: [0.0, 0.0, if other == 0 { 0.3 } else { 0.0 }],
                    friction: 0.5,
                    restitution: 0.0,
                    belt: [0.0; 2],
                });
            }
        }
        (bodies, patches, given)
    }

    #[test]
    fn no_two_manifolds_of_a_group_share_a_body_and_all_are_there() {
        let (bodies, patches, given) = star();
        let mut sweeper = Sweeper::default();
        sweeper.load(&bodies, &patches, &given);
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
            let with_mass = bodies.iter().filter(|b| b.inv_mass > 0.0);
            with_mass.fold([0.0; 3], |p, b| std::array::from_fn(|k| p[k] + b.v[k] / b.inv_mass))
        };
        let before = momentum(&bodies);
        let mut sweeper = Sweeper::default();
        sweeper.load(&bodies, &patches, &given);
        let ask = Ask { inv_step: 1e3, rate: 0.0, push_speed: 1.0, slop: 0.0 };
        let first = sweeper.sweep::<true>(&mut bodies, &ask);
        for _ in 0..300 {
            sweeper.sweep::<false>(&mut bodies, &ask);
        }
        let last = sweeper.sweep::<true>(&mut bodies, &ask);
        assert!(last < 1e-3 * first, "{first} {last}");
        sweeper.unload(&patches, &mut given);
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
