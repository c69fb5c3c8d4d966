//! Cache of candidates: a Verlet list (Verlet 1967) of pairs of primitives, kept while no body has left its margin.
//!
//! Every vertex has a reference $y_i$ and, if candidates were sought along a path, a displacement $u_i$ on it, and a
//! margin $c_i$. A body is *held* at a time t of the path while all its vertices are within $c_i/2$ of $y_i + t u_i$. Such places, with
//! one t for all, are a convex set, so that what moves on a straight line from one to another stays in it. A pair of
//! primitives with vertices i and j comes within the gap there only if its distance at y is at most
//!
//! $$ \hat g + \tfrac12\big(\max_i c_i + \max_j c_j\big) + \max_{ij}|u_i - u_j| , $$
//!
//! and all those pairs are kept. Bodies that are not held any more are *stale*: they get references about their own path, which
//! they do not leave ($u = 0$), and margins of their own, and pairs are sought around them alone: one box that is thrown across a
//! heap does not cost a search through the heap. If many bodies are stale, everything is sought anew.
//!
//! A search should serve for several steps. So a margin is as wide as a vertex goes in a few of them, and the reference lies
//! ahead: not at the end of the path but beyond it, where the next step leads. In a sheet every vertex has its own margin:
//! where it lies on something it is slow, and what swings fast has little near it. Bodies have one for all their vertices.

use super::culling::Culling;
use crate::collide::{Broad, Candidates, Carrier, Surface, SurfaceBody, TooMany};
use crate::math::Vec3;

/// Widths of margins, and when to search around single bodies. They change how often is searched, and no result.
struct Tuning {
    /// Most pairs of primitives in one search: 160 MB of them.
    most_pairs: usize,
    /// Largest margin, in gaps: wider ones keep more pairs than they save searches.
    margin: f64,
    /// That of a sheet may be up to this many gaps, if it is no more than `edge_part` of an edge: beyond that each vertex has
    /// pairs with all triangles of a fold.
    sheet_margin: f64,
    edge_part: f64,
    /// Margin as a multiple of what a vertex moves in a step, of bodies and of sheets; vertices of a sheet count as no slower
    /// than the part `slowest` of the fastest of them.
    steps: f64,
    sheet_steps: f64,
    slowest: f64,
    /// A reference lies this many paths ahead, and at most the part `ahead_margin` of the margin.
    ahead: f64,
    ahead_margin: f64,
    /// Margin of a list along a path, as a part of the path.
    swept_margin: f64,
    /// Part of half the margin that the path itself may take.
    path: f64,
    /// Pairs are sought around single bodies while fewer than one in so many is stale.
    few: usize,
}

const TUNING: Tuning = Tuning {
    most_pairs: 20_000_000,
    margin: 10.0,
    sheet_margin: 30.0,
    edge_part: 0.5,
    steps: 6.0,
    sheet_steps: 4.0,
    slowest: 0.1,
    ahead: 1.5,
    ahead_margin: 0.3,
    swept_margin: 0.5,
    path: 0.9,
    few: 2,
};

/// Candidates and the places that they serve for.
#[derive(Debug, Default)]
pub(super) struct CandidateCache {
    broad: Broad,
    pub candidates: Candidates,
    pub culling: Culling,
    /// Where vertices were when candidates were sought, and the ends of the paths along which they were; empty if at rest.
    pub reference: Vec<Vec3>,
    ends: Vec<Vec3>,
    /// Margin of each vertex \[m\]; empty if nothing was sought yet.
    margins: Vec<f64>,
    /// Where vertices were at the start of the step, and how far each went in the step before \[m\].
    start: Vec<Vec3>,
    pace: Vec<f64>,
    /// Bodies that are not held, and what was found around them.
    stale: Vec<bool>,
    fresh: Candidates,
    fresh_culling: Culling,
}

/// Largest distance of vertices, squared \[m²\].
pub(super) fn far2(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).norm_squared()).fold(0.0, f64::max)
}

/// What became of the candidates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cover {
    /// They serve as they are.
    Held,
    /// They are others, for this part of the path.
    Sought(f64),
}

/// The largest margin of these vertices \[m\].
#[inline(always)]
fn largest(margins: &[f64], vertices: &[u32]) -> f64 {
    vertices.iter().map(|v| margins[*v as usize]).fold(0.0, f64::max)
}

