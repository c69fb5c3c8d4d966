//! `dalembert check`: what is in a scene, without running it.

use std::fmt::Write as _;
use std::path::PathBuf;

use dalembert::mapping::{carry_all, gather_all};
use dalembert::math::{Random, dot, norm};
use dalembert::model::{Block, BlockKind};
use dalembert::prelude::*;
use dalembert_formats::scene::Built;
use serde_json::{Value, json};

use crate::drive::describe;
use crate::exit::{self, Outcome};
use crate::output::{self, count, number, safe};
use crate::setup::{self, Overrides};

const EXAMPLES: &str = "\
Examples:
  dalembert check hello.toml
  dalembert check hello.toml --json | jq .dof

Exit code 0 if the scene can be run, 3 if not; every mistake is shown with its line and column.";

/// What `check` takes.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Scene file (TOML, or JSON if its name ends in .json)
    #[arg(value_name = "SCENE")]
    scene: PathBuf,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn command(args: Args) -> Outcome {
    let built = setup::load(&args.scene, &Overrides::default())?;
    let facts = Facts::new(&built);
    if args.json {
        return output::print(&format!("{:#}\n", facts.json(&built)));
    }
    output::print(&facts.text(&built))?;
    exit::warn(&built.warnings);
    Ok(())
}

/// What is worth knowing and not written in the scene.
struct Facts {
    /// Directions in which something can move.
    dof: usize,
    /// Fastest vibration about the start, without damping [rad/s].
    fastest: Option<f64>,
    /// Largest stable step of the scene's integrator [s].
    stable_dt: Option<f64>,
    remarks: Vec<String>,
}

impl Facts {
    fn new(built: &Built) -> Self {
        let sim = &built.simulation;
        let fastest = fastest_vibration(sim);
        let stable_dt = fastest.and_then(|w| stability(&sim.method).map(|limit| limit / w));
        let mut remarks = Vec::new();
        if built.expect.is_empty() {
            remarks.push("the scene has no [[expect]]: a run cannot fail".into());
        }
        Self { dof: sim.model.layout.nv - sim.model.filters.directions(), fastest, stable_dt, remarks }
    }

    fn text(&self, built: &Built) -> String {
        let sim = &built.simulation;
        let model = &sim.model;
        let style = output::stdout();
        let title = if built.title.is_empty() { "untitled scene" } else { &built.title };
        let mut out = format!("{}\n", style.bold(&safe(title)));
        if !built.description.is_empty() {
            let _ = writeln!(out, "  {}", safe(built.description.trim()).replace('\n', "\n  "));
        }
        let steps = (built.duration / sim.dt).round() as u64;
        let _ = writeln!(out, "  {}", describe(sim));
        let _ = writeln!(
            out,
            "  {} s in {}, seed {}\n",
            number(built.duration),
            count(steps, "step"),
            built.seed
        );

        let width = model.blocks.iter().map(|b| b.name.chars().count()).max().unwrap_or(0).max(6);
        let _ = writeln!(out, "  {:width$}  {:>9}  {:>12}  kind", "points", "count", "mass [kg]");
        for block in &model.blocks {
            let mass = mass(model, block).map_or("–".into(), number);
            let (name, n, kind) = (safe(&block.name), block.points.len(), kind(block));
            let _ = writeln!(out, "  {name:width$}  {n:>9}  {mass:>12}  {kind}");
        }
        let _ =
            writeln!(out, "  {:width$}  {:>9}  {:>12}\n", "all", model.layout.points, number(model.mass()));

        let terms = model.energy_terms(&sim.state);
        let width = terms.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(7);
        let _ = writeln!(out, "  {:width$}  {:>12}  kind", "force", "energy [J]");
        for ((name, energy), force) in terms.iter().zip(&model.forces) {
            let (name, kind) = (safe(name), force.force.kind());
            let _ = writeln!(out, "  {name:width$}  {:>12}  {kind}", number(*energy));
        }
        let energy = sim.energy();
        let _ = writeln!(out, "  {:width$}  {:>12}", "kinetic", number(energy.kinetic));
        let _ = writeln!(out, "  {:width$}  {:>12}\n", "total", number(energy.total()));

        let filtered = count(model.filters.len() as u64, "point");
        let prescribed = model.filters.prescribed_points().count() as u64;
        let moved = match prescribed {
            0 => String::new(),
            n => format!(", {} moved as told", count(n, "point")),
        };
        let _ = writeln!(out, "  degrees of freedom  {} ({filtered} fixed or filtered{moved})", self.dof);
        if let Some(w) = self.fastest {
            let period = number(std::f64::consts::TAU / w);
            let _ = writeln!(out, "  fastest vibration   period about {period} s ({} rad/s)", number(w));
        }
        if let Some(limit) = self.stable_dt {
            let _ = writeln!(
                out,
                "  stable step         up to about {} s; dt is {} s",
                number(limit),
                number(sim.dt)
            );
        }
        let _ = writeln!(out, "  expectations        {}", built.expect.len());
        for remark in &self.remarks {
            let _ = writeln!(out, "\n  {}: {remark}", style.yellow("note"));
        }
        out
    }

