//! `dalembert verify`: problems with known answers, run through the engine and compared.
//!
//! References are closed forms or the numbers of a case file in `data/cases`, never results of this program. A new
//! case is a function in one of the files here and a line in [`CASES`].

#![allow(non_snake_case)] // the letters of the formulas

mod accuracy;
mod closed_forms;
mod contact;
mod contact_solvers;
mod impacts;
mod impulse_contact;
mod ipc_joints;
mod ipc_motion;
mod joints;
mod kepler;
mod linkages;
mod oscillator;
mod pendulums;
mod rods;
mod solids;
mod spring_chain;
mod still;
mod tops;

use std::error::Error;

use dalembert::prelude::*;
use serde::Serialize;

use crate::exit::{self, Failure};

const EXAMPLES: &str = "\
Examples:
  dalembert verify                     all cases, as a table
  dalembert verify kepler_detest_d     one of them
  dalembert verify --json | jq 'map(select(.pass | not))'

Exit code 0 if every comparison is within its tolerance, 1 if not.";

/// Run problems with known answers.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Cases to run; all of them if none is named
    #[arg(value_name = "CASE")]
    names: Vec<String>,
    /// Print an array of objects instead of a table
    #[arg(long)]
    json: bool,
    /// List the cases and what they are about
    #[arg(long)]
    list: bool,
    /// Print how long each case took, to stderr
    #[arg(long)]
    times: bool,
}

type Outcome = Result<(), Box<dyn Error>>;

/// One problem: it may fill several rows.
struct Case {
    name: &'static str,
    about: &'static str,
    run: fn(&mut Table) -> Outcome,
}

