//! What a visit does to the rows of a batch: the soft normal rows of the solve stage, the hard rows with friction of the
//! relax stage, and restitution.

use super::batch::{BatchPoint, ManifoldBatch};
use super::bodies::{BodyState, Twists};
use crate::math::simd::{Lanes, V3, add_scaled, splat};

/// Targets of normal rows in a substep of length δ. An overlap is a damped spring, followed implicitly (Catto 2011, "Soft
/// constraints").
#[derive(Debug, Clone, Copy)]
pub(super) struct NormalLaw {
    /// 1/δ \[1/s\].
    pub(super) inv_delta: f64,
    /// Overlaps part at this part of their depth per second \[1/s\], no faster than `push_speed` \[m/s\].
    pub(super) bias_rate: f64,
    pub(super) push_speed: f64,
    /// Overlaps below this are left \[m\].
    pub(super) slop: f64,
    /// Of a soft row: the share of a violation that one visit removes, and the share of the impulse that it keeps.
    pub(super) mass_scale: f64,
    pub(super) impulse_scale: f64,
}

impl NormalLaw {
    /// The soft normal row of a point with this gap and normal rate; returns how its impulse changes.
    #[inline(always)]
    fn soft(&self, c: &mut BatchPoint, gap: Lanes, rate: Lanes) -> Lanes {
        let apart = gap.simd_gt(Lanes::ZERO);
        let overlap = (-gap - splat(self.slop)).fast_max(Lanes::ZERO);
        let push = (overlap * splat(self.bias_rate)).fast_min(splat(self.push_speed));
        let target = apart.select(-(gap * splat(self.inv_delta)), push);
        let gain = apart.select(Lanes::ONE, splat(self.mass_scale)) * c.inv_normal;
        let keep = apart.select(Lanes::ONE, splat(self.impulse_scale));
        let p = (keep * c.impulse[0] - (rate - target) * gain).fast_max(Lanes::ZERO);
        let d = p - c.impulse[0];
        c.impulse[0] = p;
        d
    }

    /// The hard normal row of a point with this gap and normal rate; returns how its impulse changes.
    #[inline(always)]
    fn hard(&self, c: &mut BatchPoint, gap: Lanes, rate: Lanes) -> Lanes {
        let target = -(gap.fast_max(Lanes::ZERO) * splat(self.inv_delta));
        let p = (c.impulse[0] - (rate - target) * c.inv_normal).fast_max(Lanes::ZERO);
        let d = p - c.impulse[0];
        c.impulse[0] = p;
        d
    }
}

/// Friction of a point with these tangential velocities: a step of projected gradient, $p_t \leftarrow P(p_t - u_t/w)$, whose
/// fixed point obeys Coulomb's law with its round cone. Returns how its impulse changes.
#[inline(always)]
fn friction(m: &ManifoldBatch, c: &mut BatchPoint, [u_s, u_t]: [Lanes; 2]) -> [Lanes; 2] {
    let (u_s, u_t) = (u_s - m.surface_velocity[0], u_t - m.surface_velocity[1]);
    let [p_n, old_s, old_t] = c.impulse;
    let p_s = u_s.mul_neg_add(c.inv_tangent, old_s);
    let p_t = u_t.mul_neg_add(c.inv_tangent, old_t);
    let size = p_s.mul_add(p_s, p_t * p_t);
    let bound = m.friction * p_n;
    let within = bound * bound;
    let pressed = bound.simd_gt(Lanes::ZERO);
    // Most points stick, or do not press at all: only the others pay for root and quotient.
    let [p_s, p_t] = if (size.simd_le(within) | bound.simd_le(Lanes::ZERO)).all() {
        [p_s & pressed, p_t & pressed]
    } else {
        // 1 inside the disc, its radius over the distance outside.
        let reach = size.fast_max(within).fast_max(splat(f64::MIN_POSITIVE));
        let part = bound / reach.sqrt();
        [p_s * part, p_t * part]
    };
    c.impulse = [p_n, p_s, p_t];
    [p_s - old_s, p_t - old_t]
}

