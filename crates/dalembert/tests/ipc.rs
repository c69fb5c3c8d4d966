//! Laws of the method `ipc`.

#![allow(non_snake_case)] // the letters of the formulas

use dalembert::forces::nary::AffineEnergy;
use dalembert::prelude::*;
use dalembert::scene::{AffineBody, Cloth, ContactRule, Ground, Sheet};
use dalembert::step::Ipc;

fn ipc(settings: Ipc) -> Scene {
    Scene { method: Method::Ipc(settings), dt: 0.01, ..Scene::default() }
}

fn tight() -> Ipc {
    Ipc { tolerance: 1e-9, ..Ipc::default() }
}

#[test]
fn a_free_fall_has_the_discrete_values_of_the_scheme() {
    for (scheme, name) in [Scheme::Euler, Scheme::Bdf2].into_iter().flat_map(|s| [(s, "stone"), (s, "box")]) {
        let mut scene = ipc(Ipc { scheme, ..tight() });
        let mut body = AffineBody::new("box", Shape::Box { size: Vec3::new(0.1, 0.2, 0.3) });
        body.position = Vec3::new(5.0, 0.0, 10.0);
        body.velocity = Vec3::new(1.0, 0.0, 3.0);
        match name {
            "box" => scene.add(body),
            _ => scene.add(ParticleSet::at("stone", [0.0, 0.0, 10.0]).velocity([1.0, 0.0, 3.0])),
        };
        let mut sim = scene.build().unwrap();
        let (h, g) = (0.01, -9.81);
        let (mut z, mut v) = (10.0, 3.0);
        let mut before: Option<(f64, f64)> = None;
        for _ in 0..50 {
            sim.step().unwrap();
            let now = (z, v);
            match before {
                Some((z0, v0)) if scheme == Scheme::Bdf2 => {
                    let d: f64 = 2.0 / 3.0 * h;
                    v = (4.0 * v - v0) / 3.0 + d * g;
                    z = (4.0 * z - z0) / 3.0 + d * v;
                }
                _ => {
                    v += h * g;
                    z += h * v;
                }
            }
            before = Some(now);
            let read = |part: &str| {
                let text = format!("{name}[0].{part}");
                Quantity::parse(&sim.model, &text).unwrap().value(&sim.model, &sim.state)
            };
            assert!((read("z") - z).abs() < 1e-9, "{name} {scheme:?}: {} {z}", read("z"));
            assert!((read("vz") - v).abs() < 1e-8, "{name} {scheme:?}: {} {v}", read("vz"));
        }
    }
}

/// Deviation of the deformation from that of a rigid body that tumbles freely for a second, by another method.
fn top_error(scheme: Scheme, h: f64) -> f64 {
    let I = Mat3::from_diagonal(&Vec3::new(1.0, 1.5, 2.0));
    let body = || {
        RigidBody::new("top", Shape::Point).inertia(1.0, Vec3::zeros(), I).angular_velocity([0.3, 2.0, 0.5])
    };
    let mut free = Scene { gravity: Vec3::zeros(), dt: 1e-3, ..Scene::default() };
    free.method = Method::Explicit(Explicit { integrator: Integrator::Rk4, ..Explicit::default() });
    free.add(body());
    let mut reference = free.build().unwrap();
    reference.run(1.0).unwrap();
    let q = &reference.state.q;
    let R = *Quat::from_quaternion(nalgebra::Quaternion::new(q[3], q[4], q[5], q[6]))
        .to_rotation_matrix()
        .matrix();

    let mut scene = ipc(Ipc { scheme, rigid_stiffness: 1e9, ..tight() });
    (scene.dt, scene.gravity) = (h, Vec3::zeros());
    scene.add(body());
    let mut sim = scene.build().unwrap();
    let mut iterations = 0;
    for _ in 0..(1.0 / h).round() as usize {
        let report = sim.step().unwrap();
        assert!(!report.unfinished);
        iterations += report.iterations;
    }
    let A = Mat3::from_column_slice(&sim.state.q[3..12]);
    assert!((A.transpose() * A - Mat3::identity()).norm() < 1e-6);
    // |A − R| = 2√2 sin(θ/2): as the distance of quaternions.
    let error = (A - R).norm() / 8f64.sqrt();
    println!("{scheme:?} h = {h}: {error:e}, {iterations} iterations");
    error
}