/// All cases, in the order in which they run.
const CASES: &[Case] = &[
    Case {
        name: "free_fall",
        about: "a stone thrown up, with each scheme's own error",
        run: closed_forms::free_fall,
    },
    Case {
        name: "terminal_velocity",
        about: "a fall against quadratic drag: tanh",
        run: closed_forms::terminal_velocity,
    },
    Case {
        name: "damped_oscillator",
        about: "a mass on a spring with a damper",
        run: closed_forms::damped_oscillator,
    },
    Case {
        name: "driven_oscillator",
        about: "a shaken hook and a shaken mass: F/(k - m w^2)",
        run: closed_forms::driven_oscillator,
    },
    Case { name: "two_body", about: "two stars on circles: period and momenta", run: closed_forms::two_body },
    Case {
        name: "angular_spring",
        about: "a stiff wire that swings: k/(m L^2)",
        run: closed_forms::angular_spring,
    },
    Case {
        name: "lennard_jones_dimer",
        about: "two atoms about the bottom of their well",
        run: closed_forms::lennard_jones_dimer,
    },
    Case {
        name: "soft_collision",
        about: "two soft balls that trade velocities",
        run: closed_forms::soft_collision,
    },
    Case {
        name: "oscillator_discrete_maps",
        about: "each scheme's exact recurrence on the oscillator",
        run: oscillator::discrete_maps,
    },
    Case {
        name: "kepler_detest_d",
        about: "orbits of all eccentricities; energy over 1000 orbits",
        run: kepler::detest_d,
    },
    Case {
        name: "spring_chain_modes",
        about: "frequencies of a chain, from matrices and from motion",
        run: spring_chain::modes,
    },
    Case {
        name: "free_asymmetric_top",
        about: "a body that tumbles in space: rates, turn, momentum, energy",
        run: tops::free,
    },
    Case { name: "heavy_top_geradin_cardona", about: "a fast top on a fixed point", run: tops::heavy },
    Case {
        name: "mbs_a01_simple_pendulum",
        about: "a pendulum for 2000 s; in angles; by impulses",
        run: pendulums::simple,
    },
    Case { name: "double_pendulum_short", about: "two rods that begin to tumble", run: pendulums::double },
    Case {
        name: "mbs_a02_four_bar_n2",
        about: "two four-bars through their dead points",
        run: linkages::four_bar_2,
    },
    Case {
        name: "mbs_a02_four_bar_n40",
        about: "forty four-bars through their dead points",
        run: linkages::four_bar_40,
    },
    Case {
        name: "mbs_a03_andrews_squeezer",
        about: "seven bodies, ten hinges, nine rows too many",
        run: linkages::andrews,
    },
    Case {
        name: "mbs_a05_flyball_governor",
        about: "a governor with stiff spring-dampers",
        run: linkages::governor,
    },
    Case { name: "car_axis_index3", about: "constraints that move with time", run: linkages::car_axis },
    Case {
        name: "overconstrained_loop",
        about: "Bennett's linkage: more rows than velocities, yet it moves",
        run: linkages::overconstrained,
    },
    Case {
        name: "soft_constraint_eps_r",
        about: "kp and kd as error reduction and regularization",
        run: joints::soft_constraint,
    },
    Case {
        name: "gains_at_every_step",
        about: "kp and kd mean the same at every step size",
        run: joints::gains,
    },
    Case {
        name: "wrecking_ball",
        about: "a light chain with a heavy ball: gaps of the joints",
        run: joints::wrecking,
    },
    Case {
        name: "hanging_chain_catenary",
        about: "twenty rods come to rest between two hooks",
        run: joints::catenary,
    },
    Case {
        name: "floating_ragdoll",
        about: "momenta of eleven jointed bodies in space",
        run: joints::floating,
    },
    Case {
        name: "implicit_recurrence",
        about: "implicit Euler on a spring, step by step",
        run: solids::recurrence,
    },
    Case {
        name: "spring_pendulum",
        about: "where each implicit scheme takes a pendulum on a spring",
        run: solids::spring_pendulum,
    },
    Case { name: "cantilever", about: "a beam under its own weight", run: solids::cantilever },
    Case {
        name: "cantilever_linear_and_modes",
        about: "a slender beam: tip and frequencies",
        run: solids::linear_beam,
    },
    Case { name: "cantilever_elastica", about: "a rod bent far by a load", run: rods::elastica },
    Case { name: "beam_rollup_moment", about: "a rod rolled up into a circle", run: rods::roll_up },
    Case {
        name: "ipc_joint_drift",
        about: "gaps of joints between affine bodies, `ipc`",
        run: ipc_joints::drift,
    },
    Case {
        name: "ipc_limits_and_motors",
        about: "limits under load, motors and soft joints, `ipc`",
        run: ipc_joints::limits_and_motors,
    },
    Case {
        name: "affine_chain_catenary",
        about: "twenty affine rods come to rest between two hooks, `ipc`",
        run: ipc_joints::catenary,
    },
    Case { name: "affine_top", about: "a free top as a stiff affine body, `ipc`", run: contact::top },
    Case {
        name: "block_on_incline",
        about: "a block that sticks or slides on a slope",
        run: contact::incline,
    },
    Case { name: "aframe_cards", about: "two cards that lean on each other", run: contact::cards },
    Case { name: "masonry_arch_semicircle", about: "an arch that stands or falls", run: contact::masonry },
    Case { name: "mass_ratio_stack", about: "heavy on light: 1 : 1 : 10^6", run: contact::stack },
    Case { name: "isolated_collision", about: "momenta of two boxes that meet", run: contact::collision },
    Case { name: "rod_impact_baraff", about: "a rod that falls on its end", run: impacts::rod },
    Case {
        name: "point_mass_one_contact",
        about: "a point that slides and stops, or not",
        run: impacts::point_mass,
    },
    Case { name: "bouncing_ball", about: "bounces that come to an end", run: impacts::bouncing_ball },
    Case {
        name: "newtons_cradle",
        about: "one ball on four, by three rules of simultaneous impacts",
        run: impacts::cradle,
    },
    Case {
        name: "ipc_free_fall",
        about: "falls under `ipc`: the values of each scheme, step by step",
        run: ipc_motion::free_fall,
    },
    Case {
        name: "ipc_equilibria",
        about: "the stretched bar and the cantilever under `ipc`",
        run: ipc_motion::equilibria,
    },
    Case {
        name: "ipc_prescribed",
        about: "bodies with prescribed motion and rotation",
        run: ipc_motion::prescribed,
    },
    Case {
        name: "raisim_rolling",
        about: "a box that slips under balls that roll, pushed in three directions",
        run: impulse_contact::rolling,
    },
    Case {
        name: "raisim_bouncing",
        about: "forty-nine balls that bounce for ever",
        run: impulse_contact::bouncing,
    },
    Case {
        name: "raisim_666",
        about: "a cube of balls that falls apart: overlap",
        run: impulse_contact::cube,
    },
    Case {
        name: "sliding_to_rolling_sphere",
        about: "a ball that slides until it rolls",
        run: impulse_contact::sliding,
    },
    Case {
        name: "ball_on_turntable",
        about: "a ball on a turning table: a circle at 2/7 of its rate",
        run: impulse_contact::turntable,
    },
    Case {
        name: "incline_by_impulses",
        about: "a block that sticks or slides on a slope, `impulse`",
        run: impulse_contact::incline,
    },
    Case {
        name: "cards_by_impulses",
        about: "two cards that lean on each other, `impulse`",
        run: impulse_contact::cards,
    },
    Case {
        name: "arch_by_impulses",
        about: "an arch that stands or falls, `impulse`",
        run: impulse_contact::masonry,
    },
    Case {
        name: "stack_by_impulses",
        about: "heavy on light: 1 : 1 : 10^6, `impulse`",
        run: impulse_contact::stack,
    },
    Case {
        name: "collision_by_impulses",
        about: "momenta and energy of two boxes that meet, `impulse`",
        run: impulse_contact::collision,
    },
    Case {
        name: "still_by_impulses",
        about: "a stack of 20 and a card tent stand for a minute, `impulse`",
        run: still::standing,
    },
    Case { name: "grasp_by_impulses", about: "a mug held by friction for a minute", run: still::grasp },
    Case {
        name: "tumbling_by_impulses",
        about: "energy of bodies that bounce and rub, `impulse`",
        run: still::tumbling,
    },
    Case { name: "neo_hookean_uniaxial", about: "a bar of rubber, stretched", run: solids::neo_hookean },
    Case { name: "hanging_bar_selfweight", about: "a bar that hangs", run: solids::hanging_bar },
    Case {
        name: "cylinder_traction",
        about: "a cylinder, pulled and pressed",
        run: solids::cylinder_traction,
    },
    Case { name: "affine_patch", about: "the inside follows an affine outside", run: solids::patch },
    Case {
        name: "observed_orders",
        about: "error against step size for each integrator",
        run: accuracy::observed_orders,
    },
    Case {
        name: "adaptive_slopes",
        about: "error against tolerance for adaptive integrators",
        run: accuracy::adaptive_slopes,
    },
    Case {
        name: "lcp_small_set",
        about: "complementarity problems of the literature, by Lemke's method",
        run: contact_solvers::lcp_small_set,
    },
    Case {
        name: "fclib_periobox_60c",
        about: "sixty contacts with Coulomb friction, by mixed Gauss-Seidel sweeps",
        run: contact_solvers::periodic_box,
    },
];

