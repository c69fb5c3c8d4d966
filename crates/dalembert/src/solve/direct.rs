//! Sparse Cholesky (George and Liu 1981): $A = L L^T$ in an order with little fill, $x = L^{-T} L^{-1} b$.
//!
//! The order and the places of L depend on the pattern of A alone and are found once; a new factorisation with other
//! numbers only computes. The work is done by faer, on one thread, so that the bits do not depend on their number. If A
//! is not positive definite, $A = L B L^T$ is tried, with 1×1 and 2×2 pivots chosen within dense parts of the factor
//! (Bunch and Kaufman 1977); [`Direct::factor`] says so.
//!
//! **Refinement.** If $r = b - A x$ is not at rounding level, $x \leftarrow x + A^{-1} r$ is added.
//!
//! **Memory is history.** The order comes from the positions at the first factorisation of a pattern. Give positions
//! that do not change, such as those at rest, if a dropped cache shall change no bit.

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::cholesky::lblt::factor::LbltParams;
use faer::linalg::cholesky::llt::factor::{LltParams, LltRegularization};
use faer::perm::PermRef;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, IntranodeLbltRef, LltRef, SymbolicCholesky, SymmetricOrdering,
    factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Auto, Conj, MatMut, Par, Side, Spec};

use super::block_matrix::BlockMatrix;
use super::order::Ordering;
use super::sums::{add_scaled, partial_sums, scale_add, square};
use crate::math::all_finite;

/// A residual below this needs no refinement: ε |A||x| / |b| is about as large where stiff terms cancel.
const ROUNDING: f64 = 1e-10;

/// How A was factored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// $L L^T$: A is positive definite.
    Cholesky,
    /// $L B L^T$: it is not.
    Indefinite,
}

/// Why there is no factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DirectError {
    /// A holds a number that is not finite.
    #[error("the matrix holds a number that is not finite")]
    NotFinite,
    /// No memory for the factor.
    #[error("no memory for the factor of a matrix of {rows} rows")]
    NoMemory {
        /// Scalar rows of the matrix.
        rows: usize,
    },
}

/// A direct solver with what it remembers of the last pattern.
#[derive(Default)]
pub struct Direct {
    ordering: Ordering,
    start: Vec<u32>,
    columns: Vec<u32>,
    symbolic: Option<SymbolicCholesky<usize>>,
    analyses: usize,
    /// Lower triangle of A by columns.
    column_start: Vec<usize>,
    rows: Vec<usize>,
    values: Vec<f64>,
    factor: Option<Factor>,
    L: Vec<f64>,
    /// Off-diagonal entries and pivot order of L B Lᵀ.
    subdiagonal: Vec<f64>,
    forward: Vec<usize>,
    inverse: Vec<usize>,
    memory: Option<MemBuffer>,
    r: Vec<f64>,
    correction: Vec<f64>,
    partial: Vec<f64>,
}

impl std::fmt::Debug for Direct {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let size = (self.ordering, self.start.len().saturating_sub(1), self.L.len(), self.factor);
        f.debug_tuple("Direct").field(&size).finish()
    }
}

impl Direct {
    /// A solver that uses this order of elimination.
    pub fn new(ordering: Ordering) -> Self {
        Self { ordering, ..Self::default() }
    }

    /// Numbers in the factor.
    pub fn factor_size(&self) -> usize {
        self.L.len()
    }

    /// How often a pattern was new.
    pub fn analyses(&self) -> usize {
        self.analyses
    }

