//! Islands, sleep and forces of contact under the method `ipc`.

use dalembert::math::rotation::exp;
use dalembert::prelude::*;
use dalembert::scene::Ground;
use dalembert::step::Ipc;

fn scene(settings: Ipc) -> Scene {
    let mut scene = Scene { method: Method::Ipc(settings), dt: 0.01, ..Scene::default() };
    scene.add(Ground::default());
    scene
}

/// Four tilted boxes that fall on each other, around the place x.
fn pile(scene: &mut Scene, name: &str, x: f64, turn: f64) {
    for k in 0..4 {
        let shape = Shape::Box { size: Vec3::new(0.1, 0.12, 0.1) };
        let angle = Vec3::new(0.2 * turn, 0.1, 0.3 * f64::from(k));
        let body = RigidBody::new(format!("{name}{k}"), shape).mass(1.0 + f64::from(k));
        scene.add(body.at([x + 0.01 * f64::from(k), 0.0, 0.1 + 0.17 * f64::from(k)]).turned(exp(&angle)));
    }
}

fn rubbing() -> Ipc {
    Ipc { friction: 0.5, gap: Some(1e-3), ..Ipc::default() }
}

fn run(mut sim: Simulation, steps: usize) -> (Vec<f64>, Vec<f64>) {
    for _ in 0..steps {
        assert!(!sim.step().unwrap().unfinished);
    }
    let n = sim.model.layout.nv;
    (sim.state.q[..n].to_vec(), sim.state.v[..n].to_vec())
}

/// A pile moves the same way, to the tolerance of the solver, whatever happens far away.
#[test]
fn far_piles_do_not_push_each_other() {
    let build = |left: bool, right: bool| {
        let mut s = scene(Ipc { tolerance: 1e-8, friction: 0.0, ..rubbing() });
        if left {
            pile(&mut s, "left", -3.0, 1.0);
        }
        if right {
            pile(&mut s, "right", 3.0, -2.0);
        }
        run(s.build().unwrap(), 20).0
    };
    let (both, left, right) = (build(true, true), build(true, false), build(false, true));
    let alone = left.iter().chain(&right);
    let off = both.iter().zip(alone).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    // 20 steps of 0.01 s, each solved to 1e-8 m/s, and what impacts make of that.
    assert!(off < 1e-6, "{off:e}");
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let go = |threads: usize| {
        let mut s = scene(rubbing());
        (0..3).for_each(|k| pile(&mut s, &format!("p{k}_"), 0.4 * f64::from(k), f64::from(k)));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(s.build().unwrap(), 30))
    };
    let one = go(1);
    assert_eq!(one, go(2));
    assert_eq!(one, go(4));
}

/// A tower that sways ends each of its steps within the tolerance of the least: factors that serve again leave no more.
#[test]
fn steps_of_a_swaying_tower_end_within_the_tolerance() {
    let build = |settings: Ipc| {
        let mut s = scene(settings);
        for k in 0..6 {
            let turn = exp(&(Vec3::z() * 0.1 * f64::from(k)));
            let body = RigidBody::new(format!("b{k}"), Shape::Box { size: Vec3::repeat(0.1) }).mass(1.0);
            let z = 0.0505 + 0.1005 * f64::from(k);
            s.add(body.at([0.0, 0.0, z]).turned(turn).velocity([0.15 * f64::from(k) / 5.0, 0.0, 0.0]));
        }
        s.build().unwrap()
    };
    let mut sim = build(rubbing());
    let tight = Ipc { tolerance: 1e-9, friction_passes: 1, ..rubbing() };
    let loose = Ipc { friction_passes: 1, ..rubbing() };
    let (mut exact, mut free) = (build(tight), build(loose));
    let (mut worst, mut fastest) = (0.0f64, 0.0f64);
    for _ in 0..60 {
        // From the same state, with friction of the start of the step in both.
        exact.state.copy_from(&sim.state);
        free.state.copy_from(&sim.state);
        exact.step().unwrap();
        free.step().unwrap();
        for (k, (a, b)) in free.state.v.iter().zip(&exact.state.v).enumerate() {
            // Columns of A move corners by as much as these are away from the centre.
            let reach = if k % 12 < 3 { 1.0 } else { 0.05 };
            (worst, fastest) = (worst.max(reach * (a - b).abs()), fastest.max(reach * b.abs()));
        }
        sim.step().unwrap();
    }
    assert!(fastest > 0.05, "it does not sway: {fastest}");
    // The tolerance where something rubs: a tenth of the speed below which friction is smoothed.
    assert!(worst < 1e-4, "{worst:e}");
}

