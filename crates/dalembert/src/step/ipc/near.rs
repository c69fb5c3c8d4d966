//! Which pairs are looked at: candidates are kept while no body has gone far from where they were sought.
//!
//! Every vertex has a reference $y_i$ and, if candidates were sought along a way, a displacement $u_i$ on it, and a
//! collar $c_i$. A body is *held* at a time t of the way while all its vertices are within $c_i/2$ of $y_i + t u_i$. Such places, with
//! one t for all, are a convex set, so that what moves on a straight line from one to another stays in it. A pair of
//! primitives with vertices i and j comes within the gap there only if its distance at y is at most
//!
//! $$ \hat g + \tfrac12\big(\max_i c_i + \max_j c_j\big) + \max_{ij}|u_i - u_j| , $$
//!
//! and all those pairs are kept. Bodies that are not held any more get references about their own way, which they do not
//! leave ($u = 0$) and a collar of their own, and pairs are sought around them alone: one box that is thrown across a heap does not
//! cost a search through the heap. If many bodies are not held, everything is sought anew.
//!
//! A search should serve for several steps. So a collar is as wide as a vertex goes in a few of them, and the reference lies
//! ahead: not at the end of the way but beyond it, where the next step leads. In a sheet every vertex has its own collar:
//! where it lies on something it is slow, and what swings fast has little near it. Bodies have one for all their vertices.

use super::sift::Sift;
use crate::collide::{Broad, Candidates, Carrier, Surface, SurfaceBody, TooMany};
use crate::math::Vec3;

/// Most pairs of primitives in one search.
const MOST_PAIRS: usize = 20_000_000;
/// Largest collar of a list of candidates, in gaps. That of a sheet may be up to the second number if it is no more than
/// this part of an edge: beyond that pairs become many.
const COLLAR: f64 = 10.0;
const SHEET_COLLAR: f64 = 30.0;
const EDGE_PART: f64 = 0.5;
/// Collar as a multiple of what a vertex moves in a step, of bodies and of sheets; vertices of a sheet count as no slower
/// than this part of the fastest of them.
const STEPS: f64 = 6.0;
const SHEET_STEPS: f64 = 4.0;
const SLOWEST: f64 = 0.1;
/// A reference lies this many ways ahead, and at most this part of the collar.
const AHEAD: f64 = 1.5;
const AHEAD_COLLAR: f64 = 0.3;
/// Collar of a list along a way, as a part of the way.
const SWEPT_COLLAR: f64 = 0.5;
/// Part of half the collar that the way itself may take.
const WAY: f64 = 0.9;
/// Pairs are sought around single bodies while fewer than one in so many needs it.
const FEW: usize = 2;

/// Candidates and the places that they serve for.
#[derive(Debug, Default)]
pub(super) struct Near {
    broad: Broad,
    pub candidates: Candidates,
    pub sift: Sift,
    /// Where vertices were when candidates were sought, and the ends of the ways along which they were; empty if at rest.
    pub reference: Vec<Vec3>,
    ends: Vec<Vec3>,
    /// Collar of each vertex \[m\]; empty if nothing was sought yet.
    collars: Vec<f64>,
    /// Where vertices were at the start of the step, and how far each went in the step before \[m\].
    start: Vec<Vec3>,
    pace: Vec<f64>,
    /// Bodies that are not held, and what was found around them.
    loose: Vec<bool>,
    fresh: Candidates,
    fresh_sift: Sift,
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
    /// They are others, for this part of the way.
    Sought(f64),
}

/// The largest collar of these vertices \[m\].
#[inline(always)]
fn largest(collars: &[f64], vertices: &[u32]) -> f64 {
    vertices.iter().map(|v| collars[*v as usize]).fold(0.0, f64::max)
}

/// Sets the collars of the vertices of a body: as far as they go in a few steps like the last one, or like the way from x to
/// x1.
fn set_collars(
    surface: &Surface,
    body: &SurfaceBody,
    gap: f64,
    [x, x1]: [&[Vec3]; 2],
    pace: &[f64],
    collars: &mut [f64],
) {
    let range = body.vertices.start as usize..body.vertices.end as usize;
    let goes = |v: usize| pace[v].max((x1[v] - x[v]).norm());
    let fastest = range.clone().map(goes).fold(0.0, f64::max);
    let (slowest, steps, most) = match body.carrier {
        Carrier::Points => {
            let edges = &surface.edges[body.edges.start as usize..body.edges.end as usize];
            let lengths = edges.iter().map(|[a, b]| (x[*a as usize] - x[*b as usize]).norm());
            let mean = lengths.sum::<f64>() / edges.len().max(1) as f64;
            let most = (EDGE_PART * mean / gap).clamp(COLLAR, SHEET_COLLAR);
            (SLOWEST * fastest, SHEET_STEPS, most)
        }
        _ => (fastest, STEPS, COLLAR),
    };
    for v in range {
        collars[v] = (steps * goes(v).max(slowest)).clamp(gap, most * gap);
    }
}

