//! The book without a book builder: every chapter is there, and every link leads somewhere.
//!
//! Looked at are inline links and pictures, link definitions (`[name]: target`) and `{{#include file}}`.
//! A link into the project may name lines (`#L12` or `#L12-L20`), which must exist; one to a chapter may name
//! a heading. Addresses on the web are not followed, except that one with `/blob/main/` or `/tree/main/` in
//! it is taken as a file of this project.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::Outcome;
use crate::run::read;

/// Checks `book/src` below `root`; the error lists everything that is wrong.
pub(crate) fn check(root: &Path) -> Outcome {
    let source = root.join("book/src");
    let summary = source.join("SUMMARY.md");
    let mut wrong = Vec::new();
    let mut chapters = BTreeSet::from([summary.clone()]);
    for link in links(&read(&summary)?) {
        let chapter = tidy(&source.join(&link.target));
        if link.target.ends_with(".md") && chapter.is_file() {
            chapters.insert(chapter);
        } else if !link.target.is_empty() {
            wrong.push(format!("SUMMARY.md:{}: there is no chapter `{}`", link.line, link.target));
        }
    }
    for file in markdown_files(&source)? {
        if !chapters.contains(&file) {
            let name = file.strip_prefix(&source).unwrap_or(&file).display().to_string();
            wrong.push(format!("{name}: not in SUMMARY.md"));
        }
    }
    let mut links_seen = 0;
    for chapter in &chapters {
        let name = chapter.strip_prefix(&source).unwrap_or(chapter).display().to_string();
        for link in links(&read(chapter)?) {
            links_seen += 1;
            if let Err(reason) = follow(&link.target, chapter, root) {
                wrong.push(format!("{name}:{}: {reason}", link.line));
            }
        }
    }
    if wrong.is_empty() {
        println!("{} chapters, {links_seen} links", chapters.len() - 1);
        return Ok(());
    }
    Err(format!("{} faults in the book\n{}", wrong.len(), wrong.join("\n")))
}

struct Link {
    line: usize,
    target: String,
}

/// The links of a Markdown text, those in code left out.
fn links(text: &str) -> Vec<Link> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (number, full_line) in text.lines().enumerate() {
        let trimmed = full_line.trim_start();
        let mut add = |target: &str| found.push(Link { line: number + 1, target: target.to_owned() });
        // `{{#include}}` works inside code as well.
        for rest in full_line.split("{{#include ").skip(1) {
            add(rest.split(['}', ':']).next().unwrap_or_default().trim());
        }
        match fence {
            Some(mark) => {
                if trimmed.starts_with(mark) {
                    fence = None;
                }
                continue;
            }
            None => {
                fence = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
                if fence.is_some() {
                    continue;
                }
            }
        }
        let line = without_code(full_line);
        for rest in line.split("](").skip(1) {
            add(destination(rest));
        }
        if let Some((name, rest)) = line.trim_start().split_once("]: ")
            && name.starts_with('[')
            && !name.starts_with("[^")
        {
            add(rest.split_whitespace().next().unwrap_or_default());
        }
    }
    found
}

/// The target in `target "title")…` or `<target>)…`; parentheses in a target are in pairs.
fn destination(rest: &str) -> &str {
    if let Some(inner) = rest.strip_prefix('<') {
        return inner.split('>').next().unwrap_or_default();
    }
    let mut depth = 0;
    let end = rest.find(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth < 0 || c.is_whitespace()
    });
    &rest[..end.unwrap_or(rest.len())]
}

/// The line with `code` blanked out.
fn without_code(line: &str) -> String {
    line.split('`').enumerate().map(|(i, piece)| if i % 2 == 0 { piece } else { "code" }).collect()
}

fn follow(target: &str, chapter: &Path, root: &Path) -> Outcome {
    let inside = ["/blob/main/", "/tree/main/"].iter().find_map(|mark| target.split_once(mark));
    let (file, fragment) = match target.split_once('#') {
        Some((file, fragment)) => (file, Some(fragment)),
        None => (target, None),
    };
    let path = if let Some((_, path)) = inside {
        root.join(path.split('#').next().unwrap_or(path))
    } else if target.contains("://") || target.starts_with("mailto:") {
        return Ok(());
    } else if file.is_empty() {
        chapter.to_owned()
    } else {
        tidy(&chapter.parent().unwrap_or(root).join(file))
    };
    if !path.exists() {
        return Err(format!("`{target}` leads nowhere"));
    }
    let Some(fragment) = fragment else {
        return Ok(());
    };
    if path.extension().is_some_and(|extension| extension == "md") && path.is_file() {
        let found = headings(&read(&path)?).contains(fragment);
        return if found { Ok(()) } else { Err(format!("`{target}`: there is no heading `{fragment}`")) };
    }
    let lines = line_range(fragment).ok_or_else(|| format!("`{target}`: `{fragment}` names no line"))?;
    let count = read(&path)?.lines().count();
    if lines.0 == 0 || lines.1 < lines.0 || lines.1 > count {
        return Err(format!("`{target}`: the file has {count} lines"));
    }
    Ok(())
}

