//! Squared distances between points, edges and triangles, their nearest points and derivatives.
//!
//! The nearest points of two primitives are weighted sums of their corners; the difference of the two is
//! $r = \sum_i w_i x_i$ with weights of both signs that sum to zero. With free parameters θ of the region (none at a
//! corner, one along an edge, two inside a triangle or between two edges) $d^2 = \min_\theta |r(x, \theta)|^2$, so
//!
//! $$ \nabla_{x_i} d^2 = 2\,w_i\,r $$
//!
//! in every region (the derivative along θ vanishes at the minimum), and with $e_j = \partial r/\partial\theta_j$,
//! $w'_j = \partial w/\partial\theta_j$, $G_{jk} = e_j\cdot e_k$ and $c_j = w'_j\otimes r + w\otimes e_j$
//!
//! $$ \nabla^2 d^2 = 2\Big(w w^T\otimes 1 - \sum_{jk} (G^{-1})_{jk}\,c_j c_k^T\Big). $$
//!
//! **Rounding.** Inside a triangle and between two edges r is what is left of a difference after its parts along two
//! directions are taken out one after the other (Gram-Schmidt: first along the edge e, then along the rest h of the
//! second direction). Both parts are no longer than the primitives themselves, so r is wrong by a few ε L with L the
//! size of the pair, slivers and nearly parallel edges included; no threshold in metres occurs. Where h is nothing but
//! rounding (|h| below 10⁻¹⁴ of its edge) only boundaries are examined, at a cost of 10⁻¹⁴ L.
//!
//! **Boundaries.** If the free minimum θ of a convex function lies outside a convex polygon, the least value on the
//! polygon lies on a side that θ sees: from a point on other sides alone a small move towards θ stays inside and
//! descends. So only those sides are searched, unless h is so short that rounding might hide one (then all are).
use crate::math::Vec3;

/// Which features of two primitives are nearest: the Voronoi region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Region {
    /// Corner against corner: numbers within the stencil of four.
    Points(u8, u8),
    /// Corner against the inside of an edge.
    PointEdge(u8, [u8; 2]),
    /// Point against the inside of the triangle.
    PointTriangle,
    /// Inside of an edge against the inside of another.
    EdgeEdge,
}

/// Nearest points of two primitives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nearest {
    /// Weights of the corners, positive on the first primitive, negative on the second; they sum to zero.
    pub w: [f64; 4],
    /// Σ w x: from the nearest point of the second primitive to that of the first \[m\].
    pub r: Vec3,
    /// Squared distance |r|² \[m²\].
    pub d2: f64,
    /// Nearest features.
    pub region: Region,
}

/// |h|² below this part of the squared length of its edge is rounding.
const FLAT: f64 = 1e-28;
/// |h|² below this part: every side is searched.
const NARROW: f64 = 1e-6;

/// True if the boxes around the first A and around the other corners, on their paths from `x0` to `x1`, are more than
/// `margin` \[m\] apart: then so are the primitives, at any time on the path. All numbers must be finite.
#[inline(always)]
pub fn far_apart<const N: usize, const A: usize>(x0: &[Vec3; N], x1: &[Vec3; N], margin: f64) -> bool {
    let mut apart = false;
    for k in 0..3 {
        let (mut low_a, mut high_a) = (x0[0][k].min(x1[0][k]), x0[0][k].max(x1[0][k]));
        for i in 1..A {
            low_a = low_a.min(x0[i][k].min(x1[i][k]));
            high_a = high_a.max(x0[i][k].max(x1[i][k]));
        }
        let (mut low_b, mut high_b) = (x0[A][k].min(x1[A][k]), x0[A][k].max(x1[A][k]));
        for i in A + 1..N {
            low_b = low_b.min(x0[i][k].min(x1[i][k]));
            high_b = high_b.max(x0[i][k].max(x1[i][k]));
        }
        apart |= low_a - high_b > margin || low_b - high_a > margin;
    }
    apart
}

