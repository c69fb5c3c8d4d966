//! Crowds of mechanisms in contact under `impulse`: trees of joints in large islands, solved by substepping.

use dalembert::prelude::*;
use dalembert::step::worst_gap;

/// Sweeps of substepping. Islands that are solved by themselves take another number.
const SUBSTEPPING_SWEEPS: u32 = 13;

/// A chest with a head and two arms of two parts, the outer ones on hinges with limits if any: 6 boxes, 5 joints.
fn doll(s: &mut Scene, name: &str, at: Vec3, velocity: Vec3, limits: Option<f64>) {
    let part = |s: &mut Scene, part: &str, x: f64, z: f64, size: [f64; 3]| {
        let name = format!("{name} {part}");
        let shape = Shape::Box { size: size.into() };
        s.add(RigidBody::new(&name, shape).at((at + Vec3::new(x, 0.0, z)).into()).velocity(velocity.into()));
        name
    };
    let chest = part(s, "chest", 0.0, 0.0, [0.3, 0.12, 0.4]);
    let head = part(s, "head", 0.0, 0.33, [0.18, 0.12, 0.2]);
    let join = |s: &mut Scene, kind: JointKind, a: &str, b: &str, x: f64, z: f64| {
        let joint = JointItem::new(format!("{a}-{b}"), kind, a, b).anchor((at + Vec3::new(x, 0.0, z)).into());
        let joint = joint.axis([0.0, 1.0, 0.0]);
        s.add(match limits {
            Some(most) if kind == JointKind::Hinge => joint.limits(-most, most),
            _ => joint,
        });
    };
    join(s, JointKind::Ball, &chest, &head, 0.0, 0.215);
    for (side, hand) in [(-1.0, "left"), (1.0, "right")] {
        let upper = part(s, &format!("{hand} arm"), side * 0.32, 0.1, [0.28, 0.1, 0.1]);
        let fore = part(s, &format!("{hand} forearm"), side * 0.62, 0.1, [0.28, 0.1, 0.1]);
        join(s, JointKind::Ball, &chest, &upper, side * 0.165, 0.1);
        join(s, JointKind::Hinge, &upper, &fore, side * 0.47, 0.1);
    }
}

/// Pairs of dolls that fly at each other, far from all other pairs.
fn colliding(pairs: usize) -> Scene {
    let settings = Impulse { friction: 0.3, ..Impulse::default() };
    let mut s = Scene { method: Method::Impulse(settings), dt: 5e-3, ..Scene::default() };
    s.gravity = Vec3::zeros();
    s.add(ContactRule::between("*", "*"));
    for k in 0..pairs {
        let at = Vec3::new(5.0 * k as f64, 0.0, 0.0);
        let aside = Vec3::new(0.05 + 2e-3 * k as f64, 0.0, 0.03);
        doll(&mut s, &format!("a{k}"), at, Vec3::new(0.1, 1.0, 0.0), None);
        doll(
            &mut s,
            &format!("b{k}"),
            at + aside + Vec3::new(0.0, 0.15, 0.0),
            Vec3::new(0.0, -1.0, 0.2),
            None,
        );
    }
    s
}

#[test]
fn dolls_that_collide_keep_their_momentum_and_their_joints() {
    let pairs = 24;
    let mut sim = colliding(pairs).build().unwrap();
    let mass = sim.model.rigid.mass.clone();
    let momentum = |sim: &Simulation, pair: usize| -> Vec3 {
        let own = 12 * pair..12 * pair + 12;
        own.map(|k| mass[k] * Vec3::new(sim.state.v[6 * k], sim.state.v[6 * k + 1], sim.state.v[6 * k + 2]))
            .sum()
    };
    let before: Vec<Vec3> = (0..pairs).map(|p| momentum(&sim, p)).collect();
    let start = sim.energy().total();
    let (mut energy, mut most) = (start, 0);
    for _ in 0..60 {
        let report = sim.step().unwrap();
        if report.contacts > 0 && report.iterations == SUBSTEPPING_SWEEPS {
            most = most.max(report.contacts);
        }
        let now = sim.energy().total();
        assert!(now <= energy * (1.0 + 1e-3), "{energy} {now}");
        energy = energy.min(now);
        assert!(worst_gap(&sim.model, &sim.state) < 2e-4, "{:e}", worst_gap(&sim.model, &sim.state));
    }
    assert!(most > 100, "{most} contacts in large islands");
    assert!(energy < 0.9 * start, "nothing happened: {start} {energy}");
    for p in 0..pairs {
        let (a, b) = (before[p], momentum(&sim, p));
        assert!((a - b).norm() < 1e-11 * (1.0 + a.norm()), "pair {p}: {a:?} {b:?}");
    }
}

