//! Plots: curves over time as SVG or PNG.
//!
//! A [`Plot`] is laid out once into a short list of marks (rectangles, polylines, texts); SVG and PNG draw the same
//! marks. Ticks stand at 1, 2 or 5 times a power of ten, the step s being the least such number with
//! $(\text{high}-\text{low})/s \le$ the number of ticks that fit.

mod canvas;
mod font;

use std::fmt::Write as _;
use std::path::Path;

use dalembert::model::{Energy, Model, Quantity};
use dalembert::state::State;
use dalembert_formats::recording::Recording;

use crate::ViewerError;
use crate::drawing::Colour;
use crate::render::{Image, Theme};
pub(crate) use canvas::Canvas;

/// One curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Name in the legend.
    pub name: String,
    /// (x, y) in rising x; places that are not finite break the curve.
    pub points: Vec<[f64; 2]>,
}

/// Curves over a common axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plot {
    /// Title above.
    pub title: String,
    /// Name and unit of the horizontal axis, such as `time \[s\]`.
    pub x_label: String,
    /// Name and unit of the vertical axis.
    pub y_label: String,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// How a plot looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlotOptions {
    /// Width \[pixels\], 160 … 8192.
    pub width: u32,
    /// Height \[pixels\], 120 … 8192.
    pub height: u32,
    /// Light or dark.
    pub theme: Theme,
}

impl Default for PlotOptions {
    fn default() -> Self {
        Self { width: 800, height: 480, theme: Theme::Light }
    }
}

/// Colours of curves, in turn.
const COLOURS: [Colour; 8] = [
    [47, 110, 186],
    [222, 118, 28],
    [44, 146, 86],
    [200, 62, 74],
    [122, 92, 180],
    [30, 150, 164],
    [196, 146, 20],
    [140, 98, 72],
];

/// Where a text stands relative to its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// What is drawn.
#[derive(Debug, Clone, PartialEq)]
enum Mark {
    Rectangle { at: [f32; 2], size: [f32; 2], fill: Colour },
    Line { points: Vec<[f32; 2]>, width: f32, colour: Colour },
    Text { at: [f32; 2], size: f32, text: String, anchor: Anchor, upright: bool, colour: Colour },
}

/// Ticks of an axis: the least multiple of the step inside, the step, the number of decimals.
fn ticks(low: f64, high: f64, fit: f64) -> (Vec<f64>, f64) {
    let raw = (high - low) / fit.max(1.0);
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= raw * 0.999_999);
    let step = step.unwrap_or(10.0 * power);
    let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
    ((first..=last).map(|i| i as f64 * step).collect(), step)
}

/// A tick in words, with as many digits as the step needs.
fn tick_text(value: f64, step: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let large = value.abs().max(step);
    if !(1e-4..1e6).contains(&large) {
        let digits = (large.log10().floor() - step.log10().floor()).clamp(0.0, 6.0) as usize;
        return format!("{value:.digits$e}");
    }
    let decimals = (-(step.log10() + 1e-9).floor()).clamp(0.0, 9.0) as usize;
    format!("{value:.decimals$}")
}

/// Refuses a name whose ending stands for no plot.
pub fn check_ending(path: &Path) -> Result<(), ViewerError> {
    let ending = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).unwrap_or_default();
    if ["svg", "png"].contains(&ending.as_str()) {
        return Ok(());
    }
    Err(ViewerError::UnknownEnding { path: path.to_owned(), ending, known: "svg, png" })
}

impl Plot {
    /// Least and greatest of one coordinate over all curves, widened where they are equal.
    fn range(&self, k: usize) -> [f64; 2] {
        let finite =
            self.curves.iter().flat_map(|c| &c.points).filter(|p| p[0].is_finite() && p[1].is_finite());
        let [mut low, mut high] = [f64::INFINITY, f64::NEG_INFINITY];
        for p in finite {
            (low, high) = (low.min(p[k]), high.max(p[k]));
        }
        if low > high {
            return [0.0, 1.0];
        }
        let least = 1e-12 * low.abs().max(high.abs()).max(1e-300);
        if high - low <= least {
            let room = if low == 0.0 { 1.0 } else { 0.5 * low.abs() };
            return [low - room, high + room];
        }
        [low, high]
    }

