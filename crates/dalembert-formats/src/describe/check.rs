//! The check of a file against a table.

use dalembert::describe::{
    Entry, Field, Kind, Literal, MAX_NAME, Need, Node, Range, Rule, Span, Table, Value, View, When, Word,
};

use super::words::{integer_words, list_of, lower_first, phrase};
use crate::error::{Diagnostic, Files, Problems, SceneFileError, quote};
use crate::tree::what;

/// Holds `node` against `table`. All errors come together, at most
/// [`MAX_ERRORS`](crate::error::MAX_ERRORS).
pub fn read<'a>(table: &'static Table, node: &'a Node, files: &Files) -> Result<View<'a>, SceneFileError> {
    let mut problems = Problems::default();
    Check { files, problems: &mut problems }.table(table, node);
    problems.finish()?;
    Ok(View::new(table, node))
}

struct Check<'a> {
    files: &'a Files,
    problems: &'a mut Problems,
}

impl Check<'_> {
    fn error(&self, span: Span, message: impl Into<String>) -> Diagnostic {
        self.files.error(span, message)
    }

    fn table(&mut self, table: &'static Table, node: &Node) {
        let Value::Table(entries) = &node.value else {
            let message = format!("{} wants a table, found {}", quote(table.name), what(node));
            return self.problems.push(self.error(node.span, message));
        };
        let mut given = vec![false; table.fields.len()];
        for entry in entries {
            if self.problems.is_full() {
                return;
            }
            match table.fields.iter().position(|field| field.key == entry.key) {
                None => self.unknown_key(table, entry),
                Some(i) => {
                    given[i] = true;
                    let field = &table.fields[i];
                    if self.has_meaning(table, field, entries, entry) {
                        self.value(&field.kind, &entry.node, field.key);
                    }
                }
            }
        }
        for (field, given) in table.fields.iter().zip(given) {
            let wanted = field.when.is_none_or(|when| meets(table, &when, entries) == Some(true));
            if matches!(field.need, Need::Required) && !given && wanted {
                let message = format!("{} lacks the key {}", quote(table.name), quote(field.key));
                let help = format!("{}: {}", field.key, lower_first(field.doc));
                self.problems.push(self.error(node.span, message).with_help(help));
            }
        }
        for rule in table.rules {
            self.rule(table, rule, node, entries);
        }
    }

    fn unknown_key(&mut self, table: &'static Table, entry: &Entry) {
        let message = format!("unknown key {} in {}", quote(&entry.key), quote(table.name));
        let keys = || table.fields.iter().map(|field| field.key);
        let mut error = self.error(entry.key_span, message).with_suggestion(&entry.key, keys());
        if error.help.is_none() && table.fields.len() <= 12 {
            error = error.with_help(format!("the keys are {}", list_of(keys(), "and")));
        }
        self.problems.push(error);
    }

    /// Complains if the key has no meaning here.
    fn has_meaning(&mut self, table: &Table, field: &Field, entries: &[Entry], entry: &Entry) -> bool {
        let Some(when) = &field.when else { return true };
        // If the deciding key is itself wrong, that is error enough.
        let meaning = meets(table, when, entries).unwrap_or(true);
        if !meaning {
            let now = word_of(table, when.key, entries).unwrap_or_default();
            let message = format!("{} has no meaning with {} = {}", quote(field.key), when.key, quote(now));
            let help = format!("it belongs to {} = {}", when.key, list_of(when.words.iter().copied(), "or"));
            self.problems.push(self.error(entry.key_span, message).with_help(help));
        }
        meaning
    }

    fn rule(&mut self, table: &Table, rule: &Rule, node: &Node, entries: &[Entry]) {
        let (Rule::ExactlyOne(keys) | Rule::AtMostOne(keys) | Rule::AtLeastOne(keys) | Rule::Together(keys)) =
            *rule;
        // In the order of the file, so that the later one is to blame.
        let given: Vec<&Entry> = entries.iter().filter(|entry| keys.contains(&&*entry.key)).collect();
        let name = quote(table.name);
        match (rule, given.as_slice()) {
            (Rule::ExactlyOne(_), []) => {
                let message = format!("{name} wants exactly one of {}", list_of(keys.iter().copied(), "and"));
                self.problems.push(self.error(node.span, message));
            }
            (Rule::AtLeastOne(_), []) => {
                let message =
                    format!("{name} wants at least one of {}", list_of(keys.iter().copied(), "and"));
                self.problems.push(self.error(node.span, message));
            }
            (Rule::ExactlyOne(_) | Rule::AtMostOne(_), [first, second, ..]) => {
                let message =
                    format!("{} and {} exclude each other in {name}", quote(&first.key), quote(&second.key));
                let note = self.files.place(first.key_span);
                self.problems.push(
                    self.error(second.key_span, message)
                        .with_note(format!("{} stands here", quote(&first.key)), note)
                        .with_help(format!("give only one of {}", list_of(keys.iter().copied(), "and"))),
                );
            }
            (Rule::Together(_), [first, ..]) if given.len() < keys.len() => {
                let missing = keys.iter().copied().filter(|key| given.iter().all(|entry| entry.key != *key));
                let message = format!("{} wants {} beside it", quote(&first.key), list_of(missing, "and"));
                self.problems.push(self.error(first.key_span, message));
            }
            _ => {}
        }
    }

    fn value(&mut self, kind: &'static Kind, node: &Node, key: &str) {
        if self.problems.is_full() {
            return;
        }
        match (kind, &node.value) {
            (Kind::Bool, Value::Bool(_)) | (Kind::Text, Value::Text(_)) => {}
            (Kind::Integer { min, max }, Value::Integer(value)) => {
                if !(min..=max).contains(&value) {
                    let message =
                        format!("{} must be {}, not {value}", quote(key), integer_words(*min, *max));
                    self.problems.push(self.error(node.span, message));
                }
            }
            (Kind::Number(range), Value::Integer(value)) => self.number(range, *value as f64, node, key),
            (Kind::Number(range), Value::Number(value)) => self.number(range, *value, node, key),
            (Kind::Name, Value::Text(text)) => self.name(text, node.span, key),
            (Kind::Word(words), Value::Text(text)) => self.word(words, text, node.span, key),
            (Kind::List { item, min, max }, Value::List(items)) => {
                if items.len() < *min || items.len() > *max {
                    let message = format!("{} wants {}, found {}", quote(key), phrase(kind), what(node));
                    self.problems.push(self.error(node.span, message));
                } else {
                    items.iter().for_each(|node| self.value(item, node, key));
                }
            }
            (Kind::Map(item), Value::Table(entries)) => {
                for entry in entries {
                    if self.problems.is_full() {
                        return;
                    }
                    self.name(&entry.key, entry.key_span, key);
                    self.value(item, &entry.node, &entry.key);
                }
            }
            (Kind::Table(table), Value::Table(_)) => self.table(table, node),
            (Kind::Tables(table), Value::List(items)) => {
                for item in items {
                    if self.problems.is_full() {
                        return;
                    }
                    self.table(table, item);
                }
            }
            (Kind::Either(kinds), _) => match kinds.iter().find(|kind| has_shape(kind, node)).or_else(|| {
                // An unknown word beside no free text: misspelt. A list of wrong items: those are to blame.
                let to_blame = |kind: &&Kind| match &node.value {
                    Value::Text(_) => matches!(kind, Kind::Word(_)),
                    Value::List(_) => matches!(kind, Kind::List { item: Kind::Word(_), .. }),
                    _ => false,
                };
                kinds.iter().find(to_blame)
            }) {
                Some(kind) => self.value(kind, node, key),
                None => self.wrong_kind(node, kind, key),
            },
            _ => self.wrong_kind(node, kind, key),
        }
    }

    fn number(&mut self, range: &Range, value: f64, node: &Node, key: &str) {
        if !value.is_finite() {
            let message = format!("{} must be a finite number, not {value}", quote(key));
            self.problems.push(self.error(node.span, message));
        } else if !range.contains(value) {
            let message = format!("{} must be {}, not {value:?}", quote(key), range.words());
            self.problems.push(self.error(node.span, message));
        }
    }

    fn name(&mut self, text: &str, span: Span, key: &str) {
        let allowed = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let message = if text.is_empty() {
            format!("a name in {} is empty", quote(key))
        } else if let Some(c) = text.chars().find(|&c| !allowed(c)) {
            format!("the name {} contains {}", quote(text), quote(&c.to_string()))
        } else if text.chars().count() > MAX_NAME {
            format!("the name {} is longer than {MAX_NAME} characters", quote(text))
        } else {
            return;
        };
        let help = "names are made of letters, digits, `_`, `-` and `.`";
        self.problems.push(self.error(span, message).with_help(help));
    }

    fn word(&mut self, words: &[Word], text: &str, span: Span, key: &str) {
        let all = || words.iter().map(|word| word.word);
        if all().any(|word| word == text) {
            return;
        }
        let message = format!("{} cannot be {}", quote(key), quote(text));
        let mut error = self.error(span, message).with_suggestion(text, all());
        if error.help.is_none() {
            let only = if words.len() == 1 { "it can only be" } else { "it is one of" };
            error = error.with_help(format!("{only} {}", list_of(all(), "and")));
        }
        self.problems.push(error);
    }

    fn wrong_kind(&mut self, node: &Node, wanted: &Kind, key: &str) {
        let message = format!("{} wants {}, found {}", quote(key), phrase(wanted), what(node));
        let mut error = self.error(node.span, message);
        match (wanted, &node.value) {
            (Kind::Number(_) | Kind::Integer { .. }, Value::Text(text))
                if text.trim().parse::<f64>().is_ok() =>
            {
                error = error.with_help("write it without quotation marks");
            }
            (Kind::Tables(table), Value::Table(_)) => {
                error = error.with_help(format!("write `[[{key}]]` for each {}", quote(table.name)));
            }
            _ => {}
        }
        self.problems.push(error);
    }
}

