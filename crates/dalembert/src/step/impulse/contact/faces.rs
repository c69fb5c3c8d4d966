//! One visit of a manifold, four manifolds at a time.
//!
//! The points of a manifold lie in a plane across its normal n. With s and t across n (s × t = n) and a reference point
//! c in that plane, point i stands at c + x_i s + y_i t. All that its points can see of the two bodies is the relative
//! velocity V of the bodies' points at c and their relative angular velocity W:
//!
//! $$ u_n = V_n + y W_s - x W_t, \quad u_s = V_s - y W_n, \quad u_t = V_t + x W_n, $$
//!
//! and all that the bodies can see of its impulses is their sum P and their moment L about c, with
//! $L_s = y p_n$, $L_t = -x p_n$, $L_n = x p_t - y p_s$ of each. So a visit turns the velocities of two bodies into six
//! numbers, solves all points on those, and gives one impulse and one moment back. Between the points
//!
//! $$ \begin{pmatrix} \Delta N \\ \Delta T \end{pmatrix} = \begin{pmatrix} K_{NN} & K_{TN}^T \\ K_{TN} & K_{TT} \end{pmatrix}
//!    \begin{pmatrix} \Delta n \\ \Delta t \end{pmatrix}, \quad N = (V_n, W_s, W_t),\; T = (V_s, V_t, W_n), $$
//!
//! with $n = (P_n, L_s, L_t)$, $t = (P_s, P_t, L_n)$ and $K = \sum J I^{-1} J^T$ plus 1/m where V answers to P, the rows of J
//! being r × n, s, t and r × s, r × t, n, with r from the centre of a body to c. A visit solves the normal rows of all
//! points in turn, which needs $K_{NN}$ alone, and then friction of all points in turn by the normal impulses found.
//!
//! A manifold of one point has it at c: then x = y = 0, and what turns does not matter. Of groups of such manifolds, which
//! heaps of balls are made of, K is found for V alone; they are filled and visited with a third less to write and to read, by
//! the same numbers, and what they do not need stands elsewhere.
//!
//! Points are midway between two surfaces, so they leave the plane by half the difference of their gaps. The plane goes
//! through the deepest one: points that carry forces have gaps that are almost zero.

use super::lanes::{
    Ask, Body, Four, Given, Lanes, Masses, Patch, V3, add, all, cross, dot, plus, rows, sub, three,
};

/// One point of each of four manifolds. What a push needs stands first, so that it reads half of the memory.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Point {
    /// Place along s and t from the reference point.
    x: Lanes,
    y: Lanes,
    gap: Lanes,
    /// One over the answer of the normal row to itself; zero if the point is not there.
    pub(super) inv_normal: Lanes,
    /// How N answers to the normal impulse.
    answer: V3,
    /// Impulse along n, s, t in this part of the step.
    pub(super) p: V3,
    /// One over the larger eigenvalue of the answer across n.
    inv_across: Lanes,
    /// The impulse in all parts.
    pub(super) sum: V3,
}

/// Four manifolds that share no body. As in a point, what a push needs stands first.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Group {
    pub(super) a: [u32; 4],
    pub(super) b: [u32; 4],
    /// Its points among all of them.
    pub(super) first: u32,
    pub(super) count: u32,
    /// Where the points of each manifold were given, and how many they are.
    pub(super) given: [u32; 4],
    pub(super) counts: [u8; 4],
    /// Place among the answers of groups with several points.
    pub(super) answers: u32,
    n: V3,
    /// From the centres of the bodies to the reference point.
    arms: [V3; 2],
    /// (V_n, W_s, W_t) of what the bodies have moved since the step began.
    shift: V3,
    s: V3,
    t: V3,
    friction: Lanes,
    pub(super) restitution: Lanes,
    /// u_s and u_t if they stick.
    belt: [Lanes; 2],
    /// Of one point alone: the first two numbers of the first column of K_TN.
    mixed: [Lanes; 2],
}

/// How several points of a group answer across n: what groups of one point alone do not carry with them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Answers {
    /// Columns of K_TN.
    mixed: [V3; 3],
    /// K_TT: ss, tt, nn, st, sn, tn.
    across: [Lanes; 6],
}

/// (V_n, W_s, W_t) or (V_s, V_t, W_n) of two bodies; likewise of what they have moved.
struct Seen {
    V: V3,
    W: V3,
}

impl Seen {
    #[inline(always)]
    fn new(g: &Group, (v_a, w_a): (&V3, &V3), (v_b, w_b): (&V3, &V3)) -> Self {
        let at = |v: &V3, w: &V3, arm: &V3| add(v, &cross(w, arm));
        Self { V: sub(&at(v_a, w_a, &g.arms[0]), &at(v_b, w_b, &g.arms[1])), W: sub(w_a, w_b) }
    }

    #[inline(always)]
    fn rates(g: &Group, a: &Four, b: &Four) -> Self {
        Self::new(g, (&a.v, &a.w), (&b.v, &b.w))
    }