#[test]
fn a_stiff_affine_body_tumbles_as_a_rigid_one() {
    let euler = [top_error(Scheme::Euler, 2e-3), top_error(Scheme::Euler, 1e-3)];
    assert!(euler[1] < 5e-3, "{euler:?}");
    let order = (euler[0] / euler[1]).log2();
    assert!((0.8..1.2).contains(&order), "order {order}");
    let bdf2 = [top_error(Scheme::Bdf2, 2e-3), top_error(Scheme::Bdf2, 1e-3)];
    let order = (bdf2[0] / bdf2[1]).log2();
    assert!((1.8..2.2).contains(&order), "order {order}, {bdf2:?}");
}

#[test]
fn energies_may_be_of_either_kind() {
    for energy in [AffineEnergy::Orthogonality, AffineEnergy::AsRigidAsPossible] {
        let mut scene = ipc(tight());
        scene.gravity = Vec3::zeros();
        let mut body = AffineBody::new("box", Shape::Box { size: Vec3::new(0.1, 0.2, 0.3) });
        (body.energy, body.angular_velocity) = (energy, Vec3::new(1.0, 20.0, 3.0));
        scene.add(body);
        let mut sim = scene.build().unwrap();
        let start = sim.model.momentum(&sim.state).1;
        for _ in 0..20 {
            let report = sim.step().unwrap();
            assert!(report.iterations < 10 && !report.unfinished, "{report:?}");
        }
        let end = sim.model.momentum(&sim.state).1;
        // First order in h: the step turns by 0.2 rad.
        assert!((end - start).norm() < 0.5 * start.norm(), "{start} {end}");
    }
}

#[test]
fn a_box_rests_on_the_ground_without_touching_it() {
    let mut scene = ipc(Ipc { friction: 0.5, ..Ipc::default() });
    scene.add(Ground::default());
    scene.add(ContactRule::friction("box", "ground", 0.3));
    let size = Vec3::new(0.1, 0.1, 0.1);
    scene.add(RigidBody::new("box", Shape::Box { size }).at([0.0, 0.0, 0.1]).velocity([0.3, 0.0, 0.0]));
    let mut sim = scene.build().unwrap();
    for k in 0..100 {
        let report = sim.step().unwrap();
        assert!(report.smallest_gap > 0.0 && !report.unfinished, "{k}: {report:?}");
    }
    let z = sim.state.q[2];
    assert!((0.05..0.0511).contains(&z), "{z}");
    assert!(sim.state.v.iter().all(|v| v.abs() < 2e-3), "{:?}", sim.state.v);
}

/// A rod that swings on a hinge at its end: position and gap after a second.
fn hinged_rod(h: f64, scheme: Scheme) -> (f64, f64) {
    let mut scene = ipc(Ipc { scheme, ..tight() });
    scene.dt = h;
    let rod = Shape::Box { size: Vec3::new(1.0, 0.05, 0.05) };
    scene.add(RigidBody::new("rod", rod).at([0.5, 0.0, 0.0]));
    scene.add(JointItem::new("pin", JointKind::Hinge, "world", "rod").anchor([0.0; 3]).axis([0.0, 1.0, 0.0]));
    let mut sim = scene.build().unwrap();
    let mut gap = 0.0f64;
    for _ in 0..(0.6 / h).round() as usize {
        let report = sim.step().unwrap();
        assert!(!report.unfinished, "{report:?}");
        let q = &sim.state.q;
        let end = Vec3::new(q[0], q[1], q[2]) - 0.5 * Vec3::new(q[3], q[4], q[5]);
        gap = gap.max(end.norm());
    }
    (sim.state.q[5].atan2(sim.state.q[3]), gap)
}

