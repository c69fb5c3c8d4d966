//! A warm step takes no memory. Alone in its file, so that nothing else counts.

mod counting;

use std::sync::atomic::Ordering;

use dalembert::mesh::Diagonals;
use dalembert::prelude::*;
use dalembert::scene::{Cloth, Sheet, SoftBody, Solid};
use dalembert::solve::linear::{LinearSolver, Preconditioner};

use counting::CALLS;

/// Every kind of force, filter and mapping on a swarm that spreads, so that the grid of near pairs changes size.
fn scene() -> Scene {
    let mut scene = Scene { dt: 1e-3, ..Scene::default() };
    let count = [5, 4, 3];
    scene.add(
        ParticleSet::new("block", Arrangement::Grid { size: Vec3::new(0.5, 0.4, 0.3), count }).mass(0.1),
    );
    let size = Vec3::new(0.4, 0.4, 0.4);
    let mut swarm = ParticleSet::new("swarm", Arrangement::Cloud { size, count: 50, seed: Some(5) });
    let outwards = swarm.arrangement.positions(0).iter().map(|x| x * 40.0).collect();
    swarm.velocity = Velocities::List(outwards);
    scene.add(swarm.position([0.0, 0.0, 2.0]));
    scene.add(MappedPoints {
        name: "skin".into(),
        of: vec!["block[20:30]".into()],
        at: Vec::new(),
        ..MappedPoints::default()
    });
    scene.add(MappedPoints {
        name: "picked".into(),
        of: vec!["skin[2]".into(), "block[1]".into()],
        at: Vec::new(),
        ..MappedPoints::default()
    });
    scene.add(SpringSet::along("edges", "block", Edges::Structural).stiffness(50.0).damping(0.1));
    scene.add(AngularSpringSet {
        name: "bends".into(),
        along: Some("block".into()),
        stiffness: 0.01,
        ..AngularSpringSet::default()
    });
    scene.add(DragSet { name: "air".into(), linear: 0.01, quadratic: 0.01, ..DragSet::default() });
    scene.add(DragSet { name: "oil".into(), on: vec!["picked".into()], linear: 0.01, ..DragSet::default() });
    for (k, signal) in [
        Signal::Constant,
        Signal::Sine { frequency: 2.0, phase: 0.0 },
        Signal::Pulse { from: 0.01, to: 0.02 },
        Signal::Table { times: vec![0.0, 1.0], values: vec![0.0, 1.0] },
    ]
    .into_iter()
    .enumerate()
    {
        let on = vec!["skin".to_string()];
        scene.add(PushSet {
            name: format!("push{k}"),
            on,
            force: Vec3::x() * 1e-3,
            signal,
            ..PushSet::default()
        });
    }
    for (k, law) in [Attraction::Inverse { mu: 0.1, softening: 0.1 }, Attraction::Spring { stiffness: 0.1 }]
        .into_iter()
        .enumerate()
    {
        scene.add(AttractorSet { name: format!("star{k}"), on: Vec::new(), center: Vec3::zeros(), law });
    }
    let touch = PairLaw::SoftRepulsion { stiffness: 5.0, diameter: 0.11 };
    let (near, all) = (Reach::Within(0.11), Reach::All);
    scene.add(PairForce { name: "touch".into(), on: Vec::new(), law: touch, reach: near });
    let gas = PairLaw::LennardJones { epsilon: 1e-6, sigma: 0.02 };
    scene.add(PairForce { name: "gas".into(), on: vec!["swarm".into()], law: gas, reach: near });
    let pull = PairLaw::Gravitation { constant: 1e-3, softening: 0.05 };
    scene.add(PairForce { name: "pull".into(), on: Vec::new(), law: pull, reach: all });
    scene.add(CustomForce::on_each("mine", &["block[3]"], |t, x, v, m| -m * x - 0.1 * v * t));
    scene.add(CustomForce::on_tuple("ours", &["block[3]", "block[9]"], |_, x, _, f| {
        f[0] = 0.1 * (x[1] - x[0]);
        f[1] = -f[0];
    }));
    scene.add(Fix::points("block[0:3]"));
    scene.add(Fix::direction("block[10:15]", [1.0, 2.0, 0.5]));
    let motion = Motion::Velocity(Vec3::new(0.0, 0.1, 0.0));
    scene.add(MotionSet::new("block[5]", motion));
    scene
}

