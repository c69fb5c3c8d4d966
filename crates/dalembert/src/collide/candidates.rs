//! Pairs of primitives that come near each other at rest or along a motion.
//!
//! Two tiers: boxes of bodies, then for every two bodies whose boxes overlap the trees of their vertices, edges and
//! triangles. A vertex moves along a straight line, so the box of its two ends holds its whole path, and the union of
//! such boxes that of an edge or triangle. Every box is moved out by half the search radius plus the radius of its
//! body: boxes of two primitives closer than radius + ξ at any one time overlap. Boxes of bodies that are turned are large:
//! two small bodies are left alone if a plane across the line between their middles parts the boxes of their vertices.
//!
//! Which kinds of pairs suffice? Triangles, edges and vertices meet first as vertex-triangle or edge-edge; all other
//! combinations of features are regions of these two. Rods (edges of no triangle) and lone points have no triangles of
//! their own: rod against rod is edge-edge, point against rod vertex-edge, point against point vertex-vertex.

use super::bvh::{Aabb, Tree};
use super::ccd::{self, CcdOptions};
use super::distance;
use super::surface::Surface;
use crate::math::Vec3;

/// Pairs of primitives, each list sorted by its numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Candidates {
    /// (vertex, triangle)
    pub vertex_triangle: Vec<[u32; 2]>,
    /// (edge, edge), low number first
    pub edge_edge: Vec<[u32; 2]>,
    /// (vertex, edge): lone points against edges of no triangle
    pub vertex_edge: Vec<[u32; 2]>,
    /// (vertex, vertex): lone points, low number first
    pub vertex_vertex: Vec<[u32; 2]>,
    /// (vertex, half-plane)
    pub vertex_plane: Vec<[u32; 2]>,
}

/// More pairs than allowed, even without any motion.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("more than {limit} pairs of primitives lie within {radius} m of each other")]
pub struct TooMany {
    /// The limit.
    pub limit: usize,
    /// The radius of the search \[m\].
    pub radius: f64,
}

/// Answer of a search along a motion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Swept {
    /// Part of the motion that was searched: below 1 if the whole of it met too many pairs. The caller must not go
    /// further with these candidates.
    pub alpha: f64,
}

#[derive(Debug, Clone, Default)]
struct BodyTrees {
    vertices: Tree,
    edges: Tree,
    triangles: Tree,
}

/// The broad phase: boxes and trees that are kept from search to search of one surface. Dropping it changes no result.
#[derive(Debug, Clone, Default)]
pub struct Broad {
    boxes: Vec<Aabb>,
    /// Bodies whose boxes have changed since their trees took them over.
    stale: Vec<bool>,
    primitive_boxes: Vec<Aabb>,
    body_boxes: Vec<Aabb>,
    bodies: Tree,
    body_pairs: Vec<[u32; 2]>,
    trees: Vec<BodyTrees>,
    sorter: Sorter,
}

impl Broad {
    /// All pairs that may touch and come within `radius` \[m\] plus their own radii at positions `x`. At most `limit`
    /// of them are ever held.
    pub fn near(
        &mut self,
        surface: &Surface,
        x: &[Vec3],
        radius: f64,
        limit: usize,
        out: &mut Candidates,
    ) -> Result<(), TooMany> {
        self.near_by(surface, x, |_| 0.5 * radius, limit, out)
    }

    /// All pairs that are nearer to each other than the two `reach`es of their vertices \[m\] and their radii: a point between
    /// vertices reaches as far as their reaches make, in the same proportion. Half-planes count within twice a reach.
    pub fn near_by(
        &mut self,
        surface: &Surface,
        x: &[Vec3],
        reach: impl Fn(usize) -> f64,
        limit: usize,
        out: &mut Candidates,
    ) -> Result<(), TooMany> {
        if self.search(surface, x, x, 0.0, &reach, limit, out) {
            return Ok(());
        }
        let radius = (0..x.len()).map(|v| 2.0 * reach(v)).fold(0.0, f64::max);
        Err(TooMany { limit, radius })
    }

