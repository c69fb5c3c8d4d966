//! The linear system of an iteration: gradient and Hessian at the iterate, and the Newton step.

use super::Ipc;
use super::islands::NONE;
use super::work::{IpcWork, System};
use crate::contact::potential::{BlockSink, End};
use crate::model::Model;
use crate::solve::cg::CgStop;
use crate::solve::linear::{LinearReport, LinearSolver, SolvedBy};
use crate::state::State;
use crate::step::{StepError, StepReport};

/// How well conjugate gradients solve where all that moves are nodes.
struct Tuning {
    /// Part of the residual that is left for the next Newton iteration (an inexact Newton method: Dembo, Eisenstat and Steihaug
    /// 1982).
    forcing: f64,
    /// Or less than this part of what the tolerance lets a node move.
    floor: f64,
}

const TUNING: Tuning = Tuning { forcing: 1e-2, floor: 0.1 };

/// |d| of a triple.
fn norm(d: &[f64]) -> f64 {
    (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt()
}

impl IpcWork {
    /// Finds the islands at the iterate. What is done is left out of contact until something touches it.
    pub(super) fn group(&mut self, model: &Model, pending: bool) {
        let Some(ipc) = model.ipc.as_ref().filter(|_| self.islands.several()) else {
            return self.islands.together();
        };
        if pending {
            self.islands.done.fill(false);
        }
        let woke = self.islands.by_contacts(self.contact.connections());
        if self.contact.path.has_inactive() && (woke || pending) {
            self.contact.path.deactivate(&ipc.geometry, |_| false);
            self.contact.energy(&ipc.geometry, End::Iterate);
            self.contact_energies.clone_from(&self.contact.energies);
            self.islands.by_contacts(self.contact.connections());
        }
        let Self { islands, asleep, .. } = self;
        asleep.iter_mut().zip(&islands.done).for_each(|(a, d)| *a &= d);
        self.deactivate(ipc, |w, u| w.islands.done[u]);
        if pending {
            self.islands.together();
        }
    }

    /// Gradient and Hessian at the iterate; the system that has the Hessian.
    pub(super) fn linearise(
        &mut self,
        settings: &Ipc,
        model: &Model,
        state: &State,
        h: f64,
        pending: bool,
        report: &mut StepReport,
    ) -> System {
        report.evaluations += 1;
        let system = if pending { System::Blocks } else { self.system };
        if system == System::LoneBodies {
            let Self { body_system, islands, potential, q, b, .. } = self;
            body_system.gradient(model, islands, potential, q, &mut b.value);
        } else if !self.b.is_of(self.iterate) {
            self.potential.gradient(model, state, &self.q, &mut self.b.value);
        }
        self.b.forget();
        if let Some(ipc) = &model.ipc {
            self.contact.gradient(&ipc.geometry, &mut self.b.value);
            self.joints.gradient(ipc, &self.q, &mut self.b.value);
            self.coupling.slope(&self.q, &mut self.b.value);
        }
        if self.linearise_fast(settings, model, h, system) {
            return system;
        }
        if system == System::Nodes {
            self.system = System::Blocks;
        }
        self.list_blocks(model);
        System::Blocks
    }

    /// The Hessian in a system that serves certain models only; false if it does not.
    fn linearise_fast(&mut self, settings: &Ipc, model: &Model, h: f64, system: System) -> bool {
        let Some(ipc) = &model.ipc else { return false };
        match system {
            System::Blocks => false,
            System::Nodes => {
                // Where Newton's method converges, forces keep the Hessian of the last time: it is a factor of how fast it does.
                let keep = self.steps.converging || self.node_system.is_of(self.iterate);
                if !keep && !self.node_system.assemble(model, &self.potential, self.iterate) {
                    return false;
                }
                self.node_system.remove_contacts();
                self.contact.add_hessian(&mut self.node_system);
                true
            }
            System::Bodies => {
                if !self.body_system.assemble(model, ipc, &self.potential) {
                    return false;
                }
                self.body_system.find_islands(&self.islands, &self.b.value);
                self.contact.add_hessian(&mut self.body_system);
                true
            }
            System::LoneBodies => {
                let tolerance = self.tolerances(settings, model);
                let speed = |i: usize, d: &[f64]| ipc.reach[i] * norm(d) / h;
                self.body_system.find_islands(&self.islands, &self.b.value);
                let reference = self.contact.friction.taken_at_start;
                let change = if self.body_system.asks_for_change(reference) {
                    self.hessian_change()
                } else {
                    Vec::new()
                };
                let Self { body_system, islands, contact, potential, q, .. } = self;
                body_system.try_factors(islands, speed, &tolerance, &change, reference);
                body_system.iterate = contact.path.iterate;
                body_system.assemble_each(model, islands, potential.inertia, q);
                let solved = body_system.solved_groups(islands);
                let wanted = |pair: [u32; 2]| {
                    pair.into_iter().any(|b| {
                        b != NONE && {
                            let g = islands.group_of_body[b as usize];
                            g != NONE && !solved[g as usize]
                        }
                    })
                };
                contact.add_hessian_of(wanted, body_system);
                true
            }
        }
    }

    /// The blocks of the Hessian at the iterate.
    fn list_blocks(&mut self, model: &Model) {
        let blocks = &mut self.block_system;
        blocks.start(model);
        // What is free goes the same part of its path as what is prescribed: (1 + μ) M δ = M (s − q).
        let more = 1.0 / self.prescribed.part - 1.0;
        let shift = more / (self.potential.d * self.potential.d);
        self.potential.hessian(model, shift, &mut blocks.list);
        if let Some(ipc) = &model.ipc {
            self.contact.add_hessian(&mut BlockSink(&mut blocks.list));
            self.joints.hessian(ipc, &self.q, &mut blocks.list);
            self.coupling.curvature(&self.q, &mut blocks.list, &mut blocks.long);
        }
    }

    /// How much the Hessian of each group has changed since the start of the step, a part of itself.
    fn hessian_change(&mut self) -> Vec<f64> {
        let mut change = vec![0.0f64; self.islands.groups];
        let of_body = self.contact.take_hessian_change();
        for (&of_body, &g) in of_body.iter().zip(&self.islands.group_of_body) {
            if g != NONE {
                let out = &mut change[g as usize];
                *out = if of_body.is_nan() { f64::INFINITY } else { out.max(of_body) };
            }
        }
        change
    }

    /// δ from the system that has the Hessian, with the momentum of what nothing holds; the system that it was found by.
    pub(super) fn solve_system(
        &mut self,
        settings: &Ipc,
        model: &Model,
        state: &State,
        h: f64,
        assembled: System,
        pending: bool,
        report: &mut StepReport,
    ) -> Result<System, StepError> {
        if pending {
            self.momentum.lack.clear();
            self.solve_blocks(settings, model, report)?;
            return Ok(System::Blocks);
        }
        let Self { momentum, islands, contact, potential, b, .. } = self;
        momentum.find_lack(islands, contact.connections(), [potential.inertia, potential.d], &b.value);
        let mut found = System::Blocks;
        if matches!(assembled, System::Bodies | System::LoneBodies) {
            // Bodies have taken b already, and know their centres to be free.
            if self.solve_bodies(model, h, report) {
                found = assembled;
            } else {
                if assembled == System::LoneBodies {
                    // The Hessian of all is taken where forces were.
                    let rounding = self.potential.rounding.clone();
                    self.potential.gradient(model, state, &self.q, &mut self.trial_b.value);
                    self.potential.rounding = rounding;
                }
                self.list_blocks(model);
            }
        }
        if found == System::Blocks {
            self.momentum.take_out(model, &mut self.b.value);
            let done = if assembled == System::Nodes && self.solve_nodes(settings, report) {
                found = System::Nodes;
                Ok(())
            } else {
                if assembled == System::Nodes {
                    self.system = System::Blocks;
                    self.list_blocks(model);
                }
                self.solve_blocks(settings, model, report)
            };
            self.momentum.put_back(&mut self.b.value);
            done?;
        }
        self.momentum.correct(model, self.potential.inertia, &mut self.delta);
        Ok(found)
    }

    /// δ where all that moves are nodes. False if it must be found another way, for the rest of the step.
    fn solve_nodes(&mut self, settings: &Ipc, report: &mut StepReport) -> bool {
        let eta = match settings.solver {
            LinearSolver::Cg { tolerance, .. } => tolerance,
            _ => TUNING.forcing,
        };
        // ρ bounds (m/d²)|error|² of every row.
        let fine = self.change.fine_of_everything(self.potential.inertia);
        let speed = TUNING.floor * settings.tolerance.min(fine).min(0.1 * settings.friction_speed);
        let floor = self.node_system.least_mass * speed * speed;
        let Some((iterations, residual)) = self.node_system.solve(&self.b.value, &mut self.delta, eta, floor)
        else {
            return false;
        };
        report.linear_iterations += iterations;
        report.linear = Some(LinearReport {
            solver: SolvedBy::GaussSeidel,
            iterations: iterations as usize,
            residual,
            stop: CgStop::Converged,
            positive_definite: true,
        });
        true
    }

    /// δ where all that moves are bodies without joints. False if it must be found another way.
    fn solve_bodies(&mut self, model: &Model, h: f64, report: &mut StepReport) -> bool {
        let reach = model.ipc.as_ref().map(|ipc| &ipc.reach);
        let speed = |i: usize, d: &[f64]| reach.map_or(1.0, |reach| reach[i]) * norm(d) / h;
        self.delta.clear();
        self.delta.resize(self.b.value.len(), 0.0);
        if self.islands.whole || !self.body_system.solve(&self.islands, speed, &mut self.delta) {
            return false;
        }
        report.linear = Some(LinearReport {
            solver: SolvedBy::Direct,
            iterations: 0,
            residual: 0.0,
            stop: CgStop::Converged,
            positive_definite: true,
        });
        true
    }

    /// δ, all of it at once or island by island; zero for islands that are done.
    fn solve_blocks(
        &mut self,
        settings: &Ipc,
        model: &Model,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let Self { islands, island_systems, block_system, q, b, delta, .. } = self;
        delta.clear();
        delta.resize(model.layout.nv, 0.0);
        let Some(ipc) = model.ipc.as_ref().filter(|_| !islands.whole) else {
            return block_system.solve(model, [q, &b.value], |_| true, delta, settings.solver, report);
        };
        let tied = islands.tied_groups();
        if tied.contains(&true) {
            let wanted = |i: usize| islands.group(i) != NONE && tied[islands.group(i) as usize];
            block_system.solve(model, [q, &b.value], wanted, delta, settings.solver, report)?;
        }
        island_systems.start(islands, &tied, &block_system.list, &b.value, model.layout.particles);
        island_systems.solve(model, ipc, q, settings.solver, delta, report)
    }
}
