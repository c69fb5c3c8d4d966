//! Affine bodies: four points, of which the first is a place and the others are the columns of a deformation.

use super::build_contact::{Skin, moment_reach, moment_volume};
use super::diagnostics::Diagnostics;
use super::expanded::{Expanded, Origin, Placement, Rest, force_on, needs_implicit};
use super::keys::*;
use super::shape::SHAPE;
use super::{Arrangement, BodyMass, MappedPoints, Masses, ParticleSet, Scene, Velocities};
use crate::bodies::{AffineMass, MassProperties, Shape};
use crate::describe::short::*;
use crate::describe::{Field, Kind, Rule, Words, table, words};
use crate::forces::nary::{AffineBodies, AffineEnergy, AffineStiffness};
use crate::math::{Quat, Vec3};
use crate::mesh::SurfaceMesh;
use crate::state::PointId;

words! {
    for AffineEnergy {
        /// κV‖AᵀA − 1‖²: a polynomial.
        Orthogonality = "orthogonality",
        /// κV‖A − R‖²: as rigid as possible; a body turned inside out is not at rest.
        AsRigidAsPossible = "arap",
    }
}

/// Keys of the mass.
const MASS: &[Field] = &[
    Field::optional("density", POSITIVE, "kg/m³", "Density of the shape."),
    Field::optional("mass", POSITIVE, "kg", "Mass, spread evenly over the shape."),
];

table! {
    /// A body that deforms as a whole, x = p + A X, and is kept near a rigid one; for the method `implicit`.
    /// `NAME[0]` is its centre of mass; `points` fixes places to it.
    #[derive(Debug, Clone, PartialEq)]
    pub struct AffineBody: "affine" {
        /// Name, unique in the scene.
        name: String = &[NAME];
        /// Shape, as that of a rigid body.
        shape: Shape = REQUIRED, Kind::Table(const { &SHAPE }), "";
        /// Mass or density.
        mass: BodyMass = MASS;
        /// Stiffness κ against deformation.
        stiffness: f64 = number(1e8), POSITIVE, "Pa";
        /// Energy that keeps it stiff.
        energy: AffineEnergy = word("orthogonality"), AffineEnergy::KIND, "";
        /// Where the origin of its frame stands.
        position: Vec3 = &[POSITION];
        /// Orientation of its frame.
        orientation: Quat = &[ORIENTATION];
        /// Velocity of its centre of mass, world axes.
        velocity: Vec3 = ORIGIN, VEC3, "m/s";
        /// Angular velocity, world axes.
        angular_velocity: Vec3 = ORIGIN, VEC3, "rad/s";
    }
    rules [Rule::ExactlyOne(&["density", "mass"])]
}

impl AffineBody {
    /// A body of 1000 kg/m³ and κ = 100 MPa, at rest.
    pub fn new(name: impl Into<String>, shape: Shape) -> Self {
        Self { name: name.into(), shape, ..Self::default() }
    }
}

/// Coordinates, forces and surface of an affine body.
pub(super) fn expand(
    body: AffineBody,
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