    /// The same along the straight motion from `x0` to `x1`. If it meets more than `limit` pairs the motion is cut to a
    /// quarter, and again, at last to nothing; [`Swept::alpha`] says how much was searched.
    pub fn swept(
        &mut self,
        surface: &Surface,
        x0: &[Vec3],
        x1: &[Vec3],
        radius: f64,
        limit: usize,
        out: &mut Candidates,
    ) -> Result<Swept, TooMany> {
        let mut alpha = 1.0;
        // 4⁻³⁰ of a motion is below rounding, unless it is absurdly long.
        for _ in 0..30 {
            if self.search(surface, x0, x1, alpha, |_| 0.5 * radius, limit, out) {
                return Ok(Swept { alpha });
            }
            alpha *= 0.25;
        }
        self.near(surface, x0, radius, limit, out).map(|()| Swept { alpha: 0.0 })
    }

    /// Builds all trees anew at the next search, in the memory that they have.
    pub fn forget(&mut self) {
        self.stale.fill(true);
        self.bodies.clear();
        for trees in &mut self.trees {
            trees.vertices.clear();
            trees.edges.clear();
            trees.triangles.clear();
        }
    }

    /// Pairs of bodies that may have come near each other in the last search, low number first, sorted; (b, b) for a body that
    /// may touch itself.
    pub fn body_pairs(&self) -> &[[u32; 2]] {
        &self.body_pairs
    }

    /// False if there are more than `limit`.
    fn search(
        &mut self,
        surface: &Surface,
        x0: &[Vec3],
        x1: &[Vec3],
        alpha: f64,
        reach: impl Fn(usize) -> f64,
        limit: usize,
        out: &mut Candidates,
    ) -> bool {
        out.clear();
        self.vertex_boxes(surface, x0, x1, alpha, &reach);
        self.find_body_pairs(surface);
        self.drop_parted(surface);
        self.refit_trees(surface);
        self.primitive_pairs(surface, [x0, x1], alpha, |v| 2.0 * reach(v), limit, out)
    }

    /// All pairs of `wanted` bodies with any others that come nearer to each other than the two reaches of their vertices
    /// \[m\] (see [`near_by`](Self::near_by)) and their radii
    /// on the straight motion from `x0` to `x1`, and within twice its reach of a half-plane. At most `limit` of them are
    /// ever held.
    pub fn around(
        &mut self,
        surface: &Surface,
        [x0, x1]: [&[Vec3]; 2],
        wanted: &[bool],
        reach: impl Fn(usize) -> f64,
        limit: usize,
        out: &mut Candidates,
    ) -> Result<(), TooMany> {
        out.clear();
        self.vertex_boxes(surface, x0, x1, 1.0, &reach);
        self.bodies.refit(&self.body_boxes);
        let list = &mut self.body_pairs;
        list.clear();
        for a in (0..wanted.len() as u32).filter(|&a| wanted[a as usize]) {
            self.bodies.query(&self.body_boxes[a as usize], |b| {
                // Two wanted bodies find each other twice.
                if (b >= a || !wanted[b as usize]) && surface.bodies_touch(a, b) {
                    list.push([a.min(b), a.max(b)]);
                }
                true
            });
        }
        list.sort_unstable();
        self.drop_parted(surface);
        self.refit_trees(surface);
        let own = |v: usize| wanted[surface.vertex_body[v] as usize];
        let planes = |v: usize| if own(v) { 2.0 * reach(v) } else { f64::NEG_INFINITY };
        if self.primitive_pairs(surface, [x0, x1], 1.0, planes, limit, out) {
            return Ok(());
        }
        let radius = (0..x0.len()).filter(|&v| own(v)).map(|v| 2.0 * reach(v)).fold(0.0, f64::max);
        Err(TooMany { limit, radius })
    }

    /// Pairs of primitives of all pairs of bodies, and with half-planes nearer than `plane` of a vertex; false if there are
    /// more than `limit`.
    fn primitive_pairs(
        &mut self,
        surface: &Surface,
        [x0, x1]: [&[Vec3]; 2],
        alpha: f64,
        plane: impl Fn(usize) -> f64,
        limit: usize,
        out: &mut Candidates,
    ) -> bool {
        let mut left = limit;
        for &[a, b] in &self.body_pairs {
            if !pairs_of_bodies(surface, &self.trees, a, b, &mut left, out) {
                out.clear();
                return false;
            }
        }
        if !vertex_planes(surface, [x0, x1], alpha, plane, left, out) {
            out.clear();
            return false;
        }
        let (vertices, edges) = (surface.maps.len(), surface.edges.len());
        self.sorter.sort(&mut out.vertex_triangle, [vertices, surface.triangles.len()]);
        self.sorter.sort(&mut out.edge_edge, [edges; 2]);
        self.sorter.sort(&mut out.vertex_edge, [vertices, edges]);
        self.sorter.sort(&mut out.vertex_vertex, [vertices; 2]);
        true
    }

