//! Forward dynamics of four trees of one shape at a time, as in a file with many robots of one kind.
//!
//! The sweeps of [`aba`](super::aba) go from node to node and each waits for the one before; four trees that have the same
//! joints in the same order do not wait for each other and fill the lanes of a register. Every lane does what the sweeps over
//! one tree do, in the same order: the numbers are the same.

use std::ops::Range;

use crate::math::simd::Lanes;
use nalgebra::{Matrix3, Vector3};

use super::fixed_size::{Sym3, dot, plus, plus_cross, sum};
use super::groups::TreeRange;
use super::tree::{Node, Tree};
use super::work::{Articulated, Composite, Frame, Motion, Pivot, TreeWork, Wrench};

/// Four trees of one shape.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FourTrees {
    trees: [TreeRange; 4],
    bodies: Vec<Body>,
}

/// What four nodes are made of.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Body {
    mass: Lanes,
    moment: Vector3<Lanes>,
    inertia: Sym3<Lanes>,
}

/// Buffers of the sweeps over four trees: a node of each, a dof of each.
#[derive(Debug, Clone, Default)]
pub(super) struct FourWork {
    nodes: Vec<FourNode>,
    pivots: Vec<Pivot<Lanes>>,
}

#[derive(Debug, Clone, Copy)]
struct FourNode {
    frame: Frame<Lanes>,
    motion: Motion<Lanes>,
    wrench: Wrench<Lanes>,
    inertia: Articulated<Lanes>,
}

/// One number of each of four things.
#[inline(always)]
fn each<T>(four: [&T; 4], number: impl Fn(&T) -> f64) -> Lanes {
    Lanes::new(four.map(number))
}

#[inline(always)]
fn vector<T>(four: [&T; 4], vector: impl Fn(&T) -> [f64; 3]) -> Vector3<Lanes> {
    let [x, y, z, _] = Lanes::transpose(four.map(|one| {
        let [x, y, z] = vector(one);
        Lanes::new([x, y, z, 0.0])
    }));
    Vector3::new(x, y, z)
}

/// The same vector everywhere.
#[inline(always)]
fn same(v: &Vector3<f64>) -> Vector3<Lanes> {
    v.map(Lanes::splat)
}

/// Three numbers of each of four things: a row for each thing.
#[inline(always)]
fn rows(v: &Vector3<Lanes>) -> [Vector3<f64>; 4] {
    Lanes::transpose([v.x, v.y, v.z, Lanes::ZERO]).map(|row| {
        let [x, y, z, _] = row.to_array();
        Vector3::new(x, y, z)
    })
}

impl FourTrees {
    /// Groups of four neighbours among the trees, and the nodes of all that are in none.
    pub(super) fn find(nodes: &[Node], trees: &[TreeRange]) -> (Vec<Self>, Vec<Range<usize>>) {
        let (mut fours, mut rest) = (Vec::new(), Vec::new());
        for run in trees.chunk_by(|a, b| alike(nodes, a, b)) {
            let (whole, left) = run.as_chunks::<4>();
            fours.extend(whole.iter().map(|trees| Self::new(nodes, trees.clone())));
            rest.extend(left.iter().map(|trees| trees.nodes.clone()));
        }
        (fours, rest)
    }

    fn new(nodes: &[Node], trees: [TreeRange; 4]) -> Self {
        let bodies = (0..trees[0].nodes.len())
            .map(|i| {
                let four = [0, 1, 2, 3].map(|k| &nodes[trees[k].nodes.start + i]);
                Body {
                    mass: each(four, |n| n.mass),
                    moment: vector(four, |n| n.moment.into()),
                    inertia: Sym3 {
                        xx: each(four, |n| n.inertia.xx),
                        xy: each(four, |n| n.inertia.xy),
                        xz: each(four, |n| n.inertia.xz),
                        yy: each(four, |n| n.inertia.yy),
                        yz: each(four, |n| n.inertia.yz),
                        zz: each(four, |n| n.inertia.zz),
                    },
                }
            })
            .collect();
        Self { trees, bodies }
    }

    /// The four numbers of a dof.
    #[inline(always)]
    fn of_dof(&self, list: &[f64], d: usize) -> Lanes {
        Lanes::new([0, 1, 2, 3].map(|k: usize| list[self.trees[k].dofs.start + d]))
    }

