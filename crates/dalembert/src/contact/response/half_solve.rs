//! Half solves of trees: the Delassus operator $W = J M^{-1}J^T = Z^T Z$ with $Z = D^{-1/2} L^{-T} J^T$, as much of it as is
//! needed.
//!
//! | [`Known`] | what | for |
//! |---|---|---|
//! | `Diagonal` | z of each point on its path to the root, and with it the own block of W | residuals |
//! | `Delassus` | all of W, with the rows of the robot | Newton's methods, split impulses |
//! | `Jacobian` | J | angular velocities and restitution, by the velocities of dofs |
//! | `Columns` | $M^{-1}J^T$ | Gauss–Seidel |
//!
//! Where the impulses of the step before hold, which is most of the time for what lies or stands still, the first is enough.
//! What impulses p do to all velocities is $M^{-1}J^Tp = L^{-1}D^{-1/2}(Zp)$, half a solve however many there are, and the
//! velocities of points come from those of the links. Rows of robots with bounds have a z as well, and respond to each other
//! and to the points by it.
//!
//! For W, Z is laid out as one matrix, a row for each dof and the columns of all points side by side: three rows of W are sums
//! over the dofs of one path, of all columns at once.

use std::ops::Range;

use super::bounded_row::BoundedRow;
use super::robot::{RobotResponder, RobotResponders};
use super::{CoupledBodies, NONE, Responses};
use crate::bodies::articulated::{Acceleration, HalfRow, Tree, half_product};
use crate::math::simd::Lanes;
use crate::math::{Vec3, dot};

/// From so many contacts on a tree, the part of the path that all share is walked once for all of them.
const SHARED_PATH: u32 = 4;

/// How much is known of the responses of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Known {
    Nothing,
    /// Blocks of W on the diagonal.
    Diagonal,
    /// W.
    Delassus,
    /// W and J.
    Jacobian,
    /// W, J and M⁻¹Jᵀ.
    Columns,
}

/// A point of a link, or its angular velocity, and the columns that it has in its group. Two in a row with one column are the two
/// points at which a tree touches itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RobotPoint {
    /// First of its three columns.
    pub(crate) column: usize,
    pub(crate) sign: f64,
    pub(crate) link: u32,
    pub(crate) point: Vec3,
    pub(crate) angular: bool,
}

/// A point and its z on the path to the root.
#[derive(Debug, Clone, Copy)]
struct Path {
    at: RobotPoint,
    /// Where its numbers are.
    from: usize,
    to: usize,
    /// First dof of the path.
    dof: u32,
}

/// Half solves of all points of links.
#[derive(Debug, Default)]
pub(crate) struct HalfSolves {
    z: Vec<HalfRow>,
    paths: Vec<Path>,
    t: Vec<f64>,
    pulls: Vec<Acceleration>,
    /// Z of a group, dof by dof, eight columns at a time; where the dofs of all paths begin in it.
    spread: Vec<[f64; 8]>,
    places: Vec<usize>,
    /// z of a row where it is not zero, and where these dofs begin.
    row: Vec<f64>,
    row_places: Vec<usize>,
}

impl HalfSolves {
    pub(crate) fn clear(&mut self) {
        self.z.clear();
        self.paths.clear();
    }

    #[inline(always)]
    fn product(&self, a: &Path, b: &Path, shared: usize) -> [HalfRow; 3] {
        half_product(&self.z[a.from..a.to], &self.z[b.from..b.to], shared)
    }

    /// Z of some paths, those of a tree that touches itself added up: `wide` eights for each of the dofs of a group. Notes where
    /// the dofs of all paths begin in it.
    fn spread(&mut self, paths: Range<usize>, tree: &Tree, dofs: &Range<usize>, wide: usize) {
        let Self { z, paths: all, spread, places, .. } = self;
        spread.clear();
        // Each three is written as a four: what follows the last one is never read.
        spread.resize(dofs.len() * wide + 1, [0.0; 8]);
        places.resize(z.len(), 0);
        let spread = spread.as_flattened_mut();
        for path in &all[paths] {
            let (mut d, sign) = (path.dof as usize, Lanes::splat(path.at.sign));
            for (z, place) in z[path.from..path.to].iter().zip(&mut places[path.from..path.to]) {
                *place = (d - dofs.start) * wide;
                if let Some(to) = spread[8 * *place + path.at.column..].first_chunk_mut::<4>() {
                    *to = sign.mul_add(Lanes::from(*z), Lanes::from(*to)).to_array();
                }
                d = tree.above(d);
            }
        }
    }

