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
        s.add(body.at(at.into()).velocity(v.into()).angular_velocity((turn * w).into()));
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
/// Balls of 50 mm in a bin.
fn bin(n: usize, settings: Impulse) -> Scene {
    let mut s = scene(settings, 2e-3);
    for (name, normal) in [("e", -Vec3::x()), ("w", Vec3::x()), ("n", -Vec3::y()), ("s", Vec3::y())] {
        s.add(Ground { name: name.into(), point: -0.25 * normal, normal, ..Ground::default() });
    }
    for k in 0..n {
        let place = |i: usize| -0.165 + 0.11 * (i % 4) as f64;
        let shift = 0.005 * (k as f64).sin();
        let at = [place(k) + shift, place(k / 4) - shift, 0.06 + 0.11 * (k / 16) as f64];
        s.add(RigidBody::new(format!("b{k}"), Shape::Sphere { radius: 0.05 }).at(at));
    }
    s
}

#[test]
fn a_heap_in_a_bin_overlaps_by_less_than_a_millimetre_and_weighs_what_it_weighs() {
    let n = 200;
    let mut sim = bin(n, Impulse::default()).build().unwrap();
    let mass = 1000.0 * 4.0 / 3.0 * std::f64::consts::PI * 0.05f64.powi(3);
    let (mut deepest, mut weight, mut most) = (0.0f64, 0.0, 0);
    for k in 0..700 {
        let before: f64 = (0..n).map(|i| mass * sim.state.v[6 * i + 2]).sum();
        sim.step().unwrap();
        let after: f64 = (0..n).map(|i| mass * sim.state.v[6 * i + 2]).sum();
        // Grounds are the second of a pair.
        let from_outside: f64 =
            sim.state.contacts.iter().filter(|c| c.b as usize >= n).map(|c| c.force.z).sum();
        let change = (from_outside - 9.81 * mass * n as f64) * 2e-3;
        assert!((after - before - change).abs() < 1e-9, "{k}: {after} {before} {change}");
        deepest = deepest.max(-sim.report.smallest_gap);
        most = most.max(sim.report.contacts);
        weight += if k >= 600 { 0.01 * from_outside } else { 0.0 };
    }
    assert!(most > 250, "{most}: not a heap");
    assert!(deepest < 1e-3 && deepest > 0.0, "{deepest:e}");
    let wanted = 9.81 * mass * n as f64;
    assert!((weight / wanted - 1.0).abs() < 0.02, "{weight} {wanted}");
}

fn dozing() -> Impulse {
    Impulse { sleep_after: 0.1, sleep_speed: 5e-3, ..Impulse::default() }
}

/// Two boxes on each other and a third apart, left to rest until they sleep.
fn sleeping() -> Simulation {
    let mut s = scene(dozing(), 5e-3);
    s.add(cube("low", 0.2, 0.0, 0.0, 0.1));
    s.add(cube("high", 0.2, 0.0, 0.0, 0.3));
    s.add(cube("far", 0.2, 2.0, 0.0, 0.1));
    s.add(RigidBody::new("ball", Shape::Sphere { radius: 0.05 }).at([0.0, 0.0, 2.5]).mass(1.0));
    let mut sim = s.build().unwrap();
    for _ in 0..60 {
        sim.step().unwrap();
    }
    assert!(sim.state.rest[..3].iter().all(|r| *r < 0.0), "{:?}", sim.state.rest);
    sim
}

#[test]
fn what_sleeps_stays_to_the_last_bit_and_wakes_when_something_comes() {
    let mut sim = sleeping();
    let before = sim.state.q.clone();
    let mut woke = None;
    for k in 0..120 {
        sim.step().unwrap();
        if sim.state.rest[1] >= 0.0 {
            woke = Some(k);
            break;
        }
        assert_eq!(sim.state.q[..21], before[..21]);
        assert_eq!(sim.state.v[..18], [0.0; 18]);
    }
    // The ball falls 2.05 m in 0.65 s; 0.3 s have gone.
    let woke = woke.expect("the ball wakes the stack");
    assert!((60..72).contains(&woke), "{woke}");
    assert!(sim.state.rest[0] >= 0.0, "what lies under it wakes too");
    assert!(sim.state.rest[2] < 0.0, "what lies apart sleeps on");
    for _ in 0..400 {
        sim.step().unwrap();
    }
    assert!((sim.state.q[2] - 0.1).abs() < 1e-4 && (sim.state.q[9] - 0.3).abs() < 1e-4);
}

