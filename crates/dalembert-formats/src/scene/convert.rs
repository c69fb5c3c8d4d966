//! From a checked tree to the scene of the engine, and from a mistake in the scene back to its line.

use dalembert::filters::{Motion, Ride};
use dalembert::forces::spatial::PairLaw;
use dalembert::forces::unary::Attraction;
use dalembert::math::{Signal, Vec3};
use dalembert::scene::{
    AngularSpringSet, Arrangement, AttractorSet, ContactRule, DragSet, Edges, Expectation, Fix, Ground,
    Masses, MotionSet, PairForce, ParticleSet, PushSet, Reach, Scene, SceneError, SpringSet, Velocities,
    Warning,
};
use dalembert::solve::linear::{LinearSolver, Preconditioner};
use dalembert::step::{
    Explicit, Impacts, Implicit, Impulse, Integrator, Ipc, Lagrange, Method, RowSolver, Scheme,
};

use super::convert_deformable::{affine, inside, points, soft_bodies};
use super::convert_mechanism::{bead, gear, generalized, joint, rigid};
use super::convert_robot::robot;
use super::convert_sheet::{cloths, obstacle, pressure, rod};

use crate::assets::Assets;
use crate::describe::View;
use crate::error::{Diagnostic, Files, Problems, SceneFileError, Span};
use crate::tree::{Node, Value};

/// The scene that a file describes, and warnings.
pub(super) fn scene(
    root: &View<'_>,
    files: &Files,
    assets: &Assets,
) -> Result<(Scene, Vec<Method>, Vec<Diagnostic>), SceneFileError> {
    let mut problems = Problems::default();
    let methods = methods(root, files, &mut problems);
    let chosen = methods.iter().find(|m| m.name() == root.text("method"));
    let scene = Scene {
        title: root.text("title").to_owned(),
        description: root.text("description").to_owned(),
        method: chosen.cloned().unwrap_or_default(),
        dt: root.number("dt"),
        duration: root.number("duration"),
        gravity: root.vec3("gravity").into(),
        seed: root.integer("seed").unsigned_abs(),
        assemble: root.bool("assemble"),
        rigid: root.tables("rigid").iter().filter_map(|t| rigid(t, files, &mut problems)).collect(),
        joint: root.tables("joint").iter().map(|t| joint(t, files, &mut problems)).collect(),
        gear: each(root, "gear", gear),
        bead: root.tables("bead").iter().map(|t| bead(t, files, &mut problems)).collect(),
        generalized: root
            .tables("generalized")
            .iter()
            .map(|t| generalized(t, files, &mut problems))
            .collect(),
        robot: root.tables("robot").iter().filter_map(|t| robot(t, files, assets, &mut problems)).collect(),
        particles: each(root, "particles", particles),
        soft: soft_bodies(root, files, &mut problems),
        cloth: cloths(root, files, &mut problems),
        rod: each(root, "rod", rod),
        affine: root.tables("affine").iter().filter_map(|t| affine(t, files, &mut problems)).collect(),
        points: root.tables("points").iter().map(|t| points(t, files, &mut problems)).collect(),
        springs: root.tables("springs").iter().flat_map(|t| springs(t, files, &mut problems)).collect(),
        angular_springs: each(root, "angular_springs", angular_springs),
        drag: each(root, "drag", |t| DragSet {
            name: name(t),
            on: texts(t, "on"),
            linear: t.number("linear"),
            quadratic: t.number("quadratic"),
            wind: t.vec3("wind").into(),
        }),
        push: root.tables("push").iter().map(|t| push(t, files, &mut problems)).collect(),
        attractor: each(root, "attractor", attractor),
        obstacle: root.tables("obstacle").iter().map(|t| obstacle(t, files, &mut problems)).collect(),
        pressure: each(root, "pressure", pressure),
        pair_force: each(root, "pair_force", pair_force),
        custom: Vec::new(),
        ground: each(root, "ground", |t| Ground {
            name: name(t),
            point: t.vec3("point").into(),
            normal: t.vec3("normal").into(),
            belt: t.vec3("belt").into(),
        }),
        contact: each(root, "contact", |t| {
            let between = texts(t, "between");
            ContactRule {
                between: [0, 1].map(|k| between.get(k).cloned().unwrap_or_default()),
                friction: t.maybe_number("friction"),
                restitution: t.maybe_number("restitution"),
                torsional_friction: t.maybe_number("torsional_friction"),
                rolling_friction: t.maybe_number("rolling_friction"),
                stiffness: t.maybe_number("stiffness"),
                damping: t.number("damping"),
                enabled: t.bool("enabled"),
            }
        }),
        fix: root.tables("fix").iter().map(|t| fix(t, files, &mut problems)).collect(),
        motion: root.tables("motion").iter().map(|t| motion(t, files, &mut problems)).collect(),
        expect: root.tables("expect").iter().map(|t| expectation(t, files, &mut problems)).collect(),
        ..Scene::default()
    };
    Ok((scene, methods, problems.finish()?))
}

