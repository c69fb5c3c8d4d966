//! The loop of `run` and `resume`: steps, frames, expectations, a progress bar, and a report at the end.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use dalembert::model::Energy;
use dalembert::prelude::*;
use dalembert_formats::error::Diagnostic;
use dalembert_formats::recording::Writer;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::exit::{self, Failure, Outcome};
use crate::expect::Checks;
use crate::output::{self, count, number, vector};

/// What to do, and with what.
pub(crate) struct Drive {
    pub(crate) title: String,
    pub(crate) simulation: Simulation,
    pub(crate) checks: Checks,
    /// Run until this many steps were taken since the scene's start.
    pub(crate) until: u64,
    /// Steps that the scene itself asks for: where its expectations apply.
    pub(crate) scene_steps: u64,
    /// Record each step whose number this divides.
    pub(crate) every: u64,
    /// The recording to fill, and the frames that it has already.
    pub(crate) writer: Option<(Writer, u64)>,
    pub(crate) seed: u64,
    pub(crate) warnings: Vec<Diagnostic>,
    pub(crate) json: bool,
    pub(crate) quiet: bool,
}

/// Why the loop ended.
enum Ended {
    Finished,
    Interrupted,
    Failed(StepError),
}

impl Ended {
    fn status(&self, unmet: usize) -> &'static str {
        match self {
            Self::Failed(_) => "step_failed",
            Self::Interrupted => "interrupted",
            Self::Finished if unmet > 0 => "expectation_failed",
            Self::Finished => "ok",
        }
    }
}

/// Energies by name.
type Terms = Vec<(String, f64)>;

/// What the report at the end is made from.
struct Summary {
    first_step: u64,
    start_time: f64,
    start_terms: Terms,
    wall: Duration,
    ended: Ended,
    recorded: Option<(String, u64)>,
}

impl Drive {
    /// Runs, prints the report, and says how it went.
    pub(crate) fn run(mut self) -> Outcome {
        let interrupted = interrupt_flag();
        if !self.json {
            exit::warn(&self.warnings);
        }
        let mut recorder =
            self.writer.take().map(|(writer, frames)| Recorder::new(writer, frames, self.every));
        let first_step = self.simulation.state.steps;
        let start_time = self.simulation.state.time;
        let start_terms = terms(&self.simulation);
        if let Some(recorder) = &mut recorder {
            recorder.begin(&self.simulation)?;
        }
        let progress = Progress::new(self.until.saturating_sub(first_step), self.quiet);
        let start = Instant::now();
        let watch = Watch::new(start, &self, &progress);
        let ended = std::thread::scope(|scope| {
            let _end = End(&watch);
            if !self.quiet {
                scope.spawn(|| watch.tell());
            }
            self.steps(&mut recorder, &progress, &watch, interrupted)
        })?;
        let wall = start.elapsed();
        progress.bar.finish_and_clear();
        let recorded = match recorder {
            Some(recorder) => Some(recorder.finish(&self.simulation)?),
            None => None,
        };
        if matches!(ended, Ended::Finished) && self.simulation.state.steps == self.scene_steps {
            self.checks.at_end(&self.simulation);
        }
        self.report(Summary { first_step, start_time, start_terms, wall, ended, recorded })
    }

    fn steps(
        &mut self,
        recorder: &mut Option<Recorder>,
        progress: &Progress,
        watch: &Watch,
        interrupted: &AtomicBool,
    ) -> Result<Ended, Failure> {
        let start_time = self.simulation.state.time;
        let mut shown = watch.start;
        while self.simulation.state.steps < self.until {
            if interrupted.load(Ordering::Relaxed) {
                return Ok(Ended::Interrupted);
            }
            if let Err(error) = self.simulation.step() {
                return Ok(Ended::Failed(error));
            }
            watch.step_done(self.simulation.state.steps);
            self.checks.after_step(&self.simulation);
            if let Some(recorder) = recorder {
                recorder.after_step(&self.simulation)?;
            }
            if progress.visible && shown.elapsed() >= Progress::PERIOD {
                shown = Instant::now();
                progress.show(&self.simulation, start_time, self.until, watch.start.elapsed());
            }
        }
        Ok(Ended::Finished)
    }

