//! Does an edge meet a triangle? Decided without rounding.
//!
//! Everything is the sign of a determinant of coordinate differences. A first try in plain numbers carries a bound of its
//! rounding (Shewchuk 1997); where the bound cannot tell, the determinant is computed as an *expansion*, an unevaluated sum
//! of non-overlapping numbers that is exact: the difference or product of two numbers is a sum of two (their rounding errors
//! are numbers themselves), and sums and products of expansions follow term by term. Exact as long as no product of three
//! coordinates under- or overflows: sizes from 10⁻⁹⁰ to 10⁹⁰ m.
//!
//! The tests share nothing with the distances and CCD of this module: they are what the others are checked against.

use super::bvh::{Aabb, Tree};
use super::surface::Surface;
use crate::math::Vec3;

/// a + b = sum + error, exactly.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let bb = sum - a;
    (sum, (a - (sum - bb)) + (b - bb))
}

/// a b = product + error, exactly: halves of 26 bits have exact products (Dekker 1971).
#[inline(always)]
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let split = |a: f64| {
        let c = 134_217_729.0 * a;
        let high = c - (c - a);
        (high, a - high)
    };
    let (product, (ah, al), (bh, bl)) = (a * b, split(a), split(b));
    (product, al * bl - (((product - ah * bh) - al * bh) - ah * bl))
}

/// A sum of numbers that do not overlap, smallest first; no zeros.
#[derive(Debug, Clone, Default)]
struct Expansion(Vec<f64>);

impl Expansion {
    fn difference(a: f64, b: f64) -> Self {
        let mut e = Self::default();
        e.add(a);
        e.add(-b);
        e
    }

    /// Adds one number (grow-expansion).
    fn add(&mut self, b: f64) {
        let mut carry = b;
        let mut kept = Vec::with_capacity(self.0.len() + 1);
        for &term in &self.0 {
            let (sum, error) = two_sum(carry, term);
            if error != 0.0 {
                kept.push(error);
            }
            carry = sum;
        }
        if carry != 0.0 {
            kept.push(carry);
        }
        self.0 = kept;
    }

    fn plus(mut self, o: &Self, sign: f64) -> Self {
        for &term in &o.0 {
            self.add(sign * term);
        }
        self
    }

    fn times(&self, o: &Self) -> Self {
        let mut out = Self::default();
        for &a in &self.0 {
            for &b in &o.0 {
                let (product, error) = two_product(a, b);
                out.add(error);
                out.add(product);
            }
        }
        out
    }

    fn sign(&self) -> i8 {
        // The last term is larger than all others together.
        self.0.last().map_or(0, |&a| if a > 0.0 { 1 } else { -1 })
    }
}

fn sign(x: f64) -> i8 {
    i8::from(x > 0.0) - i8::from(x < 0.0)
}

/// Sign of det(a − d, b − d, c − d): 1 if d lies below the plane through a, b, c, seen with a, b, c counter-clockwise
/// from above; 0 if the four lie in one plane.
pub fn orient3d(a: &Vec3, b: &Vec3, c: &Vec3, d: &Vec3) -> i8 {
    let (p, q, r) = (a - d, b - d, c - d);
    let (qr, rq) = (q.x * r.y, r.x * q.y);
    let (rp, pr) = (r.x * p.y, p.x * r.y);
    let (pq, qp) = (p.x * q.y, q.x * p.y);
    let det = p.z * (qr - rq) + q.z * (rp - pr) + r.z * (pq - qp);
    let size = (qr.abs() + rq.abs()) * p.z.abs()
        + (rp.abs() + pr.abs()) * q.z.abs()
        + (pq.abs() + qp.abs()) * r.z.abs();
    // Shewchuk's bound is (7 + 56 ε) ε of the size with ε = 2⁻⁵³; underflow is outside it.
    if det.abs() > 8.0e-16 * size && size > 1e-280 {
        return sign(det);
    }
    let difference = |u: &Vec3| [0, 1, 2].map(|k| Expansion::difference(u[k], d[k]));
    let (p, q, r) = (difference(a), difference(b), difference(c));
    let minor = |u: &[Expansion; 3], v: &[Expansion; 3]| u[0].times(&v[1]).plus(&v[0].times(&u[1]), -1.0);
    let sum = p[2].times(&minor(&q, &r)).plus(&q[2].times(&minor(&r, &p)), 1.0);
    sum.plus(&r[2].times(&minor(&p, &q)), 1.0).sign()
}

