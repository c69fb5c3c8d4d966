//! Under the method `impulse`: shapes of bodies, grounds and robots become colliders.
//!
//! Things touch if the scene has a ground or at least one rule of contact (`between = ["*", "*"]` says nothing but
//! "touch"). Without either, bodies that no joint holds touch each other and all else, geoms of robots touch as their files
//! say, and bodies among joints pass through each other: the links of a mechanism on paper cross in one plane.

use std::collections::{BTreeMap, BTreeSet};

use super::diagnostics::Diagnostics;
use super::joint::Stiffness;
use super::prescribed::PrescribedBody;
use super::{ContactRule, Scene};
use crate::bodies::Shape;
use crate::bodies::articulated::description::{GeomShape, RobotGeom};
use crate::collide::rigid::{Collider, Geometry, WORLD};
use crate::contact::{Collide, Filled};
use crate::contact::{ColliderOwner, Compliance, Material, PairRule, RigidContactModel};
use crate::filters::Filters;
use crate::joints::JointKind;
use crate::math::rotation::exp;
use crate::math::{Pose, Quat, Vec3};
use crate::model::NamedRobot;
use crate::state::{Block, BlockKind};
use crate::step::Method;

/// What is known of joints before they are taken apart.
pub(super) struct Joined {
    /// Names of bodies that do not touch each other.
    apart: Vec<[String; 2]>,
    /// Names of bodies that are fixed to the world.
    held: Vec<String>,
    /// Numbers of bodies with prescribed motion: what stands or has prescribed motion itself is not in their way.
    moved: Vec<u32>,
    /// Names of bodies that pass through each other because nothing was said of contact.
    silent: BTreeSet<String>,
}

/// Looks at the joints of a scene whose bodies touch.
pub(super) fn joined(scene: &Scene, told: &[PrescribedBody]) -> Option<Joined> {
    if !matches!(scene.method, Method::Impulse(_) | Method::Lagrange(_)) {
        return None;
    }
    let silent = if is_asked(scene) { BTreeSet::new() } else { among_joints(scene)? };
    let apart = scene.joint.iter().filter(|j| !j.collide).map(|j| j.between.clone()).collect();
    let fixed = scene
        .joint
        .iter()
        .filter(|j| j.kind == JointKind::Fixed && j.stiffness == Stiffness::Hard && j.break_force.is_none());
    let held = fixed.filter_map(|j| match &j.between {
        [a, b] if a == "world" => Some(b.clone()),
        [a, b] if b == "world" => Some(a.clone()),
        _ => None,
    });
    let (moved, still): (Vec<&PrescribedBody>, Vec<&PrescribedBody>) =
        told.iter().partition(|told| told.motion.is_some());
    let stays = still.iter().map(|told| scene.rigid[told.body as usize].name.clone());
    let held = held.chain(stays).collect();
    Some(Joined { apart, held, moved: moved.iter().map(|told| told.body).collect(), silent })
}

/// True if the scene says something of contact.
fn is_asked(scene: &Scene) -> bool {
    !(scene.ground.is_empty() && scene.contact.is_empty())
}

/// True if anything touches in a scene of `impulse` or `lagrange`.
pub(super) fn is_on(scene: &Scene) -> bool {
    is_asked(scene) || among_joints(scene).is_some()
}

/// Names of the bodies among joints, in a scene that says nothing of contact; `None` if there is nothing beside them that
/// could touch.
fn among_joints(scene: &Scene) -> Option<BTreeSet<String>> {
    let held = scene.constraint.iter().flat_map(|c| &c.points).map(|(name, _)| name);
    let ends = scene.joint.iter().flat_map(|j| &j.between).chain(held);
    let names: BTreeSet<String> =
        ends.map(|end| end.split('[').next().unwrap_or_default().to_owned()).collect();
    let solid: Vec<_> = scene.rigid.iter().filter(|b| b.shape != Shape::Point).collect();
    let free = solid.iter().any(|b| !names.contains(&b.name));
    // Under `lagrange` robots and particles touch nothing.
    let impulse = matches!(scene.method, Method::Impulse(_));
    let others = scene.robot.len() + scene.particles.iter().filter(|set| set.radius.is_some()).count();
    let enough = if impulse { solid.len() + others > 1 } else { others == 0 && solid.len() > 1 };
    let robots = impulse && scene.robot.iter().any(|item| item.robot.touches());
    ((free && enough) || robots).then_some(names)
}

