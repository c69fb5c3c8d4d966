//! Points of contact, kept from step to step: the warm start of `impulse` and `lagrange`.

use crate::math::Vec3;

/// What is remembered of a point of contact: to be read, and to start the next step with.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ContactPoint {
    /// First collider, in the numbers of [`RigidContactModel::colliders`](crate::contact::RigidContactModel::colliders).
    pub a: u32,
    /// Second collider.
    pub b: u32,
    /// Part of a mesh.
    pub part: u32,
    /// Which of its points.
    pub feature: u32,
    /// Where \[m\].
    pub point: Vec3,
    /// From b towards a.
    pub normal: Vec3,
    /// At the start of the last step \[m\].
    pub gap: f64,
    /// Mean force of the last step on a \[N\].
    pub force: Vec3,
    /// Mean torque of the last step against turning, on a \[N·m\].
    pub torque: Vec3,
    /// Force on a at the end of the last step \[N\]: what the next one begins with where steps are cut into parts.
    pub last: Vec3,
}

impl ContactPoint {
    /// Numbers of a packed one.
    pub(super) const NUMBERS: usize = 20;

    pub(super) fn pack(&self, out: &mut Vec<f64>) {
        out.extend([self.a, self.b, self.part, self.feature].map(f64::from));
        for v in [&self.point, &self.normal, &self.force, &self.torque, &self.last] {
            out.extend_from_slice(v.as_slice());
        }
        out.push(self.gap);
    }

    pub(super) fn unpack(n: &[f64; Self::NUMBERS]) -> Self {
        let v = |at: usize| Vec3::new(n[at], n[at + 1], n[at + 2]);
        Self {
            a: n[0] as u32,
            b: n[1] as u32,
            part: n[2] as u32,
            feature: n[3] as u32,
            point: v(4),
            normal: v(7),
            force: v(10),
            torque: v(13),
            last: v(16),
            gap: n[19],
        }
    }

    /// The key by which it is found again.
    pub(crate) fn key(&self) -> [u32; 3] {
        [self.a, self.b, self.part]
    }
}
