//! Contact under `lagrange` against closed forms.

use crate::math::rotation::exp;
use crate::math::triple;
use crate::prelude::*;

fn scene(settings: Lagrange, dt: f64) -> Scene {
    let mut scene = Scene { dt, method: Method::Lagrange(settings), ..Scene::default() };
    scene.contact.push(ContactRule::between("*", "*"));
    scene
}

fn ball(name: &str, radius: f64, mass: f64, x: [f64; 3], v: [f64; 3]) -> RigidBody {
    RigidBody::new(name, Shape::Sphere { radius }).mass(mass).at(x).velocity(v)
}

#[test]
fn a_ball_bounces_at_the_times_and_to_the_heights_of_the_geometric_series_and_comes_to_rest() {
    let (e, g, height) = (0.8f64, 9.81f64, 1.0f64);
    let mut s = scene(Lagrange { restitution: e, ..Lagrange::default() }, 0.01);
    s.add(Ground::default());
    s.add(ball("ball", 0.1, 2.0, [0.0, 0.0, height + 0.1], [0.0; 3]));
    let mut sim = s.build().unwrap();
    let fall = (2.0 * height / g).sqrt();
    // z(t) between bounces: thrown up with eᵏ g fall at the time of bounce k.
    let exact = |t: f64| {
        let (mut at, mut speed) = (fall, g * fall);
        if t < at {
            return (height - 0.5 * g * t * t, -g * t);
        }
        loop {
            speed *= e;
            let next = at + 2.0 * speed / g;
            if t < next {
                let s = t - at;
                return (speed * s - 0.5 * g * s * s, speed - g * s);
            }
            at = next;
            if speed < 1e-3 {
                return (0.0, 0.0);
            }
        }
    };
    let mut last = sim.energy().total();
    while sim.state.time < 3.5 {
        sim.step().unwrap();
        let (z, v) = exact(sim.state.time);
        assert!((sim.state.q[2] - 0.1 - z).abs() < 1e-11, "{} {}", sim.state.time, sim.state.q[2] - 0.1 - z);
        assert!((sim.state.v[2] - v).abs() < 1e-10, "{} {} {v}", sim.state.time, sim.state.v[2]);
        let now = sim.energy().total();
        assert!(now <= last + 1e-13, "{now} {last}");
        last = now;
    }
    // All bounces are over after 4.0637 s.
    sim.run(1.0).unwrap();
    // What is left of the gap that counts as touching, 1e-10 of the size, goes at the rate 0.1/dt.
    assert!(sim.state.v[2].abs() < 1e-8 && (sim.state.q[2] - 0.1).abs() < 1e-9, "{:?}", sim.state.v);
    let force = sim.state.contacts[0].force;
    assert!((force - Vec3::new(0.0, 0.0, 2.0 * g)).norm() < 1e-6, "{force}");
}

#[test]
fn a_falling_rod_gets_the_impulse_of_the_formula() {
    // Length 1, mass 1, I = 1/12, 30° from the floor, 1 m/s downwards, ε = 0.5.
    let mut s = scene(Lagrange { restitution: 0.5, ..Lagrange::default() }, 1e-3);
    s.gravity = Vec3::zeros();
    s.add(Ground::default());
    let shape = Shape::Capsule { radius: 0.01, length: 1.0 };
    let turn = exp(&Vec3::new(0.0, 60f64.to_radians(), 0.0));
    let I = Mat3::from_diagonal(&Vec3::new(1.0 / 12.0, 1.0 / 12.0, 1e-4));
    let at = [0.0, 0.0, 0.25 + 0.01 + 0.5e-3];
    let rod = RigidBody::new("rod", shape).inertia(1.0, Vec3::zeros(), I).at(at).turned(turn);
    s.add(rod.velocity([0.0, 0.0, -1.0]));
    let mut sim = s.build().unwrap();
    sim.step().unwrap();
    let (v, w) = (triple(&sim.state.v, 0), triple(&sim.state.v, 1));
    assert!((v.z + 0.5384615384615385).abs() < 1e-12, "{v}");
    assert!((w.norm() - 2.398224195095368).abs() < 1e-12, "{w}");
    let impulse = sim.state.contacts[0].force * 1e-3;
    assert!((impulse.z.abs() - 0.46153846153846145).abs() < 1e-12, "{impulse}");
}

