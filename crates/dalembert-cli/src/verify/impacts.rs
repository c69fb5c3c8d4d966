//! Impacts and resting contact under `lagrange`.

use dalembert::math::rotation::exp;
use dalembert::math::triple;
use dalembert::prelude::*;
use serde_json::Value;

use super::{Outcome, Table, numbers};

const ROD: &str = include_str!("../../data/cases/rod_impact_baraff.json");
const POINT: &str = include_str!("../../data/cases/point_mass_one_contact.json");
const BALL: &str = include_str!("../../data/cases/bouncing_ball.json");

fn number(data: &Value, part: &str, key: &str) -> Result<f64, String> {
    data[part][key].as_f64().ok_or_else(|| format!("`{key}` is missing"))
}

fn scene(settings: Lagrange, dt: f64) -> Scene {
    let mut scene = Scene { dt, method: Method::Lagrange(settings), ..Scene::default() };
    scene.contact.push(ContactRule::between("*", "*"));
    scene
}

/// A rod that falls on one of its ends: impulse and velocities after it.
pub(super) fn rod(table: &mut Table) -> Outcome {
    let data: Value = serde_json::from_str(ROD)?;
    let p = |key: &str| number(&data, "parameters", key);
    let (l, m, I, e) = (p("rod_length")?, p("mass")?, p("I")?, p("e")?);
    let angle = p("angle_from_floor_deg")?.to_radians();
    let h = 1e-3;
    let mut s = scene(Lagrange { restitution: e, ..Lagrange::default() }, h);
    s.gravity = Vec3::zeros();
    s.add(Ground::default());
    // A thin radius moves the point of contact along the normal, which no moment feels.
    let r = 0.01;
    let shape = Shape::Capsule { radius: r, length: l };
    let turn = exp(&(Vec3::y() * (std::f64::consts::FRAC_PI_2 - angle)));
    let at = [0.0, 0.0, 0.5 * l * angle.sin() + r + 0.5 * h];
    let inertia = Mat3::from_diagonal(&Vec3::new(I, I, 1e-4));
    let rod = RigidBody::new("rod", shape).inertia(m, Vec3::zeros(), inertia).at(at).turned(turn);
    s.add(rod.velocity([0.0, 0.0, -1.0]));
    let mut sim = s.build()?;
    sim.step()?;
    let (v, w) = (triple(&sim.state.v, 0), triple(&sim.state.v, 1));
    let wanted = |key: &str| number(&data, "reference", key);
    let impulse = sim.state.contacts.first().map_or(f64::NAN, |c| c.force.norm() * h);
    table.absolute("lagrange", "impulse j", impulse, wanted("j")?, 1e-12);
    table.absolute("lagrange", "velocity of the centre", v.z, wanted("v_y")?, 1e-12);
    table.absolute("lagrange", "angular velocity", w.norm(), wanted("omega_z")?.abs(), 1e-12);
    Ok(())
}

/// A point that slides on a plane and stops within the step, or does not; in several directions.
pub(super) fn point_mass(table: &mut Table) -> Outcome {
    let data: Value = serde_json::from_str(POINT)?;
    let p = |key: &str| number(&data, "parameters", key);
    let (m, mu, g, h) = (p("m")?, p("mu")?, p("g")?, p("h")?);
    for (case, name) in ["case1", "case2"].into_iter().enumerate() {
        let before = numbers(&data["parameters"]["cases"][case]["vt"])?;
        let after = numbers(&data["reference"][name]["vt"])?;
        let normal = number(&data["reference"], name, "pn")?;
        for turn in [0.0f64, 0.7, 2.0, 4.4] {
            let turned = |v: &[f64]| {
                let (sin, cos) = turn.sin_cos();
                Vec3::new(cos * v[0] - sin * v[1], sin * v[0] + cos * v[1], 0.0)
            };
            let mut s = scene(Lagrange { friction: mu, ..Lagrange::default() }, h);
            s.gravity = Vec3::new(0.0, 0.0, -g);
            s.add(Ground::default());
            // It cannot turn, which makes it a point.
            let body = RigidBody::new("point", Shape::Box { size: Vec3::repeat(0.1) }).at([0.0, 0.0, 0.05]);
            let body = body.inertia(m, Vec3::zeros(), Mat3::identity() * 1e12);
            s.add(body.velocity(turned(&before).into()));
            let mut sim = s.build()?;
            sim.step()?;
            let off = (triple(&sim.state.v, 0) - turned(&after)).norm();
            table.absolute("lagrange", format!("{name} turned by {turn}: error of v"), off, 0.0, 1e-9);
            let push: f64 = sim.state.contacts.iter().map(|c| c.force.z).sum();
            table.absolute(
                "lagrange",
                format!("{name} turned by {turn}: normal impulse"),
                push.abs() * h,
                normal,
                1e-9,
            );
        }
    }
    Ok(())
}

