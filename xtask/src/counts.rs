//! `cargo xtask counts`: how large the parts of the code are, and whether they keep to the limits of CONTRIBUTING.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::run::{read, root};

const MOST_FILE_LINES: usize = 700;
const MOST_FUNCTION_LINES: usize = 100;

/// Lines of the engine without tests at commit c513488, before its modules were put in one order.
const BEFORE: usize = 74_281;

/// The counts that `--check` enforces; the others are goals.
const ENFORCED: &[&str] = &[
    "files over 700 lines",
    "functions over 100 lines",
    "statements of the step of impulse",
    "statements of the step of ipc",
    "booleans in structs of ipc",
    "enums called JointKind",
    "union-finds",
];

/// Factors whose pattern is sparse or that of a tree are no small dense ones.
const SPARSE: &[&str] = &[
    // Cholesky within the envelope of a graph of bodies: each row begins at its first neighbour.
    "contact/solver/primal_newton.rs",
    "solve/block_cholesky.rs",
    "solve/bordered.rs",
    "solve/direct.rs",
    "solve/kkt/",
    "solve/linear.rs",
    "solve/precondition/",
    "bodies/articulated/",
    "step/system/",
];

/// A source file, and its text without comments and literals, of the same lines.
struct Source {
    /// Path below the root of the workspace.
    path: String,
    lines: usize,
    code: String,
}

/// A function: its name, the line on which it begins, how many it has, and what is between its braces.
struct Function<'a> {
    name: &'a str,
    line: usize,
    lines: usize,
    body: &'a str,
}

/// A count with the most that is allowed, and what it counts where that can be listed.
struct Count {
    name: &'static str,
    most: usize,
    count: usize,
    found: Vec<String>,
}

/// Prints all counts; with `check` it fails if one that is enforced is above its limit.
pub(crate) fn run(check: bool) -> Outcome {
    let sources = sources()?;
    let counts = counts(&sources);
    for count in &counts {
        let mark = if count.count > count.most { "  (too many)" } else { "" };
        println!("{}: {}, limit {}{mark}", count.name, count.count, count.most);
        if !mark.is_empty() {
            count.found.iter().for_each(|what| println!("    {what}"));
        }
    }
    print_table("constants outside of functions, by folder", &constants(&sources));
    let lines = engine_lines(&sources);
    print_table("lines of the engine without tests, by module", &lines);
    println!("lines of the engine without tests: {} ({BEFORE} before)", lines.values().sum::<usize>());
    let broken: Vec<&str> = counts
        .iter()
        .filter(|c| check && ENFORCED.contains(&c.name) && c.count > c.most)
        .map(|c| c.name)
        .collect();
    if broken.is_empty() { Ok(()) } else { Err(format!("above the limit: {}", broken.join(", "))) }
}