    fn marks(&self, options: &PlotOptions) -> Vec<Mark> {
        let (w, h) = (options.width.clamp(160, 8192) as f32, options.height.clamp(120, 8192) as f32);
        let (back, ink, faint): (Colour, Colour, Colour) = match options.theme {
            Theme::Light => ([255, 255, 255], [52, 58, 66], [226, 230, 235]),
            Theme::Dark => ([24, 27, 32], [208, 213, 220], [52, 57, 65]),
        };
        let size = 11.0;
        let mut marks = vec![Mark::Rectangle { at: [0.0, 0.0], size: [w, h], fill: back }];
        let [x0, x1] = self.range(0);
        let [mut y0, mut y1] = self.range(1);
        (y0, y1) = (y0 - 0.05 * (y1 - y0), y1 + 0.05 * (y1 - y0));

        let top = if self.title.is_empty() { 18.0 } else { 46.0 };
        let bottom = h - 52.0;
        let (y_ticks, y_step) = ticks(y0, y1, f64::from((bottom - top) / 44.0));
        let y_texts: Vec<String> = y_ticks.iter().map(|y| tick_text(*y, y_step)).collect();
        let widest = y_texts.iter().map(|t| font::width(t, size)).fold(0.0, f32::max);
        let left = 42.0 + widest;
        let longest = self.curves.iter().map(|c| font::width(&c.name, size)).fold(0.0, f32::max);
        let legend = self.curves.len() > 1;
        let right = if legend { w - 56.0 - longest.min(0.35 * w) } else { w - 24.0 };
        let px = |x: f64| left + (right - left) * ((x - x0) / (x1 - x0)) as f32;
        let py = |y: f64| bottom - (bottom - top) * ((y - y0) / (y1 - y0)) as f32;
        let text = |at: [f32; 2], text: &str, anchor: Anchor, size: f32| Mark::Text {
            at,
            size,
            text: text.into(),
            anchor,
            upright: false,
            colour: ink,
        };
        let line = |points: Vec<[f32; 2]>, width: f32, colour: Colour| Mark::Line { points, width, colour };

        for (y, words) in y_ticks.iter().zip(&y_texts) {
            marks.push(line(vec![[left, py(*y)], [right, py(*y)]], 1.0, faint));
            marks.push(text([left - 8.0, py(*y) + 0.5 * size], words, Anchor::End, size));
        }
        let (x_ticks, x_step) = ticks(x0, x1, f64::from((right - left) / 80.0));
        for x in &x_ticks {
            marks.push(line(vec![[px(*x), top], [px(*x), bottom]], 1.0, faint));
            marks.push(text([px(*x), bottom + 10.0 + size], &tick_text(*x, x_step), Anchor::Middle, size));
        }
        marks.push(line(vec![[left, top], [left, bottom], [right, bottom]], 1.2, ink));
        marks.push(text([0.5 * w, 28.0], &self.title, Anchor::Middle, 14.0));
        marks.push(text([0.5 * (left + right), h - 10.0], &self.x_label, Anchor::Middle, size));
        marks.push(Mark::Text {
            at: [20.0, 0.5 * (top + bottom)],
            size,
            text: self.y_label.clone(),
            anchor: Anchor::Middle,
            upright: true,
            colour: ink,
        });
        for (k, curve) in self.curves.iter().enumerate() {
            let mut colour = COLOURS[k % COLOURS.len()];
            if options.theme == Theme::Dark {
                colour = colour.map(|c| c.saturating_add(36));
            }
            for piece in curve.points.split(|p| !(p[0].is_finite() && p[1].is_finite())) {
                let points = thin(piece.iter().map(|p| [px(p[0]), py(p[1])]));
                if points.len() > 1 {
                    marks.push(line(points, 1.8, colour));
                }
            }
            if legend {
                let y = top + 12.0 + 20.0 * k as f32;
                marks.push(line(vec![[right + 14.0, y], [right + 32.0, y]], 2.4, colour));
                marks.push(text([right + 38.0, y + 0.5 * size], &curve.name, Anchor::Start, size));
            }
        }
        marks
    }

