//! Articulated bodies in reduced coordinates: $M(q)\,\dot v + b(q, v) = \tau$, with q the joint positions alone.
//!
//! A [`Tree`] is built once from a list of [`Link`]s and is constant; [`TreeWork`] holds the buffers. Sweeps over the
//! tree give everything else: poses and Jacobians ([`kinematics`]), inverse dynamics ([`rnea`]), the mass matrix and
//! its factor ([`crba`], [`ltdl`]), forward dynamics ([`aba`]) and motion in time ([`integrate`]). What files say of a
//! robot is a [`description::RobotDescription`]; what drives and holds a tree stands in [`robot`](crate::robot).

pub mod aba;
mod aba_simd;
pub mod batch;
pub mod crba;
pub mod derivatives;
pub mod description;
mod fixed_size;
pub mod free_bodies;
mod from_description;
mod groups;
pub mod integrate;
pub mod kinematics;
pub mod links;
pub mod ltdl;
mod path;
pub mod rnea;
pub mod step;
pub mod tree;
mod work;

pub use batch::TreeBatch;
pub use from_description::RobotTreeError;
pub(crate) use groups::TreeRange;
pub use kinematics::PointMotion;
pub use links::{Joint, Link, TreeError};
pub use ltdl::{TreeMatrix, TreeSquareMatrix};
pub(crate) use path::{Acceleration, HalfRow, PathDof, half_product};
pub use step::{Scheme, TreeStepReport};
pub use tree::{ForwardDynamics, JointPlace, Tree, aligned_frame};
pub use work::{TreeWork, Wrench};

#[cfg(test)]
mod motion_tests;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
