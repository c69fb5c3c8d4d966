//! Checks that hold for any force, mapping, filter or integrator: public, so that users can put their own to them.
//!
//! Derivatives are compared with central differences extrapolated once (Richardson), error $O(e^4)$: with
//! $D(e) = (g(x + e) - g(x - e))/2e$ the value is $(4 D(e/2) - D(e))/3$. At the step used here both truncation and
//! rounding lie near 1e-11 of the function's scale, well below the 1e-7 that a wrong formula cannot reach.

mod critical;
mod elastic_box;
pub mod samples;
mod stable;

pub use critical::{MassRatio, critical_step, mass_ratio};
pub use elastic_box::{Cells, ElasticBox};
pub use stable::{StableStep, stability_limit, unstable_step};

use crate::filters::Filters;
use crate::forces::{Blocks, Force, Points, Tangent};
use crate::joints::{Body, Constraint, Rows};
use crate::mapping::Mapping;
use crate::math::rotation;
use crate::math::{Random, Vec3, dot, norm, triple};
use crate::state::Layout;

/// Relative step of the differences.
const STEP: f64 = 2e-4;

/// (4 D(e/2) − D(e))/3 for a scalar or vector function along a line.
fn derivative(mut g: impl FnMut(f64) -> Vec<f64>, e: f64) -> Vec<f64> {
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
        let wanted = -derivative(energy, e)[0];
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
        let wanted = derivative(|e| force_of(force, &Points { x: &moved(p.x, e, &y), ..*p }), scale_of(p));
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
        let wanted = derivative(|e| force_of(force, &Points { v: &moved(p.v, e, &y), ..*p }), STEP);
        worst = worst.max(tangent_error(&wanted, &y, p, &blocks, |y, df| force.add_damping_times(p, y, df)));
    }
    worst
}

