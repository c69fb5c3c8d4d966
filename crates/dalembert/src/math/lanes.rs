//! Four numbers that move together: plain arrays which the compiler turns into vector registers.

use std::ops::{Add, AddAssign, Mul, Neg, Sub};

/// Four independent numbers, one per lane.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Lanes(pub [f64; 4]);

impl Lanes {
    /// Number of lanes.
    pub const COUNT: usize = 4;

    /// The same number in every lane.
    #[inline(always)]
    pub fn all(a: f64) -> Self {
        Self([a; 4])
    }

    /// self · a + b, in one rounding where the machine can (`mul_add` without the instruction is a slow call).
    #[inline(always)]
    pub fn times_plus(self, a: Self, b: Self) -> Self {
        #[cfg(target_feature = "fma")]
        return Self(std::array::from_fn(|l| self.0[l].mul_add(a.0[l], b.0[l])));
        #[cfg(not(target_feature = "fma"))]
        return self * a + b;
    }
}

impl Add for Lanes {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Self(std::array::from_fn(|l| self.0[l] + o.0[l]))
    }
}

impl Sub for Lanes {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Self(std::array::from_fn(|l| self.0[l] - o.0[l]))
    }
}

impl Mul for Lanes {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Self(std::array::from_fn(|l| self.0[l] * o.0[l]))
    }
}

impl Neg for Lanes {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(self.0.map(|a| -a))
    }
}

impl AddAssign for Lanes {
    #[inline(always)]
    fn add_assign(&mut self, o: Self) {
        *self = *self + o;
    }
}
