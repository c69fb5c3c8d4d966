//! `dalembert check --intersections`: looks at every frame of a recording with an exact test of edges against triangles,
//! which shares nothing with the solver but the positions.

use std::fmt::Write as _;
use std::path::Path;

use dalembert::scene::Culprits;
use dalembert_formats::recording::Recording;
use serde_json::json;

use crate::exit::{Failure, Outcome};
use crate::output::{self, count, number, safe};
use crate::setup;

/// Frames with intersections that are told one by one.
const MOST_TOLD: usize = 20;

/// Writes the mesh; nothing if it is empty.
pub(super) fn write_culprits(path: &Path, culprits: &Culprits) -> Outcome {
    if culprits.is_empty() {
        return Ok(());
    }
    let mut text = String::from("# triangles and edges that intersect or touch\n");
    for p in &culprits.points {
        let _ = writeln!(text, "v {} {} {}", p.x, p.y, p.z);
    }
    for t in &culprits.triangles {
        let [a, b, c] = t.map(|i| i + 1);
        let _ = writeln!(text, "f {a} {b} {c}");
    }
    for e in &culprits.segments {
        let [a, b] = e.map(|i| i + 1);
        let _ = writeln!(text, "l {a} {b}");
    }
    std::fs::write(path, text).map_err(|e| Failure::Io(format!("cannot write `{}`: {e}", path.display())))
}

pub(super) fn command(path: &Path, as_json: bool, culprits: Option<&Path>) -> Outcome {
    let recording = Recording::open(path)?;
    let mut built = setup::rebuild(&recording)?;
    let sim = &mut built.simulation;
    let model = sim.model.clone();
    let Some(contact) = &model.ipc else {
        let method = sim.method.name();
        return Err(Failure::Usage(format!(
            "the recording was made by `{method}`; only the method `ipc` has collision surfaces to look at"
        )));
    };
    let mut x = Vec::new();
    let (mut bad, mut told) = (0usize, Vec::new());
    for frame in 0..recording.frame_count() {
        setup::set_state(sim, &recording.frame(frame)?.state)?;
        contact.geometry.positions(&sim.state.q, &mut x);
        let name = |[a, b]: &[&str; 2]| format!("`{}` and `{}`", safe(a), safe(b));
        let found: Vec<String> = contact.geometry.intersections(&x).iter().map(name).collect();
        if !found.is_empty() {
            bad += 1;
            if let (1, Some(path)) = (bad, culprits) {
                write_culprits(path, &Culprits::of(&contact.geometry, &x))?;
            }
            if told.len() < MOST_TOLD {
                told.push((frame, sim.state.time, found));
            }
        }
    }
    let frames = recording.frame_count();
    let text = if as_json {
        let list: Vec<_> =
            told.iter().map(|(f, t, p)| json!({ "frame": f, "time": t, "pairs": p })).collect();
        format!("{:#}\n", json!({ "frames": frames, "frames_with_intersections": bad, "first": list }))
    } else {
        let mut out = format!("{}, {bad} with intersections\n", count(frames as u64, "frame"));
        for (frame, time, pairs) in &told {
            out += &format!("  frame {frame}, {} s: {}\n", number(*time), pairs.join(", "));
        }
        out
    };
    output::print(&text)?;
    if bad == 0 { Ok(()) } else { Err(Failure::Unmet) }
}
