//! A file format described once, as constant data.
//!
//! From one [`Table`] come the check of a file ([`read`]), the typed access to what it says
//! ([`View`]), the JSON Schema that editors use ([`json_schema`]) and the reference in the book
//! ([`markdown`]).
//!
//! ```
//! use dalembert_formats::describe::{Field, Kind, Literal, Range, Table, read};
//! use dalembert_formats::source::Source;
//!
//! static BALL: Table = Table::new("ball", "A ball.", &[
//!     Field::required("name", Kind::Name, "", "Its name."),
//!     Field::default("radius", Kind::Number(Range::POSITIVE), Literal::Number(0.1), "m", "Its radius."),
//! ]);
//! static ROOT: Table = Table::new("scene", "A scene.", &[
//!     Field::optional("ball", Kind::Tables(&BALL), "", "Balls."),
//! ]);
//!
//! let source = Source::from_text("a.toml", "[[ball]]\nname = 'b'").unwrap();
//! let scene = read(&ROOT, &source.root, &source.files).unwrap();
//! assert_eq!(scene.tables("ball")[0].number("radius"), 0.1);
//! ```

use std::fmt::Write as _;

use serde_json::{Map, Value as Json, json};

use crate::error::{Diagnostic, Files, Problems, SceneFileError, Span, quote};
use crate::tree::{Entry, Node, Value};

/// Longest [`Kind::Name`] \[characters\].
pub const MAX_NAME: usize = 128;

/// What a table of the file may contain.
#[derive(Debug)]
pub struct Table {
    /// Its name in messages, in the schema and in the reference; unique.
    pub name: &'static str,
    /// What it is, one paragraph.
    pub doc: &'static str,
    /// Its keys, in the order of the reference.
    pub fields: &'static [Field],
    /// Which keys belong together or exclude each other.
    pub rules: &'static [Rule],
}

/// One key of a [`Table`].
#[derive(Debug)]
pub struct Field {
    /// The key.
    pub key: &'static str,
    /// What its value may be.
    pub kind: Kind,
    /// Whether it must be there.
    pub need: Need,
    /// SI unit of its numbers, or empty.
    pub unit: &'static str,
    /// What it means, one paragraph.
    pub doc: &'static str,
    /// If given, the key has a meaning only while another key holds one of some words.
    pub when: Option<When>,
}

/// "Only while `key` is one of `words`."
#[derive(Clone, Copy, Debug)]
pub struct When {
    /// A key of the same table, of [`Kind::Word`].
    pub key: &'static str,
    /// Some of its words.
    pub words: &'static [&'static str],
}

