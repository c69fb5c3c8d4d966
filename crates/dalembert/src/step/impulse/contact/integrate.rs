//! Everything moves: islands of joints, robots, bodies by themselves, and what touches nothing.
//!
//! **Particles** that touch are balls that do not turn: they have no arm and no inertia, so a contact acts on them at their
//! centre, friction included. Impulses on particles of no joint go in with their forces, $v^+ = v + h M^{-1}(F + p/h)$,
//! $x^+ = x + h v^+$: springs keep the symplectic step that they have without contact. Particles that filters hold take no
//! impulses.

use super::{ContactWork, StepInput};
use crate::bodies::Rigid;
use crate::contact::response::NONE;
use crate::contact::response::robot::RobotResponder;
use crate::math::{add_triple, set_triple, triple};
use crate::model::Model;
use crate::state::State;
use crate::step::impulse::ImpulseWork;
use crate::step::{StepError, StepReport};

impl ContactWork {
    /// Moves everything along the velocities found and those that take overlaps away.
    pub(super) fn integrate(
        &mut self,
        given: &StepInput,
        state: &mut State,
        f: &mut [f64],
        own: &mut ImpulseWork,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let StepInput { model, h, .. } = *given;
        self.load_forces(model, f, h);
        self.integrate_joint_islands(given, state, f, own, report);
        self.integrate_robots(model, state, h, report)?;
        self.integrate_bodies(model, state, h);
        self.joint_trees.store_forces(self.large.groups(), own, state, h);
        let length = given.contact.length;
        self.joint_trees.close(self.large.groups_mut(), model, state, own, h, length, report);
        own.loose.step_others(model, state, f, h);
        self.correct_particles(model, state, h);
        Ok(())
    }

    fn integrate_joint_islands(
        &mut self,
        given: &StepInput,
        state: &mut State,
        f: &[f64],
        own: &mut ImpulseWork,
        report: &mut StepReport,
    ) {
        let StepInput { model, h, settings, .. } = *given;
        for i in 0..self.problem.joint_islands() {
            if self.joint_trees.has(i) {
                continue;
            }
            let coupled = self.problem.coupled[i];
            let mut one = StepReport::default();
            own.enter_island(i, settings, coupled.touched);
            own.solve_island(settings, &given.start(state, f), coupled.touched, &mut one);
            own.store_forces(state, h);
            own.drift(model, state, h);
            if coupled.touched {
                for (n, node) in own.system.island.nodes.iter().enumerate() {
                    let at = coupled.first as usize + 6 * n;
                    let delta: [f64; 6] = std::array::from_fn(|k| h * self.split.x[at + k]);
                    if delta != [0.0; 6] {
                        model.nudge(node.holder, &delta, &mut state.q);
                    }
                }
            }
            if settings.projection {
                own.project(model, state, h, &mut one);
            }
            own.islands[i] = own.system.leave();
            report.weak_rows += one.weak_rows;
            report.add_worst(&one);
        }
    }

    fn integrate_robots(
        &mut self,
        model: &Model,
        state: &mut State,
        h: f64,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        for (k, part) in model.robots.iter().enumerate() {
            self.problem.take_robot_velocities(k, self.robots_solved);
            let robot = &mut self.problem.robots.robots[k];
            let push = &self.split.x[robot.range()];
            let RobotResponder { robot, state: own, work, report: one, .. } = robot;
            robot.finish_step(own, h, push, work, one).map_err(|error| error.of(&part.name))?;
            report.take_robots(one);
            part.store(own, state);
        }
        Ok(())
    }

    /// Bodies by themselves.
    fn integrate_bodies(&mut self, model: &Model, state: &mut State, h: f64) {
        let p = &self.problem;
        for (k, &slot) in p.slot_of_rigid.iter().enumerate() {
            let slot = slot as usize;
            if self.sleepers.is_asleep(k)
                || self.drift_large(model, state, k, slot, h)
                || p.coupled_of[slot] != NONE
            {
                continue;
            }
            let State { q, v, .. } = &mut *state;
            let moved = self.restitution.moved[slot];
            let (v0, free) = (triple(&p.start, 2 * slot), triple(&p.free, 2 * slot));
            let x = triple(&q[7 * k..], 0);
            v[6 * k..6 * k + 6].copy_from_slice(&p.x[6 * slot..6 * slot + 6]);
            model.rigid.free_flight_of(q, v, k, h);
            if !moved.held {
                // The parabola, and each impact from its time on.
                let to = x + 0.5 * h * (v0 + free) + moved.late;
                set_triple(&mut q[7 * k..], 0, &to);
            }
            let push = &self.split.x[6 * slot..6 * slot + 6];
            if push.iter().any(|p| *p != 0.0) {
                let delta: [f64; 6] = std::array::from_fn(|i| h * push[i]);
                Rigid::advance(&mut q[7 * k..7 * k + 7], &delta);
            }
        }
    }

    /// Split impulses of particles of no joint.
    fn correct_particles(&self, model: &Model, state: &mut State, h: f64) {
        let (p, points) = (&self.problem, model.layout.points_q());
        for (i, &slot) in p.slot_of_particle.iter().enumerate() {
            if slot != NONE && p.coupled_of[slot as usize] == NONE {
                let push = triple(&self.split.x, 2 * slot as usize);
                add_triple(&mut state.q[points..], i, &(h * push));
            }
        }
    }
}
