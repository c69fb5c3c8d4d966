//! `cargo xtask schema`: the published JSON Schema of scenes, the book's list of keys and the tables of the Python
//! package, as the program prints them.

use std::path::PathBuf;

use crate::Outcome;
use crate::run::{build_program, output, program, root};

/// Each committed file, and the arguments that make the program print it.
const FILES: [(&str, &[&str]); 3] = [
    ("scenes/schema.json", &["schema"]),
    ("book/src/scene-reference.md", &["schema", "--format", "markdown"]),
    ("crates/dalembert-py/python/dalembert/_tables.py", &["schema", "--format", "python"]),
];

/// Writes the files anew.
pub(crate) fn write() -> Outcome {
    build_program()?;
    for (path, text) in printed()? {
        let folder = path.parent().unwrap_or(&path);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|e| format!("cannot write `{}`: {e}", path.display()))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// Fails if a committed file is not what the program prints.
pub(crate) fn check() -> Outcome {
    build_program()?;
    for (path, text) in printed()? {
        if std::fs::read_to_string(&path).ok().as_ref() != Some(&text) {
            let name = path.display();
            return Err(format!("`{name}` is missing or stale: run `cargo xtask schema` and commit it"));
        }
    }
    Ok(())
}

fn printed() -> Outcome<Vec<(PathBuf, String)>> {
    let print = |(path, arguments): &(&str, &[&str])| {
        let text = output(&mut program(arguments)?)?;
        if text.trim().is_empty() {
            return Err(format!("`dalembert {}` printed nothing", arguments.join(" ")));
        }
        Ok((root().join(path), text))
    };
    FILES.iter().map(print).collect()
}
