//! How long a step may be for springs and elements whose forces a method takes at the start of the step.
//!
//! On one undamped mode $\ddot x = -\omega^2 x$ symplectic Euler and Verlet are stable while $h\omega < 2$, classical
//! Runge–Kutta while $h\omega < 2\sqrt2$. With a damping rate c symplectic Euler is stable while
//! $h^2\omega^2 + 2hc < 4$ (see [`critical_step`](super::critical_step)). The largest $\omega^2$ of a scene is the largest
//! eigenvalue of $M^{-1}K$, and a Rayleigh quotient $y^TKy/y^TMy$ never exceeds it, so a warning is never a false alarm
//! for what stays near its start. The vector y comes from a few rounds of the power method on $C M^{-1} J^T(h^2K + 2hB)J$,
//! everything taken at the first state.

use crate::forces::Force;
use crate::mapping::{carry_all, gather_all};
use crate::math::{Random, dot};
use crate::model::Model;
use crate::state::State;
use crate::step::{Integrator, Method};

/// The longest stable step of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct StableStep {
    /// The step \[s\]; the true limit may be a little shorter, never longer.
    pub longest: f64,
    /// Name of the forces that hold most of the energy of the fastest motion.
    pub stiffest: String,
}

/// Largest h ω for which a method keeps an undamped vibration bounded whose forces it takes at the start of the step.
/// Explicit Euler and the midpoint rule keep none bounded, but gain slowly below 2. None for methods that take them at its end, or that choose their inner steps.
pub fn stability_limit(method: &Method) -> Option<f64> {
    match (method, method.integrator()) {
        (Method::Impulse(impulse), _) => Some(2.0 * f64::from(impulse.substeps.max(1))),
        (Method::Explicit(_) | Method::Lagrange(_), Some(Integrator::Rk4)) => Some(8f64.sqrt()),
        (Method::Explicit(_) | Method::Lagrange(_), Some(integrator)) if !integrator.is_adaptive() => {
            Some(2.0)
        }
        _ => None,
    }
}

/// True if the method is symplectic Euler for forces: then damping shortens the step as well.
fn is_symplectic_euler(method: &Method) -> bool {
    matches!(method, Method::Impulse(_)) || method.integrator() == Some(Integrator::SymplecticEuler)
}

/// Rounds of the power method: many bring the quotient within a few percent of the largest ω², few (for scenes whose
/// build must not take longer than the rest of it) within a third.
fn rounds(particles: usize) -> usize {
    (1_000_000 / particles.max(1)).clamp(2, 24)
}

/// Pairs cost too much here, and nobody knows what a closure holds.
fn takes_part(force: &dyn Force) -> bool {
    !matches!(force.kind(), "all_pairs" | "near_pairs" | "point_closure" | "tuple_closure" | "python")
}

/// The longest step, if steps of h seconds are longer than that; none as well where it is not known.
pub fn unstable_step(method: &Method, model: &Model, state: &State, h: f64) -> Option<StableStep> {
    let limit = stability_limit(method)?;
    let forces: Vec<_> = model.forces.iter().filter(|f| takes_part(&*f.force)).collect();
    // The mass matrices of generalized coordinates and of points that share inertia are not at hand here.
    if forces.is_empty() || !model.generalized.is_empty() || !model.particles.shared.is_empty() {
        return None;
    }
    // Of an inner step.
    let inner = h * 2.0 / limit;
    let damped = is_symplectic_euler(method);
    let (free, rigid, pv) = (model.layout.nv, model.layout.rigid, model.layout.points_v());
    let points = model.points(state.time, &state.q, &state.v);
    let mut q = state.q.clone();
    let n = model.layout.robots_v();
    let (mut y, mut ky) = (vec![0.0; n], vec![0.0; n]);
    let mut scaled = vec![0.0; n - pv];
    let mut random = Random::new(1);
    y[..free].iter_mut().for_each(|y| *y = random.unit() - 0.5);
    model.filters.apply(0, &mut y[pv..]);

    let rounds = rounds(model.layout.particles);
    for round in 1..=rounds {
        let size = y[..free].iter().fold(0.0, |m: f64, y| m.max(y.abs()));
        if size <= 0.0 || !size.is_finite() {
            return None;
        }
        y.iter_mut().for_each(|y| *y /= size);
        carry_all(&model.mappings, &mut q, &mut y);
        ky.fill(0.0);
        // h² y·K y, 2 h y·B y, and which forces hold most of both.
        let (mut stiff, mut slow, mut most) = (0.0, 0.0, (0.0, ""));
        for batch in &forces {
            let before = dot(&y[pv..], &ky[pv..]);
            scaled.iter_mut().zip(&y[pv..]).for_each(|(s, y)| *s = inner * inner * y);
            batch.force.add_stiffness_times(&points, &scaled, &mut ky[pv..]);
            let between = dot(&y[pv..], &ky[pv..]);
            if damped && !batch.force.is_conservative() {
                scaled.iter_mut().zip(&y[pv..]).for_each(|(s, y)| *s = 2.0 * inner * y);
                batch.force.add_damping_times(&points, &scaled, &mut ky[pv..]);
            }
            let after = dot(&y[pv..], &ky[pv..]);
            (stiff, slow) = (stiff + between - before, slow + after - between);
            if after - before > most.0 {
                most = (after - before, batch.name.as_str());
            }
        }
        if round == rounds {
            let kinetic = 2.0
                * (model.rigid.kinetic(&state.q[..7 * rigid], &y[..6 * rigid])
                    + model.particles.kinetic(&y[pv..]));
            let (stiff, slow) = (stiff / kinetic, slow / kinetic);
            // Rounding leaves a quotient at the limit on either side of it.
            if !(stiff + slow > 4.0 * (1.0 + 1e-9)) {
                return None;
            }
            // The part x of the step with x² stiff + x slow = 4.
            let part = 8.0 / (slow + (slow * slow + 16.0 * stiff.max(0.0)).sqrt());
            return Some(StableStep { longest: part * h, stiffest: most.1.into() });
        }
        gather_all(&model.mappings, &state.q, &mut ky);
        model.rigid.solve_mass(&state.q[..7 * rigid], &mut ky[..6 * rigid]);
        model.particles.solve_mass(0, &mut ky[pv..]);
        model.filters.apply(0, &mut ky[pv..]);
        std::mem::swap(&mut y, &mut ky);
    }
    None
}