fn each<T>(root: &View<'_>, key: &str, turn: impl Fn(&View<'_>) -> T) -> Vec<T> {
    root.tables(key).iter().map(turn).collect()
}

pub(super) fn name(table: &View<'_>) -> String {
    table.maybe_text("name").unwrap_or_default().to_owned()
}

pub(super) fn texts(table: &View<'_>, key: &str) -> Vec<String> {
    table.texts(key).into_iter().map(str::to_owned).collect()
}

pub(super) fn vec3s(table: &View<'_>, key: &str) -> Vec<Vec3> {
    table.vec3s(key).into_iter().map(Vec3::from).collect()
}

/// Counts are checked to be small and not negative.
pub(super) fn count(value: i64) -> usize {
    usize::try_from(value).unwrap_or_default()
}

pub(super) fn counts<const N: usize>(table: &View<'_>, key: &str) -> [usize; N] {
    let mut out = [0; N];
    for (slot, value) in out.iter_mut().zip(table.integers(key)) {
        *slot = count(value);
    }
    out
}

/// Rows of N texts, such as the pairs of points of springs.
fn text_rows<const N: usize>(table: &View<'_>, key: &str) -> Vec<[String; N]> {
    let Some(Value::List(rows)) = table.node(key).map(|node| &node.value) else { return Vec::new() };
    let row = |node: &Node| match &node.value {
        Value::List(items) => std::array::from_fn(|i| match items.get(i).map(|item| &item.value) {
            Some(Value::Text(text)) => text.clone(),
            _ => String::new(),
        }),
        _ => std::array::from_fn(|_| String::new()),
    };
    rows.iter().map(row).collect()
}

