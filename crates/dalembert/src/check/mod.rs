//! Checks that hold for any force, mapping, filter or integrator: public, so that users can put their own to them.
//!
//! Derivatives are compared with central differences extrapolated once (Richardson), error $O(e^4)$: with
//! $D(e) = (g(x + e) - g(x - e))/2e$ the value is $(4 D(e/2) - D(e))/3$. At the step used here both truncation and
//! rounding lie near 1e-11 of the function's scale, well below the 1e-7 that a wrong formula cannot reach.

pub mod samples;

use crate::filters::Filters;
use crate::forces::{Blocks, Force, Points};
use crate::mapping::Mapping;
use crate::math::{Random, Vec3, dot, norm, triple};

/// Relative step of the differences.
const STEP: f64 = 2e-4;

/// (4 D(e/2) − D(e))/3 for a scalar or vector function along a line.
fn slope(mut g: impl FnMut(f64) -> Vec<f64>, e: f64) -> Vec<f64> {
    let mut central = |e: f64| -> Vec<f64> {
        let (high, low) = (g(e), g(-e));
        high.iter().zip(&low).map(|(a, b)| (a - b) / (2.0 * e)).collect()
    };
    let (full, half) = (central(e), central(e / 2.0));
    full.iter().zip(&half).map(|(d, d2)| (4.0 * d2 - d) / 3.0).collect()
}

/// A number of directions that is enough to catch a wrong entry, yet does not grow with the system.
const DIRECTIONS: usize = 12;

fn directions(n: usize) -> Vec<Vec<f64>> {
    let mut random = Random::new(0x5eed);
    (0..DIRECTIONS).map(|_| (0..n).map(|_| random.between(-1.0, 1.0)).collect()).collect()
}

fn moved(a: &[f64], e: f64, y: &[f64]) -> Vec<f64> {
    a.iter().zip(y).map(|(a, y)| a + e * y).collect()
}

fn scale_of(p: &Points) -> f64 {
    STEP * typical_distance(p)
}

/// A length of the order of the distances between points, so that differences resolve them.
fn typical_distance(p: &Points) -> f64 {
    let n = p.len();
    let nearest = |i: usize| {
        (0..n)
            .filter(|&j| j != i)
            .map(|j| (p.position(i) - p.position(j)).norm())
            .filter(|d| *d > 0.0)
            .fold(f64::INFINITY, f64::min)
    };
    let least = (0..n.min(64)).map(nearest).fold(f64::INFINITY, f64::min);
    if least.is_finite() { least.min(1.0) } else { 1.0 }
}

/// Worst relative error of f·y against −dW/de along random directions y.
///
/// Relative to the larger of |f| here and at the ends of the difference, so that equilibria can be checked too.
pub fn force_against_energy(force: &dyn Force, p: &Points) -> f64 {
    let f = force_of(force, p);
    let e = scale_of(p);
    let mut worst = 0.0f64;
    for y in directions(p.x.len()) {
        let energy = |e: f64| vec![force.energy(&Points { x: &moved(p.x, e, &y), ..*p })];
        let wanted = -slope(energy, e)[0];
        let ahead = force_of(force, &Points { x: &moved(p.x, e, &y), ..*p });
        let scale = norm(&f).max(norm(&ahead)).max(1e-12) * norm(&y);
        worst = worst.max((dot(&f, &y) - wanted).abs() / scale);
    }
    worst
}

fn force_of(force: &dyn Force, p: &Points) -> Vec<f64> {
    let mut f = vec![0.0; p.x.len()];
    force.add_force(p, &mut f);
    f
}

/// Worst relative error of K y against −df/de along random directions y, and of the blocks against K y.
pub fn stiffness_against_force(force: &dyn Force, p: &Points) -> f64 {
    let mut blocks = Blocks::default();
    force.add_stiffness_blocks(p, &mut blocks);
    let mut worst = 0.0f64;
    for y in directions(p.x.len()) {
        let wanted = slope(|e| force_of(force, &Points { x: &moved(p.x, e, &y), ..*p }), scale_of(p));
        worst =
            worst.max(tangent_error(&wanted, &y, p, &blocks, |y, df| force.add_stiffness_times(p, y, df)));
    }
    worst
}

/// Worst relative error of B y against −df/de along random directions y of the velocity, and of the blocks.
pub fn damping_against_force(force: &dyn Force, p: &Points) -> f64 {
    let mut blocks = Blocks::default();
    force.add_damping_blocks(p, &mut blocks);
    let mut worst = 0.0f64;
    for y in directions(p.x.len()) {
        let wanted = slope(|e| force_of(force, &Points { v: &moved(p.v, e, &y), ..*p }), STEP);
        worst = worst.max(tangent_error(&wanted, &y, p, &blocks, |y, df| force.add_damping_times(p, y, df)));
    }
    worst
}

fn tangent_error(
    slope: &[f64],
    y: &[f64],
    p: &Points,
    blocks: &Blocks,
    times: impl Fn(&[f64], &mut [f64]),
) -> f64 {
    let (mut product, mut from_blocks) = (vec![0.0; p.x.len()], vec![0.0; p.x.len()]);
    times(y, &mut product);
    blocks.add_times(y, &mut from_blocks);
    let size = norm(&product).max(norm(slope)).max(1e-9);
    let wrong = product.iter().zip(slope).map(|(k, s)| (k + s).abs()).fold(0.0, f64::max);
    let apart = product.iter().zip(&from_blocks).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    (wrong / size).max(apart / size)
}

