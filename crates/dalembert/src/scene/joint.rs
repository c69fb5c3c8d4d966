//! Joints between two bodies, particles or the world, and gears between two joints.

use super::keys::*;
use crate::describe::Word;
use crate::describe::short::*;
use crate::describe::{Field, Findings, Key, Kind, Range, Rule, Table, View, table};
use crate::joints::{JointKind, Softness};
use crate::math::Vec3;

/// Where the anchors of a joint are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Anchors {
    /// At the second body's origin (or the particle) at the start.
    Default,
    /// One place in the world at the start \[m\].
    World(Vec3),
    /// One place in each body's frame \[m\].
    Local([Vec3; 2]),
}

/// What drives the coordinate of a joint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Motor {
    /// Runs at a rate \[rad/s or m/s\] with at most `max` \[N·m or N\].
    Velocity {
        /// Target rate.
        target: f64,
        /// Largest effort.
        max: f64,
    },
    /// Holds a value \[rad or m\] by a spring and damper with at most `max` \[N·m or N\].
    Position {
        /// Target value.
        target: f64,
        /// Stiffness \[N·m/rad or N/m\].
        kp: f64,
        /// Damping \[N·m·s/rad or N·s/m\].
        kd: f64,
        /// Largest effort.
        max: f64,
    },
    /// Constant effort \[N·m or N\].
    Effort(f64),
}

/// How stiffly a joint or its limits hold.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Stiffness {
    /// Exactly.
    #[default]
    Hard,
    /// Spring and damper in SI units.
    Gains {
        /// Stiffness kp \[N/m or N·m/rad\].
        kp: f64,
        /// Damping kd \[N·s/m or N·m·s/rad\].
        kd: f64,
    },
    /// ε and r as they are, whatever the step size (`impulse` only).
    Given(Softness),
}

/// The joints of scenes: all kinds that hold something.
const KINDS: [Word; JointKind::ALL.len() - 1] = {
    let mut words = [Word::new("", ""); JointKind::ALL.len() - 1];
    let (mut k, mut n) = (0, 0);
    while k < JointKind::ALL.len() {
        let info = JointKind::ALL[k].info();
        if info.rows > 0 {
            words[n] = Word::new(info.name, info.leaves);
            n += 1;
        }
        k += 1;
    }
    words
};

/// How many joints have axes, and how many a second axis.
const fn count(second: bool) -> usize {
    let (mut k, mut n) = (0, 0);
    while k < JointKind::ALL.len() {
        n += has_axis(k, second) as usize;
        k += 1;
    }
    n
}

const fn has_axis(k: usize, second: bool) -> bool {
    let info = JointKind::ALL[k].info();
    if second { info.has_second_axis() } else { !info.axes.is_empty() }
}

/// Names of the joints with axes, or with a second axis.
const fn names<const N: usize>(second: bool) -> [&'static str; N] {
    let mut names = [""; N];
    let (mut k, mut n) = (0, 0);
    while k < JointKind::ALL.len() {
        if has_axis(k, second) {
            names[n] = JointKind::ALL[k].name();
            n += 1;
        }
        k += 1;
    }
    names
}

const WITH_AXIS: &[&str] = &names::<{ count(false) }>(false);
const WITH_SECOND_AXIS: &[&str] = &names::<{ count(true) }>(true);

const KIND: Field = Field::required("kind", Kind::Word(&KINDS), "", "Which joint.");
/// The second axis, and what else belongs to one kind alone.
const SECOND_AXIS: &[Field] = &[
    Field::optional(
        "axis2",
        VEC3,
        "",
        "Axis of the second body in the world at the start, of any length; made if absent.",
    )
    .when("kind", WITH_SECOND_AXIS),
    Field::required("pitch", NUMBER, "m", "Advance per turn.").when("kind", &["screw"]),
    Field::optional("length", POSITIVE, "m", "Distance; the one at the start if absent.")
        .when("kind", &["distance"]),
];
const ANCHORS: &[Field] = &[
    Field::new(
        "anchor",
        VEC3,
        OPTIONAL,
        "m",
        "Place of both anchors in the world at the start (of a `distance`: of the first). The second body's origin if absent.",
    ),
    Field::new(
        "anchors",
        list(&Kind::VEC3, 2, 2),
        OPTIONAL,
        "m",
        "Places of the anchors, each in the frame of its body.",
    ),
];
const KP: Field = Field::optional(
    "kp",
    NOT_NEGATIVE,
    "N/m or N·m/rad",
    "Stiffness of each row; makes the joint a spring-damper. Exact if neither `kp` nor `kd` is given.",
);
const KD: Field = Field::optional("kd", NOT_NEGATIVE, "N·s/m or N·m·s/rad", "Damping of each row.");
/// How a joint holds.
const HOLD: &[Field] = &[
    KP,
    KD,
    Field::new(
        "error_reduction",
        Kind::Number(Range::FRACTION),
        OPTIONAL,
        "",
        "Share ε of the gap that a step takes away, whatever its size (`impulse` only).",
    ),
    Field::new(
        "regularization",
        NOT_NEGATIVE,
        OPTIONAL,
        "1/(N·s/m)",
        "Softness r of each row (`impulse` only).",
    ),
];
const LIMIT_HOLD: &[Field] = &[
    Field::new(
        "limit_kp",
        NOT_NEGATIVE,
        OPTIONAL,
        "N·m/rad or N/m",
        "Stiffness of the limits; hard if absent.",
    ),
    Field::new("limit_kd", NOT_NEGATIVE, OPTIONAL, "N·m·s/rad or N·s/m", "Damping of the limits."),
];

