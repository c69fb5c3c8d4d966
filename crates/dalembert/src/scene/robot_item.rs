//! Robots, as a user writes them.

use super::keys::*;
use super::rigid::COLLIDE;
use crate::bodies::articulated::description::{RobotDescription, RobotIntegrator};
use crate::contact::Collide;
use crate::describe::short::*;
use crate::describe::{
    Element, Field, Findings, Item, Key, Kind, Rule, Table, View, Word, Words, table, words,
};
use crate::math::Pose;
use crate::robot::Track;

/// What drives a robot besides its actuators.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Drive {
    /// Nothing.
    #[default]
    Actuators,
    /// Forces that carry the weight of the links.
    GravityCompensation,
    /// Springs and dampers towards paths of the joints.
    Pd {
        /// kp \[N·m/rad or N/m\].
        kp: f64,
        /// kd \[N·m·s/rad or N·s/m\].
        kd: f64,
        /// Paths by joint; others stay where they start.
        tracks: Vec<(String, Track)>,
        /// Whether the weight is carried too.
        gravity: bool,
    },
    /// Inverse dynamics along paths of the joints.
    ComputedTorque {
        /// kp \[1/s²\].
        kp: f64,
        /// kd \[1/s\].
        kd: f64,
        /// Paths by joint; others stay where they start.
        tracks: Vec<(String, Track)>,
    },
}

words! {
    for RobotIntegrator {
        /// Springs and dampers of joints and tendons, position and velocity gains of servos.
        Discrete = "discrete",
        /// Dampers and velocity gains, and gyroscopic forces of bodies by themselves.
        ImplicitFast = "implicitfast",
        /// Dampers and velocity gains, and all gyroscopic forces.
        Implicit = "implicit",
        /// Dampers of joints.
        Euler = "euler",
    }
}

const TRACK: Table = Table::new(
    "track",
    "The path of one joint: center + amplitude · sin(2π frequency · t + phase).",
    &[
        Field::new("joint", Kind::Text, REQUIRED, "", "A hinge or slide of the robot."),
        Field::new("center", NUMBER, number(0.0), "rad or m", "Middle."),
        Field::new("amplitude", NUMBER, number(0.0), "rad or m", "Amplitude."),
        Field::new("frequency", NUMBER, number(0.0), "Hz", "Frequency."),
        Field::new("phase", NUMBER, number(0.0), "rad", "Phase."),
    ],
);

const DRIVES: Kind = Kind::Word(&[
    Word::new("gravity_compensation", "Carries the weight of the links."),
    Word::new("pd", "Springs and dampers towards `tracks`."),
    Word::new("computed_torque", "Inverse dynamics along `tracks`."),
]);

const DRIVE: Table = Table::new(
    "drive",
    "What pushes on the hinges and slides of a robot besides its actuators.",
    &[
        Field::new("kind", DRIVES, REQUIRED, "", "The law."),
        Field::new("kp", NOT_NEGATIVE, number(100.0), "N·m/rad, N/m or 1/s²", "Gain of positions."),
        Field::new("kd", NOT_NEGATIVE, number(20.0), "N·m·s/rad, N·s/m or 1/s", "Gain of rates."),
        Field::new("gravity", BOOL, FALSE, "", "With `pd`: carry the weight too."),
        Field::new(
            "tracks",
            Kind::Tables(const { &TRACK }),
            OPTIONAL,
            "",
            "Paths; joints without one stay where they start.",
        ),
    ],
);

impl Key for Drive {
    fn read(t: &View<'_>, key: &'static str, _: &mut Findings) -> Option<Self> {
        let Some(t) = t.table(key) else { return Some(Self::Actuators) };
        let track = |t: &View<'_>| {
            let [center, amplitude, frequency, phase] =
                ["center", "amplitude", "frequency", "phase"].map(|key| t.number(key));
            (t.text("joint").to_owned(), Track { center, amplitude, frequency, phase })
        };
        let tracks = t.tables("tracks").iter().map(track).collect();
        let (kp, kd) = (t.number("kp"), t.number("kd"));
        Some(match t.text("kind") {
            "pd" => Self::Pd { kp, kd, tracks, gravity: t.bool("gravity") },
            "computed_torque" => Self::ComputedTorque { kp, kd, tracks },
            _ => Self::GravityCompensation,
        })
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::Actuators
    }
}

