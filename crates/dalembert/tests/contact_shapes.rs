//! Meshes, parts of meshes and particles that touch, and what nobody should ask for: whole scenes under `impulse`.

use std::sync::Arc;

use dalembert::bodies::Shell;
use dalembert::math::rotation::exp;
use dalembert::mesh::Fineness;
use dalembert::prelude::*;

fn scene(settings: Impulse, dt: f64) -> Scene {
    let mut scene = Scene { method: Method::Impulse(settings), dt, ..Scene::default() };
    scene.add(Ground::default());
    scene
}

fn block(at: [f64; 3], size: [f64; 3]) -> (Pose, Shape) {
    (Pose::at(at.into()), Shape::Box { size: size.into() })
}

fn mesh(parts: Vec<(Pose, Shape)>) -> Shape {
    Shape::Mesh(Arc::new(Shape::Compound(parts).triangles()))
}

/// A square ring of 1 m around z, 0.2 m high, with a hole of 0.6 m.
fn ring() -> Shape {
    mesh(vec![
        block([0.4, 0.0, 0.0], [0.2, 1.0, 0.2]),
        block([-0.4, 0.0, 0.0], [0.2, 1.0, 0.2]),
        block([0.0, 0.4, 0.0], [0.6, 0.2, 0.2]),
        block([0.0, -0.4, 0.0], [0.6, 0.2, 0.2]),
    ])
}

fn hold(scene: &mut Scene, body: &str) {
    scene.add(JointItem::new(format!("hold {body}"), JointKind::Fixed, "world", body));
}

fn z(sim: &Simulation, body: usize) -> f64 {
    sim.state.q[7 * body + 2]
}

fn all_finite(sim: &Simulation) -> bool {
    sim.state.q.iter().chain(&sim.state.v).all(|x| x.is_finite())
}

/// A ring that falls over a post of 1 m, 0.5 m wide, a little off its middle.
fn ring_over_post(collide: Collide) -> Simulation {
    let mut s = scene(Impulse::default(), 4e-3);
    s.add(RigidBody::new("post", mesh(vec![block([0.0; 3], [0.5, 0.5, 1.0])])).at([0.0, 0.0, 0.5]));
    hold(&mut s, "post");
    let turn = exp(&Vec3::new(0.0, 0.0, 0.05));
    s.add(RigidBody::new("ring", ring()).at([0.02, -0.01, 1.3]).turned(turn).mass(2.0).collide(collide));
    let mut sim = s.build().unwrap();
    sim.run(1.6).unwrap();
    sim
}

#[test]
fn a_ring_falls_over_a_post_unless_its_hole_is_filled() {
    for collide in [Collide::Surface, Collide::Parts(Fineness::default())] {
        let sim = ring_over_post(collide);
        assert!((z(&sim, 1) - 0.1).abs() < 1e-3, "{collide:?}: {}", z(&sim, 1));
        let still = sim.state.v[6..12].iter().all(|v| v.abs() < 1e-3);
        assert!(still, "{collide:?}: {:?}", &sim.state.v[6..12]);
        assert!(sim.model.warnings.is_empty());
    }
    let filled = ring_over_post(Collide::Automatic);
    assert!((z(&filled, 1) - 1.1).abs() < 1e-3, "{}", z(&filled, 1));
    // Told once, with the ratio 1 / (1 − 0.36).
    let notes = &filled.model.warnings;
    assert_eq!(notes.len(), 1, "{notes:?}");
    let text = notes[0].to_string();
    assert!(text.contains("`ring`") && text.contains("1.56") && text.contains("decomposition"), "{text}");
    assert!(ring_over_post(Collide::Hull).model.warnings.is_empty());
}

#[test]
fn hollow_meshes_stack_on_each_other() {
    let mut s = scene(Impulse::default(), 4e-3);
    for k in 0..3 {
        let at = [0.01 * f64::from(k), 0.0, 0.1 + 0.2 * f64::from(k)];
        let turn = exp(&(Vec3::z() * 0.2 * f64::from(k)));
        s.add(
            RigidBody::new(format!("ring{k}"), ring())
                .at(at)
                .turned(turn)
                .mass(1.0)
                .collide(Collide::Surface),
        );
    }
    let mut sim = s.build().unwrap();
    let start = sim.state.q.clone();
    sim.run(2.0).unwrap();
    for k in 0..3 {
        let way = (0..3).map(|i| (sim.state.q[7 * k + i] - start[7 * k + i]).abs()).fold(0.0, f64::max);
        assert!(way < 1e-4, "ring {k}: {way}");
    }
}

