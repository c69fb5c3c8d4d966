//! Numbers that carry a gradient and a Hessian over n variables: exact second derivatives of any formula.
//!
//! For $g(a)$ the rules are $\nabla g = g'\nabla a$ and $\nabla^2 g = g'\nabla^2 a + g''\,\nabla a\nabla a^T$; a product adds
//! $\nabla a\nabla b^T + \nabla b\nabla a^T$. Made for elements of a few points whose derivatives nobody wants to print.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use super::Scalar;

/// Value, gradient and Hessian over n variables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hyper<const N: usize> {
    /// Value.
    pub value: f64,
    /// ∂/∂x_i.
    pub gradient: [f64; N],
    /// ∂²/∂x_i∂x_j; only i ≥ j is filled in.
    pub hessian: [[f64; N]; N],
}

impl<const N: usize> Hyper<N> {
    /// Variable number `i` with the given value.
    pub fn variable(value: f64, i: usize) -> Self {
        let mut x = Self::from(value);
        x.gradient[i] = 1.0;
        x
    }

    /// g(self) from g, g', g''.
    fn chain(self, g: f64, g1: f64, g2: f64) -> Self {
        self.combine(g, g1, &Self::from(0.0), 0.0, g2, 0.0, 0.0)
    }

    /// g(a, b) from its value, derivatives and curvatures.
    #[inline(always)]
    fn combine(&self, g: f64, ga: f64, b: &Self, gb: f64, gaa: f64, gab: f64, gbb: f64) -> Self {
        let mut out = Self::from(g);
        for i in 0..N {
            out.gradient[i] = ga * self.gradient[i] + gb * b.gradient[i];
            let left = gaa * self.gradient[i] + gab * b.gradient[i];
            let right = gab * self.gradient[i] + gbb * b.gradient[i];
            for j in 0..=i {
                out.hessian[i][j] = ga * self.hessian[i][j]
                    + gb * b.hessian[i][j]
                    + left * self.gradient[j]
                    + right * b.gradient[j];
            }
        }
        out
    }

    /// Value, derivatives and curvatures scaled.
    fn scaled(mut self, s: f64) -> Self {
        self.value *= s;
        for i in 0..N {
            self.gradient[i] *= s;
            for j in 0..=i {
                self.hessian[i][j] *= s;
            }
        }
        self
    }

    fn plus(mut self, o: &Self, s: f64) -> Self {
        self.value += s * o.value;
        for i in 0..N {
            self.gradient[i] += s * o.gradient[i];
            for j in 0..=i {
                self.hessian[i][j] += s * o.hessian[i][j];
            }
        }
        self
    }
}

impl<const N: usize> From<f64> for Hyper<N> {
    fn from(value: f64) -> Self {
        Self { value, gradient: [0.0; N], hessian: [[0.0; N]; N] }
    }
}

impl<const N: usize> Add for Hyper<N> {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        self.plus(&o, 1.0)
    }
}

impl<const N: usize> Sub for Hyper<N> {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        self.plus(&o, -1.0)
    }
}

impl<const N: usize> Mul for Hyper<N> {
    type Output = Self;
    fn mul(self, o: Self) -> Self {
        self.combine(self.value * o.value, o.value, &o, self.value, 0.0, 1.0, 0.0)
    }
}

impl<const N: usize> Div for Hyper<N> {
    type Output = Self;
    fn div(self, o: Self) -> Self {
        let i = 1.0 / o.value;
        let g = self.value * i;
        self.combine(g, i, &o, -g * i, 0.0, -i * i, 2.0 * g * i * i)
    }
}

impl<const N: usize> Neg for Hyper<N> {
    type Output = Self;
    fn neg(self) -> Self {
        self.scaled(-1.0)
    }
}

impl<const N: usize> AddAssign for Hyper<N> {
    fn add_assign(&mut self, o: Self) {
        *self = *self + o;
    }
}

impl<const N: usize> SubAssign for Hyper<N> {
    fn sub_assign(&mut self, o: Self) {
        *self = *self - o;
    }
}

