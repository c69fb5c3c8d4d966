//! Quasidefinite factorisation (Vanderbei 1995) of saddle-point systems of small blocks, $M x + A^T y = f$ and
//! $A x - R y = g$.
//!
//! M has one symmetric positive definite 6×6 block per *primal node* (a body), A couples each *dual node* (a joint
//! with up to 6 rows) to a few primal nodes, R ≥ 0 is diagonal. The matrix K is quasi-definite: eliminating a primal
//! node b takes $A_b M_b^{-1} A_b^T$ from the dual block, which becomes negative definite; eliminating a dual node j
//! then adds $A_j^T D_j^{-1} A_j$ to the primal block, which stays positive definite. So there is a signed Cholesky
//! factor in any order whose dual pivots have full rank, without pivoting across blocks.
//!
//! With the pivot $\sigma C C^T$ of node v (σ = 1 primal, −1 dual), $W = C^{-1}$ and $H_u = W K_{vu}$ for each later
//! neighbour u, elimination and solution are
//!
//! - $K_{uw} \leftarrow K_{uw} - \sigma H_u^T H_w$;
//! - forwards $z_v = W b_v$, $b_u \leftarrow b_u - \sigma H_u^T z_v$;
//! - backwards $x_v = \sigma W^T (z_v - \sum_u H_u x_u)$.
//!
//! Bodies and joints are both nodes (Baraff 1996), so a tree has no fill: a leaf body has one neighbour, its joint,
//! which then has one neighbour, the parent. A hub with a thousand joints costs a thousand blocks, where the matrix
//! $A M^{-1} A^T$ has a million.
//!
//! **Dependent rows.** The diagonal of a dual row grows by what primal pivots give and shrinks by what dual pivots
//! take. If what is left is below [`Kkt::relative`] times what was given, the row depends on earlier ones and is
//! dropped: its multiplier is zero. The result is a basic solution. If the system is consistent all equations hold,
//! and x is the unique one. For the multiplier of least norm use [`Kkt::solve_refined`]. Book: "Solvers".

use std::ops::Index;
use std::sync::Arc;

/// Runs `$body` with the number `$size` as the constant `$N`.
macro_rules! by_size {
    ($size:expr, $N:ident => $body:expr) => {
        match $size {
            3 => {
                const $N: usize = 3;
                $body
            }
            4 => {
                const $N: usize = 4;
                $body
            }
            5 => {
                const $N: usize = 5;
                $body
            }
            _ => {
                const $N: usize = 6;
                $body
            }
        }
    };
}

mod blocks;
mod order;
mod pattern;

#[cfg(test)]
mod tests;

use crate::math::simd::fma;
use blocks::*;
pub use pattern::{Chunk, Pattern, Sorted};

/// A 6×6 block, row-major. In a coupling block row i is dual row i and column k primal coordinate k.
pub type Block = [f64; 36];

/// Coupling blocks by their numbers: a slice, or a window that holds those in use.
pub trait Blocks: Index<usize, Output = Block> {}

impl<B: Index<usize, Output = Block> + ?Sized> Blocks for B {}

/// The primal nodes that one dual node couples.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Coupling {
    /// Primal nodes, each at most once. The world is no node.
    pub nodes: Vec<u32>,
    /// Rows in use, 1 to 6. Further rows of the blocks are not read as equations, and their multipliers are zero.
    pub rows: usize,
    /// The rows are independent on each node alone ($A_b$ has full row rank), so the pivot is safe as soon as one node
    /// is eliminated. If false, the dual node waits for all of its nodes.
    pub pivot_after_one: bool,
}

impl Coupling {
    /// A joint whose rows are independent on each of its bodies alone, as of ball, hinge, slider and weld.
    pub fn new(nodes: impl Into<Vec<u32>>, rows: usize) -> Self {
        Self { nodes: nodes.into(), rows, pivot_after_one: true }
    }
}

