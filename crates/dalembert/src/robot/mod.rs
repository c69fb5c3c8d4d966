//! A robot that runs: its tree with actuators, tendons, loops, limits, dry friction and sensors.
//!
//! A [`Robot`] is built once from a [`RobotDescription`] and is constant; a [`RobotState`] holds q, v, activations and controls
//! as plain slices; [`RobotWork`] holds buffers. Forces are summed on the dofs, and what holds the robot beyond its
//! tree are rows of
//!
//! $$ A v^+ + r\lambda = c, \qquad \text{low} \le \lambda \le \text{high}, \qquad
//!    v^+ = v^* + h M^{-1}A^T\lambda, $$
//!
//! with v* the velocity without them. Eliminating v⁺ gives $(h A M^{-1}A^T + r)\lambda = c - A v^*$ with bounds, a small
//! dense system ([`solve_box_lcp`](crate::solve::box_lcp::solve_box_lcp)). Loops and couplings are hard (r = 0) and their
//! positions are projected onto C = 0 after the step; limits push one way; dry friction is a box; a servo on a tendon
//! is a row with r = 1/(h kp + kd) whose box is its force range. Book: "Robots".

mod actuators;
mod build;
mod contact;
mod control;
mod drag;
mod forces;
mod gyroscopic;
mod limits;
mod loops;
mod rows;
mod sensors;
mod step;
mod tendons;
mod unsupported_contact;

pub use build::RobotError;
pub(crate) use contact::BoundedRow;
pub use control::{Controller, Track};
pub use sensors::sensor_length;
pub use step::{RobotReport, RobotScheme, RobotStepError};
pub(crate) use unsupported_contact::contact_notes;

use crate::bodies::articulated::description::{
    ActuatorId, Keyframe, RobotBodyId, RobotDescription, RobotIntegrator, RobotJointId, RobotSiteId,
};
use crate::bodies::articulated::{JointPlace, Tree, TreeSquareMatrix, TreeWork};
use crate::math::{Mat3, Pose, Vec3};
use crate::solve::box_lcp::BoxLcpWork;
use actuators::Actuator;
use limits::Limit;
use loops::Loop;
use rows::RowSet;
use tendons::Tendon;

/// A frame on a link, or in the world.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkFrame {
    /// The link of the tree; none for the world.
    pub link: Option<usize>,
    /// The frame in the link's own (the world's).
    pub pose: Pose,
}

/// A robot ready to run: everything that does not change.
#[derive(Debug, Clone, PartialEq)]
pub struct Robot {
    /// What it was built from: names, shapes, keyframes.
    pub description: RobotDescription,
    /// Its tree, for kinematics and dynamics: body i of the robot is link i − 1.
    pub tree: Tree,
    /// What actuators the dofs besides the actuators, if anything.
    pub controller: Option<Controller>,
    /// What an implicit step takes at its end ([`RobotScheme::Implicit`]); `Discrete` unless set, also for `Rk4`.
    pub integrator: RobotIntegrator,
    /// What the description asks for and this robot does not do.
    pub notes: Vec<String>,
    /// Where each joint of the robot has its numbers; none for fixed ones.
    places: Vec<Option<JointPlace>>,
    sites: Vec<LinkFrame>,
    tendons: Vec<Tendon>,
    actuators: Vec<Actuator>,
    activations: usize,
    loops: Vec<Loop>,
    limits: Vec<Limit>,
    /// Dofs with dry friction and how much.
    dry: Vec<(usize, f64)>,
    /// Dofs whose sum of actuator forces is bounded.
    efforts: Vec<(usize, [f64; 2])>,
    /// First dofs of bodies by themselves.
    single_bodies: Vec<usize>,
    /// What the medium slows down.
    drag_boxes: Vec<drag::DragBox>,
}

/// Everything of a robot that changes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RobotState {
    /// Time \[s\].
    pub time: f64,
    /// Coordinates of the joints.
    pub q: Vec<f64>,
    /// Velocities of the dofs.
    pub v: Vec<f64>,
    /// Activations of the actuators that have one.
    pub activation: Vec<f64>,
    /// Controls of the actuators.
    pub control: Vec<f64>,
    /// Forces on the dofs from outside \[N·m or N\]: an input, which acts until it is set anew.
    pub tau: Vec<f64>,
    /// Mean acceleration of the last step, which sensors read.
    pub acceleration: Vec<f64>,
    /// Forces of the actuators in the last step \[N·m or N\].
    pub force: Vec<f64>,
}

impl RobotState {
    /// Becomes equal to another state without taking memory if it has enough.
    pub fn copy_from(&mut self, other: &Self) {
        self.time = other.time;
        self.q.clone_from(&other.q);
        self.v.clone_from(&other.v);
        self.activation.clone_from(&other.activation);
        self.control.clone_from(&other.control);
        self.tau.clone_from(&other.tau);
        self.acceleration.clone_from(&other.acceleration);
        self.force.clone_from(&other.force);
    }
}

