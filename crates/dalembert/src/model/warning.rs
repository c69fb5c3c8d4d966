//! What a build has to say beside errors.

use std::fmt;

/// Where in a scene: the `index`-th entry of `table`, its key `key`. A reader of files turns it into a line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// Name of the list in the scene, such as `springs`; empty for the scene itself.
    pub table: &'static str,
    /// Which entry of the list, from 0.
    pub index: usize,
    /// Field or key; empty for the entry as a whole.
    pub key: &'static str,
    /// Name of the entry, if it has one.
    pub name: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.table, self.name.as_str()) {
            ("", _) => write!(f, "scene")?,
            (table, "") => write!(f, "{table} number {}", self.index + 1)?,
            (table, name) => write!(f, "{table} `{name}`")?,
        }
        if self.key.is_empty() { Ok(()) } else { write!(f, ", `{}`", self.key) }
    }
}

/// Something in a scene that is probably not meant, or that its method does not do. The scene runs all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Where.
    pub place: Place,
    /// What, with the name, the number and the method.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}
