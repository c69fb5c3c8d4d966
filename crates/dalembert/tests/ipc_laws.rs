//! The method `ipc` on whole scenes: nothing intersects, forces carry weights, friction has its threshold.

use dalembert::math::rotation::exp;
use dalembert::mesh::Diagonals;
use dalembert::prelude::*;
use dalembert::scene::{Cloth, Sheet, SoftBody, Solid};

fn ipc(settings: Ipc) -> Scene {
    Scene { method: Method::Ipc(settings), dt: 0.01, ..Scene::default() }
}

fn cube(name: &str, z: f64) -> RigidBody {
    RigidBody::new(name, Shape::Box { size: Vec3::repeat(0.1) }).mass(1.0).at([0.0, 0.0, z])
}

/// Pairs that intersect, by the exact test that shares nothing with the solver.
fn intersections(sim: &Simulation) -> usize {
    let contact = sim.model.ipc.as_ref().unwrap();
    let mut x = Vec::new();
    contact.geometry.positions(&sim.state.q, &mut x);
    dalembert::collide::exact::below_planes(&contact.geometry.surface, &x).len()
        + dalembert::collide::exact::intersections(&contact.geometry.surface, &x).len()
}

/// Steps a scene and looks at every state; iterations and steps that did not finish.
fn run(sim: &mut Simulation, steps: usize) -> (u32, u32) {
    let (mut iterations, mut unfinished) = (0, 0);
    for k in 0..steps {
        let report = sim.step().unwrap();
        assert_eq!(intersections(sim), 0, "step {k}: {report:?}");
        assert!(report.smallest_gap > 0.0);
        iterations += report.iterations;
        unfinished += u32::from(report.unfinished);
    }
    (iterations, unfinished)
}

#[test]
fn random_pairs_of_bodies_never_intersect() {
    let mut random = dalembert::math::Random::new(3);
    let mut touched = 0;
    for drop in 0..12 {
        let mut one = |low: f64, high: f64| random.between(low, high);
        let mut scene = ipc(Ipc { friction: one(0.0, 1.0), ..Ipc::default() });
        scene.add(Ground::default());
        for (k, name) in ["low", "high"].into_iter().enumerate() {
            let shape = match (drop + k) % 3 {
                0 => Shape::Box { size: Vec3::new(one(0.05, 0.3), one(0.05, 0.3), one(0.05, 0.3)) },
                1 => Shape::Cone { radius: one(0.03, 0.15), length: one(0.05, 0.3) },
                _ => Shape::Cylinder { radius: one(0.03, 0.15), length: one(0.05, 0.3) },
            };
            let turn = Vec3::new(one(-3.0, 3.0), one(-3.0, 3.0), one(-3.0, 3.0));
            let body = RigidBody::new(name, shape).at([0.0, one(-0.05, 0.05), 0.25 + 0.5 * k as f64]);
            let body = body.turned(exp(&turn)).velocity([one(-1.0, 1.0), 0.0, -3.0 * k as f64]);
            let spin = exp(&turn) * Vec3::new(one(-9.0, 9.0), one(-9.0, 9.0), one(-9.0, 9.0));
            scene.add(body.angular_velocity(spin.into()));
        }
        let mut sim = scene.build().unwrap();
        let (_, unfinished) = run(&mut sim, 40);
        assert!(unfinished <= 1, "drop {drop}: {unfinished} unfinished");
        touched += sim.contacts().unwrap().len();
    }
    assert!(touched > 12, "{touched}");
}

#[test]
fn a_stack_stands_and_each_box_carries_what_is_above_it() {
    let mut scene = ipc(Ipc { friction: 0.5, tolerance: 1e-5, gap: Some(1e-3), ..Ipc::default() });
    scene.add(Ground::default());
    for k in 0..5 {
        let z = 0.0508 + 0.1008 * f64::from(k);
        scene.add(cube(&format!("box{k}"), z).turned(exp(&(Vec3::z() * 0.1 * f64::from(k)))));
    }
    let mut sim = scene.build().unwrap();
    let (_, unfinished) = run(&mut sim, 60);
    assert_eq!(unfinished, 0);
    let contacts = sim.contacts().unwrap();
    for k in 0..5u32 {
        // Forces on box k from below: of the ground (number 5), or of box k − 1.
        let below = if k == 0 { 5 } else { k - 1 };
        let up: f64 = contacts
            .iter()
            .map(|c| match (c.a, c.b) {
                (a, b) if a == k && b == below => c.force.z,
                (a, b) if b == k && a == below => -c.force.z,
                _ => 0.0,
            })
            .sum();
        let weight = 9.81 * f64::from(5 - k);
        assert!((up - weight).abs() < 0.01 * weight, "box {k}: {up} N of {weight} N");
    }
}

/// Distance and speed down a slope of tan = 0.5 after a second from rest.
fn slide(mu: f64, friction_speed: f64) -> (f64, f64) {
    let angle = 0.5f64.atan();
    let gap = 1e-3;
    let mut scene =
        ipc(Ipc { friction: mu, tolerance: 1e-7, friction_speed, gap: Some(gap), ..Ipc::default() });
    let turn = exp(&(Vec3::y() * angle));
    scene.add(Ground { normal: turn * Vec3::z(), ..Ground::default() });
    let at = turn * Vec3::new(0.0, 0.0, 0.05 + 0.8 * gap);
    let shape = Shape::Box { size: Vec3::new(0.4, 0.3, 0.1) };
    scene.add(RigidBody::new("block", shape).at(at.into()).turned(turn));
    let mut sim = scene.build().unwrap();
    let (_, unfinished) = run(&mut sim, 100);
    assert_eq!(unfinished, 0);
    let down = turn * Vec3::x();
    let read = |a: &[f64]| Vec3::new(a[0], a[1], a[2]).dot(&down);
    (read(&sim.state.q), read(&sim.state.v))
}

