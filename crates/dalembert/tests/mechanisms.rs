//! Joints in motion, against closed forms and against each other.
#![allow(non_snake_case)] // the letters of the formulas

use std::f64::consts::{FRAC_PI_2, TAU};

use dalembert::prelude::*;
use dalembert::state::State;

fn lagrange() -> Method {
    Method::Lagrange(Lagrange::default())
}

fn impulse() -> Method {
    Method::Impulse(Impulse::default())
}

fn scene(method: Method, dt: f64) -> Scene {
    Scene { method, dt, ..Scene::default() }
}

fn weightless(method: Method, dt: f64) -> Scene {
    Scene { gravity: Vec3::zeros(), ..scene(method, dt) }
}

/// A body at the origin with inertia I about every axis.
fn wheel(name: &str, mass: f64, I: f64) -> RigidBody {
    RigidBody::new(name, Shape::Point).inertia(mass, Vec3::zeros(), Mat3::identity() * I)
}

fn hinge(name: &str, a: &str, b: &str) -> JointItem {
    JointItem::new(name, JointKind::Hinge, a, b)
}

/// A point mass of 1 kg on a rod of 1 m, let go along x.
fn pendulum(method: Method, dt: f64) -> Simulation {
    let mut scene = scene(method, dt);
    scene.add(ParticleSet::at("bob", [1.0, 0.0, 0.0]));
    let rod = JointItem::new("rod", JointKind::Distance { length: None }, "world", "bob");
    scene.add(rod.anchor([0.0; 3]));
    scene.build().unwrap()
}

/// x and z of that pendulum after 1 s: Jacobi's elliptic functions (case `mbs_a01_simple_pendulum`).
const AFTER_ONE_SECOND: [f64; 2] = [-0.9862917511318753, -0.1650108531255412];

fn pendulum_error(sim: &Simulation) -> f64 {
    let x = &sim.state.q[sim.model.layout.points_q()..];
    (x[0] - AFTER_ONE_SECOND[0]).hypot(x[2] - AFTER_ONE_SECOND[1])
}

#[test]
fn a_pendulum_moves_the_same_way_in_every_method() {
    let mut sim = pendulum(lagrange(), 1e-3);
    sim.run(1.0).unwrap();
    // RK4 at 1 ms: h⁴ times derivatives of the order of 100.
    assert!(pendulum_error(&sim) < 1e-9, "{:e}", pendulum_error(&sim));

    let explicit = Explicit { integrator: Integrator::Rk4, ..Explicit::default() };
    let mut scene = scene(Method::Explicit(explicit), 1e-3);
    let map = PendulumChain { pivot: Vec3::zeros(), lengths: vec![1.0], down: -Vec3::z(), side: Vec3::x() };
    scene.add(GeneralizedBody {
        name: "bob".into(),
        map: Box::new(map),
        masses: vec![1.0],
        coordinates: vec![FRAC_PI_2],
        rates: vec![0.0],
    });
    let mut sim = scene.build().unwrap();
    sim.run(1.0).unwrap();
    assert!(pendulum_error(&sim) < 1e-9, "{:e}", pendulum_error(&sim));

    let error = |h: f64| {
        let mut sim = pendulum(impulse(), h);
        sim.run(1.0).unwrap();
        pendulum_error(&sim)
    };
    let order = (error(4e-3) / error(2e-3)).log2();
    assert!((order - 1.0).abs() < 0.1, "order {order}");
}

