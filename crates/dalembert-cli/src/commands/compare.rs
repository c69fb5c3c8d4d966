//! `dalembert compare`: one scene under several methods.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use clap::builder::PossibleValuesParser;
use dalembert::joints::Hold;
use dalembert::prelude::*;
use dalembert::state::BlockKind;
use dalembert_formats::scene::{Built, SceneFile};
use serde_json::{Value, json};

use crate::exit::{Failure, Outcome};
use crate::guard;
use crate::output::{self, count, safe};
use crate::setup::{self, Overrides};
use crate::svg::{self, Panel, Series};

const EXAMPLES: &str = "\
Examples:
  dalembert compare pendulum_rod.toml --methods lagrange,impulse
  dalembert compare compare_pendulum.toml --methods lagrange,impulse,explicit --kp 1e5 --kd 10 -o plot.svg

Expectations are not looked at. A method that cannot run the scene is told with its reason; one that does not take
generalized coordinates runs without those bodies. Exit code 0 if at least one method ran to the end, else 3 or 4.";

/// What `compare` takes.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Scene file (TOML or JSON), or a robot by itself (MJCF or URDF)
    #[arg(value_name = "SCENE")]
    scene: PathBuf,
    /// Methods, with commas between them; the first that runs is what the others are compared with
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', required = true,
          value_parser = PossibleValuesParser::new(Method::NAMES))]
    methods: Vec<String>,
    /// Step size [s]; the scene's own if not given
    #[arg(long, value_name = "H", value_parser = setup::positive)]
    dt: Option<f64>,
    /// How long to run [s of simulated time]; the scene's own duration if not given
    #[arg(short = 't', long = "time", value_name = "SECONDS", value_parser = setup::not_negative)]
    time: Option<f64>,
    /// Stiffness of exact joints where the method is `explicit`, which needs springs [N/m or N·m/rad]
    #[arg(long, value_name = "KP", value_parser = setup::not_negative)]
    kp: Option<f64>,
    /// Damping of exact joints where the method is `explicit` [N·s/m or N·m·s/rad]
    #[arg(long, value_name = "KD", value_parser = setup::not_negative)]
    kd: Option<f64>,
    /// Plot energy, its drift and the joint gap over time in this file (SVG)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Most points of a curve in the plot.
const MOST_POINTS: u64 = 600;

/// One method and how it went.
struct Trial {
    method: String,
    notes: Vec<String>,
    run: Option<Run>,
}

/// What a method did with the scene.
struct Run {
    finished: bool,
    steps: u64,
    /// Largest |change of energy|, relative.
    drift: f64,
    /// Worst gap of a joint, springs included [m or rad].
    gap: f64,
    /// Largest change of linear and angular momentum.
    momentum: f64,
    angular_momentum: f64,
    seconds_per_step: f64,
    /// Places of points and origins of bodies at the end, by name.
    places: Vec<(String, Vec<f64>)>,
    /// Time, total energy, |drift|, gap.
    curve: Vec<[f64; 4]>,
}

pub(crate) fn command(args: Args) -> Outcome {
    if let Some(path) = &args.output {
        guard::not_in_place(path, [&args.scene])?;
    }
    let mut trials = Vec::new();
    for (k, method) in args.methods.iter().enumerate() {
        if args.methods[..k].contains(method) {
            return Err(Failure::Usage(format!("`{method}` stands twice in --methods")));
        }
        // A scene that cannot be read is wrong under every method.
        let file = setup::open(&args.scene)?;
        trials.push(trial(&args, file, method)?);
    }
    if let Some(path) = &args.output {
        let title = setup::open(&args.scene)?.scene.title;
        std::fs::write(path, picture(&title, &trials))
            .map_err(|e| Failure::Io(format!("cannot write `{}`: {e}", path.display())))?;
    }
    output::print(&if args.json { format!("{:#}\n", as_json(&trials)) } else { as_text(&args, &trials) })?;
    if trials.iter().any(|t| t.run.as_ref().is_some_and(|r| r.finished)) {
        return Ok(());
    }
    Err(match trials.iter().any(|t| t.run.is_some()) {
        true => Failure::Step("no method ran to the end".into()),
        false => Failure::Usage("no method can run this scene".into()),
    })
}