/// What a factorisation met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FactorReport {
    /// Dual rows dropped because they depend on others (or are zero, or not finite).
    pub weak_rows: usize,
    /// Of these, rows whose coupling to nodes still to come was not small: the pivot came too early because
    /// `pivot_after_one` was wrong. Such a solution is not exact; factor with R > 0 and use [`Kkt::solve_refined`].
    pub early_rows: usize,
    /// Smallest ratio of a dual pivot kept to what its row was given; 1 if there is none.
    pub smallest_pivot_ratio: f64,
    /// Scalar pivots that were not finite, or not positive in a primal node: M is not positive definite.
    pub bad_pivots: usize,
}

impl Default for FactorReport {
    fn default() -> Self {
        Self { weak_rows: 0, early_rows: 0, smallest_pivot_ratio: 1.0, bad_pivots: 0 }
    }
}

/// Factorisation of K for one graph of nodes. See the [module](self).
#[derive(Clone, Debug)]
pub struct Kkt {
    /// A dual pivot below this times what its row was given means a dependent row. Initially 1e-10.
    pub relative: f64,
    pattern: Arc<Pattern>,
    data: Vec<f64>,
    given: Vec<f64>,
    residual: Vec<f64>,
}

impl Kkt {
    /// For one graph of nodes: see [`Pattern::new`].
    pub fn new(primal: usize, couplings: &[Coupling]) -> Self {
        Self::of(&Arc::new(Pattern::new(primal, couplings)))
    }

    /// For a graph that may be shared.
    pub fn of(pattern: &Arc<Pattern>) -> Self {
        Self {
            relative: 1e-10,
            pattern: pattern.clone(),
            data: vec![0.0; pattern.data],
            given: vec![0.0; pattern.given],
            residual: Vec::new(),
        }
    }

    /// Turns to another graph. Factors are lost; memory is kept.
    pub fn adopt(&mut self, pattern: &Arc<Pattern>) {
        self.pattern = pattern.clone();
        let grow = |list: &mut Vec<f64>, n: usize| list.resize(list.len().max(n), 0.0);
        grow(&mut self.data, pattern.data);
        grow(&mut self.given, pattern.given);
    }

    /// The graph that it works for.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// Factors K. `mass` gives the block of each primal node, `jacobian` has one per coupled pair in the order of the
    /// couplings and their nodes, `regularization` the diagonal of R for each dual node (0: hard).
    pub fn factor(
        &mut self,
        mass: impl Fn(usize) -> Block,
        jacobian: &(impl Blocks + ?Sized),
        regularization: &[[f64; 6]],
    ) -> FactorReport {
        let mut report = FactorReport::default();
        for chunk in self.pattern.clone().chunks() {
            let (x, y) = (&mut [], &mut []);
            self.eliminate_chunk::<false>(chunk, &mass, jacobian, regularization, x, y, &mut report);
        }
        report
    }

    /// [`factor`](Self::factor), then [`solve`](Self::solve), with one pass less over the memory.
    pub fn factor_and_solve(
        &mut self,
        mass: impl Fn(usize) -> Block,
        jacobian: &(impl Blocks + ?Sized),
        regularization: &[[f64; 6]],
        x: &mut [f64],
        y: &mut [f64],
    ) -> FactorReport {
        let mut report = FactorReport::default();
        for chunk in self.pattern.clone().chunks() {
            self.eliminate_chunk::<true>(chunk, &mass, jacobian, regularization, x, y, &mut report);
        }
        self.solve_backwards(x, y);
        report
    }

    /// Part of [`factor_and_solve`](Self::factor_and_solve): numbers of nodes and couplings beyond those of this chunk and the
    /// ones before are not read. After the last chunk comes [`solve_backwards`](Self::solve_backwards).
    pub fn factor_chunk(
        &mut self,
        chunk: &Chunk,
        mass: impl Fn(usize) -> Block,
        jacobian: &(impl Blocks + ?Sized),
        regularization: &[[f64; 6]],
        x: &mut [f64],
        y: &mut [f64],
        report: &mut FactorReport,
    ) {
        self.eliminate_chunk::<true>(chunk, &mass, jacobian, regularization, x, y, report);
    }

