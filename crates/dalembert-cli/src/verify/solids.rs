//! Soft solids and the method `implicit`: recurrences, schemes, beams, bars and patches.

use std::error::Error;

use dalembert::forces::nary::{Law, MassKind};
use dalembert::forces::{Blocks, Tangent};
use dalembert::mesh::{HexMesh, Region, TetMesh};
use dalembert::prelude::*;
use dalembert::scene::{Elements, SoftBody, Solid};
use nalgebra::DMatrix;
use serde_json::Value;

use super::{Outcome, Table};

fn implicit(scheme: Scheme, newton: u32) -> Method {
    Method::Implicit(Implicit { scheme, newton, tolerance: 1e-12, ..Implicit::default() })
}

fn number(case: &Value, key: &str) -> Result<f64, Box<dyn Error>> {
    Ok(case["parameters"][key].as_f64().ok_or_else(|| format!("no number `{key}`"))?)
}

/// Vertical spring, linearised implicit Euler: every step against its recurrence.
pub(super) fn recurrence(table: &mut Table) -> Outcome {
    for (h, k, m, alpha, beta) in [
        (0.1, 100.0, 10.0, 0.0, 0.0),
        (0.1, 100.0, 10.0, 0.1, 0.1),
        (0.01, 10.0, 10.0, 0.0, 0.1),
        (0.001, 10.0, 100.0, 0.1, 0.0),
    ] {
        let settings = Implicit { rayleigh_mass: alpha, rayleigh_stiffness: beta, ..Implicit::default() };
        let mut scene = Scene { dt: h, gravity: Vec3::new(0.0, 0.0, -10.0), ..Scene::default() };
        scene.method = Method::Implicit(settings);
        scene.add(ParticleSet::at("anchor", [0.0; 3]));
        scene.add(ParticleSet::at("mass", [0.0, 0.0, -1.0]).mass(m));
        scene.add(SpringSet::between("spring", "anchor", "mass").stiffness(k).rest_length(1.0));
        scene.add(Fix::points("anchor"));
        let mut sim = scene.build()?;
        let (mut z, mut v, mut worst) = (-1.0f64, 0.0f64, 0.0f64);
        for _ in 0..(2.0f64 / h).round() as usize {
            v += h * (-k * (z + 1.0) - m * 10.0 + v * (-(beta + h) * k - alpha * m))
                / (h * (h + beta) * k + (1.0 + h * alpha) * m);
            z += h * v;
            sim.step()?;
            worst = worst.max((sim.state.q[5] - z).abs() / z.abs().max(1.0));
        }
        let name = format!("h = {h}, k = {k}, m = {m}, α = {alpha}, β = {beta}: worst step");
        table.absolute("euler, linearised", name, worst, 0.0, 1e-14);
    }
    Ok(())
}

/// A mass on a damped spring: 299 steps of 10 ms under each scheme.
pub(super) fn spring_pendulum(table: &mut Table) -> Outcome {
    for (name, scheme, newton, x, z) in [
        ("euler, linearised", Scheme::Euler, 1, 0.153496, -1.096852),
        ("euler, newton", Scheme::Euler, 50, 0.155591, -1.095967),
        ("midpoint", Scheme::Midpoint, 50, 0.749219, -0.815320),
        ("trapezoid", Scheme::Trapezoid, 50, 0.749329, -0.814945),
    ] {
        let mut scene = Scene { dt: 0.01, method: implicit(scheme, newton), ..Scene::default() };
        scene.add(ParticleSet::at("origin", [0.0; 3]));
        scene.add(ParticleSet::at("mass", [1.0, 0.0, 0.0]).mass(0.5));
        let spring = SpringSet::between("spring", "origin", "mass").stiffness(100.0);
        scene.add(spring.rest_length(1.0).damping(0.1));
        scene.add(Fix::points("origin"));
        let mut sim = scene.build()?;
        for _ in 0..299 {
            sim.step()?;
        }
        table.absolute(name, "x after 299 steps", sim.state.q[3], x, 1e-5);
        table.absolute(name, "z after 299 steps", sim.state.q[5], z, 1e-5);
    }
    let mut scene = Scene { dt: 0.02, gravity: Vec3::zeros(), ..Scene::default() };
    scene.method = Method::Implicit(Implicit::default());
    scene.add(ParticleSet::at("p", [0.0; 3]).velocity([1.0, 0.0, 0.0]));
    scene.drag.push(DragSet { linear: 0.1, ..DragSet::default() });
    let mut sim = scene.build()?;
    for _ in 0..2500 {
        sim.step()?;
    }
    table.absolute("euler", "way through a viscous medium", sim.state.q[0], 9.932283, 1e-6);
    Ok(())
}

