//! Explicit Runge–Kutta steps in the chart centred at $y_n$ (Munthe-Kaas 1998).
//!
//! $u_i = h \sum_j a_{ij} k_j$, $y_i = y_n \oplus u_i$, $k_i = \mathrm{dexp}^{-1}_{u_i} f(t_n + c_i h, y_i)$,
//! $y_{n+1} = y_n \oplus h \sum_i b_i k_i$. In flat space this is the classical scheme. Book: "Solvers".

use super::{Manifold, OdeWork, combine};

/// Coefficients of an explicit Runge–Kutta scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tableau {
    /// Name for reports.
    pub name: &'static str,
    /// Order of the error over a fixed time.
    pub order: u32,
    /// Stage weights: row i has the i weights of the stages before it.
    pub a: &'static [&'static [f64]],
    /// Weights of the result.
    pub b: &'static [f64],
    /// Stage times as fractions of the step.
    pub c: &'static [f64],
    /// Weights of a second result of lower order, for an error estimate.
    pub b_embedded: Option<&'static [f64]>,
}

/// Explicit Euler, order 1.
pub static EULER: Tableau =
    Tableau { name: "Euler", order: 1, a: &[&[]], b: &[1.0], c: &[0.0], b_embedded: None };

/// Explicit midpoint, order 2.
pub static MIDPOINT: Tableau = Tableau {
    name: "midpoint",
    order: 2,
    a: &[&[], &[0.5]],
    b: &[0.0, 1.0],
    c: &[0.0, 0.5],
    b_embedded: None,
};

/// The classical scheme of Kutta (1901), order 4.
pub static RK4: Tableau = Tableau {
    name: "RK4",
    order: 4,
    a: &[&[], &[0.5], &[0.0, 0.5], &[0.0, 0.0, 1.0]],
    b: &[1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0],
    c: &[0.0, 0.5, 0.5, 1.0],
    b_embedded: None,
};

/// Dormand and Prince (1980), order 5 with an embedded result of order 4; the last stage is the next first one.
pub static DORMAND_PRINCE: Tableau = Tableau {
    name: "Dormand-Prince",
    order: 5,
    a: &[
        &[],
        &[1.0 / 5.0],
        &[3.0 / 40.0, 9.0 / 40.0],
        &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
        &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
        &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
        &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
    ],
    b: &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0, 0.0],
    c: &[0.0, 0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0],
    b_embedded: Some(&[
        5179.0 / 57600.0,
        0.0,
        7571.0 / 16695.0,
        393.0 / 640.0,
        -92097.0 / 339200.0,
        187.0 / 2100.0,
        1.0 / 40.0,
    ]),
};

/// One step of size `h` from (t, y), in place.
///
/// `rate(t, y, dy)` writes the tangent `dy`, whose length is that of `work` and may differ from
/// `y.len()`. It may overwrite prescribed coordinates of the point it is given, which is a copy.
pub fn runge_kutta_step<M: Manifold>(
    tableau: &Tableau,
    rate: &mut impl FnMut(f64, &mut [f64], &mut [f64]),
    space: &M,
    t: f64,
    h: f64,
    y: &mut [f64],
    work: &mut OdeWork,
) {
    work.fit(y.len(), tableau.b.len());
    stages(tableau, 0, rate, space, t, h, y, work);
    combine(h, tableau.b, &work.k, &mut work.u);
    space.advance(y, &work.u);
}

