//! What stands, stays: a stack, a card tent and a mug in a gripper for a minute; energy of tumbling bodies.

use dalembert::math::rotation::exp;
use dalembert::prelude::*;

use super::{Outcome, Table};

const METHOD: &str = "impulse";
const MINUTE: f64 = 60.0;

type Built = Result<Simulation, Box<dyn std::error::Error>>;

fn scene(settings: Impulse, dt: f64) -> Scene {
    Scene { method: Method::Impulse(settings), dt, ..Scene::default() }
}

/// The farthest that a coordinate of a body ever is from where it began in a minute, and the steps that did not reach
/// the tolerance.
fn farthest(sim: &mut Simulation) -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let start = sim.state.q.clone();
    let (mut worst, mut unfinished) = (0.0f64, 0.0);
    for _ in 0..(MINUTE / sim.dt).round() as usize {
        unfinished += f64::from(u8::from(sim.step()?.unfinished));
        let moved = sim.state.q.iter().zip(&start).map(|(a, b)| (a - b).abs());
        worst = moved.fold(worst, f64::max);
    }
    Ok((worst, unfinished))
}

/// Twenty boxes on each other.
fn tower() -> Built {
    let mut s = scene(Impulse::default(), 5e-3);
    s.add(Ground::default());
    for k in 0..20 {
        let body = RigidBody::new(format!("box{k}"), Shape::Box { size: Vec3::repeat(0.2) });
        s.add(body.mass(1.0).at([0.0, 0.0, 0.1 + 0.2 * f64::from(k)]));
    }
    Ok(s.build()?)
}

/// Two cards at 20 degrees that lean on each other; 1.3 times the friction that they need.
fn tent() -> Built {
    // tan(a)/2 for thin cards, and t/2L less for the thickness t (see the case aframe_cards).
    let least = 0.5 * 20f64.to_radians().tan() - 0.005;
    super::impulse_contact::leaning_cards(20.0, 1.3 * least, 4e-3)
}

/// Two jaws on sliders press a mug from both sides with `force`; only friction holds it.
fn gripper(mu: f64, force: f64) -> Built {
    let mut s = scene(Impulse { friction: mu, ..Impulse::default() }, 2e-3);
    s.add(ContactRule::between("*", "*"));
    let (radius, jaw) = (0.04, 0.02);
    for (name, side) in [("left", -1.0), ("right", 1.0)] {
        let shape = Shape::Box { size: Vec3::new(jaw, 0.03, 0.06) };
        let at = [side * (radius + 0.5 * jaw), 0.0, 0.5];
        s.add(RigidBody::new(name, shape).mass(0.2).at(at));
        let slider = JointItem::new(format!("{name} slider"), JointKind::Slider, "world", name);
        let mut slider = slider.anchor(at).axis([-side, 0.0, 0.0]);
        slider.motor = Some(Motor::Effort(force));
        s.add(slider);
    }
    let mug = RigidBody::new("mug", Shape::Cylinder { radius, length: 0.1 });
    s.add(mug.mass(0.35).at([0.0, 0.0, 0.5]));
    Ok(s.build()?)
}

/// A stack of twenty and a tent stand for a minute.
pub(super) fn standing(table: &mut Table) -> Outcome {
    for (name, mut sim) in [("a stack of 20", tower()?), ("a card tent", tent()?)] {
        let (moved, unfinished) = farthest(&mut sim)?;
        table.absolute(METHOD, format!("{name}: moved in 60 s [m]"), moved, 0.0, 1e-4);
        table.absolute(METHOD, format!("{name}: steps above the tolerance"), unfinished, 0.0, 0.0);
    }
    Ok(())
}

/// A mug held by friction for a minute, and lost with too little of it.
pub(super) fn grasp(table: &mut Table) -> Outcome {
    let force = 10.0;
    // Two jaws carry 2 mu F.
    let needed = 0.35 * 9.81 / (2.0 * force);
    let mut sim = gripper(1.3 * needed, force)?;
    let mug = sim.model.block("mug").ok_or("no mug")?.q.start;
    let start: Vec<f64> = sim.state.q[mug..mug + 3].to_vec();
    let mut worst = 0.0f64;
    for _ in 0..(MINUTE / sim.dt).round() as usize {
        sim.step()?;
        let slip = (0..3).map(|k| (sim.state.q[mug + k] - start[k]).powi(2)).sum::<f64>();
        worst = worst.max(slip.sqrt());
    }
    table.absolute(METHOD, "1.3 times the friction needed: slip in 60 s [m]", worst, 0.0, 1e-4);
    // With 0.9 of it the mug falls at a tenth of g.
    let mut sim = gripper(0.9 * needed, force)?;
    let time = 0.4;
    sim.run(time)?;
    let fallen = start[2] - sim.state.q[mug + 2];
    table.relative(METHOD, "0.9 times: fallen in 0.4 s [m]", fallen, 0.05 * 9.81 * time * time, 0.02);
    Ok(())
}

fn next(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Eight bodies of four shapes thrown at each other above the ground, e = 1: the largest rise of their energy in a step.
pub(super) fn tumbling(table: &mut Table) -> Outcome {
    let mut seed = 11;
    for mu in [0.0, 0.3, 1.0] {
        let (mut rise, mut impacts) = (0.0f64, 0);
        for _ in 0..10 {
            let mut s = scene(Impulse { friction: mu, restitution: 1.0, ..Impulse::default() }, 1e-3);
            s.add(Ground::default());
            for k in 0..8 {
                let shape = match k % 4 {
                    0 => Shape::Box { size: Vec3::new(0.3, 0.2, 0.1) },
                    1 => Shape::Sphere { radius: 0.12 },
                    2 => Shape::Capsule { radius: 0.06, length: 0.25 },
                    _ => Shape::Cylinder { radius: 0.1, length: 0.2 },
                };
                let at = Vec3::new(f64::from(k % 2), f64::from(k / 2 % 2), 1.0 + f64::from(k / 4)) * 0.4;
                let mut some = |size: f64| Vec3::from_fn(|_, _| size * next(&mut seed));
                let (turn, w) = (exp(&some(2.0)), some(8.0));
                let v = some(1.0) + 3.0 * (Vec3::new(0.2, 0.2, 0.6) - at);
                let body = RigidBody::new(format!("b{k}"), shape).mass(1.0 + 0.5 * f64::from(k)).turned(turn);
                s.add(body.at(at.into()).velocity(v.into()).angular_velocity((turn * w).into()));
            }
            let mut sim = s.build()?;
            let (scale, mut last) = (sim.energy().kinetic, sim.energy().total());
            for _ in 0..1000 {
                impacts += usize::from(sim.step()?.contacts > 0);
                let now = sim.energy().total();
                rise = rise.max((now - last) / scale);
                last = now;
            }
        }
        if impacts < 100 {
            return Err(format!("only {impacts} impacts").into());
        }
        table.absolute(
            METHOD,
            format!("mu = {mu}: largest rise of energy in a step, relative"),
            rise,
            0.0,
            1e-10,
        );
    }
    Ok(())
}
