//! What a scene file may contain, in the order of the reference.

use dalembert::scene::MOST_POINTS;

use super::contact_tables::{CONTACT, GROUND, IPC};
use super::deformable_tables::{AFFINE, INSIDE, SOFT, SURFACE};
use super::mechanism_tables::{BEAD, GEAR, GENERALIZED, JOINT, RIGID};
use super::robot_tables::ROBOT;
use super::sheet_tables::{CLOTH as CLOTH_BODY, OBSTACLE, PRESSURE, ROD};
use crate::describe::{Field, Kind, Literal, Range, Rule, Table, Word};
use crate::source::INCLUDE;

pub(super) const POSITIVE: Kind = Kind::Number(Range::POSITIVE);
pub(super) const NOT_NEGATIVE: Kind = Kind::Number(Range::NON_NEGATIVE);
pub(super) const ORIGIN: Literal = Literal::Numbers(&[0.0, 0.0, 0.0]);
/// At least one text: an empty list is more likely a slip than a wish.
pub(super) const SELECTION: Kind =
    Kind::Either(&[Kind::Text, Kind::List { item: &Kind::Text, min: 1, max: usize::MAX }]);
const SIZES: Kind = Kind::List { item: &NOT_NEGATIVE, min: 3, max: 3 };
const NUMBERS: Kind = Kind::List { item: &Kind::NUMBER, min: 1, max: usize::MAX };

const fn count(min: i64) -> Kind {
    Kind::Integer { min, max: MOST_POINTS as i64 }
}

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

pub(super) static METHODS: [Word; 5] = [
    Word::new(
        "explicit",
        "Explicit integration of M v̇ = f, joints as spring-dampers; its settings are in `explicit`.",
    ),
    Word::new("lagrange", "Joints exact, by multipliers at the acceleration level; settings in `lagrange`."),
    Word::new(
        "impulse",
        "Joints hard or soft and contact with friction, at the velocity level; settings in `impulse`.",
    ),
    Word::new(
        "implicit",
        "Forces at the end of the step, for stiff and soft things, joints as spring-dampers; settings in `implicit`.",
    ),
    Word::new(
        "ipc",
        "One minimisation per step, with contact in which nothing ever intersects; rigid bodies run as stiff affine ones; settings in `ipc`.",
    ),
];

pub(super) static SCHEMES: [Word; 6] = [
    Word::new("euler", "Implicit Euler: order 1, damps what it cannot follow."),
    Word::new("bdf2", "Second backward difference: order 2, damps fast motion."),
    Word::new("midpoint", "Implicit midpoint: order 2, damps nothing."),
    Word::new("trapezoid", "Trapezoid rule: order 2, damps nothing."),
    Word::new("newmark", "Newmark's average acceleration: the trapezoid rule under another name."),
    Word::new("static", "Equilibrium at every step, no motion."),
];

pub(super) static LINEAR_SOLVERS: [Word; 3] = [
    Word::new("automatic", "By size and shape of the system."),
    Word::new("cg", "Conjugate gradients that never see a matrix, with a `preconditioner`."),
    Word::new("direct", "Sparse Cholesky factorisation."),
];

pub(super) static PRECONDITIONERS: [Word; 4] = [
    Word::new("none", "Plain conjugate gradients."),
    Word::new("block_jacobi", "The inverse of each 3×3 block on the diagonal."),
    Word::new("incomplete_cholesky", "Incomplete factors of 3×3 blocks."),
    Word::new("two_level", "Incomplete factors, and a coarse solve for slow, wide motions."),
];

pub(super) static SOLVERS: [Word; 2] = [
    Word::new("direct", "Sparse factorisation: exact, linear time for trees."),
    Word::new("pgs", "Projected Gauss–Seidel with `sweeps` sweeps, for comparison."),
];

static IMPACTS: [Word; 3] = [
    Word::new("sequential", "One contact after the other, in turn, until none approaches."),
    Word::new("simultaneous", "All at once, by a linear complementarity problem."),
    Word::new("chain", "Always the contact that approaches fastest, until none does."),
];

