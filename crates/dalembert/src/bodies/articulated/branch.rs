//! Matrices with the pattern of a tree: $A_{ij} \ne 0$ only if one of the dofs i, j lies on the way of the other to the
//! world. $M = L^T D L$ fills nothing in.
//!
//! Row i keeps the entries of i with the dofs on its way, from the root to itself, one after the other: the way of an
//! ancestor is a beginning of the own way, so the update of a row of the factor by another is one loop over memory
//! without gaps. Dofs are eliminated from the leaves to the root (Featherstone 2005, "Efficient factorization of the
//! joint-space inertia matrix for branched kinematic trees").

use super::small::fma;
use super::tree::{NONE, Tree};

/// The lower half of a symmetric matrix with the pattern of a tree, or its factor. Methods take the tree it belongs to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BranchMatrix {
    pub(super) entries: Vec<f64>,
}

/// y ← y − a x.
#[inline(always)]
pub(super) fn subtract(y: &mut [f64], a: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = fma(-a, *x, *y);
    }
}

impl BranchMatrix {
    /// A matrix of zeros with the pattern of a tree.
    pub fn zeros(tree: &Tree) -> Self {
        Self { entries: vec![0.0; tree.row[tree.freedoms()]] }
    }

    /// Makes it as large as the tree asks for.
    pub(super) fn fit(&mut self, tree: &Tree) {
        self.entries.resize(tree.row[tree.freedoms()], 0.0);
    }

    /// Entry (i, j), zero where no branch joins the two.
    pub fn get(&self, tree: &Tree, i: usize, j: usize) -> f64 {
        place(tree, i, j).map_or(0.0, |at| self.entries[at])
    }

    /// Adds to the entries (i, j) and (j, i), which are one. False if no branch joins the two: the pattern has no place
    /// for it.
    pub fn add(&mut self, tree: &Tree, i: usize, j: usize, value: f64) -> bool {
        match place(tree, i, j) {
            Some(at) => {
                self.entries[at] += value;
                true
            }
            None => false,
        }
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
    pub fn factor(&mut self, tree: &Tree) {
        for i in (0..tree.freedoms()).rev() {
            let (before, own) = self.entries.split_at_mut(tree.row[i]);
            let own = &mut own[..tree.row[i + 1] - tree.row[i]];
            let Some((diagonal, own)) = own.split_last_mut() else { continue };
            let inv_d = 1.0 / *diagonal;
            let mut j = tree.dof_parent[i];
            for k in (1..=own.len()).rev() {
                let at = tree.row[j as usize];
                subtract(&mut before[at..at + k], own[k - 1] * inv_d, &own[..k]);
                j = tree.dof_parent[j as usize];
            }
            *diagonal = inv_d;
            own.iter_mut().for_each(|x| *x *= inv_d);
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
        let m = columns;
        let row = |i: usize| &self.entries[tree.row[i]..tree.row[i + 1]];
        for i in (0..tree.freedoms()).rev() {
            let (before, own) = x.split_at_mut(i * m);
            let mut j = tree.dof_parent[i];
            for l in row(i).iter().rev().skip(1) {
                let at = j as usize * m;
                subtract(&mut before[at..at + m], *l, &own[..m]);
                j = tree.dof_parent[j as usize];
            }
        }
        for i in 0..tree.freedoms() {
            let (before, own) = x.split_at_mut(i * m);
            let own = &mut own[..m];
            let mut j = i as u32;
            for (k, l) in row(i).iter().rev().enumerate() {
                if k == 0 {
                    own.iter_mut().for_each(|x| *x *= l);
                } else {
                    let at = j as usize * m;
                    subtract(own, *l, &before[at..at + m]);
                }
                j = tree.dof_parent[j as usize];
            }
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

/// Where the entry (i, j) is.
fn place(tree: &Tree, i: usize, j: usize) -> Option<usize> {
    let (low, high) = (i.min(j), i.max(j));
    let (mut at, mut d) = (tree.row[high + 1] - 1, high as u32);
    while d != NONE && d as usize > low {
        (at, d) = (at.wrapping_sub(1), tree.dof_parent[d as usize]);
    }
    (d as usize == low).then_some(at)
}
