//! The linear system of an iteration in 3×3 blocks, over those that may move: sparse Cholesky, or conjugate gradients with a
//! coarse solve (see `rigid_modes`).

use super::super::{StepError, StepReport};
use super::rigid_modes::RigidModes;
use crate::math::{Blocks, Mat3, Vec3, add_triple, set_triple, triple};
use crate::model::{IpcModel, LinearRow, Model};
use crate::solve::block_matrix::BlockMatrix;
use crate::solve::bordered::{Bordered, LongRows};
use crate::solve::cg::CgStop;
use crate::solve::direct::{Direct, Factor};
use crate::solve::linear::{LinearReport, LinearSolver, Preconditioner, SolvedBy};
use crate::state::State;

/// H δ = b, assembled and solved, subject to the exact joints B δ = e with $e = c - B z$.
///
/// The joints are added with a stiffness ρ that is an order above what they meet, and their forces are found by
/// iteration with one factor: $(H + B^T\rho B)\,\delta = b + B^T(\rho e - \lambda)$, $\lambda \leftarrow \lambda + \rho(B\delta - e)$. Each round
/// divides the error by $1 + \rho/S$, where S is the stiffness that the joint meets.
#[derive(Debug, Default)]
pub(super) struct BlockSystem {
    /// Blocks of H over all blocks, filled by the terms of the potential.
    pub list: Blocks,
    /// Long rows of H over all blocks: it is the sum of the blocks and their squares.
    pub long: LongRows,
    bordered: Bordered,
    free: Blocks,
    matrix: BlockMatrix,
    direct: Direct,
    modes: RigidModes,
    z: Vec<f64>,
    /// Blocks that no force moves.
    held: Vec<bool>,
    /// Row of each block; u32::MAX for held ones and those that are not asked for.
    row: Vec<u32>,
    rows: usize,
    places: Vec<f64>,
    b: Vec<f64>,
    x: Vec<f64>,
    /// Exact joints: stiffness ρ of each, what it lacks, and its force.
    penalty: Vec<f64>,
    lack: Vec<Vec3>,
    lambda: Vec<Vec3>,
    /// Those of them with a block that has a row.
    active: Vec<u32>,
    rhs: Vec<f64>,
    /// What held blocks move in this iteration; empty if they do not.
    prescribed: Vec<f64>,
    /// Force of each exact row on its first side in the last solution \[N\].
    pub row_forces: Vec<Vec3>,
}

const HELD: u32 = u32::MAX;
/// When conjugate gradients are worth it, and how exact joints are held.
pub(super) struct Tuning {
    /// Bodies from which on conjugate gradients are faster than a factor of the whole matrix.
    pub iterate: usize,
    /// Most iterations before the direct solver takes over.
    pub most_iterations: usize,
    /// Stiffness of an exact joint over what it meets, and over the most that any meets where that is nothing (below the part
    /// `nothing`): a link without mass whose centre is the anchor.
    joint: f64,
    massless_joint: f64,
    nothing: f64,
    /// Most rounds for the forces of exact joints, and how exact they are, of the largest step \[m\] but at least of `least_step`.
    joint_rounds: usize,
    joint_error: f64,
    least_step: f64,
    /// Diagonal that is added where a factor fails, over its mean: at first, its growth, and at most.
    pub shift: f64,
    pub shift_growth: f64,
    pub most_shift: f64,
}

pub(super) const TUNING: Tuning = Tuning {
    iterate: 60,
    most_iterations: 300,
    joint: 10.0,
    massless_joint: 1e-2,
    nothing: 1e-9,
    joint_rounds: 40,
    joint_error: 1e-13,
    least_step: 1e-6,
    shift: 1e-12,
    shift_growth: 100.0,
    most_shift: 1e3,
};

/// Σ w z.
fn sum(terms: &[(u32, f64)], z: &[f64]) -> Vec3 {
    terms.iter().map(|&(i, w)| w * triple(z, i as usize)).sum()
}

impl BlockSystem {
    /// An empty matrix.
    pub(super) fn start(&mut self, model: &Model) {
        self.list.entries.clear();
        self.long.clear();
        self.prescribed.clear();
        let n = model.layout.particles;
        if self.held.len() != n {
            let held = |i| model.filters.block(i).is_some_and(|C| C == Mat3::zeros());
            self.held = (0..n).map(held).collect();
        }
    }

