//! The tree of bodies: frames and replicas unfolded, attached models in their places.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use dalembert::bodies::articulated::description::{
    ContactSoftness, Inertial, RobotBody, RobotBodyId, RobotDescription, RobotJoint,
};
use dalembert::joints::JointKind;
use dalembert::math::rotation::matrix;
use dalembert::math::{Mat3, Pose, Vec3, symmetric_eigen};

use super::super::names::Names;
use super::super::xml::{Document, Node};
use super::super::{InertiaPolicy, ReadOptions, weigh};
use super::Model;
use super::attributes::Attributes;
use super::classes::{ClassId, Classes};
use super::compiler::{Compiler, FromGeoms};
use super::schema;
use crate::error::{Span, quote};

/// Most elements of the tree when all replicas are unfolded.
pub(super) const MOST_ELEMENTS: usize = 100_000;

/// A model in one of its places, or one copy of what a `replicate` in it repeats.
pub(super) struct Scope {
    pub(super) model: usize,
    /// Before each of its names.
    pub(super) prefix: String,
    /// Behind each of its names.
    pub(super) suffix: String,
    /// Number of the place among all of them.
    instance: usize,
    /// Of a copy: what stands around the `replicate`.
    pub(super) around: Option<Rc<Scope>>,
}

impl Scope {
    pub(super) fn full(&self, name: &str) -> String {
        if name.is_empty() { String::new() } else { format!("{}{name}{}", self.prefix, self.suffix) }
    }

    /// It and what stands around it, from the inside out.
    pub(super) fn outwards(&self) -> impl Iterator<Item = &Scope> {
        std::iter::successors(Some(self), |scope| scope.around.as_deref())
    }
}

/// Names of what the tree holds, joints, geoms and sites by body and place in it.
pub(super) struct World {
    pub(super) bodies: Names<RobotBodyId>,
    pub(super) joints: Names<(usize, usize)>,
    pub(super) geoms: Names<(usize, usize)>,
    pub(super) sites: Names<(usize, usize)>,
    pub(super) cameras: Names<usize>,
    /// Whether something is missing that only an unsupported element would make.
    pub(super) incomplete: Cell<bool>,
}

/// A model in one of its places, and the copies of all parts of it that are repeated there, outer ones first.
pub(super) struct Instance {
    pub(super) scope: Rc<Scope>,
    pub(super) copies: Vec<Rc<Scope>>,
}

/// What a geom weighs, in the body's frame.
pub(super) struct Weight {
    pub(super) group: i32,
    pub(super) inertial: Result<Inertial, String>,
    pub(super) span: Span,
}

/// What is known about the mass of a body.
pub(super) struct Masses {
    given: Option<Inertial>,
    pub(super) geoms: Vec<Weight>,
    span: Span,
    model: usize,
}

/// An element to be read.
struct Job<'a> {
    node: Node<'a>,
    /// Of a `replicate`: which copy, and where it stands.
    replica: Option<(i32, Pose)>,
    body: usize,
    frame: Pose,
    class: ClassId,
    scope: Rc<Scope>,
}

pub(super) struct Walker<'a, 'b> {
    pub(super) doc: &'a Document,
    pub(super) models: &'b [Model<'a>],
    pub(super) options: &'b ReadOptions,
    pub(super) robot: &'b mut RobotDescription,
    pub(super) world: World,
    pub(super) masses: Vec<Masses>,
    instances: Vec<Instance>,
    /// Bodies of models that were asked for already.
    attachable: BTreeMap<(usize, String), Option<(Node<'a>, ClassId)>>,
    cameras: usize,
}

