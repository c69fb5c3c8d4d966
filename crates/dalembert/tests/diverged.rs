//! A motion that runs away ends in an error; a right motion never does, whatever its scale.

use std::sync::Arc;

use dalembert::check::unstable_step;
use dalembert::prelude::*;
use dalembert::scene::{SoftBody, Solid};

fn explicit(integrator: Integrator) -> Method {
    Method::Explicit(Explicit { integrator, ..Explicit::default() })
}

/// Every method that takes the forces of springs at the start of a step, with the limit of h ω.
fn methods() -> Vec<(Method, f64)> {
    let lagrange = |integrator| Method::Lagrange(Lagrange { integrator, ..Lagrange::default() });
    vec![
        (explicit(Integrator::SymplecticEuler), 2.0),
        (explicit(Integrator::Verlet), 2.0),
        (explicit(Integrator::Rk4), 8f64.sqrt()),
        (explicit(Integrator::Midpoint), 2.0),
        (explicit(Integrator::Euler), 2.0),
        (lagrange(Integrator::Rk4), 8f64.sqrt()),
        (Method::Impulse(Impulse::default()), 2.0),
        (Method::Impulse(Impulse { substeps: 3, ..Impulse::default() }), 6.0),
    ]
}

/// Two masses of m \[kg\] at a distance of d \[m\] on a spring with ω² = 2k/m = 100, stretched by a hundredth.
fn pair(method: &Method, d: f64, m: f64, h: f64) -> Simulation {
    let mut scene = Scene { dt: h, gravity: Vec3::zeros(), method: method.clone(), ..Scene::default() };
    scene.add(ParticleSet::at("a", [0.0, 0.0, 0.0]).mass(m));
    scene.add(ParticleSet::at("b", [d, 0.0, 0.0]).mass(m));
    scene.add(SpringSet::between("band", "a", "b").stiffness(50.0 * m).rest_length(d / 1.01));
    scene.build().unwrap()
}

fn packed(sim: &Simulation) -> Vec<u64> {
    let mut out = Vec::new();
    sim.state.pack(&sim.model.layout, &mut out);
    out.iter().map(|x| x.to_bits()).collect()
}

/// Steps until a step fails; its error, and the energy before it.
fn run_away(sim: &mut Simulation, steps: u64) -> Option<(StepError, f64)> {
    for _ in 0..steps {
        let before = packed(sim);
        if let Err(error) = sim.step() {
            assert_eq!(packed(sim), before, "the state of a failed step has changed");
            return Some((error, sim.energy().total()));
        }
    }
    None
}

#[test]
fn a_spring_that_a_step_cannot_follow_ends_in_an_error_at_every_scale() {
    for (method, limit) in methods() {
        for (d, m) in [(1.0, 1.0), (1e-7, 1e-20), (1e12, 1e30)] {
            // A little and far beyond the limit.
            for factor in [1.1, 3.0, 30.0] {
                let mut sim = pair(&method, d, m, factor * limit / 10.0);
                let start = sim.energy().total();
                let Some((error, energy)) = run_away(&mut sim, 2000) else {
                    panic!("{method:?} {d} {factor}: {}", sim.energy().total())
                };
                let StepError::Diverged { object, h, .. } = &error else { panic!("{error}") };
                assert!(error.is_divergence());
                assert!(object == "a" || object == "b", "{error}");
                assert_eq!(*h, sim.dt);
                // Nobody sees 1e180 J any more.
                assert!(energy < 1e24 * start, "{method:?} {d} {factor}: {energy:e} of {start:e}");
            }
            let mut sim = pair(&method, d, m, 0.5 * limit / 10.0);
            let gains = matches!(method.integrator(), Some(Integrator::Euler | Integrator::Midpoint));
            if !gains {
                assert_eq!(run_away(&mut sim, 2000), None, "{method:?} {d}");
            }
        }
    }
}

#[test]
fn explicit_euler_ends_in_an_error_where_numbers_no_longer_hold_the_scene() {
    // h ω = 0.1: energy grows by a part (h ω)² in each step, and the error of one step stays small.
    let mut sim = pair(&explicit(Integrator::Euler), 1.0, 1.0, 0.01);
    let (error, energy) = run_away(&mut sim, 100_000).unwrap();
    assert!(matches!(error, StepError::Diverged { .. }), "{error}");
    assert!(energy < 1e40, "{energy:e}");
}

#[test]
fn a_soft_box_that_impulse_cannot_follow_ends_in_an_error() {
    let mut scene = Scene { dt: 2e-3, method: Method::Impulse(Impulse::default()), ..Scene::default() };
    let solid = Solid::Box { size: Vec3::repeat(0.2), cells: [2, 2, 2] };
    scene.add(SoftBody { young: 1e7, poisson: 0.3, density: 1000.0, ..SoftBody::new("jelly", solid) });
    let mut sim = scene.build().unwrap();
    let (error, energy) = run_away(&mut sim, 1000).unwrap();
    let StepError::Diverged { object, method, h, .. } = &error else { panic!("{error}") };
    assert_eq!((object.as_str(), method.as_str(), *h), ("jelly", "impulse", 2e-3));
    assert!(energy < 1e40, "{energy:e}");
    let text = error.to_string();
    assert!(text.contains("`jelly`") && text.contains("smaller dt") && text.contains("`ipc`"), "{text}");
}

#[test]
fn a_saved_state_diverges_in_the_same_step() {
    let method = Method::Impulse(Impulse::default());
    let mut sim = pair(&method, 1.0, 1.0, 0.205);
    let mut saved = Vec::new();
    for _ in 0..10 {
        sim.step().unwrap();
    }
    sim.state.pack(&sim.model.layout, &mut saved);
    let (error, _) = run_away(&mut sim, 1000).unwrap();
    let mut again = pair(&method, 1.0, 1.0, 0.205);
    again.state = State::unpack(&again.model.layout, &saved).unwrap();
    again.model.settle(&mut again.state);
    let (other, _) = run_away(&mut again, 1000).unwrap();
    assert_eq!(error, other);
    assert_eq!(packed(&sim), packed(&again));
}

