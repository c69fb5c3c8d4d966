//! Distances to meshes and fields of heights: the least over their triangles.

use super::convex::{Convex, Core};
use super::geometry::Frame;
use super::gjk::Scratch;
use super::mesh::Facet;
use super::query::{Distance, ray_cast};
use super::separate::separate;
use super::{Geometry, Mesh};
use crate::collide::bvh::Aabb;
use crate::math::{Pose, Vec3};

fn triangle(f: &Facet, B: &Frame) -> Convex<'static> {
    let [p, q, r] = f.corners;
    let frame = Frame { x: B.x + B.R * p, R: B.R };
    Convex { core: Core::Triangle([Vec3::zeros(), q - p, r - p]), frame, radius: 0.0 }
}

fn facets(surface: &Geometry, bounds: &Aabb, visit: impl FnMut(Facet)) {
    match surface {
        Geometry::Mesh(mesh) => mesh.facets(bounds, visit),
        Geometry::HeightField(field) => field.facets(bounds, visit),
        _ => {}
    }
}

/// The nearest of the triangles of a surface at B to convex shapes at their places, if it is nearer than `best`.
fn nearest(shapes: &[Convex], surface: &Geometry, B: &Frame, best: &mut Option<Distance>) {
    let mut scratch = Scratch::default();
    let mut list = Vec::new();
    for A in shapes {
        let most = best.map_or(f64::INFINITY, |d| d.gap);
        if most <= 0.0 {
            return;
        }
        let size = A.size() + A.radius;
        let c = B.R.tr_mul(&(A.frame.x - B.x));
        // All of it, if nothing is known yet.
        let reach = Vec3::repeat(size + most.min(1e9));
        list.clear();
        facets(surface, &Aabb::of(&(c - reach), &(c + reach), 0.0), |f| list.push(f));
        list.sort_unstable_by_key(|f| f.number);
        for f in &list {
            let most = best.map_or(f64::INFINITY, |d| d.gap);
            let wide = (1..3).fold(0.0f64, |r, k| r.max((f.corners[k] - f.corners[0]).norm()));
            if (f.corners[0] - c).norm() - wide - size > most {
                continue;
            }
            let T = triangle(f, B);
            if let Some(found) = separate(A, &T, f64::INFINITY, &mut scratch, &mut Vec3::zeros())
                && found.s < most
            {
                // Triangles have no inside: what crosses one has the gap 0.
                let gap = found.s.max(0.0);
                *best = Some(Distance { gap, normal: found.n, nearest: found.nearest });
            }
        }
    }
}

/// True if a point is inside of a closed mesh, or below a field of heights.
fn contains(surface: &Geometry, at: &Pose, x: &Vec3) -> bool {
    match surface {
        Geometry::Mesh(mesh) if mesh.is_closed() => winding(mesh, &at.inverse().point(x)) > 0.5,
        Geometry::HeightField(_) => {
            let up = at.rotation * Vec3::z();
            ray_cast((surface, at), x, &up, f64::INFINITY).is_some()
        }
        _ => false,
    }
}

/// How often a closed surface goes around a point: the sum of solid angles over 4π (van Oosterom and Strackee 1983).
fn winding(mesh: &Mesh, x: &Vec3) -> f64 {
    let angle = |t: u32| {
        let [a, b, c] = mesh.corners(t).map(|p| p - x);
        let (la, lb, lc) = (a.norm(), b.norm(), c.norm());
        let below = la * lb * lc + a.dot(&b) * lc + b.dot(&c) * la + c.dot(&a) * lb;
        2.0 * a.dot(&b.cross(&c)).atan2(below)
    };
    (0..mesh.triangles().len() as u32).map(angle).sum::<f64>() / (4.0 * std::f64::consts::PI)
}

