//! The method `ipc` keeps momentum, and moves what is small, light, stiff or looked at in short steps as all else.

use dalembert::mesh::Diagonals;
use dalembert::prelude::*;
use dalembert::scene::{AffineBody, Cloth, Ground, Rod, Sheet, SoftBody, Solid};
use dalembert::step::Ipc;

const G: f64 = 9.81;

fn ipc(h: f64) -> Scene {
    Scene { method: Method::Ipc(Ipc::default()), dt: h, ..Scene::default() }
}

fn soft(size: f64, young: f64, density: f64) -> SoftBody {
    let solid = Solid::Box { size: Vec3::repeat(size), cells: [2, 2, 2] };
    SoftBody { young, density, ..SoftBody::new("body", solid) }
}

/// Velocity of the centre of mass \[m/s\].
fn velocity(sim: &Simulation) -> Vec3 {
    let mass: f64 = sim.model.particles.mass.iter().sum();
    let p: Vec3 = (sim.model.particles.mass.iter().zip(sim.state.v.chunks_exact(3)))
        .map(|(m, v)| *m * Vec3::new(v[0], v[1], v[2]))
        .sum();
    p / mass
}

/// How far a vertex is from the origin \[m\].
fn farthest(sim: &Simulation) -> f64 {
    let mut x = Vec::new();
    match &sim.model.ipc {
        Some(contact) => contact.geometry.positions(&sim.state.q, &mut x),
        None => x.extend(sim.state.q.chunks_exact(3).map(Vec3::from_column_slice)),
    }
    x.iter().map(|x| x.norm()).fold(0.0, f64::max)
}

/// Asserts that a scene without anything to fall on has the velocity that weight gives it, in every step.
fn falls(scene: Scene, steps: usize, name: &str) {
    let h = scene.dt;
    let mut sim = scene.build().unwrap();
    let start = velocity(&sim);
    for k in 1..=steps {
        let report = sim.step().unwrap();
        assert!(!report.unfinished, "{name}, step {k}: {report:?}");
        let gained = G * h * k as f64;
        let off = (velocity(&sim) - start + Vec3::z() * gained).norm();
        // A velocity is a difference of places, and each step rounds those in their last digit.
        let digits = k as f64 * f64::EPSILON * farthest(&sim) / h;
        assert!(
            off < 1e-9 * gained + digits,
            "{name}, step {k}: {off:e} after {} iterations",
            report.iterations
        );
        // However that may be, nothing stands still.
        assert!(off < 1e-4 * gained, "{name}, step {k}: {off:e}");
    }
}

#[test]
fn a_particle_falls_with_its_weight_at_every_step() {
    for (h, steps) in [(1e-6, 5000), (1e-3, 100), (0.1, 20)] {
        let mut scene = ipc(h);
        scene.add(ParticleSet::at("stone", [0.0, 0.0, 0.0]));
        falls(scene, steps, &format!("h = {h}"));
        let mut scene = ipc(h);
        scene.add(Ground { point: Vec3::new(0.0, 0.0, -30.0), ..Ground::default() });
        scene.add(ParticleSet::at("stone", [0.0, 0.0, 0.0]));
        falls(scene, steps, &format!("over a ground, h = {h}"));
    }
}

#[test]
fn a_soft_box_falls_with_its_weight_however_stiff_light_or_small_it_is() {
    let (size, young, density, h) = (0.2, 1e5, 1000.0, 0.01);
    let mut cases = vec![(size, young, density, h), (1e-6, 1e13, 1e-3, 1e-6), (100.0, 1e3, 1e5, 0.1)];
    cases.extend([1e3, 1e9, 1e12, 1e15].map(|young| (size, young, density, h)));
    cases.extend([1e-9, 1e-3, 1e5].map(|density| (size, young, density, h)));
    cases.extend([1e-6, 1e-3, 100.0].map(|size| (size, young, density, h)));
    cases.extend([1e-6, 1e-4, 1e-3, 0.1].map(|h| (size, young, density, h)));
    for (size, young, density, h) in cases {
        let mut scene = ipc(h);
        scene.add(soft(size, young, density));
        falls(scene, 10, &format!("size {size}, E {young:e}, density {density:e}, h {h}"));
    }
}

#[test]
fn everything_falls_with_its_weight() {
    for h in [1e-6, 1e-3, 0.01, 0.1] {
        let fall = |name: &str, add: &dyn Fn(&mut Scene)| {
            let mut scene = ipc(h);
            add(&mut scene);
            falls(scene, 10, &format!("{name}, h {h}"));
        };
        let cube = Shape::Box { size: Vec3::repeat(0.1) };
        fall("rigid", &|s| {
            s.add(RigidBody::new("body", cube.clone()).angular_velocity([1.0, 2.0, 3.0]));
        });
        fall("affine", &|s| {
            s.add(AffineBody::new("body", cube.clone()));
        });
        fall("cloth", &|s| {
            s.add(Cloth::new(
                "body",
                Sheet::Grid { size: [0.3, 0.2], cells: [4, 3], diagonals: Diagonals::default() },
            ));
        });
        fall("rod", &|s| {
            let points = (0..6).map(|i| Vec3::new(0.05 * f64::from(i), 0.0, 0.0)).collect();
            s.add(Rod { radius: 1e-3, ..Rod::new("body", points) });
        });
        fall("soft and rigid", &|s| {
            s.add(RigidBody::new("rigid", cube.clone()).at([0.5, 0.0, 0.0]));
            s.add(SoftBody { angular_velocity: Vec3::new(0.0, 5.0, 0.0), ..soft(0.2, 1e5, 1e3) });
        });
    }
}

