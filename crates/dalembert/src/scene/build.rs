//! From what was written to a model and a first state.
//!
//! In order: numbers of the scene, points (particles, then carried ones), forces, filters, expectations. Each part
//! notes its mistakes and goes on, so that a user sees all of them at once.

use std::sync::Arc;

use super::build_affine_joints;
use super::build_contact;
use super::build_coupling;
use super::build_free_bodies;
use super::build_mechanism;
use super::build_robot;
use super::build_touch;
use super::diagnostics::Diagnostics;
use super::expanded::{self, Expanded};
use super::filters::filters;
use super::forces::forces;
use super::layout::{Points, points};
use super::prescribed;
use super::{BuildError, Expectation, Scene, expect, method, rigid, unused};
use crate::bodies::Particles;
use crate::filters::Filters;
use crate::math::{set_triple, triple};
use crate::model::{IpcModel, Model, NamedRobot, RobotPlace};
use crate::robot::RobotState;
use crate::state::{Block, BlockKind, Layout, State};
use crate::step::{Method, Scheme, Simulation, StepReport, Workspace};

/// Validates and compiles a scene: the order in which its parts are made.
pub(super) fn build(mut scene: Scene) -> Result<Simulation, BuildError> {
    let mut notes = Diagnostics::default();
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
    let prescribed = prescribed::prescribed(&scene, &mut notes);
    let touching = build_touch::joined(&scene, &prescribed);
    let expanded = expanded::expand(&mut scene, &mut notes);
    let Some(mut points) = points(&mut scene, &expanded, &prescribed, &mut notes) else {
        return Err(notes.refusal());
    };
    let filters = filters(&scene, &points, &mut notes);
    let affine = build_affine_joints::joints(
        &mut scene,
        &expanded,
        &points.blocks,
        &points.names,
        &points.x,
        points.layout.particles,
        &mut notes,
    );
    let joined = build_mechanism::constraints(&mut scene, &points, &prescribed, &mut notes);
    points.layout.constraints = joined.constraints.len();
    (points.layout.turns, points.layout.joints) = (joined.turns, joined.joints);
    points.layout.looks_back = looks_back(&scene.method);
    let (ipc, massless) = ipc_model(&mut scene, &expanded, &mut points, affine, &filters, &mut notes);
    robots.extend(build_robot::robots(&mut scene, &mut whole, &mut notes));
    for (named, _) in &mut robots {
        named.place = RobotPlace::append(&named.robot, &mut points.layout);
    }
    let touch = touching.and_then(|joined| {
        let parts: Vec<_> = robots.iter().map(|(part, _)| part).collect();
        let (blocks, shapes) = (&points.blocks, &points.bodies.shapes);
        build_touch::touch_model(&scene, &joined, blocks, shapes, &filters, &parts, &mut notes)
    });
    let (title, method, dt, expect) =
        (scene.title.clone(), scene.method.clone(), scene.dt, std::mem::take(&mut scene.expect));
    let (gravity, assemble) = (scene.gravity, scene.assemble);
    let surfaces = expanded.surfaces(&points.blocks, &scene.points);
    let obstacles = scene.obstacle.iter().map(|o| (o.name.clone(), o.shape)).collect();
    let forces = forces(scene, &points, &surfaces, &expanded.forces, &mut notes);
    if !notes.errors.is_empty() {
        return Err(notes.refusal());
    }

    let mut state = start(&points, &robots);
    let particles = particles(&points, &expanded, &massless);
    let Points { layout, mut blocks, mappings, bodies, generalized, .. } = points;
    let (start_places, origins) =
        (start_places(&layout, &state.q, &affine_places(&blocks)), expanded.origins_of_affine(&blocks));
    let robots: Vec<NamedRobot> = robots.into_iter().map(|(named, _)| named).collect();
    blocks.extend(robots.iter().map(|named| named.block(&layout)));
    let contact_reader = match method {
        Method::Ipc(settings) if ipc.as_ref().is_some_and(|m| m.geometry.can_touch()) => {
            Some(settings.reader(dt))
        }
        _ => None,
    };
    let model = Model {
        title,
        layout,
        gravity,
        rigid: bodies.rigid,
        shapes: bodies.shapes,
        generalized,
        particles,
        mappings,
        forces,
        constraints: joined.constraints,
        filters,
        surfaces,
        obstacles,
        robots,
        start_places,
        size: 1.0,
        origins,
        blocks,
        ipc,
        contact_reader,
        rigid_contact: touch,
        warnings: Vec::new(),
    };
    model.settle(&mut state);
    model.update_turns(&state.q, &state.v, &mut state.turns);
    if assemble {
        pull_together(&model, &mut state, &joined.places, &mut notes);
    }
    simulation(model, state, method, dt, &expect, notes)
}

