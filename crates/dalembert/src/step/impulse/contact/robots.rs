//! Robots under contact: rows J of the points that touch over the dofs, answers M⁻¹Jᵀ by the factor of the tree.

use super::sweep::{Columns, Side};
use super::{ContactWork, NONE};
use crate::bodies::articulated::machine::{MachineReport, MachineState, MachineWork};
use crate::math::{Pose, Vec3};
use crate::model::{Model, Part, State, TouchModel};
use crate::step::{StepError, StepReport};

/// Room of one robot.
#[derive(Debug)]
struct Room {
    state: MachineState,
    work: MachineWork,
    /// Forces of contacts on the dofs.
    extra: Vec<f64>,
    stands: Vec<i8>,
    last_stands: Vec<i8>,
    /// Columns of all its contacts.
    columns: Vec<f64>,
    report: MachineReport,
}

/// Room of all robots.
#[derive(Debug, Default)]
pub(super) struct RobotRoom {
    rooms: Vec<Room>,
    packed: Vec<f64>,
}

impl RobotRoom {
    pub(super) fn len(&self) -> usize {
        self.rooms.len()
    }

    /// Room for the robots of a model.
    pub(super) fn fit(&mut self, model: &Model) {
        self.rooms = model
            .robots
            .iter()
            .map(|part| Room {
                state: part.machine.blank(),
                work: part.machine.work(),
                extra: vec![0.0; part.machine.tree.freedoms()],
                stands: Vec::new(),
                last_stands: Vec::new(),
                columns: Vec::new(),
                report: MachineReport::default(),
            })
            .collect();
    }

    pub(super) fn work(&self, robot: usize) -> &MachineWork {
        &self.rooms[robot].work
    }

    pub(super) fn work_mut(&mut self, robot: usize) -> &mut MachineWork {
        &mut self.rooms[robot].work
    }

    /// Pose, velocity and angular velocity of a link.
    pub(super) fn link(&self, model: &Model, robot: usize, link: usize) -> (Pose, Vec3, Vec3) {
        let (tree, work) = (&model.robots[robot].machine.tree, &self.rooms[robot].work.tree);
        let pose = tree.link_pose(link, work);
        let motion = tree.point_velocity(link, &pose.position, work);
        (pose, motion.linear, motion.angular)
    }
}

impl ContactWork {
    /// States and poses of all robots.
    pub(super) fn load_robots(&mut self, model: &Model, state: &State) {
        let first = self.clusters.len() - self.robots.len();
        for (k, (part, room)) in model.robots.iter().zip(&mut self.robots.rooms).enumerate() {
            room.state.unpack(state.time, &state.robots[part.place.clone()]);
            room.report = MachineReport::default();
            let tree = &part.machine.tree;
            tree.kinematics(&room.state.q, &mut room.work.tree);
            tree.velocities(&room.state.v, &mut room.work.tree);
            let cluster = self.clusters[first + k];
            let range = cluster.first as usize..(cluster.first + cluster.len) as usize;
            self.start[range.clone()].copy_from_slice(&room.state.v);
            self.field.x[range].copy_from_slice(&room.state.v);
        }
    }

    /// Rows of the contacts on links, and where their answers will lie.
    pub(super) fn reserve_rows(&mut self, touch: &TouchModel, model: &Model) {
        if self.robots.rooms.is_empty() {
            return;
        }
        let islands = self.clusters.len() - self.robots.len();
        for (c, info) in self.contacts.iter_mut().zip(&self.info) {
            for s in 0..2 {
                let Side::Link(..) = c.sides[s] else { continue };
                let body = touch.colliders[[info.a, info.b][s] as usize].body;
                let Part::Link { robot, link } = touch.parts[body as usize] else { continue };
                let cluster = self.clusters[islands + robot as usize];
                let n = 3 * cluster.len as usize;
                let wide = if c.spin == NONE { 1 } else { 2 };
                let numbers = &mut self.field.numbers;
                let at = numbers.len();
                numbers.resize(at + 2 * wide * n, 0.0);
                let (linear, angular) = numbers[at..at + wide * n].split_at_mut(n);
                let room = &self.robots.rooms[robot as usize];
                let machine = &model.robots[robot as usize].machine;
                machine.contact_rows(link as usize, &info.point, &room.work, linear, angular);
                let columns = Columns { first: cluster.first, len: cluster.len, at: (at + wide * n) as u32 };
                c.sides[s] = Side::Link(at as u32, columns);
            }
        }
    }

