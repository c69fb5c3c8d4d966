//! Split impulses (position correction): overlaps are taken away by velocities that live for the drift of one step only, so that
//! no energy comes from it (Guendelman, Bridson and Fedkiw 2003).

use std::ops::Range;

use super::problem::{Contact, ContactProblem};
use super::response::Responder;
use super::response::half_solve::Known;
use crate::math::Vec3;

/// Settings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tuning {
    /// Share of an overlap that is taken away per step.
    pub(crate) share: f64,
    /// Overlaps below this part of the smallest shape are left.
    pub(crate) slop: f64,
    /// Nothing is corrected unless some overlap is beyond that by this part of it.
    pub(crate) deep: f64,
    /// Sweeps, and for links the change of a velocity beside the fastest at which they end.
    pub(crate) sweeps: u32,
    pub(crate) converged: f64,
    /// Points that give way by less than this part of the most yielding one of their island cannot be separated.
    pub(crate) yields: f64,
}

impl Default for Tuning {
    fn default() -> Self {
        Self { share: 0.2, slop: 1e-5, deep: 0.01, sweeps: 40, converged: 1e-3, yields: 1e-9 }
    }
}

/// Position-only velocities of everything, and buffers.
#[derive(Debug, Default)]
pub(crate) struct SplitImpulse {
    tuning: Tuning,
    /// Velocities for the drift of this step.
    pub(crate) x: Vec<f64>,
    /// Normal rate that each contact of an island asks for; −∞ for none.
    targets: Vec<f64>,
    impulses: Vec<f64>,
    /// nᵀW n of the contacts of an island of links, and their rates.
    W: Vec<f64>,
    rates: Vec<f64>,
    changes: Vec<[Vec3; 2]>,
}

/// The part of these rates that is nowhere faster than `most`.
fn part_within(most: f64, rates: impl Iterator<Item = f64>) -> f64 {
    let fastest = rates.fold(0.0, f64::max);
    if fastest > most { most / fastest } else { 1.0 }
}

impl SplitImpulse {
    /// Finds the velocities; no point is separated faster than `push_speed`.
    pub(crate) fn solve(&mut self, problem: &mut ContactProblem, push_speed: f64) {
        self.x.clear();
        self.x.resize(problem.x.len(), 0.0);
        problem.robots.load_velocities(&problem.x);
        for i in 0..problem.islands.len() {
            let range = problem.islands.range(i);
            if !self.find_targets(problem, range.clone(), push_speed) {
                continue;
            }
            self.impulses.clear();
            self.impulses.resize(range.len(), 0.0);
            let link = |c: &Contact| c.sides.iter().all(Responder::is_link_or_world);
            if problem.contacts[range.clone()].iter().all(link) {
                self.solve_links(problem, range, push_speed);
            } else {
                self.solve_bodies(problem, range, push_speed);
            }
        }
        // A robot without room would be folded far to correct a little of it: no dof goes faster either.
        for coupled in &problem.coupled[problem.joint_islands()..] {
            let own = &mut self.x[coupled.velocities()];
            let part = part_within(push_speed, own.iter().map(|v| v.abs()));
            if part < 1.0 {
                own.iter_mut().for_each(|v| *v *= part);
            }
        }
    }

    /// What the contacts of an island ask for, from what the drift leaves of each gap; false if no overlap is deep.
    fn find_targets(&mut self, problem: &ContactProblem, range: Range<usize>, push_speed: f64) -> bool {
        let (h, t) = (problem.h, &self.tuning);
        let slop = t.slop * problem.length;
        self.targets.clear();
        let mut deep = false;
        for k in range {
            let (c, info) = (&problem.contacts[k], &problem.info[k]);
            let gap = info.gap + h * c.normal.dot(&problem.rate_of(&problem.x, k));
            // An overlap that this step makes is corrected from the next one on: its impulses count on the drift alone.
            let overlap = -gap.max(info.gap) - slop;
            self.targets.push(if info.soft || info.impact >= 0.0 {
                f64::NEG_INFINITY
            } else if overlap > 0.0 {
                deep |= overlap > t.deep * slop;
                (t.share * overlap / h).min(push_speed)
            } else {
                // What is apart may come closer, but not into each other.
                -(gap + slop).max(0.0) / h
            });
        }
        deep
    }

