//! What may touch what: the constant part of intersection-free contact.

use super::AffineJoints;
use crate::collide::{Surface, VertexMap};
use crate::math::{Vec3, triple};

/// Collision geometry of a model and the numbers that contact needs, in the order of the unknown 3-vectors ("blocks"):
/// block i is point i of the model.
#[derive(Debug, Clone, Default)]
pub struct ContactModel {
    /// Primitives. Vertices of held bodies are prescribed there.
    pub surface: Surface,
    /// How every vertex follows from the blocks, those of held bodies as well.
    pub maps: Vec<VertexMap>,
    /// Name of each body of the surface.
    pub names: Vec<String>,
    /// Name of each half-plane.
    pub plane_names: Vec<String>,
    /// Coefficients of friction by pairs of contact groups, row by row.
    pub friction: Vec<f64>,
    /// Number of contact groups.
    pub groups: usize,
    /// The gap at which contact begins, beyond the radii \[m\].
    pub gap: f64,
    /// First block of each affine body: its centre; the columns follow.
    pub affine: Vec<u32>,
    /// How far the farthest point moves when a block moves by one: 1 for places, metres for columns.
    pub reach: Vec<f64>,
    /// Blocks that no force moves.
    pub held: Vec<bool>,
    /// Mass that decides how stiff contact at a vertex is \[kg\]: that of the body for affine bodies, that of the node
    /// otherwise, 0 for held ones.
    pub vertex_mass: Vec<f64>,
    /// Squared length of each edge at the start \[m²\].
    pub edge_length2: Vec<f64>,
    /// Joints that are exact and linear in the blocks: Σ w z = c.
    pub rows: Vec<LinearRow>,
    /// Joints that are not: coordinates and what acts on them.
    pub joints: AffineJoints,
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

impl ContactModel {
    /// Positions of all vertices for the flat blocks `z`.
    pub fn positions(&self, z: &[f64], x: &mut Vec<Vec3>) {
        x.clear();
        x.extend(self.maps.iter().map(|m| m.position(z).unwrap_or_default()));
    }

    /// False if there is nothing that could ever touch anything.
    pub fn can_touch(&self) -> bool {
        let bodies = self.surface.bodies.iter().filter(|b| !b.vertices.is_empty()).count();
        let planes = !self.surface.half_planes.is_empty();
        bodies > 1 || (bodies > 0 && (planes || self.surface.bodies.iter().any(|b| b.self_contact)))
    }

    /// Coefficient of friction between two contact groups.
    pub fn friction(&self, a: u32, b: u32) -> f64 {
        self.friction[a as usize * self.groups + b as usize]
    }
}
