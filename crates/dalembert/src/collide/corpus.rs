//! Hard pairs for continuous collision detection, and a judge of its answers.
//!
//! The law: the pair stays farther apart than its separation until the time that was answered (proven by the interval
//! method), a pair made to meet at a known time is stopped before it, and nearly every pair that was stopped had nearly met.

use super::ccd::{self, CcdOptions, IntervalOptions};
use super::distance;
use crate::math::{Random, Vec3};

/// A moving pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// Two edges if true, a point and a triangle otherwise.
    pub edges: bool,
    /// First positions \[m\].
    pub x0: [Vec3; 4],
    /// Last positions \[m\].
    pub x1: [Vec3; 4],
    /// Distance to be kept \[m\].
    pub separation: f64,
    /// A time at which the two are made to meet (up to rounding of positions), if they are.
    pub meets: Option<f64>,
    /// Where it comes from.
    pub family: &'static str,
}

/// What became of a pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// Answer of the method under test.
    pub time: f64,
    /// True if the interval method proved it; false if the pair is so near that it could not within its boxes.
    pub proven: bool,
    /// True if the pair was stopped although it is not near yet: the method ran out of advances.
    pub short: bool,
}

fn vector(random: &mut Random, size: f64) -> Vec3 {
    Vec3::from_fn(|_, _| random.between(-size, size))
}

fn power(random: &mut Random, low: f64, high: f64) -> f64 {
    10f64.powf(random.between(low, high))
}

/// Weights of a random pair of points, one on each primitive: positive on the first, negative on the second.
fn weights(random: &mut Random, edges: bool) -> [f64; 4] {
    let at = |random: &mut Random| match random.bits() % 6 {
        0 => 0.0,
        1 => 1.0,
        _ => random.unit(),
    };
    let (s, t) = (at(random), at(random));
    if edges { [1.0 - s, s, t - 1.0, -t] } else { [1.0, -(1.0 - s), -s * (1.0 - t), -s * t] }
}

