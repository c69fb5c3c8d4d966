//! Method `implicit`: known answers, orders, stiff springs and what must be conserved.

use dalembert::check::observed_orders;
use dalembert::prelude::*;
use dalembert::solve::linear::{LinearSolver, Preconditioner};

fn implicit(scheme: Scheme, newton: u32) -> Implicit {
    Implicit { scheme, newton, tolerance: 1e-12, ..Implicit::default() }
}

/// A mass that hangs by a spring of length 1 m from an anchor above it.
fn hanging(h: f64, k: f64, m: f64, method: Implicit) -> Simulation {
    let mut scene = Scene {
        dt: h,
        gravity: Vec3::new(0.0, 0.0, -10.0),
        method: Method::Implicit(method),
        ..Scene::default()
    };
    scene.add(ParticleSet::at("anchor", [0.0, 0.0, 0.0]));
    scene.add(ParticleSet::at("mass", [0.0, 0.0, -1.0]).mass(m));
    scene.add(SpringSet::between("spring", "anchor", "mass").stiffness(k).rest_length(1.0));
    scene.add(Fix::points("anchor"));
    scene.build().unwrap()
}

#[test]
fn a_hanging_mass_follows_the_recurrence_of_implicit_euler() {
    for (h, k, m, alpha, beta) in [
        (0.1, 100.0, 10.0, 0.0, 0.0),
        (0.1, 100.0, 10.0, 0.1, 0.1),
        (0.01, 10.0, 10.0, 0.0, 0.1),
        (0.001, 10.0, 100.0, 0.1, 0.0),
    ] {
        let method = Implicit { rayleigh_mass: alpha, rayleigh_stiffness: beta, ..Implicit::default() };
        let mut sim = hanging(h, k, m, method);
        let (mut z, mut v) = (-1.0f64, 0.0f64);
        let mut worst = 0.0f64;
        for _ in 0..(2.0f64 / h).round() as usize {
            v += h * (-k * (z + 1.0) - m * 10.0 + v * (-(beta + h) * k - alpha * m))
                / (h * (h + beta) * k + (1.0 + h * alpha) * m);
            z += h * v;
            sim.step().unwrap();
            worst = worst.max((sim.state.q[5] - z).abs());
        }
        assert!(worst < 1e-14 * 30.0_f64.max(z.abs()), "h = {h}: {worst:e}");
    }
}

/// A mass on a damped spring to the origin that starts at (1, 0, 0) at rest.
fn pendulum(h: f64, method: Implicit) -> Simulation {
    let mut scene = Scene { dt: h, method: Method::Implicit(method), ..Scene::default() };
    scene.add(ParticleSet::at("origin", [0.0, 0.0, 0.0]));
    scene.add(ParticleSet::at("mass", [1.0, 0.0, 0.0]).mass(0.5));
    scene.add(SpringSet::between("spring", "origin", "mass").stiffness(100.0).rest_length(1.0).damping(0.1));
    scene.add(Fix::points("origin"));
    scene.build().unwrap()
}

#[test]
fn a_pendulum_on_a_spring_ends_where_each_scheme_must() {
    // Issue "Implicit Euler": 299 steps of 0.01 s.
    for (scheme, newton, x, z) in [
        (Scheme::Euler, 1, 0.153496, -1.096852),
        (Scheme::Euler, 50, 0.155591, -1.095967),
        (Scheme::Midpoint, 50, 0.749219, -0.815320),
        (Scheme::Trapezoid, 50, 0.749329, -0.814945),
    ] {
        let mut sim = pendulum(0.01, implicit(scheme, newton));
        for _ in 0..299 {
            sim.step().unwrap();
            assert!(!sim.report.unfinished, "{:?}", sim.report);
        }
        let q = &sim.state.q[3..6];
        let apart = (q[0] - x).abs().max(q[1].abs()).max((q[2] - z).abs());
        assert!(apart < 1e-5, "{scheme:?}, {newton}: {q:?} is {apart:e} off");
    }
}

#[test]
fn each_scheme_has_its_order() {
    // Exact at t = 2.99.
    let exact = [0.74765906, 0.0, -0.81651278];
    for (scheme, newton, order) in [
        (Scheme::Euler, 1, 1.0),
        (Scheme::Euler, 50, 1.0),
        (Scheme::Midpoint, 50, 2.0),
        (Scheme::Trapezoid, 50, 2.0),
        (Scheme::Trapezoid, 0, 2.0),
        (Scheme::Bdf2, 50, 2.0),
    ] {
        let mut errors = Vec::new();
        for steps in [4784, 9568, 19136] {
            let h = 2.99 / steps as f64;
            let mut sim = pendulum(h, implicit(scheme, newton));
            for _ in 0..steps {
                sim.step().unwrap();
            }
            let q = &sim.state.q[3..6];
            let apart = (0..3).map(|k| (q[k] - exact[k]).powi(2)).sum::<f64>().sqrt();
            errors.push((h, apart));
        }
        let orders = observed_orders(&errors);
        assert!(
            orders.iter().all(|o| (o - order).abs() < 0.15),
            "{scheme:?} {newton}: {orders:?} {errors:?}"
        );
    }
}

