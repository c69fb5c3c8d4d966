//! Contact under `impulse`: friction, bouncing, stacks, arches.

use dalembert::math::rotation::exp;
use dalembert::prelude::*;
use serde_json::Value;

use super::{Outcome, Table, numbers};

const ROLLING: &str = include_str!("../../data/cases/raisim_rolling.json");
const BOUNCING: &str = include_str!("../../data/cases/raisim_bouncing.json");
const CUBE: &str = include_str!("../../data/cases/raisim_666.json");
const SLIDING: &str = include_str!("../../data/cases/sliding_to_rolling_sphere.json");
const TURNTABLE: &str = include_str!("../../data/cases/ball_on_turntable.json");
const INCLINE: &str = include_str!("../../data/cases/block_on_incline.json");
const CARDS: &str = include_str!("../../data/cases/aframe_cards.json");
const STACK: &str = include_str!("../../data/cases/mass_ratio_stack.json");

const METHOD: &str = "impulse";

type Built = Result<Simulation, Box<dyn std::error::Error>>;

fn scene(settings: Impulse, dt: f64) -> Scene {
    Scene { method: Method::Impulse(settings), dt, ..Scene::default() }
}

fn number(value: &Value, key: &str) -> Result<f64, Box<dyn std::error::Error>> {
    value[key].as_f64().ok_or_else(|| format!("no number `{key}`").into())
}

fn velocity(sim: &Simulation, k: usize) -> Vec3 {
    Vec3::new(sim.state.v[6 * k], sim.state.v[6 * k + 1], sim.state.v[6 * k + 2])
}

fn position(sim: &Simulation, k: usize) -> Vec3 {
    Vec3::new(sim.state.q[7 * k], sim.state.q[7 * k + 1], sim.state.q[7 * k + 2])
}

/// A pushed box that slips on the floor with balls that roll on it: mean square of the velocity errors for pushes in three directions.
pub(super) fn rolling(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(ROLLING)?;
    let (p, reference) = (&case["parameters"], &case["reference"]);
    let (force, dt) = (number(p, "F")?, number(p, "dt")?);
    let (a_box, a_ball) = (number(reference, "a_box")?, number(reference, "a_ball")?);
    for degrees in [60.0f64, 90.0, 17.0] {
        let along = Vec3::new(degrees.to_radians().cos(), degrees.to_radians().sin(), 0.0);
        let mut s = scene(Impulse::default(), dt);
        s.add(Ground::default());
        s.add(ContactRule::friction("*", "box", number(p, "mu_ball_box")?));
        s.add(ContactRule::friction("ground", "box", number(p, "mu_box_ground")?));
        let shape = Shape::Box { size: Vec3::new(20.0, 20.0, 1.0) };
        s.add(RigidBody::new("box", shape).mass(number(&p["box"], "mass")?).at([0.0, 0.0, 0.5]));
        let ball = Shape::Sphere { radius: number(&p["balls"], "radius")? };
        for k in 0..25 {
            let at = [2.0 * (k % 5) as f64 - 4.0, 2.0 * (k / 5) as f64 - 4.0, 1.5];
            s.add(RigidBody::new(format!("ball{k}"), ball.clone()).mass(1.0).at(at));
        }
        let mut sim: Simulation = s.build()?;
        let layout = sim.model.layout;
        sim.state.push_rigid(&layout, 0, &Vec3::new(0.0, 0.0, 0.5), &(force * along));
        let steps = (number(p, "T")? / dt).round() as usize;
        let mut sum = 0.0;
        for _ in 0..steps {
            sim.step()?;
            let t = sim.state.time;
            let balls = (1..26).map(|k| (velocity(&sim, k) - a_ball * t * along).norm_squared());
            sum += (velocity(&sim, 0) - a_box * t * along).norm_squared() + balls.fold(0.0, f64::max);
        }
        let label = format!("pushed at {degrees} degrees: mean square of velocity errors");
        table.absolute(METHOD, label, sum / steps as f64, 0.0, 1e-6);
    }
    Ok(())
}

