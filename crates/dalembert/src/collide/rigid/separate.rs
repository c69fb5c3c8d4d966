//! The direction of largest separation, exact to rounding.
//!
//! A search gives a direction near the best one. Which features define the best one can then be guessed: a face of
//! either, a straight line of each, a straight line of one and a curved (or pointed) place of the other, two curved
//! places. Each guess is a small problem solved exactly:
//!
//! - a face: its normal;
//! - lines e and f: ±(e × f)/|e × f|;
//! - the side of a cone and a line: of the circle of its normals the two across the line;
//! - the side of a cone and a point: the normal over which the point stands;
//! - otherwise Newton's method for the largest s(n) on the unit sphere, or on its circle across e. With
//!   w = a(n) − b(n) the difference of the support points, ∇s = w, and with P = 1 − n nᵀ (− e eᵀ) a step is
//!   $ \delta = (P(H_A + H_B)P + s)^{-1} P w $, H the second derivatives of the support functions.
//!
//! Since **any** n gives a lower bound s(n), the guess with the largest s wins and a wrong guess does no harm.
//!
//! Balls and capsules need no search. With the centres $c_a, c_b$, unit axes u, v and $r = c_a - c_b$ the nearest points
//! $c_a + x u$ and $c_b + y v$ of two lines have $x = u\cdot v\,y - u\cdot r$ and $y = u\cdot v\,x + v\cdot r$, and within their
//! lengths one after the other is cut off to its own: the way between them is n.

use super::convex::{Convex, Core};
use super::gjk::{Found, Scratch, search};
use crate::math::{Mat3, Vec3, outer};

/// Which features define a direction, in the frames of their owners, so that it can be asked again after they moved.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) enum Features {
    /// A direction of the world.
    #[default]
    Free,
    FaceA(Vec3),
    FaceB(Vec3),
    Edges(Vec3, Vec3),
}

/// The best direction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Separation {
    /// Unit, from b towards a.
    pub(super) n: Vec3,
    /// Distance \[m\], or minus the depth.
    pub(super) s: f64,
    pub(super) features: Features,
    /// Points of both surfaces that are nearest to each other, if the cores are apart.
    pub(super) nearest: Option<(Vec3, Vec3)>,
}

/// s(n) of the cores.
pub(super) fn along(A: &Convex, B: &Convex, n: &Vec3) -> f64 {
    n.dot(&(A.support(&-n) - B.support(n)))
}

impl Features {
    /// s of the whole shapes along what separated them before; −∞ if that says nothing.
    pub(super) fn again(&self, A: &Convex, B: &Convex, n: &Vec3) -> f64 {
        let n = match self {
            Self::Free => *n,
            Self::FaceA(m) => -(A.frame.R * m),
            Self::FaceB(m) => B.frame.R * m,
            Self::Edges(e, f) => match (A.frame.R * e).cross(&(B.frame.R * f)).try_normalize(1e-6) {
                Some(m) if m.dot(n) < 0.0 => -m,
                Some(m) => m,
                None => return f64::NEG_INFINITY,
            },
        };
        along(A, B, &n) - A.radius - B.radius
    }
}

/// The largest s over all directions; `None` if it is beyond `margin`, with the direction that shows it in `far`.
pub(super) fn separate(
    A: &Convex,
    B: &Convex,
    margin: f64,
    scratch: &mut Scratch,
    far: &mut Vec3,
) -> Option<Separation> {
    let radii = A.radius + B.radius;
    if let Some((n, distance, on_b)) = between_lines(A, B) {
        let s = distance - radii;
        if !(s <= margin) {
            *far = n;
            return None;
        }
        let nearest = Some((on_b + n * (distance - A.radius), on_b + n * B.radius));
        return Some(Separation { n, s, features: Features::Free, nearest });
    }
    let (n, nearest) = match search(A, B, margin + radii, scratch) {
        Found::Far { n } => {
            *far = n;
            return None;
        }
        Found::Apart { n, a, b } => (n, Some((a - n * A.radius, b + n * B.radius))),
        Found::Overlap { n } => {
            // A flat difference has two normals; the better one.
            let flip = along(A, B, &-n) > along(A, B, &n);
            (if flip { -n } else { n }, None)
        }
    };
    let (n, s, features) = sharpen(A, B, n, nearest.is_some());
    let s = s - radii;
    if !(s <= margin) {
        *far = n;
        return None;
    }
    Some(Separation { n, s, features, nearest })
}