/// One comparison.
#[derive(Debug, Clone, Serialize)]
struct Row {
    case: &'static str,
    method: String,
    quantity: String,
    value: f64,
    reference: f64,
    error: f64,
    tolerance: f64,
    pass: bool,
}

/// The comparisons made so far.
#[derive(Default)]
struct Table {
    case: &'static str,
    rows: Vec<Row>,
}

impl Table {
    /// |value − reference| ≤ tolerance · |reference|.
    fn relative(
        &mut self,
        method: &str,
        quantity: impl Into<String>,
        value: f64,
        reference: f64,
        tolerance: f64,
    ) {
        self.row(
            method,
            quantity.into(),
            value,
            reference,
            (value - reference).abs() / reference.abs(),
            tolerance,
        );
    }

    /// |value − reference| ≤ tolerance.
    fn absolute(
        &mut self,
        method: &str,
        quantity: impl Into<String>,
        value: f64,
        reference: f64,
        tolerance: f64,
    ) {
        self.row(method, quantity.into(), value, reference, (value - reference).abs(), tolerance);
    }

    fn row(
        &mut self,
        method: &str,
        quantity: String,
        value: f64,
        reference: f64,
        error: f64,
        tolerance: f64,
    ) {
        let pass = error <= tolerance; // false if the error is no number
        self.rows.push(Row {
            case: self.case,
            method: method.into(),
            quantity,
            value,
            reference,
            error,
            tolerance,
            pass,
        });
    }
}

/// Runs the cases asked for; all of them must pass.
pub(crate) fn command(args: Args) -> exit::Outcome {
    if args.list {
        let width = CASES.iter().map(|c| c.name.len()).max().unwrap_or(0);
        return CASES.iter().try_for_each(|c| put(&format!("{:width$}  {}", c.name, c.about)));
    }
    let names: Vec<&str> = CASES.iter().map(|c| c.name).collect();
    if let Some(name) = args.names.iter().find(|n| !names.contains(&n.as_str())) {
        return Err(Failure::Usage(unknown("case", name, &names)));
    }
    let mut table = Table::default();
    for case in CASES.iter().filter(|c| args.names.is_empty() || args.names.iter().any(|n| n == c.name)) {
        let start = std::time::Instant::now();
        run(case, &mut table);
        if args.times {
            eprintln!("{}: {:.2} s", case.name, start.elapsed().as_secs_f64());
        }
    }
    let failed = table.rows.iter().filter(|r| !r.pass).count();
    if args.json {
        put_json(&table.rows)?;
    } else {
        print(&table.rows)?;
        put(&format!("{} of {} comparisons pass", table.rows.len() - failed, table.rows.len()))?;
    }
    if failed == 0 { Ok(()) } else { Err(Failure::Unmet) }
}

fn run(case: &Case, table: &mut Table) {
    table.case = case.name;
    if let Err(e) = (case.run)(table) {
        table.row("", format!("did not run: {e}"), f64::NAN, f64::NAN, f64::NAN, 0.0);
    }
}