    /// Factors `a`, which must be symmetric. `positions` of the block rows allow nested dissection.
    pub fn factor(&mut self, a: &BlockMatrix, positions: Option<&[f64]>) -> Result<Factor, DirectError> {
        self.factor = None;
        a.lower_by_columns(&mut self.column_start, &mut self.rows, &mut self.values);
        if !all_finite(&self.values) {
            return Err(DirectError::NotFinite);
        }
        let n = 3 * a.rows();
        let no_memory = DirectError::NoMemory { rows: n };
        if self.symbolic.is_none() || a.pattern() != (&self.start, &self.columns) {
            self.analyse(a, positions).ok_or(no_memory)?;
        }
        let Some(symbolic) = &self.symbolic else { return Err(no_memory) };
        let pattern = SymbolicSparseColMatRef::new_checked(n, n, &self.column_start, None, &self.rows);
        let matrix = SparseColMatRef::new(pattern, &self.values);

        let scratch = symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, default::<LltParams>());
        let stack = stack(&mut self.memory, scratch).ok_or(no_memory)?;
        let cholesky = symbolic.factorize_numeric_llt(
            &mut self.L,
            matrix,
            Side::Lower,
            LltRegularization::default(),
            Par::Seq,
            stack,
            default::<LltParams>(),
        );
        let factor = if cholesky.is_ok() {
            Factor::Cholesky
        } else {
            let scratch =
                symbolic.factorize_numeric_intranode_lblt_scratch::<f64>(Par::Seq, default::<LbltParams>());
            let stack = self::stack(&mut self.memory, scratch).ok_or(no_memory)?;
            self.subdiagonal.resize(n, 0.0);
            self.forward.resize(n, 0);
            self.inverse.resize(n, 0);
            symbolic.factorize_numeric_intranode_lblt(
                &mut self.L,
                &mut self.subdiagonal,
                &mut self.forward,
                &mut self.inverse,
                matrix,
                Side::Lower,
                Par::Seq,
                stack,
                default::<LbltParams>(),
            );
            Factor::Indefinite
        };
        self.factor = Some(factor);
        Ok(factor)
    }

    fn analyse(&mut self, a: &BlockMatrix, positions: Option<&[f64]>) -> Option<()> {
        self.symbolic = None;
        self.analyses += 1;
        let blocks = self.ordering.order(a, positions)?;
        let forward: Vec<usize> =
            blocks.iter().flat_map(|&i| (0..3).map(move |k| 3 * i as usize + k)).collect();
        let mut inverse = vec![0; forward.len()];
        forward.iter().enumerate().for_each(|(k, &i)| inverse[i] = k);
        let n = forward.len();
        let pattern = SymbolicSparseColMatRef::new_checked(n, n, &self.column_start, None, &self.rows);
        let order = SymmetricOrdering::Custom(PermRef::new_checked(&forward, &inverse, n));
        let symbolic =
            factorize_symbolic_cholesky(pattern, Side::Lower, order, CholeskySymbolicParams::default())
                .ok()?;
        self.L.clear();
        self.L.try_reserve_exact(symbolic.len_val()).ok()?;
        self.L.resize(symbolic.len_val(), 0.0);
        self.symbolic = Some(symbolic);
        self.start = a.pattern().0.to_vec();
        self.columns = a.pattern().1.to_vec();
        Some(())
    }

    /// Solves A x = b with the last factor and returns $\sqrt{r^T W r / b^T W b}$, after at most two refinements.
    ///
    /// The residual is infinite or NaN where the factor is of no use, as of a singular matrix.
    ///
    /// # Panics
    /// If the last call of [`factor`](Self::factor) failed or was for a matrix of another size.
    pub fn solve(&mut self, a: &BlockMatrix, b: &[f64], x: &mut [f64], weights: Option<&[f64]>) -> f64 {
        assert!(self.factor.is_some(), "there is no factor");
        let n = b.len();
        self.partial.resize(partial_sums(n), 0.0);
        let b_norm = square(b, weights, &mut self.partial).sqrt();
        x.copy_from_slice(b);
        if b_norm == 0.0 {
            x.fill(0.0);
            return 0.0;
        }
        let (mut r, mut correction) = (std::mem::take(&mut self.r), std::mem::take(&mut self.correction));
        r.resize(n, 0.0);
        self.solve_in_place(x);
        let mut residual = self.residual(a, b, x, &mut r, weights) / b_norm;
        for _ in 0..2 {
            if !(residual > ROUNDING && residual.is_finite()) {
                break;
            }
            correction.clone_from(&r);
            self.solve_in_place(&mut correction);
            add_scaled(x, 1.0, &correction, &mut self.partial);
            let refined = self.residual(a, b, x, &mut r, weights) / b_norm;
            if !(refined < residual) {
                add_scaled(x, -1.0, &correction, &mut self.partial);
                break;
            }
            residual = refined;
        }
        (self.r, self.correction) = (r, correction);
        residual
    }

    /// r ← b − A x, and its norm.
    fn residual(&mut self, a: &BlockMatrix, b: &[f64], x: &[f64], r: &mut [f64], w: Option<&[f64]>) -> f64 {
        a.times(x, r);
        scale_add(r, -1.0, b, &mut self.partial);
        square(r, w, &mut self.partial).sqrt()
    }

    /// x ← A⁻¹ x.
    pub fn solve_in_place(&mut self, x: &mut [f64]) {
        let (Some(symbolic), Some(factor)) = (&self.symbolic, self.factor) else { return };
        let n = x.len();
        assert_eq!(n, symbolic.nrows(), "a vector of another size");
        let scratch = symbolic.solve_in_place_scratch::<f64>(1, Par::Seq);
        // The memory of the factorisation is larger, so this does not fail.
        let Some(stack) = stack(&mut self.memory, scratch) else { return };
        let x = MatMut::from_column_major_slice_mut(x, n, 1);
        match factor {
            Factor::Cholesky => {
                LltRef::new(symbolic, &self.L).solve_in_place_with_conj(Conj::No, x, Par::Seq, stack);
            }
            Factor::Indefinite => {
                let order = PermRef::new_checked(&self.forward, &self.inverse, n);
                IntranodeLbltRef::new(symbolic, &self.L, &self.subdiagonal, order).solve_in_place_with_conj(
                    Conj::No,
                    x,
                    Par::Seq,
                    stack,
                );
            }
        }
    }
}

