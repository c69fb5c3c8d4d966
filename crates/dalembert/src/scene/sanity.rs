//! What may not be at the start of a scene of the method `ipc`: intersections, gaps that are not above zero.

use std::collections::BTreeMap;

use super::build::Notes;
use super::error::Culprits;
use crate::collide::{Broad, Candidates, ContactSet, Kind, exact};
use crate::math::Vec3;
use crate::model::ContactModel;

/// Pairs that are told; a mesh of culprits holds them all.
const MOST_TOLD: usize = 5;
/// Most pairs of near primitives.
const MOST_PAIRS: usize = 20_000_000;

/// Refuses what touches or intersects at the start, by names and numbers of primitives.
pub(super) fn check(contact: &ContactModel, x: &[Vec3], notes: &mut Notes) {
    notes.at("", 0, "");
    if !x.iter().all(|x| x.iter().all(|x| x.is_finite())) {
        // Whatever is not finite was told where it was written.
        if notes.found == 0 {
            notes.error("", "a vertex of a collision surface is not finite");
        }
        return;
    }
    let mut culprits = Collector { contact, x, vertices: BTreeMap::new(), out: Culprits::default() };
    let crossed = intersections(&mut culprits, notes);
    below_ground(&mut culprits, notes);
    if crossed == 0 {
        touching(&mut culprits, notes);
    }
    notes.culprits = culprits.out;
}

fn intersections(culprits: &mut Collector<'_>, notes: &mut Notes) -> usize {
    let found = exact::intersections(&culprits.contact.surface, culprits.x);
    for (k, &(edge, triangle)) in found.iter().enumerate() {
        culprits.edge(edge);
        culprits.triangle(triangle);
        if k < MOST_TOLD {
            let message = format!(
                "`{}` and `{}` intersect at the start: edge {} of the first meets triangle {} of the second",
                culprits.edge_name(edge),
                culprits.triangle_name(triangle),
                culprits.edge_number(edge),
                culprits.triangle_number(triangle),
            );
            notes.error("", message);
        }
    }
    if found.len() > MOST_TOLD {
        notes.error("", format!("and {} more pairs intersect", found.len() - MOST_TOLD));
    }
    found.len()
}

fn below_ground(culprits: &mut Collector<'_>, notes: &mut Notes) {
    let contact = culprits.contact;
    let surface = &contact.surface;
    for (k, plane) in surface.half_planes.iter().enumerate() {
        for (body, b) in surface.bodies.iter().enumerate() {
            if b.prescribed() || !surface.groups.touch(b.group, plane.group) {
                continue;
            }
            let heights = b.vertices.clone().map(|v| (v, plane.height(&culprits.x[v as usize]) - b.radius));
            let (vertex, height) = heights.fold((0, f64::INFINITY), |a, b| if b.1 < a.1 { b } else { a });
            if height <= 0.0 {
                let message = format!(
                    "vertex {} of `{}` is {:.3e} m inside `{}` at the start; it must be outside, beyond its radius of {} m",
                    vertex - b.vertices.start,
                    contact.names[body],
                    -height,
                    contact.plane_names[k],
                    b.radius
                );
                notes.error("", message);
                let inside = |t: &u32| {
                    surface.triangles[*t as usize]
                        .iter()
                        .any(|&v| plane.height(&culprits.x[v as usize]) <= b.radius)
                };
                let triangles: Vec<u32> = b.triangles.clone().filter(inside).collect();
                triangles.into_iter().for_each(|t| culprits.triangle(t));
            }
        }
    }
}