/// Cores nearer than this part of their size count as meeting: the way between them has lost its direction.
const MEETING: f64 = 1e-6;

/// Lines whose directions have a smaller sine than the root of this are side by side to rounding. All others are nearest where
/// the formula says, or at an end, however little they are tilted.
const SIDE_BY_SIDE: f64 = 1e-26;

/// The direction from the core of b to that of a, their distance and the nearest point of b's, if both are points or lines that
/// do not meet.
fn between_lines(A: &Convex, B: &Convex) -> Option<(Vec3, f64, Vec3)> {
    let half = |C: &Convex| match C.core {
        Core::Point => Some(0.0),
        Core::Segment(half) => Some(half),
        _ => None,
    };
    let (h, k) = (half(A)?, half(B)?);
    let (u, v): (Vec3, Vec3) = (A.frame.R.column(2).into(), B.frame.R.column(2).into());
    let r = A.frame.x - B.frame.x;
    let (b, d, e) = (u.dot(&v), u.dot(&r), v.dot(&r));
    let across = u.cross(&v).norm_squared();
    let x = if h == 0.0 {
        0.0
    } else if across > SIDE_BY_SIDE {
        ((b * e - d) / across).clamp(-h, h)
    } else {
        // Side by side: the middle of what they share.
        let reach = k * b.abs();
        let (low, high) = ((-d - reach).max(-h), (-d + reach).min(h));
        (0.5 * (low + high)).clamp(-h, h)
    };
    let y = (b * x + e).clamp(-k, k);
    let x = (b * y - d).clamp(-h, h);
    let (on_a, on_b) = (A.frame.x + x * u, B.frame.x + y * v);
    let way = on_a - on_b;
    let distance = way.norm();
    if x.abs() < h && y.abs() < k && across > 1e-10 {
        // Two lines: the direction across both is known to rounding however near they are.
        let m = u.cross(&v) / across.sqrt();
        let n = if m.dot(&r) < 0.0 { -m } else { m };
        let distance = n.dot(&r);
        return (distance > MEETING * (h + k)).then_some((n, distance, on_b));
    }
    (distance > MEETING * (h + k) && distance > 1e-150).then(|| (way / distance, distance, on_b))
}

/// The best of the guesses around `start`.
fn sharpen(A: &Convex, B: &Convex, start: Vec3, apart: bool) -> (Vec3, f64, Features) {
    let size = A.size() + B.size();
    let (flat_a, flat_b) = (A.flats(&-start), B.flats(&start));
    let mut best = (start, f64::NEG_INFINITY, Features::Free);
    // Guesses come in the order of trust; a later one must be better by more than rounding.
    let mut consider = |n: Vec3, features: Features, bonus: f64| {
        let s = along(A, B, &n);
        if s > best.1 + bonus * size {
            best = (n, s, features);
        }
    };
    if let Some(m) = flat_a.face {
        consider(-m, Features::FaceA(A.frame.R.tr_mul(&m)), 0.0);
    }
    if let Some(m) = flat_b.face {
        consider(m, Features::FaceB(B.frame.R.tr_mul(&m)), 1e-13);
    }
    for e in flat_a.edges() {
        for f in flat_b.edges() {
            let Some(m) = e.cross(f).try_normalize(1e-5) else { continue };
            let m = if m.dot(&start) < 0.0 { -m } else { m };
            consider(m, Features::Edges(A.frame.R.tr_mul(e), B.frame.R.tr_mul(f)), 1e-11);
        }
    }
    for f in flat_b.edges() {
        A.side_normals(f).into_iter().flatten().for_each(|m| consider(-m, Features::Free, 1e-12));
    }
    for e in flat_a.edges() {
        B.side_normals(e).into_iter().flatten().for_each(|m| consider(m, Features::Free, 1e-12));
    }
    if let Some(m) = A.side_towards(B) {
        consider(-m, Features::Free, 1e-12);
    }
    if let Some(m) = B.side_towards(A) {
        consider(m, Features::Free, 1e-12);
    }
    let curved = !(A.is_flat() && B.is_flat());
    if curved || apart {
        // Flat shapes that overlap are best at a face or at two edges.
        for e in flat_a.edges().iter().chain(flat_b.edges()) {
            consider(newton(A, B, start, Some(e)), Features::Free, 1e-12);
        }
        consider(newton(A, B, start, None), Features::Free, 1e-12);
    }
    consider(start, Features::Free, 1e-11);
    best
}

