//! Robots of others on the ground: they stand, their feet do not slip; `cargo xtask conformance` runs this.

use std::path::PathBuf;

use dalembert::bodies::articulated::TreeWork;
use dalembert::collide::rigid::WORLD;
use dalembert::contact::ColliderOwner;
use dalembert::prelude::*;
use dalembert::state::ContactPoint;
use dalembert_formats::robot::{ReadOptions, read_robot};

fn on_ground(model: &str, keyframe: &str, dt: f64) -> Simulation {
    let shared =
        PathBuf::from(std::env::var_os("DALEMBERT_SHARED").expect("DALEMBERT_SHARED names the shared data"));
    let (robot, _) = read_robot(shared.join("models").join(model), &ReadOptions::default()).unwrap();
    let mut scene = Scene { method: Method::Impulse(Impulse::default()), dt, ..Scene::default() };
    scene.add(Ground::default());
    let mut item = RobotItem::new("robot", robot);
    item.keyframe = keyframe.into();
    scene.add(item);
    scene.build().unwrap_or_else(|e| panic!("{model}: {e}"))
}

/// Runs, and returns how far the points of links that press on the ground with at least a tenth of the weight slipped
/// over it in the last `watch` seconds (their velocities along the ground, added up: a foot that rolls does not slip)
/// \[m\], the weight carried by the ground at the end over the weight, and the deepest overlap \[m\].
fn run(sim: &mut Simulation, seconds: f64, watch: f64) -> (f64, f64, f64) {
    let weight = 9.81 * sim.model.mass();
    let model = sim.model.clone();
    let contact = model.rigid_contact.as_ref().expect("contact");
    let tree = &model.robots[0].robot.tree;
    let mut work = TreeWork::new(tree);
    let mut seen: Vec<([u32; 2], Vec3)> = Vec::new();
    let mut deepest = 0.0f64;
    let bodies = |c: &ContactPoint| [c.a, c.b].map(|k| contact.colliders[k as usize].body);
    let on_ground = |c: &&ContactPoint| bodies(c).contains(&WORLD);
    for _ in 0..(seconds / sim.dt).round() as usize {
        deepest = deepest.min(sim.step().unwrap().smallest_gap);
        if sim.state.time < seconds - watch {
            continue;
        }
        tree.kinematics(model.robots[0].q(&sim.state), &mut work);
        tree.velocities(model.robots[0].v(&sim.state), &mut work);
        let pressing = sim.state.contacts.iter().filter(on_ground);
        for c in pressing.filter(|c| c.force.z.abs() > 0.1 * weight) {
            let body = bodies(c).into_iter().find(|b| *b != WORLD).expect("a link");
            let ColliderOwner::Link { link, .. } = contact.owners[body as usize] else { continue };
            let way = sim.dt * tree.point_velocity(link as usize, &c.point, &work).linear;
            let way = way - way.dot(&c.normal) * c.normal;
            match seen.iter_mut().find(|s| s.0 == [c.a, c.b]) {
                Some((_, sum)) => *sum += way,
                None => seen.push(([c.a, c.b], way)),
            }
        }
    }
    let slip = seen.iter().map(|s| s.1.norm()).fold(0.0, f64::max);
    let carried: f64 = sim.state.contacts.iter().filter(on_ground).map(|c| c.force.z.abs()).sum();
    (slip, carried / weight, -deepest)
}

/// Stands for ten seconds: the ground carries the weight, feet slip by less than a millimetre after the first second.
fn stands(model: &str, keyframe: &str, height: f64) {
    let mut sim = on_ground(model, keyframe, 2e-3);
    let (slip, carried, deepest) = run(&mut sim, 10.0, 9.0);
    let base = sim.model.robots[0].q(&sim.state)[2];
    println!(
        "{model}: slip {slip:.1e} m in 9 s, carries {carried:.6} of its weight, deepest {deepest:.1e} m, base at {base:.4} m"
    );
    assert!((carried - 1.0).abs() < 1e-2, "{model}: {carried}");
    assert!(base > height, "{model} has fallen: its base is {base} m high");
    assert!(slip < 1e-3, "{model}: a foot slipped by {slip:e} m");
}

#[test]
fn a_quadruped_stands_under_its_servos() {
    stands("unitree_go1/go1.xml", "home", 0.2);
}

#[test]
fn a_humanoid_stands_under_its_servos() {
    stands("unitree_g1/g1.xml", "stand", 0.75);
}

#[test]
fn a_quadruped_without_a_keyframe_stands_under_its_servos() {
    // Its servos hold the pose of the file, straight legs, as they do in MuJoCo.
    stands("anybotics_anymal_c/anymal_c.xml", "", 0.55);
}

#[test]
fn the_humanoid_falls_and_lies() {
    let mut sim = on_ground("mujoco_humanoid/humanoid.xml", "squat", 2e-3);
    let (_, carried, deepest) = run(&mut sim, 10.0, 0.0);
    let kinetic = sim.energy().kinetic;
    println!(
        "humanoid: carries {carried:.4} of its weight, deepest {deepest:.1e} m, kinetic {kinetic:.1e} J"
    );
    assert!((carried - 1.0).abs() < 0.05 && kinetic < 1e-2, "{carried} {kinetic}");
}

#[test]
fn a_robot_that_stands_in_the_ground_without_room_for_its_legs_stays_calm() {
    // Its base is fixed at the height of the ground, and the hulls of its links overlap each other.
    for dt in [1e-3, 2e-3, 5e-3] {
        let mut sim = on_ground("urdf_solo12/solo12.urdf", "", dt);
        let mut fastest = 0.0f64;
        for _ in 0..(1.0 / dt).round() as usize {
            sim.step().unwrap_or_else(|e| panic!("{dt}: {e}"));
            fastest = sim.model.robots[0].v(&sim.state).iter().fold(fastest, |most, v| most.max(v.abs()));
        }
        println!("solo12 in the ground, dt {dt}: no joint faster than {fastest:.1} rad/s");
        // A leg of 0.3 m that falls from the horizontal reaches (3 g/l)^½ = 10 rad/s, its lower half alone 14.
        assert!(fastest < 30.0, "{dt}: {fastest}");
    }
}
