//! What a scene file may say about rigid bodies, joints and generalized coordinates.

use dalembert::joints::JointKind;
use dalembert::scene::MOST_POINTS;

use super::tables::{NOT_NEGATIVE, ORIGIN, POSITIVE, SELECTION};
use crate::describe::{Field, Kind, Literal, Range, Rule, Table, Word};

pub(super) const NAME: Field = Field::required("name", Kind::Name, "", "Name, unique in the scene.");
pub(super) const SIZES3: Kind = Kind::List { item: &POSITIVE, min: 3, max: 3 };
const CORNERS: Kind = Kind::List {
    item: &Kind::List { item: &Kind::Integer { min: 0, max: u32::MAX as i64 }, min: 3, max: 3 },
    min: 1,
    max: usize::MAX,
};

static ROUND: Table = Table::new(
    "round",
    "A round shape that stands along z, centred on the origin of the body.",
    &[
        Field::required("radius", POSITIVE, "m", "Radius."),
        Field::required(
            "length",
            NOT_NEGATIVE,
            "m",
            "Length along z; of a capsule without its half balls. A cone has its tip up.",
        ),
    ],
);

pub(super) const SPHERE: Field = Field::optional("sphere", POSITIVE, "m", "A ball of this radius.");
pub(super) const BOX: Field = Field::optional("box", SIZES3, "m", "A box of these full sizes.");
pub(super) const CAPSULE: Field =
    Field::optional("capsule", Kind::Table(&ROUND), "", "A cylinder with half balls.");
pub(super) const CYLINDER: Field = Field::optional("cylinder", Kind::Table(&ROUND), "", "A round cylinder.");
pub(super) const CONE: Field = Field::optional("cone", Kind::Table(&ROUND), "", "A round cone.");
pub(super) const ELLIPSOID: Field =
    Field::optional("ellipsoid", SIZES3, "m", "An ellipsoid of these semi-axes.");
/// The loader replaces it by `vertices` and `triangles`.
const MESH: Field = Field::optional(
    "mesh",
    Kind::Text,
    "",
    "A mesh from a file (OBJ or STL) whose path is relative to this file; closed unless `thickness` is given.",
);
const VERTICES: Field = Field::optional(
    "vertices",
    Kind::List { item: &Kind::VEC3, min: 3, max: MOST_POINTS },
    "m",
    "Vertices of a mesh, with `triangles`; closed unless `thickness` is given.",
);
const THICKNESS: Field = Field::optional(
    "thickness",
    POSITIVE,
    "m",
    "The mesh is a thin sheet, which need not close, and weighs as if it had this thickness. Contact is with its triangles.",
);
pub(super) const TRIANGLES: Field = Field::optional(
    "triangles",
    CORNERS,
    "",
    "Corners of the triangles of a mesh, from 0, counter-clockwise seen from outside.",
);
pub(super) const SCALE: Field =
    Field::default("scale", POSITIVE, Literal::Number(1.0), "", "Factor on the vertices of a mesh.");
const POINT: Field =
    Field::optional("point", Kind::Bool, "", "True for a body without extent; `inertia` gives the rest.");

static PART: Table = Table::new(
    "part",
    "One part of a compound: a shape, and where it stands in the body. Where parts overlap, mass counts twice.",
    &[
        SPHERE,
        BOX,
        CAPSULE,
        CYLINDER,
        CONE,
        ELLIPSOID,
        MESH,
        VERTICES,
        TRIANGLES,
        THICKNESS,
        SCALE,
        Field::default("position", Kind::VEC3, ORIGIN, "m", "Its place in the body's frame."),
        ORIENTATION,
    ],
)
.with_rules(&[
    Rule::ExactlyOne(&["sphere", "box", "capsule", "cylinder", "cone", "ellipsoid", "mesh", "vertices"]),
    Rule::Together(&["vertices", "triangles"]),
]);

