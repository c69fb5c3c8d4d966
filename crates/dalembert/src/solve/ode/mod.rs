//! Ordinary differential equations $\dot y = f(t, y)$ on a space that need not be flat.
//!
//! | form | steps |
//! |---|---|
//! | first order, fixed step | [`runge_kutta_step`] with [`EULER`], [`MIDPOINT`], [`RK4`], [`DORMAND_PRINCE`] |
//! | first order, step chosen by the error | [`integrate_adaptive`] with [`AdaptiveMethod`] |
//!
//! A point has `y.len()` coordinates and a velocity has as many as there are degrees of freedom: a
//! rotation kept as a quaternion has 4 and 3. A [`Manifold`] says how an increment moves a point.
//!
//! **What a rate closure may do.** It receives the stage point as `&mut` because it may overwrite
//! coordinates that are prescribed functions of time before it evaluates. What it gets is a copy: the
//! overwritten values are seen by that one evaluation, and the caller sets prescribed coordinates in the
//! result himself. Apart from that the closure must be a function of its arguments; the adaptive driver
//! then gives the same bits whether a rate is computed again or remembered. Book: "Solvers".
//!
//! ```
//! use dalembert::solve::ode::*;
//!
//! // y'' = −y from (1, 0) until t = 3, to about ten digits.
//! let mut rate = |_t: f64, y: &mut [f64], dy: &mut [f64]| dy.copy_from_slice(&[y[1], -y[0]]);
//! let options = AdaptiveOptions::new(AdaptiveMethod::DormandPrince, 1e-11);
//! let (mut y, mut controller, mut work) = ([1.0, 0.0], Controller::default(), OdeWork::new(2, 2));
//! let report = integrate_adaptive(
//!     &options, &mut rate, &mut flat_magnitude, &Flat, 0.0, 3.0, &mut y, &mut controller, &mut work,
//! )?;
//! assert!((y[0] - 3.0_f64.cos()).abs() < 1e-9 && report.accepted > 10);
//! # Ok::<(), OdeError>(())
//! ```

mod adaptive;
mod dense;
mod runge_kutta;
mod step_size;

pub use adaptive::{
    AdaptiveOptions, AdaptiveReport, OdeError, flat_magnitude, integrate_adaptive,
    integrate_adaptive_observed,
};
pub use dense::DenseStep;
pub use runge_kutta::{DORMAND_PRINCE, EULER, MIDPOINT, RK4, Tableau, runge_kutta_step};
pub use step_size::{AdaptiveMethod, Controller, Tolerance};

/// Space on which an ODE lives.
pub trait Manifold {
    /// y ← y ⊕ u, where u is a tangent increment at y. Flat space: y += u.
    ///
    /// Along a fixed direction this is a flow: (y ⊕ a u) ⊕ b u = y ⊕ (a + b) u.
    fn advance(&self, y: &mut [f64], u: &[f64]);

    /// k ← dexp⁻¹_u k: turns a tangent vector at y ⊕ u into the rate of the chart coordinate u.
    ///
    /// Flat space: nothing. It is never called with u = 0 on behalf of the first stage.
    fn pull_back(&self, _u: &[f64], _k: &mut [f64]) {}
}

/// The space of plain vectors: y ⊕ u = y + u.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flat;

impl Manifold for Flat {
    fn advance(&self, y: &mut [f64], u: &[f64]) {
        for (y, u) in y.iter_mut().zip(u) {
            *y += u;
        }
    }
}

/// Buffers of the integrators. It may be dropped between calls without changing a result.
#[derive(Clone, Debug, Default)]
pub struct OdeWork {
    ny: usize,
    nt: usize,
    /// Stage point handed to the rate closure, which may overwrite it.
    stage: Vec<f64>,
    /// Chart coordinate of the stage; scratch of the dense output.
    u: Vec<f64>,
    /// Chart rates, one row of `nt` numbers per stage.
    k: Vec<f64>,
    /// Rate of the last stage before it was pulled back: the first rate of the next step.
    last_rate: Vec<f64>,
    /// Start, middle (step doubling) and end of the adaptive step, and its chart increment.
    y0: Vec<f64>,
    y_mid: Vec<f64>,
    y1: Vec<f64>,
    increment: Vec<f64>,
    /// Magnitudes at the start and the end of the adaptive step; its error estimate.
    m0: Vec<f64>,
    m1: Vec<f64>,
    error: Vec<f64>,
    /// What the rows of `k` belong to, if the last call was adaptive and ended well.
    last_step: Option<dense::LastStep>,
}

impl OdeWork {
    /// Buffers for points of `ny` coordinates and tangents of `nt`.
    pub fn new(ny: usize, nt: usize) -> Self {
        let empty = Vec::new;
        Self {
            ny,
            nt,
            stage: empty(),
            u: empty(),
            k: empty(),
            last_rate: empty(),
            y0: empty(),
            y_mid: empty(),
            y1: empty(),
            increment: empty(),
            m0: empty(),
            m1: empty(),
            error: empty(),
            last_step: None,
        }
    }

    /// Changes both lengths; memory is taken at the next step if more is needed.
    pub fn resize(&mut self, ny: usize, nt: usize) {
        (self.ny, self.nt) = (ny, nt);
        self.last_step = None;
    }

