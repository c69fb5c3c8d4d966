//! Derivatives of inverse and forward dynamics in the tangent space of q:
//! $\partial\tau/\partial q$, $\partial\tau/\partial v$ and $\partial\dot v/\partial x = -M^{-1}\,\partial\tau/\partial x$.
//!
//! In spatial vectors about one fixed point (the root's origin), with S the axis of a dof, v and a the spatial velocity
//! and acceleration of the node *before* its joint, $\dot\Psi = v\times S$, $\ddot\Psi = a\times S + v\times\dot\Psi$
//! and $\dot S = v_{\text{own}}\times S$ (Singh, Russell, Wensing 2022, eqs. 37 to 40): for j on the path of i,
//!
//! $$ \frac{\partial\tau_i}{\partial q_j} = S_i^T(2B_i\dot\Psi_j + I_i\ddot\Psi_j), \qquad
//!    \frac{\partial\tau_j}{\partial q_i} = S_j^T(2B_i\dot\Psi_i + I_i\ddot\Psi_i + S_i\times^* f_i), $$
//! $$ \frac{\partial\tau_i}{\partial v_j} = S_i^T(2B_i S_j + I_i(\dot\Psi_j + \dot S_j)), \qquad
//!    \frac{\partial\tau_j}{\partial v_i} = S_j^T(2B_i S_i + I_i(\dot\Psi_i + \dot S_i)), $$
//!
//! where I, B and f are sums over everything behind the node. For one rigid body with momentum f_h, first moment k and
//! inertia I the matrix 2B is nearly empty: it sends (ω', u') to the torque $N\omega'$ and the force
//! $2\omega'\times f_h$, with $N = \[\omega\]I - I\[\omega\] - \[I\omega\] - 2\[k\]\[u\]$. So twelve numbers are summed,
//! not 36.

use super::fixed_size::{cross, dot, fma, plus, plus_cross, turn};
use super::ltdl::TreeSquareMatrix;
use super::tree::Tree;
use super::work::{Composite, TreeWork};
use crate::math::{Mat3, Vec3, skew};

/// A motion or a wrench about the root's origin: angular and linear part, or torque and force.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spatial {
    a: Vec3,
    l: Vec3,
}

impl Spatial {
    const ZERO: Self = Self { a: Vec3::new(0.0, 0.0, 0.0), l: Vec3::new(0.0, 0.0, 0.0) };

    /// v × m for motions.
    #[inline(always)]
    fn cross(&self, m: &Self) -> Self {
        Self { a: cross(&self.a, &m.a), l: plus_cross(&cross(&self.a, &m.l), &self.l, &m.a) }
    }

    /// v ×* f for a motion and a wrench.
    #[inline(always)]
    fn cross_wrench(&self, f: &Self) -> Self {
        Self { a: plus_cross(&cross(&self.a, &f.a), &self.l, &f.l), l: cross(&self.a, &f.l) }
    }

    #[inline(always)]
    fn plus(&self, o: &Self) -> Self {
        Self { a: self.a + o.a, l: self.l + o.l }
    }

    #[inline(always)]
    fn dot(&self, o: &Self) -> f64 {
        dot(&self.a, &o.a) + dot(&self.l, &o.l)
    }
}

/// Sums over everything behind a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Behind {
    body: Composite,
    /// N of 2B.
    N: Mat3,
    /// Momentum of 2B.
    momentum: Vec3,
    /// Wrench.
    f: Spatial,
    /// Velocity and acceleration of the node itself.
    v: Spatial,
    acceleration: Spatial,
}

