//! Points that are fixed, guided, told how to move, or carried by others.

use std::sync::Arc;

use dalembert::prelude::*;

fn explicit(integrator: Integrator) -> Method {
    Method::Explicit(Explicit { integrator, tolerance: 1e-8, ..Explicit::default() })
}

fn point(sim: &Simulation, set: &str, i: usize) -> (Vec3, Vec3) {
    let k = 3 * (sim.model.block(set).unwrap().points.start + i);
    let at = |a: &[f64]| Vec3::new(a[k], a[k + 1], a[k + 2]);
    (at(&sim.state.q), at(&sim.state.v))
}

/// A net of 4 × 4 under gravity, drag and wind, each point with a mass of its own.
fn net() -> Scene {
    let mut scene = Scene { dt: 1e-3, ..Scene::default() };
    let mut net = ParticleSet::new("net", Arrangement::Cloth { size: [0.3, 0.3], count: [4, 4] });
    net.mass = Masses::List((0..16).map(|i| 0.05 + 0.01 * i as f64).collect());
    scene.add(net);
    scene.add(SpringSet::along("threads", "net", Edges::Structural).stiffness(40.0).damping(0.02));
    scene
}

fn push(name: &str, on: &[&str]) -> PushSet {
    PushSet {
        name: name.into(),
        on: on.iter().map(|s| s.to_string()).collect(),
        force: Vec3::new(0.3, -0.2, 0.5),
        signal: Signal::Sine { frequency: 5.0, phase: 0.4 },
        ..PushSet::default()
    }
}

#[test]
fn a_force_on_carried_points_is_the_force_on_what_carries_them() {
    // The same points named directly, by identity, by subset, and by subset of a subset.
    let identity: &[(&str, &[&str])] = &[("a", &["net[4:8]"])];
    let subset: &[(&str, &[&str])] = &[("a", &["net[7]", "net[4]", "net[6]", "net[5]"])];
    let nested: &[(&str, &[&str])] =
        &[("whole", &["net"]), ("some", &["whole[9]", "whole[4:8]", "net[2]"]), ("a", &["some[1:5]"])];
    for (name, integrator) in Integrator::ALL {
        let mut direct = net();
        direct.add(push("gust", &["net[4:8]"]));
        direct.add(DragSet {
            name: "oil".into(),
            on: vec!["net[4:8]".into()],
            linear: 0.3,
            ..DragSet::default()
        });
        let mut direct = direct.build().unwrap();
        direct.method = explicit(*integrator);
        direct.run(0.1).unwrap();
        for sets in [identity, subset, nested] {
            let mut scene = net();
            for (name, of) in sets {
                let of = of.iter().map(|s| s.to_string()).collect();
                scene.add(MappedPoints { name: name.to_string(), of, ..MappedPoints::default() });
            }
            scene.add(push("gust", &["a"]));
            scene.add(DragSet {
                name: "oil".into(),
                on: vec!["a".into()],
                linear: 0.3,
                ..DragSet::default()
            });
            let mut sim = scene.build().unwrap();
            sim.method = explicit(*integrator);
            sim.run(0.1).unwrap();
            for i in 0..16 {
                let ((x, v), (y, w)) = (point(&direct, "net", i), point(&sim, "net", i));
                // Fixed-step integrators differ by the order of sums. Adaptive ones also count carried points (whose
                // error is zero) in the mean error, and so choose other steps, to the same tolerance.
                let limit = if integrator.is_adaptive() { 1e-4 } else { 1e-14 };
                assert!((x - y).norm() < limit && (v - w).norm() < 100.0 * limit, "{name} {sets:?}: {x} {y}");
            }
            // Carried points lie on what carries them, exactly.
            let mut seen: Vec<[u64; 6]> = Vec::new();
            for i in 0..4 {
                let (x, v) = point(&sim, "a", i);
                seen.push([x.x, x.y, x.z, v.x, v.y, v.z].map(f64::to_bits));
            }
            for i in 4..8 {
                let (x, v) = point(&sim, "net", i);
                assert!(seen.contains(&[x.x, x.y, x.z, v.x, v.y, v.z].map(f64::to_bits)), "{name} {sets:?}");
            }
        }
    }
}

