//! Intersection-free contact: tilted boxes that fall on a plane.

use std::time::Instant;

use dalembert::math::rotation::exp;
use dalembert::prelude::*;

use super::scenes::build;
use super::{Bencher, on_one_thread};

/// Time that this thread has worked, so that what else runs on the machine counts least; wall time where the system does
/// not tell.
pub(super) struct Clock {
    worked: Option<f64>,
    wall: Instant,
}

impl Clock {
    pub(super) fn now() -> Self {
        Self { worked: Self::worked(), wall: Instant::now() }
    }

    fn worked() -> Option<f64> {
        // The system writes the time down when it looks at the thread: at its ticks, every few milliseconds, or when asked to.
        std::thread::yield_now();
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        Some(text.split(' ').next()?.parse::<f64>().ok()? * 1e-9)
    }

    pub(super) fn seconds(&self) -> f64 {
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

/// Steps of the windows: boxes come to rest, and lie still.
const SETTLED: std::ops::Range<usize> = 30..100;
const RESTING: std::ops::Range<usize> = 200..230;
/// How often boxes fall.
const RUNS: usize = 5;

/// Mean over the steps of the fall with contact, over those in which the boxes come to rest, and over later ones in which
/// they lie still, awake. The boxes fall several times, always the same way, and of each step the fastest time counts.
pub(super) fn ipc_boxes(b: &mut Bencher) {
    // What a contact costs in each window of the fewest boxes [s].
    let mut few: Vec<(String, f64)> = Vec::new();
    for n in [3, 5, 10] {
        let mut rows: Vec<(f64, StepReport)> = Vec::new();
        for run in 0..RUNS {
            let mut sim = build(boxes(n, Ipc::default()));
            on_one_thread(|| {
                for k in 0..RESTING.end {
                    let clock = Clock::now();
                    match sim.step() {
                        Ok(report) if run == 0 => rows.push((clock.seconds(), report)),
                        Ok(_) => rows[k].0 = rows[k].0.min(clock.seconds()),
                        Err(error) => {
                            eprintln!("{n}^3 boxes: {error}");
                            break;
                        }
                    }
                }
            });
        }
        let mut note = |name: &str, part: &[(f64, StepReport)]| {
            if part.is_empty() {
                return;
            }
            let count = part.len() as f64;
            let mean = |f: &dyn Fn(&StepReport) -> f64| part.iter().map(|(_, r)| f(r)).sum::<f64>() / count;
            let time = part.iter().map(|(t, _)| t).sum::<f64>() / count;
            let gap = part.iter().map(|(_, r)| r.smallest_gap).fold(f64::INFINITY, f64::min);
            let stuck = part.iter().filter(|(_, r)| r.unfinished).count();
            let contacts = mean(&|r| f64::from(r.contacts));
            let each = time / contacts.max(1.0);
            let mut note = format!(
                "{:.1} iterations, {contacts:.0} contacts, {:.2} µs each, smallest gap {gap:.1e} m, {stuck} unfinished",
                mean(&|r| f64::from(r.iterations)),
                1e6 * each,
            );
            match few.iter().find(|f| f.0 == name) {
                Some((_, least)) => {
                    note += &format!("; a contact costs {:.2} times that of 27", each / least)
                }
                None => few.push((name.into(), each)),
            }
            b.row(name, n * n * n, time, note);
        };
        let window = |w: std::ops::Range<usize>| &rows[rows.len().min(w.start)..rows.len().min(w.end)];
        let first = if n == 10 { 20 } else { 10 };
        note("boxes_impact", window(first..first + 10));
        note("boxes_settled", window(SETTLED));
        note("boxes_resting", window(RESTING));
        boxes_asleep(b, n);
    }
}

/// The same boxes with sleep allowed: a step when all of them are asleep.
fn boxes_asleep(b: &mut Bencher, n: usize) {
    const MOST: usize = 400;
    let mut sim = build(boxes(n, Ipc { sleep_after: 0.1, sleep_speed: 0.05, ..Ipc::default() }));
    let (mut fell, mut time) = (None, 0.0);
    on_one_thread(|| {
        for step in 0..MOST {
            match sim.step() {
                Ok(report) if report.iterations == 0 => {
                    fell = Some(step);
                    break;
                }
                Ok(_) => {}
                Err(error) => return eprintln!("{n}^3 boxes: {error}"),
            }
        }
        let clock = Clock::now();
        for _ in 0..100 {
            if let Err(error) = sim.step() {
                return eprintln!("{n}^3 boxes: {error}");
            }
        }
        time = clock.seconds() / 100.0;
    });
    match fell {
        Some(step) => b.row("boxes_asleep", n * n * n, time, format!("all asleep from step {step} on")),
        None => eprintln!("{n}^3 boxes: not all asleep after {MOST} steps"),
    }
}

/// A closed ring with 12 × 8 corners in the xy plane.
fn ring(radius: f64, tube: f64) -> Option<TriangleMesh> {
    let (around, across) = (12u32, 8u32);
    let mut points = Vec::new();
    for i in 0..around {
        let (s, c) = (std::f64::consts::TAU * f64::from(i) / f64::from(around)).sin_cos();
        for j in 0..across {
            let (t, u) = (std::f64::consts::TAU * f64::from(j) / f64::from(across)).sin_cos();
            points.push(Vec3::new((radius + tube * u) * c, (radius + tube * u) * s, tube * t));
        }
    }
    let at = |i: u32, j: u32| (i % around) * across + j % across;
    let mut triangles = Vec::new();
    for i in 0..around {
        for j in 0..across {
            let (a, b, c, d) = (at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1));
            triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    TriangleMesh::new(points, triangles).ok()
}

/// Two bodies at random, thrown at each other above a plane: boxes, cones, cylinders, rings, and every fifth time two rings
/// that go through each other. Does anything ever intersect, and do the rings stay together?
pub(super) fn ipc_drops(b: &mut Bencher) {
    let drops = 20 * b.repeat as usize;
    let steps = 40;
    let (radius, tube) = (0.1, 0.03);
    let mut random = dalembert::math::Random::new(17);
    let Some(torus) = ring(radius, tube) else { return };
    let torus = Shape::Mesh(std::sync::Arc::new(torus));
    let (mut bad, mut failed, mut unfinished, mut refused, mut parted, mut time) = (0, 0, 0, 0, 0, 0.0);
    let mut ran = 0;
    for drop in 0.. {
        if ran == drops || refused > 10 * drops {
            break;
        }
        let mut one = |low: f64, high: f64| random.between(low, high);
        let settings = Ipc { friction: one(0.0, 1.0), ..Ipc::default() };
        let mut scene = Scene { method: Method::Ipc(settings), dt: 0.01, ..Scene::default() };
        scene.add(Ground::default());
        let linked = drop % 5 == 4;
        for (k, name) in ["low", "high"].into_iter().enumerate() {
            let shape = match (drop + k) % 4 {
                _ if linked => torus.clone(),
                0 => Shape::Box { size: Vec3::new(one(0.02, 0.3), one(0.02, 0.3), one(0.02, 0.3)) },
                1 => Shape::Cone { radius: one(0.03, 0.15), length: one(0.05, 0.3) },
                2 => Shape::Cylinder { radius: one(0.03, 0.15), length: one(0.02, 0.3) },
                _ => torus.clone(),
            };
            let mut place = [one(-0.05, 0.05), one(-0.05, 0.05), 0.25 + 0.45 * k as f64];
            let mut turn = Vec3::new(one(-3.0, 3.0), one(-3.0, 3.0), one(-3.0, 3.0));
            if linked {
                // One lies, the other stands across its rim.
                let shift = k as f64 * radius;
                place = [shift + one(-0.01, 0.01), one(-0.01, 0.01), 0.3 + one(-0.01, 0.01)];
                turn = Vec3::new(0.5 * std::f64::consts::PI * k as f64, 0.0, 0.0) + 0.05 * turn;
            }
            let body = RigidBody::new(name, shape).at(place).turned(exp(&turn));
            let body = body.velocity([one(-1.0, 1.0), one(-1.0, 1.0), -3.0 * k as f64]);
            let spin = exp(&turn) * Vec3::new(one(-9.0, 9.0), one(-9.0, 9.0), one(-9.0, 9.0));
            scene.add(body.angular_velocity(spin.into()));
        }
        // A wide body may begin inside the other; that is refused and not counted.
        let Ok(mut sim) = scene.build() else {
            refused += 1;
            continue;
        };
        ran += 1;
        if drops >= 1000 && ran % 500 == 0 {
            eprintln!("{ran} of {drops} drops, {bad} states with an intersection, {failed} failed");
        }
        let clock = Clock::now();
        let model = sim.model.clone();
        let Some(contact) = &model.ipc else { continue };
        let mut x = Vec::new();
        for _ in 0..steps {
            match sim.step() {
                Ok(report) => unfinished += usize::from(report.unfinished),
                Err(error) => {
                    eprintln!("drop {drop}: {error}");
                    failed += 1;
                    break;
                }
            }
            contact.geometry.positions(&sim.state.q, &mut x);
            let below = x.iter().any(|x| !(x.z > 0.0));
            if below || !dalembert::collide::exact::intersections(&contact.geometry.surface, &x).is_empty() {
                bad += 1;
            }
        }
        time += clock.seconds();
        let q = &sim.state.q;
        let apart = (0..3).map(|k| (q[k] - q[12 + k]).powi(2)).sum::<f64>().sqrt();
        parted += usize::from(linked && apart > 2.0 * (radius + tube));
    }
    let note = format!(
        "{ran} drops of {steps} steps: {bad} states with an intersection, {parted} links opened, {failed} failed, {unfinished} unfinished steps"
    );
    b.row("drops", ran.max(1), time / (ran.max(1) * steps) as f64, note);
}
