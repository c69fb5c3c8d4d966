//! Whatever a model says, it becomes a robot or is refused: no panic, in little time and memory.

mod mutate;

use dalembert::bodies::articulated::description::{GeomShape, RobotDescription};
use dalembert_formats::robot::{InertiaPolicy, MeshPolicy, ReadOptions, read_robot_text};
use dalembert_formats::source::Includes;
use mutate::{Chance, mutate, swap_value, swap_word};

const ROBOTS: [&str; 6] = [
    include_str!("../../../scenes/robots/arm.xml"),
    include_str!("../../../scenes/robots/arm.urdf"),
    include_str!("../../../scenes/robots/quadruped.xml"),
    include_str!("../../../scenes/robots/humanoid.xml"),
    include_str!("../../../scenes/robots/hand.xml"),
    include_str!("../../../scenes/robots/delta.xml"),
];

/// Small models with what our robots do not use.
const SMALL: [&str; 6] = [
    r#"<mujoco><compiler angle="radian" meshdir="m"/><asset><mesh name="t" vertex="0 0 0 1 0 0 0 1 0 0 0 1" scale="1 2 3"/>
      <mesh file="cube.obj" inertia="convex"/><hfield name="h" nrow="2" ncol="2" size="1 1 1 1" elevation="0 1 2 3"/></asset>
      <worldbody><geom type="hfield" hfield="h"/><body pos="0 0 1" axisangle="0 0 1 2"><freejoint/>
      <geom type="mesh" mesh="t"/><geom type="mesh" mesh="cube" mass="2"/><geom type="capsule" mesh="cube"/></body></worldbody></mujoco>"#,
    r#"<mujoco><asset><model name="leg" file="a.xml"/></asset><worldbody><body name="trunk"><geom type="box" size="1 1 1"/>
      <replicate count="3" offset="1 0 0" euler="0 0 30" sep="_"><frame pos="0 0 1"><attach model="leg" body="leg" prefix="x"/></frame>
      </replicate></body></worldbody></mujoco>"#,
    r#"<mujoco><include file="b.xml"/><default><default class="k"><joint damping="1" armature="2"/><position kp="3"/></default></default>
      <worldbody><body name="a" childclass="k"><joint name="j" type="slide" range="-1 1" ref="0.5"/><joint name="k" type="ball"/>
      <inertial mass="1" pos="0 0 1" fullinertia="1 2 2.5 0 0 0.1"/><site name="s" type="box" size="1 1 1"/></body></worldbody>
      <tendon><spatial name="t"><site site="s"/><pulley divisor="2"/><site site="s"/></spatial></tendon>
      <actuator><position class="k" tendon="t"/><damper joint="j" kv="1" ctrlrange="0 1"/><general site="s" gear="1 2 3 4 5 6"/></actuator>
      <sensor><framepos objtype="site" objname="s"/><touch site="s"/></sensor><keyframe><key qpos="1 1 0 0 0"/></keyframe></mujoco>"#,
    r#"<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="5"/></inertial>
      <visual><geometry><mesh filename="package://m/cube.obj" scale="1 1 -1"/></geometry></visual></link><link name="c"/>
      <joint name="j" type="planar"><parent link="a"/><child link="b"/><axis xyz="1 1 0"/></joint>
      <joint name="k" type="floating"><parent link="b"/><child link="c"/><origin xyz="1 2 3" rpy="1 2 3"/></joint>
      <joint name="l" type="continuous"><parent link="c"/><child link="d"/><mimic joint="j"/></joint><link name="d"/></robot>"#,
    r#"<mujoco><worldbody><body name="leg"><joint name="hip"/><geom type="ellipsoid" size="1 2 3" shellinertia="true"/></body></worldbody>
      <actuator><motor name="hip" joint="hip"/></actuator><contact><exclude body1="leg" body2="leg"/></contact></mujoco>"#,
    r#"<mujoco><option timestep="0.1"><flag contact="disable"/></option><worldbody><body name="b"><geom size="1"/></body></worldbody></mujoco>"#,
];

const CUBE: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\nf 1 4 3 2\nf 5 6 7 8\n\
     f 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n";

const TOKENS: [&str; 40] = [
    "<body>",
    "</body>",
    "<body name=\"b\">",
    "<frame pos=\"0 0 1\">",
    "</frame>",
    "<replicate count=\"4\">",
    "<replicate count=\"100\" sep=\"-\">",
    "</replicate>",
    "<geom size=\"1\"/>",
    "<geom type=\"capsule\" fromto=\"0 0 0 0 0 1\" size=\"1\"/>",
    "<geom type=\"mesh\" mesh=\"t\"/>",
    "<joint/>",
    "<joint type=\"ball\"/>",
    "<freejoint/>",
    "<site/>",
    "<inertial mass=\"1\" pos=\"0 0 0\"/>",
    "<flexcomp/>",
    "<composite/>",
    "<default class=\"q\">",
    "</default>",
    "<include file=\"a.xml\"/>",
    "<include file=\"b.xml\"/>",
    "<attach model=\"leg\" body=\"leg\" prefix=\"p\"/>",
    "<asset><model name=\"self\" file=\"m.xml\"/></asset>",
    " class=\"main\" ",
    " pos=\"1 2\" ",
    " quat=\"0 0 0 0\" ",
    " euler=\"nan 1e308 -1e308\" ",
    " name=\"j\" ",
    "<!DOCTYPE a [<!ENTITY b \"c\">]>",
    "&b;",
    "&#0;",
    "&lt;",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<?xml?>",
    "/>",
    "\"",
];

