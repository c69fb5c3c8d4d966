//! Contact with friction under `impulse`.
//!
//! One inner step:
//!
//! ```text
//! detect              shapes at q: normals n, gaps g, points that touch or may touch within h; fast bodies are followed
//! prepare             v + h M⁻¹F of bodies by themselves; islands of joints and robots solve their own rows; targets
//! warm start          impulses of the step before, by the features that meet
//! solve               u = v_a − v_b of each contact by Coulomb's law, joints holding meanwhile (contact::solver)
//! respond             joints and robots again under the impulses found; another round if their active sets changed
//! restitution         bounces less where simultaneous impacts would add energy
//! split impulse       velocities that take overlaps away in the drift of this step only
//! integrate           q along v⁺
//! store impulses, fall asleep
//! ```
//!
//! A body that does nothing but bounce moves by $h v^- + \tfrac12 h^2 M^{-1}F + \sum (h-\tau)\,\Delta v$: a ball on the floor
//! keeps its energy to rounding at any h. Bodies that touch nothing move on their parabola. Book: "Contact by impulses".

mod find;
mod gather;
mod integrate;
mod joint_islands;
mod joint_trees;
mod large_islands;
mod setup;

#[cfg(test)]
mod tests;

use super::{Impulse, ImpulseWork, Start};
use crate::contact::detection::Detection;
use crate::contact::inactive::{self, InactiveContacts};
use crate::contact::problem::ContactProblem;
use crate::contact::restitution::Restitution;
use crate::contact::sleep::{SleepRule, Sleepers, is_all_asleep};
use crate::contact::solver::cascade::{Accuracy, SolveReport, Solvers};
use crate::contact::solver::parallel::Parallel;
use crate::contact::speculative_ccd::{Snapshot, SpeculativeCcd};
use crate::contact::split_impulse::SplitImpulse;
use crate::contact::{ContactLaw, RigidContactModel};
use crate::math::Vec3;
use crate::model::Model;
use crate::solve::box_lcp::Active;
use crate::state::{ContactPoint, State};
use crate::step::{StepError, StepReport, Workspace};

/// Rounds in which rows of joints and robots may change their active sets.
const MOST_ROUNDS: u32 = 5;

/// What does not change in a step.
#[derive(Clone, Copy)]
struct StepInput<'a> {
    settings: &'a Impulse,
    contact: &'a RigidContactModel,
    model: &'a Model,
    h: f64,
}

impl<'a> StepInput<'a> {
    /// What islands of joints begin with.
    fn start(&self, state: &'a State, f: &'a [f64]) -> Start<'a> {
        Start { model: self.model, state, f, h: self.h, projection: self.settings.projection }
    }
}

/// Buffers of contact.
#[derive(Debug, Default)]
pub(super) struct ContactWork {
    made_for: Option<[usize; 4]>,
    /// Laws of all pairs of materials, row by row; empty if there are many materials.
    laws: Vec<ContactLaw>,
    /// Where the velocities of each slot begin in v.
    place: Vec<usize>,
    detection: Detection,
    ccd: SpeculativeCcd,
    sleepers: Sleepers,
    problem: ContactProblem,
    inactive: InactiveContacts,
    solvers: Solvers,
    parallel: Parallel,
    restitution: Restitution,
    split: SplitImpulse,
    /// Islands that are solved by substepping, and the trees of joints among them.
    large: large_islands::LargeIslands,
    joint_trees: joint_trees::JointTrees,
    /// Forces without contacts.
    f_free: Vec<f64>,
    /// Active sets of the islands of joints.
    active_sets: Vec<Vec<Active>>,
    /// Robots were solved under the impulses as they are.
    robots_solved: bool,
    /// Changes of the velocities of all slots, where contacts of the step before are counted.
    kicks: Vec<Vec3>,
    /// The contacts that a step began with, while the state has those that it made.
    before: Vec<ContactPoint>,
}

