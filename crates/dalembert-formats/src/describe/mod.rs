//! What is made of a description of files: see [`dalembert::describe`].
//!
//! From one [`Table`] come the check of a file ([`read`]), the JSON Schema that editors use ([`json_schema`]) and the
//! reference in the book ([`markdown`]).
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

mod check;
mod reference;
mod schema;
mod words;

pub use check::read;
pub use dalembert::describe::{Field, Kind, Literal, MAX_NAME, Need, Range, Rule, Table, View, When, Word};
pub use reference::markdown;
pub(crate) use reference::written;
pub use schema::json_schema;
