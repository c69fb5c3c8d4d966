use crate::prelude::*;

fn impulse(projection: bool) -> Scene {
    let method = Method::Impulse(Impulse { projection, ..Impulse::default() });
    Scene { dt: 1.0 / 60.0, method, ..Scene::default() }
}

/// Adds links of 1 kg in a row along x from `start`, the first held by `first`; every third joint is a hinge.
fn add_chain(scene: &mut Scene, name: &str, links: usize, start: Vec3, first: &str) {
    let mut last = String::from(first);
    for i in 0..links {
        let link = format!("{name}{i}");
        let at = start + Vec3::new(0.2 * i as f64, 0.0, 0.0);
        let shape = Shape::Box { size: Vec3::new(0.2, 0.08, 0.08) };
        scene.add(RigidBody::new(&link, shape).mass(1.0).at((at + Vec3::new(0.1, 0.0, 0.0)).into()));
        let kind = if i % 3 == 2 { JointKind::Hinge } else { JointKind::Ball };
        let joint = JointItem::new(format!("{name} joint {i}"), kind, last, &link);
        scene.add(joint.anchor(at.into()).axis([0.0, 1.0, 0.0]));
        last = link;
    }
}

#[test]
fn a_long_straight_chain_falls_without_gaping() {
    let mut scene = impulse(true);
    add_chain(&mut scene, "link", 1_000, Vec3::zeros(), "world");
    let mut sim = scene.build().unwrap();
    for _ in 0..30 {
        let report = sim.step().unwrap();
        let gap = worst_gap(&sim.model, &sim.state);
        assert!(gap < 1e-9, "gap {gap:e} after {} s", report.time);
        assert!(report.gap == gap && report.weak_rows == 0 && !report.unfinished, "{report:?}");
    }
    // The free end has fallen like a free body, the held one hardly moved.
    let z = |k: usize| sim.state.q[7 * k + 2];
    let free = -0.5 * 9.81 * 0.5f64.powi(2);
    assert!((z(999) - free).abs() < 0.05 && z(0) > -0.2, "{} {}", z(999), z(0));
}

/// A chain with a motor, a limit and a soft joint, and a rope to a particle: something for every part of the step.
fn add_machine(scene: &mut Scene, name: &str, at: Vec3) {
    add_chain(scene, name, 5, at, "world");
    let arm = format!("{name} arm");
    let shape = Shape::Box { size: Vec3::new(0.2, 0.05, 0.05) };
    scene.add(RigidBody::new(&arm, shape).mass(0.5).at((at + Vec3::new(1.1, 0.0, 0.0)).into()));
    let hinge = JointItem::new(format!("{name} motor"), JointKind::Hinge, format!("{name}4"), &arm);
    let mut hinge = hinge.anchor((at + Vec3::new(1.0, 0.0, 0.0)).into()).axis([0.0, 1.0, 0.0]);
    hinge.motor = Some(Motor::Velocity { target: 3.0, max: 2.0 });
    hinge.limits = Some([-0.5, 0.3]);
    scene.add(hinge);
    let ball = format!("{name} ball");
    scene.add(ParticleSet::at(&ball, (at + Vec3::new(1.2, 0.0, -0.4)).into()).mass(3.0));
    let mut rope = JointItem::new(format!("{name} rope"), JointKind::Distance { length: None }, &arm, &ball);
    rope.anchors = Anchors::Local([Vec3::new(0.1, 0.0, 0.0), Vec3::zeros()]);
    scene.add(rope);
}

#[test]
fn an_island_moves_the_same_way_alone_and_beside_others() {
    let at = Vec3::new(0.0, 0.5, 2.0);
    let mut alone = impulse(true);
    add_machine(&mut alone, "m", at);
    let mut beside = impulse(true);
    // Others before and after, shorter and longer, one of the same structure, and a body that is free.
    add_chain(&mut beside, "long", 40, Vec3::new(0.0, -3.0, 0.0), "world");
    beside.add(RigidBody::new("stone", Shape::Box { size: Vec3::repeat(0.1) }).mass(1.0));
    add_machine(&mut beside, "m", at);
    add_machine(&mut beside, "twin", at + Vec3::new(0.0, 7.0, 0.1));
    add_chain(&mut beside, "short", 1, Vec3::new(0.0, 9.0, 0.0), "world");
    let (mut alone, mut beside) = (alone.build().unwrap(), beside.build().unwrap());
    for _ in 0..120 {
        alone.step().unwrap();
        beside.step().unwrap();
    }
    for block in ["m0", "m1", "m2", "m3", "m4", "m arm", "m ball"] {
        let bits = |sim: &Simulation| {
            let b = sim.model.block(block).unwrap();
            let (q, v) = (&sim.state.q[b.q.clone()], &sim.state.v[b.v.clone()]);
            q.iter().chain(v).map(|x| x.to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(bits(&alone), bits(&beside), "{block}");
    }
}
