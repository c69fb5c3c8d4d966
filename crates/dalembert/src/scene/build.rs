//! From what was written to a model and a first state.
//!
//! In order: numbers of the scene, points (particles, then carried ones), forces, filters, expectations. Each part
//! notes its mistakes and goes on, so that a user sees all of them at once.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::ObstacleItem;
use super::build_affine_joints;
use super::build_contact;
use super::build_coupling;
use super::build_deformable::{self, Expanded, Rest};
use super::build_free_bodies;
use super::build_mechanism::{self, Bodies};
use super::build_robot;
use super::build_told::{self, Told, name_of};
use super::build_touch;
use super::unused;
use super::{
    Arrangement, BuildError, Culprits, Edges, MOST_POINTS, Masses, Place, Reach, Scene, SceneError,
    Velocities, Warning,
};
use crate::bodies::{Generalized, Particles};
use crate::filters::{Filters, Motion};
use crate::forces::Force;
use crate::forces::nary::{AngularSpring, AngularSprings, Pressure, Spring, Springs};
use crate::forces::spatial::{AllPairs, NearPairs, PairLaw};
use crate::forces::unary::{Attraction, Attractor, Drag, Gravity, Obstacle, ObstacleShape, Penalty, Push};
use crate::joints::Body;
use crate::mapping::{GeneralizedPoints, Identity, Mapping, RigidPoints, Skinning, Subset, Weighted};
use crate::math::rotation::set_quaternion;
use crate::math::{Quat, Vec3, set_triple, triple};
use crate::mesh::{Region, Weights};
use crate::model::{Model, NamedForce, NamedRobot, Quantity, RobotPlace, Surface, split_index};
use crate::state::{Block, BlockKind, Layout, PointId, PointSet, State};
use crate::step::{Integrator, Method, Simulation, StepReport, Workspace};

/// A name that was not found, and the names that exist.
type Misspelt = Option<(String, Vec<String>)>;

/// Names that quantities use for themselves, and the world.
pub(super) const RESERVED: [&str; 6] = ["energy", "momentum", "angular_momentum", "time", "world", "joints"];

/// Mistakes found so far, and where the next ones belong.
#[derive(Default)]
pub(super) struct Notes {
    /// The first [`MOST_ERRORS`] of them.
    errors: Vec<SceneError>,
    /// All of them.
    pub(super) found: usize,
    /// The first [`MOST_WARNINGS`] things that are probably not meant.
    warnings: Vec<Warning>,
    /// All of those.
    warned: usize,
    /// Springs, filtered points and members of pair forces so far.
    elements: usize,
    /// What intersects or touches at the start.
    pub(super) culprits: Culprits,
    /// Where each thing that may touch was written, by name.
    written: BTreeMap<String, (&'static str, usize)>,
    table: &'static str,
    index: usize,
    name: String,
}

/// More than this many mistakes help nobody.
const MOST_ERRORS: usize = 20;
/// The same for warnings.
const MOST_WARNINGS: usize = 200;
/// Most springs, filtered points and members of pair forces together: a short scene must not fill the memory.
const MOST_ELEMENTS: usize = 8 * MOST_POINTS;

impl Notes {
    /// Counts elements before they are made; false if there are too many.
    fn room_for(&mut self, key: &'static str, count: usize) -> bool {
        self.elements = self.elements.saturating_add(count);
        let fits = self.elements <= MOST_ELEMENTS;
        if !fits {
            self.error(key, format!("the scene grows beyond {MOST_ELEMENTS} springs and members of forces"));
        }
        fits
    }

    fn refusal(self) -> BuildError {
        BuildError { errors: self.errors, culprits: self.culprits }
    }

    /// True if another mistake would not be told.
    fn is_full(&self) -> bool {
        self.errors.len() >= MOST_ERRORS
    }

    pub(super) fn at(&mut self, table: &'static str, index: usize, name: &str) {
        (self.table, self.index, self.name) = (table, index, name.to_string());
    }

    /// Writes down where things stand before the build makes others of them.
    fn list(&mut self, scene: &Scene) {
        let mut add = |table, names: Vec<&String>| {
            for (k, name) in names.into_iter().enumerate() {
                self.written.entry(name.clone()).or_insert((table, k));
            }
        };
        add("rigid", scene.rigid.iter().map(|b| &b.name).collect());
        add("affine", scene.affine.iter().map(|b| &b.name).collect());
        add("soft", scene.soft.iter().map(|b| &b.name).collect());
        add("cloth", scene.cloth.iter().map(|b| &b.name).collect());
        add("rod", scene.rod.iter().map(|b| &b.name).collect());
        add("particles", scene.particles.iter().map(|b| &b.name).collect());
        add("robot", scene.robot.iter().map(|b| &b.name).collect());
    }

    /// Turns to the last written of these bodies; to the scene if none was written by that name. A link of a robot stands
    /// where the robot does.
    pub(super) fn at_last_of(&mut self, names: &[&str]) {
        let find = |name: &&str| {
            let own = self.written.get(*name).or_else(|| self.written.get(name.split('/').next()?));
            own.map(|&(table, k)| (table, k, name.to_string()))
        };
        let last = names.iter().filter_map(find).next_back();
        (self.table, self.index, self.name) = last.unwrap_or_default();
    }

    pub(super) fn error(&mut self, key: &'static str, message: impl Into<String>) {
        self.misspelt(key, message, None);
    }

    /// Notes what is probably not meant, or what the method does not do. It goes on to [`Model::warnings`].
    pub(super) fn warn(&mut self, key: &'static str, message: impl Into<String>) {
        self.warned += 1;
        if self.warnings.len() < MOST_WARNINGS {
            let place = Place { table: self.table, index: self.index, key, name: self.name.clone() };
            self.warnings.push(Warning { place, message: message.into() });
        }
    }

    /// The warnings, and how many there are beyond them.
    fn take_warnings(&mut self) -> Vec<Warning> {
        let mut out = std::mem::take(&mut self.warnings);
        let more = self.warned - out.len();
        if more > 0 {
            let message = format!("there are {more} more warnings");
            out.push(Warning { place: Place::default(), message });
        }
        out
    }

    pub(super) fn misspelt(&mut self, key: &'static str, message: impl Into<String>, names: Misspelt) {
        self.found += 1;
        if !self.is_full() {
            let place = Place { table: self.table, index: self.index, key, name: self.name.clone() };
            self.errors.push(SceneError { place, message: message.into(), misspelt: names });
        }
    }

    pub(super) fn finite(&mut self, key: &'static str, x: f64) -> bool {
        if !x.is_finite() {
            self.error(key, format!("must be finite, but is {x}"));
        }
        x.is_finite()
    }

    pub(super) fn finite3(&mut self, key: &'static str, x: &Vec3) -> bool {
        x.iter().all(|x| self.finite(key, *x))
    }

    pub(super) fn not_negative(&mut self, key: &'static str, x: f64) -> bool {
        if self.finite(key, x) && x < 0.0 {
            self.error(key, format!("must not be negative, but is {x}"));
        }
        x >= 0.0
    }

    pub(super) fn positive(&mut self, key: &'static str, x: f64) -> bool {
        if self.finite(key, x) && x <= 0.0 {
            self.error(key, format!("must be greater than zero, but is {x}"));
        }
        x > 0.0
    }
}

/// Points of the scene by name.
#[derive(Default)]
pub(super) struct Names {
    /// Place of each name in the list of blocks, and its points.
    sets: BTreeMap<String, (usize, Range<usize>)>,
    particles: usize,
    /// Rigid bodies.
    rigid: BTreeSet<String>,
    /// Affine bodies, whose first point is their centre of mass.
    affine: BTreeSet<String>,
}

impl Names {
    pub(super) fn add(&mut self, name: &str, points: Range<usize>) {
        let place = self.sets.len();
        self.sets.insert(name.to_string(), (place, points));
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.sets.contains_key(name)
    }

