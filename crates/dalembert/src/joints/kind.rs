//! The kinds of joints: the only list of them, and the table of what other code asks of each.
//!
//! A joint has one file in `kind/`, with its constraint between two [`Ends`] (maximal coordinates), its rows between
//! affine bodies ([`AffineEnds`]), its motion in reduced coordinates ([`Factor`]s) and its line of the table
//! ([`JointInfo`]). Scene files, their schema and reference, Python, the viewer and the law tests read the table, so a new
//! joint is its file and its lines here.

mod ball;
mod constant_velocity;
mod cylindrical;
mod distance;
mod fixed;
mod free;
mod hinge;
mod planar;
mod point_on_line;
mod point_on_plane;
mod screw;
mod slider;
mod universal;

use std::f64::consts::TAU;

use super::affine::{AffineEnds, AffineRows, Measure};
use super::axis::Axis;
use super::reduced::{Factor, MotionSubspace};
use super::rows::{B, Ends, N, T};
use super::{Body, GeometricStiffness, Rows};
use crate::math::rotation::{frame_with_axis, matrix};
use crate::math::{Mat3, Vec3};

/// Which joint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum JointKind {
    /// The anchors stay together.
    Ball,
    /// Anchors together, t axes aligned: one turn about t is left.
    Hinge,
    /// One slide along t is left.
    Slider,
    /// Nothing is left.
    Fixed,
    /// Anchors together, t of a stays across n of b: two turns are left.
    Universal,
    /// Anchors together, no twist: the bend of two shafts is left, which turn at the same rate.
    ConstantVelocity,
    /// Slide along and turn about t are left.
    Cylindrical,
    /// Motion in the plane across t, and turn about t, are left.
    Planar,
    /// A turn about t with a slide along it.
    Screw {
        /// Advance per full turn \[m\].
        pitch: f64,
    },
    /// The anchors keep their distance.
    Distance {
        /// Distance \[m\], > 0; that of the start if none is given.
        length: Option<f64>,
    },
    /// The anchor of b stays on the line through the anchor of a along t.
    PointOnLine,
    /// The anchor of b stays in the plane through the anchor of a across t.
    PointOnPlane,
    /// Everything is left: the root of a robot that floats.
    Free,
}

impl JointKind {
    /// All kinds, in the order of the scene reference; their numbers are samples.
    pub const ALL: [JointKind; 13] = [
        JointKind::Ball,
        JointKind::Hinge,
        JointKind::Slider,
        JointKind::Fixed,
        JointKind::Universal,
        JointKind::ConstantVelocity,
        JointKind::Cylindrical,
        JointKind::Planar,
        JointKind::Screw { pitch: 0.3 },
        JointKind::Distance { length: Some(0.7) },
        JointKind::PointOnLine,
        JointKind::PointOnPlane,
        JointKind::Free,
    ];

    /// Its line of the table.
    pub const fn info(&self) -> &'static JointInfo {
        match self {
            JointKind::Ball => &ball::INFO,
            JointKind::Hinge => &hinge::INFO,
            JointKind::Slider => &slider::INFO,
            JointKind::Fixed => &fixed::INFO,
            JointKind::Universal => &universal::INFO,
            JointKind::ConstantVelocity => &constant_velocity::INFO,
            JointKind::Cylindrical => &cylindrical::INFO,
            JointKind::Planar => &planar::INFO,
            JointKind::Screw { .. } => &screw::INFO,
            JointKind::Distance { .. } => &distance::INFO,
            JointKind::PointOnLine => &point_on_line::INFO,
            JointKind::PointOnPlane => &point_on_plane::INFO,
            JointKind::Free => &free::INFO,
        }
    }

    /// The kind of a name in scene files.
    pub fn named(name: &str) -> Option<JointKind> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Name in scene files.
    pub const fn name(&self) -> &'static str {
        self.info().name
    }

    /// The number that its equations take: the lead of a screw, which is its pitch per radian \[m/rad\], or a length \[m\].
    pub fn parameter(&self) -> f64 {
        match self {
            JointKind::Screw { pitch } => pitch / TAU,
            JointKind::Distance { length } => length.unwrap_or_default(),
            _ => 0.0,
        }
    }

    /// The names of the kinds with a coordinate for limits and motors: `hinge, slider, cylindrical and screw`.
    pub fn with_coordinate() -> String {
        let all = Self::ALL.iter().filter(|kind| !kind.info().coordinates.is_empty());
        let names: Vec<&str> = all.map(JointKind::name).collect();
        match names.split_last() {
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => String::new(),
        }
    }

    /// Axes t, n, b of both ends in the world, from the axis and the second axis of a scene; says which key is wrong.
    pub(crate) fn frames(
        &self,
        axis: &Vec3,
        second: Option<Vec3>,
    ) -> Result<[Mat3; 2], (&'static str, String)> {
        let Some(t) = direction(axis) else {
            return Err(("axis", format!("({}, {}, {}) is no direction", axis.x, axis.y, axis.z)));
        };
        // `frame_with_axis` turns z into the axis; here t comes first.
        let R = matrix(&frame_with_axis(&t));
        let first = Mat3::from_columns(&[R.column(2), R.column(0), R.column(1)]);
        match (self.info().second_axis, second) {
            (Some(frames), Some(second)) => {
                frames(&first, &second).map_err(|wrong| ("axis2", wrong.to_string()))
            }
            _ => Ok([first, first]),
        }
    }
}

