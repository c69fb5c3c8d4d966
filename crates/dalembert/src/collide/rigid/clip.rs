//! Contact points of two patches: the faces, edges or points with which two shapes look at each other along the normal.
//!
//! Seen along the normal n both patches are convex polygons in a plane. Their common part is found by clipping one by
//! the sides of the other (Sutherland and Hodgman 1974); over each of its corners the two surfaces are planes, and their
//! distance along n is the gap. Corners of the common part are corners of either patch or crossings of two edges, so
//! face on face, edge on face and edge on edge are one case.

use super::{Manifold, Touch};
use crate::math::Vec3;

/// Most corners of a patch.
pub(super) const CORNERS: usize = 16;
/// Most corners of the common part of two patches.
const COMMON: usize = 2 * CORNERS;

/// Part of a surface with which a shape touches: a point, a segment, or a convex polygon.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patch {
    points: [Vec3; CORNERS],
    ids: [u16; CORNERS],
    count: usize,
}

impl Patch {
    pub(super) fn new() -> Self {
        Self { points: [Vec3::zeros(); CORNERS], ids: [0; CORNERS], count: 0 }
    }

    pub(super) fn point(p: Vec3, id: u16) -> Self {
        let mut patch = Self::new();
        patch.push(p, id);
        patch
    }

    pub(super) fn push(&mut self, p: Vec3, id: u16) {
        if self.count < CORNERS {
            self.points[self.count] = p;
            self.ids[self.count] = id;
            self.count += 1;
        }
    }

    pub(super) fn corners(&self) -> &[Vec3] {
        &self.points[..self.count]
    }

    pub(super) fn ids(&self) -> &[u16] {
        &self.ids[..self.count]
    }

    /// A polygon tilted by more than some degrees from looking along the unit vector `d` touches with its highest edge,
    /// or its highest corner, alone; none for others.
    fn narrowed(&self, d: &Vec3) -> Option<Self> {
        if self.count < 3 || self.normal().dot(d).abs() > 0.98 {
            return None;
        }
        let p = self.corners();
        let top = (1..p.len()).fold(0, |best, i| if p[i].dot(d) > p[best].dot(d) { i } else { best });
        let slope = |i: usize| (p[top] - p[i]).dot(d) / (p[top] - p[i]).norm().max(1e-300);
        let (next, before) = ((top + 1) % p.len(), (top + p.len() - 1) % p.len());
        let beside = if slope(next) <= slope(before) { next } else { before };
        let mut out = Self::point(p[top], self.ids[top]);
        if slope(beside) < 0.2 {
            out.push(p[beside], self.ids[beside]);
            if self.ids[beside] < self.ids[top] {
                out.points.swap(0, 1);
                out.ids.swap(0, 1);
            }
        }
        Some(out)
    }

    /// Unit normal, about which the corners run counter-clockwise; zero for what has no area.
    pub(super) fn normal(&self) -> Vec3 {
        let p = self.corners();
        let mut twice = Vec3::zeros();
        for i in 2..p.len() {
            twice += (p[i - 1] - p[0]).cross(&(p[i] - p[0]));
        }
        twice.try_normalize(1e-300).unwrap_or_else(Vec3::zeros)
    }
}

/// A corner of the common part.
#[derive(Debug, Clone, Copy, Default)]
struct Corner {
    p: Vec3,
    /// Its corner of the incident patch, or the one where the clipped edge begins.
    id: u16,
    /// The side that clipped it, from 1; 0 if none did.
    side: u16,
}

/// Collects contact points and keeps the four that span the largest area.
pub(super) struct Points {
    /// The first ones, or all of them in `more` if there are others.
    few: [Touch; 4],
    count: usize,
    more: Vec<Touch>,
    normal: Vec3,
    margin: f64,
}

impl Points {
    pub(super) fn new(normal: Vec3, margin: f64) -> Self {
        Self { few: [Touch::default(); 4], count: 0, more: Vec::new(), normal, margin }
    }

    /// Takes the point on b and its gap, if that is within the margin.
    pub(super) fn push(&mut self, on_b: Vec3, gap: f64, feature: u32) {
        if !(gap <= self.margin && self.count < COMMON) {
            return;
        }
        let touch = Touch { point: on_b + 0.5 * gap * self.normal, gap, feature };
        if let Some(place) = self.few.get_mut(self.count) {
            *place = touch;
        } else {
            if self.more.is_empty() {
                self.more.reserve(COMMON);
                self.more.extend_from_slice(&self.few);
            }
            self.more.push(touch);
        }
        self.count += 1;
    }

