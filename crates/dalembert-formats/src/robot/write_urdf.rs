//! A robot as URDF: one tree of links, joints of one freedom or none, and everything else on the list of what is lost.
//!
//! A link of URDF has its frame at the joint. Several joints on one body become massless links between; a joint whose
//! anchor is not the body's origin moves the frame of its link there, and what stands on the link moves along.

use dalembert::bodies::articulated::description::{GeomShape, RobotBody, RobotDescription, RobotJoint};
use dalembert::joints::JointKind;
use dalembert::math::rotation::{exp, matrix};
use dalembert::math::{Pose, Vec3};

use super::write::{Written, Xml};

/// Roll, pitch and yaw of a rotation, Rz(yaw) Ry(pitch) Rx(roll).
fn roll_pitch_yaw(pose: &Pose) -> [f64; 3] {
    let turn = matrix(&pose.rotation);
    let pitch = (-turn[(2, 0)]).clamp(-1.0, 1.0).asin();
    if pitch.cos() > 1e-9 {
        [turn[(2, 1)].atan2(turn[(2, 2)]), pitch, turn[(1, 0)].atan2(turn[(0, 0)])]
    } else {
        // Straight up or down: only yaw and roll together matter.
        [0.0, pitch, (-turn[(0, 1)]).atan2(turn[(1, 1)])]
    }
}

fn origin(pose: &Pose, xml: &mut Xml) {
    xml.begin("origin");
    xml.numbers("xyz", pose.position.as_slice());
    xml.numbers("rpy", &roll_pitch_yaw(pose));
    xml.end();
}

/// Writes a robot as URDF.
pub fn write_urdf(robot: &RobotDescription) -> Written {
    let mut xml = Xml::new();
    xml.text.push_str("<?xml version=\"1.0\"?>\n");
    xml.begin("robot");
    xml.put("name", if robot.name.is_empty() { "robot" } else { &robot.name });
    xml.open();
    // Each body's frame inside the frame of its link.
    let mut inside: Vec<Pose> = vec![Pose::identity(); robot.bodies.len()];
    let names: Vec<String> = robot
        .bodies
        .iter()
        .enumerate()
        .map(|(i, body)| if body.name.is_empty() { format!("body{i}") } else { body.name.clone() })
        .collect();
    let roots: Vec<usize> = (1..robot.bodies.len()).filter(|i| robot.bodies[*i].parent.0 == 0).collect();
    // A single root that stands at the origin, or floats, needs no link for the world.
    let floats = |body: &RobotBody| matches!(body.joints[..], [RobotJoint { kind: JointKind::Free, .. }]);
    let single = match roots[..] {
        [one] => {
            let body = &robot.bodies[one];
            (floats(body) || (body.joints.is_empty() && body.pose == Pose::identity())).then_some(one)
        }
        _ => None,
    };
    if single.is_none() {
        link(robot, 0, &names[0], &Pose::identity(), &mut xml);
    } else if let Some(root) = single.filter(|root| floats(&robot.bodies[*root])) {
        xml.lose(format!("`{}` floats: read the file with a floating base", names[root]));
    }
    for (i, body) in robot.bodies.iter().enumerate().skip(1) {
        if single == Some(i) {
            link(robot, i, &names[i], &Pose::identity(), &mut xml);
            continue;
        }
        let mut parent = names[body.parent.0].clone();
        let mut place = inside[body.parent.0].then(&body.pose);
        let last = body.joints.len().saturating_sub(1);
        for (k, one) in body.joints.iter().enumerate() {
            // The link's frame stands in the anchor.
            let child = if k == last { names[i].clone() } else { format!("{}_{k}", names[i]) };
            joint(one, &child, &parent, &place.then(&Pose::at(one.anchor)), &mut xml);
            place = Pose::at(-one.anchor);
            if k != last {
                empty_link(&child, &mut xml);
                parent = child;
            }
        }
        if body.joints.is_empty() {
            let weld = RobotJoint::new(format!("{}_weld", names[i]), JointKind::Fixed);
            joint(&weld, &names[i], &parent, &place, &mut xml);
        } else {
            inside[i] = place;
        }
        link(robot, i, &names[i], &inside[i], &mut xml);
    }
    mimics(robot, &mut xml);
    losses(robot, &mut xml);
    xml.close("robot");
    Written { text: xml.text, lost: xml.lost }
}

