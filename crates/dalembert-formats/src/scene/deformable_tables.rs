//! What a scene file may say about soft solids, affine bodies, regions of points and embedded surfaces.

use dalembert::scene::MOST_POINTS;

use super::mechanism_tables::{
    BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, NAME, ORIENTATION, SCALE, SHAPE, SIZES3, SPHERE, TRIANGLES,
};
use super::tables::{NOT_NEGATIVE, ORIGIN, POSITIVE};
use crate::describe::{Field, Kind, Literal, Range, Rule, Table, Word};

/// Most cells along an edge: finer meshes come from files.
const MOST_CELLS: i64 = 512;
/// Most cells of all soft bodies of a scene together; with six tetrahedra each they fill some gigabytes.
pub(super) const MOST_CELLS_TOGETHER: f64 = 1e6;

const fn cells(min: i64) -> Kind {
    Kind::Integer { min, max: MOST_CELLS }
}

pub(super) const CELLS2: Kind = Kind::List { item: &cells(1), min: 2, max: 2 };
const CELLS3: Kind = Kind::List { item: &cells(1), min: 3, max: 3 };
const CORNER: Kind = Kind::Integer { min: 0, max: u32::MAX as i64 };
const CORNERS4: Kind = Kind::List { item: &CORNER, min: 4, max: 4 };
const CORNERS8: Kind = Kind::List { item: &CORNER, min: 8, max: 8 };

pub(super) const POSITION: Field =
    Field::default("position", Kind::VEC3, ORIGIN, "m", "Where the origin of its frame stands.");

pub(super) const POISSON: Field = Field::default(
    "poisson",
    Kind::Number(Range { min: -1.0, above: true, max: 0.5, below: true }),
    Literal::Number(0.3),
    "",
    "Poisson's ratio.",
);

pub(super) static ELEMENTS: [Word; 4] = [
    Word::new("tets", "Linear tetrahedra, six per cube: cheap, and too stiff in bending."),
    Word::new("quadratic_tets", "Tetrahedra with nodes on their edges: good in bending and near ν = ½."),
    Word::new("hexes", "Hexahedra with eight nodes."),
    Word::new(
        "bending_hexes",
        "Hexahedra that bend freely and do not lock; for the materials `linear` and `corotated`.",
    ),
];

pub(super) static MATERIALS: [Word; 5] = [
    Word::new("linear", "Hooke's law of small strain: fastest, and wrong once anything turns."),
    Word::new("corotated", "Hooke's law in a frame that turns with the element."),
    Word::new(
        "stvk",
        "St. Venant–Kirchhoff: Hooke's law for Green's strain; collapses under strong pressing.",
    ),
    Word::new("neo_hookean", "With the logarithm of the volume: infinite for an inverted element."),
    Word::new("stable_neo_hookean", "Keeps its volume well and survives inversion."),
];

pub(super) static MASSES: [Word; 2] = [
    Word::new("lumped", "Each node has its own mass."),
    Word::new("consistent", "Neighbours share inertia as the elements have it; for the method `implicit`."),
];

pub(super) static ENERGIES: [Word; 2] = [
    Word::new("orthogonality", "κV‖AᵀA − 1‖²: a polynomial."),
    Word::new("arap", "κV‖A − R‖²: as rigid as possible; a body turned inside out is not at rest."),
];

static SOFT_BOX: Table = Table::new(
    "soft_box",
    "A box about the origin.",
    &[
        Field::required("size", SIZES3, "m", "Full lengths along x, y and z."),
        Field::required("cells", CELLS3, "", "Cubes along x, y and z."),
    ],
);

static SOFT_CYLINDER: Table = Table::new(
    "soft_cylinder",
    "A round cylinder along z about the origin.",
    &[
        Field::required("radius", POSITIVE, "m", "Radius."),
        Field::required("length", POSITIVE, "m", "Length along z."),
        Field::required("cells", CELLS2, "", "Cells across its square core, and along z."),
    ],
);

