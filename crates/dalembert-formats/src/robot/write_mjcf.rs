//! A robot as MJCF.

mod drives;

use std::collections::BTreeSet;

use dalembert::bodies::articulated::description::{
    ContactSoftness, GeomShape, RobotBodyId, RobotDescription, RobotGeom, RobotIntegrator, RobotJoint,
    RobotMesh, RobotSolver,
};
use dalembert::joints::JointKind;
use dalembert::math::Pose;

use self::drives::{actuator, equality, sensor, tendon};
use super::write::{Written, Xml, quaternion};
use crate::assets::Assets;
use crate::mesh::write_ply;

/// Names by number: the robot's own, or made ones where something must be referred to.
struct Names {
    bodies: Vec<String>,
    joints: Vec<String>,
    geoms: Vec<String>,
    sites: Vec<String>,
    tendons: Vec<String>,
    actuators: Vec<String>,
    meshes: Vec<String>,
}

fn named<'a>(kind: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let own: Vec<&str> = names.collect();
    let taken: BTreeSet<&str> = own.iter().copied().collect();
    let fresh = |i: usize| {
        let mut name = format!("{kind}{i}");
        while taken.contains(name.as_str()) {
            name.push('_');
        }
        name
    };
    own.iter()
        .enumerate()
        .map(|(i, name)| if name.is_empty() { fresh(i) } else { (*name).to_owned() })
        .collect()
}

/// Writes a robot as MJCF, meshes inside.
pub fn write_mjcf(robot: &RobotDescription) -> Written {
    write(robot, None)
}

/// Writes a robot as MJCF whose meshes are files among `assets`. The error says why they do not fit there.
pub fn write_mjcf_beside(robot: &RobotDescription, assets: &mut Assets) -> Result<Written, String> {
    let add = |mesh: &RobotMesh| assets.add("ply", write_ply(&mesh.vertices, &mesh.triangles));
    let files = robot.meshes.iter().map(add).collect::<Result<Vec<String>, String>>()?;
    Ok(write(robot, Some(&files)))
}

/// With `files` the meshes are in these, else inside.
fn write(robot: &RobotDescription, files: Option<&[String]>) -> Written {
    let names = Names {
        bodies: named("body", robot.bodies.iter().map(|x| x.name.as_str())),
        joints: named("joint", robot.joints().map(|(_, x)| x.name.as_str())),
        geoms: named("geom", robot.geoms().map(|(_, x)| x.name.as_str())),
        sites: named("site", robot.sites().map(|(_, x)| x.name.as_str())),
        tendons: named("tendon", robot.tendons.iter().map(|x| x.name.as_str())),
        actuators: named("actuator", robot.actuators.iter().map(|x| x.name.as_str())),
        meshes: named("mesh", robot.meshes.iter().map(|x| x.name.as_str())),
    };
    let references: Vec<f64> = robot.joints().map(|(_, joint)| joint.reference).collect();
    let mut xml = Xml::new();
    xml.begin("mujoco");
    xml.put("model", &robot.name);
    xml.open();
    xml.begin("compiler");
    xml.put("angle", "radian");
    xml.put("inertiafromgeom", "false");
    xml.end();
    options(robot, &mut xml);
    assets(robot, &names, files, &mut xml);
    bodies(robot, &names, &mut xml);
    section(
        &mut xml,
        "contact",
        !robot.contact_excludes.is_empty() || !robot.contact_pairs.is_empty(),
        |xml| {
            contacts(robot, &names, xml);
        },
    );
    section(&mut xml, "tendon", !robot.tendons.is_empty(), |xml| {
        robot.tendons.iter().zip(&names.tendons).for_each(|(x, name)| tendon(x, name, &names, xml));
    });
    section(&mut xml, "actuator", !robot.actuators.is_empty(), |xml| {
        robot.actuators.iter().zip(&names.actuators).for_each(|(x, name)| actuator(x, name, &names, xml));
    });
    section(&mut xml, "equality", !robot.equalities.is_empty() || !robot.mimics.is_empty(), |xml| {
        robot.equalities.iter().for_each(|x| equality(x, &names, xml));
        for mimic in &robot.mimics {
            xml.begin("joint");
            xml.put("joint1", &names.joints[mimic.joint.0]);
            xml.put("joint2", &names.joints[mimic.of.0]);
            // MJCF measures both joints from their references.
            let [y, x] = [mimic.joint, mimic.of].map(|id| references[id.0]);
            let offset = mimic.offset + mimic.multiplier * x - y;
            xml.numbers("polycoef", &[offset, mimic.multiplier, 0.0, 0.0, 0.0]);
            xml.end();
        }
    });
    section(&mut xml, "sensor", !robot.sensors.is_empty(), |xml| {
        robot.sensors.iter().for_each(|x| sensor(x, &names, xml));
    });
    section(&mut xml, "keyframe", !robot.keyframes.is_empty(), |xml| {
        for key in &robot.keyframes {
            xml.begin("key");
            xml.name(&key.name);
            xml.unusual("time", key.time, 0.0);
            for (name, list) in [
                ("qpos", &key.positions),
                ("qvel", &key.velocities),
                ("act", &key.activations),
                ("ctrl", &key.controls),
            ] {
                if !list.is_empty() {
                    xml.numbers(name, list);
                }
            }
            xml.end();
        }
    });
    section(&mut xml, "custom", !robot.numbers.is_empty() || !robot.texts.is_empty(), |xml| {
        for (name, data) in &robot.numbers {
            xml.begin("numeric");
            xml.name(name);
            xml.numbers("data", data);
            xml.end();
        }
        for (name, data) in &robot.texts {
            xml.begin("text");
            xml.name(name);
            xml.put("data", data);
            xml.end();
        }
    });
    xml.close("mujoco");
    Written { text: xml.text, lost: xml.lost }
}