#[test]
fn springs_reach_through_carried_points_in_both_directions() {
    // A ball hangs on a carried point of a free weight: the pair keeps its momentum.
    for (name, integrator) in Integrator::ALL {
        let mut scene = Scene { dt: 1e-3, gravity: Vec3::zeros(), ..Scene::default() };
        scene.add(ParticleSet::at("weight", [0.0, 0.0, 0.0]).mass(2.0).velocity([0.0, 0.3, 0.0]));
        scene.add(ParticleSet::at("ball", [1.0, 0.0, 0.0]).mass(0.5));
        scene.add(MappedPoints { name: "hook".into(), of: vec!["weight".into()], ..MappedPoints::default() });
        scene.add(SpringSet::between("band", "hook", "ball").stiffness(30.0).rest_length(0.7));
        let mut sim = scene.build().unwrap();
        sim.method = explicit(*integrator);
        let (p0, l0) = sim.model.momentum(&sim.state);
        sim.run(0.5).unwrap();
        let (p, l) = sim.model.momentum(&sim.state);
        assert!((p - p0).norm() < 1e-13, "{name}: {}", (p - p0).norm());
        // Euler's error in x × p is of first order in h; symplectic and fine ones keep it.
        let limit = match integrator {
            Integrator::SymplecticEuler | Integrator::Verlet => 1e-13,
            Integrator::DormandPrince | Integrator::Rk4 => 1e-6,
            _ => 1e-2,
        };
        assert!((l - l0).norm() < limit, "{name}: {}", (l - l0).norm());
        assert!(point(&sim, "weight", 0).0.x > 0.05, "{name}: the weight did not feel the ball");
        assert_eq!(point(&sim, "weight", 0), point(&sim, "hook", 0));
    }
}

#[test]
fn fixed_points_never_move() {
    for (name, integrator) in Integrator::ALL {
        let mut scene = net();
        scene.add(Fix::points("net[0]"));
        scene.add(Fix::points("net[12:16]"));
        let mut sim = scene.build().unwrap();
        sim.method = explicit(*integrator);
        let before: Vec<_> = (0..16).map(|i| point(&sim, "net", i)).collect();
        sim.run(0.3).unwrap();
        for i in [0, 12, 13, 14, 15] {
            assert_eq!(point(&sim, "net", i), before[i], "{name}");
        }
        assert!((point(&sim, "net", 5).0 - before[5].0).norm() > 1e-3);
    }
}

#[test]
fn a_bead_on_a_line_stays_on_it_and_one_on_a_plane_too() {
    let (n1, n2) = (Vec3::new(1.0, 2.0, -0.3), Vec3::new(0.3, -1.0, 2.0));
    let along = n1.cross(&n2).normalize();
    for (name, integrator) in Integrator::ALL {
        let mut scene = Scene { dt: 1e-3, ..Scene::default() };
        scene.add(ParticleSet::at("line", [0.0, 0.0, 0.0]).velocity([1.0, 2.0, 3.0]));
        scene.add(ParticleSet::at("plane", [0.0, 0.0, 0.0]).velocity([1.0, 2.0, 3.0]));
        scene.add(Fix { on: vec!["line".into()], directions: vec![n1, n2], ..Fix::default() });
        scene.add(Fix::direction("plane", [n1.x, n1.y, n1.z]));
        let law = Attraction::Spring { stiffness: 20.0 };
        scene.add(AttractorSet {
            name: "pull".into(),
            on: Vec::new(),
            center: Vec3::new(0.2, 0.5, -0.1),
            law,
        });
        let mut sim = scene.build().unwrap();
        sim.method = explicit(*integrator);
        let (mut far_line, mut far_plane) = (0.0f64, 0.0f64);
        for _ in 0..1000 {
            sim.step().unwrap();
            let (x, v) = point(&sim, "line", 0);
            assert!(x.cross(&along).norm() < 1e-14 && v.cross(&along).norm() < 1e-14, "{name}");
            far_line = far_line.max(x.norm());
            let (x, v) = point(&sim, "plane", 0);
            let n = n1.normalize();
            assert!(x.dot(&n).abs() < 1e-14 && v.dot(&n).abs() < 1e-14, "{name} {}", x.dot(&n));
            far_plane = far_plane.max(x.norm());
        }
        assert!(far_line > 0.1 && far_plane > 0.1, "{name}: the beads did not slide");
    }
}

