//! Laws of whole problems.

use super::*;
use crate::math::{Mat3, Random};

fn body(v: Vec3, inv_mass: f64) -> BodyState {
    let I = Mat3::new(3.0, 0.1, 0.0, 0.1, 2.0, 0.2, 0.0, 0.2, 1.0);
    BodyState::new(&v, &Vec3::zeros(), inv_mass, &I)
}

/// A heavy body that 100 others touch, each of which also touches the world: more colours than there are.
fn star() -> Problem {
    let n = 101;
    let mut problem = Problem { bodies: vec![BodyState::default()], ..Problem::default() };
    for k in 0..n {
        let v = Vec3::new(0.1 * f64::from(k).sin(), 0.2, -1.0 + 0.01 * f64::from(k));
        problem.bodies.push(body(v, if k == 0 { 0.01 } else { 1.0 }));
    }
    for k in 2..=n {
        for other in [1, WORLD] {
            let first = problem.points.len();
            for i in 0..k % 4 + 1 {
                let arm = Vec3::new(0.1 * f64::from(i), 0.05, -0.1);
                problem.points.push(PointConstraint::new(&arm, -1e-3, &Vec3::zeros()));
            }
            let offset = Vec3::new(0.0, 0.0, if other == WORLD { 0.0 } else { 0.3 });
            let law = SurfaceLaw { friction: 0.5, restitution: 0.0, velocity: Vec3::zeros() };
            let own = first..problem.points.len();
            problem.manifolds.push(ManifoldConstraint::new([k, other], own, &Vec3::z(), &offset, &law));
        }
    }
    problem.start = problem.bodies.iter().map(|b| [b.v, b.w]).collect();
    problem
}

fn momentum(bodies: &[BodyState]) -> Vec3 {
    bodies.iter().filter(|b| b.inv_mass() > 0.0).map(|b| vec3(&b.v) / b.inv_mass()).sum()
}

const HARD: NormalLaw = NormalLaw {
    inv_delta: 1e3,
    bias_rate: 0.0,
    push_speed: 1.0,
    slop: 0.0,
    mass_scale: 1.0,
    impulse_scale: 1.0,
};

#[test]
fn impulses_change_momentum_by_their_sum_and_lie_in_the_cone() {
    let Problem { mut bodies, start, manifolds, mut points, .. } = star();
    let before = momentum(&bodies);
    let mut contacts = Contacts::default();
    contacts.prepare_and_warm_start(&mut bodies, &start, &manifolds, &points);
    let first = contacts.relax_and_measure(&mut bodies, &HARD);
    for _ in 0..300 {
        contacts.relax(&mut bodies, &HARD, true);
    }
    let last = contacts.relax_and_measure(&mut bodies, &HARD);
    assert!(last < 1e-3 * first, "{first} {last}");
    let pressed = contacts.store_impulses(&mut points);
    assert_eq!(pressed as usize, points.iter().filter(|c| c.total() != Vec3::zeros()).count());
    let mut sum = Vec3::zeros();
    for m in &manifolds {
        for c in &points[m.points()] {
            let p = c.impulse();
            assert!(p.z >= 0.0 && p.x.hypot(p.y) <= 0.5 * p.z * (1.0 + 1e-12));
            if m.bodies[1] == WORLD {
                sum += p;
            }
        }
    }
    assert!(sum.z > 10.0, "{sum:?}");
    assert!((momentum(&bodies) - before - sum).norm() < 1e-9, "{sum:?}");
}

