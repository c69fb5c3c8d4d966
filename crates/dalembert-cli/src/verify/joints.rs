//! Joints under `impulse` and `lagrange`: softness, heavy loads, chains at rest, free-floating bodies.

use dalembert::check;
use dalembert::prelude::*;
use serde_json::Value;

use super::{Outcome, Table, numbers, weightless};

const SOFT: &str = include_str!("../../data/cases/soft_constraint_eps_r.json");
const CATENARY: &str = include_str!("../../data/cases/hanging_chain_catenary.json");

/// A particle at height z above a plane that holds it softly: C = z.
fn on_spring(m: f64, kp: f64, kd: f64, z: f64, h: f64) -> Result<Simulation, dalembert::scene::BuildError> {
    let mut scene = Scene { method: Method::Impulse(Impulse::default()), dt: h, ..Scene::default() };
    scene.add(ParticleSet::at("mass", [0.0, 0.0, z]).mass(m));
    let mut joint = JointItem::new("plane", JointKind::PointOnPlane, "world", "mass").soft(kp, kd);
    joint.anchors = Anchors::Local([Vec3::zeros(); 2]);
    scene.add(joint);
    scene.build()
}

pub(super) fn soft_constraint(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(SOFT)?;
    let p = |key: &str| case["parameters"][key].as_f64().ok_or_else(|| format!("no number `{key}`"));
    let (kp, kd, h) = (p("kp")?, p("kd")?, p("h")?);
    let reference = &case["reference"];
    let number = |v: &Value| v.as_f64().ok_or("a reference is no number");
    let soft = Softness::from_gains(kp, kd, h);
    table.absolute("impulse", "ε", soft.error_reduction, number(&reference["eps"])?, 1e-12);
    table.absolute("impulse", "r", soft.regularization, number(&reference["r"])?, 1e-12);
    let mut sim = on_spring(p("m")?, kp, kd, p("x0")?, h)?;
    for step in ["1", "2", "10", "100"] {
        while sim.state.steps < step.parse()? {
            sim.step()?;
        }
        let at = &reference["steps"][step];
        // λ is of the order of 100 N: 1e-12 of it, as of x and v, is a few roundings.
        table.absolute("impulse", format!("step {step}: x"), sim.state.q[2], number(&at["x"])?, 1e-12);
        table.absolute("impulse", format!("step {step}: v"), sim.state.v[2], number(&at["v"])?, 1e-12);
        table.relative("impulse", format!("step {step}: λ"), sim.state.lambda[0], number(&at["lam"])?, 1e-12);
    }
    Ok(())
}

/// kp and kd are SI numbers: the rest under a load is −m g/kp whatever the step, and stiffness never explodes.
pub(super) fn gains(table: &mut Table) -> Outcome {
    let (m, kp) = (2.0, 1000.0);
    let kd = 2.0 * f64::sqrt(kp * m);
    for h in [1e-4, 1e-3, 1e-2, 1e-1] {
        let mut sim = on_spring(m, kp, kd, 0.0, h)?;
        // Critically damped at 22 rad/s: 2 s are 44 e-foldings; at h = 0.1 each step divides by (1 + ωh)² only.
        sim.run(f64::max(2.0, 40.0 * h))?;
        table.relative(
            "impulse",
            format!("h = {h}: rest under the load"),
            sim.state.q[2],
            -m * 9.81 / kp,
            1e-6,
        );
    }
    for kp in [1e6, 1e9, 1e12] {
        let mut worst = 0.0f64;
        let mut sim = on_spring(m, kp, 0.0, 0.1, 0.1)?;
        for _ in 0..200 {
            sim.step()?;
            worst = worst.max(sim.state.q[2].abs());
        }
        // Implicit Euler only takes energy out: never beyond the start.
        table.absolute("impulse", format!("kp = {kp:e}, h = 0.1: farthest from 0"), worst, 0.0, 0.1);
    }
    Ok(())
}

/// A chain of links of 0.2 m and 1 kg, held out along x, with a ball at its end.
fn wrecking_ball(
    links: usize,
    ratio: f64,
    h: f64,
    projection: bool,
) -> Result<Simulation, dalembert::scene::BuildError> {
    let method = Method::Impulse(Impulse { projection, ..Impulse::default() });
    let mut scene = Scene { method, dt: h, ..Scene::default() };
    let l = 0.2;
    for k in 0..=links {
        let x = k as f64 * l;
        let name = format!("link{k}");
        let above = if k == 0 { "world".to_string() } else { format!("link{}", k - 1) };
        scene.add(if k < links {
            let shape = Shape::Box { size: Vec3::new(l, 0.04, 0.04) };
            RigidBody::new(&name, shape).mass(1.0).at([x + 0.5 * l, 0.0, 0.0])
        } else {
            RigidBody::new(&name, Shape::Sphere { radius: 0.3 }).mass(ratio).at([x + 0.3, 0.0, 0.0])
        });
        scene.add(JointItem::new(format!("joint{k}"), JointKind::Ball, above, name).anchor([x, 0.0, 0.0]));
    }
    scene.build()
}

