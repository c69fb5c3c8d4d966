//! What a scene may say, told once: each table of a scene file is declared where its struct is.
//!
//! `table!` makes from one declaration the struct, its defaults, the description of its keys
//! ([`Table`]) and what reads it from a checked file ([`Key::read`]). From the same [`Table`]s the crate `dalembert-formats`
//! makes the check of files, the JSON Schema, the reference of the book and the methods of Python's `Scene`.

mod key;
mod macros;
mod tree;
mod view;

pub use key::{Element, Finding, Findings, Forms, Item, Key, TableKey, Words, count, default_of, join, text};
pub(crate) use macros::{described, fields, key_of, read_all, row, table, table_keys, unit, variants, words};
pub use tree::{Entry, FileId, Node, Span, Value, sorted_by_key};
pub use view::View;

/// Longest [`Kind::Name`] \[characters\].
pub const MAX_NAME: usize = 128;

/// What a table of the file may contain.
#[derive(Clone, Copy, Debug)]
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
#[derive(Clone, Copy, Debug)]
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
#[derive(Clone, Copy, Debug)]
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
    pub fn words(&self) -> String {
        let lower = (self.min > f64::NEG_INFINITY)
            .then(|| format!("{} {}", if self.above { "greater than" } else { "at least" }, self.min));
        let upper = (self.max < f64::INFINITY)
            .then(|| format!("{} {}", if self.below { "less than" } else { "at most" }, self.max));
        lower.into_iter().chain(upper).collect::<Vec<_>>().join(" and ")
    }

    /// "> 0", or empty for all numbers.
    pub fn signs(&self) -> String {
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
    /// A key of any kind and need.
    pub const fn new(
        key: &'static str,
        kind: Kind,
        need: Need,
        unit: &'static str,
        doc: &'static str,
    ) -> Self {
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

/// Shorthands for declarations.
pub mod short {
    use super::{Kind, Literal, Need, Range};

    /// A number above zero.
    pub const POSITIVE: Kind = Kind::Number(Range::POSITIVE);
    /// A number from zero.
    pub const NOT_NEGATIVE: Kind = Kind::Number(Range::NON_NEGATIVE);
    /// Any finite number.
    pub const NUMBER: Kind = Kind::NUMBER;
    /// Three finite numbers.
    pub const VEC3: Kind = Kind::VEC3;
    /// True or false.
    pub const BOOL: Kind = Kind::Bool;
    /// Points by name: one text or several. An empty list is more likely a slip than a wish.
    pub const SELECTION: Kind =
        Kind::Either(&[Kind::Text, Kind::List { item: &Kind::Text, min: 1, max: usize::MAX }]);
    /// One triple of numbers or more.
    pub const PLACES: Kind = Kind::List { item: &Kind::VEC3, min: 1, max: usize::MAX };
    /// Two texts.
    pub const TWO_TEXTS: Kind = Kind::List { item: &Kind::Text, min: 2, max: 2 };
    /// Three numbers above zero.
    pub const SIZES: Kind = Kind::List { item: &POSITIVE, min: 3, max: 3 };

    /// Must be there.
    pub const REQUIRED: Need = Need::Required;
    /// May be there.
    pub const OPTIONAL: Need = Need::Optional;
    /// (0, 0, 0) if absent.
    pub const ORIGIN: Need = Need::Default(Literal::Numbers(&[0.0, 0.0, 0.0]));
    /// (0, 0, 1) if absent.
    pub const UP: Need = Need::Default(Literal::Numbers(&[0.0, 0.0, 1.0]));
    /// False if absent.
    pub const FALSE: Need = Need::Default(Literal::Bool(false));
    /// True if absent.
    pub const TRUE: Need = Need::Default(Literal::Bool(true));

    /// This number if absent.
    pub const fn number(value: f64) -> Need {
        Need::Default(Literal::Number(value))
    }

    /// This whole number if absent.
    pub const fn whole(value: i64) -> Need {
        Need::Default(Literal::Integer(value))
    }

    /// This text or word if absent.
    pub const fn word(value: &'static str) -> Need {
        Need::Default(Literal::Text(value))
    }

    /// A whole number from `min` to `max`.
    pub const fn integer(min: i64, max: i64) -> Kind {
        Kind::Integer { min, max }
    }

    /// A list of `min` to `max` items.
    pub const fn list(item: &'static Kind, min: usize, max: usize) -> Kind {
        Kind::List { item, min, max }
    }
}
