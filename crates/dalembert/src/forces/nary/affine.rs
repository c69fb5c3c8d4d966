//! What keeps an affine body stiff: an energy of $A = (z_1, z_2, z_3)$ that is least where A is a rotation.
//!
//! Two kinds, with stiffness κ and volume V:
//!
//! $$ W = \kappa V\,\lVert A^T A - \mathbf 1\rVert^2 \quad\text{(orthogonality)},\qquad
//!    W = \kappa V\,\lVert A - R\rVert^2 \quad\text{(as rigid as possible)}, $$
//!
//! with the rotation R of the polar decomposition. Both depend on the singular values $A = U\Sigma Q^T$ alone,
//! $W = \kappa V\sum_i\psi(\sigma_i)$ with $\psi = (\sigma^2 - 1)^2$ or $(\sigma - 1)^2$, so their second derivatives
//! have known directions (Smith, de Goes and Kim 2019): $u_i q_i^T$ with $\psi''(\sigma_i)$, and for each pair
//!
//! $$ \tfrac1{\sqrt2}\big(u_i q_j^T \pm u_j q_i^T\big)\quad\text{with}\quad
//!    \frac{\psi'(\sigma_i)\mp\psi'(\sigma_j)}{\sigma_i\mp\sigma_j} . $$
//!
//! The projected tangent leaves out the negative ones. For orthogonality the matrix itself needs no decomposition:
//! with $G = A^T A - \mathbf 1$ the force on column i is $-4\kappa V\sum_l G_{li} z_l$ and the block that couples
//! columns i and j is $4\kappa V\big(G_{ij}\mathbf 1 + z_j z_i^T + \delta_{ij} A A^T\big)$.

use crate::forces::{Blocks, Force, Points, Tangent, TangentSink};
use crate::math::{Mat3, Vec3, add_triple, outer, symmetric_eigen, triple};
use crate::state::PointId;

/// Which energy keeps an affine body stiff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AffineEnergy {
    /// κV‖AᵀA − 1‖²: a polynomial; it does not tell a rotation from a reflection.
    #[default]
    Orthogonality,
    /// κV‖A − R‖²: quadratic in the stretch; a body turned inside out is not at rest.
    AsRigidAsPossible,
}

/// Keeps the matrix A of one affine body near a rotation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AffineStiffness {
    /// The points that stand for the columns of A (no metres: A is a pure number).
    pub columns: [PointId; 3],
    /// Stiffness κ \[Pa\], ≥ 0.
    pub stiffness: f64,
    /// Volume V \[m³\], > 0.
    pub volume: f64,
    /// The energy.
    pub energy: AffineEnergy,
}

/// All affine bodies.
#[derive(Debug, Clone, Default)]
pub struct AffineBodies {
    /// One per body.
    pub bodies: Vec<AffineStiffness>,
}

/// Second derivatives over the nine numbers of A, as 3×3 blocks of columns.
pub(crate) type Hessian = [[Mat3; 3]; 3];

/// A = U diag(σ) Qᵀ with rotations U and Q, σ falling, the last one negative if A turns space inside out.
pub(crate) fn signed_svd(A: &Mat3) -> (Mat3, Vec3, Mat3) {
    let (values, vectors) = symmetric_eigen(&(A.transpose() * A));
    let mut order = [0, 1, 2];
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    let [a, b] = [order[0], order[1]].map(|k| vectors.column(k).into_owned());
    let Q = Mat3::from_columns(&[a, b, a.cross(&b)]);
    // Columns of A Q are σᵢ uᵢ, already orthogonal up to rounding of the larger ones.
    let B = A * Q;
    let [b0, b1, b2]: [Vec3; 3] = [0, 1, 2].map(|k| B.column(k).into_owned());
    let u0 = b0.try_normalize(f64::MIN_POSITIVE).unwrap_or_else(Vec3::x);
    let rest = b1 - u0 * u0.dot(&b1);
    let u1 = rest.try_normalize(1e-12 * b0.norm()).unwrap_or_else(|| {
        let least = u0.abs().imin();
        let mut other = Vec3::zeros();
        other[least] = 1.0;
        u0.cross(&other).normalize()
    });
    let u2 = u0.cross(&u1);
    let U = Mat3::from_columns(&[u0, u1, u2]);
    (U, Vec3::new(u0.dot(&b0), u1.dot(&b1), u2.dot(&b2)), Q)
}

/// Two singular values that cancel: A turned inside out as much as it was not. The polar rotation jumps there, and its
/// curvature is cut off at this sum.
const LEAST_SUM: f64 = 1e-6;

impl AffineStiffness {
    fn matrix(&self, p: &Points) -> Mat3 {
        Mat3::from_columns(&self.columns.map(|c| p.position(c.index())))
    }

    /// W \[J\].
    pub(crate) fn energy(&self, A: &Mat3) -> f64 {
        let scale = self.stiffness * self.volume;
        match self.energy {
            AffineEnergy::Orthogonality => scale * (A.transpose() * A - Mat3::identity()).norm_squared(),
            AffineEnergy::AsRigidAsPossible => {
                let (_, sigma, _) = signed_svd(A);
                scale * sigma.map(|s| (s - 1.0) * (s - 1.0)).sum()
            }
        }
    }

