//! What a scene file may say about intersection-free contact.

use super::tables::{LINEAR_SOLVERS, NOT_NEGATIVE, ORIGIN, POSITIVE, SLEEP_SPEED};
use crate::describe::{Field, Kind, Literal, Table, Word};

static SCHEMES: [Word; 3] = [
    Word::new("euler", "Implicit Euler: order 1, damps what it cannot follow."),
    Word::new("bdf2", "Second backward difference: order 2, damps fast motion."),
    Word::new("static", "Equilibrium at every step, no motion."),
];

pub(super) static IPC: Table = Table::new(
    "ipc",
    "Settings of the method `ipc`.",
    &[
        Field::default("scheme", Kind::Word(&SCHEMES), Literal::Text("euler"), "", "The scheme."),
        Field::default(
            "tolerance",
            POSITIVE,
            Literal::Number(1e-3),
            "m/s",
            "Newton stops when no point would move faster than this.",
        ),
        Field::default(
            "newton",
            Kind::Integer { min: 1, max: 100_000 },
            Literal::Integer(200),
            "",
            "Most Newton iterations per step.",
        ),
        Field::default(
            "solver",
            Kind::Word(&LINEAR_SOLVERS),
            Literal::Text("automatic"),
            "",
            "How linear systems are solved: `cg` with a coarse solve over the rigid motions of all bodies.",
        ),
        Field::default(
            "linear_tolerance",
            POSITIVE,
            Literal::Number(1e-4),
            "",
            "Conjugate gradients stop when the residual is this part of the right-hand side.",
        ),
        Field::optional(
            "gap",
            POSITIVE,
            "m",
            "Contact begins at this distance, beyond thicknesses; 1 mm or a hundredth of the diagonal of the smallest body, whichever is less, if absent.",
        ),
        Field::default(
            "friction",
            NOT_NEGATIVE,
            Literal::Number(0.0),
            "",
            "Coefficient of friction of pairs without a rule in `contact`.",
        ),
        Field::default(
            "friction_speed",
            POSITIVE,
            Literal::Number(1e-3),
            "m/s",
            "Speed below which friction is smoothed: what sticks creeps slower than this.",
        ),
        Field::default(
            "friction_passes",
            Kind::Integer { min: 1, max: 1000 },
            Literal::Integer(2),
            "",
            "How often a step is solved with normal forces and directions of friction taken anew.",
        ),
        Field::default(
            "contact_stiffness",
            POSITIVE,
            Literal::Number(1.0),
            "",
            "Stiffness of contact as a multiple of mass/dt²; of the penalties, of 300 effective masses/dt².",
        ),
        Field::default(
            "rigid_stiffness",
            POSITIVE,
            Literal::Number(1e9),
            "Pa",
            "Stiffness of rigid bodies, which run as affine ones.",
        ),
        Field::optional(
            "sleep_after",
            POSITIVE,
            "s",
            "Islands that have been at rest for this long fall asleep; never if absent.",
        ),
        SLEEP_SPEED,
    ],
);

pub(super) static GROUND: Table = Table::new(
    "ground",
    "A solid half-space that does not move, for the methods `ipc`, `impulse` and `lagrange`.",
    &[
        Field::default("name", Kind::Name, Literal::Text("ground"), "", "Name."),
        Field::default("point", Kind::VEC3, ORIGIN, "m", "A point of its surface."),
        Field::default(
            "normal",
            Kind::VEC3,
            Literal::Numbers(&[0.0, 0.0, 1.0]),
            "",
            "Direction out of the solid, of any length.",
        ),
        Field::default(
            "belt",
            Kind::VEC3,
            ORIGIN,
            "m/s",
            "Velocity of its surface, as of a conveyor belt; what points across the plane is left out (`impulse` only).",
        ),
    ],
);

pub(super) static CONTACT: Table = Table::new(
    "contact",
    "What holds between two things that touch, for the methods `ipc`, `impulse` and `lagrange`; later rules go before earlier ones. Under `impulse` and `lagrange` everything touches if there is a ground or a rule; without either, bodies that no joint holds touch each other and all else, and bodies among joints pass through each other.",
    &[
        Field::required(
            "between",
            Kind::List { item: &Kind::Text, min: 2, max: 2 },
            "",
            "Two names of bodies, soft things, sets of particles, grounds, robots or their bodies (`robot/body`); `*` for anything.",
        ),
        Field::optional(
            "friction",
            NOT_NEGATIVE,
            "",
            "Coefficient of friction; that of the method's settings if absent.",
        ),
        Field::optional(
            "restitution",
            NOT_NEGATIVE,
            "",
            "Speed after a bounce over speed before (`impulse` and `lagrange`); that of the method's settings if absent.",
        ),
        Field::optional(
            "torsional_friction",
            NOT_NEGATIVE,
            "m",
            "Friction against turning about the normal, as torque over normal force (`impulse` only).",
        ),
        Field::optional(
            "rolling_friction",
            NOT_NEGATIVE,
            "m",
            "Friction against rolling, as torque over normal force (`impulse` only).",
        ),
        Field::optional(
            "stiffness",
            POSITIVE,
            "N/m",
            "Stiffness of soft contact at each point (`impulse` only); hard if absent.",
        ),
        Field::default(
            "damping",
            NOT_NEGATIVE,
            Literal::Number(0.0),
            "N·s/m",
            "Damping of soft contact (`impulse` only).",
        ),
        Field::default(
            "enabled",
            Kind::Bool,
            Literal::Bool(true),
            "",
            "False if they pass through each other.",
        ),
    ],
);
