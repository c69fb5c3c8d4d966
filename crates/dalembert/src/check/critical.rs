//! How long a step may be before spring-damper joints explode, and how unequal masses are.
//!
//! Symplectic Euler on one mode with $\omega^2$ and damping rate c is $v^+ = v - h(\omega^2 x + c v)$,
//! $x^+ = x + h v^+$, with the characteristic polynomial $z^2 - (2 - h^2\omega^2 - hc)\,z + (1 - hc)$. A root leaves the
//! unit circle through −1 when $h^2\omega^2 + 2hc = 4$. For joints with rows A, gains $K_p, K_d$ and the inverse masses
//! this is $h^2 M^{-1}A^TK_pA + 2h M^{-1}A^TK_dA$ reaching the eigenvalue 4; that matrix has the eigenvalues of
//! $W^{1/2} A M^{-1} A^T W^{1/2}$ with $W = h^2K_p + 2hK_d$. With one joint of equal gains: $\omega^2 = k_p d$,
//! $c = k_d d$, d the largest eigenvalue of $A M^{-1} A^T$.

use crate::joints::{Hold, Holder, NamedConstraint, Role, Rows};
use crate::math::{Mat3, Random, Vec3, dot, norm};
use crate::model::Model;
use crate::state::State;

/// One row: its gains, and for each body its number and what multiplies velocity and angular velocity.
struct Row {
    kp: f64,
    kd: f64,
    parts: Vec<(usize, [f64; 6])>,
}

/// Gains of a constraint that is a spring-damper.
fn gains(entry: &NamedConstraint) -> Option<(f64, f64)> {
    match entry.hold {
        Hold::Gains { kp, kd } => Some((kp, kd)),
        Hold::Axis { role: Role::Servo { kp, kd, .. }, .. } => Some((kp, kd)),
        Hold::Axis { role: Role::Lower(_) | Role::Upper(_), kp, kd } if kp.is_finite() => Some((kp, kd)),
        _ => None,
    }
}

/// Largest stable step of symplectic Euler for the spring-damper joints of a model, near a state \[s\]; `None` if it
/// has none. Limits count as if they were reached.
pub fn critical_step(model: &Model, state: &State) -> Option<f64> {
    let mut holders: Vec<Holder> = Vec::new();
    for c in &model.constraints {
        holders.extend(c.constraint.holders().iter().filter(|h| **h != Holder::World));
    }
    holders.sort_unstable();
    holders.dedup();
    let mut rows = Vec::new();
    for entry in &model.constraints {
        let Some((kp, kd)) = gains(entry) else { continue };
        if state.broken[entry.joint] {
            continue;
        }
        let mut out = Rows::default();
        let held = entry.constraint.holders();
        let bodies: Vec<_> = held.iter().map(|h| model.body(*h, &state.q, &state.v)).collect();
        entry.constraint.evaluate(state.time, &bodies, &state.turns[entry.turns.clone()], &mut out);
        for row in 0..entry.constraint.rows() {
            let part = |(slot, h): (usize, &Holder)| {
                let node = holders.binary_search(h).ok()?;
                Some((node, std::array::from_fn(|k| out.jacobian[slot][6 * row + k])))
            };
            rows.push(Row { kp, kd, parts: held.iter().enumerate().filter_map(part).collect() });
        }
    }
    if rows.is_empty() {
        return None;
    }
    let inverse: Vec<[Mat3; 2]> = holders.iter().map(|h| inverse_mass(model, state, *h)).collect();
    // The eigenvalue grows with h: bisect its logarithm.
    let stable = |h: f64| largest_eigenvalue(&rows, &inverse, h) < 4.0;
    let (mut low, mut high) = (1e-12f64, 1e6f64);
    if !stable(low) || stable(high) {
        return if stable(low) { None } else { Some(0.0) };
    }
    while high / low > 1.0 + 1e-9 {
        let middle = (low * high).sqrt();
        if stable(middle) { low = middle } else { high = middle }
    }
    Some(low)
}

/// M⁻¹ of one body, linear and angular, in world axes.
fn inverse_mass(model: &Model, state: &State, holder: Holder) -> [Mat3; 2] {
    match holder {
        Holder::World => [Mat3::zeros(), Mat3::zeros()],
        Holder::Rigid(k) => {
            let k = k as usize;
            let linear = Mat3::from_diagonal_element(1.0 / model.rigid.mass[k]);
            [linear, model.rigid.world_inv_inertia(&state.q, k)]
        }
        Holder::Particle(i) => {
            let free = model.filters.block(i as usize).unwrap_or_else(Mat3::identity);
            [free / model.particles.mass[i as usize], Mat3::zeros()]
        }
    }
}

