//! Forces of many contacts at once as a linear complementarity problem with friction on a pyramid (Stewart and Trinkle 1996), or in
//! round cones.
//!
//! With f the forces along the axes of the points, $u = A f + b$ is what they lead to: accelerations of points that rest,
//! or velocities after an impact. Without friction
//!
//! $$ u_n = A f + b \ge 0,\quad f \ge 0,\quad f\cdot u_n = 0. $$
//!
//! A point that **slides** along the unit vector t has the force f (n − μ t), so its column changes and the matrix is no
//! longer symmetric: there may be no solution (Painlevé 1895), and then there is none to be returned. Points that
//! **stick**, or begin to slip from rest, have forces in round cones and always a solution: sweeps over the cones
//! ([`solve_coulomb`]) find it. If they are too slow, or stand beside points that slide, each gets eight directions d across
//! the normal with forces β ≥ 0 and a bound Σβ ≤ μ f:
//! $ u\cdot d + \lambda \ge 0 \perp \beta \ge 0,\; \mu f - \Sigma\beta \ge 0 \perp \lambda \ge 0 $
//! (Stewart and Trinkle 1996), one of the eight turned against the motion that would be without friction. Both the
//! pyramid and the frictionless problem go through Lemke's pivots; without friction a quadratic program stands in reserve.

use super::contact_points::{Delassus, Point};
use crate::math::{Blocks, Mat3};
use crate::solve::block_matrix::BlockMatrix;
use crate::solve::box_lcp::{Bounds, BoxLcpWork, solve_box_lcp};
use crate::solve::coulomb::{CoulombStop, solve_coulomb};
use crate::solve::lcp::{LcpEnd, solve_lcp};

/// What friction does at a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Friction {
    None,
    /// Against the unit vector with these components across the normal.
    Slides([f64; 2]),
    Sticks,
}

/// Directions of the pyramid.
const SIDES: usize = 8;

/// One unknown and its row: the force it stands for and the rate that goes with it, along the axes of its point.
#[derive(Debug, Clone, Copy)]
struct Unknown {
    point: usize,
    force: [f64; 3],
    rate: [f64; 3],
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Normal,
    Side,
    Bound,
}

/// Forces along all axes, or `None` if there are none that fit.
pub(super) fn solve(A: &Delassus, b: &[f64], points: &[Point], friction: &[Friction]) -> Option<Vec<f64>> {
    let any = |kind: fn(&Friction) -> bool| friction.iter().any(kind);
    let slides = any(|f| matches!(f, Friction::Slides(_)));
    let mut cones = None;
    if !slides && any(|f| *f == Friction::Sticks) {
        let (forces, residual) = in_cones(A, b, points);
        if residual <= 1e-10 {
            return Some(forces);
        }
        cones = Some(forces);
    }
    pivots(A, b, points, friction).or(cones)
}

/// Forces in the round cones of all points, and the residual that is left.
fn in_cones(A: &Delassus, b: &[f64], points: &[Point]) -> (Vec<f64>, f64) {
    let n = points.len();
    let mut list = Blocks::default();
    for i in 0..n {
        for j in 0..n {
            list.add(i, j, Mat3::from_fn(|d, e| A.at(3 * i + d, 3 * j + e)));
        }
    }
    let mu: Vec<f64> = points.iter().map(|p| p.friction).collect();
    let mut forces = vec![0.0; 3 * n];
    let stop = CoulombStop { tolerance: 1e-13, most_sweeps: 1000, memory: 10 };
    let report = solve_coulomb(&BlockMatrix::new(n, &list), b, &mu, &stop, &mut forces);
    (forces, report.residual)
}

