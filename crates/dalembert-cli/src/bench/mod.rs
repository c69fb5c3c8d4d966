//! `dalembert bench`: named scenes, timed on this machine.
//!
//! Every figure is the best of several repeats, so that what else runs on the machine disturbs it least. Rows on one
//! thread run in a pool of one thread; rows with `_threads` in their name in the default pool. A new bench is a
//! function in one of the files here and a line in [`BENCHES`].

mod articulated;
mod collide;
mod collide_scenes;
mod contact;
mod coupling;
mod ipc;
mod ipc_cloth;
mod joints;
mod scenes;
mod solids;
mod solvers;

use std::hint::black_box;
use std::time::Instant;

use serde::Serialize;

use crate::exit::{Failure, Outcome};
use crate::verify::{put, put_json, unknown};

const EXAMPLES: &str = "\
Examples:
  dalembert bench                      all of them
  dalembert bench copy particles       some of them
  dalembert bench --repeat 100 --json  on a noisy machine, for a program";

/// Time named scenes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Benches to run; all of them if none is named
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Print an array of objects instead of a table
    #[arg(long)]
    json: bool,
    /// Repeats of each measurement; the best one counts
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: u32,
    /// Of `articulated`, call one kernel this often on one model and nothing else: for counters of instructions
    #[arg(long, num_args = 3, value_names = ["KERNEL", "MODEL", "CALLS"])]
    calls: Option<Vec<String>>,
    /// List the benches and what they measure
    #[arg(long)]
    list: bool,
}

/// One bench: it may print several rows.
struct Bench {
    name: &'static str,
    about: &'static str,
    run: fn(&mut Bencher),
}

/// All benches, in the order in which they run.
const BENCHES: &[Bench] = &[
    Bench {
        name: "copy",
        about: "copying arrays as large as the state of 10^6 particles",
        run: scenes::copy,
    },
    Bench {
        name: "particles",
        about: "10^6 particles under gravity and viscous drag, symplectic Euler",
        run: scenes::particles,
    },
    Bench { name: "springs", about: "forces of 10^6 springs of a cloth, one thread", run: scenes::springs },
    Bench {
        name: "near_pairs",
        about: "soft balls at equal density, 10^4 and 10^5 of them, one thread",
        run: scenes::near_pairs,
    },
    Bench { name: "rk4_chain", about: "a rope of 10^4 links under RK4, one thread", run: scenes::rk4_chain },
    Bench {
        name: "viewer",
        about: "what looking costs: a frame of 2000 bodies and a cloth, steps beside pages",
        run: scenes::viewer,
    },
    Bench { name: "rollouts", about: "256 states of one model stepped side by side", run: scenes::rollouts },
    Bench {
        name: "tet_products",
        about: "products with the tangent of corotated tetrahedra, three ways",
        run: solids::tet_products,
    },
    Bench {
        name: "soft_beams",
        about: "implicit steps of two beams, of tetrahedra and hexahedra, one thread",
        run: solids::soft_beams,
    },
    Bench {
        name: "chain_ball",
        about: "chains of 10 to 10^5 links on ball joints, `impulse`, without and with projection, one thread",
        run: joints::chain_ball,
    },
    Bench { name: "chain_hinge", about: "the same on hinges", run: joints::chain_hinge },
    Bench {
        name: "ragdolls",
        about: "1000 ragdolls of 11 bodies, thrown, one thread",
        run: joints::ragdolls,
    },
    Bench {
        name: "tip_mass",
        about: "20 links with a tip of 1, 100 and 1000 times a link's mass, 10 s, one thread",
        run: joints::tip_mass,
    },
    Bench {
        name: "articulated",
        about: "kernels and steps of robots in reduced coordinates: chains, an arm, a humanoid; 1000 states side by side",
        run: articulated::articulated,
    },
    Bench {
        name: "sphere_bin",
        about: "500 and 5000 balls in a bin, `impulse`, dt = 2 ms, one thread",
        run: contact::sphere_bin,
    },
    Bench { name: "boxes", about: "500 boxes dropped on the floor, dt = 2 ms", run: contact::boxes },
    Bench { name: "pyramid", about: "pyramids of 528 and 3003 boxes, dt = 1/60 s", run: contact::pyramid },
    Bench { name: "heap", about: "500 and 3000 boxes dropped as a block, dt = 1/60 s", run: contact::heap },
    Bench {
        name: "contact_asleep",
        about: "a heap of 500 boxes that has fallen asleep, beside the same heap kept awake",
        run: contact::asleep,
    },
    Bench {
        name: "contact_ragdolls",
        about: "1000 ragdolls of 11 bodies dropped on the floor, dt = 1/60 s",
        run: contact::ragdolls,
    },
    Bench {
        name: "humanoids",
        about: "one and 22 humanoids of the shared models lying on the floor, dt = 5 ms",
        run: contact::humanoids,
    },
    Bench {
        name: "contact_threads",
        about: "heaps, ragdolls, humanoids and stacks under `impulse` on one thread and on all, by the clock on the wall",
        run: contact::threads,
    },
    Bench {
        name: "collide",
        about: "contact geometry of a cube pile, a ball in its socket and a cloth on a sphere, one thread",
        run: collide::collide,
    },
    Bench {
        name: "ccd_law",
        about: "10^6 hard pairs: does CCD ever stop too late? (proven by intervals, one thread)",
        run: collide::ccd_law,
    },
    Bench {
        name: "ipc_boxes",
        about: "27, 125 and 1000 boxes dropped on a plane with friction, `ipc`, one thread",
        run: ipc::ipc_boxes,
    },
    Bench {
        name: "ipc_drops",
        about: "random pairs of boxes, cones, cylinders and rings, some linked, thrown at each other, 20 per repeat: does anything intersect?",
        run: ipc::ipc_drops,
    },
    Bench {
        name: "ipc_cloth",
        about: "cloths of 21 x 21 and 31 x 31 nodes on a fixed ball, `ipc` with friction, h = 5 ms, one thread",
        run: ipc_cloth::ipc_cloth,
    },
    Bench {
        name: "coupling",
        about: "a seven-joint arm sweeps through 20 boxes, `ipc`, h = 10 ms, one thread, and the part of its articulation",
        run: coupling::coupling,
    },
    Bench {
        name: "linear_solvers",
        about: "one implicit step of elastic bars and a cube: set-up + solution by each solver, one thread",
        run: solvers::linear_solvers,
    },
];