/// Pairs whose distance is not above the sum of their radii.
fn touching(culprits: &mut Collector<'_>, notes: &mut Notes) {
    let contact = culprits.contact;
    let surface = &contact.surface;
    let (mut broad, mut near, mut set) = (Broad::default(), Candidates::default(), ContactSet::default());
    if let Err(error) = broad.near(surface, culprits.x, contact.gap, MOST_PAIRS, &mut near) {
        return notes.error("", error.to_string());
    }
    set.update(surface, &near, culprits.x, contact.gap);
    let mut told = 0;
    let touching = set.contacts.iter().filter(|c| !(c.gap > 0.0) && c.kind != Kind::VertexPlane);
    for c in touching {
        let [a, b] = c.pair;
        let vertex = |v: u32| (culprits.vertex_name(v), "vertex", culprits.vertex_number(v));
        let edge = |e: u32| (culprits.edge_name(e), "edge", culprits.edge_number(e));
        let ((first, kind, i), (second, other, j)) = match c.kind {
            Kind::VertexTriangle => {
                (vertex(a), (culprits.triangle_name(b), "triangle", culprits.triangle_number(b)))
            }
            Kind::EdgeEdge => (edge(a), edge(b)),
            Kind::VertexEdge => (vertex(a), edge(b)),
            Kind::VertexVertex | Kind::VertexPlane => (vertex(a), vertex(b)),
        };
        told += 1;
        if told <= MOST_TOLD {
            let radius = |v: u32| surface.bodies[surface.vertex_body[v as usize] as usize].radius;
            let last = if c.kind == Kind::EdgeEdge { c.vertices[2] } else { c.vertices[1] };
            let need = radius(c.vertices[0]) + radius(last);
            let message = format!(
                "{kind} {i} of `{first}` and {other} {j} of `{second}` are {:.3e} m apart at the start; they must be farther apart than {need:.3e} m, the sum of their half thicknesses",
                (c.gap + need).max(0.0),
            );
            notes.error("", message);
        }
        match c.kind {
            Kind::VertexTriangle => culprits.triangle(b),
            Kind::EdgeEdge => [a, b].into_iter().for_each(|e| culprits.edge(e)),
            Kind::VertexEdge => culprits.edge(b),
            Kind::VertexVertex | Kind::VertexPlane => {}
        }
    }
    if told > MOST_TOLD {
        notes.error("", format!("and {} more pairs touch", told - MOST_TOLD));
    }
}

/// Names primitives and gathers them in a mesh.
struct Collector<'a> {
    contact: &'a ContactModel,
    x: &'a [Vec3],
    /// Number in the mesh of each vertex that it has.
    vertices: BTreeMap<u32, u32>,
    out: Culprits,
}

impl Collector<'_> {
    fn name(&self, body: u32) -> &str {
        self.contact.names[body as usize].as_str()
    }

    fn vertex_name(&self, v: u32) -> &str {
        self.name(self.contact.surface.vertex_body[v as usize])
    }

    fn edge_name(&self, e: u32) -> &str {
        self.name(self.contact.surface.edge_body[e as usize])
    }

    fn triangle_name(&self, t: u32) -> &str {
        self.name(self.contact.surface.triangle_body[t as usize])
    }

    fn vertex_number(&self, v: u32) -> u32 {
        let surface = &self.contact.surface;
        v - surface.bodies[surface.vertex_body[v as usize] as usize].vertices.start
    }

    fn edge_number(&self, e: u32) -> u32 {
        let surface = &self.contact.surface;
        e - surface.bodies[surface.edge_body[e as usize] as usize].edges.start
    }

    fn triangle_number(&self, t: u32) -> u32 {
        let surface = &self.contact.surface;
        t - surface.bodies[surface.triangle_body[t as usize] as usize].triangles.start
    }

    fn vertex(&mut self, v: u32) -> u32 {
        let next = self.out.points.len() as u32;
        *self.vertices.entry(v).or_insert_with(|| {
            self.out.points.push(self.x[v as usize]);
            next
        })
    }

    fn edge(&mut self, e: u32) {
        let ends = self.contact.surface.edges[e as usize].map(|v| self.vertex(v));
        if !self.out.segments.contains(&ends) {
            self.out.segments.push(ends);
        }
    }

    fn triangle(&mut self, t: u32) {
        let corners = self.contact.surface.triangles[t as usize].map(|v| self.vertex(v));
        if !self.out.triangles.contains(&corners) {
            self.out.triangles.push(corners);
        }
    }
}

/// The primitives of pairs that intersect at the places `x` of all vertices, by an exact test.
pub(super) fn culprits(contact: &ContactModel, x: &[Vec3]) -> Culprits {
    let mut culprits = Collector { contact, x, vertices: BTreeMap::new(), out: Culprits::default() };
    for (edge, triangle) in exact::intersections(&contact.surface, x) {
        culprits.edge(edge);
        culprits.triangle(triangle);
    }
    culprits.out
}
