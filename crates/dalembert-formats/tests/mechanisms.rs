//! Mechanisms in scene files: what they mean, and the lines that mistakes are reported at.

use dalembert::math::{Vec3, triple};
use dalembert::prelude::*;
use dalembert_formats::error::SceneFileError;
use dalembert_formats::scene::{Built, load, load_text};
use dalembert_formats::source::Includes;

const EVERYTHING: &str = include_str!("scenes/mechanism.toml");

fn read(name: &str, text: &str) -> Result<Built, SceneFileError> {
    load_text(name, text, Includes::None).and_then(|file| file.build())
}

#[track_caller]
fn build(text: &str) -> Built {
    read("a.toml", text).unwrap_or_else(|e| panic!("{e}"))
}

fn value(built: &Built, text: &str) -> f64 {
    let sim = &built.simulation;
    Quantity::parse(&sim.model, text).unwrap_or_else(|e| panic!("{e}")).value(&sim.model, &sim.state)
}

#[test]
fn a_scene_with_every_table_of_mechanisms_runs_and_reads_back() {
    let mut toml = build(EVERYTHING);
    assert!(toml.warnings.is_empty(), "{:?}", toml.warnings);
    let json = read("a.json", &toml.json).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(toml.simulation.state, json.simulation.state);
    assert_eq!(toml.json, json.json);
    assert!(value(&toml, "joints.gap") < 1e-6);
    toml.simulation.run(0.05).unwrap();
    for (text, low, high) in [
        ("axle.rate", 0.99, 1.01),
        ("hinge.angle", 0.01, 0.2),
        ("hinge.motor.force", 0.1, 3.0),
        ("handle.z", 0.9, 1.1),
        ("wire.force", 0.1, 1e3),
        ("neck.broken", 0.0, 0.0),
        ("energy.joints", 0.0, 1e6),
    ] {
        assert!((low..=high).contains(&value(&toml, text)), "{text} = {}", value(&toml, text));
    }
}

/// Two bodies; what follows begins at line 11.
const BODIES: &str = "\
method = \"lagrange\"
[[rigid]]
name = \"door\"
shape = { sphere = 0.5 }
mass = 1
[[rigid]]
name = \"wall\"
shape = { sphere = 0.5 }
mass = 1
position = [2, 0, 0]
";