/// What a value may be.
#[derive(Debug)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A whole number from `min` to `max`.
    Integer {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// A finite number; an integer will do.
    Number(Range),
    /// Any text.
    Text,
    /// Text that names a thing: letters, digits, `_`, `-` and `.`, at most [`MAX_NAME`].
    Name,
    /// One of some words.
    Word(&'static [Word]),
    /// A list of `min` to `max` items.
    List {
        /// What each item may be.
        item: &'static Kind,
        /// Fewest.
        min: usize,
        /// Most.
        max: usize,
    },
    /// A table whose keys the author chooses ([`Kind::Name`]s) and whose values are all of a kind.
    Map(&'static Kind),
    /// A table.
    Table(&'static Table),
    /// A list of tables, usually written `[[key]]`.
    Tables(&'static Table),
    /// Any of these, told apart by the shape of the value (at most one of them a table).
    Either(&'static [Kind]),
}

impl Kind {
    /// Any finite number.
    pub const NUMBER: Self = Self::Number(Range::ANY);
    /// A whole number from 0.
    pub const COUNT: Self = Self::Integer { min: 0, max: i64::MAX };
    /// Three finite numbers.
    pub const VEC3: Self = Self::List { item: &Self::NUMBER, min: 3, max: 3 };
    /// Four finite numbers: w, x, y, z.
    pub const QUATERNION: Self = Self::List { item: &Self::NUMBER, min: 4, max: 4 };
    /// A list of finite numbers.
    pub const NUMBERS: Self = Self::List { item: &Self::NUMBER, min: 0, max: usize::MAX };
    /// A list of triples of finite numbers.
    pub const VEC3S: Self = Self::List { item: &Self::VEC3, min: 0, max: usize::MAX };
    /// A list of whole numbers from 0.
    pub const COUNTS: Self = Self::List { item: &Self::COUNT, min: 0, max: usize::MAX };
    /// A list of texts.
    pub const TEXTS: Self = Self::List { item: &Self::Text, min: 0, max: usize::MAX };
    /// A text or a list of texts.
    pub const SELECTION: Self = Self::Either(&[Self::Text, Self::TEXTS]);
    /// A finite number or a list of finite numbers.
    pub const NUMBER_OR_NUMBERS: Self = Self::Either(&[Self::NUMBER, Self::NUMBERS]);
}

/// A word that a [`Kind::Word`] accepts.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// The word.
    pub word: &'static str,
    /// What it means.
    pub doc: &'static str,
}

impl Word {
    /// A word and its meaning.
    pub const fn new(word: &'static str, doc: &'static str) -> Self {
        Self { word, doc }
    }
}

/// An interval of numbers. Non-finite numbers are never inside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Lower end, −∞ for none.
    pub min: f64,
    /// Whether `min` itself is excluded.
    pub above: bool,
    /// Upper end, ∞ for none.
    pub max: f64,
    /// Whether `max` itself is excluded.
    pub below: bool,
}

impl Range {
    /// All finite numbers.
    pub const ANY: Self = Self { min: f64::NEG_INFINITY, above: false, max: f64::INFINITY, below: false };
    /// x > 0.
    pub const POSITIVE: Self = Self { min: 0.0, above: true, ..Self::ANY };
    /// x ≥ 0.
    pub const NON_NEGATIVE: Self = Self { min: 0.0, ..Self::ANY };
    /// 0 ≤ x ≤ 1.
    pub const FRACTION: Self = Self::between(0.0, 1.0);

    /// min ≤ x ≤ max.
    pub const fn between(min: f64, max: f64) -> Self {
        Self { min, above: false, max, below: false }
    }

    /// Whether `x` is inside.
    pub fn contains(&self, x: f64) -> bool {
        let after = if self.above { x > self.min } else { x >= self.min };
        let before = if self.below { x < self.max } else { x <= self.max };
        x.is_finite() && after && before
    }

    /// "greater than 0", or empty for all numbers.
    fn words(&self) -> String {
        let lower = (self.min > f64::NEG_INFINITY)
            .then(|| format!("{} {}", if self.above { "greater than" } else { "at least" }, self.min));
        let upper = (self.max < f64::INFINITY)
            .then(|| format!("{} {}", if self.below { "less than" } else { "at most" }, self.max));
        lower.into_iter().chain(upper).collect::<Vec<_>>().join(" and ")
    }

    /// "> 0", or empty for all numbers.
    fn signs(&self) -> String {
        let lower = (self.min > f64::NEG_INFINITY)
            .then(|| format!("{} {}", if self.above { ">" } else { "≥" }, self.min));
        let upper = (self.max < f64::INFINITY)
            .then(|| format!("{} {}", if self.below { "<" } else { "≤" }, self.max));
        lower.into_iter().chain(upper).collect::<Vec<_>>().join(", ")
    }
}

/// Whether a key must be there.
#[derive(Clone, Copy, Debug)]
pub enum Need {
    /// It must (under its [`When`], if it has one).
    Required,
    /// It need not, and has no value then.
    Optional,
    /// It need not, and has this value then.
    Default(Literal),
}

/// A constant value.
#[derive(Clone, Copy, Debug)]
pub enum Literal {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A text, name or word.
    Text(&'static str),
    /// A list of numbers.
    Numbers(&'static [f64]),
    /// A list of texts.
    Texts(&'static [&'static str]),
}

/// Which keys of a table belong together or exclude each other.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// One and only one of them.
    ExactlyOne(&'static [&'static str]),
    /// One of them or none.
    AtMostOne(&'static [&'static str]),
    /// One of them or several.
    AtLeastOne(&'static [&'static str]),
    /// All of them or none.
    Together(&'static [&'static str]),
}

