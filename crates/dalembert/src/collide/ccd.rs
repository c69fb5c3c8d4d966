//! Continuous collision detection of straight motions: how far may a pair go?
//!
//! **Advancing by directions.** For any unit vector n and two convex primitives, $\min_{ab} n\cdot(x_a - x_b)$ over corners
//! a of the first and b of the second is a lower bound of their distance, with equality if n points from one nearest
//! point to the other. Along a straight motion every $s_{ab}(t) = n\cdot(x_a - x_b)$ is linear in t, so the pair stays
//! apart at least until the first of them reaches the separation ξ. There n is taken anew. This is additive CCD (Li et al.
//! 2021; conservative advancement of Mirtich 1996) with the speed along n in place of the bound $\max|\dot x_a - \dot x_b|$:
//! each advance is at least as long, motions along a face are free, and motion that both share drops out.
//!
//! **Why it is never late.** The bound holds for every n, so a wrong nearest point costs length, never safety. What rounding
//! can do to $s_{ab}$, a few ε of the size and motion of the pair, is taken off. Differences are formed first, so
//! a pair far from the origin is as good as one near it. All comparisons are relative: units do not matter.
//!
//! **Turning.** A pair that turns against itself advances by the speed of its fastest corner along a fixed n: slow if the gap
//! is small. After a few rounds the cubic w·(u × v) of the two lines (or point and plane) is bounded as well, whose
//! normal turns along.
//!
//! **Where it stops.** At a gap of `rest` times the first gap but `most` at most (each advance aims at 0.8 of that), or after `advances`
//! rounds, at the time reached or where the interval method proves the pair free.
//!
//! **Intervals** (Wang et al. 2021): the difference of two material points $F(t, u, v)$ is linear in each of t, u, v, so
//! its values over a box of (t, u, v) lie in the hull of its eight corners. Boxes whose hull stays away from the origin by
//! more than ξ are dropped, others are halved. Slow, but it proves what it says: the tests judge by it.

use super::distance::{self, Nearest};
use crate::math::Vec3;

/// How far a pair may go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CcdOptions {
    /// Distance that the pair must keep: the sum of its radii \[m\].
    pub separation: f64,
    /// Part of the first gap (distance − separation) that is left where the motion stops, in (0, 1).
    pub rest: f64,
    /// What is left at most \[m\], > 0: a pair that stays farther apart is never stopped, however far it was at first.
    pub most: f64,
    /// Advances before the interval method takes over.
    pub advances: u32,
    /// Part of the motion that is looked at, in [0, 1]: the answer is never larger.
    pub longest: f64,
}

impl Default for CcdOptions {
    fn default() -> Self {
        Self { separation: 0.0, rest: 0.1, most: f64::INFINITY, advances: 64, longest: 1.0 }
    }
}

/// Rounding of a coordinate difference and its product with n, relative to the size of the pair.
const ROUNDING: f64 = 16.0 * f64::EPSILON;
/// Advances before the turning of the normal is looked at.
const TURNING: u32 = 6;
/// Boxes that the interval method may look at when it helps out.
const BOXES: usize = 2000;

/// Part of the motion from `x0` to `x1` that the pair (point, triangle) may take: `longest` if nothing stops it, 0 if
/// they touch already or a number is not finite. Never later than the time at which their distance is `separation`.
pub fn point_triangle(x0: &[Vec3; 4], x1: &[Vec3; 4], options: &CcdOptions) -> f64 {
    advance::<4, 1>(x0, x1, options, distance::point_triangle)
}

/// The same for two edges (a, b), (c, d).
pub fn edge_edge(x0: &[Vec3; 4], x1: &[Vec3; 4], options: &CcdOptions) -> f64 {
    advance::<4, 2>(x0, x1, options, distance::edge_edge)
}

/// The same for a point and an edge.
pub fn point_edge(x0: &[Vec3; 3], x1: &[Vec3; 3], options: &CcdOptions) -> f64 {
    advance::<3, 1>(x0, x1, options, distance::point_edge)
}

