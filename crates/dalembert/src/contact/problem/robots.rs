//! Robots in the contact problem: which columns each contact has, and what their dynamics make of the impulses.

use std::ops::Range;

use super::{Contact, ContactProblem};
use crate::contact::response::bounded_row::BoundedRow;
use crate::contact::response::half_solve::{Known, RobotPoint};
use crate::contact::response::robot::RobotResponder;
use crate::contact::response::{Columns, CoupledBodies, NONE, Responder};
use crate::math::Vec3;

/// Rounds in which servos find out whether they reach the bounds of their forces.
const SERVO_ROUNDS: u32 = 8;

/// Writes the impulses of some contacts into a list with one number for each column of some trees.
fn sign_impulses<'a>(
    contacts: impl Iterator<Item = (&'a Contact, [Vec3; 2])>,
    coupled: &CoupledBodies,
    columns: usize,
    signed: &mut Vec<f64>,
) {
    signed.clear();
    signed.resize(columns, 0.0);
    for (c, [p, s]) in contacts {
        for (side, sign) in c.sides.iter().zip([1.0, -1.0]) {
            let Some(columns) = side.link_columns(coupled) else { continue };
            let at = columns.column as usize;
            (0..3).for_each(|i| signed[at + i] = sign * p[i]);
            if c.spin != NONE {
                let at = at + columns.spin as usize;
                (0..3).for_each(|i| signed[at + i] = sign * s[i]);
            }
        }
    }
}

impl ContactProblem {
    /// Computes what is not known yet of the responses of all trees of an island.
    pub(crate) fn know(&mut self, range: Range<usize>, what: Known) {
        for k in range {
            for node in self.info[k].nodes {
                if let Some(g) = self.group_at(node) {
                    self.robots.know(g, what, &mut self.responses, &mut self.rows);
                }
            }
        }
    }

    /// Numbers of the rows of the robots that an island touches.
    pub(crate) fn rows_of(&self, range: Range<usize>, members: &mut Vec<u32>) {
        members.clear();
        if self.rows.is_empty() {
            return;
        }
        let mut last = NONE;
        for node in self.info[range].iter().flat_map(|i| i.nodes) {
            if let Some(g) = self.group_at(node).filter(|_| node != last) {
                last = node;
                members.extend(self.robots.groups[g].rows.clone().map(|r| r as u32));
            }
        }
        members.sort_unstable();
        members.dedup();
    }

    /// x += M⁻¹Jᵀ of changes of impulses and angular impulses of the contacts of an island of links, and of impulses of rows.
    pub(crate) fn apply_changes(
        &mut self,
        range: Range<usize>,
        changes: &[[Vec3; 2]],
        rows: (&[u32], &[f64]),
    ) {
        let mut x = std::mem::take(&mut self.x);
        self.apply_changes_to(range, changes, rows, &mut x);
        self.x = x;
    }

    /// The same for other velocities.
    pub(crate) fn apply_changes_to(
        &mut self,
        range: Range<usize>,
        changes: &[[Vec3; 2]],
        rows: (&[u32], &[f64]),
        x: &mut [f64],
    ) {
        let mut groups = std::mem::take(&mut self.touched_groups);
        groups.clear();
        groups.extend(self.info[range.clone()].iter().flat_map(|i| i.nodes).filter_map(|n| self.group_at(n)));
        groups.sort_unstable();
        groups.dedup();
        for &g in &groups {
            let contacts = self.contacts[range.clone()].iter().zip(changes.iter().copied());
            let (coupled, columns) = (*self.coupled_group(g), self.robots.groups[g].columns);
            let mut signed = std::mem::take(&mut self.signed);
            sign_impulses(contacts, &coupled, columns, &mut signed);
            self.robots.apply(g, &self.responses, &self.rows, &signed, rows, x);
            self.signed = signed;
        }
        self.touched_groups = groups;
    }

    /// What linear robots do without impulses of contacts and rows; their velocities have those of the step before in them.
    pub(super) fn take_free_robots(&mut self) {
        for robot in self.robots.robots.iter().filter(|robot| robot.linear) {
            self.free[robot.range()].copy_from_slice(robot.robot.velocity(&robot.work));
        }
    }