/// Largest eigenvalue of W^½ A M⁻¹ Aᵀ W^½ by the power method.
fn largest_eigenvalue(rows: &[Row], inverse: &[[Mat3; 2]], h: f64) -> f64 {
    const ROUNDS: usize = 200;
    let w: Vec<f64> = rows.iter().map(|r| (h * h * r.kp + 2.0 * h * r.kd).sqrt()).collect();
    let mut random = Random::new(1);
    let mut y: Vec<f64> = rows.iter().map(|_| random.unit() + 0.1).collect();
    let mut f = vec![[Vec3::zeros(); 2]; inverse.len()];
    let mut last = 0.0;
    for _ in 0..ROUNDS {
        let size = norm(&y);
        if size == 0.0 {
            return 0.0;
        }
        y.iter_mut().for_each(|y| *y /= size);
        f.fill([Vec3::zeros(); 2]);
        for ((row, w), y) in rows.iter().zip(&w).zip(&y) {
            for (node, a) in &row.parts {
                f[*node][0] += Vec3::new(a[0], a[1], a[2]) * (w * y);
                f[*node][1] += Vec3::new(a[3], a[4], a[5]) * (w * y);
            }
        }
        for (f, inverse) in f.iter_mut().zip(inverse) {
            *f = [inverse[0] * f[0], inverse[1] * f[1]];
        }
        let times = |(row, w): (&Row, &f64)| {
            let part = |(node, a): &(usize, [f64; 6])| {
                let v = &f[*node];
                dot(&a[..3], v[0].as_slice()) + dot(&a[3..], v[1].as_slice())
            };
            w * row.parts.iter().map(part).sum::<f64>()
        };
        let next: Vec<f64> = rows.iter().zip(&w).map(times).collect();
        let value = dot(&y, &next);
        y = next;
        if (value - last).abs() <= 1e-13 * value {
            return value;
        }
        last = value;
    }
    last
}

/// The lightest and the heaviest thing that joints hold.
#[derive(Debug, Clone, PartialEq)]
pub struct MassRatio {
    /// Heaviest over lightest.
    pub ratio: f64,
    /// Name of the lightest.
    pub lightest: String,
    /// Name of the heaviest.
    pub heaviest: String,
}

/// How unequal the masses are that joints hold; `None` if joints hold fewer than two things.
pub fn mass_ratio(model: &Model) -> Option<MassRatio> {
    let mut found: Vec<(f64, Holder)> = Vec::new();
    for h in model.constraints.iter().flat_map(|c| c.constraint.holders()) {
        match *h {
            Holder::World => {}
            Holder::Rigid(k) => found.push((model.rigid.mass[k as usize], *h)),
            Holder::Particle(i) => found.push((model.particles.mass[i as usize], *h)),
        }
    }
    let light = found.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let heavy = found.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    if light.1 == heavy.1 {
        return None;
    }
    let name = |h: Holder| {
        let at = match h {
            Holder::World => return String::from("world"),
            Holder::Rigid(k) => 6 * k as usize,
            Holder::Particle(i) => model.layout.points_v() + 3 * i as usize,
        };
        model.owner(at).0
    };
    Some(MassRatio { ratio: heavy.0 / light.0, lightest: name(light.1), heaviest: name(heavy.1) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    /// A heavy and a light particle on a rod with gains, and a body on a soft hinge.
    fn scene(dt: f64) -> Simulation {
        let mut scene = Scene { dt, gravity: Vec3::zeros(), ..Scene::default() };
        scene.add(ParticleSet::at("a", [0.0; 3]).mass(2.0));
        scene.add(ParticleSet::at("b", [1.0, 0.0, 0.0]).mass(0.5).velocity([1e-6, 0.0, 0.0]));
        let rod = JointItem::new("rod", JointKind::Distance { length: None }, "a", "b");
        scene.add(rod.soft(1000.0, 3.0));
        scene.build().unwrap()
    }

    #[test]
    fn the_critical_step_is_the_root_of_its_quadratic() {
        let sim = scene(1e-3);
        let d = 1.0 / 2.0 + 1.0 / 0.5;
        let (w2, c) = (1000.0 * d, 3.0 * d);
        let exact = (-c + (c * c + 4.0 * w2).sqrt()) / w2;
        let h = critical_step(&sim.model, &sim.state).unwrap();
        assert!((h / exact - 1.0).abs() < 1e-8, "{h} against {exact}");
        assert_eq!(mass_ratio(&sim.model).unwrap().ratio, 4.0);
        assert_eq!(mass_ratio(&sim.model).unwrap().lightest, "b");
    }

    #[test]
    fn below_the_critical_step_motion_stays_and_above_it_explodes() {
        let h = critical_step(&scene(1e-3).model, &scene(1e-3).state).unwrap();
        for (factor, stays) in [(0.99, true), (1.01, false)] {
            let mut sim = scene(factor * h);
            sim.run(3000.0 * factor * h).unwrap();
            let stretch = (sim.state.q[3] - sim.state.q[0] - 1.0).abs();
            assert_eq!(stretch < 1e-4, stays, "{factor}: {stretch:e}");
        }
    }
}
