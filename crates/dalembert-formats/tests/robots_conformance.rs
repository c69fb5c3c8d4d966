//! Robots of others, read in place, against what two other engines compute; `cargo xtask conformance` runs this.
//!
//! Kinematics and the mass matrix are computed here in the plainest way, from the description alone: poses joint by
//! joint, then $M = \sum_b J_b^T\,\mathrm{diag}(m_b, I_b)\,J_b$ plus armature.
#![allow(non_snake_case)]

use std::fs;
use std::path::{Path, PathBuf};

use dalembert::bodies::articulated::description::RobotDescription;
use dalembert::joints::JointKind;
use dalembert::math::rotation::{exp, matrix, quaternion};
use dalembert::math::{Pose, Vec3};
use dalembert_formats::robot::{ReadOptions, read_robot};
use serde_json::Value;

fn shared() -> PathBuf {
    PathBuf::from(std::env::var_os("DALEMBERT_SHARED").expect("DALEMBERT_SHARED names the shared data"))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// How a freedom moves the bodies behind it: v + w × (x − at).
struct Column {
    w: Vec3,
    v: Vec3,
    at: Vec3,
}

/// Poses of all bodies, the columns of all freedoms, and the freedoms before each body.
fn kinematics(robot: &RobotDescription, q: &[f64]) -> (Vec<Pose>, Vec<Column>, Vec<Vec<usize>>) {
    let (mut poses, mut columns, mut chains) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = 0;
    for (i, body) in robot.bodies.iter().enumerate() {
        let mut chain: Vec<usize> = if i == 0 { Vec::new() } else { Vec::clone(&chains[body.parent.0]) };
        let mut pose = if i == 0 { Pose::identity() } else { Pose::then(&poses[body.parent.0], &body.pose) };
        for joint in &body.joints {
            let axis = pose.rotation * joint.axis;
            let anchor = pose.point(&joint.anchor);
            let zero = Vec3::zeros();
            let mut add = |w, v, at| {
                chain.push(columns.len());
                columns.push(Column { w, v, at });
            };
            match joint.kind {
                JointKind::Free => {
                    pose = Pose::new(Vec3::new(q[at], q[at + 1], q[at + 2]), quaternion(q, at + 3));
                    (0..3).for_each(|k| add(zero, Vec3::ith(k, 1.0), zero));
                    (0..3).for_each(|k| add(pose.rotation * Vec3::ith(k, 1.0), zero, pose.position));
                }
                JointKind::Ball => {
                    pose.rotation *= quaternion(q, at);
                    pose.position = anchor - pose.rotation * joint.anchor;
                    (0..3).for_each(|k| add(pose.rotation * Vec3::ith(k, 1.0), zero, anchor));
                }
                JointKind::Hinge => {
                    pose.rotation *= exp(&(joint.axis * (q[at] - joint.reference)));
                    pose.position = anchor - pose.rotation * joint.anchor;
                    add(axis, zero, anchor);
                }
                JointKind::Slider => {
                    pose.position += axis * (q[at] - joint.reference);
                    add(zero, axis, zero);
                }
                other => panic!("{other:?} has no reference here"),
            }
            at += joint.kind.position_count();
        }
        poses.push(pose);
        chains.push(chain);
    }
    (poses, columns, chains)
}

fn armature(robot: &RobotDescription) -> Vec<f64> {
    robot.joints().flat_map(|(_, joint)| vec![joint.armature; joint.kind.velocity_count()]).collect()
}

/// The largest difference over the largest entry.
fn relative(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let size = b.iter().fold(1e-9f64, |m, x| m.max(x.abs()));
    a.iter().zip(b).fold(0.0f64, |m, (x, y)| m.max((x - y).abs())) / size
}

/// The same rotation has two quaternions.
fn quaternion_difference(a: &[f64], b: &[f64]) -> f64 {
    let sign = if a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>() < 0.0 { -1.0 } else { 1.0 };
    a.iter().zip(b).fold(0.0f64, |m, (x, y)| m.max((x - sign * y).abs()))
}

/// Names where a reference says nothing but a number.
fn assert_names<'a>(names: impl Iterator<Item = &'a str>, wanted: &Value, what: &str, model: &str) {
    let wanted: Vec<&str> =
        wanted.as_array().unwrap().iter().map(|x| x.as_str().unwrap_or_default()).collect();
    let names: Vec<&str> = names.collect();
    assert_eq!(names.len(), wanted.len(), "{model}: {what}");
    for (i, (name, wanted)) in names.iter().zip(&wanted).enumerate() {
        let counted = name.is_empty() && *wanted == format!("{what}{i}");
        assert!(name == wanted || counted, "{model}: {what} {i} is {name:?}, wanted {wanted:?}");
    }
}

