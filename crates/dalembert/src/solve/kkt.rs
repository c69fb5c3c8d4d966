//! Saddle-point systems of small blocks, $M x + A^T y = f$ and $A x - R y = g$, solved directly.
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

use std::ops::Range;
use std::sync::Arc;

mod order;

#[cfg(test)]
mod tests;

/// A 6×6 block, row-major. In a coupling block row i is dual row i and column k primal coordinate k.
pub type Block = [f64; 36];

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

const NONE: u32 = u32::MAX;

/// One elimination. Its numbers lie together: W, then the blocks H of its later neighbours.
#[derive(Clone, Copy, Debug)]
struct Pivot {
    start: u32,
    end: u32,
    /// Place in `given`.
    slot: u32,
    /// Primal or dual number.
    node: u32,
    /// End of its range in `links` and in `targets`.
    links_end: u32,
    targets_end: u32,
    rows: u8,
    primal: bool,
    wide: bool,
    /// Earlier eliminations have written into the diagonal block.
    touched: bool,
}

/// Block between a pivot and a later neighbour.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// Place in `given`.
    slot: u32,
    /// Primal or dual number.
    node: u32,
    /// Index of the coupling block, or `NONE` for fill.
    source: u32,
    primal: bool,
    wide: bool,
    touched: bool,
}

/// Order of elimination and place of every block, for one graph of nodes. Holds no numbers, so that equal graphs can
/// share it.
#[derive(Clone, Debug, Default)]
pub struct Pattern {
    primal: usize,
    couplings: Vec<Coupling>,
    coupling_start: Vec<u32>,
    pivots: Vec<Pivot>,
    links: Vec<Link>,
    /// Where the products HᵤᵀH_w of a pivot go, u ≤ w; the lowest bit says that this is the first to arrive.
    targets: Vec<u32>,
    /// Numbers of the factor, and of the rows with padding.
    data: usize,
    given: usize,
    chunks: Vec<Chunk>,
}

/// Some consecutive eliminations, with the nodes and couplings that none before them has read.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Chunk {
    pivots: Range<usize>,
    /// Where its links and targets begin.
    links: usize,
    targets: usize,
    /// Primal nodes to be ready before it begins.
    pub nodes: Range<usize>,
    /// Couplings to be ready before it begins.
    pub couplings: Range<usize>,
}

/// Eliminations in one [`Chunk`]: their numbers fit into a second-level cache.
const CHUNK: usize = 512;

/// A pattern that has numbered the nodes anew, in the order in which the elimination comes upon them.
#[derive(Clone, Debug)]
pub struct Sorted {
    /// The pattern.
    pub pattern: Pattern,
    /// The old number of each primal node.
    pub nodes: Vec<u32>,
    /// The old number of each coupling.
    pub couplings: Vec<u32>,
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

impl Pattern {
    /// Finds the order of elimination and the place of every block.
    ///
    /// # Panics
    /// If a coupling names a node that does not exist or one twice, or has no rows or more than 6.
    pub fn new(primal: usize, couplings: &[Coupling]) -> Self {
        check(couplings);
        let mut pattern = Self::build(primal, couplings, order::minimum_degree(primal, couplings));
        let (pivots, nodes, couplings) = (0..pattern.pivots.len(), 0..primal, 0..couplings.len());
        pattern.chunks = vec![Chunk { pivots, nodes, couplings, ..Chunk::default() }];
        pattern
    }

