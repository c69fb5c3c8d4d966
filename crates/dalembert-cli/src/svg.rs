//! Line plots as SVG text: panels one above the other, one legend.

use std::fmt::Write as _;

/// One curve.
pub(crate) struct Series<'a> {
    /// Name, for the legend; equal names share a colour over all panels.
    pub(crate) name: &'a str,
    /// Points x, y.
    pub(crate) points: Vec<[f64; 2]>,
}

/// One diagram.
pub(crate) struct Panel<'a> {
    /// What is drawn, with its unit.
    pub(crate) title: &'a str,
    /// Powers of ten on the vertical axis; values that are not positive are left out.
    pub(crate) log: bool,
    /// The curves.
    pub(crate) series: Vec<Series<'a>>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 210.0;
const LEFT: f64 = 90.0;
const TOP: f64 = 30.0;
/// Colours that people with colour blindness can tell apart (Okabe and Ito 2008).
const COLOURS: [&str; 7] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];

/// The whole picture; `x` names the horizontal axis.
pub(crate) fn plot(title: &str, x: &str, panels: &[Panel<'_>]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for series in panels.iter().flat_map(|p| &p.series) {
        if !names.contains(&series.name) {
            names.push(series.name);
        }
    }
    let height = 60.0 + panels.len() as f64 * (HEIGHT + 20.0) + 25.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{LEFT}\" y=\"20\" font-size=\"15\">{}</text>\n",
        LEFT + WIDTH + 20.0,
        escape(title)
    );
    for (k, name) in names.iter().enumerate() {
        let (at, colour) = (LEFT + 130.0 * k as f64, COLOURS[k % COLOURS.len()]);
        let name = escape(name);
        let _ = writeln!(
            out,
            "<path d=\"M{at} 38h20\" stroke=\"{colour}\" stroke-width=\"2\"/><text x=\"{}\" y=\"42\">{name}</text>",
            at + 26.0
        );
    }
    for (k, panel) in panels.iter().enumerate() {
        let colour = |name: &str| names.iter().position(|n| *n == name).map_or("#000", |i| COLOURS[i % 7]);
        let _ = writeln!(out, "<g transform=\"translate({LEFT} {})\">", 50.0 + k as f64 * (HEIGHT + 20.0));
        draw(panel, colour, &mut out);
        out.push_str("</g>\n");
    }
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\">{}</text>\n</svg>",
        LEFT + WIDTH / 2.0,
        height - 8.0,
        escape(x)
    );
    out
}

fn draw<'a>(panel: &Panel<'_>, colour: impl Fn(&str) -> &'a str, out: &mut String) {
    let shown = |p: &&[f64; 2]| p.iter().all(|x| x.is_finite()) && (!panel.log || p[1] > 0.0);
    let scale = |y: f64| if panel.log { y.log10() } else { y };
    let (mut x, mut y) = ([f64::INFINITY, f64::NEG_INFINITY], [f64::INFINITY, f64::NEG_INFINITY]);
    for p in panel.series.iter().flat_map(|s| &s.points).filter(shown) {
        x = [x[0].min(p[0]), x[1].max(p[0])];
        y = [y[0].min(scale(p[1])), y[1].max(scale(p[1]))];
    }
    let _ = writeln!(out, "<text x=\"0\" y=\"{}\">{}</text>", TOP - 8.0, escape(panel.title));
    let h = HEIGHT - TOP - 20.0;
    let _ =
        writeln!(out, "<rect y=\"{TOP}\" width=\"{WIDTH}\" height=\"{h}\" fill=\"none\" stroke=\"#999\"/>");
    if x[0] > x[1] {
        let _ = writeln!(out, "<text x=\"10\" y=\"{}\" fill=\"#666\">zero throughout</text>", TOP + h / 2.0);
        return;
    }
    // A flat line is drawn in the middle.
    let room = |[low, high]: [f64; 2]| {
        let pad = if high > low { 0.05 * (high - low) } else { 0.5 * low.abs().max(1e-300) };
        [low - pad, high + pad]
    };
    let y = room(y);
    let width = (x[1] - x[0]).max(f64::MIN_POSITIVE);
    let px = |v: f64| WIDTH * (v - x[0]) / width;
    let py = |v: f64| TOP + h * (1.0 - (v - y[0]) / (y[1] - y[0]));
    for k in 0..=4 {
        let f = f64::from(k) / 4.0;
        let (vx, vy) = (x[0] + f * (x[1] - x[0]), y[0] + f * (y[1] - y[0]));
        let label = if panel.log { format!("1e{vy:.1}") } else { crate::output::number(vy) };
        let _ = writeln!(
            out,
            "<path d=\"M0 {0}H{WIDTH}\" stroke=\"#eee\"/><text x=\"-6\" y=\"{1}\" text-anchor=\"end\" font-size=\"10\">{label}</text>\
             <text x=\"{2}\" y=\"{3}\" text-anchor=\"middle\" font-size=\"10\">{4}</text>",
            py(vy),
            py(vy) + 3.0,
            px(vx),
            TOP + h + 14.0,
            crate::output::number(vx)
        );
    }
    for series in &panel.series {
        let mut path = String::new();
        let mut pen = 'M';
        for p in &series.points {
            if shown(&p) {
                let _ = write!(path, "{pen}{:.1} {:.1}", px(p[0]), py(scale(p[1])));
                pen = 'L';
            } else {
                pen = 'M';
            }
        }
        let stroke = colour(series.name);
        let _ = writeln!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"1.5\"/>");
    }
}

/// Text between tags; control characters are not allowed there.
fn escape(text: &str) -> String {
    crate::output::safe(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_is_whole_whatever_its_numbers() {
        let series = |points: &[[f64; 2]]| Series { name: "a<b", points: points.to_vec() };
        for points in [&[][..], &[[0.0, 0.0]], &[[0.0, 1.0], [1.0, f64::NAN], [2.0, -3.0]]] {
            for log in [false, true] {
                let text = plot("t & u", "time", &[Panel { title: "y", log, series: vec![series(points)] }]);
                assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
                assert!(!text.contains("NaN") && !text.contains("inf") && text.contains("a&lt;b"));
            }
        }
    }
}
