//! Contact under `impulse` over whole scenes: what stands, what holds, what resumes.

use dalembert::math::Random;
use dalembert::math::rotation::exp;
use dalembert::prelude::*;

fn scene(settings: Impulse, dt: f64) -> Scene {
    let mut scene = Scene { method: Method::Impulse(settings), dt, ..Scene::default() };
    scene.add(Ground::default());
    scene
}

fn cube(name: &str, size: f64, at: [f64; 3]) -> RigidBody {
    RigidBody::new(name, Shape::Box { size: Vec3::repeat(size) }).at(at).mass(1.0)
}

/// Tumbling boxes and balls that meet each other and the floor.
fn tumble(restitution: f64) -> Scene {
    let mut s = scene(Impulse { friction: 0.4, restitution, ..Impulse::default() }, 2e-3);
    for k in 0..12 {
        let t = f64::from(k);
        let at = [0.25 * (t * 1.7).sin(), 0.25 * (t * 2.3).cos(), 0.3 + 0.3 * t];
        let turn = exp(&Vec3::new(t.sin(), (2.0 * t).cos(), 0.3 * t));
        if k % 3 == 0 {
            s.add(RigidBody::new(format!("ball{k}"), Shape::Sphere { radius: 0.12 }).at(at).mass(0.7));
        } else {
            s.add(cube(&format!("box{k}"), 0.2, at).turned(turn).velocity([0.5 * t.cos(), 0.0, -1.0]));
        }
    }
    s
}

#[test]
fn energy_never_grows_by_impacts_and_friction() {
    for restitution in [0.0, 0.5] {
        let mut sim = tumble(restitution).build().unwrap();
        let mut least = sim.energy().total();
        for _ in 0..750 {
            sim.step().unwrap();
            let now = sim.energy().total();
            // Of some 150 J; a step at rest moves by rounding, an overlap that is parted lifts by micrometres.
            assert!(now <= least + 1e-3, "e = {restitution}, t = {}: {least} -> {now}", sim.state.time);
            least = least.min(now);
        }
        assert!(sim.state.q.iter().all(|x| x.is_finite()));
    }
}

/// Nine bodies of very different masses that spin fast, near each other above the floor.
fn wild(random: &mut Random, dt: f64) -> Scene {
    let mut s = scene(Impulse { friction: 1.2, restitution: 1.0, ..Impulse::default() }, dt);
    for k in 0..9u32 {
        let mut size = || random.between(0.03, 0.1);
        let shape = match k % 3 {
            0 => Shape::Box { size: Vec3::new(size(), size(), size()) },
            1 => Shape::Sphere { radius: 0.5 * size() },
            _ => Shape::Cylinder { radius: 0.5 * size(), length: size() },
        };
        let place = |i: u32| 0.175 * f64::from(i);
        let mut vector = |size: f64| [0; 3].map(|_| random.between(-size, size));
        let (v, w) = (vector(10.0), vector(200.0));
        let mass = 10f64.powf(random.between(-3.0, 3.0));
        let body = RigidBody::new(format!("b{k}"), shape).mass(mass).velocity(v).angular_velocity(w);
        s.add(body.at([place(k % 2), place(k / 2 % 2), 0.09 + place(k / 4)]));
    }
    s
}

#[test]
fn wild_motion_in_long_steps_adds_no_energy() {
    let mut random = Random::new(5);
    for run in 0..90 {
        let dt = [0.5, 0.05, 0.01][run % 3];
        let mut sim = wild(&mut random, dt).build().unwrap();
        let start = sim.energy().total();
        let weight = 9.81 * sim.model.rigid.inv_mass.iter().map(|m| 1.0 / m).sum::<f64>();
        let mut before = start;
        for step in 0..30 {
            let report = sim.step().unwrap();
            // A fifth of an overlap is parted in a step, and what that lifts has gained its weight times the way.
            let lift = 0.2 * weight * (-report.smallest_gap).max(0.0);
            let now = sim.energy().total();
            let most = before + lift + 1e-3 * start;
            assert!(
                now < most,
                "run {run}, dt {dt}, step {step}: {before} -> {now}, {lift} of it by lifting"
            );
            before = now;
        }
    }
}

