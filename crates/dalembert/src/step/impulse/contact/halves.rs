//! Answers of trees to contacts, as much as is asked for.
//!
//! | known | what | for |
//! |---|---|---|
//! | own | z of each point on its way to the world, and with it the own block of W | how far each velocity is from what its law allows |
//! | blocks | J, and all of $W = Z^T Z$ | Newton's method, parting of overlaps |
//! | answers | $Y = M^{-1}J^T$ | sweeps |
//!
//! Where the impulses of the step before hold, which is most of the time for what lies or stands still, nothing but the
//! first is needed. What impulses p do to all velocities is $M^{-1}J^Tp = L^{-1}D^{-1/2}(Zp)$, half a solve however many there are,
//! and what their points see of the velocities comes from those of the links.

use std::ops::Range;

use super::sweep::Side;
use super::{ContactWork, NONE};
use crate::bodies::articulated::{Half, half_product};
use crate::math::{Vec3, dot};
use crate::model::{Model, Part, TouchModel};

/// How much is known of the answers of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Known {
    Nothing,
    /// Blocks of W on the diagonal.
    Own,
    /// W.
    Blocks,
    /// W and M⁻¹Jᵀ.
    Answers,
}

/// A point of a link, or its turning, and its way to the world.
#[derive(Debug, Clone, Copy)]
struct Arm {
    /// First of its three columns.
    column: usize,
    sign: f64,
    /// Where its numbers are.
    from: usize,
    to: usize,
    /// First dof of the way.
    dof: u32,
    /// The point, and whether it is the turning that counts.
    link: u32,
    point: Vec3,
    turn: bool,
}

/// Ways of all points of links.
#[derive(Debug, Default)]
pub(super) struct Halves {
    z: Vec<Half>,
    arms: Vec<Arm>,
    t: Vec<f64>,
}

impl Halves {
    pub(super) fn clear(&mut self) {
        self.z.clear();
        self.arms.clear();
    }

    #[inline(always)]
    fn product(&self, a: &Arm, b: &Arm, shared: usize) -> [Half; 3] {
        half_product(&self.z[a.from..a.to], &self.z[b.from..b.to], shared)
    }
}

impl ContactWork {
    /// Ways of all points of a group, with the factor at hand, and the blocks of W on the diagonal.
    pub(super) fn find_halves(&mut self, g: usize, touch: &TouchModel, model: &Model) {
        let node = (self.slots() + g) as u32;
        let cluster = self.clusters[self.joint_islands() + g];
        let group = &mut self.robots.groups[g];
        let halves = &mut self.robots.halves;
        group.known = Known::Own;
        group.arms.start = halves.arms.len();
        let tree = &model.robots[group.robot].machine.tree;
        let work = &self.robots.rooms[group.robot].work.tree;
        let m = group.columns;
        let W = &mut self.field.numbers.list[group.W..group.W + m * m];
        for k in cluster.from as usize..cluster.to as usize {
            let (c, info) = (&self.contacts[k], &self.info[k]);
            let shared = info.nodes[0] == info.nodes[1];
            for turn in [false, true] {
                if turn && c.spin == NONE {
                    continue;
                }
                let first = halves.arms.len();
                for s in 0..2 {
                    let Side::Link(_, columns) = c.sides[if shared { 0 } else { s }] else { continue };
                    let body = touch.colliders[[info.a, info.b][s] as usize].body;
                    let Some(&Part::Link { link, .. }) = touch.parts.get(body as usize) else { continue };
                    if info.nodes[s] != node {
                        continue;
                    }
                    let from = halves.z.len();
                    let dof = tree.half_answer(link as usize, &info.point, turn, work, &mut halves.z);
                    halves.arms.push(Arm {
                        column: columns.column as usize + if turn { columns.turn as usize } else { 0 },
                        // The sign of a side is that of its impulse; of a tree that touches itself the column is the
                        // difference of its points.
                        sign: if shared && s == 1 { -1.0 } else { 1.0 },
                        from,
                        to: halves.z.len(),
                        dof,
                        link,
                        point: info.point,
                        turn,
                    });
                }
                let own = &halves.arms[first..];
                let Some(one) = own.first() else { continue };
                let mut block = halves.product(one, one, one.to - one.from);
                if let Some(two) = own.get(1) {
                    let both = halves.product(two, two, two.to - two.from);
                    let cross = halves.product(one, two, tree.shared_way(one.dof, two.dof));
                    for i in 0..3 {
                        (0..3).for_each(|j| block[i][j] += both[i][j] - cross[i][j] - cross[j][i]);
                    }
                }
                for (i, row) in block.iter().enumerate() {
                    W[(one.column + i) * m + one.column..][..3].copy_from_slice(&row[..3]);
                }
            }
        }
        group.arms.end = halves.arms.len();
    }