#[test]
fn particles_rest_slide_and_stop_by_friction() {
    let (mu, v, r) = (0.3, 2.0, 0.05);
    let mut s = scene(Impulse { friction: mu, ..Impulse::default() }, 1e-3);
    s.add(ParticleSet::at("bead", [0.0, 0.0, r]).velocity([v, 0.0, 0.0]).radius(r));
    s.add(ParticleSet::at("stone", [0.0, 1.0, 0.5]).radius(r));
    s.add(ParticleSet::at("ghost", [0.0, 2.0, 0.5]));
    let mut sim = s.build().unwrap();
    sim.run(1.0).unwrap();
    let q = &sim.state.q;
    // v²/(2μg), to a step's way.
    let far = v * v / (2.0 * mu * 9.81);
    assert!((q[0] - far).abs() < 2.0 * v * 1e-3, "{} {far}", q[0]);
    assert!((q[2] - r).abs() < 1e-6 && (q[5] - r).abs() < 1e-4, "{} {}", q[2], q[5]);
    assert!(q[8] < -3.0, "one without a radius falls through: {}", q[8]);
    let forces: f64 = sim.model.contact_forces(&sim.state).map(|c| c.force.z.abs()).sum();
    assert!((forces - 2.0 * 9.81).abs() < 1e-6, "{forces}");
}

#[test]
fn a_particle_and_a_ball_share_their_momentum() {
    let settings = Impulse { friction: 0.5, restitution: 1.0, ..Impulse::default() };
    let mut s = Scene { method: Method::Impulse(settings), dt: 1e-3, ..Scene::default() };
    s.gravity = Vec3::zeros();
    s.add(ContactRule::between("*", "*"));
    s.add(RigidBody::new("ball", Shape::Sphere { radius: 0.1 }).mass(3.0));
    s.add(ParticleSet::at("shot", [-1.0, 0.0, 0.0]).mass(1.0).velocity([4.0, 0.0, 0.0]).radius(0.05));
    let mut sim = s.build().unwrap();
    sim.run(0.5).unwrap();
    // Head on without loss: (m−M)/(m+M) v and 2m/(m+M) v.
    assert!((sim.state.v[0] - 2.0).abs() < 1e-9, "{}", sim.state.v[0]);
    assert!((sim.state.v[6] + 2.0).abs() < 1e-9, "{}", sim.state.v[6]);
}

#[test]
fn a_net_of_particles_catches_a_ball() {
    let mut s = Scene { method: Method::Impulse(Impulse::default()), dt: 1e-3, ..Scene::default() };
    s.add(ContactRule::between("*", "*"));
    let n = 9;
    let grid = (0..n * n).map(|k| Vec3::new(f64::from(k % n) * 0.1 - 0.4, f64::from(k / n) * 0.1 - 0.4, 0.0));
    s.add(ParticleSet::new("net", Arrangement::Positions(grid.collect())).mass(0.02).radius(0.03));
    let pairs = |k: i32| {
        let right = (k % n < n - 1).then(|| [format!("net[{k}]"), format!("net[{}]", k + 1)]);
        let up = (k / n < n - 1).then(|| [format!("net[{k}]"), format!("net[{}]", k + n)]);
        [right, up].into_iter().flatten()
    };
    let mut springs = SpringSet::between("threads", "net[0]", "net[1]").stiffness(500.0).damping(0.5);
    springs.pairs = (0..n * n).flat_map(pairs).collect();
    s.add(springs);
    s.add(DragSet { name: "air".into(), on: vec!["net".into()], linear: 0.2, ..DragSet::default() });
    let rim = (0..n * n).filter(|k| k % n == 0 || k % n == n - 1 || k / n == 0 || k / n == n - 1);
    s.add(Fix { on: rim.map(|k| format!("net[{k}]")).collect(), ..Fix::default() });
    s.add(RigidBody::new("ball", Shape::Sphere { radius: 0.15 }).mass(1.0).at([0.0, 0.0, 0.4]));
    let mut sim = s.build().unwrap();
    sim.run(4.0).unwrap();
    assert!(all_finite(&sim));
    assert!(z(&sim, 0) > -0.3 && z(&sim, 0) < 0.17, "{}", z(&sim, 0));
    let mut mean = 0.0;
    for _ in 0..200 {
        sim.step().unwrap();
        mean += sim.model.contact_force_on(&sim.state, "ball").unwrap().z / 200.0;
    }
    // The mean of 0.2 s at speeds below 0.01 m/s.
    assert!((mean - 9.81).abs() < 0.1, "{mean}");
}

