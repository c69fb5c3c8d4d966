//! `dalembert check`: what is in a scene, without running it.

use std::fmt::Write as _;
use std::path::PathBuf;

use dalembert::check::{MassRatio, critical_step, mass_ratio, stability_limit};
use dalembert::joints::{Hold, Holder, NamedConstraint};
use dalembert::mapping::{carry_all, gather_all};
use dalembert::math::{Random, dot, norm};
use dalembert::prelude::*;
use dalembert::state::{Block, BlockKind};
use dalembert::step::{RowCount, independent_rows};
use dalembert_formats::scene::Built;
use serde_json::{Value, json};

use crate::drive::describe;
use crate::exit::{self, Outcome};
use crate::guard;
use crate::output::{self, count, number, safe};
use crate::setup::{self, Overrides};

const EXAMPLES: &str = "\
Examples:
  dalembert check hello.toml
  dalembert check hello.toml --json | jq .dof
  dalembert check --intersections run.mcap   does anything intersect, in any frame?
  dalembert check bad.toml --culprits bad.obj   a mesh of what intersects at the start

Exit code 0 if the scene can be run, 3 if not; every mistake is shown with its line and column.";

/// What `check` takes.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Scene file (TOML or JSON), or a robot by itself (MJCF or URDF); a recording with --intersections
    #[arg(value_name = "SCENE")]
    scene: PathBuf,
    /// Look at every frame of a recording of the method `ipc` with an exact test; exit code 1 if anything intersects
    #[arg(long)]
    intersections: bool,
    /// Write the triangles and edges that intersect or touch at the start (with --intersections: in the first bad frame)
    /// to this file (OBJ)
    #[arg(long, value_name = "FILE")]
    culprits: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn command(args: Args) -> Outcome {
    if let Some(path) = &args.culprits {
        guard::not_in_place(path, [&args.scene])?;
    }
    if args.intersections {
        return super::intersections::command(&args.scene, args.json, args.culprits.as_deref());
    }
    let built = match setup::load(&args.scene, &Overrides::default()) {
        Ok(built) => built,
        Err(refused) => {
            if let Some(path) = &args.culprits
                && let Ok(file) = setup::open(&args.scene)
            {
                super::intersections::write_culprits(path, &file.culprits())?;
            }
            return Err(refused);
        }
    };
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
    /// Rows of exact joints, and those that follow from others.
    rows: RowCount,
    /// Worst gap of an exact joint at the start [m or rad].
    gap: f64,
    /// Masses that joints hold.
    masses: Option<MassRatio>,
    /// Largest stable step of symplectic Euler for spring-damper joints [s].
    joint_dt: Option<f64>,
    remarks: Vec<String>,
}

fn joint_table(out: &mut String, model: &Model) {
    if !model.constraints.is_empty() {
        let width = model.constraints.iter().map(|c| c.name.chars().count()).max().unwrap_or(0).max(6);
        let _ = writeln!(out, "  {:width$}  {:>4}  {:22}  between", "joint", "rows", "kind");
        for c in &model.constraints {
            let (name, rows) = (safe(&c.name), c.constraint.rows());
            let kind = match c.hold {
                Hold::Axis { .. } => c.constraint.kind().to_owned(),
                _ => format!("{} ({})", c.constraint.kind(), hold(c)),
            };
            let ends: Vec<_> = c.constraint.holders().iter().map(|h| holder(model, *h)).collect();
            let _ = writeln!(out, "  {name:width$}  {rows:>4}  {kind:22}  {}", ends.join(", "));
        }
        let _ = writeln!(out);
    }
}

fn energy_table(out: &mut String, sim: &Simulation) {
    let model = &sim.model;
    let terms = model.energy_terms(&sim.state);
    let width = terms.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(7);
    let _ = writeln!(out, "  {:width$}  {:>12}  kind", "force", "energy [J]");
    for (k, (name, energy)) in terms.iter().enumerate() {
        let (name, kind) = (safe(name), model.forces.get(k).map_or("bodies", |f| f.force.kind()));
        let _ = writeln!(out, "  {name:width$}  {:>12}  {kind}", number(*energy));
    }
    let energy = sim.energy();
    let _ = writeln!(out, "  {:width$}  {:>12}", "kinetic", number(energy.kinetic));
    let _ = writeln!(out, "  {:width$}  {:>12}\n", "total", number(energy.total()));
}

