//! Parallel islands: what happens in one island reaches no other, so several threads take them.
//!
//! Each thread works on copies: of islands of bodies by themselves, their contacts and bodies, numbered anew in the same order;
//! of islands of robots, the velocities and rows of their trees, while their contacts lie in one piece anyway. Every island is
//! solved by the same operations in the same order as by itself, and its impulses go to places of their own: the bits are the
//! same at any number of threads. Islands that joints take part in are solved one after the other.

use std::ops::Range;

use rayon::prelude::*;

use super::cascade::{Accuracy, SolveReport, Solvers, are_bodies, are_links, solve_delassus};
use super::delassus::DenseDelassus;
use super::dual_newton;
use crate::contact::problem::{ContactInfo, ContactProblem, IslandProblem};
use crate::contact::response::bounded_row::BoundedRow;
use crate::contact::response::half_solve::Known;
use crate::contact::response::{NONE, Responder};
use crate::math::Vec3;

/// Contacts of bodies by themselves that a thread takes at least.
const PIECE: usize = 64;
/// Islands of robots are shared out in at most so many lots, each with velocities of its own.
const LOTS: usize = 16;

/// What is done of an island before its turn.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Done {
    Nothing,
    /// All.
    Solved,
    /// The Newton methods for robots, with this residual \[m/s\].
    Robots(f64),
}

/// Buffers.
#[derive(Debug, Default)]
pub(crate) struct Parallel {
    done: Vec<Done>,
    copies: Vec<Copies>,
    lots: Vec<Lot>,
    /// Place of each slot among the bodies of a copy.
    local: Vec<u32>,
}

/// Copies of islands of bodies by themselves, one behind the other.
#[derive(Debug, Default)]
struct Copies {
    islands: Range<usize>,
    /// Slots of its bodies, and the numbers of its spins.
    slots: Vec<u32>,
    spins: Vec<u32>,
    problem: Box<ContactProblem>,
    solvers: Box<Solvers>,
    report: SolveReport,
}

/// Islands of robots.
#[derive(Debug, Default)]
struct Lot {
    tasks: Vec<Task>,
    x: Vec<f64>,
    delassus: DenseDelassus,
    scratch: dual_newton::Scratch,
}

/// One of them.
#[derive(Debug)]
struct Task {
    island: usize,
    range: Range<usize>,
    /// Its velocities.
    places: Vec<Range<usize>>,
    /// Its rows and their numbers, and numbers among themselves.
    members: Vec<u32>,
    rows: Vec<BoundedRow>,
    own: Vec<u32>,
    /// v_a − v_b of its contacts.
    rates: Vec<Vec3>,
    fine: f64,
    left: f64,
    changes: Vec<[Vec3; 2]>,
    row_changes: Vec<f64>,
}

impl Parallel {
    /// Solves all islands, those that threads can share first.
    pub(crate) fn solve_islands(
        &mut self,
        problem: &mut ContactProblem,
        solvers: &mut Solvers,
        accuracy: &Accuracy,
        report: &mut SolveReport,
    ) {
        let count = problem.islands.len();
        problem.unsolved.clear();
        problem.unsolved.resize(count, false);
        self.done.clear();
        self.done.resize(count, Done::Nothing);
        if rayon::current_num_threads() > 1 && count > 1 && accuracy.most_sweeps > 0 {
            self.solve_bodies(problem, accuracy, report);
            self.solve_robots(problem, solvers, accuracy);
        }
        for i in 0..count {
            match self.done[i] {
                Done::Solved => {}
                Done::Robots(left) => solvers.solve_island(problem, i, Some(left), accuracy, report),
                Done::Nothing => solvers.solve_island(problem, i, None, accuracy, report),
            }
        }
    }