#[test]
fn a_particle_in_a_viscous_medium_travels_as_far_as_it_must() {
    let mut scene = Scene { dt: 0.02, gravity: Vec3::zeros(), ..Scene::default() };
    scene.method = Method::Implicit(Implicit::default());
    scene.add(ParticleSet::at("p", [0.0; 3]).velocity([1.0, 0.0, 0.0]));
    scene.drag.push(DragSet { linear: 0.1, ..DragSet::default() });
    let mut sim = scene.build().unwrap();
    for _ in 0..2500 {
        sim.step().unwrap();
    }
    assert!((sim.state.q[0] - 9.932283).abs() < 1e-6, "{}", sim.state.q[0]);
}

#[test]
fn a_very_stiff_spring_settles_under_every_scheme() {
    for (scheme, newton) in [
        (Scheme::Euler, 1),
        (Scheme::Euler, 20),
        (Scheme::Bdf2, 1),
        (Scheme::Bdf2, 20),
        (Scheme::Midpoint, 1),
        (Scheme::Trapezoid, 1),
        (Scheme::Static, 0),
    ] {
        let mut sim = hanging(0.01, 1e8, 1.0, implicit(scheme, newton));
        let mut highest = 0.0f64;
        for _ in 0..1000 {
            sim.step().unwrap();
            highest = highest.max((sim.state.q[5] + 1.0).abs());
        }
        // In equilibrium the spring is 1e-7 m longer; schemes without damping swing about that.
        assert!(highest < 3e-7, "{scheme:?} {newton}: {highest:e}");
        if matches!(scheme, Scheme::Euler | Scheme::Bdf2 | Scheme::Static) {
            assert!((sim.state.q[5] + 1.0 + 1e-7).abs() < 1e-11, "{scheme:?}: {}", sim.state.q[5]);
        }
    }
}

/// A spinning box, two particles and springs between them all, far from everything.
fn mixed(scheme: Scheme, newton: u32, solver: LinearSolver) -> Simulation {
    let mut scene = Scene { dt: 0.01, gravity: Vec3::zeros(), ..Scene::default() };
    scene.method = Method::Implicit(Implicit { solver, ..implicit(scheme, newton) });
    let shape = Shape::Box { size: Vec3::new(0.4, 0.3, 0.2) };
    scene.add(
        RigidBody::new("box", shape).mass(2.0).velocity([0.1, 0.0, 0.3]).angular_velocity([1.0, 2.0, -3.0]),
    );
    scene.add(MappedPoints {
        name: "corners".into(),
        of: vec!["box".into()],
        at: vec![Vec3::new(0.2, 0.15, 0.1), Vec3::new(-0.2, 0.15, -0.1)],
        ..MappedPoints::default()
    });
    scene.add(ParticleSet::at("a", [0.6, 0.2, 0.0]).mass(0.5).velocity([0.0, 1.0, 0.0]));
    scene.add(ParticleSet::at("b", [-0.5, 0.4, 0.1]).mass(0.25));
    scene.add(SpringSet::between("one", "corners[0]", "a").stiffness(200.0).damping(0.5));
    scene.add(SpringSet::between("two", "corners[1]", "b").stiffness(100.0));
    scene.add(SpringSet::between("three", "a", "b").stiffness(50.0).damping(0.2));
    scene.build().unwrap()
}

#[test]
fn an_isolated_mixed_system_keeps_its_momentum() {
    for scheme in [Scheme::Euler, Scheme::Bdf2, Scheme::Midpoint, Scheme::Trapezoid] {
        for newton in [1, 30] {
            let mut sim = mixed(scheme, newton, LinearSolver::Direct);
            let (p, _) = sim.model.momentum(&sim.state);
            for _ in 0..500 {
                sim.step().unwrap();
            }
            let (now, _) = sim.model.momentum(&sim.state);
            assert!((now - p).norm() < 1e-10, "{scheme:?} {newton}: {:e}", (now - p).norm());
        }
    }
}

#[test]
fn a_free_rigid_body_keeps_its_angular_momentum_to_rounding() {
    for scheme in [Scheme::Euler, Scheme::Bdf2, Scheme::Midpoint, Scheme::Trapezoid] {
        let mut scene = Scene { dt: 0.01, gravity: Vec3::zeros(), ..Scene::default() };
        scene.method = Method::Implicit(implicit(scheme, 1));
        let shape = Shape::Box { size: Vec3::new(0.4, 0.3, 0.2) };
        scene.add(RigidBody::new("box", shape).mass(2.0).angular_velocity([1.0, 2.0, -3.0]));
        let mut sim = scene.build().unwrap();
        let (_, start) = sim.model.momentum(&sim.state);
        for _ in 0..1000 {
            sim.step().unwrap();
        }
        let (_, now) = sim.model.momentum(&sim.state);
        assert!((now - start).norm() < 1e-12 * start.norm(), "{scheme:?}: {:e}", (now - start).norm());
    }
}

