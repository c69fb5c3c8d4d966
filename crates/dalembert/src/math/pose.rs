//! Poses: a place and an orientation, $p_W = x + R_{WB}\, p_B$.

use super::Vec3;
use super::rotation::Quat;

/// Where a frame stands in another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pose {
    /// Origin of the frame \[m\].
    pub position: Vec3,
    /// Orientation: turns axes of the frame into axes of the other.
    pub rotation: Quat,
}

impl Default for Pose {
    fn default() -> Self {
        Self::identity()
    }
}

impl Pose {
    /// The frame itself.
    pub fn identity() -> Self {
        Self { position: Vec3::zeros(), rotation: Quat::identity() }
    }

    /// From a place \[m\] and an orientation.
    pub fn new(position: Vec3, rotation: Quat) -> Self {
        Self { position, rotation }
    }

    /// A shift \[m\] without a turn.
    pub fn at(position: Vec3) -> Self {
        Self { position, rotation: Quat::identity() }
    }

    /// x + R p: a point of the frame, seen from the other \[m\].
    pub fn point(&self, p: &Vec3) -> Vec3 {
        self.position + self.rotation * p
    }

    /// X_AC = X_AB X_BC: the pose in this frame's parent of a pose given in this frame.
    pub fn then(&self, inner: &Pose) -> Pose {
        Pose { position: self.point(&inner.position), rotation: self.rotation * inner.rotation }
    }

    /// The other frame seen from this one.
    pub fn inverse(&self) -> Pose {
        let back = self.rotation.inverse();
        Pose { position: -(back * self.position), rotation: back }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::rotation::exp;

    #[test]
    fn a_pose_and_its_inverse_cancel() {
        let pose = Pose::new(Vec3::new(1.0, -2.0, 0.5), exp(&Vec3::new(0.3, 2.0, -1.0)));
        let p = Vec3::new(0.2, 0.7, -3.0);
        assert!((pose.inverse().point(&pose.point(&p)) - p).norm() < 2e-15);
        assert!((pose.then(&pose.inverse()).point(&p) - p).norm() < 2e-15);
        assert!((pose.then(&pose).point(&p) - pose.point(&pose.point(&p))).norm() < 2e-15);
    }
}