/// Dolls in layers over the ground, each layer turned against the next by a little.
fn heap(count: usize, limits: Option<f64>) -> Scene {
    let settings = Impulse { friction: 0.6, ..Impulse::default() };
    let mut s = Scene { method: Method::Impulse(settings), dt: 1.0 / 120.0, ..Scene::default() };
    s.add(Ground::default());
    for k in 0..count {
        let (layer, place) = (k / 9, k % 9);
        let at = Vec3::new(
            1.6 * (place % 3) as f64 + 0.11 * layer as f64,
            0.35 * (place / 3) as f64 + 0.07 * layer as f64,
            0.3 + 0.75 * layer as f64,
        );
        doll(&mut s, &format!("d{k}"), at, Vec3::zeros(), limits);
    }
    s
}

#[test]
fn a_heap_of_dolls_comes_to_rest_and_gains_no_energy() {
    let mut sim = heap(45, None).build().unwrap();
    let mut energy = sim.energy().total();
    let scale = energy;
    let mut most = 0;
    for k in 0..480 {
        let report = sim.step().unwrap();
        most = most.max(report.contacts);
        let (gap, overlap) = (worst_gap(&sim.model, &sim.state), -report.smallest_gap);
        // Arms 100 mm thick fall at 6 m/s, 50 mm per step. A hard landing makes joints gape by up to 0.24 mm in one step of some
        // runs that begin a nanometre beside this one.
        let (open, most) = if k < 360 { (3e-4, 2e-2) } else { (2e-4, 1e-3) };
        assert!(gap < open, "step {k}: joints gape by {gap:e}");
        assert!(overlap < most, "step {k}: overlap of {overlap:e}");
        let now = sim.energy().total();
        assert!(now <= energy + 1e-3 * scale, "step {k}: {energy} {now}");
        energy = energy.min(now);
    }
    assert!(most > 300, "{most} contacts");
    let kinetic = sim.energy().kinetic;
    assert!(kinetic < 2e-3 * scale, "{kinetic} of {scale}");
}

#[test]
fn heaps_of_dolls_have_the_same_bits_at_any_number_of_threads_and_resumed() {
    let run = |threads: usize, resume: bool| -> Vec<u64> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut sim = heap(27, Some(0.3)).build().unwrap();
            let mut substepped = 0;
            for k in 0..90 {
                if resume && k == 60 {
                    let mut packed = Vec::new();
                    sim.state.pack(&sim.model.layout, &mut packed);
                    sim = heap(27, Some(0.3)).build().unwrap();
                    sim.state = State::unpack(&sim.model.layout, &packed).unwrap();
                }
                let report = sim.step().unwrap();
                substepped += u32::from(report.contacts > 0 && report.iterations == SUBSTEPPING_SWEEPS);
            }
            assert!(substepped > 20, "{substepped} steps with substepping");
            sim.state.q.iter().chain(&sim.state.v).chain(&sim.state.lambda).map(|x| x.to_bits()).collect()
        })
    };
    let one = run(1, false);
    assert_eq!(one, run(2, false), "two threads");
    assert_eq!(one, run(1, true), "resumed");
}

/// Few dolls are solved to the tolerance.
#[test]
fn few_dolls_stay_with_the_exact_path() {
    let mut sim = heap(2, None).build().unwrap();
    let mut most = 0;
    for _ in 0..60 {
        let report = sim.step().unwrap();
        assert!(report.residual < 1e-5, "{report:?}");
        most = most.max(report.contacts);
    }
    assert!(most > 0);
}

/// Elbows in a large island stop at their limits, which they would pass.
#[test]
fn limits_hold_in_large_islands() {
    let widest = |limits: Option<f64>| {
        let mut sim = heap(27, limits).build().unwrap();
        let mut widest = 0.0f64;
        let mut substepped = 0;
        for _ in 0..180 {
            let report = sim.step().unwrap();
            substepped += u32::from(report.contacts > 0 && report.iterations == SUBSTEPPING_SWEEPS);
            widest = sim.state.turns.iter().fold(widest, |m, a| m.max(a.abs()));
        }
        assert!(substepped > 40, "{substepped} steps with substepping");
        widest
    };
    let (free, held) = (widest(None), widest(Some(0.3)));
    assert!(free > 0.6, "nothing to hold: {free}");
    assert!(held < 0.33, "{held}");
}

