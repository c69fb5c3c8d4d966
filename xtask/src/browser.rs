//! A browser for the tests of the viewer's page.

use std::path::PathBuf;
use std::process::Command;

use crate::Outcome;
use crate::run::pass;

/// Finds a browser, or installs one where that is possible; says plainly if the browser tests will be skipped. With `CI`
/// set they must not be.
pub(crate) fn provide() -> Outcome {
    if let Some(path) = find() {
        println!("browser tests use {}", path.display());
        return Ok(());
    }
    let root = Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout.trim_ascii() == b"0");
    if root && on_path(&["apt-get"]).is_some() {
        println!("no browser found; installing Chromium");
        let installed = pass(Command::new("apt-get").arg("update"))
            .and_then(|()| pass(Command::new("apt-get").args(["install", "-y", "chromium"])));
        match installed {
            Ok(()) if find().is_some() => return Ok(()),
            Ok(()) => println!("the installed browser was not found"),
            Err(reason) => println!("{reason}"),
        }
    }
    if std::env::var_os("CI").is_some() {
        return Err("the browser tests need Chromium or Chrome, or DALEMBERT_BROWSER".into());
    }
    println!(
        "SKIPPED: no Chromium or Chrome found, so the browser tests will not run; DALEMBERT_BROWSER may name one"
    );
    Ok(())
}

/// The browser that `crates/dalembert-viewer/tests/browser.rs` will take.
fn find() -> Option<PathBuf> {
    match std::env::var_os("DALEMBERT_BROWSER") {
        Some(path) => Some(path.into()),
        None => on_path(&["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]),
    }
}

fn on_path(names: &[&str]) -> Option<PathBuf> {
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    names.iter().flat_map(|n| folders.iter().map(move |f| f.join(n))).find(|p| p.is_file())
}
