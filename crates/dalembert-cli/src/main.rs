//! The program `dalembert`.

mod bench;
mod verify;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run problems with known answers and compare
    Verify(verify::Args),
    /// Time named scenes on this machine
    Bench(bench::Args),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Verify(args) => verify::command(args),
        Command::Bench(args) => bench::command(args),
    }
}