    fn report(&self, summary: Summary) -> Outcome {
        let unmet = self.checks.failed();
        if self.json {
            output::print(&format!("{:#}\n", self.report_json(&summary, unmet)))?;
        } else if self.quiet {
            let style = output::stdout();
            let lines = self.checks.lines(style, self.scene_end(), true);
            output::print(&lines.iter().map(|line| format!("{line}\n")).collect::<String>())?;
        } else {
            output::print(&self.report_text(&summary))?;
        }
        match summary.ended {
            Ended::Failed(error) => {
                let step = self.simulation.state.steps + 1;
                let mut message = format!("step {step} failed: {error}");
                if let Some((path, _)) = &summary.recorded {
                    let _ = write!(message, "\nthe recording `{path}` ends with the last good step");
                }
                Err(Failure::Step(message))
            }
            Ended::Interrupted => Err(Failure::Interrupted),
            Ended::Finished if unmet > 0 => Err(Failure::Unmet),
            Ended::Finished => Ok(()),
        }
    }

    /// Time that the scene's expectations are about [s].
    fn scene_end(&self) -> f64 {
        self.scene_steps as f64 * self.simulation.dt
    }

    fn report_text(&self, s: &Summary) -> String {
        let sim = &self.simulation;
        let style = output::stdout();
        let mut out = String::new();
        let title = if self.title.is_empty() { "untitled scene" } else { &self.title };
        let steps = sim.state.steps - s.first_step;
        let time = sim.state.time - s.start_time;
        let _ = writeln!(out, "{}", style.bold(&output::safe(title)));
        let _ = writeln!(out, "  {}", describe(sim));
        let from = match s.first_step {
            0 => String::new(),
            _ => format!(" from {} s to {} s", number(s.start_time), number(sim.state.time)),
        };
        let wall = s.wall.as_secs_f64();
        let _ = writeln!(
            out,
            "  {} s{from} in {}: {} of wall time, {} real time\n",
            number(time),
            count(steps, "step"),
            wall_time(wall),
            factor(time, wall)
        );
        out.push_str(&energy_table(&s.start_terms, &terms(sim)));
        let (linear, angular) = sim.model.momentum(&sim.state);
        let _ = writeln!(out, "  energy drift      {}", drift(sim));
        let _ = writeln!(out, "  momentum          {} kg·m/s", vector(&linear));
        let _ = writeln!(out, "  angular momentum  {} kg·m²/s", vector(&angular));
        let r = &sim.report;
        if r.substeps > 0 {
            let _ = writeln!(
                out,
                "  last step         {}, {} rejected, {}",
                count(r.substeps.into(), "inner step"),
                r.rejected,
                count(r.evaluations.into(), "force evaluation")
            );
        }
        if !sim.model.constraints.is_empty() {
            let gap = number(worst_gap(&sim.model, &sim.state));
            let broken = match sim.state.broken.iter().filter(|b| **b).count() {
                0 => String::new(),
                n => format!(", {n} broken"),
            };
            let _ = writeln!(
                out,
                "  joints            worst gap {gap} (m or rad), {}, {}, {}{broken}",
                count(r.weak_rows.into(), "dependent row"),
                count(r.iterations.into(), "solver round"),
                count(r.projections.into(), "projection")
            );
            if r.unfinished {
                let _ = writeln!(out, "                    the solver of the last step stopped early");
            }
        }
        if let Some((path, frames)) = &s.recorded {
            let _ = writeln!(out, "  recorded          {} in {path}", count(*frames, "frame"));
        }
        let lines = self.checks.lines(style, self.scene_end(), false);
        if !lines.is_empty() {
            let _ = writeln!(out);
        }
        for line in lines {
            let _ = writeln!(out, "  {line}");
        }
        out
    }