pub(super) static INTEGRATORS: [Word; 7] = [
    Word::new("euler", "Explicit Euler, order 1; gains energy."),
    Word::new("symplectic_euler", "Kick, then drift: order 1, symplectic; the fastest."),
    Word::new("midpoint", "Midpoint rule, order 2."),
    Word::new("verlet", "Velocity Verlet (leapfrog), order 2, symplectic."),
    Word::new("rk4", "Classical Runge–Kutta, order 4."),
    Word::new("euler_doubling", "Euler with step doubling, adaptive."),
    Word::new("dormand_prince", "Dormand–Prince 5(4), adaptive."),
];

pub(super) static EDGES: [Word; 3] = [
    Word::new("structural", "Nearest neighbours along the lines of the arrangement."),
    Word::new("shear", "Diagonals of the squares of a grid or cloth."),
    Word::new("bend", "Every other neighbour along the lines: resists bending."),
];

static EXPLICIT: Table = Table::new(
    "explicit",
    "Settings of the method `explicit`.",
    &[
        Field::default(
            "integrator",
            Kind::Word(&INTEGRATORS),
            Literal::Text("symplectic_euler"),
            "",
            "The integrator.",
        ),
        Field::default(
            "tolerance",
            POSITIVE,
            Literal::Number(1e-6),
            "",
            "Error allowed per inner step of an adaptive integrator, absolute and relative alike.",
        ),
        Field::default(
            "min_step",
            POSITIVE,
            Literal::Number(1e-12),
            "s",
            "Smallest inner step of an adaptive integrator.",
        ),
    ],
);

static LAGRANGE: Table = Table::new(
    "lagrange",
    "Settings of the method `lagrange`.",
    &[
        Field::default(
            "integrator",
            Kind::Word(&INTEGRATORS),
            Literal::Text("rk4"),
            "",
            "The integrator: any but the symplectic ones.",
        ),
        Field::default(
            "tolerance",
            POSITIVE,
            Literal::Number(1e-9),
            "",
            "Error allowed per inner step of an adaptive integrator, absolute and relative alike.",
        ),
        Field::default(
            "min_step",
            POSITIVE,
            Literal::Number(1e-12),
            "s",
            "Smallest inner step of an adaptive integrator.",
        ),
        Field::default(
            "projection",
            Kind::Bool,
            Literal::Bool(true),
            "",
            "Project positions and velocities onto the joints after each step.",
        ),
        Field::default(
            "baumgarte",
            NOT_NEGATIVE,
            Literal::Number(0.0),
            "1/s",
            "Baumgarte's rate α: joints obey C̈ = −2α Ċ − α² C.",
        ),
        Field::default(
            "friction",
            NOT_NEGATIVE,
            Literal::Number(0.0),
            "",
            "Coefficient of friction of contacts where no rule says otherwise.",
        ),
        Field::default(
            "restitution",
            NOT_NEGATIVE,
            Literal::Number(0.0),
            "",
            "Coefficient of restitution where no rule says otherwise.",
        ),
        Field::default(
            "impacts",
            Kind::Word(&IMPACTS),
            Literal::Text("sequential"),
            "",
            "Rule for impacts at the same moment.",
        ),
        Field::default(
            "rest_speed",
            POSITIVE,
            Literal::Number(1e-5),
            "m/s",
            "Bounces slower than this come to rest, and what slides slower sticks.",
        ),
    ],
);

pub(super) const SLEEP_SPEED: Field = Field::default(
    "sleep_speed",
    POSITIVE,
    Literal::Number(1e-3),
    "m/s",
    "A body is at rest while no point of it is faster than this.",
);