/// The constraint between two ends, added to cleared rows: ends, [parameter](JointKind::parameter), last angles.
type Evaluate = fn(&Ends, f64, &[f64], &mut Rows);
/// The axes of both ends from the frame t, n, b of the first axis and the second axis.
type Frames = fn(&Mat3, &Vec3) -> Result<[Mat3; 2], &'static str>;
/// Adds how the forces turn with the bodies: bodies, arms, parameter, λ.
type AddStiffness = fn(&[Body], &[Vec3; 2], f64, &[f64], &mut [GeometricStiffness]);

/// One line of the table of joints.
#[derive(Debug)]
pub struct JointInfo {
    /// Name in scene files.
    pub name: &'static str,
    /// What it leaves free, in a sentence.
    pub leaves: &'static str,
    /// Number of rows, 0 … 6.
    pub rows: usize,
    /// Whether it needs axes on end a and on end b; a particle has none.
    pub orients: [bool; 2],
    /// Axes that a user gives and a viewer draws: end, and number among t, n, b.
    pub axes: &'static [(usize, usize)],
    /// Takes a second axis if it has one.
    pub(crate) second_axis: Option<Frames>,
    /// Coordinates that can be read \[rad, m\]. Limits, motors, friction and rotors act on the first, with θ = 0 and s = 0
    /// where axes and anchors of both ends meet.
    pub coordinates: &'static [Axis],
    /// Drawn as a rod from anchor to anchor.
    pub rod: bool,
    /// Rows between two ends.
    pub(crate) evaluate: Evaluate,
    /// Rows between two affine ends.
    pub(crate) affine: fn(&AffineEnds, f64) -> AffineRows,
    /// Its motions in reduced coordinates, if it can be a joint of a robot.
    pub(crate) reduced: Option<&'static [Factor]>,
    /// How its forces turn with the bodies.
    pub(crate) geometric_stiffness: Option<AddStiffness>,
}

impl JointInfo {
    const fn new(
        name: &'static str,
        rows: usize,
        evaluate: Evaluate,
        affine: fn(&AffineEnds, f64) -> AffineRows,
    ) -> Self {
        Self {
            name,
            leaves: "",
            rows,
            orients: [false; 2],
            axes: &[],
            second_axis: None,
            coordinates: &[],
            rod: false,
            evaluate,
            affine,
            reduced: None,
            geometric_stiffness: None,
        }
    }

    /// True if a second axis means something to it.
    pub const fn has_second_axis(&self) -> bool {
        self.second_axis.is_some()
    }

    /// True if it measures an angle, which goes on beyond ±π.
    pub(crate) fn turns(&self) -> bool {
        self.coordinates.contains(&Axis::Angle)
    }
}

/// The vector at length 1, however long or short it was; `None` if it has no direction.
fn direction(v: &Vec3) -> Option<Vec3> {
    let size = v.amax();
    (size > 0.0 && size.is_finite()).then(|| (v / size).normalize()).filter(|u| u.norm() > 0.5)
}

/// Geometric stiffness of a joint whose first three rows hold the anchors together: λ is the force there.
fn anchors_turn(_: &[Body], arm: &[Vec3; 2], _: f64, lambda: &[f64], out: &mut [GeometricStiffness]) {
    let f = Vec3::new(lambda[0], lambda[1], lambda[2]);
    out[0].add_force_at(&arm[0], &f);
    out[1].add_force_at(&arm[1], &-f);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_own_name_and_leaves_six_freedoms_less_its_rows() {
        for kind in JointKind::ALL {
            assert_eq!(JointKind::named(kind.name()), Some(kind));
            if kind.info().reduced.is_some() {
                assert_eq!(kind.velocity_count() + kind.info().rows, 6, "{}", kind.name());
            }
        }
        assert_eq!(JointKind::with_coordinate(), "hinge, slider, cylindrical and screw");
    }
}