    #[inline(always)]
    fn normal(&self, g: &Group) -> V3 {
        [dot(&g.n, &self.V), dot(&g.s, &self.W), dot(&g.t, &self.W)]
    }

    #[inline(always)]
    fn tangential(&self, g: &Group) -> V3 {
        [dot(&g.s, &self.V), dot(&g.t, &self.V), dot(&g.n, &self.W)]
    }
}

impl Point {
    /// The normal component at this point of what is (V_n, W_s, W_t).
    #[inline(always)]
    fn along(&self, N: &V3) -> Lanes {
        self.y.mul_add(N[1], self.x.mul_neg_add(N[2], N[0]))
    }

    /// Adds a normal impulse to (P_n, L_s, L_t).
    #[inline(always)]
    fn gather(&self, sum: &mut V3, p: Lanes) {
        sum[0] += p;
        sum[1] = self.y.mul_add(p, sum[1]);
        sum[2] = self.x.mul_neg_add(p, sum[2]);
    }
}

/// s and t across n with s × t = n: s lies in the plane of n and of the axis that n is farthest from. Lanes without a
/// manifold have n = 0 and the axis itself.
#[inline(always)]
fn tangents(n: &V3) -> (V3, V3) {
    let size = n.map(Lanes::abs);
    let (zero, one) = (all(0.0), all(1.0));
    let first = size[0].simd_le(size[1]) & size[0].simd_le(size[2]);
    let second = size[1].simd_le(size[2]);
    let e = [
        first.select(one, zero),
        first.select(zero, second.select(one, zero)),
        first.select(zero, second.select(zero, one)),
    ];
    let along = first.select(n[0], second.select(n[1], n[2]));
    let s = sub(&e, &n.map(|x| x * along));
    let length = (s[0] * s[0] + s[1] * s[1] + s[2] * s[2]).sqrt();
    let s = s.map(|x| x / length);
    let minor = |i: usize, j: usize| n[i] * s[j] - n[j] * s[i];
    (s, [minor(1, 2), minor(2, 0), minor(0, 1)])
}

/// One over an answer; zero if the point is not there.
#[inline(always)]
fn inverse(there: Lanes, answer: Lanes) -> Lanes {
    there / answer.fast_max(all(f64::MIN_POSITIVE))
}

/// The larger eigenvalue of the symmetric matrix with p and q on its diagonal and r beside it.
#[inline(always)]
fn larger(p: Lanes, q: Lanes, r: Lanes) -> Lanes {
    let half = all(0.5);
    let d = half * (p - q);
    half * (p + q) + d.mul_add(d, r * r).sqrt()
}

impl Answers {
    /// Answers of a point. One over those of points that are not there is zero.
    #[inline(always)]
    fn respond_point(&self, K_NN: &[V3; 3], there: Lanes, c: &mut Point) {
        let (x, y) = (c.x, c.y);
        c.answer = std::array::from_fn(|i| y.mul_add(K_NN[1][i], x.mul_neg_add(K_NN[2][i], K_NN[0][i])));
        c.inv_normal = inverse(there, c.along(&c.answer));
        // Rows (1, 0, −y) and (0, 1, x) of K_TT.
        let [ss, tt, nn, st, sn, tn] = self.across;
        let p = ss - y * (sn + sn - y * nn);
        let q = tt + x * (tn + tn + x * nn);
        let r = st + x * sn - y * (tn + x * nn);
        c.inv_across = inverse(there, larger(p, q, r));
    }

    /// (V_s, V_t, W_n) after changes of (P_s, P_t, L_n).
    #[inline(always)]
    fn answer_across(&self, T: &V3, d_s: Lanes, d_t: Lanes, d_n: Lanes) -> V3 {
        let [ss, tt, nn, st, sn, tn] = self.across;
        [
            sn.mul_add(d_n, st.mul_add(d_t, ss.mul_add(d_s, T[0]))),
            tn.mul_add(d_n, tt.mul_add(d_t, st.mul_add(d_s, T[1]))),
            nn.mul_add(d_n, tn.mul_add(d_t, sn.mul_add(d_s, T[2]))),
        ]
    }
}

