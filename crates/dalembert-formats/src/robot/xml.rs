//! XML as a flat list of elements that know their place.
//!
//! The parser is `roxmltree`; what stands here adds what untrusted input needs: a limit on the size of files and on
//! the depth of nesting, no document type definitions (and so no entities that unfold without end), includes without
//! loops. Elements are numbered, so that nothing in the readers needs to be recursive.
//!
//! Attributes remember whether somebody read them: what nobody read is reported, so that nothing is dropped silently.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::{Diagnostic, File, FileId, Files, Problems, SceneFileError, Severity, Span, plain, quote};
use crate::source::{Includes, MAX_FILE, MAX_FILES, MAX_INCLUDE_DEPTH, MAX_TOTAL};

/// Deepest nesting of elements.
pub(super) const MAX_DEPTH: usize = 1024;
/// Most elements of all files together.
const MAX_ELEMENTS: u32 = 1_000_000;
/// Most warnings that are listed one by one.
const MAX_WARNINGS: usize = 1000;
/// Largest file of a mesh \[bytes\].
const MAX_MESH: usize = 256 << 20;

/// Number of an element.
pub(super) type ElementId = usize;

/// `name="value"`
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) name_span: Span,
    pub(super) value_span: Span,
    /// Whether a reader has looked at it.
    pub(super) read: Cell<bool>,
}

/// `<name …>children</name>`
pub(super) struct Element {
    pub(super) name: String,
    /// The name in the opening tag.
    pub(super) span: Span,
    pub(super) attributes: Vec<Attribute>,
    pub(super) children: Vec<ElementId>,
    /// Whether a reader has looked at it.
    pub(super) read: Cell<bool>,
}

/// The elements of all files, and what was wrong with them so far.
pub(super) struct Document {
    pub(super) files: Files,
    pub(super) elements: Vec<Element>,
    /// Folders of the files that others include.
    folders: BTreeMap<FileId, PathBuf>,
    problems: RefCell<Problems>,
    warnings: RefCell<Vec<Diagnostic>>,
    more_warnings: Cell<usize>,
    /// Whether warnings about things that cannot be carried are errors.
    strict: bool,
}

impl Document {
    pub(super) fn new(strict: bool) -> Self {
        Self {
            files: Files::default(),
            elements: Vec::new(),
            folders: BTreeMap::new(),
            problems: RefCell::default(),
            warnings: RefCell::default(),
            more_warnings: Cell::new(0),
            strict,
        }
    }

    pub(super) fn node(&self, id: ElementId) -> Node<'_> {
        Node { doc: self, element: &self.elements[id] }
    }

    /// The folder of the included file in which something stands; `None` in a main file.
    pub(super) fn folder_of(&self, span: Span) -> Option<&Path> {
        self.folders.get(&span.file).map(PathBuf::as_path)
    }

    pub(super) fn push(&self, diagnostic: Diagnostic) {
        match diagnostic.severity {
            Severity::Error => self.problems.borrow_mut().push(diagnostic),
            Severity::Warning => {
                let mut list = self.warnings.borrow_mut();
                if list.len() < MAX_WARNINGS {
                    list.push(diagnostic);
                } else {
                    self.more_warnings.set(self.more_warnings.get() + 1);
                }
            }
        }
    }

    pub(super) fn error(&self, span: Span, message: impl Into<String>) {
        self.push(self.files.error(span, message));
    }

    pub(super) fn warn(&self, span: Span, message: impl Into<String>) {
        self.push(self.files.warning(span, message));
    }

    /// Something that the file says and the result cannot: a warning, or an error if nothing may be lost.
    pub(super) fn lost(&self, diagnostic: Diagnostic) {
        let severity = if self.strict { Severity::Error } else { Severity::Warning };
        self.push(Diagnostic { severity, ..diagnostic });
    }

    /// Whether there are so many errors that reading on serves nobody.
    pub(super) fn is_full(&self) -> bool {
        self.problems.borrow().is_full()
    }

    pub(super) fn has_errors(&self) -> bool {
        self.problems.borrow().has_errors()
    }

    pub(super) fn finish(self) -> Result<Vec<Diagnostic>, SceneFileError> {
        self.problems.into_inner().finish()?;
        let mut warnings = self.warnings.into_inner();
        let more = self.more_warnings.get();
        if more > 0 {
            warnings.push(Diagnostic::warning(format!("there are {more} more warnings")));
        }
        Ok(warnings)
    }
}

