//! Conjugate gradients for many stiff affine bodies.
//!
//! The curvature of an affine body has six soft directions, its rigid motions, and six stiff ones. Stiff directions are
//! local, so the inverses of the 12×12 diagonal blocks deal with them; what contacts pass on from body to body goes
//! through the soft ones, which are solved together. With $P$ the rigid motions of all bodies,
//!
//! $$ M^{-1} = \mathrm{blockdiag}(H)^{-1} + P\,(P^T H P)^{-1} P^T. $$
//!
//! A translation moves the centre; an infinitesimal turn ω moves column k by $\omega\times a_k$, so that
//! $P_{k} = -[a_k]_\times$. $P^T H P$ has half as many rows as H and an eighth of its factor's work.

use nalgebra::{Cholesky, Const, SMatrix, SVector};

use crate::math::rotation::skew;
use crate::math::{Blocks, Mat3, Vec3, add_triple, dot, triple};
use crate::solve::block_matrix::BlockMatrix;
use crate::solve::direct::{Direct, Factor};

type Mat12 = SMatrix<f64, 12, 12>;

/// The preconditioner and its buffers.
#[derive(Debug, Default)]
pub(super) struct RigidModes {
    local: Vec<Option<Cholesky<f64, Const<12>>>>,
    list: Blocks,
    coarse: BlockMatrix,
    direct: Direct,
    /// P of each block row: 1 for centres, −\[a\]× for columns.
    modes: Vec<Mat3>,
    places: Vec<f64>,
    coarse_b: Vec<f64>,
    coarse_x: Vec<f64>,
    r: Vec<f64>,
    y: Vec<f64>,
    p: Vec<f64>,
    Ap: Vec<f64>,
}

/// Row of the coarse matrix for block row i: translations and turns of its body.
fn coarse_row(i: usize) -> usize {
    2 * (i / 4) + (i % 4).min(1)
}

impl RigidModes {
    /// Takes the matrix, four block rows per body; `z` are the blocks themselves, `places` positions of block rows.
    /// False if it is not positive definite.
    pub(super) fn prepare(&mut self, H: &BlockMatrix, z: &[f64], places: &[f64]) -> bool {
        let bodies = H.rows() / 4;
        self.modes.clear();
        for i in 0..H.rows() {
            self.modes.push(if i % 4 == 0 { Mat3::identity() } else { -skew(&triple(z, i)) });
        }
        self.local.clear();
        self.list.entries.clear();
        for b in 0..bodies {
            let mut block = Mat12::zeros();
            for k in 0..4 {
                let i = 4 * b + k;
                let (columns, blocks) = H.row(i);
                for (&j, A) in columns.iter().zip(blocks) {
                    let j = j as usize;
                    if j / 4 == b {
                        block.fixed_view_mut::<3, 3>(3 * k, 3 * (j % 4)).copy_from(A);
                    }
                    let small = self.modes[i].tr_mul(A) * self.modes[j];
                    self.list.add(coarse_row(i), coarse_row(j), small);
                }
            }
            self.local.push(block.cholesky());
        }
        if self.local.iter().any(Option::is_none) {
            return false;
        }
        self.coarse.refill(2 * bodies, &self.list);
        self.places.clear();
        for b in 0..bodies {
            let place = &places[12 * b..12 * b + 3];
            self.places.extend_from_slice(place);
            self.places.extend_from_slice(place);
        }
        self.coarse_b.resize(6 * bodies, 0.0);
        self.coarse_x.resize(6 * bodies, 0.0);
        matches!(self.direct.factor(&self.coarse, Some(&self.places)), Ok(Factor::Cholesky))
    }

    /// y ← M⁻¹ r.
    fn apply(&mut self) {
        let (r, y) = (&self.r, &mut self.y);
        for (b, local) in self.local.iter().enumerate() {
            let mut part = SVector::<f64, 12>::from_column_slice(&r[12 * b..12 * b + 12]);
            if let Some(local) = local {
                local.solve_mut(&mut part);
            }
            y[12 * b..12 * b + 12].copy_from_slice(part.as_slice());
        }
        self.coarse_b.fill(0.0);
        for (i, P) in self.modes.iter().enumerate() {
            let row = coarse_row(i);
            add_triple(&mut self.coarse_b, row, &P.tr_mul(&triple(r, i)));
        }
        self.direct.solve(&self.coarse, &self.coarse_b, &mut self.coarse_x, None);
        for (i, P) in self.modes.iter().enumerate() {
            let row = coarse_row(i);
            let step: Vec3 = P * triple(&self.coarse_x, row);
            add_triple(y, i, &step);
        }
    }

