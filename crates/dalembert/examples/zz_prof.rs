use dalembert::prelude::*;
fn chain(n: usize, hinge: bool, projection: bool) -> Simulation {
    let mut s = Scene { title: "chain".into(), dt: 1.0/60.0, gravity: Vec3::new(0.0,-9.81,0.0), ..Scene::default() };
    s.method = Method::Impulse(Impulse { projection, ..Impulse::default() });
    let mut last = "world".to_string();
    for i in 0..n {
        let name = format!("l{i}");
        let x = 0.2 * i as f64;
        s.rigid.push(RigidBody::new(&name, Shape::Box { size: Vec3::new(0.2, 0.08, 0.08) }).mass(if i + 1 == n { std::env::var("TIP").map_or(1.0, |t| t.parse().unwrap()) } else { 1.0 }).at([x + 0.1, 0.0, 0.0]));
        s.joint.push(JointItem::new(format!("j{i}"), if hinge { JointType::Hinge } else { JointType::Ball }, &last, &name).anchor([x, 0.0, 0.0]));
        last = name;
    }
    s.build().unwrap()
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (hinge, n, proj, steps, runs): (bool, usize, bool, usize, usize) =
        (a[1] == "hinge", a[2].parse().unwrap(), a[3] == "p", a[4].parse().unwrap(), a[5].parse().unwrap());
    let t = std::time::Instant::now();
    let mut sim = chain(n, hinge, proj);
    let b = t.elapsed().as_secs_f64();
    let s0 = sim.state.clone();
    let t = std::time::Instant::now();
    sim.step().unwrap();
    let first = t.elapsed().as_secs_f64();
    let mut best = f64::INFINITY;
    let mut gap = 0.0f64; let mut pr = 0;
    for _ in 0..runs {
        sim.state.copy_from(&s0);
        let t = std::time::Instant::now();
        for k in 0..steps { sim.step().unwrap(); if std::env::var_os("TRACE").is_some() { println!("{k} gap {:.2e} rounds {} E {:.3} wmax {:.2}", sim.report.gap, sim.report.projections, sim.energy().total(), sim.state.v.chunks(6).map(|v| (v[3]*v[3]+v[4]*v[4]+v[5]*v[5]).sqrt()).fold(0.0, f64::max)); } gap = gap.max(sim.report.gap); pr += sim.report.projections; }
        best = best.min(t.elapsed().as_secs_f64());
    }
    println!("{} {n} {}: build {b:.3} s, first {first:.3}, {:.0} ns/link, gap {gap:.1e}, proj/step {:.2}, E {:.15e}", a[1], a[3], best / steps as f64 / n as f64 * 1e9, pr as f64 / (runs*steps) as f64, sim.energy().total());
}
