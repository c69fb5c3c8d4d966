//! What may touch what under intersection-free contact: surfaces, friction by pairs of groups, gaps.

use crate::collide::{Contact, Kind, Surface, VertexMap};
use crate::math::Vec3;

/// Collision geometry and the numbers that contact needs, in the order of the unknown 3-vectors ("blocks").
#[derive(Debug, Clone, Default)]
pub struct ContactGeometry {
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
    /// Mass that decides how stiff contact at a vertex is \[kg\]: that of the body for affine bodies, that of the node
    /// otherwise, 0 for held ones.
    pub vertex_mass: Vec<f64>,
    /// Squared length of each edge at the start \[m²\].
    pub edge_length2: Vec<f64>,
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

impl ContactGeometry {
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

    /// Coefficient of friction between two contact groups.
    pub fn friction(&self, a: u32, b: u32) -> f64 {
        self.friction[a as usize * self.groups + b as usize]
    }

    /// Coefficient of friction of a contact.
    pub(super) fn friction_of(&self, c: &Contact) -> f64 {
        let surface = &self.surface;
        let group = |v: u32| surface.bodies[surface.vertex_body[v as usize] as usize].group;
        let other = match c.kind {
            Kind::VertexPlane => surface.half_planes[c.pair[1] as usize].group,
            Kind::EdgeEdge => group(c.vertices[2]),
            _ => group(c.vertices[1]),
        };
        self.friction(group(c.vertices[0]), other)
    }

    /// Number of the second side of a contact: its body, or a half-plane after all bodies.
    pub(crate) fn second_side(&self, c: &Contact) -> u32 {
        match c.kind {
            Kind::VertexPlane => self.surface.bodies.len() as u32 + c.pair[1],
            _ => c.bodies[1],
        }
    }
}
