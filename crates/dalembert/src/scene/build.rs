//! From what was written to a model and a first state.
//!
//! In order: numbers of the scene, points (particles, then carried ones), forces, filters, expectations. Each part
//! notes its mistakes and goes on, so that a user sees all of them at once.

use std::ops::Range;
use std::sync::Arc;

use super::{Arrangement, BuildError, MOST_POINTS, Masses, Place, Reach, Scene, SceneError, Velocities};
use crate::bodies::Particles;
use crate::filters::{Filters, Motion};
use crate::forces::Force;
use crate::forces::nary::{AngularSpring, AngularSprings, Spring, Springs};
use crate::forces::spatial::{AllPairs, NearPairs, PairLaw};
use crate::forces::unary::{Attraction, Attractor, Drag, Gravity, Push};
use crate::mapping::{Identity, Mapping, Subset};
use crate::math::{Vec3, set_triple};
use crate::model::{
    Block, BlockKind, Layout, Model, NamedForce, PointId, PointSet, Quantity, State, split_index,
};
use crate::step::{Method, Simulation, StepReport, Workspace};

/// A name that was not found, and the names that exist.
type Misspelt = Option<(String, Vec<String>)>;

/// Mistakes found so far, and where the next ones belong.
#[derive(Default)]
struct Notes {
    errors: Vec<SceneError>,
    table: &'static str,
    index: usize,
    name: String,
}

/// More than this many mistakes help nobody.
const MOST_ERRORS: usize = 20;

impl Notes {
    fn at(&mut self, table: &'static str, index: usize, name: &str) {
        (self.table, self.index, self.name) = (table, index, name.to_string());
    }

    fn error(&mut self, key: &'static str, message: impl Into<String>) {
        self.misspelt(key, message, None);
    }

    fn misspelt(&mut self, key: &'static str, message: impl Into<String>, names: Misspelt) {
        if self.errors.len() < MOST_ERRORS {
            let place = Place { table: self.table, index: self.index, key, name: self.name.clone() };
            self.errors.push(SceneError { place, message: message.into(), misspelt: names });
        }
    }

    fn finite(&mut self, key: &'static str, x: f64) -> bool {
        if !x.is_finite() {
            self.error(key, format!("must be finite, but is {x}"));
        }
        x.is_finite()
    }

    fn finite3(&mut self, key: &'static str, x: &Vec3) -> bool {
        x.iter().all(|x| self.finite(key, *x))
    }

    fn not_negative(&mut self, key: &'static str, x: f64) -> bool {
        if self.finite(key, x) && x < 0.0 {
            self.error(key, format!("must not be negative, but is {x}"));
        }
        x >= 0.0
    }

    fn positive(&mut self, key: &'static str, x: f64) -> bool {
        if self.finite(key, x) && x <= 0.0 {
            self.error(key, format!("must be greater than zero, but is {x}"));
        }
        x > 0.0
    }
}

/// Points of the scene by name.
#[derive(Default)]
struct Names {
    sets: Vec<(String, Range<usize>)>,
    particles: usize,
}

impl Names {
    /// Points of one text such as `rope[3]`.
    fn points(&self, text: &str) -> Result<Range<usize>, (String, Misspelt)> {
        let (name, index) = split_index(text).map_err(|m| (m, None))?;
        let Some((_, range)) = self.sets.iter().find(|(n, _)| n == name) else {
            let known = self.sets.iter().map(|(n, _)| n.clone()).collect();
            let message = format!("names `{name}`, which the scene does not have");
            return Err((message, Some((name.to_string(), known))));
        };
        let within = index.within(range.len(), name).map_err(|m| (m, None))?;
        Ok(range.start + within.start..range.start + within.end)
    }

    /// Points of several texts, in the order given.
    fn list(&self, notes: &mut Notes, key: &'static str, texts: &[String]) -> Vec<usize> {
        let mut out = Vec::new();
        for text in texts {
            match self.points(text) {
                Ok(range) => out.extend(range),
                Err((message, names)) => notes.misspelt(key, message, names),
            }
        }
        out
    }

    /// Points of several texts; all particles if none is given.
    fn set(&self, notes: &mut Notes, key: &'static str, texts: &[String]) -> PointSet {
        if texts.is_empty() {
            return PointSet::range(0..self.particles);
        }
        PointSet::new(self.list(notes, key, texts))
    }

