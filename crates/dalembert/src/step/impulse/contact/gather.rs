//! What bodies are and where, at the start of the step.

use super::{ContactWork, StepInput};
use crate::contact::ColliderOwner;
use crate::contact::detection::MARGIN;
use crate::contact::response::robot::RobotResponder;
use crate::contact::response::{InverseInertia, NONE};
use crate::math::{Mat3, Pose, set_triple, triple};
use crate::model::Model;
use crate::robot::RobotReport;
use crate::state::State;

impl ContactWork {
    /// Velocities at the start and without contacts, and inverse inertias, of bodies by themselves; poses and reach of all.
    pub(super) fn gather(&mut self, given: &StepInput, state: &State, f: &[f64]) {
        self.gather_bodies(given, state, f);
        self.gather_particles(given, state, f);
        self.gather_robots(given.model, state);
        self.gather_poses(given, state);
    }

    fn gather_bodies(&mut self, given: &StepInput, state: &State, f: &[f64]) {
        let (p, model) = (&mut self.problem, given.model);
        p.start.clear();
        p.start.resize(p.x.len(), 0.0);
        p.responses.inverse.resize(p.coupled_of.len(), InverseInertia { mass: 0.0, inertia: Mat3::zeros() });
        for (k, &slot) in p.slot_of_rigid.iter().enumerate() {
            let slot = slot as usize;
            p.start[6 * slot..6 * slot + 6].copy_from_slice(&state.v[6 * k..6 * k + 6]);
            if p.coupled_of[slot] == NONE {
                let inertia = model.rigid.world_inv_inertia(&state.q, k);
                let mass = model.rigid.inv_mass[k];
                p.responses.inverse[slot] = InverseInertia { mass, inertia };
                let h = if self.sleepers.is_asleep(k) { 0.0 } else { given.h };
                let v = triple(&state.v, 2 * k) + h * mass * triple(f, 2 * k);
                let w = triple(&state.v, 2 * k + 1) + h * (inertia * triple(f, 2 * k + 1));
                set_triple(&mut p.x, 2 * slot, &v);
                set_triple(&mut p.x, 2 * slot + 1, &w);
            }
        }
    }

    fn gather_particles(&mut self, given: &StepInput, state: &State, f: &[f64]) {
        let (p, first) = (&mut self.problem, given.model.layout.points_v());
        for (i, &slot) in p.slot_of_particle.iter().enumerate().filter(|(_, s)| **s != NONE) {
            let (slot, at) = (slot as usize, first + 3 * i);
            p.start[6 * slot..6 * slot + 3].copy_from_slice(&state.v[at..at + 3]);
            if p.coupled_of[slot] == NONE {
                let mass = 1.0 / given.model.particles.mass[i];
                p.responses.inverse[slot] = InverseInertia { mass, inertia: Mat3::zeros() };
                let v = triple(&state.v[at..], 0) + given.h * mass * triple(&f[at..], 0);
                set_triple(&mut p.x, 2 * slot, &v);
                p.x[6 * slot + 3..6 * slot + 6].fill(0.0);
            }
        }
    }

    /// States and poses of all robots.
    fn gather_robots(&mut self, model: &Model, state: &State) {
        let p = &mut self.problem;
        p.robots.links_at.clear();
        for (part, robot) in model.robots.iter().zip(&mut p.robots.robots) {
            let range = robot.range();
            let RobotResponder { robot, state: own, work, report, .. } = robot;
            robot.clone_from(&part.robot);
            part.load(state, own);
            *report = RobotReport::default();
            robot.tree.kinematics(&own.q, &mut work.tree);
            robot.tree.velocities(&own.v, &mut work.tree);
            p.start[range.clone()].copy_from_slice(&own.v);
            p.x[range].copy_from_slice(&own.v);
        }
        if let Some(first) = p.robots.first() {
            p.robots.links_at.extend_from_slice(&p.start[first..]);
        }
    }

    fn gather_poses(&mut self, given: &StepInput, state: &State) {
        let StepInput { contact, model, h, .. } = *given;
        let (margin, points) = (MARGIN * contact.length, model.layout.points_v());
        let detection = &mut self.detection;
        detection.poses.clear();
        detection.reach.clear();
        self.ccd.fast = false;
        for (owner, radius) in contact.owners.iter().zip(&detection.radius) {
            let (pose, speed) = match *owner {
                ColliderOwner::Rigid(k) => {
                    let k = k as usize;
                    let (v, w) = (triple(&state.v, 2 * k), triple(&state.v, 2 * k + 1));
                    (model.rigid.pose(&state.q, k), v.norm() + w.norm() * radius)
                }
                ColliderOwner::Particle(i) => {
                    let v = triple(&state.v[points..], i as usize);
                    (Pose::at(triple(&state.q[model.layout.points_q()..], i as usize)), v.norm())
                }
                ColliderOwner::Link { robot, link } => {
                    let (pose, v, w) = self.problem.robots.link(robot as usize, link as usize);
                    (pose, v.norm() + w.norm() * radius)
                }
            };
            // As far as it moves in a step, and a fall from rest.
            let fall = h * h * self.problem.gravity + margin;
            let far = h * speed + fall;
            self.ccd.note(far - fall);
            detection.poses.push(pose);
            detection.reach.push(far);
        }
    }
}
