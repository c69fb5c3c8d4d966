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
fn a_stack_of_ten_stands_still() {
    let mut s = scene(Impulse::default(), 5e-3);
    for k in 0..10 {
        s.add(cube(&format!("b{k}"), 0.2, 0.0, 0.0, 0.1 + 0.2 * k as f64));
    }
    let mut sim = s.build().unwrap();
    let start = sim.state.q.clone();
    for _ in 0..1000 {
        sim.step().unwrap();
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
