//! Two shapes: the normal, the gap and the points of their contact.

use super::box_face::{Polygon, along_face};
use super::boxes::{self, Axis, Pair};
use super::clip::{Patch, Points, best_four, clip};
use super::convex::{Convex, Core};
use super::geometry::{Frame, Geometry};
use super::gjk::Scratch;
use super::lines::Line;
use super::mesh::{Facet, Mesh};
use super::separate::{Features, along, separate};
use super::surfaces::{self, Room};
use super::{Manifold, Touch};
use crate::math::{Mat3, Vec3};

/// What separated two shapes last time, in terms of the features that defined it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) enum Witness {
    #[default]
    None,
    /// One of the directions of two boxes.
    Box(Axis),
    /// A direction of two convex shapes.
    Convex(Features, Vec3),
}

/// Memory of the narrow phase.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    scratch: Scratch,
    facets: Vec<Facet>,
    parts: Vec<(Vec3, u32, Touch)>,
    group: Vec<Touch>,
    room: Room,
    polygons: [Polygon; 2],
}

/// Contacts of `a` at `at_a` with `b` at `at_b` within `margin` \[m\], added to `out` without the numbers of the two.
///
/// Everything is computed relative to the place of a, so that shapes far from the origin of the world lose no digits
/// beyond those that their poses have lost.
pub(super) fn collide(
    (a, at_a): (&Geometry, &Frame),
    (b, at_b): (&Geometry, &Frame),
    margin: f64,
    witness: &mut Witness,
    memory: &mut Memory,
    out: &mut Vec<Manifold>,
) {
    let origin = at_a.x;
    let A = Frame { x: Vec3::zeros(), R: at_a.R };
    let B = Frame { x: at_b.x - origin, R: at_b.R };
    let first = out.len();
    find((a, &A), (b, &B), margin, witness, memory, out);
    // Back to the world. One that is not a contact is left out.
    let mut sound = true;
    for found in &mut out[first..] {
        found.touches[..found.count as usize].iter_mut().for_each(|t| t.point += origin);
        sound &= is_sound(found);
    }
    if !sound {
        let mut k = 0;
        out.retain(|m| {
            k += 1;
            k <= first || is_sound(m)
        });
    }
}

fn is_sound(found: &Manifold) -> bool {
    let finite = |t: &Touch| t.gap.is_finite() && t.point.iter().all(|x| x.is_finite());
    found.count > 0 && found.normal.norm_squared() > 0.5 && found.points().iter().all(finite)
}

fn find(
    (a, A): (&Geometry, &Frame),
    (b, B): (&Geometry, &Frame),
    margin: f64,
    witness: &mut Witness,
    memory: &mut Memory,
    out: &mut Vec<Manifold>,
) {
    if let (Geometry::Box { half: h }, Geometry::Box { half: k }) = (a, b)
        && box_box((A, h), (B, k), margin, witness, &mut memory.polygons, out)
    {
        return;
    }
    if let (Geometry::Sphere { radius: r }, Geometry::Sphere { radius: s }) = (a, b) {
        if let Some((n, touch)) = spheres(&A.x, *r, &B.x, *s, margin) {
            Manifold::add(out, &n).push(touch);
        }
        return;
    }
    match (Line::of(a, A), Line::of(b, B)) {
        (Some(a), Some(b)) if line_line(&a, &b, margin, witness, out) => return,
        (Some(a), None) if matches!(b, Geometry::HalfSpace) => return a.on_half_space(B, 1.0, margin, out),
        (None, Some(b)) if matches!(a, Geometry::HalfSpace) => return b.on_half_space(A, -1.0, margin, out),
        _ => {}
    }
    let mut take = |mut found: Manifold, sign: f64| {
        found.normal *= sign;
        out.push(found);
    };
    match (a.is_surface(), b.is_surface()) {
        (true, true) if matches!(b, Geometry::Mesh(_)) && !matches!(a, Geometry::Mesh(_)) => {
            on_each_other(b, B, a, A, margin, memory, |m| take(m, -1.0));
        }
        (true, true) => on_each_other(a, A, b, B, margin, memory, |m| take(m, 1.0)),
        (true, false) if matches!(b, Geometry::HalfSpace) => {
            hull_on_half_space(a, A, B, margin).into_iter().for_each(|m| take(m, 1.0));
        }
        (false, true) if matches!(a, Geometry::HalfSpace) => {
            hull_on_half_space(b, B, A, margin).into_iter().for_each(|m| take(m, -1.0));
        }
        (true, false) => on_surface(b, B, a, A, margin, memory, |m| take(m, -1.0)),
        (false, true) => on_surface(a, A, b, B, margin, memory, |m| take(m, 1.0)),
        (false, false) => {
            if let Some(found) = touch((a, A), (b, B), margin, witness, &mut memory.scratch) {
                take(found, 1.0);
            }
        }
    }
}

