//! Buffers of a step, and how it begins.

use super::Ipc;
use super::block_system::BlockSystem;
use super::body_system::{BodySystem, only_bodies};
use super::island_systems::IslandSystems;
use super::islands::{Islands, NONE};
use super::joints::JointWork;
use super::momentum::Momentum;
use super::node_system::{NodeSystem, only_nodes};
use super::potential::Potential;
use super::prescribed::Prescribed;
use super::robots::RobotDrivers;
use super::step_bound::too_many;
use super::steps::Steps;
use super::velocity_change::VelocityChange;
use crate::contact::potential::{Cached, ContactPotential, End};
use crate::coupling::CouplingWork;
use crate::math::set_triple;
use crate::model::{IpcModel, Model};
use crate::solve::linear::LinearSolver;
use crate::state::State;
use crate::step::{Scheme, StepError};

/// How the linear system of an iteration is assembled and solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum System {
    /// 3×3 blocks of everything: sparse Cholesky, or conjugate gradients with a coarse solve, by islands.
    #[default]
    Blocks,
    /// Where all that moves are nodes: conjugate gradients with symmetric Gauss–Seidel.
    Nodes,
    /// Where all that moves are affine bodies without joints: a dense block of each, Cholesky by islands.
    Bodies,
    /// The same where nothing acts but weight and what keeps bodies stiff, so that each is taken by itself.
    LoneBodies,
}

/// Buffers of a step. Iterates are numbered, so that a value is known to be of one of them.
#[derive(Debug, Default)]
pub(crate) struct IpcWork {
    pub(super) potential: Potential,
    pub(super) contact: ContactPotential,
    pub(super) joints: JointWork,
    pub(crate) coupling: CouplingWork,
    pub(super) drivers: RobotDrivers,
    pub(super) islands: Islands,
    /// The linear system of this step, and all that there are.
    pub(super) system: System,
    pub(super) block_system: BlockSystem,
    pub(super) island_systems: IslandSystems,
    pub(super) node_system: NodeSystem,
    pub(super) body_system: BodySystem,
    /// What lacks momentum, and by how much everything changes its velocity.
    pub(super) momentum: Momentum,
    pub(super) change: VelocityChange,
    /// The iterate with its carried points, and the trial; their numbers, and the last number given.
    pub(super) q: Vec<f64>,
    pub(super) trial: Vec<f64>,
    pub(super) iterate: u64,
    pub(super) trial_number: u64,
    last_number: u64,
    /// −∇E at the iterate: without contact while it is of its number, until that is added. The same at the trial.
    pub(super) b: Cached<Vec<f64>>,
    pub(super) trial_b: Cached<Vec<f64>>,
    /// Energy without contact at the start and the size of its terms \[J\], where it came with the gradient.
    pub(super) start_energy: Cached<(f64, f64)>,
    /// The Newton step, and the path from q to the trial.
    pub(super) delta: Vec<f64>,
    pub(super) path: Vec<f64>,
    pub(super) steps: Steps,
    pub(super) prescribed: Prescribed,
    /// Units that sleep.
    pub(super) asleep: Vec<bool>,
    /// Energy of contact and friction at q by bodies \[J\].
    pub(super) contact_energies: Vec<f64>,
}

impl IpcWork {
    /// A number for a new place.
    pub(super) fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    pub(super) fn begin(
        &mut self,
        settings: &Ipc,
        model: &Model,
        state: &State,
        h: f64,
    ) -> Result<(), StepError> {
        self.begin_at(settings, model, state, h, state.time_after(h))
    }

    /// The same for a step that ends at the given time \[s\].
    pub(super) fn begin_at(
        &mut self,
        settings: &Ipc,
        model: &Model,
        state: &State,
        h: f64,
        end: f64,
    ) -> Result<(), StepError> {
        self.potential.begin(settings.scheme, model, state, h);
        self.potential.time = end;
        self.system = System::Blocks;
        self.iterate = self.next_number();
        self.steps.begin();
        self.q.clone_from(&state.q);
        self.trial.clone_from(&state.q);
        self.islands.done.clone_from(&self.asleep);
        self.prescribed.begin(model, end);
        self.change.begin(model, &self.islands, state, end, self.potential.d);
        if let Some(ipc) = &model.ipc {
            self.begin_contact(settings, model, ipc, state, h)?;
        }
        Ok(())
    }

