//! Forward dynamics by the articulated body algorithm: $\dot v = M^{-1}(\tau - b)$ in a time linear in the links.
//!
//! First the bias wrenches p of a tree that does not accelerate (outward sweep of [`rnea`](super::rnea)). What is left
//! is linear: $(n, f) = I^A(\dot\omega, a) + p$ with the inertia $I^A = (A, B; B^T, C)$ of a node and all that hangs
//! on it, joints free to give way. Inwards each dof with axis s is eliminated,
//!
//! $$ U = I^A s,\quad D = s\cdot U + \text{armature},\quad u = \tau - s\cdot p,\quad
//!    I^A \leftarrow I^A - U U^T/D,\quad p \leftarrow p + U u/D, $$
//!
//! a joint of three freedoms as three, and the rest is moved to the parent's origin: with r from there,
//! $C' = C$, $B' = B + \[r\]C$, $A' = A + \[r\]B^T - B'\[r\]$. Outwards $\dot v = (u - U\cdot a)/D$.
//!
//! The elimination of A depends on q alone: it serves any number of right-hand sides, like a factor of M.

use std::ops::Range;

use nalgebra::{Matrix3, Vector3};

use super::fixed_size::{Number, Sym3, column, cross, dot, fma, plus, plus_cross, scaled, sum, turn};
use super::tree::{Node, Tree};
use super::work::{Articulated, Composite, Frame, Motion, Pivot, TreeWork, Wrench};
use crate::joints::MotionSubspace;
use crate::math::Vec3;

/// Right-hand sides that are solved side by side.
pub(super) const LANES: usize = 8;

/// y ← y + s x in every lane.
#[inline(always)]
fn add_lanes(y: &mut [f64; LANES], s: f64, x: &[f64; LANES]) {
    for l in 0..LANES {
        y[l] = fma(s, x[l], y[l]);
    }
}

impl<S: Number> Composite<S> {
    /// Force and torque about the origin that a motion of the body asks for, as in [`rnea`](super::rnea).
    #[inline(always)]
    pub(super) fn inertial_wrench(&self, motion: &Motion<S>) -> Wrench<S> {
        let (Motion { w, dw, a }, k) = (motion, &self.moment);
        let force = plus_cross(&plus_cross(&scaled(self.mass, a), dw, k), w, &cross(w, k));
        let spin = plus_cross(&self.inertia.times(dw), w, &self.inertia.times(w));
        Wrench { torque: plus_cross(&spin, k, a), force }
    }
}

impl<S: Number> Articulated<S> {
    /// Of no mass.
    #[inline(always)]
    pub(super) fn none() -> Self {
        let z = S::all(0.0);
        let o = Sym3 { xx: z, xy: z, xz: z, yy: z, yz: z, zz: z };
        Self { A: o, B: Matrix3::new(z, z, z, z, z, z, z, z, z), C: o }
    }

    /// A rigid body: A = I, B = \[k\]×, C = m 1.
    #[inline(always)]
    pub(super) fn rigid(body: &Composite<S>) -> Self {
        let (m, k, o) = (body.mass, &body.moment, S::all(0.0));
        Self {
            A: body.inertia,
            B: Matrix3::new(o, -k.z, k.y, k.z, o, -k.x, -k.y, k.x, o),
            C: Sym3 { xx: m, xy: o, xz: o, yy: m, yz: o, zz: m },
        }
    }

    /// I s for a turn s.
    #[inline(always)]
    fn times_turn(&self, s: &Vector3<S>) -> Wrench<S> {
        let B = &self.B;
        let force = Vector3::new(
            fma(B.m11, s.x, fma(B.m21, s.y, B.m31 * s.z)),
            fma(B.m12, s.x, fma(B.m22, s.y, B.m32 * s.z)),
            fma(B.m13, s.x, fma(B.m23, s.y, B.m33 * s.z)),
        );
        Wrench { torque: self.A.times(s), force }
    }

    /// I s for a shift s.
    #[inline(always)]
    fn times_shift(&self, s: &Vector3<S>) -> Wrench<S> {
        Wrench { torque: turn(&self.B, s), force: self.C.times(s) }
    }

    /// I − U Uᵀ/D.
    #[inline(always)]
    pub(super) fn without(&self, U: &Wrench<S>, inv_d: S) -> Self {
        let (n, f) = (&U.torque, &U.force);
        let t = scaled(-inv_d, n);
        let B = &self.B;
        Self {
            A: self.A.plus_outer(-inv_d, n),
            B: Matrix3::new(
                fma(t.x, f.x, B.m11),
                fma(t.x, f.y, B.m12),
                fma(t.x, f.z, B.m13),
                fma(t.y, f.x, B.m21),
                fma(t.y, f.y, B.m22),
                fma(t.y, f.z, B.m23),
                fma(t.z, f.x, B.m31),
                fma(t.z, f.y, B.m32),
                fma(t.z, f.z, B.m33),
            ),
            C: self.C.plus_outer(-inv_d, f),
        }
    }

