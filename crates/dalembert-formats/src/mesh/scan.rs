//! Words, numbers and bytes of a mesh file, one behind the other, with the line for messages.
//!
//! A count that a file announces is never believed: lists grow with what is really there, and a file that ends early
//! is refused where it ends.

use std::fmt;

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// Line, from 1, where the file is text.
    pub(super) line: Option<usize>,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

impl Problem {
    /// Without a line.
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { line: None, message: message.into(), help: None }
    }

    #[must_use]
    pub(super) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Text,
    Little,
    Big,
}

/// A kind of number, for files that name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl Number {
    fn size(self) -> usize {
        match self {
            Number::I8 | Number::U8 => 1,
            Number::I16 | Number::U16 => 2,
            Number::I32 | Number::U32 | Number::F32 => 4,
            Number::I64 | Number::U64 | Number::F64 => 8,
        }
    }

    /// The number in at most eight bytes, least first, as an integer and as a float.
    fn value(self, low_first: [u8; 8]) -> (i64, f64) {
        let bits = u64::from_le_bytes(low_first);
        let whole = |n: i64| (n, n as f64);
        match self {
            Number::I8 => whole(i64::from(bits as i8)),
            Number::U8 | Number::U16 | Number::U32 => whole(bits as i64),
            Number::I16 => whole(i64::from(bits as i16)),
            Number::I32 => whole(i64::from(bits as i32)),
            Number::I64 => whole(bits as i64),
            // Beyond what an index or a count can be: any negative number will be refused.
            Number::U64 => (i64::try_from(bits).unwrap_or(-1), bits as f64),
            Number::F32 => {
                let x = f64::from(f32::from_bits(bits as u32));
                (integer_of(x), x)
            }
            Number::F64 => {
                let x = f64::from_bits(bits);
                (integer_of(x), x)
            }
        }
    }
}

/// A float that stands where an integer should.
fn integer_of(x: f64) -> i64 {
    if x.fract() == 0.0 && x.abs() < 9e15 { x as i64 } else { i64::MIN }
}

pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
    /// Line of what was read last.
    here: usize,
    pub(super) encoding: Encoding,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, line: 1, here: 1, encoding: Encoding::Text }
    }

    /// A problem at the line of what was read last.
    pub(super) fn problem(&self, message: impl Into<String>) -> Problem {
        let line = (self.encoding == Encoding::Text).then_some(self.here);
        Problem { line, ..Problem::new(message) }
    }

    /// Where it stands, to come back.
    pub(super) fn place(&self) -> (usize, usize) {
        (self.at, self.line)
    }

    pub(super) fn go_back(&mut self, place: (usize, usize)) {
        (self.at, self.line) = place;
    }

    /// Bytes that are left: no honest count of things exceeds it.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The rest of the line, without the spaces around it; `None` at the end of the file.
    pub(super) fn line(&mut self) -> Option<&'a str> {
        if self.at == self.bytes.len() {
            return None;
        }
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        self.at = (self.at + length + 1).min(self.bytes.len());
        self.here = self.line;
        self.line += 1;
        Some(str::from_utf8(&rest[..length]).unwrap_or("").trim())
    }

    /// The next line that is not empty.
    pub(super) fn full_line(&mut self) -> Option<&'a str> {
        loop {
            match self.line()? {
                "" => {}
                line => return Some(line),
            }
        }
    }

    fn skip_space(&mut self) {
        while let Some(b) = self.bytes.get(self.at).filter(|b| b.is_ascii_whitespace()) {
            self.line += usize::from(*b == b'\n');
            self.at += 1;
        }
    }

    /// The next word; `what` should stand there.
    pub(super) fn word(&mut self, what: fmt::Arguments<'_>) -> Result<&'a str, Problem> {
        self.skip_space();
        self.here = self.line;
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        if length == 0 {
            return Err(self
                .problem(format!("the file ends where {what} should stand"))
                .with_help("the file may have been cut off: copy or export it again"));
        }
        self.at += length;
        str::from_utf8(&rest[..length]).map_err(|_| self.problem(format!("{what} is not text")))
    }

    fn number(&mut self, kind: Number, what: fmt::Arguments<'_>) -> Result<(i64, f64), Problem> {
        let size = kind.size();
        let Some(bytes) = self.bytes.get(self.at..self.at + size) else {
            return Err(self
                .problem(format!("the file ends where {what} should stand"))
                .with_help("the file may have been cut off: copy or export it again"));
        };
        self.at += size;
        let mut low_first = [0; 8];
        low_first[..size].copy_from_slice(bytes);
        if self.encoding == Encoding::Big {
            low_first[..size].reverse();
        }
        Ok(kind.value(low_first))
    }

    /// A finite number of this kind.
    pub(super) fn float(&mut self, kind: Number, what: fmt::Arguments<'_>) -> Result<f64, Problem> {
        if self.encoding == Encoding::Text {
            let word = self.word(what)?;
            let number: Option<f64> = word.parse().ok();
            return number.filter(|x| x.is_finite()).ok_or_else(|| {
                self.problem(format!("{what} is `{}`, which is no finite number", short(word)))
            });
        }
        let (_, x) = self.number(kind, what)?;
        if x.is_finite() { Ok(x) } else { Err(self.problem(format!("{what} is {x}; it must be finite"))) }
    }

    /// An integer of this kind.
    pub(super) fn integer(&mut self, kind: Number, what: fmt::Arguments<'_>) -> Result<i64, Problem> {
        if self.encoding == Encoding::Text {
            let word = self.word(what)?;
            let number = word.parse().ok();
            return number
                .ok_or_else(|| self.problem(format!("{what} is `{}`, which is no integer", short(word))));
        }
        Ok(self.number(kind, what)?.0)
    }

    /// An integer that counts things, each of which takes at least one byte: no more than that can be there.
    pub(super) fn count(&mut self, kind: Number, what: fmt::Arguments<'_>) -> Result<usize, Problem> {
        let number = self.integer(kind, what)?;
        self.counted(number, what)
    }

    /// A count that was read already.
    pub(super) fn counted(&self, number: i64, what: fmt::Arguments<'_>) -> Result<usize, Problem> {
        match usize::try_from(number) {
            Ok(count) if count <= self.left() => Ok(count),
            Ok(count) => Err(self
                .problem(format!("{what} is {count}, but only {} bytes follow", self.left()))
                .with_help("the file may have been cut off: copy or export it again")),
            Err(_) => Err(self.problem(format!("{what} is {number}; it cannot be negative or that large"))),
        }
    }

    /// Three finite numbers.
    pub(super) fn triple(&mut self, kind: Number, what: fmt::Arguments<'_>) -> Result<[f64; 3], Problem> {
        let mut out = [0.0; 3];
        for (x, axis) in out.iter_mut().zip(["x", "y", "z"]) {
            *x = self.float(kind, format_args!("{axis} of {what}"))?;
        }
        Ok(out)
    }
}

/// The beginning of a word.
pub(super) fn short(word: &str) -> String {
    word.chars().take(20).collect()
}
