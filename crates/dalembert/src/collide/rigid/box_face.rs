//! The contact points of two boxes along a face of one of them.
//!
//! In the axes of the reference box its face is the rectangle $|x| \le h_u$, $|y| \le h_v$ at the height 0, and z counts
//! outwards. The face of the other box that looks towards it most is one parallelogram more, whose corners are a centre
//! and two half edges: columns of $C = R_{ref}^T R_{inc}$. What is common to both, seen along z, is clipped by two pairs
//! of parallel lines; z over each of its corners is the gap. It is the general clipping of `clip` with the same corners,
//! names and slack in a third of the work, which a heap of boxes is made of.
//!
//! Where the faces are parallel to within 4.5e-5 rad the first box is the reference whichever face won: gaps are then
//! those along its own normal, which differ from those along the winner's by a part of 1e-9.

use super::boxes::{Axis, Pair};
use super::clip::best_four;
use super::geometry::Frame;
use super::{Manifold, Touch};
use crate::math::{Mat3, Vec3};

/// Most corners of the common part of a rectangle and a parallelogram.
const MOST: usize = 8;
/// A side does not clip what is nearer to it than this part of the size.
const SLACK: f64 = 1e-12;

/// A corner: x and y in the face, z above it.
#[derive(Debug, Clone, Copy, Default)]
struct Corner {
    p: [f64; 3],
    /// Its corner of the incident box, or the one where the clipped edge begins.
    id: u32,
    /// The side that clipped it, from 1; 0 if none did.
    side: u32,
}

/// A convex polygon of a few corners.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Polygon {
    corners: [Corner; MOST],
    count: usize,
}

impl Polygon {
    #[inline(always)]
    fn push(&mut self, corner: Corner) {
        if let Some(place) = self.corners.get_mut(self.count) {
            *place = corner;
            self.count += 1;
        }
    }

    fn list(&self) -> &[Corner] {
        self.corners.get(..self.count).unwrap_or_default()
    }

    /// A polygon tilted by more than some degrees touches with its lowest edge, or its lowest corner, alone. `edges` are
    /// the lengths of the sides from the first corner and from the second on.
    fn narrowed(&self, edges: [f64; 2]) -> Self {
        let p = &self.corners;
        let top = (1..4).fold(0, |best, i| if p[i].p[2] < p[best].p[2] { i } else { best });
        let (next, before) = ((top + 1) % 4, (top + 3) % 4);
        let slope = |i: usize, length: f64| (p[i].p[2] - p[top].p[2]) / length.max(1e-300);
        let (up, down) = (slope(next, edges[top % 2]), slope(before, edges[before % 2]));
        let (beside, least) = if up <= down { (next, up) } else { (before, down) };
        let mut out = Self::default();
        if least < 0.2 {
            let (one, two) = if p[beside].id < p[top].id { (beside, top) } else { (top, beside) };
            out.push(p[one]);
            out.push(p[two]);
        } else {
            out.push(p[top]);
        }
        out
    }

    /// What lies within `sign` · p\[axis\] ≤ `limit`, into `out`; false if that is all of it, and `out` as it was.
    #[inline(always)]
    fn clip(&self, axis: usize, sign: f64, limit: f64, slack: f64, side: u32, out: &mut Self) -> bool {
        let mut heights = [0.0; MOST];
        let mut beyond = false;
        for (height, c) in heights.iter_mut().zip(self.list()) {
            let h = sign * c.p[axis] - limit;
            *height = if h.abs() <= slack { 0.0 } else { h };
            beyond |= *height > 0.0;
        }
        if !beyond {
            return false;
        }
        let count = self.count.min(MOST);
        // A segment has two ends and one edge, a polygon as many edges as corners.
        let edges = if count == 2 { 1 } else { count };
        out.count = 0;
        for i in 0..count {
            let next = if i + 1 == count { 0 } else { i + 1 };
            let (from, to) = (&self.corners[i], &self.corners[next]);
            let (h, h_to) = (heights[i], heights[next]);
            if h <= 0.0 {
                out.push(*from);
            }
            if i < edges && ((h < 0.0 && h_to > 0.0) || (h > 0.0 && h_to < 0.0)) {
                let part = h / (h - h_to);
                let p = std::array::from_fn(|k| from.p[k] + (to.p[k] - from.p[k]) * part);
                out.push(Corner { p, id: from.id, side: 2 * side + 1 + u32::from(h > 0.0) });
            }
        }
        true
    }
}

/// The two boxes as the reference sees them.
struct Seen {
    C: Mat3,
    /// Centre of the other box.
    d: Vec3,
    /// Axis and sign of the face.
    i: usize,
    sign: f64,
}

