//! Batches of four manifolds that share no body: one manifold per SIMD lane.
//!
//! The points of a manifold lie in a plane across its normal n. With tangents s × t = n and a reference point c in that
//! plane, point i stands at c + x_i s + y_i t. The relative velocity V of the bodies at c and their relative angular velocity
//! W give the velocities of all points:
//!
//! $$ u_n = V_n + y W_s - x W_t, \quad u_s = V_s - y W_n, \quad u_t = V_t + x W_n, $$
//!
//! and the bodies feel the sum P of the impulses and their moment L about c, with $L_s = y p_n$, $L_t = -x p_n$,
//! $L_n = x p_t - y p_s$ of each. So a visit loads six numbers, solves all points on those, and gives one impulse and one
//! moment back. Between the points
//!
//! $$ \begin{pmatrix} \Delta N \\ \Delta T \end{pmatrix} = \begin{pmatrix} K_{NN} & K_{TN}^T \\ K_{TN} & K_{TT} \end{pmatrix}
//!    \begin{pmatrix} \Delta n \\ \Delta t \end{pmatrix}, \quad N = (V_n, W_s, W_t),\; T = (V_s, V_t, W_n), $$
//!
//! with $n = (P_n, L_s, L_t)$, $t = (P_s, P_t, L_n)$ and $K = \sum J I^{-1} J^T$ plus 1/m where V responds to P, the rows of
//! J being r × n, s, t and r × s, r × t, n, with r from the centre of a body to c.
//!
//! Points are midway between two surfaces, so they leave the plane by half the difference of their gaps. The plane goes
//! through the deepest one: points that carry forces have gaps that are almost zero.

use super::bodies::{BodyState, InverseMasses, Twists};
use super::{ManifoldConstraint, PointConstraint};
use crate::math::simd::{Lanes, V3, add, cross, dot, splat, sub, three, transposed};

/// One point of each of four manifolds. What the solve stage needs stands first, so that it reads half of the memory.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct BatchPoint {
    /// Place along s and t from the reference point.
    pub(super) x: Lanes,
    pub(super) y: Lanes,
    pub(super) gap: Lanes,
    /// One over the response of the normal row to itself; zero if the lane has no such point.
    pub(super) inv_normal: Lanes,
    /// How N responds to the normal impulse.
    pub(super) response: V3,
    /// Impulse along n, s, t in this substep.
    pub(super) impulse: V3,
    /// One over the larger eigenvalue of the tangential response.
    pub(super) inv_tangent: Lanes,
    /// The impulse over the step.
    pub(super) total: V3,
}

/// Four manifolds that share no body that moves. As in a point, what the solve stage needs stands first.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct ManifoldBatch {
    pub(super) a: [u32; 4],
    pub(super) b: [u32; 4],
    /// Its points among those of all batches.
    pub(super) first: u32,
    pub(super) count: u32,
    /// First point of each manifold in the problem, and its number of points.
    pub(super) sources: [u32; 4],
    pub(super) counts: [u8; 4],
    pub(super) n: V3,
    /// From the centres of the bodies to the reference point.
    arms: [V3; 2],
    /// (V_n, W_s, W_t) of the displacements since the step began.
    pub(super) displacement: V3,
    pub(super) s: V3,
    pub(super) t: V3,
    pub(super) friction: Lanes,
    pub(super) restitution: Lanes,
    /// u_s and u_t where the surfaces stick.
    pub(super) surface_velocity: [Lanes; 2],
    /// Columns of K_TN.
    pub(super) coupling: [V3; 3],
    /// K_TT: ss, tt, nn, st, sn, tn.
    tangent: [Lanes; 6],
}

/// Relative twist of two bodies at the reference point: of their velocities or displacements.
pub(super) struct RelativeTwist {
    V: V3,
    W: V3,
}

impl RelativeTwist {
    /// (V_n, W_s, W_t).
    #[inline(always)]
    pub(super) fn normal(&self, m: &ManifoldBatch) -> V3 {
        [dot(&m.n, &self.V), dot(&m.s, &self.W), dot(&m.t, &self.W)]
    }

    /// (V_s, V_t, W_n).
    #[inline(always)]
    pub(super) fn tangential(&self, m: &ManifoldBatch) -> V3 {
        [dot(&m.s, &self.V), dot(&m.t, &self.V), dot(&m.n, &self.W)]
    }
}

