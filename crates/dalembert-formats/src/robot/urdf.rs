//! URDF: links and joints, each of which names its parent and child.
//!
//! The frame of a link is that of the joint above it: `origin` of the joint is the pose of the child in the parent,
//! and `axis` is given in that frame. The tree is walked depth first, children in the order of their joints in the
//! file. The root link hangs on the world, fixed or by a free joint; if it is called `world`, it is the world. `visual` geometry makes no contact and stands in
//! group 1, `collision` in group 0; neither has mass, which only `inertial` gives.

use std::collections::BTreeMap;

use dalembert::bodies::articulated::description::{
    GeomShape, Inertial, Mimic, RobotBody, RobotBodyId, RobotDescription, RobotGeom, RobotJoint,
    RobotJointId, RobotMeshId,
};
use dalembert::joints::JointKind;
use dalembert::math::{Mat3, Pose, Quat, Vec3};

use super::meshes::{self, MeshFiles};
use super::names::Names;
use super::solid::MeshInertia;
use super::xml::{Document, Loader, Node, Parsed};
use super::{MeshPolicy, ReadOptions, weigh};
use crate::error::{Span, quote};

/// What a link or joint may contain, for suggestions.
const ELEMENTS: [(&str, &[&str]); 9] = [
    ("robot", &["link", "joint", "material", "gazebo", "transmission", "mujoco"]),
    ("link", &["inertial", "visual", "collision"]),
    (
        "joint",
        &[
            "origin",
            "parent",
            "child",
            "axis",
            "calibration",
            "dynamics",
            "limit",
            "mimic",
            "safety_controller",
        ],
    ),
    ("inertial", &["origin", "mass", "inertia"]),
    ("visual", &["origin", "geometry", "material"]),
    ("collision", &["origin", "geometry"]),
    ("geometry", &["box", "cylinder", "sphere", "capsule", "mesh"]),
    ("material", &["color", "texture"]),
    ("", &[]),
];

/// Most links of a robot; its mass matrix has as many rows.
const MOST_LINKS: usize = 4096;
/// Longest path from the root to a link. A tree of bodies is written as elements inside of each other, and no deeper than
/// files are read ([`super::xml::MAX_DEPTH`], of which a few are used up around it).
const MOST_BELOW: usize = super::xml::MAX_DEPTH - 24;

/// A joint of the file.
struct Edge<'a> {
    node: Node<'a>,
    name: &'a str,
    span: Span,
}

