//! Automatic differentiation along a line: numbers that carry their first two derivatives.
//!
//! A [`Jet`] is the truncated Taylor series $f(s) = f_0 + f_1 s + f_2 s^2 + O(s^3)$. Feeding
//! $q(s) = q + s\dot q$ to a function written for any [`Scalar`] gives its value, $J\dot q$ (as $f_1$) and
//! $\dot J\dot q$ (as $2 f_2$) in one evaluation, exactly to rounding. With $\dot q$ a unit vector $f_1$ is a column
//! of the Jacobian.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// What a function may compute with, so that it can be differentiated: `f64` or [`Jet`].
pub trait Scalar:
    Copy
    + std::fmt::Debug
    + From<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
    + AddAssign
    + SubAssign
{
    /// Sine.
    fn sin(self) -> Self;
    /// Cosine.
    fn cos(self) -> Self;
    /// Exponential.
    fn exp(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Whole power.
    fn powi(self, n: i32) -> Self;
    /// Real power.
    fn powf(self, p: f64) -> Self;
    /// Angle of the point (other, self).
    fn atan2(self, other: Self) -> Self;
    /// The value without derivatives.
    fn value(self) -> f64;
}

impl Scalar for f64 {
    fn sin(self) -> Self {
        f64::sin(self)
    }
    fn cos(self) -> Self {
        f64::cos(self)
    }
    fn exp(self) -> Self {
        f64::exp(self)
    }
    fn ln(self) -> Self {
        f64::ln(self)
    }
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }
    fn powi(self, n: i32) -> Self {
        f64::powi(self, n)
    }
    fn powf(self, p: f64) -> Self {
        f64::powf(self, p)
    }
    fn atan2(self, other: Self) -> Self {
        f64::atan2(self, other)
    }
    fn value(self) -> f64 {
        self
    }
}

/// $f_0 + f_1 s + f_2 s^2$.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Jet {
    /// Value.
    pub f0: f64,
    /// First derivative.
    pub f1: f64,
    /// Half the second derivative.
    pub f2: f64,
}

impl Jet {
    /// x + s·rate.
    pub fn line(x: f64, rate: f64) -> Self {
        Self { f0: x, f1: rate, f2: 0.0 }
    }

    /// g(self) from g, g', g'' at f0: (g, g' f₁, g' f₂ + ½ g'' f₁²).
    fn chain(self, g: f64, g1: f64, g2: f64) -> Self {
        Self { f0: g, f1: g1 * self.f1, f2: g1 * self.f2 + 0.5 * g2 * self.f1 * self.f1 }
    }
}

impl From<f64> for Jet {
    fn from(x: f64) -> Self {
        Self { f0: x, f1: 0.0, f2: 0.0 }
    }
}

impl Add for Jet {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self { f0: self.f0 + o.f0, f1: self.f1 + o.f1, f2: self.f2 + o.f2 }
    }
}

impl Sub for Jet {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        Self { f0: self.f0 - o.f0, f1: self.f1 - o.f1, f2: self.f2 - o.f2 }
    }
}

impl Mul for Jet {
    type Output = Self;
    fn mul(self, o: Self) -> Self {
        Self {
            f0: self.f0 * o.f0,
            f1: self.f0 * o.f1 + self.f1 * o.f0,
            f2: self.f0 * o.f2 + self.f1 * o.f1 + self.f2 * o.f0,
        }
    }
}

impl Div for Jet {
    type Output = Self;
    fn div(self, o: Self) -> Self {
        let f0 = self.f0 / o.f0;
        let f1 = (self.f1 - f0 * o.f1) / o.f0;
        Self { f0, f1, f2: (self.f2 - f0 * o.f2 - f1 * o.f1) / o.f0 }
    }
}

impl Neg for Jet {
    type Output = Self;
    fn neg(self) -> Self {
        Self { f0: -self.f0, f1: -self.f1, f2: -self.f2 }
    }
}