    fn report_json(&self, s: &Summary, unmet: usize) -> Value {
        let sim = &self.simulation;
        let (linear, angular) = sim.model.momentum(&sim.state);
        let time = sim.state.time - s.start_time;
        let wall = s.wall.as_secs_f64();
        json!({
            "status": s.ended.status(unmet),
            "error": match &s.ended { Ended::Failed(e) => Some(e.to_string()), _ => None },
            "title": self.title,
            "method": sim.method.name(),
            "integrator": sim.method.integrator().map(|i| i.name()),
            "dt": sim.dt,
            "seed": self.seed,
            "particles": sim.model.layout.particles,
            "steps": sim.state.steps,
            "steps_taken": sim.state.steps - s.first_step,
            "fingerprint": format!("{:016x}", sim.state.fingerprint(&sim.model.layout)),
            "time": sim.state.time,
            "wall_seconds": wall,
            "real_time_factor": if wall > 0.0 { Some(time / wall) } else { None },
            "energy": {
                "start": energy_json(&s.start_terms),
                "end": energy_json(&terms(sim)),
                "drift": sim.energy_drift(),
                "exchanged": sim.energy().exchanged(&sim.start_energy, sim.largest_kinetic),
            },
            "momentum": linear.as_slice(),
            "angular_momentum": angular.as_slice(),
            "last_step": {
                "inner_steps": sim.report.substeps,
                "rejected": sim.report.rejected,
                "evaluations": sim.report.evaluations,
                "last_inner_step": sim.report.last_substep,
                "iterations": sim.report.iterations,
                "residual": sim.report.residual,
                "weak_rows": sim.report.weak_rows,
                "projections": sim.report.projections,
                "unfinished": sim.report.unfinished,
            },
            "joints": {
                "gap": worst_gap(&sim.model, &sim.state),
                "broken": sim.state.broken.iter().filter(|b| **b).count(),
            },
            "recording": s.recorded.as_ref().map(|(path, frames)| json!({ "path": path, "frames": frames })),
            "expectations": self.checks.json(),
            "warnings": exit::diagnostics_json(&self.warnings),
        })
    }
}

/// Method, step size and size, in a line.
pub(crate) fn describe(sim: &Simulation) -> String {
    let method = match sim.method.integrator() {
        Some(integrator) => format!("{} ({})", sim.method.name(), integrator.name()),
        None => sim.method.name().to_owned(),
    };
    let layout = &sim.model.layout;
    let mut parts = Vec::new();
    let counts = [
        (layout.rigid, "rigid body"),
        (sim.model.generalized.len(), "generalized body"),
        (sim.model.robots.len(), "robot"),
        (layout.joints, "joint"),
        (layout.particles, "particle"),
    ];
    for (n, one) in counts {
        if n > 0 {
            parts.push(count(n as u64, one));
        }
    }
    format!("{}, method {method}, dt = {} s", parts.join(", "), number(sim.dt))
}

/// In milliseconds or seconds.
fn wall_time(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.1} ms", 1e3 * seconds) } else { format!("{seconds:.2} s") }
}

/// Change of the total energy as a part of what was exchanged.
fn drift(sim: &Simulation) -> String {
    let exchanged = sim.energy().exchanged(&sim.start_energy, sim.largest_kinetic);
    format!("{} of {} J exchanged", number(sim.energy_drift()), number(exchanged))
}

/// `12.3×`.
fn factor(time: f64, wall: f64) -> String {
    let x = time / wall.max(1e-9);
    if x >= 100.0 { format!("{}×", number(x.round())) } else { format!("{x:.1}×") }
}

/// Kinetic energy, each term of the potential energy, and the total.
fn terms(sim: &Simulation) -> Terms {
    let Energy { kinetic, potential } = sim.energy();
    let mut out = vec![("kinetic".to_owned(), kinetic), ("potential".to_owned(), potential)];
    out.extend(sim.model.energy_terms(&sim.state).into_iter().map(|(name, e)| (name.to_owned(), e)));
    out.push(("total".to_owned(), kinetic + potential));
    out
}

fn energy_json(terms: &Terms) -> Value {
    terms.iter().map(|(name, e)| (name.clone(), Value::from(*e))).collect::<serde_json::Map<_, _>>().into()
}

