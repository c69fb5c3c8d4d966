//! Filters: directions in which a point may not move, and points with prescribed motion.
//!
//! The filter C is an orthogonal projector on velocity space, block-diagonal with one 3×3 block per filtered point:
//! $C_i = I - N_i N_i^T$ with the columns of $N_i$ an orthonormal basis of all directions that any filter forbids
//! at point i. Because the blocks are made from the *span* of the forbidden directions, filters compose in any
//! order, and $C^2 = C$, $C^T = C$ hold to rounding. Book: "Mappings and filters".
//!
//! A point with prescribed motion is fully filtered, and its position and velocity are given functions of time.

use std::sync::Arc;

use crate::math::rotation::exp;
use crate::math::{Mat3, Quat, Signal, Vec3, across, set_triple, triple};

/// Displacement \[m\] and velocity \[m/s\] as functions of time \[s\].
pub type MotionClosure = dyn Fn(f64) -> (Vec3, Vec3) + Send + Sync;

/// How a prescribed point moves relative to where the scene put it.
#[derive(Clone)]
pub enum Motion {
    /// Constant velocity \[m/s\].
    Velocity(Vec3),
    /// Displacement `amplitude`·s(t) \[m\].
    Signal {
        /// Displacement at s = 1 \[m\].
        amplitude: Vec3,
        /// Factor s(t).
        signal: Signal,
    },
    /// As one stiff body.
    Ride(Ride),
    /// A user's function.
    Closure(Arc<MotionClosure>),
}

/// How a body is carried about: a shift $c(t)$ of its centre and a turn about it,
///
/// $$ x(t) = x_0 + c(t) + \big(e^{[\omega]\tau} - 1\big)(x_0 - o),\qquad
///    c(t) = \mathrm{path}(t) + \tau v,\qquad \tau = \min(\max(t, t_0), t_1) - t_0, $$
///
/// with the centre o at the start. The columns of an affine body turn and do not shift.
#[derive(Debug, Clone, PartialEq)]
pub struct Ride {
    /// Velocity v of the centre \[m/s\].
    pub velocity: Vec3,
    /// Angular velocity ω, world axes \[rad/s\].
    pub angular_velocity: Vec3,
    /// The centre o at the start \[m\]; if none is given, that of an affine body, and the origin for particles.
    pub center: Option<Vec3>,
    /// Velocities hold from t₀ to t₁ \[s\]; t₁ may be infinite.
    pub span: [f64; 2],
    /// Times \[s\], rising, and shifts of the centre \[m\]: straight lines between them, constant before and after. May
    /// be empty.
    pub path: Vec<(f64, Vec3)>,
}

impl Default for Ride {
    fn default() -> Self {
        Self {
            velocity: Vec3::zeros(),
            angular_velocity: Vec3::zeros(),
            center: None,
            span: [0.0, f64::INFINITY],
            path: Vec::new(),
        }
    }
}

impl Ride {
    /// Displacement \[m\] and velocity \[m/s\] at time t of a point at `arm` from the centre \[m\]; `shifts` is false for
    /// the columns of an affine body.
    pub fn at(&self, t: f64, arm: &Vec3, shifts: bool) -> (Vec3, Vec3) {
        let [from, until] = self.span;
        let past = t.min(until).max(from) - from;
        let on = f64::from(u8::from(t >= from && t < until));
        let turned = exp(&(self.angular_velocity * past)) * arm;
        let mut place = turned - arm;
        let mut rate = self.angular_velocity.cross(&turned) * on;
        if shifts {
            let (shift, speed) = self.along(t);
            place += past * self.velocity + shift;
            rate += on * self.velocity + speed;
        }
        (place, rate)
    }

    /// How far it has turned at time t, and its angular velocity \[rad/s\] then.
    pub fn turn(&self, t: f64) -> (Quat, Vec3) {
        let [from, until] = self.span;
        let on = f64::from(u8::from(t >= from && t < until));
        (exp(&(self.angular_velocity * (t.min(until).max(from) - from))), self.angular_velocity * on)
    }

    /// Shift and its rate along the path.
    fn along(&self, t: f64) -> (Vec3, Vec3) {
        let next = self.path.partition_point(|p| p.0 <= t);
        match (next.checked_sub(1).map(|k| self.path[k]), self.path.get(next).copied()) {
            (None, None) => (Vec3::zeros(), Vec3::zeros()),
            (None, Some((_, only))) | (Some((_, only)), None) => (only, Vec3::zeros()),
            (Some((t0, a)), Some((t1, b))) => {
                let rate = (b - a) / (t1 - t0);
                (a + (t - t0) * rate, rate)
            }
        }
    }