fn read(sim: &Simulation, text: &str) -> f64 {
    Quantity::parse(&sim.model, text).unwrap().value(&sim.model, &sim.state)
}

/// A particle far away that a direction is taken from makes one unit of everything: what the islands find must be what
/// that finds.
#[test]
fn islands_agree_with_one_solve_of_everything() {
    let go = |tie: bool| {
        let mut s = scene(Ipc { tolerance: 1e-8, friction: 0.0, ..rubbing() });
        pile(&mut s, "left", -1.0, 1.0);
        pile(&mut s, "right", 1.0, 1.5);
        if tie {
            s.add(ParticleSet::at("bead", [0.0, 0.0, 90.0]));
            s.add(Fix::direction("bead", [1.0, 0.0, 0.0]));
        }
        let mut sim = s.build().unwrap();
        sim.run(0.2).unwrap();
        let places = ["left", "right"].iter().flat_map(|side| (0..4).map(move |k| format!("{side}{k}")));
        places.flat_map(|b| ["x", "y", "z"].map(|c| read(&sim, &format!("{b}.{c}")))).collect::<Vec<f64>>()
    };
    let (islands, one) = (go(false), go(true));
    let off = islands.iter().zip(&one).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    // 20 steps of 0.01 s, each solved to 1e-8 m/s, and what impacts make of that.
    assert!(off < 1e-5, "{off:e}");
}

/// Two blocks on a hinge with a stop at the place x and the height z, of which one turns.
fn flail(scene: &mut Scene, name: &str, [x, z]: [f64; 2], spin: f64) {
    let part = |k: u32| format!("{name}{k}");
    for k in 0..2 {
        let body = RigidBody::new(part(k), Shape::Box { size: Vec3::new(0.3, 0.1, 0.06) }).mass(1.0);
        let turns = [0.0, if k == 0 { 0.0 } else { spin }, 0.0];
        scene.add(body.at([x + 0.34 * f64::from(k), 0.0, z]).angular_velocity(turns));
    }
    let hinge = JointItem::new(format!("{name}_hinge"), JointKind::Hinge, part(0), part(1));
    scene.add(hinge.anchor([x + 0.17, 0.0, z]).axis([0.0, 1.0, 0.0]).limits(-0.1, 0.1));
}

/// What joints hold together is an island as well: it moves as it does alone, and so does what is far from it.
#[test]
fn joints_far_away_do_not_matter() {
    let build = |left: bool, right: bool| {
        let mut s = scene(Ipc { tolerance: 1e-8, friction: 0.0, ..rubbing() });
        if left {
            pile(&mut s, "left", -3.0, 1.0);
        }
        if right {
            flail(&mut s, "right", [3.0, 0.1], 3.0);
        }
        let mut sim = s.build().unwrap();
        let mut turned = 0.0f64;
        for k in 0..20 {
            let report = sim.step().unwrap();
            assert!(!report.unfinished, "step {k}");
            if right {
                turned = turned.max(read(&sim, "right_hinge.angle").abs());
                assert!(read(&sim, "joints.gap") < 1e-9, "step {k}");
            }
        }
        assert!(!right || turned > 0.09 && turned < 0.1 + 1e-7, "comes to its stop: {turned}");
        sim.state.q[..sim.model.layout.nv].to_vec()
    };
    let (both, left, right) = (build(true, true), build(true, false), build(false, true));
    let alone = left.iter().chain(&right);
    let off = both.iter().zip(alone).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(off < 1e-6, "{off:e}");
}

