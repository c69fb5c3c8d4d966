//! Inverse dynamics by the recursive Newton-Euler algorithm: $\tau = M(q)\dot v + b(q, v)$ in two sweeps.
//!
//! Outwards the accelerations of every node (see [`kinematics`](super::kinematics)), with −g at the world, which is
//! gravity for free; and with them force and torque about the node's origin,
//!
//! $$ f = m a + \dot\omega\times k + \omega\times(\omega\times k), \qquad
//!    n = I\dot\omega + \omega\times I\omega + k\times a, \qquad k = m c. $$
//!
//! Inwards they are summed, $n_p \mathrel{+}= n + r\times f$, and a dof with turn s and shift d keeps
//! $\tau = s\cdot n + d\cdot f$.

use nalgebra::Vector3;

use super::fixed_size::{Number, column, cross, dot, plus_cross, scaled, sum, turn, turn_back};
use super::kinematics::vec3;
use super::tree::{Node, Tree};
use super::work::{Frame, Motion, TreeWork, Wrench};
use crate::joints::MotionSubspace;
use crate::math::Vec3;

impl Node {
    /// Force and torque about the origin that the motion of the node's own mass asks for.
    #[inline(always)]
    pub(super) fn inertial_wrench(&self, frame: &Frame, motion: &Motion) -> Wrench {
        let R = &frame.R;
        let Motion { w, dw, a } = motion;
        let k = turn(R, &self.moment);
        let force = plus_cross(&plus_cross(&(self.mass * a), dw, &k), w, &cross(w, &k));
        let (w_N, dw_N) = (turn_back(R, w), turn_back(R, dw));
        let spin = plus_cross(&self.inertia.times(&dw_N), &w_N, &self.inertia.times(&w_N));
        Wrench { torque: plus_cross(&turn(R, &spin), &k, a), force }
    }

    /// Writes the part of a wrench on the node that its dofs feel.
    #[inline(always)]
    pub(super) fn dof_forces(&self, frame: &Frame, wrench: &Wrench, tau: &mut [f64]) {
        let (at, R) = (self.v as usize, &frame.R);
        match self.kind {
            MotionSubspace::Turn => tau[at] = dot(&column(R, 2), &wrench.torque),
            MotionSubspace::Slide => tau[at] = dot(&column(R, 2), &wrench.force),
            MotionSubspace::Screw(pitch) => {
                tau[at] = dot(&column(R, 2), &(wrench.torque + pitch * wrench.force));
            }
            MotionSubspace::Ball => tau[at..at + 3].copy_from_slice(turn_back(R, &wrench.torque).as_slice()),
            MotionSubspace::Shift => tau[at..at + 3].copy_from_slice(turn_back(R, &wrench.force).as_slice()),
        }
    }

    /// s·x of the node's dof number k for a motion or wrench in two parts.
    #[inline(always)]
    pub(super) fn axis_dot<S: Number>(
        &self,
        frame: &Frame<S>,
        k: usize,
        angular: &Vector3<S>,
        linear: &Vector3<S>,
    ) -> S {
        let R = &frame.R;
        match self.kind {
            MotionSubspace::Turn => dot(&column(R, 2), angular),
            MotionSubspace::Slide => dot(&column(R, 2), linear),
            MotionSubspace::Screw(pitch) => dot(&column(R, 2), &sum(angular, &scaled(S::all(pitch), linear))),
            MotionSubspace::Ball => dot(&column(R, k), angular),
            MotionSubspace::Shift => dot(&column(R, k), linear),
        }
    }
}

impl Tree {
    /// τ = M dv/dt + b − Jᵀ wrenches: the forces on the dofs \[N·m or N\] under which the tree accelerates by `dv`
    /// (`None`: not at all, which gives the bias b). `wrenches` act on the links, about their centres of mass, world
    /// axes; none if empty. After [`kinematics`](Self::kinematics).
    pub fn inverse_dynamics(
        &self,
        v: &[f64],
        dv: Option<&[f64]>,
        wrenches: &[Wrench],
        work: &mut TreeWork,
        tau: &mut [f64],
    ) {
        debug_assert_eq!(v.len(), self.freedoms());
        match dv {
            Some(dv) => self.outwards(v, Some(dv), work),
            None => self.outwards(v, None, work),
        }
        self.subtract_wrenches(wrenches, work);
        self.inwards(work, tau);
        if let Some(dv) = dv {
            for ((tau, m), dv) in tau.iter_mut().zip(&self.armature).zip(dv) {
                *tau += m * dv;
            }
        }
    }

    /// b(q, v): Coriolis, centrifugal and gravity forces, τ = M dv/dt + b. After [`kinematics`](Self::kinematics).
    pub fn bias(&self, v: &[f64], work: &mut TreeWork, bias: &mut [f64]) {
        self.inverse_dynamics(v, None, &[], work, bias);
    }

