//! The method `ipc` with multipliers in place of barriers.

#![allow(non_snake_case)]

use dalembert::math::rotation::exp;
use dalembert::prelude::*;
use dalembert::scene::{Cloth, Sheet};
use dalembert::step::{ContactPotential, Ipc};

fn augmented() -> Ipc {
    Ipc { potential: ContactPotential::Augmented, ..Ipc::default() }
}

fn ipc(settings: Ipc) -> Scene {
    Scene { method: Method::Ipc(settings), dt: 0.01, ..Scene::default() }
}

fn intersections(sim: &Simulation) -> usize {
    let contact = sim.model.contact.as_ref().unwrap();
    let mut x = Vec::new();
    contact.positions(&sim.state.q, &mut x);
    dalembert::collide::exact::below_planes(&contact.surface, &x).len()
        + dalembert::collide::exact::intersections(&contact.surface, &x).len()
}

fn boxes(n: usize, settings: Ipc) -> Scene {
    let mut scene =
        Scene { method: Method::Ipc(Ipc { friction: 0.5, ..settings }), dt: 0.01, ..Scene::default() };
    scene.add(Ground::default());
    let axis = Vec3::new(0.3, 0.5, 1.0).normalize();
    for i in 0..n {
        for j in 0..n {
            for k in 0..n {
                let angle = (3.0 * ((i * 7 + j * 3 + k * 5) % 11) as f64).to_radians();
                let place = |i: usize| 0.13 * (i as f64 - 0.5 * n as f64);
                let shape = Shape::Box { size: Vec3::repeat(0.1) };
                let body = RigidBody::new(format!("box{i}_{j}_{k}"), shape).mass(1.0);
                scene.add(body.at([place(i), place(j), 0.09 + 0.14 * k as f64]).turned(exp(&(axis * angle))));
            }
        }
    }
    scene
}

#[test]
fn scratch_boxes() {
    let n: usize = std::env::var("N").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let steps: usize = std::env::var("STEPS").ok().and_then(|n| n.parse().ok()).unwrap_or(100);
    for settings in [Ipc::default(), augmented()] {
        let mut sim = boxes(n, settings).build().unwrap();
        let start = std::time::Instant::now();
        let (mut it, mut un) = (0, 0);
        let mut line = Vec::new();
        for k in 0..steps {
            let r = sim.step().unwrap();
            it += r.iterations;
            un += u32::from(r.unfinished);
            line.push(r.iterations);
            assert_eq!(intersections(&sim), 0, "{k}");
        }
        println!(
            "{:?}: {it} iterations, {un} unfinished, {:?} {line:?}",
            settings.potential,
            start.elapsed()
        );
    }
}