/// Points of the contact along `normal` (from b towards a), the direction of a face with the separation `s`; `None` if an
/// edge of each box defines it. The manifold is added to `out`, whether it has points or not; returns the smallest gap of
/// all corners \[m\], infinite if there are none. The polygons are room to work in.
pub(super) fn along_face(
    pair: &Pair,
    (a, h_a): (&Frame, &Vec3),
    (b, h_b): (&Frame, &Vec3),
    (axis, sign): (Axis, f64),
    normal: Vec3,
    s: f64,
    margin: f64,
    [room, more]: &mut [Polygon; 2],
    out: &mut Vec<Manifold>,
) -> Option<f64> {
    let C = &pair.C;
    let (a_is_reference, i) = match axis {
        Axis::FaceA(i) => (true, i as usize),
        Axis::FaceB(j) => {
            let i = C.column(j as usize).iamax();
            if C[(i, j as usize)].abs() * (1.0 + 1e-9) >= 1.0 { (true, i) } else { (false, j as usize) }
        }
        Axis::Edges(..) => return None,
    };
    // a looks against the normal, b along it.
    let (reference, h, h_inc, seen) = if a_is_reference {
        let along = if let Axis::FaceB(j) = axis { sign * C[(i, j as usize)].signum() } else { sign };
        (a, h_a, h_b, Seen { C: *C, d: -pair.d_A, i, sign: -along })
    } else {
        (b, h_b, h_a, Seen { C: C.transpose(), d: pair.d_B, i, sign })
    };
    let (u, v) = ((i + 1) % 3, (i + 2) % 3);
    let (flatness, edges) = incident_face(&seen, h, h_inc, room);
    if flatness <= 0.98 {
        *room = room.narrowed(edges);
    }
    let (mut common, mut spare) = (room, more);
    let alone = common.count == 1;
    if alone {
        common.corners[0].p[2] = s;
    } else {
        let slack = SLACK * 2.0 * h[u].max(h[v]);
        for (side, (axis, sign)) in [(1, 1.0), (0, -1.0), (1, -1.0), (0, 1.0)].into_iter().enumerate() {
            let limit = if axis == 0 { h[u] } else { h[v] };
            if common.clip(axis, sign, limit, slack, side as u32, spare) {
                std::mem::swap(&mut common, &mut spare);
            }
        }
    }
    let teller = Teller { reference, i, sign: seen.sign, half: h[i], alone, a_is_reference };
    let near = |c: &&Corner| c.p[2] <= margin;
    let manifold = Manifold::add(out, &normal);
    let count = common.list().iter().filter(near).count();
    let list = common.list().iter().filter(near);
    if count <= 4 {
        manifold.touches.iter_mut().zip(list).for_each(|(place, c)| teller.tell(c, place));
        manifold.count = count as u32;
    } else {
        let mut touches = [Touch::default(); MOST];
        touches.iter_mut().zip(list).for_each(|(place, c)| teller.tell(c, place));
        let all = &touches[..count];
        let keep = best_four(all, &normal);
        (0..count).filter(|k| keep.contains(k)).for_each(|k| manifold.push(all[k]));
    }
    Some(common.list().iter().fold(f64::INFINITY, |least, c| least.min(c.p[2])))
}

/// Tells corners of the common part as points of the contact.
struct Teller<'a> {
    reference: &'a Frame,
    /// Axis and sign of the face, and its distance from the centre.
    i: usize,
    sign: f64,
    half: f64,
    /// The other box touches with a corner alone.
    alone: bool,
    a_is_reference: bool,
}

impl Teller<'_> {
    /// Each number goes to its place at once: copies of what was just written wait for it.
    #[inline(always)]
    fn tell(&self, corner: &Corner, place: &mut Touch) {
        let [x, y, gap] = corner.p;
        place.feature = if self.alone {
            corner.id << 16 | u32::from(self.a_is_reference)
        } else {
            corner.id << 8 | corner.side | u32::from(self.a_is_reference) << 31
        };
        place.gap = gap;
        let z = self.sign * (self.half + 0.5 * gap);
        let p = match self.i {
            0 => Vec3::new(z, x, y),
            1 => Vec3::new(y, z, x),
            _ => Vec3::new(x, y, z),
        };
        place.point = self.reference.x + self.reference.R * p;
    }
}