const SOURCE: &[Field] = &[
    Field::new("file", Kind::Text, OPTIONAL, "", "URDF or MJCF file, its path relative to this file."),
    Field::new("text", Kind::Text, OPTIONAL, "", "The robot itself, as URDF or MJCF without other files."),
];
const PLACE: &[Field] = &[
    Field::new("position", VEC3, ORIGIN, "m", "Where the origin of the robot's world stands."),
    ORIENTATION,
];
const BASES: Kind = Kind::Word(&[
    Word::new("fixed", "Roots stand still, also those that float in the file."),
    Word::new("floating", "The root of a URDF floats; MJCF says by itself what floats."),
]);
/// Numbers by name.
const BY_NAME: Kind = Kind::Map(&Kind::NUMBER);

impl Element for (String, f64) {
    fn all(t: &View<'_>, key: &'static str, _: &mut Findings) -> Vec<Self> {
        t.entries(key).iter().filter_map(|e| Some((e.key.clone(), f64::of(&e.node)?))).collect()
    }
}

impl Key for RobotDescription {
    fn read(_: &View<'_>, _: &'static str, _: &mut Findings) -> Option<Self> {
        Some(Self::new(""))
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::new("")
    }
}

table! {
    /// An articulated robot from a URDF or MJCF file, in reduced coordinates. Under `impulse`, where it touches as
    /// its file says, under `ipc`, and without contact under `lagrange` and `explicit` with `rk4`, `midpoint` or
    /// `symplectic_euler`. A tree of the file that is one free body becomes a rigid body `NAME/BODY`. Quantities:
    /// `NAME.JOINT`, `NAME.JOINT.rate`, `NAME.BODY.x`, `NAME.SITE.z`, `NAME.gap`.
    #[derive(Debug, Clone, PartialEq)]
    pub struct RobotItem: "robot" {
        /// Name, unique in the scene; if absent that of the robot in its file, or else the file's own.
        name: String = OPTIONAL, Kind::Name, "";
        /// What it is. Who reads a file fills it in, since its language is not known here.
        robot: RobotDescription = SOURCE;
        /// Where its world stands in that of the scene.
        pose: Pose = PLACE;
        /// Whether its root stands or floats; if absent as the file says.
        fixed as "base": bool = OPTIONAL, BASES, "";
        /// Keyframe to start from; if absent the first, if any.
        keyframe: String = OPTIONAL, Kind::Text, "";
        /// Coordinates at the start, by joint.
        positions: Vec<(String, f64)> = OPTIONAL, BY_NAME, "rad or m";
        /// Velocities at the start, by joint.
        velocities: Vec<(String, f64)> = OPTIONAL, BY_NAME, "rad/s or m/s";
        /// Controls, by actuator.
        controls: Vec<(String, f64)> = OPTIONAL, BY_NAME, "";
        /// What drives it besides its actuators.
        drive: Drive = OPTIONAL, Kind::Table(const { &DRIVE }), "";
        /// Which forces a step of `impulse` takes at its end. A file that runs by itself brings its own.
        integrator: RobotIntegrator = word("discrete"), RobotIntegrator::KIND, "";
        /// As what its meshes collide under `impulse`.
        collide: Collide = COLLIDE;
    }
    rules [Rule::ExactlyOne(&["file", "text"])]
    finish fixed_base
}

fn fixed_base(robot: RobotItem, t: &View<'_>, _: &mut Findings) -> RobotItem {
    RobotItem { fixed: t.maybe_text("base") == Some("fixed"), ..robot }
}

impl RobotItem {
    /// A robot as its description has it.
    pub fn new(name: impl Into<String>, robot: RobotDescription) -> Self {
        Self { name: name.into(), robot, ..Self::default() }
    }
}