    /// Islands of bodies by themselves.
    fn solve_bodies(&mut self, problem: &mut ContactProblem, accuracy: &Accuracy, report: &mut SolveReport) {
        let Self { done, copies, local, .. } = self;
        let (mut used, mut open) = (0, false);
        for i in 0..problem.islands.len() {
            if !are_bodies(&problem.contacts[problem.islands.range(i)]) {
                open = false;
                continue;
            }
            if !open {
                if copies.len() == used {
                    copies.push(Copies::default());
                }
                copies[used].islands = i..i;
                used += 1;
            }
            let own = &mut copies[used - 1];
            own.islands.end = i + 1;
            let first = problem.islands.range(own.islands.start).start;
            open = problem.islands.range(i).end - first < PIECE;
        }
        if used < 2 {
            return;
        }
        let copies = &mut copies[..used];
        copies.iter_mut().for_each(|own| own.copy(problem, local));
        copies.par_iter_mut().for_each(|Copies { islands, problem, solvers, report, .. }| {
            *report = SolveReport::default();
            (0..islands.len()).for_each(|i| solvers.solve_island(problem, i, None, accuracy, report));
        });
        for own in copies {
            own.copy_back(problem);
            done[own.islands.clone()].fill(Done::Solved);
            report.add_worst(&own.report);
        }
    }

    /// Islands of robots whose impulses of the step before do not hold.
    fn solve_robots(&mut self, problem: &mut ContactProblem, solvers: &mut Solvers, accuracy: &Accuracy) {
        let Self { done, lots, .. } = self;
        let mut tasks = Vec::new();
        for i in 0..problem.islands.len() {
            let range = problem.islands.range(i);
            let contacts = &problem.contacts[range.clone()];
            let robots = are_links(contacts) && contacts.iter().all(|c| c.spin == NONE);
            if range.is_empty() || done[i] != Done::Nothing || !robots {
                continue;
            }
            let fine = solvers.goal(problem, range.clone(), accuracy).fine;
            problem.rows_of(range.clone(), &mut solvers.members);
            let left = solvers.residual_now(problem, range.clone());
            done[i] = Done::Robots(left);
            let unknowns = 3 * range.len() + solvers.members.len();
            if left > fine && unknowns <= solvers.tuning.dual_newton.most_unknowns {
                problem.know(range.clone(), Known::Delassus);
                tasks.push(Task::new(problem, solvers, i, range, fine, left));
            }
        }
        if tasks.is_empty() {
            return;
        }
        let each = tasks.len().div_ceil(LOTS);
        let count = tasks.len().div_ceil(each);
        lots.resize_with(count.max(lots.len()), Lot::default);
        let lots = &mut lots[..count];
        let mut tasks = tasks.into_iter();
        for lot in lots.iter_mut() {
            lot.tasks.clear();
            lot.tasks.extend(tasks.by_ref().take(each));
            lot.x.resize(problem.x.len(), 0.0);
            for place in lot.tasks.iter().flat_map(|t| &t.places) {
                lot.x[place.clone()].copy_from_slice(&problem.x[place.clone()]);
            }
        }
        // The contacts of each lot, from the first of its islands to the last.
        let ContactProblem { responses, free, contacts, .. } = &mut *problem;
        let (mut rest, mut at) = (&mut contacts[..], 0);
        let mut pieces = Vec::with_capacity(count);
        for lot in lots.iter_mut() {
            let (Some(first), Some(last)) = (lot.tasks.first(), lot.tasks.last()) else { continue };
            let (from, to) = (first.range.start, last.range.end);
            let (piece, behind) = std::mem::take(&mut rest).split_at_mut(to - at);
            pieces.push((lot, from, &mut piece[from - at..]));
            (rest, at) = (behind, to);
        }
        let tuning = &solvers.tuning.dual_newton;
        pieces.into_par_iter().for_each(|(Lot { tasks, x, delassus, scratch }, from, contacts)| {
            for task in tasks {
                let contacts = &mut contacts[task.range.start - from..task.range.end - from];
                delassus.list(contacts, &task.own);
                let (rows, members) = (&mut task.rows[..], &task.own[..]);
                let mut island = IslandProblem { responses, free, contacts, spins: &mut [], rows, members };
                delassus.begin(&island, x, &task.rates);
                task.left = solve_delassus(delassus, &mut island, x, scratch, tuning, task.left, task.fine);
                task.changes.clone_from(&delassus.changes);
                task.row_changes.clone_from(&delassus.row_changes);
            }
        });
        for lot in lots.iter() {
            for task in &lot.tasks {
                for place in &task.places {
                    problem.x[place.clone()].copy_from_slice(&lot.x[place.clone()]);
                }
                for (k, row) in task.members.iter().zip(&task.rows) {
                    problem.rows[*k as usize] = *row;
                }
                if !task.changes.is_empty() {
                    let rows = (&task.members[..], &task.row_changes[..]);
                    problem.apply_changes(task.range.clone(), &task.changes, rows);
                }
                done[task.island] = Done::Robots(task.left);
            }
        }
    }
}