/// Reads all bodies. The models in their places, the main one first.
pub(super) fn walk<'a>(
    models: &[Model<'a>],
    robot: &mut RobotDescription,
    options: &ReadOptions,
) -> (World, Vec<Instance>) {
    let main = &models[0];
    let doc = main.root.doc;
    let scope =
        Rc::new(Scope { model: 0, prefix: String::new(), suffix: String::new(), instance: 0, around: None });
    let mut walker = Walker {
        doc,
        models,
        options,
        robot,
        world: World {
            bodies: Names::new("body"),
            joints: Names::new("joint"),
            geoms: Names::new("geom"),
            sites: Names::new("site"),
            cameras: Names::new("camera"),
            incomplete: Cell::new(false),
        },
        masses: vec![Masses { given: None, geoms: Vec::new(), span: main.root.span(), model: 0 }],
        instances: vec![Instance { scope: scope.clone(), copies: Vec::new() }],
        attachable: BTreeMap::new(),
        cameras: 0,
    };
    walker.world.bodies.add(doc, "world", RobotBodyId(0), main.root.span());
    let mut work: Vec<Job<'a>> = Vec::new();
    // Several `worldbody` come one after the other.
    let worlds: Vec<Node<'a>> = main.root.named("worldbody").collect();
    for node in worlds.into_iter().rev() {
        node.element.read.set(true);
        let class = walker.child_class(node, Classes::MAIN, main);
        walker.push_children(&mut work, node, 0, Pose::identity(), class, &scope);
    }
    let mut count = 0;
    while let Some(job) = work.pop() {
        count += 1;
        if count > MOST_ELEMENTS {
            job.node.error(format!("the model unfolds to more than {MOST_ELEMENTS} elements"));
            break;
        }
        walker.element(job, &mut work);
        if doc.is_full() {
            break;
        }
    }
    walker.weigh();
    weigh::refuse_overflow(doc, walker.robot, |body| walker.masses[body].span);
    (walker.world, walker.instances)
}