    fn all(&self) -> &[Touch] {
        if self.more.is_empty() { &self.few[..self.count] } else { &self.more }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Smallest gap \[m\].
    pub(super) fn least(&self) -> f64 {
        self.all().iter().fold(f64::INFINITY, |least, t| least.min(t.gap))
    }

    pub(super) fn manifold(&self) -> Manifold {
        let mut out = Manifold::empty(self.normal);
        let all = self.all();
        if self.count <= 4 {
            all.iter().for_each(|t| out.push(*t));
            return out;
        }
        let keep = best_four(all, &self.normal);
        for i in 0..self.count {
            if keep.contains(&i) {
                out.push(all[i]);
            }
        }
        out
    }
}

/// The deepest point, the one farthest from it, the one farthest from their line, and the one farthest outside of that
/// triangle.
pub(super) fn best_four(all: &[Touch], n: &Vec3) -> [usize; 4] {
    #[inline(always)]
    fn best(count: usize, score: impl Fn(usize) -> f64) -> usize {
        let mut best = (0, f64::NEG_INFINITY);
        for i in 0..count {
            let now = score(i);
            if now > best.1 {
                best = (i, now);
            }
        }
        best.0
    }
    let count = all.len();
    let area = |i: usize, j: usize, k: usize| {
        let [a, b, c] = [i, j, k].map(|i| all[i].point);
        (b - a).cross(&(c - a)).dot(n)
    };
    let a = best(count, |i| -all[i].gap);
    let b = best(count, |i| (all[i].point - all[a].point).norm_squared());
    let mut c = best(count, |i| area(a, b, i).abs());
    let mut b = b;
    if area(a, b, c) < 0.0 {
        std::mem::swap(&mut b, &mut c);
    }
    let d = best(count, |i| -area(a, b, i).min(area(b, c, i)).min(area(c, a, i)));
    [a, b, c, d]
}

/// Contact points of patch `a` and patch `b` that look at each other along `normal` (from b towards a) with the
/// separation `s`, those with gaps up to `margin`. None if the patches do not overlap seen along the normal.
pub(super) fn clip(a: &Patch, b: &Patch, normal: &Vec3, s: f64, margin: f64) -> Points {
    let mut out = Points::new(*normal, margin);
    let (part_a, part_b) = (a.narrowed(&-normal), b.narrowed(normal));
    let (a, b) = (part_a.as_ref().unwrap_or(a), part_b.as_ref().unwrap_or(b));
    match (a.count, b.count) {
        (0, _) | (_, 0) => {}
        // The support point of a pointed or curved place is the nearest one.
        (1, _) => out.push(a.points[0] - normal * s, s, u32::from(a.ids[0]) << 16),
        (_, 1) => out.push(b.points[0], s, u32::from(b.ids[0]) << 16 | 1),
        (2, 2) => {
            let ids = u32::from(a.ids[0]) << 16 | u32::from(b.ids[0]);
            let ends = |patch: &Patch| [patch.points[0], patch.points[1]];
            segments(ends(a), ends(b), normal, ids, |p, gap, feature| out.push(p, gap, feature));
        }
        _ => {
            let (N_a, N_b) = (a.normal(), b.normal());
            let (c_a, c_b) = (N_a.dot(normal), N_b.dot(normal));
            // The flatter one is the reference; of two equal ones the first.
            if c_a.abs() * (1.0 + 1e-9) >= c_b.abs() {
                polygon(a, &N_a, b, normal, true, &mut out);
            } else {
                polygon(b, &N_b, a, normal, false, &mut out);
            }
        }
    }
    out
}

/// A side of the reference patch is not clipped by what is nearer to it than this part of the size.
const SLACK: f64 = 1e-12;

/// Two edges, given by their ends: the overlap of parallel ones, the crossing of others, whose feature is `crossing`. Points on
/// b with their gaps and features go to `push`.
#[inline(always)]
pub(super) fn segments(
    [p, p_end]: [Vec3; 2],
    [q, q_end]: [Vec3; 2],
    n: &Vec3,
    crossing: u32,
    mut push: impl FnMut(Vec3, f64, u32),
) {
    let flat = |v: Vec3| v - n * n.dot(&v);
    let [u3, v3] = [p_end - p, q_end - q];
    let [u, v, d] = [flat(u3), flat(v3), flat(q - p)];
    let (uu, vv, uv) = (u.norm_squared(), v.norm_squared(), u.dot(&v));
    let sine = u.cross(&v).dot(n);
    if sine * sine > 1e-4 * uu * vv {
        // p + s u = q + t v across n.
        let s = d.cross(&v).dot(n) / sine;
        let t = d.cross(&u).dot(n) / sine;
        if (-1e-9..=1.0 + 1e-9).contains(&s) && (-1e-9..=1.0 + 1e-9).contains(&t) {
            let [on_a, on_b] = [p + s * u3, q + t * v3];
            push(on_b, n.dot(&(on_a - on_b)), crossing);
        }
        return;
    }
    if !(uu > 0.0 && vv > 0.0) {
        return;
    }
    // Places on b, as fractions of a, cut to a.
    let begin = d.dot(&u) / uu;
    let end = begin + uv / uu;
    let (low, high) = (begin.min(end).max(0.0), begin.max(end).min(1.0));
    for (k, s) in [low, high].into_iter().enumerate() {
        // Ends that look at each other along n meet within rounding.
        if low <= high + 1e-9 && (k == 0 || high > low + 1e-9) {
            let t = ((s - begin) * uu / uv).clamp(0.0, 1.0);
            let [on_a, on_b] = [p + s * u3, q + t * v3];
            push(on_b, n.dot(&(on_a - on_b)), 1 + k as u32);
        }
    }
}

/// Clips `incident` by the sides of `reference`, whose plane has the unit normal `N`.
fn polygon(reference: &Patch, N: &Vec3, incident: &Patch, n: &Vec3, a_is_reference: bool, out: &mut Points) {
    let cosine = N.dot(n);
    if cosine.abs() < 1e-3 {
        return;
    }
    let mut now = [Corner::default(); COMMON];
    let mut next = now;
    let mut count = incident.count;
    for i in 0..count {
        now[i] = Corner { p: incident.points[i], id: incident.ids[i], side: 0 };
    }
    let corners = reference.corners();
    let size = corners.iter().fold(0.0f64, |far, p| far.max((p - corners[0]).amax()));
    for side in 0..corners.len() {
        let (u, v) = (corners[side], corners[(side + 1) % corners.len()]);
        // Outwards in the plane across n; the corners run counter-clockwise about N.
        let Some(outward) = ((v - u).cross(n) * cosine.signum()).try_normalize(1e-300) else { continue };
        // A segment has two ends and one edge, a polygon as many edges as corners.
        let edges = if count == 2 { 1 } else { count };
        let mut kept = 0;
        let mut keep = |corner: Corner, next: &mut [Corner; COMMON]| {
            if kept < COMMON {
                next[kept] = corner;
                kept += 1;
            }
        };
        let height = |c: &Corner| {
            let h = outward.dot(&(c.p - u));
            if h.abs() <= SLACK * size { 0.0 } else { h }
        };
        for i in 0..count {
            let (from, to) = (now[i], now[(i + 1) % count]);
            let (h, h_to) = (height(&from), height(&to));
            if h <= 0.0 {
                keep(from, &mut next);
            }
            if i < edges && ((h < 0.0 && h_to > 0.0) || (h > 0.0 && h_to < 0.0)) {
                let p = from.p + (to.p - from.p) * (h / (h - h_to));
                keep(Corner { p, id: from.id, side: 2 * side as u16 + 1 + u16::from(h > 0.0) }, &mut next);
            }
        }
        count = kept;
        std::mem::swap(&mut now, &mut next);
        if count == 0 {
            return;
        }
    }
    for corner in &now[..count] {
        let t = (corner.p - corners[0]).dot(N) / cosine;
        let (on_b, gap) = if a_is_reference { (corner.p, -t) } else { (corner.p - n * t, t) };
        out.push(
            on_b,
            gap,
            u32::from(corner.id) << 8 | u32::from(corner.side) | u32::from(a_is_reference) << 31,
        );
    }
}
