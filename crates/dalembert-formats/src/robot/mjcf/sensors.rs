//! `sensor`.

use dalembert::bodies::articulated::description::{Sensor, SensorObject};

use super::super::xml::{Attribute, Node};
use super::attributes::Attributes;
use super::sections::Refer;
use crate::error::quote;

/// What a kind of sensor sits on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    Site,
    SiteOrCamera,
    Joint,
    Tendon,
    Actuator,
    Body,
    /// `objtype`, `objname`, `reftype`, `refname`.
    Frame,
    /// Two geoms or bodies.
    Pair,
    /// Anything or nothing.
    Model,
}

const KINDS: [(&str, On); 49] = [
    ("touch", On::Site),
    ("accelerometer", On::Site),
    ("velocimeter", On::Site),
    ("gyro", On::Site),
    ("force", On::Site),
    ("torque", On::Site),
    ("magnetometer", On::Site),
    ("camprojection", On::Site),
    ("rangefinder", On::SiteOrCamera),
    ("jointpos", On::Joint),
    ("jointvel", On::Joint),
    ("tendonpos", On::Tendon),
    ("tendonvel", On::Tendon),
    ("actuatorpos", On::Actuator),
    ("actuatorvel", On::Actuator),
    ("actuatorfrc", On::Actuator),
    ("jointactuatorfrc", On::Joint),
    ("tendonactuatorfrc", On::Tendon),
    ("ballquat", On::Joint),
    ("ballangvel", On::Joint),
    ("jointlimitpos", On::Joint),
    ("jointlimitvel", On::Joint),
    ("jointlimitfrc", On::Joint),
    ("tendonlimitpos", On::Tendon),
    ("tendonlimitvel", On::Tendon),
    ("tendonlimitfrc", On::Tendon),
    ("framepos", On::Frame),
    ("framequat", On::Frame),
    ("framexaxis", On::Frame),
    ("frameyaxis", On::Frame),
    ("framezaxis", On::Frame),
    ("framelinvel", On::Frame),
    ("frameangvel", On::Frame),
    ("framelinacc", On::Frame),
    ("frameangacc", On::Frame),
    ("subtreecom", On::Body),
    ("subtreelinvel", On::Body),
    ("subtreeangmom", On::Body),
    ("insidesite", On::Frame),
    ("distance", On::Pair),
    ("normal", On::Pair),
    ("fromto", On::Pair),
    ("contact", On::Model),
    ("e_potential", On::Model),
    ("e_kinetic", On::Model),
    ("clock", On::Model),
    ("user", On::Model),
    ("tactile", On::Model),
    ("plugin", On::Model),
];

pub(super) fn read(node: Node<'_>, refer: &Refer<'_>) -> Option<Sensor> {
    let a = Attributes::alone(node);
    let doc = node.doc;
    let Some((kind, on)) = KINDS.iter().find(|(kind, _)| *kind == node.name()) else {
        super::schema::ignore(node);
        let warning = doc.files.warning(node.span(), format!("unknown sensor {}", quote(node.name())));
        doc.lost(warning.with_suggestion(node.name(), KINDS.iter().map(|(kind, _)| *kind)));
        return None;
    };
    // What stands in several places is read as often.
    node.element.attributes.iter().for_each(|attribute| attribute.read.set(false));
    if matches!(*kind, "user" | "tactile" | "plugin") {
        super::schema::ignore(node);
        node.lost(format!("sensors of kind {} are not read", quote(kind)));
        return None;
    }
    let mut reference = None;
    let object = match on {
        On::Site => SensorObject::Site(refer.site(node.required("site")?)?),
        On::SiteOrCamera => match a.own("camera") {
            Some(camera) => SensorObject::Camera(refer.camera(camera)?),
            None => SensorObject::Site(refer.site(node.required("site")?)?),
        },
        On::Joint => SensorObject::Joint(refer.joint(node.required("joint")?)?),
        On::Tendon => SensorObject::Tendon(refer.tendon(node.required("tendon")?)?),
        On::Actuator => SensorObject::Actuator(refer.actuator(node.required("actuator")?)?),
        On::Body => SensorObject::Body(refer.body(node.required("body")?)?),
        On::Frame => {
            if let (Some(kind), Some(name)) = (a.own("reftype"), a.own("refname")) {
                reference = Some(framed(&a, kind, name, refer)?);
            }
            if let Some(site) = a.own("site") {
                reference = Some(SensorObject::Site(refer.site(site)?));
            }
            framed(&a, node.required("objtype")?, node.required("objname")?, refer)?
        }
        On::Pair => {
            let mut ends = [1, 2].map(|i| match (a.own(&format!("geom{i}")), a.own(&format!("body{i}"))) {
                (Some(geom), _) => refer.geom(geom).map(SensorObject::Geom),
                (None, Some(body)) => refer.body(body).map(SensorObject::Body),
                (None, None) => {
                    a.error(format!("{} needs `geom{i}` or `body{i}`", quote(kind)));
                    None
                }
            });
            reference = Some(ends[1].take()?);
            ends[0].take()?
        }
        On::Model => SensorObject::Model,
    };
    if let Some(camera) = a.own("camera").filter(|_| *kind == "camprojection") {
        reference = Some(SensorObject::Camera(refer.camera(camera)?));
    }
    let cutoff = a.size("cutoff").unwrap_or(0.0);
    let noise = a.size("noise").unwrap_or(0.0);
    a.ignore(&["user", "name"]);
    // Whatever else this kind has, as it stands.
    let rest = node.element.attributes.iter().filter(|attribute| !attribute.read.replace(true));
    let other = rest.map(|attribute| (attribute.name.clone(), attribute.value.clone())).collect();
    let name = refer.scope.full(a.name());
    Some(Sensor { name, kind: (*kind).to_owned(), object, reference, cutoff, noise, other })
}

fn framed(a: &Attributes<'_>, kind: &Attribute, name: &Attribute, refer: &Refer<'_>) -> Option<SensorObject> {
    Some(match kind.value.as_str() {
        "body" => SensorObject::BodyInertial(refer.body(name)?),
        "xbody" => SensorObject::Body(refer.body(name)?),
        "geom" => SensorObject::Geom(refer.geom(name)?),
        "site" => SensorObject::Site(refer.site(name)?),
        "camera" => SensorObject::Camera(refer.camera(name)?),
        other => {
            let message = format!(
                "{} is {}; it must be body, xbody, geom, site or camera",
                quote(&kind.name),
                quote(other)
            );
            a.doc().error(kind.value_span, message);
            return None;
        }
    })
}