impl Group {
    /// Becomes the group of four manifolds, whose points are `points` from the place `first` on; returns its bodies. Everything
    /// is written where it stays: a copy of what has just been written would wait for it.
    pub(super) fn fill(
        &mut self,
        four: &[&Patch; 4],
        bodies: &[Body],
        given: &[Given],
        first: u32,
        points: &mut [Point],
        answers: &mut Answers,
    ) -> [Four; 2] {
        let own = |l: usize| &given[four[l].first as usize..(four[l].first + four[l].count) as usize];
        let own = [own(0), own(1), own(2), own(3)];
        let none = Given::default();
        let deepest = |l: usize| own[l].iter().reduce(|a, b| if b.gap() < a.gap() { b } else { a });
        let deepest = |l: usize| deepest(l).unwrap_or(&none);
        let arm = three(rows(&[deepest(0), deepest(1), deepest(2), deepest(3)], |c| &c.arm));
        let [nx, ny, nz, friction] = rows(four, |p| &p.normal);
        let belt = three(rows(four, |p| &p.belt));
        let [ax, ay, az, restitution] = rows(four, |p| &p.apart);
        self.a = four.map(|p| p.bodies[0]);
        self.b = four.map(|p| p.bodies[1]);
        (self.first, self.count) = (first, points.len() as u32);
        self.given = four.map(|p| p.first);
        self.counts = four.map(|p| p.count as u8);
        self.n = [nx, ny, nz];
        (self.s, self.t) = tangents(&self.n);
        self.arms = [arm, add(&arm, &[ax, ay, az])];
        self.shift = [all(0.0); 3];
        self.friction = friction;
        let along = |e: &V3| e[0] * belt[0] + e[1] * belt[1] + e[2] * belt[2];
        self.belt = [along(&self.s), along(&self.t)];
        self.restitution = restitution;
        let masses = [Masses::load(bodies, &self.a), Masses::load(bodies, &self.b)];
        if let [point] = points {
            // It stands at c, and c is all that K need be known of.
            let at = |l: usize| own[l].first().unwrap_or(&none);
            let at = [at(0), at(1), at(2), at(3)];
            let is = |l: usize| f64::from(u8::from(!own[l].is_empty()));
            let p = three(rows(&at, |c| &c.p));
            (point.x, point.y) = (all(0.0), all(0.0));
            [.., point.gap] = rows(&at, |c| &c.arm);
            point.p = [dot(&self.n, &p).fast_max(all(0.0)), dot(&self.s, &p), dot(&self.t, &p)];
            point.sum = [all(0.0); 3];
            self.respond_alone(&masses, Lanes::new([is(0), is(1), is(2), is(3)]), point);
            return [Four::load(bodies, &self.a), Four::load(bodies, &self.b)];
        }
        let upright = self.respond(&masses[0], &masses[1], answers);
        for (k, point) in points.iter_mut().enumerate() {
            let is = |l: usize| f64::from(u8::from(k < own[l].len()));
            let there = Lanes::new([is(0), is(1), is(2), is(3)]);
            let at = |l: usize| own[l].get(k).unwrap_or(&none);
            let at = [at(0), at(1), at(2), at(3)];
            let [x, y, z, gap] = rows(&at, |c| &c.arm);
            let (from, p) = (sub(&[x, y, z], &arm), three(rows(&at, |c| &c.p)));
            (point.x, point.y) = (dot(&self.s, &from) * there, dot(&self.t, &from) * there);
            point.gap = gap;
            point.p = [dot(&self.n, &p).fast_max(all(0.0)), dot(&self.s, &p), dot(&self.t, &p)];
            point.sum = [all(0.0); 3];
            answers.respond_point(&upright, there, point);
        }
        [Four::load(bodies, &self.a), Four::load(bodies, &self.b)]
    }

    /// Its own places among the points.
    #[inline(always)]
    pub(super) fn own(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }

    /// K, of which K_NN is handed back: its columns.
    #[inline(always)]
    fn respond(&self, a: &Masses, b: &Masses, answers: &mut Answers) -> [V3; 3] {
        let mass = a.inv_mass + b.inv_mass;
        let zero = all(0.0);
        let mut K_NN = [[zero; 3]; 3];
        K_NN[0][0] = mass;
        let Answers { mixed, across } = answers;
        *across = [mass, mass, zero, zero, zero, zero];
        *mixed = [[zero; 3]; 3];
        for (body, arm) in [(a, &self.arms[0]), (b, &self.arms[1])] {
            let up = [cross(arm, &self.n), self.s, self.t];
            let flat = [cross(arm, &self.s), cross(arm, &self.t), self.n];
            for (k, e) in up.iter().enumerate() {
                let turned = body.turn(e);
                for i in 0..3 {
                    K_NN[k][i] += dot(&up[i], &turned);
                    mixed[k][i] += dot(&flat[i], &turned);
                }
            }
            let turned = [body.turn(&flat[0]), body.turn(&flat[1]), body.turn(&flat[2])];
            for (k, (i, j)) in [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
                across[k] += dot(&flat[i], &turned[j]);
            }
        }
        K_NN
    }

