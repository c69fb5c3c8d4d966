//! One rigid body: free in space, and spinning on a fixed point.

use dalembert::prelude::*;
use serde_json::Value;

use super::{Outcome, Table, explicit, numbers, weightless};

const FREE: &str = include_str!("../../data/cases/free_asymmetric_top.json");
const HEAVY: &str = include_str!("../../data/cases/heavy_top_geradin_cardona.json");

/// Distance of two orientations as quaternions; q and −q are the same turn.
fn turn_error(q: &[f64], wanted: &[f64]) -> f64 {
    let off = |sign: f64| q.iter().zip(wanted).map(|(a, b)| (a - sign * b).powi(2)).sum::<f64>().sqrt();
    off(1.0).min(off(-1.0))
}

/// Angular velocity of body 0 in its own axes [rad/s].
fn body_rate(state: &State) -> Vec3 {
    let q = &state.q;
    let R = Quat::from_quaternion(nalgebra::Quaternion::new(q[3], q[4], q[5], q[6]));
    R.inverse_transform_vector(&Vec3::new(state.v[3], state.v[4], state.v[5]))
}

pub(super) fn free(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(FREE)?;
    let inertia = numbers(&case["parameters"]["I"])?;
    let w0 = numbers(&case["parameters"]["omega_body_0"])?;
    let top = |integrator: Integrator| {
        let mut scene = weightless(explicit(integrator, 1e-6), 1e-3);
        let I = Mat3::from_diagonal(&Vec3::new(inertia[0], inertia[1], inertia[2]));
        let body = RigidBody::new("top", Shape::Point).inertia(1.0, Vec3::zeros(), I);
        scene.add(body.angular_velocity([w0[0], w0[1], w0[2]]));
        scene.build()
    };
    // 1e-6 at t = 10 with h = 1 ms is the case's. RK4 turns the group; it keeps L to rounding and has order 4.
    let mut sim = top(Integrator::Rk4)?;
    for t in ["1", "5", "10"] {
        sim.run(t.parse::<f64>()? - sim.state.time)?;
        let at = &case["reference"]["at"][t];
        let w = body_rate(&sim.state) - Vec3::from_vec(numbers(&at["omega_body"])?);
        table.absolute("explicit, rk4", format!("t = {t}: error of the body rate"), w.norm(), 0.0, 1e-6);
        let turn = turn_error(&sim.state.q[3..7], &numbers(&at["quat_wxyz"])?);
        table.absolute("explicit, rk4", format!("t = {t}: error of the quaternion"), turn, 0.0, 1e-6);
    }
    // The energy-momentum flight keeps both to rounding, at any time; 1e-10 is the case's.
    let mut sim = top(Integrator::Verlet)?;
    let (L0, T0) = (sim.model.momentum(&sim.state).1, sim.energy().kinetic);
    let (mut worst_L, mut worst_T) = (0.0f64, 0.0f64);
    for _ in 0..10_000 {
        sim.step()?;
        worst_L = worst_L.max((sim.model.momentum(&sim.state).1 - L0).norm() / L0.norm());
        worst_T = worst_T.max((sim.energy().kinetic / T0 - 1.0).abs());
    }
    table.absolute("explicit, verlet", "angular momentum lost in 10 s, relative", worst_L, 0.0, 1e-10);
    table.absolute("explicit, verlet", "energy lost in 10 s, relative", worst_T, 0.0, 1e-10);
    let at = &case["reference"]["at"]["10"];
    let w = body_rate(&sim.state) - Vec3::from_vec(numbers(&at["omega_body"])?);
    // Order 2 with a constant near 1: h² = 1e-6, over ten seconds.
    table.absolute("explicit, verlet", "t = 10: error of the body rate", w.norm(), 0.0, 1e-5);
    Ok(())
}

pub(super) fn heavy(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(HEAVY)?;
    let p = &case["parameters"];
    let (J, com, w0) = (numbers(&p["J_com"])?, numbers(&p["com_body"])?, numbers(&p["omega_body_0"])?);
    let m = p["m"].as_f64().ok_or("no mass")?;
    let mut scene = Scene { method: Method::Lagrange(Lagrange::default()), dt: 1e-3, ..Scene::default() };
    let (J, com, w0) = (Vec3::from_vec(J), Vec3::from_vec(com), Vec3::from_vec(w0));
    let body = RigidBody::new("top", Shape::Point).inertia(m, com, Mat3::from_diagonal(&J));
    scene.add(body.angular_velocity(w0.into()).velocity(w0.cross(&com).into()));
    scene.add(JointItem::new("tip", JointKind::Ball, "world", "top").anchor([0.0; 3]));
    let mut sim = scene.build()?;
    let times = numbers(&case["reference"]["t"])?;
    let mut gap = 0.0f64;
    for (k, t) in times.iter().enumerate() {
        while sim.state.time < t - 0.5e-3 {
            gap = gap.max(sim.step()?.gap);
        }
        let wanted = Vec3::from_vec(numbers(&case["reference"]["com"][k])?);
        let found = Vec3::new(sim.state.q[0], sim.state.q[1], sim.state.q[2]);
        // 1e-3 at t = 1 is the case's; errors grow in proportion to time.
        let quantity = format!("t = {t}: error of the centre of mass");
        table.absolute("lagrange, rk4", quantity, (found - wanted).norm(), 0.0, 1e-3 * t.max(1.0));
    }
    table.absolute("lagrange, rk4", "largest gap of the joint", gap, 0.0, 1e-10);
    Ok(())
}
