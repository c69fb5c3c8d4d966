//! `cargo xtask conformance`: the tests that need the shared data beside the project.

use std::path::PathBuf;

use crate::Outcome;
use crate::run::{cargo, pass, root};

/// Runs them, or says that they were skipped. On a server (`CI` is set) skipping is a failure.
pub(crate) fn run() -> Outcome {
    let Some(shared) = shared() else {
        println!("skipped: no shared data");
        return if on_server() {
            Err("the shared data must be there when CI is set: see DALEMBERT_SHARED".into())
        } else {
            Ok(())
        };
    };
    for (package, test) in [
        ("dalembert-cli", "conformance"),
        ("dalembert-formats", "robots_conformance"),
        ("dalembert-formats", "robots_whole_conformance"),
        ("dalembert-formats", "rigid_ipc_conformance"),
        ("dalembert-formats", "rigid_ipc_running"),
        ("dalembert-formats", "robots_dynamics"),
        ("dalembert-formats", "robots_running"),
        ("dalembert-formats", "robots_contact"),
        ("dalembert-formats", "coupling_conformance"),
    ] {
        // Tables of models are part of the result, so nothing is captured.
        let tests = ["--package", package, "--features", "conformance", "--test", test, "--", "--nocapture"];
        pass(cargo(&["test", "--release"]).args(tests).env("DALEMBERT_SHARED", &shared))?;
    }
    println!("xtask conformance: passed");
    Ok(())
}

/// The folder named by `DALEMBERT_SHARED`, or else `../shared`, if it holds the cases.
pub(crate) fn shared() -> Option<PathBuf> {
    let folder = match std::env::var_os("DALEMBERT_SHARED") {
        Some(folder) => root().join(folder),
        None => root().parent()?.join("shared"),
    };
    folder.join("cases/INDEX.json").is_file().then_some(folder)
}

fn on_server() -> bool {
    std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}
