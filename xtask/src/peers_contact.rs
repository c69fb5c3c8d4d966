//! Rigid contact beside MuJoCo, PyBullet and rapier3d-f64: the scenes of `dalembert bench`, one thread, one run.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::Outcome;
use crate::run::{cargo, output_within, pass, program, root, target};

/// One bench of ours or row of a peer may take so long.
const LIMIT: Duration = Duration::from_secs(60);

/// Scene, n, and who else runs it.
const ROWS: &[(&str, u64, &[&str])] = &[
    ("sphere_bin", 500, &["newton", "cg", "bullet", "rapier"]),
    ("sphere_bin", 5_000, &["rapier"]),
    ("boxes", 500, &["newton", "cg", "bullet", "rapier"]),
    ("pyramid", 528, &["rapier"]),
    ("pyramid", 3_003, &["rapier"]),
    ("heap", 500, &["rapier"]),
    ("heap", 3_000, &["rapier"]),
    ("contact_ragdolls", 1_000, &["rapier"]),
    ("humanoids", 1, &["newton", "cg"]),
    ("humanoids", 22, &["newton", "cg"]),
];

/// Our contact beside that of others.
pub(crate) fn contact() -> Outcome {
    let mut names: Vec<&str> = ROWS.iter().map(|r| r.0).collect();
    names.dedup();
    let shared = crate::conformance::shared();
    let mut ours: Vec<Value> = Vec::new();
    for name in names {
        let mut bench = program(&["bench", "--json", name])?;
        if let Some(shared) = &shared {
            bench.env("DALEMBERT_SHARED", shared);
        }
        if let Some(printed) = output_within(&mut bench, LIMIT)? {
            let rows: Vec<Value> =
                serde_json::from_str(&printed).map_err(|e| format!("the bench printed no JSON: {e}"))?;
            ours.extend(rows);
        }
    }
    println!(
        "\ncontact under `impulse`, one thread: ms per step; overlap and joint gap in mm, the worst of the window"
    );
    println!(
        "{:<17} {:>6} {:<9} {:>9} {:>9} {:>9} {:>8} {:>8} {:>8} {:>8} {:>9}",
        "name", "n", "peer", "ours", "peer", "peer/ours", "overlap", "peer's", "gap", "peer's", "residual"
    );
    let python = mujoco();
    let bullet = bullet();
    let rapier = build_rapier();
    for (name, n, peers) in ROWS {
        let own = ours.iter().find(|row| row["name"] == *name && row["n"].as_u64() == Some(*n));
        let Some(own) = own.filter(|row| row["seconds_per_step"].as_f64().is_some()) else {
            println!("{name:<17} {n:>6} our bench did not finish in {} s", LIMIT.as_secs());
            continue;
        };
        for peer in *peers {
            let theirs = match *peer {
                "rapier" => rapier.clone().and_then(|()| run_rapier(name, *n)),
                "bullet" => bullet.clone().and_then(|python| run_python(&python, peer, name, *n)),
                _ => python.clone().and_then(|python| run_python(&python, peer, name, *n)),
            };
            match theirs {
                Ok(theirs) => row(name, *n, peer, own, &theirs),
                Err(reason) => println!("{name:<17} {n:>6} {peer:<9} not measured: {reason}"),
            }
        }
    }
    Ok(())
}

fn row(name: &str, n: u64, peer: &str, ours: &Value, theirs: &Value) {
    let number = |row: &Value, key: &str| row[key].as_f64();
    let millis = |row: &Value, key: &str| number(row, key).map_or("-".into(), |x| format!("{:.3}", 1e3 * x));
    let ratio = match (number(ours, "seconds_per_step"), number(theirs, "seconds_per_step")) {
        (Some(own), Some(other)) => format!("{:.2}", other / own),
        _ => "-".into(),
    };
    println!(
        "{name:<17} {n:>6} {peer:<9} {:>9} {:>9} {ratio:>9} {:>8} {:>8} {:>8} {:>8} {:>9}",
        millis(ours, "seconds_per_step"),
        millis(theirs, "seconds_per_step"),
        millis(ours, "overlap"),
        millis(theirs, "overlap"),
        millis(ours, "gap"),
        millis(theirs, "gap"),
        number(ours, "residual").map_or("-".into(), |x| format!("{x:.1e}")),
    );
}

fn json(printed: Option<String>) -> Outcome<Value> {
    let printed = printed.ok_or(format!("did not finish in {} s", LIMIT.as_secs()))?;
    serde_json::from_str(&printed).map_err(|e| format!("no JSON: {e}"))
}

fn run_rapier(name: &str, n: u64) -> Outcome<Value> {
    let program = format!("rapier-peer{}", std::env::consts::EXE_SUFFIX);
    let mut command = Command::new(target().join("peers/release").join(program));
    command.args([name, &n.to_string(), "impulse"]).stdin(Stdio::null());
    json(output_within(&mut command, LIMIT)?)
}

fn run_python(python: &PathBuf, engine: &str, name: &str, n: u64) -> Outcome<Value> {
    let mut command = Command::new(python);
    command.arg(root().join("benches/peers/contact/piles.py")).args([engine, name]).stdin(Stdio::null());
    if name == "humanoids" {
        let shared = crate::conformance::shared().ok_or("no shared data")?;
        let file = if n == 1 { "humanoid" } else { "22_humanoids" };
        command.arg(shared.join(format!("models/mujoco_humanoid/{file}.xml")));
    }
    command.arg(n.to_string());
    json(output_within(&mut command, LIMIT)?)
}

fn build_rapier() -> Outcome {
    let mut command = cargo(&["build", "--release", "--locked"]);
    command.arg("--manifest-path").arg(root().join("benches/peers/rapier/Cargo.toml"));
    command.arg("--target-dir").arg(target().join("peers"));
    pass(&mut command).map_err(|e| format!("the program with rapier3d-f64 could not be built: {e}"))
}

/// An interpreter that can import `module`, installed if it is not there.
fn install(folder: &str, module: &str, packages: &[&str]) -> Outcome<PathBuf> {
    let venv = target().join("peers_python").join(folder);
    let python = venv.join("bin/python");
    let test = Command::new(&python).args(["-c", &format!("import {module}")]).output();
    if !test.is_ok_and(|done| done.status.success()) {
        pass(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        pass(Command::new(&python).args(["-m", "pip", "install", "-q"]).args(packages))?;
    }
    Ok(python)
}

/// The environment that the robots' table makes as well.
fn mujoco() -> Outcome<PathBuf> {
    install("venv", "mujoco", &["mujoco", "pin", "numpy", "cmeel-eigen"])
}

/// By itself: its pins clash with those of others. Only a ready-made package, since compiling it takes very long.
fn bullet() -> Outcome<PathBuf> {
    install("bullet", "pybullet", &["--only-binary", ":all:", "pybullet", "numpy"])
        .map_err(|e| format!("PyBullet could not be installed: {e}"))
}
