//! What is wrong with a file, where, and what was probably meant.
//!
//! A [`Diagnostic`] is one error or warning with its place in a [`File`]; a [`SceneFileError`] is a
//! list of them; [`Problems`] collects them. The printed form is plain text:
//!
//! ```text
//! error: unknown key `stifness` in `spring`
//!  --> scenes/a.toml:12:1
//!    |
//! 12 | stifness = 10
//!    | ^^^^^^^^
//! help: did you mean `stiffness`?
//! ```
//!
//! For colour, [`Diagnostic`] and [`SceneFileError`] are also [`miette::Diagnostic`]s.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use miette::{LabeledSpan, MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

/// A list of errors stops growing here.
pub const MAX_ERRORS: usize = 20;

/// Longest piece of a source line that an excerpt shows \[characters\].
const EXCERPT_WIDTH: usize = 100;

/// Longest piece of user text that a message quotes \[characters\].
const QUOTE_WIDTH: usize = 60;

pub use dalembert::describe::{FileId, Span};

/// The name and text of one file.
pub struct File {
    name: String,
    text: String,
    /// `text` with the characters that could confuse a terminal replaced, byte for byte; `None`
    /// where there are none.
    safe: Option<String>,
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("name", &self.name).field("bytes", &self.text.len()).finish()
    }
}

impl File {
    /// A file called `name` that contains `text`.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let safe = text.contains(is_unsafe).then(|| text.chars().map(made_safe).collect());
        Self { name: name.into(), text, safe }
    }

    /// The name, as the user gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line and column of a byte, both counted from 1, columns in characters. A byte past the end
    /// counts as the end; one inside a character counts as that character.
    pub fn line_column(&self, byte: usize) -> (usize, usize) {
        let byte = self.char_start(byte);
        let before = &self.text[..byte];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
        (line, before[line_start..].trim_start_matches('\u{feff}').chars().count() + 1)
    }

    /// The text as it may be shown on a terminal; as long as [`File::text`], byte for byte.
    fn shown(&self) -> &str {
        self.safe.as_deref().unwrap_or(&self.text)
    }

    fn char_start(&self, byte: usize) -> usize {
        let mut byte = byte.min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        byte
    }

    /// The part of `range` on its first line.
    fn first_line_of(&self, range: &Range<usize>) -> Range<usize> {
        let start = self.char_start(range.start);
        let end = self.char_start(range.end.max(start));
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |i| start + i);
        start..end.min(line_end)
    }
}

/// Control characters, which a terminal obeys, and the marks that reverse the direction of text.
fn is_unsafe(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A harmless character of the same UTF-8 length.
fn made_safe(c: char) -> char {
    match (is_unsafe(c), c.len_utf8()) {
        (false, _) => c,
        (true, 1) if c == '\r' => ' ',
        (true, 1) => '?',
        (true, 2) => '·',
        (true, _) => '\u{fffd}',
    }
}

impl SourceCode for File {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let found = self.shown().read_span(span, before, after)?;
        let whole = found.span().offset()..found.span().offset() + found.span().len();
        // A line can be megabytes long: show its neighbourhood only.
        let label = self.first_line_of(&(span.offset()..span.offset() + span.len()));
        let line_start = self.text[..label.start].rfind('\n').map_or(0, |i| i + 1);
        let is_long = whole.len() > 4000;
        let (bytes, line, column) = if is_long {
            let start = self.char_start(label.start.saturating_sub(EXCERPT_WIDTH).max(line_start));
            let line_end = self.text[start..].find('\n').map_or(self.text.len(), |i| start + i);
            let end = self.char_start((label.start + 2 * EXCERPT_WIDTH).min(line_end));
            (start..end, self.line_column(start).0 - 1, start - line_start)
        } else {
            (whole, found.line(), found.column())
        };
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            &self.shown().as_bytes()[bytes.clone()],
            (bytes.start, bytes.len()).into(),
            line,
            column,
            found.line_count(),
        )))
    }
}

