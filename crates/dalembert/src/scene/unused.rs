//! What a scene says and its method does not do.
//!
//! What would change the motion is refused. What is only without effect, and what passes through each other, is among the
//! warnings. All of it is found here, in the scene as it was written, before the build makes other things of it.

use std::collections::BTreeSet;

use super::diagnostics::Diagnostics;
use super::names::name_of;
use super::{ContactRule, RobotItem, Scene, build_touch};
use crate::bodies::Shape;
use crate::bodies::articulated::description::RobotIntegrator;
use crate::check::{StableStep, critical_step, mass_ratio, stability_limit, unstable_step};
use crate::contact::Collide;
use crate::model::Model;
use crate::state::State;
use crate::step::Method;

/// What a rule of contact says that silences the warnings about what does not touch.
const MEANT: &str = "a rule of contact between them with `enabled = false` takes this as meant";

/// Notes everything of this kind.
pub(super) fn note(scene: &Scene, notes: &mut Diagnostics) {
    refuse(scene, notes);
    rules(scene, notes);
    bodies(scene, notes);
    forces(scene, notes);
    strangers(scene, notes);
}

/// A larger ratio of masses leaves fewer than seven digits to the light one.
const MOST_RATIO: f64 = 1e9;

/// Warns if joints hold masses so unequal that the light ones lose most of their digits.
pub(super) fn masses(model: &Model, notes: &mut Diagnostics) {
    let Some(found) = mass_ratio(model).filter(|m| m.ratio > MOST_RATIO) else { return };
    notes.at_last_of(&[&found.lightest]);
    let why = "beyond 10^9 the light one loses most of its digits";
    notes.warn(
        "name",
        format!(
            "joints hold `{}` and `{}`, whose masses are as {:.3e} to 1: {why}",
            found.heaviest, found.lightest, found.ratio
        ),
    );
}

/// Warns of a step that is too long for forces that the method takes at its start.
pub(super) fn steps(method: &Method, model: &Model, state: &State, dt: f64, notes: &mut Diagnostics) {
    let name = method.name();
    let mut told = |longest: f64, what: &str| {
        notes.at("", 0, "");
        let why = "which takes its forces at the start of a step: the motion will explode";
        let way = "a shorter dt or the method `implicit` or `ipc` would help";
        notes.warn(
            "dt",
            format!("dt = {dt} s is longer than {longest:.3e} s, the stability limit of {what} under `{name}`, {why}; {way}"),
        );
    };
    if let Some(StableStep { longest, stiffest }) = unstable_step(method, model, state, dt) {
        told(longest, &format!("`{stiffest}`"));
    }
    // The critical step is that of symplectic Euler, whose limit of h ω is 2.
    let limit = stability_limit(method).filter(|_| matches!(method, Method::Explicit(_)));
    let joints = limit.and_then(|limit| Some(0.5 * limit * critical_step(model, state)?));
    if let Some(longest) = joints.filter(|h| *h < dt) {
        told(longest, "spring-damper joints");
    }
}

fn in_touch(method: &Method) -> bool {
    !matches!(method, Method::Explicit(_) | Method::Implicit(_))
}

/// Refuses what would change the motion if it were left out.
fn refuse(scene: &Scene, notes: &mut Diagnostics) {
    let method = scene.method.name();
    let ipc = matches!(scene.method, Method::Ipc(_));
    if ipc {
        let why = "the method `ipc` does not hold it; `lagrange` and `impulse` do";
        for (k, bead) in scene.bead.iter().enumerate() {
            notes.at("bead", k, &bead.name);
            notes.error("", why);
        }
        for (k, constraint) in scene.constraint.iter().enumerate() {
            notes.at("constraint", k, &constraint.name);
            notes.error("", why);
        }
    } else {
        for (k, item) in scene.articulation.iter().enumerate() {
            notes.at("articulation", k, &item.name);
            notes.error("", format!("articulations are for the method `ipc`, not for `{method}`"));
        }
    }
    if !in_touch(&scene.method) {
        for (k, joint) in scene.joint.iter().enumerate().filter(|(_, j)| j.break_force.is_some()) {
            notes.at("joint", k, &joint.name);
            notes.error(
                "break_force",
                format!("joints do not break under `{method}`; they do under `impulse` and `lagrange`"),
            );
        }
    }
    if matches!(scene.method, Method::Ipc(_) | Method::Lagrange(_)) {
        for (k, ground) in scene.ground.iter().enumerate().filter(|(_, g)| g.belt.norm() > 0.0) {
            notes.at("ground", k, &ground.name);
            notes.error("belt", format!("grounds stand still under `{method}`; belts run under `impulse`"));
        }
    }
    for (k, set) in scene.push.iter().enumerate() {
        if set.torque.norm() > 0.0 && set.on.is_empty() {
            notes.at("push", k, &set.name);
            notes.error("on", "a torque needs the names of the bodies that it turns");
        }
    }
}

