//! Robots of others through our kernels, against what two other engines compute; `cargo xtask conformance` runs this.
//!
//! Read by [`read_robot`], made into a tree by [`RobotDescription::tree`]; then M, bias, forward and inverse dynamics, poses and
//! energies in the stored states, the swing of a chain over ten seconds, and the energy it keeps.
#![allow(non_snake_case)]

use std::fs;
use std::path::{Path, PathBuf};

use dalembert::bodies::articulated::description::RobotDescription;
use dalembert::bodies::articulated::{ForwardDynamics, Scheme, Tree, TreeWork};
use dalembert::math::Vec3;
use dalembert_formats::robot::{ReadOptions, read_robot};
use serde_json::Value;

fn shared() -> PathBuf {
    PathBuf::from(std::env::var_os("DALEMBERT_SHARED").expect("DALEMBERT_SHARED names the shared data"))
}

fn read_json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

/// Largest difference, relative to the largest number wanted.
fn relative(found: &[f64], wanted: &[f64]) -> f64 {
    assert_eq!(found.len(), wanted.len());
    let scale = wanted.iter().fold(f64::MIN_POSITIVE, |s, x| s.max(x.abs()));
    found.iter().zip(wanted).fold(0.0, |worst: f64, (x, y)| worst.max((x - y).abs())) / scale
}

/// Bodies of the description that the references call passive off: no spring, damper, friction or lift.
fn bare(mut robot: RobotDescription) -> RobotDescription {
    for body in &mut robot.bodies {
        body.gravity_compensation = 0.0;
        for joint in &mut body.joints {
            (joint.stiffness, joint.damping, joint.friction_loss) = (0.0, 0.0, 0.0);
        }
    }
    robot
}

/// Worst errors of one model.
#[derive(Default)]
struct Errors {
    M: f64,
    bias: f64,
    qacc: f64,
    tau: f64,
    poses: f64,
    energies: f64,
}

fn compare(tree: &mut Tree, state: &Value) -> Errors {
    let get = |key: &str| numbers(&state[key]);
    let (q, v, tau) = (get("qpos"), get("qvel"), get("tau"));
    let n = tree.freedoms();
    let (mut work, mut y, mut e) = (TreeWork::new(tree), vec![0.0; n], Errors::default());
    tree.kinematics(&q, &mut work);
    tree.velocities(&v, &mut work);
    if let (Some(x), Some(r)) = (state["xpos"].as_array(), state["xquat"].as_array()) {
        for i in 0..tree.link_count() {
            let pose = tree.link_pose(i, &work);
            let wanted = Vec3::from_column_slice(&numbers(&x[i + 1]));
            e.poses = e.poses.max((pose.position - wanted).amax());
            let (R, w) = (pose.rotation, numbers(&r[i + 1]));
            let dot = R.w * w[0] + R.i * w[1] + R.j * w[2] + R.k * w[3];
            let sign = dot.signum();
            for (a, b) in [R.w, R.i, R.j, R.k].iter().zip(&w) {
                e.poses = e.poses.max((a - sign * b).abs());
            }
        }
    }
    e.poses = e.poses.max(relative(tree.center_of_mass(&work).as_slice(), &get("com")));
    e.energies = relative(&[tree.kinetic_energy(&v, &work)], &get("E_kin"));
    // Zero of the potential energy is arbitrary: the scale is the weight over a metre where that is larger.
    let wanted = get("E_pot")[0];
    let scale = wanted.abs().max(tree.total_mass() * tree.gravity.norm()).max(f64::MIN_POSITIVE);
    e.energies = e.energies.max((tree.gravity_energy(&work) - wanted).abs() / scale);
    tree.mass_times(&v, &mut work, &mut y);
    e.M = relative(&y, &get("Mv"));
    if state["M"].is_array() {
        let mut M = vec![0.0; n * n];
        tree.mass_matrix(&mut work).to_dense(tree, &mut M);
        e.M = e.M.max(relative(&M, &get("M")));
    }
    tree.bias(&v, &mut work, &mut y);
    e.bias = relative(&y, &get("bias"));
    let wanted = get("qacc");
    for forward in [ForwardDynamics::Articulated, ForwardDynamics::Factored] {
        tree.forward = forward;
        tree.forward_dynamics(&q, &v, &tau, &[], &mut work, &mut y);
        e.qacc = e.qacc.max(relative(&y, &wanted));
    }
    // Inverse dynamics sums M q̈ and the bias, which may be far larger than the forces that are left.
    tree.kinematics(&q, &mut work);
    tree.inverse_dynamics(&v, Some(&wanted), &[], &mut work, &mut y);
    let size = get("bias").iter().chain(&tau).fold(0.0f64, |m, x| m.max(x.abs()));
    let mut accelerating = vec![0.0; n];
    tree.mass_times(&wanted, &mut work, &mut accelerating);
    let size = accelerating.iter().fold(size, |m, x| m.max(x.abs()));
    e.tau = y.iter().zip(&tau).fold(0.0f64, |m, (x, y)| m.max((x - y).abs())) / size;
    e
}

