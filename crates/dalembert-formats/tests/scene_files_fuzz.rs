//! Whatever the bytes, a scene file is read or refused: no panic, no endless loop.

mod sample;

use dalembert_formats::describe::{View, read};
use dalembert_formats::source::{Includes, Source};
use sample::{JSON, ROOT, TOML};

/// Marsaglia's xorshift64 (2003): chance that repeats itself.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % n.max(1) as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

const TOKENS: [&str; 58] = [
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
];

fn mutate(bytes: &mut Vec<u8>, other: &[u8], chance: &mut Chance) {
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
fn swap_word(bytes: &mut Vec<u8>, chance: &mut Chance) {
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
            .pick(&["true", "[]", "[1, 2]", "{}", "\"\"", "ball", "ipc", "stifness", "[[1], [2, 3]]"])
            .into(),
    };
    drop(bytes.splice(start..end, replacement));
}

/// Asks for everything, as a scene builder would.
fn visit(scene: &View<'_>) -> f64 {
    let mut sum = scene.number("dt") + scene.integer("seed") as f64 + scene.vec3("gravity")[2];
    sum += scene.texts("watch").len() as f64 + scene.maybe_number("tolerance").unwrap_or(0.0);
    for body in scene.tables("rigid") {
        sum += body.vec3("position")[0] + body.number("friction") + f64::from(u8::from(body.bool("fixed")));
        sum += body.maybe_numbers("tint").map_or(0.0, |tint| tint.len() as f64);
        match body.table("shape") {
            Some(shape) if shape.variant() == "box" => sum += shape.vec3("box")[0],
            Some(shape) => sum += shape.number("sphere"),
            None => sum += body.text("shape").len() as f64,
        }
    }
    for joint in scene.tables("joint") {
        let angles = joint.text("kind") == "ball";
        sum += if angles { 0.0 } else { joint.vec3("axis")[0] } + joint.texts("between").len() as f64;
    }
    if let Some(cloth) = scene.table("cloth") {
        sum += (cloth.vec3s("points").len() + cloth.integer_rows("triangles").len()) as f64;
    }
    sum
}

#[test]
fn no_bytes_make_the_reader_panic() {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let samples = [("a.toml", TOML.as_bytes()), ("a.json", JSON.as_bytes())];
    let embedded = [("b.toml", TOML), ("b.json", JSON)];
    let (mut good, mut wrong, mut broken) = (0, 0, 0);
    for round in 0..150_000 {
        let (name, text) = samples[round % 2];
        let (_, other) = samples[chance.below(2)];
        let mut bytes = text.to_vec();
        let gentle = chance.below(2) == 0;
        for _ in 0..=chance.below(4) {
            if gentle { swap_word(&mut bytes, &mut chance) } else { mutate(&mut bytes, other, &mut chance) }
        }
        match Source::from_bytes_with(name, bytes, Includes::Embedded(&embedded)) {
            Err(error) => {
                broken += 1;
                assert!(error.to_string().len() < 20_000);
            }
            Ok(source) => match read(&ROOT, &source.root, &source.files) {
                Ok(scene) => {
                    good += 1;
                    assert!(visit(&scene).is_finite());
                }
                Err(error) => {
                    wrong += 1;
                    assert!(error.to_string().len() < 20_000);
                }
            },
        }
    }
    // The mutations reach all three ends.
    assert!(good > 5_000 && wrong > 5_000 && broken > 5_000, "{good} good, {wrong} wrong, {broken} broken");
}