fn flipped(found: Option<Manifold>) -> Option<Manifold> {
    found.map(|m| Manifold { normal: -m.normal, ..m })
}

fn touch(
    (a, A): (&Geometry, &Frame),
    (b, B): (&Geometry, &Frame),
    margin: f64,
    w: &mut Witness,
    scratch: &mut Scratch,
) -> Option<Manifold> {
    use Geometry::{Box, HalfSpace, Sphere};
    match (a, b) {
        (_, HalfSpace) => on_half_space(&Convex::new(a, A)?, B, margin),
        (HalfSpace, _) => flipped(on_half_space(&Convex::new(b, B)?, A, margin)),
        (Sphere { radius }, Box { half }) => sphere_box(&A.x, *radius, B, half, margin),
        (Box { half }, Sphere { radius }) => flipped(sphere_box(&B.x, *radius, A, half, margin)),
        // The witness of two boxes is one of their own directions, which did not decide here.
        (Box { .. }, Box { .. }) => {
            convex(&Convex::new(a, A)?, &Convex::new(b, B)?, margin, &mut Witness::None, scratch)
        }
        _ => convex(&Convex::new(a, A)?, &Convex::new(b, B)?, margin, w, scratch),
    }
}

/// The normal and the point of the contact of two balls.
#[inline]
fn spheres(c: &Vec3, r: f64, d: &Vec3, s: f64, margin: f64) -> Option<(Vec3, Touch)> {
    let between = c - d;
    let distance = between.norm();
    let gap = distance - r - s;
    if !(gap <= margin) {
        return None;
    }
    let n = if distance > 0.0 { between / distance } else { Vec3::z() };
    Some((n, Touch { point: d + n * s + 0.5 * gap * n, gap, feature: 0 }))
}

/// The contact of two balls or capsules, if there is one, into `out`; false if their middles meet.
#[inline]
fn line_line(a: &Line, b: &Line, margin: f64, w: &mut Witness, out: &mut Vec<Manifold>) -> bool {
    if let Witness::Convex(Features::Free, n) = w
        && a.apart(b, n) > margin
    {
        return true;
    }
    let Some(closest) = a.closest_to(b) else { return false };
    *w = Witness::Convex(Features::Free, closest.n);
    a.touch(b, &closest, margin, out);
    true
}

fn sphere_box(c: &Vec3, r: f64, B: &Frame, half: &Vec3, margin: f64) -> Option<Manifold> {
    let p = B.R.tr_mul(&(c - B.x));
    let q = p.zip_map(half, |x, h| x.max(-h).min(h));
    let out = p - q;
    let distance = out.norm();
    let (n, gap, on_b) = if distance > 0.0 {
        (out / distance, distance - r, q)
    } else {
        // Inside: to the nearest face.
        let depth = half - p.abs();
        let i = depth.imin();
        let sign = if p[i] < 0.0 { -1.0 } else { 1.0 };
        let mut on_b = p;
        on_b[i] = sign * half[i];
        (Vec3::ith(i, sign), -depth[i] - r, on_b)
    };
    if !(gap <= margin) {
        return None;
    }
    let n = B.R * n;
    Some(Manifold::single(n, Touch { point: B.x + B.R * on_b + 0.5 * gap * n, gap, feature: 0 }))
}