fn plane(normal: Vec3, at: f64) -> Region {
    Region::Plane { through: at * normal, normal, within: 1e-9 }
}

/// Mean of component k of the displacement of the points that start on the plane z.
fn mean_at(sim: &Simulation, start: &[f64], z: f64, k: usize) -> f64 {
    let there: Vec<usize> = (0..start.len() / 3).filter(|i| (start[3 * i + 2] - z).abs() < 1e-9).collect();
    there.iter().map(|i| sim.state.q[3 * i + k] - start[3 * i + k]).sum::<f64>() / there.len() as f64
}

/// Beams that bend under their weight: SOFA's validation beam, reproduced elsewhere by independent code.
pub(super) fn cantilever(table: &mut Table) -> Outcome {
    cantilever_by(table, "", implicit(Scheme::Static, 0))
}

/// The same by any method; its name is put before that of the elements.
pub(super) fn cantilever_by(table: &mut Table, by: &str, method: Method) -> Outcome {
    // Beam theory knows nothing of the sideways grip of a clamp, which makes a beam with ν = 0.45 stiffer by 20 % near it
    // and its tip 3.7 % higher; so the elements that are held against it are clamped as in beam theory, free to shrink.
    for (name, elements, grip, wanted, tolerance) in [
        ("hexahedra", Elements::Hexes, true, -0.028371, 1e-6),
        ("tetrahedra", Elements::Tets, true, -0.0247, 0.01 * 0.0247),
        ("bending hexahedra", Elements::BendingHexes, false, -0.0324, 0.02 * 0.0324),
    ] {
        let mut scene = Scene { dt: 0.01, gravity: Vec3::new(0.0, -9.81, 0.0), ..Scene::default() };
        scene.method = method.clone();
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
        let end = plane(Vec3::z(), -0.1);
        if grip {
            scene.add(Fix::inside("beam", end));
        } else {
            for direction in [Vec3::x(), Vec3::y()] {
                let middle = Region::Intersection(vec![end.clone(), plane(direction, 0.0)]);
                scene.add(Fix { directions: vec![direction], ..Fix::inside("beam", middle) });
            }
            scene.add(Fix { directions: vec![Vec3::z()], ..Fix::inside("beam", end) });
        }
        let mut sim = scene.build()?;
        let start = sim.state.q.clone();
        sim.step()?;
        let name = format!("{by}{name}");
        table.absolute(&name, "tip of 5×5×30 nodes", mean_at(&sim, &start, 0.1, 1), wanted, tolerance);
    }
    Ok(())
}

/// A bar of neo-Hookean tetrahedra with free sides, stretched.
pub(super) fn neo_hookean(table: &mut Table) -> Outcome {
    neo_hookean_by(table, "static", implicit(Scheme::Static, 0))
}

