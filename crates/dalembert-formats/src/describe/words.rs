//! What messages and the reference call kinds of values.

use dalembert::describe::Kind;

use crate::error::quote;

pub(super) fn integer_words(min: i64, max: i64) -> String {
    match (min, max) {
        (i64::MIN, i64::MAX) => "an integer".to_owned(),
        (min, i64::MAX) => format!("at least {min}"),
        (i64::MIN, max) => format!("at most {max}"),
        (min, max) => format!("from {min} to {max}"),
    }
}

/// What a message calls a kind: "a number greater than 0", "a list of 3 numbers".
pub(super) fn phrase(kind: &Kind) -> String {
    match kind {
        Kind::Bool => "`true` or `false`".to_owned(),
        Kind::Integer { .. } => "an integer".to_owned(),
        Kind::Number(_) => "a number".to_owned(),
        Kind::Text => "a text".to_owned(),
        Kind::Name => "a name".to_owned(),
        Kind::Word(_) => "a word".to_owned(),
        Kind::Map(item) => format!("a table of {}", plural(item)),
        Kind::Table(table) => format!("a table ({})", table.name),
        Kind::Tables(table) => format!("a list of tables ({})", table.name),
        Kind::List { .. } => format!("a {}", plural_list(kind)),
        Kind::Either(kinds) => kinds.iter().map(phrase).collect::<Vec<_>>().join(" or "),
    }
}

pub(super) fn plural(kind: &Kind) -> String {
    match kind {
        Kind::Bool => "booleans".to_owned(),
        Kind::Integer { .. } => "integers".to_owned(),
        Kind::Number(_) => "numbers".to_owned(),
        Kind::Text => "texts".to_owned(),
        Kind::Name => "names".to_owned(),
        Kind::Word(_) => "words".to_owned(),
        Kind::Map(item) => format!("tables of {}", plural(item)),
        Kind::Table(table) | Kind::Tables(table) => format!("tables ({})", table.name),
        Kind::List { .. } => plural_list(kind).replacen("list", "lists", 1),
        Kind::Either(kinds) => kinds.iter().map(plural).collect::<Vec<_>>().join(" or "),
    }
}

/// "list of 3 numbers"
pub(super) fn plural_list(kind: &Kind) -> String {
    let Kind::List { item, min, max } = kind else { return plural(kind) };
    let items = plural(item);
    match (*min, *max) {
        (0, usize::MAX) => format!("list of {items}"),
        (min, max) if min == max => format!("list of {min} {items}"),
        (1, usize::MAX) => format!("non-empty list of {items}"),
        (min, usize::MAX) => format!("list of at least {min} {items}"),
        (0, max) => format!("list of at most {max} {items}"),
        (min, max) => format!("list of {min} to {max} {items}"),
    }
}

/// "`a`, `b` and `c`"
pub(super) fn list_of<'a>(words: impl Iterator<Item = &'a str>, last: &str) -> String {
    let quoted: Vec<String> = words.map(quote).collect();
    match quoted.split_last() {
        Some((end, rest)) if !rest.is_empty() => format!("{} {last} {end}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

pub(super) fn lower_first(text: &str) -> String {
    let text = text.trim_end_matches('.');
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        // "SI units" and "A b" keep their capitals if a second one follows.
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(text.chars().skip(1)).collect()
        }
        _ => text.to_owned(),
    }
}