/// The part of a way of length `motion` at which a reference lies, so that both ends are within half the collar.
fn part_ahead(motion: f64, collar: f64) -> f64 {
    if motion > 0.0 {
        AHEAD.min(AHEAD_COLLAR * collar / motion).max(1.0 - 0.5 * WAY * collar / motion)
    } else {
        1.0
    }
}

impl Near {
    /// Notes where a step begins.
    pub(super) fn begin(&mut self, x: &[Vec3]) {
        self.pace.clear();
        if self.start.len() == x.len() {
            self.pace.extend(self.start.iter().zip(x).map(|(a, b)| (a - b).norm()));
        }
        self.start.clear();
        self.start.extend_from_slice(x);
    }

    /// Makes sure that the candidates hold every pair that comes within `gap` on the way from x to x1, or on a part of it.
    /// Bodies that are `still` have not moved since the candidates were last known to hold theirs.
    pub(super) fn cover(
        &mut self,
        surface: &Surface,
        gap: f64,
        [x, x1]: [&[Vec3]; 2],
        still: &[bool],
    ) -> Result<Cover, TooMany> {
        if self.collars.len() == x.len() && self.reference.len() == x.len() {
            let loose = self.find_loose(surface, x, x1, still);
            if loose == 0 {
                return Ok(Cover::Held);
            }
            let loose = self.end_ways(surface, loose);
            if FEW * loose < surface.bodies.len() && self.seek_around(surface, gap, x, x1) {
                return Ok(Cover::Sought(1.0));
            }
        }
        self.seek(surface, gap, x, x1).map(Cover::Sought)
    }

    /// Pairs of everything.
    fn seek(&mut self, surface: &Surface, gap: f64, x: &[Vec3], x1: &[Vec3]) -> Result<f64, TooMany> {
        let mut collars = std::mem::take(&mut self.collars);
        collars.clear();
        collars.resize(x.len(), 0.0);
        self.pace.resize(x.len(), 0.0);
        surface
            .bodies
            .iter()
            .for_each(|body| set_collars(surface, body, gap, [x, x1], &self.pace, &mut collars));
        let ways = x.iter().zip(x1).zip(&collars);
        if ways.clone().all(|((x, x1), c)| (x1 - x).norm_squared() <= (WAY * c).powi(2)) {
            self.reference.clear();
            self.reference.extend(ways.map(|((x, x1), c)| x + part_ahead((x1 - x).norm(), *c) * (x1 - x)));
            self.ends.clear();
            let reach = |v: usize| 0.5 * (gap + collars[v]);
            self.broad.near_by(surface, &self.reference, reach, MOST_PAIRS, &mut self.candidates)?;
            let most = |a: &[u32], b: &[u32]| gap + 0.5 * (largest(&collars, a) + largest(&collars, b));
            self.sift.measure(surface, &self.reference, None, most, &mut self.candidates);
            self.collars = collars;
            return Ok(1.0);
        }
        self.reference.clear();
        self.reference.extend_from_slice(x);
        self.ends.clear();
        self.ends.extend_from_slice(x1);
        let collar = (SWEPT_COLLAR * far2(x, x1).sqrt()).min(COLLAR * gap);
        let radius = gap + collar;
        let swept = self.broad.swept(surface, x, x1, radius, MOST_PAIRS, &mut self.candidates)?;
        if swept.alpha >= 1.0 {
            self.collars.resize(x.len(), collar);
        }
        self.sift.measure(surface, x, Some(x1), |_, _| radius, &mut self.candidates);
        Ok(swept.alpha)
    }

    /// Notes which bodies are not held at x or at x1; how many. The time of a way is that of all bodies, so that on a way those
    /// that stand still are asked as well.
    fn find_loose(&mut self, surface: &Surface, x: &[Vec3], x1: &[Vec3], still: &[bool]) -> usize {
        let times = [x, x1].map(|x| self.time(surface, x));
        self.loose.clear();
        for (b, body) in surface.bodies.iter().enumerate() {
            let known = self.ends.is_empty() && still.get(b) == Some(&true);
            let held = known
                || body.vertices.clone().all(|v| {
                    let v = v as usize;
                    let (y, most) = (self.reference[v], 0.25 * self.collars[v] * self.collars[v]);
                    if self.ends.is_empty() {
                        return (x[v] - y).norm_squared() <= most && (x1[v] - y).norm_squared() <= most;
                    }
                    let way = self.ends[v] - y;
                    let off = |x: &Vec3, t: f64| (x - y - t * way).norm_squared();
                    off(&x[v], times[0]) <= most && off(&x1[v], times[1]) <= most
                });
            self.loose.push(!held);
        }
        self.loose.iter().filter(|l| **l).count()
    }

