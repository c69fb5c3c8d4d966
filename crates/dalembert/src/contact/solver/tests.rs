//! All solvers on the same random problems: bodies by themselves, bodies among joints, robots with dry friction; sticking, sliding,
//! and held more often than they have degrees of freedom.

use nalgebra::DMatrix;

use super::cascade::{self, Accuracy, Solvers, solve_delassus};
use super::delassus::DenseDelassus;
use super::{Within, dual_newton, gauss_seidel, primal_newton, semismooth_newton};
use crate::contact::problem::{Contact, ContactInfo, ContactProblem, IslandProblem};
use crate::contact::response::bounded_row::BoundedRow;
use crate::contact::response::{Columns, InverseInertia, NONE, Responder};
use crate::math::{Mat3, Random, Vec3, skew};

/// What is left of the law, beside the fastest velocity.
const TOLERANCE: f64 = 1e-8;

/// A problem and the velocities without impulses; its bounded rows are numbered from 0.
struct Case {
    problem: ContactProblem,
    members: Vec<u32>,
    scale: f64,
}

fn vector(random: &mut Random, size: f64) -> Vec3 {
    Vec3::from_fn(|_, _| random.between(-size, size))
}

fn contact(sides: [Responder; 2], arms: [Vec3; 2], normal: Vec3, friction: f64) -> Contact {
    Contact {
        sides,
        arms,
        normal,
        friction,
        softness: 0.0,
        target: Vec3::zeros(),
        impulse: Vec3::zeros(),
        W: Mat3::zeros(),
        inverse: Mat3::zeros(),
        spin: NONE,
    }
}

/// Normals of one plane, so that contacts share what they bear, or of many.
fn normal(random: &mut Random, redundant: bool) -> Vec3 {
    if redundant { Vec3::z() } else { (Vec3::z() + vector(random, 0.6)).normalize() }
}

/// Bodies in the air, the first on the world and the others on each other.
fn bodies(random: &mut Random, friction: f64, redundant: bool) -> ContactProblem {
    let mut p = ContactProblem::default();
    let count = 1 + (random.bits() % 3) as usize;
    for _ in 0..count {
        let mass = 10f64.powf(random.between(-1.0, 1.0));
        let inertia = Mat3::from_diagonal(&Vec3::from_fn(|_, _| random.between(5.0, 50.0) / mass));
        p.responses.inverse.push(InverseInertia { mass: 1.0 / mass, inertia });
        p.x.extend((vector(random, 0.5) - Vec3::z()).iter().chain(vector(random, 1.0).iter()));
    }
    for k in 0..if redundant { 4 * count } else { 2 * count } {
        let (above, below) = (k % count, k % count);
        let other = if below == 0 { Responder::World } else { Responder::Body(6 * (below as u32 - 1)) };
        let arms = [vector(random, 0.5) - 0.5 * Vec3::z(), vector(random, 0.5) + 0.5 * Vec3::z()];
        let n = normal(random, redundant);
        p.contacts.push(contact([Responder::Body(6 * above as u32), other], arms, n, friction));
    }
    p
}