#[test]
fn a_prescribed_motion_is_exact_after_every_step() {
    let shake = Motion::Signal {
        amplitude: Vec3::new(0.1, 0.0, 0.05),
        signal: Signal::Sine { frequency: 3.0, phase: 0.7 },
    };
    let circle = Motion::Closure(Arc::new(|t: f64| {
        let (s, c) = (2.0 * t).sin_cos();
        (Vec3::new(c - 1.0, s, 0.0), 2.0 * Vec3::new(-s, c, 0.0))
    }));
    let straight = Motion::Velocity(Vec3::new(0.1, -0.2, 0.3));
    for (name, integrator) in Integrator::ALL {
        let mut scene = net();
        for (i, motion) in [(0, &shake), (3, &circle), (12, &straight)] {
            scene.add(MotionSet::new(format!("net[{i}]"), motion.clone()));
        }
        // What has prescribed motion takes carried points with it.
        scene.add(MappedPoints { name: "mark".into(), of: vec!["net[3]".into()], ..MappedPoints::default() });
        let mut sim = scene.build().unwrap();
        sim.method = explicit(*integrator);
        let start = net().build().unwrap();
        for _ in 0..200 {
            sim.step().unwrap();
            for (i, motion) in [(0, &shake), (3, &circle), (12, &straight)] {
                let (shift, velocity) = motion.at(sim.state.time);
                let (x, v) = point(&sim, "net", i);
                assert_eq!((x, v), (point(&start, "net", i).0 + shift, velocity), "{name}");
            }
            assert_eq!(point(&sim, "mark", 0), point(&sim, "net", 3), "{name}");
        }
        // Two-way: the net follows what is moved.
        assert!((point(&sim, "net", 1).0 - point(&start, "net", 1).0).norm() > 1e-2, "{name}");
    }
}

#[test]
fn a_force_from_outside_acts_like_a_push_of_the_scene_in_every_method() {
    use dalembert::step::{Impulse, Lagrange};
    let methods = [
        Method::Explicit(Explicit::default()),
        Method::Explicit(Explicit { integrator: Integrator::Verlet, ..Explicit::default() }),
        Method::Explicit(Explicit { integrator: Integrator::Rk4, ..Explicit::default() }),
        Method::Lagrange(Lagrange::default()),
        Method::Impulse(Impulse::default()),
    ];
    let force = Vec3::new(0.3, -0.2, 5.0);
    for method in methods {
        let scene = || {
            let mut scene = Scene { method: method.clone(), dt: 0.01, ..Scene::default() };
            scene.add(ParticleSet::at("ball", [0.0, 0.0, 1.0]));
            scene.add(RigidBody::new("brick", Shape::Box { size: Vec3::new(0.1, 0.2, 0.3) }).mass(2.0));
            scene.add(MappedPoints {
                name: "corner".into(),
                of: vec!["brick".into()],
                at: vec![Vec3::new(0.05, 0.1, 0.15)],
                ..MappedPoints::default()
            });
            scene
        };
        let mut told = scene();
        told.add(PushSet { name: "a".into(), on: vec!["ball".into()], force, ..PushSet::default() });
        let mut told = told.build().unwrap();
        told.run(0.5).unwrap();
        let mut pushed = scene().build().unwrap();
        let layout = pushed.model.layout;
        pushed.state.push_point(&layout, PointId(0), &force);
        pushed.run(0.5).unwrap();
        assert_eq!(told.state.q, pushed.state.q, "{method:?}");
        // The same force at the same place of a body, given as a force on a carried point or on the body itself.
        let (mut at_point, mut on_body) = (scene().build().unwrap(), scene().build().unwrap());
        at_point.state.push_point(&layout, PointId(1), &force);
        on_body.state.push_rigid(&layout, 0, &Vec3::new(0.05, 0.1, 0.15), &force);
        at_point.step().unwrap();
        on_body.step().unwrap();
        for (a, b) in at_point.state.v.iter().zip(&on_body.state.v) {
            // One step sees the same torque up to the turn within the step.
            assert!((a - b).abs() < 0.05 * (1.0 + a.abs()), "{method:?}: {a} {b}");
        }
    }
}