/// Number of a name in a list that grows.
#[derive(Default)]
pub(super) struct Labels {
    list: Vec<String>,
    number: BTreeMap<String, u32>,
}

impl Labels {
    pub(super) fn of(&mut self, name: &str) -> u32 {
        if let Some(n) = self.number.get(name) {
            return *n;
        }
        let n = self.list.len() as u32;
        self.list.push(name.to_owned());
        self.number.insert(name.to_owned(), n);
        n
    }
}

/// Meshes that fill their hulls to this part count as convex.
const FULL: f64 = 0.95;

/// A model of contact while it is put together.
pub(super) struct Maker<'a> {
    rules: &'a [ContactRule],
    pub(super) out: RigidContactModel,
    names: Labels,
    /// Which of the names in rules fit, per class.
    classes: Vec<Vec<bool>>,
    /// All names that rules mention.
    mentioned: Vec<&'a str>,
}

impl<'a> Maker<'a> {
    fn new(scene: &'a Scene) -> Self {
        let mut mentioned: Vec<&str> =
            scene.contact.iter().flat_map(|r| &r.between).map(String::as_str).filter(|n| *n != "*").collect();
        mentioned.sort_unstable();
        mentioned.dedup();
        let out = RigidContactModel { length: f64::INFINITY, ..RigidContactModel::default() };
        Self { rules: &scene.contact, out, names: Labels::default(), classes: Vec::new(), mentioned }
    }

    /// The class of what goes by these names.
    pub(super) fn class(&mut self, names: &[&str]) -> u32 {
        let fits: Vec<bool> = self.mentioned.iter().map(|m| names.contains(m)).collect();
        let place = self.classes.iter().position(|c| *c == fits).unwrap_or_else(|| {
            self.classes.push(fits);
            self.classes.len() - 1
        });
        place as u32
    }

    /// The number of a material, made if there is none like it.
    pub(super) fn material(&mut self, material: Material) -> u32 {
        let list = &mut self.out.materials;
        let place = list.iter().position(|m| *m == material).unwrap_or_else(|| {
            list.push(material);
            list.len() - 1
        });
        place as u32
    }

    /// Adds a collider under a name.
    pub(super) fn add(&mut self, name: &str, collider: Collider) {
        if !matches!(collider.shape, Geometry::HalfSpace) {
            let size = collider.shape.bounds(&Pose::identity(), 0.0);
            let diagonal = (0..3).map(|k| (size.high[k] - size.low[k]).powi(2)).sum::<f64>().sqrt();
            if diagonal > 0.0 && diagonal.is_finite() {
                self.out.length = self.out.length.min(diagonal);
            }
        }
        self.out.colliders.push(collider);
        let owner = self.names.of(name);
        self.out.name_of.push(owner);
    }

    /// Tells of meshes whose hollows are filled.
    fn note_filled(filled: &[Filled], notes: &mut Diagnostics) {
        let hollow: Vec<&Filled> = filled.iter().filter(|f| f.part < FULL).collect();
        let Some(least) = hollow.iter().map(|f| f.part).reduce(f64::min) else { return };
        let what = match (least > 0.0, hollow.len()) {
            (false, _) => String::from("its sheet collides as a solid, its convex hull"),
            (true, 1) => format!("its mesh collides as its convex hull, {:.3} times its volume", 1.0 / least),
            (true, n) => {
                format!(
                    "{n} of its meshes collide as convex hulls, up to {:.3} times their volume",
                    1.0 / least
                )
            }
        };
        let way = "`collide = \"decomposition\"` keeps hollows by several hulls, `\"surface\"` by triangles, `\"hull\"` takes this as meant";
        notes.warn("shape", format!("{what}: {way}"));
    }

