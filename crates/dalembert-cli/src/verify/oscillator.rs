//! The oscillator m ẍ = −k x under each scheme: after n steps the state is the n-th power of a 2×2 matrix, exactly.

use dalembert::prelude::*;
use nalgebra::{Matrix2, Vector2};
use serde_json::Value;

use super::{Outcome, Table, explicit, weightless};

const DATA: &str = include_str!("../../data/cases/oscillator_discrete_maps.json");

pub(super) fn discrete_maps(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(DATA)?;
    let number = |key: &str| case["parameters"][key].as_f64().ok_or_else(|| format!("no number `{key}`"));
    let (m, k, h, x0, v0, steps) =
        (number("m")?, number("k")?, number("h")?, number("x0")?, number("v0")?, number("steps")?);
    let reference = |name: &str| -> Result<[f64; 2], String> {
        let pair = |i: usize| case["reference"][name][i].as_f64().ok_or_else(|| format!("no entry `{name}`"));
        Ok([pair(0)?, pair(1)?])
    };
    // The midpoint rule takes y to y + h B (y + ½ h B y) = (I + h B + ½ h² B²) y for ẏ = B y with
    // B = ((0, 1), (−k/m, 0)): Taylor's matrix of second order, to the power n.
    let B = Matrix2::new(0.0, 1.0, -k / m, 0.0);
    let taylor = Matrix2::identity() + B * h + B * B * (0.5 * h * h);
    let midpoint = (0..steps as usize).fold(Vector2::new(x0, v0), |y, _| taylor * y);

    let rows = [
        (Integrator::Euler, reference("explicit_euler")?, 1e-12),
        (Integrator::SymplecticEuler, reference("symplectic_euler")?, 1e-12),
        (Integrator::Midpoint, midpoint.into(), 1e-12),
        (Integrator::Verlet, reference("leapfrog_kdk")?, 1e-12),
        (Integrator::Rk4, reference("rk4")?, 1e-12),
        // One step of 1e-13 in each of a few hundred inner steps.
        (Integrator::DormandPrince, reference("exact")?, 1e-10),
    ];
    for (integrator, [x, v], tolerance) in rows {
        let mut scene = weightless(explicit(integrator, 1e-13), h);
        scene.add(ParticleSet::at("mass", [x0, 0.0, 0.0]).mass(m).velocity([v0, 0.0, 0.0]));
        let law = Attraction::Spring { stiffness: k };
        scene.add(AttractorSet { name: "spring".into(), on: Vec::new(), center: Vec3::zeros(), law });
        let mut sim = scene.build()?;
        sim.run(steps * h)?;
        // Hundred steps round a few hundred times: 1e-12 is the tolerance of the case.
        table.relative(integrator.name(), "x", sim.state.q[0], x, tolerance);
        table.relative(integrator.name(), "v", sim.state.v[0], v, tolerance);
    }
    Ok(())
}
