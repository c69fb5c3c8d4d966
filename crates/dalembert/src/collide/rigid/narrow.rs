//! Two shapes: the normal, the gap and the points of their contact.

use super::boxes::{self, Axis};
use super::clip::{Patch, Points, clip};
use super::geometry::{Frame, Geometry};
use super::{Manifold, Touch};
use crate::math::{Pose, Vec3};

/// What separated two shapes last time, in terms of the features that defined it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) enum Witness {
    #[default]
    None,
    /// One of the directions of two boxes.
    Box(Axis),
}

/// The contact of `a` at `at_a` with `b` at `at_b` within `margin` \[m\], if there is one.
///
/// Everything is computed relative to the place of a, so that shapes far from the origin of the world lose no digits
/// beyond those that their poses have lost.
pub(super) fn collide(
    a: &Geometry,
    at_a: &Pose,
    b: &Geometry,
    at_b: &Pose,
    margin: f64,
    witness: &mut Witness,
) -> Option<Manifold> {
    let origin = at_a.position;
    let A = Frame { x: Vec3::zeros(), ..Frame::of(at_a) };
    let B = Frame { x: at_b.position - origin, ..Frame::of(at_b) };
    let mut found = touch(a, &A, b, &B, margin, witness)?;
    found.touches[..found.count as usize].iter_mut().for_each(|t| t.point += origin);
    let finite = |t: &Touch| t.gap.is_finite() && t.point.iter().all(|x| x.is_finite());
    let sound = found.count > 0 && found.normal.norm_squared() > 0.5 && found.points().iter().all(finite);
    sound.then_some(found)
}

fn flipped(found: Option<Manifold>) -> Option<Manifold> {
    found.map(|m| Manifold { normal: -m.normal, ..m })
}

fn touch(a: &Geometry, A: &Frame, b: &Geometry, B: &Frame, margin: f64, w: &mut Witness) -> Option<Manifold> {
    use Geometry::{Box, HalfSpace, Sphere};
    match (a, b) {
        (HalfSpace, HalfSpace) => None,
        (_, HalfSpace) => on_half_space(a, A, B, margin),
        (HalfSpace, _) => flipped(on_half_space(b, B, A, margin)),
        (Sphere { radius: r }, Sphere { radius: s }) => spheres(&A.x, *r, &B.x, *s, margin),
        (Sphere { radius }, Box { half }) => sphere_box(&A.x, *radius, B, half, margin),
        (Box { half }, Sphere { radius }) => flipped(sphere_box(&B.x, *radius, A, half, margin)),
        (Box { half: h }, Box { half: k }) => box_box(A, h, B, k, margin, w),
    }
}

/// The contact of two balls with centres `c`, `d` around points of their shapes.
fn spheres(c: &Vec3, r: f64, d: &Vec3, s: f64, margin: f64) -> Option<Manifold> {
    let between = c - d;
    let distance = between.norm();
    let gap = distance - r - s;
    if !(gap <= margin) {
        return None;
    }
    let n = if distance > 0.0 { between / distance } else { Vec3::z() };
    let mut points = Points::new(n, margin);
    points.push(d + n * s, gap, 0);
    Some(points.manifold())
}

fn sphere_box(c: &Vec3, r: f64, B: &Frame, half: &Vec3, margin: f64) -> Option<Manifold> {
    let p = B.R.tr_mul(&(c - B.x));
    let q = p.zip_map(half, |x, h| x.clamp(-h, h));
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
        let mut n = Vec3::zeros();
        n[i] = sign;
        (n, -depth[i] - r, on_b)
    };
    if !(gap <= margin) {
        return None;
    }
    let mut points = Points::new(B.R * n, margin);
    points.push(B.x + B.R * on_b, gap, 0);
    Some(points.manifold())
}

/// The face of a box that looks most along `direction`.
pub(super) fn box_face(frame: &Frame, half: &Vec3, direction: &Vec3) -> Patch {
    let d = frame.R.tr_mul(direction);
    let i = d.iamax();
    let (u, v) = ((i + 1) % 3, (i + 2) % 3);
    let mut patch = Patch::new();
    for (su, sv) in [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)] {
        let mut p = Vec3::zeros();
        p[i] = half[i] * d[i].signum();
        p[u] = half[u] * su;
        p[v] = half[v] * sv;
        let id = (0..3).map(|k| u16::from(p[k] > 0.0) << k).sum();
        patch.push(frame.x + frame.R * p, id);
    }
    patch
}

fn box_box(A: &Frame, h: &Vec3, B: &Frame, k: &Vec3, margin: f64, w: &mut Witness) -> Option<Manifold> {
    if let Witness::Box(axis) = *w
        && boxes::separation_along(A, h, B, k, axis) > margin
    {
        return None;
    }
    let found = boxes::separate(A, h, B, k, margin);
    *w = Witness::Box(found.axis);
    if !(found.s <= margin) {
        return None;
    }
    let n = found.normal;
    let points = clip(&box_face(A, h, &-n), &box_face(B, k, &n), &n, margin);
    (!points.is_empty()).then(|| points.manifold())
}

/// The patch with which a shape looks along `direction`.
fn patch(shape: &Geometry, frame: &Frame, direction: &Vec3) -> Patch {
    match shape {
        Geometry::Sphere { radius } => Patch::point(frame.x + direction * *radius, 0),
        Geometry::Box { half } => box_face(frame, half, direction),
        Geometry::HalfSpace => Patch::new(),
    }
}

fn on_half_space(a: &Geometry, A: &Frame, B: &Frame, margin: f64) -> Option<Manifold> {
    let n: Vec3 = B.R.column(2).into_owned();
    let patch = patch(a, A, &-n);
    let mut points = Points::new(n, margin);
    for (p, id) in patch.corners().iter().zip(patch.ids()) {
        let gap = n.dot(&(p - B.x));
        points.push(p - n * gap, gap, u32::from(*id));
    }
    (!points.is_empty()).then(|| points.manifold())
}
