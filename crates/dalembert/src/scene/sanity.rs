//! What may not be at the start of a scene of the method `ipc`: intersections, gaps that are not above zero.

use std::collections::BTreeMap;

use super::diagnostics::Diagnostics;
use super::error::Culprits;
use crate::collide::{Broad, Candidates, Contact, ContactSet, Kind, exact};
use crate::contact::potential::{ContactGeometry, StartGap};
use crate::math::Vec3;

/// Pairs of bodies that are told; a mesh of culprits holds them all.
const MOST_TOLD: usize = 5;
/// Most pairs of near primitives.
const MOST_PAIRS: usize = 20_000_000;

/// Refuses what touches or intersects at the start, by names and numbers of primitives; returns what begins nearer than the gap.
pub(super) fn check(geometry: &ContactGeometry, x: &[Vec3], notes: &mut Diagnostics) -> Vec<StartGap> {
    notes.at("", 0, "");
    if !x.iter().all(|x| x.iter().all(|x| x.is_finite())) {
        // Whatever is not finite was told where it was written.
        if notes.found == 0 {
            notes.error("", "a vertex of a collision surface is not finite");
        }
        return Vec::new();
    }
    let mut culprits = Collector { geometry, x, vertices: BTreeMap::new(), out: Culprits::default() };
    let crossed = intersections(&mut culprits, notes);
    below_ground(&mut culprits, notes);
    let starts = if crossed == 0 { touching(&mut culprits, notes) } else { Vec::new() };
    notes.culprits = culprits.out;
    starts
}

/// Each two bodies once, with the first of their primitives that meet, and how many more do.
fn intersections(culprits: &mut Collector<'_>, notes: &mut Diagnostics) -> usize {
    let found = exact::intersections(&culprits.geometry.surface, culprits.x);
    let mut bodies: BTreeMap<[u32; 2], (u32, u32, usize)> = BTreeMap::new();
    for &(edge, triangle) in &found {
        culprits.edge(edge);
        culprits.triangle(triangle);
        let surface = &culprits.geometry.surface;
        let both = sorted(surface.edge_body[edge as usize], surface.triangle_body[triangle as usize]);
        bodies.entry(both).or_insert((edge, triangle, 0)).2 += 1;
    }
    for &(edge, triangle, count) in bodies.values().take(MOST_TOLD) {
        let (first, second) = (culprits.edge_name(edge), culprits.triangle_name(triangle));
        let message = format!(
            "`{first}` and `{second}` intersect at the start, or touch: edge {} of the first meets triangle {} of the second{}; leave a gap between them",
            culprits.edge_number(edge),
            culprits.triangle_number(triangle),
            more(count - 1),
        );
        notes.at_last_of(&culprits.in_order(first, second));
        notes.error("", message);
    }
    rest_untold(bodies.len(), "intersect", notes);
    found.len()
}

fn sorted(a: u32, b: u32) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

/// So many pairs of primitives that are not told.
fn more(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => ", and one more pair does so".into(),
        n => format!(", and {n} more pairs do so"),
    }
}

/// Pairs of bodies beyond those that are told.
fn rest_untold(found: usize, what: &str, notes: &mut Diagnostics) {
    notes.at("", 0, "");
    if found > MOST_TOLD {
        notes.error("", format!("and {} more pairs of bodies {what} at the start", found - MOST_TOLD));
    }
}