    /// Adds an inertia whose reference point is at r from the own.
    #[inline(always)]
    pub(super) fn add_from(&mut self, o: &Self, r: &Vector3<S>) {
        let C = &o.C;
        // The columns of B' = B + [r]C.
        let b_x = plus_cross(&column(&o.B, 0), r, &Vector3::new(C.xx, C.xy, C.xz));
        let b_y = plus_cross(&column(&o.B, 1), r, &Vector3::new(C.xy, C.yy, C.yz));
        let b_z = plus_cross(&column(&o.B, 2), r, &Vector3::new(C.xz, C.yz, C.zz));
        // [r]Bᵀ: its column j is r × (row j of B). B'[r]: its columns are b_y r_z − b_z r_y and so on.
        let row = |k: usize| Vector3::new(o.B[(k, 0)], o.B[(k, 1)], o.B[(k, 2)]);
        let (p, q, s) = (row(0), row(1), row(2));
        let A = &o.A;
        let xx = A.xx + fma(r.y, p.z, -(r.z * p.y)) - fma(b_y.x, r.z, -(b_z.x * r.y));
        let xy = A.xy + fma(r.y, q.z, -(r.z * q.y)) - fma(b_z.x, r.x, -(b_x.x * r.z));
        let xz = A.xz + fma(r.y, s.z, -(r.z * s.y)) - fma(b_x.x, r.y, -(b_y.x * r.x));
        let yy = A.yy + fma(r.z, q.x, -(r.x * q.z)) - fma(b_z.y, r.x, -(b_x.y * r.z));
        let yz = A.yz + fma(r.z, s.x, -(r.x * s.z)) - fma(b_x.y, r.y, -(b_y.y * r.x));
        let zz = A.zz + fma(r.x, s.y, -(r.y * s.x)) - fma(b_x.z, r.y, -(b_y.z * r.x));
        self.A = self.A.plus(&Sym3 { xx, xy, xz, yy, yz, zz });
        let B = [b_x, b_y, b_z];
        self.B = Matrix3::from_fn(|i, j| self.B[(i, j)] + B[j][i]);
        self.C = self.C.plus(C);
    }
}

impl Node {
    /// U = I s of dof number k and s·U.
    #[inline(always)]
    pub(super) fn pivot<S: Number>(
        &self,
        inertia: &Articulated<S>,
        frame: &Frame<S>,
        k: usize,
    ) -> (Wrench<S>, S) {
        let R = &frame.R;
        match self.kind {
            MotionSubspace::Turn => {
                let z = column(R, 2);
                let U = inertia.times_turn(&z);
                (U, dot(&z, &U.torque))
            }
            MotionSubspace::Slide => {
                let z = column(R, 2);
                let U = inertia.times_shift(&z);
                (U, dot(&z, &U.force))
            }
            MotionSubspace::Ball => {
                let z = column(R, k);
                let U = inertia.times_turn(&z);
                (U, dot(&z, &U.torque))
            }
            MotionSubspace::Shift => {
                let z = column(R, k);
                let U = inertia.times_shift(&z);
                (U, dot(&z, &U.force))
            }
            MotionSubspace::Screw(pitch) => {
                let z = column(R, 2);
                let pitch = S::all(pitch);
                let (a, b) = (inertia.times_turn(&z), inertia.times_shift(&scaled(pitch, &z)));
                let U = Wrench { torque: sum(&a.torque, &b.torque), force: sum(&a.force, &b.force) };
                (U, dot(&z, &sum(&U.torque, &scaled(pitch, &U.force))))
            }
        }
    }

    /// Adds s x of dof number k to an acceleration.
    #[inline(always)]
    pub(super) fn add_axis<S: Number>(
        &self,
        frame: &Frame<S>,
        k: usize,
        x: S,
        dw: &mut Vector3<S>,
        a: &mut Vector3<S>,
    ) {
        let R = &frame.R;
        match self.kind {
            MotionSubspace::Turn => *dw = plus(dw, x, &column(R, 2)),
            MotionSubspace::Slide => *a = plus(a, x, &column(R, 2)),
            MotionSubspace::Ball => *dw = plus(dw, x, &column(R, k)),
            MotionSubspace::Shift => *a = plus(a, x, &column(R, k)),
            MotionSubspace::Screw(pitch) => {
                *dw = plus(dw, x, &column(R, 2));
                *a = plus(a, S::all(pitch) * x, &column(R, 2));
            }
        }
    }
}

