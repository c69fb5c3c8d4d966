//! Points and bodies with prescribed motion.

use super::keys::*;
use crate::describe::short::*;
use crate::describe::{Field, Findings, Forms, Key, Kind, Rule, Table, View, fields, table};
use crate::filters::{Motion, Ride};
use crate::math::{Signal, Vec3};
use crate::mesh::Region;

const PATH: Table = Table::new(
    "path",
    "Straight lines between shifts at given times; constant before the first and after the last.",
    &[
        Field::required("times", list(&Kind::NUMBER, 1, 1_000_000), "s", "Times, rising."),
        Field::required(
            "shifts",
            list(&Kind::VEC3, 1, 1_000_000),
            "m",
            "Shifts from where the scene puts them, one for each time.",
        ),
    ],
);

/// Keys of a motion.
const MOTION: &[Field] = fields![
    &[
        Field::optional("velocity", VEC3, "m/s", "Constant velocity."),
        Field::optional(
            "angular_velocity",
            VEC3,
            "rad/s",
            "Constant angular velocity, world axes; affine and rigid bodies turn with it."
        ),
        Field::optional(
            "center",
            VEC3,
            "m",
            "What they turn about at the start; the centre of mass of a body, and the origin for points, if absent."
        ),
        Field::optional("from", NOT_NEGATIVE, "s", "When velocities begin."),
        Field::optional("until", NOT_NEGATIVE, "s", "When velocities end."),
        Field::optional(
            "path",
            Kind::Table(const { &PATH }),
            "",
            "Shifts of the centre over time, added to what velocities do."
        ),
        Field::optional("amplitude", VEC3, "m", "Displacement where the factor of `sine` or `table` is 1."),
    ],
    &[Signal::FORMS[0], Signal::FORMS[2]],
];

table! {
    /// Points and bodies with prescribed motion, from where they start; rigid bodies under `impulse`, `lagrange` and
    /// `ipc`, where they give way to nothing, and pass through grounds and each other.
    #[derive(Debug, Clone)]
    pub struct MotionSet: "motion" {
        /// The points or bodies.
        on: Vec<String> = REQUIRED, SELECTION, "";
        /// Only those of the points that start in this region.
        inside: Region = &[INSIDE];
        /// How they move from where they start.
        motion: Motion = MOTION;
    }
    rules [
        Rule::AtLeastOne(&["velocity", "angular_velocity", "path", "amplitude"]),
        Rule::AtMostOne(&["velocity", "amplitude"]),
        Rule::AtMostOne(&["angular_velocity", "amplitude"]),
        Rule::AtMostOne(&["path", "amplitude"]),
        Rule::AtMostOne(&["from", "amplitude"]),
        Rule::AtMostOne(&["until", "amplitude"]),
        Rule::AtMostOne(&["center", "amplitude"]),
        // With `amplitude` one signal, else none.
        Rule::AtMostOne(&["velocity", "sine", "table"]),
        Rule::AtMostOne(&["angular_velocity", "sine", "table"]),
        Rule::AtMostOne(&["path", "sine", "table"]),]
}

impl MotionSet {
    /// All of the named points have this motion.
    pub fn new(on: impl Into<String>, motion: Motion) -> Self {
        Self { on: vec![on.into()], inside: Region::All, motion }
    }
}

impl Key for Motion {
    fn read(t: &View<'_>, key: &'static str, out: &mut Findings) -> Option<Self> {
        let rides = ["angular_velocity", "center", "from", "until", "path"].iter().any(|key| t.has(key));
        Some(match t.item("velocity") {
            _ if rides => Self::Ride(ride(t, out)),
            Some(velocity) => Self::Velocity(velocity),
            None if !t.has("sine") && !t.has("table") => {
                out.error(t.key_span("amplitude"), "`amplitude` needs `sine` or `table`");
                Self::preset(t.description(), key)
            }
            None => Self::Signal {
                amplitude: t.item("amplitude").unwrap_or_default(),
                signal: Signal::read(t, "", out)?,
            },
        })
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::Velocity(Vec3::zeros())
    }
}

fn ride(t: &View<'_>, out: &mut Findings) -> Ride {
    let mut path = Vec::new();
    if let Some(table) = t.table("path") {
        let (times, shifts) = (table.numbers("times"), table.vec3s("shifts"));
        if times.len() != shifts.len() {
            out.error(table.span("shifts"), format!("{} times and {} shifts", times.len(), shifts.len()));
        }
        path = times.into_iter().zip(shifts.into_iter().map(Vec3::from)).collect();
    }
    Ride {
        velocity: t.item("velocity").unwrap_or_default(),
        angular_velocity: t.item("angular_velocity").unwrap_or_default(),
        center: t.item("center"),
        span: [t.maybe_number("from").unwrap_or_default(), t.maybe_number("until").unwrap_or(f64::INFINITY)],
        path,
    }
}