/// A parallelogram of three thin rods that starts upright; it passes its dead points, where it could fold.
fn parallelogram(method: Method, dt: f64) -> Simulation {
    let mut scene = scene(method, dt);
    let rod = |name: &str, along: usize, at: [f64; 3]| {
        let mut I = Vec3::from_element(1.0 / 12.0);
        I[along] = 0.01;
        RigidBody::new(name, Shape::Point).inertia(1.0, Vec3::zeros(), Mat3::from_diagonal(&I)).at(at)
    };
    let spin = [0.0, 1.0, 0.0];
    scene.add(rod("left", 2, [0.0, 0.0, 0.5]).velocity([0.5, 0.0, 0.0]).angular_velocity(spin));
    scene.add(rod("right", 2, [1.0, 0.0, 0.5]).velocity([0.5, 0.0, 0.0]).angular_velocity(spin));
    scene.add(rod("top", 0, [0.5, 0.0, 1.0]).velocity([1.0, 0.0, 0.0]));
    for (name, a, b, at) in [
        ("a", "world", "left", [0.0, 0.0, 0.0]),
        ("b", "world", "right", [1.0, 0.0, 0.0]),
        ("c", "left", "top", [0.0, 0.0, 1.0]),
        ("d", "right", "top", [1.0, 0.0, 1.0]),
    ] {
        scene.add(hinge(name, a, b).anchor(at).axis([0.0, 1.0, 0.0]));
    }
    scene.build().unwrap()
}

#[test]
fn a_closed_loop_passes_its_dead_points() {
    for (method, gap) in [(lagrange(), 1e-10), (impulse(), 1e-6)] {
        let name = method.name();
        let mut sim = parallelogram(method, 2e-3);
        let (mut lowest, mut worst) = (f64::INFINITY, 0.0f64);
        for _ in 0..1500 {
            sim.step().unwrap();
            worst = worst.max(worst_gap(&sim.model, &sim.state));
            lowest = lowest.min(sim.state.q[2]);
        }
        assert!(worst < gap, "{name}: gap {worst:e}");
        assert!(lowest < -0.49, "{name}: the crank turned down to {lowest} m only");
        // The cranks stay parallel: it did not fold.
        let split = (sim.state.q[2] - sim.state.q[7 + 2]).abs();
        assert!(split < 1e-4, "{name}: cranks differ by {split:e} m");
    }
}

#[test]
fn a_limit_holds_and_only_pushes() {
    let (m, r, limit) = (2.0, 0.5, 0.4);
    let mut scene = scene(impulse(), 1e-2);
    let I = Mat3::identity() * (m * r * r / 3.0);
    scene.add(RigidBody::new("flap", Shape::Point).inertia(m, Vec3::zeros(), I).at([r, 0.0, 0.0]));
    let joint = hinge("edge", "world", "flap").anchor([0.0; 3]).axis([0.0, 1.0, 0.0]);
    scene.add(joint.limits(-1.0, limit));
    let mut sim = scene.build().unwrap();
    // Constraints: the hinge, its lower and its upper limit; the angle is remembered for each limit.
    for _ in 0..300 {
        sim.step().unwrap();
        assert!(sim.state.turns[1] < limit + 1e-6, "angle {}", sim.state.turns[1]);
        assert!(sim.state.lambda[6] >= 0.0 && sim.state.lambda[12] >= 0.0);
    }
    // At rest on the limit: its torque carries the weight.
    assert!((sim.state.turns[1] - limit).abs() < 1e-6, "angle {}", sim.state.turns[1]);
    let torque = m * 9.81 * r * limit.cos();
    assert!((sim.state.lambda[12] - torque).abs() < 1e-4 * torque, "torque {}", sim.state.lambda[12]);
    assert_eq!(sim.state.lambda[6], 0.0);
}

/// A wheel with inertia 0.3 kg·m² on a hinge along z.
fn driven(method: Method, change: impl FnOnce(&mut JointItem)) -> Simulation {
    let mut scene = weightless(method, 0.01);
    scene.add(wheel("wheel", 2.0, 0.3));
    let mut joint = hinge("shaft", "world", "wheel").anchor([0.0; 3]);
    change(&mut joint);
    scene.add(joint);
    scene.build().unwrap()
}

fn spin(sim: &Simulation, body: usize) -> f64 {
    sim.state.v[6 * body + 5]
}