fn cradle(rule: Impacts, moving: usize, e: f64) -> Vec<f64> {
    let mut s = scene(Lagrange { restitution: e, impacts: rule, ..Lagrange::default() }, 1e-2);
    s.gravity = Vec3::zeros();
    for i in 0..5 {
        let v = if i < moving { 1.0 } else { 0.0 };
        let gap = if i < moving { -5e-3 } else { 0.0 };
        s.add(ball(&format!("b{i}"), 0.5, 1.0, [i as f64 + gap, 0.0, 0.0], [v, 0.0, 0.0]));
    }
    let mut sim = s.build().unwrap();
    let momentum = |sim: &Simulation| (0..5).map(|k| sim.state.v[6 * k]).sum::<f64>();
    let (p, energy) = (momentum(&sim), sim.energy().kinetic);
    sim.run(0.02).unwrap();
    assert!((momentum(&sim) - p).abs() < 4e-16 * p, "{} {p}", momentum(&sim));
    assert!(sim.energy().kinetic <= energy * (1.0 + 1e-15));
    (0..5).map(|k| sim.state.v[6 * k]).collect()
}

#[test]
fn newtons_cradle_tells_the_rules_apart() {
    let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
    for rule in [Impacts::Sequential, Impacts::Chain] {
        let v = cradle(rule, 1, 1.0);
        assert!(near(&v, &[0.0, 0.0, 0.0, 0.0, 1.0]), "{v:?}");
        let v = cradle(rule, 2, 1.0);
        assert!(near(&v, &[0.0, 0.0, 0.0, 1.0, 1.0]), "{v:?}");
    }
    // At once: the four that rest move off together, and 1 = v₀ + 4 u with v₀ − u = −1.
    let v = cradle(Impacts::Simultaneous, 1, 1.0);
    assert!(near(&v, &[-0.6, 0.4, 0.4, 0.4, 0.4]), "{v:?}");
    // Without restitution all five go on as one, by any rule.
    for rule in [Impacts::Sequential, Impacts::Chain, Impacts::Simultaneous] {
        let v = cradle(rule, 1, 0.0);
        assert!(v.iter().all(|v| (v - 0.2).abs() < 1e-9), "{rule:?}: {v:?}");
    }
}

#[test]
fn a_box_rests_on_four_corners_and_a_stack_on_itself() {
    let mut s = scene(Lagrange::default(), 5e-3);
    s.add(Ground::default());
    for k in 0..3 {
        let size = Vec3::new(0.4, 0.3, 0.2);
        s.add(RigidBody::new(format!("b{k}"), Shape::Box { size }).mass(1.0).at([
            0.0,
            0.0,
            0.1 + 0.2 * k as f64,
        ]));
    }
    let mut sim = s.build().unwrap();
    let start = sim.state.q.clone();
    sim.run(0.5).unwrap();
    let worst = sim.state.q.iter().zip(&start).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-12, "{worst:e}");
    // The ground carries all three.
    let onto = |a: u32, b: u32| -> f64 {
        let pair = sim.state.contacts.iter().filter(|c| (c.a, c.b) == (a, b));
        pair.map(|c| c.force.z).sum()
    };
    assert!((onto(0, 3).abs() - 3.0 * 9.81).abs() < 1e-9, "{:?}", sim.state.contacts);
    assert!((onto(0, 1).abs() - 2.0 * 9.81).abs() < 1e-9);
}

