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
//! Balls and capsules need no search (see [`lines`](super::lines)).

use super::convex::Convex;
use super::gjk::{Found, Scratch, search};
use super::lines::{Closest, Line};
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
    if let (Some(a), Some(b)) = (Line::core_of(A), Line::core_of(B))
        && let Some(Closest { n, distance, on_b }) = a.closest_to(&b)
    {
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
        let gradient = P * w;
        if gradient.norm() <= 1e-15 * size {
            break;
        }
        let H = P * (A.curvature(&-n) + B.curvature(&n)) * P + P * s;
        // The rest of space gets a unit of stiffness; the gradient has no part there.
        let scale = H.amax().max(1e-300);
        let full = H + (Mat3::identity() - P) * scale;
        let Some(chol) = full.cholesky() else { break };
        let mut step = P * chol.solve(&gradient);
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