#[test]
fn lagrange_refuses_particles_that_touch_and_says_what_to_do() {
    let mut s = Scene { method: Method::Lagrange(Lagrange::default()), ..Scene::default() };
    s.add(Ground::default());
    s.add(RigidBody::new("ball", Shape::Sphere { radius: 0.1 }).at([0.0, 0.0, 1.0]));
    s.add(ParticleSet::at("bead", [1.0, 0.0, 1.0]).radius(0.1));
    let text = s.build().unwrap_err().to_string();
    assert!(text.contains("`bead`") && text.contains("radius") && text.contains("`impulse`"), "{text}");
}

/// Ground of triangles over a square of `n` cells of 0.5 m: waves of 0.1 m along x.
fn waves(n: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let m = n + 1;
    let at = |k: u32| {
        let x = f64::from(k % m) * 0.5 - 0.25 * f64::from(n);
        Vec3::new(x, f64::from(k / m) * 0.5 - 0.25 * f64::from(n), 0.1 * (2.0 * x).sin())
    };
    let mut triangles = Vec::new();
    for j in 0..n {
        for i in 0..n {
            let k = j * m + i;
            triangles.push([k, k + 1, k + m + 1]);
            triangles.push([k, k + m + 1, k + m]);
        }
    }
    ((0..m * m).map(at).collect(), triangles)
}

fn on_terrain(n: u32, extra: &[[u32; 3]]) -> Simulation {
    let mut s = Scene { method: Method::Impulse(Impulse::default()), dt: 2e-3, ..Scene::default() };
    s.add(ContactRule::between("*", "*"));
    let (points, mut triangles) = waves(n);
    triangles.extend_from_slice(extra);
    let ground = Shell::new(points, triangles, 1e-3);
    s.add(RigidBody::new("terrain", Shape::Shell(Arc::new(ground.unwrap()))).mass(1.0));
    hold(&mut s, "terrain");
    for k in 0..5 {
        let at = [f64::from(k) * 1.1 - 2.0, 0.3, 0.6];
        s.add(RigidBody::new(format!("ball{k}"), Shape::Sphere { radius: 0.3 }).mass(1.0).at(at));
    }
    s.build().unwrap()
}

#[test]
fn balls_lie_in_the_hollows_of_an_open_terrain() {
    let mut sim = on_terrain(60, &[]);
    sim.run(3.0).unwrap();
    assert!(all_finite(&sim));
    for k in 1..6 {
        // Nowhere lower than the lowest point of the surface lets it.
        assert!(z(&sim, k) > 0.19 && z(&sim, k) < 0.45, "{k}: {}", z(&sim, k));
    }
}

#[test]
fn things_fall_on_a_terrain_of_a_million_triangles() {
    let mut sim = on_terrain(708, &[]);
    for _ in 0..200 {
        sim.step().unwrap();
    }
    assert!(all_finite(&sim) && !sim.state.contacts.is_empty());
}

#[test]
fn triangles_without_an_area_change_nothing() {
    // Two corners the same, all three in a line: next to one that is whole.
    let bad = [[5, 5, 6], [0, 1, 2], [7, 7, 7]];
    match Shell::new(waves(10).0, [waves(10).1, bad.to_vec()].concat(), 1e-3) {
        // Refused with the number of the triangle is as good.
        Err(error) => assert!(error.to_string().contains("200"), "{error}"),
        Ok(_) => {
            let (mut with, mut without) = (on_terrain(10, &bad), on_terrain(10, &[]));
            with.run(0.5).unwrap();
            without.run(0.5).unwrap();
            assert_eq!(with.state.q, without.state.q);
        }
    }
    // In a line but with three different corners.
    let thin = [[0, 1, 2]];
    let mut sim = on_terrain(10, &thin);
    sim.run(1.0).unwrap();
    assert!(all_finite(&sim) && (1..6).all(|k| z(&sim, k) > 0.19));
}