    /// Nodes of the first tree, with the places of their parents among them; none for the world.
    #[inline(always)]
    fn nodes<'a>(
        &self,
        tree: &'a Tree,
    ) -> impl DoubleEndedIterator<Item = (usize, &'a Node, Option<usize>)> + use<'a> {
        let TreeRange { nodes, .. } = &self.trees[0];
        let first = nodes.start;
        let place = move |n: &Node| (n.parent != 0).then(|| n.parent as usize - first);
        tree.nodes[nodes.clone()].iter().enumerate().map(move |(i, n)| (i, n, place(n)))
    }

    /// (M + diag)⁻¹(τ − b) of its trees, with all that is left of it in the buffers. After kinematics.
    pub(super) fn accelerate(
        &self,
        tree: &Tree,
        v: &[f64],
        tau: &[f64],
        diagonal: &[f64],
        work: &mut TreeWork,
        dv: &mut [f64],
    ) {
        let mut own = std::mem::take(&mut work.four);
        self.outwards(tree, v, work, &mut own);
        self.eliminate(tree, tau, diagonal, &mut own);
        self.respond(tree, &mut own, dv);
        self.store(&own, work);
        work.four = own;
    }

    #[inline(always)]
    fn outwards(&self, tree: &Tree, v: &[f64], work: &TreeWork, own: &mut FourWork) {
        own.nodes.clear();
        let o = Vector3::repeat(Lanes::ZERO);
        let first = self.trees[0].dofs.start;
        let world = Motion { w: o, dw: o, a: same(&-tree.gravity) };
        for (i, node, above) in self.nodes(tree) {
            let four = [0, 1, 2, 3].map(|k| &work.frames[self.trees[k].nodes.start + i]);
            let column = |k: usize| vector(four, |f| [f.R[(0, k)], f.R[(1, k)], f.R[(2, k)]]);
            let frame = Frame {
                R: Matrix3::from_columns(&[column(0), column(1), column(2)]),
                r: vector(four, |f| f.r.into()),
                p: o,
            };
            let above = above.map_or(&world, |above| &own.nodes[above].motion);
            let at = node.v as usize - first;
            let motion =
                node.motion_of(|k| self.of_dof(v, at + k), None::<fn(usize) -> Lanes>, &frame, above);
            let (wrench, inertia) = if node.massless {
                (Wrench { torque: o, force: o }, Articulated::none())
            } else {
                let Body { mass, moment, inertia } = &self.bodies[i];
                let body = Composite {
                    mass: *mass,
                    moment: super::fixed_size::turn(&frame.R, moment),
                    inertia: inertia.turned(&frame.R),
                };
                (body.inertial_wrench(&motion), Articulated::rigid(&body))
            };
            own.nodes.push(FourNode { frame, motion, wrench, inertia });
        }
    }

    #[inline(always)]
    fn eliminate(&self, tree: &Tree, tau: &[f64], diagonal: &[f64], own: &mut FourWork) {
        let first = self.trees[0].dofs.start;
        let FourWork { nodes, pivots } = own;
        let o = Vector3::repeat(Lanes::ZERO);
        let blank = Pivot { U: Wrench { torque: o, force: o }, inv_d: Lanes::ZERO, u: Lanes::ZERO };
        pivots.resize(self.trees[0].dofs.len(), blank);
        for (i, node, above) in self.nodes(tree).rev() {
            let FourNode { frame, wrench: mut p, mut inertia, .. } = nodes[i];
            for k in (0..node.kind.freedoms()).rev() {
                let d = node.v as usize + k - first;
                let (U, s_U) = node.pivot(&inertia, &frame, k);
                let mut weight = s_U + self.of_dof(&tree.armature, d);
                if !diagonal.is_empty() {
                    weight += self.of_dof(diagonal, d);
                }
                let inv_d = Lanes::ONE / weight;
                let u = self.of_dof(tau, d) - node.axis_dot(&frame, k, &p.torque, &p.force);
                let share = u * inv_d;
                p.torque = plus(&p.torque, share, &U.torque);
                p.force = plus(&p.force, share, &U.force);
                pivots[d] = Pivot { U, inv_d, u };
                inertia = inertia.without(&U, inv_d);
            }
            if let Some(above) = above {
                let above = &mut nodes[above];
                above.inertia.add_from(&inertia, &frame.r);
                above.wrench.force = sum(&above.wrench.force, &p.force);
                let torque = plus_cross(&p.torque, &frame.r, &p.force);
                above.wrench.torque = sum(&above.wrench.torque, &torque);
            }
        }
    }

    #[inline(always)]
    fn respond(&self, tree: &Tree, own: &mut FourWork, dv: &mut [f64]) {
        let first = self.trees[0].dofs.start;
        let FourWork { nodes, pivots } = own;
        let o = Vector3::repeat(Lanes::ZERO);
        for (i, node, above) in self.nodes(tree) {
            let frame = nodes[i].frame;
            let (above_dw, above_a) =
                above.map_or((o, o), |above| (nodes[above].motion.dw, nodes[above].motion.a));
            let (mut dw, mut a) = (above_dw, plus_cross(&above_a, &above_dw, &frame.r));
            for k in 0..node.kind.freedoms() {
                let d = node.v as usize + k - first;
                let Pivot { U, inv_d, u } = &pivots[d];
                let x = (*u - dot(&U.torque, &dw) - dot(&U.force, &a)) * *inv_d;
                for (trees, x) in self.trees.iter().zip(x.to_array()) {
                    dv[trees.dofs.start + d] = x;
                }
                node.add_axis(&frame, k, x, &mut dw, &mut a);
            }
            (nodes[i].motion.dw, nodes[i].motion.a) = (dw, a);
        }
    }

    /// Motions and pivots, where they are looked for.
    #[inline(always)]
    fn store(&self, own: &FourWork, work: &mut TreeWork) {
        for (i, FourNode { motion, .. }) in own.nodes.iter().enumerate() {
            let (w, dw, a) = (rows(&motion.w), rows(&motion.dw), rows(&motion.a));
            for (k, trees) in self.trees.iter().enumerate() {
                work.motion[trees.nodes.start + i] = Motion { w: w[k], dw: dw[k], a: a[k] };
            }
        }
        for (d, Pivot { U, inv_d, u }) in own.pivots.iter().enumerate() {
            let (torque, force) = (rows(&U.torque), rows(&U.force));
            let (inv_d, u) = (inv_d.to_array(), u.to_array());
            for (k, trees) in self.trees.iter().enumerate() {
                let U = Wrench { torque: torque[k], force: force[k] };
                work.pivots[trees.dofs.start + d] = Pivot { U, inv_d: inv_d[k], u: u[k] };
            }
        }
    }
}

