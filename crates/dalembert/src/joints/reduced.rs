//! Joints in reduced coordinates (Featherstone, Rigid Body Dynamics Algorithms, 2008, table 4.1): the pose of a link is a
//! product of motions, each with a motion subspace that is constant in its own frame.
//!
//! | motion | coordinates | velocities |
//! |---|---|---|
//! | turn about z | angle \[rad\] | rate |
//! | slide along z | shift \[m\] | rate |
//! | screw | angle \[rad\], with a shift of the lead \[m/rad\] times it along z | rate |
//! | ball | quaternion w, x, y, z | angular velocity in the moved axes |
//! | shift | x, y, z \[m\] | velocity |

use super::kind::JointKind;
use crate::math::rotation::set_quaternion;
use crate::math::{Pose, Quat};

/// An elementary motion, in the frame of its factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MotionSubspace {
    /// Turn about z.
    Turn,
    /// Slide along z.
    Slide,
    /// Turn about z with a slide by the lead \[m/rad\] times the angle.
    Screw(f64),
    /// Any turn, as a quaternion.
    Ball,
    /// Shift along x, y, z.
    Shift,
}

impl MotionSubspace {
    /// Number of velocities.
    pub const fn freedoms(self) -> usize {
        if matches!(self, Self::Ball | Self::Shift) { 3 } else { 1 }
    }

    /// Number of coordinates.
    pub const fn coordinates(self) -> usize {
        match self {
            Self::Ball => 4,
            Self::Shift => 3,
            _ => 1,
        }
    }

    /// True if it moves the origin of its frame.
    pub const fn shifts(self) -> bool {
        !matches!(self, Self::Turn | Self::Ball)
    }

    pub(super) const fn in_world(self) -> Factor {
        Factor { motion: self, frame: JointFrame::World }
    }

    pub(super) const fn at_anchor(self) -> Factor {
        Factor { motion: self, frame: JointFrame::Link }
    }

    pub(super) const fn along_axis(self) -> Factor {
        Factor { motion: self, frame: JointFrame::Axis }
    }

    pub(super) const fn along_second_axis(self) -> Factor {
        Factor { motion: self, frame: JointFrame::SecondAxis }
    }

    pub(super) const fn across_axis(self, k: usize) -> Factor {
        Factor { motion: self, frame: JointFrame::Across(k) }
    }
}

/// The axes of a motion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JointFrame {
    /// Those of the world: the coordinates are the pose itself, whatever came before.
    World,
    /// Those of the link.
    Link,
    /// z along the axis. The one coordinate along it is the joint's: it has the reference and the rest of the spring.
    Axis,
    /// z along axis 0 or 1 of the frame whose third is the axis.
    Across(usize),
    /// z along the second axis.
    SecondAxis,
}

/// One motion of a joint. Turns pass through its anchor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Factor {
    pub(crate) motion: MotionSubspace,
    pub(crate) frame: JointFrame,
}

impl Factor {
    /// Adds its coordinates in the pose as placed to q: the reference along the axis, no turn or shift otherwise.
    pub(crate) fn push_neutral(&self, reference: f64, placement: &Pose, q: &mut Vec<f64>) {
        match (self.motion, self.frame) {
            (MotionSubspace::Shift, _) => q.extend(placement.position.iter()),
            (MotionSubspace::Ball, frame) => {
                let world = frame == JointFrame::World;
                let at = q.len();
                q.resize(at + 4, 0.0);
                set_quaternion(q, at, &if world { placement.rotation } else { Quat::identity() });
            }
            (_, JointFrame::Axis) => q.push(reference),
            _ => q.push(0.0),
        }
    }
}

impl JointKind {
    /// Its motions, in order; none if it can be no joint of a robot.
    pub(crate) fn factors(&self) -> &'static [Factor] {
        self.info().reduced.unwrap_or_default()
    }

    /// How many numbers its position has in reduced coordinates.
    pub fn position_count(&self) -> usize {
        self.factors().iter().map(|factor| factor.motion.coordinates()).sum()
    }

    /// How many numbers its velocity has in reduced coordinates: its freedoms.
    pub fn velocity_count(&self) -> usize {
        self.factors().iter().map(|factor| factor.motion.freedoms()).sum()
    }

    /// How many of its velocities are shifts \[m/s\]; they come first.
    pub fn shift_count(&self) -> usize {
        let shifts = |motion| matches!(motion, MotionSubspace::Slide | MotionSubspace::Shift);
        let all = self.factors().iter().map(|factor| factor.motion);
        all.filter(|motion| shifts(*motion)).map(MotionSubspace::freedoms).sum()
    }

    /// True for a hinge, slider or screw in reduced coordinates: one number, which limits and motors act on.
    pub fn has_one_coordinate(&self) -> bool {
        matches!(self.factors(), [factor] if factor.motion.coordinates() == 1)
    }
}
