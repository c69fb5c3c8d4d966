//! What URDF files mean, and what is said about those that mean nothing.

use dalembert::bodies::articulated::description::{GeomShape, RobotBodyId, RobotDescription, RobotJointId};
use dalembert::joints::JointKind;
use dalembert::math::Vec3;
use dalembert_formats::error::Diagnostic;
use dalembert_formats::robot::{InertiaPolicy, MeshPolicy, ReadOptions, read_robot_text};
use dalembert_formats::source::Includes;

fn read(text: &str) -> (RobotDescription, Vec<Diagnostic>) {
    read_with(text, &ReadOptions::default())
}

fn read_with(text: &str, options: &ReadOptions) -> (RobotDescription, Vec<Diagnostic>) {
    read_robot_text("robot.xml", text, Includes::None, options).unwrap_or_else(|error| panic!("{error}"))
}

/// The errors, as they are printed.
fn refused(text: &str) -> String {
    refused_with(text, &ReadOptions::default())
}

fn refused_with(text: &str, options: &ReadOptions) -> String {
    let error = read_robot_text("robot.xml", text, Includes::None, options)
        .map(|(robot, _)| robot)
        .expect_err("the model should be refused");
    assert!(error.diagnostics().iter().all(|one| one.place.is_some()), "{error}");
    error.to_string()
}

fn texts(warnings: &[Diagnostic]) -> String {
    warnings.iter().map(|warning| format!("{warning}\n")).collect()
}

const LINK: &str = r#"<inertial><origin xyz="0 0 0.5" rpy="0 0 1.5707963267948966"/><mass value="2"/>
  <inertia ixx="1" iyy="2" izz="2.5" ixy="0" ixz="0" iyz="0"/></inertial>"#;

fn arm(rest: &str) -> String {
    format!(
        r#"<robot name="arm">
<material name="red"><color rgba="1 0 0 1"/></material>
<link name="base"/>
<link name="upper">{LINK}
  <visual><geometry><box size="0.2 0.4 0.6"/></geometry><material name="red"/></visual>
  <collision name="c"><origin xyz="0 0 1"/><geometry><cylinder radius="0.1" length="1"/></geometry></collision>
</link>
<link name="lower">{LINK}</link>
<link name="tool"/>
<joint name="shoulder" type="revolute">
  <parent link="base"/><child link="upper"/><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0 3 4"/>
  <limit lower="-1" upper="2" effort="30" velocity="4"/><dynamics damping="0.5" friction="0.1"/>
</joint>
<joint name="elbow" type="prismatic">
  <parent link="upper"/><child link="lower"/><limit lower="0" upper="1" effort="0" velocity="0"/>
  <mimic joint="shoulder" multiplier="-2" offset="0.5"/>
</joint>
<joint name="wrist" type="fixed"><parent link="lower"/><child link="tool"/></joint>
{rest}</robot>"#
    )
}

#[test]
fn a_urdf_says_what_moves_and_how() {
    let (robot, warnings) = read(&arm(""));
    assert!(warnings.is_empty(), "{}", texts(&warnings));
    let names: Vec<&str> = robot.bodies.iter().map(|body| body.name.as_str()).collect();
    assert_eq!(names, ["world", "base", "upper", "lower", "tool"]);
    assert_eq!((robot.position_count(), robot.velocity_count(), robot.total_mass()), (2, 2, 4.0));
    let upper = &robot.bodies[2];
    assert_eq!(upper.parent, RobotBodyId(1));
    let shoulder = &upper.joints[0];
    assert_eq!((shoulder.kind, shoulder.limits), (JointKind::Hinge, Some([-1.0, 2.0])));
    assert_eq!((shoulder.effort_limits, shoulder.velocity_limit), (Some([-30.0, 30.0]), Some(4.0)));
    assert_eq!((shoulder.damping, shoulder.friction_loss), (0.5, 0.1));
    assert!((shoulder.axis - Vec3::new(0.0, 0.6, 0.8)).norm() < 1e-15);
    // Roll, pitch and yaw turn about fixed axes: z after y after x.
    let expected = [0.3, 0.2, 0.1].iter().zip([Vec3::z(), Vec3::y(), Vec3::x()]);
    let turned = expected.fold(dalembert::math::Quat::identity(), |turn, (angle, axis)| {
        turn * dalembert::math::rotation::exp(&(*angle * axis))
    });
    assert!((turned.coords - upper.pose.rotation.coords).norm() < 1e-15);
    // The inertia is turned by 90 degrees about z.
    let moments = upper.inertial.inertia.diagonal();
    assert!((moments - Vec3::new(2.0, 1.0, 2.5)).norm() < 1e-15, "{moments}");
    assert_eq!(upper.inertial.center, Vec3::new(0.0, 0.0, 0.5));
    let [seen, touched] = &upper.geoms[..] else { panic!("two geoms") };
    assert!(seen.is_visual() && !touched.is_visual());
    assert_eq!((seen.color, seen.material.as_str()), ([1.0, 0.0, 0.0, 1.0], "red"));
    assert_eq!(seen.shape, GeomShape::Box { half: Vec3::new(0.1, 0.2, 0.3) });
    assert_eq!(touched.shape, GeomShape::Cylinder { radius: 0.1, half_length: 0.5 });
    assert_eq!(robot.bodies[3].joints[0].effort_limits, None);
    let mimic = robot.mimics[0];
    assert_eq!((mimic.joint, mimic.of), (RobotJointId(1), RobotJointId(0)));
    assert_eq!((mimic.multiplier, mimic.offset), (-2.0, 0.5));
}