/// A ball that bounces ever faster: times of bounces, heights between them, and rest.
pub(super) fn bouncing_ball(table: &mut Table) -> Outcome {
    let data: Value = serde_json::from_str(BALL)?;
    let p = |key: &str| number(&data, "parameters", key);
    let (height, e, g) = (p("h0")?, p("e")?, p("g")?);
    let (radius, h) = (0.1, 1e-3);
    let mut s = scene(Lagrange { restitution: e, ..Lagrange::default() }, h);
    s.gravity = Vec3::new(0.0, 0.0, -g);
    s.add(Ground::default());
    let ball = RigidBody::new("ball", Shape::Sphere { radius }).mass(1.0);
    s.add(ball.at([0.0, 0.0, height + radius]));
    let mut sim = s.build()?;
    let (mut times, mut heights) = (Vec::new(), Vec::new());
    let mut last = 0.0;
    let zeno = number(&data, "reference", "zeno_time")?;
    while sim.state.time < zeno + 0.1 {
        let (z, v, t) = (sim.state.q[2] - radius, sim.state.v[2], sim.state.time);
        sim.step()?;
        let now = sim.state.v[2];
        if v < 0.0 && now > 0.0 && times.len() < 7 {
            // Back along the parabola that led there.
            times.push(t + (v + (v * v + 2.0 * g * z).sqrt()) / g);
        }
        if last > 0.0 && now <= 0.0 && heights.len() < 5 && sim.report.contacts == 0 {
            heights.push(sim.state.q[2] - radius + 0.5 * now * now / g);
        }
        last = now;
    }
    let wanted = numbers(&data["reference"]["bounce_times"])?;
    for (k, t) in wanted.iter().enumerate() {
        let found = times.get(k).copied().unwrap_or(f64::NAN);
        table.absolute("lagrange", format!("time of bounce {}", k + 1), found, *t, 1e-9);
    }
    for (k, z) in numbers(&data["reference"]["apex"])?.iter().enumerate() {
        let found = heights.get(k).copied().unwrap_or(f64::NAN);
        table.absolute("lagrange", format!("height after bounce {}", k + 1), found, *z, 1e-9);
    }
    table.absolute("lagrange", "speed after all bounces", sim.state.v[2].abs(), 0.0, 1e-9);
    table.absolute("lagrange", "height of rest", sim.state.q[2], radius, 1e-9);
    Ok(())
}

/// Newton's cradle of five balls by the three rules for impacts at one moment.
pub(super) fn cradle(table: &mut Table) -> Outcome {
    let outcomes = [
        ("sequential", Impacts::Sequential, [0.0, 0.0, 0.0, 0.0, 1.0]),
        ("chain", Impacts::Chain, [0.0, 0.0, 0.0, 0.0, 1.0]),
        // Four that rest move off as one: 1 = v + 4 u and v − u = −1.
        ("simultaneous", Impacts::Simultaneous, [-0.6, 0.4, 0.4, 0.4, 0.4]),
    ];
    for (name, impacts, wanted) in outcomes {
        let mut s = scene(Lagrange { restitution: 1.0, impacts, ..Lagrange::default() }, 0.01);
        s.gravity = Vec3::zeros();
        for k in 0..5 {
            let (x, v) = if k == 0 { (-5e-3, 1.0) } else { (f64::from(k), 0.0) };
            let ball = RigidBody::new(format!("ball{k}"), Shape::Sphere { radius: 0.5 }).mass(1.0);
            s.add(ball.at([x, 0.0, 0.0]).velocity([v, 0.0, 0.0]));
        }
        let mut sim = s.build()?;
        sim.run(0.02)?;
        let v: Vec<f64> = (0..5).map(|k| sim.state.v[6 * k]).collect();
        let off = v.iter().zip(&wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        table.absolute(name, "error of the five velocities", off, 0.0, 1e-12);
        table.absolute(name, "momentum", v.iter().sum(), 1.0, 1e-15);
        table.absolute(name, "kinetic energy", sim.energy().kinetic, 0.5, 1e-14);
    }
    Ok(())
}
