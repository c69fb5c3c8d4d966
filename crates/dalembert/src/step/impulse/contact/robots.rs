//! Robots under contact: rows J of the points that touch over the dofs, answers M⁻¹Jᵀ by the factor of the tree.
//!
//! What one tree of a robot does reaches no other, so each is a cluster of its own; so are trees that tendons join. All
//! columns of a cluster lie side by side, for each dof those of all its contacts, and with them $W = J M^{-1}J^T$. A
//! contact of a tree with itself is one column, the difference of its two points. Most of this is not asked for where the
//! impulses of the step before hold: see `halves`.
//!
//! A robot whose rows all have bounds is *simple*: v⁺ is linear in the impulses of contacts and rows as long as its
//! servos stand as they do, so velocities are brought up to date by M⁻¹Jᵀ alone and its dynamics are computed once per step.
//! Robots with loops, or with springs and servos on tendons, are solved anew by their own solver in every round.

use super::halves::{Halves, Known};
use super::rows::BoundRow;
use super::sweep::{Columns, Side};
use super::{ContactWork, NONE};
use crate::bodies::articulated::{PathDof, TreeGroup};
use crate::contact::{Part, TouchModel};
use crate::math::{Pose, Vec3};
use crate::model::Model;
use crate::robot::{RobotReport, RobotState, RobotWork};
use crate::solve::box_lcp::{Bounds, BoxLcpWork, solve_box_lcp};
use crate::state::State;
use crate::step::{StepError, StepReport};
use std::ops::Range;

/// Rounds in which servos find out whether they reach the bounds of their forces.
const SERVO_ROUNDS: u32 = 8;

/// Room of one robot.
#[derive(Debug)]
pub(super) struct Room {
    state: RobotState,
    pub(super) work: RobotWork,
    /// What ways from points to the world read of the dofs of its groups that touch something.
    pub(super) path_dofs: Vec<PathDof>,
    pub(super) simple: bool,
    /// Its groups.
    groups: Range<usize>,
    /// First velocity.
    first: usize,
    /// Group of each link.
    of_link: Vec<u32>,
    /// Forces of contacts on the dofs.
    extra: Vec<f64>,
    stands: Vec<i8>,
    last_stands: Vec<i8>,
    report: RobotReport,
}

/// Trees of a robot that answer together.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) robot: usize,
    pub(super) trees: TreeGroup,
    /// Columns of its contacts, and some more to the next multiple of eight, whose numbers are nothing.
    pub(super) columns: usize,
    /// Where J, M⁻¹Jᵀ and W begin in the numbers.
    pub(super) J: usize,
    pub(super) Y: usize,
    pub(super) W: usize,
    /// Its rows with bounds.
    pub(super) rows: Range<usize>,
    /// What is known of its answers.
    pub(super) known: Known,
    /// Its arms.
    pub(super) arms: Range<usize>,
}

/// Room of all robots.
#[derive(Debug, Default)]
pub(super) struct RobotRoom {
    pub(super) rooms: Vec<Room>,
    pub(super) groups: Vec<Group>,
    /// Velocities of all robots that their links have, if that is known.
    links_at: Vec<f64>,
    /// Signed impulses of all columns of a group.
    pub(super) signed: Vec<f64>,
    pub(super) halves: Halves,
    pub(super) halves_groups: Vec<usize>,
    last_rows: Vec<BoundRow>,
    pub(super) order: Vec<(u32, u32)>,
    D: Vec<f64>,
    d: Vec<f64>,
    bounds: Vec<Bounds>,
    lambda: Vec<f64>,
    box_lcp: BoxLcpWork,
}

impl RobotRoom {
    /// Number of groups of trees.
    pub(super) fn groups(&self) -> usize {
        self.groups.len()
    }

    /// A group of trees.
    pub(super) fn group(&self, g: usize) -> &Group {
        &self.groups[g]
    }

