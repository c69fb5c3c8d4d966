//! The reference of all keys, in Markdown.

use std::fmt::Write as _;

use dalembert::describe::{Kind, Literal, Need, Range, Rule, Table};

use super::schema::{json_number, tables_below};
use super::words::{integer_words, list_of, plural, plural_list};

/// A reference of all keys, in Markdown: for each table a heading and a list of its keys with type,
/// unit, default and meaning.
pub fn markdown(root: &'static Table) -> String {
    let mut page = String::new();
    for table in tables_below(root) {
        // Writing to a String cannot fail.
        let _ = write!(page, "## `{}`\n\n{}\n\n", table.name, table.doc);
        page.push_str("| key | type | unit | default | meaning |\n|---|---|---|---|---|\n");
        for field in table.fields {
            let need = match field.need {
                Need::Required => "**required**".to_owned(),
                Need::Optional => "–".to_owned(),
                Need::Default(literal) => format!("`{}`", written(&literal)),
            };
            let when = field.when.map_or(String::new(), |when| {
                format!(" Only with `{}` = {}.", when.key, list_of(when.words.iter().copied(), "or"))
            });
            let row = [
                format!("`{}`", field.key),
                kind_markdown(&field.kind),
                field.unit.to_owned(),
                need,
                format!("{}{when}{}", field.doc, word_meanings(&field.kind)),
            ];
            let cells = row.map(|cell| cell.replace('|', "\\|").replace('\n', " "));
            let _ = writeln!(page, "| {} |", cells.join(" | "));
        }
        page.push('\n');
        for rule in table.rules {
            let (start, keys) = match rule {
                Rule::ExactlyOne(keys) => ("Exactly one of", keys),
                Rule::AtMostOne(keys) => ("At most one of", keys),
                Rule::AtLeastOne(keys) => ("At least one of", keys),
                Rule::Together(keys) => ("All or none of", keys),
            };
            let _ = write!(page, "{start} {}.\n\n", list_of(keys.iter().copied(), "and"));
        }
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

fn kind_markdown(kind: &Kind) -> String {
    match kind {
        Kind::Bool => "boolean".to_owned(),
        Kind::Integer { min: i64::MIN, max: i64::MAX } => "integer".to_owned(),
        Kind::Integer { min, max } => format!("integer, {}", integer_words(*min, *max)),
        Kind::Number(range) if *range == Range::ANY => "number".to_owned(),
        Kind::Number(range) => format!("number {}", range.signs()),
        Kind::Text => "text".to_owned(),
        Kind::Name => "name".to_owned(),
        Kind::Word(_) => "word".to_owned(),
        Kind::List { item, .. } => match **item {
            Kind::Number(range) if range != Range::ANY => {
                format!("{}, each {}", plural_list(kind), range.signs())
            }
            _ => plural_list(kind),
        },
        Kind::Map(item) => format!("table of {}", plural(item)),
        Kind::Table(table) => format!("table [`{0}`](#{0})", table.name),
        Kind::Tables(table) => format!("list of tables [`{0}`](#{0})", table.name),
        Kind::Either(kinds) => kinds.iter().map(kind_markdown).collect::<Vec<_>>().join(" or "),
    }
}

fn word_meanings(kind: &Kind) -> String {
    match kind {
        Kind::Word(words) => {
            words.iter().map(|word| format!("<br>`\"{}\"`: {}", word.word, word.doc)).collect()
        }
        // A word, or a list of the same words: told once.
        Kind::Either(kinds) => {
            let mut told: Vec<String> = kinds.iter().map(word_meanings).collect();
            told.dedup();
            told.concat()
        }
        Kind::List { item, .. } => word_meanings(item),
        _ => String::new(),
    }
}

/// A constant as one writes it in TOML.
pub(crate) fn written(literal: &Literal) -> String {
    let list = |items: Vec<String>| format!("[{}]", items.join(", "));
    match literal {
        Literal::Bool(value) => value.to_string(),
        Literal::Integer(value) => value.to_string(),
        Literal::Number(value) => json_number(*value).to_string(),
        Literal::Text(text) => format!("\"{text}\""),
        Literal::Numbers(numbers) => list(numbers.iter().map(|n| json_number(*n).to_string()).collect()),
        Literal::Texts(texts) => list(texts.iter().map(|text| format!("\"{text}\"")).collect()),
    }
}