/// Changes a scene for a method and builds it; what was changed is noted.
fn build(args: &Args, mut file: SceneFile, method: &str, notes: &mut Vec<String>) -> Result<Built, String> {
    let overrides = Overrides { method: Some(method.to_owned()), dt: args.dt, ..Overrides::default() };
    overrides.apply(&mut file);
    file.scene.expect.clear();
    if method == "explicit" && (args.kp.is_some() || args.kd.is_some()) {
        let gains = Stiffness::Gains { kp: args.kp.unwrap_or(0.0), kd: args.kd.unwrap_or(0.0) };
        let joints = file.scene.joint.iter_mut().map(|j| &mut j.stiffness);
        let mut changed = 0;
        for hold in joints.chain(file.scene.gear.iter_mut().map(|g| &mut g.stiffness)) {
            if *hold == Stiffness::Hard {
                *hold = gains;
                changed += 1;
            }
        }
        if changed > 0 {
            notes.push(format!("{} became a spring and damper", count(changed, "exact joint")));
        }
    }
    if method == "impulse" && !file.scene.generalized.is_empty() {
        let names: Vec<String> =
            file.scene.generalized.drain(..).map(|b| format!("`{}`", safe(&b.name))).collect();
        notes.push(format!(
            "runs without {}: `impulse` does not take generalized coordinates",
            names.join(", ")
        ));
    }
    let exact = file.scene.joint.iter().any(|j| j.stiffness == Stiffness::Hard);
    file.build().map_err(|error| {
        let messages: Vec<String> = error.diagnostics().iter().map(|d| safe(&d.message)).collect();
        let hint =
            if method == "explicit" && exact { " (--kp and --kd make exact joints springs)" } else { "" };
        format!("{}{hint}", messages.join("; "))
    })
}

fn trial(args: &Args, file: SceneFile, method: &str) -> Result<Trial, Failure> {
    let mut notes = Vec::new();
    let run = match build(args, file, method, &mut notes) {
        Err(reason) => {
            notes.push(format!("refused: {reason}"));
            None
        }
        Ok(built) => {
            let steps = setup::steps(args.time.unwrap_or(built.duration), built.simulation.dt)?;
            Some(run(built.simulation, steps, &mut notes))
        }
    };
    Ok(Trial { method: method.to_owned(), notes, run })
}

fn run(mut sim: Simulation, steps: u64, notes: &mut Vec<String>) -> Run {
    let joints = sim.model.constraints.iter().filter(|c| !matches!(c.hold, Hold::Axis { .. }));
    let gaps: Vec<Quantity> =
        joints.filter_map(|c| Quantity::parse(&sim.model, &format!("{}.gap", c.name)).ok()).collect();
    let (p0, l0) = sim.model.momentum(&sim.state);
    let every = steps.div_ceil(MOST_POINTS).max(1);
    let mut out = Run {
        finished: true,
        steps: 0,
        drift: 0.0,
        gap: 0.0,
        momentum: 0.0,
        angular_momentum: 0.0,
        seconds_per_step: 0.0,
        places: Vec::new(),
        curve: Vec::new(),
    };
    // Of the total energy, at any time: relative to all that was exchanged, since at first that is next to nothing.
    let mut change = 0.0f64;
    let mut inside = 0.0;
    for step in 0..=steps {
        let (drift, energy) = (sim.energy_drift().abs(), sim.energy().total());
        let gap = gaps.iter().map(|g| g.value(&sim.model, &sim.state)).fold(0.0, f64::max);
        let (p, l) = sim.model.momentum(&sim.state);
        change = change.max((energy - sim.start_energy.total()).abs());
        out.gap = out.gap.max(gap);
        out.momentum = out.momentum.max((p - p0).norm());
        out.angular_momentum = out.angular_momentum.max((l - l0).norm());
        if step % every == 0 || step == steps {
            out.curve.push([sim.state.time, energy, drift, gap]);
        }
        if step == steps {
            break;
        }
        let start = Instant::now();
        let done = sim.step();
        inside += start.elapsed().as_secs_f64();
        if let Err(error) = done {
            notes.push(format!("step {} failed: {error}", step + 1));
            out.finished = false;
            break;
        }
        out.steps += 1;
    }
    let exchanged = sim.energy().exchanged(&sim.start_energy, sim.largest_kinetic);
    out.drift = if change > 0.0 { change / exchanged } else { 0.0 };
    out.seconds_per_step = inside / out.steps.max(1) as f64;
    out.places = places(&sim);
    out
}