    /// W, `wide` eights a row, from the spread Z of some paths: the lower half, then the other.
    fn blocks(&mut self, paths: Range<usize>, wide: usize, W: &mut [f64]) {
        let Self { z, paths: all, spread, places, .. } = self;
        let (rows, _) = W.as_chunks_mut::<8>();
        let mut end = 0;
        for path in &all[paths] {
            // The second point of a tree that touches itself adds to what the first has made.
            let more = end == path.at.column + 3;
            end = path.at.column + 3;
            let (own, places) = (&z[path.from..path.to], &places[path.from..path.to]);
            let mut put = |eight: usize, sums: [Eight; 3]| {
                for (r, [a, b]) in sums.into_iter().enumerate() {
                    let to = &mut rows[(path.at.column + r) * wide + eight];
                    let [c, d] = if more { halved(to) } else { [Lanes::ZERO; 2] };
                    let sign = Lanes::splat(path.at.sign);
                    *to = whole([sign.mul_add(a, c), sign.mul_add(b, d)]);
                }
            };
            let eights = end.div_ceil(8);
            for eight in (0..eights - 1).step_by(2) {
                let [a, b] = sums::<2>(own, places, spread, eight);
                put(eight, a);
                put(eight + 1, b);
            }
            if eights % 2 == 1 {
                let [a] = sums::<1>(own, places, spread, eights - 1);
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
    fn coupling(&mut self, z: &[f64], wide: usize, out: &mut [f64]) {
        let Self { spread, row_places, row, .. } = self;
        row.clear();
        row_places.clear();
        for (d, z) in z.iter().enumerate().filter(|(_, z)| **z != 0.0) {
            row.push(*z);
            row_places.push(d * wide);
        }
        let (pairs, last) = out.as_chunks_mut::<8>().0.as_chunks_mut::<2>();
        for (k, pair) in pairs.iter_mut().enumerate() {
            *pair = row_sums::<2>(row, row_places, spread, 2 * k).map(whole);
        }
        for out in last {
            [*out] = row_sums::<1>(row, row_places, spread, 2 * pairs.len()).map(whole);
        }
    }
}

/// Eight numbers side by side.
type Eight = [Lanes; 2];

/// Sums over the dofs of a path of its three rows, for N eights of columns of a spread Z.
#[inline(always)]
fn sums<const N: usize>(
    path: &[HalfRow],
    places: &[usize],
    spread: &[[f64; 8]],
    eight: usize,
) -> [[Eight; 3]; N] {
    let mut sums = [[[Lanes::ZERO; 2]; 3]; N];
    for ([x, y, z, _], place) in path.iter().zip(places) {
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
fn row_sums<const N: usize>(own: &[f64], places: &[usize], spread: &[[f64; 8]], eight: usize) -> [Eight; N] {
    let mut sums = [[Lanes::ZERO; 2]; N];
    for (z, place) in own.iter().zip(places) {
        let z = Lanes::splat(*z);
        for (sum, row) in sums.iter_mut().zip(&spread[place + eight..][..N]) {
            let row = halved(row);
            *sum = [z.mul_add(row[0], sum[0]), z.mul_add(row[1], sum[1])];
        }
    }
    sums
}

/// t += z p of a row.
fn add_half(row: &BoundedRow, p: f64, responses: &Responses, t: &mut [f64]) {
    let p = Lanes::splat(p);
    for (t, z) in t.as_chunks_mut::<4>().0.iter_mut().zip(row.half_solve(responses)) {
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

impl RobotResponders {
    /// Half solves of all points of a group, with the factor at hand, and the blocks of W on the diagonal.
    pub(crate) fn half_solve(
        &mut self,
        g: usize,
        contacts: u32,
        points: &[RobotPoint],
        responses: &mut Responses,
    ) {
        let (group, half) = (&mut self.groups[g], &mut self.half);
        group.known = Known::Diagonal;
        group.paths.start = half.paths.len();
        let RobotResponder { robot, work, path_dofs, .. } = &mut self.robots[group.robot];
        let (tree, work) = (&robot.tree, &work.tree);
        tree.path_dofs(&group.trees, work, path_dofs);
        if contacts >= SHARED_PATH {
            tree.walk_common_ancestors(&group.trees, path_dofs);
        }
        let m = group.columns;
        let W = &mut responses.numbers.list[group.W..group.W + m * m];
        for own in points.chunk_by(|a, b| a.column == b.column) {
            let first = half.paths.len();
            for at in own {
                let from = half.z.len();
                let dof =
                    tree.half_solve(at.link as usize, &at.point, at.angular, work, path_dofs, &mut half.z);
                half.paths.push(Path { at: *at, from, to: half.z.len(), dof });
            }
            let own = &half.paths[first..];
            let one = &own[0];
            let mut block = half.product(one, one, one.to - one.from);
            if let Some(two) = own.get(1) {
                let both = half.product(two, two, two.to - two.from);
                let cross = half.product(one, two, tree.shared_path(one.dof, two.dof));
                for i in 0..3 {
                    (0..3).for_each(|j| block[i][j] += both[i][j] - cross[i][j] - cross[j][i]);
                }
            }
            for (i, row) in block.iter().enumerate() {
                W[(one.at.column + i) * m + one.at.column..][..3].copy_from_slice(&row[..3]);
            }
        }
        group.paths.end = half.paths.len();
    }

    /// Computes what is not known yet of the responses of a group.
    pub(crate) fn know(&mut self, g: usize, what: Known, responses: &mut Responses, rows: &mut [BoundedRow]) {
        if self.groups[g].known == Known::Diagonal && what >= Known::Delassus {
            self.delassus(g, responses, rows);
        }
        if self.groups[g].known == Known::Delassus && what >= Known::Jacobian {
            self.jacobian(g, responses);
        }
        if self.groups[g].known == Known::Jacobian && what >= Known::Columns {
            self.columns(g, responses, rows);
        }
    }

    /// W of a group, and how its rows move its points.
    fn delassus(&mut self, g: usize, responses: &mut Responses, rows: &mut [BoundedRow]) {
        let group = &mut self.groups[g];
        group.known = Known::Delassus;
        let tree = &self.robots[group.robot].robot.tree;
        let (m, dofs, half) = (group.columns, &group.trees.dofs, &mut self.half);
        let wide = m / 8;
        half.spread(group.paths.clone(), tree, dofs, wide);
        half.blocks(group.paths.clone(), wide, &mut responses.numbers.list[group.W..group.W + m * m]);
        for row in &mut rows[group.rows.clone()] {
            if row.coupling == NONE {
                row.coupling = responses.numbers.take(m) as u32;
            }
            let (from, to) = responses.numbers.list.split_at_mut(row.coupling as usize);
            half.coupling(&from[row.half as usize..][..dofs.len()], wide, &mut to[..m]);
        }
    }

    /// J of a group, column by column.
    fn jacobian(&mut self, g: usize, responses: &mut Responses) {
        let group = &mut self.groups[g];
        group.known = Known::Jacobian;
        let RobotResponder { robot, work, .. } = &self.robots[group.robot];
        let (n, m, first) = (group.trees.dofs.len(), group.columns, group.trees.dofs.start);
        let J = &mut responses.numbers.list[group.J..group.J + n * m];
        J.fill(0.0);
        for Path { at, .. } in &self.half.paths[group.paths.clone()] {
            robot.tree.each_column(at.link as usize, &at.point, &work.tree, |d, v, w| {
                let j = if at.angular { w } else { v };
                let row = &mut J[(d - first) * m + at.column..][..3];
                (0..3).for_each(|k| row[k] += at.sign * j[k]);
            });
        }
    }

    /// M⁻¹Jᵀ of a group and of its rows.
    fn columns(&mut self, g: usize, responses: &mut Responses, rows: &[BoundedRow]) {
        let group = &mut self.groups[g];
        group.known = Known::Columns;
        let (n, m) = (group.trees.dofs.len(), group.columns);
        let numbers = &mut responses.numbers.list[group.J..group.Y + n * m];
        numbers.copy_within(..n * m, n * m);
        let RobotResponder { robot, work, path_dofs, .. } = &mut self.robots[group.robot];
        robot.respond_in(&group.trees, m, &mut numbers[n * m..], work);
        for row in &rows[group.rows.clone()] {
            let (half, at) = (row.half as usize, (row.at + row.len) as usize);
            responses.numbers.list.copy_within(half..half + n, at);
            let columns = &mut responses.numbers.list[at..at + n];
            robot.tree.second_half_solve(
                &group.trees,
                &mut work.tree,
                path_dofs,
                &mut self.half.pulls,
                columns,
            );
        }
    }

    /// z of the rows of a group of a linear robot, and their W.
    pub(crate) fn half_solve_rows(
        &mut self,
        g: usize,
        coupled: &CoupledBodies,
        responses: &mut Responses,
        rows: &mut [BoundedRow],
    ) {
        let group = &self.groups[g];
        let RobotResponder { robot, work, path_dofs, .. } = &mut self.robots[group.robot];
        let (tree, dofs) = (&robot.tree, &group.trees.dofs);
        if !coupled.touched && !group.rows.is_empty() {
            tree.path_dofs(&group.trees, &work.tree, path_dofs);
        }
        let path = &mut self.half.row;
        let (numbers, m) = (&mut responses.numbers, group.rows.len());
        let wide = dofs.len().next_multiple_of(4);
        let rows = &mut rows[group.rows.clone()];
        for row in &mut *rows {
            if row.half == NONE {
                row.half = numbers.take(wide) as u32;
            }
            let (a, z) = numbers.list.split_at_mut(row.half as usize);
            let z = &mut z[..wide];
            z.fill(0.0);
            let mut add = |d: usize, a: f64| {
                path.clear();
                tree.half_solve_of_dof(d, &work.tree, path_dofs, path);
                let mut at = d;
                for w in &*path {
                    z[at - dofs.start] += a * w;
                    at = tree.above(at);
                }
            };
            if row.only != NONE {
                add(dofs.start + (row.only - row.first) as usize, row.coefficient);
            } else {
                let a = a[row.at as usize..][..dofs.len()].iter().enumerate();
                a.filter(|(_, a)| **a != 0.0).for_each(|(d, a)| add(dofs.start + d, *a));
            }
        }
        if m > 0 && rows[0].block == NONE {
            let block = numbers.take(m * m) as u32;
            let places = rows.iter_mut().enumerate();
            places.for_each(|(i, row)| (row.block, row.place) = (block, [i as u32, m as u32]));
        }
        for i in 0..m {
            for j in 0..=i {
                let (block, w) = (rows[i].block as usize, rows[i].half_product(responses, &rows[j]));
                responses.numbers.list[block + i * m + j] = w;
                responses.numbers.list[block + j * m + i] = w;
            }
            rows[i].take_diagonal(responses);
        }
    }

    /// x += M⁻¹aᵀ of an impulse of each row of a group of a linear robot.
    pub(crate) fn apply_rows(
        &mut self,
        g: usize,
        responses: &Responses,
        rows: &[BoundedRow],
        x: &mut [f64],
        mut impulse: impl FnMut(&BoundedRow) -> f64,
    ) {
        let group = &self.groups[g];
        let n = group.trees.dofs.len();
        let HalfSolves { t, pulls, .. } = &mut self.half;
        t.clear();
        t.resize(n.next_multiple_of(4), 0.0);
        for row in &rows[group.rows.clone()] {
            add_half(row, impulse(row), responses, t);
        }
        let RobotResponder { robot, work, path_dofs, .. } = &mut self.robots[group.robot];
        robot.tree.second_half_solve(&group.trees, &mut work.tree, path_dofs, pulls, &mut t[..n]);
        x[group.velocities()].iter_mut().zip(t).for_each(|(x, t)| *x += *t);
    }

    /// x += M⁻¹Jᵀ of signed impulses, one for each column of a group, and of those of some rows, given by their numbers: the
    /// ones of this group count.
    pub(crate) fn apply(
        &mut self,
        g: usize,
        responses: &Responses,
        rows: &[BoundedRow],
        signed: &[f64],
        (numbers, impulses): (&[u32], &[f64]),
        x: &mut [f64],
    ) {
        let group = &self.groups[g];
        let (n, m) = (group.trees.dofs.len(), group.columns);
        if m == 0 {
            return;
        }
        let own = numbers.iter().map(|k| *k as usize).zip(impulses).filter(|(k, _)| group.rows.contains(k));
        if group.known == Known::Columns {
            own.for_each(|(k, p)| rows[k].apply(responses, x, *p));
            let Y = &responses.numbers.list[group.Y..group.Y + n * m];
            x[group.velocities()].iter_mut().zip(Y.chunks_exact(m)).for_each(|(x, Y)| *x += dot(Y, signed));
            return;
        }
        let RobotResponder { robot, work, path_dofs, .. } = &mut self.robots[group.robot];
        let HalfSolves { z, paths, t, pulls, .. } = &mut self.half;
        t.clear();
        t.resize(n.next_multiple_of(4), 0.0);
        own.for_each(|(k, p)| add_half(&rows[k], *p, responses, t));
        for Path { at, from, to, dof } in &paths[group.paths.clone()] {
            let p = [0, 1, 2].map(|k| at.sign * signed[at.column + k]);
            robot.tree.add_half(*dof, &z[*from..*to], &p, group.trees.dofs.start, t);
        }
        robot.tree.second_half_solve(&group.trees, &mut work.tree, path_dofs, pulls, &mut t[..n]);
        x[group.velocities()].iter_mut().zip(&*t).for_each(|(x, t)| *x += t);
    }
}
