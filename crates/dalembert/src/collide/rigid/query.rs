//! Questions about shapes that do not come from a step: how far, do they overlap, what does a ray hit.

use super::convex::{Convex, Core};
use super::geometry::Frame;
use super::gjk::Scratch;
use super::query_surface::to_surface;
use super::separate::separate;
use super::{Collider, Geometry};
use crate::collide::bvh::Aabb;
use crate::math::{Mat3, Pose, Vec3};

/// How far two shapes are from each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distance {
    /// \[m\]; minus the depth if they overlap.
    pub gap: f64,
    /// Unit, from b towards a.
    pub normal: Vec3,
    /// Nearest points of a and b in the world \[m\]; `None` if they overlap so far that their cores do, or cross.
    pub nearest: Option<(Vec3, Vec3)>,
}

/// The distance of two shapes; `None` for two half-spaces, and for a half-space and a field of heights.
///
/// The depth of convex shapes in each other is measured. What crosses a mesh or a field of heights has the gap 0, what
/// is wholly inside of one minus its distance to the surface.
pub fn distance(a: (&Geometry, &Pose), b: (&Geometry, &Pose)) -> Option<Distance> {
    if matches!(a.0, Geometry::HalfSpace) {
        if matches!(b.0, Geometry::HalfSpace) {
            return None;
        }
        let found = distance(b, a)?;
        let nearest = found.nearest.map(|(p, q)| (q, p));
        return Some(Distance { normal: -found.normal, nearest, ..found });
    }
    let origin = a.1.position;
    let frame = |pose: &Pose| Frame { x: pose.position - origin, ..Frame::of(pose) };
    let B_frame = frame(b.1);
    let half_space = matches!(b.0, Geometry::HalfSpace);
    if !half_space && (a.0.is_surface() || b.0.is_surface()) {
        return to_surface(a, b);
    }
    let A = match a.0 {
        // Nothing of a mesh is nearer to a half-space than its hull.
        Geometry::Mesh(mesh) => {
            Convex { core: Core::Hull(mesh.features().hull.as_ref()?), frame: frame(a.1), radius: 0.0 }
        }
        shape => Convex::new(shape, &frame(a.1))?,
    };
    if half_space {
        let n: Vec3 = B_frame.R.column(2).into_owned();
        let p = A.support(&-n) - n * A.radius;
        let gap = n.dot(&(p - B_frame.x));
        return Some(Distance { gap, normal: n, nearest: Some((p + origin, p - n * gap + origin)) });
    }
    let B = Convex::new(b.0, &B_frame)?;
    let found = separate(&A, &B, f64::INFINITY, &mut Scratch::default(), &mut Vec3::zeros())?;
    let nearest = found.nearest.map(|(p, q)| (p + origin, q + origin));
    Some(Distance { gap: found.s, normal: found.n, nearest })
}

/// True if two shapes have a common point.
pub fn overlap(a: (&Geometry, &Pose), b: (&Geometry, &Pose)) -> bool {
    distance(a, b).is_some_and(|d| d.gap <= 0.0)
}

/// What a ray hits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// How far along the ray, in lengths of its direction.
    pub t: f64,
    /// Outward unit normal of the surface; against the ray's direction if it begins inside.
    pub normal: Vec3,
}

/// The first point of a shape on the ray from `from` along `direction`, at most `most` directions away.
pub fn ray_cast(shape: (&Geometry, &Pose), from: &Vec3, direction: &Vec3, most: f64) -> Option<Hit> {
    let frame = Frame { x: shape.1.position - from, ..Frame::of(shape.1) };
    match shape.0 {
        Geometry::HalfSpace => {
            let n: Vec3 = frame.R.column(2).into_owned();
            let height = -n.dot(&frame.x);
            if height <= 0.0 {
                return direction.try_normalize(0.0).map(|d| Hit { t: 0.0, normal: -d });
            }
            let t = -height / n.dot(direction);
            (t >= 0.0 && t <= most).then_some(Hit { t, normal: n })
        }
        Geometry::Mesh(_) | Geometry::HeightField(_) => on_surface(shape.0, &frame, direction, most),
        _ => on_convex(&Convex::new(shape.0, &frame)?, direction, most),
    }
}

/// Goes on to each separating plane until it arrives: for a convex shape no step is too long.
fn on_convex(shape: &Convex, direction: &Vec3, most: f64) -> Option<Hit> {
    let scale = shape.size() + shape.radius;
    let mut scratch = Scratch::default();
    let mut hit = Hit { t: 0.0, normal: -direction.try_normalize(0.0)? };
    for _ in 0..200 {
        let frame = Frame { x: direction * hit.t, R: Mat3::identity() };
        let point = Convex { core: Core::Point, frame, radius: 0.0 };
        let found = separate(&point, shape, f64::INFINITY, &mut scratch, &mut Vec3::zeros())?;
        if !(found.s > 1e-13 * scale) {
            return Some(hit);
        }
        let towards = -found.n.dot(direction);
        if !(towards > 0.0) {
            return None;
        }
        hit = Hit { t: hit.t + found.s / towards, normal: found.n };
        if !(hit.t <= most) {
            return None;
        }
    }
    Some(hit)
}