#[test]
fn a_block_on_a_slope_sticks_or_slides_by_the_textbook() {
    for (degrees, mu) in [(20.0f64, 0.4), (30.0, 0.3), (30.0, 0.0)] {
        let angle = degrees.to_radians();
        let turn = exp(&(Vec3::y() * angle));
        let mut s = scene(Lagrange { friction: mu, ..Lagrange::default() }, 1e-2);
        s.add(Ground { normal: turn * Vec3::z(), ..Ground::default() });
        let at = turn * Vec3::new(0.0, 0.0, 0.05);
        let size = Vec3::new(0.4, 0.3, 0.1);
        s.add(RigidBody::new("block", Shape::Box { size }).at(at.into()).turned(turn));
        let mut sim = s.build().unwrap();
        sim.run(0.5).unwrap();
        let v = triple(&sim.state.v, 0).dot(&(turn * Vec3::x()));
        let wanted = 0.5 * 9.81 * (angle.sin() - mu * angle.cos()).max(0.0);
        assert!((v - wanted).abs() < 1e-9, "{degrees} {mu}: {v} {wanted}");
        let gap = sim.report.smallest_gap;
        assert!(gap.abs() < 1e-11, "{gap}");
    }
}

#[test]
fn a_point_stops_by_friction_at_the_right_moment() {
    // Deceleration μ g; cases of one step of 0.01 s: it stops within, or goes on slower, in any direction.
    for angle in [0.0f64, 0.3, 1.0, 2.5, 4.0] {
        for (speed, left) in [(0.02, 0.0), (0.5, 0.45095)] {
            let mut s = scene(Lagrange { friction: 0.5, ..Lagrange::default() }, 0.01);
            s.add(Ground::default());
            let block = RigidBody::new("block", Shape::Box { size: Vec3::repeat(0.1) })
                .mass(1.0)
                .at([0.0, 0.0, 0.05]);
            // No turning: the inertia of something huge.
            let block = block.inertia(1.0, Vec3::zeros(), Mat3::identity() * 1e9);
            s.add(block.velocity([speed * angle.cos(), speed * angle.sin(), 0.0]));
            let mut sim = s.build().unwrap();
            sim.step().unwrap();
            let v = triple(&sim.state.v, 0);
            let wanted = Vec3::new(angle.cos(), angle.sin(), 0.0) * left;
            assert!((v - wanted).norm() < 1e-8, "{angle} {speed}: {v} {wanted}");
        }
    }
}

#[test]
fn a_sliding_ball_ends_rolling_at_five_sevenths_of_its_speed() {
    let mut s = scene(Lagrange { friction: 0.2, ..Lagrange::default() }, 1e-2);
    s.add(Ground::default());
    s.add(ball("ball", 0.1, 1.0, [0.0, 0.0, 0.1], [3.0, 0.0, 0.0]));
    let mut sim = s.build().unwrap();
    // Sliding ends at 2 v₀ / (7 μ g) = 0.4369 s.
    sim.run(1.0).unwrap();
    let (v, w) = (triple(&sim.state.v, 0), triple(&sim.state.v, 1));
    assert!((v.x - 15.0 / 7.0).abs() < 1e-5, "{v}");
    assert!((v.x - 0.1 * w.y).abs() < 1e-5 && (sim.state.q[2] - 0.1).abs() < 1e-9, "{v} {w}");
}

#[test]
fn painleves_rod_has_no_forces_and_the_step_says_so_and_leaves_the_state() {
    // A rod on its tip, sliding towards the side it leans to. With φ from the floor, A_n = 1/m + (l/2)² cos φ (cos φ −
    // μ sin φ)/I < 0 from μ = (1 + 3 cos² φ)/(3 sin φ cos φ) on, the smallest of which is 4/3 at tan φ = 2.
    let step = |mu: f64| {
        let mut s = scene(Lagrange { friction: mu, ..Lagrange::default() }, 1e-3);
        s.add(Ground::default());
        let phi = 2f64.atan();
        let shape = Shape::Capsule { radius: 1e-4, length: 1.0 };
        let turn = exp(&Vec3::new(0.0, std::f64::consts::FRAC_PI_2 - phi, 0.0));
        let I = Mat3::from_diagonal(&Vec3::new(1.0 / 12.0, 1.0 / 12.0, 1e-4));
        let at = [0.0, 0.0, 0.5 * phi.sin() + 1e-4];
        let rod = RigidBody::new("rod", shape).inertia(1.0, Vec3::zeros(), I).at(at).turned(turn);
        s.add(rod.velocity([-1.0, 0.0, 0.0]));
        let mut sim = s.build().unwrap();
        let before = sim.state.clone();
        let result = sim.step();
        if result.is_err() {
            assert_eq!(sim.state.q, before.q);
        }
        result
    };
    let wrong = [step(1.6), step(0.0)];
    let failed =
        matches!(&wrong[0], Err(StepError::NoContactForce { a, b, .. }) if a == "rod" && b == "ground");
    assert!(failed, "{:?}", wrong[0]);
    assert!(wrong[1].is_ok());
    assert!(step(1.2).is_ok());
}