fn default<P: Auto<f64>>() -> Spec<P, f64> {
    Spec::default()
}

/// Memory of at least the size asked for, kept for next time.
fn stack(memory: &mut Option<MemBuffer>, size: StackReq) -> Option<&mut MemStack> {
    if memory.as_ref().is_none_or(|m| m.len() < size.size_bytes() + size.align_bytes()) {
        *memory = None;
        *memory =
            Some(MemBuffer::try_new(size.and(StackReq::new_aligned::<u8>(size.align_bytes(), 1))).ok()?);
    }
    memory.as_mut().map(|m| MemStack::new(m))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Cells, ElasticBox};
    use crate::math::{Blocks, Mat3, Random};
    use proptest::prelude::*;

    fn solve(a: &BlockMatrix, b: &[f64]) -> (Factor, f64, Vec<f64>) {
        let mut direct = Direct::default();
        let factor = direct.factor(a, None).unwrap();
        let mut x = vec![0.0; b.len()];
        let residual = direct.solve(a, b, &mut x, None);
        (factor, residual, x)
    }

    /// Springs with random stiffness between random nodes, and masses times `mass`.
    fn random_matrix(rows: usize, springs: usize, mass: f64, seed: u64) -> BlockMatrix {
        let mut random = Random::new(seed);
        let mut list = Blocks::default();
        (0..rows).for_each(|i| list.add(i, i, Mat3::identity() * mass));
        for _ in 0..springs {
            let b = Mat3::from_fn(|_, _| random.between(-1.0, 1.0));
            let (i, j) = (random.bits() as usize % rows, random.bits() as usize % rows);
            list.add_pair(i, j, b * b.transpose());
        }
        BlockMatrix::new(rows, &list)
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(rows in 1usize..40, springs in 0usize..120, seed: u64, indefinite: bool) {
            let mass = if indefinite { -0.3 } else { 0.3 };
            let a = random_matrix(rows, springs, mass, seed);
            let x: Vec<f64> = (0..3 * rows).map(|i| (i as f64).sin()).collect();
            let mut b = vec![0.0; x.len()];
            a.times(&x, &mut b);
            let (factor, residual, found) = solve(&a, &b);
            prop_assert_eq!(factor == Factor::Indefinite, indefinite);
            prop_assert!(residual < 1e-9, "{:e}", residual);
            if !indefinite {
                prop_assert!(residual < 1e-11 && found.iter().zip(&x).all(|(f, x)| (f - x).abs() < 1e-9));
            }
        }
    }

    #[test]
    fn a_cantilever_is_solved_to_rounding_in_any_order() {
        for cells in [Cells::Hexahedra, Cells::Tetrahedra] {
            let sample = ElasticBox::cantilever(cells);
            let a = BlockMatrix::new(sample.count(), &sample.system(0.01));
            let (b, w, positions) = (sample.gravity(0.01), sample.weights(), sample.positions());
            for ordering in [Ordering::NestedDissection, Ordering::MinimumDegree] {
                let mut direct = Direct::new(ordering);
                assert_eq!(direct.factor(&a, Some(&positions)), Ok(Factor::Cholesky));
                let mut x = vec![0.0; b.len()];
                let residual = direct.solve(&a, &b, &mut x, Some(&w));
                // Stiff terms cancel in A x: rounding leaves some ε of |A||x|.
                let (mut terms, mut right) = (0.0, 0.0);
                for i in 0..a.rows() {
                    let (columns, blocks) = a.row(i);
                    for d in 0..3 {
                        let term = |(j, block): (&u32, &crate::math::Mat3)| {
                            (0..3).map(|k| (block[(d, k)] * x[3 * *j as usize + k]).abs()).sum::<f64>()
                        };
                        let size: f64 = columns.iter().zip(blocks).map(term).sum();
                        terms += w[3 * i + d] * size * size;
                        right += w[3 * i + d] * b[3 * i + d] * b[3 * i + d];
                    }
                }
                let least = f64::EPSILON * (terms / right).sqrt();
                assert!(residual < 4.0 * least, "{cells:?} {ordering:?} {residual:e} {least:e}");
            }
        }
    }

    #[test]
    fn a_pattern_is_analysed_once_and_forgetting_it_changes_no_bit() {
        let sample = ElasticBox::cube(6, Cells::Hexahedra);
        let (b, positions) = (sample.gravity(0.01), sample.positions());
        let mut direct = Direct::default();
        let mut x = vec![0.0; b.len()];
        for h in [0.01, 0.02, 0.001] {
            let a = BlockMatrix::new(sample.count(), &sample.system(h));
            direct.factor(&a, Some(&positions)).unwrap();
            direct.solve(&a, &b, &mut x, None);
            let mut fresh = Direct::default();
            let mut y = vec![0.0; b.len()];
            fresh.factor(&a, Some(&positions)).unwrap();
            fresh.solve(&a, &b, &mut y, None);
            assert_eq!(x, y);
        }
        assert_eq!(direct.analyses(), 1);
        let other = ElasticBox::cube(5, Cells::Hexahedra);
        let a = BlockMatrix::new(other.count(), &other.system(0.01));
        direct.factor(&a, Some(&other.positions())).unwrap();
        assert!(direct.solve(&a, &other.gravity(0.01), &mut vec![0.0; 375], None) < 1e-12);
        assert_eq!(direct.analyses(), 2);
    }

    #[test]
    fn the_bits_do_not_depend_on_the_number_of_threads() {
        let sample = ElasticBox::cube(8, Cells::Hexahedra);
        let a = BlockMatrix::new(sample.count(), &sample.system(0.01));
        let run = || solve(&a, &sample.gravity(0.01)).2;
        let first = run();
        for threads in [1, 2, 4] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(run), first);
        }
    }

    #[test]
    fn bad_matrices_are_told_apart() {
        let list = |block: Mat3| {
            let mut list = Blocks::default();
            list.add(0, 0, block);
            BlockMatrix::new(1, &list)
        };
        let nan = list(Mat3::from_element(f64::NAN));
        assert_eq!(Direct::default().factor(&nan, None), Err(DirectError::NotFinite));
        let (factor, residual, _) = solve(&list(Mat3::zeros()), &[1.0, 2.0, 3.0]);
        assert!(factor == Factor::Indefinite && !(residual < 1.0), "{residual}");
        let (factor, residual, x) = solve(&list(-Mat3::identity()), &[1.0, 2.0, 3.0]);
        assert_eq!((factor, residual, x), (Factor::Indefinite, 0.0, vec![-1.0, -2.0, -3.0]));
        assert_eq!(solve(&BlockMatrix::new(0, &Blocks::default()), &[]), (Factor::Cholesky, 0.0, vec![]));
        let (_, residual, x) = solve(&list(Mat3::identity()), &[0.0; 3]);
        assert_eq!((residual, x), (0.0, vec![0.0; 3]));
    }
}