/// Balls that bounce for ever.
pub(super) fn bouncing(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(BOUNCING)?;
    let p = &case["parameters"];
    let settings = Impulse { friction: number(p, "mu")?, restitution: number(p, "e")?, ..Impulse::default() };
    let (H, mass, radius) = (number(p, "H")?, number(p, "mass")?, number(p, "radius")?);
    for (dt, tolerance) in [(1e-3, 0.02), (1e-2, 186.0)] {
        let mut s = scene(settings, dt);
        s.add(Ground::default());
        for k in 0..49 {
            let at = [(k % 7) as f64, (k / 7) as f64, H];
            s.add(RigidBody::new(format!("ball{k}"), Shape::Sphere { radius }).mass(mass).at(at));
        }
        let mut sim = s.build()?;
        let start = sim.energy().total();
        let steps = (number(p, "T")? / dt).round() as usize;
        let (mut sum, mut bounces) = (0.0, 0);
        for _ in 0..steps {
            bounces += usize::from(sim.step()?.contacts > 0);
            sum += (sim.energy().total() - start).powi(2);
        }
        if bounces < 5 {
            return Err("the balls do not bounce".into());
        }
        let label = format!("dt = {dt}: mean square of the energy error");
        table.absolute(METHOD, label, sum / steps as f64, 0.0, tolerance);
    }
    Ok(())
}

/// A cube of balls that falls apart without friction: how deep they overlap.
pub(super) fn cube(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(CUBE)?;
    let p = &case["parameters"];
    let (r, gap, shake) = (number(p, "radius")?, number(p, "gap")?, number(p, "perturbation")?);
    let (mass, H) = (number(p, "mass")?, number(p, "H")?);
    let mut s = scene(Impulse { friction: 0.0, ..Impulse::default() }, 1e-3);
    s.add(Ground::default());
    let mut seed = 42u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    for k in 0..216 {
        let at = [k % 6, k / 6 % 6, k / 36].map(|i| i as f64 * gap);
        let at = [at[0] + shake * random(), at[1] + shake * random(), H + at[2] + shake * random()];
        s.add(RigidBody::new(format!("ball{k}"), Shape::Sphere { radius: r }).mass(mass).at(at));
    }
    let mut sim = s.build()?;
    let mut worst = 0.0f64;
    for step in 0..1000 {
        sim.step()?;
        if step % 4 != 0 {
            continue;
        }
        for i in 0..216 {
            let a = position(&sim, i);
            worst = worst.max(r - a.z);
            for j in i + 1..216 {
                worst = worst.max(2.0 * r - (a - position(&sim, j)).norm());
            }
        }
    }
    table.absolute(METHOD, "dt = 1e-3: deepest overlap in 1 s [m]", worst, 0.0, 1.5e-4);
    Ok(())
}

/// A block on a slope.
pub(super) fn incline(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(INCLINE)?;
    for item in case["parameters"]["cases"].as_array().ok_or("no cases")? {
        let (slope, mu) = (number(item, "slope_deg")?, number(item, "mu")?);
        let sticks = item["expect"].as_str().is_some_and(|e| e.starts_with("stick"));
        let angle = slope.to_radians();
        let turn = exp(&(Vec3::y() * angle));
        // On the threshold itself rounding decides: the least bit more friction.
        let mu = if (mu - angle.tan()).abs() < 1e-12 { mu + 1e-9 } else { mu };
        let mut s = scene(Impulse { friction: mu, ..Impulse::default() }, 1e-3);
        s.add(Ground { normal: turn * Vec3::z(), ..Ground::default() });
        let at = turn * Vec3::new(0.0, 0.0, 0.05);
        let shape = Shape::Box { size: Vec3::new(0.4, 0.3, 0.1) };
        s.add(RigidBody::new("block", shape).at(at.into()).turned(turn));
        let mut sim = s.build()?;
        sim.run(1.0)?;
        let down = turn * Vec3::x();
        let v = velocity(&sim, 0).dot(&down);
        let x = (position(&sim, 0) - at).dot(&down);
        let label = format!("slope {slope:.2} degrees, mu = {mu:.2}");
        if sticks {
            table.absolute(METHOD, format!("{label}: speed after 1 s"), v, 0.0, 1e-5);
        } else {
            let a = 9.81 * (angle.sin() - mu * angle.cos());
            table.relative(METHOD, format!("{label}: speed after 1 s"), v, a, 1e-6);
            // The step from rest moves by h v⁺: x = a t (t + h)/2.
            table.relative(METHOD, format!("{label}: way after 1 s"), x, 0.5 * a * 1.001, 1e-6);
        }
    }
    Ok(())
}

