//! The sections that refer to the tree by names: options, contact, equality, tendons, actuators, sensors, keyframes.

use std::cell::Cell;

use dalembert::bodies::articulated::description::{
    ActuatorId, ContactExclude, ContactPair, ContactSoftness, Equality, EqualityKind, Keyframe, PathPoint,
    RobotBodyId, RobotDescription, RobotGeomId, RobotIntegrator, RobotJointId, RobotSiteId, RobotSolver,
    Tendon, TendonId, TendonPath, Transmission,
};
use dalembert::joints::JointKind;
use dalembert::math::{Pose, Quat, Vec3};

use super::super::names::Names;
use super::super::xml::{Attribute, Document, Node};
use super::attributes::{Attributes, unit};
use super::bodies::{Instance, MOST_ELEMENTS, Scope, World, linear, softness};
use super::classes::Classes;
use super::{Model, actuators, schema, sensors};
use crate::error::quote;

/// Most names that are looked for among replicas.
const MOST_NAMES: usize = 10_000_000;

/// Finds what names stand for, in the scope of one model.
pub(super) struct Refer<'a> {
    doc: &'a Document,
    pub(super) scope: &'a Scope,
    world: &'a World,
    /// Number of the first joint, geom and site of each body.
    first: &'a [[usize; 3]],
    tendons: &'a Names<TendonId>,
    actuators: &'a Names<ActuatorId>,
    /// Whether what is not found was simply not attached.
    partial: bool,
}

impl Refer<'_> {
    fn find<T: Copy>(&self, names: &Names<T>, attribute: &Attribute) -> Option<T> {
        let found = self.scope.outwards().find_map(|scope| names.get(&scope.full(&attribute.value)));
        if found.is_some() || self.partial {
            return found;
        }
        let full = self.scope.full(&attribute.value);
        if self.world.incomplete.get() {
            let message = format!("{} is part of something that was not read", quote(&attribute.value));
            self.doc.lost(self.doc.files.warning(attribute.value_span, message));
            return None;
        }
        names.find_name(self.doc, attribute, &full)
    }

    pub(super) fn body(&self, attribute: &Attribute) -> Option<RobotBodyId> {
        if attribute.value == "world" {
            return Some(RobotBodyId(0));
        }
        self.find(&self.world.bodies, attribute)
    }

    pub(super) fn joint(&self, attribute: &Attribute) -> Option<RobotJointId> {
        let (body, k) = self.find(&self.world.joints, attribute)?;
        Some(RobotJointId(self.first[body][0] + k))
    }

    pub(super) fn geom(&self, attribute: &Attribute) -> Option<RobotGeomId> {
        let (body, k) = self.find(&self.world.geoms, attribute)?;
        Some(RobotGeomId(self.first[body][1] + k))
    }

    pub(super) fn site(&self, attribute: &Attribute) -> Option<RobotSiteId> {
        let (body, k) = self.find(&self.world.sites, attribute)?;
        Some(RobotSiteId(self.first[body][2] + k))
    }

    pub(super) fn camera(&self, attribute: &Attribute) -> Option<usize> {
        self.find(&self.world.cameras, attribute)
    }

    pub(super) fn tendon(&self, attribute: &Attribute) -> Option<TendonId> {
        self.find(self.tendons, attribute)
    }

    pub(super) fn actuator(&self, attribute: &Attribute) -> Option<ActuatorId> {
        self.find(self.actuators, attribute)
    }

    /// Whether the name in an attribute of an element stands for something, in exactly this scope; `None` if the
    /// attribute holds no name of that sort.
    fn names(&self, scope: &Scope, node: Node<'_>, attribute: &Attribute) -> Option<bool> {
        let kind_in = |key: &str| {
            let kind = node.element.attributes.iter().find(|a| a.name == key);
            kind.map_or("", |kind| kind.value.trim_start_matches('x'))
        };
        let kind = match attribute.name.as_str() {
            "objname" => kind_in("objtype"),
            "refname" => kind_in("reftype"),
            "sidesite" | "refsite" | "cranksite" | "slidersite" => "site",
            "jointinparent" => "joint",
            name => name.trim_end_matches(['1', '2']),
        };
        let (full, world) = (scope.full(&attribute.value), self.world);
        Some(match kind {
            // The world stands nowhere in particular.
            "body" if attribute.value == "world" => return None,
            "body" => world.bodies.get(&full).is_some(),
            "joint" => world.joints.get(&full).is_some(),
            "geom" => world.geoms.get(&full).is_some(),
            "site" => world.sites.get(&full).is_some(),
            "camera" => world.cameras.get(&full).is_some(),
            "tendon" => self.tendons.get(&full).is_some(),
            "actuator" => self.actuators.get(&full).is_some(),
            _ => return None,
        })
    }
}

