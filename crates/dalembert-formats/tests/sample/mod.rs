//! A small format that uses everything a description can say.

use dalembert::scene::INCLUDE;
use dalembert_formats::describe::{Field, Kind, Literal, Range, Rule, Table, Word};

static METHODS: [Word; 3] = [
    Word::new("explicit", "Explicit integrators."),
    Word::new("impulse", "Velocity level."),
    Word::new("ipc", "Nothing passes through anything."),
];

static JOINTS: [Word; 3] = [
    Word::new("ball", "Three angles."),
    Word::new("hinge", "One angle."),
    Word::new("slider", "One length."),
];

static FLOORS: [Word; 2] = [Word::new("plane", "z = 0."), Word::new("none", "None.")];

pub(crate) static SHAPE: Table = Table::new(
    "shape",
    "The shape of a body.",
    &[
        Field::optional(
            "box",
            Kind::List { item: &Kind::Number(Range::POSITIVE), min: 3, max: 3 },
            "m",
            "Full sizes.",
        ),
        Field::optional("sphere", Kind::Number(Range::POSITIVE), "m", "Radius."),
    ],
)
.with_rules(&[Rule::ExactlyOne(&["box", "sphere"])]);

pub(crate) static RIGID: Table = Table::new(
    "rigid",
    "A rigid body.",
    &[
        Field::required("name", Kind::Name, "", "Its name."),
        Field::required("shape", Kind::Either(&[Kind::Name, Kind::Table(&SHAPE)]), "", "Its shape."),
        Field::optional("mass", Kind::Number(Range::POSITIVE), "kg", "Its mass."),
        Field::optional("density", Kind::Number(Range::POSITIVE), "kg/m³", "Its density."),
        Field::default("position", Kind::VEC3, Literal::Numbers(&[0.0, 0.0, 0.0]), "m", "Its centre."),
        Field::default("friction", Kind::Number(Range::FRACTION), Literal::Number(0.5), "", "Its friction."),
        Field::default("fixed", Kind::Bool, Literal::Bool(false), "", "Whether it stays."),
        Field::optional("tint", Kind::NUMBER_OR_NUMBERS, "", "A grey | or a colour."),
    ],
)
.with_rules(&[Rule::AtMostOne(&["mass", "density"]), Rule::Together(&["tint", "friction"])]);

pub(crate) static JOINT: Table = Table::new(
    "joint",
    "A joint.",
    &[
        Field::required("kind", Kind::Word(&JOINTS), "", "What it leaves free."),
        Field::required("between", Kind::List { item: &Kind::Name, min: 2, max: 2 }, "", "Two bodies."),
        Field::required("axis", Kind::VEC3, "", "Its axis.").when("kind", &["hinge", "slider"]),
        Field::optional("stiffness", Kind::Number(Range::NON_NEGATIVE), "N/m", "Its stiffness."),
    ],
);

pub(crate) static CLOTH: Table = Table::new(
    "cloth",
    "A cloth.",
    &[
        Field::optional("points", Kind::VEC3S, "m", "Its points."),
        Field::optional(
            "triangles",
            Kind::List { item: &Kind::List { item: &Kind::COUNT, min: 3, max: 3 }, min: 0, max: usize::MAX },
            "",
            "Its triangles.",
        ),
        Field::optional("pins", Kind::COUNTS, "", "Held points."),
        Field::optional("touches", Kind::SELECTION, "", "What it touches."),
    ],
)
.with_rules(&[Rule::AtLeastOne(&["points", "triangles"])]);

pub(crate) static ROOT: Table = Table::new(
    "scene",
    "A scene.",
    &[
        INCLUDE,
        Field::optional("title", Kind::Text, "", "What one sees."),
        Field::default("method", Kind::Word(&METHODS), Literal::Text("impulse"), "", "How time advances."),
        Field::required("dt", Kind::Number(Range::POSITIVE), "s", "Step size."),
        Field::default("gravity", Kind::VEC3, Literal::Numbers(&[0.0, 0.0, -9.81]), "m/s²", "Gravity."),
        Field::default("seed", Kind::Integer { min: 0, max: 1000 }, Literal::Integer(1), "", "Of chance."),
        Field::default("watch", Kind::SELECTION, Literal::Texts(&["all"]), "", "What is recorded."),
        Field::optional("tolerance", Kind::Number(Range::POSITIVE), "m", "Of `ipc`.")
            .when("method", &["ipc"]),
        Field::optional("rigid", Kind::Tables(&RIGID), "", "Rigid bodies."),
        Field::optional("joint", Kind::Tables(&JOINT), "", "Joints."),
        Field::optional("cloth", Kind::Table(&CLOTH), "", "A cloth."),
        Field::optional("floor", Kind::Either(&[Kind::Word(&FLOORS), Kind::Table(&SHAPE)]), "", "The floor."),
        Field::optional("control", Kind::Map(&Kind::NUMBER), "rad", "Targets by joint name."),
    ],
);

pub(crate) const TOML: &str = r#"# A door.
title = "A ball hits a door: \"ouch\""
method = "ipc"
dt = 0.005
seed = 7
tolerance = 1e-4

[[rigid]]
name = "door"
shape = { box = [0.8, 0.05, 2] }
density = 600
position = [0.4, 0, 1.0]

[[joint]]
kind = "hinge"
between = ["world", "door"]
axis = [0, 0, 1]
stiffness = 2.5

[[rigid]]
name = "ball"
shape = { sphere = 0.1 }
mass = 0.5
tint = [1, 0.5, 0.25]
friction = 0.3
fixed = true

[cloth]
points = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
triangles = [[0, 1, 2]]
pins = [0, 1]
touches = "door"

[control]
elbow = 0.3
wrist = -1
"#;

pub(crate) const JSON: &str = r#"{
  "title": "A ball hits a door: \"ou\u0063h\"",
  "method": "ipc", "dt": 5e-3, "seed": 7, "tolerance": 0.0001,
  "rigid": [
    { "name": "door", "shape": { "box": [0.8, 0.05, 2] }, "density": 600, "position": [0.4, 0, 1.0] },
    { "name": "ball", "shape": { "sphere": 0.1 }, "mass": 0.5, "tint": [1, 0.5, 0.25],
      "friction": 0.3, "fixed": true }
  ],
  "joint": [
    { "kind": "hinge", "between": ["world", "door"], "axis": [0, 0, 1], "stiffness": 2.5 }
  ],
  "cloth": { "points": [[0, 0, 0], [1, 0, 0], [0, 1, 0]], "triangles": [[0, 1, 2]], "pins": [0, 1],
             "touches": "door" },
  "control": { "elbow": 0.3, "wrist": -1 }
}
"#;
