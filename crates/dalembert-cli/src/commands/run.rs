//! `dalembert run`: a scene from its start to its end.

use std::path::PathBuf;

use dalembert_formats::recording::Writer;
use dalembert_formats::scene::Built;

use crate::drive::Drive;
use crate::exit::{CODES, Outcome};
use crate::expect::Checks;
use crate::setup::{self, Overrides};

const EXAMPLES: &str = "\
Examples:
  dalembert run hello.toml                    run it as long as the scene says
  dalembert run hello.toml -t 10 -o run.mcap  ten seconds, recorded
  dalembert run hello.toml --integrator rk4 --dt 0.0005
  dalembert run hello.toml --json | jq .energy.drift";

/// What `run` takes.
#[derive(clap::Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n\n{CODES}"))]
pub(crate) struct Args {
    /// Scene file (TOML or JSON), or a robot by itself (MJCF or URDF)
    #[arg(value_name = "SCENE")]
    scene: PathBuf,
    #[command(flatten)]
    pub(crate) options: Options,
}

/// What `run` and `examples run` take.
#[derive(clap::Args, Debug)]
pub(crate) struct Options {
    /// How long to run [s of simulated time]; the scene's own duration if not given
    #[arg(short = 't', long = "time", value_name = "SECONDS", value_parser = setup::not_negative)]
    time: Option<f64>,
    /// Record the states in this file (MCAP); it appears under this name when it is whole
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Record each N-th step; about 60 frames per simulated second if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    every: Option<u64>,
    /// Number of threads; does not change the result [default: one per core]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only what went wrong
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    pub(crate) overrides: Overrides,
}

/// A sensible number of threads.
pub(crate) fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=1024) => Ok(n),
        Ok(_) => Err("must lie between 1 and 1024".into()),
        Err(_) => Err("is not a whole number".into()),
    }
}

pub(crate) fn command(args: Args) -> Outcome {
    let Args { scene, options } = args;
    let name = scene.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    setup::on_threads(options.threads, || {
        let built = setup::load(&scene, &options.overrides)?;
        start(built, &name, &options)
    })
}

/// Runs a scene that was built with `options.overrides`, from its start.
pub(crate) fn start(built: Built, name: &str, options: &Options) -> Outcome {
    let dt = built.simulation.dt;
    let until = setup::steps(options.time.unwrap_or(built.duration), dt)?;
    let every = options.every.unwrap_or_else(|| (1.0 / (60.0 * dt)).round().max(1.0) as u64);
    let writer = match &options.output {
        Some(path) => {
            let header = setup::header(&built, name, &options.overrides, every);
            Some((Writer::create(path, &header)?, 0))
        }
        None => None,
    };
    Drive {
        checks: Checks::new(built.expect, &built.simulation.model)?,
        scene_steps: setup::steps(built.duration, dt)?,
        title: if built.title.is_empty() { name.to_owned() } else { built.title },
        simulation: built.simulation,
        until,
        every,
        writer,
        seed: options.overrides.seed.unwrap_or(built.seed),
        warnings: built.warnings,
        json: options.json,
        quiet: options.quiet,
    }
    .run()
}
