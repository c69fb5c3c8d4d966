//! From deformables to particles, elements and surfaces: what [`build`](super::build) needs before it counts points.
//!
//! Each soft thing becomes a set of particles of its name and a force of its name between them. What only drawing and
//! carried points ask for (its surface, its mesh at rest) is kept aside.

use super::build_contact::Skin;
use super::diagnostics::Diagnostics;
use super::{
    Arrangement, CustomForce, MappedPoints, Masses, ParticleSet, Scene, Velocities, affine, cloth, rod, soft,
};
use crate::forces::Force;
use crate::forces::nary::ElementError;
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
pub(super) type Shared = Vec<(u32, u32, f64)>;

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
    pub markers: Vec<rod::Markers>,
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

    /// What there is to look at: soft things, then carried meshes, whose points come after the places of a set.
    pub(super) fn surfaces(&self, blocks: &[Block], carried: &[MappedPoints]) -> Vec<Surface> {
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
        for set in carried {
            let Some(surface) = &set.surface else { continue };
            let Some(block) = blocks.iter().find(|b| b.name == set.name) else { continue };
            let first = (block.points.start + set.at.len()) as u32;
            let triangles = surface.triangles.iter().map(|t| t.map(|i| first + i)).collect();
            out.push(Surface { name: set.name.clone(), triangles, ..Surface::default() });
        }
        out
    }
    /// Of each affine body its first point, and where the origin of its frame lies from the centre of mass.
    pub(super) fn origins_of_affine(&self, blocks: &[Block]) -> Vec<(usize, Vec3)> {
        let origin = |(set, rest): &(usize, Rest)| match rest {
            Rest::Affine { center } => Some((blocks[*set].points.start, -center)),
            _ => None,
        };
        self.rest.iter().filter_map(origin).collect()
    }
}

/// Adds particles and forces of all soft things to the scene.
pub(super) fn expand(scene: &mut Scene, notes: &mut Diagnostics) -> Expanded {
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
        soft::expand(&body, origin, scene, notes, &mut out);
        out.forces.resize(scene.custom.len() - own, ("soft", index));
    }
    for (index, body) in std::mem::take(&mut scene.cloth).into_iter().enumerate() {
        notes.at("cloth", index, &body.name);
        let origin = Origin { table: "cloth", index, kind: BlockKind::Particles, masses_known: true };
        cloth::expand(&body, origin, scene, notes, &mut out);
        out.forces.resize(scene.custom.len() - own, ("cloth", index));
    }
    for (index, body) in std::mem::take(&mut scene.rod).into_iter().enumerate() {
        notes.at("rod", index, &body.name);
        let origin = Origin { table: "rod", index, kind: BlockKind::Particles, masses_known: true };
        rod::expand(&body, origin, scene, notes, &mut out);
        out.forces.resize(scene.custom.len() - own, ("rod", index));
    }
    // Last, so that markers and the columns of deformations come after all places.
    rod::add_markers(scene, &mut out);
    for (index, body) in std::mem::take(&mut scene.affine).into_iter().enumerate() {
        notes.at("affine", index, &body.name);
        let origin = Origin { table: "affine", index, kind: BlockKind::Affine, masses_known: true };
        affine::expand(body, origin, scene, notes, &mut out);
        out.forces.resize(scene.custom.len() - own, ("affine", index));
    }
    out.failed = notes.found > before;
    out
}

/// A collision surface whose vertices are the particles of a set.
pub(super) fn nodes(set: usize, triangles: Vec<[u32; 3]>, segments: Vec<[u32; 2]>, radius: f64) -> Skin {
    Skin { set, material: None, triangles, segments, radius, reach: Vec3::zeros(), stiffness: 0.0 }
}

/// Names the key of the scene that a generator complains about.
pub(super) fn generated<T>(
    notes: &mut Diagnostics,
    key: &'static str,
    mesh: Result<T, GenerateError>,
) -> Option<T> {
    mesh.map_err(|error| notes.error(key, error.to_string())).ok()
}

/// Where points of a body's frame are put, and how they move.
pub(super) struct Placement {
    pub position: Vec3,
    pub orientation: Quat,
    pub velocity: Vec3,
    pub angular_velocity: Vec3,
}

impl Placement {
    pub(super) fn check(&self, notes: &mut Diagnostics) {
        notes.finite3("position", &self.position);
        notes.finite3("velocity", &self.velocity);
        notes.finite3("angular_velocity", &self.angular_velocity);
        if !self.orientation.coords.iter().all(|x| x.is_finite()) {
            notes.error("orientation", "must be finite");
        }
    }

    pub(super) fn set(&self, name: &str, points: &[Vec3], masses: Vec<f64>) -> ParticleSet {
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
pub(super) fn ids<const N: usize>(elements: &[[u32; N]], first: usize) -> Vec<[PointId; N]> {
    elements.iter().map(|e| e.map(|i| PointId(i + first as u32))).collect()
}

/// Places of all points up to the last of a set that begins at `first`; those before it are never asked for.
pub(super) fn shifted(points: &[Vec3], first: usize) -> Vec<Vec3> {
    let mut all = vec![Vec3::zeros(); first];
    all.extend_from_slice(points);
    all
}

/// Says which element is wrong, under the key that caused it.
pub(super) fn refuse(notes: &mut Diagnostics, error: &ElementError) {
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

/// Refuses what needs a mass matrix that is not diagonal.
pub(super) fn needs_implicit(what: &str, key: &'static str, scene: &Scene, notes: &mut Diagnostics) {
    if !matches!(scene.method, Method::Implicit(_) | Method::Ipc(_)) {
        let method = scene.method.name();
        notes.error(key, format!("the method `{method}` does not take {what}; `implicit` and `ipc` do"));
    }
}