#[test]
fn a_hinge_of_affine_bodies_holds_to_rounding_and_swings_as_a_pendulum() {
    // θ″ = −(3g/2ℓ) cos θ' of a thin rod from the horizontal; the box is not thin: I = m(1/3 + 0.05²/12).
    let mut theta = [0.0f64, 0.0];
    let steps = 60_000;
    for _ in 0..steps {
        // Velocity Verlet.
        let dt = 0.6 / steps as f64;
        let pull = |t: f64| -9.81 * 0.5 / (1.0 / 3.0 + 0.05f64.powi(2) / 12.0) * t.cos();
        theta[1] += 0.5 * dt * pull(theta[0]);
        theta[0] += dt * theta[1];
        theta[1] += 0.5 * dt * pull(theta[0]);
    }
    let (coarse, _) = hinged_rod(2e-3, Scheme::Bdf2);
    let (fine, gap) = hinged_rod(1e-3, Scheme::Bdf2);
    assert!(gap < 1e-12, "gap {gap:e}");
    let errors = [(coarse - theta[0]).abs(), (fine - theta[0]).abs()];
    println!("{errors:?} of {}", theta[0]);
    assert!(errors[1] < 1e-4 && errors[0] / errors[1] > 3.0, "{errors:?} of {}", theta[0]);
}

/// Edges that meet triangles, or vertices below the ground, by the exact test.
fn intersections(sim: &Simulation) -> usize {
    let contact = sim.model.ipc.as_ref().unwrap();
    let mut x = Vec::new();
    contact.geometry.positions(&sim.state.q, &mut x);
    let below =
        contact.geometry.surface.half_planes.iter().map(|p| x.iter().filter(|x| p.height(x) <= 0.0).count());
    below.sum::<usize>() + dalembert::collide::exact::intersections(&contact.geometry.surface, &x).len()
}

#[test]
fn bodies_that_intersect_at_the_start_are_refused_by_name() {
    let mut scene = ipc(Ipc::default());
    let shape = Shape::Box { size: Vec3::repeat(0.1) };
    scene.add(RigidBody::new("one", shape.clone()).at([0.0, 0.0, 0.2]));
    scene.add(RigidBody::new("other", shape.clone()).at([0.05, 0.02, 0.22]));
    let message = scene.build().unwrap_err().to_string();
    assert!(message.contains("`one`") && message.contains("`other`"), "{message}");
    let mut scene = ipc(Ipc::default());
    scene.add(Ground::default());
    scene.add(RigidBody::new("sunk", shape).at([0.0, 0.0, 0.03]));
    let message = scene.build().unwrap_err().to_string();
    assert!(message.contains("`sunk`") && message.contains("`ground`"), "{message}");
}

#[test]
fn a_press_never_drives_one_body_into_another() {
    let mut scene = ipc(Ipc { friction: 0.3, ..Ipc::default() });
    scene.add(Ground::default());
    let shape = Shape::Box { size: Vec3::new(0.1, 0.1, 0.05) };
    scene.add(RigidBody::new("block", shape.clone()).at([0.0, 0.0, 0.027]));
    scene.add(RigidBody::new("press", shape).at([0.01, 0.0, 0.09]));
    scene.add(MotionSet::new("press", Motion::Velocity(Vec3::new(0.0, 0.0, -0.5))));
    let mut sim = scene.build().unwrap();
    let mut outcome = None;
    for _ in 0..20 {
        let before = sim.state.q.clone();
        match sim.step() {
            Ok(_) => assert_eq!(intersections(&sim), 0),
            Err(error) => {
                assert_eq!(before, sim.state.q, "a failed step leaves the state");
                outcome = Some(error.to_string());
                break;
            }
        }
    }
    assert_eq!(intersections(&sim), 0);
    // A rigid body does not give way: the press is told that it has no room, and the block has kept its height.
    assert!(outcome.as_ref().is_some_and(|text| text.contains("`press`")), "{outcome:?}");
    assert!(sim.state.q[11] > 0.9, "{}", sim.state.q[11]);
}

