//! Robots and free bodies of files touch as their files say, without a word in the scene.

use dalembert::prelude::*;
use dalembert::state::BlockKind;
use dalembert_formats::scene::{Built, load, load_text};
use dalembert_formats::source::Includes;

fn built(text: &str) -> Built {
    let file = load_text("scene.toml", text, Includes::None).unwrap_or_else(|e| panic!("{e}"));
    file.build().unwrap_or_else(|e| panic!("{e}"))
}

fn warnings(built: &Built) -> String {
    built.warnings.iter().map(ToString::to_string).collect()
}

/// A scene with robots of these worlds, called `r0`, `r1`, …
fn robots(method: &str, worlds: &[&str], more: &str) -> Built {
    let mut text = format!("method = '{method}'\ndt = 0.002\nduration = 1.0\n");
    for (k, world) in worlds.iter().enumerate() {
        text += &format!(
            "[[robot]]\nname = 'r{k}'\ntext = '''<mujoco><worldbody>{world}</worldbody></mujoco>'''\n"
        );
    }
    built(&(text + more))
}

fn run(sim: &mut Simulation, seconds: f64) {
    for _ in 0..(seconds / sim.dt).round() as usize {
        sim.step().unwrap_or_else(|e| panic!("{e}"));
    }
}

fn read(sim: &Simulation, quantity: &str) -> f64 {
    Quantity::parse(&sim.model, quantity).unwrap_or_else(|e| panic!("{e}")).value(&sim.model, &sim.state)
}

const FLOOR: &str = "<geom name='floor' type='plane' size='5 5 0.1'/>";

fn cube(name: &str, z: f64, geom: &str) -> String {
    format!(
        "<body name='{name}' pos='0 0 {z}'><freejoint/><geom type='box' size='0.1 0.1 0.1' mass='1' {geom}/></body>"
    )
}

#[test]
fn a_free_box_of_a_file_lands_on_the_floor_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("box.xml");
    let world = format!("<mujoco><worldbody>{FLOOR}{}</worldbody></mujoco>", cube("cube", 0.5, ""));
    std::fs::write(&file, world).unwrap();
    let mut sim = load(&file).unwrap().build().unwrap().simulation;
    run(&mut sim, 2.0);
    let (z, momentum) = (read(&sim, "robot.cube.z"), read(&sim, "momentum.z"));
    assert!((z - 0.1).abs() < 2e-3 && momentum.abs() < 1e-3, "z = {z}, p_z = {momentum}");
    // The floor carries its weight.
    let force = read(&sim, "robot/cube.contact.z");
    assert!((force - 9.81).abs() < 1e-2, "{force} N");
}

#[test]
fn a_tree_of_one_free_body_is_a_rigid_body() {
    let world = format!("{FLOOR}{}{}", cube("a", 0.5, ""), cube("b", 0.8, ""));
    let sim = robots("impulse", &[&world], "").simulation;
    assert_eq!(sim.model.robots[0].robot.tree.link_count(), 0);
    let rigid: Vec<&str> =
        sim.model.blocks.iter().filter(|b| b.kind == BlockKind::Rigid).map(|b| b.name.as_str()).collect();
    assert_eq!(rigid, ["r0/a", "r0/b"]);
    // What a joint hangs on, or a sensor reads, stays with the robot.
    for world in [
        "<body name='a'><freejoint/><geom size='0.1'/><body><joint/><geom size='0.1'/></body></body>",
        "<body name='a'><joint type='free' damping='1'/><geom size='0.1'/></body>",
        "<body name='a'><joint/><geom size='0.1'/></body>",
    ] {
        let sim = robots("impulse", &[world], "").simulation;
        assert!(sim.model.blocks.iter().all(|b| b.kind != BlockKind::Rigid), "{world}");
    }
}

