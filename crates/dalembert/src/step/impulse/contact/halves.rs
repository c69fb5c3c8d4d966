//! Answers of trees to contacts, as much as is asked for.
//!
//! | known | what | for |
//! |---|---|---|
//! | own | z of each point on its way to the world, and with it the own block of W | how far each velocity is from what its law allows |
//! | blocks | all of $W = Z^T Z$, with the rows of the robot | Newton's method, parting of overlaps |
//! | rows | J | turning and bouncing, by the velocities of dofs |
//! | answers | $Y = M^{-1}J^T$ | sweeps |
//!
//! Where the impulses of the step before hold, which is most of the time for what lies or stands still, nothing but the
//! first is needed. What impulses p do to all velocities is $M^{-1}J^Tp = L^{-1}D^{-1/2}(Zp)$, half a solve however many there are,
//! and what their points see of the velocities comes from those of the links. Rows of robots with bounds have a z as well, and
//! answer to each other and to the points by it.
//!
//! For W the ways are laid out as one matrix, a row for each dof and the columns of all points side by side: three rows of W are
//! sums over the dofs of one way, of all columns at once.

use std::ops::Range;

use super::lanes::Lanes;
use super::robots::Room;
use super::rows::BoundRow;
use super::sweep::{Field, Side};
use super::{ContactWork, NONE};
use crate::bodies::articulated::{Acceleration, HalfRow, Tree, half_product};
use crate::contact::{Part, TouchModel};
use crate::math::{Vec3, dot};
use crate::model::Model;

/// From so many contacts on a tree walks its stem once for all of them.
const STEMMED: u32 = 4;

/// How much is known of the answers of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Known {
    Nothing,
    /// Blocks of W on the diagonal.
    Own,
    /// W.
    Blocks,
    /// W and J.
    Rows,
    /// W, J and M⁻¹Jᵀ.
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
    z: Vec<HalfRow>,
    arms: Vec<Arm>,
    t: Vec<f64>,
    pulls: Vec<Acceleration>,
    /// Z of a group, dof by dof, eight columns at a time; where the dofs of all ways begin in it.
    spread: Vec<[f64; 8]>,
    places: Vec<usize>,
    /// z of a row where it is not zero, and where these dofs begin.
    way: Vec<f64>,
    row_places: Vec<usize>,
}

impl Halves {
    pub(super) fn clear(&mut self) {
        self.z.clear();
        self.arms.clear();
    }

    #[inline(always)]
    fn product(&self, a: &Arm, b: &Arm, shared: usize) -> [HalfRow; 3] {
        half_product(&self.z[a.from..a.to], &self.z[b.from..b.to], shared)
    }

    /// Z of some arms, those of a tree that touches itself added up: `wide` eights for each of the dofs of a group. Notes where
    /// the dofs of all ways begin in it.
    fn spread(&mut self, arms: Range<usize>, tree: &Tree, dofs: &Range<usize>, wide: usize) {
        let Self { z, arms: all, spread, places, .. } = self;
        spread.clear();
        // Each three is written as a four: what follows the last one is never read.
        spread.resize(dofs.len() * wide + 1, [0.0; 8]);
        places.resize(z.len(), 0);
        let spread = spread.as_flattened_mut();
        for arm in &all[arms] {
            let (mut d, sign) = (arm.dof as usize, Lanes::splat(arm.sign));
            for (z, place) in z[arm.from..arm.to].iter().zip(&mut places[arm.from..arm.to]) {
                *place = (d - dofs.start) * wide;
                if let Some(to) = spread[8 * *place + arm.column..].first_chunk_mut::<4>() {
                    *to = sign.mul_add(Lanes::from(*z), Lanes::from(*to)).to_array();
                }
                d = tree.above(d);
            }
        }
    }