/// Checks what is expected of the model, notes what it does not use, and puts it at its start.
fn simulation(
    mut model: Model,
    state: State,
    method: Method,
    dt: f64,
    expect: &[Expectation],
    mut notes: Diagnostics,
) -> Result<Simulation, BuildError> {
    expect::check(expect, &model, &mut notes);
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

/// True if the scheme needs the step before.
fn looks_back(method: &Method) -> bool {
    match method {
        Method::Implicit(e) => e.scheme == Scheme::Bdf2,
        Method::Ipc(e) => e.scheme == Scheme::Bdf2,
        _ => false,
    }
}

/// What `ipc` must know, the joints of affine bodies among it, and which points have no mass because an articulation stands for
/// them.
fn ipc_model(
    scene: &mut Scene,
    expanded: &Expanded,
    points: &mut Points,
    mut affine: build_affine_joints::Joined,
    filters: &Filters,
    notes: &mut Diagnostics,
) -> (Option<IpcModel>, Vec<bool>) {
    let masses = &points.masses[..points.layout.particles];
    let made = build_contact::ipc_model(scene, expanded, &points.blocks, masses, &points.x, filters, notes);
    let Some(mut ipc) = made else { return (None, Vec::new()) };
    points.layout.turns += affine.joints.memory(affine.rows.len());
    affine.joints.inertia = affine_inertia(points, expanded, &ipc.held);
    let massless;
    (ipc.articulations, massless) =
        build_coupling::articulations(scene, expanded, &points.blocks, &affine, &ipc.held, notes);
    (ipc.rows, ipc.joints) = (affine.rows, affine.joints);
    for (i, _) in massless.iter().enumerate().filter(|(_, none)| **none) {
        points.masses[i] = 0.0;
    }
    (Some(ipc), massless)
}

/// Masses of all points, with the inertia that points of deformables share.
fn particles(points: &Points, expanded: &Expanded, massless: &[bool]) -> Particles {
    let mut particles = Particles::new(&points.masses, points.layout.particles, points.layout.points);
    particles.shared = expanded.shared_inertia(&points.blocks);
    particles.shared.retain(|(i, ..)| !massless.get(*i as usize).copied().unwrap_or(false));
    particles
}

/// The first state.
fn start(points: &Points, robots: &[(NamedRobot, RobotState)]) -> State {
    let Points { layout, x, v, bodies, coordinates: (u, du), .. } = points;
    let mut state = State::new(layout);
    for (named, start) in robots {
        named.store(start, &mut state);
        named.control_mut(&mut state).copy_from_slice(&start.control);
    }
    for (k, b) in bodies.start.iter().enumerate() {
        state.q[7 * k..7 * k + 7].copy_from_slice(&rigid::coordinates(b));
        set_triple(&mut state.v, 2 * k, &b.v);
        set_triple(&mut state.v, 2 * k + 1, &b.w);
    }
    let r = layout.rigid;
    state.q[7 * r..7 * r + u.len()].copy_from_slice(u);
    state.v[6 * r..6 * r + du.len()].copy_from_slice(du);
    for i in 0..layout.particles {
        set_triple(&mut state.q[layout.points_q()..], i, &x[i]);
        set_triple(&mut state.v[layout.points_v()..], i, &v[i]);
    }
    state
}

/// Pulls bodies together where exact joints gape, and notes those that still do.
fn pull_together(
    model: &Model,
    state: &mut State,
    places: &[build_mechanism::Place],
    notes: &mut Diagnostics,
) {
    crate::step::assemble(model, state);
    for (c, gap) in crate::step::gaps(model, state) {
        if !(gap < 1e-6) {
            let (table, index) = places[c];
            notes.at(table, index, &model.constraints[c].name);
            let message = format!(
                "still gapes by {gap:.3e} (m or rad) after `assemble`: it contradicts the other joints, or they are too far apart"
            );
            notes.error("", message);
        }
    }
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

fn numbers(scene: &Scene, notes: &mut Diagnostics) {
    notes.at("", 0, "");
    notes.positive("dt", scene.dt);
    notes.not_negative("duration", scene.duration);
    notes.finite3("gravity", &scene.gravity);
    if scene.dt > 0.0 && scene.duration / scene.dt > 1e12 {
        notes
            .error("dt", format!("{} s in steps of {} s is more than 10^12 steps", scene.duration, scene.dt));
    }
    method::check(&scene.method, notes);
    let soft = scene.soft.len() + scene.cloth.len() + scene.rod.len() + scene.affine.len();
    let nothing = scene.particles.is_empty() && soft == 0;
    if nothing && scene.rigid.is_empty() && scene.generalized.is_empty() && scene.robot.is_empty() {
        notes.error("particles", "the scene is empty: it needs particles or bodies");
    }
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

#[cfg(test)]
mod tests {
    use super::super::diagnostics::MOST_ERRORS;
    use super::super::{
        Arrangement, CustomForce, DragSet, Expectation, Fix, MappedPoints, Masses, MotionSet, ParticleSet,
        SpringSet,
    };
    use super::*;
    use crate::filters::Motion;
    use crate::math::Vec3;

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
