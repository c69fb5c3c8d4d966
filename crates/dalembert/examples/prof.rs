//! Temporary.
use dalembert::prelude::*;
fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    s.split(' ').next().unwrap().parse::<f64>().unwrap() * 1e-9
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (n, hinge, projection): (usize, bool, bool) =
        (a[1].parse().unwrap(), a[2] == "hinge", a[3] == "proj");
    let steps: usize = a[4].parse().unwrap();
    let mut scene = Scene {
        dt: 1.0 / 60.0,
        gravity: Vec3::new(0.0, -9.81, 0.0),
        method: Method::Impulse(Impulse { projection, ..Impulse::default() }),
        ..Scene::default()
    };
    let mut last = String::from("world");
    for i in 0..n {
        let (name, x) = (format!("link{i}"), 0.2 * i as f64);
        scene.add(RigidBody::new(&name, Shape::Box { size: Vec3::new(0.2, 0.08, 0.08) }).mass(1.0).at([
            x + 0.1,
            0.0,
            0.0,
        ]));
        let kind = if hinge { JointType::Hinge } else { JointType::Ball };
        scene.add(JointItem::new(format!("joint{i}"), kind, last, &name).anchor([x, 0.0, 0.0]));
        last = name;
    }
    let mut sim = scene.build().unwrap();
    let start = sim.state.clone();
    sim.step().unwrap();
    let mut best = f64::MAX;
    for _ in 0..(if n > 1000 { 5 } else { 8 }) {
        sim.state.copy_from(&start);
        let t = cpu();
        let (mut rounds, m) = (0, if n > 1000 { 10 } else { 600 });
        for i in 0..m {
            if i % 60 == 0 {
                sim.state.copy_from(&start);
            }
            sim.step().unwrap();
            rounds += sim.report.projections;
        }
        best = best.min((cpu() - t) / m as f64);
        let _ = (steps, rounds);
    }
    println!("{n} {} {}: {:.1} ns/link", a[2], a[3], best * 1e9 / n as f64);
}
