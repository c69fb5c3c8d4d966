//! The narrow phase against brute force: the largest s(n) over many directions, each refined, from support points
//! written down here once more.

use std::sync::Arc;

use super::geometry::Frame;
use super::narrow::{Memory, Witness, collide};
use super::*;
use crate::math::Random;
use crate::math::rotation::exp;

/// max d·p over the shape, from its definition.
fn reach(shape: &Geometry, pose: &Pose, d: &Vec3) -> f64 {
    let l = pose.rotation.inverse() * d;
    let across = l.xy().norm();
    let own = match shape {
        Geometry::Sphere { radius } => radius * l.norm(),
        Geometry::Box { half } => half.dot(&l.abs()),
        Geometry::Capsule { radius, half_length } => radius * l.norm() + half_length * l.z.abs(),
        Geometry::Cylinder { radius, half_length } => radius * across + half_length * l.z.abs(),
        Geometry::Cone { radius, half_length } => {
            (half_length * l.z).max(radius * across - half_length * l.z)
        }
        Geometry::Ellipsoid { semi_axes } => semi_axes.component_mul(&l).norm(),
        Geometry::Hull(hull) => hull.vertices().iter().fold(f64::NEG_INFINITY, |m, p| m.max(p.dot(&l))),
        _ => unreachable!(),
    };
    own + d.dot(&pose.position)
}

fn separation(a: (&Geometry, &Pose), b: (&Geometry, &Pose), n: &Vec3) -> f64 {
    -reach(a.0, a.1, &-n) - reach(b.0, b.1, n)
}

/// The largest s over 1000 directions of a Fibonacci lattice, the best five of them refined by a shrinking search.
fn brute_force(a: (&Geometry, &Pose), b: (&Geometry, &Pose)) -> f64 {
    let count = 1000;
    let mut all: Vec<(f64, Vec3)> = (0..count)
        .map(|i| {
            let z = 1.0 - (2 * i + 1) as f64 / f64::from(count);
            let phi = 2.399963229728653 * f64::from(i);
            let r = (1.0 - z * z).sqrt();
            let n = Vec3::new(r * phi.cos(), r * phi.sin(), z);
            (separation(a, b, &n), n)
        })
        .collect();
    all.sort_by(|x, y| y.0.total_cmp(&x.0));
    let mut best = f64::NEG_INFINITY;
    for (mut s, mut n) in all.into_iter().take(5) {
        let mut step = 0.05;
        while step > 1e-11 {
            let u = n.cross(&Vec3::ith(n.iamin(), 1.0)).normalize();
            let v = n.cross(&u);
            let tries = (0..12).map(|k| {
                let (sin, cos) = (std::f64::consts::TAU * f64::from(k) / 12.0).sin_cos();
                (n + step * (cos * u + sin * v)).normalize()
            });
            let found = tries.map(|m| (separation(a, b, &m), m)).max_by(|x, y| x.0.total_cmp(&y.0)).unwrap();
            if found.0 > s {
                (s, n) = found;
            } else {
                step *= 0.6;
            }
        }
        best = best.max(s);
    }
    best
}

fn random_vector(random: &mut Random, size: f64) -> Vec3 {
    Vec3::from_fn(|_, _| random.between(-size, size))
}

fn some_hull(random: &mut Random, count: usize) -> Geometry {
    let points: Vec<Vec3> = (0..count).map(|_| random_vector(random, 0.6)).collect();
    Geometry::Hull(Arc::new(Hull::new(&points).unwrap()))
}

fn shapes(random: &mut Random) -> Vec<Geometry> {
    let mut size = |low: f64, high: f64| random.between(low, high);
    let mut all = vec![
        Geometry::Sphere { radius: size(0.2, 0.6) },
        Geometry::Box { half: Vec3::new(size(0.1, 0.7), size(0.1, 0.7), size(0.1, 0.7)) },
        Geometry::Capsule { radius: size(0.1, 0.4), half_length: size(0.1, 0.6) },
        Geometry::Cylinder { radius: size(0.1, 0.5), half_length: size(0.1, 0.6) },
        Geometry::Cone { radius: size(0.2, 0.5), half_length: size(0.2, 0.6) },
        Geometry::Ellipsoid { semi_axes: Vec3::new(size(0.15, 0.7), size(0.15, 0.7), size(0.15, 0.7)) },
    ];
    all.push(some_hull(random, 12));
    all.push(some_hull(random, 150));
    all
}

