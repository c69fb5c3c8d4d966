//! Half of the answer of a tree to impulses at a point: $W = J M^{-1}J^T$ from the ways of points to the world alone.
//!
//! With $M = L^T D L$ the answers between two points are $W_{ab} = Z_a^T Z_b$, $Z = D^{-1/2} L^{-T} J^T$. Row d of Z is zero
//! unless dof d lies on the way of the point to the world, so Z takes one walk from the link to its root, and of two points
//! only the dofs that both ways share count. By articulated bodies the walk carries the wrench (N, F) that an impulse makes at
//! each node when the joints behind it give way: $u = s\cdot(N, F)$ of each dof, then $(N, F) \leftarrow (N, F) - U u/D$, and
//! $z = u/\sqrt D$. By a factor it is the back substitution on the way.

use std::ops::Range;

use super::ForwardDynamics;
use super::groups::Trees;
use super::small::{plus, plus_cross};
use super::tree::{NONE, Tree};
use super::work::{TreeWork, Wrench};
use crate::math::Vec3;

/// Three numbers for the axes of the world, and one that is zero.
pub(crate) type Half = [f64; 4];

#[inline(always)]
fn add(y: &mut Half, a: f64, x: &Half) {
    (0..4).for_each(|l| y[l] = a.mul_add(x[l], y[l]));
}

#[inline(always)]
fn scaled(a: f64, x: &Half) -> Half {
    [a * x[0], a * x[1], a * x[2], 0.0]
}

impl Tree {
    /// Adds z of every dof on the way of the point x of a link to the world, from the link on; of turning if `turn`. Returns the
    /// first of these dofs. After forward dynamics, whose factor counts.
    pub(crate) fn half_answer(
        &self,
        link: usize,
        x: &Vec3,
        turn: bool,
        work: &TreeWork,
        out: &mut Vec<Half>,
    ) -> u32 {
        let last = self.last_dof(self.links[link].node);
        match self.forward {
            ForwardDynamics::Articulated => self.walk_articulated(link, x, turn, work, out),
            ForwardDynamics::Factored => self.walk_factored(last, x, turn, work, out),
        }
        last
    }

    fn walk_articulated(&self, link: usize, x: &Vec3, turn: bool, work: &TreeWork, out: &mut Vec<Half>) {
        let mut i = self.links[link].node as usize;
        let r = x - work.frames[i].p;
        let one = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
        // Rows are components, lanes the axes of the impulse.
        let [mut n_x, mut n_y, mut n_z] =
            if turn { one } else { [[0.0, -r.z, r.y, 0.0], [r.z, 0.0, -r.x, 0.0], [-r.y, r.x, 0.0, 0.0]] };
        let [mut f_x, mut f_y, mut f_z] = if turn { [[0.0; 4]; 3] } else { one };
        while i != 0 {
            let (node, frame) = (&self.nodes[i], &work.frames[i]);
            for k in (0..node.kind.freedoms()).rev() {
                let pivot = &work.pivots[node.v as usize + k];
                let (s, shift) = node.axis(&frame.R, k);
                let mut u = [0.0; 4];
                add(&mut u, s.x, &n_x);
                add(&mut u, s.y, &n_y);
                add(&mut u, s.z, &n_z);
                if node.kind.shifts() {
                    add(&mut u, shift.x, &f_x);
                    add(&mut u, shift.y, &f_y);
                    add(&mut u, shift.z, &f_z);
                }
                let (U, c) = (&pivot.U, -pivot.inv_d);
                add(&mut n_x, c * U.torque.x, &u);
                add(&mut n_y, c * U.torque.y, &u);
                add(&mut n_z, c * U.torque.z, &u);
                add(&mut f_x, c * U.force.x, &u);
                add(&mut f_y, c * U.force.y, &u);
                add(&mut f_z, c * U.force.z, &u);
                out.push(scaled(pivot.inv_d.sqrt(), &u));
            }
            let r = &frame.r;
            add(&mut n_x, r.y, &f_z);
            add(&mut n_x, -r.z, &f_y);
            add(&mut n_y, r.z, &f_x);
            add(&mut n_y, -r.x, &f_z);
            add(&mut n_z, r.x, &f_y);
            add(&mut n_z, -r.y, &f_x);
            i = node.parent as usize;
        }
    }

