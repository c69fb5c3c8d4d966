//! Small vectors and matrices, and their life inside flat arrays.
//!
//! State vectors are flat `f64` slices in which point `i` owns the three numbers from `3 i`. The helpers here
//! read and write one such triple; everything larger is a plain loop over the slice.

mod blocks;
mod eigen;
mod hyper;
mod jet;
mod pose;
mod random;
pub mod rotation;
mod signal;
pub(crate) mod simd;
pub mod svd;

pub use blocks::Blocks;
pub use eigen::{positive_part, symmetric_eigen};
pub use hyper::Hyper;
pub use jet::{Jet, Scalar};
pub use pose::Pose;
pub use random::Random;
pub use rotation::{Quat, skew};
pub use signal::Signal;
pub(crate) use simd::{Columns, Lanes, Row, quad, row_of};
pub use svd::{Svd, polar_rotation};

/// A vector in space: position \[m\], velocity \[m/s\], force \[N\], …
pub type Vec3 = nalgebra::Vector3<f64>;
/// A 3×3 matrix, for instance one block of a stiffness matrix \[N/m\].
pub type Mat3 = nalgebra::Matrix3<f64>;

/// Triple number `i` of a flat slice.
#[inline(always)]
pub fn triple(a: &[f64], i: usize) -> Vec3 {
    let s = &a[3 * i..3 * i + 3];
    Vec3::new(s[0], s[1], s[2])
}

/// Writes triple number `i` of a flat slice.
#[inline(always)]
pub fn set_triple(a: &mut [f64], i: usize, value: &Vec3) {
    a[3 * i..3 * i + 3].copy_from_slice(value.as_slice());
}

/// Adds to triple number `i` of a flat slice.
#[inline(always)]
pub fn add_triple(a: &mut [f64], i: usize, value: &Vec3) {
    let s = &mut a[3 * i..3 * i + 3];
    s[0] += value.x;
    s[1] += value.y;
    s[2] += value.z;
}

/// Calls `update` with each triple of `a` and the number of `w` that belongs to it.
///
/// Four triples at a time fill whole vector registers; each is updated by itself, so grouping changes no bit.
#[inline(always)]
pub fn each_point(a: &mut [f64], w: &[f64], update: impl Fn(&mut [f64; 3], f64)) {
    let (fours, rest) = a.as_chunks_mut::<12>();
    let (w_fours, w_rest) = w.split_at(w.len().min(4 * fours.len()));
    for (four, w) in fours.iter_mut().zip(w_fours.as_chunks::<4>().0) {
        let (triples, _) = four.as_chunks_mut::<3>();
        for i in 0..4 {
            update(&mut triples[i], w[i]);
        }
    }
    for (one, w) in rest.as_chunks_mut::<3>().0.iter_mut().zip(w_rest) {
        update(one, *w);
    }
}

/// Outer product a bᵀ.
#[inline(always)]
pub fn outer(a: &Vec3, b: &Vec3) -> Mat3 {
    a * b.transpose()
}

/// I − n nᵀ, the projector across the unit vector n.
#[inline(always)]
pub fn across(n: &Vec3) -> Mat3 {
    Mat3::identity() - outer(n, n)
}

/// Dot product of two flat slices, summed in one fixed order.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Euclidean norm of a flat slice.
pub fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// True if every number of the slice is finite.
///
/// 0·x is 0 for a finite x and NaN otherwise, so one multiply-add per number decides.
pub fn all_finite(a: &[f64]) -> bool {
    let mut lanes = [0.0f64; 8];
    let chunks = a.chunks_exact(8);
    let rest = chunks.remainder();
    for c in chunks {
        for k in 0..8 {
            lanes[k] += c[k] * 0.0;
        }
    }
    let tail: f64 = rest.iter().map(|x| x * 0.0).sum();
    (lanes.iter().sum::<f64>() + tail) == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_bad_number_is_found_anywhere() {
        for n in 1..40 {
            let mut a = vec![1e300; n];
            assert!(all_finite(&a));
            for i in 0..n {
                for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                    a[i] = bad;
                    assert!(!all_finite(&a));
                    a[i] = -0.0;
                }
            }
        }
    }
}