/// A ball that slides until it rolls.
pub(super) fn sliding(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(SLIDING)?;
    let (p, reference) = (&case["parameters"], &case["reference"]);
    let (r, dt) = (number(p, "r")?, 1e-3);
    let mut s = scene(Impulse { friction: number(p, "mu")?, ..Impulse::default() }, dt);
    s.add(Ground::default());
    let ball = RigidBody::new("ball", Shape::Sphere { radius: r }).mass(number(p, "m")?);
    s.add(ball.at([0.0, 0.0, r]).velocity([number(p, "v0")?, 0.0, 0.0]));
    let mut sim = s.build()?;
    let (mut at, mut way) = (f64::NAN, f64::NAN);
    while sim.state.time < 1.0 {
        sim.step()?;
        let slip = velocity(&sim, 0).x - r * sim.state.v[4];
        if at.is_nan() && slip.abs() < 1e-9 {
            (at, way) = (sim.state.time, position(&sim, 0).x);
        }
    }
    table.absolute(METHOD, "time at which it rolls [s]", at, number(reference, "t_roll")?, dt);
    let reach = number(reference, "distance_at_roll")?;
    table.absolute(METHOD, "way to there [m]", way, reach, 2.0 * dt);
    table.relative(METHOD, "speed then", velocity(&sim, 0).x, number(reference, "v_final")?, 1e-6);
    table.relative(METHOD, "spin then", sim.state.v[4], number(reference, "spin_final")?, 1e-6);
    Ok(())
}

/// A ball on a turning table goes round on a circle of its own.
pub(super) fn turntable(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(TURNTABLE)?;
    let (p, reference) = (&case["parameters"], &case["reference"]);
    let (r, rate) = (number(p, "radius")?, number(p, "table_rate")?);
    let (start, v) = (numbers(&p["initial_center_xy"])?, numbers(&p["initial_velocity_xy"])?);
    // Bodies in contact move by h v⁺: the circle widens by h (2/7 rate)² t/2 of itself.
    let mut s = scene(Impulse { friction: 10.0, ..Impulse::default() }, 1.25e-4);
    s.add(ContactRule::between("*", "*"));
    let disc = Shape::Cylinder { radius: 1.0, length: 0.1 };
    s.add(RigidBody::new("table", disc).at([0.0, 0.0, -0.05]).angular_velocity([0.0, 0.0, rate]));
    let mut hinge = JointItem::new("axle", JointKind::Hinge, "world", "table").anchor([0.0, 0.0, -0.05]);
    hinge.motor = Some(Motor::Velocity { target: rate, max: 1e6 });
    s.add(hinge);
    let spin = [(-v[1] + rate * start[0]) / r, (v[0] + rate * start[1]) / r, 0.0];
    let ball = RigidBody::new("ball", Shape::Sphere { radius: r }).mass(number(p, "mass")?);
    s.add(ball.at([start[0], start[1], r]).velocity([v[0], v[1], 0.0]).angular_velocity(spin));
    let mut sim = s.build()?;
    let center = numbers(&reference["orbit_center"])?;
    let (radius, period) = (number(reference, "orbit_radius")?, number(reference, "orbit_period")?);
    let (mut worst, mut turned, mut last) = (0.0f64, 0.0, 0.0f64);
    let steps = (3.0 * period / sim.dt).round() as usize;
    for _ in 0..steps {
        sim.step()?;
        let d = position(&sim, 1) - Vec3::new(center[0], center[1], 0.0);
        let angle = d.y.atan2(d.x);
        turned += (angle - last + 3.0 * std::f64::consts::PI).rem_euclid(std::f64::consts::TAU)
            - std::f64::consts::PI;
        last = angle;
        worst = worst.max((d.xy().norm() / radius - 1.0).abs());
    }
    table.absolute(METHOD, "three rounds: worst error of the radius, relative", worst, 0.0, 1e-3);
    let found = sim.state.time * std::f64::consts::TAU / turned;
    table.relative(METHOD, "period [s]", found, period, 1e-3);
    Ok(())
}

