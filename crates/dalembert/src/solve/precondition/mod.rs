//! Preconditioners: matrices $P \approx A$ whose inverse is cheap, for [`cg`](super::cg).
//!
//! All are symmetric positive definite whatever A is, so that conjugate gradients remain what they are.
//!
//! | name | $P$ | set-up | helps against |
//! |---|---|---|---|
//! | [`BlockJacobi`] | diagonal blocks of A | a pass | very unequal masses and stiffnesses |
//! | [`IncompleteCholesky`] | $L D L^T$ without fill | ten or so products with A | stiff neighbours |
//! | [`TwoLevel`] | the same and a coarse matrix | twenty or so products with A | long bodies and large time steps |

mod block_jacobi;
mod incomplete_cholesky;
mod two_level;

pub use block_jacobi::BlockJacobi;
pub use incomplete_cholesky::IncompleteCholesky;
pub use two_level::TwoLevel;

use super::dense::{inverse_from_ldl, inverse_ldl};
use crate::math::Mat3;

/// The inverse of a symmetric block if it is positive definite and no pivot of its Cholesky factor is below `least`
/// times the diagonal entries `scale`.
fn inverse_if_positive(block: &Mat3, scale: &Mat3, least: f64) -> Option<Mat3> {
    let mut w = std::array::from_fn(|i| std::array::from_fn(|j| 0.5 * (block[(i, j)] + block[(j, i)])));
    let [d, inverse] = inverse_ldl::<f64, 3>(&mut w, [0.0; 3]);
    let good = |k: usize| d[k].is_finite() && d[k] > least * scale[(k, k)].max(0.0) && d[k] > 0.0;
    if !(0..3).all(good) {
        return None;
    }
    let inverse = inverse_from_ldl(&w, &inverse);
    let inverse = Mat3::from_fn(|i, j| inverse[i][j]);
    inverse.iter().all(|a| a.is_finite()).then_some(inverse)
}

/// The inverse of a diagonal block; a multiple of one if the block is not positive definite.
fn positive_inverse(block: &Mat3) -> Mat3 {
    // Pivots below 1e-12 of the diagonal are rounding.
    inverse_if_positive(block, block, 1e-12).unwrap_or_else(|| {
        let size = block.amax();
        Mat3::identity() * if size > 0.0 && size.is_finite() { 1.0 / size } else { 1.0 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Cells, ElasticBox};
    use crate::math::{Random, Vec3, outer};
    use crate::solve::block_matrix::BlockMatrix;
    use crate::solve::cg::{CgOptions, CgReport, CgStop, CgWork, cg, plain};

    #[test]
    fn a_block_times_its_inverse_is_one() {
        let mut random = Random::new(7);
        for _ in 0..100 {
            let b = Mat3::from_fn(|_, _| random.between(-1.0, 1.0));
            let block = b * b.transpose() + Mat3::identity() * 0.01;
            let inverse = inverse_if_positive(&block, &block, 0.0).unwrap();
            assert!((block * inverse - Mat3::identity()).amax() < 1e-10);
            assert_eq!(inverse, inverse.transpose());
        }
        let n = Vec3::new(1.0, 2.0, 3.0);
        for bad in [outer(&n, &n), -Mat3::identity(), Mat3::zeros(), Mat3::from_element(f64::NAN)] {
            assert_eq!(inverse_if_positive(&bad, &Mat3::identity(), 1e-12), None);
        }
    }

    /// Iterations to 1e-6 for the first step of 0.01 s.
    fn run(sample: &ElasticBox, precondition: impl FnMut(&[f64], &mut [f64])) -> CgReport {
        let a = BlockMatrix::new(sample.count(), &sample.system(0.01));
        let (b, w) = (sample.gravity(0.01), sample.weights());
        let mut x = vec![0.0; b.len()];
        let options = CgOptions { weights: Some(&w), ..CgOptions::default() };
        let report = cg(|p, out| a.times(p, out), precondition, &b, &mut x, &options, &mut CgWork::default());
        assert_eq!(report.stop, CgStop::Converged);
        report
    }

    #[test]
    fn each_preconditioner_saves_iterations_on_a_cantilever() {
        for cells in [Cells::Hexahedra, Cells::Tetrahedra] {
            let sample = ElasticBox::cantilever(cells);
            let a = BlockMatrix::new(sample.count(), &sample.system(0.01));
            let none = run(&sample, plain).iterations;
            let jacobi = BlockJacobi::new(&a);
            let jacobi = run(&sample, |r, z| jacobi.apply(r, z)).iterations;
            let factor = IncompleteCholesky::new(&a);
            let cholesky = run(&sample, |r, z| factor.apply(r, z)).iterations;
            let mut two = TwoLevel::new(&a, &sample.positions());
            let two_level = run(&sample, |r, z| two.apply(r, z)).iterations;
            assert!(5 * two_level < none, "{cells:?}: {none} {two_level}");
            assert!(jacobi < none && 5 * cholesky < 2 * none, "{cells:?}: {none} {jacobi} {cholesky}");
        }
    }
}
