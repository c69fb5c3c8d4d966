//! What a scene file may say about cloth, rods, obstacles and pressure.

use dalembert::scene::MOST_POINTS;

use super::deformable_tables::{CELLS2, POISSON, POSITION, SKIN};
use super::mechanism_tables::{NAME, ORIENTATION};
use super::tables::{FORCE_NAME, NOT_NEGATIVE, ON, ORIGIN, POSITIVE};
use crate::describe::{Field, Kind, Literal, Rule, Table, Word};

pub(super) static DIAGONALS: [Word; 2] = [
    Word::new("same", "All from lower left to upper right."),
    Word::new("alternating", "Turned from square to square, so that no diagonal direction is preferred."),
];

pub(super) static MEMBRANES: [Word; 2] = [
    Word::new("stvk", "St. Venant–Kirchhoff: an isotropic sheet."),
    Word::new(
        "baraff_witkin",
        "Threads along x and y that stretch and shear; does not use `poisson` in stretch.",
    ),
];

pub(super) static BENDING_LAWS: [Word; 2] = [
    Word::new(
        "hinges",
        "Angles over edges (discrete shells); a sheet that is curved at rest keeps its shape.",
    ),
    Word::new(
        "quadratic",
        "Constant stiffness, cheaper; for a sheet that is flat at rest and hardly stretches.",
    ),
];

pub(super) static ENDS: [Word; 3] =
    [Word::new("start", "The first node."), Word::new("end", "The last node."), Word::new("both", "Both.")];

static CLOTH_GRID: Table = Table::new(
    "cloth_grid",
    "A rectangle in the xy plane about the origin. Node i + (cells along x + 1)·j is the i-th along x in row j.",
    &[
        Field::required(
            "size",
            Kind::List { item: &POSITIVE, min: 2, max: 2 },
            "m",
            "Lengths along x and y.",
        ),
        Field::required("cells", CELLS2, "", "Squares along x and y."),
        Field::default(
            "diagonals",
            Kind::Word(&DIAGONALS),
            Literal::Text("alternating"),
            "",
            "How the squares are cut into triangles.",
        ),
    ],
);

pub(super) static CLOTH: Table = Table::new(
    "cloth",
    "A cloth or shell: a set of particles of its name, with triangles between them that resist stretching and edges that \
     resist bending. Its energies are `energy.NAME` and `energy.NAME bending`.",
    &[
        NAME,
        Field::optional("grid", Kind::Table(&CLOTH_GRID), "", "A rectangle."),
        Field::optional(
            "surface",
            Kind::Table(&SKIN),
            "",
            "The surface of a shape, or triangles from a file or given here, which need not be closed.",
        ),
        Field::default(
            "membrane",
            Kind::Word(&MEMBRANES),
            Literal::Text("stvk"),
            "",
            "What resists stretching.",
        ),
        Field::default("young", POSITIVE, Literal::Number(1e6), "Pa", "Young's modulus."),
        POISSON,
        Field::default("thickness", POSITIVE, Literal::Number(3e-4), "m", "Thickness."),
        Field::default("density", POSITIVE, Literal::Number(300.0), "kg/m³", "Density."),
        Field::optional(
            "bending",
            NOT_NEGATIVE,
            "N·m",
            "Bending stiffness; that of a plate, E t³/12(1 − ν²), if absent.",
        ),
        Field::default(
            "bending_law",
            Kind::Word(&BENDING_LAWS),
            Literal::Text("hinges"),
            "",
            "What resists bending.",
        ),
        Field::optional(
            "strain_limit",
            POSITIVE,
            "",
            "Strain s beyond which the threads of `baraff_witkin` stiffen: at the strain s + d they pull by 10·E·thickness·d²/s \
             more, per width.",
        ),
        POSITION,
        ORIENTATION,
        Field::default("velocity", Kind::VEC3, ORIGIN, "m/s", "Velocity of all of it, world axes."),
    ],
)
.with_rules(&[Rule::ExactlyOne(&["grid", "surface"])]);