    /// Rows for the blocks that may move and are asked for.
    fn choose(&mut self, model: &Model, wanted: impl Fn(usize) -> bool) {
        self.row.clear();
        self.places.clear();
        self.active.clear();
        self.rows = 0;
        for (i, held) in self.held.iter().enumerate() {
            if *held || !wanted(i) {
                self.row.push(HELD);
                continue;
            }
            self.row.push(self.rows as u32);
            self.rows += 1;
            self.places.extend_from_slice(&model.start_places[3 * i..3 * i + 3]);
        }
        let rows = model.ipc.as_ref().map_or(&[][..], |ipc| &ipc.rows);
        let free = |row: &LinearRow| row.terms.iter().any(|(i, _)| self.row[*i as usize] != HELD);
        self.active.extend((0..rows.len() as u32).filter(|k| free(&rows[*k as usize])));
    }

    /// Forces of exact rows as the step before left them.
    pub(super) fn recall(&mut self, ipc: &IpcModel, state: &State) {
        let at = ipc.joints.measures.len() + ipc.joints.terms.len();
        let force = |k: usize| state.turns.get(at + 3 * k..at + 3 * k + 3).map(Vec3::from_column_slice);
        self.row_forces.clear();
        self.row_forces.extend((0..ipc.rows.len()).map(|k| force(k).unwrap_or_default()));
    }

    /// A third of the trace of every diagonal block.
    pub(super) fn mean_diagonal(&self, model: &Model) -> Vec<f64> {
        let mut out = vec![0.0; model.layout.particles];
        for (i, j, block) in &self.list.entries {
            if i == j {
                out[*i as usize] += block.trace() / 3.0;
            }
        }
        for (i, v) in (0..self.long.len()).flat_map(|k| self.long.row(k)) {
            out[*i as usize] += v.norm_squared() / 3.0;
        }
        out
    }

    /// b −= H δ over the held blocks of δ.
    pub(super) fn follow(&mut self, delta: &[f64], b: &mut [f64]) {
        self.prescribed.extend_from_slice(delta);
        for (i, j, block) in &self.list.entries {
            if self.held[*j as usize] && !self.held[*i as usize] {
                add_triple(b, *i as usize, &-(block * triple(delta, *j as usize)));
            }
        }
        self.long.add_times(-1.0, delta, b);
    }

    /// δ with H δ = b in those blocks that may move and are `wanted`; what contacts join must be wanted together.
    pub(super) fn solve(
        &mut self,
        model: &Model,
        [z, b]: [&[f64]; 2],
        wanted: impl Fn(usize) -> bool,
        delta: &mut [f64],
        solver: LinearSolver,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        self.choose(model, wanted);
        if self.rows == 0 {
            return Ok(());
        }
        self.join(model, z);
        self.gather(model, b);
        if self.iterate(model, z, solver, report) {
            self.spread(model, delta);
            return Ok(());
        }
        let mut shift = 0.0;
        loop {
            if shift > 0.0 {
                for r in 0..self.rows {
                    let size = self.matrix.diagonal(r).trace().abs().max(f64::MIN_POSITIVE) / 3.0;
                    self.free.add(r, r, Mat3::from_diagonal_element(shift * size));
                }
                self.matrix.refill(self.rows, &self.free);
            }
            let factor = self
                .direct
                .factor(&self.matrix, Some(&self.places))
                .map_err(crate::solve::linear::LinearError::from)?;
            let bordered = factor == Factor::Cholesky
                && (self.bordered.rows.is_empty() || self.bordered.factor(&mut self.direct, self.b.len()));
            self.rhs.clone_from(&self.b);
            let residual = if bordered { self.solve_factored() } else { f64::INFINITY };
            let sound = bordered && self.x.iter().all(|x| x.is_finite());
            report.linear = Some(LinearReport {
                solver: SolvedBy::Direct,
                iterations: 0,
                residual,
                stop: if sound { CgStop::Converged } else { CgStop::Stalled },
                positive_definite: factor == Factor::Cholesky,
            });
            if sound {
                self.hold(model);
                self.row_forces.resize(self.lambda.len(), Vec3::zeros());
                for &k in &self.active {
                    self.row_forces[k as usize] = -self.lambda[k as usize];
                }
                break;
            }
            // Rounding, or nothing holds a part (`static`): some more diagonal, as little as serves.
            report.fallbacks += 1;
            shift = if shift == 0.0 { TUNING.shift } else { shift * TUNING.shift_growth };
            if shift > TUNING.most_shift {
                return Err(StepError::Linear {
                    stop: CgStop::Stalled,
                    iterations: 0,
                    residual,
                    time: report.time,
                });
            }
        }
        self.spread(model, delta);
        Ok(())
    }