#[test]
fn a_velocity_motor_pulls_with_its_largest_torque_until_it_runs() {
    let mut sim = driven(impulse(), |j| j.motor = Some(Motor::Velocity { target: 5.0, max: 0.6 }));
    sim.run(1.0).unwrap();
    // Rounding of 100 sums.
    assert!((spin(&sim, 0) - 0.6 / 0.3).abs() < 1e-12, "{}", spin(&sim, 0));
    sim.run(3.0).unwrap();
    assert!((spin(&sim, 0) - 5.0).abs() < 1e-12, "{}", spin(&sim, 0));
}

#[test]
fn a_servo_settles_at_its_target() {
    for method in [impulse(), lagrange()] {
        let name = method.name();
        let motor = Motor::Position { target: 2.5, kp: 30.0, kd: 6.0, max: 100.0 };
        let mut sim = driven(method, |j| j.motor = Some(motor));
        // Critically damped at 10 rad/s: e^(−10 t) (1 + 10 t) is 1e-16 after 4 s.
        sim.run(4.0).unwrap();
        assert!((sim.state.turns[0] - 2.5).abs() < 1e-10, "{name}: {}", sim.state.turns[0]);
    }
}

#[test]
fn friction_holds_below_its_threshold_and_slides_above() {
    for (torque, acceleration) in [(0.4, 0.0), (0.8, (0.8 - 0.5) / 0.3)] {
        let mut sim = driven(impulse(), |j| {
            j.motor = Some(Motor::Effort(torque));
            j.friction = 0.5;
        });
        sim.run(1.0).unwrap();
        assert!((spin(&sim, 0) - acceleration).abs() < 1e-12, "{}", spin(&sim, 0));
    }
}

#[test]
fn armature_adds_to_the_inertia() {
    for method in [impulse(), lagrange()] {
        let name = method.name();
        let mut sim = driven(method, |j| {
            j.motor = Some(Motor::Effort(0.7));
            j.armature = 0.4;
        });
        sim.run(1.0).unwrap();
        assert!((spin(&sim, 0) - 0.7 / (0.3 + 0.4)).abs() < 1e-12, "{name}: {}", spin(&sim, 0));
    }
}

#[test]
fn gears_turn_in_proportion_and_share_the_torque() {
    for method in [impulse(), lagrange()] {
        let name = method.name();
        let mut scene = weightless(method, 0.01);
        scene.add(wheel("small", 1.0, 0.1));
        scene.add(wheel("large", 3.0, 0.9).at([1.0, 0.0, 0.0]));
        scene.add(hinge("one", "world", "small").motor(Motor::Effort(2.0)));
        scene.add(hinge("two", "world", "large"));
        let joints = ["one".to_string(), "two".to_string()];
        scene.add(Gear { name: "teeth".into(), joints, ratio: 3.0, stiffness: Stiffness::Hard });
        let mut sim = scene.build().unwrap();
        sim.run(2.0).unwrap();
        // θ₂ = −θ₁/3: θ̈₁ = τ/(I₁ + I₂/9) = 10, many turns in 2 s.
        assert!((spin(&sim, 0) - 20.0).abs() < 1e-9, "{name}: {}", spin(&sim, 0));
        assert!((spin(&sim, 1) + 20.0 / 3.0).abs() < 1e-9, "{name}: {}", spin(&sim, 1));
        assert!(worst_gap(&sim.model, &sim.state) < 1e-9, "{name}");
    }
}