/// Where everything is.
fn places(sim: &Simulation) -> Vec<(String, Vec<f64>)> {
    let (model, q) = (&sim.model, &sim.state.q);
    let first = model.layout.points_q();
    let place = |b: &dalembert::state::Block| match b.kind {
        BlockKind::Rigid => {
            let pose = model.rigid.pose(q, b.q.start / 7);
            pose.position.iter().copied().collect()
        }
        _ => q[first + 3 * b.points.start..first + 3 * b.points.end].to_vec(),
    };
    model.blocks.iter().map(|b| (b.name.clone(), place(b))).collect()
}

/// Largest difference of a place, and the body that has it.
fn difference<'a>(one: &Run, other: &'a Run) -> Option<(f64, &'a str)> {
    let mut worst: Option<(f64, &str)> = None;
    for (name, b) in &other.places {
        let Some((_, a)) = one.places.iter().find(|(n, _)| n == name) else { continue };
        let far = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        if worst.is_none_or(|(w, _)| far > w) {
            worst = Some((far, name));
        }
    }
    worst
}

fn as_text(args: &Args, trials: &[Trial]) -> String {
    let mut out = String::new();
    let reference = trials.iter().find(|t| t.run.is_some());
    let first = reference.and_then(|t| t.run.as_ref());
    let _ = writeln!(
        out,
        "{:10} {:>8} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}",
        "method", "steps", "energy drift", "joint gap", "momentum", "ang. mom.", "µs per step", "difference"
    );
    for t in trials {
        match &t.run {
            None => {
                let _ = writeln!(out, "{:10} –", t.method);
            }
            Some(r) => {
                let far = match first.and_then(|f| difference(f, r)) {
                    _ if reference.is_some_and(|r| r.method == t.method) => "–".into(),
                    Some((far, _)) => format!("{far:.3e}"),
                    None => "–".into(),
                };
                let _ = writeln!(
                    out,
                    "{:10} {:>8} {:>12.3e} {:>12.3e} {:>12.3e} {:>12.3e} {:>12.3} {far:>12}",
                    t.method,
                    r.steps,
                    r.drift,
                    r.gap,
                    r.momentum,
                    r.angular_momentum,
                    1e6 * r.seconds_per_step
                );
            }
        }
    }
    let first = reference.map_or("no method", |t| &t.method);
    let _ = writeln!(
        out,
        "\nLargest over the run: change of energy (of what was exchanged), joint gap [m or rad], change of momentum [kg·m/s] and of angular\n\
         momentum [kg·m²/s]. Difference: largest distance along an axis from where `{first}` ends [m]."
    );
    for t in trials {
        for note in &t.notes {
            let _ = writeln!(out, "{}: {note}", output::stdout().bold(&t.method));
        }
    }
    if let Some(path) = &args.output {
        let _ = writeln!(out, "plot in {}", path.display());
    }
    out
}

fn as_json(trials: &[Trial]) -> Value {
    let first = trials.iter().find_map(|t| t.run.as_ref());
    let one = |t: &Trial| {
        let run = t.run.as_ref().map(|r| {
            let far = first.and_then(|f| difference(f, r));
            json!({
                "finished": r.finished,
                "steps": r.steps,
                "energy_drift": r.drift,
                "joint_gap": r.gap,
                "momentum_change": r.momentum,
                "angular_momentum_change": r.angular_momentum,
                "seconds_per_step": r.seconds_per_step,
                "difference": far.map(|f| f.0),
                "differs_most": far.map(|f| f.1),
            })
        });
        json!({ "method": t.method, "notes": t.notes, "run": run })
    };
    json!({ "status": "ok", "methods": trials.iter().map(one).collect::<Vec<_>>() })
}

fn picture(title: &str, trials: &[Trial]) -> String {
    let panel = |title, k: usize, log| Panel {
        title,
        log,
        series: trials
            .iter()
            .filter_map(|t| Some((t, t.run.as_ref()?)))
            .map(|(t, r)| Series { name: &t.method, points: r.curve.iter().map(|c| [c[0], c[k]]).collect() })
            .collect(),
    };
    let panels = [
        panel("total energy [J]", 1, false),
        panel("energy drift, relative", 2, true),
        panel("worst joint gap [m or rad]", 3, true),
    ];
    let title = if title.is_empty() { "comparison" } else { title };
    svg::plot(title, "time [s]", &panels)
}
