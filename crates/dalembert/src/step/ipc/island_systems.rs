//! The linear systems of islands without exact joints: dense for one body, else conjugate gradients with a coarse solve or sparse
//! Cholesky.

use nalgebra::{SMatrix, SVector};
use rayon::prelude::*;

use super::block_system::TUNING;
use super::islands::{Islands, NONE};
use super::rigid_modes::RigidModes;
use crate::math::{Blocks, Mat3, triple};
use crate::model::{IpcModel, Model};
use crate::solve::block_matrix::BlockMatrix;
use crate::solve::cg::CgStop;
use crate::solve::direct::{Direct, Factor};
use crate::solve::linear::{LinearReport, LinearSolver, Preconditioner, SolvedBy};
use crate::step::{StepError, StepReport};

/// One system for each island that is solved.
#[derive(Debug, Default)]
pub(super) struct IslandSystems {
    systems: Vec<IslandSystem>,
    used: usize,
    /// Row of each block in the system of its island.
    row: Vec<u32>,
}

impl IslandSystems {
    /// Takes the systems of all islands that are not done, except the `tied` ones, from H over all blocks and b.
    pub(super) fn start(&mut self, islands: &Islands, tied: &[bool], H: &Blocks, b: &[f64], blocks: usize) {
        self.row.clear();
        self.row.resize(blocks, NONE);
        self.used = 0;
        let mut slot = vec![NONE; islands.groups];
        for (u, &g) in islands.group_of_unit.iter().enumerate() {
            let g = g as usize;
            if islands.done[u] || tied[g] || slot[g] != NONE {
                continue;
            }
            slot[g] = self.used as u32;
            islands.blocks[g].iter().enumerate().for_each(|(r, &i)| self.row[i as usize] = r as u32);
            if self.systems.len() <= self.used {
                self.systems.push(IslandSystem::default());
            }
            self.systems[self.used].start(&islands.blocks[g], b);
            self.used += 1;
        }
        for (i, j, block) in &H.entries {
            let (r, c) = (self.row[*i as usize], self.row[*j as usize]);
            if r != NONE && c != NONE {
                let system = slot[islands.group(*i as usize) as usize] as usize;
                self.systems[system].list.entries.push((r, c, *block));
            }
        }
    }

    /// δ ← H⁻¹ b in these islands; `z` are the blocks at the iterate.
    pub(super) fn solve(
        &mut self,
        model: &Model,
        ipc: &IpcModel,
        z: &[f64],
        solver: LinearSolver,
        delta: &mut [f64],
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let systems = &mut self.systems[..self.used];
        let one = |system: &mut IslandSystem| system.solve(model, ipc, z, solver);
        // Islands know nothing of each other: the bits are the same in any order and on any thread.
        let failed = if systems.len() > 1 {
            systems.par_iter_mut().map(one).find_any(Result::is_err)
        } else {
            systems.iter_mut().map(one).find(Result::is_err)
        };
        if let Some(Err(stop)) = failed {
            return Err(StepError::Linear { stop, iterations: 0, residual: f64::NAN, time: report.time });
        }
        for system in systems {
            system.spread(delta);
            report.linear_iterations += system.iterations;
            report.fallbacks += system.fallbacks;
            report.linear = system.report;
        }
        Ok(())
    }
}

/// H δ = b over the blocks of an island without joints.
#[derive(Debug, Default)]
struct IslandSystem {
    /// The blocks, rising: one row each.
    blocks: Vec<u32>,
    /// H by rows.
    list: Blocks,
    b: Vec<f64>,
    x: Vec<f64>,
    /// How it was solved, iterations and attempts with more diagonal.
    report: Option<LinearReport>,
    iterations: u32,
    fallbacks: u32,
    matrix: BlockMatrix,
    direct: Direct,
    modes: RigidModes,
    places: Vec<f64>,
    z: Vec<f64>,
}

impl IslandSystem {
    /// Begins anew with these blocks.
    fn start(&mut self, blocks: &[u32], b: &[f64]) {
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
    fn solve(
        &mut self,
        model: &Model,
        ipc: &IpcModel,
        z: &[f64],
        solver: LinearSolver,
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
        if self.iterate(ipc, z, solver) {
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
    fn iterate(&mut self, ipc: &IpcModel, z: &[f64], solver: LinearSolver) -> bool {
        let (tolerance, least) = match solver {
            LinearSolver::Direct => return false,
            LinearSolver::Cg { tolerance, .. } => (tolerance, 1),
            LinearSolver::Automatic { tolerance } => (tolerance, TUNING.iterate),
        };
        let affine = |first: &u32| ipc.affine.binary_search(first).is_ok();
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
            self.modes.solve(&self.matrix, &self.b, &mut self.x, tolerance, TUNING.most_iterations)
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
            shift = if shift == 0.0 { TUNING.shift } else { shift * TUNING.shift_growth };
            if shift > TUNING.most_shift {
                return Err(CgStop::Stalled);
            }
        }
    }

    /// δ ← x in these blocks.
    fn spread(&self, delta: &mut [f64]) {
        for (r, &i) in self.blocks.iter().enumerate() {
            crate::math::set_triple(delta, i as usize, &triple(&self.x, r));
        }
    }
}