/// Keys of rules of contact.
fn rules(scene: &Scene, notes: &mut Diagnostics) {
    let method = scene.method.name();
    let touch = in_touch(&scene.method);
    let solid: BTreeSet<&str> =
        scene.rigid.iter().filter(|b| b.shape == Shape::Point).map(|b| &*b.name).collect();
    let bare: BTreeSet<&str> =
        scene.particles.iter().filter(|set| set.radius.is_none()).map(|set| &*set.name).collect();
    for (k, rule) in scene.contact.iter().enumerate() {
        notes.at("contact", k, "");
        let [a, b] = &rule.between;
        if !touch {
            if rule.enabled {
                let why = "nothing touches under this method; `ipc`, `impulse` and `lagrange` have contact";
                notes.warn(
                    "",
                    format!("the rule between `{a}` and `{b}` has no effect under `{method}`: {why}"),
                );
            }
            known(scene, rule, notes);
            continue;
        }
        let nonzero = |x: Option<f64>| x.filter(|x| *x != 0.0);
        let damping = Some(rule.damping).filter(|x| *x != 0.0);
        let soft: [(&str, Option<f64>, &[&str]); 5] = [
            ("restitution", rule.restitution, &["ipc"]),
            ("torsional_friction", nonzero(rule.torsional_friction), &["ipc", "lagrange"]),
            ("rolling_friction", nonzero(rule.rolling_friction), &["ipc", "lagrange"]),
            ("stiffness", rule.stiffness, &["ipc", "lagrange"]),
            ("damping", damping, &["ipc", "lagrange"]),
        ];
        for (key, value, without) in soft {
            let Some(value) = value.filter(|_| without.contains(&method)) else { continue };
            let able =
                if without.contains(&"lagrange") { "`impulse` does" } else { "`impulse` and `lagrange` do" };
            notes.warn(
                key,
                format!("{key} = {value} between `{a}` and `{b}` has no effect: `{method}` does not use it, {able}"),
            );
        }
        if method == "impulse" && rule.stiffness.is_none() && rule.damping != 0.0 {
            let value = rule.damping;
            notes.warn(
                "damping",
                format!("damping = {value} between `{a}` and `{b}` has no effect without `stiffness`"),
            );
        }
        if !rule.enabled {
            continue;
        }
        for name in rule.between.iter().map(String::as_str) {
            if solid.contains(name) {
                notes.warn("between", format!("`{name}` touches nothing: it has no shape"));
            } else if bare.contains(name) && method != "ipc" {
                let way =
                    if method == "impulse" { "give it a `radius`" } else { "make it a `[[rigid]]` sphere" };
                notes.warn("between", format!("`{name}` touches nothing under `{method}`: {way}"));
            }
        }
    }
}

/// Names of rules that no other part of the build looks at.
fn known(scene: &Scene, rule: &ContactRule, notes: &mut Diagnostics) {
    let names = || {
        (scene.rigid.iter().map(|b| &b.name))
            .chain(scene.affine.iter().map(|b| &b.name))
            .chain(scene.soft.iter().map(|b| &b.name))
            .chain(scene.cloth.iter().map(|b| &b.name))
            .chain(scene.rod.iter().map(|b| &b.name))
            .chain(scene.particles.iter().map(|b| &b.name))
            .chain(scene.robot.iter().map(|b| &b.name))
    };
    for name in rule.between.iter().filter(|name| *name != "*") {
        let own = name.split('/').next().unwrap_or_default();
        if names().all(|known| known != own) {
            let message = format!("names `{name}`, which the scene does not have");
            notes.misspelt("between", message, Some((name.clone(), names().cloned().collect())));
        }
    }
}

