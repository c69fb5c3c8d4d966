//! Steps for second-order systems $\dot q = v$, $\dot v = a(t, q, v)$.
//!
//! Symplectic Euler (kick first): $v \leftarrow v + h a(t, q, v)$, $q \leftarrow q \oplus h v$.
//! Verlet (kick, drift, kick): $v_{1/2} = v + \tfrac h2 a(t, q, v)$, $q \leftarrow q \oplus h v_{1/2}$,
//! $v \leftarrow v_{1/2} + \tfrac h2 a(t + h, q, \tilde v)$, $\tilde v = v_{1/2} + \tfrac h2 a(t, q_n, v_n)$.
//! Book: "Solvers".

use super::{Manifold, OdeWork};

/// One step of symplectic Euler, order 1, in place: v += h a(t, q, v), then q ⊕= h v.
///
/// `accel(t, q, v, a)` gets copies of q and v and may overwrite prescribed coordinates in them.
/// On the oscillator v² + k x² − h k x v (m = 1) stays constant.
pub fn symplectic_euler_step<M: Manifold>(
    accel: &mut impl FnMut(f64, &mut [f64], &mut [f64], &mut [f64]),
    space: &M,
    t: f64,
    h: f64,
    q: &mut [f64],
    v: &mut [f64],
    work: &mut OdeWork,
) {
    fit(q, v, work);
    let OdeWork { stage, stage_v, u, k: a, .. } = work;
    stage.copy_from_slice(q);
    stage_v.copy_from_slice(v);
    accel(t, stage, stage_v, a);
    for i in 0..v.len() {
        v[i] += h * a[i];
        u[i] = h * v[i];
    }
    space.advance(q, u);
}

/// One step of leapfrog in the form kick, drift, kick, order 2, in place; two evaluations.
///
/// If the acceleration depends on the velocity, the second kick needs the velocity at t + h, which is not
/// known yet. With the half-way velocity in its place the order falls to 1. Here it is evaluated at the
/// prediction v + h a(t, q, v), which is off by O(h²) only, so the order stays 2; linear drag v' = −c v is
/// multiplied by 1 − hc + (hc)²/2 per step and is stable for hc ≤ 2. Without velocity dependence nothing
/// changes: the step is symplectic and reversible.
///
/// `accel(t, q, v, a)` gets copies of q and v and may overwrite prescribed coordinates in them.
pub fn verlet_step<M: Manifold>(
    accel: &mut impl FnMut(f64, &mut [f64], &mut [f64], &mut [f64]),
    space: &M,
    t: f64,
    h: f64,
    q: &mut [f64],
    v: &mut [f64],
    work: &mut OdeWork,
) {
    fit(q, v, work);
    let OdeWork { stage, stage_v, u, k: a, .. } = work;
    stage.copy_from_slice(q);
    stage_v.copy_from_slice(v);
    accel(t, stage, stage_v, a);
    for i in 0..v.len() {
        let kick = 0.5 * h * a[i];
        v[i] += kick;
        u[i] = h * v[i];
        stage_v[i] = v[i] + kick;
    }
    space.advance(q, u);
    stage.copy_from_slice(q);
    accel(t + h, stage, stage_v, a);
    for i in 0..v.len() {
        v[i] += 0.5 * h * a[i];
    }
}