    /// The same with nodes and couplings numbered anew, so that memory is passed through once, chunk by chunk.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn sorted(primal: usize, couplings: &[Coupling]) -> Sorted {
        check(couplings);
        let mut order = order::minimum_degree(primal, couplings);
        let (nodes, duals) = order.first_reads(primal, couplings);
        let sorted = |reads: &[u32]| {
            let mut list: Vec<u32> = (0..reads.len() as u32).collect();
            list.sort_by_key(|&v| reads[v as usize]);
            list
        };
        let (old_nodes, old_duals) = (sorted(&nodes), sorted(&duals));
        let mut new = vec![0; primal + couplings.len()];
        for (i, &v) in old_nodes.iter().enumerate() {
            new[v as usize] = i as u32;
        }
        for (i, &j) in old_duals.iter().enumerate() {
            new[primal + j as usize] = (primal + i) as u32;
        }
        order.rename(&new);
        let renamed = |j: &u32| {
            let old = &couplings[*j as usize];
            Coupling { nodes: old.nodes.iter().map(|b| new[*b as usize]).collect(), ..old.clone() }
        };
        let renamed: Vec<Coupling> = old_duals.iter().map(renamed).collect();
        let mut pattern = Self::build(primal, &renamed, order);
        let mut last = Chunk::default();
        for start in (0..pattern.pivots.len()).step_by(CHUNK) {
            let end = (start + CHUNK).min(pattern.pivots.len());
            let until = |from: usize, list: &[u32], reads: &[u32]| {
                from + list[from..].iter().take_while(|v| (reads[**v as usize] as usize) < end).count()
            };
            let before = start.checked_sub(1).map(|i| &pattern.pivots[i]);
            last = Chunk {
                pivots: start..end,
                links: before.map_or(0, |p| p.links_end as usize),
                targets: before.map_or(0, |p| p.targets_end as usize),
                nodes: last.nodes.end..until(last.nodes.end, &old_nodes, &nodes),
                couplings: last.couplings.end..until(last.couplings.end, &old_duals, &duals),
            };
            pattern.chunks.push(last.clone());
        }
        Sorted { pattern, nodes: old_nodes, couplings: old_duals }
    }

    fn build(primal: usize, couplings: &[Coupling], order: order::Order) -> Self {
        let n = order.sequence.len();
        let wide = |v: u32| (v as usize) < primal || couplings[v as usize - primal].rows > 4;
        let size = |v: u32| if wide(v) { 6 } else { 4 };

        // Places of nodes and blocks.
        let (mut start, mut slot) = (vec![0u32; n + 1], vec![0u32; n]);
        let (mut data, mut given) = (0usize, 0usize);
        for (i, &v) in order.sequence.iter().enumerate() {
            (start[i], slot[i]) = (data as u32, given as u32);
            data += size(v) * (size(v) + order.later[v as usize].iter().map(|&u| size(u)).sum::<usize>());
            given += size(v);
        }
        assert!(data <= u32::MAX as usize, "the factor needs {data} numbers");
        start[n] = data as u32;

        let mut coupling_start = vec![0u32];
        for c in couplings {
            coupling_start.push(coupling_start[coupling_start.len() - 1] + c.nodes.len() as u32);
        }
        let source = |v: u32, u: u32| {
            let (b, j) = (v.min(u), v.max(u) as usize);
            if (b as usize) >= primal || j < primal {
                return NONE;
            }
            let at = couplings[j - primal].nodes.iter().position(|&node| node == b);
            at.map_or(NONE, |k| coupling_start[j - primal] + k as u32)
        };

        // Links, then targets; a block is found by search here so that the numeric phase needs none.
        let mut links = Vec::new();
        let mut pivots = Vec::with_capacity(n);
        let mut first_link = vec![0usize; n + 1];
        for (i, &v) in order.sequence.iter().enumerate() {
            for &u in &order.later[v as usize] {
                links.push(Link {
                    slot: slot[order.place[u as usize] as usize],
                    node: if (u as usize) < primal { u } else { u - primal as u32 },
                    source: source(v, u),
                    primal: (u as usize) < primal,
                    wide: wide(u),
                    touched: false,
                });
            }
            first_link[i + 1] = links.len();
            let is_primal = (v as usize) < primal;
            pivots.push(Pivot {
                start: start[i],
                end: start[i + 1],
                slot: slot[i],
                node: if is_primal { v } else { v - primal as u32 },
                links_end: links.len() as u32,
                targets_end: 0,
                rows: if is_primal { 6 } else { couplings[v as usize - primal].rows as u8 },
                primal: is_primal,
                wide: wide(v),
                touched: false,
            });
        }
        let mut targets = Vec::new();
        for (i, &v) in order.sequence.iter().enumerate() {
            let later = &order.later[v as usize];
            for (k, &u) in later.iter().enumerate() {
                let at = order.place[u as usize] as usize;
                let first = !std::mem::replace(&mut pivots[at].touched, true);
                targets.push(start[at] | first as u32);
                // Both lists are sorted by place: one sweep finds every block of u.
                let (mut offset, mut m) = (start[at] as usize + size(u) * size(u), 0);
                let candidates = &order.later[u as usize];
                for &w in &later[k + 1..] {
                    while candidates[m] != w {
                        offset += size(u) * size(candidates[m]);
                        m += 1;
                    }
                    let first = !std::mem::replace(&mut links[first_link[at] + m].touched, true);
                    targets.push(offset as u32 | first as u32);
                }
            }
            pivots[i].targets_end = targets.len() as u32;
        }
        let couplings = couplings.to_vec();
        let chunks = Vec::new();
        Self { primal, couplings, coupling_start, pivots, links, targets, data, given, chunks }
    }