/// Fills the rows of `work.k` from stage `first` on. Afterwards `work.u` is the chart coordinate of the last
/// stage and `work.last_rate` its rate before it was pulled back.
pub(super) fn stages<M: Manifold>(
    tableau: &Tableau,
    first: usize,
    rate: &mut impl FnMut(f64, &mut [f64], &mut [f64]),
    space: &M,
    t: f64,
    h: f64,
    y: &[f64],
    work: &mut OdeWork,
) {
    let OdeWork { nt, stage, u, k, last_rate, .. } = work;
    for (i, (a_i, c_i)) in tableau.a.iter().zip(tableau.c).enumerate().skip(first) {
        let (before, rest) = k.split_at_mut(i * *nt);
        let k_i = &mut rest[..*nt];
        stage.copy_from_slice(y);
        if a_i.is_empty() {
            // u = 0: y ⊕ 0 = y and dexp⁻¹_0 = 1, without rounding.
            rate(t + c_i * h, stage, k_i);
            last_rate.copy_from_slice(k_i);
        } else {
            combine(h, a_i, before, u);
            space.advance(stage, u);
            rate(t + c_i * h, stage, k_i);
            last_rate.copy_from_slice(k_i);
            space.pull_back(u, k_i);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Flat;
    use super::super::testing::*;
    use super::*;

    const ALL: [&Tableau; 4] = [&EULER, &MIDPOINT, &RK4, &DORMAND_PRINCE];

    fn run(
        tableau: &Tableau,
        mut rate: impl FnMut(f64, &mut [f64], &mut [f64]),
        space: &impl Manifold,
        y0: &[f64],
        nt: usize,
        duration: f64,
        h: f64,
    ) -> Vec<f64> {
        let mut y = y0.to_vec();
        let mut work = OdeWork::new(y.len(), nt);
        let n = steps(duration, h);
        let h = duration / n as f64;
        for i in 0..n {
            runge_kutta_step(tableau, &mut rate, space, i as f64 * h, h, &mut y, &mut work);
        }
        y
    }

    fn oscillator(_t: f64, y: &mut [f64], dy: &mut [f64]) {
        dy.copy_from_slice(&[y[1], -100.0 * y[0]]);
    }

    #[test]
    fn tableaus_satisfy_the_row_sums_and_the_order_conditions_of_quadrature() {
        for tableau in ALL {
            for (row, c) in tableau.a.iter().zip(tableau.c) {
                assert!((row.iter().sum::<f64>() - c).abs() < 1e-14, "{}", tableau.name);
            }
            // Σ bᵢ cᵢ^(p−1) = 1/p up to the order, and up to one less for the embedded weights.
            for (weights, order) in
                [(Some(tableau.b), tableau.order), (tableau.b_embedded, tableau.order - 1)]
            {
                let Some(weights) = weights else { continue };
                for p in 1..=order as i32 {
                    let sum: f64 = weights.iter().zip(tableau.c).map(|(b, c)| b * c.powi(p - 1)).sum();
                    assert!((sum - 1.0 / f64::from(p)).abs() < 1e-14, "{} p={p}", tableau.name);
                }
            }
        }
    }

    #[test]
    fn on_the_oscillator_the_steps_are_the_exact_recurrences() {
        // k = 100, m = 1, h = 0.01, 100 steps from (1, 0): recurrences evaluated with 30 digits.
        for (tableau, x, v) in
            [(&EULER, -1.408846982916018, 8.485069287577792), (&RK4, -0.8390754644130647, 5.440137662487728)]
        {
            let y = run(tableau, oscillator, &Flat, &[1.0, 0.0], 2, 1.0, 0.01);
            assert!(
                ((y[0] - x) / x).abs() < 1e-12 && ((y[1] - v) / v).abs() < 1e-12,
                "{} {y:?}",
                tableau.name
            );
        }
        // Any explicit scheme of order p ≤ 4 with p stages multiplies by the Taylor polynomial of exp(hA).
        for tableau in [&EULER, &MIDPOINT, &RK4] {
            let (h, mut z) = (0.01, [1.0, 0.0]);
            for _ in 0..100 {
                let (mut term, mut sum) = (z, z);
                for p in 1..=tableau.order {
                    let s = h / f64::from(p);
                    term = [s * term[1], -100.0 * s * term[0]];
                    sum = [sum[0] + term[0], sum[1] + term[1]];
                }
                z = sum;
            }
            let y = run(tableau, oscillator, &Flat, &[1.0, 0.0], 2, 1.0, 0.01);
            assert!(distance(&y, &z) < 1e-12, "{}: {y:?} {z:?}", tableau.name);
        }
    }

    #[test]
    fn observed_orders_on_the_oscillator_are_the_nominal_ones() {
        let exact = [(10.0_f64).cos(), -10.0 * (10.0_f64).sin()];
        for (tableau, h) in ALL.into_iter().zip([1e-5, 1e-3, 2e-3, 2e-3]) {
            let order = observed_order(h, |h| {
                distance(&run(tableau, oscillator, &Flat, &[1.0, 0.0], 2, 1.0, h), &exact)
            });
            assert!((order - f64::from(tableau.order)).abs() < 0.1, "{}: {order}", tableau.name);
        }
    }

    #[test]
    fn observed_orders_on_a_nonlinear_problem_with_explicit_time_are_the_nominal_ones() {
        // y' = −2 t y², y(0) = 1: y = 1/(1 + t²). (For order 5 the tumbling body below does the same.)
        let rate = |t: f64, y: &mut [f64], dy: &mut [f64]| dy[0] = -2.0 * t * y[0] * y[0];
        for (tableau, h) in [(&EULER, 1e-4), (&MIDPOINT, 1e-2), (&RK4, 2e-2)] {
            let order = observed_order(h, |h| (run(tableau, rate, &Flat, &[1.0], 1, 2.0, h)[0] - 0.2).abs());
            assert!((order - f64::from(tableau.order)).abs() < 0.1, "{}: {order}", tableau.name);
        }
    }

    #[test]
    fn observed_orders_on_a_kepler_orbit_are_the_nominal_ones() {
        // e = 0.6 at t = 1 and t = 10: Kepler's equation with 30 digits.
        let at_1 = [-0.6289481768266242, 0.7996647309700393, -0.9825156909388113, -0.02276317009743042];
        let at_10 = [-1.535023591909814, -0.2836684064997809, 0.2271507320774983, -0.4791877582032196];
        for (tableau, t, exact, h) in [
            (&EULER, 1.0, at_1, 1e-5),
            (&MIDPOINT, 1.0, at_1, 2e-4),
            (&RK4, 10.0, at_10, 2.5e-3),
            (&DORMAND_PRINCE, 10.0, at_10, 1e-2),
        ] {
            let order = observed_order(h, |h| {
                distance(&run(tableau, kepler, &Flat, &[0.4, 0.0, 0.0, 2.0], 4, t, h), &exact)
            });
            assert!((order - f64::from(tableau.order)).abs() < 0.1, "{}: {order}", tableau.name);
        }
    }

    #[test]
    fn on_rotations_the_order_stays_with_the_pull_back_and_falls_to_two_without() {
        let start = [1.0, 0.0, 0.0, 0.0];
        let space = Rotations { pulls_back: true };
        let exact = run(&DORMAND_PRINCE, tumbling, &space, &start, 3, 2.0, 1e-3);
        assert!((distance(&exact, &[0.0; 4]) - 1.0).abs() < 1e-12);
        for (tableau, pulls_back, expected) in [
            (&EULER, true, 1.0),
            (&MIDPOINT, true, 2.0),
            (&RK4, true, 4.0),
            (&DORMAND_PRINCE, true, 5.0),
            (&RK4, false, 2.0),
            (&DORMAND_PRINCE, false, 2.0),
        ] {
            let space = Rotations { pulls_back };
            let h = if expected > 2.5 { 0.02 } else { 1e-3 };
            let order =
                observed_order(h, |h| distance(&run(tableau, tumbling, &space, &start, 3, 2.0, h), &exact));
            assert!((order - expected).abs() < 0.1, "{} {pulls_back}: {order}", tableau.name);
        }
    }

    #[test]
    fn prescribed_coordinates_may_be_overwritten_in_the_stage_point() {
        // x' = s where s = cos t is prescribed: x = sin t although the state's own s is nonsense.
        let rate = |t: f64, y: &mut [f64], dy: &mut [f64]| {
            y[1] = t.cos();
            dy.copy_from_slice(&[y[1], 0.0]);
        };
        let y = run(&RK4, rate, &Flat, &[0.0, 123.0], 2, 1.0, 0.05);
        assert!((y[0] - 1.0_f64.sin()).abs() < 1e-8 && y[1] == 123.0);
    }
}
