//! Moving along a velocity: $q \oplus h v$, with quaternions turned by $\exp(h\Omega)$ from the right.
use super::kinematics::vec3;
use super::tree::Tree;
use crate::joints::MotionSubspace;
use crate::math::Vec3;
use crate::math::rotation::{exp, log, quaternion, renormalise, set_quaternion};

/// log(R_a⁻¹ R_b) of the quaternions from place `at` on: what turns a into b, in axes of a or b alike.
pub(super) fn rotation_between(a: &[f64], b: &[f64], at: usize) -> Vec3 {
    let (a, b) = (renormalise(&quaternion(a, at)), renormalise(&quaternion(b, at)));
    log(&(a.inverse() * b))
}

impl Tree {
    /// q ← q ⊕ h v.
    pub fn integrate(&self, q: &mut [f64], v: &[f64], h: f64) {
        for node in &self.nodes[1..] {
            let (at, d) = (node.q as usize, node.v as usize);
            match node.kind {
                MotionSubspace::Turn | MotionSubspace::Slide | MotionSubspace::Screw(_) => q[at] += h * v[d],
                MotionSubspace::Shift => (0..3).for_each(|k| q[at + k] += h * v[d + k]),
                MotionSubspace::Ball => {
                    let turned = quaternion(q, at) * exp(&(h * vec3(v, d)));
                    set_quaternion(q, at, &renormalise(&turned));
                }
            }
        }
    }

    /// The v with b = a ⊕ v: what [`integrate`](Self::integrate) over one second needs to go from a to b.
    pub fn difference(&self, a: &[f64], b: &[f64], v: &mut [f64]) {
        for node in &self.nodes[1..] {
            let (at, d) = (node.q as usize, node.v as usize);
            match node.kind {
                MotionSubspace::Turn | MotionSubspace::Slide | MotionSubspace::Screw(_) => {
                    v[d] = b[at] - a[at]
                }
                MotionSubspace::Shift => (0..3).for_each(|k| v[d + k] = b[at + k] - a[at + k]),
                MotionSubspace::Ball => v[d..d + 3].copy_from_slice(rotation_between(a, b, at).as_slice()),
            }
        }
    }
}