fn sleepy() -> Ipc {
    Ipc { sleep_after: 0.1, ..rubbing() }
}

fn block(name: &str, z: f64) -> RigidBody {
    RigidBody::new(name, Shape::Box { size: Vec3::repeat(0.1) }).mass(2.0).at([0.0, 0.0, z])
}

#[test]
fn a_block_falls_asleep_and_wakes_when_something_falls_on_it() {
    let mut s = scene(sleepy());
    s.add(block("low", 0.052));
    s.add(block("high", 2.0));
    let mut sim = s.build().unwrap();
    let mut asleep = None;
    let mut woke = false;
    for step in 0..120 {
        sim.step().unwrap();
        let rest = sim.state.rest.clone();
        if rest[0] < 0.0 && asleep.is_none() {
            asleep = Some(sim.state.q[..12].to_vec());
            assert!(sim.state.v[..12].iter().all(|v| *v == 0.0));
            assert!(rest[1] >= 0.0, "the other one is falling");
        }
        if let Some(q) = asleep.as_ref().filter(|_| !woke) {
            if rest[0] < 0.0 {
                assert_eq!(q[..], sim.state.q[..12], "step {step}");
            } else {
                woke = true;
                let down = sim.state.v[2];
                assert!(down < 0.0 || sim.state.q[2] < q[2], "it gives way to what falls on it: {down}");
            }
        }
    }
    assert!(asleep.is_some() && woke);
    for _ in 0..100 {
        sim.step().unwrap();
    }
    assert!(sim.state.rest.iter().all(|r| *r < 0.0), "{:?}", sim.state.rest);
    let (q, report) = (sim.state.q.clone(), sim.step().unwrap());
    assert_eq!((q, report.iterations), (sim.state.q.clone(), 0));
}

#[test]
fn a_push_wakes_and_a_saved_sleep_goes_on_with_the_same_bits() {
    let build = || {
        let mut s = scene(sleepy());
        s.add(block("box", 0.052));
        s.add(block("far", 0.052).at([1.0, 0.0, 0.052]));
        s.build().unwrap()
    };
    let mut sim = build();
    sim.run(0.15).unwrap();
    let mut packed = Vec::new();
    sim.state.pack(&sim.model.layout, &mut packed);
    let mut other = build();
    other.state = State::unpack(&other.model.layout, &packed).unwrap();
    let model = other.model.clone();
    model.settle(&mut other.state);
    for step in 0..60 {
        for sim in [&mut sim, &mut other] {
            sim.step().unwrap();
        }
        assert_eq!(sim.state.q, other.state.q);
        assert_eq!(sim.state.rest, other.state.rest);
        if step == 30 {
            assert!(sim.state.rest.iter().all(|r| *r < 0.0), "{:?}", sim.state.rest);
            for sim in [&mut sim, &mut other] {
                sim.state.applied = vec![0.0; sim.model.layout.len_v()];
                sim.state.applied[0] = 30.0;
            }
        }
    }
    // μ m g = 9.8 N of 30 N are lost.
    assert!(sim.state.q[0] > 0.1, "pushed for 0.3 s: {}", sim.state.q[0]);
    assert!(sim.state.rest[0] >= 0.0 && sim.state.rest[1] < 0.0);
}

