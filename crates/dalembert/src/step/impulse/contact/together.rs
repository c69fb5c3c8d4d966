//! Islands of contacts, solved side by side.
//!
//! What happens in one island reaches no other, so several threads take them. Each thread works on copies: of an island of
//! bodies by themselves, its contacts and bodies, numbered anew in the same order; of an island of robots, the velocities
//! and rows of its trees, while their contacts lie in one piece anyway. Every island is solved by the same operations in the
//! same order as by itself, and its answers go to places of their own: the bits are the same at any number of threads.
//! Islands that joints take part in are solved one after the other.

use std::ops::Range;

use rayon::prelude::*;

use super::dense::{Dense, MOST};
use super::rows::BoundRow;
use super::sweep::{Contact, Side};
use super::units::Parts;
use super::{ContactWork, Info, NONE};
use crate::math::Vec3;
use crate::model::Model;
use crate::step::StepReport;
use crate::step::impulse::Impulse;

/// Contacts of bodies by themselves that a thread takes at least.
const PIECE: usize = 64;
/// Islands of robots are shared out in at most so many lots, each with velocities of its own.
const LOTS: usize = 16;

/// What is done of an island before its turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Early {
    Nothing,
    /// All.
    Solved,
    /// Newton's method for robots; how far velocities are from what the law allows \[m/s\].
    Links(f64),
}

/// Buffers.
#[derive(Debug, Default)]
pub(super) struct Together {
    early: Vec<Early>,
    heaps: Vec<Heap>,
    lots: Vec<Lot>,
    /// Place of each slot among the bodies of a heap.
    local: Vec<u32>,
}

/// Islands of bodies by themselves, one behind the other.
#[derive(Debug, Default)]
struct Heap {
    islands: Range<usize>,
    /// Slots of its bodies, and the numbers of its spins.
    slots: Vec<u32>,
    spins: Vec<u32>,
    work: Box<ContactWork>,
    report: StepReport,
}

/// Islands of robots.
#[derive(Debug, Default)]
struct Lot {
    tasks: Vec<Task>,
    x: Vec<f64>,
    dense: Dense,
}

/// One of them.
#[derive(Debug)]
struct Task {
    island: usize,
    range: Range<usize>,
    /// Its velocities.
    places: Vec<Range<usize>>,
    /// Its rows and their numbers.
    numbers: Vec<u32>,
    rows: Vec<BoundRow>,
    /// v_a − v_b of its contacts.
    rates: Vec<Vec3>,
    fine: f64,
    left: f64,
    changes: Vec<[Vec3; 2]>,
    row_changes: Vec<f64>,
}

impl Together {
    /// What is done of an island.
    pub(super) fn get(&self, island: usize) -> Early {
        self.early.get(island).copied().unwrap_or(Early::Nothing)
    }
}

fn all_loose(contacts: &[Contact]) -> bool {
    contacts.iter().all(|c| c.sides.iter().all(|s| matches!(s, Side::Loose(_) | Side::World)))
}

fn all_links(contacts: &[Contact]) -> bool {
    let link = |s: &Side| matches!(s, Side::Link(..) | Side::World);
    contacts.iter().all(|c| c.spin == NONE && c.sides.iter().all(link))
}

impl ContactWork {
    /// Solves what threads can share, and notes what is done.
    pub(super) fn solve_together(
        &mut self,
        settings: &Impulse,
        model: &Model,
        h: f64,
        report: &mut StepReport,
    ) {
        self.together.early.clear();
        if rayon::current_num_threads() == 1 || self.islands.len() < 2 || settings.most_sweeps == 0 {
            return;
        }
        let mut together = std::mem::take(&mut self.together);
        together.early.resize(self.islands.len(), Early::Nothing);
        self.solve_heaps(&mut together, settings, model, h, report);
        self.solve_lots(&mut together, settings, model, h);
        self.together = together;
    }

    fn range_of(&self, island: usize) -> Range<usize> {
        self.islands.first[island] as usize..self.islands.first[island + 1] as usize
    }