    /// K of V alone, and the answers of the one point, as [`respond`](Self::respond) and
    /// [`respond_point`](Answers::respond_point) have them.
    #[inline(always)]
    fn respond_alone(&mut self, [a, b]: &[Masses; 2], there: Lanes, c: &mut Point) {
        let mass = a.inv_mass + b.inv_mass;
        let zero = all(0.0);
        let (mut nn, mut ss, mut tt, mut st) = (mass, mass, mass, zero);
        self.mixed = [zero; 2];
        for (body, arm) in [(a, &self.arms[0]), (b, &self.arms[1])] {
            let [n, s, t] = [cross(arm, &self.n), cross(arm, &self.s), cross(arm, &self.t)];
            let (turned_n, turned_s, turned_t) = (body.turn(&n), body.turn(&s), body.turn(&t));
            nn += dot(&n, &turned_n);
            self.mixed = [self.mixed[0] + dot(&s, &turned_n), self.mixed[1] + dot(&t, &turned_n)];
            ss += dot(&s, &turned_s);
            tt += dot(&t, &turned_t);
            st += dot(&s, &turned_t);
        }
        (c.inv_normal, c.inv_across) = (inverse(there, nn), inverse(there, larger(ss, tt, st)));
    }

    /// Gives (P_n, L_s, L_t) and (P_s, P_t, L_n) to the two bodies.
    #[inline(always)]
    fn give(&self, bodies: &[Body], [a, b]: [&mut Four; 2], up: &V3, flat: &V3) {
        let (n, s, t) = (&self.n, &self.s, &self.t);
        let of = |i: usize, x: Lanes, y: Lanes, z: Lanes| z.mul_add(t[i], y.mul_add(s[i], x * n[i]));
        let P: V3 = std::array::from_fn(|i| of(i, up[0], flat[0], flat[1]));
        let L: V3 = std::array::from_fn(|i| of(i, flat[2], up[1], up[2]));
        self.give_world(bodies, [a, b], &P, &L);
    }

    /// An impulse at the reference point.
    #[inline(always)]
    fn give_push(&self, bodies: &[Body], [a, b]: [&mut Four; 2], P: &V3) {
        a.push(&Masses::load(bodies, &self.a), P, &cross(&self.arms[0], P));
        let back = [-P[0], -P[1], -P[2]];
        b.push(&Masses::load(bodies, &self.b), &back, &cross(&self.arms[1], &back));
    }

    #[inline(always)]
    fn give_world(&self, bodies: &[Body], [a, b]: [&mut Four; 2], P: &V3, L: &V3) {
        a.push(&Masses::load(bodies, &self.a), P, &add(L, &cross(&self.arms[0], P)));
        let back = [-P[0], -P[1], -P[2]];
        b.push(&Masses::load(bodies, &self.b), &back, &sub(&cross(&self.arms[1], &back), L));
    }

    /// A vector along n, s, t in world axes.
    #[inline(always)]
    pub(super) fn in_world(&self, p: &V3) -> V3 {
        std::array::from_fn(|i| p[2].mul_add(self.t[i], p[1].mul_add(self.s[i], p[0] * self.n[i])))
    }

    /// The impulses as they are, on both bodies.
    #[inline(always)]
    pub(super) fn warm(&self, bodies: &[Body], points: &[Point], [a, b]: &mut [Four; 2]) {
        if let [c] = points {
            self.give_push(bodies, [a, b], &self.in_world(&c.p));
            return;
        }
        let mut up = [all(0.0); 3];
        let mut flat = up;
        for c in points {
            c.gather(&mut up, c.p[0]);
            flat =
                [flat[0] + c.p[1], flat[1] + c.p[2], c.x.mul_add(c.p[2], c.y.mul_neg_add(c.p[1], flat[2]))];
        }
        self.give(bodies, [a, b], &up, &flat);
    }

    /// Bodies have moved and turned so far since the step began.
    #[inline(always)]
    fn follow(&mut self, a: &[V3; 2], b: &[V3; 2]) {
        self.shift = Seen::new(self, (&a[0], &a[1]), (&b[0], &b[1])).normal(self);
    }

    /// Normal rates of its points into `before`; the square of the fastest relative velocity into `most`.
    #[inline(always)]
    pub(super) fn look(&self, points: &[Point], before: &mut [Lanes], a: &Four, b: &Four, most: &mut Lanes) {
        let rates = Seen::rates(self, a, b);
        let (N, T) = (rates.normal(self), rates.tangential(self));
        for (c, before) in points.iter().zip(before) {
            let u = [c.along(&N), c.y.mul_neg_add(T[2], T[0]), c.x.mul_add(T[2], T[1])];
            *before = u[0];
            *most = (c.inv_normal.simd_gt(all(0.0)) & dot(&u, &u)).fast_max(*most);
        }
    }

    /// Points that came in faster than `slowest`, and pressed, leave as their restitution says.
    #[inline(always)]
    pub(super) fn bounce(
        &self,
        bodies: &[Body],
        points: &mut [Point],
        before: &[Lanes],
        (a, b): (&mut Four, &mut Four),
        slowest: f64,
    ) {
        let mut N = Seen::rates(self, a, b).normal(self);
        let none = all(0.0);
        let mut up = [none; 3];
        for (c, before) in points.iter_mut().zip(before) {
            let wanted = -(self.restitution * *before) - c.along(&N);
            let p = (wanted * c.inv_normal).fast_max(none);
            let fast = before.simd_lt(all(-slowest)) & c.sum[0].simd_gt(none);
            let p = p & fast & self.restitution.simd_gt(none);
            c.sum[0] += p;
            N = plus(&N, p, &c.answer);
            c.gather(&mut up, p);
        }
        self.give(bodies, [a, b], &up, &[none; 3]);
    }
}