/// Bodies at random places, pressed into each other and onto the world.
fn random_problem(random: &mut Random) -> (Problem, Vec<Vec3>) {
    let n = 2 + random.between(0.0, 6.0) as u32;
    let mut vector = |size: f64| Vec3::from_fn(|_, _| random.between(-size, size));
    let mut problem = Problem { bodies: vec![BodyState::default()], ..Problem::default() };
    for k in 0..n {
        let M = Mat3::from_columns(&[vector(0.5), vector(0.5), vector(0.5)]);
        let I = M * M.transpose() + 2.0 * Mat3::identity();
        problem.bodies.push(BodyState::new(&vector(1.0), &vector(1.0), 0.5 + 0.2 * f64::from(k), &I));
    }
    let mut offsets = Vec::new();
    for k in 1..=n {
        for other in [WORLD, 1 + k % n] {
            let normal = if other == WORLD { Vec3::z() } else { vector(1.0).normalize() };
            let offset = if other == WORLD { Vec3::zeros() } else { vector(0.2) };
            let (center, first) = (-0.4 * normal, problem.points.len());
            for i in 0..(k + other) % 4 + 1 {
                let across = vector(0.3);
                let arm = center + across - normal * normal.dot(&across);
                let gap = if i == 3 { 1e-3 } else { 0.0 };
                problem.points.push(PointConstraint::new(&arm, gap, &Vec3::zeros()));
            }
            let across = vector(0.1);
            let law = SurfaceLaw {
                friction: 0.1 + 0.2 * f64::from(k % 4),
                restitution: 0.0,
                velocity: across - normal * normal.dot(&across),
            };
            let own = first..problem.points.len();
            problem.manifolds.push(ManifoldConstraint::new([k, other], own, &normal, &offset, &law));
            offsets.push(offset);
        }
    }
    problem.start = problem.bodies.iter().map(|b| [b.v, b.w]).collect();
    (problem, offsets)
}

/// The natural map of Coulomb's law: p minus the projection of p − u onto p_n ≥ 0 and |p_t| ≤ μ p_n, the largest.
fn natural_map(problem: &Problem, offsets: &[Vec3], inv_delta: f64) -> f64 {
    let mut worst = 0.0f64;
    for (m, offset) in problem.manifolds.iter().zip(offsets) {
        let [a, b] = m.bodies.map(|k| &problem.bodies[k as usize]);
        let (n, mu) = (vec3(&m.normal_friction), m.normal_friction[3]);
        for c in &problem.points[m.points()] {
            let arm = vec3(&c.arm_gap);
            let at = |b: &BodyState, arm: Vec3| vec3(&b.v) + vec3(&b.w).cross(&arm);
            let u = at(a, arm) - at(b, arm + offset) - vec3(&m.surface_velocity) + n * (c.gap() * inv_delta);
            let p = c.impulse();
            let (p_n, u_n) = (n.dot(&p), n.dot(&u));
            let p_t = p - p_n * n;
            let mut to = p_t - (u - u_n * n);
            if to.norm() > mu * p_n {
                to *= mu * p_n / to.norm();
            }
            worst = worst.max((p_n - (p_n - u_n).max(0.0)).abs()).max((p_t - to).norm());
        }
    }
    worst
}

#[test]
fn sweeps_over_random_problems_end_where_coulombs_law_holds() {
    let mut random = Random::new(17);
    for round in 0..200 {
        let (mut problem, offsets) = random_problem(&mut random);
        let mut contacts = Contacts::default();
        let Problem { bodies, start, manifolds, points, .. } = &mut problem;
        contacts.prepare_and_warm_start(bodies, start, manifolds, points);
        for _ in 0..3000 {
            contacts.relax(bodies, &HARD, false);
        }
        contacts.store_impulses(points);
        let left = natural_map(&problem, &offsets, HARD.inv_delta);
        assert!(left < 1e-8, "{round}: {left:e}");
    }
}

#[test]
fn buffers_of_another_problem_change_no_bit() {
    let mut random = Random::new(23);
    let step = Step { h: 0.01, length: 0.1, push_speed: 1.0, bounce_speed: 0.5 };
    let mut used = Contacts::default();
    for _ in 0..20 {
        let seed = random.between(0.0, 1e6) as u64;
        let ends = [&mut used, &mut Contacts::default()].map(|contacts| {
            let (mut problem, _) = random_problem(&mut Random::new(seed));
            solve(&mut problem, contacts, &step, &Tuning::default());
            problem.bodies.iter().map(|b| [b.v, b.w, b.translation, b.rotation]).collect::<Vec<_>>()
        });
        assert_eq!(ends[0], ends[1]);
    }
}
