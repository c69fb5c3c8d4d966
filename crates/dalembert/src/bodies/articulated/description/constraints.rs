//! What holds a robot beyond its tree, and which of its geoms may touch.

use super::{ContactSoftness, RobotBodyId, RobotGeomId, RobotJointId, RobotSiteId, TendonId};
use crate::math::{Pose, Vec3};

/// A constraint beyond the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Equality {
    /// Name, unique among equalities, or empty.
    pub name: String,
    /// What is held.
    pub kind: EqualityKind,
    /// Whether it holds from the start.
    pub active: bool,
    /// How soft it is.
    pub softness: ContactSoftness,
}

/// What an equality holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EqualityKind {
    /// Two bodies share a point: a ball joint.
    Connect {
        /// The bodies; the world is 0.
        bodies: [RobotBodyId; 2],
        /// The point, in the frame of the first body \[m\]. On the second it lies where it is in the reference
        /// configuration.
        anchor: Vec3,
    },
    /// Two sites share their origins.
    ConnectSites {
        /// The sites.
        sites: [RobotSiteId; 2],
    },
    /// Two bodies are welded.
    Weld {
        /// The bodies; the world is 0.
        bodies: [RobotBodyId; 2],
        /// Point in the frame of the second body where the weld is measured \[m\].
        anchor: Vec3,
        /// Pose of the second body in the first; `None`: that of the reference configuration.
        relative: Option<Pose>,
        /// Weight of torques against forces \[m\].
        torque_scale: f64,
    },
    /// Two sites share their frames.
    WeldSites {
        /// The sites.
        sites: [RobotSiteId; 2],
        /// Weight of torques against forces \[m\].
        torque_scale: f64,
    },
    /// y = c₀ + c₁ x + … + c₄ x⁴ for hinges or slides, both measured from their references; without x: y = c₀.
    Joints {
        /// y.
        joint: RobotJointId,
        /// x.
        other: Option<RobotJointId>,
        /// c.
        polynomial: [f64; 5],
    },
    /// The same for the lengths of tendons.
    Tendons {
        /// y.
        tendon: TendonId,
        /// x.
        other: Option<TendonId>,
        /// c.
        polynomial: [f64; 5],
    },
}

/// position of `joint` = multiplier · position of `of` + offset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mimic {
    /// The joint that follows.
    pub joint: RobotJointId,
    /// The joint that leads.
    pub of: RobotJointId,
    /// Factor.
    pub multiplier: f64,
    /// \[rad or m\]
    pub offset: f64,
}

/// Two bodies that never touch.
#[derive(Debug, Clone, PartialEq)]
pub struct ContactExclude {
    /// Name, or empty.
    pub name: String,
    /// The bodies.
    pub bodies: [RobotBodyId; 2],
}

/// Two geoms that may touch, whatever their masks say, with parameters of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct ContactPair {
    /// Name, or empty.
    pub name: String,
    /// The geoms.
    pub geoms: [RobotGeomId; 2],
    /// As [`RobotGeom::contact_dimension`](super::RobotGeom::contact_dimension); `None`: from the geoms.
    pub dimension: Option<u8>,
    /// Sliding 1 and 2, torsional, rolling 1 and 2; `None`: from the geoms.
    pub friction: Option<[f64; 5]>,
    /// Time constant and damping ratio; `None`: from the geoms.
    pub solref: Option<[f64; 2]>,
    /// The same along the friction directions; `None`: as `solref`.
    pub solref_friction: Option<[f64; 2]>,
    /// Impedance; `None`: from the geoms.
    pub solimp: Option<[f64; 5]>,
    /// Distance from which contacts are seen \[m\]; `None`: from the geoms.
    pub margin: Option<f64>,
    /// Part of the margin in which they do not push yet \[m\]; `None`: from the geoms.
    pub gap: Option<f64>,
}