impl<'a> Walker<'a, '_> {
    fn push_children(
        &self,
        work: &mut Vec<Job<'a>>,
        node: Node<'a>,
        body: usize,
        frame: Pose,
        class: ClassId,
        scope: &Rc<Scope>,
    ) {
        let job = |node| Job { node, replica: None, body, frame, class, scope: scope.clone() };
        let at = work.len();
        work.extend(node.children().map(job));
        work[at..].reverse();
    }

    fn child_class(&self, node: Node<'a>, class: ClassId, model: &Model<'a>) -> ClassId {
        node.attribute("childclass").and_then(|a| model.classes.find(self.doc, a)).unwrap_or(class)
    }

    fn element(&mut self, job: Job<'a>, work: &mut Vec<Job<'a>>) {
        let Job { node, body, frame, class, .. } = job;
        let scope = job.scope.clone();
        let models = self.models;
        let model = &models[scope.model];
        match node.name() {
            "body" => {
                let a = Attributes::alone(node);
                let index = self.body(&a, body, &frame, &scope, model);
                let class = self.child_class(node, class, model);
                self.push_children(work, node, index, Pose::identity(), class, &scope);
            }
            "frame" => {
                let a = Attributes::alone(node);
                a.ignore(&["name"]);
                let frame = frame.then(&a.pose(&model.compiler));
                let class = self.child_class(node, class, model);
                self.push_children(work, node, body, frame, class, &scope);
            }
            "replicate" => self.replicate(job, work, model),
            "attach" => self.attach(&job, work, model),
            "joint" => {
                let a = model.classes.over(node, "joint", class);
                self.joint(&a, body, &frame, &scope, &model.compiler);
            }
            "freejoint" => {
                let a = Attributes::alone(node);
                let mut joint = RobotJoint::new(scope.full(a.name()), JointKind::Free);
                joint.group = a.integer("group").unwrap_or(0);
                a.ignore(&["user"]);
                if a.text("align") == Some("true") {
                    node.lost("`align` is not done: the frame of the body stays where it is");
                }
                self.add_joint(&a, body, joint);
            }
            "geom" => {
                let a = model.classes.over(node, "geom", class);
                self.geom(&a, body, &frame, &scope, model);
            }
            "site" => {
                let a = model.classes.over(node, "site", class);
                self.site(&a, body, &frame, &scope, model);
            }
            "inertial" => {
                let a = Attributes::alone(node);
                let given = self.inertial(&a, body, &frame, &model.compiler);
                if self.masses[body].given.is_some() {
                    a.error("this body has two `inertial`");
                }
                self.masses[body].given = Some(given);
            }
            "camera" => {
                let name = scope.full(node.text("name").unwrap_or_default());
                self.world.cameras.add(self.doc, &name, self.cameras, node.span());
                self.cameras += 1;
                schema::ignore(node);
            }
            "light" => schema::ignore(node),
            "flexcomp" | "composite" => {
                self.world.incomplete.set(true);
                schema::ignore(node);
                node.lost(format!("{} is not read: its bodies are missing", quote(node.name())));
            }
            "plugin" => {
                schema::ignore(node);
                node.lost("plugins are not read");
            }
            other => {
                schema::ignore(node);
                let known = [
                    "body",
                    "frame",
                    "replicate",
                    "attach",
                    "joint",
                    "freejoint",
                    "geom",
                    "site",
                    "inertial",
                    "camera",
                    "light",
                ];
                let message = format!("unknown element {} in a body", quote(other));
                let warning = self.doc.files.warning(node.span(), message);
                self.doc.lost(warning.with_suggestion(other, known));
            }
        }
    }

    fn body(
        &mut self,
        a: &Attributes<'a>,
        parent: usize,
        frame: &Pose,
        scope: &Scope,
        model: &Model<'a>,
    ) -> usize {
        let mut body = RobotBody::new(scope.full(a.name()), RobotBodyId(parent));
        body.pose = frame.then(&a.pose(&model.compiler));
        body.gravity_compensation = a.number("gravcomp").unwrap_or(0.0);
        body.mocap = a.switch("mocap").unwrap_or(false);
        a.ignore(&["user", "childclass"]);
        let index = self.robot.bodies.len();
        self.world.bodies.add(self.doc, &body.name, RobotBodyId(index), a.span());
        self.robot.bodies.push(body);
        self.masses.push(Masses { given: None, geoms: Vec::new(), span: a.span(), model: scope.model });
        index
    }

    fn replicate(&mut self, job: Job<'a>, work: &mut Vec<Job<'a>>, model: &Model<'a>) {
        let a = Attributes::alone(job.node);
        let Some(count) = a.integer("count") else {
            if a.own("count").is_none() {
                a.error("`replicate` needs the attribute `count`");
            }
            return;
        };
        let offset = a.vector("offset").unwrap_or_else(Vec3::zeros);
        let angles: [f64; 3] = a.array("euler").unwrap_or_default();
        let separator = a.text("sep").unwrap_or_default();
        let (i, pose) = job.replica.unwrap_or((0, Pose::identity()));
        if i >= count {
            if count < 0 {
                a.error(format!("`count` is {count}; it must not be negative"));
            }
            return;
        }
        let width = count.to_string().len();
        let scope = Rc::new(Scope {
            model: job.scope.model,
            prefix: job.scope.prefix.clone(),
            suffix: format!("{separator}{i:0width$}{}", job.scope.suffix),
            instance: job.scope.instance,
            around: Some(job.scope.clone()),
        });
        self.instances[scope.instance].copies.push(scope.clone());
        // Copy i is turned by i times the angles, and stands an offset away from the copy before it, in that one's axes.
        let turn = model.compiler.euler(angles.map(|angle| (i + 1) as f64 * angle));
        let next = Pose::new(pose.point(&offset), turn);
        let frame = job.frame.then(&pose);
        let (node, body, class) = (job.node, job.body, job.class);
        work.push(Job { replica: Some((i + 1, next)), ..job });
        self.push_children(work, node, body, frame, class, &scope);
    }

    fn attach(&mut self, job: &Job<'a>, work: &mut Vec<Job<'a>>, model: &Model<'a>) {
        let a = Attributes::alone(job.node);
        let prefix = a.text("prefix").unwrap_or_default();
        let (Some(name), Some(body)) = (job.node.required("model"), job.node.required("body")) else {
            return;
        };
        let Some(&other) = model.attached.get(&name.value) else {
            let message = format!("there is no model asset called {}", quote(&name.value));
            let error = self.doc.files.error(name.value_span, message);
            self.doc.push(error.with_suggestion(&name.value, model.attached.keys().map(String::as_str)));
            return;
        };
        let models = self.models;
        let source = &models[other];
        let key = (other, body.value.clone());
        let found = match self.attachable.get(&key) {
            Some(found) => *found,
            None => {
                let found = self.find_body(source, &body.value);
                self.attachable.insert(key, found);
                found
            }
        };
        let Some((node, class)) = found else {
            let message = format!("model {} has no body called {}", quote(&name.value), quote(&body.value));
            self.doc.error(body.value_span, message);
            return;
        };
        let prefix = format!("{}{prefix}", job.scope.prefix);
        if prefix.len() > 1000 {
            a.error("models attach each other without end");
            return;
        }
        let (suffix, instance) = (job.scope.suffix.clone(), self.instances.len());
        let scope = Rc::new(Scope { model: other, prefix, suffix, instance, around: None });
        self.instances.push(Instance { scope: scope.clone(), copies: Vec::new() });
        work.push(Job { node, replica: None, body: job.body, frame: job.frame, class, scope });
    }

    /// The body of a model, and the class that its parents give to it.
    fn find_body(&self, source: &Model<'a>, name: &str) -> Option<(Node<'a>, ClassId)> {
        let mut search: Vec<(Node<'a>, ClassId)> =
            source.root.named("worldbody").map(|node| (node, Classes::MAIN)).collect();
        while let Some((node, class)) = search.pop() {
            let class = self.child_class(node, class, source);
            if node.name() == "body" && node.text("name") == Some(name) {
                return Some((node, class));
            }
            search.extend(node.children().map(|child| (child, class)));
        }
        None
    }

    fn joint(&mut self, a: &Attributes<'a>, body: usize, frame: &Pose, scope: &Scope, compiler: &Compiler) {
        let kinds = [
            ("free", JointKind::Free),
            ("ball", JointKind::Ball),
            ("slide", JointKind::Slider),
            ("hinge", JointKind::Hinge),
        ];
        let kind = a.keyword("type", &kinds).unwrap_or(JointKind::Hinge);
        let mut joint = RobotJoint::new(scope.full(a.name()), kind);
        let angle = |x: f64| match kind {
            JointKind::Hinge | JointKind::Ball => compiler.radians(x),
            _ => x,
        };
        joint.anchor = frame.point(&a.vector("pos").unwrap_or_else(Vec3::zeros));
        let axis = a.vector("axis").unwrap_or_else(Vec3::z);
        match axis.try_normalize(1e-15) {
            Some(unit) => joint.axis = frame.rotation * unit,
            None if matches!(kind, JointKind::Hinge | JointKind::Slider) => {
                a.error(format!("the axis of joint {} has length zero", quote(a.name())));
            }
            None => {}
        }
        let range = a.array::<2>("range").map(|range| range.map(angle));
        let limited = a.limited("limited");
        joint.limits = match kind {
            JointKind::Free => None,
            _ => a.range("joint", limited, range, compiler),
        };
        joint.limit_margin = angle(a.number("margin").unwrap_or(0.0));
        joint.limit_softness = softness(a, "solreflimit", "solimplimit");
        joint.friction_softness = softness(a, "solreffriction", "solimpfriction");
        joint.reference = angle(a.number("ref").unwrap_or(0.0));
        joint.spring_reference = angle(a.number("springref").unwrap_or(0.0));
        joint.stiffness = linear(a, "stiffness");
        joint.damping = linear(a, "damping");
        joint.armature = a.size("armature").unwrap_or(0.0);
        joint.friction_loss = a.size("frictionloss").unwrap_or(0.0);
        let force = a.array::<2>("actuatorfrcrange");
        joint.effort_limits = a.range("actuatorfrcrange", a.limited("actuatorfrclimited"), force, compiler);
        joint.actuator_gravity_compensation = a.switch("actuatorgravcomp").unwrap_or(false);
        joint.group = a.integer("group").unwrap_or(0);
        a.ignore(&["user"]);
        if a.filled("springdamper").is_some() {
            a.node.lost("`springdamper` is not done: give stiffness and damping");
        }
        self.add_joint(a, body, joint);
    }

    fn add_joint(&mut self, a: &Attributes<'a>, body: usize, joint: RobotJoint) {
        let list = &self.robot.bodies[body].joints;
        let name = if joint.name.is_empty() { "this joint".into() } else { quote(&joint.name) };
        let free = joint.kind == JointKind::Free;
        if body == 0 {
            a.error(format!("{name} is a joint of the world, which does not move"));
            return;
        }
        if free && self.robot.bodies[body].parent.0 != 0 {
            a.error(format!(
                "{name} is free, but its body hangs on another: only children of the world float"
            ));
            return;
        }
        if !list.is_empty() && (free || list.iter().any(|other| other.kind == JointKind::Free)) {
            a.error(format!("{name} shares its body with a free joint, which already moves in every way"));
            return;
        }
        self.world.joints.add(self.doc, &joint.name, (body, list.len()), a.span());
        self.robot.bodies[body].joints.push(joint);
    }

    fn inertial(&self, a: &Attributes<'a>, body: usize, frame: &Pose, compiler: &Compiler) -> Inertial {
        let pose = frame.then(&a.pose(compiler));
        let mass = match a.filled("mass") {
            Some(_) => a.number("mass").unwrap_or(0.0),
            None => {
                a.error("`inertial` needs the attribute `mass`");
                0.0
            }
        };
        let turn = matrix(&pose.rotation);
        let diagonal = a.vector("diaginertia");
        let full = a.array::<6>("fullinertia");
        let inertia = match (diagonal, full) {
            (Some(d), None) => Mat3::from_diagonal(&d),
            (None, Some([xx, yy, zz, xy, xz, yz])) => Mat3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz),
            (Some(_), Some(_)) => {
                a.error("`diaginertia` and `fullinertia` are both given");
                Mat3::zeros()
            }
            (None, None) => Mat3::zeros(),
        };
        let inertia = turn * inertia * turn.transpose();
        let inertia = 0.5 * (inertia + inertia.transpose());
        let given = Inertial { mass, center: pose.position, inertia };
        // Bounds and balance mend it later on.
        if compiler.balance_inertia || compiler.least_inertia > 0.0 || compiler.least_mass > 0.0 {
            return given;
        }
        weigh::checked(self.doc, a.span(), &self.robot.bodies[body].name, given, self.options.inertia)
    }

    /// Gives all bodies their masses.
    fn weigh(&mut self) {
        for (body, masses) in self.robot.bodies.iter_mut().zip(&self.masses).skip(1) {
            let compiler = &self.models[masses.model].compiler;
            let from_geoms = match compiler.from_geoms {
                FromGeoms::Always => masses.given.is_none() || !masses.geoms.is_empty(),
                FromGeoms::Never => false,
                FromGeoms::Auto => masses.given.is_none(),
            };
            let mut inertial =
                if from_geoms { sum(self.doc, masses, compiler) } else { masses.given.unwrap_or_default() };
            if compiler.least_mass > 0.0 {
                inertial.mass = inertial.mass.max(compiler.least_mass);
            }
            if compiler.least_inertia > 0.0 || compiler.balance_inertia {
                bound(&mut inertial, compiler);
                let policy = InertiaPolicy::Warn;
                inertial = weigh::checked(self.doc, masses.span, &body.name, inertial, policy);
            }
            body.inertial = inertial;
        }
        if let Some(wanted) = self.models[0].compiler.total_mass {
            let total = self.robot.total_mass();
            if total > 0.0 {
                for body in &mut self.robot.bodies[1..] {
                    body.inertial.mass *= wanted / total;
                    body.inertial.inertia *= wanted / total;
                }
            }
        }
    }
}