impl Behind {
    const ZERO: Self = Self {
        body: Composite {
            mass: 0.0,
            moment: Vec3::new(0.0, 0.0, 0.0),
            inertia: super::fixed_size::Sym3 { xx: 0.0, xy: 0.0, xz: 0.0, yy: 0.0, yz: 0.0, zz: 0.0 },
        },
        N: Mat3::new(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        momentum: Vec3::new(0.0, 0.0, 0.0),
        f: Spatial::ZERO,
        v: Spatial::ZERO,
        acceleration: Spatial::ZERO,
    };

    /// 2B m.
    #[inline(always)]
    fn twice_B(&self, m: &Spatial) -> Spatial {
        Spatial { a: turn(&self.N, &m.a), l: 2.0 * cross(&m.a, &self.momentum) }
    }
}

impl Composite {
    #[inline(always)]
    fn times(&self, m: &Spatial) -> Spatial {
        let k = &self.moment;
        Spatial {
            a: plus_cross(&self.inertia.times(&m.a), k, &m.l),
            l: plus_cross(&(self.mass * m.l), &m.a, k),
        }
    }
}

/// S, Ψ̇, Ψ̈ and Ψ̇ + Ṡ of a dof.
#[derive(Debug, Clone, Copy)]
pub(super) struct DofRates {
    S: Spatial,
    psi: Spatial,
    psi_rate: Spatial,
    psi_and_S: Spatial,
}

/// Buffers of the derivatives.
#[derive(Debug, Clone, Default)]
pub(super) struct DerivativeWork {
    behind: Vec<Behind>,
    rates: Vec<DofRates>,
    by_q: TreeSquareMatrix,
    by_v: TreeSquareMatrix,
}

impl Tree {
    /// ∂τ/∂q and ∂τ/∂v of τ = M dv + b, without wrenches, in the tangent space: the perturbed q is q ⊕ δ. After
    /// [`kinematics`](Self::kinematics).
    pub fn inverse_dynamics_derivatives(
        &self,
        v: &[f64],
        dv: &[f64],
        work: &mut TreeWork,
        by_q: &mut TreeSquareMatrix,
        by_v: &mut TreeSquareMatrix,
    ) {
        by_q.fit(self);
        by_v.fit(self);
        work.derivatives.behind.resize(self.nodes.len(), Behind::ZERO);
        let zero = DofRates {
            S: Spatial::ZERO,
            psi: Spatial::ZERO,
            psi_rate: Spatial::ZERO,
            psi_and_S: Spatial::ZERO,
        };
        work.derivatives.rates.resize(self.freedoms(), zero);
        self.outward_rates(v, dv, work);
        let (behind, rates) = (&mut work.derivatives.behind, &work.derivatives.rates);
        for i in (1..self.nodes.len()).rev() {
            let (node, own) = (&self.nodes[i], behind[i]);
            for k in 0..node.kind.freedoms() {
                let d = node.v as usize + k;
                let r = &rates[d];
                let S = &r.S;
                // Rows: τ_d by the dofs on its path.
                let F = own.body.times(S);
                let b = plus(&own.N.tr_mul(&S.a), 2.0, &cross(&own.momentum, &S.l));
                // Columns: the forces on its path by d.
                let G = own.twice_B(&r.psi).plus(&own.body.times(&r.psi_rate)).plus(&S.cross_wrench(&own.f));
                let H = own.twice_B(S).plus(&own.body.times(&r.psi_and_S));
                let at = self.row[d];
                let mut j = d;
                for place in (at..self.row[d + 1]).rev() {
                    let o = &rates[j];
                    by_q.lower[place] = dot(&b, &o.psi.a) + F.dot(&o.psi_rate);
                    by_v.lower[place] = dot(&b, &o.S.a) + F.dot(&o.psi_and_S);
                    by_q.upper[place] = o.S.dot(&G);
                    by_v.upper[place] = o.S.dot(&H);
                    j = self.dof_parent[j] as usize;
                }
                // The dofs of one joint move together: there the first formula holds for both halves.
                for j in 0..k {
                    let (o, place) = (&rates[node.v as usize + j], self.row[d + 1] - 1 - (k - j));
                    let F = own.body.times(&o.S);
                    let b = plus(&own.N.tr_mul(&o.S.a), 2.0, &cross(&own.momentum, &o.S.l));
                    by_q.upper[place] = dot(&b, &r.psi.a) + F.dot(&r.psi_rate);
                }
            }
            let above = &mut behind[node.parent as usize];
            above.body.mass += own.body.mass;
            above.body.moment += own.body.moment;
            above.body.inertia = above.body.inertia.plus(&own.body.inertia);
            above.N += own.N;
            above.momentum += own.momentum;
            above.f = above.f.plus(&own.f);
        }
    }

