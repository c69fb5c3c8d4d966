//! Scene files from text to a simulation, and the lines that mistakes are reported at.

use dalembert_formats::error::SceneFileError;
use dalembert_formats::scene::{Built, json_schema, load, load_text, reference};
use dalembert_formats::source::Includes;

const EVERYTHING: &str = include_str!("scenes/everything.toml");

#[track_caller]
fn build(name: &str, text: &str) -> Built {
    load_text(name, text, Includes::None).and_then(|file| file.build()).unwrap_or_else(|e| panic!("{e}"))
}

/// The error of reading or building.
#[track_caller]
fn refusal(name: &str, text: &str) -> SceneFileError {
    match load_text(name, text, Includes::None).and_then(|file| file.build()) {
        Err(error) => error,
        Ok(_) => panic!("accepted:\n{text}"),
    }
}

fn bits(built: &Built) -> Vec<u64> {
    let state = &built.simulation.state;
    state.q.iter().chain(&state.v).map(|x| x.to_bits()).collect()
}

#[test]
fn a_scene_that_uses_every_table_builds_and_runs() {
    let mut built = build("everything.toml", EVERYTHING);
    assert!(built.warnings.is_empty(), "{:?}", built.warnings);
    assert_eq!(built.title, "Everything \"at once\"");
    assert_eq!((built.duration, built.seed, built.expect.len()), (0.05, 7, 3));
    let names: Vec<&str> = built.simulation.model.forces.iter().map(|f| f.name.as_str()).collect();
    let springs = ["band", "springs", "weave_structural", "weave_shear", "weave_bend", "springs2"];
    assert!(springs.iter().all(|name| names.contains(name)), "{names:?}");
    built.simulation.run(built.duration).unwrap();
    assert!(built.simulation.state.q.iter().all(|x| x.is_finite()));
}

#[test]
fn json_reads_back_to_the_same_first_state() {
    let toml = build("everything.toml", EVERYTHING);
    let json = build("everything.json", &toml.json);
    assert_eq!(toml.json, json.json);
    assert_eq!(bits(&toml), bits(&json));
    assert_eq!(toml.expect, json.expect);
}

#[test]
fn the_schema_and_the_reference_name_every_key() {
    let (schema, page) = (json_schema(), reference());
    let value: serde_json::Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(value["title"], "dalembert scene");
    assert!(value.get("$id").is_none() && schema.ends_with("}\n"));
    for key in ["particles", "soft_repulsion", "min_step", "rest_angle", "always"] {
        assert!(schema.contains(&format!("\"{key}\"")) && page.contains(&format!("`{key}`")), "{key}");
    }
}

#[test]
fn a_missing_file_is_an_error_with_its_name() {
    assert!(load("no/such/scene.toml").unwrap_err().to_string().contains("no/such/scene.toml"));
    assert!(refusal("a.toml", "").to_string().contains("the scene is empty"));
}

