//! Rows of robots with bounds, solved together with the contacts: dry friction and limits of joints.
//!
//! A robot's own solver finds the forces of such rows exactly for given contact impulses. But a robot that stands is held by
//! both: alternating between the two does not converge. So each row is a scalar unknown beside the contacts: rate⁺ + (r/h) ℓ =
//! target with its impulse ℓ = hλ between bounds, and its columns $M_A^{-1}a^T$ are those of the masses with all rows that
//! have no bounds.

use super::{Columns, CoupledBodies, NONE, Responses, TINY};
use crate::math::simd::Lanes;
use crate::math::{Vec3, triple};
use crate::robot;

/// A part of W that is added to the diagonal: a row may depend on others.
const FLOOR: f64 = 1e-11;

/// A row of a robot with bounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BoundedRow {
    /// First velocity of its trees, and how many they have.
    pub(crate) first: u32,
    pub(crate) len: u32,
    /// Where its numbers begin in [`Responses::numbers`]: the row a, then M⁻¹aᵀ, which rows of linear robots have once all
    /// columns of their trees are known.
    pub(crate) at: u32,
    /// Where its half solve z begins (linear robots), a number for each velocity and zeros to the next multiple of four; or
    /// `NONE`.
    pub(crate) half: u32,
    /// Where the W of all rows of its trees begins (linear robots), its place among them and how many there are; or `NONE`.
    pub(crate) block: u32,
    pub(crate) place: [u32; 2],
    /// The only velocity that it reads, and the coefficient there; `NONE` if it reads several.
    pub(crate) only: u32,
    pub(crate) coefficient: f64,
    /// Bounds of its impulse \[N·s or N·m·s\].
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) target: f64,
    /// r/h.
    pub(crate) softness: f64,
    /// Its diagonal entry of W, with softness.
    pub(crate) W: f64,
    pub(crate) impulse: f64,
    /// Where its row of W over the columns of its trees begins; `NONE` if that is computed from J and its columns.
    pub(crate) coupling: u32,
}

impl BoundedRow {
    /// A row over the velocities of coupled bodies, whose numbers begin at `at`.
    pub(crate) fn new(r: &robot::BoundedRow, coupled: &CoupledBodies, at: u32, h: f64) -> Self {
        Self {
            first: coupled.first,
            len: coupled.len,
            at,
            half: NONE,
            block: NONE,
            place: [0; 2],
            only: NONE,
            coefficient: 0.0,
            low: h * r.low,
            high: h * r.high,
            target: r.target,
            softness: r.softness / h,
            W: 0.0,
            impulse: h * r.force,
            coupling: NONE,
        }
    }

    /// A row that holds its rate at zero within ± `bound`, on the first `len` velocities; its numbers begin at `at`.
    #[cfg(test)]
    pub(crate) fn hold(len: u32, at: u32, bound: f64) -> Self {
        let row = robot::BoundedRow { low: -bound, high: bound, target: 0.0, softness: 0.0, force: 0.0 };
        Self::new(&row, &CoupledBodies { len, ..CoupledBodies::default() }, at, 1.0)
    }

    /// Takes its columns: column `i` of the `m` columns of Y.
    pub(crate) fn take_columns(&mut self, responses: &mut Responses, Y: &[f64], i: usize, m: usize) {
        let (n, at) = (self.len as usize, self.at as usize);
        (0..n).for_each(|d| responses.numbers.list[at + n + d] = Y[d * m + i]);
        self.take_diagonal(responses);
    }

    /// Its diagonal entry of W, once its columns or half solve are known.
    pub(crate) fn take_diagonal(&mut self, responses: &Responses) {
        self.W = self.response_to(responses, self);
        self.W += self.softness + FLOOR * self.W + TINY;
    }

    /// Its half solve z.
    pub(crate) fn half_solve<'a>(&self, responses: &'a Responses) -> &'a [[f64; 4]] {
        let n = (self.len as usize).next_multiple_of(4);
        responses.numbers.list[self.half as usize..][..n].as_chunks().0
    }

    /// zᵀz of two rows.
    pub(crate) fn half_product(&self, responses: &Responses, other: &Self) -> f64 {
        let products = self.half_solve(responses).iter().zip(other.half_solve(responses));
        let sum = products.fold(Lanes::ZERO, |sum, (a, b)| Lanes::from(*a).mul_add(Lanes::from(*b), sum));
        let [a, b, c, d] = sum.to_array();
        (a + b) + (c + d)
    }

    /// W of two rows of the same trees: how an impulse of the other moves the rate of this one.
    pub(crate) fn response_to(&self, responses: &Responses, other: &Self) -> f64 {
        if self.block != NONE {
            let [i, m] = self.place;
            return responses.numbers.list[(self.block + i * m + other.place[0]) as usize];
        }
        let n = self.len as usize;
        let (a, y) = (self.at as usize, other.at as usize + n);
        crate::math::dot(&responses.numbers.list[a..a + n], &responses.numbers.list[y..y + n])
    }

    /// How a unit impulse moves the points of a triple of columns of its trees.
    pub(crate) fn coupling_with(&self, responses: &Responses, columns: &Columns, column: u32) -> Vec3 {
        if self.coupling != NONE {
            return triple(&responses.numbers.list[(self.coupling + column) as usize..], 0);
        }
        let own = &responses.numbers.list[(self.at + self.len) as usize..][..self.len as usize];
        responses.link_rows_times(columns, column, own)
    }

    /// Its rate.
    pub(crate) fn rate(&self, responses: &Responses, x: &[f64]) -> f64 {
        if self.only != NONE {
            return self.coefficient * x[self.only as usize];
        }
        let (n, at, first) = (self.len as usize, self.at as usize, self.first as usize);
        crate::math::dot(&responses.numbers.list[at..at + n], &x[first..first + n])
    }

    /// x += M⁻¹aᵀp.
    pub(crate) fn apply(&self, responses: &Responses, x: &mut [f64], p: f64) {
        let (n, at, first) = (self.len as usize, (self.at + self.len) as usize, self.first as usize);
        let columns = &responses.numbers.list[at..at + n];
        x[first..first + n].iter_mut().zip(columns).for_each(|(x, y)| *x += y * p);
    }

    /// The impulse that solves the row by itself, given rate − target with softness, and the impulse p as it is.
    pub(crate) fn impulse_for(&self, off: f64, p: f64) -> f64 {
        (p - off / self.W).clamp(self.low, self.high)
    }

    /// How far solving the row by itself would move its rate.
    pub(crate) fn residual(&self, off: f64, p: f64) -> f64 {
        (self.W * (self.impulse_for(off, p) - p)).abs()
    }

    /// rate + (r/h) ℓ − target.
    pub(crate) fn off(&self, rate: f64) -> f64 {
        rate + self.softness * self.impulse - self.target
    }
}
