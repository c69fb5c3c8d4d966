//! The detector against all pairs, terrain, and input that is not nice.

use std::sync::Arc;

use super::geometry::Frame;
use super::narrow::{Memory, Witness, collide};
use super::*;
use crate::math::Random;
use crate::math::rotation::exp;

fn random_vector(random: &mut Random, size: f64) -> Vec3 {
    Vec3::from_fn(|_, _| random.between(-size, size))
}

fn pose(random: &mut Random, size: f64) -> Pose {
    Pose::new(random_vector(random, size), exp(&random_vector(random, 3.0)))
}

fn wavy_field(columns: usize, rows: usize) -> HeightField {
    let heights = (0..columns * rows)
        .map(|k| 0.2 * ((k % columns) as f64 * 0.9).sin() + 0.2 * ((k / columns) as f64 * 0.7).cos())
        .collect();
    HeightField::new(columns, rows, [0.3, 0.3], heights).unwrap()
}

fn zoo(random: &mut Random, count: usize) -> Vec<Collider> {
    let mut all = Vec::new();
    for i in 0..count {
        let shape = match i % 7 {
            0 => Geometry::Sphere { radius: 0.2 },
            1 | 2 => Geometry::Box { half: Vec3::new(0.2, 0.3, 0.1) },
            3 => Geometry::Capsule { radius: 0.1, half_length: 0.2 },
            4 => Geometry::Cylinder { radius: 0.2, half_length: 0.2 },
            5 => Geometry::Ellipsoid { semi_axes: Vec3::new(0.1, 0.2, 0.3) },
            _ => {
                let points: Vec<Vec3> = (0..10).map(|_| random_vector(random, 0.3)).collect();
                Geometry::Hull(Arc::new(Hull::new(&points).unwrap()))
            }
        };
        // Two colliders per body.
        let mut collider = Collider::new(i as u32 / 2, shape).at(pose(random, 0.2));
        collider.group = 1 << (i % 3);
        collider.mask = if i % 5 == 0 { 0b101 } else { 0b111 };
        collider.margin = 0.01;
        all.push(collider);
    }
    all.push(Collider::new(WORLD, Geometry::HalfSpace).at(Pose::at(Vec3::new(0.0, 0.0, -1.0))));
    all.push(Collider::new(WORLD, Geometry::HeightField(Arc::new(wavy_field(12, 12)))));
    all
}

#[test]
fn a_half_space_that_is_put_elsewhere_meets_what_it_was_far_from() {
    let mut floor = Collider::new(WORLD, Geometry::HalfSpace);
    let ball = Collider::new(0, Geometry::Sphere { radius: 0.1 });
    let bodies = [Pose::at(Vec3::new(0.0, 0.0, 3.0))];
    let mut detector = Detector::new();
    assert_eq!(detector.update(&[floor.clone(), ball.clone()], &bodies, &[]).len(), 0);
    floor.pose = Pose::at(Vec3::new(0.0, 0.0, 2.95));
    assert_eq!(detector.update(&[floor.clone(), ball.clone()], &bodies, &[]).len(), 1);
    floor.pose = Pose::identity();
    floor.margin = 2.95;
    assert_eq!(detector.update(&[floor, ball], &bodies, &[]).len(), 1);
}

/// One that leaves its skin in every other step is sought for far less often while it goes on, and found where it turns back.
#[test]
fn who_moves_on_has_room_ahead() {
    let ball = |k: u32| Collider::new(k, Geometry::Sphere { radius: 0.1 });
    let (colliders, mut detector) = ([ball(0), ball(1)], Detector::new());
    let mut met = Vec::new();
    for step in 0..80 {
        let x = 0.008 * f64::from(if step < 40 { step } else { 80 - step });
        let bodies = [Pose::at(Vec3::new(x, 0.0, 0.0)), Pose::at(Vec3::new(0.45, 0.0, 0.0))];
        let touch = !detector.update(&colliders, &bodies, &[]).is_empty();
        assert_eq!(touch, 0.45 - x <= 0.2, "{step}");
        met.push(touch);
    }
    assert!(met.iter().filter(|t| **t).count() > 10 && !met[79]);
    assert!(detector.rebuilds() < 20, "{}", detector.rebuilds());
}

