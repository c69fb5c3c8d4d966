//! Every 3D scene of rigid-ipc in the shared data runs for a second (or to its own end), and an exact test finds no
//! intersection in any frame.
//!
//! `DALEMBERT_IPC_SECONDS` asks for another horizon, for all scenes; `DALEMBERT_IPC_SCENE` for those whose path contains a
//! text.
#![cfg(feature = "conformance")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use dalembert::collide::exact;
use dalembert_formats::scene;

fn scenes(folder: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            scenes(&path, out);
        } else if path.extension().is_some_and(|e| e == "json") {
            out.push(path);
        }
    }
}

/// Runs a scene; what went wrong, if anything.
fn run(path: &Path, name: &str, seconds: f64) -> Result<(), String> {
    let built = scene::load(path).map_err(|e| e.to_string())?.build().map_err(|e| e.to_string())?;
    let mut sim = built.simulation;
    let steps = (seconds.min(built.duration) / sim.dt).round() as usize;
    // Frames a millisecond apart at least.
    let every = (1e-3 / sim.dt).round().max(1.0) as usize;
    let model = sim.model.clone();
    let contact = model.ipc.as_ref().ok_or("no contact")?;
    let (mut x, mut iterations, mut unfinished, mut contacts) = (Vec::new(), 0, 0, 0);
    let clock = Instant::now();
    for step in 1..=steps {
        let report = sim.step().map_err(|e| format!("step {step}: {e}"))?;
        iterations += report.iterations;
        unfinished += u32::from(report.unfinished);
        contacts = contacts.max(report.contacts);
        if step % every == 0 || step == steps {
            contact.geometry.positions(&sim.state.q, &mut x);
            let found = exact::intersections(&contact.geometry.surface, &x);
            if !found.is_empty() {
                return Err(format!("step {step}: {} intersections", found.len()));
            }
        }
    }
    println!(
        "{name}: {} s in {steps} steps, {:.1} s of time, {:.1} iterations per step, up to {contacts} contacts, {unfinished} unfinished",
        steps as f64 * sim.dt,
        clock.elapsed().as_secs_f64(),
        f64::from(iterations) / steps as f64,
    );
    Ok(())
}

#[test]
fn no_scene_has_an_intersection_in_any_frame() {
    let shared = std::env::var_os("DALEMBERT_SHARED").expect("DALEMBERT_SHARED names the shared data");
    let root = Path::new(&shared).join("scenes/erleben/fixtures/3D");
    let mut list = Vec::new();
    scenes(&root, &mut list);
    assert!(list.len() > 50, "only {} scenes", list.len());
    let asked = std::env::var("DALEMBERT_IPC_SECONDS").ok().map(|s| s.parse::<f64>().unwrap());
    let only = std::env::var("DALEMBERT_IPC_SCENE").unwrap_or_default();
    let mut bad = Vec::new();
    for path in &list {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        if !name.contains(&only) {
            continue;
        }
        if let Err(message) = run(path, &name, asked.unwrap_or(1.0)) {
            println!("{name}: {message}");
            bad.push(format!("{name}: {message}"));
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}