#[test]
fn a_run_that_is_saved_and_resumed_keeps_its_bits() {
    let mut whole = tumble(0.3).build().unwrap();
    let mut first = tumble(0.3).build().unwrap();
    for _ in 0..300 {
        whole.step().unwrap();
        first.step().unwrap();
    }
    assert!(!first.state.contacts.is_empty());
    let mut packed = Vec::new();
    first.state.pack(&first.model.layout, &mut packed);
    let mut again = tumble(0.3).build().unwrap();
    again.state = State::unpack(&again.model.layout, &packed).unwrap();
    again.model.settle(&mut again.state);
    for _ in 0..300 {
        whole.step().unwrap();
        again.step().unwrap();
    }
    assert_eq!(whole.state, again.state);
    assert!(State::unpack(&again.model.layout, &packed[..packed.len() - 1]).is_err());
}

#[test]
fn a_stack_of_twenty_stands() {
    let mut s = scene(Impulse::default(), 5e-3);
    for k in 0..20 {
        s.add(cube(&format!("b{k}"), 0.2, [0.0, 0.0, 0.1 + 0.2 * f64::from(k)]));
    }
    let mut sim = s.build().unwrap();
    let start = sim.state.q.clone();
    for _ in 0..600 {
        sim.step().unwrap();
    }
    let worst = sim.state.q.iter().zip(&start).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-4, "{worst:e}");
    // The lowest carries all twenty.
    let floor: f64 = sim
        .model
        .contact_forces(&sim.state)
        .filter(|c| c.point.z.abs() < 0.05)
        .map(|c| c.force.z)
        .sum::<f64>();
    assert!((floor / (20.0 * 9.81) - 1.0).abs() < 1e-4, "{floor}");
}

/// Planar pyramids of 136 boxes, each an island of some thousand contacts, at these places along y.
fn pyramids(places: &[f64]) -> Scene {
    let mut s = scene(Impulse { friction: 0.6, ..Impulse::default() }, 1.0 / 60.0);
    for &y in places {
        for row in 0..16 {
            for i in 0..16 - row {
                let x = (f64::from(i) - 0.5 * f64::from(16 - row)) * 1.05;
                s.add(cube(&format!("{y} {row} {i}"), 1.0, [x, y, 0.5 + f64::from(row)]));
            }
        }
    }
    s
}

#[test]
fn an_island_moves_by_the_same_bits_whatever_else_the_scene_has() {
    let places = [0.0, 5.0, 10.0, 15.0, 20.0];
    let after = |scene: Scene| {
        let mut sim = scene.build().unwrap();
        for _ in 0..5 {
            sim.step().unwrap();
        }
        sim
    };
    let all = after(pyramids(&places));
    assert!(all.report.contacts > 4_000, "{}", all.report.contacts);
    for (k, y) in places.iter().enumerate() {
        let alone = after(pyramids(&[*y]));
        let n = alone.state.q.len();
        assert_eq!(alone.state.q[..], all.state.q[k * n..(k + 1) * n], "pyramid {k}");
    }
}

#[test]
fn overlaps_part_without_a_jump() {
    let mut s = scene(Impulse::default(), 2e-3);
    s.add(cube("a", 0.2, [0.0, 0.0, 0.02]));
    s.add(cube("b", 0.2, [0.03, 0.0, 0.12]));
    let mut sim = s.build().unwrap();
    let mut fastest = 0.0f64;
    for _ in 0..1500 {
        sim.step().unwrap();
        fastest = sim.state.v.iter().fold(fastest, |m, v| m.max(v.abs()));
    }
    assert!(fastest < 1.5, "{fastest}");
    assert!(sim.state.q[2] > 0.0995 && sim.report.smallest_gap > -1e-4, "{:?}", sim.report);
}

/// A box of 1 m at the origin, and a ball of 0.1 m that flies at it without gravity.
fn shot(dt: f64, from: [f64; 3], velocity: [f64; 3], restitution: f64) -> Scene {
    let mut s = Scene {
        method: Method::Impulse(Impulse { restitution, ..Impulse::default() }),
        dt,
        ..Scene::default()
    };
    s.gravity = Vec3::zeros();
    s.add(ContactRule::friction("*", "*", 0.0));
    s.add(RigidBody::new("box", Shape::Box { size: Vec3::repeat(1.0) }).mass(1e6));
    s.add(RigidBody::new("ball", Shape::Sphere { radius: 0.05 }).at(from).mass(0.1).velocity(velocity));
    s
}

