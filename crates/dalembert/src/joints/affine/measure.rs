//! Joint coordinates of affine bodies, as functions of 3-vectors that are linear in the unknowns.
//!
//! A point or an axis fixed to an affine body is $u = \sum_i w_i z_i + c$ over its blocks $z$ ([`BlockVector`]); the world
//! has $c$ alone. With $d = c_j - c_i$ from the anchor of body i to that of body j and axes t, n, b on both, all that joints
//! measure is one of three functions of such vectors:
//!
//! | measure | value | used for |
//! |---|---|---|
//! | dot | $u\cdot v$ | slide $\tfrac12 d\cdot(t_i + t_j)$, point on a line $d\cdot n_i$, axes that stay square $t_i\cdot n_j$ |
//! | length | $\lvert u\rvert$ | distance |
//! | angle | $\theta = \mathrm{atan2}(s, c)$ | hinge: $c = \tfrac12(n_i\cdot n_j + b_i\cdot b_j)$, $s = \tfrac12(b_i\cdot n_j - n_i\cdot b_j)$ |
//!
//! The slide and the angle are symmetric: exchanging the bodies and the sense of the axis leaves them as they are. A turn of
//! j by +0.7 rad about t reads +0.7, whatever a small stretch of either body does to c and s together.
//!
//! **Derivatives** over the vectors F = (n_i, b_i, n_j, b_j). With $\rho = c^2 + s^2$: $\theta_c = -s/\rho$, $\theta_s = c/\rho$,
//! $\theta_{cc} = -\theta_{ss} = 2cs/\rho^2$, $\theta_{cs} = (s^2 - c^2)/\rho^2$; c and s are quadratic in F with constant
//! second derivatives C and S. So
//!
//! $$ \nabla\theta = \frac{c\nabla s - s\nabla c}{\rho},\qquad \nabla^2\theta = \frac{cS - sC}{\rho}
//!    + \frac{2cs(\nabla c\nabla c^T - \nabla s\nabla s^T) + (s^2 - c^2)(\nabla c\nabla s^T + \nabla s\nabla c^T)}{\rho^2}. $$
//!
//! Newton's method wants the positive part of $f\,\nabla^2 m$ for a force f. Of a dot product it is
//! $\tfrac{|f|}2\,(\pm1)$ on (u, ±v) together; of a length it is $f(1 - nn^T)/|u|$ for f > 0, else nothing; of an angle the
//! twelve eigenvalues say.

use crate::math::{Blocks, Mat3, Vec3, outer, triple};
use nalgebra::{SMatrix, SymmetricEigen};

/// A vector that is linear in the unknown 3-vectors: Σ w z + c.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BlockVector {
    /// Blocks and their weights.
    pub terms: Vec<(u32, f64)>,
    /// The constant part.
    pub constant: Vec3,
}

impl BlockVector {
    /// A vector that does not move.
    pub fn fixed(constant: Vec3) -> Self {
        Self { terms: Vec::new(), constant }
    }

    /// The point at `X` (from the centre of mass, in the body's axes) of the affine body whose blocks begin at `first`.
    pub fn point(first: u32, X: &Vec3) -> Self {
        let mut terms = vec![(first, 1.0)];
        terms.extend((0..3).map(|k| (first + 1 + k as u32, X[k])));
        Self { terms, constant: Vec3::zeros() }
    }

    /// The direction `t` (in the body's axes) of the affine body whose blocks begin at `first`.
    pub fn direction(first: u32, t: &Vec3) -> Self {
        let terms = (0..3).map(|k| (first + 1 + k as u32, t[k])).collect();
        Self { terms, constant: Vec3::zeros() }
    }

    /// a·self + b·other, each block once.
    pub fn combined(&self, a: f64, other: &BlockVector, b: f64) -> Self {
        let mut out = Self::default();
        out.set_sum(&[(a, self), (b, other)]);
        out
    }

    /// Becomes the sum of factors times vectors, each block once, in the memory at hand.
    pub fn set_sum(&mut self, parts: &[(f64, &BlockVector)]) {
        self.terms.clear();
        self.constant = Vec3::zeros();
        for (factor, part) in parts {
            self.constant += *factor * part.constant;
            for &(i, w) in &part.terms {
                match self.terms.iter_mut().find(|t| t.0 == i) {
                    Some(t) => t.1 += factor * w,
                    None => self.terms.push((i, factor * w)),
                }
            }
        }
    }

    /// self − other.
    pub fn minus(&self, other: &BlockVector) -> Self {
        self.combined(1.0, other, -1.0)
    }

