//! Keys that several tables share, and values that are read alike wherever they stand.

use crate::describe::short::*;
use crate::describe::{
    Field, Findings, Forms, Key, Kind, Literal, Range, Rule, Table, View, fields, variants,
};
use crate::math::rotation::{exp, quaternion, renormalise};
use crate::math::{Pose, Quat, Signal, Vec3};
use crate::mesh::Region;

/// The name of a body or of a set of points.
pub(super) const NAME: Field = Field::required("name", Kind::Name, "", "Name, unique in the scene.");
/// The name of a joint, gear or bead.
pub(super) const JOINT_NAME: Field =
    Field::required("name", Kind::Name, "", "Name, unique among joints, bodies and points.");
pub(super) const FORCE_NAME: Field = Field::optional(
    "name",
    Kind::Name,
    "",
    "Name, for the quantity `energy.NAME` and for messages; made from the kind if there is none.",
);
pub(super) const ON: Field = Field::optional(
    "on",
    SELECTION,
    "",
    "Points that feel it: names such as `rope`, `rope[3]`, `rope[-1]` or `rope[0:5]`; of a rigid or affine body its centre of mass. All particles if absent.",
);
pub(super) const POSITION: Field =
    Field::new("position", VEC3, ORIGIN, "m", "Where the origin of its frame stands.");
pub(super) const POISSON: Field = Field::new(
    "poisson",
    Kind::Number(Range { min: -1.0, above: true, max: 0.5, below: true }),
    number(0.3),
    "",
    "Poisson's ratio.",
);

// ---------------------------------------------------------------------------------- directions

/// The vector at length 1; `None` if it has no direction.
pub(super) fn unit(v: &Vec3) -> Option<Vec3> {
    let size = v.amax();
    // Divided by its largest entry first, so that neither large nor small ones overflow.
    (size > 0.0 && size.is_finite())
        .then(|| (v / size).normalize())
        .filter(|u| u.iter().all(|x| x.is_finite()))
}

/// A vector of length 1, written with any length.
pub(super) struct Direction(Vec3);

impl From<Direction> for Vec3 {
    fn from(direction: Direction) -> Self {
        direction.0
    }
}

impl Key for Direction {
    fn read(t: &View<'_>, key: &'static str, out: &mut Findings) -> Option<Self> {
        let given = Vec3::from(t.vec3(key));
        let found = unit(&given);
        if found.is_none() {
            out.error(t.span(key), format!("({}, {}, {}) is no direction", given.x, given.y, given.z));
        }
        Some(Self(found.unwrap_or_else(Vec3::z)))
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self(Vec3::z())
    }
}

// -------------------------------------------------------------------------------- orientations

const TURN: Table = Table::new(
    "turn",
    "An orientation: a turn about an axis, or three angles.",
    &[
        Field::optional("axis", VEC3, "", "Axis of the turn, of any length; with `angle`."),
        Field::optional("angle", NUMBER, "rad", "Angle of the turn, right-handed."),
        Field::optional(
            "euler",
            VEC3,
            "rad",
            "Roll, pitch, yaw: a turn about the world's x axis, then y, then z (as in URDF).",
        ),
    ],
)
.with_rules(&[Rule::ExactlyOne(&["axis", "euler"]), Rule::Together(&["axis", "angle"])]);

/// The forms of an orientation.
pub(super) const TURNS: Kind = Kind::Either(&[Kind::QUATERNION, Kind::Table(const { &TURN })]);

pub(super) const ORIENTATION: Field = Field::default(
    "orientation",
    TURNS,
    Literal::Numbers(&[1.0, 0.0, 0.0, 0.0]),
    "",
    "Orientation: a unit quaternion w, x, y, z, or `{ axis, angle }`, or `{ euler = [roll, pitch, yaw] }`.",
);

/// A unit quaternion from one of its three forms.
impl Key for Quat {
    fn read(t: &View<'_>, key: &'static str, out: &mut Findings) -> Option<Self> {
        let mut refuse = |message: String| {
            out.error(t.span(key), message);
            Some(Self::identity())
        };
        let Some(turn) = t.table(key) else {
            let q = t.numbers(key);
            let [w, x, y, z] = q[..] else { return Some(Self::identity()) };
            let size = w.hypot(x).hypot(y.hypot(z));
            // A few digits may be missing; a length of 2 is a slip.
            if !((size - 1.0).abs() < 1e-3) {
                return refuse(format!(
                    "`{key}` must be a quaternion w, x, y, z of length 1, but has length {size}"
                ));
            }
            return Some(renormalise(&quaternion(&q, 0)));
        };
        if let Some([roll, pitch, yaw]) = turn.maybe_vec3("euler") {
            let about = |axis: Vec3, angle: f64| exp(&(axis * angle));
            return Some(about(Vec3::z(), yaw) * about(Vec3::y(), pitch) * about(Vec3::x(), roll));
        }
        let axis = Vec3::from(turn.vec3("axis"));
        match unit(&axis) {
            Some(axis) => Some(exp(&(axis * turn.number("angle")))),
            None => refuse(format!("({}, {}, {}) is no axis", axis.x, axis.y, axis.z)),
        }
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::identity()
    }
}