/// One line of the result.
#[derive(Debug, Clone, Serialize)]
struct Row {
    name: String,
    /// Number of units: particles, springs, ….
    n: usize,
    seconds_per_step: f64,
    /// Nanoseconds per unit and step.
    unit_cost_ns: f64,
    /// Worst gap of a joint [m or rad], where there are joints.
    #[serde(skip_serializing_if = "Option::is_none")]
    gap: Option<f64>,
    /// Contacts that press, mean of the steps, where there are contacts.
    #[serde(skip_serializing_if = "Option::is_none")]
    contacts: Option<u64>,
    /// Deepest overlap [m].
    #[serde(skip_serializing_if = "Option::is_none")]
    overlap: Option<f64>,
    /// Worst residual of the contacts, relative.
    #[serde(skip_serializing_if = "Option::is_none")]
    residual: Option<f64>,
    note: String,
}

/// Collects rows.
struct Bencher {
    repeat: u32,
    rows: Vec<Row>,
}

impl Bencher {
    fn row(&mut self, name: impl Into<String>, n: usize, seconds: f64, note: impl Into<String>) {
        self.rows.push(Row {
            name: name.into(),
            n,
            seconds_per_step: seconds,
            unit_cost_ns: seconds / n as f64 * 1e9,
            gap: None,
            contacts: None,
            overlap: None,
            residual: None,
            note: note.into(),
        });
    }

    /// [`row`](Self::row) of a scene with joints.
    fn row_with_gap(&mut self, name: &str, n: usize, seconds: f64, gap: f64, note: String) {
        self.row(name, n, seconds, format!("gap {gap:.1e}{note}"));
        if let Some(row) = self.rows.last_mut() {
            row.gap = Some(gap);
        }
    }

    /// Shortest time of one call, after one that is not counted [s].
    fn best(&self, mut f: impl FnMut()) -> f64 {
        f();
        (0..self.repeat).map(|_| seconds(&mut f)).fold(f64::INFINITY, f64::min)
    }

    /// The same for two things that shall be compared: they take turns, so that both see the same weather.
    fn best_of_two(&self, mut f: impl FnMut(), mut g: impl FnMut()) -> (f64, f64) {
        f();
        g();
        let (mut best_f, mut best_g) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..self.repeat {
            best_f = best_f.min(seconds(&mut f));
            best_g = best_g.min(seconds(&mut g));
        }
        (best_f, best_g)
    }
}

fn seconds(f: &mut impl FnMut()) -> f64 {
    let start = Instant::now();
    f();
    black_box(());
    start.elapsed().as_secs_f64()
}

/// Runs `f` on one thread, nested parallel loops included.
fn on_one_thread<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => pool.install(f),
        Err(_) => f(), // no thread to be had: the caller's own pool will do
    }
}

/// Runs the benches asked for.
pub(crate) fn command(args: Args) -> Outcome {
    if args.list {
        let width = BENCHES.iter().map(|b| b.name.len()).max().unwrap_or(0);
        return BENCHES.iter().try_for_each(|b| put(&format!("{:width$}  {}", b.name, b.about)));
    }
    if let Some([kernel, model, calls]) = args.calls.as_deref() {
        let wrong = |_| Failure::Usage(format!("CALLS is a whole number, not `{calls}`"));
        return articulated::calls(kernel, model, calls.parse().map_err(wrong)?).map_err(Failure::Usage);
    }
    let names: Vec<&str> = BENCHES.iter().map(|b| b.name).collect();
    if let Some(name) = args.names.iter().find(|n| !names.contains(&n.as_str())) {
        return Err(Failure::Usage(unknown("bench", name, &names)));
    }
    let mut bencher = Bencher { repeat: args.repeat, rows: Vec::new() };
    for bench in BENCHES {
        if args.names.is_empty() || args.names.iter().any(|n| n == bench.name) {
            let printed = bencher.rows.len();
            (bench.run)(&mut bencher);
            if !args.json {
                if printed == 0 {
                    put(&format!("{:<18} {:>9} {:>12} {:>10}  note", "name", "n", "s/step", "ns/unit"))?;
                }
                bencher.rows[printed..].iter().try_for_each(print)?;
            }
        }
    }
    if args.json { put_json(&bencher.rows) } else { Ok(()) }
}

fn print(row: &Row) -> Outcome {
    let Row { name, n, seconds_per_step, unit_cost_ns, note, .. } = row;
    put(&format!("{name:<18} {n:>9} {seconds_per_step:>12.4e} {unit_cost_ns:>10.2}  {note}"))
}
