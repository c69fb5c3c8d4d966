//! Same scene, same bits: for any number of threads, across a save in the middle, and for many states at once.

use dalembert::math::Random;
use dalembert::prelude::*;
use rayon::prelude::*;

fn explicit(integrator: Integrator, tolerance: f64) -> Method {
    Method::Explicit(Explicit { integrator, tolerance, ..Explicit::default() })
}

fn random_velocities(n: usize) -> Velocities {
    let mut r = Random::new(11);
    let mut one = || r.between(-0.5, 0.5);
    Velocities::List((0..n).map(|_| Vec3::new(one(), one(), one())).collect())
}

/// A block of points on a lattice with springs, touching balls, drag, fixed and guided points, and points that move
/// as told; with `carried`, some points have a second name that drag acts on.
fn block(count: [usize; 3], carried: bool) -> Scene {
    let n = count.iter().product();
    let size = Vec3::from(count.map(|c| 0.1 * (c - 1) as f64));
    let mut scene = Scene { dt: 1e-3, ..Scene::default() };
    let mut set = ParticleSet::new("block", Arrangement::Grid { size, count }).mass(0.02);
    set.velocity = random_velocities(n);
    scene.add(set);
    scene.add(SpringSet::along("edges", "block", Edges::Structural).stiffness(50.0).damping(0.05));
    scene.add(SpringSet::along("far", "block", Edges::Bend).stiffness(5.0));
    scene.add(PairForce {
        name: "touch".into(),
        on: Vec::new(),
        law: PairLaw::SoftRepulsion { stiffness: 20.0, diameter: 0.11 },
        reach: Reach::Within(0.11),
    });
    scene.add(DragSet { name: "air".into(), linear: 1e-3, quadratic: 1e-3, ..DragSet::default() });
    scene.add(Fix::points("block[0:40]"));
    scene.add(Fix::direction("block[100:150]", [1.0, 2.0, -0.3]));
    let mut line = Fix::direction("block[150:160]", [1.0, 0.2, -0.3]);
    line.directions.push(Vec3::new(0.1, -0.7, 0.4));
    scene.add(line);
    let shake = Signal::Sine { frequency: 3.0, phase: 0.2 };
    let motion = Motion::Signal { amplitude: Vec3::new(0.0, 0.01, 0.02), signal: shake };
    scene.add(MotionSet::new("block[60:70]", motion));
    if carried {
        scene.add(MappedPoints {
            name: "skin".into(),
            of: vec!["block[200:300]".into(), "block[20]".into()],
            at: Vec::new(),
            ..MappedPoints::default()
        });
        scene.add(DragSet {
            name: "skin drag".into(),
            on: vec!["skin".into()],
            linear: 0.01,
            ..DragSet::default()
        });
    }
    scene
}

fn bits(state: &State) -> Vec<u64> {
    let head = [state.time, state.time_rest, state.controller.h, state.controller.previous_error];
    head.iter().chain(&state.q).chain(&state.v).map(|x| x.to_bits()).collect()
}

fn in_pool<T: Send>(threads: usize, f: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(f)
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    for carried in [false, true] {
        for integrator in [Integrator::SymplecticEuler, Integrator::Rk4, Integrator::DormandPrince] {
            let run = |threads: usize| {
                let mut sim = block([40, 30, 20], carried).build().unwrap();
                sim.method = explicit(integrator, 1e-3);
                assert!(sim.model.layout.points > 20_000);
                in_pool(threads, || (0..4).for_each(|_| assert!(sim.step().is_ok())));
                bits(&sim.state)
            };
            let one = run(1);
            assert!(run(2) == one && run(4) == one, "{integrator:?}, carried points: {carried}");
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit_of_an_n_body_problem() {
    let run = |threads: usize| {
        let cloud = Arrangement::Cloud { size: Vec3::new(1.0, 1.0, 1.0), count: 500, seed: Some(3) };
        let mut scene = Scene { dt: 1e-3, gravity: Vec3::zeros(), ..Scene::default() };
        scene.add(ParticleSet::new("stars", cloud));
        let law = PairLaw::Gravitation { constant: 1.0, softening: 0.05 };
        scene.add(PairForce { name: "pull".into(), on: Vec::new(), law, reach: Reach::All });
        let mut sim = scene.build().unwrap();
        in_pool(threads, || (0..5).for_each(|_| assert!(sim.step().is_ok())));
        bits(&sim.state)
    };
    let one = run(1);
    assert!(run(2) == one && run(4) == one);
}

#[test]
fn saving_in_the_middle_changes_no_bit() {
    for (name, integrator) in Integrator::ALL {
        for carried in [false, true] {
            let mut sim = block([12, 9, 4], carried).build().unwrap();
            sim.method = explicit(*integrator, 1e-4);
            sim.run(0.02).unwrap();
            let mut packed = Vec::new();
            sim.state.pack(&sim.model.layout, &mut packed);
            let mut resumed = State::unpack(&sim.model.layout, &packed).unwrap();
            sim.model.settle(&mut resumed);
            assert_eq!(bits(&resumed), bits(&sim.state), "{name}: the saved state");

            sim.run(0.02).unwrap();
            let mut work = Workspace::new();
            for _ in 0..20 {
                sim.method.step(&sim.model, &mut resumed, sim.dt, &mut work).unwrap();
            }
            assert_eq!(bits(&resumed), bits(&sim.state), "{name}: twenty steps later");
        }
    }
}

#[test]
fn many_states_of_one_model_step_at_once_as_they_do_alone() {
    let sim = block([40, 30, 20], true).build().unwrap();
    let start = |k: usize| {
        let mut state = sim.state.clone();
        state.v.iter_mut().for_each(|v| *v *= 1.0 + 0.1 * k as f64);
        sim.model.settle(&mut state);
        state
    };
    let run = |mut state: State| {
        let mut work = Workspace::new();
        for _ in 0..3 {
            sim.method.step(&sim.model, &mut state, sim.dt, &mut work).unwrap();
        }
        bits(&state)
    };
    let alone: Vec<_> = in_pool(1, || (0..12).map(|k| run(start(k))).collect());
    // The loops inside a step split up as well: threads that wait for their pieces take up other states.
    let together: Vec<_> = in_pool(4, || (0..12).into_par_iter().map(|k| run(start(k))).collect());
    assert!(alone == together);
}