    /// Texts without those that name rigid bodies.
    fn without_bodies(&self, texts: &[String]) -> Vec<String> {
        texts.iter().filter(|text| !self.rigid.contains(name_of(text))).cloned().collect()
    }

    /// The text of the point that a force on `text` acts at: of an affine body its centre of mass.
    fn pushed(&self, text: &str) -> String {
        if self.affine.contains(text) { format!("{text}[0]") } else { text.to_string() }
    }

    /// The same for several.
    fn all_pushed(&self, texts: &[String]) -> Vec<String> {
        texts.iter().map(|text| self.pushed(text)).collect()
    }

    /// Points of one text such as `rope[3]`; a text that names none is noted under `key`.
    fn points(&self, notes: &mut Notes, key: &'static str, text: &str) -> Option<Range<usize>> {
        let found = split_index(text).and_then(|(name, index)| match self.sets.get(name) {
            Some((_, range)) => {
                let within = index.within(range.len(), name)?;
                Ok(Some(range.start + within.start..range.start + within.end))
            }
            None => {
                let message = format!("names `{name}`, which the scene does not have");
                let known = || self.sets.keys().chain(&self.rigid).cloned().collect();
                let known = if notes.is_full() { Vec::new() } else { known() };
                notes.misspelt(key, message, Some((name.to_string(), known)));
                Ok(None)
            }
        });
        found.unwrap_or_else(|message| {
            notes.error(key, message);
            None
        })
    }

    /// Points of several texts, one by one, in the order given.
    pub(super) fn list(&self, notes: &mut Notes, key: &'static str, texts: &[String]) -> Vec<usize> {
        let ranges: Vec<_> = texts.iter().filter_map(|text| self.points(notes, key, text)).collect();
        let total = ranges.iter().fold(0, |sum: usize, r| sum.saturating_add(r.len()));
        if total > MOST_POINTS {
            notes.error(key, format!("names {total} points; {MOST_POINTS} is the most"));
            return Vec::new();
        }
        ranges.into_iter().flatten().collect()
    }

    /// Points of several texts; all particles if none is given.
    fn set(&self, notes: &mut Notes, key: &'static str, texts: &[String]) -> PointSet {
        if texts.is_empty() {
            return PointSet::range(0..self.particles);
        }
        PointSet::from_ranges(texts.iter().filter_map(|text| self.points(notes, key, text)))
    }

    /// Exactly one point; `others` are names that would do as well.
    pub(super) fn one_or(
        &self,
        notes: &mut Notes,
        key: &'static str,
        text: &str,
        others: &[String],
    ) -> Option<PointId> {
        let name = split_index(text).map_or(text, |(n, _)| n);
        if self.sets.contains_key(name) {
            return self.one(notes, key, text);
        }
        let known = others.iter().chain(self.sets.keys()).cloned().collect();
        notes.misspelt(
            key,
            format!("names `{name}`, which the scene does not have"),
            Some((name.to_string(), known)),
        );
        None
    }

