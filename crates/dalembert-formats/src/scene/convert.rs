//! From a checked file to the scene of the engine, and from a mistake in the scene back to its line.

use dalembert::describe::Findings;
use dalembert::scene::{Scene, SceneError, Warning};
use dalembert::step::Method;

use super::robots;
use crate::assets::Assets;
use crate::describe::View;
use crate::error::{Diagnostic, Files, Problems, SceneFileError, Span};
use crate::tree::{Node, Value};

/// The scene that a file describes, and warnings.
pub(super) fn scene(
    root: &View<'_>,
    files: &Files,
    assets: &Assets,
) -> Result<(Scene, Vec<Method>, Vec<Diagnostic>), SceneFileError> {
    let mut found = Findings::default();
    let (mut scene, methods) = Scene::from_file(root, &mut found);
    robots::fill_in(&mut scene, root, assets, &mut found);
    let mut problems = Problems::default();
    for finding in found.list {
        let message = finding.message;
        problems.push(match finding.is_error {
            true => files.error(finding.span, message),
            false => files.warning(finding.span, message),
        });
    }
    Ok((scene, methods, problems.finish()?))
}

// ------------------------------------------------------------------------- from the scene to lines

/// A mistake that the engine found, at its line.
pub(super) fn diagnostic(root: &View<'_>, files: &Files, error: &SceneError) -> Diagnostic {
    let out = match span(root, error) {
        Some(span) => files.error(span, error.to_string()),
        None => Diagnostic::error(error.to_string()),
    };
    match &error.misspelt {
        Some((word, known)) if !known.contains(word) => {
            out.with_suggestion(word, known.iter().map(String::as_str))
        }
        _ => out,
    }
}

/// What the engine warns of, at its line.
pub(super) fn warning(root: &View<'_>, files: &Files, warning: &Warning) -> Diagnostic {
    let Warning { place, message } = warning.clone();
    match span(root, &SceneError { place, message, misspelt: None }) {
        Some(span) => files.warning(span, warning.to_string()),
        None => Diagnostic::warning(warning.to_string()),
    }
}

/// Where a mistake was made: as near as the file allows. `None` for what was added to the scene by hand.
fn span(root: &View<'_>, error: &SceneError) -> Option<Span> {
    let place = &error.place;
    let table = match place.table {
        "" => *root,
        table => {
            root.description().field(table)?;
            let tables = root.tables(table);
            let index =
                if table == "springs" { spring_entry(&tables, place.index) } else { Some(place.index) };
            match index?.checked_sub(tables.len()) {
                None => tables[index?],
                // The skins of affine bodies come after all points of the file.
                Some(skin) if table == "points" => return Some(root.tables("affine").get(skin)?.place()),
                Some(_) => return None,
            }
        }
    };
    Some(match home(&table, place.key) {
        Some((home, key)) => home
            .node(key)
            .and_then(|node| culprit(node, error))
            .unwrap_or_else(|| if home.has(key) { home.span(key) } else { home.place() }),
        None => table.place(),
    })
}

/// The entry of the file that the `index`-th set of springs of the scene came from.
fn spring_entry(tables: &[View<'_>], index: usize) -> Option<usize> {
    let mut sets = 0;
    tables.iter().position(|table| {
        sets += table.texts("edges").len();
        index < sets
    })
}

/// The table that gives `key`: this one, or one inside it.
fn home<'a>(table: &View<'a>, key: &'static str) -> Option<(View<'a>, &'static str)> {
    if key == "signal" {
        let given = |key: &&&str| table.description().field(key).is_some() && table.has(key);
        return ["sine", "pulse", "table"].iter().find(given).map(|key| (*table, *key));
    }
    // Points of a surface come after `at`; without `at` it is the surface that is wrong.
    let at = |key: &str| table.description().field(key).is_some() && table.has(key);
    if key == "at" && !at("at") && at("surface") {
        return Some((*table, "surface"));
    }
    if key.is_empty() || table.description().field(key).is_some() {
        return (!key.is_empty()).then_some((*table, key));
    }
    // Of the settings of several methods, those of the one in use come first.
    let chosen = table.description().field("method").and_then(|_| table.table(table.text("method")));
    let inside = table.description().fields.iter().filter_map(|field| table.table(field.key));
    chosen
        .into_iter()
        .chain(inside)
        .find(|inside| inside.description().field(key).is_some())
        .map(|inside| (inside, key))
}

/// The text inside `node` that the message is about, such as one name of a list, or the row that it is about.
fn culprit(node: &Node, error: &SceneError) -> Option<Span> {
    let items = match &node.value {
        Value::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let named = |item: &Node| match &item.value {
        Value::List(row) => {
            let all = row.iter().map(|text| mention(text, error)).collect::<Option<Vec<_>>>();
            let whole = all.map(|all| (all.into_iter().min().unwrap_or(0), item.span));
            let one =
                || row.iter().filter_map(|text| Some((mention(text, error)?, text.span))).min_by_key(|m| m.0);
            // A row that is mentioned as a whole comes first.
            whole.map(|(at, span)| ((0, at), span)).or_else(|| one().map(|(at, span)| ((1, at), span)))
        }
        _ => mention(item, error).map(|at| ((1, at), item.span)),
    };
    items.iter().filter_map(named).min_by_key(|(rank, _)| *rank).map(|(_, span)| span)
}

/// Where in the message a text is mentioned: the one that it begins with is the one that it is about.
fn mention(node: &Node, error: &SceneError) -> Option<usize> {
    let Value::Text(text) = &node.value else { return None };
    let base = text.split('[').next().unwrap_or_default();
    match &error.misspelt {
        Some((word, _)) => (word == base).then_some(0),
        None => error.message.find(&format!("`{text}`")),
    }
}
