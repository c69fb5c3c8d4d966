//! Which attributes MJCF has, and the report of what nobody has read.

use super::super::xml::Node;
use crate::error::quote;

/// Attributes that this reader knows of, by element. Elements that are never reported are not listed.
const ATTRIBUTES: [(&str, &str); 38] = [
    (
        "compiler",
        "autolimits boundmass boundinertia settotalmass balanceinertia strippath coordinate angle fitaabb eulerseq \
         meshdir texturedir assetdir discardvisual usethread fusestatic inertiafromgeom inertiagrouprange saveinertial \
         alignfree convexhull exactmeshinertia conflict",
    ),
    (
        "option",
        "timestep impratio tolerance ls_tolerance noslip_tolerance ccd_tolerance mpr_tolerance sleep_tolerance gravity \
         wind magnetic density viscosity o_margin o_solref o_solimp o_friction integrator cone jacobian solver \
         iterations ls_iterations noslip_iterations ccd_iterations mpr_iterations sdf_iterations sdf_initpoints \
         actuatorgroupdisable apirate collision",
    ),
    (
        "flag",
        "constraint equality frictionloss limit contact passive spring damper gravity clampctrl warmstart filterparent \
         actuation refsafe sensor midphase nativeccd eulerdamp autoreset override energy fwdinv invdiscrete sensornoise \
         multiccd island sleep ipc",
    ),
    ("default", "class"),
    (
        "mesh",
        "name class content_type file vertex normal face texcoord scale refpos refquat smoothnormal maxhullvert inertia \
         builtin params material octree",
    ),
    ("hfield", "name content_type file nrow ncol size elevation"),
    ("model", "name file content_type"),
    ("body", "name childclass pos quat mocap axisangle xyaxes zaxis euler gravcomp user sleep"),
    ("frame", "name childclass pos quat axisangle xyaxes zaxis euler"),
    ("replicate", "count offset euler sep"),
    ("attach", "model body prefix"),
    ("inertial", "pos quat mass diaginertia axisangle xyaxes zaxis euler fullinertia"),
    (
        "joint",
        "name class type group pos axis springdamper limited actuatorfrclimited solreflimit solimplimit solreffriction \
         solimpfriction stiffness range actuatorfrcrange actuatorgravcomp margin ref springref armature damping \
         frictionloss user joint coef joint1 joint2 polycoef solref solimp active",
    ),
    ("freejoint", "name group align user"),
    (
        "geom",
        "name class type contype conaffinity condim group priority size material friction mass density shellinertia \
         solmix solref solimp margin gap fromto pos quat axisangle xyaxes zaxis euler hfield mesh fitscale rgba \
         fluidshape fluidcoef user geom sidesite",
    ),
    (
        "site",
        "name class type group pos quat material size fromto axisangle xyaxes zaxis euler rgba user site",
    ),
    ("pair", "name class geom1 geom2 condim friction solref solreffriction solimp gap margin"),
    ("exclude", "name body1 body2"),
    ("connect", "name class active solref solimp body1 body2 anchor site1 site2"),
    ("weld", "name class active solref solimp body1 body2 relpose anchor torquescale site1 site2"),
    ("tendon", "name class active solref solimp tendon1 tendon2 polycoef"),
    ("equality", "active solref solimp"),
    (
        "fixed",
        "name class group limited actuatorfrclimited range solreflimit solimplimit solreffriction solimpfriction \
         frictionloss springlength margin stiffness damping armature actuatorfrcrange user",
    ),
    (
        "spatial",
        "name class group limited actuatorfrclimited range solreflimit solimplimit solreffriction solimpfriction \
         frictionloss springlength width material margin stiffness damping armature actuatorfrcrange rgba user",
    ),
    ("pulley", "divisor"),
    ("general", "dyntype gaintype biastype dynprm gainprm biasprm actdim"),
    ("motor", ""),
    ("position", "kp kv dampratio timeconst inheritrange"),
    ("velocity", "kv"),
    ("intvelocity", "kp kv dampratio inheritrange"),
    ("damper", "kv"),
    ("cylinder", "timeconst area diameter bias"),
    ("muscle", "timeconst tausmooth range force scale lmin lmax vmax fpmax fvmax"),
    ("adhesion", "body gain"),
    ("key", "name time qpos qvel act ctrl mpos mquat"),
    ("numeric", "name size data"),
    ("text", "name data"),
    ("mujoco", "model"),
];

/// Attributes of every actuator.
const ACTUATOR: &str = "name class group ctrllimited forcelimited actlimited ctrlrange forcerange actrange lengthrange \
     gear cranklength joint jointinparent tendon cranksite slidersite site refsite actearly user armature damping \
     nsample interp delay";

/// Sections whose content only matters to a display or to memory.
const DISPLAY: [&str; 8] = ["visual", "statistic", "size", "texture", "material", "skin", "light", "camera"];

/// Sections of a model.
const SECTIONS: [&str; 16] = [
    "compiler",
    "option",
    "size",
    "visual",
    "statistic",
    "default",
    "custom",
    "extension",
    "asset",
    "worldbody",
    "contact",
    "equality",
    "tendon",
    "actuator",
    "sensor",
    "keyframe",
];

/// The attributes that an element may have.
pub(super) fn known(element: &str) -> impl Iterator<Item = &'static str> {
    let own = ATTRIBUTES.iter().find(|(name, _)| *name == element).map_or("", |(_, list)| list);
    let common = if super::actuators::TAGS.contains(&element) { ACTUATOR } else { "" };
    own.split_ascii_whitespace().chain(common.split_ascii_whitespace())
}

/// Marks an element and all in it as read.
pub(super) fn ignore(node: Node<'_>) {
    let mut work = vec![node];
    while let Some(node) = work.pop() {
        node.element.read.set(true);
        for attribute in &node.element.attributes {
            attribute.read.set(true);
        }
        work.extend(node.children());
    }
}

/// Reports what nobody has read. Of an attached model only what was begun counts.
pub(super) fn report(root: Node<'_>, main: bool) {
    let doc = root.doc;
    root.element.read.set(true);
    let mut work = vec![root];
    while let Some(node) = work.pop() {
        let mut children: Vec<Node<'_>> = Vec::new();
        for child in node.children() {
            if DISPLAY.contains(&child.name()) {
                continue;
            }
            // Defaults that no element uses say nothing.
            if child.element.read.get() || matches!(child.name(), "default" | "worldbody" | "asset") {
                children.push(child);
            } else if main && node.name() != "default" {
                let message =
                    format!("element {} in {} is not read", quote(child.name()), quote(node.name()));
                let warning = doc.files.warning(child.span(), message);
                let sections: &[&str] = if node.name() == "mujoco" { &SECTIONS } else { &[] };
                doc.lost(warning.with_suggestion(child.name(), sections.iter().copied()));
            } else if !main && node.name() != "mujoco" {
                children.push(child);
            }
        }
        if node.element.read.get() {
            for attribute in node.element.attributes.iter().filter(|attribute| !attribute.read.get()) {
                let (name, element) = (quote(&attribute.name), quote(node.name()));
                let is_known = known(node.name()).any(|known| known == attribute.name);
                let warning = if is_known {
                    doc.files
                        .warning(attribute.name_span, format!("attribute {name} of {element} has no effect"))
                } else {
                    let message = format!("unknown attribute {name} of {element}");
                    let warning = doc.files.warning(attribute.name_span, message);
                    warning.with_suggestion(&attribute.name, known(node.name()))
                };
                doc.lost(warning);
            }
        }
        work.extend(children.into_iter().rev());
    }
}
