//! Tests against the shared data beside the project; `cargo xtask conformance` runs them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use dalembert::bodies::articulated::{ForwardDynamics, Joint, Link, Scheme, Tree, TreeWork};
use dalembert::joints::JointKind;
use dalembert::math::{Mat3, Pose, Quat, Vec3};
use serde_json::Value;

/// The folder of the shared data. Whoever switches these tests on has it.
fn shared() -> PathBuf {
    let folder = std::env::var_os("DALEMBERT_SHARED").expect("DALEMBERT_SHARED names the shared data");
    PathBuf::from(folder)
}

fn read_json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The JSON files of a folder by name without extension; none if there is no such folder.
fn json_names(folder: &Path) -> BTreeSet<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return BTreeSet::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let json = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    json.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// Where two values differ first; numbers are compared by value, so that 1 and 1.0 are the same.
fn first_difference(a: &Value, b: &Value, place: &str) -> Option<String> {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter().find_map(|(key, value)| first_difference(value, &b[key], &format!("{place}.{key}")))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(i, (a, b))| first_difference(a, b, &format!("{place}[{i}]")))
        }
        (Value::Number(x), Value::Number(y)) if x.as_f64() == y.as_f64() => None,
        _ if a == b => None,
        _ => Some(format!("{place}: {a} here, {b} in the shared data")),
    }
}

#[test]
fn every_shared_case_is_readable_and_listed() {
    let folder = shared().join("cases");
    let index = read_json(&folder.join("INDEX.json"));
    let listed: BTreeSet<String> =
        index.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect();
    let mut found = json_names(&folder);
    found.remove("INDEX");
    assert!(!found.is_empty());
    assert_eq!(found, listed);
    for name in found {
        let case = read_json(&folder.join(format!("{name}.json")));
        assert_eq!(case["name"], name.as_str());
        assert!(case.get("kind").is_some() && case.get("reference").is_some(), "{name}");
    }
}

#[test]
fn copied_cases_equal_the_shared_originals() {
    let copies = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/cases");
    let originals = shared().join("cases");
    for name in json_names(&copies) {
        let file = format!("{name}.json");
        let [copy, original] = [&copies, &originals].map(|folder| read_json(&folder.join(&file)));
        assert_eq!(first_difference(&copy, &original, &name), None);
    }
}

