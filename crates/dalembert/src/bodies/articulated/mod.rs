//! Articulated robots in reduced coordinates: $M(q)\,\dot v + b(q, v) = \tau$, with q the joint positions alone.
//!
//! A [`Tree`] is built once from a list of [`Link`]s and is constant; [`TreeWork`] holds the buffers. Sweeps over the
//! tree give everything else: poses and Jacobians ([`kinematics`]), inverse dynamics ([`rnea`]), the mass matrix and
//! its factor ([`crba`], [`branch`]), forward dynamics ([`aba`]) and motion in time ([`integrate`]).

pub mod aba;
pub mod batch;
pub mod branch;
mod chain;
pub mod crba;
pub mod derivatives;
mod fours;
pub mod free_bodies;
mod from_robot;
mod groups;
pub mod integrate;
pub mod kinematics;
pub mod machine;
pub mod rnea;
pub mod robot;
mod small;
pub mod step;
pub mod tree;
mod work;

pub use batch::TreeBatch;
pub use branch::{BranchMatrix, BranchSquare};
pub(crate) use chain::{Half, Hop, Pull, half_product};
pub use from_robot::RobotTreeError;
pub(crate) use groups::Trees;
pub use kinematics::PointMotion;
pub use machine::{Machine, MachineError, MachineScheme, MachineState, MachineWork};
pub use step::{Scheme, TreeStepReport};
pub use tree::{ForwardDynamics, Joint, JointPlace, Link, Tree, TreeError, aligned_frame};
pub use work::{TreeWork, Wrench};

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
