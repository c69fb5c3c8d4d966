//! Robots inside a model: trees beside the other bodies, each with its places in the lists of [`State`].
//!
//! Coordinates and velocities are blocks at the end of q and v. A robot is stepped with the scheme that belongs to the scene's
//! method; under `impulse` with contact it is solved with what it touches.

use std::ops::Range;
use std::sync::Arc;

use super::Model;
use crate::bodies::articulated::description::{RobotBodyId, RobotDescription};
use crate::bodies::articulated::free_bodies::BodyPlace;
use crate::contact::Collide;
use crate::math::{Pose, Vec3};
use crate::robot::{Robot, RobotState, RobotWork};
use crate::state::{Block, BlockKind, Layout, State};

/// A robot of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedRobot {
    /// The name that the scene gave it.
    pub name: String,
    /// What it is: names, tree, kinematics and dynamics.
    pub robot: Arc<Robot>,
    /// Its numbers in the lists of [`State`].
    pub place: RobotPlace,
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

/// Where the numbers of a robot are in the lists of [`State`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RobotPlace {
    /// In q.
    pub q: Range<usize>,
    /// In v.
    pub v: Range<usize>,
    /// In the lists with a number for each dof of all robots: forces from outside and accelerations.
    pub dofs: Range<usize>,
    /// In the activations.
    pub activations: Range<usize>,
    /// In the controls and actuator forces.
    pub actuators: Range<usize>,
}

impl RobotPlace {
    /// The places of a robot that comes next in a layout, which grows by them; its points must be counted already.
    pub(crate) fn append(robot: &Robot, layout: &mut Layout) -> Self {
        let (nq, nv) = (robot.tree.coordinates(), robot.tree.freedoms());
        let take = |at: &mut usize, n: usize| {
            *at += n;
            *at - n..*at
        };
        let after = |range: Range<usize>, first: usize| range.start + first..range.end + first;
        let dofs = take(&mut layout.robot_v, nv);
        let q = take(&mut layout.robot_q, nq);
        Self {
            q: after(q, layout.robots_q()),
            v: after(dofs.clone(), layout.robots_v()),
            dofs,
            activations: take(&mut layout.activations, robot.activation_count()),
            actuators: take(&mut layout.actuators, robot.actuator_count()),
        }
    }
}

macro_rules! slices {
    ($($(#[$doc:meta])* $name:ident, $name_mut:ident, $list:ident, $range:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name<'a>(&self, state: &'a State) -> &'a [f64] {
            &state.$list[self.place.$range.clone()]
        }

        $(#[$doc])*
        pub fn $name_mut<'a>(&self, state: &'a mut State) -> &'a mut [f64] {
            &mut state.$list[self.place.$range.clone()]
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

    slices! {
        /// Coordinates of its joints; see [`Robot::joint`] for places by name.
        q, q_mut, q, q;
        /// Velocities of its dofs.
        v, v_mut, v, v;
        /// Activations of its actuators.
        activation, activation_mut, activation, activations;
        /// Controls of its actuators; see [`Robot::actuator`].
        control, control_mut, control, actuators;
        /// Forces on its dofs from outside \[N·m or N\], which act until they are set anew.
        tau, tau_mut, robot_force, dofs;
        /// Mean accelerations of the last step.
        acceleration, acceleration_mut, robot_acceleration, dofs;
        /// Actuator forces of the last step \[N·m or N\].
        force, force_mut, actuator_force, actuators;
    }

    /// Its block in q and v.
    pub(crate) fn block(&self, layout: &Layout) -> Block {
        let RobotPlace { q, v, .. } = self.place.clone();
        Block { name: self.name.clone(), kind: BlockKind::Robot, q, v, points: layout.points..layout.points }
    }

    /// A copy of its state.
    pub fn state(&self, state: &State) -> RobotState {
        let mut own = self.robot.blank();
        self.load(state, &mut own);
        own
    }

    /// Copies its numbers out of the state.
    pub(crate) fn load(&self, state: &State, own: &mut RobotState) {
        own.time = state.time;
        own.q.copy_from_slice(self.q(state));
        own.v.copy_from_slice(self.v(state));
        own.activation.copy_from_slice(self.activation(state));
        own.control.copy_from_slice(self.control(state));
        own.tau.copy_from_slice(self.tau(state));
        own.acceleration.copy_from_slice(self.acceleration(state));
        own.force.copy_from_slice(self.force(state));
    }

    /// Copies back what a step changes: all but controls, forces from outside and time.
    pub(crate) fn store(&self, own: &RobotState, state: &mut State) {
        self.q_mut(state).copy_from_slice(&own.q);
        self.v_mut(state).copy_from_slice(&own.v);
        self.activation_mut(state).copy_from_slice(&own.activation);
        self.acceleration_mut(state).copy_from_slice(&own.acceleration);
        self.force_mut(state).copy_from_slice(&own.force);
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
