//! Culling of candidates: which pairs of a list can come near on the path from x to x1.
//!
//! A list of candidates is used for many paths. With the distance $d_0$ of a pair where the list was made, at x₀, and the
//! displacements $u_i = x_i - x_{0,i} = T + e_i$ of its vertices, T the mean of its body, the pair is never nearer than
//!
//! $$ d_0 - |T_a - T_b| - \max_a|e_i| - \max_b|e_i|, $$
//!
//! on the whole of a straight path if the larger of both ends is taken: all terms are convex. If that is more than the
//! gap, the pair neither touches nor stops anything. What moves as a whole meets none of its own pairs. The same holds with
//! T = 0, $d_0 - \max_a|u_i| - \max_b|u_i|$, which is tighter where a part of a sheet lies on what stands still. Neighbours in a
//! sheet move alike even if the sheet does not move as a whole: for what is left, $d_0 - \max_{ab}|u_a - u_b|$ over
//! corners a of the one and b of the other primitive is tried as well.

use crate::collide::{Candidates, Surface, distance};
use crate::math::Vec3;

/// Rounding of a bound, relative.
const ROUNDING: f64 = 1e-9;

/// Distances of candidates, and how far everything has moved since they were taken.
#[derive(Debug, Default)]
pub(super) struct Culling {
    /// Distances less radii of vertices and triangles, and of edges, or what they are at least \[m\].
    vertex_triangle: Vec<f64>,
    pub(super) edge_edge: Vec<f64>,
    /// u of each vertex at x and x1, the larger |u| and |e|, and T of each body there.
    displacement: Vec<[Vec3; 2]>,
    distance: Vec<f64>,
    deviation: Vec<f64>,
    mean: Vec<[Vec3; 2]>,
    /// Paths of the vertices that pairs were measured along.
    paths: Vec<Vec3>,
}

/// True if the first A and the other corners are more than `margin` \[m\] apart along the line between their centroids: a
/// bound of their distance that is tighter than boxes where a sheet is tilted, and cheaper than the distance.
#[inline(always)]
fn apart_along_centroids<const A: usize>(y: &[Vec3; 4], margin: f64) -> bool {
    let offset: [Vec3; 4] = std::array::from_fn(|i| y[i] - y[0]);
    let centroid = |corners: &[Vec3]| corners.iter().sum::<Vec3>() / corners.len() as f64;
    let m = centroid(&offset[..A]) - centroid(&offset[A..]);
    let (mut low, mut high, mut size) = (f64::INFINITY, f64::NEG_INFINITY, 0.0f64);
    for (i, offset) in offset.iter().enumerate() {
        let along = m.dot(offset);
        (low, high) = if i < A { (low.min(along), high) } else { (low, high.max(along)) };
        size = size.max(offset.amax());
    }
    let m2 = m.norm_squared();
    // Rounding of the products, well above what it can be.
    let apart = low - high - 64.0 * f64::EPSILON * size * m.amax();
    apart > 0.0 && apart * apart > margin * margin * m2 * (1.0 + ROUNDING)
}

/// Drops what is `stale` from a rising list with its data, and merges another rising list with its data.
fn exchange<D: Copy>(
    list: &mut Vec<[u32; 2]>,
    (with, others): (&mut Vec<D>, &[D]),
    fresh: &[[u32; 2]],
    stale: impl Fn([u32; 2]) -> bool,
) {
    let mut kept = 0;
    for k in 0..list.len() {
        if !stale(list[k]) {
            (list[kept], with[kept]) = (list[k], with[k]);
            kept += 1;
        }
    }
    list.truncate(kept);
    with.truncate(kept);
    list.extend_from_slice(fresh);
    with.extend_from_slice(others);
    // From the back, so that nothing is overwritten before it is read.
    let (mut i, mut j) = (kept, fresh.len());
    while j > 0 {
        let at = i + j - 1;
        if i > 0 && list[i - 1] > fresh[j - 1] {
            i -= 1;
            (list[at], with[at]) = (list[i], with[i]);
        } else {
            j -= 1;
            (list[at], with[at]) = (fresh[j], others[j]);
        }
    }
}