#[test]
fn a_plate_of_coplanar_points_falls_flat() {
    let mut s = scene(Impulse::default(), 2e-3);
    let corners = [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5], [0.0, 0.0]];
    let points: Vec<Vec3> = corners.iter().map(|c| Vec3::new(c[0], c[1], 0.0)).collect();
    let plate = Shell::new(points, vec![[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]], 1e-3).unwrap();
    let turn = exp(&Vec3::new(0.3, 0.1, 0.0));
    s.add(RigidBody::new("plate", Shape::Shell(Arc::new(plate))).mass(1.0).at([0.0, 0.0, 0.6]).turned(turn));
    let mut sim = s.build().unwrap();
    sim.run(2.0).unwrap();
    assert!(all_finite(&sim) && z(&sim, 0).abs() < 1e-3, "{}", z(&sim, 0));
    assert!(sim.state.v[..6].iter().all(|v| v.abs() < 1e-3), "{:?}", &sim.state.v[..6]);
}

#[test]
fn negative_friction_is_refused_and_lively_bounces_are_told() {
    let mut s = scene(Impulse::default(), 1e-3);
    s.add(RigidBody::new("ball", Shape::Sphere { radius: 0.1 }).at([0.0, 0.0, 1.0]));
    s.add(ContactRule { friction: Some(-0.3), ..ContactRule::between("ball", "ground") });
    let text = s.build().unwrap_err().to_string();
    assert!(text.contains("friction") && text.contains("-0.3"), "{text}");
    let mut s = scene(Impulse { friction: -1.0, ..Impulse::default() }, 1e-3);
    s.add(RigidBody::new("ball", Shape::Sphere { radius: 0.1 }).at([0.0, 0.0, 1.0]));
    let text = s.build().unwrap_err().to_string();
    assert!(text.contains("friction") && text.contains("-1"), "{text}");

    let mut s = scene(Impulse::default(), 1e-3);
    s.add(RigidBody::new("ball", Shape::Sphere { radius: 0.1 }).at([0.0, 0.0, 1.0]));
    s.add(ContactRule { restitution: Some(1.1), ..ContactRule::between("ball", "ground") });
    let mut sim = s.build().unwrap();
    let notes = sim.model.warnings.clone();
    assert!(notes.len() == 1 && notes[0].message.contains("1.1"), "{notes:?}");
    let mut highest = 0.0f64;
    for _ in 0..1200 {
        sim.step().unwrap();
        if sim.state.time > 0.5 {
            highest = highest.max(z(&sim, 0));
        }
    }
    // e² times the height of the fall.
    assert!((highest - (0.1 + 0.9 * 1.21)).abs() < 1e-2, "{highest}");
}

#[test]
fn a_stack_stands_a_thousand_kilometres_away() {
    for far in [0.0, 1e6, -1e6] {
        let mut s = scene(Impulse::default(), 4e-3);
        for k in 0..4 {
            let at = [far, 0.5 * far, 0.1 + 0.2 * f64::from(k)];
            s.add(RigidBody::new(format!("box{k}"), Shape::Box { size: Vec3::repeat(0.2) }).at(at).mass(1.0));
        }
        let at = [far + 1.0, 0.5 * far, 0.3];
        s.add(RigidBody::new("ring", ring()).mass(1.0).at(at).collide(Collide::Surface));
        let mut sim = s.build().unwrap();
        sim.run(2.0).unwrap();
        assert!(all_finite(&sim));
        for k in 0..4 {
            let gone = (sim.state.q[7 * k] - far).abs();
            // A coordinate of 10^6 m has digits down to 10^-10 m.
            assert!(gone < 1e-6 && (z(&sim, k) - 0.1 - 0.2 * k as f64).abs() < 1e-4, "{far} {k}: {gone}");
        }
        assert!((z(&sim, 4) - 0.1).abs() < 1e-3, "{far}: {}", z(&sim, 4));
    }
}