fn energy_table(start: &Terms, end: &Terms) -> String {
    let inner = |name: &str| !["kinetic", "potential", "total"].contains(&name);
    let label = |name: &str| match inner(name) {
        true => format!("  {}", output::safe(name)),
        false => name.to_owned(),
    };
    // Forces that store no energy, such as drag, would only be rows of zeros.
    let idle = |i: usize| inner(&start[i].0) && start[i].1 == 0.0 && end[i].1 == 0.0;
    let rows: Vec<usize> = (0..start.len()).filter(|&i| !idle(i)).collect();
    let width = rows.iter().map(|&i| label(&start[i].0).chars().count()).max().unwrap_or(0).max(16);
    let mut out = format!("  {:width$}  {:>12}  {:>12}  {:>12}\n", "energy [J]", "start", "end", "change");
    for i in rows {
        let (a, b) = (start[i].1, end[i].1);
        let (name, change) = (label(&start[i].0), number(b - a));
        let _ = writeln!(out, "  {name:width$}  {:>12}  {:>12}  {change:>12}", number(a), number(b));
    }
    out
}

/// Names of the scalars that a recording carries beside the states: the same as in expectations and exports.
pub(crate) fn scalar_names(model: &Model) -> Vec<String> {
    // A bracket in the name of a force would be taken for a unit.
    let plain = |name: &str| name.replace('[', "(").replace(']', ")");
    let mut names: Vec<String> = ["kinetic", "potential", "total"].map(|n| format!("energy.{n} [J]")).into();
    names.extend(model.energy_names().iter().map(|name| format!("energy.{} [J]", plain(name))));
    names.push("energy.drift [1]".into());
    names.extend(["x", "y", "z", "norm"].map(|c| format!("momentum.{c} [kg·m/s]")));
    names.push("angular_momentum.norm [kg·m²/s]".into());
    if !model.constraints.is_empty() {
        names.extend(["joints.gap [m or rad]", "solver.iterations [1]"].map(String::from));
    }
    names
}

/// The scalars, in the order of [`scalar_names`].
pub(crate) fn scalars(sim: &Simulation, out: &mut Vec<f64>) {
    let Energy { kinetic, potential } = sim.energy();
    let (linear, angular) = sim.model.momentum(&sim.state);
    out.clear();
    out.extend([kinetic, potential, kinetic + potential]);
    out.extend(sim.model.energy_terms(&sim.state).iter().map(|(_, e)| e));
    out.push(sim.energy_drift());
    out.extend([linear.x, linear.y, linear.z, linear.norm(), angular.norm()]);
    if !sim.model.constraints.is_empty() {
        out.extend([worst_gap(&sim.model, &sim.state), f64::from(sim.report.iterations)]);
    }
}

/// Writes frames.
struct Recorder {
    writer: Writer,
    every: u64,
    frames: u64,
    last_step: Option<u64>,
    state: Vec<f64>,
    row: Vec<f64>,
}

impl Recorder {
    fn new(writer: Writer, frames: u64, every: u64) -> Self {
        Self { writer, every, frames, last_step: None, state: Vec::new(), row: Vec::new() }
    }

    /// The frame at the start; a continued recording has it already.
    fn begin(&mut self, sim: &Simulation) -> Outcome {
        if self.frames == 0 {
            return self.write(sim);
        }
        self.last_step = Some(sim.state.steps);
        Ok(())
    }

    fn after_step(&mut self, sim: &Simulation) -> Outcome {
        if sim.state.steps.is_multiple_of(self.every) { self.write(sim) } else { Ok(()) }
    }

    fn write(&mut self, sim: &Simulation) -> Outcome {
        scalars(sim, &mut self.row);
        sim.state.pack(&sim.model.layout, &mut self.state);
        let (time, steps) = (sim.state.time, sim.state.steps);
        let part = self.writer.part_path().display().to_string();
        self.writer
            .write_scalars(time, &self.row)
            .and_then(|()| self.writer.write_frame(time, steps, &self.state))
            .map_err(|e| Failure::Io(format!("{e}\nwhat was recorded before is in `{part}`")))?;
        self.frames += 1;
        self.last_step = Some(steps);
        Ok(())
    }

    /// Adds the last state if it is not there, and completes the file. Returns its name and its number of frames.
    fn finish(mut self, sim: &Simulation) -> Result<(String, u64), Failure> {
        if self.last_step != Some(sim.state.steps) {
            self.write(sim)?;
        }
        let path = self.writer.path().display().to_string();
        self.writer.finish()?;
        Ok((path, self.frames))
    }
}

/// The bar on the standard error.
struct Progress {
    bar: ProgressBar,
    visible: bool,
}

impl Progress {
    const PERIOD: Duration = Duration::from_millis(100);