/// A mistake: `@` stands before the place where it must be told, with a part of the message or help.
const BAD: &[(&str, &str)] = &[
    ("[[joint]]\nname = \"a\"\nkind = \"ball\"\nbetween = [@\"door\", \"door\"]", "joins `door` with itself"),
    ("[[joint]]\nname = \"a\"\nkind = \"ball\"\nbetween = [\"wall\", @\"dor\"]", "did you mean `door`?"),
    ("[[joint]]\nname = \"a\"\nkind = @\"bal\"\nbetween = [\"world\", \"door\"]", "did you mean `ball`?"),
    (
        "@[[joint]]\nname = \"a\"\nkind = \"ball\"\nbetween = [\"door\", \"wall\"]\nanchors = [[1, 0, 0], [-0.5, 0, 0]]",
        "gapes by 5.000e-1 (m or rad) at the start; move the bodies, or set `assemble = true`",
    ),
    (
        "[[joint]]\nname = \"a\"\nkind = \"hinge\"\nbetween = [\"world\", \"door\"]\naxis = @[0, 0, 0]",
        "(0, 0, 0) is no direction",
    ),
    (
        "[[joint]]\nname = \"a\"\nkind = \"ball\"\nbetween = [\"world\", \"door\"]\n@axis = [0, 0, 1]",
        "no meaning with kind = `ball`",
    ),
    (
        "[[joint]]\nname = \"a\"\nkind = \"hinge\"\nbetween = [\"world\", \"door\"]\nlimits = @[1, -1]\nlimit_kp = 1",
        "the lower limit 1 lies above the upper limit -1",
    ),
    ("[[joint]]\nname = \"a\"\nkind = \"ball\"\nbetween = [\"world\", \"door\"]\nkp = @-1", "at least 0"),
    ("[[joint]]\nname = \"a\"\nkind = \"ball\"\nbetween = [\"world\", \"door\"]\nkd = @-1", "at least 0"),
    (
        "[[joint]]\nname = \"a\"\nkind = \"hinge\"\nbetween = [\"world\", \"door\"]\nlimits = [0, 1]\nlimit_kp = @0",
        "limit_kp and limit_kd are both zero",
    ),
    (
        "[[joint]]\nname = \"a\"\nkind = \"hinge\"\nbetween = [\"world\", \"door\"]\n@limit_kp = 1",
        "no meaning without `limits`",
    ),
    (
        "[[joint]]\nname = \"a\"\nkind = \"hinge\"\nbetween = [\"world\", \"door\"]\nlimits = @[0, 1]",
        "`lagrange` cannot run joint `a`: it does not take hard limits",
    ),
    (
        "[[joint]]\nname = \"a\"\nkind = \"hinge\"\nbetween = [\"world\", \"door\"]\nfriction = @1",
        "dry friction in joints; `impulse` does",
    ),
    (
        "[[joint]]\nname = \"a\"\nkind = \"ball\"\nbetween = [\"world\", \"door\"]\nmotor = @{ effort = 1 }",
        "a `ball` has no single coordinate",
    ),
    (
        "[[joint]]\nname = \"a\"\nkind = \"ball\"\nbetween = [\"world\", \"door\"]\nbreak_force = @0",
        "greater than 0",
    ),
    (
        "[[joint]]\nname = @\"door\"\nkind = \"ball\"\nbetween = [\"world\", \"door\"]",
        "taken by a body or set of points",
    ),
    ("[[joint]]\nname = @\"joints\"\nkind = \"ball\"\nbetween = [\"world\", \"door\"]", "reserved"),
    ("[[joint]]\nname = @\"a.b\"\nkind = \"ball\"\nbetween = [\"world\", \"door\"]", "must not contain"),
    (
        "[[joint]]\nname = \"a\"\nkind = \"universal\"\nbetween = [\"world\", \"door\"]\naxis2 = @[0, 0, 1]",
        "across the first",
    ),
    ("@[[joint]]\nname = \"a\"\nkind = \"screw\"\nbetween = [\"world\", \"door\"]", "lacks the key `pitch`"),
    (
        "[[joint]]\nname = \"a\"\nkind = \"hinge\"\nbetween = [\"world\", \"door\"]\n\
         [[gear]]\nname = \"g\"\njoints = [\"a\", @\"b\"]\nratio = 1",
        "no joint with a coordinate",
    ),
    ("[[rigid]]\nname = @\"door\"\nshape = { sphere = 1 }\nmass = 1", "the name `door` is taken"),
    ("@[[rigid]]\nname = \"c\"\nshape = { sphere = 1 }", "exactly one of `density` and `mass`"),
    ("[[rigid]]\nname = \"c\"\nshape = @{ }\nmass = 1", "exactly one of"),
    ("[[rigid]]\nname = \"c\"\nshape = { sphere = @-1 }\nmass = 1", "greater than 0"),
    ("[[rigid]]\nname = \"c\"\nmass = @1", "without volume"),
    (
        "[[rigid]]\nname = \"c\"\nmass = 1\ninertia = @[1, 1, 3]",
        "rigid `c`, `inertia`: principal moments of inertia break the triangle inequality",
    ),
    ("[[rigid]]\nname = \"c\"\nmass = 1\ninertia = @[[1, 2, 0], [0, 1, 0], [0, 0, 1]]", "not symmetric"),
    ("[[rigid]]\nname = \"c\"\nshape = { sphere = 1 }\nmass = 1\n@center = [1, 0, 0]", "without `inertia`"),
    (
        "[[rigid]]\nname = \"c\"\nshape = { sphere = 1 }\nmass = 1\norientation = @[2, 0, 0, 0]",
        "length 1, but has length 2",
    ),
    (
        "[[rigid]]\nname = \"c\"\nshape = { sphere = 1 }\nmass = 1\norientation = @{ axis = [0, 0, 0], angle = 1 }",
        "is no axis",
    ),
    (
        "[[rigid]]\nname = \"c\"\nmass = 1\nshape = { vertices = @[[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], triangles = [[0, 2, 1]] }",
        "the mesh is open",
    ),
    ("[[rigid]]\nname = \"c\"\nshape = { mesh = @\"a.obj\" }\nmass = 1", "no place among files"),
    (
        "[[particles]]\nname = \"p\"\nposition = [0, 0, 5]\n@[[bead]]\nname = \"b\"\non = \"p\"\nplane = { }",
        "gapes by 5.000e0",
    ),
    (
        "[[particles]]\nname = \"p\"\n[[bead]]\nname = \"b\"\non = \"p\"\nplane = { normal = @[0, 0, 0] }",
        "no direction",
    ),
    ("[[particles]]\nname = \"p\"\n@[[bead]]\nname = \"b\"\non = \"p\"", "exactly one of"),
    ("[[points]]\nname = \"p\"\nof = \"door\"\nat = [[0, @nan, 0]]", "finite"),
    (
        "[[generalized]]\nname = \"g\"\npendulum = { lengths = [1, 1] }\nmasses = @[1]\ncoordinates = [0, 0]",
        "1 masses stand against 2",
    ),
    (
        "[[generalized]]\nname = \"g\"\npendulum = { lengths = [1], side = @[0, 0, 1] }\nmasses = [1]\ncoordinates = [0]",
        "across each other",
    ),
    ("[[expect]]\nquantity = @\"door.zz\"\nvalue = 0", "a rigid body has no such part"),
];

