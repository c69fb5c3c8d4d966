//! Bad and extreme input to the method `ipc`: each scene runs without an intersection or is refused with a reason, and
//! nothing that is not finite leaves a step.

use std::sync::Arc;

use dalembert::bodies::Shell;
use dalembert::filters::Ride;
use dalembert::math::Random;
use dalembert::math::rotation::exp;
use dalembert::mesh::{Diagonals, SurfaceMesh};
use dalembert::prelude::*;
use dalembert::scene::{Cloth, Sheet, SoftBody, Solid};

fn ipc(settings: Ipc) -> Scene {
    Scene { method: Method::Ipc(settings), dt: 0.01, ..Scene::default() }
}

fn cube(name: &str, z: f64) -> RigidBody {
    RigidBody::new(name, Shape::Box { size: Vec3::repeat(0.1) }).at([0.0, 0.0, z])
}

/// How a scene ended.
#[derive(Debug)]
enum End {
    Ran(Box<Simulation>),
    /// At build, with the message.
    Refused(String),
    /// At a step, with the message.
    Failed(String),
}

/// Builds and steps a scene, and looks at every state.
fn run(scene: Scene, steps: usize) -> End {
    let mut sim = match scene.build() {
        Ok(sim) => sim,
        Err(error) => return End::Refused(error.to_string()),
    };
    let model = sim.model.clone();
    let contact = model.ipc.as_ref().unwrap();
    let mut x = Vec::new();
    for _ in 0..steps {
        let before = sim.state.q.clone();
        let failed = sim.step().err().map(|e| e.to_string());
        assert!(sim.state.q.iter().chain(&sim.state.v).all(|x| x.is_finite()), "not finite");
        contact.geometry.positions(&sim.state.q, &mut x);
        assert_eq!(dalembert::collide::exact::intersections(&contact.geometry.surface, &x), []);
        assert_eq!(dalembert::collide::exact::below_planes(&contact.geometry.surface, &x), []);
        if let Some(message) = failed {
            assert_eq!(before, sim.state.q, "a failed step changed the state");
            return End::Failed(message);
        }
    }
    End::Ran(Box::new(sim))
}

fn ran(end: End) -> Simulation {
    match end {
        End::Ran(sim) => *sim,
        other => panic!("{other:?}"),
    }
}

fn refused(end: End, part: &str) {
    match end {
        End::Refused(message) => assert!(message.contains(part), "{message}"),
        other => panic!("{part}: {other:?}"),
    }
}

#[test]
fn what_touches_exactly_is_refused_by_name() {
    // On the ground, face on face, corner on corner, and coplanar faces side by side.
    let mut scene = ipc(Ipc::default());
    scene.add(Ground::default()).add(cube("box", 0.05));
    refused(run(scene, 1), "of `box` touches `ground`");
    for place in [[0.0, 0.0, 0.1], [0.1, 0.1, 0.1], [0.1, 0.0, 0.0], [0.05, 0.05, 0.1]] {
        let mut scene = ipc(Ipc::default());
        scene.add(cube("low", 0.0)).add(cube("high", 0.0).at(place));
        refused(run(scene, 1), "`low`");
    }
    // A sheet through the middle of a body, and coplanar sheets that overlap.
    let sheet = |name: &str, z: f64| {
        let grid = Sheet::Grid { size: [0.3, 0.3], cells: [2, 2], diagonals: Diagonals::default() };
        let mut cloth = Cloth::new(name, grid);
        cloth.position = Vec3::new(0.0, 0.0, z);
        cloth
    };
    let mut scene = ipc(Ipc::default());
    scene.add(cube("box", 0.0)).add(sheet("sheet", 0.01));
    refused(run(scene, 1), "intersect");
    let mut scene = ipc(Ipc::default());
    scene.add(sheet("one", 0.0)).add(sheet("two", 0.0));
    refused(run(scene, 1), "`one`");
}