/// True if two trees have the same joints in the same order.
fn alike(nodes: &[Node], a: &TreeRange, b: &TreeRange) -> bool {
    let place = |node: &Node, trees: &TreeRange| {
        let above = (node.parent != 0).then(|| node.parent as usize - trees.nodes.start);
        (above, node.v as usize - trees.dofs.start)
    };
    let same =
        |(m, n): (&Node, &Node)| m.kind == n.kind && m.massless == n.massless && place(m, a) == place(n, b);
    let of = |trees: &TreeRange| &nodes[trees.nodes.clone()];
    of(a).len() == of(b).len() && of(a).iter().zip(of(b)).all(same)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{random_links, random_state};
    use super::super::{Link, Tree, TreeWork, Wrench};
    use crate::math::Vec3;

    /// The same links nine times over, each time somewhat heavier.
    fn nine_times(links: &[Link]) -> Vec<Link> {
        let n = links.len();
        let one = |(k, link): (usize, &Link)| {
            let (copy, more) = (k / n, 1.0 + 0.1 * (k / n) as f64);
            let mut link = link.clone();
            link.name = format!("{} {copy}", link.name);
            link.parent = link.parent.map(|p| p + copy * n);
            link.mass *= more;
            link.inertia *= more;
            link
        };
        (0..9).flat_map(|_| links).enumerate().map(one).collect()
    }

    #[test]
    fn four_trees_at_a_time_move_as_each_does_by_itself() {
        let mut found = 0;
        for seed in 0..30 {
            let links = nine_times(&random_links(seed, 2 + seed as usize % 7));
            let tree = Tree::new(&links, Vec3::new(0.3, -1.0, -9.0)).unwrap();
            found += usize::from(!tree.four_trees.is_empty());
            let (q, v, tau) = random_state(&tree, seed);
            let diagonal: Vec<f64> = v.iter().map(|v| v * v).collect();
            // Wrenches, if only of zeros, are for the sweeps over all nodes.
            let zeros = vec![Wrench::default(); tree.link_count()];
            let run = |wrenches: &[Wrench]| {
                let (mut work, mut dv) = (TreeWork::new(&tree), vec![0.0; tree.freedoms()]);
                tree.kinematics(&q, &mut work);
                tree.accelerate(&v, &tau, wrenches, &diagonal, &mut work, &mut dv);
                let motion: Vec<[Vec3; 3]> = work.motion.iter().map(|m| [m.w, m.dw, m.a]).collect();
                let pivots: Vec<_> = work.pivots.iter().map(|p| (p.U, p.inv_d, p.u)).collect();
                (dv, motion, pivots)
            };
            assert!(run(&[]) == run(&zeros), "seed {seed}");
        }
        assert!(found > 15, "{found} forests have four trees of one shape");
    }
}