/// What is done to groups that share no body. A point waits for the one before it, and the processor with it: M groups are
/// visited point by point in turn, so that one works while the other waits. The numbers are those of one after the other.
pub(super) trait Visit: Sync {
    /// Visits M groups with their points and bodies, the answers being those of all groups; returns what it measures.
    /// Either all of them have one point or all have several.
    fn visit<const M: usize>(
        &self,
        bodies: &[Body],
        groups: &mut [Group; M],
        points: &mut [Point],
        answers: &[Answers],
        four: &mut [[Four; 2]; M],
    ) -> Lanes;
}

/// Calls `f` for point k of each group, for all k.
#[inline(always)]
fn in_turn<const M: usize>(
    groups: &[Group; M],
    points: &mut [Point],
    mut f: impl FnMut(usize, &Group, &mut Point),
) {
    let most = groups.iter().fold(0, |most, g| most.max(g.count));
    for k in 0..most {
        for (m, g) in groups.iter().enumerate() {
            if k < g.count {
                f(m, g, &mut points[(g.first - groups[0].first + k) as usize]);
            }
        }
    }
}

/// The normal rows alone: what is apart may close, what overlaps is parted by a damped spring.
pub(super) struct Push<'a>(pub(super) &'a Ask);

impl Push<'_> {
    /// The normal row of a point with this gap and normal rate; returns how its impulse changes.
    #[inline(always)]
    fn normal(&self, c: &mut Point, gap: Lanes, rate: Lanes) -> Lanes {
        let (ask, zero, one) = (self.0, all(0.0), all(1.0));
        let apart = gap.simd_gt(zero);
        let overlap = (-gap - all(ask.slop)).fast_max(zero);
        let push = (overlap * all(ask.rate)).fast_min(all(ask.push_speed));
        let target = apart.select(-(gap * all(ask.inv_step)), push);
        let mends = apart.select(one, all(ask.mends)) * c.inv_normal;
        let keeps = apart.select(one, all(1.0 - ask.forgets));
        let p = (keeps * c.p[0] - (rate - target) * mends).fast_max(zero);
        let d = p - c.p[0];
        c.p[0] = p;
        d
    }
}

impl Visit for Push<'_> {
    #[inline(always)]
    fn visit<const M: usize>(
        &self,
        bodies: &[Body],
        groups: &mut [Group; M],
        points: &mut [Point],
        _: &[Answers],
        four: &mut [[Four; 2]; M],
    ) -> Lanes {
        let zero = all(0.0);
        if groups.iter().all(|g| g.count == 1) {
            for (m, (g, [a, b])) in groups.iter().zip(four).enumerate() {
                let c = &mut points[m];
                let V = Seen::rates(g, a, b).V;
                let d = self.normal(c, c.gap + g.shift[0], dot(&g.n, &V));
                g.give_push(bodies, [a, b], &[d * g.n[0], d * g.n[1], d * g.n[2]]);
            }
            return zero;
        }
        let mut N = [[zero; 3]; M];
        for ((N, g), [a, b]) in N.iter_mut().zip(groups.iter()).zip(four.iter()) {
            *N = Seen::rates(g, a, b).normal(g);
        }
        let mut given = [[zero; 3]; M];
        in_turn(groups, points, |m, g, c| {
            let d = self.normal(c, c.gap + c.along(&g.shift), c.along(&N[m]));
            N[m] = plus(&N[m], d, &c.answer);
            c.gather(&mut given[m], d);
        });
        for ((g, [a, b]), given) in groups.iter().zip(four).zip(&given) {
            let P = [given[0] * g.n[0], given[0] * g.n[1], given[0] * g.n[2]];
            let L: V3 = std::array::from_fn(|i| given[2].mul_add(g.t[i], given[1] * g.s[i]));
            g.give_world(bodies, [a, b], &P, &L);
        }
        zero
    }
}

/// All rows as they should be, friction included. Impulses are added up with the factor `share`; if `MEASURE`, bodies have
/// not moved since the visit before, and what comes back is the largest change of a relative velocity.
pub(super) struct Relax<'a, const MEASURE: bool> {
    pub(super) ask: &'a Ask,
    pub(super) share: Lanes,
}

/// |d| over a number that is one over an answer. Points that are not there have an answer of zero, and change by zero.
#[inline(always)]
fn over(d: Lanes, inv: Lanes) -> Lanes {
    d / inv.fast_max(all(f64::MIN_POSITIVE))
}

