//! Half of the answer of a tree to impulses at a point: $W = J M^{-1}J^T$ from the paths of points to the root alone.
//!
//! With $M = L^T D L$ the answers between two points are $W_{ab} = Z_a^T Z_b$, $Z = D^{-1/2} L^{-T} J^T$. Row d of Z is zero
//! unless dof d lies on the path of the point to the root, so Z takes one walk from the link to its root, and of two points
//! only the dofs that both paths share count. By articulated bodies the walk carries the wrench (N, F) that an impulse makes at
//! each node when the joints behind it give path: $u = s\cdot(N, F)$ of each dof, then $(N, F) \leftarrow (N, F) - U u/D$, and
//! $z = u/\sqrt D$. By a factor it is the back substitution on the path.
//!
//! All paths of a tree end with the same dofs, the common ancestors: the six of a body that floats, say. What arrives there is one wrench,
//! and z of the common ancestors is linear in it. So where several points touch, the six unit wrenches are walked down them once, and
//! each point takes its z there as six products.

use super::ForwardDynamics;
use super::fixed_size::{dot, fma, plus, plus_cross};
use super::groups::TreeRange;
use super::tree::{NONE, Tree};
use super::work::TreeWork;
use crate::math::Vec3;
use crate::math::simd::Lanes;

/// Three numbers for the axes of the world, and one that is zero.
pub(crate) type HalfRow = [f64; 4];

/// y + a x.
#[inline(always)]
fn add(y: Lanes, a: f64, x: Lanes) -> Lanes {
    Lanes::splat(a).mul_add(x, y)
}

/// A dof on the paths of points: what a walk reads of it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PathDof {
    /// Turn and shift of the dof per unit of its velocity; true if it shifts.
    turn: [f64; 3],
    shift: [f64; 3],
    shifts: bool,
    /// −U/D: torque and force.
    torque: [f64; 3],
    force: [f64; 3],
    /// D^{-1/2}.
    root: f64,
    /// From the origin of the node above, if the next dof is there.
    r: Option<[f64; 3]>,
    /// The next dof.
    above: u32,
    /// z of the unit wrenches, torques first, at the last of the common ancestors; true if this is the top.
    common: [f64; 6],
    top: bool,
}

impl PathDof {
    /// z of the dof for wrenches, torques first, and the wrenches that go on to the next dof.
    #[inline(always)]
    fn pass(&self, wrench: &mut [Lanes; 6]) -> Lanes {
        let [mut n_x, mut n_y, mut n_z, mut f_x, mut f_y, mut f_z] = *wrench;
        let s = &self.turn;
        let mut u = add(add(add(Lanes::ZERO, s[0], n_x), s[1], n_y), s[2], n_z);
        if self.shifts {
            let s = &self.shift;
            u = add(add(add(u, s[0], f_x), s[1], f_y), s[2], f_z);
        }
        n_x = add(n_x, self.torque[0], u);
        n_y = add(n_y, self.torque[1], u);
        n_z = add(n_z, self.torque[2], u);
        f_x = add(f_x, self.force[0], u);
        f_y = add(f_y, self.force[1], u);
        f_z = add(f_z, self.force[2], u);
        if let Some([x, y, z]) = self.r {
            n_x = add(add(n_x, y, f_z), -z, f_y);
            n_y = add(add(n_y, z, f_x), -x, f_z);
            n_z = add(add(n_z, x, f_y), -y, f_x);
        }
        *wrench = [n_x, n_y, n_z, f_x, f_y, f_z];
        Lanes::splat(self.root) * u
    }
}

impl Tree {
    /// Adds z of every dof on the path of the point x of a link to the root, from the link on; of turning if `turn`. Returns the
    /// first of these dofs. After forward dynamics, whose factor counts, and [`path_dofs`](Self::path_dofs).
    pub(crate) fn half_solve(
        &self,
        link: usize,
        x: &Vec3,
        turn: bool,
        work: &TreeWork,
        path_dofs: &[PathDof],
        out: &mut Vec<HalfRow>,
    ) -> u32 {
        let last = self.last_dof(self.links[link].node);
        match self.forward {
            ForwardDynamics::Articulated => {
                let r = x - work.frames[self.links[link].node as usize].p;
                let start = out.len();
                out.resize(start + self.path_len(last), [0.0; 4]);
                walk_articulated(last, &r, turn, path_dofs, &mut out[start..]);
            }
            ForwardDynamics::Factored => self.walk_factored(last, x, turn, work, path_dofs, out),
        }
        last
    }

