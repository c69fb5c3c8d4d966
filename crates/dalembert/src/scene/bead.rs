//! Beads on curves and surfaces.

use super::keys::*;
use crate::describe::short::*;
use crate::describe::{Findings, Forms, Key, Rule, Table, View, table, variants};
use crate::joints::Track;
use crate::math::Vec3;
use crate::math::rotation::{frame_with_axis, matrix};

variants! {
    for Track {
        /// A circle.
        Circle: "circle", "A circle.", "circle" {
            /// Centre.
            center: Vec3 = ORIGIN, VEC3, "m";
            /// Normal of its plane, of any length.
            axis: Direction = UP, VEC3, "";
            /// Radius.
            radius: f64 = REQUIRED, POSITIVE, "m";
        }
        /// An endless straight line.
        Line: "line", "A straight line.", "line" {
            /// A point on it.
            through: Vec3 = ORIGIN, VEC3, "m";
            /// Its direction, of any length.
            across as "along": Across = REQUIRED, VEC3, "";
        }
        /// The parabola z = z₀ + curvature · (x − x₀)² in the plane y = y₀.
        Parabola: "parabola", "A parabola.", "parabola" {
            /// Its lowest point (x₀, y₀, z₀).
            lowest: Vec3 = ORIGIN, VEC3, "m";
            /// Curvature.
            curvature: f64 = REQUIRED, NUMBER, "1/m";
        }
        /// The surface of a ball.
        Sphere: "sphere", "A sphere.", "ball" {
            /// Centre.
            center: Vec3 = ORIGIN, VEC3, "m";
            /// Radius.
            radius: f64 = REQUIRED, POSITIVE, "m";
        }
        /// The surface of an endless cylinder.
        Cylinder: "cylinder", "A cylinder.", "tube" {
            /// A point on its axis.
            center: Vec3 = ORIGIN, VEC3, "m";
            /// Direction of its axis, of any length.
            axis: Direction = UP, VEC3, "";
            /// Radius.
            radius: f64 = REQUIRED, POSITIVE, "m";
        }
        /// A plane.
        Plane: "plane", "A plane.", "flat" {
            /// A point in it.
            through: Vec3 = ORIGIN, VEC3, "m";
            /// Its normal, of any length.
            normal: Direction = UP, VEC3, "";
        }
        /// A torus around z.
        Torus: "torus", "A torus.", "torus" {
            /// Centre.
            center: Vec3 = ORIGIN, VEC3, "m";
            /// Radius of the ring.
            ring: f64 = REQUIRED, POSITIVE, "m";
            /// Radius of the tube.
            tube: f64 = REQUIRED, POSITIVE, "m";
        }
    }
}

/// Two unit vectors across a direction.
struct Across([Vec3; 2]);

impl Key for Across {
    fn read(t: &View<'_>, key: &'static str, out: &mut Findings) -> Option<Self> {
        let frame = matrix(&frame_with_axis(&Direction::read(t, key, out)?.into()));
        Some(Self([frame.column(0).into(), frame.column(1).into()]))
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self([Vec3::x(), Vec3::y()])
    }
}

impl From<Across> for [Vec3; 2] {
    fn from(across: Across) -> Self {
        across.0
    }
}

impl Key for Track {
    fn read(t: &View<'_>, key: &'static str, out: &mut Findings) -> Option<Self> {
        Self::form(t, out).unwrap_or(Some(Self::preset(t.description(), key)))
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::Plane { through: Vec3::zeros(), normal: Vec3::z() }
    }
}

table! {
    /// Particles that stay on a curve or surface.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Bead: "bead" {
        /// Name, unique among joints.
        name: String = &[JOINT_NAME];
        /// The particles, each held by itself.
        on: Vec<String> = REQUIRED, SELECTION, "";
        /// The curve or surface.
        track: Track = Track::FORMS;
    }
    rules [Rule::ExactlyOne(&["circle", "line", "parabola", "sphere", "cylinder", "plane", "torus"])]
}