/// True if nothing but gravity acts from afar.
fn may_sleep(settings: &Impulse, model: &Model) -> bool {
    settings.sleep_after.is_finite() && model.forces.iter().all(|f| f.force.kind() == "gravity")
}

/// True if every body sleeps or is fixed, and nothing disturbs them: then a step changes nothing but the time.
pub(super) fn all_asleep(settings: &Impulse, model: &Model, state: &State) -> bool {
    let Some(contact) = model.rigid_contact.as_ref().filter(|_| may_sleep(settings, model)) else {
        return false;
    };
    let only = model.robots.is_empty() && model.layout.particles == 0 && model.generalized.is_empty();
    only && is_all_asleep(contact, state)
}

impl Impulse {
    /// One inner step with contacts.
    pub(super) fn substep_with_contact(
        &self,
        contact: &RigidContactModel,
        model: &Model,
        state: &mut State,
        h: f64,
        work: &mut Workspace,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let Workspace { f, impulse: own, .. } = work;
        f.resize(model.layout.len_v(), 0.0);
        model.forces_into(state.time, &state.q, &state.v, &state.applied, f);
        own.prepare(model);
        let mut c = own.contact.take().unwrap_or_default();
        let given = StepInput { settings: self, contact, model, h };
        c.prepare(&given, own);
        let done = c.step(&given, state, f, own);
        own.contact = Some(c);
        let all = done?;
        report.weak_rows = report.weak_rows.max(all.weak_rows);
        report.projections += all.projections;
        report.contacts = report.contacts.max(all.contacts);
        report.smallest_gap = all.smallest_gap;
        report.add_worst(&StepReport { projections: 0, ..all });
        Ok(())
    }
}

impl ContactWork {
    fn step(
        &mut self,
        given: &StepInput,
        state: &mut State,
        f: &mut [f64],
        own: &mut ImpulseWork,
    ) -> Result<StepReport, StepError> {
        self.detect(given, state, f);
        let mut report = self.solve(given, state, f, own)?;
        while self.meets_what_it_missed(given, state) {
            f.copy_from_slice(&self.f_free);
            self.gather(given, state, f);
            report = self.solve(given, state, f, own)?;
        }
        self.split.solve(&mut self.problem, given.settings.push_speed);
        self.integrate(given, state, f, own, &mut report)?;
        report.smallest_gap = self.store_impulses(given, state);
        self.fall_asleep(given, state);
        Ok(report)
    }

    /// Manifolds of everything awake, fast bodies followed.
    fn detect(&mut self, given: &StepInput, state: &State, f: &[f64]) {
        self.sleepers.clear();
        if may_sleep(given.settings, given.model) {
            self.sleepers.find(given.contact, state);
        }
        loop {
            self.gather(given, state, f);
            let Detection { detector, poses, reach, .. } = &mut self.detection;
            detector.update_awake(&given.contact.colliders, poses, reach, &self.sleepers.asleep);
            if !self.sleepers.wake_touched(given.contact, &self.detection) {
                break;
            }
        }
        self.sleepers.keep_contacts(given.contact, state);
        self.joint_trees.allowed = given.settings.projection && !state.broken.contains(&true);
        self.f_free.clear();
        self.f_free.extend_from_slice(f);
        let now = Snapshot { model: given.contact, state, problem: &self.problem };
        self.ccd.predict(now, &mut self.detection);
    }

    /// Velocities and impulses of all contacts, inactive ones among them.
    fn solve(
        &mut self,
        given: &StepInput,
        state: &State,
        f: &mut [f64],
        own: &mut ImpulseWork,
    ) -> Result<StepReport, StepError> {
        self.find_contacts(given, state);
        self.inactive.deactivate(&mut self.problem);
        let mut report = StepReport::default();
        let slow = given.settings.tolerance * self.problem.fall_speed();
        for time in 1..=inactive::MOST_TIMES {
            self.problem.sort_by_island();
            report = self.solve_rounds(given, state, f, own);
            let last = time + 1 == inactive::MOST_TIMES;
            if !self.inactive.activate(&mut self.problem, slow, last) {
                break;
            }
        }
        let accuracy = accuracy(given.settings);
        let mut solved = SolveReport::default();
        let Self { restitution, problem, solvers, .. } = self;
        self.robots_solved &= !restitution.bound_energy(problem, solvers, &accuracy, &mut solved);
        report.add_solved(&solved);
        if !self.large.is_empty() {
            self.solve_large_islands(given, state, own, &mut report);
        }
        Ok(report)
    }