    /// Eliminates the nodes of a chunk; if `SOLVE`, takes the right-hand sides along.
    fn eliminate_chunk<const SOLVE: bool>(
        &mut self,
        chunk: &Chunk,
        mass: &impl Fn(usize) -> Block,
        jacobian: &(impl Blocks + ?Sized),
        regularization: &[[f64; 6]],
        x: &mut [f64],
        y: &mut [f64],
        report: &mut FactorReport,
    ) {
        assert_eq!(regularization.len(), self.pattern.couplings.len(), "one regularization per dual node");
        let (mut links, mut targets) = (chunk.links, chunk.targets);
        for p in &self.pattern.pivots[chunk.pivots.clone()] {
            let own_links = &self.pattern.links[links..p.links_end as usize];
            let own_targets = &self.pattern.targets[targets..p.targets_end as usize];
            (links, targets) = (p.links_end as usize, p.targets_end as usize);
            let (head, later) = self.data.split_at_mut(p.end as usize);
            let own = &mut head[p.start as usize..];
            let node = p.node as usize;
            if p.primal {
                pivot_primal(p, own, &mass(node), report);
                load::<6>(own, own_links, jacobian, true);
                eliminate::<6>(p, own, own_links, own_targets, later, &mut self.given);
                if SOLVE {
                    forwards::<6>(p, own, own_links, x, y);
                }
            } else {
                let range = self.pattern.coupling_start[node] as usize
                    ..self.pattern.coupling_start[node + 1] as usize;
                let given = &self.given[p.slot as usize..];
                let r = &regularization[node];
                by_size!(p.size, N => {
                    load::<N>(own, own_links, jacobian, false);
                    pivot_dual::<N>(p, own, r, given, own_links, (jacobian, range), self.relative, report);
                    eliminate::<N>(p, own, own_links, own_targets, later, &mut self.given);
                    if SOLVE {
                        forwards::<N>(p, own, own_links, x, y);
                    }
                });
            }
        }
    }

    /// Solves K (x, y) = (f, g): right-hand sides in, solution out, six numbers per node.
    pub fn solve(&mut self, x: &mut [f64], y: &mut [f64]) {
        assert_eq!(x.len(), 6 * self.pattern.primal, "six numbers per primal node");
        assert_eq!(y.len(), 6 * self.pattern.couplings.len(), "six numbers per dual node");
        let mut links = 0;
        for p in &self.pattern.pivots {
            let own_links = &self.pattern.links[links..p.links_end as usize];
            links = p.links_end as usize;
            let own = &self.data[p.start as usize..p.end as usize];
            by_size!(p.size, N => forwards::<N>(p, own, own_links, x, y));
        }
        self.solve_backwards(x, y);
    }

    /// The second half of [`solve`](Self::solve): from the last node back to the first.
    pub fn solve_backwards(&mut self, x: &mut [f64], y: &mut [f64]) {
        for (i, p) in self.pattern.pivots.iter().enumerate().rev() {
            let first = if i == 0 { 0 } else { self.pattern.pivots[i - 1].links_end as usize };
            let own_links = &self.pattern.links[first..p.links_end as usize];
            let own = &self.data[p.start as usize..p.end as usize];
            by_size!(p.size, N => backwards::<N>(p, own, own_links, x, y));
        }
    }

    /// Diagonal of $A M^{-1} A^T$: the scale of each dual row, in which a regularization is a pure number.
    pub fn row_scales(
        &self,
        mass: impl Fn(usize) -> Block,
        jacobian: &(impl Blocks + ?Sized),
        scales: &mut [[f64; 6]],
    ) {
        for (j, c) in self.pattern.couplings.iter().enumerate() {
            scales[j] = [0.0; 6];
            for (k, &b) in c.nodes.iter().enumerate() {
                let mut w = *rows::<6, 6>(&mass(b as usize));
                inverse_cholesky_primal(&mut w, false);
                let a = rows::<6, 6>(&jacobian[self.pattern.coupling_start[j] as usize + k]);
                for i in 0..c.rows {
                    for l in 0..6 {
                        let z = (0..=l).fold(0.0, |s, m| fma(w[l][m], a[i][m], s));
                        scales[j][i] = fma(z, z, scales[j][i]);
                    }
                }
            }
        }
    }

