//! Whether the step is too long for the springs: $h > 2/\omega$ with $\omega^2$ an eigenvalue of $M^{-1} K$.
//!
//! A Rayleigh quotient $y^T K y / y^T M y$ never exceeds the largest $\omega^2$, so a warning is never a false alarm
//! for an undamped linear system. The vector y comes from a few rounds of the power method,
//! $y \leftarrow C M^{-1} J^T K J y$, with the springs of the first state.

use dalembert::forces::Force;
use dalembert::mapping::{carry_all, gather_all};
use dalembert::math::{Random, dot};
use dalembert::step::{Integrator, Method, Simulation};

/// Rounds of the power method: many bring the quotient within a few percent of the largest ω², few (for scenes whose
/// build must not take longer than the rest of it) within a third.
fn rounds(particles: usize) -> usize {
    (1_000_000 / particles.max(1)).clamp(2, 24)
}

/// What is wrong with the step size, if anything.
pub(super) fn warning(sim: &Simulation) -> Option<String> {
    let Method::Explicit(explicit) = &sim.method else { return None };
    if explicit.integrator.is_adaptive() {
        return None;
    }
    let model = &*sim.model;
    let is_spring = |force: &dyn Force| matches!(force.kind(), "springs" | "angular_springs");
    let springs: Vec<_> = model.forces.iter().filter(|f| is_spring(&*f.force)).collect();
    // The mass matrix of generalized coordinates is not at hand here.
    if springs.is_empty() || !model.generalized.is_empty() {
        return None;
    }
    let (free, rigid) = (model.layout.nv, model.layout.rigid);
    let (pv, particles) = (model.layout.points_v(), 3 * model.layout.particles);
    let points = model.points(sim.state.time, &sim.state.q, &sim.state.v);
    let mut q = sim.state.q.clone();
    let (mut y, mut ky) = (vec![0.0; sim.state.v.len()], vec![0.0; sim.state.v.len()]);
    let mut random = Random::new(1);
    y[..free].iter_mut().for_each(|y| *y = random.unit() - 0.5);
    model.filters.apply(0, &mut y[pv..]);

    let (mut omega2, mut stiffest) = (0.0, None);
    let rounds = rounds(model.layout.particles);
    for round in 0..rounds {
        let size = y[..free].iter().fold(0.0, |m: f64, y| m.max(y.abs()));
        if size <= 0.0 || !size.is_finite() {
            return None;
        }
        y.iter_mut().for_each(|y| *y /= size);
        carry_all(&model.mappings, &mut q, &mut y);
        ky.fill(0.0);
        let mut largest = 0.0;
        for batch in &springs {
            let before = if round + 1 == rounds { dot(&y[pv..], &ky[pv..]) } else { 0.0 };
            batch.force.add_stiffness_times(&points, &y[pv..], &mut ky[pv..]);
            // Which springs hold most of the energy of this motion.
            let share = if round + 1 == rounds { dot(&y[pv..], &ky[pv..]) - before } else { 0.0 };
            if share > largest {
                (largest, stiffest) = (share, Some(batch.name.as_str()));
            }
        }
        gather_all(&model.mappings, &sim.state.q, &mut ky);
        let turning = 2.0 * model.rigid.kinetic(&sim.state.q[..7 * rigid], &y[..6 * rigid]);
        let straight: f64 = (0..particles).map(|i| points.mass[i / 3] * y[pv + i] * y[pv + i]).sum();
        let kinetic = turning + straight;
        if kinetic == 0.0 {
            return None;
        }
        omega2 = dot(&y[..free], &ky[..free]) / kinetic;
        model.rigid.solve_mass(&sim.state.q[..7 * rigid], &mut ky[..6 * rigid]);
        model.particles.solve_mass(0, &mut ky[pv..]);
        model.filters.apply(0, &mut ky[pv..]);
        std::mem::swap(&mut y, &mut ky);
    }

    // h ω ≤ 2 for the methods that keep energy; the region of RK4 reaches to 2√2 on the imaginary axis.
    let (limit, words) = match explicit.integrator {
        Integrator::Rk4 => (8f64.sqrt(), "2.83/ω"),
        _ => (2.0, "2/ω"),
    };
    let longest = limit / omega2.sqrt();
    // Not a number without stiffness: then there is no limit.
    (sim.dt > longest).then(|| {
        format!(
            "dt = {} s is longer than {words} = {longest:.3e} s, the stability limit of the springs `{}`: the motion will explode",
            sim.dt,
            stiffest.unwrap_or_default()
        )
    })
}