    /// The tangent coordinate to look at after [`OdeError::NonFinite`]: the first whose rate was not finite, else the
    /// one with the largest error in the last step tried.
    pub fn culprit(&self) -> Option<usize> {
        let bad = |a: &[f64]| a.iter().position(|x| !x.is_finite());
        let rates = self.k.chunks_exact(self.nt.max(1)).find_map(bad);
        rates.or_else(|| bad(&self.error)).or_else(|| {
            let largest = self.error.iter().enumerate().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
            largest.map(|(i, _)| i)
        })
    }

    /// Sizes the buffers of a step with this many stages. Takes no memory once warm.
    fn fit(&mut self, ny: usize, stages: usize) {
        debug_assert_eq!(self.ny, ny, "OdeWork was made for points of another length");
        self.ny = ny;
        self.stage.resize(ny, 0.0);
        self.u.resize(self.nt, 0.0);
        self.last_rate.resize(self.nt, 0.0);
        self.k.resize(stages * self.nt, 0.0);
        self.last_step = None;
    }

    fn fit_adaptive(&mut self, ny: usize, stages: usize) {
        self.fit(ny, stages);
        for buffer in [&mut self.y0, &mut self.y_mid, &mut self.y1] {
            buffer.resize(ny, 0.0);
        }
        for buffer in [&mut self.increment, &mut self.m0, &mut self.m1, &mut self.error] {
            buffer.resize(self.nt, 0.0);
        }
    }
}

/// u ← h Σ wⱼ kⱼ over the rows kⱼ of `k`; zero weights are left out.
fn combine(h: f64, weights: &[f64], k: &[f64], u: &mut [f64]) {
    u.fill(0.0);
    if u.is_empty() {
        return;
    }
    for (w, k_j) in weights.iter().zip(k.chunks_exact(u.len())) {
        if *w != 0.0 {
            for (u, k) in u.iter_mut().zip(k_j) {
                *u += w * k;
            }
        }
    }
    for u in u.iter_mut() {
        *u *= h;
    }
}

fn all_finite(x: &[f64]) -> bool {
    x.iter().all(|x| x.is_finite())
}

/// Problems with known answers and a rotation group, for the tests of this folder.
#[cfg(test)]
mod testing {
    use super::Manifold;

    /// Observed order of convergence between the two step sizes.
    pub(crate) fn observed_order(h: f64, error: impl Fn(f64) -> f64) -> f64 {
        (error(h) / error(0.5 * h)).log2()
    }

    pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    pub(crate) fn steps(duration: f64, h: f64) -> usize {
        (duration / h).round() as usize
    }

    pub(crate) fn cross(a: &[f64], b: &[f64]) -> [f64; 3] {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    }

    /// SO(3) as unit quaternions w, x, y, z; tangents are turned in body axes: q ⊕ u = q exp(u/2).
    pub(crate) struct Rotations {
        /// Whether `pull_back` does its work; without it the scheme is the naive one.
        pub pulls_back: bool,
    }

    impl Manifold for Rotations {
        fn advance(&self, y: &mut [f64], u: &[f64]) {
            let angle = (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]).sqrt();
            let s = if angle < 1e-8 { 0.5 } else { (0.5 * angle).sin() / angle };
            let (bw, b) = ((0.5 * angle).cos(), [s * u[0], s * u[1], s * u[2]]);
            let (aw, a) = (y[0], [y[1], y[2], y[3]]);
            let ab = cross(&a, &b);
            y[0] = aw * bw - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
            for i in 0..3 {
                y[1 + i] = aw * b[i] + bw * a[i] + ab[i];
            }
        }

        /// Body rates: u̇ = ω + ½ u×ω + c u×(u×ω), c = (1 − (φ/2) cot(φ/2))/φ², φ = |u|.
        fn pull_back(&self, u: &[f64], k: &mut [f64]) {
            if !self.pulls_back {
                return;
            }
            let angle2 = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
            let c = if angle2 < 1e-4 {
                1.0 / 12.0 + angle2 / 720.0
            } else {
                let half = 0.5 * angle2.sqrt();
                (1.0 - half / half.tan()) / angle2
            };
            let uk = cross(u, k);
            let uuk = cross(u, &uk);
            for i in 0..3 {
                k[i] += 0.5 * uk[i] + c * uuk[i];
            }
        }
    }

    /// Body angular velocity that depends on time and on the attitude q.
    pub(crate) fn tumbling(t: f64, q: &mut [f64], w: &mut [f64]) {
        // World z axis in body axes (third row of R).
        let z = [
            2.0 * (q[1] * q[3] - q[0] * q[2]),
            2.0 * (q[2] * q[3] + q[0] * q[1]),
            1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2]),
        ];
        w[0] = 1.0 + 0.8 * z[1] + 0.5 * t.sin();
        w[1] = -0.7 * z[2] * z[0] + (1.3 * t).cos();
        w[2] = 0.6 + z[0] - 0.4 * t;
    }

    /// Right side of the plane Kepler problem, μ = 1, y = (x, y, vx, vy).
    pub(crate) fn kepler(_t: f64, y: &mut [f64], dy: &mut [f64]) {
        let r3 = (y[0] * y[0] + y[1] * y[1]).powf(1.5);
        dy.copy_from_slice(&[y[2], y[3], -y[0] / r3, -y[1] / r3]);
    }
}
