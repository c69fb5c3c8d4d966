//! Impacts: velocities change at once, positions do not.
//!
//! One contact alone, without friction, has Newton's rule $v_n^+ = -\varepsilon v_n^-$, so with
//! $A_{nn} = n\cdot\hat M^{-1} n$ (for two free bodies the sum
//! $1/M_a + 1/M_b + n\cdot((I_a^{-1}(r_a\times n))\times r_a) + n\cdot((I_b^{-1}(r_b\times n))\times r_b)$)
//!
//! $$ j = \frac{-(1+\varepsilon)\, v_n^-}{A_{nn}}. $$
//!
//! With friction the impulse that ends with $v_n^+ = -\varepsilon v_n^-$ and $v_t^+ = 0$ is taken if it lies in the cone;
//! otherwise the point slides all the while, $j_t = -\mu j_n\, v_t^-/|v_t^-|$. Should that add energy (it can if sliding
//! turns round; Kane 1984), the impulse is made smaller until it does not.
//!
//! Several contacts at once have no law of their own: a rigid body does not say which of them came first. So there are
//! three rules ([`Impacts`]), and Newton's cradle tells them apart.

use super::Impacts;
use super::complementarity::{self, Friction};
use super::contact_points::{Delassus, Point};
use nalgebra::{Matrix3, Vector2, Vector3};

/// Single impacts before the rest is taken as not elastic.
const MOST: usize = 20_000;

/// Changes v by impulses at the points until nothing approaches; returns them along all axes \[N·s\].
///
/// Approaches slower than `rest_speed` \[m/s\], and all of them if `elastic` is false, do not bounce.
pub(super) fn resolve(
    rule: Impacts,
    A: &Delassus,
    points: &[Point],
    v: &mut [f64],
    rest_speed: f64,
    elastic: bool,
) -> Vec<f64> {
    let mut u: Vec<f64> = points.iter().flat_map(|p| p.rates(v)).collect();
    let scale = u.iter().fold(0.0f64, |m, u| m.max(u.abs()));
    let mut total = vec![0.0; u.len()];
    let bounce = |u: f64, p: &Point| if elastic && -u > rest_speed { p.restitution } else { 0.0 };
    let apply = |i: usize, p: &Vector3<f64>, u: &mut [f64], total: &mut [f64]| {
        for d in 0..3 {
            total[3 * i + d] += p[d];
            for row in 0..u.len() {
                u[row] += A.at(row, 3 * i + d) * p[d];
            }
        }
    };
    let approaches = |u: &[f64], i: usize| u[3 * i] < -1e-14 * scale;
    match rule {
        Impacts::Sequential | Impacts::Chain => {
            let (mut count, mut next) = (0, 0);
            while count < MOST {
                let chosen = if rule == Impacts::Chain {
                    (0..points.len())
                        .filter(|&i| approaches(&u, i))
                        .min_by(|&i, &j| u[3 * i].total_cmp(&u[3 * j]))
                } else {
                    (0..points.len()).map(|k| (next + k) % points.len()).find(|&i| approaches(&u, i))
                };
                let Some(i) = chosen else { break };
                next = i + 1;
                count += 1;
                let p = single(A, i, &u, &points[i], bounce(u[3 * i], &points[i]));
                apply(i, &p, &mut u, &mut total);
            }
        }
        Impacts::Simultaneous => together(A, points, &mut u, &mut total, bounce),
    }
    // What is left, if single impacts did not come to an end.
    if (0..points.len()).any(|i| approaches(&u, i)) {
        together(A, points, &mut u, &mut total, |_, _| 0.0);
    }
    A.kick(&total, v);
    total
}

/// The impulse of one contact.
fn single(A: &Delassus, i: usize, u: &[f64], point: &Point, restitution: f64) -> Vector3<f64> {
    let W = Matrix3::from_fn(|d, e| A.at(3 * i + d, 3 * i + e));
    let before = Vector3::new(u[3 * i], u[3 * i + 1], u[3 * i + 2]);
    let goal = -(1.0 + restitution) * before[0];
    let plain = Vector3::new(goal / W[(0, 0)], 0.0, 0.0);
    if !(point.friction > 0.0) {
        return plain;
    }
    let stick = W.try_inverse().map(|inverse| inverse * Vector3::new(goal, -before[1], -before[2]));
    let mu = point.friction;
    let p = match stick {
        Some(p) if p[0] > 0.0 && p[1].hypot(p[2]) <= mu * p[0] => p,
        _ => {
            let slip = Vector2::new(before[1], before[2]);
            // From no slip, the direction in which it would begin to slip.
            let direction = if slip.norm() > 1e-12 * before.norm() {
                slip
            } else {
                Vector2::new(W[(1, 0)], W[(2, 0)]) * plain[0]
            };
            let Some(t) = direction.try_normalize(0.0) else { return plain };
            let A_nn = W[(0, 0)] - mu * (W[(0, 1)] * t[0] + W[(0, 2)] * t[1]);
            if !(A_nn > 1e-9 * W[(0, 0)]) {
                return plain;
            }
            let j = goal / A_nn;
            Vector3::new(j, -mu * j * t[0], -mu * j * t[1])
        }
    };
    // A restitution above 1 is meant to add energy.
    if restitution > 1.0 { p } else { without_gain(&p, &before, &W, &plain) }
}

/// γ p with the largest γ ≤ 1 for which the energy γ p·u + γ² p·W p / 2 does not grow.
fn without_gain(p: &Vector3<f64>, u: &Vector3<f64>, W: &Matrix3<f64>, plain: &Vector3<f64>) -> Vector3<f64> {
    let (work, square) = (p.dot(u), p.dot(&(W * p)));
    if !(work < 0.0) {
        return *plain;
    }
    p * (-2.0 * work / square).min(1.0)
}

/// All contacts at once: v_n⁺ ≥ −ε v_n⁻ ⊥ j ≥ 0.
fn together(
    A: &Delassus,
    points: &[Point],
    u: &mut [f64],
    total: &mut [f64],
    bounce: impl Fn(f64, &Point) -> f64,
) {
    let mut b = u.to_vec();
    for (i, p) in points.iter().enumerate() {
        b[3 * i] *= 1.0 + bounce(u[3 * i], p);
    }
    let rules: Vec<Friction> =
        points.iter().map(|p| if p.friction > 0.0 { Friction::Sticks } else { Friction::None }).collect();
    let plain = vec![Friction::None; points.len()];
    let Some(mut p) = complementarity::solve(A, &b, points, &rules)
        .or_else(|| complementarity::solve(A, &b, points, &plain))
    else {
        return;
    };
    let change: Vec<f64> = (0..u.len()).map(|r| (0..u.len()).map(|c| A.at(r, c) * p[c]).sum()).collect();
    let work: f64 = p.iter().zip(&*u).map(|(p, u)| p * u).sum();
    let square: f64 = p.iter().zip(&change).map(|(p, c)| p * c).sum();
    let adds = points.iter().any(|p| p.restitution > 1.0);
    let gamma = if square > 0.0 && !adds { (-2.0 * work / square).clamp(0.0, 1.0) } else { 1.0 };
    p.iter_mut().for_each(|p| *p *= gamma);
    for i in 0..u.len() {
        u[i] += gamma * change[i];
        total[i] += p[i];
    }
}
