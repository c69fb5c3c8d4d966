//! Bodies under joints, method `impulse`: the scenes that `benches/peers/rapier` times as well.
//!
//! Time depends on the motion, since the projection takes as many rounds as the gaps need, and the first steps of a
//! chain that becomes taut are solved twice. So a row is the same window of steps from the start for every length, run
//! again and again: the mean of each step's fastest time.

use std::time::Instant;

use dalembert::prelude::*;
use dalembert::step::worst_gap;

use super::scenes::{build, step};
use super::{Bencher, on_one_thread};

/// Steps of a chain that are timed: one second.
const STEPS: u32 = 60;
/// Length of a link [m].
const LINK: f64 = 0.2;

fn impulse(title: &str, projection: bool) -> Scene {
    Scene {
        title: title.into(),
        dt: 1.0 / 60.0,
        gravity: Vec3::new(0.0, -9.81, 0.0),
        method: Method::Impulse(Impulse { projection, ..Impulse::default() }),
        ..Scene::default()
    }
}

/// Links of 1 kg in a row along x, the first hung from the world, all at rest.
fn chain(title: &str, links: usize, kind: JointKind, tip_mass: f64, projection: bool) -> Scene {
    let mut scene = impulse(title, projection);
    let mut last = String::from("world");
    for i in 0..links {
        let (name, x) = (format!("link{i}"), LINK * i as f64);
        let mass = if i + 1 == links { tip_mass } else { 1.0 };
        let shape = Shape::Box { size: Vec3::new(LINK, 0.08, 0.08) };
        scene.add(RigidBody::new(&name, shape).mass(mass).at([x + 0.5 * LINK, 0.0, 0.0]));
        scene.add(JointItem::new(format!("joint{i}"), kind, last, &name).anchor([x, 0.0, 0.0]));
        last = name;
    }
    scene
}

/// What a window of steps showed.
struct Window {
    /// Mean over the steps of each one's fastest time [s].
    seconds: f64,
    /// Worst gap of a joint after any step [m or rad].
    gap: f64,
    /// Rounds of the projection per step.
    rounds: f64,
}

/// Runs `steps` steps from the start, `runs` times, and once more to look at every gap.
fn window(sim: &mut Simulation, steps: u32, runs: u32) -> Window {
    let start = sim.state.clone();
    step(sim); // makes the buffers
    let mut fastest = vec![f64::INFINITY; steps as usize];
    for _ in 0..runs {
        sim.state.copy_from(&start);
        for fastest in &mut fastest {
            let clock = Instant::now();
            step(sim);
            *fastest = fastest.min(clock.elapsed().as_secs_f64());
        }
    }
    sim.state.copy_from(&start);
    let (mut gap, mut rounds) = (0.0f64, 0);
    for _ in 0..steps {
        step(sim);
        gap = gap.max(worst_gap(&sim.model, &sim.state));
        rounds += sim.report.projections;
    }
    Window {
        seconds: fastest.iter().sum::<f64>() / f64::from(steps),
        gap,
        rounds: f64::from(rounds) / f64::from(steps),
    }
}

/// The rows of one kind of joint.
fn chains(b: &mut Bencher, name: &str, kind: JointKind) {
    for projection in [false, true] {
        let mut first = 0.0;
        for n in [10, 30, 100, 1_000, 10_000, 100_000] {
            let runs = b.repeat.min(if n <= 1_000 { 15 } else { 3 });
            let clock = Instant::now();
            let mut sim = build(chain(name, n, kind, 1.0, projection));
            let building = clock.elapsed().as_secs_f64();
            let w = on_one_thread(|| window(&mut sim, STEPS, runs));
            if n == 100 {
                first = w.seconds / n as f64;
            }
            let mut note = String::new();
            if projection {
                note += &format!(", {:.1} rounds", w.rounds);
            }
            if n > 100 {
                note += &format!("; {:.2} times the cost at 100", w.seconds / n as f64 / first);
            }
            if n == 100_000 {
                note += &format!("; built in {building:.2} s");
            }
            let name = if projection { format!("{name}_proj") } else { name.into() };
            b.row_with_gap(&name, n, w.seconds, w.gap, note);
        }
    }
}