/// An element together with its document.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    pub(super) doc: &'a Document,
    pub(super) element: &'a Element,
}

impl<'a> Node<'a> {
    pub(super) fn name(self) -> &'a str {
        &self.element.name
    }

    pub(super) fn span(self) -> Span {
        self.element.span
    }

    pub(super) fn children(self) -> impl DoubleEndedIterator<Item = Node<'a>> + Clone {
        self.element.children.iter().map(move |&id| self.doc.node(id))
    }

    /// The children called `name`.
    pub(super) fn named(self, name: &'a str) -> impl Iterator<Item = Node<'a>> {
        self.children().filter(move |child| child.name() == name)
    }

    /// The only child called `name`; more are an error.
    pub(super) fn child(self, name: &'a str) -> Option<Node<'a>> {
        let mut found = self.named(name);
        let first = found.next()?;
        if let Some(second) = found.next() {
            let error = self
                .doc
                .files
                .error(second.span(), format!("{} has two {}", quote(self.name()), quote(name)));
            self.doc.push(error.with_note("the first stands here", self.doc.files.place(first.span())));
        }
        Some(first)
    }

    /// An attribute, marked as read.
    pub(super) fn attribute(self, name: &str) -> Option<&'a Attribute> {
        let found = self.element.attributes.iter().find(|a| a.name == name)?;
        found.read.set(true);
        Some(found)
    }

    pub(super) fn text(self, name: &str) -> Option<&'a str> {
        self.attribute(name).map(|a| a.value.as_str())
    }

    /// An attribute that must be there.
    pub(super) fn required(self, name: &str) -> Option<&'a Attribute> {
        let found = self.attribute(name);
        if found.is_none() {
            self.error(format!("{} needs the attribute {}", quote(self.name()), quote(name)));
        }
        found
    }

    pub(super) fn error(self, message: impl Into<String>) {
        self.doc.error(self.span(), message);
    }

    pub(super) fn warn(self, message: impl Into<String>) {
        self.doc.warn(self.span(), message);
    }

    /// Reports that the result cannot carry this.
    pub(super) fn lost(self, message: impl Into<String>) {
        self.doc.lost(self.doc.files.warning(self.span(), message));
    }

    /// Exactly N numbers.
    pub(super) fn array<const N: usize>(self, name: &str) -> Option<[f64; N]> {
        self.attribute(name).and_then(|a| array(self.doc, a))
    }

    pub(super) fn number(self, name: &str) -> Option<f64> {
        self.array(name).map(|[x]| x)
    }
}

/// Exactly N numbers of an attribute.
pub(super) fn array<const N: usize>(doc: &Document, attribute: &Attribute) -> Option<[f64; N]> {
    let mut out = [0.0; N];
    (fill(doc, attribute, &mut out, N)? == N).then_some(out)
}

/// At most N numbers of an attribute over what stands in `start`.
pub(super) fn array_up_to<const N: usize>(
    doc: &Document,
    attribute: &Attribute,
    start: [f64; N],
) -> Option<[f64; N]> {
    let mut out = start;
    fill(doc, attribute, &mut out, 1)?;
    Some(out)
}