fn counts(sources: &[Source]) -> Vec<Count> {
    let all = |most: usize, name: &'static str, of: &dyn Fn(&Source) -> Vec<String>| {
        let mut found: Vec<String> = sources.iter().flat_map(of).collect();
        found.dedup();
        Count { name, most, count: found.len(), found }
    };
    let in_engine = |s: &Source, folder: &str| engine_path(s).is_some_and(|p| p.starts_with(folder));
    let step = |name: &'static str, method: &str| {
        let path = format!("step/{method}/mod.rs");
        let found = sources.iter().find(|s| engine_path(s) == Some(&path)).map(|s| functions(&s.code));
        let step = found.iter().flatten().find(|f| f.name == "step");
        Count { name, most: 20, count: step.map_or(usize::MAX, |f| statements(f.body)), found: Vec::new() }
    };
    vec![
        all(0, "files over 700 lines", &|s| {
            let long = s.lines > MOST_FILE_LINES;
            long.then(|| format!("{} {}", s.lines, s.path)).into_iter().collect()
        }),
        all(0, "functions over 100 lines", &|s| {
            let long = functions(&s.code).into_iter().filter(|f| f.lines > MOST_FUNCTION_LINES);
            long.map(|f| format!("{} {}:{} {}", f.lines, s.path, f.line, f.name)).collect()
        }),
        step("statements of the step of impulse", "impulse"),
        step("statements of the step of ipc", "ipc"),
        all(14, "booleans in structs of ipc", &|s| {
            let ipc = in_engine(s, "step/ipc/") || in_engine(s, "contact/potential/");
            if ipc { booleans(s) } else { Vec::new() }
        }),
        all(1, "enums called JointKind", &|s| named(s, "enum JointKind")),
        all(4, "small factorisations", &|s| {
            let Some(path) = engine_path(s).filter(|p| !SPARSE.iter().any(|sparse| p.starts_with(sparse)))
            else {
                return Vec::new();
            };
            let code = without_tests(&s.code);
            let list = functions(&code);
            let factors = list.iter().filter(|f| is_factorisation(f));
            factors.map(|f| factorisation(path, f)).collect()
        }),
        all(1, "union-finds", &|s| {
            let Some(path) = engine_path(s) else { return Vec::new() };
            let code = without_tests(&s.code);
            let list = functions(&code);
            list.iter().filter(|f| climbs_parents(f.body)).map(|f| format!("{path}:{}", f.line)).collect()
        }),
    ]
}

fn print_table(title: &str, table: &BTreeMap<String, usize>) {
    println!("{title}:");
    table.iter().for_each(|(name, count)| println!("    {count:6} {name}"));
}

/// All Rust sources of the workspace.
fn sources() -> Outcome<Vec<Source>> {
    let root = root();
    let mut folders = vec![root.join("crates"), root.join("xtask")];
    let mut paths: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).map_err(|e| format!("cannot read `{}`: {e}", folder.display()))?;
        for path in entries.filter_map(Result::ok).map(|e| e.path()) {
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths.iter().map(|path| source(&root, path)).collect()
}

fn source(root: &Path, path: &Path) -> Outcome<Source> {
    let text = read(path)?;
    let path = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
    Ok(Source { path, lines: text.lines().count(), code: blank(&text) })
}

/// Path of a file of the engine below its `src`; none of a file of tests.
fn engine_path(s: &Source) -> Option<&str> {
    let path = s.path.strip_prefix("crates/dalembert/src/")?;
    (!path.ends_with("tests.rs")).then_some(path)
}

/// The text with comments, strings and characters turned into spaces.
fn blank(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out: Vec<u8> = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = literal_end(bytes, at);
        for byte in out.iter_mut().take(end).skip(at).filter(|byte| **byte != b'\n') {
            *byte = b' ';
        }
        at = end.max(at + 1);
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The end of the comment or literal that begins here; `at` if none does.
fn literal_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let find = |from: usize, what: &[u8]| {
        let tail = bytes.get(from..).unwrap_or_default();
        tail.windows(what.len()).position(|w| w == what).map_or(bytes.len(), |p| from + p)
    };
    let in_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    if rest.starts_with(b"//") {
        return find(at, b"\n");
    }
    if rest.starts_with(b"/*") {
        return find(at, b"*/") + 2;
    }
    if rest[0] == b'r' && !in_word {
        let hashes = rest[1..].iter().take_while(|b| **b == b'#').count();
        if rest.get(1 + hashes) == Some(&b'"') {
            let close: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
            return (find(at + 2 + hashes, &close) + close.len()).min(bytes.len());
        }
    }
    if rest[0] == b'"' {
        return quoted_end(bytes, at, b'"');
    }
    // A character, not a lifetime: 'a', '\n', or one of several bytes.
    let character = rest.get(2) == Some(&b'\'') || rest.get(1).is_some_and(|b| *b == b'\\' || !b.is_ascii());
    if rest[0] == b'\'' && character {
        return quoted_end(bytes, at, b'\'');
    }
    at
}

