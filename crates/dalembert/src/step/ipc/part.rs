//! The linear system of one island.

use nalgebra::{SMatrix, SVector};

use super::rigid_modes::RigidModes;
use crate::math::{Blocks, Mat3, triple};
use crate::model::{ContactModel, Model};
use crate::solve::block_matrix::BlockMatrix;
use crate::solve::cg::CgStop;
use crate::solve::direct::{Direct, Factor};
use crate::solve::linear::{LinearReport, LinearSolver, Preconditioner, SolvedBy};

/// H δ = b over the blocks of an island without joints.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// The blocks, rising: one row each.
    pub blocks: Vec<u32>,
    /// H by rows.
    pub list: Blocks,
    pub b: Vec<f64>,
    pub x: Vec<f64>,
    /// How it was solved, iterations and attempts with more diagonal.
    pub report: Option<LinearReport>,
    pub iterations: u32,
    pub fallbacks: u32,
    matrix: BlockMatrix,
    direct: Direct,
    modes: RigidModes,
    places: Vec<f64>,
    z: Vec<f64>,
}

impl Part {
    /// Begins anew with these blocks.
    pub(super) fn start(&mut self, blocks: &[u32], b: &[f64]) {
        self.blocks.clear();
        self.blocks.extend_from_slice(blocks);
        self.list.entries.clear();
        self.b.clear();
        for &i in blocks {
            self.b.extend_from_slice(&b[3 * i as usize..3 * i as usize + 3]);
        }
        self.x.clear();
        self.x.resize(self.b.len(), 0.0);
        (self.report, self.iterations, self.fallbacks) = (None, 0, 0);
    }

    /// Solves; what stopped it, if it failed.
    pub(super) fn solve(
        &mut self,
        model: &Model,
        contact: &ContactModel,
        z: &[f64],
        solver: LinearSolver,
        iterate_from: usize,
    ) -> Result<(), CgStop> {
        let rows = self.blocks.len();
        if rows == 4 && self.dense() {
            return Ok(());
        }
        self.matrix.refill(rows, &self.list);
        self.places.clear();
        for &i in &self.blocks {
            self.places.extend_from_slice(&model.start_places[3 * i as usize..3 * i as usize + 3]);
        }
        if self.iterate(contact, z, solver, iterate_from) {
            return Ok(());
        }
        self.factor()
    }

    fn note(&mut self, solver: SolvedBy, iterations: usize, residual: f64) {
        self.report = Some(LinearReport {
            solver,
            iterations,
            residual,
            stop: CgStop::Converged,
            positive_definite: true,
        });
    }

    /// One affine body: a matrix of 12×12 numbers.
    fn dense(&mut self) -> bool {
        let mut H = SMatrix::<f64, 12, 12>::zeros();
        for (r, c, block) in &self.list.entries {
            let mut view = H.fixed_view_mut::<3, 3>(3 * *r as usize, 3 * *c as usize);
            view += block;
        }
        let Some(factor) = H.cholesky() else { return false };
        let x = factor.solve(&SVector::<f64, 12>::from_column_slice(&self.b));
        self.x.copy_from_slice(x.as_slice());
        self.note(SolvedBy::Direct, 0, 0.0);
        self.x.iter().all(|x| x.is_finite())
    }

    /// Conjugate gradients if all blocks belong to affine bodies and there are many.
    fn iterate(&mut self, contact: &ContactModel, z: &[f64], solver: LinearSolver, from: usize) -> bool {
        let (tolerance, least) = match solver {
            LinearSolver::Direct => return false,
            LinearSolver::Cg { tolerance, .. } => (tolerance, 1),
            LinearSolver::Automatic { tolerance } => (tolerance, from),
        };
        let affine = |first: &u32| contact.affine.binary_search(first).is_ok();
        if self.blocks.len() < 4 * least
            || !self.blocks.len().is_multiple_of(4)
            || !self.blocks.chunks_exact(4).all(|c| affine(&c[0]) && c[3] == c[0] + 3)
        {
            return false;
        }
        self.z.clear();
        for &i in &self.blocks {
            self.z.extend_from_slice(&z[3 * i as usize..3 * i as usize + 3]);
        }
        if !self.modes.prepare(&self.matrix, &self.z, &self.places) {
            return false;
        }
        let Some((iterations, residual)) =
            self.modes.solve(&self.matrix, &self.b, &mut self.x, tolerance, 300)
        else {
            return false;
        };
        self.iterations = iterations as u32;
        self.note(SolvedBy::Cg(Preconditioner::TwoLevel), iterations, residual);
        self.x.iter().all(|x| x.is_finite())
    }

    fn factor(&mut self) -> Result<(), CgStop> {
        let mut shift = 0.0;
        loop {
            if shift > 0.0 {
                for r in 0..self.blocks.len() {
                    let size = self.matrix.diagonal(r).trace().abs().max(f64::MIN_POSITIVE) / 3.0;
                    self.list.add(r, r, Mat3::from_diagonal_element(shift * size));
                }
                self.matrix.refill(self.blocks.len(), &self.list);
            }
            let sound = matches!(self.direct.factor(&self.matrix, Some(&self.places)), Ok(Factor::Cholesky));
            if sound {
                let residual = self.direct.solve(&self.matrix, &self.b, &mut self.x, None);
                if self.x.iter().all(|x| x.is_finite()) {
                    self.note(SolvedBy::Direct, 0, residual);
                    return Ok(());
                }
            }
            // Rounding, or nothing holds a part (`static`): some more diagonal, as little as serves.
            self.fallbacks += 1;
            shift = if shift == 0.0 { 1e-12 } else { shift * 100.0 };
            if shift > 1e3 {
                return Err(CgStop::Stalled);
            }
        }
    }

    /// δ ← x in these blocks.
    pub(super) fn spread(&self, delta: &mut [f64]) {
        for (r, &i) in self.blocks.iter().enumerate() {
            crate::math::set_triple(delta, i as usize, &triple(&self.x, r));
        }
    }
}
