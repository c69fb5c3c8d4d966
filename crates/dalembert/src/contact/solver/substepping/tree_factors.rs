//! Articulated islands: LDLᵀ of trees of joints with all coordinates kept (Baraff 1996; Featherstone's articulated inertia,
//! 1983), four equal trees at a time.
//!
//! Given velocities v and rates e by which the rows are to change, the impulses λ with
//!
//! $$ M x = A^T\lambda, \qquad A x = e $$
//!
//! change the velocities by x. Every body b but the root has one joint with its parent p, $A_b x_b + A_p x_p = e$. From
//! the leaves to the root a body with its subtree has the articulated inertia $\hat M_b$ and moves by
//! $x_b = \hat M_b^{-1}(f_b + A_b^T\lambda)$, where f comes from its children. Put into the row, with
//! $Y = \hat M_b^{-1}A_b^T$ and $D = A_b Y$,
//!
//! $$ \lambda = D^{-1}(s - A_p x_p), \qquad s = e - Y^T f_b, $$
//!
//! so that the parent feels the force $A_p^T D^{-1} s$ and the additional inertia $A_p^T D^{-1} A_p$. With $G = D^{-1}A_p$
//! a solution is one pass up, $s = e - A_b \hat M_b^{-1} f_b$, $f_p \mathrel{+}= G^T s$, and one pass down,
//! $\lambda = D^{-1} s - G x_p$, $x_b = \hat M_b^{-1} (f_b + A_b^T\lambda)$. D has full rank if the rows of the joint are
//! independent on its body alone.

use crate::math::simd::Lanes;

const _: () = assert!(crate::joints::MOST_ROWS == 6);

/// Pivots below this part of their diagonals count as zero: dependent rows get no impulse.
const WEAK_PIVOT: f64 = 1e-13;

/// Six numbers of a body per lane: linear, then angular.
pub(crate) type V6 = [Lanes; 6];

const ZERO: V6 = [Lanes::ZERO; 6];

/// A body of a tree; parents come before their children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TreeNode {
    /// Place of the parent; [`NO_PARENT`] for the world or if the body is free.
    pub parent: u32,
    /// Rows of the joint with the parent or the world; 0 for a free root.
    pub rows: u8,
    /// True if it has no children.
    pub leaf: bool,
}

/// Parent of a root.
pub(crate) const NO_PARENT: u32 = u32::MAX;

/// One row of a joint.
#[derive(Debug, Clone, Copy)]
struct Row {
    own: V6,
    parent: V6,
    /// Row of G.
    g: V6,
}

/// Inverse mass and inertia of four single bodies: 1/m, and I⁻¹ in world axes (xx, yy, zz, xy, xz, yz).
#[derive(Debug, Clone, Copy)]
pub(super) struct InverseInertia {
    pub(super) inv_mass: Lanes,
    pub(super) inv_inertia: V6,
}

impl InverseInertia {
    /// M.
    fn mass(&self) -> [V6; 6] {
        let [xx, yy, zz, xy, xz, yz] = self.inv_inertia;
        let (a, b, c) = (yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy);
        let s = Lanes::ONE / (xx * a + xy * b + xz * c);
        let (d, e, f) = (xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy);
        let inertia = [[s * a, s * b, s * c], [s * b, s * d, s * e], [s * c, s * e, s * f]];
        let mut out = [ZERO; 6];
        for i in 0..3 {
            out[i][i] = Lanes::ONE / self.inv_mass;
            out[3 + i][3..].copy_from_slice(&inertia[i]);
        }
        out
    }

    /// M⁻¹ x.
    #[inline(always)]
    fn times(&self, x: &V6) -> V6 {
        let [xx, yy, zz, xy, xz, yz] = self.inv_inertia;
        let m = self.inv_mass;
        let row = |a: Lanes, b: Lanes, c: Lanes| c.mul_add(x[5], b.mul_add(x[4], a * x[3]));
        [m * x[0], m * x[1], m * x[2], row(xx, xy, xz), row(xy, yy, yz), row(xz, yz, zz)]
    }
}

/// The factored joints of four trees of one topology, and the impulses of their rows.
#[derive(Debug, Clone, Default)]
pub(super) struct TreeFactors {
    /// Inverse inertia of the leaves, in the order of nodes.
    leaves: Vec<InverseInertia>,
    /// $\hat M^{-1}$ of the other nodes.
    inner: Vec<[V6; 6]>,
    /// Rows of all joints, in the order of nodes.
    rows: Vec<Row>,
    /// D⁻¹ of each joint, row by row.
    inv_response: Vec<Lanes>,
    /// Impulse of each row in this substep, and in all of them.
    impulse: Vec<Lanes>,
    total: Vec<Lanes>,
    /// $\hat M$ while factoring.
    articulated: Vec<[V6; 6]>,
    /// f, then x, and λ of each node while solving.
    x: Vec<V6>,
    lambda: Vec<V6>,
}

