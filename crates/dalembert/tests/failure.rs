//! A step that fails says who and where, and leaves the state as it was, bit for bit.

use std::sync::Arc;

use dalembert::prelude::*;
use dalembert::solve::ode::OdeError;

fn explicit(integrator: Integrator) -> Method {
    Method::Explicit(Explicit { integrator, ..Explicit::default() })
}

fn bits(state: &State) -> Vec<u64> {
    let head = [state.time, state.time_rest, state.steps as f64, state.controller.h];
    head.iter().chain(&state.q).chain(&state.v).map(|x| x.to_bits()).collect()
}

/// Twenty quiet particles, and a rope whose third link has an absurd stiffness.
fn overflowing() -> Scene {
    let mut scene = Scene { dt: 0.1, ..Scene::default() };
    let count = 20;
    let rope = |name: &str| {
        let chain = Arrangement::Chain { from: Vec3::zeros(), to: Vec3::new(19.0, 0.0, 0.0), count };
        ParticleSet::new(name, chain).mass(1e-3)
    };
    scene.add(rope("quiet"));
    scene.add(rope("rope"));
    scene.add(SpringSet::along("links", "rope", Edges::Structural).stiffness(10.0));
    scene.add(SpringSet::between("absurd", "rope[7]", "rope[8]").stiffness(1e307).rest_length(0.5));
    scene
}

#[test]
fn an_overflow_names_the_point_and_leaves_the_state_alone() {
    for (name, integrator) in Integrator::ALL {
        let mut sim = overflowing().build().unwrap();
        sim.method = explicit(*integrator);
        let before = bits(&sim.state);
        for attempt in 0..2 {
            let error = sim.step().unwrap_err();
            let StepError::NonFinite { object, index, time, h, method } = &error else {
                panic!("{name}: {error}")
            };
            assert_eq!((object.as_str(), *time, *h), ("rope", 0.0, 0.1), "{name}, attempt {attempt}");
            // RK stages spread the overflow to the neighbours within a step; the first one is named.
            assert!((4..=8).contains(index), "{name}: point {index}");
            assert!(method.contains(name));
            assert_eq!(bits(&sim.state), before, "{name}");
        }
    }
}

#[test]
fn a_step_too_long_for_a_stiff_spring_ends_in_an_error_and_not_in_infinities() {
    for (name, integrator) in Integrator::ALL.iter().filter(|(_, i)| !i.is_adaptive()) {
        let mut scene = Scene { dt: 0.1, ..Scene::default() };
        scene.add(ParticleSet::at("a", [0.0, 0.0, 0.0]));
        scene.add(ParticleSet::at("b", [1.0, 0.0, 0.0]));
        scene.add(SpringSet::between("band", "a", "b").stiffness(1e6).rest_length(0.9));
        let mut sim = scene.build().unwrap();
        sim.method = explicit(*integrator);
        let mut failed = false;
        for _ in 0..1000 {
            let before = bits(&sim.state);
            if sim.step().is_err() {
                assert_eq!(bits(&sim.state), before, "{name}");
                failed = true;
                break;
            }
            assert!(sim.state.q.iter().chain(&sim.state.v).all(|x| x.is_finite()), "{name}");
        }
        assert!(failed, "{name} survived h ω = 141");
    }
}

#[test]
fn a_motion_that_is_told_to_go_nowhere_finite_is_refused() {
    for (name, integrator) in Integrator::ALL {
        let mut scene = Scene { dt: 0.1, ..Scene::default() };
        scene.add(ParticleSet::at("free", [0.0, 0.0, 0.0]));
        scene.add(ParticleSet::at("told", [1.0, 0.0, 0.0]));
        let closure = |t: f64| (Vec3::new(1.0 / (0.2 - t).max(0.0), 0.0, 0.0), Vec3::zeros());
        scene.add(MotionSet::new("told", Motion::Closure(Arc::new(closure))));
        let mut sim = scene.build().unwrap();
        sim.method = explicit(*integrator);
        sim.step().unwrap();
        let before = bits(&sim.state);
        match sim.step().unwrap_err() {
            StepError::NonFinite { object, index, .. } => assert_eq!((object.as_str(), index), ("told", 0)),
            other => panic!("{name}: {other}"),
        }
        assert_eq!(bits(&sim.state), before, "{name}");
    }
}

#[test]
fn an_adaptive_integrator_stops_at_its_floor() {
    // A fall into a centre without softening: the step shrinks without end.
    for integrator in [Integrator::DormandPrince, Integrator::EulerDoubling] {
        let mut scene = Scene { dt: 10.0, gravity: Vec3::zeros(), ..Scene::default() };
        scene.add(ParticleSet::at("comet", [1.0, 0.0, 0.0]));
        let law = Attraction::Inverse { mu: 1.0, softening: 0.0 };
        scene.add(AttractorSet { name: "sun".into(), on: Vec::new(), center: Vec3::zeros(), law });
        let mut sim = scene.build().unwrap();
        sim.method = Method::Explicit(Explicit { integrator, tolerance: 1e-6, min_step: 1e-4 });
        let before = bits(&sim.state);
        match sim.step().unwrap_err() {
            StepError::Adaptive(OdeError::StepTooSmall { time, floor, error, .. }) => {
                // The fall from rest at 1 m takes π/√8 = 1.11 s.
                assert!(time > 0.5 && time < 1.12 && floor == 1e-4 && error > 1.0, "{time} {floor} {error}");
            }
            other => panic!("{integrator:?}: {other}"),
        }
        assert_eq!(bits(&sim.state), before);
    }
}

#[test]
fn a_step_of_no_size_is_refused() {
    for (name, integrator) in Integrator::ALL {
        let mut scene = Scene::default();
        scene.add(ParticleSet::at("stone", [0.0, 0.0, 1.0]));
        let mut sim = scene.build().unwrap();
        sim.method = explicit(*integrator);
        let before = bits(&sim.state);
        for h in [0.0, -1e-3, f64::NAN, f64::INFINITY] {
            sim.dt = h;
            assert!(matches!(sim.step(), Err(StepError::BadStepSize(_))), "{name} took a step of {h}");
        }
        assert_eq!(bits(&sim.state), before);
    }
}