#[test]
fn nothing_passes_through_at_ten_kilometres_a_second() {
    let wall = |collide: Collide| {
        let mut s = Scene { method: Method::Impulse(Impulse::default()), dt: 1e-3, ..Scene::default() };
        s.gravity = Vec3::zeros();
        s.add(ContactRule::between("*", "*"));
        s.add(RigidBody::new("wall", mesh(vec![block([0.0; 3], [0.05, 4.0, 4.0])])).collide(collide));
        hold(&mut s, "wall");
        s.add(
            RigidBody::new("ball", Shape::Sphere { radius: 0.1 })
                .mass(1.0)
                .at([-23.4, 0.2, 0.1])
                .velocity([1e4, 0.0, 0.0]),
        );
        s.add(
            RigidBody::new("box", Shape::Box { size: Vec3::repeat(0.2) })
                .mass(1.0)
                .at([31.0, -0.5, 0.3])
                .velocity([-1e4, 10.0, 0.0]),
        );
        s.add(ParticleSet::at("shot", [-57.0, 1.0, 1.0]).velocity([1e4, 0.0, 0.0]).radius(0.01));
        s
    };
    for collide in [Collide::Hull, Collide::Surface] {
        let mut sim = wall(collide).build().unwrap();
        for _ in 0..30 {
            sim.step().unwrap();
            assert!(all_finite(&sim));
            let (ball, block, shot) = (sim.state.q[7], sim.state.q[14], sim.state.q[21]);
            assert!(ball < -0.1 && block > 0.1 && shot < 0.0, "{collide:?}: {ball} {block} {shot}");
        }
        // All three have hit.
        assert!(sim.state.v[6].abs() < 1.0 && sim.state.v[12].abs() < 1.0 && sim.state.v[18].abs() < 1.0);
    }
    // Two balls head on.
    let mut s = Scene { method: Method::Impulse(Impulse::default()), dt: 1e-3, ..Scene::default() };
    s.gravity = Vec3::zeros();
    s.add(ContactRule::between("*", "*"));
    for (name, x, v) in [("left", -35.0, 1e4), ("right", 35.0, -1e4)] {
        let ball = RigidBody::new(name, Shape::Sphere { radius: 0.1 }).mass(1.0);
        s.add(ball.at([x, 0.0, 0.0]).velocity([v, 0.0, 0.0]));
    }
    let mut sim = s.build().unwrap();
    for _ in 0..20 {
        sim.step().unwrap();
        assert!(sim.state.q[0] < sim.state.q[7], "{} {}", sim.state.q[0], sim.state.q[7]);
    }
    assert!((sim.state.v[0] + sim.state.v[6]).abs() < 1e-8);
}

#[test]
fn what_lies_in_each_other_parts_slowly() {
    let push = 1.0;
    let mut s = scene(Impulse { push_speed: push, ..Impulse::default() }, 2e-3);
    for k in 0..8 {
        let shape = match k % 3 {
            0 => Shape::Sphere { radius: 0.2 },
            1 => Shape::Box { size: Vec3::repeat(0.3) },
            _ => ring(),
        };
        // All in one place, and half in the ground.
        s.add(RigidBody::new(format!("body{k}"), shape).mass(1.0).at([0.0, 0.0, 0.05]));
    }
    let mut sim = s.build().unwrap();
    let mut before = sim.state.q.clone();
    for step in 0..1500 {
        sim.step().unwrap();
        assert!(all_finite(&sim));
        for k in 0..8 {
            let v = Vec3::from_fn(|i, _| sim.state.v[6 * k + i]);
            let way = Vec3::from_fn(|i, _| sim.state.q[7 * k + i] - before[7 * k + i]);
            // Pushes bring no velocity: only falls do. Several at once may add up.
            assert!(v.norm() < 4.0, "step {step}, body {k}: {v:?}");
            assert!(way.norm() < 2e-3 * (4.0 + 8.0 * push), "step {step}, body {k}: {way:?}");
        }
        before.copy_from_slice(&sim.state.q);
    }
    let deepest = sim.report.smallest_gap;
    assert!(deepest > -5e-3, "still {deepest}");
}