/// A jointed pair sleeps while something else falls; its joint keeps its force, and a saved sleep goes on with the same bits.
#[test]
fn what_joints_hold_sleeps_too() {
    let build = || {
        let mut s = scene(sleepy());
        flail(&mut s, "low", [0.0, 0.031], 0.0);
        s.add(block("high", 9.0).at([3.0, 0.0, 9.0]));
        s.build().unwrap()
    };
    let mut sim = build();
    sim.run(0.5).unwrap();
    assert!(sim.state.rest[0] < 0.0 && sim.state.rest[1] < 0.0 && sim.state.rest[2] >= 0.0);
    let force = read(&sim, "low_hinge.force");
    let (q, turns) = (sim.state.q[..24].to_vec(), sim.state.turns.clone());
    let mut packed = Vec::new();
    sim.state.pack(&sim.model.layout, &mut packed);
    let mut other = build();
    other.state = State::unpack(&other.model.layout, &packed).unwrap();
    let model = other.model.clone();
    model.settle(&mut other.state);
    for _ in 0..20 {
        sim.step().unwrap();
        other.step().unwrap();
        assert_eq!(sim.state.q, other.state.q);
        assert_eq!(sim.state.turns, other.state.turns);
    }
    assert_eq!((&q[..], &turns), (&sim.state.q[..24], &sim.state.turns));
    assert_eq!(force, read(&sim, "low_hinge.force"));
    // Something falls on one of the two: both wake.
    sim.state.q[24] = 0.0;
    sim.state.q[26] = 0.2;
    let model = sim.model.clone();
    model.settle(&mut sim.state);
    sim.run(0.1).unwrap();
    assert!(sim.state.rest[0] >= 0.0 && sim.state.rest[1] >= 0.0, "{:?}", sim.state.rest);
}

#[test]
fn forces_of_contact_carry_the_weight_and_friction_holds_on_a_slope() {
    let angle = 0.3f64;
    let mut s = scene(rubbing());
    s.ground.clear();
    s.add(Ground { normal: Vec3::new(-angle.sin(), 0.0, angle.cos()), ..Ground::default() });
    let up = Vec3::new(-angle.sin(), 0.0, angle.cos());
    let turn = exp(&Vec3::new(0.0, -angle, 0.0));
    s.add(block("box", 0.0).at((0.0505 * up).into()).turned(turn));
    let mut sim = s.build().unwrap();
    sim.run(0.5).unwrap();
    let contacts = sim.contacts().unwrap();
    assert!(contacts.len() >= 3, "{contacts:?}");
    let total: Vec3 = contacts.iter().map(|c| c.force).sum();
    let weight = Vec3::new(0.0, 0.0, 2.0 * 9.81);
    assert!((total - weight).norm() < 1e-2 * weight.norm(), "{total}");
    for c in &contacts {
        assert!((c.normal - up).norm() < 1e-12 && c.gap > 0.0 && c.gap < 1e-3);
        let (along, across) = (c.force.dot(&c.normal), c.force - c.force.dot(&c.normal) * c.normal);
        assert!(across.norm() <= 0.5 * along + 1e-9, "within the cone");
        assert_eq!((c.a, c.b), (0, 1), "the half-plane comes after the bodies");
    }
}

#[test]
fn a_rigid_body_reads_as_a_pose() {
    let mut s =
        Scene { method: Method::Ipc(Ipc::default()), dt: 1e-3, gravity: Vec3::zeros(), ..Scene::default() };
    let angle = Vec3::new(0.3, -0.4, 1.2);
    let body =
        RigidBody::new("box", Shape::Box { size: Vec3::repeat(0.1) }).at([1.0, 2.0, 3.0]).turned(exp(&angle));
    s.add(body.velocity([0.5, 0.0, -1.0]).angular_velocity([0.0, 0.0, 2.0]));
    let mut sim = s.build().unwrap();
    let read = |sim: &Simulation, part: &str| {
        Quantity::parse(&sim.model, &format!("box.{part}")).unwrap().value(&sim.model, &sim.state)
    };
    let q = exp(&angle);
    let parts = [("x", 1.0), ("z", 3.0), ("vx", 0.5), ("wz", 2.0), ("qw", q.w), ("qx", q.i), ("qz", q.k)];
    for (part, wanted) in parts {
        assert!((read(&sim, part) - wanted).abs() < 1e-12, "{part}: {}", read(&sim, part));
    }
    sim.run(0.1).unwrap();
    let unit: f64 = ["qw", "qx", "qy", "qz"].iter().map(|p| read(&sim, p).powi(2)).sum();
    assert!((unit - 1.0).abs() < 1e-12);
    // 0.2 rad about the world's z.
    let wanted = exp(&Vec3::new(0.0, 0.0, 0.2)) * q;
    assert!((read(&sim, "qw") - wanted.w).abs() < 1e-4 && (read(&sim, "x") - 1.05).abs() < 1e-9);
}