    /// What is wrong with it: the key and a sentence.
    pub(crate) fn defect(&self) -> Option<(&'static str, String)> {
        let finite = |v: &Vec3| v.iter().all(|x| x.is_finite());
        if !finite(&self.velocity) {
            return Some(("velocity", "must be finite".into()));
        }
        if !finite(&self.angular_velocity) {
            return Some(("angular_velocity", "must be finite".into()));
        }
        if self.center.is_some_and(|c| !finite(&c)) {
            return Some(("center", "must be finite".into()));
        }
        let [from, until] = self.span;
        if !(from.is_finite() && from <= until) {
            return Some(("until", format!("is {until} s, but must not be before {from} s")));
        }
        if !self.path.iter().all(|(t, x)| t.is_finite() && finite(x)) {
            return Some(("path", "must be finite".into()));
        }
        let back = self.path.windows(2).find(|w| !(w[0].0 < w[1].0))?;
        Some(("path", format!("its times must rise, but {} s follows {} s", back[1].0, back[0].0)))
    }
}

impl std::fmt::Debug for Motion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Motion::Velocity(v) => write!(f, "Velocity({v:?})"),
            Motion::Signal { amplitude, signal } => write!(f, "Signal({amplitude:?}, {signal:?})"),
            Motion::Ride(ride) => write!(f, "{ride:?}"),
            Motion::Closure(_) => write!(f, "Closure(..)"),
        }
    }
}

impl Motion {
    /// Displacement \[m\] and velocity \[m/s\] at time t; of a [`Ride`], those of its centre.
    pub fn at(&self, t: f64) -> (Vec3, Vec3) {
        match self {
            Motion::Velocity(v) => (v * t, *v),
            Motion::Signal { amplitude, signal } => (amplitude * signal.value(t), amplitude * signal.rate(t)),
            Motion::Ride(ride) => ride.at(t, &Vec3::zeros(), true),
            Motion::Closure(f) => f(t),
        }
    }
}

/// A point with prescribed motion.
#[derive(Debug, Clone)]
struct Prescribed {
    point: u32,
    start: Vec3,
    motion: Motion,
}

/// All filters of a model.
#[derive(Debug, Clone, Default)]
pub struct Filters {
    /// Point and its block C_i, sorted by point.
    blocks: Vec<(u32, Mat3)>,
    /// Sorted by point.
    prescribed: Vec<Prescribed>,
}

impl Filters {
    /// Forbids the directions spanned by `directions` at a point; none given means all.
    pub fn forbid(&mut self, point: usize, directions: &[Vec3]) {
        let at = match self.blocks.binary_search_by_key(&(point as u32), |b| b.0) {
            Ok(at) => at,
            Err(at) => {
                self.blocks.insert(at, (point as u32, Mat3::identity()));
                at
            }
        };
        let block = &mut self.blocks[at].1;
        if directions.is_empty() {
            *block = Mat3::zeros();
        }
        for d in directions {
            // What is left of the direction after the ones already forbidden; C (C n) twice for orthogonality.
            let rest = *block * (*block * d.normalize());
            if rest.norm() > 1e-9 {
                *block = *block * across(&rest.normalize()) * *block;
            }
        }
        // A projector onto less than a line is zero exactly.
        if block.trace() < 0.5 {
            *block = Mat3::zeros();
        }
    }

    /// Prescribes the motion of a point, starting from `start` \[m\].
    pub fn prescribe(&mut self, point: usize, start: Vec3, motion: Motion) {
        self.forbid(point, &[]);
        let at = self.prescribed.partition_point(|p| p.point < point as u32);
        self.prescribed.insert(at, Prescribed { point: point as u32, start, motion });
    }

