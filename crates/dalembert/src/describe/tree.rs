//! A value of a file that knows its place, in whatever language the file was written.

use std::ops::Range;

/// Which of several files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// A piece of a file: bytes `start..end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// Bytes `range` of `file`.
    pub fn new(file: FileId, range: Range<usize>) -> Self {
        let narrow = |byte: usize| u32::try_from(byte).unwrap_or(u32::MAX);
        Self { file, start: narrow(range.start), end: narrow(range.end) }
    }

    /// The bytes.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A value and its place.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it stands. Of a `[table]` this is its header.
    pub span: Span,
}

/// What a file can say.
#[derive(Clone, Debug)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A number written without point or exponent.
    Integer(i64),
    /// Any other number; may be infinite or NaN, since TOML can write these.
    Number(f64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A table, in the order of the file, each key once (a TOML table stands where its own header is).
    Table(Vec<Entry>),
}

/// One line of a table.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub key_span: Span,
    /// Its value.
    pub node: Node,
}

impl Node {
    /// The entry called `key`, if this is a table that has it.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// Whether both say the same, wherever they stand and in whatever order their keys are.
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Integer(a), Value::Integer(b)) => a == b,
            (Value::Number(a), Value::Number(b)) => a.to_bits() == b.to_bits(),
            (Value::Text(a), Value::Text(b)) => a == b,
            (Value::List(a), Value::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.says_the_same_as(b))
            }
            (Value::Table(a), Value::Table(b)) => {
                let (a, b) = (sorted_by_key(a), sorted_by_key(b));
                let same = |a: &Entry, b: &Entry| a.key == b.key && a.node.says_the_same_as(&b.node);
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
            }
            _ => false,
        }
    }
}

/// The entries by key, and by place where keys are equal.
pub fn sorted_by_key(entries: &[Entry]) -> Vec<&Entry> {
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_by_key(|entry| (&entry.key, entry.key_span.start));
    sorted
}
