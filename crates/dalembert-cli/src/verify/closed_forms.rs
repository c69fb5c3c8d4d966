//! Small problems whose motion can be written down.

use std::f64::consts::TAU;

use dalembert::prelude::*;

use super::{Outcome, Table, explicit, frequency, weightless};

/// Tolerance of adaptive runs below; their answers are compared at 1e-9, three decades above, because errors of many
/// steps add up.
const TIGHT: f64 = 1e-12;

/// z = z₀ + v₀ t − ½ g t². Schemes of order 2 and more are exact on a parabola; Euler sums v at the start of each step
/// and symplectic Euler at its end, so that t² becomes t(t − h) and t(t + h).
pub(super) fn free_fall(table: &mut Table) -> Outcome {
    let (z0, v0, g, t, h) = (3.0, 4.0, 9.81, 1.0, 0.01);
    for (name, integrator) in Integrator::ALL {
        let mut scene = Scene { method: explicit(*integrator, 1e-6), dt: h, ..Scene::default() };
        scene.add(ParticleSet::at("stone", [0.0, 0.0, z0]).velocity([0.0, 0.0, v0]).mass(0.3));
        let mut sim = scene.build()?;
        sim.run(t)?;
        let square = match integrator {
            Integrator::Euler => t * (t - h),
            Integrator::SymplecticEuler => t * (t + h),
            _ => t * t,
        };
        // A hundred steps round a hundred times; step doubling is off by a few √tolerance (see `adaptive_slopes`).
        let tolerance = if *integrator == Integrator::EulerDoubling { 1e-2 } else { 1e-13 };
        table.relative(name, "z after 1 s", sim.state.q[2], z0 + v0 * t - 0.5 * g * square, tolerance);
        table.relative(name, "vz after 1 s", sim.state.v[2], v0 - g * t, 1e-13);
    }
    Ok(())
}

/// m v̇ = m g − c v² from rest: v = u tanh(g t/u), fall (u²/g) ln cosh(g t/u), u = √(m g/c).
pub(super) fn terminal_velocity(table: &mut Table) -> Outcome {
    let (m, c, g, t) = (0.2, 0.05, 9.81, 1.5);
    let u = f64::sqrt(m * g / c);
    let (fall, speed) = (u * u / g * (g * t / u).cosh().ln(), u * (g * t / u).tanh());
    // RK4 at h = 1 ms: h⁴ times derivatives of order 10 stays below 1e-9.
    for integrator in [Integrator::Rk4, Integrator::DormandPrince] {
        let mut scene = Scene { method: explicit(integrator, TIGHT), dt: 1e-3, ..Scene::default() };
        scene.add(ParticleSet::at("ball", [0.0, 0.0, 0.0]).mass(m));
        scene.add(DragSet { name: "air".into(), quadratic: c, ..DragSet::default() });
        let mut sim = scene.build()?;
        sim.run(t)?;
        table.relative(integrator.name(), "z after 1.5 s", sim.state.q[2], -fall, 1e-9);
        table.relative(integrator.name(), "vz after 1.5 s", sim.state.v[2], -speed, 1e-9);
    }
    Ok(())
}

/// m ẍ = −k x − c ẋ from x₀ at rest: x = x₀ e^(−δt) (cos ωt + (δ/ω) sin ωt), δ = c/2m, ω² = k/m − δ².
pub(super) fn damped_oscillator(table: &mut Table) -> Outcome {
    let (m, k, c, x0, t) = (0.5, 40.0, 0.6, 0.1, 2.0);
    let d = c / (2.0 * m);
    let w = f64::sqrt(k / m - d * d);
    let (sin, cos) = (w * t).sin_cos();
    let decay = (-d * t).exp();
    let (x, v) = (x0 * decay * (cos + d / w * sin), -x0 * decay * (d * d + w * w) / w * sin);
    let mut scene = weightless(explicit(Integrator::DormandPrince, TIGHT), t);
    scene.add(ParticleSet::at("hook", [0.0, 0.0, 0.0]));
    scene.add(ParticleSet::at("mass", [1.0 + x0, 0.0, 0.0]).mass(m));
    scene.add(SpringSet::between("spring", "hook", "mass").stiffness(k).damping(c).rest_length(1.0));
    scene.add(Fix::points("hook"));
    let mut sim = scene.build()?;
    sim.step()?;
    table.absolute("dormand_prince", "stretch after 2 s", sim.state.q[3] - 1.0, x, 1e-9);
    table.absolute("dormand_prince", "velocity after 2 s", sim.state.v[3], v, 1e-9);
    Ok(())
}