/// Buffers of a robot. They may be dropped at any moment.
#[derive(Debug, Clone)]
pub struct RobotWork {
    /// Buffers of the tree, with the poses of the last call that made them.
    pub tree: TreeWork,
    tau: Vec<f64>,
    fixed_tau: Vec<f64>,
    dv: Vec<f64>,
    diagonal: Vec<f64>,
    v: Vec<f64>,
    q: Vec<f64>,
    u: Vec<f64>,
    v_sum: Vec<f64>,
    dv_sum: Vec<f64>,
    dense: Vec<f64>,
    other: Vec<f64>,
    saturation: Vec<i8>,
    rows: RowSet,
    Y: Vec<f64>,
    D: Vec<f64>,
    d: Vec<f64>,
    lambda: Vec<f64>,
    box_lcp: BoxLcpWork,
    before: RobotState,
    /// Derivatives of the bias, for `Implicit`.
    bias_derivatives: Option<Box<(TreeSquareMatrix, TreeSquareMatrix)>>,
    /// A second set for the midpoint rule.
    midpoint: Option<Box<(RobotWork, RobotState)>>,
}

impl RobotWork {
    /// Room for one state.
    pub fn new(robot: &Robot) -> Self {
        let (tree, nv) = (&robot.tree, robot.tree.freedoms());
        let o = || vec![0.0; nv];
        Self {
            tree: TreeWork::new(tree),
            tau: o(),
            fixed_tau: o(),
            dv: o(),
            diagonal: o(),
            v: o(),
            q: vec![0.0; tree.coordinates()],
            u: o(),
            v_sum: o(),
            dv_sum: o(),
            dense: o(),
            other: o(),
            saturation: vec![0; robot.actuators.len()],
            rows: RowSet::default(),
            Y: Vec::new(),
            D: Vec::new(),
            d: Vec::new(),
            lambda: Vec::new(),
            box_lcp: BoxLcpWork::default(),
            before: RobotState::default(),
            bias_derivatives: None,
            midpoint: None,
        }
    }
}

impl Robot {
    /// How many actuators it has.
    pub fn actuator_count(&self) -> usize {
        self.actuators.len()
    }

    /// How many of its actuators have an activation.
    pub fn activation_count(&self) -> usize {
        self.activations
    }

    /// The state of the first keyframe, or the reference configuration, at rest.
    pub fn start(&self) -> RobotState {
        let mut state = self.blank();
        if let Some(key) = self.description.keyframes.first() {
            self.take_keyframe(&mut state, key);
        }
        state
    }

    /// The reference configuration at rest, controls zero.
    pub fn blank(&self) -> RobotState {
        let nv = self.tree.freedoms();
        RobotState {
            time: 0.0,
            q: self.tree.neutral().to_vec(),
            v: vec![0.0; nv],
            activation: vec![0.0; self.activations],
            control: vec![0.0; self.actuators.len()],
            tau: vec![0.0; nv],
            acceleration: vec![0.0; nv],
            force: vec![0.0; self.actuators.len()],
        }
    }

    /// The keyframe called `name`.
    pub fn keyframe(&self, name: &str) -> Option<&Keyframe> {
        self.description.keyframes.iter().find(|key| key.name == name)
    }

    /// Takes over the numbers of a keyframe; lists of another length than the robot's are left.
    pub fn take_keyframe(&self, state: &mut RobotState, key: &Keyframe) {
        let take = |to: &mut Vec<f64>, from: &[f64]| {
            if to.len() == from.len() {
                to.copy_from_slice(from);
            }
        };
        take(&mut state.q, &key.positions);
        take(&mut state.v, &key.velocities);
        take(&mut state.activation, &key.activations);
        take(&mut state.control, &key.controls);
    }

    /// Where the numbers of a joint are, by its name; none for an unknown or fixed joint.
    pub fn joint(&self, name: &str) -> Option<&JointPlace> {
        self.joint_place(self.description.joint(name)?)
    }

    /// Where the numbers of a joint are; none for a fixed one.
    pub fn joint_place(&self, joint: RobotJointId) -> Option<&JointPlace> {
        self.places.get(joint.0)?.as_ref()
    }

    /// The link of the tree that a body is, by its name; none for the world and for unknown names.
    pub fn link(&self, name: &str) -> Option<usize> {
        self.description.body(name)?.0.checked_sub(1)
    }

    /// The actuator called `name`: its place in the controls.
    pub fn actuator(&self, name: &str) -> Option<ActuatorId> {
        self.description.actuators.iter().position(|a| a.name == name).map(ActuatorId)
    }