/// The elements of a section, each with the scope that its names belong to. As in MuJoCo, an element that names
/// something which a `replicate` repeats is repeated with it, behind the elements that are not. `looked` counts names
/// that were looked for.
fn unfolded<'a, 's>(
    nodes: impl Iterator<Item = Node<'a>>,
    instance: &'s Instance,
    refer: &Refer<'_>,
    looked: &Cell<usize>,
) -> Vec<(Node<'a>, &'s Scope)> {
    let base: &Scope = &instance.scope;
    if instance.copies.is_empty() {
        return nodes.map(|node| (node, base)).collect();
    }
    // Of the names in an element and its children: whether they stand for something in exactly this scope.
    fn names<'n>(
        node: Node<'n>,
        scope: &'n Scope,
        refer: &'n Refer<'_>,
        looked: &'n Cell<usize>,
    ) -> impl Iterator<Item = bool> + 'n {
        let parts = std::iter::once(node).chain(node.children());
        let all = parts.flat_map(|part| part.element.attributes.iter().map(move |a| (part, a)));
        all.filter_map(move |(part, a)| {
            looked.set(looked.get() + 1);
            if looked.get() > MOST_NAMES { Some(false) } else { refer.names(scope, part, a) }
        })
    }
    let mut once: Vec<(Node<'a>, &'s Scope)> = Vec::new();
    let mut again: Vec<(usize, Node<'a>)> = Vec::new();
    for node in nodes {
        let mut copies = Vec::new();
        if !names(node, base, refer, looked).all(|found| found) {
            for (i, copy) in instance.copies.iter().enumerate() {
                let own: Vec<bool> = names(node, copy, refer, looked).collect();
                if !own.contains(&true) {
                    continue;
                }
                let around = copy.outwards().skip(1).fold(own, |found, scope| {
                    let more = names(node, scope, refer, looked);
                    found.into_iter().zip(more).map(|(a, b)| a || b).collect()
                });
                if !around.contains(&false) {
                    copies.push((i, node));
                }
            }
        }
        if looked.get() > MOST_NAMES {
            node.error(format!("more than {MOST_NAMES} names of replicas are looked for"));
            break;
        }
        if copies.is_empty() {
            once.push((node, base));
        }
        again.extend(copies);
    }
    again.sort_by_key(|(i, _)| *i);
    once.extend(again.into_iter().map(|(i, node)| (node, &*instance.copies[i])));
    once
}

