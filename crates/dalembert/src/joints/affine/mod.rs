//! Joints between affine bodies: [measures](Measure) of the blocks and their derivatives, the [rows](AffineEnds) of each
//! joint, and the [terms](AffineJoints) that act on coordinates: holds, limits, motors, dry friction, rotors.

mod ends;
mod measure;
mod terms;

pub use ends::{AffineEnds, AffineRows, HeldMeasure};
pub use measure::{BlockVector, Measure};
pub use terms::{AffineJoint, AffineJoints, JointCoordinate, JointTerm};