    /// Where few bodies are loose or still have a way, those with a way count as loose: then nothing has a way any more, and
    /// nobody asks what its time is. How many are loose.
    fn end_ways(&mut self, surface: &Surface, loose: usize) -> usize {
        let Self { ends, reference, loose: list, .. } = self;
        if ends.is_empty() {
            return loose;
        }
        let has_way = |body: &SurfaceBody| {
            let range = body.vertices.start as usize..body.vertices.end as usize;
            ends[range.clone()] != reference[range]
        };
        let both: Vec<bool> =
            surface.bodies.iter().zip(&*list).map(|(body, loose)| *loose || has_way(body)).collect();
        let count = both.iter().filter(|b| **b).count();
        if FEW * count >= surface.bodies.len() {
            return loose;
        }
        ends.clear();
        *list = both;
        count
    }

    /// The time of the way at which most bodies are about where it has them: the median of the times that fit each body best.
    fn time(&self, surface: &Surface, x: &[Vec3]) -> f64 {
        if self.ends.is_empty() {
            return 0.0;
        }
        let mut times = Vec::new();
        for body in &surface.bodies {
            let (mut along, mut whole, mut narrow) = (0.0, 0.0, 0.0);
            for v in body.vertices.start as usize..body.vertices.end as usize {
                let way = self.ends[v] - self.reference[v];
                along += way.dot(&(x[v] - self.reference[v]));
                whole += way.norm_squared();
                narrow += 0.25 * self.collars[v] * self.collars[v];
            }
            // Shorter ways than a collar fit any time.
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

    /// Pairs around the loose bodies alone. False if there are too many.
    fn seek_around(&mut self, surface: &Surface, gap: f64, x: &[Vec3], x1: &[Vec3]) -> bool {
        let Self {
            broad, candidates, sift, reference, ends, collars, loose, fresh, fresh_sift, pace, ..
        } = self;
        pace.resize(x.len(), 0.0);
        for (body, _) in surface.bodies.iter().zip(&*loose).filter(|(_, loose)| **loose) {
            set_collars(surface, body, gap, [x, x1], pace, collars);
            for v in body.vertices.start as usize..body.vertices.end as usize {
                let motion = (x1[v] - x[v]).norm();
                collars[v] = collars[v].max(motion / WAY);
                reference[v] = x[v] + part_ahead(motion, collars[v]) * (x1[v] - x[v]);
                if let Some(end) = ends.get_mut(v) {
                    *end = reference[v];
                }
            }
        }
        let to: &[Vec3] = if ends.is_empty() { reference } else { ends };
        let reach = |v: usize| 0.5 * (gap + collars[v]);
        if broad.around(surface, [reference, to], loose, reach, MOST_PAIRS, fresh).is_err() {
            collars.clear();
            return false;
        }
        let most = |a: &[u32], b: &[u32]| gap + 0.5 * (largest(collars, a) + largest(collars, b));
        let ways = (!ends.is_empty()).then_some(&ends[..]);
        fresh_sift.measure(surface, reference, ways, most, fresh);
        sift.renew(surface, loose, candidates, fresh_sift, fresh);
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

    /// Whatever single bodies do, every pair that comes within the gap anywhere on the way is among the candidates.
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
        let mut near = Near::default();
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
            match near.cover(&surface, gap, [&x, &x1], &[]).unwrap() {
                Cover::Held => held += 1,
                Cover::Sought(part) => {
                    assert_eq!(part, 1.0);
                    around += usize::from(FEW * near.loose.iter().filter(|l| **l).count() < count as usize);
                }
            }
            assert!(near.candidates.vertex_plane.is_sorted());
            for k in 0..=8 {
                let t = f64::from(k) / 8.0;
                let y: Vec<Vec3> = x.iter().zip(&x1).map(|(a, b)| a + t * (b - a)).collect();
                let mut close = Candidates::default();
                Broad::default().near(&surface, &y, gap, 1_000_000, &mut close).unwrap();
                let mut set = ContactSet::default();
                set.update(&surface, &close, &y, gap);
                for c in &set.contacts {
                    let list = match c.kind {
                        Kind::EdgeEdge => &near.candidates.edge_edge,
                        Kind::VertexPlane => &near.candidates.vertex_plane,
                        _ => &near.candidates.vertex_triangle,
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
            let places = |i: [u32; 4]| i.map(|i| near.reference[i as usize]);
            assert_eq!(near.candidates.edge_edge.len(), near.sift.edge_edge.len());
            for (&[e, f], d) in near.candidates.edge_edge.iter().zip(&near.sift.edge_edge) {
                let ([a, b], [p, q]) = (surface.edges[e as usize], surface.edges[f as usize]);
                let xi = surface.radius(a) + surface.radius(p);
                assert!((distance::edge_edge(&places([a, b, p, q])).d2.sqrt() - xi - d).abs() < 1e-12);
            }
            x = x1;
        }
        assert!(held > 20 && around > 20 && found > 1000, "{held} {around} {found}");
    }
}