    /// The eliminations in pieces.
    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// The primal nodes that a chunk eliminates.
    pub fn eliminated(&self, chunk: &Chunk) -> impl Iterator<Item = usize> {
        self.pivots[chunk.pivots.clone()].iter().filter(|p| p.primal).map(|p| p.node as usize)
    }

    /// Number of primal nodes.
    pub fn primal_nodes(&self) -> usize {
        self.primal
    }

    /// Number of dual nodes.
    pub fn dual_nodes(&self) -> usize {
        self.couplings.len()
    }

    /// Number of blocks off the diagonal of the factor. A tree has as many as couplings.
    pub fn fill(&self) -> usize {
        self.links.len()
    }
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
        jacobian: &[Block],
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
        jacobian: &[Block],
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
        jacobian: &[Block],
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
        jacobian: &[Block],
        regularization: &[[f64; 6]],
        x: &mut [f64],
        y: &mut [f64],
        report: &mut FactorReport,
    ) {
        let blocks = self.pattern.coupling_start[self.pattern.couplings.len()] as usize;
        assert_eq!(jacobian.len(), blocks, "one block per coupling");
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
                let blocks = &jacobian[range];
                let given = &self.given[p.slot as usize..];
                if p.wide {
                    load::<6>(own, own_links, jacobian, false);
                    let r = &regularization[node];
                    pivot_dual::<6>(p, own, r, given, own_links, blocks, self.relative, report);
                    eliminate::<6>(p, own, own_links, own_targets, later, &mut self.given);
                    if SOLVE {
                        forwards::<6>(p, own, own_links, x, y);
                    }
                } else {
                    load::<4>(own, own_links, jacobian, false);
                    let r = &regularization[node];
                    pivot_dual::<4>(p, own, r, given, own_links, blocks, self.relative, report);
                    eliminate::<4>(p, own, own_links, own_targets, later, &mut self.given);
                    if SOLVE {
                        forwards::<4>(p, own, own_links, x, y);
                    }
                }
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
            match p.wide {
                true => forwards::<6>(p, own, own_links, x, y),
                false => forwards::<4>(p, own, own_links, x, y),
            }
        }
        self.solve_backwards(x, y);
    }

    /// The second half of [`solve`](Self::solve): from the last node back to the first.
    pub fn solve_backwards(&mut self, x: &mut [f64], y: &mut [f64]) {
        for (i, p) in self.pattern.pivots.iter().enumerate().rev() {
            let first = if i == 0 { 0 } else { self.pattern.pivots[i - 1].links_end as usize };
            let own_links = &self.pattern.links[first..p.links_end as usize];
            let own = &self.data[p.start as usize..p.end as usize];
            match p.wide {
                true => backwards::<6>(p, own, own_links, x, y),
                false => backwards::<4>(p, own, own_links, x, y),
            }
        }
    }

    /// Diagonal of $A M^{-1} A^T$: the scale of each dual row, in which a regularization is a pure number.
    pub fn row_scales(&self, mass: impl Fn(usize) -> Block, jacobian: &[Block], scales: &mut [[f64; 6]]) {
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
        jacobian: &[Block],
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
        jacobian: &[Block],
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

fn check(couplings: &[Coupling]) {
    for (j, c) in couplings.iter().enumerate() {
        assert!((1..=6).contains(&c.rows), "dual node {j} has {} rows, not 1 to 6", c.rows);
        for (k, b) in c.nodes.iter().enumerate() {
            assert!(!c.nodes[..k].contains(b), "dual node {j} names primal node {b} twice");
        }
    }
}

/// a b + c, fused where the build has the instruction.
#[inline(always)]
fn fma(a: f64, b: f64, c: f64) -> f64 {
    if cfg!(target_feature = "fma") { a.mul_add(b, c) } else { a * b + c }
}

fn dot6(a: &[f64; 6], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |s, (&a, &b)| fma(a, b, s))
}