#[test]
fn a_screw_advances_by_its_pitch_per_turn() {
    for method in [impulse(), lagrange()] {
        let name = method.name();
        let (m, I, pitch, torque) = (2.0, 0.3, 0.5, 3.0);
        let mut scene = weightless(method, 0.01);
        scene.add(wheel("nut", m, I));
        let joint = JointItem::new("thread", JointKind::Screw { pitch }, "world", "nut").anchor([0.0; 3]);
        scene.add(joint.motor(Motor::Effort(torque)));
        let mut sim = scene.build().unwrap();
        sim.run(2.0).unwrap();
        // s = (p/2π) θ: θ̈ = τ/(I + m (p/2π)²).
        let lead = pitch / TAU;
        let rate = 2.0 * torque / (I + m * lead * lead);
        assert!((spin(&sim, 0) - rate).abs() < 1e-9 * rate, "{name}: {}", spin(&sim, 0));
        assert!((sim.state.v[2] - lead * rate).abs() < 1e-9, "{name}: {}", sim.state.v[2]);
        assert!((sim.state.q[2] - lead * sim.state.turns[0]).abs() < 1e-9, "{name}: {}", sim.state.q[2]);
        assert!(sim.state.turns[0] > TAU, "{name}: it should have turned more than once");
    }
}

#[test]
fn a_rack_follows_its_pinion() {
    for method in [impulse(), lagrange()] {
        let name = method.name();
        let (m, I, r, torque) = (4.0, 0.2, 0.25, 1.0);
        let mut scene = weightless(method, 0.01);
        scene.add(wheel("pinion", 1.0, I));
        scene.add(wheel("rack", m, 1.0).at([0.0, -r, 0.0]));
        let slide = JointItem::new("slide", JointKind::Slider, "world", "rack");
        scene.add(slide.axis([1.0, 0.0, 0.0]));
        scene.add(hinge("shaft", "world", "pinion").motor(Motor::Effort(torque)));
        let joints = ["slide".to_string(), "shaft".to_string()];
        scene.add(Gear { name: "teeth".into(), joints, ratio: -r, stiffness: Stiffness::Hard });
        let mut sim = scene.build().unwrap();
        sim.run(1.0).unwrap();
        // s = r θ: θ̈ = τ/(I + m r²).
        let rate = torque / (I + m * r * r);
        assert!((spin(&sim, 0) - rate).abs() < 1e-9, "{name}: {}", spin(&sim, 0));
        assert!((sim.state.v[6] - r * rate).abs() < 1e-9, "{name}: {}", sim.state.v[6]);
    }
}

#[test]
fn a_joint_breaks_at_its_threshold() {
    for method in [impulse(), lagrange()] {
        for (limit, breaks) in [(19.0, true), (20.0, false)] {
            let name = method.name();
            let mut scene = scene(method.clone(), 0.01);
            // 2 kg at rest pull with 19.62 N.
            scene.add(ParticleSet::at("load", [0.0, 0.0, -1.0]).mass(2.0));
            let kind = JointKind::Distance { length: None };
            let mut rope = JointItem::new("rope", kind, "world", "load").anchor([0.0; 3]);
            rope.break_force = Some(limit);
            scene.add(rope);
            let mut sim = scene.build().unwrap();
            sim.run(0.5).unwrap();
            assert_eq!(sim.state.broken[0], breaks, "{name}, {limit} N");
            assert_eq!(sim.state.q[2] < -1.1, breaks, "{name}: at {} m", sim.state.q[2]);
        }
    }
}

