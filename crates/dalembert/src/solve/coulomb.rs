//! Nonsmooth Gauss-Seidel for contacts with Coulomb friction (Jean 1999): impulses r in cones K with velocities u = W r + q.
//!
//! Each contact in turn obeys its law ([`solve_contact`]) with the impulses of the others as they are. That converges, but slowly
//! where many bodies stand on each other, so every sweep is a step of a fixed-point iteration that Anderson's method
//! ([`Anderson`]) accelerates.

use super::anderson::Anderson;
use super::block_matrix::BlockMatrix;
use super::cone::{self, solve_contact};
use crate::math::{Mat3, Vec3, norm, set_triple, triple};

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoulombStop {
    /// Residual over |q| that is small enough.
    pub tolerance: f64,
    /// Most sweeps.
    pub most_sweeps: u32,
    /// Differences of sweeps that the acceleration uses; 0 for plain sweeps.
    pub memory: usize,
}

impl Default for CoulombStop {
    fn default() -> Self {
        Self { tolerance: 1e-8, most_sweeps: 1000, memory: 10 }
    }
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoulombReport {
    /// Sweeps.
    pub sweeps: u32,
    /// The [`residual`], over |q|.
    pub residual: f64,
    /// True if it is within the tolerance.
    pub converged: bool,
}

/// Sweeps between two residuals.
const CHECK: u32 = 10;

/// Finds impulses r, from those given, for u = W r + q. W has a 3×3 block per pair of contacts; q and r have three
/// numbers per contact: n, t₁, t₂.
pub fn solve_coulomb(
    W: &BlockMatrix,
    q: &[f64],
    friction: &[f64],
    stop: &CoulombStop,
    r: &mut [f64],
) -> CoulombReport {
    let n = friction.len();
    assert!(W.rows() == n && q.len() == 3 * n && r.len() == 3 * n, "three numbers for each of {n} contacts");
    let inverse: Vec<Mat3> =
        (0..n).map(|i| W.diagonal(i).try_inverse().unwrap_or_else(Mat3::zeros)).collect();
    let mut anderson = Anderson::default();
    anderson.begin(3 * n, stop.memory.min(3 * n));
    let (mut before, mut change) = (vec![0.0; 3 * n], Vec::new());
    let mut report = CoulombReport { sweeps: 0, residual: residual(W, q, friction, r), converged: false };
    while report.residual > stop.tolerance && report.sweeps < stop.most_sweeps {
        for _ in 0..CHECK.min(stop.most_sweeps - report.sweeps) {
            before.copy_from_slice(r);
            sweep(W, &inverse, q, friction, r);
            if anderson.accelerate(&before, r, |_| 1.0, &mut change) {
                r.iter_mut().zip(&change).for_each(|(r, change)| *r += change);
            }
            report.sweeps += 1;
        }
        // The residual is taken after a sweep: an accelerated step may leave the cones by a little.
        let mut after = r.to_vec();
        sweep(W, &inverse, q, friction, &mut after);
        let left = residual(W, q, friction, &after);
        report.residual = left;
        if !(left > stop.tolerance) || report.sweeps >= stop.most_sweeps {
            r.copy_from_slice(&after);
            report.sweeps += 1;
        }
    }
    report.converged = report.residual <= stop.tolerance;
    report
}

/// Each contact in turn, with the others as they are.
fn sweep(W: &BlockMatrix, inverse: &[Mat3], q: &[f64], friction: &[f64], r: &mut [f64]) {
    for (i, &mu) in friction.iter().enumerate() {
        let (columns, blocks) = W.row(i);
        let mut others = triple(q, i);
        for (&j, block) in columns.iter().zip(blocks).filter(|(j, _)| **j as usize != i) {
            others += block * triple(r, j as usize);
        }
        let new = solve_contact(W.diagonal(i), &inverse[i], &others, &Vec3::x(), mu, &triple(r, i));
        set_triple(r, i, &new);
    }
}

/// Norm of the natural map of all contacts ([`cone::residual`]) over |q|, with u = W r + q.
pub fn residual(W: &BlockMatrix, q: &[f64], friction: &[f64], r: &[f64]) -> f64 {
    let mut u = q.to_vec();
    W.add_times(r, &mut u);
    let square = |(i, &mu): (usize, &f64)| {
        cone::residual(&triple(r, i), &triple(&u, i), &Vec3::x(), mu).norm_squared()
    };
    let sum: f64 = friction.iter().enumerate().map(square).sum();
    if sum == 0.0 { 0.0 } else { sum.sqrt() / norm(q) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Blocks;

    fn next(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    #[test]
    fn many_contacts_reach_the_tolerance_with_and_without_acceleration() {
        let mut seed = 3;
        // A column of ten points on the ground, every two held by two contacts: half of the rows are dependent.
        let n = 20;
        let inverse_mass: Vec<f64> = (0..10).map(|_| 1.0 / (1.5 + next(&mut seed))).collect();
        let mut list = Blocks::default();
        for i in 0..n {
            for j in 0..n {
                let (a, b): (usize, usize) = (i / 2, j / 2);
                let w = match a.abs_diff(b) {
                    0 => inverse_mass[a] + if a > 0 { inverse_mass[a - 1] } else { 0.0 },
                    1 => -inverse_mass[a.min(b)],
                    _ => continue,
                };
                list.add(i, j, w * Mat3::identity());
            }
        }
        let W = BlockMatrix::new(n, &list);
        let q: Vec<f64> = (0..3 * n).map(|k| if k % 3 == 0 { -1.0 } else { next(&mut seed) }).collect();
        let mu = vec![0.4; n];
        let mut sweeps = [0; 2];
        for (k, memory) in [0, 10].into_iter().enumerate() {
            let stop = CoulombStop { tolerance: 1e-9, most_sweeps: 20_000, memory };
            let mut r = vec![0.0; 3 * n];
            let report = solve_coulomb(&W, &q, &mu, &stop, &mut r);
            assert!(report.converged, "memory {memory}: {report:?}");
            assert!(residual(&W, &q, &mu, &r) <= 1e-9);
            sweeps[k] = report.sweeps;
        }
        assert!(2 * sweeps[1] < sweeps[0], "{sweeps:?}");
    }
}