/// The files that one scene came from.
#[derive(Clone, Debug, Default)]
pub struct Files {
    list: Vec<Arc<File>>,
}

impl Files {
    /// Adds a file.
    pub fn add(&mut self, file: File) -> FileId {
        self.list.push(Arc::new(file));
        FileId((self.list.len() - 1) as u32)
    }

    /// A file of this list.
    pub fn get(&self, id: FileId) -> Option<&Arc<File>> {
        self.list.get(id.0 as usize)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The files in the order in which they were read.
    pub fn iter(&self) -> impl Iterator<Item = &File> {
        self.list.iter().map(|file| &**file)
    }

    /// Where a span is, if it belongs to these files.
    pub fn place(&self, span: Span) -> Option<Place> {
        Some(Place { file: self.get(span.file)?.clone(), bytes: span.range() })
    }

    /// An error at `span`.
    pub fn error(&self, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { place: self.place(span), ..Diagnostic::error(message) }
    }

    /// A warning at `span`.
    pub fn warning(&self, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { place: self.place(span), ..Diagnostic::warning(message) }
    }
}

/// A piece of a file that keeps the file alive.
#[derive(Clone, Debug)]
pub struct Place {
    /// The file.
    pub file: Arc<File>,
    /// The bytes.
    pub bytes: Range<usize>,
}

impl Place {
    /// Line and column of the first byte, both counted from 1, columns in characters.
    pub fn line_column(&self) -> (usize, usize) {
        self.file.line_column(self.bytes.start)
    }
}

impl fmt::Display for Place {
    /// `name:line:column`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.line_column();
        write!(f, "{}:{line}:{column}", Plain(self.file.name()))
    }
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file can be used, but probably does not mean what its author thinks.
    Warning,
}

/// One error or warning.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub message: String,
    /// Where; `None` if it belongs to no piece of a file (a file that cannot be opened).
    pub place: Option<Place>,
    /// Another place that matters, and why: "first given here".
    pub note: Option<Box<(String, Place)>>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error without a place.
    pub fn error(message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, message: message.into(), place: None, note: None, help: None }
    }

    /// A warning without a place.
    pub fn warning(message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(message) }
    }

    /// The same with an advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same with "did you mean …?" if one of `candidates` resembles `word`.
    #[must_use]
    pub fn with_suggestion<'a>(self, word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Self {
        match suggest(word, candidates) {
            Some(meant) => self.with_help(format!("did you mean {}?", quote(meant))),
            None => self,
        }
    }

    /// The same with a second place.
    #[must_use]
    pub fn with_note(mut self, text: impl Into<String>, place: Option<Place>) -> Self {
        self.note = place.map(|place| Box::new((text.into(), place)));
        self
    }

    /// Name of the file, if there is a place.
    pub fn file_name(&self) -> Option<&str> {
        self.place.as_ref().map(|place| place.file.name())
    }

    /// Line and column, if there is a place.
    pub fn line_column(&self) -> Option<(usize, usize)> {
        self.place.as_ref().map(Place::line_column)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}: {}", Plain(&self.message))?;
        if let Some(place) = &self.place {
            write_excerpt(f, place)?;
        }
        if let Some((text, place)) = self.note.as_deref() {
            write!(f, "\nnote: {}: {place}", Plain(text))?;
        }
        if let Some(help) = &self.help {
            write!(f, "\nhelp: {}", Plain(help))?;
        }
        Ok(())
    }
}