/// `position` and `orientation`.
impl Key for Pose {
    fn read(t: &View<'_>, _: &'static str, out: &mut Findings) -> Option<Self> {
        Some(Self::new(t.vec3("position").into(), Quat::read(t, "orientation", out)?))
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::identity()
    }
}

// ------------------------------------------------------------------------------------- regions

variants! {
    for Region {
        /// Points near a plane.
        Plane: "plane", "Points near a plane.", "layer" {
            /// A point of the plane.
            through: Vec3 = ORIGIN, VEC3, "m";
            /// Normal of the plane, of any length.
            normal: Direction = UP, VEC3, "";
            /// Distance on either side.
            within: f64 = number(1e-6), NOT_NEGATIVE, "m";
        }
        /// Points on the side of a plane to which its normal points, and on the plane.
        HalfSpace: "half_space", "Points on one side of a plane.", "half_space" {
            /// A point of the plane.
            through: Vec3 = ORIGIN, VEC3, "m";
            /// Normal of the plane, of any length.
            normal: Direction = UP, VEC3, "";
        }
        /// Points in a ball.
        Sphere: "sphere", "Points in a ball.", "round_region" {
            /// Centre.
            center: Vec3 = ORIGIN, VEC3, "m";
            /// Radius.
            radius: f64 = REQUIRED, NOT_NEGATIVE, "m";
        }
    }
}

const REGION: Table = Table::new(
    "region",
    "A region of the world, at the start.",
    fields![
        &[Field::optional(
            "box",
            list(&Kind::VEC3, 2, 2),
            "m",
            "Points of a box: its lowest and its highest corner.",
        )],
        Region::FORMS,
    ],
)
.with_rules(&[Rule::ExactlyOne(&["box", "plane", "half_space", "sphere"])]);

pub(super) const INSIDE: Field = Field::optional(
    "inside",
    Kind::Table(const { &REGION }),
    "",
    "Only those of the points that start in this region.",
);

/// The region that `inside` describes; everything if there is none.
impl Key for Region {
    fn read(t: &View<'_>, _: &'static str, out: &mut Findings) -> Option<Self> {
        let Some(region) = t.table("inside") else { return Some(Self::All) };
        if let Some([low, high]) = region.item::<[Vec3; 2]>("box") {
            if !(0..3).all(|k| low[k] <= high[k]) {
                let message = "the first corner of `box` must be the lower one along x, y and z";
                out.error(region.span("box"), message);
            }
            return Some(Self::Box { low, high });
        }
        Self::form(&region, out).unwrap_or(Some(Self::All))
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::All
    }
}

// ------------------------------------------------------------------------------------- signals

/// One number or more.
const NUMBERS: Kind = Kind::List { item: &Kind::NUMBER, min: 1, max: usize::MAX };

variants! {
    for Signal {
        /// The factor sin(2π·frequency·t + phase).
        Sine: "sine", "Factor over time: a sine.", "sine" {
            /// Frequency.
            frequency: f64 = REQUIRED, NUMBER, "Hz";
            /// Phase at t = 0.
            phase: f64 = number(0.0), NUMBER, "rad";
        }
        /// The factor 1 for `from` ≤ t < `to`, else 0.
        Pulse: "pulse", "Factor over time: on for a while.", "pulse" {
            /// First instant.
            from: f64 = number(0.0), NUMBER, "s";
            /// Last instant, excluded.
            to: f64 = REQUIRED, NUMBER, "s";
        }
        /// A factor given by straight lines between points; constant before the first and after the last.
        Table: "table", "Factor over time: straight lines between points.", "table" {
            /// Times, increasing.
            times: Vec<f64> = REQUIRED, NUMBERS, "s";
            /// Values, one for each time.
            values: Vec<f64> = REQUIRED, NUMBERS, "";
        }
    }
}

impl Key for Signal {
    fn read(t: &View<'_>, _: &'static str, out: &mut Findings) -> Option<Self> {
        Self::form(t, out).unwrap_or(Some(Self::Constant))
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::Constant
    }
}