/// The face of the other box that looks towards the reference, into `out`; |cosine| of the angle between the two, and its
/// edges.
#[inline(always)]
fn incident_face(seen: &Seen, h: &Vec3, h_inc: &Vec3, out: &mut Polygon) -> (f64, [f64; 2]) {
    let Seen { C, d, i, sign } = seen;
    let (i, sign) = (*i, *sign);
    let (u, v) = ((i + 1) % 3, (i + 2) % 3);
    let row = [C[(i, 0)].abs(), C[(i, 1)].abs(), C[(i, 2)].abs()];
    let j = (1..3).fold(0, |best, k| if row[k] > row[best] { k } else { best });
    let (k, l) = ((j + 1) % 3, (j + 2) % 3);
    let towards = if sign * C[(i, j)] > 0.0 { -1.0 } else { 1.0 };
    // In the axes of the face: x along u, y along v, z outwards.
    let column = |j: usize, f: f64| [f * C[(u, j)], f * C[(v, j)], f * sign * C[(i, j)]];
    let (c, p, q) = (column(j, towards * h_inc[j]), column(k, h_inc[k]), column(l, h_inc[l]));
    let center = [d[u] + c[0], d[v] + c[1], (sign * d[i] - h[i]) + c[2]];
    let bit = |f: f64, axis: usize| u32::from(f * h_inc[axis] > 0.0) << axis;
    out.count = 4;
    for (n, (f, g)) in [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)].into_iter().enumerate() {
        out.corners[n] = Corner {
            p: std::array::from_fn(|m| center[m] + f * p[m] + g * q[m]),
            id: bit(towards, j) | bit(f, k) | bit(g, l),
            side: 0,
        };
    }
    (row[j], [2.0 * h_inc[k], 2.0 * h_inc[l]])
}

#[cfg(test)]
mod tests {
    use super::super::boxes;
    use super::super::clip::{Patch, clip};
    use super::super::convex::{Convex, Core};
    use super::*;
    use crate::math::Random;
    use crate::math::rotation::{exp, matrix};

    /// The general clipping of the same two boxes.
    fn general(A: (&Frame, &Vec3), B: (&Frame, &Vec3), n: &Vec3, s: f64, margin: f64) -> Manifold {
        let face = |(frame, half): (&Frame, &Vec3), d: &Vec3| {
            let mut patch = Patch::new();
            Convex { core: Core::Box(*half), frame: *frame, radius: 0.0 }.patch(d, &mut patch);
            patch
        };
        clip(&face(A, &-n), &face(B, n), n, s, margin).manifold()
    }

    #[test]
    fn points_along_a_face_are_those_of_the_general_clipping() {
        let mut random = Random::new(7);
        let mut seen = [0; 5];
        for round in 0..20_000 {
            let mut vector = |size: f64| Vec3::from_fn(|_, _| random.between(-size, size));
            // Flat on each other, almost flat, tilted, anyhow.
            let tilt = [0.0, 1e-6, 0.1, 1.0][round % 4];
            let h = [Vec3::repeat(0.4) + vector(0.3), Vec3::repeat(0.4) + vector(0.3)];
            let turned = exp(&vector(3.0));
            let a = Frame { x: Vec3::zeros(), R: matrix(&turned) };
            let about = Vec3::ith(round / 4 % 3, std::f64::consts::FRAC_PI_2 * (round / 12 % 4) as f64);
            let b = Frame { x: vector(0.8), R: matrix(&(turned * exp(&vector(tilt)) * exp(&about))) };
            let (A, B, margin) = ((&a, &h[0]), (&b, &h[1]), 0.3);
            let pair = Pair::new(&a, &b);
            let found = boxes::separate(&pair, A, B, margin);
            let along = (found.axis, found.sign);
            if found.s > margin {
                continue;
            }
            let mut out = Vec::new();
            let mut polygons = [Polygon::default(); 2];
            let flat = along_face(&pair, A, B, along, found.normal, found.s, margin, &mut polygons, &mut out);
            let (Some(_), Some(flat)) = (flat, out.pop()) else { continue };
            let general = general(A, B, &found.normal, found.s, margin);
            let (mut one, mut other) = (flat.points().to_vec(), general.points().to_vec());
            one.sort_by_key(|t| t.feature);
            other.sort_by_key(|t| t.feature);
            seen[one.len()] += 1;
            assert_eq!(one.len(), other.len(), "{round} {:?} {:?}", flat, general);
            for (t, u) in one.iter().zip(&other) {
                assert_eq!(t.feature, u.feature, "{round}");
                assert!((t.gap - u.gap).abs() < 1e-9, "{round}: {} {}", t.gap, u.gap);
                // Almost parallel faces have two normals, 4.5e-5 apart at most.
                assert!((t.point - u.point).norm() < 5e-5 * (t.gap.abs() + 1e-9), "{round}: {t:?} {u:?}");
            }
        }
        assert!(seen[1..].iter().all(|n| *n > 20), "{seen:?}");
    }
}
