//! Soft solids under the method `implicit`, against numbers from outside.

use dalembert::forces::nary::{Law, MassKind};
use dalembert::mesh::Region;
use dalembert::prelude::*;
use dalembert::scene::{Elements, Rod, SoftBody, Solid};

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

/// A clamped straight rod with twist that turns about itself as in its first torsional vibration, ω = (π/2L)√(G/ρ).
#[test]
fn a_rod_twists_to_and_fro_at_the_speed_of_its_shear_waves() {
    let (n, length, young, poisson, density) = (24, 0.3, 1e7, 0.25, 1200.0);
    let points = (0..=n).map(|i| Vec3::new(length * f64::from(i) / f64::from(n), 0.0, 0.0)).collect();
    let shear = young / (2.0 * (1.0 + poisson));
    let omega = std::f64::consts::PI / (2.0 * length) * f64::sqrt(shear / density);
    let period = std::f64::consts::TAU / omega;
    let mut scene = Scene { dt: period / 200.0, gravity: Vec3::zeros(), ..Scene::default() };
    scene.method = Method::Implicit(Implicit { scheme: Scheme::Midpoint, ..Implicit::default() });
    let rod = Rod { young, poisson, density, twist: true, clamped: [true, false], ..Rod::new("rod", points) };
    scene.add(rod);
    let mut sim = scene.build().unwrap();
    let markers = sim.model.block("rod markers").unwrap().clone();
    let spin = |x: f64| 0.01 * omega * (std::f64::consts::FRAC_PI_2 * x / length).sin();
    for (q, v) in markers.q.clone().step_by(3).zip(markers.v.clone().step_by(3)) {
        let place = Vec3::from_column_slice(&sim.state.q[q..q + 3]);
        let rate = Vec3::x() * spin(place.x);
        let turned = rate.cross(&Vec3::new(0.0, place.y, place.z));
        sim.state.v[v..v + 3].copy_from_slice(turned.as_slice());
    }
    // ∫ ½ ρ J θ̇² over the length: half of what the tip's rate everywhere would have.
    let polar = 0.5 * std::f64::consts::PI * 2.5e-3f64.powi(4);
    let wanted = 0.25 * density * polar * length * (0.01 * omega).powi(2);
    let start = sim.energy();
    assert!((start.kinetic / wanted - 1.0).abs() < 1e-2, "{} {wanted}", start.kinetic);
    let first = sim.state.v.clone();
    for _ in 0..50 {
        sim.step().unwrap();
    }
    assert!(sim.energy().kinetic < 1e-3 * start.kinetic, "{:e}", sim.energy().kinetic / start.kinetic);
    for _ in 0..150 {
        sim.step().unwrap();
    }
    let (mut same, mut size) = (0.0, 0.0);
    for v in markers.v {
        same += first[v] * sim.state.v[v];
        size += first[v] * first[v];
    }
    assert!((same / size - 1.0).abs() < 2e-3, "{}", same / size);
    assert!((sim.energy().total() / start.total() - 1.0).abs() < 1e-3);
}
