//! From soft things to particles, elements and surfaces: what [`build`](super::build) needs before it counts points.
//!
//! Each soft thing becomes a set of particles of its name and a force of its name between them. What only drawing and
//! carried points ask for (its surface, its mesh at rest) is kept aside.

use super::build::Notes;
use super::build_contact::{Skin, moment_reach, moment_volume};
use super::build_rod;
use super::deformable::{AffineBody, Bending, Cloth, Elements, Membrane, Sheet, SoftBody, Solid};
use super::{Arrangement, BodyMass, CustomForce, MappedPoints, Masses, ParticleSet, Scene, Velocities};
use crate::bodies::{AffineMass, MassProperties};
use crate::forces::Force;
use crate::forces::nary::{
    AffineBodies, AffineStiffness, ElementError, HexKind, Hexes, Hinges, MassKind, MassMatrix, Material,
    Membranes, QuadraticHinges, QuadraticTets, Tets, Weave, WovenCloth, plate_stiffness,
};
use crate::math::{Quat, Vec3};
use crate::mesh::{GenerateError, HexMesh, SurfaceMesh, TetMesh};
use crate::model::Surface;
use crate::state::{Block, BlockKind, PointId};
use crate::step::Method;

/// Where a set of particles came from, for messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    pub table: &'static str,
    pub index: usize,
    /// Particles, or what comes after all of them: markers of rods, coordinates of affine bodies.
    pub kind: BlockKind,
    /// Its masses were made here and need no check: they may be zero or, in a quadratic element, negative.
    pub masses_known: bool,
}

/// A mesh at rest, for points carried by it.
#[derive(Debug, Clone)]
pub(super) enum Rest {
    Tets(TetMesh),
    Hexes(HexMesh),
    Surface(SurfaceMesh),
    /// An affine body whose centre of mass is here in its own frame \[m\].
    Affine {
        center: Vec3,
    },
}

/// Inertia that pairs of points share, as in [`Particles::shared`](crate::bodies::Particles::shared).
type Shared = Vec<(u32, u32, f64)>;

/// What soft things leave behind besides particles and forces. Numbers of points count within the set.
#[derive(Default)]
pub(super) struct Expanded {
    /// One per set of particles.
    pub origins: Vec<Origin>,
    /// Table and number that the last forces of [`Scene::custom`] came from.
    pub forces: Vec<(&'static str, usize)>,
    /// Something was refused.
    pub failed: bool,
    /// Inertia that points of a set share.
    pub shared: Vec<(usize, Shared)>,
    /// Triangles to draw.
    pub triangles: Vec<(usize, Vec<[u32; 3]>)>,
    /// Lines to draw, and their radius \[m\].
    pub lines: Vec<(usize, Vec<[u32; 2]>, f64)>,
    /// Markers of rods that wait for all places to be known.
    pub markers: Vec<build_rod::Markers>,
    /// Meshes at rest, in the frame of the body.
    pub rest: Vec<(usize, Rest)>,
    /// Collision surfaces, for the method `ipc`.
    pub skins: Vec<Skin>,
}

impl Expanded {
    /// Inertia that points share, counted over all points. Sets of particles are the first blocks.
    pub(super) fn shared_inertia(&self, blocks: &[Block]) -> Shared {
        let mut all = Vec::new();
        for (set, entries) in &self.shared {
            let first = blocks[*set].points.start as u32;
            all.extend(entries.iter().map(|&(i, j, m)| (first + i, first + j, m)));
        }
        all
    }

