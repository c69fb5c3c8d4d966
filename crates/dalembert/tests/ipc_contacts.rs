//! Contact under `ipc` as it is read: quantities of contact are the forces that Newton's laws ask for. And what begins nearer
//! than the gap is not thrown.

use dalembert::contact::potential::SETTLING;
use dalembert::prelude::*;

const G: f64 = 9.81;

fn scene(settings: Ipc) -> Scene {
    Scene { method: Method::Ipc(settings), dt: 0.01, ..Scene::default() }
}

fn tight() -> Ipc {
    Ipc { tolerance: 1e-9, ..Ipc::default() }
}

fn cube(name: &str, z: f64, mass: f64) -> RigidBody {
    RigidBody::new(name, Shape::Box { size: Vec3::repeat(0.1) }).at([0.0, 0.0, z]).mass(mass)
}

fn read(sim: &Simulation, text: &str) -> f64 {
    Quantity::parse(&sim.model, text).unwrap().value(&sim.model, &sim.state)
}

fn force(sim: &Simulation, name: &str) -> Vec3 {
    Vec3::from(["x", "y", "z"].map(|axis| read(sim, &format!("{name}.contact.{axis}"))))
}

fn near(a: f64, b: f64, relative: f64) -> bool {
    (a - b).abs() <= relative * b.abs()
}

#[test]
fn a_box_at_rest_is_carried_by_its_weight() {
    for scheme in [Scheme::Euler, Scheme::Bdf2] {
        let mut s = scene(Ipc { scheme, ..tight() });
        s.add(Ground::default());
        s.add(cube("box", 0.052, 3.0));
        let mut sim = s.build().unwrap();
        sim.run(2.0).unwrap();
        let case = format!("{scheme:?}");
        assert!(near(read(&sim, "box.contact.z"), 3.0 * G, 1e-6), "{case}: {}", force(&sim, "box"));
        assert!(near(read(&sim, "box.contact.norm"), 3.0 * G, 1e-6), "{case}");
        assert_eq!(force(&sim, "ground"), -force(&sim, "box"), "{case}");
        // Four corners, and nothing else is near the ground.
        assert_eq!(read(&sim, "contacts.count"), 4.0, "{case}");
        let (gap, lowest) = (read(&sim, "contacts.gap"), read(&sim, "box.z") - 0.05);
        // A stiff affine body gives by the strain F L / 8 κ V of its half height.
        let strain = 3.0 * G * 0.1 / (8.0 * Ipc::default().rigid_stiffness * 1e-3);
        assert!(gap > 0.0 && gap <= 1e-3, "{case}: {gap}");
        assert!((gap - lowest).abs() < 0.05 * strain, "{case}: {gap} {lowest}");
        assert_eq!(sim.model.touching(&sim.state), [["box", "ground"]], "{case}");
    }
}

#[test]
fn what_is_read_has_the_signs_and_units_of_impulse() {
    let both = [Method::Ipc(tight()), Method::Impulse(Impulse::default())].map(|method| {
        let mut s = Scene { method, dt: 0.01, ..Scene::default() };
        s.add(Ground::default());
        s.add(cube("box", 0.051, 2.0));
        let mut sim = s.build().unwrap();
        sim.run(2.0).unwrap();
        let names = ["box.contact.z", "ground.contact.z", "contacts.count"];
        assert_eq!(Quantity::parse(&sim.model, "contacts.gap").unwrap().unit(), "m");
        assert_eq!(Quantity::parse(&sim.model, "box.contact.z").unwrap().unit(), "N");
        names.map(|name| read(&sim, name))
    });
    for (a, b) in both[0].into_iter().zip(both[1]) {
        assert!(near(a, b, 1e-6), "{both:?}");
    }
}

#[test]
fn contact_is_what_changes_momentum_in_every_step() {
    let mut s = scene(tight());
    s.add(Ground::default());
    s.add(cube("a", 0.06, 1.0));
    s.add(cube("b", 0.18, 2.0).velocity([0.0, 0.0, -1.0]));
    let mut sim = s.build().unwrap();
    let (mut hit, h) = (0.0f64, sim.dt);
    for _ in 0..60 {
        let before = [read(&sim, "a[0].vz"), read(&sim, "b[0].vz")];
        sim.step().unwrap();
        for ((name, m), v) in [("a", 1.0), ("b", 2.0)].into_iter().zip(before) {
            let f = force(&sim, name).z;
            hit = hit.max(f.abs());
            // The centre of mass: m Δv = h (f − m g).
            let wanted = m * ((read(&sim, &format!("{name}[0].vz")) - v) / h + G);
            assert!((f - wanted).abs() < 1e-5 * hit.max(G), "{name} at {}: {f} {wanted}", sim.state.time);
        }
    }
    assert!(hit > 100.0, "they met: {hit}");
}

