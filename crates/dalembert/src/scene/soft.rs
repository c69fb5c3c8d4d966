//! Soft solids: sets of particles with elements between them.

use super::diagnostics::Diagnostics;
use super::expanded::{
    Expanded, Origin, Placement, Rest, Shared, force_on, generated, ids, needs_implicit, nodes, refuse,
    shifted, touching,
};
use super::keys::*;
use super::shape::{CORNER, corners, scaled_vertices};
use super::{MOST_POINTS, ParticleSet, Scene};
use crate::describe::short::*;
use crate::describe::{
    Field, Findings, Forms, Key, Kind, Rule, Table, TableKey, View, Words, fields, table, variants, words,
};
use crate::forces::Force;
use crate::forces::nary::{
    ElementError, HexKind, Hexes, Law, MassKind, MassMatrix, Material, QuadraticTets, Tets,
};
use crate::math::{Quat, Vec3};
use crate::mesh::{HexMesh, TetMesh};

/// Most cells along an edge: finer meshes come from files.
const MOST_CELLS: i64 = 512;
/// Most cells of all soft bodies of a scene together; with six tetrahedra each they fill some gigabytes.
pub(super) const MOST_CELLS_TOGETHER: f64 = 1e6;

const CELLS: Kind = integer(1, MOST_CELLS);
/// Numbers of cells along two directions.
pub(super) const CELLS2: Kind = list(&CELLS, 2, 2);

words! {
    /// Which elements fill a solid.
    pub enum Elements {
        /// Linear tetrahedra, six per cube: cheap, and too stiff in bending.
        Tets = "tets",
        /// Tetrahedra with nodes on their edges: good in bending and near ν = ½.
        QuadraticTets = "quadratic_tets",
        /// Hexahedra with eight nodes.
        Hexes = "hexes",
        /// Hexahedra that bend freely and do not lock; for the materials `linear` and `corotated`.
        BendingHexes = "bending_hexes",
    }
}

words! {
    for Law {
        /// Hooke's law of small strain: fastest, and wrong once anything turns.
        Linear = "linear",
        /// Hooke's law in a frame that turns with the element.
        Corotated = "corotated",
        /// St. Venant–Kirchhoff: Hooke's law for Green's strain; collapses under strong pressing.
        StVenantKirchhoff = "stvk",
        /// With the logarithm of the volume: infinite for an inverted element.
        NeoHookean = "neo_hookean",
        /// Keeps its volume well and survives inversion.
        StableNeoHookean = "stable_neo_hookean",
    }
}

words! {
    for MassKind {
        /// Each node has its own mass.
        Lumped = "lumped",
        /// Neighbours share inertia as the elements have it; for the method `implicit`.
        Consistent = "consistent",
    }
}

variants! {
    /// The space that a soft solid fills, in its own frame.
    pub enum Solid {
        /// A box about the origin.
        Box: "box", "A box.", "soft_box" {
            /// Full lengths along x, y and z.
            size: Vec3 = REQUIRED, SIZES, "m";
            /// Cubes along x, y and z.
            cells: [usize; 3] = REQUIRED, list(&CELLS, 3, 3), "";
        }
        /// A round cylinder along z about the origin.
        Cylinder: "cylinder", "A round cylinder.", "soft_cylinder" {
            /// Radius.
            radius: f64 = REQUIRED, POSITIVE, "m";
            /// Length along z.
            length: f64 = REQUIRED, POSITIVE, "m";
            /// Cells across its square core, and along z.
            cells: [usize; 2] = REQUIRED, CELLS2, "";
        }
        /// A ball about the origin.
        Ball: "ball", "A ball.", "soft_ball" {
            /// Radius.
            radius: f64 = REQUIRED, POSITIVE, "m";
            /// Cells across its cubical core.
            cells: usize = REQUIRED, CELLS, "";
        }
        /// A ring in the xy plane about the origin.
        Torus: "torus", "A ring.", "soft_torus" {
            /// Radius of the ring's middle line.
            ring: f64 = REQUIRED, POSITIVE, "m";
            /// Radius of the tube, less than `ring`.
            tube: f64 = REQUIRED, POSITIVE, "m";
            /// Cells across the square core of the tube, and around the ring.
            cells: [usize; 2] = REQUIRED, CELLS2, "";
        }
    }
    others {
        /// Tetrahedra from elsewhere.
        Tets(TetMesh),
        /// Hexahedra from elsewhere.
        Hexes(HexMesh),
    }
}