#[test]
fn the_detector_finds_what_all_pairs_from_scratch_give_bit_for_bit() {
    let mut random = Random::new(3);
    let colliders = zoo(&mut random, 120);
    let mut bodies: Vec<Pose> = (0..60).map(|_| pose(&mut random, 1.5)).collect();
    let mut detector = Detector::new();
    detector.exclude(7, 3);
    let (mut total, mut memory) = (0, Memory::default());
    let (mut begun, mut ended) = (0, 0);
    let mut touching: Vec<(u32, u32)> = Vec::new();
    for step in 0..30 {
        let reach: Vec<f64> = (0..60).map(|i| 0.001 * f64::from(i % 4)).collect();
        let found = detector.update(&colliders, &bodies, &reach).to_vec();
        let mut expected = Vec::new();
        for a in 0..colliders.len() {
            for b in a + 1..colliders.len() {
                let (ca, cb) = (&colliders[a], &colliders[b]);
                let pair = (ca.body.min(cb.body), ca.body.max(cb.body));
                if pair.0 == pair.1 || pair == (3, 7) || ca.mask & cb.group == 0 || cb.mask & ca.group == 0 {
                    continue;
                }
                let r = |c: &Collider| reach.get(c.body as usize).copied().unwrap_or(0.0) + c.margin;
                let [at_a, at_b] = [ca, cb].map(|c| Frame::of(&c.placed(&bodies)));
                let (margin, first) = (r(ca) + r(cb), expected.len());
                collide(
                    (&ca.shape, &at_a),
                    (&cb.shape, &at_b),
                    margin,
                    &mut Witness::None,
                    &mut memory,
                    &mut expected,
                );
                expected[first..].iter_mut().for_each(|m| (m.a, m.b) = (a as u32, b as u32));
            }
        }
        let first = found.iter().zip(&expected).find(|(x, y)| x != y);
        assert!(first.is_none() && found.len() == expected.len(), "step {step}: {first:?}");
        total += found.len();
        let mut now: Vec<(u32, u32)> =
            expected.iter().filter(|m| m.gap() <= 0.0).map(|m| (m.a, m.b)).collect();
        now.dedup();
        let new: Vec<_> = now.iter().filter(|p| !touching.contains(p)).copied().collect();
        let gone: Vec<_> = touching.iter().filter(|p| !now.contains(p)).copied().collect();
        assert_eq!(detector.begun().collect::<Vec<_>>(), new);
        assert_eq!(detector.ended().collect::<Vec<_>>(), gone);
        (begun, ended) = (begun + new.len(), ended + gone.len());
        touching = now;
        for body in &mut bodies {
            let [shift, turn] = [0; 2].map(|_| random_vector(&mut random, 0.01));
            *body = Pose::new(body.position + shift, exp(&turn) * body.rotation);
        }
    }
    assert!(total > 1000 && begun > 60 && ended > 20, "{total} {begun} {ended}");
    assert!(detector.rebuilds() > 1);
}

#[test]
fn nothing_is_done_anew_while_nothing_moves_far() {
    let mut random = Random::new(5);
    let colliders = zoo(&mut random, 40);
    let mut bodies: Vec<Pose> = (0..20).map(|_| pose(&mut random, 1.0)).collect();
    let mut detector = Detector::new();
    for _ in 0..20 {
        detector.update(&colliders, &bodies, &[]);
        bodies.iter_mut().for_each(|b| b.position.x += 1e-5);
    }
    assert_eq!(detector.rebuilds(), 1);
}

fn flat_mesh(n: u32, size: f64) -> Mesh {
    let vertices: Vec<Vec3> = (0..(n + 1) * (n + 1))
        .map(|k| Vec3::new(f64::from(k % (n + 1)), f64::from(k / (n + 1)), 0.0) * (size / f64::from(n)))
        .map(|p| p - Vec3::new(0.5 * size, 0.5 * size, 0.0))
        .collect();
    let mut triangles = Vec::new();
    for j in 0..n {
        for i in 0..n {
            let a = j * (n + 1) + i;
            triangles.extend([[a, a + 1, a + n + 2], [a, a + n + 2, a + n + 1]]);
        }
    }
    Mesh::new(vertices, &triangles).unwrap()
}