#[test]
fn friction_that_holds_a_block_balances_the_slope() {
    // A floor that leans by `slope` is a level one with gravity that leans.
    let slope = 0.3f64;
    let mut s = scene(Ipc { friction: 0.5, ..tight() });
    s.gravity = G * Vec3::new(slope.sin(), 0.0, -slope.cos());
    s.add(Ground::default());
    s.add(cube("block", 0.051, 2.0));
    let mut sim = s.build().unwrap();
    sim.run(2.0).unwrap();
    let f = force(&sim, "block");
    assert!(near(f.x, -2.0 * G * slope.sin(), 1e-4), "{f}");
    assert!(near(f.z, 2.0 * G * slope.cos(), 1e-4), "{f}");
    assert!(near(read(&sim, "block.contact.norm"), 2.0 * G, 1e-4), "{f}");
}

/// Two boxes above a floor.
fn heap(settings: Ipc) -> Simulation {
    let mut s = scene(settings);
    s.add(Ground::default());
    s.add(cube("low", 0.06, 1.0));
    s.add(cube("high", 0.17, 2.0));
    s.build().unwrap()
}

#[test]
fn action_is_reaction_in_a_stack() {
    let mut sim = heap(Ipc { friction: 0.5, ..tight() });
    sim.run(3.0).unwrap();
    let [low, high, ground] = ["low", "high", "ground"].map(|name| force(&sim, name));
    assert!(near(high.z, 2.0 * G, 1e-5) && near(low.z, G, 1e-5), "{high} {low}");
    assert!(near(ground.z, -3.0 * G, 1e-5), "{ground}");
    assert!((low + high + ground).norm() < 1e-12 * 3.0 * G);
    let names = sim.model.contact_names();
    let between = |a: &str, b: &str| -> Vec3 {
        let on = |c: dalembert::model::ContactForce| match [c.a, c.b].map(|k| names[k as usize]) {
            pair if pair == [a, b] => c.force,
            pair if pair == [b, a] => -c.force,
            _ => Vec3::zeros(),
        };
        sim.model.contact_forces(&sim.state).map(on).sum()
    };
    assert!(near(between("high", "low").z, 2.0 * G, 1e-5));
    assert_eq!(between("high", "low"), -between("low", "high"));
    assert_eq!(between("high", "ground"), Vec3::zeros());
}

#[test]
fn what_is_read_is_the_same_after_resuming_on_any_thread_and_with_another_step() {
    let texts = ["low.contact.x", "low.contact.z", "high.contact.norm", "contacts.count", "contacts.gap"];
    let all = |sim: &Simulation| texts.map(|text| read(sim, text).to_bits());
    for settings in [
        Ipc { friction: 0.5, ..Ipc::default() },
        Ipc { friction: 0.5, scheme: Scheme::Bdf2, ..Ipc::default() },
    ] {
        let mut first = None;
        for threads in [1, 2, 4] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut sim = heap(settings);
            pool.install(|| {
                let mut seen = Vec::new();
                for _ in 0..30 {
                    sim.step().unwrap();
                    let now = all(&sim);
                    let mut packed = Vec::new();
                    sim.state.pack(&sim.model.layout, &mut packed);
                    let mut fresh = heap(settings);
                    fresh.state = State::unpack(&fresh.model.layout, &packed).unwrap();
                    fresh.model.settle(&mut fresh.state);
                    // Forces are those of the step that was taken, whatever the next one will be.
                    fresh.dt = 0.001;
                    assert_eq!(now, all(&fresh), "{settings:?} at {}", sim.state.time);
                    seen.push(now);
                }
                assert!(f64::from_bits(seen[29][2]) > 0.0);
                assert_eq!(*first.get_or_insert(seen.clone()), seen, "{threads} threads");
            });
        }
    }
}