    /// Points with a prescribed motion, in rising order; a point may appear twice.
    pub fn prescribed_points(&self) -> impl Iterator<Item = usize> + '_ {
        self.prescribed.iter().map(|p| p.point as usize)
    }

    /// C_i of a filtered point; `None` if the point is free.
    pub fn block(&self, point: usize) -> Option<Mat3> {
        let at = self.blocks.binary_search_by_key(&(point as u32), |b| b.0).ok()?;
        Some(self.blocks[at].1)
    }

    /// Number of filtered points.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// True if nothing is filtered.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Number of directions taken away from the motion.
    pub fn directions(&self) -> usize {
        self.blocks.iter().map(|(_, c)| (3.0 - c.trace()).round() as usize).sum()
    }

    /// y ← C y on a velocity-like slice over points `first`, `first + 1`, ….
    pub fn apply(&self, first: usize, y: &mut [f64]) {
        let end = first + y.len() / 3;
        let from = self.blocks.partition_point(|b| (b.0 as usize) < first);
        for (i, block) in self.blocks[from..].iter().take_while(|b| (b.0 as usize) < end) {
            let i = *i as usize - first;
            let value = block * triple(y, i);
            set_triple(y, i, &value);
        }
    }

    /// v ← C v, again and again until it changes nothing but rounding, and then not at all: a velocity that is allowed
    /// already keeps its bits, so doing this twice is doing it once, exactly. `v` is a slice over all points.
    pub fn settle(&self, v: &mut [f64]) {
        for (i, block) in &self.blocks {
            let mut y = triple(v, *i as usize);
            // The first round may leave only rounding of what was forbidden, the second removes that.
            for _ in 0..4 {
                let next = block * y;
                if (next - y).norm() <= 8.0 * f64::EPSILON * y.norm() {
                    break;
                }
                y = next;
            }
            set_triple(v, *i as usize, &y);
        }
    }

    /// Puts prescribed points where they are at time t; x and v are slices over all points.
    pub fn prescribe_at(&self, t: f64, x: &mut [f64], v: &mut [f64]) {
        for p in &self.prescribed {
            let (shift, velocity) = p.motion.at(t);
            set_triple(x, p.point as usize, &(p.start + shift));
            set_triple(v, p.point as usize, &velocity);
        }
    }

    /// Places of prescribed points at time t \[m\], later entries last.
    pub(crate) fn prescribed_places(&self, t: f64) -> impl Iterator<Item = (usize, Vec3)> + '_ {
        self.prescribed.iter().map(move |p| (p.point as usize, p.start + p.motion.at(t).0))
    }

    /// Velocities of prescribed points at time t \[m/s\], later entries last.
    pub(crate) fn prescribed_velocities(&self, t: f64) -> impl Iterator<Item = (usize, Vec3)> + '_ {
        self.prescribed.iter().map(move |p| (p.point as usize, p.motion.at(t).1))
    }

    /// True if all prescribed points have a finite place and velocity at time t.
    pub(crate) fn prescribed_finite(&self, t: f64) -> bool {
        self.prescribed.iter().all(|p| {
            let (shift, velocity) = p.motion.at(t);
            (p.start + shift).iter().chain(velocity.iter()).all(|x| x.is_finite())
        })
    }

    /// y ← 0 at prescribed points: the rate of a coordinate that is not a state.
    pub fn clear_prescribed(&self, y: &mut [f64]) {
        for p in &self.prescribed {
            set_triple(y, p.point as usize, &Vec3::zeros());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_compose_in_any_order_and_are_projectors() {
        let n = [Vec3::new(1.0, 2.0, -0.5), Vec3::new(0.3, -1.0, 2.0)];
        let (mut a, mut b) = (Filters::default(), Filters::default());
        a.forbid(4, &n);
        b.forbid(4, &[n[1]]);
        b.forbid(4, &[n[0]]);
        b.forbid(4, &[n[0] + n[1]]);
        let (ca, cb) = (a.blocks[0].1, b.blocks[0].1);
        assert!((ca - cb).norm() < 1e-14);
        assert!((ca * ca - ca).norm() < 1e-15 && (ca - ca.transpose()).norm() < 1e-15);
        assert!((ca * n[0]).norm() < 1e-14 && (ca * n[1]).norm() < 1e-14);
        assert_eq!(a.directions(), 2);
        a.forbid(4, &[Vec3::new(0.0, 0.0, 1.0)]);
        assert_eq!(a.blocks[0].1, Mat3::zeros());
    }

    #[test]
    fn the_velocity_of_a_ride_is_the_rate_of_its_place() {
        let ride = Ride {
            velocity: Vec3::new(0.3, -1.0, 0.2),
            angular_velocity: Vec3::new(2.0, 1.0, -3.0),
            span: [0.2, 0.9],
            path: vec![(0.0, Vec3::zeros()), (0.5, Vec3::x()), (0.8, Vec3::new(1.0, 2.0, 0.0))],
            ..Ride::default()
        };
        let arm = Vec3::new(0.5, 0.1, 0.7);
        for t in [0.1, 0.3, 0.6, 0.85, 1.2] {
            for shifts in [true, false] {
                let at = |t: f64| ride.at(t, &arm, shifts).0;
                let rate = (at(t + 1e-5) - at(t - 1e-5)) / 2e-5;
                assert!((rate - ride.at(t, &arm, shifts).1).norm() < 1e-8, "at {t}");
                // Distances from the centre stay.
                assert!(
                    ((at(t) - ride.at(t, &Vec3::zeros(), shifts).0 + arm).norm() - arm.norm()).abs() < 1e-14
                );
            }
        }
        assert_eq!(ride.at(5.0, &Vec3::zeros(), true).0, 0.7 * ride.velocity + Vec3::new(1.0, 2.0, 0.0));
    }

    #[test]
    fn settling_twice_is_settling_once_to_the_bit() {
        let mut random = crate::math::Random::new(4);
        let mut one = || random.between(-1.0, 1.0);
        for _ in 0..2000 {
            let n = Vec3::new(one(), one(), one());
            let mut filters = Filters::default();
            filters.forbid(0, &[n]);
            // Also velocities that are almost all forbidden.
            let rest = Vec3::new(one(), one(), one()) * 10f64.powf(8.0 * one() - 8.0);
            let mut once = (n + rest).as_slice().to_vec();
            filters.settle(&mut once);
            let mut twice = once.clone();
            filters.settle(&mut twice);
            assert_eq!(once, twice);
            // 8 ε is what settling lets pass, and the dot product rounds as well.
            assert!(triple(&once, 0).dot(&n.normalize()).abs() <= 4e-15 * triple(&once, 0).norm());
        }
    }
}
