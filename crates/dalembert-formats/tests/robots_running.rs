//! Robots of others that run: loops stay closed, servos settle; `cargo xtask conformance` runs this.

use std::path::PathBuf;

use dalembert::joints::JointKind;
use dalembert::robot::{Robot, RobotReport, RobotScheme, RobotState};
use dalembert_formats::robot::{ReadOptions, read_robot};

fn robot(model: &str) -> Robot {
    let shared =
        PathBuf::from(std::env::var_os("DALEMBERT_SHARED").expect("DALEMBERT_SHARED names the shared data"));
    let (robot, _) = read_robot(shared.join("models").join(model), &ReadOptions::default()).unwrap();
    let robot = Robot::new(robot).unwrap_or_else(|e| panic!("{model}: {e}"));
    robot.notes.iter().for_each(|note| println!("{model}: {note}"));
    robot
}

/// Runs for some seconds, controls set by `drive`; returns the worst of the reports.
fn run(
    robot: &Robot,
    state: &mut RobotState,
    h: f64,
    seconds: f64,
    mut drive: impl FnMut(f64, &mut RobotState),
) -> RobotReport {
    let mut work = robot.work();
    let mut worst = RobotReport::default();
    for _ in 0..(seconds / h).round() as usize {
        drive(state.time, state);
        let report = robot.step(RobotScheme::Implicit, state, h, &mut work).unwrap();
        worst.gap = worst.gap.max(report.gap);
        worst.residual = worst.residual.max(report.residual);
        worst.iterations = worst.iterations.max(report.iterations);
        worst.rows = worst.rows.max(report.rows);
        worst.unfinished |= report.unfinished;
    }
    worst
}

#[test]
fn the_gripper_closes_and_opens_with_its_loops_held() {
    let robot = robot("robotiq_2f85/2f85.xml");
    let mut state = robot.start();
    let mut widest = 0.0f64;
    let driver = robot.joint("right_driver_joint").unwrap().q.start;
    let worst = run(&robot, &mut state, robot.description.options.timestep, 5.0, |t, state| {
        state.control[0] = if t < 2.5 { 255.0 } else { 0.0 };
        widest = widest.max(state.q[driver]);
    });
    println!(
        "robotiq 2f85, 5 s: {worst:?}, driver from 0 to {widest:.3} and back to {:.4} rad",
        state.q[driver]
    );
    assert!(worst.gap < 1e-4 && worst.residual < 1e-6, "{worst:?}");
    assert!(widest > 0.6 && state.q[driver] < 0.05, "{widest} {}", state.q[driver]);
}

#[test]
fn cassie_falls_with_its_loops_held() {
    let robot = robot("agility_cassie/cassie.xml");
    let mut state = robot.start();
    let gap = robot.assemble(&mut state, &mut robot.work());
    assert!(gap < 1e-9, "the keyframe cannot be closed: {gap:e}");
    let worst = run(&robot, &mut state, robot.description.options.timestep, 5.0, |t, state| {
        // Motors swing the legs while it falls.
        for (k, u) in state.control.iter_mut().enumerate() {
            *u = 0.2 * (2.0 * t + k as f64).sin();
        }
    });
    println!("cassie, 5 s: {worst:?}");
    assert!(worst.gap < 1e-4 && worst.residual < 1e-6, "{worst:?}");
}

fn settle(model: &str, free: bool, seconds: f64) {
    let robot = robot(model);
    let mut state = robot.start();
    let tree = &robot.tree;
    let base = if free { 6 } else { 0 };
    // In the air: a floating base is held, since nothing touches anything here.
    let mut held = robot.description.clone();
    if free {
        let root = held.bodies.iter_mut().find(|body| body.joints.len() == 1 && body.parent.0 == 0).unwrap();
        root.joints[0].kind = JointKind::Fixed;
    }
    let fixed = if free { Robot::new(held).unwrap() } else { robot.clone() };
    let mut own = fixed.blank();
    own.q.copy_from_slice(&state.q[if free { 7 } else { 0 }..]);
    own.control.copy_from_slice(&state.control);
    state = own;
    assert_eq!(state.v.len(), tree.freedoms() - base);
    let worst = run(&fixed, &mut state, robot.description.options.timestep, seconds, |_, _| {});
    let speed = state.v.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    println!("{model}, {seconds} s under its servos: {worst:?}, largest speed {speed:.1e}");
    assert!(speed < 1e-4, "{model} still moves by {speed}");
    // Servos of single joints stand where they were told, but for what the weight takes.
    let mut furthest = 0.0f64;
    for (k, actuator) in fixed.description.actuators.iter().enumerate() {
        if let dalembert::bodies::articulated::description::Transmission::Joint(joint) = actuator.transmission
        {
            let q = state.q[fixed.joint_place(joint).unwrap().q.start];
            furthest = furthest.max((q - state.control[k]).abs());
        }
    }
    println!("{model}: furthest from its target {furthest:.3} rad");
    assert!(furthest < 0.2, "{model}: {furthest}");
}

#[test]
fn the_shadow_hand_settles_under_its_servos() {
    settle("shadow_hand/right_hand.xml", false, 5.0);
}

#[test]
fn the_g1_settles_under_its_servos() {
    settle("unitree_g1/g1.xml", true, 5.0);
}
