//! Tendons, actuators, equalities and sensors of a robot as MJCF.

use dalembert::bodies::articulated::description::{
    Actuator, ActuatorDynamics, ActuatorLaw, Equality, EqualityKind, PathPoint, RobotBodyId, Sensor,
    SensorObject, Tendon, TendonPath, Transmission,
};

use super::{Names, body, softness};
use crate::robot::write::{Xml, quaternion};

pub(super) fn tendon(tendon: &Tendon, name: &str, names: &Names, xml: &mut Xml) {
    let kind = if matches!(tendon.path, TendonPath::Joints(_)) { "fixed" } else { "spatial" };
    xml.begin(kind);
    xml.put("name", name);
    if let Some(limits) = tendon.limits {
        xml.numbers("range", &limits);
    }
    xml.unusual("margin", tendon.limit_margin, 0.0);
    softness(&tendon.limit_softness, "solreflimit", "solimplimit", xml);
    softness(&tendon.friction_softness, "solreffriction", "solimpfriction", xml);
    xml.unusual("stiffness", tendon.stiffness, 0.0);
    xml.unusual("damping", tendon.damping, 0.0);
    if let Some(lengths) = tendon.spring_lengths {
        xml.numbers("springlength", &lengths);
    }
    xml.unusual("frictionloss", tendon.friction_loss, 0.0);
    xml.unusual("armature", tendon.armature, 0.0);
    if let Some(limits) = tendon.effort_limits {
        xml.numbers("actuatorfrcrange", &limits);
    }
    if kind == "spatial" {
        xml.number("width", tendon.width);
        xml.numbers("rgba", &tendon.color);
    }
    xml.put("group", &tendon.group.to_string());
    xml.open();
    match &tendon.path {
        TendonPath::Joints(terms) => {
            for (joint, coefficient) in terms {
                xml.begin("joint");
                xml.put("joint", &names.joints[joint.0]);
                xml.number("coef", *coefficient);
                xml.end();
            }
        }
        TendonPath::Spatial(points) => {
            for point in points {
                match point {
                    PathPoint::Site(site) => {
                        xml.begin("site");
                        xml.put("site", &names.sites[site.0]);
                    }
                    PathPoint::Geom { geom, side } => {
                        xml.begin("geom");
                        xml.put("geom", &names.geoms[geom.0]);
                        if let Some(side) = side {
                            xml.put("sidesite", &names.sites[side.0]);
                        }
                    }
                    PathPoint::Pulley { divisor } => {
                        xml.begin("pulley");
                        xml.number("divisor", *divisor);
                    }
                }
                xml.end();
            }
        }
    }
    xml.close(kind);
}

pub(super) fn actuator(actuator: &Actuator, name: &str, names: &Names, xml: &mut Xml) {
    xml.begin("general");
    xml.put("name", name);
    match actuator.transmission {
        Transmission::Joint(joint) => xml.put("joint", &names.joints[joint.0]),
        Transmission::JointInParent(joint) => xml.put("jointinparent", &names.joints[joint.0]),
        Transmission::Tendon(tendon) => xml.put("tendon", &names.tendons[tendon.0]),
        Transmission::Site { site, reference } => {
            xml.put("site", &names.sites[site.0]);
            if let Some(reference) = reference {
                xml.put("refsite", &names.sites[reference.0]);
            }
        }
        Transmission::SliderCrank { crank, slider, length } => {
            xml.put("cranksite", &names.sites[crank.0]);
            xml.put("slidersite", &names.sites[slider.0]);
            xml.number("cranklength", length);
        }
        Transmission::Body(id) => xml.put("body", body(id, names)),
    }
    xml.numbers("gear", &actuator.gear);
    let (dynamics, numbers): (&str, Vec<f64>) = match actuator.dynamics {
        ActuatorDynamics::None => ("none", Vec::new()),
        ActuatorDynamics::Integrator => ("integrator", Vec::new()),
        ActuatorDynamics::Filter { time } => ("filter", vec![time]),
        ActuatorDynamics::FilterExact { time } => ("filterexact", vec![time]),
        ActuatorDynamics::Muscle(p) => ("muscle", p.to_vec()),
        ActuatorDynamics::User(p) => ("user", p.to_vec()),
    };
    xml.put("dyntype", dynamics);
    if !numbers.is_empty() {
        xml.numbers("dynprm", &numbers);
    }
    for (kind, list, law) in
        [("gaintype", "gainprm", &actuator.gain), ("biastype", "biasprm", &actuator.bias)]
    {
        let (word, mut numbers): (&str, Vec<f64>) = match law {
            ActuatorLaw::None => ("none", Vec::new()),
            ActuatorLaw::Fixed(x) => ("fixed", vec![*x]),
            ActuatorLaw::Affine(p) => ("affine", p.to_vec()),
            ActuatorLaw::Muscle(p) => ("muscle", p.to_vec()),
            ActuatorLaw::User(p) => ("user", p.to_vec()),
        };
        if let (Some(ratio), "biastype", 3) = (actuator.damping_ratio, kind, numbers.len()) {
            numbers[2] = ratio;
        }
        xml.put(kind, word);
        if !numbers.is_empty() {
            xml.numbers(list, &numbers);
        }
    }
    for (key, range) in [
        ("ctrlrange", actuator.control_range),
        ("forcerange", actuator.force_range),
        ("actrange", actuator.activation_range),
        ("lengthrange", actuator.length_range),
    ] {
        if let Some(range) = range {
            xml.numbers(key, &range);
        }
    }
    if actuator.activation_early {
        xml.put("actearly", "true");
    }
    xml.unusual("armature", actuator.armature, 0.0);
    if actuator.group != 0 {
        xml.put("group", &actuator.group.to_string());
    }
    xml.end();
}

