//! Matrices with the pattern of a tree: $A_{ij} \ne 0$ only if one of the dofs i, j lies on the path of the other to the
//! world. $M = L^T D L$ fills nothing in.
//!
//! Row i keeps the entries of i with the dofs on its path, from the root to itself, one after the other: the path of an
//! ancestor is a beginning of the own path, so the update of a row of the factor by another is one loop over memory
//! without gaps. Dofs are eliminated from the leaves to the root (Featherstone 2005, "Efficient factorization of the
//! joint-space inertia matrix for branched kinematic trees").

use std::ops::Range;

use super::fixed_size::fma;
use super::tree::Tree;

/// The lower half of a symmetric matrix with the pattern of a tree, or its factor. Methods take the tree it belongs to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TreeMatrix {
    pub(super) entries: Vec<f64>,
}

/// y ← y − a x.
#[inline(always)]
pub(super) fn subtract(y: &mut [f64], a: f64, x: &[f64]) {
    let x = &x[..y.len()];
    for l in 0..y.len() {
        y[l] = fma(-a, x[l], y[l]);
    }
}

/// y ← y − Σ c x for four slices as long as y.
#[inline(always)]
fn subtract_four(y: &mut [f64], c: [f64; 4], x: [&[f64]; 4]) {
    let n = y.len();
    let [a, b, p, q] = x.map(|x| &x[..n]);
    for l in 0..n {
        y[l] = fma(-c[3], q[l], fma(-c[2], p[l], fma(-c[1], b[l], fma(-c[0], a[l], y[l]))));
    }
}

impl TreeMatrix {
    /// Makes it as large as the tree asks for.
    pub(super) fn fit(&mut self, tree: &Tree) {
        self.entries.resize(tree.row[tree.freedoms()], 0.0);
    }

    /// The whole matrix, row by row.
    pub fn to_dense(&self, tree: &Tree, dense: &mut [f64]) {
        let n = tree.freedoms();
        dense[..n * n].fill(0.0);
        for i in 0..n {
            let row = &self.entries[tree.row[i]..tree.row[i + 1]];
            let mut j = i as u32;
            for value in row.iter().rev() {
                dense[i * n + j as usize] = *value;
                dense[j as usize * n + i] = *value;
                j = tree.dof_parent[j as usize];
            }
        }
    }

    /// y ← A x.
    pub fn times(&self, tree: &Tree, x: &[f64], y: &mut [f64]) {
        y.fill(0.0);
        for i in 0..tree.freedoms() {
            let row = &self.entries[tree.row[i]..tree.row[i + 1]];
            let Some((diagonal, row)) = row.split_last() else { continue };
            let mut sum = diagonal * x[i];
            let mut j = tree.dof_parent[i];
            for value in row.iter().rev() {
                sum = fma(*value, x[j as usize], sum);
                y[j as usize] = fma(*value, x[i], y[j as usize]);
                j = tree.dof_parent[j as usize];
            }
            y[i] += sum;
        }
    }

    /// A ← its factor Lᵀ D L: L below the diagonal, 1/D on it. A must be positive definite.
    ///
    /// Dofs that follow each other in one branch are eliminated four at a time: then a row above them is read and
    /// written once for four updates.
    pub fn factor(&mut self, tree: &Tree) {
        let mut end = tree.freedoms();
        while end > 0 {
            let mut first = end - 1;
            while end - first < 4 && first > 0 && tree.dof_parent[first] as usize == first - 1 {
                first -= 1;
            }
            if end - first == 4 {
                self.eliminate_block(tree, first, 4);
                self.update_by_four(tree, first);
            } else {
                first = end - 1;
                self.update_by_one(tree, first);
            }
            for i in first..end {
                let row = &mut self.entries[tree.row[i]..tree.row[i + 1]];
                let Some((inv_d, row)) = row.split_last_mut() else { continue };
                row.iter_mut().for_each(|x| *x *= *inv_d);
            }
            end = first;
        }
    }

    /// Eliminates `count` dofs from `first` on, each the parent of the next, from each other's rows; 1/D goes on the
    /// diagonal.
    fn eliminate_block(&mut self, tree: &Tree, first: usize, count: usize) {
        for i in (first..first + count).rev() {
            let (before, own) = self.entries.split_at_mut(tree.row[i]);
            let last = tree.row[i + 1] - tree.row[i] - 1;
            own[last] = 1.0 / own[last];
            for j in (first..i).rev() {
                let k = last - (i - j) + 1;
                let at = tree.row[j];
                subtract(&mut before[at..at + k], own[k - 1] * own[last], &own[..k]);
            }
        }
    }