/// How far changes of the impulse of a point move its relative velocity; absent points change by zero.
#[inline(always)]
fn moved(c: &BatchPoint, d_n: Lanes, [d_s, d_t]: [Lanes; 2]) -> Lanes {
    let over = |d: Lanes, inv: Lanes| d / inv.fast_max(splat(f64::MIN_POSITIVE));
    over(d_n.abs(), c.inv_normal).fast_max(over(d_s.abs() + d_t.abs(), c.inv_tangent))
}

impl ManifoldBatch {
    /// Solve stage: the normal rows alone. What is apart may close, overlaps are parted by a damped spring.
    #[inline(always)]
    pub(super) fn solve(
        &self,
        law: &NormalLaw,
        bodies: &[BodyState],
        points: &mut [BatchPoint],
        ab: &mut [Twists; 2],
    ) {
        let mut N = self.relative(ab).normal(self);
        let mut sum = [Lanes::ZERO; 3];
        for c in points {
            let d = law.soft(c, c.gap + c.along(&self.displacement), c.along(&N));
            N = add_scaled(&N, d, &c.response);
            c.gather(&mut sum, d);
        }
        self.apply_normal(bodies, ab, &sum);
    }

    /// Relax stage: all normal rows without bias, then friction of all points by the normal impulses found. Impulses are added
    /// to the totals if `count`. If `MEASURE`, returns the largest change of a relative velocity.
    #[inline(always)]
    pub(super) fn relax<const MEASURE: bool>(
        &self,
        law: &NormalLaw,
        count: bool,
        bodies: &[BodyState],
        points: &mut [BatchPoint],
        ab: &mut [Twists; 2],
    ) -> Lanes {
        let u = self.relative(ab);
        let (mut N, mut T) = (u.normal(self), u.tangential(self));
        let mut most = Lanes::ZERO;
        let mut normal = [Lanes::ZERO; 3];
        for c in points.iter_mut() {
            let d = law.hard(c, c.gap + c.along(&self.displacement), c.along(&N));
            N = add_scaled(&N, d, &c.response);
            c.gather(&mut normal, d);
            if MEASURE {
                most = moved(c, d, [Lanes::ZERO; 2]).fast_max(most);
            }
        }
        for (k, column) in self.coupling.iter().enumerate() {
            T = add_scaled(&T, normal[k], column);
        }
        let share = splat(f64::from(u8::from(count)));
        let mut tangential = [Lanes::ZERO; 3];
        for c in points {
            let [d_s, d_t] = friction(self, c, c.across(&T));
            c.total = add_scaled(&c.total, share, &c.impulse);
            let d_n = c.x.mul_add(d_t, -(c.y * d_s));
            T = self.respond_tangential(&T, d_s, d_t, d_n);
            tangential = [tangential[0] + d_s, tangential[1] + d_t, tangential[2] + d_n];
            if MEASURE {
                most = moved(c, Lanes::ZERO, [d_s, d_t]).fast_max(most);
            }
        }
        self.apply(bodies, ab, &normal, &tangential);
        most
    }

    /// Points that closed faster than `threshold` before the step, and pressed, leave as their restitution says.
    #[inline(always)]
    pub(super) fn apply_restitution(
        &self,
        threshold: f64,
        before: &[Lanes],
        bodies: &[BodyState],
        points: &mut [BatchPoint],
        ab: &mut [Twists; 2],
    ) {
        let mut N = self.relative(ab).normal(self);
        let mut sum: V3 = [Lanes::ZERO; 3];
        for (c, before) in points.iter_mut().zip(before) {
            let wanted = -(self.restitution * *before) - c.along(&N);
            let p = (wanted * c.inv_normal).fast_max(Lanes::ZERO);
            let fast = before.simd_lt(splat(-threshold)) & c.total[0].simd_gt(Lanes::ZERO);
            let p = p & fast & self.restitution.simd_gt(Lanes::ZERO);
            c.total[0] += p;
            N = add_scaled(&N, p, &c.response);
            c.gather(&mut sum, p);
        }
        self.apply(bodies, ab, &sum, &[Lanes::ZERO; 3]);
    }
}
