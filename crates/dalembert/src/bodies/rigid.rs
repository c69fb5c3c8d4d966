//! Rigid bodies: $q = (x, R)$, $v = (\dot x, \omega)$, $M = \mathrm{diag}(m I_3,\; R I_B R^T)$.
//!
//! Body k owns seven coordinates (x of the centre of mass \[m\], quaternion w, x, y, z, body → world) and six
//! velocities (of the centre of mass \[m/s\], angular velocity ω \[rad/s\]), all in **world axes**. Forces have the
//! same blocks: (F, τ about the centre of mass). Newton and Euler:
//!
//! $$ \dot x = v,\quad \dot R = \[\omega\]_\times R,\quad \dot P = F,\quad \dot L = \tau,\qquad
//!    P = m v,\; L = I\omega,\; I = R I_B R^T, $$
//!
//! and with $\dot I = \[\omega\] I - I \[\omega\]$ the last line is
//! $I\dot\omega = \tau - \omega\times I\omega$: the gyroscopic torque.
//!
//! A free body can be turned exactly on its energy and momentum: [`free_rotation_step`]. Book: "Bodies".

use super::MassProperties;
use crate::math::rotation::{cayley, matrix, quaternion, renormalise, set_quaternion, skew, turned};
use crate::math::{Mat3, Pose, Quat, Vec3};

/// Coordinates of one rigid body.
pub const RIGID_Q: usize = 7;
/// Velocities of one rigid body.
pub const RIGID_V: usize = 6;

/// Inertia of all rigid bodies of a model, and what follows from it on slices of q and v over these bodies.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rigid {
    /// Masses m \[kg\].
    pub mass: Vec<f64>,
    /// 1/m \[1/kg\].
    pub inv_mass: Vec<f64>,
    /// Inertia I_B about the centre of mass, body axes \[kg·m²\].
    pub inertia: Vec<Mat3>,
    /// I_B⁻¹ \[1/(kg·m²)\].
    pub inv_inertia: Vec<Mat3>,
    /// Centre of mass in the body's own frame \[m\]: the frame's origin is at x − R c.
    pub center: Vec<Vec3>,
}

#[inline(always)]
fn vec3(a: &[f64], at: usize) -> Vec3 {
    Vec3::new(a[at], a[at + 1], a[at + 2])
}

#[inline(always)]
fn set_vec3(a: &mut [f64], at: usize, value: &Vec3) {
    a[at..at + 3].copy_from_slice(value.as_slice());
}

impl Rigid {
    /// From mass properties that hold what [`MassProperties`] promises.
    pub fn new(bodies: &[MassProperties]) -> Self {
        let mut all = Self::default();
        for body in bodies {
            all.push(body);
        }
        all
    }

    /// Adds a body and returns its number.
    pub fn push(&mut self, body: &MassProperties) -> usize {
        self.mass.push(body.mass);
        self.inv_mass.push(1.0 / body.mass);
        self.inertia.push(body.inertia);
        self.inv_inertia.push(body.inv_inertia());
        self.center.push(body.center);
        self.mass.len() - 1
    }

    /// Number of bodies.
    pub fn len(&self) -> usize {
        self.mass.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.mass.is_empty()
    }

    /// Centre of mass of body k \[m\].
    #[inline(always)]
    pub fn position(q: &[f64], k: usize) -> Vec3 {
        vec3(q, RIGID_Q * k)
    }

    /// Orientation of body k, body → world.
    #[inline(always)]
    pub fn rotation(q: &[f64], k: usize) -> Quat {
        quaternion(q, RIGID_Q * k + 3)
    }

    /// Velocity of the centre of mass \[m/s\].
    #[inline(always)]
    pub fn velocity(v: &[f64], k: usize) -> Vec3 {
        vec3(v, RIGID_V * k)
    }

    /// Angular velocity ω in world axes \[rad/s\].
    #[inline(always)]
    pub fn angular_velocity(v: &[f64], k: usize) -> Vec3 {
        vec3(v, RIGID_V * k + 3)
    }

    /// Writes the coordinates of body k from the pose of its own frame: x = position + R c.
    pub fn set_pose(&self, q: &mut [f64], k: usize, frame: &Pose) {
        let R_WB = renormalise(&frame.rotation);
        set_vec3(q, RIGID_Q * k, &(frame.position + R_WB * self.center[k]));
        set_quaternion(q, RIGID_Q * k + 3, &R_WB);
    }