/// The same for two points.
pub fn point_point(x0: &[Vec3; 2], x1: &[Vec3; 2], options: &CcdOptions) -> f64 {
    advance::<2, 1>(x0, x1, options, distance::point_point)
}

/// The same for a point at heights `h0`, `h1` \[m\] above a half-plane: closed form.
pub fn point_plane(h0: f64, h1: f64, options: &CcdOptions) -> f64 {
    let guard = ROUNDING * (h0.abs() + h1.abs());
    let gap = h0 - options.separation - guard;
    if !(gap > 0.0 && h1 < f64::INFINITY) {
        return 0.0;
    }
    let target = (options.rest * gap).min(options.most);
    if h1 - options.separation - guard >= target {
        return options.longest;
    }
    let t = (gap - target) / (h0 - h1);
    if t > 0.0 { t.min(options.longest) } else { 0.0 }
}

/// Least n·(x_a − x_b) over corners a of the first primitive and b of the second.
#[inline(always)]
fn support<const N: usize, const A: usize>(x: &[Vec3; N], n: &Vec3) -> f64 {
    let mut least = f64::INFINITY;
    for a in 0..A {
        for b in A..N {
            let s = n.dot(&(x[a] - x[b]));
            // Written so that what is not a number wins.
            if !(s >= least) {
                least = s;
            }
        }
    }
    least
}

/// A unit direction along which the pair, with nearest points r apart, is separated by almost |r|.
///
/// r itself is wrong by ε L, its direction by ε L/|r|, and that tips the far corners by ε L²/|r|, more than the distance
/// if |r| < √ε L. Directions made of edges are not: across both, or r without its part along one.
#[inline(always)]
fn direction<const N: usize, const A: usize>(x: &[Vec3; N], r: &Vec3, d: f64) -> Vec3 {
    let n = r / d;
    if support::<N, A>(x, &n) >= 0.9 * d { n } else { other_direction::<N, A>(x, r, n) }
}

#[cold]
fn other_direction<const N: usize, const A: usize>(x: &[Vec3; N], r: &Vec3, n: Vec3) -> Vec3 {
    let edges: &[[usize; 2]] = match (N, A) {
        (4, 2) => &[[0, 1], [2, 3]],
        (4, 1) => &[[1, 2], [1, 3], [2, 3]],
        (3, 1) => &[[1, 2]],
        _ => &[],
    };
    let along: Vec<Vec3> = edges.iter().filter_map(|&[a, b]| (x[b] - x[a]).try_normalize(0.0)).collect();
    let mut best = (support::<N, A>(x, &n), n);
    let mut take = |n: Vec3| {
        if let Some(n) = n.try_normalize(0.0) {
            let s = support::<N, A>(x, &n);
            if s > best.0 {
                best = (s, n);
            }
        }
    };
    for (k, e) in along.iter().enumerate() {
        take(r - e.dot(r) * e);
        for f in &along[k + 1..] {
            let across = e.cross(f);
            take(across);
            take(-across);
        }
    }
    best.1
}

