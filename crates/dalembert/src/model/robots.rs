//! Robots inside a model: robots beside the other bodies, each with a stretch of [`State::robots`].
//!
//! ```text
//! state.robots = [ q | v | activation | control | tau | acceleration | force ] of the first, then of the next, …
//! ```
//!
//! A robot is stepped by itself with the scheme that belongs to the scene's method: nothing else pushes on it but what
//! a user writes into its controls and forces. Under `impulse` with contact it is solved with what it touches.

use std::ops::Range;

use super::Model;
use crate::bodies::articulated::description::{RobotBodyId, RobotDescription};
use crate::bodies::articulated::free_bodies::BodyPlace;
use crate::contact::Collide;
use crate::math::{Pose, Vec3};
use crate::robot::{Robot, RobotState, RobotWork};
use crate::state::State;

/// A robot of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedRobot {
    /// The name that the scene gave it.
    pub name: String,
    /// What it is: names, tree, kinematics and dynamics.
    pub robot: Robot,
    /// Its numbers in [`State::robots`].
    pub place: Range<usize>,
    /// As what its meshes collide.
    pub collide: Collide,
    /// Its description before trees of one free body became rigid bodies of the scene; `None` if it had none.
    pub whole: Option<Box<WholeRobot>>,
}

/// A description of which some trees became rigid bodies of the scene, called `ROBOT/BODY`.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeRobot {
    /// All bodies.
    pub robot: RobotDescription,
    /// For each of them, what it became.
    pub places: Vec<BodyPlace>,
    /// Names of the rigid bodies.
    pub names: Vec<String>,
}

macro_rules! slices {
    ($($(#[$doc:meta])* $name:ident, $name_mut:ident, $which:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name<'a>(&self, state: &'a State) -> &'a [f64] {
            &state.robots[self.stretch($which)]
        }

        $(#[$doc])*
        pub fn $name_mut<'a>(&self, state: &'a mut State) -> &'a mut [f64] {
            &mut state.robots[self.stretch($which)]
        }
    )*};
}

impl NamedRobot {
    /// All that its file describes, free bodies included.
    pub fn description(&self) -> &RobotDescription {
        self.whole.as_ref().map_or(&self.robot.description, |whole| &whole.robot)
    }

    /// What a body of [`Self::description`] became.
    pub fn body_place(&self, body: RobotBodyId) -> BodyPlace {
        self.whole.as_ref().map_or(BodyPlace::Robot(body), |whole| whole.places[body.0].clone())
    }

    /// Name of the rigid body whose frame is that of one of its free bodies.
    pub fn free_body(&self, body: &str) -> Option<&str> {
        let whole = self.whole.as_ref()?;
        match &whole.places[whole.robot.body(body)?.0] {
            BodyPlace::Free { free, pose } if *pose == Pose::identity() => Some(&whole.names[*free]),
            _ => None,
        }
    }

    /// Where the list number `which` of [`RobotState`] lies.
    fn stretch(&self, which: usize) -> Range<usize> {
        let lengths = self.robot.lengths();
        let first = self.place.start + lengths[..which].iter().sum::<usize>();
        first..first + lengths[which]
    }

    slices! {
        /// Coordinates of its joints; see [`Robot::joint`] for places by name.
        q, q_mut, 0;
        /// Velocities of its dofs.
        v, v_mut, 1;
        /// Activations of its actuators.
        activation, activation_mut, 2;
        /// Controls of its actuators; see [`Robot::actuator`].
        control, control_mut, 3;
        /// Forces on its dofs from outside \[N·m or N\], which act until they are set anew.
        tau, tau_mut, 4;
        /// Mean accelerations of the last step.
        acceleration, acceleration_mut, 5;
        /// Actuator forces of the last step \[N·m or N\].
        force, force_mut, 6;
    }

    /// A copy of its state.
    pub fn state(&self, state: &State) -> RobotState {
        let mut own = self.robot.blank();
        own.unpack(state.time, &state.robots[self.place.clone()]);
        own
    }

    /// Poses of all its bodies, the world first.
    pub fn poses(&self, state: &State, work: &mut RobotWork) -> Vec<Pose> {
        let tree = &self.robot.tree;
        tree.kinematics(self.q(state), &mut work.tree);
        let links = (0..tree.link_count()).map(|i| tree.link_pose(i, &work.tree));
        std::iter::once(Pose::identity()).chain(links).collect()
    }
}

impl Model {
    /// The robot with the given name.
    pub fn robot(&self, name: &str) -> Option<&NamedRobot> {
        self.robots.iter().find(|robot| robot.name == name)
    }

    /// Kinetic and potential energy of all robots \[J\].
    pub fn robot_energy(&self, state: &State) -> (f64, f64) {
        self.robots.iter().fold((0.0, 0.0), |sum, named| {
            let (k, p) = named.robot.energy(&named.state(state), &mut named.robot.work());
            (sum.0 + k, sum.1 + p)
        })
    }

    /// Momentum and angular momentum about the origin of all robots.
    pub(super) fn robot_momentum(&self, state: &State) -> (Vec3, Vec3) {
        self.robots.iter().fold((Vec3::zeros(), Vec3::zeros()), |sum, named| {
            let (P, L) = named.robot.momentum(&named.state(state), &mut named.robot.work());
            (sum.0 + P, sum.1 + L)
        })
    }
}
