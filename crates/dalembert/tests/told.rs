//! Rigid bodies that are pushed, held and carried by their names, under every method that has them.

use dalembert::filters::Ride;
use dalembert::prelude::*;

fn methods(friction: f64) -> [Method; 3] {
    [
        Method::Impulse(Impulse { friction, ..Impulse::default() }),
        Method::Lagrange(Lagrange { friction, ..Lagrange::default() }),
        Method::Ipc(Ipc { friction, ..Ipc::default() }),
    ]
}

fn scene(method: &Method, dt: f64) -> Scene {
    let mut scene = Scene { dt, method: method.clone(), ..Scene::default() };
    scene.add(Ground::default());
    scene
}

fn brick(name: &str, size: [f64; 3], x: [f64; 3]) -> RigidBody {
    RigidBody::new(name, Shape::Box { size: size.into() }).mass(1.0).at(x)
}

fn read(sim: &Simulation, quantity: &str) -> f64 {
    Quantity::parse(&sim.model, quantity).unwrap().value(&sim.model, &sim.state)
}

fn push(on: &str, force: [f64; 3], torque: [f64; 3]) -> PushSet {
    PushSet { on: vec![on.into()], force: force.into(), torque: torque.into(), ..PushSet::default() }
}

#[test]
fn a_push_on_a_body_acts_at_its_centre_of_mass_under_every_method() {
    for method in methods(0.0) {
        let mut s = Scene { dt: 0.01, method: method.clone(), gravity: Vec3::zeros(), ..Scene::default() };
        s.add(brick("box", [0.4, 0.3, 0.2], [0.0, 0.0, 1.0]));
        s.add(push("box", [3.0, 0.0, -2.0], [0.0; 3]));
        let mut sim = s.build().unwrap();
        sim.run(0.5).unwrap();
        let name = method.name();
        assert!((read(&sim, "box.vx") - 1.5).abs() < 1e-6, "{name}: {}", read(&sim, "box.vx"));
        assert!((read(&sim, "box.vz") + 1.0).abs() < 1e-6, "{name}: {}", read(&sim, "box.vz"));
        for part in ["box.wx", "box.wy", "box.wz", "box.vy"] {
            assert!(read(&sim, part).abs() < 1e-6, "{name}: {part} {}", read(&sim, part));
        }
    }
}

#[test]
fn a_torque_turns_a_body_by_its_inertia_under_every_method() {
    // About z, where I = m (a² + b²) / 12.
    let inertia = (0.4f64.powi(2) + 0.3f64.powi(2)) / 12.0;
    for method in methods(0.0) {
        let mut s = Scene { dt: 0.002, method: method.clone(), gravity: Vec3::zeros(), ..Scene::default() };
        s.add(brick("box", [0.4, 0.3, 0.2], [0.0, 0.0, 1.0]));
        s.add(push("box", [0.0; 3], [0.0, 0.0, 0.02]));
        let mut sim = s.build().unwrap();
        sim.run(0.2).unwrap();
        let (got, expected) = (read(&sim, "box.wz"), 0.02 * 0.2 / inertia);
        assert!((got - expected).abs() < 2e-3 * expected, "{}: {got} {expected}", method.name());
        assert!(read(&sim, "box.speed") < 1e-9, "{}", method.name());
    }
}

#[test]
fn a_body_that_moves_as_told_pushes_what_is_in_its_way_and_gives_way_to_nothing() {
    for method in methods(0.3) {
        let mut s = scene(&method, 0.005);
        s.add(brick("plough", [0.1, 0.4, 0.2], [-0.3, 0.0, 0.15]));
        s.add(brick("load", [0.2, 0.2, 0.2], [0.0, 0.0, 0.101]).mass(50.0));
        s.add(MotionSet::new("plough", Motion::Velocity(Vec3::new(1.0, 0.0, 0.0))));
        let mut sim = s.build().unwrap();
        sim.run(0.3).unwrap();
        let name = method.name();
        assert!(read(&sim, "plough.x").abs() < 1e-9, "{name}: {}", read(&sim, "plough.x"));
        assert!((read(&sim, "plough.z") - 0.15).abs() < 1e-9, "{name}: {}", read(&sim, "plough.z"));
        assert!((read(&sim, "load.x") - 0.15).abs() < 2e-3, "{name}: {}", read(&sim, "load.x"));
        assert!((read(&sim, "load.vx") - 1.0).abs() < 1e-3, "{name}: {}", read(&sim, "load.vx"));
    }
}

