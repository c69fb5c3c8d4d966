//! Piles, pyramids, heaps and ragdolls on the floor: the scenes and windows of `dalembert bench`, y up.

use rapier3d_f64::prelude::*;

use super::{Kind, Scene};

/// Time that this thread has worked; wall time where the system does not tell.
fn worked() -> f64 {
    // The system writes the time down when it looks at the thread: at its ticks, every few milliseconds, or when asked to.
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match text.split(' ').next().and_then(|t| t.parse::<f64>().ok()) {
        Some(ns) => ns * 1e-9,
        None => {
            use std::time::{SystemTime, UNIX_EPOCH};
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |t| t.as_secs_f64())
        }
    }
}

fn floor(s: &mut Scene, friction: f64) {
    s.world.insert(
        RigidBodyBuilder::fixed().translation(Vector::new(0.0, -0.5, 0.0)),
        ColliderBuilder::cuboid(500.0, 0.5, 500.0).friction(friction),
    );
}

fn add(s: &mut Scene, at: Vector, shape: ColliderBuilder, friction: f64) -> RigidBodyHandle {
    let body = RigidBodyBuilder::dynamic().translation(at).can_sleep(false);
    s.world.insert(body, shape.density(1000.0).friction(friction)).0
}

fn jitter(i: usize) -> f64 {
    ((i * 2_654_435_761) % 1000) as f64 / 500.0 - 1.0
}

fn pile(s: &mut Scene, n: usize, spheres: bool) {
    let r = 0.05;
    let side = ((n as f64 / 2.0).cbrt().round() as usize).max(2);
    s.world.integration_parameters.dt = 0.002;
    floor(s, 0.5);
    if spheres {
        let w = side as f64 * r * 1.15 + 0.06;
        for (x, z, a, b) in [(w, 0.0, 0.05, w), (-w, 0.0, 0.05, w), (0.0, w, w, 0.05), (0.0, -w, w, 0.05)] {
            s.world.insert(
                RigidBodyBuilder::fixed().translation(Vector::new(x, 5.0, z)),
                ColliderBuilder::cuboid(a, 5.0, b).friction(0.5),
            );
        }
    }
    let place = |i: usize| (i as f64 - (side as f64 - 1.0) / 2.0) * r * 2.2;
    for i in 0..n {
        let x = place(i % side) + 0.005 * jitter(2 * i);
        let z = place((i / side) % side) + 0.005 * jitter(2 * i + 1);
        let y = r * 1.2 + (i / (side * side)) as f64 * r * 2.2;
        let shape = if spheres { ColliderBuilder::ball(r) } else { ColliderBuilder::cuboid(r, r, r) };
        add(s, Vector::new(x, y, -z), shape, 0.5);
    }
}

fn cube(s: &mut Scene, x: f64, y: f64, z: f64) {
    add(s, Vector::new(x, y, z), ColliderBuilder::cuboid(0.5, 0.5, 0.5), 0.6);
}

fn pyramid(s: &mut Scene, n: usize) {
    floor(s, 0.6);
    let base = (1..).find(|b| b * (b + 1) / 2 >= n).unwrap_or(1);
    for row in 0..base {
        for i in 0..base - row {
            cube(s, (i as f64 - (base - row) as f64 * 0.5) * 1.05, 0.5 + row as f64, 0.0);
        }
    }
}

fn heap(s: &mut Scene, n: usize) {
    floor(s, 0.6);
    let side = (n as f64).cbrt().ceil() as usize;
    for i in 0..n {
        let (x, z, y) = (i % side, (i / side) % side, i / (side * side));
        let j = ((i * 2_654_435_761) % 1000) as f64 * 2.0e-4;
        cube(s, x as f64 * 1.1 + j, 0.6 + y as f64 * 1.1, z as f64 * 1.1 - j);
    }
}