#[test]
fn two_bodies_that_collide_keep_their_momentum() {
    let cube = Shape::Box { size: Vec3::repeat(0.2) };
    for other in ["soft", "rigid", "two rigid"] {
        let mut scene = ipc(0.01);
        scene.gravity = Vec3::zeros();
        scene.add(RigidBody::new("far", cube.clone()).at([5.0, 0.0, 0.0]));
        match other {
            "soft" => scene.add(SoftBody { velocity: Vec3::new(2.0, 0.1, 0.0), ..soft(0.2, 1e5, 1e3) }),
            _ => scene.add(RigidBody::new("body", cube.clone()).velocity([2.0, 0.1, 0.0])),
        };
        let place = Vec3::new(0.25, 0.05, 0.02);
        match other {
            "two rigid" => scene.add(RigidBody::new("target", cube.clone()).at(place.into())),
            _ => scene.add(SoftBody { name: "target".into(), position: place, ..soft(0.2, 3e4, 500.0) }),
        };
        let mut sim = scene.build().unwrap();
        let (start, mut touched) = (velocity(&sim), 0);
        for k in 0..40 {
            let report = sim.step().unwrap();
            touched += report.contacts;
            let off = (velocity(&sim) - start).norm() / start.norm();
            assert!(!report.unfinished && off < 1e-9, "{other}, step {k}: {off:e} {report:?}");
        }
        assert!(touched > 10, "{other}: {touched}");
    }
}

/// Everything that has a unit, in units in which lengths, masses and times are larger by these factors.
fn scaled(length: f64, mass: f64, time: f64) -> Vec<f64> {
    let speed = length / time;
    let pascal = mass / (length * time * time);
    let density = mass / length.powi(3);
    let base = Ipc::default();
    let settings = Ipc {
        tolerance: base.tolerance * speed,
        gap: Some(1e-3 * length),
        friction_speed: base.friction_speed * speed,
        rigid_stiffness: base.rigid_stiffness * pascal,
        ..base
    };
    let mut scene = Scene { method: Method::Ipc(settings), dt: 2e-3 * time, ..Scene::default() };
    scene.gravity *= speed / time;
    scene.add(Ground::default());
    let mut body = soft(0.2 * length, 1e5 * pascal, 1e3 * density);
    body.position = Vec3::new(0.0, 0.0, 0.12) * length;
    body.velocity = Vec3::new(0.3, 0.0, -1.0) * speed;
    scene.add(body);
    let cube = Shape::Box { size: Vec3::repeat(0.1 * length) };
    scene.add(
        RigidBody::new("cube", cube)
            .mass(mass)
            .at((Vec3::new(0.02, 0.01, 0.3) * length).into())
            .velocity((Vec3::new(0.0, 0.0, -2.0) * speed).into()),
    );
    let mut sim = scene.build().unwrap();
    for _ in 0..30 {
        assert!(!sim.step().unwrap().unfinished);
    }
    // Places in the units of the first scene; the columns of the cube have none.
    let contact = sim.model.ipc.as_ref().unwrap();
    let columns = contact.affine[0] as usize + 1..contact.affine[0] as usize + 4;
    let unit = |k: usize| if columns.contains(&(k / 3)) { 1.0 } else { length };
    sim.state.q.iter().enumerate().map(|(k, z)| z / unit(k)).collect()
}

#[test]
fn units_of_length_mass_and_time_change_no_motion() {
    let wanted = scaled(1.0, 1.0, 1.0);
    // Powers of four have no rounding, nor have their roots.
    for (length, mass, time) in
        [(256.0, 1.0, 1.0), (1.0, 1024.0, 1.0), (1.0, 1.0, 64.0), (1.0 / 4096.0, 16.0, 1.0 / 64.0)]
    {
        let got = scaled(length, mass, time);
        for (k, (a, b)) in got.iter().zip(&wanted).enumerate() {
            assert!((a - b).abs() < 1e-9, "{k}: {a} for {b} in units {length} {mass} {time}");
        }
    }
}

#[test]
fn a_step_that_moves_nothing_though_weight_acts_says_so() {
    // 10⁸ m away the last digit of a place is 1.5e-8 m, and weight moves it by 1e-11 m in a step.
    let mut scene = ipc(1e-6);
    scene.add(ParticleSet::at("stone", [1e8, 1e8, 1e8]));
    let mut sim = scene.build().unwrap();
    let report = sim.step().unwrap();
    assert!(report.unfinished && sim.state.v.iter().all(|v| *v == 0.0), "{report:?}");
}