#[test]
fn a_changed_number_is_found_where_it_is() {
    let [a, b, c] = [r#"{"x": [1, 2.5]}"#, r#"{"x": [1.0, 2.5]}"#, r#"{"x": [1, 2.25]}"#]
        .map(|text| serde_json::from_str::<Value>(text).unwrap());
    assert_eq!(first_difference(&a, &b, "case"), None);
    assert_eq!(first_difference(&a, &c, "case").unwrap(), "case.x[1]: 2.5 here, 2.25 in the shared data");
}

/// Numbers of an array, arrays in it one after the other.
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

/// The chain of `peers/articulated/make_chain.py`.
fn chain(n: usize) -> Tree {
    let (length, mass, width) = (0.1, 0.1, 0.02);
    let (xx, zz) =
        (mass / 12.0 * (width * width + length * length), mass / 12.0 * (width * width + width * width));
    let links: Vec<Link> = (0..n)
        .map(|i| Link {
            name: format!("l{i}"),
            parent: i.checked_sub(1),
            placement: Pose::at(Vec3::new(0.0, 0.0, if i == 0 { 0.0 } else { -length })),
            mass,
            center: Vec3::new(0.0, 0.0, -length / 2.0),
            inertia: Mat3::from_diagonal(&Vec3::new(xx, xx, zz)),
            joints: vec![Joint::hinge(format!("j{i}"), if i % 2 == 0 { Vec3::y() } else { Vec3::x() })],
            ..Link::default()
        })
        .collect();
    Tree::new(&links, Vec3::new(0.0, 0.0, -9.81)).unwrap()
}

#[test]
fn chains_have_the_dynamics_of_the_references() {
    for n in [10, 30, 100] {
        let mut tree = chain(n);
        let mut work = TreeWork::new(&tree);
        let reference = read_json(&shared().join(format!("references/chain{n}__chain{n}__mjcf.json")));
        for (k, state) in reference["states"].as_array().unwrap().iter().enumerate() {
            let get = |key: &str| numbers(&state[key]);
            let (q, v, tau) = (get("qpos"), get("qvel"), get("tau"));
            let close = |what: &str, found: &[f64], bound: f64| {
                let error = relative(found, &get(what));
                assert!(error < bound, "chain{n}, state {k}: {what} is off by {error:e}");
            };
            tree.kinematics(&q, &mut work);
            tree.velocities(&v, &mut work);
            if state.get("xpos").is_some() {
                let places = (0..n).flat_map(|i| tree.link_position(i, &work).data.0[0]);
                let xpos: Vec<f64> = [0.0; 3].into_iter().chain(places).collect();
                close("xpos", &xpos, 1e-10);
                let wanted = get("xquat");
                for i in 0..n {
                    let turn = tree.link_pose(i, &work).rotation;
                    let dot: f64 =
                        (0..4).map(|j| wanted[4 * (i + 1) + j] * [turn.w, turn.i, turn.j, turn.k][j]).sum();
                    assert!((dot.abs() - 1.0).abs() < 1e-14, "chain{n}, state {k}: xquat of link {i}");
                }
            }
            close("com", tree.center_of_mass(&work).as_slice(), 1e-10);
            close("E_kin", &[tree.kinetic_energy(&v, &work)], 1e-10);
            close("E_pot", &[tree.gravity_energy(&work)], 1e-10);
            let mut mass = vec![0.0; n * n];
            tree.mass_matrix(&mut work).to_dense(&tree, &mut mass);
            close("M", &mass, 1e-10);
            let mut y = vec![0.0; n];
            tree.mass_times(&v, &mut work, &mut y);
            close("Mv", &y, 1e-10);
            tree.bias(&v, &mut work, &mut y);
            close("bias", &y, 1e-10);
            for forward in [ForwardDynamics::Articulated, ForwardDynamics::Factored] {
                tree.forward = forward;
                tree.forward_dynamics(&q, &v, &tau, &[], &mut work, &mut y);
                close("qacc", &y, if n == 100 { 1e-8 } else { 1e-10 });
            }
            tree.kinematics(&q, &mut work);
            tree.inverse_dynamics(&v, Some(&get("qacc")), &[], &mut work, &mut y);
            close("tau", &y, 1e-8);
        }
    }
}

#[test]
fn the_chain_swings_as_in_the_references() {
    for (file, scheme) in [
        ("semi_implicit_euler", Scheme::SemiImplicitEuler),
        ("rk4", Scheme::RungeKutta4),
        ("rk4", Scheme::PlainRungeKutta4),
    ] {
        for (h, text) in [(0.001, "0.001"), (0.002, "0.002"), (0.005, "0.005")] {
            let path = shared().join(format!("references/trajectories/chain10_{file}_dt{text}.json"));
            let reference = read_json(&path);
            for forward in [ForwardDynamics::Articulated, ForwardDynamics::Factored] {
                let mut tree = chain(10);
                tree.forward = forward;
                let mut work = TreeWork::new(&tree);
                let (mut q, mut v) = (vec![0.1; 10], vec![0.0; 10]);
                let mut steps = 0;
                for (k, t) in numbers(&reference["t"]).into_iter().enumerate() {
                    while steps < (t / h).round() as u32 {
                        tree.step(scheme, &mut q, &mut v, h, &mut work, |_, _, _| {});
                        steps += 1;
                    }
                    let gap = |a: &[f64], key: &str| {
                        let wanted = numbers(&reference[key][k]);
                        a.iter().zip(&wanted).fold(0.0, |worst: f64, (x, y)| worst.max((x - y).abs()))
                    };
                    assert!(gap(&q, "q") < 1e-9, "{file} at {h}, t = {t}: {:e} rad", gap(&q, "q"));
                    assert!(gap(&v, "v") < 1e-8, "{file} at {h}, t = {t}: {:e} rad/s", gap(&v, "v"));
                }
            }
        }
    }
}

/// Bodies and hinges (anchor, axis) of `models/mujoco_humanoid/humanoid.xml`, in its order.
type Hinge = ([f64; 3], [f64; 3]);
const O: [f64; 3] = [0.0; 3];
const KNEE: Hinge = ([0.0, 0.0, 0.02], [0.0, -1.0, 0.0]);
const ANKLE_Y: Hinge = ([0.0, 0.0, 0.08], [0.0, 1.0, 0.0]);
const HIP_Y: Hinge = (O, [0.0, 1.0, 0.0]);
const ANKLE: [f64; 3] = [0.0, 0.0, 0.04];
const WAIST: [f64; 3] = [0.0, 0.0, 0.065];
const HUMANOID: [([f64; 3], &[Hinge]); 16] = [
    ([0.0, 0.0, 1.282], &[]),
    ([0.0, 0.0, 0.19], &[]),
    ([-0.01, 0.0, -0.26], &[(WAIST, [0.0, 0.0, 1.0]), (WAIST, [0.0, 1.0, 0.0])]),
    ([0.0, 0.0, -0.165], &[([0.0, 0.0, 0.1], [1.0, 0.0, 0.0])]),
    ([0.0, -0.1, -0.04], &[(O, [1.0, 0.0, 0.0]), (O, [0.0, 0.0, 1.0]), HIP_Y]),
    ([0.0, 0.01, -0.4], &[KNEE]),
    ([0.0, 0.0, -0.39], &[ANKLE_Y, (ANKLE, [1.0, 0.0, 0.5])]),
    ([0.0, 0.1, -0.04], &[(O, [-1.0, 0.0, 0.0]), (O, [0.0, 0.0, -1.0]), HIP_Y]),
    ([0.0, -0.01, -0.4], &[KNEE]),
    ([0.0, 0.0, -0.39], &[ANKLE_Y, (ANKLE, [-1.0, 0.0, -0.5])]),
    ([0.0, -0.17, 0.06], &[(O, [2.0, 1.0, 1.0]), (O, [0.0, -1.0, 1.0])]),
    ([0.18, -0.18, -0.18], &[(O, [0.0, -1.0, 1.0])]),
    ([0.18, 0.18, 0.18], &[]),
    ([0.0, 0.17, 0.06], &[(O, [-2.0, 1.0, -1.0]), (O, [0.0, -1.0, -1.0])]),
    ([0.18, 0.18, -0.18], &[(O, [0.0, -1.0, -1.0])]),
    ([0.18, -0.18, 0.18], &[]),
];

#[test]
fn a_humanoid_with_several_joints_per_body_has_the_dynamics_of_the_reference() {
    let reference = read_json(&shared().join("references/mujoco_humanoid__humanoid__mjcf.json"));
    let (masses, armature) = (numbers(&reference["body_mass"]), numbers(&reference["armature"]));
    let vector = |key: &str, i: usize| Vec3::from_row_slice(&numbers(&reference[key][i]));
    let mut dof = 6;
    let links: Vec<Link> = (1..=16)
        .map(|i| {
            let (place, hinges) = HUMANOID[i - 1];
            let mut joints: Vec<Joint> = hinges
                .iter()
                .map(|(anchor, axis)| {
                    dof += 1;
                    Joint {
                        anchor: (*anchor).into(),
                        armature: armature[dof - 1],
                        ..Joint::hinge(format!("dof {}", dof - 1), (*axis).into())
                    }
                })
                .collect();
            if i == 1 {
                joints.push(Joint::new("root", JointKind::Free, Vec3::z()));
            }
            let w = numbers(&reference["body_iquat"][i]);
            let axes = Quat::from_quaternion(nalgebra::Quaternion::new(w[0], w[1], w[2], w[3]));
            let turn = axes.to_rotation_matrix().into_inner();
            Link {
                name: reference["body_names"][i].as_str().unwrap().to_owned(),
                parent: (reference["body_parent"][i].as_u64().unwrap() as usize).checked_sub(1),
                placement: Pose::at(place.into()),
                mass: masses[i],
                center: vector("body_ipos", i),
                inertia: turn * Mat3::from_diagonal(&vector("body_inertia", i)) * turn.transpose(),
                joints,
                ..Link::default()
            }
        })
        .collect();
    let mut tree = Tree::new(&links, Vec3::new(0.0, 0.0, -9.81)).unwrap();
    let (n, mut work) = (tree.freedoms(), TreeWork::new(&tree));
    assert_eq!(relative(tree.neutral(), &numbers(&reference["qpos0"])), 0.0);
    for (k, state) in reference["states"].as_array().unwrap().iter().enumerate() {
        let get = |key: &str| numbers(&state[key]);
        let (q, v, tau) = (get("qpos"), get("qvel"), get("tau"));
        let close = |what: &str, found: &[f64]| {
            let error = relative(found, &get(what));
            assert!(error < 1e-10, "humanoid, state {k}: {what} is off by {error:e}");
        };
        tree.kinematics(&q, &mut work);
        tree.velocities(&v, &mut work);
        let places = (0..16).flat_map(|i| tree.link_position(i, &work).data.0[0]);
        close("xpos", &[0.0; 3].into_iter().chain(places).collect::<Vec<f64>>());
        close("com", tree.center_of_mass(&work).as_slice());
        close("E_kin", &[tree.kinetic_energy(&v, &work)]);
        close("E_pot", &[tree.gravity_energy(&work)]);
        let (mut mass, mut y) = (vec![0.0; n * n], vec![0.0; n]);
        tree.mass_matrix(&mut work).to_dense(&tree, &mut mass);
        close("M", &mass);
        tree.bias(&v, &mut work, &mut y);
        close("bias", &y);
        for forward in [ForwardDynamics::Articulated, ForwardDynamics::Factored] {
            tree.forward = forward;
            tree.forward_dynamics(&q, &v, &tau, &[], &mut work, &mut y);
            close("qacc", &y);
        }
    }
}
