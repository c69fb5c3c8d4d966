//! What MJCF files mean, and what is said about those that mean nothing.

mod replicas;

use std::f64::consts::PI;

use dalembert::bodies::articulated::description::{
    ActuatorDynamics, ActuatorLaw, EqualityKind, GeomShape, PathPoint, RobotBodyId, RobotDescription,
    RobotIntegrator, RobotJointId, SensorObject, TendonPath, Transmission,
};
use dalembert::joints::JointKind;
use dalembert::math::rotation::exp;
use dalembert::math::{Mat3, Quat, Vec3};
use dalembert_formats::error::Diagnostic;
use dalembert_formats::robot::{MeshPolicy, ReadOptions, read_robot, read_robot_text};
use dalembert_formats::source::Includes;

fn read(text: &str) -> (RobotDescription, Vec<Diagnostic>) {
    read_robot_text("robot.xml", text, Includes::None, &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A model without warnings.
fn clean(text: &str) -> RobotDescription {
    let (robot, warnings) = read(text);
    assert!(warnings.is_empty(), "{}", texts(&warnings));
    robot
}

fn texts(warnings: &[Diagnostic]) -> String {
    warnings.iter().map(|warning| format!("{warning}\n")).collect()
}

fn refused(text: &str) -> String {
    let error = read_robot_text("robot.xml", text, Includes::None, &ReadOptions::default())
        .map(|(robot, _)| robot)
        .expect_err("the model should be refused");
    assert!(error.diagnostics().iter().all(|one| one.place.is_some()), "{error}");
    error.to_string()
}

/// A world around `body`, with `rest` beside it.
fn world(body: &str, rest: &str) -> String {
    format!("<mujoco model=\"m\">{rest}<worldbody>{body}</worldbody></mujoco>")
}

fn same_turn(a: &Quat, b: &Quat) -> bool {
    a.angle_to(b) < 1e-7 && (a.to_rotation_matrix().matrix() - b.to_rotation_matrix().matrix()).norm() < 1e-14
}

#[test]
fn nearer_defaults_win() {
    let robot = clean(
        r#"<mujoco><default>
        <joint damping="1" armature="0.1"/>
        <default class="a"><joint damping="2"/><geom size="0.2"/>
          <default class="b"><joint armature="0.3"/></default></default>
        <default class="c"><joint damping="9"/></default></default>
        <worldbody><body childclass="a"><joint/><geom/>
          <body childclass="b"><joint/><geom/><body><joint class="c"/><geom size="0.4"/></body></body>
        </body></worldbody></mujoco>"#,
    );
    let seen: Vec<(f64, f64)> = robot.joints().map(|(_, joint)| (joint.damping, joint.armature)).collect();
    assert_eq!(seen, [(2.0, 0.1), (2.0, 0.3), (9.0, 0.1)]);
    let radii: Vec<GeomShape> = robot.geoms().map(|(_, geom)| geom.shape.clone()).collect();
    assert_eq!(radii, [0.2, 0.2, 0.4].map(|radius| GeomShape::Sphere { radius }));
}

#[test]
fn five_ways_to_say_an_orientation() {
    for (attribute, compiler, wanted) in [
        ("quat=\"0 1 0 1\"", "", exp(&(PI * Vec3::new(1.0, 0.0, 1.0).normalize()))),
        ("quat=\"1e200 0 0 1e200\"", "", exp(&Vec3::new(0.0, 0.0, PI / 2.0))),
        ("axisangle=\"0 2 0 90\"", "", exp(&Vec3::new(0.0, PI / 2.0, 0.0))),
        ("axisangle=\"0 2 0 1\"", "angle=\"radian\"", exp(&Vec3::new(0.0, 1.0, 0.0))),
        ("euler=\"30 40 50\"", "", turns(&[('x', 30.0), ('y', 40.0), ('z', 50.0)])),
        ("euler=\"30 40 50\"", "eulerseq=\"zyx\"", turns(&[('z', 30.0), ('y', 40.0), ('x', 50.0)])),
        ("euler=\"30 40 50\"", "eulerseq=\"XYZ\"", turns(&[('z', 50.0), ('y', 40.0), ('x', 30.0)])),
        ("xyaxes=\"0 2 0 -3 1 0\"", "", exp(&Vec3::new(0.0, 0.0, PI / 2.0))),
        ("zaxis=\"1 0 0\"", "", exp(&Vec3::new(0.0, PI / 2.0, 0.0))),
        ("zaxis=\"0 0 -2\"", "", exp(&Vec3::new(PI, 0.0, 0.0))),
    ] {
        let text = world(&format!("<body {attribute}/>"), &format!("<compiler {compiler}/>"));
        let turn = clean(&text).bodies[1].pose.rotation;
        assert!(same_turn(&turn, &wanted), "{attribute} {compiler}: {turn} {wanted}");
    }
}

/// Turns about axes that turn along, in degrees.
fn turns(list: &[(char, f64)]) -> Quat {
    list.iter().fold(Quat::identity(), |turn, (axis, angle)| {
        let axis = match axis {
            'x' => Vec3::x(),
            'y' => Vec3::y(),
            _ => Vec3::z(),
        };
        turn * exp(&(angle.to_radians() * axis))
    })
}

#[test]
fn angles_are_degrees_unless_the_compiler_says_radians() {
    let body = r#"<body><joint range="-90 45" ref="30" springref="60"/><geom size="1"/></body>
      <body><joint type="slide" range="-90 45" ref="30"/><geom size="1"/></body>"#;
    let robot = clean(&world(body, ""));
    let [hinge, slide] = &robot.joints().map(|(_, joint)| joint).collect::<Vec<_>>()[..] else { panic!() };
    assert_eq!(hinge.limits, Some([-PI / 2.0, PI / 4.0]));
    assert!((hinge.reference - PI / 6.0).abs() < 1e-15 && (hinge.spring_reference - PI / 3.0).abs() < 1e-15);
    assert_eq!((slide.limits, slide.reference), (Some([-90.0, 45.0]), 30.0));
    assert_eq!(robot.reference_configuration(), [hinge.reference, 30.0]);
    let radian = clean(&world(body, "<compiler angle=\"radian\"/>"));
    assert_eq!(radian.bodies[1].joints[0].limits, Some([-90.0, 45.0]));
    let off = refused(&world(body, "<compiler autolimits=\"false\"/>"));
    assert!(off.contains("`autolimits` is off"), "{off}");
    let off =
        clean(&world(&body.replace("ref=\"30\"", "limited=\"false\""), "<compiler autolimits=\"false\"/>"));
    assert_eq!(off.bodies[1].joints[0].limits, None);
}

#[test]
fn bodies_weigh_what_their_geoms_weigh() {
    let mass = |geoms: &str, compiler: &str| {
        let body = format!("<body name=\"b\">{geoms}</body>");
        clean(&world(&body, &format!("<compiler {compiler}/>"))).bodies[1].inertial
    };
    let ball = mass("<geom size=\"0.1\"/>", "");
    assert!((ball.mass - 1000.0 * 4.0 / 3.0 * PI * 1e-3).abs() < 1e-12);
    assert!((ball.inertia - Mat3::identity() * 0.4 * ball.mass * 0.01).norm() < 1e-15);
    // A dumbbell: Steiner.
    let two = "<geom size=\"0.1\" mass=\"2\" pos=\"1 0 0\"/><geom size=\"0.1\" mass=\"2\" pos=\"-1 0 0\"/>";
    let bell = mass(two, "");
    let own = 2.0 * 0.4 * 2.0 * 0.01;
    let wanted = Mat3::from_diagonal(&Vec3::new(own, own + 4.0, own + 4.0));
    assert!((bell.inertia - wanted).norm() < 1e-14 && bell.center.norm() < 1e-15);
    // Groups, weightless geoms, hollow ones.
    let extra = format!("{two}<geom size=\"3\" group=\"4\"/><geom size=\"1\" mass=\"0\"/>");
    assert_eq!(mass(&extra, "inertiagrouprange=\"0 2\"").mass, 4.0);
    let shell = mass("<geom size=\"0.1\" mass=\"3\" shellinertia=\"true\"/>", "");
    assert!((shell.inertia[(0, 0)] - 2.0 / 3.0 * 3.0 * 0.01).abs() < 1e-15);
    // An inertial wins, unless the compiler says otherwise.
    let given = format!("<inertial mass=\"7\" pos=\"0 0 1\" fullinertia=\"3 3 3 0.1 0.2 0.3\"/>{two}");
    assert_eq!(mass(&given, "").mass, 7.0);
    assert_eq!(mass(&given, "").inertia[(1, 2)], 0.3);
    assert_eq!(mass(&given, "inertiafromgeom=\"true\"").mass, 4.0);
    assert_eq!(mass(two, "inertiafromgeom=\"false\"").mass, 0.0);
    assert_eq!(mass(two, "settotalmass=\"10\"").mass, 10.0);
    assert_eq!(mass(two, "boundmass=\"6\"").mass, 6.0);
    let bad = "<inertial mass=\"1\" pos=\"0 0 0\" diaginertia=\"1 1 3\"/>";
    assert!((mass(bad, "balanceinertia=\"true\"").inertia - Mat3::identity() * 5.0 / 3.0).norm() < 1e-14);
    assert_eq!(mass(bad, "boundinertia=\"2.5\"").inertia.diagonal().min(), 2.5);
    // The same capsule said twice.
    let [a, b] = [
        "<geom type=\"capsule\" size=\"0.1 0.5\" pos=\"0.5 0 0\" zaxis=\"-1 0 0\"/>",
        "<geom type=\"capsule\" size=\"0.1\" fromto=\"0 0 0 1 0 0\"/>",
    ]
    .map(|geom| mass(geom, ""));
    assert!((a.mass - b.mass).abs() < 1e-12 && (a.inertia - b.inertia).norm() < 1e-12);
    assert!((a.center - b.center).norm() < 1e-15);
}

/// A cube of side 2 about (1, 1, 1), corners of triangles from 1.
const CUBE: &str = "v 0 0 0\nv 2 0 0\nv 2 2 0\nv 0 2 0\nv 0 0 2\nv 2 0 2\nv 2 2 2\nv 0 2 2\nf 1 4 3 2\nf 5 6 7 8\n\
     f 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n";

#[test]
fn meshes_weigh_by_four_rules_and_keep_their_frame() {
    let files = [("assets/cube.obj", CUBE)];
    let read = |mesh: &str, geom: &str| {
        let text = format!(
            "<mujoco><compiler meshdir=\"assets\"/><asset><mesh file=\"cube.obj\" {mesh}/></asset>\
             <worldbody><body><geom type=\"mesh\" mesh=\"cube\" {geom}/></body></worldbody></mujoco>"
        );
        read_robot_text("m.xml", text, Includes::Embedded(&files), &ReadOptions::default())
            .unwrap_or_else(|error| panic!("{error}"))
            .0
    };
    for rule in ["convex", "exact", "legacy"] {
        let robot = read(&format!("inertia=\"{rule}\""), "density=\"10\"");
        let body = robot.bodies[1].inertial;
        assert!((body.mass - 80.0).abs() < 1e-10, "{rule} {}", body.mass);
        assert!((body.center - Vec3::repeat(1.0)).norm() < 1e-12);
        assert!((body.inertia - Mat3::identity() * 80.0 * 4.0 / 6.0).norm() < 1e-9);
        assert_eq!(robot.meshes[0].vertices[6], Vec3::repeat(2.0));
        assert!((robot.meshes[0].inertial_frame.position - Vec3::repeat(1.0)).norm() < 1e-12);
    }
    let shell = read("inertia=\"shell\"", "mass=\"6\"").bodies[1].inertial;
    assert!((shell.inertia - Mat3::identity() * 6.0 * 4.0 * 5.0 / 18.0).norm() < 1e-9, "{}", shell.inertia);
    // Scaled, mirrored, moved.
    let moved =
        read("scale=\"-0.5 1 1\" refpos=\"1 1 1\"", "density=\"10\" pos=\"0 0 3\"").bodies[1].inertial;
    assert!((moved.mass - 40.0).abs() < 1e-10 && (moved.center - Vec3::new(0.0, 0.0, 3.0)).norm() < 1e-12);
    // A shape fitted to the mesh.
    let text = "<mujoco><asset><mesh name=\"m\" vertex=\"0 0 0 2 0 0 0 4 0 2 4 0 0 0 6 2 0 6 0 4 6 2 4 6\"/></asset>\
                <worldbody><body><geom type=\"box\" mesh=\"m\"/></body></worldbody></mujoco>";
    let robot = clean(text);
    let geom = &robot.bodies[1].geoms[0];
    let GeomShape::Box { half } = geom.shape else { panic!("{geom:?}") };
    let mut sides = half.as_slice().to_vec();
    sides.sort_by(f64::total_cmp);
    assert!((Vec3::from_column_slice(&sides) - Vec3::new(1.0, 2.0, 3.0)).norm() < 1e-9, "{half}");
    assert!((geom.pose.position - Vec3::new(1.0, 2.0, 3.0)).norm() < 1e-12);
    assert!((robot.bodies[1].inertial.mass - 48000.0).abs() < 1e-6);
}

#[test]
fn a_missing_mesh_is_named_with_its_place() {
    let text = "<mujoco><compiler meshdir=\"assets\"/><asset><mesh file=\"cup.stl\"/></asset>\n\
                <worldbody><body><geom type=\"mesh\" mesh=\"cup\"/><geom size=\"1\"/></body></worldbody></mujoco>";
    let message = refused(text);
    assert!(message.contains("there is no mesh `cup.stl`: looked for `assets/cup.stl`"), "{message}");
    assert!(message.contains("robot.xml:2:"), "{message}");
    let optional = ReadOptions { meshes: MeshPolicy::Optional, ..ReadOptions::default() };
    let (robot, warnings) = read_robot_text("robot.xml", text, Includes::None, &optional).unwrap();
    assert!(texts(&warnings).contains("the geom is left out"), "{}", texts(&warnings));
    assert_eq!(robot.bodies[1].geoms.len(), 1);
}

#[test]
fn frames_and_replicas_unfold() {
    let robot = clean(&world(
        r#"<frame pos="1 0 0" euler="0 0 90">
          <geom name="mark" size="0.1" pos="1 0 0"/>
          <body name="b" pos="1 0 0"><frame pos="0 0 2"><joint name="j" axis="1 0 0" pos="0 1 0"/></frame>
            <geom size="0.1"/></body></frame>
          <replicate count="11" offset="0 0 1" euler="0 0 90" sep="_"><body name="c" pos="1 0 0"><geom size="0.1"/></body></replicate>"#,
        "",
    ));
    assert!((robot.bodies[0].geoms[0].pose.position - Vec3::new(1.0, 1.0, 0.0)).norm() < 1e-15);
    let b = &robot.bodies[1];
    assert!((b.pose.position - Vec3::new(1.0, 1.0, 0.0)).norm() < 1e-15);
    assert_eq!(b.joints[0].anchor, Vec3::new(0.0, 1.0, 2.0));
    assert_eq!(robot.bodies.len(), 13);
    assert_eq!(robot.bodies[2].name, "c_00");
    let last = &robot.bodies[4];
    assert_eq!(last.name, "c_02");
    assert!((last.pose.position - Vec3::new(-1.0, 0.0, 2.0)).norm() < 1e-14);
}

#[test]
fn a_replica_is_turned_by_multiples_of_the_angles() {
    let robot = clean(&world(
        r#"<replicate count="3" offset="0.3 0.1 0" euler="17.188733853924695 0 -34.37746770784939"><body pos="1 0 0"/></replicate>"#,
        "",
    ));
    // Places as MuJoCo 4.0 has them, for angles of 0.3 and −0.6 rad.
    for (body, place) in [
        (2, [1.1253356149096783, -0.43942355814441136, -0.16686326042747074]),
        (3, [0.9664226862890806, -0.7522247967101251, -0.5519374977813166]),
    ] {
        assert!((robot.bodies[body].pose.position - Vec3::from(place)).norm() < 1e-14);
    }
}

#[test]
fn attached_models_bring_what_belongs_to_them() {
    let files = [(
        "leg.xml",
        r#"<mujoco><compiler angle="radian"/><default><default class="k"><joint damping="3"/></default></default>
        <worldbody><body name="leg" childclass="k"><joint name="hip" range="-1 1"/><geom name="g" size="0.1"/></body>
        <body name="other"><joint name="lone"/><geom size="1"/></body></worldbody>
        <actuator><motor name="hip" joint="hip"/><motor name="lone" joint="lone"/></actuator></mujoco>"#,
    )];
    let text = r#"<mujoco><asset><model name="leg" file="leg.xml"/></asset><worldbody>
        <body name="trunk"><geom size="1"/><replicate count="2" offset="1 0 0"><attach model="leg" body="leg" prefix="L_"/></replicate></body>
        </worldbody><sensor><jointpos joint="L_hip1"/></sensor></mujoco>"#;
    let (robot, warnings) =
        read_robot_text("m.xml", text, Includes::Embedded(&files), &ReadOptions::default())
            .unwrap_or_else(|error| panic!("{error}"));
    assert!(warnings.is_empty(), "{}", texts(&warnings));
    let names: Vec<&str> = robot.bodies.iter().map(|body| body.name.as_str()).collect();
    assert_eq!(names, ["world", "trunk", "L_leg0", "L_leg1"]);
    let hip = &robot.bodies[3].joints[0];
    assert_eq!((hip.name.as_str(), hip.damping, hip.limits), ("L_hip1", 3.0, Some([-1.0, 1.0])));
    let drives: Vec<&str> = robot.actuators.iter().map(|actuator| actuator.name.as_str()).collect();
    assert_eq!(drives, ["L_hip0", "L_hip1"]);
    assert_eq!(robot.sensors[0].object, SensorObject::Joint(RobotJointId(1)));
}

#[test]
fn includes_are_spliced_and_loops_are_refused() {
    let files = [
        ("parts/a.xml", "<mujoco><worldbody><body name=\"a\"><geom size=\"1\"/></body></worldbody></mujoco>"),
        ("loop.xml", "<mujoco><include file=\"back.xml\"/></mujoco>"),
        ("back.xml", "<mujoco><include file=\"loop.xml\"/></mujoco>"),
        ("bad.xml", "<mujoco><worldbody></mujoco>"),
    ];
    let read = |file: &str| {
        let text = format!(
            "<mujoco><include file=\"{file}\"/><worldbody><body name=\"b\"><geom size=\"1\"/></body></worldbody></mujoco>"
        );
        read_robot_text("m.xml", text, Includes::Embedded(&files), &ReadOptions::default())
    };
    let robot = read("parts/a.xml").unwrap().0;
    let names: Vec<&str> = robot.bodies.iter().map(|body| body.name.as_str()).collect();
    assert_eq!(names, ["world", "a", "b"]);
    for (file, part) in [
        ("loop.xml", "include each other in a loop: loop.xml -> back.xml -> loop.xml"),
        ("m.xml", "cannot include `m.xml`"),
        ("parts/b.xml", "there is no file parts/b.xml"),
        ("bad.xml", "bad.xml:1:"),
    ] {
        let error = read(file).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn actuators_are_gains_and_biases() {
    let robot = clean(
        r#"<mujoco><compiler angle="radian"/><default><position kp="7" forcerange="-2 2"/>
        <default class="soft"><position kp="3" dampratio="0.7"/></default></default>
        <worldbody><body><joint name="j" range="-1 3"/><geom size="1"/><site name="s"/><site name="t"/></body></worldbody>
        <actuator>
          <motor name="m" joint="j" gear="50" ctrlrange="-1 1"/>
          <position name="p" joint="j" kv="2"/>
          <position name="soft" class="soft" joint="j" inheritrange="0.5"/>
          <velocity name="v" joint="j" kv="4"/>
          <intvelocity name="i" joint="j" kp="5" actrange="-1 1"/>
          <damper name="d" joint="j" kv="6" ctrlrange="0 1"/>
          <cylinder name="c" joint="j" timeconst="0.5" diameter="2" bias="1 2 3"/>
          <general name="g" joint="j" gaintype="affine" gainprm="1 2 3" biastype="affine" biasprm="4 5 6" dyntype="filter" dynprm="0.1"/>
          <general name="site" site="s" refsite="t" gear="0 0 1 0 0 0.1"/>
          <position name="crank" cranksite="s" slidersite="t" cranklength="0.2"/>
        </actuator></mujoco>"#,
    );
    let a = |name: &str| robot.actuators.iter().find(|actuator| actuator.name == name).unwrap();
    assert_eq!((a("m").gear[0], a("m").control_range), (50.0, Some([-1.0, 1.0])));
    // The defaults of all kinds are one set of numbers, but a motor sets its gain itself.
    assert_eq!(
        (a("m").gain, a("m").bias, a("m").force_range),
        (ActuatorLaw::Fixed(1.0), ActuatorLaw::None, Some([-2.0, 2.0]))
    );
    assert_eq!((a("p").gain, a("p").bias), (ActuatorLaw::Fixed(7.0), ActuatorLaw::Affine([0.0, -7.0, -2.0])));
    let soft = a("soft");
    assert_eq!(
        (soft.gain, soft.bias, soft.damping_ratio),
        (ActuatorLaw::Fixed(3.0), ActuatorLaw::Affine([0.0, -3.0, 0.0]), Some(0.7))
    );
    assert_eq!(soft.control_range, Some([0.0, 2.0]));
    assert_eq!((a("v").gain, a("v").bias), (ActuatorLaw::Fixed(4.0), ActuatorLaw::Affine([0.0, 0.0, -4.0])));
    assert_eq!((a("i").dynamics, a("i").activation_range), (ActuatorDynamics::Integrator, Some([-1.0, 1.0])));
    assert_eq!((a("d").gain, a("d").bias), (ActuatorLaw::Affine([0.0, 0.0, -6.0]), ActuatorLaw::None));
    assert_eq!((a("c").gain, a("c").bias), (ActuatorLaw::Fixed(PI), ActuatorLaw::Affine([1.0, 2.0, 3.0])));
    assert_eq!(a("c").dynamics, ActuatorDynamics::Filter { time: 0.5 });
    assert_eq!(
        (a("g").gain, a("g").bias),
        (ActuatorLaw::Affine([1.0, 2.0, 3.0]), ActuatorLaw::Affine([4.0, 5.0, 6.0]))
    );
    assert!(matches!(a("site").transmission, Transmission::Site { reference: Some(_), .. }));
    assert!(matches!(a("crank").transmission, Transmission::SliderCrank { length: 0.2, .. }));
}

#[test]
fn the_rest_of_a_model_is_carried() {
    let robot = clean(
        r#"<mujoco model="all"><option timestep="0.005" gravity="0 0 -1" integrator="RK4" cone="elliptic" noslip_iterations="3">
          <flag contact="disable" energy="enable"/></option>
        <visual><global azimuth="3"/></visual><statistic extent="2"/><size memory="1M"/>
        <custom><numeric name="n" data="1 2" size="3"/><text name="t" data="hello"/></custom>
        <asset><texture name="x" builtin="flat"/><material name="red" rgba="1 0 0 1"/>
          <hfield name="hills" nrow="2" ncol="2" size="1 1 0.5 0.1" elevation="0 1 2 4"/></asset>
        <worldbody><geom name="floor" type="plane" size="0 0 1" material="red"/><geom type="hfield" hfield="hills"/>
          <light pos="0 0 1"/><camera name="eye" pos="0 0 1"/>
          <body name="a" gravcomp="1"><freejoint name="f"/><geom name="ga" size="0.1" condim="6" friction="0.5" user="1 2"/><site name="sa"/></body>
          <body name="b"><joint name="ball" type="ball" range="0 60"/><geom name="gb" type="cylinder" size="0.1 0.2"/><site name="sb"/>
            <body name="c"><joint name="h" frictionloss="0.2" stiffness="3" actuatorfrcrange="-2 2"/><geom size="0.1"/></body>
            <body name="d"><joint name="s" type="slide"/><geom size="0.1"/></body></body></worldbody>
        <contact><exclude body1="a" body2="b"/><pair geom1="ga" geom2="floor" friction="2"/></contact>
        <tendon><fixed name="sum" range="0 1"><joint joint="h" coef="2"/><joint joint="s" coef="-1"/></fixed>
          <spatial name="rope" stiffness="5" springlength="0.3"><site site="sa"/><geom geom="gb" sidesite="sb"/><pulley divisor="2"/><site site="sb"/></spatial></tendon>
        <equality><connect body1="a" body2="b" anchor="0 0 1"/><connect site1="sa" site2="sb"/><weld body1="a" relpose="0 0 1 2 0 0 0" active="false"/>
          <joint joint1="h" joint2="s" polycoef="0 2"/><tendon tendon1="sum"/></equality>
        <sensor><gyro site="sa" noise="0.1"/><framepos objtype="body" objname="a" reftype="site" refname="sb"/><distance geom1="ga" body2="b" cutoff="1"/>
          <tendonpos tendon="sum"/><subtreecom body="b"/><clock/><rangefinder camera="eye"/></sensor>
        <keyframe><key name="k" time="2" qpos="0 0 1 2 0 0 0 1 0 0 0 0.1 0.2" qvel="0 0 0 0 0 0 0 0 0 1 1"/></keyframe></mujoco>"#,
    );
    let o = &robot.options;
    assert_eq!(
        (o.timestep, o.gravity.z, o.integrator, o.elliptic_cone),
        (0.005, -1.0, RobotIntegrator::Rk4, Some(true))
    );
    assert!(o.disables("contact") && !o.disables("energy"));
    assert_eq!(o.other, [("noslip_iterations".to_owned(), "3".to_owned())]);
    assert_eq!(robot.bodies[0].geoms[0].color, [1.0, 0.0, 0.0, 1.0]);
    assert_eq!(robot.height_fields[0].heights, [0.0, 0.25, 0.5, 1.0]);
    assert_eq!((robot.numbers[0].1.as_slice(), robot.texts[0].1.as_str()), (&[1.0, 2.0, 0.0][..], "hello"));
    assert_eq!(robot.bodies[1].geoms[0].friction, [0.5, 0.005, 0.0001]);
    assert_eq!(robot.bodies[1].gravity_compensation, 1.0);
    let kinds: Vec<JointKind> = robot.joints().map(|(_, joint)| joint.kind).collect();
    assert_eq!(kinds, [JointKind::Free, JointKind::Ball, JointKind::Hinge, JointKind::Slider]);
    let TendonPath::Joints(sum) = &robot.tendons[0].path else { panic!() };
    assert_eq!(sum[..], [(RobotJointId(2), 2.0), (RobotJointId(3), -1.0)]);
    let TendonPath::Spatial(path) = &robot.tendons[1].path else { panic!() };
    assert!(matches!(path[1], PathPoint::Geom { side: Some(_), .. }) && path.len() == 4);
    assert_eq!(robot.tendons[1].spring_lengths, Some([0.3, 0.3]));
    assert_eq!(robot.equalities.len(), 5);
    assert!(matches!(
        robot.equalities[0].kind,
        EqualityKind::Connect { bodies: [RobotBodyId(1), RobotBodyId(2)], .. }
    ));
    let EqualityKind::Weld { bodies, relative: Some(pose), .. } = robot.equalities[2].kind else { panic!() };
    assert_eq!((bodies[1], pose.rotation), (RobotBodyId(0), Quat::identity()));
    assert!(!robot.equalities[2].active);
    assert_eq!((robot.sensors.len(), robot.contact_excludes.len()), (7, 1));
    assert_eq!(robot.contact_pairs[0].friction, Some([2.0, 1.0, 0.005, 0.0001, 0.0001]));
    let key = &robot.keyframes[0];
    assert_eq!((key.time, &key.positions[3..7]), (2.0, &[1.0, 0.0, 0.0, 0.0][..]));
}

#[test]
fn nothing_is_dropped_silently() {
    for (text, part) in [
        (
            world("<body><geom size=\"1\" frictoin=\"1\"/></body>", ""),
            "unknown attribute `frictoin` of `geom`",
        ),
        (world("<body><geom size=\"1\" frictoin=\"1\"/></body>", ""), "did you mean `friction`?"),
        (world("<body><goem/></body>", ""), "did you mean `geom`?"),
        (world("<flexcomp name=\"f\" type=\"grid\"/>", ""), "`flexcomp` is not read"),
        (world("<body><composite/></body>", ""), "`composite` is not read"),
        (
            world("", "<deformable><flex name=\"f\"/></deformable>"),
            "element `deformable` in `mujoco` is not read",
        ),
        (
            world("", "<extension><plugin plugin=\"a\"/></extension>"),
            "element `extension` in `mujoco` is not read",
        ),
        (world("", "<sensr/>"), "did you mean `sensor`?"),
        (
            world(
                "<body><joint name=\"j\"/><geom size=\"1\"/></body>",
                "<actuator><muscle joint=\"j\"/></actuator>",
            ),
            "`muscle` is carried, but not simulated",
        ),
        (
            world(
                "<body><joint name=\"j\"/><geom size=\"1\"/></body>",
                "<actuator><motr joint=\"j\"/></actuator>",
            ),
            "did you mean `motor`?",
        ),
        (
            world("<body><joint springdamper=\"1 1\"/><geom size=\"1\"/></body>", ""),
            "`springdamper` is not done",
        ),
        (
            world("<body><joint damping=\"1 2\"/><geom size=\"1\"/></body>", ""),
            "only the linear part of `damping` is kept",
        ),
        (world("", "<compiler fusestatic=\"true\"/>"), "`fusestatic` is not done"),
        (world("", "<sensor><plugin/></sensor>"), "sensors of kind `plugin` are not read"),
        (
            world("<body><geom size=\"1\"/></body>", "<default><geom fluidshape=\"ellipsoid\"/></default>"),
            "`fluidshape` is not carried",
        ),
    ] {
        let (_, warnings) = read(&text);
        let list = texts(&warnings);
        assert!(list.contains(part), "{text}: {list}");
        assert!(warnings.iter().all(|warning| warning.place.is_some()), "{list}");
        let strict = ReadOptions { strict: true, ..ReadOptions::default() };
        let error = read_robot_text("m.xml", text, Includes::None, &strict).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn broken_models_are_refused_with_their_place() {
    let joint = "<body><joint name=\"hinge\"/><geom name=\"g\" size=\"1\"/><site name=\"s\"/></body>";
    for (text, part) in [
        (world("<body><joint axis=\"0 1\"/></body>", ""), "`axis` wants 3 numbers, found 2"),
        (world("<body><joint axis=\"0 0 0\"/></body>", ""), "has length zero"),
        (world("<body><joint damping=\"nan\"/></body>", ""), "`damping` is `nan`; it must be finite"),
        (world("<body><joint damping=\"-1\"/></body>", ""), "must not be negative"),
        (world("<body><joint damping=\"1,5\"/></body>", ""), "wants numbers, found `1,5`"),
        (world("<body><joint type=\"hing\"/></body>", ""), "did you mean `hinge`?"),
        (world("<body><joint limited=\"true\"/></body>", ""), "is limited, but its range is 0 to 0"),
        (world("<body><joint range=\"2 1\"/></body>", ""), "runs from"),
        (world("<body><body><freejoint/></body></body>", ""), "only children of the world float"),
        (world("<body><freejoint/><joint/></body>", ""), "shares its body with a free joint"),
        (world("<joint/>", ""), "the world, which does not move"),
        (world("<body quat=\"0 0 0 0\"/>", ""), "quaternion of length zero"),
        (world("<body quat=\"1 0 0 0\" euler=\"0 0 0\"/>", ""), "two orientations: `quat` and `euler`"),
        (
            world("<body><geom type=\"box\" size=\"1 1\"/></body>", ""),
            "`size` of a box wants 3 numbers, found 2",
        ),
        (world("<body><geom size=\"-1\"/></body>", ""), "must be positive, found -1"),
        (world("<body><geom/></body>", ""), "wants 1 numbers, found 0"),
        (world("<body><geom type=\"capsule\" size=\"1\" fromto=\"0 0 0 0 0 0\"/></body>", ""), "0 m apart"),
        (world("<body><geom size=\"1\" condim=\"2\"/></body>", ""), "must be 1, 3, 4 or 6"),
        (world("<body><geom type=\"mesh\" mesh=\"m\"/></body>", ""), "there is no mesh called `m`"),
        (world("<body name=\"a\"/><body name=\"a\"/>", ""), "there are two bodies called `a`"),
        (world("<body name=\"world\"/>", ""), "called `world`"),
        (world("<body><geom class=\"x\" size=\"1\"/></body>", ""), "there is no class called `x`"),
        (world("<body childclass=\"x\"/>", ""), "there is no class called `x`"),
        (world("", "<default><default/></default>"), "needs the attribute `class`"),
        (
            world("", "<default><default class=\"a\"/><default class=\"a\"/></default>"),
            "two classes called `a`",
        ),
        (world(joint, "<actuator><motor joint=\"hing\"/></actuator>"), "did you mean `hinge`?"),
        (world(joint, "<actuator><motor/></actuator>"), "needs one of joint"),
        (world(joint, "<actuator><motor joint=\"hinge\" site=\"s\"/></actuator>"), "several transmissions"),
        (
            world(joint, "<actuator><position joint=\"hinge\" kv=\"1\" dampratio=\"1\"/></actuator>"),
            "both given",
        ),
        (
            world(joint, "<actuator><position joint=\"hinge\" inheritrange=\"1\"/></actuator>"),
            "needs a joint or tendon with a range",
        ),
        (world(joint, "<sensor><gyro site=\"q\"/></sensor>"), "there is no site called `q`"),
        (world(joint, "<sensor><framepos objtype=\"bdy\" objname=\"q\"/></sensor>"), "must be body, xbody"),
        (world(joint, "<tendon><fixed/></tendon>"), "the tendon is empty"),
        (
            world(joint, "<equality><connect body1=\"nobody\" anchor=\"0 0 0\"/></equality>"),
            "no body called `nobody`",
        ),
        (world(joint, "<keyframe><key qpos=\"1 2\"/></keyframe>"), "`qpos` has 2 numbers; the model has 1"),
        (world(joint, "<contact><pair geom1=\"g\"/></contact>"), "needs the attribute `geom2`"),
        (world(joint, "<option timestep=\"0\"/>"), "must be positive"),
        (world("", "<compiler coordinate=\"global\"/>"), "`coordinate` must be `local`"),
        (world("", "<compiler eulerseq=\"xyw\"/>"), "`eulerseq` wants three letters"),
        (world("<body><inertial pos=\"0 0 0\"/></body>", ""), "needs the attribute `mass`"),
        (world("<body><inertial pos=\"0 0 0\" mass=\"-1\" diaginertia=\"1 1 1\"/></body>", ""), "mass -1 kg"),
        (world("<replicate count=\"1000000000\"><body/></replicate>", ""), "unfolds to more than"),
        (world("<replicate count=\"-1\"><body/></replicate>", ""), "must not be negative"),
        (world("<attach model=\"m\" body=\"b\"/>", ""), "no model asset called `m`"),
        (world("", "<include file=\"a.xml\"/>"), "no place among files"),
    ] {
        let message = refused(&text);
        assert!(message.contains(part), "{text}: {message}");
        assert!(message.contains("robot.xml:1:"), "{message}");
    }
}

#[test]
fn a_long_chain_is_read_and_a_longer_one_is_refused() {
    let chain = |n: usize| {
        let body = "<body pos=\"0 0 1\"><joint/><geom size=\"0.1\"/>";
        world(&format!("{}{}", body.repeat(n), "</body>".repeat(n)), "")
    };
    assert_eq!(clean(&chain(1000)).velocity_count(), 1000);
    assert!(refused(&chain(1100)).contains("nested more than 1024 deep"));
    assert!(refused(&chain(100_000)).contains("nested more than 1024 deep"));
}

#[test]
fn empty_numbers_say_nothing_and_leave_the_class_its_word() {
    let robot = clean(&world(
        r#"<body quat="" euler="0 0 90"><joint axis="" range="" damping=""/>
           <geom class="big" size="" rgba=" " friction="" condim="" mass="" pos="" hfield="" mesh=""/></body>"#,
        r#"<default><default class="big"><geom size="0.2" rgba="1 0 0 1" condim="4"/></default></default>"#,
    ));
    let body = &robot.bodies[1];
    assert_eq!((body.joints[0].axis, body.joints[0].limits), (Vec3::z(), None));
    assert_eq!(body.geoms[0].shape, GeomShape::Sphere { radius: 0.2 });
    assert_eq!((body.geoms[0].color, body.geoms[0].contact_dimension), ([1.0, 0.0, 0.0, 1.0], 4));
    assert!((body.pose.rotation * Vec3::x() - Vec3::y()).norm() < 1e-15);
}

#[test]
fn quaternions_of_keyframes_have_length_one_and_that_of_zeros_turns_nothing() {
    let robot = clean(&world(
        "<body><freejoint/><geom size=\"1\"/></body><body><joint type=\"ball\"/><geom size=\"1\"/></body>",
        "<keyframe><key qpos=\"1 2 3 0 0 0 0 0 0 0 5\"/></keyframe>",
    ));
    assert_eq!(robot.keyframes[0].positions, [1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn a_mesh_is_looked_for_from_the_main_file_and_then_beside_the_included_one() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    // A corner of a cube with edges of `size`: its volume tells which file was taken.
    let corner = |size: f64| {
        format!("v 0 0 0\nv {size} 0 0\nv 0 {size} 0\nv 0 0 {size}\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    };
    let main = |compiler: &str| {
        format!(
            r#"<mujoco><compiler {compiler}/><include file="sub/parts.xml"/>
               <worldbody><body><geom type="mesh" mesh="m"/></body></worldbody></mujoco>"#
        )
    };
    let taken = || {
        let (robot, _) = read_robot(folder.path().join("main.xml"), &ReadOptions::default()).unwrap();
        (robot.total_mass() / 1000.0 * 6.0).cbrt().round()
    };
    put("main.xml", &main(""));
    put("sub/parts.xml", r#"<mujoco><asset><mesh name="m" file="../geometry/m.obj"/></asset></mujoco>"#);
    put("geometry/m.obj", &corner(1.0));
    assert_eq!(taken(), 1.0, "beside the included file");
    put("sub/parts.xml", r#"<mujoco><asset><mesh name="m" file="m.obj"/></asset></mujoco>"#);
    put("sub/m.obj", &corner(2.0));
    assert_eq!(taken(), 2.0, "beside the included file");
    put("m.obj", &corner(3.0));
    assert_eq!(taken(), 3.0, "beside the main file first");
    put("main.xml", &main(r#"meshdir="geo""#));
    assert_eq!(taken(), 2.0, "`meshdir` is seen from the main file");
    put("geo/m.obj", &corner(4.0));
    assert_eq!(taken(), 4.0, "`meshdir` first");
    std::fs::remove_file(folder.path().join("geo/m.obj")).unwrap();
    std::fs::remove_file(folder.path().join("sub/m.obj")).unwrap();
    let error = read_robot(folder.path().join("main.xml"), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("geo") && error.contains("sub"), "{error}");
}

#[test]
fn what_belongs_to_an_actuator_of_an_unknown_kind_is_left_out_with_it() {
    let (robot, warnings) = read(&world(
        "<body><joint name=\"j\"/><geom size=\"1\"/></body>",
        r#"<actuator><dcmotor name="d" joint="j"/><motor name="m" joint="j"/></actuator>
           <sensor><actuatorfrc actuator="d"/></sensor><keyframe><key ctrl="1 2"/></keyframe>"#,
    ));
    assert_eq!((robot.actuators.len(), robot.sensors.len()), (1, 0));
    let list = texts(&warnings);
    assert!(list.contains("actuator `dcmotor` is not read"), "{list}");
    assert!(list.contains("`ctrl` has 2 numbers; the model has 1"), "{list}");
}
