//! The constant part of the method `ipc`: collision geometry, joints and loads of affine bodies.

use crate::contact::potential::ContactGeometry;
use crate::coupling::Articulation;
use crate::joints::affine::AffineJoints;
use crate::math::{Signal, Vec3, add_triple, triple};

/// What the method `ipc` must know beyond bodies and forces. Block i is point i of the model.
#[derive(Debug, Clone, Default)]
pub struct IpcModel {
    /// What may touch what.
    pub geometry: ContactGeometry,
    /// First block of each affine body: its centre; the columns follow.
    pub affine: Vec<u32>,
    /// Those of them that are rigid bodies, or as stiff.
    pub rigid: Vec<u32>,
    /// How far the farthest point moves when a block moves by one: 1 for places, metres for columns.
    pub reach: Vec<f64>,
    /// Blocks that no force moves.
    pub held: Vec<bool>,
    /// Torques on affine bodies from outside.
    pub torques: Vec<Torque>,
    /// Joints that are exact and linear in the blocks: Σ w z = c.
    pub rows: Vec<LinearRow>,
    /// Joints that are not: coordinates and what acts on them.
    pub joints: AffineJoints,
    /// Bodies whose joint-space dynamics are computed elsewhere.
    pub articulations: Vec<Articulation>,
}

/// A torque τ on an affine body, world axes.
///
/// The forces $f_k = \tfrac12\tau\times a_k$ on the columns do the work $\sum f_k\cdot(\delta\theta\times a_k) =
/// \tfrac12\delta\theta\cdot\sum a_k\times(\tau\times a_k) = \tau\cdot\delta\theta$ in a turn δθ, since
/// $\sum_k a_k a_k^T = 1$ for a body that is not deformed.
#[derive(Debug, Clone, PartialEq)]
pub struct Torque {
    /// First block of the body.
    pub first: u32,
    /// τ \[N·m\].
    pub torque: Vec3,
    /// Factor over time.
    pub signal: Signal,
}

impl Torque {
    /// f += the forces on the columns at the blocks `z` and time t.
    pub(crate) fn add(&self, t: f64, z: &[f64], f: &mut [f64]) {
        let torque = 0.5 * self.signal.value(t) * self.torque;
        for k in self.first as usize + 1..self.first as usize + 4 {
            add_triple(f, k, &torque.cross(&triple(z, k)));
        }
    }
}

/// Three equations: Σ w_i z_i = c.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearRow {
    /// Number of the joint in the scene.
    pub joint: usize,
    /// Blocks and weights.
    pub terms: Vec<(u32, f64)>,
    /// Right-hand side \[m\].
    pub value: Vec3,
}

impl LinearRow {
    /// c − Σ w z \[m\].
    pub fn lack(&self, z: &[f64]) -> Vec3 {
        self.terms.iter().fold(self.value, |sum, &(i, w)| sum - w * triple(z, i as usize))
    }
}

impl IpcModel {
    /// True if joints or articulations tie blocks beyond what forces and contacts do: rows, terms and articulations act on
    /// the whole scene at once.
    pub fn has_joints(&self) -> bool {
        !(self.rows.is_empty() && self.joints.terms.is_empty() && self.articulations.is_empty())
    }
}