pub(super) fn wrecking(table: &mut Table) -> Outcome {
    for ratio in [1e3, 1e6] {
        let mut sim = wrecking_ball(20, ratio, 1.0 / 60.0, true)?;
        let mut worst = 0.0f64;
        for _ in 0..1200 {
            sim.step()?;
            worst = worst.max(worst_gap(&sim.model, &sim.state));
        }
        table.absolute("impulse", format!("1:{ratio:e}, h = 1/60: largest gap in 20 s"), worst, 0.0, 1e-6);
    }
    // A link that turns by ωh gapes by r(ωh)²/2 per step, of which a fifth is taken back in the next: order 2. How fast the
    // links turn depends on h a little, which takes up to 0.2 from the order seen.
    let mut errors = Vec::new();
    for n in [240.0, 480.0, 960.0] {
        let mut sim = wrecking_ball(20, 1e3, 1.0 / n, false)?;
        let mut worst = 0.0f64;
        for _ in 0..n as usize {
            sim.step()?;
            worst = worst.max(worst_gap(&sim.model, &sim.state));
        }
        errors.push((1.0 / n, worst));
    }
    for (pair, slope) in errors.windows(2).zip(check::observed_orders(&errors)) {
        let quantity =
            format!("no projection: order of the gap, {:.1e} m at h = {:.1e}", pair[1].1, pair[1].0);
        table.absolute("impulse", quantity, slope, 2.0, 0.3);
    }
    Ok(())
}

/// Twenty rods between two hooks, from a V to rest.
fn chain(soft: Option<[f64; 2]>) -> Result<Simulation, dalembert::scene::BuildError> {
    let (n, l, m) = (20, 0.075, 0.1);
    let mut scene = Scene { method: Method::Impulse(Impulse::default()), dt: 0.01, ..Scene::default() };
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
        let mut joint = JointItem::new(format!("pin{k}"), JointKind::Hinge, before, name).anchor(at.into());
        joint = joint.axis([0.0, 1.0, 0.0]).damping(0.02);
        if let Some([kp, kd]) = soft {
            joint = joint.soft(kp, kd);
        }
        scene.add(joint);
        at += step;
    }
    scene.build()
}

pub(super) fn catenary(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(CATENARY)?;
    let joints = case["reference"]["joints"].as_array().ok_or("no joints")?;
    for (name, soft, tolerance) in
        [("impulse, hard", None, 1e-6), ("impulse, kp = 1e6", Some([1e6, 1e3]), 1e-3)]
    {
        let mut sim = chain(soft)?;
        sim.run(20.0)?;
        let mut worst = 0.0f64;
        for (k, wanted) in joints.iter().take(19).enumerate() {
            // The far end of rod k: x of its own axes is along it.
            let q = &sim.state.q[7 * k..7 * k + 7];
            let R = Quat::from_quaternion(nalgebra::Quaternion::new(q[3], q[4], q[5], q[6]));
            let end = Vec3::new(q[0], q[1], q[2]) + R * Vec3::new(0.0375, 0.0, 0.0);
            let wanted = numbers(wanted)?;
            worst = worst.max((end - Vec3::new(wanted[0], 0.0, wanted[1])).norm());
        }
        table.absolute(name, "largest error of a joint at rest", worst, 0.0, tolerance);
        let wanted = case["reference"]["horizontal_tension_over_link_weight"].as_f64().ok_or("no tension")?;
        // The first joint pulls the first rod towards the hook.
        let tension = sim.state.lambda[0].abs() / (0.1 * 9.81);
        table.relative(name, "horizontal tension over a link's weight", tension, wanted, 10.0 * tolerance);
    }
    Ok(())
}