impl<const MEASURE: bool> Relax<'_, MEASURE> {
    /// The normal row of a point with this gap and normal rate; returns how its impulse changes.
    #[inline(always)]
    fn normal(&self, c: &mut Point, gap: Lanes, rate: Lanes, most: &mut Lanes) -> Lanes {
        let zero = all(0.0);
        let target = -(gap.fast_max(zero) * all(self.ask.inv_step));
        let p = (c.p[0] - (rate - target) * c.inv_normal).fast_max(zero);
        let d = p - c.p[0];
        c.p[0] = p;
        if MEASURE {
            *most = over(d.abs(), c.inv_normal).fast_max(*most);
        }
        d
    }

    /// Friction of a point with these rates across; returns how its impulse changes.
    #[inline(always)]
    fn across(&self, g: &Group, c: &mut Point, [u_s, u_t]: [Lanes; 2], most: &mut Lanes) -> [Lanes; 2] {
        let zero = all(0.0);
        let (u_s, u_t) = (u_s - g.belt[0], u_t - g.belt[1]);
        let p_s = u_s.mul_neg_add(c.inv_across, c.p[1]);
        let p_t = u_t.mul_neg_add(c.inv_across, c.p[2]);
        let size = p_s.mul_add(p_s, p_t * p_t);
        let bound = g.friction * c.p[0];
        let within = bound * bound;
        let pressed = bound.simd_gt(zero);
        // Most points stick, or do not press at all: root and quotient are for the others, and nobody waits for them.
        let new = if (size.simd_le(within) | bound.simd_le(zero)).all() {
            [p_s & pressed, p_t & pressed]
        } else {
            // 1 inside the disc, its radius over the distance outside.
            let reach = size.fast_max(within).fast_max(all(f64::MIN_POSITIVE));
            let part = bound / reach.sqrt();
            [p_s * part, p_t * part]
        };
        let (d_s, d_t) = (new[0] - c.p[1], new[1] - c.p[2]);
        (c.p[1], c.p[2]) = (new[0], new[1]);
        c.sum = plus(&c.sum, self.share, &c.p);
        if MEASURE {
            *most = over(d_s.abs() + d_t.abs(), c.inv_across).fast_max(*most);
        }
        [d_s, d_t]
    }

    /// Groups of one point each.
    #[inline(always)]
    fn single<const M: usize>(
        &self,
        bodies: &[Body],
        groups: &[Group; M],
        points: &mut [Point],
        four: &mut [[Four; 2]; M],
        most: &mut Lanes,
    ) {
        for (m, (g, [a, b])) in groups.iter().zip(four).enumerate() {
            let c = &mut points[m];
            let V = Seen::rates(g, a, b).V;
            let d_n = self.normal(c, c.gap + g.shift[0], dot(&g.n, &V), most);
            let rate = |e: &V3, k: usize| d_n.mul_add(g.mixed[k], dot(e, &V));
            let [d_s, d_t] = self.across(g, c, [rate(&g.s, 0), rate(&g.t, 1)], most);
            let P = std::array::from_fn(|i| d_t.mul_add(g.t[i], d_s.mul_add(g.s[i], d_n * g.n[i])));
            g.give_push(bodies, [a, b], &P);
        }
    }
}