static IMPULSE: Table = Table::new(
    "impulse",
    "Settings of the method `impulse`.",
    &[
        Field::default("solver", Kind::Word(&SOLVERS), Literal::Text("direct"), "", "Solver of the joints."),
        Field::default(
            "sweeps",
            Kind::Integer { min: 1, max: 1_000_000 },
            Literal::Integer(50),
            "",
            "Sweeps over all rows of `pgs`.",
        ),
        Field::default(
            "substeps",
            Kind::Integer { min: 1, max: 1_000_000 },
            Literal::Integer(1),
            "",
            "Equal inner steps per step.",
        ),
        Field::default(
            "projection",
            Kind::Bool,
            Literal::Bool(true),
            "",
            "Project positions onto exact joints after each inner step.",
        ),
        Field::default(
            "friction",
            NOT_NEGATIVE,
            Literal::Number(0.5),
            "",
            "Coefficient of friction where no rule and no material says otherwise.",
        ),
        Field::default(
            "restitution",
            NOT_NEGATIVE,
            Literal::Number(0.0),
            "",
            "Coefficient of restitution where no rule and no material says otherwise.",
        ),
        Field::default(
            "bounce_speed",
            NOT_NEGATIVE,
            Literal::Number(0.02),
            "m/s",
            "Impacts slower than this do not bounce.",
        ),
        Field::default(
            "push_speed",
            POSITIVE,
            Literal::Number(2.0),
            "m/s",
            "Things that overlap are parted no faster than this.",
        ),
        Field::default(
            "tolerance",
            POSITIVE,
            Literal::Number(1e-6),
            "",
            "Contacts are solved until a sweep moves no relative velocity by more than this part of the fastest change of the step.",
        ),
        Field::default(
            "contact_sweeps",
            Kind::Integer { min: 1, max: 1_000_000 },
            Literal::Integer(200),
            "",
            "Most sweeps over the contacts.",
        ),
        Field::optional(
            "sleep_after",
            POSITIVE,
            "s",
            "Islands of contacts that have been at rest for this long fall asleep; never if absent.",
        ),
        SLEEP_SPEED,
    ],
);

static IMPLICIT: Table = Table::new(
    "implicit",
    "Settings of the method `implicit`.",
    &[
        Field::default("scheme", Kind::Word(&SCHEMES), Literal::Text("euler"), "", "The scheme."),
        Field::default(
            "newton",
            Kind::Integer { min: 0, max: 10_000 },
            Literal::Integer(0),
            "",
            "Most Newton iterations per step; with 1 the forces are linearised once per step. 0: 1 for `euler`, 20 for schemes of order 2, 100 for `static`.",
        ),
        Field::default(
            "tolerance",
            POSITIVE,
            Literal::Number(1e-9),
            "",
            "Newton stops when the residual is this part of the forces.",
        ),
        Field::default(
            "solver",
            Kind::Word(&LINEAR_SOLVERS),
            Literal::Text("automatic"),
            "",
            "How linear systems are solved.",
        ),
        Field::default(
            "preconditioner",
            Kind::Word(&PRECONDITIONERS),
            Literal::Text("two_level"),
            "",
            "What helps the solver `cg`.",
        ),
        Field::default(
            "linear_tolerance",
            POSITIVE,
            Literal::Number(1e-8),
            "",
            "The solver `cg` stops when the residual is this part of the right-hand side, both mass-weighted.",
        ),
        Field::default(
            "iterations",
            Kind::Integer { min: 1, max: 10_000_000 },
            Literal::Integer(10_000),
            "",
            "Most iterations of the solver `cg`.",
        ),
        Field::default(
            "rayleigh_mass",
            NOT_NEGATIVE,
            Literal::Number(0.0),
            "1/s",
            "Rayleigh damping by mass: forces −α M v.",
        ),
        Field::default(
            "rayleigh_stiffness",
            NOT_NEGATIVE,
            Literal::Number(0.0),
            "s",
            "Rayleigh damping by stiffness: forces −β K v.",
        ),
    ],
);

static CHAIN: Table = Table::new(
    "chain",
    "Particles at equal distances on a straight line, both ends included.",
    &[
        Field::required("from", Kind::VEC3, "m", "First particle."),
        Field::required("to", Kind::VEC3, "m", "Last particle."),
        Field::required("count", count(2), "", "Number of particles."),
    ],
);

static GRID: Table = Table::new(
    "grid",
    "A rectangular lattice centred on `position`; x runs fastest, then y, then z.",
    &[
        Field::required("size", SIZES, "m", "Full lengths along x, y and z."),
        Field::required(
            "count",
            Kind::List { item: &count(1), min: 3, max: 3 },
            "",
            "Particles along x, y and z.",
        ),
    ],
);