/// Writes the numbers of an attribute; how many they are. Fewer than `least` and more than there is room for are errors.
pub(super) fn fill(doc: &Document, attribute: &Attribute, out: &mut [f64], least: usize) -> Option<usize> {
    let mut count = 0;
    for word in attribute.value.split_ascii_whitespace() {
        let x = number(doc, attribute, word)?;
        if let Some(place) = out.get_mut(count) {
            *place = x;
        }
        count += 1;
    }
    if count < least || count > out.len() {
        let want = if least == out.len() { format!("{least}") } else { format!("{least} to {}", out.len()) };
        let numbers = if want == "1" { "number" } else { "numbers" };
        doc.error(
            attribute.value_span,
            format!("{} wants {want} {numbers}, found {count}", quote(&attribute.name)),
        );
        return None;
    }
    Some(count)
}

/// All numbers of an attribute.
pub(super) fn numbers(doc: &Document, attribute: &Attribute) -> Option<Vec<f64>> {
    attribute.value.split_ascii_whitespace().map(|word| number(doc, attribute, word)).collect()
}

fn number(doc: &Document, attribute: &Attribute, word: &str) -> Option<f64> {
    match word.parse::<f64>() {
        Ok(x) if x.is_finite() => Some(x),
        Ok(_) => {
            let message = format!("{} is {}; it must be finite", quote(&attribute.name), quote(word));
            doc.error(attribute.value_span, message);
            None
        }
        Err(_) => {
            let message = format!("{} wants numbers, found {}", quote(&attribute.name), quote(word));
            doc.error(attribute.value_span, message);
            None
        }
    }
}

/// Reads files into a document.
pub(super) struct Loader<'a> {
    includes: Includes<'a>,
    total: usize,
    count: usize,
}

/// A file that was parsed: its outermost element.
#[derive(Debug, Clone)]
pub(super) struct Parsed {
    pub(super) root: ElementId,
    /// Where the file is.
    pub(super) path: PathBuf,
}

impl<'a> Loader<'a> {
    pub(super) fn new(includes: Includes<'a>) -> Self {
        Self { includes, total: 0, count: 0 }
    }

    /// Where a path relative to `folder` is found, and its bytes.
    pub(super) fn bytes(&mut self, path: &Path, limit: usize) -> Result<Vec<u8>, String> {
        let bytes = match self.includes {
            Includes::None => return Err("this text has no place among files".into()),
            Includes::Embedded(list) => {
                let clean = without_dots(path);
                let found = list.iter().find(|(known, _)| Path::new(known) == clean);
                found.map(|(_, text)| text.as_bytes().to_vec()).ok_or("no such file or folder")?
            }
            Includes::Assets(assets) => match assets.get(&without_dots(path).to_string_lossy()) {
                Some(content) => content.to_vec(),
                None => return Err("this text has no place among files".into()),
            },
            Includes::Directory(_) => read_limited(path, limit)?,
        };
        if bytes.len() > limit {
            return Err(format!("it is larger than {} MiB", limit >> 20));
        }
        Ok(bytes)
    }

    /// The bytes of a mesh or another asset.
    pub(super) fn asset(&mut self, path: &Path) -> Result<Vec<u8>, String> {
        self.bytes(path, MAX_MESH)
    }

    /// Whether there is a file at this path.
    pub(super) fn has(&self, path: &Path) -> bool {
        match self.includes {
            Includes::None => false,
            Includes::Assets(assets) => assets.get(&without_dots(path).to_string_lossy()).is_some(),
            Includes::Embedded(list) => {
                let clean = without_dots(path);
                list.iter().any(|(known, _)| Path::new(known) == clean)
            }
            Includes::Directory(_) => path.is_file(),
        }
    }

    /// Parses a text that is called `name` and lies at `path`; its includes replaced by what they contain.
    pub(super) fn parse(
        &mut self,
        doc: &mut Document,
        name: String,
        path: PathBuf,
        bytes: Vec<u8>,
    ) -> Result<Parsed, Diagnostic> {
        let root = self.parse_one(doc, name, bytes)?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        self.unfold(doc, root, &folder, &mut vec![without_dots(&path)])?;
        Ok(Parsed { root, path })
    }

