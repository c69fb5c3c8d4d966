//! Joints of affine bodies under `ipc`: gaps, limits, motors, a chain at rest.

use dalembert::prelude::*;
use dalembert::scene::Motor;
use serde_json::Value;

use super::{Outcome, Table, numbers};

const CATENARY: &str = include_str!("../../data/cases/hanging_chain_catenary.json");

fn scene(settings: Ipc, dt: f64) -> Scene {
    Scene { method: Method::Ipc(settings), dt, ..Scene::default() }
}

fn read(sim: &Simulation, text: &str) -> Result<f64, Box<dyn std::error::Error>> {
    Ok(Quantity::parse(&sim.model, text)?.value(&sim.model, &sim.state))
}

fn block(name: &str, at: [f64; 3]) -> RigidBody {
    RigidBody::new(name, Shape::Box { size: Vec3::new(0.4, 0.1, 0.1) }).mass(1.0).at(at)
}

/// An arm that swings down carries a second body by each kind of joint.
pub(super) fn drift(table: &mut Table) -> Outcome {
    let settings = Ipc { tolerance: 1e-5, ..Ipc::default() };
    let kinds = [
        ("hinge", JointKind::Hinge),
        ("slider", JointKind::Slider),
        ("ball", JointKind::Ball),
        ("fixed", JointKind::Fixed),
        ("universal", JointKind::Universal),
        ("cylindrical", JointKind::Cylindrical),
        ("distance", JointKind::Distance { length: None }),
    ];
    for (name, kind) in kinds {
        let mut scene = scene(settings, 0.01);
        scene.add(block("arm", [0.2, 0.0, 0.0]));
        scene.add(block("rider", [0.7, 0.0, 0.0]));
        let pivot = JointItem::new("pivot", JointKind::Hinge, "world", "arm");
        scene.add(pivot.anchor([0.0; 3]).axis([0.0, 1.0, 0.0]));
        let x = if name == "distance" { 0.3 } else { 0.5 };
        scene.add(JointItem::new("joint", kind, "arm", "rider").anchor([x, 0.0, 0.0]).axis([1.0, 0.0, 0.0]));
        let mut sim = scene.build()?;
        let mut worst = 0.0f64;
        for _ in 0..100 {
            sim.step()?;
            worst = worst.max(read(&sim, "joints.gap")?);
        }
        // The tolerance is 1e-5 m/s: 1e-7 m in a step.
        table.absolute("ipc", format!("{name} on a swinging arm: largest gap in 1 s"), worst, 0.0, 1e-8);
    }
    Ok(())
}

/// Limits under load, motors at their targets, springs that mean the same at every step.
pub(super) fn limits_and_motors(table: &mut Table) -> Outcome {
    let settings = Ipc { tolerance: 1e-5, ..Ipc::default() };
    for h in [0.005, 0.02] {
        let mut scene = scene(settings, h);
        for (k, name) in ["stopped", "held", "servo", "fan", "sprung"].iter().enumerate() {
            scene.add(block(name, [0.2, k as f64, 0.0]));
        }
        let joint = |name: &str, body: &str, kind: JointKind, k: usize, axis: [f64; 3]| {
            JointItem::new(name, kind, "world", body).anchor([0.0, k as f64, 0.0]).axis(axis)
        };
        let (y, z) = ([0.0, 1.0, 0.0], [0.0, 0.0, 1.0]);
        scene.add(joint("a", "stopped", JointKind::Hinge, 0, y).limits(-0.3, 0.3));
        scene.add(joint("b", "held", JointKind::Slider, 1, z).limits(-0.2, 0.2));
        let servo = Motor::Position { target: -0.5, kp: 100.0, kd: 10.0, max: f64::INFINITY };
        scene.add(joint("c", "servo", JointKind::Hinge, 2, y).motor(servo));
        scene
            .add(joint("d", "fan", JointKind::Hinge, 3, z).motor(Motor::Velocity { target: 7.0, max: 50.0 }));
        scene.add(joint("e", "sprung", JointKind::Fixed, 4, z).soft(1e4, 1e3));
        let mut sim = scene.build()?;
        sim.run(3.0)?;
        let label = |text: &str| format!("h = {h}: {text}");
        table.absolute("ipc", label("hinge on its limit"), read(&sim, "a.angle")?, 0.3, 1e-8);
        let load = 9.81 * 0.2 * 0.3f64.cos();
        table.relative("ipc", label("torque of the limit"), read(&sim, "a.upper.force")?, load, 1e-5);
        table.absolute("ipc", label("slider on its limit"), read(&sim, "b.position")?, -0.2, 1e-8);
        table.relative("ipc", label("force of the limit"), read(&sim, "b.lower.force")?, 9.81, 1e-5);
        let angle = read(&sim, "c.angle")?;
        let balance = 100.0 * (angle + 0.5);
        table.relative("ipc", label("servo against the weight"), balance, 9.81 * 0.2 * angle.cos(), 1e-4);
        // The velocity of a body is the chord of its last step, so that a turn by ωh reads as sin(ωh)/h.
        table.relative("ipc", label("rate of a motor"), read(&sim, "d.rate")?, (7.0 * h).sin() / h, 1e-6);
        let before = read(&sim, "d.angle")?;
        sim.step()?;
        let turn = read(&sim, "d.angle")? - before;
        table.relative("ipc", label("turn of a motor per step"), turn, 7.0 * h, 1e-6);
        // A soft joint yields by m g/kp, and turns by m g l/kp about its anchor.
        let lever = 9.81 * 0.2 / 1e4;
        let wanted = -9.81 / 1e4 - 0.2 * lever;
        table.relative("ipc", label("soft joint under its load"), read(&sim, "sprung[0].z")?, wanted, 1e-3);
    }
    Ok(())
}