/// The lines from ` --> file:1:2` to the carets.
fn write_excerpt(f: &mut fmt::Formatter<'_>, place: &Place) -> fmt::Result {
    let file = &place.file;
    let (line, _) = place.line_column();
    let number = line.to_string();
    let margin = " ".repeat(number.len());
    write!(f, "\n{margin}--> {place}")?;

    let marked = file.first_line_of(&place.bytes);
    let shown = file.shown();
    let line_start = shown[..marked.start].rfind('\n').map_or(0, |i| i + 1);
    let line_end = shown[marked.start..].find('\n').map_or(shown.len(), |i| marked.start + i);
    // Long lines: a window that begins a little before the mark.
    let before = &shown[line_start..marked.start];
    let before = before.trim_start_matches('\u{feff}');
    let cut = before.chars().count() > EXCERPT_WIDTH / 2;
    let lead = if cut { last_chars(before, EXCERPT_WIDTH / 4) } else { before };
    let room = EXCERPT_WIDTH - lead.chars().count();
    let (rest, rest_cut) = first_chars(&shown[marked.start..line_end], room);
    let dots = |there: bool| if there { "…" } else { "" };
    let tabless = |text: &str| text.replace('\t', " ");
    write!(
        f,
        "\n{margin} |\n{number} | {}{}{}{}",
        dots(cut),
        tabless(lead),
        tabless(rest.trim_end()),
        dots(rest_cut)
    )?;

    let indent = " ".repeat(lead.chars().count() + usize::from(cut));
    let width = shown[marked].chars().count().clamp(1, room.max(1));
    write!(f, "\n{margin} | {indent}{}", "^".repeat(width))
}

fn first_chars(text: &str, count: usize) -> (&str, bool) {
    match text.char_indices().nth(count) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}

fn last_chars(text: &str, count: usize) -> &str {
    match count.checked_sub(1).and_then(|last| text.char_indices().nth_back(last)) {
        Some((start, _)) => &text[start..],
        None => text,
    }
}

/// Text with control characters made harmless.
struct Plain<'a>(&'a str);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one_line = |c| if c == '\n' || c == '\t' { ' ' } else { made_safe(c) };
        self.0.chars().try_for_each(|c| fmt::Write::write_char(f, one_line(c)))
    }
}

/// The name of a file between backquotes, on one line, for a message. If it is long its end stays, since that tells files apart.
pub fn quote_path(text: &str) -> String {
    let piece = last_chars(text, QUOTE_WIDTH);
    format!("`{}{}`", if piece.len() < text.len() { "…" } else { "" }, Plain(piece))
}

/// User text between backquotes, shortened and on one line, for a message.
pub fn quote(text: &str) -> String {
    let (piece, cut) = first_chars(text, QUOTE_WIDTH);
    format!("`{}{}`", Plain(piece), if cut { "…" } else { "" })
}

impl std::error::Error for Diagnostic {}

impl miette::Diagnostic for Diagnostic {
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let note = self.note.as_deref().map(|(text, place)| format!("{}: {place}", Plain(text)));
        let help = self.help.as_ref().map(|help| Plain(help).to_string());
        let lines: Vec<String> = note.into_iter().chain(help).collect();
        (!lines.is_empty()).then(|| Box::new(lines.join("\n")) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.place.as_ref().map(|place| &*place.file as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let place = self.place.as_ref()?;
        let range = place.file.first_line_of(&place.bytes);
        let length = range.len().min(2 * EXCERPT_WIDTH);
        Some(Box::new(std::iter::once(LabeledSpan::new(Some("here".to_owned()), range.start, length))))
    }
}

/// Why a scene file was refused: one error or several, at most [`MAX_ERRORS`].
#[derive(Clone, Debug)]
pub struct SceneFileError {
    diagnostics: Vec<Diagnostic>,
    /// Whether the file was given up with errors unread.
    more: bool,
}

impl SceneFileError {
    /// The errors, in the order in which they were found; at least one.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Whether the list was cut at [`MAX_ERRORS`].
    pub fn has_more(&self) -> bool {
        self.more
    }
}

impl From<Diagnostic> for SceneFileError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self { diagnostics: vec![diagnostic], more: false }
    }
}