#[test]
fn every_reference_has_its_dynamics() {
    let shared = shared();
    let mut files: Vec<PathBuf> =
        fs::read_dir(shared.join("references")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    files.sort();
    assert!(files.len() > 20);
    println!(
        "{:45} {:>5} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "model", "nv", "M", "bias", "qacc", "inverse", "poses", "energies"
    );
    let mut bad = Vec::new();
    for file in files {
        let reference = read_json(&file);
        let model = reference["model"].as_str().unwrap();
        let path = shared.join("models").join(model);
        let (robot, _) = read_robot(&path, &ReadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        let robot = bare(robot);
        let mut tree = robot.tree().unwrap_or_else(|e| panic!("{model}: {e}"));
        assert_eq!(tree.freedoms() as f64, reference["nv"].as_f64().unwrap(), "{model}");
        assert!(relative(tree.neutral(), &numbers(&reference["qpos0"])) < 1e-14, "{model}");
        let mut worst = Errors::default();
        for state in reference["states"].as_array().unwrap() {
            let e = compare(&mut tree, state);
            worst.M = worst.M.max(e.M);
            worst.bias = worst.bias.max(e.bias);
            worst.qacc = worst.qacc.max(e.qacc);
            worst.tau = worst.tau.max(e.tau);
            worst.poses = worst.poses.max(e.poses);
            worst.energies = worst.energies.max(e.energies);
        }
        let Errors { M, bias, qacc, tau, poses, energies } = worst;
        println!(
            "{model:45} {:>5} {M:>8.0e} {bias:>8.0e} {qacc:>8.0e} {tau:>8.0e} {poses:>8.0e} {energies:>8.0e}",
            tree.freedoms()
        );
        let chain = model.contains("chain100");
        let all = M.max(bias).max(tau).max(poses).max(energies).max(if chain { 1e-2 * qacc } else { qacc });
        if all.is_nan() || all > 1e-10 {
            bad.push(model.to_owned());
        }
    }
    assert!(bad.is_empty(), "beyond 1e-10 (1e-8 for qacc of chain100): {bad:?}");
}

#[test]
fn every_model_tells_what_it_could_not_carry() {
    let mut rows: Vec<(String, usize, usize, String)> = Vec::new();
    for folder in fs::read_dir(shared().join("models")).unwrap() {
        let Ok(files) = fs::read_dir(folder.unwrap().path()) else { continue };
        for file in files {
            let path = file.unwrap().path();
            if !path.extension().is_some_and(|end| end == "xml" || end == "urdf") {
                continue;
            }
            let (robot, warnings) =
                read_robot(&path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
            let name = path.strip_prefix(shared().join("models")).unwrap().display().to_string();
            let first = warnings.first().map_or(String::new(), |w| w.message.clone());
            rows.push((name, robot.velocity_count(), warnings.len(), first));
        }
    }
    rows.sort();
    println!("{:55} {:>5} {:>5}  first warning", "model", "nv", "warn");
    for (name, nv, warnings, first) in &rows {
        println!("{name:55} {nv:>5} {warnings:>5}  {}", first.chars().take(90).collect::<String>());
    }
    let folders: std::collections::BTreeSet<&str> =
        rows.iter().map(|(name, ..)| name.split('/').next().unwrap()).collect();
    assert_eq!(folders.len(), 23);
}

fn chain10() -> Tree {
    let path = shared().join("models/chain10/chain10.xml");
    bare(read_robot(path, &ReadOptions::default()).unwrap().0).tree().unwrap()
}

#[test]
fn the_chain_read_from_its_file_swings_as_in_the_references() {
    for (file, scheme) in [("semi_implicit_euler", Scheme::SemiImplicitEuler), ("rk4", Scheme::RungeKutta4)] {
        for (h, text) in [(0.001, "0.001"), (0.002, "0.002"), (0.005, "0.005")] {
            let path = shared().join(format!("references/trajectories/chain10_{file}_dt{text}.json"));
            let reference = read_json(&path);
            let tree = chain10();
            let mut work = TreeWork::new(&tree);
            let (mut q, mut v) = (vec![0.1; 10], vec![0.0; 10]);
            let (mut steps, mut gap) = (0, 0.0f64);
            for (k, t) in numbers(&reference["t"]).into_iter().enumerate() {
                while steps < (t / h).round() as u32 {
                    tree.step(scheme, &mut q, &mut v, h, &mut work, |_, _, _| {});
                    steps += 1;
                }
                let wanted = numbers(&reference["q"][k]);
                gap = q.iter().zip(&wanted).fold(gap, |m, (x, y)| m.max((x - y).abs()));
            }
            println!("chain10 {file:20} {h} s: {gap:.1e} rad");
            assert!(gap < 1e-9, "{file} at {h}: {gap:e} rad");
        }
    }
}

#[test]
fn the_chain_keeps_its_energy_as_well_as_the_others_and_better_at_the_midpoint() {
    let tree = chain10();
    let mut work = TreeWork::new(&tree);
    let mut energy = |q: &[f64], v: &[f64]| {
        tree.kinematics(q, &mut work);
        tree.velocities(v, &mut work);
        tree.kinetic_energy(v, &work) + tree.gravity_energy(&work)
    };
    let rest = energy(&[0.0; 10], &[0.0; 10]);
    let start = energy(&[0.1; 10], &[0.0; 10]);
    let mut drift = |scheme: Scheme<'_>, h: f64| {
        let mut work = TreeWork::new(&tree);
        let (mut q, mut v, mut worst) = (vec![0.1; 10], vec![0.0; 10], 0.0f64);
        for _ in 0..(10.0 / h).round() as usize {
            tree.step(scheme, &mut q, &mut v, h, &mut work, |_, _, _| {});
            worst = worst.max((energy(&q, &v) - start).abs());
        }
        worst / (start - rest)
    };
    for (h, known) in [(0.001, 2.0e-10), (0.002, 6.5e-9), (0.005, 6.4e-7)] {
        let found = drift(Scheme::RungeKutta4, h);
        println!("chain10 energy drift, rk4 at {h} s: {found:.1e} (others {known:.1e})");
        assert!(found < 2.0 * known && found > 0.5 * known, "{found:e}");
    }
    let (euler, midpoint) = (drift(Scheme::SemiImplicitEuler, 0.005), drift(Scheme::Midpoint, 0.005));
    println!("chain10 energy drift at 0.005 s: semi-implicit Euler {euler:.1e}, midpoint {midpoint:.1e}");
    assert!(euler > 4e-2 && euler < 7e-2 && midpoint < 1e-3, "{euler:e} {midpoint:e}");
}