#[test]
fn pendulums_in_a_row_pass_the_blow_on_through_their_joints() {
    let mut s = scene(Lagrange { restitution: 1.0, ..Lagrange::default() }, 2e-3);
    for i in 0..3 {
        let x = 0.2 * i as f64;
        let (mut at, mut turn) = ([x, 0.0, -1.0], Quat::identity());
        if i == 0 {
            let angle = 0.3f64;
            turn = exp(&(Vec3::y() * angle));
            at = [x - angle.sin(), 0.0, -angle.cos()];
        }
        let name = format!("b{i}");
        s.add(RigidBody::new(&name, Shape::Sphere { radius: 0.1 }).mass(1.0).at(at).turned(turn));
        let joint = JointItem::new(format!("j{i}"), JointKind::Hinge, "world", &name);
        s.add(joint.anchor([x, 0.0, 0.0]).axis([0.0, 1.0, 0.0]));
    }
    let mut sim = s.build().unwrap();
    let start = sim.energy().total();
    // Down in a quarter period; the last one is up at the height of the first a quarter later.
    let mut highest = [f64::NEG_INFINITY; 3];
    while sim.state.time < 1.0 {
        sim.step().unwrap();
        for k in 1..3 {
            highest[k] = f64::max(highest[k], sim.state.q[7 * k + 2]);
        }
        assert!((sim.energy().total() - start).abs() < 1e-7, "{}", sim.energy().total() - start);
    }
    assert!((highest[2] + 0.3f64.cos()).abs() < 1e-4, "{highest:?}");
    assert!((highest[1] + 1.0).abs() < 1e-6, "{highest:?}");
}

#[test]
fn energy_never_grows_with_friction_and_bounces() {
    let mut random = crate::math::Random::new(4);
    for rule in [Impacts::Sequential, Impacts::Chain, Impacts::Simultaneous] {
        let settings = Lagrange { friction: 0.6, restitution: 0.7, impacts: rule, ..Lagrange::default() };
        let mut s = scene(settings, 5e-3);
        s.add(Ground::default());
        for k in 0..2 {
            let turn = Vec3::from_fn(|_, _| random.between(-2.0, 2.0));
            let body = RigidBody::new(format!("b{k}"), Shape::Box { size: Vec3::new(0.3, 0.2, 0.15) });
            s.add(body.mass(1.0).at([0.05 * f64::from(k), 0.0, 0.4 + 0.4 * f64::from(k)]).turned(exp(&turn)));
        }
        let mut sim = s.build().unwrap();
        let mut last = sim.energy().total();
        for step in 0..150 {
            sim.step().unwrap_or_else(|e| panic!("{rule:?} step {step}: {e}"));
            let now = sim.energy().total();
            assert!(now < last + 1e-6, "{rule:?} step {step}: {}", now - last);
            last = now;
            assert!(sim.report.smallest_gap > -1e-6, "{rule:?} step {step}: {}", sim.report.smallest_gap);
        }
    }
}

#[test]
fn a_fast_ball_does_not_pass_through_a_thin_wall() {
    let mut s = scene(Lagrange { restitution: 1.0, ..Lagrange::default() }, 1e-2);
    s.gravity = Vec3::zeros();
    s.add(
        RigidBody::new("wall", Shape::Box { size: Vec3::new(0.01, 2.0, 2.0) }).mass(1e6).at([5.0, 0.0, 0.0]),
    );
    s.add(ball("ball", 0.01, 1e-3, [0.0, 0.0, 0.0], [1000.0, 0.0, 0.0]));
    let mut sim = s.build().unwrap();
    sim.run(0.02).unwrap();
    assert!((sim.state.v[6] + 1000.0).abs() < 1e-5, "{:?}", sim.state.v);
}