    /// Columns of the contacts on links, and where rows and responses will lie.
    pub(crate) fn reserve_robot_columns(&mut self) {
        if self.robots.robots.is_empty() {
            return;
        }
        self.number_columns();
        self.robots.half.clear();
        let numbers = &mut self.responses.numbers;
        for group in self.robots.groups.iter_mut().filter(|g| g.columns > 0) {
            let (n, m) = (group.trees.dofs.len(), group.columns);
            // J of robots that are not linear is added up below; the rest is written before it is read.
            let linear = self.robots.robots[group.robot].linear;
            group.J = if linear { numbers.take(n * m) } else { numbers.take_zeros(n * m) };
            group.known = Known::Nothing;
            group.Y = numbers.take(n * m);
            group.W = numbers.take(m * m);
        }
        for k in 0..self.contacts.len() {
            for s in 0..2 {
                let info = &self.info[k];
                let Some(g) = self.group_at(info.nodes[s]) else { continue };
                // A tree that touches itself has one triple of columns.
                let shared = s == 1 && info.nodes[0] == info.nodes[1];
                let at = if shared { 0 } else { s };
                let c = &self.contacts[k];
                let Responder::Link(_, columns) = c.sides[at] else { continue };
                let (group, coupled) = (&self.robots.groups[g], *self.coupled_group(g));
                let (m, column, first) = (group.columns, columns.column as usize, group.trees.dofs.start);
                let robot = &self.robots.robots[group.robot];
                if !robot.linear {
                    let (sign, spinning) = (if shared { -1.0 } else { 1.0 }, c.spin != NONE);
                    let numbers = &mut self.responses.numbers.list;
                    let (tree, link) = (&robot.robot.tree, info.links[s] as usize);
                    tree.each_column(link, &info.point, &robot.work.tree, |d, v, w| {
                        let at = group.J + (d - first) * m + column;
                        (0..3).for_each(|k| numbers[at + k] += sign * v[k]);
                        if spinning {
                            (0..3).for_each(|k| numbers[at + 3 + k] += sign * w[k]);
                        }
                    });
                }
                let columns = Columns {
                    first: coupled.first,
                    len: coupled.len,
                    at: (group.Y + column) as u32,
                    stride: m as u32,
                    spin: 3,
                    W: group.W as u32,
                    column: column as u32,
                };
                self.contacts[k].sides[at] = Responder::Link((group.J + column) as u32, columns);
            }
        }
    }

    /// Which columns of its group each contact has.
    fn number_columns(&mut self) {
        let slots = self.slots();
        self.robots.groups.iter_mut().for_each(|g| g.columns = 0);
        for (c, info) in self.contacts.iter_mut().zip(&self.info) {
            if info.nodes[0] == info.nodes[1] && matches!(c.sides[1], Responder::Link(..)) {
                c.sides[1] = Responder::World;
            }
            for (side, node) in c.sides.iter_mut().zip(info.nodes) {
                if let Responder::Link(_, columns) = side {
                    let group = &mut self.robots.groups[node as usize - slots];
                    columns.column = group.columns as u32;
                    group.columns += if c.spin == NONE { 3 } else { 6 };
                }
            }
        }
        self.robots.groups.iter_mut().for_each(|g| g.columns = g.columns.next_multiple_of(8));
    }

    /// v⁺ and responses of all robots, touched or not. True if some servo has reached or left a bound since the round before.
    pub(crate) fn respond_robots(&mut self, round: u32) -> bool {
        let mut again = false;
        // The dynamics of linear robots leave their links the velocities that the step begins with, and no others.
        let begins = self.robots.first().is_some_and(|first| self.robots.links_at == self.start[first..]);
        if round > 0 || !begins || self.robots.robots.iter().any(|robot| !robot.linear) {
            self.robots.links_at.clear();
        }
        std::mem::swap(&mut self.rows, &mut self.last_rows);
        self.rows.clear();
        for k in 0..self.robots.robots.len() {
            let RobotResponder { groups, linear, .. } = &self.robots.robots[k];
            let (groups, linear) = (groups.clone(), *linear);
            let touched = groups.clone().any(|g| self.coupled_group(g).touched);
            if round > 0 && (!touched || linear) {
                self.keep_rows(groups);
                if !touched {
                    continue;
                }
            }
            again |= if linear { self.respond_linear(k, round) } else { self.respond_whole(k, round) };
        }
        again
    }

    /// Rows of the round before.
    fn keep_rows(&mut self, groups: Range<usize>) {
        for group in &mut self.robots.groups[groups] {
            let first = self.rows.len();
            self.rows.extend_from_slice(&self.last_rows[group.rows.clone()]);
            group.rows = first..self.rows.len();
        }
    }

