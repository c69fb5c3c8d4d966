//! `cargo xtask peers`: one table of our speed beside that of others, measured in one run.
//!
//! A row is a function in [`ROWS`]. One that cannot be measured here (a peer is not installed) says why. The joints have
//! a table of their own: the program in `benches/peers/rapier` runs the scenes of our bench, one row per call, each
//! with a time limit.

use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Outcome;
use crate::run::{build_program, cargo, output, output_within, pass, program, root, target};

/// One comparison; larger is faster.
struct Row {
    name: String,
    ours: f64,
    peer: f64,
    unit: &'static str,
}

type Measure = fn() -> Outcome<Row>;

/// A name for where the row cannot be measured, and the measurement.
const ROWS: &[(&str, Measure)] = &[("particles against memory copy", particles_against_copy)];

pub(crate) fn run() -> Outcome {
    build_program()?;
    println!("{:<44} {:>12} {:>12} {:>8}", "name", "ours", "peer", "ratio");
    for (name, row) in ROWS {
        match row() {
            Ok(Row { name, ours, peer, unit }) => {
                println!("{name:<44} {ours:>12.3} {peer:>12.3} {:>8.3}  {unit}", ours / peer);
            }
            Err(reason) => println!("{name:<44} not measured: {reason}"),
        }
    }
    joints()
}

/// Links of the chains.
const CHAINS: &[usize] = &[10, 30, 100, 1_000, 10_000, 100_000];
/// Longer chains of multibody joints do not end.
const LONGEST_MULTIBODY: usize = 1_000;
/// One row of the peer may take so long, its building of the scene and repeats included.
const LIMIT: Duration = Duration::from_secs(60);

/// What one engine showed on one scene.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Shown {
    /// Seconds per step.
    seconds: f64,
    /// Worst gap of a joint [m]; infinite if it stopped being a number.
    gap: f64,
}

/// Our joints, with projection, beside rapier's impulse joints and multibody joints.
fn joints() -> Outcome {
    let benches = ["chain_ball", "chain_hinge", "ragdolls", "tip_mass"];
    let printed = output(&mut program(&[&["bench", "--json"], &benches[..]].concat())?)?;
    let peer = build_rapier();
    println!(
        "\njoints, one thread, dt = 1/60 s: ours (impulse, direct, projection) beside rapier3d-f64; ms per step"
    );
    println!(
        "{:<14} {:>7} {:<10} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "name", "n", "peer", "ours", "peer", "peer/ours", "gap", "peer's gap"
    );
    let mut scenes: Vec<(&str, usize)> = Vec::new();
    scenes.extend(CHAINS.iter().map(|n| ("chain_ball", *n)));
    scenes.extend(CHAINS.iter().map(|n| ("chain_hinge", *n)));
    scenes.push(("ragdolls", 1_000));
    scenes.extend([1, 100, 1_000].map(|n| ("tip_mass", n)));
    for (name, n) in scenes {
        let bench = if name.starts_with("chain") { format!("{name}_proj") } else { name.to_string() };
        let ours = shown(&printed, &bench, n)?;
        for kind in ["impulse", "multibody"] {
            if kind == "multibody" && name.starts_with("chain") && n > LONGEST_MULTIBODY {
                continue;
            }
            print!("{name:<14} {n:>7} {kind:<10} {:>10.4}", 1e3 * ours.seconds);
            let theirs = peer.as_ref().map_err(String::clone).and_then(|_| rapier(name, n, kind));
            match theirs {
                Ok(Some(theirs)) => {
                    let ratio = theirs.seconds / ours.seconds;
                    let (gap, other) = (ours.gap, theirs.gap);
                    println!(" {:>10.4} {ratio:>10.2} {gap:>10.1e} {other:>10.1e}", 1e3 * theirs.seconds);
                }
                Ok(None) => println!(" did not finish in {} s; our gap {:.1e}", LIMIT.as_secs(), ours.gap),
                Err(reason) => println!(" not measured: {reason}"),
            }
        }
    }
    Ok(())
}

/// Where the peer's program is built: with our own, but apart from it.
fn build_rapier() -> Outcome {
    let manifest = root().join("benches/peers/rapier/Cargo.toml");
    let mut command = cargo(&["build", "--release", "--locked"]);
    command.arg("--manifest-path").arg(manifest).arg("--target-dir").arg(target().join("peers"));
    pass(&mut command).map_err(|e| format!("the program with rapier3d-f64 could not be built: {e}"))
}

