//! What the README and the book say can be typed.
//!
//! A block marked `toml` is a whole scene: it is built and runs. One marked `toml,fragment` is part of a scene: its keys and
//! values are read. A line `dalembert COMMAND scenes/…` names a scene that is there. Blocks of Rust are run as tests of the
//! documentation, those of Python by the tests of the package.

use std::path::{Path, PathBuf};

use dalembert_formats::scene;
use dalembert_formats::source::Includes;

/// A block of code: its file, its line, what it is marked with, its text.
struct Block {
    place: String,
    mark: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The README and the chapters of the book.
fn pages() -> Vec<(String, String)> {
    let mut paths = vec![root().join("README.md")];
    let chapters = std::fs::read_dir(root().join("book/src")).unwrap().map(|e| e.unwrap().path());
    paths.extend(chapters.filter(|p| p.extension().is_some_and(|e| e == "md")));
    paths.sort();
    let read = |p: PathBuf| {
        (p.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(p).unwrap())
    };
    paths.into_iter().map(read).collect()
}

fn blocks() -> Vec<Block> {
    let mut all = Vec::new();
    for (page, text) in pages() {
        let mut open: Option<Block> = None;
        for (number, line) in text.lines().enumerate() {
            match (line.strip_prefix("```"), &mut open) {
                (Some(mark), None) => {
                    let place = format!("{page}:{}", number + 1);
                    open = Some(Block { place, mark: mark.to_owned(), text: String::new() });
                }
                (Some(_), Some(_)) => all.extend(open.take()),
                (None, Some(block)) => {
                    // A scene of the project that mdBook puts in.
                    let included = line.strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}"));
                    let path = included.map(|path| root().join("book/src").join(path));
                    let line = path.map_or(line.to_owned(), |path| std::fs::read_to_string(path).unwrap());
                    block.text += &(line + "\n");
                }
                (None, None) => {}
            }
        }
    }
    all
}

#[test]
fn every_scene_of_the_book_runs_and_every_fragment_is_read() {
    let (mut scenes, mut fragments) = (0, 0);
    let folder = root().join("scenes");
    for Block { place, mark, text } in blocks() {
        let whole = match mark.as_str() {
            "toml" => true,
            "toml,fragment" => false,
            _ => continue,
        };
        let read = scene::load_text("block.toml", &text, Includes::Directory(&folder));
        let file = read.unwrap_or_else(|e| panic!("{place}: {e}"));
        if !whole {
            fragments += 1;
            continue;
        }
        let mut built = file.build().unwrap_or_else(|e| panic!("{place}: {e}"));
        for _ in 0..20 {
            built.simulation.step().unwrap_or_else(|e| panic!("{place}: {e}"));
        }
        scenes += 1;
    }
    assert!(scenes >= 3 && fragments >= 5, "{scenes} scenes and {fragments} fragments were found");
}

#[test]
fn every_scene_that_a_command_of_the_book_names_is_there() {
    let mut named = 0;
    for Block { place, text, .. } in blocks().into_iter().filter(|b| b.mark == "sh") {
        for word in text.lines().filter_map(|l| l.split('#').next()).flat_map(str::split_whitespace) {
            if word.starts_with("scenes/") {
                named += 1;
                assert!(root().join(word).is_file(), "{place}: there is no `{word}`");
            }
        }
    }
    assert!(named > 50, "{named}");
}

#[test]
fn mathematics_is_written_between_dollars_in_every_chapter() {
    for (page, text) in pages() {
        for (number, line) in text.lines().enumerate() {
            let raw = ["\\\\(", "\\\\)", "\\\\[", "\\\\]"].iter().find(|mark| line.contains(**mark));
            assert!(
                raw.is_none(),
                "{page}:{}: `{}` is shown as it stands: write $",
                number + 1,
                raw.unwrap()
            );
        }
        let outside: String = text.split("```").step_by(2).collect();
        let plain: String = outside.split('`').step_by(2).collect();
        assert!(plain.matches('$').count().is_multiple_of(2), "{page}: a `$` has no other");
    }
}

#[test]
fn a_straight_rod_is_read_as_the_reference_describes_it() {
    let text =
        "method = 'implicit'\n[[rod]]\nname = 'r'\nline = { from = [0, 0, 0], to = [1, 0, 0], edges = 4 }";
    let file = scene::load_text("rod.toml", text, Includes::None).unwrap();
    assert_eq!(file.build().unwrap().simulation.model.layout.particles, 5);
    let reference = std::fs::read_to_string(root().join("book/src/scene-reference.md")).unwrap();
    let rod = reference.split("\n## `rod`\n").nth(1).unwrap();
    let row = rod.lines().find(|l| l.starts_with("| `line` |")).unwrap();
    let anchor = row.split("(#").nth(1).unwrap().split(')').next().unwrap();
    let table = reference.split(&format!("\n## `{anchor}`\n")).nth(1).unwrap().split("\n## ").next().unwrap();
    for key in ["from", "to", "edges"] {
        assert!(table.contains(&format!("| `{key}` |")), "{table}");
    }
}
