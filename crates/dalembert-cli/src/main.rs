//! The program `dalembert`; see the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(dalembert_cli::run(std::env::args_os()))
}