pub(super) fn read(
    doc: &Document,
    parsed: Parsed,
    loader: &mut Loader<'_>,
    options: &ReadOptions,
) -> RobotDescription {
    let root = doc.node(parsed.root);
    let mut robot = RobotDescription::new(root.text("name").unwrap_or_default());
    let mut links: Names<usize> = Names::new("link");
    let mut nodes: Vec<(Node<'_>, &str)> = Vec::new();
    for link in root.named("link") {
        let Some(name) = named(link) else { continue };
        links.add(doc, name, nodes.len(), link.span());
        nodes.push((link, name));
    }
    if nodes.is_empty() {
        root.error("the robot has no links");
        return robot;
    }
    if let Some((first, _)) = nodes.get(MOST_LINKS) {
        let message = format!("the robot has {} links; at most {MOST_LINKS} are read", nodes.len());
        let help = "for long chains and large crowds write bodies and joints of a scene instead";
        doc.push(doc.files.error(first.span(), message).with_help(help));
        return robot;
    }

    let mut materials: BTreeMap<&str, [f64; 4]> = BTreeMap::new();
    for material in root.named("material") {
        if let (Some(name), Some(color)) = (named(material), color_of(material)) {
            materials.insert(name, color);
        }
    }

    let Some(Tree { above, below }) = tree(doc, root, &nodes, &links) else { return robot };
    let roots: Vec<usize> = (0..nodes.len()).filter(|&i| above[i].is_none()).collect();
    if let [first, second, ..] = roots[..] {
        let message =
            format!("links {} and {} both have no parent", quote(nodes[first].1), quote(nodes[second].1));
        let error = doc.files.error(nodes[second].0.span(), message);
        doc.push(error.with_help("a URDF is one tree: join them by a joint"));
        return robot;
    }

    let mut reader = Reader {
        doc,
        loader,
        options,
        parsed: &parsed,
        materials,
        files: MeshFiles::default(),
        meshes: BTreeMap::new(),
        robot: &mut robot,
    };
    // Depth first; each with the body that it hangs on and how many links are above it.
    let mut work: Vec<(usize, RobotBodyId, usize)> = roots.iter().map(|&i| (i, RobotBodyId(0), 0)).collect();
    let mut seen = vec![false; nodes.len()];
    while let Some((link, parent, depth)) = work.pop() {
        seen[link] = true;
        if depth > MOST_BELOW {
            let name = quote(nodes[link].1);
            let message = format!("link {name} has {depth} links above it; at most {MOST_BELOW} are read");
            doc.error(nodes[link].0.span(), message);
            return robot;
        }
        let body = reader.link(nodes[link].0, nodes[link].1, above[link].as_ref(), parent);
        work.extend(below[link].iter().rev().map(|&child| (child, body, depth + 1)));
        if doc.is_full() {
            return robot;
        }
    }
    if let Some(lost) = seen.iter().position(|seen| !seen) {
        report_loop(doc, &nodes, &Tree { above, below }, lost);
        return robot;
    }
    let link_span = |body: usize| {
        let name = &robot.bodies[body].name;
        links.get(name).map_or(root.span(), |link| nodes[link].0.span())
    };
    weigh::refuse_overflow(doc, &robot, link_span);
    mimics(doc, root, &mut robot);
    report_rest(root);
    robot
}

/// The joint above each link, and the links below each link.
struct Tree<'a> {
    above: Vec<Option<Edge<'a>>>,
    below: Vec<Vec<usize>>,
}

/// The joints of the file; none if there are mistakes.
fn tree<'a>(
    doc: &Document,
    root: Node<'a>,
    nodes: &[(Node<'a>, &'a str)],
    links: &Names<usize>,
) -> Option<Tree<'a>> {
    let mut above: Vec<Option<Edge<'a>>> = nodes.iter().map(|_| None).collect();
    let mut below: Vec<Vec<usize>> = nodes.iter().map(|_| Vec::new()).collect();
    let mut joint_names: Names<()> = Names::new("joint");
    for joint in root.named("joint") {
        let Some(name) = named(joint) else { continue };
        joint_names.add(doc, name, (), joint.span());
        let end = |which: &'static str| {
            let Some(node) = joint.child(which) else {
                joint.error(format!("joint {} has no {}", quote(name), quote(which)));
                return None;
            };
            let attribute = node.required("link")?;
            links.find(doc, attribute).map(|link| (link, attribute.value_span))
        };
        let (Some((parent, _)), Some((child, span))) = (end("parent"), end("child")) else { continue };
        if let Some(first) = &above[child] {
            let message = format!(
                "link {} has two parents: joints {} and {}",
                quote(nodes[child].1),
                quote(first.name),
                quote(name)
            );
            let note = doc.files.place(first.span);
            doc.push(doc.files.error(span, message).with_note("the first stands here", note));
            continue;
        }
        above[child] = Some(Edge { node: joint, name, span });
        below[parent].push(child);
    }
    (!doc.has_errors()).then_some(Tree { above, below })
}