fn is_mesh(shape: &Shape) -> bool {
    match shape {
        Shape::Mesh(_) | Shape::Shell(_) => true,
        Shape::Compound(parts) => parts.iter().any(|(_, part)| is_mesh(part)),
        _ => false,
    }
}

/// Keys of bodies, robots, joints and the scene.
fn bodies(scene: &Scene, notes: &mut Diagnostics) {
    let method = scene.method.name();
    let hulls = matches!(scene.method, Method::Impulse(_) | Method::Lagrange(_));
    let takes = match &scene.method {
        Method::Ipc(_) => "meshes touch with their own triangles",
        _ => "nothing touches under this method",
    };
    for (k, body) in scene.rigid.iter().enumerate().filter(|(_, b)| b.collide != Collide::Automatic) {
        notes.at("rigid", k, &body.name);
        if !hulls {
            notes.warn("collide", format!("has no effect under `{method}`: {takes}"));
        } else if !is_mesh(&body.shape) {
            notes.warn("collide", "has no effect: only meshes collide as something else than they are");
        }
    }
    for (k, robot) in scene.robot.iter().enumerate() {
        notes.at("robot", k, &robot.name);
        if robot.collide != Collide::Automatic && !matches!(scene.method, Method::Impulse(_)) {
            let takes = match &scene.method {
                Method::Ipc(_) => "closed meshes touch with their own triangles, others with their hulls",
                _ => "robots touch nothing under this method",
            };
            notes.warn("collide", format!("has no effect under `{method}`: {takes}"));
        }
        if let Method::Ipc(settings) = &scene.method {
            ipc_robot(scene, robot, settings.friction, notes);
        }
        let without = matches!(scene.method, Method::Explicit(_) | Method::Lagrange(_));
        if without && robot.robot.touches() && !is_off(scene, &robot.name, &robot.name) {
            let why = "`impulse` and `ipc` have contact of robots";
            let meant = "a rule of contact with `enabled = false` takes this as meant";
            notes.warn("", format!("`{}` touches nothing under `{method}`: {why}; {meant}", robot.name));
        }
        let integrates = matches!(scene.method, Method::Impulse(_) | Method::Ipc(_));
        if robot.integrator != RobotIntegrator::Discrete && !integrates {
            let why = "robots go by the integrator of the method";
            notes.warn("integrator", format!("has no effect under `{method}`: {why}"));
        }
    }
    if !in_touch(&scene.method) {
        for (k, joint) in scene.joint.iter().enumerate().filter(|(_, j)| j.collide) {
            notes.at("joint", k, &joint.name);
            notes.warn(
                "collide",
                format!("has no effect under `{method}`: nothing touches under this method"),
            );
        }
    }
    let exact = matches!(scene.method, Method::Impulse(_) | Method::Lagrange(_));
    if scene.assemble && !exact {
        notes.at("", 0, "");
        notes.warn(
            "assemble",
            format!("has no effect under `{method}`; it has under `impulse` and `lagrange`"),
        );
    }
    for (k, set) in scene.particles.iter().enumerate() {
        let Some(radius) = set.radius.filter(|r| *r > 0.0) else { continue };
        notes.at("particles", k, &set.name);
        let why = match &scene.method {
            Method::Ipc(_) => "particles touch as points",
            Method::Explicit(_) | Method::Implicit(_) => "nothing touches under this method",
            Method::Lagrange(_) if !build_touch::is_on(scene) => "particles touch nothing under this method",
            _ => continue,
        };
        notes.warn("radius", format!("a radius of {radius} m has no effect under `{method}`: {why}"));
    }
}

/// What a robot's file says of contact and `ipc` takes from elsewhere.
fn ipc_robot(scene: &Scene, item: &RobotItem, friction: f64, notes: &mut Diagnostics) {
    let robot = &item.robot;
    if robot.options.disables("contact") {
        return;
    }
    let said = |rule: &ContactRule| {
        let own = |name: &String| name == "*" || name.split('/').next() == Some(&item.name);
        rule.friction.is_some() && rule.between.iter().any(own)
    };
    // Where the scene names a coefficient it has chosen one.
    let rough = robot.geoms().map(|(_, g)| g).find(|g| !g.is_visual() && g.friction[0] > 0.0);
    if let Some(geom) = rough.filter(|_| friction == 0.0 && !scene.contact.iter().any(said)) {
        let own = geom.friction[0];
        notes.warn(
            "",
            format!(
                "the friction of its geoms (such as {own}) is not used under `ipc`: `friction` of `[ipc]` ({friction}) and rules of contact are"
            ),
        );
    }
    if !robot.contact_pairs.is_empty() {
        notes.warn("", "its explicit pairs of geoms are not used under `ipc`; rules of contact are");
    }
}