    /// ∂W/∂A \[J\].
    pub(crate) fn gradient(&self, A: &Mat3) -> Mat3 {
        let scale = self.stiffness * self.volume;
        match self.energy {
            AffineEnergy::Orthogonality => 4.0 * scale * A * (A.transpose() * A - Mat3::identity()),
            AffineEnergy::AsRigidAsPossible => {
                let (U, _, Q) = signed_svd(A);
                2.0 * scale * (A - U * Q.transpose())
            }
        }
    }

    /// Eigenvalue and direction of each of the nine modes, at κV = 1.
    fn modes(&self, A: &Mat3) -> [(f64, Mat3); 9] {
        let (U, s, Q) = signed_svd(A);
        let mode = |i: usize, j: usize| U.column(i) * Q.column(j).transpose();
        let single = |i: usize| {
            let value = match self.energy {
                AffineEnergy::Orthogonality => 12.0 * s[i] * s[i] - 4.0,
                AffineEnergy::AsRigidAsPossible => 2.0,
            };
            (value, mode(i, i))
        };
        let pair = |i: usize, j: usize, sign: f64| {
            // (ψ'ᵢ ∓ ψ'ⱼ)/(σᵢ ∓ σⱼ), divided out.
            let value = match self.energy {
                AffineEnergy::Orthogonality => 4.0 * (s[i] * s[i] + sign * s[i] * s[j] + s[j] * s[j] - 1.0),
                AffineEnergy::AsRigidAsPossible if sign > 0.0 => 2.0,
                AffineEnergy::AsRigidAsPossible => 2.0 - 4.0 / (s[i] + s[j]).max(LEAST_SUM),
            };
            (value, (mode(i, j) + sign * mode(j, i)) * std::f64::consts::FRAC_1_SQRT_2)
        };
        [
            single(0),
            single(1),
            single(2),
            pair(0, 1, 1.0),
            pair(1, 2, 1.0),
            pair(2, 0, 1.0),
            pair(0, 1, -1.0),
            pair(1, 2, -1.0),
            pair(2, 0, -1.0),
        ]
    }

    /// ∂²W/∂A² \[J\].
    pub(crate) fn hessian(&self, A: &Mat3, tangent: Tangent) -> Hessian {
        let scale = self.stiffness * self.volume;
        let column = |i: usize| A.column(i).into_owned();
        let mut H: Hessian = match self.energy {
            AffineEnergy::Orthogonality => {
                let (G, AAt) = (A.transpose() * A - Mat3::identity(), A * A.transpose());
                let block = |i: usize, j: usize| {
                    let diagonal = if i == j { AAt } else { Mat3::zeros() };
                    4.0 * (Mat3::identity() * G[(i, j)] + outer(&column(j), &column(i)) + diagonal)
                };
                std::array::from_fn(|i| std::array::from_fn(|j| block(i, j)))
            }
            // 2 in every direction, less in the three that turn.
            AffineEnergy::AsRigidAsPossible => std::array::from_fn(|i| {
                std::array::from_fn(|j| if i == j { 2.0 * Mat3::identity() } else { Mat3::zeros() })
            }),
        };
        let mut add = |value: f64, D: &Mat3| {
            for i in 0..3 {
                for j in 0..3 {
                    H[i][j] += value * D.column(i) * D.column(j).transpose();
                }
            }
        };
        let projected = tangent == Tangent::Projected;
        match self.energy {
            AffineEnergy::Orthogonality if projected => {
                self.modes(A).iter().filter(|m| m.0 < 0.0).for_each(|(value, D)| add(-value, D));
            }
            AffineEnergy::Orthogonality => {}
            AffineEnergy::AsRigidAsPossible => {
                let least = if projected { 0.0 } else { f64::NEG_INFINITY };
                self.modes(A)[6..].iter().for_each(|(value, D)| add(value.max(least) - 2.0, D));
            }
        }
        H.map(|row| row.map(|block| scale * block))
    }

    fn add_times(&self, H: &Hessian, dx: &[f64], df: &mut [f64]) {
        let dz = self.columns.map(|c| triple(dx, c.index()));
        for (i, c) in self.columns.iter().enumerate() {
            let change: Vec3 = (0..3).map(|j| H[i][j] * dz[j]).sum();
            add_triple(df, c.index(), &change);
        }
    }

    fn add_blocks(&self, H: &Hessian, out: &mut Blocks) {
        for i in 0..3 {
            for j in 0..3 {
                out.add(self.columns[i].index(), self.columns[j].index(), H[i][j]);
            }
        }
    }
}