impl Tree {
    /// dv/dt under the forces τ on the dofs and wrenches on the links (about their centres of mass, world axes; none
    /// if empty), by the articulated body algorithm. Does [`kinematics`](Self::kinematics) too.
    pub fn forward_dynamics_aba(
        &self,
        q: &[f64],
        v: &[f64],
        tau: &[f64],
        wrenches: &[Wrench],
        work: &mut TreeWork,
        dv: &mut [f64],
    ) {
        self.kinematics(q, work);
        self.accelerate(v, tau, wrenches, &[], work, dv);
    }

    /// (M + diag)⁻¹(τ − b) by the articulated body algorithm; `diagonal` is zero if empty. After
    /// [`kinematics`](Self::kinematics).
    pub(super) fn accelerate(
        &self,
        v: &[f64],
        tau: &[f64],
        wrenches: &[Wrench],
        diagonal: &[f64],
        work: &mut TreeWork,
        dv: &mut [f64],
    ) {
        if wrenches.is_empty() {
            work.motion[0] = Motion { w: Vec3::zeros(), dw: Vec3::zeros(), a: Vec3::zeros() };
            self.four_trees.iter().for_each(|four| four.accelerate(self, v, tau, diagonal, work, dv));
            for nodes in &self.single_nodes {
                self.accelerate_in(nodes.clone(), v, tau, &[], diagonal, work, dv);
            }
        } else {
            self.accelerate_in(1..self.nodes.len(), v, tau, wrenches, diagonal, work, dv);
        }
    }

    /// The same for whole trees, given by their nodes; wrenches act on any of them.
    #[inline(always)]
    fn accelerate_in(
        &self,
        nodes: Range<usize>,
        v: &[f64],
        tau: &[f64],
        wrenches: &[Wrench],
        diagonal: &[f64],
        work: &mut TreeWork,
        dv: &mut [f64],
    ) {
        self.outwards_with_inertia(nodes.clone(), v, work);
        self.subtract_wrenches(wrenches, work);
        self.eliminate::<true>(nodes.clone(), tau, diagonal, work);
        self.respond(nodes, work, dv);
    }

    /// Eliminates the inertia of the tree (plus `diagonal`, if it is not empty), so that
    /// [`solve_articulated_many`](Self::solve_articulated_many) can follow. After [`kinematics`](Self::kinematics).
    pub fn articulate(&self, diagonal: &[f64], work: &mut TreeWork) {
        self.rigid_inertias(work);
        self.eliminate::<false>(1..self.nodes.len(), &[], diagonal, work);
    }

    /// X ← M⁻¹ X for a matrix of `columns` columns, stored row by row: eight columns at a time, so that a column costs
    /// a time linear in the dofs and the loops fill vector registers. After [`articulate`](Self::articulate).
    pub fn solve_articulated_many(&self, columns: usize, work: &mut TreeWork, x: &mut [f64]) {
        self.solve_articulated_in(1..self.nodes.len(), 0..self.freedoms(), columns, work, x);
    }

    /// The same for whole trees: their nodes, and their dofs, which alone `x` has.
    pub(super) fn solve_articulated_in(
        &self,
        nodes: Range<usize>,
        dofs: Range<usize>,
        columns: usize,
        work: &mut TreeWork,
        x: &mut [f64],
    ) {
        work.lanes.resize(self.nodes.len(), [[0.0; LANES]; 6]);
        work.lane_u.resize(self.freedoms(), [0.0; LANES]);
        for start in (0..columns).step_by(LANES) {
            let width = LANES.min(columns - start);
            for (d, u) in work.lane_u[dofs.clone()].iter_mut().enumerate() {
                let at = d * columns + start;
                u[..width].copy_from_slice(&x[at..at + width]);
            }
            self.sweep_lanes(nodes.clone(), work);
            for (d, u) in work.lane_u[dofs.clone()].iter().enumerate() {
                let at = d * columns + start;
                x[at..at + width].copy_from_slice(&u[..width]);
            }
        }
    }

