//! Meshes on meshes, fields of heights and half-spaces, against shapes whose contacts are known.

use std::sync::Arc;

use super::geometry::Frame;
use super::narrow::{Memory, Witness, collide};
use super::{Collider, Detector, Geometry, HeightField, Manifold, Mesh, WORLD, distance};
use crate::bodies::Shape;
use crate::math::rotation::exp;
use crate::math::{Pose, Random, Vec3};

fn mesh_of(shape: &Shape) -> Geometry {
    let t = shape.triangles();
    Geometry::Mesh(Arc::new(Mesh::new(t.vertices().to_vec(), t.triangles()).unwrap()))
}

fn mesh_box(size: [f64; 3]) -> Geometry {
    mesh_of(&Shape::Box { size: size.into() })
}

/// Blocks that overlap each other in no more than faces, as one mesh.
fn blocks(list: &[([f64; 3], [f64; 3])]) -> Geometry {
    let parts = list.iter().map(|(at, size)| (Pose::at((*at).into()), Shape::Box { size: (*size).into() }));
    mesh_of(&Shape::Compound(parts.collect()))
}

fn contacts(a: (&Geometry, &Pose), b: (&Geometry, &Pose), margin: f64) -> Vec<Manifold> {
    let mut out = Vec::new();
    let (a, b) = ((a.0, &Frame::of(a.1)), (b.0, &Frame::of(b.1)));
    collide(a, b, margin, &mut Witness::None, &mut Memory::default(), &mut out);
    out
}

fn vector(random: &mut Random, size: f64) -> Vec3 {
    Vec3::from_fn(|_, _| random.between(-size, size))
}

fn least(found: &[Manifold]) -> f64 {
    found.iter().fold(f64::INFINITY, |least, m| least.min(m.gap()))
}

#[test]
fn a_mesh_over_a_half_space_touches_as_the_solid_does() {
    let mut random = Random::new(3);
    let size = [0.4, 0.6, 0.5];
    let solid = Geometry::Box { half: 0.5 * Vec3::from(size) };
    let mesh = mesh_box(size);
    let mut touched = 0;
    for _ in 0..200 {
        let pose = Pose::new(vector(&mut random, 0.4), exp(&vector(&mut random, 3.0)));
        let plane = Pose::new(vector(&mut random, 0.1), exp(&vector(&mut random, 0.5)));
        let known = contacts((&solid, &pose), (&Geometry::HalfSpace, &plane), 0.02);
        for (found, sign) in [
            (contacts((&mesh, &pose), (&Geometry::HalfSpace, &plane), 0.02), 1.0),
            (contacts((&Geometry::HalfSpace, &plane), (&mesh, &pose), 0.02), -1.0),
        ] {
            assert_eq!(found.len(), known.len());
            for (f, k) in found.iter().zip(&known) {
                touched += 1;
                assert!((f.gap() - k.gap()).abs() < 1e-12, "{} {}", f.gap(), k.gap());
                assert!((f.normal * sign - k.normal).norm() < 1e-12);
            }
        }
    }
    assert!(touched > 100, "{touched}");
}

#[test]
fn meshes_of_boxes_touch_where_boxes_do() {
    let mut random = Random::new(11);
    let sizes = [[0.4, 0.6, 0.5], [0.7, 0.3, 0.5]];
    let solids = sizes.map(|s| Geometry::Box { half: 0.5 * Vec3::from(s) });
    let meshes = sizes.map(mesh_box);
    let margin = 0.004;
    let (mut apart, mut sunk, mut missed) = (0, 0, 0);
    for _ in 0..400 {
        let still = Pose::new(vector(&mut random, 0.2), exp(&vector(&mut random, 3.0)));
        let turn = exp(&vector(&mut random, 3.0));
        let direction = vector(&mut random, 1.0).try_normalize(1e-3).unwrap_or_else(Vec3::x);
        let at = |t: f64| Pose::new(still.position + direction * t, turn);
        let gap = |t: f64| distance((&solids[0], &at(t)), (&solids[1], &still)).unwrap();
        // The gap wanted, by halving.
        let wanted = random.between(-0.003, 0.003);
        let (mut low, mut high) = (0.0, 2.0);
        for _ in 0..60 {
            let t = 0.5 * (low + high);
            if gap(t).gap < wanted { low = t } else { high = t }
        }
        let (pose, known) = (at(high), gap(high));
        let found = contacts((&meshes[0], &pose), (&meshes[1], &still), margin);
        let same = |m: &&Manifold| m.normal.dot(&known.normal) > 1.0 - 1e-9;
        if wanted > 0.0 {
            // No feature is nearer than the shapes are, but for corners that count as over a face from a ten-thousandth of
            // the diagonal beside it on; corner against edge is seen only once it is over a face.
            assert!(least(&found) >= known.gap - 9e-5, "{} {}", least(&found), known.gap);
            match found.iter().find(same) {
                Some(m) => assert!((m.gap() - known.gap).abs() < 1e-9, "{} {}", m.gap(), known.gap),
                None => missed += 1,
            }
            apart += 1;
        } else {
            sunk += 1;
            let m = found.iter().find(same);
            let m = m.unwrap_or_else(|| panic!("{wanted} along {:?}: {found:?}", known.normal));
            assert!((m.gap() - known.gap).abs() < 1e-9, "{} {}", m.gap(), known.gap);
            assert!(least(&found) >= known.gap - 1e-3, "deeper: {} {}", least(&found), known.gap);
        }
    }
    assert!(apart > 150 && sunk > 150 && missed < apart / 3, "{apart} {sunk} {missed}");
}