    /// Islands of bodies by themselves.
    fn solve_heaps(
        &mut self,
        together: &mut Together,
        settings: &Impulse,
        model: &Model,
        h: f64,
        report: &mut StepReport,
    ) {
        let Together { early, heaps, local, .. } = together;
        let mut used = 0;
        let mut open = false;
        for i in 0..self.islands.len() {
            if !all_loose(&self.contacts[self.range_of(i)]) {
                open = false;
                continue;
            }
            if !open {
                if heaps.len() == used {
                    heaps.push(Heap::default());
                }
                heaps[used].islands = i..i;
                used += 1;
            }
            let heap = &mut heaps[used - 1];
            heap.islands.end = i + 1;
            open = self.islands.first[i + 1] as usize - self.range_of(heap.islands.start).start < PIECE;
        }
        if used < 2 {
            return;
        }
        let heaps = &mut heaps[..used];
        heaps.iter_mut().for_each(|heap| self.lend(heap, local));
        heaps.par_iter_mut().for_each(|Heap { islands, work, report, .. }| {
            *report = StepReport::default();
            (0..islands.len()).for_each(|i| work.solve_one(i, None, settings, model, h, report));
        });
        for heap in heaps {
            self.take_back(heap);
            early[heap.islands.clone()].fill(Early::Solved);
            report.iterations = report.iterations.max(heap.report.iterations);
            report.residual = report.residual.max(heap.report.residual);
            report.unfinished |= heap.report.unfinished;
        }
    }

    /// Copies of the contacts and bodies of some islands.
    fn lend(&self, heap: &mut Heap, local: &mut Vec<u32>) {
        let range = self.range_of(heap.islands.start).start..self.range_of(heap.islands.end - 1).end;
        let Heap { islands, slots, spins, work, .. } = heap;
        let contacts = &self.contacts[range.clone()];
        slots.clear();
        for side in contacts.iter().flat_map(|c| &c.sides) {
            if let Side::Loose(at) = side {
                slots.push(at / 6);
            }
        }
        // In their order, which the direct solver goes by.
        slots.sort_unstable();
        slots.dedup();
        local.resize(self.slots(), NONE);
        work.field.x.clear();
        work.field.inverse.clear();
        work.free.clear();
        for (k, &slot) in slots.iter().enumerate() {
            local[slot as usize] = k as u32;
            let own = 6 * slot as usize..6 * slot as usize + 6;
            work.field.x.extend_from_slice(&self.field.x[own.clone()]);
            work.free.extend_from_slice(&self.free[own]);
            work.field.inverse.push(self.field.inverse[slot as usize]);
        }
        spins.clear();
        work.spins.clear();
        work.contacts.clear();
        work.contacts.extend(contacts.iter().map(|c| {
            let mut c = *c;
            for side in &mut c.sides {
                if let Side::Loose(at) = side {
                    *at = 6 * local[*at as usize / 6];
                }
            }
            if c.spin != NONE {
                spins.push(c.spin);
                work.spins.push(self.spins[c.spin as usize]);
                c.spin = spins.len() as u32 - 1;
            }
            c
        }));
        work.info.clear();
        work.info.extend(self.info[range.clone()].iter().map(|i| Info { nodes: [NONE; 2], ..*i }));
        work.islands.first.clear();
        let first = &self.islands.first[islands.start..=islands.end];
        work.islands.first.extend(first.iter().map(|k| k - range.start as u32));
        work.unsolved.clear();
        work.unsolved.resize(islands.len(), false);
    }

    /// Impulses and velocities of a heap.
    fn take_back(&mut self, heap: &Heap) {
        let Heap { islands, slots, spins, work, .. } = heap;
        let first = self.range_of(islands.start).start;
        let contacts = &mut self.contacts[first..first + work.contacts.len()];
        for (c, new) in contacts.iter_mut().zip(&work.contacts) {
            (c.impulse, c.inverse) = (new.impulse, new.inverse);
        }
        for (k, new) in spins.iter().zip(&work.spins) {
            self.spins[*k as usize].impulse = new.impulse;
        }
        for (slot, new) in slots.iter().zip(work.field.x.as_chunks::<6>().0) {
            self.field.x[6 * *slot as usize..6 * *slot as usize + 6].copy_from_slice(new);
        }
        self.unsolved[islands.clone()].copy_from_slice(&work.unsolved);
    }

