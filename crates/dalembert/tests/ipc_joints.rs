//! Laws of joints between affine bodies under the method `ipc`.

use dalembert::prelude::*;
use dalembert::scene::{Gear, JointItem, Motor, Stiffness};
use dalembert::step::Ipc;

fn ipc(h: f64) -> Scene {
    let settings = Ipc { tolerance: 1e-5, ..Ipc::default() };
    Scene { method: Method::Ipc(settings), dt: h, ..Scene::default() }
}

fn read(sim: &Simulation, text: &str) -> f64 {
    Quantity::parse(&sim.model, text).unwrap().value(&sim.model, &sim.state)
}

fn block(name: &str, at: [f64; 3]) -> RigidBody {
    RigidBody::new(name, Shape::Box { size: Vec3::new(0.4, 0.1, 0.1) }).mass(1.0).at(at)
}

/// Inertia of [`block`] about its y or z axis through the centre \[kg·m²\].
const I_BLOCK: f64 = (0.4 * 0.4 + 0.1 * 0.1) / 12.0;

fn finished(sim: &mut Simulation, steps: usize) {
    for k in 0..steps {
        let report = sim.step().unwrap();
        assert!(!report.unfinished, "step {k}: {report:?}");
    }
}

#[test]
fn every_joint_holds_on_a_swinging_arm() {
    use JointKind as J;
    let kinds = [
        J::Ball,
        J::Hinge,
        J::Slider,
        J::Fixed,
        J::Universal,
        J::Cylindrical,
        J::Planar,
        J::Screw { pitch: 0.1 },
        J::Distance { length: None },
        J::PointOnLine,
        J::PointOnPlane,
    ];
    for kind in kinds {
        let mut scene = ipc(0.01);
        scene.add(block("arm", [0.2, 0.0, 0.0]));
        scene.add(block("rider", [0.7, 0.0, 0.0]));
        scene.add(JointItem::new("pivot", J::Hinge, "world", "arm").anchor([0.0; 3]).axis([0.0, 1.0, 0.0]));
        let axis = if kind == J::PointOnPlane { [0.0, 1.0, 0.0] } else { [1.0, 0.0, 0.0] };
        let anchor = if matches!(kind, J::Distance { .. }) { [0.3, 0.0, 0.0] } else { [0.5, 0.0, 0.0] };
        scene.add(JointItem::new("joint", kind, "arm", "rider").anchor(anchor).axis(axis));
        let mut sim = scene.build().unwrap();
        let start = sim.energy().total();
        let (mut worst, mut iterations) = (0.0f64, 0);
        for k in 0..50 {
            let report = sim.step().unwrap();
            assert!(!report.unfinished, "{kind:?} step {k}: {report:?}");
            iterations += report.iterations;
            worst = worst.max(read(&sim, "joints.gap"));
        }
        assert!(worst < 1e-8, "{kind:?}: {worst:e}");
        // It moved, and the joint made no energy.
        assert!(read(&sim, "pivot.angle").abs() > 0.2, "{kind:?}: {}", read(&sim, "pivot.angle"));
        assert!(sim.energy().total() < start + 1e-3, "{kind:?}");
        assert!(iterations < 50 * 25, "{kind:?}: {iterations}");
    }
}

#[test]
fn limits_hold_under_load() {
    for kind in [JointKind::Hinge, JointKind::Slider] {
        let mut scene = ipc(0.01);
        scene.add(block("arm", [0.2, 0.0, 0.0]));
        let axis = if kind == JointKind::Hinge { [0.0, 1.0, 0.0] } else { [0.0, 0.0, 1.0] };
        scene.add(JointItem::new("j", kind, "world", "arm").anchor([0.0; 3]).axis(axis).limits(-0.3, 0.3));
        let mut sim = scene.build().unwrap();
        finished(&mut sim, 100);
        let hinge = kind == JointKind::Hinge;
        // A turn about +y lowers what points along +x.
        let (text, wanted) = if hinge { ("j.angle", 0.3) } else { ("j.position", -0.3) };
        assert!((read(&sim, text) - wanted).abs() < 1e-8, "{} {}", read(&sim, text), wanted);
        let load = if hinge { 9.81 * 0.2 * 0.3f64.cos() } else { 9.81 };
        let force = read(&sim, if hinge { "j.upper.force" } else { "j.lower.force" });
        assert!((force / load - 1.0).abs() < 1e-5, "{force} {load}");
        assert!(read(&sim, "j.rate").abs() < 1e-6);
    }
}