impl Facts {
    fn new(built: &Built) -> Self {
        let sim = &built.simulation;
        let fastest = fastest_vibration(sim);
        // Euler and midpoint keep no vibration bounded at any step.
        let bounded = !matches!(sim.method.integrator(), Some(Integrator::Euler | Integrator::Midpoint));
        let limit = stability_limit(&sim.method).filter(|_| bounded);
        let stable_dt = fastest.and_then(|w| limit.map(|limit| limit / w));
        let mut remarks = Vec::new();
        if built.expect.is_empty() {
            remarks.push("the scene has no [[expect]]: a run cannot fail".into());
        }
        let rows = independent_rows(&sim.model, &sim.state);
        // A generalized body's points have masses but no coordinates of their own.
        let free = sim.model.layout.nv - sim.model.filters.directions();
        let joint_dt = matches!(sim.method, Method::Explicit(_))
            .then(|| critical_step(&sim.model, &sim.state))
            .flatten();
        Self {
            dof: free.saturating_sub(rows.rows - rows.weak)
                + sim.model.robots.iter().map(|named| named.robot.tree.freedoms()).sum::<usize>(),
            fastest,
            stable_dt,
            rows,
            gap: worst_gap(&sim.model, &sim.state),
            masses: mass_ratio(&sim.model),
            joint_dt,
            remarks,
        }
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
        for block in model.blocks.iter().filter(|block| block.kind != BlockKind::Robot) {
            let mass = mass(model, block).map_or("–".into(), number);
            let (name, n, kind) = (safe(&block.name), block.points.len(), kind(block));
            let _ = writeln!(out, "  {name:width$}  {n:>9}  {mass:>12}  {kind}");
        }
        for named in &model.robots {
            let tree = &named.robot.tree;
            let (name, mass) = (safe(&named.name), number(tree.total_mass()));
            let kind = format!(
                "robot: {}, {}, {}",
                count(tree.link_count() as u64, "link"),
                count(tree.freedoms() as u64, "freedom"),
                count(named.robot.description.actuators.len() as u64, "actuator")
            );
            let _ = writeln!(out, "  {name:width$}  {:>9}  {mass:>12}  {kind}", "–");
        }
        let _ =
            writeln!(out, "  {:width$}  {:>9}  {:>12}\n", "all", model.layout.points, number(model.mass()));

        joint_table(&mut out, model);
        energy_table(&mut out, sim);
        let filtered = count(model.filters.len() as u64, "point");
        let prescribed = model.filters.prescribed_points().count() as u64;
        let moved = match prescribed {
            0 => String::new(),
            n => format!(", {} with prescribed motion", count(n, "point")),
        };
        let RowCount { rows, weak } = self.rows;
        let joints = match rows {
            0 => String::new(),
            _ => format!("; joints have {}, {weak} of them dependent", count(rows as u64, "row")),
        };
        let _ =
            writeln!(out, "  degrees of freedom  {} ({filtered} fixed or filtered{moved}{joints})", self.dof);
        if rows > 0 {
            let _ = writeln!(out, "  gap at the start    {} (m or rad)", number(self.gap));
        }
        if let Some(m) = &self.masses {
            let (a, b) = (safe(&m.heaviest), safe(&m.lightest));
            let _ = writeln!(out, "  mass ratio          {} ({a} to {b})", number(m.ratio));
        }
        if let Some(h) = self.joint_dt {
            let (h, dt) = (number(h), number(sim.dt));
            let _ = writeln!(out, "  joints stable       up to {h} s with symplectic Euler; dt is {dt} s");
        }
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
        let force = |(k, (name, energy)): (usize, &(&str, f64))| json!({ "name": name, "kind": model.forces.get(k).map_or("bodies", |f| f.force.kind()), "energy": energy });
        let joint = |c: &NamedConstraint| {
            let ends: Vec<_> = c.constraint.holders().iter().map(|h| holder(model, *h)).collect();
            json!({ "name": c.name, "kind": c.constraint.kind(), "rows": c.constraint.rows(), "hold": hold(c), "between": ends })
        };
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
            "forces": terms.iter().enumerate().map(force).collect::<Vec<_>>(),
            "joints": model.constraints.iter().map(joint).collect::<Vec<_>>(),
            "joint_rows": self.rows.rows,
            "dependent_rows": self.rows.weak,
            "gap": self.gap,
            "mass_ratio": self.masses.as_ref().map(|m| m.ratio),
            "joint_stable_dt": self.joint_dt,
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

/// How a joint holds, in a word.
fn hold(c: &NamedConstraint) -> &'static str {
    match c.hold {
        Hold::Hard => "exact",
        Hold::Gains { .. } | Hold::Given(_) => "soft",
        Hold::Axis { .. } => "on its coordinate",
    }
}

/// Name of what a joint holds.
fn holder(model: &Model, holder: Holder) -> String {
    let of = |kind: BlockKind, test: &dyn Fn(&Block) -> Option<usize>| {
        let named = |b: &Block| match (test(b)?, b.points.len()) {
            (_, 0 | 1) => Some(safe(&b.name)),
            (i, _) => Some(format!("{}[{i}]", safe(&b.name))),
        };
        model.blocks.iter().filter(|b| b.kind == kind).find_map(named).unwrap_or_default()
    };
    match holder {
        Holder::World => "world".into(),
        Holder::Rigid(k) => of(BlockKind::Rigid, &|b| (b.q.start == 7 * k as usize).then_some(0)),
        Holder::Particle(i) => of(BlockKind::Particles, &|b| {
            b.points.contains(&(i as usize)).then(|| i as usize - b.points.start)
        }),
    }
}

fn kind(block: &Block) -> &'static str {
    match block.kind {
        BlockKind::Rigid => "rigid body",
        BlockKind::Generalized => "generalized coordinates",
        BlockKind::Particles => "particles",
        BlockKind::Affine => "affine body",
        BlockKind::Markers => "markers of a rod",
        BlockKind::Mapped => "carried by others",
        BlockKind::Robot => "robot",
    }
}