#[test]
fn free_bodies_start_where_the_keyframe_puts_them_and_move_as_it_says() {
    let text = "method = 'impulse'\ndt = 0.001\ngravity = [0, 0, 0]\n[[robot]]\nname = 'r'\nkeyframe = 'up'\ntext = '''<mujoco><worldbody>\
        <body name='arm'><joint name='pivot' axis='0 1 0'/><geom size='0.1'/></body>\
        <body name='cube'><freejoint/><geom type='box' size='0.1 0.2 0.3' pos='0.5 0 0'/></body></worldbody>\
        <keyframe><key name='up' qpos='0.3 1 2 3 0.5 0.5 0.5 0.5' qvel='0.7 4 5 6 0 0 2'/></keyframe></mujoco>'''\n";
    let mut sim = built(text).simulation;
    let all =
        ["cube.x", "cube.y", "cube.z", "cube.qw", "cube.qz", "cube.vx", "cube.vy", "cube.vz", "cube.wx"];
    let found = all.map(|part| read(&sim, &format!("r.{part}")));
    let wanted = [1.0, 2.0, 3.0, 0.5, 0.5, 4.0, 5.0, 6.0, 2.0];
    for ((part, found), wanted) in all.iter().zip(found).zip(wanted) {
        assert!((found - wanted).abs() < 1e-12, "{part}: {found}, not {wanted}");
    }
    assert!((read(&sim, "r.pivot") - 0.3).abs() < 1e-12 && (read(&sim, "r.pivot.rate") - 0.7).abs() < 1e-12);
    // The centre of mass, 0.5 m off the frame, flies straight on.
    let before = ["momentum.x", "momentum.y", "momentum.z"].map(|p| read(&sim, p));
    let mass = 1000.0 * 8.0 * 0.006;
    // In the frame turned by the quaternion x is the world's y and z the world's x: ω = 2 x̂, r = 0.5 ŷ, ω × r = ẑ.
    assert!((before[2] - (6.0 + 1.0) * mass).abs() < 1e-9 * mass, "{before:?}");
    run(&mut sim, 0.1);
    let after = read(&sim, "momentum.y");
    assert!((after - before[1]).abs() < 1e-9 * before[1].abs(), "{after} {}", before[1]);
}

#[test]
fn geoms_touch_as_type_affinity_exclusion_and_pair_say() {
    let height = |world: &str, rest: &str| {
        let text = format!(
            "method = 'impulse'\ndt = 0.002\n[[robot]]\nname = 'r'\ntext = '''<mujoco><worldbody>{world}</worldbody>{rest}</mujoco>'''\n"
        );
        let mut sim = built(&text).simulation;
        run(&mut sim, 0.5);
        read(&sim, "r.cube.z")
    };
    let lands = |z: f64| (z - 0.1).abs() < 2e-3;
    let fallen = 0.3 - 0.5 * 9.81 * 0.25;
    let falls = |z: f64| (z - fallen).abs() < 0.02;
    assert!(lands(height(&format!("{FLOOR}{}", cube("cube", 0.3, "")), "")));
    assert!(falls(height(&format!("{FLOOR}{}", cube("cube", 0.3, "contype='0' conaffinity='0'")), "")));
    assert!(falls(height(&format!("{FLOOR}{}", cube("cube", 0.3, "contype='2' conaffinity='2'")), "")));
    // The type of one is enough for the affinity of the other.
    assert!(lands(height(&format!("{FLOOR}{}", cube("cube", 0.3, "contype='0' conaffinity='1'")), "")));
    let pair = "<contact><pair geom1='floor' geom2='side'/></contact>";
    let named = cube("cube", 0.3, "name='side' contype='0' conaffinity='0'");
    assert!(lands(height(&format!("{FLOOR}{named}"), pair)));
    // Two cubes, one above the other: the upper one stays up unless the two are excluded.
    let two = format!("{FLOOR}{}{}", cube("low", 0.1, ""), cube("cube", 0.32, ""));
    assert!((height(&two, "") - 0.3).abs() < 3e-3);
    let exclude = "<contact><exclude body1='low' body2='cube'/></contact>";
    assert!(lands(height(&two, exclude)));
    let off = "<option><flag contact='disable'/></option>";
    assert!(falls(height(&format!("{FLOOR}{}", cube("cube", 0.3, "")), off)));
}

#[test]
fn robots_of_two_files_and_bodies_of_the_scene_touch_each_other() {
    // r0 brings floor and a cube, r1 a cube above it and a hinged pan, and the scene a ball above all.
    let first = format!("{FLOOR}{}", cube("cube", 0.1, ""));
    let second = cube("cube", 0.31, "");
    let ball = "[[rigid]]\nname = 'ball'\nshape = { sphere = 0.05 }\nmass = 0.1\nposition = [0, 0, 0.47]\n";
    let mut sim = robots("impulse", &[&first, &second], ball).simulation;
    run(&mut sim, 1.0);
    for (what, z) in [("r0.cube.z", 0.1), ("r1.cube.z", 0.3), ("ball.z", 0.45)] {
        let found = read(&sim, what);
        assert!((found - z).abs() < 3e-3, "{what}: {found}, not {z}");
    }
}