#[test]
fn a_block_holds_and_slides_on_either_side_of_the_threshold() {
    let (_, held) = slide(0.51, 1e-3);
    assert!(held.abs() < 1e-3, "{held}");
    let (way, speed) = slide(0.4, 1e-5);
    let angle = 0.5f64.atan();
    let a = 9.81 * (angle.sin() - 0.4 * angle.cos());
    assert!((speed / a - 1.0).abs() < 1e-2, "{speed} of {a}");
    assert!((way / (0.505 * a) - 1.0).abs() < 1e-2, "{way}");
}

#[test]
fn a_press_without_room_is_an_error_that_leaves_the_state() {
    let mut scene = ipc(Ipc { friction: 0.3, rigid_stiffness: 1e12, ..Ipc::default() });
    scene.add(Ground::default());
    let shape = Shape::Box { size: Vec3::new(0.1, 0.1, 0.05) };
    scene.add(RigidBody::new("block", shape.clone()).at([0.0, 0.0, 0.027]));
    scene.add(RigidBody::new("press", shape).at([0.01, 0.0, 0.09]));
    scene.add(MotionSet::new("press", Motion::Velocity(Vec3::new(0.0, 0.0, -0.5))));
    let mut sim = scene.build().unwrap();
    let mut outcome = None;
    for _ in 0..20 {
        let before = sim.state.clone();
        if let Err(error) = sim.step() {
            assert_eq!(before, sim.state, "a failed step leaves the state");
            outcome = Some(error.to_string());
            break;
        }
        assert_eq!(intersections(&sim), 0);
    }
    // The two have 1.5 cm of room, the press goes 10 cm: a body of 10¹² Pa does not give way by that.
    assert!(outcome.is_some_and(|text| text.contains("`press`")));
}

#[test]
fn cloth_on_a_ball_and_a_soft_ball_stay_outside_and_threads_change_no_bit() {
    let run_on = |threads: usize| {
        let mut scene = ipc(Ipc { friction: 0.3, ..Ipc::default() });
        scene.dt = 5e-3;
        scene.add(RigidBody::new("ball", Shape::Sphere { radius: 0.15 }));
        scene.add(Fix::points("ball"));
        let sheet = Sheet::Grid { size: [0.5, 0.5], cells: [10, 10], diagonals: Diagonals::default() };
        let mut cloth = Cloth::new("cloth", sheet);
        (cloth.young, cloth.thickness, cloth.density) = (1e4, 1e-3, 300.0);
        cloth.position = Vec3::new(0.01, 0.02, 0.17);
        scene.add(cloth);
        let soft = Solid::Ball { radius: 0.05, cells: 2 };
        let position = Vec3::new(0.0, 0.0, 0.26);
        scene.add(SoftBody { young: 2e4, position, ..SoftBody::new("soft", soft) });
        scene.add(cube("box", 0.0).at([1.0, 0.0, 0.4]));
        scene.add(Ground { point: Vec3::new(0.0, 0.0, -0.5), ..Ground::default() });
        let mut sim = scene.build().unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (_, unfinished) = pool.install(|| run(&mut sim, 60));
        assert!(unfinished < 3);
        sim.state
    };
    assert_eq!(run_on(1), run_on(2));
}

#[test]
fn what_does_not_end_says_so_and_does_not_intersect() {
    // A box at 20 m/s with two iterations a step.
    let mut scene = ipc(Ipc { most_newton: 2, friction_passes: 1, ..Ipc::default() });
    scene.add(Ground::default());
    scene.add(cube("box", 0.3).turned(exp(&Vec3::new(0.3, 0.4, 0.1))).velocity([0.0, 0.0, -20.0]));
    let mut sim = scene.build().unwrap();
    let (_, unfinished) = run(&mut sim, 10);
    assert!(unfinished > 0);
}

#[test]
fn a_hinge_holds_while_its_body_strikes_the_ground() {
    let mut scene = ipc(Ipc { tolerance: 1e-6, ..Ipc::default() });
    scene.add(Ground { point: Vec3::new(0.0, 0.0, -0.3), ..Ground::default() });
    let rod = Shape::Box { size: Vec3::new(1.0, 0.05, 0.05) };
    scene.add(RigidBody::new("rod", rod).at([0.5, 0.0, 0.0]));
    scene.add(JointItem::new("pin", JointKind::Hinge, "world", "rod").anchor([0.0; 3]).axis([0.0, 1.0, 0.0]));
    let mut sim = scene.build().unwrap();
    let (_, unfinished) = run(&mut sim, 60);
    assert_eq!(unfinished, 0);
    let q = &sim.state.q;
    let end = Vec3::new(q[0], q[1], q[2]) - 0.5 * Vec3::new(q[3], q[4], q[5]);
    assert!(end.norm() < 1e-11, "{end}");
    // It leans on the ground with its far lower edge.
    let tip = q[2] + 0.5 * q[5] - 0.025 * q[11];
    assert!((tip + 0.3).abs() < 1e-3, "{tip}");
}