impl Culling {
    /// Takes the distances of all pairs at x; drops pairs that stay farther apart than `most` of their vertices \[m\] on the path
    /// to x1, if there is one. Far beyond that the distance of boxes serves.
    pub(super) fn measure(
        &mut self,
        surface: &Surface,
        x: &[Vec3],
        x1: Option<&[Vec3]>,
        most: impl Fn(&[u32], &[u32]) -> f64,
        pairs: &mut Candidates,
    ) {
        let at = |i: u32| x[i as usize];
        let paths = &mut self.paths;
        paths.clear();
        paths.extend(x1.into_iter().flat_map(|x1| x1.iter().zip(x).map(|(x1, x)| x1 - x)));
        // By how much the paths may shorten the distance of a pair, and rounding.
        let limit = |first: &[u32], second: &[u32]| {
            let most = most(first, second);
            if paths.is_empty() {
                return most;
            }
            let mut approach = 0.0f64;
            for &a in first {
                for &b in second {
                    approach = approach.max((paths[a as usize] - paths[b as usize]).norm_squared());
                }
            }
            (most + approach.sqrt()) * (1.0 + ROUNDING)
        };
        let list = &mut self.vertex_triangle;
        list.clear();
        pairs.vertex_triangle.retain(|&[v, t]| {
            let [a, b, c] = surface.triangles[t as usize];
            let (y, xi) = ([at(v), at(a), at(b), at(c)], surface.radius(v) + surface.radius(a));
            let limit = limit(&[v], &[a, b, c]);
            if apart_along_centroids::<1>(&y, limit + xi) {
                return false;
            }
            let d = distance::point_triangle(&y).d2.sqrt() - xi;
            let keep = !(d > limit);
            if keep {
                list.push(d);
            }
            keep
        });
        let list = &mut self.edge_edge;
        list.clear();
        pairs.edge_edge.retain(|&[e, f]| {
            let ([p, q], [r, s]) = (surface.edges[e as usize], surface.edges[f as usize]);
            let (y, xi) = ([at(p), at(q), at(r), at(s)], surface.radius(p) + surface.radius(r));
            let limit = limit(&[p, q], &[r, s]);
            if apart_along_centroids::<2>(&y, limit + xi) {
                return false;
            }
            let d = distance::edge_edge(&y).d2.sqrt() - xi;
            let keep = !(d > limit);
            if keep {
                list.push(d);
            }
            keep
        });
    }

    /// Drops the pairs with a `stale` body from `all`, and takes the pairs `fresh`, measured by `other`, in their place.
    pub(super) fn renew(
        &mut self,
        surface: &Surface,
        stale: &[bool],
        all: &mut Candidates,
        other: &Self,
        fresh: &Candidates,
    ) {
        let vertex = |v: u32| stale[surface.vertex_body[v as usize] as usize];
        let edge = |e: u32| stale[surface.edge_body[e as usize] as usize];
        let triangle = |t: u32| stale[surface.triangle_body[t as usize] as usize];
        let d = (&mut self.vertex_triangle, &other.vertex_triangle[..]);
        exchange(&mut all.vertex_triangle, d, &fresh.vertex_triangle, |[v, t]| vertex(v) || triangle(t));
        let d = (&mut self.edge_edge, &other.edge_edge[..]);
        exchange(&mut all.edge_edge, d, &fresh.edge_edge, |[e, f]| edge(e) || edge(f));
        let plain = |list: &mut Vec<[u32; 2]>, fresh: &[[u32; 2]], stale: &dyn Fn([u32; 2]) -> bool| {
            let (mut own, new) = (vec![(); list.len()], vec![(); fresh.len()]);
            exchange(list, (&mut own, &new), fresh, stale);
        };
        plain(&mut all.vertex_edge, &fresh.vertex_edge, &|[v, e]| vertex(v) || edge(e));
        plain(&mut all.vertex_vertex, &fresh.vertex_vertex, &|[v, w]| vertex(v) || vertex(w));
        plain(&mut all.vertex_plane, &fresh.vertex_plane, &|[v, _]| vertex(v));
    }