    /// The pose of the own frame of body k, whose origin is x − R c.
    pub fn pose(&self, q: &[f64], k: usize) -> Pose {
        let R_WB = Self::rotation(q, k);
        Pose::new(Self::position(q, k) - R_WB * self.center[k], R_WB)
    }

    /// Writes velocity of the centre of mass \[m/s\] and angular velocity \[rad/s\] of body k, world axes.
    pub fn set_velocity(v: &mut [f64], k: usize, velocity: &Vec3, w_WB: &Vec3) {
        set_vec3(v, RIGID_V * k, velocity);
        set_vec3(v, RIGID_V * k + 3, w_WB);
    }

    /// Velocity \[m/s\] of the world point p \[m\] if it is fixed to body k: v + ω × (p − x).
    pub fn velocity_at(q: &[f64], v: &[f64], k: usize, p: &Vec3) -> Vec3 {
        Self::velocity(v, k) + Self::angular_velocity(v, k).cross(&(p - Self::position(q, k)))
    }

    /// I = R I_B Rᵀ of body k, about the centre of mass, world axes \[kg·m²\].
    pub fn world_inertia(&self, q: &[f64], k: usize) -> Mat3 {
        let R = matrix(&Self::rotation(q, k));
        R * self.inertia[k] * R.transpose()
    }

    /// I⁻¹ = R I_B⁻¹ Rᵀ of body k \[1/(kg·m²)\].
    pub fn world_inv_inertia(&self, q: &[f64], k: usize) -> Mat3 {
        let R = matrix(&Self::rotation(q, k));
        R * self.inv_inertia[k] * R.transpose()
    }

    /// y ← M v: momenta P \[kg·m/s\] and L about the centres of mass \[kg·m²/s\] from velocities.
    pub fn mass_times(&self, q: &[f64], v: &[f64], y: &mut [f64]) {
        for k in 0..self.len() {
            let R = matrix(&Self::rotation(q, k));
            set_vec3(y, RIGID_V * k, &(self.mass[k] * Self::velocity(v, k)));
            let W = R.tr_mul(&Self::angular_velocity(v, k));
            set_vec3(y, RIGID_V * k + 3, &(R * (self.inertia[k] * W)));
        }
    }

    /// f ← M⁻¹ f: velocities from momenta, or accelerations from forces without the gyroscopic torque.
    pub fn solve_mass(&self, q: &[f64], f: &mut [f64]) {
        for k in 0..self.len() {
            self.solve_mass_of(q, f, k);
        }
    }

    /// [`solve_mass`](Self::solve_mass) for body k only.
    pub fn solve_mass_of(&self, q: &[f64], f: &mut [f64], k: usize) {
        let R = matrix(&Self::rotation(q, k));
        let a = self.inv_mass[k] * Self::velocity(f, k);
        set_vec3(f, RIGID_V * k, &a);
        let torque = R.tr_mul(&Self::angular_velocity(f, k));
        set_vec3(f, RIGID_V * k + 3, &(R * (self.inv_inertia[k] * torque)));
    }

    /// Kinetic energy ½ m v² + ½ ω·Iω of body k \[J\].
    pub fn kinetic_of(&self, q: &[f64], v: &[f64], k: usize) -> f64 {
        let W = Self::rotation(q, k).inverse_transform_vector(&Self::angular_velocity(v, k));
        0.5 * self.mass[k] * Self::velocity(v, k).norm_squared() + 0.5 * W.dot(&(self.inertia[k] * W))
    }

    /// Kinetic energy of all bodies \[J\].
    pub fn kinetic(&self, q: &[f64], v: &[f64]) -> f64 {
        (0..self.len()).map(|k| self.kinetic_of(q, v, k)).sum()
    }

    /// Momentum P \[kg·m/s\] and angular momentum L about the centre of mass \[kg·m²/s\] of body k, world axes.
    pub fn momentum_of(&self, q: &[f64], v: &[f64], k: usize) -> (Vec3, Vec3) {
        let R = matrix(&Self::rotation(q, k));
        let W = R.tr_mul(&Self::angular_velocity(v, k));
        (self.mass[k] * Self::velocity(v, k), R * (self.inertia[k] * W))
    }

    /// Momentum \[kg·m/s\] and angular momentum about the world's origin \[kg·m²/s\] of all bodies.
    pub fn momentum(&self, q: &[f64], v: &[f64]) -> (Vec3, Vec3) {
        let (mut sum, mut angular) = (Vec3::zeros(), Vec3::zeros());
        for k in 0..self.len() {
            let (P, L) = self.momentum_of(q, v, k);
            sum += P;
            angular += L + Self::position(q, k).cross(&P);
        }
        (sum, angular)
    }