fn contact(a: (&Geometry, &Pose), b: (&Geometry, &Pose), margin: f64) -> Option<Manifold> {
    let mut found = Vec::new();
    let (a, b) = ((a.0, &Frame::of(a.1)), (b.0, &Frame::of(b.1)));
    collide(a, b, margin, &mut Witness::None, &mut Memory::default(), &mut found);
    found.pop()
}

#[test]
fn every_pair_of_convex_shapes_agrees_with_brute_force() {
    let mut random = Random::new(7);
    let mut worst = 0.0f64;
    let mut counts = [0; 2];
    for round in 0..3 {
        let (left, right) = (shapes(&mut random), shapes(&mut random));
        for a in &left {
            for b in &right {
                let pose = |random: &mut Random| {
                    Pose::new(random_vector(random, 0.5), exp(&random_vector(random, 3.0)))
                };
                let (at_a, at_b) = (pose(&mut random), pose(&mut random));
                let expected = brute_force((a, &at_a), (b, &at_b));
                let names = format!("{} {} round {round}", a.kind(), b.kind());
                let margin = 0.3;
                let Some(found) = contact((a, &at_a), (b, &at_b), margin) else {
                    assert!(expected > margin - 1e-9, "{names}: missed, {expected}");
                    continue;
                };
                assert!((found.normal.norm() - 1.0).abs() < 1e-14, "{names}");
                let s = separation((a, &at_a), (b, &at_b), &found.normal);
                counts[usize::from(s > 0.0)] += 1;
                // The gap is the separation along the normal, and no direction is better.
                assert!((found.gap() - s).abs() < 1e-9, "{names}: gap {} but s {s}", found.gap());
                assert!(s > expected - 1e-8, "{names}: {s} but brute force {expected}");
                worst = worst.max((found.gap() - s).abs());
                for t in found.points() {
                    assert!(t.gap <= margin && t.gap >= s - 1e-9, "{names}");
                    // The point lies within both shapes, each grown by half of the gap.
                    for (shape, pose) in [(a, &at_a), (b, &at_b)] {
                        for i in 0..3 {
                            for sign in [-1.0, 1.0] {
                                let d = Vec3::ith(i, sign);
                                let over = d.dot(&t.point) - reach(shape, pose, &d);
                                assert!(over < 0.5 * t.gap.abs() + 1e-6, "{names}: {over} {t:?}");
                            }
                        }
                    }
                }
                for (i, t) in found.points().iter().enumerate() {
                    assert!(found.points()[..i].iter().all(|u| u.feature != t.feature), "{names}: {found:?}");
                }
            }
        }
    }
    assert!(counts[0] > 80 && counts[1] > 30, "{counts:?}");
    assert!(worst < 1e-9, "{worst:e}");
}

