//! `cargo xtask test`: everything that must hold before a change goes in.

use std::time::Instant;

use crate::run::{build_program, cargo, files, output, pass, program, root};
use crate::{Outcome, book, browser, counts, python, schema};

type Stage = (&'static str, fn() -> Outcome);

/// In the order in which a mistake is found soonest.
const STAGES: &[Stage] = &[
    ("format", || pass(&mut cargo(&["fmt", "--all", "--check"]))),
    ("book", || book::check(&root())),
    ("counts", || counts::run(true)),
    ("lints", lints),
    ("browser", browser::provide),
    ("tests", || pass(&mut cargo(&["test", "--workspace"]))),
    ("python", python::test),
    ("docs", || pass(cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))),
    ("program", build_program),
    ("schema", schema::check),
    ("scenes", scenes),
    ("verify", || pass(&mut program(&["verify"])?)),
];

pub(crate) fn run() -> Outcome {
    for (name, stage) in STAGES {
        println!("\n== {name}");
        let start = Instant::now();
        stage().map_err(|message| format!("stage `{name}` failed: {message}"))?;
        println!("== {name}: {:.1} s", start.elapsed().as_secs_f64());
    }
    println!("\nxtask test: all stages passed");
    Ok(())
}

/// The conformance tests are linted here too: they are built only where the shared data are.
fn lints() -> Outcome {
    let features = ["--features", "dalembert-cli/conformance,dalembert-formats/conformance"];
    let command =
        ["clippy", "--workspace", "--all-targets", features[0], features[1], "--", "-D", "warnings"];
    pass(&mut cargo(&command))
}

/// Runs every scene; its `[[expect]]` tables decide.
fn scenes() -> Outcome {
    let scenes = files(&root().join("scenes"), "toml")?;
    if scenes.is_empty() {
        return Err("there are no scenes in `scenes/`".into());
    }
    for scene in scenes {
        let path = scene.to_str().ok_or_else(|| format!("`{}` is not a plain name", scene.display()))?;
        let start = Instant::now();
        output(&mut program(&["run", path])?)?;
        let name = scene.file_stem().unwrap_or_default().to_string_lossy();
        println!("{name}: {:.1} s", start.elapsed().as_secs_f64());
    }
    Ok(())
}
