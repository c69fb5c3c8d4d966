//! A warm step of a robot takes no memory. Alone in its file, so that nothing else counts.

mod counting;

use std::sync::atomic::Ordering;

use dalembert::bodies::articulated::description::{
    ContactSoftness, Equality, EqualityKind, Inertial, RobotBody, RobotBodyId, RobotDescription, RobotJoint,
    RobotJointId,
};
use dalembert::bodies::articulated::{
    ForwardDynamics, Joint, Link, Scheme, Tree, TreeBatch, TreeSquareMatrix, TreeWork,
};
use dalembert::joints::JointKind;
use dalembert::math::{Mat3, Pose, Vec3};
use dalembert::robot::{Robot, RobotScheme};

use counting::CALLS;

/// A floating body with a hinge, a ball and a slide behind each other, springs, dampers and gravity compensation.
fn robot() -> Tree {
    let kinds = [JointKind::Free, JointKind::Hinge, JointKind::Ball, JointKind::Slider, JointKind::Hinge];
    let links: Vec<Link> = (0..kinds.len())
        .map(|i| Link {
            parent: i.checked_sub(1),
            placement: Pose::at(Vec3::new(0.1, 0.0, 0.3)),
            mass: 1.0,
            inertia: 0.01 * Mat3::identity(),
            joints: vec![Joint { stiffness: 1.0, damping: 0.1, ..Joint::new("joint", kinds[i], Vec3::y()) }],
            gravity_compensation: 0.5,
            ..Link::default()
        })
        .collect();
    Tree::new(&links, Vec3::new(0.0, 0.0, -9.81)).unwrap()
}

#[test]
fn a_warm_tree_and_a_warm_robot_take_no_memory() {
    let mut tree = robot();
    let mut work = TreeWork::new(&tree);
    let n = tree.freedoms();
    let (mut q, mut v) = (tree.neutral().to_vec(), vec![0.1; n]);
    let (mut by_q, mut by_v) = (TreeSquareMatrix::default(), TreeSquareMatrix::default());
    let (mut dense_q, mut dense_v, mut inverse) = (vec![0.0; n * n], vec![0.0; n * n], vec![0.0; n * n]);
    let rate = vec![0.2; n];
    let gains = vec![1.0; n];
    let mut everything = |tree: &Tree| {
        let implicit = Scheme::ImplicitDamping { damping: &gains, stiffness: &gains };
        for scheme in [
            Scheme::SemiImplicitEuler,
            implicit,
            Scheme::RungeKutta4,
            Scheme::PlainRungeKutta4,
            Scheme::Midpoint,
        ] {
            tree.step(scheme, &mut q, &mut v, 1e-3, &mut work, |_, _, tau| tau[7] += 0.1);
        }
        tree.inverse_dynamics_derivatives(&v, &rate, &mut work, &mut by_q, &mut by_v);
        tree.forward_dynamics_derivatives(&v, &rate, &mut work, &mut dense_q, &mut dense_v, &mut inverse);
    };
    for warm in [false, true] {
        let before = CALLS.load(Ordering::Relaxed);
        for forward in [ForwardDynamics::Articulated, ForwardDynamics::Factored] {
            tree.forward = forward;
            everything(&tree);
        }
        assert!(!warm || CALLS.load(Ordering::Relaxed) == before);
    }
    // A batch hands its work to other threads, which may take a little memory per call, but none per step.
    let mut batch = TreeBatch::new(&tree, 40);
    let mut count = |steps: usize| {
        let before = CALLS.load(Ordering::Relaxed);
        batch.step(&tree, Scheme::SemiImplicitEuler, 1e-3, steps, |_, _, _, _| {});
        CALLS.load(Ordering::Relaxed) - before
    };
    count(1);
    assert!(count(1000) < 100);
    warm_robot();
}

/// Two rods in a loop with the world, a servo, dry friction and a limit.
fn looped_robot() -> Robot {
    let mut robot = RobotDescription::new("loop");
    for i in 0..3 {
        let mut body = RobotBody::new(format!("rod{i}"), RobotBodyId(i));
        body.pose = Pose::at(Vec3::new(if i == 0 { 0.0 } else { 1.0 }, 0.0, 0.0));
        body.inertial = Inertial { mass: 1.0, center: 0.5 * Vec3::x(), inertia: 0.1 * Mat3::identity() };
        body.joints.push(RobotJoint {
            axis: Vec3::y(),
            friction_loss: 0.1,
            limits: Some([-0.5, 0.5]),
            ..RobotJoint::new(format!("hinge{i}"), JointKind::Hinge)
        });
        robot.bodies.push(body);
    }
    robot.equalities.push(Equality {
        name: "end".into(),
        kind: EqualityKind::Joints {
            joint: RobotJointId(2),
            other: Some(RobotJointId(0)),
            polynomial: [0.0, 1.0, 0.0, 0.0, 0.0],
        },
        active: true,
        softness: ContactSoftness::default(),
    });
    Robot::new(robot).unwrap()
}

fn warm_robot() {
    let robot = looped_robot();
    let (mut state, mut work) = (robot.start(), robot.work());
    let mut everything = |count: usize| {
        for _ in 0..count {
            for scheme in [
                RobotScheme::Implicit,
                RobotScheme::SemiImplicit,
                RobotScheme::RungeKutta4,
                RobotScheme::Midpoint,
            ] {
                robot.step(scheme, &mut state, 1e-3, &mut work).unwrap();
            }
        }
    };
    // Long enough for all limits to have been met.
    everything(500);
    let before = CALLS.load(Ordering::Relaxed);
    everything(50);
    assert_eq!(CALLS.load(Ordering::Relaxed), before);
}
