//! One tree of values for TOML and JSON, in which every value knows its place.
//!
//! Tables keep the order of the file. A key given twice, nesting deeper than [`MAX_DEPTH`], a date
//! and a JSON `null` are errors. The parsers never recurse deeper than the limit, whatever the text.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use dalembert::describe::sorted_by_key;

use crate::error::{Diagnostic, FileId, Files, Span, quote};

/// Deepest nesting of lists and tables.
pub const MAX_DEPTH: usize = 64;

pub use dalembert::describe::{Entry, Node, Value};

/// What a message calls a value: "the number 3", "a list of 2".
pub fn what(node: &Node) -> String {
    match &node.value {
        Value::Bool(value) => format!("`{value}`"),
        Value::Integer(value) => format!("the integer {value}"),
        Value::Number(value) => format!("the number {value:?}"),
        Value::Text(text) => format!("the text {}", quote(text)),
        Value::List(items) if items.is_empty() => "an empty list".to_owned(),
        Value::List(items) => format!("a list of {}", items.len()),
        Value::Table(_) => "a table".to_owned(),
    }
}

/// In which language a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML 1.1.
    Toml,
    /// JSON (RFC 8259), without extensions.
    Json,
}

impl Format {
    /// JSON if the name ends in `.json`, else TOML.
    pub fn of_name(name: &str) -> Self {
        let has_ending = name.len() >= 5 && name.as_bytes()[name.len() - 5..].eq_ignore_ascii_case(b".json");
        if has_ending { Self::Json } else { Self::Toml }
    }
}

/// Parses one of `files`; the result is a table.
pub fn parse(files: &Files, file: FileId, format: Format) -> Result<Node, Diagnostic> {
    let text = files.get(file).map_or("", |file| file.text());
    match format {
        Format::Toml => parse_toml(files, file, text),
        Format::Json => Json { files, file, text, at: 0 }.document(),
    }
}

fn too_deep(files: &Files, span: Span) -> Diagnostic {
    files.error(span, format!("lists and tables are nested more than {MAX_DEPTH} deep"))
}

// ---------------------------------------------------------------------------------------- TOML

fn parse_toml(files: &Files, file: FileId, text: &str) -> Result<Node, Diagnostic> {
    if let Some(byte) = toml_nesting_bomb(text) {
        return Err(too_deep(files, Span::new(file, byte..byte + 1)));
    }
    let table = DeTable::parse(text).map_err(|error| {
        let range = error.span().unwrap_or(0..0);
        let span = Span::new(file, range.clone());
        match (error.message(), text.get(range)) {
            ("duplicate key", Some(key)) => {
                files.error(span, format!("the key {} is given twice", quote(key)))
            }
            (message, _) => files.error(span, message),
        }
    })?;
    let whole = Span::new(file, 0..0);
    let entries = toml_entries(files, file, table.into_inner(), 1)?;
    Ok(Node { value: Value::Table(entries), span: whole })
}