fn section(xml: &mut Xml, name: &str, wanted: bool, inside: impl FnOnce(&mut Xml)) {
    if wanted {
        xml.begin(name);
        xml.open();
        inside(xml);
        xml.close(name);
    }
}

fn options(robot: &RobotDescription, xml: &mut Xml) {
    let o = &robot.options;
    xml.begin("option");
    xml.number("timestep", o.timestep);
    xml.numbers("gravity", o.gravity.as_slice());
    let integrator = match o.integrator {
        RobotIntegrator::Euler => "Euler",
        RobotIntegrator::Rk4 => "RK4",
        RobotIntegrator::Implicit => "implicit",
        RobotIntegrator::ImplicitFast => "implicitfast",
        RobotIntegrator::Discrete => "discrete",
    };
    xml.put("integrator", integrator);
    if o.wind.norm() != 0.0 {
        xml.numbers("wind", o.wind.as_slice());
    }
    xml.numbers("magnetic", o.magnetic.as_slice());
    xml.unusual("density", o.density, 0.0);
    xml.unusual("viscosity", o.viscosity, 0.0);
    if let Some(elliptic) = o.elliptic_cone {
        xml.put("cone", if elliptic { "elliptic" } else { "pyramidal" });
    }
    xml.unusual("impratio", o.impedance_ratio, 1.0);
    let solver = match o.solver {
        RobotSolver::Pgs => "PGS",
        RobotSolver::Cg => "CG",
        RobotSolver::Newton => "Newton",
    };
    xml.put("solver", solver);
    xml.put("iterations", &o.iterations.to_string());
    xml.number("tolerance", o.tolerance);
    if let Some((margin, softness)) = &o.contact_override {
        xml.number("o_margin", *margin);
        xml.numbers("o_solref", &softness.solref);
        xml.numbers("o_solimp", &softness.solimp);
    }
    let mut said = BTreeSet::new();
    for (key, value) in o.other.iter().rev().filter(|(key, _)| said.insert(key.clone())) {
        xml.put(key, value);
    }
    if o.flags.is_empty() {
        return xml.end();
    }
    xml.open();
    xml.begin("flag");
    let mut said = BTreeSet::new();
    for (name, on) in o.flags.iter().rev().filter(|(name, _)| said.insert(name.clone())) {
        xml.put(name, if *on { "enable" } else { "disable" });
    }
    xml.end();
    xml.close("option");
}

fn assets(robot: &RobotDescription, names: &Names, files: Option<&[String]>, xml: &mut Xml) {
    let materials: BTreeSet<&str> =
        robot.geoms().map(|(_, geom)| geom.material.as_str()).filter(|name| !name.is_empty()).collect();
    let any = !robot.meshes.is_empty() || !robot.height_fields.is_empty() || !materials.is_empty();
    section(xml, "asset", any, |xml| {
        for material in materials {
            xml.begin("material");
            xml.put("name", material);
            xml.end();
        }
        for (i, (mesh, name)) in robot.meshes.iter().zip(&names.meshes).enumerate() {
            if mesh.triangles.is_empty() {
                continue;
            }
            xml.begin("mesh");
            xml.put("name", name);
            if let Some(files) = files {
                xml.put("file", &files[i]);
                xml.end();
                continue;
            }
            let vertices: Vec<f64> = mesh.vertices.iter().flat_map(|v| [v.x, v.y, v.z]).collect();
            xml.numbers("vertex", &vertices);
            let faces: Vec<String> = mesh.triangles.iter().flatten().map(u32::to_string).collect();
            xml.put("face", &faces.join(" "));
            xml.end();
        }
        for field in &robot.height_fields {
            xml.begin("hfield");
            xml.name(&field.name);
            xml.numbers("size", &field.size);
            xml.put("nrow", &field.rows.to_string());
            xml.put("ncol", &field.columns.to_string());
            if !field.heights.is_empty() {
                xml.numbers("elevation", &field.heights);
            }
            xml.end();
        }
    });
}

