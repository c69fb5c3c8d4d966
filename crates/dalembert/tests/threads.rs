//! `impulse` on several threads: same scene, same bits, whoever does the work.
//!
//! Scenes are large enough for every place where threads share the work, and lively: what one contact does in another order
//! reaches all others within a few steps.

use dalembert::bodies::articulated::description::{
    GeomShape, Inertial, RobotBody, RobotBodyId, RobotDescription, RobotGeom, RobotJoint,
};
use dalembert::prelude::*;

/// Everything that a run leaves behind, after every fifth step and at the end.
fn run(scene: &dyn Fn() -> Scene, threads: usize, steps: usize, least: u32) -> Vec<u64> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let mut sim = scene().build().unwrap();
    pool.install(|| {
        let (mut out, mut most) = (Vec::new(), 0);
        for k in 1..=steps {
            let report = sim.step().unwrap();
            most = most.max(report.contacts);
            if k % 5 == 0 || k == steps {
                let s = &sim.state;
                let numbers = s.q.iter().chain(&s.v).chain(&s.lambda).chain(&s.actuator_force);
                out.extend(numbers.map(|x| x.to_bits()));
                out.extend(s.contacts.iter().flat_map(|c| c.force.iter().map(|x| x.to_bits())));
                let told = [report.residual, report.gap, report.smallest_gap];
                out.extend(told.iter().map(|x| x.to_bits()));
                out.extend(
                    [report.iterations, report.projections, report.contacts, report.weak_rows].map(u64::from),
                );
            }
        }
        assert!(most >= least, "{most} contacts");
        out
    })
}

fn same_on_any(scene: impl Fn() -> Scene, steps: usize, least: u32) {
    let one = run(&scene, 1, steps, least);
    for threads in [2, 4] {
        assert!(one == run(&scene, threads, steps, least), "{threads} threads: other bits");
    }
}

fn impulse(dt: f64) -> Scene {
    let settings = Impulse { friction: 0.5, ..Impulse::default() };
    Scene { method: Method::Impulse(settings), dt, ..Scene::default() }
}

/// A number between −1 and 1.
fn jitter(i: usize) -> f64 {
    ((i * 2_654_435_761) % 1000) as f64 / 500.0 - 1.0
}

/// Bodies of 100 mm in a loose block over the floor.
fn block(n: usize, side: usize, shape: &Shape, restitution: f64) -> Scene {
    let mut s = impulse(1.0 / 120.0);
    if let Method::Impulse(settings) = &mut s.method {
        settings.restitution = restitution;
    }
    s.add(Ground::default());
    for i in 0..n {
        let place = |k: usize| 0.104 * k as f64;
        let (x, y, z) = (place(i % side), place(i / side % side), place(i / (side * side)));
        let at = [x + 0.002 * jitter(2 * i), y + 0.002 * jitter(2 * i + 1), 0.052 + z];
        let body = RigidBody::new(format!("b{i}"), shape.clone()).at(at);
        s.add(body.velocity([0.3 * jitter(3 * i), 0.3 * jitter(5 * i), -1.0]));
    }
    s
}

#[test]
fn a_heap_of_boxes() {
    let shape = Shape::Box { size: Vec3::repeat(0.1) };
    same_on_any(|| block(1_600, 14, &shape, 0.0), 40, 5_000);
}

#[test]
fn a_heap_of_balls_that_bounce() {
    same_on_any(|| block(1_600, 14, &Shape::Sphere { radius: 0.05 }, 0.5), 60, 2_000);
}

/// Stacks far from each other, some of them on a slope of one box on the edge of another.
fn stacks(count: usize) -> Scene {
    let mut s = impulse(1.0 / 120.0);
    s.add(Ground::default());
    for i in 0..count {
        let (x, y) = (3.0 * (i % 15) as f64, 3.0 * (i / 15) as f64);
        for k in 0..4 {
            let aside = 0.3 * jitter(4 * i + k);
            let shape = Shape::Box { size: Vec3::repeat(1.0) };
            let body = RigidBody::new(format!("b{i}-{k}"), shape);
            let mass = if k == 3 { 50_000.0 } else { 1_000.0 };
            s.add(body.mass(mass).at([x + aside, y - 0.5 * aside, 0.5 + 1.01 * k as f64]));
        }
    }
    s
}

#[test]
fn many_islands() {
    same_on_any(|| stacks(150), 80, 1_000);
}

#[test]
fn many_islands_with_spin_friction_that_bounce() {
    let scene = || {
        let mut s = stacks(40);
        if let Method::Impulse(settings) = &mut s.method {
            settings.restitution = 0.6;
        }
        let mut rule = ContactRule::between("*", "*");
        rule.rolling_friction = Some(1e-3);
        rule.torsional_friction = Some(1e-3);
        s.add(rule);
        s
    };
    same_on_any(scene, 30, 100);
}