/// Three boxes, the uppermost R times as heavy: forces between them.
pub(super) fn stack(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(STACK)?;
    for R in numbers(&case["parameters"]["R"])? {
        let mut s = scene(Impulse::default(), 5e-3);
        s.add(Ground::default());
        for (k, mass) in [1.0, 1.0, R].into_iter().enumerate() {
            let shape = Shape::Box { size: Vec3::repeat(0.1) };
            let z = 0.05 + 0.1 * k as f64;
            s.add(RigidBody::new(format!("box{k}"), shape).mass(mass).at([0.0, 0.0, z]));
        }
        let mut sim = s.build()?;
        let start = sim.state.q.clone();
        let mut deepest = 0.0f64;
        for _ in 0..2000 {
            deepest = deepest.min(sim.step()?.smallest_gap);
        }
        let label = format!("1 : 1 : {R:.0e}");
        let touch = sim.model.rigid_contact.as_ref().ok_or("no contact")?;
        let between = |a: &str, b: &str| -> f64 {
            let name = |k: u32| touch.names[k as usize].as_str();
            let fits = |c: &&dalembert::model::ContactForce| {
                [name(c.a), name(c.b)] == [a, b] || [name(c.a), name(c.b)] == [b, a]
            };
            let list: Vec<_> = sim.model.contact_forces(&sim.state).collect();
            list.iter().filter(fits).map(|c| c.force.z.abs()).sum()
        };
        for (a, b, mass) in [("box0", "ground", 2.0 + R), ("box0", "box1", 1.0 + R), ("box1", "box2", R)] {
            let label = format!("{label}: force between {a} and {b} after 10 s");
            table.relative(METHOD, label, between(a, b), 9.81 * mass, 1e-6);
        }
        let moved = sim.state.q.iter().zip(&start).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        table.absolute(METHOD, format!("{label}: moved in 10 s [m]"), moved, 0.0, 1e-5);
        table.absolute(METHOD, format!("{label}: deepest overlap [m]"), -deepest, 0.0, 1e-5);
    }
    Ok(())
}

/// Two cards that lean on each other.
pub(super) fn leaning_cards(degrees: f64, mu: f64, dt: f64) -> Built {
    let (angle, length, thick) = (degrees.to_radians(), 1.0, 0.01);
    let mut s = scene(Impulse { friction: mu, ..Impulse::default() }, dt);
    s.add(Ground::default());
    // By symmetry the ridge carries a horizontal force; its friction only keeps two sharp corners from parting sideways.
    s.add(ContactRule::friction("left", "right", 1.0));
    let shape = Shape::Box { size: Vec3::new(thick, 0.5, length) };
    for (name, side) in [("left", -1.0), ("right", 1.0)] {
        let R = exp(&(Vec3::y() * (-side * angle)));
        let inner = R * Vec3::new(-side * 0.5 * thick, 0.0, 0.5 * length);
        let lowest = [-1.0, 1.0].map(|s| (R * Vec3::new(s * 0.5 * thick, 0.0, -0.5 * length)).z);
        let (x, z) = (-inner.x, -lowest[0].min(lowest[1]));
        s.add(RigidBody::new(name, shape.clone()).mass(1.0).at([x, 0.0, z]).turned(R));
    }
    Ok(s.build()?)
}