    /// What walks read of the dofs of whole trees, in their places among all dofs.
    pub(crate) fn path_dofs(&self, trees: &TreeRange, work: &TreeWork, path_dofs: &mut Vec<PathDof>) {
        path_dofs.resize(self.freedoms(), PathDof::default());
        for d in trees.dofs.clone() {
            let above = self.dof_parent[d];
            if self.forward == ForwardDynamics::Factored {
                let root = work.factor.entries[self.row[d + 1] - 1].sqrt();
                path_dofs[d] = PathDof { root, above, ..PathDof::default() };
                continue;
            }
            let i = self.dof_node[d] as usize;
            let (node, frame, pivot) = (&self.nodes[i], &work.frames[i], &work.pivots[d]);
            let k = d - node.v as usize;
            let (turn, shift) = node.axis(&frame.R, k);
            path_dofs[d] = PathDof {
                turn: turn.into(),
                shift: shift.into(),
                shifts: node.kind.shifts(),
                torque: (-pivot.inv_d * pivot.U.torque).into(),
                force: (-pivot.inv_d * pivot.U.force).into(),
                root: pivot.inv_d.sqrt(),
                r: (k == 0).then(|| frame.r.into()),
                above,
                ..PathDof::default()
            };
        }
    }

    /// Walks unit wrenches down the common ancestors of whole trees, for paths that are walked next. After [`path_dofs`](Self::path_dofs).
    pub(crate) fn walk_common_ancestors(&self, trees: &TreeRange, path_dofs: &mut [PathDof]) {
        if self.forward == ForwardDynamics::Factored {
            return;
        }
        for &top in self.common_ancestors.iter().filter(|top| trees.dofs.contains(&(**top as usize))) {
            walk_common_path(top, path_dofs);
        }
    }

    /// The last dof of the common ancestors of each tree: of the dofs that all others of a tree stand on, if there are three or more.
    pub(super) fn find_common_ancestors(&self) -> Vec<u32> {
        let mut next = vec![Vec::new(); self.freedoms()];
        for (d, above) in self.dof_parent.iter().enumerate().filter(|(_, above)| **above != NONE) {
            next[*above as usize].push(d);
        }
        let roots = (0..self.freedoms()).filter(|d| self.dof_parent[*d] == NONE);
        let tops = roots.map(|mut d| {
            while let [only] = next[d][..] {
                d = only;
            }
            d as u32
        });
        tops.filter(|top| self.path_len(*top) >= 3).collect()
    }

    fn walk_factored(
        &self,
        last: u32,
        x: &Vec3,
        turn: bool,
        work: &TreeWork,
        path_dofs: &[PathDof],
        out: &mut Vec<HalfRow>,
    ) {
        let start = out.len();
        let mut d = last;
        while d != NONE {
            let (linear, angular) = self.column_at(d as usize, x, work);
            let j = if turn { angular } else { linear };
            out.push([j.x, j.y, j.z, 0.0]);
            d = self.dof_parent[d as usize];
        }
        let path = &mut out[start..];
        d = last;
        for k in 0..path.len() {
            // The row runs from the root to d itself.
            let row = &work.factor.entries[self.row[d as usize]..self.row[d as usize + 1]];
            let own = Lanes::from(path[k]);
            for (l, above) in row.iter().rev().skip(1).zip(&mut path[k + 1..]) {
                *above = add(Lanes::from(*above), -l, own).to_array();
            }
            path[k] = (Lanes::splat(path_dofs[d as usize].root) * own).to_array();
            d = self.dof_parent[d as usize];
        }
    }