#[test]
fn soft_limits_and_servos_yield_by_their_stiffness_whatever_the_step() {
    for h in [0.002, 0.01, 0.05] {
        let mut scene = ipc(h);
        scene.add(block("a", [0.0, 0.0, 0.0]));
        scene.add(block("b", [0.0, 1.0, 0.0]));
        scene.add(block("c", [0.0, 2.0, 0.0]));
        let slider = |name: &str, body: &str| JointItem::new(name, JointKind::Slider, "world", body);
        let mut soft = slider("limit", "a").limits(-0.1, 0.1);
        soft.limit_stiffness = Stiffness::Gains { kp: 500.0, kd: 50.0 };
        scene.add(soft);
        let servo = Motor::Position { target: 0.2, kp: 200.0, kd: 30.0, max: f64::INFINITY };
        scene.add(slider("servo", "b").motor(servo));
        scene.add(JointItem::new("spring", JointKind::Fixed, "world", "c").soft(400.0, 40.0));
        let mut sim = scene.build().unwrap();
        finished(&mut sim, (4.0 / h) as usize);
        assert!((read(&sim, "limit.position") + 0.1 + 9.81 / 500.0).abs() < 1e-6, "{h}");
        assert!((read(&sim, "servo.position") - 0.2 + 9.81 / 200.0).abs() < 1e-6, "{h}");
        assert!((read(&sim, "c[0].z") + 9.81 / 400.0).abs() < 1e-6, "{h}: {}", read(&sim, "c[0].z"));
    }
}

#[test]
fn a_soft_turn_has_its_stiffness_in_newton_metres_per_radian() {
    let (kp, torque) = (20.0, 1.5);
    let mut scene = ipc(0.01);
    scene.gravity = Vec3::zeros();
    scene.add(block("a", [0.0; 3]));
    scene.add(block("b", [0.0, 1.0, 0.0]));
    scene.add(JointItem::new("soft", JointKind::Fixed, "world", "a").soft(kp, 2.0));
    scene.add(
        JointItem::new("hinge", JointKind::Hinge, "world", "b").anchor([0.0, 1.0, 0.0]).axis([0.0, 0.0, 1.0]),
    );
    let mut sim = scene.build().unwrap();
    // A couple about z on a: forces along ±y at x = ±0.2.
    let force = torque / 0.4;
    let first = sim.model.block("a").unwrap().points.start;
    sim.state.applied = vec![0.0; sim.model.layout.len_v()];
    sim.state.applied[3 * (first + 1) + 1] = force * 0.4;
    finished(&mut sim, 400);
    // sin θ is what axes measure; the applied couple turns with neither.
    let angle = sim.state.q[3 * (first + 1) + 1].asin();
    assert!((kp * angle.sin() - torque * angle.cos()).abs() < 1e-3 * torque, "{angle}");
}

