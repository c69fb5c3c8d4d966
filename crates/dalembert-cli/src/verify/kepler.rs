//! The plane Kepler problem, class D of the DETEST set (Hull and others 1972): μ = 1, start at the pericentre.

use std::f64::consts::TAU;

use dalembert::prelude::*;
use serde_json::Value;

use super::{Outcome, Table, explicit, weightless};

const DATA: &str = include_str!("../../data/cases/kepler_detest_d.json");

/// An orbit of eccentricity e and semi-axis 1, hence of period 2π and energy −½.
fn orbit(e: f64, method: Method, dt: f64) -> Result<Simulation, dalembert::scene::BuildError> {
    let mut scene = weightless(method, dt);
    let speed = ((1.0 + e) / (1.0 - e)).sqrt();
    scene.add(ParticleSet::at("planet", [1.0 - e, 0.0, 0.0]).velocity([0.0, speed, 0.0]));
    let law = Attraction::Inverse { mu: 1.0, softening: 0.0 };
    scene.add(AttractorSet { name: "sun".into(), on: Vec::new(), center: Vec3::zeros(), law });
    scene.build()
}

pub(super) fn detest_d(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(DATA)?;
    let entries = |key: &str| case["reference"][key].as_object().ok_or_else(|| format!("no table `{key}`"));
    let t20 = entries("t20")?.iter().map(|(e, y)| (e.parse(), Ok(20.0), y));
    let e06 = entries("e06")?.iter().map(|(t, y)| (Ok(0.6), t.parse(), y));
    for (e, t, y) in t20.chain(e06) {
        let (e, t): (f64, f64) = (e?, t?);
        let mut sim = orbit(e, explicit(Integrator::DormandPrince, 1e-12), t)?;
        sim.step()?;
        let State { q, v, .. } = &sim.state;
        let mut worst = 0.0f64;
        for (i, value) in [q[0], q[1], v[0], v[1]].into_iter().enumerate() {
            let wanted = y[i].as_f64().ok_or("an entry is no number")?;
            worst = worst.max((value - wanted).abs());
        }
        // Steps err by 1e-12 each. Their sum changes the energy in proportion to t, hence the period, and so the
        // place on the orbit in proportion to t²: 1e-8 until t = 20 (hundreds of steps, times t), and 25 times as
        // much at t = 100.
        let quantity = format!("e = {e}, t = {t}: largest error of (x, y, vx, vy)");
        let tolerance = 1e-8 * f64::max(1.0, (t / 20.0).powi(2));
        table.absolute("dormand_prince", quantity, worst, 0.0, tolerance);
    }
    for integrator in [Integrator::SymplecticEuler, Integrator::Verlet] {
        long_run(table, integrator)?;
    }
    Ok(())
}

/// 1000 orbits at e = 0.3 with 300 steps each. A symplectic scheme follows an energy near the true one for ever, so
/// the error of the energy swings within each orbit and does not grow.
fn long_run(table: &mut Table, integrator: Integrator) -> Outcome {
    const STEPS: usize = 300;
    let mut sim = orbit(0.3, explicit(integrator, 1e-6), TAU / STEPS as f64)?;
    let e0 = sim.energy().total();
    let mut hundred = |watched: bool| -> Result<(f64, f64), StepError> {
        let (mut worst, mut sum) = (0.0f64, 0.0);
        for _ in 0..100 * STEPS {
            sim.step()?;
            if watched {
                let error = sim.energy().total() - e0;
                worst = worst.max(error.abs());
                sum += error;
            }
        }
        Ok((worst, sum / (100 * STEPS) as f64))
    };
    let (first, first_mean) = hundred(true)?;
    for _ in 0..8 {
        hundred(false)?;
    }
    let (last, last_mean) = hundred(true)?;
    let name = integrator.name();
    // |ΔE| ≤ C hᵖ |E| with C of the order of 1/(1 − e)³ ≈ 3 for these schemes, h = 0.021.
    let bound = if integrator == Integrator::Verlet { 3.0 * 0.021 * 0.021 } else { 3.0 * 0.021 } * 0.5;
    table.absolute(name, "orbits 1-100: largest energy error", first, 0.0, bound);
    // Steps fall at other places of the orbit after it has turned by precession: the sampled maximum moves a little.
    table.relative(name, "orbits 901-1000: largest energy error against 1-100", last, first, 0.02);
    // A secular drift would show in the mean; per cent of the swing is the sampling again.
    table.absolute(
        name,
        "drift of the mean energy, in units of the swing",
        (last_mean - first_mean) / first,
        0.0,
        0.01,
    );
    Ok(())
}