static SOFT_BALL: Table = Table::new(
    "soft_ball",
    "A ball about the origin.",
    &[
        Field::required("radius", POSITIVE, "m", "Radius."),
        Field::required("cells", cells(1), "", "Cells across its cubical core."),
    ],
);

static SOFT_TORUS: Table = Table::new(
    "soft_torus",
    "A ring in the xy plane about the origin.",
    &[
        Field::required("ring", POSITIVE, "m", "Radius of the ring's middle line."),
        Field::required("tube", POSITIVE, "m", "Radius of the tube, less than `ring`."),
        Field::required(
            "cells",
            CELLS2,
            "",
            "Cells across the square core of the tube, and around the ring.",
        ),
    ],
);

pub(super) static SOFT: Table = Table::new(
    "soft",
    "A soft solid: a set of particles of its name, with elements between them. Whatever takes particles takes its \
     nodes; `points` embeds places and surfaces in it.",
    &[
        NAME,
        Field::optional("box", Kind::Table(&SOFT_BOX), "", "A box."),
        Field::optional("cylinder", Kind::Table(&SOFT_CYLINDER), "", "A round cylinder."),
        Field::optional("ball", Kind::Table(&SOFT_BALL), "", "A ball."),
        Field::optional("torus", Kind::Table(&SOFT_TORUS), "", "A ring."),
        // The loader replaces it by `vertices` and `tets` or `hexes`.
        Field::optional(
            "file",
            Kind::Text,
            "",
            "A solid mesh of tetrahedra or of hexahedra from a file (Gmsh `.msh` or legacy `.vtk`) whose path is \
             relative to this file.",
        ),
        Field::optional(
            "vertices",
            Kind::List { item: &Kind::VEC3, min: 4, max: MOST_POINTS },
            "m",
            "Nodes of a mesh, with `tets` or `hexes`.",
        ),
        Field::optional(
            "tets",
            Kind::List { item: &CORNERS4, min: 1, max: MOST_POINTS },
            "",
            "Corners of tetrahedra among `vertices`, from 0: the first three counter-clockwise seen from the fourth.",
        ),
        Field::optional(
            "hexes",
            Kind::List { item: &CORNERS8, min: 1, max: MOST_POINTS },
            "",
            "Corners of hexahedra among `vertices`, from 0: four around the bottom, counter-clockwise seen from \
             above, and those above them.",
        ),
        Field::default(
            "scale",
            POSITIVE,
            Literal::Number(1.0),
            "",
            "Factor on the nodes of a mesh from `file` or `vertices`.",
        ),
        Field::optional(
            "elements",
            Kind::Word(&ELEMENTS),
            "",
            "Its elements; if absent `tets`, or those of the mesh that is given.",
        ),
        Field::default("material", Kind::Word(&MATERIALS), Literal::Text("corotated"), "", "Constitutive law."),
        Field::default("young", POSITIVE, Literal::Number(1e5), "Pa", "Young's modulus."),
        POISSON,
        Field::default("density", POSITIVE, Literal::Number(1000.0), "kg/m³", "Density."),
        Field::default("mass", Kind::Word(&MASSES), Literal::Text("lumped"), "", "How the mass is spread."),
        POSITION,
        ORIENTATION,
        Field::default("velocity", Kind::VEC3, ORIGIN, "m/s", "Velocity of its origin, world axes."),
        Field::default(
            "angular_velocity",
            Kind::VEC3,
            ORIGIN,
            "rad/s",
            "Angular velocity about its origin, world axes.",
        ),
    ],
)
.with_rules(&[Rule::ExactlyOne(&["box", "cylinder", "ball", "torus", "file", "tets", "hexes"])]);

