//! Rigid contact under `impulse`: piles, pyramids, heaps, ragdolls and humanoids on the floor.
//!
//! The programs in `benches/peers` build the same scenes in other engines: same shapes, masses, friction, step and
//! windows. A row runs `warm` steps that are not counted, then `steps` that are, from the same state in every repeat;
//! the fastest repeat counts, in time that the thread has worked. Overlap and residual are the worst of the counted steps.

use std::path::PathBuf;

use dalembert::prelude::*;
use dalembert::step::worst_gap;
use dalembert_formats::robot::{ReadOptions, read_robot};

use super::ipc::Clock;
use super::scenes::{build, step};
use super::{Bencher, on_one_thread};

/// Which steps are counted.
#[derive(Clone, Copy)]
struct Window {
    warm: u32,
    steps: u32,
    runs: u32,
}

/// What contacts looked like in a window.
#[derive(Default)]
struct Seen {
    seconds: f64,
    contacts: u64,
    residual: f64,
    mean_residual: f64,
    overlap: f64,
    gap: f64,
    sweeps: u32,
    unfinished: u32,
}

fn watch(sim: &mut Simulation, w: Window) -> Seen {
    (0..w.warm).for_each(|_| step(sim));
    let start = sim.state.clone();
    let mut seen = Seen { seconds: f64::INFINITY, ..Seen::default() };
    for run in 0..w.runs.max(1) {
        sim.state.copy_from(&start);
        let clock = Clock::now();
        for _ in 0..w.steps {
            step(sim);
            if run == 0 {
                seen.look(sim);
            }
        }
        seen.seconds = seen.seconds.min(clock.seconds() / f64::from(w.steps));
    }
    seen.mean_residual /= f64::from(w.steps);
    seen.contacts /= u64::from(w.steps);
    seen
}

impl Seen {
    fn look(&mut self, sim: &Simulation) {
        let r = &sim.report;
        self.contacts += u64::from(r.contacts);
        self.residual = self.residual.max(r.residual);
        self.mean_residual += r.residual;
        self.overlap = self.overlap.max(-r.smallest_gap);
        self.sweeps = self.sweeps.max(r.iterations);
        self.unfinished += u32::from(r.unfinished);
        if !sim.model.constraints.is_empty() {
            self.gap = self.gap.max(worst_gap(&sim.model, &sim.state));
        }
    }
}

impl Bencher {
    fn contact_row(&mut self, name: &str, n: usize, sim: &mut Simulation, w: Window) -> f64 {
        let w = Window { runs: w.runs.min(self.repeat), ..w };
        let seen = on_one_thread(|| watch(sim, w));
        let note = format!(
            "{:.3} ms, {} contacts, overlap {:.2} mm, residual {:.1e} (mean {:.1e}), gap {:.1e}, {} sweeps, {} of {} unfinished",
            1e3 * seen.seconds,
            seen.contacts,
            1e3 * seen.overlap,
            seen.residual,
            seen.mean_residual,
            seen.gap,
            seen.sweeps,
            seen.unfinished,
            w.steps,
        );
        self.row(name, n, seen.seconds, note);
        if let Some(row) = self.rows.last_mut() {
            row.gap = (seen.gap > 0.0).then_some(seen.gap);
            row.contacts = Some(seen.contacts);
            row.overlap = Some(seen.overlap);
            row.residual = Some(seen.residual);
        }
        seen.seconds / seen.contacts.max(1) as f64
    }
}

impl Bencher {
    fn threads_row(&mut self, name: &str, n: usize, sim: &mut Simulation, w: Window) {
        on_one_thread(|| (0..w.warm).for_each(|_| step(sim)));
        let start = sim.state.clone();
        let mut run = || {
            sim.state.copy_from(&start);
            let clock = std::time::Instant::now();
            (0..w.steps).for_each(|_| step(sim));
            let seconds = clock.elapsed().as_secs_f64() / f64::from(w.steps);
            let bits: Vec<u64> = sim.state.q.iter().chain(&sim.state.v).map(|x| x.to_bits()).collect();
            (seconds, bits)
        };
        let (mut one, mut all, mut same) = (f64::INFINITY, f64::INFINITY, true);
        for _ in 0..w.runs.min(self.repeat).max(1) {
            let (alone, first) = on_one_thread(&mut run);
            let (together, second) = rayon::scope(|_| run());
            (one, all, same) = (one.min(alone), all.min(together), same && first == second);
        }
        let note = format!(
            "{:.3} ms on one thread, {:.3} ms on {}: {:.2} times; {} bits",
            1e3 * one,
            1e3 * all,
            rayon::current_num_threads(),
            one / all,
            if same { "the same" } else { "other" },
        );
        self.row(name, n, all, note);
    }
}

fn impulse(title: &str, dt: f64, friction: f64) -> Scene {
    let settings = Impulse { friction, ..Impulse::default() };
    Scene { title: title.into(), dt, method: Method::Impulse(settings), ..Scene::default() }
}

