//! What may touch what: the constant part of intersection-free contact.

use crate::collide::{Contact, Kind, Surface, VertexMap};
use crate::coupling::Articulation;
use crate::joints::affine::AffineJoints;
use crate::math::{Signal, Vec3, add_triple, triple};

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
    /// Who begins nearer to whom than the gap, and at which gap \[m\], sorted: the lower body first; half-planes are numbered
    /// after all bodies. See [`StartGap::at`].
    pub starts: Vec<StartGap>,
    /// First block of each affine body: its centre; the columns follow.
    pub affine: Vec<u32>,
    /// Those of them that are rigid bodies, or as stiff.
    pub rigid: Vec<u32>,
    /// How far the farthest point moves when a block moves by one: 1 for places, metres for columns.
    pub reach: Vec<f64>,
    /// Blocks that no force moves.
    pub held: Vec<bool>,
    /// Mass that decides how stiff contact at a vertex is \[kg\]: that of the body for affine bodies, that of the node
    /// otherwise, 0 for held ones.
    pub vertex_mass: Vec<f64>,
    /// Squared length of each edge at the start \[m²\].
    pub edge_length2: Vec<f64>,
    /// Torques on affine bodies from outside.
    pub torques: Vec<Torque>,
    /// Joints that are exact and linear in the blocks: Σ w z = c.
    pub rows: Vec<LinearRow>,
    /// Joints that are not: coordinates and what acts on them.
    pub joints: AffineJoints,
    /// Bodies whose joint-space dynamics are computed elsewhere.
    pub articulations: Vec<Articulation>,
}

/// Two bodies, or a body and a half-plane, that begin nearer to each other than the gap ĝ at which contact begins.
///
/// A barrier of the full width would throw them apart by a good part of ĝ in the first step, however short it is. So their own
/// gap begins as what they begin with and widens to ĝ in [`SETTLING`] seconds:
/// $\hat g_{ab}(t) = g_0 + (\hat g - g_0)\min(1, t/T)$. Book: "Intersection-free contact".
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StartGap {
    /// The pair.
    pub pair: [u32; 2],
    /// Its smallest gap at the start \[m\], above 0.
    pub gap: f64,
}

/// T: time in which the gap of what begins too near widens to that of all others \[s\].
pub const SETTLING: f64 = 0.1;

impl StartGap {
    /// ĝ of the pair at time t \[s\], where all others have `full` \[m\].
    pub fn at(&self, full: f64, t: f64) -> f64 {
        if t >= SETTLING { full } else { self.gap + (full - self.gap) * (t / SETTLING).max(0.0) }
    }
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

impl ContactModel {
    /// Positions of all vertices for the flat blocks `z`.
    pub fn positions(&self, z: &[f64], x: &mut Vec<Vec3>) {
        x.clear();
        x.extend(self.maps.iter().map(|m| m.position(z).unwrap_or_default()));
    }

    /// Pairs of bodies, or bodies and grounds, that intersect at the vertex places `x`, by an exact test of edges against
    /// triangles that shares nothing with the solver but the places; sorted, each pair once.
    pub fn intersections(&self, x: &[Vec3]) -> Vec<[&str; 2]> {
        let surface = &self.surface;
        let name = |body: u32| self.names[body as usize].as_str();
        let mut found: Vec<[&str; 2]> = crate::collide::exact::intersections(surface, x)
            .iter()
            .map(|&(edge, triangle)| {
                [name(surface.edge_body[edge as usize]), name(surface.triangle_body[triangle as usize])]
            })
            .collect();
        for (plane, plane_name) in surface.half_planes.iter().zip(&self.plane_names) {
            for (body, b) in surface.bodies.iter().enumerate() {
                let inside = |v: u32| !(plane.height(&x[v as usize]) > 0.0);
                let touches = !b.prescribed() && surface.groups.touch(b.group, plane.group);
                if touches && b.vertices.clone().any(inside) {
                    found.push([name(body as u32), plane_name.as_str()]);
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The pair of a contact, as in [`starts`](Self::starts).
    pub(crate) fn start_pair(&self, c: &Contact) -> [u32; 2] {
        match c.kind {
            Kind::VertexPlane => [c.bodies[0], self.surface.bodies.len() as u32 + c.pair[1]],
            _ => c.body_pair(),
        }
    }

    /// False if there is nothing that could ever touch anything.
    pub fn can_touch(&self) -> bool {
        let bodies = self.surface.bodies.iter().filter(|b| !b.vertices.is_empty()).count();
        let planes = !self.surface.half_planes.is_empty();
        bodies > 1 || (bodies > 0 && (planes || self.surface.bodies.iter().any(|b| b.self_contact)))
    }

    /// True if joints or articulations tie blocks beyond what forces and contacts do: rows, terms and articulations act on
    /// the whole scene at once.
    pub fn has_joints(&self) -> bool {
        !(self.rows.is_empty() && self.joints.terms.is_empty() && self.articulations.is_empty())
    }

    /// Coefficient of friction between two contact groups.
    pub fn friction(&self, a: u32, b: u32) -> f64 {
        self.friction[a as usize * self.groups + b as usize]
    }
}