    /// Exactly one point.
    fn one(&self, notes: &mut Notes, key: &'static str, text: &str) -> Option<PointId> {
        match self.points(text) {
            Ok(range) if range.len() == 1 => Some(PointId(range.start as u32)),
            Ok(range) => {
                let n = range.len();
                notes.error(key, format!("`{text}` means {n} points; one is needed, such as `{text}[0]`"));
                None
            }
            Err((message, names)) => {
                notes.misspelt(key, message, names);
                None
            }
        }
    }
}

/// Points and inertia, once known.
struct Points {
    layout: Layout,
    blocks: Vec<Block>,
    names: Names,
    masses: Vec<f64>,
    x: Vec<Vec3>,
    v: Vec<Vec3>,
    mappings: Vec<Box<dyn Mapping>>,
}

pub(super) fn build(scene: Scene) -> Result<Simulation, BuildError> {
    let mut notes = Notes::default();
    numbers(&scene, &mut notes);
    let points = match points(&scene, &mut notes) {
        Some(points) => points,
        None => return Err(BuildError { errors: notes.errors }),
    };
    let filters = filters(&scene, &points, &mut notes);
    let Scene { title, method, dt, expect, .. } = &scene;
    let (title, method, dt, expect) = (title.clone(), method.clone(), *dt, expect.clone());
    let forces = forces(scene, &points, &mut notes);
    if !notes.errors.is_empty() {
        return Err(BuildError { errors: notes.errors });
    }

    let Points { layout, blocks, masses, x, v, mappings, .. } = points;
    let mut state = State::new(&layout);
    for i in 0..layout.particles {
        set_triple(&mut state.q[layout.points_q()..], i, &x[i]);
        set_triple(&mut state.v[layout.points_v()..], i, &v[i]);
    }
    let particles = Particles::new(&masses, layout.points);
    let model = Model { title, layout, blocks, particles, mappings, forces, filters };
    model.settle(&mut state);
    expectations(&expect, &model, &mut notes);
    if !notes.errors.is_empty() {
        return Err(BuildError { errors: notes.errors });
    }
    let start_energy = model.energy(&state);
    Ok(Simulation {
        model: Arc::new(model),
        state,
        workspace: Workspace::new(),
        method,
        dt,
        report: StepReport::default(),
        start_energy,
    })
}

fn numbers(scene: &Scene, notes: &mut Notes) {
    notes.at("", 0, "");
    notes.positive("dt", scene.dt);
    notes.not_negative("duration", scene.duration);
    notes.finite3("gravity", &scene.gravity);
    if scene.dt > 0.0 && scene.duration / scene.dt > 1e12 {
        notes
            .error("dt", format!("{} s in steps of {} s is more than 10^12 steps", scene.duration, scene.dt));
    }
    match &scene.method {
        Method::Explicit(e) => {
            notes.positive("tolerance", e.tolerance);
            notes.positive("min_step", e.min_step);
        }
    }
    if scene.particles.is_empty() {
        notes.error("particles", "the scene is empty: it needs at least one set of particles");
    }
}

