//! Robots of others on the ground: they stand, their feet do not slip; `cargo xtask conformance` runs this.

use std::path::PathBuf;

use dalembert::prelude::*;
use dalembert_formats::robot::{ReadOptions, read_robot};

fn on_ground(model: &str, keyframe: &str, dt: f64) -> Simulation {
    let shared =
        PathBuf::from(std::env::var_os("DALEMBERT_SHARED").expect("DALEMBERT_SHARED names the shared data"));
    let (robot, _) = read_robot(shared.join("models").join(model), &ReadOptions::default()).unwrap();
    let mut scene = Scene { method: Method::Impulse(Impulse::default()), dt, ..Scene::default() };
    scene.add(Ground::default());
    let mut item = RobotItem::new("robot", robot);
    item.keyframe = keyframe.into();
    scene.add(item);
    scene.build().unwrap_or_else(|e| panic!("{model}: {e}"))
}

/// Runs, and returns how far points that carry at least a tenth of the weight moved along the ground over the last
/// `watch` seconds \[m\], the weight carried at the end over the weight, and the deepest overlap \[m\].
fn run(sim: &mut Simulation, seconds: f64, watch: f64) -> (f64, f64, f64) {
    let weight = 9.81 * sim.model.mass();
    let mut seen: Vec<([u32; 4], Vec3)> = Vec::new();
    let (mut slip, mut deepest) = (0.0f64, 0.0f64);
    for _ in 0..(seconds / sim.dt).round() as usize {
        deepest = deepest.min(sim.step().unwrap().smallest_gap);
        if sim.state.time < seconds - watch {
            continue;
        }
        for c in sim.state.contacts.iter().filter(|c| c.force.z.abs() > 0.1 * weight) {
            let key = [c.a, c.b, c.part, c.feature];
            match seen.iter().find(|s| s.0 == key) {
                Some((_, first)) => slip = slip.max((c.point - first).xy().norm()),
                None => seen.push((key, c.point)),
            }
        }
    }
    let carried: f64 = sim.state.contacts.iter().map(|c| c.force.z.abs()).sum();
    (slip, carried / weight, -deepest)
}

#[test]
fn quadrupeds_and_a_humanoid_stand_under_their_servos() {
    for (model, keyframe) in [("unitree_go1/go1.xml", "home"), ("unitree_g1/g1.xml", "stand")] {
        let mut sim = on_ground(model, keyframe, 2e-3);
        let (slip, carried, deepest) = run(&mut sim, 10.0, 5.0);
        println!(
            "{model}: slip {slip:.1e} m in 5 s, carries {carried:.6} of its weight, deepest {deepest:.1e} m"
        );
        assert!(slip < 1e-3 && (carried - 1.0).abs() < 1e-2, "{model}: {slip} {carried}");
    }
}

#[test]
fn the_humanoid_falls_and_lies() {
    let mut sim = on_ground("mujoco_humanoid/humanoid.xml", "squat", 2e-3);
    let (_, carried, deepest) = run(&mut sim, 10.0, 0.0);
    let kinetic = sim.energy().kinetic;
    println!(
        "humanoid: carries {carried:.4} of its weight, deepest {deepest:.1e} m, kinetic {kinetic:.1e} J"
    );
    assert!((carried - 1.0).abs() < 0.05 && kinetic < 1e-2, "{carried} {kinetic}");
}