/// Keys of the space that a solid fills. The loader replaces `file` by `vertices` and `tets` or `hexes`.
const SOLID: &[Field] = fields![
    Solid::FORMS,
    &[
        Field::new(
            "file",
            Kind::Text,
            OPTIONAL,
            "",
            "A solid mesh of tetrahedra or of hexahedra from a file (Gmsh `.msh` or legacy `.vtk`) whose path is relative to this file."
        ),
        Field::new(
            "vertices",
            list(&Kind::VEC3, 4, MOST_POINTS),
            OPTIONAL,
            "m",
            "Nodes of a mesh, with `tets` or `hexes`."
        ),
        Field::new(
            "tets",
            list(&list(&CORNER, 4, 4), 1, MOST_POINTS),
            OPTIONAL,
            "",
            "Corners of tetrahedra among `vertices`, from 0: the first three counter-clockwise seen from the fourth."
        ),
        Field::new(
            "hexes",
            list(&list(&CORNER, 8, 8), 1, MOST_POINTS),
            OPTIONAL,
            "",
            "Corners of hexahedra among `vertices`, from 0: four around the bottom, counter-clockwise seen from above, and those above them."
        ),
        Field::new(
            "scale",
            POSITIVE,
            number(1.0),
            "",
            "Factor on the nodes of a mesh from `file` or `vertices`."
        ),
    ],
];

table! {
    /// A soft solid: a set of particles of its name, with elements between them. Whatever takes particles takes its
    /// nodes; `points` embeds places and surfaces in it.
    #[derive(Debug, Clone, PartialEq)]
    pub struct SoftBody: "soft" {
        /// Name, unique in the scene.
        name: String = &[NAME];
        /// The space that it fills.
        solid: Solid = SOLID;
        /// Its elements; if absent `tets`, or those of the mesh that is given.
        elements: Elements = OPTIONAL, Elements::KIND, "";
        /// Constitutive law.
        law as "material": Law = word("corotated"), Law::KIND, "";
        /// Young's modulus.
        young: f64 = number(1e5), POSITIVE, "Pa";
        /// Poisson's ratio.
        poisson: f64 = &[POISSON];
        /// Density.
        density: f64 = number(1000.0), POSITIVE, "kg/m³";
        /// How the mass is spread.
        mass: MassKind = word("lumped"), MassKind::KIND, "";
        /// Where the origin of its frame stands.
        position: Vec3 = &[POSITION];
        /// Orientation of its frame.
        orientation: Quat = &[ORIENTATION];
        /// Velocity of its origin, world axes.
        velocity: Vec3 = ORIGIN, VEC3, "m/s";
        /// Angular velocity about its origin, world axes.
        angular_velocity: Vec3 = ORIGIN, VEC3, "rad/s";
    }
    rules [Rule::ExactlyOne(&["box", "cylinder", "ball", "torus", "file", "tets", "hexes"])]
    all within_limits
}

impl SoftBody {
    /// A solid of corotated tetrahedra with E = 100 kPa, ν = 0.3, ρ = 1000 kg/m³, at rest.
    pub fn new(name: impl Into<String>, solid: Solid) -> Self {
        Self { name: name.into(), solid, ..Self::default() }
    }
}

impl Key for Solid {
    fn read(t: &View<'_>, _: &'static str, out: &mut Findings) -> Option<Self> {
        if t.has("tets") || t.has("hexes") {
            return given_solid(t, out);
        }
        for key in ["vertices", "scale"] {
            if t.has(key) {
                out.error(t.key_span(key), format!("`{key}` is for meshes of `tets` or `hexes`"));
            }
        }
        Self::form(t, out)?
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::Box { size: Vec3::repeat(1.0), cells: [1; 3] }
    }
}

/// A mesh that the file gives by its corners.
fn given_solid(t: &View<'_>, out: &mut Findings) -> Option<Solid> {
    let wanted: Option<Elements> = t.item("elements");
    let points = scaled_vertices(t);
    if !t.has("vertices") {
        let key = if t.has("tets") { "tets" } else { "hexes" };
        out.error(t.key_span(key), format!("`{key}` wants `vertices` beside it"));
        return None;
    }
    if t.has("tets") {
        let tets = corners(t, "tets", points.len(), out)?;
        if let Some(Elements::Hexes | Elements::BendingHexes) = wanted {
            let word = t.text("elements");
            out.error(t.span("elements"), format!("a mesh of tetrahedra has no elements `{word}`"));
            return None;
        }
        return Some(Solid::Tets(TetMesh { points, tets }));
    }
    let hexes = corners(t, "hexes", points.len(), out)?;
    let mesh = HexMesh { points, hexes };
    Some(match wanted {
        Some(Elements::Tets | Elements::QuadraticTets) => Solid::Tets(mesh.to_tets()),
        _ => Solid::Hexes(mesh),
    })
}

