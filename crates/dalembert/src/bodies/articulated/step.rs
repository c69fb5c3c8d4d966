//! One step of a tree: $v \leftarrow v + h M^{-1}(\tau - b)$, $q \leftarrow q \oplus h v$, and three schemes beside it.
//!
//! - *Semi-implicit Euler*, as above, of order 1.
//! - *Implicit damping*: forces linear in v and q on single dofs are taken at the end of the step,
//!   $(M + hB + h^2K)\,\Delta v = h(\tau - b - hKv)$. With K = 0 this is MuJoCo's `implicitfast`.
//! - *Runge-Kutta* of order 4 on the manifold (Munthe-Kaas 1998): every stage is $q \oplus u$ from the start, and the
//!   rate of u is $\mathrm{dexp}^{-1}_{-u}\Omega$ for a ball. Without that map, as in MuJoCo, the order is 4 for hinges
//!   and slides, but 2 where a ball or free joint turns.
//! - *Midpoint*, implicit, of order 2: with the velocity y of the middle of the step,
//!   $M\,\tfrac2h(y - v) + b = \tau$ at $q \oplus \tfrac h2 y$ and y; then $q \leftarrow q \oplus hy$,
//!   $v \leftarrow 2y - v$. It is its own inverse under h → −h, so the energy of a tree without friction swings about
//!   its first value instead of drifting. Newton's method, with the derivatives of [`derivatives`](super::derivatives)
//!   in the pattern of the tree, so that an iteration costs O(nv · depth) and a factor.
//!
//! In all of them τ is the sum of the springs, dampers and gravity compensation of the tree and of what the caller adds.

use super::fixed_size::fma;
use super::groups::TreeRange;
use super::kinematics::vec3;
use super::tree::{ForwardDynamics, Tree};
use super::work::{TreeWork, Wrench};
use crate::joints::MotionSubspace;
use crate::math::rotation::dexp_inverse;

/// How a tree is stepped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scheme<'a> {
    /// v += h M⁻¹(τ − b), q ⊕= h v.
    SemiImplicitEuler,
    /// The same with joint damping, and with further forces −B v − K q of single dofs, taken at the end of the step.
    /// The caller's τ holds these forces at the start of the step; here are only their slopes, as of a servo with gains.
    ImplicitDamping {
        /// B of each dof \[N·m·s/rad or N·s/m\], ≥ 0, beside the damping of the joints; none if empty.
        damping: &'a [f64],
        /// K of each dof \[N·m/rad or N/m\], ≥ 0; none if empty.
        stiffness: &'a [f64],
    },
    /// Runge-Kutta of order 4.
    RungeKutta4,
    /// The same as MuJoCo has it: of order 4 for hinges and slides, where the two are equal, of order 2 for balls.
    PlainRungeKutta4,
    /// Implicit midpoint, which keeps the energy of a frictionless tree from drifting.
    Midpoint,
}

/// What a step did.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TreeStepReport {
    /// Newton iterations of the midpoint rule.
    pub iterations: u32,
    /// False if they did not converge; the state is then that of the last iteration.
    pub converged: bool,
}

/// Iterations after which the midpoint rule gives up.
const MAX_ITERATIONS: u32 = 30;
/// Newton stops where the power δ·r of its step, a square of velocities weighted by mass, has fallen by this factor:
/// velocities are then right to 1e-12 of the first step's size. It also stops where the next step is no smaller than
/// the last, which is rounding if it is below `ROUNDING` of the first step and the motion together.
const CONVERGED: f64 = 1e-24;
const ROUNDING: f64 = 1e-12;

impl Tree {
    /// dv/dt under the forces τ on the dofs and wrenches on the links (about their centres of mass, world axes; none if
    /// empty), by the algorithm that [`forward`](Tree::forward) names. Does [`kinematics`](Self::kinematics) too.
    pub fn forward_dynamics(
        &self,
        q: &[f64],
        v: &[f64],
        tau: &[f64],
        wrenches: &[Wrench],
        work: &mut TreeWork,
        dv: &mut [f64],
    ) {
        self.kinematics(q, work);
        self.accelerate_by_choice(v, tau, wrenches, &[], work, dv);
    }