/// All methods, each with the settings that the file gives it.
fn methods(root: &View<'_>, files: &Files, problems: &mut Problems) -> Vec<Method> {
    let mut explicit = Explicit::default();
    if let Some(t) = root.table("explicit") {
        explicit.integrator = integrator(&t, explicit.integrator, files, problems);
        (explicit.tolerance, explicit.min_step) = (t.number("tolerance"), t.number("min_step"));
    }
    let mut lagrange = Lagrange::default();
    if let Some(t) = root.table("lagrange") {
        lagrange.integrator = integrator(&t, lagrange.integrator, files, problems);
        (lagrange.tolerance, lagrange.min_step) = (t.number("tolerance"), t.number("min_step"));
        (lagrange.projection, lagrange.baumgarte) = (t.bool("projection"), t.number("baumgarte"));
        (lagrange.friction, lagrange.restitution) = (t.number("friction"), t.number("restitution"));
        lagrange.impacts = Impacts::from_name(t.text("impacts")).unwrap_or_default();
        lagrange.rest_speed = t.number("rest_speed");
    }
    let mut impulse = Impulse::default();
    if let Some(t) = root.table("impulse") {
        let whole = |key: &str| u32::try_from(t.integer(key)).unwrap_or(1);
        impulse.solver = match t.text("solver") {
            "pgs" => RowSolver::Pgs { sweeps: whole("sweeps") },
            _ => RowSolver::Direct,
        };
        (impulse.substeps, impulse.projection) = (whole("substeps"), t.bool("projection"));
        (impulse.friction, impulse.restitution) = (t.number("friction"), t.number("restitution"));
        (impulse.bounce_speed, impulse.push_speed) = (t.number("bounce_speed"), t.number("push_speed"));
        (impulse.tolerance, impulse.most_sweeps) = (t.number("tolerance"), whole("contact_sweeps"));
        impulse.sleep_after = t.maybe_number("sleep_after").unwrap_or(f64::INFINITY);
        impulse.sleep_speed = t.number("sleep_speed");
        sleepless(&t, files, problems);
        if t.has("sweeps") && impulse.solver == RowSolver::Direct {
            let message = "`sweeps` has no effect: the solver `direct` does not sweep";
            problems.push(files.warning(t.key_span("sweeps"), message));
        }
    }
    let mut implicit = Implicit::default();
    if let Some(t) = root.table("implicit") {
        implicit.scheme = Scheme::from_name(t.text("scheme")).unwrap_or_default();
        implicit.newton = u32::try_from(t.integer("newton")).unwrap_or(0);
        implicit.tolerance = t.number("tolerance");
        (implicit.rayleigh_mass, implicit.rayleigh_stiffness) =
            (t.number("rayleigh_mass"), t.number("rayleigh_stiffness"));
        implicit.solver = linear_solver(&t, files, problems);
        if t.has("tolerance") && implicit.most_newton() == 1 {
            let message = "`tolerance` has no effect: with one Newton iteration per step nothing is repeated";
            problems.push(files.warning(t.key_span("tolerance"), message));
        }
    }
    let mut ipc = Ipc::default();
    if let Some(t) = root.table("ipc") {
        ipc.scheme = Scheme::from_name(t.text("scheme")).unwrap_or_default();
        ipc.tolerance = t.number("tolerance");
        ipc.most_newton = u32::try_from(t.integer("newton")).unwrap_or(1);
        ipc.gap = t.maybe_number("gap");
        ipc.friction = t.number("friction");
        ipc.friction_speed = t.number("friction_speed");
        ipc.friction_passes = u32::try_from(t.integer("friction_passes")).unwrap_or(1);
        ipc.contact_stiffness = t.number("contact_stiffness");
        ipc.rigid_stiffness = t.number("rigid_stiffness");
        ipc.sleep_after = t.maybe_number("sleep_after").unwrap_or(f64::INFINITY);
        ipc.sleep_speed = t.number("sleep_speed");
        sleepless(&t, files, problems);
        let tolerance = t.number("linear_tolerance");
        if t.has("linear_tolerance") && t.text("solver") == "direct" {
            let message = "`linear_tolerance` has no effect: the solver `direct` does not use it";
            problems.push(files.warning(t.key_span("linear_tolerance"), message));
        }
        ipc.solver = match t.text("solver") {
            "direct" => LinearSolver::Direct,
            "cg" => LinearSolver::Cg {
                preconditioner: Preconditioner::TwoLevel,
                tolerance,
                most_iterations: 10_000,
            },
            _ => LinearSolver::Automatic { tolerance },
        };
    }
    vec![
        Method::Explicit(explicit),
        Method::Lagrange(lagrange),
        Method::Impulse(impulse),
        Method::Implicit(implicit),
        Method::Ipc(ipc),
    ]
}

/// Warns about a speed of falling asleep where nothing does.
fn sleepless(t: &View<'_>, files: &Files, problems: &mut Problems) {
    if t.has("sleep_speed") && !t.has("sleep_after") {
        let message = "`sleep_speed` has no effect without `sleep_after`: nothing falls asleep";
        problems.push(files.warning(t.key_span("sleep_speed"), message));
    }
}

/// The linear solver that a table names; warns about settings that it does not use.
fn linear_solver(t: &View<'_>, files: &Files, problems: &mut Problems) -> LinearSolver {
    let tolerance = t.number("linear_tolerance");
    let mut unused = |keys: &[&str]| {
        for key in keys.iter().filter(|key| t.has(key)) {
            let message = format!("`{key}` has no effect: the solver `{}` does not use it", t.text("solver"));
            problems.push(files.warning(t.key_span(key), message));
        }
    };
    match t.text("solver") {
        "cg" => LinearSolver::Cg {
            preconditioner: match t.text("preconditioner") {
                "none" => Preconditioner::None,
                "block_jacobi" => Preconditioner::BlockJacobi,
                "incomplete_cholesky" => Preconditioner::IncompleteCholesky,
                _ => Preconditioner::TwoLevel,
            },
            tolerance,
            most_iterations: count(t.integer("iterations")),
        },
        "direct" => {
            unused(&["preconditioner", "iterations", "linear_tolerance"]);
            LinearSolver::Direct
        }
        _ => {
            unused(&["preconditioner", "iterations"]);
            LinearSolver::Automatic { tolerance }
        }
    }
}

/// The integrator that a table names; warns about settings that it does not use.
fn integrator(t: &View<'_>, preset: Integrator, files: &Files, problems: &mut Problems) -> Integrator {
    let integrator = Integrator::from_name(t.text("integrator")).unwrap_or(preset);
    for key in ["tolerance", "min_step"] {
        if t.has(key) && !integrator.is_adaptive() {
            let name = integrator.name();
            let message = format!("`{key}` has no effect: the integrator `{name}` does not adapt its steps");
            problems.push(files.warning(t.key_span(key), message));
        }
    }
    integrator
}

