//! A robot with springs, dampers, servos, tendons and a spinning body, under each of MuJoCo's integrators.
//!
//! `data/integrators.json` holds where MuJoCo has the robot of `data/integrators.xml` after 250 steps; it is made by
//! `benches/peers/articulated/make_integrators.py`.

use std::path::Path;

use dalembert::bodies::articulated::description::RobotIntegrator;
use dalembert::robot::{Robot, RobotScheme, RobotState};
use dalembert_formats::robot::{ReadOptions, read_robot_text};
use dalembert_formats::scene::scene_around;
use dalembert_formats::source::Includes;
use serde_json::Value;

const ROBOT: &str = include_str!("data/integrators.xml");
const FOUND: &str = include_str!("data/integrators.json");

fn robot(text: String) -> Robot {
    let (robot, _) =
        read_robot_text("integrators.xml", text, Includes::None, &ReadOptions::default()).unwrap();
    Robot::new(robot).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// Largest distance of the state after 250 steps from that of MuJoCo.
fn distance(name: &str, own: RobotIntegrator) -> f64 {
    let found: Value = serde_json::from_str(FOUND).unwrap();
    let text = match name {
        "implicit" => ROBOT.replace("stiffness=\"3\" damping=\"0.2\"", "stiffness=\"3\""),
        _ => ROBOT.to_owned(),
    };
    let mut robot = robot(text);
    robot.integrator = own;
    let mut state = robot.start();
    state.v.fill(found["qvel"].as_f64().unwrap());
    let end = state.v.len() - 3;
    state.v[end..].copy_from_slice(&[2.0, 5.0, -3.0]);
    state.control.copy_from_slice(&numbers(&found["ctrl"]));
    let mut work = robot.work();
    for _ in 0..found["steps"].as_u64().unwrap() {
        robot.step(RobotScheme::Implicit, &mut state, 0.002, &mut work).unwrap();
    }
    apart(&state, &found[name])
}

fn apart(state: &RobotState, found: &Value) -> f64 {
    let far = |a: &[f64], b: Vec<f64>| {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b).fold(0.0f64, |worst, (a, b)| worst.max((a - b).abs()))
    };
    far(&state.q, numbers(&found["qpos"])).max(far(&state.v, numbers(&found["qvel"])))
}

#[test]
fn the_medium_slows_links_down() {
    let found: Value = serde_json::from_str(FOUND).unwrap();
    let run = |text: &str| {
        let mut robot = robot(text.to_owned());
        robot.integrator = RobotIntegrator::Euler;
        let mut state = robot.start();
        state.v.fill(found["qvel"].as_f64().unwrap());
        let mut work = robot.work();
        for _ in 0..found["steps"].as_u64().unwrap() {
            robot.step(RobotScheme::Implicit, &mut state, 0.002, &mut work).unwrap();
        }
        apart(&state, &found["fluid"])
    };
    let fluid = include_str!("data/fluid.xml");
    assert!(run(fluid) < 1e-12, "{:.2e}", run(fluid));
    assert!(run(&fluid.replace("wind=\"1 -2 0.5\"", "")) > 1e-3);
}

#[test]
fn every_integrator_means_what_its_name_means_elsewhere() {
    for (name, integrator) in RobotIntegrator::STEPPED {
        let far = distance(name, integrator);
        assert!(far < 1e-12, "{name}: {far:.2e}");
    }
    // They differ, so that a wrong choice would be seen.
    assert!(distance("euler", RobotIntegrator::Discrete) > 1e-4);
    assert!(distance("implicitfast", RobotIntegrator::Discrete) > 1e-4);
}

#[test]
fn a_file_that_runs_by_itself_brings_its_integrator() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/integrators.xml");
    let scene = scene_around(&path).unwrap();
    assert!(scene.contains("integrator = \"euler\""), "{scene}");
}
