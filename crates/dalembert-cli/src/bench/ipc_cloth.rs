//! Intersection-free cloth on a fixed ball: the scene of `benches/peers/ipctk/mujoco_cloth.py`.

use dalembert::prelude::*;
use dalembert::scene::{Cloth, Sheet};

use super::ipc::Clock;
use super::scenes::build;
use super::{Bencher, on_one_thread};

/// A sheet of 1 m and 0.3 kg with n × n nodes, 6 cm above a ball of 0.3 m; friction 0.3, h = 5 ms. It moves at metres per
/// second, so Newton stops at 5 mm/s (1 mm/s where it is slow) and what sticks may creep at 1 cm/s.
fn scene(n: usize) -> Scene {
    let settings =
        Ipc { friction: 0.3, friction_speed: 1e-2, friction_passes: 1, tolerance: 5e-3, ..Ipc::default() };
    let mut scene = Scene { method: Method::Ipc(settings), dt: 0.005, ..Scene::default() };
    scene.add(RigidBody::new("ball", Shape::Sphere { radius: 0.3 }));
    scene.add(Fix::points("ball"));
    let sheet = Sheet::Grid { size: [1.0, 1.0], cells: [n - 1, n - 1], diagonals: Default::default() };
    let mut cloth = Cloth::new("cloth", sheet);
    (cloth.young, cloth.poisson, cloth.thickness, cloth.density) = (1e4, 0.3, 1e-3, 300.0);
    cloth.position = Vec3::new(0.0, 0.0, 0.36);
    scene.add(cloth);
    scene
}

/// Mean and worst window of 20 steps, from 0.1 s on, when it touches, to 1 s.
pub(super) fn ipc_cloth(b: &mut Bencher) {
    const WINDOW: usize = 20;
    for n in [21, 31] {
        let mut sim = build(scene(n));
        let mut windows = Vec::new();
        let (mut iterations, mut unfinished, mut contacts, mut gap) = (0, 0, 0, f64::INFINITY);
        on_one_thread(|| {
            for _ in 0..200 / WINDOW {
                let clock = Clock::now();
                for _ in 0..WINDOW {
                    match sim.step() {
                        Ok(report) => {
                            iterations += report.iterations;
                            unfinished += u32::from(report.unfinished);
                            contacts = contacts.max(report.contacts);
                            gap = gap.min(report.smallest_gap);
                        }
                        Err(error) => return eprintln!("cloth of {n}: {error}"),
                    }
                }
                windows.push(clock.seconds() / WINDOW as f64);
            }
        });
        if windows.len() < 200 / WINDOW {
            continue;
        }
        let touching = &windows[1..];
        let mean = touching.iter().sum::<f64>() / touching.len() as f64;
        let worst = touching.iter().copied().fold(0.0, f64::max);
        let note = format!(
            "worst window {:.1} ms, {:.1} iterations, up to {contacts} contacts, smallest gap {gap:.1e} m, {unfinished} unfinished",
            1e3 * worst,
            f64::from(iterations) / 200.0,
        );
        b.row("cloth_on_ball", n, mean, note);
    }
}
