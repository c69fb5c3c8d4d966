//! The methods of the Python class `Scene`, one for every list of tables that a scene may have, with types and
//! docstrings: written from the same description that checks files.

use std::fmt::Write as _;

use crate::describe::{Field, Kind, Need, Rule, Table, written};

const HEAD: &str = r#""""What a scene may hold: one method for every table of a scene file, with the same names, units and defaults.

Written by `cargo xtask schema` from the description of scene files; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from numpy.typing import ArrayLike

from ._handle import Handle
from .mesh import Mesh

"#;

/// Words that Python keeps for itself, among the keys of scenes.
const RESERVED: [&str; 7] = ["from", "in", "is", "with", "as", "pass", "lambda"];

/// The Python module `_tables` for scenes that `root` describes.
pub(crate) fn python(root: &'static Table) -> String {
    let mut page = String::from(HEAD);
    let (settings, tables): (Vec<&Field>, Vec<&Field>) =
        root.fields.iter().partition(|f| !matches!(f.kind, Kind::Tables(_)));
    let mut keys: Vec<&str> = settings.iter().map(|f| f.key).collect();
    keys.retain(|key| *key != "include");
    let _ = writeln!(page, "SETTINGS: tuple[str, ...] = (");
    keys.iter().for_each(|key| {
        let _ = writeln!(page, "    \"{key}\",");
    });
    page.push_str(")\n\n\nclass Tables:\n    \"\"\"Base of `Scene`: its settings, and a method for every table.\"\"\"\n\n");
    page.push_str(
        "    def _set(self, settings: dict[str, Any]) -> None:\n        raise NotImplementedError\n\n",
    );
    page.push_str("    def _add(self, table: str, keys: dict[str, Any]) -> Handle:\n        raise NotImplementedError\n");
    let settings: Vec<&Field> = settings.into_iter().filter(|f| f.key != "include").collect();
    method(&mut page, "__init__", "None", root.doc, &settings, &[], |call| format!("self._set({call})"));
    for field in tables {
        if let Kind::Tables(table) = field.kind {
            let fields: Vec<&Field> = table.fields.iter().collect();
            let body = |call: &str| format!("return self._add(\"{}\", {call})", field.key);
            method(&mut page, &format!("add_{}", field.key), "Handle", table.doc, &fields, table.rules, body);
        }
    }
    page
}

fn method(
    page: &mut String,
    name: &str,
    returns: &str,
    doc: &str,
    fields: &[&Field],
    rules: &[Rule],
    body: impl Fn(&str) -> String,
) {
    let is_name = |f: &&&Field| f.key == "name";
    let required = |f: &Field| matches!(f.need, Need::Required) && f.when.is_none();
    // A surface can stand in the place of the name of what is made of it.
    let of_a_surface = fields.iter().any(|f| f.key == "surface") && fields.iter().any(|f| f.key == "grid");
    let parameter = |f: &Field| {
        let kind = match f.key {
            "name" if of_a_surface => "str | Mesh".into(),
            _ => hint(&f.kind),
        };
        match required(f) {
            true => format!("        {}: {kind},\n", spelt(f.key)),
            false => format!("        {}: {kind} | None = None,\n", spelt(f.key)),
        }
    };
    let _ = write!(page, "\n    def {name}(\n        self,\n");
    fields.iter().filter(is_name).for_each(|f| page.push_str(&parameter(f)));
    page.push_str("        *,\n");
    let others = || fields.iter().filter(|f| f.key != "name");
    others().filter(|f| required(f)).for_each(|f| page.push_str(&parameter(f)));
    others().filter(|f| !required(f)).for_each(|f| page.push_str(&parameter(f)));
    let _ = writeln!(page, "    ) -> {returns}:");
    let _ = write!(page, "        \"\"\"{}\n\n        Args:\n", plain(doc));
    for f in fields {
        let unit = if f.unit.is_empty() { String::new() } else { format!(" [{}]", f.unit) };
        let need = match f.need {
            Need::Default(value) => format!(" Default: {}.", plain(&written(&value))),
            _ => String::new(),
        };
        let _ = writeln!(page, "            {}: {}{unit}{need}", spelt(f.key), plain(f.doc));
    }
    for rule in rules {
        let (start, keys) = match rule {
            Rule::ExactlyOne(keys) => ("Exactly one of", keys),
            Rule::AtMostOne(keys) => ("At most one of", keys),
            Rule::AtLeastOne(keys) => ("At least one of", keys),
            Rule::Together(keys) => ("All or none of", keys),
        };
        let _ = write!(page, "\n        {start} {}.\n", keys.join(", "));
    }
    page.push_str("        \"\"\"\n");
    let mut keys = String::from("{\n");
    for f in fields {
        let _ = writeln!(keys, "            \"{}\": {},", f.key, spelt(f.key));
    }
    keys.push_str("        }");
    let _ = writeln!(page, "        {}", body(&keys));
}

/// A key as a name of Python.
fn spelt(key: &str) -> String {
    if RESERVED.contains(&key) { format!("{key}_") } else { key.to_owned() }
}

/// Text that can stand in a docstring.
fn plain(text: &str) -> String {
    text.replace('\\', "\\\\").replace("\"\"\"", "'''").replace('\n', " ")
}

/// The type of a value.
fn hint(kind: &Kind) -> String {
    match kind {
        Kind::Bool => "bool".into(),
        Kind::Integer { .. } => "int".into(),
        Kind::Number(_) => "float".into(),
        Kind::Text | Kind::Name => "str".into(),
        Kind::Word(words) => {
            let words: Vec<String> = words.iter().map(|w| format!("\"{}\"", w.word)).collect();
            format!("Literal[{}]", words.join(", "))
        }
        Kind::List { item, .. } if is_numeric(item) => "ArrayLike".into(),
        Kind::List { item, .. } => format!("Sequence[{}]", hint(item)),
        Kind::Map(_) | Kind::Table(_) => "Mapping[str, Any]".into(),
        Kind::Tables(_) => "Sequence[Mapping[str, Any]]".into(),
        Kind::Either(kinds) => {
            let mut hints: Vec<String> = kinds.iter().map(hint).collect();
            hints.dedup();
            hints.join(" | ")
        }
    }
}

fn is_numeric(kind: &Kind) -> bool {
    match kind {
        Kind::Integer { .. } | Kind::Number(_) => true,
        Kind::List { item, .. } => is_numeric(item),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::{Literal, Range};

    static BALL: Table = Table::new(
        "ball",
        "A ball.",
        &[
            Field::default("radius", Kind::Number(Range::POSITIVE), Literal::Number(0.1), "m", "Its radius."),
            Field::required("name", Kind::Name, "", "Its name."),
            Field::optional("from", Kind::VEC3, "m", "Start."),
        ],
    );
    static ROOT: Table =
        Table::new("scene", "A scene.", &[Field::optional("ball", Kind::Tables(&BALL), "", "Balls.")]);

    #[test]
    fn a_table_becomes_a_method_with_its_name_first_and_units_in_its_docstring() {
        let text = python(&ROOT);
        let start = "    def add_ball(\n        self,\n        name: str,\n        *,\n        radius: float | None = None,\n        from_: ArrayLike | None = None,\n    ) -> Handle:\n";
        assert!(text.contains(start), "{text}");
        assert!(text.contains("radius: Its radius. [m] Default: 0.1."), "{text}");
        assert!(text.contains("\"from\": from_,"), "{text}");
    }
}