const MOTOR: Table = Table::new(
    "motor",
    "What drives the coordinate of a joint (angle or position).",
    &[
        Field::new("velocity", NUMBER, OPTIONAL, "rad/s or m/s", "Runs at this rate (`impulse` only)."),
        Field::new("position", NUMBER, OPTIONAL, "rad or m", "Holds this value by a spring and damper."),
        Field::new("effort", NUMBER, OPTIONAL, "N·m or N", "Constant torque or force."),
        Field::new("kp", NOT_NEGATIVE, OPTIONAL, "N·m/rad or N/m", "With `position`: stiffness."),
        Field::new("kd", NOT_NEGATIVE, OPTIONAL, "N·m·s/rad or N·s/m", "With `position`: damping."),
        Field::new("max", NOT_NEGATIVE, OPTIONAL, "N·m or N", "Largest torque or force; no bound if absent."),
    ],
)
.with_rules(&[
    Rule::ExactlyOne(&["velocity", "position", "effort"]),
    Rule::AtMostOne(&["effort", "max"]),
    Rule::AtMostOne(&["effort", "kp"]),
    Rule::AtMostOne(&["effort", "kd"]),
    Rule::AtMostOne(&["velocity", "kp"]),
    Rule::AtMostOne(&["velocity", "kd"]),
]);

impl Key for JointKind {
    fn read(t: &View<'_>, key: &'static str, _: &mut Findings) -> Option<Self> {
        Some(match Self::named(t.text(key)).unwrap_or(Self::Ball) {
            Self::Screw { .. } => Self::Screw { pitch: t.maybe_number("pitch").unwrap_or_default() },
            Self::Distance { .. } => Self::Distance { length: t.maybe_number("length") },
            kind => kind,
        })
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::Ball
    }
}

impl Key for Anchors {
    fn read(t: &View<'_>, _: &'static str, _: &mut Findings) -> Option<Self> {
        let local = || t.item("anchors").map(Self::Local);
        Some(t.item("anchor").map(Self::World).or_else(local).unwrap_or(Self::Default))
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::Default
    }
}

impl Key for Stiffness {
    fn read(t: &View<'_>, key: &'static str, _: &mut Findings) -> Option<Self> {
        let [kp, kd] = if key == "limit_stiffness" { ["limit_kp", "limit_kd"] } else { ["kp", "kd"] };
        if key == "stiffness"
            && t.gives("error_reduction")
            && let (error_reduction, Some(regularization)) =
                (t.number("error_reduction"), t.maybe_number("regularization"))
        {
            return Some(Self::Given(Softness { error_reduction, regularization }));
        }
        Some(match (t.maybe_number(kp), t.maybe_number(kd)) {
            (None, None) => Self::Hard,
            (kp, kd) => Self::Gains { kp: kp.unwrap_or_default(), kd: kd.unwrap_or_default() },
        })
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::Hard
    }
}

impl Key for Motor {
    fn read(t: &View<'_>, key: &'static str, _: &mut Findings) -> Option<Self> {
        let m = t.table(key)?;
        let max = m.maybe_number("max").unwrap_or(f64::INFINITY);
        let gain = |key: &str| m.maybe_number(key).unwrap_or_default();
        Some(match (m.maybe_number("velocity"), m.maybe_number("position")) {
            (Some(target), _) => Self::Velocity { target, max },
            (_, Some(target)) => Self::Position { target, kp: gain("kp"), kd: gain("kd"), max },
            _ => Self::Effort(gain("effort")),
        })
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::Effort(0.0)
    }
}