fn read(path: &Path) -> (RobotDescription, usize) {
    let (robot, warnings) =
        read_robot(path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    (robot, warnings.len())
}

/// Largest differences of places, turns, centre of mass and mass matrix over all states.
fn worst_of_states(robot: &RobotDescription, states: &Value) -> [f64; 4] {
    let (mut pos, mut quat, mut com, mut matrix_error) = (0.0f64, 0.0f64, 0.0f64, 0.0f64);
    for state in states.as_array().unwrap() {
        let (q, v) = (numbers(&state["qpos"]), numbers(&state["qvel"]));
        let (poses, columns, chains) = kinematics(robot, &q);
        if let (Some(x), Some(r)) = (state["xpos"].as_array(), state["xquat"].as_array()) {
            for (pose, (x, r)) in poses.iter().zip(x.iter().zip(r)) {
                pos = pos.max((pose.position - Vec3::from_column_slice(&numbers(x))).amax());
                let R = pose.rotation;
                quat = quat.max(quaternion_difference(&[R.w, R.i, R.j, R.k], &numbers(r)));
            }
        }
        let n = columns.len();
        let dense = state["M"].is_array();
        let mut M = vec![0.0; if dense { n * n } else { 0 }];
        let mut Mv: Vec<f64> = armature(robot).iter().zip(&v).map(|(a, v)| a * v).collect();
        let mut center = Vec3::zeros();
        for ((body, pose), chain) in robot.bodies.iter().zip(&poses).zip(&chains) {
            let m = body.inertial.mass;
            let R = matrix(&pose.rotation);
            let I = R * body.inertial.inertia * R.transpose();
            let c = pose.point(&body.inertial.center);
            center += m * c;
            // Each freedom's velocity of the centre, and its turn.
            let J: Vec<(Vec3, Vec3)> =
                chain.iter().map(|&j| &columns[j]).map(|j| (j.v + j.w.cross(&(c - j.at)), j.w)).collect();
            let mut total = (Vec3::zeros(), Vec3::zeros());
            for (j, &index) in J.iter().zip(chain) {
                total.0 += j.0 * v[index];
                total.1 += j.1 * v[index];
            }
            for (a, &i) in J.iter().zip(chain) {
                Mv[i] += m * a.0.dot(&total.0) + a.1.dot(&(I * total.1));
                if dense {
                    for (b, &k) in J.iter().zip(chain) {
                        M[i * n + k] += m * a.0.dot(&b.0) + a.1.dot(&(I * b.1));
                    }
                }
            }
        }
        com = com.max(relative((center / robot.total_mass()).as_slice(), &numbers(&state["com"])));
        matrix_error = matrix_error.max(relative(&Mv, &numbers(&state["Mv"])));
        if dense {
            armature(robot).iter().enumerate().for_each(|(i, a)| M[i * n + i] += a);
            let wanted: Vec<f64> = state["M"].as_array().unwrap().iter().flat_map(numbers).collect();
            matrix_error = matrix_error.max(relative(&M, &wanted));
        }
    }
    [pos, quat, com, matrix_error]
}

#[test]
fn robots_are_read_as_mujoco_and_pinocchio_read_them() {
    let shared = shared();
    let mut files: Vec<PathBuf> =
        fs::read_dir(shared.join("references")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    files.sort();
    assert!(files.len() > 20);
    println!(
        "{:45} {:>5} {:>5} {:>5} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "model", "body", "nv", "warn", "mass", "inertia", "pos", "quat", "com", "M"
    );
    let mut worst = 0.0f64;
    for file in files {
        let reference: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let model = reference["model"].as_str().unwrap();
        let (robot, warnings) = read(&shared.join("models").join(model));
        assert_eq!(reference["convention"], "mujoco");
        assert_names(robot.bodies.iter().map(|b| b.name.as_str()), &reference["body_names"], "body", model);
        assert_names(robot.joints().map(|(_, j)| j.name.as_str()), &reference["joint_names"], "joint", model);
        let parents: Vec<f64> = robot.bodies.iter().map(|body| body.parent.0 as f64).collect();
        assert_eq!(parents, numbers(&reference["body_parent"]), "{model}");
        let kinds: Vec<&str> = robot
            .joints()
            .map(|(_, joint)| match joint.kind {
                JointKind::Free => "free",
                JointKind::Ball => "ball",
                JointKind::Hinge => "hinge",
                JointKind::Slider => "slide",
                _ => "other",
            })
            .collect();
        let wanted: Vec<&str> =
            reference["joint_type"].as_array().unwrap().iter().map(|kind| kind.as_str().unwrap()).collect();
        assert_eq!(kinds, wanted, "{model}");
        let (mut positions, mut freedoms) = (vec![0.0], vec![0.0]);
        for (_, joint) in robot.joints() {
            positions.push(positions[positions.len() - 1] + joint.kind.position_count() as f64);
            freedoms.push(freedoms[freedoms.len() - 1] + joint.kind.velocity_count() as f64);
        }
        assert_eq!(positions.pop(), reference["nq"].as_f64());
        assert_eq!(freedoms.pop(), reference["nv"].as_f64());
        assert_eq!(positions, numbers(&reference["joint_qposadr"]));
        assert_eq!(freedoms, numbers(&reference["joint_dofadr"]));
        let rest = relative(&robot.reference_configuration(), &numbers(&reference["qpos0"]));
        assert_eq!(armature(&robot), numbers(&reference["armature"]), "{model}");
        assert_eq!(robot.options.gravity.as_slice(), numbers(&reference["gravity"]));

        let masses: Vec<f64> = robot.bodies.iter().map(|body| body.inertial.mass).collect();
        let mass = relative(&masses, &numbers(&reference["body_mass"]));
        let mut inertia = rest;
        for (i, body) in robot.bodies.iter().enumerate().skip(1) {
            let R = matrix(&quaternion(&numbers(&reference["body_iquat"][i]), 0));
            let moments = Vec3::from_column_slice(&numbers(&reference["body_inertia"][i]));
            let wanted = R * nalgebra::Matrix3::from_diagonal(&moments) * R.transpose();
            // The other engine turns inertias into principal axes, of each mesh and then of the body, and its
            // iteration stops on an absolute scale of about 1e-12 kg·m².
            let difference = ((body.inertial.inertia - wanted).norm() - 4e-12).max(0.0);
            inertia = inertia.max(difference / wanted.norm().max(1e-12));
            let center = Vec3::from_column_slice(&numbers(&reference["body_ipos"][i]));
            if body.inertial.mass > 0.0 {
                inertia = inertia.max((body.inertial.center - center).norm());
            }
        }

        let [pos, quat, com, matrix_error] = worst_of_states(&robot, &reference["states"]);
        println!(
            "{model:45} {:>5} {:>5} {warnings:>5} {mass:>8.0e} {inertia:>8.0e} {pos:>8.0e} {quat:>8.0e} {com:>8.0e} \
             {matrix_error:>8.0e}",
            robot.bodies.len(),
            robot.velocity_count()
        );
        worst = worst.max(mass).max(inertia).max(pos).max(quat).max(com).max(matrix_error);
    }
    assert!(worst < 1e-10, "worst relative difference {worst:e}");
}

#[test]
fn every_shared_model_is_read() {
    let mut count = 0;
    for folder in fs::read_dir(shared().join("models")).unwrap() {
        let folder = folder.unwrap().path();
        let Ok(files) = fs::read_dir(&folder) else { continue };
        for file in files {
            let path = file.unwrap().path();
            if !path.extension().is_some_and(|end| end == "xml" || end == "urdf") {
                continue;
            }
            let (robot, warnings) =
                read_robot(&path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
            for warning in &warnings {
                assert!(warning.place.is_some(), "{warning}");
                println!("{warning}");
            }
            let flex = path.to_string_lossy().contains("mujoco_flex");
            assert!(robot.bodies.len() > 1 || flex, "{}", path.display());
            count += 1;
        }
    }
    assert!(count > 25, "{count}");
}
