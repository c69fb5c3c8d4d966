//! The declarations of tables, of words and of forms.

/// Declares a table of scene files and its struct, which has the same fields.
///
/// A line tells name, type, need, kind and SI unit of a key, its doc comment what it means: in rustdoc, in the JSON Schema, in
/// the reference and in Python. `field as "key"` names the key otherwise than the field. A line with a list of [`Field`]s in
/// the place of need, kind and unit holds keys declared elsewhere, several of which may make one value. After `rules`: which keys
/// belong together. After `check`: a function that looks at keys together. After `finish`: one that
/// completes what was read. After `all`: one that reads the tables of a list together.
///
/// ```ignore
/// table! {
///     /// A ball.
///     #[derive(Debug, Clone, PartialEq)]
///     pub struct Ball: "ball" {
///         /// Name, unique in the scene.
///         name: String = &[NAME];
///         /// Its radius.
///         radius: f64 = number(0.1), POSITIVE, "m";
///     }
/// }
/// ```
///
/// [`Field`]: crate::describe::Field
macro_rules! table {
    (
        $(#[doc = $about:literal])+
        $(#[derive($($derive:ident),+)])?
        pub struct $Name:ident: $name:literal {
            $(
                $(#[doc = $doc:literal])+
                $field:ident $(as $key:literal)?: $ty:ty =
                    $need:expr $(, $kind:expr, $unit:tt $(if $deciding:literal is $words:expr)?)?;
            )+
        }
        $(rules [$($rule:expr),+ $(,)?])?
        $(check $check:ident)?
        $(finish $finish:ident)?
        $(all $all:ident)?
    ) => {
        $(#[doc = $about])+
        $(#[derive($($derive),+)])?
        pub struct $Name {
            $(
                $(#[doc = $doc])+
                $(#[doc = $crate::describe::unit!($unit)])?
                pub $field: $ty,
            )+
        }

        impl $crate::describe::TableKey for $Name {
            const TABLE: $crate::describe::Table = $crate::describe::described!(
                $name, [$($about)+],
                $([$field $(as $key)?] [$($doc)+] [$need $(, $kind, $unit $(if $deciding is $words)?)?])+,
                [$($($rule),+)?]
            );

            fn from_table(
                t: &$crate::describe::View<'_>,
                out: &mut $crate::describe::Findings,
            ) -> Option<Self> {
                $($check(t, out);)?
                $(
                    let $field = <$ty as $crate::describe::Key>::read(
                        t, $crate::describe::key_of!($field $(as $key)?), out,
                    );
                )+
                let made = Self { $($field: $field?),+ };
                $(let made = $finish(made, t, out);)?
                Some(made)
            }
        }

        impl Default for $Name {
            fn default() -> Self {
                let table = const { &<Self as $crate::describe::TableKey>::TABLE };
                Self {
                    $($field: <$ty as $crate::describe::Key>::preset(
                        table, $crate::describe::key_of!($field $(as $key)?),
                    )),+
                }
            }
        }

        $crate::describe::table_keys!($Name $($all)?);
    };
    (
        $(#[doc = $about:literal])+
        for $Name:ident: $name:literal {
            $(
                $(#[doc = $doc:literal])+
                $field:ident $(as $key:literal)?: $ty:ty =
                    $need:expr $(, $kind:expr, $unit:tt $(if $deciding:literal is $words:expr)?)?;
            )+
        }
        $(rules [$($rule:expr),+ $(,)?])?
        $(check $check:ident)?
        $(finish $finish:ident)?
    ) => {
        impl $crate::describe::TableKey for $Name {
            const TABLE: $crate::describe::Table = $crate::describe::described!(
                $name, [$($about)+],
                $([$field $(as $key)?] [$($doc)+] [$need $(, $kind, $unit $(if $deciding is $words)?)?])+,
                [$($($rule),+)?]
            );

            fn from_table(
                t: &$crate::describe::View<'_>,
                out: &mut $crate::describe::Findings,
            ) -> Option<Self> {
                $($check(t, out);)?
                $(
                    let $field = <$ty as $crate::describe::Key>::read(
                        t, $crate::describe::key_of!($field $(as $key)?), out,
                    );
                )+
                let mut made = Self::default();
                $(made.$field = $field?.into();)+
                $(let made = $finish(made, t, out);)?
                Some(made)
            }
        }
    };
}

/// The description of a table.
macro_rules! described {
    ($name:literal, [$($about:literal)+], $([$($key:tt)+] [$($doc:literal)+] [$($row:tt)+])+, [$($rule:expr),*]) => {
        $crate::describe::Table {
            name: $name,
            doc: $crate::describe::text(concat!($($about),+)),
            fields: $crate::describe::fields![$(
                $crate::describe::row!($crate::describe::key_of!($($key)+), [$($doc)+], $($row)+)
            ),+],
            rules: &[$($rule),*],
        }
    };
}

/// Lets a struct with a table be the value of a key, and the element of a list of tables.
macro_rules! table_keys {
    ($Name:ident $($all:ident)?) => {
        impl $crate::describe::Key for $Name {
            fn read(
                t: &$crate::describe::View<'_>,
                key: &'static str,
                out: &mut $crate::describe::Findings,
            ) -> Option<Self> {
                <Self as $crate::describe::TableKey>::from_table(&t.table(key)?, out)
            }

            fn preset(_: &'static $crate::describe::Table, _: &str) -> Self {
                Self::default()
            }
        }

        impl $crate::describe::Element for $Name {
            fn all(
                t: &$crate::describe::View<'_>,
                key: &'static str,
                out: &mut $crate::describe::Findings,
            ) -> Vec<Self> {
                $crate::describe::read_all!($Name, t.tables(key), out $(, $all)?)
            }
        }
    };
}

/// All tables of a list, one by one or by a function that looks at them together.
macro_rules! read_all {
    ($Name:ident, $tables:expr, $out:ident) => {
        $tables.iter().filter_map(|t| <$Name as $crate::describe::TableKey>::from_table(t, $out)).collect()
    };
    ($Name:ident, $tables:expr, $out:ident, $all:ident) => {
        $all($tables, $out)
    };
}

/// The fields of one line of a table.
macro_rules! row {
    ($key:expr, [$($doc:literal)+], $fields:expr) => {
        $fields
    };
    ($key:expr, [$($doc:literal)+], $need:expr, $kind:expr, $unit:tt) => {
        &[$crate::describe::Field::new($key, $kind, $need, $unit, $crate::describe::text(concat!($($doc),+)))]
    };
    ($key:expr, [$($doc:literal)+], $need:expr, $kind:expr, $unit:tt if $deciding:literal is $words:expr) => {
        &[$crate::describe::Field::new($key, $kind, $need, $unit, $crate::describe::text(concat!($($doc),+)))
            .when($deciding, $words)]
    };
}

/// One list of fields from several.
macro_rules! fields {
    ($($part:expr),+ $(,)?) => {
        const {
            const PARTS: &[&[$crate::describe::Field]] = &[$($part),+];
            const ALL: [$crate::describe::Field; $crate::describe::count(PARTS)] = $crate::describe::join(PARTS);
            &ALL as &[$crate::describe::Field]
        }
    };
}

macro_rules! key_of {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident as $key:literal) => {
        $key
    };
}

macro_rules! unit {
    ("") => {
        ""
    };
    ($unit:tt) => {
        concat!(" Unit: ", $unit, ".")
    };
}

/// Declares the words of a key, with what they mean; of a new enum, or `for` one that is declared elsewhere.
macro_rules! words {
    (
        $(#[doc = $about:literal])+
        pub enum $Name:ident {
            $(#[doc = $first_doc:literal])+
            $First:ident = $first:literal,
            $($(#[doc = $doc:literal])+ $Variant:ident = $word:literal,)*
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub enum $Name {
            $(#[doc = $first_doc])+
            #[default]
            $First,
            $($(#[doc = $doc])+ $Variant,)*
        }

        $crate::describe::words! {
            for $Name { $(#[doc = $first_doc])+ $First = $first, $($(#[doc = $doc])+ $Variant = $word,)* }
        }
    };
    (
        for $Name:ident {
            $(#[doc = $first_doc:literal])+
            $First:ident = $first:literal,
            $($(#[doc = $doc:literal])+ $Variant:ident = $word:literal,)*
        }
    ) => {
        impl $crate::describe::Words for $Name {
            const WORDS: &'static [$crate::describe::Word] = &[
                $crate::describe::Word::new($first, $crate::describe::text(concat!($($first_doc),+))),
                $($crate::describe::Word::new($word, $crate::describe::text(concat!($($doc),+))),)*
            ];
        }

        impl $crate::describe::Item for $Name {
            fn of(node: &$crate::describe::Node) -> Option<Self> {
                match &node.value {
                    $crate::describe::Value::Text(text) => match text.as_str() {
                        $first => Some(Self::$First),
                        $($word => Some(Self::$Variant),)*
                        _ => None,
                    },
                    _ => None,
                }
            }

            fn of_literal(literal: &$crate::describe::Literal) -> Option<Self> {
                match literal {
                    $crate::describe::Literal::Text($first) => Some(Self::$First),
                    $($crate::describe::Literal::Text($word) => Some(Self::$Variant),)*
                    _ => None,
                }
            }

            fn empty() -> Self {
                Self::$First
            }
        }
    };
}

/// Declares forms of a thing, one variant each, of which a file gives one as a table; of a new enum, whose other variants
/// stand after `others`, or `for` one that is declared elsewhere.
macro_rules! variants {
    (
        $(#[doc = $about:literal])+
        pub enum $Name:ident {
            $(
                $(#[doc = $doc:literal])+
                $Variant:ident: $key:literal, $key_doc:literal, $table:literal {
                    $($(#[doc = $field_doc:literal])+ $field:ident $(as $own:literal)?: $ty:ty = $need:expr, $kind:expr, $unit:tt;)+
                }
            )+
        }
        $(others { $($(#[doc = $other_doc:literal])+ $Other:ident($inner:ty),)+ })?
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq)]
        pub enum $Name {
            $(
                $(#[doc = $doc])+
                $Variant {
                    $($(#[doc = $field_doc])+ #[doc = $crate::describe::unit!($unit)] $field: $ty,)+
                },
            )+
            $($($(#[doc = $other_doc])+ $Other($inner),)+)?
        }

        $crate::describe::variants! {
            for $Name {
                $(
                    $(#[doc = $doc])+
                    $Variant: $key, $key_doc, $table {
                        $($(#[doc = $field_doc])+ $field $(as $own)?: $ty = $need, $kind, $unit;)+
                    }
                )+
            }
        }
    };
    (
        for $Name:ident {
            $(
                $(#[doc = $doc:literal])+
                $Variant:ident: $key:literal, $key_doc:literal, $table:literal {
                    $($(#[doc = $field_doc:literal])+ $field:ident $(as $own:literal)?: $ty:ty = $need:expr, $kind:expr, $unit:tt;)+
                }
            )+
        }
    ) => {
        impl $crate::describe::Forms for $Name {
            const FORMS: &'static [$crate::describe::Field] = &[$(
                $crate::describe::Field::optional($key, $crate::describe::Kind::Table(const {
                    &$crate::describe::Table::new($table, $crate::describe::text(concat!($($doc),+)), const {
                        &[$(
                            $crate::describe::Field::new(
                                $crate::describe::key_of!($field $(as $own)?), $kind, $need, $unit,
                                $crate::describe::text(concat!($($field_doc),+)),
                            ),
                        )+]
                    })
                }), "", $key_doc),
            )+];

            fn form(
                t: &$crate::describe::View<'_>,
                out: &mut $crate::describe::Findings,
            ) -> Option<Option<Self>> {
                $(
                    if let Some(t) = t.form($key) {
                        $(let $field = <$ty as $crate::describe::Key>::read(&t, $crate::describe::key_of!($field $(as $own)?), out);)+
                        let made = || Some(Self::$Variant { $($field: $field?.into()),+ });
                        return Some(made());
                    }
                )+
                None
            }
        }
    };
}

pub(crate) use {described, fields, key_of, read_all, row, table, table_keys, unit, variants, words};
