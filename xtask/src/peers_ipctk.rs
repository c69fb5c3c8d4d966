//! Contact geometry beside ipctk (the IPC Toolkit, from the Python package index), one thread, scene by scene.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::Outcome;
use crate::run::{output, output_within, pass, program, root, target};

const SCENES: [&str; 3] = ["cube_pile", "ball_in_socket", "cloth_on_sphere"];

/// Row of our bench, the peer's key for it, what it is, and the ratio that is asked for.
const KERNELS: [(&str, &str, &str, f64); 8] = [
    ("lbvh", "lbvh", "candidates, trees built", 1.5),
    ("refit", "lbvh", "candidates, trees refitted", 1.5),
    ("lbvh_swept", "lbvh_swept", "candidates of the step", 1.5),
    ("contacts", "contacts", "contacts from candidates", 1.0),
    ("gradient", "gradient", "energy and gradient", 4.0),
    ("hessian", "hessian", "Hessian, assembled, points", 20.0),
    ("hessian_abd", "hessian", "Hessian, assembled, affine", 20.0),
    ("ccd", "ccd", "additive CCD", 2.0),
];

/// Prints the table; says why where the peer cannot be had.
pub(crate) fn run() -> Outcome {
    println!(
        "\ncontact geometry, one thread, CPU time: ours beside ipctk 1.6, ms; ratio = peer/ours (asked for)"
    );
    let python = match python() {
        Ok(python) => python,
        Err(reason) => {
            println!("not measured: {reason}");
            return Ok(());
        }
    };
    let ours: Value = serde_json::from_str(&output(&mut program(&["bench", "collide", "--json"])?)?)
        .map_err(|e| format!("the bench printed no JSON: {e}"))?;
    for scene in SCENES {
        let mut command = Command::new(&python);
        command
            .arg("bench.py")
            .arg(scene)
            .current_dir(root().join("benches/peers/ipctk"))
            .stdin(Stdio::null());
        let printed = match output_within(&mut command, Duration::from_secs(180)) {
            Ok(Some(printed)) => printed,
            Ok(None) => {
                println!("{scene}: ipctk did not finish in 180 s");
                continue;
            }
            Err(reason) => {
                println!("{scene}: not measured: {reason}");
                continue;
            }
        };
        let peer: Value = serde_json::from_str(printed.trim())
            .map_err(|e| format!("ipctk's bench printed no JSON: {e}"))?;
        for (row, key, what, wanted) in KERNELS {
            let name = format!("{scene}_{row}");
            let found = ours.as_array().and_then(|rows| rows.iter().find(|r| r["name"] == *name));
            let (Some(found), Some(theirs)) = (found, peer[key].as_f64()) else {
                println!("{scene:<16} {what:<28} not measured");
                continue;
            };
            let seconds = found["seconds_per_step"].as_f64().unwrap_or(f64::NAN);
            println!(
                "{scene:<16} {what:<28} {:>9.3} {:>9.3} {:>8.2} (≥ {wanted})  n = {}",
                1e3 * seconds,
                1e3 * theirs,
                theirs / seconds,
                found["n"]
            );
        }
        println!(
            "{scene:<16} peer: {} candidates, {} collisions, step {}",
            peer["candidates"], peer["collisions"], peer["step"]
        );
    }
    Ok(())
}

/// Cloth on a fixed ball: our steps with friction beside MuJoCo's with its `ipc` flag, without.
pub(crate) fn cloth() -> Outcome {
    println!(
        "\ncloth on a fixed ball, h = 5 ms, steps in contact, one thread, CPU time in ms; asked for: peer/ours ≥ 5"
    );
    let ours: Value = serde_json::from_str(&output(&mut program(&["bench", "ipc_cloth", "--json"])?)?)
        .map_err(|e| format!("the bench printed no JSON: {e}"))?;
    let python = match mujoco() {
        Ok(python) => python,
        Err(reason) => {
            println!("not measured: {reason}");
            return Ok(());
        }
    };
    for n in [21, 31] {
        let mut command = Command::new(&python);
        let script = root().join("benches/peers/ipctk/mujoco_cloth.py");
        command.arg(script).arg(n.to_string()).stdin(Stdio::null());
        let printed = match output_within(&mut command, Duration::from_secs(300)) {
            Ok(Some(printed)) => printed,
            Ok(None) => {
                println!("{n} x {n}: MuJoCo did not finish in 300 s");
                continue;
            }
            Err(reason) => {
                println!("{n} x {n}: not measured: {reason}");
                continue;
            }
        };
        let peer: Value = serde_json::from_str(printed.trim())
            .map_err(|e| format!("MuJoCo's bench printed no JSON: {e}"))?;
        let found = ours.as_array().and_then(|rows| rows.iter().find(|r| r["n"] == n));
        let (Some(found), Some(mean), Some(worst)) = (found, peer["mean"].as_f64(), peer["worst"].as_f64())
        else {
            println!("{n} x {n}: not measured");
            continue;
        };
        let seconds = found["seconds_per_step"].as_f64().unwrap_or(f64::NAN);
        println!(
            "{n} x {n}: ours {:.2}, MuJoCo {} {:.2} (worst window {:.2}), ratio {:.2}; ours: {}",
            1e3 * seconds,
            peer["version"].as_str().unwrap_or_default(),
            1e3 * mean,
            1e3 * worst,
            mean / seconds,
            found["note"].as_str().unwrap_or_default(),
        );
    }
    Ok(())
}

/// The Python of a virtual environment under `target` that has MuJoCo 4; made at the first call.
fn mujoco() -> Outcome<PathBuf> {
    environment(
        "peers/mujoco4-venv",
        "import mujoco, numpy; assert mujoco.__version__ >= '4'",
        &["mujoco==4.0.*", "numpy"],
    )
}

/// The Python of a virtual environment under `target` that has ipctk; made at the first call.
fn python() -> Outcome<PathBuf> {
    environment("peers/ipctk-venv", "import ipctk, numpy", &["ipctk==1.6.*", "numpy", "scipy"])
}

fn environment(name: &str, test: &str, packages: &[&str]) -> Outcome<PathBuf> {
    let folder = target().join(name);
    let bin = folder.join(if cfg!(windows) { "Scripts" } else { "bin" });
    let python = bin.join(format!("python{}", std::env::consts::EXE_SUFFIX));
    let works = |python: &Path| {
        let mut command = Command::new(python);
        command.args(["-c", test]).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|s| s.success())
    };
    if !works(&python) {
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv"]).arg(&folder);
        pass(&mut venv)?;
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet"]).args(packages);
        pass(&mut pip)?;
    }
    Ok(python)
}