    /// Solves H x = b until the residual, in the norm of M⁻¹, has fallen by `tolerance`; iterations and what is left, or
    /// `None` if that was not reached.
    pub(super) fn solve(
        &mut self,
        H: &BlockMatrix,
        b: &[f64],
        x: &mut [f64],
        tolerance: f64,
        most: usize,
    ) -> Option<(usize, f64)> {
        let n = b.len();
        x.fill(0.0);
        self.r.clear();
        self.r.extend_from_slice(b);
        self.y.resize(n, 0.0);
        self.Ap.resize(n, 0.0);
        self.apply();
        self.p.clone_from(&self.y);
        let mut rho = dot(&self.r, &self.y);
        let start = rho;
        if start == 0.0 {
            return Some((0, 0.0));
        }
        for k in 1..=most {
            H.times(&self.p, &mut self.Ap);
            let curvature = dot(&self.p, &self.Ap);
            if !(curvature > 0.0 && rho > 0.0) {
                return None;
            }
            let alpha = rho / curvature;
            for i in 0..n {
                x[i] += alpha * self.p[i];
                self.r[i] -= alpha * self.Ap[i];
            }
            self.apply();
            let next = dot(&self.r, &self.y);
            if next <= tolerance * tolerance * start {
                return Some((k, (next.max(0.0) / start).sqrt()));
            }
            let beta = next / rho;
            rho = next;
            for i in 0..n {
                self.p[i] = self.y[i] + beta * self.p[i];
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn a_lattice_of_stiff_bodies_takes_few_iterations_and_the_answer_is_right() {
        let mut random = Random::new(5);
        let n = 40;
        let mut list = Blocks::default();
        let mut z = vec![0.0; 12 * n];
        for b in 0..n {
            for k in 0..3 {
                z[12 * b + 3 * (k + 1) + k] = 1.0;
            }
            for k in 0..4 {
                list.add(4 * b + k, 4 * b + k, Mat3::identity());
            }
            // Stiff against stretch: e eᵀ over the six symmetric parts of A.
            for (i, j) in [(0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0)] {
                let mut e = [Vec3::zeros(); 3];
                e[i][j] += 0.5;
                e[j][i] += 0.5;
                for a in 0..3 {
                    for c in 0..3 {
                        let block = 1e6 * e[a] * e[c].transpose();
                        list.add(4 * b + 1 + a, 4 * b + 1 + c, block);
                    }
                }
            }
        }
        for b in 1..n {
            for _ in 0..8 {
                let mut unit = || Vec3::from_fn(|_, _| random.between(-1.0, 1.0));
                let (n, X, Y) = (unit().normalize(), unit(), unit());
                let w = [1.0, X.x, X.y, X.z, -1.0, -Y.x, -Y.y, -Y.z];
                for i in 0..8 {
                    for j in 0..8 {
                        let at = |k: usize| 4 * (b - usize::from(k < 4)) + k % 4;
                        list.add(at(i), at(j), 1e4 * w[i] * w[j] * n * n.transpose());
                    }
                }
            }
        }
        let H = BlockMatrix::new(4 * n, &list);
        let wanted: Vec<f64> = (0..12 * n).map(|_| random.between(-1.0, 1.0)).collect();
        let mut b = vec![0.0; 12 * n];
        H.times(&wanted, &mut b);
        let mut modes = RigidModes::default();
        assert!(modes.prepare(&H, &z, &vec![0.0; 12 * n]));
        let mut x = vec![0.0; 12 * n];
        let (iterations, _) = modes.solve(&H, &b, &mut x, 1e-10, 200).unwrap();
        assert!(iterations < 40, "{iterations}");
        let off: Vec<f64> = x.iter().zip(&wanted).map(|(a, b)| a - b).collect();
        assert!(crate::math::norm(&off) < 1e-6 * crate::math::norm(&wanted));
    }
}
