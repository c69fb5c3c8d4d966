//! `cargo xtask bits FILE`: a fingerprint of the last state of every scene, to be compared after a change that should
//! change no bit.

use std::collections::BTreeMap;
use std::path::Path;

use crate::Outcome;
use crate::run::{build_program, files, output, program, read, root};

/// Name of a scene and the fingerprint of its last state.
type Table = BTreeMap<String, String>;

/// Runs every scene and writes the table.
pub(crate) fn write(file: &str) -> Outcome {
    let text: String = table()?.iter().map(|(scene, bits)| format!("{scene} {bits}\n")).collect();
    std::fs::write(file, text).map_err(|e| format!("cannot write `{file}`: {e}"))
}

/// Runs every scene and names those whose last state has other bits than the table says.
pub(crate) fn check(file: &str) -> Outcome {
    let before = read(Path::new(file))?;
    let before: Table = before
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(scene, bits)| (scene.to_owned(), bits.to_owned()))
        .collect();
    let after = table()?;
    let changed: Vec<&str> = before
        .iter()
        .filter(|&(scene, bits)| after.get(scene) != Some(bits))
        .map(|(scene, _)| scene.as_str())
        .collect();
    println!("bits: {} of {} scenes as before", before.len() - changed.len(), before.len());
    if changed.is_empty() { Ok(()) } else { Err(format!("other bits: {}", changed.join(", "))) }
}

fn table() -> Outcome<Table> {
    build_program()?;
    let mut table = Table::new();
    for scene in files(&root().join("scenes"), "toml")? {
        let name = scene.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let path = scene.to_string_lossy().into_owned();
        let report = output(&mut program(&["run", &path, "--json"])?)?;
        let line = report.lines().find_map(|line| line.trim().strip_prefix("\"fingerprint\": "));
        let bits = line.ok_or_else(|| format!("the report on `{name}` has no fingerprint"))?;
        table.insert(name, bits.trim_matches([',', '"']).to_owned());
    }
    Ok(table)
}