/// The word that `key` holds, written or by default.
fn word_of<'a>(table: &Table, key: &str, entries: &'a [Entry]) -> Option<&'a str> {
    match entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node.value) {
        Some(Value::Text(text)) => Some(text),
        Some(_) => None,
        None => match table.field(key)?.need {
            Need::Default(Literal::Text(text)) => Some(text),
            _ => None,
        },
    }
}

/// Whether a condition holds; `None` if the deciding key is missing or wrong.
fn meets(table: &Table, when: &When, entries: &[Entry]) -> Option<bool> {
    let word = word_of(table, when.key, entries)?;
    match &table.field(when.key)?.kind {
        Kind::Word(words) if words.iter().any(|known| known.word == word) => Some(when.words.contains(&word)),
        _ => None,
    }
}

/// Whether the outermost layer of `node` is what `kind` wants.
fn has_shape(kind: &Kind, node: &Node) -> bool {
    match (kind, &node.value) {
        (Kind::Bool, Value::Bool(_))
        | (Kind::Integer { .. }, Value::Integer(_))
        | (Kind::Number(_), Value::Integer(_) | Value::Number(_))
        | (Kind::Text | Kind::Name, Value::Text(_))
        | (Kind::Map(_) | Kind::Table(_), Value::Table(_)) => true,
        // Where words stand beside free text, only a known word is meant.
        (Kind::Word(words), Value::Text(text)) => words.iter().any(|word| word.word == text),
        (Kind::List { item, .. }, Value::List(items)) => {
            items.first().is_none_or(|first| has_shape(item, first))
        }
        (Kind::Tables(_), Value::List(items)) => {
            items.iter().all(|item| matches!(item.value, Value::Table(_)))
        }
        (Kind::Either(kinds), _) => kinds.iter().any(|kind| has_shape(kind, node)),
        _ => false,
    }
}