    fn begin_contact(
        &mut self,
        settings: &Ipc,
        model: &Model,
        ipc: &IpcModel,
        state: &State,
        h: f64,
    ) -> Result<(), StepError> {
        let (geometry, d) = (&ipc.geometry, self.potential.d);
        let slip = settings.friction_speed * d;
        let begun = self.contact.begin(geometry, &self.q, &self.potential.start, slip, self.potential.time);
        begun.map_err(|e| too_many(&e, state))?;
        // Stiffness of contact: from inertia and elasticity at the start of the step.
        let static_scheme = settings.scheme == Scheme::Static;
        let mass_factor = if static_scheme { 1.0 / (h * h) } else { 1.0 / (d * d) };
        self.choose_system(settings, model, ipc, state);
        let diagonal = self.take_diagonal(model, ipc, state);
        self.coupling.begin(&ipc.articulations, &self.q, h);
        self.block_system.recall(ipc, state);
        self.joints.begin(ipc, state, &self.potential.start, d);
        self.deactivate(ipc, |w, u| w.asleep[u]);
        self.contact.path.release(geometry, !self.prescribed.is_empty());
        self.contact.normal.set_stiffness(geometry, settings.contact_stiffness, mass_factor, &diagonal);
        if !self.contact.energy(geometry, End::Iterate).is_finite() {
            return Err(StepError::Touching { time: state.time });
        }
        self.contact.take_friction(geometry);
        self.contact.sum(geometry, End::Iterate);
        self.contact_energies.clone_from(&self.contact.energies);
        Ok(())
    }

    /// Finds the fastest system that the model allows.
    fn choose_system(&mut self, settings: &Ipc, model: &Model, ipc: &IpcModel, state: &State) {
        if self.islands.several() {
            if !matches!(settings.solver, LinearSolver::Cg { .. }) && only_bodies(model, ipc) {
                let lone = self.body_system.begin(model, ipc, state, self.potential.time);
                self.system = if lone { System::LoneBodies } else { System::Bodies };
            }
        } else if has_nodes(ipc) && settings.solver != LinearSolver::Direct && only_nodes(model, ipc) {
            self.system = System::Nodes;
        }
    }

    /// The mean of the diagonal of the Hessian without contact at every block, where there are nodes.
    fn take_diagonal(&mut self, model: &Model, ipc: &IpcModel, state: &State) -> Vec<f64> {
        if !has_nodes(ipc) {
            return Vec::new();
        }
        let Self { potential, system, node_system, b, start_energy, .. } = self;
        if *system == System::Nodes {
            start_energy.value = potential.energy_and_gradient(model, state, &self.q, &mut b.value);
            start_energy.taken_at(self.iterate);
            if !node_system.assemble(model, potential, self.iterate) {
                *system = System::Blocks;
            }
        } else {
            potential.gradient(model, state, &self.q, &mut b.value);
        }
        b.taken_at(self.iterate);
        if *system == System::Nodes {
            return node_system.mean_diagonal();
        }
        self.block_system.start(model);
        potential.hessian(model, 0.0, &mut self.block_system.list);
        self.block_system.mean_diagonal(model)
    }

    /// Leaves the bodies of units out of contact for which `rests` says so, and all that is in no unit.
    pub(super) fn deactivate(&mut self, ipc: &IpcModel, rests: impl Fn(&Self, usize) -> bool) {
        let mut path = std::mem::take(&mut self.contact.path);
        path.deactivate(&ipc.geometry, |b| {
            let u = self.islands.unit_of_body[b as usize];
            u == NONE || rests(self, u as usize)
        });
        self.contact.path = path;
    }

    /// The state after the step.
    pub(super) fn write_state(&self, model: &Model, next: &mut State, scheme: Scheme) {
        let n = model.layout.nv;
        next.q[..n].copy_from_slice(&self.q[..n]);
        for k in 0..n {
            next.v[k] = if scheme == Scheme::Static {
                0.0
            } else {
                (self.q[k] - self.potential.start[k]) / self.potential.d
            };
        }
        if let Some(ipc) = &model.ipc {
            self.joints.finish(ipc, &self.q, &self.block_system.row_forces, &mut next.turns);
        }
        model.filters.settle(&mut next.v);
        for (i, velocity) in model.filters.prescribed_velocities(self.potential.time) {
            set_triple(&mut next.v, i, &velocity);
        }
    }
}

fn has_nodes(ipc: &IpcModel) -> bool {
    ipc.geometry.maps.iter().any(|m| m.n == 1)
}
