//! Soft solids under the method `implicit`, against numbers from outside.

use dalembert::forces::nary::{Law, MassKind};
use dalembert::mesh::Region;
use dalembert::prelude::*;
use dalembert::scene::{Elements, SoftBody, Solid};

/// A cantilever of 5×5×30 nodes, 0.02×0.02×0.2 m along z, fixed at one end, that bends under its weight.
fn cantilever(elements: Elements, scheme: Scheme) -> Simulation {
    let mut scene = Scene { dt: 0.01, gravity: Vec3::new(0.0, -9.81, 0.0), ..Scene::default() };
    scene.method = Method::Implicit(Implicit { scheme, ..Implicit::default() });
    let solid = Solid::Box { size: Vec3::new(0.02, 0.02, 0.2), cells: [4, 4, 29] };
    scene.add(SoftBody {
        elements,
        law: Law::Linear,
        young: 2e6,
        poisson: 0.45,
        density: 1100.0,
        mass: MassKind::Consistent,
        ..SoftBody::new("beam", solid)
    });
    scene.add(Fix::inside("beam", plane(-0.1)));
    scene.build().unwrap()
}

fn plane(z: f64) -> Region {
    Region::Plane { through: Vec3::new(0.0, 0.0, z), normal: Vec3::z(), within: 1e-9 }
}

/// Mean displacement along y of the nodes that start at the free end.
fn tip(sim: &Simulation, start: &[f64]) -> f64 {
    let n = start.len() / 3;
    let tip: Vec<usize> = (0..n).filter(|i| (start[3 * i + 2] - 0.1).abs() < 1e-9).collect();
    tip.iter().map(|i| sim.state.q[3 * i + 1] - start[3 * i + 1]).sum::<f64>() / tip.len() as f64
}

#[test]
fn a_cantilever_bends_as_far_as_it_must() {
    // Hexahedra and six tetrahedra per cube: SOFA's validation beam, reproduced by independent code. `dalembert verify`
    // holds elements that do not lock against beam theory.
    for (elements, wanted, tolerance) in
        [(Elements::Hexes, -0.028371, 1e-6), (Elements::Tets, -0.0247, 0.01 * 0.0247)]
    {
        let mut sim = cantilever(elements, Scheme::Static);
        let start = sim.state.q.clone();
        let report = sim.step().unwrap();
        assert!(!report.unfinished, "{report:?}");
        let tip = tip(&sim, &start);
        assert!((tip - wanted).abs() < tolerance, "{elements:?}: {tip}, wanted {wanted}");
    }
}

#[test]
fn a_damped_cantilever_comes_to_rest_in_its_equilibrium() {
    let mut sim = cantilever(Elements::Hexes, Scheme::Euler);
    if let Method::Implicit(m) = &mut sim.method {
        (m.rayleigh_mass, m.rayleigh_stiffness) = (0.1, 0.1);
    }
    let start = sim.state.q.clone();
    for _ in 0..100 {
        sim.step().unwrap();
    }
    let tip = tip(&sim, &start);
    assert!((tip + 0.028371).abs() < 1e-6, "{tip}");
}