/// Particles and carried points; `None` if their number cannot be known.
fn points(scene: &Scene, notes: &mut Notes) -> Option<Points> {
    let before = notes.errors.len();
    let mut names = Names::default();
    let mut total = 0usize;
    let name_it = |notes: &mut Notes, names: &Names, name: &str| {
        if name.is_empty() {
            notes.error("name", "needs a name");
        } else if name.contains(['[', ']', '.', ':']) || name.trim() != name {
            notes
                .error("name", format!("`{name}` must not contain `[`, `]`, `.`, `:` or blanks at its ends"));
        } else if ["energy", "momentum", "angular_momentum", "time", "world"].contains(&name) {
            notes.error("name", format!("`{name}` is reserved; choose another name"));
        } else if names.sets.iter().any(|(n, _)| n == name) {
            notes.error("name", format!("the name `{name}` is taken"));
        }
    };
    for (k, set) in scene.particles.iter().enumerate() {
        notes.at("particles", k, &set.name);
        name_it(notes, &names, &set.name);
        if let Some((key, message)) = set.arrangement.defect() {
            notes.error(key, message);
        }
        let n = set.arrangement.count();
        total = total.saturating_add(n);
        if total > MOST_POINTS {
            let message = format!("the scene grows to {total} particles; {MOST_POINTS} is the most");
            notes.error(arrangement_key(&set.arrangement), message);
            return None;
        }
        names.sets.push((set.name.clone(), total - n..total));
    }
    names.particles = total;
    if notes.errors.len() > before {
        return None;
    }
    let (mut masses, mut x, mut v) = (Vec::new(), Vec::new(), Vec::new());
    let mut blocks = Vec::new();
    for (k, set) in scene.particles.iter().enumerate() {
        notes.at("particles", k, &set.name);
        notes.finite3("position", &set.position);
        let n = set.arrangement.count();
        let first = x.len();
        // The place in the scene tells clouds apart; the odd factor keeps neighbouring seeds from meeting.
        let seed = scene.seed ^ (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x.extend(set.arrangement.positions(seed).iter().map(|x| x + set.position));
        set_masses(set, n, notes, &mut masses);
        match &set.velocity {
            Velocities::Each(one) => {
                notes.finite3("velocity", one);
                v.resize(first + n, *one);
            }
            Velocities::List(list) => {
                if list.len() != n {
                    notes.error("velocity", format!("{} velocities stand against {n} particles", list.len()));
                }
                let _ = list.iter().all(|v| notes.finite3("velocity", v));
                v.extend(list.iter().take(n));
                v.resize(first + n, Vec3::zeros());
            }
        }
        let range = 3 * first..3 * (first + n);
        blocks.push(Block {
            name: set.name.clone(),
            kind: BlockKind::Particles,
            q: range.clone(),
            v: range,
            points: first..first + n,
        });
    }
    let mut layout = Layout { nq: 3 * total, nv: 3 * total, particles: total, points: total };
    let parents = carried(scene, notes, &mut names, &mut layout, &mut blocks, name_it)?;
    let mut mappings: Vec<Box<dyn Mapping>> = Vec::new();
    for (list, first_child) in parents {
        let contiguous = list.windows(2).all(|w| w[1] == w[0] + 1);
        for &i in &list {
            let (xi, vi): (Vec3, Vec3) = (x[i], v[i]);
            x.push(xi);
            v.push(vi);
        }
        mappings.push(if contiguous {
            Box::new(Identity::new(layout, list[0]..list[0] + list.len(), first_child))
        } else {
            let ids = list.iter().map(|&i| PointId(i as u32)).collect();
            Box::new(Subset::new(layout, ids, first_child))
        });
    }
    Some(Points { layout, blocks, names, masses, x, v, mappings })
}

fn arrangement_key(a: &Arrangement) -> &'static str {
    match a {
        Arrangement::Positions(_) => "positions",
        Arrangement::Chain { .. } => "chain",
        Arrangement::Grid { .. } => "grid",
        Arrangement::Cloth { .. } => "cloth",
        Arrangement::Cloud { .. } => "cloud",
    }
}

fn set_masses(set: &super::ParticleSet, n: usize, notes: &mut Notes, masses: &mut Vec<f64>) {
    let first = masses.len();
    match &set.mass {
        Masses::Each(m) => {
            if notes.positive("mass", *m) {
                masses.resize(first + n, *m);
            }
        }
        Masses::Total(m) => {
            if notes.positive("total_mass", *m) {
                masses.resize(first + n, *m / n as f64);
            }
        }
        Masses::List(list) => {
            if list.len() != n {
                notes.error("mass", format!("{} masses stand against {n} particles", list.len()));
            } else if let Some(i) = list.iter().position(|m| !(m.is_finite() && *m > 0.0)) {
                notes.error("mass", format!("mass {i} must be greater than zero, but is {}", list[i]));
            } else {
                masses.extend(list);
            }
        }
    }
    if masses[first..].iter().any(|m| !(1.0 / m).is_finite()) {
        notes.error("mass", "is too small to divide by");
    }
    masses.resize(first + n, 1.0);
}

/// Parents of each carried set and its first child; grows the layout.
fn carried(
    scene: &Scene,
    notes: &mut Notes,
    names: &mut Names,
    layout: &mut Layout,
    blocks: &mut Vec<Block>,
    name_it: impl Fn(&mut Notes, &Names, &str),
) -> Option<Vec<(Vec<usize>, usize)>> {
    let before = notes.errors.len();
    let mut out = Vec::new();
    for (k, set) in scene.points.iter().enumerate() {
        notes.at("points", k, &set.name);
        name_it(notes, names, &set.name);
        if set.of.is_empty() {
            notes.error("of", "needs the points that carry it");
        }
        let later = |text: &str| {
            let name = split_index(text).map_or(text, |(n, _)| n);
            scene.points[k..].iter().any(|p| p.name == name)
        };
        if let Some(text) = set.of.iter().find(|t| later(t)) {
            notes.error(
                "of",
                format!("`{text}` is defined here or later; carried points must follow what carries them"),
            );
            continue;
        }
        let list = names.list(notes, "of", &set.of);
        if layout.points + list.len() > MOST_POINTS {
            notes.error("of", format!("the scene grows beyond {MOST_POINTS} points"));
            return None;
        }
        let first = layout.points;
        layout.points += list.len();
        let range = 3 * first..3 * layout.points;
        names.sets.push((set.name.clone(), first..layout.points));
        blocks.push(Block {
            name: set.name.clone(),
            kind: BlockKind::Mapped,
            q: range.clone(),
            v: range,
            points: first..layout.points,
        });
        out.push((list, first));
    }
    (notes.errors.len() == before).then_some(out)
}

