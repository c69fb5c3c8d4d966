//! The list of modules in `lib.rs` is the direction of `use`: a module uses those above it, never one below. The same holds
//! for the modules of `step` and `contact` among each other. Tests may use everything.

use std::path::{Path, PathBuf};

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The modules that a file declares, in its order; not the tests.
fn declared(file: &Path) -> Vec<String> {
    let text = read(file);
    let mut names = Vec::new();
    let mut test = false;
    for line in text.lines() {
        let words = line
            .trim_start_matches("pub(crate) ")
            .trim_start_matches("pub(super) ")
            .trim_start_matches("pub ");
        if let Some(name) = words.strip_prefix("mod ").and_then(|name| name.strip_suffix(';'))
            && !test
        {
            names.push(name.to_owned());
        }
        test = line == "#[cfg(test)]";
    }
    names
}

/// Source files of a module: `NAME.rs`, or all below `NAME/`; files of tests are left out.
fn files(folder: &Path, name: &str) -> Vec<PathBuf> {
    let file = folder.join(format!("{name}.rs"));
    let mut found = if file.is_file() { vec![file] } else { Vec::new() };
    let mut folders = vec![folder.join(name)];
    while let Some(next) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(next) else { continue };
        for path in entries.map(|e| e.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if !path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("tests")) {
                found.push(path);
            }
        }
    }
    found
}

/// What a file says to the compiler outside its tests: without comments, on one line, from its first `#[cfg(test)]` module on
/// nothing.
fn code(file: &Path) -> String {
    let text = read(file);
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default().trim()).collect::<Vec<_>>().join(" ")
}

/// The module names that follow `prefix` (`crate::`, say): one, or those of a group in braces.
fn named_after(code: &str, prefix: &str) -> Vec<String> {
    let word = |s: &str| s.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut names = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            names.push(word(rest));
            continue;
        };
        let mut depth = 0;
        let mut start = true;
        for (i, c) in group.char_indices() {
            if start && !c.is_whitespace() {
                names.push(word(&group[i..]));
            }
            start = (start && c.is_whitespace()) || (c == ',' && depth == 0);
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                _ => {}
            }
        }
    }
    names
}

/// Uses against the order of `list`: the modules of the folder, and how their siblings are called from inside them.
fn against(folder: &Path, list: &[String], prefix: &str) -> Vec<String> {
    let place = |name: &str| list.iter().position(|m| m == name);
    let mut found = Vec::new();
    for (k, module) in list.iter().enumerate() {
        for file in files(folder, module) {
            let code = code(&file);
            let depth = file.strip_prefix(folder).unwrap().components().count();
            let is_root = depth == 1 || (depth == 2 && file.ends_with("mod.rs"));
            let inside = depth.saturating_sub(usize::from(file.ends_with("mod.rs")));
            let siblings = if is_root { String::from("super::") } else { "super::".repeat(inside) };
            let names = named_after(&code, prefix).into_iter().chain(named_after(&code, &siblings));
            for used in names.filter(|used| place(used).is_some_and(|p| p > k)) {
                let file = file.strip_prefix(sources()).unwrap().display();
                found.push(format!("{file} uses {used}, which stands below {module}"));
            }
        }
    }
    found
}

#[test]
fn modules_use_only_those_above_them() {
    let list = declared(&sources().join("lib.rs"));
    assert!(list.len() > 10, "{list:?}");
    let found = against(&sources(), &list, "crate::");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn modules_of_step_and_contact_use_only_those_above_them() {
    for parent in ["step", "contact"] {
        let folder = sources().join(parent);
        let list = declared(&folder.join("mod.rs"));
        assert!(list.len() > 2, "{parent}: {list:?}");
        let found = against(&folder, &list, &format!("crate::{parent}::"));
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

#[test]
fn a_use_against_the_order_is_found() {
    assert_eq!(
        named_after("use crate::step::Method; let x = crate::math::dot;", "crate::"),
        ["step", "math"]
    );
    assert_eq!(named_after("use crate::{math::{Vec3, dot}, step::Method};", "crate::"), ["math", "step"]);
    assert_eq!(named_after("use super::phase::{self, Scheme};", "super::"), ["phase"]);
    assert!(named_after("use super::super::phase;", "crate::").is_empty());
    // The list of lib.rs turned round is against the order at many places.
    let mut list = declared(&sources().join("lib.rs"));
    list.reverse();
    assert!(against(&sources(), &list, "crate::").len() > 20);
}