    /// Projected Gauss–Seidel on the normal rows of an island.
    fn solve_bodies(&mut self, problem: &ContactProblem, range: Range<usize>, push_speed: f64) {
        let Self { tuning, x, targets, impulses, .. } = self;
        let (contacts, responses) = (&problem.contacts[range], &problem.responses);
        let least = tuning.yields * contacts.iter().map(Contact::normal_response).fold(0.0, f64::max);
        for _ in 0..tuning.sweeps {
            for ((c, target), impulse) in contacts.iter().zip(&*targets).zip(&mut *impulses) {
                let own = c.normal_response();
                if *target == f64::NEG_INFINITY || own <= least {
                    continue;
                }
                let now = c.normal.dot(&c.relative_velocity(responses, x));
                let new = (*impulse + (target - now) / own).max(0.0);
                let change = new - *impulse;
                if change != 0.0 {
                    *impulse = new;
                    c.apply(responses, x, &(change * c.normal));
                }
            }
        }
        // Where there is no room for all of them, some would be thrown far to separate others.
        let speeds = contacts.iter().map(|c| c.normal.dot(&c.relative_velocity(responses, x)));
        let less = part_within(push_speed, speeds) - 1.0;
        if less < 0.0 {
            for (c, p) in contacts.iter().zip(&*impulses).filter(|(_, p)| **p != 0.0) {
                c.apply(responses, x, &(less * *p * c.normal));
            }
        }
    }

    /// The same sweeps for an island of links in the space of the contacts, with $N_{ij} = n_i\cdot W_{ij} n_j$, until they change
    /// nothing that counts.
    fn solve_links(&mut self, problem: &mut ContactProblem, range: Range<usize>, push_speed: f64) {
        problem.know(range.clone(), Known::Delassus);
        let Self { tuning, targets, impulses, W: N, rates, changes, .. } = self;
        let (contacts, m) = (&problem.contacts[range.clone()], impulses.len());
        N.clear();
        N.resize(m * m, 0.0);
        rates.clear();
        rates.resize(m, 0.0);
        for (i, a) in contacts.iter().enumerate() {
            N[i * m + i] = a.normal_response();
            for (j, b) in contacts[..i].iter().enumerate() {
                let w = a.normal.dot(&(a.response_to(&problem.responses, b) * b.normal));
                (N[i * m + j], N[j * m + i]) = (w, w);
            }
        }
        let fastest = targets.iter().fold(0.0f64, |most, r| most.max(*r));
        let least = tuning.yields * (0..m).map(|k| N[k * m + k]).fold(0.0, f64::max);
        for _ in 0..tuning.sweeps {
            let mut moved = 0.0f64;
            let active = |k: &usize| targets[*k] != f64::NEG_INFINITY && N[k * m + k] > least;
            for k in (0..m).filter(active) {
                let own = N[k * m + k];
                let new = (impulses[k] + (targets[k] - rates[k]) / own).max(0.0);
                let change = new - impulses[k];
                if change != 0.0 {
                    impulses[k] = new;
                    rates.iter_mut().zip(&N[k * m..(k + 1) * m]).for_each(|(r, n)| *r += change * n);
                    moved = moved.max(own * change.abs());
                }
            }
            if moved <= tuning.converged * fastest {
                break;
            }
        }
        let part = part_within(push_speed, rates.iter().copied());
        impulses.iter_mut().for_each(|p| *p *= part);
        changes.clear();
        let both = contacts.iter().zip(&*impulses);
        changes.extend(both.map(|(c, p)| [*p * c.normal, Vec3::zeros()]));
        problem.apply_changes_to(range, changes, (&[], &[]), &mut self.x);
    }
}