    /// z of a unit force on dof d, for every dof on its path to the root, from d on. After [`path_dofs`](Self::path_dofs).
    pub(crate) fn half_solve_of_dof(
        &self,
        d: usize,
        work: &TreeWork,
        path_dofs: &[PathDof],
        out: &mut Vec<f64>,
    ) {
        if self.forward == ForwardDynamics::Articulated {
            return walk_from(d as u32, path_dofs, out);
        }
        // Back substitution: −L of d reaches every dof above it, and so on.
        let start = out.len();
        let len = self.row[d + 1] - self.row[d];
        out.push(1.0);
        out.resize(start + len, 0.0);
        let (path, mut d) = (&mut out[start..], d);
        for k in 0..len {
            let row = &work.factor.entries[self.row[d]..self.row[d + 1]];
            let own = path[k];
            for (l, above) in row.iter().rev().skip(1).zip(&mut path[k + 1..]) {
                *above = fma(-l, own, *above);
            }
            path[k] = path_dofs[d].root * own;
            d = path_dofs[d].above as usize;
        }
    }

    /// The dof before this one on the path to the root; a number beyond all dofs if there is none.
    #[inline(always)]
    pub(crate) fn above(&self, d: usize) -> usize {
        self.dof_parent[d] as usize
    }

    /// How many dofs the paths of two dofs to the root share.
    pub(crate) fn shared_path(&self, mut a: u32, mut b: u32) -> usize {
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
        self.path_len(a)
    }

    /// How many dofs the path of a dof to the root has.
    fn path_len(&self, d: u32) -> usize {
        if d == NONE { 0 } else { self.row[d as usize + 1] - self.row[d as usize] }
    }

    /// t += Z p of the point whose path, as [`half_solve`](Self::half_solve) gave it, begins with a dof; `t` begins with
    /// dof `first`.
    #[inline(always)]
    pub(crate) fn add_half(&self, dof: u32, path: &[HalfRow], p: &[f64; 3], first: usize, t: &mut [f64]) {
        let (parents, [x, y, z]) = (&self.dof_parent[first..], *p);
        let mut d = (dof as usize).wrapping_sub(first);
        for [a, b, c, _] in path {
            let (Some(t), Some(parent)) = (t.get_mut(d), parents.get(d)) else { break };
            *t = fma(*c, z, fma(*b, y, fma(*a, x, *t)));
            d = (*parent as usize).wrapping_sub(first);
        }
    }

    /// x ← M⁻¹Jᵀp of whole trees from the sum of all Z p: $M^{-1} = L^{-1}D^{-1/2}\,(L^{-1}D^{-1/2})^T$. After
    /// [`path_dofs`](Self::path_dofs); `pulls` is room.
    pub(crate) fn second_half_solve(
        &self,
        trees: &TreeRange,
        work: &mut TreeWork,
        path_dofs: &[PathDof],
        pulls: &mut Vec<Acceleration>,
        x: &mut [f64],
    ) {
        match self.forward {
            ForwardDynamics::Articulated => {
                sweep_outwards(&path_dofs[trees.dofs.clone()], trees.dofs.start, pulls, x)
            }
            ForwardDynamics::Factored => work.factor.second_half_solve(self, trees.dofs.clone(), x),
        }
    }
}

/// Accelerations behind a dof: of its turn and of the origin of its node.
pub(crate) type Acceleration = [Vec3; 2];

/// The second sweep: x ← D^{-1/2} x − U·a/D, dof by dof.
fn sweep_outwards(path_dofs: &[PathDof], first: usize, pulls: &mut Vec<Acceleration>, x: &mut [f64]) {
    pulls.clear();
    for (dof, x) in path_dofs.iter().zip(x) {
        let [mut dw, mut a] = match dof.above {
            NONE => [Vec3::zeros(); 2],
            above => pulls[above as usize - first],
        };
        if let Some(r) = dof.r {
            a = plus_cross(&a, &dw, &Vec3::from(r));
        }
        let [turn, shift, torque, force] = [dof.turn, dof.shift, dof.torque, dof.force].map(Vec3::from);
        let y = fma(dof.root, *x, dot(&torque, &dw) + dot(&force, &a));
        *x = y;
        dw = plus(&dw, y, &turn);
        if dof.shifts {
            a = plus(&a, y, &shift);
        }
        pulls.push([dw, a]);
    }
}