#[test]
fn a_ground_in_the_floor_of_a_file_is_told() {
    let world = format!("{FLOOR}{}", cube("cube", 0.5, ""));
    let told = warnings(&robots("impulse", &[&world], "[[ground]]\n"));
    for part in ["`ground`", "`floor`", "`r0`", "leave one out"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(warnings(&robots("impulse", &[&world], "")), "");
    assert_eq!(warnings(&robots("impulse", &[&world], "[[ground]]\npoint = [0, 0, -1]\n")), "");
}

#[test]
fn under_ipc_geoms_of_the_world_are_fixed_bodies_and_grounds() {
    let table = "<geom name='table' type='box' size='0.5 0.5 0.1' pos='0 0 0.1'/>";
    let beside = cube("low", 0.12, "").replace("pos='0 0", "pos='2 0");
    let through = cube("ghost", 0.12, "contype='0' conaffinity='0'").replace("pos='0 0", "pos='-2 0");
    let world = format!("{FLOOR}{table}{}{beside}{through}", cube("high", 0.32, ""));
    let mut sim = robots("ipc", &[&world], "").simulation;
    sim.dt = 0.01;
    run(&mut sim, 0.5);
    for (what, z) in [("r0.high.z", 0.3), ("r0.low.z", 0.1)] {
        let found = read(&sim, what);
        assert!((z..z + 1.1e-3).contains(&found), "{what}: {found}, not {z}");
    }
    assert!(read(&sim, "r0.ghost.z") < -0.5);
    assert_eq!(read(&sim, "r0/world.speed"), 0.0);
}

#[test]
fn under_ipc_a_fixed_base_may_stand_in_its_floor() {
    // The base is welded to the world: they never touch, so it need not keep a gap.
    let world = format!(
        "{FLOOR}<body name='base'><geom type='box' size='0.1 0.1 0.1' pos='0 0 0.1'/>\
         <body name='arm' pos='0 0 0.5'><joint name='pivot' axis='0 1 0'/><geom type='capsule' size='0.02' fromto='0 0 0 0.6 0 0'/></body></body>"
    );
    let mut sim = robots("ipc", &[&world], "").simulation;
    sim.dt = 0.01;
    run(&mut sim, 1.0);
    // The arm swings down and is stopped by the floor, 0.5 m below its pivot.
    let angle = read(&sim, "r0/joints/pivot.angle");
    assert!(angle > 0.5 && 0.6 * angle.sin() < 0.5, "{angle} rad");
}

#[test]
fn a_bin_of_free_bodies_settles_without_an_unfinished_step() {
    let mut world = String::from(FLOOR);
    for (x, y, size) in
        [(1.0, 0.0, "0.05 1 1"), (-1.0, 0.0, "0.05 1 1"), (0.0, 1.0, "1 0.05 1"), (0.0, -1.0, "1 0.05 1")]
    {
        world += &format!("<geom type='box' size='{size}' pos='{x} {y} 1'/>");
    }
    let kinds = ["sphere", "box", "capsule", "cylinder", "ellipsoid"];
    for k in 0..40 {
        let (x, y, z) =
            (0.4 * (k % 4) as f64 - 0.6, 0.4 * (k / 4 % 4) as f64 - 0.6, 0.3 + 0.4 * (k / 16) as f64);
        world += &format!(
            "<body pos='{x} {y} {z}' euler='{} 20 0'><freejoint/><geom type='{}' size='0.08 0.1 0.12'/></body>",
            10 * k,
            kinds[k % 5]
        );
    }
    let mut sim = robots("impulse", &[&world], "").simulation;
    let mut unfinished = 0;
    for _ in 0..500 {
        let report = sim.step().unwrap();
        unfinished += usize::from(report.unfinished);
        assert!(report.smallest_gap > -5e-3, "t = {}: {:e} m", sim.state.time, report.smallest_gap);
    }
    assert!(unfinished <= 5, "{unfinished} of 500 steps did not meet their tolerance");
    // All forty lie in the bin.
    for k in 0..sim.model.rigid.len() {
        let z = sim.state.q[7 * k + 2];
        assert!((0.0..2.0).contains(&z), "body {k} at {z} m");
    }
}

#[test]
fn where_robots_do_not_touch_it_is_told_unless_a_rule_says_so() {
    let world =
        format!("{FLOOR}<body pos='0 0 0.5'><joint axis='0 1 0'/><geom size='0.1' pos='0.3 0 0'/></body>");
    for method in ["lagrange", "explicit"] {
        let scene = |more: &str| {
            let text = format!(
                "method = '{method}'\n{method} = {{ integrator = 'rk4' }}\ndt = 0.002\n[[robot]]\nname = 'r'\n\
                 text = '''<mujoco><worldbody>{world}</worldbody></mujoco>'''\n{more}"
            );
            warnings(&built(&text))
        };
        let told = scene("");
        assert!(told.contains("`r` touches nothing") && told.contains(method), "{method}: {told}");
        assert_eq!(scene("[[contact]]\nbetween = ['*', '*']\nenabled = false\n"), "", "{method}");
    }
}