impl fmt::Display for SceneFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, diagnostic) in self.diagnostics.iter().enumerate() {
            let gap = if i == 0 { "" } else { "\n\n" };
            write!(f, "{gap}{diagnostic}")?;
        }
        if self.more {
            write!(f, "\n\nthere may be more errors: reading stopped after {MAX_ERRORS}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SceneFileError {}

impl miette::Diagnostic for SceneFileError {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        Some(Box::new(self.diagnostics.iter().map(|d| d as &dyn miette::Diagnostic)))
    }
}

/// Collects errors and warnings while a file is read.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    errors: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    more: bool,
}

impl Problems {
    /// Adds an error or a warning; beyond [`MAX_ERRORS`] of a kind they are dropped.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let list = match diagnostic.severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        if list.len() < MAX_ERRORS {
            list.push(diagnostic);
        } else if diagnostic.severity == Severity::Error {
            self.more = true;
        }
    }

    /// Whether there are so many errors that reading on serves nobody.
    pub fn is_full(&self) -> bool {
        self.more
    }

    /// Whether there is an error.
    pub fn has_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    /// The warnings, or the errors if there are any.
    pub fn finish(self) -> Result<Vec<Diagnostic>, SceneFileError> {
        if self.errors.is_empty() {
            Ok(self.warnings)
        } else {
            Err(SceneFileError { diagnostics: self.errors, more: self.more })
        }
    }
}

/// The candidate that `word` was probably meant to be, if any comes near.
///
/// Upper and lower case are equal, and so are `-`, `_` and space. Beyond that a third of the
/// letters, at least one, may be wrong, missing, added or swapped with their neighbour; half of them
/// if the beginning is right (Jaro-Winkler likeness above 0.9).
pub fn suggest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // The distance takes time in proportion to both lengths; no key is as long as this.
    if word.is_empty() || word.len() > 100 {
        return None;
    }
    let plain = |text: &str| -> String {
        let same = |c: char| if c == '-' || c == ' ' { '_' } else { c };
        text.chars().flat_map(char::to_lowercase).map(same).collect()
    };
    let wanted = plain(word);
    let mut best: Option<(usize, f64, &str)> = None;
    for candidate in candidates {
        let plain_candidate = plain(candidate);
        let wrong = strsim::damerau_levenshtein(&wanted, &plain_candidate);
        let length = wanted.chars().count().max(plain_candidate.chars().count());
        let likeness = strsim::jaro_winkler(&wanted, &plain_candidate);
        let near = wrong <= (length / 3).max(1) || (wrong <= length / 2 && likeness > 0.9);
        if !near || wrong >= length {
            continue;
        }
        if best.is_none_or(|(w, l, _)| wrong < w || (wrong == w && likeness > l)) {
            best = Some((wrong, likeness, candidate));
        }
    }
    best.map(|(_, _, candidate)| candidate)
}

/// The error in words, without numbers of the operating system where the cause is a common one.
pub(crate) fn plain(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file or folder".into(),
        std::io::ErrorKind::PermissionDenied => "permission denied".into(),
        std::io::ErrorKind::StorageFull => "no space left on the disk".into(),
        std::io::ErrorKind::QuotaExceeded => "the disk quota is used up".into(),
        std::io::ErrorKind::ReadOnlyFilesystem => "the disk is read-only".into(),
        std::io::ErrorKind::IsADirectory => "it is a folder".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_keeps_its_end_and_other_text_its_beginning() {
        let path = format!("{}/deep/arm.urdf", "über/a\nfolder".repeat(20));
        let shown = quote_path(&path);
        assert!(shown.starts_with("`…") && shown.ends_with("/deep/arm.urdf`"), "{shown}");
        assert!(shown.chars().count() == QUOTE_WIDTH + 3 && !shown.contains('\n'), "{shown}");
        assert_eq!(quote_path("arm.urdf"), "`arm.urdf`");
        assert!(quote(&path).starts_with("`über/a folder") && quote(&path).ends_with("…`"));
    }
}
