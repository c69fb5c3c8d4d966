//! Joint terms in the incremental potential, exact ones by an augmented Lagrangian (Hestenes 1969, Powell 1969); see [`AffineJoints`] for what they are.
//!
//! With $\psi'(x) = \mathrm{clamp}(y, l, u)$, $y = \lambda + \rho(x - x^*)$, the energy is
//! $\lambda C + \tfrac12\rho C^2$ with $C = x - x^*$ while y is within its bounds, and goes on straight beyond. Over the blocks z
//! the gradient is $\psi'\nabla x$ and the Hessian $\psi''\nabla x\nabla x^T$ plus the positive part of $\psi'\nabla^2 x$.
//!
//! ρ of an exact term is `penalty` times the stiffness $1/(d^2\,\nabla x^T M^{-1}\nabla x)$ that inertia gives its coordinate.
//! One round of multipliers then divides the violation by $1 + \rho/S$, with S what the coordinate meets; where other
//! bodies hang on it and S is larger, ρ is raised tenfold until a round gains enough.

use crate::joints::affine::{AffineJoints, JointRole};
use crate::math::{Blocks, Vec3, add_triple, outer};
use crate::model::IpcModel;
use crate::state::State;

/// The augmented Lagrangian of exact terms.
struct Tuning {
    /// ρ in units of the stiffness that inertia gives the coordinate: a round divides a violation by a thousand where nothing else
    /// hangs on it.
    penalty: f64,
    /// A round that leaves more than this part of a violation asks for a larger ρ, by this factor.
    gain: f64,
    growth: f64,
}

const TUNING: Tuning = Tuning { penalty: 1e3, gain: 0.25, growth: 10.0 };

/// One term in this step.
#[derive(Debug, Clone, Copy)]
struct Active {
    coordinate: u32,
    lambda: f64,
    rho: f64,
    target: f64,
    low: f64,
    high: f64,
    /// Violation after the last round; none for terms that are not exact.
    off: Option<f64>,
}

impl Active {
    fn force(&self, x: f64) -> f64 {
        (self.lambda + self.rho * (x - self.target)).clamp(self.low, self.high)
    }

    fn stiffness(&self, x: f64) -> f64 {
        let y = self.lambda + self.rho * (x - self.target);
        if y > self.low && y < self.high { self.rho } else { 0.0 }
    }

    /// Value and size \[J\].
    fn energy(&self, x: f64) -> (f64, f64) {
        let C = x - self.target;
        let y = self.lambda + self.rho * C;
        let m = y.clamp(self.low, self.high);
        if m == y {
            let (a, b) = (self.lambda * C, 0.5 * self.rho * C * C);
            return (a + b, a.abs() + b);
        }
        // From λ to m along the parabola, then straight.
        let (a, b) = ((m * m - self.lambda * self.lambda) / (2.0 * self.rho), m * (y - m) / self.rho);
        (a + b, a.abs() + b.abs())
    }
}

/// Buffers of the joint terms.
#[derive(Debug, Default)]
pub(super) struct JointWork {
    active: Vec<Active>,
    /// Where measures stood at the start of the step.
    turns: Vec<f64>,
    /// Gradient of a coordinate.
    gradient: Vec<(u32, Vec3)>,
}

impl JointWork {
    /// Begins a step: `start` are the blocks that velocities count from, `v` their velocities, d the scheme's step \[s\].
    pub(super) fn begin(&mut self, ipc: &IpcModel, state: &State, start: &[f64], d: f64) {
        let joints = &ipc.joints;
        self.active.clear();
        self.turns.clear();
        if joints.terms.is_empty() {
            return;
        }
        let n = joints.measures.len();
        self.turns.extend_from_slice(&state.turns[..n]);
        for (t, term) in joints.terms.iter().enumerate() {
            let c = term.coordinate;
            let now = joints.value(c, start, &self.turns);
            let exact = term.role.is_exact();
            let inf = f64::INFINITY;
            let mut a = Active {
                coordinate: c,
                lambda: if exact { state.turns[n + t] } else { 0.0 },
                rho: 0.0,
                target: now,
                low: -inf,
                high: inf,
                off: exact.then_some(inf),
            };
            if exact {
                joints.gradient(c, start, &mut self.gradient);
                let inverse: f64 =
                    self.gradient.iter().map(|(i, g)| g.norm_squared() / joints.inertia[*i as usize]).sum();
                a.rho = TUNING.penalty / (d * d * inverse.max(1e-12));
            }
            let spring = |a: &mut Active, rest: f64, from: f64, kp: f64, kd: f64| {
                a.rho = kp + kd / d;
                a.target = if a.rho > 0.0 { (kp * rest + kd / d * from) / a.rho } else { now };
            };
            match term.role {
                JointRole::Hold { target } => a.target = target,
                JointRole::Lower { low, kp, kd } => {
                    a.target = low;
                    if !exact {
                        spring(&mut a, low, now.min(low), kp, kd);
                    }
                    a.high = 0.0;
                }
                JointRole::Upper { high, kp, kd } => {
                    a.target = high;
                    if !exact {
                        spring(&mut a, high, now.max(high), kp, kd);
                    }
                    a.low = 0.0;
                }
                JointRole::Spring { target, kp, kd, max } => {
                    spring(&mut a, target, now, kp, kd);
                    (a.low, a.high) = (-max, max);
                }
                JointRole::Rate { rate, max } => {
                    a.target = now + rate * d;
                    (a.low, a.high) = (-max, max);
                }
                JointRole::Effort(effort) => a.lambda = -effort,
                JointRole::Armature(inertia) => {
                    a.rho = inertia / (d * d);
                    a.target = now + d * joints.rate(c, start, &state.v);
                }
            }
            self.active.push(a);
        }
    }