fn walk_articulated(last: u32, r: &Vec3, turn: bool, path_dofs: &[PathDof], out: &mut [HalfRow]) {
    let one = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
    // Rows are components, lanes the axes of the impulse.
    let n = if turn { one } else { [[0.0, -r.z, r.y, 0.0], [r.z, 0.0, -r.x, 0.0], [-r.y, r.x, 0.0, 0.0]] };
    let [n_x, n_y, n_z] = n.map(Lanes::from);
    let [f_x, f_y, f_z] = if turn { [Lanes::ZERO; 3] } else { one.map(Lanes::from) };
    let mut wrench = [n_x, n_y, n_z, f_x, f_y, f_z];
    let mut d = last;
    for k in 0..out.len() {
        let dof = &path_dofs[d as usize];
        if dof.top {
            return end_on_common_ancestors(d, wrench, path_dofs, &mut out[k..]);
        }
        out[k] = dof.pass(&mut wrench).to_array();
        d = dof.above;
    }
}

/// z of the common ancestors for wrenches at its top.
#[inline(always)]
fn end_on_common_ancestors(mut d: u32, wrench: [Lanes; 6], path_dofs: &[PathDof], out: &mut [HalfRow]) {
    for z in out {
        let PathDof { common, above, .. } = &path_dofs[d as usize];
        // Two sums side by side.
        let half = |k: usize| {
            add(
                add(Lanes::splat(common[k]) * wrench[k], common[k + 1], wrench[k + 1]),
                common[k + 2],
                wrench[k + 2],
            )
        };
        *z = (half(0) + half(3)).to_array();
        d = *above;
    }
}

/// The six unit wrenches down the common ancestors.
fn walk_common_path(top: u32, path_dofs: &mut [PathDof]) {
    let lane = |k: usize| [0, 1, 2, 3].map(|i| if i == k { 1.0 } else { 0.0 });
    let unit = |k: usize| Lanes::from(lane(k));
    let z = Lanes::ZERO;
    let mut torques = [unit(0), unit(1), unit(2), z, z, z];
    let mut forces = [z, z, z, unit(0), unit(1), unit(2)];
    let mut d = top;
    while d != NONE {
        let dof = &mut path_dofs[d as usize];
        let [a, b] = [&mut torques, &mut forces].map(|w| dof.pass(w).to_array());
        dof.common = [a[0], a[1], a[2], b[0], b[1], b[2]];
        d = dof.above;
    }
    path_dofs[top as usize].top = true;
}

/// The same for a unit force on a dof.
fn walk_from(mut d: u32, path_dofs: &[PathDof], out: &mut Vec<f64>) {
    let (mut n, mut f) = (Vec3::zeros(), Vec3::zeros());
    let mut u = 1.0;
    while d != NONE {
        let dof = &path_dofs[d as usize];
        if dof.top && u == 0.0 {
            while d != NONE {
                let PathDof { common, above, .. } = &path_dofs[d as usize];
                let [torque, force] =
                    [[common[0], common[1], common[2]], [common[3], common[4], common[5]]].map(Vec3::from);
                out.push(dot(&torque, &n) + dot(&force, &f));
                d = *above;
            }
            return;
        }
        let [turn, shift, torque, force] = [dof.turn, dof.shift, dof.torque, dof.force].map(Vec3::from);
        u += dot(&turn, &n);
        if dof.shifts {
            u += dot(&shift, &f);
        }
        (n, f) = (plus(&n, u, &torque), plus(&f, u, &force));
        out.push(dof.root * u);
        if let Some(r) = dof.r {
            n = plus_cross(&n, &Vec3::from(r), &f);
        }
        (u, d) = (0.0, dof.above);
    }
}

