//! The standard output: colours where they are wanted, numbers in a readable width.

use std::env::var_os;
use std::io::{ErrorKind, IsTerminal, Write};

use crate::exit::{Failure, Outcome};

/// What a stream can show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Whether colours are wanted.
    pub(crate) colour: bool,
}

impl Style {
    fn of(stream: &impl IsTerminal) -> Self {
        // <https://no-color.org>: any value but an empty one switches colours off.
        let refused = var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let dumb = var_os("TERM").is_some_and(|v| v == "dumb");
        Self { colour: stream.is_terminal() && !refused && !dumb }
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// The standard output.
pub(crate) fn stdout() -> Style {
    Style::of(&std::io::stdout())
}

/// The standard error.
pub(crate) fn stderr() -> Style {
    Style::of(&std::io::stderr())
}

/// Writes to the standard output. A reader that has seen enough, such as `head`, is no error.
pub(crate) fn print(text: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Io(format!("cannot write the standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Six significant digits, without needless zeros.
pub(crate) fn number(x: f64) -> String {
    if x == 0.0 {
        return "0".into(); // also −0
    }
    if !x.is_finite() {
        return x.to_string();
    }
    let size = x.abs().log10().floor();
    if (-4.0..7.0).contains(&size) {
        let text = format!("{x:.*}", (5.0 - size).max(0.0) as usize);
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
    } else {
        let text = format!("{x:.5e}");
        match text.split_once('e') {
            Some((digits, power)) => {
                format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'))
            }
            None => text,
        }
    }
}

/// `(1, 2, 3)`.
pub(crate) fn vector(v: &dalembert::math::Vec3) -> String {
    format!("({}, {}, {})", number(v.x), number(v.y), number(v.z))
}

/// `1 step`, `2 steps`.
pub(crate) fn count(n: u64, noun: &str) -> String {
    let mut digits = n.to_string();
    // A thin gap between thousands, from five digits on.
    if digits.len() > 4 {
        let mut at = digits.len();
        while at > 3 {
            at -= 3;
            digits.insert(at, ' ');
        }
    }
    match noun.strip_suffix('y') {
        Some(stem) if n != 1 => format!("{digits} {stem}ies"),
        _ => format!("{digits} {noun}{}", if n == 1 { "" } else { "s" }),
    }
}

/// Text of a file that may hold control characters, made harmless for a terminal.
pub(crate) fn safe(text: &str) -> String {
    let kept = |c: char| if c.is_control() && c != '\n' { ' ' } else { c };
    text.chars().map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_six_digits_and_no_idle_zeros() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-9.81, "-9.81"),
            (1234567.0, "1234567"),
            (123456.7, "123457"),
            (0.1 + 0.2, "0.3"),
            (1.0e-4, "0.0001"),
            (1.25e-9, "1.25e-9"),
            (-6.02214e23, "-6.02214e23"),
            (f64::NAN, "NaN"),
        ];
        for (x, text) in cases {
            assert_eq!(number(x), text);
        }
        assert_eq!(count(1, "step"), "1 step");
        assert_eq!([count(1, "body"), count(2, "body")], ["1 body", "2 bodies"]);
        assert_eq!(count(20_000, "step"), "20 000 steps");
    }
}