pub(super) fn equality(equality: &Equality, names: &Names, xml: &mut Xml) {
    let both = |kind: &str, xml: &mut Xml| {
        xml.begin(kind);
        xml.name(&equality.name);
    };
    let bodies = |pair: &[RobotBodyId; 2], xml: &mut Xml| {
        xml.put("body1", body(pair[0], names));
        if pair[1].0 != 0 {
            xml.put("body2", body(pair[1], names));
        }
    };
    match &equality.kind {
        EqualityKind::Connect { bodies: pair, anchor } => {
            both("connect", xml);
            bodies(pair, xml);
            xml.numbers("anchor", anchor.as_slice());
        }
        EqualityKind::ConnectSites { sites } => {
            both("connect", xml);
            xml.put("site1", &names.sites[sites[0].0]);
            xml.put("site2", &names.sites[sites[1].0]);
        }
        EqualityKind::Weld { bodies: pair, anchor, relative, torque_scale } => {
            both("weld", xml);
            bodies(pair, xml);
            xml.numbers("anchor", anchor.as_slice());
            if let Some(relative) = relative {
                let q = quaternion(relative);
                let p = relative.position;
                xml.numbers("relpose", &[p.x, p.y, p.z, q[0], q[1], q[2], q[3]]);
            }
            xml.unusual("torquescale", *torque_scale, 1.0);
        }
        EqualityKind::WeldSites { sites, torque_scale } => {
            both("weld", xml);
            xml.put("site1", &names.sites[sites[0].0]);
            xml.put("site2", &names.sites[sites[1].0]);
            xml.unusual("torquescale", *torque_scale, 1.0);
        }
        EqualityKind::Joints { joint, other, polynomial } => {
            both("joint", xml);
            xml.put("joint1", &names.joints[joint.0]);
            if let Some(other) = other {
                xml.put("joint2", &names.joints[other.0]);
            }
            xml.numbers("polycoef", polynomial);
        }
        EqualityKind::Tendons { tendon, other, polynomial } => {
            both("tendon", xml);
            xml.put("tendon1", &names.tendons[tendon.0]);
            if let Some(other) = other {
                xml.put("tendon2", &names.tendons[other.0]);
            }
            xml.numbers("polycoef", polynomial);
        }
    }
    if !equality.active {
        xml.put("active", "false");
    }
    softness(&equality.softness, "solref", "solimp", xml);
    xml.end();
}

pub(super) fn sensor(sensor: &Sensor, names: &Names, xml: &mut Xml) {
    let framed = sensor.kind.starts_with("frame") || sensor.kind == "insidesite";
    let pair = matches!(sensor.kind.as_str(), "distance" | "normal" | "fromto");
    let name_of = |object: &SensorObject| -> Option<(&'static str, &'static str, String)> {
        Some(match object {
            SensorObject::Model | SensorObject::Camera(_) => return None,
            SensorObject::Body(id) => ("xbody", "body", body(*id, names).to_owned()),
            SensorObject::BodyInertial(id) => ("body", "body", body(*id, names).to_owned()),
            SensorObject::Joint(id) => ("joint", "joint", names.joints[id.0].clone()),
            SensorObject::Geom(id) => ("geom", "geom", names.geoms[id.0].clone()),
            SensorObject::Site(id) => ("site", "site", names.sites[id.0].clone()),
            SensorObject::Tendon(id) => ("tendon", "tendon", names.tendons[id.0].clone()),
            SensorObject::Actuator(id) => ("actuator", "actuator", names.actuators[id.0].clone()),
        })
    };
    let camera = |object: &SensorObject| matches!(object, SensorObject::Camera(_));
    if camera(&sensor.object) || sensor.reference.as_ref().is_some_and(camera) {
        return xml.lose(format!("sensor `{}`: cameras are not carried", sensor.name));
    }
    xml.begin(&sensor.kind);
    xml.name(&sensor.name);
    if let Some((framed_kind, key, name)) = name_of(&sensor.object) {
        if framed {
            xml.put("objtype", framed_kind);
            xml.put("objname", &name);
        } else if pair {
            xml.put(&format!("{key}1"), &name);
        } else {
            xml.put(key, &name);
        }
    }
    if let Some((framed_kind, key, name)) = sensor.reference.as_ref().and_then(name_of) {
        if pair {
            xml.put(&format!("{key}2"), &name);
        } else if sensor.kind == "insidesite" {
            xml.put("site", &name);
        } else {
            xml.put("reftype", framed_kind);
            xml.put("refname", &name);
        }
    }
    xml.unusual("cutoff", sensor.cutoff, 0.0);
    xml.unusual("noise", sensor.noise, 0.0);
    for (key, value) in &sensor.other {
        xml.put(key, value);
    }
    xml.end();
}