    /// The two sweeps of [`solve_articulated_many`](Self::solve_articulated_many) for all lanes.
    fn sweep_lanes(&self, nodes: Range<usize>, work: &mut TreeWork) {
        let (frames, pivots, lanes) = (&work.frames, &work.pivots, &mut work.lanes);
        lanes[nodes.clone()].fill([[0.0; LANES]; 6]);
        for i in nodes.clone().rev() {
            let (node, frame) = (&self.nodes[i], &frames[i]);
            let [mut n_x, mut n_y, mut n_z, mut f_x, mut f_y, mut f_z] = lanes[i];
            for k in (0..node.kind.freedoms()).rev() {
                let d = node.v as usize + k;
                let (s, shift) = node.axis(&frame.R, k);
                let Pivot { U, inv_d, .. } = &pivots[d];
                let mut u = work.lane_u[d];
                add_lanes(&mut u, -s.x, &n_x);
                add_lanes(&mut u, -s.y, &n_y);
                add_lanes(&mut u, -s.z, &n_z);
                add_lanes(&mut u, -shift.x, &f_x);
                add_lanes(&mut u, -shift.y, &f_y);
                add_lanes(&mut u, -shift.z, &f_z);
                add_lanes(&mut n_x, inv_d * U.torque.x, &u);
                add_lanes(&mut n_y, inv_d * U.torque.y, &u);
                add_lanes(&mut n_z, inv_d * U.torque.z, &u);
                add_lanes(&mut f_x, inv_d * U.force.x, &u);
                add_lanes(&mut f_y, inv_d * U.force.y, &u);
                add_lanes(&mut f_z, inv_d * U.force.z, &u);
                work.lane_u[d] = u;
            }
            let r = &frame.r;
            add_lanes(&mut n_x, r.y, &f_z);
            add_lanes(&mut n_x, -r.z, &f_y);
            add_lanes(&mut n_y, r.z, &f_x);
            add_lanes(&mut n_y, -r.x, &f_z);
            add_lanes(&mut n_z, r.x, &f_y);
            add_lanes(&mut n_z, -r.y, &f_x);
            let above = &mut lanes[node.parent as usize];
            for (sum, part) in above.iter_mut().zip([&n_x, &n_y, &n_z, &f_x, &f_y, &f_z]) {
                add_lanes(sum, 1.0, part);
            }
        }
        lanes[0] = [[0.0; LANES]; 6];
        for i in nodes {
            let (node, frame) = (&self.nodes[i], &frames[i]);
            let [mut w_x, mut w_y, mut w_z, mut a_x, mut a_y, mut a_z] = lanes[node.parent as usize];
            let r = &frame.r;
            add_lanes(&mut a_x, r.z, &w_y);
            add_lanes(&mut a_x, -r.y, &w_z);
            add_lanes(&mut a_y, r.x, &w_z);
            add_lanes(&mut a_y, -r.z, &w_x);
            add_lanes(&mut a_z, r.y, &w_x);
            add_lanes(&mut a_z, -r.x, &w_y);
            for k in 0..node.kind.freedoms() {
                let d = node.v as usize + k;
                let (s, shift) = node.axis(&frame.R, k);
                let Pivot { U, inv_d, .. } = &pivots[d];
                let mut u = work.lane_u[d];
                add_lanes(&mut u, -U.torque.x, &w_x);
                add_lanes(&mut u, -U.torque.y, &w_y);
                add_lanes(&mut u, -U.torque.z, &w_z);
                add_lanes(&mut u, -U.force.x, &a_x);
                add_lanes(&mut u, -U.force.y, &a_y);
                add_lanes(&mut u, -U.force.z, &a_z);
                u.iter_mut().for_each(|u| *u *= inv_d);
                add_lanes(&mut w_x, s.x, &u);
                add_lanes(&mut w_y, s.y, &u);
                add_lanes(&mut w_z, s.z, &u);
                add_lanes(&mut a_x, shift.x, &u);
                add_lanes(&mut a_y, shift.y, &u);
                add_lanes(&mut a_z, shift.z, &u);
                work.lane_u[d] = u;
            }
            lanes[i] = [w_x, w_y, w_z, a_x, a_y, a_z];
        }
    }

    /// [`outwards`](Self::outwards) without accelerations, and the inertias in world axes, which give the wrenches too.
    #[inline(always)]
    fn outwards_with_inertia(&self, nodes: Range<usize>, v: &[f64], work: &mut TreeWork) {
        let count = self.nodes.len();
        let (frames, motion) = (&work.frames[..count], &mut work.motion[..count]);
        let (wrench, articulated) = (&mut work.wrench[..count], &mut work.articulated[..count]);
        motion[0] = Motion { w: Vec3::zeros(), dw: Vec3::zeros(), a: -self.gravity };
        for i in nodes {
            let (node, frame) = (&self.nodes[i], &frames[i]);
            let moved = node.motion(v, None, frame, &motion[node.parent as usize]);
            motion[i] = moved;
            if node.massless {
                (wrench[i], articulated[i]) = (Wrench::default(), Articulated::none());
            } else {
                let body = node.composite(&frame.R);
                (wrench[i], articulated[i]) = (body.inertial_wrench(&moved), Articulated::rigid(&body));
            }
        }
    }