    /// A linear robot: its dynamics once, then servos that are at other bounds than assumed.
    fn respond_linear(&mut self, k: usize, round: u32) -> bool {
        let h = self.h;
        if round == 0 {
            let RobotResponder { robot, state, work, .. } = &mut self.robots.robots[k];
            robot.begin_trial(state, h, work);
            self.respond_groups(k, true);
        }
        let rounds = if round == 0 { SERVO_ROUNDS } else { 1 };
        let mut moved = false;
        for again in 1..=rounds {
            let all = self.robots.robots[k].range();
            let RobotResponder { robot, state, work, report, .. } = &mut self.robots.robots[k];
            report.iterations = report.iterations.max(again);
            if !robot.update_servos(state, &self.x[all], h, work) {
                break;
            }
            moved = true;
            report.unfinished |= again == SERVO_ROUNDS;
            self.respond_groups(k, false);
        }
        moved || round == 0
    }

    /// Half solves and velocities of the groups of a linear robot under the impulses as they are; its rows too if it is the
    /// first time.
    fn respond_groups(&mut self, k: usize, first: bool) {
        let robot = &self.robots.robots[k];
        let (groups, all) = (robot.groups.clone(), robot.range());
        self.x[all.clone()].copy_from_slice(robot.robot.velocity(&robot.work));
        for g in groups.clone() {
            if self.coupled_group(g).touched {
                self.half_solve(g);
                self.apply_group_impulses(g);
            }
        }
        if first {
            let RobotResponder { robot, state, work, .. } = &mut self.robots.robots[k];
            robot.find_rows(state, &self.x[all], self.h, work);
            self.load_rows(k);
        }
        let islands = self.joint_islands();
        for g in groups {
            let Self { robots, responses, rows, x, coupled, .. } = self;
            if !robots.groups[g].rows.is_empty() {
                if !first {
                    robots.half_solve_rows(g, &coupled[islands + g], responses, rows);
                    robots.apply_rows(g, responses, rows, x, |row| row.impulse);
                }
                robots.solve_rows(g, responses, rows, x);
            }
        }
    }

    /// Half solves of all points of a group.
    fn half_solve(&mut self, g: usize) {
        let (node, coupled) = ((self.slots() + g) as u32, *self.coupled_group(g));
        let mut points = std::mem::take(&mut self.points);
        points.clear();
        for (c, info) in self.contacts[coupled.contacts()].iter().zip(&self.info[coupled.contacts()]) {
            let shared = info.nodes[0] == info.nodes[1];
            for angular in [false, true].into_iter().filter(|angular| !angular || c.spin != NONE) {
                for s in 0..2 {
                    let Responder::Link(_, columns) = c.sides[if shared { 0 } else { s }] else { continue };
                    if info.nodes[s] != node {
                        continue;
                    }
                    points.push(RobotPoint {
                        column: (columns.column + if angular { columns.spin } else { 0 }) as usize,
                        // The sign of a side is that of its impulse; of a tree that touches itself the column is the
                        // difference of its points.
                        sign: if shared && s == 1 { -1.0 } else { 1.0 },
                        link: info.links[s],
                        point: info.point,
                        angular,
                    });
                }
            }
        }
        self.robots.half_solve(g, coupled.to - coupled.from, &points, &mut self.responses);
        self.points = points;
    }

    /// x += M⁻¹Jᵀp of all contacts of a group.
    fn apply_group_impulses(&mut self, g: usize) {
        let (coupled, columns) = (*self.coupled_group(g), self.robots.groups[g].columns);
        let mut signed = std::mem::take(&mut self.signed);
        let contacts = self.contacts[coupled.contacts()].iter().map(|c| (c, self.impulses_of(c)));
        sign_impulses(contacts, &coupled, columns, &mut signed);
        self.robots.apply(g, &self.responses, &self.rows, &signed, (&[], &[]), &mut self.x);
        self.signed = signed;
    }