/// A mass on a spring under its weight, hung at height z \[m\].
fn bouncing(z: f64) -> Simulation {
    let mut scene = Scene { dt: 0.01, ..Scene::default() };
    scene.add(ParticleSet::at("anchor", [0.0, 0.0, z]));
    scene.add(ParticleSet::at("mass", [0.0, 0.0, z - 1.0]).mass(0.5));
    scene.add(SpringSet::between("spring", "anchor", "mass").stiffness(100.0).rest_length(1.0));
    scene.add(Fix::points("anchor"));
    scene.build().unwrap()
}

#[test]
fn energy_drift_does_not_depend_on_where_potential_energy_is_zero() {
    let drifts = |z: f64| -> Vec<f64> {
        let mut sim = bouncing(z);
        let drift = |_| {
            sim.step().unwrap();
            sim.energy_drift()
        };
        (0..100).map(drift).collect()
    };
    let (low, high) = (drifts(0.0), drifts(1000.0));
    for (k, (a, b)) in low.iter().zip(&high).enumerate().skip(5) {
        assert!((a - b).abs() < 1e-9, "step {k}: {a} and {b}");
    }
    // Symplectic Euler wavers by h ω/2 = 0.07 of what is exchanged: after a quarter of a swing, 11 steps, all of it.
    let largest = high[11..].iter().fold(0.0f64, |m, d| m.max(d.abs()));
    assert!(largest > 0.01 && largest < 0.15, "{largest}");
}

#[test]
fn energy_drift_is_relative_to_what_was_exchanged_and_not_to_what_moves_now() {
    // After a whole swing all is as it was at the start: at rest, and no potential energy gone.
    let omega = (100.0f64 / 0.5).sqrt();
    let mut sim = bouncing(0.0);
    sim.dt = std::f64::consts::TAU / omega / 1000.0;
    sim.run(1000.0 * sim.dt).unwrap();
    // The mass fell by m g / k, and half of its weight's work was motion.
    let fallen = 0.5 * 0.5 * 9.81 * (0.5 * 9.81 / 100.0);
    let exchanged = sim.energy().exchanged(&sim.start_energy, sim.largest_kinetic);
    assert!((exchanged / fallen - 1.0).abs() < 0.02, "{exchanged} {fallen}");
    assert!(sim.energy_drift().abs() < 0.01, "{}", sim.energy_drift());
}

#[test]
fn a_scene_at_rest_has_no_drift() {
    let mut scene = Scene { dt: 0.01, gravity: Vec3::zeros(), ..Scene::default() };
    scene.add(ParticleSet::at("stone", [0.0, 0.0, 3.0]));
    let mut sim = scene.build().unwrap();
    sim.run(1.0).unwrap();
    assert_eq!(sim.energy_drift(), 0.0);
}