/// The contact of two boxes, if there is one, into `out`; false if they are nearest at a corner, which the fifteen
/// directions do not see.
fn box_box(
    (A, h): (&Frame, &Vec3),
    (B, k): (&Frame, &Vec3),
    margin: f64,
    w: &mut Witness,
    polygons: &mut [Polygon; 2],
    out: &mut Vec<Manifold>,
) -> bool {
    let pair = Pair::new(A, B);
    if let Witness::Box(axis) = *w
        && boxes::separation_along(&pair, h, k, axis) > margin
    {
        return true;
    }
    let found = boxes::separate(&pair, (A, h), (B, k), margin);
    if !(found.s <= margin) {
        *w = Witness::Box(found.axis);
        return true;
    }
    // What touches will most likely touch again: no plane is worth being asked first.
    *w = Witness::None;
    let slack = 1e-9 * (h.amax() + k.amax());
    let (mut along, mut n, mut off) = ((found.axis, found.sign), found.normal, slack);
    let edges = matches!(found.axis, Axis::Edges(..));
    if edges && let Some(beside) = face_beside(A, B, &n) {
        (along, n) = beside;
        off += BESIDE * found.s.abs();
    }
    // A pair of points as near as the planes proves that the planes are the best ones.
    let first = out.len();
    if let Some(least) = along_face(&pair, (A, h), (B, k), along, n, found.s, margin, polygons, out) {
        if (least - found.s).abs() <= off {
            return true;
        }
        out.truncate(first);
        if !edges {
            return false;
        }
    }
    let n = found.normal;
    let solid = |frame: &Frame, half: &Vec3| Convex { core: Core::Box(*half), frame: *frame, radius: 0.0 };
    let points = clip_along(&solid(A, h), &solid(B, k), &n, found.s, margin);
    if points.least() <= found.s + slack {
        out.push(points.manifold());
        return true;
    }
    false
}

/// A face whose normal has this cosine, less than 1 by so much, with the direction across two edges stands for it.
const BESIDE: f64 = 2e-4;

/// The face of a, or else of b, that looks almost along n.
///
/// Faces that lie on each other, tilted by a small angle θ, are parted best by a direction across an edge of each. The
/// points of contact are the same along either face: two lines that cross at the distance s along n cross at
/// s (1 + O(θ²)) along a direction that is turned by θ.
fn face_beside(A: &Frame, B: &Frame, n: &Vec3) -> Option<((Axis, f64), Vec3)> {
    let beside = |R: &Mat3| {
        let c = R.tr_mul(n);
        let i = c.iamax();
        (c[i].abs() >= 1.0 - BESIDE).then(|| (i as u8, c[i].signum(), R.column(i) * c[i].signum()))
    };
    match beside(&A.R) {
        Some((i, sign, n)) => Some(((Axis::FaceA(i), sign), n)),
        None => beside(&B.R).map(|(j, sign, n)| ((Axis::FaceB(j), sign), n)),
    }
}

/// Contact points of two shapes that look at each other along n with the separation s.
fn clip_along(A: &Convex, B: &Convex, n: &Vec3, s: f64, margin: f64) -> Points {
    let (mut a, mut b) = (Patch::new(), Patch::new());
    A.patch(&-n, &mut a);
    B.patch(n, &mut b);
    clip(&a, &b, n, s, margin)
}

