//! The cascade: which solver is tried when, until the residual of an island is within its goal.

use std::ops::Range;

use super::delassus::DenseDelassus;
use super::{Residual, Within, dual_newton, gauss_seidel, primal_newton, semismooth_newton};
use crate::contact::problem::{Contact, ContactProblem, IslandProblem};
use crate::contact::response::half_solve::Known;
use crate::contact::response::{NONE, Responder};
use crate::math::Vec3;

/// A solver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Solver {
    /// [`semismooth_newton`], then [`dual_newton`], on the Delassus matrix of half solves alone: no columns M⁻¹Jᵀ are needed.
    NewtonOfRobots,
    /// [`gauss_seidel`] with the sweeps at the beginning, or with those that are left.
    GaussSeidel { first: bool },
    /// [`primal_newton`].
    PrimalNewton,
    /// [`semismooth_newton`], then [`dual_newton`], on the Delassus matrix of columns.
    DualNewton,
}

/// An entry of the cascade.
#[derive(Debug, Clone, Copy)]
struct Attempt {
    solver: Solver,
    /// Tried only if the one before it does not apply.
    instead: bool,
    /// It is enough to reach the tolerance instead of the fine goal.
    coarse: bool,
}

/// In this order.
const CASCADE: [Attempt; 5] = [
    // Islands of robots alone: one step solves what lies or stands still.
    Attempt { solver: Solver::NewtonOfRobots, instead: false, coarse: false },
    // Most islands know their impulses from the step before.
    Attempt { solver: Solver::GaussSeidel { first: true }, instead: false, coarse: false },
    // Hard contacts of bodies by themselves, while the factor of their graph is cheap: towers, arches, heavy on light.
    Attempt { solver: Solver::PrimalNewton, instead: false, coarse: false },
    // All others with few unknowns: joints, soft contacts, spin friction, robots on loose bodies.
    Attempt { solver: Solver::DualNewton, instead: true, coarse: false },
    Attempt { solver: Solver::GaussSeidel { first: false }, instead: false, coarse: true },
];

/// Settings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tuning {
    /// Sweeps before Newton's methods are tried.
    pub(crate) first_sweeps: u32,
    /// Islands of up to so many contacts of bodies by themselves are solved to this part of the tolerance: sweeps that move
    /// little may still be far from the end, and where Newton's method is cheap it has the last word.
    pub(crate) small: usize,
    pub(crate) fine: f64,
    pub(crate) gauss_seidel: gauss_seidel::Tuning,
    pub(crate) primal_newton: primal_newton::Tuning,
    pub(crate) dual_newton: dual_newton::Tuning,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            first_sweeps: 16,
            small: 100,
            fine: 0.01,
            gauss_seidel: gauss_seidel::Tuning::default(),
            primal_newton: primal_newton::Tuning::default(),
            dual_newton: dual_newton::Tuning::default(),
        }
    }
}

/// What the user asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Accuracy {
    /// Part of the fastest change of velocity that the step asks for.
    pub(crate) tolerance: f64,
    pub(crate) most_sweeps: u32,
}

/// When an island is solved \[m/s\].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Goal {
    /// The fastest change of velocity that the island asks for.
    pub(crate) scale: f64,
    /// Residual that counts as solved, and the one that is aimed at.
    pub(crate) tolerance: f64,
    pub(crate) fine: f64,
    pub(crate) most_sweeps: u32,
}

/// How solving ended, the worst of all islands.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SolveReport {
    pub(crate) iterations: u32,
    /// Over the scale of each island.
    pub(crate) residual: f64,
    pub(crate) unfinished: bool,
}

impl SolveReport {
    pub(crate) fn add_worst(&mut self, other: &Self) {
        self.iterations = self.iterations.max(other.iterations);
        self.residual = self.residual.max(other.residual);
        self.unfinished |= other.unfinished;
    }
}

/// Buffers of all solvers.
#[derive(Debug, Default)]
pub(crate) struct Solvers {
    pub(crate) tuning: Tuning,
    gauss_seidel: gauss_seidel::Scratch,
    primal_newton: primal_newton::Scratch,
    dual_newton: dual_newton::Scratch,
    delassus: DenseDelassus,
    /// v_a − v_b of the contacts of the island at hand, and the numbers of its rows.
    pub(super) rates: Vec<Vec3>,
    pub(super) members: Vec<u32>,
}

/// True if nothing but links of robots touches.
pub(super) fn are_links(contacts: &[Contact]) -> bool {
    contacts.iter().all(|c| c.sides.iter().all(Responder::is_link_or_world))
}

/// True if nothing but bodies by themselves touches.
pub(super) fn are_bodies(contacts: &[Contact]) -> bool {
    contacts.iter().all(|c| c.sides.iter().all(Responder::is_body_or_world))
}

/// Both Newton methods on a Delassus matrix that has begun, with `first` as its residual; returns what is left.
pub(super) fn solve_delassus(
    d: &mut DenseDelassus,
    island: &mut IslandProblem,
    x: &mut [f64],
    scratch: &mut dual_newton::Scratch,
    tuning: &dual_newton::Tuning,
    first: f64,
    tolerance: f64,
) -> f64 {
    d.tolerance = tolerance;
    if first <= tolerance {
        return first;
    }
    d.assemble(island, x.len());
    scratch.semismooth.begin();
    let left = if semismooth_newton::solve(d, island, &mut scratch.semismooth, &tuning.semismooth, first) {
        d.residual
    } else {
        dual_newton::solve(d, island, scratch, tuning, first)
    };
    let p = std::mem::take(&mut d.p);
    d.write_back(island, x, &p);
    d.p = p;
    left
}