/// True if such cards stand after the given time.
fn tent(degrees: f64, mu: f64, time: f64) -> Result<bool, Box<dyn std::error::Error>> {
    let mut sim = leaning_cards(degrees, mu, 2e-3)?;
    let start = sim.state.q[2];
    while sim.state.time < time {
        sim.step()?;
        if sim.state.q[2] < 0.9 * start {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Card tents on either side of the threshold.
pub(super) fn cards(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(CARDS)?;
    for degrees in ["10", "20", "30"] {
        let least = case["reference"][degrees].as_f64().ok_or("no threshold")?;
        // Both contacts of a card lie on its inner face, half a thickness t from its middle plane: about the foot the
        // weight has the arm (L sin a - t cos a)/2, so that a card of t = L/100 needs t/2L = 0.005 less.
        let least = least - 0.005;
        for (factor, stands) in [(1.02, 1.0), (0.98, 0.0)] {
            let found = f64::from(u8::from(tent(degrees.parse()?, factor * least, 10.0)?));
            let label = format!("{degrees} degrees, {factor} times the threshold: stands 10 s");
            table.absolute(METHOD, label, found, stands, 0.0);
        }
    }
    Ok(())
}

/// An arch of `n` voussoirs of thickness `t` on fixed springings.
fn arch(n: usize, t: f64, mu: f64) -> Built {
    use std::f64::consts::PI;
    let mut s = scene(Impulse { friction: mu, ..Impulse::default() }, 2e-3);
    s.add(ContactRule::between("*", "*"));
    let half = 0.5 * PI / n as f64;
    for k in 0..n + 2 {
        let middle = PI - (2.0 * k as f64 - 1.0) * half;
        let mut points = Vec::new();
        for y in [-0.15, 0.15] {
            for (r, a) in
                [(1.0 - 0.5 * t, half), (1.0 + 0.5 * t, half), (1.0 + 0.5 * t, -half), (1.0 - 0.5 * t, -half)]
            {
                points.push(Vec3::new(r * (middle + a).cos(), y, r * (middle + a).sin()));
            }
        }
        let center = points.iter().sum::<Vec3>() / 8.0;
        points.iter_mut().for_each(|p| *p -= center);
        let quad = |a: u32, b: u32, c: u32, d: u32| [[a, b, c], [a, c, d]];
        let mut triangles: Vec<[u32; 3]> = Vec::new();
        for q in [[0, 1, 2, 3], [7, 6, 5, 4], [4, 5, 1, 0], [5, 6, 2, 1], [6, 7, 3, 2], [7, 4, 0, 3]] {
            triangles.extend(quad(q[0], q[1], q[2], q[3]));
        }
        let mesh = TriangleMesh::new(points.clone(), triangles.clone())
            .or_else(|_| TriangleMesh::new(points, TriangleMesh::reversed(&triangles)))?;
        let name = format!("stone{k}");
        let mut body = RigidBody::new(&name, Shape::Mesh(std::sync::Arc::new(mesh)));
        body.pose.position = center;
        s.add(body);
        if k == 0 || k == n + 1 {
            s.add(JointItem::new(format!("hold{k}"), JointKind::Fixed, "world", &name));
        }
    }
    Ok(s.build()?)
}

/// Thresholds of thickness and friction of a semicircular arch.
pub(super) fn masonry(table: &mut Table) -> Outcome {
    // The case gives, for 25 stones, least t/R = 0.1070 with much friction, and least mu = 0.3077 at t/R = 0.2.
    for (t, mu, stands) in [(0.115, 0.6, 1.0), (0.1, 0.6, 0.0), (0.2, 0.34, 1.0), (0.2, 0.28, 0.0)] {
        let n = 25;
        let mut sim = arch(n, t, mu)?;
        let crown = 7 * (n / 2 + 1) + 2;
        let start = sim.state.q[crown];
        let mut found = 1.0;
        while sim.state.time < 5.0 && found == 1.0 {
            sim.step()?;
            if (sim.state.q[crown] - start).abs() > 0.05 {
                found = 0.0;
            }
        }
        table.absolute(METHOD, format!("{n} stones, t/R = {t}, mu = {mu}: stands 5 s"), found, stands, 0.0);
    }
    Ok(())
}

/// Two boxes that meet off centre in space: momenta before and after, energy with restitution.
pub(super) fn collision(table: &mut Table) -> Outcome {
    for e in [0.0, 0.5, 1.0] {
        let mut s = scene(Impulse { friction: 0.4, restitution: e, ..Impulse::default() }, 1e-3);
        s.gravity = Vec3::zeros();
        s.add(ContactRule::between("*", "*"));
        let shape = Shape::Box { size: Vec3::new(0.2, 0.1, 0.1) };
        s.add(RigidBody::new("left", shape.clone()).at([-0.3, 0.0, 0.0]).velocity([1.0, 0.0, 0.0]));
        let turn = exp(&Vec3::new(0.3, 0.2, 0.5));
        s.add(RigidBody::new("right", shape).at([0.0, 0.06, 0.02]).turned(turn));
        let mut sim = s.build()?;
        let (before, energy) = (sim.model.momentum(&sim.state), sim.energy().total());
        let (mut met, mut most) = (false, 0.0f64);
        for _ in 0..400 {
            met |= sim.step()?.contacts > 0;
            most = most.max(sim.energy().total() / energy);
        }
        if !met {
            return Err("the boxes do not meet".into());
        }
        let after = sim.model.momentum(&sim.state);
        let lost = (after.0 - before.0).norm() / before.0.norm();
        table.absolute(METHOD, format!("e = {e}: momentum lost, relative"), lost, 0.0, 1e-12);
        // Beside 1 kg·m/s at an arm of 0.1 m.
        let lost = (after.1 - before.1).norm() / (0.1 * before.0.norm());
        table.absolute(METHOD, format!("e = {e}: angular momentum lost, relative"), lost, 0.0, 1e-3);
        table.absolute(
            METHOD,
            format!("e = {e}: energy gained, relative"),
            (most - 1.0).max(0.0),
            0.0,
            1e-12,
        );
    }
    Ok(())
}
