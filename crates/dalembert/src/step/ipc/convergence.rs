//! When a group has converged: its Newton step is short beside the tolerance and what the time step changes, and it has kept its
//! momentum.
//!
//! A step below a part of the tolerance need not be taken. It was found with a Hessian $\tilde H$ that may be of an earlier
//! iterate, and Newton's own step is $H^{-1}g = (1 - R)^{-1}\tilde H^{-1}g$ with $R = 1 - \tilde H^{-1}H$, by which steps fall. So
//! where they fall by $r \le 1 - $ `short`, that is below the tolerance too: $|H^{-1}g| \le |\tilde H^{-1}g|/(1 - r)$.

use super::Ipc;
use super::body_system::SHORTER_AND_SAFE;
use super::islands::NONE;
use super::steps::{Outcome, Taken};
use super::velocity_change::FINE;
use super::work::{IpcWork, System};
use crate::model::Model;
use crate::state::State;
use crate::step::StepReport;

/// What is short, and what converges.
struct Tuning {
    /// A step of nodes below this part of the tolerance is not taken (see the head of this file).
    short: f64,
    /// Where friction acts the tolerance falls with the speed of the fastest point over this one \[m/s\], down to this part of the
    /// speed below which friction is smoothed: what sticks creeps slower than that and must be resolved.
    unit_speed: f64,
    friction_part: f64,
    /// Part of its change of velocity by which a group may miss the momentum that given forces leave it.
    kept_momentum: f64,
    /// Forces keep their Hessian where whole steps fall by this factor and the next one is below so many tolerances,
    converging: f64,
    kept: f64,
    /// or while no edge turns or stretches by more than this in a step, and steps fall by that factor.
    steady: f64,
    falling: f64,
}

const TUNING: Tuning = Tuning {
    short: 0.4,
    unit_speed: 1.0,
    friction_part: 0.1,
    kept_momentum: 1e-10,
    converging: 0.4,
    kept: 20.0,
    steady: 0.1,
    falling: 0.5,
};

impl IpcWork {
    /// How fast the farthest point of each group would move \[m/s\].
    pub(super) fn speeds(&self, model: &Model, h: f64) -> Vec<f64> {
        let mut out = vec![0.0f64; self.islands.groups];
        let reach = |i: usize| model.ipc.as_ref().map_or(1.0, |ipc| ipc.reach[i]);
        for (i, d) in self.delta.chunks_exact(3).enumerate() {
            let group = self.islands.group(i);
            if group != NONE {
                let far = reach(i) * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
                let out = &mut out[group as usize];
                *out = out.max(far / h);
            }
        }
        out
    }

    /// Where it is known what a step leaves, and all of it was taken, that counts in place of the step.
    pub(super) fn take_remainders(&self, found_by: System, speeds: &mut [f64]) {
        if matches!(found_by, System::Bodies | System::LoneBodies) {
            let remainders = self.body_system.remainders().zip(&self.steps.part);
            for (speed, (remainder, part)) in speeds.iter_mut().zip(remainders) {
                *speed *= if *part >= 1.0 { remainder } else { 1.0 };
            }
        }
    }

    /// The tolerance of each group without friction, at q \[m/s\]: see `velocity_change`.
    fn limits(&self, settings: &Ipc, model: &Model) -> Vec<f64> {
        let Self { islands, potential, change, q, .. } = self;
        if potential.inertia == 0.0 {
            return vec![settings.tolerance; islands.groups];
        }
        let of = |[change, noise]: [f64; 2]| settings.tolerance.min(f64::max(FINE * change, noise));
        change.of_groups(model, islands, potential, q).into_iter().map(of).collect()
    }

    /// True for each group that keeps its momentum if it goes the given part of its step.
    fn keeps_momentum(&self, model: &Model, part: impl Fn(usize) -> f64) -> Vec<bool> {
        let Self { islands, potential, change, momentum, q, .. } = self;
        if momentum.lack.iter().enumerate().all(|(g, lack)| (1.0 - part(g)) * lack == 0.0) {
            return vec![true; islands.groups];
        }
        let of = |(g, [change, noise]): (usize, [f64; 2])| {
            (1.0 - part(g)) * momentum.lack[g] <= f64::max(TUNING.kept_momentum * change, noise)
        };
        change.of_groups(model, islands, potential, q).into_iter().enumerate().map(of).collect()
    }

    /// True for each group that forces from outside act on and whose step is not short beside what these would do alone.
    fn pushed(&self, speeds: &[f64]) -> Vec<bool> {
        let given = self.change.given_of_groups(&self.islands);
        speeds.iter().zip(given).map(|(v, given)| given > 0.0 && *v > FINE * given).collect()
    }