    /// The plot as the text of an SVG file.
    pub fn to_svg(&self, options: &PlotOptions) -> String {
        let (w, h) = (options.width.clamp(160, 8192), options.height.clamp(120, 8192));
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
             font-family=\"system-ui, sans-serif\">\n"
        );
        let hex = |[r, g, b]: Colour| format!("#{r:02x}{g:02x}{b:02x}");
        for mark in self.marks(options) {
            // Writing to a string cannot fail.
            let _ = match mark {
                Mark::Rectangle { at: [x, y], size: [w, h], fill } => {
                    writeln!(
                        svg,
                        "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill=\"{}\"/>",
                        hex(fill)
                    )
                }
                Mark::Line { points, width, colour } => {
                    let places: Vec<String> = points.iter().map(|[x, y]| format!("{x:.2},{y:.2}")).collect();
                    writeln!(
                        svg,
                        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" \
                         stroke-linejoin=\"round\"/>",
                        places.join(" "),
                        hex(colour)
                    )
                }
                Mark::Text { at: [x, y], size, text, anchor, upright, colour } => {
                    let anchor = match anchor {
                        Anchor::Start => "start",
                        Anchor::Middle => "middle",
                        Anchor::End => "end",
                    };
                    let turn = if upright {
                        format!(" transform=\"rotate(-90 {x:.2} {y:.2})\"")
                    } else {
                        String::new()
                    };
                    writeln!(
                        svg,
                        "<text x=\"{x:.2}\" y=\"{y:.2}\" font-size=\"{:.1}\" text-anchor=\"{anchor}\" fill=\"{}\"{turn}>{}</text>",
                        1.25 * size,
                        hex(colour),
                        escape(&text)
                    )
                }
            };
        }
        svg + "</svg>\n"
    }

    /// The plot as a picture.
    pub fn to_image(&self, options: &PlotOptions) -> Image {
        let mut canvas =
            Canvas::new(options.width.clamp(160, 8192) as usize, options.height.clamp(120, 8192) as usize);
        for mark in self.marks(options) {
            match mark {
                Mark::Rectangle { at, size, fill } => canvas.rectangle(at, size, fill),
                Mark::Line { points, width, colour } => canvas.stroke(&[points], width, colour),
                Mark::Text { at, size, text, anchor, upright, colour } => {
                    canvas.text(at, size, &text, anchor, upright, colour);
                }
            }
        }
        canvas.into_image()
    }

    /// Writes the plot; the ending of `path` decides: `.svg` or `.png`.
    pub fn write(&self, path: &Path, options: &PlotOptions) -> Result<(), ViewerError> {
        check_ending(path)?;
        let bytes = match path.extension().is_some_and(|e| e.eq_ignore_ascii_case("svg")) {
            true => self.to_svg(options).into_bytes(),
            false => self.to_image(options).to_png(),
        };
        std::fs::write(path, bytes).map_err(|source| ViewerError::Io {
            action: "write",
            path: path.to_owned(),
            source,
        })
    }
}

/// At most four places per column of pixels: first, least, greatest, last.
fn thin(points: impl Iterator<Item = [f32; 2]>) -> Vec<[f32; 2]> {
    let mut out: Vec<[f32; 2]> = Vec::new();
    let mut column: Vec<[f32; 2]> = Vec::new();
    let mut flush = |column: &mut Vec<[f32; 2]>| {
        if column.len() <= 4 {
            out.append(column);
            return;
        }
        let by = |a: &usize, b: &usize| column[*a][1].total_cmp(&column[*b][1]);
        let low = (0..column.len()).min_by(by).unwrap_or(0);
        let high = (0..column.len()).max_by(by).unwrap_or(0);
        let mut keep = vec![0, low.min(high), low.max(high), column.len() - 1];
        keep.dedup();
        out.extend(keep.into_iter().map(|i| column[i]));
        column.clear();
    };
    for p in points {
        if column.first().is_some_and(|q| q[0].floor() != p[0].floor()) {
            flush(&mut column);
        }
        column.push(p);
    }
    flush(&mut column);
    out
}

fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// What to plot of a recording: `energy` (kinetic, potential, total and each force), `drift` (change of the total
/// energy relative to the largest energy exchanged so far, as far as frames tell; see [`Energy::drift`]), `track:NAME` (all three coordinates), or any [quantity](dalembert::model::Quantity) such as `ball.z`.
///
/// Several may be given; they share one plot if they have one unit.
pub fn plot_recording(model: &Model, recording: &Recording, what: &[String]) -> Result<Plot, ViewerError> {
    let fail = |wanted: &str, reason: String| ViewerError::NoCurve { wanted: wanted.into(), reason };
    let mut quantities: Vec<(String, Quantity)> = Vec::new();
    let (mut y_label, mut unit): (Option<String>, Option<&'static str>) = (None, None);
    let mut drift = Vec::new();
    for wanted in what {
        let (texts, label): (Vec<String>, &str) = match wanted.as_str() {
            "energy" => {
                let own = ["kinetic", "potential", "total"].map(|n| format!("energy.{n}"));
                let terms = model.forces.iter().map(|f| format!("energy.{}", f.name));
                (own.into_iter().chain(terms).collect(), "energy")
            }
            "drift" => (vec!["energy.kinetic".into()], "energy drift"),
            track if track.starts_with("track:") => {
                let name = &track["track:".len()..];
                (["x", "y", "z"].map(|a| format!("{name}.{a}")).into(), "position")
            }
            other => (vec![other.into()], other),
        };
        for text in texts {
            let q = Quantity::parse(model, &text).map_err(|e| {
                let mut reason = e.reason;
                if let Some(meant) = dalembert_formats::error::suggest(
                    text.rsplit_once('.').map_or(text.as_str(), |(name, _)| name),
                    e.candidates.iter().map(String::as_str),
                ) {
                    let _ = write!(reason, "; did you mean `{meant}`?");
                }
                fail(wanted, reason)
            })?;
            let own = if wanted == "drift" { "" } else { q.unit() };
            match unit {
                Some(unit) if unit != own => {
                    let name = |unit: &str| if unit.is_empty() { "no unit".into() } else { unit.to_owned() };
                    let reason =
                        format!("it is in {}, the others are in {}; make two plots", name(own), name(unit));
                    return Err(fail(wanted, reason));
                }
                _ => unit = Some(own),
            }
            drift.push(wanted == "drift");
            let name = if wanted == "drift" {
                "drift".into()
            } else {
                text.trim_start_matches("energy.").to_owned()
            };
            quantities.push((name, q));
        }
        y_label.get_or_insert_with(|| label.to_owned());
    }
    if quantities.is_empty() {
        return Err(fail("", "say what to plot, for example energy, drift or track:NAME".into()));
    }
    let mut curves: Vec<Curve> =
        quantities.iter().map(|(name, _)| Curve { name: name.clone(), points: Vec::new() }).collect();
    // Energy of the first frame, and the largest kinetic energy so far.
    let mut exchange: Option<(Energy, f64)> = None;
    for frame in recording.frames() {
        let frame = frame?;
        let mut state = State::unpack(&model.layout, &frame.state)?;
        model.settle(&mut state);
        for ((curve, (_, q)), drift) in curves.iter_mut().zip(&quantities).zip(&drift) {
            let value = if *drift {
                let now = model.energy(&state);
                let (start, largest) = exchange.get_or_insert((now, now.kinetic));
                *largest = largest.max(now.kinetic);
                now.drift(start, *largest)
            } else {
                q.value(model, &state)
            };
            curve.points.push([state.time, value]);
        }
    }
    let label = y_label.unwrap_or_default();
    Ok(Plot {
        title: model.title.clone(),
        x_label: "time [s]".into(),
        y_label: match unit {
            Some(unit) if !unit.is_empty() => format!("{label} [{unit}]"),
            _ => label,
        },
        curves,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_stand_on_round_numbers_inside_the_range() {
        for (low, high) in [(0.0, 1.0), (-3.7, 11.2), (1e-9, 3e-9), (9999.0, 10001.0), (-1e8, 3e8)] {
            let (ticks, step) = ticks(low, high, 6.0);
            assert!((2..=7).contains(&ticks.len()), "{low} {high}: {ticks:?}");
            assert!(ticks.iter().all(|t| *t >= low - 1e-6 * step && *t <= high + 1e-6 * step));
            let texts: Vec<String> = ticks.iter().map(|t| tick_text(*t, step)).collect();
            let mut unique = texts.clone();
            unique.dedup();
            assert_eq!(texts, unique);
        }
        assert_eq!(tick_text(0.30000000000000004, 0.1), "0.3");
    }

    #[test]
    fn a_curve_of_a_million_places_keeps_its_extremes_and_becomes_small() {
        let points =
            (0..1_000_000).map(|i| [i as f32 * 8e-4, if i == 654_321 { 99.0 } else { (i % 7) as f32 }]);
        let thin = thin(points);
        assert!(thin.len() < 4000);
        assert!(thin.iter().any(|p| p[1] == 99.0));
    }

    #[test]
    fn a_name_cannot_break_out_of_the_svg() {
        let curve =
            Curve { name: "</svg><script>\"&\u{1}".into(), points: vec![[0.0, 0.0], [1.0, f64::NAN]] };
        let plot = Plot { curves: vec![curve.clone(), curve], ..Plot::default() };
        let svg = plot.to_svg(&PlotOptions::default());
        assert!(!svg.contains("<script") && svg.matches("</svg>").count() == 1);
    }
}