/// Sign of det(a − c, b − c) in the plane of axes `k`: 1 if a, b, c turn counter-clockwise.
fn orient2d(a: &Vec3, b: &Vec3, c: &Vec3, k: [usize; 2]) -> i8 {
    let [i, j] = k;
    let (left, right) = ((a[i] - c[i]) * (b[j] - c[j]), (a[j] - c[j]) * (b[i] - c[i]));
    let (det, size) = (left - right, left.abs() + right.abs());
    if det.abs() > 4.0e-16 * size && size > 1e-280 {
        return sign(det);
    }
    let e = |u: &Vec3, k: usize| Expansion::difference(u[k], c[k]);
    e(a, i).times(&e(b, j)).plus(&e(a, j).times(&e(b, i)), -1.0).sign()
}

/// Pairs of axes onto which a plane may be projected.
const PLANES: [[usize; 2]; 3] = [[0, 1], [1, 2], [2, 0]];

/// True if the segment a b and the triangle c d e have a common point, touching included. Either may be degenerate.
pub fn segment_meets_triangle(segment: &[Vec3; 2], triangle: &[Vec3; 3]) -> bool {
    let ([a, b], [c, d, e]) = (segment, triangle);
    let (over_a, over_b) = (orient3d(c, d, e, a), orient3d(c, d, e, b));
    if over_a == over_b {
        return over_a == 0 && coplanar_meets(segment, triangle);
    }
    // The line through a, b crosses the plane in one point, between them; it passes the three sides on the same hand.
    let sides = [orient3d(a, b, c, d), orient3d(a, b, d, e), orient3d(a, b, e, c)];
    sides.iter().all(|&s| s >= 0) || sides.iter().all(|&s| s <= 0)
}

/// All five points in one plane, or the triangle a line.
fn coplanar_meets(segment: &[Vec3; 2], triangle: &[Vec3; 3]) -> bool {
    let ([a, b], [c, d, e]) = (segment, triangle);
    let sides = [[c, d], [d, e], [e, c]];
    if let Some(k) = PLANES.into_iter().find(|&k| orient2d(c, d, e, k) != 0) {
        let inside = |p: &Vec3| {
            let s = sides.map(|[u, v]| orient2d(u, v, p, k));
            s.iter().all(|&s| s >= 0) || s.iter().all(|&s| s <= 0)
        };
        return inside(a) || inside(b) || sides.iter().any(|[u, v]| segments_meet_in(a, b, u, v, k));
    }
    sides.iter().any(|[u, v]| segments_meet(a, b, u, v))
}

/// True if the segments a b and c d have a common point.
fn segments_meet(a: &Vec3, b: &Vec3, c: &Vec3, d: &Vec3) -> bool {
    if orient3d(a, b, c, d) != 0 {
        return false;
    }
    let triples = [[a, b, c], [a, b, d], [c, d, a], [c, d, b]];
    let spans = |k: [usize; 2]| triples.iter().any(|[p, q, r]| orient2d(p, q, r, k) != 0);
    match PLANES.into_iter().find(|&k| spans(k)) {
        Some(k) => segments_meet_in(a, b, c, d, k),
        // All on one line.
        None => (0..3).all(|k| ranges_overlap(a[k], b[k], c[k], d[k])),
    }
}

fn ranges_overlap(a: f64, b: f64, c: f64, d: f64) -> bool {
    a.max(b) >= c.min(d) && c.max(d) >= a.min(b)
}

/// The same for points whose projection onto axes `k` is one-to-one on their plane.
fn segments_meet_in(a: &Vec3, b: &Vec3, c: &Vec3, d: &Vec3, k: [usize; 2]) -> bool {
    let (ca, cb) = (orient2d(a, b, c, k), orient2d(a, b, d, k));
    let (ac, bc) = (orient2d(c, d, a, k), orient2d(c, d, b, k));
    if ca == 0 && cb == 0 && ac == 0 && bc == 0 {
        return k.iter().all(|&k| ranges_overlap(a[k], b[k], c[k], d[k]));
    }
    ca * cb <= 0 && ac * bc <= 0
}