/// Sets the margins of the vertices of a body: as far as they go in a few steps like the last one, or like the path from x to
/// x1.
fn set_margins(
    surface: &Surface,
    body: &SurfaceBody,
    gap: f64,
    [x, x1]: [&[Vec3]; 2],
    pace: &[f64],
    margins: &mut [f64],
) {
    let range = body.vertices.start as usize..body.vertices.end as usize;
    let goes = |v: usize| pace[v].max((x1[v] - x[v]).norm());
    let fastest = range.clone().map(goes).fold(0.0, f64::max);
    let (slowest, steps, most) = match body.carrier {
        Carrier::Points => {
            let edges = &surface.edges[body.edges.start as usize..body.edges.end as usize];
            let lengths = edges.iter().map(|[a, b]| (x[*a as usize] - x[*b as usize]).norm());
            let mean = lengths.sum::<f64>() / edges.len().max(1) as f64;
            let most = (TUNING.edge_part * mean / gap).clamp(TUNING.margin, TUNING.sheet_margin);
            (TUNING.slowest * fastest, TUNING.sheet_steps, most)
        }
        _ => (fastest, TUNING.steps, TUNING.margin),
    };
    for v in range {
        margins[v] = (steps * goes(v).max(slowest)).clamp(gap, most * gap);
    }
}

/// The part of a path of length `motion` at which a reference lies, so that both ends are within half the margin.
fn part_ahead(motion: f64, margin: f64) -> f64 {
    if motion > 0.0 {
        TUNING.ahead.min(TUNING.ahead_margin * margin / motion).max(1.0 - 0.5 * TUNING.path * margin / motion)
    } else {
        1.0
    }
}

impl CandidateCache {
    /// Notes where a step begins.
    pub(super) fn begin(&mut self, x: &[Vec3]) {
        self.pace.clear();
        if self.start.len() == x.len() {
            self.pace.extend(self.start.iter().zip(x).map(|(a, b)| (a - b).norm()));
        }
        self.start.clear();
        self.start.extend_from_slice(x);
    }

    /// Makes sure that the candidates hold every pair that comes within `gap` on the path from x to x1, or on a part of it.
    /// Bodies that are `unmoved` have not moved since the candidates were last known to hold theirs.
    pub(super) fn cover(
        &mut self,
        surface: &Surface,
        gap: f64,
        [x, x1]: [&[Vec3]; 2],
        unmoved: impl Fn(usize) -> bool,
    ) -> Result<Cover, TooMany> {
        if self.margins.len() == x.len() && self.reference.len() == x.len() {
            let stale = self.find_stale(surface, x, x1, unmoved);
            if stale == 0 {
                return Ok(Cover::Held);
            }
            let stale = self.end_paths(surface, stale);
            if TUNING.few * stale < surface.bodies.len() && self.seek_around(surface, gap, x, x1) {
                return Ok(Cover::Sought(1.0));
            }
        }
        self.seek(surface, gap, x, x1).map(Cover::Sought)
    }

    /// Pairs of everything.
    fn seek(&mut self, surface: &Surface, gap: f64, x: &[Vec3], x1: &[Vec3]) -> Result<f64, TooMany> {
        let mut margins = std::mem::take(&mut self.margins);
        margins.clear();
        margins.resize(x.len(), 0.0);
        self.pace.resize(x.len(), 0.0);
        surface
            .bodies
            .iter()
            .for_each(|body| set_margins(surface, body, gap, [x, x1], &self.pace, &mut margins));
        let paths = x.iter().zip(x1).zip(&margins);
        if paths.clone().all(|((x, x1), c)| (x1 - x).norm_squared() <= (TUNING.path * c).powi(2)) {
            self.reference.clear();
            self.reference.extend(paths.map(|((x, x1), c)| x + part_ahead((x1 - x).norm(), *c) * (x1 - x)));
            self.ends.clear();
            let reach = |v: usize| 0.5 * (gap + margins[v]);
            self.broad.near_by(surface, &self.reference, reach, TUNING.most_pairs, &mut self.candidates)?;
            let most = |a: &[u32], b: &[u32]| gap + 0.5 * (largest(&margins, a) + largest(&margins, b));
            self.culling.measure(surface, &self.reference, None, most, &mut self.candidates);
            self.margins = margins;
            return Ok(1.0);
        }
        self.reference.clear();
        self.reference.extend_from_slice(x);
        self.ends.clear();
        self.ends.extend_from_slice(x1);
        let margin = (TUNING.swept_margin * far2(x, x1).sqrt()).min(TUNING.margin * gap);
        let radius = gap + margin;
        let swept = self.broad.swept(surface, x, x1, radius, TUNING.most_pairs, &mut self.candidates)?;
        if swept.alpha >= 1.0 {
            self.margins.resize(x.len(), margin);
        }
        self.culling.measure(surface, x, Some(x1), |_, _| radius, &mut self.candidates);
        Ok(swept.alpha)
    }