/// A chain of bodies on ball joints, whose bodies touch the world.
fn chain(random: &mut Random, friction: f64, redundant: bool) -> ContactProblem {
    let mut p = ContactProblem::default();
    let count = 2 + (random.bits() % 2) as usize;
    let n = 6 * count;
    let mut M = DMatrix::<f64>::zeros(n, n);
    for b in 0..count {
        let (mass, turn) = (random.between(0.5, 2.0), random.between(5.0, 20.0));
        (0..3).for_each(|k| M[(6 * b + k, 6 * b + k)] = 1.0 / mass);
        (0..3).for_each(|k| M[(6 * b + 3 + k, 6 * b + 3 + k)] = turn / mass);
        p.x.extend((vector(random, 0.5) - Vec3::z()).iter().chain(vector(random, 1.0).iter()));
        p.responses.inverse.push(InverseInertia { mass: 0.0, inertia: Mat3::zeros() });
    }
    // v + ω × r at the end of one body equals that at the beginning of the next.
    let mut A = DMatrix::<f64>::zeros(3 * (count - 1), n);
    for j in 0..count - 1 {
        for (b, sign, arm) in [(j, 1.0, 0.5 * Vec3::x()), (j + 1, -1.0, -0.5 * Vec3::x())] {
            let r = -skew(&arm);
            for (i, k) in (0..3).flat_map(|i| (0..3).map(move |k| (i, k))) {
                A[(3 * j + i, 6 * b + k)] = if i == k { sign } else { 0.0 };
                A[(3 * j + i, 6 * b + 3 + k)] = sign * r[(i, k)];
            }
        }
    }
    let MA = &M * A.transpose();
    let D = (&A * &MA).cholesky().unwrap();
    let held = &M - &MA * D.solve(&MA.transpose());
    let x = DMatrix::from_column_slice(n, 1, &p.x);
    let x = &x - &MA * D.solve(&(&A * &x));
    p.x.copy_from_slice(x.as_slice());
    for k in 0..if redundant { 4 * count } else { 2 * count } {
        let body = k % count;
        let arm = vector(random, 0.5) - 0.5 * Vec3::z();
        let mut J = DMatrix::<f64>::zeros(3, n);
        J.view_mut((0, 6 * body), (3, 3)).copy_from(&Mat3::identity());
        J.view_mut((0, 6 * body + 3), (3, 3)).copy_from(&-skew(&arm));
        let Y = &held * J.transpose();
        let at = p.responses.numbers.take(3 * n);
        (0..n).for_each(|d| (0..3).for_each(|i| p.responses.numbers.list[at + 3 * d + i] = Y[(d, i)]));
        let columns = Columns { first: 0, len: n as u32, at: at as u32, stride: 3, ..Columns::default() };
        let sides = [Responder::Jointed(6 * body as u32, columns), Responder::World];
        p.contacts.push(contact(sides, [arm, Vec3::zeros()], normal(random, redundant), friction));
    }
    p
}

/// A tree with a random mass matrix and points, and dry friction on its first dofs.
fn robot(random: &mut Random, friction: f64, redundant: bool) -> ContactProblem {
    let mut p = ContactProblem::default();
    let n = 4 + (random.bits() % 4) as usize;
    let points = if redundant { n } else { n.div_ceil(3) };
    let m = (3 * points).next_multiple_of(8);
    let B = DMatrix::from_fn(n, n, |_, _| random.between(-1.0, 1.0));
    let inverse = (&B * B.transpose() + DMatrix::identity(n, n)).try_inverse().unwrap();
    let mut J = DMatrix::from_fn(m, n, |_, _| random.between(-1.0, 1.0));
    J.rows_mut(3 * points, m - 3 * points).fill(0.0);
    let Y = &inverse * J.transpose();
    let W = &J * &Y;
    p.x.extend((0..n).map(|_| random.between(-1.0, 1.0)));
    let list = &mut p.responses.numbers;
    let (rows, at, block) = (list.take(n * m), list.take(n * m), list.take(m * m));
    for (d, c) in (0..n).flat_map(|d| (0..m).map(move |c| (d, c))) {
        (list.list[rows + d * m + c], list.list[at + d * m + c]) = (J[(c, d)], Y[(d, c)]);
    }
    (0..m * m).for_each(|k| list.list[block + k] = W[(k / m, k % m)]);
    for k in 0..points {
        let column = 3 * k as u32;
        let (at, stride) = (at as u32 + column, m as u32);
        let columns = Columns { first: 0, len: n as u32, at, stride, spin: 3, W: block as u32, column };
        let sides = [Responder::Link(rows as u32 + column, columns), Responder::World];
        p.contacts.push(contact(sides, [Vec3::zeros(); 2], normal(random, false), friction));
    }
    for d in 0..2 {
        let at = p.responses.numbers.take_zeros(2 * n);
        p.responses.numbers.list[at + d] = 1.0;
        (0..n).for_each(|i| p.responses.numbers.list[at + n + i] = inverse[(i, d)]);
        let mut row = BoundedRow::hold(n as u32, at as u32, random.between(0.01, 0.2));
        row.take_diagonal(&p.responses);
        p.rows.push(row);
    }
    p
}