    /// Joints and robots, then contacts, until no active set changes.
    fn solve_rounds(
        &mut self,
        given: &StepInput,
        state: &State,
        f: &mut [f64],
        own: &mut ImpulseWork,
    ) -> StepReport {
        let mut report = StepReport::default();
        for round in 0..=MOST_ROUNDS {
            let changed = self.respond(given, state, f, round, own, &mut report);
            self.robots_solved = round > 0 && !changed;
            if self.robots_solved {
                break;
            }
            let Self { problem, solvers, parallel, .. } = self;
            if round == 0 {
                problem.prepare(given.settings.bounce_speed);
            } else {
                problem.update_responses();
            }
            let mut solved = SolveReport::default();
            parallel.solve_islands(problem, solvers, &accuracy(given.settings), &mut solved);
            report.add_solved(&solved);
            report.contacts = problem.contacts.iter().filter(|c| c.impulse != Vec3::zeros()).count() as u32;
            if !problem.coupled.iter().any(|c| c.touched) {
                break;
            }
        }
        report
    }

    /// True if bodies that were to miss each other meet with the velocities found.
    fn meets_what_it_missed(&mut self, given: &StepInput, state: &State) -> bool {
        if !self.ccd.has_missed() {
            return false;
        }
        self.problem.robots.load_velocities(&self.problem.x);
        let now = Snapshot { model: given.contact, state, problem: &self.problem };
        self.ccd.recheck(now, &self.detection)
    }

    /// Forces into the state, in the order of detection, in place of those of the step before, which are kept until they are
    /// [given back](Self::give_back). Returns the smallest gap \[m\].
    fn store_impulses(&mut self, given: &StepInput, state: &mut State) -> f64 {
        std::mem::swap(&mut self.before, &mut state.contacts);
        let Self { problem, inactive, large, .. } = self;
        let count = problem.contacts.len() + inactive.contacts.len() + large.len();
        state.contacts.resize(count, ContactPoint::default());
        let least = large.store_contacts(self.detection.detector.manifolds(), given.h, &mut state.contacts);
        problem.store(0..problem.contacts.len(), &mut state.contacts);
        inactive.store(problem, &mut state.contacts);
        let infos = problem.info.iter().chain(inactive.contacts.iter().map(|(_, info)| info));
        infos.fold(least, |least, i| least.min(i.gap))
    }

    /// The contacts that the last step began with, where that has been done.
    pub(super) fn give_back(&mut self, contacts: &mut Vec<ContactPoint>) {
        std::mem::swap(&mut self.before, contacts);
    }

    fn fall_asleep(&mut self, given: &StepInput, state: &mut State) {
        if !may_sleep(given.settings, given.model) {
            state.rest.clear();
            return;
        }
        let rule = SleepRule { after: given.settings.sleep_after, speed: given.settings.sleep_speed };
        self.sleepers.fall_asleep(rule, given.contact, &mut self.problem, &self.detection, state);
    }
}

fn accuracy(settings: &Impulse) -> Accuracy {
    Accuracy { tolerance: settings.tolerance, most_sweeps: settings.most_sweeps }
}

impl StepReport {
    /// The larger of the numbers of the contact solvers.
    fn add_solved(&mut self, solved: &SolveReport) {
        self.iterations = self.iterations.max(solved.iterations);
        self.residual = self.residual.max(solved.residual);
        self.unfinished |= solved.unfinished;
    }
}