    fn new(steps: u64, quiet: bool) -> Self {
        if quiet || !std::io::stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden(), visible: false };
        }
        let bar = ProgressBar::new(steps);
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {percent:>3}%  {msg}  {eta} left") {
            bar.set_style(style);
        }
        Self { bar, visible: true }
    }

    fn show(&self, sim: &Simulation, start_time: f64, until: u64, wall: Duration) {
        let factor = factor(sim.state.time - start_time, wall.as_secs_f64());
        let drift = sim.energy_drift();
        let end = number(until as f64 * sim.dt);
        self.bar.set_position(self.bar.length().unwrap_or(0).saturating_sub(until - sim.state.steps));
        self.bar.set_message(format!(
            "t = {:.3} of {end} s  {factor} real time  energy drift {drift:.1e}",
            sim.state.time
        ));
    }
}

/// Says now and then how far a run is, also where there is no terminal and while one step takes long.
struct Watch {
    start: Instant,
    /// Steps that the run ends at, and the size of one \[s\].
    until: u64,
    dt: f64,
    /// Steps taken, and wall time at the end of the last \[ms\].
    steps: AtomicU64,
    since: AtomicU64,
    over: Mutex<bool>,
    wake: Condvar,
    /// The bar of a terminal, whose text is replaced while a step takes long; none to write lines.
    bar: Option<ProgressBar>,
}

/// A step of more wall time than this is told about in a terminal.
const LONG_STEP: Duration = Duration::from_secs(2);
/// Wall time until the first line without a terminal; the wait doubles from line to line.
const FIRST_LINE: Duration = Duration::from_secs(5);
/// Longest wait between two lines.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

impl Watch {
    fn new(start: Instant, drive: &Drive, progress: &Progress) -> Self {
        Self {
            start,
            until: drive.until,
            dt: drive.simulation.dt,
            steps: AtomicU64::new(drive.simulation.state.steps),
            since: AtomicU64::new(0),
            over: Mutex::new(false),
            wake: Condvar::new(),
            bar: progress.visible.then(|| progress.bar.clone()),
        }
    }

    fn step_done(&self, steps: u64) {
        self.steps.store(steps, Ordering::Relaxed);
        self.since.store(self.start.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// Runs beside the steps until the end.
    fn tell(&self) {
        let mut wait = if self.bar.is_some() { LONG_STEP } else { FIRST_LINE };
        let mut over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let waited = self.wake.wait_timeout_while(over, wait, |over| !*over);
            over = waited.unwrap_or_else(PoisonError::into_inner).0;
            if *over {
                return;
            }
            let wall = self.start.elapsed();
            let in_step = wall.saturating_sub(Duration::from_millis(self.since.load(Ordering::Relaxed)));
            let line = self.line(wall, in_step);
            match &self.bar {
                Some(bar) if in_step >= LONG_STEP => bar.set_message(line),
                Some(_) => {}
                None => {
                    eprintln!("{line}");
                    wait = (2 * wait).min(LONGEST_WAIT);
                }
            }
        }
    }

    fn line(&self, wall: Duration, in_step: Duration) -> String {
        let done = self.steps.load(Ordering::Relaxed);
        let mut line = format!(
            "step {} of {} from t = {} s, {:.0} s of wall time",
            done.saturating_add(1).min(self.until),
            self.until,
            number(done as f64 * self.dt),
            wall.as_secs_f64()
        );
        if in_step >= LONG_STEP {
            let _ = write!(line, ", {:.0} s of it in this step", in_step.as_secs_f64());
        }
        line
    }
}

/// Ends the telling, however the run ends.
struct End<'a>(&'a Watch);

impl Drop for End<'_> {
    fn drop(&mut self) {
        *self.0.over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.wake.notify_all();
    }
}

/// Set when the user presses Ctrl-C or the system asks the program to end; asked twice, the program ends at once.
pub(crate) fn interrupt_flag() -> &'static AtomicBool {
    static FLAG: AtomicBool = AtomicBool::new(false);
    static HANDLER: Once = Once::new();
    HANDLER.call_once(|| {
        // Without a handler the program simply ends, and the recording can be resumed from its `.part`.
        let _ = ctrlc::set_handler(|| {
            if FLAG.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
    });
    &FLAG
}