/// The text without its mark, and the line and column of the mark.
fn marked(text: &str) -> (String, Option<(usize, usize)>) {
    let Some(at) = text.find('@') else { return (text.into(), None) };
    let before = &text[..at];
    let line = before.lines().count().max(1) + usize::from(before.ends_with('\n'));
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    (text.replacen('@', "", 1), Some((line, column)))
}

#[test]
fn every_mistake_in_a_mechanism_is_reported_at_its_line_and_column() {
    build(BODIES);
    let mut wrong = Vec::new();
    for (tail, part) in BAD {
        let (text, place) = marked(&format!("{BODIES}{tail}"));
        match read("a.toml", &text) {
            Ok(_) => wrong.push(format!("accepted:\n{text}")),
            Err(error) => {
                let elsewhere = error.diagnostics().iter().any(|one| one.line_column() != place);
                if elsewhere || !error.to_string().contains(part) {
                    wrong.push(format!("{tail}\nwanted {place:?} {part}\n{error}\n"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n----\n"));
}

#[test]
fn a_gap_is_told_at_its_own_entry_whatever_stands_before_it() {
    // Joints with limits and gears make several constraints each; the gap is in the second joint and in the bead.
    let tail = "\
[[joint]]
name = \"a\"
kind = \"hinge\"
between = [\"world\", \"door\"]
limits = [-1, 1]
limit_kp = 10
[[joint]]
name = \"b\"
kind = \"slider\"
between = [\"world\", \"wall\"]
[[gear]]
name = \"g\"
joints = [\"a\", \"b\"]
ratio = 1
[[particles]]
name = \"p\"
[[bead]]
name = \"wire\"
on = \"p\"
sphere = { radius = 2 }
";
    let error = read("a.toml", &format!("{BODIES}{tail}")).unwrap_err();
    let line = BODIES.lines().count() + 17;
    assert_eq!(error.diagnostics().len(), 1, "{error}");
    assert_eq!(error.diagnostics()[0].line_column(), Some((line, 1)), "{error}");
    assert!(error.to_string().contains("bead `wire`: gapes by 2.000e0"), "{error}");
}

#[test]
fn assemble_closes_what_gapes_and_names_what_it_cannot_close() {
    let joint = |name: &str, anchors: &str| {
        format!(
            "[[joint]]\nname = \"{name}\"\nkind = \"ball\"\nbetween = [\"door\", \"wall\"]\nanchors = {anchors}\n"
        )
    };
    let one = joint("a", "[[1.2, 0.1, 0], [-0.5, 0, 0]]");
    let built = build(&format!("assemble = true\n{BODIES}{one}"));
    assert!(value(&built, "joints.gap") < 1e-10, "{}", value(&built, "joints.gap"));
    // No two bodies can keep one pair of points together and another pair three metres longer.
    let two = joint("b", "[[1.2, 3.1, 0], [-0.5, 0, 0]]");
    let error = read("a.toml", &format!("assemble = true\n{BODIES}{one}{two}")).unwrap_err();
    assert!(error.to_string().contains("joint `a`: still gapes"), "{error}");
    assert!(error.to_string().contains("joint `b`: still gapes"), "{error}");
    assert!(
        error.diagnostics().iter().all(|d| d.line_column().is_some_and(|(line, _)| line > 11)),
        "{error}"
    );
}

#[test]
fn a_mass_ratio_beyond_a_thousand_million_is_warned_of() {
    for (mass, warned) in [("1e10", true), ("1e8", false)] {
        let heavy = BODIES.replacen("mass = 1\n", &format!("mass = {mass}\n"), 1);
        let joint = "[[joint]]\nname = \"a\"\nkind = \"ball\"\nbetween = [\"door\", \"wall\"]\n";
        let warnings = build(&format!("{heavy}{joint}")).warnings;
        assert_eq!(warnings.len(), usize::from(warned), "{warnings:?}");
        if let Some(warning) = warnings.first() {
            assert!(warning.message.contains("`wall`"), "{warning}");
            assert_eq!(warning.line_column(), Some((7, 8)));
        }
    }
}

#[test]
fn the_three_forms_of_an_orientation_agree() {
    let body = |orientation: &str| {
        build(&format!(
            "[[rigid]]\nname = \"a\"\nshape = {{ box = [1, 2, 3] }}\nmass = 1\norientation = {orientation}\n"
        ))
    };
    // A quarter turn about z after one about x: x goes to y, y to z, z to x.
    let third = body("[0.5, 0.5, 0.5, 0.5]");
    for other in [
        body("{ axis = [2, 2, 2], angle = 2.0943951023931953 }"),
        body("{ euler = [1.5707963267948966, 0, 1.5707963267948966] }"),
    ] {
        let far = third.simulation.state.q.iter().zip(&other.simulation.state.q);
        assert!(far.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) < 1e-15);
    }
}

#[test]
fn a_mesh_from_a_file_is_part_of_the_scene_from_then_on() {
    let folder = tempfile::tempdir().unwrap();
    let obj = "v 0 0 0\nv 3 0 0\nv 0 3 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n";
    std::fs::create_dir(folder.path().join("parts")).unwrap();
    std::fs::write(folder.path().join("parts/corner.obj"), obj).unwrap();
    let text = "[[rigid]]\nname = \"a\"\nshape = { mesh = \"corner.obj\", scale = 2 }\ndensity = 1\n";
    std::fs::write(folder.path().join("parts/a.toml"), text).unwrap();
    std::fs::write(folder.path().join("b.toml"), "include = \"parts/a.toml\"").unwrap();
    let built = load(folder.path().join("b.toml")).unwrap().build().unwrap();
    assert!((built.simulation.model.mass() - 36.0).abs() < 1e-12);
    let again = read("a.json", &built.json).unwrap();
    assert_eq!(built.simulation.state, again.simulation.state);
    // The centre of a tetrahedron is a quarter of the way along each edge.
    let center = triple(&again.simulation.state.q, 0);
    assert!((center - Vec3::repeat(1.5)).norm() < 1e-12);
    std::fs::write(folder.path().join("parts/corner.obj"), "v 0 0 0\nf 1 2 3\n").unwrap();
    let error = load(folder.path().join("b.toml")).unwrap_err().to_string();
    assert!(error.contains("a.toml:3:18") && error.contains("line 2: corner 2"), "{error}");
}

#[test]
fn quantities_of_a_body_and_a_joint_are_those_of_its_motion() {
    let text = "\
method = \"lagrange\"
dt = 0.01
gravity = [0, 0, 0]
[[rigid]]
name = \"arm\"
shape = { box = [1, 0.1, 0.1] }
mass = 2
position = [0.5, 0, 0]
velocity = [0, 1.5, 0]
angular_velocity = [0, 0, 3]
[[joint]]
name = \"hub\"
kind = \"hinge\"
between = [\"world\", \"arm\"]
anchor = [0, 0, 0]
";
    let mut built = build(text);
    built.simulation.run(4.0).unwrap();
    // Twelve radians are nearly two turns.
    for (text, wanted, tolerance) in [
        ("hub.angle", 12.0, 1e-6),
        ("hub.rate", 3.0, 1e-6),
        ("arm.wz", 3.0, 1e-6),
        ("arm.speed", 1.5, 1e-6),
        ("hub.force", 2.0 * 0.5 * 9.0, 1e-5),
        ("hub.gap", 0.0, 1e-9),
    ] {
        let found = value(&built, text);
        assert!((found - wanted).abs() <= tolerance, "{text} = {found}, not {wanted}");
    }
    let angle = value(&built, "hub.angle");
    assert!((value(&built, "arm.x") - 0.5 * angle.cos()).abs() < 1e-9);
    assert!((value(&built, "arm.qw").powi(2) - (0.5 * angle).cos().powi(2)).abs() < 1e-9);
}

#[test]
fn a_tilted_body_spins_about_the_axis_of_the_world_that_its_file_gives() {
    // A cube: I = m a² / 6 about every axis, so that its angular momentum is along its spin and both stay.
    for method in ["explicit", "lagrange", "impulse", "implicit", "ipc"] {
        let built = build(&format!(
            "method = \"{method}\"\ndt = 0.001\ngravity = [0, 0, 0]\n[[rigid]]\nname = \"cube\"\n\
             shape = {{ box = [0.6, 0.6, 0.6] }}\nmass = 2\norientation = {{ euler = [0.7, -0.4, 0.9] }}\n\
             angular_velocity = [0.3, -1.1, 2.0]\n"
        ));
        for (axis, w) in [("x", 0.3), ("y", -1.1), ("z", 2.0)] {
            let (spin, momentum) =
                (value(&built, &format!("cube.w{axis}")), value(&built, &format!("angular_momentum.{axis}")));
            assert!((spin - w).abs() < 1e-12, "{method}: w{axis} = {spin}, not {w}");
            assert!((momentum - 0.12 * w).abs() < 1e-12, "{method}: L{axis} = {momentum}, not {}", 0.12 * w);
        }
    }
}