fn pose(pose: &Pose, xml: &mut Xml) {
    xml.numbers("pos", pose.position.as_slice());
    xml.numbers("quat", &quaternion(pose));
}

fn bodies(robot: &RobotDescription, names: &Names, xml: &mut Xml) {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); robot.bodies.len()];
    let mut first = Vec::with_capacity(robot.bodies.len());
    let mut counts = [0; 3];
    for (i, body) in robot.bodies.iter().enumerate() {
        if i > 0 {
            children[body.parent.0].push(i);
        }
        first.push(counts);
        counts[0] += body.joints.len();
        counts[1] += body.geoms.len();
        counts[2] += body.sites.len();
    }
    // A body is opened when it is met, and closed when all behind it are.
    enum Job {
        Open(usize),
        Close,
    }
    let mut work = vec![Job::Open(0)];
    while let Some(job) = work.pop() {
        let Job::Open(i) = job else {
            xml.close("body");
            continue;
        };
        let body = &robot.bodies[i];
        if i == 0 {
            xml.begin("worldbody");
        } else {
            xml.begin("body");
            xml.put("name", &names.bodies[i]);
            pose(&body.pose, xml);
            xml.unusual("gravcomp", body.gravity_compensation, 0.0);
            if body.mocap {
                xml.put("mocap", "true");
            }
        }
        xml.open();
        if i > 0 && (body.inertial.mass != 0.0 || body.inertial.inertia.norm() != 0.0) {
            let inertia = body.inertial.inertia;
            let at = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
            xml.begin("inertial");
            xml.numbers("pos", body.inertial.center.as_slice());
            xml.number("mass", body.inertial.mass);
            xml.numbers("fullinertia", &at.map(|(a, b)| inertia[(a, b)]));
            xml.end();
        }
        for (k, one) in body.joints.iter().enumerate() {
            joint(one, &names.joints[first[i][0] + k], xml);
        }
        for (k, one) in body.geoms.iter().enumerate() {
            geom(one, &names.geoms[first[i][1] + k], robot, names, xml);
        }
        for (k, site) in body.sites.iter().enumerate() {
            xml.begin("site");
            xml.put("name", &names.sites[first[i][2] + k]);
            pose(&site.pose, xml);
            let (kind, size) = shape(&site.shape);
            xml.put("type", kind);
            xml.numbers("size", &size);
            xml.put("group", &site.group.to_string());
            xml.numbers("rgba", &site.color);
            xml.end();
        }
        if i > 0 {
            work.push(Job::Close);
        }
        work.extend(children[i].iter().rev().map(|child| Job::Open(*child)));
    }
    xml.close("worldbody");
}

fn softness(softness: &ContactSoftness, reference: &str, impedance: &str, xml: &mut Xml) {
    let usual = ContactSoftness::default();
    if softness.solref != usual.solref {
        xml.numbers(reference, &softness.solref);
    }
    if softness.solimp != usual.solimp {
        xml.numbers(impedance, &softness.solimp);
    }
}

fn joint(joint: &RobotJoint, name: &str, xml: &mut Xml) {
    let kind = match joint.kind {
        JointKind::Free => "free",
        JointKind::Ball => "ball",
        JointKind::Hinge => "hinge",
        JointKind::Slider => "slide",
        JointKind::Fixed => {
            return xml.lose(format!("joint `{name}` is fixed: MJCF has only the weld of its body"));
        }
        other => {
            return xml.lose(format!("joint `{name}`: MJCF has no {} joint; it is welded", other.name()));
        }
    };
    xml.begin("joint");
    xml.put("name", name);
    xml.put("type", kind);
    if joint.kind != JointKind::Free {
        xml.numbers("pos", joint.anchor.as_slice());
        xml.numbers("axis", joint.axis.as_slice());
        if let Some(limits) = joint.limits {
            xml.numbers("range", &limits);
        }
        xml.unusual("margin", joint.limit_margin, 0.0);
        softness(&joint.limit_softness, "solreflimit", "solimplimit", xml);
        softness(&joint.friction_softness, "solreffriction", "solimpfriction", xml);
        xml.unusual("ref", joint.reference, 0.0);
        xml.unusual("springref", joint.spring_reference, 0.0);
    }
    xml.unusual("stiffness", joint.stiffness, 0.0);
    xml.unusual("damping", joint.damping, 0.0);
    xml.unusual("armature", joint.armature, 0.0);
    xml.unusual("frictionloss", joint.friction_loss, 0.0);
    if let Some(limits) = joint.effort_limits {
        xml.numbers("actuatorfrcrange", &limits);
    }
    if joint.actuator_gravity_compensation {
        xml.put("actuatorgravcomp", "true");
    }
    if joint.group != 0 {
        xml.put("group", &joint.group.to_string());
    }
    xml.end();
    if joint.velocity_limit.is_some() {
        xml.lose(format!("joint `{name}`: MJCF has no bound on speed"));
    }
}