fn tangent_error(
    derivative: &[f64],
    y: &[f64],
    p: &Points,
    blocks: &Blocks,
    times: impl Fn(&[f64], &mut [f64]),
) -> f64 {
    let (mut product, mut from_blocks) = (vec![0.0; p.x.len()], vec![0.0; p.x.len()]);
    times(y, &mut product);
    blocks.add_times(y, &mut from_blocks);
    let size = norm(&product).max(norm(derivative)).max(1e-9);
    let wrong = product.iter().zip(derivative).map(|(k, s)| (k + s).abs()).fold(0.0, f64::max);
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
    dot(&f, p.v) + derivative(energy, STEP)[0]
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

/// Moves coordinates along a velocity-like vector: q ⊕ u. Adding, for points; turning as well, for rigid bodies.
pub type Advance = dyn Fn(&[f64], &[f64]) -> Vec<f64>;

/// q + u: how points move.
pub fn add(q: &[f64], u: &[f64]) -> Vec<f64> {
    moved(q, 1.0, u)
}

/// Worst difference between J v and the finite-differenced rate of the carried positions along q ⊕ e v, relative to
/// |J v|; `child` is the child's place in velocity-like vectors.
pub fn mapping_velocity_error(
    mapping: &dyn Mapping,
    layout: &Layout,
    q: &[f64],
    child: std::ops::Range<usize>,
    advance: &Advance,
) -> f64 {
    let place = |i: usize| i - layout.points_v() + layout.points_q();
    let child_q = place(child.start)..place(child.end);
    let mut worst = 0.0f64;
    for y in directions(layout.len_v()) {
        let mut v = y.clone();
        mapping.carry_velocity(q, &mut v);
        let carried = |e: f64| {
            let mut q = advance(q, &scaled(e, &y));
            mapping.carry(&mut q);
            q[child_q.clone()].to_vec()
        };
        let rate = derivative(carried, STEP);
        let apart: Vec<f64> = rate.iter().zip(&v[child.clone()]).map(|(a, b)| a - b).collect();
        worst = worst.max(norm(&apart) / norm(&v[child.clone()]).max(1e-300));
    }
    worst
}

/// Worst difference between the geometric stiffness times y and the finite-differenced −d(Jᵀ f)/de along q ⊕ e y with
/// the child's forces f held fixed, relative to |Jᵀ f| |y|.
pub fn mapping_stiffness_error(
    mapping: &dyn Mapping,
    layout: &Layout,
    q: &[f64],
    child: std::ops::Range<usize>,
    advance: &Advance,
) -> f64 {
    let n = layout.len_v();
    let mut worst = 0.0f64;
    for random in directions(2 * n) {
        let (mut f, y) = (vec![0.0; n], &random[n..]);
        f[child.clone()].copy_from_slice(&random[child.clone()]);
        let gathered = |q: &[f64]| {
            let mut all = f.clone();
            mapping.gather_force(q, &mut all);
            all
        };
        let rate = derivative(|e| gathered(&advance(q, &scaled(e, y))), STEP);
        let mut product = vec![0.0; n];
        mapping.add_geometric_stiffness_times(q, &f, y, &mut product);
        let apart: Vec<f64> = rate.iter().zip(&product).map(|(a, b)| a + b).collect();
        worst = worst.max(norm(&apart) / (norm(&gathered(q)) * norm(y)).max(1e-300));
    }
    worst
}

/// Worst difference, over random vectors, between the blocks of J and J v, and between the geometric blocks and the
/// symmetric part of the geometric stiffness; relative. (0, 0) for a mapping that has no blocks.
pub fn mapping_block_errors(
    mapping: &dyn Mapping,
    layout: &Layout,
    q: &[f64],
    child: std::ops::Range<usize>,
) -> (f64, f64) {
    let n = layout.len_v();
    let mut J = Blocks::default();
    if !mapping.add_jacobian_blocks(q, &mut J) {
        return (0.0, 0.0);
    }
    let (mut worst_J, mut worst_K) = (0.0f64, 0.0f64);
    for random in directions(3 * n) {
        let (mut v, y, z) = (random[..n].to_vec(), &random[n..2 * n], &random[2 * n..]);
        let mut from_blocks = vec![0.0; n];
        J.add_times(&v, &mut from_blocks);
        mapping.carry_velocity(q, &mut v);
        let apart = child.clone().map(|i| (v[i] - from_blocks[i]).abs()).fold(0.0, f64::max);
        worst_J = worst_J.max(apart / norm(&v[child.clone()]).max(1e-300));

        let mut f = vec![0.0; n];
        f[child.clone()].copy_from_slice(&random[child.clone()]);
        let mut K = Blocks::default();
        mapping.add_geometric_blocks(q, &f, &mut K);
        let (mut Ky, mut Kz, mut blocks) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        mapping.add_geometric_stiffness_times(q, &f, y, &mut Ky);
        mapping.add_geometric_stiffness_times(q, &f, z, &mut Kz);
        K.add_times(y, &mut blocks);
        // zᵀ sym(K) y = (zᵀ K y + yᵀ K z)/2.
        let wanted = 0.5 * (dot(z, &Ky) + dot(y, &Kz));
        let size = (norm(&Ky) * norm(z) + norm(&Kz) * norm(y)).max(1e-300);
        worst_K = worst_K.max((dot(z, &blocks) - wanted).abs() / size);
    }
    (worst_J, worst_K)
}

/// Worst relative difference of the exact tangent (cached product and blocks) from K y, for conservative forces; and the lowest eigenvalue of the
/// projected tangent as a fraction of the largest, with its cached product and blocks compared as well.
pub fn tangent_errors(force: &dyn Force, p: &Points) -> (f64, f64) {
    let n = p.x.len();
    let mut worst = 0.0f64;
    let mut lowest = 0.0f64;
    for tangent in [Tangent::Exact, Tangent::Projected] {
        let (mut cache, mut blocks) = (Vec::new(), Blocks::default());
        force.linearize(p, tangent, &mut cache);
        force.add_tangent_blocks(p, tangent, &mut blocks);
        let mut H = nalgebra::DMatrix::zeros(n, n);
        for (i, j, block) in &blocks.entries {
            let mut place = H.fixed_view_mut::<3, 3>(3 * *i as usize, 3 * *j as usize);
            place += block;
        }
        for y in directions(n) {
            let (mut exact, mut product) = (vec![0.0; n], vec![0.0; n]);
            force.add_stiffness_times(p, &y, &mut exact);
            force.add_tangent_times(p, &cache, &y, &mut product);
            let by_blocks = &H * nalgebra::DVector::from_column_slice(&y);
            let size = norm(&product).max(norm(&exact)).max(1e-9);
            let apart = |a: &[f64]| a.iter().zip(&product).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            worst = worst.max(apart(by_blocks.as_slice()) / size);
            // A damper that turns is left out of the tangent, which is symmetric.
            if tangent == Tangent::Exact && force.is_conservative() {
                worst = worst.max(apart(&exact) / size);
            }
        }
        if tangent == Tangent::Projected {
            let values = ((&H + H.transpose()) * 0.5).symmetric_eigenvalues();
            lowest = values.min() / values.amax().max(1e-300);
        }
    }
    (worst, lowest)
}

fn scaled(e: f64, y: &[f64]) -> Vec<f64> {
    y.iter().map(|y| e * y).collect()
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

/// Bodies after s seconds of straight flight: x + s v, exp(s ω) R; velocities constant.
fn flown(bodies: &[Body], s: f64) -> Vec<Body> {
    bodies
        .iter()
        .map(|b| Body { x: b.x + b.v * s, R: rotation::matrix(&rotation::exp(&(b.w * s))) * b.R, ..*b })
        .collect()
}

/// Worst error of A v + C_t and of J̇q̇ against the first and second derivative of C along straight flight (no
/// accelerations), relative to the size of the velocities: (rate, bias).
pub fn constraint_errors(constraint: &dyn Constraint, bodies: &[Body], t: f64) -> (f64, f64) {
    let m = constraint.rows();
    let at = |s: f64| {
        let moved = flown(bodies, s);
        let mut out = Rows::default();
        let turns = constraint.coordinates(bodies, &[0.0, 0.0]).map(|c| c.unwrap_or(0.0));
        constraint.evaluate(t + s, &moved, &turns, &mut out);
        out
    };
    let here = at(0.0);
    let value = |s: f64| at(s).violation[..m].to_vec();
    let rate = derivative(value, 1e-3);
    // The rate itself is exact by then, so its derivative is C̈ along the flight.
    let speed = |s: f64| {
        let (out, moved) = (at(s), flown(bodies, s));
        (0..m).map(|row| out.rate(row, &moved) + out.drift[row]).collect()
    };
    let bend = derivative(speed, 1e-3);
    let size = bodies.iter().map(|b| b.v.norm() + b.w.norm()).fold(1.0, f64::max);
    let (mut worst_rate, mut worst_bias) = (0.0f64, 0.0f64);
    for row in 0..m {
        let exact = here.rate(row, bodies) + here.drift[row];
        worst_rate = worst_rate.max((exact - rate[row]).abs() / size);
        worst_bias = worst_bias.max((here.bias[row] - bend[row]).abs() / (size * size));
    }
    (worst_rate, worst_bias)
}

/// Largest |λ·(A v)| over velocities that the constraint allows (A v = 0, found by projecting random ones), relative
/// to |Aᵀ λ| |v|: the work of its forces along allowed motion.
pub fn constraint_work(constraint: &dyn Constraint, bodies: &[Body], t: f64) -> f64 {
    let (m, n) = (constraint.rows(), 6 * bodies.len());
    let mut out = Rows::default();
    let turns = constraint.coordinates(bodies, &[0.0, 0.0]).map(|c| c.unwrap_or(0.0));
    constraint.evaluate(t, bodies, &turns, &mut out);
    let A = nalgebra::DMatrix::from_fn(m, n, |i, j| out.jacobian[j / 6][6 * i + j % 6]);
    let svd = A.clone().svd(false, true);
    let Some(forbidden) = &svd.v_t else { return f64::NAN };
    let mut worst = 0.0f64;
    for y in directions(n + m) {
        let v = nalgebra::DVector::from_column_slice(&y[..n]);
        let lambda = nalgebra::DVector::from_column_slice(&y[n..]);
        // Rows of Vᵀ with a singular value above rounding span what the constraint forbids.
        let mut allowed = v.clone();
        for (k, sigma) in svd.singular_values.iter().enumerate() {
            if *sigma > 1e-12 {
                let row = forbidden.row(k).transpose();
                allowed -= &row * row.dot(&allowed);
            }
        }
        let force = A.transpose() * lambda;
        worst = worst.max(force.dot(&allowed).abs() / (force.norm() * allowed.norm()).max(1e-300));
    }
    worst
}