#[test]
fn on_a_flat_floor_of_triangles_every_normal_is_up() {
    let field = HeightField::new(21, 21, [0.1, 0.1], vec![0.0; 441]).unwrap();
    let floors = [Geometry::Mesh(Arc::new(flat_mesh(20, 2.0))), Geometry::HeightField(Arc::new(field))];
    let things: [(Geometry, f64, usize); 4] = [
        (Geometry::Sphere { radius: 0.13 }, 0.13, 1),
        (Geometry::Box { half: Vec3::new(0.17, 0.22, 0.1) }, 0.1, 4),
        (Geometry::Cylinder { radius: 0.15, half_length: 0.2 }, 0.2, 4),
        (Geometry::Ellipsoid { semi_axes: Vec3::new(0.2, 0.3, 0.1) }, 0.1, 1),
    ];
    let mut random = Random::new(11);
    for floor in &floors {
        for (shape, height, points) in &things {
            let colliders = [Collider::new(0, shape.clone()), Collider::new(WORLD, floor.clone())];
            let mut detector = Detector::new();
            for round in 0..60 {
                // Sunk in by a millimetre, or just above.
                let gap = if round % 2 == 0 { -1e-3 } else { 5e-4 };
                let at = Vec3::new(random.between(-0.5, 0.5), random.between(-0.5, 0.5), height + gap);
                let turn = exp(&Vec3::new(0.0, 0.0, random.between(-3.0, 3.0)));
                let found = detector.update(&colliders, &[Pose::new(at, turn)], &[1e-3]);
                let name = format!("{} on {}", shape.kind(), floor.kind());
                assert_eq!(found.len(), 1, "{name} {round}: {found:?}");
                assert!((found[0].normal - Vec3::z()).norm() < 1e-12, "{name}: {}", found[0].normal);
                assert!((found[0].gap() - gap).abs() < 1e-12, "{name}: {} {gap}", found[0].gap());
                assert_eq!(found[0].points().len(), *points, "{name} at {at}: {found:?}");
            }
        }
    }
}

#[test]
fn a_ball_under_a_field_of_heights_is_brought_up_again() {
    let field = Geometry::HeightField(Arc::new(wavy_field(20, 20)));
    let colliders = [Collider::new(0, Geometry::Sphere { radius: 0.1 }), Collider::new(WORLD, field)];
    let mut random = Random::new(2);
    for _ in 0..200 {
        let at = Vec3::new(random.between(-2.0, 2.0), random.between(-2.0, 2.0), random.between(-3.0, -0.6));
        let found = Detector::new().update(&colliders, &[Pose::at(at)], &[]).to_vec();
        assert!(found.iter().any(|m| m.gap() < -0.1 && m.normal.z > 0.5), "{at}: {found:?}");
        assert!(found.iter().all(|m| m.normal.z > 0.0));
    }
}

#[test]
fn a_million_triangles_build_and_answer() {
    let mesh = flat_mesh(708, 1000.0);
    let colliders = [
        Collider::new(0, Geometry::Sphere { radius: 0.5 }),
        Collider::new(WORLD, Geometry::Mesh(Arc::new(mesh))),
    ];
    let mut detector = Detector::new();
    for k in 0..100 {
        let x = -450.0 + 9.0 * f64::from(k);
        let found = detector.update(&colliders, &[Pose::at(Vec3::new(x, -x, 0.49))], &[]);
        assert_eq!(found.len(), 1);
        assert!((found[0].gap() + 0.01).abs() < 1e-12 && found[0].normal == Vec3::z());
    }
}

