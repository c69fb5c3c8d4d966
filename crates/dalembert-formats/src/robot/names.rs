//! Names and what they stand for.

use std::collections::BTreeMap;

use super::xml::{Attribute, Document};
use crate::error::{Span, quote};

/// Things of one kind by their names.
pub(super) struct Names<T> {
    /// What one is called: "link", "joint".
    kind: &'static str,
    map: BTreeMap<String, (T, Span)>,
}

impl<T: Copy> Names<T> {
    pub(super) fn new(kind: &'static str) -> Self {
        Self { kind, map: BTreeMap::new() }
    }

    /// Adds a thing; a second one of the same name is an error. Things without a name are not added.
    pub(super) fn add(&mut self, doc: &Document, name: &str, thing: T, span: Span) {
        if name.is_empty() {
            return;
        }
        if let Some((_, first)) = self.map.get(name) {
            let error =
                doc.files.error(span, format!("there are two {} called {}", plural(self.kind), quote(name)));
            doc.push(error.with_note("the first stands here", doc.files.place(*first)));
            return;
        }
        self.map.insert(name.to_owned(), (thing, span));
    }

    pub(super) fn get(&self, name: &str) -> Option<T> {
        self.map.get(name).map(|(thing, _)| *thing)
    }

    /// The thing that an attribute names; an error with a suggestion if there is none.
    pub(super) fn find(&self, doc: &Document, attribute: &Attribute) -> Option<T> {
        self.find_name(doc, attribute, &attribute.value)
    }

    /// The thing called `name`, which stands in an attribute.
    pub(super) fn find_name(&self, doc: &Document, attribute: &Attribute, name: &str) -> Option<T> {
        let found = self.get(name);
        if found.is_none() {
            let message = format!("there is no {} called {}", self.kind, quote(name));
            let error = doc.files.error(attribute.value_span, message);
            // Looking at many names takes long; a suggestion is not worth that.
            doc.push(error.with_suggestion(name, self.map.keys().take(2000).map(String::as_str)));
        }
        found
    }
}

fn plural(kind: &str) -> String {
    match kind.as_bytes() {
        [.., b'd', b'y'] | [.., b't', b'y'] => format!("{}ies", &kind[..kind.len() - 1]),
        [.., b's'] | [.., b's', b'h'] => format!("{kind}es"),
        _ => format!("{kind}s"),
    }
}