    fn finish(mut self) -> RigidContactModel {
        let n = self.classes.len().max(1);
        let mut rules = vec![PairRule::default(); n * n];
        for rule in self.rules {
            let fits = |name: &str, class: usize| {
                let place = self.mentioned.iter().position(|m| *m == name);
                name == "*" || place.is_some_and(|p| self.classes.get(class).is_some_and(|c| c[p]))
            };
            for a in 0..n {
                for b in 0..n {
                    let [x, y] = &rule.between;
                    if (fits(x, a) && fits(y, b)) || (fits(x, b) && fits(y, a)) {
                        apply(rule, &mut rules[a * n + b]);
                    }
                }
            }
        }
        let out = &mut self.out;
        (out.classes, out.rules, out.names) = (n, rules, self.names.list);
        if !out.length.is_finite() {
            out.length = 1.0;
        }
        out.excluded.sort_unstable();
        out.excluded.dedup();
        out.pairs.sort_by_key(|p| p.0);
        self.out
    }
}

fn apply(rule: &ContactRule, out: &mut PairRule) {
    out.off = !rule.enabled;
    out.friction = rule.friction.or(out.friction);
    out.restitution = rule.restitution.or(out.restitution);
    out.torsional_friction = rule.torsional_friction.or(out.torsional_friction);
    out.rolling_friction = rule.rolling_friction.or(out.rolling_friction);
    let gains = rule.stiffness.map(|kp| Compliance::Gains { kp, kd: rule.damping });
    out.compliance = gains.or(out.compliance);
}

/// The turn that takes z to a unit vector.
fn upright(normal: &Vec3) -> Quat {
    let axis = Vec3::z().cross(normal);
    let (sine, cosine) = (axis.norm(), normal.z);
    match axis.try_normalize(1e-300) {
        Some(axis) => exp(&(axis * sine.atan2(cosine))),
        None if cosine < 0.0 => exp(&(Vec3::x() * std::f64::consts::PI)),
        None => Quat::identity(),
    }
}

