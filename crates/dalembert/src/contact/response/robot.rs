//! Robots as responders: rows J of their points over the dofs, columns M⁻¹Jᵀ by the factor of the tree.
//!
//! What happens to one tree of a robot does not change another, so each responds by itself; trees that tendons couple form
//! one group. The columns of all contacts of a group lie side by side, and with them $W = J M^{-1}J^T$. A contact of a tree
//! with itself is one triple of columns, the difference of its two points. Most of this is computed only where the impulses of
//! the step before do not hold: see [`half_solve`](super::half_solve).
//!
//! A robot is *linear* if all its rows have bounds: v⁺ is linear in the impulses of contacts and rows as long as its servos
//! stay within the same bounds, so velocities follow by M⁻¹Jᵀ and its dynamics are computed once per step. Robots with loops,
//! or with springs and servos on tendons, are solved again by their own solver in every round.

use std::ops::Range;
use std::sync::Arc;

use super::bounded_row::BoundedRow;
use super::half_solve::{HalfSolves, Known};
use super::{CoupledBodies, NONE, Responses};
use crate::bodies::articulated::{PathDof, TreeRange};
use crate::math::{Pose, Vec3};
use crate::robot::{Robot, RobotReport, RobotState, RobotWork};
use crate::solve::box_lcp::{Bounds, BoxLcpWork, solve_box_lcp};

/// One robot.
#[derive(Debug)]
pub(crate) struct RobotResponder {
    pub(crate) robot: Arc<Robot>,
    pub(crate) state: RobotState,
    pub(crate) work: RobotWork,
    /// What paths to the root read of the dofs of its groups that something touches.
    pub(super) path_dofs: Vec<PathDof>,
    /// See the module.
    pub(crate) linear: bool,
    /// Its groups of trees.
    pub(crate) groups: Range<usize>,
    /// First velocity.
    first: usize,
    /// Group of each link.
    group_of_link: Vec<u32>,
    /// Forces of contacts on the dofs.
    pub(crate) forces: Vec<f64>,
    /// Which bounds its servos have reached, now and in the round before.
    pub(crate) bounds: Vec<i8>,
    pub(crate) last_bounds: Vec<i8>,
    pub(crate) report: RobotReport,
}

impl RobotResponder {
    /// Its velocities.
    pub(crate) fn range(&self) -> Range<usize> {
        self.first..self.first + self.forces.len()
    }
}

/// Trees of a robot that respond together.
#[derive(Debug)]
pub(crate) struct TreeGroup {
    pub(crate) robot: usize,
    pub(crate) trees: TreeRange,
    /// First velocity.
    pub(super) first: usize,
    /// Columns of its contacts, to the next multiple of eight; the last may be padding.
    pub(crate) columns: usize,
    /// Where J, M⁻¹Jᵀ and W begin in the numbers.
    pub(crate) J: usize,
    pub(crate) Y: usize,
    pub(crate) W: usize,
    /// Its rows with bounds.
    pub(crate) rows: Range<usize>,
    /// What has been computed of its responses.
    pub(crate) known: Known,
    /// Its half solves.
    pub(super) paths: Range<usize>,
}

impl TreeGroup {
    /// Its velocities.
    pub(crate) fn velocities(&self) -> Range<usize> {
        self.first..self.first + self.trees.dofs.len()
    }
}

/// Buffers of the rows of one group among each other.
#[derive(Debug, Default)]
struct RowSystem {
    D: Vec<f64>,
    d: Vec<f64>,
    bounds: Vec<Bounds>,
    lambda: Vec<f64>,
    box_lcp: BoxLcpWork,
}

/// All robots.
#[derive(Debug, Default)]
pub(crate) struct RobotResponders {
    pub(crate) robots: Vec<RobotResponder>,
    pub(crate) groups: Vec<TreeGroup>,
    /// The velocities of all robots that their links have, if that is known.
    pub(crate) links_at: Vec<f64>,
    pub(crate) half: HalfSolves,
    system: RowSystem,
}