    /// J of a group, column by column.
    fn fill_rows(&mut self, g: usize, model: &Model) {
        let group = &self.robots.groups[g];
        let tree = &model.robots[group.robot].machine.tree;
        let work = &self.robots.rooms[group.robot].work.tree;
        let (n, m, first) = (group.trees.dofs.len(), group.columns, group.trees.dofs.start);
        let J = &mut self.field.numbers.list[group.J..group.J + n * m];
        J.fill(0.0);
        for arm in &self.robots.halves.arms[group.arms.clone()] {
            tree.each_column(arm.link as usize, &arm.point, work, |d, v, w| {
                let j = if arm.turn { w } else { v };
                let row = &mut J[(d - first) * m + arm.column..][..3];
                (0..3).for_each(|k| row[k] += arm.sign * j[k]);
            });
        }
    }

    /// J and W of a group.
    fn find_blocks(&mut self, g: usize, model: &Model) {
        if self.robots.groups[g].known != Known::Own {
            return;
        }
        self.fill_rows(g, model);
        let group = &mut self.robots.groups[g];
        group.known = Known::Blocks;
        let tree = &model.robots[group.robot].machine.tree;
        let (m, halves) = (group.columns, &self.robots.halves);
        let W = &mut self.field.numbers.list[group.W..group.W + m * m];
        W.fill(0.0);
        let arms = &halves.arms[group.arms.clone()];
        for (i, a) in arms.iter().enumerate() {
            for b in &arms[..=i] {
                let shared = if a.dof == b.dof { a.to - a.from } else { tree.shared_way(a.dof, b.dof) };
                if shared == 0 {
                    continue;
                }
                let (block, sign) = (halves.product(a, b, shared), a.sign * b.sign);
                for r in 0..3 {
                    let row = &mut W[(a.column + r) * m + b.column..][..3];
                    (0..3).for_each(|k| row[k] += sign * block[r][k]);
                }
                if !std::ptr::eq(a, b) {
                    for k in 0..3 {
                        let row = &mut W[(b.column + k) * m + a.column..][..3];
                        (0..3).for_each(|r| row[r] += sign * block[r][k]);
                    }
                }
            }
        }
    }

    /// M⁻¹Jᵀ of a group, and W.
    fn find_answers(&mut self, g: usize, model: &Model) {
        self.find_blocks(g, model);
        let group = &mut self.robots.groups[g];
        if group.known != Known::Blocks {
            return;
        }
        group.known = Known::Answers;
        let (n, m) = (group.trees.dofs.len(), group.columns);
        let numbers = &mut self.field.numbers.list[group.J..group.Y + n * m];
        numbers.copy_within(..n * m, n * m);
        let work = &mut self.robots.rooms[group.robot].work;
        model.robots[group.robot].machine.respond_in(&group.trees, m, &mut numbers[n * m..], work);
    }

