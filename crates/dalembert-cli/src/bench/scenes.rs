//! The scenes that are timed.

use std::hint::black_box;

use dalembert::prelude::*;
use rayon::prelude::*;

use super::{Bencher, on_one_thread};

/// Particles of the large scene.
const MILLION: usize = 1_000_000;

/// Least traffic of one step per particle: read x, v and m, write x and v [B].
const LEAST_BYTES: usize = 8 * (6 + 1 + 6);

/// Numbers that every memory measurement moves: x and v of the particles.
const STATE: usize = 6 * MILLION;

fn gigabytes_per_second(bytes: usize, seconds: f64) -> f64 {
    bytes as f64 / seconds * 1e-9
}

fn method(integrator: Integrator) -> Method {
    Method::Explicit(Explicit { integrator, ..Explicit::default() })
}

/// A scene of ours that does not build is a mistake of ours.
pub(super) fn build(scene: Scene) -> Simulation {
    scene.build().unwrap_or_else(|e| panic!("bench scene: {e}"))
}

pub(super) fn step(sim: &mut Simulation) {
    sim.step().unwrap_or_else(|e| panic!("bench scene `{}`: {e}", sim.model.title));
}

/// Copies arrays of the size of the state, serially or in pieces of one task each.
fn copy_state(from: &[f64], to: &mut [f64]) {
    // As many pieces as threads: the fastest copy that the pool can do.
    let piece = from.len().div_ceil(rayon::current_num_threads());
    if piece == from.len() {
        to.copy_from_slice(from);
    } else {
        to.par_chunks_mut(piece).zip(from.par_chunks(piece)).for_each(|(to, from)| to.copy_from_slice(from));
    }
    black_box(to);
}

pub(super) fn copy(b: &mut Bencher) {
    let (from, mut to) = (vec![1.0; STATE], vec![2.0; STATE]);
    let bytes = 2 * 8 * STATE;
    let one = on_one_thread(|| b.best(|| copy_state(&from, &mut to)));
    let all = b.best(|| copy_state(&from, &mut to));
    for (name, seconds, threads) in [("copy", one, 1), ("copy_threads", all, rayon::current_num_threads())] {
        let rate = gigabytes_per_second(bytes, seconds);
        b.row(name, STATE, seconds, format!("{threads} thread(s): {rate:.2} GB/s read + written"));
    }
}

pub(super) fn particles(b: &mut Bencher) {
    let size = Vec3::new(100.0, 100.0, 100.0);
    let cloud = Arrangement::Cloud { size, count: MILLION, seed: Some(1) };
    let mut scene = Scene { title: "particles".into(), dt: 1e-3, ..Scene::default() };
    scene.add(ParticleSet::new("dust", cloud).mass(0.5));
    scene.add(DragSet { name: "air".into(), linear: 0.1, ..DragSet::default() });
    let mut sim = build(scene);
    let (from, mut to) = (vec![1.0; STATE], vec![2.0; STATE]);
    let mut measure = |b: &Bencher| b.best_of_two(|| step(&mut sim), || copy_state(&from, &mut to));
    let one = on_one_thread(|| measure(b));
    let all = measure(b);
    for (name, (seconds, copying), threads) in
        [("particles", one, 1), ("particles_threads", all, rayon::current_num_threads())]
    {
        let rate = gigabytes_per_second(LEAST_BYTES * MILLION, seconds);
        let peak = gigabytes_per_second(2 * 8 * STATE, copying);
        let share = 100.0 * rate / peak;
        let note = format!(
            "{threads} thread(s): {rate:.2} GB/s at {LEAST_BYTES} B each, {share:.0} % of copy ({peak:.2} GB/s)"
        );
        b.row(name, MILLION, seconds, note);
    }
}

pub(super) fn springs(b: &mut Bencher) {
    let side = 708; // 2·708·707 springs
    let mut scene = Scene { title: "springs".into(), gravity: Vec3::zeros(), ..Scene::default() };
    scene.add(ParticleSet::new("cloth", Arrangement::Cloth { size: [7.0, 7.0], count: [side, side] }));
    let stretched =
        SpringSet::along("threads", "cloth", Edges::Structural).stiffness(100.0).rest_length(9e-3);
    scene.add(stretched.damping(0.0));
    let sim = build(scene);
    let n = 2 * side * (side - 1);
    let mut f = vec![0.0; sim.model.layout.len_v()];
    let seconds = on_one_thread(|| {
        b.best(|| {
            let points = sim.model.points(0.0, &sim.state.q, &sim.state.v);
            sim.model.forces[0].force.add_force(&points, &mut f);
            black_box(&mut f);
        })
    });
    b.row("springs", n, seconds, "1 thread, one evaluation of all forces");

    let mut scene = Scene { title: "damped springs".into(), gravity: Vec3::zeros(), ..Scene::default() };
    scene.add(ParticleSet::new("cloth", Arrangement::Cloth { size: [7.0, 7.0], count: [side, side] }));
    scene.add(SpringSet::along("threads", "cloth", Edges::Structural).stiffness(100.0).damping(0.1));
    let sim = build(scene);
    let seconds = on_one_thread(|| {
        b.best(|| {
            let points = sim.model.points(0.0, &sim.state.q, &sim.state.v);
            sim.model.forces[0].force.add_force(&points, &mut f);
            black_box(&mut f);
        })
    });
    b.row("springs_damped", n, seconds, "1 thread, one evaluation of all forces");
}