    /// Takes how far vertices are from `reference`, at x and at x1.
    pub(super) fn follow(&mut self, surface: &Surface, reference: &[Vec3], x: &[Vec3], x1: &[Vec3]) {
        self.deviation.clear();
        self.mean.clear();
        self.displacement.clear();
        self.displacement.extend(reference.iter().zip(x.iter().zip(x1)).map(|(y, (x, x1))| [x - y, x1 - y]));
        let larger = |[u, u1]: &[Vec3; 2]| u.norm_squared().max(u1.norm_squared()).sqrt();
        self.distance.clear();
        self.distance.extend(self.displacement.iter().map(larger));
        for body in &surface.bodies {
            let range = body.vertices.start as usize..body.vertices.end as usize;
            let (y, y0, y1) = (&reference[range.clone()], &x[range.clone()], &x1[range]);
            let mut T = [Vec3::zeros(); 2];
            for ((y, y0), y1) in y.iter().zip(y0).zip(y1) {
                T[0] += y0 - y;
                T[1] += y1 - y;
            }
            let count = y.len().max(1) as f64;
            T.iter_mut().for_each(|T| *T /= count);
            for ((y, y0), y1) in y.iter().zip(y0).zip(y1) {
                let e = (y0 - y - T[0]).norm_squared().max((y1 - y - T[1]).norm_squared());
                self.deviation.push(e.sqrt());
            }
            self.mean.push(T);
        }
    }

    /// By how much two bodies may have approached as wholes, squared \[m²\].
    fn body_approach2(&self, a: u32, b: u32) -> f64 {
        if a == b {
            return 0.0;
        }
        let (a, b) = (&self.mean[a as usize], &self.mean[b as usize]);
        (a[0] - b[0]).norm_squared().max((a[1] - b[1]).norm_squared())
    }

    /// By how much two primitives with these corners may have approached, squared \[m²\].
    #[inline(always)]
    fn approach2(&self, first: &[u32], second: &[u32]) -> f64 {
        let mut most = 0.0f64;
        for &a in first {
            for &b in second {
                let (a, b) = (&self.displacement[a as usize], &self.displacement[b as usize]);
                most = most.max((a[0] - b[0]).norm_squared()).max((a[1] - b[1]).norm_squared());
            }
        }
        most
    }