fn case(k: usize, random: &mut Random) -> Case {
    let friction = [0.0, 0.2, 0.5, 1.0][k / 3 % 4];
    let redundant = k / 12 % 2 == 1;
    let make = [bodies, chain, robot][k % 3];
    let mut problem = make(random, friction, redundant);
    problem.free = problem.x.clone();
    problem.start = problem.x.clone();
    let ContactProblem { contacts, responses, spins, x, .. } = &mut problem;
    let mut scale = 0.0f64;
    for c in &mut *contacts {
        c.update_response(responses, spins);
        c.invert();
        scale = scale.max(c.relative_velocity(responses, x).norm());
    }
    let blank = ContactInfo {
        a: 0,
        b: 0,
        part: 0,
        feature: 0,
        point: Vec3::zeros(),
        gap: 0.0,
        nodes: [NONE; 2],
        links: [NONE; 2],
        impact: -1.0,
        speed: scale,
        soft: false,
        place: 0,
        pair: 0,
    };
    problem.info = vec![blank; problem.contacts.len()];
    problem.islands.first = vec![0, problem.contacts.len() as u32];
    problem.unsolved = vec![false];
    let members = (0..problem.rows.len() as u32).collect();
    Case { problem, members, scale }
}

/// The largest residual, from the impulses alone: velocities are computed anew.
fn residual(case: &mut Case) -> (f64, Vec<f64>) {
    let range = 0..case.problem.contacts.len();
    let (island, _) = case.problem.island(range, &case.members);
    let mut x = island.free.to_vec();
    for c in &*island.contacts {
        c.apply(island.responses, &mut x, &c.impulse);
    }
    island.rows.iter().for_each(|row| row.apply(island.responses, &mut x, row.impulse));
    let rates: Vec<Vec3> =
        island.contacts.iter().map(|c| c.relative_velocity(island.responses, &x)).collect();
    let mut d = DenseDelassus::default();
    d.list(island.contacts, island.members);
    (d.begin(&island, &x, &rates), x)
}

/// Velocities after a solver has worked on a fresh copy of a problem, if it applies and says that it is done.
type Solve = fn(&mut Case) -> Option<f64>;

fn with_island<T>(case: &mut Case, solve: impl FnOnce(&mut IslandProblem, &mut [f64]) -> T) -> T {
    let range = 0..case.problem.contacts.len();
    let (mut island, x) = case.problem.island(range, &case.members);
    solve(&mut island, x)
}

/// The Delassus matrix of a case, begun; and the residual.
fn begin(island: &IslandProblem, x: &[f64]) -> (DenseDelassus, f64) {
    let rates: Vec<Vec3> = island.contacts.iter().map(|c| c.relative_velocity(island.responses, x)).collect();
    let mut d = DenseDelassus::default();
    d.list(island.contacts, island.members);
    let first = d.begin(island, x, &rates);
    (d, first)
}

/// The sweeps with which the cascade begins; the residual.
fn first_sweeps(island: &mut IslandProblem, x: &mut [f64], tolerance: f64) -> f64 {
    let within = Within { tolerance, most: cascade::Tuning::default().first_sweeps };
    gauss_seidel::solve(island, x, &mut Default::default(), &Default::default(), within).left
}

const SOLVERS: [(&str, Solve); 5] = [
    ("Gauss–Seidel", |case| {
        let within = Within { tolerance: 1e-3 * TOLERANCE * case.scale, most: 50_000 };
        let (mut scratch, tuning) = Default::default();
        let found =
            with_island(case, |island, x| gauss_seidel::solve(island, x, &mut scratch, &tuning, within));
        (found.left <= within.tolerance).then_some(found.left)
    }),
    ("primal Newton", |case| {
        let tolerance = 1e-2 * TOLERANCE * case.scale;
        let (mut scratch, tuning) = Default::default();
        let found = with_island(case, |island, x| {
            // As the cascade begins.
            let before = first_sweeps(island, x, tolerance);
            primal_newton::solve(island, x, &mut scratch, &tuning, before, tolerance)
        })?;
        (found.left <= tolerance).then_some(found.left)
    }),
    ("dual Newton", |case| {
        let tolerance = 1e-2 * TOLERANCE * case.scale;
        let mut scratch = dual_newton::Scratch::default();
        let mut tuning = dual_newton::Tuning::default();
        // Without the help of the other method.
        tuning.semismooth.growing_steps = 0;
        tuning.semismooth.steps = 0;
        let left = with_island(case, |island, x| {
            let (mut d, first) = begin(island, x);
            solve_delassus(&mut d, island, x, &mut scratch, &tuning, first, tolerance)
        });
        (left <= tolerance).then_some(left)
    }),
    ("semismooth Newton", |case| {
        let tolerance = 1e-2 * TOLERANCE * case.scale;
        let mut scratch = semismooth_newton::Scratch::default();
        with_island(case, |island, x| {
            let (mut d, first) = begin(island, x);
            d.tolerance = tolerance;
            d.assemble(island, x.len());
            scratch.begin();
            let tuning = semismooth_newton::Tuning::default();
            let done = semismooth_newton::solve(&mut d, island, &mut scratch, &tuning, first);
            let p = d.p.clone();
            d.write_back(island, x, &p);
            done.then_some(d.residual)
        })
    }),
    ("cascade", |case| {
        let mut solvers = Solvers::default();
        let accuracy = Accuracy { tolerance: 1e-2 * TOLERANCE, most_sweeps: 1000 };
        let mut report = cascade::SolveReport::default();
        if !case.members.is_empty() {
            return None;
        }
        solvers.solve_island(&mut case.problem, 0, None, &accuracy, &mut report);
        (!report.unfinished).then_some(report.residual)
    }),
];