    /// Solves with the R given here by iterating with the factor of a larger one (proximal point method).
    ///
    /// Factor with $R + \delta S$ first, S being [`Kkt::row_scales`] and δ about 1e-9 to 1e-6. Each round solves
    /// for the residual of the true system and adds the result, from x = y = 0: $y_{k+1}$ minimises the dual problem
    /// plus $\tfrac\delta2 |y - y_k|_S^2$. The error of a component of y with eigenvalue λ (of $S^{-1}AM^{-1}A^T$) falls
    /// by δ/(δ+λ) per round. Components with λ = 0 stay zero, so that a consistent system with redundant rows gets
    /// the y of least norm $y^T S y$, up to rounding over δ.
    ///
    /// One round per element of `residuals`, which receives
    /// $\lVert f - Mx - A^Ty\rVert$ and $\lVert g - Ax + Ry\rVert$ after it. Buffers are made in the first call.
    pub fn solve_refined(
        &mut self,
        mass: impl Fn(usize) -> Block,
        jacobian: &(impl Blocks + ?Sized),
        regularization: &[[f64; 6]],
        x: &mut [f64],
        y: &mut [f64],
        residuals: &mut [[f64; 2]],
    ) {
        let (nx, ny) = (x.len(), y.len());
        self.residual.resize(2 * (nx + ny), 0.0);
        let mut buffer = std::mem::take(&mut self.residual);
        {
            let (sides, rest) = buffer.split_at_mut(nx + ny);
            let (rx, ry) = rest.split_at_mut(nx);
            let (f, g) = sides.split_at_mut(nx);
            f.copy_from_slice(x);
            g.copy_from_slice(y);
            rx.copy_from_slice(x);
            ry.copy_from_slice(y);
            x.fill(0.0);
            y.fill(0.0);
            for norms in residuals {
                self.solve(rx, ry);
                x.iter_mut().zip(&*rx).for_each(|(x, d)| *x += d);
                y.iter_mut().zip(&*ry).for_each(|(y, d)| *y += d);
                rx.copy_from_slice(f);
                ry.copy_from_slice(g);
                self.subtract_product(&mass, jacobian, regularization, x, y, rx, ry);
                *norms = [norm(rx), norm(ry)];
            }
        }
        self.residual = buffer;
    }

    /// f −= M x + Aᵀ y and g −= A x − R y, in rows that are in use; the others of g become zero.
    pub fn subtract_product(
        &self,
        mass: impl Fn(usize) -> Block,
        jacobian: &(impl Blocks + ?Sized),
        regularization: &[[f64; 6]],
        x: &[f64],
        y: &[f64],
        f: &mut [f64],
        g: &mut [f64],
    ) {
        for b in 0..self.pattern.primal {
            let m = mass(b);
            for i in 0..6 {
                f[6 * b + i] -= dot6(&rows::<6, 6>(&m)[i], &x[6 * b..6 * b + 6]);
            }
        }
        for (j, c) in self.pattern.couplings.iter().enumerate() {
            let g = &mut g[6 * j..6 * j + 6];
            g[c.rows..].fill(0.0);
            for (k, &b) in c.nodes.iter().enumerate() {
                let a = rows::<6, 6>(&jacobian[self.pattern.coupling_start[j] as usize + k]);
                let b = 6 * b as usize;
                for i in 0..c.rows {
                    g[i] -= dot6(&a[i], &x[b..b + 6]);
                    for l in 0..6 {
                        f[b + l] = fma(-a[i][l], y[6 * j + i], f[b + l]);
                    }
                }
            }
            for i in 0..c.rows {
                g[i] = fma(regularization[j][i], y[6 * j + i], g[i]);
            }
        }
    }
}
