//! One door to all solvers of $A x = b$ with A symmetric, of 3×3 blocks: by iteration, directly, or as it seems best.
//!
//! [`System`] says what is known of A: its products, if possible its blocks, where they lie in space, what the unknowns
//! weigh. [`Linear`] keeps what can be used again: places, orders of elimination, buffers. The answer says who solved
//! and how it ended; what to do about a matrix that is not positive definite is left to the caller.
//!
//! **[`LinearSolver::Automatic`]** has these rules. Without blocks: plain conjugate gradients. Where the factor is
//! small, because there are few unknowns or the body is slender: directly. Else by iteration: with the coarse matrix
//! of [`TwoLevel`] if positions are known and digits are wanted, with [`IncompleteCholesky`] otherwise. The limits are
//! those of the bench `linear_solvers`; the book has its figures.

use super::block_matrix::BlockMatrix;
use super::cg::{CgOptions, CgStop, CgWork, cg, plain};
use super::direct::{Direct, DirectError, Factor};
use super::precondition::{BlockJacobi, IncompleteCholesky, TwoLevel};
use crate::math::Blocks;

/// What helps conjugate gradients. See [`precondition`](super::precondition).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preconditioner {
    /// Nothing: only products with A are needed.
    None,
    /// Inverses of the diagonal blocks.
    BlockJacobi,
    /// A Cholesky factor without fill.
    IncompleteCholesky,
    /// The same and a coarse matrix; needs positions, else it is the incomplete factor alone.
    #[default]
    TwoLevel,
}

/// How to solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LinearSolver {
    /// Conjugate gradients.
    Cg {
        /// What helps them.
        preconditioner: Preconditioner,
        /// Weighted residual relative to that of zero.
        tolerance: f64,
        /// Most iterations.
        most_iterations: usize,
    },
    /// Sparse Cholesky, to rounding.
    Direct,
    /// Whatever seems fastest to reach the tolerance.
    Automatic {
        /// Weighted residual relative to that of zero.
        tolerance: f64,
    },
}

impl Default for LinearSolver {
    fn default() -> Self {
        Self::Automatic { tolerance: 1e-6 }
    }
}

/// Most iterations where the choice is ours.
const MOST_ITERATIONS: usize = 10_000;

/// What is known of A.
pub struct System<'a> {
    /// `apply(p, out)` writes A p over `out`. Not called once the blocks are known.
    pub apply: &'a mut dyn FnMut(&[f64], &mut [f64]),
    /// Adds the blocks of A to an empty list, always in the same order while the connectivity stays.
    pub assemble: Option<&'a mut dyn FnMut(&mut Blocks)>,
    /// Position of each block row \[m\]. Fixed ones, such as those at rest, let a cache be dropped without changing a bit.
    pub positions: Option<&'a [f64]>,
    /// Inverse mass of each unknown, for the stop rule.
    pub weights: Option<&'a [f64]>,
}

/// Who solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolvedBy {
    /// Conjugate gradients.
    Cg(Preconditioner),
    /// Sparse Cholesky.
    Direct,
    /// Conjugate gradients with symmetric Gauss-Seidel, of the method `ipc` alone.
    GaussSeidel,
}

impl SolvedBy {
    /// A short name for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cg(Preconditioner::None) => "cg",
            Self::Cg(Preconditioner::BlockJacobi) => "cg_block_jacobi",
            Self::Cg(Preconditioner::IncompleteCholesky) => "cg_incomplete_cholesky",
            Self::Cg(Preconditioner::TwoLevel) => "cg_two_level",
            Self::Direct => "direct",
            Self::GaussSeidel => "cg_gauss_seidel",
        }
    }
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearReport {
    /// Who solved.
    pub solver: SolvedBy,
    /// Iterations of conjugate gradients; 0 of the direct solver.
    pub iterations: usize,
    /// Last weighted residual relative to the right-hand side.
    pub residual: f64,
    /// Why it ended. [`Stalled`](CgStop::Stalled) of the direct solver: the residual is above 1e-6, as of a singular A.
    pub stop: CgStop,
    /// False if A was seen not to be positive definite. The direct solver solves such a system nevertheless.
    pub positive_definite: bool,
}

/// Why nothing was solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinearError {
    /// The solver needs blocks, and the system has only products.
    #[error("solver `{solver}` needs the blocks of the matrix, and the system gives only its products")]
    NoBlocks {
        /// Name of the solver.
        solver: &'static str,
    },
    /// No memory for the factor.
    #[error(transparent)]
    Direct(#[from] DirectError),
}