pub(super) fn chain_ball(b: &mut Bencher) {
    chains(b, "chain_ball", JointKind::Ball);
}

pub(super) fn chain_hinge(b: &mut Bencher) {
    chains(b, "chain_hinge", JointKind::Hinge);
}

/// Ragdolls of 11 boxes and 10 joints, thrown spinning so that the joints have to work.
pub(super) fn ragdolls(b: &mut Bencher) {
    let count = 1_000;
    let mut scene = impulse("ragdolls", true);
    add_ragdolls(&mut scene, count, Vec3::new(2.0, 3.0, 5.0));
    let mut sim = build(scene);
    let w = on_one_thread(|| window(&mut sim, 60, b.repeat.min(3)));
    b.row_with_gap("ragdolls", count, w.seconds, w.gap, format!(", {:.1} rounds; 11 bodies each", w.rounds));
}

/// Ragdolls of 11 boxes and 10 joints in a square, y up, all with the same spin [rad/s].
pub(super) fn add_ragdolls(scene: &mut Scene, count: usize, spin: Vec3) {
    for r in 0..count {
        let side = (count as f64).sqrt().ceil() as usize;
        let o = Vec3::new((r % side) as f64 * 2.0, 1.2, (r / side) as f64 * 2.0);
        let part = |scene: &mut Scene, name: &str, x: f64, y: f64, half_x: f64, half_y: f64| {
            let (name, at) = (format!("{name}{r}"), Vec3::new(x, y, 0.0));
            let shape = Shape::Box { size: Vec3::new(2.0 * half_x, 2.0 * half_y, 0.12) };
            let body = RigidBody::new(&name, shape).at((o + at).into()).velocity(spin.cross(&at).into());
            scene.add(body.angular_velocity(spin.into()));
            name
        };
        let join = |scene: &mut Scene, a: &str, b: &str, x: f64, y: f64, axis: Option<[f64; 3]>| {
            let kind = if axis.is_some() { JointKind::Hinge } else { JointKind::Ball };
            let joint =
                JointItem::new(format!("{a}-{b}"), kind, a, b).anchor((o + Vec3::new(x, y, 0.0)).into());
            scene.add(joint.axis(axis.unwrap_or([0.0, 0.0, 1.0])));
        };
        let pelvis = part(scene, "pelvis", 0.0, 0.0, 0.14, 0.09);
        let chest = part(scene, "chest", 0.0, 0.32, 0.16, 0.2);
        let head = part(scene, "head", 0.0, 0.66, 0.09, 0.11);
        join(scene, &pelvis, &chest, 0.0, 0.105, None);
        join(scene, &chest, &head, 0.0, 0.535, None);
        for (side, hand) in [(-1.0, "left"), (1.0, "right")] {
            let name = |part: &str| format!("{hand} {part} ");
            let thigh = part(scene, &name("thigh"), side * 0.09, -0.32, 0.06, 0.2);
            let shin = part(scene, &name("shin"), side * 0.09, -0.75, 0.05, 0.2);
            join(scene, &pelvis, &thigh, side * 0.09, -0.105, None);
            join(scene, &thigh, &shin, side * 0.09, -0.535, Some([1.0, 0.0, 0.0]));
            let upper = part(scene, &name("arm"), side * 0.36, 0.44, 0.15, 0.05);
            let fore = part(scene, &name("forearm"), side * 0.68, 0.44, 0.15, 0.045);
            join(scene, &chest, &upper, side * 0.185, 0.44, None);
            join(scene, &upper, &fore, side * 0.52, 0.44, Some([0.0, 1.0, 0.0]));
        }
    }
}

/// 20 links with a heavy tip over 10 s; n is the tip's mass.
pub(super) fn tip_mass(b: &mut Bencher) {
    for tip in [1, 100, 1_000] {
        let mut sim = build(chain("tip_mass", 20, JointKind::Ball, tip as f64, true));
        let w = on_one_thread(|| window(&mut sim, 600, b.repeat.min(3)));
        b.row_with_gap(
            "tip_mass",
            tip,
            w.seconds,
            w.gap,
            format!(", {:.1} rounds; 20 links, 10 s", w.rounds),
        );
    }
}