/// The same by any method that finds an equilibrium.
pub(super) fn neo_hookean_by(table: &mut Table, by: &str, method: Method) -> Outcome {
    let case: Value = serde_json::from_str(include_str!("../../data/cases/neo_hookean_uniaxial.json"))?;
    for (stretch, wanted) in case["reference"].as_object().ok_or("no references")? {
        let lambda: f64 = stretch.parse()?;
        let mut scene = Scene { gravity: Vec3::zeros(), method: method.clone(), ..Scene::default() };
        let solid = Solid::Box { size: Vec3::new(1.0, 1.0, 2.0), cells: [2, 2, 3] };
        scene.add(SoftBody {
            law: Law::NeoHookean,
            young: number(&case, "E")?,
            poisson: number(&case, "nu")?,
            ..SoftBody::new("bar", solid)
        });
        for (normal, at) in [(Vec3::x(), -0.5), (Vec3::y(), -0.5), (Vec3::z(), -1.0), (Vec3::z(), 1.0)] {
            scene.add(Fix { directions: vec![normal], ..Fix::inside("bar", plane(normal, at)) });
        }
        let mut sim = scene.build()?;
        let start = sim.state.q.clone();
        for q in sim.state.q.chunks_exact_mut(3) {
            q[2] = lambda * (q[2] + 1.0) - 1.0;
        }
        sim.step()?;
        let corner = (0..start.len() / 3)
            .find(|i| start[3 * i] > 0.49 && start[3 * i + 1] > 0.49 && start[3 * i + 2].abs() < 0.5)
            .ok_or("no corner")?;
        let lateral = sim.state.q[3 * corner] + 0.5;
        let mut f = vec![0.0; sim.state.v.len()];
        sim.model.forces_into(0.0, &sim.state.q, &sim.state.v, &[], &mut f);
        let ends = (0..start.len() / 3).filter(|i| (start[3 * i + 2] - 1.0).abs() < 1e-9);
        let pull: f64 = ends.map(|i| -f[3 * i + 2]).sum();
        let get = |key: &str| wanted[key].as_f64().ok_or("a reference is no number");
        table.relative(by, format!("stretch {stretch}: lateral"), lateral, get("lateral")?, 1e-8);
        table.relative(by, format!("stretch {stretch}: P11"), pull, get("P11")?, 1e-8);
    }
    Ok(())
}

/// A bar that hangs by its upper end.
pub(super) fn hanging_bar(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(include_str!("../../data/cases/hanging_bar_selfweight.json"))?;
    let mut scene = Scene { method: implicit(Scheme::Static, 0), ..Scene::default() };
    scene.gravity = Vec3::new(0.0, 0.0, -number(&case, "g")?);
    let length = number(&case, "L")?;
    let solid = Solid::Box { size: Vec3::new(0.1, 0.1, length), cells: [1, 1, 10] };
    scene.add(SoftBody {
        elements: Elements::Hexes,
        law: Law::Linear,
        young: number(&case, "E")?,
        poisson: number(&case, "nu")?,
        density: number(&case, "rho")?,
        mass: MassKind::Consistent,
        ..SoftBody::new("bar", solid)
    });
    scene.add(Fix::inside("bar", plane(Vec3::z(), 0.5 * length)));
    let mut sim = scene.build()?;
    let start = sim.state.q.clone();
    sim.step()?;
    let wanted = case["reference"]["linear"].as_f64().ok_or("no reference")?;
    table.relative("static", "elongation", -mean_at(&sim, &start, -0.5 * length, 2), wanted, 1e-6);
    Ok(())
}