/// Reads all sections of all models in their places.
pub(super) fn read(
    models: &[Model<'_>],
    instances: &[Instance],
    world: &World,
    robot: &mut RobotDescription,
) {
    let doc = models[0].root.doc;
    let first = first_parts(robot);
    let kinds: Vec<(JointKind, Option<[f64; 2]>)> =
        robot.joints().map(|(_, joint)| (joint.kind, joint.limits)).collect();
    let mut tendons: Names<TendonId> = Names::new("tendon");
    let mut actuators: Names<ActuatorId> = Names::new("actuator");
    let mut sensors: Names<()> = Names::new("sensor");
    let mut equalities: Names<()> = Names::new("equality");
    let (mut work, looked) = (0, Cell::new(0));
    for (i, instance) in instances.iter().enumerate() {
        let scope: &Scope = &instance.scope;
        if doc.is_full() {
            return;
        }
        let model = &models[scope.model];
        work += elements(model);
        if i > 0 && work > 10 * MOST_ELEMENTS {
            model.root.error(format!("attached models have more than {} elements", 10 * MOST_ELEMENTS));
            return;
        }
        macro_rules! refer {
            ($scope:expr) => {
                Refer {
                    doc,
                    scope: $scope,
                    world,
                    first: &first,
                    tendons: &tendons,
                    actuators: &actuators,
                    partial: i > 0,
                }
            };
        }
        let section = |name: &'static str| {
            model.root.named(name).flat_map(|section| {
                section.element.read.set(true);
                section.children()
            })
        };
        // An element that refers to nothing has been reported; its attributes need not be.
        for (node, scope) in unfolded(section("tendon"), instance, &refer!(scope), &looked) {
            if let Some(tendon) = self::tendon(node, model, &refer!(scope), &kinds) {
                tendons.add(doc, &tendon.name, TendonId(robot.tendons.len()), node.span());
                robot.tendons.push(tendon);
            } else {
                schema::ignore(node);
            }
        }
        for (node, scope) in unfolded(section("actuator"), instance, &refer!(scope), &looked) {
            if !actuators::TAGS.contains(&node.name()) {
                skip_actuator(node, doc, world);
                continue;
            }
            let ranges = |transmission: &Transmission| match transmission {
                Transmission::Joint(joint) | Transmission::JointInParent(joint) => kinds[joint.0].1,
                Transmission::Tendon(tendon) => robot.tendons[tendon.0].limits,
                _ => None,
            };
            if let Some(actuator) = actuators::read(node, model, &refer!(scope), &ranges) {
                actuators.add(doc, &actuator.name, ActuatorId(robot.actuators.len()), node.span());
                robot.actuators.push(actuator);
            } else {
                schema::ignore(node);
            }
        }
        let refer = refer!(scope);
        for (node, scope) in unfolded(section("equality"), instance, &refer, &looked) {
            if let Some(equality) = equality(node, model, &refer!(scope)) {
                equalities.add(doc, &equality.name, (), node.span());
                robot.equalities.push(equality);
            } else {
                schema::ignore(node);
            }
        }
        for (node, scope) in unfolded(section("contact"), instance, &refer, &looked) {
            contact(node, model, &refer!(scope), robot);
        }
        for (node, scope) in unfolded(section("sensor"), instance, &refer, &looked) {
            if let Some(sensor) = sensors::read(node, &refer!(scope)) {
                sensors.add(doc, &sensor.name, (), node.span());
                robot.sensors.push(sensor);
            } else {
                schema::ignore(node);
            }
        }
        for node in section("custom") {
            custom(node, scope, robot);
        }
        keyframes(section("keyframe"), i == 0, robot, &kinds, world);
    }
}

/// How many elements the sections of a model have.
fn elements(model: &Model<'_>) -> usize {
    let sections = ["tendon", "actuator", "equality", "contact", "sensor", "custom"];
    let mine = model.root.children().filter(|node| sections.contains(&node.name()));
    mine.map(|node| node.element.children.len()).sum()
}

/// Warns of an actuator of an unknown kind.
fn skip_actuator(node: Node<'_>, doc: &Document, world: &World) {
    schema::ignore(node);
    world.incomplete.set(true);
    let message = format!("actuator {} is not read", quote(node.name()));
    let warning = doc.files.warning(node.span(), message);
    doc.lost(warning.with_suggestion(node.name(), actuators::TAGS));
}

/// Numbers of the first joint, geom and site of each body.
fn first_parts(robot: &RobotDescription) -> Vec<[usize; 3]> {
    let mut first = Vec::with_capacity(robot.bodies.len());
    let mut counts = [0; 3];
    for body in &robot.bodies {
        first.push(counts);
        counts[0] += body.joints.len();
        counts[1] += body.geoms.len();
        counts[2] += body.sites.len();
    }
    first
}

