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
//! Points are midway between two surfaces, so they leave the plane by half the difference of their gaps. The plane goes
//! through the deepest one: points that carry forces have gaps that are almost zero.

use super::lanes::{Ask, Body, Four, Given, Lanes, Patch, V3, add, all, cross, dot, plus, rows, sub, three};

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
    pub(super) first: u32,
    pub(super) count: u32,
    n: V3,
    s: V3,
    t: V3,
    /// From the centres of the bodies to the reference point.
    arms: [V3; 2],
    /// (V_n, W_s, W_t) of what the bodies have moved since the step began.
    shift: V3,
    friction: Lanes,
    /// u_s and u_t if they stick.
    belt: [Lanes; 2],
    pub(super) restitution: Lanes,
    /// K_TT: ss, tt, nn, st, sn, tn.
    across: [Lanes; 6],
    /// Columns of K_TN.
    mixed: [V3; 3],
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

impl Group {
    /// Four manifolds and their points, which are added to `points`.
    pub(super) fn new(four: &[&Patch; 4], bodies: &[Body], given: &[Given], points: &mut Vec<Point>) -> Self {
        let own = |l: usize| &given[four[l].first as usize..(four[l].first + four[l].count) as usize];
        let own = [own(0), own(1), own(2), own(3)];
        let none = Given::default();
        let deepest = |l: usize| own[l].iter().reduce(|a, b| if b.gap() < a.gap() { b } else { a });
        let deepest = |l: usize| deepest(l).unwrap_or(&none);
        let arm = three(rows(&[deepest(0), deepest(1), deepest(2), deepest(3)], |c| &c.arm));
        let [nx, ny, nz, friction] = rows(four, |p| &p.normal);
        let [sx, sy, sz, along_s] = rows(four, |p| &p.tangents[0]);
        let [tx, ty, tz, along_t] = rows(four, |p| &p.tangents[1]);
        let [ax, ay, az, restitution] = rows(four, |p| &p.apart);
        let mut g = Self {
            a: four.map(|p| p.bodies[0]),
            b: four.map(|p| p.bodies[1]),
            first: points.len() as u32,
            count: four.iter().fold(0, |most, p| most.max(p.count)),
            n: [nx, ny, nz],
            s: [sx, sy, sz],
            t: [tx, ty, tz],
            arms: [arm, add(&arm, &[ax, ay, az])],
            friction,
            belt: [along_s, along_t],
            restitution,
            ..Self::default()
        };
        let upright = g.respond(&Four::load(bodies, &g.a), &Four::load(bodies, &g.b));
        for k in 0..g.count as usize {
            let is = |l: usize| f64::from(u8::from(k < own[l].len()));
            let there = Lanes::new([is(0), is(1), is(2), is(3)]);
            let at = |l: usize| own[l].get(k).unwrap_or(&none);
            let at = [at(0), at(1), at(2), at(3)];
            let [x, y, z, gap] = rows(&at, |c| &c.arm);
            let (from, p) = (sub(&[x, y, z], &arm), three(rows(&at, |c| &c.p)));
            let mut point = Point {
                x: dot(&g.s, &from) * there,
                y: dot(&g.t, &from) * there,
                gap,
                p: [dot(&g.n, &p).fast_max(all(0.0)), dot(&g.s, &p), dot(&g.t, &p)],
                ..Point::default()
            };
            g.respond_point(&upright, there, &mut point);
            points.push(point);
        }
        g
    }

    /// Its own places among the points.
    #[inline(always)]
    pub(super) fn own(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }

    /// K, of which K_NN is handed back: its columns.
    #[inline(always)]
    fn respond(&mut self, a: &Four, b: &Four) -> [V3; 3] {
        let mass = a.inv_mass + b.inv_mass;
        let zero = all(0.0);
        let mut K_NN = [[zero; 3]; 3];
        K_NN[0][0] = mass;
        self.across = [mass, mass, zero, zero, zero, zero];
        for (body, arm) in [(a, &self.arms[0]), (b, &self.arms[1])] {
            let up = [cross(arm, &self.n), self.s, self.t];
            let flat = [cross(arm, &self.s), cross(arm, &self.t), self.n];
            for (k, e) in up.iter().enumerate() {
                let turned = body.turn(e);
                for i in 0..3 {
                    K_NN[k][i] += dot(&up[i], &turned);
                    self.mixed[k][i] += dot(&flat[i], &turned);
                }
            }
            let turned = [body.turn(&flat[0]), body.turn(&flat[1]), body.turn(&flat[2])];
            for (k, (i, j)) in [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
                self.across[k] += dot(&flat[i], &turned[j]);
            }
        }
        K_NN
    }