/// Twenty affine rods between two hooks, from a V to rest.
pub(super) fn catenary(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(CATENARY)?;
    let joints = case["reference"]["joints"].as_array().ok_or("no joints")?;
    let (n, l, m) = (20, 0.075, 0.1);
    // Stiff enough that the tension stretches no rod by more than 1e-7 of its length.
    let settings = Ipc { tolerance: 1e-7, rigid_stiffness: 1e12, ..Ipc::default() };
    let mut scene = scene(settings, 0.02);
    let slope = f64::acos(0.5 / (0.5 * n as f64 * l));
    let mut at = Vec3::zeros();
    for k in 0..=n {
        let name = if k < n { format!("rod{k}") } else { "world".into() };
        let before = if k == 0 { "world".into() } else { format!("rod{}", k - 1) };
        let down = if k < n / 2 { slope } else { -slope };
        let step = Vec3::new(l * down.cos(), 0.0, -l * down.sin());
        if k < n {
            let I = m * l * l / 12.0;
            let I = Mat3::from_diagonal(&Vec3::new(0.01 * I, I, I));
            let R = Quat::from_axis_angle(&Vec3::y_axis(), down);
            let body = RigidBody::new(&name, Shape::Point).inertia(m, Vec3::zeros(), I);
            scene.add(body.at((at + 0.5 * step).into()).turned(R));
        }
        let joint = JointItem::new(format!("pin{k}"), JointKind::Hinge, before, name).anchor(at.into());
        scene.add(joint.axis([0.0, 1.0, 0.0]).damping(0.02));
        at += step;
    }
    let mut sim = scene.build()?;
    sim.run(12.0)?;
    let mut worst = 0.0f64;
    for (k, wanted) in joints.iter().take(19).enumerate() {
        let q = &sim.state.q[12 * k..12 * k + 6];
        let end = Vec3::new(q[0], q[1], q[2]) + 0.5 * l * Vec3::new(q[3], q[4], q[5]);
        let wanted = numbers(wanted)?;
        worst = worst.max((end - Vec3::new(wanted[0], 0.0, wanted[1])).norm());
    }
    table.absolute("ipc", "largest error of a joint at rest", worst, 0.0, 1e-6);
    let wanted = case["reference"]["horizontal_tension_over_link_weight"].as_f64().ok_or("no tension")?;
    let weight = m * 9.81;
    // The hook carries half the chain, and the pull along x.
    let force = read(&sim, "pin0.force")?;
    let pull = (force * force - (0.5 * n as f64 * weight).powi(2)).max(0.0).sqrt() / weight;
    table.relative("ipc", "horizontal tension over a link's weight", pull, wanted, 1e-4);
    Ok(())
}