#[test]
fn a_pushed_block_moves_with_what_pushes_it() {
    let mut scene = ipc(Ipc { friction: 0.2, ..Ipc::default() });
    scene.add(Ground::default());
    let shape = Shape::Box { size: Vec3::repeat(0.1) };
    scene.add(RigidBody::new("block", shape.clone()).at([0.0, 0.0, 0.0508]));
    scene.add(RigidBody::new("pusher", shape).at([-0.12, 0.0, 0.06]));
    scene.add(MotionSet::new("pusher", Motion::Velocity(Vec3::new(0.5, 0.0, 0.0))));
    let mut sim = scene.build().unwrap();
    for _ in 0..50 {
        sim.step().unwrap();
        assert_eq!(intersections(&sim), 0);
    }
    // The pusher went from -0.12 to 0.13: its face is at 0.18, and the block's begins there but for a gap.
    let x = sim.state.q[0];
    assert!((x - 0.23).abs() < 2e-3, "{x}");
    assert!((sim.state.v[0] - 0.5).abs() < 1e-2, "{}", sim.state.v[0]);
}

#[test]
fn a_soft_ball_on_a_fixed_board_stays_outside_and_threads_change_no_bit() {
    use dalembert::scene::{SoftBody, Solid};
    let run = |threads: usize| {
        let mut scene = ipc(Ipc { friction: 0.4, ..Ipc::default() });
        let ball = Solid::Ball { radius: 0.1, cells: 2 };
        scene.add(SoftBody {
            young: 2e4,
            position: Vec3::new(0.0, 0.0, 0.16),
            ..SoftBody::new("ball", ball)
        });
        scene.add(
            RigidBody::new("board", Shape::Box { size: Vec3::new(0.4, 0.4, 0.02) }).at([0.0, 0.0, 0.03]),
        );
        scene.add(Fix::points("board"));
        let mut sim = scene.build().unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            for _ in 0..30 {
                let report = sim.step().unwrap();
                assert!(report.smallest_gap > 0.0);
                assert_eq!(intersections(&sim), 0);
            }
        });
        sim.state.q
    };
    assert_eq!(run(1), run(2));
}

/// Which pairs are looked at depends on what was sought before, which a saved state does not hold; what a step does must not.
#[test]
fn a_fast_cloth_that_is_saved_and_resumed_keeps_its_bits() {
    let mut scene = Scene { dt: 0.005, ..ipc(Ipc { friction: 0.3, friction_passes: 1, ..Ipc::default() }) };
    scene.add(RigidBody::new("ball", Shape::Sphere { radius: 0.3 }));
    scene.add(Fix::points("ball"));
    let sheet = Sheet::Grid { size: [1.0, 1.0], cells: [12, 12], diagonals: Default::default() };
    let mut cloth = Cloth::new("cloth", sheet);
    (cloth.young, cloth.poisson, cloth.thickness, cloth.density) = (1e4, 0.3, 1e-3, 300.0);
    cloth.position = Vec3::new(0.0, 0.0, 0.36);
    scene.add(cloth);
    let mut sim = scene.build().unwrap();
    for _ in 0..5 {
        (0..12).for_each(|_| assert!(sim.step().is_ok()));
        let (mut resumed, mut work) = (sim.state.clone(), Workspace::new());
        for _ in 0..12 {
            sim.step().unwrap();
            sim.method.step(&sim.model, &mut resumed, sim.dt, &mut work).unwrap();
            assert!(sim.state.q == resumed.q && sim.state.v == resumed.v, "at {} s", sim.state.time);
        }
    }
    assert_eq!(intersections(&sim), 0);
}