/// Forces that act on nothing, or not on what they seem to.
fn forces(scene: &Scene, notes: &mut Diagnostics) {
    let none =
        scene.particles.is_empty() && scene.soft.is_empty() && scene.cloth.is_empty() && scene.rod.is_empty();
    if none {
        let mut idle = |table, k, name: &str, on: &[String]| {
            if on.is_empty() {
                notes.at(table, k, name);
                let why = "it acts on all particles, and the scene has none; name bodies in `on`";
                notes.warn("", format!("has no effect: {why}"));
            }
        };
        scene.attractor.iter().enumerate().for_each(|(k, s)| idle("attractor", k, &s.name, &s.on));
        scene.obstacle.iter().enumerate().for_each(|(k, s)| idle("obstacle", k, &s.name, &s.on));
        let pushes = scene.push.iter().enumerate().filter(|(_, s)| s.torque.norm() == 0.0);
        pushes.for_each(|(k, s)| idle("push", k, &s.name, &s.on));
        scene.drag.iter().enumerate().for_each(|(k, s)| idle("drag", k, &s.name, &s.on));
        scene.pair_force.iter().enumerate().for_each(|(k, s)| idle("pair_force", k, &s.name, &s.on));
        return;
    }
    let solid = scene.rigid.iter().map(|b| &b.name).chain(scene.affine.iter().map(|b| &b.name));
    let solid: Vec<&str> = solid.map(String::as_str).collect();
    if solid.is_empty() {
        return;
    }
    for (k, set) in scene.obstacle.iter().enumerate().filter(|(_, set)| set.on.is_empty()) {
        notes.at("obstacle", k, &set.name);
        let through = quoted(&solid);
        notes.warn(
            "",
            format!("pushes particles only: {through} pass through it; what it names in `on` it pushes at its centre"),
        );
    }
}

/// Something with a shape or a surface.
struct Thing<'a> {
    table: &'static str,
    index: usize,
    name: &'a str,
    /// Its own body, not nodes or particles.
    solid: bool,
}

/// Everything that could touch, robots aside, and that no joint holds.
fn things(scene: &Scene) -> Vec<Thing<'_>> {
    let ends = scene.joint.iter().flat_map(|j| &j.between);
    let held: BTreeSet<&str> = ends.map(|end| name_of(end)).collect();
    let mut out = Vec::new();
    let mut add = |table, solid, index, name| out.push(Thing { table, index, name, solid });
    let solid = scene.rigid.iter().enumerate().filter(|(_, b)| b.shape != Shape::Point);
    solid.for_each(|(k, b)| add("rigid", true, k, &*b.name));
    scene.affine.iter().enumerate().for_each(|(k, b)| add("affine", true, k, &*b.name));
    scene.soft.iter().enumerate().for_each(|(k, b)| add("soft", false, k, &*b.name));
    scene.cloth.iter().enumerate().for_each(|(k, b)| add("cloth", false, k, &*b.name));
    scene.rod.iter().enumerate().for_each(|(k, b)| add("rod", false, k, &*b.name));
    let round = scene.particles.iter().enumerate().filter(|(_, set)| set.radius.is_some());
    round.for_each(|(k, set)| add("particles", false, k, &*set.name));
    out.retain(|thing| !held.contains(thing.name));
    out
}

/// True if the last rule about two things says that they pass through each other.
fn is_off(scene: &Scene, a: &str, b: &str) -> bool {
    let fits = |rule: &&ContactRule| {
        let [x, y] = &rule.between;
        let one = |rule: &str, name: &str| rule == "*" || rule == name;
        (one(x, a) && one(y, b)) || (one(x, b) && one(y, a))
    };
    scene.contact.iter().rfind(fits).is_some_and(|rule| !rule.enabled)
}

