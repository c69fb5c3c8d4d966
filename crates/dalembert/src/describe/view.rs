//! A table of a file that was found good, with typed access to its keys.

use super::{Entry, Item, Kind, Literal, Need, Node, Span, Table, Value};

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
    /// `node`, which was found to be as `table` says.
    pub fn new(table: &'static Table, node: &'a Node) -> Self {
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

    /// Whether `key` is one of this table, and the file gives it.
    pub fn gives(&self, key: &str) -> bool {
        self.table.field(key).is_some() && self.has(key)
    }

    /// The table of one of several forms, if `key` is one of this table and the file gives it.
    pub fn form(&self, key: &str) -> Option<View<'a>> {
        if self.gives(key) { self.table(key) } else { None }
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

    /// The value of `key` as an [`Item`]: what the file says, else the default, if there is one.
    pub fn item<T: Item>(&self, key: &str) -> Option<T> {
        self.found(key, |found| match found {
            Found::Written(node) => T::of(node),
            Found::Preset(literal) => T::of_literal(&literal),
        })
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

pub(super) fn as_integer(node: &Node) -> Option<i64> {
    match node.value {
        Value::Integer(value) => Some(value),
        _ => None,
    }
}

pub(super) fn as_number(node: &Node) -> Option<f64> {
    match node.value {
        Value::Integer(value) => Some(value as f64),
        Value::Number(value) => Some(value),
        _ => None,
    }
}

pub(super) fn as_text(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

pub(super) fn as_vec3(node: &Node) -> Option<[f64; 3]> {
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