#[test]
fn what_flies_past_a_box_keeps_its_course() {
    // Beside the box by 2 mm and more, at up to a hundred times its size per step, begun at odd places.
    for (speed, dt) in [(30.0, 5e-3), (300.0, 5e-3), (1e4, 0.01)] {
        for height in [0.552, 0.6, 0.8, 2.0] {
            for begin in [-1.3, -2.1, -60.7] {
                let mut sim = shot(dt, [begin, height, 0.1], [speed, 0.0, 0.0], 0.0).build().unwrap();
                sim.run(100.0 / speed).unwrap();
                let v = &sim.state.v[6..12];
                assert_eq!(v, [speed, 0.0, 0.0, 0.0, 0.0, 0.0], "{speed} {height} {begin}");
            }
        }
    }
}

#[test]
fn a_large_plate_slides_past_a_small_ball() {
    // A centimetre above it, by a tenth of the plate and ten balls per step.
    let mut s = shot(5e-3, [0.0, 0.0, 0.08], [0.0; 3], 0.0);
    s.rigid[0].shape = Shape::Box { size: Vec3::new(2.0, 2.0, 0.1) };
    s.rigid[0].pose.position = Vec3::new(-1.53, 0.0, 0.0);
    s.rigid[0].velocity = Vec3::x() * 40.0;
    s.rigid[1].shape = Shape::Sphere { radius: 0.02 };
    let mut sim = s.build().unwrap();
    sim.run(0.2).unwrap();
    assert_eq!(sim.state.v[..3], [40.0, 0.0, 0.0]);
    assert_eq!(sim.state.v[6..12], [0.0; 6]);
}

#[test]
fn what_flies_at_a_box_bounces_off_the_face_that_it_meets() {
    // Towards the middle of the upper face, from far to the side: nearest at the start is an edge.
    for (speed, dt) in [(10.0, 5e-3), (200.0, 5e-3), (3e3, 0.01)] {
        for side in [0.3, 1.0, 3.0] {
            let direction = Vec3::new(side, 0.1 * side, -1.0).normalize();
            let from = Vec3::new(0.1, 0.05, 0.55) - 4.0 * direction;
            let v = speed * direction;
            let mut sim = shot(dt, from.into(), v.into(), 1.0).build().unwrap();
            sim.run(20.0 / speed + dt).unwrap();
            // A mirror, but for what a ball of 1e-7 of the mass leaves in the box.
            let seen = Vec3::from_column_slice(&sim.state.v[6..9]);
            let mirrored = Vec3::new(v.x, v.y, -v.z);
            assert!((seen - mirrored).norm() < 1e-3 * speed, "{speed} {side}: {seen:?} {mirrored:?}");
        }
    }
}

#[test]
fn what_is_turned_aside_meets_what_it_would_have_passed() {
    // Down past the upper edge of a block 5 m away, and within the same step onto a slope that turns it into the block.
    let mut s = shot(0.01, [0.0, 0.0, 40.0], [0.0, 0.0, -5e3], 0.0);
    s.rigid[0].pose.position = Vec3::new(35.0, 0.0, -90.0);
    s.rigid[0].shape = Shape::Box { size: Vec3::new(60.0, 60.0, 200.0) };
    s.add(Ground { normal: Vec3::new(1.0, 0.0, 1.0), ..Ground::default() });
    s.add(ContactRule::off("box", "ground"));
    let mut sim = s.build().unwrap();
    for _ in 0..20 {
        sim.step().unwrap();
        let (x, z) = (sim.state.q[7], sim.state.q[9]);
        assert!(x < 5.0 || z > 10.0, "inside of the block: {x} {z}");
    }
}

#[test]
fn names_in_rules_must_exist_and_friction_must_not_be_negative() {
    let mut s = scene(Impulse::default(), 2e-3);
    s.add(cube("box", 0.2, [0.0, 0.0, 0.1]));
    s.add(ContactRule::friction("bxo", "ground", -1.0));
    let error = s.build().unwrap_err().to_string();
    assert!(error.contains("bxo") && error.contains("friction"), "{error}");
}