    fn vertex_boxes(
        &mut self,
        surface: &Surface,
        x0: &[Vec3],
        x1: &[Vec3],
        alpha: f64,
        reach: impl Fn(usize) -> f64,
    ) {
        assert!(x0.len() == surface.maps.len() && x1.len() == x0.len(), "one position per vertex");
        if self.boxes.len() != x0.len() || self.stale.len() != surface.bodies.len() {
            self.boxes.clear();
            self.boxes.resize(x0.len(), Aabb::EMPTY);
            self.stale.clear();
            self.stale.resize(surface.bodies.len(), true);
        }
        self.body_boxes.clear();
        for (body, stale) in surface.bodies.iter().zip(&mut self.stale) {
            let mut bounds = Aabb::EMPTY;
            for i in body.vertices.start as usize..body.vertices.end as usize {
                let end = part_way(&x0[i], &x1[i], alpha);
                let b = Aabb::of(&x0[i], &end, reach(i) + body.radius);
                bounds = bounds.union(&b);
                *stale |= b != self.boxes[i];
                self.boxes[i] = b;
            }
            self.body_boxes.push(bounds);
        }
    }

    fn find_body_pairs(&mut self, surface: &Surface) {
        self.bodies.refit(&self.body_boxes);
        let list = &mut self.body_pairs;
        list.clear();
        self.bodies.self_pairs(|a, b| {
            if surface.bodies_touch(a, b) {
                list.push([a.min(b), a.max(b)]);
            }
            true
        });
        list.extend((0..surface.bodies.len() as u32).filter(|&b| surface.bodies_touch(b, b)).map(|b| [b, b]));
        list.sort_unstable();
    }

    /// Drops the pairs of small bodies with a plane between them across the line of their middles.
    fn drop_parted(&mut self, surface: &Surface) {
        let Self { boxes, body_boxes, body_pairs, .. } = self;
        body_pairs.retain(|&[a, b]| {
            let [A, B] = [a, b].map(|b| &surface.bodies[b as usize].vertices);
            if a == b || A.len() + B.len() > SMALL {
                return true;
            }
            let [A, B] = [A, B].map(|v| &boxes[v.start as usize..v.end as usize]);
            let [origin, other] = [a, b].map(|b| body_boxes[b as usize].middle());
            let along = other - origin;
            let end = A.iter().map(|b| b.ends_along(&along, &origin)[1]).fold(f64::NEG_INFINITY, f64::max);
            let start = B.iter().map(|b| b.ends_along(&along, &origin)[0]).fold(f64::INFINITY, f64::min);
            // Rounding is far less; what is not a number parts nothing.
            !(start - end > ROUNDING * (start.abs() + end.abs()))
        });
    }

    /// Trees of the bodies that have somebody near, where boxes have changed.
    fn refit_trees(&mut self, surface: &Surface) {
        self.trees.resize_with(surface.bodies.len(), BodyTrees::default);
        let mut needed = vec![false; surface.bodies.len()];
        for pair in &self.body_pairs {
            needed[pair[0] as usize] = true;
            needed[pair[1] as usize] = true;
        }
        for (b, body) in surface.bodies.iter().enumerate() {
            if !(needed[b] && self.stale[b]) {
                continue;
            }
            self.stale[b] = false;
            let (trees, boxes) = (&mut self.trees[b], &self.boxes);
            trees.vertices.refit(&boxes[body.vertices.start as usize..body.vertices.end as usize]);
            let list = &mut self.primitive_boxes;
            list.clear();
            let edges = &surface.edges[body.edges.start as usize..body.edges.end as usize];
            list.extend(edges.iter().map(|e| boxes[e[0] as usize].union(&boxes[e[1] as usize])));
            trees.edges.refit(list);
            list.clear();
            let triangles = &surface.triangles[body.triangles.start as usize..body.triangles.end as usize];
            list.extend(triangles.iter().map(|t| {
                let [a, b, c] = t.map(|i| &boxes[i as usize]);
                a.union(b).union(c)
            }));
            trees.triangles.refit(list);
        }
    }
}

