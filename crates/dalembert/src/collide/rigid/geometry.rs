//! Shapes of colliders: support points and boxes around them.

use super::super::bvh::Aabb;
use crate::math::rotation::matrix;
use crate::math::{Mat3, Pose, Vec3};

/// The shape of a collider in its own frame; round shapes stand along z, centred at 0.
#[derive(Debug, Clone)]
pub enum Geometry {
    /// A ball.
    Sphere {
        /// Radius \[m\].
        radius: f64,
    },
    /// A box with faces across the axes.
    Box {
        /// Half of its sizes \[m\].
        half: Vec3,
    },
    /// Everything below z = 0.
    HalfSpace,
}

/// Where a shape stands: its centre, relative to an origin of the caller's choice, and its axes as columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) x: Vec3,
    pub(super) R: Mat3,
}

impl Frame {
    pub(super) fn of(pose: &Pose) -> Self {
        Self { x: pose.position, R: matrix(&pose.rotation) }
    }
}

impl Geometry {
    /// Name of the kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Sphere { .. } => "sphere",
            Self::Box { .. } => "box",
            Self::HalfSpace => "half-space",
        }
    }

    /// The box around it, every side moved out by `margin` \[m\].
    pub fn bounds(&self, pose: &Pose, margin: f64) -> Aabb {
        let R = matrix(&pose.rotation);
        let around = |half: Vec3| {
            let half = half.add_scalar(margin);
            Aabb::of(&(pose.position - half), &(pose.position + half), 0.0)
        };
        match self {
            Self::Sphere { radius } => around(Vec3::repeat(*radius)),
            Self::Box { half } => around(R.abs() * half),
            Self::HalfSpace => around(Vec3::repeat(f64::INFINITY)),
        }
    }
}
