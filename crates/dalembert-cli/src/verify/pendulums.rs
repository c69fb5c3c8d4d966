//! Pendulums of one and two point masses: multipliers, generalized coordinates, impulses.

use dalembert::check;
use dalembert::prelude::*;
use serde_json::Value;

use super::{Outcome, Table, explicit, lagrange, numbers};

const SIMPLE: &str = include_str!("../../data/cases/mbs_a01_simple_pendulum.json");
const DOUBLE: &str = include_str!("../../data/cases/double_pendulum_short.json");

/// Point masses of 1 kg on rods of 1 m, held out along x: particles with distances.
fn rods(method: Method, dt: f64, count: usize) -> Result<Simulation, dalembert::scene::BuildError> {
    let mut scene = Scene { method, dt, ..Scene::default() };
    for k in 0..count {
        scene.add(ParticleSet::at(format!("bob{k}"), [(k + 1) as f64, 0.0, 0.0]));
        let above = if k == 0 { "world".to_string() } else { format!("bob{}", k - 1) };
        let kind = JointKind::Distance { length: None };
        let mut rod = JointItem::new(format!("rod{k}"), kind, above, format!("bob{k}"));
        rod.anchors = Anchors::Local([Vec3::zeros(); 2]);
        scene.add(rod);
    }
    scene.build()
}

/// The same in generalized coordinates: angles from straight down.
fn angles(method: Method, dt: f64, count: usize) -> Result<Simulation, dalembert::scene::BuildError> {
    let mut scene = Scene { method, dt, ..Scene::default() };
    let map =
        PendulumChain { pivot: Vec3::zeros(), lengths: vec![1.0; count], down: -Vec3::z(), side: Vec3::x() };
    scene.add(GeneralizedBody {
        name: "bobs".into(),
        map: Box::new(map),
        masses: vec![1.0; count],
        coordinates: vec![std::f64::consts::FRAC_PI_2; count],
        rates: vec![0.0; count],
    });
    scene.build()
}

/// Place of point i in the plane [m].
fn place(sim: &Simulation, i: usize) -> [f64; 2] {
    let x = &sim.state.q[sim.model.layout.points_q() + 3 * i..];
    [x[0], x[2]]
}

fn miss(a: [f64; 2], b: &[f64]) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

pub(super) fn simple(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(SIMPLE)?;
    let wanted = |t: &str| numbers(&case["reference"]["P1_xy"][t]);
    // Tolerances 1e-6 at 10 s, 1e-3 at 2000 s and 1e-8 for the energy are the case's. An energy error e changes the
    // period by about e, hence the place at 2000 s by 4.4 m/s · 2000 s · e: tolerance 1e-12 per inner step leaves room.
    let mut sim = rods(lagrange(Integrator::DormandPrince, 1e-12), 0.1, 1)?;
    let mut drift = 0.0f64;
    for (t, tolerance) in [("1", 1e-6), ("10", 1e-6), ("100", 1e-4), ("1000", 1e-3), ("2000", 1e-3)] {
        let end: f64 = t.parse()?;
        while sim.state.time < end - 0.05 {
            sim.step()?;
            // In units of m g L = 9.81 J: the energy itself is zero.
            drift = drift.max((sim.energy().total() - sim.start_energy.total()).abs() / 9.81);
        }
        let off = miss(place(&sim, 0), &wanted(t)?);
        table.absolute("lagrange, dormand_prince", format!("t = {t}: error of P1"), off, 0.0, tolerance);
    }
    table.absolute("lagrange, dormand_prince", "energy drift over 2000 s, relative", drift, 0.0, 1e-8);

    for (name, method, dt) in [
        ("lagrange, rk4", Method::Lagrange(Lagrange::default()), 1e-3),
        ("generalized, rk4", explicit(Integrator::Rk4, 1.0), 1e-3),
        ("generalized, dormand_prince", explicit(Integrator::DormandPrince, 1e-12), 0.1),
        ("generalized, lagrange", lagrange(Integrator::DormandPrince, 1e-12), 0.1),
    ] {
        let mut sim = if name == "lagrange, rk4" { rods(method, dt, 1)? } else { angles(method, dt, 1)? };
        sim.run(10.0)?;
        let off = miss(place(&sim, 0), &wanted("10")?);
        table.absolute(name, "t = 10: error of P1", off, 0.0, 1e-6);
    }

    let one = wanted("1")?;
    let mut errors = Vec::new();
    for h in [4e-3, 2e-3, 1e-3] {
        let mut sim = rods(Method::Impulse(Impulse::default()), h, 1)?;
        sim.run(1.0)?;
        errors.push((h, miss(place(&sim, 0), &one)));
    }
    let last = errors[errors.len() - 1];
    // Order 1 with a constant near g/2: 5 h.
    table.absolute("impulse", format!("t = 1, h = {}: error of P1", last.0), last.1, 0.0, 10.0 * last.0);
    for slope in check::observed_orders(&errors) {
        table.absolute("impulse", "order in h", slope, 1.0, 0.1);
    }
    Ok(())
}

pub(super) fn double(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(DOUBLE)?;
    for (name, method, dt, reduced) in [
        ("lagrange, rk4", Method::Lagrange(Lagrange::default()), 1e-3, false),
        ("lagrange, dormand_prince", lagrange(Integrator::DormandPrince, 1e-11), 0.01, false),
        ("generalized, rk4", explicit(Integrator::Rk4, 1.0), 1e-3, true),
        ("generalized, dormand_prince", explicit(Integrator::DormandPrince, 1e-11), 0.01, true),
    ] {
        let mut sim = if reduced { angles(method, dt, 2)? } else { rods(method, dt, 2)? };
        for (t, tolerance) in [("1", 1e-6), ("2", 1e-6), ("3", 1e-5)] {
            sim.run(t.parse::<f64>()? - sim.state.time)?;
            let [a, b] = [place(&sim, 0), place(&sim, 1)];
            let found = [a[0].atan2(-a[1]), (b[0] - a[0]).atan2(a[1] - b[1])];
            let wanted = numbers(&case["reference"][t])?;
            table.absolute(
                name,
                format!("t = {t}: error of both angles"),
                miss(found, &wanted),
                0.0,
                tolerance,
            );
        }
    }
    Ok(())
}