/// Σ z_a z_bᵀ over the dofs that two paths share, `shared` of them at their ends: rows for a, lanes for b.
#[inline(always)]
pub(crate) fn half_product(a: &[HalfRow], b: &[HalfRow], shared: usize) -> [HalfRow; 3] {
    let [mut x, mut y, mut z] = [Lanes::ZERO; 3];
    for (a, b) in a[a.len() - shared..].iter().zip(&b[b.len() - shared..]) {
        let b = Lanes::from(*b);
        x = add(x, a[0], b);
        y = add(y, a[1], b);
        z = add(z, a[2], b);
    }
    [x, y, z].map(Lanes::to_array)
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
        let mut common_ancestors = 0;
        for (name, mut tree) in trees() {
            let n = tree.freedoms();
            for forward in [ForwardDynamics::Articulated, ForwardDynamics::Factored] {
                tree.forward = forward;
                let mut work = TreeWork::new(&tree);
                let (q, v, mut dv) = random_state(&tree, 5);
                let diagonal: Vec<f64> = (0..n).map(|d| 0.1 * (d % 3) as f64).collect();
                tree.kinematics(&q, &mut work);
                tree.accelerate_by_choice(&v, &vec![0.0; n], &[], &diagonal, &mut work, &mut dv);
                let mut path_dofs = Vec::new();
                let all = TreeRange { nodes: 1..tree.nodes.len(), dofs: 0..n };
                tree.path_dofs(&all, &work, &mut path_dofs);
                let plain = path_dofs.clone();
                tree.walk_common_ancestors(&all, &mut path_dofs);
                common_ancestors += path_dofs.iter().filter(|dof| dof.top).count();
                let point = |link: usize| tree.link_position(link, &work) + Vec3::new(0.1, -0.2, 0.3);
                for a in 0..tree.link_count() {
                    for b in 0..tree.link_count() {
                        let turn = (a + b) % 2 == 1;
                        let (mut za, mut zb) = (Vec::new(), Vec::new());
                        // One of the paths ends on the common ancestors, the other goes through it.
                        let da = tree.half_solve(a, &point(a), false, &work, &plain, &mut za);
                        let db = tree.half_solve(b, &point(b), turn, &work, &path_dofs, &mut zb);
                        let block = half_product(&za, &zb, tree.shared_path(da, db));
                        let (Ja, Jb) = (
                            jacobian(&tree, a, &point(a), false, &work),
                            jacobian(&tree, b, &point(b), turn, &work),
                        );
                        let mut scratch = work.clone();
                        for k in 0..3 {
                            let mut y = Jb[k * n..(k + 1) * n].to_vec();
                            tree.solve_at_hand(1, &mut scratch, &mut y);
                            let size = y.iter().fold(1e-3f64, |m, y| m.max(y.abs()));
                            let (mut half, mut p) = (vec![0.0; n], [0.0; 3]);
                            p[k] = 1.0;
                            tree.add_half(db, &zb, &p, 0, &mut half);
                            tree.second_half_solve(
                                &all,
                                &mut scratch,
                                &path_dofs,
                                &mut Vec::new(),
                                &mut half,
                            );
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
        assert!(common_ancestors > 5, "{common_ancestors}");
    }

    #[test]
    fn halves_of_dofs_make_the_inverse_of_the_mass_matrix() {
        for (name, mut tree) in trees() {
            let n = tree.freedoms();
            for forward in [ForwardDynamics::Articulated, ForwardDynamics::Factored] {
                tree.forward = forward;
                let mut work = TreeWork::new(&tree);
                let (q, v, mut dv) = random_state(&tree, 7);
                tree.kinematics(&q, &mut work);
                tree.accelerate_by_choice(&v, &vec![0.0; n], &[], &vec![0.0; n], &mut work, &mut dv);
                let all = TreeRange { nodes: 1..tree.nodes.len(), dofs: 0..n };
                let mut path_dofs = Vec::new();
                tree.path_dofs(&all, &work, &mut path_dofs);
                let plain = path_dofs.clone();
                tree.walk_common_ancestors(&all, &mut path_dofs);
                let halves: Vec<Vec<f64>> = (0..n)
                    .map(|d| {
                        let (mut path, mut z, mut at) = (Vec::new(), vec![0.0; n], d as u32);
                        // Some end on the common ancestors, others go through it.
                        let path_dofs = if d % 2 == 0 { &plain } else { &path_dofs };
                        tree.half_solve_of_dof(d, &work, path_dofs, &mut path);
                        for x in path {
                            z[at as usize] = x;
                            at = tree.dof_parent[at as usize];
                        }
                        assert_eq!(at, NONE, "{name} {d}");
                        z
                    })
                    .collect();
                for d in 0..n {
                    let mut y = vec![0.0; n];
                    y[d] = 1.0;
                    tree.solve_at_hand(1, &mut work, &mut y);
                    let size = y.iter().fold(1e-3f64, |m, y| m.max(y.abs()));
                    for e in 0..n {
                        let found: f64 = halves[d].iter().zip(&halves[e]).map(|(a, b)| a * b).sum();
                        assert!((found - y[e]).abs() < 1e-9 * size, "{name} {d} {e}: {found} {}", y[e]);
                    }
                }
            }
        }
    }
}