/// A solver and what it remembers.
#[derive(Debug, Default)]
pub struct Linear {
    /// How to solve.
    pub solver: LinearSolver,
    list: Blocks,
    matrix: BlockMatrix,
    prepared: Option<Prepared>,
    jacobi: BlockJacobi,
    cholesky: IncompleteCholesky,
    two_level: TwoLevel,
    direct: Direct,
    work: CgWork,
}

/// What is ready for further right-hand sides.
#[derive(Clone, Copy, Debug)]
struct Prepared {
    solver: SolvedBy,
    rows: usize,
    tolerance: f64,
    most_iterations: usize,
    /// Of the direct solver; an error is that of a matrix with numbers that are not finite.
    factor: Option<Factor>,
}

impl Linear {
    /// A solver with nothing to remember yet.
    pub fn new(solver: LinearSolver) -> Self {
        Self { solver, ..Self::default() }
    }

    /// Solves A x = b for a new A. Iterations start from the given x.
    ///
    /// # Panics
    /// If lengths do not fit: three unknowns per block row.
    pub fn solve(
        &mut self,
        system: &mut System,
        b: &[f64],
        x: &mut [f64],
    ) -> Result<LinearReport, LinearError> {
        self.prepare(system, b.len())?;
        self.solve_again(system, b, x)
    }

    /// Solves with the A of the last call of [`solve`](Self::solve) and another right-hand side: factor and
    /// preconditioner are at hand.
    ///
    /// # Panics
    /// If there was none, or lengths do not fit.
    pub fn solve_again(
        &mut self,
        system: &mut System,
        b: &[f64],
        x: &mut [f64],
    ) -> Result<LinearReport, LinearError> {
        let Some(prepared) = self.prepared else { panic!("no matrix has been given yet") };
        assert!(b.len() == 3 * prepared.rows && x.len() == b.len(), "vectors of another size");
        match prepared.solver {
            SolvedBy::Direct | SolvedBy::GaussSeidel => {
                Ok(self.solve_directly(prepared, system.weights, b, x))
            }
            SolvedBy::Cg(preconditioner) => Ok(self.iterate(prepared, preconditioner, system, b, x)),
        }
    }

    fn prepare(&mut self, system: &mut System, unknowns: usize) -> Result<(), LinearError> {
        assert_eq!(unknowns % 3, 0, "three unknowns per block row");
        let rows = unknowns / 3;
        self.prepared = None;
        let known = system.assemble.is_some();
        let (solver, tolerance, most_iterations) = match self.solver {
            LinearSolver::Cg { preconditioner, tolerance, most_iterations } => {
                let preconditioner = match preconditioner {
                    Preconditioner::TwoLevel if system.positions.is_none() => {
                        Preconditioner::IncompleteCholesky
                    }
                    other => other,
                };
                (SolvedBy::Cg(preconditioner), tolerance, most_iterations)
            }
            LinearSolver::Direct => (SolvedBy::Direct, 0.0, 0),
            LinearSolver::Automatic { tolerance } => {
                (choose(rows, system.positions, known, tolerance), tolerance, MOST_ITERATIONS)
            }
        };
        let mut factor = None;
        if solver != SolvedBy::Cg(Preconditioner::None) {
            let Some(assemble) = &mut system.assemble else {
                return Err(LinearError::NoBlocks { solver: solver.name() });
            };
            self.list.entries.clear();
            assemble(&mut self.list);
            self.matrix.refill(rows, &self.list);
            match solver {
                SolvedBy::Direct | SolvedBy::GaussSeidel => {
                    match self.direct.factor(&self.matrix, system.positions) {
                        Ok(found) => factor = Some(found),
                        Err(DirectError::NotFinite) => {}
                        Err(other) => return Err(other.into()),
                    }
                }
                SolvedBy::Cg(Preconditioner::TwoLevel) => {
                    self.two_level.refill(&self.matrix, system.positions.unwrap_or_default());
                }
                SolvedBy::Cg(Preconditioner::IncompleteCholesky) => self.cholesky.refill(&self.matrix),
                SolvedBy::Cg(_) => self.jacobi.refill(&self.matrix),
            }
        }
        self.prepared = Some(Prepared { solver, rows, tolerance, most_iterations, factor });
        Ok(())
    }

