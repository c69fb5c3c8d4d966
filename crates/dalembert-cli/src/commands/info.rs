//! `dalembert info`: what a recording or a mesh file holds.

use std::fmt::Write as _;
use std::path::PathBuf;

use dalembert_formats::mesh::is_mesh_name;
use dalembert_formats::recording::{Recording, Scalars};
use serde_json::{Map, Value, json};

use super::mesh_info;
use crate::exit::{Failure, Outcome};
use crate::output::{self, count, number, safe};

const EXAMPLES: &str = "\
Examples:
  dalembert info run.mcap
  dalembert info run.mcap --json | jq .frames
  dalembert info part.msh";

/// What `info` takes.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The recording (if only FILE.part exists, that is taken), or a mesh (.obj, .stl, .ply, .msh, .vtk)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn command(args: Args) -> Outcome {
    if is_mesh_name(&args.file.to_string_lossy()) {
        return mesh_info::command(&args.file, args.json);
    }
    let recording = Recording::open(&args.file)?;
    let count = recording.frame_count();
    let ends = match count {
        0 => None,
        _ => Some([recording.frame(0)?, recording.last_frame()?].map(|frame| (frame.time, frame.step))),
    };
    let last_row = last_row(&recording)?;
    let text = match args.json {
        true => format!("{:#}\n", as_json(&recording, ends, last_row.as_ref())),
        false => as_text(&recording, ends, last_row.as_ref()),
    };
    output::print(&text)
}

fn last_row(recording: &Recording) -> Result<Option<Scalars>, Failure> {
    let mut last = None;
    for row in recording.scalars() {
        last = Some(row?);
    }
    Ok(last)
}

/// Time and step of the first and the last frame.
type Ends = Option<[(f64, u64); 2]>;

fn as_text(recording: &Recording, ends: Ends, last_row: Option<&Scalars>) -> String {
    let h = recording.header();
    let style = output::stdout();
    let mut out = format!("{}\n", style.bold(&safe(&h.scene_name)));
    let _ = writeln!(out, "  file      {}", recording.path().display());
    let state = match (recording.from_part(), recording.truncated()) {
        (false, None) => "whole".into(),
        (true, None) => "whole, but never given its final name: `dalembert resume` completes it".into(),
        (_, Some(bytes)) => {
            let lost = match bytes {
                0 => String::new(),
                _ => format!("; {} at its end are ignored", output::count(bytes, "byte")),
            };
            style.yellow(&format!("cut off{lost}: `dalembert resume` goes on from the last frame"))
        }
    };
    let _ = writeln!(out, "  state     {state}");
    let _ = writeln!(out, "  written   by dalembert {}", safe(&h.engine_version));
    let _ = writeln!(out, "  method    {}, dt = {} s, seed {}", safe(&h.method), number(h.dt), h.seed);
    let options: Vec<String> = h.options.iter().map(|(k, v)| safe(&format!("{k} = {v}"))).collect();
    if !options.is_empty() {
        let _ = writeln!(out, "  options   {}", options.join(", "));
    }
    let frames = count(recording.frame_count() as u64, "frame");
    let _ = match ends {
        Some([(from, _), (to, step)]) => {
            let (from, to) = (number(from), number(to));
            writeln!(
                out,
                "  frames    {frames} from {from} s to {to} s (step {step}), {} each",
                numbers(h.state_len)
            )
        }
        None => writeln!(out, "  frames    none"),
    };
    if let Some(row) = last_row {
        let _ = writeln!(out, "\n  scalars at {} s", number(row.time));
        let width = h.scalar_names.iter().map(|n| n.chars().count()).max().unwrap_or(0);
        for (name, value) in h.scalar_names.iter().zip(&row.values) {
            let _ = writeln!(out, "    {:width$}  {:>12}", safe(name), number(*value));
        }
    }
    out
}

fn numbers(n: usize) -> String {
    count(n as u64, "number")
}

fn as_json(recording: &Recording, ends: Ends, last_row: Option<&Scalars>) -> Value {
    let h = recording.header();
    let names = h.scalar_names.iter();
    let scalars = last_row.map(|row| {
        let values = names.zip(&row.values).map(|(name, value)| (name.clone(), json!(value)));
        json!({ "time": row.time, "values": values.collect::<Map<_, _>>() })
    });
    json!({
        "file": recording.path().display().to_string(),
        "scene": h.scene_name,
        "whole": recording.truncated().is_none() && !recording.from_part(),
        "from_part": recording.from_part(),
        "ignored_bytes": recording.truncated(),
        "engine_version": h.engine_version,
        "method": h.method,
        "dt": h.dt,
        "seed": h.seed,
        "options": h.options,
        "state_len": h.state_len,
        "layout": h.layout,
        "scalar_names": h.scalar_names,
        "frames": recording.frame_count(),
        "first": ends.map(|[a, _]| json!({ "time": a.0, "step": a.1 })),
        "last": ends.map(|[_, b]| json!({ "time": b.0, "step": b.1 })),
        "last_scalars": scalars,
    })
}
