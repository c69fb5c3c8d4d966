//! Robots of files inside `ipc` scenes.

use std::path::{Path, PathBuf};

use dalembert::collide::exact;
use dalembert::prelude::*;
use dalembert::robot::RobotScheme;
use dalembert_formats::scene::load_text;
use dalembert_formats::source::Includes;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes/robots")
}

fn build(text: &str) -> Simulation {
    let file = load_text("s.toml", text, Includes::Directory(&folder()));
    file.and_then(|file| file.build()).unwrap_or_else(|e| panic!("{e}")).simulation
}

/// The largest difference of a coordinate between the robot of an `ipc` scene and the robot by itself.
fn apart(mut sim: Simulation, steps: usize) -> f64 {
    let part = sim.model.robots[0].clone();
    let mut alone = part.state(&sim.state);
    let mut work = part.robot.work();
    let mut worst = 0.0f64;
    for step in 0..steps {
        let report = sim.step().unwrap();
        assert!(!report.unfinished, "{step}: {report:?}");
        part.robot.step(RobotScheme::Implicit, &mut alone, sim.dt, &mut work).unwrap();
        for (a, b) in part.q(&sim.state).iter().zip(&alone.q) {
            worst = worst.max((a - b).abs());
        }
    }
    let joint = Quantity::parse(&sim.model, "joints.gap").unwrap().value(&sim.model, &sim.state);
    assert!(joint < 1e-7, "{joint}");
    worst
}

#[test]
fn an_arm_on_its_servos_moves_as_by_itself() {
    let text = "method = 'ipc'\nipc = { tolerance = 1e-7 }\ndt = 0.01\n\
        [[robot]]\nname = 'arm'\nfile = 'arm.xml'\nkeyframe = 'home'\n\
        controls = { joint1 = 1.2, joint2 = 0.1, joint3 = -0.7, joint4 = -0.5, joint6 = 0.4, grip = 0.01 }\n";
    let worst = apart(build(text), 500);
    assert!(worst < 1e-6, "{worst:e}");
}

#[test]
fn a_floating_robot_falls_and_kicks_as_by_itself() {
    let text = "method = 'ipc'\nipc = { tolerance = 1e-7 }\ndt = 0.01\n\
        [[robot]]\nname = 'dog'\nfile = 'quadruped.xml'\nposition = [0, 0, 20]\n\
        [[contact]]\nbetween = ['dog/world', '*']\nenabled = false\n";
    let worst = apart(build(text), 100);
    assert!(worst < 1e-6, "{worst:e}");
}

#[test]
fn an_arm_pushes_a_box_against_a_wall_and_nothing_intersects() {
    let text = std::fs::read_to_string(folder().join("../coupling_push.toml")).unwrap();
    let mut sim = build(&text.replace("robots/arm.xml", "arm.xml"));
    let part = sim.model.robots[0].clone();
    let mut pushed = 0.0f64;
    for step in 0..150 {
        let report = sim.step().unwrap();
        assert!(!report.unfinished, "{step}: {report:?}");
        let contact = sim.model.ipc.as_ref().unwrap();
        let mut x = Vec::new();
        contact.geometry.positions(&sim.state.q, &mut x);
        assert!(exact::intersections(&contact.geometry.surface, &x).is_empty(), "{step}");
        let done = sim.articulation("arm").unwrap();
        pushed = pushed.max(done.force[1].abs());
    }
    // The shoulder's servo pushes with up to 120 N·m; the wall carries it.
    assert!(pushed > 20.0, "{pushed}");
    let done = sim.articulation("arm").unwrap();
    let mut work = part.robot.work();
    part.robot.tree.kinematics(part.q(&sim.state), &mut work.tree);
    let mut tau = vec![0.0; part.robot.tree.freedoms()];
    for (k, (force, torque)) in done.wrenches.iter().enumerate() {
        let center = part.robot.tree.link_center(k, &work.tree);
        part.robot.tree.add_force_at(k, &center, force, torque, &work.tree, &mut tau);
    }
    let size = done.force.iter().fold(0.0f64, |m, f| m.max(f.abs()));
    for d in 0..7 {
        assert!((tau[d] - done.force[d]).abs() < 0.01 * size, "dof {d}: {tau:?} {:?}", done.force);
    }
}

#[test]
fn a_robot_with_loops_moves_as_by_itself() {
    let text = "method = 'ipc'\nipc = { tolerance = 1e-7 }\ndt = 0.005\n\
        [[robot]]\nname = 'delta'\nfile = 'delta.xml'\ncontrols = { arm1 = 0.5, arm2 = 0.1, arm3 = 0.3 }\n";
    let worst = apart(build(text), 100);
    assert!(worst < 1e-6, "{worst:e}");
}

#[test]
fn nothing_intersects_in_any_frame_of_the_other_robot_scenes() {
    for (scene, steps) in [("coupling_dog", 60), ("coupling_gripper", 60)] {
        let text = std::fs::read_to_string(folder().join(format!("../{scene}.toml"))).unwrap();
        let mut sim = build(&text.replace("robots/", ""));
        let mut most = 0;
        for step in 0..steps {
            let report = sim.step().unwrap();
            assert!(!report.unfinished, "{scene} {step}: {report:?}");
            let contact = sim.model.ipc.as_ref().unwrap();
            let mut x = Vec::new();
            contact.geometry.positions(&sim.state.q, &mut x);
            assert_eq!(contact.geometry.intersections(&x), Vec::<[&str; 2]>::new(), "{scene} {step}");
            most = most.max(report.contacts);
        }
        assert!(most > 0, "{scene}: nothing touched");
    }
}
