//! Ten masses and eleven springs between two walls: ω_j = 2 √(k/m) sin(jπ/22).

use std::f64::consts::PI;

use dalembert::forces::Blocks;
use dalembert::prelude::*;
use nalgebra::DMatrix;
use serde_json::Value;

use super::{Outcome, Table, explicit, frequency, weightless};

const DATA: &str = include_str!("../../data/cases/spring_chain_modes.json");

pub(super) fn modes(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(DATA)?;
    let number = |key: &str| case["parameters"][key].as_f64().ok_or_else(|| format!("no number `{key}`"));
    let (n, m, k) = (number("n_masses")? as usize, number("m")?, number("k")?);
    let chain = |dt: f64| {
        let mut scene = weightless(explicit(Integrator::Verlet, 1e-6), dt);
        let to = Vec3::new((n + 1) as f64, 0.0, 0.0);
        let links = Arrangement::Chain { from: Vec3::zeros(), to, count: n + 2 };
        scene.add(ParticleSet::new("chain", links).mass(m));
        scene.add(SpringSet::along("springs", "chain", Edges::Structural).stiffness(k));
        scene.add(Fix::points("chain[0]"));
        scene.add(Fix::points("chain[-1]"));
        // Lengthwise motion only.
        scene.add(Fix { on: vec!["chain".into()], directions: vec![Vec3::y(), Vec3::z()], ..Fix::default() });
        scene.build()
    };
    let from_matrices = frequencies(&chain(1e-3)?);
    let mut references: Vec<(usize, f64)> = Vec::new();
    for (mode, wanted) in case["reference"].as_object().ok_or("no references")? {
        references.push((mode.parse()?, wanted.as_f64().ok_or("a reference is no number")?));
    }
    references.sort_by_key(|r| r.0);
    for &(j, wanted) in &references {
        // Filtered directions have frequency zero and come first.
        let found = from_matrices[from_matrices.len() - n + j - 1];
        // The eigensolver is good to ε times the largest ω², 5e-14 relative to the smallest: 1e-10 is the case's.
        table.relative("assembled M, K", format!("mode {j}: ω from eigenvalues"), found, wanted, 1e-10);
    }
    for &(j, wanted) in &references {
        let mut sim = chain(1e-4)?;
        for i in 1..=n {
            sim.state.q[3 * i] += 0.01 * (j as f64 * PI * i as f64 / (n + 1) as f64).sin();
        }
        let found = frequency(&mut sim, 2.0, |s| s.q[3] - 1.0)?;
        // Verlet shifts a frequency by (ωh)²/24 ≤ 2e-5; 1e-3 is the case's.
        table.relative("verlet", format!("mode {j}: ω from the motion"), found, wanted, 1e-3);
    }
    Ok(())
}

/// √ of the eigenvalues of C M⁻½ K M⁻½ C in rising order, with K assembled from blocks [rad/s].
fn frequencies(sim: &Simulation) -> Vec<f64> {
    let model = &sim.model;
    let points = model.points(0.0, &sim.state.q, &sim.state.v);
    let mut blocks = Blocks::default();
    model.forces.iter().for_each(|f| f.force.add_stiffness_blocks(&points, &mut blocks));
    let n = model.layout.nv;
    let mut A = DMatrix::<f64>::zeros(n, n);
    for (i, j, block) in &blocks.entries {
        let (i, j) = (*i as usize, *j as usize);
        let scale = (points.mass[i] * points.mass[j]).sqrt();
        let mut view = A.fixed_view_mut::<3, 3>(3 * i, 3 * j);
        view += block / scale;
    }
    // C A C: filter the columns, transpose, and filter again.
    for _ in 0..2 {
        A.column_iter_mut().for_each(|mut c| model.filters.apply(0, c.as_mut_slice()));
        A = A.transpose();
    }
    let mut out: Vec<f64> = A.symmetric_eigenvalues().iter().map(|w2| w2.max(0.0).sqrt()).collect();
    out.sort_by(f64::total_cmp);
    out
}
