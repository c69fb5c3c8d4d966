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

mod arrange;
mod build;
mod build_affine_joints;
mod build_contact;
mod build_coupling;
mod build_deformable;
mod build_free_bodies;
mod build_mechanism;
mod build_robot;
mod build_rod;
mod build_told;
mod build_touch;
mod build_touch_robot;
mod contact;
mod deformable;
mod error;
mod geom_shape;
mod items;
mod mechanism;
mod sanity;
mod unused;
pub use crate::bodies::articulated::description;

pub use arrange::{Arrangement, Edges};
pub use build_coupling::{ArticulationItem, ArticulationJoint};
pub use contact::{ContactRule, Ground};
pub use deformable::{
    AffineBody, Bending, Cloth, Elements, Membrane, ObstacleItem, PressureItem, Rod, Sheet, SoftBody, Solid,
};
pub use error::{BuildError, Culprits, Place, SceneError, Warning};
pub use items::{
    AngularSpringSet, AttractorSet, CustomForce, DragSet, Expectation, Fix, Item, MappedPoints, Masses,
    MotionSet, PairForce, ParticleSet, PushSet, Reach, SpringSet, Velocities,
};

pub use build_robot::{Drive, RobotItem};
pub use mechanism::{
    Anchors, Bead, BodyMass, CustomConstraint, Gear, GeneralizedBody, JointItem, MakeConstraint, Motor,
    RigidBody, Stiffness,
};

use crate::math::Vec3;
use crate::step::{Method, Simulation};

/// Most points that a scene may have; more would need gigabytes before the first step.
pub const MOST_POINTS: usize = 16_000_000;

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
    /// Rigid bodies.
    pub rigid: Vec<RigidBody>,
    /// Joints.
    pub joint: Vec<JointItem>,
    /// Couplers between joints.
    pub gear: Vec<Gear>,
    /// Beads on curves and surfaces.
    pub bead: Vec<Bead>,
    /// Constraints that the user wrote in Rust.
    pub constraint: Vec<CustomConstraint>,
    /// Bodies with generalized coordinates.
    pub generalized: Vec<GeneralizedBody>,
    /// Articulated robots.
    pub robot: Vec<RobotItem>,
    /// Soft solids.
    pub soft: Vec<SoftBody>,
    /// Cloth and shells.
    pub cloth: Vec<Cloth>,
    /// Rods.
    pub rod: Vec<Rod>,
    /// Affine bodies.
    pub affine: Vec<AffineBody>,
    /// Sets of particles.
    pub particles: Vec<ParticleSet>,
    /// Points carried by other points.
    pub points: Vec<MappedPoints>,
    /// Springs.
    pub springs: Vec<SpringSet>,
    /// Angular springs.
    pub angular_springs: Vec<AngularSpringSet>,
    /// Drag.
    pub drag: Vec<DragSet>,
    /// Given forces.
    pub push: Vec<PushSet>,
    /// Fixed centres of attraction.
    pub attractor: Vec<AttractorSet>,
    /// Fixed things that push points away.
    pub obstacle: Vec<ObstacleItem>,
    /// Pressure inside closed surfaces.
    pub pressure: Vec<PressureItem>,
    /// Forces between near or all points.
    pub pair_force: Vec<PairForce>,
    /// Forces that the user wrote in Rust.
    pub custom: Vec<CustomForce>,
    /// Solid half-spaces, for the methods `ipc` and `impulse`.
    pub ground: Vec<Ground>,
    /// Friction and exceptions of contact, for the methods `ipc` and `impulse`.
    pub contact: Vec<ContactRule>,
    /// Bodies whose joint-space dynamics are computed elsewhere, for the method `ipc`.
    pub articulation: Vec<ArticulationItem>,
    /// Directions that may not move.
    pub fix: Vec<Fix>,
    /// Prescribed motion.
    pub motion: Vec<MotionSet>,
    /// What must be true when the scene has run.
    pub expect: Vec<Expectation>,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            title: String::new(),
            description: String::new(),
            method: Method::default(),
            dt: 1e-3,
            duration: 1.0,
            gravity: Vec3::new(0.0, 0.0, -9.81),
            seed: 0,
            assemble: false,
            rigid: Vec::new(),
            joint: Vec::new(),
            gear: Vec::new(),
            bead: Vec::new(),
            constraint: Vec::new(),
            generalized: Vec::new(),
            robot: Vec::new(),
            soft: Vec::new(),
            cloth: Vec::new(),
            rod: Vec::new(),
            affine: Vec::new(),
            particles: Vec::new(),
            points: Vec::new(),
            springs: Vec::new(),
            angular_springs: Vec::new(),
            drag: Vec::new(),
            push: Vec::new(),
            attractor: Vec::new(),
            obstacle: Vec::new(),
            pressure: Vec::new(),
            pair_force: Vec::new(),
            custom: Vec::new(),
            ground: Vec::new(),
            contact: Vec::new(),
            articulation: Vec::new(),
            fix: Vec::new(),
            motion: Vec::new(),
            expect: Vec::new(),
        }
    }
}

impl Scene {
    /// An empty scene with the defaults: z up, gravity (0, 0, −9.81) m/s², h = 1 ms.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds anything that a scene can hold.
    pub fn add(&mut self, item: impl Into<Item>) -> &mut Self {
        match item.into() {
            Item::Rigid(x) => self.rigid.push(x),
            Item::Joint(x) => self.joint.push(x),
            Item::Gear(x) => self.gear.push(x),
            Item::Bead(x) => self.bead.push(x),
            Item::Constraint(x) => self.constraint.push(x),
            Item::Generalized(x) => self.generalized.push(x),
            Item::Robot(x) => self.robot.push(*x),
            Item::Soft(x) => self.soft.push(x),
            Item::Cloth(x) => self.cloth.push(x),
            Item::Rod(x) => self.rod.push(x),
            Item::Pressure(x) => self.pressure.push(x),
            Item::Obstacle(x) => self.obstacle.push(x),
            Item::Affine(x) => self.affine.push(x),
            Item::Particles(x) => self.particles.push(x),
            Item::Points(x) => self.points.push(x),
            Item::Springs(x) => self.springs.push(x),
            Item::AngularSprings(x) => self.angular_springs.push(x),
            Item::Drag(x) => self.drag.push(x),
            Item::Push(x) => self.push.push(x),
            Item::Attractor(x) => self.attractor.push(x),
            Item::PairForce(x) => self.pair_force.push(x),
            Item::Custom(x) => self.custom.push(x),
            Item::Ground(x) => self.ground.push(x),
            Item::Articulation(x) => self.articulation.push(x),
            Item::Contact(x) => self.contact.push(x),
            Item::Fix(x) => self.fix.push(x),
            Item::Motion(x) => self.motion.push(x),
            Item::Expect(x) => self.expect.push(x),
        }
        self
    }

    /// Validates and compiles; on failure tells every mistake it found.
    pub fn build(self) -> Result<Simulation, BuildError> {
        build::build(self)
    }
}