    /// Room for the robots of a model, whose velocities begin at `first`; returns where they end.
    pub(super) fn fit(&mut self, model: &Model, mut first: u32, clusters: &mut Vec<super::Cluster>) -> u32 {
        for (k, part) in model.robots.iter().enumerate() {
            let robot = &part.robot;
            let begin = self.groups.len();
            for trees in robot.groups() {
                let at = first + trees.dofs.start as u32;
                let len = trees.dofs.len() as u32;
                clusters.push(super::Cluster { first: at, len, ..super::Cluster::default() });
                let (known, arms) = (Known::Nothing, 0..0);
                self.groups.push(Group {
                    robot: k,
                    trees,
                    columns: 0,
                    J: 0,
                    Y: 0,
                    W: 0,
                    rows: 0..0,
                    known,
                    arms,
                });
            }
            let of_link = (0..robot.tree.link_count())
                .map(|link| {
                    let node = robot.tree.node_of_link(link);
                    let holds = |g: &Group| g.trees.nodes.contains(&node);
                    self.groups[begin..].iter().position(holds).map_or(NONE, |g| (begin + g) as u32)
                })
                .collect();
            self.rooms.push(Room {
                state: robot.blank(),
                work: robot.work(),
                path_dofs: Vec::new(),
                simple: robot.is_simple(),
                groups: begin..self.groups.len(),
                first: first as usize,
                of_link,
                extra: vec![0.0; robot.tree.freedoms()],
                stands: Vec::new(),
                last_stands: Vec::new(),
                report: RobotReport::default(),
            });
            first += robot.tree.freedoms() as u32;
        }
        first
    }

    /// Where the velocities of robots begin, if there are any.
    fn first(&self) -> Option<usize> {
        self.rooms.first().map(|room| room.first)
    }

    /// The group that a link belongs to; `NONE` if it stands in the world.
    pub(super) fn group_of(&self, robot: usize, link: usize) -> u32 {
        self.rooms[robot].of_link[link]
    }

    /// Velocities of all links for velocities x of everything.
    pub(super) fn load_velocities(&mut self, model: &Model, x: &[f64]) {
        let Some(first) = self.first() else { return };
        if self.links_at == x[first..] {
            return;
        }
        self.links_at.clear();
        self.links_at.extend_from_slice(&x[first..]);
        for (part, room) in model.robots.iter().zip(&mut self.rooms) {
            let tree = &part.robot.tree;
            tree.velocities_in(1..tree.node_count(), &x[room.range()], &mut room.work.tree);
        }
    }

    /// The same for one group.
    fn load_group(&mut self, g: usize, model: &Model, x: &[f64]) {
        self.links_at.clear();
        let group = &self.groups[g];
        let room = &mut self.rooms[group.robot];
        let tree = &model.robots[group.robot].robot.tree;
        tree.velocities_in(group.trees.nodes.clone(), &x[room.range()], &mut room.work.tree);
    }

    /// Velocity of a point of a link.
    #[inline(always)]
    pub(super) fn point_velocity(&self, model: &Model, robot: usize, link: usize, x: &Vec3) -> Vec3 {
        model.robots[robot].robot.tree.point_velocity(link, x, &self.rooms[robot].work.tree).linear
    }

    /// Pose, velocity and angular velocity of a link.
    pub(super) fn link(&self, model: &Model, robot: usize, link: usize) -> (Pose, Vec3, Vec3) {
        let (tree, work) = (&model.robots[robot].robot.tree, &self.rooms[robot].work.tree);
        let pose = tree.link_pose(link, work);
        let motion = tree.point_velocity(link, &pose.position, work);
        (pose, motion.linear, motion.angular)
    }
}

impl Room {
    /// Its velocities.
    fn range(&self) -> Range<usize> {
        self.first..self.first + self.extra.len()
    }
}

impl ContactWork {
    /// States and poses of all robots.
    pub(super) fn load_robots(&mut self, model: &Model, state: &State) {
        self.robots.links_at.clear();
        for (part, room) in model.robots.iter().zip(&mut self.robots.rooms) {
            part.load(state, &mut room.state);
            room.report = RobotReport::default();
            let tree = &part.robot.tree;
            tree.kinematics(&room.state.q, &mut room.work.tree);
            tree.velocities(&room.state.v, &mut room.work.tree);
            self.start[room.range()].copy_from_slice(&room.state.v);
            self.field.x[room.range()].copy_from_slice(&room.state.v);
        }
        if let Some(first) = self.robots.first() {
            self.robots.links_at.extend_from_slice(&self.start[first..]);
        }
    }