    /// Notes which bodies are not held at x or at x1; how many. The time of a path is that of all bodies, so that on a path those
    /// that stand still are asked as well.
    fn find_stale(
        &mut self,
        surface: &Surface,
        x: &[Vec3],
        x1: &[Vec3],
        unmoved: impl Fn(usize) -> bool,
    ) -> usize {
        let times = [x, x1].map(|x| self.time(surface, x));
        self.stale.clear();
        for (b, body) in surface.bodies.iter().enumerate() {
            let known = self.ends.is_empty() && unmoved(b);
            let held = known
                || body.vertices.clone().all(|v| {
                    let v = v as usize;
                    let (y, most) = (self.reference[v], 0.25 * self.margins[v] * self.margins[v]);
                    if self.ends.is_empty() {
                        return (x[v] - y).norm_squared() <= most && (x1[v] - y).norm_squared() <= most;
                    }
                    let path = self.ends[v] - y;
                    let off = |x: &Vec3, t: f64| (x - y - t * path).norm_squared();
                    off(&x[v], times[0]) <= most && off(&x1[v], times[1]) <= most
                });
            self.stale.push(!held);
        }
        self.stale.iter().filter(|l| **l).count()
    }

    /// Where few bodies are stale or still have a path, those with a path count as stale: then nothing has a path any more, and
    /// nobody asks what its time is. How many are stale.
    fn end_paths(&mut self, surface: &Surface, stale: usize) -> usize {
        let Self { ends, reference, stale: list, .. } = self;
        if ends.is_empty() {
            return stale;
        }
        let has_path = |body: &SurfaceBody| {
            let range = body.vertices.start as usize..body.vertices.end as usize;
            ends[range.clone()] != reference[range]
        };
        let both: Vec<bool> =
            surface.bodies.iter().zip(&*list).map(|(body, stale)| *stale || has_path(body)).collect();
        let count = both.iter().filter(|b| **b).count();
        if TUNING.few * count >= surface.bodies.len() {
            return stale;
        }
        ends.clear();
        *list = both;
        count
    }

    /// The time of the path at which most bodies are about where it has them: the median of the times that fit each body best.
    fn time(&self, surface: &Surface, x: &[Vec3]) -> f64 {
        if self.ends.is_empty() {
            return 0.0;
        }
        let mut times = Vec::new();
        for body in &surface.bodies {
            let (mut along, mut whole, mut narrow) = (0.0, 0.0, 0.0);
            for v in body.vertices.start as usize..body.vertices.end as usize {
                let path = self.ends[v] - self.reference[v];
                along += path.dot(&(x[v] - self.reference[v]));
                whole += path.norm_squared();
                narrow += 0.25 * self.margins[v] * self.margins[v];
            }
            // Shorter paths than a margin fit any time.
            if whole > narrow {
                times.push((along / whole).clamp(0.0, 1.0));
            }
        }
        if times.is_empty() {
            return 0.0;
        }
        let middle = times.len() / 2;
        *times.select_nth_unstable_by(middle, f64::total_cmp).1
    }