pub(super) static AFFINE: Table = Table::new(
    "affine",
    "A body that deforms as a whole, x = p + A X, and is kept near a rigid one; for the method `implicit`. `NAME[0]` is \
     its centre of mass; `points` fixes places to it.",
    &[
        NAME,
        Field::required("shape", Kind::Table(&SHAPE), "", "Shape, as that of a rigid body."),
        Field::optional("density", POSITIVE, "kg/m³", "Density of the shape."),
        Field::optional("mass", POSITIVE, "kg", "Mass, spread evenly over the shape."),
        Field::default("stiffness", POSITIVE, Literal::Number(1e8), "Pa", "Stiffness κ against deformation."),
        Field::default(
            "energy",
            Kind::Word(&ENERGIES),
            Literal::Text("orthogonality"),
            "",
            "Energy that keeps it stiff.",
        ),
        POSITION,
        ORIENTATION,
        Field::default("velocity", Kind::VEC3, ORIGIN, "m/s", "Velocity of its centre of mass, world axes."),
        Field::default("angular_velocity", Kind::VEC3, ORIGIN, "rad/s", "Angular velocity, world axes."),
    ],
)
.with_rules(&[Rule::ExactlyOne(&["density", "mass"])]);

const THROUGH: Field = Field::default("through", Kind::VEC3, ORIGIN, "m", "A point of the plane.");
const NORMAL: Field = Field::default(
    "normal",
    Kind::VEC3,
    Literal::Numbers(&[0.0, 0.0, 1.0]),
    "",
    "Normal of the plane, of any length.",
);

static LAYER: Table = Table::new(
    "layer",
    "Points near a plane.",
    &[
        THROUGH,
        NORMAL,
        Field::default("within", NOT_NEGATIVE, Literal::Number(1e-6), "m", "Distance on either side."),
    ],
);

static HALF_SPACE: Table = Table::new(
    "half_space",
    "Points on the side of a plane to which its normal points, and on the plane.",
    &[THROUGH, NORMAL],
);

static ROUND_REGION: Table = Table::new(
    "round_region",
    "Points in a ball.",
    &[
        Field::default("center", Kind::VEC3, ORIGIN, "m", "Centre."),
        Field::required("radius", NOT_NEGATIVE, "m", "Radius."),
    ],
);

static REGION: Table = Table::new(
    "region",
    "A region of the world, at the start.",
    &[
        Field::optional(
            "box",
            Kind::List { item: &Kind::VEC3, min: 2, max: 2 },
            "m",
            "Points of a box: its lowest and its highest corner.",
        ),
        Field::optional("plane", Kind::Table(&LAYER), "", "Points near a plane."),
        Field::optional("half_space", Kind::Table(&HALF_SPACE), "", "Points on one side of a plane."),
        Field::optional("sphere", Kind::Table(&ROUND_REGION), "", "Points in a ball."),
    ],
)
.with_rules(&[Rule::ExactlyOne(&["box", "plane", "half_space", "sphere"])]);

pub(super) const INSIDE: Field = Field::optional(
    "inside",
    Kind::Table(&REGION),
    "",
    "Only those of the points that start in this region.",
);

pub(super) static SKIN: Table = Table::new(
    "skin",
    "A surface in the frame of a body: that of a shape, or triangles, which need not be closed.",
    &[
        SPHERE,
        BOX,
        CAPSULE,
        CYLINDER,
        CONE,
        ELLIPSOID,
        // The loader replaces it by `vertices` and `triangles`.
        Field::optional(
            "mesh",
            Kind::Text,
            "",
            "Triangles from a file (OBJ, STL, PLY, or the outside of a `.msh` or `.vtk`) whose path is relative to \
             this file.",
        ),
        Field::optional(
            "vertices",
            Kind::List { item: &Kind::VEC3, min: 3, max: MOST_POINTS },
            "m",
            "Vertices of a surface, with `triangles`.",
        ),
        TRIANGLES,
        SCALE,
        Field::default("position", Kind::VEC3, ORIGIN, "m", "Its place in the body's frame."),
        ORIENTATION,
    ],
)
.with_rules(&[
    Rule::ExactlyOne(&["sphere", "box", "capsule", "cylinder", "cone", "ellipsoid", "mesh", "vertices"]),
    Rule::Together(&["vertices", "triangles"]),
]);

pub(super) const SURFACE: Field = Field::optional(
    "surface",
    Kind::Table(&SKIN),
    "",
    "A surface that a soft, affine or rigid body carries, in its frame; drawn, and its points come after `at`.",
);