pub(super) fn near_pairs(b: &mut Bencher) {
    let mut times = [0.0; 2];
    for (k, count) in [10_000usize, 100_000].into_iter().enumerate() {
        // One ball per cubic metre, of diameter 1 m: 4.2 neighbours on average.
        let side = (count as f64).cbrt();
        let mut scene = Scene { title: "near_pairs".into(), dt: 1e-4, ..Scene::default() };
        let size = Vec3::new(side, side, side);
        scene.add(ParticleSet::new("balls", Arrangement::Cloud { size, count, seed: Some(2) }));
        scene.add(PairForce {
            name: "touch".into(),
            on: Vec::new(),
            law: PairLaw::SoftRepulsion { stiffness: 100.0, diameter: 1.0 },
            reach: Reach::Within(1.0),
        });
        let mut sim = build(scene);
        times[k] = on_one_thread(|| b.best(|| step(&mut sim)));
        let mut note = String::from("1 thread, 4.2 neighbours each");
        if k == 1 {
            note += &format!("; {:.1} times the time of 10^4", times[1] / times[0]);
        }
        b.row("near_pairs", count, times[k], note);
    }
}

pub(super) fn rk4_chain(b: &mut Bencher) {
    let count = 10_001;
    let rope = Arrangement::Chain { from: Vec3::zeros(), to: Vec3::new(100.0, 0.0, 0.0), count };
    let mut scene = Scene { title: "rk4_chain".into(), dt: 1e-4, ..Scene::default() };
    scene.method = method(Integrator::Rk4);
    scene.add(ParticleSet::new("rope", rope).mass(0.01));
    scene.add(SpringSet::along("links", "rope", Edges::Structural).stiffness(1e3).damping(0.01));
    scene.add(Fix::points("rope[0]"));
    let mut sim = build(scene);
    let seconds = on_one_thread(|| b.best(|| step(&mut sim)));
    b.row("rk4_chain", count - 1, seconds, "1 thread, four evaluations per step");
}

pub(super) fn rollouts(b: &mut Bencher) {
    let states = 256;
    let count = 64;
    let rope = Arrangement::Chain { from: Vec3::zeros(), to: Vec3::new(1.0, 0.0, 0.0), count };
    let mut scene = Scene { title: "rollouts".into(), dt: 1e-4, ..Scene::default() };
    scene.add(ParticleSet::new("rope", rope).mass(0.01));
    scene.add(SpringSet::along("links", "rope", Edges::Structural).stiffness(1e3).damping(0.01));
    scene.add(Fix::points("rope[0]"));
    let sim = build(scene);
    let mut all: Vec<(State, Workspace)> =
        (0..states).map(|_| (sim.state.clone(), Workspace::new())).collect();
    let steps = 20;
    let mut run = || {
        all.par_iter_mut().for_each(|(state, work)| {
            for _ in 0..steps {
                let done = sim.method.step(&sim.model, state, sim.dt, work);
                done.unwrap_or_else(|e| panic!("bench scene: {e}"));
            }
        });
    };
    let one = on_one_thread(|| b.best(&mut run)) / steps as f64;
    let many = b.best(&mut run) / steps as f64;
    let note = format!("per state and step of a rope of {count} points; 1 thread");
    b.row("rollouts", states, one, note);
    let threads = rayon::current_num_threads();
    b.row("rollouts_threads", states, many, format!("{threads} threads: {:.2} times as fast", one / many));
}

/// Frames for the browser: their encoding, and the steps of a cloth with nobody, a slow and a fast page looking on.
pub(super) fn viewer(b: &mut Bencher) {
    let cost = match dalembert_viewer::bench::viewer_cost() {
        Ok(cost) => cost,
        // No port to listen on: nothing to measure.
        Err(error) => return b.row("viewer", 1, f64::NAN, error.to_string()),
    };
    b.row("viewer_encode", 12_000, cost.encode, format!("{} bytes; must stay below 2 ms", cost.frame_bytes));
    b.row("viewer_translate", 12_000, cost.translate, "the same from a state: 2000 bodies, 100x100 cloth");
    for (name, [alone, watched]) in [("viewer_slow_page", cost.slow), ("viewer_fast_page", cost.fast)] {
        let drop = 100.0 * (1.0 - watched / alone);
        b.row(
            name,
            12_000,
            1.0 / watched,
            format!("step rate lower by {drop:.2} % than with nobody looking"),
        );
    }
}
