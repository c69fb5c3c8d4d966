//! Method `ipc`: incremental potential contact (Li, Ferguson, Schneider et al. 2020), rigid bodies as stiff affine ones (Lan et
//! al. 2022). One step is one minimisation, and nothing ever intersects.
//!
//! **Unknowns.** All free degrees of freedom are 3-vectors $z_i$: a particle is one, an affine body four (the place of
//! its centre and the columns of its deformation). Rigid bodies run as stiff affine bodies. Every point of a surface
//! is a fixed combination of at most four of them, so that it moves on a straight line while z does.
//!
//! **The incremental potential.** With the inertial target s and the step d of the scheme,
//!
//! $$ E(z) = \frac1{2d^2}(z - s)^T M (z - s) + W(z) + \sum_k\kappa_k b(g_k(z)) + \sum_k D_k(z), $$
//!
//! | scheme | $z_s$ | $v_s$ | d |
//! |---|---|---|---|
//! | Euler | z | v | h |
//! | BDF2 | (4z − z₋)/3 | (4v − v₋)/3 | 2h/3 |
//! | static | – | – | ∞ |
//!
//! $s = z_s + d v_s$; after the step $v = (z - z_s)/d$. W holds all forces with an energy, b is a barrier over the gap of
//! each pair of near primitives, D is friction with normal force and tangent plane lagged (see `contact::potential`). What depends
//! on velocities is taken with $v = (z - z_s)/d$, and its energy is modelled to second order within each iteration.
//!
//! **Newton.** $H\,\delta = -\nabla E$ with the Hessian of every term made positive semidefinite, so δ is a descent direction. A
//! linear step turns a stiff body along a tangent and would stretch it, $\theta^2/2$ for a turn by θ: so the step of each affine
//! body is retracted, $A \leftarrow A\,e^{\Omega}(1 + S)$ with the symmetric and skew parts of $A^{-1}\delta A = S + \Omega$. From z
//! to that point everything moves on straight lines; continuous collision detection says how far it may go, and a line search
//! on E how far it should. So every accepted z is free of intersections. The iteration ends when no point would move
//! faster than the tolerance, in metres per second, nor than a small part of the change of velocity in the step
//! (`velocity_change`); what nothing holds from outside keeps its momentum (`momentum`). Where all that moves are nodes
//! (`node_system`) each of them is stopped on its own if the energy then falls, and a last step well below the tolerance is found
//! but not taken. Book: "Intersection-free contact".
//!
//! **A step, by the names of the code.** `find_sleepers` and `take_drives`; `minimise`: until friction and joints agree,
//! `newton`: `group` into islands, `linearise`, `solve_system`, `bound_step` by continuous collision detection,
//! `search_line`, `note_converged`; then `write_state`, `return_drives`, `fall_asleep`. `divided_step` where prescribed motion
//! finds no room.

mod islands;
mod joints;
mod momentum;
mod potential;
mod prescribed;
mod retraction;
mod robots;

mod rigid_modes;
mod velocity_change;

mod block_system;
mod body_system;
mod island_systems;
mod node_system;

mod steps;

mod work;

mod linear;
mod step_bound;

mod line_search;

mod convergence;
mod friction_passes;

mod sleep;

mod newton;

mod division;
mod report;

use super::{Scheme, StepError, StepReport, Workspace};
use crate::coupling::Driver;
use crate::math::all_finite;
use crate::model::Model;
use crate::solve::linear::LinearSolver;
use crate::state::State;

pub use report::Touching;
pub(crate) use work::IpcWork;

/// Settings of the method `ipc`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ipc {
    /// `Euler`, `Bdf2` or `Static`.
    pub scheme: Scheme,
    /// Newton stops when no point would move faster than this \[m/s\], > 0, nor than a 64th of what the step changes the velocity
    /// of its island by; where there is friction, than a tenth of
    /// `friction_speed` if that is less.
    pub tolerance: f64,
    /// Most Newton iterations per step.
    pub most_newton: u32,
    /// How linear systems are solved.
    pub solver: LinearSolver,
    /// Contact begins at this distance beyond the offsets \[m\]; if none is given, 1 mm or a hundredth of the diagonal
    /// of the smallest body, whichever is less.
    pub gap: Option<f64>,
    /// Coefficient of friction of pairs without a rule of their own, ≥ 0.
    pub friction: f64,
    /// Speed below which friction is smoothed \[m/s\], > 0: what sticks creeps slower than this.
    pub friction_speed: f64,
    /// How often a step is solved with the normal forces and directions of friction taken anew, ≥ 1.
    pub friction_passes: u32,
    /// Stiffness of contact as a multiple of mass/h², > 0.
    pub contact_stiffness: f64,
    /// κ of rigid bodies \[Pa\], > 0.
    pub rigid_stiffness: f64,
    /// Islands that have been at rest for this long fall asleep \[s\]; never if infinite.
    pub sleep_after: f64,
    /// A body is at rest while no point of it is faster than this \[m/s\].
    pub sleep_speed: f64,
}