/// Both lengths are known from q and v, so the buffers take them from there.
fn fit(q: &[f64], v: &[f64], work: &mut OdeWork) {
    if (work.ny, work.nt) != (q.len(), v.len()) {
        work.resize(q.len(), v.len());
    }
    work.fit(q.len(), 1);
    work.stage_v.resize(v.len(), 0.0);
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::{DORMAND_PRINCE, Flat, runge_kutta_step};
    use super::*;

    type Accel = fn(f64, &mut [f64], &mut [f64], &mut [f64]);

    fn run(verlet: bool, mut accel: Accel, q0: f64, v0: f64, duration: f64, h: f64) -> [f64; 2] {
        let (mut q, mut v) = ([q0], [v0]);
        let mut work = OdeWork::new(1, 1);
        for i in 0..steps(duration, h) {
            let t = i as f64 * h;
            if verlet {
                verlet_step(&mut accel, &Flat, t, h, &mut q, &mut v, &mut work);
            } else {
                symplectic_euler_step(&mut accel, &Flat, t, h, &mut q, &mut v, &mut work);
            }
        }
        [q[0], v[0]]
    }

    /// The same problem as a first-order one, in small steps of order 5.
    fn reference(accel: Accel, q0: f64, v0: f64, duration: f64) -> [f64; 2] {
        let (mut y, mut work, n) = ([q0, v0], OdeWork::new(2, 2), 2000);
        let h = duration / f64::from(n);
        let mut rate = |t: f64, y: &mut [f64], dy: &mut [f64]| {
            let (q, v) = y.split_at_mut(1);
            dy[0] = v[0];
            accel(t, q, v, &mut dy[1..]);
        };
        for i in 0..n {
            runge_kutta_step(&DORMAND_PRINCE, &mut rate, &Flat, f64::from(i) * h, h, &mut y, &mut work);
        }
        y
    }

    fn spring(_t: f64, q: &mut [f64], _v: &mut [f64], a: &mut [f64]) {
        a[0] = -100.0 * q[0];
    }

    #[test]
    fn on_the_oscillator_the_steps_are_the_exact_recurrences() {
        // k = 100, m = 1, h = 0.01, 100 steps from (1, 0): recurrences evaluated with 30 digits.
        for (verlet, x, v) in
            [(false, -0.809384821133212, 5.482021195435137), (true, -0.8367949271103877, 5.468316142446549)]
        {
            let y = run(verlet, spring, 1.0, 0.0, 1.0, 0.01);
            assert!(((y[0] - x) / x).abs() < 1e-12 && ((y[1] - v) / v).abs() < 1e-12, "{verlet} {y:?}");
        }
    }

    #[test]
    fn symplectic_euler_keeps_its_modified_energy_to_rounding() {
        let (mut q, mut v, mut work) = ([1.0], [0.3], OdeWork::new(1, 1));
        let h = 0.05;
        let invariant = |q: f64, v: f64| v * v + 100.0 * q * q - h * 100.0 * q * v;
        let start = invariant(q[0], v[0]);
        for i in 0..10_000 {
            symplectic_euler_step(&mut spring, &Flat, f64::from(i) * h, h, &mut q, &mut v, &mut work);
            assert!((invariant(q[0], v[0]) / start - 1.0).abs() < 1e-11);
        }
    }

    #[test]
    fn verlet_run_backwards_returns_to_the_start() {
        let mut accel: Accel = |_, q, _, a| a[0] = -q[0].sin();
        let (mut q, mut v, mut work) = ([1.0], [0.4], OdeWork::new(1, 1));
        for h in [0.05, -0.05] {
            for _ in 0..400 {
                verlet_step(&mut accel, &Flat, 0.0, h, &mut q, &mut v, &mut work);
            }
        }
        assert!((q[0] - 1.0).abs() < 1e-12 && (v[0] - 0.4).abs() < 1e-12, "{q:?} {v:?}");
    }

    #[test]
    fn observed_orders_are_one_and_two_also_with_drag() {
        let pendulum: Accel = |_, q, _, a| a[0] = -q[0].sin();
        let linear_drag: Accel = |t, q, v, a| a[0] = -q[0].sin() - 0.8 * v[0] + (2.0 * t).cos();
        let quadratic_drag: Accel = |_, q, v, a| a[0] = -4.0 * q[0] - 0.5 * v[0].abs() * v[0];
        let cases = [
            ("spring", spring as Accel),
            ("pendulum", pendulum),
            ("drag", linear_drag),
            ("v|v| drag", quadratic_drag),
        ];
        for (name, accel) in cases {
            let exact = reference(accel, 1.0, 0.4, 2.0);
            for (verlet, expected, h) in [(false, 1.0, 1e-4), (true, 2.0, 1e-3)] {
                let order = observed_order(h, |h| distance(&run(verlet, accel, 1.0, 0.4, 2.0, h), &exact));
                assert!((order - expected).abs() < 0.1, "{name} verlet {verlet}: {order}");
            }
        }
    }

    #[test]
    fn with_the_half_way_velocity_in_the_second_kick_drag_would_be_of_first_order() {
        let error = |h: f64| {
            let mut v = 1.0;
            for _ in 0..steps(1.0, h) {
                v -= 0.5 * h * v;
                v -= 0.5 * h * v; // the naive second kick
            }
            (v - (-1.0_f64).exp()).abs()
        };
        assert!((observed_order(1e-3, error) - 1.0).abs() < 0.1);
    }

    #[test]
    fn verlet_turns_a_free_rigid_body_with_order_two() {
        // Euler's equations in body axes, moments of inertia 1, 2, 3.
        let mut accel = |_: f64, _: &mut [f64], w: &mut [f64], a: &mut [f64]| {
            a.copy_from_slice(&[-w[1] * w[2], w[2] * w[0], -w[0] * w[1] / 3.0]);
        };
        let space = Rotations { pulls_back: true };
        let mut at = |h: f64| {
            let (mut q, mut w, mut work) = ([1.0, 0.0, 0.0, 0.0], [0.3, 1.0, 0.2], OdeWork::new(4, 3));
            for _ in 0..steps(2.0, h) {
                verlet_step(&mut accel, &space, 0.0, h, &mut q, &mut w, &mut work);
            }
            [q[0], q[1], q[2], q[3], w[0], w[1], w[2]]
        };
        let (a, b, c) = (at(0.02), at(0.01), at(0.005));
        let order = (distance(&a, &b) / distance(&b, &c)).log2();
        assert!((order - 2.0).abs() < 0.1, "{order}");
    }
}
