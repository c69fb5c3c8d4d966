//! Balls and capsules: all that is within a radius of a point or a segment. Robots are made of them more than of anything else.
//!
//! They need no search. With the centres $c_a, c_b$, unit axes u, v and $r = c_a - c_b$ the nearest points
//! $c_a + x u$ and $c_b + y v$ of two lines have $x = u\cdot v\,y - u\cdot r$ and $y = u\cdot v\,x + v\cdot r$, and within their
//! lengths one after the other is cut off to its own: the line between them is along n. Along any n, with the half lengths h, k and the
//! radii, $s(n) = n\cdot r - h|n\cdot u| - k|n\cdot v| - r_a - r_b$.

use super::clip::segments;
use super::convex::{Convex, Core};
use super::geometry::{Frame, Geometry};
use super::{Manifold, Touch};
use crate::math::Vec3;

/// A ball, of half length zero, or a capsule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    center: Vec3,
    /// Unit.
    axis: Vec3,
    /// Half of the length of the segment \[m\].
    half: f64,
    radius: f64,
}

/// The closest points of two segments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Closest {
    /// Direction from b to a.
    pub(super) n: Vec3,
    /// Distance \[m\].
    pub(super) distance: f64,
    /// The point on b.
    pub(super) on_b: Vec3,
}

/// Segments nearer than this part of their size count as meeting: the line between them has lost its direction.
const MEETING: f64 = 1e-6;

/// Lines whose directions have a smaller sine than the root of this are side by side to rounding. All others are nearest where
/// the formula says, or at an end, however little they are tilted.
const SIDE_BY_SIDE: f64 = 1e-26;

/// A segment whose direction has a smaller cosine with the normal touches with its side, others with an end.
const SIDE: f64 = 0.2;

impl Line {
    /// `None` for other shapes.
    #[inline(always)]
    pub(super) fn of(shape: &Geometry, frame: &Frame) -> Option<Self> {
        let (half, radius) = match shape {
            Geometry::Sphere { radius } => (0.0, *radius),
            Geometry::Capsule { radius, half_length } => (*half_length, *radius),
            _ => return None,
        };
        Some(Self { center: frame.x, axis: frame.R.column(2).into(), half, radius })
    }

    /// What is inside of the radius, if that is a point or a segment.
    pub(super) fn core_of(shape: &Convex) -> Option<Self> {
        let half = match shape.core {
            Core::Point => 0.0,
            Core::Segment(half) => half,
            _ => return None,
        };
        Some(Self { center: shape.frame.x, axis: shape.frame.R.column(2).into(), half, radius: 0.0 })
    }

    /// s(n) of two of them, radii included.
    #[inline(always)]
    pub(super) fn apart(&self, b: &Self, n: &Vec3) -> f64 {
        let reach = self.half * n.dot(&self.axis).abs() + b.half * n.dot(&b.axis).abs();
        n.dot(&(self.center - b.center)) - reach - self.radius - b.radius
    }

    /// The closest points of the segment of b and the own; `None` if they meet.
    #[inline(always)]
    pub(super) fn closest_to(&self, b: &Self) -> Option<Closest> {
        let (h, k, u, v) = (self.half, b.half, &self.axis, &b.axis);
        let r = self.center - b.center;
        let (c, d, e) = (u.dot(v), u.dot(&r), v.dot(&r));
        let cross = u.cross(v);
        let across = cross.norm_squared();
        let x = if h == 0.0 {
            0.0
        } else if across > SIDE_BY_SIDE {
            ((c * e - d) / across).clamp(-h, h)
        } else {
            // Side by side: the middle of what they share.
            let reach = k * c.abs();
            let (low, high) = ((-d - reach).max(-h), (-d + reach).min(h));
            (0.5 * (low + high)).clamp(-h, h)
        };
        let y = (c * x + e).clamp(-k, k);
        let x = (c * y - d).clamp(-h, h);
        let (on_a, on_b) = (self.center + x * u, b.center + y * v);
        if x.abs() < h && y.abs() < k && across > 1e-10 {
            // Two lines: the direction across both is known to rounding however near they are.
            let m = cross / across.sqrt();
            let n = if m.dot(&r) < 0.0 { -m } else { m };
            let distance = n.dot(&r);
            return (distance > MEETING * (h + k)).then_some(Closest { n, distance, on_b });
        }
        let r = on_a - on_b;
        let distance = r.norm();
        let apart = distance > MEETING * (h + k) && distance > 1e-150;
        apart.then(|| Closest { n: r / distance, distance, on_b })
    }

