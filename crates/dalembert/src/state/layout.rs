//! Where each body lives in the flat state vectors.
//!
//! One vector q of coordinates and one vector v of velocities hold the whole system. Order: bodies with
//! coordinates of their own that are not points, then particles, then mapped points, then the trees of robots:
//!
//! ```text
//!        free degrees of freedom                mapped             reduced
//! q = [ rigid 7r | generalized | particles 3n ] [ mapped points 3p ] [ robots ]
//! v = [ rigid 6r | generalized | particles 3n ] [ mapped points 3p ] [ robots ]
//!                                └──────────── points ────────────┘
//! ```
//!
//! So the free part is a prefix (what a solver iterates on), the points are one range (what forces act on), and a particle
//! needs no copying to be a point. A robot has the coordinates and velocities of its tree; each method steps robots in a
//! phase of their own.

use std::ops::Range;

/// Sizes and offsets of the flat state vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout {
    /// Free coordinates: length of the prefix of q that a method integrates.
    pub nq: usize,
    /// Free velocities: length of the prefix of v that a method solves for.
    pub nv: usize,
    /// Number of rigid bodies; they come first, 7 coordinates and 6 velocities each.
    pub rigid: usize,
    /// Number of particles.
    pub particles: usize,
    /// Number of points: particles, then mapped points.
    pub points: usize,
    /// Number of constraints.
    pub constraints: usize,
    /// Number of joint coordinates that need a memory.
    pub turns: usize,
    /// Number of joints (a joint may have several constraints: its own, limits, motors).
    pub joints: usize,
    /// Coordinates of all robots, at the end of q.
    pub robot_q: usize,
    /// Velocities of all robots, at the end of v.
    pub robot_v: usize,
    /// Activations of the actuators of all robots.
    pub activations: usize,
    /// Actuators of all robots.
    pub actuators: usize,
    /// True if a saved state holds the step before as well, for a method that looks back.
    pub looks_back: bool,
}

impl Layout {
    /// Position of the first point's coordinates in q.
    pub fn points_q(&self) -> usize {
        self.nq - 3 * self.particles
    }

    /// Position of the first point's velocity in v (and of its force in f).
    pub fn points_v(&self) -> usize {
        self.nv - 3 * self.particles
    }

    /// Position of the first robot's coordinates in q: the end of the points.
    pub fn robots_q(&self) -> usize {
        self.points_q() + 3 * self.points
    }

    /// Position of the first robot's velocities in v: the end of the points.
    pub fn robots_v(&self) -> usize {
        self.points_v() + 3 * self.points
    }

    /// How many numbers robots have besides q and v: activations, controls, forces from outside, accelerations and actuator
    /// forces.
    pub fn robot_lists(&self) -> usize {
        self.activations + 2 * self.actuators + 2 * self.robot_v
    }

    /// Length of q.
    pub fn len_q(&self) -> usize {
        self.robots_q() + self.robot_q
    }

    /// Length of v, and of every force vector.
    pub fn len_v(&self) -> usize {
        self.robots_v() + self.robot_v
    }
}

/// What a block of the state vectors is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// A rigid body: centre of mass and quaternion (w, x, y, z); velocity and angular velocity in world axes.
    Rigid,
    /// Generalized coordinates u.
    Generalized,
    /// Free particles, three coordinates each.
    Particles,
    /// An affine body: the place of its centre of mass and the three columns of its deformation.
    Affine,
    /// Markers beside the edges of a rod, which show its twist: places, but none of the rod.
    Markers,
    /// Points carried by other points through a mapping.
    Mapped,
    /// A robot: the coordinates of its tree.
    Robot,
}

impl BlockKind {
    /// Numbers that belong together in v: three of a point, one of a robot's dof.
    pub(crate) fn numbers(self) -> usize {
        if self == Self::Robot { 1 } else { 3 }
    }
}

/// A named piece of the state vectors: one body, or one set of points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The name that the scene gave it.
    pub name: String,
    /// What lives there.
    pub kind: BlockKind,
    /// Its coordinates in q.
    pub q: Range<usize>,
    /// Its velocities in v.
    pub v: Range<usize>,
    /// Its points, counted over all points of the model.
    pub points: Range<usize>,
}