    /// v⁺ and answers of all robots, touched or not. True if some row stands otherwise than in the round before.
    pub(super) fn answer_robots(
        &mut self,
        model: &Model,
        h: f64,
        round: u32,
        report: &mut StepReport,
    ) -> bool {
        let islands = self.clusters.len() - self.robots.len();
        let mut again = false;
        let rows_before = self.bound_rows.len();
        for k in 0..self.robots.len() {
            let cluster = self.clusters[islands + k];
            if round > 0 && !cluster.touched {
                continue;
            }
            self.load_extra(k, h);
            let machine = &model.robots[k].machine;
            let Room { state, work, extra, stands, last_stands, report: one, .. } = &mut self.robots.rooms[k];
            machine.trial(state, extra, h, work, one);
            let first = cluster.first as usize;
            self.field.x[first..first + cluster.len as usize].copy_from_slice(machine.tried(work));
            machine.stands(work, stands);
            let changed = round == 0 || stands != last_stands;
            std::mem::swap(stands, last_stands);
            again |= changed;
            if changed && cluster.touched {
                self.fill_robot_columns(k, model, h);
            }
            if cluster.touched {
                self.load_bound_rows(k, model, h);
            }
        }
        self.bound_rows.drain(..rows_before);
        let _ = report;
        again
    }

    /// Σ Jᵀp/h of the contacts of robot k.
    fn load_extra(&mut self, k: usize, h: f64) {
        let cluster = self.clusters[self.clusters.len() - self.robots.len() + k];
        let (n, extra) = (cluster.len as usize, &mut self.robots.rooms[k].extra);
        extra.fill(0.0);
        for c in &self.contacts {
            for (s, side) in c.sides.iter().enumerate() {
                let Side::Link(rows, columns) = *side else { continue };
                if columns.first != cluster.first || columns.len != cluster.len {
                    continue;
                }
                let sign = if s == 0 { 1.0 / h } else { -1.0 / h };
                let mut add = |at: usize, p: &Vec3| {
                    for (e, j) in extra.iter_mut().zip(self.field.numbers[at..at + 3 * n].as_chunks::<3>().0)
                    {
                        *e += sign * (j[0] * p.x + j[1] * p.y + j[2] * p.z);
                    }
                };
                add(rows as usize, &c.impulse);
                if c.spin != NONE {
                    add(rows as usize + 3 * n, &self.spins[c.spin as usize].impulse);
                }
            }
        }
    }

    /// Answers of robot k to all its contacts at once.
    fn fill_robot_columns(&mut self, k: usize, model: &Model, h: f64) {
        let cluster = self.clusters[self.clusters.len() - self.robots.len() + k];
        let n = cluster.len as usize;
        // Places of rows and answers, three columns each.
        let blocks = |contacts: &[super::Contact]| {
            let mut list: Vec<(usize, usize)> = Vec::new();
            for c in contacts {
                for side in &c.sides {
                    if let Side::Link(rows, columns) = *side
                        && columns.first == cluster.first
                        && columns.len == cluster.len
                    {
                        list.push((rows as usize, columns.at as usize));
                        if c.spin != NONE {
                            list.push((rows as usize + 3 * n, columns.at as usize + 3 * n));
                        }
                    }
                }
            }
            list
        };
        let list = blocks(&self.contacts);
        let m = 3 * list.len();
        let room = &mut self.robots.rooms[k];
        let Y = &mut room.columns;
        Y.clear();
        Y.resize(n * m, 0.0);
        for (b, (rows, _)) in list.iter().enumerate() {
            for d in 0..n {
                Y[d * m + 3 * b..d * m + 3 * b + 3]
                    .copy_from_slice(&self.field.numbers[rows + 3 * d..rows + 3 * d + 3]);
            }
        }
        model.robots[k].machine.respond(h, m, Y, &mut room.work);
        for (b, (_, at)) in list.iter().enumerate() {
            for d in 0..n {
                self.field.numbers[at + 3 * d..at + 3 * d + 3]
                    .copy_from_slice(&Y[d * m + 3 * b..d * m + 3 * b + 3]);
            }
        }
    }

    /// Robots once more under the impulses found, then they move.
    pub(super) fn conclude_robots(
        &mut self,
        model: &Model,
        state: &mut State,
        h: f64,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let islands = self.clusters.len() - self.robots.len();
        for (k, part) in model.robots.iter().enumerate() {
            let cluster = self.clusters[islands + k];
            self.load_extra(k, h);
            let Room { state: own, work, extra, report: one, .. } = &mut self.robots.rooms[k];
            if cluster.touched && !self.fresh {
                part.machine.trial(own, extra, h, work, one);
            }
            let push = cluster.first as usize..(cluster.first + cluster.len) as usize;
            part.machine.conclude(own, h, &self.push[push], work, one)?;
            report.iterations = report.iterations.max(one.iterations);
            report.residual = report.residual.max(one.residual);
            report.weak_rows += one.weak_rows;
            report.gap = report.gap.max(one.gap);
            report.projections += one.projections;
            report.unfinished |= one.unfinished;
            self.robots.packed.clear();
            own.pack(&mut self.robots.packed);
            state.robots[part.place.clone()].copy_from_slice(&self.robots.packed);
        }
        Ok(())
    }
}