#[test]
fn a_force_wakes_an_island_and_what_lost_its_support_falls() {
    let mut sim = sleeping();
    let layout = sim.model.layout;
    sim.state.applied.resize(layout.len_v(), 0.0);
    sim.state.applied[0] = -60.0;
    for _ in 0..100 {
        sim.step().unwrap();
    }
    assert!(sim.state.q[0] < -0.5, "the lower box was pulled away: {}", sim.state.q[0]);
    assert!(sim.state.q[9] < 0.25, "the upper box fell: {}", sim.state.q[9]);
    assert!(sim.state.rest[2] < 0.0, "what lies apart sleeps on");
}

#[test]
fn a_run_with_sleepers_that_is_saved_and_resumed_goes_on_with_the_same_bits() {
    let mut sim = sleeping();
    let saved = sim.state.clone();
    let mut again = sleeping();
    again.state = saved;
    again.workspace = Workspace::default();
    for _ in 0..150 {
        sim.step().unwrap();
        again.step().unwrap();
        assert_eq!(sim.state.q, again.state.q);
        assert_eq!(sim.state.v, again.state.v);
        assert_eq!(sim.state.rest, again.state.rest);
    }
}

#[test]
fn a_step_of_a_scene_that_sleeps_changes_nothing_but_the_time() {
    let mut s = scene(dozing(), 5e-3);
    s.add(cube("low", 0.2, 0.0, 0.0, 0.1));
    let mut sim = s.build().unwrap();
    sim.run(0.5).unwrap();
    let before = sim.state.clone();
    sim.step().unwrap();
    assert_eq!(before.q, sim.state.q);
    assert_eq!(before.contacts, sim.state.contacts);
    assert!(sim.state.time > before.time && sim.report.evaluations == 0);
    sim.state.v[2] = 0.5;
    sim.step().unwrap();
    assert!(sim.state.q[2] > 0.1005, "a velocity wakes it");
}

#[test]
fn bodies_in_the_same_place_part_slowly() {
    let mut s = scene(Impulse::default(), 2e-3);
    for (k, at) in [[0.0, 0.0, 0.1], [0.0, 0.0, 0.1], [0.01, 0.0, 0.05]].into_iter().enumerate() {
        s.add(cube(&format!("b{k}"), 0.2, at[0], at[1], at[2]));
    }
    s.add(RigidBody::new("ball", Shape::Sphere { radius: 0.1 }).at([0.0, 0.0, 0.1]).mass(1.0));
    let mut sim = s.build().unwrap();
    for step in 0..1000 {
        sim.step().unwrap();
        let fastest = sim.state.v.chunks(6).map(|v| Vec3::new(v[0], v[1], v[2]).norm()).fold(0.0, f64::max);
        // They fall apart, some from a height of three boxes, but nothing is shot away.
        assert!(fastest < 4.0, "{step}: {fastest}");
    }
    assert!(sim.step().unwrap().smallest_gap > -1e-3);
}

#[test]
fn fast_and_far_bodies_stop_at_the_ground() {
    let mut s = scene(Impulse::default(), 1e-3);
    s.add(
        RigidBody::new("shot", Shape::Sphere { radius: 0.05 })
            .at([0.0, 0.0, 3.0])
            .velocity([100.0, 0.0, -1e4]),
    );
    let turn = exp(&Vec3::new(0.3, 0.2, 0.1));
    s.add(cube("thrown", 0.2, 50.0, 0.0, 4.0).turned(turn).velocity([0.0, 1e4, -1e4]));
    s.add(cube("far", 0.2, 1e6, -1e6, 0.1));
    let mut sim = s.build().unwrap();
    for step in 0..500 {
        sim.step().unwrap();
        for k in 0..3 {
            assert!(sim.state.q[7 * k + 2] > 0.0, "{step}: body {k} at {}", sim.state.q[7 * k + 2]);
        }
    }
    let far = &sim.state.q[14..17];
    let moved = Vec3::new(far[0] - 1e6, far[1] + 1e6, far[2] - 0.1).norm();
    assert!(moved < 1e-6, "{moved:e}");
}

#[test]
fn restitution_above_one_adds_energy_and_nothing_breaks() {
    let mut s = scene(Impulse { restitution: 1.2, ..Impulse::default() }, 1e-3);
    s.add(cube("box", 0.2, 0.0, 0.0, 0.5).turned(exp(&Vec3::new(0.4, 0.1, 0.0))));
    let mut sim = s.build().unwrap();
    let start = sim.energy().total();
    sim.run(2.0).unwrap();
    assert!(sim.energy().total() > start && sim.state.q.iter().all(|x| x.is_finite()));
}