    /// q ← q ⊕ u: x += u_lin \[m\], R ← exp(u_rot) R \[rad, world axes\], quaternions of length 1 again. For slices
    /// that hold whole blocks of rigid bodies, as many as u has.
    pub fn advance(q: &mut [f64], u: &[f64]) {
        for (q, u) in q.chunks_exact_mut(RIGID_Q).zip(u.chunks_exact(RIGID_V)) {
            let x = vec3(q, 0) + vec3(u, 0);
            set_vec3(q, 0, &x);
            let R_WB = turned(&quaternion(q, 3), &vec3(u, 3));
            set_quaternion(q, 3, &R_WB);
        }
    }

    /// One step of free flight for every body: x += h v, and rotation by [`free_rotation_step`].
    pub fn free_flight(&self, q: &mut [f64], v: &mut [f64], h: f64) {
        for k in 0..self.len() {
            self.free_flight_of(q, v, k, h);
        }
    }

    /// [`free_flight`](Self::free_flight) for body k only.
    pub fn free_flight_of(&self, q: &mut [f64], v: &mut [f64], k: usize, h: f64) {
        let x = Self::position(q, k) + h * Self::velocity(v, k);
        let (R, w) = (Self::rotation(q, k), Self::angular_velocity(v, k));
        let (R, w) = free_rotation_step(&self.inertia[k], &self.inv_inertia[k], &R, &w, h);
        set_vec3(q, RIGID_Q * k, &x);
        set_quaternion(q, RIGID_Q * k + 3, &R);
        set_vec3(v, RIGID_V * k + 3, &w);
    }
}

/// One step of a torque-free rotation that keeps angular momentum and energy: order 2, symmetric.
///
/// With Ω the angular velocity and Π = I_B Ω the angular momentum in *body* axes, Euler's equation reads
/// dΠ/dt = Π × Ω. The step is its implicit midpoint rule
///
/// ```text
/// Π' = Π + h Π_m × Ω_m,   Π_m = (Π + Π')/2,   Ω_m = I_B⁻¹ Π_m,        R' = R cay(h Ω_m).
/// ```
///
/// - |Π'|² − |Π|² = 2 Π_m·(Π' − Π) = 2h Π_m·(Π_m × Ω_m) = 0.
/// - Energy ½ Π·I_B⁻¹Π: its change is Ω_m·(Π' − Π) = h Ω_m·(Π_m × Ω_m) = 0.
/// - Write \[·\] for the cross product: Π' − Π = −(h/2) \[Ω_m\] (Π + Π') gives
///   (1 + (h/2)\[Ω_m\]) Π' = (1 − (h/2)\[Ω_m\]) Π, so Π' = cay(h Ω_m)ᵀ Π, and the world's angular momentum is
///   L' = R' Π' = R cay cayᵀ Π = R Π = L, in direction too.
///
/// A body with the same inertia about every axis, a ball or a cube, has Π × Ω = 0: it keeps ω, and R' = cay(h ω) R. Otherwise
/// the unknown Π_m solves Π_m − Π − (h/2) Π_m × I_B⁻¹ Π_m = 0 by Newton's method. Where it does not converge within
/// its cap (h|Ω| far above 1), the step is cut into 2, 4, … equal parts. ω and the result are in world axes \[rad/s\].
pub fn free_rotation_step(I_B: &Mat3, inv_I_B: &Mat3, R_WB: &Quat, w_WB: &Vec3, h: f64) -> (Quat, Vec3) {
    if is_round(I_B) {
        return (renormalise(&(cayley(&(h * w_WB)) * R_WB)), *w_WB);
    }
    'halve: for halvings in 0..=HALVINGS {
        let parts = 1u32 << halvings;
        let (mut R, mut w) = (*R_WB, *w_WB);
        for _ in 0..parts {
            match midpoint_rotation(I_B, inv_I_B, &R, &w, h / f64::from(parts)) {
                Some(next) => (R, w) = next,
                None => continue 'halve,
            }
        }
        return (R, w);
    }
    // Thousands of radians in one step: turn at the present rate; L stays, the energy is what it becomes.
    let L = R_WB * (I_B * R_WB.inverse_transform_vector(w_WB));
    let R = renormalise(&(cayley(&(h * w_WB)) * R_WB));
    (R, R * (inv_I_B * R.inverse_transform_vector(&L)))
}