/// Advances a pair of N corners, the first A of them the first primitive.
#[inline(always)]
fn advance<const N: usize, const A: usize>(
    x0: &[Vec3; N],
    x1: &[Vec3; N],
    options: &CcdOptions,
    nearest: impl Fn(&[Vec3; N]) -> Nearest,
) -> f64 {
    // Positions from the first corner, motions less that of the first corner.
    let first = x1[0] - x0[0];
    let start: [Vec3; N] = std::array::from_fn(|i| x0[i] - x0[0]);
    let motion: [Vec3; N] = std::array::from_fn(|i| (x1[i] - x0[i]) - first);
    let mut size = 0.0;
    for i in 0..N {
        size += start[i].abs().sum() + motion[i].abs().sum();
    }
    let guard = ROUNDING * (size + options.separation + 0.125 * first.abs().sum());
    let mut near = nearest(&start);
    let mut d = near.d2.sqrt();
    let gap = d - options.separation - guard;
    if !(gap > 0.0 && guard < f64::INFINITY) {
        return 0.0;
    }
    let rest = (options.rest * gap).min(options.most);
    let floor = options.separation + guard + 0.8 * rest;
    let (mut t, mut x) = (0.0, start);
    for round in 0..options.advances {
        let n = direction::<N, A>(&x, &near.r, d);
        // The longest advance for which all s_ab stay above the floor.
        let mut step = f64::INFINITY;
        for a in 0..A {
            for b in A..N {
                let above = n.dot(&(x[a] - x[b])) - floor;
                let rate = n.dot(&(motion[a] - motion[b]));
                if !(above > 0.0) {
                    return t;
                }
                if !(rate >= 0.0) {
                    let reach = above / -rate;
                    if !(reach >= step) {
                        step = reach;
                    }
                }
            }
        }
        if !(step > 0.0) {
            return t;
        }
        if round >= TURNING && step < 0.25 * (1.0 - t) {
            step = turning::<N, A>(&x, &motion, step, floor);
        }
        t += step;
        if t >= options.longest {
            return options.longest;
        }
        for i in 0..N {
            x[i] = start[i] + t * motion[i];
        }
        near = nearest(&x);
        d = near.d2.sqrt();
        if !(d - options.separation - guard > rest) {
            return t;
        }
    }
    let bounds = IntervalOptions { separation: floor, from: t, to: 1.0, width: rest, boxes: BOXES };
    interval::<N, A>(&start, &motion, &bounds).free_until.min(options.longest)
}

/// A longer advance than `step` for a pair whose normal turns with it: `step` if none is found. What is tried does not
/// depend on how far the pair is followed, so neither does the path it takes.
///
/// With w between the two lines (or point and plane) and u, v along them, P = w·(u × v) is a cubic in time, and |P|/|u × v| is a lower
/// bound of the distance. Over an advance of T both P and u × v lie in the hulls of their Bernstein coefficients: mixed
/// products of the values at the two ends.
#[cold]
fn turning<const N: usize, const A: usize>(x: &[Vec3; N], motion: &[Vec3; N], step: f64, floor: f64) -> f64 {
    let ends = match (N, A) {
        (4, 2) => [[0, 2], [1, 0], [3, 2]],
        (4, 1) => [[0, 1], [2, 1], [3, 1]],
        _ => return step,
    };
    let at = |T: f64| ends.map(|[i, j]: [usize; 2]| (x[i] - x[j]) + T * (motion[i] - motion[j]));
    let [w0, u0, v0] = at(0.0);
    let c0 = u0.cross(&v0);
    let mut T = 1.0;
    while T > 2.0 * step {
        let [w1, u1, v1] = at(T);
        let (c2, ca, cb) = (u1.cross(&v1), u0.cross(&v1), u1.cross(&v0));
        let c1 = 0.5 * (ca + cb);
        let mixed = [
            w0.dot(&c0),
            (w1.dot(&c0) + 2.0 * w0.dot(&c1)) / 3.0,
            (w0.dot(&c2) + 2.0 * w1.dot(&c1)) / 3.0,
            w1.dot(&c2),
        ];
        let sign = mixed[0].signum();
        let least = mixed.iter().map(|p| sign * p).fold(f64::INFINITY, f64::min);
        let larger = |a: &Vec3, b: &Vec3| a.abs().sum().max(b.abs().sum());
        let rounding = ROUNDING * larger(&w0, &w1) * larger(&u0, &u1) * larger(&v0, &v1);
        let across = c0.norm().max(c1.norm()).max(c2.norm());
        if least - rounding > floor * (1.0 + ROUNDING) * across {
            return T;
        }
        T *= 0.5;
    }
    step
}