impl Table {
    /// A table without rules.
    pub const fn new(name: &'static str, doc: &'static str, fields: &'static [Field]) -> Self {
        Self { name, doc, fields, rules: &[] }
    }

    /// The same with rules.
    #[must_use]
    pub const fn with_rules(self, rules: &'static [Rule]) -> Self {
        Self { rules, ..self }
    }

    /// The field called `key`.
    pub fn field(&self, key: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.key == key)
    }
}

impl Field {
    const fn new(key: &'static str, kind: Kind, need: Need, unit: &'static str, doc: &'static str) -> Self {
        Self { key, kind, need, unit, doc, when: None }
    }

    /// A key that must be there.
    pub const fn required(key: &'static str, kind: Kind, unit: &'static str, doc: &'static str) -> Self {
        Self::new(key, kind, Need::Required, unit, doc)
    }

    /// A key that may be there.
    pub const fn optional(key: &'static str, kind: Kind, unit: &'static str, doc: &'static str) -> Self {
        Self::new(key, kind, Need::Optional, unit, doc)
    }

    /// A key that has a value if it is not there.
    pub const fn default(
        key: &'static str,
        kind: Kind,
        value: Literal,
        unit: &'static str,
        doc: &'static str,
    ) -> Self {
        Self::new(key, kind, Need::Default(value), unit, doc)
    }

