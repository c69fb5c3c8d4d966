//! dalembert: mechanical systems of different kinds in one scene.
//!
//! **One idea.** Constraint forces do no virtual work: if a child moves with `v_child = J v_parent`, its forces reach
//! the parent as `f_parent = Jᵀ f_child`. Everything here is that sentence, said for points, bodies and joints.
//!
//! **Four nouns.** [`bodies`] own coordinates and inertia. [`mapping`]s carry points. [`forces`] act on points.
//! Constraints hold bodies together: [`joints`] by equations C(q) = 0 with forces Aᵀλ, [`filters`] by taking directions
//! away. A method in [`step`] is a short list of named moves over them.
//!
//! **The tour of one step**, `explicit` with symplectic Euler:
//!
//! ```text
//! mapping::carry_all   bodies → points                  x_c = X(q),  v_c = J v
//! forces               points → forces                  f = −∂W/∂x + dissipation
//! mapping::gather_all  forces on points → on bodies     f_p += Jᵀ f_c
//! bodies::solve_mass   forces → accelerations           a = M⁻¹ f
//! filters::apply       forbidden directions drop out    a ← C a
//! step                 kick, drift, time                v += h a,  x += h v,  t += h
//! ```
//!
//! With joints, `impulse` puts one move between: `step::system` solves for v⁺ and λ together, rows and bodies as one
//! saddle-point system ([`solve::kkt`]), and after the drift projects positions back onto C = 0. `lagrange` solves the
//! same system for accelerations at every stage of an integrator. `implicit` solves for the end of the step, and `ipc`
//! minimises over it with contact ([`collide`]), never letting anything intersect. Rigid shapes ([`collide::rigid`]) touch
//! under `impulse` (Coulomb's law per contact, [`contact`]) and `lagrange` (impacts in time, then complementarity). Robots
//! ([`bodies::articulated`], [`robot`]) have blocks of q and v in reduced coordinates: they respond to contacts under `impulse`,
//! and under `ipc` their dynamics, ours or another engine's, drives affine links ([`coupling`]).
//!
//! **Objects.** What a user writes is a [`scene::Scene`]. `build` checks it and returns a [`step::Simulation`]: a
//! [`model::Model`] (constant, shared), a [`state::State`] (everything that changes), a [`step::Workspace`] (buffers
//! that may vanish at any moment) and a [`step::Method`]. State vectors are flat arrays for the whole system:
//! [`state::Layout`] draws the map.
//!
//! **Where does a new thing go?** A force: a file in `forces/unary`, `forces/nary` or `forces/spatial`. A way to carry
//! points: `mapping/`. A joint: `joints/kind/`. Geometry of contact: `collide/`, of rigid shapes `collide/rigid/`. A way to let
//! another engine drive bodies: `coupling/`. A method: `step/`. Mathematics without physics: `solve/`. Each adds a line to
//! [`check::samples`], and the law tests find it there. The list below is also the direction of `use`: a module uses
//! those above it.
//!
//! SI units, radians, z up. Stiffness is K = −∂f/∂x, positive for a spring.
//!
//! ```
//! use dalembert::prelude::*;
//!
//! let mut scene = Scene { dt: 0.01, ..Scene::default() };
//! scene.add(ParticleSet::at("stone", [0.0, 0.0, 10.0]).velocity([1.0, 0.0, 0.0]));
//! let mut sim = scene.build()?;
//! sim.run(1.0)?;
//! println!("{:?} {:?}", sim.state.q, sim.energy());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![allow(non_snake_case)]

pub mod math;

pub mod describe;

pub mod solve;

pub mod mesh;

pub mod collide;

pub mod state;

pub mod filters;
pub mod joints;

pub mod bodies;
pub mod mapping;

pub mod forces;

pub mod robot;

pub mod coupling;

pub mod contact;

pub mod model;

pub mod step;

pub mod check;

pub mod scene;

/// What most users need, in one line.
pub mod prelude {
    pub use crate::bodies::{Coordinates, MassProperties, PendulumChain, Shape, TriangleMesh};
    pub use crate::contact::Collide;
    pub use crate::filters::Motion;
    pub use crate::forces::spatial::PairLaw;
    pub use crate::forces::unary::Attraction;
    pub use crate::forces::{Force, Points};
    pub use crate::joints::{Equations, JointKind, Softness, Track};
    pub use crate::math::{Mat3, Pose, Quat, Scalar, Signal, Vec3};
    pub use crate::model::{Model, Quantity};
    pub use crate::scene::{
        AffineBody, Anchors, AngularSpringSet, Arrangement, AttractorSet, Bead, BodyMass, ContactRule,
        CustomConstraint, CustomForce, DragSet, Edges, Expectation, Fix, Gear, GeneralizedBody, Ground,
        JointItem, MappedPoints, Masses, MotionSet, Motor, PairForce, ParticleSet, PushSet, Reach, RigidBody,
        RobotItem, Scene, SpringSet, Stiffness, Velocities,
    };
    pub use crate::state::{PointId, PointSet, State};
    pub use crate::step::{
        Explicit, Impacts, Implicit, Impulse, Integrator, Ipc, Lagrange, Method, RowSolver, Scheme,
        Simulation, StepError, StepReport, Workspace, worst_gap,
    };
}