    /// X ← M⁻¹ X for `columns` columns, stored row by row, with what [`accelerate_by_choice`](Self::accelerate_by_choice)
    /// left at the same q.
    pub(crate) fn solve_at_hand(&self, columns: usize, work: &mut TreeWork, x: &mut [f64]) {
        match self.forward {
            ForwardDynamics::Articulated => self.solve_articulated_many(columns, work, x),
            ForwardDynamics::Factored => work.factor.solve_many(self, columns, x),
        }
    }

    /// The same for whole trees: their nodes, and their dofs, which alone `x` has.
    pub(crate) fn solve_at_hand_in(
        &self,
        trees: &TreeRange,
        columns: usize,
        work: &mut TreeWork,
        x: &mut [f64],
    ) {
        let TreeRange { nodes, dofs } = trees.clone();
        match self.forward {
            ForwardDynamics::Articulated => self.solve_articulated_in(nodes, dofs, columns, work, x),
            ForwardDynamics::Factored => work.factor.solve_in(self, dofs, columns, x),
        }
    }

    /// (M + diagonal)⁻¹(τ − b). After [`kinematics`](Self::kinematics).
    pub(crate) fn accelerate_by_choice(
        &self,
        v: &[f64],
        tau: &[f64],
        wrenches: &[Wrench],
        diagonal: &[f64],
        work: &mut TreeWork,
        dv: &mut [f64],
    ) {
        match self.forward {
            ForwardDynamics::Articulated => self.accelerate(v, tau, wrenches, diagonal, work, dv),
            ForwardDynamics::Factored => {
                self.inverse_dynamics(v, None, wrenches, work, dv);
                for d in 0..dv.len() {
                    dv[d] = tau[d] - dv[d];
                }
                self.mass_matrix(work);
                // The factor may overwrite M: the next step makes it anew.
                std::mem::swap(&mut work.mass, &mut work.factor);
                for (d, x) in diagonal.iter().enumerate() {
                    work.factor.entries[self.row[d + 1] - 1] += x;
                }
                work.factor.factor(self);
                work.factor.solve(self, dv);
            }
        }
    }

    /// One step of h seconds. `forces` adds to the forces on the dofs at (q, v) \[N·m or N\]; it is called once, by
    /// Runge-Kutta four times, by the midpoint rule once per iteration.
    pub fn step(
        &self,
        scheme: Scheme<'_>,
        q: &mut [f64],
        v: &mut [f64],
        h: f64,
        work: &mut TreeWork,
        mut forces: impl FnMut(&[f64], &[f64], &mut [f64]),
    ) -> TreeStepReport {
        let mut buffers = std::mem::take(&mut work.step_buffers);
        buffers.fit(self);
        let report = match scheme {
            Scheme::SemiImplicitEuler => self.euler(q, v, h, None, work, &mut buffers, &mut forces),
            Scheme::ImplicitDamping { damping, stiffness } => {
                self.euler(q, v, h, Some((damping, stiffness)), work, &mut buffers, &mut forces)
            }
            Scheme::RungeKutta4 => self.runge_kutta(q, v, h, true, work, &mut buffers, &mut forces),
            Scheme::PlainRungeKutta4 => self.runge_kutta(q, v, h, false, work, &mut buffers, &mut forces),
            Scheme::Midpoint => self.midpoint(q, v, h, work, &mut buffers, &mut forces),
        };
        work.step_buffers = buffers;
        report
    }

    /// τ of the tree itself and of the caller. Does [`kinematics`](Self::kinematics).
    #[inline(always)]
    fn all_forces(
        &self,
        q: &[f64],
        v: &[f64],
        work: &mut TreeWork,
        tau: &mut [f64],
        forces: &mut impl FnMut(&[f64], &[f64], &mut [f64]),
    ) {
        self.kinematics(q, work);
        tau.fill(0.0);
        self.add_passive_forces(q, v, work, tau);
        forces(q, v, tau);
    }

