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

use crate::math::Mat3;

/// The inverse of a symmetric block if it is positive definite and no pivot of its Cholesky factor is below `least`
/// times the diagonal entries `scale`.
fn inverse_if_positive(block: &Mat3, scale: &Mat3, least: f64) -> Option<Mat3> {
    // Pivots of L D Lᵀ.
    let a = |i, j| 0.5 * (block[(i, j)] + block[(j, i)]);
    let d0 = a(0, 0);
    let (l10, l20) = (a(1, 0) / d0, a(2, 0) / d0);
    let d1 = a(1, 1) - l10 * a(1, 0);
    let l21 = (a(2, 1) - l20 * a(1, 0)) / d1;
    let d2 = a(2, 2) - l20 * a(2, 0) - l21 * l21 * d1;
    let good = |d: f64, k: usize| d.is_finite() && d > least * scale[(k, k)].max(0.0) && d > 0.0;
    if !(good(d0, 0) && good(d1, 1) && good(d2, 2)) {
        return None;
    }
    // L⁻ᵀ D⁻¹ L⁻¹, symmetric to the last bit.
    let (i0, i1, i2) = (1.0 / d0, 1.0 / d1, 1.0 / d2);
    let m20 = l10 * l21 - l20;
    let (x01, x02, x12) = (-l10 * i1 - m20 * l21 * i2, m20 * i2, -l21 * i2);
    let inverse = Mat3::new(
        i0 + l10 * l10 * i1 + m20 * m20 * i2,
        x01,
        x02, //
        x01,
        i1 + l21 * l21 * i2,
        x12, //
        x02,
        x12,
        i2,
    );
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