impl<const MEASURE: bool> Visit for Relax<'_, MEASURE> {
    #[inline(always)]
    fn visit<const M: usize>(
        &self,
        bodies: &[Body],
        groups: &mut [Group; M],
        points: &mut [Point],
        answers: &[Answers],
        four: &mut [[Four; 2]; M],
    ) -> Lanes {
        if !MEASURE {
            groups.iter_mut().for_each(|g| g.follow(&Four::ways(bodies, &g.a), &Four::ways(bodies, &g.b)));
        }
        let zero = all(0.0);
        let mut most = zero;
        if groups.iter().all(|g| g.count == 1) {
            self.single(bodies, groups, points, four, &mut most);
            return most;
        }
        let mut N = [[zero; 3]; M];
        let mut T = N;
        for (m, g) in groups.iter().enumerate() {
            let rates = Seen::rates(g, &four[m][0], &four[m][1]);
            (N[m], T[m]) = (rates.normal(g), rates.tangential(g));
        }
        let mut up = [[zero; 3]; M];
        in_turn(groups, points, |m, g, c| {
            let d = self.normal(c, c.gap + c.along(&g.shift), c.along(&N[m]), &mut most);
            N[m] = plus(&N[m], d, &c.answer);
            c.gather(&mut up[m], d);
        });
        for (m, g) in groups.iter().enumerate() {
            for (k, column) in answers[g.answers as usize].mixed.iter().enumerate() {
                T[m] = plus(&T[m], up[m][k], column);
            }
        }
        let mut flat = [[zero; 3]; M];
        in_turn(groups, points, |m, g, c| {
            let u = [c.y.mul_neg_add(T[m][2], T[m][0]), c.x.mul_add(T[m][2], T[m][1])];
            let [d_s, d_t] = self.across(g, c, u, &mut most);
            let d_n = c.x.mul_add(d_t, -(c.y * d_s));
            T[m] = answers[g.answers as usize].answer_across(&T[m], d_s, d_t, d_n);
            flat[m] = [flat[m][0] + d_s, flat[m][1] + d_t, flat[m][2] + d_n];
        });
        for (m, [a, b]) in four.iter_mut().enumerate() {
            groups[m].give(bodies, [a, b], &up[m], &flat[m]);
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Mat3, Random, Vec3};

    /// s and t of a normal.
    fn axes_across(n: &Vec3) -> [Vec3; 2] {
        let (s, t) = tangents(&[n.x, n.y, n.z].map(all));
        [lane(&s), lane(&t)]
    }

    /// Two bodies and a manifold of three points between them, the same in every lane.
    fn some(random: &mut Random) -> (Vec<Body>, Patch, Vec<Given>) {
        let mut vector = |size: f64| Vec3::from_fn(|_, _| random.between(-size, size));
        let row = |v: &Vec3| [v.x, v.y, v.z, 0.0];
        let mut bodies = Vec::new();
        for k in 0..2 {
            let M = Mat3::from_columns(&[vector(1.0), vector(1.0), vector(1.0)]);
            let I = M * M.transpose() + Mat3::identity();
            bodies.push(Body {
                v: row(&vector(1.0)),
                w: row(&vector(1.0)),
                inverse: Body::inverse(
                    0.5 + f64::from(k),
                    [I[(0, 0)], I[(1, 1)], I[(2, 2)], I[(0, 1)], I[(0, 2)], I[(1, 2)]],
                ),
                ..Body::default()
            });
        }
        bodies.push(Body::default());
        let n = vector(1.0).normalize();
        let [s, t] = axes_across(&n);
        let (center, apart) = (vector(1.0), vector(1.0));
        let mut given = Vec::new();
        for k in 0..3 {
            let across = vector(0.5);
            let arm = center + across.x * s + across.y * t;
            let p = (0.1 * f64::from(k) + 0.2) * n + 0.05 * s - 0.02 * t;
            let arm = [arm.x, arm.y, arm.z, -1e-3 * f64::from(k)];
            given.push(Given { arm, p: row(&p), ..Given::default() });
        }
        let patch = Patch {
            bodies: [0, 1],
            first: 0,
            count: 3,
            normal: [n.x, n.y, n.z, 0.4],
            belt: [0.0; 4],
            apart: row(&apart),
        };
        (bodies, patch, given)
    }

    fn vec3(x: &[f64]) -> Vec3 {
        Vec3::new(x[0], x[1], x[2])
    }

    /// Relative velocity of a point, from the bodies themselves.
    fn relative(bodies: &[Body], patch: &Patch, c: &Given) -> Vec3 {
        let at = |b: &Body, arm: Vec3| vec3(&b.v) + vec3(&b.w).cross(&arm);
        let arm = vec3(&c.arm);
        at(&bodies[0], arm) - at(&bodies[1], arm + vec3(&patch.apart))
    }

    fn lane(x: &V3) -> Vec3 {
        Vec3::new(x[0].to_array()[0], x[1].to_array()[0], x[2].to_array()[0])
    }

    #[test]
    fn six_numbers_tell_the_velocities_of_all_points_and_how_they_answer() {
        let mut random = Random::new(11);
        for _ in 0..200 {
            let (mut bodies, patch, given) = some(&mut random);
            let blank = Patch { bodies: [2; 2], ..Patch::default() };
            let mut points = vec![Point::default(); 3];
            let (mut g, mut answers) = (Group::default(), Answers::default());
            g.fill(&[&patch, &blank, &blank, &blank], &bodies, &given, 0, &mut points, &mut answers);
            let mut four = [Four::load(&bodies, &g.a), Four::load(&bodies, &g.b)];
            let n = vec3(&patch.normal);
            let [s, t] = axes_across(&n);
            assert!((s.cross(&t) - n).norm() < 1e-15 && (s.norm() - 1.0).abs() < 1e-15);
            let axes = Mat3::from_rows(&[n, s, t].map(|e| e.transpose()));
            let seen = |[a, b]: &[Four; 2]| {
                let rates = Seen::rates(&g, a, b);
                let (N, T) = (rates.normal(&g), rates.tangential(&g));
                let u = |c: &Point| [c.along(&N), c.y.mul_neg_add(T[2], T[0]), c.x.mul_add(T[2], T[1])];
                let velocities: Vec<Vec3> = points.iter().map(|c| lane(&u(c))).collect();
                (N, T, velocities)
            };
            let (N, T, before) = seen(&four);
            for (u, c) in before.iter().zip(&given) {
                assert!((u - axes * relative(&bodies, &patch, c)).norm() < 1e-12);
            }
            // What the points press and rub with, all at once.
            g.warm(&bodies, &points, &mut four);
            let (mut N_told, mut T_told) = (lane(&N), lane(&T));
            for c in &points {
                let p = lane(&c.p);
                let (x, y) = (c.x.to_array()[0], c.y.to_array()[0]);
                N_told += p[0] * lane(&c.answer);
                let up = p[0] * Vec3::new(1.0, y, -x);
                let mixed = Mat3::from_columns(&answers.mixed.map(|m| lane(&m)));
                let [ss, tt, nn, st, sn, tn] = answers.across.map(|k| k.to_array()[0]);
                let across = Mat3::new(ss, st, sn, st, tt, tn, sn, tn, nn);
                T_told += mixed * up + across * Vec3::new(p[1], p[2], x * p[2] - y * p[1]);
                N_told += mixed.transpose() * Vec3::new(p[1], p[2], x * p[2] - y * p[1]);
            }
            let (N, T, after) = seen(&four);
            assert!((lane(&N) - N_told).norm() < 1e-11 * (1.0 + N_told.norm()), "{N:?} {N_told:?}");
            assert!((lane(&T) - T_told).norm() < 1e-11 * (1.0 + T_told.norm()), "{T:?} {T_told:?}");
            // The same impulses given to the bodies one by one.
            for c in &given {
                for (k, sign, arm) in [(0, 1.0, vec3(&c.arm)), (1, -1.0, vec3(&c.arm) + vec3(&patch.apart))] {
                    let body = &mut bodies[k];
                    let [xx, yy, zz, xy, xz, yz] = body.inv_inertia();
                    let I = Mat3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz);
                    let (p, w) = (sign * vec3(&c.p), I * arm.cross(&(sign * vec3(&c.p))));
                    for i in 0..3 {
                        body.v[i] += body.inv_mass() * p[i];
                        body.w[i] += w[i];
                    }
                }
            }
            for (u, c) in after.iter().zip(&given) {
                assert!((u - axes * relative(&bodies, &patch, c)).norm() < 1e-11, "{u:?}");
            }
        }
    }

    #[test]
    fn two_groups_at_once_are_the_same_as_one_after_the_other() {
        let mut random = Random::new(5);
        let ask = Ask { inv_step: 100.0, rate: 20.0, push_speed: 1.0, slop: 1e-4, mends: 0.9, forgets: 0.1 };
        for round in 0..100 {
            let (first, one, mut given) = some(&mut random);
            let (second, two, more) = some(&mut random);
            // Manifolds of one point have a way of their own.
            let count = 1 + 2 * (round % 2);
            let one = Patch { count, ..one };
            let two = Patch { bodies: [2, 3], first: 3, count, ..two };
            given.extend(more);
            let mut bodies = [&first[..2], &second[..2], &[Body::default()]].concat();
            bodies.iter_mut().for_each(|b| b.moved = [1e-3, -2e-3, 1e-3, 0.0]);
            let blank = Patch { bodies: [4; 2], ..Patch::default() };
            let mut groups = [Group::default(); 2];
            groups[1].answers = 1;
            let mut answers = [Answers::default(); 2];
            let mut points = vec![Point::default(); 2 * count as usize];
            let (low, high) = points.split_at_mut(count as usize);
            groups[0].fill(&[&one, &blank, &blank, &blank], &bodies, &given, 0, low, &mut answers[0]);
            groups[1].fill(&[&two, &blank, &blank, &blank], &bodies, &given, count, high, &mut answers[1]);
            let load = |g: &Group| [Four::load(&bodies, &g.a), Four::load(&bodies, &g.b)];
            let mut four = [load(&groups[0]), load(&groups[1])];
            let (mut other_groups, mut other_points, mut other_four) = (groups, points.clone(), four);
            let relax = Relax::<false> { ask: &ask, share: all(1.0) };
            for _ in 0..3 {
                Push(&ask).visit(&bodies, &mut groups, &mut points, &answers, &mut four);
                relax.visit(&bodies, &mut groups, &mut points, &answers, &mut four);
                for m in 0..2 {
                    let at = other_groups[m].first as usize;
                    let group = std::array::from_mut(&mut other_groups[m]);
                    let four = std::array::from_mut(&mut other_four[m]);
                    Push(&ask).visit(&bodies, group, &mut other_points[at..], &answers, four);
                    relax.visit(&bodies, group, &mut other_points[at..], &answers, four);
                }
            }
            for (c, d) in points.iter().zip(&other_points) {
                assert_eq!((lane(&c.p), lane(&c.sum)), (lane(&d.p), lane(&d.sum)), "{round}");
            }
            for (a, b) in four.iter().flatten().zip(other_four.iter().flatten()) {
                assert_eq!((lane(&a.v), lane(&a.w)), (lane(&b.v), lane(&b.w)), "{round}");
            }
        }
    }
}