    #[inline(always)]
    fn euler(
        &self,
        q: &mut [f64],
        v: &mut [f64],
        h: f64,
        implicit: Option<(&[f64], &[f64])>,
        work: &mut TreeWork,
        buffers: &mut StepBuffers,
        forces: &mut impl FnMut(&[f64], &[f64], &mut [f64]),
    ) -> TreeStepReport {
        let StepBuffers { tau, dv, diagonal, .. } = buffers;
        self.all_forces(q, v, work, tau, forces);
        match implicit {
            None => self.accelerate_by_choice(v, tau, &[], &[], work, dv),
            Some((damping, stiffness)) => {
                for d in 0..diagonal.len() {
                    let k = stiffness.get(d).copied().unwrap_or(0.0);
                    let b = self.damping[d] + damping.get(d).copied().unwrap_or(0.0);
                    diagonal[d] = h * (b + h * k);
                    tau[d] -= h * k * v[d];
                }
                self.accelerate_by_choice(v, tau, &[], diagonal, work, dv);
            }
        }
        for (v, dv) in v.iter_mut().zip(&*dv) {
            *v = fma(h, *dv, *v);
        }
        self.integrate(q, v, h);
        TreeStepReport { iterations: 0, converged: true }
    }

    fn runge_kutta(
        &self,
        q: &mut [f64],
        v: &mut [f64],
        h: f64,
        mapped: bool,
        work: &mut TreeWork,
        buffers: &mut StepBuffers,
        forces: &mut impl FnMut(&[f64], &[f64], &mut [f64]),
    ) -> TreeStepReport {
        // The rate of u of a stage is kept in `diagonal`; before, it is u of the stage itself.
        let StepBuffers { tau, dv, diagonal: u, q_stage, v_stage, v_sum, dv_sum } = buffers;
        q_stage.copy_from_slice(q);
        v_stage.copy_from_slice(v);
        u.fill(0.0);
        v_sum.fill(0.0);
        dv_sum.fill(0.0);
        for (weight, next) in [(1.0, 0.5), (2.0, 0.5), (2.0, 1.0), (1.0, 0.0)] {
            self.all_forces(q_stage, v_stage, work, tau, forces);
            self.accelerate_by_choice(v_stage, tau, &[], &[], work, dv);
            if mapped {
                self.rate_of_turn(v_stage, u);
            } else {
                u.copy_from_slice(v_stage);
            }
            for d in 0..dv.len() {
                v_sum[d] += weight / 6.0 * u[d];
                dv_sum[d] += weight / 6.0 * dv[d];
            }
            if next > 0.0 {
                q_stage.copy_from_slice(q);
                self.integrate(q_stage, u, next * h);
                for d in 0..dv.len() {
                    v_stage[d] = v[d] + next * h * dv[d];
                    u[d] *= next * h;
                }
            }
        }
        self.integrate(q, v_sum, h);
        for d in 0..v.len() {
            v[d] += h * dv_sum[d];
        }
        TreeStepReport { iterations: 0, converged: true }
    }

    /// u ← its own rate at q ⊕ u under the velocity v: dexp⁻¹ of the spin of a ball, v elsewhere.
    pub(crate) fn rate_of_turn(&self, v: &[f64], u: &mut [f64]) {
        for node in &self.nodes[1..] {
            let d = node.v as usize;
            match node.kind {
                MotionSubspace::Turn | MotionSubspace::Slide | MotionSubspace::Screw(_) => u[d] = v[d],
                MotionSubspace::Shift => u[d..d + 3].copy_from_slice(&v[d..d + 3]),
                MotionSubspace::Ball => {
                    let rate = dexp_inverse(&-vec3(u, d), &vec3(v, d));
                    u[d..d + 3].copy_from_slice(rate.as_slice());
                }
            }
        }
    }

