//! A warm step with contact takes no memory under `impulse`. Alone in its file, so that nothing else counts.

mod counting;

use std::sync::atomic::Ordering;

use dalembert::prelude::*;

use counting::CALLS;

/// A tower, a chain on ball joints that lies on the floor, a box that slides, and a ball that spins on the spot.
fn scene() -> Scene {
    let method = Method::Impulse(Impulse { friction: 0.3, ..Impulse::default() });
    let mut scene = Scene { method, dt: 2e-3, ..Scene::default() };
    scene.add(Ground::default());
    let cube = |name: String, at: [f64; 3]| {
        RigidBody::new(name, Shape::Box { size: Vec3::repeat(0.2) }).at(at).mass(1.0)
    };
    for k in 0..6 {
        scene.add(cube(format!("tower{k}"), [0.0, 0.0, 0.1 + 0.2 * k as f64]));
    }
    scene.add(cube("slider".into(), [0.0, 2.0, 0.1]).velocity([1.5, 0.0, 0.0]));
    for k in 0..4 {
        let link = cube(format!("link{k}"), [2.0 + 0.25 * k as f64, 0.0, 0.1]);
        scene.add(link);
        if k > 0 {
            let joint = JointItem::new(
                format!("joint{k}"),
                JointKind::Ball,
                format!("link{}", k - 1),
                format!("link{k}"),
            );
            scene.add(joint.anchor([1.875 + 0.25 * k as f64, 0.0, 0.1]));
        }
    }
    let ball = RigidBody::new("ball", Shape::Sphere { radius: 0.1 }).at([-2.0, 0.0, 0.1]).mass(1.0);
    scene.add(ball.angular_velocity([0.0, 0.0, 40.0]));
    scene
}

/// In a pool of one thread: work that comes from outside a pool goes through a queue that rayon makes longer now and then.
#[test]
fn a_warm_step_with_contact_takes_no_memory() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (most, calls) = pool.install(|| {
        let mut sim = scene().build().unwrap();
        for _ in 0..150 {
            sim.step().unwrap();
        }
        let before = CALLS.load(Ordering::Relaxed);
        let most = (0..300).fold(0, |most, _| sim.step().unwrap().contacts.max(most));
        (most, CALLS.load(Ordering::Relaxed) - before)
    });
    assert!(most > 30, "{most} contacts");
    assert_eq!(calls, 0, "a step with contact asked for memory {calls} times in 300 steps");
}