/// Every method but `ipc`, which refuses some of what follows.
fn all_methods() -> Vec<Method> {
    let mut all: Vec<Method> = methods().into_iter().map(|(m, _)| m).collect();
    all.extend([
        explicit(Integrator::DormandPrince),
        explicit(Integrator::EulerDoubling),
        Method::Implicit(Implicit::default()),
        Method::Implicit(Implicit { scheme: Scheme::Midpoint, ..Implicit::default() }),
    ]);
    all
}

#[test]
fn a_fall_a_flight_and_a_drag_are_right_at_any_speed() {
    for method in all_methods() {
        let mut scene = Scene { dt: 0.1, method: method.clone(), ..Scene::default() };
        scene.add(ParticleSet::at("comet", [0.0, 0.0, 1e-3]).velocity([0.0, 3e12, 0.0]));
        scene.add(ParticleSet::at("bullet", [1e-3, 0.0, 0.0]).velocity([1e9, 0.0, 0.0]));
        scene.drag.push(DragSet { on: vec!["bullet".into()], linear: 0.5, ..DragSet::default() });
        let mut sim = scene.build().unwrap();
        assert_eq!(run_away(&mut sim, 100), None, "{method:?}");
    }
}

#[test]
fn a_drive_may_be_as_fast_as_it_is_told() {
    for method in all_methods() {
        let mut scene = Scene { dt: 0.1, gravity: Vec3::zeros(), method: method.clone(), ..Scene::default() };
        scene.add(ParticleSet::at("told", [1.0, 0.0, 0.0]));
        scene.add(ParticleSet::at("free", [2.0, 0.0, 0.0]));
        let closure = |t: f64| (Vec3::new(t.powi(9), 0.0, 0.0), Vec3::new(9.0 * t.powi(8), 0.0, 0.0));
        scene.add(MotionSet::new("told", Motion::Closure(Arc::new(closure))));
        let mut sim = scene.build().unwrap();
        assert_eq!(run_away(&mut sim, 300), None, "{method:?}");
    }
}

#[test]
fn a_tumbling_body_may_turn_a_hundred_radians_in_a_step() {
    for method in all_methods() {
        // Runge–Kutta methods do not keep a spin that they cannot follow.
        let keeps = |i| matches!(i, Integrator::SymplecticEuler | Integrator::Verlet);
        if !method.integrator().is_none_or(keeps) {
            continue;
        }
        let mut scene = Scene { dt: 0.1, method: method.clone(), ..Scene::default() };
        let shape = Shape::Box { size: Vec3::new(0.4, 0.2, 0.1) };
        scene.add(RigidBody::new("box", shape).mass(1.0).angular_velocity([700.0, 700.0, 100.0]));
        let mut sim = scene.build().unwrap();
        assert_eq!(run_away(&mut sim, 200), None, "{method:?}");
    }
}

/// A chain of two springs between a wall and two masses, longitudinal ω² = k/m (3 ± √5)/2.
fn chain(damping: f64) -> Scene {
    let mut scene = Scene { gravity: Vec3::zeros(), ..Scene::default() };
    let line = Arrangement::Chain { from: Vec3::zeros(), to: Vec3::new(2.0, 0.0, 0.0), count: 3 };
    scene.add(ParticleSet::new("chain", line).mass(0.5));
    scene.add(Fix::points("chain[0]"));
    scene.add(SpringSet::along("links", "chain", Edges::Structural).stiffness(200.0).damping(damping));
    scene
}

#[test]
fn the_longest_step_of_a_chain_is_that_of_its_fastest_mode() {
    let omega = (200.0 / 0.5 * (3.0 + 5f64.sqrt()) / 2.0).sqrt();
    let sim = chain(0.0).build().unwrap();
    for (method, limit) in [
        (Method::Impulse(Impulse::default()), 2.0),
        (Method::Impulse(Impulse { substeps: 4, ..Impulse::default() }), 8.0),
        (Method::Lagrange(Lagrange::default()), 8f64.sqrt()),
        (Method::Explicit(Explicit::default()), 2.0),
    ] {
        let find = |h: f64| unstable_step(&method, &sim.model, &sim.state, h);
        assert_eq!(find(0.999 * limit / omega), None, "{method:?}");
        let found = find(1.1 * limit / omega).unwrap();
        assert!((found.longest * omega / limit - 1.0).abs() < 1e-3, "{method:?}: {found:?}");
        assert_eq!(found.stiffest, "links");
    }
    assert_eq!(unstable_step(&Method::Implicit(Default::default()), &sim.model, &sim.state, 1.0), None);
}

#[test]
fn damping_taken_at_the_start_shortens_the_step() {
    // All modes have c = ω² d / k: h² ω² + 2 h ω² d / k = 4.
    let (omega2, slow) = (200.0 / 0.5 * (3.0 + 5f64.sqrt()) / 2.0, 20.0 / 200.0);
    let sim = chain(20.0).build().unwrap();
    let longest = (slow * slow + 4.0 / omega2).sqrt() - slow;
    let method = Method::Impulse(Impulse::default());
    let found = unstable_step(&method, &sim.model, &sim.state, 1.1 * longest).unwrap();
    assert!((found.longest / longest - 1.0).abs() < 1e-3, "{found:?} {longest}");
    assert_eq!(unstable_step(&method, &sim.model, &sim.state, 0.999 * longest), None);
}