#[inline(always)]
fn dot6(a: &V6, b: &V6) -> Lanes {
    let low = a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]));
    a[5].mul_add(b[5], a[4].mul_add(b[4], a[3].mul_add(b[3], low)))
}

/// a += s b.
#[inline(always)]
fn add_scaled(a: &mut V6, s: Lanes, b: &V6) {
    for k in 0..6 {
        a[k] = s.mul_add(b[k], a[k]);
    }
}

/// A x.
#[inline(always)]
fn times(a: &[V6; 6], x: &V6) -> V6 {
    std::array::from_fn(|k| dot6(&a[k], x))
}

/// The inverse of the first n rows and columns of a symmetric positive matrix; the rest is zero. Weak pivots are left out.
#[inline]
fn inverse(a: &[V6; 6], n: usize) -> [V6; 6] {
    // L with A = L Lᵀ, its diagonal inverted, then W = L⁻¹, then WᵀW.
    let mut l = [ZERO; 6];
    let mut w = [ZERO; 6];
    for i in 0..n {
        for j in 0..=i {
            let mut sum = a[i][j];
            for k in 0..j {
                sum = (-l[i][k]).mul_add(l[j][k], sum);
            }
            l[i][j] = if i == j {
                let strong = sum.simd_gt(a[i][i] * Lanes::splat(WEAK_PIVOT));
                let root = strong.select(sum, Lanes::ONE).sqrt();
                strong & (Lanes::ONE / root)
            } else {
                sum * l[j][j]
            };
        }
    }
    for i in 0..n {
        w[i][i] = l[i][i];
        for j in 0..i {
            let mut sum = Lanes::ZERO;
            for k in j..i {
                sum = l[i][k].mul_add(w[k][j], sum);
            }
            w[i][j] = -sum * l[i][i];
        }
    }
    let mut out = [ZERO; 6];
    for i in 0..n {
        for j in 0..=i {
            let mut sum = Lanes::ZERO;
            for row in &w[i..n] {
                sum = row[i].mul_add(row[j], sum);
            }
            (out[i][j], out[j][i]) = (sum, sum);
        }
    }
    out
}

/// Rows of all joints of a tree.
pub(super) fn row_count(nodes: &[TreeNode]) -> usize {
    nodes.iter().map(|n| n.rows as usize).sum()
}

impl TreeFactors {
    /// Factors the rows of trees of this topology, from the leaves to the root; all impulses are zero. A row multiplies the
    /// velocities of the body, then those of its parent.
    pub(super) fn prepare(
        &mut self,
        nodes: &[TreeNode],
        rows: impl Iterator<Item = [V6; 2]>,
        bodies: impl Iterator<Item = InverseInertia>,
    ) {
        self.rows.clear();
        self.rows.extend(rows.map(|[own, parent]| Row { own, parent, g: ZERO }));
        for list in [&mut self.impulse, &mut self.total] {
            list.clear();
            list.resize(self.rows.len(), Lanes::ZERO);
        }
        let squares = nodes.iter().map(|n| n.rows as usize * n.rows as usize).sum();
        self.inv_response.resize(squares, Lanes::ZERO);
        self.leaves.clear();
        self.articulated.clear();
        for (node, body) in nodes.iter().zip(bodies) {
            // Nothing is added to the inertia of a leaf.
            self.articulated.push(if node.leaf { [ZERO; 6] } else { body.mass() });
            if node.leaf {
                self.leaves.push(body);
            }
        }
        self.inner.resize(nodes.len() - self.leaves.len(), [ZERO; 6]);
        self.eliminate(nodes);
    }