#[test]
fn the_base_floats_if_asked() {
    let options = ReadOptions { floating_base: true, ..ReadOptions::default() };
    let (robot, _) = read_with(&arm(""), &options);
    assert_eq!((robot.position_count(), robot.velocity_count()), (9, 8));
    assert_eq!(robot.bodies[1].joints[0].kind, JointKind::Free);
}

#[test]
fn what_a_urdf_says_to_others_is_listed() {
    let (_, warnings) = read(&arm("<gazebo/><transmission name=\"t\"/><lnk/>"));
    let list = texts(&warnings);
    assert_eq!(warnings.len(), 3, "{list}");
    for part in
        ["`gazebo` is skipped", "`transmission` is skipped", "unknown element `lnk`", "did you mean `link`?"]
    {
        assert!(list.contains(part), "{list}");
    }
    let strict = ReadOptions { strict: true, ..ReadOptions::default() };
    assert!(refused_with(&arm("<gazebo/>"), &strict).contains("`gazebo` is skipped"));
}

#[test]
fn broken_urdfs_are_refused_with_their_place() {
    let link = "<link name=\"extra\"/>";
    let joint = |parent: &str, child: &str| {
        format!(
            "<joint name=\"j\" type=\"fixed\"><parent link=\"{parent}\"/><child link=\"{child}\"/></joint>"
        )
    };
    for (rest, part) in [
        (joint("tool", "upper"), "link `upper` has two parents: joints `shoulder` and `j`"),
        (joint("tool", "uper"), "there is no link called `uper`"),
        (joint("tool", "uper"), "did you mean `upper`?"),
        (joint("tool", "base"), "form a loop"),
        (link.into(), "links `base` and `extra` both have no parent"),
        ("<link name=\"tool\"/>".into(), "there are two links called `tool`"),
        ("<link name=\" \"/>".into(), "is empty"),
        ("<link/>".into(), "needs the attribute `name`"),
        (
            link.to_owned() + &joint("tool", "extra").replace("\"j\"", "\"elbow\""),
            "two joints called `elbow`",
        ),
        (link.to_owned() + &joint("tool", "extra").replace("fixed", "revolut"), "did you mean `revolute`?"),
        (format!("{link}<joint name=\"j\" type=\"fixed\"><parent link=\"tool\"/></joint>"), "has no `child`"),
    ] {
        let message = refused(&arm(&rest));
        assert!(message.contains(part), "{rest}: {message}");
        assert!(message.contains("robot.xml:2") || message.contains("robot.xml:1"), "{message}");
    }
    for (from, to, part) in [
        ("xyz=\"0 3 4\"", "xyz=\"0 3\"", "`xyz` wants 3 numbers, found 2"),
        ("xyz=\"0 3 4\"", "xyz=\"0 0 0\"", "axis of joint `shoulder` has length zero"),
        ("xyz=\"0 3 4\"", "xyz=\"0 nan 4\"", "`xyz` is `nan`; it must be finite"),
        ("xyz=\"0 3 4\"", "xyz=\"\"", "`xyz` wants 3 numbers, found 0"),
        ("xyz=\"0 3 4\"", "xyz=\"a b c\"", "`xyz` wants numbers, found `a`"),
        ("lower=\"-1\"", "lower=\"3\"", "limits of joint `shoulder` are 3 to 2"),
        ("radius=\"0.1\"", "radius=\"-0.1\"", "must be positive"),
        ("radius=\"0.1\"", "", "`cylinder` needs the attribute `radius`"),
        ("<cylinder", "<cilinder", "did you mean `cylinder`?"),
        ("joint=\"shoulder\"", "joint=\"elbow\"", "mimic each other in a loop"),
        ("<mass value=\"2\"/>", "<mass value=\"-2\"/>", "mass -2 kg must be positive"),
        ("<mass value=\"2\"/>", "", "has no mass"),
    ] {
        let text = arm("");
        assert!(text.contains(from), "{from}");
        let message = refused(&text.replacen(from, to, 1));
        assert!(message.contains(part), "{to}: {message}");
    }
}