#[test]
fn degenerate_input_gives_finite_answers() {
    let flat: Vec<Vec3> = (0..9).map(|k| Vec3::new(f64::from(k % 3), f64::from(k / 3), 0.0) * 0.2).collect();
    let line: Vec<Vec3> = (0..4).map(|k| Vec3::new(0.1, 0.2, 0.3) * f64::from(k)).collect();
    let hull = |points: &[Vec3]| Geometry::Hull(Arc::new(Hull::new(points).unwrap()));
    assert_eq!(Hull::new(&flat).unwrap().vertices().len(), 4);
    assert_eq!(Hull::new(&line).unwrap().vertices().len(), 2);
    assert_eq!(Hull::new(&[]), Err(HullError::Empty));
    assert!(matches!(Hull::new(&[Vec3::repeat(f64::NAN)]), Err(HullError::NotFinite { point: 0, .. })));
    // Triangles without an area are left out; a surface of none but such is refused.
    let corners = vec![Vec3::zeros(), Vec3::x(), 2.0 * Vec3::x(), Vec3::y(), Vec3::zeros()];
    let mesh = Mesh::new(corners.clone(), &[[0, 1, 2], [0, 1, 3], [0, 4, 1]]).unwrap();
    assert_eq!((mesh.dropped(), mesh.is_closed()), (2, false));
    assert_eq!(Mesh::new(corners.clone(), &[[0, 1, 2]]).unwrap_err(), SurfaceError::Empty);
    assert!(matches!(Mesh::new(corners, &[[0, 1, 9]]), Err(SurfaceError::OutOfRange { vertex: 9, .. })));
    assert!(HeightField::new(1, 5, [0.1, 0.1], vec![0.0; 5]).is_err());
    assert!(HeightField::new(2, 2, [0.1, 0.1], vec![0.0; 5]).is_err());
    let shapes = [
        hull(&flat),
        hull(&line),
        hull(&[Vec3::new(0.1, 0.0, 0.0)]),
        Geometry::Sphere { radius: 0.2 },
        Geometry::Box { half: Vec3::new(0.3, 1e-9, 0.2) },
        Geometry::Box { half: Vec3::new(0.3, 0.3, 0.2) },
        Geometry::Capsule { radius: 0.1, half_length: 0.0 },
        Geometry::Cylinder { radius: 0.2, half_length: 1e-9 },
        Geometry::Cone { radius: 0.2, half_length: 0.3 },
        Geometry::Ellipsoid { semi_axes: Vec3::new(1e-3, 0.3, 0.2) },
        Geometry::Mesh(Arc::new(mesh)),
        Geometry::HeightField(Arc::new(wavy_field(5, 5))),
        Geometry::HalfSpace,
    ];
    let mut random = Random::new(17);
    let mut touched = 0;
    for a in &shapes {
        for b in &shapes {
            let colliders = [Collider::new(0, a.clone()), Collider::new(1, b.clone())];
            for far in [0.0, 1e6, 1e12] {
                let mut detector = Detector::new();
                for k in 0..20 {
                    let origin = Vec3::new(far, -far, 0.5 * far);
                    // The same place, aligned, turned, touching in some ways; then passing at 10⁴ m/s and 1 ms steps.
                    let shift = match k {
                        0 => Vec3::zeros(),
                        1..8 => random_vector(&mut random, 0.3),
                        _ => Vec3::new(10.0 * f64::from(k - 14), 0.0, 0.0),
                    };
                    let turn = if k % 2 == 0 { Vec3::zeros() } else { random_vector(&mut random, 3.0) };
                    let bodies = [Pose::at(origin), Pose::new(origin + shift, exp(&turn))];
                    let reach = if k < 8 { 0.01 } else { 10.0 };
                    for m in detector.update(&colliders, &bodies, &[reach, reach]) {
                        touched += 1;
                        assert!((m.normal.norm() - 1.0).abs() < 1e-9, "{} {}: {m:?}", a.kind(), b.kind());
                        assert!((1..=4).contains(&m.points().len()));
                        for t in m.points() {
                            assert!(t.gap.is_finite() && t.point.iter().all(|x| x.is_finite()));
                        }
                    }
                }
                // What is not a number meets nothing.
                let bodies = [Pose::at(Vec3::repeat(f64::NAN)), Pose::at(Vec3::repeat(f64::INFINITY))];
                assert!(detector.update(&colliders, &bodies, &[]).is_empty());
            }
        }
    }
    assert!(touched > 5000, "{touched}");
}