    /// Updates the rows above dof i by its own.
    fn update_by_one(&mut self, tree: &Tree, i: usize) {
        self.eliminate_block(tree, i, 1);
        let (before, own) = self.entries.split_at_mut(tree.row[i]);
        let last = tree.row[i + 1] - tree.row[i] - 1;
        let inv_d = own[last];
        let mut j = tree.dof_parent[i];
        for k in (1..=last).rev() {
            let at = tree.row[j as usize];
            subtract(&mut before[at..at + k], own[k - 1] * inv_d, &own[..k]);
            j = tree.dof_parent[j as usize];
        }
    }

    /// Updates the rows above four dofs by all of them.
    fn update_by_four(&mut self, tree: &Tree, first: usize) {
        let start = tree.row[first];
        let (before, block) = self.entries.split_at_mut(start);
        let rows: [&[f64]; 4] =
            std::array::from_fn(|m| &block[tree.row[first + m] - start..tree.row[first + m + 1] - start]);
        let inv_d = rows.map(|row| row[row.len() - 1]);
        let mut j = tree.dof_parent[first];
        for k in (1..rows[0].len()).rev() {
            let at = tree.row[j as usize];
            let c: [f64; 4] = std::array::from_fn(|m| rows[m][k - 1] * inv_d[m]);
            subtract_four(&mut before[at..at + k], c, rows.map(|row| &row[..k]));
            j = tree.dof_parent[j as usize];
        }
    }

    /// x ← A⁻¹ x, after [`factor`](Self::factor): Lᵀ, D, L in turn.
    pub fn solve(&self, tree: &Tree, x: &mut [f64]) {
        self.solve_many(tree, 1, x);
    }

    /// X ← A⁻¹ X for a matrix of `columns` columns, stored row by row. After [`factor`](Self::factor).
    pub fn solve_many(&self, tree: &Tree, columns: usize, x: &mut [f64]) {
        if columns == 1 {
            return self.solve_one(tree, x);
        }
        self.solve_in(tree, 0..tree.freedoms(), columns, x);
    }

    /// The same for the dofs of whole trees, which alone `x` has.
    pub(super) fn solve_in(&self, tree: &Tree, dofs: Range<usize>, columns: usize, x: &mut [f64]) {
        let (m, first) = (columns, dofs.start);
        let row = |i: usize| &self.entries[tree.row[i]..tree.row[i + 1]];
        for i in dofs.clone().rev() {
            let (before, own) = x.split_at_mut((i - first) * m);
            let mut j = tree.dof_parent[i];
            for l in row(i).iter().rev().skip(1) {
                let at = (j as usize - first) * m;
                subtract(&mut before[at..at + m], *l, &own[..m]);
                j = tree.dof_parent[j as usize];
            }
        }
        for i in dofs {
            let (before, own) = x.split_at_mut((i - first) * m);
            let own = &mut own[..m];
            let mut j = i as u32;
            for (k, l) in row(i).iter().rev().enumerate() {
                if k == 0 {
                    own.iter_mut().for_each(|x| *x *= l);
                } else {
                    let at = (j as usize - first) * m;
                    subtract(own, *l, &before[at..at + m]);
                }
                j = tree.dof_parent[j as usize];
            }
        }
    }

    /// x ← L⁻¹ D^{-1/2} x for the dofs of whole trees, which alone `x` has: the second half of a solve.
    pub(super) fn second_half_solve(&self, tree: &Tree, dofs: Range<usize>, x: &mut [f64]) {
        let first = dofs.start;
        for i in dofs {
            let row = &self.entries[tree.row[i]..tree.row[i + 1]];
            let Some((inv_d, row)) = row.split_last() else { continue };
            let (mut sum, mut j) = (x[i - first] * inv_d.sqrt(), tree.dof_parent[i]);
            for l in row.iter().rev() {
                sum = fma(-l, x[j as usize - first], sum);
                j = tree.dof_parent[j as usize];
            }
            x[i - first] = sum;
        }
    }