    fn parse_one(
        &mut self,
        doc: &mut Document,
        name: String,
        bytes: Vec<u8>,
    ) -> Result<ElementId, Diagnostic> {
        self.total += bytes.len();
        self.count += 1;
        if bytes.len() > MAX_FILE || self.total > MAX_TOTAL || self.count > MAX_FILES {
            let message = format!(
                "{}: a model has at most {MAX_FILES} files of {} MiB, {} MiB in all",
                quote(&name),
                MAX_FILE >> 20,
                MAX_TOTAL >> 20
            );
            return Err(Diagnostic::error(message));
        }
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let byte = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                let file = doc.files.add(File::new(name, text));
                let message = format!("the file is not UTF-8 text: bad byte at offset {byte}");
                return Err(doc.files.error(Span::new(file, byte..byte + 1), message));
            }
        };
        let file = doc.files.add(File::new(name, text));
        let Some(held) = doc.files.get(file).cloned() else {
            return Err(Diagnostic::error("the file was lost"));
        };
        let text = held.text();
        // Entities can unfold without end; no robot needs them.
        if let Some(byte) = doctype(text) {
            let message = "document type definitions (`<!DOCTYPE`) are not allowed in models";
            return Err(doc.files.error(Span::new(file, byte..byte + 9), message));
        }
        let options = roxmltree::ParsingOptions {
            allow_dtd: false,
            nodes_limit: 4 * MAX_ELEMENTS,
            ..Default::default()
        };
        let xml = roxmltree::Document::parse_with_options(text, options).map_err(|error| {
            let at = error.pos();
            let byte = byte_of(text, at.row as usize, at.col as usize);
            doc.files.error(Span::new(file, byte..byte + 1), format!("the XML is damaged: {}", tidy(&error)))
        })?;
        copy(doc, file, &xml)
    }

    /// Puts the content of included files in the place of `include`.
    fn unfold(
        &mut self,
        doc: &mut Document,
        root: ElementId,
        main: &Path,
        chain: &mut Vec<PathBuf>,
    ) -> Result<(), Diagnostic> {
        // Elements of this file are numbered from `root` on, in one piece.
        let end = doc.elements.len();
        for parent in root..end {
            let mut k = 0;
            while k < doc.elements[parent].children.len() {
                let child = doc.elements[parent].children[k];
                if child >= end || doc.elements[child].name != "include" {
                    k += 1;
                    continue;
                }
                let inner = self.include(doc, child, main, chain)?;
                let inside = std::mem::take(&mut doc.elements[inner].children);
                let count = inside.len();
                doc.elements[parent].children.splice(k..=k, inside);
                k += count;
            }
        }
        Ok(())
    }

    fn include(
        &mut self,
        doc: &mut Document,
        id: ElementId,
        main: &Path,
        chain: &mut Vec<PathBuf>,
    ) -> Result<ElementId, Diagnostic> {
        let node = doc.node(id);
        let span = node.span();
        let Some(attribute) = node.attribute("file") else {
            return Err(doc.files.error(span, "`include` needs the attribute `file`"));
        };
        let (value, span) = (attribute.value.clone(), attribute.value_span);
        if chain.len() > MAX_INCLUDE_DEPTH {
            let message = format!("files include each other more than {MAX_INCLUDE_DEPTH} deep");
            return Err(doc.files.error(span, message));
        }
        // Beside the main file, as MuJoCo has it, or else beside this one.
        let beside = chain.last().and_then(|path| path.parent()).unwrap_or(Path::new("")).join(&value);
        let path = match main.join(&value) {
            path if self.has(&path) => path,
            path if beside == path || !self.has(&beside) => {
                let message = match self.includes {
                    Includes::None | Includes::Assets(_) => {
                        format!("cannot include {}: this text has no place among files", quote(&value))
                    }
                    _ => format!("cannot include {}: there is no file {}", quote(&value), path.display()),
                };
                return Err(doc.files.error(span, message));
            }
            _ => beside,
        };
        let clean = without_dots(&path);
        if let Some(start) = chain.iter().position(|seen| *seen == clean) {
            let names: Vec<String> =
                chain[start..].iter().chain([&clean]).map(|path| path.display().to_string()).collect();
            let message = format!("files include each other in a loop: {}", names.join(" -> "));
            return Err(doc.files.error(span, message));
        }
        let bytes = self
            .bytes(&path, MAX_FILE)
            .map_err(|reason| doc.files.error(span, format!("cannot include {}: {reason}", quote(&value))))?;
        let root = self.parse_one(doc, path.display().to_string(), bytes).map_err(|error| {
            if error.place.is_some() { error } else { doc.files.error(span, error.message) }
        })?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        doc.folders.insert(doc.node(root).span().file, folder);
        chain.push(clean);
        let result = self.unfold(doc, root, main, chain);
        chain.pop();
        result.map(|()| root)
    }
}

