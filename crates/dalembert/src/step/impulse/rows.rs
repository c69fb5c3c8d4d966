//! Rows of one island of joints: loading, the direct solve with an active set over the bounded rows, and projected Gauss–Seidel
//! for comparison.

use std::ops::Range;

use super::rules::{Rule, row_rule};
use super::{Bounded, Impulse, ImpulseWork, RowSolver, Start};
use crate::joints::Ask;
use crate::math::{Vec3, norm, set_triple, triple};
use crate::solve::box_lcp::{Active, solve_active_set};
use crate::solve::kkt::FactorReport;
use crate::step::StepReport;
use crate::step::system::{Island, Keep, System};

/// More rounds than this mean that bounds and rows contradict each other.
const MOST_ROUNDS: u32 = 60;
/// Rounds with masses from forces found in the same step.
pub(super) const STIFFER: u32 = 12;

impl ImpulseWork {
    /// v⁺ and λ of the island at hand; `direct` if its rows must be factored whatever the settings say.
    pub(super) fn solve_island(
        &mut self,
        settings: &Impulse,
        start: &Start,
        direct: bool,
        report: &mut StepReport,
    ) {
        self.bounded.clear();
        self.active.clear();
        self.kept.clear();
        self.pull = 0.0;
        if self.system.keep == Keep::All {
            self.target.resize(self.system.violation.len(), [0.0; 6]);
            self.momentum.resize(self.system.x.len(), 0.0);
        }
        match settings.solver {
            RowSolver::Pgs { sweeps } if !direct => {
                self.load(start, 0..self.system.bodies.len(), 0..self.system.violation.len());
                self.free_bounded(start.h);
                self.solve_sweeps(start.h, sweeps, report);
            }
            _ => self.solve_stiffened(start, report),
        }
    }

    /// Everything about some bodies and constraints at the start of the step. Constraints need their bodies loaded, now or
    /// before.
    fn load(&mut self, start: &Start, nodes: Range<usize>, constraints: Range<usize>) {
        let Start { model, state, .. } = *start;
        let (turns, broken) = (&state.turns, &state.broken);
        self.system.load_some(model, nodes.clone(), &state.q, &state.v);
        self.load_momentum(start, nodes.clone());
        self.system.evaluate_some(model, constraints.clone(), state.time, turns, broken, Ask::Jacobian);
        let first = self.bounded.len();
        self.choose_rows(start, constraints.clone());
        if self.system.keep == Keep::All {
            let (nodes, rows) = (6 * nodes.start..6 * nodes.end, 6 * constraints.start..6 * constraints.end);
            self.momentum[nodes.clone()].copy_from_slice(&self.system.x[nodes]);
            self.target.as_flattened_mut()[rows.clone()].copy_from_slice(&self.system.y[rows]);
        }
        apply_active_set(&mut self.system, &self.bounded[first..], &self.active[first..], start.h);
    }

    /// M v + h F of some bodies.
    fn load_momentum(&mut self, start: &Start, nodes: Range<usize>) {
        let Start { f, h, .. } = *start;
        let s = &mut self.system;
        for n in nodes {
            let (node, body, inertia) = (&s.island.nodes[n], &s.bodies[n], &s.inertia[n]);
            let f = &f[node.v..node.v + node.dofs];
            let mut linear = inertia.linear * body.v + h * triple(f, 0);
            let turning = node.dofs == 6;
            let angular = if turning { inertia.angular * body.w + h * triple(f, 1) } else { Vec3::zeros() };
            // A filtered particle moves only where it may; the rest of its velocity is not an unknown.
            if let Some(filter) = node.filter {
                linear = s.island.filters[filter as usize] * linear;
            }
            set_triple(&mut s.x, 2 * n, &linear);
            set_triple(&mut s.x, 2 * n + 1, &angular);
        }
    }