    /// x from the factors at hand and the right-hand side `rhs`; the residual.
    fn solve_factored(&mut self) -> f64 {
        let b = &self.rhs;
        if self.bordered.rows.is_empty() {
            self.direct.solve(&self.matrix, b, &mut self.x, None)
        } else {
            self.bordered.solve(&mut self.direct, &self.matrix, b, &mut self.x)
        }
    }

    /// δ ← x.
    fn spread(&self, model: &Model, delta: &mut [f64]) {
        for (i, &r) in self.row.iter().enumerate() {
            if r != HELD {
                set_triple(delta, i, &triple(&self.x, r as usize));
            }
        }
        model.filters.apply(0, delta);
    }

    /// Conjugate gradients, if they are asked for or worth it: many free affine bodies and nothing else. False if the
    /// direct solver must do it.
    fn iterate(&mut self, model: &Model, z: &[f64], solver: LinearSolver, report: &mut StepReport) -> bool {
        let Some(ipc) = &model.ipc else { return false };
        let (tolerance, least) = match solver {
            LinearSolver::Direct => return false,
            LinearSolver::Cg { tolerance, .. } => (tolerance, 1),
            LinearSolver::Automatic { tolerance } => (tolerance, TUNING.iterate),
        };
        let free = ipc.affine.iter().filter(|first| !ipc.held[**first as usize]).count();
        let only_affine = 4 * free == self.rows && ipc.rows.is_empty() && self.long.is_empty();
        let whole = ipc.affine.iter().all(|&first| {
            let held = |k: usize| ipc.held[first as usize + k];
            (1..4).all(|k| held(k) == held(0))
        });
        if !only_affine
            || !whole
            || free < least
            || model.filters.len() > ipc.held.iter().filter(|h| **h).count()
        {
            return false;
        }
        self.z.clear();
        for (i, &r) in self.row.iter().enumerate() {
            if r != HELD {
                self.z.extend_from_slice(&z[3 * i..3 * i + 3]);
            }
        }
        if !self.modes.prepare(&self.matrix, &self.z, &self.places) {
            return false;
        }
        let Some((iterations, residual)) =
            self.modes.solve(&self.matrix, &self.b, &mut self.x, tolerance, TUNING.most_iterations)
        else {
            return false;
        };
        report.linear_iterations += iterations as u32;
        report.linear = Some(LinearReport {
            solver: SolvedBy::Cg(Preconditioner::TwoLevel),
            iterations,
            residual,
            stop: CgStop::Converged,
            positive_definite: true,
        });
        self.x.iter().all(|x| x.is_finite())
    }

    /// Adds the stiffness of exact joints, and notes what they lack at z.
    fn join(&mut self, model: &Model, z: &[f64]) {
        let Some(ipc) = model.ipc.as_ref().filter(|ipc| !ipc.rows.is_empty()) else { return };
        let diagonal = self.mean_diagonal(model);
        self.penalty.clear();
        self.lack.clear();
        self.lambda.clear();
        self.lambda.resize(ipc.rows.len(), Vec3::zeros());
        let meets =
            |row: &LinearRow| row.terms.iter().map(|&(i, w)| w * w * diagonal[i as usize]).sum::<f64>();
        let most = ipc.rows.iter().map(meets).fold(0.0, f64::max);
        for row in &ipc.rows {
            // The place of a link without mass meets nothing of its own where its centre is the anchor.
            let met = meets(row);
            let own = met > TUNING.nothing * most;
            let rho = if own { TUNING.joint * met } else { TUNING.massless_joint * most };
            self.penalty.push(rho);
            let mut lack = row.lack(z);
            if !self.prescribed.is_empty() {
                // What has prescribed motion takes its joints with it.
                lack -= sum(&row.terms, &self.prescribed);
            }
            self.lack.push(lack);
            for &(i, a) in &row.terms {
                for &(j, b) in &row.terms {
                    self.list.add(i as usize, j as usize, Mat3::from_diagonal_element(rho * a * b));
                }
            }
        }
    }