/// One row of the peer; `None` if it did not finish.
fn rapier(name: &str, n: usize, kind: &str) -> Outcome<Option<Shown>> {
    let program = format!("rapier-peer{}", std::env::consts::EXE_SUFFIX);
    let mut command = Command::new(target().join("peers/release").join(program));
    command.args([name, &n.to_string(), kind]).stdin(Stdio::null());
    let Some(printed) = output_within(&mut command, LIMIT)? else { return Ok(None) };
    shown(&format!("[{printed}]"), name, n).map(Some)
}

/// The entry with this name and n.
fn shown(printed: &str, name: &str, n: usize) -> Outcome<Shown> {
    let value: Value =
        serde_json::from_str(printed).map_err(|e| format!("the bench printed no JSON: {e}"))?;
    let entries = value.as_array().ok_or("the bench printed no list")?;
    let wanted = |e: &&Value| {
        e.get("name").and_then(Value::as_str) == Some(name)
            && e.get("n").and_then(Value::as_f64) == Some(n as f64)
    };
    let entry = entries.iter().find(wanted).ok_or(format!("the bench printed no `{name}` with n = {n}"))?;
    let number = |key: &str| entry.get(key).and_then(Value::as_f64);
    let seconds = number("seconds_per_step").ok_or(format!("`{name}` has no time"))?;
    Ok(Shown { seconds, gap: number("gap").unwrap_or(f64::INFINITY) })
}

/// A step reads and writes the position and the velocity of each particle at least once.
const BYTES_PER_PARTICLE: f64 = 2.0 * 6.0 * 8.0;

/// How near the step of free particles comes to the memory bandwidth.
fn particles_against_copy() -> Outcome<Row> {
    let printed = output(&mut program(&["bench", "particles", "--json"])?)?;
    let (n, seconds) = largest(&printed)?;
    Ok(Row {
        name: format!("particles against memory copy, n = {n}"),
        ours: BYTES_PER_PARTICLE * n / seconds / 1e9,
        peer: copy_bandwidth() / 1e9,
        unit: "GB/s",
    })
}

/// (n, seconds per step) of the entry with the most particles.
fn largest(printed: &str) -> Outcome<(f64, f64)> {
    let value: Value =
        serde_json::from_str(printed).map_err(|e| format!("the bench printed no JSON: {e}"))?;
    let entries = value.as_array().ok_or("the bench printed no list")?;
    let positive = |entry: &Value, key: &str| {
        entry.get(key).and_then(Value::as_f64).filter(|x| x.is_finite() && *x > 0.0)
    };
    let measured = entries.iter().filter_map(|e| Some((positive(e, "n")?, positive(e, "seconds_per_step")?)));
    measured.max_by(|a, b| a.0.total_cmp(&b.0)).ok_or("the bench printed no entry with n and time".into())
}

/// Bytes read and written per second by a copy that is far larger than the caches: the best of a few.
fn copy_bandwidth() -> f64 {
    let source = vec![1.0f64; 1 << 24];
    let mut copy = vec![0.0f64; source.len()];
    let bytes = 2.0 * size_of_val(&source[..]) as f64;
    let mut best = f64::INFINITY;
    for _ in 0..8 {
        let start = Instant::now();
        copy.copy_from_slice(black_box(&source));
        black_box(&mut copy);
        best = best.min(start.elapsed().as_secs_f64());
    }
    bytes / best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_found_by_name_and_n() {
        let printed = r#"[{"name":"a","n":10,"seconds_per_step":1e-6,"gap":2e-3},
                          {"name":"a","n":100,"seconds_per_step":2e-6,"gap":null}]"#;
        assert_eq!(shown(printed, "a", 10), Ok(Shown { seconds: 1e-6, gap: 2e-3 }));
        assert_eq!(shown(printed, "a", 100), Ok(Shown { seconds: 2e-6, gap: f64::INFINITY }));
        assert!(shown(printed, "b", 10).is_err() && shown("", "a", 10).is_err());
    }

    #[test]
    fn the_largest_whole_entry_counts() {
        let printed = r#"[{"name":"a","n":10,"seconds_per_step":1e-6}, {"name":"b","n":1000,"seconds_per_step":2e-5},
                          {"name":"c","n":9999,"seconds_per_step":null}, {"n":5000,"seconds_per_step":-1}, 7]"#;
        assert_eq!(largest(printed), Ok((1000.0, 2e-5)));
        for nothing in ["", "{}", "[]", "[1]", r#"[{"n": "10"}]"#] {
            assert!(largest(nothing).is_err(), "{nothing}");
        }
    }
}