/// Joints of several kinds with everything that acts on their coordinates.
fn mechanism() -> Scene {
    let mut scene = Scene { dt: 1e-3, ..Scene::default() };
    let link = |k: usize| {
        let shape = Shape::Box { size: Vec3::new(0.2, 0.05, 0.05) };
        RigidBody::new(format!("link{k}"), shape).mass(1.0).at([0.2 * k as f64 + 0.1, 0.0, 0.0])
    };
    for k in 0..8 {
        scene.add(link(k));
        let above = if k == 0 { "world".to_string() } else { format!("link{}", k - 1) };
        let kind = if k % 2 == 0 { JointKind::Hinge } else { JointKind::Ball };
        let mut joint = JointItem::new(format!("joint{k}"), kind, above, format!("link{k}"));
        joint = joint.anchor([0.2 * k as f64, 0.0, 0.0]).axis([0.0, 1.0, 0.0]);
        if k % 2 == 0 {
            joint.limits = Some([-0.1, 0.1]);
            joint.friction = 0.05;
            joint.armature = 0.01;
            joint.motor = Some(Motor::Velocity { target: 1.0, max: 0.1 });
        }
        scene.add(joint);
    }
    scene.add(ParticleSet::at("tip", [1.6, 0.0, -0.5]).mass(50.0));
    let mut rope = JointItem::new("rope", JointKind::Distance { length: None }, "link7", "tip");
    rope.anchors = Anchors::Local([Vec3::new(0.1, 0.0, 0.0), Vec3::zeros()]);
    scene.add(rope);
    // A second island, smaller than the first.
    scene.add(ParticleSet::at("bob", [5.0, 1.0, 0.0]));
    let rod = JointItem::new("rod", JointKind::Distance { length: None }, "world", "bob");
    scene.add(rod.anchor([5.0, 0.0, 0.0]));
    scene
}

/// A soft block and a cloth, held at one side.
fn soft() -> Scene {
    let mut scene = Scene { dt: 0.01, ..Scene::default() };
    scene.method = Method::Implicit(Implicit::default());
    let block = Solid::Box { size: Vec3::new(0.3, 0.1, 0.1), cells: [6, 2, 2] };
    scene.add(SoftBody::new("block", block));
    let (size, cells, diagonals) = ([0.3, 0.3], [5, 5], Diagonals::Alternating);
    let sheet = Sheet::Grid { size, cells, diagonals };
    scene.add(Cloth { position: Vec3::new(0.0, 1.0, 0.0), ..Cloth::new("cloth", sheet) });
    scene.add(Fix::points("block[0:7]"));
    scene.add(Fix::points("cloth[0:6]"));
    scene
}

#[test]
fn a_warm_step_takes_no_memory() {
    // Both in one test: two at once would count each other's calls.
    let mut scene_of_joints = mechanism();
    scene_of_joints.method = Method::Impulse(Impulse { substeps: 2, ..Impulse::default() });
    let mut sim = scene_of_joints.build().unwrap();
    for _ in 0..50 {
        sim.step().unwrap();
    }
    let before = CALLS.load(Ordering::Relaxed);
    for _ in 0..500 {
        sim.step().unwrap();
    }
    let calls = CALLS.load(Ordering::Relaxed) - before;
    assert_eq!(calls, 0, "impulse asked for memory {calls} times in 500 steps");
    // `TwoLevel` is not among them: it gathers nodes anew for each matrix.
    let cg = |preconditioner| LinearSolver::Cg { preconditioner, tolerance: 1e-8, most_iterations: 1000 };
    let solvers = [
        cg(Preconditioner::None),
        cg(Preconditioner::BlockJacobi),
        cg(Preconditioner::IncompleteCholesky),
        LinearSolver::Direct,
    ];
    for solver in solvers {
        let mut sim = soft().build().unwrap();
        sim.method = Method::Implicit(Implicit { solver, newton: 3, ..Implicit::default() });
        for _ in 0..3 {
            sim.step().unwrap();
        }
        let before = CALLS.load(Ordering::Relaxed);
        for _ in 0..20 {
            sim.step().unwrap();
        }
        let calls = CALLS.load(Ordering::Relaxed) - before;
        assert_eq!(calls, 0, "{solver:?} asked for memory {calls} times in 20 implicit steps");
    }
    for (name, integrator) in Integrator::ALL {
        let mut sim = scene().build().unwrap();
        sim.method = Method::Explicit(Explicit { integrator: *integrator, tolerance: 1e-3, min_step: 1e-12 });
        for _ in 0..3 {
            sim.step().unwrap();
        }
        let before = CALLS.load(Ordering::Relaxed);
        for _ in 0..100 {
            sim.step().unwrap();
        }
        let calls = CALLS.load(Ordering::Relaxed) - before;
        assert_eq!(calls, 0, "{name} asked for memory {calls} times in 100 steps");
    }
}