static CLOTH: Table = Table::new(
    "cloth_patch",
    "A rectangular patch in the xy-plane centred on `position`, to be joined by springs; x runs fastest.",
    &[
        Field::required(
            "size",
            Kind::List { item: &POSITIVE, min: 2, max: 2 },
            "m",
            "Full lengths along x and y.",
        ),
        Field::required(
            "count",
            Kind::List { item: &count(2), min: 2, max: 2 },
            "",
            "Particles along x and y.",
        ),
    ],
);

static CLOUD: Table = Table::new(
    "cloud",
    "Particles at random places, uniform in a box centred on `position`.",
    &[
        Field::required("size", SIZES, "m", "Full lengths of the box."),
        Field::required("count", count(1), "", "Number of particles."),
        Field::optional(
            "seed",
            Kind::COUNT,
            "",
            "Seed of this cloud; if absent, the seed of the scene and the place of the cloud in it decide.",
        ),
    ],
);

static PARTICLES: Table = Table::new(
    "particles",
    "A named set of particles. Without an arrangement it is a single particle at `position`.",
    &[
        Field::required("name", Kind::Name, "", "Name, unique in the scene."),
        Field::optional(
            "positions",
            Kind::List { item: &Kind::VEC3, min: 1, max: usize::MAX },
            "m",
            "Where the particles lie, one by one.",
        ),
        Field::optional("chain", Kind::Table(&CHAIN), "", "A straight line of particles."),
        Field::optional("grid", Kind::Table(&GRID), "", "A rectangular lattice."),
        Field::optional("cloth", Kind::Table(&CLOTH), "", "A rectangular patch."),
        Field::optional("cloud", Kind::Table(&CLOUD), "", "Random places in a box."),
        Field::default("position", Kind::VEC3, ORIGIN, "m", "Added to every position."),
        Field::default(
            "mass",
            Kind::Either(&[POSITIVE, Kind::List { item: &POSITIVE, min: 1, max: usize::MAX }]),
            Literal::Number(1.0),
            "kg",
            "Mass of each particle, or a list with one mass for each.",
        ),
        Field::optional("total_mass", POSITIVE, "kg", "Mass of the whole set, divided evenly."),
        Field::default(
            "velocity",
            Kind::Either(&[Kind::VEC3, Kind::List { item: &Kind::VEC3, min: 1, max: usize::MAX }]),
            ORIGIN,
            "m/s",
            "Velocity of each particle at the start, or a list with one velocity for each.",
        ),
        Field::optional(
            "radius",
            NOT_NEGATIVE,
            "m",
            "Radius with which each touches rigid bodies, robots and grounds under `impulse`; without one they pass through. Particles do not touch each other.",
        ),
    ],
)
.with_rules(&[
    Rule::AtMostOne(&["positions", "chain", "grid", "cloth", "cloud"]),
    Rule::AtMostOne(&["mass", "total_mass"]),
]);

static POINTS: Table = Table::new(
    "points",
    "Points carried by others: a second name for points of other sets, points on a rigid or affine body, or points in a \
     soft solid. Forces on it act on what carries it.",
    &[
        Field::required("name", Kind::Name, "", "Name, unique in the scene."),
        Field::required(
            "of",
            SELECTION,
            "",
            "Points that carry it: sets of particles or `points` given before, such as `rope[0:5]`; or one rigid, soft or \
             affine body; or several rigid bodies, which carry it together.",
        ),
        Field::optional(
            "at",
            Kind::List { item: &Kind::VEC3, min: 1, max: MOST_POINTS },
            "m",
            "Places of points on a rigid or affine body or in a soft one, in its frame (in the world for several rigid \
             bodies). Without `at` and `surface`: the origin of a rigid body, all points of others.",
        ),
        SURFACE,
    ],
);