/// Names the links of a loop, of which `lost` is one or hangs on one.
fn report_loop(doc: &Document, nodes: &[(Node<'_>, &str)], Tree { above, below }: &Tree<'_>, lost: usize) {
    // Up from there until a link comes again.
    let mut path = vec![lost];
    let parent_of = |link: usize| below.iter().position(|list| list.contains(&link));
    while let Some(parent) = parent_of(path[path.len() - 1]) {
        if let Some(start) = path.iter().position(|&link| link == parent) {
            path.drain(..start);
            break;
        }
        path.push(parent);
    }
    let names: Vec<String> = path.iter().rev().take(8).map(|&link| quote(nodes[link].1)).collect();
    let span = above[path[0]].as_ref().map_or(nodes[path[0]].0.span(), |edge| edge.span);
    doc.error(span, format!("links {} form a loop", names.join(", ")));
}

/// The attribute `name`, which must be there and not be empty.
fn named(node: Node<'_>) -> Option<&str> {
    let attribute = node.required("name")?;
    if attribute.value.trim().is_empty() {
        node.doc.error(attribute.value_span, format!("the name of this {} is empty", node.name()));
        return None;
    }
    Some(&attribute.value)
}

fn color_of(material: Node<'_>) -> Option<[f64; 4]> {
    if let Some(texture) = material.child("texture") {
        texture.attribute("filename");
    }
    material.child("color")?.array("rgba")
}

/// `origin`: a shift, and turns about the fixed axes x, y, z, one after the other.
fn origin(node: Node<'_>) -> Pose {
    let Some(origin) = node.child("origin") else { return Pose::identity() };
    let position = origin.array("xyz").map_or(Vec3::zeros(), Vec3::from);
    let [roll, pitch, yaw] = origin.array("rpy").unwrap_or([0.0; 3]);
    if let Some(quat) = origin.attribute("quat_xyzw") {
        origin.doc.lost(origin.doc.files.warning(quat.name_span, "`quat_xyzw` is not part of URDF 1.0"));
    }
    Pose::new(position, Quat::from_euler_angles(roll, pitch, yaw))
}

struct Reader<'a, 'b, 'c> {
    doc: &'a Document,
    loader: &'b mut Loader<'c>,
    options: &'b ReadOptions,
    parsed: &'b Parsed,
    materials: BTreeMap<&'a str, [f64; 4]>,
    files: MeshFiles,
    /// Meshes by file and bits of the scale.
    meshes: BTreeMap<(&'a str, [u64; 3]), Option<RobotMeshId>>,
    robot: &'b mut RobotDescription,
}

impl<'a> Reader<'a, '_, '_> {
    fn link(
        &mut self,
        node: Node<'a>,
        name: &str,
        above: Option<&Edge<'a>>,
        parent: RobotBodyId,
    ) -> RobotBodyId {
        let mut body = RobotBody::new(name, parent);
        if let Some(edge) = above {
            body.pose = origin(edge.node);
            body.joints.extend(joint(edge));
            if body.joints.iter().any(|joint| joint.kind == JointKind::Free) {
                self.set_free(&mut body, edge);
            }
        } else if self.options.floating_base {
            body.joints.push(RobotJoint::new(format!("{name}_free"), JointKind::Free));
        }
        if let Some(inertial) = node.child("inertial") {
            body.inertial = self.inertial(inertial, name);
        }
        for child in node.children() {
            let visual = match child.name() {
                "visual" => true,
                "collision" => false,
                _ => continue,
            };
            body.geoms.extend(self.geom(child, visual));
        }
        // A root of this name is the world itself.
        if above.is_none() && name == "world" {
            if self.options.floating_base {
                node.warn("the root link is the world, so the base does not float");
            }
            self.robot.bodies[0].geoms = body.geoms;
            return RobotBodyId(0);
        }
        self.robot.bodies.push(body);
        RobotBodyId(self.robot.bodies.len() - 1)
    }

    /// A free joint moves in the world: the body hangs there, where its parent puts it in the reference configuration.
    fn set_free(&self, body: &mut RobotBody, edge: &Edge<'a>) {
        let mut moving = false;
        while body.parent != RobotBodyId(0) {
            let parent = &self.robot.bodies[body.parent.0];
            moving |= !parent.joints.is_empty();
            body.pose = parent.pose.then(&body.pose);
            body.parent = parent.parent;
        }
        if moving {
            let message = format!(
                "joint {} floats: its link moves in the world, not with its parent",
                quote(edge.name)
            );
            edge.node.warn(message);
        }
    }

    fn inertial(&self, node: Node<'a>, link: &str) -> Inertial {
        let pose = origin(node);
        let mass = node.child("mass").and_then(|mass| {
            mass.required("value")?;
            mass.number("value")
        });
        let Some(mass) = mass else {
            if node.child("mass").is_none() {
                node.error(format!("the inertial of link {} has no mass", quote(link)));
            }
            return Inertial::default();
        };
        let mut inertia = Mat3::zeros();
        if let Some(given) = node.child("inertia") {
            for (key, at) in [
                ("ixx", (0, 0)),
                ("iyy", (1, 1)),
                ("izz", (2, 2)),
                ("ixy", (0, 1)),
                ("ixz", (0, 2)),
                ("iyz", (1, 2)),
            ] {
                let x = given.number(key).unwrap_or(0.0);
                inertia[at] = x;
                inertia[(at.1, at.0)] = x;
            }
        } else {
            node.warn(format!("link {} has a mass but no inertia", quote(link)));
        }
        let turn = dalembert::math::rotation::matrix(&pose.rotation);
        let inertial = Inertial { mass, center: pose.position, inertia: turn * inertia * turn.transpose() };
        weigh::checked(self.doc, node.span(), link, inertial, self.options.inertia)
    }

    fn geom(&mut self, node: Node<'a>, visual: bool) -> Option<RobotGeom> {
        let pose = origin(node);
        let name = node.text("name").unwrap_or_default();
        let Some(geometry) = node.child("geometry") else {
            node.error(format!("{} has no geometry", quote(node.name())));
            return None;
        };
        let Some(kind) = geometry.children().next() else {
            geometry.error("the geometry is empty");
            return None;
        };
        if let Some(second) = geometry.children().nth(1) {
            second.error("a geometry has one shape only");
        }
        let positive = |key: &str| {
            kind.required(key)?;
            let x = kind.number(key)?;
            if x > 0.0 {
                return Some(x);
            }
            kind.error(format!("{} of the {} is {x} m; it must be positive", quote(key), kind.name()));
            None
        };
        let shape = match kind.name() {
            "box" => {
                kind.required("size")?;
                let half = 0.5 * Vec3::from(kind.array::<3>("size")?);
                if half.min() <= 0.0 {
                    kind.error(format!("the size of the box must be positive, found {}", 2.0 * half.min()));
                    return None;
                }
                GeomShape::Box { half }
            }
            "sphere" => GeomShape::Sphere { radius: positive("radius")? },
            "cylinder" => {
                GeomShape::Cylinder { radius: positive("radius")?, half_length: 0.5 * positive("length")? }
            }
            "capsule" => {
                GeomShape::Capsule { radius: positive("radius")?, half_length: 0.5 * positive("length")? }
            }
            "mesh" => GeomShape::Mesh(self.mesh(kind, visual)?),
            other => {
                let message = format!("unknown shape {}", quote(other));
                let error = self.doc.files.error(kind.span(), message);
                self.doc.push(error.with_suggestion(other, ["box", "sphere", "cylinder", "capsule", "mesh"]));
                return None;
            }
        };
        let mut geom = RobotGeom { pose, ..RobotGeom::new(name, shape) };
        if visual {
            (geom.contact_type, geom.contact_affinity, geom.group) = (0, 0, 1);
        }
        // Simulators write materials into collisions, too.
        if let Some(material) = node.child("material") {
            let name = material.text("name").unwrap_or_default();
            geom.material = name.to_owned();
            match color_of(material).or_else(|| self.materials.get(name).copied()) {
                Some(color) => geom.color = color,
                None if !name.is_empty() && material.child("texture").is_none() => {
                    material.warn(format!("material {} is not defined", quote(name)));
                }
                None => {}
            }
        }
        Some(geom)
    }

    fn mesh(&mut self, node: Node<'a>, visual: bool) -> Option<RobotMeshId> {
        let file = node.required("filename")?;
        let scale = node.array::<3>("scale").unwrap_or([1.0; 3]);
        if self.options.meshes == MeshPolicy::Skip {
            return None;
        }
        let key = (file.value.as_str(), scale.map(f64::to_bits));
        if let Some(known) = self.meshes.get(&key) {
            return *known;
        }
        let places = meshes::urdf_places(&file.value, &self.parsed.path, &self.options.package_paths);
        let found = match self.files.read(self.loader, &file.value, &places) {
            Ok(raw) => {
                let name = format!("mesh{}", self.robot.meshes.len());
                let (zero, one) = (Vec3::zeros(), Quat::identity());
                let (mesh, _) = meshes::place(
                    name,
                    file.value.clone(),
                    raw,
                    &zero,
                    &one,
                    Vec3::from(scale),
                    MeshInertia::default(),
                );
                self.robot.meshes.push(mesh);
                Some(RobotMeshId(self.robot.meshes.len() - 1))
            }
            Err(reason) => {
                let required = self.options.meshes == MeshPolicy::Require && !visual;
                if required {
                    self.doc.push(self.doc.files.error(file.value_span, reason).with_help(
                        "give the folders of packages in the options, or make meshes optional there",
                    ));
                } else {
                    let message = format!("{reason}; the geometry is left out");
                    self.doc.lost(self.doc.files.warning(file.value_span, message));
                }
                None
            }
        };
        self.meshes.insert(key, found);
        found
    }
}

/// The joint above a link; none if it is fixed.
fn joint(edge: &Edge<'_>) -> Option<RobotJoint> {
    let (node, doc) = (edge.node, edge.node.doc);
    let attribute = node.required("type")?;
    let kind = match attribute.value.as_str() {
        "revolute" | "continuous" => JointKind::Hinge,
        "prismatic" => JointKind::Slider,
        "fixed" => JointKind::Fixed,
        "floating" => JointKind::Free,
        "planar" => JointKind::Planar,
        "spherical" | "ball" => JointKind::Ball,
        other => {
            let known = ["revolute", "continuous", "prismatic", "fixed", "floating", "planar"];
            let error = doc.files.error(attribute.value_span, format!("unknown joint type {}", quote(other)));
            doc.push(error.with_suggestion(other, known));
            return None;
        }
    };
    let mut joint = RobotJoint::new(edge.name, kind);
    joint.axis = Vec3::x();
    if let Some(axis) = node.child("axis") {
        axis.required("xyz")?;
        let given = Vec3::from(axis.array::<3>("xyz")?);
        match given.try_normalize(1e-12) {
            Some(unit) => joint.axis = unit,
            // A fixed joint has no axis, and files write zeros there.
            None if matches!(kind, JointKind::Fixed | JointKind::Free | JointKind::Ball) => {}
            None => axis.error(format!("the axis of joint {} has length zero", quote(edge.name))),
        }
    }
    if let Some(limit) = node.child("limit") {
        limits(limit, &attribute.value, &mut joint);
    } else if matches!(attribute.value.as_str(), "revolute" | "prismatic") {
        node.warn(format!(
            "joint {} is {} but has no limit; taken as without bounds",
            quote(edge.name),
            attribute.value
        ));
    }
    if let Some(dynamics) = node.child("dynamics") {
        joint.damping = dynamics.number("damping").unwrap_or(0.0);
        joint.friction_loss = dynamics.number("friction").unwrap_or(0.0);
        if joint.damping < 0.0 || joint.friction_loss < 0.0 {
            dynamics
                .error(format!("damping and friction of joint {} must not be negative", quote(edge.name)));
        }
    }
    (kind != JointKind::Fixed).then_some(joint)
}

fn limits(limit: Node<'_>, kind: &str, joint: &mut RobotJoint) {
    let lower = limit.number("lower");
    let upper = limit.number("upper");
    if matches!(kind, "revolute" | "prismatic") {
        let bounds = [lower.unwrap_or(0.0), upper.unwrap_or(0.0)];
        if bounds[0] > bounds[1] {
            limit.error(format!(
                "limits of joint {} are {} to {}; the lower must not exceed the upper",
                quote(&joint.name),
                bounds[0],
                bounds[1]
            ));
        }
        joint.limits = Some(bounds);
    }
    // Zero is how files say that they do not know.
    joint.effort_limits = limit.number("effort").filter(|&effort| effort > 0.0).map(|e| [-e, e]);
    joint.velocity_limit = limit.number("velocity").filter(|&velocity| velocity > 0.0);
}

fn mimics(doc: &Document, root: Node<'_>, robot: &mut RobotDescription) {
    let mut joints: Names<RobotJointId> = Names::new("moving joint");
    for (i, (_, joint)) in robot.joints().enumerate() {
        joints.add(doc, &joint.name, RobotJointId(i), root.span());
    }
    let mut spans: BTreeMap<RobotJointId, Span> = BTreeMap::new();
    for node in root.named("joint") {
        let Some(mimic) = node.child("mimic") else { continue };
        let Some(of) = mimic.required("joint").and_then(|a| joints.find(doc, a)) else { continue };
        let multiplier = mimic.number("multiplier").unwrap_or(1.0);
        let offset = mimic.number("offset").unwrap_or(0.0);
        let Some(joint) = node.text("name").and_then(|name| joints.get(name)) else {
            mimic.warn("a fixed joint cannot follow another");
            continue;
        };
        spans.insert(joint, mimic.span());
        robot.mimics.push(Mimic { joint, of, multiplier, offset });
    }
    let leader: BTreeMap<RobotJointId, RobotJointId> = robot.mimics.iter().map(|m| (m.joint, m.of)).collect();
    for mimic in &robot.mimics {
        // A chain of as many steps as there are followers has come back to itself.
        let mut at = mimic.of;
        let mut steps = 0;
        while let Some(&next) = leader.get(&at) {
            at = next;
            steps += 1;
            if steps > leader.len() {
                let span = spans.get(&mimic.joint).copied().unwrap_or(root.span());
                doc.error(span, "joints mimic each other in a loop");
                return;
            }
        }
    }
}

/// Reports elements and attributes that nobody has read.
fn report_rest(root: Node<'_>) {
    let doc = root.doc;
    let mut work = vec![root];
    while let Some(node) = work.pop() {
        let known: &[&str] =
            ELEMENTS.iter().find(|(name, _)| *name == node.name()).map_or(&[], |(_, known)| known);
        for attribute in node.element.attributes.iter().filter(|a| !a.read.get()) {
            // `type` of a link and names of anything are decoration.
            if matches!(attribute.name.as_str(), "name" | "type" | "version" | "schemaLocation") {
                continue;
            }
            let message =
                format!("attribute {} of {} is not used", quote(&attribute.name), quote(node.name()));
            doc.lost(doc.files.warning(attribute.name_span, message));
        }
        let mut children: Vec<Node<'_>> = Vec::new();
        for child in node.children() {
            let name = child.name();
            match (node.name(), name) {
                ("robot", "gazebo" | "transmission" | "mujoco") => {
                    child.lost(format!("{} is skipped: it speaks to another program", quote(name)));
                }
                ("joint", "safety_controller" | "calibration") => {
                    child.lost(format!("{} is skipped: it speaks to a controller", quote(name)));
                }
                ("collision", "material") => children.push(child),
                _ if known.contains(&name) => children.push(child),
                _ => {
                    let message = format!("unknown element {} in {}", quote(name), quote(node.name()));
                    let warning = doc.files.warning(child.span(), message);
                    doc.lost(warning.with_suggestion(name, known.iter().copied()));
                }
            }
        }
        work.extend(children.into_iter().rev());
    }
}