fn particles(t: &View<'_>) -> ParticleSet {
    let arrangement = if t.has("positions") {
        Arrangement::Positions(vec3s(t, "positions"))
    } else if let Some(chain) = t.table("chain") {
        Arrangement::Chain {
            from: chain.vec3("from").into(),
            to: chain.vec3("to").into(),
            count: count(chain.integer("count")),
        }
    } else if let Some(grid) = t.table("grid") {
        Arrangement::Grid { size: grid.vec3("size").into(), count: counts(&grid, "count") }
    } else if let Some(cloth) = t.table("cloth") {
        let size = cloth.numbers("size");
        let side = |i: usize| size.get(i).copied().unwrap_or_default();
        Arrangement::Cloth { size: [side(0), side(1)], count: counts(&cloth, "count") }
    } else if let Some(cloud) = t.table("cloud") {
        Arrangement::Cloud {
            size: cloud.vec3("size").into(),
            count: count(cloud.integer("count")),
            seed: cloud.maybe_integer("seed").map(i64::unsigned_abs),
        }
    } else {
        Arrangement::default()
    };
    let is_list = |key: &str| matches!(t.node(key).map(|node| &node.value), Some(Value::List(_)));
    let mass = match t.maybe_number("total_mass") {
        Some(total) => Masses::Total(total),
        None if is_list("mass") => Masses::List(t.numbers("mass")),
        None => Masses::Each(t.number("mass")),
    };
    let velocity = match t.maybe_vec3("velocity") {
        Some(each) => Velocities::Each(each.into()),
        None => Velocities::List(vec3s(t, "velocity")),
    };
    let radius = t.maybe_number("radius");
    ParticleSet { name: name(t), arrangement, position: t.vec3("position").into(), mass, velocity, radius }
}

/// One set for each word of `edges`; pairs go with the first.
fn springs(t: &View<'_>, files: &Files, problems: &mut Problems) -> Vec<SpringSet> {
    if t.has("edges") && !t.has("along") {
        let message = "`edges` has no meaning without `along`";
        problems.push(files.error(t.key_span("edges"), message));
    }
    let words = t.texts("edges");
    let base = name(t);
    let named = |word: &str| match (words.len(), base.as_str()) {
        (1, _) => base.clone(),
        (_, "") => format!("springs_{word}"),
        (_, base) => format!("{base}_{word}"),
    };
    let set = |(i, word): (usize, &&str)| {
        if words[..i].contains(word) {
            let message = format!("`{word}` stands twice in `edges`");
            problems.push(files.error(t.item_span("edges", i), message));
        }
        SpringSet {
            name: named(word),
            along: t.maybe_text("along").map(str::to_owned),
            edges: Edges::ALL.iter().find(|(known, _)| known == word).map_or(Edges::default(), |(_, e)| *e),
            pairs: if i == 0 { text_rows(t, "pairs") } else { Vec::new() },
            stiffness: t.number("stiffness"),
            damping: t.number("damping"),
            rest_length: t.maybe_number("rest_length"),
        }
    };
    words.iter().enumerate().map(set).collect()
}

fn angular_springs(t: &View<'_>) -> AngularSpringSet {
    AngularSpringSet {
        name: name(t),
        along: t.maybe_text("along").map(str::to_owned),
        triples: text_rows(t, "triples"),
        stiffness: t.number("stiffness"),
        rest_angle: t.maybe_number("rest_angle"),
    }
}

fn signal(t: &View<'_>, with_pulse: bool) -> Signal {
    if let Some(sine) = t.table("sine") {
        return Signal::Sine { frequency: sine.number("frequency"), phase: sine.number("phase") };
    }
    if let Some(table) = t.table("table") {
        return Signal::Table { times: table.numbers("times"), values: table.numbers("values") };
    }
    match with_pulse.then(|| t.table("pulse")).flatten() {
        Some(pulse) => Signal::Pulse { from: pulse.number("from"), to: pulse.number("to") },
        None => Signal::Constant,
    }
}

fn attractor(t: &View<'_>) -> AttractorSet {
    let law = match t.maybe_number("stiffness") {
        Some(stiffness) => Attraction::Spring { stiffness },
        None => Attraction::Inverse {
            mu: t.maybe_number("mu").unwrap_or_default(),
            softening: t.number("softening"),
        },
    };
    AttractorSet { name: name(t), on: texts(t, "on"), center: t.vec3("center").into(), law }
}