    /// Fills what the nodes and dofs need, about the root's origin.
    fn outward_rates(&self, v: &[f64], dv: &[f64], work: &mut TreeWork) {
        let TreeWork { frames, derivatives, .. } = work;
        let (behind, rates) = (&mut derivatives.behind, &mut derivatives.rates);
        behind[0] = Behind { acceleration: Spatial { a: Vec3::zeros(), l: -self.gravity }, ..Behind::ZERO };
        for i in 1..self.nodes.len() {
            let (node, frame) = (&self.nodes[i], &frames[i]);
            let arm = frame.p - frames[node.root as usize].p;
            let above = &behind[node.parent as usize];
            let (v_above, a_above) = (above.v, above.acceleration);
            let (mut v_own, mut a_own, mut joint) = (v_above, a_above, Spatial::ZERO);
            for k in 0..node.kind.freedoms() {
                let d = node.v as usize + k;
                let (s, shift) = node.axis(&frame.R, k);
                let S = Spatial { a: s, l: plus_cross(&shift, &arm, &s) };
                let psi = v_above.cross(&S);
                let psi_rate = a_above.cross(&S).plus(&v_above.cross(&psi));
                rates[d] = DofRates { S, psi, psi_rate, psi_and_S: psi };
                joint = Spatial { a: plus(&joint.a, v[d], &S.a), l: plus(&joint.l, v[d], &S.l) };
                a_own = Spatial { a: plus(&a_own.a, dv[d], &S.a), l: plus(&a_own.l, dv[d], &S.l) };
            }
            v_own = v_own.plus(&joint);
            a_own = a_own.plus(&v_above.cross(&joint));
            for k in 0..node.kind.freedoms() {
                let r = &mut rates[node.v as usize + k];
                r.psi_and_S = r.psi.plus(&v_own.cross(&r.S));
            }
            let mut own = Behind { v: v_own, acceleration: a_own, ..Behind::ZERO };
            if !node.massless {
                let local = node.composite(&frame.R);
                let body = Composite {
                    mass: local.mass,
                    moment: plus(&local.moment, local.mass, &arm),
                    inertia: local.inertia.shifted(local.mass, &local.moment, &arm),
                };
                let momentum = body.times(&v_own);
                own.body = body;
                own.momentum = momentum.l;
                own.f = body.times(&a_own).plus(&v_own.cross_wrench(&momentum));
                own.N = spin_matrix(&body, &v_own);
            }
            behind[i] = own;
        }
    }

    /// ∂(dv)/∂q and ∂(dv)/∂v of forward dynamics at the acceleration `dv` that belongs to (q, v, τ), and, if
    /// `inverse_mass` is not empty, M⁻¹ = ∂(dv)/∂τ; all nv × nv, row by row. After [`kinematics`](Self::kinematics).
    pub fn forward_dynamics_derivatives(
        &self,
        v: &[f64],
        dv: &[f64],
        work: &mut TreeWork,
        by_q: &mut [f64],
        by_v: &mut [f64],
        inverse_mass: &mut [f64],
    ) {
        let n = self.freedoms();
        let mut tau_q = std::mem::take(&mut work.derivatives.by_q);
        let mut tau_v = std::mem::take(&mut work.derivatives.by_v);
        self.inverse_dynamics_derivatives(v, dv, work, &mut tau_q, &mut tau_v);
        self.articulate(&[], work);
        for (dense, tau) in [(by_q, &tau_q), (by_v, &tau_v)] {
            tau.to_dense(self, dense);
            self.solve_articulated_many(n, work, dense);
            dense[..n * n].iter_mut().for_each(|x| *x = -*x);
        }
        if !inverse_mass.is_empty() {
            inverse_mass[..n * n].fill(0.0);
            (0..n).for_each(|i| inverse_mass[i * n + i] = 1.0);
            self.solve_articulated_many(n, work, inverse_mass);
        }
        (work.derivatives.by_q, work.derivatives.by_v) = (tau_q, tau_v);
    }
}

/// N = \[ω\]I − I\[ω\] − \[Iω\] − 2\[k\]\[u\].
#[inline(always)]
fn spin_matrix(body: &Composite, v: &Spatial) -> Mat3 {
    let (w, u, k, I) = (&v.a, &v.l, &body.moment, &body.inertia);
    // [ω]I + ([ω]I)ᵀ, as I[ω] = −([ω]I)ᵀ.
    let columns = [
        cross(w, &Vec3::new(I.xx, I.xy, I.xz)),
        cross(w, &Vec3::new(I.xy, I.yy, I.yz)),
        cross(w, &Vec3::new(I.xz, I.yz, I.zz)),
    ];
    let W = Mat3::from_columns(&columns);
    // [k][u] = u kᵀ − (k·u) 1.
    let mut N = W + W.transpose() - skew(&I.times(w));
    let twice = 2.0 * dot(k, u);
    for i in 0..3 {
        for j in 0..3 {
            N[(i, j)] = fma(-2.0 * u[i], k[j], N[(i, j)]);
        }
        N[(i, i)] += twice;
    }
    N
}