/// The byte at which the nesting of `text` passes the limit, if it does.
///
/// The `toml` crate limits brackets to 80 and each dotted key to 80, but these multiply: a key of 80
/// parts in each of 80 inline tables builds 6400 tables in one another, and dropping them recurses.
/// So count open brackets plus the dots of all keys on the way to them. A header and the key below
/// it count separately, hence at most twice the limit passes; [`toml_value`] then applies the limit.
fn toml_nesting_bomb(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut open: Vec<(u8, usize)> = Vec::new(); // bracket, dots of the current key inside it
    let mut dots_outside = 0; // of the current key outside all brackets
    let mut dots_total = 0;
    let mut line_begins = true;
    let mut in_header = false;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let begins = line_begins;
        line_begins = (begins && matches!(byte, b' ' | b'\t' | b'\r')) || (byte == b'\n' && open.is_empty());
        match byte {
            b'#' => {
                at += bytes[at..].iter().position(|&b| b == b'\n').unwrap_or(bytes.len() - at);
                continue;
            }
            b'"' | b'\'' => {
                at = after_toml_string(bytes, at);
                continue;
            }
            b'[' | b'{' => {
                in_header |= begins && byte == b'[';
                open.push((byte, 0));
            }
            b']' | b'}' => {
                dots_total -= open.pop().map_or(0, |(_, dots)| dots);
                in_header &= !open.is_empty();
            }
            b'.' => match open.last_mut() {
                // A dot in a list belongs to a number.
                Some((b'[', _)) if !in_header => {}
                Some((_, dots)) => (*dots, dots_total) = (*dots + 1, dots_total + 1),
                None => (dots_outside, dots_total) = (dots_outside + 1, dots_total + 1),
            },
            b',' => {
                if let Some((_, dots)) = open.last_mut() {
                    dots_total -= std::mem::take(dots);
                }
            }
            b'\n' if open.is_empty() => dots_total -= std::mem::take(&mut dots_outside),
            // A header is one line: if it is not closed, forget it.
            b'\n' if in_header => {
                (in_header, line_begins, dots_outside, dots_total) = (false, true, 0, 0);
                open.clear();
            }
            _ => {}
        }
        if open.len() + dots_total > MAX_DEPTH {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// The byte after the string that begins at `start` with a quotation mark of either kind.
fn after_toml_string(bytes: &[u8], start: usize) -> usize {
    let mark = bytes[start];
    let long = bytes[start..].starts_with(&[mark; 3]);
    let mut at = start + if long { 3 } else { 1 };
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' if mark == b'"' && bytes.get(at + 1) != Some(&b'\n') => at += 2,
            b'\n' if !long => return at,
            _ if byte == mark && !long => return at + 1,
            _ if byte == mark && bytes[at..].starts_with(&[mark; 3]) => {
                // Up to two further marks still belong to the string.
                let further = bytes[at + 3..].iter().take(2).take_while(|&&b| b == mark).count();
                return at + 3 + further;
            }
            _ => at += 1,
        }
    }
    bytes.len()
}

fn toml_entries(
    files: &Files,
    file: FileId,
    table: DeTable<'_>,
    depth: usize,
) -> Result<Vec<Entry>, Diagnostic> {
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        let key_span = Span::new(file, key.span());
        let node = toml_value(files, file, value, depth)?;
        entries.push(Entry { key: key.into_inner().into_owned(), key_span, node });
    }
    // The crate sorts by key; each key knows its place, so the order of the file is not lost.
    entries.sort_by_key(|entry| entry.key_span.start);
    Ok(entries)
}

fn toml_value(
    files: &Files,
    file: FileId,
    value: Spanned<DeValue<'_>>,
    depth: usize,
) -> Result<Node, Diagnostic> {
    let span = Span::new(file, value.span());
    let value = match value.into_inner() {
        DeValue::Boolean(value) => Value::Bool(value),
        DeValue::Integer(digits) => {
            match (i64::from_str_radix(digits.as_str(), digits.radix()), digits.radix()) {
                (Ok(value), _) => Value::Integer(value),
                // Too many digits for an integer are still a number.
                (Err(_), 10) => finite_number(files, span, digits.as_str())?,
                (Err(_), _) => return Err(files.error(span, "the integer does not fit 64 bits")),
            }
        }
        DeValue::Float(text) => match text.as_str().trim_start_matches(['+', '-']) {
            "inf" | "nan" => Value::Number(text.as_str().parse().unwrap_or(f64::NAN)),
            _ => finite_number(files, span, text.as_str())?,
        },
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Datetime(_) => {
            let help = "write it as text, between quotation marks";
            return Err(files.error(span, "a date or time has no meaning here").with_help(help));
        }
        DeValue::Array(_) | DeValue::Table(_) if depth > MAX_DEPTH => return Err(too_deep(files, span)),
        DeValue::Array(items) => {
            let node = |item| toml_value(files, file, item, depth + 1);
            Value::List(items.into_iter().map(node).collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => Value::Table(toml_entries(files, file, table, depth + 1)?),
    };
    Ok(Node { value, span })
}

fn finite_number(files: &Files, span: Span, text: &str) -> Result<Value, Diagnostic> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Value::Number(value)),
        Ok(_) => Err(files.error(span, "the number is too large for a 64-bit float")),
        Err(_) => Err(files.error(span, "this is not a number")),
    }
}