    /// x ← the solution that exact joints allow, from the factor at hand and the right-hand side b.
    fn hold(&mut self, model: &Model) {
        let Some(ipc) = model.ipc.as_ref().filter(|_| !self.active.is_empty()) else { return };
        let scale = self.x.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        for round in 0..TUNING.joint_rounds {
            self.rhs.clear();
            self.rhs.extend_from_slice(&self.b);
            let mut worst = 0.0f64;
            for k in self.active.iter().map(|k| *k as usize) {
                let row = &ipc.rows[k];
                let moved: Vec3 = row
                    .terms
                    .iter()
                    .filter(|(i, _)| self.row[*i as usize] != HELD)
                    .map(|&(i, w)| w * triple(&self.x, self.row[i as usize] as usize))
                    .sum();
                let off = moved - self.lack[k];
                worst = worst.max(off.amax());
                if round > 0 {
                    self.lambda[k] += self.penalty[k] * off;
                }
                let push = self.penalty[k] * self.lack[k] - self.lambda[k];
                for &(i, w) in &row.terms {
                    if self.row[i as usize] != HELD {
                        add_triple(&mut self.rhs, self.row[i as usize] as usize, &(w * push));
                    }
                }
            }
            if round > 0 && worst <= TUNING.joint_error * scale.max(TUNING.least_step) {
                break;
            }
            self.solve_factored();
        }
    }

    /// Changes `path` as little as the Hessian lets it, so that it takes that `part` of what exact joints lack which the
    /// block of a joint says; blocks without one stay as they are.
    pub(super) fn correct(&mut self, model: &Model, part: impl Fn(usize) -> Option<f64>, path: &mut [f64]) {
        let Some(ipc) = model.ipc.as_ref().filter(|_| !self.active.is_empty()) else { return };
        let mut off = 0.0f64;
        let kept = self.lack.clone();
        for k in self.active.iter().map(|k| *k as usize) {
            let free = ipc.rows[k].terms.iter().filter(|(i, _)| self.row[*i as usize] != HELD);
            let moved: Vec3 = free.clone().map(|&(i, w)| w * triple(path, i as usize)).sum();
            let part = free.clone().find_map(|(i, _)| part(*i as usize));
            self.lack[k] = part.map_or_else(Vec3::zeros, |part| part * kept[k] - moved);
            off = off.max(self.lack[k].amax());
        }
        if off > 0.0 {
            self.lambda.fill(Vec3::zeros());
            self.b.fill(0.0);
            self.x.fill(0.0);
            self.hold(model);
            for (i, &r) in self.row.iter().enumerate() {
                if r != HELD && part(i).is_some() {
                    add_triple(path, i, &triple(&self.x, r as usize));
                }
            }
        }
        self.lack = kept;
    }

    /// Matrix and right-hand side over the rows, filtered.
    fn gather(&mut self, model: &Model, b: &[f64]) {
        self.free.entries.clear();
        self.b.clear();
        self.b.resize(3 * self.rows, 0.0);
        self.x.resize(3 * self.rows, 0.0);
        for (i, j, block) in &self.list.entries {
            let (r, c) = (self.row[*i as usize], self.row[*j as usize]);
            if r != HELD && c != HELD {
                self.free.entries.push((r, c, *block));
            }
        }
        for (i, &r) in self.row.iter().enumerate() {
            if r != HELD {
                let b: Vec3 = triple(b, i);
                set_triple(&mut self.b, r as usize, &b);
            }
        }
        let filtered: Vec<(u32, Mat3)> = (0..model.layout.particles)
            .filter_map(|i| Some((self.row[i], model.filters.block(i)?)))
            .filter(|(r, _)| *r != HELD)
            .collect();
        if !filtered.is_empty() {
            let mut by_row = vec![None; self.rows];
            filtered.iter().for_each(|(r, C)| by_row[*r as usize] = Some(*C));
            for (r, c, block) in &mut self.free.entries {
                if let Some(C) = by_row[*r as usize] {
                    *block = C * *block;
                }
                if let Some(C) = by_row[*c as usize] {
                    *block *= C;
                }
            }
            for (r, C) in &filtered {
                self.free.add(*r as usize, *r as usize, Mat3::identity() - C);
                let b = C * triple(&self.b, *r as usize);
                set_triple(&mut self.b, *r as usize, &b);
            }
        }
        self.matrix.refill(self.rows, &self.free);
        let rows = &mut self.bordered.rows;
        rows.clear();
        for k in 0..self.long.len() {
            let free = self.long.row(k).iter().filter(|(i, _)| self.row[*i as usize] != HELD);
            rows.push(free.map(|(i, v)| {
                let C = model.filters.block(*i as usize).unwrap_or_else(Mat3::identity);
                (self.row[*i as usize], C * v)
            }));
        }
    }
}