/// The geoms of a body together.
fn sum(doc: &Document, masses: &Masses, compiler: &Compiler) -> Inertial {
    let [low, high] = compiler.group_range;
    let mut parts: Vec<Inertial> = Vec::new();
    for weight in &masses.geoms {
        if !(low..=high).contains(&f64::from(weight.group)) {
            continue;
        }
        match &weight.inertial {
            Ok(part) if part.mass > 1e-15 => parts.push(*part),
            Ok(_) => {}
            Err(reason) => {
                let error =
                    doc.files.error(weight.span, format!("the mass of this geom is unknown: {reason}"));
                doc.push(error.with_help("give the body an `inertial`, or the geom `mass=\"0\"`"));
            }
        }
    }
    let mass: f64 = parts.iter().map(|part| part.mass).sum();
    if !(mass > 0.0) {
        return Inertial::default();
    }
    if let [one] = parts[..] {
        return one;
    }
    let center = parts.iter().map(|part| part.mass * part.center).sum::<Vec3>() / mass;
    let about = |part: &Inertial| {
        let d = part.center - center;
        part.inertia + part.mass * (Mat3::from_diagonal_element(d.norm_squared()) - d * d.transpose())
    };
    Inertial { mass, center, inertia: parts.iter().map(about).sum() }
}