    fn rigid_inertias(&self, work: &mut TreeWork) {
        let count = self.nodes.len();
        let (frames, articulated) = (&work.frames[..count], &mut work.articulated[..count]);
        for i in 1..count {
            let node = &self.nodes[i];
            articulated[i] = if node.massless {
                Articulated::none()
            } else {
                Articulated::rigid(&node.composite(&frames[i].R))
            };
        }
    }

    /// Inward sweep: eliminates every dof, with right-hand side if `SOLVE`.
    #[inline(always)]
    fn eliminate<const SOLVE: bool>(
        &self,
        nodes: Range<usize>,
        tau: &[f64],
        diagonal: &[f64],
        work: &mut TreeWork,
    ) {
        let count = self.nodes.len();
        let (frames, wrench) = (&work.frames[..count], &mut work.wrench[..count]);
        let articulated = &mut work.articulated[..count];
        for i in nodes.rev() {
            let (node, frame) = (&self.nodes[i], &frames[i]);
            let (mut inertia, mut p) = (articulated[i], wrench[i]);
            for k in (0..node.kind.freedoms()).rev() {
                let d = node.v as usize + k;
                let (U, s_U) = node.pivot(&inertia, frame, k);
                let extra = diagonal.get(d).copied().unwrap_or(0.0);
                let inv_d = 1.0 / (s_U + self.armature[d] + extra);
                let mut u = 0.0;
                if SOLVE {
                    u = tau[d] - node.axis_dot(frame, k, &p.torque, &p.force);
                    let share = u * inv_d;
                    p.torque = plus(&p.torque, share, &U.torque);
                    p.force = plus(&p.force, share, &U.force);
                }
                work.pivots[d] = Pivot { U, inv_d, u };
                inertia = inertia.without(&U, inv_d);
            }
            let parent = node.parent as usize;
            if parent != 0 {
                articulated[parent].add_from(&inertia, &frame.r);
                if SOLVE {
                    let above = &mut wrench[parent];
                    above.force += p.force;
                    above.torque += plus_cross(&p.torque, &frame.r, &p.force);
                }
            }
        }
    }

    /// Outward sweep: dv = (u − U·a)/D, node by node.
    #[inline(always)]
    fn respond(&self, nodes: Range<usize>, work: &mut TreeWork, dv: &mut [f64]) {
        let count = self.nodes.len();
        let (frames, motion) = (&work.frames[..count], &mut work.motion[..count]);
        (motion[0].dw, motion[0].a) = (Vec3::zeros(), Vec3::zeros());
        for i in nodes {
            let (node, frame) = (&self.nodes[i], &frames[i]);
            let above = &motion[node.parent as usize];
            let (mut dw, mut a) = (above.dw, plus_cross(&above.a, &above.dw, &frame.r));
            for k in 0..node.kind.freedoms() {
                let d = node.v as usize + k;
                let Pivot { U, inv_d, u } = &work.pivots[d];
                let x = (u - dot(&U.torque, &dw) - dot(&U.force, &a)) * inv_d;
                dv[d] = x;
                node.add_axis(frame, k, x, &mut dw, &mut a);
            }
            (motion[i].dw, motion[i].a) = (dw, a);
        }
    }

    /// Wrenches of a tree at rest without gravity whose dofs accelerate by x.
    pub(super) fn response(&self, x: &[f64], work: &mut TreeWork) {
        let o = Vec3::zeros();
        work.motion[0] = Motion { w: o, dw: o, a: o };
        for i in 1..self.nodes.len() {
            let (node, frame) = (&self.nodes[i], &work.frames[i]);
            let above = &work.motion[node.parent as usize];
            let (mut dw, mut a) = (above.dw, plus_cross(&above.a, &above.dw, &frame.r));
            for k in 0..node.kind.freedoms() {
                node.add_axis(frame, k, x[node.v as usize + k], &mut dw, &mut a);
            }
            work.motion[i] = Motion { w: o, dw, a };
            let k = turn(&frame.R, &node.moment);
            let spin = turn(&frame.R, &node.inertia.times(&super::fixed_size::turn_back(&frame.R, &dw)));
            work.wrench[i] =
                Wrench { torque: plus_cross(&spin, &k, &a), force: node.mass * a + cross(&dw, &k) };
        }
    }
}