    fn walk_factored(&self, last: u32, x: &Vec3, turn: bool, work: &TreeWork, out: &mut Vec<Half>) {
        let start = out.len();
        let mut d = last;
        while d != NONE {
            let (linear, angular) = self.column_at(d as usize, x, work);
            let j = if turn { angular } else { linear };
            out.push([j.x, j.y, j.z, 0.0]);
            d = self.dof_parent[d as usize];
        }
        let way = &mut out[start..];
        d = last;
        for k in 0..way.len() {
            // The row runs from the root to d itself.
            let row = &work.factor.entries[self.row[d as usize]..self.row[d as usize + 1]];
            let own = way[k];
            for (l, above) in row.iter().rev().skip(1).zip(&mut way[k + 1..]) {
                add(above, -l, &own);
            }
            let root = row.last().map_or(0.0, |inv_d| inv_d.sqrt());
            way[k] = scaled(root, &own);
            d = self.dof_parent[d as usize];
        }
    }

    /// How many dofs the ways of two dofs to the world share.
    pub(crate) fn shared_way(&self, mut a: u32, mut b: u32) -> usize {
        while a != b {
            // Parents have smaller numbers; `NONE` is the largest.
            if b == NONE || (a != NONE && a > b) {
                a = self.dof_parent[a as usize];
            } else {
                b = self.dof_parent[b as usize];
            }
            if a == NONE || b == NONE {
                return 0;
            }
        }
        if a == NONE { 0 } else { self.row[a as usize + 1] - self.row[a as usize] }
    }

    /// x ← M⁻¹ x of whole trees, whose dofs alone `x` has, with the factor at hand.
    pub(crate) fn solve_one_in(&self, trees: &Trees, work: &mut TreeWork, x: &mut [f64]) {
        match self.forward {
            ForwardDynamics::Articulated => self.sweep_one(trees.nodes.clone(), trees.dofs.start, work, x),
            ForwardDynamics::Factored => work.factor.solve_in(self, trees.dofs.clone(), 1, x),
        }
    }

    /// t += Z p of the point whose way, as [`half_answer`](Self::half_answer) gave it, begins with a dof; `t` begins with
    /// dof `first`.
    pub(crate) fn add_half(&self, mut dof: u32, way: &[Half], p: &[f64; 3], first: usize, t: &mut [f64]) {
        for z in way {
            t[dof as usize - first] += z[0] * p[0] + z[1] * p[1] + z[2] * p[2];
            dof = self.dof_parent[dof as usize];
        }
    }

    /// x ← M⁻¹Jᵀp of whole trees from the sum of all Z p: $M^{-1} = L^{-1}D^{-1/2}\,(L^{-1}D^{-1/2})^T$.
    pub(crate) fn second_half(&self, trees: &Trees, work: &mut TreeWork, x: &mut [f64]) {
        match self.forward {
            ForwardDynamics::Articulated => {
                let first = trees.dofs.start;
                x.iter_mut().zip(&work.pivots[trees.dofs.clone()]).for_each(|(x, p)| *x /= p.inv_d.sqrt());
                self.sweep_outwards(trees.nodes.clone(), first, work, x);
            }
            ForwardDynamics::Factored => work.factor.solve_second_half(self, trees.dofs.clone(), x),
        }
    }

    fn sweep_one(&self, nodes: Range<usize>, first: usize, work: &mut TreeWork, x: &mut [f64]) {
        work.wrench[nodes.clone()].fill(Wrench::default());
        for i in nodes.clone().rev() {
            let (node, frame, mut p) = (&self.nodes[i], &work.frames[i], work.wrench[i]);
            for k in (0..node.kind.freedoms()).rev() {
                let d = node.v as usize + k;
                let pivot = &work.pivots[d];
                let u = x[d - first] - node.axis_dot(frame, k, &p.torque, &p.force);
                x[d - first] = u;
                let share = u * pivot.inv_d;
                p.torque = plus(&p.torque, share, &pivot.U.torque);
                p.force = plus(&p.force, share, &pivot.U.force);
            }
            let above = &mut work.wrench[node.parent as usize];
            above.force += p.force;
            above.torque += plus_cross(&p.torque, &frame.r, &p.force);
        }
        self.sweep_outwards(nodes, first, work, x);
    }

