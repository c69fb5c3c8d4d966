//! Cloth and shells: sets of particles with triangles and hinges between them.

use super::diagnostics::Diagnostics;
use super::expanded::{
    Expanded, Origin, Placement, Rest, force_on, generated, ids, nodes, refuse, shifted, touching,
};
use super::keys::*;
use super::shape::SKIN;
use super::soft::{CELLS2, MOST_CELLS_TOGETHER};
use super::{ParticleSet, Scene};
use crate::describe::short::*;
use crate::describe::{
    Field, Findings, Forms, Key, Kind, Rule, Table, TableKey, View, Words, fields, table, variants, words,
};
use crate::forces::Force;
use crate::forces::nary::{
    ElementError, Hinges, MassKind, MassMatrix, Membranes, QuadraticHinges, Weave, WovenCloth,
    plate_stiffness,
};
use crate::math::{Quat, Vec3};
use crate::mesh::{Diagonals, SurfaceMesh};

words! {
    for Diagonals {
        /// All from lower left to upper right.
        Same = "same",
        /// Turned from square to square, so that no diagonal direction is preferred.
        Alternating = "alternating",
    }
}

words! {
    /// What resists stretching of a cloth.
    pub enum Membrane {
        /// St. Venant–Kirchhoff: an isotropic sheet.
        Stvk = "stvk",
        /// Threads along x and y that stretch and shear; does not use `poisson` in stretch.
        BaraffWitkin = "baraff_witkin",
    }
}

words! {
    /// What resists bending of a cloth.
    pub enum Bending {
        /// Angles over edges (discrete shells); a sheet that is curved at rest keeps its shape.
        Hinges = "hinges",
        /// Constant stiffness, cheaper; for a sheet that is flat at rest and hardly stretches.
        Quadratic = "quadratic",
    }
}

variants! {
    /// The sheet that a cloth is cut from, in its own frame.
    pub enum Sheet {
        /// A rectangle in the xy plane about the origin. Node i + (cells along x + 1)·j is the i-th along x in row j.
        Grid: "grid", "A rectangle.", "cloth_grid" {
            /// Lengths along x and y.
            size: [f64; 2] = REQUIRED, list(&POSITIVE, 2, 2), "m";
            /// Squares along x and y.
            cells: [usize; 2] = REQUIRED, CELLS2, "";
            /// How the squares are cut into triangles.
            diagonals: Diagonals = word("alternating"), Diagonals::KIND, "";
        }
    }
    others {
        /// Triangles from elsewhere.
        Surface(SurfaceMesh),
    }
}

/// Keys of a sheet.
const SHEET: &[Field] = fields![
    Sheet::FORMS,
    &[Field::optional(
        "surface",
        Kind::Table(const { &SKIN }),
        "",
        "The surface of a shape, or triangles from a file or given here, which need not be closed.",
    )],
];

impl Key for Sheet {
    fn read(t: &View<'_>, _: &'static str, out: &mut Findings) -> Option<Self> {
        if t.has("surface") {
            return SurfaceMesh::read(t, "surface", out).map(Sheet::Surface);
        }
        Self::form(t, out)?
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::Grid { size: [1.0; 2], cells: [1; 2], diagonals: Diagonals::Alternating }
    }
}

table! {
    /// A cloth or shell: a set of particles of its name, with triangles between them that resist stretching and edges
    /// that resist bending. Its energies are `energy.NAME` and `energy.NAME bending`.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Cloth: "cloth" {
        /// Name, unique in the scene.
        name: String = &[NAME];
        /// The sheet that it is cut from.
        sheet: Sheet = SHEET;
        /// What resists stretching.
        membrane: Membrane = word("stvk"), Membrane::KIND, "";
        /// Young's modulus.
        young: f64 = number(1e6), POSITIVE, "Pa";
        /// Poisson's ratio.
        poisson: f64 = &[POISSON];
        /// Thickness.
        thickness: f64 = number(3e-4), POSITIVE, "m";
        /// Density.
        density: f64 = number(300.0), POSITIVE, "kg/m³";
        /// Bending stiffness; that of a plate, E t³/12(1 − ν²), if absent.
        bending: Option<f64> = OPTIONAL, NOT_NEGATIVE, "N·m";
        /// What resists bending.
        bending_law: Bending = word("hinges"), Bending::KIND, "";
        /// Strain s beyond which the threads of `baraff_witkin` stiffen: at the strain s + d they pull by
        /// 10·E·thickness·d²/s more, per width.
        strain_limit: Option<f64> = OPTIONAL, POSITIVE, "";
        /// Where the origin of its frame stands.
        position: Vec3 = &[POSITION];
        /// Orientation of its frame.
        orientation: Quat = &[ORIENTATION];
        /// Velocity of all of it, world axes.
        velocity: Vec3 = ORIGIN, VEC3, "m/s";
    }
    rules [Rule::ExactlyOne(&["grid", "surface"])]
    all within_limits
}

impl Cloth {
    /// A cotton-like cloth, 0.3 mm thick, 300 kg/m³, E = 1 MPa, at rest.
    pub fn new(name: impl Into<String>, sheet: Sheet) -> Self {
        Self { name: name.into(), sheet, ..Self::default() }
    }
}

