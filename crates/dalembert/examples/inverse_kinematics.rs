//! An arm of six hinges reaches for a point and an orientation.
//!
//! It teaches: a robot built in Rust, Jacobians by name, and damped least squares on the manifold of its coordinates.
//! Run it with `cargo run -p dalembert --example inverse_kinematics`.
#![allow(non_snake_case)]

use dalembert::bodies::articulated::description::{
    Inertial, RobotBody, RobotBodyId, RobotDescription, RobotJoint,
};
use dalembert::joints::JointKind;
use dalembert::math::rotation::{exp, from_matrix, log, matrix, renormalise};
use dalembert::math::{Mat3, Pose, Vec3};
use dalembert::robot::{LinkFrame, Robot};
use nalgebra::{DMatrix, DVector};

fn arm() -> RobotDescription {
    let mut robot = RobotDescription::new("arm");
    let axes = [Vec3::z(), Vec3::y(), Vec3::y(), Vec3::z(), Vec3::y(), Vec3::z()];
    for (i, axis) in axes.into_iter().enumerate() {
        let mut body = RobotBody::new(format!("link{}", i + 1), RobotBodyId(i));
        body.pose = Pose::at(Vec3::new(0.0, 0.0, 0.25));
        body.inertial =
            Inertial { mass: 2.0, center: Vec3::new(0.0, 0.0, 0.12), inertia: 0.01 * Mat3::identity() };
        body.joints.push(RobotJoint { axis, ..RobotJoint::new(format!("joint{}", i + 1), JointKind::Hinge) });
        robot.bodies.push(body);
    }
    robot
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let robot = Robot::new(arm())?;
    let (tree, mut work) = (&robot.tree, robot.work());
    let n = tree.freedoms();
    // The tool: 0.2 m in front of the last link.
    let tool = LinkFrame { link: robot.link("link6"), pose: Pose::at(Vec3::new(0.0, 0.0, 0.2)) };
    let goal = Pose::new(Vec3::new(0.5, 0.3, 0.7), exp(&Vec3::new(0.2, 1.9, 0.3)));

    let mut q = vec![0.3, 0.4, 0.5, 0.2, 0.3, 0.1];
    let (mut linear, mut angular) = (vec![0.0; 3 * n], vec![0.0; 3 * n]);
    let mut left = f64::INFINITY;
    for iteration in 0..100 {
        robot.jacobian(&q, &tool, &mut work, &mut linear, &mut angular);
        let at = robot.position(&tool, &work.tree);
        let R: Mat3 = robot.rotation(&tool, &work.tree);
        // What is missing, as a velocity over one second: world axes.
        let turn = R * log(&renormalise(&from_matrix(&(R.transpose() * matrix(&goal.rotation)))));
        let missing = DVector::from_iterator(6, (goal.position - at).iter().chain(turn.iter()).copied());
        left = missing.norm();
        println!("{iteration:3}: {left:.2e} m and rad to go");
        if left < 1e-12 {
            break;
        }
        // Δq = Jᵀ(J Jᵀ + μ² I)⁻¹ e: the damping μ shrinks with the error.
        let J = DMatrix::from_row_iterator(6, n, linear.iter().chain(&angular).copied());
        let damped = &J * J.transpose() + DMatrix::identity(6, 6) * (1e-3 * left * left);
        let y = damped.cholesky().ok_or("the damped system is positive definite")?.solve(&missing);
        let step = J.transpose() * y;
        let shorter = (0.5 / step.amax()).min(1.0);
        tree.integrate(&mut q, step.as_slice(), shorter);
    }
    assert!(left < 1e-12, "the arm did not arrive: {left:e}");

    // The forces that hold it there.
    let mut tau = vec![0.0; n];
    robot.inverse_dynamics(&q, &vec![0.0; n], &vec![0.0; n], &mut work, &mut tau);
    for (joint, (q, tau)) in robot.description.joints().map(|(_, j)| &j.name).zip(q.iter().zip(&tau)) {
        println!("{joint}: {q:+.4} rad, held by {tau:+.3} N·m");
    }
    Ok(())
}