#[test]
fn motors_reach_their_targets() {
    // A rate, over several turns.
    let h = 0.01;
    let mut scene = ipc(h);
    scene.gravity = Vec3::zeros();
    scene.add(block("fan", [0.0; 3]));
    let hinge =
        |name: &str, body: &str| JointItem::new(name, JointKind::Hinge, "world", body).axis([0.0, 0.0, 1.0]);
    scene.add(hinge("j", "fan").motor(Motor::Velocity { target: 8.0, max: 5.0 }));
    let mut sim = scene.build().unwrap();
    // It starts with the largest torque: ω = 5 t / I until 8 rad/s.
    sim.step().unwrap();
    assert!((read(&sim, "j.rate") - 5.0 * h / I_BLOCK).abs() < 1e-3, "{}", read(&sim, "j.rate"));
    finished(&mut sim, 199);
    let angle = read(&sim, "j.angle");
    assert!((read(&sim, "j.rate") - 8.0).abs() < 0.02, "{}", read(&sim, "j.rate"));
    // Steps at full torque, then the rest at 8 rad/s.
    let (mut w, mut wanted) = (0.0f64, 0.0);
    for _ in 0..200 {
        w = (w + 5.0 * h / I_BLOCK).min(8.0);
        wanted += h * w;
    }
    assert!((angle - wanted).abs() < 1e-2, "{angle} {wanted}");
    assert!(angle > 15.0);

    // A position against gravity.
    let mut scene = ipc(h);
    scene.add(block("arm", [0.2, 0.0, 0.0]));
    let servo = Motor::Position { target: -0.5, kp: 100.0, kd: 10.0, max: f64::INFINITY };
    scene.add(
        JointItem::new("j", JointKind::Hinge, "world", "arm")
            .anchor([0.0; 3])
            .axis([0.0, 1.0, 0.0])
            .motor(servo),
    );
    let mut sim = scene.build().unwrap();
    finished(&mut sim, 300);
    let angle = read(&sim, "j.angle");
    let balance = 100.0 * (angle + 0.5) - 9.81 * 0.2 * angle.cos();
    assert!(balance.abs() < 1e-4, "{angle} {balance}");
}

#[test]
fn efforts_damping_friction_and_rotors_act_on_the_coordinate() {
    let (h, steps) = (0.01, 50);
    let slider =
        |name: &str, body: &str| JointItem::new(name, JointKind::Slider, "world", body).axis([1.0, 0.0, 0.0]);
    let mut scene = ipc(h);
    scene.gravity = Vec3::zeros();
    for (k, name) in ["pushed", "damped", "stuck", "sliding", "geared"].iter().enumerate() {
        let speed = if *name == "damped" { 1.0 } else { 0.0 };
        scene.add(block(name, [0.0, k as f64, 0.0]).velocity([speed, 0.0, 0.0]));
    }
    let effort = |j: JointItem, f: f64| j.motor(Motor::Effort(f));
    scene.add(effort(slider("j0", "pushed"), 2.0));
    scene.add(slider("j1", "damped").damping(3.0));
    for (name, body, push) in [("j2", "stuck", 0.99), ("j3", "sliding", 1.5)] {
        let mut j = effort(slider(name, body), push);
        j.friction = 1.0;
        scene.add(j);
    }
    let mut j = effort(slider("j4", "geared"), 2.0);
    j.armature = 3.0;
    scene.add(j);
    let mut sim = scene.build().unwrap();
    finished(&mut sim, steps);
    let t = h * steps as f64;
    let rate = |name: &str| read(&sim, &format!("{name}.rate"));
    assert!((rate("j0") - 2.0 * t).abs() < 1e-6, "{}", rate("j0"));
    assert!((rate("j1") - (1.0 + 3.0 * h).powi(-(steps as i32))).abs() < 1e-6, "{}", rate("j1"));
    assert!(rate("j2").abs() < 1e-6 && read(&sim, "j2.position").abs() < 1e-6, "{}", rate("j2"));
    assert!((rate("j3") - 0.5 * t).abs() < 1e-5, "{}", rate("j3"));
    assert!((rate("j4") - 0.5 * t).abs() < 1e-6, "{}", rate("j4"));
}

#[test]
fn gears_tie_two_hinges() {
    let mut scene = ipc(0.01);
    scene.gravity = Vec3::zeros();
    scene.add(block("one", [0.0; 3]));
    scene.add(block("two", [0.0, 1.0, 0.0]));
    let hinge =
        |name: &str, body: &str| JointItem::new(name, JointKind::Hinge, "world", body).axis([0.0, 0.0, 1.0]);
    scene.add(hinge("a", "one").motor(Motor::Velocity { target: 3.0, max: f64::INFINITY }));
    scene.add(hinge("b", "two"));
    scene.add(Gear {
        name: "gear".into(),
        joints: ["a".into(), "b".into()],
        ratio: 0.5,
        stiffness: Stiffness::Hard,
    });
    let mut sim = scene.build().unwrap();
    finished(&mut sim, 100);
    assert!((read(&sim, "a.angle") - 3.0).abs() < 1e-7, "{}", read(&sim, "a.angle"));
    assert!((read(&sim, "b.angle") + 6.0).abs() < 1e-7, "{}", read(&sim, "b.angle"));
}

