//! The line search: how far each group goes along its free path until its energy has fallen enough (Armijo 1966).

use super::islands::NONE;
use super::step_bound::TUNING as BOUND;
use super::steps::{Change, Outcome, Taken};
use super::work::{IpcWork, System};
use crate::contact::potential::End;
use crate::math::{dot, triple};
use crate::model::Model;
use crate::state::State;
use crate::step::{StepError, StepReport};

/// What a step must gain, and how friction answers.
struct Tuning {
    /// Part of the promised decrease that a step must keep (Armijo).
    armijo: f64,
    /// Halvings of the step of a group, and of all groups together.
    halvings: u32,
    most_trials: u32,
    /// Iterations in which nodes are stopped one by one.
    node_iterations: u32,
    /// Rounding of an energy, in units of ε of the sizes of its terms.
    rounding: f64,
    /// A group that found no descent is unfinished if the promise was above this part of its energies.
    stuck: f64,
    /// Caution with friction that comes with a first cut and its growth, the gain beyond which it shrinks (a right Hessian
    /// promises a half), its shrinking, and what is nothing.
    first_caution: f64,
    more_caution: f64,
    overshoot: f64,
    less_caution: f64,
    least_caution: f64,
}

const TUNING: Tuning = Tuning {
    armijo: 1e-4,
    halvings: 40,
    most_trials: 160,
    node_iterations: 8,
    rounding: 4.0,
    stuck: 1e-6,
    first_caution: 1.0 / 16.0,
    more_caution: 4.0,
    overshoot: 0.7,
    less_caution: 0.25,
    least_caution: 1.0 / 64.0,
};

impl IpcWork {
    /// Takes the energies at the end of the path: trial ← q + path, with carried points and vertices.
    pub(super) fn evaluate_trial(&mut self, model: &Model, state: &State) {
        self.trial_number = self.next_number();
        let placed = std::mem::take(&mut self.steps.placed);
        if !placed {
            self.write_trial();
        }
        if self.system != System::LoneBodies {
            for m in &model.mappings {
                m.carry(&mut self.trial);
            }
        }
        if let Some(ipc) = &model.ipc {
            if !placed {
                self.contact.path.place(&ipc.geometry, &self.trial, |_| true);
            }
            if !self.contact.energy(&ipc.geometry, End::Trial).is_finite() {
                self.contact.energies.fill(f64::INFINITY);
            }
        }
        self.take_energies(model, state, End::Trial);
        self.refuse_reflections(model);
    }

    /// Energies of groups and the sizes of their terms at the trial or at q.
    fn take_energies(&mut self, model: &Model, state: &State, end: End) {
        let Self { islands, steps, potential, contact, joints, coupling, q, trial, .. } = self;
        let mut of_unit = vec![[0.0; 2]; islands.units];
        let at: &[f64] = if end == End::Trial { trial } else { q };
        let whole = !islands.several();
        if end == End::Trial && self.system == System::Nodes && whole {
            // Most trials are accepted: their gradient is needed next.
            let (energy, size) = potential.energy_and_gradient(model, state, at, &mut self.trial_b.value);
            self.trial_b.taken_at(self.trial_number);
            of_unit[0] = [energy, size];
        } else if end == End::Iterate && whole && self.start_energy.is_of(self.iterate) {
            let (energy, size) = self.start_energy.value;
            self.start_energy.forget();
            of_unit[0] = [energy, size];
        } else if self.system == System::LoneBodies {
            self.body_system.energies(model, islands, potential, at, &mut of_unit);
        } else {
            potential.energies(model, state, [at, q], islands, &mut of_unit);
        }
        if let Some(ipc) = &model.ipc {
            joints.energies(ipc, at, |t, energy, size| {
                if let Some(out) = of_unit.get_mut(islands.unit_of_term[t] as usize) {
                    out[0] += energy;
                    out[1] += size;
                }
            });
            coupling.energies(at, |a, energy| {
                if let Some(out) = of_unit.get_mut(islands.unit_of_articulation[a] as usize) {
                    out.iter_mut().for_each(|e| *e += energy);
                }
            });
        }
        let energies = &mut steps.energies.value;
        energies.clear();
        energies.resize(islands.groups, [0.0; 2]);
        for (e, &g) in of_unit.iter().zip(&islands.group_of_unit) {
            energies[g as usize][0] += e[0];
            energies[g as usize][1] += e[1];
        }
        let of_contact = if end == End::Trial { &contact.energies } else { &self.contact_energies };
        for (e, &g) in of_contact.iter().zip(&islands.group_of_body) {
            if g != NONE {
                energies[g as usize][0] += e;
                energies[g as usize][1] += e;
            }
        }
        steps.energies.taken_at(if end == End::Trial { self.trial_number } else { self.iterate });
    }