    /// The vector for the flat blocks `z`.
    #[inline]
    pub fn at(&self, z: &[f64]) -> Vec3 {
        self.terms.iter().fold(self.constant, |sum, &(i, w)| sum + w * triple(z, i as usize))
    }
}

/// A scalar function of the blocks.
#[derive(Debug, Clone, PartialEq)]
pub enum Measure {
    /// u·v.
    Dot([BlockVector; 2]),
    /// |u| \[m\].
    Length([BlockVector; 1]),
    /// Angle of j against i from the axes n_i, b_i, n_j, b_j \[rad\], in (−π, π].
    Angle([BlockVector; 4]),
}

/// Length below which a distance has no direction \[m\].
const LEAST_LENGTH: f64 = 1e-12;

/// Cosine and sine of an angle from its axes, with the frames' stretch still in them.
fn cos_sin(F: &[Vec3]) -> (f64, f64) {
    (0.5 * (F[0].dot(&F[2]) + F[1].dot(&F[3])), 0.5 * (F[1].dot(&F[2]) - F[0].dot(&F[3])))
}

impl Measure {
    /// The vectors that it is a function of.
    pub fn vectors(&self) -> &[BlockVector] {
        match self {
            Measure::Dot(u) => u,
            Measure::Length(u) => u,
            Measure::Angle(u) => u,
        }
    }

    /// True if it is an angle, which goes on beyond ±π.
    pub fn turns(&self) -> bool {
        matches!(self, Measure::Angle(_))
    }

    fn vectors_at(&self, z: &[f64]) -> ([Vec3; 4], usize) {
        let list = self.vectors();
        let mut F = [Vec3::zeros(); 4];
        for (f, u) in F.iter_mut().zip(list) {
            *f = u.at(z);
        }
        (F, list.len())
    }

    /// The value for the blocks `z` \[rad or m\].
    pub fn value(&self, z: &[f64]) -> f64 {
        let (F, _) = self.vectors_at(z);
        match self {
            Measure::Dot(_) => F[0].dot(&F[1]),
            Measure::Length(_) => F[0].norm(),
            Measure::Angle(_) => {
                let (c, s) = cos_sin(&F);
                s.atan2(c)
            }
        }
    }

    /// Derivative with respect to each vector.
    fn gradients(&self, F: &[Vec3; 4]) -> [Vec3; 4] {
        let zero = Vec3::zeros();
        match self {
            Measure::Dot(_) => [F[1], F[0], zero, zero],
            Measure::Length(_) => {
                let l = F[0].norm();
                [if l > LEAST_LENGTH { F[0] / l } else { Vec3::x() }, zero, zero, zero]
            }
            Measure::Angle(_) => {
                let (c, s) = cos_sin(F);
                let rho = (c * c + s * s).max(f64::MIN_POSITIVE);
                let (dc, ds) = angle_parts(F);
                std::array::from_fn(|k| (c * ds[k] - s * dc[k]) / rho)
            }
        }
    }

    /// Adds `factor` times the gradient to `out`, a list with one entry per block.
    pub fn add_gradient(&self, z: &[f64], factor: f64, out: &mut Vec<(u32, Vec3)>) {
        let (F, _) = self.vectors_at(z);
        for (u, g) in self.vectors().iter().zip(&self.gradients(&F)) {
            for &(i, w) in &u.terms {
                let add = factor * w * g;
                match out.iter_mut().find(|e| e.0 == i) {
                    Some(e) => e.1 += add,
                    None => out.push((i, add)),
                }
            }
        }
    }

    /// `factor` times the second derivative over the vectors; its positive part if `positive`.
    fn curvature(&self, F: &[Vec3; 4], factor: f64, positive: bool) -> [[Mat3; 4]; 4] {
        let mut H = [[Mat3::zeros(); 4]; 4];
        let one = Mat3::identity();
        match self {
            // Linear where one of the two does not move.
            Measure::Dot(u) if u.iter().any(|u| u.terms.is_empty()) => {}
            Measure::Dot(_) => {
                H[0][1] = factor * one;
                H[1][0] = H[0][1];
                if positive {
                    let half = 0.5 * factor;
                    (H[0][0], H[1][1]) = (half.abs() * one, half.abs() * one);
                    (H[0][1], H[1][0]) = (half * one, half * one);
                }
            }
            Measure::Length(_) => {
                let l = F[0].norm();
                if l > LEAST_LENGTH && (factor > 0.0 || !positive) {
                    let n = F[0] / l;
                    H[0][0] = factor / l * (one - outer(&n, &n));
                }
            }
            Measure::Angle(_) => {
                let full = angle_curvature(F, factor);
                let full = if positive { positive_part(&full) } else { full };
                for (a, row) in H.iter_mut().enumerate() {
                    for (b, block) in row.iter_mut().enumerate() {
                        *block = full.fixed_view::<3, 3>(3 * a, 3 * b).into_owned();
                    }
                }
            }
        }
        H
    }