/// True if an inertia is the same about every axis.
#[inline(always)]
fn is_round(I: &Mat3) -> bool {
    let beside = [I.m12, I.m13, I.m23, I.m21, I.m31, I.m32];
    I.m11 == I.m22 && I.m22 == I.m33 && beside == [0.0; 6]
}

/// The same with order 4: five steps of [`free_rotation_step`] of lengths p h, p h, (1 − 4p) h, p h, p h with
/// p = 1/(4 − ∛4) (Suzuki 1990). A symmetric step of order 2 has errors h³, h⁵, …; the lengths are chosen so that
/// they sum to h and their cubes to 0. Energy and angular momentum are kept, as by each part.
pub fn free_rotation_step4(I_B: &Mat3, inv_I_B: &Mat3, R_WB: &Quat, w_WB: &Vec3, h: f64) -> (Quat, Vec3) {
    let p = 1.0 / (4.0 - 4.0f64.cbrt());
    let (mut R, mut w) = (*R_WB, *w_WB);
    for part in [p, p, 1.0 - 4.0 * p, p, p] {
        (R, w) = free_rotation_step(I_B, inv_I_B, &R, &w, part * h);
    }
    (R, w)
}

/// Most halvings of a step whose Newton iteration fails.
const HALVINGS: u32 = 12;

/// The step of [`free_rotation_step`], or `None` if its equation could not be solved.
///
/// ω takes only increments: with c the Cayley turn in world axes, ω' = c (ω + R ΔΩ), ΔΩ = I_B⁻¹ (Π' − Π), so
/// ω' − ω = (c − 1) ω + R' ΔΩ. Computing ω' from Π' instead would let the rounding of I_B⁻¹ and of |q| = 1, which
/// has a bias, pile up to 5e-12 of L in 10⁵ steps.
fn midpoint_rotation(I_B: &Mat3, inv_I_B: &Mat3, R: &Quat, w: &Vec3, h: f64) -> Option<(Quat, Vec3)> {
    let Pi_m = midpoint_momentum(inv_I_B, &(I_B * R.inverse_transform_vector(w)), h)?;
    let W_m = inv_I_B * Pi_m;
    let dW = inv_I_B * (h * Pi_m.cross(&W_m));
    // R cay(h Ω_m) = cay(h R Ω_m) R.
    let c = cayley(&(h * (R * W_m)));
    let R = renormalise(&(c * R));
    // (c − 1) ω = c_w t + c_v × t with t = 2 c_v × ω.
    let t = 2.0 * c.imag().cross(w);
    Some((R, w + (c.w * t + c.imag().cross(&t) + R * dW)))
}