/// Pair number `k` of an endless list with this seed.
pub fn pair(seed: u64, k: u64) -> Pair {
    let mut random = Random::new(seed ^ k.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let r = &mut random;
    let edges = r.bits().is_multiple_of(2);
    let mut x0: [Vec3; 4] = std::array::from_fn(|_| vector(r, 1.0));
    let mut v: [Vec3; 4] = std::array::from_fn(|_| vector(r, 2.0));
    let family = match k % 10 {
        0 => "random",
        1 => {
            // Nearly parallel edges, flat triangles.
            let tilt = power(r, -16.0, -3.0);
            x0[3] = x0[2] + r.between(-2.0, 2.0) * (x0[1] - x0[0]) + tilt * vector(r, 1.0);
            if r.bits().is_multiple_of(2) {
                let same = v[0];
                v = std::array::from_fn(|i| if i < 2 { same } else { tilt * v[i] });
            }
            "parallel"
        }
        2 => {
            // Everything in one plane, or along one line.
            let flat = r.bits().is_multiple_of(3);
            for x in x0.iter_mut().chain(&mut v) {
                x.z = 0.0;
                if flat {
                    x.y = 0.0;
                }
            }
            "flat"
        }
        3 => {
            let width = power(r, -14.0, -2.0);
            x0[2] = x0[1] + width * vector(r, 1.0);
            "sliver"
        }
        4 => {
            let far = vector(r, 1e6);
            x0 = x0.map(|x| x + far);
            "far away"
        }
        5 => {
            let size = power(r, 0.0, 4.0);
            v = v.map(|v| size * v);
            "long step"
        }
        6 => {
            let (size, common) = (power(r, -12.0, -2.0), vector(r, 3.0));
            v = v.map(|v| common + size * v);
            "common motion"
        }
        7 => {
            // A gap of almost nothing between the points that meet.
            let w = weights(r, edges);
            let apart: Vec3 = (0..4).map(|i| w[i] * x0[i]).sum();
            let gap = power(r, -13.0, -3.0);
            let n = vector(r, 1.0).normalize();
            for i in 0..if edges { 2 } else { 1 } {
                x0[i] += gap * n - apart;
            }
            "tiny gap"
        }
        8 => {
            x0[3] = x0[2];
            v[3] = v[2];
            if edges && r.bits().is_multiple_of(2) {
                (x0[1], v[1]) = (x0[0], v[0]);
            }
            "collapsed"
        }
        _ => {
            let size = power(r, -6.0, 6.0);
            x0 = x0.map(|x| size * x);
            v = v.map(|v| size * v);
            "any unit"
        }
    };
    let mut meets = None;
    if r.bits().is_multiple_of(2) {
        // Choose the motion of the first corners so that two points coincide at a time t.
        let (w, t) = (weights(r, edges), r.between(0.01, 1.0));
        let apart: Vec3 = (0..4).map(|i| w[i] * (x0[i] + t * v[i])).sum();
        for v in &mut v[..if edges { 2 } else { 1 }] {
            *v -= apart / t;
        }
        meets = Some(t);
    }
    let d = nearest(edges, &x0).d2.sqrt();
    let separation = if r.bits().is_multiple_of(3) { d * r.between(0.0, 0.999) } else { 0.0 };
    Pair { edges, x0, x1: std::array::from_fn(|i| x0[i] + v[i]), separation, meets, family }
}

fn nearest(edges: bool, x: &[Vec3; 4]) -> distance::Nearest {
    if edges { distance::edge_edge(x) } else { distance::point_triangle(x) }
}

/// Runs the additive method on a pair and judges its answer; the error says what is wrong.
pub fn judge(pair: &Pair, boxes: usize) -> Result<Verdict, String> {
    let options = CcdOptions { separation: pair.separation, ..CcdOptions::default() };
    let (x0, x1) = (&pair.x0, &pair.x1);
    let time =
        if pair.edges { ccd::edge_edge(x0, x1, &options) } else { ccd::point_triangle(x0, x1, &options) };
    if !(0.0..=1.0).contains(&time) {
        return Err(format!("time {time} outside [0, 1]"));
    }
    if let Some(t) = pair.meets.filter(|&t| time > t) {
        return Err(format!("stops at {time}, after the impact at {t}"));
    }
    let size = (0..4).map(|i| (x0[i] - x0[0]).amax() + (x1[i] - x0[i]).amax()).fold(0.0, f64::max);
    let first = nearest(pair.edges, x0).d2.sqrt() - pair.separation;
    let at: [Vec3; 4] = std::array::from_fn(|i| (x0[i] - x0[0]) + time * (x1[i] - x0[i]));
    let gap = nearest(pair.edges, &at).d2.sqrt() - pair.separation;
    let noise = 1e-13 * (size + pair.separation);
    let short = time < 1.0 && gap > (2.0 * options.rest * first).max(1e-6 * size) + noise;
    let width = 0.02 * options.rest * first.abs();
    let ask = IntervalOptions { separation: pair.separation, from: 0.0, to: time, width, boxes };
    let interval = if pair.edges {
        ccd::interval_edge_edge(x0, x1, &ask)
    } else {
        ccd::interval_point_triangle(x0, x1, &ask)
    };
    let proven = interval.free_until >= time;
    if !proven && interval.boxes <= boxes && gap.min(first) > 100.0 * noise {
        return Err(format!("stops at {time}, but intervals find a contact from {} on", interval.free_until));
    }
    Ok(Verdict { time, proven, short })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pair_goes_past_its_impact() {
        let (mut unproven, mut moved, mut free, mut short) = (0, 0, 0, 0);
        let count = 100_000;
        for k in 0..count {
            let pair = pair(1, k);
            match judge(&pair, 3000) {
                Ok(verdict) => {
                    unproven += u64::from(!verdict.proven);
                    moved += u64::from(verdict.time > 0.0);
                    short += u64::from(verdict.short);
                    free += u64::from(verdict.time == 1.0);
                }
                Err(what) => panic!("pair {k}, {}: {what}\n{pair:?}", pair.family),
            }
        }
        assert!(short < count / 5000, "{short} stopped early");
        assert!(unproven < count / 20, "{unproven} unproven");
        assert!(moved > count * 9 / 10, "only {moved} moved");
        assert!(free > count / 10 && free < count / 2, "{free} free");
    }
}