    /// What simple robots do without impulses of contacts and rows; the velocities have those of the step before in them.
    pub(super) fn free_robots(&mut self, model: &Model) {
        for (part, room) in model.robots.iter().zip(&self.robots.rooms).filter(|(_, room)| room.simple) {
            self.free[room.range()].copy_from_slice(part.robot.velocity(&room.work));
        }
    }

    /// Takes the impulses of an island's contacts away, and those of the rows of its trees. Nothing is left of the velocities that
    /// went with them, however large they were.
    pub(super) fn let_go(&mut self, range: Range<usize>) {
        let (slots, islands) = (self.slots(), self.joint_islands());
        for node in self.info[range.clone()].iter().flat_map(|i| i.nodes) {
            if node == NONE || (node as usize) < slots {
                continue;
            }
            let group = &self.robots.groups[node as usize - slots];
            let cluster = self.clusters[islands + node as usize - slots];
            let own = cluster.first as usize..(cluster.first + cluster.len) as usize;
            self.field.x[own.clone()].copy_from_slice(&self.free[own]);
            self.bound_rows[group.rows.clone()].iter_mut().for_each(|row| row.impulse = 0.0);
        }
        for c in &mut self.contacts[range] {
            c.impulse = Vec3::zeros();
            if c.spin != NONE {
                self.spins[c.spin as usize].impulse = Vec3::zeros();
            }
        }
    }

    /// v_a − v_b of contact k where its bodies have the velocities x, which its trees have taken.
    pub(super) fn rate_of(&self, model: &Model, x: &[f64], k: usize) -> Vec3 {
        let (c, info) = (&self.contacts[k], &self.info[k]);
        let side = |s: usize| match info.nodes[s] {
            node if node != NONE && node as usize >= self.slots() => {
                let robot = self.robots.groups[node as usize - self.slots()].robot;
                self.robots.point_velocity(model, robot, info.links[s] as usize, &info.point)
            }
            _ => self.field.velocity(x, &c.sides[s], &c.arms[s]),
        };
        side(0) - side(1)
    }

    /// The same of all contacts.
    pub(super) fn rates(&mut self, model: &Model) -> Vec<Vec3> {
        let x = std::mem::take(&mut self.field.x);
        self.robots.load_velocities(model, &x);
        let rates = (0..self.contacts.len()).map(|k| self.rate_of(model, &x, k)).collect();
        self.field.x = x;
        rates
    }

    /// The trees of an island take the velocities as they are.
    pub(super) fn move_links(&mut self, range: Range<usize>, model: &Model) {
        let x = std::mem::take(&mut self.field.x);
        let (slots, mut last) = (self.slots(), NONE);
        for node in self.info[range].iter().flat_map(|i| i.nodes) {
            if node != NONE && node as usize >= slots && node != last {
                last = node;
                self.robots.load_group(node as usize - slots, model, &x);
            }
        }
        self.field.x = x;
    }