fn filters(scene: &Scene, points: &Points, notes: &mut Notes) -> Filters {
    let mut filters = Filters::default();
    let particles_only = |notes: &mut Notes, list: &[usize]| {
        if list.iter().any(|&i| i >= points.layout.particles) {
            notes.error("on", "names carried points; fix or move the particles that carry them");
            return false;
        }
        true
    };
    for (k, fix) in scene.fix.iter().enumerate() {
        notes.at("fix", k, "");
        let mut list = points.names.list(notes, "on", &fix.on);
        list.sort_unstable();
        let bad = |d: &Vec3| !d.iter().all(|x| x.is_finite()) || d.norm() == 0.0;
        if fix.on.is_empty() {
            notes.error("on", "names no points");
        }
        if let Some(d) = fix.directions.iter().find(|d| bad(d)) {
            notes.error("directions", format!("({}, {}, {}) is no direction", d.x, d.y, d.z));
        } else if particles_only(notes, &list) {
            list.iter().for_each(|&i| filters.forbid(i, &fix.directions));
        }
    }
    for (k, set) in scene.motion.iter().enumerate() {
        notes.at("motion", k, "");
        let list = points.names.list(notes, "on", &set.on);
        if set.on.is_empty() {
            notes.error("on", "names no points");
        }
        match &set.motion {
            Motion::Velocity(v) => {
                notes.finite3("velocity", v);
            }
            Motion::Signal { amplitude, signal } => {
                notes.finite3("amplitude", amplitude);
                if let Some(message) = signal.defect() {
                    notes.error("signal", message);
                }
            }
            Motion::Closure(_) => {}
        }
        if let Some(i) = list.iter().find(|&&i| filters.prescribed_points().any(|p| p == i)) {
            notes.error("on", format!("point {i} already moves as told by another entry"));
        } else if particles_only(notes, &list) {
            list.iter().for_each(|&i| filters.prescribe(i, points.x[i], set.motion.clone()));
        }
    }
    filters
}