fn pair_force(t: &View<'_>) -> PairForce {
    let (law, reach) = if let Some(law) = t.table("lennard_jones") {
        let sigma = law.number("sigma");
        (PairLaw::LennardJones { epsilon: law.number("epsilon"), sigma }, Reach::Within(2.5 * sigma))
    } else if let Some(law) = t.table("soft_repulsion") {
        let diameter = law.number("diameter");
        (PairLaw::SoftRepulsion { stiffness: law.number("stiffness"), diameter }, Reach::Within(diameter))
    } else {
        let law = t.table("gravitation");
        let number = |key: &str| law.map_or(0.0, |law| law.number(key));
        (PairLaw::Gravitation { constant: number("constant"), softening: number("softening") }, Reach::All)
    };
    let reach = t.maybe_number("radius").map_or(reach, Reach::Within);
    PairForce { name: name(t), on: texts(t, "on"), law, reach }
}

fn push(t: &View<'_>, files: &Files, problems: &mut Problems) -> PushSet {
    PushSet {
        name: name(t),
        on: texts(t, "on"),
        inside: inside(t, files, problems),
        force: t.maybe_vec3("force").unwrap_or_default().into(),
        total: t.bool("total"),
        torque: t.maybe_vec3("torque").unwrap_or_default().into(),
        signal: signal(t, true),
    }
}

fn fix(t: &View<'_>, files: &Files, problems: &mut Problems) -> Fix {
    Fix { on: texts(t, "on"), inside: inside(t, files, problems), directions: vec3s(t, "directions") }
}

fn motion(t: &View<'_>, files: &Files, problems: &mut Problems) -> MotionSet {
    let rides = ["angular_velocity", "center", "from", "until", "path"].iter().any(|key| t.has(key));
    let motion = match t.maybe_vec3("velocity") {
        _ if rides => Motion::Ride(ride(t, files, problems)),
        Some(velocity) => Motion::Velocity(velocity.into()),
        None if !t.has("sine") && !t.has("table") => {
            problems.push(files.error(t.key_span("amplitude"), "`amplitude` needs `sine` or `table`"));
            Motion::Velocity(Vec3::zeros())
        }
        None => Motion::Signal {
            amplitude: t.maybe_vec3("amplitude").unwrap_or_default().into(),
            signal: signal(t, false),
        },
    };
    MotionSet { on: texts(t, "on"), inside: inside(t, files, problems), motion }
}

fn ride(t: &View<'_>, files: &Files, problems: &mut Problems) -> Ride {
    let mut path = Vec::new();
    if let Some(table) = t.table("path") {
        let (times, shifts) = (table.numbers("times"), vec3s(&table, "shifts"));
        if times.len() != shifts.len() {
            let message = format!("{} times and {} shifts", times.len(), shifts.len());
            problems.push(files.error(table.span("shifts"), message));
        }
        path = times.into_iter().zip(shifts).collect();
    }
    Ride {
        velocity: t.maybe_vec3("velocity").unwrap_or_default().into(),
        angular_velocity: t.maybe_vec3("angular_velocity").unwrap_or_default().into(),
        center: t.maybe_vec3("center").map(Vec3::from),
        span: [t.maybe_number("from").unwrap_or_default(), t.maybe_number("until").unwrap_or(f64::INFINITY)],
        path,
    }
}

fn expectation(t: &View<'_>, files: &Files, problems: &mut Problems) -> Expectation {
    let (below, above) = (t.maybe_number("below"), t.maybe_number("above"));
    if let (Some(below), Some(above)) = (below, above)
        && below < above
    {
        let message = format!("nothing is both below {below} and above {above}");
        problems.push(files.error(t.span("above"), message));
    }
    if t.has("tolerance") && !t.has("value") {
        let message = "`tolerance` has no effect without `value`";
        problems.push(files.warning(t.key_span("tolerance"), message));
    }
    Expectation {
        quantity: t.text("quantity").to_owned(),
        value: t.maybe_number("value"),
        tolerance: t.number("tolerance"),
        below,
        above,
        always: t.bool("always"),
    }
}

// ------------------------------------------------------------------------- from the scene to lines