#[test]
fn a_body_on_a_turntable_goes_round_with_it_if_friction_is_enough() {
    // ω² r = 1.2 m/s² stays below μ g = 4.9 m/s²; it starts with the table's velocity.
    let (w, r) = (2.0, 0.3);
    for method in methods(0.5).into_iter().filter(|method| !matches!(method, Method::Lagrange(_))) {
        let mut s = Scene { dt: 0.005, method: method.clone(), ..Scene::default() };
        s.add(RigidBody::new("table", Shape::Cylinder { radius: 1.0, length: 0.1 }).mass(1.0));
        let spin = [0.0, 0.0, w];
        s.add(
            brick("box", [0.1, 0.1, 0.1], [r, 0.0, 0.101]).velocity([0.0, w * r, 0.0]).angular_velocity(spin),
        );
        let ride = Ride { angular_velocity: spin.into(), ..Ride::default() };
        s.add(MotionSet::new("table", Motion::Ride(ride)));
        let mut sim = s.build().unwrap();
        sim.run(1.0).unwrap();
        let (x, y) = (read(&sim, "box.x"), read(&sim, "box.y"));
        let name = method.name();
        assert!((x.hypot(y) - r).abs() < 6e-3, "{name}: {x} {y}");
        assert!((y.atan2(x) - w).abs() < 0.02, "{name}: {x} {y}");
        assert!((read(&sim, "box.wz") - w).abs() < 1e-2, "{name}: {}", read(&sim, "box.wz"));
        assert!(read(&sim, "table.z").abs() < 1e-9, "{name}");
    }
}

#[test]
fn a_body_that_is_fixed_carries_what_lies_on_it() {
    for method in methods(0.5) {
        let mut s = Scene { dt: 0.005, method: method.clone(), ..Scene::default() };
        s.add(brick("shelf", [1.0, 0.3, 0.02], [0.0, 0.0, 1.0]));
        s.add(brick("book", [0.1, 0.1, 0.1], [0.4, 0.0, 1.061]));
        s.add(Fix::points("shelf"));
        let mut sim = s.build().unwrap();
        sim.run(0.5).unwrap();
        let name = method.name();
        assert_eq!(read(&sim, "shelf.z"), 1.0, "{name}");
        assert!((read(&sim, "book.z") - 1.06).abs() < 1.1e-3, "{name}: {}", read(&sim, "book.z"));
    }
}

#[test]
fn a_body_is_read_at_the_origin_of_its_frame_under_every_method() {
    // A cone has its centre of mass a quarter of its height above its base, its origin half-way.
    for method in methods(0.5) {
        let mut s = Scene { dt: 0.01, method: method.clone(), gravity: Vec3::zeros(), ..Scene::default() };
        let cone = RigidBody::new("cone", Shape::Cone { radius: 0.1, length: 0.4 }).mass(1.0);
        s.add(cone.at([0.1, 0.2, 0.3]).velocity([0.0, 0.0, 1.0]));
        let mut sim = s.build().unwrap();
        assert!((read(&sim, "cone.z") - 0.3).abs() < 1e-12, "{}", method.name());
        sim.run(0.1).unwrap();
        let place = ["cone.x", "cone.y", "cone.z"].map(|q| read(&sim, q));
        let off = (Vec3::from(place) - Vec3::new(0.1, 0.2, 0.4)).norm();
        assert!(off < 1e-6, "{}: {place:?}", method.name());
    }
}

#[test]
fn what_cannot_be_held_is_told_with_the_methods_that_can() {
    let mut s = Scene::default();
    s.add(brick("box", [0.1; 3], [0.0; 3]));
    s.add(Fix::points("box"));
    let error = s.build().unwrap_err().to_string();
    assert!(error.contains("`box` is a rigid body") && error.contains("`impulse`"), "{error}");
    let mut s = scene(&methods(0.0)[0], 0.01);
    s.add(brick("box", [0.1; 3], [0.0, 0.0, 1.0]));
    s.add(Fix::points("box"));
    s.add(MotionSet::new("box", Motion::Velocity(Vec3::x())));
    let error = s.build().unwrap_err().to_string();
    assert!(error.contains("already held or moved"), "{error}");
}