/// What the interval method is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntervalOptions {
    /// Distance that counts as contact \[m\].
    pub separation: f64,
    /// First time.
    pub from: f64,
    /// Last time.
    pub to: f64,
    /// Boxes over which the difference varies less than this \[m\] are not halved any more.
    pub width: f64,
    /// Boxes that may be looked at.
    pub boxes: usize,
}

/// What the interval method found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntervalAnswer {
    /// The pair is proven to stay farther apart than the separation until this time; `to` if throughout.
    pub free_until: f64,
    /// Boxes looked at.
    pub boxes: usize,
}

/// Interval method for a point and a triangle moving from `x0` to `x1`.
pub fn interval_point_triangle(x0: &[Vec3; 4], x1: &[Vec3; 4], options: &IntervalOptions) -> IntervalAnswer {
    interval::<4, 1>(&x0.map(|x| x - x0[0]), &std::array::from_fn(|i| x1[i] - x0[i]), options)
}

/// Interval method for two edges.
pub fn interval_edge_edge(x0: &[Vec3; 4], x1: &[Vec3; 4], options: &IntervalOptions) -> IntervalAnswer {
    interval::<4, 2>(&x0.map(|x| x - x0[0]), &std::array::from_fn(|i| x1[i] - x0[i]), options)
}

#[derive(Clone, Copy)]
struct Cell {
    low: [f64; 3],
    size: [f64; 3],
}