impl Solid {
    /// Cells that it will have, about; an upper bound for round ones.
    fn cells(&self) -> f64 {
        // The square core of a disc has n² cells; n/2 layers (one at least) of 4n cells lie around it.
        let disc = |n: usize| (n * n + 4 * n * (n / 2).max(1)) as f64;
        match self {
            Solid::Box { cells, .. } => cells.iter().map(|n| *n as f64).product(),
            Solid::Cylinder { cells: [across, along], .. } | Solid::Torus { cells: [across, along], .. } => {
                disc(*across) * *along as f64
            }
            Solid::Ball { cells: n, .. } => (n * n * n + 6 * n * n * (n / 2).max(1)) as f64,
            Solid::Tets(mesh) => mesh.tets.len() as f64 / 6.0,
            Solid::Hexes(mesh) => mesh.hexes.len() as f64,
        }
    }
}

/// All soft solids, unless they have too many cells together.
fn within_limits(tables: Vec<View<'_>>, out: &mut Findings) -> Vec<SoftBody> {
    let mut bodies = Vec::new();
    let mut together = 0.0;
    for t in &tables {
        let Some(body) = SoftBody::from_table(t, out) else { continue };
        together += body.solid.cells();
        if together > MOST_CELLS_TOGETHER {
            let key =
                ["box", "cylinder", "ball", "torus"].into_iter().find(|key| t.has(key)).unwrap_or("name");
            let message = format!(
                "soft bodies grow to about {together:.1e} cells; a scene takes {MOST_CELLS_TOGETHER:e}: ask for fewer `cells`"
            );
            out.error(t.span(key), message);
            break;
        }
        bodies.push(body);
    }
    bodies
}

/// The elements of a solid.
enum Mesh {
    Tets(TetMesh),
    Hexes(HexMesh),
}

fn mesh_of(body: &SoftBody, notes: &mut Diagnostics) -> Option<Mesh> {
    let hexes = matches!(body.elements, Elements::Hexes | Elements::BendingHexes);
    Some(match &body.solid {
        Solid::Tets(mesh) => Mesh::Tets(mesh.clone()),
        Solid::Hexes(mesh) => Mesh::Hexes(mesh.clone()),
        Solid::Box { size, cells } if hexes => {
            Mesh::Hexes(generated(notes, "box", HexMesh::block(*size, *cells))?)
        }
        Solid::Box { size, cells } => Mesh::Tets(generated(notes, "box", TetMesh::block(*size, *cells))?),
        Solid::Cylinder { radius, length, cells: [across, along] } => {
            let mesh = generated(notes, "cylinder", HexMesh::cylinder(*radius, *length, *across, *along))?;
            if hexes { Mesh::Hexes(mesh) } else { Mesh::Tets(mesh.to_tets()) }
        }
        Solid::Ball { radius, cells } => {
            let mesh = generated(notes, "ball", HexMesh::ball(*radius, *cells))?;
            if hexes { Mesh::Hexes(mesh) } else { Mesh::Tets(mesh.to_tets()) }
        }
        Solid::Torus { ring, tube, cells: [across, around] } => {
            let mesh = generated(notes, "torus", HexMesh::torus(*ring, *tube, *across, *around))?;
            if hexes { Mesh::Hexes(mesh) } else { Mesh::Tets(mesh.to_tets()) }
        }
    })
}

/// Mass matrix of a set, as weights (row sums, what gravity pulls at) and what is shared beyond them.
fn spread(mass: MassMatrix) -> (Vec<f64>, Shared) {
    let mut weight = mass.diagonal.clone();
    for &(i, j, m) in &mass.off_diagonal {
        weight[i as usize] += m;
        weight[j as usize] += m;
    }
    let mut shared = mass.off_diagonal;
    if !shared.is_empty() {
        let own = mass.diagonal.iter().zip(&weight).enumerate();
        shared.extend(own.map(|(i, (m, w))| (i as u32, i as u32, m - w)));
    }
    (weight, shared)
}

type Make = Box<dyn Fn(usize) -> Result<Box<dyn Force>, ElementError> + Send>;

/// What a mesh of elements gives a soft body: places at rest, mass, surface and forces.
struct Elastic {
    points: Vec<Vec3>,
    mass: MassMatrix,
    triangles: Vec<[u32; 3]>,
    make: Make,
    rest: Rest,
}