/// `boundinertia` and `balanceinertia`.
fn bound(inertial: &mut Inertial, compiler: &Compiler) {
    let (mut moments, axes) = symmetric_eigen(&inertial.inertia);
    moments = moments.map(|moment| moment.max(compiler.least_inertia));
    let largest = moments.max();
    if compiler.balance_inertia && 2.0 * largest > moments.sum() {
        moments = Vec3::repeat(moments.mean());
    }
    inertial.inertia = axes * Mat3::from_diagonal(&moments) * axes.transpose();
}

/// How soft a constraint is.
pub(super) fn softness(a: &Attributes<'_>, reference: &str, impedance: &str) -> ContactSoftness {
    let start = ContactSoftness::default();
    ContactSoftness { solref: a.up_to(reference, start.solref), solimp: a.up_to(impedance, start.solimp) }
}

/// A coefficient; MuJoCo 4 allows a polynomial, of which the first is kept.
pub(super) fn linear(a: &Attributes<'_>, key: &str) -> f64 {
    let Some(([first, rest @ ..], _)) = a.some::<3>(key) else { return 0.0 };
    if rest.iter().any(|&x| x != 0.0) {
        a.node.lost(format!("only the linear part of {} is kept", quote(key)));
    }
    if first < 0.0 {
        a.error(format!("{} is {first}; it must not be negative", quote(key)));
    }
    first
}