/// Joints with memory: a driven screw, a chain with a limit and a servo, and a gear.
fn workshop(method: Method) -> Simulation {
    let soft = method.name() == "lagrange";
    let mut scene = scene(method, 5e-3);
    scene.add(wheel("nut", 1.0, 0.2).angular_velocity([0.0, 0.0, 9.0]));
    scene.add(JointItem::new("thread", JointKind::Screw { pitch: 0.1 }, "world", "nut").anchor([0.0; 3]));
    let box_of = |name: &str, x: f64| {
        RigidBody::new(name, Shape::Box { size: Vec3::new(0.4, 0.1, 0.1) }).mass(1.0).at([x, 1.0, 0.0])
    };
    scene.add(box_of("upper", 0.2));
    scene.add(box_of("lower", 0.6));
    let mut shoulder = hinge("shoulder", "world", "upper").anchor([0.0, 1.0, 0.0]).axis([0.0, 1.0, 0.0]);
    shoulder.damping = 0.1;
    let mut elbow = hinge("elbow", "upper", "lower").anchor([0.4, 1.0, 0.0]).axis([0.0, 1.0, 0.0]);
    elbow.limits = Some([-0.3, 0.3]);
    if soft {
        elbow.limit_stiffness = Stiffness::Gains { kp: 500.0, kd: 5.0 };
    }
    scene.add(shoulder);
    scene.add(elbow);
    scene.add(wheel("disc", 1.0, 0.1).at([3.0, 0.0, 0.0]));
    scene.add(hinge("axle", "world", "disc").axis([0.0, 1.0, 0.0]));
    let joints = ["shoulder".to_string(), "axle".to_string()];
    scene.add(Gear { name: "belt".into(), joints, ratio: -0.5, stiffness: Stiffness::Hard });
    scene.build().unwrap()
}

#[test]
fn a_run_resumed_from_a_packed_state_has_the_same_bits() {
    for method in [impulse(), lagrange()] {
        let name = method.name();
        let mut sim = workshop(method.clone());
        sim.run(0.5).unwrap();
        let mut packed = Vec::new();
        sim.state.pack(&sim.model.layout, &mut packed);
        let mut again = workshop(method);
        again.state = State::unpack(&again.model.layout, &packed).unwrap();
        again.model.settle(&mut again.state);
        sim.run(0.5).unwrap();
        again.run(0.5).unwrap();
        assert_eq!(sim.state, again.state, "{name}");
        assert!(sim.state.turns[0].abs() > TAU, "{name}: the screw should have turned more than once");
    }
}

#[test]
fn a_failed_step_leaves_the_state_as_it_was() {
    for method in [impulse(), lagrange()] {
        let mut scene = scene(method, 0.01);
        scene.add(ParticleSet::at("bob", [1.0, 0.0, 0.0]));
        let rod = JointItem::new("rod", JointKind::Distance { length: None }, "world", "bob");
        scene.add(rod.anchor([0.0; 3]));
        scene.add(CustomForce::on_each("bomb", &["bob"], |t, _, _, _| {
            Vec3::x() * if t > 0.045 { f64::INFINITY } else { 0.0 }
        }));
        let mut sim = scene.build().unwrap();
        let mut before = sim.state.clone();
        let error = loop {
            match sim.step() {
                Ok(_) => before = sim.state.clone(),
                Err(e) => break e,
            }
            assert!(sim.state.time < 1.0, "the bomb should have gone off");
        };
        assert_eq!(sim.state, before);
        assert!(matches!(error, StepError::NonFinite { .. }), "{error}");
    }
}

#[test]
fn a_light_chain_carries_a_heavy_ball() {
    let mut scene = scene(impulse(), 1.0 / 60.0);
    let (n, l) = (10, 0.2);
    for k in 0..=n {
        let x = k as f64 * l;
        let name = format!("link{k}");
        let above = if k == 0 { "world".to_string() } else { format!("link{}", k - 1) };
        scene.add(if k < n {
            let shape = Shape::Box { size: Vec3::new(l, 0.04, 0.04) };
            RigidBody::new(&name, shape).mass(1.0).at([x + 0.5 * l, 0.0, 0.0])
        } else {
            RigidBody::new(&name, Shape::Sphere { radius: 0.3 }).mass(1e6).at([x + 0.3, 0.0, 0.0])
        });
        scene.add(JointItem::new(format!("joint{k}"), JointKind::Ball, above, name).anchor([x, 0.0, 0.0]));
    }
    let mut sim = scene.build().unwrap();
    for _ in 0..600 {
        sim.step().unwrap();
        let gap = worst_gap(&sim.model, &sim.state);
        assert!(gap < 1e-6, "t = {}: gap {gap:e} m, {:?}", sim.state.time, sim.report);
    }
}
