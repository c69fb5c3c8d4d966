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
    match &shared {
        None => println!("kernels of Pinocchio: skipped: no shared data"),
        Some(shared) => {
            if let Err(reason) = kernels(&ours, &python, shared) {
                println!("kernels of Pinocchio: not measured: {reason}");
            }
        }
    }
    if let Err(reason) = instructions(shared.as_deref()) {
        println!("instructions: not counted: {reason}");
    }
    Ok(())
}

/// Instructions per call of our kernels, by callgrind: what the program needs for 130 calls less what it needs for 30.
fn instructions(shared: Option<&Path>) -> Outcome {
    const CALLS: [u64; 2] = [30, 130];
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Err("valgrind is not installed".into());
    }
    let count = |kernel: &str, model: &str, calls: u64| -> Outcome<u64> {
        let mut bench = Command::new("valgrind");
        bench.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        bench.arg(program(&[])?.get_program()).args(["bench", "--calls", kernel, model, &calls.to_string()]);
        if let Some(shared) = shared {
            bench.env("DALEMBERT_SHARED", shared);
        }
        let done = bench.output().map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        let total = text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
        total.ok_or(text)
    };
    println!("\ninstructions per call, by callgrind");
    println!("{:<34} {:>12} {:>12}", "name", "a call", "per joint");
    let models: &[(&str, u64)] = match shared {
        Some(_) => &[("panda", 9), ("solo12", 13), ("simple_humanoid", 30), ("chain100", 100)],
        None => &[("arm7", 7), ("humanoid35", 30), ("chain100", 100)],
    };
    for (model, joints) in models {
        for kernel in ["rnea", "crba", "aba", "d_rnea", "d_aba"] {
            let calls = count(kernel, model, CALLS[1])?.saturating_sub(count(kernel, model, CALLS[0])?);
            let each = calls / (CALLS[1] - CALLS[0]);
            println!("{:<34} {each:>12} {:>12}", format!("{kernel}, {model}"), each / joints);
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

/// Pinocchio's bench, compiled if it is not there: against the packaged library, and header-only for this machine.
fn pinocchio(python: &Path, shared: &Path) -> Outcome<[PathBuf; 2]> {
    let ask = "import cmeel, pathlib; print(pathlib.Path(cmeel.__file__).parent.parent / 'cmeel.prefix')";
    let prefix = PathBuf::from(output(Command::new(python).args(["-c", ask]))?.trim());
    let compiler = || {
        let mut compile = Command::new("g++");
        // The limits are those of the package's own targets.
        compile.args(["-O3", "-std=c++17", "-DNDEBUG", "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS"]);
        compile.args(["-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30"]);
        compile.arg("-DBOOST_FUSION_INVOKE_MAX_ARITY=12");
        for folder in ["include", "include/eigen3", "include/pinocchio/deprecated"] {
            compile.arg("-I").arg(prefix.join(folder));
        }
        compile
    };
    let link = |compile: &mut Command| {
        let lib = prefix.join("lib");
        compile.arg("-L").arg(&lib).args(["-lpinocchio_default", "-lboost_serialization"]);
        compile.arg(format!("-Wl,-rpath,{}", lib.display()));
    };
    let source = shared.join("peers/articulated/pin_bench.cpp");
    let [packaged, native] = ["pin_bench", "pin_bench_native"].map(|name| folder().join(name));
    if !packaged.is_file() {
        let mut compile = compiler();
        compile.arg("-DPINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION").arg(&source).arg("-o").arg(&packaged);
        link(&mut compile);
        pass(&mut compile)?;
    }
    if !native.is_file() {
        // One kernel at a time, which keeps the compiler's time and memory bounded.
        let parts: Vec<PathBuf> = (0..7).map(|unit| folder().join(format!("native_{unit}.o"))).collect();
        for (unit, part) in parts.iter().enumerate().filter(|(_, part)| !part.is_file()) {
            eprintln!("compiling Pinocchio for this machine, part {} of 7 (a minute or two)", unit + 1);
            let mut compile = compiler();
            compile.args(["-march=native", "-w", "-c"]).arg(format!("-DUNIT={unit}")).arg(&source);
            pass(compile.arg("-o").arg(part))?;
        }
        let mut compile = Command::new("g++");
        compile.args(&parts).arg("-o").arg(&native);
        link(&mut compile);
        pass(&mut compile)?;
    }
    Ok([packaged, native])
}

fn kernels(ours: &[Value], python: &Path, shared: &Path) -> Outcome {
    let builds = pinocchio(python, shared)?;
    let mut texts = Vec::new();
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
        texts.push(text);
    }
    // A line reads: NAME nv N err … | ns: KERNEL TIME KERNEL TIME …
    let mut best: Vec<(String, String, f64)> = Vec::new();
    for build in &builds {
        for line in output(Command::new(build).args(&texts))?.lines() {
            let Some((head, times)) = line.split_once("ns:") else { continue };
            let model = head.split('.').next().unwrap_or_default().trim();
            let words: Vec<&str> = times.split_whitespace().collect();
            for pair in words.chunks_exact(2) {
                let Ok(time) = pair[1].parse::<f64>() else { continue };
                // The better of its two conventions and of its two builds.
                let kernel = pair[0].trim_end_matches("_world");
                match best.iter_mut().find(|(m, k, _)| m == model && k == kernel) {
                    Some((.., least)) => *least = least.min(time),
                    None => best.push((model.to_owned(), kernel.to_owned(), time)),
                }
            }
        }
    }
    for (model, kernel, peer) in best {
        if let Some((n, own)) = find(ours, &kernel, &model) {
            row(&format!("{kernel}, {model}"), n, own, 1e-9 * peer, "Pinocchio, its best build");
        }
    }
    Ok(())
}