/// A number between −1 and 1 that another program can make as well.
fn jitter(i: usize) -> f64 {
    ((i * 2_654_435_761) % 1000) as f64 / 500.0 - 1.0
}

/// n bodies of radius or half size 50 mm in a loose block above the floor, with walls about it or without.
fn pile(n: usize, shape: &Shape, walls: bool) -> Scene {
    let r = 0.05;
    let side = ((n as f64 / 2.0).cbrt().round() as usize).max(2);
    let mut scene = impulse("pile", 0.002, 0.5);
    scene.add(Ground::default());
    if walls {
        // Inner faces of the walls.
        let w = side as f64 * r * 1.15 + 0.06 - 0.05;
        for (name, normal) in
            [("east", -Vec3::x()), ("west", Vec3::x()), ("north", -Vec3::y()), ("south", Vec3::y())]
        {
            scene.add(Ground { name: name.into(), point: -w * normal, normal, ..Ground::default() });
        }
    }
    let place = |i: usize| (i as f64 - (side as f64 - 1.0) / 2.0) * r * 2.2;
    for i in 0..n {
        let x = place(i % side) + 0.005 * jitter(2 * i);
        let y = place((i / side) % side) + 0.005 * jitter(2 * i + 1);
        let z = r * 1.2 + (i / (side * side)) as f64 * r * 2.2;
        scene.add(RigidBody::new(format!("b{i}"), shape.clone()).at([x, y, z]));
    }
    scene
}

pub(super) fn sphere_bin(b: &mut Bencher) {
    let mut first = 0.0;
    // The same steps of both.
    for n in [500, 5_000] {
        let w = Window { warm: 250, steps: 100, runs: 5 };
        let mut sim = build(pile(n, &Shape::Sphere { radius: 0.05 }, true));
        let each = b.contact_row("sphere_bin", n, &mut sim, w);
        if n == 500 {
            first = each;
        } else if let Some(row) = b.rows.last_mut() {
            row.note += &format!("; a contact costs {:.2} times that at 500", each / first);
        }
    }
}

pub(super) fn boxes(b: &mut Bencher) {
    let mut sim = build(pile(500, &Shape::Box { size: Vec3::repeat(0.1) }, false));
    b.contact_row("boxes", 500, &mut sim, Window { warm: 250, steps: 100, runs: 3 });
}

fn cube(scene: &mut Scene, at: [f64; 3]) {
    let name = format!("b{}", scene.rigid.len());
    scene.add(RigidBody::new(name, Shape::Box { size: Vec3::repeat(1.0) }).at(at));
}

/// A planar pyramid with `base` boxes in its lowest row.
fn pyramid_scene(base: usize) -> Scene {
    let mut scene = impulse("pyramid", 1.0 / 60.0, 0.6);
    scene.add(Ground::default());
    for row in 0..base {
        for i in 0..base - row {
            let x = (i as f64 - (base - row) as f64 * 0.5) * 1.05;
            cube(&mut scene, [x, 0.0, 0.5 + row as f64]);
        }
    }
    scene
}

pub(super) fn pyramid(b: &mut Bencher) {
    for base in [32, 77] {
        let mut sim = build(pyramid_scene(base));
        let n = base * (base + 1) / 2;
        b.contact_row("pyramid", n, &mut sim, Window { warm: 0, steps: 200, runs: 3 });
    }
}

/// Boxes dropped as a loose block: an irregular heap, one large island.
fn heap_scene(n: usize) -> Scene {
    let mut scene = impulse("heap", 1.0 / 60.0, 0.6);
    scene.add(Ground::default());
    let side = (n as f64).cbrt().ceil() as usize;
    for i in 0..n {
        let (x, y, z) = (i % side, (i / side) % side, i / (side * side));
        let j = ((i * 2_654_435_761) % 1000) as f64 * 2.0e-4;
        cube(&mut scene, [x as f64 * 1.1 + j, -(y as f64 * 1.1 - j), 0.6 + z as f64 * 1.1]);
    }
    scene
}

pub(super) fn heap(b: &mut Bencher) {
    for n in [500, 3_000] {
        let mut sim = build(heap_scene(n));
        b.contact_row("heap", n, &mut sim, Window { warm: 0, steps: 300, runs: 5 });
    }
}