    /// The second sweep: x ← (x − U·a)/D, node by node.
    fn sweep_outwards(&self, nodes: Range<usize>, first: usize, work: &mut TreeWork, x: &mut [f64]) {
        let motion = &mut work.motion;
        (motion[0].dw, motion[0].a) = (Vec3::zeros(), Vec3::zeros());
        for i in nodes {
            let (node, frame) = (&self.nodes[i], &work.frames[i]);
            let above = &motion[node.parent as usize];
            let (mut dw, mut a) = (above.dw, plus_cross(&above.a, &above.dw, &frame.r));
            for k in 0..node.kind.freedoms() {
                let d = node.v as usize + k;
                let pivot = &work.pivots[d];
                let (torque, force) = (&pivot.U.torque, &pivot.U.force);
                let y = (x[d - first] - torque.dot(&dw) - force.dot(&a)) * pivot.inv_d;
                x[d - first] = y;
                node.add_axis(frame, k, y, &mut dw, &mut a);
            }
            (motion[i].dw, motion[i].a) = (dw, a);
        }
    }
}

/// Σ z_a z_bᵀ over the dofs that two ways share, `shared` of them at their ends: rows for a, lanes for b.
#[inline(always)]
pub(crate) fn half_product(a: &[Half], b: &[Half], shared: usize) -> [Half; 3] {
    let [mut x, mut y, mut z] = [[0.0; 4]; 3];
    for (a, b) in a[a.len() - shared..].iter().zip(&b[b.len() - shared..]) {
        add(&mut x, a[0], b);
        add(&mut y, a[1], b);
        add(&mut z, a[2], b);
    }
    [x, y, z]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bodies::articulated::tests::{random_state, trees};

    /// J of a point: three rows as long as v.
    fn jacobian(tree: &Tree, link: usize, x: &Vec3, turn: bool, work: &TreeWork) -> Vec<f64> {
        let n = tree.freedoms();
        let (mut linear, mut angular) = (vec![0.0; 3 * n], vec![0.0; 3 * n]);
        tree.point_jacobian(link, x, work, &mut linear, &mut angular);
        if turn { angular } else { linear }
    }

    #[test]
    fn halves_make_the_answers_between_any_two_points() {
        for (name, mut tree) in trees() {
            let n = tree.freedoms();
            for forward in [ForwardDynamics::Articulated, ForwardDynamics::Factored] {
                tree.forward = forward;
                let mut work = TreeWork::new(&tree);
                let (q, v, mut dv) = random_state(&tree, 5);
                let diagonal: Vec<f64> = (0..n).map(|d| 0.1 * (d % 3) as f64).collect();
                tree.kinematics(&q, &mut work);
                tree.accelerate_by_choice(&v, &vec![0.0; n], &[], &diagonal, &mut work, &mut dv);
                let point = |link: usize| tree.link_position(link, &work) + Vec3::new(0.1, -0.2, 0.3);
                for a in 0..tree.link_count() {
                    for b in 0..tree.link_count() {
                        let turn = (a + b) % 2 == 1;
                        let (mut za, mut zb) = (Vec::new(), Vec::new());
                        let da = tree.half_answer(a, &point(a), false, &work, &mut za);
                        let db = tree.half_answer(b, &point(b), turn, &work, &mut zb);
                        let block = half_product(&za, &zb, tree.shared_way(da, db));
                        let (Ja, Jb) = (
                            jacobian(&tree, a, &point(a), false, &work),
                            jacobian(&tree, b, &point(b), turn, &work),
                        );
                        let mut scratch = work.clone();
                        for k in 0..3 {
                            let mut y = Jb[k * n..(k + 1) * n].to_vec();
                            let all = Trees { nodes: 1..tree.nodes.len(), dofs: 0..n };
                            let mut one = y.clone();
                            tree.solve_at_hand(1, &mut scratch, &mut y);
                            tree.solve_one_in(&all, &mut scratch, &mut one);
                            let size = y.iter().fold(1e-3f64, |m, y| m.max(y.abs()));
                            let off = y.iter().zip(&one).fold(0.0f64, |m, (y, o)| m.max((y - o).abs()));
                            assert!(off < 1e-10 * size, "{name} {b}: {off:e}");
                            let (mut half, mut p) = (vec![0.0; n], [0.0; 3]);
                            p[k] = 1.0;
                            tree.add_half(db, &zb, &p, 0, &mut half);
                            tree.second_half(&all, &mut scratch, &mut half);
                            let off = y.iter().zip(&half).fold(0.0f64, |m, (y, h)| m.max((y - h).abs()));
                            assert!(off < 1e-10 * size, "{name} {b}: {off:e}");
                            for i in 0..3 {
                                let want: f64 = (0..n).map(|d| Ja[i * n + d] * y[d]).sum();
                                let off = (block[i][k] - want).abs();
                                assert!(off < 1e-9 * (1.0 + want.abs()), "{name} {a} {b}: {off:e}");
                            }
                        }
                    }
                }
            }
        }
    }
}