/// Two convex shapes of any kind.
fn convex(A: &Convex, B: &Convex, margin: f64, w: &mut Witness, scratch: &mut Scratch) -> Option<Manifold> {
    if let Witness::Convex(features, n) = w
        && features.again(A, B, n) > margin
    {
        return None;
    }
    let mut far = Vec3::z();
    let Some(found) = separate(A, B, margin, scratch, &mut far) else {
        *w = Witness::Convex(Features::Free, far);
        return None;
    };
    *w = Witness::Convex(found.features, found.n);
    let n = found.n;
    let mut points = clip_along(A, B, &n, found.s, margin);
    let slack = 1e-6 * (A.size() + B.size());
    if !(points.least() <= found.s + slack) {
        // The patches miss the nearest points.
        let on_b = match found.nearest {
            Some((_, b)) => b,
            None => 0.5 * (A.support(&-n) - n * (A.radius + found.s) + B.support(&n) + n * B.radius),
        };
        points = Points::new(n, margin);
        points.push(on_b, found.s, 1 << 30);
    }
    Some(points.manifold())
}

fn on_half_space(A: &Convex, B: &Frame, margin: f64) -> Option<Manifold> {
    let n: Vec3 = B.R.column(2).into_owned();
    if n.dot(&(A.support(&-n) - B.x)) - A.radius > margin {
        return None;
    }
    let mut patch = Patch::new();
    A.patch(&-n, &mut patch);
    let mut points = Points::new(n, margin);
    for (p, id) in patch.corners().iter().zip(patch.ids()) {
        let gap = n.dot(&(p - B.x));
        points.push(p - n * gap, gap, u32::from(*id));
    }
    (!points.is_empty()).then(|| points.manifold())
}

/// Contacts whose normals differ by less than about three degrees are one.
const SAME_DIRECTION: f64 = 0.9985;

/// A convex shape on a surface: every triangle near it, then contacts along one normal together.
fn on_surface(
    a: &Geometry,
    A: &Frame,
    b: &Geometry,
    B: &Frame,
    margin: f64,
    memory: &mut Memory,
    out: impl FnMut(Manifold),
) {
    let Some(shape) = Convex::new(a, A) else { return };
    let bounds = a.bounds_in(&B.local(A), margin);
    let Memory { scratch, facets, parts, group, .. } = memory;
    facets.clear();
    match b {
        Geometry::Mesh(mesh) => mesh.facets(&bounds, |f| facets.push(f)),
        Geometry::HeightField(field) => field.facets(&bounds, |f| facets.push(f)),
        _ => {}
    }
    facets.sort_unstable_by_key(|f| f.number);
    parts.clear();
    for facet in facets.iter() {
        if let Some(found) = on_facet(&shape, facet, B, margin, scratch) {
            let number = facet.number;
            parts.extend(found.points().iter().map(|t| {
                let feature = number.wrapping_mul(0x9e37_79b1) ^ t.feature;
                (found.normal, number, Touch { feature, ..*t })
            }));
        }
    }
    merge(parts, group, 1e-6 * shape.size().max(shape.radius), out);
}

/// A mesh on another surface.
fn on_each_other(
    a: &Geometry,
    A: &Frame,
    b: &Geometry,
    B: &Frame,
    margin: f64,
    memory: &mut Memory,
    out: impl FnMut(Manifold),
) {
    let Memory { facets, parts, group, room, .. } = memory;
    parts.clear();
    let near = |mesh: &Mesh| 1e-6 * mesh.features().size;
    match (a, b) {
        (Geometry::Mesh(a), Geometry::Mesh(b)) => {
            surfaces::mesh_on_mesh((a, A), (b, B), margin, room, parts);
            merge(parts, group, near(a).min(near(b)), out);
        }
        (Geometry::Mesh(a), Geometry::HeightField(b)) => {
            surfaces::mesh_on_field((a, A), (b, B), margin, facets, parts);
            merge(parts, group, near(a), out);
        }
        _ => {}
    }
}

