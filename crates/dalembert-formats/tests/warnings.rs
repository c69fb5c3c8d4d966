//! What a method does not do of what a scene says is refused or told, by name.

use dalembert_formats::scene::load_text;
use dalembert_formats::source::Includes;

const METHODS: [&str; 5] = ["explicit", "lagrange", "impulse", "implicit", "ipc"];

const BALL: &str = "[[rigid]]\nname = 'ball'\nshape = { sphere = 0.1 }\nmass = 1\nposition = [0, 0, 1]\n";
const BRICK: &str =
    "[[rigid]]\nname = 'brick'\nshape = { box = [0.2, 0.2, 0.2] }\nmass = 1\nposition = [2, 0, 1]\n";
const CLOTH: &str =
    "[[cloth]]\nname = 'cloth'\ngrid = { size = [1, 1], cells = [2, 2] }\nposition = [0, 0, 0.5]\n";
const FLAG: &str =
    "[[cloth]]\nname = 'flag'\ngrid = { size = [1, 1], cells = [2, 2] }\nposition = [0, 0, 0.7]\n";
const SEEDS: &str = "[[particles]]\nname = 'seeds'\npositions = [[4, 0, 1], [5, 0, 1]]\nradius = 0.1\n";
const GROUND: &str = "[[ground]]\n";
const RULE: &str = "[[contact]]\nbetween = ['*', '*']\n";
const OFF: &str = "[[contact]]\nbetween = ['*', '*']\nenabled = false\n";
const HINGE: &str = "[[joint]]\nname = 'hinge'\nkind = 'ball'\nbetween = ['world', 'ball']\nanchor = [0, 0, 1]\nkp = 100\nkd = 1\n";
const BEAD: &str = "[[particles]]\nname = 'pearl'\nposition = [1, 0, 0]\n[[bead]]\nname = 'wire'\non = ['pearl']\ncircle = { radius = 1 }\n";

/// A robot on a free joint; `more` stands in its file beside the body, `geom` in its ball.
fn robot(geom: &str, more: &str) -> String {
    format!(
        "[[robot]]\nname = 'dog'\ntext = '''<mujoco><worldbody><body name=\"trunk\" pos=\"0 0 9\"><joint name=\"h\" axis=\"0 1 0\"/>\
         <geom name=\"g\" size=\"0.1\" pos=\"0.3 0 0\" {geom}/><site name=\"a\"/></body><site name=\"b\"/>{more}</mujoco>'''\n"
    )
}

/// Warnings of a scene, or its refusal, as one text.
fn told(method: &str, body: &str) -> Result<String, String> {
    let text = format!("method = '{method}'\ndt = 0.001\nduration = 1\n{body}");
    let built = load_text("scene.toml", &text, Includes::None).and_then(|file| file.build());
    let built = built.map_err(|error| format!("{error}"))?;
    let lines: Vec<String> = built.warnings.iter().map(ToString::to_string).collect();
    Ok(lines.join("\n"))
}