#[test]
fn distances_below_the_thickness_are_refused_with_names_and_numbers() {
    let sheet = |name: &str, z: f64| {
        let grid = Sheet::Grid { size: [0.3, 0.3], cells: [2, 2], diagonals: Diagonals::default() };
        let mut cloth = Cloth::new(name, grid);
        (cloth.position, cloth.thickness) = (Vec3::new(0.01, 0.02, z), 1e-3);
        cloth
    };
    let mut scene = ipc(Ipc::default());
    scene.add(sheet("one", 0.0)).add(sheet("two", 0.9e-3));
    let error = scene.build().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("`one`") && text.contains("`two`") && text.contains("1.000e-3 m"), "{text}");
    assert!(!error.culprits.is_empty() && !error.culprits.triangles.is_empty());
    // Beyond the thickness by a millionth of a millionth of it: it runs.
    for part in [1e-12, 1e-9, 1e-3] {
        let mut scene = ipc(Ipc::default());
        scene.add(sheet("one", 0.0)).add(sheet("two", 1e-3 * (1.0 + part)));
        ran(run(scene, 3));
    }
}

#[test]
fn bodies_that_touch_are_told_once_where_the_later_one_was_written() {
    let mut scene = ipc(Ipc::default());
    scene.add(cube("first", 0.0)).add(cube("low", 0.5)).add(cube("high", 0.6)).add(Ground::default());
    let error = scene.build().unwrap_err();
    let told: Vec<String> = error.errors.iter().map(|e| e.to_string()).collect();
    // Cubes of 0.1 m: the last two share a face, and the ground cuts the first one in two.
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].starts_with("rigid `high`: `") && told[0].contains("`low`"), "{told:?}");
    assert_eq!(error.errors[0].place.index, 2);
    assert!(told[1].starts_with("rigid `first`") && told[1].contains("5.000e-2 m inside"), "{told:?}");
}

#[test]
fn the_mesh_of_culprits_holds_what_intersects() {
    let mut scene = ipc(Ipc::default());
    scene.add(cube("low", 0.0)).add(cube("high", 0.08).turned(exp(&Vec3::new(0.4, 0.3, 0.2))));
    let error = scene.build().unwrap_err();
    let culprits = &error.culprits;
    assert!(!culprits.triangles.is_empty() && !culprits.segments.is_empty());
    let count = culprits.points.len() as u32;
    assert!(
        culprits.triangles.iter().flatten().chain(culprits.segments.iter().flatten()).all(|i| *i < count)
    );
    // Only corners of the two boxes.
    assert!(count <= 16);
}

#[test]
fn edges_that_are_parallel_or_nearly_so_meet() {
    for angle in [0.0, 1e-16, 1e-12, 1e-9, 1e-6, 1e-3] {
        let turned = |tilt: f64| exp(&(Vec3::z() * tilt)) * exp(&(Vec3::x() * std::f64::consts::FRAC_PI_4));
        let shape = Shape::Box { size: Vec3::new(0.3, 0.05, 0.05) };
        let mut scene = ipc(Ipc { friction: 0.2, ..Ipc::default() });
        let low = RigidBody::new("low", shape.clone()).turned(turned(0.0));
        scene.add(low).add(Fix::points("low"));
        let high = RigidBody::new("high", shape).turned(turned(angle)).at([0.0, 0.0, 0.075]);
        scene.add(high.velocity([0.0, 0.0, -1.0]));
        ran(run(scene, 12));
    }
}