static LINE: Table = Table::new(
    "rod_line",
    "A straight rod of equal edges.",
    &[
        Field::required("from", Kind::VEC3, "m", "First node."),
        Field::required("to", Kind::VEC3, "m", "Last node."),
        Field::required("edges", Kind::Integer { min: 1, max: 100_000 }, "", "Number of edges."),
    ],
);

pub(super) static ROD: Table = Table::new(
    "rod",
    "A thin rod of round section: a set of particles of its name along a line. It resists stretching, bending and, with \
     `twist`, twisting; its energies are `energy.NAME`, `energy.NAME bending` (with twist) and `energy.NAME clamp`.",
    &[
        NAME,
        Field::optional(
            "points",
            Kind::List { item: &Kind::VEC3, min: 2, max: MOST_POINTS },
            "m",
            "Its nodes, in the world, at rest and at the start.",
        ),
        Field::optional("line", Kind::Table(&LINE), "", "A straight rod."),
        Field::default("radius", POSITIVE, Literal::Number(2.5e-3), "m", "Radius of its section."),
        Field::default("young", POSITIVE, Literal::Number(1e7), "Pa", "Young's modulus."),
        POISSON,
        Field::default("density", POSITIVE, Literal::Number(1000.0), "kg/m³", "Density."),
        Field::default(
            "twist",
            Kind::Bool,
            Literal::Bool(false),
            "",
            "Whether it resists twisting, and keeps the shape that `points` give it; for the method `implicit`. Without it a \
             rod is straight at rest.",
        ),
        Field::optional(
            "clamped",
            Kind::Word(&ENDS),
            "",
            "Ends that are held together with the direction of the rod there.",
        ),
        Field::default("velocity", Kind::VEC3, ORIGIN, "m/s", "Velocity of all of it."),
    ],
)
.with_rules(&[Rule::ExactlyOne(&["points", "line"])]);

static WALL: Table = Table::new(
    "wall",
    "The half space behind a plane.",
    &[
        Field::default("through", Kind::VEC3, ORIGIN, "m", "A point of the plane."),
        Field::default(
            "normal",
            Kind::VEC3,
            Literal::Numbers(&[0.0, 0.0, 1.0]),
            "",
            "Normal of the plane, away from the obstacle, of any length.",
        ),
    ],
);

static BALL: Table = Table::new(
    "obstacle_ball",
    "A ball.",
    &[
        Field::default("center", Kind::VEC3, ORIGIN, "m", "Centre."),
        Field::required("radius", POSITIVE, "m", "Radius."),
    ],
);

pub(super) static OBSTACLE: Table = Table::new(
    "obstacle",
    "A fixed thing that pushes points out by a penalty on their depth, without friction.",
    &[
        FORCE_NAME,
        ON,
        Field::optional("plane", Kind::Table(&WALL), "", "The half space behind a plane."),
        Field::optional("sphere", Kind::Table(&BALL), "", "A ball."),
        Field::optional("hollow", Kind::Table(&BALL), "", "Everything outside a ball: points stay within."),
        Field::default(
            "radius",
            NOT_NEGATIVE,
            Literal::Number(0.0),
            "m",
            "Radius of the points: contact begins that far outside.",
        ),
        Field::default("stiffness", POSITIVE, Literal::Number(1e3), "N/m", "Push on a point per depth."),
        Field::default("damping", NOT_NEGATIVE, Literal::Number(0.0), "N·s/m", "Damping while in contact."),
    ],
)
.with_rules(&[Rule::ExactlyOne(&["plane", "sphere", "hollow"])]);

pub(super) static PRESSURE: Table = Table::new(
    "pressure",
    "Gas of a given pressure inside a closed surface; its energy is −p V.",
    &[
        FORCE_NAME,
        Field::required(
            "on",
            Kind::Text,
            "",
            "The soft body, cloth or `points` with a `surface` whose triangles it pushes at from inside.",
        ),
        Field::required("pressure", Kind::NUMBER, "Pa", "Pressure above that outside; negative to suck."),
    ],
);
