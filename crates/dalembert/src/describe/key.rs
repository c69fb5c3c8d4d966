//! Values that keys of a table give, and what is wrong with them.

use super::view::{as_integer, as_number, as_text, as_vec3};
use super::{Field, Kind, Literal, Need, Node, Span, Table, Value, View, Word};
use crate::math::Vec3;

/// Something wrong, or probably not meant, at a place of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Where.
    pub span: Span,
    /// What, with the name and the number.
    pub message: String,
    /// Whether the file is refused for it.
    pub is_error: bool,
}

/// What is found while a checked file becomes a scene.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// In the order found.
    pub list: Vec<Finding>,
}

impl Findings {
    /// Adds a mistake.
    pub fn error(&mut self, span: Span, message: impl Into<String>) {
        self.list.push(Finding { span, message: message.into(), is_error: true });
    }

    /// Adds something that is probably not meant.
    pub fn warn(&mut self, span: Span, message: impl Into<String>) {
        self.list.push(Finding { span, message: message.into(), is_error: false });
    }
}

/// The value of a single key, which the check of the file has found good.
pub trait Item: Sized {
    /// From what the file says.
    fn of(node: &Node) -> Option<Self>;
    /// From a default.
    fn of_literal(literal: &Literal) -> Option<Self>;
    /// Where neither is.
    fn empty() -> Self;
}

/// What one key, or several together, give to a field of a struct.
pub trait Key: Sized {
    /// From the keys of a table; `None` if they are refused, which is among the findings then.
    fn read(t: &View<'_>, key: &'static str, out: &mut Findings) -> Option<Self>;
    /// From the defaults alone.
    fn preset(table: &'static Table, key: &str) -> Self;
}

/// A struct declared by `table!`.
pub trait TableKey: Sized {
    /// Its keys.
    const TABLE: Table;
    /// From a table of a checked file; `None` if it is refused, which is among the findings then.
    fn from_table(t: &View<'_>, out: &mut Findings) -> Option<Self>;
}

/// What a list holds.
pub trait Element: Sized {
    /// All items of the list `key`.
    fn all(t: &View<'_>, key: &'static str, out: &mut Findings) -> Vec<Self>;
}

/// A choice of words.
pub trait Words: Sized {
    /// The words, with what they mean.
    const WORDS: &'static [Word];
    /// The kind of keys that hold one of them.
    const KIND: Kind = Kind::Word(Self::WORDS);
}

/// Forms of a thing, each with a table of its own, of which a file gives one.
pub trait Forms: Sized {
    /// One key for each form.
    const FORMS: &'static [Field];
    /// The form that the file gives, if it gives one; `Some(None)` if that is refused.
    fn form(t: &View<'_>, out: &mut Findings) -> Option<Option<Self>>;
}

/// The default of a key, if it has one.
pub fn default_of<T: Item>(table: &Table, key: &str) -> Option<T> {
    match table.field(key)?.need {
        Need::Default(literal) => T::of_literal(&literal),
        _ => None,
    }
}

impl<T: Item> Key for T {
    fn read(t: &View<'_>, key: &'static str, _: &mut Findings) -> Option<Self> {
        Some(t.item(key).unwrap_or_else(T::empty))
    }

    fn preset(table: &'static Table, key: &str) -> Self {
        default_of(table, key).unwrap_or_else(T::empty)
    }
}

impl<K: Key> Key for Option<K> {
    fn read(t: &View<'_>, key: &'static str, out: &mut Findings) -> Option<Self> {
        if t.has(key) { K::read(t, key, out).map(Some) } else { Some(None) }
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        None
    }
}

impl<T: Element> Key for Vec<T> {
    fn read(t: &View<'_>, key: &'static str, out: &mut Findings) -> Option<Self> {
        Some(T::all(t, key, out))
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Vec::new()
    }
}

/// Declares items by how they are read, and that lists may hold them. A single item is a list of one.
macro_rules! items {
    ($($ty:ty: $of:expr, $literal:pat => $preset:expr, $empty:expr;)+) => {
        $(
            impl Item for $ty {
                fn of(node: &Node) -> Option<Self> {
                    $of(node)
                }
                fn of_literal(literal: &Literal) -> Option<Self> {
                    match literal {
                        $literal => $preset,
                        _ => None,
                    }
                }
                fn empty() -> Self {
                    $empty
                }
            }
            impl Element for $ty {
                fn all(t: &View<'_>, key: &'static str, _: &mut Findings) -> Vec<Self> {
                    listed(t, key)
                }
            }
        )+
    };
}

/// The items of a list, or a single one.
fn listed<T: Item>(t: &View<'_>, key: &str) -> Vec<T> {
    match t.node(key) {
        Some(Node { value: Value::List(items), .. }) => items.iter().filter_map(T::of).collect(),
        Some(node) => T::of(node).into_iter().collect(),
        None => Vec::new(),
    }
}

fn whole<T: TryFrom<i64>>(node: &Node) -> Option<T> {
    T::try_from(as_integer(node)?).ok()
}

fn truth(node: &Node) -> Option<bool> {
    match node.value {
        Value::Bool(value) => Some(value),
        _ => None,
    }
}

items! {
    f64: as_number, Literal::Number(x) => Some(*x), 0.0;
    bool: truth, Literal::Bool(x) => Some(*x), false;
    u32: whole, Literal::Integer(i) => Self::try_from(*i).ok(), 0;
    u64: whole, Literal::Integer(i) => Self::try_from(*i).ok(), 0;
    usize: whole, Literal::Integer(i) => Self::try_from(*i).ok(), 0;
    String: |node| as_text(node).map(str::to_owned), Literal::Text(x) => Some((*x).to_owned()), String::new();
    Vec3: |node| as_vec3(node).map(Vec3::from), Literal::Numbers([x, y, z]) => Some(Vec3::new(*x, *y, *z)), Vec3::zeros();
}

impl<T: Item, const N: usize> Item for [T; N] {
    fn of(node: &Node) -> Option<Self> {
        match &node.value {
            Value::List(items) => items.iter().map(T::of).collect::<Option<Vec<T>>>()?.try_into().ok(),
            _ => None,
        }
    }

    fn of_literal(_: &Literal) -> Option<Self> {
        None
    }

    fn empty() -> Self {
        std::array::from_fn(|_| T::empty())
    }
}

impl<T: Item, const N: usize> Element for [T; N] {
    fn all(t: &View<'_>, key: &'static str, _: &mut Findings) -> Vec<Self> {
        listed(t, key)
    }
}

/// The text of a doc comment whose lines were put together.
pub const fn text(comment: &'static str) -> &'static str {
    match comment.as_bytes() {
        [b' ', rest @ ..] => match std::str::from_utf8(rest) {
            Ok(rest) => rest,
            Err(_) => comment,
        },
        _ => comment,
    }
}

/// How many fields there are in all parts.
pub const fn count(parts: &[&[Field]]) -> usize {
    let (mut sum, mut i) = (0, 0);
    while i < parts.len() {
        sum += parts[i].len();
        i += 1;
    }
    sum
}

/// The fields of all parts; N is their [`count`].
pub const fn join<const N: usize>(parts: &[&[Field]]) -> [Field; N] {
    let mut out = [Field::optional("", Kind::Bool, "", ""); N];
    let (mut n, mut i) = (0, 0);
    while i < parts.len() {
        let mut j = 0;
        while j < parts[i].len() {
            out[n] = parts[i][j];
            n += 1;
            j += 1;
        }
        i += 1;
    }
    out
}