#[test]
fn resting_shapes_have_gaps_of_rounding_and_four_points() {
    let floor = Geometry::Box { half: Vec3::new(5.0, 4.0, 0.5) };
    let half = Vec3::new(0.3, 0.2, 0.1);
    let corners: Vec<Vec3> =
        (0..8).map(|k| Vec3::from_fn(|i, _| if k >> i & 1 == 1 { half[i] } else { -half[i] })).collect();
    let cases: [(Geometry, f64, usize); 6] = [
        (Geometry::Box { half }, 0.1, 4),
        (Geometry::Hull(Arc::new(Hull::new(&corners).unwrap())), 0.1, 4),
        (Geometry::Cylinder { radius: 0.2, half_length: 0.4 }, 0.4, 4),
        (Geometry::Cone { radius: 0.2, half_length: 0.4 }, 0.4, 4),
        (Geometry::Sphere { radius: 0.25 }, 0.25, 1),
        (Geometry::Ellipsoid { semi_axes: Vec3::new(0.3, 0.2, 0.1) }, 0.1, 1),
    ];
    let tilt = Pose::new(Vec3::new(0.3, -0.2, 0.7), exp(&Vec3::new(0.4, -0.3, 1.0)));
    for (shape, height, points) in cases {
        for under in [floor.clone(), Geometry::HalfSpace] {
            let top = if matches!(under, Geometry::HalfSpace) { 0.0 } else { 0.5 };
            for turn in [0.0, 0.3, 2.0] {
                let at = Pose::new(Vec3::new(0.4, 0.6, top + height), exp(&Vec3::new(0.0, 0.0, turn)));
                for frame in [Pose::identity(), tilt] {
                    let (at, down) = (frame.then(&at), frame.then(&Pose::identity()));
                    let found = contact((&shape, &at), (&under, &down), 1e-3).unwrap();
                    let name = format!("{} on {} turned {turn}", shape.kind(), under.kind());
                    assert_eq!(found.points().len(), points, "{name}: {found:?}");
                    let up = frame.rotation * Vec3::z();
                    assert!((found.normal - up).norm() < 1e-8, "{name}: {}", found.normal);
                    for t in found.points() {
                        assert!(t.gap.abs() < 2e-15, "{name}: {}", t.gap);
                    }
                }
            }
        }
    }
    // A capsule and a cylinder on their sides touch with two points.
    for shape in [
        Geometry::Capsule { radius: 0.2, half_length: 0.4 },
        Geometry::Cylinder { radius: 0.2, half_length: 0.4 },
    ] {
        let at = Pose::new(Vec3::new(0.4, 0.6, 0.7), exp(&Vec3::new(0.0, std::f64::consts::FRAC_PI_2, 0.0)));
        let found = contact((&shape, &at), (&floor, &Pose::identity()), 1e-3).unwrap();
        assert_eq!(found.points().len(), 2, "{found:?}");
        assert!(found.points().iter().all(|t| t.gap.abs() < 1e-15), "{found:?}");
        let length = (found.points()[0].point - found.points()[1].point).norm();
        assert!((length - 0.8).abs() < 1e-12, "{length}");
    }
}

#[test]
fn points_of_boxes_that_lie_almost_flat_on_each_other_are_on_both_surfaces() {
    let mut random = Random::new(5);
    let mut across_edges = 0;
    for round in 0..20_000 {
        let mut vector = |size: f64| Vec3::from_fn(|_, _| random.between(-size, size));
        let h = [Vec3::repeat(0.5) + vector(0.2), Vec3::repeat(0.5) + vector(0.2)];
        // From tilts that nobody sees to some that are too large for a face to stand for an edge.
        let tilt = [1e-4, 1e-3, 0.01, 0.03][round % 4];
        let (turn, lift) = (exp(&vector(3.0)), vector(1.0));
        let at = turn * Vec3::new(0.5 * lift.x, 0.5 * lift.y, h[0].z + h[1].z + 2e-3 * lift.z);
        let poses = [Pose::new(Vec3::zeros(), turn), Pose::new(at, turn * exp(&vector(tilt)))];
        let boxes = h.map(|half| Geometry::Box { half });
        let Some(m) = contact((&boxes[0], &poses[0]), (&boxes[1], &poses[1]), 0.05) else { continue };
        let frames = poses.map(|p| Frame::of(&p));
        let pair = boxes::Pair::new(&frames[0], &frames[1]);
        let found = boxes::separate(&pair, (&frames[0], &h[0]), (&frames[1], &h[1]), 0.05);
        across_edges += u32::from(matches!(found.axis, boxes::Axis::Edges(..)));
        // The smallest gap is what the fifteen directions say.
        let least = m.gap();
        assert!((least - found.s).abs() < 2e-4 * found.s.abs() + 2e-9, "{round}: {least} {}", found.s);
        for t in m.points() {
            for (k, sign) in [(0, 0.5), (1, -0.5)] {
                let p = poses[k].rotation.inverse() * (t.point + sign * t.gap * m.normal - poses[k].position);
                let out = (p.abs() - h[k]).max();
                // The direction is off by 0.02 at most where a face stands for two edges.
                assert!(out.abs() < 1e-9 + 5e-4 * t.gap.abs(), "{round}: {out} at a gap of {}", t.gap);
            }
        }
    }
    assert!(across_edges > 1_000, "{across_edges}");
}
