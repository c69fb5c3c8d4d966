//! Rigid bodies.

use std::collections::BTreeMap;

use super::Scene;
use super::diagnostics::Diagnostics;
use super::keys::*;
use super::prescribed::PrescribedBody;
use super::shape::SHAPE;
use crate::bodies::{MassProperties, Rigid, Shape};
use crate::contact::Collide;
use crate::describe::short::*;
use crate::describe::{Field, Findings, Key, Kind, Rule, Table, View, Word, table};
use crate::joints::{Body, Prescribed};
use crate::math::rotation::{matrix, set_quaternion};
use crate::math::{Mat3, Pose, Quat, Vec3, set_triple};
use crate::mesh::Fineness;

/// How heavy a rigid body is.
#[derive(Debug, Clone, PartialEq)]
pub enum BodyMass {
    /// The shape filled with a density \[kg/m³\].
    Density(f64),
    /// The shape filled evenly with a mass \[kg\].
    Mass(f64),
    /// Given outright.
    Given {
        /// Mass \[kg\].
        mass: f64,
        /// Centre of mass in the body's frame \[m\].
        center: Vec3,
        /// Inertia about the centre of mass, body axes \[kg·m²\].
        inertia: Mat3,
    },
}

/// Keys of the mass of a rigid body.
const MASS: &[Field] = &[
    Field::optional("density", POSITIVE, "kg/m³", "Density of the shape."),
    Field::optional("mass", POSITIVE, "kg", "Mass."),
    Field::optional(
        "inertia",
        Kind::Either(&[Kind::VEC3, list(&Kind::VEC3, 3, 3)]),
        "kg·m²",
        "Inertia about the centre of mass: three moments, or three rows of the tensor in body axes.",
    ),
    Field::new("center", VEC3, ORIGIN, "m", "With `inertia`: centre of mass in the body's frame."),
    Field::optional(
        "axes",
        TURNS,
        "",
        "With three moments of `inertia`: orientation of the principal axes in the body, as `orientation`.",
    ),
];

impl Key for BodyMass {
    fn read(t: &View<'_>, _: &'static str, out: &mut Findings) -> Option<Self> {
        let mass = t.maybe_number("mass").unwrap_or_default();
        let tensor = t.gives("inertia");
        for key in ["center", "axes"] {
            if t.gives(key) && !tensor {
                out.error(t.key_span(key), format!("`{key}` has no meaning without `inertia`"));
            }
        }
        Some(match t.maybe_number("density") {
            Some(density) => Self::Density(density),
            None if tensor => Self::Given { mass, center: t.item("center")?, inertia: inertia(t, out)? },
            None => Self::Mass(mass),
        })
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::Density(1000.0)
    }
}

fn inertia(t: &View<'_>, out: &mut Findings) -> Option<Mat3> {
    let Some(moments) = t.item::<Vec3>("inertia") else {
        if t.has("axes") {
            out.error(t.key_span("axes"), "`axes` goes with three moments, not with a full tensor");
        }
        let rows = t.vec3s("inertia");
        return Some(Mat3::from_fn(|i, j| rows.get(i).map_or(0.0, |row| row[j])));
    };
    let moments = Mat3::from_diagonal(&moments);
    // Without a turn the zeros beside the diagonal stay zeros.
    if !t.has("axes") {
        return Some(moments);
    }
    let turn = matrix(&Quat::read(t, "axes", out)?);
    Some(turn * moments * turn.transpose())
}

// ------------------------------------------------------------------------- as what meshes collide

const WORDS: Kind = Kind::Word(&[
    Word::new("automatic", "The convex hull of what moves, the triangles of what stands still."),
    Word::new("hull", "Its convex hull: hollows are filled."),
    Word::new("surface", "Its triangles, hollows and all."),
    Word::new("decomposition", "Several convex hulls: hollows stay open, about."),
]);

const FINENESS: Table = Table::new(
    "decomposition",
    "How finely meshes are taken apart.",
    &[
        Field::new("parts", integer(1, 256), whole(16), "", "Most hulls per mesh."),
        Field::new(
            "tolerance",
            POSITIVE,
            number(0.005),
            "",
            "A part stays whole once the volume of its hull that is not its own is below this share of the hull of the mesh.",
        ),
    ],
);

/// Keys of [`Collide`].
pub(super) const COLLIDE: &[Field] = &[
    Field::new(
        "collide",
        WORDS,
        word("automatic"),
        "",
        "As what meshes collide under `impulse` and `lagrange`.",
    ),
    Field::optional(
        "decomposition",
        Kind::Table(const { &FINENESS }),
        "",
        "With `collide = \"decomposition\"`: how finely.",
    ),
];

impl Key for Collide {
    fn read(t: &View<'_>, _: &'static str, out: &mut Findings) -> Option<Self> {
        let fineness = t
            .table("decomposition")
            .and_then(|d| Some(Fineness { parts: d.item("parts")?, tolerance: d.number("tolerance") }));
        if fineness.is_some() && t.text("collide") != "decomposition" {
            let message = "`decomposition` has no meaning without `collide = \"decomposition\"`";
            out.error(t.key_span("decomposition"), message);
        }
        Some(match t.text("collide") {
            "hull" => Self::Hull,
            "surface" => Self::Surface,
            "decomposition" => Self::Parts(fineness.unwrap_or_default()),
            _ => Self::Automatic,
        })
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::Automatic
    }
}