impl Solvers {
    /// What an island asks for.
    pub(crate) fn goal(&self, problem: &ContactProblem, range: Range<usize>, accuracy: &Accuracy) -> Goal {
        let speeds = problem.info[range.clone()].iter().map(|i| i.speed);
        let scale = speeds.fold(problem.fall_speed(), f64::max).max(1e-12);
        let tolerance = accuracy.tolerance * scale;
        let small = range.len() <= self.tuning.small && are_bodies(&problem.contacts[range]);
        let fine = if small { self.tuning.fine * tolerance } else { tolerance };
        Goal { scale, tolerance, fine, most_sweeps: accuracy.most_sweeps }
    }

    /// Solves one island; `known` is the residual if it is one of robots alone and their Newton methods have been tried.
    pub(crate) fn solve_island(
        &mut self,
        problem: &mut ContactProblem,
        island: usize,
        known: Option<f64>,
        accuracy: &Accuracy,
        report: &mut SolveReport,
    ) {
        let range = problem.islands.range(island);
        let goal = self.goal(problem, range.clone(), accuracy);
        let found = self.solve_range(problem, range, &goal, known);
        let unfinished = found.left > goal.tolerance;
        problem.unsolved[island] = unfinished;
        let (iterations, residual) = (found.iterations, found.left / goal.scale);
        report.add_worst(&SolveReport { iterations, residual, unfinished });
    }

    /// The cascade on the contacts of one island. Returns sweeps and residual.
    pub(crate) fn solve_range(
        &mut self,
        problem: &mut ContactProblem,
        range: Range<usize>,
        goal: &Goal,
        known: Option<f64>,
    ) -> Residual {
        problem.rows_of(range.clone(), &mut self.members);
        let mut found = Residual { iterations: 0, left: known.unwrap_or(f64::INFINITY) };
        let (mut applied, mut columns) = (true, false);
        for attempt in &CASCADE {
            let enough = if attempt.coarse { goal.tolerance } else { goal.fine };
            if found.left <= enough || (attempt.instead && applied) {
                continue;
            }
            let is_robots = attempt.solver == Solver::NewtonOfRobots;
            if !is_robots && !columns {
                problem.know_columns(range.clone());
                columns = true;
            }
            if found.iterations >= goal.most_sweeps {
                continue;
            }
            let left = match attempt.solver {
                Solver::NewtonOfRobots if known.is_some() || !are_links(&problem.contacts[range.clone()]) => {
                    None
                }
                Solver::NewtonOfRobots => {
                    let left = self.residual_now(problem, range.clone());
                    let is_solved = left <= enough;
                    Some(if is_solved {
                        left
                    } else {
                        self.solve_dual(problem, range.clone(), Some(left), enough).unwrap_or(left)
                    })
                }
                Solver::GaussSeidel { first } => {
                    let left = goal.most_sweeps - found.iterations;
                    let most = if first { left.min(self.tuning.first_sweeps) } else { left };
                    let swept = self.sweep(problem, range.clone(), Within { tolerance: enough, most });
                    found.iterations += swept.iterations;
                    Some(swept.left)
                }
                Solver::PrimalNewton => self.solve_primal(problem, range.clone(), found.left, enough),
                Solver::DualNewton => self.solve_dual(problem, range.clone(), None, enough),
            };
            applied = left.is_some();
            found.left = left.unwrap_or(found.left);
        }
        found
    }

    /// The residual of an island and its rows as they are.
    pub(super) fn residual_now(&mut self, problem: &mut ContactProblem, range: Range<usize>) -> f64 {
        if problem.contacts[range.clone()].iter().any(|c| c.spin != NONE) {
            // Angular velocities are read from J.
            problem.know(range.clone(), Known::Jacobian);
        }
        problem.load_rates(range.clone(), &mut self.rates);
        self.delassus.list(&problem.contacts[range.clone()], &self.members);
        let (island, x) = problem.island(range, &self.members);
        self.delassus.begin(&island, x, &self.rates)
    }

    fn sweep(&mut self, problem: &mut ContactProblem, range: Range<usize>, within: Within) -> Residual {
        let (mut island, x) = problem.island(range, &self.members);
        gauss_seidel::solve(&mut island, x, &mut self.gauss_seidel, &self.tuning.gauss_seidel, within)
    }

    fn solve_primal(
        &mut self,
        problem: &mut ContactProblem,
        range: Range<usize>,
        before: f64,
        tolerance: f64,
    ) -> Option<f64> {
        let (mut island, x) = problem.island(range, &self.members);
        let (scratch, tuning) = (&mut self.primal_newton, &self.tuning.primal_newton);
        Some(primal_newton::solve(&mut island, x, scratch, tuning, before, tolerance)?.left)
    }

    /// Both Newton methods on the Delassus matrix, if it is small. `known` is what [`residual_now`](Self::residual_now) found if
    /// nothing has changed since.
    fn solve_dual(
        &mut self,
        problem: &mut ContactProblem,
        range: Range<usize>,
        known: Option<f64>,
        tolerance: f64,
    ) -> Option<f64> {
        if known.is_none() {
            problem.load_rates(range.clone(), &mut self.rates);
            self.delassus.list(&problem.contacts[range.clone()], &self.members);
        }
        let (d, tuning) = (&mut self.delassus, &self.tuning.dual_newton);
        if d.n > tuning.most_unknowns {
            return None;
        }
        problem.know(range.clone(), Known::Delassus);
        let (mut island, x) = problem.island(range.clone(), &self.members);
        let first = known.unwrap_or_else(|| d.begin(&island, x, &self.rates));
        let left = solve_delassus(d, &mut island, x, &mut self.dual_newton, tuning, first, tolerance);
        if !d.changes.is_empty() {
            problem.apply_changes(range, &d.changes, (&self.members, &d.row_changes));
        }
        Some(left)
    }
}