/// Boxes that stand on the floor and carry a wheel on an upright axle: half of the axles have a motor of at most 0.05 N·m that
/// wants 5 rad/s, half turn at 5 rad/s against a dry friction of 0.02 N·m. The wheels have ½ m r² = 0.005 kg·m².
#[test]
fn motors_and_dry_friction_act_in_large_islands() {
    let settings = Impulse { friction: 0.8, ..Impulse::default() };
    let mut s = Scene { method: Method::Impulse(settings), dt: 0.01, ..Scene::default() };
    s.add(Ground::default());
    let count = 90u32;
    for k in 0..count {
        let (x, y) = (f64::from(k % 10), f64::from(k / 10));
        let (base, wheel) = (format!("base{k}"), format!("wheel{k}"));
        let shape = Shape::Box { size: Vec3::new(0.3, 0.3, 0.2) };
        s.add(RigidBody::new(&base, shape).mass(5.0).at([x, y, 0.1]));
        let shape = Shape::Cylinder { radius: 0.1, length: 0.05 };
        let driven = k % 2 == 0;
        let spin = if driven { 0.0 } else { 5.0 };
        s.add(RigidBody::new(&wheel, shape).mass(1.0).at([x, y, 0.25]).angular_velocity([0.0, 0.0, spin]));
        let axle = JointItem::new(format!("axle{k}"), JointKind::Hinge, &base, &wheel);
        let axle = axle.anchor([x, y, 0.25]).axis([0.0, 0.0, 1.0]);
        s.add(if driven {
            axle.motor(Motor::Velocity { target: 5.0, max: 0.05 })
        } else {
            JointItem { friction: 0.02, ..axle }
        });
    }
    let mut sim = s.build().unwrap();
    let rates = |sim: &Simulation| {
        let rate = |k: u32| {
            let w = Quantity::parse(&sim.model, &format!("wheel{k}.wz")).unwrap();
            w.value(&sim.model, &sim.state)
        };
        [rate(0), rate(88), rate(1), rate(89)]
    };
    // Rates at 0.2 s and 3 s: τ t/I and 5 rad/s; 5 rad/s − τ t/I and none.
    for (steps, wanted) in [(20, [2.0, 2.0, 4.2, 4.2]), (280, [5.0, 5.0, 0.0, 0.0])] {
        for _ in 0..steps {
            let report = sim.step().unwrap();
            assert!(report.contacts > 300 && report.iterations == SUBSTEPPING_SWEEPS, "{report:?}");
        }
        for (found, wanted) in rates(&sim).into_iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-3, "{found} instead of {wanted}");
        }
    }
}

/// Trays on chains of light links, with cubes on them: a link swings across the pull of its chain far faster than the step
/// can follow, which must not shake the trays.
#[test]
fn light_chains_under_load_stay_calm() {
    let settings = Impulse { friction: 0.6, ..Impulse::default() };
    let mut s = Scene { method: Method::Impulse(settings), dt: 1.0 / 120.0, ..Scene::default() };
    s.add(ContactRule::between("*", "*"));
    for t in 0..24 {
        let x = 2.0 * f64::from(t);
        let push = [0.0, 0.05 + 0.01 * f64::from(t), 0.0];
        let tray = format!("tray{t}");
        let shape = Shape::Box { size: Vec3::new(0.6, 0.6, 0.05) };
        s.add(RigidBody::new(&tray, shape).at([x, 0.0, 0.0]).mass(20.0).velocity(push));
        let mut below = tray.clone();
        for k in 0..6 {
            let (name, z) = (format!("link{t}-{k}"), 0.025 + 0.1 * f64::from(k));
            let shape = Shape::Capsule { radius: 0.01, length: 0.08 };
            s.add(RigidBody::new(&name, shape).at([x, 0.0, z + 0.05]).mass(0.05));
            s.add(
                JointItem::new(format!("{below}-{name}"), JointKind::Ball, &below, &name).anchor([x, 0.0, z]),
            );
            below = name;
        }
        let hook = JointItem::new(format!("hook{t}"), JointKind::Ball, &below, "world");
        s.add(hook.anchor([x, 0.0, 0.625]));
        for k in 0..4 {
            let at = [x + if k % 2 == 0 { 0.2 } else { -0.2 }, if k < 2 { 0.2 } else { -0.2 }, 0.075];
            let shape = Shape::Box { size: Vec3::repeat(0.1) };
            s.add(RigidBody::new(format!("cube{t}-{k}"), shape).at(at).mass(0.5).velocity(push));
        }
    }
    let mut sim = s.build().unwrap();
    let start = sim.energy();
    let mut substepped = 0;
    for k in 0..360 {
        let report = sim.step().unwrap();
        substepped += u32::from(report.contacts > 300 && report.iterations == SUBSTEPPING_SWEEPS);
        let gap = worst_gap(&sim.model, &sim.state);
        assert!(gap < 2e-4, "step {k}: joints gape by {gap:e}");
        let now = sim.energy();
        // What they were given, and half of it more for what the first steps make of the load.
        let most = start.total() + 0.5 * start.kinetic;
        assert!(now.total() <= most, "step {k}: {start:?} {now:?}");
    }
    assert!(substepped > 300, "{substepped} steps with substepping");
}