fn below_ground(culprits: &mut Collector<'_>, notes: &mut Diagnostics) {
    let geometry = culprits.geometry;
    let surface = &geometry.surface;
    for (k, plane) in surface.half_planes.iter().enumerate() {
        for (body, b) in surface.bodies.iter().enumerate() {
            if b.prescribed() || !surface.groups.touch(b.group, plane.group) {
                continue;
            }
            let heights = b.vertices.clone().map(|v| (v, plane.height(&culprits.x[v as usize]) - b.radius));
            let (vertex, height) = heights.fold((0, f64::INFINITY), |a, b| if b.1 < a.1 { b } else { a });
            if height <= 0.0 {
                let (own, ground) = (geometry.names[body].as_str(), &geometry.plane_names[k]);
                let vertex = vertex - b.vertices.start;
                let skin = if b.radius > 0.0 { " with half its thickness" } else { "" };
                let message = if height == 0.0 {
                    format!(
                        "vertex {vertex} of `{own}`{skin} touches `{ground}` at the start; leave a gap, however small"
                    )
                } else {
                    format!(
                        "vertex {vertex} of `{own}`{skin} is {:.3e} m inside `{ground}` at the start; lift `{own}` by more than that",
                        -height
                    )
                };
                notes.at_last_of(&[own]);
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

/// Pairs whose distance is not above the sum of their radii; each two bodies once, with the nearest of them. Returns those that
/// are nearer than the gap and do not touch.
fn touching(culprits: &mut Collector<'_>, notes: &mut Diagnostics) -> Vec<StartGap> {
    let geometry = culprits.geometry;
    let surface = &geometry.surface;
    let (mut broad, mut near, mut set) = (Broad::default(), Candidates::default(), ContactSet::default());
    if let Err(error) = broad.near(surface, culprits.x, geometry.gap, MOST_PAIRS, &mut near) {
        notes.error("", error.to_string());
        return Vec::new();
    }
    set.update(surface, &near, culprits.x, geometry.gap);
    let mut starts: BTreeMap<[u32; 2], f64> = BTreeMap::new();
    for c in set.contacts.iter().filter(|c| c.gap > 0.0 && c.gap < geometry.gap) {
        let least = starts.entry(geometry.start_pair(c)).or_insert(c.gap);
        *least = least.min(c.gap);
    }
    let body = |v: u32| surface.vertex_body[v as usize];
    let ends = |c: &Contact| {
        [c.vertices[0], if c.kind == Kind::EdgeEdge { c.vertices[2] } else { c.vertices[1] }].map(body)
    };
    let mut bodies: BTreeMap<[u32; 2], (&Contact, usize)> = BTreeMap::new();
    for c in set.contacts.iter().filter(|c| !(c.gap > 0.0) && c.kind != Kind::VertexPlane) {
        let [a, b] = c.pair;
        match c.kind {
            Kind::VertexTriangle => culprits.triangle(b),
            Kind::EdgeEdge => [a, b].into_iter().for_each(|e| culprits.edge(e)),
            Kind::VertexEdge => culprits.edge(b),
            Kind::VertexVertex | Kind::VertexPlane => {}
        }
        let [first, second] = ends(c);
        let nearest = bodies.entry(sorted(first, second)).or_insert((c, 0));
        nearest.1 += 1;
        if c.gap < nearest.0.gap {
            nearest.0 = c;
        }
    }
    for (c, count) in bodies.values().take(MOST_TOLD) {
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
        let need: f64 = ends(c).map(|body| surface.bodies[body as usize].radius).iter().sum();
        let message = format!(
            "{kind} {i} of `{first}` and {other} {j} of `{second}` are {:.3e} m apart at the start{}; they must be farther apart than {need:.3e} m, the sum of their half thicknesses",
            (c.gap + need).max(0.0),
            if *count > 1 { format!(" (and {} more pairs too near)", count - 1) } else { String::new() },
        );
        notes.at_last_of(&culprits.in_order(first, second));
        notes.error("", message);
    }
    rest_untold(bodies.len(), "touch", notes);
    starts.into_iter().map(|(pair, gap)| StartGap { pair, gap }).collect()
}

/// Names primitives and gathers them in a mesh.
struct Collector<'a> {
    geometry: &'a ContactGeometry,
    x: &'a [Vec3],
    /// Number in the mesh of each vertex that it has.
    vertices: BTreeMap<u32, u32>,
    out: Culprits,
}

impl Collector<'_> {
    fn name(&self, body: u32) -> &str {
        self.geometry.names[body as usize].as_str()
    }

    /// Two names in the order in which the surface has their bodies.
    fn in_order<'b>(&self, a: &'b str, b: &'b str) -> [&'b str; 2] {
        let place = |name: &str| self.geometry.names.iter().position(|n| n == name);
        if place(a) <= place(b) { [a, b] } else { [b, a] }
    }

    fn vertex_name(&self, v: u32) -> &str {
        self.name(self.geometry.surface.vertex_body[v as usize])
    }

    fn edge_name(&self, e: u32) -> &str {
        self.name(self.geometry.surface.edge_body[e as usize])
    }

    fn triangle_name(&self, t: u32) -> &str {
        self.name(self.geometry.surface.triangle_body[t as usize])
    }

    fn vertex_number(&self, v: u32) -> u32 {
        let surface = &self.geometry.surface;
        v - surface.bodies[surface.vertex_body[v as usize] as usize].vertices.start
    }

    fn edge_number(&self, e: u32) -> u32 {
        let surface = &self.geometry.surface;
        e - surface.bodies[surface.edge_body[e as usize] as usize].edges.start
    }

    fn triangle_number(&self, t: u32) -> u32 {
        let surface = &self.geometry.surface;
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
        let ends = self.geometry.surface.edges[e as usize].map(|v| self.vertex(v));
        if !self.out.segments.contains(&ends) {
            self.out.segments.push(ends);
        }
    }

    fn triangle(&mut self, t: u32) {
        let corners = self.geometry.surface.triangles[t as usize].map(|v| self.vertex(v));
        if !self.out.triangles.contains(&corners) {
            self.out.triangles.push(corners);
        }
    }
}

/// The primitives of pairs that intersect at the places `x` of all vertices, by an exact test.
pub(super) fn culprits(geometry: &ContactGeometry, x: &[Vec3]) -> Culprits {
    let mut culprits = Collector { geometry, x, vertices: BTreeMap::new(), out: Culprits::default() };
    for (edge, triangle) in exact::intersections(&geometry.surface, x) {
        culprits.edge(edge);
        culprits.triangle(triangle);
    }
    culprits.out
}