/// Π_m with Π_m − Π − (h/2) Π_m × I⁻¹Π_m = 0; `None` if Newton's method does not get there in 16 iterations.
fn midpoint_momentum(inv_I_B: &Mat3, Pi: &Vec3, h: f64) -> Option<Vec3> {
    let enough = 1e-8 * Pi.norm();
    let mut m = *Pi;
    for _ in 0..16 {
        let w = inv_I_B * m;
        let residual = m - Pi - 0.5 * h * m.cross(&w);
        let left = residual.norm();
        // Spins about a principal axis, or not at all: what is left is below the last digit.
        if left <= 1e-17 * Pi.norm() {
            return Some(m);
        }
        // ∂(Π × I⁻¹Π)/∂Π = [Π] I⁻¹ − [I⁻¹Π].
        let slope = Mat3::identity() - 0.5 * h * (skew(&m) * inv_I_B - skew(&w));
        let delta = slope.try_inverse()? * residual;
        m -= delta;
        // Quadratic convergence: what follows a correction of 1e-8 is exact to rounding.
        if left <= enough && delta.norm() <= enough {
            return Some(m);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::observed_orders;
    use crate::math::Random;
    use crate::math::rotation::exp;

    #[test]
    fn a_cube_turns_as_a_body_that_is_nearly_one_and_keeps_its_spin() {
        let mut random = Random::new(5);
        for _ in 0..50 {
            let w = Vec3::from_fn(|_, _| random.between(-20.0, 20.0));
            let R = exp(&Vec3::from_fn(|_, _| random.between(-3.0, 3.0)));
            let (round, nearly) =
                (Mat3::from_diagonal_element(0.3), Mat3::from_diagonal(&Vec3::new(0.3, 0.3, 0.3 + 1e-15)));
            let of = |I: &Mat3| free_rotation_step(I, &I.try_inverse().unwrap(), &R, &w, 0.02);
            let ((a, w_a), (b, w_b)) = (of(&round), of(&nearly));
            assert!(w_a == w && (w_b - w).norm() < 1e-12);
            assert!((a.coords - b.coords).norm() < 1e-14);
        }
    }

    /// The free asymmetric top: I = diag(1, 2, 3), Ω(0) = (1, 0.1, 1), R(0) = 1. Landau and Lifshitz, Mechanics, §37;
    /// values at t = 10 from a Taylor integration with 20 digits (case `free_asymmetric_top`).
    const OMEGA_10: [f64; 3] = [-0.9618864879002327, 0.2911604100748513, 0.9874589638064366];
    const QUAT_10: [f64; 4] =
        [0.8710950680928182, 0.05310402964827692, 0.2301305551106074, -0.4305964142720733];

    type Step = fn(&Mat3, &Mat3, &Quat, &Vec3, f64) -> (Quat, Vec3);

    fn top() -> (Mat3, Mat3, Quat, Vec3) {
        let I_B = Mat3::from_diagonal(&Vec3::new(1.0, 2.0, 3.0));
        (I_B, I_B.try_inverse().unwrap(), Quat::identity(), Vec3::new(1.0, 0.1, 1.0))
    }

    /// Largest error in body angular velocity and quaternion at t = 10.
    fn error_at_10(step: Step, steps: u32) -> f64 {
        let (I_B, inv_I_B, mut R, mut w) = top();
        for _ in 0..steps {
            (R, w) = step(&I_B, &inv_I_B, &R, &w, 10.0 / f64::from(steps));
        }
        let omega = R.inverse_transform_vector(&w) - Vec3::from(OMEGA_10);
        let wanted = quaternion(&QUAT_10, 0);
        let apart = (R.coords - wanted.coords).amax().min((R.coords + wanted.coords).amax());
        omega.amax().max(apart)
    }

    #[test]
    fn the_free_asymmetric_top_moves_as_known() {
        let errors: Vec<(f64, f64)> =
            [500, 1000, 2000].map(|n| (10.0 / f64::from(n), error_at_10(free_rotation_step, n))).to_vec();
        assert!(observed_orders(&errors).iter().all(|p| (p - 2.0).abs() < 0.02), "{errors:?}");
        let errors: Vec<(f64, f64)> =
            [100, 200, 400].map(|n| (10.0 / f64::from(n), error_at_10(free_rotation_step4, n))).to_vec();
        assert!(observed_orders(&errors).iter().all(|p| (p - 4.0).abs() < 0.05), "{errors:?}");
        let (second, fourth) =
            (error_at_10(free_rotation_step, 10_000), error_at_10(free_rotation_step4, 10_000));
        assert!(second < 1.2e-6, "{second:e}");
        assert!(fourth < 1e-12, "{fourth:e}");
    }

    #[test]
    fn free_rotation_keeps_angular_momentum_and_energy() {
        // Rounding only: it grows with the turn per step, and five parts make five times as much of it.
        for (h, wide) in [(1e-3, 1.0), (0.1, 1.0), (1.0, 5.0)] {
            for (step, limit) in [(free_rotation_step as Step, 1e-13), (free_rotation_step4, 5e-13)] {
                let (I_B, inv_I_B, mut R, mut w) = top();
                let momentum = |R: &Quat, w: &Vec3| R * (I_B * R.inverse_transform_vector(w));
                let energy = |R: &Quat, w: &Vec3| 0.5 * w.dot(&momentum(R, w));
                let (L0, E0) = (momentum(&R, &w), energy(&R, &w));
                let mut worst = (0.0f64, 0.0f64);
                for _ in 0..100_000 {
                    (R, w) = step(&I_B, &inv_I_B, &R, &w, h);
                    worst.0 = worst.0.max((momentum(&R, &w) - L0).norm() / L0.norm());
                    worst.1 = worst.1.max((energy(&R, &w) - E0).abs() / E0);
                }
                assert!(worst.0 < wide * limit && worst.1 < wide * 1e-12, "h = {h}: {worst:?}");
                assert!((R.coords.norm() - 1.0).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn wild_spin_keeps_its_momentum() {
        let (I_B, inv_I_B, R, _) = top();
        for spin in [3.0, 30.0, 300.0, 1e4] {
            let w = Vec3::new(1.0, -0.4, 0.8) * spin;
            let L0 = R * (I_B * R.inverse_transform_vector(&w));
            let (mut R, mut w) = (R, w);
            for _ in 0..50 {
                (R, w) = free_rotation_step(&I_B, &inv_I_B, &R, &w, 1.0);
            }
            let L = R * (I_B * R.inverse_transform_vector(&w));
            assert!((L - L0).norm() < 1e-12 * L0.norm(), "{spin}");
        }
    }

    #[test]
    fn a_step_back_undoes_a_step() {
        let (I_B, inv_I_B, R, w) = top();
        for h in [1e-3, 0.1, 1.0] {
            let (R1, w1) = free_rotation_step(&I_B, &inv_I_B, &R, &w, h);
            let (R2, w2) = free_rotation_step(&I_B, &inv_I_B, &R1, &w1, -h);
            assert!((R2.coords - R.coords).norm() < 1e-14 && (w2 - w).norm() < 1e-14);
        }
    }

    fn two_bodies() -> (Rigid, Vec<f64>, Vec<f64>) {
        let mut random = Random::new(11);
        let body = |mass, c: [f64; 3], d: [f64; 3], u: [f64; 3]| {
            MassProperties::from_principal(mass, c.into(), d.into(), exp(&u.into())).unwrap()
        };
        let rigid = Rigid::new(&[
            body(2.0, [0.1, 0.0, -0.2], [1.0, 2.0, 2.5], [0.3, 0.1, -2.0]),
            body(0.3, [0.0; 3], [0.02, 0.03, 0.04], [1.0, 0.0, 0.5]),
        ]);
        let mut q = vec![0.0; 14];
        for k in 0..2 {
            let [position, turn] = [0; 2].map(|_| Vec3::from_fn(|_, _| random.between(-2.0, 2.0)));
            rigid.set_pose(&mut q, k, &Pose::new(position, exp(&turn)));
        }
        let v = (0..12).map(|_| random.between(-2.0, 2.0)).collect();
        (rigid, q, v)
    }

    #[test]
    fn mass_times_and_solve_mass_cancel() {
        let (rigid, q, v) = two_bodies();
        let mut y = vec![0.0; 12];
        rigid.mass_times(&q, &v, &mut y);
        let energy: f64 = v.iter().zip(&y).map(|(v, y)| 0.5 * v * y).sum();
        assert!((energy - rigid.kinetic(&q, &v)).abs() < 1e-14 * energy);
        for k in 0..2 {
            let (P, L) = rigid.momentum_of(&q, &v, k);
            assert!(
                (P - Rigid::velocity(&y, k)).norm() < 1e-15
                    && (L - Rigid::angular_velocity(&y, k)).norm() < 1e-15
            );
            let w = Rigid::angular_velocity(&v, k);
            assert!((rigid.world_inertia(&q, k) * w - L).norm() < 1e-14);
            assert!((rigid.world_inv_inertia(&q, k) * L - w).norm() < 1e-13);
        }
        rigid.solve_mass(&q, &mut y);
        assert!(y.iter().zip(&v).all(|(a, b)| (a - b).abs() < 1e-13));
    }

    #[test]
    fn a_body_frame_comes_back_from_its_coordinates() {
        let (rigid, mut q, _) = two_bodies();
        let frame = Pose::new(Vec3::new(0.3, -1.0, 2.0), exp(&Vec3::new(0.1, 2.0, 0.3)));
        rigid.set_pose(&mut q, 0, &frame);
        assert!((rigid.pose(&q, 0).position - frame.position).norm() < 1e-15);
        assert!((Rigid::position(&q, 0) - frame.point(&rigid.center[0])).norm() < 1e-15);
    }

    #[test]
    fn free_flight_goes_straight_and_keeps_everything() {
        let (rigid, mut q, mut v) = two_bodies();
        let (P0, L0) = rigid.momentum(&q, &v);
        let E0 = rigid.kinetic(&q, &v);
        for _ in 0..1000 {
            rigid.free_flight(&mut q, &mut v, 0.01);
        }
        let (P, L) = rigid.momentum(&q, &v);
        assert!((P - P0).norm() < 1e-13 && (L - L0).norm() < 1e-11, "{:e}", (L - L0).norm());
        assert!((rigid.kinetic(&q, &v) - E0).abs() < 1e-12);
    }
}