    fn solve_directly(
        &mut self,
        prepared: Prepared,
        weights: Option<&[f64]>,
        b: &[f64],
        x: &mut [f64],
    ) -> LinearReport {
        let mut report = LinearReport {
            solver: SolvedBy::Direct,
            iterations: 0,
            residual: f64::NAN,
            stop: CgStop::NotFinite,
            positive_definite: prepared.factor == Some(Factor::Cholesky),
        };
        if prepared.factor.is_some() {
            report.residual = self.direct.solve(&self.matrix, b, x, weights);
            if report.residual <= 1e-6 {
                report.stop = CgStop::Converged;
            } else if report.residual.is_finite() {
                report.stop = CgStop::Stalled;
            }
        }
        if report.stop == CgStop::NotFinite {
            x.fill(0.0);
        }
        report
    }

    fn iterate(
        &mut self,
        prepared: Prepared,
        preconditioner: Preconditioner,
        system: &mut System,
        b: &[f64],
        x: &mut [f64],
    ) -> LinearReport {
        let Prepared { tolerance, most_iterations, .. } = prepared;
        let options = CgOptions { tolerance, most_iterations, weights: system.weights };
        let Self { matrix, jacobi, cholesky, two_level, work, .. } = self;
        let times = |p: &[f64], out: &mut [f64]| matrix.times(p, out);
        let report = match preconditioner {
            Preconditioner::None => cg(&mut *system.apply, plain, b, x, &options, work),
            Preconditioner::BlockJacobi => cg(times, |r, z| jacobi.apply(r, z), b, x, &options, work),
            Preconditioner::IncompleteCholesky => {
                cg(times, |r, z| cholesky.apply(r, z), b, x, &options, work)
            }
            Preconditioner::TwoLevel => cg(times, |r, z| two_level.apply(r, z), b, x, &options, work),
        };
        LinearReport {
            solver: prepared.solver,
            iterations: report.iterations,
            residual: report.residual,
            stop: report.stop,
            positive_definite: report.stop != CgStop::NegativeCurvature,
        }
    }
}

/// Up to this many block rows a factor costs no more than iterations do: measured, the times of a cube cross at 3 800 rows for
/// 1e-6; factors also take memory, and soft things need few iterations.
const FEW: usize = 2500;

/// Up to this many block rows in a cross-section c a body is slender. A factor costs c² per row: measured, 3.5 µs at c = 25
/// and 19 µs at c = 100, against 14 µs of [`TwoLevel`] at 1e-6 and a third more at 1e-8.
const SLENDER: f64 = 85.0;

/// The same of a sheet, whose factor fills less: at a line of 100 rows both ways take equally long.
const NARROW: f64 = 150.0;

/// Below this tolerance digits are wanted.
const DIGITS: f64 = 1e-3;

/// The rules of [`LinearSolver::Automatic`].
fn choose(rows: usize, positions: Option<&[f64]>, blocks: bool, tolerance: f64) -> SolvedBy {
    if !blocks {
        return SolvedBy::Cg(Preconditioner::None);
    }
    let slender = positions.is_some_and(|x| match cross_section(x) {
        (across, true) => across <= NARROW,
        (across, false) => across <= SLENDER,
    });
    if rows <= FEW || slender {
        SolvedBy::Direct
    } else if tolerance < DIGITS && positions.is_some() {
        SolvedBy::Cg(Preconditioner::TwoLevel)
    } else {
        SolvedBy::Cg(Preconditioner::IncompleteCholesky)
    }
}