    /// Target rate, softness r/h and bounds of the rows of some constraints.
    fn choose_rows(&mut self, start: &Start, constraints: Range<usize>) {
        let Start { state, h, projection, .. } = *start;
        let first = self.bounded.len();
        for c in constraints {
            let s = &mut self.system;
            let terms = &s.island.terms[c];
            let (violation, drift) = (s.violation[c], s.drift[c]);
            let last = s.island.lambda(&state.lambda, c);
            self.pull += last.iter().map(|l| l * l).sum::<f64>();
            // A row of a broken joint, or none at all: no Jacobian, multiplier 0.
            s.softness[c] = [1.0; 6];
            s.y[6 * c..6 * c + 6].fill(0.0);
            if terms.is_broken(&state.broken) {
                continue;
            }
            for row in 0..s.island.row_count[c] as usize {
                let rule = row_rule(&terms.hold, violation[row], || s.row_rate(c, row), h, projection);
                s.y[6 * c + row] = rule.target - drift[row];
                s.softness[c][row] = rule.regularization / h;
                if rule.low > f64::NEG_INFINITY || rule.high < f64::INFINITY {
                    let last = last[0];
                    self.active.push(if last <= rule.low || rule.low == rule.high {
                        Active::Low
                    } else if last >= rule.high {
                        Active::High
                    } else {
                        Active::Free
                    });
                    let Rule { low, high, regularization, .. } = rule;
                    self.bounded.push(Bounded { constraint: c, low, high, regularization });
                }
            }
        }
        for b in &self.bounded[first..] {
            self.kept.extend(self.system.island.blocks(b.constraint).map(|k| self.system.jacobian[k]));
        }
    }

    /// Makes all bounded rows hold again, undoing [`apply_active_set`].
    fn free_bounded(&mut self, h: f64) {
        let mut at = 0;
        for b in &self.bounded {
            self.system.softness[b.constraint][0] = b.regularization / h;
            for k in self.system.island.blocks(b.constraint) {
                self.system.jacobian[k] = self.kept[at];
                at += 1;
            }
        }
    }

    /// Solves with masses stiffened against turning forces: those of the step before, and those found now where they
    /// are much larger, as when a slack chain becomes taut.
    fn solve_stiffened(&mut self, start: &Start, report: &mut StepReport) {
        let Start { model, state, h, .. } = *start;
        let last = |island: &Island, c: usize| island.lambda(&state.lambda, c);
        report.weak_rows = self.load_and_solve(start, last);
        self.solve_active_set(h, report);
        let mut before = self.pull.sqrt();
        for _ in 0..STIFFER {
            let now = norm(&self.system.y) / h;
            if now <= 2.0 * before || now.is_nan() {
                break;
            }
            before = now;
            self.keep_found(h);
            if !self.system.stiffen_by(model, &self.found, &state.broken, h) {
                break;
            }
            if self.system.keep == Keep::All {
                let active = std::mem::take(&mut self.active);
                report.weak_rows = self.solve_again(h, &active);
                self.active = active;
                self.solve_active_set(h, report);
            } else {
                let found = std::mem::take(&mut self.found);
                report.weak_rows = self.load_and_solve(start, |_, c| found[c]);
                self.found = found;
            }
        }
    }

    /// Loads and eliminates chunk by chunk, so that numbers are used while they are in the cache; then v⁺ and hλ.
    fn load_and_solve(&mut self, start: &Start, lambda: impl Fn(&Island, usize) -> [f64; 6]) -> u32 {
        let Start { model, state, h, .. } = *start;
        let pattern = self.system.pattern();
        let mut report = FactorReport::default();
        for chunk in pattern.chunks() {
            self.load(start, chunk.nodes.clone(), chunk.couplings.clone());
            self.system.stiffen_chunk(model, chunk, &lambda, &state.broken, h);
            self.system.factor_chunk(chunk, &mut report);
        }
        self.system.solve_backwards();
        report.weak_rows as u32
    }

    /// Keeps the forces that were found last, λ = −y/h.
    pub(super) fn keep_found(&mut self, h: f64) {
        self.found.clear();
        self.found.extend(self.system.y.as_chunks::<6>().0.iter().map(|y| y.map(|y| -y / h)));
    }

    /// The same with another active set or other masses.
    fn solve_again(&mut self, h: f64, active: &[Active]) -> u32 {
        self.free_bounded(h);
        self.system.x.copy_from_slice(&self.momentum);
        self.system.y.copy_from_slice(self.target.as_flattened());
        apply_active_set(&mut self.system, &self.bounded, active, h);
        self.system.factor_and_solve()
    }