    /// An affine body that the trial turns inside out has an infinite energy there: no energy of its own tells a reflection
    /// from a rotation.
    fn refuse_reflections(&mut self, model: &Model) {
        let Some(ipc) = &model.ipc else { return };
        for &first in &ipc.affine {
            let group = self.islands.group(first as usize + 1);
            if group == NONE {
                continue;
            }
            let volume = |q: &[f64]| {
                let [a, b, c] = [1, 2, 3].map(|k| triple(q, first as usize + k));
                a.cross(&b).dot(&c)
            };
            if volume(&self.q) * volume(&self.trial) <= 0.0 {
                self.steps.energies.value[group as usize][0] = f64::INFINITY;
            }
        }
    }

    /// The trial becomes the iterate.
    pub(super) fn accept(&mut self) {
        self.iterate = self.trial_number;
        if self.system != System::Nodes {
            // Groups may be others from now on.
            self.steps.energies.forget();
        }
        if self.trial_b.is_of(self.iterate) {
            std::mem::swap(&mut self.b, &mut self.trial_b);
        }
        std::mem::swap(&mut self.contact_energies, &mut self.contact.energies);
        std::mem::swap(&mut self.q, &mut self.trial);
        self.contact.arrive();
        self.contact.energies.resize(self.contact_energies.len(), 0.0);
    }

    /// Goes along δ as far as nothing stops it and the energy of every group falls.
    pub(super) fn search_line(
        &mut self,
        model: &Model,
        state: &State,
        pending: bool,
        report: &mut StepReport,
    ) -> Result<Taken, StepError> {
        self.steps.begin_iteration(self.islands.groups);
        if !self.steps.energies.is_of(self.iterate) {
            self.take_energies(model, state, End::Iterate);
        }
        let here = self.steps.energies.value.clone();
        let (gradient, noise) = self.promises(&here);
        if !pending && report.iterations <= TUNING.node_iterations && self.bound_nodes(model, state)? {
            // The promise of the path that is left, in place of a part of δ.
            let promise = -dot(&self.b.value, &self.path);
            self.evaluate_trial(model, state);
            report.evaluations += 1;
            let bound = here[0][0] + TUNING.armijo * promise + noise[0];
            if promise < 0.0 && self.steps.energies.value[0][0] <= bound {
                self.accept();
                return Ok(Taken::OfNodes);
            }
            self.steps.begin_iteration(self.islands.groups);
        }
        self.bound_step(model, state, BOUND.rest)?;
        let mut cuts = vec![0u32; self.islands.groups];
        for _ in 0..=TUNING.most_trials {
            self.evaluate_trial(model, state);
            report.evaluations += 1;
            let lack: Vec<f64> = (0..self.islands.groups)
                .map(|g| {
                    let bound = here[g][0] + TUNING.armijo * self.steps.part[g] * gradient[g] + noise[g];
                    self.steps.energies.value[g][0] - bound
                })
                .collect();
            if self.cut_groups(&lack, pending, &mut cuts) {
                self.note_outcomes(&here, &gradient, &noise, &cuts, pending, report);
                self.accept();
                return Ok(Taken::OfGroups);
            }
            self.bound_step(model, state, BOUND.rest)?;
        }
        // Nothing leads down: rounding, or a Hessian that says nothing. Stay.
        if let Some(ipc) = &model.ipc {
            self.contact.energy(&ipc.geometry, End::Iterate);
        }
        report.unfinished = true;
        for outcome in self.steps.outcome.iter_mut().filter(|o| **o == Outcome::Descended) {
            *outcome = Outcome::Floor;
        }
        Ok(Taken::OfGroups)
    }

