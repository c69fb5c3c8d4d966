//! Rows of robots with bounds, solved together with the contacts: dry friction and limits of joints.
//!
//! A robot's own solver finds the forces of such rows exactly for given contact impulses. But a robot that stands is held by
//! both: with the impulses fixed it floats, and rows that stick and slip by turns never agree with the contacts. So each
//! row is a unit beside the contacts: rate⁺ + (r/h) ℓ = target with its impulse ℓ = hλ between bounds, and its answers
//! $M_A^{-1}a^T$ are those of the masses with all rows that have no bounds.

use super::sweep::{Field, Side, visit, visit_spin};
use super::{ContactWork, NONE};
use crate::model::Model;
use std::ops::Range;

/// A row of a robot with bounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct BoundRow {
    /// First velocity of the robot, and how many it has.
    pub(super) first: u32,
    pub(super) len: u32,
    /// Where its numbers begin in [`Field::numbers`]: the row, then its answers.
    at: u32,
    /// Bounds of its impulse \[N·s or N·m·s\].
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) target: f64,
    /// r/h.
    pub(super) softness: f64,
    /// Answer of its own rate, with softness.
    pub(super) W: f64,
    pub(super) impulse: f64,
}

impl BoundRow {
    /// Its rate.
    pub(super) fn rate(&self, field: &Field, x: &[f64]) -> f64 {
        let (n, at, first) = (self.len as usize, self.at as usize, self.first as usize);
        crate::math::dot(&field.numbers[at..at + n], &x[first..first + n])
    }

    pub(super) fn push(&self, field: &Field, x: &mut [f64], p: f64) {
        let (n, at, first) = (self.len as usize, (self.at + self.len) as usize, self.first as usize);
        x[first..first + n].iter_mut().zip(&field.numbers[at..at + n]).for_each(|(x, y)| *x += y * p);
    }

    fn answer(&self, field: &Field, x: &[f64]) -> f64 {
        let off = self.rate(field, x) + self.softness * self.impulse - self.target;
        (self.impulse - off / self.W).clamp(self.low, self.high)
    }

    /// How far a visit would move its rate.
    pub(super) fn unrest(&self, field: &Field, x: &[f64]) -> f64 {
        (self.W * (self.answer(field, x) - self.impulse)).abs()
    }

    fn visit(&mut self, field: &Field, x: &mut [f64]) -> f64 {
        let change = self.answer(field, x) - self.impulse;
        self.impulse += change;
        self.push(field, x, change);
        (self.W * change).abs()
    }
}

impl ContactWork {
    /// Rows with bounds of a robot that was just tried, with answers of their own.
    pub(super) fn load_bound_rows(&mut self, robot: usize, model: &Model, h: f64) {
        let cluster = self.clusters[self.clusters.len() - self.robots.len() + robot];
        let n = cluster.len as usize;
        let machine = &model.robots[robot].machine;
        let numbers = &mut self.field.numbers;
        let (begin, first_row) = (numbers.len(), self.bound_rows.len());
        let rows = &mut self.bound_rows;
        machine.bounded_rows(self.robots.work(robot), |r, entries| {
            let at = numbers.len();
            numbers.resize(at + 2 * n, 0.0);
            entries.for_each(|(d, a)| numbers[at + d] = a);
            rows.push(BoundRow {
                first: cluster.first,
                len: cluster.len,
                at: at as u32,
                low: h * r.low,
                high: h * r.high,
                target: r.target,
                softness: r.softness / h,
                W: 0.0,
                impulse: h * r.force,
            });
        });
        let m = rows.len() - first_row;
        if m == 0 {
            return;
        }
        let mut Y = vec![0.0; n * m];
        for i in 0..m {
            (0..n).for_each(|d| Y[d * m + i] = numbers[begin + 2 * n * i + d]);
        }
        machine.respond(h, m, &mut Y, self.robots.work_mut(robot));
        for (i, row) in rows[first_row..].iter_mut().enumerate() {
            let at = begin + 2 * n * i;
            (0..n).for_each(|d| numbers[at + n + d] = Y[d * m + i]);
            row.W = crate::math::dot(&numbers[at..at + n], &numbers[at + n..at + 2 * n]);
            row.W += row.softness + 1e-11 * row.W + 1e-300;
        }
    }

    /// Notes the rows of the robots that an island touches.
    pub(super) fn rows_of(&mut self, range: Range<usize>) {
        self.rows_at_hand.clear();
        if self.bound_rows.is_empty() {
            return;
        }
        for (k, row) in self.bound_rows.iter().enumerate() {
            let touches =
                |s: &Side| matches!(s, Side::Link(_, c) if c.first == row.first && c.len == row.len);
            if self.contacts[range.clone()].iter().any(|c| c.sides.iter().any(touches)) {
                self.rows_at_hand.push(k as u32);
            }
        }
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