    /// The pairs of `all` with `wanted` vertices that may come within `gap` \[m\].
    pub(super) fn choose(
        &self,
        surface: &Surface,
        all: &Candidates,
        gap: f64,
        wanted: impl Fn(&[u32]) -> bool,
        out: &mut Candidates,
    ) {
        out.clear();
        let vertex = |v: u32| surface.vertex_body[v as usize];
        let edge = |e: u32| surface.edge_body[e as usize];
        let deviation = |v: u32| self.deviation[v as usize];
        let distance = |v: u32| self.distance[v as usize];
        let out_of_reach = |d: f64, a: f64, b: f64| d > (gap + a + b) * (1.0 + ROUNDING);
        let far = |d: f64, a: u32, b: u32, ea: f64, eb: f64| {
            let short = d - (gap + ea + eb) * (1.0 + ROUNDING);
            short > 0.0 && short * short > self.body_approach2(a, b) * (1.0 + 4.0 * ROUNDING)
        };
        let apart = |d: f64, first: &[u32], second: &[u32]| {
            let short = d - gap * (1.0 + ROUNDING);
            short > 0.0 && short * short > self.approach2(first, second) * (1.0 + 4.0 * ROUNDING)
        };
        for (&[v, t], &d) in all.vertex_triangle.iter().zip(&self.vertex_triangle) {
            let [p, q, r] = surface.triangles[t as usize];
            let (a, b) = (vertex(v), vertex(p));
            if wanted(&[v, p, q, r])
                && !out_of_reach(d, distance(v), distance(p).max(distance(q)).max(distance(r)))
                && !far(d, a, b, deviation(v), deviation(p).max(deviation(q)).max(deviation(r)))
                && !apart(d, &[v], &[p, q, r])
            {
                out.vertex_triangle.push([v, t]);
            }
        }
        for (&[e, f], &d) in all.edge_edge.iter().zip(&self.edge_edge) {
            let ([p, q], [r, s]) = (surface.edges[e as usize], surface.edges[f as usize]);
            let (a, b) = (edge(e), edge(f));
            if wanted(&[p, q, r, s])
                && !out_of_reach(d, distance(p).max(distance(q)), distance(r).max(distance(s)))
                && !far(d, a, b, deviation(p).max(deviation(q)), deviation(r).max(deviation(s)))
                && !apart(d, &[p, q], &[r, s])
            {
                out.edge_edge.push([e, f]);
            }
        }
        out.vertex_edge.extend_from_slice(&all.vertex_edge);
        out.vertex_vertex.extend_from_slice(&all.vertex_vertex);
        out.vertex_plane.extend_from_slice(&all.vertex_plane);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collide::ccd::{self, CcdOptions};
    use crate::collide::{BodyGeometry, Broad, Groups, VertexMap};
    use crate::math::Random;

    /// Two sheets of 5 × 5 vertices, which may touch themselves; the second is thick.
    fn sheets() -> Surface {
        let mut surface = Surface::default();
        let mut triangles = Vec::new();
        for k in (0..19).filter(|k| k % 5 < 4) {
            triangles.extend([[k, k + 1, k + 6], [k, k + 6, k + 5]]);
        }
        for (first, radius) in [(0, 0.0), (25, 0.02)] {
            let maps: Vec<VertexMap> = (first..first + 25).map(VertexMap::point).collect();
            let body = BodyGeometry {
                maps: &maps,
                triangles: &triangles,
                radius,
                self_contact: true,
                ..Default::default()
            };
            surface.add(&body).unwrap();
        }
        surface.groups = Groups::new(1);
        surface
    }

    /// Against the exact distance, on random pairs far from the origin.
    #[test]
    fn the_bound_of_centroids_is_below_the_distance() {
        let mut random = Random::new(12);
        let mut found = 0;
        for k in 0..4000 {
            let far = if k % 2 == 0 { 0.0 } else { 1e3 };
            let mut point = |size: f64| Vec3::from_fn(|_, _| far + random.between(-size, size));
            let y = [point(1.0), point(1.0), point(1.0), point(1.0)];
            let margin = random.between(0.0, 0.5);
            let [t, e] = [distance::point_triangle(&y), distance::edge_edge(&y)].map(|n| n.d2.sqrt());
            let said = [apart_along_centroids::<1>(&y, margin), apart_along_centroids::<2>(&y, margin)];
            assert!(!(said[0] && t <= margin || said[1] && e <= margin), "{k}");
            found += said.iter().filter(|s| **s).count();
        }
        assert!(found > 1000, "{found}");
    }

    /// What is dropped never comes within the gap: it is followed along the whole path with the gap as separation.
    #[test]
    fn nothing_that_comes_near_is_dropped() {
        let mut random = Random::new(11);
        let (mut dropped, mut kept, mut near) = (0, 0, 0);
        for seed in 0..20 {
            let surface = sheets();
            let n = surface.maps.len();
            let mut point = |size: f64| Vec3::from_fn(|_, _| random.between(-size, size));
            let half = n / 2;
            let x0: Vec<Vec3> = (0..n)
                .map(|i| {
                    let (k, layer) = (i % half, i / half);
                    let side = (half as f64).sqrt() as usize;
                    Vec3::new((k % side) as f64, (k / side) as f64, 0.5 * layer as f64) + point(0.1)
                })
                .collect();
            let shifts = [point(0.3), point(0.3)];
            let go = |x: &[Vec3], random: &mut dyn FnMut(f64) -> Vec3| -> Vec<Vec3> {
                x.iter().enumerate().map(|(i, x)| x + shifts[i / half] + random(0.05)).collect()
            };
            let x = go(&x0, &mut point);
            let x1 = go(&x, &mut point);
            let gap = 0.1;
            let mut all = Candidates::default();
            Broad::default().near(&surface, &x0, 3.0, 1_000_000, &mut all).unwrap();
            let mut culling = Culling::default();
            culling.measure(&surface, &x0, None, |_, _| 3.0, &mut all);
            culling.follow(&surface, &x0, &x, &x1);
            let mut live = Candidates::default();
            culling.choose(&surface, &all, gap, |_| true, &mut live);
            let radius = |i: usize| surface.radius(i as u32);
            let o = |i: [usize; 4], second: usize| CcdOptions {
                separation: 0.9 * gap + radius(i[0]) + radius(i[second]),
                rest: 1e-3,
                ..CcdOptions::default()
            };
            for pair in &all.vertex_triangle {
                let [v, t] = *pair;
                let [a, b, c] = surface.triangles[t as usize];
                let i = [v, a, b, c].map(|i| i as usize);
                let (y0, y1) = (i.map(|i| x[i]), i.map(|i| x1[i]));
                let meets = ccd::point_triangle(&y0, &y1, &o(i, 1)) < 1.0;
                if live.vertex_triangle.binary_search(pair).is_ok() {
                    kept += 1;
                    near += usize::from(meets);
                } else {
                    dropped += 1;
                    assert!(!meets, "{pair:?} of sheet {seed}");
                }
            }
            for pair in &all.edge_edge {
                let ([a, b], [c, d]) = (surface.edges[pair[0] as usize], surface.edges[pair[1] as usize]);
                let i = [a, b, c, d].map(|i| i as usize);
                let (y0, y1) = (i.map(|i| x[i]), i.map(|i| x1[i]));
                if live.edge_edge.binary_search(pair).is_err() {
                    assert!(ccd::edge_edge(&y0, &y1, &o(i, 2)) >= 1.0, "{pair:?} of sheet {seed}");
                }
            }
        }
        assert!(dropped > 1000 && kept > 100 && near > 10, "{dropped} {kept} {near}");
    }

    /// Every pair that comes within the gap near a path is kept, wherever each vertex is within half the margin of it.
    #[test]
    fn what_comes_near_along_a_path_is_kept() {
        let mut random = Random::new(12);
        let (gap, margin) = (0.1, 0.2);
        let (mut dropped, mut near) = (0, 0);
        for _ in 0..20 {
            let surface = sheets();
            let mut point = |size: f64| Vec3::from_fn(|_, _| random.between(-size, size));
            let shifts = [point(0.8), point(0.8)];
            let (mut x, mut x1) = (Vec::new(), Vec::new());
            for i in 0..50 {
                let (k, layer) = (i % 25, i / 25);
                x.push(Vec3::new((k % 5) as f64, (k / 5) as f64, 0.6 * layer as f64) + point(0.1));
                x1.push(x[i] + shifts[layer] + point(0.1));
            }
            let mut all = Candidates::default();
            Broad::default().swept(&surface, &x, &x1, gap + margin, 1_000_000, &mut all).unwrap();
            let before = all.len();
            Culling::default().measure(&surface, &x, Some(&x1), |_, _| gap + margin, &mut all);
            dropped += before - all.len();
            for k in 0..10 {
                let t = f64::from(k) / 9.0;
                let y: Vec<Vec3> = x
                    .iter()
                    .zip(&x1)
                    .map(|(x, x1)| {
                        let c = point(1.0);
                        x + t * (x1 - x) + 0.5 * margin * c / c.norm().max(1.0)
                    })
                    .collect();
                let mut close = Candidates::default();
                Broad::default().near(&surface, &y, gap, 1_000_000, &mut close).unwrap();
                let mut set = crate::collide::ContactSet::default();
                set.update(&surface, &close, &y, gap);
                for c in &set.contacts {
                    near += 1;
                    let list = match c.kind {
                        crate::collide::Kind::EdgeEdge => &all.edge_edge,
                        _ => &all.vertex_triangle,
                    };
                    assert!(list.binary_search(&c.pair).is_ok(), "{:?} {:?}", c.kind, c.pair);
                }
            }
        }
        assert!(dropped > 1000 && near > 1000, "{dropped} {near}");
    }
}