    /// Motion of every node and the wrench its own mass needs, gravity included.
    #[inline(always)]
    pub(super) fn outwards(&self, v: &[f64], dv: Option<&[f64]>, work: &mut TreeWork) {
        let count = self.nodes.len();
        let (frames, motion) = (&work.frames[..count], &mut work.motion[..count]);
        let wrench = &mut work.wrench[..count];
        motion[0] = Motion { w: Vec3::zeros(), dw: Vec3::zeros(), a: -self.gravity };
        for i in 1..count {
            let (node, frame) = (&self.nodes[i], &frames[i]);
            let moved = node.motion(v, dv, frame, &motion[node.parent as usize]);
            motion[i] = moved;
            wrench[i] = if node.massless { Wrench::default() } else { node.inertial_wrench(frame, &moved) };
        }
    }

    /// Sums wrenches towards the world; the dofs keep their parts.
    #[inline(always)]
    pub(super) fn inwards(&self, work: &mut TreeWork, tau: &mut [f64]) {
        let count = self.nodes.len();
        let (frames, wrench) = (&work.frames[..count], &mut work.wrench[..count]);
        for i in (1..count).rev() {
            let (node, frame, own) = (&self.nodes[i], &frames[i], wrench[i]);
            node.dof_forces(frame, &own, tau);
            let above = &mut wrench[node.parent as usize];
            above.force += own.force;
            above.torque += plus_cross(&own.torque, &frame.r, &own.force);
        }
    }

    /// Takes what acts on the links from outside off the wrenches of their nodes.
    pub(super) fn subtract_wrenches(&self, wrenches: &[Wrench], work: &mut TreeWork) {
        for (link, outside) in wrenches.iter().enumerate() {
            let node = self.links[link].node as usize;
            let arm = self.link_center(link, work) - work.frames[node].p;
            let own = &mut work.wrench[node];
            own.force -= outside.force;
            own.torque -= plus_cross(&outside.torque, &arm, &outside.force);
        }
    }

    /// Adds the springs, dampers and gravity compensation of the joints and links to forces on the dofs. Dry friction
    /// and limits are not among them: they are inequalities. After [`kinematics`](Self::kinematics) at the same q.
    pub fn add_passive_forces(&self, q: &[f64], v: &[f64], work: &mut TreeWork, tau: &mut [f64]) {
        if self.has_damping {
            for d in 0..v.len() {
                tau[d] -= self.damping[d] * v[d];
            }
        }
        self.add_undamped_forces(q, work, tau);
    }

    /// The same without dampers.
    pub(super) fn add_undamped_forces(&self, q: &[f64], work: &mut TreeWork, tau: &mut [f64]) {
        if self.has_springs {
            self.each_spring(q, |d, k, stretch| tau[d] -= k * stretch);
        }
        if self.has_compensation {
            work.wrench.iter_mut().for_each(|w| *w = Wrench::default());
            for link in 0..self.links.len() {
                let place = &self.links[link];
                let share = place.gravity_compensation * place.mass;
                if share != 0.0 {
                    let node = place.node as usize;
                    let arm = self.link_center(link, work) - work.frames[node].p;
                    let lift = -share * self.gravity;
                    work.wrench[node].force += lift;
                    work.wrench[node].torque += cross(&arm, &lift);
                }
            }
            let mut lifts = std::mem::take(&mut work.lifts);
            lifts.resize(self.freedoms(), 0.0);
            self.inwards(work, &mut lifts);
            for (tau, lift) in tau.iter_mut().zip(&lifts) {
                *tau += lift;
            }
            work.lifts = lifts;
        }
    }

    /// Energy of the springs ½ k x² \[J\].
    pub fn spring_energy(&self, q: &[f64]) -> f64 {
        let mut sum = 0.0;
        self.each_spring(q, |_, k, stretch| sum += 0.5 * k * stretch * stretch);
        sum
    }

    /// Calls `each` with dof, stiffness and stretch of every spring. A ball is stretched by the rotation vector from
    /// its rest, in link axes.
    fn each_spring(&self, q: &[f64], mut each: impl FnMut(usize, f64, f64)) {
        for node in &self.nodes[1..] {
            let (d, at) = (node.v as usize, node.q as usize);
            let k = self.stiffness[d];
            if k == 0.0 {
                continue;
            }
            match node.kind {
                MotionSubspace::Turn | MotionSubspace::Slide | MotionSubspace::Screw(_) => {
                    each(d, k, q[at] - self.spring_rest[at])
                }
                MotionSubspace::Shift => {
                    let stretch = vec3(q, at) - vec3(&self.spring_rest, at);
                    (0..3).for_each(|j| each(d + j, k, stretch[j]));
                }
                MotionSubspace::Ball => {
                    let stretch = super::integrate::rotation_between(&self.spring_rest, q, at);
                    (0..3).for_each(|j| each(d + j, k, stretch[j]));
                }
            }
        }
    }
}