    /// Adds `factor` times the second derivative over the blocks; its positive part if `positive`.
    pub fn add_curvature(&self, z: &[f64], factor: f64, positive: bool, out: &mut Blocks) {
        if factor == 0.0 {
            return;
        }
        let (F, n) = self.vectors_at(z);
        let H = self.curvature(&F, factor, positive);
        let list = self.vectors();
        for a in 0..n {
            for b in 0..n {
                if H[a][b] == Mat3::zeros() {
                    continue;
                }
                for &(i, w) in &list[a].terms {
                    for &(j, v) in &list[b].terms {
                        out.add(i as usize, j as usize, w * v * H[a][b]);
                    }
                }
            }
        }
    }
}

/// ∇c and ∇s over (n_i, b_i, n_j, b_j).
fn angle_parts(F: &[Vec3; 4]) -> ([Vec3; 4], [Vec3; 4]) {
    ([F[2], F[3], F[0], F[1]].map(|x| 0.5 * x), [-F[3], F[2], F[1], -F[0]].map(|x| 0.5 * x))
}

type Mat12 = SMatrix<f64, 12, 12>;

fn angle_curvature(F: &[Vec3; 4], factor: f64) -> Mat12 {
    let (c, s) = cos_sin(F);
    let rho = (c * c + s * s).max(f64::MIN_POSITIVE);
    let (dc, ds) = angle_parts(F);
    let flat = |g: &[Vec3; 4]| SMatrix::<f64, 12, 1>::from_fn(|k, _| g[k / 3][k % 3]);
    let (dc, ds) = (flat(&dc), flat(&ds));
    let mixed = dc * ds.transpose();
    let mut H = (2.0 * c * s * (dc * dc.transpose() - ds * ds.transpose())
        + (s * s - c * c) * (mixed + mixed.transpose()))
        / (rho * rho);
    // C couples n_i with n_j and b_i with b_j; S couples b_i with n_j and, negatively, n_i with b_j.
    for (a, b, weight) in [(0, 2, -s), (1, 3, -s), (1, 2, c), (0, 3, -c)] {
        for k in 0..3 {
            H[(3 * a + k, 3 * b + k)] += 0.5 * weight / rho;
            H[(3 * b + k, 3 * a + k)] += 0.5 * weight / rho;
        }
    }
    factor * H
}