impl Force for AffineBodies {
    fn kind(&self) -> &'static str {
        "affine bodies"
    }

    fn energy(&self, p: &Points) -> f64 {
        self.bodies.iter().map(|b| b.energy(&b.matrix(p))).sum()
    }

    fn share_energy(&self, p: &Points, add: &mut dyn FnMut(usize, f64)) -> bool {
        self.bodies.iter().for_each(|b| add(b.columns[0].index(), b.energy(&b.matrix(p))));
        true
    }

    fn add_force(&self, p: &Points, f: &mut [f64]) {
        for b in &self.bodies {
            let gradient = b.gradient(&b.matrix(p));
            for (i, c) in b.columns.iter().enumerate() {
                add_triple(f, c.index(), &-gradient.column(i));
            }
        }
    }

    fn add_stiffness_times(&self, p: &Points, dx: &[f64], df: &mut [f64]) {
        for b in &self.bodies {
            b.add_times(&b.hessian(&b.matrix(p), Tangent::Exact), dx, df);
        }
    }

    fn add_stiffness_blocks(&self, p: &Points, out: &mut Blocks) {
        self.add_tangent_blocks(p, Tangent::Exact, out);
    }

    fn linearize(&self, p: &Points, tangent: Tangent, cache: &mut Vec<f64>) {
        cache.clear();
        for b in &self.bodies {
            for block in b.hessian(&b.matrix(p), tangent).as_flattened() {
                cache.extend_from_slice(block.as_slice());
            }
        }
    }

    fn add_tangent_times(&self, _p: &Points, cache: &[f64], dx: &[f64], df: &mut [f64]) {
        for (b, numbers) in self.bodies.iter().zip(cache.chunks_exact(81)) {
            let block = |k: usize| Mat3::from_column_slice(&numbers[9 * k..9 * k + 9]);
            let H = std::array::from_fn(|i| std::array::from_fn(|j| block(3 * i + j)));
            b.add_times(&H, dx, df);
        }
    }

    fn add_tangent_blocks(&self, p: &Points, tangent: Tangent, out: &mut Blocks) {
        for b in &self.bodies {
            b.add_blocks(&b.hessian(&b.matrix(p), tangent), out);
        }
    }

    fn each_tangent_block(&self, p: &Points, tangent: Tangent, sink: &mut dyn TangentSink) {
        for b in &self.bodies {
            let H = b.hessian(&b.matrix(p), tangent);
            for i in 0..3 {
                for j in i..3 {
                    sink.block(b.columns[i].index(), b.columns[j].index(), &H[i][j]);
                }
            }
        }
    }

    fn has_projection(&self) -> bool {
        true
    }

    fn affine_bodies(&self) -> Option<&AffineBodies> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;
    use crate::math::rotation::{exp, matrix};

    fn body(energy: AffineEnergy) -> AffineStiffness {
        AffineStiffness { columns: [0, 1, 2].map(PointId), stiffness: 3.0, volume: 0.5, energy }
    }

    #[test]
    fn the_decomposition_makes_the_matrix_again_whatever_its_rank() {
        let mut random = Random::new(8);
        for k in 0..1000 {
            let B = Mat3::from_fn(|_, _| random.between(-1.0, 1.0));
            let A = match k % 5 {
                0 => B,
                1 => outer(&B.column(0).into(), &B.column(1).into()),
                2 => B * Mat3::from_diagonal(&Vec3::new(1.0, 1e-9, 0.0)),
                3 => Mat3::identity() + 1e-9 * B,
                _ => Mat3::zeros(),
            };
            let (U, s, Q) = signed_svd(&A);
            assert!((U * Mat3::from_diagonal(&s) * Q.transpose() - A).norm() < 1e-14 * (1.0 + A.norm()));
            for R in [U, Q] {
                assert!((R.transpose() * R - Mat3::identity()).norm() < 1e-13 && R.determinant() > 0.0);
            }
            assert!(s[0] >= s[1] - 1e-15 && s[1] >= s[2].abs() - 1e-14);
        }
    }

    #[test]
    fn the_modes_are_those_of_the_matrix() {
        let mut random = Random::new(3);
        for energy in [AffineEnergy::Orthogonality, AffineEnergy::AsRigidAsPossible] {
            for _ in 0..50 {
                let A = Mat3::identity() + 0.7 * Mat3::from_fn(|_, _| random.between(-1.0, 1.0));
                if signed_svd(&A).1[2] < 0.05 {
                    continue;
                }
                let b = body(energy);
                let H = b.hessian(&A, Tangent::Exact);
                for (value, D) in b.modes(&A) {
                    for i in 0..3 {
                        let y: Vec3 = (0..3).map(|j| H[i][j] * D.column(j)).sum();
                        let wanted = 1.5 * value * D.column(i);
                        assert!((y - wanted).norm() < 1e-11 * (1.0 + value.abs()), "{energy:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn rotations_are_at_rest_and_reflections_only_for_orthogonality() {
        let R = matrix(&exp(&Vec3::new(0.3, 2.0, -1.0)));
        let mirror = R * Mat3::from_diagonal(&Vec3::new(1.0, 1.0, -1.0));
        for energy in [AffineEnergy::Orthogonality, AffineEnergy::AsRigidAsPossible] {
            assert!(body(energy).energy(&R) < 1e-28 && body(energy).gradient(&R).norm() < 1e-13);
        }
        assert!(body(AffineEnergy::Orthogonality).energy(&mirror) < 1e-28);
        assert!((body(AffineEnergy::AsRigidAsPossible).energy(&mirror) - 1.5 * 4.0).abs() < 1e-13);
    }
}