/// The constant part of contact; mistakes are noted.
pub(super) fn touch_model(
    scene: &Scene,
    joined: &Joined,
    blocks: &[Block],
    shapes: &[Shape],
    filters: &Filters,
    robots: &[&NamedRobot],
    notes: &mut Diagnostics,
) -> Option<RigidContactModel> {
    let settings = match &scene.method {
        Method::Impulse(m) => (m.friction, m.restitution),
        Method::Lagrange(m) => {
            // Rules that only let things pass ask for nothing that could not be done.
            let asked = !scene.ground.is_empty() || scene.contact.iter().any(|rule| rule.enabled);
            for (k, robot) in robots.iter().enumerate().filter(|_| asked) {
                notes.at("robot", k, &robot.name);
                notes.error("", "robots touch nothing under `lagrange`; they do under `impulse`");
            }
            for (k, set) in scene.particles.iter().enumerate().filter(|(_, set)| set.radius.is_some()) {
                notes.at("particles", k, &set.name);
                let way = "leave `radius` out, use the method `impulse`, or make it a `[[rigid]]` sphere";
                notes.error("radius", format!("particles touch nothing under `lagrange`: {way}"));
            }
            (m.friction, m.restitution)
        }
        _ => return None,
    };
    check(scene, blocks, robots, notes);
    let mut maker = Maker::new(scene);
    (maker.out.friction, maker.out.restitution) = settings;
    note_bounces(scene, settings.1, notes);
    // Free bodies of robots' files touch with the geoms of their files, below.
    let described: BTreeSet<&str> =
        robots.iter().flat_map(|r| &r.whole).flat_map(|whole| &whole.names).map(String::as_str).collect();
    let mut part_of: BTreeMap<&str, u32> = BTreeMap::new();
    for (k, block) in blocks.iter().filter(|b| b.kind == BlockKind::Rigid).enumerate() {
        notes.at("rigid", k, &block.name);
        part_of.insert(&block.name, k as u32);
        maker.out.owners.push(ColliderOwner::Rigid(k as u32));
        maker.out.held.push(joined.held.contains(&block.name));
        if described.contains(block.name.as_str()) {
            continue;
        }
        let mut list = Vec::new();
        let moves = !joined.held.contains(&block.name);
        let collide = scene.rigid.get(k).map(|b| b.collide).unwrap_or_default();
        let filled = shapes[k].colliders(&Pose::identity(), moves, &collide, &mut list);
        if collide == Collide::Automatic {
            Maker::note_filled(&filled, notes);
        }
        let class = maker.class(&[&block.name]);
        let material = maker.material(Material { class, kinds: [1, 1], ..Material::default() });
        let (group, mask) =
            if joined.silent.contains(&block.name) { (JOINTED, !JOINTED) } else { (1, u32::MAX) };
        for (pose, shape) in list {
            let own = Collider::new(k as u32, shape).at(pose);
            maker.add(&block.name, Collider { material, group, mask, ..own });
        }
    }
    for (k, g) in scene.ground.iter().enumerate() {
        notes.at("ground", k, &g.name);
        notes.finite3("point", &g.point);
        notes.finite3("belt", &g.belt);
        let Some(normal) = g.normal.try_normalize(1e-300) else {
            notes.error("normal", "is no direction");
            continue;
        };
        let class = maker.class(&[&g.name]);
        let belt = g.belt - normal * normal.dot(&g.belt);
        let material = maker.material(Material { class, belt, kinds: [1, 1], ..Material::default() });
        let place = Pose::new(g.point, upright(&normal));
        maker.add(&g.name, Collider { material, ..Collider::new(WORLD, Geometry::HalfSpace).at(place) });
    }
    add_particles(scene, blocks, filters, &mut maker, notes);
    let impulse = matches!(scene.method, Method::Impulse(_));
    for (k, robot) in robots.iter().enumerate().filter(|_| impulse) {
        notes.at("robot", k, &robot.name);
        super::build_touch_robot::add_robot(k as u32, robot, &part_of, &mut maker, notes);
    }
    for [a, b] in &joined.apart {
        let part = |name: &str| match name {
            "world" => Some(WORLD),
            name => part_of.get(name.split('[').next().unwrap_or_default()).copied(),
        };
        // A body that hangs on the world still touches the ground.
        if let (Some(a), Some(b)) = (part(a), part(b))
            && a != WORLD
            && b != WORLD
        {
            maker.out.excluded.push((a.min(b), a.max(b)));
        }
    }
    let held = (0..).zip(&maker.out.held).filter(|(_, held)| **held).map(|(body, _)| body);
    let others: Vec<u32> = held.chain(joined.moved.iter().copied()).chain([WORLD]).collect();
    for &body in &joined.moved {
        let pairs = others.iter().filter(|other| **other != body);
        maker.out.excluded.extend(pairs.map(|&other| (body.min(other), body.max(other))));
    }
    Some(maker.finish())
}

/// Bit of the groups of particles: they touch all but each other.
const PARTICLES: u32 = 2;
/// The same for bodies among joints in a scene that says nothing of contact.
const JOINTED: u32 = 4;

/// Particles with a radius as balls that do not turn. Those that filters hold stand still for what touches them.
fn add_particles(
    scene: &Scene,
    blocks: &[Block],
    filters: &Filters,
    maker: &mut Maker,
    notes: &mut Diagnostics,
) {
    for (k, set) in scene.particles.iter().enumerate() {
        let Some(radius) = set.radius else { continue };
        notes.at("particles", k, &set.name);
        let block = blocks.iter().find(|b| b.kind == BlockKind::Particles && b.name == set.name);
        let (true, Some(block)) = (notes.not_negative("radius", radius), block) else { continue };
        let class = maker.class(&[&set.name]);
        let material = maker.material(Material { class, kinds: [1, 1], ..Material::default() });
        for i in block.points.clone() {
            let body = maker.out.owners.len() as u32;
            maker.out.owners.push(ColliderOwner::Particle(i as u32));
            maker.out.held.push(filters.block(i).is_some());
            let ball = Collider::new(body, Geometry::Sphere { radius });
            maker.add(&set.name, Collider { material, group: PARTICLES, mask: !PARTICLES, ..ball });
        }
    }
}