fn on_surface(shape: &Geometry, frame: &Frame, direction: &Vec3, most: f64) -> Option<Hit> {
    let (o, d) = (-frame.R.tr_mul(&frame.x), frame.R.tr_mul(direction));
    let end =
        if most.is_finite() { o + d * most } else { o + d.map(|x| if x == 0.0 { 0.0 } else { x * 1e9 }) };
    let bounds = Aabb::of(&o, &end, 0.0);
    let mut best: Option<Hit> = None;
    let mut look = |corners: &[Vec3; 3], normal: &Vec3| {
        // Möller and Trumbore 1997.
        let (u, v) = (corners[1] - corners[0], corners[2] - corners[0]);
        let p = d.cross(&v);
        let det = u.dot(&p);
        if det == 0.0 {
            return;
        }
        let s = o - corners[0];
        let (a, q) = (s.dot(&p) / det, s.cross(&u));
        let (b, t) = (d.dot(&q) / det, v.dot(&q) / det);
        let inside = a >= -1e-12 && b >= -1e-12 && a + b <= 1.0 + 1e-12;
        if inside && t >= 0.0 && t <= most && best.is_none_or(|h| t < h.t) {
            let facing = if normal.dot(&d) > 0.0 { -normal } else { *normal };
            best = Some(Hit { t, normal: frame.R * facing });
        }
    };
    match shape {
        Geometry::Mesh(mesh) => mesh.facets(&bounds, |f| look(&f.corners, &f.normal)),
        Geometry::HeightField(field) => field.facets(&bounds, |f| look(&f.corners, &f.normal)),
        _ => {}
    }
    best
}

