//! Laws of contact.

use crate::math::rotation::exp;
use crate::prelude::*;

fn scene(settings: Impulse, dt: f64) -> Scene {
    let mut scene = Scene { method: Method::Impulse(settings), dt, ..Scene::default() };
    scene.add(Ground::default());
    scene
}

fn cube(name: &str, size: f64, x: f64, y: f64, z: f64) -> RigidBody {
    RigidBody::new(name, Shape::Box { size: Vec3::repeat(size) }).at([x, y, z]).mass(1.0)
}

#[test]
fn a_block_on_a_slope_holds_at_the_threshold_and_slides_by_the_textbook_below_it() {
    for (degrees, mu, sticks) in [(20.0f64, 0.4, true), (30.0, 0.3, false), (26.56505117707799, 0.49, false)]
    {
        let angle = degrees.to_radians();
        let turn = exp(&(Vec3::y() * angle));
        let mut s = Scene {
            method: Method::Impulse(Impulse { friction: mu, ..Impulse::default() }),
            dt: 1e-3,
            ..Scene::default()
        };
        s.add(Ground { normal: turn * Vec3::z(), ..Ground::default() });
        let at = turn * Vec3::new(0.0, 0.0, 0.05);
        let size = Vec3::new(0.4, 0.3, 0.1);
        s.add(RigidBody::new("block", Shape::Box { size }).at(at.into()).turned(turn));
        let mut sim = s.build().unwrap();
        sim.run(1.0).unwrap();
        let down = turn * Vec3::x();
        let v = Vec3::new(sim.state.v[0], sim.state.v[1], sim.state.v[2]).dot(&down);
        let wanted = if sticks { 0.0 } else { 9.81 * (angle.sin() - mu * angle.cos()) };
        assert!((v - wanted).abs() < 1e-5, "{degrees} {mu}: {v} {wanted}");
        assert!(!sim.report.unfinished);
    }
}

#[test]
fn a_stack_of_twenty_stands_still() {
    let mut s = scene(Impulse::default(), 5e-3);
    for k in 0..20 {
        s.add(cube(&format!("b{k}"), 0.2, 0.0, 0.0, 0.1 + 0.2 * k as f64));
    }
    let mut sim = s.build().unwrap();
    let start = sim.state.q.clone();
    for _ in 0..2000 {
        assert!(!sim.step().unwrap().unfinished);
    }
    let worst = sim.state.q.iter().zip(&start).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-5, "{worst:e}");
}

#[test]
fn a_ball_bounces_as_high_as_its_restitution_says() {
    for e in [0.0, 0.5, 1.0] {
        let mut s = scene(Impulse { restitution: e, ..Impulse::default() }, 1e-3);
        s.add(RigidBody::new("ball", Shape::Sphere { radius: 0.1 }).at([0.0, 0.0, 1.1]).mass(1.0));
        let mut sim = s.build().unwrap();
        let fall = (2.0f64 / 9.81).sqrt();
        sim.run(fall * 1.01).unwrap();
        let mut top = 0.0f64;
        let before = sim.energy().total();
        while sim.state.time < fall * (1.0 + 1.5 * e.max(0.2)) {
            sim.step().unwrap();
            top = top.max(sim.state.q[2] - 0.1);
            assert!(sim.energy().total() <= before + 1e-9);
        }
        assert!((top - e * e).abs() < 2e-5, "{e}: {top}");
    }
}

fn next(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Six bodies of four shapes that fly and spin towards each other, over the ground or in space.
fn tumbling(seed: &mut u64, ground: bool, e: f64, mu: f64) -> Simulation {
    let settings = Impulse { friction: mu, restitution: e, ..Impulse::default() };
    let mut s = Scene { method: Method::Impulse(settings), dt: 2e-3, ..Scene::default() };
    if ground {
        s.add(Ground::default());
    } else {
        s.gravity = Vec3::zeros();
        s.add(ContactRule::between("*", "*"));
    }
    for k in 0..6 {
        let shape = match k % 4 {
            0 => Shape::Box { size: Vec3::new(0.3, 0.2, 0.1) },
            1 => Shape::Sphere { radius: 0.12 },
            2 => Shape::Capsule { radius: 0.06, length: 0.25 },
            _ => Shape::Cylinder { radius: 0.1, length: 0.2 },
        };
        let at = Vec3::new(0.4 * (k % 2) as f64, 0.4 * (k / 2 % 2) as f64, 0.4 + 0.4 * (k / 4) as f64);
        let mut some = |size: f64| Vec3::from_fn(|_, _| size * next(seed));
        let (turn, v, w) = (exp(&some(2.0)), some(1.0) + 3.0 * (Vec3::new(0.2, 0.2, 0.6) - at), some(8.0));
        let body = RigidBody::new(format!("b{k}"), shape).mass(1.0 + 0.5 * k as f64).turned(turn);
        s.add(body.at(at.into()).velocity(v.into()).angular_velocity(w.into()));
    }
    s.build().unwrap()
}

#[test]
fn energy_never_grows_with_restitution_and_friction() {
    let mut seed = 5;
    for (e, mu) in [(1.0, 0.0), (1.0, 0.4), (1.0, 1.0), (0.7, 0.4)] {
        for ground in [false, true] {
            let mut impacts = 0;
            for case in 0..4 {
                let mut sim = tumbling(&mut seed, ground, e, mu);
                let mut last = sim.energy().total();
                let scale = sim.energy().kinetic;
                let mass = sim.model.mass();
                for step in 0..500 {
                    let report = sim.step().unwrap();
                    impacts += usize::from(report.contacts > 0);
                    let now = sim.energy().total();
                    // What overlaps is lifted by a fifth of the overlap.
                    let lifted = 9.81 * mass * 0.2 * (-report.smallest_gap).max(0.0);
                    let most = 1e-10 * scale + if e == 1.0 { 0.0 } else { lifted };
                    assert!(now - last <= most, "e {e} mu {mu} {ground} {case} {step}: {:e}", now - last);
                    last = now;
                }
            }
            assert!(impacts > 8, "{e} {mu} {ground}: {impacts}");
        }
    }
}