impl AddAssign for Jet {
    fn add_assign(&mut self, o: Self) {
        *self = *self + o;
    }
}

impl SubAssign for Jet {
    fn sub_assign(&mut self, o: Self) {
        *self = *self - o;
    }
}

impl Add<f64> for Jet {
    type Output = Self;
    fn add(self, o: f64) -> Self {
        Self { f0: self.f0 + o, ..self }
    }
}

impl Sub<f64> for Jet {
    type Output = Self;
    fn sub(self, o: f64) -> Self {
        Self { f0: self.f0 - o, ..self }
    }
}

impl Mul<f64> for Jet {
    type Output = Self;
    fn mul(self, o: f64) -> Self {
        Self { f0: self.f0 * o, f1: self.f1 * o, f2: self.f2 * o }
    }
}

impl Div<f64> for Jet {
    type Output = Self;
    fn div(self, o: f64) -> Self {
        Self { f0: self.f0 / o, f1: self.f1 / o, f2: self.f2 / o }
    }
}

impl Scalar for Jet {
    fn sin(self) -> Self {
        let (s, c) = self.f0.sin_cos();
        self.chain(s, c, -s)
    }
    fn cos(self) -> Self {
        let (s, c) = self.f0.sin_cos();
        self.chain(c, -s, -c)
    }
    fn exp(self) -> Self {
        let e = self.f0.exp();
        self.chain(e, e, e)
    }
    fn ln(self) -> Self {
        let i = 1.0 / self.f0;
        self.chain(self.f0.ln(), i, -i * i)
    }
    fn sqrt(self) -> Self {
        let r = self.f0.sqrt();
        let g1 = 0.5 / r;
        self.chain(r, g1, -0.5 * g1 / self.f0)
    }
    fn powi(self, n: i32) -> Self {
        let k = f64::from(n);
        let term = |c: f64, m: i32| if c == 0.0 { 0.0 } else { c * self.f0.powi(m) };
        self.chain(self.f0.powi(n), term(k, n - 1), term(k * (k - 1.0), n - 2))
    }
    fn powf(self, p: f64) -> Self {
        let g = self.f0.powf(p);
        self.chain(g, p * self.f0.powf(p - 1.0), p * (p - 1.0) * self.f0.powf(p - 2.0))
    }
    fn atan2(self, x: Self) -> Self {
        // θ' = (x y' − y x')/ρ as a series, integrated: θ₁ is its value, θ₂ half its derivative.
        let y = self;
        let rho = x.f0 * x.f0 + y.f0 * y.f0;
        let f1 = (x.f0 * y.f1 - y.f0 * x.f1) / rho;
        let derivative = (2.0 * (x.f0 * y.f2 - y.f0 * x.f2) - f1 * 2.0 * (x.f0 * x.f1 + y.f0 * y.f1)) / rho;
        Self { f0: y.f0.atan2(x.f0), f1, f2: 0.5 * derivative }
    }
    fn value(self) -> f64 {
        self.f0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample<T: Scalar>(x: T) -> T {
        let a = (x * x + 1.3).sqrt() / (x.sin() + 2.0);
        let b = (x * 0.3).exp() * x.cos() - (x + 4.0).ln();
        a.atan2(b) + x.powi(3) * 0.1 - (x + 3.0).powf(1.7) + T::from(2.0) / (x + 5.0) - x.powi(0)
    }

    #[test]
    fn a_jet_carries_the_first_two_derivatives() {
        for x in [-1.2, 0.0, 0.4, 2.0] {
            let jet = sample(Jet::line(x, 1.0));
            let e = 1e-4;
            let (low, mid, high) = (sample(x - e), sample(x), sample(x + e));
            assert_eq!(jet.f0, mid);
            assert!((jet.f1 - (high - low) / (2.0 * e)).abs() < 1e-7, "{x}");
            assert!((2.0 * jet.f2 - (high - 2.0 * mid + low) / (e * e)).abs() < 1e-6, "{x}");
        }
    }
}