/// All cloth, unless it has too many squares together.
fn within_limits(tables: Vec<View<'_>>, out: &mut Findings) -> Vec<Cloth> {
    let mut all = Vec::new();
    let mut together = 0.0;
    for t in &tables {
        let Some(cloth) = Cloth::from_table(t, out) else { continue };
        together += match &cloth.sheet {
            Sheet::Grid { cells: [a, b], .. } => (a * b) as f64,
            Sheet::Surface(mesh) => 0.5 * mesh.triangles.len() as f64,
        };
        if together > MOST_CELLS_TOGETHER {
            let key = if t.has("grid") { "grid" } else { "surface" };
            let message = format!(
                "cloth grows to about {together:.1e} squares; a scene takes {MOST_CELLS_TOGETHER:e}: ask for fewer `cells`"
            );
            out.error(t.span(key), message);
            break;
        }
        all.push(cloth);
    }
    all
}

type Make = Box<dyn Fn(usize) -> Result<Box<dyn Force>, ElementError> + Send>;

/// What makes the forces against stretching and bending, once the number of the first point is known.
fn forces(body: &Cloth, mesh: &SurfaceMesh) -> (Make, Make) {
    let Cloth { membrane, young, poisson, thickness, strain_limit, bending_law: law, .. } = *body;
    let bending = body.bending.unwrap_or_else(|| plate_stiffness(young, poisson, thickness));
    let rest = mesh.clone();
    let stretch: Make = Box::new(move |first| {
        let (points, triangles) = (shifted(&rest.points, first), ids(&rest.triangles, first));
        Ok(match membrane {
            Membrane::Stvk => Box::new(Membranes::sheet(&points, &triangles, young, poisson, thickness)?),
            Membrane::BaraffWitkin => {
                let k = young * thickness;
                let shear = 0.5 * k / (1.0 + poisson);
                let weave = Weave { stretch: [k, k], shear, limit: strain_limit.map(|s| (s, 10.0 * k)) };
                Box::new(WovenCloth::cloth(&points, &triangles, Vec3::x(), weave)?)
            }
        })
    });
    let rest = mesh.clone();
    let bend: Make = Box::new(move |first| {
        let (points, triangles) = (shifted(&rest.points, first), ids(&rest.triangles, first));
        Ok(match law {
            Bending::Hinges => Box::new(Hinges::sheet(&points, &triangles, bending)?),
            Bending::Quadratic => Box::new(QuadraticHinges::sheet(&points, &triangles, bending)?),
        })
    });
    (stretch, bend)
}

/// Particles and forces of a cloth.
pub(super) fn expand(
    body: &Cloth,
    origin: Origin,
    scene: &mut Scene,
    notes: &mut Diagnostics,
    out: &mut Expanded,
) {
    let placement = Placement {
        position: body.position,
        orientation: body.orientation,
        velocity: body.velocity,
        angular_velocity: Vec3::zeros(),
    };
    placement.check(notes);
    let solid = notes.positive("density", body.density) && notes.positive("thickness", body.thickness);
    let mesh = match &body.sheet {
        Sheet::Surface(mesh) => mesh.clone(),
        Sheet::Grid { size, cells, diagonals } => {
            match generated(notes, "size", SurfaceMesh::grid(*size, *cells, *diagonals)) {
                Some(mesh) => mesh,
                None => return,
            }
        }
    };
    if let Some(edge) = mesh.crowded_edges().first() {
        return notes
            .error("", format!("edge {:?} belongs to {} triangles", edge.corners, edge.elements.len()));
    }
    if let Some(edge) = mesh.twisted_edges().first() {
        let message =
            format!("the triangles beside edge {:?} face opposite ways; turn one of them", edge.corners);
        return notes.error("", message);
    }
    let Cloth { membrane, thickness, strain_limit, .. } = *body;
    if let Some(limit) = strain_limit {
        notes.positive("strain_limit", limit);
        if membrane != Membrane::BaraffWitkin {
            notes.error("strain_limit", "is for the membrane `baraff_witkin`");
        }
    }
    let (stretch, bend) = forces(body, &mesh);
    let (trial, bend_trial) = match (stretch(0), bend(0)) {
        (Ok(stretch), Ok(bend)) => (stretch, bend),
        (Err(error), _) | (_, Err(error)) => return refuse(notes, &error),
    };
    let mut mass = MassMatrix::new(mesh.points.len());
    mass.add_triangles(&mesh.points, &ids(&mesh.triangles, 0), body.density * thickness, MassKind::Lumped);
    if let Some(node) = mass.diagonal.iter().position(|m| *m == 0.0) {
        return notes.error("", format!("node {node} belongs to no triangle, so it has no mass"));
    }
    if !solid {
        return;
    }
    let set = scene.particles.len();
    let radius = touching(scene, 0.5 * thickness);
    scene.particles.push(ParticleSet { radius, ..placement.set(&body.name, &mesh.points, mass.diagonal) });
    out.origins.push(origin);
    out.skins.push(nodes(set, mesh.triangles.clone(), Vec::new(), 0.5 * thickness));
    out.triangles.push((set, mesh.triangles.clone()));
    out.rest.push((set, Rest::Surface(mesh)));
    scene.custom.push(force_on(&body.name, move |first| stretch(first).unwrap_or(trial)));
    let mut bending = force_on(&body.name, move |first| bend(first).unwrap_or(bend_trial));
    bending.name = format!("{} bending", body.name);
    scene.custom.push(bending);
}