/// Mass of a block; carried points have none of their own.
fn mass(model: &Model, block: &Block) -> Option<f64> {
    match block.kind {
        BlockKind::Rigid => Some(model.rigid.mass[block.q.start / 7]),
        BlockKind::Particles | BlockKind::Affine | BlockKind::Generalized => {
            Some(model.particles.mass[block.points.clone()].iter().sum())
        }
        BlockKind::Robot => model.robot(&block.name).map(|named| named.robot.tree.total_mass()),
        BlockKind::Markers | BlockKind::Mapped => None,
    }
}

/// ω of the fastest vibration about the start [rad/s], by power iteration on C M⁻¹ K; approached from below.
fn fastest_vibration(sim: &Simulation) -> Option<f64> {
    const ITERATIONS: usize = 60;
    let model = &sim.model;
    // The mass matrix of generalized coordinates is not at hand here.
    if !model.generalized.is_empty() {
        return None;
    }
    let pv = model.layout.points_v();
    let (mut y, mut f) = (vec![0.0; model.layout.robots_v()], vec![0.0; model.layout.robots_v()]);
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
        let (free, rigid) = (model.layout.nv, model.layout.rigid);
        let turning = model.rigid.kinetic(&q[..7 * rigid], &y[..6 * rigid]);
        let kinetic = turning + model.particles.kinetic(&y[pv..]);
        if kinetic == 0.0 {
            return None;
        }
        eigenvalue = dot(&y[..free], &f[..free]) / (2.0 * kinetic);
        model.rigid.solve_mass(&q[..7 * rigid], &mut f[..6 * rigid]);
        model.particles.solve_mass(0, &mut f[pv..]);
        std::mem::swap(&mut y, &mut f);
    }
    // A whisper above rounding is no vibration.
    (eigenvalue > 1e-20).then(|| eigenvalue.sqrt())
}