    /// The same, with a meaning only while `key` holds one of `words`.
    #[must_use]
    pub const fn when(mut self, key: &'static str, words: &'static [&'static str]) -> Self {
        self.when = Some(When { key, words });
        self
    }
}

// --------------------------------------------------------------------------------------- check

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
            let message = format!("{} wants a table, found {}", quote(table.name), node.what());
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
                    let message = format!("{} wants {}, found {}", quote(key), phrase(kind), node.what());
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
        let message = format!("{} wants {}, found {}", quote(key), phrase(wanted), node.what());
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

fn integer_words(min: i64, max: i64) -> String {
    match (min, max) {
        (i64::MIN, i64::MAX) => "an integer".to_owned(),
        (min, i64::MAX) => format!("at least {min}"),
        (i64::MIN, max) => format!("at most {max}"),
        (min, max) => format!("from {min} to {max}"),
    }
}

/// What a message calls a kind: "a number greater than 0", "a list of 3 numbers".
fn phrase(kind: &Kind) -> String {
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

fn plural(kind: &Kind) -> String {
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
fn plural_list(kind: &Kind) -> String {
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
fn list_of<'a>(words: impl Iterator<Item = &'a str>, last: &str) -> String {
    let quoted: Vec<String> = words.map(quote).collect();
    match quoted.split_last() {
        Some((end, rest)) if !rest.is_empty() => format!("{} {last} {end}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

fn lower_first(text: &str) -> String {
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

// ---------------------------------------------------------------------------------------- view

/// A table that was found good, with typed access.
///
/// No accessor fails: a key that is absent gives its default, or the zero of its type (the `maybe_`
/// twins tell the difference). To ask for a key that the description does not have, or for a type that
/// it does not promise, is a mistake of the caller and caught by `debug_assert!`.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    table: &'static Table,
    entries: &'a [Entry],
    span: Span,
}

/// Something that a key of a [`View`] can hold: what the file says or the default.
enum Found<'a> {
    Written(&'a Node),
    Preset(Literal),
}

impl<'a> View<'a> {
    fn new(table: &'static Table, node: &'a Node) -> Self {
        let entries: &[Entry] = match &node.value {
            Value::Table(entries) => entries,
            _ => &[],
        };
        Self { table, entries, span: node.span }
    }

    /// The description of this table.
    pub fn description(&self) -> &'static Table {
        self.table
    }

    /// Where the table stands (its header).
    pub fn place(&self) -> Span {
        self.span
    }

    /// Whether the file gives `key`.
    pub fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// Where the value of `key` stands; if it is absent, where the table stands.
    pub fn span(&self, key: &str) -> Span {
        self.entry(key).map_or(self.span, |entry| entry.node.span)
    }

    /// Where `key` itself stands; if it is absent, where the table stands.
    pub fn key_span(&self, key: &str) -> Span {
        self.entry(key).map_or(self.span, |entry| entry.key_span)
    }

    /// Where item `i` of the list `key` stands; if there is none, where the value of `key` stands.
    pub fn item_span(&self, key: &str, i: usize) -> Span {
        match self.node(key).map(|node| &node.value) {
            Some(Value::List(items)) => items.get(i).map_or(self.span(key), |item| item.span),
            _ => self.span(key),
        }
    }

    /// What the file says of `key`, untyped.
    pub fn node(&self, key: &str) -> Option<&'a Node> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// The first key that the file gives: the variant, in a table like `{ box = [1, 1, 1] }`.
    pub fn variant(&self) -> &'a str {
        self.entries.first().map_or("", |entry| &entry.key)
    }

    /// A boolean.
    pub fn bool(&self, key: &str) -> bool {
        self.sure(key, self.maybe_bool(key))
    }

    /// An integer.
    pub fn integer(&self, key: &str) -> i64 {
        self.sure(key, self.maybe_integer(key))
    }

    /// A number.
    pub fn number(&self, key: &str) -> f64 {
        self.sure(key, self.maybe_number(key))
    }

    /// A text, name or word.
    pub fn text(&self, key: &str) -> &'a str {
        self.sure(key, self.maybe_text(key))
    }

    /// Three numbers.
    pub fn vec3(&self, key: &str) -> [f64; 3] {
        self.sure(key, self.maybe_vec3(key))
    }

    /// A list of numbers; a single number is a list of one.
    pub fn numbers(&self, key: &str) -> Vec<f64> {
        self.sure(key, self.maybe_numbers(key))
    }

    /// A boolean, if there is one.
    pub fn maybe_bool(&self, key: &str) -> Option<bool> {
        self.found(key, |found| match found {
            Found::Written(Node { value: Value::Bool(value), .. }) => Some(*value),
            Found::Preset(Literal::Bool(value)) => Some(value),
            _ => None,
        })
    }

    /// An integer, if there is one.
    pub fn maybe_integer(&self, key: &str) -> Option<i64> {
        self.found(key, |found| match found {
            Found::Written(node) => as_integer(node),
            Found::Preset(Literal::Integer(value)) => Some(value),
            Found::Preset(_) => None,
        })
    }

    /// A number, if there is one.
    pub fn maybe_number(&self, key: &str) -> Option<f64> {
        self.found(key, |found| match found {
            Found::Written(node) => as_number(node),
            Found::Preset(Literal::Number(value)) => Some(value),
            Found::Preset(Literal::Integer(value)) => Some(value as f64),
            Found::Preset(_) => None,
        })
    }

    /// A text, name or word, if there is one.
    pub fn maybe_text(&self, key: &str) -> Option<&'a str> {
        self.found(key, |found| match found {
            Found::Written(node) => as_text(node),
            Found::Preset(Literal::Text(text)) => Some(text),
            Found::Preset(_) => None,
        })
    }

    /// Three numbers, if there are any.
    pub fn maybe_vec3(&self, key: &str) -> Option<[f64; 3]> {
        self.found(key, |found| match found {
            Found::Written(node) => as_vec3(node),
            Found::Preset(Literal::Numbers(numbers)) => numbers.try_into().ok(),
            Found::Preset(_) => None,
        })
    }

    /// A list of numbers, if there is one; a single number is a list of one.
    pub fn maybe_numbers(&self, key: &str) -> Option<Vec<f64>> {
        self.found(key, |found| match found {
            Found::Written(Node { value: Value::List(items), .. }) => items.iter().map(as_number).collect(),
            Found::Written(node) => as_number(node).map(|number| vec![number]),
            Found::Preset(Literal::Numbers(numbers)) => Some(numbers.to_vec()),
            Found::Preset(Literal::Number(number)) => Some(vec![number]),
            Found::Preset(_) => None,
        })
    }

    /// A list of triples of numbers; empty if absent.
    pub fn vec3s(&self, key: &str) -> Vec<[f64; 3]> {
        self.items(key).iter().filter_map(as_vec3).collect()
    }

    /// A list of integers; empty if absent.
    pub fn integers(&self, key: &str) -> Vec<i64> {
        self.items(key).iter().filter_map(as_integer).collect()
    }

    /// A list of lists of integers, such as the corners of triangles; empty if absent.
    pub fn integer_rows(&self, key: &str) -> Vec<Vec<i64>> {
        let row = |node: &Node| match &node.value {
            Value::List(items) => items.iter().filter_map(as_integer).collect(),
            _ => Vec::new(),
        };
        self.items(key).iter().map(row).collect()
    }

    /// A text or list of texts as a list; empty if absent. The i-th stands at [`View::item_span`].
    pub fn texts(&self, key: &str) -> Vec<&'a str> {
        let texts = self.found(key, |found| match found {
            Found::Written(Node { value: Value::List(items), .. }) => items.iter().map(as_text).collect(),
            Found::Written(node) => as_text(node).map(|text| vec![text]),
            Found::Preset(Literal::Texts(texts)) => Some(texts.to_vec()),
            Found::Preset(Literal::Text(text)) => Some(vec![text]),
            Found::Preset(_) => None,
        });
        texts.unwrap_or_default()
    }

    /// A table, if it is there.
    pub fn table(&self, key: &str) -> Option<View<'a>> {
        let node = self.node(key)?;
        let table = self.table.field(key).and_then(|field| table_of(&field.kind))?;
        matches!(node.value, Value::Table(_)).then(|| View::new(table, node))
    }