#[test]
fn without_ground_and_rules_bodies_among_joints_cross_and_others_touch() {
    // Two doors in one place.
    let mut s = Scene { method: Method::Impulse(Impulse::default()), dt: 0.005, ..Scene::default() };
    s.gravity = Vec3::zeros();
    for name in ["one", "two"] {
        let size = Vec3::new(0.8, 0.05, 2.0);
        s.add(RigidBody::new(name, Shape::Box { size }).at([0.4, 0.0, 1.0]).mass(48.0));
        let hinge = JointItem::new(format!("{name} hinge"), JointKind::Hinge, "world", name);
        s.add(JointItem { anchors: Anchors::World(Vec3::z()), axis: Vec3::z(), ..hinge });
    }
    let mut doors = s.build().unwrap();
    assert!(doors.model.rigid_contact.is_none());
    doors.run(0.1).unwrap();
    assert!(doors.state.contacts.is_empty() && doors.state.v.iter().all(|v| *v == 0.0));
    // One door, and a ball that is thrown at it.
    let mut s = Scene { method: Method::Impulse(Impulse::default()), dt: 0.005, ..Scene::default() };
    s.gravity = Vec3::zeros();
    s.add(
        RigidBody::new("door", Shape::Box { size: Vec3::new(0.8, 0.05, 2.0) }).at([0.4, 0.0, 1.0]).mass(48.0),
    );
    let hinge = JointItem::new("hinge", JointKind::Hinge, "world", "door");
    s.add(JointItem { anchors: Anchors::World(Vec3::z()), axis: Vec3::z(), ..hinge });
    let ball = RigidBody::new("ball", Shape::Sphere { radius: 0.1 }).at([0.6, 1.0, 1.0]).mass(0.5);
    s.add(ball.velocity([0.0, -8.0, 0.0]));
    let mut sim = s.build().unwrap();
    sim.run(0.3).unwrap();
    // Both move on together: I = m (a² + b²)/12 + m (a/2)² about the hinge, and the momentum about it stays.
    let inertia = 48.0 * (0.64 + 0.0025) / 12.0 + 48.0 * 0.16;
    let spin = -8.0 * 0.5 * 0.6 / (inertia + 0.5 * 0.36);
    assert!((sim.state.v[5] - spin).abs() < 0.02 * spin.abs(), "{} {spin}", sim.state.v[5]);
    assert!(sim.state.q[8] > 0.0, "the ball is through the door: {}", sim.state.q[8]);
}

#[test]
fn a_spinning_ball_is_stopped_by_torsional_friction_and_a_rolling_one_by_rolling_friction() {
    // Drilling: I w' = -mu_t m g; rolling: (7/5) m r v' = -mu_r m g.
    let mut s = scene(Impulse { friction: 1.0, ..Impulse::default() }, 1e-3);
    let ball =
        |name: &str, y: f64| RigidBody::new(name, Shape::Sphere { radius: 0.1 }).mass(1.0).at([0.0, y, 0.1]);
    s.add(ball("spins", 0.0).angular_velocity([0.0, 0.0, 10.0]));
    s.add(ball("rolls", 1.0).velocity([1.0, 0.0, 0.0]).angular_velocity([0.0, 10.0, 0.0]));
    s.add(ContactRule {
        torsional_friction: Some(1e-3),
        rolling_friction: Some(2e-3),
        ..ContactRule::between("*", "*")
    });
    let mut sim = s.build().unwrap();
    sim.run(0.5).unwrap();
    let spin = 10.0 - 0.5 * 1e-3 * 9.81 / (0.4 * 0.01);
    assert!((sim.state.v[5] - spin).abs() < 1e-3, "{} {spin}", sim.state.v[5]);
    let speed = 1.0 - 0.5 * 2e-3 * 9.81 / (1.4 * 0.1);
    assert!((sim.state.v[6] - speed).abs() < 1e-3, "{} {speed}", sim.state.v[6]);
}

#[test]
fn soft_contact_sinks_by_weight_over_stiffness_at_any_step() {
    for dt in [1e-3, 5e-3] {
        let mut s = scene(Impulse::default(), dt);
        s.add(RigidBody::new("ball", Shape::Sphere { radius: 0.1 }).mass(2.0).at([0.0, 0.0, 0.1]));
        s.add(ContactRule { stiffness: Some(1e4), damping: 200.0, ..ContactRule::between("*", "*") });
        let mut sim = s.build().unwrap();
        sim.run(2.0).unwrap();
        let sunk = 0.1 - sim.state.q[2];
        assert!((sunk / (2.0 * 9.81 / 1e4) - 1.0).abs() < 1e-6, "{dt}: {sunk}");
    }
}