/// m ẍ = −k x + F sin Ωt swings with the amplitude F/(k − mΩ²). The force is a push, or F = k a through a spring whose
/// hook moves as a sin Ωt. Started on that motion, the mass must stay on it.
pub(super) fn driven_oscillator(table: &mut Table) -> Outcome {
    let (m, k, a, hertz, t): (f64, f64, f64, f64, f64) = (0.5, 40.0, 0.02, 2.0, 1.3);
    let w = TAU * hertz;
    let amplitude = k * a / (k - m * w * w);
    let signal = Signal::Sine { frequency: hertz, phase: 0.0 };
    for moved in [true, false] {
        let mut scene = weightless(explicit(Integrator::DormandPrince, TIGHT), t);
        scene.add(ParticleSet::at("hook", [0.0, 0.0, 0.0]));
        scene.add(ParticleSet::at("mass", [1.0, 0.0, 0.0]).mass(m).velocity([amplitude * w, 0.0, 0.0]));
        scene.add(SpringSet::between("spring", "hook", "mass").stiffness(k));
        let what = if moved {
            let motion = Motion::Signal { amplitude: Vec3::x() * a, signal: signal.clone() };
            scene.add(MotionSet::new("hook", motion));
            "moved hook: displacement after 1.3 s"
        } else {
            scene.add(Fix::points("hook"));
            let on = vec!["mass".to_string()];
            scene.add(PushSet {
                name: "shaker".into(),
                on,
                force: Vec3::x() * (k * a),
                signal: signal.clone(),
                ..PushSet::default()
            });
            "pushed mass: displacement after 1.3 s"
        };
        let mut sim = scene.build()?;
        sim.step()?;
        table.absolute("dormand_prince", what, sim.state.q[3] - 1.0, amplitude * (w * t).sin(), 1e-9);
    }
    Ok(())
}

/// Two masses at distance d on circles about their centre of mass: ω² = G(m₁ + m₂)/d³.
pub(super) fn two_body(table: &mut Table) -> Outcome {
    let (G, m1, m2, d): (f64, f64, f64, f64) = (2.0, 3.0, 1.0, 1.5);
    let w = (G * (m1 + m2) / d.powi(3)).sqrt();
    let (r1, r2) = (d * m2 / (m1 + m2), d * m1 / (m1 + m2));
    let period = TAU / w;
    let stars = |method: Method, dt: f64| {
        let mut scene = weightless(method, dt);
        scene.add(ParticleSet::at("big", [r1, 0.0, 0.0]).mass(m1).velocity([0.0, r1 * w, 0.0]));
        scene.add(ParticleSet::at("small", [-r2, 0.0, 0.0]).mass(m2).velocity([0.0, -r2 * w, 0.0]));
        let law = PairLaw::Gravitation { constant: G, softening: 0.0 };
        scene.add(PairForce { name: "pull".into(), on: Vec::new(), law, reach: Reach::All });
        scene.build()
    };
    let mut sim = stars(explicit(Integrator::DormandPrince, TIGHT), period)?;
    let start = sim.state.clone();
    sim.step()?;
    let off = sim.state.q.iter().zip(&start.q).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    table.absolute("dormand_prince", "way off the start after one period", off, 0.0, 1e-9);
    // Verlet turns by (ωh)²/24 too fast or slow per radian and keeps the circle: 4e-7 at 2000 steps.
    let mut sim = stars(explicit(Integrator::Verlet, 1.0), period / 2000.0)?;
    let audit = dalembert::check::audit(&mut sim, 20_000)?;
    // Opposite forces are opposite to the bit; what is left is the rounding of 20 000 sums.
    table.absolute("verlet", "momentum lost in ten periods", audit.momentum, 0.0, 1e-12);
    table.absolute("verlet", "angular momentum lost in ten periods", audit.angular_momentum, 0.0, 1e-11);
    Ok(())
}