    /// Islands of robots that know their impulses badly.
    fn solve_lots(&mut self, together: &mut Together, settings: &Impulse, model: &Model, h: f64) {
        let Together { early, lots, .. } = together;
        let mut tasks = Vec::new();
        for i in 0..self.islands.len() {
            let range = self.range_of(i);
            if range.is_empty() || early[i] != Early::Nothing || !all_links(&self.contacts[range.clone()]) {
                continue;
            }
            let (_, fine) = self.goal(range.clone(), settings, model, h);
            self.rows_of(range.clone());
            let left = self.unrest_now(range.clone(), model);
            early[i] = Early::Links(left);
            if left > fine && 3 * range.len() + self.rows_at_hand.len() <= MOST {
                self.know_blocks(range.clone(), model);
                tasks.push(self.task(i, range, fine, left));
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
            lot.x.resize(self.field.x.len(), 0.0);
            for place in lot.tasks.iter().flat_map(|t| &t.places) {
                lot.x[place.clone()].copy_from_slice(&self.field.x[place.clone()]);
            }
        }
        // The contacts of each lot, from the first of its islands to the last.
        let mut rest = &mut self.contacts[..];
        let mut at = 0;
        let mut pieces = Vec::with_capacity(count);
        for lot in lots.iter_mut() {
            let (Some(first), Some(last)) = (lot.tasks.first(), lot.tasks.last()) else { continue };
            let (from, to) = (first.range.start, last.range.end);
            let (piece, behind) = std::mem::take(&mut rest).split_at_mut(to - at);
            pieces.push((lot, from, &mut piece[from - at..]));
            (rest, at) = (behind, to);
        }
        let field = &self.field;
        pieces.into_par_iter().for_each(|(lot, from, contacts)| {
            let Lot { tasks, x, dense } = lot;
            for task in tasks {
                let contacts = &mut contacts[task.range.start - from..task.range.end - from];
                let rows: Vec<u32> = (0..task.rows.len() as u32).collect();
                dense.list(contacts, &rows);
                let mut parts = Parts { field, contacts, spins: &mut [], rows: &mut task.rows };
                dense.begin(&parts, x, &task.rates);
                task.left = dense.search(&mut parts, x, task.left, task.fine);
                task.changes.clone_from(&dense.changes);
                task.row_changes.clone_from(&dense.row_changes);
            }
        });
        let mut x = std::mem::take(&mut self.field.x);
        for lot in lots.iter() {
            for task in &lot.tasks {
                for place in &task.places {
                    x[place.clone()].copy_from_slice(&lot.x[place.clone()]);
                }
                for (k, row) in task.numbers.iter().zip(&task.rows) {
                    self.bound_rows[*k as usize] = *row;
                }
                if !task.changes.is_empty() {
                    self.add_changes(
                        task.range.clone(),
                        model,
                        &task.changes,
                        &task.numbers,
                        &task.row_changes,
                        &mut x,
                    );
                }
                early[task.island] = Early::Links(task.left);
            }
        }
        self.field.x = x;
    }

    /// What solving an island of robots needs, with the rows at hand.
    fn task(&self, island: usize, range: Range<usize>, fine: f64, left: f64) -> Task {
        let mut places = Vec::new();
        for side in self.contacts[range.clone()].iter().flat_map(|c| &c.sides) {
            if let Side::Link(_, columns) = side {
                let first = columns.first as usize;
                places.push(first..first + columns.len as usize);
            }
        }
        places.sort_unstable_by_key(|p| p.start);
        places.dedup();
        let numbers = self.rows_at_hand.clone();
        let rows = numbers.iter().map(|k| self.bound_rows[*k as usize]).collect();
        let rates = self.change.clone();
        let (changes, row_changes) = (Vec::new(), Vec::new());
        Task { island, range, places, numbers, rows, rates, fine, left, changes, row_changes }
    }
}