fn print(rows: &[Row]) -> exit::Outcome {
    let width = |f: fn(&Row) -> usize, head: &str| rows.iter().map(f).max().unwrap_or(0).max(head.len());
    let (c, m, q) = (
        width(|r| r.case.len(), "case"),
        width(|r| r.method.len(), "method"),
        width(|r| r.quantity.chars().count(), "quantity"),
    );
    put(&format!(
        "{:c$}  {:m$}  {:q$}  {:>18}  {:>18}  {:>9}  {:>9}  pass",
        "case", "method", "quantity", "value", "reference", "error", "tolerance"
    ))?;
    for r in rows {
        let Row { case, method, quantity, value, reference, error, tolerance, pass } = r;
        let pass = if *pass { "yes" } else { "NO" };
        put(&format!(
            "{case:c$}  {method:m$}  {quantity:q$}  {value:>18.11e}  {reference:>18.11e}  {error:>9.2e}  {tolerance:>9.1e}  {pass}"
        ))?;
    }
    Ok(())
}

/// Prints a line.
pub(crate) fn put(line: &str) -> exit::Outcome {
    crate::output::print(&format!("{line}\n"))
}

/// Prints the rows as one array.
pub(crate) fn put_json(rows: &impl Serialize) -> exit::Outcome {
    let text = serde_json::to_string_pretty(rows)
        .map_err(|e| Failure::Io(format!("cannot write the rows as JSON: {e}")))?;
    put(&text)
}

/// The message for a name that does not exist, with the nearest one that does.
pub(crate) fn unknown(kind: &str, name: &str, names: &[&str]) -> String {
    let likeness = |known: &&&str| strsim::jaro_winkler(name, known);
    let nearest = names.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match nearest.filter(|n| likeness(n) > 0.75) {
        Some(near) => format!("there is no {kind} `{name}`; did you mean `{near}`?"),
        None => format!("there is no {kind} `{name}`; there are {}", names.join(", ")),
    }
}

/// The method `explicit` with an integrator; the tolerance matters to adaptive ones alone.
fn explicit(integrator: Integrator, tolerance: f64) -> Method {
    Method::Explicit(Explicit { integrator, tolerance, ..Explicit::default() })
}

/// The method `lagrange` with an integrator; the tolerance matters to adaptive ones alone.
fn lagrange(integrator: Integrator, tolerance: f64) -> Method {
    Method::Lagrange(Lagrange { integrator, tolerance, ..Lagrange::default() })
}

/// A list of numbers in a case file.
fn numbers(list: &serde_json::Value) -> Result<Vec<f64>, Box<dyn Error>> {
    let list = list.as_array().ok_or("a list of numbers is missing")?;
    list.iter().map(|x| x.as_f64().ok_or_else(|| "an entry is no number".into())).collect()
}

/// An empty scene without gravity.
fn weightless(method: Method, dt: f64) -> Scene {
    Scene { method, dt, gravity: Vec3::zeros(), ..Scene::default() }
}

/// The angular frequency of a signal that swings about zero [rad/s]: runs for `duration` and looks at the times at
/// which it rises through zero, found by a straight line between two steps.
fn frequency(
    sim: &mut Simulation,
    duration: f64,
    signal: impl Fn(&State) -> f64,
) -> Result<f64, Box<dyn Error>> {
    let (mut first, mut last, mut periods) = (f64::NAN, f64::NAN, 0u32);
    let (mut t, mut s) = (sim.state.time, signal(&sim.state));
    while sim.state.time < duration {
        sim.step()?;
        let (t_new, s_new) = (sim.state.time, signal(&sim.state));
        if s < 0.0 && s_new >= 0.0 {
            last = t + (t_new - t) * s / (s - s_new);
            if first.is_nan() {
                first = last;
            } else {
                periods += 1;
            }
        }
        (t, s) = (t_new, s_new);
    }
    if periods == 0 {
        return Err("the signal does not swing".into());
    }
    Ok(std::f64::consts::TAU * f64::from(periods) / (last - first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_passes() {
        let mut table = Table::default();
        CASES.iter().for_each(|case| run(case, &mut table));
        let failed: Vec<&Row> = table.rows.iter().filter(|r| !r.pass).collect();
        assert!(failed.is_empty(), "{failed:#?}");
        for case in CASES {
            assert!(table.rows.iter().any(|r| r.case == case.name), "{} compares nothing", case.name);
        }
    }

    #[test]
    fn a_value_that_is_no_number_fails() {
        let mut table = Table::default();
        table.relative("", "x", f64::NAN, 1.0, 1e9);
        table.absolute("", "x", f64::INFINITY, f64::INFINITY, 1e9);
        assert!(table.rows.iter().all(|r| !r.pass));
    }

    #[test]
    fn a_misspelt_name_gets_a_suggestion() {
        let names: Vec<&str> = CASES.iter().map(|c| c.name).collect();
        assert!(unknown("case", "kepler", &names).contains("`kepler_detest_d`"));
        assert!(unknown("case", "zzz", &names).contains("there are free_fall"));
    }
}