    /// Active-set iteration over the bounded rows, each round a direct solve; the first is done.
    fn solve_active_set(&mut self, h: f64, report: &mut StepReport) {
        let mut active = std::mem::take(&mut self.active);
        self.free_bounded(h);
        let better = |work: &Self, k: usize, now| work.better_bound(&work.bounded[k], now, h);
        let done = solve_active_set(self, &mut active, MOST_ROUNDS, better, |work, active| {
            report.weak_rows = work.solve_again(h, active);
            work.free_bounded(h);
        });
        (report.iterations, report.unfinished) = (done.rounds, done.wrong > 0);
        for (b, force) in at_bounds(&self.bounded, &active) {
            self.system.y[6 * b.constraint] = -h * force;
        }
        self.active = active;
    }

    /// Where a bounded row should be, given the solution.
    fn better_bound(&self, b: &Bounded, now: Active, h: f64) -> Active {
        let c = b.constraint;
        if now == Active::Free {
            let force = -self.system.y[6 * c] / h;
            let slack = 1e-12 * (1.0 + force.abs());
            return if force < b.low - slack {
                Active::Low
            } else if force > b.high + slack {
                Active::High
            } else {
                Active::Free
            };
        }
        if b.low == b.high {
            return now;
        }
        let force = if now == Active::Low { b.low } else { b.high };
        let rate = self.system.row_times(c, 0, &self.system.x);
        // Positive: the row runs ahead of its target, so it asks for less force.
        let ahead = rate + b.regularization * force - self.target[c][0];
        let slack = 1e-11 * (1.0 + rate.abs() + self.target[c][0].abs());
        match now {
            Active::Low if ahead < -slack => Active::Free,
            Active::High if ahead > slack => Active::Free,
            same => same,
        }
    }

    /// Projected Gauss–Seidel on D λ = d, row by row.
    fn solve_sweeps(&mut self, h: f64, sweeps: u32, report: &mut StepReport) {
        let n = self.target.len();
        let s = &mut self.system;
        s.y.fill(0.0);
        // v = M⁻¹ (M v + h F), then each row adds M⁻¹ Aᵀ of its impulse.
        s.inverse_masses();
        s.x.copy_from_slice(&self.momentum);
        s.inverse_mass_times_x();
        let mut worst = 0.0f64;
        for _ in 0..sweeps {
            worst = 0.0;
            for c in 0..n {
                for row in 0..s.island.row_count[c] as usize {
                    let diagonal = s.row_diagonal(c, row) + s.softness[c][row];
                    if diagonal <= 0.0 {
                        continue;
                    }
                    let old = -s.y[6 * c + row];
                    let rate = s.row_times(c, row, &s.x) + s.softness[c][row] * old;
                    let mut new = old + (self.target[c][row] - rate) / diagonal;
                    if let Some(b) = self.bounded.iter().find(|b| b.constraint == c) {
                        new = new.clamp(h * b.low, h * b.high);
                    }
                    worst = worst.max((new - old).abs() * diagonal);
                    s.y[6 * c + row] = -new;
                    s.add_row_kick(c, row, new - old);
                }
            }
        }
        report.iterations = sweeps;
        report.residual = worst;
        report.unfinished = worst > 1e-6;
    }
}

/// The rows at a bound, with the force there.
fn at_bounds<'a>(bounded: &'a [Bounded], active: &'a [Active]) -> impl Iterator<Item = (&'a Bounded, f64)> {
    bounded.iter().zip(active).filter_map(|(b, active)| match active {
        Active::Free => None,
        Active::Low => Some((b, b.low)),
        Active::High => Some((b, b.high)),
    })
}

/// A row at a bound becomes a known force.
fn apply_active_set(s: &mut System, bounded: &[Bounded], active: &[Active], h: f64) {
    for (b, force) in at_bounds(bounded, active) {
        let mut x = std::mem::take(&mut s.x);
        s.add_row_force(b.constraint, 0, h * force, &mut x);
        s.x = x;
        s.y[6 * b.constraint] = 0.0;
        s.softness[b.constraint][0] = 1.0;
        s.island.blocks(b.constraint).for_each(|k| s.jacobian[k] = [0.0; 36]);
    }
}