/// Keyframes of the main model; those of attached ones are lost.
fn keyframes<'a>(
    mut nodes: impl Iterator<Item = Node<'a>>,
    main: bool,
    robot: &mut RobotDescription,
    kinds: &[(JointKind, Option<[f64; 2]>)],
    world: &World,
) {
    if !main {
        if let Some(node) = nodes.next().filter(|node| !node.element.read.replace(true)) {
            node.lost("keyframes of attached models are not carried");
            schema::ignore(node);
        }
        return;
    }
    let mut names: Names<()> = Names::new("key");
    for node in nodes {
        if let Some(key) = key(node, robot, kinds, world.incomplete.get()) {
            names.add(node.doc, &key.name, (), node.span());
            robot.keyframes.push(key);
        }
    }
}

/// `option` of the main model.
pub(super) fn options(model: &Model<'_>, robot: &mut RobotDescription) {
    let o = &mut robot.options;
    for node in model.root.named("option") {
        let a = Attributes::alone(node);
        if let Some(step) = a.number("timestep") {
            if step > 0.0 {
                o.timestep = step;
            } else {
                a.error(format!("`timestep` is {step} s; it must be positive"));
            }
        }
        o.gravity = a.vector("gravity").unwrap_or(o.gravity);
        o.wind = a.vector("wind").unwrap_or(o.wind);
        o.magnetic = a.vector("magnetic").unwrap_or(o.magnetic);
        o.density = a.size("density").unwrap_or(o.density);
        o.viscosity = a.size("viscosity").unwrap_or(o.viscosity);
        o.impedance_ratio = a.number("impratio").unwrap_or(o.impedance_ratio);
        o.tolerance = a.size("tolerance").unwrap_or(o.tolerance);
        if let Some(iterations) = a.integer("iterations") {
            o.iterations = usize::try_from(iterations).unwrap_or_else(|_| {
                a.error(format!("`iterations` is {iterations}; it must not be negative"));
                0
            });
        }
        let integrators = [
            ("Euler", RobotIntegrator::Euler),
            ("RK4", RobotIntegrator::Rk4),
            ("implicit", RobotIntegrator::Implicit),
            ("implicitfast", RobotIntegrator::ImplicitFast),
            ("discrete", RobotIntegrator::Discrete),
        ];
        o.integrator = a.keyword("integrator", &integrators).unwrap_or(o.integrator);
        o.elliptic_cone = a.keyword("cone", &[("pyramidal", false), ("elliptic", true)]).or(o.elliptic_cone);
        let solvers = [("PGS", RobotSolver::Pgs), ("CG", RobotSolver::Cg), ("Newton", RobotSolver::Newton)];
        o.solver = a.keyword("solver", &solvers).unwrap_or(o.solver);
        let margin = a.number("o_margin");
        let soft = (a.filled("o_solref"), a.filled("o_solimp"));
        if margin.is_some() || soft.0.is_some() || soft.1.is_some() {
            o.contact_override = Some((margin.unwrap_or(0.0), softness(&a, "o_solref", "o_solimp")));
        }
        // The rest steers the insides of another engine; it is kept as it stands.
        for attribute in &node.element.attributes {
            if !attribute.read.get() && schema::known(node.name()).any(|name| name == attribute.name) {
                attribute.read.set(true);
                o.other.push((attribute.name.clone(), attribute.value.clone()));
            }
        }
        for flag in node.named("flag") {
            let a = Attributes::alone(flag);
            for attribute in &flag.element.attributes {
                let states = [("enable", true), ("disable", false)];
                if schema::known("flag").all(|name| name != attribute.name) {
                    continue;
                }
                if let Some(on) = a.keyword(&attribute.name, &states) {
                    o.flags.push((attribute.name.clone(), on));
                }
            }
        }
    }
    if robot.options.flags.iter().rev().find(|(name, _)| name == "override").is_none_or(|(_, on)| !on) {
        robot.options.contact_override = None;
    }
}

