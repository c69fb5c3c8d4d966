//! Canvas: strokes with soft edges. A pixel is covered by $\min(1, \max(0, \tfrac12 + w/2 - d))$ where d is its distance
//! to the nearest segment and w the width; strokes of one call count once where they cross.

use super::{Anchor, font};
use crate::drawing::Colour;
use crate::render::Image;

/// A picture under way.
pub(crate) struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
    cover: Vec<f32>,
}

impl Canvas {
    pub(crate) fn new(width: usize, height: usize) -> Self {
        Self { width, height, pixels: vec![255; 3 * width * height], cover: vec![0.0; width * height] }
    }

    /// Goes on with a picture.
    pub(crate) fn from_image(image: Image) -> Self {
        let (width, height) = (image.width as usize, image.height as usize);
        Self { width, height, pixels: image.pixels, cover: vec![0.0; width * height] }
    }

    /// Writes a line of text whose capitals are `size` pixels high; `upright` lets it run from bottom to top.
    pub(crate) fn text(
        &mut self,
        [x, y]: [f32; 2],
        size: f32,
        text: &str,
        anchor: Anchor,
        upright: bool,
        colour: Colour,
    ) {
        let wide = font::width(text, size);
        let mut pen = match anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => -0.5 * wide,
            Anchor::End => -wide,
        };
        let unit = size / 6.0;
        let mut strokes = Vec::new();
        for c in text.chars() {
            let (glyph, advance) = font::glyph(c);
            let place = |p: &[f32; 2]| {
                let (a, b) = (pen + p[0] * unit, -p[1] * unit);
                if upright { [x + b, y - a] } else { [x + a, y + b] }
            };
            strokes.extend(glyph.iter().map(|s| s.iter().map(place).collect::<Vec<_>>()));
            pen += advance * unit;
        }
        self.stroke(&strokes, 0.13 * size, colour);
    }

    pub(crate) fn rectangle(&mut self, at: [f32; 2], size: [f32; 2], fill: Colour) {
        let range = |a: f32, b: f32, most: usize| a.max(0.0) as usize..(b.max(0.0) as usize).min(most);
        for y in range(at[1], at[1] + size[1], self.height) {
            for x in range(at[0], at[0] + size[0], self.width) {
                self.pixels[3 * (y * self.width + x)..][..3].copy_from_slice(&fill);
            }
        }
    }

    pub(crate) fn stroke(&mut self, lines: &[Vec<[f32; 2]>], width: f32, colour: Colour) {
        let reach = 0.5 * width + 0.5;
        let mut touched = [self.height, 0];
        for [a, b] in lines.iter().flat_map(|l| l.windows(2)).map(|w| [w[0], w[1]]) {
            let range = |a: f32, b: f32, most: usize| {
                let low = (a.min(b) - reach).floor().max(0.0) as usize;
                low..((a.max(b) + reach).ceil().max(0.0) as usize + 1).min(most)
            };
            let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
            let square = (dx * dx + dy * dy).max(1e-12);
            let rows = range(a[1], b[1], self.height);
            touched = [touched[0].min(rows.start), touched[1].max(rows.end)];
            for y in rows {
                // Only the part of the row that the segment passes.
                let py = y as f32 + 0.5;
                let (mut x0, mut x1) = (a[0].min(b[0]), a[0].max(b[0]));
                if dy.abs() > 1e-6 {
                    let at = |y: f32| a[0] + dx * ((y - a[1]) / dy).clamp(0.0, 1.0);
                    let (l, r) = (at(py - 2.0 * reach), at(py + 2.0 * reach));
                    (x0, x1) = (l.min(r), l.max(r));
                }
                for x in range(x0, x1, self.width) {
                    let (ex, ey) = (x as f32 + 0.5 - a[0], py - a[1]);
                    let t = ((ex * dx + ey * dy) / square).clamp(0.0, 1.0);
                    let d = (ex - t * dx).hypot(ey - t * dy);
                    let cover = (reach - d).clamp(0.0, 1.0);
                    let here = &mut self.cover[y * self.width + x];
                    *here = here.max(cover);
                }
            }
        }
        for i in touched[0].min(touched[1]) * self.width..touched[1] * self.width {
            let cover = std::mem::take(&mut self.cover[i]);
            if cover > 0.0 {
                for k in 0..3 {
                    let p = &mut self.pixels[3 * i + k];
                    *p = (f32::from(*p) + (f32::from(colour[k]) - f32::from(*p)) * cover + 0.5) as u8;
                }
            }
        }
    }

    pub(crate) fn into_image(self) -> Image {
        Image { width: self.width as u32, height: self.height as u32, pixels: self.pixels }
    }
}
