//! `dalembert diff`: two recordings, number by number.

use std::fmt::Write as _;
use std::path::PathBuf;

use dalembert_formats::recording::{self, DiffReport, Difference, Header, Recording, RecordingError};
use serde_json::{Value, json};

use crate::exit::{Failure, Outcome};
use crate::output::{self, number, safe};
use crate::setup;

const EXAMPLES: &str = "\
Examples:
  dalembert diff a.mcap b.mcap              must be equal in every number
  dalembert diff a.mcap b.mcap --tol 1e-9   may differ by that much

Two numbers agree if |a - b| <= T max(1, |a|, |b|). Exit code 0 if all agree, 1 if not.";

/// What `diff` takes.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// One recording
    a: PathBuf,
    /// The other
    b: PathBuf,
    /// Difference that is allowed: absolute below 1, relative above
    #[arg(long, value_name = "T", default_value = "0", value_parser = setup::not_negative)]
    tol: f64,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn command(args: Args) -> Outcome {
    let a = Recording::open(&args.a)?;
    let b = Recording::open(&args.b)?;
    let report = match recording::diff(&a, &b, args.tol) {
        Err(error @ RecordingError::Incomparable { .. }) => {
            let text = match args.json {
                true => format!("{:#}\n", json!({ "agree": false, "reason": error.to_string() })),
                false => format!("{error}\n"),
            };
            output::print(&text)?;
            return Err(Failure::Unmet);
        }
        report => report?,
    };
    let text = match args.json {
        true => format!("{:#}\n", as_json(&report, a.header())),
        false => as_text(&report, a.header(), args.tol),
    };
    output::print(&text)?;
    if report.agrees() { Ok(()) } else { Err(Failure::Unmet) }
}

fn as_text(report: &DiffReport, header: &Header, tol: f64) -> String {
    let [a, b] = report.frame_counts;
    let style = output::stdout();
    let mut out = String::new();
    let frames = |n: usize| output::count(n as u64, "frame");
    let _ = match (report.agrees(), report.bit_equal) {
        (true, true) => writeln!(out, "{}: {}, equal bit for bit", style.green("equal"), frames(a)),
        (true, false) => {
            writeln!(out, "{}: {}, all numbers within {}", style.green("equal"), frames(a), number(tol))
        }
        (false, _) => writeln!(out, "{}", style.red("different")),
    };
    if a != b {
        let _ = writeln!(out, "  {} against {}; those that both have were compared", frames(a), frames(b));
    }
    if let Some(frame) = report.first_different_frame {
        let _ = writeln!(out, "  first difference in frame {frame}");
    }
    if let Some(frame) = report.first_time_mismatch {
        let _ = writeln!(out, "  from frame {frame} on the times or step numbers are not the same");
    }
    for (label, worst) in [("absolute", &report.worst_absolute), ("relative", &report.worst_relative)] {
        if let Some(d) = worst {
            let _ = writeln!(
                out,
                "  worst {label} difference {}: {} at {} s (frame {}) is {:?} and {:?}",
                number(d.amount),
                safe(&name(header, d.index)),
                number(d.time),
                d.frame,
                d.a,
                d.b
            );
        }
    }
    out
}

fn as_json(report: &DiffReport, header: &Header) -> Value {
    let place = |d: &Option<Difference>| {
        d.as_ref().map(|d| {
            let name = name(header, d.index);
            json!({
                "amount": d.amount, "frame": d.frame, "time": d.time,
                "index": d.index, "name": name, "a": d.a, "b": d.b,
            })
        })
    };
    json!({
        "agree": report.agrees(),
        "bit_equal": report.bit_equal,
        "frames": report.frame_counts,
        "first_different_frame": report.first_different_frame,
        "first_time_mismatch": report.first_time_mismatch,
        "worst_absolute": place(&report.worst_absolute),
        "worst_relative": place(&report.worst_relative),
    })
}

/// What number `index` of a state is, as far as the header tells: `rope[3].vx`.
fn name(header: &Header, index: usize) -> String {
    let within = |block: &Value, key: &str, rigid: &[&str], particle: [&str; 3]| {
        let range = block.get(key)?;
        let [from, to] = [0, 1].map(|i| range.get(i).and_then(Value::as_u64).map(|x| x as usize));
        let at = index.checked_sub(from?).filter(|_| to.is_some_and(|to| index < to))?;
        let name = block.get("name")?.as_str()?;
        Some(match block.get("kind").and_then(Value::as_str) {
            Some("rigid") => format!("{name}.{}", rigid.get(at)?),
            Some("generalized") => format!("{name}.{}{at}", if key == "q" { "u" } else { "du" }),
            _ => format!("{name}[{}].{}", at / 3, particle[at % 3]),
        })
    };
    let blocks = header.layout.get("blocks").and_then(Value::as_array);
    let found = blocks.into_iter().flatten().find_map(|block| {
        // A rigid body is kept by its centre of mass, and its angular velocity in world axes.
        let centre = ["center.x", "center.y", "center.z", "qw", "qx", "qy", "qz"];
        let twist = ["center.vx", "center.vy", "center.vz", "world.wx", "world.wy", "world.wz"];
        within(block, "q", &centre, ["x", "y", "z"])
            .or_else(|| within(block, "v", &twist, ["vx", "vy", "vz"]))
    });
    found.unwrap_or_else(|| match index {
        0 => "time".into(),
        2 => "the number of steps".into(),
        _ => format!("number {index} of the state"),
    })
}