fn forces(scene: Scene, points: &Points, notes: &mut Notes) -> Vec<NamedForce> {
    let mut out: Vec<NamedForce> = Vec::new();
    let names = &points.names;
    if scene.gravity != Vec3::zeros() {
        let force = Box::new(Gravity { acceleration: scene.gravity });
        out.push(NamedForce { name: "gravity".into(), force });
    }
    let mut push = |notes: &mut Notes, kind: &str, name: &str, force: Box<dyn Force>| {
        let taken = |n: &str| out.iter().any(|f| f.name == n);
        let unnamed = (1..).map(|k| if k == 1 { kind.to_string() } else { format!("{kind}{k}") });
        let name = if name.is_empty() {
            unnamed.into_iter().find(|n| !taken(n)).unwrap_or_default()
        } else {
            name.to_string()
        };
        if taken(&name) || ["kinetic", "potential", "total", "drift"].contains(&name.as_str()) {
            notes.error("name", format!("the name `{name}` is taken"));
        }
        out.push(NamedForce { name, force });
    };
    for (k, set) in scene.attractor.iter().enumerate() {
        notes.at("attractor", k, &set.name);
        notes.finite3("center", &set.center);
        match set.law {
            Attraction::Inverse { mu, softening } => {
                notes.finite("mu", mu);
                notes.not_negative("softening", softening);
            }
            Attraction::Spring { stiffness } => {
                notes.finite("stiffness", stiffness);
            }
        }
        let on = names.set(notes, "on", &set.on);
        if let Attraction::Inverse { softening: 0.0, .. } = set.law
            && let Some(i) = on.iter().find(|&i| points.x[i] == set.center)
        {
            notes.error(
                "center",
                format!("point {i} lies in the centre, where the force is infinite; give a softening"),
            );
        }
        push(notes, "attractor", &set.name, Box::new(Attractor { on, center: set.center, law: set.law }));
    }
    for (k, set) in scene.push.iter().enumerate() {
        notes.at("push", k, &set.name);
        notes.finite3("force", &set.force);
        if let Some(message) = set.signal.defect() {
            notes.error("signal", message);
        }
        let on = names.set(notes, "on", &set.on);
        push(notes, "push", &set.name, Box::new(Push { on, force: set.force, signal: set.signal.clone() }));
    }
    for (k, set) in scene.drag.iter().enumerate() {
        notes.at("drag", k, &set.name);
        notes.not_negative("linear", set.linear);
        notes.not_negative("quadratic", set.quadratic);
        notes.finite3("wind", &set.wind);
        let on = names.set(notes, "on", &set.on);
        let force = Drag { on, linear: set.linear, quadratic: set.quadratic, wind: set.wind };
        push(notes, "drag", &set.name, Box::new(force));
    }
    for (k, set) in scene.springs.iter().enumerate() {
        notes.at("springs", k, &set.name);
        let springs = springs(set, &scene.particles, points, notes);
        push(notes, "springs", &set.name, Box::new(Springs::new(springs)));
    }
    for (k, set) in scene.angular_springs.iter().enumerate() {
        notes.at("angular_springs", k, &set.name);
        let springs = angular_springs(set, &scene.particles, points, notes);
        push(notes, "angular_springs", &set.name, Box::new(AngularSprings { springs }));
    }
    for (k, set) in scene.pair_force.iter().enumerate() {
        notes.at("pair_force", k, &set.name);
        let on: Vec<u32> = names.set(notes, "on", &set.on).iter().map(|i| i as u32).collect();
        if let Some(force) = pair_force(set, on, notes) {
            push(notes, "pair_force", &set.name, force);
        }
    }
    for (k, set) in scene.custom.into_iter().enumerate() {
        notes.at("custom", k, &set.name);
        let list =
            if set.on.is_empty() { (0..names.particles).collect() } else { names.list(notes, "on", &set.on) };
        push(notes, "custom", &set.name, (set.make)(list));
    }
    out
}

/// Neighbours of a set by `along`, as global point numbers.
fn along<const K: usize>(
    name: &str,
    sets: &[super::ParticleSet],
    points: &Points,
    notes: &mut Notes,
    tuples: impl Fn(&Arrangement) -> Vec<[usize; K]>,
) -> Vec<[PointId; K]> {
    let Some(k) = sets.iter().position(|s| s.name == name) else {
        let known = sets.iter().map(|s| s.name.clone()).collect();
        let message = format!("names `{name}`, which is no set of particles of the scene");
        notes.misspelt("along", message, Some((name.to_string(), known)));
        return Vec::new();
    };
    let first = points.blocks[k].points.start;
    let out = tuples(&sets[k].arrangement);
    if out.is_empty() {
        notes.error("along", format!("`{name}` has no such neighbours"));
    }
    out.into_iter().map(|t| t.map(|i| PointId((first + i) as u32))).collect()
}

fn springs(
    set: &super::SpringSet,
    sets: &[super::ParticleSet],
    points: &Points,
    notes: &mut Notes,
) -> Vec<Spring> {
    notes.not_negative("stiffness", set.stiffness);
    notes.not_negative("damping", set.damping);
    if let Some(length) = set.rest_length {
        notes.not_negative("rest_length", length);
    }
    let mut ends = match &set.along {
        Some(name) => along(name, sets, points, notes, |a| a.edges(set.edges)),
        None => Vec::new(),
    };
    for [a, b] in &set.pairs {
        let (a, b) = (points.names.one(notes, "pairs", a), points.names.one(notes, "pairs", b));
        ends.extend(a.zip(b).map(|(a, b)| [a, b]));
    }
    if set.along.is_none() && set.pairs.is_empty() {
        notes.error("", "needs `along` or `pairs`");
    }
    let mut out = Vec::with_capacity(ends.len());
    for ends in ends {
        let [a, b] = ends.map(PointId::index);
        let length = (points.x[b] - points.x[a]).norm();
        if a == b {
            notes.error("pairs", format!("a spring joins {} with itself", describe(points, a)));
        } else if length == 0.0 {
            let message = format!(
                "the spring between {} and {} has no length, so its direction is undefined",
                describe(points, a),
                describe(points, b)
            );
            notes.error("", message);
        }
        let rest_length = set.rest_length.unwrap_or(length);
        out.push(Spring { ends, stiffness: set.stiffness, rest_length, damping: set.damping });
    }
    out
}

