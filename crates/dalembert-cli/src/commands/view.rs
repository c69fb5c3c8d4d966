//! `dalembert view`: a scene or a recording in the browser.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use dalembert_viewer::drawing::{Group, Groups};
use dalembert_viewer::{ServerOptions, ViewOptions};

use super::seeing;
use crate::exit::{self, Failure, Outcome};
use crate::output;
use crate::setup::{self, Overrides};

const EXAMPLES: &str = "\
Examples:
  dalembert view hello.toml               run it live; drag things with the mouse
  dalembert view stack.toml --show contact
                                          with points, normals and forces of contact
  dalembert view run.mcap                 look at a recording; the slider moves through time
  dalembert view hello.toml --no-open     print the address only
  dalembert view hello.toml --bind 0.0.0.0 --port 9000
                                          for other machines too; the address then holds a secret token

Time begins when the page shows its first picture and stops at the duration of the scene; Play then goes on.
The page is served by this program and asks no other host. If the port is in use, the next free one is taken and
printed. Ctrl-C ends it.";

/// What `view` takes.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A scene (TOML, or JSON if its name ends in .json) or a recording
    #[arg(value_name = "SCENE|RECORDING")]
    input: PathBuf,
    /// Port to listen on; if it is in use, the next free one
    #[arg(long, value_name = "PORT", default_value_t = 8420)]
    port: u16,
    /// Address to listen on; by default only this machine can connect
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,
    /// Do not open the browser
    #[arg(long)]
    no_open: bool,
    /// Show more from the start: contact, joint, velocity, force, frame, …
    #[arg(long, value_name = "GROUP", value_delimiter = ',', value_parser = super::render::group)]
    show: Vec<Group>,
    /// Start paused
    #[arg(long)]
    paused: bool,
    /// How fast time runs; 1 is real time
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = setup::positive)]
    speed: f64,
    /// Number of threads; does not change the result [default: one per core]
    #[arg(long, value_name = "N", value_parser = super::run::threads)]
    threads: Option<usize>,
    #[command(flatten)]
    overrides: Overrides,
}

pub(crate) fn command(args: Args) -> Outcome {
    setup::on_threads(args.threads, || view(&args))
}

fn view(args: &Args) -> Outcome {
    let mut moving = seeing::open(&args.input, &args.overrides)?;
    exit::warn(&moving.warnings);
    moving.check_shown(&args.show)?;
    let shown = args.show.iter().fold(Groups::default(), |all, g| all.with(*g));
    let options = ViewOptions {
        server: ServerOptions { address: args.bind, port: args.port, shown, ..ServerOptions::default() },
        playing: !args.paused,
        speed: args.speed,
        until: moving.live.then_some(moving.duration),
        open: !args.no_open,
    };
    let stop = crate::drive::interrupt_flag();
    let mut told = Ok(());
    dalembert_viewer::view(
        moving.player.as_mut(),
        &options,
        |server| {
            if args.port != 0 && server.address().port() != args.port {
                eprintln!("port {} is in use; taking {}", args.port, server.address().port());
            }
            told = output::print(&format!("{}\n{}\n", output::safe(&moving.title), server.url()));
        },
        |error| eprintln!("{}: {error}", output::stderr().red("error")),
        || !stop.load(Ordering::Relaxed),
    )?;
    told?;
    Err(Failure::Interrupted)
}
