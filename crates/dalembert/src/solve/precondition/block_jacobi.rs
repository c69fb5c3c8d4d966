//! Block Jacobi preconditioner: $P = \operatorname{diag}(A_{11}, A_{22}, \ldots)$ with 3×3 blocks.

use super::positive_inverse;
use crate::math::{Mat3, set_triple, triple};
use crate::solve::block_matrix::BlockMatrix;

/// Inverses of the diagonal blocks.
#[derive(Clone, Debug, Default)]
pub struct BlockJacobi {
    inverses: Vec<Mat3>,
}

impl BlockJacobi {
    /// From the diagonal blocks of `a`.
    pub fn new(a: &BlockMatrix) -> Self {
        let mut jacobi = Self::default();
        jacobi.refill(a);
        jacobi
    }

    /// The same for other numbers, in the memory it has.
    pub fn refill(&mut self, a: &BlockMatrix) {
        self.refill_with(a.rows(), |i| *a.diagonal(i));
    }

    /// From `rows` diagonal blocks, however they are known.
    ///
    /// A block that is not positive definite is replaced by a multiple of one.
    pub fn refill_with(&mut self, rows: usize, diagonal: impl Fn(usize) -> Mat3) {
        self.inverses.clear();
        self.inverses.extend((0..rows).map(|i| positive_inverse(&diagonal(i))));
    }

    /// z ← P⁻¹ r.
    pub fn apply(&self, r: &[f64], z: &mut [f64]) {
        for (i, inverse) in self.inverses.iter().enumerate() {
            set_triple(z, i, &(inverse * triple(r, i)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Blocks;

    #[test]
    fn the_inverse_of_a_diagonal_matrix_is_exact_and_bad_blocks_are_positive() {
        let mut list = Blocks::default();
        list.add(0, 0, Mat3::new(2.0, 1.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 4.0));
        list.add(1, 1, Mat3::identity() * -2.0);
        list.add(2, 2, Mat3::identity() * f64::NAN);
        let a = BlockMatrix::new(4, &list);
        let mut z = [0.0; 12];
        let r = [3.0, 3.0, 4.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        BlockJacobi::new(&a).apply(&r, &mut z);
        let expected = [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        assert!(z.iter().zip(expected).all(|(z, e)| (z - e).abs() < 1e-15), "{z:?}");
    }
}
