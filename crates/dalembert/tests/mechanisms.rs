//! Joints in motion, against answers from elsewhere.

use dalembert::prelude::*;

fn pendulum(method: Method, dt: f64) -> Simulation {
    let mut scene = Scene { method, dt, ..Scene::default() };
    scene.add(ParticleSet::at("bob", [1.0, 0.0, 0.0]));
    scene.add(
        JointItem::new("rod", JointType::Distance { length: None }, "world", "bob").anchor([0.0, 0.0, 0.0]),
    );
    scene.build().unwrap()
}

#[test]
fn trial() {
    for (name, method) in [
        ("lagrange", Method::Lagrange(Lagrange::default())),
        ("impulse", Method::Impulse(Impulse::default())),
    ] {
        for dt in [0.01, 0.005, 0.0025] {
            let mut sim = pendulum(method.clone(), dt);
            sim.run(1.0).unwrap();
            println!("{name} {dt} {:?} {:?}", sim.state.q, sim.report);
        }
    }
    println!("exact -0.9862917511318753, -0.1650108531255412");
}