/// A heap that has come to rest and sleeps, and what a step costs of the same heap when nothing may sleep.
pub(super) fn asleep(b: &mut Bencher) {
    const MOST_STEPS: u32 = 1_200;
    let n = 500;
    let mut scene = heap_scene(n);
    if let Method::Impulse(settings) = &mut scene.method {
        settings.sleep_after = 0.5;
    }
    let mut sim = build(scene);
    let sleeps = |sim: &Simulation| !sim.state.rest.is_empty() && sim.state.rest.iter().all(|r| *r < 0.0);
    let mut settling = 0;
    while !sleeps(&sim) && settling < MOST_STEPS {
        step(&mut sim);
        settling += 1;
    }
    let rested = sleeps(&sim);
    // One step of sleepers is too short for any clock.
    let long = Window { warm: 0, steps: 50_000, runs: 1 };
    let sleeping = on_one_thread(|| watch(&mut sim, long));
    let mut awake = build(heap_scene(n));
    awake.state.copy_from(&sim.state);
    awake.state.rest.clear();
    let full = on_one_thread(|| watch(&mut awake, Window { warm: 0, steps: 100, runs: b.repeat.min(3) }));
    let note = if rested {
        format!(
            "{:.4} % of {:.3} ms awake; asleep after {settling} steps",
            100.0 * sleeping.seconds / full.seconds,
            1e3 * full.seconds
        )
    } else {
        format!("still awake after {MOST_STEPS} steps")
    };
    b.row("contact_asleep", n, if rested { sleeping.seconds } else { f64::NAN }, note);
}

/// Ragdolls of 11 boxes and 10 joints dropped on the floor.
fn ragdolls_scene(count: usize) -> Scene {
    let mut scene = impulse("ragdolls on the floor", 1.0 / 60.0, 0.6);
    scene.gravity = Vec3::new(0.0, -9.81, 0.0);
    scene.add(Ground { normal: Vec3::y(), ..Ground::default() });
    super::joints::add_ragdolls(&mut scene, count, Vec3::zeros());
    scene
}

pub(super) fn ragdolls(b: &mut Bencher) {
    let count = 1_000;
    let mut sim = build(ragdolls_scene(count));
    b.contact_row("contact_ragdolls", count, &mut sim, Window { warm: 0, steps: 120, runs: 2 });
}

/// A robot of the shared models on the floor, if the models are there.
fn humanoids_scene(file: &str) -> Result<Scene, String> {
    let shared =
        std::env::var_os("DALEMBERT_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    let path = shared.join(format!("models/mujoco_humanoid/{file}.xml"));
    let (robot, _) = read_robot(&path, &ReadOptions::default()).map_err(|e| e.to_string())?;
    let mut scene = impulse(file, 0.005, 0.5);
    scene.add(RobotItem::new("man", robot));
    scene.contact.push(ContactRule::between("*", "*"));
    Ok(scene)
}

/// Robots of the shared models; without them there is nothing to time.
pub(super) fn humanoids(b: &mut Bencher) {
    for (file, n, w) in [
        ("humanoid", 1, Window { warm: 400, steps: 400, runs: 15 }),
        ("22_humanoids", 22, Window { warm: 400, steps: 100, runs: 15 }),
    ] {
        match humanoids_scene(file) {
            Ok(scene) => {
                b.contact_row("humanoids", n, &mut build(scene), w);
            }
            Err(e) => b.row("humanoids", n, f64::NAN, format!("skipped: {e}")),
        }
    }
}

/// The same scenes on one thread and on all of them, by the clock on the wall: the two take turns from the same state.
pub(super) fn threads(b: &mut Bencher) {
    let spheres = pile(5_000, &Shape::Sphere { radius: 0.05 }, true);
    let men = humanoids_scene("22_humanoids");
    let scenes = [
        ("heap", 3_000, Ok(heap_scene(3_000)), Window { warm: 150, steps: 30, runs: 5 }),
        ("pyramid", 3_003, Ok(pyramid_scene(77)), Window { warm: 30, steps: 40, runs: 5 }),
        ("spheres", 5_000, Ok(spheres), Window { warm: 250, steps: 20, runs: 5 }),
        ("ragdolls", 1_000, Ok(ragdolls_scene(1_000)), Window { warm: 60, steps: 20, runs: 5 }),
        ("humanoids", 22, men, Window { warm: 400, steps: 100, runs: 5 }),
        ("stacks", 1_200, Ok(stacks_scene(300)), Window { warm: 30, steps: 40, runs: 5 }),
    ];
    for (name, n, scene, w) in scenes {
        let name = format!("threads_{name}");
        match scene {
            Ok(scene) => b.threads_row(&name, n, &mut build(scene), w),
            Err(e) => b.row(&name, n, f64::NAN, format!("skipped: {e}")),
        }
    }
}

/// Stacks of four boxes each, far from each other: many small islands.
fn stacks_scene(count: usize) -> Scene {
    let mut scene = impulse("stacks", 1.0 / 60.0, 0.6);
    scene.add(Ground::default());
    for i in 0..count {
        let (x, y) = ((i % 20) as f64 * 3.0, (i / 20) as f64 * 3.0);
        for k in 0..4 {
            let aside = 0.2 * jitter(4 * i + k);
            cube(&mut scene, [x + aside, y - 0.5 * aside, 0.5 + 1.01 * k as f64]);
        }
    }
    scene
}