fn norm(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |s, &v| fma(v, v, s)).sqrt()
}

#[inline(always)]
fn rows<const R: usize, const C: usize>(numbers: &[f64]) -> &[[f64; C]; R] {
    numbers.as_chunks::<C>().0[..R].try_into().expect("R rows")
}

#[inline(always)]
fn rows_mut<const R: usize, const C: usize>(numbers: &mut [f64]) -> &mut [[f64; C]; R] {
    (&mut numbers.as_chunks_mut::<C>().0[..R]).try_into().expect("R rows")
}

/// S = C Cᵀ becomes W = C⁻¹ (lower triangle, zero above); returns the pivots of S.
///
/// Row operations on (S | I), the part of I that has filled taking the place of the part of S that is done with. A
/// pivot that is not positive gives a zero row.
#[inline(always)]
fn inverse_cholesky<const N: usize>(s: &mut [[f64; N]; N]) -> [f64; N] {
    let (mut d, mut inv) = ([0.0; N], [0.0; N]);
    for k in 0..N {
        d[k] = s[k][k];
        inv[k] = if d[k] > 0.0 { 1.0 / d[k] } else { 0.0 };
        s[k][k] = 1.0;
        for i in k + 1..N {
            let l = s[i][k] * inv[k];
            s[i][k] = 0.0;
            for c in 0..N {
                s[i][c] = fma(-l, s[k][c], s[i][c]);
            }
        }
    }
    for k in 0..N {
        inv[k] = inv[k].sqrt();
    }
    for k in 0..N {
        for c in 0..N {
            s[k][c] = if c <= k { s[k][c] * inv[k] } else { 0.0 };
        }
    }
    d
}

/// The same for a primal block; returns the number of bad pivots.
#[inline(always)]
fn inverse_cholesky_primal(s: &mut [[f64; 6]; 6], touched: bool) -> usize {
    // Mass and inertia about the centre of mass: two halves that know nothing of each other.
    let apart = !touched && (0..3).all(|i| (3..6).all(|c| s[i][c] == 0.0 && s[c][i] == 0.0));
    let mut d = [0.0; 6];
    if apart {
        let mut a: [[f64; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|c| s[i][c]));
        let mut b: [[f64; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|c| s[i + 3][c + 3]));
        let (d_a, d_b) = (inverse_cholesky(&mut a), inverse_cholesky(&mut b));
        for i in 0..3 {
            (d[i], d[i + 3]) = (d_a[i], d_b[i]);
            for c in 0..3 {
                (s[i][c], s[i + 3][c + 3]) = (a[i][c], b[i][c]);
            }
        }
    } else {
        d = inverse_cholesky(s);
    }
    d.iter().filter(|&&d| !(d > 0.0 && d.is_finite())).count()
}

fn pivot_primal(p: &Pivot, own: &mut [f64], mass: &Block, report: &mut FactorReport) {
    let w = rows_mut::<6, 6>(own);
    let m = rows::<6, 6>(mass);
    let mut s = *m;
    if p.touched {
        for i in 0..6 {
            for c in 0..6 {
                s[i][c] += w[i][c];
            }
        }
    }
    report.bad_pivots += inverse_cholesky_primal(&mut s, p.touched);
    *w = s;
}

/// Puts the coupling blocks of a pivot in place, on top of what earlier eliminations left there.
#[inline(always)]
fn load<const N: usize>(own: &mut [f64], links: &[Link], jacobian: &[Block], primal: bool) {
    let mut at = N * N;
    for link in links {
        let n = if link.wide { 6 } else { 4 };
        if link.source != NONE {
            let a = rows::<6, 6>(&jacobian[link.source as usize]);
            let to = &mut own[at..at + N * n];
            match (primal, link.wide) {
                (false, _) => put::<N, 6>(to, link.touched, |i, c| a[i][c]),
                (true, true) => put::<N, 6>(to, link.touched, |i, c| a[c][i]),
                (true, false) => put::<N, 4>(to, link.touched, |i, c| a[c][i]),
            }
        }
        at += N * n;
    }
}