/// Eleven bodies: trunk, pelvis, head, arms and legs of two parts each; balls, universals and hinges with limits.
fn ragdoll(method: Method, dt: f64, soft_limits: bool) -> Result<Simulation, dalembert::scene::BuildError> {
    let mut scene = weightless(method, dt);
    scene.assemble = true; // makes the velocities below fit the joints
    let mut body = |name: &str, size: [f64; 3], mass: f64, at: [f64; 3], v: [f64; 3], w: [f64; 3]| {
        let shape = Shape::Box { size: size.into() };
        scene.add(RigidBody::new(name, shape).mass(mass).at(at).velocity(v).angular_velocity(w));
    };
    body("trunk", [0.2, 0.35, 0.5], 30.0, [0.0, 0.0, 1.3], [0.1, 0.2, -0.1], [0.3, 0.2, 0.5]);
    body("pelvis", [0.2, 0.3, 0.2], 12.0, [0.0, 0.0, 0.95], [0.1, 0.1, 0.0], [-0.2, 0.1, 0.4]);
    body("head", [0.2, 0.16, 0.24], 5.0, [0.0, 0.0, 1.69], [0.2, 0.2, 0.0], [0.6, -0.3, 0.2]);
    for (side, y) in [("left", 1.0), ("right", -1.0)] {
        let arm = [0.08, 0.28, 0.08];
        body(
            &format!("{side} upper arm"),
            arm,
            2.5,
            [0.0, y * 0.33, 1.5],
            [0.3, 0.2, y * 0.4],
            [y, 0.4, 0.2],
        );
        body(
            &format!("{side} forearm"),
            arm,
            1.8,
            [0.0, y * 0.61, 1.5],
            [0.3, 0.2, y * 0.9],
            [y, 0.4, y * 1.2],
        );
        let leg = [0.12, 0.12, 0.42];
        body(&format!("{side} thigh"), leg, 8.0, [0.0, y * 0.1, 0.64], [0.5 * y, 0.1, 0.0], [0.1, -y, 0.4]);
        body(&format!("{side} shank"), leg, 4.0, [0.0, y * 0.1, 0.22], [0.9 * y, 0.1, 0.0], [0.1, 1.3, 0.4]);
    }
    let mut joint = |name: String,
                     kind: JointKind,
                     a: String,
                     b: String,
                     at: [f64; 3],
                     axis: [f64; 3],
                     limits: Option<[f64; 2]>| {
        let mut j = JointItem::new(name, kind, a, b).anchor(at).axis(axis);
        j.limits = limits;
        if soft_limits {
            j.limit_stiffness = Stiffness::Gains { kp: 50.0, kd: 1.0 };
        }
        scene.add(j);
    };
    let (x, y_axis, z) = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]);
    let text = |s: &str| s.to_string();
    joint(text("waist"), JointKind::Universal, text("pelvis"), text("trunk"), [0.0, 0.0, 1.05], x, None);
    joint(text("neck"), JointKind::Ball, text("trunk"), text("head"), [0.0, 0.0, 1.56], z, None);
    for (side, y) in [("left", 1.0), ("right", -1.0)] {
        let part = |p: &str| format!("{side} {p}");
        joint(
            part("shoulder"),
            JointKind::Ball,
            text("trunk"),
            part("upper arm"),
            [0.0, y * 0.19, 1.5],
            x,
            None,
        );
        joint(
            part("elbow"),
            JointKind::Hinge,
            part("upper arm"),
            part("forearm"),
            [0.0, y * 0.47, 1.5],
            z,
            Some([-1.0, 1.0]),
        );
        joint(part("hip"), JointKind::Ball, text("pelvis"), part("thigh"), [0.0, y * 0.1, 0.85], x, None);
        joint(
            part("knee"),
            JointKind::Hinge,
            part("thigh"),
            part("shank"),
            [0.0, y * 0.1, 0.43],
            y_axis,
            Some([-0.2, 1.5]),
        );
    }
    scene.build()
}

/// Worst loss of linear and angular momentum in 10 s, relative.
fn momentum_lost(sim: &mut Simulation) -> Result<[f64; 2], StepError> {
    let (P, L) = sim.model.momentum(&sim.state);
    let mut worst = [0.0f64; 2];
    for _ in 0..(10.0 / sim.dt).round() as usize {
        sim.step()?;
        let (p, l) = sim.model.momentum(&sim.state);
        worst[0] = worst[0].max((p - P).norm() / P.norm());
        worst[1] = worst[1].max((l - L).norm() / L.norm());
    }
    Ok(worst)
}

pub(super) fn floating(table: &mut Table) -> Outcome {
    // RK4 at 2 ms; the soft limits (11 rad/s on a shank) keep the motion smooth enough for 1e-8.
    let mut sim = ragdoll(Method::Lagrange(Lagrange::default()), 2e-3, true)?;
    let [P, L] = momentum_lost(&mut sim)?;
    table.absolute("lagrange, rk4", "linear momentum lost in 10 s, relative", P, 0.0, 1e-10);
    table.absolute("lagrange, rk4", "angular momentum lost in 10 s, relative", L, 0.0, 1e-8);
    let mut errors = Vec::new();
    for h in [1.0 / 100.0, 1.0 / 200.0, 1.0 / 400.0] {
        let mut sim = ragdoll(Method::Impulse(Impulse::default()), h, false)?;
        let [P, L] = momentum_lost(&mut sim)?;
        table.absolute(
            "impulse",
            format!("h = 1/{:.0}: linear momentum lost in 10 s, relative", 1.0 / h),
            P,
            0.0,
            1e-10,
        );
        table.absolute(
            "impulse",
            format!("h = 1/{:.0}: angular momentum lost in 10 s, relative", 1.0 / h),
            L,
            0.0,
            10.0 * h,
        );
        errors.push((h, L));
    }
    for slope in check::observed_orders(&errors) {
        table.absolute("impulse", "order of the angular momentum's error", slope, 1.0, 0.2);
    }
    Ok(())
}
