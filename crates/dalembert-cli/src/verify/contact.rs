//! Contact under `ipc`: friction thresholds, stacks, collisions.

use dalembert::math::rotation::exp;
use dalembert::prelude::*;
use serde_json::Value;

use super::{Outcome, Table, numbers};

const INCLINE: &str = include_str!("../../data/cases/block_on_incline.json");
const CARDS: &str = include_str!("../../data/cases/aframe_cards.json");
const STACK: &str = include_str!("../../data/cases/mass_ratio_stack.json");
const TOP: &str = include_str!("../../data/cases/free_asymmetric_top.json");

fn ipc(settings: Ipc, dt: f64) -> Scene {
    Scene { method: Method::Ipc(settings), dt, ..Scene::default() }
}

/// The gap \[m\] at which a barrier from `far` on and of stiffness 1 N/m pushes with `force` \[N\].
fn gap_under(force: f64, far: f64) -> f64 {
    let push = |g: f64| (g - far) * (2.0 * (g / far).ln() + (g - far) / g);
    let (mut low, mut high) = (1e-12 * far, far);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if push(middle) > force { low = middle } else { high = middle }
    }
    low
}

/// A block on a slope.
fn block(angle: f64, mu: f64, friction_speed: f64) -> Result<Simulation, Box<dyn std::error::Error>> {
    let settings = Ipc { friction: mu, tolerance: 1e-8, friction_speed, gap: Some(1e-3), ..Ipc::default() };
    let mut scene = ipc(settings, 0.01);
    let turn = exp(&(Vec3::y() * angle));
    scene.add(Ground { normal: turn * Vec3::z(), ..Ground::default() });
    let size = Vec3::new(0.4, 0.3, 0.1);
    // At the gap at which four corners, each of stiffness m/h², carry the block.
    let gap = gap_under(9.81 * angle.cos() / 4.0 * 1e-4, 1e-3);
    let at = turn * Vec3::new(0.0, 0.0, 0.05 + gap);
    scene.add(RigidBody::new("block", Shape::Box { size }).at(at.into()).turned(turn));
    Ok(scene.build()?)
}

/// Distance and speed down the slope after a second. What shall stick is first held by a fifth more friction until it
/// rests, so that only the threshold is asked for and not how it was put down.
fn slide(degrees: f64, mu: f64, sticks: bool) -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let angle = degrees.to_radians();
    let mut sim = block(angle, mu, if sticks { 1e-3 } else { 1e-5 })?;
    if sticks {
        let mut held = block(angle, 1.2 * mu, 1e-3)?;
        held.run(1.0)?;
        sim.state = held.state;
    }
    sim.run(1.0)?;
    let down = exp(&(Vec3::y() * angle)) * Vec3::x();
    let read = |a: &[f64]| Vec3::new(a[0], a[1], a[2]).dot(&down);
    Ok((read(&sim.state.q), read(&sim.state.v)))
}

pub(super) fn incline(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(INCLINE)?;
    for item in case["parameters"]["cases"].as_array().ok_or("no cases")? {
        let slope = item["slope_deg"].as_f64().ok_or("no slope")?;
        let mu = item["mu"].as_f64().ok_or("no friction")?;
        let sticks = item["expect"].as_str().is_some_and(|e| e.starts_with("stick"));
        let (x, v) = slide(slope, mu, sticks)?;
        let label = format!("slope {slope:.2} degrees, mu = {mu}");
        if sticks {
            // What sticks creeps slower than the declared smoothing speed of 1 mm/s.
            table.absolute("ipc", format!("{label}: speed after 1 s"), v, 0.0, 1e-3);
        } else {
            let a = 9.81 * (slope.to_radians().sin() - mu * slope.to_radians().cos());
            table.relative("ipc", format!("{label}: speed after 1 s"), v, a, 1e-2);
            // Implicit Euler from rest: x = a t (t + h)/2.
            table.relative("ipc", format!("{label}: way after 1 s"), x, 0.5 * a * 1.01, 1e-2);
        }
    }
    Ok(())
}