/// The first of many colliders on a ray: its number and the place. Those whose groups miss `mask` are left out.
pub fn ray_cast_all(
    colliders: &[Collider],
    bodies: &[Pose],
    from: &Vec3,
    direction: &Vec3,
    most: f64,
    mask: u32,
) -> Option<(u32, Hit)> {
    let mut best: Option<(u32, Hit)> = None;
    for (i, c) in colliders.iter().enumerate().filter(|(_, c)| c.group & mask != 0) {
        let most = best.map_or(most, |(_, h)| h.t);
        if let Some(hit) = ray_cast((&c.shape, &c.placed(bodies)), from, direction, most)
            && best.is_none_or(|(_, h)| hit.t < h.t)
        {
            best = Some((i as u32, hit));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{HeightField, Hull, Mesh, WORLD};
    use super::*;
    use crate::math::Random;
    use crate::math::rotation::exp;

    fn vector(random: &mut Random, size: f64) -> Vec3 {
        Vec3::from_fn(|_, _| random.between(-size, size))
    }

    /// The height of a point over the surface, by the definition of each shape, up to a positive factor.
    fn outside(shape: &Geometry, p: &Vec3) -> f64 {
        let r = p.xy().norm();
        match shape {
            Geometry::Sphere { radius } => p.norm() - radius,
            Geometry::Box { half } => (p.abs() - half).max(),
            Geometry::Capsule { radius, half_length } => {
                r.hypot(p.z - p.z.clamp(-half_length, *half_length)) - radius
            }
            Geometry::Cylinder { radius, half_length } => (r - radius).max(p.z.abs() - half_length),
            Geometry::Cone { radius, half_length } => {
                (-half_length - p.z).max(r - radius * (0.5 - 0.5 * p.z / half_length))
            }
            Geometry::Ellipsoid { semi_axes } => p.component_div(semi_axes).norm() - 1.0,
            Geometry::Hull(hull) => (0..hull.faces())
                .map(|f| hull.normal(f).dot(&(p - hull.vertices()[hull.face(f)[0] as usize])))
                .fold(f64::NEG_INFINITY, f64::max),
            Geometry::HalfSpace => p.z,
            _ => f64::NAN,
        }
    }

    #[test]
    fn rays_end_on_the_surface_and_pass_nothing() {
        let mut random = Random::new(8);
        let points: Vec<Vec3> = (0..20).map(|_| vector(&mut random, 0.5)).collect();
        let shapes = [
            Geometry::Sphere { radius: 0.4 },
            Geometry::Box { half: Vec3::new(0.3, 0.5, 0.2) },
            Geometry::Capsule { radius: 0.2, half_length: 0.3 },
            Geometry::Cylinder { radius: 0.3, half_length: 0.4 },
            Geometry::Cone { radius: 0.3, half_length: 0.4 },
            Geometry::Ellipsoid { semi_axes: Vec3::new(0.2, 0.3, 0.5) },
            Geometry::Hull(Arc::new(Hull::new(&points).unwrap())),
            Geometry::HalfSpace,
        ];
        let (mut hits, mut misses) = (0, 0);
        for shape in &shapes {
            for _ in 0..100 {
                let pose = Pose::new(vector(&mut random, 1.0), exp(&vector(&mut random, 3.0)));
                let (from, to) = (vector(&mut random, 2.0), pose.position + vector(&mut random, 0.6));
                let direction = to - from;
                let height = |t: f64| outside(shape, &pose.inverse().point(&(from + direction * t)));
                let sampled = (0..=1000).map(|k| 0.002 * f64::from(k)).find(|t| height(*t) <= 0.0);
                match ray_cast((shape, &pose), &from, &direction, 2.0) {
                    Some(hit) => {
                        hits += 1;
                        let name = shape.kind();
                        assert!(height(hit.t) < 1e-8, "{name}: {}", height(hit.t));
                        assert!(hit.t == 0.0 || height(hit.t).abs() < 1e-8, "{name}: {}", height(hit.t));
                        assert!(sampled.is_none_or(|t| hit.t <= t + 1e-9), "{name}: {} {sampled:?}", hit.t);
                        assert!(hit.normal.dot(&direction) <= 0.0 && (hit.normal.norm() - 1.0).abs() < 1e-12);
                    }
                    None => {
                        misses += 1;
                        assert!(sampled.is_none(), "{}: {sampled:?}", shape.kind());
                    }
                }
            }
        }
        assert!(hits > 300 && misses > 50, "{hits} {misses}");
    }

    #[test]
    fn distances_of_known_places() {
        let ball = Geometry::Sphere { radius: 0.5 };
        let block = Geometry::Box { half: Vec3::new(1.0, 1.0, 1.0) };
        // Corner to corner along the diagonal.
        let at = Pose::at(Vec3::new(4.0, 4.0, 4.0));
        let d = distance((&block, &at), (&block, &Pose::identity())).unwrap();
        assert!((d.gap - 2.0 * 3f64.sqrt()).abs() < 1e-14, "{d:?}");
        assert!((d.normal - Vec3::repeat(1.0 / 3f64.sqrt())).norm() < 1e-14);
        let (p, q) = d.nearest.unwrap();
        assert!((p - Vec3::repeat(3.0)).norm() < 1e-14 && (q - Vec3::repeat(1.0)).norm() < 1e-14);
        let d =
            distance((&Geometry::HalfSpace, &Pose::identity()), (&ball, &Pose::at(Vec3::z() * 2.0))).unwrap();
        assert!((d.gap - 1.5).abs() < 1e-15 && d.normal == -Vec3::z(), "{d:?}");
        assert!(overlap((&ball, &Pose::identity()), (&block, &Pose::at(Vec3::x() * 1.4))));
        assert!(!overlap((&ball, &Pose::identity()), (&block, &Pose::at(Vec3::x() * 1.6))));
        assert_eq!(distance((&Geometry::HalfSpace, &at), (&Geometry::HalfSpace, &at)), None);
    }

    #[test]
    fn the_first_of_many_is_hit_terrain_included() {
        let field = HeightField::new(11, 11, [1.0, 1.0], vec![0.25; 121]).unwrap();
        let corners = vec![Vec3::zeros(), Vec3::x(), Vec3::y()];
        let mesh = Mesh::new(corners, &[[0, 1, 2]]).unwrap();
        let colliders = [
            Collider::new(WORLD, Geometry::HeightField(Arc::new(field))),
            Collider::new(0, Geometry::Sphere { radius: 0.5 }),
            Collider::new(WORLD, Geometry::Mesh(Arc::new(mesh))).at(Pose::at(Vec3::z() * 5.0)),
        ];
        let bodies = [Pose::at(Vec3::new(0.0, 0.0, 3.0))];
        let cast = |x: f64, y: f64, mask: u32| {
            ray_cast_all(&colliders, &bodies, &Vec3::new(x, y, 10.0), &-Vec3::z(), 100.0, mask)
                .map(|(i, h)| (i, h.t))
        };
        assert_eq!(cast(0.2, 0.2, 1), Some((2, 5.0)));
        assert!(cast(-0.3, 0.0, 1).is_some_and(|(i, t)| i == 1 && (t - 6.6).abs() < 1e-12));
        assert!(cast(-3.0, 2.0, 1).is_some_and(|(i, t)| i == 0 && (t - 9.75).abs() < 1e-12));
        assert_eq!(cast(-30.0, 2.0, 1), None);
        assert_eq!(cast(0.2, 0.2, 2), None);
    }
}