/// Behind the closing quote.
fn quoted_end(bytes: &[u8], at: usize, quote: u8) -> usize {
    let mut at = at + 1;
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// The code without modules of tests, their lines empty.
fn without_tests(code: &str) -> String {
    let mut out = code.to_owned();
    while let Some(at) = out.find("#[cfg(test)]\nmod ") {
        let open = out[at..].find(['{', ';']).map_or(out.len(), |p| at + p);
        let end = if out[open..].starts_with('{') { block_end(&out, open) } else { open };
        let blank: String = out[at..end].chars().filter(|c| *c == '\n').collect();
        out.replace_range(at..end, &blank);
    }
    out
}

/// Behind the brace that closes the one at `open`.
fn block_end(code: &str, open: usize) -> usize {
    let mut depth = 0;
    for (i, c) in code[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return open + i + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

/// Functions with a body, in the order of the file; those inside others as well.
fn functions(code: &str) -> Vec<Function<'_>> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let starts = code[..at].chars().next_back().is_none_or(|c| !(c.is_alphanumeric() || c == '_'));
        let name =
            code[at + 3..].split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
        // The body begins behind the parentheses; a declaration ends with a semicolon.
        let (mut depth, mut open) = (0, None);
        for (i, c) in code[at..].char_indices() {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => depth -= 1,
                ';' | '}' if depth == 0 => break,
                '{' if depth == 0 => {
                    open = Some(at + i);
                    break;
                }
                _ => {}
            }
        }
        let Some(open) = open.filter(|_| starts && !name.is_empty()) else { continue };
        let end = block_end(code, open);
        let line = code[..at].matches('\n').count() + 1;
        let lines = code[at..end].matches('\n').count() + 1;
        found.push(Function { name, line, lines, body: &code[open + 1..end.saturating_sub(1)] });
    }
    found
}

/// Statements, those of inner blocks as well: what ends with a semicolon, loops and branches, and a last expression.
fn statements(body: &str) -> usize {
    let words = body.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let control = words.filter(|w| ["if", "for", "while", "loop", "match"].contains(w)).count();
    let last = body.trim_end().ends_with([';', '}']);
    // Semicolons in brackets are lengths of arrays.
    let (mut depth, mut ends) = (0, 0);
    for c in body.chars() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ';' if depth == 0 => ends += 1,
            _ => {}
        }
    }
    ends + control + usize::from(!last)
}

/// Fields of structs whose type holds a boolean.
fn booleans(s: &Source) -> Vec<String> {
    let code = without_tests(&s.code);
    let mut found = Vec::new();
    for (at, _) in code.match_indices("struct ") {
        let Some(open) = code[at..].find(['{', ';']).map(|p| at + p).filter(|p| code[*p..].starts_with('{'))
        else {
            continue;
        };
        let fields = &code[open..block_end(&code, open)];
        for field in fields.lines().filter(|line| line.contains(':')) {
            if field.split(|c: char| !c.is_alphanumeric()).any(|word| word == "bool") {
                found.push(format!("{} {}", s.path, field.trim().trim_end_matches(',')));
            }
        }
    }
    found
}

fn named(s: &Source, what: &str) -> Vec<String> {
    let hit = |(k, line): (usize, &str)| {
        line.contains(&format!("{what} ")).then(|| format!("{}:{}", s.path, k + 1))
    };
    s.code.lines().enumerate().filter_map(hit).collect()
}

/// True if a function takes a dense matrix apart: by its name, and pivots in loops.
fn is_factorisation(f: &Function) -> bool {
    let words = ["cholesky", "factor", "ldl", "lu", "inverse", "eliminate"];
    let named = f.name.split('_').any(|word| words.contains(&word)) && !f.name.starts_with("solve");
    let pivots = f.body.contains("sqrt()") || f.body.contains("1.0 /") || f.body.contains("inverse_above");
    named && pivots && f.body.contains("for ")
}