pub(super) static SHAPE: Table = Table::new(
    "shape",
    "The shape of a rigid or affine body, in its own frame.",
    &[
        SPHERE,
        BOX,
        CAPSULE,
        CYLINDER,
        CONE,
        ELLIPSOID,
        MESH,
        VERTICES,
        TRIANGLES,
        THICKNESS,
        SCALE,
        Field::optional("compound", Kind::Tables(&PART), "", "Several shapes, each at its place."),
        POINT,
    ],
)
.with_rules(&[
    Rule::ExactlyOne(&[
        "sphere",
        "box",
        "capsule",
        "cylinder",
        "cone",
        "ellipsoid",
        "mesh",
        "vertices",
        "compound",
        "point",
    ]),
    Rule::Together(&["vertices", "triangles"]),
]);

static TURN: Table = Table::new(
    "turn",
    "An orientation: a turn about an axis, or three angles.",
    &[
        Field::optional("axis", Kind::VEC3, "", "Axis of the turn, of any length; with `angle`."),
        Field::optional("angle", Kind::NUMBER, "rad", "Angle of the turn, right-handed."),
        Field::optional(
            "euler",
            Kind::VEC3,
            "rad",
            "Roll, pitch, yaw: a turn about the world's x axis, then y, then z (as in URDF).",
        ),
    ],
)
.with_rules(&[Rule::ExactlyOne(&["axis", "euler"]), Rule::Together(&["axis", "angle"])]);

/// The forms of an orientation.
pub(super) static TURNS: [Kind; 2] = [Kind::QUATERNION, Kind::Table(&TURN)];

pub(super) const ORIENTATION: Field = Field::default(
    "orientation",
    Kind::Either(&TURNS),
    Literal::Numbers(&[1.0, 0.0, 0.0, 0.0]),
    "",
    "Orientation: a unit quaternion w, x, y, z, or `{ axis, angle }`, or `{ euler = [roll, pitch, yaw] }`.",
);

static COLLIDES: [Word; 4] = [
    Word::new("automatic", "The convex hull of what moves, the triangles of what stands still."),
    Word::new("hull", "Its convex hull: hollows are filled."),
    Word::new("surface", "Its triangles, hollows and all."),
    Word::new("decomposition", "Several convex hulls: hollows stay open, about."),
];

pub(super) const COLLIDE: Field = Field::default(
    "collide",
    Kind::Word(&COLLIDES),
    Literal::Text("automatic"),
    "",
    "As what meshes collide under `impulse` and `lagrange`.",
);

static FINENESS: Table = Table::new(
    "decomposition",
    "How finely meshes are taken apart.",
    &[
        Field::default(
            "parts",
            Kind::Integer { min: 1, max: 256 },
            Literal::Integer(16),
            "",
            "Most hulls per mesh.",
        ),
        Field::default(
            "tolerance",
            POSITIVE,
            Literal::Number(0.005),
            "",
            "A part stays whole once the volume of its hull that is not its own is below this share of the hull of the mesh.",
        ),
    ],
);

pub(super) const DECOMPOSITION: Field = Field::optional(
    "decomposition",
    Kind::Table(&FINENESS),
    "",
    "With `collide = \"decomposition\"`: how finely.",
);

pub(super) static RIGID: Table = Table::new(
    "rigid",
    "A rigid body. Its mass comes from a density, from a mass spread evenly over the shape, or from `mass` with `inertia`.",
    &[
        NAME,
        Field::optional(
            "shape",
            Kind::Table(&SHAPE),
            "",
            "Shape; if absent the body has no extent, and needs `inertia`.",
        ),
        Field::optional("density", POSITIVE, "kg/m³", "Density of the shape."),
        Field::optional("mass", POSITIVE, "kg", "Mass."),
        Field::optional(
            "inertia",
            Kind::Either(&[Kind::VEC3, Kind::List { item: &Kind::VEC3, min: 3, max: 3 }]),
            "kg·m²",
            "Inertia about the centre of mass: three moments, or three rows of the tensor in body axes.",
        ),
        Field::default(
            "center",
            Kind::VEC3,
            ORIGIN,
            "m",
            "With `inertia`: centre of mass in the body's frame.",
        ),
        Field::optional(
            "axes",
            Kind::Either(&TURNS),
            "",
            "With three moments of `inertia`: orientation of the principal axes in the body, as `orientation`.",
        ),
        Field::default("position", Kind::VEC3, ORIGIN, "m", "Where the origin of its frame stands."),
        ORIENTATION,
        Field::default("velocity", Kind::VEC3, ORIGIN, "m/s", "Velocity of its centre of mass, world axes."),
        Field::default("angular_velocity", Kind::VEC3, ORIGIN, "rad/s", "Angular velocity, world axes."),
        COLLIDE,
        DECOMPOSITION,
    ],
)
.with_rules(&[Rule::ExactlyOne(&["density", "mass"]), Rule::AtMostOne(&["density", "inertia"])]);

