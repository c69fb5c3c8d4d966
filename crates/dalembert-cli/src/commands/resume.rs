//! `dalembert resume`: a recording goes on as if it had never stopped.

use std::path::PathBuf;

use dalembert_formats::recording::{Recording, Writer};

use crate::drive::Drive;
use crate::exit::{CODES, Failure, Outcome};
use crate::expect::Checks;
use crate::output::{self, number};
use crate::setup;

const EXAMPLES: &str = "\
Examples:
  dalembert resume run.mcap              finish a run that was stopped or killed
  dalembert resume run.mcap -t 20        go on until 20 s of simulated time
  dalembert resume run.mcap --from 100 -o other.mcap

The states are bit for bit those of a run that was never stopped.";

/// What `resume` takes.
#[derive(clap::Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n\n{CODES}"))]
pub(crate) struct Args {
    /// The recording; if only RECORDING.part exists, that is taken
    #[arg(value_name = "RECORDING")]
    recording: PathBuf,
    /// Simulated time at which to end, counted from the start of the scene [s]; the scene's own duration if not given
    #[arg(short = 't', long = "time", value_name = "SECONDS", value_parser = setup::not_negative)]
    time: Option<f64>,
    /// Frame to go on from, counted from 0; later ones are left out. The last one if not given
    #[arg(long, value_name = "FRAME")]
    from: Option<usize>,
    /// Where to write; the recording is replaced if not given
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Number of threads; does not change the result [default: one per core]
    #[arg(long, value_name = "N", value_parser = super::run::threads)]
    threads: Option<usize>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only what went wrong
    #[arg(short, long)]
    quiet: bool,
}

pub(crate) fn command(args: Args) -> Outcome {
    setup::on_threads(args.threads, || resume(&args))
}

fn resume(args: &Args) -> Outcome {
    let recording = Recording::open(&args.recording)?;
    let header = recording.header();
    let mut built = setup::rebuild(&recording)?;
    let every = match header.options.get("every").map(|text| text.parse::<u64>()) {
        None => 1,
        Some(Ok(every)) if every > 0 => every,
        Some(_) => return Err(Failure::Io("the recording says how often it records in no number".into())),
    };
    let dt = built.simulation.dt;
    let scene_steps = setup::steps(built.duration, dt)?;
    let until = match args.time {
        Some(time) => setup::steps(time, dt)?,
        None => scene_steps,
    };
    let from = starting_frame(&recording, args.from, every)?;
    setup::set_state(&mut built.simulation, &recording.frame(from)?.state)?;

    let output = args.output.clone().unwrap_or_else(|| setup::final_name(&recording));
    let last = recording.last_frame()?;
    let in_place = args.output.is_none() && !recording.from_part();
    if in_place && args.from.is_none() && last.step >= until {
        return nothing_to_do(args, last.time);
    }
    if header.engine_version != env!("CARGO_PKG_VERSION") && !args.quiet {
        let (theirs, ours) = (output::safe(&header.engine_version), env!("CARGO_PKG_VERSION"));
        eprintln!("warning: recorded by version {theirs}, resumed by {ours}: the last bits may differ");
    }
    let writer = Writer::continue_from(&recording, from, &output)?;
    Drive {
        checks: Checks::new(std::mem::take(&mut built.expect), &built.simulation.model)?,
        title: header.scene_name.clone(),
        simulation: built.simulation,
        until,
        scene_steps,
        every,
        writer: Some((writer, from as u64 + 1)),
        seed: header.seed,
        warnings: Vec::new(), // told when the scene was first run
        json: args.json,
        quiet: args.quiet,
    }
    .run()
}

/// The frame asked for, or the last one that a run without a stop would have written as well.
fn starting_frame(recording: &Recording, asked: Option<usize>, every: u64) -> Result<usize, Failure> {
    if let Some(frame) = asked {
        return Ok(frame);
    }
    let mut frame = recording.frame_count().saturating_sub(1);
    // Only the frame that a stopped run ends with can lie between the regular ones.
    while frame > 0 && !recording.frame(frame)?.step.is_multiple_of(every) {
        frame -= 1;
    }
    Ok(frame)
}

fn nothing_to_do(args: &Args, time: f64) -> Outcome {
    let path = args.recording.display();
    if args.json {
        let object = serde_json::json!({ "status": "ok", "time": time, "steps_taken": 0 });
        return output::print(&format!("{object:#}\n"));
    }
    if args.quiet {
        return Ok(());
    }
    output::print(&format!("`{path}` already reaches {} s; give a later end with -t\n", number(time)))
}