    /// Notes what wants to move in the first step.
    pub(super) fn note_wishes(&mut self, speeds: &[f64]) {
        let pushed = self.pushed(speeds);
        let groups = &self.islands.group_of_unit;
        self.change.wants.extend(groups.iter().map(|&g| pushed[g as usize]));
    }

    /// True if something that wanted to move has not moved by a bit.
    pub(super) fn stands_still(&self, state: &State) -> bool {
        let mut still = self.change.wants.clone();
        for (i, &u) in self.islands.unit_of_block.iter().enumerate().take(self.delta.len() / 3) {
            if u != NONE
                && self.q[3 * i..3 * i + 3] != state.q[3 * i..3 * i + 3]
                && let Some(still) = still.get_mut(u as usize)
            {
                *still = false;
            }
        }
        still.contains(&true)
    }

    /// Speed below which each group is at rest, at q \[m/s\].
    pub(super) fn tolerances(&self, settings: &Ipc, model: &Model) -> Vec<f64> {
        let Self { islands, potential, contact, q, .. } = self;
        let mut tolerance = self.limits(settings, model);
        if contact.friction.acts() {
            let mut fastest = vec![0.0f64; islands.groups];
            let reach = |i: usize| model.ipc.as_ref().map_or(1.0, |ipc| ipc.reach[i]);
            for i in 0..model.layout.particles {
                let g = islands.group(i);
                if g != NONE {
                    let moved =
                        (3 * i..3 * i + 3).map(|k| (q[k] - potential.start[k]).powi(2)).sum::<f64>().sqrt();
                    let fastest = &mut fastest[g as usize];
                    *fastest = fastest.max(reach(i) * moved / potential.d);
                }
            }
            for (t, v) in tolerance.iter_mut().zip(&fastest) {
                let fine = t.min(TUNING.friction_part * settings.friction_speed);
                *t = (settings.tolerance * v / TUNING.unit_speed).clamp(fine, *t);
            }
        }
        tolerance
    }

    /// True if the iteration may end where it is, since the steps at hand are too short to be taken: taking one costs more than
    /// finding it. Only where all that moves are nodes, or bodies without joints.
    pub(super) fn is_short_of_tolerance(&mut self, settings: &Ipc, model: &Model, speeds: &[f64]) -> bool {
        let short = match self.system {
            System::Nodes => TUNING.short,
            // No more than what a last step with a factor that serves twice may leave.
            System::LoneBodies => SHORTER_AND_SAFE,
            System::Blocks | System::Bodies => return false,
        };
        let tolerance = self.tolerances(settings, model);
        if self.system == System::Nodes && speeds[0] > (1.0 - TUNING.short) * self.steps.last {
            return false;
        }
        let there = speeds.iter().zip(&tolerance).all(|(v, t)| *v <= short * t)
            && self.keeps_momentum(model, |_| 0.0).iter().all(|k| *k);
        if there {
            self.islands.done.fill(true);
        }
        there
    }

    /// Notes which groups have converged; true if all have.
    pub(super) fn note_converged(
        &mut self,
        settings: &Ipc,
        model: &Model,
        speeds: &[f64],
        taken: Taken,
        report: &mut StepReport,
    ) -> bool {
        let tolerance = self.tolerances(settings, model);
        let by_nodes = taken == Taken::OfNodes;
        let part = |g: usize| if by_nodes { 0.0 } else { self.steps.part[g] };
        let keeps = self.keeps_momentum(model, part);
        let pushed = self.pushed(speeds);
        let Self { islands, steps, contact, .. } = self;
        if self.system == System::Nodes {
            let whole = steps.part[0] >= 1.0 && !by_nodes;
            let rate = speeds[0] / steps.last_whole;
            let next = speeds[0] * rate;
            // The Hessian changes with the turn of elements, and slowly.
            let turn = model.ipc.as_ref().map_or(0.0, |ipc| contact.path.edge_change(&ipc.geometry));
            let falls = speeds[0] < TUNING.falling * steps.last;
            let converges = whole && rate < TUNING.converging && next < TUNING.kept * tolerance[0];
            steps.converging = falls && turn < TUNING.steady || converges;
            steps.last_whole = if whole { speeds[0] } else { 0.0 };
            steps.last = speeds[0];
        }
        for (u, &g) in islands.group_of_unit.iter().enumerate() {
            let g = g as usize;
            let outcome = steps.outcome[g];
            report.unfinished |= outcome == Outcome::Stuck && pushed[g] && !islands.done[u];
            islands.done[u] |= outcome != Outcome::Descended || speeds[g] <= tolerance[g] && keeps[g];
        }
        islands.done.iter().all(|d| *d)
    }
}