    /// Rows of the contacts on links, and where their answers will lie.
    pub(super) fn reserve_rows(&mut self, touch: &TouchModel, model: &Model) {
        if self.robots.rooms.is_empty() {
            return;
        }
        self.number_columns();
        self.robots.halves.clear();
        let islands = self.joint_islands();
        let slots = self.slots();
        let numbers = &mut self.field.numbers;
        for group in self.robots.groups.iter_mut().filter(|g| g.columns > 0) {
            let (n, m) = (group.trees.dofs.len(), group.columns);
            // Robots that are not simple ask for J at once.
            let at_once = !self.robots.rooms[group.robot].simple;
            group.J = if at_once { numbers.take_zeros(n * m) } else { numbers.take(n * m) };
            group.known = Known::Nothing;
            // All of these are written before they are read.
            group.Y = numbers.take(n * m);
            group.W = numbers.take(m * m);
        }
        for (c, info) in self.contacts.iter_mut().zip(&self.info) {
            for s in 0..2 {
                let body = touch.colliders[[info.a, info.b][s] as usize].body;
                let Some(&Part::Link { robot, link }) = touch.parts.get(body as usize) else { continue };
                // A tree that touches itself has one column.
                let shared = s == 1 && info.nodes[0] == info.nodes[1];
                let Side::Link(_, columns) = &mut c.sides[if shared { 0 } else { s }] else { continue };
                let g = info.nodes[s] as usize - slots;
                let group = &self.robots.groups[g];
                let (m, column, first) = (group.columns, columns.column as usize, group.trees.dofs.start);
                let sign = if shared { -1.0 } else { 1.0 };
                let tree = &model.robots[robot as usize].robot.tree;
                let work = &self.robots.rooms[robot as usize].work.tree;
                let spinning = c.spin != NONE;
                if !self.robots.rooms[robot as usize].simple {
                    tree.each_column(link as usize, &info.point, work, |d, v, w| {
                        let at = group.J + (d - first) * m + column;
                        (0..3).for_each(|k| numbers.list[at + k] += sign * v[k]);
                        if spinning {
                            (0..3).for_each(|k| numbers.list[at + 3 + k] += sign * w[k]);
                        }
                    });
                }
                let cluster = self.clusters[islands + g];
                *columns = Columns {
                    first: cluster.first,
                    len: cluster.len,
                    at: (group.Y + column) as u32,
                    stride: m as u32,
                    turn: 3,
                    W: group.W as u32,
                    column: column as u32,
                };
                let rows = (group.J + column) as u32;
                c.sides[if shared { 0 } else { s }] = Side::Link(rows, *columns);
            }
        }
    }

    /// Which columns of its group each contact has.
    fn number_columns(&mut self) {
        let slots = self.slots();
        self.robots.groups.iter_mut().for_each(|g| g.columns = 0);
        for (c, info) in self.contacts.iter_mut().zip(&self.info) {
            if info.nodes[0] == info.nodes[1] && matches!(c.sides[1], Side::Link(..)) {
                c.sides[1] = Side::World;
            }
            for (side, node) in c.sides.iter_mut().zip(info.nodes) {
                if let Side::Link(_, columns) = side {
                    let group = &mut self.robots.groups[node as usize - slots];
                    columns.column = group.columns as u32;
                    group.columns += if c.spin == NONE { 3 } else { 6 };
                }
            }
        }
        self.robots.groups.iter_mut().for_each(|g| g.columns = g.columns.next_multiple_of(8));
    }

    /// v⁺ and answers of all robots, touched or not. True if some servo stands otherwise than in the round before.
    pub(super) fn answer_robots(&mut self, touch: &TouchModel, model: &Model, h: f64, round: u32) -> bool {
        let islands = self.joint_islands();
        let mut again = false;
        // The dynamics of simple robots leave their links the velocities that the step begins with, and no others.
        let begins = self.robots.first().is_some_and(|first| self.robots.links_at == self.start[first..]);
        if round > 0 || !begins || self.robots.rooms.iter().any(|room| !room.simple) {
            self.robots.links_at.clear();
        }
        std::mem::swap(&mut self.bound_rows, &mut self.robots.last_rows);
        self.bound_rows.clear();
        for k in 0..self.robots.rooms.len() {
            let groups = self.robots.rooms[k].groups.clone();
            let touched = groups.clone().any(|g| self.clusters[islands + g].touched);
            if round > 0 && (!touched || self.robots.rooms[k].simple) {
                self.keep_rows(groups);
                if !touched {
                    continue;
                }
            }
            again |= if self.robots.rooms[k].simple {
                self.answer_simple(k, touch, model, h, round)
            } else {
                self.answer_whole(k, model, h, round)
            };
        }
        again
    }

    /// Rows of the round before.
    fn keep_rows(&mut self, groups: Range<usize>) {
        for group in &mut self.robots.groups[groups] {
            let first = self.bound_rows.len();
            self.bound_rows.extend_from_slice(&self.robots.last_rows[group.rows.clone()]);
            group.rows = first..self.bound_rows.len();
        }
    }