/// The joints of scenes, from the engine's table: all kinds that hold something.
pub(super) static JOINTS: [Word; JointKind::ALL.len() - 1] = {
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

static WITH_AXIS: [&str; count(false)] = names(false);
static WITH_SECOND_AXIS: [&str; count(true)] = names(true);

static MOTOR: Table = Table::new(
    "motor",
    "What drives the coordinate of a joint (angle or position).",
    &[
        Field::optional("velocity", Kind::NUMBER, "rad/s or m/s", "Runs at this rate (`impulse` only)."),
        Field::optional("position", Kind::NUMBER, "rad or m", "Holds this value by a spring and damper."),
        Field::optional("effort", Kind::NUMBER, "N·m or N", "Constant torque or force."),
        Field::optional("kp", NOT_NEGATIVE, "N·m/rad or N/m", "With `position`: stiffness."),
        Field::optional("kd", NOT_NEGATIVE, "N·m·s/rad or N·s/m", "With `position`: damping."),
        Field::optional("max", NOT_NEGATIVE, "N·m or N", "Largest torque or force; no bound if absent."),
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

const KP: Field = Field::optional(
    "kp",
    NOT_NEGATIVE,
    "N/m or N·m/rad",
    "Stiffness of each row; makes the joint a spring-damper. Exact if neither `kp` nor `kd` is given.",
);
const KD: Field = Field::optional("kd", NOT_NEGATIVE, "N·s/m or N·m·s/rad", "Damping of each row.");

pub(super) static JOINT: Table = Table::new(
    "joint",
    "A joint between two bodies, particles or the world. Quantities: `NAME.angle`, `NAME.position`, `NAME.rate`, \
     `NAME.force`, `NAME.gap`, `NAME.broken`.",
    &[
        Field::required("name", Kind::Name, "", "Name, unique among joints, bodies and points."),
        Field::required("kind", Kind::Word(&JOINTS), "", "Which joint."),
        Field::required(
            "between",
            Kind::List { item: &Kind::Text, min: 2, max: 2 },
            "",
            "What it joins: rigid bodies, particles such as `rope[3]`, or `world`.",
        ),
        Field::optional(
            "anchor",
            Kind::VEC3,
            "m",
            "Place of both anchors in the world at the start (of a `distance`: of the first). The second body's \
             origin if absent.",
        ),
        Field::optional(
            "anchors",
            Kind::List { item: &Kind::VEC3, min: 2, max: 2 },
            "m",
            "Places of the anchors, each in the frame of its body.",
        ),
        Field::default(
            "axis",
            Kind::VEC3,
            Literal::Numbers(&[0.0, 0.0, 1.0]),
            "",
            "Axis in the world at the start, of any length.",
        )
        .when("kind", &WITH_AXIS),
        Field::optional(
            "axis2",
            Kind::VEC3,
            "",
            "Axis of the second body in the world at the start, of any length; made if absent.",
        )
        .when("kind", &WITH_SECOND_AXIS),
        Field::required("pitch", Kind::NUMBER, "m", "Advance per turn.").when("kind", &["screw"]),
        Field::optional("length", POSITIVE, "m", "Distance; the one at the start if absent.")
            .when("kind", &["distance"]),
        Field::optional(
            "limits",
            Kind::List { item: &Kind::NUMBER, min: 2, max: 2 },
            "rad or m",
            "Least and greatest value of the coordinate.",
        ),
        KP,
        KD,
        Field::optional(
            "error_reduction",
            Kind::Number(Range::FRACTION),
            "",
            "Share ε of the gap that a step takes away, whatever its size (`impulse` only).",
        ),
        Field::optional(
            "regularization",
            NOT_NEGATIVE,
            "1/(N·s/m)",
            "Softness r of each row (`impulse` only).",
        ),
        Field::optional("limit_kp", NOT_NEGATIVE, "N·m/rad or N/m", "Stiffness of the limits; hard if absent."),
        Field::optional("limit_kd", NOT_NEGATIVE, "N·m·s/rad or N·s/m", "Damping of the limits."),
        Field::optional("motor", Kind::Table(&MOTOR), "", "What drives the coordinate."),
        Field::default(
            "damping",
            NOT_NEGATIVE,
            Literal::Number(0.0),
            "N·m·s/rad or N·s/m",
            "Viscous damping of the coordinate.",
        ),
        Field::default(
            "friction",
            NOT_NEGATIVE,
            Literal::Number(0.0),
            "N·m or N",
            "Dry friction of the coordinate (`impulse` only).",
        ),
        Field::default(
            "armature",
            NOT_NEGATIVE,
            Literal::Number(0.0),
            "kg·m² or kg",
            "Inertia of a rotor on the coordinate.",
        ),
        Field::optional(
            "break_force",
            POSITIVE,
            "N or N·m",
            "The joint breaks when the norm of λ over its rows exceeds this.",
        ),
        Field::default(
            "collide",
            Kind::Bool,
            Literal::Bool(false),
            "",
            "Whether the two bodies still collide, for methods with contact.",
        ),
    ],
)
.with_rules(&[
    Rule::AtMostOne(&["anchor", "anchors"]),
    Rule::AtMostOne(&["kp", "error_reduction"]),
    Rule::AtMostOne(&["kd", "error_reduction"]),
    Rule::Together(&["error_reduction", "regularization"]),
]);

pub(super) static GEAR: Table = Table::new(
    "gear",
    "Two joints whose coordinates move in proportion: first + ratio · second stays as it is at the start.",
    &[
        Field::required("name", Kind::Name, "", "Name, unique among joints, bodies and points."),
        Field::required(
            "joints",
            Kind::List { item: &Kind::Text, min: 2, max: 2 },
            "",
            "Two joints with one coordinate each: hinge (angle), slider (position), cylindrical and screw (angle).",
        ),
        Field::optional(
            "ratio",
            Kind::NUMBER,
            "",
            "Ratio: teeth of the second over teeth of the first; negative for a belt or an inner gear.",
        ),
        Field::optional(
            "radius",
            POSITIVE,
            "m",
            "Rack and pinion: the first joint is the rack's slider, the second the pinion's hinge, and the slide is \
             the radius times the angle.",
        ),
        KP,
        KD,
    ],
)
.with_rules(&[Rule::ExactlyOne(&["ratio", "radius"])]);

static CIRCLE: Table = Table::new(
    "circle",
    "A circle.",
    &[
        Field::default("center", Kind::VEC3, ORIGIN, "m", "Centre."),
        Field::default(
            "axis",
            Kind::VEC3,
            Literal::Numbers(&[0.0, 0.0, 1.0]),
            "",
            "Normal of its plane, of any length.",
        ),
        Field::required("radius", POSITIVE, "m", "Radius."),
    ],
);

static LINE: Table = Table::new(
    "line",
    "An endless straight line.",
    &[
        Field::default("through", Kind::VEC3, ORIGIN, "m", "A point on it."),
        Field::required("along", Kind::VEC3, "", "Its direction, of any length."),
    ],
);

static PARABOLA: Table = Table::new(
    "parabola",
    "The parabola z = z₀ + curvature · (x − x₀)² in the plane y = y₀.",
    &[
        Field::default("lowest", Kind::VEC3, ORIGIN, "m", "Its lowest point (x₀, y₀, z₀)."),
        Field::required("curvature", Kind::NUMBER, "1/m", "Curvature."),
    ],
);

static BALL: Table = Table::new(
    "ball",
    "The surface of a ball.",
    &[
        Field::default("center", Kind::VEC3, ORIGIN, "m", "Centre."),
        Field::required("radius", POSITIVE, "m", "Radius."),
    ],
);

static TUBE: Table = Table::new(
    "tube",
    "The surface of an endless cylinder.",
    &[
        Field::default("center", Kind::VEC3, ORIGIN, "m", "A point on its axis."),
        Field::default(
            "axis",
            Kind::VEC3,
            Literal::Numbers(&[0.0, 0.0, 1.0]),
            "",
            "Direction of its axis, of any length.",
        ),
        Field::required("radius", POSITIVE, "m", "Radius."),
    ],
);

static FLAT: Table = Table::new(
    "flat",
    "A plane.",
    &[
        Field::default("through", Kind::VEC3, ORIGIN, "m", "A point in it."),
        Field::default(
            "normal",
            Kind::VEC3,
            Literal::Numbers(&[0.0, 0.0, 1.0]),
            "",
            "Its normal, of any length.",
        ),
    ],
);

static TORUS: Table = Table::new(
    "torus",
    "A torus around z.",
    &[
        Field::default("center", Kind::VEC3, ORIGIN, "m", "Centre."),
        Field::required("ring", POSITIVE, "m", "Radius of the ring."),
        Field::required("tube", POSITIVE, "m", "Radius of the tube."),
    ],
);

pub(super) static BEAD: Table = Table::new(
    "bead",
    "Particles that stay on a curve or surface.",
    &[
        Field::required("name", Kind::Name, "", "Name, unique among joints, bodies and points."),
        Field::required("on", SELECTION, "", "The particles, each held by itself."),
        Field::optional("circle", Kind::Table(&CIRCLE), "", "A circle."),
        Field::optional("line", Kind::Table(&LINE), "", "A straight line."),
        Field::optional("parabola", Kind::Table(&PARABOLA), "", "A parabola."),
        Field::optional("sphere", Kind::Table(&BALL), "", "A sphere."),
        Field::optional("cylinder", Kind::Table(&TUBE), "", "A cylinder."),
        Field::optional("plane", Kind::Table(&FLAT), "", "A plane."),
        Field::optional("torus", Kind::Table(&TORUS), "", "A torus."),
    ],
)
.with_rules(&[Rule::ExactlyOne(&["circle", "line", "parabola", "sphere", "cylinder", "plane", "torus"])]);

/// Most rods of a pendulum: its equations are solved densely.
const MOST_RODS: usize = 500;

static PENDULUM: Table = Table::new(
    "pendulum",
    "A chain of point masses on massless rods, swinging in a plane; coordinate i is the angle of rod i from straight \
     down.",
    &[
        Field::default("pivot", Kind::VEC3, ORIGIN, "m", "Where the first rod hangs."),
        Field::required(
            "lengths",
            Kind::List { item: &POSITIVE, min: 1, max: MOST_RODS },
            "m",
            "Lengths of the rods.",
        ),
        Field::default(
            "down",
            Kind::VEC3,
            Literal::Numbers(&[0.0, 0.0, -1.0]),
            "",
            "Direction of angle zero.",
        ),
        Field::default(
            "side",
            Kind::VEC3,
            Literal::Numbers(&[1.0, 0.0, 0.0]),
            "",
            "Direction towards which positive angles swing, across `down`.",
        ),
    ],
);

pub(super) static GENERALIZED: Table = Table::new(
    "generalized",
    "A body with generalized coordinates u: its points lie at x(u). Other maps than the pendulum are written in Rust. \
     Quantities: `NAME.u0`, `NAME.du0`, and those of its points.",
    &[
        NAME,
        Field::required("pendulum", Kind::Table(&PENDULUM), "", "The map x(u)."),
        Field::required(
            "masses",
            Kind::List { item: &POSITIVE, min: 1, max: MOST_RODS },
            "kg",
            "Masses of its points.",
        ),
        Field::required(
            "coordinates",
            Kind::List { item: &Kind::NUMBER, min: 1, max: MOST_RODS },
            "rad",
            "u at the start.",
        ),
        Field::optional(
            "rates",
            Kind::List { item: &Kind::NUMBER, min: 1, max: MOST_RODS },
            "rad/s",
            "u̇ at the start; zero if absent.",
        ),
    ],
);