#[test]
fn an_inertia_that_cannot_be_is_kept_mended_or_refused() {
    let bad = arm("").replace("izz=\"2.5\"", "izz=\"9\"");
    let (robot, warnings) = read(&bad);
    assert_eq!(robot.bodies[2].inertial.inertia[(2, 2)], 9.0);
    assert!(texts(&warnings).contains("break the triangle inequality"), "{}", texts(&warnings));
    let fix = ReadOptions { inertia: InertiaPolicy::Fix, ..ReadOptions::default() };
    let (robot, warnings) = read_with(&bad, &fix);
    assert!(robot.bodies[2].inertial.mass_properties().is_ok());
    assert_eq!(warnings.len(), 2);
    let refuse = ReadOptions { inertia: InertiaPolicy::Refuse, ..ReadOptions::default() };
    assert!(refused_with(&bad, &refuse).contains("triangle"));
}

#[test]
fn a_missing_mesh_is_named_with_the_places_tried() {
    let text = arm("")
        .replace("<cylinder radius=\"0.1\" length=\"1\"/>", "<mesh filename=\"package://arm/a.stl\"/>");
    let files = [("packages/arm/a.stl", "no mesh")];
    let embedded = Includes::Embedded(&files);
    let error = read_robot_text("arm/urdf/arm.urdf", &*text, embedded, &ReadOptions::default())
        .unwrap_err()
        .to_string();
    assert!(
        error
            .contains("there is no mesh `package://arm/a.stl`: looked for `arm/urdf/arm/a.stl`, `arm/a.stl`"),
        "{error}"
    );
    let packages = ReadOptions { package_paths: vec!["packages".into()], ..ReadOptions::default() };
    let error = read_robot_text("arm/urdf/arm.urdf", &*text, embedded, &packages).unwrap_err().to_string();
    assert!(error.contains("neither a text STL"), "{error}");
    for meshes in [MeshPolicy::Optional, MeshPolicy::Skip] {
        let options = ReadOptions { meshes, ..ReadOptions::default() };
        let (robot, _) = read_with(&text, &options);
        assert_eq!(robot.bodies[2].geoms.len(), 1);
    }
}

#[test]
fn damaged_xml_is_refused_with_its_place() {
    let deep = |n: usize| format!("<robot name=\"a\">{}{}</robot>", "<a>".repeat(n), "</a>".repeat(n));
    let bomb = "<?xml version=\"1.0\"?>\n<!-- <!DOCTYPE --><!DOCTYPE lolz [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]>\n<robot name=\"&b;\"/>";
    for (text, part) in [
        ("", "the XML is damaged"),
        ("<robot", "the XML is damaged"),
        ("<robot name='a'></robt>", "robot.xml:1:"),
        ("<robot name='a' name='b'/>", "the XML is damaged"),
        ("<robots/>", "did you mean `robot`?"),
        ("<robot name='a'/>", "the robot has no links"),
        (bomb, "document type definitions (`<!DOCTYPE`) are not allowed"),
        (bomb, "robot.xml:2:19"),
        (&deep(2000), "nested more than 1024 deep"),
        (&deep(100_000), "nested more than 1024 deep"),
        (&"<robot>".repeat(100_000), "the XML is damaged"),
    ] {
        let message = refused(text);
        assert!(message.contains(part), "{message}");
    }
}