    /// Answers of a point. One over those of points that are not there is zero.
    #[inline(always)]
    fn respond_point(&self, K_NN: &[V3; 3], there: Lanes, c: &mut Point) {
        let (x, y) = (c.x, c.y);
        let least = all(f64::MIN_POSITIVE);
        c.answer = std::array::from_fn(|i| y.mul_add(K_NN[1][i], x.mul_neg_add(K_NN[2][i], K_NN[0][i])));
        c.inv_normal = there / c.along(&c.answer).fast_max(least);
        // Rows (1, 0, −y) and (0, 1, x) of K_TT.
        let [ss, tt, nn, st, sn, tn] = self.across;
        let p = ss - y * (sn + sn - y * nn);
        let q = tt + x * (tn + tn + x * nn);
        let r = st + x * sn - y * (tn + x * nn);
        let half = all(0.5);
        let d = half * (p - q);
        c.inv_across = there / (half * (p + q) + d.mul_add(d, r * r).sqrt()).fast_max(least);
    }

    /// Gives (P_n, L_s, L_t) and (P_s, P_t, L_n) to the two bodies.
    #[inline(always)]
    fn give(&self, a: &mut Four, b: &mut Four, up: &V3, flat: &V3) {
        let (n, s, t) = (&self.n, &self.s, &self.t);
        let of = |i: usize, x: Lanes, y: Lanes, z: Lanes| z.mul_add(t[i], y.mul_add(s[i], x * n[i]));
        let P: V3 = std::array::from_fn(|i| of(i, up[0], flat[0], flat[1]));
        let L: V3 = std::array::from_fn(|i| of(i, flat[2], up[1], up[2]));
        self.give_world(a, b, &P, &L);
    }

    #[inline(always)]
    fn give_world(&self, a: &mut Four, b: &mut Four, P: &V3, L: &V3) {
        a.push(P, &add(L, &cross(&self.arms[0], P)));
        let back = [-P[0], -P[1], -P[2]];
        b.push(&back, &sub(&cross(&self.arms[1], &back), L));
    }

    /// A vector along n, s, t in world axes.
    #[inline(always)]
    pub(super) fn in_world(&self, p: &V3) -> V3 {
        std::array::from_fn(|i| p[2].mul_add(self.t[i], p[1].mul_add(self.s[i], p[0] * self.n[i])))
    }

    /// The impulses as they are, on both bodies.
    #[inline(always)]
    pub(super) fn warm(&self, points: &[Point], a: &mut Four, b: &mut Four) {
        let mut up = [all(0.0); 3];
        let mut flat = up;
        for c in points {
            c.gather(&mut up, c.p[0]);
            flat =
                [flat[0] + c.p[1], flat[1] + c.p[2], c.x.mul_add(c.p[2], c.y.mul_neg_add(c.p[1], flat[2]))];
        }
        self.give(a, b, &up, &flat);
    }

    /// Bodies have moved and turned so far since the step began.
    #[inline(always)]
    pub(super) fn follow(&mut self, a: &[V3; 2], b: &[V3; 2]) {
        self.shift = Seen::new(self, (&a[0], &a[1]), (&b[0], &b[1])).normal(self);
    }

    /// The normal rows alone: what is apart may close, what overlaps is parted by a damped spring.
    #[inline(always)]
    pub(super) fn push(&self, points: &mut [Point], a: &mut Four, b: &mut Four, ask: &Ask) {
        let mut N = Seen::rates(self, a, b).normal(self);
        let (zero, one) = (all(0.0), all(1.0));
        let mut given = [zero; 3];
        for c in points {
            let gap = c.gap + c.along(&self.shift);
            let apart = gap.simd_gt(zero);
            let overlap = (-gap - all(ask.slop)).fast_max(zero);
            let push = (overlap * all(ask.rate)).fast_min(all(ask.push_speed));
            let target = apart.select(-(gap * all(ask.inv_step)), push);
            let mends = apart.select(one, all(ask.mends)) * c.inv_normal;
            let keeps = apart.select(one, all(1.0 - ask.forgets));
            let p = (keeps * c.p[0] - (c.along(&N) - target) * mends).fast_max(zero);
            let d = p - c.p[0];
            c.p[0] = p;
            N = plus(&N, d, &c.answer);
            c.gather(&mut given, d);
        }
        let (n, s, t) = (&self.n, &self.s, &self.t);
        let P = [given[0] * n[0], given[0] * n[1], given[0] * n[2]];
        let L: V3 = std::array::from_fn(|i| given[2].mul_add(t[i], given[1] * s[i]));
        self.give_world(a, b, &P, &L);
    }