#[test]
fn a_cube_lies_on_a_cube_with_its_four_corners() {
    let cube = mesh_box([1.0; 3]);
    // Aligned, sunk in a little: sides that coincide must not push sideways.
    for (x, gap) in [(0.0, -1e-6), (0.0, 1e-4), (0.3, -1e-6), (0.3, 0.0)] {
        let found =
            contacts((&cube, &Pose::at(Vec3::new(x, 0.0, 1.0 + gap))), (&cube, &Pose::identity()), 1e-3);
        assert_eq!(found.len(), 1, "{x} {gap}: {found:?}");
        assert!((found[0].normal - Vec3::z()).norm() < 1e-12);
        let points = found[0].points();
        assert_eq!(points.len(), 4);
        assert!(points.iter().all(|p| (p.gap - gap).abs() < 1e-12));
        let low = points.iter().fold(f64::INFINITY, |m, p| m.min(p.point.x));
        let high = points.iter().fold(f64::NEG_INFINITY, |m, p| m.max(p.point.x));
        assert!((low - (x - 0.5)).abs() < 1e-9 && (high - 0.5).abs() < 1e-9, "{low} {high}");
    }
}

/// A square ring around z.
fn ring() -> Geometry {
    blocks(&[
        ([0.4, 0.0, 0.0], [0.2, 1.0, 0.2]),
        ([-0.4, 0.0, 0.0], [0.2, 1.0, 0.2]),
        ([0.0, 0.4, 0.0], [0.6, 0.2, 0.2]),
        ([0.0, -0.4, 0.0], [0.6, 0.2, 0.2]),
    ])
}

#[test]
fn a_ring_hangs_free_around_a_post_and_touches_it_from_inside() {
    let post = mesh_box([0.5, 0.5, 2.0]);
    let none = contacts((&ring(), &Pose::identity()), (&post, &Pose::identity()), 0.04);
    assert!(none.is_empty(), "{none:?}");
    // Its inner side at +x comes to 0.01 of the post when it moves to the left.
    let at = Pose::at(Vec3::new(-0.04, 0.0, 0.0));
    let found = contacts((&ring(), &at), (&post, &Pose::identity()), 0.02);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!((found[0].normal - Vec3::x()).norm() < 1e-12, "{:?}", found[0].normal);
    assert!((found[0].gap() - 0.01).abs() < 1e-12 && found[0].points().len() == 4);
    // The other way round the normal turns.
    let found = contacts((&post, &Pose::identity()), (&ring(), &at), 0.02);
    assert!((found[0].normal + Vec3::x()).norm() < 1e-12);
}

#[test]
fn what_lies_in_a_room_is_not_pushed_through_its_ceiling() {
    // Floor and ceiling of 5 mm, thinner than the depth that is seen.
    let room = blocks(&[([0.0, 0.0, 0.0025], [1.0, 1.0, 0.005]), ([0.0, 0.0, 0.0225], [1.0, 1.0, 0.005])]);
    let chip = mesh_box([0.5, 0.5, 0.01]);
    let found = contacts((&chip, &Pose::at(Vec3::z() * 0.01)), (&room, &Pose::identity()), 1e-3);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!((found[0].normal - Vec3::z()).norm() < 1e-12 && found[0].gap().abs() < 1e-12);
}

#[test]
fn open_sheets_touch_from_both_sides() {
    let corner = |x: f64, y: f64| Vec3::new(x, y, 0.0);
    let sheet = Mesh::new(
        vec![corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)],
        &[[0, 1, 2], [0, 2, 3]],
    );
    let sheet = Geometry::Mesh(Arc::new(sheet.unwrap()));
    let cube = mesh_box([0.5; 3]);
    for side in [1.0, -1.0] {
        let at = Pose::at(Vec3::z() * side * 0.2505);
        let found = contacts((&cube, &at), (&sheet, &Pose::identity()), 1e-3);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!((found[0].normal - Vec3::z() * side).norm() < 1e-12);
        assert!((found[0].gap() - 5e-4).abs() < 1e-12 && found[0].points().len() == 4);
    }
}

#[test]
fn a_mesh_stands_on_a_field_of_heights_with_its_corners() {
    let field = HeightField::new(21, 21, [0.5, 0.5], vec![0.25; 441]).unwrap();
    let field = Geometry::HeightField(Arc::new(field));
    let cube = mesh_box([0.6; 3]);
    let at = Pose::new(Vec3::new(0.13, 0.21, 0.551), exp(&(Vec3::z() * 0.3)));
    let found = contacts((&cube, &at), (&field, &Pose::identity()), 0.01);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].points().len() == 4 && (found[0].gap() - 1e-3).abs() < 1e-12);
    let turned = contacts((&field, &Pose::identity()), (&cube, &at), 0.01);
    assert!((turned[0].normal + Vec3::z()).norm() < 1e-12);
}

#[test]
fn colliders_of_meshes_meet_in_the_detector() {
    let colliders = [
        Collider::new(0, mesh_box([1.0; 3])),
        Collider::new(WORLD, mesh_box([2.0, 2.0, 1.0])).at(Pose::at(Vec3::z() * -0.5)),
        Collider::new(WORLD, Geometry::HalfSpace).at(Pose::at(Vec3::z() * -1.0)),
    ];
    let mut detector = Detector::new();
    let found = detector.update(&colliders, &[Pose::at(Vec3::z() * 0.4999)], &[]);
    assert_eq!(found.len(), 1);
    assert!((found[0].gap() + 1e-4).abs() < 1e-12 && (found[0].normal - Vec3::z()).norm() < 1e-12);
}
