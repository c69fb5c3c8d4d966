//! The program `dalembert`: runs, checks, records and compares mechanical scenes.
//!
//! [`run`] is its whole `main`; [`record`] is what others need to write the same recordings.

mod bench;
mod commands;
mod drive;
mod exit;
mod expect;
mod guard;
mod output;
pub mod record;
mod setup;
mod svg;
mod verify;

use std::ffi::OsString;

use clap::{Parser, Subcommand};

/// Simulate mechanical scenes: particles, rigid bodies, joints, and whatever acts on them.
#[derive(Debug, Parser)]
#[command(name = "dalembert", version, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
First steps:
  dalembert examples                      what comes with the program
  dalembert examples run hello            run one of them
  dalembert examples copy hello .         take it as the start of your own
  dalembert run hello.toml -o hello.mcap  run it and record every state

`dalembert COMMAND --help` shows examples of a command, `dalembert run --help` the exit codes.";

/// One variant per command; each has a module of its own.
#[derive(Debug, Subcommand)]
enum Command {
    /// Run a scene, check its expectations, record it
    Run(commands::run::Args),
    /// Read a scene and tell what is in it, without running it
    Check(commands::check::Args),
    /// Run one scene under several methods and compare
    Compare(commands::compare::Args),
    /// Tell what a recording or a mesh file holds
    Info(commands::info::Args),
    /// Write a robot in another format: MJCF, URDF, or a scene of our own
    Convert(commands::convert::Args),
    /// Go on where a recording ends, with the same bits as if it had never stopped
    Resume(commands::resume::Args),
    /// Compare two recordings number by number
    Diff(commands::diff::Args),
    /// Write a recording as a table, or as moving meshes for other tools
    Export(commands::export::Args),
    /// Look at a scene or a recording in the browser
    View(commands::view::Args),
    /// Make a picture or a film of a scene or a recording
    Render(commands::render::Args),
    /// Plot energies, drift and tracks of a recording
    Plot(commands::plot::Args),
    /// List, run or copy the scenes that come with the program
    Examples(commands::examples::Args),
    /// Run problems with known answers and compare
    Verify(verify::Args),
    /// Time named scenes on this machine
    Bench(bench::Args),
    /// Print what a scene file may contain
    Schema(commands::schema::Args),
    /// Print completions for a shell
    Completions(commands::completions::Args),
    /// Print the manual page, or write the pages of all commands
    Man(commands::man::Args),
}

impl Command {
    /// Whether the caller is a program that reads one JSON object from the standard output.
    fn wants_json(&self) -> bool {
        match self {
            Self::Run(args) => args.options.json,
            Self::Check(args) => args.json,
            Self::Compare(args) => args.json,
            Self::Info(args) => args.json,
            Self::Resume(args) => args.json,
            Self::Diff(args) => args.json,
            Self::Examples(args) => args.wants_json(),
            _ => false,
        }
    }

    fn run(self) -> exit::Outcome {
        match self {
            Self::Run(args) => commands::run::command(args),
            Self::Check(args) => commands::check::command(args),
            Self::Compare(args) => commands::compare::command(args),
            Self::Info(args) => commands::info::command(args),
            Self::Convert(args) => commands::convert::command(args),
            Self::Resume(args) => commands::resume::command(args),
            Self::Diff(args) => commands::diff::command(args),
            Self::Export(args) => commands::export::command(args),
            Self::View(args) => commands::view::command(args),
            Self::Render(args) => commands::render::command(args),
            Self::Plot(args) => commands::plot::command(args),
            Self::Examples(args) => commands::examples::command(args),
            Self::Verify(args) => verify::command(args),
            Self::Bench(args) => bench::command(args),
            Self::Schema(args) => commands::schema::command(args),
            Self::Completions(args) => commands::completions::command(args),
            Self::Man(args) => commands::man::command(args),
        }
    }
}

/// Names and texts of the scenes that come with the program, and of the parts and robots that they use.
pub fn examples() -> &'static [(&'static str, &'static str)] {
    commands::examples::SCENES
}

/// Runs the program with the given arguments, its own name first. Returns its exit code.
///
/// Help, results and messages go to the standard streams. Other programs (the Python package) call it as `main` does.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    match Cli::try_parse_from(arguments) {
        Ok(Cli { command }) => {
            let json = command.wants_json();
            exit::finish(command.run(), json)
        }
        Err(error) => {
            // As `clap` does itself: there is nobody left to tell if the streams are closed.
            let _ = error.print();
            u8::try_from(error.exit_code()).unwrap_or(2)
        }
    }
}

/// The programs of the README, which the tests run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