/// `L12` or `L12-L20`.
fn line_range(fragment: &str) -> Option<(usize, usize)> {
    let line = |text: &str| text.strip_prefix('L')?.parse().ok();
    match fragment.split_once('-') {
        Some((first, last)) => Some((line(first)?, line(last)?)),
        None => Some((line(fragment)?, line(fragment)?)),
    }
}

/// The names by which headings are linked, as mdBook makes them.
fn headings(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut seen = BTreeMap::<String, usize>::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        let title = line.trim_start_matches('#');
        if in_code || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let (title, own) = match title.split_once("{#") {
            Some((title, name)) => (title, Some(name.trim_end().trim_end_matches('}'))),
            None => (title, None),
        };
        let name = match own {
            Some(name) => name.to_owned(),
            None => heading_name(title.trim()),
        };
        let before = seen.entry(name.clone()).or_default();
        names.insert(if *before == 0 { name } else { format!("{name}-{before}") });
        *before += 1;
    }
    names
}

fn heading_name(title: &str) -> String {
    let keep = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_ascii_lowercase()),
        c if c.is_whitespace() => Some('-'),
        _ => None,
    };
    title.chars().filter_map(keep).collect()
}

/// The path without `.` and `..`, by name alone.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                tidy.pop();
            }
            Component::CurDir => {}
            other => tidy.push(other),
        }
    }
    tidy
}

fn markdown_files(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let unreadable = |e: std::io::Error| format!("cannot read the folder `{}`: {e}", folder.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            found.extend(markdown_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn book(name: &str, chapter: &str) -> Outcome {
        let root = std::env::temp_dir().join(format!("xtask-book-{}-{name}", std::process::id()));
        fs::create_dir_all(root.join("book/src/forces")).unwrap();
        fs::create_dir_all(root.join("code")).unwrap();
        fs::write(root.join("code/spring.rs"), "one\ntwo\nthree\n").unwrap();
        fs::write(root.join("book/src/SUMMARY.md"), "- [Start](start.md)\n- [Spring](forces/spring.md)\n")
            .unwrap();
        fs::write(root.join("book/src/start.md"), "# The start of `it`\n## Twice\n## Twice\n").unwrap();
        fs::write(root.join("book/src/forces/spring.md"), chapter).unwrap();
        let outcome = check(&root);
        fs::remove_dir_all(&root).unwrap();
        outcome
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let chapter = "[a](../start.md#the-start-of-it) [b](../start.md#twice-1) [c](../../../code/spring.rs#L3)\n\
                       [d](https://example.org/none) ![e](<../start.md>) `[x](none.md)` [f](#spring) \n\
                       [g](https://example.org/x/blob/main/code/spring.rs#L1-L2 \"title\")\n\
                       ```\n[h](none.md)\n```\n# Spring\n[i]: ../start.md\n{{#include ../../../code/spring.rs:2}}\n";
        assert_eq!(book("pass", chapter), Ok(()));
    }

    #[test]
    fn each_broken_link_is_named_with_its_line() {
        let broken = [
            ("[a](none.md)", "`none.md` leads nowhere"),
            ("[a](../start.md#end)", "there is no heading `end`"),
            ("[a](../../../code/spring.rs#L4)", "the file has 3 lines"),
            ("[a](../../../code/spring.rs#spring)", "names no line"),
            ("[a](https://example.org/x/tree/main/none)", "leads nowhere"),
            ("{{#include none.rs}}", "leads nowhere"),
            ("[a]: none.md", "leads nowhere"),
        ];
        for (i, (chapter, expected)) in broken.into_iter().enumerate() {
            let error = book(&format!("fail{i}"), &format!("\n{chapter}\n")).unwrap_err();
            assert!(error.contains("spring.md:2: ") && error.contains(expected), "{chapter}: {error}");
        }
    }
}