/// The message without the position, which stands elsewhere.
fn tidy(error: &roxmltree::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at ") {
        Some(at) if text[at + 4..].bytes().all(|b| b.is_ascii_digit() || b == b':') => text[..at].to_owned(),
        _ => text,
    }
}

/// Where a document type definition begins, outside of comments.
fn doctype(text: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find("<!") {
        at += found;
        if text[at..].starts_with("<!--") {
            at += 4 + text[at + 4..].find("-->")?;
        } else if text[at..].get(..9).is_some_and(|head| head.eq_ignore_ascii_case("<!doctype")) {
            return Some(at);
        }
        at += 2;
    }
    None
}

/// The byte at a row and column, both counted from 1, columns in characters.
fn byte_of(text: &str, row: usize, column: usize) -> usize {
    let mut start = 0;
    for _ in 1..row {
        match text[start..].find('\n') {
            Some(found) => start += found + 1,
            None => break,
        }
    }
    let line = &text[start..];
    start + line.char_indices().nth(column.saturating_sub(1)).map_or(line.len(), |(i, _)| i)
}

/// Adds the elements of a parsed file, in document order; the first is the outermost.
fn copy(doc: &mut Document, file: FileId, xml: &roxmltree::Document<'_>) -> Result<ElementId, Diagnostic> {
    let first = doc.elements.len();
    // The path from the outermost element to the current one.
    let mut path: Vec<(roxmltree::NodeId, ElementId)> = Vec::new();
    for node in xml.root_element().descendants().filter(|node| node.is_element()) {
        let parent = node.parent().map(|parent| parent.id());
        while path.last().is_some_and(|(id, _)| Some(*id) != parent) {
            path.pop();
        }
        let start = node.range().start + 1;
        let name = node.tag_name().name();
        let span = Span::new(file, start..start + name.len());
        if path.len() >= MAX_DEPTH {
            let message = format!("elements are nested more than {MAX_DEPTH} deep");
            return Err(doc.files.error(span, message));
        }
        if doc.elements.len() >= MAX_ELEMENTS as usize {
            return Err(doc.files.error(span, format!("the model has more than {MAX_ELEMENTS} elements")));
        }
        let attributes = node.attributes().map(|a| Attribute {
            name: a.name().to_owned(),
            value: a.value().to_owned(),
            name_span: Span::new(file, a.range_qname()),
            value_span: Span::new(file, a.range_value()),
            read: Cell::new(false),
        });
        let element = Element {
            name: name.to_owned(),
            span,
            attributes: attributes.collect(),
            children: Vec::new(),
            read: Cell::new(false),
        };
        let id = doc.elements.len();
        doc.elements.push(element);
        if let Some(&(_, parent)) = path.last() {
            doc.elements[parent].children.push(id);
        }
        path.push((node.id(), id));
    }
    Ok(first)
}

/// At most one byte more than `limit`.
pub(super) fn read_limited(path: &Path, limit: usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let file = crate::regular::open(path).map_err(|error| plain(&error))?;
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(|error| plain(&error))?;
    Ok(bytes)
}

/// The path with `.` and `x/..` removed, by its letters alone.
pub(super) fn without_dots(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(clean.components().next_back(), Some(Component::Normal(_))) => {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    clean
}