/// Methods, a scene, and what its warnings say.
type Row<'a> = (&'a [&'a str], String, &'a [&'a str]);

/// Every scene is warned of in these words, and not refused.
fn warned(rows: &[Row]) {
    let mut wrong = Vec::new();
    for (methods, body, words) in rows {
        for method in *methods {
            let found = match told(method, &body.replace("METHOD", method)) {
                Ok(found) => found,
                Err(error) => format!("REFUSED: {error}"),
            };
            let missing =
                words.iter().map(|w| w.replace("METHOD", method)).filter(|w| !found.contains(w.as_str()));
            let missing: Vec<String> = missing.collect();
            if !missing.is_empty() || found.contains("REFUSED") {
                wrong.push(format!("{method}: {missing:?} is not in:\n{found}\n{body}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn contact_that_a_method_does_not_do_is_named() {
    let restitution = format!("{BALL}{GROUND}{RULE}restitution = 0.5\n");
    let rolling = format!("{BALL}{GROUND}{RULE}rolling_friction = 0.01\ntorsional_friction = 0.02\n");
    let soft = format!("{BALL}{GROUND}{RULE}stiffness = 1e4\ndamping = 30\n");
    let rows: &[Row] = &[
        // Rules where nothing touches.
        (
            &["explicit", "implicit"],
            format!("{BALL}{RULE}"),
            &["rule between `*` and `*` has no effect under `METHOD`"],
        ),
        // Pairs that do not touch.
        (
            &["explicit", "implicit"],
            format!("{BALL}{BRICK}"),
            &["`ball` and `brick` do not touch under `METHOD`"],
        ),
        (
            &["implicit", "lagrange", "impulse"],
            format!("{BALL}{CLOTH}"),
            &["`ball` and `cloth` do not touch under `METHOD`"],
        ),
        (
            &["impulse"],
            format!("{CLOTH}{FLAG}{GROUND}"),
            &["`cloth` and `flag` do not touch each other under `impulse`"],
        ),
        (
            &["impulse"],
            format!("{SEEDS}{GROUND}"),
            &["particles of `seeds` do not touch each other under `impulse`"],
        ),
        (&["lagrange"], format!("{CLOTH}{GROUND}"), &["`cloth` and `ground` do not touch under `lagrange`"]),
        // Keys of contact.
        (
            &["ipc"],
            restitution,
            &["contact number 1, `restitution`: restitution = 0.5", "`ipc` does not use it"],
        ),
        (
            &["ipc", "lagrange"],
            rolling,
            &["rolling_friction = 0.01", "torsional_friction = 0.02", "`METHOD` does not use it"],
        ),
        (&["ipc", "lagrange"], soft, &["stiffness = 10000", "damping = 30", "`METHOD` does not use it"]),
        (
            &["impulse"],
            format!("{BALL}{GROUND}{RULE}damping = 30\n"),
            &["damping = 30", "no effect without `stiffness`"],
        ),
    ];
    warned(rows);
}

#[test]
fn keys_of_bodies_and_joints_that_a_method_does_not_use_are_named() {
    let hull = format!("{BALL}collide = 'hull'\n");
    let rows: &[Row] = &[
        // Keys of bodies, joints, robots.
        (
            &["explicit", "implicit", "ipc"],
            hull.clone(),
            &["rigid `ball`, `collide`: has no effect under `METHOD`"],
        ),
        (&["impulse", "lagrange"], hull, &["rigid `ball`, `collide`: has no effect: only meshes"]),
        (
            &["explicit", "implicit", "ipc", "lagrange"],
            SEEDS.into(),
            &["particles `seeds`, `radius`: a radius of 0.1 m has no effect under `METHOD`"],
        ),
        (
            &["explicit", "implicit"],
            format!("{BALL}{HINGE}collide = true\n"),
            &["joint `hinge`, `collide`: has no effect under `METHOD`"],
        ),
        (
            &["explicit", "implicit", "ipc"],
            format!("assemble = true\n{BALL}"),
            &["`assemble`: has no effect under `METHOD`"],
        ),
        (
            &["ipc"],
            robot("", "</worldbody>"),
            &["robot `dog`", "friction of its geoms (such as 1) is not used under `ipc`"],
        ),
        (
            &["lagrange"],
            format!(
                "lagrange = {{ integrator = 'rk4' }}\n{}integrator = 'euler'\n",
                robot("", "</worldbody>")
            ),
            &["robot `dog`, `integrator`: has no effect under `lagrange`"],
        ),
    ];
    warned(rows);
}

#[test]
fn what_is_lost_of_a_robot_is_named() {
    let wrapped = robot(
        "",
        "<geom name=\"pulley\" size=\"0.05\" pos=\"0 0 8\"/></worldbody><tendon><spatial name=\"rope\"><site site=\"a\"/>\
         <geom geom=\"pulley\"/><site site=\"b\"/></spatial></tendon>",
    );
    let hard = robot("", "</worldbody>")
        .replace("axis=", "range=\"-1 1\" limited=\"true\" solreflimit=\"0.1 1\" axis=");
    let solimp = robot("solimp=\"0.8 0.9 0.01\"", "</worldbody>");
    let flex = robot(
        "",
        "<flexcomp name=\"sheet\" type=\"grid\" count=\"3 3 1\" spacing=\".1 .1 .1\"/></worldbody>",
    );
    let deformable = robot("", "</worldbody><deformable><flex name=\"sheet\"/></deformable>");
    let rows: &[Row] = &[
        // What a robot's file says.
        (&["impulse", "ipc"], wrapped, &["tendon `rope`: wrapping is not simulated"]),
        (&["impulse", "ipc"], hard, &["robot `dog`", "`solref` and `solimp` are not used"]),
        (&["impulse"], solimp, &["robot `dog`", "of `solimp` only the second number counts"]),
        (&["impulse", "ipc"], flex, &["`flexcomp` is not read"]),
        (&["impulse", "ipc"], deformable, &["element `deformable` in `mujoco` is not read"]),
    ];
    warned(rows);
}

#[test]
fn forces_on_nothing_and_settings_without_effect_are_named() {
    let rows: &[Row] = &[
        // Forces on nothing.
        (
            &METHODS,
            format!("{BALL}[[drag]]\nname = 'air'\nlinear = 1\n"),
            &["drag `air`: has no effect: it acts on all particles, and the scene has none"],
        ),
        (
            &METHODS,
            format!("{BALL}[[obstacle]]\nname = 'floor'\nplane = {{}}\n"),
            &["obstacle `floor`: has no effect"],
        ),
        (
            &METHODS,
            format!("{BALL}{SEEDS}[[obstacle]]\nname = 'floor'\nplane = {{}}\n"),
            &["obstacle `floor`: pushes particles only: `ball` pass"],
        ),
        // Settings.
        (
            &["impulse", "ipc"],
            format!("METHOD = {{ sleep_speed = 0.1 }}\n{BALL}"),
            &["`sleep_speed` has no effect without `sleep_after`"],
        ),
        (
            &["implicit"],
            format!("implicit = {{ newton = 1, tolerance = 1e-6 }}\n{BALL}"),
            &["`tolerance` has no effect"],
        ),
        (
            &["ipc"],
            format!("ipc = {{ solver = 'direct', linear_tolerance = 1e-6 }}\n{BALL}"),
            &["`linear_tolerance` has no effect"],
        ),
    ];
    warned(rows);
}

#[test]
fn what_would_move_otherwise_is_refused_by_name() {
    let torque = format!("{BALL}[[push]]\nname = 'twist'\ntorque = [0, 0, 1]\n");
    let rows: &[(&[&str], String, &[&str])] = &[
        (&["ipc"], BEAD.into(), &["bead `wire`", "`ipc` does not hold it"]),
        (
            &["explicit", "implicit"],
            format!("{BALL}{HINGE}break_force = 10\n"),
            &["joint `hinge`, `break_force`", "do not break under `METHOD`"],
        ),
        (
            &["ipc", "lagrange"],
            format!("{BALL}{GROUND}belt = [1, 0, 0]\n"),
            &["ground `ground`, `belt`", "stand still under `METHOD`"],
        ),
        (&METHODS, torque, &["push `twist`", "names of the bodies that it turns"]),
        (
            &["explicit", "implicit"],
            format!("{BALL}{OFF}").replace("'*', '*'", "'bal', '*'"),
            &["names `bal`, which the scene does not have"],
        ),
    ];
    for (methods, body, words) in rows {
        for method in *methods {
            let found = told(method, body).expect_err(body);
            for word in words.iter().map(|w| w.replace("METHOD", method)) {
                assert!(found.contains(&word), "{method}: {word} is not in:\n{found}");
            }
        }
    }
}

#[test]
fn what_is_said_to_pass_is_not_warned_of() {
    for (methods, body) in [
        (&["explicit", "implicit"][..], format!("{BALL}{BRICK}{OFF}")),
        (&["implicit", "impulse", "lagrange"][..], format!("{BALL}{CLOTH}{OFF}")),
        (&["impulse"][..], format!("{CLOTH}{FLAG}{GROUND}{OFF}").replace("'*', '*'", "'cloth', 'flag'")),
        (&["impulse", "ipc", "lagrange"][..], format!("{BALL}{BRICK}{GROUND}")),
        (&["ipc"][..], format!("{BALL}{CLOTH}{FLAG}{GROUND}{RULE}friction = 0.3\n")),
        (&["impulse"][..], format!("{BALL}{CLOTH}{GROUND}{RULE}restitution = 0.3\nrolling_friction = 0.1\n")),
        (&["lagrange"][..], format!("{BALL}{BRICK}{GROUND}{RULE}restitution = 0.3\nfriction = 0.1\n")),
    ] {
        for method in methods {
            assert_eq!(told(method, &body), Ok(String::new()), "{method}: {body}");
        }
    }
}

#[test]
fn a_warning_stands_at_its_line() {
    let text = format!("method = 'ipc'\n{BALL}{GROUND}{RULE}restitution = 0.5\n");
    let built = load_text("scene.toml", &text, Includes::None).unwrap().build().unwrap();
    let line = text.lines().position(|line| line.starts_with("restitution")).unwrap() + 1;
    assert_eq!(built.warnings[0].line_column(), Some((line, 15)), "{}", built.warnings[0]);
    // The engine's own list says the same, for scenes that no file holds.
    let own: Vec<&str> = built.simulation.model.warnings.iter().map(|w| w.message.as_str()).collect();
    assert!(own.len() == 1 && built.warnings[0].message.contains(own[0]), "{own:?}");
}
