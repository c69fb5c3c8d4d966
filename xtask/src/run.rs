//! Paths of the workspace and the running of other programs.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Outcome;

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder), // an absolute folder stays as it is
        None => root().join("target"),
    }
}

/// A folder of our own for files that programs leave behind.
pub(crate) fn scratch() -> Outcome<PathBuf> {
    let folder = target().join("xtask");
    std::fs::create_dir_all(&folder).map_err(|e| format!("cannot create `{}`: {e}", folder.display()))?;
    Ok(folder)
}

/// Cargo with these arguments, at the root of the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// The release program with these arguments, in the scratch folder.
pub(crate) fn program(arguments: &[&str]) -> Outcome<Command> {
    let path = target().join("release").join(format!("dalembert{}", std::env::consts::EXE_SUFFIX));
    if !path.is_file() {
        return Err(format!("`{}` is missing: cargo build --release -p dalembert-cli", path.display()));
    }
    let mut command = Command::new(path);
    command.args(arguments).current_dir(scratch()?).stdin(Stdio::null());
    Ok(command)
}

/// Builds the release program.
pub(crate) fn build_program() -> Outcome {
    pass(&mut cargo(&["build", "--release", "--package", "dalembert-cli"]))
}

/// Runs a command whose output the user sees; anything but success is an error.
pub(crate) fn pass(command: &mut Command) -> Outcome {
    let status = command.status().map_err(|e| not_started(command, &e))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` failed ({status})", words(command))) }
}

/// Runs a command and returns what it printed; on failure the error ends with what it said.
pub(crate) fn output(command: &mut Command) -> Outcome<String> {
    let output = command.output().map_err(|e| not_started(command, &e))?;
    if output.status.success() {
        let not_text = |_| format!("`{}` printed bytes that are not text", words(command));
        return String::from_utf8(output.stdout).map_err(not_text);
    }
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Err(format!("`{}` failed ({})\n{}{}", words(command), output.status, said[0], said[1]))
}

/// As [`output`], but a command that takes longer than `limit` is ended; then `None`.
pub(crate) fn output_within(command: &mut Command, limit: Duration) -> Outcome<Option<String>> {
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|e| not_started(command, &e))?;
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => break,
            Ok(Some(status)) => return Err(format!("`{}` failed ({status})", words(command))),
            Ok(None) if start.elapsed() < limit => std::thread::sleep(Duration::from_millis(20)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Ok(None);
            }
            Err(e) => return Err(format!("cannot wait for `{}`: {e}", words(command))),
        }
    }
    let mut printed = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        let read = stdout.read_to_string(&mut printed);
        read.map_err(|e| format!("cannot read what `{}` printed: {e}", words(command)))?;
    }
    Ok(Some(printed))
}

fn not_started(command: &Command, error: &std::io::Error) -> String {
    format!("cannot start `{}`: {error}", words(command))
}

fn words(command: &Command) -> String {
    let name = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(name).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Files directly in `folder` with this extension, in the order of their names.
pub(crate) fn files(folder: &Path, extension: &str) -> Outcome<Vec<PathBuf>> {
    let unreadable = |e: std::io::Error| format!("cannot read the folder `{}`: {e}", folder.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_file() && path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The text of a file.
pub(crate) fn read(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).map_err(|e| format!("cannot read `{}`: {e}", path.display()))
}
