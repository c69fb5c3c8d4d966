//! Rigid shapes: which touch, where, along which normal, how deep.
//!
//! A [`Collider`] is a [`Geometry`] fixed to a body; several on one body make a compound. A [`Detector`] is asked once
//! per step with the poses of the bodies and answers with [`Manifold`]s: for every two colliders closer than their
//! margins a normal and up to four points. Between calls it keeps boxes, pairs and witnesses, which save work and never
//! change an answer.
//!
//! **One function.** For convex shapes A and B and a unit vector n let
//!
//! $$ s(n) = \min_{a \in A} n\cdot a \;-\; \max_{b \in B} n\cdot b . $$
//!
//! Every s(n) > 0 proves that a plane across n separates them; the largest s over all n is their distance if they are
//! apart and minus the penetration depth (the shortest shift that parts them) if they overlap. So one number with one
//! sign describes both, the maximiser is the **normal from b towards a**, and any direction at all, evaluated once, is a
//! lower bound: last step's direction, kept in terms of the features that defined it, decides most pairs by itself.
//! Book: "Rigid contact".

mod box_face;
mod boxes;
mod clip;
mod convex;
mod detector;
#[cfg(test)]
mod detector_tests;
mod features;
mod geometry;
mod gjk;
mod hull;
mod impact;
mod lines;
mod mesh;
mod narrow;
mod query;
mod query_surface;
mod separate;
mod surfaces;
#[cfg(test)]
mod surfaces_tests;
#[cfg(test)]
mod tests;

pub use detector::Detector;
pub use geometry::Geometry;
pub use hull::{Hull, HullError};
pub use impact::{Moving, time_of_impact};
pub use mesh::{HeightField, Mesh, SurfaceError};
pub use query::{Distance, Hit, distance, overlap, ray_cast, ray_cast_all};

use crate::math::{Pose, Vec3};

/// The owner of colliders that do not move.
pub const WORLD: u32 = u32::MAX;

/// A shape fixed to a body.
#[derive(Debug, Clone)]
pub struct Collider {
    /// Number of its body in the caller's list of poses; [`WORLD`] for one that stands in the world.
    pub body: u32,
    /// What it is.
    pub shape: Geometry,
    /// Where it stands in the frame of the body.
    pub pose: Pose,
    /// Bits of the groups it belongs to.
    pub group: u32,
    /// Bits of the groups it touches. Two colliders meet if each belongs to a group that the other touches.
    pub mask: u32,
    /// Distance from which contacts are reported \[m\]: those of both sides add.
    pub margin: f64,
    /// Number of its material in the caller's list; not looked at here.
    pub material: u32,
}

impl Collider {
    /// A shape at the frame of a body: in group 1, touching every group, reported when it overlaps.
    pub fn new(body: u32, shape: Geometry) -> Self {
        Self { body, shape, pose: Pose::identity(), group: 1, mask: u32::MAX, margin: 0.0, material: 0 }
    }

    /// The same, standing at `pose` in the frame of the body.
    #[must_use]
    pub fn at(self, pose: Pose) -> Self {
        Self { pose, ..self }
    }

    /// Its pose in the world.
    pub fn placed(&self, bodies: &[Pose]) -> Pose {
        if self.body == WORLD { self.pose } else { bodies[self.body as usize].then(&self.pose) }
    }
}

/// One place of a contact.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Touch {
    /// Midway between the two surfaces, in the world \[m\].
    pub point: Vec3,
    /// Distance of the surfaces along the normal \[m\]; negative where they overlap.
    pub gap: f64,
    /// Which features meet here: the same number from step to step while they are the same, different from those of
    /// the other points of the manifold. For warm starts.
    pub feature: u32,
}

/// Where two colliders touch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Manifold {
    /// First collider, the smaller number.
    pub a: u32,
    /// Second collider.
    pub b: u32,
    /// Which part of a mesh or height field (a triangle); 0 otherwise. Two colliders have one manifold per direction.
    pub part: u32,
    /// Unit normal from b towards a.
    pub normal: Vec3,
    touches: [Touch; 4],
    count: u32,
}

impl Manifold {
    /// A manifold without points.
    fn empty(normal: Vec3) -> Self {
        Self { a: 0, b: 0, part: 0, normal, touches: [Touch::default(); 4], count: 0 }
    }

    /// Adds a manifold without points to a list, written where it stays.
    #[inline(always)]
    fn add<'a>(list: &'a mut Vec<Self>, normal: &Vec3) -> &'a mut Self {
        const BLANK: Manifold = {
            let touch = Touch { point: Vec3::new(0.0, 0.0, 0.0), gap: 0.0, feature: 0 };
            let normal = Vec3::new(0.0, 0.0, 0.0);
            Manifold { a: 0, b: 0, part: 0, normal, touches: [touch; 4], count: 0 }
        };
        let place = list.len();
        list.push(BLANK);
        let new = &mut list[place];
        new.normal = *normal;
        new
    }

    /// A manifold of one point.
    fn single(normal: Vec3, touch: Touch) -> Self {
        let mut found = Self::empty(normal);
        found.push(touch);
        found
    }

    /// One to four points.
    pub fn points(&self) -> &[Touch] {
        &self.touches[..self.count as usize]
    }

    /// The smallest gap of its points \[m\].
    pub fn gap(&self) -> f64 {
        self.points().iter().fold(f64::INFINITY, |least, p| least.min(p.gap))
    }

    /// Its points, whose gaps may belong to another time than their places.
    pub(crate) fn points_mut(&mut self) -> &mut [Touch] {
        &mut self.touches[..self.count as usize]
    }

    fn push(&mut self, touch: Touch) {
        if let Some(place) = self.touches.get_mut(self.count as usize) {
            *place = touch;
            self.count += 1;
        }
    }
}