fn angular_springs(
    set: &super::AngularSpringSet,
    sets: &[super::ParticleSet],
    points: &Points,
    notes: &mut Notes,
) -> Vec<AngularSpring> {
    notes.not_negative("stiffness", set.stiffness);
    if let Some(angle) = set.rest_angle
        && !(0.0..=std::f64::consts::PI).contains(&angle)
    {
        notes.error("rest_angle", format!("must lie between 0 and π, but is {angle}"));
    }
    let mut triples = match &set.along {
        Some(name) => along(name, sets, points, notes, Arrangement::corners),
        None => Vec::new(),
    };
    for [a, b, c] in &set.triples {
        let ids = [a, b, c].map(|t| points.names.one(notes, "triples", t));
        if let [Some(a), Some(b), Some(c)] = ids {
            triples.push([a, b, c]);
        }
    }
    if set.along.is_none() && set.triples.is_empty() {
        notes.error("", "needs `along` or `triples`");
    }
    let mut out = Vec::with_capacity(triples.len());
    for points3 in triples {
        let [a, b, c] = points3.map(|i| points.x[i.index()]);
        let (u, w) = (a - b, c - b);
        if u.norm() == 0.0 || w.norm() == 0.0 {
            let middle = describe(points, points3[1].index());
            notes.error("", format!("an arm of the angle at {middle} has no length"));
        }
        // A straight line along a lattice is meant to be straight: rounding must not decide its rest angle.
        let angle = u.cross(&w).norm().atan2(u.dot(&w));
        let straight = std::f64::consts::PI - angle < 1e-7;
        let rest_angle = set.rest_angle.unwrap_or(if straight { std::f64::consts::PI } else { angle });
        out.push(AngularSpring { points: points3, stiffness: set.stiffness, rest_angle });
    }
    out
}

fn pair_force(set: &super::PairForce, on: Vec<u32>, notes: &mut Notes) -> Option<Box<dyn Force>> {
    let before = notes.errors.len();
    match &set.law {
        PairLaw::LennardJones { epsilon, sigma } => {
            notes.not_negative("epsilon", *epsilon);
            notes.positive("sigma", *sigma);
        }
        PairLaw::SoftRepulsion { stiffness, diameter } => {
            notes.not_negative("stiffness", *stiffness);
            notes.positive("diameter", *diameter);
        }
        PairLaw::Gravitation { constant, softening } => {
            notes.finite("constant", *constant);
            notes.not_negative("softening", *softening);
        }
        PairLaw::Custom(_) => {}
    }
    match set.reach {
        Reach::Within(radius) => {
            notes.positive("radius", radius);
            (notes.errors.len() == before)
                .then(|| Box::new(NearPairs::new(on, set.law.clone(), radius)) as Box<dyn Force>)
        }
        Reach::All => {
            const MOST: usize = 200_000;
            if on.len() > MOST {
                notes.error(
                    "",
                    format!("all pairs of {} points would take hours a step; give a radius", on.len()),
                );
            }
            (notes.errors.len() == before)
                .then(|| Box::new(AllPairs { on, law: set.law.clone() }) as Box<dyn Force>)
        }
    }
}

fn expectations(expect: &[super::Expectation], model: &Model, notes: &mut Notes) {
    for (k, e) in expect.iter().enumerate() {
        notes.at("expect", k, "");
        if e.quantity != "energy.drift"
            && let Err(unknown) = Quantity::parse(model, &e.quantity)
        {
            let word = e.quantity.rsplit('.').next().unwrap_or_default().to_string();
            notes.misspelt("quantity", unknown.to_string(), Some((word, unknown.candidates)));
        }
        notes.not_negative("tolerance", e.tolerance);
        if e.value.is_none() && e.below.is_none() && e.above.is_none() {
            notes.error("", "needs `value`, `below` or `above`");
        }
        for (key, x) in [("value", e.value), ("below", e.below), ("above", e.above)] {
            if let Some(x) = x {
                notes.finite(key, x);
            }
        }
    }
}

/// `rope[3]` for a point.
fn describe(points: &Points, i: usize) -> String {
    points.blocks.iter().find(|b| b.points.contains(&i)).map_or(format!("point {i}"), |b| {
        if b.points.len() == 1 {
            format!("`{}`", b.name)
        } else {
            format!("`{}[{}]`", b.name, i - b.points.start)
        }
    })
}
