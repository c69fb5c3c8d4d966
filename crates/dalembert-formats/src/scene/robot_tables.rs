//! What a scene file may say about robots.

use super::mechanism_tables::{COLLIDE, DECOMPOSITION, ORIENTATION};
use super::tables::{NOT_NEGATIVE, ORIGIN};
use crate::describe::{Field, Kind, Literal, Rule, Table, Word};

static TRACK: Table = Table::new(
    "track",
    "The path of one joint: center + amplitude · sin(2π frequency · t + phase).",
    &[
        Field::required("joint", Kind::Text, "", "A hinge or slide of the robot."),
        Field::default("center", Kind::NUMBER, Literal::Number(0.0), "rad or m", "Middle."),
        Field::default("amplitude", Kind::NUMBER, Literal::Number(0.0), "rad or m", "Amplitude."),
        Field::default("frequency", Kind::NUMBER, Literal::Number(0.0), "Hz", "Frequency."),
        Field::default("phase", Kind::NUMBER, Literal::Number(0.0), "rad", "Phase."),
    ],
);

static DRIVES: [Word; 3] = [
    Word::new("gravity_compensation", "Carries the weight of the links."),
    Word::new("pd", "Springs and dampers towards `tracks`."),
    Word::new("computed_torque", "Inverse dynamics along `tracks`."),
];

static DRIVE: Table = Table::new(
    "drive",
    "What pushes on the hinges and slides of a robot besides its actuators.",
    &[
        Field::required("kind", Kind::Word(&DRIVES), "", "The law."),
        Field::default(
            "kp",
            NOT_NEGATIVE,
            Literal::Number(100.0),
            "N·m/rad, N/m or 1/s²",
            "Gain of positions.",
        ),
        Field::default(
            "kd",
            NOT_NEGATIVE,
            Literal::Number(20.0),
            "N·m·s/rad, N·s/m or 1/s",
            "Gain of rates.",
        ),
        Field::default("gravity", Kind::Bool, Literal::Bool(false), "", "With `pd`: carry the weight too."),
        Field::optional(
            "tracks",
            Kind::Tables(&TRACK),
            "",
            "Paths; joints without one stay where they start.",
        ),
    ],
);

static BASES: [Word; 2] = [
    Word::new("fixed", "Roots stand still, also those that float in the file."),
    Word::new("floating", "The root of a URDF floats; MJCF says by itself what floats."),
];

pub(super) static ROBOT: Table = Table::new(
    "robot",
    "An articulated robot from a URDF or MJCF file, in reduced coordinates. Under `impulse`, where it touches as its file \
     says, under `ipc`, and without contact under `lagrange` and `explicit` with `rk4`, `midpoint` or `symplectic_euler`. A \
     tree of the file that is one free body becomes a rigid body `NAME/BODY`. Quantities: `NAME.JOINT`, `NAME.JOINT.rate`, `NAME.BODY.x`, \
     `NAME.SITE.z`, `NAME.gap`.",
    &[
        Field::optional(
            "name",
            Kind::Name,
            "",
            "Name, unique in the scene; if absent that of the robot in its file, or else the file's own.",
        ),
        Field::optional("file", Kind::Text, "", "URDF or MJCF file, its path relative to this file."),
        Field::optional("text", Kind::Text, "", "The robot itself, as URDF or MJCF without other files."),
        Field::default("position", Kind::VEC3, ORIGIN, "m", "Where the origin of the robot's world stands."),
        ORIENTATION,
        Field::optional("base", Kind::Word(&BASES), "", "Whether its root stands or floats; if absent as the file says."),
        Field::optional("keyframe", Kind::Text, "", "Keyframe to start from; if absent the first, if any."),
        Field::optional("positions", NUMBERS_BY_NAME_KIND, "rad or m", "Coordinates at the start, by joint."),
        Field::optional("velocities", NUMBERS_BY_NAME_KIND, "rad/s or m/s", "Velocities at the start, by joint."),
        Field::optional("controls", NUMBERS_BY_NAME_KIND, "", "Controls, by actuator."),
        Field::optional("drive", Kind::Table(&DRIVE), "", "What drives it besides its actuators."),
        Field::default(
            "integrator",
            Kind::Word(&STEPPED),
            Literal::Text("discrete"),
            "",
            "Which forces a step of `impulse` takes at its end. A file that runs by itself brings its own.",
        ),
        COLLIDE,
        DECOMPOSITION,
    ],
)
.with_rules(&[Rule::ExactlyOne(&["file", "text"])]);

static STEPPED: [Word; 4] = [
    Word::new(
        "discrete",
        "Springs and dampers of joints and tendons, position and velocity gains of servos.",
    ),
    Word::new("implicitfast", "Dampers and velocity gains, and gyroscopic forces of bodies by themselves."),
    Word::new("implicit", "Dampers and velocity gains, and all gyroscopic forces."),
    Word::new("euler", "Dampers of joints."),
];

const NUMBERS_BY_NAME_KIND: Kind = Kind::Map(&Kind::NUMBER);