    /// Rows with bounds of robot k as its robot has them, by groups, with their responses.
    fn load_rows(&mut self, k: usize) {
        let (islands, robot) = (self.joint_islands(), &self.robots.robots[k]);
        let begin = self.rows.len();
        let (numbers, rows, order) = (&mut self.responses.numbers, &mut self.rows, &mut self.row_order);
        let first = robot.groups.start;
        let groups = &self.robots.groups[robot.groups.clone()];
        order.clear();
        robot.robot.bounded_rows(&robot.work, |r, entries| {
            let mut at = 0;
            let mut own = None;
            let (mut last, mut count) = (None, 0);
            for (d, a) in entries {
                let g = *own.get_or_insert_with(|| {
                    let g = groups.partition_point(|g| g.trees.dofs.end <= d);
                    at = numbers.take_zeros(2 * groups[g].trees.dofs.len());
                    g
                });
                let d = d - groups[g].trees.dofs.start;
                numbers.list[at + d] = a;
                (last, count) = (Some((d as u32, a)), count + 1);
            }
            // A row that moves nothing asks for nothing.
            let Some(g) = own else { return };
            order.push((g as u32, order.len() as u32));
            let mut row = BoundedRow::new(&r, &self.coupled[islands + first + g], at as u32, self.h);
            if let (Some((d, a)), 1) = (last, count) {
                (row.only, row.coefficient) = (row.first + d, a);
            }
            rows.push(row);
        });
        // By groups, otherwise in the order of the robot.
        order.sort_unstable();
        let made = rows.len();
        for (_, i) in &*order {
            rows.push(rows[begin + *i as usize]);
        }
        rows.drain(begin..made);
        let (groups, linear, mut at) = (robot.groups.clone(), robot.linear, 0);
        for g in groups.clone() {
            let from = at;
            while at < order.len() && order[at].0 as usize == g - first {
                at += 1;
            }
            self.robots.groups[g].rows = begin + from..begin + at;
        }
        for g in groups {
            let Self { robots, responses, rows, coupled, .. } = self;
            if linear {
                robots.half_solve_rows(g, &coupled[islands + g], responses, rows);
            } else {
                robots.whole_row_columns(g, self.h, responses, rows);
            }
        }
    }

    /// A robot by its own solver.
    fn respond_whole(&mut self, k: usize, round: u32) -> bool {
        self.load_robot_forces(k);
        let h = self.h;
        let robot = &mut self.robots.robots[k];
        let (g, range) = (robot.groups.start, robot.range());
        let RobotResponder { robot, state, work, forces, bounds, last_bounds, report, .. } = robot;
        robot.trial(state, forces, h, work, report);
        self.x[range].copy_from_slice(robot.velocity(work));
        robot.saturation(work, bounds);
        let changed = round == 0 || bounds != last_bounds;
        std::mem::swap(bounds, last_bounds);
        let touched = self.coupled_group(g).touched;
        if changed && touched {
            self.robots.whole_columns(g, h, &mut self.responses);
        }
        self.robots.groups[g].rows = 0..0;
        if touched {
            self.load_rows(k);
        }
        changed
    }

    /// Σ Jᵀp/h of the contacts of robot k, which has one group.
    fn load_robot_forces(&mut self, k: usize) {
        let islands = self.joint_islands();
        let RobotResponder { groups, forces, .. } = &mut self.robots.robots[k];
        let coupled = &self.coupled[islands + groups.start];
        forces.fill(0.0);
        for c in &self.contacts {
            for (side, sign) in c.sides.iter().zip([1.0 / self.h, -1.0 / self.h]) {
                let (Some(columns), Responder::Link(rows, _)) = (side.link_columns(coupled), side) else {
                    continue;
                };
                let mut add = |at: u32, p: &Vec3| {
                    let rows = self.responses.numbers.list[at as usize..].chunks(columns.stride as usize);
                    for (e, j) in forces.iter_mut().zip(rows) {
                        *e += sign * (j[0] * p.x + j[1] * p.y + j[2] * p.z);
                    }
                };
                add(*rows, &c.impulse);
                if c.spin != NONE {
                    add(rows + columns.spin, &self.spins[c.spin as usize].impulse);
                }
            }
        }
    }

    /// Robot k takes the velocities that go with the impulses found; `solved` if it has them already.
    pub(crate) fn take_robot_velocities(&mut self, k: usize, solved: bool) {
        let robot = &self.robots.robots[k];
        let (groups, range, linear) = (robot.groups.clone(), robot.range(), robot.linear);
        if linear {
            for g in groups {
                let touched = self.coupled_group(g).touched;
                let Self { robots, responses, rows, x, .. } = self;
                if touched && !solved && !robots.groups[g].rows.is_empty() {
                    robots.solve_rows(g, responses, rows, x);
                }
            }
            let RobotResponder { robot, work, .. } = &mut self.robots.robots[k];
            robot.set_velocity(&self.x[range], work);
        } else if self.coupled_group(groups.start).touched && !solved {
            self.load_robot_forces(k);
            let RobotResponder { robot, state, work, forces, report, .. } = &mut self.robots.robots[k];
            robot.trial(state, forces, self.h, work, report);
        }
    }
}