#[test]
fn conjugate_gradients_and_the_direct_solver_agree() {
    let run = |solver| {
        let mut sim = mixed(Scheme::Euler, 1, solver);
        for _ in 0..100 {
            sim.step().unwrap();
        }
        sim.state.q.clone()
    };
    let direct = run(LinearSolver::Direct);
    let cg = run(LinearSolver::Cg {
        preconditioner: Preconditioner::None,
        tolerance: 1e-13,
        most_iterations: 1000,
    });
    let worst = direct.iter().zip(&cg).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-9, "{worst:e}");
}

#[test]
fn newton_leaves_no_residual() {
    let mut sim = mixed(Scheme::Euler, 50, LinearSolver::Direct);
    for _ in 0..200 {
        let report = sim.step().unwrap();
        assert!(!report.unfinished && report.residual <= 1e-12, "{report:?}");
    }
}

#[test]
fn prescribed_points_pull_what_hangs_on_them() {
    let mut scene = Scene { dt: 0.01, gravity: Vec3::zeros(), ..Scene::default() };
    scene.method = Method::Implicit(Implicit::default());
    scene.add(ParticleSet::at("hand", [0.0; 3]));
    scene.add(ParticleSet::at("cart", [1.0, 0.0, 0.0]));
    scene.add(SpringSet::between("rope", "hand", "cart").stiffness(1e7).damping(10.0));
    scene.add(MotionSet::new("hand", Motion::Velocity(Vec3::new(-2.0, 0.0, 0.0))));
    let mut sim = scene.build().unwrap();
    for _ in 0..100 {
        sim.step().unwrap();
    }
    assert!((sim.state.q[0] + 2.0).abs() < 1e-12);
    assert!((sim.state.q[3] + 1.0).abs() < 1e-3, "{}", sim.state.q[3]);
    assert!((sim.state.v[3] + 2.0).abs() < 1e-3);
}

/// A mass of 2 kg on a spring of 100 N/m and 1 m, without weight, pulled along it with 3 N.
fn pulled(scheme: Scheme, rest_length: f64) -> Simulation {
    let mut scene = Scene { dt: 0.1, gravity: Vec3::zeros(), ..Scene::default() };
    scene.method = Method::Implicit(implicit(scheme, 0));
    scene.add(ParticleSet::at("anchor", [0.0, 0.0, 0.0]));
    scene.add(ParticleSet::at("mass", [1.0, 0.0, 0.0]).mass(2.0));
    scene.add(SpringSet::between("spring", "anchor", "mass").stiffness(100.0).rest_length(rest_length));
    scene.add(Fix::points("anchor"));
    let mut sim = scene.build().unwrap();
    let at = sim.model.block("mass").unwrap().points.start;
    let point = dalembert::state::PointId(at as u32);
    sim.state.push_point(&sim.model.layout.clone(), point, &Vec3::new(3.0, 0.0, 0.0));
    sim
}

#[test]
fn an_equilibrium_balances_the_forces_from_outside() {
    // At rest before: nothing but the pull pulls.
    let mut sim = pulled(Scheme::Static, 1.0);
    let report = sim.step().unwrap();
    assert!((sim.state.q[3] - 1.03).abs() < 1e-9, "{}", sim.state.q[3]);
    assert!(!report.unfinished && report.iterations > 0 && report.residual < 1e-11, "{report:?}");
    // A pull that the spring balances already is an equilibrium: nothing moves.
    let mut sim = pulled(Scheme::Static, 0.97);
    let report = sim.step().unwrap();
    assert!((sim.state.q[3] - 1.0).abs() < 1e-12 && report.iterations == 0, "{report:?}");
    // The settled swing of a damped scheme ends there as well.
    let mut sim = pulled(Scheme::Euler, 1.0);
    sim.run(200.0).unwrap();
    assert!((sim.state.q[3] - 1.03).abs() < 1e-9, "{}", sim.state.q[3]);
}

#[test]
fn a_pull_at_what_is_held_does_not_blur_an_equilibrium() {
    let mut sim = pulled(Scheme::Static, 1.0);
    let layout = sim.model.layout;
    sim.state.push_point(&layout, dalembert::state::PointId(0), &Vec3::new(1e15, 0.0, 0.0));
    let report = sim.step().unwrap();
    assert!((sim.state.q[3] - 1.03).abs() < 1e-9 && !report.unfinished, "{} {report:?}", sim.state.q[3]);
}
