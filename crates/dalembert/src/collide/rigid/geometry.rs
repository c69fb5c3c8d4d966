//! Shapes of colliders and boxes around them.

use std::sync::Arc;

use super::super::bvh::Aabb;
use super::hull::Hull;
use super::mesh::{HeightField, Mesh};
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
    /// A cylinder with a half ball on either end.
    Capsule {
        /// Radius \[m\].
        radius: f64,
        /// Half of the length of the cylinder part \[m\].
        half_length: f64,
    },
    /// A round cylinder.
    Cylinder {
        /// Radius \[m\].
        radius: f64,
        /// Half of the length \[m\].
        half_length: f64,
    },
    /// A round cone: base at z = −half_length, tip at z = +half_length.
    Cone {
        /// Radius of the base \[m\].
        radius: f64,
        /// Half of the height \[m\].
        half_length: f64,
    },
    /// An ellipsoid.
    Ellipsoid {
        /// Half the diameters along the axes \[m\].
        semi_axes: Vec3,
    },
    /// A convex polyhedron.
    Hull(Arc<Hull>),
    /// Everything below z = 0.
    HalfSpace,
    /// A surface of triangles. It meets every shape; other surfaces by corners on faces and edges on edges, as long as they
    /// have not sunk in by more than a fiftieth of the smaller one's diagonal.
    Mesh(Arc<Mesh>),
    /// Everything below a surface of heights. It meets convex shapes and, with their corners, meshes.
    HeightField(Arc<HeightField>),
}

/// Where a shape stands: its centre, relative to an origin of the caller's choice, and its axes as columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Frame {
    pub(super) x: Vec3,
    pub(super) R: Mat3,
}

impl Frame {
    pub(super) fn of(pose: &Pose) -> Self {
        Self { x: pose.position, R: matrix(&pose.rotation) }
    }

    /// The pose `inner` of this frame, seen from outside.
    pub(super) fn local(&self, other: &Self) -> Self {
        Self { x: self.R.tr_mul(&(other.x - self.x)), R: self.R.tr_mul(&other.R) }
    }
}

impl Geometry {
    /// Name of the kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Sphere { .. } => "sphere",
            Self::Box { .. } => "box",
            Self::Capsule { .. } => "capsule",
            Self::Cylinder { .. } => "cylinder",
            Self::Cone { .. } => "cone",
            Self::Ellipsoid { .. } => "ellipsoid",
            Self::Hull(_) => "hull",
            Self::HalfSpace => "half-space",
            Self::Mesh(_) => "mesh",
            Self::HeightField(_) => "height field",
        }
    }

    /// A mesh or a field of heights.
    pub(super) fn is_surface(&self) -> bool {
        matches!(self, Self::Mesh(_) | Self::HeightField(_))
    }

    /// The box around it at `pose`, every side moved out by `margin` \[m\].
    pub fn bounds(&self, pose: &Pose, margin: f64) -> Aabb {
        self.bounds_in(&Frame::of(pose), margin)
    }

    pub(super) fn bounds_in(&self, frame: &Frame, margin: f64) -> Aabb {
        let Frame { x, R } = frame;
        let around = |half: Vec3| {
            let half = half.add_scalar(margin);
            Aabb::of(&(x - half), &(x + half), 0.0)
        };
        // Reach of a disc of radius 1 across z along each axis.
        let z: Vec3 = R.column(2).abs();
        let disc = || z.map(|c| (1.0 - c * c).max(0.0).sqrt());
        let turned = |low: &Vec3, high: &Vec3| {
            let (c, half) =
                (x + R * (0.5 * (low + high)), (R.abs() * (0.5 * (high - low))).add_scalar(margin));
            Aabb::of(&(c - half), &(c + half), 0.0)
        };
        let turned_box = |b: &Aabb| {
            turned(&Vec3::new(b.low[0], b.low[1], b.low[2]), &Vec3::new(b.high[0], b.high[1], b.high[2]))
        };
        match self {
            Self::Sphere { radius } => around(Vec3::repeat(*radius)),
            Self::Box { half } => around(R.abs() * half),
            Self::Capsule { radius, half_length } => around((*half_length * z).add_scalar(*radius)),
            Self::Cylinder { radius, half_length } => around(*radius * disc() + *half_length * z),
            Self::Cone { radius, half_length } => {
                let up = *half_length * R.column(2).into_owned();
                let (tip, base, rim) = (x + up, x - up, *radius * disc());
                Aabb::of(&tip.inf(&(base - rim)), &tip.sup(&(base + rim)), margin)
            }
            Self::Ellipsoid { semi_axes } => {
                let scaled = R * Mat3::from_diagonal(semi_axes);
                around(Vec3::from_fn(|i, _| scaled.row(i).norm()))
            }
            Self::Hull(hull) => {
                if let Some([low, high]) = hull.large_box() {
                    return turned(low, high);
                }
                let end = |i: usize, sign: f64| {
                    let d: Vec3 = R.row(i).transpose() * sign;
                    x[i] + R.row(i).transpose().dot(hull.vertex(hull.support(&d)))
                };
                let low = Vec3::from_fn(|i, _| end(i, -1.0));
                let high = Vec3::from_fn(|i, _| end(i, 1.0));
                Aabb::of(&low, &high, margin)
            }
            Self::HalfSpace => around(Vec3::repeat(f64::INFINITY)),
            Self::Mesh(mesh) => turned_box(&mesh.bounds()),
            Self::HeightField(field) => turned_box(&field.bounds()),
        }
    }
}