/// Points a and b; w = (1, −1, 0, 0).
#[inline]
pub fn point_point(x: &[Vec3; 2]) -> Nearest {
    let r = x[0] - x[1];
    Nearest { w: [1.0, -1.0, 0.0, 0.0], r, d2: r.norm_squared(), region: Region::Points(0, 1) }
}

/// Point p against the edge a b: x = (p, a, b), w = (1, −(1−t), −t, 0).
#[inline]
pub fn point_edge(x: &[Vec3; 3]) -> Nearest {
    let (t, r) = along_edge(&(x[0] - x[1]), &(x[2] - x[1]));
    let (r, region) = if t <= 0.0 {
        (r, Region::Points(0, 1))
    } else if t >= 1.0 {
        (x[0] - x[2], Region::Points(0, 2))
    } else {
        (r, Region::PointEdge(0, [1, 2]))
    };
    Nearest { w: [1.0, t - 1.0, -t, 0.0], r, d2: r.norm_squared(), region }
}

/// Parameter t in [0, 1] of the point t e nearest to p, and p − t e.
#[inline(always)]
fn along_edge(p: &Vec3, e: &Vec3) -> (f64, Vec3) {
    let (pe, ee) = (p.dot(e), e.norm_squared());
    if pe <= 0.0 {
        (0.0, *p)
    } else if pe >= ee {
        (1.0, p - e)
    } else {
        let t = pe / ee;
        (t, p - t * e)
    }
}

/// Point p against the triangle a b c: x = (p, a, b, c).
#[inline]
pub fn point_triangle(x: &[Vec3; 4]) -> Nearest {
    let (p, e, f) = (x[0] - x[1], x[2] - x[1], x[3] - x[1]);
    let (ee, ff) = (e.norm_squared(), f.norm_squared());
    let mut sides = [true; 3];
    if ee > 0.0 {
        // p ≈ v e + w f with f = k e + h: w from the part across e, then v from the part along e.
        let inv = 1.0 / ee;
        let (k, m) = (f.dot(&e) * inv, p.dot(&e) * inv);
        let h = f - k * e;
        let hh = h.norm_squared();
        if hh > FLAT * ff {
            let rest = p - m * e;
            let w = rest.dot(&h) / hh;
            let v = m - w * k;
            let u = 1.0 - v - w;
            if u > 0.0 && v > 0.0 && w > 0.0 {
                let r = rest - w * h;
                return Nearest {
                    w: [1.0, -u, -v, -w],
                    r,
                    d2: r.norm_squared(),
                    region: Region::PointTriangle,
                };
            }
            // Seen sides lie opposite corners whose weight is negative: a b, b c, c a.
            if hh > NARROW * ff && hh > NARROW * ee {
                sides = [w <= 0.0, u <= 0.0, v <= 0.0];
            }
        }
    }
    nearest_side(x, &sides)
}

#[inline]
fn nearest_side(x: &[Vec3; 4], sides: &[bool; 3]) -> Nearest {
    const ENDS: [[u8; 2]; 3] = [[1, 2], [2, 3], [3, 1]];
    let mut best = (f64::INFINITY, 0, 0.0, Vec3::zeros());
    for side in 0..3 {
        if sides[side] {
            let [a, b] = ENDS[side].map(|i| x[i as usize]);
            let (t, r) = along_edge(&(x[0] - a), &(b - a));
            let d2 = r.norm_squared();
            if d2 < best.0 {
                best = (d2, side, t, r);
            }
        }
    }
    let (d2, side, t, r) = best;
    let [a, b] = ENDS[side];
    let mut w = [1.0, 0.0, 0.0, 0.0];
    w[a as usize] = t - 1.0;
    w[b as usize] = -t;
    let region = if t <= 0.0 {
        Region::Points(0, a)
    } else if t >= 1.0 {
        Region::Points(0, b)
    } else {
        Region::PointEdge(0, [a, b])
    };
    Nearest { w, r, d2, region }
}