/// All (edge, triangle) that meet and share no vertex, sorted. Pairs of one body only if it may touch itself, pairs of
/// bodies that may not touch never.
pub fn intersections(surface: &Surface, x: &[Vec3]) -> Vec<(u32, u32)> {
    let at = |i: u32| x[i as usize];
    let bounds = |corners: &[u32]| {
        corners.iter().fold(Aabb::EMPTY, |sum, &i| sum.union(&Aabb::of(&at(i), &at(i), 0.0)))
    };
    let edge_boxes: Vec<Aabb> = surface.edges.iter().map(|e| bounds(e)).collect();
    let triangle_boxes: Vec<Aabb> = surface.triangles.iter().map(|t| bounds(t)).collect();
    let (mut edges, mut triangles) = (Tree::default(), Tree::default());
    edges.build(&edge_boxes);
    triangles.build(&triangle_boxes);
    let mut found = Vec::new();
    edges.pairs(&triangles, |e, t| {
        let (edge, triangle) = (&surface.edges[e as usize], &surface.triangles[t as usize]);
        let touch = surface.bodies_touch(surface.edge_body[e as usize], surface.triangle_body[t as usize]);
        if touch
            && !edge.iter().any(|i| triangle.contains(i))
            && segment_meets_triangle(&edge.map(at), &triangle.map(at))
        {
            found.push((e, t));
        }
        true
    });
    found.sort_unstable();
    found
}