    /// The gradient of each group along δ, and the rounding of its energy \[J\].
    fn promises(&self, here: &[[f64; 2]]) -> (Vec<f64>, Vec<f64>) {
        let mut gradient = vec![0.0; self.islands.groups];
        let mut noise: Vec<f64> = here.iter().map(|e| e[1]).collect();
        for (i, r) in self.potential.rounding.iter().enumerate() {
            let g = self.islands.group(i);
            if g != NONE {
                noise[g as usize] += r;
                let (b, d) = (&self.b.value[3 * i..3 * i + 3], &self.delta[3 * i..3 * i + 3]);
                gradient[g as usize] -= b[0] * d[0] + b[1] * d[1] + b[2] * d[2];
            }
        }
        for (r, &g) in self.contact.normal.rounding.iter().zip(&self.islands.group_of_body) {
            if g != NONE {
                noise[g as usize] += r;
            }
        }
        noise.iter_mut().for_each(|n| *n *= TUNING.rounding * f64::EPSILON);
        (gradient, noise)
    }

    /// Halves the steps of groups whose energy has not fallen enough by `lack` \[J\]; true if there are none.
    fn cut_groups(&mut self, lack: &[f64], pending: bool, cuts: &mut [u32]) -> bool {
        let failing = |x: f64| if pending { x == f64::INFINITY || x.is_nan() } else { !(x <= 0.0) };
        self.steps.change.fill(Change::Same);
        if !lack.iter().any(|x| failing(*x)) {
            return true;
        }
        let mut good = true;
        // Groups that meet at the trial count together.
        let root = self.islands.joined(self.contact.connections());
        let mut sum = vec![0.0; lack.len()];
        (0..lack.len()).for_each(|g| sum[root[g] as usize] += lack[g]);
        for g in 0..lack.len() {
            let fails = failing(sum[root[g] as usize]) && cuts[g] <= TUNING.halvings;
            good &= !fails && self.steps.energies.value[g][0].is_finite();
            if fails {
                self.steps.change[g] = Change::Anew;
                cuts[g] += 1;
                self.steps.part[g] *= if cuts[g] > TUNING.halvings { 0.0 } else { 0.5 };
            }
        }
        good
    }

    /// Notes how the search ended for each group. More caution with friction where steps were cut, less where the energy fell by
    /// more than a right Hessian says.
    fn note_outcomes(
        &mut self,
        here: &[[f64; 2]],
        gradient: &[f64],
        noise: &[f64],
        cuts: &[u32],
        pending: bool,
        report: &mut StepReport,
    ) {
        let Self { steps, contact, islands, .. } = self;
        for (g, outcome) in steps.outcome.iter_mut().enumerate() {
            let stuck = cuts[g] > TUNING.halvings;
            report.unfinished |= stuck && -gradient[g] > TUNING.stuck * here[g][1];
            let whole = !pending && steps.part[g] >= 1.0 && -gradient[g] <= noise[g];
            *outcome = match (stuck, whole) {
                (true, _) => Outcome::Stuck,
                (_, true) => Outcome::Floor,
                _ => Outcome::Descended,
            };
        }
        for (theta, &g) in contact.friction.caution.iter_mut().zip(&islands.group_of_body) {
            if g == NONE {
                continue;
            }
            let g = g as usize;
            let gain = steps.energies.value[g][0] - here[g][0];
            if cuts[g] >= 1 {
                *theta = (TUNING.more_caution * *theta).clamp(TUNING.first_caution, 1.0);
            } else if steps.part[g] >= 1.0 && gain < TUNING.overshoot * gradient[g] {
                let more = *theta > TUNING.least_caution;
                *theta = if more { TUNING.less_caution * *theta } else { 0.0 };
            }
        }
    }
}