#[inline(always)]
fn put<const R: usize, const C: usize>(to: &mut [f64], add: bool, from: impl Fn(usize, usize) -> f64) {
    let to = rows_mut::<R, C>(to);
    for i in 0..R {
        for c in 0..C {
            to[i][c] = if add { to[i][c] + from(i, c) } else { from(i, c) };
        }
    }
}

/// Inverts the pivot of a dual node and drops its dependent rows.
#[inline(always)]
fn pivot_dual<const N: usize>(
    p: &Pivot,
    own: &mut [f64],
    regularization: &[f64; 6],
    given: &[f64],
    links: &[Link],
    blocks: &[Block],
    relative: f64,
    report: &mut FactorReport,
) {
    let m = p.rows as usize;
    let mut s = if p.touched { *rows::<N, N>(own) } else { [[0.0; N]; N] };
    let mut scale = [1.0; N];
    for i in 0..N {
        if i < m {
            s[i][i] += regularization[i];
            scale[i] = if p.touched { given[i] } else { 0.0 } + regularization[i];
        } else {
            for c in 0..N {
                (s[i][c], s[c][i]) = (0.0, 0.0);
            }
            s[i][i] = 1.0;
        }
    }
    let mut w = s;
    let d = inverse_cholesky(&mut w);
    let mut ratio = 1.0_f64;
    let mut safe = true;
    for i in 0..N {
        // The factor 1000 leaves doubtful cases to the search for the best rows.
        safe &= d[i] > 1e3 * relative * scale[i] && d[i].is_finite();
        ratio = ratio.min(d[i] / scale[i]);
    }
    if safe {
        report.smallest_pivot_ratio = report.smallest_pivot_ratio.min(ratio);
    } else {
        w = drop_dependent(s, m, &scale, relative, own, links, blocks, report);
    }
    for i in m..N {
        w[i] = [0.0; N];
    }
    *rows_mut::<N, N>(own) = w;
}

/// As [`inverse_cholesky`], for the rows that are left when dependent ones are taken out. Which rows depend is found
/// with diagonal pivoting: the row that has kept most of its scale goes next.
#[inline(never)]
fn drop_dependent<const N: usize>(
    s: [[f64; N]; N],
    m: usize,
    scale: &[f64; N],
    relative: f64,
    own: &[f64],
    links: &[Link],
    blocks: &[Block],
    report: &mut FactorReport,
) -> [[f64; N]; N] {
    let mut t = s;
    let mut kept = [false; N];
    for _ in 0..m {
        let mut best = (relative, N);
        for i in (0..m).filter(|&i| !kept[i]) {
            let ratio = t[i][i] / scale[i];
            if ratio > best.0 && ratio.is_finite() {
                best = (ratio, i);
            }
        }
        let (ratio, k) = best;
        if k == N {
            break;
        }
        kept[k] = true;
        report.smallest_pivot_ratio = report.smallest_pivot_ratio.min(ratio);
        for i in (0..m).filter(|&i| !kept[i]) {
            let l = t[i][k] / t[k][k];
            for c in 0..m {
                t[i][c] = fma(-l, t[k][c], t[i][c]);
            }
        }
    }
    let mut w = s;
    for i in (0..m).filter(|&i| !kept[i]) {
        report.weak_rows += 1;
        report.bad_pivots += !s[i][i].is_finite() as usize;
        report.early_rows += is_early::<N>(i, &s, &kept, scale, own, links, blocks) as usize;
        for c in 0..N {
            (w[i][c], w[c][i]) = (0.0, 0.0);
        }
        w[i][i] = 1.0;
    }
    inverse_cholesky(&mut w);
    for i in (0..m).filter(|&i| !kept[i]) {
        w[i] = [0.0; N];
    }
    w
}