    /// The site called `name`.
    pub fn site(&self, name: &str) -> Option<LinkFrame> {
        let at = self.description.sites().position(|(_, site)| site.name == name)?;
        Some(self.sites[at])
    }

    /// The frame of a site.
    pub fn site_frame(&self, site: RobotSiteId) -> LinkFrame {
        self.sites[site.0]
    }

    /// The frame of a body.
    pub fn body_frame(&self, body: RobotBodyId) -> LinkFrame {
        LinkFrame { link: body.0.checked_sub(1), pose: Pose::identity() }
    }

    /// Place of a frame in the world \[m\]. After [`Tree::kinematics`].
    pub fn position(&self, frame: &LinkFrame, work: &TreeWork) -> Vec3 {
        match frame.link {
            None => frame.pose.position,
            Some(link) => {
                self.tree.link_position(link, work)
                    + self.tree.link_rotation(link, work) * frame.pose.position
            }
        }
    }

    /// Axes of a frame in the world. After [`Tree::kinematics`].
    pub fn rotation(&self, frame: &LinkFrame, work: &TreeWork) -> Mat3 {
        let own = crate::math::rotation::matrix(&frame.pose.rotation);
        frame.link.map_or(own, |link| self.tree.link_rotation(link, work) * own)
    }

    /// Energy: kinetic, and potential of gravity and of the springs of joints and tendons \[J\].
    pub fn energy(&self, state: &RobotState, work: &mut RobotWork) -> (f64, f64) {
        let kinetic = self.kinetic_energy(state, work);
        let (tree, w) = (&self.tree, &mut work.tree);
        let mut potential = tree.gravity_energy(w) + tree.spring_energy(&state.q);
        for tendon in self.tendons.iter().filter(|tendon| tendon.stiffness != 0.0) {
            work.dense.fill(0.0);
            let stretch = tendon.stretch(self.measure_tendon(tendon, &state.q, &work.tree, &mut work.dense));
            potential += 0.5 * tendon.stiffness * stretch * stretch;
        }
        (kinetic, potential)
    }

    /// Kinetic energy \[J\], without potential energy's cost.
    pub(crate) fn kinetic_energy(&self, state: &RobotState, work: &mut RobotWork) -> f64 {
        let (tree, w) = (&self.tree, &mut work.tree);
        tree.kinematics(&state.q, w);
        tree.velocities(&state.v, w);
        tree.kinetic_energy(&state.v, w)
    }

    /// Momentum \[kg·m/s\] and angular momentum about the world's origin \[kg·m²/s\] of all links.
    pub fn momentum(&self, state: &RobotState, work: &mut RobotWork) -> (Vec3, Vec3) {
        let (tree, w) = (&self.tree, &mut work.tree);
        tree.kinematics(&state.q, w);
        tree.velocities(&state.v, w);
        let (P, L) = tree.centroidal_momentum(w);
        if tree.total_mass() > 0.0 { (P, L + tree.center_of_mass(w).cross(&P)) } else { (P, Vec3::zeros()) }
    }

    /// Forces on the dofs under which the robot at (q, v) accelerates by `dv`: inverse dynamics, springs and dampers of
    /// joints and tendons and the drag of the medium included \[N·m or N\].
    pub fn inverse_dynamics(&self, q: &[f64], v: &[f64], dv: &[f64], work: &mut RobotWork, tau: &mut [f64]) {
        self.tree.kinematics(q, &mut work.tree);
        work.dv.fill(0.0);
        self.tree.add_passive_forces(q, v, &mut work.tree, &mut work.dv);
        let RobotWork { tree: w, dense, dv: passive, .. } = work;
        self.add_tendon_forces(q, v, w, dense, passive);
        let mut passive = std::mem::take(&mut work.dv);
        self.add_drag(v, work, &mut passive);
        work.dv = passive;
        self.tree.inverse_dynamics(v, Some(dv), &[], &mut work.tree, tau);
        for (tau, passive) in tau.iter_mut().zip(&work.dv) {
            *tau -= passive;
        }
    }

    /// Jacobian of a frame at q: three rows of its velocity, three of its angular velocity, each as long as v.
    pub fn jacobian(
        &self,
        q: &[f64],
        frame: &LinkFrame,
        work: &mut RobotWork,
        linear: &mut [f64],
        angular: &mut [f64],
    ) {
        self.tree.kinematics(q, &mut work.tree);
        match frame.link {
            None => {
                linear.fill(0.0);
                angular.fill(0.0);
            }
            Some(link) => {
                let x = self.position(frame, &work.tree);
                self.tree.point_jacobian(link, &x, &work.tree, linear, angular);
            }
        }
    }
}

#[cfg(test)]
mod tests;