/// Planes nearer than this are one \[m\].
const SAME_PLANE: f64 = 1e-3;

/// Warns of grounds of the scene that lie in a floor of a robot's file.
pub(super) fn note_floors(scene: &Scene, notes: &mut Diagnostics) {
    if !matches!(scene.method, Method::Impulse(_) | Method::Ipc(_)) {
        return;
    }
    for (k, ground) in scene.ground.iter().enumerate() {
        let Some(normal) = ground.normal.try_normalize(1e-300) else { continue };
        let same = |geom: &&RobotGeom| {
            matches!(geom.shape, GeomShape::Plane { .. })
                && !geom.is_visual()
                && (geom.pose.rotation * Vec3::z()).dot(&normal) > 1.0 - 1e-9
                && (geom.pose.position - ground.point).dot(&normal).abs() < SAME_PLANE
        };
        for item in scene.robot.iter().filter(|item| !item.robot.options.disables("contact")) {
            let world = item.robot.bodies.first();
            let Some(floor) = world.and_then(|world| world.geoms.iter().find(same)) else { continue };
            notes.at("ground", k, &ground.name);
            notes.warn(
                "",
                format!(
                    "ground `{}` lies in the floor `{}` that robot `{}` brings from its file: what touches one touches both; leave one out",
                    ground.name, floor.name, item.name
                ),
            );
        }
    }
}

/// Tells of bounces that are faster than what came.
fn note_bounces(scene: &Scene, restitution: f64, notes: &mut Diagnostics) {
    let why = "each bounce is faster than the impact, as of a pinball bumper, and energy grows; 1 keeps it";
    if restitution > 1.0 {
        let method = scene.method.name();
        notes.at("", 0, "");
        notes.warn("restitution", format!("`{method}` has a restitution of {restitution}: {why}"));
    }
    for (k, rule) in scene.contact.iter().enumerate() {
        if let Some(e) = rule.restitution.filter(|e| *e > 1.0) {
            let [a, b] = &rule.between;
            notes.at("contact", k, "");
            notes.warn(
                "restitution",
                format!("the contact of `{a}` and `{b}` has a restitution of {e}: {why}"),
            );
        }
    }
}

fn check(scene: &Scene, blocks: &[Block], robots: &[&NamedRobot], notes: &mut Diagnostics) {
    let names = |out: &mut Vec<String>| {
        out.extend(blocks.iter().filter(|b| b.kind != BlockKind::Mapped).map(|b| b.name.clone()));
        out.extend(scene.ground.iter().map(|g| g.name.clone()));
        for named in robots {
            out.push(named.name.clone());
            let bodies = &named.robot.description.bodies;
            out.extend(bodies.iter().map(|b| format!("{}/{}", named.name, b.name)));
        }
    };
    let mut known = Vec::new();
    names(&mut known);
    for (k, rule) in scene.contact.iter().enumerate() {
        notes.at("contact", k, "");
        for (key, value) in [
            ("friction", rule.friction),
            ("restitution", rule.restitution),
            ("torsional_friction", rule.torsional_friction),
            ("rolling_friction", rule.rolling_friction),
            ("damping", Some(rule.damping)),
        ] {
            if let Some(value) = value {
                notes.not_negative(key, value);
            }
        }
        if let Some(kp) = rule.stiffness {
            notes.positive("stiffness", kp);
        }
        for name in rule.between.iter().filter(|n| *n != "*" && !known.contains(n)) {
            let message = format!("names `{name}`, which the scene does not have");
            notes.misspelt("between", message, Some((name.clone(), known.clone())));
        }
    }
}
