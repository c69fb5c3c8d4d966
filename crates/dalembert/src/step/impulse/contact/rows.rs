//! Rows of robots with bounds, solved together with the contacts: dry friction and limits of joints.
//!
//! A robot's own solver finds the forces of such rows exactly for given contact impulses. But a robot that stands is held by
//! both: with the impulses fixed it floats, and rows that stick and slip by turns never agree with the contacts. So each
//! row is a unit beside the contacts: rate⁺ + (r/h) ℓ = target with its impulse ℓ = hλ between bounds, and its answers
//! $M_A^{-1}a^T$ are those of the masses with all rows that have no bounds.

use super::lanes::Lanes;
use super::sweep::{Columns, Field, visit, visit_spin};
use super::{ContactWork, NONE};
use crate::math::{Vec3, triple};
use crate::robot::BoundedRow;
use std::ops::Range;

/// A row of a robot with bounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct BoundRow {
    /// First velocity of the robot, and how many it has.
    pub(super) first: u32,
    pub(super) len: u32,
    /// Where its numbers begin in [`Field::numbers`]: the row, then its answers, which those of simple robots have where all
    /// answers of their trees are known.
    pub(super) at: u32,
    /// Where z of a row of a simple robot begins, a number for each velocity and zeros to the next multiple of four; `NONE` of
    /// others.
    pub(super) half: u32,
    /// Where the answers of all rows of its group to each other begin, its place among them and how many there are; `NONE` of
    /// others.
    pub(super) block: u32,
    pub(super) place: [u32; 2],
    /// Its only velocity and the number of the row there; `NONE` if it has several.
    pub(super) only: u32,
    pub(super) slope: f64,
    /// Bounds of its impulse \[N·s or N·m·s\].
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) target: f64,
    /// r/h.
    pub(super) softness: f64,
    /// Answer of its own rate, with softness.
    pub(super) W: f64,
    pub(super) impulse: f64,
    /// Where it begins in the numbers how a unit impulse moves the points of its trees, by their columns; `NONE` if that is
    /// read from J and its answers.
    pub(super) beside: u32,
}

impl BoundRow {
    /// A row over the velocities of a cluster, whose numbers begin at `at`.
    pub(super) fn new(r: &BoundedRow, cluster: &super::Cluster, at: u32, h: f64) -> Self {
        Self {
            first: cluster.first,
            len: cluster.len,
            at,
            half: NONE,
            block: NONE,
            place: [0; 2],
            only: NONE,
            slope: 0.0,
            low: h * r.low,
            high: h * r.high,
            target: r.target,
            softness: r.softness / h,
            W: 0.0,
            impulse: h * r.force,
            beside: NONE,
        }
    }

    /// Its answers: column `i` of the `m` columns of Y.
    pub(super) fn take_answers(&mut self, field: &mut Field, Y: &[f64], i: usize, m: usize) {
        let (n, at) = (self.len as usize, self.at as usize);
        (0..n).for_each(|d| field.numbers.list[at + n + d] = Y[d * m + i]);
        self.take_own(field);
    }

    /// The answer of its own rate, once its answers are known.
    pub(super) fn take_own(&mut self, field: &Field) {
        self.W = self.answer_of(field, self);
        self.W += self.softness + 1e-11 * self.W + 1e-300;
    }

