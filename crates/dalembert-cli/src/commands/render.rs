//! `dalembert render`: pictures and films without a display.

use std::io::IsTerminal;
use std::path::PathBuf;

use dalembert_viewer::drawing::{Group, Groups};
use dalembert_viewer::render::{Theme, View, check_ending};
use dalembert_viewer::{Film, RenderOptions, render_film};
use indicatif::{ProgressBar, ProgressStyle};

use super::seeing;
use crate::exit::{self, CODES, Failure, Outcome};
use crate::guard;
use crate::setup::{self, Overrides};

const EXAMPLES: &str = "\
Examples:
  dalembert render hello.toml -o hello.png --time 40%    one moment
  dalembert render run.mcap -o run.gif --fps 20          the whole recording
  dalembert render run.mcap -o run.mp4 --size 1280x720   needs ffmpeg
  dalembert render hello.toml -o hello.png --camera 30,20 --dark --show velocity,force
  dalembert render stack.toml -o stack.png --show contact    points, normals and forces of contact

The same input gives the same pixels. A camera is `azimuth,elevation` or `azimuth,elevation,distance` (degrees, metres)
or `x,y,z:x,y,z` (its place and what it looks at).";

/// What `render` takes.
#[derive(clap::Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n\n{CODES}"))]
pub(crate) struct Args {
    /// A scene (TOML, or JSON if its name ends in .json) or a recording
    #[arg(value_name = "SCENE|RECORDING")]
    input: PathBuf,
    /// The picture (.png) or film (.gif, .mp4) to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The moment of a picture, the length of a film [s, or % of the whole]; the end if not given
    #[arg(short = 't', long = "time", value_name = "T", value_parser = moment)]
    time: Option<Moment>,
    /// Where to look from
    #[arg(long, value_name = "CAMERA", allow_hyphen_values = true, value_parser = View::parse)]
    camera: Option<View>,
    /// Width and height [pixels]
    #[arg(long, value_name = "WxH", default_value = "960x640", value_parser = size)]
    size: (u32, u32),
    /// Pictures per second of a film
    #[arg(long, value_name = "N", default_value_t = 30.0, value_parser = setup::positive)]
    fps: f64,
    /// Dark background
    #[arg(long)]
    dark: bool,
    /// Show more: contact, joint, velocity, force, frame, mapped, inside, violation, …
    #[arg(long, value_name = "GROUP", value_delimiter = ',', value_parser = group)]
    show: Vec<Group>,
    /// Show less: spring, fixed, …
    #[arg(long, value_name = "GROUP", value_delimiter = ',', value_parser = group)]
    hide: Vec<Group>,
    /// Draw the paths of bodies, where there are only a few
    #[arg(long)]
    trails: bool,
    /// Write a PNG with 256 colours: a third of the size
    #[arg(long)]
    small: bool,
    /// Number of threads; does not change the result [default: one per core]
    #[arg(long, value_name = "N", value_parser = super::run::threads)]
    threads: Option<usize>,
    #[command(flatten)]
    overrides: Overrides,
}

/// A time in seconds or as a share of the whole.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Moment {
    Seconds(f64),
    Share(f64),
}

fn moment(text: &str) -> Result<Moment, String> {
    match text.strip_suffix('%') {
        Some(share) => setup::not_negative(share).map(|share| Moment::Share(0.01 * share)),
        None => setup::not_negative(text).map(Moment::Seconds),
    }
}

pub(super) fn size(text: &str) -> Result<(u32, u32), String> {
    let side = |s: &str| s.trim().parse().ok().filter(|n| (16..=8192).contains(n));
    let both = text.split_once(['x', 'X']).and_then(|(w, h)| Some((side(w)?, side(h)?)));
    both.ok_or_else(|| "should read WIDTHxHEIGHT, each 16 to 8192".into())
}

pub(super) fn group(text: &str) -> Result<Group, String> {
    let known = || Group::ALL.map(Group::name).join(", ");
    Group::from_name(text).ok_or_else(|| format!("is none of {}", known()))
}

pub(crate) fn command(args: Args) -> Outcome {
    // Before anything is simulated for hours.
    check_ending(&args.output)?;
    guard::not_in_place(&args.output, [&args.input])?;
    setup::on_threads(args.threads, || render(&args))
}

fn render(args: &Args) -> Outcome {
    let mut moving = seeing::open(&args.input, &args.overrides)?;
    exit::warn(&moving.warnings);
    moving.check_shown(&args.show)?;
    let end = match args.time {
        None => moving.duration,
        Some(Moment::Seconds(t)) => t,
        Some(Moment::Share(share)) => share * moving.duration,
    };
    let mut groups = args.show.iter().fold(Groups::default(), |all, g| all.with(*g));
    groups = args.hide.iter().fold(groups, |all, g| all.without(*g));
    let picture = args.output.extension().is_some_and(|e| e.eq_ignore_ascii_case("png"));
    let player = moving.player.as_mut();
    let mut film = match picture && !args.trails {
        true => Film::still(player, end, groups)?,
        // A picture needs no more moments than its trails have places.
        false if picture => Film::take(player, end, 600.0 / end.max(1e-9), groups)?,
        false => Film::take(player, end, args.fps, groups)?,
    };
    if args.trails {
        film = film.with_trails();
    }
    let options = RenderOptions {
        width: args.size.0,
        height: args.size.1,
        view: args.camera.unwrap_or_default(),
        theme: if args.dark { Theme::Dark } else { Theme::Light },
        groups,
        fps: args.fps,
        few_colours: args.small,
        ..RenderOptions::default()
    };
    let bar = progress(if picture { 0 } else { film.frames.len() as u64 });
    let done = render_film(&film, &options, &args.output, |n| bar.set_position(n as u64));
    bar.finish_and_clear();
    done.map_err(Failure::from)
}

/// A bar on the standard error of a terminal; hidden for a single picture.
fn progress(pictures: u64) -> ProgressBar {
    if pictures == 0 || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(pictures);
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos} of {len} pictures  {eta} left") {
        bar.set_style(style);
    }
    bar
}