/// |Σ f| and |Σ x × f| of a batch, as fractions of Σ |f| and Σ |x| |f|.
pub fn internal_balance(force: &dyn Force, p: &Points) -> (f64, f64) {
    let f = force_of(force, p);
    let (mut sum, mut torque, mut size, mut arm) = (Vec3::zeros(), Vec3::zeros(), 0.0, 0.0);
    for i in 0..p.len() {
        let (x, f) = (p.position(i), triple(&f, i));
        sum += f;
        torque += x.cross(&f);
        size += f.norm();
        arm += x.norm() * f.norm();
    }
    (sum.norm() / f64::max(size, 1e-300), torque.norm() / f64::max(arm, 1e-300))
}

/// Power that a batch puts in \[W\]: f·v minus the power that stored energy gives back, −dW/dt. Never positive for a
/// force that is dissipative in a medium at rest.
pub fn dissipated_power(force: &dyn Force, p: &Points) -> f64 {
    let f = force_of(force, p);
    let energy = |e: f64| vec![force.energy(&Points { x: &moved(p.x, e, p.v), ..*p })];
    dot(&f, p.v) + slope(energy, STEP)[0]
}

/// Worst difference between the force in a turned scene and the turned force, relative to the force. The medium of
/// a drag and a field of gravity do not turn with the scene: only internal forces and central ones obey this law.
pub fn turning_error(force: &dyn Force, p: &Points) -> f64 {
    let R = nalgebra::Rotation3::from_euler_angles(0.3, -1.1, 2.0);
    let turn = |a: &[f64]| -> Vec<f64> {
        (0..a.len() / 3).flat_map(|i| (R * triple(a, i)).as_slice().to_vec()).collect()
    };
    let f = force_of(force, p);
    let g = force_of(force, &Points { x: &turn(p.x), v: &turn(p.v), ..*p });
    let turned = turn(&f);
    let apart: Vec<f64> = g.iter().zip(&turned).map(|(a, b)| a - b).collect();
    norm(&apart) / norm(&f).max(1e-300)
}

/// |f·(J v) − (Jᵀ f)·v| relative to |f| |J v|, over the given vector of coordinates; `free` velocities and the
/// carried ones after them.
pub fn mapping_power_error(
    mapping: &dyn Mapping,
    q: &[f64],
    len_v: usize,
    child: std::ops::Range<usize>,
) -> f64 {
    let mut worst = 0.0f64;
    for y in directions(2 * len_v) {
        let (mut v, mut f) = (y[..len_v].to_vec(), vec![0.0; len_v]);
        f[child.clone()].copy_from_slice(&y[len_v..][child.clone()]);
        mapping.carry_velocity(q, &mut v);
        let below = dot(&f[child.clone()], &v[child.clone()]);
        let size = norm(&f) * norm(&v[child.clone()]);
        mapping.gather_force(q, &mut f);
        let above = dot(&f[..child.start], &v[..child.start]);
        worst = worst.max((above - below).abs() / size.max(1e-300));
    }
    worst
}

/// Worst difference between J v and the finite-differenced rate of the carried positions, relative to |J v|.
pub fn mapping_velocity_error(mapping: &dyn Mapping, q: &[f64], child: std::ops::Range<usize>) -> f64 {
    let mut worst = 0.0f64;
    for y in directions(q.len()) {
        let mut v = y.clone();
        mapping.carry_velocity(q, &mut v);
        let carried = |e: f64| {
            let mut q = moved(q, e, &y);
            mapping.carry(&mut q);
            q[child.clone()].to_vec()
        };
        let rate = slope(carried, STEP);
        let apart: Vec<f64> = rate.iter().zip(&v[child.clone()]).map(|(a, b)| a - b).collect();
        worst = worst.max(norm(&apart) / norm(&v[child.clone()]).max(1e-300));
    }
    worst
}

/// Largest |C(C y) − C y| and |(C y)·z − y·(C z)| over random unit-sized vectors on `points` points.
pub fn filter_error(filters: &Filters, points: usize) -> f64 {
    let list = directions(3 * points);
    let mut worst = 0.0f64;
    for pair in list.windows(2) {
        let (mut once, mut other) = (pair[0].clone(), pair[1].clone());
        filters.apply(0, &mut once);
        let mut twice = once.clone();
        filters.apply(0, &mut twice);
        filters.apply(0, &mut other);
        let size = norm(&pair[0]) * norm(&pair[1]);
        worst = worst.max((dot(&once, &pair[1]) - dot(&pair[0], &other)).abs() / size);
        worst = worst.max(once.iter().zip(&twice).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max));
    }
    worst
}

/// Slope of log error over log h between neighbouring entries of a list (h, error): the observed order.
pub fn observed_orders(errors: &[(f64, f64)]) -> Vec<f64> {
    errors.windows(2).map(|w| (w[1].1 / w[0].1).ln() / (w[1].0 / w[0].0).ln()).collect()
}

/// What a run did to energy and momentum.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Audit {
    /// Largest |E − E₀| over the run \[J\].
    pub energy: f64,
    /// Largest |P − P₀| over the run \[kg·m/s\].
    pub momentum: f64,
    /// Largest |L − L₀| over the run, about the origin \[kg·m²/s\].
    pub angular_momentum: f64,
}

/// Runs a simulation and watches its energy and momenta after every step.
pub fn audit(sim: &mut crate::step::Simulation, steps: u64) -> Result<Audit, crate::step::StepError> {
    let e0 = sim.energy().total();
    let (p0, l0) = sim.model.momentum(&sim.state);
    let mut audit = Audit::default();
    for _ in 0..steps {
        sim.step()?;
        let (p, l) = sim.model.momentum(&sim.state);
        audit.energy = audit.energy.max((sim.energy().total() - e0).abs());
        audit.momentum = audit.momentum.max((p - p0).norm());
        audit.angular_momentum = audit.angular_momentum.max((l - l0).norm());
    }
    Ok(audit)
}