/// Whether dropped row i still pulls on nodes to come: what is left of its blocks, once the kept rows are eliminated,
/// is not small against the row itself.
fn is_early<const N: usize>(
    i: usize,
    s: &[[f64; N]; N],
    kept: &[bool; N],
    scale: &[f64; N],
    own: &[f64],
    links: &[Link],
    blocks: &[Block],
) -> bool {
    // Row i of S and of the blocks, minus multiples of the kept rows.
    let mut t = *s;
    let mut combination = [0.0; N];
    combination[i] = 1.0;
    let mut factors = [[0.0; N]; N];
    for k in (0..N).filter(|&k| kept[k]) {
        for r in (0..N).filter(|&r| r == i || (kept[r] && r > k)) {
            let l = t[r][k] / t[k][k];
            factors[r][k] = l;
            for c in 0..N {
                t[r][c] = fma(-l, t[k][c], t[r][c]);
            }
        }
    }
    for k in (0..N).rev().filter(|&k| kept[k]) {
        let later: f64 = (k + 1..N).filter(|&r| kept[r]).map(|r| factors[r][k] * combination[r]).sum();
        combination[k] = -factors[i][k] - later;
    }
    let largest = |row: &[f64]| row.iter().fold(0.0_f64, |s, v| s.max(v.abs()));
    let size = blocks.iter().map(|a| largest(&rows::<6, 6>(a)[i])).fold(0.0, f64::max);
    let mut at = N * N;
    for link in links {
        let n = if link.wide { 6 } else { 4 };
        for c in 0..n {
            let left: f64 = (0..N).map(|r| combination[r] * own[at + r * n + c]).sum();
            if left.abs() > 1e-5 * if link.primal { size } else { scale[i] } {
                return true;
            }
        }
        at += N * n;
    }
    false
}

/// H = W K_vu for each later neighbour, then K_uw −= σ HᵤᵀH_w for each pair of them.
#[inline(always)]
fn eliminate<const N: usize>(
    p: &Pivot,
    own: &mut [f64],
    links: &[Link],
    targets: &[u32],
    later: &mut [f64],
    given: &mut [f64],
) {
    let (w, blocks) = own.split_at_mut(N * N);
    let w = rows::<N, N>(w);
    let mut at = 0;
    for link in links {
        if link.wide {
            triangle_times::<N, 6>(w, &mut blocks[at..at + 6 * N]);
            at += 6 * N;
        } else {
            triangle_times::<N, 4>(w, &mut blocks[at..at + 4 * N]);
            at += 4 * N;
        }
    }
    // Diagonal blocks of dual nodes are kept with their sign turned, so that they are positive.
    let sign = if p.primal { -1.0 } else { 1.0 };
    let (mut at, mut t) = (0, 0);
    for (i, u) in links.iter().enumerate() {
        let n = if u.wide { 6 } else { 4 };
        let h_u = &blocks[at..at + N * n];
        let diagonal = if u.primal { sign } else { -sign };
        let (to, first) = target(targets[t], p.end, later);
        let mut squares = [0.0; 6];
        if u.wide {
            let sum = product::<N, 6, 6>(h_u, h_u, to, diagonal, first);
            (0..6).for_each(|c| squares[c] = sum[c][c]);
        } else {
            let sum = product::<N, 4, 4>(h_u, h_u, to, diagonal, first);
            (0..4).for_each(|c| squares[c] = sum[c][c]);
        }
        if !u.primal {
            let given = &mut given[u.slot as usize..u.slot as usize + n];
            if first {
                given.fill(0.0);
            }
            if p.primal {
                given.iter_mut().zip(squares).for_each(|(g, s)| *g += s);
            }
        }
        t += 1;
        at += N * n;
        let mut from = at;
        for v in &links[i + 1..] {
            let n = if v.wide { 6 } else { 4 };
            let h_w = &blocks[from..from + N * n];
            from += N * n;
            let (to, first) = target(targets[t], p.end, later);
            t += 1;
            match (u.wide, v.wide) {
                (true, true) => {
                    product::<N, 6, 6>(h_u, h_w, to, sign, first);
                }
                (true, false) => {
                    product::<N, 6, 4>(h_u, h_w, to, sign, first);
                }
                (false, true) => {
                    product::<N, 4, 6>(h_u, h_w, to, sign, first);
                }
                (false, false) => {
                    product::<N, 4, 4>(h_u, h_w, to, sign, first);
                }
            }
        }
    }
}

#[inline(always)]
fn target(code: u32, base: u32, later: &mut [f64]) -> (&mut [f64], bool) {
    (&mut later[((code & !1) - base) as usize..], code & 1 == 1)
}

/// B ← W B with lower triangular W.
#[inline(always)]
fn triangle_times<const N: usize, const C: usize>(w: &[[f64; N]; N], b: &mut [f64]) {
    let b = rows_mut::<N, C>(b);
    let mut h = [[0.0; C]; N];
    for k in 0..N {
        for l in 0..=k {
            for c in 0..C {
                h[k][c] = fma(w[k][l], b[l][c], h[k][c]);
            }
        }
    }
    *b = h;
}