/// Most things that are looked at pair by pair.
const MOST_PAIRED: usize = 100;

/// The things that pass through another of them, by `meets`, and are not said to.
fn through<'a>(
    scene: &Scene,
    things: &'a [Thing<'a>],
    meets: impl Fn(&Thing<'_>, &Thing<'_>) -> bool,
) -> Vec<&'a Thing<'a>> {
    let many = &things[..things.len().min(MOST_PAIRED)];
    let mut passes = vec![false; many.len()];
    for (i, a) in many.iter().enumerate() {
        for (j, b) in many.iter().enumerate().skip(i + 1) {
            if meets(a, b) && !is_off(scene, a.name, b.name) {
                (passes[i], passes[j]) = (true, true);
            }
        }
    }
    things.iter().enumerate().filter(|(i, _)| *passes.get(*i).unwrap_or(&passes[0])).map(|(_, t)| t).collect()
}

/// Names as a sentence has them, the first three of many.
fn quoted(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(3).map(|name| format!("`{name}`")).collect();
    match (names.len(), &shown[..]) {
        (0, _) => String::new(),
        (1..=3, [rest @ .., last]) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        (1..=3, _) => shown.concat(),
        (n, _) => format!("{} and {} more", shown.join(", "), n - 3),
    }
}

/// Pairs that pass through each other though nobody said so.
fn strangers(scene: &Scene, notes: &mut Diagnostics) {
    let things = things(scene);
    let method = scene.method.name();
    let mut tell = |found: &[&Thing<'_>], verb: &str, why: &str| {
        let Some(last) = found.last() else { return };
        let names: Vec<&str> = found.iter().map(|t| t.name).collect();
        notes.at(last.table, last.index, last.name);
        notes.warn("", format!("{} {verb} under `{method}`: {why}; {MEANT}", quoted(&names)));
    };
    match &scene.method {
        Method::Ipc(_) => {}
        Method::Explicit(_) | Method::Implicit(_) => {
            let found = through(scene, &things, |_, _| true);
            let why = "nothing touches under this method; `ipc`, `impulse` and `lagrange` have contact";
            tell(&found, "do not touch", why);
        }
        Method::Lagrange(_) => {
            let on = build_touch::is_on(scene);
            let found = through(scene, &things, |a, b| !(on && a.solid && b.solid));
            let why = "only rigid bodies and grounds touch, and only where there are no robots; `ipc` lets all touch";
            tell(&found, "do not touch", why);
            for thing in things.iter().filter(|t| !t.solid && t.table != "particles") {
                let grounds: Vec<&str> = scene.ground.iter().map(|g| &*g.name).collect();
                let grounds: Vec<&str> =
                    grounds.into_iter().filter(|g| !is_off(scene, g, thing.name)).collect();
                if !grounds.is_empty() {
                    let mut both = vec![thing.name];
                    both.extend(grounds);
                    notes.at(thing.table, thing.index, thing.name);
                    let why = "only rigid bodies touch grounds; `impulse` and `ipc` let it touch";
                    notes
                        .warn("", format!("{} do not touch under `lagrange`: {why}; {MEANT}", quoted(&both)));
                }
            }
        }
        Method::Impulse(_) => {
            let found = through(scene, &things, |a, b| !a.solid && !b.solid);
            let why = "soft things and particles touch rigid bodies, robots and grounds, not each other; `ipc` lets them";
            tell(&found, "do not touch each other", why);
            if !build_touch::is_on(scene) {
                let found = through(scene, &things, |a, b| a.solid != b.solid);
                let why = "the scene has neither a ground nor a rule of contact; `between = [\"*\", \"*\"]` in `[[contact]]` lets them";
                tell(&found, "do not touch", why);
            }
            for (k, set) in scene.particles.iter().enumerate() {
                let several = set.radius.is_some_and(|r| r > 0.0) && set.arrangement.count() > 1;
                if several && !is_off(scene, &set.name, &set.name) {
                    notes.at("particles", k, &set.name);
                    let why = "they touch rigid bodies, robots and grounds";
                    notes.warn(
                        "radius",
                        format!(
                            "the particles of `{}` do not touch each other under `impulse`: {why}; {MEANT}",
                            set.name
                        ),
                    );
                }
            }
        }
    }
}