    /// A list of tables; empty if absent.
    pub fn tables(&self, key: &str) -> Vec<View<'a>> {
        let Some(table) = self.table.field(key).and_then(|field| table_of(&field.kind)) else {
            debug_assert!(false, "`{}` describes no tables `{key}`", self.table.name);
            return Vec::new();
        };
        self.items(key).iter().map(|node| View::new(table, node)).collect()
    }

    /// The entries of a [`Kind::Map`], in the order of the file; empty if absent.
    pub fn entries(&self, key: &str) -> &'a [Entry] {
        match self.node(key).map(|node| &node.value) {
            Some(Value::Table(entries)) => entries,
            _ => &[],
        }
    }

    fn entry(&self, key: &str) -> Option<&'a Entry> {
        debug_assert!(self.table.field(key).is_some(), "`{}` describes no key `{key}`", self.table.name);
        self.entries.iter().find(|entry| entry.key == key)
    }

    fn items(&self, key: &str) -> &'a [Node] {
        match self.node(key).map(|node| &node.value) {
            Some(Value::List(items)) => items,
            _ => &[],
        }
    }

    /// What the file says, else the default, turned into a `T`.
    fn found<T>(&self, key: &str, turn: impl Fn(Found<'a>) -> Option<T>) -> Option<T> {
        let preset = self.table.field(key).and_then(|field| match field.need {
            Need::Default(literal) => Some(Found::Preset(literal)),
            _ => None,
        });
        turn(self.node(key).map(Found::Written).or(preset)?)
    }

    fn sure<T: Default>(&self, key: &str, value: Option<T>) -> T {
        debug_assert!(value.is_some(), "`{}` promises no such `{key}`", self.table.name);
        value.unwrap_or_default()
    }
}

fn as_integer(node: &Node) -> Option<i64> {
    match node.value {
        Value::Integer(value) => Some(value),
        _ => None,
    }
}

fn as_number(node: &Node) -> Option<f64> {
    match node.value {
        Value::Integer(value) => Some(value as f64),
        Value::Number(value) => Some(value),
        _ => None,
    }
}