#[test]
fn slivers_and_duplicate_vertices_run_or_are_refused() {
    // A sheet with a sliver of 1e-9 m height, and with vertices that stand twice: as one stiff body it runs.
    for height in [1e-3, 1e-6, 1e-9] {
        let points = vec![
            Vec3::new(-0.1, -0.1, 0.0),
            Vec3::new(0.1, -0.1, 0.0),
            Vec3::new(0.0, height - 0.1, 0.0),
            Vec3::new(-0.1, 0.1, 0.0),
            Vec3::new(0.1, 0.1, 0.0),
            Vec3::new(-0.1, -0.1, 0.0),
        ];
        let triangles = vec![[0, 1, 2], [1, 4, 2], [2, 4, 3], [5, 2, 3]];
        let shell = Shell::new(points.clone(), triangles.clone(), 1e-2).unwrap();
        let mut scene = ipc(Ipc::default());
        scene.add(Ground::default());
        scene.add(RigidBody::new("sheet", Shape::Shell(Arc::new(shell))).at([0.0, 0.0, 0.02]));
        scene.add(cube("box", 0.1));
        ran(run(scene, 20));
        // As a cloth the two at one place touch.
        let mut scene = ipc(Ipc::default());
        let surface = SurfaceMesh { points, triangles };
        scene.add(Cloth::new("cloth", Sheet::Surface(surface)));
        refused(run(scene, 1), "`cloth`");
    }
    // A tetrahedron a thousand times as wide as high.
    let points = vec![
        Vec3::new(-0.1, -0.1, 0.0),
        Vec3::new(0.1, -0.1, 0.0),
        Vec3::new(0.0, 0.1, 0.0),
        Vec3::new(0.0, 0.0, 1e-4),
    ];
    let mesh = TriangleMesh::new(points, vec![[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]).unwrap();
    let mut scene = ipc(Ipc::default());
    scene.add(Ground::default());
    scene.add(RigidBody::new("flake", Shape::Mesh(Arc::new(mesh))).at([0.0, 0.0, 0.01]));
    ran(run(scene, 20));
}

#[test]
fn inverted_elements_are_refused() {
    let mut mesh = dalembert::mesh::TetMesh::block(Vec3::repeat(0.1), [1, 1, 1]).unwrap();
    mesh.tets[2].swap(0, 1);
    let mut scene = ipc(Ipc::default());
    scene.add(SoftBody::new("soft", Solid::Tets(mesh)));
    match run(scene, 1) {
        End::Refused(message) => assert!(message.contains("soft") && message.contains('2'), "{message}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_tiny_gap_over_the_ground_runs() {
    for gap in [1e-15, 1e-12, 1e-9, 1e-6] {
        let mut scene = ipc(Ipc::default());
        scene.add(Ground::default()).add(cube("box", 0.05 + gap));
        match run(scene, 5) {
            End::Ran(_) => {}
            End::Refused(message) | End::Failed(message) => {
                assert!(gap <= 1e-15 && message.contains("box"), "{gap}: {message}");
            }
        }
    }
}

#[test]
fn a_scene_may_be_far_from_the_origin() {
    for far in [1e3, 1e6] {
        let away = Vec3::new(far, -far, 0.5 * far);
        let mut scene = ipc(Ipc { friction: 0.3, ..Ipc::default() });
        scene.add(Ground { point: away, ..Ground::default() });
        for (k, name) in ["low", "high"].into_iter().enumerate() {
            scene.add(cube(name, 0.0).at((away + Vec3::z() * (0.06 + 0.12 * k as f64)).into()));
        }
        let sim = ran(run(scene, 40));
        let height = sim.state.q[14] - away.z;
        assert!((height - 0.151).abs() < 2e-3, "{height} at {far}");
    }
}

#[test]
fn steps_from_a_hundredth_of_a_millisecond_to_a_second() {
    for h in [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0] {
        let mut scene = ipc(Ipc { friction: 0.3, ..Ipc::default() });
        scene.dt = h;
        // Beyond the reach of contact, which would push them apart by as much within a step; they meet after 2 ms.
        scene.add(Ground::default()).add(cube("low", 0.0512));
        scene.add(cube("high", 0.1524).velocity([0.0, 0.0, -0.5]));
        let sim = ran(run(scene, (6e-3 / h).clamp(30.0, 600.0) as usize));
        let height = sim.state.q[14];
        assert!((0.15..0.154).contains(&height), "{height} at h = {h}");
    }
}

#[test]
fn moduli_from_soft_to_stiff() {
    for young in [1e3, 1e5, 1e7, 1e9, 1e11] {
        let mut scene = ipc(Ipc { friction: 0.3, ..Ipc::default() });
        scene.add(Ground::default());
        let mut body = SoftBody::new("soft", Solid::Box { size: Vec3::repeat(0.1), cells: [2, 2, 2] });
        (body.young, body.position) = (young, Vec3::new(0.0, 0.0, 0.06));
        body.law = dalembert::forces::nary::Law::StableNeoHookean;
        scene.add(body).add(cube("box", 0.18));
        ran(run(scene, 15));
    }
}

#[test]
fn a_light_body_under_a_heavy_one() {
    for ratio in [1e-6, 1.0, 1e6] {
        let mut scene = ipc(Ipc { rigid_stiffness: 1e12, ..Ipc::default() });
        scene.add(Ground::default());
        scene.add(cube("low", 0.051).mass(1.0)).add(cube("high", 0.152).mass(ratio));
        let sim = ran(run(scene, 30));
        assert!((0.149..0.153).contains(&sim.state.q[14]), "{} at {ratio}", sim.state.q[14]);
    }
}

#[test]
fn without_gravity_nothing_happens() {
    let mut scene = ipc(Ipc { friction: 0.5, ..Ipc::default() });
    scene.gravity = Vec3::zeros();
    scene.add(Ground::default()).add(cube("low", 0.06)).add(cube("high", 0.2));
    let sim = ran(run(scene, 10));
    assert!(sim.state.v.iter().all(|v| v.abs() < 1e-12));
}

#[test]
fn a_squeeze_without_room_ends_in_an_error_and_a_turn_does_too() {
    // Two jaws close on a stiff box.
    let jaws = |motion: [Motion; 2]| {
        let mut scene = ipc(Ipc::default());
        scene.gravity = Vec3::zeros();
        scene.add(cube("box", 0.0));
        for ((name, x), motion) in [("left", -0.15), ("right", 0.15)].into_iter().zip(motion) {
            scene.add(cube(name, 0.0).at([x, 0.0, 0.0]));
            scene.add(MotionSet::new(name, motion));
        }
        run(scene, 60)
    };
    let close = [0.2, -0.2].map(|v| Motion::Velocity(Vec3::new(v, 0.0, 0.0)));
    match jaws(close) {
        End::Failed(message) => {
            assert!(message.contains("left") || message.contains("right"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    // A bar turns against a box that leans on a fixed one.
    let mut scene = ipc(Ipc::default());
    scene.gravity = Vec3::zeros();
    let bar = Shape::Box { size: Vec3::new(0.05, 0.4, 0.1) };
    scene.add(RigidBody::new("bar", bar));
    let ride = Ride { angular_velocity: Vec3::z(), ..Ride::default() };
    scene.add(MotionSet::new("bar", Motion::Ride(ride)));
    scene.add(cube("box", 0.0).at([-0.12, 0.14, 0.0]));
    scene.add(cube("wall", 0.0).at([-0.222, 0.14, 0.0])).add(Fix::points("wall"));
    scene.add(RigidBody::new("floor", Shape::Box { size: Vec3::new(1.0, 0.1, 0.1) }).at([-0.56, 0.038, 0.0]));
    scene.add(Fix::points("floor"));
    match run(scene, 100) {
        End::Failed(message) => assert!(message.contains("bar"), "{message}"),
        // It may also be squeezed out upwards.
        End::Ran(sim) => assert!(sim.state.q[13] > 0.2, "{}", sim.state.q[13]),
        End::Refused(message) => panic!("{message}"),
    }
}

#[test]
fn a_body_that_turns_as_told_carries_what_lies_on_it() {
    let mut scene = ipc(Ipc { friction: 0.5, ..Ipc::default() });
    let table = Shape::Box { size: Vec3::new(1.0, 1.0, 0.1) };
    scene.add(RigidBody::new("table", table));
    let rate = 0.5;
    let ride = Ride { angular_velocity: Vec3::z() * rate, ..Ride::default() };
    scene.add(MotionSet::new("table", Motion::Ride(ride)));
    scene.add(cube("box", 0.1005).at([0.3, 0.0, 0.1005]).velocity([0.0, 0.3 * rate, 0.0]));
    let sim = ran(run(scene, 100));
    // ω² r = 0.075 m/s² is far below μ g: it goes round with the table, at its radius.
    let (x, y) = (sim.state.q[12], sim.state.q[13]);
    let angle = y.atan2(x);
    assert!((angle - rate * sim.state.time).abs() < 0.02, "{angle}");
    assert!((x.hypot(y) - 0.3).abs() < 2e-3, "{}", x.hypot(y));
    let column = &sim.state.q[3..6];
    assert!((column[1].atan2(column[0]) - rate * sim.state.time).abs() < 1e-12);
}

/// A body that is told to turn by a radian within a step, and another one that falls on it.
fn wheel(random: &mut Random) -> Scene {
    let mut scene = ipc(Ipc::default());
    let rate = Vec3::new(random.between(20.0, 100.0), 0.0, 0.0);
    let path = (0..4).map(|k| (0.01 * f64::from(k), Vec3::z() * 0.2 * f64::from(k))).collect();
    scene.add(RigidBody::new("wheel", Shape::Box { size: Vec3::repeat(1.0) }));
    let ride = Ride { angular_velocity: rate, path, ..Ride::default() };
    scene.add(MotionSet::new("wheel", Motion::Ride(ride)));
    let speed = [0.0, 0.0, -random.between(5.0, 15.0)];
    let at = [random.between(-0.1, 0.1), random.between(-0.1, 0.1), 2.0];
    scene.add(RigidBody::new("box", Shape::Box { size: Vec3::repeat(1.0) }).at(at).velocity(speed));
    scene
}

/// It knocks the other one away: there is room, but no straight way.
#[test]
fn what_turns_by_a_radian_in_a_step_finds_a_way_past_others() {
    let mut random = Random::new(5);
    for _ in 0..40 {
        let sim = ran(run(wheel(&mut random), 15));
        assert_eq!((sim.state.steps, sim.state.time), (15, 0.15));
    }
}

/// What a step that was tried in vain leaves in the buffers changes no bit of the shorter ones that follow.
#[test]
fn steps_that_are_divided_depend_on_the_state_alone() {
    let mut random = Random::new(5);
    let mut divided = 0;
    for _ in 0..40 {
        let mut sim = wheel(&mut random).build().unwrap();
        for _ in 0..15 {
            let mut state = sim.state.clone();
            let fresh = sim.method.step(&sim.model, &mut state, sim.dt, &mut Workspace::new()).unwrap();
            let report = sim.step().unwrap();
            assert_eq!((&state, fresh), (&sim.state, report));
            divided += u32::from(report.substeps > 1);
        }
    }
    assert!(divided > 10, "{divided}");
}

#[test]
fn a_torque_turns_a_body_by_its_inertia() {
    let mut scene = ipc(Ipc { tolerance: 1e-9, ..Ipc::default() });
    scene.gravity = Vec3::zeros();
    let size = Vec3::new(0.2, 0.1, 0.3);
    scene.add(RigidBody::new("box", Shape::Box { size }).mass(2.0));
    let torque = Vec3::new(0.0, 0.0, 0.01);
    scene.add(PushSet { on: vec!["box".into()], torque, ..PushSet::default() });
    let sim = ran(run(scene, 100));
    let inertia = 2.0 / 12.0 * (size.x.powi(2) + size.y.powi(2));
    let angle = sim.state.q[4].atan2(sim.state.q[3]);
    // Implicit Euler after n steps: τ h² n (n + 1)/2 I.
    let wanted = torque.z / inertia * 1e-4 * 100.0 * 101.0 / 2.0;
    assert!((angle - wanted).abs() < 0.02 * wanted, "{angle} {wanted}");
}