/// The matrix without its negative eigenvalues.
fn positive_part(H: &Mat12) -> Mat12 {
    let eigen = SymmetricEigen::new(*H);
    let mut out = Mat12::zeros();
    for (k, value) in eigen.eigenvalues.iter().enumerate() {
        if *value > 0.0 {
            let v = eigen.eigenvectors.column(k);
            out += *value * v * v.transpose();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;
    use crate::math::rotation::{exp, matrix};

    /// Two bodies at blocks 0 and 4, turned, stretched a little, and all measures between them.
    fn samples(random: &mut Random) -> (Vec<f64>, Vec<Measure>) {
        let mut vector = |size: f64| Vec3::from_fn(|_, _| random.between(-size, size));
        let mut z = Vec::new();
        for _ in 0..2 {
            z.extend_from_slice(vector(1.0).as_slice());
            let A = matrix(&exp(&vector(2.0)))
                * (Mat3::identity() + Mat3::from_columns(&[0; 3].map(|_| vector(0.1))));
            z.extend_from_slice(A.as_slice());
        }
        let axes = |R: &Mat3| [0, 1, 2].map(|k| R.column(k).into_owned());
        let [ti, ni, bi] = axes(&matrix(&exp(&vector(2.0)))).map(|t| BlockVector::direction(0, &t));
        let [tj, nj, bj] = axes(&matrix(&exp(&vector(2.0)))).map(|t| BlockVector::direction(4, &t));
        let d = BlockVector::point(4, &vector(0.3)).minus(&BlockVector::point(0, &vector(0.3)));
        let world = BlockVector::fixed(vector(1.0));
        let measures = vec![
            Measure::Dot([d.clone(), ti.combined(0.5, &tj, 0.5)]),
            Measure::Dot([ti, nj.clone()]),
            Measure::Dot([d.clone(), world]),
            Measure::Length([d]),
            Measure::Angle([ni, bi, nj, bj]),
        ];
        (z, measures)
    }

    fn gradient(m: &Measure, z: &[f64]) -> Vec<f64> {
        let mut list = Vec::new();
        m.add_gradient(z, 1.0, &mut list);
        let mut out = vec![0.0; z.len()];
        for (i, g) in list {
            (0..3).for_each(|k| out[3 * i as usize + k] += g[k]);
        }
        out
    }

    fn product(m: &Measure, z: &[f64], factor: f64, positive: bool, y: &[f64]) -> Vec<f64> {
        let (mut blocks, mut out) = (Blocks::default(), vec![0.0; z.len()]);
        m.add_curvature(z, factor, positive, &mut blocks);
        blocks.add_times(y, &mut out);
        out
    }

    #[test]
    fn gradients_and_curvatures_are_derivatives() {
        let mut random = Random::new(11);
        for _ in 0..40 {
            let (z, measures) = samples(&mut random);
            let y: Vec<f64> = z.iter().map(|_| random.between(-1.0, 1.0)).collect();
            for m in measures {
                // Fourth-order central differences along y.
                let e = 2e-4;
                let at = |k: f64| z.iter().zip(&y).map(|(z, y)| z + k * e * y).collect::<Vec<f64>>();
                let derivative = |f: &dyn Fn(&[f64]) -> Vec<f64>| -> Vec<f64> {
                    let [a, b, c, d] = [-2.0, -1.0, 1.0, 2.0].map(|k| f(&at(k)));
                    (0..a.len()).map(|i| (a[i] - 8.0 * b[i] + 8.0 * c[i] - d[i]) / (12.0 * e)).collect()
                };
                let g = gradient(&m, &z);
                let along: f64 = g.iter().zip(&y).map(|(g, y)| g * y).sum();
                let wanted = derivative(&|z| vec![m.value(z)])[0];
                if (m.value(&z).abs() - std::f64::consts::PI).abs() > 0.1 {
                    assert!((along - wanted).abs() < 1e-9 * (1.0 + wanted.abs()), "{along} {wanted}");
                }
                let wanted = derivative(&|z| gradient(&m, z));
                let found = product(&m, &z, 1.0, false, &y);
                for (a, b) in found.iter().zip(&wanted) {
                    assert!((a - b).abs() < 2e-9 * (1.0 + b.abs()), "{a} {b}");
                }
            }
        }
    }

    #[test]
    fn positive_parts_are_positive_and_differ_by_a_negative_part() {
        let mut random = Random::new(5);
        for _ in 0..20 {
            let (z, measures) = samples(&mut random);
            for m in measures {
                for factor in [0.7, -1.3] {
                    for _ in 0..10 {
                        let y: Vec<f64> = z.iter().map(|_| random.between(-1.0, 1.0)).collect();
                        let along = |positive: bool| -> f64 {
                            product(&m, &z, factor, positive, &y).iter().zip(&y).map(|(a, b)| a * b).sum()
                        };
                        let (plus, full) = (along(true), along(false));
                        assert!(plus > -1e-10 && plus - full > -1e-10, "{plus} {full}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_turn_by_seven_tenths_reads_seven_tenths_whoever_is_first() {
        let axis = Vec3::new(1.0, -2.0, 0.5).normalize();
        let frame = matrix(&crate::math::rotation::frame_with_axis(&axis));
        // Columns of the frame: n, b, t.
        let [n, b] = [0, 1].map(|k| frame.column(k).into_owned());
        for angle in [0.7, -0.7, 3.0, -3.1] {
            let R = matrix(&exp(&(angle * axis)));
            let z: Vec<f64> = [0.0; 3].iter().chain(R.as_slice()).copied().collect();
            let body = [n, b].map(|e| BlockVector::direction(0, &e));
            let world = [n, b].map(BlockVector::fixed);
            let [ni, bi] = world.clone();
            let [nj, bj] = body.clone();
            let m = Measure::Angle([ni, bi, nj, bj]);
            assert!((m.value(&z) - angle).abs() < 1e-14);
            // Exchanged, with the axis the other way: n stays, b turns round.
            let back = |v: &BlockVector| BlockVector::default().combined(1.0, v, -1.0);
            let [[nw, bw], [nb, bb]] = [world, body];
            let m = Measure::Angle([nb, back(&bb), nw, back(&bw)]);
            assert!((m.value(&z) - angle).abs() < 1e-14);
        }
    }
}