fn ragdolls(s: &mut Scene, count: usize) {
    floor(s, 0.6);
    let v = |x: f64, y: f64| Vector::new(x, y, 0.0);
    let rows = (count as f64).sqrt().ceil() as usize;
    for r in 0..count {
        let o = Vector::new((r % rows) as f64 * 2.0, 1.2, (r / rows) as f64 * 2.0);
        let part = |s: &mut Scene, x: f64, y: f64, hx: f64, hy: f64| {
            add(s, o + v(x, y), ColliderBuilder::cuboid(hx, hy, 0.06), 0.6)
        };
        let pelvis = part(s, 0.0, 0.0, 0.14, 0.09);
        let chest = part(s, 0.0, 0.32, 0.16, 0.2);
        let head = part(s, 0.0, 0.66, 0.09, 0.11);
        s.pin(pelvis, v(0.0, 0.105), chest, v(0.0, -0.215), None);
        s.pin(chest, v(0.0, 0.215), head, v(0.0, -0.125), None);
        for side in [-1.0, 1.0] {
            let thigh = part(s, side * 0.09, -0.32, 0.06, 0.2);
            let shin = part(s, side * 0.09, -0.75, 0.05, 0.2);
            s.pin(pelvis, v(side * 0.09, -0.105), thigh, v(0.0, 0.215), None);
            s.pin(thigh, v(0.0, -0.215), shin, v(0.0, 0.215), Some(Vector::X));
            let upper = part(s, side * 0.36, 0.44, 0.15, 0.05);
            let fore = part(s, side * 0.68, 0.44, 0.15, 0.045);
            s.pin(chest, v(side * 0.185, 0.12), upper, v(-side * 0.175, 0.0), None);
            s.pin(upper, v(side * 0.16, 0.0), fore, v(-side * 0.16, 0.0), Some(Vector::Y));
        }
    }
}

/// Points that touch, and the deepest overlap \[m\].
fn contacts(s: &Scene) -> (usize, f64) {
    let (mut count, mut deepest) = (0, 0.0f64);
    for pair in s.world.contact_pairs() {
        for point in pair.manifolds().iter().flat_map(|m| &m.points) {
            count += usize::from(point.dist <= 0.0);
            deepest = deepest.max(-point.dist);
        }
    }
    (count, deepest)
}

/// The row of one scene as JSON; none if it is not one of these.
pub(super) fn row(name: &str, n: usize, kind: Kind) -> Option<String> {
    let (warm, steps, runs) = match (name, n) {
        ("sphere_bin", ..=500) => (250, 100, 5),
        ("sphere_bin", _) => (250, 20, 2),
        ("boxes", _) => (250, 100, 3),
        ("pyramid", _) => (0, 200, 3),
        ("heap", _) => (0, 300, 5),
        ("contact_ragdolls", _) => (0, 120, 2),
        _ => return None,
    };
    let (mut best, mut gap, mut deepest, mut count) = (f64::INFINITY, 0.0f64, 0.0f64, 0);
    // The first run looks at gaps and contacts and is not timed.
    for run in 0..=runs {
        let mut s = Scene::new(kind, true);
        match name {
            "sphere_bin" => pile(&mut s, n, true),
            "boxes" => pile(&mut s, n, false),
            "pyramid" => pyramid(&mut s, n),
            "heap" => heap(&mut s, n),
            _ => ragdolls(&mut s, n),
        }
        (0..warm).for_each(|_| s.world.step());
        let start = worked();
        for _ in 0..steps {
            s.world.step();
            if run == 0 {
                gap = gap.max(s.gap());
                let (points, deep) = contacts(&s);
                count += points;
                deepest = deepest.max(deep);
            }
        }
        if run > 0 {
            best = best.min((worked() - start) / f64::from(steps));
        }
    }
    let gap = if gap.is_finite() { format!("{gap:e}") } else { "null".into() };
    let count = count / steps as usize;
    Some(format!(
        "{{\"name\":\"{name}\",\"n\":{n},\"seconds_per_step\":{best:e},\"gap\":{gap},\"overlap\":{deepest:e},\"contacts\":{count}}}"
    ))
}
