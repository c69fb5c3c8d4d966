//! Laws of the external articulation: what is driven moves as its driver says where nothing touches, and yields where something does.

#![allow(non_snake_case)] // the letters of the formulas

use dalembert::bodies::articulated::description::{
    Equality, EqualityKind, GeomShape, Inertial, RobotBody, RobotBodyId, RobotDescription, RobotGeom,
    RobotJoint,
};
use dalembert::collide::exact;
use dalembert::coupling::DriveError;
use dalembert::math::Random;
use dalembert::math::rotation::{exp, log};
use dalembert::prelude::*;
use dalembert::robot::RobotScheme;
use dalembert::scene::{ArticulationItem, Fix, JointItem, Motor, RobotItem};
use dalembert::state::Drive;
use dalembert::step::{Ipc, StepError};

fn ipc(h: f64) -> Scene {
    let settings = Ipc { tolerance: 1e-9, ..Ipc::default() };
    Scene { method: Method::Ipc(settings), dt: h, ..Scene::default() }
}

fn read(sim: &Simulation, text: &str) -> f64 {
    Quantity::parse(&sim.model, text).unwrap().value(&sim.model, &sim.state)
}

/// A body without a surface.
fn ghost(name: &str, at: [f64; 3]) -> RigidBody {
    RigidBody::new(name, Shape::Point)
        .inertia(0.7, Vec3::new(0.05, 0.0, 0.02), 0.01 * Mat3::identity())
        .at(at)
}

fn random_mass(random: &mut Random, m: usize) -> Vec<f64> {
    let a: Vec<f64> = (0..m * m).map(|_| random.between(-1.0, 1.0)).collect();
    let mut out = vec![0.0; m * m];
    for i in 0..m {
        for j in 0..m {
            out[i * m + j] = (0..m).map(|k| a[i * m + k] * a[j * m + k]).sum::<f64>() / m as f64;
        }
        out[i * m + i] += 0.3;
    }
    out
}

/// A chain of hinges and sliders in turn, about different axes.
fn chain(n: usize, swap: bool) -> (Scene, Vec<String>) {
    chain_held(n, swap, None)
}

/// The same with a joint that a motor holds.
fn chain_held(n: usize, swap: bool, held: Option<usize>) -> (Scene, Vec<String>) {
    let mut scene = ipc(0.01);
    let mut names = Vec::new();
    for k in 0..n {
        let x = 0.2 * k as f64;
        scene.add(ghost(&format!("link{k}"), [x + 0.1, 0.0, 0.0]));
        let parent = if k == 0 { "world".into() } else { format!("link{}", k - 1) };
        let kind = if k % 3 == 2 { JointKind::Slider } else { JointKind::Hinge };
        let mut axis = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.6, 0.0, 0.8]][k % 3];
        let (mut a, mut b) = (parent, format!("link{k}"));
        if swap {
            (a, b) = (b, a);
            axis = axis.map(|x| -x);
        }
        let mut joint = JointItem::new(format!("j{k}"), kind, a, b).anchor([x, 0.0, 0.0]).axis(axis);
        if held == Some(k) {
            joint = joint.motor(Motor::Velocity { target: 0.0, max: f64::INFINITY });
        }
        scene.add(joint);
        names.push(format!("j{k}"));
    }
    let list: Vec<&str> = names.iter().map(String::as_str).collect();
    scene.add(ArticulationItem::new("arm", &list));
    (scene, names)
}

#[test]
fn without_contact_the_freedoms_go_where_they_are_told() {
    for (n, swap) in [(1, false), (3, false), (3, true), (7, true), (60, false), (80, true)] {
        let (scene, names) = chain(n, swap);
        let mut sim = scene.build().unwrap();
        let mut random = Random::new(n as u64);
        let mut sum = vec![0.0; n];
        let (steps, most) = if n > 10 { (2, 0.05) } else { (40, 0.4) };
        for step in 0..steps {
            let mass = random_mass(&mut random, n);
            // Mostly one way, so that angles pass ±π and go on.
            let delta: Vec<f64> = (0..n)
                .map(|k| if k % 3 == 2 { random.between(-0.05, 0.05) } else { random.between(-0.1, most) })
                .collect();
            let report = sim
                .step_driven(|a, _| {
                    assert_eq!((a.freedoms(), a.name.as_str()), (n, "arm"));
                    Ok(Drive { mass: mass.clone(), delta: delta.clone(), reference: Vec::new() })
                })
                .unwrap();
            assert!(!report.unfinished, "{n} step {step}: {report:?}");
            let done = sim.articulation("arm").unwrap();
            for k in 0..n {
                sum[k] += delta[k];
                assert!((done.delta[k] - delta[k]).abs() < 1e-9, "{n} {k}: {} {}", done.delta[k], delta[k]);
                let part = if k % 3 == 2 { "position" } else { "angle" };
                let now = read(&sim, &format!("{}.{part}", names[k]));
                assert!((now - sum[k]).abs() < 1e-8, "{n} {k}: {now} {}", sum[k]);
            }
            assert!(read(&sim, "joints.gap") < 1e-9);
        }
        if n == 7 {
            assert!(sum[0] > 3.5, "{}", sum[0]);
        }
    }
}