/// Vertices of two bodies up to which a plane between them is tried before their trees.
const SMALL: usize = 64;
/// How far boxes must be apart along a direction, relative to where they are on it.
const ROUNDING: f64 = 1e-12;

/// Position after the part `alpha` of the path.
#[inline(always)]
fn part_way(x0: &Vec3, x1: &Vec3, alpha: f64) -> Vec3 {
    if alpha == 1.0 {
        *x1
    } else if alpha == 0.0 {
        *x0
    } else {
        x0 + alpha * (x1 - x0)
    }
}

/// Vertices that come within their `radius` of a half-plane; false if there are more than `limit`.
fn vertex_planes(
    surface: &Surface,
    [x0, x1]: [&[Vec3]; 2],
    alpha: f64,
    radius: impl Fn(usize) -> f64,
    limit: usize,
    out: &mut Candidates,
) -> bool {
    if surface.half_planes.is_empty() {
        return true;
    }
    for body in surface.bodies.iter().filter(|b| !b.prescribed()) {
        for v in body.vertices.clone().filter(|&v| surface.maps[v as usize].n > 0) {
            let radius = radius(v as usize);
            if radius < 0.0 {
                continue;
            }
            let (a, b) = (&x0[v as usize], &x1[v as usize]);
            for (k, plane) in surface.half_planes.iter().enumerate() {
                let low = plane.height(a).min(plane.height(&part_way(a, b, alpha)));
                if low > radius + body.radius || !surface.groups.touch(body.group, plane.group) {
                    continue;
                }
                if out.vertex_plane.len() >= limit {
                    return false;
                }
                out.vertex_plane.push([v, k as u32]);
            }
        }
    }
    true
}

/// Pairs of primitives of bodies a ≤ b; false if there are more than `left`, which is lowered by their number.
fn pairs_of_bodies(
    surface: &Surface,
    trees: &[BodyTrees],
    a: u32,
    b: u32,
    left: &mut usize,
    out: &mut Candidates,
) -> bool {
    let (A, B) = (&surface.bodies[a as usize], &surface.bodies[b as usize]);
    let (tree_a, tree_b) = (&trees[a as usize], &trees[b as usize]);
    let mut push = |list: &mut Vec<[u32; 2]>, pair: [u32; 2]| {
        if *left == 0 {
            return false;
        }
        *left -= 1;
        list.push(pair);
        true
    };
    let own = a == b;
    // (body of the vertices, body of the triangles)
    let both = [(A, tree_a, B, tree_b), (B, tree_b, A, tree_a)];
    for (P, points, T, others) in &both[..if own { 1 } else { 2 }] {
        let (v0, t0) = (P.vertices.start, T.triangles.start);
        let list = &mut out.vertex_triangle;
        let go = points.vertices.pairs(&others.triangles, |v, t| {
            let (v, t) = (v0 + v, t0 + t);
            if own && surface.triangles[t as usize].contains(&v) {
                return true;
            }
            push(list, [v, t])
        });
        if !go {
            return false;
        }
    }
    let list = &mut out.edge_edge;
    let (e0, f0) = (A.edges.start, B.edges.start);
    let go = if own {
        tree_a.edges.self_pairs(|e, f| {
            let (e, f) = (e0 + e.min(f), e0 + e.max(f));
            let ends = &surface.edges[f as usize];
            surface.edges[e as usize].iter().any(|i| ends.contains(i)) || push(list, [e, f])
        })
    } else {
        tree_a.edges.pairs(&tree_b.edges, |e, f| push(list, [e0 + e, f0 + f]))
    };
    if !go {
        return false;
    }
    if !A.has_lone_points && !B.has_lone_points {
        return true;
    }
    let lone = |v: u32| surface.codimension[v as usize] == 3;
    for (P, points, T, others) in &both[..if own { 1 } else { 2 }] {
        if !(P.has_lone_points && T.has_lone_edges) {
            continue;
        }
        let list = &mut out.vertex_edge;
        let go = points.vertices.pairs(&others.edges, |v, e| {
            let (v, e) = (P.vertices.start + v, T.edges.start + e);
            !lone(v) || !surface.edge_is_lone[e as usize] || push(list, [v, e])
        });
        if !go {
            return false;
        }
    }
    let list = &mut out.vertex_vertex;
    let (v0, w0) = (A.vertices.start, B.vertices.start);
    let mut visit = |v: u32, w: u32| !lone(v) || !lone(w) || push(list, [v.min(w), v.max(w)]);
    if own {
        tree_a.vertices.self_pairs(|v, w| visit(v0 + v, v0 + w))
    } else {
        tree_a.vertices.pairs(&tree_b.vertices, |v, w| visit(v0 + v, w0 + w))
    }
}