#[test]
fn points_that_begin_to_slide_together_keep_the_friction_of_coulomb() {
    // On a slope a little steeper than its friction a box gains g (sin θ − μ cos θ) per second, turning about no axis.
    let theta = 30f64.to_radians();
    let mu = 0.98 * theta.tan();
    let mut s = scene(Lagrange { friction: mu, ..Lagrange::default() }, 0.005);
    s.gravity = 9.81 * Vec3::new(theta.sin(), 0.0, -theta.cos());
    s.add(Ground::default());
    s.add(RigidBody::new("box", Shape::Box { size: Vec3::new(0.4, 0.3, 0.2) }).mass(2.0).at([0.0, 0.0, 0.1]));
    let mut sim = s.build().unwrap();
    sim.run(0.5).unwrap();
    let expected = 0.5 * 9.81 * (theta.sin() - mu * theta.cos());
    assert!((sim.state.v[0] - expected).abs() < 1e-6 * expected, "{} {expected}", sim.state.v[0]);
    assert!(triple(&sim.state.v, 1).norm() < 1e-6, "{:?}", sim.state.v);
}

#[test]
fn a_cylinder_slides_on_its_face_as_far_as_friction_lets_it_in_every_direction() {
    for degrees in [0.0f64, 45.0, 77.0] {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let mut s = scene(Lagrange { friction: 0.3, ..Lagrange::default() }, 0.002);
        s.add(Ground::default());
        let disc = RigidBody::new("disc", Shape::Cylinder { radius: 0.2, length: 0.1 }).mass(1.0);
        s.add(disc.at([0.0, 0.0, 0.05]).velocity([2.0 * cos, 2.0 * sin, 0.0]));
        let mut sim = s.build().unwrap();
        sim.run(0.4).unwrap();
        let expected = (2.0 * 0.4 - 0.5 * 0.3 * 9.81 * 0.16) * Vec3::new(cos, sin, 0.0) + 0.05 * Vec3::z();
        let off = (triple(&sim.state.q, 0) - expected).norm();
        assert!(off < 3e-5, "{degrees}: {off:e}");
    }
}

#[test]
fn a_box_that_falls_flat_on_its_corners_comes_to_rest_on_them() {
    let mut s = scene(Lagrange { friction: 0.3, ..Lagrange::default() }, 0.01);
    s.add(Ground::default());
    s.add(RigidBody::new("box", Shape::Box { size: Vec3::new(0.3, 0.3, 0.3) }).mass(1.0).at([0.0, 0.0, 0.5]));
    let mut sim = s.build().unwrap();
    sim.run(0.5).unwrap();
    assert!((sim.state.q[2] - 0.15).abs() < 1e-6, "{}", sim.state.q[2]);
    assert!(sim.state.v[..6].iter().all(|v| v.abs() < 1e-4), "{:?}", sim.state.v);
}

#[test]
fn a_step_of_more_events_than_it_may_follow_fails_with_their_number() {
    use super::super::{StepError, Workspace};
    use super::{ContactPointWork, LagrangeReport, System, events};
    let settings = Lagrange { restitution: 0.9, ..Lagrange::default() };
    let mut s = scene(settings, 1.0);
    s.add(Ground::default());
    s.add(ball("ball", 0.1, 2.0, [0.0, 0.0, 0.2], [0.0; 3]));
    let sim = s.build().unwrap();
    let shapes = sim.model.rigid_contact.as_ref().unwrap();
    let step = |most_trials: u32| {
        let (mut system, mut work) = (System::default(), Workspace::default());
        system.prepare(&sim.model);
        let (mut state, mut contact) = (sim.state.clone(), ContactPointWork::default());
        let worst = &mut LagrangeReport::default();
        settings.step_with_contact(
            &sim.model,
            shapes,
            &mut state,
            1.0,
            most_trials,
            &mut system,
            &mut contact,
            &mut work,
            worst,
        )
    };
    assert!(step(events::MOST_TRIALS).is_ok());
    let error = step(20).unwrap_err();
    assert!(matches!(error, StepError::TooManyEvents { most: 20, parts: 1.., .. }), "{error}");
}