fn tendon<'a>(
    node: Node<'a>,
    model: &Model<'a>,
    refer: &Refer<'_>,
    kinds: &[(JointKind, Option<[f64; 2]>)],
) -> Option<Tendon> {
    let path = match node.name() {
        "fixed" => {
            let mut joints = Vec::new();
            for child in node.children() {
                let a = Attributes::alone(child);
                if child.name() != "joint" {
                    a.error("a fixed tendon is made of joints");
                    continue;
                }
                let joint = refer.joint(child.required("joint")?)?;
                if !matches!(kinds[joint.0].0, JointKind::Hinge | JointKind::Slider) {
                    a.error("a fixed tendon is made of hinges and slides");
                }
                let coefficient = a.number("coef").unwrap_or_else(|| {
                    if a.own("coef").is_none() {
                        a.error("this joint of a tendon needs the attribute `coef`");
                    }
                    0.0
                });
                joints.push((joint, coefficient));
            }
            if joints.is_empty() {
                node.error("the tendon is empty");
            }
            TendonPath::Joints(joints)
        }
        "spatial" => {
            let mut points = Vec::new();
            for child in node.children() {
                let a = Attributes::alone(child);
                points.push(match child.name() {
                    "site" => PathPoint::Site(refer.site(child.required("site")?)?),
                    "geom" => {
                        let side = match a.own("sidesite") {
                            Some(side) => Some(refer.site(side)?),
                            None => None,
                        };
                        PathPoint::Geom { geom: refer.geom(child.required("geom")?)?, side }
                    }
                    "pulley" => {
                        let divisor = a.number("divisor").unwrap_or(1.0);
                        if !(divisor > 0.0) {
                            a.error(format!("`divisor` is {divisor}; it must be positive"));
                        }
                        PathPoint::Pulley { divisor }
                    }
                    other => {
                        a.error(format!("a path has sites, geoms and pulleys, not {}", quote(other)));
                        continue;
                    }
                });
            }
            if points.len() < 2 {
                node.error("a spatial tendon needs two points");
            }
            TendonPath::Spatial(points)
        }
        other => {
            schema::ignore(node);
            refer.world.incomplete.set(true);
            let warning = node.doc.files.warning(node.span(), format!("unknown tendon {}", quote(other)));
            node.doc.lost(warning.with_suggestion(other, ["fixed", "spatial"]));
            return None;
        }
    };
    let a = model.classes.over(node, "tendon", Classes::MAIN);
    let compiler = &model.compiler;
    let range = a.array("range");
    let force = a.array("actuatorfrcrange");
    let slack = a.some::<2>("springlength").filter(|([low, _], _)| *low >= 0.0);
    let material = a.text("material").unwrap_or_default();
    let color = a.array("rgba").or_else(|| model.assets.materials.get(material).copied());
    a.ignore(&["user"]);
    Some(Tendon {
        name: refer.scope.full(a.name()),
        path,
        limits: a.range("tendon", a.limited("limited"), range, compiler),
        limit_margin: a.number("margin").unwrap_or(0.0),
        limit_softness: softness(&a, "solreflimit", "solimplimit"),
        stiffness: linear(&a, "stiffness"),
        damping: linear(&a, "damping"),
        spring_lengths: slack.map(|(pair, count)| if count == 2 { pair } else { [pair[0]; 2] }),
        friction_loss: a.size("frictionloss").unwrap_or(0.0),
        friction_softness: softness(&a, "solreffriction", "solimpfriction"),
        armature: a.size("armature").unwrap_or(0.0),
        effort_limits: a.range("actuatorfrcrange", a.limited("actuatorfrclimited"), force, compiler),
        width: a.size("width").unwrap_or(0.003),
        color: color.unwrap_or([0.5, 0.5, 0.5, 1.0]),
        group: a.integer("group").unwrap_or(0),
    })
}