    /// A simple robot: its dynamics once, then servos that stand otherwise than they should.
    fn answer_simple(&mut self, k: usize, touch: &TouchModel, model: &Model, h: f64, round: u32) -> bool {
        let robot = &model.robots[k].robot;
        if round == 0 {
            let Room { state, work, .. } = &mut self.robots.rooms[k];
            robot.begin_trial(state, h, work);
            self.answer_groups(k, touch, model, h, true);
        }
        let rounds = if round == 0 { SERVO_ROUNDS } else { 1 };
        let mut moved = false;
        for again in 1..=rounds {
            let all = self.robots.rooms[k].range();
            let Room { state, work, report, .. } = &mut self.robots.rooms[k];
            report.iterations = report.iterations.max(again);
            if !robot.update_servos(state, &self.field.x[all], h, work) {
                break;
            }
            moved = true;
            report.unfinished |= again == SERVO_ROUNDS;
            self.answer_groups(k, touch, model, h, false);
        }
        moved || round == 0
    }

    /// Columns and velocities of the groups of a simple robot under the impulses as they are; its rows too if it is the
    /// first time.
    fn answer_groups(&mut self, k: usize, touch: &TouchModel, model: &Model, h: f64, first: bool) {
        let islands = self.joint_islands();
        let (groups, all) = (self.robots.rooms[k].groups.clone(), self.robots.rooms[k].range());
        let robot = &model.robots[k].robot;
        self.field.x[all.clone()].copy_from_slice(robot.velocity(&self.robots.rooms[k].work));
        for g in groups.clone() {
            if self.clusters[islands + g].touched {
                self.find_halves(g, touch, model);
                self.add_impulses(g, model);
            }
        }
        if first {
            let Room { state, work, .. } = &mut self.robots.rooms[k];
            robot.find_rows(state, &self.field.x[all], h, work);
            self.load_rows(k, model, h);
        }
        for g in groups {
            if !self.robots.groups[g].rows.is_empty() {
                if !first {
                    self.answer_rows(g, model);
                    self.push_rows(g, model, |row| row.impulse);
                }
                self.settle_rows(g, model);
            }
        }
    }

    /// x += M⁻¹Jᵀp of all contacts of a group.
    fn add_impulses(&mut self, g: usize, model: &Model) {
        let cluster = self.clusters[self.joint_islands() + g];
        let mut signed = std::mem::take(&mut self.robots.signed);
        signed.clear();
        signed.resize(self.robots.groups[g].columns, 0.0);
        for c in &self.contacts[cluster.from as usize..cluster.to as usize] {
            for (s, side) in c.sides.iter().enumerate() {
                let Side::Link(_, columns) = side else { continue };
                if columns.first == cluster.first && columns.len == cluster.len {
                    let (sign, at) = (if s == 0 { 1.0 } else { -1.0 }, columns.column as usize);
                    (0..3).for_each(|i| signed[at + i] = sign * c.impulse[i]);
                    if c.spin != NONE {
                        (0..3)
                            .for_each(|i| signed[at + 3 + i] = sign * self.spins[c.spin as usize].impulse[i]);
                    }
                }
            }
        }
        let mut x = std::mem::take(&mut self.field.x);
        self.add_answers(g, model, &signed, &[], &[], &mut x);
        (self.field.x, self.robots.signed) = (x, signed);
    }

    /// M⁻¹Jᵀ and W of all contacts of a robot that is not simple.
    fn fill_whole(&mut self, g: usize, model: &Model, h: f64) {
        let group = &mut self.robots.groups[g];
        let (n, m) = (group.trees.dofs.len(), group.columns);
        group.known = Known::Answers;
        if m == 0 {
            return;
        }
        let numbers = &mut self.field.numbers.list[group.J..group.W + m * m];
        numbers.copy_within(..n * m, n * m);
        let (JY, W) = numbers.split_at_mut(2 * n * m);
        let (J, Y) = JY.split_at_mut(n * m);
        model.robots[group.robot].robot.respond(h, m, Y, &mut self.robots.rooms[group.robot].work);
        // The lower half: a dof adds to the rows of the points that it moves.
        W.fill(0.0);
        for (J, Y) in J.chunks_exact(m).zip(Y.chunks_exact(m)) {
            for (b, j) in J.as_chunks::<3>().0.iter().enumerate().filter(|(_, j)| **j != [0.0; 3]) {
                let (end, rows) = (3 * b + 3, &mut W[3 * b * m..(3 * b + 3) * m]);
                let (first, rest) = rows.split_at_mut(m);
                let (second, third) = rest.split_at_mut(m);
                let rows = first[..end].iter_mut().zip(&mut second[..end]).zip(&mut third[..end]);
                for (((a, b), c), y) in rows.zip(&Y[..end]) {
                    *a += j[0] * y;
                    *b += j[1] * y;
                    *c += j[2] * y;
                }
            }
        }
        for i in 0..m {
            (0..i).for_each(|j| W[j * m + i] = W[i * m + j]);
        }
    }