/// A mistake that the engine found, at its line.
pub(super) fn diagnostic(root: &View<'_>, files: &Files, error: &SceneError) -> Diagnostic {
    let out = match span(root, error) {
        Some(span) => files.error(span, error.to_string()),
        None => Diagnostic::error(error.to_string()),
    };
    match &error.misspelt {
        Some((word, known)) if !known.contains(word) => {
            out.with_suggestion(word, known.iter().map(String::as_str))
        }
        _ => out,
    }
}

/// What the engine warns of, at its line.
pub(super) fn warning(root: &View<'_>, files: &Files, warning: &Warning) -> Diagnostic {
    let Warning { place, message } = warning.clone();
    match span(root, &SceneError { place, message, misspelt: None }) {
        Some(span) => files.warning(span, warning.to_string()),
        None => Diagnostic::warning(warning.to_string()),
    }
}

/// Where a mistake was made: as near as the file allows. `None` for what was added to the scene by hand.
fn span(root: &View<'_>, error: &SceneError) -> Option<Span> {
    let place = &error.place;
    let table = match place.table {
        "" => *root,
        table => {
            root.description().field(table)?;
            let tables = root.tables(table);
            let index =
                if table == "springs" { spring_entry(&tables, place.index) } else { Some(place.index) };
            match index?.checked_sub(tables.len()) {
                None => tables[index?],
                // The skins of affine bodies come after all points of the file.
                Some(skin) if table == "points" => return Some(root.tables("affine").get(skin)?.place()),
                Some(_) => return None,
            }
        }
    };
    Some(match home(&table, place.key) {
        Some((home, key)) => home
            .node(key)
            .and_then(|node| culprit(node, error))
            .unwrap_or_else(|| if home.has(key) { home.span(key) } else { home.place() }),
        None => table.place(),
    })
}

/// The entry of the file that the `index`-th set of springs of the scene came from.
fn spring_entry(tables: &[View<'_>], index: usize) -> Option<usize> {
    let mut sets = 0;
    tables.iter().position(|table| {
        sets += table.texts("edges").len();
        index < sets
    })
}

/// The table that gives `key`: this one, or one inside it.
fn home<'a>(table: &View<'a>, key: &'static str) -> Option<(View<'a>, &'static str)> {
    if key == "signal" {
        let given = |key: &&&str| table.description().field(key).is_some() && table.has(key);
        return ["sine", "pulse", "table"].iter().find(given).map(|key| (*table, *key));
    }
    // Points of a surface come after `at`; without `at` it is the surface that is wrong.
    let at = |key: &str| table.description().field(key).is_some() && table.has(key);
    if key == "at" && !at("at") && at("surface") {
        return Some((*table, "surface"));
    }
    if key.is_empty() || table.description().field(key).is_some() {
        return (!key.is_empty()).then_some((*table, key));
    }
    // Of the settings of several methods, those of the one in use come first.
    let chosen = table.description().field("method").and_then(|_| table.table(table.text("method")));
    let inside = table.description().fields.iter().filter_map(|field| table.table(field.key));
    chosen
        .into_iter()
        .chain(inside)
        .find(|inside| inside.description().field(key).is_some())
        .map(|inside| (inside, key))
}

/// The text inside `node` that the message is about, such as one name of a list, or the row that it is about.
fn culprit(node: &Node, error: &SceneError) -> Option<Span> {
    let items = match &node.value {
        Value::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let named = |item: &Node| match &item.value {
        Value::List(row) => {
            let all = row.iter().map(|text| mention(text, error)).collect::<Option<Vec<_>>>();
            let whole = all.map(|all| (all.into_iter().min().unwrap_or(0), item.span));
            let one =
                || row.iter().filter_map(|text| Some((mention(text, error)?, text.span))).min_by_key(|m| m.0);
            // A row that is mentioned as a whole comes first.
            whole.map(|(at, span)| ((0, at), span)).or_else(|| one().map(|(at, span)| ((1, at), span)))
        }
        _ => mention(item, error).map(|at| ((1, at), item.span)),
    };
    items.iter().filter_map(named).min_by_key(|(rank, _)| *rank).map(|(_, span)| span)
}

/// Where in the message a text is mentioned: the one that it begins with is the one that it is about.
fn mention(node: &Node, error: &SceneError) -> Option<usize> {
    let Value::Text(text) = &node.value else { return None };
    let base = text.split('[').next().unwrap_or_default();
    match &error.misspelt {
        Some((word, _)) => (word == base).then_some(0),
        None => error.message.find(&format!("`{text}`")),
    }
}