/// to += sign UᵀV, or to = sign UᵀV if nothing is there yet. Returns UᵀV.
#[inline(always)]
fn product<const K: usize, const E: usize, const L: usize>(
    u: &[f64],
    v: &[f64],
    to: &mut [f64],
    sign: f64,
    first: bool,
) -> [[f64; L]; E] {
    let (u, v) = (rows::<K, E>(u), rows::<K, L>(v));
    let to = rows_mut::<E, L>(to);
    let mut sum = [[0.0; L]; E];
    for k in 0..K {
        for i in 0..E {
            for c in 0..L {
                sum[i][c] = fma(u[k][i], v[k][c], sum[i][c]);
            }
        }
    }
    for i in 0..E {
        for c in 0..L {
            to[i][c] = if first { sign * sum[i][c] } else { fma(sign, sum[i][c], to[i][c]) };
        }
    }
    sum
}

/// The six numbers of a node.
#[inline(always)]
fn side<'a>(primal: bool, node: u32, x: &'a mut [f64], y: &'a mut [f64]) -> &'a mut [f64; 6] {
    let list = if primal { x } else { y };
    &mut list.as_chunks_mut::<6>().0[node as usize]
}

#[inline(always)]
fn forwards<const N: usize>(p: &Pivot, own: &[f64], links: &[Link], x: &mut [f64], y: &mut [f64]) {
    let (w, mut blocks) = own.split_at(N * N);
    let w = rows::<N, N>(w);
    let mine = side(p.primal, p.node, x, y);
    let mut z = [0.0; N];
    for k in 0..N {
        for l in 0..=k {
            z[k] = fma(w[k][l], mine[l], z[k]);
        }
    }
    mine[..N].copy_from_slice(&z);
    let sign = if p.primal { -1.0 } else { 1.0 };
    for k in 0..N {
        z[k] *= sign;
    }
    for link in links {
        let to = side(link.primal, link.node, x, y);
        if link.wide {
            add_transposed::<N, 6>(blocks, &z, to);
            blocks = &blocks[6 * N..];
        } else {
            add_transposed::<N, 4>(blocks, &z, to);
            blocks = &blocks[4 * N..];
        }
    }
}

/// to += Hᵀ z.
#[inline(always)]
fn add_transposed<const N: usize, const C: usize>(h: &[f64], z: &[f64; N], to: &mut [f64]) {
    let h = rows::<N, C>(h);
    let to: &mut [f64; C] = (&mut to[..C]).try_into().expect("C numbers");
    for k in 0..N {
        for c in 0..C {
            to[c] = fma(h[k][c], z[k], to[c]);
        }
    }
}

#[inline(always)]
fn backwards<const N: usize>(p: &Pivot, own: &[f64], links: &[Link], x: &mut [f64], y: &mut [f64]) {
    let (w, mut blocks) = own.split_at(N * N);
    let w = rows::<N, N>(w);
    let mut z = [0.0; N];
    z.copy_from_slice(&side(p.primal, p.node, x, y)[..N]);
    for link in links {
        let from = side(link.primal, link.node, x, y);
        if link.wide {
            subtract_times::<N, 6>(blocks, from, &mut z);
            blocks = &blocks[6 * N..];
        } else {
            subtract_times::<N, 4>(blocks, from, &mut z);
            blocks = &blocks[4 * N..];
        }
    }
    let sign = if p.primal { 1.0 } else { -1.0 };
    let mut solution = [0.0; N];
    for k in 0..N {
        for c in 0..N {
            solution[c] = fma(w[k][c], z[k], solution[c]);
        }
    }
    let mine = side(p.primal, p.node, x, y);
    for c in 0..N {
        mine[c] = sign * solution[c];
    }
    mine[N..].fill(0.0);
}

/// z −= H x.
#[inline(always)]
fn subtract_times<const N: usize, const C: usize>(h: &[f64], x: &[f64], z: &mut [f64; N]) {
    let h = rows::<N, C>(h);
    let x: &[f64; C] = x[..C].try_into().expect("C numbers");
    for k in 0..N {
        for c in 0..C {
            z[k] = fma(-h[k][c], x[c], z[k]);
        }
    }
}