/// A mesh over a half-space: its convex hull is as near as it is.
fn hull_on_half_space(a: &Geometry, A: &Frame, B: &Frame, margin: f64) -> Option<Manifold> {
    let Geometry::Mesh(mesh) = a else { return None };
    let hull = mesh.features().hull.as_ref()?;
    on_half_space(&Convex { core: Core::Hull(hull), frame: *A, radius: 0.0 }, B, margin)
}

/// Points to manifolds: the deepest contact names the direction, those that share it go with it.
fn merge(
    parts: &mut Vec<(Vec3, u32, Touch)>,
    group: &mut Vec<Touch>,
    near: f64,
    mut out: impl FnMut(Manifold),
) {
    while let Some(deepest) =
        (0..parts.len()).reduce(|i, j| if parts[j].2.gap < parts[i].2.gap { j } else { i })
    {
        let (normal, part, _) = parts[deepest];
        group.clear();
        parts.retain(|(n, _, touch)| {
            let same = n.dot(&normal) > SAME_DIRECTION;
            if same && !group.iter().any(|t| (t.point - touch.point).norm() <= near) {
                group.push(*touch);
            }
            !same
        });
        let mut found = Manifold { part, ..Manifold::empty(normal) };
        if group.len() <= 4 {
            group.iter().for_each(|t| found.push(*t));
        } else {
            let keep = best_four(group, &normal);
            (0..group.len()).filter(|i| keep.contains(i)).for_each(|i| found.push(group[i]));
        }
        out(found);
    }
}