fn as_text(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn as_vec3(node: &Node) -> Option<[f64; 3]> {
    match &node.value {
        Value::List(items) => match items.as_slice() {
            [x, y, z] => Some([as_number(x)?, as_number(y)?, as_number(z)?]),
            _ => None,
        },
        _ => None,
    }
}

/// The table inside a kind.
fn table_of(kind: &'static Kind) -> Option<&'static Table> {
    match kind {
        Kind::Table(table) | Kind::Tables(table) => Some(table),
        Kind::List { item, .. } | Kind::Map(item) => table_of(item),
        Kind::Either(kinds) => kinds.iter().find_map(table_of),
        _ => None,
    }
}

// ------------------------------------------------------------------------- schema and reference

/// All tables that can be reached from `root`, each once, `root` first.
fn tables_below(root: &'static Table) -> Vec<&'static Table> {
    fn add(kind: &'static Kind, all: &mut Vec<&'static Table>) {
        match kind {
            Kind::Table(table) | Kind::Tables(table) => match all.iter().find(|k| k.name == table.name) {
                // The schema and the reference call tables by their names.
                Some(known) => debug_assert!(
                    known.fields.iter().map(|f| f.key).eq(table.fields.iter().map(|f| f.key)),
                    "two tables are called `{}`",
                    table.name
                ),
                None => all.push(table),
            },
            Kind::List { item, .. } | Kind::Map(item) => add(item, all),
            Kind::Either(kinds) => kinds.iter().for_each(|kind| add(kind, all)),
            _ => {}
        }
    }
    let mut all = vec![root];
    let mut next = 0;
    while let Some(table) = all.get(next).copied() {
        table.fields.iter().for_each(|field| add(&field.kind, &mut all));
        next += 1;
    }
    all
}

/// The JSON Schema (draft 2020-12) of the files that `root` describes.
pub fn json_schema(root: &'static Table) -> Json {
    let mut schema = table_schema(root);
    let tables = tables_below(root);
    let definitions: Map<String, Json> =
        tables.iter().map(|table| (table.name.to_owned(), table_schema(table))).collect();
    if let Json::Object(keys) = &mut schema {
        keys.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        keys.insert("title".to_owned(), json!(root.name));
        keys.insert("$defs".to_owned(), Json::Object(definitions));
    }
    schema
}

fn table_schema(table: &'static Table) -> Json {
    let mut properties = Map::new();
    let mut required = Vec::new();
    let mut all_of = Vec::new();
    for field in table.fields {
        properties.insert(field.key.to_owned(), field_schema(field));
        let is_required = matches!(field.need, Need::Required);
        match &field.when {
            None if is_required => required.push(field.key),
            None => {}
            Some(when) => all_of.push(when_schema(table, field, when)),
        }
    }
    let has = |key: &&str| json!({ "required": [key] });
    let pairs = |keys: &[&str]| -> Vec<Json> {
        let pair = |i: usize, j: usize| json!({ "not": { "required": [keys[i], keys[j]] } });
        (0..keys.len()).flat_map(|j| (0..j).map(move |i| pair(i, j))).collect()
    };
    for rule in table.rules {
        match rule {
            Rule::ExactlyOne(keys) => {
                all_of.push(json!({ "oneOf": keys.iter().map(has).collect::<Vec<_>>() }))
            }
            Rule::AtLeastOne(keys) => {
                all_of.push(json!({ "anyOf": keys.iter().map(has).collect::<Vec<_>>() }))
            }
            Rule::AtMostOne(keys) => all_of.extend(pairs(keys)),
            Rule::Together(keys) => {
                let needs: Map<String, Json> =
                    keys.iter().map(|key| ((*key).to_owned(), json!(keys))).collect();
                all_of.push(json!({ "dependentRequired": needs }));
            }
        }
    }
    let mut schema = json!({
        "type": "object",
        "description": table.doc,
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    if !all_of.is_empty() {
        schema["allOf"] = json!(all_of);
    }
    schema
}

fn when_schema(table: &Table, field: &Field, when: &When) -> Json {
    let by_default = match table.field(when.key).map(|field| field.need) {
        Some(Need::Default(Literal::Text(word))) => when.words.contains(&word),
        _ => false,
    };
    let mut condition = json!({ "properties": { when.key: { "enum": when.words } } });
    if !by_default {
        condition["required"] = json!([when.key]);
    }
    let mut schema = json!({ "if": condition, "else": { "properties": { field.key: false } } });
    if matches!(field.need, Need::Required) {
        schema["then"] = json!({ "required": [field.key] });
    }
    schema
}

fn field_schema(field: &'static Field) -> Json {
    let mut schema = kind_schema(&field.kind);
    let unit = if field.unit.is_empty() { String::new() } else { format!(" Unit: {}.", field.unit) };
    schema["description"] = json!(format!("{}{unit}", field.doc));
    if let Need::Default(literal) = &field.need {
        schema["default"] = literal.json();
    }
    schema
}

fn kind_schema(kind: &'static Kind) -> Json {
    match kind {
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::Integer { min, max } => {
            let mut schema = json!({ "type": "integer" });
            if *min > i64::MIN {
                schema["minimum"] = json!(min);
            }
            if *max < i64::MAX {
                schema["maximum"] = json!(max);
            }
            schema
        }
        Kind::Number(range) => {
            let mut schema = json!({ "type": "number" });
            if range.min > f64::NEG_INFINITY {
                schema[if range.above { "exclusiveMinimum" } else { "minimum" }] = json_number(range.min);
            }
            if range.max < f64::INFINITY {
                schema[if range.below { "exclusiveMaximum" } else { "maximum" }] = json_number(range.max);
            }
            schema
        }
        Kind::Text => json!({ "type": "string" }),
        Kind::Name => json!({ "type": "string", "minLength": 1, "maxLength": MAX_NAME }),
        Kind::Word(words) => {
            let word = |word: &Word| json!({ "const": word.word, "description": word.doc });
            json!({ "oneOf": words.iter().map(word).collect::<Vec<_>>() })
        }
        Kind::List { item, min, max } => {
            let mut schema = json!({ "type": "array", "items": kind_schema(item) });
            if *min > 0 {
                schema["minItems"] = json!(min);
            }
            if *max < usize::MAX {
                schema["maxItems"] = json!(max);
            }
            schema
        }
        Kind::Map(item) => json!({ "type": "object", "additionalProperties": kind_schema(item) }),
        Kind::Table(table) => json!({ "$ref": format!("#/$defs/{}", table.name) }),
        Kind::Tables(table) => {
            json!({ "type": "array", "items": { "$ref": format!("#/$defs/{}", table.name) } })
        }
        Kind::Either(kinds) => json!({ "anyOf": kinds.iter().map(kind_schema).collect::<Vec<_>>() }),
    }
}

/// 0 rather than 0.0.
fn json_number(value: f64) -> Json {
    if value.fract() == 0.0 && value.abs() < 1e15 { json!(value as i64) } else { json!(value) }
}

impl Literal {
    fn json(&self) -> Json {
        match self {
            Self::Bool(value) => json!(value),
            Self::Integer(value) => json!(value),
            Self::Number(value) => json_number(*value),
            Self::Text(text) => json!(text),
            Self::Numbers(numbers) => numbers.iter().copied().map(json_number).collect(),
            Self::Texts(texts) => json!(texts),
        }
    }

    /// As one writes it in TOML.
    pub(crate) fn written(&self) -> String {
        let list = |items: Vec<String>| format!("[{}]", items.join(", "));
        match self {
            Self::Bool(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Number(value) => json_number(*value).to_string(),
            Self::Text(text) => format!("\"{text}\""),
            Self::Numbers(numbers) => list(numbers.iter().map(|n| json_number(*n).to_string()).collect()),
            Self::Texts(texts) => list(texts.iter().map(|text| format!("\"{text}\"")).collect()),
        }
    }
}

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
                Need::Default(literal) => format!("`{}`", literal.written()),
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
