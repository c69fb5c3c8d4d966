//! A stroke font: letters as polylines, so that text can be drawn at any size without a font file.
//!
//! Each glyph lies on a grid 4 wide and 6 high above the base line (descenders reach −2). A glyph is written as strokes
//! separated by spaces; a stroke is a list of places, two characters each: x as a digit 0 … 4, y as a letter with
//! `a` = −2, `c` = 0 (base line), `f` = 3, `g` = 4 (height of small letters), `i` = 6 (height of capitals).

/// Strokes of each character.
#[rustfmt::skip]
const STROKES: &[(char, &str)] = &[
    ('0', "1c3c4d4h3i1i0h0d1c"),
    ('1', "1h2i2c 1c3c"),
    ('2', "0h1i3i4h4g0d0c4c"),
    ('3', "0i4i2f3f4e4d3c1c0d"),
    ('4', "3c3i0e4e"),
    ('5', "4i0i0f3f4e4d3c0c"),
    ('6', "3i1i0h0d1c3c4d4e3f0f"),
    ('7', "0i4i2e2c"),
    ('8', "1f0g0h1i3i4h4g3f1f0e0d1c3c4d4e3f"),
    ('9', "4f1f0g0h1i3i4h4d3c1c"),
    ('A', "0c2i4c 1e3e"),
    ('B', "0c0i3i4h4g3f0f 3f4e4d3c0c"),
    ('C', "4h3i1i0h0d1c3c4d"),
    ('D', "0c0i3i4h4d3c0c"),
    ('E', "4i0i0c4c 0f3f"),
    ('F', "4i0i0c 0f3f"),
    ('G', "4h3i1i0h0d1c3c4d4f2f"),
    ('H', "0c0i 4c4i 0f4f"),
    ('I', "1c3c 2c2i 1i3i"),
    ('J', "4i4d3c1c0d"),
    ('K', "0c0i 4i0e 1f4c"),
    ('L', "0i0c4c"),
    ('M', "0c0i2f4i4c"),
    ('N', "0c0i4c4i"),
    ('O', "1c3c4d4h3i1i0h0d1c"),
    ('P', "0c0i3i4h4g3f0f"),
    ('Q', "1c3c4d4h3i1i0h0d1c 2e4c"),
    ('R', "0c0i3i4h4g3f0f 2f4c"),
    ('S', "4h3i1i0h0g1f3f4e4d3c1c0d"),
    ('T', "0i4i 2i2c"),
    ('U', "0i0d1c3c4d4i"),
    ('V', "0i2c4i"),
    ('W', "0i1c2f3c4i"),
    ('X', "0i4c 4i0c"),
    ('Y', "0i2f4i 2f2c"),
    ('Z', "0i4i0c4c"),
    ('a', "0g3g4f4c1c0d0e4e"),
    ('b', "0i0c3c4d4f3g0g"),
    ('c', "4g1g0f0d1c4c"),
    ('d', "4i4c1c0d0f1g4g"),
    ('e', "4c1c0d0f1g3g4f4e0e"),
    ('f', "1c1h2i3i 0g3g"),
    ('g', "4c1c0d0f1g4g4b3a0a"),
    ('h', "0i0c 0f1g3g4f4c"),
    ('i', "1c3c 2c2g1g 2i2i"),
    ('j', "3g3b2a0a 3i3i"),
    ('k', "0i0c 3g0e 1e3c"),
    ('l', "1i2i2c 1c3c"),
    ('m', "0c0g1g2f2c 2f3g4f4c"),
    ('n', "0c0g 0f1g3g4f4c"),
    ('o', "1c3c4d4f3g1g0f0d1c"),
    ('p', "0a0g3g4f4d3c0c"),
    ('q', "4a4g1g0f0d1c4c"),
    ('r', "0c0g 0e2g4g"),
    ('s', "4g1g0f4d3c0c"),
    ('t', "1i1d2c3c 0g3g"),
    ('u', "0g0d1c4c 4g4c"),
    ('v', "0g2c4g"),
    ('w', "0g1c2f3c4g"),
    ('x', "0g4c 4g0c"),
    ('y', "0g2c 4g1a0a"),
    ('z', "0g4g0c4c"),
    ('.', "2c2c"),
    (',', "2c1a"),
    (':', "2d2d 2g2g"),
    (';', "2g2g 2c1a"),
    ('-', "0f4f"),
    ('−', "0f4f"),
    ('–', "0f4f"),
    ('+', "0f4f 2d2h"),
    ('=', "0e4e 0g4g"),
    ('*', "0d4h 0h4d 2d2h"),
    ('·', "2f2f"),
    ('/', "0c4i"),
    ('\\', "0i4c"),
    ('|', "2b2i"),
    ('_', "0c4c"),
    ('(', "3i2h2d3c"),
    (')', "1i2h2d1c"),
    ('[', "3i1i1c3c"),
    (']', "1i3i3c1c"),
    ('<', "4h0f4d"),
    ('>', "0h4f0d"),
    ('%', "0c4i 0h1i1h0h 3d4d4c3d"),
    ('!', "2i2e 2c2c"),
    ('?', "0h1i3i4h4g2e 2c2c"),
    ('\'', "2i2h"),
    ('"', "1i1h 3i3h"),
    ('#', "1c1i 3c3i 0e4e 0g4g"),
    ('°', "1i2i2h1h1i"),
    ('²', "1i2i2h1g2g"),
    ('³', "1i2i2g1g 1h2h"),
    ('µ', "0a0g 0d1c3c4d 4g4c"),
    ('μ', "0a0g 0d1c3c4d 4g4c"),
    ('Δ', "0c2i4c0c"),
    ('⁻', "0h2h"),
    ('¹', "1i1g"),
    ('×', "0g4c 4g0c"),
    ('…', "0c0c 2c2c 4c4c"),
];

/// Strokes of a character that has none of its own.
const UNKNOWN: &str = "0c0i4i4c0c";

/// Strokes of a character and its advance, in units of the grid.
pub(super) fn glyph(c: char) -> (Vec<Vec<[f32; 2]>>, f32) {
    if c == ' ' {
        return (Vec::new(), 3.0);
    }
    let text = STROKES.iter().find(|(known, _)| *known == c).map_or(UNKNOWN, |(_, strokes)| *strokes);
    let place = |s: &[u8]| [f32::from(s[0] - b'0'), f32::from(s[1]) - f32::from(b'c')];
    let strokes = text.split(' ').map(|stroke| stroke.as_bytes().chunks_exact(2).map(place).collect());
    (strokes.collect(), 5.6)
}

/// Width of a text whose capitals are `size` high.
pub(super) fn width(text: &str, size: f32) -> f32 {
    let units: f32 = text.chars().map(|c| glyph(c).1).sum();
    (units - 1.6).max(0.0) * size / 6.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printable_letter_has_strokes_on_the_grid() {
        for c in (' '..='~').filter(|c| !"$&@^`{}~".contains(*c)).chain("−·²³µΔ°×".chars()) {
            let (strokes, _) = glyph(c);
            let inside = |p: &[f32; 2]| (0.0..=4.0).contains(&p[0]) && (-2.0..=6.0).contains(&p[1]);
            assert!(strokes.iter().flatten().all(inside), "{c}");
            assert!(c == ' ' || strokes.iter().all(|s| s.len() >= 2), "{c}");
        }
    }
}