fn on_facet(A: &Convex, facet: &Facet, B: &Frame, margin: f64, scratch: &mut Scratch) -> Option<Manifold> {
    let [p, q, r] = facet.corners;
    let frame = Frame { x: B.x + B.R * p, R: B.R };
    let triangle = Convex { core: Core::Triangle([Vec3::zeros(), q - p, r - p]), frame, radius: 0.0 };
    let N = B.R * facet.normal;
    let over = along(A, &triangle, &N) - A.radius;
    if over > margin {
        return None;
    }
    let behind = N.dot(&(A.center() - frame.x)) < 0.0;
    if facet.one_sided && !facet.bottomless && behind && -over > 2.0 * (A.size() + A.radius) {
        return None;
    }
    if facet.bottomless && behind {
        // Sunk below: the triangle above its centre brings it up.
        let c = B.R.tr_mul(&(A.center() - B.x));
        let left = |u: &Vec3, v: &Vec3| (v.x - u.x) * (c.y - u.y) - (v.y - u.y) * (c.x - u.x);
        if left(&p, &q) < 0.0 || left(&q, &r) < 0.0 || left(&r, &p) < 0.0 {
            return None;
        }
        let mut points = Points::new(N, margin);
        points.push(A.support(&-N) - N * (A.radius + over), over, 1 << 30);
        return Some(points.manifold());
    }
    let found = separate(A, &triangle, margin, scratch, &mut Vec3::zeros());
    let (mut n, mut s) = found.as_ref().map(|f| (f.n, f.s))?;
    if facet.one_sided && n.dot(&N) < 0.0 {
        // From behind. Apart, it belongs to other triangles; sunk in, it goes back to the front.
        if s > 0.0 {
            return None;
        }
        (n, s) = (N, over);
    }
    let front = if n.dot(&N) < 0.0 { -N } else { N };
    if n.dot(&front) < 1.0 - 1e-9 {
        let edges = [(p, q), (q, r), (r, p)];
        let closed_over = |k: usize| {
            let outward = (B.R * (edges[k].1 - edges[k].0)).cross(&N);
            facet.open_edges >> k & 1 == 0 && n.dot(&outward) > 1e-6 * outward.norm()
        };
        if (0..3).any(closed_over) {
            n = front;
            s = along(A, &triangle, &n) - A.radius;
        }
    }
    let points = clip_along(A, &triangle, &n, s, margin);
    let inside = |t: &Touch| {
        // The point of a curved shape must lie over the triangle when it is pushed along the face's own normal.
        let x = t.point;
        let local = [(p, q), (q, r), (r, p)]
            .map(|(u, v)| (B.R * (v - u)).cross(&N).normalize().dot(&(x - B.x - B.R * u)));
        local.iter().all(|d| *d <= 1e-9 * (q - p).norm().max((r - p).norm()))
    };
    let mut found_points = points.manifold();
    if n == front {
        let kept = Manifold::empty(n);
        let kept = found_points.points().iter().filter(|t| inside(t)).fold(kept, |mut m, t| {
            m.push(*t);
            m
        });
        found_points = kept;
    } else if !(points.least() <= s + 1e-6 * (A.size() + triangle.size())) {
        let on_b = match found {
            Some(super::separate::Separation { nearest: Some((_, b)), .. }) => b,
            _ => return None,
        };
        let mut single = Points::new(n, margin);
        single.push(on_b, s, 1 << 30);
        found_points = single.manifold();
    }
    (found_points.count > 0).then_some(found_points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Quat, Random};

    /// The same contact within rounding, from the same features.
    fn assert_alike(found: &[Manifold], other: Option<Manifold>, k: usize) {
        let Some(other) = other else { return assert!(found.is_empty(), "{k}: {found:?}") };
        assert!(found.len() == 1 && found[0].count == other.count, "{k}: {found:?} {other:?}");
        assert!((found[0].normal - other.normal).norm() < 1e-12, "{k}");
        for (a, b) in found[0].points().iter().zip(other.points()) {
            assert!(a.feature == b.feature && (a.gap - b.gap).abs() < 1e-12, "{k}: {a:?} {b:?}");
            assert!((a.point - b.point).norm() < 1e-12, "{k}: {a:?} {b:?}");
        }
    }

    #[test]
    fn balls_and_capsules_touch_as_convex_shapes_of_their_form_do() {
        let mut random = Random::new(3);
        let mut number = |low: f64, high: f64| random.between(low, high);
        let mut seen = [0; 5];
        for k in 0..6_000 {
            let mut vector = |size: f64| Vec3::from_fn(|_, _| number(-size, size));
            let turn = |w: Vec3| Quat::new(w).to_rotation_matrix().into_inner();
            let R = turn(vector(3.0));
            // Some lie side by side or nearly so.
            let S =
                if k % 3 == 0 { turn(vector([0.0, 1e-3, 0.1][k % 9 / 3])) * R } else { turn(vector(3.0)) };
            let (A, B) = (Frame { x: vector(0.1), R }, Frame { x: vector(0.8), R: S });
            let mut shape = |ball: bool| {
                let radius = number(0.05, 0.4);
                if ball {
                    Geometry::Sphere { radius }
                } else {
                    Geometry::Capsule { radius, half_length: number(0.1, 0.8) }
                }
            };
            let (a, b) = (shape(k % 5 == 0), shape(false));
            let (mut out, mut scratch) = (Vec::new(), Scratch::default());
            let line = |shape: &Geometry, at: &Frame| Line::of(shape, at).unwrap();
            let (solid_a, solid_b) = (Convex::new(&a, &A).unwrap(), Convex::new(&b, &B).unwrap());
            if line_line(&line(&a, &A), &line(&b, &B), 0.05, &mut Witness::None, &mut out) {
                let other = convex(&solid_a, &solid_b, 0.05, &mut Witness::None, &mut scratch);
                seen[other.map_or(0, |m| m.count as usize)] += 1;
                assert_alike(&out, other, k);
            }
            out.clear();
            line(&a, &A).on_half_space(&B, 1.0, 0.05, &mut out);
            let other = on_half_space(&solid_a, &B, 0.05);
            seen[3 + usize::from(other.is_some_and(|m| m.count == 2))] += 1;
            assert_alike(&out, other, k);
        }
        assert!(seen.iter().all(|n| *n > 200), "{seen:?}");
    }
}