fn empty_link(name: &str, xml: &mut Xml) {
    xml.begin("link");
    xml.put("name", name);
    xml.end();
}

fn joint(joint: &RobotJoint, child: &str, parent: &str, place: &Pose, xml: &mut Xml) {
    let name = if joint.name.is_empty() { format!("{child}_joint") } else { joint.name.clone() };
    let kind = match (joint.kind, joint.limits) {
        (JointKind::Hinge, None) => "continuous",
        (JointKind::Hinge, Some(_)) => "revolute",
        (JointKind::Slider, _) => "prismatic",
        (JointKind::Planar, _) => "planar",
        (JointKind::Free, _) => "floating",
        (JointKind::Fixed, _) => "fixed",
        (other, _) => {
            xml.lose(format!("joint `{name}`: URDF has no {} joint; it is fixed", other.name()));
            "fixed"
        }
    };
    // A coordinate of URDF is zero where the body stands as placed; a reference moves it there.
    let mut place = *place;
    if joint.reference != 0.0 {
        match joint.kind {
            JointKind::Hinge => place.rotation *= exp(&(-joint.reference * joint.axis)),
            JointKind::Slider => place.position -= place.rotation * (joint.reference * joint.axis),
            _ => xml.lose(format!("joint `{name}`: its reference")),
        }
    }
    xml.begin("joint");
    xml.put("name", &name);
    xml.put("type", kind);
    xml.open();
    origin(&place, xml);
    xml.begin("parent");
    xml.put("link", parent);
    xml.end();
    xml.begin("child");
    xml.put("link", child);
    xml.end();
    if !matches!(kind, "fixed" | "floating") {
        xml.begin("axis");
        xml.numbers("xyz", joint.axis.as_slice());
        xml.end();
        let effort = joint.effort_limits.map_or(1e9, |[low, high]| high.abs().max(low.abs()));
        if kind != "planar" && (joint.limits.is_some() || kind == "prismatic") {
            let [low, high] = joint.limits.unwrap_or([-1e9, 1e9]);
            xml.begin("limit");
            xml.number("lower", low);
            xml.number("upper", high);
            xml.number("effort", effort);
            xml.number("velocity", joint.velocity_limit.unwrap_or(1e9));
            xml.end();
        }
        if joint.damping != 0.0 || joint.friction_loss != 0.0 {
            xml.begin("dynamics");
            xml.number("damping", joint.damping);
            xml.number("friction", joint.friction_loss);
            xml.end();
        }
    }
    xml.close("joint");
    for (what, there) in [
        ("armature", joint.armature != 0.0),
        ("stiffness", joint.stiffness != 0.0),
        ("softness of limits", joint.limit_softness != Default::default()),
    ] {
        if there {
            xml.lose(format!("joint `{name}`: its {what}"));
        }
    }
}

