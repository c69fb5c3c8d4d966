//! Lists the scenes at the root of the workspace, so that the program can carry them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let var = |name: &str| env::var_os(name).map(PathBuf::from).ok_or(io::ErrorKind::NotFound);
    let scenes = var("CARGO_MANIFEST_DIR")?.join("../../scenes");
    println!("cargo::rerun-if-changed={}", scenes.display());
    let mut found = Vec::new();
    if scenes.is_dir() {
        collect(&scenes.canonicalize()?, "", &mut found)?;
    }
    found.sort();
    let mut list = String::from("&[\n");
    for (name, path) in found {
        let _ = writeln!(list, "    ({name:?}, include_str!({path:?})),");
    }
    list.push_str("]\n");
    fs::write(var("OUT_DIR")?.join("scenes.rs"), list)
}

/// All scenes, meshes and robots in a folder and below, named by their path from the top.
fn collect(folder: &Path, above: &str, found: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = format!("{above}{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            collect(&path, &format!("{name}/"), found)?;
        } else if path.extension().is_some_and(|e| e == "toml" || e == "obj" || e == "xml" || e == "urdf") {
            found.push((name, path));
        }
    }
    Ok(())
}