static SPRINGS: Table = Table::new(
    "springs",
    "Springs between the neighbours of a set, between given pairs of points, or both.",
    &[
        FORCE_NAME,
        Field::optional("along", Kind::Text, "", "Set of particles whose neighbours are joined."),
        Field::default(
            "edges",
            Kind::Either(&[
                Kind::Word(&EDGES),
                Kind::List { item: &Kind::Word(&EDGES), min: 1, max: EDGES.len() },
            ]),
            Literal::Text("structural"),
            "",
            "Which neighbours `along` the set are joined. A list makes one set of springs for each word, called \
             NAME_structural, NAME_shear and NAME_bend.",
        ),
        Field::optional(
            "pairs",
            Kind::List { item: &Kind::List { item: &Kind::Text, min: 2, max: 2 }, min: 1, max: usize::MAX },
            "",
            "Pairs of points, such as `[[\"hook\", \"rope[0]\"]]`.",
        ),
        Field::default("stiffness", NOT_NEGATIVE, Literal::Number(0.0), "N/m", "Stiffness of each spring."),
        Field::default(
            "damping",
            NOT_NEGATIVE,
            Literal::Number(0.0),
            "N·s/m",
            "Damping of each spring along its direction.",
        ),
        Field::optional(
            "rest_length",
            NOT_NEGATIVE,
            "m",
            "Length without force; the length at the start if absent.",
        ),
    ],
)
.with_rules(&[Rule::AtLeastOne(&["along", "pairs"]), Rule::AtLeastOne(&["stiffness", "damping"])]);

static ANGULAR_SPRINGS: Table = Table::new(
    "angular_springs",
    "Springs that resist a change of the angle at a point, along the lines of a set or over given triples.",
    &[
        FORCE_NAME,
        Field::optional("along", Kind::Text, "", "Set of particles along whose lines they lie."),
        Field::optional(
            "triples",
            Kind::List { item: &Kind::List { item: &Kind::Text, min: 3, max: 3 }, min: 1, max: usize::MAX },
            "",
            "Triples of points, the one at the angle second.",
        ),
        Field::required("stiffness", NOT_NEGATIVE, "N·m/rad", "Stiffness of each."),
        Field::optional(
            "rest_angle",
            Kind::Number(Range::between(0.0, std::f64::consts::PI)),
            "rad",
            "Angle without force, 0 to π; the angle at the start if absent.",
        ),
    ],
)
.with_rules(&[Rule::AtLeastOne(&["along", "triples"])]);

static DRAG: Table = Table::new(
    "drag",
    "Resistance of a medium: f = −(linear + quadratic·|u|) u with u the velocity relative to the wind.",
    &[
        FORCE_NAME,
        ON,
        Field::default("linear", NOT_NEGATIVE, Literal::Number(0.0), "N·s/m", "Viscous coefficient."),
        Field::default("quadratic", NOT_NEGATIVE, Literal::Number(0.0), "N·s²/m²", "Quadratic coefficient."),
        Field::default("wind", Kind::VEC3, ORIGIN, "m/s", "Velocity of the medium."),
    ],
)
.with_rules(&[Rule::AtLeastOne(&["linear", "quadratic"])]);

static SINE: Table = Table::new(
    "sine",
    "The factor sin(2π·frequency·t + phase).",
    &[
        Field::required("frequency", Kind::NUMBER, "Hz", "Frequency."),
        Field::default("phase", Kind::NUMBER, Literal::Number(0.0), "rad", "Phase at t = 0."),
    ],
);

static PULSE: Table = Table::new(
    "pulse",
    "The factor 1 for `from` ≤ t < `to`, else 0.",
    &[
        Field::default("from", Kind::NUMBER, Literal::Number(0.0), "s", "First instant."),
        Field::required("to", Kind::NUMBER, "s", "Last instant, excluded."),
    ],
);

static TABLE: Table = Table::new(
    "table",
    "A factor given by straight lines between points; constant before the first and after the last.",
    &[
        Field::required("times", NUMBERS, "s", "Times, increasing."),
        Field::required("values", NUMBERS, "", "Values, one for each time."),
    ],
);

const SINE_FIELD: Field = Field::optional("sine", Kind::Table(&SINE), "", "Factor over time: a sine.");
const TABLE_FIELD: Field =
    Field::optional("table", Kind::Table(&TABLE), "", "Factor over time: straight lines between points.");

