//! The rows of `cargo xtask peers` about robots: MuJoCo's steps and Pinocchio's kernels, beside ours.
//!
//! Both peers come by pip into `target/peers_python`. MuJoCo runs the same files as our bench with its loop in C;
//! Pinocchio's kernels are compiled from the shared `pin_bench.cpp` against the library inside the `pin` package.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Outcome;
use crate::run::{output, pass, program, root, target};

/// Robots of our own that both engines step, and how our bench calls them.
const ROBOTS: &[&str] = &["arm", "humanoid", "quadruped", "hand", "delta"];
/// Shared models whose kernels are compared: file, and whether the base floats.
const KERNELS: &[(&str, bool)] = &[
    ("urdf_panda/panda.urdf", false),
    ("urdf_solo12/solo12.urdf", true),
    ("urdf_simple_humanoid/simple_humanoid.urdf", true),
    ("chain100/chain100.urdf", false),
];

pub(crate) fn robots() -> Outcome {
    let shared = crate::conformance::shared();
    let mut bench = program(&["bench", "--json", "articulated"])?;
    if let Some(shared) = &shared {
        bench.env("DALEMBERT_SHARED", shared);
    }
    let ours: Vec<Value> =
        serde_json::from_str(&output(&mut bench)?).map_err(|e| format!("the bench printed no JSON: {e}"))?;
    println!("\nrobots, one thread: microseconds per step or call");
    println!("{:<34} {:>5} {:>10} {:>10} {:>10}  peer", "name", "n", "ours", "peer", "peer/ours");
    let python = match install() {
        Ok(python) => python,
        Err(reason) => {
            println!("not measured: {reason}");
            return Ok(());
        }
    };
    if let Err(reason) = steps(&ours, &python) {
        println!("steps of MuJoCo: not measured: {reason}");
    }
    match shared {
        None => println!("kernels of Pinocchio: skipped: no shared data"),
        Some(shared) => {
            if let Err(reason) = kernels(&ours, &python, &shared) {
                println!("kernels of Pinocchio: not measured: {reason}");
            }
        }
    }
    Ok(())
}

fn folder() -> PathBuf {
    target().join("peers_python")
}

