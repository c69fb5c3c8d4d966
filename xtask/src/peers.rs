//! `cargo xtask peers`: one table of our speed beside that of others, measured in one run.
//!
//! A row is a function in [`ROWS`]. One that cannot be measured here (a peer is not installed) says why.

use serde_json::Value;

use crate::Outcome;
use crate::run::{build_program, output, program};

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
    Ok(())
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
