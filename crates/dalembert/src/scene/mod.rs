//! Scenes: what a user writes, and `build`, which validates and compiles it.
//!
//! A [`Scene`] is plain data with public fields; scene files have the same names. [`Scene::build`] looks at
//! everything, collects every mistake that it finds with the place it was made at, and otherwise returns a
//! [`Simulation`].
//!
//! ```
//! use dalembert::prelude::*;
//!
//! let mut scene = Scene { title: "A ball on a spring".into(), dt: 1e-3, ..Scene::default() };
//! scene.add(ParticleSet::at("hook", [0.0, 0.0, 1.0]));
//! scene.add(ParticleSet::at("ball", [0.2, 0.0, 0.5]).mass(0.5));
//! scene.add(SpringSet::between("band", "hook", "ball").stiffness(50.0).damping(0.1));
//! scene.add(Fix::points("hook"));
//! let mut sim = scene.build()?;
//! sim.run(2.0)?;
//! let z = Quantity::parse(&sim.model, "ball.z")?.value(&sim.model, &sim.state);
//! assert!(z < 0.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod affine;
mod arrange;
mod attractor;
mod bead;
mod build;
mod build_affine_joints;
mod build_contact;
mod build_coupling;
mod build_free_bodies;
mod build_mechanism;
mod build_robot;
mod build_touch;
mod build_touch_robot;
mod buoyancy;
mod cloth;
mod contact;
mod custom;
mod diagnostics;
mod drag;
mod error;
mod expanded;
mod expect;
mod filters;
mod fix;
mod forces;
mod generalized;
mod geom_shape;
mod joint;
mod keys;
mod layout;
mod method;
mod motion;
mod names;
mod obstacle;
mod pair_force;
mod particles;
mod points;
mod prescribed;
mod pressure;
mod push;
mod rigid;
mod robot_item;
mod rod;
mod sanity;
mod shape;
mod soft;
mod springs;
mod unused;
pub use crate::bodies::articulated::description;

pub use affine::AffineBody;
pub use arrange::{Arrangement, Edges};
pub use attractor::AttractorSet;
pub use bead::Bead;
pub use build_coupling::{ArticulationItem, ArticulationJoint};
pub use buoyancy::Buoyancy;
pub use cloth::{Bending, Cloth, Membrane, Sheet};
pub use contact::{ContactRule, Ground};
pub use custom::{CustomConstraint, CustomForce, MakeConstraint};
pub use drag::DragSet;
pub use error::{BuildError, Culprits, Place, SceneError, Warning};
pub use expect::Expectation;
pub use fix::Fix;
pub use generalized::{AnyPointMap, GeneralizedBody};
pub use joint::{Anchors, Gear, JointItem, Motor, Stiffness};
pub use motion::MotionSet;
pub use obstacle::ObstacleItem;
pub use pair_force::{PairForce, Reach};
pub use particles::{Masses, ParticleSet, Velocities};
pub use points::MappedPoints;
pub use pressure::PressureItem;
pub use push::PushSet;
pub use rigid::{BodyMass, RigidBody};
pub use robot_item::{Drive, RobotItem};
pub use rod::Rod;
pub use soft::{Elements, SoftBody, Solid};
pub use springs::{AngularSpringSet, SpringSet};

use crate::describe::short::*;
use crate::describe::{
    Element, Field, Findings, Key, Kind, Literal, Need, Table, TableKey, View, fields, text,
};
use crate::math::Vec3;
use crate::step::{Method, Simulation};
use forces::MakeForce;

/// Most points that a scene may have; more would need gigabytes before the first step.
pub const MOST_POINTS: usize = 16_000_000;

/// Anything that [`Scene::add`] takes.
pub trait SceneItem {
    /// Adds it.
    fn add_to(self, scene: &mut Scene);
}

/// The key that the loader takes out of a file.
pub const INCLUDE: Field = Field::optional(
    "include",
    Kind::SELECTION,
    "",
    "Other scene files to add, with paths relative to this file. Their lists of tables are appended to those of this file; any other key of this file replaces theirs.",
);

/// Keys of the scene that are no lists of tables.
const SETTINGS: &[Field] = fields![
    &[
        Field::new("title", Kind::Text, word(""), "", "Title, for people."),
        Field::new("description", Kind::Text, word(""), "", "A sentence or two, for people."),
        INCLUDE,
        Field::new("method", method::METHODS, word("explicit"), "", "How time advances."),
        Field::new("dt", POSITIVE, number(1e-3), "s", "Step size."),
        Field::new("duration", NOT_NEGATIVE, number(1.0), "s", "How long the scene runs."),
        Field::new(
            "gravity",
            VEC3,
            Need::Default(Literal::Numbers(&[0.0, 0.0, -9.81])),
            "m/s²",
            "Acceleration of free fall.",
        ),
        Field::new("seed", Kind::COUNT, whole(0), "", "Seed of everything random."),
        Field::new("assemble", BOOL, FALSE, "", "Pull bodies together at the start where exact joints gape."),
    ],
    method::SETTINGS,
];