    /// What there is to look at: soft things, then carried meshes (name, places before the mesh, triangles).
    pub(super) fn surfaces(
        &self,
        blocks: &[Block],
        carried: &[(String, usize, Vec<[u32; 3]>)],
    ) -> Vec<Surface> {
        let mut out = Vec::new();
        for (set, triangles) in &self.triangles {
            let (name, first) = (blocks[*set].name.clone(), blocks[*set].points.start as u32);
            let triangles = triangles.iter().map(|t| t.map(|i| first + i)).collect();
            out.push(Surface { name, triangles, ..Surface::default() });
        }
        for (set, lines, radius) in &self.lines {
            let (name, first) = (blocks[*set].name.clone(), blocks[*set].points.start as u32);
            let lines = lines.iter().map(|t| t.map(|i| first + i)).collect();
            out.push(Surface { name, triangles: Vec::new(), lines, radius: *radius });
        }
        for (name, before, triangles) in carried {
            let Some(block) = blocks.iter().find(|b| b.name == *name) else { continue };
            let first = (block.points.start + before) as u32;
            let triangles = triangles.iter().map(|t| t.map(|i| first + i)).collect();
            out.push(Surface { name: name.clone(), triangles, ..Surface::default() });
        }
        out
    }
}

/// Adds particles and forces of all soft things to the scene.
pub(super) fn expand(scene: &mut Scene, notes: &mut Notes) -> Expanded {
    let mut out = Expanded::default();
    let before = notes.found;
    let own = scene.custom.len();
    for index in 0..scene.particles.len() {
        out.origins.push(Origin {
            table: "particles",
            index,
            kind: BlockKind::Particles,
            masses_known: false,
        });
    }
    for set in 0..scene.particles.len() {
        out.skins.push(nodes(set, Vec::new(), Vec::new(), 0.0));
    }
    for (index, body) in std::mem::take(&mut scene.soft).into_iter().enumerate() {
        notes.at("soft", index, &body.name);
        let origin = Origin { table: "soft", index, kind: BlockKind::Particles, masses_known: false };
        soft(&body, origin, scene, notes, &mut out);
        out.forces.resize(scene.custom.len() - own, ("soft", index));
    }
    for (index, body) in std::mem::take(&mut scene.cloth).into_iter().enumerate() {
        notes.at("cloth", index, &body.name);
        let origin = Origin { table: "cloth", index, kind: BlockKind::Particles, masses_known: true };
        cloth(&body, origin, scene, notes, &mut out);
        out.forces.resize(scene.custom.len() - own, ("cloth", index));
    }
    for (index, body) in std::mem::take(&mut scene.rod).into_iter().enumerate() {
        notes.at("rod", index, &body.name);
        let origin = Origin { table: "rod", index, kind: BlockKind::Particles, masses_known: true };
        build_rod::rod(&body, origin, scene, notes, &mut out);
        out.forces.resize(scene.custom.len() - own, ("rod", index));
    }
    // Last, so that markers and the columns of deformations come after all places.
    build_rod::add_markers(scene, &mut out);
    for (index, body) in std::mem::take(&mut scene.affine).into_iter().enumerate() {
        notes.at("affine", index, &body.name);
        let origin = Origin { table: "affine", index, kind: BlockKind::Affine, masses_known: true };
        affine(body, origin, scene, notes, &mut out);
        out.forces.resize(scene.custom.len() - own, ("affine", index));
    }
    out.failed = notes.found > before;
    out
}

/// A collision surface whose vertices are the particles of a set.
fn nodes(set: usize, triangles: Vec<[u32; 3]>, segments: Vec<[u32; 2]>, radius: f64) -> Skin {
    Skin { set, material: None, triangles, segments, radius, reach: Vec3::zeros(), stiffness: 0.0 }
}

/// The elements of a solid.
enum Mesh {
    Tets(TetMesh),
    Hexes(HexMesh),
}

/// Names the key of the scene that a generator complains about.
fn generated<T>(notes: &mut Notes, key: &'static str, mesh: Result<T, GenerateError>) -> Option<T> {
    mesh.map_err(|error| notes.error(key, error.to_string())).ok()
}

fn mesh_of(body: &SoftBody, notes: &mut Notes) -> Option<Mesh> {
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

/// Where points of a body's frame are put, and how they move.
struct Placement {
    position: Vec3,
    orientation: Quat,
    velocity: Vec3,
    angular_velocity: Vec3,
}

impl Placement {
    fn check(&self, notes: &mut Notes) {
        notes.finite3("position", &self.position);
        notes.finite3("velocity", &self.velocity);
        notes.finite3("angular_velocity", &self.angular_velocity);
        if !self.orientation.coords.iter().all(|x| x.is_finite()) {
            notes.error("orientation", "must be finite");
        }
    }

    fn set(&self, name: &str, points: &[Vec3], masses: Vec<f64>) -> ParticleSet {
        let arms: Vec<Vec3> = points.iter().map(|p| self.orientation * p).collect();
        let velocities = arms.iter().map(|r| self.velocity + self.angular_velocity.cross(r)).collect();
        ParticleSet {
            name: name.to_string(),
            arrangement: Arrangement::Positions(arms),
            position: self.position,
            mass: Masses::List(masses),
            velocity: Velocities::List(velocities),
            radius: None,
        }
    }
}

/// Radius with which the nodes of a deformable touch rigid things \[m\]: only `impulse` has such contacts.
pub(super) fn touching(scene: &Scene, radius: f64) -> Option<f64> {
    matches!(scene.method, crate::step::Method::Impulse(_)).then_some(radius)
}

/// A force on the points of one set, made when the number of its first point is known.
pub(super) fn force_on(
    name: &str,
    make: impl FnOnce(usize) -> Box<dyn Force> + Send + 'static,
) -> CustomForce {
    CustomForce {
        name: name.to_string(),
        on: vec![name.to_string()],
        most: usize::MAX,
        make: Box::new(move |points| make(points[0])),
    }
}

/// Numbers of points as ids, `first` further on.
fn ids<const N: usize>(elements: &[[u32; N]], first: usize) -> Vec<[PointId; N]> {
    elements.iter().map(|e| e.map(|i| PointId(i + first as u32))).collect()
}

/// Places of all points up to the last of a set that begins at `first`; those before it are never asked for.
pub(super) fn shifted(points: &[Vec3], first: usize) -> Vec<Vec3> {
    let mut all = vec![Vec3::zeros(); first];
    all.extend_from_slice(points);
    all
}

/// Says which element is wrong, under the key that caused it.
pub(super) fn refuse(notes: &mut Notes, error: &ElementError) {
    let key = match error {
        ElementError::Parameter { name: "young", .. } => "young",
        ElementError::Parameter { name: "poisson", .. } => "poisson",
        ElementError::Parameter { name: "density", .. } => "density",
        ElementError::Parameter { name: "thickness", .. } => "thickness",
        ElementError::Parameter { name: "radius", .. } => "radius",
        ElementError::Parameter { name: "plate stiffness", .. } => "bending",
        _ => "",
    };
    notes.error(key, error.to_string());
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

fn soft(body: &SoftBody, origin: Origin, scene: &mut Scene, notes: &mut Notes, out: &mut Expanded) {
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
    let material = Material { law: body.law, young: body.young, poisson: body.poisson };
    let (kind, rho) = (body.mass, body.density);
    let set = scene.particles.len();
    // Elements are made from the turned shape, so that a turned body is at rest under the linear law too.
    let turned = |points: &[Vec3]| points.iter().map(|p| body.orientation * p).collect::<Vec<Vec3>>();
    // The force is made once here to find what is wrong, and again when the number of the first point is known.
    type Make = Box<dyn Fn(usize) -> Result<Box<dyn Force>, ElementError> + Send>;
    let (points, mass, triangles, make, rest): (_, _, _, Make, _) = match mesh {
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
            (points, mass, triangles, Box::new(make) as Make, Rest::Tets(mesh))
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
            (points, mass, triangles, Box::new(make) as Make, Rest::Tets(whole))
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
            (points, mass, triangles, Box::new(make) as Make, Rest::Hexes(whole))
        }
    };
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

fn cloth(body: &Cloth, origin: Origin, scene: &mut Scene, notes: &mut Notes, out: &mut Expanded) {
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
    let Cloth { membrane, young, poisson, thickness, strain_limit, bending_law: law, .. } = *body;
    if let Some(limit) = strain_limit {
        notes.positive("strain_limit", limit);
        if membrane != Membrane::BaraffWitkin {
            notes.error("strain_limit", "is for the membrane `baraff_witkin`");
        }
    }
    let bending = body.bending.unwrap_or_else(|| plate_stiffness(young, poisson, thickness));
    type Make = Box<dyn Fn(usize) -> Result<Box<dyn Force>, ElementError> + Send>;
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

/// Refuses what needs a mass matrix that is not diagonal.
pub(super) fn needs_implicit(what: &str, key: &'static str, scene: &Scene, notes: &mut Notes) {
    if !matches!(scene.method, Method::Implicit(_) | Method::Ipc(_)) {
        let method = scene.method.name();
        notes.error(key, format!("the method `{method}` does not take {what}; `implicit` and `ipc` do"));
    }
}

fn affine(body: AffineBody, origin: Origin, scene: &mut Scene, notes: &mut Notes, out: &mut Expanded) {
    let placement = Placement {
        position: body.position,
        orientation: body.orientation,
        velocity: body.velocity,
        angular_velocity: body.angular_velocity,
    };
    placement.check(notes);
    needs_implicit("affine bodies", "", scene, notes);
    let stiff = notes.positive("stiffness", body.stiffness);
    let own = body.shape.volume();
    let volume = if own > 0.0 { own } else { moment_volume(&body.mass).unwrap_or(own) };
    let mass = match &body.mass {
        BodyMass::Density(density) => AffineMass::from_shape(&body.shape, *density),
        BodyMass::Mass(mass) => AffineMass::from_shape(&body.shape, mass / volume),
        BodyMass::Given { mass, center, inertia } => {
            MassProperties::new(*mass, *center, *inertia).map(|m| AffineMass::from_mass_properties(&m))
        }
    };
    let mass = match mass {
        Ok(mass) => mass,
        Err(error) => return notes.error("mass", error.to_string()),
    };
    if !stiff {
        return;
    }
    let center = mass.center();
    let about = mass.about_center();
    let R = *body.orientation.to_rotation_matrix().matrix();
    let place = body.position + body.orientation * center;
    let mut points = vec![place];
    let mut velocities = vec![body.velocity];
    for k in 0..3 {
        points.push(R.column(k).into_owned());
        velocities.push(body.angular_velocity.cross(&R.column(k)));
    }
    let set = scene.particles.len();
    scene.particles.push(ParticleSet {
        name: body.name.clone(),
        arrangement: Arrangement::Positions(points),
        position: Vec3::zeros(),
        mass: Masses::List(vec![about.mass, 0.0, 0.0, 0.0]),
        velocity: Velocities::List(velocities),
        radius: None,
    });
    out.origins.push(origin);
    let mut shared = Vec::new();
    for i in 0..3 {
        for j in i..3 {
            if about.second[(i, j)] != 0.0 {
                shared.push((i as u32 + 1, j as u32 + 1, about.second[(i, j)]));
            }
        }
    }
    out.shared.push((set, shared));
    let (stiffness, energy) = (body.stiffness, body.energy);
    scene.custom.push(force_on(&body.name, move |first| {
        let columns = [1, 2, 3].map(|k| PointId((first + k) as u32));
        Box::new(AffineBodies { bodies: vec![AffineStiffness { columns, stiffness, volume, energy }] })
    }));
    let skin = body.shape.triangles();
    let mut reach = moment_reach(&about);
    let material: Vec<Vec3> = skin.vertices().iter().map(|X| X - center).collect();
    for X in &material {
        reach = reach.sup(&X.abs());
    }
    let triangles = skin.triangles().to_vec();
    out.skins.push(Skin {
        set,
        material: Some(material),
        triangles,
        segments: Vec::new(),
        radius: 0.0,
        reach,
        stiffness,
    });
    let surface = SurfaceMesh { points: skin.vertices().to_vec(), triangles: skin.triangles().to_vec() };
    scene.points.push(MappedPoints {
        name: format!("{} skin", body.name),
        of: vec![body.name],
        surface: Some(surface),
        ..MappedPoints::default()
    });
    out.rest.push((set, Rest::Affine { center }));
}
