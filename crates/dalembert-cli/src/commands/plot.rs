//! `dalembert plot`: energies, drift and tracks over time.

use std::path::PathBuf;

use dalembert_formats::recording::Recording;
use dalembert_viewer::plot::{PlotOptions, check_ending, plot_recording};
use dalembert_viewer::render::Theme;

use crate::exit::{CODES, Outcome};
use crate::{guard, setup};

const EXAMPLES: &str = "\
Examples:
  dalembert plot run.mcap energy -o energy.svg
  dalembert plot run.mcap drift -o drift.png --dark
  dalembert plot run.mcap track:ball track:rope[-1] -o tracks.svg
  dalembert plot run.mcap ball.speed -o speed.svg

`energy` is every energy term, `drift` the change of their sum since the start relative to the
largest energy exchanged so far, `track:NAME` the place of a set of points
(its mean) or of one point, and anything else a quantity as in the expectations of a scene. Curves of one plot share
their unit.";

/// What `plot` takes.
#[derive(clap::Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n\n{CODES}"))]
pub(crate) struct Args {
    /// The recording; if only RECORDING.part exists, that is taken
    #[arg(value_name = "RECORDING")]
    recording: PathBuf,
    /// What to plot: energy, drift, track:NAME, or a quantity
    #[arg(value_name = "WHAT", required = true)]
    what: Vec<String>,
    /// The plot to write: .svg or .png
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Width and height [pixels]
    #[arg(long, value_name = "WxH", default_value = "800x480", value_parser = super::render::size)]
    size: (u32, u32),
    /// Dark background
    #[arg(long)]
    dark: bool,
}

pub(crate) fn command(args: Args) -> Outcome {
    check_ending(&args.output)?;
    let recording = Recording::open(&args.recording)?;
    guard::not_in_place(&args.output, [recording.path()])?;
    let model = setup::rebuild(&recording)?.simulation.model;
    if let Some(lost) = recording.truncated() {
        let count = recording.frame_count();
        eprintln!(
            "warning: the recording was cut off: {count} whole frames, {lost} bytes at its end ignored"
        );
    }
    let plot = plot_recording(&model, &recording, &args.what)?;
    let theme = if args.dark { Theme::Dark } else { Theme::Light };
    Ok(plot.write(&args.output, &PlotOptions { width: args.size.0, height: args.size.1, theme })?)
}