    /// z, a number for each velocity of its cluster.
    pub(super) fn z<'a>(&self, field: &'a Field) -> &'a [[f64; 4]] {
        let n = (self.len as usize).next_multiple_of(4);
        field.numbers.list[self.half as usize..][..n].as_chunks().0
    }

    /// z of two rows, multiplied.
    pub(super) fn times(&self, field: &Field, other: &Self) -> f64 {
        let products = self.z(field).iter().zip(other.z(field));
        let sum = products.fold(Lanes::ZERO, |sum, (a, b)| Lanes::from(*a).mul_add(Lanes::from(*b), sum));
        let [a, b, c, d] = sum.to_array();
        (a + b) + (c + d)
    }

    /// How an impulse of another row of its cluster moves its rate.
    pub(super) fn answer_of(&self, field: &Field, other: &Self) -> f64 {
        if self.block != NONE {
            let [i, m] = self.place;
            return field.numbers.list[(self.block + i * m + other.place[0]) as usize];
        }
        let n = self.len as usize;
        let (a, y) = (self.at as usize, other.at as usize + n);
        crate::math::dot(&field.numbers.list[a..a + n], &field.numbers.list[y..y + n])
    }

    /// How a unit impulse moves the points of a triple of columns of its cluster.
    pub(super) fn moves(&self, field: &Field, columns: &Columns, column: u32) -> Vec3 {
        if self.beside != NONE {
            return triple(&field.numbers.list[(self.beside + column) as usize..], 0);
        }
        let answers = &field.numbers.list[(self.at + self.len) as usize..][..self.len as usize];
        field.link_rows_times(columns, column, answers)
    }

    /// Its rate.
    pub(super) fn rate(&self, field: &Field, x: &[f64]) -> f64 {
        if self.only != NONE {
            return self.slope * x[self.only as usize];
        }
        let (n, at, first) = (self.len as usize, self.at as usize, self.first as usize);
        crate::math::dot(&field.numbers.list[at..at + n], &x[first..first + n])
    }

    pub(super) fn push(&self, field: &Field, x: &mut [f64], p: f64) {
        let (n, at, first) = (self.len as usize, (self.at + self.len) as usize, self.first as usize);
        x[first..first + n].iter_mut().zip(&field.numbers.list[at..at + n]).for_each(|(x, y)| *x += y * p);
    }

    /// Its impulse for its rate as it is and the impulse p.
    fn answer(&self, rate: f64, p: f64) -> f64 {
        let off = rate + self.softness * p - self.target;
        (p - off / self.W).clamp(self.low, self.high)
    }

    /// How far a visit would move its rate, given rate − target with softness, and the impulse p.
    pub(super) fn unrest_at(&self, off: f64, p: f64) -> f64 {
        (self.W * ((p - off / self.W).clamp(self.low, self.high) - p)).abs()
    }

    fn visit(&mut self, field: &Field, x: &mut [f64]) -> f64 {
        let change = self.answer(self.rate(field, x), self.impulse) - self.impulse;
        self.impulse += change;
        self.push(field, x, change);
        (self.W * change).abs()
    }
}

impl ContactWork {
    /// Notes the rows of the robots that an island touches.
    pub(super) fn rows_of(&mut self, range: Range<usize>) {
        self.rows_at_hand.clear();
        if self.bound_rows.is_empty() {
            return;
        }
        let slots = self.slots();
        let mut last = NONE;
        for node in self.info[range].iter().flat_map(|i| i.nodes) {
            if node != NONE && node as usize >= slots && node != last {
                last = node;
                let rows = self.robots.group(node as usize - slots).rows.clone();
                self.rows_at_hand.extend(rows.map(|r| r as u32));
            }
        }
        self.rows_at_hand.sort_unstable();
        self.rows_at_hand.dedup();
    }

    /// Sweeps over the contacts of an island and the rows at hand; how many, and the last change of a velocity.
    pub(super) fn sweep_with_rows(&mut self, range: Range<usize>, tolerance: f64, most: u32) -> (u32, f64) {
        let mut x = std::mem::take(&mut self.field.x);
        let Self { field, contacts, spins, bound_rows, rows_at_hand, .. } = self;
        let (mut sweeps, mut moved) = (0, f64::INFINITY);
        while moved > tolerance && sweeps < most {
            moved = 0.0;
            for c in &mut contacts[range.clone()] {
                moved = moved.max(visit(field, &mut x, c));
                if c.spin != NONE {
                    let spin = &mut spins[c.spin as usize];
                    moved = moved.max(visit_spin(field, &mut x, c, spin) * c.arms[0].norm());
                }
            }
            for &k in &*rows_at_hand {
                moved = moved.max(bound_rows[k as usize].visit(field, &mut x));
            }
            sweeps += 1;
        }
        self.field.x = x;
        (sweeps, moved)
    }
}