/// All (vertex, half-plane) with the vertex on or below the plane, sorted. Bodies whose motion is prescribed may be.
pub fn below_planes(surface: &Surface, x: &[Vec3]) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    for (v, x) in x.iter().enumerate() {
        let body = &surface.bodies[surface.vertex_body[v] as usize];
        for (k, plane) in surface.half_planes.iter().enumerate() {
            let counts = !body.prescribed() && surface.groups.touch(body.group, plane.group);
            if counts && !(plane.height(x) > 0.0) {
                found.push((v as u32, k as u32));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::surface::{BodyGeometry, VertexMap};
    use super::*;
    use crate::math::Random;

    /// Numbers on a lattice, where determinants are small integers.
    fn lattice(random: &mut Random, size: i64) -> Vec3 {
        Vec3::from_fn(|_, _| (random.bits() as i64).rem_euclid(2 * size + 1) as f64 - size as f64)
    }

    /// The determinant in integers.
    fn integer_sign(points: [&Vec3; 4]) -> i8 {
        let v: Vec<[i128; 3]> =
            points[..3].iter().map(|p| [0, 1, 2].map(|k| p[k] as i128 - points[3][k] as i128)).collect();
        let det = v[0][0] * (v[1][1] * v[2][2] - v[1][2] * v[2][1])
            - v[0][1] * (v[1][0] * v[2][2] - v[1][2] * v[2][0])
            + v[0][2] * (v[1][0] * v[2][1] - v[1][1] * v[2][0]);
        det.signum() as i8
    }

    #[test]
    fn orientation_agrees_with_whole_numbers() {
        let mut random = Random::new(1);
        let mut flat = 0;
        for k in 0..60_000 {
            let size = [2, 1000, 1 << 30][k % 3];
            let mut p: [Vec3; 4] = std::array::from_fn(|_| lattice(&mut random, size));
            if k % 2 == 0 {
                // In one plane, or one unit away from it.
                let (i, j) = ((random.bits() % 3) as f64, (random.bits() % 3) as f64);
                p[3] = p[0] + i * (p[1] - p[0]) + j * (p[2] - p[0]);
                p[3].x += (random.bits() % 2) as f64;
            }
            let expected = integer_sign([&p[0], &p[1], &p[2], &p[3]]);
            flat += usize::from(expected == 0);
            assert_eq!(orient3d(&p[0], &p[1], &p[2], &p[3]), expected, "{p:?}");
        }
        assert!(flat > 5000, "{flat}");
    }

    #[test]
    fn the_last_bit_decides() {
        // A point moved by one unit in the last place out of a plane that is not along axes.
        let [a, b, c] = [Vec3::new(0.1, 0.2, 0.3), Vec3::new(1.3, 0.7, -0.4), Vec3::new(-0.6, 1.1, 0.9)];
        let mut random = Random::new(2);
        let mut seen = [0; 3];
        for _ in 0..2000 {
            let (u, v) = (random.unit(), random.unit());
            let d = a + u * (b - a) + v * (c - a);
            let s = orient3d(&a, &b, &c, &d);
            seen[(s + 1) as usize] += 1;
            // Turning the four around and mirroring them.
            assert_eq!(s, -orient3d(&b, &a, &c, &d));
            assert_eq!(s, -orient3d(&a, &b, &d, &c));
            assert_eq!(s, orient3d(&b, &c, &a, &d));
            let n = (b - a).cross(&(c - a));
            let mut up = d;
            up.z = if n.z > 0.0 { d.z + 1e-9 } else { d.z - 1e-9 };
            assert_eq!(orient3d(&a, &b, &c, &up), -1);
        }
        assert!(seen[0] > 100 && seen[2] > 100, "{seen:?}");
    }

    /// Rational arithmetic on small whole numbers: the segment clipped by the plane and the sides.
    fn meets_by_search(s: &[Vec3; 2], t: &[Vec3; 3]) -> bool {
        // All candidate points: ends of the segment in the triangle, crossings with the plane and with the sides, as
        // fractions. Points are kept as (numerator vector, denominator).
        type I = i128;
        let v = |p: &Vec3| [p.x as I, p.y as I, p.z as I];
        let sub = |a: [I; 3], b: [I; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
        let dot = |a: [I; 3], b: [I; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        let cross = |a: [I; 3], b: [I; 3]| {
            [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
        };
        let (a, b, c, d, e) = (v(&s[0]), v(&s[1]), v(&t[0]), v(&t[1]), v(&t[2]));
        let n = cross(sub(d, c), sub(e, c));
        assert_ne!(n, [0, 0, 0]);
        let (ha, hb) = (dot(n, sub(a, c)), dot(n, sub(b, c)));
        // Point p / q (q > 0) in the plane: inside all sides?
        let inside = |p: [I; 3], q: I| {
            [[c, d], [d, e], [e, c]].iter().all(|[u, w]| {
                let up = [p[0] - q * u[0], p[1] - q * u[1], p[2] - q * u[2]];
                dot(cross(sub(*w, *u), up), n) >= 0
            })
        };
        if ha == 0 && hb == 0 {
            // Clip the parameter interval of the segment by each side: lo ≤ λ ≤ hi as fractions.
            let (mut lo, mut hi) = ((0, 1), (1, 1));
            for [u, w] in [[c, d], [d, e], [e, c]] {
                let inward = cross(n, sub(w, u));
                let (fa, fb) = (dot(inward, sub(a, u)), dot(inward, sub(b, u)));
                // fa + λ (fb − fa) ≥ 0
                let slope = fb - fa;
                if slope == 0 {
                    if fa < 0 {
                        return false;
                    }
                } else if slope > 0 {
                    if -fa * lo.1 > lo.0 * slope {
                        lo = (-fa, slope);
                    }
                } else if fa * hi.1 < hi.0 * -slope {
                    hi = (fa, -slope);
                }
            }
            return lo.0 * hi.1 <= hi.0 * lo.1;
        }
        if (ha > 0 && hb > 0) || (ha < 0 && hb < 0) {
            return false;
        }
        // p = (a hb − b ha)/(hb − ha)
        let q = (hb - ha).abs();
        let sign = (hb - ha).signum();
        inside([0, 1, 2].map(|k| sign * (a[k] * hb - b[k] * ha)), q)
    }

    #[test]
    fn segments_and_triangles_agree_with_whole_numbers() {
        let mut random = Random::new(3);
        let (mut meet, mut flat) = (0, 0);
        for k in 0..100_000 {
            let size = [1, 2, 3, 50][k % 4];
            let mut s: [Vec3; 2] = std::array::from_fn(|_| lattice(&mut random, size));
            let mut t: [Vec3; 3] = std::array::from_fn(|_| lattice(&mut random, size));
            if k % 5 == 0 {
                for p in s.iter_mut().chain(&mut t) {
                    p.z = p.x + 2.0 * p.y;
                }
            }
            if (t[1] - t[0]).cross(&(t[2] - t[0])) == Vec3::zeros() {
                continue;
            }
            let expected = meets_by_search(&s, &t);
            assert_eq!(segment_meets_triangle(&s, &t), expected, "{s:?} {t:?}");
            assert_eq!(segment_meets_triangle(&[s[1], s[0]], &[t[2], t[1], t[0]]), expected);
            meet += usize::from(expected);
            flat += usize::from(k % 5 == 0 && expected);
        }
        assert!(meet > 10_000 && flat > 3000, "{meet} {flat}");
    }

    #[test]
    fn degenerate_triangles_are_segments_or_points() {
        let p = |x: f64, y: f64, z: f64| Vec3::new(x, y, z);
        let line = [p(0.0, 0.0, 0.0), p(2.0, 2.0, 2.0), p(1.0, 1.0, 1.0)];
        assert!(segment_meets_triangle(&[p(1.0, 1.0, 0.0), p(1.0, 1.0, 5.0)], &line));
        assert!(!segment_meets_triangle(&[p(1.0, 1.5, 0.0), p(1.0, 1.5, 5.0)], &line));
        assert!(segment_meets_triangle(&[p(1.5, 1.5, 1.5), p(9.0, 9.0, 9.0)], &line));
        assert!(!segment_meets_triangle(&[p(2.5, 2.5, 2.5), p(9.0, 9.0, 9.0)], &line));
        let point = [p(1.0, 1.0, 1.0); 3];
        assert!(segment_meets_triangle(&[p(0.0, 0.0, 0.0), p(3.0, 3.0, 3.0)], &point));
        assert!(!segment_meets_triangle(&[p(0.0, 0.0, 0.0), p(3.0, 3.0, 3.1)], &point));
        let whole = [p(0.0, 0.0, 0.0), p(1.0, 0.0, 0.0), p(0.0, 1.0, 0.0)];
        assert!(segment_meets_triangle(&[p(0.5, 0.5, 0.0); 2], &whole));
        assert!(!segment_meets_triangle(&[p(0.5, 0.5000000000000001, 0.0); 2], &whole));
    }

    #[test]
    fn two_boxes_meet_from_touching_on() {
        let corner = |k: usize| Vec3::new((k >> 2 & 1) as f64, (k >> 1 & 1) as f64, (k & 1) as f64);
        let cube: Vec<[u32; 3]> = [
            [0, 1, 3],
            [0, 3, 2],
            [4, 6, 7],
            [4, 7, 5],
            [0, 4, 5],
            [0, 5, 1],
            [2, 3, 7],
            [2, 7, 6],
            [0, 2, 6],
            [0, 6, 4],
            [1, 5, 7],
            [1, 7, 3],
        ]
        .to_vec();
        let mut surface = Surface::default();
        for b in 0..2 {
            let maps: Vec<VertexMap> = (0..8).map(|k| VertexMap::affine(4 * b, &corner(k))).collect();
            surface.add(&BodyGeometry { maps: &maps, triangles: &cube, ..Default::default() }).unwrap();
        }
        let place = |shift: Vec3| -> Vec<Vec3> {
            (0..16).map(|k| corner(k % 8) + if k < 8 { Vec3::zeros() } else { shift }).collect()
        };
        assert!(intersections(&surface, &place(Vec3::new(0.0, 0.0, 1.0000000000000002))).is_empty());
        assert!(!intersections(&surface, &place(Vec3::new(0.0, 0.0, 1.0))).is_empty());
        assert!(!intersections(&surface, &place(Vec3::new(0.3, 0.4, 0.9999))).is_empty());
        assert!(!intersections(&surface, &place(Vec3::zeros())).is_empty());
        // Inside each other without crossing: surfaces that do not meet.
        let mut x = place(Vec3::zeros());
        for x in &mut x[8..] {
            *x = 0.5 * *x + Vec3::new(0.25, 0.25, 0.25);
        }
        assert!(intersections(&surface, &x).is_empty());
    }
}