/// Distance of two shapes of which at least one is a surface and neither a half-space.
///
/// Depth is not measured: what crosses has the gap 0; what is wholly inside has minus its distance to the surface.
pub(super) fn to_surface(a: (&Geometry, &Pose), b: (&Geometry, &Pose)) -> Option<Distance> {
    if !b.0.is_surface() {
        let found = to_surface(b, a)?;
        let nearest = found.nearest.map(|(p, q)| (q, p));
        return Some(Distance { normal: -found.normal, nearest, ..found });
    }
    let origin = a.1.position;
    let frame = |pose: &Pose| Frame { x: pose.position - origin, ..Frame::of(pose) };
    let (A, B) = (frame(a.1), frame(b.1));
    let mut best = None;
    let mut inside = None;
    if a.0.is_surface() {
        let mut list = Vec::new();
        let all = Vec3::repeat(1e300);
        facets(a.0, &Aabb::of(&-all, &all, 0.0), |f| list.push(f));
        list.sort_unstable_by_key(|f| f.number);
        let shapes: Vec<Convex> = list.iter().map(|f| triangle(f, &A)).collect();
        nearest(&shapes, b.0, &B, &mut best);
        inside = list.first().map(|f| a.1.point(&f.corners[0]));
        // One mesh may also be inside of the other the other way round.
        if let (Some(found), Geometry::Mesh(mesh)) = (&mut best, b.0)
            && found.gap > 0.0
            && contains(a.0, a.1, &b.1.point(&mesh.corners(0)[0]))
        {
            found.gap = -found.gap;
            found.normal = -found.normal;
        }
    } else {
        let shape = Convex::new(a.0, &A)?;
        nearest(&[shape], b.0, &B, &mut best);
        inside = inside.or(Some(shape.center() + origin));
    }
    let mut found = best?;
    if found.gap > 0.0 && inside.is_some_and(|x| contains(b.0, b.1, &x)) {
        found.gap = -found.gap;
        found.normal = -found.normal;
    }
    found.nearest = found.nearest.map(|(p, q)| (p + origin, q + origin));
    Some(found)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{HeightField, distance, overlap};
    use super::*;
    use crate::bodies::Shape;
    use crate::math::Random;
    use crate::math::rotation::exp;

    fn mesh_box(size: Vec3) -> Geometry {
        let t = Shape::Box { size }.triangles();
        Geometry::Mesh(Arc::new(Mesh::new(t.vertices().to_vec(), t.triangles()).unwrap()))
    }

    #[test]
    fn meshes_of_boxes_are_as_far_as_boxes() {
        let mut random = Random::new(5);
        let mut vector = |size: f64| Vec3::from_fn(|_, _| random.between(-size, size));
        let sizes = [Vec3::new(0.4, 0.6, 0.5), Vec3::new(0.7, 0.3, 0.5)];
        let solid = sizes.map(|s| Geometry::Box { half: 0.5 * s });
        let mesh = sizes.map(mesh_box);
        let ball = Geometry::Sphere { radius: 0.2 };
        let (mut apart, mut together) = (0, 0);
        for _ in 0..200 {
            let a = Pose::new(vector(1.0), exp(&vector(3.0)));
            let b = Pose::new(vector(0.3), exp(&vector(3.0)));
            let known = distance((&solid[0], &a), (&solid[1], &b)).unwrap();
            for (x, y) in [(&mesh[0], &mesh[1]), (&solid[0], &mesh[1]), (&mesh[0], &solid[1])] {
                let found = distance((x, &a), (y, &b)).unwrap();
                if known.gap > 1e-6 {
                    apart += 1;
                    assert!((found.gap - known.gap).abs() < 1e-9, "{} {}", found.gap, known.gap);
                    assert!((found.normal - known.normal).norm() < 1e-5);
                    let (p, q) = found.nearest.unwrap();
                    assert!(((p - q).norm() - known.gap).abs() < 1e-9);
                } else {
                    together += 1;
                    assert!(found.gap <= 0.0 && overlap((x, &a), (y, &b)), "{} {}", found.gap, known.gap);
                }
            }
            let known = distance((&ball, &a), (&solid[1], &b)).unwrap().gap;
            let found = distance((&ball, &a), (&mesh[1], &b)).unwrap().gap;
            assert!(
                if known > 1e-6 { (found - known).abs() < 1e-9 } else { found <= 0.0 },
                "{found} {known}"
            );
        }
        assert!(apart > 100 && together > 50, "{apart} {together}");
    }

    #[test]
    fn what_is_inside_overlaps() {
        let room = mesh_box(Vec3::repeat(2.0));
        let ball = Geometry::Sphere { radius: 0.1 };
        let at = Pose::at(Vec3::new(0.5, 0.0, 0.0));
        let found = distance((&ball, &at), (&room, &Pose::identity())).unwrap();
        assert!((found.gap + 0.4).abs() < 1e-9, "{found:?}");
        let chip = mesh_box(Vec3::repeat(0.2));
        assert!(overlap((&chip, &at), (&room, &Pose::identity())));
        assert!(overlap((&room, &Pose::identity()), (&chip, &at)));
        let field = HeightField::new(11, 11, [1.0, 1.0], vec![0.25; 121]).unwrap();
        let field = Geometry::HeightField(Arc::new(field));
        let far =
            |z: f64| distance((&ball, &Pose::at(Vec3::z() * z)), (&field, &Pose::identity())).unwrap().gap;
        assert!((far(1.0) - 0.65).abs() < 1e-12 && far(-1.0) < 0.0, "{} {}", far(1.0), far(-1.0));
        // A mesh over a half-space is as far as its lowest corner.
        let d = distance((&chip, &Pose::at(Vec3::z())), (&Geometry::HalfSpace, &Pose::identity())).unwrap();
        assert!((d.gap - 0.9).abs() < 1e-12 && d.normal == Vec3::z());
    }
}