/// The last of three points in a line swings across it: W = ½ k θ², θ = y/L, so ω² = k/(m L²). At θ₀ = 1e-3 the
/// arm's change of length shifts ω by a few θ₀² only, and Verlet by (ωh)²/24 = 3e-6.
pub(super) fn angular_spring(table: &mut Table) -> Outcome {
    let (m, k, L, y0): (f64, f64, f64, f64) = (0.2, 5.0, 0.5, 5e-4);
    let w = (k / (m * L * L)).sqrt();
    let mut scene = weightless(explicit(Integrator::Verlet, 1.0), 8e-3 / w);
    let line = [0.0, 1.0, 2.0].map(|i| Vec3::new(i * L, 0.0, 0.0));
    scene.add(ParticleSet::new("wire", Arrangement::Positions(line.to_vec())).mass(m));
    scene.add(AngularSpringSet { along: Some("wire".into()), stiffness: k, ..AngularSpringSet::default() });
    scene.add(Fix::points("wire[0:2]"));
    scene.add(Fix::direction("wire[2]", [1.0, 0.0, 0.0]));
    let mut sim = scene.build()?;
    sim.state.q[7] = y0;
    let found = frequency(&mut sim, 60.0 / w, |s| s.q[7])?;
    table.relative("verlet", "angular frequency", found, w, 1e-5);
    Ok(())
}

/// φ = 4ε((σ/r)¹² − (σ/r)⁶) is lowest where (σ/r)⁶ = ½, and there φ'' = 4ε(156/4 − 42/2)/r² = 72 ε/(2^⅓ σ²), which is
/// 57.146 ε/σ². So ω² = φ''/μ with the reduced mass μ. A swing of 1e-4 σ shifts ω by 5/48 (φ'''a/φ'')² ≈ 4e-7.
pub(super) fn lennard_jones_dimer(table: &mut Table) -> Outcome {
    let (eps, sigma, m1, m2): (f64, f64, f64, f64) = (0.7, 0.3, 2.0, 0.5);
    let r = 2f64.powf(1.0 / 6.0) * sigma;
    let w = (72.0 * eps / (2f64.cbrt() * sigma * sigma) * (m1 + m2) / (m1 * m2)).sqrt();
    for (reach, what) in [(Reach::All, "all pairs"), (Reach::Within(40.0 * sigma), "near pairs")] {
        let mut scene = weightless(explicit(Integrator::Verlet, 1.0), 8e-3 / w);
        scene.add(ParticleSet::at("a", [0.0, 0.0, 0.0]).mass(m1));
        scene.add(ParticleSet::at("b", [r + 1e-4 * sigma, 0.0, 0.0]).mass(m2));
        let law = PairLaw::LennardJones { epsilon: eps, sigma };
        scene.add(PairForce { name: "bond".into(), on: Vec::new(), law, reach });
        let mut sim = scene.build()?;
        let found = frequency(&mut sim, 60.0 / w, |s| s.q[3] - s.q[0] - r)?;
        // Verlet shifts ω by (ωh)²/24 = 3e-6; a cut at 40 σ shifts the force by 1e-9 of itself.
        table.relative("verlet", format!("{what}: angular frequency"), found, w, 1e-5);
    }
    Ok(())
}

/// Two equal soft balls meet head on: they trade velocities after touching for π √(μ/k), half a swing of the spring
/// between them.
pub(super) fn soft_collision(table: &mut Table) -> Outcome {
    let (m, k, diameter, v): (f64, f64, f64, f64) = (0.2, 500.0, 0.1, 1.5);
    let touching = std::f64::consts::PI * (0.5 * m / k).sqrt();
    let mut scene = weightless(explicit(Integrator::Verlet, 1.0), touching / 2000.0);
    scene.add(ParticleSet::at("a", [-diameter, 0.0, 0.0]).mass(m).velocity([v, 0.0, 0.0]));
    scene.add(ParticleSet::at("b", [diameter, 0.0, 0.0]).mass(m));
    let law = PairLaw::SoftRepulsion { stiffness: k, diameter };
    let reach = Reach::Within(diameter);
    scene.add(PairForce { name: "touch".into(), on: Vec::new(), law, reach });
    let mut sim = scene.build()?;
    // They meet after d/v, at −d + d = 0 and d; b leaves at once with v, so at the end it is v (t − d/v − touching)
    // from where both left, plus what it moved meanwhile: the centre's v/2 for the time of touching.
    let t = diameter / v + 2.0 * touching;
    sim.run(t)?;
    let t = sim.state.time;
    let b = diameter + 0.5 * v * touching + v * (t - diameter / v - touching);
    // The force has corners where touching begins and ends: there, and inside, Verlet errs by h²: (π/2000)² = 2e-6.
    table.absolute("verlet", "vx of the ball that came", sim.state.v[0], 0.0, 1e-5);
    table.relative("verlet", "vx of the ball that was hit", sim.state.v[3], v, 1e-5);
    table.relative("verlet", "x of the ball that was hit", sim.state.q[3], b, 1e-5);
    Ok(())
}