    /// W, `wide` eights a row, from the spread Z of some arms: the lower half, then the other.
    fn blocks(&mut self, arms: Range<usize>, wide: usize, W: &mut [f64]) {
        let Self { z, arms: all, spread, places, .. } = self;
        let (rows, _) = W.as_chunks_mut::<8>();
        let mut end = 0;
        for arm in &all[arms] {
            // The second point of a tree that touches itself adds to what the first has made.
            let more = end == arm.column + 3;
            end = arm.column + 3;
            let (way, places) = (&z[arm.from..arm.to], &places[arm.from..arm.to]);
            let mut put = |eight: usize, sums: [Eight; 3]| {
                for (r, [a, b]) in sums.into_iter().enumerate() {
                    let to = &mut rows[(arm.column + r) * wide + eight];
                    let [c, d] = if more { halved(to) } else { [Lanes::ZERO; 2] };
                    let sign = Lanes::splat(arm.sign);
                    *to = whole([sign.mul_add(a, c), sign.mul_add(b, d)]);
                }
            };
            let eights = end.div_ceil(8);
            for eight in (0..eights - 1).step_by(2) {
                let [a, b] = sums::<2>(way, places, spread, eight);
                put(eight, a);
                put(eight + 1, b);
            }
            if eights % 2 == 1 {
                let [a] = sums::<1>(way, places, spread, eights - 1);
                put(eights - 1, a);
            }
        }
        // Squares of eight on the diagonal are whole.
        let (rows, _) = W.as_chunks_mut::<4>();
        for i in 2..2 * end.div_ceil(8) {
            for j in 0..i - i % 2 {
                let own = [0, 1, 2, 3].map(|r| Lanes::from(rows[(4 * i + r) * 2 * wide + j]));
                for (r, turned) in Lanes::transpose(own).into_iter().enumerate() {
                    rows[(4 * j + r) * 2 * wide + i] = turned.to_array();
                }
            }
        }
    }

    /// How a unit impulse of a row moves the points of a group, from its z and their spread Z.
    fn beside(&mut self, z: &[f64], wide: usize, out: &mut [f64]) {
        let Self { spread, row_places, way, .. } = self;
        way.clear();
        row_places.clear();
        for (d, z) in z.iter().enumerate().filter(|(_, z)| **z != 0.0) {
            way.push(*z);
            row_places.push(d * wide);
        }
        let (pairs, last) = out.as_chunks_mut::<8>().0.as_chunks_mut::<2>();
        for (k, pair) in pairs.iter_mut().enumerate() {
            *pair = row_sums::<2>(way, row_places, spread, 2 * k).map(whole);
        }
        for out in last {
            [*out] = row_sums::<1>(way, row_places, spread, 2 * pairs.len()).map(whole);
        }
    }
}

/// Eight numbers side by side.
type Eight = [Lanes; 2];

/// Sums over the dofs of a way of its three rows, for N eights of columns of a spread Z.
#[inline(always)]
fn sums<const N: usize>(
    way: &[HalfRow],
    places: &[usize],
    spread: &[[f64; 8]],
    eight: usize,
) -> [[Eight; 3]; N] {
    let mut sums = [[[Lanes::ZERO; 2]; 3]; N];
    for ([x, y, z, _], place) in way.iter().zip(places) {
        let three = [x, y, z].map(|z| Lanes::splat(*z));
        for (sums, row) in sums.iter_mut().zip(&spread[place + eight..][..N]) {
            let row = halved(row);
            for (sum, z) in sums.iter_mut().zip(three) {
                *sum = [z.mul_add(row[0], sum[0]), z.mul_add(row[1], sum[1])];
            }
        }
    }
    sums
}

/// The same of one row.
#[inline(always)]
fn row_sums<const N: usize>(way: &[f64], places: &[usize], spread: &[[f64; 8]], eight: usize) -> [Eight; N] {
    let mut sums = [[Lanes::ZERO; 2]; N];
    for (z, place) in way.iter().zip(places) {
        let z = Lanes::splat(*z);
        for (sum, row) in sums.iter_mut().zip(&spread[place + eight..][..N]) {
            let row = halved(row);
            *sum = [z.mul_add(row[0], sum[0]), z.mul_add(row[1], sum[1])];
        }
    }
    sums
}

/// t += z p of a row.
fn add_half(row: &BoundRow, p: f64, field: &Field, t: &mut [f64]) {
    let p = Lanes::splat(p);
    for (t, z) in t.as_chunks_mut::<4>().0.iter_mut().zip(row.z(field)) {
        *t = p.mul_add(Lanes::from(*z), Lanes::from(*t)).to_array();
    }
}

#[inline(always)]
fn halved([a, b, c, d, e, f, g, h]: &[f64; 8]) -> [Lanes; 2] {
    [Lanes::from([*a, *b, *c, *d]), Lanes::from([*e, *f, *g, *h])]
}