    fn eliminate(&mut self, nodes: &[TreeNode]) {
        let Self { leaves, inner, rows, inv_response, articulated, .. } = self;
        let (mut end, mut inside, mut last) = (rows.len(), inner.len(), inv_response.len());
        let mut leaf = leaves.len();
        for (b, node) in nodes.iter().enumerate().rev() {
            let n = node.rows as usize;
            let rows = &mut rows[end - n..end];
            let inv_d = &mut inv_response[last - n * n..last];
            (end, last) = (end - n, last - n * n);
            let mut y = [ZERO; 6];
            if node.leaf {
                leaf -= 1;
                rows.iter().zip(&mut y).for_each(|(row, y)| *y = leaves[leaf].times(&row.own));
            } else {
                inside -= 1;
                inner[inside] = inverse(&articulated[b], 6);
                rows.iter().zip(&mut y).for_each(|(row, y)| *y = times(&inner[inside], &row.own));
            }
            let mut d = [ZERO; 6];
            for i in 0..n {
                for j in 0..=i {
                    d[i][j] = dot6(&rows[i].own, &y[j]);
                    d[j][i] = d[i][j];
                }
            }
            let d = inverse(&d, n);
            for i in 0..n {
                inv_d[n * i..n * i + n].copy_from_slice(&d[i][..n]);
            }
            if node.parent == NO_PARENT {
                continue;
            }
            for i in 0..n {
                let mut g = ZERO;
                for j in 0..n {
                    add_scaled(&mut g, d[i][j], &rows[j].parent);
                }
                rows[i].g = g;
            }
            let mass = &mut articulated[node.parent as usize];
            for row in rows.iter() {
                for k in 0..6 {
                    add_scaled(&mut mass[k], row.parent[k], &row.g);
                }
            }
        }
    }

    /// Projects velocities onto A v = 0 in the metric of the masses, and counts the impulses.
    pub(super) fn project_velocities(&mut self, nodes: &[TreeNode], v: &mut [V6]) {
        self.solve(nodes, v, |_| Lanes::ZERO);
        let mut row = 0;
        for (node, lambda) in nodes.iter().zip(&self.lambda) {
            for lambda in &lambda[..node.rows as usize] {
                self.impulse[row] += *lambda;
                row += 1;
            }
        }
    }

    /// The displacements x, smallest in the metric of the masses, with A x = e.
    pub(super) fn solve_rows(&mut self, nodes: &[TreeNode], e: &[Lanes], x: &mut [V6]) {
        x.fill(ZERO);
        self.solve(nodes, x, |k| e[k]);
    }

    /// Changes v so that A v = e, with λ in `self.lambda`.
    #[inline(always)]
    fn solve(&mut self, nodes: &[TreeNode], v: &mut [V6], e: impl Fn(usize) -> Lanes) {
        let Self { leaves, inner, rows, inv_response, x, lambda, .. } = self;
        for list in [&mut *x, &mut *lambda] {
            list.clear();
            list.resize(nodes.len(), ZERO);
        }
        let (mut end, mut inside) = (rows.len(), inner.len());
        for (b, node) in nodes.iter().enumerate().rev() {
            let n = node.rows as usize;
            end -= n;
            let rows = &rows[end..end + n];
            let mut own = v[b];
            if !node.leaf {
                inside -= 1;
                x[b] = times(&inner[inside], &x[b]);
                (0..6).for_each(|k| own[k] += x[b][k]);
            }
            let s = &mut lambda[b];
            for (k, row) in rows.iter().enumerate() {
                s[k] = e(end + k) - dot6(&row.own, &own);
            }
            if node.parent != NO_PARENT {
                let (parent, f) = (&v[node.parent as usize], &mut x[node.parent as usize]);
                for (row, s) in rows.iter().zip(s) {
                    *s -= dot6(&row.parent, parent);
                    add_scaled(f, *s, &row.g);
                }
            }
        }
        let (mut first, mut at, mut leaf) = (0, 0, 0);
        for (b, node) in nodes.iter().enumerate() {
            let n = node.rows as usize;
            let rows = &rows[first..first + n];
            let inv_d = &inv_response[at..at + n * n];
            (first, at) = (first + n, at + n * n);
            let s = lambda[b];
            let mut impulse = ZERO;
            for (i, row) in rows.iter().enumerate() {
                let mut l = Lanes::ZERO;
                for j in 0..n {
                    l = inv_d[n * i + j].mul_add(s[j], l);
                }
                if node.parent != NO_PARENT {
                    l -= dot6(&row.g, &x[node.parent as usize]);
                }
                lambda[b][i] = l;
                add_scaled(&mut impulse, l, &row.own);
            }
            x[b] = if node.leaf {
                leaf += 1;
                leaves[leaf - 1].times(&impulse)
            } else {
                let moved = times(&inner[inside], &impulse);
                inside += 1;
                std::array::from_fn(|k| x[b][k] + moved[k])
            };
            (0..6).for_each(|k| v[b][k] += x[b][k]);
        }
    }

    /// Adds the impulses of a substep to those of the step.
    pub(super) fn accumulate(&mut self) {
        self.total.iter_mut().zip(&self.impulse).for_each(|(total, p)| *total += *p);
    }

