//! Fixed things that push points away.

use super::forces::{ForceBuilder, MakeForce};
use super::keys::*;
use crate::describe::short::*;
use crate::describe::{Findings, Forms, Key, Rule, Table, View, table, variants};
use crate::forces::unary::{Obstacle, ObstacleShape, Penalty};
use crate::math::Vec3;

variants! {
    for ObstacleShape {
        /// The half space behind a plane.
        Plane: "plane", "The half space behind a plane.", "wall" {
            /// A point of the plane.
            point as "through": Vec3 = ORIGIN, VEC3, "m";
            /// Normal of the plane, away from the obstacle, of any length.
            normal: Direction = UP, VEC3, "";
        }
        /// A ball.
        Sphere: "sphere", "A ball.", "obstacle_ball" {
            /// Centre.
            center: Vec3 = ORIGIN, VEC3, "m";
            /// Radius.
            radius: f64 = REQUIRED, POSITIVE, "m";
        }
        /// A ball.
        Hollow: "hollow", "Everything outside a ball: points stay within.", "obstacle_ball" {
            /// Centre.
            center: Vec3 = ORIGIN, VEC3, "m";
            /// Radius.
            radius: f64 = REQUIRED, POSITIVE, "m";
        }
    }
}

impl Key for ObstacleShape {
    fn read(t: &View<'_>, key: &'static str, out: &mut Findings) -> Option<Self> {
        Self::form(t, out).unwrap_or(Some(Self::preset(t.description(), key)))
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::Plane { point: Vec3::zeros(), normal: Vec3::z() }
    }
}

table! {
    /// A fixed thing that pushes points out by a penalty on their depth, without friction.
    #[derive(Debug, Clone, PartialEq)]
    pub struct ObstacleItem: "obstacle" {
        /// Name, for energies by term.
        name: String = &[FORCE_NAME];
        /// Points that feel it; all particles if empty.
        on: Vec<String> = &[ON];
        /// The shape.
        shape: ObstacleShape = ObstacleShape::FORMS;
        /// Radius of the points: contact begins that far outside.
        radius: f64 = number(0.0), NOT_NEGATIVE, "m";
        /// Push on a point per depth.
        stiffness: f64 = number(1e3), POSITIVE, "N/m";
        /// Damping while in contact.
        damping: f64 = number(0.0), NOT_NEGATIVE, "N·s/m";
    }
    rules [Rule::ExactlyOne(&["plane", "sphere", "hollow"])]
}

impl ObstacleItem {
    /// The ground: pushes everything up that comes below z = 0, with 1000 N/m per point.
    pub fn ground() -> Self {
        Self::default()
    }
}

impl MakeForce for ObstacleItem {
    fn name(&self) -> &str {
        &self.name
    }

    fn acts_at(&self) -> Vec<&String> {
        self.on.iter().collect()
    }

    fn make(&self, at: &mut ForceBuilder<'_>) {
        at.notes.positive("stiffness", self.stiffness);
        at.notes.not_negative("damping", self.damping);
        at.notes.not_negative("radius", self.radius);
        let mut shape = self.shape;
        match &mut shape {
            ObstacleShape::Plane { point, normal } => {
                at.notes.finite3("plane", point);
                match normal.try_normalize(1e-300) {
                    Some(unit) if unit.iter().all(|x| x.is_finite()) => *normal = unit,
                    _ => at.notes.error("plane", "its normal is no direction"),
                }
            }
            ObstacleShape::Sphere { center, radius } | ObstacleShape::Hollow { center, radius } => {
                at.notes.finite3("sphere", center);
                at.notes.positive("sphere", *radius);
            }
        }
        let on = at.on(&self.on);
        let Self { radius, stiffness, damping, .. } = *self;
        let force = Obstacle { on, shape, radius, stiffness, damping, penalty: Penalty::Quadratic };
        at.add("obstacle", &self.name, Box::new(force));
    }
}