    /// Rows with bounds of robot k as its robot has them, by groups, with their answers.
    fn load_rows(&mut self, k: usize, model: &Model, h: f64) {
        let (islands, room) = (self.joint_islands(), &self.robots.rooms[k]);
        let robot = &model.robots[k].robot;
        let begin = self.bound_rows.len();
        let numbers = &mut self.field.numbers;
        let rows = &mut self.bound_rows;
        let groups = &self.robots.groups[room.groups.clone()];
        let mut order = std::mem::take(&mut self.robots.order);
        order.clear();
        robot.bounded_rows(&room.work, |r, entries| {
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
            let cluster = &self.clusters[islands + room.groups.start + g];
            order.push((g as u32, order.len() as u32));
            let mut row = BoundRow::new(&r, cluster, at as u32, h);
            if let (Some((d, a)), 1) = (last, count) {
                (row.only, row.slope) = (row.first + d, a);
            }
            rows.push(row);
        });
        // By groups, otherwise in the order of the robot.
        order.sort_unstable();
        let made = rows.len();
        for (_, i) in &order {
            rows.push(rows[begin + *i as usize]);
        }
        rows.drain(begin..made);
        let (first, mut at) = (room.groups.start, 0);
        for g in room.groups.clone() {
            let from = at;
            while at < order.len() && order[at].0 as usize == g - first {
                at += 1;
            }
            self.robots.groups[g].rows = begin + from..begin + at;
        }
        self.robots.order = order;
        for g in self.robots.rooms[k].groups.clone() {
            if self.robots.rooms[k].simple {
                self.answer_rows(g, model);
            } else {
                self.answer_whole_rows(g, model, h);
            }
        }
    }

    /// Answers of the rows of a robot that is not simple: those without bounds hold meanwhile.
    fn answer_whole_rows(&mut self, g: usize, model: &Model, h: f64) {
        let group = &self.robots.groups[g];
        let (n, m) = (group.trees.dofs.len(), group.rows.len());
        if m == 0 {
            return;
        }
        let mut Y = vec![0.0; n * m];
        let rows = &mut self.bound_rows[group.rows.clone()];
        for (i, row) in rows.iter().enumerate() {
            let from = &self.field.numbers.list[row.at as usize..][..n];
            from.iter().enumerate().for_each(|(d, a)| Y[d * m + i] = *a);
        }
        let robot = &model.robots[group.robot].robot;
        robot.respond(h, m, &mut Y, &mut self.robots.rooms[group.robot].work);
        rows.iter_mut().enumerate().for_each(|(i, row)| row.take_answers(&mut self.field, &Y, i, m));
    }

    /// Impulses of the rows of a group for the velocities as they are, contacts fixed.
    fn settle_rows(&mut self, g: usize, model: &Model) {
        let RobotRoom { D, d, bounds, lambda, box_lcp, rooms, groups, .. } = &mut self.robots;
        let group = &groups[g];
        let rows = &mut self.bound_rows[group.rows.clone()];
        let m = rows.len();
        D.clear();
        D.resize(m * m, 0.0);
        d.clear();
        bounds.clear();
        lambda.clear();
        lambda.resize(m, 0.0);
        for i in 0..m {
            for j in 0..=i {
                let answer = rows[i].answer_of(&self.field, &rows[j]);
                (D[i * m + j], D[j * m + i]) = (answer, answer);
            }
        }
        for i in 0..m {
            let moved: f64 = (0..m).map(|j| D[i * m + j] * rows[j].impulse).sum();
            d.push(rows[i].target - rows[i].rate(&self.field, &self.field.x) + moved);
            D[i * m + i] += rows[i].softness;
            bounds.push(Bounds { low: rows[i].low, high: rows[i].high, scale: D[i * m + i] });
        }
        let solved = solve_box_lcp(D, d, bounds, lambda, box_lcp);
        let report = &mut rooms[group.robot].report;
        report.rows += m as u32;
        report.iterations = report.iterations.max(solved.rounds);
        report.weak_rows = report.weak_rows.max(solved.weak);
        for (row, new) in rows.iter_mut().zip(lambda) {
            (row.impulse, *new) = (*new, *new - row.impulse);
        }
        let changes = std::mem::take(&mut self.robots.lambda);
        let mut change = changes.iter();
        self.push_rows(g, model, |_| change.next().map_or(0.0, |c| *c));
        self.robots.lambda = changes;
    }