    /// Exactly one point.
    fn one(&self, notes: &mut Notes, key: &'static str, text: &str) -> Option<PointId> {
        let range = self.points(notes, key, text)?;
        if range.len() != 1 {
            let name = text.split('[').next().unwrap_or_default();
            let n = range.len();
            notes.error(key, format!("`{text}` means {n} points; one is needed, such as `{name}[0]`"));
            return None;
        }
        Some(PointId(range.start as u32))
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
    bodies: Bodies,
    generalized: Vec<Arc<Generalized>>,
    /// u and u̇ of the generalized bodies.
    coordinates: (Vec<f64>, Vec<f64>),
}

pub(super) fn build(mut scene: Scene) -> Result<Simulation, BuildError> {
    let mut notes = Notes::default();
    notes.list(&scene);
    numbers(&scene, &mut notes);
    unused::note(&scene, &mut notes);
    let mut whole = build_free_bodies::free_bodies(&mut scene, &mut notes);
    build_touch::note_floors(&scene, &mut notes);
    // Robots of `ipc` become affine links.
    let mut robots = Vec::new();
    if matches!(scene.method, Method::Ipc(_)) {
        robots = build_robot::robots(&mut scene, &mut whole, &mut notes);
        build_coupling::expand_robots(&mut scene, &robots, &mut notes);
    }
    build_contact::prepare(&mut scene, &mut notes);
    let told = build_told::told(&scene, &mut notes);
    let touching = build_touch::joined(&scene, &told);
    let expanded = build_deformable::expand(&mut scene, &mut notes);
    let mut points = match points(&mut scene, &expanded, &told, &mut notes) {
        Some(points) => points,
        None => return Err(notes.refusal()),
    };
    let filters = filters(&scene, &points, &mut notes);
    let mut affine = build_affine_joints::joints(
        &mut scene,
        &expanded,
        &points.blocks,
        &points.names,
        &points.x,
        points.layout.particles,
        &mut notes,
    );
    let joined = build_mechanism::constraints(
        &mut scene,
        &points.bodies,
        &points.names,
        &points.x,
        &points.v,
        points.layout.particles,
        &told,
        &mut notes,
    );
    points.layout.constraints = joined.constraints.len();
    (points.layout.turns, points.layout.joints) = (joined.turns, joined.joints);
    points.layout.looks_back = matches!(&scene.method, Method::Implicit(e) if e.scheme == crate::step::Scheme::Bdf2)
        || matches!(&scene.method, Method::Ipc(e) if e.scheme == crate::step::Scheme::Bdf2);
    let mut ipc = build_contact::ipc_model(
        &scene,
        &expanded,
        &points.blocks,
        &points.masses[..points.layout.particles],
        &points.x,
        &filters,
        &mut notes,
    );
    let mut massless = Vec::new();
    if let Some(ipc) = &mut ipc {
        points.layout.turns += affine.joints.memory(affine.rows.len());
        affine.joints.inertia = affine_inertia(&points, &expanded, &ipc.held);
        let (articulations, without) = build_coupling::articulations(
            &mut scene,
            &expanded,
            &points.blocks,
            &affine,
            &ipc.held,
            &mut notes,
        );
        massless = without;
        ipc.articulations = articulations;
        (ipc.rows, ipc.joints) = (affine.rows, affine.joints);
    }
    for (i, _) in massless.iter().enumerate().filter(|(_, none)| **none) {
        points.masses[i] = 0.0;
    }
    robots.extend(build_robot::robots(&mut scene, &mut whole, &mut notes));
    for (named, _) in &mut robots {
        named.place = RobotPlace::append(&named.robot, &mut points.layout);
    }
    let touch = touching.and_then(|joined| {
        let parts: Vec<_> = robots.iter().map(|(part, _)| part).collect();
        let (blocks, shapes) = (&points.blocks, &points.bodies.shapes);
        build_touch::touch_model(&scene, &joined, blocks, shapes, &filters, &parts, &mut notes)
    });
    let Scene { title, method, dt, expect, gravity, assemble, .. } = &scene;
    let (title, method, dt, expect) = (title.clone(), method.clone(), *dt, expect.clone());
    let (gravity, assemble) = (*gravity, *assemble);
    // Triangles of carried meshes, with the number of places before their points.
    let drawn: Vec<(String, usize, Vec<[u32; 3]>)> = scene
        .points
        .iter()
        .filter_map(|p| Some((p.name.clone(), p.at.len(), p.surface.as_ref()?.triangles.clone())))
        .collect();
    let surfaces = expanded.surfaces(&points.blocks, &drawn);
    let obstacles = scene.obstacle.iter().map(|o| (o.name.clone(), o.shape)).collect();
    let forces = forces(scene, &points, &surfaces, &expanded.forces, &mut notes);
    if !notes.errors.is_empty() {
        return Err(notes.refusal());
    }

    let Points { layout, blocks, masses, x, v, mappings, bodies, generalized, coordinates, .. } = points;
    let mut state = State::new(&layout);
    for (named, start) in &robots {
        named.store(start, &mut state);
        named.control_mut(&mut state).copy_from_slice(&start.control);
    }
    for (k, b) in bodies.start.iter().enumerate() {
        set_triple(&mut state.q[7 * k..], 0, &b.x);
        let turn = nalgebra::Rotation3::from_matrix_unchecked(b.R);
        set_quaternion(&mut state.q, 7 * k + 3, &Quat::from_rotation_matrix(&turn));
        set_triple(&mut state.v, 2 * k, &b.v);
        set_triple(&mut state.v, 2 * k + 1, &b.w);
    }
    let r = layout.rigid;
    state.q[7 * r..7 * r + coordinates.0.len()].copy_from_slice(&coordinates.0);
    state.v[6 * r..6 * r + coordinates.1.len()].copy_from_slice(&coordinates.1);
    for i in 0..layout.particles {
        set_triple(&mut state.q[layout.points_q()..], i, &x[i]);
        set_triple(&mut state.v[layout.points_v()..], i, &v[i]);
    }
    let mut particles = Particles::new(&masses, layout.particles, layout.points);
    particles.shared = expanded.shared_inertia(&blocks);
    particles.shared.retain(|(i, ..)| !massless.get(*i as usize).copied().unwrap_or(false));
    let Bodies { rigid, shapes, .. } = bodies;
    let places = affine_places(&blocks);
    let origin = |(set, rest): &(usize, Rest)| match rest {
        Rest::Affine { center } => Some((blocks[*set].points.start, -center)),
        _ => None,
    };
    let origins = expanded.rest.iter().filter_map(origin).collect();
    let robots: Vec<NamedRobot> = robots.into_iter().map(|(named, _)| named).collect();
    let mut blocks = blocks;
    blocks.extend(robots.iter().map(|named| named.block(&layout)));
    let contact_reader = match method {
        Method::Ipc(settings) if ipc.as_ref().is_some_and(|m| m.geometry.can_touch()) => {
            Some(settings.reader(dt))
        }
        _ => None,
    };
    let mut model = Model {
        title,
        layout,
        blocks,
        gravity,
        rigid,
        shapes,
        generalized,
        particles,
        mappings,
        forces,
        constraints: joined.constraints,
        filters,
        surfaces,
        obstacles,
        robots,
        start_places: start_places(&layout, &state.q, &places),
        size: 1.0,
        origins,
        ipc,
        contact_reader,
        rigid_contact: touch,
        warnings: Vec::new(),
    };
    model.settle(&mut state);
    model.update_turns(&state.q, &state.v, &mut state.turns);
    if assemble {
        crate::step::assemble(&model, &mut state);
        for (c, gap) in crate::step::gaps(&model, &state) {
            if !(gap < 1e-6) {
                let (table, index) = joined.places[c];
                notes.at(table, index, &model.constraints[c].name);
                let message = format!(
                    "still gapes by {gap:.3e} (m or rad) after `assemble`: it contradicts the other joints, or they are too far apart"
                );
                notes.error("", message);
            }
        }
    }
    expectations(&expect, &model, &mut notes);
    if !notes.errors.is_empty() {
        return Err(notes.refusal());
    }
    unused::masses(&model, &mut notes);
    unused::steps(&method, &model, &state, dt, &mut notes);
    model.warnings = notes.take_warnings();
    model.size = size(&model, &state);
    let start_energy = model.energy(&state);
    Ok(Simulation {
        model: Arc::new(model),
        state,
        workspace: Workspace::new(),
        method,
        dt,
        report: StepReport::default(),
        start_energy,
        largest_kinetic: start_energy.kinetic,
    })
}

/// How far a scene reaches from the origin \[m\]: its points, its rigid bodies with their shapes and the links of its
/// robots; 1 if that is nowhere.
fn size(model: &Model, state: &State) -> f64 {
    let mut size = 0.0f64;
    let x = &state.q[model.layout.points_q()..];
    for block in &model.blocks {
        let places = match block.kind {
            // The other three are no places.
            BlockKind::Affine => block.points.start..block.points.start + 1,
            _ => block.points.clone(),
        };
        size = places.map(|i| triple(x, i).norm()).fold(size, f64::max);
    }
    for (k, shape) in model.shapes.iter().enumerate() {
        let bounds = shape.bounds_at(&model.rigid.pose(&state.q, k));
        size = size.max(bounds.low.abs().sup(&bounds.high.abs()).norm());
    }
    for named in &model.robots {
        let poses = named.poses(state, &mut named.robot.work());
        size = poses.iter().map(|pose| pose.position.norm()).fold(size, f64::max);
    }
    if size > 0.0 && size.is_finite() { size } else { 1.0 }
}

/// Inertia of every block \[kg, kg·m² for columns of affine bodies\]; infinite for held ones.
fn affine_inertia(points: &Points, expanded: &Expanded, held: &[bool]) -> Vec<f64> {
    let mut out = points.masses[..points.layout.particles].to_vec();
    for (i, j, m) in expanded.shared_inertia(&points.blocks) {
        if i == j {
            out[i as usize] += m;
        }
    }
    held.iter().zip(&mut out).filter(|(held, _)| **held).for_each(|(_, m)| *m = f64::INFINITY);
    out
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
        Method::Lagrange(e) => {
            notes.positive("tolerance", e.tolerance);
            notes.positive("min_step", e.min_step);
            notes.not_negative("baumgarte", e.baumgarte);
            notes.not_negative("friction", e.friction);
            notes.not_negative("restitution", e.restitution);
            notes.positive("rest_speed", e.rest_speed);
            if matches!(e.integrator, Integrator::SymplecticEuler | Integrator::Verlet) {
                let name = e.integrator.name();
                notes.error(
                    "integrator",
                    format!("`{name}` cannot carry multipliers; `rk4` and `dormand_prince` can"),
                );
            }
        }
        Method::Impulse(e) => {
            if e.substeps == 0 {
                notes.error("substeps", "must be at least 1");
            }
            notes.not_negative("friction", e.friction);
            notes.not_negative("restitution", e.restitution);
            notes.not_negative("bounce_speed", e.bounce_speed);
            notes.positive("push_speed", e.push_speed);
            notes.positive("tolerance", e.tolerance);
            if e.most_sweeps == 0 {
                notes.error("contact_sweeps", "must be at least 1");
            }
            notes.positive("sleep_speed", e.sleep_speed);
            if !(e.sleep_after > 0.0) {
                notes.error("sleep_after", "must be above 0, or infinite for never");
            }
        }
        Method::Implicit(e) => {
            notes.positive("tolerance", e.tolerance);
            notes.not_negative("rayleigh_mass", e.rayleigh_mass);
            notes.not_negative("rayleigh_stiffness", e.rayleigh_stiffness);
        }
        // Checked with the rest of contact.
        Method::Ipc(_) => {}
    }
    let soft = scene.soft.len() + scene.cloth.len() + scene.rod.len() + scene.affine.len();
    let nothing = scene.particles.is_empty() && soft == 0;
    if nothing && scene.rigid.is_empty() && scene.generalized.is_empty() && scene.robot.is_empty() {
        notes.error("particles", "the scene is empty: it needs particles or bodies");
    }
}

/// Particles and carried points; `None` if their number cannot be known.
fn points(scene: &mut Scene, expanded: &Expanded, told: &[Told], notes: &mut Notes) -> Option<Points> {
    if expanded.failed {
        return None;
    }
    let before = notes.found;
    let mut names = Names::default();
    let mut total = 0usize;
    let name_it = |notes: &mut Notes, names: &Names, name: &str| {
        if name.is_empty() {
            notes.error("name", "needs a name");
        } else if name.contains(['[', ']', '.', ':']) || name.trim() != name {
            notes
                .error("name", format!("`{name}` must not contain `[`, `]`, `.`, `:` or blanks at its ends"));
        } else if RESERVED.contains(&name) {
            notes.error("name", format!("`{name}` is reserved; choose another name"));
        } else if names.sets.contains_key(name) {
            notes.error("name", format!("the name `{name}` is taken"));
        }
    };
    for (set, origin) in scene.particles.iter().zip(&expanded.origins) {
        notes.at(origin.table, origin.index, &set.name);
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
        names.add(&set.name, total - n..total);
        if origin.kind == BlockKind::Affine {
            names.affine.insert(set.name.clone());
        }
    }
    // Markers and columns of affine bodies come last: what acts on all particles leaves them alone.
    let columns =
        scene.particles.iter().zip(&expanded.origins).filter(|(_, o)| o.kind != BlockKind::Particles);
    names.particles = total - columns.map(|(set, _)| set.arrangement.count()).sum::<usize>();
    let mut taken = BTreeSet::new();
    for (k, body) in scene.rigid.iter().enumerate() {
        notes.at("rigid", k, &body.name);
        name_it(notes, &names, &body.name);
        if !taken.insert(body.name.as_str()) {
            notes.error("name", format!("the name `{}` is taken", body.name));
        }
    }
    for (k, body) in scene.generalized.iter().enumerate() {
        notes.at("generalized", k, &body.name);
        name_it(notes, &names, &body.name);
        if !taken.insert(body.name.as_str()) {
            notes.error("name", format!("the name `{}` is taken", body.name));
        }
    }
    for (k, robot) in scene.robot.iter().enumerate() {
        notes.at("robot", k, &robot.name);
        name_it(notes, &names, &robot.name);
        if !taken.insert(robot.name.as_str()) {
            let free =
                (2..).map(|n| format!("{}{n}", robot.name)).find(|name| !taken.contains(name.as_str()));
            let free = free.unwrap_or_default();
            let message = format!(
                "the name `{}` is taken; give this robot one of its own, `name = \"{free}\"`",
                robot.name
            );
            notes.error("name", message);
        }
    }
    let mut bodies = build_mechanism::rigid_bodies(scene, notes);
    build_mechanism::generalized_numbers(scene, notes);
    if notes.found > before {
        return None;
    }
    bodies.start_told(told);
    names.rigid = scene.rigid.iter().map(|b| b.name.clone()).collect();
    let own = scene.points.len();
    add_centers(scene, &bodies);
    let (mut u, mut du, mut point_masses): (Vec<f64>, Vec<f64>, Vec<f64>) = Default::default();
    for body in &scene.generalized {
        u.extend(&body.coordinates);
        du.extend(&body.rates);
        point_masses.extend(&body.masses);
    }
    let (base_q, base_v) = (7 * scene.rigid.len() + u.len(), 6 * scene.rigid.len() + u.len());
    let (mut masses, mut x, mut v) = (Vec::new(), Vec::new(), Vec::new());
    let mut blocks = Vec::new();
    for (k, (set, origin)) in scene.particles.iter().zip(&expanded.origins).enumerate() {
        notes.at(origin.table, origin.index, &set.name);
        notes.finite3("position", &set.position);
        let n = set.arrangement.count();
        let first = x.len();
        // The place in the scene tells clouds apart; the odd factor keeps neighbouring seeds from meeting.
        let seed = scene.seed ^ (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x.extend(set.arrangement.positions(seed).iter().map(|x| x + set.position));
        if let Some(i) = x[first..].iter().position(|x: &Vec3| !x.iter().all(|x| x.is_finite())) {
            notes.error("position", format!("moves particle {i} to where numbers overflow"));
        }
        if origin.masses_known {
            // Checked where they were made; columns of a deformation weigh nothing.
            if let Masses::List(list) = &set.mass {
                masses.extend(list);
            }
        } else {
            set_masses(set, n, notes, &mut masses);
        }
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
        blocks.push(Block {
            name: set.name.clone(),
            kind: origin.kind,
            q: base_q + 3 * first..base_q + 3 * (first + n),
            v: base_v + 3 * first..base_v + 3 * (first + n),
            points: first..first + n,
        });
    }
    let mut layout = Layout {
        nq: base_q + 3 * total,
        nv: base_v + 3 * total,
        rigid: scene.rigid.len(),
        particles: total,
        points: total + point_masses.len(),
        ..Layout::default()
    };
    let (others, generalized) = build_mechanism::body_blocks(scene, &layout, &mut names);
    for body in &generalized {
        let (n, m) = (body.q.len(), 3 * body.map.points());
        let at = body.q.start - 7 * layout.rigid;
        let (mut first, mut second, mut place) = (vec![0.0; m], vec![0.0; m], vec![0.0; m]);
        body.map.positions(&u[at..at + n], &mut place);
        body.map.along(&u[at..at + n], &du[at..at + n], &mut first, &mut second);
        x.extend((0..m / 3).map(|i| triple(&place, i)));
        v.extend((0..m / 3).map(|i| triple(&first, i)));
    }
    masses.extend(point_masses);
    let taken: BTreeSet<String> = scene.rigid.iter().map(|b| b.name.clone()).collect();
    let free_name = |notes: &mut Notes, names: &Names, name: &str| {
        name_it(notes, names, name);
        if taken.contains(name) {
            notes.error("name", format!("the name `{name}` is taken"));
        }
    };
    let parents = carried(scene, expanded, own, notes, &mut names, &mut layout, &mut blocks, free_name)?;
    // A force on a body acts at its centre of mass.
    for set in &scene.points[own..] {
        if let (Some(body), Some((_, range))) = (set.name.strip_suffix(CENTER), names.sets.get(&set.name)) {
            let range = range.clone();
            names.add(body, range);
        }
    }
    blocks.extend(others);
    let mut mappings: Vec<Box<dyn Mapping>> = Vec::new();
    for body in &generalized {
        mappings.push(Box::new(GeneralizedPoints::new(layout, body.clone())));
    }
    for (parent, first_child) in parents {
        let list = match parent {
            Parents::Points(list) => list,
            Parents::Weights(weights) => {
                for c in 0..weights.len() {
                    let sum = |a: &[Vec3]| weights.row(c).map(|(p, w)| w * a[p as usize]).sum::<Vec3>();
                    let (place, speed) = (sum(&x), sum(&v));
                    x.push(place);
                    v.push(speed);
                }
                mappings.push(Box::new(Weighted::new(layout, weights, first_child)));
                continue;
            }
            Parents::Skin(weights, places) => {
                let q: Vec<f64> = bodies.start.iter().flat_map(start_coordinates).collect();
                let skin = Skinning::new(layout, &q, &places, &weights, first_child);
                for (c, place) in places.iter().enumerate() {
                    x.push(*place);
                    let speed = |(k, w): (u32, f64)| {
                        let b = &bodies.start[k as usize];
                        w * (b.v + b.w.cross(&(place - b.x)))
                    };
                    v.push(weights.row(c).map(speed).sum());
                }
                mappings.push(Box::new(skin));
                continue;
            }
            Parents::Rigid(k, places) => {
                let (b, c) = (&bodies.start[k], bodies.rigid.center[k]);
                let arms: Vec<Vec3> = places.iter().map(|p| p - c).collect();
                x.extend(arms.iter().map(|r| b.x + b.R * r));
                v.extend(arms.iter().map(|r| b.v + b.w.cross(&(b.R * r))));
                mappings.push(Box::new(RigidPoints::new(layout, 7 * k, 6 * k, first_child, arms)));
                continue;
            }
        };
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
    let coordinates = (u, du);
    Some(Points { layout, blocks, names, masses, x, v, mappings, bodies, generalized, coordinates })
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
    let key = if matches!(set.mass, Masses::Total(_)) { "total_mass" } else { "mass" };
    match &set.mass {
        Masses::Each(m) => {
            if notes.positive(key, *m) {
                masses.resize(first + n, *m);
            }
        }
        Masses::Total(m) => {
            if notes.positive(key, *m) {
                masses.resize(first + n, *m / n as f64);
            }
        }
        Masses::List(list) => {
            if list.len() != n {
                notes.error(key, format!("{} masses stand against {n} particles", list.len()));
            } else if let Some(i) = list.iter().position(|m| !(m.is_finite() && *m > 0.0)) {
                notes.error(key, format!("mass {i} must be greater than zero, but is {}", list[i]));
            } else {
                masses.extend(list);
            }
        }
    }
    if masses[first..].iter().any(|m| !(1.0 / m).is_finite()) {
        notes.error(key, "is too small to divide by");
    }
    masses.resize(first + n, 1.0);
}

/// The carried sets in an order in which parents come before their children; a loop is an error that names its members.
fn parents_first(scene: &Scene, notes: &mut Notes) -> Option<Vec<usize>> {
    let named: BTreeMap<&str, usize> = scene.points.iter().enumerate().map(|(k, p)| (&*p.name, k)).collect();
    let needs = |k: usize| {
        let name = |text: &'_ String| split_index(text).map_or(text.clone(), |(n, _)| n.to_string());
        scene.points[k].of.iter().filter_map(|t| named.get(&*name(t)).copied()).collect::<Vec<_>>()
    };
    // 0: not seen, 1: on the way, 2: done. A stack of its own, so that long chains do not overflow ours.
    let (mut mark, mut order) = (vec![0u8; scene.points.len()], Vec::new());
    for start in 0..scene.points.len() {
        let mut stack = vec![(start, 0)];
        while let Some((k, next)) = stack.pop() {
            if next == 0 {
                if mark[k] == 2 {
                    continue;
                }
                mark[k] = 1;
            }
            let list = needs(k);
            match list.get(next) {
                None => {
                    mark[k] = 2;
                    order.push(k);
                }
                Some(&parent) => {
                    stack.push((k, next + 1));
                    if mark[parent] == 1 {
                        let from = stack.iter().position(|(j, _)| *j == parent).unwrap_or(0);
                        let mut members: Vec<&str> =
                            stack[from..].iter().map(|(j, _)| &*scene.points[*j].name).collect();
                        members.push(&scene.points[parent].name);
                        notes.at("points", k, &scene.points[k].name);
                        let chain = members.join("` ← `");
                        notes.error("of", format!("carried points form a loop: `{chain}`"));
                        return None;
                    }
                    if mark[parent] == 0 {
                        stack.push((parent, 0));
                    }
                }
            }
        }
    }
    Some(order)
}

/// What the point at the centre of mass of a body is called behind the name of the body, and the three at unit distance
/// along its axes. Names that users give have no dots.
const CENTER: &str = ".center";
const AXES: &str = ".axes";

/// Adds points to the rigid bodies that forces name: their centres of mass, and for torques their axes.
fn add_centers(scene: &mut Scene, bodies: &Bodies) {
    let mut pushed: BTreeSet<&str> = BTreeSet::new();
    let lists = (scene.push.iter().map(|s| &s.on))
        .chain(scene.drag.iter().map(|s| &s.on))
        .chain(scene.attractor.iter().map(|s| &s.on))
        .chain(scene.obstacle.iter().map(|s| &s.on))
        .chain(scene.pair_force.iter().map(|s| &s.on))
        .chain(scene.custom.iter().map(|s| &s.on));
    lists.for_each(|on| pushed.extend(on.iter().map(|text| name_of(text))));
    scene.springs.iter().for_each(|s| pushed.extend(s.pairs.as_flattened().iter().map(|text| name_of(text))));
    let triples = scene.angular_springs.iter().flat_map(|s| s.triples.as_flattened());
    pushed.extend(triples.map(|text| name_of(text)));
    let turned = scene.push.iter().filter(|s| s.torque != Vec3::zeros()).flat_map(|s| &s.on);
    let turned: BTreeSet<&str> = turned.map(|text| name_of(text)).collect();
    let mut out = Vec::new();
    for (k, body) in scene.rigid.iter().enumerate() {
        let center = bodies.rigid.center[k];
        let mut add = |end: &str, at: Vec<Vec3>| {
            let name = format!("{}{end}", body.name);
            out.push(super::MappedPoints { name, of: vec![body.name.clone()], at, surface: None });
        };
        if pushed.contains(&*body.name) {
            add(CENTER, vec![center]);
        }
        if turned.contains(&*body.name) {
            add(AXES, (0..3).map(|k| center + Vec3::ith(k, 1.0)).collect());
        }
    }
    scene.points.extend(out);
}

/// A torque τ on a body by forces on its centre (first) and on points at unit distance along its axes a: ½ τ × a on each
/// of these, which do the work ½ δθ · Σ a × (τ × a) = τ · δθ, and minus their sum on the centre.
fn torque(points: Vec<usize>, torque: Vec3, signal: crate::math::Signal) -> Box<dyn Force> {
    let force = move |t: f64, x: &[Vec3], _: &[Vec3], f: &mut [Vec3]| {
        let half = 0.5 * signal.value(t) * torque;
        for k in 1..4 {
            f[k] = half.cross(&(x[k] - x[0]));
        }
        f[0] = -(f[1] + f[2] + f[3]);
    };
    Box::new(crate::forces::nary::TupleClosure {
        k: points.len(),
        points: points.iter().map(|&i| PointId(i as u32)).collect(),
        force: Box::new(force),
        energy: None,
        internal: false,
    })
}

/// Parents of each carried set and its first child; grows the layout.
fn carried(
    scene: &Scene,
    expanded: &Expanded,
    own: usize,
    notes: &mut Notes,
    names: &mut Names,
    layout: &mut Layout,
    blocks: &mut Vec<Block>,
    name_it: impl Fn(&mut Notes, &Names, &str),
) -> Option<Vec<(Parents, usize)>> {
    let before = notes.found;
    let mut out = Vec::new();
    let bodies: BTreeMap<&str, usize> = scene.rigid.iter().enumerate().map(|(k, b)| (&*b.name, k)).collect();
    let sets: BTreeMap<&str, usize> =
        scene.particles.iter().enumerate().map(|(k, set)| (&*set.name, k)).collect();
    let rigid = |text: &str| bodies.get(text).copied();
    let resting = |text: &str| {
        let set = *sets.get(text)?;
        expanded.rest.iter().find(|(k, _)| *k == set).map(|(_, rest)| rest)
    };
    for k in parents_first(scene, notes)? {
        let set = &scene.points[k];
        notes.at("points", k, &set.name);
        if k < own {
            name_it(notes, names, &set.name);
        }
        if set.of.is_empty() {
            notes.error("of", "needs the points that carry it");
        }
        let mut places = set.at.clone();
        if let Some(surface) = &set.surface {
            places.extend(&surface.points);
        }
        let placed = !places.is_empty();
        let _ = places.iter().all(|p| notes.finite3("at", p));
        let parents = match &set.of[..] {
            [one] if rigid(one).is_some() => {
                let places = if placed { places } else { vec![Vec3::zeros()] };
                Parents::Rigid(rigid(one).unwrap_or(0), places)
            }
            [one] if placed && resting(one).is_some() => {
                let first = names.sets.get(one.as_str()).map_or(0, |(_, range)| range.start);
                let weights = match resting(one) {
                    Some(Rest::Tets(mesh)) => Weights::in_tets(mesh, &places),
                    Some(Rest::Hexes(mesh)) => Weights::in_hexes(mesh, &places),
                    Some(Rest::Surface(mesh)) => Weights::on_surface(mesh, &places),
                    Some(Rest::Affine { center }) => {
                        Ok(Weights::affine(&places.iter().map(|p| p - center).collect::<Vec<_>>()))
                    }
                    None => continue,
                };
                match weights {
                    Ok(weights) => Parents::Weights(weights.offset(first as u32)),
                    Err(error) => {
                        notes.error("at", error.to_string());
                        continue;
                    }
                }
            }
            several if several.len() > 1 && several.iter().all(|t| rigid(t).is_some()) => {
                if !placed {
                    notes.error("at", "points carried by several rigid bodies need places in the world");
                    continue;
                }
                let list: Vec<u32> = several.iter().filter_map(|t| rigid(t)).map(|k| k as u32).collect();
                let frames: Vec<Vec3> = list.iter().map(|&k| scene.rigid[k as usize].pose.position).collect();
                let weights = Skinning::nearest_frames(&places, &frames, &list, 4.min(list.len()));
                Parents::Skin(weights, places)
            }
            several => {
                if let Some(body) = several.iter().find(|t| rigid(t).is_some()) {
                    notes.error(
                        "of",
                        format!("`{body}` is a rigid body; points on it need a set of their own"),
                    );
                } else if placed {
                    notes.error("at", "places are for points on one body, or on several rigid ones");
                }
                Parents::Points(names.list(notes, "of", several))
            }
        };
        let count = match &parents {
            Parents::Points(list) => list.len(),
            Parents::Rigid(_, places) | Parents::Skin(_, places) => places.len(),
            Parents::Weights(weights) => weights.len(),
        };
        if layout.points + count > MOST_POINTS {
            notes.error("of", format!("the scene grows beyond {MOST_POINTS} points"));
            return None;
        }
        let first = layout.points;
        layout.points += count;
        names.add(&set.name, first..layout.points);
        let range = |base: usize| base + 3 * first..base + 3 * layout.points;
        blocks.push(Block {
            name: set.name.clone(),
            kind: BlockKind::Mapped,
            q: range(layout.points_q()),
            v: range(layout.points_v()),
            points: first..layout.points,
        });
        out.push((parents, first));
    }
    (notes.found == before).then_some(out)
}

/// First point of each affine body.
fn affine_places(blocks: &[Block]) -> Vec<usize> {
    blocks.iter().filter(|b| b.kind == BlockKind::Affine).map(|b| b.points.start).collect()
}

/// Where each free 3-vector is, columns of affine bodies at their centres; empty if there are coordinates that are no
/// such vectors.
fn start_places(layout: &Layout, q: &[f64], affine: &[usize]) -> Vec<f64> {
    if layout.points_q() != 7 * layout.rigid {
        return Vec::new();
    }
    let rigid = q[..7 * layout.rigid].chunks_exact(7).flat_map(|q| [q[0], q[1], q[2], q[0], q[1], q[2]]);
    let mut places: Vec<f64> = rigid.chain(q[layout.points_q()..layout.nq].iter().copied()).collect();
    for i in affine {
        let at = 3 * (2 * layout.rigid + i);
        for k in 3..12 {
            places[at + k] = places[at + k % 3];
        }
    }
    places
}

/// Centre of mass and quaternion of a body at the start.
fn start_coordinates(b: &Body) -> [f64; 7] {
    let mut q = [0.0; 7];
    set_triple(&mut q, 0, &b.x);
    let turn = nalgebra::Rotation3::from_matrix_unchecked(b.R);
    set_quaternion(&mut q, 3, &Quat::from_rotation_matrix(&turn));
    q
}

/// What carries a set of points.
enum Parents {
    Points(Vec<usize>),
    /// Combinations of points before them.
    Weights(Weights),
    /// Several rigid bodies together, and places in the world.
    Skin(Weights, Vec<Vec3>),
    /// A rigid body, and places in its frame.
    Rigid(usize, Vec<Vec3>),
}

/// Points of several texts that start in a region; all particles if there is no text.
fn chosen(points: &Points, notes: &mut Notes, on: &[String], inside: &Region) -> PointSet {
    let set = points.names.set(notes, "on", on);
    if *inside == Region::All {
        return set;
    }
    let found: Vec<usize> = set.iter().filter(|&i| inside.has(i as u32, &points.x[i])).collect();
    if found.is_empty() && !set.is_empty() {
        notes.error("inside", format!("holds none of the {} points at the start", set.len()));
    }
    PointSet::new(found)
}

fn filters(scene: &Scene, points: &Points, notes: &mut Notes) -> Filters {
    let named = |notes: &mut Notes, on: &[String], inside: &Region| {
        if on.is_empty() {
            notes.error("on", "names no points");
            return PointSet::default();
        }
        // Rigid bodies are held by rows of their own.
        let on = points.names.without_bodies(on);
        if on.is_empty() {
            return PointSet::default();
        }
        let set = chosen(points, notes, &on, inside);
        if set.last().is_some_and(|i| i >= points.layout.particles) {
            notes.error("on", "names carried points; fix or move the particles that carry them");
        }
        if notes.room_for("on", set.len()) { set } else { PointSet::default() }
    };
    // Point and entry; sorted by point before they are made, so that each filter comes last.
    let mut fixed: Vec<(usize, usize)> = Vec::new();
    for (k, fix) in scene.fix.iter().enumerate() {
        notes.at("fix", k, "");
        fixed.extend(named(notes, &fix.on, &fix.inside).iter().map(|i| (i, k)));
        let bad = |d: &Vec3| !(d.norm() > 0.0 && d.norm().is_finite());
        if let Some(d) = fix.directions.iter().find(|d| bad(d)) {
            notes.error("directions", format!("({}, {}, {}) is no direction", d.x, d.y, d.z));
        }
    }
    let mut moved: Vec<(usize, usize)> = Vec::new();
    for (k, set) in scene.motion.iter().enumerate() {
        notes.at("motion", k, "");
        moved.extend(named(notes, &set.on, &set.inside).iter().map(|i| (i, k)));
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
            Motion::Ride(ride) => {
                if let Some((key, message)) = ride.defect() {
                    notes.error(key, message);
                }
            }
            Motion::Closure(_) => {}
        }
    }
    moved.sort_unstable();
    for twice in moved.windows(2).filter(|w| w[0].0 == w[1].0) {
        let (i, k) = twice[1];
        notes.at("motion", k, "");
        let message = format!("{} already moves as told by another entry", describe(points, i));
        notes.error("on", message);
        if notes.is_full() {
            break;
        }
    }
    let mut filters = Filters::default();
    if notes.found > 0 {
        return filters;
    }
    fixed.sort_unstable();
    let mut fixed = fixed.into_iter().peekable();
    for (i, k) in moved.into_iter().chain([(usize::MAX, 0)]) {
        while let Some((j, k)) = fixed.next_if(|(j, _)| *j <= i) {
            filters.forbid(j, &scene.fix[k].directions);
        }
        if i < usize::MAX {
            // Affine bodies come last, four points each: their centres move as told, their columns stay.
            let affine = points.names.particles;
            let column = i > affine && !(i - affine).is_multiple_of(4);
            match &scene.motion[k].motion {
                Motion::Ride(ride) => {
                    let first = if i >= affine { i - (i - affine) % 4 } else { i };
                    let own = if i >= affine { points.x[first] } else { Vec3::zeros() };
                    let arm = if column { points.x[i] } else { points.x[i] - ride.center.unwrap_or(own) };
                    let ride = ride.clone();
                    let motion = Motion::Closure(Arc::new(move |t| ride.at(t, &arm, !column)));
                    filters.prescribe(i, points.x[i], motion);
                }
                _ if column => filters.forbid(i, &[]),
                motion => filters.prescribe(i, points.x[i], motion.clone()),
            }
        }
    }
    filters
}

fn forces(
    scene: Scene,
    points: &Points,
    surfaces: &[Surface],
    made: &[(&'static str, usize)],
    notes: &mut Notes,
) -> Vec<NamedForce> {
    let mut out: Vec<NamedForce> = Vec::new();
    let names = &points.names;
    if scene.gravity != Vec3::zeros() {
        let force = Box::new(Gravity { acceleration: scene.gravity });
        out.push(NamedForce { name: "gravity".into(), force });
    }
    let mut taken: BTreeSet<String> = ["kinetic", "potential", "total", "drift"].map(String::from).into();
    taken.extend(out.iter().map(|f| f.name.clone()));
    let mut unnamed: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut push = |notes: &mut Notes, kind: &'static str, name: &str, force: Box<dyn Force>| {
        let mut name = name.to_string();
        let nth = unnamed.entry(kind).or_default();
        while name.is_empty() {
            *nth += 1;
            let next = if *nth == 1 { kind.to_string() } else { format!("{kind}{nth}") };
            if !taken.contains(&next) {
                name = next;
            }
        }
        if !taken.insert(name.clone()) {
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
        let on = names.set(notes, "on", &names.all_pushed(&set.on));
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
    for (k, set) in scene.obstacle.iter().enumerate() {
        notes.at("obstacle", k, &set.name);
        notes.positive("stiffness", set.stiffness);
        notes.not_negative("damping", set.damping);
        notes.not_negative("radius", set.radius);
        let mut shape = set.shape;
        match &mut shape {
            ObstacleShape::Plane { point, normal } => {
                notes.finite3("plane", point);
                match normal.try_normalize(1e-300) {
                    Some(unit) if unit.iter().all(|x| x.is_finite()) => *normal = unit,
                    _ => notes.error("plane", "its normal is no direction"),
                }
            }
            ObstacleShape::Sphere { center, radius } | ObstacleShape::Hollow { center, radius } => {
                notes.finite3("sphere", center);
                notes.positive("sphere", *radius);
            }
        }
        let on = names.set(notes, "on", &names.all_pushed(&set.on));
        let ObstacleItem { radius, stiffness, damping, .. } = *set;
        let penalty = Penalty::Quadratic;
        let force = Obstacle { on, shape, radius, stiffness, damping, penalty };
        push(notes, "obstacle", &set.name, Box::new(force));
    }
    for (k, set) in scene.pressure.iter().enumerate() {
        notes.at("pressure", k, &set.name);
        notes.finite("pressure", set.pressure);
        if let Some(triangles) = closed(&set.on, surfaces, notes) {
            push(notes, "pressure", &set.name, Box::new(Pressure::uniform(&triangles, set.pressure)));
        }
    }
    for (k, set) in scene.push.iter().enumerate() {
        notes.at("push", k, &set.name);
        notes.finite3("force", &set.force);
        if let Some(message) = set.signal.defect() {
            notes.error("signal", message);
        }
        if set.torque != Vec3::zeros() && !matches!(scene.method, Method::Ipc(_)) {
            for text in &set.on {
                let name = name_of(text);
                if !names.rigid.contains(name) {
                    let method = scene.method.name();
                    let message =
                        format!("`{name}` is no rigid body, and `{method}` turns nothing else by a torque");
                    notes.error("torque", message);
                    continue;
                }
                let body = [CENTER, AXES].map(|end| format!("{name}{end}"));
                let points = names.list(notes, "on", &body);
                let own = if set.force == Vec3::zeros() { set.name.as_str() } else { "" };
                push(notes, "torque", own, torque(points, set.torque, set.signal.clone()));
            }
            notes.finite3("torque", &set.torque);
        }
        if set.torque != Vec3::zeros() && set.force == Vec3::zeros() {
            continue;
        }
        let on = chosen(points, notes, &names.all_pushed(&set.on), &set.inside);
        let force = if set.total { set.force / on.len().max(1) as f64 } else { set.force };
        push(notes, "push", &set.name, Box::new(Push { on, force, signal: set.signal.clone() }));
    }
    for (k, set) in scene.drag.iter().enumerate() {
        notes.at("drag", k, &set.name);
        notes.not_negative("linear", set.linear);
        notes.not_negative("quadratic", set.quadratic);
        notes.finite3("wind", &set.wind);
        let on = names.set(notes, "on", &names.all_pushed(&set.on));
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
        let on = names.set(notes, "on", &names.all_pushed(&set.on));
        if !notes.room_for("on", on.len()) {
            continue;
        }
        let on: Vec<u32> = on.iter().map(|i| i as u32).collect();
        if let Some(force) = pair_force(set, on, notes) {
            push(notes, "pair_force", &set.name, force);
        }
    }
    let own = scene.custom.len() - made.len();
    for (k, set) in scene.custom.into_iter().enumerate() {
        let (table, index) = k.checked_sub(own).map_or(("custom", k), |k| made[k]);
        notes.at(table, index, &set.name);
        let list =
            if set.on.is_empty() { (0..names.particles).collect() } else { names.list(notes, "on", &set.on) };
        if list.len() > set.most {
            notes.error("on", format!("names {} points; a tuple has at most {}", list.len(), set.most));
            continue;
        }
        push(notes, "custom", &set.name, (set.make)(list));
    }
    out
}

/// Triangles of the surface of that name, if each of its edges has two.
fn closed(on: &str, surfaces: &[Surface], notes: &mut Notes) -> Option<Vec<[PointId; 3]>> {
    let skins = || surfaces.iter().filter(|s| !s.triangles.is_empty());
    let Some(skin) = skins().find(|s| s.name == on) else {
        let known: Vec<String> = skins().map(|s| s.name.clone()).collect();
        let message = format!("there is no soft body, cloth or carried surface `{on}`");
        notes.misspelt("on", message, Some((on.to_string(), known)));
        return None;
    };
    let mut sides = BTreeMap::new();
    for t in &skin.triangles {
        for (a, b) in [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])] {
            *sides.entry((a.min(b), a.max(b))).or_insert(0) += if a < b { 1 } else { -1 };
        }
    }
    if let Some(((a, b), _)) = sides.iter().find(|(_, n)| **n != 0) {
        let message =
            format!("the surface `{on}` is open at the edge of points {a} and {b}: gas would flow out there");
        notes.error("on", message);
        return None;
    }
    Some(skin.triangles.iter().map(|t| t.map(PointId)).collect())
}

/// Neighbours of a set by `along`, as global point numbers: one tuple for each of the `edges`.
fn along<const K: usize>(
    name: &str,
    sets: &[super::ParticleSet],
    points: &Points,
    notes: &mut Notes,
    edges: Edges,
    tuples: impl Fn(&Arrangement) -> Vec<[usize; K]>,
) -> Vec<[PointId; K]> {
    let place = points.names.sets.get(name).map(|(place, _)| *place);
    let Some(k) = place.filter(|&k| k < sets.len()) else {
        let full = notes.is_full();
        let known = if full { Vec::new() } else { sets.iter().map(|s| s.name.clone()).collect() };
        let message = format!("names `{name}`, which is no set of particles of the scene");
        notes.misspelt("along", message, Some((name.to_string(), known)));
        return Vec::new();
    };
    if !notes.room_for("along", sets[k].arrangement.edge_count(edges)) {
        return Vec::new();
    }
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
        Some(name) => along(name, sets, points, notes, set.edges, |a| a.edges(set.edges)),
        None => Vec::new(),
    };
    let neighbours = ends.len();
    notes.room_for("pairs", set.pairs.len());
    for [a, b] in &set.pairs {
        let one =
            |text: &String, notes: &mut Notes| points.names.one(notes, "pairs", &points.names.pushed(text));
        let (a, b) = (one(a, notes), one(b, notes));
        ends.extend(a.zip(b).map(|(a, b)| [a, b]));
    }
    if set.along.is_none() && set.pairs.is_empty() {
        notes.error("", "needs `along` or `pairs`");
    }
    let mut out = Vec::with_capacity(ends.len());
    for (k, ends) in ends.into_iter().enumerate() {
        let [a, b] = ends.map(PointId::index);
        let length = (points.x[b] - points.x[a]).norm();
        let sound = length > 0.0 && length.is_finite();
        if !sound && !notes.is_full() {
            let key = if k < neighbours { "along" } else { "pairs" };
            let (from, to) = (describe(points, a), describe(points, b));
            let message = match a == b {
                true => format!("a spring joins {from} with itself"),
                false if length > 0.0 => {
                    format!("{from} and {to} are too far apart: their distance overflows")
                }
                false => {
                    format!("the spring between {from} and {to} has no length, so its direction is undefined")
                }
            };
            notes.error(key, message);
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
        Some(name) => along(name, sets, points, notes, Edges::Bend, Arrangement::corners),
        None => Vec::new(),
    };
    let neighbours = triples.len();
    notes.room_for("triples", set.triples.len());
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
    for (k, points3) in triples.into_iter().enumerate() {
        let [a, b, c] = points3.map(|i| points.x[i.index()]);
        let (u, w) = (a - b, c - b);
        let length = u.norm() * w.norm();
        let sound = length > 0.0 && length.is_finite();
        if !sound && !notes.is_full() {
            let key = if k < neighbours { "along" } else { "triples" };
            let middle = describe(points, points3[1].index());
            let what = if length > 0.0 { "is too long to compute with" } else { "has no length" };
            notes.error(key, format!("an arm of the angle at {middle} {what}"));
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
    let before = notes.found;
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
            (notes.found == before)
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
            (notes.found == before).then(|| Box::new(AllPairs { on, law: set.law.clone() }) as Box<dyn Force>)
        }
    }
}

fn expectations(expect: &[super::Expectation], model: &Model, notes: &mut Notes) {
    for (k, e) in expect.iter().enumerate() {
        notes.at("expect", k, "");
        if e.quantity != "energy.drift"
            && let Err(unknown) = Quantity::parse(model, &e.quantity)
        {
            notes.misspelt("quantity", unknown.to_string(), Some((unknown.misspelt, unknown.candidates)));
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

#[cfg(test)]
mod tests {
    use super::super::{
        CustomForce, DragSet, Expectation, Fix, MappedPoints, MotionSet, ParticleSet, SpringSet,
    };
    use super::*;

    /// Table, index, key and message of each mistake.
    fn mistakes(scene: Scene) -> Vec<(&'static str, usize, &'static str, String)> {
        let errors = scene.build().map(|_| ()).unwrap_err().errors;
        errors.into_iter().map(|e| (e.place.table, e.place.index, e.place.key, e.message)).collect()
    }

    fn two() -> Scene {
        let mut scene = Scene::new();
        scene.add(ParticleSet::at("a", [0.0; 3])).add(ParticleSet::at("b", [1.0, 0.0, 0.0]));
        scene
    }

    #[test]
    fn mistakes_beyond_the_ones_told_still_stop_the_build() {
        let mut scene = Scene::new();
        for k in 0..MOST_ERRORS + 5 {
            scene.add(ParticleSet::at(format!("p{k}"), [k as f64, 0.0, 0.0]).mass(-1.0));
        }
        scene.add(MappedPoints {
            name: "ghost".into(),
            of: vec!["nobody".into()],
            ..MappedPoints::default()
        });
        assert_eq!(mistakes(scene).len(), MOST_ERRORS);
    }

    #[test]
    fn a_mistake_is_noted_at_its_own_key() {
        let mut scene = two();
        scene.particles[1].position = Vec3::zeros();
        scene.particles[0].mass = Masses::Total(1e-320);
        scene.add(SpringSet::between("s", "a", "b").stiffness(1.0));
        scene.add(Fix { on: vec!["a".into()], directions: vec![Vec3::repeat(1e300)], ..Fix::default() });
        let velocity = Motion::Velocity(Vec3::x());
        scene.add(MotionSet { on: vec!["b".into(), "b".into()], ..MotionSet::new("b", velocity.clone()) });
        scene.add(MotionSet::new("b", velocity));
        let found = mistakes(scene);
        let places: Vec<_> = found.iter().map(|(table, index, key, _)| (*table, *index, *key)).collect();
        let wanted = [
            ("particles", 0, "total_mass"),
            ("fix", 0, "directions"),
            ("motion", 1, "on"),
            ("springs", 0, "pairs"),
        ];
        assert_eq!(places, wanted, "{found:?}");
    }

    #[test]
    fn places_where_numbers_overflow_are_refused() {
        let far = Arrangement::Grid { size: Vec3::repeat(1.7e308), count: [2, 1, 1] };
        let mut scene = Scene::new();
        scene.add(ParticleSet::new("far", far).position([1.7e308, 0.0, 0.0]));
        assert_eq!(mistakes(scene)[0].2, "position");
        let mut scene = two();
        scene.particles[1].position = Vec3::repeat(1e200);
        scene.add(SpringSet::between("s", "a", "b").stiffness(1.0));
        assert!(mistakes(scene)[0].3.contains("too far apart"));
    }

    #[test]
    fn a_short_scene_cannot_fill_the_memory() {
        let mut scene = Scene::new();
        scene.add(ParticleSet::new(
            "many",
            Arrangement::Grid { size: Vec3::repeat(1.0), count: [10, 10, 10] },
        ));
        let often = vec!["many".to_string(); 100_000];
        scene.add(Fix { on: often.clone(), ..Fix::default() });
        scene.add(MappedPoints { name: "more".into(), of: often, ..MappedPoints::default() });
        let found = mistakes(scene);
        assert!(found.len() == 1 && found[0].3.contains("names 100000000 points"), "{found:?}");
    }

    #[test]
    fn a_great_many_unnamed_forces_are_named_in_time() {
        let mut scene = two();
        for _ in 0..20_000 {
            scene.add(DragSet { linear: 1.0, ..DragSet::default() });
        }
        scene.add(DragSet { name: "drag20001".into(), linear: 1.0, ..DragSet::default() });
        let sim = scene.build().unwrap();
        assert_eq!(sim.model.forces[1].name, "drag");
        assert_eq!(sim.model.forces[20_000].name, "drag20000");
    }

    #[test]
    fn a_misspelt_name_in_a_quantity_comes_with_names_of_its_kind() {
        for (text, misspelt, candidate) in [
            ("ab.z", "ab", "a"),
            ("a.zz", "zz", "z"),
            ("energy.totl", "totl", "total"),
            ("tme", "tme", "time"),
        ] {
            let mut scene = two();
            scene.add(Expectation { quantity: text.into(), value: Some(0.0), ..Expectation::default() });
            let error = scene.build().unwrap_err().errors.remove(0);
            let (word, known) = error.misspelt.unwrap();
            assert!(word == misspelt && known.iter().any(|k| k == candidate), "{text}: {word} {known:?}");
        }
    }

    #[test]
    fn a_tuple_of_too_many_points_is_refused() {
        let mut scene = Scene::new();
        let grid = Arrangement::Grid { size: Vec3::repeat(1.0), count: [17, 1, 1] };
        scene.add(ParticleSet::new("many", grid));
        scene.add(CustomForce::on_tuple("mine", &["many"], |_, _, _, _| ()));
        let found = mistakes(scene);
        assert_eq!((found[0].0, found[0].2), ("custom", "on"), "{found:?}");
    }

    #[test]
    fn a_custom_force_on_an_unknown_point_is_refused() {
        let mut scene = two();
        scene.add(CustomForce::on_each("mine", &["c"], |_, _, _, _| Vec3::zeros()));
        assert_eq!(mistakes(scene)[0].0, "custom");
    }
}