/// Dolls of five boxes on balls and hinges, in layers.
fn dolls(count: usize, side: usize, gap: f64, limits: Option<f64>) -> Scene {
    let mut s = impulse(1.0 / 120.0);
    s.add(Ground::default());
    for d in 0..count {
        let place = |k: usize| gap * k as f64 + 0.03 * jitter(d + 7 * k);
        let at = Vec3::new(place(d % side), place(d / side % side), 0.3 + 0.6 * (d / (side * side)) as f64);
        let part = |s: &mut Scene, name: &str, x: f64, z: f64, size: [f64; 3]| {
            let name = format!("{name}{d}");
            let body = RigidBody::new(&name, Shape::Box { size: size.into() });
            let spin = [0.5 * jitter(d), jitter(2 * d), 0.3];
            s.add(body.at((at + Vec3::new(x, 0.0, z)).into()).angular_velocity(spin));
            name
        };
        let chest = part(&mut s, "chest", 0.0, 0.0, [0.3, 0.12, 0.4]);
        for (side, hand) in [(-1.0, "left"), (1.0, "right")] {
            let upper = part(&mut s, &format!("{hand} arm"), side * 0.32, 0.1, [0.28, 0.1, 0.1]);
            let fore = part(&mut s, &format!("{hand} forearm"), side * 0.62, 0.1, [0.28, 0.1, 0.1]);
            for (kind, a, b, x) in
                [(JointKind::Ball, &chest, &upper, 0.165), (JointKind::Hinge, &upper, &fore, 0.47)]
            {
                let anchor = at + Vec3::new(side * x, 0.0, 0.1);
                let joint = JointItem::new(format!("{a}-{b}"), kind, a, b).anchor(anchor.into());
                let joint = joint.axis([0.0, 1.0, 0.0]);
                s.add(match limits {
                    Some(most) if kind == JointKind::Hinge => joint.limits(-most, most),
                    _ => joint,
                });
            }
        }
    }
    s
}

#[test]
fn a_crowd_of_dolls() {
    same_on_any(|| dolls(160, 7, 1.0, Some(0.4)), 60, 1_000);
}

/// Fewer contacts than a large island has: dolls are solved one by one, to the tolerance.
#[test]
fn a_few_dolls_and_many_that_fly() {
    same_on_any(|| dolls(80, 3, 2.5, Some(0.4)), 40, 10);
}

/// Nothing touches: islands of joints alone.
#[test]
fn dolls_in_free_flight() {
    let scene = || {
        let mut s = dolls(80, 9, 2.5, Some(0.2));
        s.ground.clear();
        s
    };
    same_on_any(scene, 40, 0);
}

/// A box on four legs of two links each.
fn walker(name: &str) -> RobotDescription {
    let mut robot = RobotDescription::new(name);
    let mut link = |name: String, parent: usize, at: Vec3, kind: JointKind, half: Vec3, down: f64| {
        let mut body = RobotBody::new(name.clone(), RobotBodyId(parent));
        body.pose = Pose::at(at);
        let inertia = Mat3::from_diagonal(&Vec3::new(0.02, 0.012, 0.011));
        body.inertial = Inertial { mass: 1.0, center: Vec3::new(0.0, 0.01, down), inertia };
        let armature = if kind == JointKind::Free { 0.0 } else { 0.01 };
        let damping = if kind == JointKind::Free { 0.0 } else { 0.3 };
        body.joints.push(RobotJoint { axis: Vec3::y(), damping, armature, ..RobotJoint::new(name, kind) });
        let mut geom = RobotGeom::new("", GeomShape::Box { half });
        geom.pose = Pose::at(Vec3::new(0.0, 0.0, down));
        body.geoms.push(geom);
        robot.bodies.push(body);
        robot.bodies.len() - 1
    };
    let trunk =
        link("trunk".into(), 0, Vec3::new(0.0, 0.0, 0.45), JointKind::Free, Vec3::new(0.3, 0.2, 0.05), 0.0);
    for (k, (x, y)) in [(0.25, 0.25), (0.25, -0.25), (-0.25, 0.25), (-0.25, -0.25)].into_iter().enumerate() {
        let bar = Vec3::new(0.03, 0.03, 0.08);
        let thigh = link(format!("thigh{k}"), trunk, Vec3::new(x, y, 0.0), JointKind::Hinge, bar, -0.1);
        link(format!("shin{k}"), thigh, Vec3::new(0.0, 0.0, -0.2), JointKind::Hinge, bar, -0.1);
    }
    robot
}

/// Robots that fall on their feet and on each other in pairs, with a box on some.
fn robots() -> Scene {
    let mut s = impulse(0.005);
    s.add(Ground::default());
    s.add(ContactRule::between("*", "*"));
    for k in 0..24 {
        let mut item = RobotItem::new(format!("r{k}"), walker("walker"));
        let along = 2.0 * (k / 2) as f64 + 0.3 * (k % 2) as f64;
        item.pose = Pose::at(Vec3::new(along, 0.02 * jitter(k), 0.6 * (k % 2) as f64));
        s.add(item);
        if k % 4 == 0 {
            let cube = RigidBody::new(format!("c{k}"), Shape::Box { size: Vec3::repeat(0.2) });
            s.add(cube.at([along - 0.2, 0.05, 1.7]));
        }
    }
    s
}

#[test]
fn many_robots() {
    same_on_any(robots, 120, 100);
}
