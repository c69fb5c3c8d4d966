//! Robots written back: MJCF and URDF, with a list of what the format cannot carry.
//!
//! Numbers are written with as many digits as it takes to read the same bits again. Everything that a file of another
//! tool leaves to defaults is said in full, and inertias are those of the robot, not of its shapes.

use std::fmt::Write as _;

use dalembert::math::Pose;

pub use super::write_mjcf::{write_mjcf, write_mjcf_beside};
pub use super::write_urdf::write_urdf;

/// A robot as a text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Written {
    /// The file.
    pub text: String,
    /// What the format could not carry, one sentence each.
    pub lost: Vec<String>,
}

/// Deepest indentation: a chain of thousands of bodies would be a text of blanks, as long as its length squared.
const MOST_INDENT: usize = 32;

/// One element that is being written.
pub(super) struct Xml {
    pub(super) text: String,
    pub(super) depth: usize,
    pub(super) lost: Vec<String>,
}

impl Xml {
    pub(super) fn new() -> Self {
        Self { text: String::new(), depth: 0, lost: Vec::new() }
    }

    /// Starts an element: attributes follow.
    pub(super) fn begin(&mut self, name: &str) {
        self.text.extend(std::iter::repeat_n("  ", self.depth.min(MOST_INDENT)));
        self.text.push('<');
        self.text.push_str(name);
    }

    /// Ends an element without content.
    pub(super) fn end(&mut self) {
        self.text.push_str("/>\n");
    }

    /// Opens the content of an element.
    pub(super) fn open(&mut self) {
        self.text.push_str(">\n");
        self.depth += 1;
    }

    pub(super) fn close(&mut self, name: &str) {
        self.depth -= 1;
        self.text.extend(std::iter::repeat_n("  ", self.depth.min(MOST_INDENT)));
        let _ = writeln!(self.text, "</{name}>");
    }

    pub(super) fn put(&mut self, key: &str, value: &str) {
        let _ = write!(self.text, " {key}=\"{}\"", escaped(value));
    }

    pub(super) fn name(&mut self, value: &str) {
        if !value.is_empty() {
            self.put("name", value);
        }
    }

    pub(super) fn numbers(&mut self, key: &str, values: &[f64]) {
        self.put(key, &joined(values));
    }

    pub(super) fn number(&mut self, key: &str, value: f64) {
        self.numbers(key, &[value]);
    }

    /// A number that differs from the usual one.
    pub(super) fn unusual(&mut self, key: &str, value: f64, usual: f64) {
        if value != usual {
            self.number(key, value);
        }
    }

    pub(super) fn lose(&mut self, what: impl Into<String>) {
        self.lost.push(what.into());
    }
}

pub(super) fn joined(values: &[f64]) -> String {
    let words: Vec<String> = values.iter().map(|x| format!("{x}")).collect();
    words.join(" ")
}

pub(super) fn quaternion(pose: &Pose) -> [f64; 4] {
    let q = pose.rotation;
    [q.w, q.i, q.j, q.k]
}

/// A text inside an attribute.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\r' | '\t' => {
                let _ = write!(out, "&#{};", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}