    /// Pairs around the stale bodies alone. False if there are too many.
    fn seek_around(&mut self, surface: &Surface, gap: f64, x: &[Vec3], x1: &[Vec3]) -> bool {
        let Self {
            broad,
            candidates,
            culling,
            reference,
            ends,
            margins,
            stale,
            fresh,
            fresh_culling,
            pace,
            ..
        } = self;
        pace.resize(x.len(), 0.0);
        for (body, _) in surface.bodies.iter().zip(&*stale).filter(|(_, stale)| **stale) {
            set_margins(surface, body, gap, [x, x1], pace, margins);
            for v in body.vertices.start as usize..body.vertices.end as usize {
                let motion = (x1[v] - x[v]).norm();
                margins[v] = margins[v].max(motion / TUNING.path);
                reference[v] = x[v] + part_ahead(motion, margins[v]) * (x1[v] - x[v]);
                if let Some(end) = ends.get_mut(v) {
                    *end = reference[v];
                }
            }
        }
        let to: &[Vec3] = if ends.is_empty() { reference } else { ends };
        let reach = |v: usize| 0.5 * (gap + margins[v]);
        if broad.around(surface, [reference, to], stale, reach, TUNING.most_pairs, fresh).is_err() {
            margins.clear();
            return false;
        }
        let most = |a: &[u32], b: &[u32]| gap + 0.5 * (largest(margins, a) + largest(margins, b));
        let paths = (!ends.is_empty()).then_some(&ends[..]);
        fresh_culling.measure(surface, reference, paths, most, fresh);
        culling.renew(surface, stale, candidates, fresh_culling, fresh);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collide::{BodyGeometry, ContactSet, Groups, HalfPlane, Kind, VertexMap, distance};
    use crate::math::Random;

    /// Squares of two triangles above a half-plane, every third of them thick.
    fn squares(count: u32) -> Surface {
        let mut surface = Surface::default();
        for b in 0..count {
            let maps: Vec<VertexMap> = (4 * b..4 * b + 4).map(VertexMap::point).collect();
            let radius = if b % 3 == 0 { 0.05 } else { 0.0 };
            let triangles = [[0, 1, 2], [0, 2, 3]];
            let body = BodyGeometry { maps: &maps, triangles: &triangles, radius, ..Default::default() };
            surface.add(&body).unwrap();
        }
        surface.groups = Groups::new(1);
        surface.half_planes.push(HalfPlane { normal: Vec3::z(), offset: 0.0, group: 0 });
        surface
    }

    /// Whatever single bodies do, every pair that comes within the gap anywhere on the path is among the candidates.
    #[test]
    fn pairs_around_single_bodies_are_found_as_if_all_were_sought() {
        let mut random = Random::new(21);
        let (count, gap) = (40, 0.1);
        let surface = squares(count);
        let mut x = Vec::new();
        for b in 0..count as usize {
            let place = Vec3::new((b % 4) as f64, (b / 4 % 4) as f64, 0.3 + 0.5 * (b / 16) as f64);
            for (u, v) in [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)] {
                x.push(place + Vec3::new(u, v, 0.1 * random.between(-1.0, 1.0)));
            }
        }
        let mut cache = CandidateCache::default();
        let (mut held, mut around, mut found) = (0, 0, 0);
        for round in 0..200 {
            let mut x1 = x.clone();
            for b in 0..count as usize {
                let far = round % 40 == 3 || random.between(0.0, 1.0) < 0.05 && round % 3 == 0;
                let size = if far { 1.0 } else { 0.01 };
                let mut point = || Vec3::from_fn(|_, _| random.between(-size, size));
                let (shift, home) = (point(), Vec3::new(1.5, 1.5, 0.8));
                // Thrown bodies come back to the middle, so that all of them stay near each other.
                let back = if far { 0.2 * (home - x[4 * b]) } else { Vec3::zeros() };
                (4 * b..4 * b + 4).for_each(|v| x1[v] += shift + back + 0.1 * point());
            }
            match cache.cover(&surface, gap, [&x, &x1], |_| false).unwrap() {
                Cover::Held => held += 1,
                Cover::Sought(part) => {
                    assert_eq!(part, 1.0);
                    around +=
                        usize::from(TUNING.few * cache.stale.iter().filter(|l| **l).count() < count as usize);
                }
            }
            assert!(cache.candidates.vertex_plane.is_sorted());
            for k in 0..=8 {
                let t = f64::from(k) / 8.0;
                let y: Vec<Vec3> = x.iter().zip(&x1).map(|(a, b)| a + t * (b - a)).collect();
                let mut close = Candidates::default();
                Broad::default().near(&surface, &y, gap, 1_000_000, &mut close).unwrap();
                let mut set = ContactSet::default();
                set.update(&surface, &close, &y, gap);
                for c in &set.contacts {
                    let list = match c.kind {
                        Kind::EdgeEdge => &cache.candidates.edge_edge,
                        Kind::VertexPlane => &cache.candidates.vertex_plane,
                        _ => &cache.candidates.vertex_triangle,
                    };
                    assert!(
                        list.binary_search(&c.pair).is_ok(),
                        "{:?} {:?} in round {round}",
                        c.kind,
                        c.pair
                    );
                    found += 1;
                }
            }
            // Distances are still those of their pairs.
            let places = |i: [u32; 4]| i.map(|i| cache.reference[i as usize]);
            assert_eq!(cache.candidates.edge_edge.len(), cache.culling.edge_edge.len());
            for (&[e, f], d) in cache.candidates.edge_edge.iter().zip(&cache.culling.edge_edge) {
                let ([a, b], [p, q]) = (surface.edges[e as usize], surface.edges[f as usize]);
                let xi = surface.radius(a) + surface.radius(p);
                assert!((distance::edge_edge(&places([a, b, p, q])).d2.sqrt() - xi - d).abs() < 1e-12);
            }
            x = x1;
        }
        assert!(held > 20 && around > 20 && found > 1000, "{held} {around} {found}");
    }
}