    /// A robot by its own solver.
    fn answer_whole(&mut self, k: usize, model: &Model, h: f64, round: u32) -> bool {
        let g = self.robots.rooms[k].groups.start;
        let cluster = self.clusters[self.joint_islands() + g];
        self.load_extra(k, h);
        let robot = &model.robots[k].robot;
        let Room { state, work, extra, stands, last_stands, report: one, .. } = &mut self.robots.rooms[k];
        robot.trial(state, extra, h, work, one);
        let first = cluster.first as usize;
        self.field.x[first..first + cluster.len as usize].copy_from_slice(robot.velocity(work));
        robot.saturation(work, stands);
        let changed = round == 0 || stands != last_stands;
        std::mem::swap(stands, last_stands);
        if changed && cluster.touched {
            self.fill_whole(g, model, h);
        }
        self.robots.groups[g].rows = 0..0;
        if cluster.touched {
            self.load_rows(k, model, h);
        }
        changed
    }

    /// Σ Jᵀp/h of the contacts of robot k, which has one group.
    fn load_extra(&mut self, k: usize, h: f64) {
        let g = self.robots.rooms[k].groups.start;
        let cluster = self.clusters[self.joint_islands() + g];
        let extra = &mut self.robots.rooms[k].extra;
        extra.fill(0.0);
        for c in &self.contacts {
            for (s, side) in c.sides.iter().enumerate() {
                let Side::Link(rows, columns) = *side else { continue };
                if columns.first != cluster.first || columns.len != cluster.len {
                    continue;
                }
                let sign = if s == 0 { 1.0 / h } else { -1.0 / h };
                let mut add = |at: u32, p: &Vec3| {
                    let rows = self.field.numbers.list[at as usize..].chunks(columns.stride as usize);
                    for (e, j) in extra.iter_mut().zip(rows) {
                        *e += sign * (j[0] * p.x + j[1] * p.y + j[2] * p.z);
                    }
                };
                add(rows, &c.impulse);
                if c.spin != NONE {
                    add(rows + columns.turn, &self.spins[c.spin as usize].impulse);
                }
            }
        }
    }

    /// Robots take the velocities that go with the impulses found, then they move.
    pub(super) fn conclude_robots(
        &mut self,
        model: &Model,
        state: &mut State,
        h: f64,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let islands = self.joint_islands();
        for (k, part) in model.robots.iter().enumerate() {
            let groups = self.robots.rooms[k].groups.clone();
            if self.robots.rooms[k].simple {
                for g in groups {
                    let touched = self.clusters[islands + g].touched;
                    if touched && !self.fresh && !self.robots.groups[g].rows.is_empty() {
                        self.settle_rows(g, model);
                    }
                }
                let room = &mut self.robots.rooms[k];
                part.robot.set_velocity(&self.field.x[room.range()], &mut room.work);
            } else if self.clusters[islands + groups.start].touched && !self.fresh {
                self.load_extra(k, h);
                let Room { state: own, work, extra, report: one, .. } = &mut self.robots.rooms[k];
                part.robot.trial(own, extra, h, work, one);
            }
            let push = self.robots.rooms[k].range();
            let Room { state: own, work, report: one, .. } = &mut self.robots.rooms[k];
            let done = part.robot.finish_step(own, h, &self.push[push], work, one);
            done.map_err(|error| error.of(&part.name))?;
            report.take_robots(one);
            part.store(own, state);
        }
        Ok(())
    }
}