table! {
    /// A rigid body. Its mass comes from a density, from a mass spread evenly over the shape, or from `mass` with
    /// `inertia`.
    #[derive(Debug, Clone, PartialEq)]
    pub struct RigidBody: "rigid" {
        /// Name, unique in the scene.
        name: String = &[NAME];
        /// Shape; if absent the body has no extent, and needs `inertia`.
        shape: Shape = OPTIONAL, Kind::Table(const { &SHAPE }), "";
        /// How heavy it is.
        mass: BodyMass = MASS;
        /// Where its frame stands.
        pose: Pose = &[POSITION, ORIENTATION];
        /// Velocity of its centre of mass, world axes.
        velocity: Vec3 = ORIGIN, VEC3, "m/s";
        /// Angular velocity, world axes.
        angular_velocity: Vec3 = ORIGIN, VEC3, "rad/s";
        /// As what meshes collide under `impulse` and `lagrange`.
        collide: Collide = COLLIDE;
    }
    rules [Rule::ExactlyOne(&["density", "mass"]), Rule::AtMostOne(&["density", "inertia"])]
}

impl RigidBody {
    /// A body of the given shape and water's density, at rest at the origin.
    pub fn new(name: impl Into<String>, shape: Shape) -> Self {
        Self { name: name.into(), shape, ..Self::default() }
    }

    /// Says as what a mesh collides under `impulse` and `lagrange`.
    pub fn collide(mut self, collide: Collide) -> Self {
        self.collide = collide;
        self
    }

    /// Sets the mass \[kg\], spread evenly over the shape.
    pub fn mass(mut self, mass: f64) -> Self {
        self.mass = BodyMass::Mass(mass);
        self
    }

    /// Sets mass \[kg\], centre of mass \[m\] and inertia about it \[kg·m²\], in the body's frame.
    pub fn inertia(mut self, mass: f64, center: Vec3, inertia: Mat3) -> Self {
        self.mass = BodyMass::Given { mass, center, inertia };
        self
    }

    /// Puts the body's frame at a place \[m\].
    pub fn at(mut self, position: [f64; 3]) -> Self {
        self.pose.position = position.into();
        self
    }

    /// Turns the body's frame.
    pub fn turned(mut self, rotation: Quat) -> Self {
        self.pose.rotation = rotation;
        self
    }

    /// Sets the velocity of the centre of mass, world axes \[m/s\].
    pub fn velocity(mut self, v: [f64; 3]) -> Self {
        self.velocity = v.into();
        self
    }

    /// Sets the angular velocity, world axes \[rad/s\].
    pub fn angular_velocity(mut self, w: [f64; 3]) -> Self {
        self.angular_velocity = w.into();
        self
    }
}

/// Rigid bodies, once known.
#[derive(Default)]
pub(super) struct Bodies {
    pub rigid: Rigid,
    pub shapes: Vec<Shape>,
    /// Pose and velocity of each, at the start.
    pub start: Vec<Body>,
    pub names: BTreeMap<String, u32>,
}

impl Bodies {
    /// What stays or has prescribed motion does so from the start.
    pub(super) fn prescribe(&mut self, prescribed: &[PrescribedBody]) {
        for one in prescribed {
            let start = &mut self.start[one.body as usize];
            let motion = one.motion.as_ref().map(|m| Prescribed::new(m.clone(), one.body, start));
            (start.v, start.w) = motion.map_or_else(Default::default, |motion| motion.velocity(0.0));
        }
    }
}

pub(super) fn rigid_bodies(scene: &Scene, notes: &mut Diagnostics) -> Bodies {
    let mut out = Bodies::default();
    for (k, body) in scene.rigid.iter().enumerate() {
        notes.at("rigid", k, &body.name);
        notes.finite3("position", &body.pose.position);
        notes.finite3("velocity", &body.velocity);
        notes.finite3("angular_velocity", &body.angular_velocity);
        if !body.pose.rotation.coords.iter().all(|x| x.is_finite()) {
            notes.error("orientation", "must be finite");
        }
        let Some(mass) = mass_of(body, notes) else { continue };
        let id = out.rigid.push(&mass);
        out.names.insert(body.name.clone(), id as u32);
        out.shapes.push(body.shape.clone());
        out.start.push(Body {
            x: body.pose.point(&mass.center),
            R: matrix(&body.pose.rotation),
            v: body.velocity,
            w: body.angular_velocity,
        });
    }
    out
}

fn mass_of(body: &RigidBody, notes: &mut Diagnostics) -> Option<MassProperties> {
    if let Err(e) = body.shape.validate() {
        notes.error("shape", e.to_string());
        return None;
    }
    let (key, made) = match &body.mass {
        BodyMass::Density(d) => ("density", MassProperties::from_density(&body.shape, *d)),
        BodyMass::Mass(m) => ("mass", MassProperties::from_mass(&body.shape, *m)),
        BodyMass::Given { mass, center, inertia } => {
            ("inertia", MassProperties::new(*mass, *center, *inertia))
        }
    };
    match made {
        Ok(mass) => Some(mass),
        Err(e) => {
            notes.error(key, e.to_string());
            None
        }
    }
}

/// Centre of mass and quaternion of a body.
pub(super) fn coordinates(b: &Body) -> [f64; 7] {
    let mut q = [0.0; 7];
    set_triple(&mut q, 0, &b.x);
    let turn = nalgebra::Rotation3::from_matrix_unchecked(b.R);
    set_quaternion(&mut q, 3, &Quat::from_rotation_matrix(&turn));
    q
}