/// Its name, with the line where it does not belong to `solve/dense`; variants of one algorithm are one.
fn factorisation(path: &str, f: &Function) -> String {
    match path.strip_prefix("solve/dense/") {
        Some("lu.rs") => "solve/dense lu".into(),
        Some(_) => format!("solve/dense {}", f.name.trim_end_matches("_semidefinite")),
        None => format!("{path}:{} {}", f.line, f.name),
    }
}

/// True if a function follows parents to a root: `while parent[i] != i`.
fn climbs_parents(body: &str) -> bool {
    body.match_indices("while ").any(|(at, _)| {
        let condition = body[at + 6..].split('{').next().unwrap_or_default().trim();
        let Some((entry, index)) = condition.split_once("] != ") else { return false };
        entry.rsplit('[').next().is_some_and(|i| i.trim_end_matches(" as usize") == index)
    })
}

/// Constants that are not inside a function, by folder of the engine.
fn constants(sources: &[Source]) -> BTreeMap<String, usize> {
    let mut table = BTreeMap::new();
    for s in sources {
        let Some(path) = engine_path(s) else { continue };
        let code = without_tests(&s.code);
        let is_constant = |line: &&str| {
            let line = line
                .trim_start_matches("pub ")
                .trim_start_matches("pub(crate) ")
                .trim_start_matches("pub(super) ");
            line.strip_prefix("const ").is_some_and(|rest| !rest.starts_with("fn ") && rest.contains(':'))
        };
        let count = code.lines().filter(is_constant).count();
        if count > 0 {
            *table.entry(folder(path)).or_insert(0) += count;
        }
    }
    table
}

/// The folder of a module: two levels in `step`, `contact` and `bodies`, one elsewhere.
fn folder(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let levels = if ["step", "contact", "bodies"].contains(&parts[0]) { 2 } else { 1 };
    let known = parts.len() - 1;
    parts[..levels.min(known).max(1)].join("/").trim_end_matches(".rs").to_owned()
}

/// Lines without tests, by module of the engine.
fn engine_lines(sources: &[Source]) -> BTreeMap<String, usize> {
    let mut table = BTreeMap::new();
    for s in sources {
        let Some(path) = engine_path(s) else { continue };
        let tests = s.code.find("#[cfg(test)]\nmod ").filter(|at| s.code[*at..].contains('{'));
        let tests = tests.map_or(0, |at| {
            let open = at + s.code[at..].find('{').unwrap_or(0);
            s.code[at..block_end(&s.code, open)].matches('\n').count() + 1
        });
        *table.entry(folder(path)).or_insert(0) += s.lines - tests;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_comments_hide_nothing_and_are_not_code() {
        let text = "let a = \"fn b() {\"; // fn c() {\nlet d: &'static str = r#\"}\"#; let e = '{'; /* { */ fn f() { 1 }";
        let code = blank(text);
        assert_eq!(code.len(), text.len());
        let list = functions(&code);
        assert_eq!(list.len(), 1);
        assert_eq!((list[0].name, list[0].line, list[0].lines, list[0].body.trim()), ("f", 2, 1, "1"));
    }

    #[test]
    fn tests_do_not_count_as_code() {
        let code = "fn a() {\n}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
        let list = without_tests(code);
        assert_eq!(functions(&list).len(), 1);
        // Lines keep their numbers.
        assert_eq!(list.lines().count(), 6);
    }

    #[test]
    fn statements_are_those_of_inner_blocks_too() {
        assert_eq!(statements(" let a = [0; 3]; if a { b(); } else { c(); } d "), 5);
        assert_eq!(statements(" for i in 0..3 { b(); } "), 2);
    }

    #[test]
    fn a_loop_up_to_a_root_is_a_union_find() {
        assert!(climbs_parents("while self.parent[i as usize] != i { i = up; }"));
        assert!(climbs_parents("while up[n as usize] != n { }"));
        assert!(!climbs_parents("while self.below[at] != I { at += 1; }"));
    }
}