    /// True if it touches with its side what it meets along n.
    #[inline(always)]
    fn lies_across(&self, n: &Vec3) -> bool {
        self.half > 0.0 && self.axis.dot(n).abs() < SIDE
    }

    /// 1 if the end at −h is the farther one along n, and 0 otherwise.
    #[inline(always)]
    fn end(&self, n: &Vec3) -> u32 {
        u32::from(self.half > 0.0 && self.axis.dot(n) < 0.0)
    }

    /// Ends of the line on its surface that looks along n.
    #[inline(always)]
    fn side(&self, n: &Vec3) -> [Vec3; 2] {
        let (middle, half) = (self.center + self.radius * n, self.half * self.axis);
        [middle + half, middle - half]
    }

    /// The contact with b, whose closest points are known, added to `out` if it is within `margin` \[m\].
    #[inline(always)]
    pub(super) fn touch(&self, b: &Self, closest: &Closest, margin: f64, out: &mut Vec<Manifold>) {
        let Closest { n, distance, on_b } = closest;
        let s = distance - self.radius - b.radius;
        if !(s <= margin) {
            return;
        }
        let found = Manifold::add(out, n);
        let nearest = |feature: u32| Touch { point: on_b + (b.radius + 0.5 * s) * n, gap: s, feature };
        match (self.lies_across(n), b.lies_across(n)) {
            (false, _) => found.push(nearest(self.end(&-n) << 16)),
            (_, false) => found.push(nearest(b.end(n) << 16 | 1)),
            (true, true) => {
                segments(self.side(&-n), b.side(n), n, 0, |p, gap, feature| {
                    if gap <= margin {
                        found.push(Touch { point: p + 0.5 * gap * n, gap, feature });
                    }
                });
                if !(found.gap() <= s + 1e-6 * (self.half + b.half)) {
                    // The sides miss the nearest points.
                    found.count = 0;
                    found.push(nearest(1 << 30));
                }
            }
        }
    }

    /// The contact with a half-space within `margin` \[m\], added to `out`, with `sign` times the normal of the plane.
    #[inline(always)]
    pub(super) fn on_half_space(&self, plane: &Frame, sign: f64, margin: f64, out: &mut Vec<Manifold>) {
        let n: Vec3 = plane.R.column(2).into();
        let (middle, rise) = (n.dot(&(self.center - plane.x)) - self.radius, self.half * n.dot(&self.axis));
        if !(middle - rise.abs() <= margin) {
            return;
        }
        let found = Manifold::add(out, &(sign * n));
        let mut put = |end: f64, feature: u32| {
            let gap = middle + end * rise;
            if gap <= margin {
                let point = self.center + (end * self.half) * self.axis - (self.radius + 0.5 * gap) * n;
                found.push(Touch { point, gap, feature });
            }
        };
        if self.half == 0.0 {
            put(0.0, 0);
        } else if self.lies_across(&n) {
            put(1.0, 0);
            put(-1.0, 1);
        } else if rise <= 0.0 {
            put(1.0, 0);
        } else {
            put(-1.0, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::separate::along;
    use super::*;
    use crate::math::{Mat3, Quat};

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
            let [a, b] = [&A, &B].map(|C| Line::core_of(C).unwrap());
            let Some(Closest { n, distance, on_b }) = a.closest_to(&b) else { continue };
            assert!((a.apart(&b, &n) - along(&A, &B, &n)).abs() < 1e-14);
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