#[test]
fn a_saved_state_goes_on_with_the_same_bits() {
    let build = || {
        let mut scene = ipc(0.01);
        scene.add(block("arm", [0.2, 0.0, 0.0]));
        scene.add(block("rider", [0.7, 0.0, 0.0]));
        let y = [0.0, 1.0, 0.0];
        scene.add(
            JointItem::new("pivot", JointKind::Hinge, "world", "arm")
                .anchor([0.0; 3])
                .axis(y)
                .limits(-0.1, 0.2),
        );
        scene.add(
            JointItem::new("j", JointKind::Slider, "arm", "rider").axis([1.0, 0.0, 0.0]).limits(-0.1, 0.1),
        );
        scene.build().unwrap()
    };
    let mut sim = build();
    finished(&mut sim, 30);
    let mut packed = Vec::new();
    sim.state.pack(&sim.model.layout, &mut packed);
    let mut again = build();
    again.state = dalembert::state::State::unpack(&again.model.layout, &packed).unwrap();
    again.model.settle(&mut again.state);
    finished(&mut sim, 10);
    finished(&mut again, 10);
    assert_eq!(sim.state, again.state);
}

#[test]
fn joints_that_do_not_fit_are_refused_by_name() {
    let build = |change: &dyn Fn(&mut JointItem)| {
        let mut scene = ipc(0.01);
        scene.add(block("arm", [0.2, 0.0, 0.0]));
        let mut joint = JointItem::new("pivot", JointKind::Hinge, "world", "arm").anchor([0.0; 3]);
        change(&mut joint);
        scene.add(joint);
        scene.build().unwrap_err().to_string()
    };
    let wrong = build(&|j| j.between[1] = "amr".into());
    assert!(wrong.contains("amr"), "{wrong}");
    let wrong = build(&|j| j.between[1] = "world".into());
    assert!(wrong.contains("itself"), "{wrong}");
    let wrong = build(&|j| (j.kind, j.damping) = (JointKind::Ball, 1.0));
    assert!(wrong.contains("no single coordinate"), "{wrong}");
    let wrong = build(&|j| j.limits = Some([1.0, -1.0]));
    assert!(wrong.contains("above the upper"), "{wrong}");
    let wrong = build(&|j| j.anchors = dalembert::scene::Anchors::Local([Vec3::zeros(), Vec3::zeros()]));
    assert!(wrong.contains("gapes by 2.000e-1"), "{wrong}");
}

#[test]
fn a_joint_follows_a_body_that_moves_as_told() {
    let mut scene = ipc(0.01);
    scene.add(block("cart", [0.0, 0.0, 1.0]));
    scene.add(block("load", [0.0, 0.5, 0.7]));
    scene.add(
        JointItem::new("hook", JointKind::Hinge, "cart", "load")
            .anchor([0.0, 0.25, 1.0])
            .axis([0.0, 1.0, 0.0]),
    );
    scene.add(
        JointItem::new("rail", JointKind::Slider, "cart", "rider")
            .anchor([0.0, -0.5, 1.0])
            .axis([1.0, 0.0, 0.0]),
    );
    scene.add(block("rider", [0.0, -0.5, 1.0]));
    scene.add(MotionSet::new("cart", Motion::Velocity(Vec3::new(1.0, 0.0, 0.0))));
    let mut sim = scene.build().unwrap();
    let mut swung = 0.0f64;
    for k in 0..60 {
        let report = sim.step().unwrap();
        assert!(!report.unfinished, "step {k}: {report:?}");
        assert!(read(&sim, "joints.gap") < 1e-8, "step {k}: {}", read(&sim, "joints.gap"));
        swung = swung.max(read(&sim, "hook.angle").abs());
    }
    assert!(swung > 0.1, "{swung}");
}
