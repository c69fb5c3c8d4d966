//! Clamps of rods: an end that starts off in a fixed direction.
//!
//! A clamp sits *at a node*: the tangent there is given, while the first edge shows the tangent half an edge further on. So
//! the edge may turn against the clamp as half an inner bend would, with the stiffness EI/(ℓ/2), which makes the clamp
//! second-order accurate; holding the first two nodes instead moves the clamp by half an edge, which is first order.
//!
//! Both elements are those of [`rod`](super::rod) with the points before the clamp carried along by the clamped node:
//! what depends on them moves with it, and their share of force and stiffness falls to it. Only the direction is fixed, so
//! a clamped node may still have prescribed motion. The force turns nothing but the clamp: its torque goes to the world.

use super::element::{Element, Elements, Hessian, from_offsets, gradient_from_offsets};
use super::material::ElementError;
use super::rod::{BendLaw, RodBend, RodJoint, RodJoints};
use crate::forces::Tangent;
use crate::math::Vec3;
use crate::state::PointId;

/// Bending against a clamp of a rod that bends alike in all directions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RodClamp {
    /// The clamped node and its neighbour.
    pub points: [PointId; 2],
    /// Direction of the rod at the clamp, from the node to its neighbour; of any length.
    pub direction: Vec3,
    /// EI/(ℓ/2) \[N·m/rad\], ≥ 0.
    pub stiffness: f64,
    /// What the bend is measured by.
    pub law: BendLaw,
}

/// Clamps of rods without twist.
pub type RodClamps = Elements<RodClamp, 2>;

impl RodClamp {
    /// The bend with its first point carried by the clamped node.
    fn bend(&self, x: &[Vec3; 2]) -> (RodBend, [Vec3; 3]) {
        let [a, b] = self.points;
        let bend = RodBend { points: [a, a, b], stiffness: self.stiffness, law: self.law };
        (bend, [x[0] - self.direction, x[0], x[1]])
    }
}

impl Element<2> for RodClamp {
    const KIND: &'static str = "rod_clamps";
    const INTERNAL: bool = false;

    fn points(&self) -> [PointId; 2] {
        self.points
    }

    fn energy(&self, x: &[Vec3; 2]) -> f64 {
        let (bend, x) = self.bend(x);
        bend.energy(&x)
    }

    fn gradient(&self, x: &[Vec3; 2]) -> [Vec3; 2] {
        let (bend, x) = self.bend(x);
        let g = bend.gradient(&x);
        gradient_from_offsets(|_| g[2])
    }

    fn hessian(&self, x: &[Vec3; 2], tangent: Tangent) -> Hessian<2> {
        let (bend, x) = self.bend(x);
        let H = bend.hessian(&x, tangent);
        from_offsets(|_, _| H[2][2])
    }
}

/// Bending and twist against a clamp of a rod whose edges carry markers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RodFrameClamp {
    /// The clamped node, its neighbour and the marker of the edge between them.
    pub points: [PointId; 3],
    /// What the rod rests against: the joint across the clamp; its own points are not used.
    joint: RodJoint,
    /// The point before the clamp and its marker, from the clamped node \[m\].
    before: [Vec3; 2],
}

/// Clamps of rods with markers.
pub type RodFrameClamps = Elements<RodFrameClamp, 3>;

impl RodFrameClamp {
    /// Holds the edge and its marker in the directions they have at rest, places of node, neighbour and marker \[m\], for
    /// bending stiffnesses EI₁, EI₂ and torsional stiffness GJ \[N·m²\].
    pub fn new(points: [PointId; 3], rest: &[Vec3; 3], EI: [f64; 2], GJ: f64) -> Result<Self, ElementError> {
        let (edge, marker) = (rest[1] - rest[0], rest[2] - rest[0]);
        let before = [-edge, marker - edge];
        let x = [Vec3::zeros(), before[0], edge, before[1], marker];
        // Made by the same constructor as inner joints, with twice their stiffness: its mean length is that of the edge.
        let (chain, markers) = ([1, 0, 2].map(PointId), [3, 4].map(PointId));
        let made = RodJoints::chain(&x, &chain, &markers, EI.map(|k| 2.0 * k), 2.0 * GJ)?;
        Ok(Self { points, joint: made.as_slice()[0], before })
    }

    fn across(&self, x: &[Vec3; 3]) -> [Vec3; 5] {
        [x[0], x[0] + self.before[0], x[1], x[0] + self.before[1], x[2]]
    }
}

/// Where the neighbour and the marker stand among the points of the joint.
const OWN: [usize; 2] = [2, 4];

impl Element<3> for RodFrameClamp {
    const KIND: &'static str = "rod_frame_clamps";
    const INTERNAL: bool = false;

    fn points(&self) -> [PointId; 3] {
        self.points
    }

    fn energy(&self, x: &[Vec3; 3]) -> f64 {
        self.joint.energy(&self.across(x))
    }

    fn gradient(&self, x: &[Vec3; 3]) -> [Vec3; 3] {
        let g = self.joint.gradient(&self.across(x));
        gradient_from_offsets(|i| g[OWN[i - 1]])
    }

    fn hessian(&self, x: &[Vec3; 3], tangent: Tangent) -> Hessian<3> {
        let H = self.joint.hessian(&self.across(x), tangent);
        from_offsets(|i, j| H[OWN[i - 1]][OWN[j - 1]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clamp_resists_as_half_an_edge_does() {
        // A turn φ of an edge of length ℓ against the clamp, EI = 3: ½ EI φ²/(ℓ/2).
        let (l, phi) = (0.2, 0.1_f64);
        let rest = [Vec3::x(), Vec3::x() * (1.0 + l), Vec3::new(1.0 + 0.5 * l, 0.0, 0.1)];
        let points = [0, 1, 2].map(PointId);
        let frame = RodFrameClamp::new(points, &rest, [3.0, 3.0], 7.0).unwrap();
        assert!(frame.energy(&rest) < 1e-28);
        let plain = RodClamp {
            points: [0, 1].map(PointId),
            direction: Vec3::x() * 9.0,
            stiffness: 3.0 / (0.5 * l),
            law: BendLaw::Angle,
        };
        let end = rest[0] + Vec3::new(phi.cos(), phi.sin(), 0.0) * l;
        let wanted = 0.5 * 3.0 * phi * phi / (0.5 * l);
        assert!((plain.energy(&[rest[0], end]) - wanted).abs() < 1e-12);
        // Twist by φ: GJ; the marker turns about the rod.
        let turned = rest[0] + Vec3::new(0.5 * l, -0.1 * phi.sin(), 0.1 * phi.cos());
        let wanted = 0.5 * 7.0 * phi * phi / (0.5 * l);
        let found = frame.energy(&[rest[0], rest[1], turned]);
        assert!((found - wanted).abs() < 1e-12, "{found} {wanted}");
    }
}