fn interval<const N: usize, const A: usize>(
    start: &[Vec3; N],
    motion: &[Vec3; N],
    options: &IntervalOptions,
) -> IntervalAnswer {
    let largest = (0..N).map(|i| start[i].amax() + motion[i].amax()).fold(0.0, f64::max);
    // Eleven roundings of numbers no larger than three times the largest.
    let guard = 64.0 * f64::EPSILON * largest + options.separation;
    let mut free_until = options.to;
    let mut stack = vec![Cell { low: [options.from, 0.0, 0.0], size: [options.to - options.from, 1.0, 1.0] }];
    let mut boxes = 0;
    while let Some(cell) = stack.pop() {
        if !(cell.low[0] < free_until) {
            continue;
        }
        boxes += 1;
        if boxes > options.boxes {
            let waiting = stack.iter().map(|c| c.low[0]).fold(cell.low[0], f64::min);
            return IntervalAnswer { free_until: waiting.min(free_until).max(options.from), boxes };
        }
        if N - A == 3 && cell.low[1] + cell.low[2] > 1.0 {
            continue;
        }
        // F at the eight corners.
        let corner = |k: usize| -> Vec3 {
            let at: [f64; 3] =
                std::array::from_fn(|j| cell.low[j] + if k >> j & 1 == 1 { cell.size[j] } else { 0.0 });
            let x = |i: usize| start[i] + at[0] * motion[i];
            match (A, N) {
                (2, 4) => x(0) + at[1] * (x(1) - x(0)) - x(2) - at[2] * (x(3) - x(2)),
                (1, 4) => x(0) - x(1) - at[1] * (x(2) - x(1)) - at[2] * (x(3) - x(1)),
                (1, 3) => x(0) - x(1) - at[1] * (x(2) - x(1)),
                _ => x(0) - x(1),
            }
        };
        let F: [Vec3; 8] = std::array::from_fn(corner);
        let (mut low, mut high) = (F[0], F[0]);
        for f in &F[1..] {
            low = low.inf(f);
            high = high.sup(f);
        }
        let mut away = 0.0;
        for k in 0..3 {
            let d = low[k].max(-high[k]).max(0.0);
            away += d * d;
        }
        // A hull may also lie on one side of a plane across the middle value.
        let middle = F.iter().sum::<Vec3>();
        let side = F.iter().map(|f| f.dot(&middle)).fold(f64::INFINITY, f64::min) / middle.norm();
        if away.sqrt() > guard || side > guard * (1.0 + 8.0 * f64::EPSILON) {
            continue;
        }
        // Which parameter moves F most?
        let spans: [f64; 3] = std::array::from_fn(|j| {
            (0..8).filter(|k| k >> j & 1 == 0).map(|k| (F[k + (1 << j)] - F[k]).norm()).fold(0.0, f64::max)
        });
        let j = (0..3).max_by(|&a, &b| spans[a].total_cmp(&spans[b])).unwrap_or(0);
        if !(spans[j] > options.width) || cell.size[j] < 1e-15 {
            free_until = cell.low[0];
            continue;
        }
        let mut halves = [cell; 2];
        for h in &mut halves {
            h.size[j] *= 0.5;
        }
        halves[1].low[j] += halves[1].size[j];
        // The earlier half last, to be looked at first.
        stack.extend([halves[1], halves[0]]);
    }
    IntervalAnswer { free_until, boxes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_stop_where_a_tenth_is_left() {
        let o = CcdOptions::default();
        assert!((point_plane(1.0, -1.0, &o) - 0.45).abs() < 1e-14);
        assert_eq!(point_plane(1.0, 0.5, &o), 1.0);
        assert_eq!(point_plane(1.0, 7.0, &o), 1.0);
        assert_eq!(point_plane(0.0, 7.0, &o), 0.0);
        let thick = CcdOptions { separation: 0.5, ..o };
        assert!((point_plane(1.0, 0.0, &thick) - 0.45).abs() < 1e-14);
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(point_plane(bad, 1.0, &o), 0.0);
            assert_eq!(point_plane(1.0, bad, &o), 0.0);
        }
    }

    #[test]
    fn a_head_on_impact_of_points_and_edges_stops_at_nine_tenths() {
        let (o, z) = (CcdOptions::default(), Vec3::z());
        let t = point_point(&[Vec3::zeros(), 2.0 * z], &[4.0 * z, 2.0 * z], &o);
        assert!((0.45..0.461).contains(&t), "{t}");
        let (a, b) = (Vec3::new(-1.0, 0.0, 2.0), Vec3::new(1.0, 0.0, 2.0));
        let t = point_edge(&[Vec3::zeros(), a, b], &[Vec3::zeros(), a - 4.0 * z, b - 4.0 * z], &o);
        assert!((0.45..0.461).contains(&t), "{t}");
        // The same, 10⁶ m away and together with everything around.
        let far = Vec3::new(1e6, -1e6, 1e6);
        let again = point_point(&[far, far + 2.0 * z], &[2.0 * far + 4.0 * z, 2.0 * far + 2.0 * z], &o);
        assert!((0.44..0.461).contains(&again), "{again}");
    }

    #[test]
    fn numbers_that_are_not_finite_stop_everything() {
        let x: [Vec3; 4] = [Vec3::z(), Vec3::zeros(), Vec3::x(), Vec3::y()];
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
            for i in 0..12 {
                let mut y = x;
                y[i / 3][i % 3] = bad;
                let o = CcdOptions::default();
                for t in [point_triangle(&x, &y, &o), point_triangle(&y, &x, &o), edge_edge(&x, &y, &o)] {
                    assert!((0.0..=1.0).contains(&t), "{t}");
                    assert!(bad == 1e300 || t == 0.0, "{bad} at {i}: {t}");
                }
            }
        }
    }

    #[test]
    fn without_advances_the_intervals_answer() {
        let o = CcdOptions { advances: 0, ..CcdOptions::default() };
        let x0 = [Vec3::new(0.2, 0.2, 1.0), Vec3::zeros(), Vec3::x(), Vec3::y()];
        let mut x1 = x0;
        x1[0].z = -1.0;
        let t = point_triangle(&x0, &x1, &o);
        assert!((0.3..0.47).contains(&t), "{t}");
        x1[0] = Vec3::new(5.0, 5.0, 1.0);
        assert_eq!(point_triangle(&x0, &x1, &o), 1.0);
    }
}
