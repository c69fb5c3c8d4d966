//! The robots of `scenes/robots`: what they are made of, and that nothing about them is said in vain.

use std::path::{Path, PathBuf};

use dalembert::bodies::articulated::description::RobotDescription;
use dalembert::joints::JointKind;
use dalembert_formats::robot::{ReadOptions, read_robot};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes/robots")
}

fn read(name: &str) -> RobotDescription {
    let strict = ReadOptions { strict: true, ..ReadOptions::default() };
    let (robot, warnings) =
        read_robot(folder().join(name), &strict).unwrap_or_else(|error| panic!("{error}"));
    assert!(warnings.is_empty(), "{}", warnings[0]);
    robot
}

const ALL: [&str; 6] = ["arm.xml", "arm.urdf", "quadruped.xml", "humanoid.xml", "hand.xml", "delta.xml"];

#[test]
fn our_robots_have_the_freedoms_and_masses_they_claim() {
    for (name, freedoms, actuators, mass) in [
        ("arm.xml", 9, 8, 18.5),
        ("arm.urdf", 9, 0, 18.5),
        ("quadruped.xml", 18, 12, 14.6),
        ("humanoid.xml", 27, 21, 56.3),
        ("hand.xml", 16, 13, 0.4),
        ("delta.xml", 27, 3, 0.66),
    ] {
        let robot = read(name);
        assert_eq!((robot.velocity_count(), robot.actuators.len()), (freedoms, actuators), "{name}");
        assert!((robot.total_mass() - mass).abs() < 0.06, "{name}: {} kg", robot.total_mass());
    }
}

#[test]
fn every_moving_body_of_ours_has_a_possible_inertia() {
    for name in ALL {
        for body in &read(name).bodies[1..] {
            if let Err(error) = body.inertial.mass_properties() {
                panic!("{name}: {}: {error}", body.name);
            }
        }
    }
}

#[test]
fn keyframes_of_ours_lie_within_limits() {
    for name in ALL {
        let robot = read(name);
        for key in &robot.keyframes {
            let mut at = 0;
            for (_, joint) in robot.joints() {
                if let (Some([low, high]), false) = (joint.limits, key.positions.is_empty()) {
                    let q = key.positions[at];
                    assert!((low..=high).contains(&q), "{name}: {}: {} at {q}", key.name, joint.name);
                }
                at += joint.kind.position_count();
            }
            for (actuator, control) in robot.actuators.iter().zip(&key.controls) {
                let [low, high] = actuator.control_range.unwrap();
                assert!((low..=high).contains(control), "{name}: {}: {}", key.name, actuator.name);
            }
        }
        assert!(!robot.keyframes.is_empty() || name == "arm.urdf", "{name}");
    }
}

#[test]
fn the_arm_is_the_same_in_both_languages() {
    let (a, b) = (read("arm.xml"), read("arm.urdf"));
    assert_eq!(a.bodies.len(), b.bodies.len());
    for (a, b) in a.bodies.iter().zip(&b.bodies).skip(1) {
        assert_eq!((&a.name, a.parent, a.inertial), (&b.name, b.parent, b.inertial));
        assert!((a.pose.position - b.pose.position).norm() < 1e-15, "{}", a.name);
        assert!(a.pose.rotation.angle_to(&b.pose.rotation) < 1e-15, "{}", a.name);
        assert_eq!(a.joints.len(), b.joints.len());
        for (a, b) in a.joints.iter().zip(&b.joints) {
            assert_eq!((&a.name, a.kind, a.axis, a.limits), (&b.name, b.kind, b.axis, b.limits));
            assert_eq!((a.damping, a.friction_loss), (b.damping, b.friction_loss));
        }
        // Both show what they touch; a URDF says it twice.
        let solid = b.geoms.iter().filter(|geom| !geom.is_visual());
        assert!(a.geoms.iter().map(|geom| &geom.shape).eq(solid.map(|geom| &geom.shape)), "{}", a.name);
    }
    assert_eq!(b.mimics.len(), 1);
}

#[test]
fn only_the_delta_has_loops() {
    let robot = read("delta.xml");
    assert_eq!(robot.equalities.len(), 6);
    let balls = robot.joints().filter(|(_, joint)| joint.kind == JointKind::Ball).count();
    assert_eq!(balls, 6);
}