fn equality<'a>(node: Node<'a>, model: &Model<'a>, refer: &Refer<'_>) -> Option<Equality> {
    let a = model.classes.over(node, "equality", Classes::MAIN);
    let sites = a.own("site1").zip(a.own("site2"));
    let polynomial = a.up_to("polycoef", [0.0, 1.0, 0.0, 0.0, 0.0]);
    let active = a.switch("active").unwrap_or(true);
    let softness = softness(&a, "solref", "solimp");
    let second = |key: &str| -> Option<RobotBodyId> {
        match a.own(key) {
            Some(body) => refer.body(body),
            None => Some(RobotBodyId(0)),
        }
    };
    let kind = match node.name() {
        "connect" => match sites {
            Some((one, two)) => EqualityKind::ConnectSites { sites: [refer.site(one)?, refer.site(two)?] },
            None => {
                let bodies = [refer.body(node.required("body1")?)?, second("body2")?];
                node.required("anchor")?;
                EqualityKind::Connect { bodies, anchor: a.vector("anchor")? }
            }
        },
        "weld" => {
            let torque_scale = a.size("torquescale").unwrap_or(1.0);
            match sites {
                Some((one, two)) => {
                    EqualityKind::WeldSites { sites: [refer.site(one)?, refer.site(two)?], torque_scale }
                }
                None => {
                    let bodies = [refer.body(node.required("body1")?)?, second("body2")?];
                    let anchor = a.vector("anchor").unwrap_or_else(Vec3::zeros);
                    // A quaternion of zeros asks for the pose of the reference configuration.
                    let relative = a.array::<7>("relpose").and_then(|[x, y, z, w, i, j, k]| {
                        unit(w, i, j, k).map(|turn| Pose::new(Vec3::new(x, y, z), turn))
                    });
                    EqualityKind::Weld { bodies, anchor, relative, torque_scale }
                }
            }
        }
        "joint" => {
            let joint = refer.joint(node.required("joint1")?)?;
            let other = match a.own("joint2") {
                Some(other) => Some(refer.joint(other)?),
                None => None,
            };
            EqualityKind::Joints { joint, other, polynomial }
        }
        "tendon" => {
            let tendon = refer.tendon(node.required("tendon1")?)?;
            let other = match a.own("tendon2") {
                Some(other) => Some(refer.tendon(other)?),
                None => None,
            };
            EqualityKind::Tendons { tendon, other, polynomial }
        }
        other => {
            schema::ignore(node);
            let warning =
                node.doc.files.warning(node.span(), format!("equality {} is not read", quote(other)));
            node.doc.lost(warning.with_suggestion(other, ["connect", "weld", "joint", "tendon"]));
            return None;
        }
    };
    Some(Equality { name: refer.scope.full(a.name()), kind, active, softness })
}

fn contact<'a>(node: Node<'a>, model: &Model<'a>, refer: &Refer<'_>, robot: &mut RobotDescription) {
    match node.name() {
        "exclude" => {
            let a = Attributes::alone(node);
            let name = refer.scope.full(a.name());
            let (Some(one), Some(two)) = (node.required("body1"), node.required("body2")) else { return };
            if let (Some(one), Some(two)) = (refer.body(one), refer.body(two)) {
                robot.contact_excludes.push(ContactExclude { name, bodies: [one, two] });
            }
        }
        "pair" => {
            let a = model.classes.over(node, "pair", Classes::MAIN);
            let name = refer.scope.full(a.name());
            let (Some(one), Some(two)) = (node.required("geom1"), node.required("geom2")) else { return };
            let (Some(one), Some(two)) = (refer.geom(one), refer.geom(two)) else { return };
            let start = ContactSoftness::default();
            let given = |key: &str| a.filled(key).is_some();
            let dimension = a.integer("condim").map(|n| {
                if !matches!(n, 1 | 3 | 4 | 6) {
                    a.error(format!("`condim` is {n}; it must be 1, 3, 4 or 6"));
                    return 3;
                }
                n as u8
            });
            robot.contact_pairs.push(ContactPair {
                name,
                geoms: [one, two],
                dimension,
                friction: given("friction").then(|| a.up_to("friction", [1.0, 1.0, 0.005, 0.0001, 0.0001])),
                solref: given("solref").then(|| a.up_to("solref", start.solref)),
                solref_friction: given("solreffriction").then(|| a.up_to("solreffriction", [0.0; 2])),
                solimp: given("solimp").then(|| a.up_to("solimp", start.solimp)),
                margin: a.number("margin"),
                gap: a.number("gap"),
            });
        }
        other => {
            schema::ignore(node);
            let message = format!("unknown element {} in `contact`", quote(other));
            let warning = node.doc.files.warning(node.span(), message);
            node.doc.lost(warning.with_suggestion(other, ["pair", "exclude"]));
        }
    }
}