impl Default for Ipc {
    fn default() -> Self {
        Self {
            scheme: Scheme::Euler,
            tolerance: 1e-3,
            most_newton: 200,
            solver: LinearSolver::Automatic { tolerance: 1e-4 },
            gap: None,
            friction: 0.0,
            friction_speed: 1e-3,
            friction_passes: 2,
            contact_stiffness: 1.0,
            rigid_stiffness: 1e9,
            sleep_after: f64::INFINITY,
            sleep_speed: 1e-3,
        }
    }
}

impl Ipc {
    /// A step, or, where what has prescribed motion finds no room, shorter ones that lead to the same time.
    pub(super) fn step(
        &self,
        model: &Model,
        state: &mut State,
        h: f64,
        work: &mut Workspace,
    ) -> Result<StepReport, StepError> {
        match self.whole_step(model, state, h, work) {
            Err(error) if error.has_no_room() && !driven_by_caller(model) => {
                self.divided_step(model, state, h, work, error)
            }
            done => done,
        }
    }

    /// Wakes what sleeps, takes the drives of articulations, minimises E, and takes velocities from where that leads.
    fn whole_step(
        &self,
        model: &Model,
        state: &mut State,
        h: f64,
        work: &mut Workspace,
    ) -> Result<StepReport, StepError> {
        let Workspace { ipc: w, next, .. } = work;
        next.copy_from(state);
        let mut report = StepReport { substeps: 1, last_substep: h, ..StepReport::default() };
        if !w.find_sleepers(self, model, state, h) {
            w.take_drives(model, state, h)?;
            self.minimise_under_torques(model, state, next, h, w, &mut report)?;
            w.refuse_squeezed(model, state)?;
            w.write_state(model, next, self.scheme);
            w.return_drives(model, h, next);
            w.fall_asleep(self, model, h, next);
            crate::mapping::carry_all(&model.mappings, &mut next.q, &mut next.v);
            if !all_finite(&next.q) || !all_finite(&next.v) {
                return Err(super::phase::not_finite(model, state, h, &next.q, &next.v, "ipc"));
            }
            next.controller.h = w.potential.d;
        }
        next.advance_time(h);
        if self.scheme == Scheme::Bdf2 {
            next.remember(&model.layout, &state.q, &state.v, h);
        }
        std::mem::swap(state, next);
        report.time = state.time;
        Ok(report)
    }

    /// Minimises E with torques as forces on columns, taken with the pose at the start of the step, so that they have a potential
    /// within it.
    fn minimise_under_torques(
        &self,
        model: &Model,
        state: &mut State,
        next: &mut State,
        h: f64,
        w: &mut IpcWork,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let torques = model.ipc.as_ref().map_or(&[][..], |ipc| &ipc.torques);
        if torques.is_empty() {
            return self.minimise(model, state, h, w, report);
        }
        next.applied.resize(model.layout.len_v(), 0.0);
        let t = state.time_after(h);
        torques.iter().for_each(|torque| torque.add(t, &state.q, &mut next.applied));
        let given = std::mem::replace(&mut state.applied, std::mem::take(&mut next.applied));
        let done = self.minimise(model, state, h, w, report);
        next.applied.clone_from(&given);
        state.applied = given;
        done
    }
}

/// True if a caller drives an articulation: that is prescribed for the whole step, which cannot be divided.
fn driven_by_caller(model: &Model) -> bool {
    let articulations = model.ipc.as_ref().map_or(&[][..], |ipc| &ipc.articulations);
    articulations.iter().any(|a| matches!(a.driver, Driver::External))
}