/// Edge a b against edge c d: x = (a, b, c, d), w = (1−s, s, −(1−t), −t).
#[inline]
pub fn edge_edge(x: &[Vec3; 4]) -> Nearest {
    let (e, f, p) = (x[1] - x[0], x[3] - x[2], x[0] - x[2]);
    let (ee, ff, ef) = (e.norm_squared(), f.norm_squared(), e.dot(&f));
    let (pe, pf) = (p.dot(&e), p.dot(&f));
    if ee > 0.0 && ff > 0.0 {
        // r = p + s e − t f. Across e: f = k e + h and p = m e + rest leave rest − t h, least at t = rest·h/h².
        let inv = 1.0 / ee;
        let (k, m) = (ef * inv, pe * inv);
        let h = f - k * e;
        let hh = h.norm_squared();
        if hh > FLAT * ff {
            let rest = p - m * e;
            let t = rest.dot(&h) / hh;
            let s = t * k - m;
            if 0.0 < s && s < 1.0 && 0.0 < t && t < 1.0 {
                let r = rest - t * h;
                return Nearest {
                    w: [1.0 - s, s, t - 1.0, -t],
                    r,
                    d2: r.norm_squared(),
                    region: Region::EdgeEdge,
                };
            }
            if hh > NARROW * ff {
                return beside(x, &p, &e, &f, s, t, [ee, ff, ef, pe, pf]);
            }
        }
    }
    nearest_end(x, &e, &f)
}

/// Two edges whose free minimum (s, t) lies outside the square: the least value on the sides it sees.
#[inline]
fn beside(
    x: &[Vec3; 4],
    p: &Vec3,
    e: &Vec3,
    f: &Vec3,
    s: f64,
    t: f64,
    [ee, ff, ef, pe, pf]: [f64; 5],
) -> Nearest {
    let mut best = (f64::INFINITY, 0.0, 0.0);
    let mut try_at = |s: f64, t: f64| {
        let d2 = (p + s * e - t * f).norm_squared();
        if d2 < best.0 {
            best = (d2, s, t);
        }
    };
    if s <= 0.0 {
        try_at(0.0, (pf / ff).clamp(0.0, 1.0));
    } else if s >= 1.0 {
        try_at(1.0, ((pf + ef) / ff).clamp(0.0, 1.0));
    }
    if t <= 0.0 {
        try_at((-pe / ee).clamp(0.0, 1.0), 0.0);
    } else if t >= 1.0 {
        try_at(((ef - pe) / ee).clamp(0.0, 1.0), 1.0);
    }
    let (_, s, t) = best;
    // From the corner that is nearest, so that no rounding of a far one enters.
    let r = match (s >= 1.0, t >= 1.0) {
        (false, false) => p + s * e - t * f,
        (true, false) => (x[1] - x[2]) - t * f,
        (false, true) => (x[0] - x[3]) + s * e,
        (true, true) => x[1] - x[3],
    };
    edges_at(s, t, r)
}

/// Two edges, nearest at one of the four ends.
fn nearest_end(x: &[Vec3; 4], e: &Vec3, f: &Vec3) -> Nearest {
    let mut best = (f64::INFINITY, 0.0, 0.0, Vec3::zeros());
    let mut take = |s: f64, t: f64, r: Vec3| {
        let d2 = r.norm_squared();
        if d2 < best.0 {
            best = (d2, s, t, r);
        }
    };
    for (s, end) in [(0.0, x[0]), (1.0, x[1])] {
        let (t, r) = along_edge(&(end - x[2]), f);
        take(s, t, r);
    }
    for (t, end) in [(0.0, x[2]), (1.0, x[3])] {
        let (s, r) = along_edge(&(end - x[0]), e);
        take(s, t, -r);
    }
    edges_at(best.1, best.2, best.3)
}

fn edges_at(s: f64, t: f64, r: Vec3) -> Nearest {
    let end = |u: f64, low: u8| if u <= 0.0 { Some(low) } else { (u >= 1.0).then_some(low + 1) };
    let region = match (end(s, 0), end(t, 2)) {
        (Some(a), Some(b)) => Region::Points(a, b),
        (Some(a), None) => Region::PointEdge(a, [2, 3]),
        (None, Some(b)) => Region::PointEdge(b, [0, 1]),
        (None, None) => Region::EdgeEdge,
    };
    Nearest { w: [1.0 - s, s, t - 1.0, -t], r, d2: r.norm_squared(), region }
}