/// Tip load and first frequencies of a slender beam.
pub(super) fn linear_beam(table: &mut Table) -> Outcome {
    let case: Value =
        serde_json::from_str(include_str!("../../data/cases/cantilever_linear_and_modes.json"))?;
    let length = number(&case, "L")?;
    let mut scene = Scene { gravity: Vec3::zeros(), method: implicit(Scheme::Static, 0), ..Scene::default() };
    let solid =
        Solid::Box { size: Vec3::new(number(&case, "b")?, number(&case, "h")?, length), cells: [1, 1, 40] };
    scene.add(SoftBody {
        elements: Elements::BendingHexes,
        law: Law::Linear,
        young: number(&case, "E")?,
        poisson: number(&case, "nu")?,
        density: number(&case, "rho")?,
        ..SoftBody::new("beam", solid)
    });
    scene.add(Fix::inside("beam", plane(Vec3::z(), -0.5 * length)));
    scene.add(PushSet {
        on: vec!["beam".into()],
        inside: plane(Vec3::z(), 0.5 * length),
        force: Vec3::new(0.0, -number(&case, "P")?, 0.0),
        total: true,
        ..PushSet::default()
    });
    let mut sim = scene.build()?;
    let start = sim.state.q.clone();
    sim.step()?;
    let reference = &case["reference"];
    let tip = -mean_at(&sim, &start, 0.5 * length, 1);
    table.relative("static", "tip deflection", tip, reference["tip"].as_f64().ok_or("no tip")?, 0.02);
    sim.state.q.copy_from_slice(&start);
    let found = bending_frequencies(&sim);
    for (mode, wanted) in reference["freq_hz"].as_array().ok_or("no frequencies")?.iter().enumerate() {
        let hertz = found.get(mode).ok_or("too few frequencies")? / std::f64::consts::TAU;
        // Euler and Bernoulli leave out shear and the turning of sections, which take ½(kr)²(1 + E/κG) off a frequency
        // (Timoshenko): 0.2 % of the first, 2.2 % of the third.
        let k = [1.875104, 4.694091, 7.854757][mode.min(2)] / length;
        let kr = k * number(&case, "h")? / 12f64.sqrt();
        let wanted = wanted.as_f64().ok_or("no number")? / (1.0 + kr * kr * (1.0 + 2.0 / (5.0 / 6.0))).sqrt();
        table.relative("assembled M, K", format!("frequency {}, with shear", mode + 1), hertz, wanted, 0.02);
    }
    Ok(())
}

/// √ of the double eigenvalues of M⁻½ K M⁻½ over the points that may move, rising [rad/s].
fn bending_frequencies(sim: &Simulation) -> Vec<f64> {
    let model = &sim.model;
    let points = model.points(0.0, &sim.state.q, &sim.state.v);
    let mut blocks = Blocks::default();
    model.forces.iter().for_each(|f| f.force.add_tangent_blocks(&points, Tangent::Exact, &mut blocks));
    let free: Vec<usize> =
        (0..model.layout.particles).filter(|&i| model.filters.block(i).is_none()).collect();
    let mut place = vec![usize::MAX; model.layout.particles];
    free.iter().enumerate().for_each(|(k, &i)| place[i] = k);
    let mut A = DMatrix::<f64>::zeros(3 * free.len(), 3 * free.len());
    for (i, j, block) in &blocks.entries {
        let (i, j) = (*i as usize, *j as usize);
        if place[i] != usize::MAX && place[j] != usize::MAX {
            let scale = (points.mass[i] * points.mass[j]).sqrt();
            let mut view = A.fixed_view_mut::<3, 3>(3 * place[i], 3 * place[j]);
            view += block / scale;
        }
    }
    let mut all: Vec<f64> = A.symmetric_eigenvalues().iter().map(|w2| w2.max(0.0).sqrt()).collect();
    all.sort_by(f64::total_cmp);
    // The section is square: bending comes in pairs, torsion and stretching do not.
    let mut pairs = Vec::new();
    let mut i = 0;
    while i + 1 < all.len() {
        if all[i + 1] - all[i] < 1e-6 * all[i] {
            pairs.push(all[i]);
            i += 1;
        }
        i += 1;
    }
    pairs
}