    fn midpoint(
        &self,
        q: &mut [f64],
        v: &mut [f64],
        h: f64,
        work: &mut TreeWork,
        buffers: &mut StepBuffers,
        forces: &mut impl FnMut(&[f64], &[f64], &mut [f64]),
    ) -> TreeStepReport {
        // y: v_stage; its rate 2 (y − v)/h: dv_sum; q in the middle: q_stage; the residual: dv.
        let StepBuffers { tau, dv: residual, q_stage, v_stage: y, v_sum: delta, dv_sum: rate, .. } = buffers;
        let mut jacobian = std::mem::take(&mut work.jacobian);
        let mut by_v = std::mem::take(&mut work.jacobian_v);
        y.copy_from_slice(v);
        let mut report = TreeStepReport { iterations: 0, converged: false };
        let (mut first, mut scale, mut last) = (0.0, 0.0, f64::INFINITY);
        let mut fresh = true;
        while report.iterations < MAX_ITERATIONS {
            report.iterations += 1;
            q_stage.copy_from_slice(q);
            self.integrate(q_stage, y, 0.5 * h);
            for d in 0..rate.len() {
                rate[d] = 2.0 / h * (y[d] - v[d]);
            }
            self.all_forces(q_stage, y, work, tau, forces);
            self.inverse_dynamics(y, Some(rate), &[], work, residual);
            for d in 0..residual.len() {
                residual[d] -= tau[d];
            }
            if fresh {
                // (2/h) M + ∂τ/∂v + (h/2) ∂τ/∂q, springs and dampers on the diagonal.
                self.inverse_dynamics_derivatives(y, rate, work, &mut jacobian, &mut by_v);
                self.mass_matrix(work);
                for (at, M) in work.mass.entries.iter().enumerate() {
                    let both = 2.0 / h * M;
                    jacobian.lower[at] = fma(0.5 * h, jacobian.lower[at], by_v.lower[at]) + both;
                    jacobian.upper[at] = fma(0.5 * h, jacobian.upper[at], by_v.upper[at]) + both;
                }
                for d in 0..residual.len() {
                    jacobian.add_diagonal(self, d, 0.5 * h * self.stiffness[d] + self.damping[d]);
                }
                jacobian.factor(self);
            }
            delta.copy_from_slice(residual);
            jacobian.solve(self, delta);
            let mut power = 0.0;
            for d in 0..delta.len() {
                y[d] -= delta[d];
                power = fma(delta[d], residual[d], power);
            }
            let power = power.abs();
            if report.iterations == 1 {
                work.mass.times(self, y, delta);
                let motion = 2.0 / h.abs() * y.iter().zip(&*delta).map(|(y, p)| y * p).sum::<f64>();
                (first, scale) = (power, power + motion);
            }
            if power <= CONVERGED * first || (power >= 0.25 * last && power <= ROUNDING * scale) {
                report.converged = true;
                break;
            }
            if !power.is_finite() {
                break;
            }
            // An old Jacobian serves as long as an iteration gains a digit.
            fresh = power > 1e-2 * last;
            last = power;
        }
        self.integrate(q, y, h);
        for d in 0..v.len() {
            v[d] = 2.0 * y[d] - v[d];
        }
        (work.jacobian, work.jacobian_v) = (jacobian, by_v);
        report
    }
}

/// Vectors of a step.
#[derive(Debug, Clone, Default)]
pub(super) struct StepBuffers {
    tau: Vec<f64>,
    dv: Vec<f64>,
    diagonal: Vec<f64>,
    q_stage: Vec<f64>,
    v_stage: Vec<f64>,
    v_sum: Vec<f64>,
    dv_sum: Vec<f64>,
}

impl StepBuffers {
    fn fit(&mut self, tree: &Tree) {
        let Self { tau, dv, diagonal, q_stage, v_stage, v_sum, dv_sum } = self;
        for buffer in [tau, dv, diagonal, v_stage, v_sum, dv_sum] {
            buffer.resize(tree.freedoms(), 0.0);
        }
        q_stage.resize(tree.coordinates(), 0.0);
    }
}