/// Sorts pairs by counting: by their second numbers, then, keeping that order, by their first.
#[derive(Debug, Clone, Default)]
struct Sorter {
    start: Vec<u32>,
    other: Vec<[u32; 2]>,
}

impl Sorter {
    /// Sorts pairs whose numbers lie below `counts`.
    fn sort(&mut self, list: &mut Vec<[u32; 2]>, counts: [usize; 2]) {
        if list.len() < (counts[0] + counts[1]) / 8 {
            return list.sort_unstable();
        }
        if self.other.len() < list.len() {
            self.other.resize(list.len(), [0; 2]);
        }
        let n = list.len();
        self.pass::<1>(counts[1], list);
        // The list and its sorted copy change places; what is left beyond n is never read.
        std::mem::swap(list, &mut self.other);
        list.truncate(n);
        if self.other.len() < n {
            self.other.resize(n, [0; 2]);
        }
        self.pass::<0>(counts[0], list);
        std::mem::swap(list, &mut self.other);
        list.truncate(n);
    }

    /// Copies the list to `other`, sorted by number K of each pair; equal ones keep their order.
    fn pass<const K: usize>(&mut self, count: usize, list: &[[u32; 2]]) {
        self.start.clear();
        self.start.resize(count + 1, 0);
        for pair in list {
            self.start[pair[K] as usize + 1] += 1;
        }
        for i in 0..count {
            self.start[i + 1] += self.start[i];
        }
        for pair in list {
            let at = &mut self.start[pair[K] as usize];
            self.other[*at as usize] = *pair;
            *at += 1;
        }
    }
}

impl Candidates {
    /// Forgets all pairs and keeps the memory.
    pub fn clear(&mut self) {
        self.vertex_triangle.clear();
        self.edge_edge.clear();
        self.vertex_edge.clear();
        self.vertex_vertex.clear();
        self.vertex_plane.clear();
    }