/// Gradient of the squared distance: 2 w r, one vector per corner \[m\].
pub fn gradient(nearest: &Nearest) -> [Vec3; 4] {
    nearest.w.map(|w| 2.0 * w * nearest.r)
}

/// Exact Hessian of the squared distance within the region, 12×12 over the four corners.
pub fn hessian(nearest: &Nearest, x: &[Vec3; 4]) -> [[f64; 12]; 12] {
    let Nearest { w, r, region, .. } = nearest;
    let along = |from: u8, to: u8| {
        let mut w = [0.0; 4];
        w[from as usize] = 1.0;
        w[to as usize] = -1.0;
        w
    };
    let derivatives: Vec<[f64; 4]> = match *region {
        Region::Points(..) => vec![],
        Region::PointEdge(_, [a, b]) => vec![along(a, b)],
        Region::PointTriangle => vec![along(1, 2), along(1, 3)],
        Region::EdgeEdge => vec![along(1, 0), along(2, 3)],
    };
    let e: Vec<Vec3> = derivatives.iter().map(|s| (0..4).map(|i| s[i] * x[i]).sum()).collect();
    let c: Vec<[f64; 12]> = (0..e.len())
        .map(|j| std::array::from_fn(|a| derivatives[j][a / 3] * r[a % 3] + w[a / 3] * e[j][a % 3]))
        .collect();
    let G = |j: usize, k: usize| e[j].dot(&e[k]);
    let inverse = match e.len() {
        0 => vec![],
        1 => vec![1.0 / G(0, 0)],
        _ => {
            let det = e[0].cross(&e[1]).norm_squared();
            vec![G(1, 1) / det, -G(0, 1) / det, -G(0, 1) / det, G(0, 0) / det]
        }
    };
    let mut H = [[0.0; 12]; 12];
    for a in 0..12 {
        for b in 0..12 {
            let mut sum = if a % 3 == b % 3 { w[a / 3] * w[b / 3] } else { 0.0 };
            for j in 0..e.len() {
                for k in 0..e.len() {
                    sum -= inverse[j * e.len() + k] * c[j][a] * c[k][b];
                }
            }
            H[a][b] = 2.0 * sum;
        }
    }
    H
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;
    use std::collections::BTreeMap;

    fn vector(random: &mut Random) -> Vec3 {
        Vec3::from_fn(|_, _| random.between(-1.0, 1.0))
    }

    type Stencil = (&'static str, fn(&[Vec3; 4]) -> Nearest);
    /// All stencils as functions of four points; the shorter ones leave the last alone.
    const STENCILS: [Stencil; 4] = [
        ("point-point", |x| point_point(&[x[0], x[1]])),
        ("point-edge", |x| point_edge(&[x[0], x[1], x[2]])),
        ("point-triangle", point_triangle),
        ("edge-edge", edge_edge),
    ];

    #[test]
    fn gradient_and_hessian_agree_with_differences_in_every_region() {
        let mut random = Random::new(1);
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for (name, nearest) in STENCILS {
            for _ in 0..4000 {
                let x: [Vec3; 4] = std::array::from_fn(|_| vector(&mut random));
                let at = nearest(&x);
                let (g, H) = (gradient(&at), hessian(&at, &x));
                let h = 1e-5;
                let ends = (0..12).map(|a| {
                    [h, -h].map(|h| {
                        let mut y = x;
                        y[a / 3][a % 3] += h;
                        nearest(&y)
                    })
                });
                let ends: Vec<[Nearest; 2]> = ends.collect();
                // A region that ends within h has another Hessian; flat stencils have large third derivatives.
                let flat = match at.region {
                    Region::PointTriangle => (x[2] - x[1]).cross(&(x[3] - x[1])).norm() < 0.3,
                    Region::EdgeEdge => (x[1] - x[0]).cross(&(x[3] - x[2])).norm() < 0.3,
                    Region::PointEdge(_, [a, b]) => (x[a as usize] - x[b as usize]).norm() < 0.3,
                    Region::Points(..) => false,
                };
                if flat || ends.iter().flatten().any(|e| e.region != at.region) {
                    continue;
                }
                *seen.entry(format!("{name} {:?}", at.region)).or_default() += 1;
                for a in 0..12 {
                    let [up, down] = &ends[a];
                    let derivative = (up.d2 - down.d2) / (2.0 * h);
                    assert!(
                        (derivative - g[a / 3][a % 3]).abs() < 1e-7,
                        "{name} {:?}: {derivative}",
                        at.region
                    );
                    let (gu, gd) = (gradient(up), gradient(down));
                    for b in 0..12 {
                        let second = (gu[b / 3][b % 3] - gd[b / 3][b % 3]) / (2.0 * h);
                        assert!(
                            (second - H[a][b]).abs() < 2e-5,
                            "{name} {:?}: {second} {}",
                            at.region,
                            H[a][b]
                        );
                    }
                }
            }
        }
        // 1 + 3 + (1 + 3 + 3) + (1 + 4 + 4): none may stay unseen.
        assert_eq!(seen.len(), 20, "{seen:?}");
        assert!(seen.values().all(|&n| n > 10), "{seen:?}");
    }

    #[test]
    fn weights_name_points_of_the_primitives() {
        let mut random = Random::new(2);
        for (name, nearest) in STENCILS {
            for _ in 0..10_000 {
                let x: [Vec3; 4] = std::array::from_fn(|_| vector(&mut random));
                let at = nearest(&x);
                let r: Vec3 = (0..4).map(|i| at.w[i] * x[i]).sum();
                assert!((r - at.r).norm() < 1e-13, "{name} {at:?}");
                assert!(at.w.iter().sum::<f64>().abs() < 1e-15, "{name} {at:?}");
                let first = if name == "edge-edge" { 2 } else { 1 };
                for i in 0..4 {
                    let w = if i < first { at.w[i] } else { -at.w[i] };
                    assert!((0.0..=1.0).contains(&w), "{name} {at:?}");
                }
            }
        }
    }

    /// The least value over all pairs of points, by searching the sides and the free minimum of a fine grid.
    fn searched(x: &[Vec3; 4], triangle: bool) -> f64 {
        let mut best = f64::INFINITY;
        let (mut center, mut width) = ([0.5, 0.5], 0.5);
        for _ in 0..40 {
            let mut at = center;
            for i in -8..=8 {
                for j in -8..=8 {
                    let s = (center[0] + width * f64::from(i) / 8.0).clamp(0.0, 1.0);
                    let t = (center[1] + width * f64::from(j) / 8.0).clamp(0.0, 1.0);
                    let r = if triangle {
                        let (v, w) = (s * (1.0 - t), s * t);
                        x[0] - ((1.0 - v - w) * x[1] + v * x[2] + w * x[3])
                    } else {
                        (1.0 - s) * x[0] + s * x[1] - (1.0 - t) * x[2] - t * x[3]
                    };
                    if r.norm_squared() < best {
                        best = r.norm_squared();
                        at = [s, t];
                    }
                }
            }
            center = at;
            width *= 0.6;
        }
        best
    }

    #[test]
    fn nothing_nearer_is_found_by_searching() {
        let mut random = Random::new(3);
        for k in 0..600 {
            let mut x: [Vec3; 4] = std::array::from_fn(|_| vector(&mut random));
            if k % 3 == 0 {
                // Nearly flat triangles and nearly parallel edges.
                let tilt = 10f64.powf(random.between(-9.0, -1.0));
                x[3] = x[2] + random.between(-2.0, 2.0) * (x[1] - x[0]) + tilt * vector(&mut random);
            }
            // The other direction, that the distance is that of two points, is the law of the weights above.
            for (triangle, at) in [(true, point_triangle(&x)), (false, edge_edge(&x))] {
                let found = searched(&x, triangle);
                assert!(at.d2 <= found * (1.0 + 1e-9) + 1e-15, "{triangle} {:e} {found:e} {x:?}", at.d2);
            }
        }
    }

    /// A frame with random axes and origin.
    fn frame(random: &mut Random) -> impl Fn(f64, f64, f64) -> Vec3 + use<> {
        let a = vector(random).normalize();
        let b = a.cross(&vector(random)).normalize();
        let (c, o) = (a.cross(&b), vector(random));
        move |x, y, z| o + x * a + y * b + z * c
    }

    #[test]
    fn slivers_and_nearly_parallel_edges_keep_their_distance() {
        let mut random = Random::new(4);
        for _ in 0..20_000 {
            let at = frame(&mut random);
            let thin = 10f64.powf(random.between(-16.0, 0.0));
            let height = 10f64.powf(random.between(-12.0, 0.0));
            // The point hangs over the inside of a triangle of that width.
            let (v, w) = (random.between(0.01, 0.98), random.unit());
            let w = 0.01 + (0.98 - v) * w;
            let tip = random.between(-1.0, 2.0);
            let x =
                [at(v + w * tip, w * thin, height), at(0.0, 0.0, 0.0), at(1.0, 0.0, 0.0), at(tip, thin, 0.0)];
            for turn in 0..3 {
                let y = [x[0], x[1 + turn], x[1 + (turn + 1) % 3], x[1 + (turn + 2) % 3]];
                let d = point_triangle(&y).d2.sqrt();
                assert!((d - height).abs() < 4e-15, "thin {thin:e} height {height:e}: {d:e}");
            }
            // Two edges that cross at that angle.
            let (s, t) = (random.between(0.1, 0.9), random.between(0.1, 0.9));
            let x = [
                at(-s, 0.0, height),
                at(1.0 - s, 0.0, height),
                at(-t * (1.0 - thin * thin).sqrt(), -t * thin, 0.0),
                at((1.0 - t) * (1.0 - thin * thin).sqrt(), (1.0 - t) * thin, 0.0),
            ];
            for y in [x, [x[1], x[0], x[2], x[3]], [x[2], x[3], x[0], x[1]], [x[0], x[1], x[3], x[2]]] {
                let d = edge_edge(&y).d2.sqrt();
                assert!((d - height).abs() < 4e-15, "angle {thin:e} height {height:e}: {d:e}");
            }
        }
    }

    #[test]
    fn collapsed_primitives_are_points() {
        let p = Vec3::new(0.3, -0.2, 0.5);
        let q = Vec3::new(1.0, 2.0, -1.0);
        let d2 = (p - q).norm_squared();
        assert_eq!(point_edge(&[p, q, q]).d2, d2);
        assert_eq!(point_triangle(&[p, q, q, q]).d2, d2);
        assert_eq!(edge_edge(&[p, p, q, q]).d2, d2);
        let far = q + Vec3::new(0.0, 5.0, 0.0);
        assert_eq!(point_triangle(&[p, q, q, far]).d2, point_edge(&[p, q, far]).d2);
        assert_eq!(point_triangle(&[p, far, q, far]).d2, point_edge(&[p, q, far]).d2);
        assert_eq!(edge_edge(&[p, p, q, far]).d2, point_edge(&[p, q, far]).d2);
        assert_eq!(edge_edge(&[q, far, p, p]).d2, point_edge(&[p, q, far]).d2);
    }

    #[test]
    fn collinear_edges_measure_the_space_between_them() {
        for scale in [1e-9, 1.0, 1e6] {
            let at = |s: f64| s * scale * Vec3::new(0.6, 0.0, 0.8);
            let d = edge_edge(&[at(0.0), at(1.0), at(1.25), at(3.0)]).d2.sqrt();
            assert!((d / scale - 0.25).abs() < 1e-15, "{d}");
            let d = edge_edge(&[at(0.0), at(2.0), at(1.0), at(3.0)]).d2.sqrt();
            assert!(d / scale < 1e-15, "{d}");
        }
    }
}