fn elastic(body: &SoftBody, mesh: Mesh) -> Elastic {
    let material = Material { law: body.law, young: body.young, poisson: body.poisson };
    let (kind, rho) = (body.mass, body.density);
    // Elements are made from the turned shape, so that a turned body is at rest under the linear law too.
    let turned = |points: &[Vec3]| points.iter().map(|p| body.orientation * p).collect::<Vec<Vec3>>();
    // The force is made once here to find what is wrong, and again when the number of the first point is known.
    match mesh {
        Mesh::Tets(mesh) if body.elements == Elements::QuadraticTets => {
            let fine = mesh.quadratic();
            let mut mass = MassMatrix::new(fine.points.len());
            mass.add_quadratic_tets(&fine.points, &ids(&fine.tets, 0), rho, kind);
            let triangles = mesh.boundary().volume_triangles();
            let (points, rest) = (fine.points.clone(), turned(&fine.points));
            let make = move |first| -> Result<Box<dyn Force>, ElementError> {
                let elements = ids(&fine.tets, first);
                Ok(Box::new(QuadraticTets::new(&shifted(&rest, first), &elements, material)?))
            };
            Elastic { points, mass, triangles, make: Box::new(make), rest: Rest::Tets(mesh) }
        }
        Mesh::Tets(mesh) => {
            let mut mass = MassMatrix::new(mesh.points.len());
            mass.add_tets(&mesh.points, &ids(&mesh.tets, 0), rho, kind);
            let (points, triangles) = (mesh.points.clone(), mesh.boundary().volume_triangles());
            let (whole, rest) = (mesh.clone(), turned(&mesh.points));
            let make = move |first| -> Result<Box<dyn Force>, ElementError> {
                let elements = ids(&mesh.tets, first);
                Ok(Box::new(Tets::new(&shifted(&rest, first), &elements, material)?))
            };
            Elastic { points, mass, triangles, make: Box::new(make), rest: Rest::Tets(whole) }
        }
        Mesh::Hexes(mesh) => {
            let mut mass = MassMatrix::new(mesh.points.len());
            mass.add_hexes(&mesh.points, &ids(&mesh.hexes, 0), rho, kind);
            let (points, triangles) = (mesh.points.clone(), mesh.boundary().volume_triangles());
            let bends = body.elements == Elements::BendingHexes;
            let hex = if bends { HexKind::IncompatibleModes } else { HexKind::Plain };
            let (whole, rest) = (mesh.clone(), turned(&mesh.points));
            let make = move |first| -> Result<Box<dyn Force>, ElementError> {
                let elements = ids(&mesh.hexes, first);
                Ok(Box::new(Hexes::new(&shifted(&rest, first), &elements, material, hex)?))
            };
            Elastic { points, mass, triangles, make: Box::new(make), rest: Rest::Hexes(whole) }
        }
    }
}

/// Particles and forces of a soft solid.
pub(super) fn expand(
    body: &SoftBody,
    origin: Origin,
    scene: &mut Scene,
    notes: &mut Diagnostics,
    out: &mut Expanded,
) {
    let placement = Placement {
        position: body.position,
        orientation: body.orientation,
        velocity: body.velocity,
        angular_velocity: body.angular_velocity,
    };
    placement.check(notes);
    let density = notes.positive("density", body.density);
    if body.mass == MassKind::Consistent {
        needs_implicit("consistent masses", "mass", scene, notes);
    }
    let Some(mesh) = mesh_of(body, notes) else { return };
    let Elastic { points, mass, triangles, make, rest } = elastic(body, mesh);
    let set = scene.particles.len();
    let trial = match make(0) {
        Ok(force) => force,
        Err(error) => return refuse(notes, &error),
    };
    if let Some(node) = mass.diagonal.iter().position(|m| *m == 0.0) {
        return notes.error("", format!("node {node} belongs to no element, so it has no mass"));
    }
    if !density {
        return;
    }
    let (weights, shared) = spread(mass);
    let radius = if shared.is_empty() { touching(scene, 0.0) } else { None };
    scene.particles.push(ParticleSet { radius, ..placement.set(&body.name, &points, weights) });
    out.origins.push(Origin { masses_known: true, ..origin });
    out.skins.push(nodes(set, triangles.clone(), Vec::new(), 0.0));
    out.triangles.push((set, triangles));
    out.shared.push((set, shared));
    out.rest.push((set, rest));
    // The same elements were accepted above, so making them again does not fail.
    scene.custom.push(force_on(&body.name, move |first| make(first).unwrap_or(trial)));
}