/// Declares the lists of a scene: those that files have as lists of tables, in the order of the reference, and those that are
/// written in Rust alone. `forces` are those that make forces, in the order in which they are summed.
macro_rules! scene {
    (
        tables { $($(#[doc = $doc:literal])+ $list:ident: $Item:ty;)+ }
        rust { $($(#[doc = $own_doc:literal])+ $own:ident: $Own:ty;)+ }
        forces [$($force:ident),+]
    ) => {
        /// What a user wrote.
        #[derive(Debug)]
        pub struct Scene {
            /// Title, for people.
            pub title: String,
            /// A sentence or two, for people.
            pub description: String,
            /// How time advances.
            pub method: Method,
            /// Step size h \[s\], > 0.
            pub dt: f64,
            /// How long the program runs it \[s\], ≥ 0.
            pub duration: f64,
            /// Gravity \[m/s²\].
            pub gravity: Vec3,
            /// Seed of everything random in the scene.
            pub seed: u64,
            /// Pull bodies together at the start where exact joints gape.
            pub assemble: bool,
            $($(#[doc = $doc])+ pub $list: Vec<$Item>,)+
            $($(#[doc = $own_doc])+ pub $own: Vec<$Own>,)+
        }

        /// A scene file.
        pub static ROOT: Table = Table::new(
            "scene",
            "A scene: SI units, radians, z up. All keys are optional except that there must be particles or bodies.",
            fields![SETTINGS, &[$(
                Field::optional(
                    stringify!($list),
                    Kind::Tables(const { &<$Item as TableKey>::TABLE }),
                    "",
                    text(concat!($($doc),+)),
                ),
            )+]],
        );

        impl Default for Scene {
            fn default() -> Self {
                Self {
                    title: String::new(),
                    description: String::new(),
                    method: Method::default(),
                    dt: Key::preset(&ROOT, "dt"),
                    duration: Key::preset(&ROOT, "duration"),
                    gravity: Key::preset(&ROOT, "gravity"),
                    seed: Key::preset(&ROOT, "seed"),
                    assemble: Key::preset(&ROOT, "assemble"),
                    $($list: Vec::new(),)+
                    $($own: Vec::new(),)+
                }
            }
        }

        impl Scene {
            /// The scene of a checked file, and every method with the settings that the file gives it.
            pub fn from_file(root: &View<'_>, out: &mut Findings) -> (Self, Vec<Method>) {
                let methods = method::methods(root, out);
                let chosen = methods.iter().find(|m| m.name() == root.text("method"));
                let scene = Self {
                    title: root.text("title").to_owned(),
                    description: root.text("description").to_owned(),
                    method: chosen.cloned().unwrap_or_default(),
                    dt: root.number("dt"),
                    duration: root.number("duration"),
                    gravity: root.vec3("gravity").into(),
                    seed: root.integer("seed").unsigned_abs(),
                    assemble: root.bool("assemble"),
                    $($list: <$Item as Element>::all(root, stringify!($list), out),)+
                    $($own: Vec::new(),)+
                };
                (scene, methods)
            }
        }

        impl Scene {
            /// Shows all tables that make forces, in the order in which forces are summed: list, entry, table.
            fn each_force(&self, visit: &mut dyn FnMut(&'static str, usize, &dyn MakeForce)) {
                $(
                    for (k, set) in self.$force.iter().enumerate() {
                        visit(stringify!($force), k, set);
                    }
                )+
            }
        }

        $(impl SceneItem for $Item {
            fn add_to(self, scene: &mut Scene) {
                scene.$list.push(self);
            }
        })+
        $(impl SceneItem for $Own {
            fn add_to(self, scene: &mut Scene) {
                scene.$own.push(self);
            }
        })+
    };
}

scene! {
    tables {
        /// Rigid bodies.
        rigid: RigidBody;
        /// Joints.
        joint: JointItem;
        /// Couplers between joints.
        gear: Gear;
        /// Beads on curves and surfaces.
        bead: Bead;
        /// Bodies with generalized coordinates.
        generalized: GeneralizedBody;
        /// Articulated robots.
        robot: RobotItem;
        /// Soft solids.
        soft: SoftBody;
        /// Cloth and shells.
        cloth: Cloth;
        /// Rods.
        rod: Rod;
        /// Affine bodies.
        affine: AffineBody;
        /// Sets of particles.
        particles: ParticleSet;
        /// Points carried by other points.
        points: MappedPoints;
        /// Springs.
        springs: SpringSet;
        /// Angular springs.
        angular_springs: AngularSpringSet;
        /// Drag.
        drag: DragSet;
        /// Given forces.
        push: PushSet;
        /// Fixed centres of attraction.
        attractor: AttractorSet;
        /// Fixed things that push points away.
        obstacle: ObstacleItem;
        /// Pressure inside closed surfaces.
        pressure: PressureItem;
        /// Forces between points.
        pair_force: PairForce;
        /// Still water.
        buoyancy: Buoyancy;
        /// Solid half-spaces.
        ground: Ground;
        /// Friction and exceptions of contact.
        contact: ContactRule;
        /// Directions that may not move.
        fix: Fix;
        /// Prescribed motion.
        motion: MotionSet;
        /// What must be true when the scene has run.
        expect: Expectation;
    }
    rust {
        /// Constraints that the user wrote in Rust.
        constraint: CustomConstraint;
        /// Forces that the user wrote in Rust.
        custom: CustomForce;
        /// Bodies whose joint-space dynamics are computed elsewhere, for the method `ipc`.
        articulation: ArticulationItem;
    }
    forces [attractor, obstacle, pressure, push, drag, springs, angular_springs, pair_force, buoyancy]
}

impl Scene {
    /// An empty scene with the defaults: z up, gravity (0, 0, −9.81) m/s², h = 1 ms.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds anything that a scene can hold.
    pub fn add(&mut self, item: impl SceneItem) -> &mut Self {
        item.add_to(self);
        self
    }

    /// Validates and compiles; on failure tells every mistake it found.
    pub fn build(self) -> Result<Simulation, BuildError> {
        build::build(self)
    }
}