/// About how many of the points a plane across their longest extent meets, if they fill a box evenly, and whether they are a
/// sheet.
fn cross_section(positions: &[f64]) -> (f64, bool) {
    let count = (positions.len() / 3) as f64;
    let mut extents = [0, 1, 2].map(|axis| {
        let along = || positions.iter().skip(axis).step_by(3);
        along().copied().fold(f64::NEG_INFINITY, f64::max) - along().copied().fold(f64::INFINITY, f64::min)
    });
    extents.sort_by(|a, b| b.total_cmp(a));
    let [long, middle, short] = extents;
    if !(long > 0.0 && long.is_finite()) {
        return (count, false);
    }
    // Spacing s of points along a line, in a layer or in space: the first with room for more than one across.
    let line = long / count;
    let layer = (long * middle / count).sqrt();
    let space = (long * middle * short / count).cbrt();
    if middle < 2.0 * line {
        (1.0, false)
    } else if short < layer {
        (middle / layer, true)
    } else {
        ((middle / space + 1.0) * (short / space + 1.0), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Cells, ElasticBox};
    use crate::math::{Mat3, norm};

    const ALL: [Preconditioner; 4] = [
        Preconditioner::None,
        Preconditioner::BlockJacobi,
        Preconditioner::IncompleteCholesky,
        Preconditioner::TwoLevel,
    ];

    /// Solves one step of the sample, whose blocks are given, and returns the report and Δv.
    fn run(
        solver: LinearSolver,
        (sample, list): (&ElasticBox, &Blocks),
        linear: &mut Linear,
    ) -> (LinearReport, Vec<f64>) {
        linear.solver = solver;
        let (weights, positions, b) = (sample.weights(), sample.positions(), sample.gravity(0.01));
        let mut x = vec![0.0; b.len()];
        let mut system = System {
            apply: &mut |p, out| {
                out.fill(0.0);
                list.add_times(p, out);
            },
            assemble: Some(&mut |blocks| blocks.entries.extend_from_slice(&list.entries)),
            positions: Some(&positions),
            weights: Some(&weights),
        };
        (linear.solve(&mut system, &b, &mut x).unwrap(), x)
    }

    fn solvers(tolerance: f64) -> Vec<LinearSolver> {
        let cg = |preconditioner| LinearSolver::Cg { preconditioner, tolerance, most_iterations: 10_000 };
        let mut all: Vec<_> = ALL.iter().map(|&p| cg(p)).collect();
        all.extend([LinearSolver::Direct, LinearSolver::Automatic { tolerance }]);
        all
    }

    #[test]
    fn all_solvers_find_the_same_motion() {
        let mut linear = Linear::default();
        for cells in [Cells::Hexahedra, Cells::Tetrahedra] {
            let sample = ElasticBox::cantilever(cells);
            let sample = (&sample, &sample.system(0.01));
            let (_, exact) = run(LinearSolver::Direct, sample, &mut linear);
            for solver in solvers(1e-8) {
                let (report, x) = run(solver, sample, &mut linear);
                assert!(report.stop == CgStop::Converged && report.positive_definite);
                let error: Vec<f64> = x.iter().zip(&exact).map(|(x, e)| x - e).collect();
                let error = norm(&error) / norm(&exact);
                assert!(error < 1e-4, "{report:?} {error:e}");
            }
        }
    }

    #[test]
    fn the_bits_do_not_depend_on_threads_or_on_what_is_remembered() {
        // A lattice of springs, large enough for products and sums to run on several threads.
        let n = 26;
        let lattice = ElasticBox::cube(n, Cells::Hexahedra);
        assert!(3 * lattice.count() > 50_000);
        let mut list = Blocks::default();
        for (i, m) in lattice.masses().iter().enumerate() {
            list.add(i, i, Mat3::identity() * *m);
            for (next, last) in [(1, i % n == n - 1), (n, i / n % n == n - 1), (n * n, i / (n * n) == n - 1)]
            {
                if !last {
                    list.add_pair(i, i + next, Mat3::identity() * (10.0 * m));
                }
            }
        }
        let sample = (&lattice, &list);
        let cg = |preconditioner| LinearSolver::Cg { preconditioner, tolerance: 1e-3, most_iterations: 5 };
        let mut kept = Linear::default();
        for solver in [cg(Preconditioner::BlockJacobi), cg(Preconditioner::TwoLevel)] {
            let first = run(solver, sample, &mut kept);
            for threads in [1, 2, 4] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                assert_eq!(pool.install(|| run(solver, sample, &mut kept)), first);
            }
            assert_eq!(run(solver, sample, &mut Linear::default()), first);
        }
    }

    #[test]
    fn another_right_hand_side_needs_no_new_factor() {
        let sample = ElasticBox::cube(5, Cells::Hexahedra);
        let list = sample.system(0.01);
        let positions = sample.positions();
        for solver in solvers(1e-10) {
            let mut calls = 0;
            let a = BlockMatrix::new(sample.count(), &list);
            let mut system = System {
                apply: &mut |p, out| a.times(p, out),
                assemble: Some(&mut |blocks| {
                    calls += 1;
                    blocks.entries.extend_from_slice(&list.entries);
                }),
                positions: Some(&positions),
                weights: None,
            };
            let mut linear = Linear::new(solver);
            let b = sample.gravity(0.01);
            let twice: Vec<f64> = b.iter().map(|b| 2.0 * b).collect();
            let (mut x, mut y) = (vec![0.0; b.len()], vec![0.0; b.len()]);
            linear.solve(&mut system, &b, &mut x).unwrap();
            linear.solve_again(&mut system, &twice, &mut y).unwrap();
            assert!(x.iter().zip(&y).all(|(x, y)| 2.0 * x == *y), "doubling is exact");
            assert!(calls <= 1);
        }
    }

    #[test]
    fn small_and_slender_systems_are_solved_directly_and_bulky_ones_by_iteration() {
        let by = |nodes: [usize; 3], size, tolerance| {
            let sample = ElasticBox { nodes, size, ..ElasticBox::cantilever(Cells::Hexahedra) };
            choose(sample.count(), Some(&sample.positions()), true, tolerance)
        };
        assert_eq!(by([5, 5, 30], [0.02, 0.02, 0.2], 1e-6), SolvedBy::Direct);
        assert_eq!(by([7, 7, 320], [0.02, 0.02, 0.914], 1e-8), SolvedBy::Direct);
        assert_eq!(by([10, 10, 320], [0.02, 0.02, 0.64], 1e-8), SolvedBy::Cg(Preconditioner::TwoLevel));
        assert_eq!(by([22; 3], [0.1; 3], 1e-6), SolvedBy::Cg(Preconditioner::TwoLevel));
        assert_eq!(by([22; 3], [0.1; 3], 1e-2), SolvedBy::Cg(Preconditioner::IncompleteCholesky));
        assert_eq!(choose(10_000, None, true, 1e-6), SolvedBy::Cg(Preconditioner::IncompleteCholesky));
        assert_eq!(choose(10, None, false, 1e-6), SolvedBy::Cg(Preconditioner::None));
        // A sheet has a line for a cross-section, a rope a point.
        let sheet: Vec<f64> =
            (0..10_000).flat_map(|i| [f64::from(i % 100), f64::from(i / 100), 0.0]).collect();
        assert!((80.0..120.0).contains(&cross_section(&sheet).0) && cross_section(&sheet).1);
        let rope: Vec<f64> = (0..10_000).flat_map(|i| [f64::from(i), 0.0, 0.0]).collect();
        assert_eq!(cross_section(&rope), (1.0, false));
        assert_eq!(cross_section(&[0.0; 30]), (10.0, false));
        assert_eq!(cross_section(&[]), (0.0, false));
    }

    /// One node with the block given.
    fn one(solver: LinearSolver, block: Mat3, b: [f64; 3]) -> (LinearReport, Vec<f64>) {
        let mut x = vec![0.0; 3];
        let mut system = System {
            apply: &mut |p, out| out.copy_from_slice((block * crate::math::triple(p, 0)).as_slice()),
            assemble: Some(&mut |blocks| blocks.add(0, 0, block)),
            positions: Some(&[0.0; 3]),
            weights: None,
        };
        (Linear::new(solver).solve(&mut system, &b, &mut x).unwrap(), x)
    }

    #[test]
    fn what_is_wrong_with_a_matrix_is_told() {
        for solver in solvers(1e-6) {
            let (report, x) = one(solver, -Mat3::identity(), [1.0, 2.0, 3.0]);
            assert!(!report.positive_definite, "{report:?}");
            match report.solver {
                SolvedBy::Direct | SolvedBy::GaussSeidel => {
                    assert_eq!((report.stop, x), (CgStop::Converged, vec![-1.0, -2.0, -3.0]))
                }
                SolvedBy::Cg(_) => assert_eq!((report.stop, x), (CgStop::NegativeCurvature, vec![0.0; 3])),
            }
            let (report, x) = one(solver, Mat3::from_element(f64::NAN), [1.0; 3]);
            assert_eq!((report.stop, x), (CgStop::NotFinite, vec![0.0; 3]));
            let (report, x) = one(solver, Mat3::identity(), [1.0, f64::NAN, 0.0]);
            assert_eq!((report.stop, x), (CgStop::NotFinite, vec![0.0; 3]));
            let (report, x) = one(solver, Mat3::zeros(), [1.0; 3]);
            assert!(report.stop != CgStop::Converged && x.iter().all(|x| x.is_finite()), "{report:?}");
            let (report, x) = one(solver, Mat3::identity(), [0.0; 3]);
            assert_eq!((report.stop, report.iterations, x), (CgStop::Converged, 0, vec![0.0; 3]));
        }
    }

    #[test]
    fn an_empty_system_is_solved_and_missing_blocks_are_named() {
        for solver in solvers(1e-6) {
            let mut system = System {
                apply: &mut |_, _| {},
                assemble: Some(&mut |_| {}),
                positions: Some(&[]),
                weights: None,
            };
            let report = Linear::new(solver).solve(&mut system, &[], &mut []).unwrap();
            assert_eq!((report.stop, report.iterations), (CgStop::Converged, 0));
        }
        let mut system = System { apply: &mut |_, _| {}, assemble: None, positions: None, weights: None };
        let error = Linear::new(LinearSolver::Direct).solve(&mut system, &[0.0; 3], &mut [0.0; 3]);
        assert_eq!(error, Err(LinearError::NoBlocks { solver: "direct" }));
    }
}