/// Name and sizes of a shape.
fn shape(shape: &GeomShape) -> (&'static str, Vec<f64>) {
    match shape {
        GeomShape::Plane { half } => ("plane", vec![half[0], half[1], 1.0]),
        GeomShape::HeightField(_) => ("hfield", Vec::new()),
        GeomShape::Sphere { radius } => ("sphere", vec![*radius]),
        GeomShape::Capsule { radius, half_length } => ("capsule", vec![*radius, *half_length]),
        GeomShape::Cylinder { radius, half_length } => ("cylinder", vec![*radius, *half_length]),
        GeomShape::Ellipsoid { semi_axes } => ("ellipsoid", semi_axes.as_slice().to_vec()),
        GeomShape::Box { half } => ("box", half.as_slice().to_vec()),
        GeomShape::Mesh(_) => ("mesh", Vec::new()),
    }
}

fn geom(geom: &RobotGeom, name: &str, robot: &RobotDescription, names: &Names, xml: &mut Xml) {
    if let GeomShape::Mesh(mesh) = &geom.shape
        && robot.meshes[mesh.0].triangles.is_empty()
    {
        return xml.lose(format!("geom `{name}`: its mesh was not read"));
    }
    xml.begin("geom");
    xml.put("name", name);
    let (kind, size) = shape(&geom.shape);
    xml.put("type", kind);
    match &geom.shape {
        GeomShape::Mesh(mesh) => xml.put("mesh", &names.meshes[mesh.0]),
        GeomShape::HeightField(field) => xml.put("hfield", &robot.height_fields[field.0].name),
        _ => xml.numbers("size", &size),
    }
    pose(&geom.pose, xml);
    xml.number("mass", geom.mass);
    xml.put("contype", &geom.contact_type.to_string());
    xml.put("conaffinity", &geom.contact_affinity.to_string());
    xml.put("condim", &geom.contact_dimension.to_string());
    if geom.contact_priority != 0 {
        xml.put("priority", &geom.contact_priority.to_string());
    }
    xml.numbers("friction", &geom.friction);
    softness(&geom.softness, "solref", "solimp", xml);
    xml.unusual("solmix", geom.softness_weight, 1.0);
    xml.unusual("margin", geom.margin, 0.0);
    xml.unusual("gap", geom.gap, 0.0);
    xml.put("group", &geom.group.to_string());
    if !geom.material.is_empty() {
        xml.put("material", &geom.material);
    }
    xml.numbers("rgba", &geom.color);
    xml.end();
}

fn contacts(robot: &RobotDescription, names: &Names, xml: &mut Xml) {
    for exclude in &robot.contact_excludes {
        xml.begin("exclude");
        xml.name(&exclude.name);
        xml.put("body1", body(exclude.bodies[0], names));
        xml.put("body2", body(exclude.bodies[1], names));
        xml.end();
    }
    for pair in &robot.contact_pairs {
        xml.begin("pair");
        xml.name(&pair.name);
        xml.put("geom1", &names.geoms[pair.geoms[0].0]);
        xml.put("geom2", &names.geoms[pair.geoms[1].0]);
        if let Some(dimension) = pair.dimension {
            xml.put("condim", &dimension.to_string());
        }
        for (key, list) in [
            ("friction", pair.friction.as_ref().map(|x| &x[..])),
            ("solref", pair.solref.as_ref().map(|x| &x[..])),
            ("solreffriction", pair.solref_friction.as_ref().map(|x| &x[..])),
            ("solimp", pair.solimp.as_ref().map(|x| &x[..])),
        ] {
            if let Some(list) = list {
                xml.numbers(key, list);
            }
        }
        for (key, number) in [("margin", pair.margin), ("gap", pair.gap)] {
            if let Some(number) = number {
                xml.number(key, number);
            }
        }
        xml.end();
    }
}

fn body(id: RobotBodyId, names: &Names) -> &str {
    if id.0 == 0 { "world" } else { &names.bodies[id.0] }
}