    /// The impulse of a row over the step, per lane.
    pub(super) fn total(&self, row: usize) -> [f64; 4] {
        self.total[row].to_array()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::{DMatrix, DVector};

    /// Between −1 and 1.
    fn next(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Any tree of n bodies, joints of 1 to 6 rows, the root free or held.
    fn random_tree(n: usize, held: bool, seed: &mut u64) -> Vec<TreeNode> {
        let mut below = |most: usize| ((0.5 + 0.5 * next(seed)) * most as f64) as usize % most;
        let root =
            TreeNode { parent: NO_PARENT, rows: if held { 1 + below(6) as u8 } else { 0 }, leaf: true };
        let mut nodes = vec![root];
        for k in 1..n {
            let parent = below(k) as u32;
            nodes[parent as usize].leaf = false;
            nodes.push(TreeNode { parent, rows: 1 + below(6) as u8, leaf: true });
        }
        nodes
    }

    /// Dense A, M⁻¹ and v of one lane.
    type Dense = (DMatrix<f64>, DMatrix<f64>, DVector<f64>);

    fn random_dense(nodes: &[TreeNode], seed: &mut u64) -> Dense {
        let n = nodes.len();
        let mut next = || next(seed);
        let v = DVector::from_fn(6 * n, |_, _| next());
        let mut A = DMatrix::<f64>::zeros(row_count(nodes), 6 * n);
        let mut inv_mass = DMatrix::<f64>::zeros(6 * n, 6 * n);
        let mut row = 0;
        for (b, node) in nodes.iter().enumerate() {
            for _ in 0..node.rows {
                for k in 0..6 {
                    A[(row, 6 * b + k)] = next();
                    if node.parent != NO_PARENT {
                        A[(row, 6 * node.parent as usize + k)] = next();
                    }
                }
                row += 1;
            }
            let half = nalgebra::Matrix3::from_fn(|_, _| next());
            let inertia = half * half.transpose() + nalgebra::Matrix3::identity();
            let inv = 0.5 + next().abs();
            for i in 0..3 {
                inv_mass[(6 * b + i, 6 * b + i)] = inv;
                for j in 0..3 {
                    inv_mass[(6 * b + 3 + i, 6 * b + 3 + j)] = inertia[(i, j)];
                }
            }
        }
        (A, inv_mass, v)
    }

    /// Trees of random rows and masses, one per lane, against the dense system A M⁻¹ Aᵀ λ = −A v.
    #[test]
    fn joints_of_random_trees_are_held_as_by_a_dense_solve() {
        let mut seed = 5;
        for (n, held) in [(1, true), (2, false), (3, true), (7, false), (11, false), (16, true)] {
            let nodes = random_tree(n, held, &mut seed);
            let dense: [Dense; 4] = std::array::from_fn(|_| random_dense(&nodes, &mut seed));
            let lanes = |f: &dyn Fn(&Dense) -> f64| Lanes::new(std::array::from_fn(|l| f(&dense[l])));
            let row_of = |row: usize, b: u32| -> V6 {
                std::array::from_fn(|k| match b {
                    NO_PARENT => Lanes::ZERO,
                    b => lanes(&|d| d.0[(row, 6 * b as usize + k)]),
                })
            };
            let owners = nodes
                .iter()
                .enumerate()
                .flat_map(|(b, node)| std::iter::repeat_n([b as u32, node.parent], node.rows as usize));
            let rows = owners.enumerate().map(|(row, ends)| ends.map(|b| row_of(row, b)));
            let bodies = (0..n).map(|b| {
                let places = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
                let at = |i: usize, j: usize| lanes(&|d| d.1[(6 * b + i, 6 * b + j)]);
                InverseInertia { inv_mass: at(0, 0), inv_inertia: places.map(|(i, j)| at(3 + i, 3 + j)) }
            });
            let mut factors = TreeFactors::default();
            factors.prepare(&nodes, rows, bodies);
            let mut found: Vec<V6> =
                (0..n).map(|b| std::array::from_fn(|k| lanes(&|d| d.2[6 * b + k]))).collect();
            factors.project_velocities(&nodes, &mut found);
            factors.accumulate();
            for (l, (A, inv_mass, v)) in dense.iter().enumerate() {
                let D = A * inv_mass * A.transpose();
                let lambda = D.lu().solve(&-(A * v)).unwrap();
                let wanted = v + inv_mass * A.transpose() * &lambda;
                let size = 1.0 + lambda.amax();
                for b in 0..n {
                    for k in 0..6 {
                        let (a, b) = (found[b][k].to_array()[l], wanted[6 * b + k]);
                        assert!((a - b).abs() < 1e-9 * size, "{n} bodies: {a} {b}");
                    }
                }
                for row in 0..lambda.len() {
                    assert!((factors.total(row)[l] - lambda[row]).abs() < 1e-8 * size, "row {row}");
                }
            }
        }
    }
}
