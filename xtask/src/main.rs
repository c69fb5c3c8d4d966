//! Chores of the workspace: `cargo xtask help` lists them.

mod bits;
mod book;
mod browser;
mod conformance;
mod counts;
mod gallery;
mod peers;
mod peers_contact;
mod peers_ipctk;
mod peers_robots;
mod python;
mod run;
mod schema;
mod suite;

use std::process::ExitCode;

const HELP: &str = "\
Chores of the dalembert workspace.

  cargo xtask test              format, book, lints, tests, Python package, docs, schema, scenes, verify
  cargo xtask conformance       tests against the shared data (DALEMBERT_SHARED, or ../shared)
  cargo xtask python            the wheel of the Python package in a fresh virtual environment
  cargo xtask peers [TABLE ...] our speed beside that of others (particles, joints, robots, contact, cloth, collide)
  cargo xtask bits FILE         write (with --check compare) a fingerprint of the last state of every scene
  cargo xtask counts [--check]  sizes of files and functions, kernels, booleans, constants, lines per module
  cargo xtask schema [--check]  write (or compare) the files made from the description of scenes
  cargo xtask gallery [--check] render (or look for) a picture of every scene in book/src/pictures
  cargo xtask help              this text
";

/// What a chore says when it fails: one plain message.
pub(crate) type Outcome<T = ()> = Result<T, String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["test"] => suite::run(),
        ["conformance"] => conformance::run(),
        ["peers", ..] => peers::run(&words[1..]),
        ["python"] => python::test(),
        ["bits", file] => bits::write(file),
        ["bits", file, "--check"] => bits::check(file),
        ["counts"] => counts::run(false),
        ["counts", "--check"] => counts::run(true),
        ["schema"] => schema::write(),
        ["schema", "--check"] => schema::check(),
        ["gallery"] => gallery::write(),
        ["gallery", "--check"] => gallery::check(),
        ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