    /// Each group that the contacts of a range touch, once or more often.
    fn groups_of(&self, range: Range<usize>, mut each: impl FnMut(usize)) {
        let (slots, mut last) = (self.slots(), NONE);
        for node in self.info[range].iter().flat_map(|i| i.nodes) {
            if node != NONE && node as usize >= slots && node != last {
                last = node;
                each(node as usize - slots);
            }
        }
    }

    /// W of all trees of an island.
    pub(super) fn know_blocks(&mut self, range: Range<usize>, model: &Model) {
        for k in range {
            for node in self.info[k].nodes {
                if node != NONE && node as usize >= self.slots() {
                    self.find_blocks(node as usize - self.slots(), model);
                }
            }
        }
    }

    /// W and M⁻¹Jᵀ of all trees of an island, and inverses of its contacts.
    pub(super) fn know_answers(&mut self, range: Range<usize>, model: &Model) {
        for k in range {
            self.contacts[k].invert();
            for node in self.info[k].nodes {
                if node != NONE && node as usize >= self.slots() {
                    self.find_answers(node as usize - self.slots(), model);
                }
            }
        }
    }

    /// x += M⁻¹Jᵀ of signed impulses, one for each column of a group.
    pub(super) fn add_answers(&mut self, g: usize, model: &Model, signed: &[f64], x: &mut [f64]) {
        let first = self.clusters[self.joint_islands() + g].first as usize;
        let group = &self.robots.groups[g];
        let (n, m) = (group.trees.dofs.len(), group.columns);
        if m == 0 {
            return;
        }
        let x = &mut x[first..first + n];
        if group.known == Known::Answers {
            let Y = &self.field.numbers.list[group.Y..group.Y + n * m];
            x.iter_mut().zip(Y.chunks_exact(m)).for_each(|(x, Y)| *x += dot(Y, signed));
            return;
        }
        let tree = &model.robots[group.robot].machine.tree;
        let Halves { z, arms, t } = &mut self.robots.halves;
        t.clear();
        t.resize(n, 0.0);
        for arm in &arms[group.arms.clone()] {
            let p = [0, 1, 2].map(|k| arm.sign * signed[arm.column + k]);
            tree.add_half(arm.dof, &z[arm.from..arm.to], &p, group.trees.dofs.start, t);
        }
        tree.second_half(&group.trees, &mut self.robots.rooms[group.robot].work.tree, t);
        x.iter_mut().zip(&*t).for_each(|(x, t)| *x += t);
    }

    /// x += M⁻¹Jᵀ of impulses and angular impulses of the contacts of an island of links.
    pub(super) fn add_changes(
        &mut self,
        range: Range<usize>,
        model: &Model,
        changes: &[[Vec3; 2]],
        x: &mut [f64],
    ) {
        let mut signed = std::mem::take(&mut self.robots.signed);
        let mut groups = std::mem::take(&mut self.robots.halves_groups);
        groups.clear();
        self.groups_of(range.clone(), |g| groups.push(g));
        groups.sort_unstable();
        groups.dedup();
        for &g in &groups {
            let cluster = self.clusters[self.joint_islands() + g];
            signed.clear();
            signed.resize(self.robots.groups[g].columns, 0.0);
            for (c, [p, turn]) in self.contacts[range.clone()].iter().zip(changes) {
                for (s, side) in c.sides.iter().enumerate() {
                    let Side::Link(_, columns) = side else { continue };
                    if columns.first == cluster.first && columns.len == cluster.len {
                        let (sign, at) = (if s == 0 { 1.0 } else { -1.0 }, columns.column as usize);
                        (0..3).for_each(|i| signed[at + i] = sign * p[i]);
                        if c.spin != NONE {
                            let at = at + columns.turn as usize;
                            (0..3).for_each(|i| signed[at + i] = sign * turn[i]);
                        }
                    }
                }
            }
            self.add_answers(g, model, &signed, x);
        }
        (self.robots.signed, self.robots.halves_groups) = (signed, groups);
    }
}