fn custom(node: Node<'_>, scope: &Scope, robot: &mut RobotDescription) {
    let a = Attributes::alone(node);
    let name = scope.full(a.name());
    match node.name() {
        "numeric" => {
            let mut data = a.list("data").unwrap_or_default();
            if let Some(size) = a.integer("size") {
                match usize::try_from(size) {
                    Ok(size) if size <= 1_000_000 => data.resize(size.max(data.len()), 0.0),
                    _ => a.error(format!("`size` is {size}; it must be 0 to 1000000")),
                }
            }
            robot.numbers.push((name, data));
        }
        "text" => robot.texts.push((name, a.text("data").unwrap_or_default().to_owned())),
        other => {
            schema::ignore(node);
            node.lost(format!("custom {} is not carried", quote(other)));
        }
    }
}

fn key(
    node: Node<'_>,
    robot: &RobotDescription,
    kinds: &[(JointKind, Option<[f64; 2]>)],
    incomplete: bool,
) -> Option<Keyframe> {
    let a = Attributes::alone(node);
    if node.name() != "key" {
        schema::ignore(node);
        node.lost(format!("unknown element {} in `keyframe`", quote(node.name())));
        return None;
    }
    let list = |key: &str, wanted: usize| -> Vec<f64> {
        let Some(list) = a.list(key) else { return Vec::new() };
        if list.len() == wanted {
            return list;
        }
        let message = format!("{} has {} numbers; the model has {wanted}", quote(key), list.len());
        if incomplete {
            a.node.lost(message);
        } else {
            a.error(message);
        }
        Vec::new()
    };
    let activations = robot
        .actuators
        .iter()
        .filter(|actuator| {
            actuator.dynamics != dalembert::bodies::articulated::description::ActuatorDynamics::None
        })
        .count();
    let mut positions = list("qpos", robot.position_count());
    // Quaternions of any length are allowed; one of length zero turns nothing, as in MuJoCo.
    let mut at = 0;
    if !positions.is_empty() {
        for (kind, _) in kinds {
            let start = match kind {
                JointKind::Free => Some(at + 3),
                JointKind::Ball => Some(at),
                _ => None,
            };
            if let Some(start) = start {
                let q = &mut positions[start..start + 4];
                let turn = unit(q[0], q[1], q[2], q[3]).unwrap_or_else(Quat::identity);
                q.copy_from_slice(&[turn.w, turn.i, turn.j, turn.k]);
            }
            at += kind.position_count();
        }
    }
    let bodies = robot.bodies.iter().filter(|body| body.mocap).count();
    for (name, size) in [("mpos", 3), ("mquat", 4)] {
        if !list(name, size * bodies).is_empty() {
            node.lost(format!("{} is not carried", quote(name)));
        }
    }
    Some(Keyframe {
        name: a.name().to_owned(),
        time: a.number("time").unwrap_or(0.0),
        positions,
        velocities: list("qvel", robot.velocity_count()),
        activations: list("act", activations),
        controls: list("ctrl", robot.actuators.len()),
    })
}