impl RobotResponders {
    /// Adds the robots of a model, whose velocities begin at `first`; returns where they end.
    pub(crate) fn add<'a>(
        &mut self,
        robots: impl Iterator<Item = &'a Arc<Robot>>,
        mut first: u32,
        coupled: &mut Vec<CoupledBodies>,
    ) -> u32 {
        for (k, robot) in robots.enumerate() {
            let begin = self.groups.len();
            for trees in robot.groups() {
                let at = first + trees.dofs.start as u32;
                let len = trees.dofs.len() as u32;
                coupled.push(CoupledBodies { first: at, len, ..CoupledBodies::default() });
                self.groups.push(TreeGroup {
                    robot: k,
                    trees,
                    first: at as usize,
                    columns: 0,
                    J: 0,
                    Y: 0,
                    W: 0,
                    rows: 0..0,
                    known: Known::Nothing,
                    paths: 0..0,
                });
            }
            let group_of_link = (0..robot.tree.link_count())
                .map(|link| {
                    let node = robot.tree.node_of_link(link);
                    let holds = |g: &TreeGroup| g.trees.nodes.contains(&node);
                    self.groups[begin..].iter().position(holds).map_or(NONE, |g| (begin + g) as u32)
                })
                .collect();
            self.robots.push(RobotResponder {
                state: robot.blank(),
                work: robot.work(),
                path_dofs: Vec::new(),
                linear: robot.is_simple(),
                groups: begin..self.groups.len(),
                first: first as usize,
                group_of_link,
                forces: vec![0.0; robot.tree.freedoms()],
                bounds: Vec::new(),
                last_bounds: Vec::new(),
                report: RobotReport::default(),
                robot: robot.clone(),
            });
            first += robot.tree.freedoms() as u32;
        }
        first
    }

    /// Where the velocities of robots begin, if there are any.
    pub(crate) fn first(&self) -> Option<usize> {
        self.robots.first().map(|robot| robot.first)
    }

    /// The group that a link belongs to; `NONE` if it is fixed to the world.
    pub(crate) fn group_of(&self, robot: usize, link: usize) -> u32 {
        self.robots[robot].group_of_link[link]
    }

    /// Velocities of all links for velocities x of everything.
    pub(crate) fn load_velocities(&mut self, x: &[f64]) {
        let Some(first) = self.first() else { return };
        if self.links_at == x[first..] {
            return;
        }
        self.links_at.clear();
        self.links_at.extend_from_slice(&x[first..]);
        for robot in &mut self.robots {
            let (tree, range) = (&robot.robot.tree, robot.range());
            tree.velocities_in(1..tree.node_count(), &x[range], &mut robot.work.tree);
        }
    }

    /// The same for one group.
    pub(crate) fn load_group(&mut self, g: usize, x: &[f64]) {
        self.links_at.clear();
        let group = &self.groups[g];
        let robot = &mut self.robots[group.robot];
        let range = robot.range();
        robot.robot.tree.velocities_in(group.trees.nodes.clone(), &x[range], &mut robot.work.tree);
    }

    /// Velocity of a point of a link.
    #[inline(always)]
    pub(crate) fn point_velocity(&self, robot: usize, link: usize, x: &Vec3) -> Vec3 {
        let robot = &self.robots[robot];
        robot.robot.tree.point_velocity(link, x, &robot.work.tree).linear
    }

    /// Pose, velocity and angular velocity of a link.
    pub(crate) fn link(&self, robot: usize, link: usize) -> (Pose, Vec3, Vec3) {
        let (tree, work) = (&self.robots[robot].robot.tree, &self.robots[robot].work.tree);
        let pose = tree.link_pose(link, work);
        let motion = tree.point_velocity(link, &pose.position, work);
        (pose, motion.linear, motion.angular)
    }

    /// M⁻¹Jᵀ and W of all columns of a robot that is not linear, from its J: rows without bounds hold meanwhile.
    pub(crate) fn whole_columns(&mut self, g: usize, h: f64, responses: &mut Responses) {
        let group = &mut self.groups[g];
        let (n, m) = (group.trees.dofs.len(), group.columns);
        group.known = Known::Columns;
        if m == 0 {
            return;
        }
        let numbers = &mut responses.numbers.list[group.J..group.W + m * m];
        numbers.copy_within(..n * m, n * m);
        let (JY, W) = numbers.split_at_mut(2 * n * m);
        let (J, Y) = JY.split_at_mut(n * m);
        let robot = &mut self.robots[group.robot];
        robot.robot.respond(h, m, Y, &mut robot.work);
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

    /// Columns of the rows of a robot that is not linear: those without bounds hold meanwhile.
    pub(crate) fn whole_row_columns(
        &mut self,
        g: usize,
        h: f64,
        responses: &mut Responses,
        rows: &mut [BoundedRow],
    ) {
        let group = &self.groups[g];
        let (n, m) = (group.trees.dofs.len(), group.rows.len());
        if m == 0 {
            return;
        }
        let mut Y = vec![0.0; n * m];
        let rows = &mut rows[group.rows.clone()];
        for (i, row) in rows.iter().enumerate() {
            let from = &responses.numbers.list[row.at as usize..][..n];
            from.iter().enumerate().for_each(|(d, a)| Y[d * m + i] = *a);
        }
        let robot = &mut self.robots[group.robot];
        robot.robot.respond(h, m, &mut Y, &mut robot.work);
        rows.iter_mut().enumerate().for_each(|(i, row)| row.take_columns(responses, &Y, i, m));
    }

    /// Impulses of the rows of a group for the velocities as they are, contacts fixed.
    pub(crate) fn solve_rows(
        &mut self,
        g: usize,
        responses: &Responses,
        rows: &mut [BoundedRow],
        x: &mut [f64],
    ) {
        let RowSystem { D, d, bounds, lambda, box_lcp } = &mut self.system;
        let group = &self.groups[g];
        let own = &mut rows[group.rows.clone()];
        let m = own.len();
        D.clear();
        D.resize(m * m, 0.0);
        d.clear();
        bounds.clear();
        lambda.clear();
        lambda.resize(m, 0.0);
        for i in 0..m {
            for j in 0..=i {
                let w = own[i].response_to(responses, &own[j]);
                (D[i * m + j], D[j * m + i]) = (w, w);
            }
        }
        for i in 0..m {
            let moved: f64 = (0..m).map(|j| D[i * m + j] * own[j].impulse).sum();
            d.push(own[i].target - own[i].rate(responses, x) + moved);
            D[i * m + i] += own[i].softness;
            bounds.push(Bounds { low: own[i].low, high: own[i].high, scale: D[i * m + i] });
        }
        let solved = solve_box_lcp(D, d, bounds, lambda, box_lcp);
        let report = &mut self.robots[group.robot].report;
        report.rows += m as u32;
        report.iterations = report.iterations.max(solved.rounds);
        report.weak_rows = report.weak_rows.max(solved.weak);
        for (row, new) in own.iter_mut().zip(lambda) {
            (row.impulse, *new) = (*new, *new - row.impulse);
        }
        let changes = std::mem::take(&mut self.system.lambda);
        let mut change = changes.iter();
        self.apply_rows(g, responses, rows, x, |_| change.next().map_or(0.0, |c| *c));
        self.system.lambda = changes;
    }
}