/// Two cards that lean on each other; true if they stand after the given time.
fn tent(degrees: f64, mu: f64, time: f64) -> Result<bool, Box<dyn std::error::Error>> {
    let (angle, length, thick) = (degrees.to_radians(), 1.0, 0.01);
    let settings =
        Ipc { friction: mu, tolerance: 1e-4, friction_speed: 1e-4, gap: Some(1e-3), ..Ipc::default() };
    let mut scene = ipc(settings, 0.01);
    scene.add(Ground::default());
    // By symmetry the ridge carries a horizontal force; its friction only keeps two sharp corners from parting sideways.
    scene.add(ContactRule::friction("left", "right", 1.0));
    let shape = Shape::Box { size: Vec3::new(thick, 0.5, length) };
    for (name, side) in [("left", -1.0), ("right", 1.0)] {
        let R = exp(&(Vec3::y() * (-side * angle)));
        // Its uppermost inner corner is at the ridge, its lowest outer one on the floor, each but for a gap.
        let inner = R * Vec3::new(-side * 0.5 * thick, 0.0, 0.5 * length);
        let lowest = [-1.0, 1.0].map(|s| (R * Vec3::new(s * 0.5 * thick, 0.0, -0.5 * length)).z);
        let x = side * 4e-4 - inner.x;
        let z = 8e-4 - lowest[0].min(lowest[1]);
        scene.add(RigidBody::new(name, shape.clone()).mass(1.0).at([x, 0.0, z]).turned(R));
    }
    let mut sim = scene.build()?;
    let start = sim.state.q[2];
    while sim.state.time < time {
        sim.step()?;
        if sim.state.q[2] < 0.9 * start {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(super) fn cards(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(CARDS)?;
    for degrees in ["10", "20", "30"] {
        let least = case["reference"][degrees].as_f64().ok_or("no threshold")?;
        // Both contacts of a card lie on its inner face, half a thickness t from its middle plane: about the foot the
        // weight has the arm (L sin a - t cos a)/2, so that a card of t = L/100 needs t/2L = 0.005 less.
        let least = least - 0.005;
        for (factor, stands) in [(1.05, 1.0), (0.95, 0.0)] {
            let found = f64::from(u8::from(tent(degrees.parse()?, factor * least, 5.0)?));
            let label = format!("{degrees} degrees, {factor} times the threshold: stands");
            table.absolute("ipc", label, found, stands, 0.0);
        }
    }
    Ok(())
}

/// Three boxes, the uppermost R times as heavy: forces between them from the momentum they do not gain.
pub(super) fn stack(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(STACK)?;
    for R in numbers(&case["parameters"]["R"])? {
        // Under R g / 0.01 m² a body of κ = 1e9 Pa is pressed flat; a strain of 1e-5 is wanted.
        let rigid_stiffness = 1e9f64.max(1e7 * R);
        let settings = Ipc { friction: 0.5, tolerance: 1e-6, rigid_stiffness, ..Ipc::default() };
        let mut scene = ipc(settings, 0.01);
        scene.add(Ground::default());
        for (k, mass) in [1.0, 1.0, R].into_iter().enumerate() {
            let shape = Shape::Box { size: Vec3::repeat(0.1) };
            let z = 0.05 + 8e-4 + k as f64 * (0.1 + 8e-4);
            scene.add(RigidBody::new(format!("box{k}"), shape).mass(mass).at([0.0, 0.0, z]));
        }
        let mut sim = scene.build()?;
        let mut gap = f64::INFINITY;
        for _ in 0..300 {
            gap = gap.min(sim.step()?.smallest_gap);
        }
        let label = format!("1 : 1 : {R:.0e}");
        table.absolute("ipc", format!("{label}: intersects"), f64::from(u8::from(!(gap > 0.0))), 0.0, 0.0);
        let fastest = sim.state.v.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        table.absolute("ipc", format!("{label}: fastest motion after 3 s"), fastest, 0.0, 1e-4);
        let height = sim.state.q[24 + 2];
        table.absolute("ipc", format!("{label}: height of the heavy one"), height, 0.2515, 1.5e-3);
    }
    Ok(())
}

/// An arch of `n` voussoirs of thickness `t` on fixed springings; true if it stands after the given time.
fn arch(n: usize, t: f64, mu: f64, time: f64) -> Result<bool, Box<dyn std::error::Error>> {
    use std::f64::consts::PI;
    let settings =
        Ipc { friction: mu, tolerance: 1e-4, friction_speed: 1e-4, gap: Some(1e-4), ..Ipc::default() };
    let mut scene = ipc(settings, 0.01);
    // Voussoirs as wedges of the ring, each a little less than its share so that joints begin with a gap of 40 µm.
    let half = 0.5 * PI / n as f64;
    for k in 0..n + 2 {
        let middle = PI - (2.0 * k as f64 - 1.0) * half;
        let mut points = Vec::new();
        for y in [-0.15, 0.15] {
            for (r, a) in
                [(1.0 - 0.5 * t, half), (1.0 + 0.5 * t, half), (1.0 + 0.5 * t, -half), (1.0 - 0.5 * t, -half)]
            {
                let edge = Vec3::new(r * (middle + a).cos(), y, r * (middle + a).sin());
                let inward = if a > 0.0 { -1.0 } else { 1.0 };
                let across = Vec3::new(-(middle + a).sin(), 0.0, (middle + a).cos());
                points.push(edge + inward * 2e-5 * across);
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
        scene.add(body);
        if k == 0 || k == n + 1 {
            scene.add(Fix::points(name));
        }
    }
    let mut sim = scene.build()?;
    let crown = 12 * (n / 2 + 1) + 2;
    let start = sim.state.q[crown];
    while sim.state.time < time {
        sim.step()?;
        if (sim.state.q[crown] - start).abs() > 0.05 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Thresholds of thickness and friction of a semicircular arch.
pub(super) fn masonry(table: &mut Table) -> Outcome {
    // The case gives, for 11 stones, least t/R = 0.1049 with much friction, and least mu = 0.307 at t/R = 0.2; five per
    // cent on either side.
    for (t, mu, stands) in [(0.1102, 1.0, 1.0), (0.0997, 1.0, 0.0), (0.2, 0.3224, 1.0), (0.2, 0.2917, 0.0)] {
        let found = f64::from(u8::from(arch(11, t, mu, 3.0)?));
        table.absolute("ipc", format!("11 stones, t/R = {t}, mu = {mu}: stands"), found, stands, 0.0);
    }
    Ok(())
}

/// Two boxes that meet off centre in space: momenta before and after.
pub(super) fn collision(table: &mut Table) -> Outcome {
    let mut turned = Vec::new();
    for h in [4e-3, 2e-3, 1e-3] {
        let mut scene = ipc(Ipc { tolerance: 1e-9, ..Ipc::default() }, h);
        scene.gravity = Vec3::zeros();
        let shape = Shape::Box { size: Vec3::new(0.2, 0.1, 0.1) };
        let left = RigidBody::new("left", shape.clone()).at([-0.3, 0.0, 0.0]).velocity([1.0, 0.0, 0.0]);
        scene.add(left);
        let turn = exp(&Vec3::new(0.3, 0.2, 0.5));
        scene.add(RigidBody::new("right", shape).at([0.0, 0.06, 0.02]).turned(turn));
        let mut sim = scene.build()?;
        let before = sim.model.momentum(&sim.state);
        let mut met = false;
        for _ in 0..(0.4 / h).round() as usize {
            met |= sim.step()?.contacts > 0;
        }
        let after = sim.model.momentum(&sim.state);
        if !met {
            return Err("the boxes do not meet".into());
        }
        if h == 1e-3 {
            let lost = (after.0 - before.0).norm() / before.0.norm();
            table.absolute("ipc", "momentum lost in a collision, relative", lost, 0.0, 1e-9);
        }
        turned.push((h, (after.1 - before.1).norm() / 0.1));
    }
    for slope in dalembert::check::observed_orders(&turned) {
        table.absolute("ipc", "angular momentum: order of its error in h", slope, 1.0, 0.5);
    }
    Ok(())
}

/// The free top as a stiff affine body.
pub(super) fn top(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(TOP)?;
    let inertia = numbers(&case["parameters"]["I"])?;
    let w0 = numbers(&case["parameters"]["omega_body_0"])?;
    let at = numbers(&case["reference"]["at"]["1"]["quat_wxyz"])?;
    let wanted = Quat::from_quaternion(nalgebra::Quaternion::new(at[0], at[1], at[2], at[3]));
    let wanted = *wanted.to_rotation_matrix().matrix();
    for (name, scheme, order) in [("ipc, euler", Scheme::Euler, 1.0), ("ipc, bdf2", Scheme::Bdf2, 2.0)] {
        let mut errors = Vec::new();
        for h in [2e-3, 1e-3] {
            let settings = Ipc { scheme, tolerance: 1e-9, rigid_stiffness: 1e9, ..Ipc::default() };
            let mut scene = ipc(settings, h);
            scene.gravity = Vec3::zeros();
            let I = Mat3::from_diagonal(&Vec3::new(inertia[0], inertia[1], inertia[2]));
            let body = RigidBody::new("top", Shape::Point).inertia(1.0, Vec3::zeros(), I);
            scene.add(body.angular_velocity([w0[0], w0[1], w0[2]]));
            let mut sim = scene.build()?;
            sim.run(1.0)?;
            let A = Mat3::from_column_slice(&sim.state.q[3..12]);
            // |A - R| of a turn by a is 2 sqrt 2 sin(a/2): as the distance of quaternions.
            errors.push((h, (A - wanted).norm() / 8f64.sqrt()));
        }
        table.absolute(name, "t = 1: error of the turn, h = 1 ms", errors[1].1, 0.0, 5e-3);
        let slope = (errors[0].1 / errors[1].1).log2();
        table.absolute(name, "order of the error", slope, order, 0.2);
    }
    Ok(())
}