    fn json(&self, built: &Built) -> Value {
        let sim = &built.simulation;
        let model = &sim.model;
        let block = |b: &Block| json!({ "name": b.name, "kind": kind(b), "points": b.points.len(), "mass": mass(model, b) });
        let terms = model.energy_terms(&sim.state);
        let force = |((name, energy), f): (&(&str, f64), &dalembert::model::NamedForce)| json!({ "name": name, "kind": f.force.kind(), "energy": energy });
        let energy = sim.energy();
        let (linear, angular) = model.momentum(&sim.state);
        json!({
            "status": "ok",
            "title": built.title,
            "description": built.description,
            "method": sim.method.name(),
            "dt": sim.dt,
            "duration": built.duration,
            "seed": built.seed,
            "particles": model.layout.particles,
            "points": model.layout.points,
            "mass": model.mass(),
            "dof": self.dof,
            "filtered_points": model.filters.len(),
            "prescribed_points": model.filters.prescribed_points().count(),
            "blocks": model.blocks.iter().map(block).collect::<Vec<_>>(),
            "forces": terms.iter().zip(&model.forces).map(force).collect::<Vec<_>>(),
            "energy": { "kinetic": energy.kinetic, "potential": energy.potential, "total": energy.total() },
            "momentum": linear.as_slice(),
            "angular_momentum": angular.as_slice(),
            "fastest_vibration": self.fastest,
            "stable_dt": self.stable_dt,
            "expectations": built.expect.len(),
            "notes": self.remarks,
            "warnings": exit::diagnostics_json(&built.warnings),
        })
    }
}

fn kind(block: &Block) -> &'static str {
    match block.kind {
        BlockKind::Rigid => "rigid body",
        BlockKind::Generalized => "generalized coordinates",
        BlockKind::Particles => "particles",
        BlockKind::Mapped => "carried by others",
    }
}

/// Mass of a block; carried points have none of their own.
fn mass(model: &Model, block: &Block) -> Option<f64> {
    match block.kind {
        BlockKind::Rigid => Some(model.rigid.mass[block.q.start / 7]),
        BlockKind::Particles | BlockKind::Generalized => {
            Some(model.particles.mass[block.points.clone()].iter().sum())
        }
        BlockKind::Mapped => None,
    }
}

/// Largest h ω for which an undamped vibration stays bounded; `None` where there is no such number.
fn stability(method: &Method) -> Option<f64> {
    let Method::Explicit(explicit) = method else { return None };
    match explicit.integrator {
        Integrator::SymplecticEuler | Integrator::Verlet => Some(2.0),
        Integrator::Rk4 => Some(8f64.sqrt()),
        _ => None,
    }
}

/// ω of the fastest vibration about the start [rad/s], by power iteration on C M⁻¹ K; approached from below.
fn fastest_vibration(sim: &Simulation) -> Option<f64> {
    const ITERATIONS: usize = 60;
    let model = &sim.model;
    let pv = model.layout.points_v();
    let (mut y, mut f) = (vec![0.0; model.layout.len_v()], vec![0.0; model.layout.len_v()]);
    let mut q = sim.state.q.clone();
    let mut random = Random::new(1);
    y[..model.layout.nv].fill_with(|| random.unit() - 0.5);
    let mut eigenvalue = 0.0;
    for _ in 0..ITERATIONS {
        model.filters.apply(0, &mut y[pv..]);
        let norm = norm(&y[..model.layout.nv]);
        if norm == 0.0 || !norm.is_finite() {
            return None;
        }
        y[..model.layout.nv].iter_mut().for_each(|a| *a /= norm);
        carry_all(&model.mappings, &mut q, &mut y);
        f.fill(0.0);
        let points = model.points(sim.state.time, &q, &sim.state.v);
        for batch in &model.forces {
            batch.force.add_stiffness_times(&points, &y[pv..], &mut f[pv..]);
        }
        gather_all(&model.mappings, &q, &mut f);
        // Rayleigh quotient yᵀKy / yᵀMy.
        let free = model.layout.nv;
        eigenvalue = dot(&y[..free], &f[..free]) / (2.0 * model.particles.kinetic(&y[pv..]));
        model.particles.solve_mass(0, &mut f[pv..]);
        std::mem::swap(&mut y, &mut f);
    }
    // A whisper above rounding is no vibration.
    (eigenvalue > 1e-20).then(|| eigenvalue.sqrt())
}