/// Newton's method for the largest s, across `edge` if one is given.
fn newton(A: &Convex, B: &Convex, start: Vec3, edge: Option<&Vec3>) -> Vec3 {
    let bound = |n: Vec3| match edge {
        Some(e) => (n - e * e.dot(&n)).normalize(),
        None => n,
    };
    let mut n = bound(start);
    let mut w = A.support(&-n) - B.support(&n);
    let mut s = n.dot(&w);
    let size = A.size() + B.size();
    for _ in 0..12 {
        let mut P = Mat3::identity() - outer(&n, &n);
        if let Some(e) = edge {
            P -= outer(e, e);
        }
        let slope = P * w;
        if slope.norm() <= 1e-15 * size {
            break;
        }
        let H = P * (A.curvature(&-n) + B.curvature(&n)) * P + P * s;
        // The rest of space gets a unit of stiffness; the slope has no part there.
        let scale = H.amax().max(1e-300);
        let full = H + (Mat3::identity() - P) * scale;
        let Some(chol) = full.cholesky() else { break };
        let mut step = P * chol.solve(&slope);
        if step.norm() > 0.5 {
            step *= 0.5 / step.norm();
        }
        // Halved until s grows.
        let mut moved = None;
        for _ in 0..6 {
            let next = bound((n + step).normalize());
            let w_next = A.support(&-next) - B.support(&next);
            let s_next = next.dot(&w_next);
            if s_next > s {
                moved = Some((next, w_next, s_next));
                break;
            }
            step *= 0.5;
        }
        let Some((next, w_next, s_next)) = moved else { break };
        let gained = s_next - s;
        (n, w, s) = (next, w_next, s_next);
        if gained <= 1e-16 * size {
            break;
        }
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collide::rigid::geometry::Frame;
    use crate::math::Quat;

    #[test]
    fn no_two_points_of_balls_and_capsules_are_nearer_than_the_nearest() {
        let mut seed = 7u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
        };
        let rotation = |w: Vec3| Quat::new(w).to_rotation_matrix().into_inner();
        let mut compared = 0;
        for k in 0..4_000 {
            let mut turn = |like: Option<Mat3>| match like {
                // Side by side, exactly or nearly.
                Some(R) => rotation(Vec3::new(next(), next(), next()) * [0.0, 1e-9, 1e-4][k % 3]) * R,
                None => rotation(3.0 * Vec3::new(next(), next(), next())),
            };
            let first = turn(None);
            let second = turn((k % 4 == 0).then_some(first));
            let mut shape = |R: Mat3| {
                let core = if k % 7 == 0 { Core::Point } else { Core::Segment(0.1 + next().abs()) };
                Convex { core, frame: Frame { x: Vec3::new(next(), next(), next()), R }, radius: 0.1 }
            };
            let (A, B) = (shape(first), shape(second));
            let Some((n, distance, on_b)) = between_lines(&A, &B) else { continue };
            // n separates by the distance, and two points are that near: neither can be better.
            assert!((n.norm() - 1.0).abs() < 1e-14 && distance > 0.0);
            let lost = 1e-14 + 1e-15 / distance;
            assert!((along(&A, &B, &n) - distance).abs() < lost, "{k}: {} {distance}", along(&A, &B, &n));
            let inside = |C: &Convex, p: &Vec3| {
                let local = C.frame.R.tr_mul(&(p - C.frame.x));
                let half = if let Core::Segment(half) = C.core { half } else { 0.0 };
                local.x.hypot(local.y) < 1e-14 && local.z.abs() < half + 1e-14
            };
            assert!(inside(&B, &on_b) && inside(&A, &(on_b + n * distance)), "{k} {distance}");
            compared += 1;
        }
        assert!(compared > 3_900, "{compared}");
    }
}