fn link(robot: &RobotDescription, i: usize, name: &str, inside: &Pose, xml: &mut Xml) {
    let body = &robot.bodies[i];
    xml.begin("link");
    xml.put("name", name);
    xml.open();
    let inertial = &body.inertial;
    if i > 0 && (inertial.mass != 0.0 || inertial.inertia.norm() != 0.0) {
        xml.begin("inertial");
        xml.open();
        origin(&inside.then(&Pose::at(inertial.center)), xml);
        xml.begin("mass");
        xml.number("value", inertial.mass);
        xml.end();
        xml.begin("inertia");
        for (key, a, b) in
            [("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2)]
        {
            xml.number(key, inertial.inertia[(a, b)]);
        }
        xml.end();
        xml.close("inertial");
    }
    for geom in &body.geoms {
        let kinds: &[&str] = if geom.is_visual() { &["visual"] } else { &["visual", "collision"] };
        for kind in kinds {
            shape(&geom.shape, robot, &geom.name, kind, &inside.then(&geom.pose), geom.color, xml);
        }
    }
    xml.close("link");
    if !body.sites.is_empty() {
        xml.lose(format!("link `{name}`: {} sites", body.sites.len()));
    }
    if body.gravity_compensation != 0.0 || body.mocap {
        xml.lose(format!("link `{name}`: gravity compensation or motion from outside"));
    }
}

fn shape(
    shape: &GeomShape,
    robot: &RobotDescription,
    name: &str,
    kind: &str,
    pose: &Pose,
    color: [f64; 4],
    xml: &mut Xml,
) {
    let (tag, key, values): (&str, &[&str], Vec<f64>) = match shape {
        GeomShape::Sphere { radius } => ("sphere", &["radius"], vec![*radius]),
        GeomShape::Cylinder { radius, half_length } => {
            ("cylinder", &["radius", "length"], vec![*radius, 2.0 * half_length])
        }
        GeomShape::Capsule { radius, half_length } => {
            ("capsule", &["radius", "length"], vec![*radius, 2.0 * half_length])
        }
        GeomShape::Box { half } => ("box", &[], (2.0 * half).as_slice().to_vec()),
        GeomShape::Mesh(mesh) if !robot.meshes[mesh.0].file.is_empty() => {
            ("mesh", &["scale"], robot.meshes[mesh.0].scale.as_slice().to_vec())
        }
        other => {
            let what = match other {
                GeomShape::Plane { .. } => "a plane",
                GeomShape::HeightField(_) => "a height field",
                GeomShape::Ellipsoid { .. } => "an ellipsoid",
                _ => "a mesh without a file",
            };
            return xml.lose(format!("geom `{name}`: URDF has no place for {what}"));
        }
    };
    xml.begin(kind);
    xml.open();
    origin(pose, xml);
    xml.begin("geometry");
    xml.open();
    xml.begin(tag);
    match (tag, shape) {
        ("box", _) => xml.numbers("size", &values),
        ("mesh", GeomShape::Mesh(mesh)) => {
            xml.put("filename", &robot.meshes[mesh.0].file);
            xml.numbers("scale", &values);
        }
        _ => key.iter().zip(&values).for_each(|(key, value)| xml.number(key, *value)),
    }
    xml.end();
    xml.close("geometry");
    if kind == "visual" {
        xml.begin("material");
        xml.put("name", "");
        xml.open();
        xml.begin("color");
        xml.numbers("rgba", &color);
        xml.end();
        xml.close("material");
    }
    xml.close(kind);
}

/// A `mimic` stands inside its joint: the joint's element is found by its name.
fn mimics(robot: &RobotDescription, xml: &mut Xml) {
    let names: Vec<&str> = robot.joints().map(|(_, joint)| joint.name.as_str()).collect();
    for mimic in &robot.mimics {
        let (own, of) = (names[mimic.joint.0], names[mimic.of.0]);
        let mark = format!("<joint name=\"{own}\"");
        let at = xml.text.find(&mark).and_then(|at| Some(at + xml.text[at..].find("  </joint>")?));
        match at {
            Some(at) if !own.is_empty() && !of.is_empty() => {
                let line = format!(
                    "    <mimic joint=\"{of}\" multiplier=\"{}\" offset=\"{}\"/>\n",
                    mimic.multiplier, mimic.offset
                );
                xml.text.insert_str(at, &line);
            }
            _ => xml.lose(format!("joint `{own}`: it follows `{of}`")),
        }
    }
}

fn losses(robot: &RobotDescription, xml: &mut Xml) {
    for (what, count) in [
        ("actuators", robot.actuators.len()),
        ("tendons", robot.tendons.len()),
        ("equalities", robot.equalities.len()),
        ("sensors", robot.sensors.len()),
        ("keyframes", robot.keyframes.len()),
        ("contact rules", robot.contact_excludes.len() + robot.contact_pairs.len()),
        ("custom numbers and texts", robot.numbers.len() + robot.texts.len()),
    ] {
        if count > 0 {
            xml.lose(format!("{count} {what}"));
        }
    }
    if robot.options.gravity != Vec3::new(0.0, 0.0, -9.81) {
        xml.lose("gravity");
    }
}
