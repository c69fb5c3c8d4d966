//! `cargo xtask peers`: one table of our speed beside that of others, measured in one run.
//!
//! A row is a function in [`ROWS`]. One that cannot be measured here (a peer is not installed) says why. The joints have
//! a table of their own: the program in `benches/peers/rapier` runs the scenes of our bench, one row per call, each
//! with a time limit.

use std::process::{Command, Stdio};
use std::time::Duration;

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

/// A name, and what makes the table.
type Table = (&'static str, fn() -> Outcome);

/// The tables by name, in the order in which they are made.
const TABLES: &[Table] = &[
    ("particles", particles),
    ("joints", joints),
    ("robots", crate::peers_robots::robots),
    ("contact", crate::peers_contact::contact),
    ("cloth", crate::peers_ipctk::cloth),
    ("collide", crate::peers_ipctk::run),
];

/// The tables with these names; all of them if there are none.
pub(crate) fn run(wanted: &[&str]) -> Outcome {
    if let Some(unknown) = wanted.iter().find(|name| TABLES.iter().all(|(table, _)| table != *name)) {
        let names: Vec<&str> = TABLES.iter().map(|(name, _)| *name).collect();
        return Err(format!("there is no table `{unknown}`; there are {}", names.join(", ")));
    }
    build_program()?;
    for (name, table) in TABLES {
        if wanted.is_empty() || wanted.contains(name) {
            table()?;
        }
    }
    Ok(())
}

/// Free particles beside the memory.
fn particles() -> Outcome {
    println!("{:<44} {:>12} {:>12} {:>8}", "name", "ours", "peer", "ratio");
    for (name, row) in ROWS {
        match row() {
            Ok(Row { name, ours, peer, unit }) => {
                println!("{name:<44} {ours:>12.3} {peer:>12.3} {:>8.3}  {unit}", ours / peer);
            }
            Err(reason) => println!("{name:<44} not measured: {reason}"),
        }
    }
    Ok(())
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
    /// Worst gap of a joint \[m\]; infinite if it stopped being a number.
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

/// A step reads position, velocity and mass of each particle at least once and writes position and velocity \[B\].
const BYTES_PER_PARTICLE: f64 = (7.0 + 6.0) * 8.0;

/// A copy reads and writes each number once \[B\].
const BYTES_PER_NUMBER: f64 = 2.0 * 8.0;

/// How near the step of free particles comes to the memory bandwidth; the copy is as large as their state.
fn particles_against_copy() -> Outcome<Row> {
    let printed = output(&mut program(&["bench", "copy", "particles", "--json"])?)?;
    let (n, step) = row_named("particles", &printed)?;
    let (numbers, copy) = row_named("copy", &printed)?;
    Ok(Row {
        name: format!("particles against memory copy, n = {n}"),
        ours: BYTES_PER_PARTICLE * n / step / 1e9,
        peer: BYTES_PER_NUMBER * numbers / copy / 1e9,
        unit: "GB/s, one thread",
    })
}

/// (n, seconds per step) of the entry with this name.
fn row_named(name: &str, printed: &str) -> Outcome<(f64, f64)> {
    let rows: Vec<Value> =
        serde_json::from_str(printed).map_err(|e| format!("the bench printed no JSON array: {e}"))?;
    let row = rows.iter().find(|row| row["name"] == name).ok_or(format!("the bench printed no `{name}`"))?;
    let number = |key: &str| {
        let found = row[key].as_f64().filter(|x| *x > 0.0);
        found.ok_or(format!("`{key}` of the bench `{name}` is no positive number"))
    };
    Ok((number("n")?, number("seconds_per_step")?))
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
    fn a_row_is_found_by_its_name() {
        let printed = r#"[{"name":"a","n":10,"seconds_per_step":1e-6}, {"name":"b","n":1000,"seconds_per_step":2e-5},
                          {"name":"c","n":9999,"seconds_per_step":null}, {"n":5000,"seconds_per_step":-1}, 7]"#;
        assert_eq!(row_named("b", printed), Ok((1000.0, 2e-5)));
        assert!(row_named("c", printed).is_err() && row_named("d", printed).is_err());
        for nothing in ["", "{}", "[]", "[1]", r#"[{"name": "a", "n": "10"}]"#] {
            assert!(row_named("a", nothing).is_err(), "{nothing}");
        }
    }
}