impl BatchPoint {
    /// The normal component at this point of what is (V_n, W_s, W_t).
    #[inline(always)]
    pub(super) fn along(&self, N: &V3) -> Lanes {
        self.y.mul_add(N[1], self.x.mul_neg_add(N[2], N[0]))
    }

    /// (u_s, u_t) of (V_s, V_t, W_n).
    #[inline(always)]
    pub(super) fn across(&self, T: &V3) -> [Lanes; 2] {
        [self.y.mul_neg_add(T[2], T[0]), self.x.mul_add(T[2], T[1])]
    }

    /// Adds a normal impulse to (P_n, L_s, L_t).
    #[inline(always)]
    pub(super) fn gather(&self, sum: &mut V3, p: Lanes) {
        sum[0] += p;
        sum[1] = self.y.mul_add(p, sum[1]);
        sum[2] = self.x.mul_neg_add(p, sum[2]);
    }
}

/// s and t across n with s × t = n: s lies in the plane of n and of the axis that n is farthest from. Empty lanes have n = 0
/// and the axis itself.
#[inline(always)]
fn tangents(n: &V3) -> (V3, V3) {
    let size = n.map(Lanes::abs);
    let (zero, one) = (Lanes::ZERO, Lanes::ONE);
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

/// One over a response where there is a point, zero elsewhere.
#[inline(always)]
fn inverse(present: Lanes, response: Lanes) -> Lanes {
    present / response.fast_max(splat(f64::MIN_POSITIVE))
}

/// The larger eigenvalue of the symmetric matrix with p and q on its diagonal and r beside it.
#[inline(always)]
fn larger_eigenvalue(p: Lanes, q: Lanes, r: Lanes) -> Lanes {
    let half = splat(0.5);
    let d = half * (p - q);
    half * (p + q) + d.mul_add(d, r * r).sqrt()
}

impl ManifoldBatch {
    /// Becomes the batch of four manifolds, whose points go to `points`, which stand at `first` among those of all batches.
    /// Everything is written where it stays: a copy of what has just been written would wait for it.
    pub(super) fn prepare(
        &mut self,
        four: &[&ManifoldConstraint; 4],
        bodies: &[BodyState],
        given: &[PointConstraint],
        first: u32,
        points: &mut [BatchPoint],
    ) {
        let own = four.map(|m| &given[m.first as usize..(m.first + m.count) as usize]);
        let none = PointConstraint::default();
        let deepest = own.map(|own| own.iter().reduce(|a, b| if b.gap() < a.gap() { b } else { a }));
        let center = three(transposed(&deepest.map(|c| c.unwrap_or(&none)), |c| &c.arm_gap));
        let [nx, ny, nz, friction] = transposed(four, |m| &m.normal_friction);
        let surface = three(transposed(four, |m| &m.surface_velocity));
        let [ax, ay, az, restitution] = transposed(four, |m| &m.offset_restitution);
        self.a = four.map(|m| m.bodies[0]);
        self.b = four.map(|m| m.bodies[1]);
        (self.first, self.count) = (first, points.len() as u32);
        self.sources = four.map(|m| m.first);
        self.counts = four.map(|m| m.count as u8);
        self.n = [nx, ny, nz];
        (self.s, self.t) = tangents(&self.n);
        self.arms = [center, add(&center, &[ax, ay, az])];
        self.displacement = [Lanes::ZERO; 3];
        (self.friction, self.restitution) = (friction, restitution);
        let along = |e: &V3| e[0] * surface[0] + e[1] * surface[1] + e[2] * surface[2];
        self.surface_velocity = [along(&self.s), along(&self.t)];
        let K_NN = self.respond(&InverseMasses::load(bodies, &self.a), &InverseMasses::load(bodies, &self.b));
        for (k, point) in points.iter_mut().enumerate() {
            let present = Lanes::new(own.map(|own| f64::from(u8::from(k < own.len()))));
            let at = own.map(|own| own.get(k).unwrap_or(&none));
            let [x, y, z, gap] = transposed(&at, |c| &c.arm_gap);
            let (from, p) = (sub(&[x, y, z], &center), three(transposed(&at, |c| &c.impulse)));
            (point.x, point.y) = (dot(&self.s, &from) * present, dot(&self.t, &from) * present);
            point.gap = gap;
            point.impulse = [dot(&self.n, &p).fast_max(Lanes::ZERO), dot(&self.s, &p), dot(&self.t, &p)];
            point.total = [Lanes::ZERO; 3];
            self.respond_point(&K_NN, present, point);
        }
    }

    /// K; the columns of K_NN are handed back.
    #[inline(always)]
    fn respond(&mut self, a: &InverseMasses, b: &InverseMasses) -> [V3; 3] {
        let mass = a.inv_mass + b.inv_mass;
        let zero = Lanes::ZERO;
        let mut K_NN = [[zero; 3]; 3];
        K_NN[0][0] = mass;
        self.tangent = [mass, mass, zero, zero, zero, zero];
        self.coupling = [[zero; 3]; 3];
        for (body, arm) in [(a, &self.arms[0]), (b, &self.arms[1])] {
            let up = [cross(arm, &self.n), self.s, self.t];
            let flat = [cross(arm, &self.s), cross(arm, &self.t), self.n];
            for (k, e) in up.iter().enumerate() {
                let turned = body.turn(e);
                for i in 0..3 {
                    K_NN[k][i] += dot(&up[i], &turned);
                    self.coupling[k][i] += dot(&flat[i], &turned);
                }
            }
            let turned = [body.turn(&flat[0]), body.turn(&flat[1]), body.turn(&flat[2])];
            for (k, (i, j)) in [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
                self.tangent[k] += dot(&flat[i], &turned[j]);
            }
        }
        K_NN
    }

    /// Responses of a point.
    #[inline(always)]
    fn respond_point(&self, K_NN: &[V3; 3], present: Lanes, c: &mut BatchPoint) {
        let (x, y) = (c.x, c.y);
        c.response = std::array::from_fn(|i| y.mul_add(K_NN[1][i], x.mul_neg_add(K_NN[2][i], K_NN[0][i])));
        c.inv_normal = inverse(present, c.along(&c.response));
        // Rows (1, 0, −y) and (0, 1, x) of K_TT.
        let [ss, tt, nn, st, sn, tn] = self.tangent;
        let p = ss - y * (sn + sn - y * nn);
        let q = tt + x * (tn + tn + x * nn);
        let r = st + x * sn - y * (tn + x * nn);
        c.inv_tangent = inverse(present, larger_eigenvalue(p, q, r));
    }

    /// (V_s, V_t, W_n) after changes of (P_s, P_t, L_n).
    #[inline(always)]
    pub(super) fn respond_tangential(&self, T: &V3, d_s: Lanes, d_t: Lanes, d_n: Lanes) -> V3 {
        let [ss, tt, nn, st, sn, tn] = self.tangent;
        [
            sn.mul_add(d_n, st.mul_add(d_t, ss.mul_add(d_s, T[0]))),
            tn.mul_add(d_n, tt.mul_add(d_t, st.mul_add(d_s, T[1]))),
            nn.mul_add(d_n, tn.mul_add(d_t, sn.mul_add(d_s, T[2]))),
        ]
    }

    /// Its places among the points of all batches.
    #[inline(always)]
    pub(super) fn points(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }

    /// Velocities of its bodies.
    #[inline(always)]
    pub(super) fn velocities(&self, bodies: &[BodyState]) -> [Twists; 2] {
        [Twists::velocities(bodies, &self.a), Twists::velocities(bodies, &self.b)]
    }

    #[inline(always)]
    pub(super) fn relative(&self, [a, b]: &[Twists; 2]) -> RelativeTwist {
        let at = |twist: &Twists, arm: &V3| add(&twist.linear, &cross(&twist.angular, arm));
        RelativeTwist { V: sub(&at(a, &self.arms[0]), &at(b, &self.arms[1])), W: sub(&a.angular, &b.angular) }
    }

    /// Takes the displacements of its bodies over.
    #[inline(always)]
    pub(super) fn follow(&mut self, bodies: &[BodyState]) {
        let moved = [Twists::displacements(bodies, &self.a), Twists::displacements(bodies, &self.b)];
        self.displacement = self.relative(&moved).normal(self);
    }

    /// A vector along n, s, t in world axes.
    #[inline(always)]
    pub(super) fn in_world(&self, p: &V3) -> V3 {
        std::array::from_fn(|i| p[2].mul_add(self.t[i], p[1].mul_add(self.s[i], p[0] * self.n[i])))
    }

    /// Applies (P_n, L_s, L_t) and (P_s, P_t, L_n) to the two bodies.
    #[inline(always)]
    pub(super) fn apply(&self, bodies: &[BodyState], ab: &mut [Twists; 2], normal: &V3, tangential: &V3) {
        let P = self.in_world(&[normal[0], tangential[0], tangential[1]]);
        let L = self.in_world(&[tangential[2], normal[1], normal[2]]);
        self.apply_wrench(bodies, ab, &P, &L);
    }

    /// Applies (P_n, L_s, L_t) alone.
    #[inline(always)]
    pub(super) fn apply_normal(&self, bodies: &[BodyState], ab: &mut [Twists; 2], normal: &V3) {
        let P = self.n.map(|n| normal[0] * n);
        let L = std::array::from_fn(|i| normal[2].mul_add(self.t[i], normal[1] * self.s[i]));
        self.apply_wrench(bodies, ab, &P, &L);
    }

    #[inline(always)]
    fn apply_wrench(&self, bodies: &[BodyState], [a, b]: &mut [Twists; 2], P: &V3, L: &V3) {
        a.apply(&InverseMasses::load(bodies, &self.a), P, &add(L, &cross(&self.arms[0], P)));
        let back = P.map(|p| -p);
        b.apply(&InverseMasses::load(bodies, &self.b), &back, &sub(&cross(&self.arms[1], &back), L));
    }

    /// The impulses as they are, on both bodies.
    #[inline(always)]
    pub(super) fn warm_start(&self, bodies: &[BodyState], points: &[BatchPoint], ab: &mut [Twists; 2]) {
        let mut normal = [Lanes::ZERO; 3];
        let mut tangential = normal;
        for c in points {
            c.gather(&mut normal, c.impulse[0]);
            let [_, p_s, p_t] = c.impulse;
            let moment = c.x.mul_add(p_t, c.y.mul_neg_add(p_s, tangential[2]));
            tangential = [tangential[0] + p_s, tangential[1] + p_t, moment];
        }
        self.apply(bodies, ab, &normal, &tangential);
    }

    /// Normal rates of its points into `rates`; returns the square of the fastest relative velocity.
    #[inline(always)]
    pub(super) fn measure(&self, points: &[BatchPoint], rates: &mut [Lanes], ab: &[Twists; 2]) -> Lanes {
        let u = self.relative(ab);
        let (N, T) = (u.normal(self), u.tangential(self));
        let mut fastest = Lanes::ZERO;
        for (c, rate) in points.iter().zip(rates) {
            let [u_s, u_t] = c.across(&T);
            let u = [c.along(&N), u_s, u_t];
            *rate = u[0];
            fastest = (c.inv_normal.simd_gt(Lanes::ZERO) & dot(&u, &u)).fast_max(fastest);
        }
        fastest
    }
}

#[cfg(test)]
mod tests {
    use super::super::SurfaceLaw;
    use super::super::bodies::vec3;
    use super::*;
    use crate::math::{Mat3, Random, Vec3, rotation::skew};

    fn lane(x: &V3) -> Vec3 {
        Vec3::from_fn(|i, _| x[i].to_array()[0])
    }

    /// Two random bodies behind the world, and a manifold of three points between them.
    struct Sample {
        bodies: Vec<BodyState>,
        manifold: ManifoldConstraint,
        points: Vec<PointConstraint>,
        masses: [(f64, Mat3); 2],
        offset: Vec3,
        /// Columns n, s, t.
        axes: Mat3,
    }

    fn sample(random: &mut Random) -> Sample {
        let mut vector = |size: f64| Vec3::from_fn(|_, _| random.between(-size, size));
        let masses = [0.5, 1.5].map(|inv_mass| {
            let M = Mat3::from_columns(&[vector(1.0), vector(1.0), vector(1.0)]);
            (inv_mass, M * M.transpose() + Mat3::identity())
        });
        let moving = masses.map(|(m, I)| BodyState::new(&vector(1.0), &vector(1.0), m, &I));
        let n = vector(1.0).normalize();
        let (s, t) = tangents(&[n.x, n.y, n.z].map(splat));
        let axes = Mat3::from_columns(&[n, lane(&s), lane(&t)]);
        let (center, offset) = (vector(1.0), vector(1.0));
        let points = [0.0, 1.0, 2.0].map(|k| {
            let at = vector(0.5);
            let arm = center + axes * Vec3::new(0.0, at.x, at.y);
            PointConstraint::new(&arm, -1e-3 * k, &(axes * Vec3::new(0.1 * k + 0.2, 0.05, -0.02)))
        });
        let law = SurfaceLaw { friction: 0.4, restitution: 0.0, velocity: Vec3::zeros() };
        Sample {
            bodies: vec![BodyState::default(), moving[0], moving[1]],
            manifold: ManifoldConstraint::new([1, 2], 0..3, &n, &offset, &law),
            points: points.to_vec(),
            masses,
            offset,
            axes,
        }
    }

    #[test]
    fn six_numbers_give_the_velocities_of_all_points_and_their_responses() {
        let mut random = Random::new(11);
        for _ in 0..200 {
            let Sample { bodies, manifold, points: given, masses, offset, axes } = sample(&mut random);
            assert!((axes.transpose() * axes - Mat3::identity()).norm() < 1e-15 && axes.determinant() > 0.0);
            let none = ManifoldConstraint::default();
            let (mut m, mut points) = (ManifoldBatch::default(), vec![BatchPoint::default(); 3]);
            m.prepare(&[&manifold, &none, &none, &none], &bodies, &given, 0, &mut points);
            let mut ab = m.velocities(&bodies);
            let seen = |ab: &[Twists; 2]| {
                let u = m.relative(ab);
                let (N, T) = (u.normal(&m), u.tangential(&m));
                let velocity = |c: &BatchPoint| {
                    let [u_s, u_t] = c.across(&T);
                    lane(&[c.along(&N), u_s, u_t])
                };
                (lane(&N), lane(&T), points.iter().map(velocity).collect::<Vec<_>>())
            };
            // Velocities of the points, from the bodies themselves.
            let (mut v, mut w) = ([1, 2].map(|k| vec3(&bodies[k].v)), [1, 2].map(|k| vec3(&bodies[k].w)));
            let relative = |v: &[Vec3; 2], w: &[Vec3; 2], c: &PointConstraint| {
                let arm = vec3(&c.arm_gap);
                axes.transpose() * (v[0] + w[0].cross(&arm) - v[1] - w[1].cross(&(arm + offset)))
            };
            let (N, T, before) = seen(&ab);
            for (u, c) in before.iter().zip(&given) {
                assert!((u - relative(&v, &w, c)).norm() < 1e-12);
            }
            // All impulses at once, by K and on the bodies themselves.
            m.warm_start(&bodies, &points, &mut ab);
            let (mut N_told, mut T_told) = (N, T);
            let coupling = Mat3::from_columns(&m.coupling.map(|c| lane(&c)));
            let [ss, tt, nn, st, sn, tn] = m.tangent.map(|k| k.to_array()[0]);
            let tangent = Mat3::new(ss, st, sn, st, tt, tn, sn, tn, nn);
            for (c, given) in points.iter().zip(&given) {
                let (p, x, y) = (lane(&c.impulse), c.x.to_array()[0], c.y.to_array()[0]);
                let normal = p[0] * Vec3::new(1.0, y, -x);
                let across = Vec3::new(p[1], p[2], x * p[2] - y * p[1]);
                N_told += p[0] * lane(&c.response) + coupling.transpose() * across;
                T_told += coupling * normal + tangent * across;
                let (arm, p) = (vec3(&given.arm_gap), given.impulse());
                for (k, p, arm) in [(0, p, arm), (1, -p, arm + offset)] {
                    v[k] += masses[k].0 * p;
                    w[k] += masses[k].1 * (skew(&arm) * p);
                }
            }
            let (N, T, after) = seen(&ab);
            assert!((N - N_told).norm() < 1e-11 * (1.0 + N_told.norm()), "{N:?} {N_told:?}");
            assert!((T - T_told).norm() < 1e-11 * (1.0 + T_told.norm()), "{T:?} {T_told:?}");
            for (u, c) in after.iter().zip(&given) {
                assert!((u - relative(&v, &w, c)).norm() < 1e-11, "{u:?}");
            }
        }
    }
}