    fn solve_one(&self, tree: &Tree, x: &mut [f64]) {
        let (n, parents) = (tree.freedoms(), &tree.dof_parent[..]);
        for i in (0..n).rev() {
            let row = &self.entries[tree.row[i]..tree.row[i + 1]];
            let own = x[i];
            let mut j = parents[i];
            for l in row.iter().rev().skip(1) {
                x[j as usize] = fma(-l, own, x[j as usize]);
                j = parents[j as usize];
            }
        }
        for i in 0..n {
            let row = &self.entries[tree.row[i]..tree.row[i + 1]];
            let Some((inv_d, row)) = row.split_last() else { continue };
            let mut sum = x[i] * inv_d;
            let mut j = parents[i];
            for l in row.iter().rev() {
                sum = fma(-l, x[j as usize], sum);
                j = parents[j as usize];
            }
            x[i] = sum;
        }
    }
}

/// Any square matrix with the pattern of a tree, or its factor: rows as in [`TreeMatrix`], and for the other half
/// columns in the same way. Methods take the tree it belongs to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TreeSquareMatrix {
    /// Entries (i, j) for j on the path of i, i included.
    pub(super) lower: Vec<f64>,
    /// Entries (j, i) for j on the path of i; the place of (i, i) is not used.
    pub(super) upper: Vec<f64>,
}

impl TreeSquareMatrix {
    /// Makes it as large as the tree asks for.
    pub(super) fn fit(&mut self, tree: &Tree) {
        self.lower.resize(tree.row[tree.freedoms()], 0.0);
        self.upper.resize(tree.row[tree.freedoms()], 0.0);
    }

    /// A ← h A + S.
    pub(crate) fn scale_and_add(&mut self, h: f64, symmetric: &TreeMatrix) {
        for half in [&mut self.lower, &mut self.upper] {
            half.iter_mut().zip(&symmetric.entries).for_each(|(a, s)| *a = fma(h, *a, *s));
        }
    }

    /// Adds to the diagonal.
    pub(crate) fn add_diagonal(&mut self, tree: &Tree, i: usize, value: f64) {
        self.lower[tree.row[i + 1] - 1] += value;
    }

    /// The whole matrix, row by row.
    pub fn to_dense(&self, tree: &Tree, dense: &mut [f64]) {
        let n = tree.freedoms();
        dense[..n * n].fill(0.0);
        for i in 0..n {
            let mut j = i as u32;
            for at in (tree.row[i]..tree.row[i + 1]).rev() {
                dense[j as usize * n + i] = self.upper[at];
                dense[i * n + j as usize] = self.lower[at];
                j = tree.dof_parent[j as usize];
            }
        }
    }

    /// A ← its factor U L, dofs eliminated from the leaves to the root, without exchange of rows: A must be near enough
    /// to a positive definite matrix.
    pub fn factor(&mut self, tree: &Tree) {
        for i in (0..tree.freedoms()).rev() {
            let (start, end) = (tree.row[i], tree.row[i + 1]);
            let (low_before, low) = self.lower.split_at_mut(start);
            let (high_before, high) = self.upper.split_at_mut(start);
            let count = end - start - 1;
            let inv_d = 1.0 / low[count];
            let (low, high) = (&mut low[..=count], &mut high[..count]);
            low[count] = inv_d;
            high.iter_mut().for_each(|x| *x *= inv_d);
            // A_jl −= A_ji A_il / A_ii for j, l on the path of i.
            let mut j = tree.dof_parent[i];
            for k in (1..=count).rev() {
                let at = tree.row[j as usize];
                subtract(&mut low_before[at..at + k], high[k - 1], &low[..k]);
                subtract(&mut high_before[at..at + k - 1], low[k - 1], &high[..k - 1]);
                j = tree.dof_parent[j as usize];
            }
        }
    }

    /// x ← A⁻¹ x, after [`factor`](Self::factor).
    pub fn solve(&self, tree: &Tree, x: &mut [f64]) {
        let (n, parents) = (tree.freedoms(), &tree.dof_parent[..]);
        for i in (0..n).rev() {
            let own = x[i];
            let mut j = parents[i];
            for u in self.upper[tree.row[i]..tree.row[i + 1] - 1].iter().rev() {
                x[j as usize] = fma(-u, own, x[j as usize]);
                j = parents[j as usize];
            }
        }
        for i in 0..n {
            let row = &self.lower[tree.row[i]..tree.row[i + 1]];
            let Some((inv_d, row)) = row.split_last() else { continue };
            let (mut sum, mut j) = (x[i], parents[i]);
            for l in row.iter().rev() {
                sum = fma(-l, x[j as usize], sum);
                j = parents[j as usize];
            }
            x[i] = sum * inv_d;
        }
    }
}