/// The interpreter with both peers, installed if it is not there.
fn install() -> Outcome<PathBuf> {
    let venv = folder().join("venv");
    let python = venv.join("bin/python");
    let ready = |python: &Path| {
        let test = Command::new(python).args(["-c", "import mujoco, pinocchio, cmeel"]).output();
        test.is_ok_and(|done| done.status.success())
    };
    if !ready(&python) {
        pass(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        pass(Command::new(&python).args([
            "-m",
            "pip",
            "install",
            "-q",
            "mujoco",
            "pin",
            "numpy",
            "cmeel-eigen",
        ]))?;
    }
    Ok(python)
}

fn row(name: &str, n: u64, ours: f64, peer: f64, whose: &str) {
    println!("{name:<34} {n:>5} {:>10.3} {:>10.3} {:>10.2}  {whose}", 1e6 * ours, 1e6 * peer, peer / ours);
}

/// Seconds of the row of ours with this name, whose note begins in this way.
fn find(ours: &[Value], name: &str, note: &str) -> Option<(u64, f64)> {
    let fits = |row: &&Value| {
        let text = |key: &str| row[key].as_str().unwrap_or_default();
        let begins = text("note") == note || text("note").starts_with(&format!("{note},"));
        text("name") == name && begins
    };
    let row = ours.iter().find(fits)?;
    Some((row["n"].as_u64()?, row["seconds_per_step"].as_f64()?))
}

fn steps(ours: &[Value], python: &Path) -> Outcome {
    let mut command = Command::new(python);
    command.arg(root().join("benches/peers/articulated/mujoco_steps.py"));
    command.args(ROBOTS.iter().map(|name| root().join(format!("scenes/robots/{name}.xml"))));
    let theirs: Vec<Value> =
        serde_json::from_str(&output(&mut command)?).map_err(|e| format!("no JSON from MuJoCo: {e}"))?;
    for peer in &theirs {
        let name = peer["name"].as_str().unwrap_or_default();
        let Some(seconds) = peer["seconds_per_step"].as_f64() else { continue };
        let chosen = |kind: &str| {
            let row = ours.iter().find(|row| {
                row["name"] == kind && row["note"].as_str() == Some(&format!("{name}, chosen"))
            })?;
            Some((row["n"].as_u64()?, row["seconds_per_step"].as_f64()?))
        };
        let own =
            chosen("step_aba").or_else(|| chosen("step_factor")).or_else(|| find(ours, "step_robot", name));
        match own {
            Some((n, own)) => row(&format!("step, {name}"), n, own, seconds, "MuJoCo"),
            None => println!("step, {name}: our bench has no such row"),
        }
    }
    Ok(())
}

/// Pinocchio's bench, compiled if it is not there.
fn pinocchio(python: &Path, shared: &Path) -> Outcome<PathBuf> {
    let bench = folder().join("pin_bench");
    if bench.is_file() {
        return Ok(bench);
    }
    let ask = "import cmeel, pathlib; print(pathlib.Path(cmeel.__file__).parent.parent / 'cmeel.prefix')";
    let prefix = PathBuf::from(output(Command::new(python).args(["-c", ask]))?.trim());
    let include = prefix.join("include");
    let mut compile = Command::new("g++");
    compile.args(["-O3", "-std=c++17", "-DNDEBUG"]);
    // Those of the package's own targets: its explicit instantiations are used.
    compile.args([
        "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
        "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
        "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
        "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
        "-DPINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION",
    ]);
    for folder in [include.clone(), include.join("eigen3"), include.join("pinocchio/deprecated")] {
        compile.arg("-I").arg(folder);
    }
    compile.arg(shared.join("peers/articulated/pin_bench.cpp")).arg("-L").arg(prefix.join("lib"));
    compile.args(["-lpinocchio_default", "-lboost_serialization"]);
    compile.arg(format!("-Wl,-rpath,{}", prefix.join("lib").display())).arg("-o").arg(&bench);
    pass(&mut compile)?;
    Ok(bench)
}

fn kernels(ours: &[Value], python: &Path, shared: &Path) -> Outcome {
    let bench = pinocchio(python, shared)?;
    let mut run = Command::new(bench);
    for (model, free) in KERNELS {
        let name = Path::new(model).file_stem().unwrap_or_default();
        let text = folder().join(name).with_extension("txt");
        let mut dump = Command::new(python);
        dump.arg(shared.join("peers/articulated/dump_model.py"))
            .arg(shared.join("models").join(model))
            .arg(&text);
        if *free {
            dump.arg("--free");
        }
        output(&mut dump)?;
        run.arg(text);
    }
    // A line reads: NAME nv N err … | ns: KERNEL TIME KERNEL TIME …
    for line in output(&mut run)?.lines() {
        let Some((head, times)) = line.split_once("ns:") else { continue };
        let model = head.split('.').next().unwrap_or_default().trim().to_owned();
        let words: Vec<&str> = times.split_whitespace().collect();
        let time = |kernel: &str| {
            // The better of its two conventions.
            let of = |name: &str| {
                words.chunks(2).find(|pair| pair[0] == name).and_then(|pair| pair.get(1)?.parse().ok())
            };
            let pair: [Option<f64>; 2] = [of(kernel), of(&format!("{kernel}_world"))];
            pair.into_iter().flatten().reduce(f64::min)
        };
        for kernel in ["rnea", "crba", "aba", "d_rnea", "d_aba"] {
            if let (Some(peer), Some((n, own))) = (time(kernel), find(ours, kernel, &model)) {
                row(&format!("{kernel}, {model}"), n, own, 1e-9 * peer, "Pinocchio");
            }
        }
    }
    Ok(())
}
