//! `dalembert export`: a recording as a table, or as a file of another tool.

use std::io::Write;
use std::path::PathBuf;

use dalembert::model::UnknownQuantity;
use dalembert::prelude::*;
use dalembert_formats::error::suggest;
use dalembert_formats::export::Format;
use dalembert_formats::recording::{Recording, RecordingError, atomic_write, csv};

use crate::exit::{Failure, Outcome};
use crate::expect::Reading;
use crate::{guard, setup};

const EXAMPLES: &str = "\
Examples:
  dalembert export run.mcap energy.csv                   energies and momenta over time
  dalembert export run.mcap ball.csv --track ball        its position and velocity
  dalembert export run.mcap - --track ball.z rope[-1].x energy.total
  dalembert export run.mcap run.glb                      moving meshes for Blender, three.js, game engines
  dalembert export run.mcap run.vtp                      run_0000.vtp … and run.pvd for ParaView
  dalembert export run.mcap run.ply                      run_0000.ply …
  dalembert export run.mcap run.pc2                      a point cache

A track is a set of points (`ball`; the mean of several), one point (`rope[3]`, `rope[-1]` for the last), or a
quantity as in the expectations of a scene (`ball.z`, `ball.speed`, `energy.total`, `momentum.x`, `energy.drift`).
Columns are in SI units. Numbers read back to the same bits.";

/// What `export` takes.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The recording; if only RECORDING.part exists, that is taken
    #[arg(value_name = "RECORDING")]
    recording: PathBuf,
    /// The file to write: .csv, .glb, .ply, .vtp or .pc2; `-` for a table on the standard output
    #[arg(value_name = "OUT")]
    out: PathBuf,
    /// The scalars that were recorded: energies, drift, momenta (this is the default)
    #[arg(long, conflicts_with = "track")]
    scalars: bool,
    /// Points or quantities to follow through all frames
    #[arg(long, value_name = "NAME", num_args = 1..)]
    track: Vec<String>,
}

pub(crate) fn command(args: Args) -> Outcome {
    let ending = args.out.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let format = Format::of(&args.out);
    if format.is_none() && ending != "csv" && args.out.as_os_str() != "-" {
        let (path, known) = (args.out.display(), "csv, glb, ply, vtp, pc2");
        return Err(Failure::Usage(format!("`{path}` ends in `{ending}`; known endings are {known}")));
    }
    if format.is_some() && (args.scalars || !args.track.is_empty()) {
        return Err(Failure::Usage(format!("--scalars and --track need a table, not a `.{ending}`")));
    }
    let recording = Recording::open(&args.recording)?;
    guard::not_in_place(&args.out, [recording.path()])?;
    if let Some(lost) = recording.truncated() {
        let count = recording.frame_count();
        eprintln!(
            "warning: the recording was cut off: {count} whole frames, {lost} bytes at its end ignored"
        );
    }
    if let Some(format) = format {
        let model = setup::rebuild(&recording)?.simulation.model;
        format.write(&model, &recording, &args.out)?;
        return Ok(());
    }
    let table = match args.track.is_empty() {
        true => None,
        false => Some(Tracks::new(&recording, &args.track)?),
    };
    let write = |out: &mut dyn Write| match table {
        None => csv::write_scalars(&recording, out),
        Some(tracks) => tracks.write(&recording, out),
    };
    if args.out.as_os_str() == "-" {
        return match write(&mut std::io::stdout().lock()) {
            // A reader that has seen enough, such as `head`, is no error.
            Err(RecordingError::Output(e)) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            result => Ok(result?),
        };
    }
    Ok(atomic_write(&args.out, |out| write(out))?)
}

/// Columns of a table, and the simulation that they are read off.
struct Tracks {
    simulation: Simulation,
    columns: Vec<(String, Reading)>,
}

impl Tracks {
    fn new(recording: &Recording, names: &[String]) -> Result<Self, Failure> {
        let simulation = setup::rebuild(recording)?.simulation;
        let model = &simulation.model;
        let mut columns = Vec::new();
        for name in names {
            let texts = match model.select(name) {
                Ok(_) => ["x", "y", "z", "vx", "vy", "vz"].map(|part| format!("{name}.{part}")).to_vec(),
                Err(_) => vec![name.clone()],
            };
            for text in texts {
                let reading = Reading::parse(model, &text)
                    .map_err(|unknown| Failure::Usage(format!("{unknown}{}", hint(model, &unknown))))?;
                columns.push((format!("{text} [{}]", reading.unit()), reading));
            }
        }
        Ok(Self { simulation, columns })
    }

    fn write(self, recording: &Recording, out: &mut dyn Write) -> Result<(), RecordingError> {
        let Self { mut simulation, columns } = self;
        let names = columns.iter().map(|(name, _)| name.clone());
        let rows = recording.frames().map(|frame| {
            let frame = frame?;
            // The length was compared with the scene when it was rebuilt.
            if let Ok(state) = State::unpack(&simulation.model.layout, &frame.state) {
                simulation.state = state;
                simulation.model.settle(&mut simulation.state);
            }
            let values = columns.iter().map(|(_, reading)| reading.value(&simulation)).collect();
            Ok((frame.time, values))
        });
        csv::write_table(names, rows, out)
    }
}

/// What was probably meant: another set of points, or another part of this one.
fn hint(model: &Model, unknown: &UnknownQuantity) -> String {
    let name = unknown.text.split(['.', '[']).next().unwrap_or_default();
    let groups = ["energy", "momentum", "angular_momentum", "time"];
    let sets = || model.blocks.iter().map(|b| b.name.as_str()).chain(groups);
    let meant = if sets().any(|set| set == name) {
        let part = unknown.text.rsplit('.').next().unwrap_or_default();
        suggest(part, unknown.candidates.iter().map(String::as_str))
    } else {
        suggest(name, sets())
    };
    meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default()
}