// ---------------------------------------------------------------------------------------- JSON

struct Json<'a> {
    files: &'a Files,
    file: FileId,
    text: &'a str,
    at: usize,
}

impl Json<'_> {
    fn document(mut self) -> Result<Node, Diagnostic> {
        if self.text.starts_with('\u{feff}') {
            self.at = '\u{feff}'.len_utf8();
        }
        self.skip_space();
        if self.peek() != Some(b'{') {
            return Err(self.unexpected("`{`"));
        }
        let start = self.at;
        let mut root = self.value(0)?;
        root.span = self.span(start..start);
        self.skip_space();
        if self.at < self.text.len() {
            return Err(self.unexpected("the end of the file"));
        }
        Ok(root)
    }

    fn value(&mut self, depth: usize) -> Result<Node, Diagnostic> {
        let start = self.at;
        let value = match self.peek() {
            Some(b'{' | b'[') if depth > MAX_DEPTH => {
                return Err(too_deep(self.files, self.span(start..start + 1)));
            }
            Some(b'{') => self.table(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => Value::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b'a'..=b'z' | b'A'..=b'Z') => self.word()?,
            _ => return Err(self.unexpected("a value")),
        };
        Ok(Node { value, span: self.span(start..self.at) })
    }

    fn table(&mut self, depth: usize) -> Result<Value, Diagnostic> {
        let mut entries: Vec<Entry> = Vec::new();
        self.at += 1;
        self.skip_space();
        if self.take(b'}') {
            return Ok(Value::Table(entries));
        }
        loop {
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key between quotation marks"));
            }
            let key = self.string()?;
            let key_span = self.span(start..self.at);
            self.skip_space();
            if !self.take(b':') {
                return Err(self.unexpected("`:`"));
            }
            self.skip_space();
            let node = self.value(depth + 1)?;
            entries.push(Entry { key, key_span, node });
            self.skip_space();
            if self.take(b'}') {
                break;
            }
            if !self.take(b',') {
                return Err(self.unexpected("`,` or `}`"));
            }
            self.skip_space();
        }
        self.refuse_repeated(&entries)?;
        Ok(Value::Table(entries))
    }

    fn refuse_repeated(&self, entries: &[Entry]) -> Result<(), Diagnostic> {
        let sorted = sorted_by_key(entries);
        let repeated = sorted.windows(2).filter(|pair| pair[0].key == pair[1].key);
        match repeated.min_by_key(|pair| pair[1].key_span.start) {
            None => Ok(()),
            Some(pair) => Err(self
                .files
                .error(pair[1].key_span, format!("the key {} is given twice", quote(&pair[1].key)))
                .with_note("first given here", self.files.place(pair[0].key_span))),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, Diagnostic> {
        let mut items = Vec::new();
        self.at += 1;
        self.skip_space();
        if self.take(b']') {
            return Ok(Value::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            if self.take(b']') {
                return Ok(Value::List(items));
            }
            if !self.take(b',') {
                return Err(self.unexpected("`,` or `]`"));
            }
            self.skip_space();
        }
    }

    fn string(&mut self) -> Result<String, Diagnostic> {
        let start = self.at;
        let mut text = String::new();
        self.at += 1;
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(|c: char| c == '"' || c == '\\' || c < ' ').unwrap_or(rest.len());
            text.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                Some(b'\n') | None => {
                    return Err(
                        self.error(start..self.at, "the text does not end: its closing `\"` is missing")
                    );
                }
                Some(_) => {
                    return Err(
                        self.error(self.at..self.at + 1, "a control character in a text must be escaped")
                    );
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, Diagnostic> {
        let start = self.at;
        let letter = self.text.as_bytes().get(self.at + 1).copied();
        self.at += 2;
        let simple = match letter {
            Some(letter @ (b'"' | b'\\' | b'/')) => char::from(letter),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(start),
            _ => return Err(self.error(start..start + 2, "unknown escape in a text")),
        };
        Ok(simple)
    }

    fn unicode_escape(&mut self, start: usize) -> Result<char, Diagnostic> {
        let high = self.hex4(start)?;
        let code = if (0xd800..0xdc00).contains(&high) && self.text[self.at..].starts_with("\\u") {
            self.at += 2;
            let low = self.hex4(start)?;
            // A high half alone is no character: the conversion below refuses it.
            if (0xdc00..0xe000).contains(&low) {
                0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)
            } else {
                high
            }
        } else {
            high
        };
        char::from_u32(code).ok_or_else(|| self.error(start..self.at, "half of a surrogate pair in a text"))
    }

    fn hex4(&mut self, start: usize) -> Result<u32, Diagnostic> {
        let digits = self.text.get(self.at..self.at + 4);
        match digits.filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit())) {
            Some(digits) => {
                self.at += 4;
                Ok(u32::from_str_radix(digits, 16).unwrap_or(0))
            }
            None => Err(self.error(start..self.at, "`\\u` wants four hexadecimal digits")),
        }
    }

    fn number(&mut self) -> Result<Value, Diagnostic> {
        let start = self.at;
        let mut whole = true;
        self.take(b'-');
        let first = self.at;
        let leading = self.digits();
        if leading == 0 || (leading > 1 && self.text.as_bytes()[first] == b'0') {
            return Err(self.error(start..self.at.max(start + 1), "this is not a number of JSON"));
        }
        if self.take(b'.') {
            whole = false;
            if self.digits() == 0 {
                return Err(self.error(start..self.at, "digits must follow the decimal point"));
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            whole = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err(self.error(start..self.at, "digits must follow the exponent sign"));
            }
        }
        let text = &self.text[start..self.at];
        match text.parse::<i64>() {
            Ok(value) if whole => Ok(Value::Integer(value)),
            _ => finite_number(self.files, self.span(start..self.at), text),
        }
    }

    /// Skips digits and counts them.
    fn digits(&mut self) -> usize {
        let count = self.text.as_bytes()[self.at..].iter().take_while(|b| b.is_ascii_digit()).count();
        self.at += count;
        count
    }

    fn word(&mut self) -> Result<Value, Diagnostic> {
        let start = self.at;
        let count = self.text.as_bytes()[start..].iter().take_while(|b| b.is_ascii_alphanumeric()).count();
        self.at += count;
        match &self.text[start..self.at] {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            "null" => {
                Err(self.error(start..self.at, "`null` has no meaning here").with_help("leave the key out"))
            }
            word => Err(self.error(
                start..self.at,
                format!("unexpected {}: text stands between quotation marks", quote(word)),
            )),
        }
    }

    fn skip_space(&mut self) {
        let space = |b: &&u8| matches!(b, b' ' | b'\t' | b'\r' | b'\n');
        self.at += self.text.as_bytes()[self.at..].iter().take_while(space).count();
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn span(&self, range: Range<usize>) -> Span {
        Span::new(self.file, range)
    }

    fn error(&self, range: Range<usize>, message: impl Into<String>) -> Diagnostic {
        self.files.error(self.span(range), message)
    }

    fn unexpected(&self, wanted: &str) -> Diagnostic {
        match self.text[self.at..].chars().next() {
            Some(c) => self.error(
                self.at..self.at + c.len_utf8(),
                format!("expected {wanted}, found {}", quote(&c.to_string())),
            ),
            None => self.error(self.at..self.at, format!("expected {wanted}, found the end of the file")),
        }
    }
}