    /// True if there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.active.is_empty()
    }

    fn value(&self, joints: &AffineJoints, a: &Active, z: &[f64]) -> f64 {
        joints.value(a.coordinate, z, &self.turns)
    }

    /// Hands out the number of every term, its energy and the size of what that is made of \[J\].
    pub(super) fn energies(&self, ipc: &IpcModel, z: &[f64], mut take: impl FnMut(usize, f64, f64)) {
        for (t, a) in self.active.iter().enumerate() {
            let (energy, size) = a.energy(self.value(&ipc.joints, a, z));
            take(t, energy, size);
        }
    }

    /// b −= ∇.
    pub(super) fn gradient(&mut self, ipc: &IpcModel, z: &[f64], b: &mut [f64]) {
        let mut list = std::mem::take(&mut self.gradient);
        for a in &self.active {
            let force = a.force(self.value(&ipc.joints, a, z));
            if force != 0.0 {
                ipc.joints.gradient(a.coordinate, z, &mut list);
                list.iter().for_each(|(i, g)| add_triple(b, *i as usize, &(-force * g)));
            }
        }
        self.gradient = list;
    }

    /// Adds the Hessian at z, made positive semidefinite.
    pub(super) fn hessian(&mut self, ipc: &IpcModel, z: &[f64], out: &mut Blocks) {
        let joints = &ipc.joints;
        let mut list = std::mem::take(&mut self.gradient);
        for a in &self.active {
            let x = self.value(joints, a, z);
            let (force, stiffness) = (a.force(x), a.stiffness(x));
            if stiffness > 0.0 {
                joints.gradient(a.coordinate, z, &mut list);
                for (i, g) in &list {
                    for (j, f) in &list {
                        out.add(*i as usize, *j as usize, stiffness * outer(g, f));
                    }
                }
            }
            if force != 0.0 {
                for &(factor, m) in &joints.coordinates[a.coordinate as usize].parts {
                    joints.measures[m as usize].add_curvature(z, factor * force, true, out);
                }
            }
        }
        self.gradient = list;
    }

    /// λ ← ψ' of the terms that are `awake`; hands out those that are still off by more than `limit` \[rad or m\].
    pub(super) fn update(
        &mut self,
        ipc: &IpcModel,
        z: &[f64],
        limit: f64,
        awake: impl Fn(usize) -> bool,
        mut open: impl FnMut(usize),
    ) {
        let turns = std::mem::take(&mut self.turns);
        for (t, a) in self.active.iter_mut().enumerate().filter(|(t, _)| awake(*t)) {
            let Some(before) = a.off else { continue };
            let next = a.force(ipc.joints.value(a.coordinate, z, &turns));
            let off = (next - a.lambda).abs() / a.rho;
            a.lambda = next;
            if off > TUNING.gain * before {
                a.rho *= TUNING.growth;
            }
            a.off = Some(off);
            if off > limit {
                open(t);
            }
        }
        self.turns = turns;
    }

    /// Writes what the next step must know; `rows` are the forces of the linear rows.
    pub(super) fn finish(&self, ipc: &IpcModel, z: &[f64], rows: &[Vec3], turns: &mut [f64]) {
        let joints = &ipc.joints;
        let n = joints.measures.len();
        if turns.len() < joints.memory(ipc.rows.len()) {
            return;
        }
        for (k, measure) in joints.measures.iter().enumerate().filter(|(_, m)| m.turns()) {
            turns[k] = crate::math::rotation::unwrap_angle(turns[k], measure.value(z));
        }
        for (t, a) in self.active.iter().enumerate() {
            turns[n + t] = if a.off.is_some() { a.lambda } else { a.force(self.value(joints, a, z)) };
        }
        let at = n + joints.terms.len();
        for (k, force) in rows.iter().enumerate() {
            turns[at + 3 * k..at + 3 * k + 3].copy_from_slice(force.as_slice());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joints::affine::{BlockVector, JointCoordinate, JointTerm, Measure};
    use crate::math::rotation::{exp, matrix};
    use crate::math::{Random, Vec3};

    #[test]
    fn every_term_has_the_gradient_of_its_energy_and_the_stiffness_of_its_gradient() {
        let mut random = Random::new(2);
        let inf = f64::INFINITY;
        let roles = [
            JointRole::Hold { target: 0.1 },
            JointRole::Lower { low: 0.2, kp: inf, kd: 0.0 },
            JointRole::Upper { high: -0.2, kp: inf, kd: 0.0 },
            JointRole::Lower { low: 0.5, kp: 20.0, kd: 0.3 },
            JointRole::Upper { high: -0.5, kp: 20.0, kd: 0.3 },
            JointRole::Spring { target: 0.4, kp: 5.0, kd: 0.2, max: inf },
            JointRole::Spring { target: 2.0, kp: 50.0, kd: 0.2, max: 3.0 },
            JointRole::Rate { rate: 1.0, max: 0.01 },
            JointRole::Rate { rate: 1.0, max: inf },
            JointRole::Effort(1.5),
            JointRole::Armature(0.4),
        ];
        for role in roles {
            for kind in 0..3 {
                let mut vector = |size: f64| Vec3::from_fn(|_, _| random.between(-size, size));
                let mut z = Vec::new();
                for _ in 0..2 {
                    z.extend_from_slice(vector(0.5).as_slice());
                    z.extend_from_slice(matrix(&exp(&vector(0.2))).as_slice());
                }
                let axis = |first: u32, k: usize| BlockVector::direction(first, &Vec3::ith(k, 1.0));
                let d = BlockVector::point(4, &vector(0.3)).minus(&BlockVector::point(0, &vector(0.3)));
                let measure = match kind {
                    0 => Measure::Angle([axis(0, 0), axis(0, 1), axis(4, 0), axis(4, 1)]),
                    1 => Measure::Dot([d, axis(0, 2).combined(0.5, &axis(4, 2), 0.5)]),
                    _ => Measure::Length([d]),
                };
                let joints = AffineJoints {
                    measures: vec![measure],
                    coordinates: vec![JointCoordinate { parts: vec![(1.3, 0)] }],
                    terms: vec![JointTerm { name: "j".into(), coordinate: 0, role }],
                    joints: Vec::new(),
                    inertia: vec![1.0; 8],
                };
                let ipc = IpcModel { joints, ..IpcModel::default() };
                let state =
                    State { turns: vec![0.0, 0.0], v: vec![0.1; 24], q: z.clone(), ..State::default() };
                let mut work = JointWork::default();
                work.begin(&ipc, &state, &z, 0.1);
                let y: Vec<f64> = z.iter().map(|_| random.between(-1.0, 1.0)).collect();
                let e = 1e-4;
                let at = |k: f64| z.iter().zip(&y).map(|(z, y)| z + k * e * y).collect::<Vec<f64>>();
                let four = |f: [f64; 4]| (f[0] - 8.0 * f[1] + 8.0 * f[2] - f[3]) / (12.0 * e);
                let steps = [-2.0, -1.0, 1.0, 2.0];
                let mut along = |z: &[f64]| {
                    let mut b = vec![0.0; z.len()];
                    work.gradient(&ipc, z, &mut b);
                    -b.iter().zip(&y).map(|(b, y)| b * y).sum::<f64>()
                };
                let here = along(&z);
                let bent = four(steps.map(|k| along(&at(k))));
                let energy = |z: &[f64]| {
                    let mut sum = 0.0;
                    work.energies(&ipc, z, |_, energy, _| sum += energy);
                    sum
                };
                let wanted = four(steps.map(|k| energy(&at(k))));
                assert!(
                    (here - wanted).abs() < 1e-7 * (1.0 + wanted.abs()),
                    "{role:?} {kind}: {here} {wanted}"
                );
                // yᵀHy with the curvature of the coordinate itself left as it is.
                let a = work.active[0];
                let x = work.value(&ipc.joints, &a, &z);
                let mut blocks = Blocks::default();
                ipc.joints.measures[0].add_curvature(&z, 1.3 * a.force(x), false, &mut blocks);
                let mut product = vec![0.0; z.len()];
                blocks.add_times(&y, &mut product);
                let rate = ipc.joints.rate(0, &z, &y);
                let found =
                    product.iter().zip(&y).map(|(a, b)| a * b).sum::<f64>() + a.stiffness(x) * rate * rate;
                assert!((found - bent).abs() < 1e-6 * (1.0 + bent.abs()), "{role:?} {kind}: {found} {bent}");
            }
        }
    }
}