static PUSH: Table = Table::new(
    "push",
    "A given force on each point, constant or multiplied by a factor over time.",
    &[
        FORCE_NAME,
        ON,
        INSIDE,
        Field::optional("force", Kind::VEC3, "N", "Force on each point."),
        Field::optional(
            "torque",
            Kind::VEC3,
            "N·m",
            "Torque on each body, world axes; for rigid bodies, and affine ones under `ipc`.",
        ),
        Field::default(
            "total",
            Kind::Bool,
            Literal::Bool(false),
            "",
            "Whether `force` is that on all the points together, divided evenly.",
        ),
        SINE_FIELD,
        Field::optional("pulse", Kind::Table(&PULSE), "", "Factor over time: on for a while."),
        TABLE_FIELD,
    ],
)
.with_rules(&[Rule::AtLeastOne(&["force", "torque"]), Rule::AtMostOne(&["sine", "pulse", "table"])]);

static ATTRACTOR: Table = Table::new(
    "attractor",
    "A fixed centre that attracts: like a heavy body (`mu`) or like a spring of no length (`stiffness`).",
    &[
        FORCE_NAME,
        ON,
        Field::default("center", Kind::VEC3, ORIGIN, "m", "Centre."),
        Field::optional("mu", Kind::NUMBER, "m³/s²", "Gravitational parameter G·M of a heavy body."),
        Field::default(
            "softening",
            NOT_NEGATIVE,
            Literal::Number(0.0),
            "m",
            "With `mu`: length below which the force grows no further.",
        ),
        Field::optional("stiffness", Kind::NUMBER, "N/m", "Stiffness of a spring of no length."),
    ],
)
.with_rules(&[Rule::ExactlyOne(&["mu", "stiffness"]), Rule::AtMostOne(&["softening", "stiffness"])]);

static LENNARD_JONES: Table = Table::new(
    "lennard_jones",
    "The energy 4ε((σ/r)¹² − (σ/r)⁶) of a pair.",
    &[
        Field::required("epsilon", NOT_NEGATIVE, "J", "Depth ε of the well."),
        Field::required("sigma", POSITIVE, "m", "Distance σ at which the energy is zero."),
    ],
);

static SOFT_REPULSION: Table = Table::new(
    "soft_repulsion",
    "Soft balls: the energy ½·stiffness·(diameter − r)² of a pair nearer than `diameter`.",
    &[
        Field::required("stiffness", NOT_NEGATIVE, "N/m", "Stiffness."),
        Field::required("diameter", POSITIVE, "m", "Distance at which the balls touch."),
    ],
);

static GRAVITATION: Table = Table::new(
    "gravitation",
    "Newton's gravitation: the energy −constant·m·m′/√(r² + softening²) of a pair.",
    &[
        Field::required(
            "constant",
            Kind::NUMBER,
            "m³/(kg·s²)",
            "Gravitational constant; 6.6743e-11 in nature.",
        ),
        Field::default(
            "softening",
            NOT_NEGATIVE,
            Literal::Number(0.0),
            "m",
            "Length below which the force grows no further.",
        ),
    ],
);

static PAIR_FORCE: Table = Table::new(
    "pair_force",
    "A force between all points of a selection, or between those that are near each other.",
    &[
        FORCE_NAME,
        ON,
        Field::optional("lennard_jones", Kind::Table(&LENNARD_JONES), "", "Molecules."),
        Field::optional("soft_repulsion", Kind::Table(&SOFT_REPULSION), "", "Soft balls."),
        Field::optional("gravitation", Kind::Table(&GRAVITATION), "", "Heavy bodies."),
        Field::optional(
            "radius",
            POSITIVE,
            "m",
            "Only pairs nearer than this; the cost is then proportional to the number of points. If absent: \
             2.5 σ for `lennard_jones`, the diameter for `soft_repulsion`, all pairs for `gravitation`.",
        ),
    ],
)
.with_rules(&[Rule::ExactlyOne(&["lennard_jones", "soft_repulsion", "gravitation"])]);

static FIX: Table = Table::new(
    "fix",
    "Points and bodies that may not move, or points not in some directions. A rigid body is held altogether, under `impulse`, `lagrange` and `ipc`.",
    &[
        Field::required("on", SELECTION, "", "The points or bodies, such as `cloth[0]` or `[\"a\", \"b\"]`."),
        INSIDE,
        Field::optional(
            "directions",
            Kind::List { item: &Kind::VEC3, min: 1, max: usize::MAX },
            "",
            "Forbidden directions, of any length; all of them if absent.",
        ),
    ],
);