/// The same with pyramids for cones, by pivots.
fn pivots(A: &Delassus, b: &[f64], points: &[Point], friction: &[Friction]) -> Option<Vec<f64>> {
    let mut list = Vec::new();
    for (point, rule) in friction.iter().enumerate() {
        let normal = [1.0, 0.0, 0.0];
        let mu = points[point].friction;
        let one = |force, rate, kind| Unknown { point, force, rate, kind };
        match rule {
            Friction::None => list.push(one(normal, normal, Kind::Normal)),
            Friction::Slides(t) => list.push(one([1.0, -mu * t[0], -mu * t[1]], normal, Kind::Normal)),
            Friction::Sticks => {
                list.push(one(normal, normal, Kind::Normal));
                let start = (-b[3 * point + 2]).atan2(-b[3 * point + 1]);
                for k in 0..SIDES {
                    let (sin, cos) = (start + std::f64::consts::TAU * k as f64 / SIDES as f64).sin_cos();
                    list.push(one([0.0, cos, sin], [0.0, cos, sin], Kind::Side));
                }
                list.push(one([0.0; 3], [0.0; 3], Kind::Bound));
            }
        }
    }
    let m = list.len();
    let mut M = vec![0.0; m * m];
    let mut q = vec![0.0; m];
    for (i, row) in list.iter().enumerate() {
        q[i] = (0..3).map(|d| row.rate[d] * b[3 * row.point + d]).sum();
        for (j, column) in list.iter().enumerate() {
            let mut sum = 0.0;
            for d in 0..3 {
                for e in 0..3 {
                    let entry = A.at(3 * row.point + d, 3 * column.point + e);
                    sum += row.rate[d] * entry * column.force[e];
                }
            }
            // λ beside u·d, and μ f − Σβ.
            if row.point == column.point {
                sum += match (row.kind, column.kind) {
                    (Kind::Side, Kind::Bound) => 1.0,
                    (Kind::Bound, Kind::Normal) => points[row.point].friction,
                    (Kind::Bound, Kind::Side) => -1.0,
                    _ => 0.0,
                };
            }
            M[i * m + j] = sum;
        }
    }
    // Rounding would count as a number: beside the rest it is none.
    let largest = q.iter().fold(0.0f64, |m, q| m.max(q.abs()));
    q.iter_mut().filter(|q| q.abs() < 1e-13 * largest).for_each(|q| *q = 0.0);
    let largest = M.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    M.iter_mut().filter(|x| x.abs() < 1e-15 * largest).for_each(|x| *x = 0.0);
    let mut z = vec![0.0; m];
    if solve_lcp(&M, &q, &mut z).end != LcpEnd::Solved {
        if friction.iter().any(|f| *f != Friction::None) {
            // Points that share a load in many ways lead the pivots astray; a little softness chooses one of them.
            let mean = (0..m).map(|i| M[i * m + i]).sum::<f64>() / m as f64;
            let soft = |factor: f64, z: &mut [f64]| {
                let mut M = M.clone();
                (0..m).filter(|i| list[*i].kind != Kind::Bound).for_each(|i| M[i * m + i] += factor * mean);
                solve_lcp(&M, &q, z).end == LcpEnd::Solved
            };
            if ![1e-10, 1e-8, 1e-6].into_iter().any(|factor| soft(factor, &mut z)) {
                return None;
            }
            return Some(along_axes(&list, &z, b.len()));
        }
        // Without friction it is the least energy of accelerations, which always exists.
        let minus: Vec<f64> = q.iter().map(|q| -q).collect();
        let bounds: Vec<Bounds> =
            (0..m).map(|i| Bounds { low: 0.0, high: f64::INFINITY, scale: M[i * m + i] }).collect();
        let report = solve_box_lcp(&M, &minus, &bounds, &mut z, &mut BoxLcpWork::default());
        if !(report.residual < 1e-6) {
            return None;
        }
    }
    Some(along_axes(&list, &z, b.len()))
}

/// Forces along all axes from the unknowns.
fn along_axes(list: &[Unknown], z: &[f64], n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n];
    for (unknown, z) in list.iter().zip(z) {
        (0..3).for_each(|d| out[3 * unknown.point + d] += z * unknown.force[d]);
    }
    out
}
