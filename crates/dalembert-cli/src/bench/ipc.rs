//! Intersection-free contact: tilted boxes that fall on a plane.

use std::time::Instant;

use dalembert::math::rotation::exp;
use dalembert::prelude::*;

use super::scenes::build;
use super::{Bencher, on_one_thread};

/// Time that this thread has worked, so that what else runs on the machine counts least; wall time where the system does
/// not tell.
struct Clock {
    worked: Option<f64>,
    wall: Instant,
}

impl Clock {
    fn now() -> Self {
        Self { worked: Self::worked(), wall: Instant::now() }
    }

    fn worked() -> Option<f64> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        Some(text.split(' ').next()?.parse::<f64>().ok()? * 1e-9)
    }

    fn seconds(&self) -> f64 {
        match (self.worked, Self::worked()) {
            (Some(from), Some(to)) => to - from,
            _ => self.wall.elapsed().as_secs_f64(),
        }
    }
}

/// n³ boxes of 0.1 m and 1 kg, each turned a little, above a plane; friction 0.5, h = 10 ms.
pub(super) fn boxes(n: usize, settings: Ipc) -> Scene {
    let mut scene =
        Scene { method: Method::Ipc(Ipc { friction: 0.5, ..settings }), dt: 0.01, ..Scene::default() };
    scene.add(Ground::default());
    let axis = Vec3::new(0.3, 0.5, 1.0).normalize();
    for i in 0..n {
        for j in 0..n {
            for k in 0..n {
                let angle = (3.0 * ((i * 7 + j * 3 + k * 5) % 11) as f64).to_radians();
                let place = |i: usize| 0.13 * (i as f64 - 0.5 * n as f64);
                let shape = Shape::Box { size: Vec3::repeat(0.1) };
                let body = RigidBody::new(format!("box{i}_{j}_{k}"), shape).mass(1.0);
                scene.add(body.at([place(i), place(j), 0.09 + 0.14 * k as f64]).turned(exp(&(axis * angle))));
            }
        }
    }
    scene
}

/// Mean over the steps of the fall with contact, and over the last steps.
pub(super) fn ipc_boxes(b: &mut Bencher) {
    for (n, until) in [(3, 100), (5, 100)] {
        let mut sim = build(boxes(n, Ipc::default()));
        let mut rows = Vec::new();
        on_one_thread(|| {
            for _ in 0..until {
                let clock = Clock::now();
                match sim.step() {
                    Ok(report) => {
                        if std::env::var("IPC_DEBUG").is_ok() {
                            eprintln!(
                                "{:.2} {} it {} ev {} contacts gap {:.2e} {} {:.2}ms",
                                report.time,
                                report.iterations,
                                report.evaluations,
                                report.contacts,
                                report.smallest_gap,
                                report.unfinished,
                                1e3 * clock.seconds()
                            );
                        }
                        rows.push((clock.seconds(), report))
                    }
                    Err(error) => {
                        eprintln!("{n}^3 boxes: {error}");
                        break;
                    }
                }
            }
        });
        let mut note = |name: &str, part: &[(f64, StepReport)]| {
            if part.is_empty() {
                return;
            }
            let count = part.len() as f64;
            let mean = |f: &dyn Fn(&StepReport) -> f64| part.iter().map(|(_, r)| f(r)).sum::<f64>() / count;
            let time = part.iter().map(|(t, _)| t).sum::<f64>() / count;
            let gap = part.iter().map(|(_, r)| r.smallest_gap).fold(f64::INFINITY, f64::min);
            let stuck = part.iter().filter(|(_, r)| r.unfinished).count();
            let note = format!(
                "{:.1} iterations, {:.0} contacts, smallest gap {gap:.1e} m, {stuck} unfinished",
                mean(&|r| f64::from(r.iterations)),
                mean(&|r| f64::from(r.contacts)),
            );
            b.row(name, n * n * n, time, note);
        };
        let window = |from: usize, to: usize| &rows[rows.len().min(from)..rows.len().min(to)];
        let first = if n == 10 { 20 } else { 10 };
        note("boxes_impact", window(first, first + 10));
        note("boxes_settled", window(30, 100));
    }
}