    /// All rows as they should be, friction included. Impulses are added up with the factor `share`; `most` becomes the
    /// largest change of a relative velocity if `MEASURE`.
    #[inline(always)]
    pub(super) fn relax<const MEASURE: bool>(
        &self,
        points: &mut [Point],
        (a, b): (&mut Four, &mut Four),
        ask: &Ask,
        share: Lanes,
        most: &mut Lanes,
    ) {
        let rates = Seen::rates(self, a, b);
        let mut N = rates.normal(self);
        let zero = all(0.0);
        // Points that are not there have an answer of zero, and change by zero.
        let over = |d: Lanes, inv: Lanes| d / inv.fast_max(all(f64::MIN_POSITIVE));
        let mut up = [zero; 3];
        for c in points.iter_mut() {
            let gap = c.gap + c.along(&self.shift);
            let target = -(gap.fast_max(zero) * all(ask.inv_step));
            let p = (c.p[0] - (c.along(&N) - target) * c.inv_normal).fast_max(zero);
            let d = p - c.p[0];
            c.p[0] = p;
            N = plus(&N, d, &c.answer);
            c.gather(&mut up, d);
            if MEASURE {
                *most = over(d.abs(), c.inv_normal).fast_max(*most);
            }
        }
        let mut T = rates.tangential(self);
        for (k, column) in self.mixed.iter().enumerate() {
            T = plus(&T, up[k], column);
        }
        let [ss, tt, nn, st, sn, tn] = self.across;
        let mut flat = [zero; 3];
        for c in points {
            let u_s = c.y.mul_neg_add(T[2], T[0]) - self.belt[0];
            let u_t = c.x.mul_add(T[2], T[1]) - self.belt[1];
            let p_s = u_s.mul_neg_add(c.inv_across, c.p[1]);
            let p_t = u_t.mul_neg_add(c.inv_across, c.p[2]);
            let size = p_s.mul_add(p_s, p_t * p_t);
            let bound = self.friction * c.p[0];
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
            c.sum = plus(&c.sum, share, &c.p);
            if MEASURE {
                *most = over(d_s.abs() + d_t.abs(), c.inv_across).fast_max(*most);
            }
            let d_n = c.x.mul_add(d_t, -(c.y * d_s));
            T = [
                sn.mul_add(d_n, st.mul_add(d_t, ss.mul_add(d_s, T[0]))),
                tn.mul_add(d_n, tt.mul_add(d_t, st.mul_add(d_s, T[1]))),
                nn.mul_add(d_n, tn.mul_add(d_t, sn.mul_add(d_s, T[2]))),
            ];
            flat = [flat[0] + d_s, flat[1] + d_t, flat[2] + d_n];
        }
        self.give(a, b, &up, &flat);
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
        self.give(a, b, &up, &[none; 3]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Mat3, Random, Vec3};
    use crate::step::impulse::contact::sweep::tangents;

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
        let [s, t] = tangents(&n);
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
            tangents: [row(&s), row(&t)],
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
            let mut points = Vec::new();
            let g = Group::new(&[&patch, &blank, &blank, &blank], &bodies, &given, &mut points);
            let (mut a, mut b) = (Four::load(&bodies, &g.a), Four::load(&bodies, &g.b));
            let axes = Mat3::from_rows(
                &[patch.normal, patch.tangents[0], patch.tangents[1]].map(|e| vec3(&e).transpose()),
            );
            let seen = |a: &Four, b: &Four| {
                let rates = Seen::rates(&g, a, b);
                let (N, T) = (rates.normal(&g), rates.tangential(&g));
                let u = |c: &Point| [c.along(&N), c.y.mul_neg_add(T[2], T[0]), c.x.mul_add(T[2], T[1])];
                let velocities: Vec<Vec3> = points.iter().map(|c| lane(&u(c))).collect();
                (N, T, velocities)
            };
            let (N, T, before) = seen(&a, &b);
            for (u, c) in before.iter().zip(&given) {
                assert!((u - axes * relative(&bodies, &patch, c)).norm() < 1e-12);
            }
            // What the points press and rub with, all at once.
            g.warm(&points, &mut a, &mut b);
            let (mut N_told, mut T_told) = (lane(&N), lane(&T));
            for c in &points {
                let p = lane(&c.p);
                let (x, y) = (c.x.to_array()[0], c.y.to_array()[0]);
                N_told += p[0] * lane(&c.answer);
                let up = p[0] * Vec3::new(1.0, y, -x);
                let mixed = Mat3::from_columns(&g.mixed.map(|m| lane(&m)));
                let [ss, tt, nn, st, sn, tn] = g.across.map(|k| k.to_array()[0]);
                let across = Mat3::new(ss, st, sn, st, tt, tn, sn, tn, nn);
                T_told += mixed * up + across * Vec3::new(p[1], p[2], x * p[2] - y * p[1]);
                N_told += mixed.transpose() * Vec3::new(p[1], p[2], x * p[2] - y * p[1]);
            }
            let (N, T, after) = seen(&a, &b);
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
}