static PATH: Table = Table::new(
    "path",
    "Straight lines between shifts at given times; constant before the first and after the last.",
    &[
        Field::required(
            "times",
            Kind::List { item: &Kind::NUMBER, min: 1, max: 1_000_000 },
            "s",
            "Times, rising.",
        ),
        Field::required(
            "shifts",
            Kind::List { item: &Kind::VEC3, min: 1, max: 1_000_000 },
            "m",
            "Shifts from where the scene puts them, one for each time.",
        ),
    ],
);

static MOTION: Table = Table::new(
    "motion",
    "Points and bodies that move as told, from where they start; rigid bodies under `impulse`, `lagrange` and `ipc`, where they give way to nothing, and pass through grounds and each other.",
    &[
        Field::required("on", SELECTION, "", "The points or bodies."),
        INSIDE,
        Field::optional("velocity", Kind::VEC3, "m/s", "Constant velocity."),
        Field::optional(
            "angular_velocity",
            Kind::VEC3,
            "rad/s",
            "Constant angular velocity, world axes; affine and rigid bodies turn with it.",
        ),
        Field::optional(
            "center",
            Kind::VEC3,
            "m",
            "What they turn about at the start; the centre of mass of a body, and the origin for points, if absent.",
        ),
        Field::optional("from", NOT_NEGATIVE, "s", "When velocities begin."),
        Field::optional("until", NOT_NEGATIVE, "s", "When velocities end."),
        Field::optional("path", Kind::Table(&PATH), "", "Shifts of the centre over time, added to what velocities do."),
        Field::optional(
            "amplitude",
            Kind::VEC3,
            "m",
            "Displacement where the factor of `sine` or `table` is 1.",
        ),
        SINE_FIELD,
        TABLE_FIELD,
    ],
)
.with_rules(&[
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
    Rule::AtMostOne(&["path", "sine", "table"]),
]);

static EXPECT: Table = Table::new(
    "expect",
    "What must be true of a quantity when the scene has run.",
    &[
        Field::required(
            "quantity",
            Kind::Text,
            "",
            "A number such as `ball.z`, `rope[-1].speed`, `cloth.lowest`, `energy.total`, `energy.NAME`, \
             `energy.drift`, `momentum.x`, `door.wz`, `hinge.angle`, `hinge.force`, `joints.gap`, `box.contact.z`, `contacts.gap` or `time`.",
        ),
        Field::optional("value", Kind::NUMBER, "SI", "The value, up to `tolerance`."),
        Field::default("tolerance", NOT_NEGATIVE, Literal::Number(0.0), "SI", "Difference allowed."),
        Field::optional("below", Kind::NUMBER, "SI", "Upper bound."),
        Field::optional("above", Kind::NUMBER, "SI", "Lower bound."),
        Field::default(
            "always",
            Kind::Bool,
            Literal::Bool(false),
            "",
            "After every step, not only at the end.",
        ),
    ],
)
.with_rules(&[Rule::AtLeastOne(&["value", "below", "above"])]);