impl<const N: usize> Add<f64> for Hyper<N> {
    type Output = Self;
    fn add(self, o: f64) -> Self {
        Self { value: self.value + o, ..self }
    }
}

impl<const N: usize> Sub<f64> for Hyper<N> {
    type Output = Self;
    fn sub(self, o: f64) -> Self {
        Self { value: self.value - o, ..self }
    }
}

impl<const N: usize> Mul<f64> for Hyper<N> {
    type Output = Self;
    fn mul(self, o: f64) -> Self {
        self.scaled(o)
    }
}

impl<const N: usize> Div<f64> for Hyper<N> {
    type Output = Self;
    fn div(self, o: f64) -> Self {
        self.scaled(1.0 / o)
    }
}

impl<const N: usize> Scalar for Hyper<N> {
    fn sin(self) -> Self {
        let (s, c) = self.value.sin_cos();
        self.chain(s, c, -s)
    }
    fn cos(self) -> Self {
        let (s, c) = self.value.sin_cos();
        self.chain(c, -s, -c)
    }
    fn exp(self) -> Self {
        let e = self.value.exp();
        self.chain(e, e, e)
    }
    fn ln(self) -> Self {
        let i = 1.0 / self.value;
        self.chain(self.value.ln(), i, -i * i)
    }
    fn sqrt(self) -> Self {
        let r = self.value.sqrt();
        let g1 = 0.5 / r;
        self.chain(r, g1, -0.5 * g1 / self.value)
    }
    fn powi(self, n: i32) -> Self {
        let k = f64::from(n);
        let term = |c: f64, m: i32| if c == 0.0 { 0.0 } else { c * self.value.powi(m) };
        self.chain(self.value.powi(n), term(k, n - 1), term(k * (k - 1.0), n - 2))
    }
    fn powf(self, p: f64) -> Self {
        let x = self.value;
        self.chain(x.powf(p), p * x.powf(p - 1.0), p * (p - 1.0) * x.powf(p - 2.0))
    }
    fn atan2(self, other: Self) -> Self {
        let (y, x) = (self.value, other.value);
        let rho = x * x + y * y;
        let (gy, gx) = (x / rho, -y / rho);
        // ∂²θ/∂y² = −2xy/ρ², ∂²θ/∂y∂x = (y² − x²)/ρ², ∂²θ/∂x² = 2xy/ρ²
        self.combine(y.atan2(x), gy, &other, gx, 2.0 * gy * gx, gx * gx - gy * gy, -2.0 * gy * gx)
    }
    fn value(self) -> f64 {
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Jet;

    fn sample<T: Scalar>([x, y, z]: [T; 3]) -> T {
        let a = (x * x + y * y + 1.3).sqrt() / (z.sin() + 2.0);
        let b = (x * 0.3 - z).exp() * y.cos() - (x + 4.0).ln();
        a.atan2(b) + x.powi(3) * y - (z + 3.0).powf(1.7) + T::from(2.0) / (x * y + 5.0)
    }

    #[test]
    fn gradient_and_hessian_agree_with_jets_along_every_line() {
        let at = [0.4, -0.7, 1.1];
        let hyper = sample(std::array::from_fn(|i| Hyper::<3>::variable(at[i], i)));
        for d in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.3, -0.5, 0.8], [1.0, 1.0, 0.2]] {
            let jet = sample(std::array::from_fn(|i| Jet::line(at[i], d[i])));
            let derivative: f64 = (0..3).map(|i| hyper.gradient[i] * d[i]).sum();
            let full = |i: usize, j: usize| hyper.hessian[i.max(j)][i.min(j)];
            let curve: f64 = (0..9).map(|k| full(k / 3, k % 3) * d[k / 3] * d[k % 3]).sum();
            assert!((hyper.value - jet.f0).abs() < 1e-15);
            assert!((derivative - jet.f1).abs() < 1e-14, "{derivative} {}", jet.f1);
            assert!((curve - 2.0 * jet.f2).abs() < 1e-13, "{curve} {}", 2.0 * jet.f2);
        }
    }
}
