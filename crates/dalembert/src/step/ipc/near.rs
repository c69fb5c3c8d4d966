//! Which pairs are looked at: candidates are kept while no body has gone far from where they were sought.
//!
//! Every vertex has a reference $y_i$ and, if candidates were sought along a way, a displacement $u_i$ on it; every body b a
//! collar $c_b$. A body is *held* at a time t of the way while all its vertices are within $c_b/2$ of $y_i + t u_i$. Such places, with
//! one t for all, are a convex set, so that what moves on a straight line from one to another stays in it. A pair of
//! primitives of bodies a and b comes within the gap there only if its distance at y is at most
//!
//! $$ \hat g + \tfrac12(c_a + c_b) + \max_{ij}|u_i - u_j| , $$
//!
//! and all those pairs are kept. Bodies that are not held any more get references about their own way, which they do not
//! leave ($u = 0$) and a collar of their own, and pairs are sought around them alone: one box that is thrown across a heap does not
//! cost a search through the heap. If many bodies are not held, everything is sought anew.

use super::sift::Sift;
use crate::collide::{Broad, Candidates, Surface, TooMany};
use crate::math::Vec3;

/// Most pairs of primitives in one search.
const MOST_PAIRS: usize = 20_000_000;
/// Largest collar of a list of candidates, in gaps.
const COLLAR: f64 = 10.0;
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
    /// Collar of each body \[m\]; empty if nothing was sought yet.
    collars: Vec<f64>,
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

impl Near {
    /// Makes sure that the candidates hold every pair that comes within `gap` on the way from x to x1, or on a part of it.
    /// Bodies that are `still` have not moved since the candidates were last known to hold theirs.
    pub(super) fn cover(
        &mut self,
        surface: &Surface,
        gap: f64,
        [x, x1]: [&[Vec3]; 2],
        still: &[bool],
    ) -> Result<Cover, TooMany> {
        if self.collars.len() == surface.bodies.len() && self.reference.len() == x.len() {
            let loose = self.find_loose(surface, x, x1, still);
            if loose == 0 {
                return Ok(Cover::Held);
            }
            if FEW * loose < surface.bodies.len() && self.seek_around(surface, gap, x, x1) {
                return Ok(Cover::Sought(1.0));
            }
        }
        self.seek(surface, gap, x, x1).map(Cover::Sought)
    }

    /// Pairs of everything.
    fn seek(&mut self, surface: &Surface, gap: f64, x: &[Vec3], x1: &[Vec3]) -> Result<f64, TooMany> {
        self.collars.clear();
        let motion = far2(x, x1).sqrt();
        let most = COLLAR * gap;
        let collar = (4.0 * motion).clamp(gap, most);
        let (reach, radius) = (0.5 * WAY * collar, gap + collar);
        if motion <= 2.0 * reach {
            // About the end of the way, since the next one goes on from there, or as far as the way allows.
            let part = if motion > reach { reach / motion } else { 1.0 };
            self.reference.clear();
            self.reference.extend(x.iter().zip(x1).map(|(x, x1)| x + part * (x1 - x)));
            self.ends.clear();
            self.broad.near(surface, &self.reference, radius, MOST_PAIRS, &mut self.candidates)?;
            self.sift.measure(surface, &self.reference, None, |_, _| radius, &mut self.candidates);
            self.collars.resize(surface.bodies.len(), collar);
            return Ok(1.0);
        }
        self.reference.clear();
        self.reference.extend_from_slice(x);
        self.ends.clear();
        self.ends.extend_from_slice(x1);
        let collar = (SWEPT_COLLAR * motion).min(most);
        let radius = gap + collar;
        let swept = self.broad.swept(surface, x, x1, radius, MOST_PAIRS, &mut self.candidates)?;
        if swept.alpha >= 1.0 {
            self.collars.resize(surface.bodies.len(), collar);
        }
        self.sift.measure(surface, x, Some(x1), |_, _| radius, &mut self.candidates);
        Ok(swept.alpha)
    }

    /// Notes which bodies are not held at x or at x1; how many. The time of a way is that of all bodies, so that on a way those
    /// that stand still are asked as well.
    fn find_loose(&mut self, surface: &Surface, x: &[Vec3], x1: &[Vec3], still: &[bool]) -> usize {
        let times = [x, x1].map(|x| self.time(surface, x));
        self.loose.clear();
        for (b, (body, collar)) in surface.bodies.iter().zip(&self.collars).enumerate() {
            let most = 0.25 * collar * collar;
            let known = self.ends.is_empty() && still.get(b) == Some(&true);
            let held = known
                || body.vertices.clone().all(|v| {
                    let v = v as usize;
                    let y = self.reference[v];
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

    /// The time of the way at which most bodies are about where it has them: the median of the times that fit each body best.
    fn time(&self, surface: &Surface, x: &[Vec3]) -> f64 {
        if self.ends.is_empty() {
            return 0.0;
        }
        let mut times = Vec::new();
        for (body, collar) in surface.bodies.iter().zip(&self.collars) {
            let (mut along, mut whole) = (0.0, 0.0);
            for v in body.vertices.start as usize..body.vertices.end as usize {
                let way = self.ends[v] - self.reference[v];
                along += way.dot(&(x[v] - self.reference[v]));
                whole += way.norm_squared();
            }
            // Shorter ways than a collar fit any time.
            if whole > 0.25 * collar * collar * body.vertices.len() as f64 {
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
        let Self { broad, candidates, sift, reference, ends, collars, loose, fresh, fresh_sift } = self;
        let all = surface.bodies.iter().zip(&mut *collars).zip(&*loose);
        for ((body, collar), _) in all.filter(|(_, loose)| **loose) {
            let range = body.vertices.start as usize..body.vertices.end as usize;
            let motion = far2(&x[range.clone()], &x1[range.clone()]).sqrt();
            *collar = (4.0 * motion).clamp(gap, COLLAR * gap).max(motion / WAY);
            let reach = 0.5 * WAY * *collar;
            let part = if motion > reach { reach / motion } else { 1.0 };
            for v in range {
                reference[v] = x[v] + part * (x1[v] - x[v]);
                if let Some(end) = ends.get_mut(v) {
                    *end = reference[v];
                }
            }
        }
        let to: &[Vec3] = if ends.is_empty() { reference } else { ends };
        let reach = |b: usize| 0.5 * (gap + collars[b]);
        if broad.around(surface, [reference, to], loose, reach, MOST_PAIRS, fresh).is_err() {
            collars.clear();
            return false;
        }
        let most = |a: u32, b: u32| gap + 0.5 * (collars[a as usize] + collars[b as usize]);
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