/// A scene file.
pub static ROOT: Table = Table::new(
    "scene",
    "A scene: SI units, radians, z up. All keys are optional except that there must be particles or bodies.",
    &[
        Field::default("title", Kind::Text, Literal::Text(""), "", "Title, for people."),
        Field::default("description", Kind::Text, Literal::Text(""), "", "A sentence or two, for people."),
        INCLUDE,
        Field::default("method", Kind::Word(&METHODS), Literal::Text("explicit"), "", "How time advances."),
        Field::default("dt", POSITIVE, Literal::Number(1e-3), "s", "Step size."),
        Field::default("duration", NOT_NEGATIVE, Literal::Number(1.0), "s", "How long the scene runs."),
        Field::default(
            "gravity",
            Kind::VEC3,
            Literal::Numbers(&[0.0, 0.0, -9.81]),
            "m/s²",
            "Acceleration of free fall.",
        ),
        Field::default("seed", Kind::COUNT, Literal::Integer(0), "", "Seed of everything random."),
        Field::default(
            "assemble",
            Kind::Bool,
            Literal::Bool(false),
            "",
            "Pull bodies together at the start where exact joints gape.",
        ),
        Field::optional("explicit", Kind::Table(&EXPLICIT), "", "Settings of the method `explicit`."),
        Field::optional("lagrange", Kind::Table(&LAGRANGE), "", "Settings of the method `lagrange`."),
        Field::optional("impulse", Kind::Table(&IMPULSE), "", "Settings of the method `impulse`."),
        Field::optional("implicit", Kind::Table(&IMPLICIT), "", "Settings of the method `implicit`."),
        Field::optional("ipc", Kind::Table(&IPC), "", "Settings of the method `ipc`."),
        Field::optional("rigid", Kind::Tables(&RIGID), "", "Rigid bodies."),
        Field::optional("joint", Kind::Tables(&JOINT), "", "Joints."),
        Field::optional("gear", Kind::Tables(&GEAR), "", "Couplers between joints."),
        Field::optional("bead", Kind::Tables(&BEAD), "", "Beads on curves and surfaces."),
        Field::optional(
            "generalized",
            Kind::Tables(&GENERALIZED),
            "",
            "Bodies with generalized coordinates.",
        ),
        Field::optional("robot", Kind::Tables(&ROBOT), "", "Articulated robots."),
        Field::optional("soft", Kind::Tables(&SOFT), "", "Soft solids."),
        Field::optional("cloth", Kind::Tables(&CLOTH_BODY), "", "Cloth and shells."),
        Field::optional("rod", Kind::Tables(&ROD), "", "Rods."),
        Field::optional("affine", Kind::Tables(&AFFINE), "", "Affine bodies."),
        Field::optional("particles", Kind::Tables(&PARTICLES), "", "Sets of particles."),
        Field::optional("points", Kind::Tables(&POINTS), "", "Points carried by other points."),
        Field::optional("springs", Kind::Tables(&SPRINGS), "", "Springs."),
        Field::optional("angular_springs", Kind::Tables(&ANGULAR_SPRINGS), "", "Angular springs."),
        Field::optional("drag", Kind::Tables(&DRAG), "", "Drag."),
        Field::optional("push", Kind::Tables(&PUSH), "", "Given forces."),
        Field::optional("attractor", Kind::Tables(&ATTRACTOR), "", "Fixed centres of attraction."),
        Field::optional("obstacle", Kind::Tables(&OBSTACLE), "", "Fixed things that push points away."),
        Field::optional("pressure", Kind::Tables(&PRESSURE), "", "Pressure inside closed surfaces."),
        Field::optional("pair_force", Kind::Tables(&PAIR_FORCE), "", "Forces between points."),
        Field::optional("ground", Kind::Tables(&GROUND), "", "Solid half-spaces."),
        Field::optional("contact", Kind::Tables(&CONTACT), "", "Friction and exceptions of contact."),
        Field::optional("fix", Kind::Tables(&FIX), "", "Directions that may not move."),
        Field::optional("motion", Kind::Tables(&MOTION), "", "Prescribed motion."),
        Field::optional("expect", Kind::Tables(&EXPECT), "", "What must be true when the scene has run."),
    ],
);

#[cfg(test)]
mod tests {
    use super::*;
    use dalembert::scene::Edges;
    use dalembert::step::{Integrator, Method, Scheme};

    #[test]
    fn the_words_are_those_of_the_engine() {
        let words = |list: &[Word]| list.iter().map(|w| w.word).collect::<Vec<_>>();
        assert_eq!(words(&METHODS), Method::NAMES);
        assert_eq!(words(&INTEGRATORS), Integrator::ALL.iter().map(|(n, _)| *n).collect::<Vec<_>>());
        assert_eq!(words(&SCHEMES), Scheme::ALL.iter().map(|(n, _)| *n).collect::<Vec<_>>());
        assert_eq!(words(&EDGES), Edges::ALL.iter().map(|(n, _)| *n).collect::<Vec<_>>());
    }
}
