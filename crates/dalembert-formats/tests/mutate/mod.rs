//! Chance that repeats itself, and what it does to texts.

/// Marsaglia's xorshift64 (2003): chance that repeats itself.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % n.max(1) as u64) as usize
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

const TOKENS: [&str; 64] = [
    "[",
    "]",
    "{",
    "}",
    "[[",
    "]]",
    "=",
    ":",
    ",",
    ".",
    "\n",
    "\r\n",
    "\"",
    "'",
    "\"\"\"",
    "'''",
    "#",
    "\\",
    "\\u",
    "\\ud800",
    "\\UFFFFFFFF",
    "nan",
    "-inf",
    "1e999",
    "-1e-999",
    "99999999999999999999999",
    "0x",
    "0xffffffffffffffffff",
    "-",
    "+",
    "0",
    "1_000",
    "1e",
    "2026-11-15T12:00:00Z",
    "null",
    "true",
    "\u{0}",
    "\u{1b}[2J",
    "\u{feff}",
    "\u{202e}",
    "é",
    "😀",
    "dt",
    "rigid",
    "[rigid]",
    "[[rigid]]",
    "[[rigid.shape]]",
    "rigid.shape.box = 1\n",
    "include = \"a.toml\"\n",
    "include = [\"b.toml\"]\n",
    "kind = \"hinge\"\n",
    "\"dt\": 1,",
    "name = \"\"",
    "= = =",
    "9223372036854775808",
    "-9223372036854775808",
    "\t",
    " ",
    "[[particles]]\nname = \"n\"\n",
    "[[springs]]\n",
    "[[points]]\nname = \"p\"\nof = \"rope\"\n",
    "edges = [\"bend\", \"shear\"]\n",
    "on = [\"rope[0:2]\", \"a\"]\n",
    "\"rope[-1]\"",
];

/// Changes a few bytes, with no regard to grammar.
pub(crate) fn mutate(bytes: &mut Vec<u8>, other: &[u8], chance: &mut Chance) {
    let at = chance.below(bytes.len() + 1);
    let length = chance.below(40).min(bytes.len() - at);
    match chance.below(9) {
        0 if at < bytes.len() => bytes[at] ^= 1 << chance.below(8),
        1 if at < bytes.len() => bytes[at] = chance.below(256) as u8,
        2 => drop(bytes.drain(at..at + length)),
        3 => {
            let piece = bytes[at..at + length].to_vec();
            let to = chance.below(bytes.len() + 1);
            drop(bytes.splice(to..to, piece));
        }
        4 | 5 => {
            let token = chance.pick(&TOKENS);
            drop(bytes.splice(at..at, token.bytes()));
        }
        6 => {
            let start = chance.below(other.len());
            let end = (start + chance.below(60)).min(other.len());
            drop(bytes.splice(at..at + length, other[start..end].iter().copied()));
        }
        7 => {
            let piece =
                chance.pick(&["[", "{", "{a=", "{\"a\":", "a.", "[{a=[", "]", "}", "\"", "\\", "9", "[["]);
            let count = 1 << chance.below(9);
            drop(bytes.splice(at..at, piece.repeat(count).into_bytes()));
        }
        _ => bytes.truncate(at),
    }
}

/// Changes a word or number into another one, which mostly leaves the grammar whole.
pub(crate) fn swap_word(bytes: &mut Vec<u8>, chance: &mut Chance) {
    let in_word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'.' || *b == b'-';
    let words: Vec<(usize, usize)> = (0..bytes.len())
        .filter(|&i| in_word(&bytes[i]) && (i == 0 || !in_word(&bytes[i - 1])))
        .map(|i| (i, i + bytes[i..].iter().take_while(|b| in_word(b)).count()))
        .collect();
    if words.is_empty() {
        return;
    }
    let (start, end) = words[chance.below(words.len())];
    let replacement = match chance.below(3) {
        0 => {
            let (from, to) = words[chance.below(words.len())];
            bytes[from..to].to_vec()
        }
        1 => {
            chance.pick(&["0", "-1", "1e300", "-0.0", "1e-300", "9223372036854775807", "1e19", "inf"]).into()
        }
        _ => chance
            .pick(&[
                "true",
                "[]",
                "[1, 2]",
                "{}",
                "\"\"",
                "ball",
                "ipc",
                "stifness",
                "[[1], [2, 3]]",
                "rope",
                "2",
                "16000000",
            ])
            .into(),
    };
    drop(bytes.splice(start..end, replacement));
}

/// Changes a number into another number or a quoted text into another one, so that the kinds stay right.
#[allow(dead_code)]
pub(crate) fn swap_value(bytes: &mut Vec<u8>, chance: &mut Chance) {
    let starts_number = |i: usize| bytes[i].is_ascii_digit() && i > 0 && b" [,:=-".contains(&bytes[i - 1]);
    let in_number = |b: &&u8| b.is_ascii_digit() || b".e-".contains(b);
    let numbers = (0..bytes.len())
        .filter(|&i| starts_number(i))
        .map(|i| (i, bytes[i..].iter().take_while(in_number).count()));
    let quotes: Vec<usize> = (0..bytes.len()).filter(|&i| bytes[i] == b'"').collect();
    let texts = quotes.chunks_exact(2).map(|ends| (ends[0], ends[1] + 1 - ends[0]));
    let places: Vec<(usize, usize)> = numbers.chain(texts).collect();
    if places.is_empty() {
        return;
    }
    let (start, length) = places[chance.below(places.len())];
    let is_text = bytes[start] == b'"';
    let same: Vec<(usize, usize)> =
        places.iter().copied().filter(|p| (bytes[p.0] == b'"') == is_text).collect();
    let replacement: Vec<u8> = match (chance.below(2), is_text) {
        (0, _) => {
            let (from, length) = same[chance.below(same.len())];
            bytes[from..from + length].to_vec()
        }
        (_, true) => {
            chance.pick(&["\"a\"", "\"rope\"", "\"rope[-1]\"", "\"rope[1:3]\"", "\"\"", "\"bend\""]).into()
        }
        (_, false) => chance
            .pick(&[
                "0", "1", "2", "3", "7", "0.5", "1e-3", "1e-200", "1e-310", "1e200", "1e308", "1000",
                "100000",
            ])
            .into(),
    };
    drop(bytes.splice(start..start + length, replacement));
}