#[test]
fn an_error_of_the_build_prints_its_line() {
    let text =
        "[[particles]]\nname = \"ball\"\n\n[[springs]]\npairs = [[\"bal\", \"ball\"]]\nstiffness = 1\n";
    assert_eq!(
        refusal("scenes/a.toml", text).to_string(),
        "error: springs number 1, `pairs`: names `bal`, which the scene does not have
 --> scenes/a.toml:5:11
  |
5 | pairs = [[\"bal\", \"ball\"]]
  |           ^^^^^
help: did you mean `ball`?"
    );
}

/// Three particles in seven lines; bad pieces stand from line 8 on.
const GOOD: &str = "\
[[particles]]
name = \"a\"
[[particles]]
name = \"rope\"
chain = { from = [0, 0, 1], to = [0, 0, 2], count = 3 }
mass = 1

";

/// What stands behind [`GOOD`] or alone, the line and column of the only error, a part of its message or help.
const BAD_TAILS: &[(&str, usize, usize, &str)] = &[
    // Names.
    ("[[particles]]\nname = \"a\"\nposition = [1, 0, 0]", 9, 8, "the name `a` is taken"),
    ("[[particles]]\nname = \"a.b\"", 9, 8, "must not contain"),
    ("[[particles]]\nname = \"energy\"", 9, 8, "reserved"),
    ("[[particles]]\nname = \"a b\"", 9, 8, "contains"),
    ("[[particles]]\nmass = 1", 8, 1, "lacks the key `name`"),
    ("[[points]]\nname = \"rope\"\nof = \"a\"", 9, 8, "is taken"),
    ("[[points]]\nname = \"p\"\nof = [\"a\", \"rop[1]\"]", 10, 12, "did you mean `rope`?"),
    ("[[points]]\nname = \"p\"\nof = \"p\"", 10, 6, "form a loop"),
    ("[[points]]\nname = \"p\"\nof = [\"rope\", \"rope[7]\"]", 10, 15, "out of range"),
    (
        "[[drag]]\nname = \"d\"\nlinear = 1\n[[drag]]\nname = \"d\"\nlinear = 1",
        12,
        8,
        "the name `d` is taken",
    ),
    ("[[drag]]\nname = \"total\"\nlinear = 1", 9, 8, "is taken"),
    // Particles.
    ("[[particles]]\nname = \"b\"\nmass = 0", 10, 8, "greater than 0"),
    ("[[particles]]\nname = \"b\"\nmass = [1, -1]", 10, 12, "greater than 0"),
    ("[[particles]]\nname = \"b\"\nmass = [1, 1]", 10, 8, "2 masses stand against 1"),
    ("[[particles]]\nname = \"b\"\nmass = 1e-310", 10, 8, "too small"),
    ("[[particles]]\nname = \"b\"\ntotal_mass = 1e-310", 10, 14, "too small"),
    ("[[particles]]\nname = \"b\"\ntotal_mass = 1\nmass = 1", 11, 1, "exclude each other"),
    ("[[particles]]\nname = \"b\"\nposition = [0, nan, 0]", 10, 16, "finite"),
    ("[[particles]]\nname = \"b\"\nposition = [0, 0]", 10, 12, "a list of 3 numbers"),
    (
        "[[particles]]\nname = \"b\"\nvelocity = [[0, 0, 1], [0, 0, 1]]",
        10,
        12,
        "2 velocities stand against 1",
    ),
    ("[[particles]]\nname = \"b\"\nvelocity = [[0, 0, inf]]", 10, 20, "finite"),
    ("[[particles]]\nname = \"b\"\npositions = []", 10, 13, "non-empty list"),
    (
        "[[particles]]\nname = \"b\"\nchain = { from = [0, 0, 0], to = [0, 0, 0], count = 3 }",
        10,
        9,
        "same place",
    ),
    (
        "[[particles]]\nname = \"b\"\nchain = { from = [0, 0, 0], to = [0, 0, 1], count = 1 }",
        10,
        53,
        "from 2 to",
    ),
    (
        "[[particles]]\nname = \"b\"\nchain = { from = [0, 0, 0], to = [0, 0, 1], count = 2_000_000_000 }",
        10,
        53,
        "from 2 to",
    ),
    (
        "[[particles]]\nname = \"b\"\nchain = { from = [0, 0, 0], to = [0, 0, 1], count = 1e300 }",
        10,
        53,
        "wants an integer",
    ),
    (
        "[[particles]]\nname = \"b\"\ngrid = { size = [1, 1, 1], count = [16000000, 16000000, 16000000] }",
        10,
        8,
        "is the most",
    ),
    (
        "[[particles]]\nname = \"b\"\ngrid = { size = [1, 0, 1], count = [1, 2, 1] }",
        10,
        8,
        "share a length of 0",
    ),
    ("[[particles]]\nname = \"b\"\ngrid = { size = [1, -1, 1], count = [1, 2, 1] }", 10, 21, "at least 0"),
    ("[[particles]]\nname = \"b\"\ncloth = { size = [1, 1], count = [2, 1] }", 10, 38, "from 2 to"),
    ("[[particles]]\nname = \"b\"\ncloud = { size = [1, 1, 1], count = 0 }", 10, 37, "from 1 to"),
    ("[[particles]]\nname = \"b\"\ncloud = { size = [1, 1, 1], count = 1, seed = -1 }", 10, 47, "at least 0"),
    (
        "[[particles]]\nname = \"b\"\nposition = [1.7e308, 0, 0]\ngrid = { size = [1.7e308, 0, 0], count = [2, 1, 1] }",
        10,
        12,
        "overflow",
    ),
    (
        "[[particles]]\nname = \"b\"\nposition = [1, 0, 0]\nposiiton = [1, 0, 0]",
        11,
        1,
        "did you mean `position`?",
    ),
    // Springs.
    ("[[springs]]\nalong = \"rop\"\nstiffness = 1", 9, 9, "did you mean `rope`?"),
    ("[[springs]]\nalong = \"a\"\nstiffness = 1", 9, 9, "no such neighbours"),
    ("[[springs]]\nalong = \"rope\"\nedges = \"bends\"\nstiffness = 1", 10, 9, "did you mean `bend`?"),
    ("[[springs]]\nalong = \"rope\"\nedges = [\"shaer\"]\nstiffness = 1", 10, 10, "did you mean `shear`?"),
    ("[[springs]]\nalong = \"rope\"\nedges = [\"bend\", \"bend\"]\nstiffness = 1", 10, 18, "stands twice"),
    ("[[springs]]\nstiffness = 1", 8, 1, "at least one of `along` and `pairs`"),
    ("[[springs]]\nalong = \"rope\"", 8, 1, "at least one of `stiffness` and `damping`"),
    (
        "[[springs]]\npairs = [[\"a\", \"rope[1]\"]]\nedges = \"bend\"\nstiffness = 1",
        10,
        1,
        "no meaning without `along`",
    ),
    ("[[springs]]\nalong = \"rope\"\nstiffness = -1", 10, 13, "at least 0"),
    (
        "[[springs]]\npairs = [[\"a\", \"rope[1]\"], [\"a\", \"rope\"]]\nstiffness = 1",
        9,
        34,
        "means 3 points",
    ),
    ("[[springs]]\npairs = [[\"a\", \"a\"]]\nstiffness = 1", 9, 10, "with itself"),
    ("[[springs]]\npairs = [[\"a\", \"rope[x]\"]]\nstiffness = 1", 9, 16, "should read"),
    // The second entry of the file is the fourth set of the scene.
    (
        "[[particles]]\nname = \"c\"\ncloth = { size = [1, 1], count = [3, 3] }\n[[springs]]\nalong = \"c\"\nedges = [\"structural\", \"shear\", \"bend\"]\nstiffness = 1\n[[springs]]\nalong = \"cc\"\nstiffness = 1",
        16,
        9,
        "did you mean `c`?",
    ),
    (
        "[[particles]]\nname = \"b\"\n[[springs]]\npairs = [[\"rope[0]\", \"rope[1]\"], [\"b\", \"a\"]]\nstiffness = 1",
        11,
        34,
        "has no length",
    ),
    (
        "[[angular_springs]]\ntriples = [[\"a\", \"rope[0]\", \"rope[5]\"]]\nstiffness = 1",
        9,
        29,
        "out of range",
    ),
    ("[[angular_springs]]\nalong = \"rope\"\nstiffness = 1\nrest_angle = 4", 11, 14, "at most 3.14"),
    (
        "[[angular_springs]]\ntriples = [[\"a\", \"rope[0]\", \"rope[0]\"]]\nstiffness = 1",
        9,
        18,
        "has no length",
    ),
    // Forces.
    ("[[drag]]\non = [\"a\", \"ropes[0:2]\"]\nlinear = 1", 9, 12, "did you mean `rope`?"),
    ("[[drag]]\non = []\nlinear = 1", 9, 6, "non-empty list"),
    ("[[drag]]\nlinear = -0.1", 9, 10, "at least 0"),
    ("[[drag]]\nwind = [1, 0, 0]", 8, 1, "at least one of `linear` and `quadratic`"),
    ("[[push]]\nforce = [0, 0, 1]\nsine = { frequency = inf }", 10, 22, "finite"),
    ("[[push]]\nforce = [0, 0, 1]\npulse = { from = 2, to = 1 }", 10, 9, "before it begins"),
    (
        "[[push]]\nforce = [0, 0, 1]\ntable = { times = [0, 1], values = [1] }",
        10,
        9,
        "2 times stand against 1",
    ),
    (
        "[[push]]\nforce = [0, 0, 1]\ntable = { times = [0, 0], values = [1, 1] }",
        10,
        9,
        "times must increase",
    ),
    (
        "[[push]]\nforce = [0, 0, 1]\nsine = { frequency = 1 }\npulse = { to = 1 }",
        11,
        1,
        "exclude each other",
    ),
    ("[[attractor]]\ncenter = [0, 0, 0]", 8, 1, "exactly one of `mu` and `stiffness`"),
    ("[[attractor]]\nmu = 1\nstiffness = 1", 10, 1, "exclude each other"),
    ("[[attractor]]\ncenter = [0, 0, 0]\nmu = 1", 9, 10, "give a softening"),
    ("[[pair_force]]\nradius = 1", 8, 1, "exactly one of"),
    ("[[pair_force]]\nlennard_jones = { epsilon = -1, sigma = 1 }", 9, 29, "at least 0"),
    ("[[pair_force]]\nsoft_repulsion = { stiffness = 1, diameter = 0 }", 9, 46, "greater than 0"),
    ("[[pair_force]]\nlennard_jones = { epsilon = 1, sigma = 1.7e308 }", 8, 1, "`radius`: must be finite"),
    // Filters and expectations.
    ("[[fix]]\non = \"b\"", 9, 6, "does not have"),
    ("[[fix]]\non = \"a\"\ndirections = [[0, 0, 0]]", 10, 14, "is no direction"),
    ("[[points]]\nname = \"p\"\nof = \"a\"\n[[fix]]\non = \"p\"", 12, 6, "names carried points"),
    (
        "[[motion]]\non = \"a\"",
        8,
        1,
        "at least one of `velocity`, `angular_velocity`, `path` and `amplitude`",
    ),
    ("[[motion]]\non = \"a\"\namplitude = [0, 0, 1]", 10, 1, "`amplitude` needs `sine` or `table`"),
    (
        "[[motion]]\non = \"a\"\npath = { times = [0, 1], shifts = [[0, 0, 1]] }",
        10,
        35,
        "2 times and 1 shifts",
    ),
    (
        "[[motion]]\non = \"a\"\npath = { times = [1, 0], shifts = [[0, 0, 1], [0, 0, 0]] }",
        10,
        8,
        "times must rise, but 0 s follows 1 s",
    ),
    ("[[motion]]\non = \"a\"\nvelocity = [0, 0, 1]\nfrom = 2\nuntil = 1", 12, 9, "must not be before 2 s"),
    ("[[push]]\non = \"a\"\ntorque = [0, 0, 1]", 10, 10, "turns nothing else by a torque"),
    (
        "[[motion]]\non = \"a\"\namplitude = [0, 0, 1]\ntable = { times = [1, 0], values = [0, 0] }",
        11,
        9,
        "times must increase",
    ),
    (
        "[[motion]]\non = \"a\"\nvelocity = [0, 0, 1]\n[[motion]]\non = \"a\"\nvelocity = [0, 0, 1]",
        12,
        6,
        "already has prescribed motion",
    ),
    ("[[expect]]\nquantity = \"rop.z\"\nvalue = 1", 9, 12, "did you mean `rope`?"),
    ("[[expect]]\nquantity = \"energy.kinetik\"\nvalue = 1", 9, 12, "did you mean `kinetic`?"),
    ("[[expect]]\nquantity = \"rope[9].z\"\nvalue = 1", 9, 12, "out of range"),
    ("[[expect]]\nquantity = \"time\"", 8, 1, "at least one of `value`, `below` and `above`"),
    ("[[expect]]\nquantity = \"time\"\nvalue = 1\ntolerance = -1", 11, 13, "at least 0"),
    ("[[expect]]\nquantity = \"time\"\nbelow = 1\nabove = 2", 11, 9, "nothing is both"),
];

const BAD_WHOLE: &[(&str, usize, usize, &str)] = &[
    ("", 1, 1, "the scene is empty"),
    ("title = \"t\"", 1, 1, "the scene is empty"),
    ("dt = 0\n[[particles]]\nname = \"a\"", 1, 6, "greater than 0"),
    ("dt = nan\n[[particles]]\nname = \"a\"", 1, 6, "finite"),
    ("duration = -1\n[[particles]]\nname = \"a\"", 1, 12, "at least 0"),
    ("duration = 1\ndt = 1e-300\n[[particles]]\nname = \"a\"", 2, 6, "10^12 steps"),
    ("gravity = [0, 0, -inf]\n[[particles]]\nname = \"a\"", 1, 18, "finite"),
    ("gravity = -9.81\n[[particles]]\nname = \"a\"", 1, 11, "a list of 3 numbers"),
    ("seed = -1\n[[particles]]\nname = \"a\"", 1, 8, "at least 0"),
    ("method = \"explict\"\n[[particles]]\nname = \"a\"", 1, 10, "did you mean `explicit`?"),
    ("explicit = { integrator = \"rk5\" }\n[[particles]]\nname = \"a\"", 1, 27, "did you mean `rk4`?"),
    (
        "explicit = { integrator = \"dormand_prince\", tolerance = 0 }\n[[particles]]\nname = \"a\"",
        1,
        57,
        "greater than 0",
    ),
    ("[[particle]]\nname = \"a\"\n[[particles]]\nname = \"a\"", 1, 3, "did you mean `particles`?"),
    ("[particles]\nname = \"a\"", 1, 1, "[[particles]]"),
    ("include = \"b.toml\"", 1, 11, "no place among files"),
    ("[[particles]]\nname = ", 2, 8, ""),
];

#[test]
fn every_mistake_is_reported_at_its_line_and_column() {
    assert!(build("a.toml", GOOD).warnings.is_empty());
    let tails =
        BAD_TAILS.iter().map(|(tail, line, column, part)| (format!("{GOOD}{tail}"), line, column, part));
    let wholes = BAD_WHOLE.iter().map(|(text, line, column, part)| (text.to_string(), line, column, part));
    let mut wrong = Vec::new();
    for (text, &line, &column, part) in tails.chain(wholes) {
        let error = refusal("a.toml", &text);
        let elsewhere = error.diagnostics().iter().any(|one| one.line_column() != Some((line, column)));
        if elsewhere || !error.to_string().contains(part) {
            wrong.push(format!("{text}\nwanted {line}:{column} {part}\n{error}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n----\n"));
}

#[test]
fn files_that_are_no_text_or_too_deep_or_in_a_loop_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let error = load(at("bytes.toml", b"title = \"\xff\"")).unwrap_err();
    assert!(error.to_string().contains("not UTF-8"), "{error}");
    assert_eq!(error.diagnostics()[0].line_column(), Some((1, 10)));
    let deep = format!("gravity = {}", "[".repeat(100_000));
    assert!(refusal("a.toml", &deep).to_string().contains("deep"));
    assert!(refusal("a.json", &"{\"a\":".repeat(100_000)).to_string().contains("deep"));
    at("b.toml", b"include = \"a.toml\"");
    let error = load(at("a.toml", b"include = \"b.toml\"\n")).unwrap_err();
    assert!(error.to_string().contains("loop"), "{error}");
}

#[test]
fn errors_in_an_included_file_name_that_file() {
    let rope = "[[springs]]\nalong = \"rope\"\nedges = [\"structural\", \"bend\"]\nstiffness = 1\n";
    let bad = "\n[[springs]]\nalong = \"ropes\"\nstiffness = 1\n";
    let main = format!("include = [\"rope.toml\", \"bad.toml\"]\n{GOOD}");
    let files = [("rope.toml", rope), ("bad.toml", bad)];
    let error = load_text("main.toml", &main, Includes::Embedded(&files)).unwrap().build().unwrap_err();
    let one = &error.diagnostics()[0];
    assert_eq!((one.file_name(), one.line_column()), (Some("bad.toml"), Some((3, 9))));
    // Merged, they are one JSON text.
    let main = main.replace(", \"bad.toml\"", "");
    let built = load_text("main.toml", &main, Includes::Embedded(&files)).unwrap().build().unwrap();
    let again = build("main.json", &built.json);
    assert_eq!((bits(&built), built.json), (bits(&again), again.json));
}

#[test]
fn a_step_too_long_for_the_springs_is_warned_of() {
    // A chain held at both ends: ω² = (4k/m) sin²(…) just below 4k/m, so h = 2/ω is about √(m/k) = 0.1 s.
    let chain = "[[particles]]\nname = \"rope\"\nchain = { from = [0, 0, 0], to = [1, 0, 0], count = 30 }\n\
                 [[springs]]\nname = \"band\"\nalong = \"rope\"\nstiffness = 100\n[[fix]]\non = [\"rope[0]\", \"rope[-1]\"]\n";
    for (dt, integrator, warned) in [
        (0.09, "verlet", false),
        (0.105, "verlet", true),
        (0.13, "rk4", false),
        (0.15, "rk4", true),
        (0.5, "dormand_prince", false),
    ] {
        let text = format!(
            "title = \"t\"\ndt = {dt}\nduration = {dt}\nexplicit = {{ integrator = \"{integrator}\" }}\n{chain}"
        );
        let warnings = build("a.toml", &text).warnings;
        assert_eq!(warnings.len(), usize::from(warned), "{dt} {integrator}: {warnings:?}");
        if let Some(warning) = warnings.first() {
            assert_eq!(warning.line_column(), Some((2, 6)));
            assert!(warning.message.contains("`band`"), "{warning}");
        }
    }
}

#[test]
fn a_duration_of_a_broken_number_of_steps_is_warned_of() {
    let text = format!("dt = 0.03\nduration = 1\n{GOOD}");
    let warnings = build("a.toml", &text).warnings;
    assert_eq!(warnings[0].line_column(), Some((2, 12)));
    assert!(warnings[0].message.contains("33 steps"), "{}", warnings[0]);
    assert!(build("a.toml", &format!("dt = 0.1\nduration = 1000.3\n{GOOD}")).warnings.is_empty());
    let text = format!("explicit = {{ integrator = \"rk4\", tolerance = 1e-9 }}\n{GOOD}");
    assert!(build("a.toml", &text).warnings[0].message.contains("no effect"));
}

#[test]
fn what_a_file_leaves_out_is_as_in_rust() {
    let file = load_text("a.toml", "[[particles]]\nname = \"a\"", Includes::None).unwrap();
    let mut wanted = dalembert::scene::Scene::new();
    wanted.add(dalembert::scene::ParticleSet::at("a", [0.0; 3]));
    assert_eq!(format!("{:?}", file.scene), format!("{wanted:?}"));
}