/// A cylinder under traction: axial strain p/E, radial strain −ν p/E.
pub(super) fn cylinder_traction(table: &mut Table) -> Outcome {
    let mesh = HexMesh::cylinder(0.2, 1.0, 4, 6)?.to_tets();
    let top = |x: &Vec3| (x.z - 0.5).abs() < 1e-9;
    for young in [1.0, 2.0] {
        for poisson in [0.0, 0.3, 0.49] {
            let (mut axial, mut radial) = (0.0f64, 0.0f64);
            for pressure in [0.2, -0.2, 0.6, -0.6] {
                let mut scene =
                    Scene { gravity: Vec3::zeros(), method: implicit(Scheme::Static, 0), ..Scene::default() };
                let body = SoftBody::new("cylinder", Solid::Tets(mesh.clone()));
                scene.add(SoftBody { law: Law::Linear, young, poisson, ..body });
                for (normal, at) in [(Vec3::x(), 0.0), (Vec3::y(), 0.0), (Vec3::z(), -0.5)] {
                    scene.add(Fix { directions: vec![normal], ..Fix::inside("cylinder", plane(normal, at)) });
                }
                let mut sim = scene.build()?;
                let start = sim.state.q.clone();
                for t in mesh.boundary().volume_triangles() {
                    let x = t.map(|i| mesh.points[i as usize]);
                    if x.iter().all(top) {
                        let area = 0.5 * (x[1] - x[0]).cross(&(x[2] - x[0])).norm();
                        for i in t {
                            let force = Vec3::new(0.0, 0.0, pressure * area / 3.0);
                            let layout = sim.model.layout;
                            sim.state.push_point(&layout, dalembert::state::PointId(i), &force);
                        }
                    }
                }
                sim.step()?;
                for (i, x) in mesh.points.iter().enumerate() {
                    let moved = |k: usize| sim.state.q[3 * i + k] - start[3 * i + k];
                    axial = axial.max((moved(2) - pressure / young * (x.z + 0.5)).abs());
                    for k in 0..2 {
                        radial = radial.max((moved(k) + poisson * pressure / young * x[k]).abs());
                    }
                }
            }
            let name = format!("E = {young}, ν = {poisson}");
            table.absolute("static", format!("{name}: worst axial"), axial, 0.0, 1e-4);
            table.absolute("static", format!("{name}: worst radial"), radial, 0.0, 1e-4);
        }
    }
    Ok(())
}

/// The boundary of an irregular mesh moves affinely, and the inside follows.
pub(super) fn patch(table: &mut Table) -> Outcome {
    let mut mesh = TetMesh::block(Vec3::new(1.0, 1.2, 0.8), [3, 4, 3])?;
    let outside = mesh.boundary().nodes;
    let inside: Vec<usize> = (0..mesh.points.len()).filter(|i| !outside.contains(&(*i as u32))).collect();
    let mut random = dalembert::math::Random::new(7);
    for &i in &inside {
        mesh.points[i] += Vec3::from_fn(|_, _| random.between(-0.06, 0.06));
    }
    let F = Mat3::new(1.02, 0.01, -0.02, 0.0, 0.97, 0.015, 0.01, 0.0, 1.01);
    for (name, law) in [
        ("linear", Law::Linear),
        ("corotated", Law::Corotated),
        ("stvk", Law::StVenantKirchhoff),
        ("stable neo-Hookean", Law::StableNeoHookean),
    ] {
        let mut scene =
            Scene { gravity: Vec3::zeros(), method: implicit(Scheme::Static, 0), ..Scene::default() };
        scene.add(SoftBody { law, ..SoftBody::new("patch", Solid::Tets(mesh.clone())) });
        scene.add(Fix::inside("patch", Region::Points(outside.clone())));
        let mut sim = scene.build()?;
        for &i in &outside {
            let at = F * mesh.points[i as usize];
            sim.state.q[3 * i as usize..][..3].copy_from_slice(at.as_slice());
        }
        sim.step()?;
        let apart = |&i: &usize| {
            let x = F * mesh.points[i];
            (0..3).map(|k| (sim.state.q[3 * i + k] - x[k]).abs()).fold(0.0, f64::max)
        };
        let worst = inside.iter().map(apart).fold(0.0, f64::max);
        table.absolute(name, "inner nodes of an affine patch", worst, 0.0, 1e-10);
    }
    Ok(())
}