#[test]
fn a_blocked_joint_changes_the_others_by_the_mass_matrix() {
    let (M, told) = ([64.0, 8.0, 8.0, 64.0], [5e-3, 1e-3]);
    for (kind, held) in [(JointKind::Hinge, 0), (JointKind::Slider, 1)] {
        let mut scene = ipc(0.01);
        scene.add(ghost("one", [0.1, 0.0, 0.0]));
        scene.add(ghost("two", [0.3, 0.0, 0.0]));
        let stop = Motor::Velocity { target: 0.0, max: f64::INFINITY };
        for (k, (a, b)) in [("world", "one"), ("one", "two")].into_iter().enumerate() {
            let kind = if k == 0 { JointKind::Hinge } else { kind };
            let mut j = JointItem::new(format!("j{k}"), kind, a, b)
                .anchor([0.2 * k as f64, 0.0, 0.0])
                .axis([0.0, 1.0, 0.0]);
            if k == held {
                j = j.motor(stop);
            }
            scene.add(j);
        }
        scene.add(ArticulationItem::new("arm", &["j0", "j1"]));
        let mut sim = scene.build().unwrap();
        for _ in 0..5 {
            sim.step_driven(|_, _| Ok(Drive { mass: M.to_vec(), delta: told.to_vec(), reference: vec![] }))
                .unwrap();
            let done = &sim.articulation("arm").unwrap().delta;
            let free = 1 - held;
            let wanted = told[free] - 8.0 / 64.0 * (0.0 - told[held]);
            assert!(done[held].abs() < 1e-9, "{done:?}");
            assert!((done[free] - wanted).abs() < 1e-6 * wanted.abs(), "{} {wanted}", done[free]);
        }
    }
}

