//! Robots of others in `ipc` scenes, read in place: without contact the built-in driver moves them as their own reduced
//! dynamics does; `cargo xtask conformance` runs this.

use std::path::PathBuf;

use dalembert::prelude::*;
use dalembert::robot::RobotScheme;
use dalembert_formats::scene::load_text;
use dalembert_formats::source::Includes;

fn models() -> PathBuf {
    PathBuf::from(std::env::var_os("DALEMBERT_SHARED").expect("DALEMBERT_SHARED names the shared data"))
        .join("models")
}

/// Runs a robot 5 s under `ipc` and by itself, with servos that swing; returns the largest difference of a coordinate
/// \[rad or m\] and how far the robot went by itself.
fn apart(robot: &str, swing: impl Fn(f64, usize, f64) -> f64) -> (f64, f64) {
    let text = format!(
        "method = 'ipc'\nipc = {{ tolerance = 1e-8 }}\ndt = 0.01\n[[robot]]\nname = 'robot'\n{robot}\n"
    );
    let file = load_text("s.toml", &text, Includes::Directory(&models()));
    let mut sim = file.and_then(|file| file.build()).unwrap_or_else(|e| panic!("{e}")).simulation;
    let part = sim.model.robots[0].clone();
    let mut alone = part.state(&sim.state);
    let (start, home) = (alone.q.clone(), alone.control.clone());
    let mut work = part.robot.work();
    let (mut worst, mut way) = (0.0f64, 0.0f64);
    for step in 0..500 {
        let t = step as f64 * sim.dt;
        for (k, u) in part.control_mut(&mut sim.state).iter_mut().enumerate() {
            *u = swing(t, k, home[k]);
            alone.control[k] = *u;
        }
        let report = sim.step().unwrap();
        assert!(!report.unfinished, "{step}: {report:?}");
        part.robot.step(RobotScheme::Implicit, &mut alone, sim.dt, &mut work).unwrap();
        for (k, (a, b)) in part.q(&sim.state).iter().zip(&alone.q).enumerate() {
            worst = worst.max((a - b).abs());
            way = way.max((b - start[k]).abs());
        }
    }
    let joint = Quantity::parse(&sim.model, "joints.gap").unwrap().value(&sim.model, &sim.state);
    assert!(joint < 1e-7, "{joint}");
    (worst, way)
}

#[test]
fn the_panda_moves_as_by_its_own_dynamics() {
    let robot = "file = 'franka_emika_panda/panda.xml'\nkeyframe = 'home'";
    let goal = [0.8, 0.5, -0.6, -1.8, 0.5, 2.0, 0.3, 100.0];
    let (worst, way) = apart(robot, |t, k, home| home + (0.7 * t).sin() * (goal[k] - home));
    println!("panda, 5 s: coordinates within {worst:.1e} rad, after a way of {way:.2} rad");
    assert!(worst < 1e-6 && way > 0.5, "{worst:e} {way}");
}

#[test]
fn a_floating_base_moves_as_by_its_own_dynamics() {
    for (file, start) in
        [("unitree_go1/go1.xml", "keyframe = 'home'"), ("anybotics_anymal_c/anymal_c.xml", "")]
    {
        let robot = format!("file = '{file}'\n{start}");
        let (worst, way) = apart(&robot, |t, k, home| home + 0.3 * (3.0 * t + k as f64).sin());
        println!(
            "{file}, 5 s of falling and kicking: coordinates within {worst:.1e}, after a way of {way:.1} m"
        );
        assert!(worst < 1e-6 && way > 100.0, "{file}: {worst:e} {way}");
    }
}