#[test]
fn what_cannot_be_read_says_why() {
    let sim = heap(Ipc::default());
    let why = |text: &str| Quantity::parse(&sim.model, text).unwrap_err();
    assert!(why("lo.contact.z").to_string().contains("nothing that can touch is called `lo`"));
    assert_eq!(why("lo.contact.z").candidates, ["low", "high", "ground"]);
    assert!(why("low.contact.w").reason.contains("x, y, z and norm"));
    assert!(why("contacts.force").reason.contains("count and gap"));
    let mut free = Scene::default();
    free.add(ParticleSet::at("stone", [0.0; 3]));
    let free = free.build().unwrap();
    let error = Quantity::parse(&free.model, "stone.contact.z").unwrap_err().to_string();
    assert!(error.contains("`impulse`, `lagrange` and `ipc`"), "{error}");
}

/// A box that begins at a part of the gap above the ground.
fn begins_near(part: f64, h: f64, gravity: f64) -> Simulation {
    let mut s = scene(Ipc { gap: Some(1e-3), ..tight() });
    (s.dt, s.gravity) = (h, Vec3::new(0.0, 0.0, -gravity));
    s.add(Ground::default());
    s.add(cube("box", 0.05 + part * 1e-3, 2.0));
    s.build().unwrap()
}

#[test]
fn what_begins_too_near_is_lifted_slowly_and_comes_to_rest() {
    // ĝ widens by ĝ/T, and what is on it follows: a push of a step leads no farther than to the ĝ of that step.
    let (gap, most) = (1e-3, 2.0 * 1e-3 / SETTLING);
    for (part, h) in
        [(0.5, 0.01), (0.1, 0.01), (1e-3, 0.01), (0.1, 1e-3), (1e-3, 1e-3), (1e-6, 1e-3), (1e-3, 1e-4)]
    {
        let mut sim = begins_near(part, h, G);
        let case = format!("from {part} of the gap with h = {h}");
        let (mut fastest, mut highest) = (0.0f64, 0.0f64);
        for _ in 0..(0.3 / h).round() as usize {
            let report = sim.step().unwrap();
            assert!(report.smallest_gap > 0.0 && !report.unfinished, "{case}: {report:?}");
            fastest = fastest.max(read(&sim, "box[0].vz"));
            highest = highest.max(read(&sim, "box[0].z") - 0.05);
        }
        assert!(fastest <= most, "{case}: {fastest}");
        // No higher than the full gap, and what that speed throws it beyond.
        assert!(highest <= gap + most * most / (2.0 * G), "{case}: {highest}");
        assert!(read(&sim, "box[0].vz").abs() < 1e-3, "{case}");
        assert!(near(read(&sim, "box.contact.z"), 2.0 * G, 0.05), "{case}: {}", force(&sim, "box"));
    }
}

#[test]
fn without_gravity_bodies_that_begin_too_near_drift_apart_slowly() {
    for h in [0.01, 1e-3] {
        let mut s = scene(Ipc { gap: Some(1e-3), ..tight() });
        (s.dt, s.gravity) = (h, Vec3::zeros());
        s.add(cube("a", 0.0, 1.0));
        s.add(cube("b", 0.1 + 1e-6, 1.0));
        let mut sim = s.build().unwrap();
        sim.run(0.3).unwrap();
        let (a, b) = (read(&sim, "a[0].vz"), read(&sim, "b[0].vz"));
        assert!((a + b).abs() < 1e-9, "momentum: {a} {b}");
        assert!(b - a >= 0.0 && b - a <= 2.0 * 1e-3 / SETTLING, "h = {h}: {}", b - a);
    }
}

#[test]
fn what_begins_too_near_resumes_with_the_same_bits() {
    let mut sim = begins_near(0.01, 0.01, G);
    sim.run(0.05).unwrap();
    let mut packed = Vec::new();
    sim.state.pack(&sim.model.layout, &mut packed);
    let mut other = begins_near(0.01, 0.01, G);
    other.state = State::unpack(&other.model.layout, &packed).unwrap();
    other.model.settle(&mut other.state);
    for _ in 0..20 {
        sim.step().unwrap();
        other.step().unwrap();
        assert_eq!(sim.state, other.state);
    }
}
