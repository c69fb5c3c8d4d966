//! How fast errors fall: with the step size for fixed steps, with the tolerance for adaptive ones.

use dalembert::check;
use dalembert::prelude::*;
use dalembert::solve::ode::{self, Flat, OdeWork};

use super::{Outcome, Table, explicit, weightless};

/// Length of all runs here [s].
const DURATION: f64 = 2.0;

/// A nonlinear problem with forces of place, velocity and time: a comet in a wind of dust, and a probe tied to it by a
/// damped spring that is pushed to and fro.
fn problem(method: Method, dt: f64) -> Result<Simulation, dalembert::scene::BuildError> {
    let mut scene = weightless(method, dt);
    scene.add(ParticleSet::at("comet", [1.0, 0.0, 0.0]).velocity([0.0, 1.1, 0.1]));
    scene.add(ParticleSet::at("probe", [1.3, 0.2, 0.0]).velocity([0.1, 0.8, -0.2]).mass(0.4));
    let law = Attraction::Inverse { mu: 1.0, softening: 0.1 };
    scene.add(AttractorSet { name: "sun".into(), on: Vec::new(), center: Vec3::zeros(), law });
    let wind = Vec3::new(0.2, 0.0, 0.1);
    scene.add(DragSet { name: "dust".into(), on: Vec::new(), linear: 0.1, quadratic: 0.2, wind });
    scene.add(SpringSet::between("tie", "comet", "probe").stiffness(3.0).damping(0.2).rest_length(0.3));
    let signal = Signal::Sine { frequency: 0.3, phase: 0.5 };
    scene.add(PushSet {
        name: "jet".into(),
        on: vec!["probe".into()],
        force: Vec3::new(0.1, 0.2, 0.3),
        signal,
        ..PushSet::default()
    });
    scene.build()
}

fn run(method: Method, dt: f64) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let mut sim = problem(method, dt)?;
    sim.run(DURATION)?;
    Ok([sim.state.q, sim.state.v].concat())
}

/// Dormand and Prince with fixed steps, on the forces of the same model.
fn fixed_dormand_prince(dt: f64) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let sim = problem(Method::default(), dt)?;
    let (model, n) = (&sim.model, sim.model.layout.nv);
    let mut rate = |t: f64, y: &mut [f64], dy: &mut [f64]| {
        let (q, v) = y.split_at(n);
        dy[..n].copy_from_slice(v);
        model.forces_into(t, q, v, &[], &mut dy[n..]);
        model.particles.solve_mass(0, &mut dy[n..]);
    };
    let mut y = [&sim.state.q[..], &sim.state.v[..]].concat();
    let mut work = OdeWork::new(2 * n, 2 * n);
    for i in 0..(DURATION / dt).round() as usize {
        ode::runge_kutta_step(&ode::DORMAND_PRINCE, &mut rate, &Flat, i as f64 * dt, dt, &mut y, &mut work);
    }
    Ok(y)
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// The solution to about 1e-12; errors that are compared with it are 1e-9 and more.
fn exact() -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    run(explicit(Integrator::DormandPrince, 1e-14), DURATION)
}

pub(super) fn observed_orders(table: &mut Table) -> Outcome {
    let exact = exact()?;
    // Steps so small that the next term of the error, h times the leading one, stays below a few per cent, and so
    // large that the error stays well above rounding.
    let fixed = [
        (Integrator::Euler, 1.0, 1e-3),
        (Integrator::SymplecticEuler, 1.0, 1e-3),
        (Integrator::Midpoint, 2.0, 5e-3),
        (Integrator::Verlet, 2.0, 5e-3),
        (Integrator::Rk4, 4.0, 0.02),
    ];
    for (integrator, order, h) in fixed {
        let error = |h: f64| {
            Ok::<_, Box<dyn std::error::Error>>(distance(&run(explicit(integrator, 1.0), h)?, &exact))
        };
        let slope = check::observed_orders(&[(h, error(h)?), (h / 2.0, error(h / 2.0)?)])[0];
        table.absolute(integrator.name(), format!("order, h = {h} and {}", h / 2.0), slope, order, 0.1);
    }
    // Order 5 is seen as 5.34, 5.16, 5.08 from h = 0.1, 0.05, 0.025 on: the excess halves with h, as a next term of the
    // error does. The next halving would compare 5e-12 with 1e-13, which is rounding.
    let h = 0.025;
    let error = |h: f64| Ok::<_, Box<dyn std::error::Error>>(distance(&fixed_dormand_prince(h)?, &exact));
    let slope = check::observed_orders(&[(h, error(h)?), (h / 2.0, error(h / 2.0)?)])[0];
    table.absolute("dormand_prince, fixed steps", format!("order, h = {h} and {}", h / 2.0), slope, 5.0, 0.1);
    Ok(())
}

pub(super) fn adaptive_slopes(table: &mut Table) -> Outcome {
    let exact = exact()?;
    // Step doubling keeps h² ∝ tolerance and its global error ∝ h: slope ½, quartering the tolerance halves the
    // error. Dormand–Prince keeps h⁵ ∝ tolerance and its global error ∝ h⁵: slope 1. The second slope is the less
    // certain one: h changes from step to step by the same few per cent as the error in a power of five.
    let schemes = [
        (Integrator::EulerDoubling, 0.5, 0.05, [1e-4, 2.5e-5, 6.25e-6, 1.5625e-6, 3.90625e-7]),
        (Integrator::DormandPrince, 1.0, 0.1, [1e-5, 1e-6, 1e-7, 1e-8, 1e-9]),
    ];
    for (integrator, slope, allowed, tolerances) in schemes {
        let mut logs = Vec::new();
        for tolerance in tolerances {
            let error = distance(&run(explicit(integrator, tolerance), DURATION)?, &exact);
            // The error of a step is allowed in the mean over coordinates, and the steps add up: a few times
            // tolerance^slope is the size to expect, a hundred times would be a broken control.
            let quantity = format!("error at tolerance {tolerance:e}");
            table.absolute(integrator.name(), quantity, error, 0.0, 30.0 * tolerance.powf(slope));
            logs.push((tolerance.ln(), error.ln()));
        }
        table.absolute(
            integrator.name(),
            "slope of log error over log tolerance",
            fitted_slope(&logs),
            slope,
            allowed,
        );
    }
    Ok(())
}

/// Slope of the least-squares line through points (x, y).
fn fitted_slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (mx, my) = points.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
    let above: f64 = points.iter().map(|(x, y)| (x - mx) * (y - my)).sum();
    let below: f64 = points.iter().map(|(x, _)| (x - mx).powi(2)).sum();
    above / below
}