#[inline(always)]
fn whole([a, b]: [Lanes; 2]) -> [f64; 8] {
    let ([a, b, c, d], [e, f, g, h]) = (a.to_array(), b.to_array());
    [a, b, c, d, e, f, g, h]
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
        let tree = &model.robots[group.robot].robot.tree;
        let Room { work, path_dofs, .. } = &mut self.robots.rooms[group.robot];
        let work = &work.tree;
        tree.path_dofs(&group.trees, work, path_dofs);
        if cluster.to - cluster.from >= STEMMED {
            tree.walk_common_ancestors(&group.trees, path_dofs);
        }
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
                    let dof =
                        tree.half_solve(link as usize, &info.point, turn, work, path_dofs, &mut halves.z);
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
                    let cross = halves.product(one, two, tree.shared_path(one.dof, two.dof));
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
        let tree = &model.robots[group.robot].robot.tree;
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

    /// W of a group, and how its rows move its points.
    fn find_blocks(&mut self, g: usize, model: &Model) {
        let group = &mut self.robots.groups[g];
        if group.known != Known::Own {
            return;
        }
        group.known = Known::Blocks;
        let tree = &model.robots[group.robot].robot.tree;
        let (m, dofs, halves) = (group.columns, &group.trees.dofs, &mut self.robots.halves);
        let wide = m / 8;
        halves.spread(group.arms.clone(), tree, dofs, wide);
        let W = &mut self.field.numbers.list[group.W..group.W + m * m];
        halves.blocks(group.arms.clone(), wide, W);
        for row in &mut self.bound_rows[group.rows.clone()] {
            if row.beside == NONE {
                row.beside = self.field.numbers.take(m) as u32;
            }
            let (from, to) = self.field.numbers.list.split_at_mut(row.beside as usize);
            halves.beside(&from[row.half as usize..][..dofs.len()], wide, &mut to[..m]);
        }
    }

    /// J of a group too.
    fn find_rows(&mut self, g: usize, model: &Model) {
        self.find_blocks(g, model);
        if self.robots.groups[g].known == Known::Blocks {
            self.fill_rows(g, model);
            self.robots.groups[g].known = Known::Rows;
        }
    }

    /// M⁻¹Jᵀ of a group, and W and J.
    fn find_answers(&mut self, g: usize, model: &Model) {
        self.find_rows(g, model);
        let group = &mut self.robots.groups[g];
        if group.known != Known::Rows {
            return;
        }
        group.known = Known::Answers;
        let (n, m) = (group.trees.dofs.len(), group.columns);
        let numbers = &mut self.field.numbers.list[group.J..group.Y + n * m];
        numbers.copy_within(..n * m, n * m);
        let Room { work, path_dofs, .. } = &mut self.robots.rooms[group.robot];
        let robot = &model.robots[group.robot].robot;
        robot.respond_in(&group.trees, m, &mut numbers[n * m..], work);
        for row in &self.bound_rows[group.rows.clone()] {
            let (half, at) = (row.half as usize, (row.at + row.len) as usize);
            self.field.numbers.list.copy_within(half..half + n, at);
            let pulls = &mut self.robots.halves.pulls;
            let answers = &mut self.field.numbers.list[at..at + n];
            robot.tree.second_half_solve(&group.trees, &mut work.tree, path_dofs, pulls, answers);
        }
    }

    /// z of the rows of a group of a simple robot.
    pub(super) fn answer_rows(&mut self, g: usize, model: &Model) {
        let touched = self.clusters[self.joint_islands() + g].touched;
        let group = &self.robots.groups[g];
        let (tree, dofs) = (&model.robots[group.robot].robot.tree, &group.trees.dofs);
        let Room { work, path_dofs, .. } = &mut self.robots.rooms[group.robot];
        if !touched && !group.rows.is_empty() {
            tree.path_dofs(&group.trees, &work.tree, path_dofs);
        }
        let way = &mut self.robots.halves.way;
        let (numbers, m) = (&mut self.field.numbers, group.rows.len());
        let wide = dofs.len().next_multiple_of(4);
        let rows = &mut self.bound_rows[group.rows.clone()];
        for row in &mut *rows {
            if row.half == NONE {
                row.half = numbers.take(wide) as u32;
            }
            let (a, z) = numbers.list.split_at_mut(row.half as usize);
            let z = &mut z[..wide];
            z.fill(0.0);
            let mut add = |d: usize, a: f64| {
                way.clear();
                tree.half_solve_of_dof(d, &work.tree, path_dofs, way);
                let mut at = d;
                for w in &*way {
                    z[at - dofs.start] += a * w;
                    at = tree.above(at);
                }
            };
            if row.only != NONE {
                add(dofs.start + (row.only - row.first) as usize, row.slope);
            } else {
                let a = a[row.at as usize..][..dofs.len()].iter().enumerate();
                a.filter(|(_, a)| **a != 0.0).for_each(|(d, a)| add(dofs.start + d, *a));
            }
        }
        if m > 0 && rows[0].block == NONE {
            let block = numbers.take(m * m) as u32;
            rows.iter_mut()
                .enumerate()
                .for_each(|(i, row)| (row.block, row.place) = (block, [i as u32, m as u32]));
        }
        for i in 0..m {
            for j in 0..=i {
                let (block, answer) = (rows[i].block as usize, rows[i].times(&self.field, &rows[j]));
                self.field.numbers.list[block + i * m + j] = answer;
                self.field.numbers.list[block + j * m + i] = answer;
            }
            rows[i].take_own(&self.field);
        }
    }

    /// x += M⁻¹aᵀ of an impulse of each row of a group of a simple robot.
    pub(super) fn push_rows(&mut self, g: usize, model: &Model, mut impulse: impl FnMut(&BoundRow) -> f64) {
        let first = self.clusters[self.joint_islands() + g].first as usize;
        let group = &self.robots.groups[g];
        let n = group.trees.dofs.len();
        let Halves { t, pulls, .. } = &mut self.robots.halves;
        t.clear();
        t.resize(n.next_multiple_of(4), 0.0);
        for row in &self.bound_rows[group.rows.clone()] {
            add_half(row, impulse(row), &self.field, t);
        }
        let tree = &model.robots[group.robot].robot.tree;
        let Room { work, path_dofs, .. } = &mut self.robots.rooms[group.robot];
        tree.second_half_solve(&group.trees, &mut work.tree, path_dofs, pulls, &mut t[..n]);
        self.field.x[first..first + n].iter_mut().zip(t).for_each(|(x, t)| *x += *t);
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

    /// W and J of all trees of an island.
    pub(super) fn know_rows(&mut self, range: Range<usize>, model: &Model) {
        for k in range {
            for node in self.info[k].nodes {
                if node != NONE && node as usize >= self.slots() {
                    self.find_rows(node as usize - self.slots(), model);
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

    /// x += M⁻¹Jᵀ of signed impulses, one for each column of a group, and of those of some rows: the ones of this group count.
    pub(super) fn add_answers(
        &mut self,
        g: usize,
        model: &Model,
        signed: &[f64],
        rows: &[u32],
        impulses: &[f64],
        x: &mut [f64],
    ) {
        let first = self.clusters[self.joint_islands() + g].first as usize;
        let group = &self.robots.groups[g];
        let (n, m) = (group.trees.dofs.len(), group.columns);
        if m == 0 {
            return;
        }
        let rows = rows.iter().map(|k| *k as usize).zip(impulses).filter(|(k, _)| group.rows.contains(k));
        if group.known == Known::Answers {
            rows.for_each(|(k, p)| self.bound_rows[k].push(&self.field, x, *p));
            let x = &mut x[first..first + n];
            let Y = &self.field.numbers.list[group.Y..group.Y + n * m];
            x.iter_mut().zip(Y.chunks_exact(m)).for_each(|(x, Y)| *x += dot(Y, signed));
            return;
        }
        let tree = &model.robots[group.robot].robot.tree;
        let Halves { z, arms, t, pulls, .. } = &mut self.robots.halves;
        t.clear();
        t.resize(n.next_multiple_of(4), 0.0);
        rows.for_each(|(k, p)| add_half(&self.bound_rows[k], *p, &self.field, t));
        for arm in &arms[group.arms.clone()] {
            let p = [0, 1, 2].map(|k| arm.sign * signed[arm.column + k]);
            tree.add_half(arm.dof, &z[arm.from..arm.to], &p, group.trees.dofs.start, t);
        }
        let Room { work, path_dofs, .. } = &mut self.robots.rooms[group.robot];
        tree.second_half_solve(&group.trees, &mut work.tree, path_dofs, pulls, &mut t[..n]);
        x[first..first + n].iter_mut().zip(&*t).for_each(|(x, t)| *x += t);
    }

    /// x += M⁻¹Jᵀ of impulses and angular impulses of the contacts of an island of links, and of impulses of its rows.
    pub(super) fn add_changes(
        &mut self,
        range: Range<usize>,
        model: &Model,
        changes: &[[Vec3; 2]],
        rows: &[u32],
        row_changes: &[f64],
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
            self.add_answers(g, model, &signed, rows, row_changes, x);
        }
        (self.robots.signed, self.robots.halves_groups) = (signed, groups);
    }
}
