//! `cargo xtask peers`: one table of our speed beside that of others, measured in one run.
//!
//! A row is a function in [`ROWS`]. One that cannot be measured here (a peer is not installed) says why.

use std::hint::black_box;
use std::time::Instant;

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
    fn the_largest_whole_entry_counts() {
        let printed = r#"[{"name":"a","n":10,"seconds_per_step":1e-6}, {"name":"b","n":1000,"seconds_per_step":2e-5},
                          {"name":"c","n":9999,"seconds_per_step":null}, {"n":5000,"seconds_per_step":-1}, 7]"#;
        assert_eq!(largest(printed), Ok((1000.0, 2e-5)));
        for nothing in ["", "{}", "[]", "[1]", r#"[{"n": "10"}]"#] {
            assert!(largest(nothing).is_err(), "{nothing}");
        }
    }
}
