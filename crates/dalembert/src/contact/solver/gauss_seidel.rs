//! Nonsmooth Gauss–Seidel (Moreau 1988; Jean 1999): contacts are solved in turn until their velocities stay.
//!
//! Sweeps go there and back by turns, and after a few of them such pairs are accelerated ([`Anderson`]).
//! Bounded rows of robots are solved behind the contacts, without acceleration.

use super::{Residual, Within};
use crate::contact::problem::{Contact, IslandProblem};
use crate::contact::response::NONE;
use crate::math::Vec3;
use crate::solve::anderson::Anderson;

/// Settings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tuning {
    /// Sweeps before acceleration begins: most islands know their impulses from the step before.
    pub(crate) plain_sweeps: u32,
    /// Sweeps that move velocities by this multiple of the least that was seen diverge: they end before the way back to the
    /// best ones costs digits.
    pub(crate) diverged: f64,
    /// Pairs of sweeps that acceleration combines.
    pub(crate) memory: usize,
}

impl Default for Tuning {
    fn default() -> Self {
        Self { plain_sweeps: 6, diverged: 1e4, memory: 8 }
    }
}

/// Buffers.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    anderson: Anderson,
    /// Impulses before and after a pair of sweeps, and what acceleration adds.
    from: Vec<f64>,
    result: Vec<f64>,
    change: Vec<f64>,
    /// Impulses and angular impulses of the best sweep so far.
    best: Vec<[Vec3; 2]>,
}

/// Solves an island: until a sweep moves no relative velocity by more than the tolerance, which is the residual.
pub(crate) fn solve(
    island: &mut IslandProblem,
    x: &mut [f64],
    scratch: &mut Scratch,
    tuning: &Tuning,
    within: Within,
) -> Residual {
    if island.members.is_empty() {
        sweep_contacts(island, x, scratch, tuning, within)
    } else {
        sweep_all(island, x, within)
    }
}

/// Contact k and its spin friction; how far a relative velocity was moved \[m/s\].
fn solve_contact(island: &mut IslandProblem, x: &mut [f64], k: usize) -> f64 {
    let c = &mut island.contacts[k];
    let moved = c.solve(island.responses, x);
    if c.spin == NONE {
        return moved;
    }
    let turned = island.spins[c.spin as usize].solve(c, island.responses, x);
    moved.max(turned * c.arms[0].norm())
}

fn sweep(island: &mut IslandProblem, x: &mut [f64], back: bool) -> f64 {
    let n = island.contacts.len();
    (0..n).fold(0.0, |moved: f64, k| moved.max(solve_contact(island, x, if back { n - 1 - k } else { k })))
}

fn sweep_all(island: &mut IslandProblem, x: &mut [f64], within: Within) -> Residual {
    let (mut sweeps, mut moved) = (0, f64::INFINITY);
    while moved > within.tolerance && sweeps < within.most {
        moved = sweep(island, x, false);
        for &k in island.members {
            let row = &mut island.rows[k as usize];
            let new = row.impulse_for(row.off(row.rate(island.responses, x)), row.impulse);
            let change = new - row.impulse;
            row.impulse += change;
            row.apply(island.responses, x, change);
            moved = moved.max((row.W * change).abs());
        }
        sweeps += 1;
    }
    Residual { iterations: sweeps, left: moved }
}

fn sweep_contacts(
    island: &mut IslandProblem,
    x: &mut [f64],
    scratch: &mut Scratch,
    tuning: &Tuning,
    within: Within,
) -> Residual {
    let Scratch { anderson, from, result, change, best } = scratch;
    let (mut sweeps, mut moved) = (0, f64::INFINITY);
    let mut least = moved;
    while moved > within.tolerance && sweeps < within.most.min(tuning.plain_sweeps) {
        moved = sweep(island, x, sweeps % 2 == 1);
        sweeps += 1;
        if !(moved <= tuning.diverged * least) {
            // Back to nothing, from where others may try.
            set_impulses(island, x, |_| [Vec3::zeros(); 2]);
            break;
        }
        least = least.min(moved);
    }
    least = moved;
    if moved > within.tolerance {
        anderson.begin(3 * island.contacts.len(), tuning.memory);
        keep(island, best);
    }
    while moved > within.tolerance && sweeps < within.most {
        impulses(island, from);
        moved = sweep(island, x, false);
        moved = moved.max(sweep(island, x, true));
        sweeps += 2;
        if moved < least {
            least = moved;
            keep(island, best);
        }
        if !(moved <= tuning.diverged * least) {
            break;
        }
        if moved <= within.tolerance || sweeps + 2 >= within.most {
            continue;
        }
        impulses(island, result);
        // Moves are measured as energy, so that heavy and light bodies weigh alike.
        let weight = |i: usize| island.contacts[i / 3].W.trace();
        if anderson.accelerate(from, result, weight, change) {
            for (c, d) in island.contacts.iter_mut().zip(change.as_chunks::<3>().0) {
                let d = Vec3::from(*d);
                c.impulse += d;
                c.apply(island.responses, x, &d);
            }
        }
    }
    if least < moved {
        set_impulses(island, x, |k| best[k]);
        moved = least;
    }
    Residual { iterations: sweeps, left: moved }
}

/// All impulses as numbers.
fn impulses(island: &IslandProblem, out: &mut Vec<f64>) {
    out.clear();
    out.extend(island.contacts.iter().flat_map(|c| <[f64; 3]>::from(c.impulse)));
}

/// Keeps all impulses and angular impulses.
fn keep(island: &IslandProblem, best: &mut Vec<[Vec3; 2]>) {
    let turn =
        |c: &Contact| if c.spin == NONE { Vec3::zeros() } else { island.spins[c.spin as usize].impulse };
    best.clear();
    best.extend(island.contacts.iter().map(|c| [c.impulse, turn(c)]));
}

/// Impulses and angular impulses take new values, and velocities go with them.
fn set_impulses(island: &mut IslandProblem, x: &mut [f64], new: impl Fn(usize) -> [Vec3; 2]) {
    for (k, c) in island.contacts.iter_mut().enumerate() {
        let [p, s] = new(k);
        c.apply(island.responses, x, &(p - c.impulse));
        c.impulse = p;
        if c.spin != NONE {
            let spin = &mut island.spins[c.spin as usize];
            c.apply_angular(island.responses, x, &(s - spin.impulse));
            spin.impulse = s;
        }
    }
}
