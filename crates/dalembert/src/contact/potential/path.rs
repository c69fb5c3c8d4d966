//! Vertices at the iterate x and at the end x1 of a straight path from there, body by body.

use super::candidate_cache::far2;
use super::geometry::ContactGeometry;
use crate::math::Vec3;
use std::ops::Range;

/// What a body does in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum BodyMotion {
    #[default]
    Free,
    /// It stays where it is for the moment; two such bodies are no pair.
    Inactive,
    /// It has prescribed motion.
    Prescribed,
    /// Nothing moves it.
    Fixed,
}

/// Where vertices are and where a path leads. Iterates and placements are numbered, so that what was taken at one of them is
/// known to be of it.
#[derive(Debug, Default)]
pub(crate) struct VertexPath {
    pub x: Vec<Vec3>,
    pub x1: Vec<Vec3>,
    /// Number of the iterate x.
    pub iterate: u64,
    /// Number of the placement that made x1, and of the one in which each body was placed last.
    pub placement: u64,
    placed: Vec<u64>,
    /// Vertices that the last placement has set, and those of bodies that may move; x1 of all others is their x.
    set: Vec<Range<usize>>,
    moving: Vec<Range<usize>>,
    motion: Vec<BodyMotion>,
    /// What prescribed bodies do in this step.
    prescribed: BodyMotion,
    /// Changes when other bodies become inactive.
    pub activation: u64,
}

/// Adds a range to a rising list.
fn add_range(list: &mut Vec<Range<usize>>, range: Range<usize>) {
    match list.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => list.push(range),
    }
}

/// Largest distance of these vertices, squared \[m²\].
fn far2_of(ranges: &[Range<usize>], a: &[Vec3], b: &[Vec3]) -> f64 {
    ranges.iter().map(|range| far2(&a[range.clone()], &b[range.clone()])).fold(0.0, f64::max)
}

impl VertexPath {
    /// Begins a step at the blocks `q`.
    pub(crate) fn begin(&mut self, geometry: &ContactGeometry, q: &[f64]) {
        geometry.positions(q, &mut self.x1);
        if self.x != self.x1 {
            self.x.clone_from(&self.x1);
            self.iterate += 1;
        }
        // Since the last step anything may have been moved.
        self.placement += 1;
        self.placed.clear();
        self.placed.resize(geometry.surface.bodies.len(), self.placement);
        for list in [&mut self.moving, &mut self.set] {
            list.clear();
            list.push(0..geometry.maps.len());
        }
    }

    /// x1 ← the vertices for the flat blocks `z`, which have changed in the bodies that `changed` names and in no others.
    pub(crate) fn place(&mut self, geometry: &ContactGeometry, z: &[f64], changed: impl Fn(u32) -> bool) {
        self.placement += 1;
        self.set.clear();
        for (b, body) in geometry.surface.bodies.iter().enumerate() {
            if !self.stays(b) && changed(b as u32) {
                self.placed[b] = self.placement;
                add_range(&mut self.set, body.vertices.start as usize..body.vertices.end as usize);
            }
        }
        for range in &self.set {
            for (x, map) in self.x1[range.clone()].iter_mut().zip(&geometry.maps[range.clone()]) {
                *x = map.position(z).unwrap_or_default();
            }
        }
    }

    /// x1 becomes x.
    pub(crate) fn arrive(&mut self) {
        std::mem::swap(&mut self.x, &mut self.x1);
        self.iterate += 1;
    }

    /// True if the last placement left body b where it was.
    pub(crate) fn unmoved(&self, b: usize) -> bool {
        self.placed[b] != self.placement
    }

    /// True if body b was placed after the given placement.
    pub(crate) fn moved_since(&self, b: u32, placement: u64) -> bool {
        self.placed[b as usize] > placement
    }

    /// True if all vertices of x1 have finite places.
    pub(crate) fn is_finite(&self) -> bool {
        let finite = |x: &Vec3| x.iter().all(|x| x.is_finite());
        self.set.iter().all(|range| self.x1[range.clone()].iter().all(finite))
    }