#[test]
fn all_solvers_find_the_same_law_on_the_same_problems() {
    // Bodies, joints, robots; and those of them without friction, whose problems are convex.
    let (mut solved, mut convex) = ([[0; 3]; SOLVERS.len()], [[0; 3]; SOLVERS.len()]);
    let mut kinds = [0; 3];
    for k in 0..200 {
        let make = || case(k, &mut Random::new(1000 + k as u64));
        let mut unique: Option<Vec<f64>> = None;
        for (s, (name, solve)) in SOLVERS.iter().enumerate() {
            let mut case = make();
            if solve(&mut case).is_none() {
                continue;
            }
            solved[s][k % 3] += 1;
            convex[s][k % 3] += usize::from(case.problem.contacts[0].friction == 0.0);
            let (left, x) = residual(&mut case);
            assert!(left <= TOLERANCE * case.scale, "{name} on {k}: {:e}", left / case.scale);
            for c in &case.problem.contacts {
                let (n, p) = (c.normal.dot(&c.impulse), c.impulse);
                let across = (p - n * c.normal).norm();
                assert!(n >= 0.0 && across <= c.friction * n + 1e-12 * p.norm(), "{name} on {k}");
                if s == 0 && n > 0.0 {
                    let u = c.relative_velocity(&case.problem.responses, &x);
                    kinds[if u.norm() < 1e-6 * case.scale { 0 } else { 1 }] += 1;
                }
            }
            // Without friction the problem is convex: velocities are unique, impulses need not be.
            if case.problem.contacts[0].friction == 0.0 {
                let first = unique.get_or_insert_with(|| x.clone());
                let far = x.iter().zip(first).map(|(a, b)| (*a - *b).abs()).fold(0.0, f64::max);
                assert!(far < 1e-5 * case.scale, "{name} on {k}: {far:e}");
            }
        }
        kinds[2] += usize::from(make().problem.contacts.len() >= 4);
    }
    // Of 67, 67 and 66 problems. Sweeps solve nearly all, semismooth Newton most, and the cascade, which takes over where one
    // method gives up, most bodies and joints. Primal Newton begins at any ratio of masses behind a few sweeps, dual Newton at
    // nothing and without help: with friction neither must converge.
    let least = [[60, 60, 60], [17, 0, 0], [17, 17, 17], [34, 34, 34], [50, 60, 0]];
    // Of 17 convex ones each: dual Newton and the cascade solve all, the others most.
    let least_convex = [[9, 9, 9], [9, 0, 0], [17, 17, 17], [9, 9, 9], [17, 17, 0]];
    for (s, (name, _)) in SOLVERS.iter().enumerate() {
        let enough = |found: &[usize; 3], least: &[usize; 3]| found.iter().zip(least).all(|(f, l)| f >= l);
        assert!(enough(&solved[s], &least[s]), "{name}: {:?}", solved[s]);
        assert!(enough(&convex[s], &least_convex[s]), "{name} without friction: {:?}", convex[s]);
    }
    assert!(kinds.iter().all(|k| *k >= 100), "sticking, sliding, redundant: {kinds:?}");
}