    /// Takes the pairs of another list, in the memory that there is.
    pub fn copy_from(&mut self, other: &Self) {
        self.vertex_triangle.clone_from(&other.vertex_triangle);
        self.edge_edge.clone_from(&other.edge_edge);
        self.vertex_edge.clone_from(&other.vertex_edge);
        self.vertex_vertex.clone_from(&other.vertex_vertex);
        self.vertex_plane.clone_from(&other.vertex_plane);
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.vertex_triangle.len()
            + self.edge_edge.len()
            + self.vertex_edge.len()
            + self.vertex_vertex.len()
            + self.vertex_plane.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Part of the motion from `x0` to `x1` that every pair may take, at most `longest`: additive continuous collision
    /// detection, each pair with the sum of its radii as separation (`options.separation` is added to it).
    pub fn free_step(
        &self,
        surface: &Surface,
        x0: &[Vec3],
        x1: &[Vec3],
        longest: f64,
        options: &CcdOptions,
    ) -> f64 {
        // A pair needs to be followed only as far as the others may go.
        let step = std::cell::Cell::new(longest);
        self.each_time(surface, x0, x1, options, |_| step.get(), |_, t| step.set(step.get().min(t)));
        step.get()
    }

    /// Calls `take` with the bodies (`u32::MAX` for a half-plane) and the time of every pair. `longest` says how far a
    /// pair of bodies needs to be followed; pairs with 0 are left out.
    pub fn each_time(
        &self,
        surface: &Surface,
        x0: &[Vec3],
        x1: &[Vec3],
        options: &CcdOptions,
        longest: impl Fn([u32; 2]) -> f64,
        mut take: impl FnMut([u32; 2], f64),
    ) {
        self.each_vertex_time(surface, x0, x1, options, |_, b| longest(b), |_, bodies, t| take(bodies, t));
    }

    /// The same; `take` also gets the vertices of the pair, unused places repeating one of them.
    pub fn each_vertex_time(
        &self,
        surface: &Surface,
        x0: &[Vec3],
        x1: &[Vec3],
        options: &CcdOptions,
        longest: impl Fn([u32; 4], [u32; 2]) -> f64,
        mut take: impl FnMut([u32; 4], [u32; 2], f64),
    ) {
        let mut o = CcdOptions { longest: 1.0, ..*options };
        let radius = |body: u32| surface.bodies[body as usize].radius;
        let vertex = |v: u32| surface.vertex_body[v as usize];
        let edge = |e: u32| surface.edge_body[e as usize];
        for &[v, t] in &self.vertex_triangle {
            let [a, b, c] = surface.triangles[t as usize];
            let (vertices, bodies) = ([v, a, b, c], [vertex(v), vertex(a)]);
            o.longest = longest(vertices, bodies);
            if o.longest == 0.0 {
                continue;
            }
            let i = vertices.map(|i| i as usize);
            o.separation = options.separation + radius(bodies[0]) + radius(bodies[1]);
            let (y0, y1) = (i.map(|i| x0[i]), i.map(|i| x1[i]));
            if distance::far_apart::<4, 1>(&y0, &y1, o.separation) {
                take(vertices, bodies, o.longest);
            } else {
                take(vertices, bodies, ccd::point_triangle(&y0, &y1, &o));
            }
        }
        for &[e, f] in &self.edge_edge {
            let bodies = [edge(e), edge(f)];
            let ([a, b], [c, d]) = (surface.edges[e as usize], surface.edges[f as usize]);
            let vertices = [a, b, c, d];
            o.longest = longest(vertices, bodies);
            if o.longest == 0.0 {
                continue;
            }
            let i = vertices.map(|i| i as usize);
            o.separation = options.separation + radius(bodies[0]) + radius(bodies[1]);
            let (y0, y1) = (i.map(|i| x0[i]), i.map(|i| x1[i]));
            if distance::far_apart::<4, 2>(&y0, &y1, o.separation) {
                take(vertices, bodies, o.longest);
            } else {
                take(vertices, bodies, ccd::edge_edge(&y0, &y1, &o));
            }
        }
        for &[v, e] in &self.vertex_edge {
            let bodies = [vertex(v), edge(e)];
            let [a, b] = surface.edges[e as usize];
            o.longest = longest([v, a, b, v], bodies);
            if o.longest == 0.0 {
                continue;
            }
            let i = [v, a, b].map(|i| i as usize);
            o.separation = options.separation + radius(bodies[0]) + radius(bodies[1]);
            let t = ccd::point_edge(&i.map(|i| x0[i]), &i.map(|i| x1[i]), &o);
            take([v, a, b, v], bodies, t);
        }
        for &[v, w] in &self.vertex_vertex {
            let bodies = [vertex(v), vertex(w)];
            o.longest = longest([v, w, v, w], bodies);
            if o.longest == 0.0 {
                continue;
            }
            let i = [v, w].map(|i| i as usize);
            o.separation = options.separation + radius(bodies[0]) + radius(bodies[1]);
            let t = ccd::point_point(&i.map(|i| x0[i]), &i.map(|i| x1[i]), &o);
            take([v, w, v, w], bodies, t);
        }
        for &[v, k] in &self.vertex_plane {
            let bodies = [vertex(v), u32::MAX];
            o.longest = longest([v; 4], bodies);
            if o.longest == 0.0 {
                continue;
            }
            let plane = &surface.half_planes[k as usize];
            let [h0, h1] = [x0, x1].map(|x| plane.height(&x[v as usize]));
            o.separation = options.separation + radius(bodies[0]);
            take([v; 4], bodies, ccd::point_plane(h0, h1, &o));
        }
    }
}