table! {
    /// A joint between two bodies, particles or the world. Quantities: `NAME.angle`, `NAME.position`, `NAME.rate`,
    /// `NAME.force`, `NAME.gap`, `NAME.broken`.
    #[derive(Debug, Clone, PartialEq)]
    pub struct JointItem: "joint" {
        /// Name, unique among joints, bodies and points.
        name: String = &[JOINT_NAME];
        /// Which joint.
        kind: JointKind = &[KIND];
        /// What it joins: rigid bodies, particles such as `rope[3]`, or `world`.
        between: [String; 2] = REQUIRED, TWO_TEXTS, "";
        /// Where.
        anchors: Anchors = ANCHORS;
        /// Axis in the world at the start, of any length.
        axis: Vec3 = UP, VEC3, "" if "kind" is WITH_AXIS;
        /// Axis of the second body in the world at the start, for kinds that have one; of a universal joint across the first.
        axis2: Option<Vec3> = SECOND_AXIS;
        /// Least and greatest value of the coordinate.
        limits: Option<[f64; 2]> = OPTIONAL, list(&Kind::NUMBER, 2, 2), "rad or m";
        /// How it holds.
        stiffness: Stiffness = HOLD;
        /// How the limits hold.
        limit_stiffness: Stiffness = LIMIT_HOLD;
        /// What drives the coordinate.
        motor: Option<Motor> = OPTIONAL, Kind::Table(const { &MOTOR }), "";
        /// Viscous damping of the coordinate.
        damping: f64 = number(0.0), NOT_NEGATIVE, "N·m·s/rad or N·s/m";
        /// Dry friction of the coordinate (`impulse` only).
        friction: f64 = number(0.0), NOT_NEGATIVE, "N·m or N";
        /// Inertia of a rotor on the coordinate.
        armature: f64 = number(0.0), NOT_NEGATIVE, "kg·m² or kg";
        /// The joint breaks when the norm of λ over its rows exceeds this.
        break_force: Option<f64> = OPTIONAL, POSITIVE, "N or N·m";
        /// Whether the two bodies still collide, for methods with contact.
        collide: bool = FALSE, BOOL, "";
    }
    rules [
        Rule::AtMostOne(&["anchor", "anchors"]),
        Rule::AtMostOne(&["kp", "error_reduction"]),
        Rule::AtMostOne(&["kd", "error_reduction"]),
        Rule::Together(&["error_reduction", "regularization"]),]
    check limits_have_gains
}

impl JointItem {
    /// A hard joint at the second body's origin with its axis along z.
    pub fn new(name: impl Into<String>, kind: JointKind, a: impl Into<String>, b: impl Into<String>) -> Self {
        Self { name: name.into(), kind, between: [a.into(), b.into()], ..Self::default() }
    }

    /// Puts both anchors at one place in the world \[m\].
    pub fn anchor(mut self, at: [f64; 3]) -> Self {
        self.anchors = Anchors::World(at.into());
        self
    }

    /// Sets the axis, in the world at the start.
    pub fn axis(mut self, axis: [f64; 3]) -> Self {
        self.axis = axis.into();
        self
    }

    /// Makes the joint a spring kp and damper kd in SI units.
    pub fn soft(mut self, kp: f64, kd: f64) -> Self {
        self.stiffness = Stiffness::Gains { kp, kd };
        self
    }

    /// Sets the limits of the coordinate \[rad or m\].
    pub fn limits(mut self, low: f64, high: f64) -> Self {
        self.limits = Some([low, high]);
        self
    }

    /// Drives the coordinate.
    pub fn motor(mut self, motor: Motor) -> Self {
        self.motor = Some(motor);
        self
    }

    /// Sets viscous damping of the coordinate \[N·m·s/rad or N·s/m\].
    pub fn damping(mut self, c: f64) -> Self {
        self.damping = c;
        self
    }
}

fn limits_have_gains(t: &View<'_>, out: &mut Findings) {
    for key in ["limit_kp", "limit_kd"] {
        if t.has(key) && !t.has("limits") {
            out.error(t.key_span(key), format!("`{key}` has no meaning without `limits`"));
        }
    }
}

/// Keys of a ratio.
const RATIO: &[Field] = &[
    Field::new(
        "ratio",
        NUMBER,
        OPTIONAL,
        "",
        "Ratio: teeth of the second over teeth of the first; negative for a belt or an inner gear.",
    ),
    Field::new(
        "radius",
        POSITIVE,
        OPTIONAL,
        "m",
        "Rack and pinion: the first joint is the rack's slider, the second the pinion's hinge, and the slide is the radius times the angle.",
    ),
];

table! {
    /// Two joints whose coordinates move in proportion: first + ratio · second stays as it is at the start.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Gear: "gear" {
        /// Name, unique among joints, bodies and points.
        name: String = &[JOINT_NAME];
        /// Two joints with one coordinate each: hinge (angle), slider (position), cylindrical and screw (angle).
        joints: [String; 2] = REQUIRED, TWO_TEXTS, "";
        /// Ratio; for a rack and pinion minus the radius of the pinion \[m\].
        ratio: f64 = RATIO;
        /// How it holds.
        stiffness: Stiffness = &[KP, KD];
    }
    rules [Rule::ExactlyOne(&["ratio", "radius"])]
    finish rack_and_pinion
}

/// Slide = radius · angle, so that slide − radius · angle stays.
fn rack_and_pinion(gear: Gear, t: &View<'_>, _: &mut Findings) -> Gear {
    let ratio = t.maybe_number("radius").map_or(gear.ratio, |radius| -radius);
    Gear { ratio, ..gear }
}