    /// The larger distance of a vertex at x or x1 from `places`, squared \[m²\].
    pub(crate) fn far2_from(&self, places: &[Vec3]) -> f64 {
        far2_of(&self.set, &self.x, places).max(far2_of(&self.set, &self.x1, places))
    }

    /// The longest path of a vertex, squared \[m²\].
    pub(crate) fn length2(&self) -> f64 {
        far2_of(&self.moving, &self.x, &self.x1)
    }

    /// The largest change of an edge vector in the last step, over the length of the edge.
    pub(crate) fn edge_change(&self, geometry: &ContactGeometry) -> f64 {
        let moved = |v: u32| self.x[v as usize] - self.x1[v as usize];
        let mut most = 0.0f64;
        for body in geometry.surface.bodies.iter().filter(|b| !b.prescribed()) {
            let range = body.edges.start as usize..body.edges.end as usize;
            let edges = geometry.surface.edges[range.clone()].iter().zip(&geometry.edge_length2[range]);
            for ([a, b], length2) in edges {
                let change2 = (moved(*a) - moved(*b)).norm_squared();
                most = if change2 > most * length2 { change2 / length2 } else { most };
            }
        }
        most.sqrt()
    }

    /// Begins the steps from x: only bodies that are free move, and prescribed ones if any is to move.
    pub(crate) fn release(&mut self, geometry: &ContactGeometry, prescribed_move: bool) {
        self.prescribed = if prescribed_move { BodyMotion::Prescribed } else { BodyMotion::Fixed };
        self.motion.resize(geometry.surface.bodies.len(), BodyMotion::Free);
        for (motion, body) in self.motion.iter_mut().zip(&geometry.surface.bodies) {
            if body.prescribed() {
                *motion = self.prescribed;
            }
        }
        self.find_moving(geometry);
    }

    /// Leaves out the pairs of two `inactive` bodies from now on.
    pub(crate) fn deactivate(&mut self, geometry: &ContactGeometry, inactive: impl Fn(u32) -> bool) {
        // Bodies that nothing moves are no reason to choose pairs: two of them are never paired.
        let bodies = &geometry.surface.bodies;
        let of = |b: usize| inactive(b as u32) && !bodies[b].prescribed();
        let is = |motion: &BodyMotion| *motion == BodyMotion::Inactive;
        if self.motion.len() == bodies.len() && (0..bodies.len()).all(|b| of(b) == is(&self.motion[b])) {
            return;
        }
        self.motion.clear();
        self.motion.extend((0..bodies.len()).map(|b| match bodies[b].prescribed() {
            true => self.prescribed,
            false if of(b) => BodyMotion::Inactive,
            false => BodyMotion::Free,
        }));
        self.activation += 1;
        self.find_moving(geometry);
    }

    /// Finds the bodies that may move; the others stay where they are.
    fn find_moving(&mut self, geometry: &ContactGeometry) {
        self.moving.clear();
        for (b, body) in geometry.surface.bodies.iter().enumerate() {
            let range = body.vertices.start as usize..body.vertices.end as usize;
            if self.stays(b) {
                self.x1[range.clone()].copy_from_slice(&self.x[range]);
            } else {
                add_range(&mut self.moving, range);
            }
        }
    }

    fn stays(&self, b: usize) -> bool {
        matches!(self.motion.get(b), Some(BodyMotion::Inactive | BodyMotion::Fixed))
    }

    /// True if some body is inactive.
    pub(crate) fn has_inactive(&self) -> bool {
        self.motion.contains(&BodyMotion::Inactive)
    }

    /// True for a body that moves by itself, now.
    pub(crate) fn is_active(&self, b: u32) -> bool {
        matches!(self.motion.get(b as usize), None | Some(BodyMotion::Free))
    }

    /// True for a pair that is left out: both sides are inactive, or one is and the other is a half-plane.
    pub(crate) fn is_idle(&self, bodies: [u32; 2]) -> bool {
        let inactive = |b: u32| self.motion.get(b as usize).map(|m| *m == BodyMotion::Inactive);
        match bodies.map(inactive) {
            [Some(a), Some(b)] => a && b,
            [Some(a), None] | [None, Some(a)] => a,
            [None, None] => false,
        }
    }
}