impl Copies {
    /// Copies the contacts and bodies of its islands.
    fn copy(&mut self, from: &ContactProblem, local: &mut Vec<u32>) {
        let Self { islands, slots, spins, problem, .. } = self;
        let range = from.islands.range(islands.start).start..from.islands.range(islands.end - 1).end;
        let contacts = &from.contacts[range.clone()];
        slots.clear();
        for side in contacts.iter().flat_map(|c| &c.sides) {
            if let Responder::Body(at) = side {
                slots.push(at / 6);
            }
        }
        // In their order, which the primal Newton method goes by.
        slots.sort_unstable();
        slots.dedup();
        local.resize(from.slots(), NONE);
        (problem.h, problem.gravity, problem.length) = (from.h, from.gravity, from.length);
        problem.x.clear();
        problem.responses.inverse.clear();
        problem.free.clear();
        for (k, &slot) in slots.iter().enumerate() {
            local[slot as usize] = k as u32;
            let own = 6 * slot as usize..6 * slot as usize + 6;
            problem.x.extend_from_slice(&from.x[own.clone()]);
            problem.free.extend_from_slice(&from.free[own]);
            problem.responses.inverse.push(from.responses.inverse[slot as usize]);
        }
        spins.clear();
        problem.spins.clear();
        problem.contacts.clear();
        problem.contacts.extend(contacts.iter().map(|c| {
            let mut c = *c;
            for side in &mut c.sides {
                if let Responder::Body(at) = side {
                    *at = 6 * local[*at as usize / 6];
                }
            }
            if c.spin != NONE {
                spins.push(c.spin);
                problem.spins.push(from.spins[c.spin as usize]);
                c.spin = spins.len() as u32 - 1;
            }
            c
        }));
        problem.info.clear();
        let alone = |i: &ContactInfo| ContactInfo { nodes: [NONE; 2], ..*i };
        problem.info.extend(from.info[range.clone()].iter().map(alone));
        problem.islands.first.clear();
        let first = &from.islands.first[islands.start..=islands.end];
        problem.islands.first.extend(first.iter().map(|k| k - range.start as u32));
        problem.unsolved.clear();
        problem.unsolved.resize(islands.len(), false);
    }

    /// Puts impulses and velocities back.
    fn copy_back(&self, to: &mut ContactProblem) {
        let Self { islands, slots, spins, problem, .. } = self;
        let first = to.islands.range(islands.start).start;
        let contacts = &mut to.contacts[first..first + problem.contacts.len()];
        for (c, new) in contacts.iter_mut().zip(&problem.contacts) {
            (c.impulse, c.inverse) = (new.impulse, new.inverse);
        }
        for (k, new) in spins.iter().zip(&problem.spins) {
            to.spins[*k as usize].impulse = new.impulse;
        }
        for (slot, new) in slots.iter().zip(problem.x.as_chunks::<6>().0) {
            to.x[6 * *slot as usize..6 * *slot as usize + 6].copy_from_slice(new);
        }
        to.unsolved[islands.clone()].copy_from_slice(&problem.unsolved);
    }
}

impl Task {
    /// What solving an island of robots needs, with the rates and rows that the solvers have at hand.
    fn new(
        problem: &ContactProblem,
        solvers: &Solvers,
        island: usize,
        range: Range<usize>,
        fine: f64,
        left: f64,
    ) -> Self {
        let mut places = Vec::new();
        for side in problem.contacts[range.clone()].iter().flat_map(|c| &c.sides) {
            if let Responder::Link(_, columns) = side {
                let first = columns.first as usize;
                places.push(first..first + columns.len as usize);
            }
        }
        places.sort_unstable_by_key(|p| p.start);
        places.dedup();
        let members = solvers.members.clone();
        let rows = members.iter().map(|k| problem.rows[*k as usize]).collect();
        let own = (0..members.len() as u32).collect();
        let (rates, changes, row_changes) = (solvers.rates.clone(), Vec::new(), Vec::new());
        Self { island, range, places, members, rows, own, rates, fine, left, changes, row_changes }
    }
}