/// Lines and tags: copied, dropped, moved, put in.
fn shuffle(bytes: &mut Vec<u8>, chance: &mut Chance) {
    let starts: Vec<usize> = (0..bytes.len()).filter(|&i| bytes[i] == b'<').collect();
    if starts.is_empty() {
        return;
    }
    let from = chance.below(starts.len());
    let (start, end) = (starts[from], starts.get(from + 1 + chance.below(3)).copied().unwrap_or(bytes.len()));
    let piece = bytes[start..end].to_vec();
    let to = starts[chance.below(starts.len())];
    match chance.below(4) {
        0 => drop(bytes.splice(to..to, piece)),
        1 => drop(bytes.drain(start..end)),
        2 => {
            bytes.drain(start..end);
            let to = to.min(bytes.len());
            drop(bytes.splice(to..to, piece));
        }
        _ => {
            let token = chance.pick(&TOKENS);
            let at = if chance.below(2) == 0 { to } else { chance.below(bytes.len() + 1) };
            drop(bytes.splice(at..at, token.bytes()));
        }
    }
}

/// Changes one number of a list into another, so that counts stay right.
fn swap_number(bytes: &mut Vec<u8>, chance: &mut Chance) {
    let begins = |i: usize| bytes[i].is_ascii_digit() && i > 0 && b" \"-".contains(&bytes[i - 1]);
    let from = chance.below(bytes.len());
    let Some(start) = (from..bytes.len()).find(|&i| begins(i)) else { return };
    let length = bytes[start..].iter().take_while(|b| b.is_ascii_digit() || b".e".contains(b)).count();
    let new =
        chance.pick(&["0", "1", "2", "3", "0.5", "0.01", "1e-9", "1e-300", "1e10", "1e200", "1e308", "1000"]);
    drop(bytes.splice(start..start + length, new.bytes()));
}

/// What every robot that is given out promises.
fn assert_whole(robot: &RobotDescription) {
    let q = robot.reference_configuration();
    assert_eq!(q.len(), robot.position_count());
    assert!(q.iter().all(|x| x.is_finite()));
    for (i, body) in robot.bodies.iter().enumerate() {
        assert!(body.parent.0 < i.max(1));
        assert!(body.inertial.mass >= 0.0);
        for geom in &body.geoms {
            if let GeomShape::Mesh(mesh) = geom.shape {
                let mesh = &robot.meshes[mesh.0];
                assert!(mesh.triangles.iter().flatten().all(|&i| (i as usize) < mesh.vertices.len()));
            }
        }
    }
    let joints = robot.joints().count();
    assert!(robot.mimics.iter().all(|mimic| mimic.joint.0 < joints && mimic.of.0 < joints));
    for key in &robot.keyframes {
        assert!(key.positions.is_empty() || key.positions.len() == q.len());
    }
}

#[test]
fn no_model_makes_the_reader_panic() {
    let files = [
        ("a.xml", SMALL[4]),
        ("b.xml", SMALL[5]),
        ("m/cube.obj", CUBE),
        ("cube.obj", CUBE),
        ("m.xml", SMALL[1]),
    ];
    for text in ROBOTS.iter().chain(&SMALL) {
        let read = read_robot_text("m.xml", *text, Includes::Embedded(&files), &ReadOptions::default());
        read.unwrap_or_else(|error| panic!("{error}"));
    }
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let (mut refused, mut warned, mut clean) = (0, 0, 0);
    for round in 0..110_000 {
        let text = if round % 16 == 0 { ROBOTS[round / 16 % 6] } else { SMALL[round % 6] };
        let mut bytes = text.as_bytes().to_vec();
        let force = chance.below(8);
        for _ in 0..=chance.below(3) {
            let other = SMALL[chance.below(6)].as_bytes();
            match force {
                0 => mutate(&mut bytes, other, &mut chance),
                1 => swap_word(&mut bytes, &mut chance),
                2 => swap_value(&mut bytes, &mut chance),
                3 | 4 => shuffle(&mut bytes, &mut chance),
                _ => swap_number(&mut bytes, &mut chance),
            }
        }
        let options = ReadOptions {
            floating_base: chance.below(2) == 0,
            inertia: [InertiaPolicy::Warn, InertiaPolicy::Fix, InertiaPolicy::Refuse][chance.below(3)],
            meshes: [MeshPolicy::Require, MeshPolicy::Optional, MeshPolicy::Skip][chance.below(3)],
            package_paths: Vec::new(),
            strict: chance.below(8) == 0,
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        match read_robot_text("m.xml", text, Includes::Embedded(&files), &options) {
            Err(error) => {
                refused += 1;
                assert!(error.diagnostics().iter().all(|one| one.place.is_some()), "{error}");
                assert!(error.to_string().len() < 30_000);
            }
            Ok((robot, warnings)) => {
                assert!(warnings.iter().all(|one| one.place.is_some()));
                if warnings.is_empty() {
                    clean += 1
                } else {
                    warned += 1
                }
                assert_whole(&robot);
            }
        }
    }
    let counts = format!("{refused} refused, {warned} with warnings, {clean} without");
    println!("{counts}");
    assert!(refused > 20_000 && warned > 5_000 && clean > 10_000, "{counts}");
}