/// What is driven is an island of its own: boxes that fall far away change nothing, and fall as they do alone.
#[test]
fn boxes_far_away_do_not_feel_an_articulation() {
    let go = |arm: bool, boxes: bool| {
        let mut scene = if arm { chain(3, false).0 } else { ipc(0.01) };
        scene.add(Ground { point: Vec3::new(0.0, 0.0, -0.5), ..Ground::default() });
        for k in 0..if boxes { 3 } else { 0 } {
            let body = RigidBody::new(format!("box{k}"), Shape::Box { size: Vec3::repeat(0.1) }).mass(1.0);
            let turn = exp(&Vec3::new(0.3, 0.2 * f64::from(k), 0.1));
            scene.add(body.at([5.0 + 0.06 * f64::from(k), 0.0, -0.4 + 0.15 * f64::from(k)]).turned(turn));
        }
        let mut sim = scene.build().unwrap();
        let mut random = Random::new(3);
        let mass = random_mass(&mut random, 3);
        for _ in 0..20 {
            let drive = Drive { mass: mass.clone(), delta: vec![0.1, -0.05, 0.01], reference: Vec::new() };
            let report = sim.step_driven(|_, _| Ok(drive.clone())).unwrap();
            assert!(!report.unfinished);
            if arm {
                let done = sim.articulation("arm").unwrap();
                let off = done.delta.iter().zip(&drive.delta).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(off < 1e-9, "{off:e}");
            }
        }
        let n = sim.model.layout.nv;
        sim.state.q[..n].to_vec()
    };
    let (both, arm, boxes) = (go(true, true), go(true, false), go(false, true));
    let off = both.iter().zip(arm.iter().chain(&boxes)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(off < 1e-7, "{off:e}");
}

#[test]
fn a_blocked_joint_changes_the_others_in_a_long_chain_too() {
    // More freedoms than one dense block takes. The others feel nothing: (M (δθ − δθ̃))_f = 0.
    let (n, held) = (70, 23);
    let (scene, _) = chain_held(n, false, Some(held));
    let mut sim = scene.build().unwrap();
    let mut random = Random::new(3);
    for _ in 0..2 {
        let mass = random_mass(&mut random, n);
        let delta: Vec<f64> = (0..n).map(|_| random.between(-0.02, 0.02)).collect();
        let drive = Drive { mass: mass.clone(), delta: delta.clone(), reference: vec![] };
        let report = sim.step_driven(|_, _| Ok(drive.clone())).unwrap();
        assert!(!report.unfinished, "{report:?}");
        let done = &sim.articulation("arm").unwrap().delta;
        assert!(done[held].abs() < 1e-9, "{}", done[held]);
        let force = |i: usize| (0..n).map(|j| mass[i * n + j] * (done[j] - delta[j])).sum::<f64>();
        let size = force(held).abs();
        assert!(size > 1e-4 && (0..n).all(|i| i == held || force(i).abs() < 1e-6 * size));
    }
}

#[test]
fn a_turn_of_seven_tenths_reads_seven_tenths() {
    let (scene, _) = chain(1, false);
    let mut sim = scene.build().unwrap();
    sim.step_driven(|_, _| Ok(Drive { mass: vec![2.0], delta: vec![0.7], reference: vec![] })).unwrap();
    assert!((sim.articulation("arm").unwrap().delta[0] - 0.7).abs() < 1e-9);
    assert!((read(&sim, "j0.angle") - 0.7).abs() < 1e-9);
    // About +y, what points along +x goes down.
    assert!(sim.state.q[2] < 0.0);
}

#[test]
fn a_reference_makes_an_offset_vanish_and_without_it_the_offset_stays() {
    for with in [true, false] {
        let (scene, _) = chain(2, false);
        let mut sim = scene.build().unwrap();
        let link = sim.model.ipc.as_ref().unwrap().articulations[0].links.clone();
        // The other engine believes that the first hinge already stands at 0.05 rad.
        let (mut theta, offset) = ([0.05, 0.0], 0.05);
        for step in 0..20 {
            let delta = vec![0.02, -0.01];
            sim.step_driven(|_, _| {
                let one = exp(&Vec3::new(0.0, theta[0], 0.0));
                let two = one * exp(&Vec3::new(0.0, 0.0, theta[1]));
                let elbow = one * Vec3::new(0.2, 0.0, 0.0);
                let poses = [
                    Pose::new(one * Vec3::new(0.1, 0.0, 0.0), one),
                    Pose::new(elbow + two * Vec3::new(0.1, 0.0, 0.0), two),
                ];
                let mut reference = Vec::new();
                poses.iter().for_each(|p| reference.extend(dalembert::coupling::dof_of_pose(p)));
                assert_eq!(reference.len(), 12 * link.len());
                let reference = if with { reference } else { Vec::new() };
                Ok(Drive { mass: vec![1.0, 0.2, 0.2, 1.0], delta: delta.clone(), reference })
            })
            .unwrap();
            let done = sim.articulation("arm").unwrap().delta.clone();
            (0..2).for_each(|k| theta[k] += done[k]);
            let apart = theta[0] - read(&sim, "j0.angle");
            let wanted = if with { 0.0 } else { offset };
            assert!((apart - wanted).abs() < 1e-8, "{with} {step}: {apart}");
            assert!((theta[1] - read(&sim, "j1.angle")).abs() < 1e-8);
        }
    }
}

#[test]
fn increments_that_arrive_short_add_up_unless_a_reference_is_given() {
    // The other engine turns by δ per step, of which 1 % is lost on the way here, and it never looks back.
    let (offset, lost) = (0.05, 0.01);
    for with in [true, false] {
        let (scene, _) = chain(1, false);
        let mut sim = scene.build().unwrap();
        let mut theta = offset;
        for step in 1..=200 {
            let delta = 0.03 * (0.05 * step as f64).cos() + 0.01;
            sim.step_driven(|_, _| {
                let turn = exp(&Vec3::new(0.0, theta, 0.0));
                let pose = Pose::new(turn * Vec3::new(0.1, 0.0, 0.0), turn);
                let reference =
                    if with { dalembert::coupling::dof_of_pose(&pose).to_vec() } else { Vec::new() };
                Ok(Drive { mass: vec![1.0], delta: vec![(1.0 - lost) * delta], reference })
            })
            .unwrap();
            theta += delta;
            let apart = theta - read(&sim, "j0.angle");
            // Without: θ = θ₀ + Σδ against 0.99 Σδ. With: what this step lost, and no more.
            let wanted = if with { lost * delta } else { offset + lost * (theta - offset) };
            assert!((apart - wanted).abs() < 1e-8, "{with} {step}: {apart} {wanted}");
        }
    }
}

#[test]
fn floating_bases_and_balls_are_freedoms_as_well() {
    let mut scene = ipc(0.01);
    scene.add(ghost("base", [0.0, 0.0, 1.0]));
    scene.add(ghost("arm", [0.3, 0.0, 1.0]));
    scene.add(JointItem::new("shoulder", JointKind::Ball, "base", "arm").anchor([0.2, 0.0, 1.0]));
    scene.add(ArticulationItem::new("robot", &["shoulder"]).floating("base"));
    let mut sim = scene.build().unwrap();
    let mut random = Random::new(4);
    let links = sim.model.ipc.as_ref().unwrap().articulations[0].links.clone();
    let rotation = |sim: &Simulation, k: usize| {
        let A = Mat3::from_row_slice(&links[k].dof(&sim.state.q)[3..]);
        Quat::from_rotation_matrix(&nalgebra::Rotation3::from_matrix(&A))
    };
    for _ in 0..20 {
        let mass = random_mass(&mut random, 9);
        let delta: Vec<f64> = (0..9).map(|_| random.between(-0.3, 0.3)).collect();
        let before = [rotation(&sim, 0), rotation(&sim, 1)];
        let place = links[0].dof(&sim.state.q);
        sim.step_driven(|_, _| Ok(Drive { mass: mass.clone(), delta: delta.clone(), reference: vec![] }))
            .unwrap();
        let done = &sim.articulation("robot").unwrap().delta;
        for k in 0..9 {
            assert!((done[k] - delta[k]).abs() < 1e-8, "{k}: {} {}", done[k], delta[k]);
        }
        let after = links[0].dof(&sim.state.q);
        (0..3).for_each(|k| assert!((after[k] - place[k] - delta[k]).abs() < 1e-8));
        let vector = |at: usize| Vec3::new(delta[at], delta[at + 1], delta[at + 2]);
        let turned = [rotation(&sim, 0), rotation(&sim, 1)];
        let wanted = before[0] * exp(&vector(3));
        assert!(log(&(wanted.inverse() * turned[0])).norm() < 1e-8);
        let relative = before[0].inverse() * before[1] * exp(&vector(6));
        assert!(log(&(relative.inverse() * turned[0].inverse() * turned[1])).norm() < 1e-8);
    }
}

#[test]
fn drives_without_sense_are_refused_and_change_nothing() {
    let (scene, _) = chain(2, false);
    let mut sim = scene.build().unwrap();
    let before = sim.state.clone();
    let good = || Drive { mass: vec![2.0, 0.5, 0.5, 1.0], delta: vec![0.1, 0.2], reference: vec![] };
    assert!(matches!(sim.step(), Err(StepError::Drive(DriveError::Missing { .. }))));
    let mut refuse = |change: &dyn Fn(&mut Drive)| {
        let mut drive = good();
        change(&mut drive);
        let error = sim.step_driven(|_, _| Ok(drive.clone())).unwrap_err();
        assert_eq!(sim.state, before);
        let StepError::Drive(error) = error else { panic!("{error}") };
        assert!(error.to_string().contains("`arm`"), "{error}");
        error
    };
    assert!(matches!(refuse(&|d| d.mass[1] = 0.6), DriveError::NotSymmetric { row: 1, column: 0, .. }));
    assert!(matches!(refuse(&|d| d.mass[0] = 0.1), DriveError::NotPositive { pivot: 1, .. }));
    assert!(matches!(refuse(&|d| d.delta[1] = f64::NAN), DriveError::NotFinite { index: 1, .. }));
    assert!(matches!(refuse(&|d| d.mass.truncate(3)), DriveError::Shape { found: 3, needed: 4, .. }));
    assert!(matches!(refuse(&|d| d.reference = vec![0.0; 24]), DriveError::NotRotation { .. }));
    let error = sim.step_driven(|_, _| Err("no connection".into())).unwrap_err();
    assert!(error.to_string().contains("no connection") && sim.state == before);
    sim.step_driven(|_, _| Ok(good())).unwrap();
}

#[test]
fn joints_that_do_not_fit_an_articulation_are_named() {
    let (mut scene, _) = chain(2, false);
    scene.articulation[0] = ArticulationItem::new("arm", &["j0", "jx"]).floating("lnik0");
    let text = scene.build().unwrap_err().to_string();
    assert!(text.contains("jx") && text.contains("lnik0"), "{text}");
    let (mut scene, _) = chain(2, false);
    scene.articulation[0] = ArticulationItem::new("arm", &["j0", "j1"]).welded(["hnad".to_string()]);
    let text = scene.build().unwrap_err().to_string();
    assert!(text.contains("hnad"), "{text}");
}

#[test]
fn a_body_welded_to_a_link_rides_without_weight_if_it_is_taken_in() {
    for taken in [false, true] {
        let (mut scene, names) = chain(2, false);
        scene.gravity = Vec3::new(0.0, 0.0, -9.81);
        scene.add(ghost("hand", [0.4, 0.0, 0.0]));
        scene.add(JointItem::new("weld", JointKind::Fixed, "link1", "hand").anchor([0.4, 0.0, 0.0]));
        let list: Vec<&str> = names.iter().map(String::as_str).collect();
        scene.articulation[0] = ArticulationItem::new("arm", &list);
        if taken {
            scene.articulation[0].welded.push("hand".into());
        }
        let mut sim = scene.build().unwrap();
        let drive = Drive { mass: vec![2.0, 0.5, 0.5, 1.0], delta: vec![0.01, -0.02], reference: vec![] };
        sim.step_driven(|a, _| {
            assert_eq!(a.links.len(), if taken { 3 } else { 2 });
            Ok(drive.clone())
        })
        .unwrap();
        let done = &sim.articulation("arm").unwrap().delta;
        let off = (0..2).map(|k| (done[k] - drive.delta[k]).abs()).fold(0.0, f64::max);
        assert!(if taken { off < 1e-9 } else { off > 1e-5 }, "{taken}: {off:e}");
    }
}

/// A robot with a body per joint kind, each 0.3 m along x of the one before.
fn robot(kinds: &[JointKind], geoms: bool) -> RobotDescription {
    let mut robot = RobotDescription::new("robot");
    for (k, kind) in kinds.iter().enumerate() {
        let mut body = RobotBody::new(format!("link{k}"), RobotBodyId(k));
        body.pose = Pose::at(if k == 0 { Vec3::new(0.0, 0.0, 0.5) } else { Vec3::new(0.3, 0.0, 0.0) });
        let inertia = Mat3::from_diagonal(&Vec3::new(0.002, 0.012, 0.011));
        body.inertial = Inertial { mass: 1.0 - 0.1 * k as f64, center: Vec3::new(0.15, 0.01, 0.0), inertia };
        let axis = if k % 2 == 0 { Vec3::y() } else { Vec3::new(0.0, 0.6, 0.8) };
        let damping = if *kind == JointKind::Hinge { 0.2 } else { 0.0 };
        let armature = if *kind == JointKind::Free { 0.0 } else { 0.05 };
        body.joints.push(RobotJoint { axis, damping, armature, ..RobotJoint::new(format!("j{k}"), *kind) });
        if geoms {
            let mut geom = RobotGeom::new("", GeomShape::Box { half: Vec3::new(0.13, 0.03, 0.03) });
            geom.pose = Pose::at(Vec3::new(0.15, 0.0, 0.0));
            body.geoms.push(geom);
        }
        robot.bodies.push(body);
    }
    robot
}

#[test]
fn a_robot_of_the_scene_moves_as_by_itself_where_nothing_touches() {
    use JointKind::{Ball, Free, Hinge, Slider};
    for kinds in
        [vec![Hinge, Hinge, Slider], vec![Free, Hinge, Ball], vec![Slider, Hinge, Hinge, Hinge, Hinge]]
    {
        for geoms in [false, true] {
            let mut scene = ipc(0.01);
            let mut item = RobotItem::new("robot", robot(&kinds, geoms));
            let hinge = kinds.iter().position(|k| *k == Hinge).unwrap();
            item.velocities = vec![(format!("j{hinge}"), 1.5)];
            scene.add(item);
            let mut sim = scene.build().unwrap();
            let part = sim.model.robots[0].clone();
            let mut alone = part.state(&sim.state);
            let mut work = part.robot.work();
            for step in 0..60 {
                let report = sim.step().unwrap();
                assert!(!report.unfinished, "{kinds:?} {step} {report:?}");
                part.robot.step(RobotScheme::Implicit, &mut alone, 0.01, &mut work).unwrap();
                for (a, b) in part.q(&sim.state).iter().zip(&alone.q) {
                    assert!((a - b).abs() < 1e-7, "{kinds:?} {step}: {a} {b}");
                }
            }
            // The links stand where the robot says.
            let poses = part.poses(&sim.state, &mut part.robot.work());
            for (link, pose) in sim.model.ipc.as_ref().unwrap().articulations[0].links.iter().zip(&poses[1..])
            {
                let dof = link.dof(&sim.state.q);
                assert!((Vec3::new(dof[0], dof[1], dof[2]) - pose.position).norm() < 1e-7);
            }
            assert!(read(&sim, "joints.gap") < 1e-8);
        }
    }
}

#[test]
fn a_robot_that_pushes_a_box_against_a_wall_stops_and_feels_it() {
    let settings = Ipc { tolerance: 1e-6, friction: 0.3, ..Ipc::default() };
    let mut scene = Scene { method: Method::Ipc(settings), dt: 0.01, ..Scene::default() };
    scene.gravity = Vec3::zeros();
    // A slide along x that a constant force pushes, and a hinge that carries a finger.
    let mut pusher = robot(&[JointKind::Slider, JointKind::Hinge], true);
    pusher.bodies[1].joints[0].axis = Vec3::x();
    pusher.bodies[1].joints[0].damping = 20.0;
    pusher.bodies[2].joints[0].damping = 5.0;
    scene.add(RobotItem::new("robot", pusher));
    // The finger ends at x = 0.58.
    let cube = |name: &str, x: f64, size: f64| {
        RigidBody::new(name, Shape::Box { size: Vec3::new(size, 0.2, 0.2) }).mass(0.5).at([x, 0.02, 0.5])
    };
    scene.add(cube("box", 0.7, 0.2));
    scene.add(cube("wall", 1.0, 0.2));
    scene.add(Fix::points("wall"));
    let mut sim = scene.build().unwrap();
    let part = sim.model.robots[0].clone();
    part.tau_mut(&mut sim.state)[0] = 10.0;
    for step in 0..150 {
        let report = sim.step().unwrap();
        assert!(!report.unfinished, "{step} {report:?}");
        let contact = sim.model.ipc.as_ref().unwrap();
        let mut x = Vec::new();
        contact.geometry.positions(&sim.state.q, &mut x);
        assert!(exact::intersections(&contact.geometry.surface, &x).is_empty(), "{step}");
    }
    assert!(part.v(&sim.state)[0].abs() < 1e-3, "{}", part.v(&sim.state)[0]);
    // The box has come to the wall at x = 0.9.
    assert!(read(&sim, "box[0].x") > 0.79 && read(&sim, "box[0].x") < 0.8);
    let done = sim.articulation("robot").unwrap();
    // Contact carries what pushes, and it is the wrenches on the links, mapped by the Jacobian.
    assert!((done.force[0] + 10.0).abs() < 0.1, "{:?}", done.force);
    let mut work = part.robot.work();
    part.robot.tree.kinematics(part.q(&sim.state), &mut work.tree);
    let mut tau = vec![0.0; 2];
    for (k, (force, torque)) in done.wrenches.iter().enumerate() {
        let center = part.robot.tree.link_center(k, &work.tree);
        part.robot.tree.add_force_at(k, &center, force, torque, &work.tree, &mut tau);
    }
    let size = done.force.iter().fold(0.0f64, |m, f| m.max(f.abs()));
    for d in 0..2 {
        assert!((tau[d] - done.force[d]).abs() < 0.01 * size, "{tau:?} {:?}", done.force);
    }
}

/// The largest difference of a coordinate \[rad or m\] between the only robot of a scene and the robot by itself.
fn apart(sim: &mut Simulation, steps: usize) -> f64 {
    let part = sim.model.robots[0].clone();
    let mut alone = part.state(&sim.state);
    let mut work = part.robot.work();
    let mut worst = 0.0f64;
    for step in 0..steps {
        let report = sim.step().unwrap();
        assert!(!report.unfinished, "{step} {report:?}");
        part.robot.step(RobotScheme::Implicit, &mut alone, sim.dt, &mut work).unwrap();
        for (a, b) in part.q(&sim.state).iter().zip(&alone.q) {
            worst = worst.max((a - b).abs());
        }
    }
    worst
}

#[test]
fn a_body_with_several_joints_moves_as_by_itself_and_feels_contact() {
    let mut tower = robot(&[JointKind::Hinge, JointKind::Hinge], true);
    // Three hinges about anchors of their own, then a slide and a hinge.
    for (k, (axis, anchor)) in
        [(Vec3::x(), [0.0, 0.02, 0.0]), (Vec3::z(), [0.01, 0.0, -0.02])].into_iter().enumerate()
    {
        let more = RobotJoint {
            axis,
            anchor: anchor.into(),
            damping: 0.1,
            armature: 0.05,
            ..RobotJoint::new(format!("more{k}"), JointKind::Hinge)
        };
        tower.bodies[1].joints.push(more);
    }
    let slide = RobotJoint { axis: Vec3::x(), damping: 3.0, ..RobotJoint::new("slide", JointKind::Slider) };
    tower.bodies[2].joints.insert(0, slide);
    let mut scene = ipc(0.01);
    let mut item = RobotItem::new("robot", tower.clone());
    item.velocities = vec![("j0".into(), 0.7), ("more0".into(), -1.0), ("more1".into(), 1.5)];
    scene.add(item);
    let mut sim = scene.build().unwrap();
    let worst = apart(&mut sim, 100);
    assert!(worst < 1e-7, "{worst:e}");
    let gap = read(&sim, "joints.gap");
    assert!(gap < 1e-7, "{gap:e}");
    // It falls onto a plane and stays there; the plane's forces are those that the freedoms feel.
    let settings = Ipc { tolerance: 1e-5, ..Ipc::default() };
    let mut scene = Scene { method: Method::Ipc(settings), dt: 0.01, ..Scene::default() };
    scene.add(RobotItem::new("robot", tower));
    scene.add(dalembert::scene::Ground { point: Vec3::new(0.0, 0.0, 0.3), ..Default::default() });
    let mut sim = scene.build().unwrap();
    let part = sim.model.robots[0].clone();
    for step in 0..200 {
        let report = sim.step().unwrap();
        assert!(!report.unfinished, "{step} {report:?}");
        let contact = sim.model.ipc.as_ref().unwrap();
        let mut x = Vec::new();
        contact.geometry.positions(&sim.state.q, &mut x);
        assert!(x.iter().all(|x| x.z > 0.3), "{step}");
    }
    let done = sim.articulation("robot").unwrap();
    let mut work = part.robot.work();
    part.robot.tree.kinematics(part.q(&sim.state), &mut work.tree);
    let mut tau = vec![0.0; 5];
    for (k, (force, torque)) in done.wrenches.iter().take(2).enumerate() {
        let center = part.robot.tree.link_center(k, &work.tree);
        part.robot.tree.add_force_at(k, &center, force, torque, &work.tree, &mut tau);
    }
    let size = done.force.iter().fold(0.0f64, |m, f| m.max(f.abs()));
    assert!(size > 0.5, "{:?}", done.force);
    for d in 0..5 {
        assert!((tau[d] - done.force[d]).abs() < 0.01 * size, "{d}: {tau:?} {:?}", done.force);
    }
}

/// Two cranks on the world at a distance of 0.3 m that a bar joins: a parallel four-bar; the bar hangs on the first.
fn four_bar(joined: bool) -> RobotDescription {
    let mut robot = robot(&[JointKind::Hinge, JointKind::Hinge, JointKind::Hinge], true);
    for k in 1..=3 {
        robot.bodies[k].joints[0].axis = Vec3::y();
        robot.bodies[k].joints[0].damping = 0.05;
    }
    // Cranks go up, the bar along x; all are 0.3 m long.
    let up = exp(&Vec3::new(0.0, -std::f64::consts::FRAC_PI_2, 0.0));
    robot.bodies[1].pose = Pose::new(Vec3::new(0.0, 0.0, 0.5), up);
    robot.bodies[2].pose = Pose::new(Vec3::new(0.3, 0.0, 0.0), up.inverse());
    robot.bodies[3].pose = Pose::new(Vec3::new(0.3, 0.0, 0.5), up);
    robot.bodies[3].parent = RobotBodyId(0);
    if joined {
        let kind = EqualityKind::Connect {
            bodies: [RobotBodyId(3), RobotBodyId(2)],
            anchor: Vec3::new(0.3, 0.0, 0.0),
        };
        let softness = Default::default();
        robot.equalities.push(Equality { name: "loop".into(), kind, active: true, softness });
    }
    robot
}

#[test]
fn a_loop_of_a_robot_holds_alone_and_against_contact() {
    let mut scene = ipc(0.01);
    let mut item = RobotItem::new("robot", four_bar(true));
    item.velocities = vec![("j0".into(), 1.0), ("j1".into(), -1.0), ("j2".into(), 1.0)];
    scene.add(item);
    let mut sim = scene.build().unwrap();
    let worst = apart(&mut sim, 60);
    assert!(worst < 1e-6, "{worst:e}");
    // The bar's end comes down onto a plane: the first crank alone would fall on.
    let settings = Ipc { tolerance: 1e-5, ..Ipc::default() };
    for joined in [true, false] {
        let mut scene = Scene { method: Method::Ipc(settings), dt: 0.01, ..Scene::default() };
        let mut item = RobotItem::new("robot", four_bar(joined));
        item.velocities = vec![("j0".into(), 1.0), ("j1".into(), -1.0), ("j2".into(), 1.0)];
        scene.add(item);
        scene.add(
            RigidBody::new("block", Shape::Box { size: Vec3::new(0.1, 0.2, 0.1) })
                .mass(1.0)
                .at([0.55, 0.0, 0.55]),
        );
        scene.add(Fix::points("block"));
        let mut sim = scene.build().unwrap();
        let part = sim.model.robots[0].clone();
        let (mut gap, mut pushed) = (0.0f64, 0.0f64);
        for step in 0..150 {
            let report = sim.step().unwrap();
            assert!(!report.unfinished, "{joined} {step} {report:?}");
            let q = part.q(&sim.state);
            gap = gap.max(part.robot.worst_gap(q, &mut part.robot.work()));
            pushed = pushed.max(sim.articulation("robot").unwrap().force[2].abs());
        }
        let q = part.q(&sim.state);
        assert!(pushed > 0.5, "{pushed}");
        if joined {
            // The second crank leans on the block, and the first stands as it does.
            assert!(gap < 1e-4, "{gap:e}");
            assert!((q[0] - q[2]).abs() < 1e-3 && q[0] < 1.4, "{q:?}");
        } else {
            assert!(q[0] > 1.6, "{q:?}");
        }
    }
}

#[test]
fn links_touch_each_other_where_a_rule_says_so() {
    // A chain of four that folds upon itself: about y, without damping to speak of.
    let curl = |touching: bool| {
        let mut chain = robot(&[JointKind::Hinge; 4], true);
        for k in 1..=4 {
            chain.bodies[k].joints[0].axis = Vec3::y();
        }
        let settings = Ipc { tolerance: 1e-4, ..Ipc::default() };
        let mut scene =
            Scene { method: Method::Ipc(settings), dt: 0.01, gravity: Vec3::zeros(), ..Scene::default() };
        scene.add(RobotItem::new("robot", chain));
        if touching {
            scene.add(dalembert::scene::ContactRule::friction("robot", "robot", 0.2));
        }
        let mut sim = scene.build().unwrap();
        let part = sim.model.robots[0].clone();
        part.tau_mut(&mut sim.state)[1..].fill(0.5);
        for step in 0..200 {
            let report = sim.step().unwrap();
            assert!(!report.unfinished, "{touching} {step} {report:?}");
            let contact = sim.model.ipc.as_ref().unwrap();
            let mut x = Vec::new();
            contact.geometry.positions(&sim.state.q, &mut x);
            assert!(exact::intersections(&contact.geometry.surface, &x).is_empty(), "{step}");
        }
        part.q(&sim.state)[1..].iter().sum::<f64>()
    };
    let (stopped, through) = (curl(true), curl(false));
    assert!(through > stopped + 1.0, "{stopped} {through}");
}
