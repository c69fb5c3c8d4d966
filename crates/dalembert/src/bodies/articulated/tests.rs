//! Laws of trees: random ones with every kind of joint, and chains against numbers from outside.

use std::f64::consts::TAU;

use super::*;
use crate::joints::JointKind;
use crate::math::rotation::exp;
use crate::math::{Jet, Mat3, Pose, Random, Vec3};

pub(super) const GRAVITY: Vec3 = Vec3::new(0.0, 0.0, -9.81);

/// The chain of `peers/articulated/make_chain.py`: rods of 0.1 m and 0.1 kg along −z, hinges about y and x in turn.
pub(super) fn chain(n: usize) -> Tree {
    let (length, mass, width) = (0.1, 0.1, 0.02);
    let (xx, zz) =
        (mass / 12.0 * (width * width + length * length), mass / 12.0 * (width * width + width * width));
    let links: Vec<Link> = (0..n)
        .map(|i| Link {
            name: format!("l{i}"),
            parent: i.checked_sub(1),
            placement: Pose::at(Vec3::new(0.0, 0.0, if i == 0 { 0.0 } else { -length })),
            mass,
            center: Vec3::new(0.0, 0.0, -length / 2.0),
            inertia: Mat3::from_diagonal(&Vec3::new(xx, xx, zz)),
            joints: vec![Joint::hinge(format!("j{i}"), if i % 2 == 0 { Vec3::y() } else { Vec3::x() })],
            ..Link::default()
        })
        .collect();
    Tree::new(&links, GRAVITY).unwrap()
}

fn vector(random: &mut Random) -> Vec3 {
    Vec3::from_fn(|_, _| random.between(-1.0, 1.0))
}

/// The link on the path from the last link to the root that is nearest to number p: hanging on it keeps the list in
/// depth-first order.
fn hang(parents: &[Option<usize>], p: usize) -> usize {
    let mut at = parents.len() - 1;
    while at > p {
        match parents[at] {
            Some(above) => at = above,
            None => break,
        }
    }
    at
}

/// A random forest with every kind of joint, several of them on some links, fixed and weightless links between.
pub(super) fn random_links(seed: u64, count: usize) -> Vec<Link> {
    let mut random = Random::new(seed);
    let mut parents: Vec<Option<usize>> = Vec::new();
    (0..count)
        .map(|i| {
            let r = &mut random;
            let parent = if i == 0 || r.unit() < 0.1 { None } else { Some((r.bits() % i as u64) as usize) };
            // A forest in depth-first order would need sorting: the oracle walks the list, so hang on the last branch.
            let parent = parent.map(|p| hang(&parents, p));
            parents.push(parent);
            let joint_count = [0, 1, 1, 1, 2, 3][(r.bits() % 6) as usize];
            let joints = (0..joint_count)
                .map(|number| {
                    let mut second_axis = Vec3::x();
                    let kind = match r.bits() % 9 {
                        0 if parent.is_none() && number == 0 => JointKind::Free,
                        0 | 1 => JointKind::Ball,
                        2 => JointKind::Slider,
                        3 => JointKind::Screw { pitch: TAU * r.between(-0.5, 0.5) },
                        4 => {
                            second_axis = vector(r);
                            JointKind::Universal
                        }
                        5 => JointKind::Planar,
                        6 if number > 0 => JointKind::Fixed,
                        _ => JointKind::Hinge,
                    };
                    Joint {
                        name: format!("j{i}.{number}"),
                        kind,
                        anchor: if kind == JointKind::Free { Vec3::zeros() } else { 0.3 * vector(r) },
                        axis: vector(r),
                        second_axis,
                        reference: r.between(-0.5, 0.5),
                        // Three balls on one link have no inertia between them without it.
                        armature: r.between(0.01, 0.1),
                        damping: r.between(0.0, 0.2),
                        stiffness: r.between(0.0, 2.0),
                        spring_reference: r.between(-0.5, 0.5),
                        ..Joint::default()
                    }
                })
                .collect();
            let B = Mat3::from_columns(&[vector(r), vector(r), vector(r)]);
            let heavy = joint_count > 0 || r.unit() < 0.7;
            Link {
                name: format!("l{i}"),
                parent,
                placement: Pose::new(0.5 * vector(r), exp(&(2.0 * vector(r)))),
                mass: if heavy { r.between(0.2, 2.0) } else { 0.0 },
                center: 0.2 * vector(r),
                inertia: if heavy {
                    0.05 * (B * B.transpose()) + 0.01 * Mat3::identity()
                } else {
                    Mat3::zeros()
                },
                joints,
                gravity_compensation: if r.unit() < 0.3 { 0.7 } else { 0.0 },
            }
        })
        .collect()
}

/// Trees with their names.
pub(super) fn trees() -> Vec<(String, Tree)> {
    let mut all = vec![("chain10".to_owned(), chain(10))];
    for seed in 0..12 {
        let links = random_links(seed, 3 + seed as usize);
        let tree = Tree::new(&links, Vec3::new(0.3, -1.0, -9.0)).unwrap();
        if tree.freedoms() > 0 {
            all.push((format!("random{seed}"), tree));
        }
    }
    all
}

/// Random coordinates, velocities and one more vector.
pub(super) fn random_state(tree: &Tree, seed: u64) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut random = Random::new(seed);
    let mut numbers = || -> Vec<f64> { (0..tree.freedoms()).map(|_| random.between(-1.0, 1.0)).collect() };
    let mut q = tree.neutral().to_vec();
    tree.integrate(&mut q, &numbers(), 1.0);
    (q, numbers(), numbers())
}

pub(super) fn worst(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let scale = b.iter().fold(1.0f64, |s, x| s.max(x.abs()));
    a.iter().zip(b).fold(0.0f64, |w, (x, y)| w.max((x - y).abs())) / scale
}

#[test]
fn forward_dynamics_undoes_inverse_dynamics() {
    for (name, tree) in trees() {
        let mut work = TreeWork::new(&tree);
        let (q, v, dv) = random_state(&tree, 5);
        let mut random = Random::new(9);
        let wrenches: Vec<Wrench> = (0..tree.link_count())
            .map(|_| Wrench { torque: vector(&mut random), force: vector(&mut random) })
            .collect();
        for wrenches in [&wrenches[..], &[]] {
            let mut tau = vec![0.0; dv.len()];
            tree.kinematics(&q, &mut work);
            tree.inverse_dynamics(&v, Some(&dv), wrenches, &mut work, &mut tau);
            let mut back = vec![0.0; dv.len()];
            tree.forward_dynamics_aba(&q, &v, &tau, wrenches, &mut work, &mut back);
            assert!(worst(&back, &dv) < 1e-10, "{name}: {:e}", worst(&back, &dv));
        }
    }
}

#[test]
fn the_mass_matrix_has_the_columns_of_inverse_dynamics() {
    for (name, tree) in trees() {
        let mut work = TreeWork::new(&tree);
        let (q, v, x) = random_state(&tree, 6);
        let n = tree.freedoms();
        tree.kinematics(&q, &mut work);
        let mut M = vec![0.0; n * n];
        tree.mass_matrix(&mut work).to_dense(&tree, &mut M);
        let (mut bias, mut column) = (vec![0.0; n], vec![0.0; n]);
        tree.bias(&v, &mut work, &mut bias);
        for j in 0..n {
            let unit: Vec<f64> = (0..n).map(|i| if i == j { 1.0 } else { 0.0 }).collect();
            tree.inverse_dynamics(&v, Some(&unit), &[], &mut work, &mut column);
            let wanted: Vec<f64> = (0..n).map(|i| column[i] - bias[i]).collect();
            let got: Vec<f64> = (0..n).map(|i| M[i * n + j]).collect();
            assert!(worst(&got, &wanted) < 1e-12, "{name}: column {j}");
        }
        let (mut y, mut z) = (vec![0.0; n], vec![0.0; n]);
        tree.mass_times(&x, &mut work, &mut y);
        tree.mass_matrix(&mut work).times(&tree, &x, &mut z);
        assert!(worst(&y, &z) < 1e-13, "{name}");
        tree.factor_mass(&mut work);
        tree.solve_factored(&work, &mut z);
        assert!(worst(&z, &x) < 1e-10, "{name}: {:e}", worst(&z, &x));
        let mut many: Vec<f64> =
            (0..n).flat_map(|d| (0..11).map(|c| c as f64 * y[d]).collect::<Vec<_>>()).collect();
        let mut same = many.clone();
        tree.articulate(&[], &mut work);
        tree.solve_articulated_many(11, &mut work, &mut many);
        work.factor.solve_many(&tree, 11, &mut same);
        for c in 0..11 {
            let wanted: Vec<f64> = x.iter().map(|x| c as f64 * x).collect();
            let column = |all: &[f64]| -> Vec<f64> { all.iter().skip(c).step_by(11).copied().collect() };
            assert!(
                worst(&column(&many), &wanted) < 1e-10 && worst(&column(&same), &wanted) < 1e-10,
                "{name}"
            );
        }
    }
}

/// Random links with their tree.
fn samples() -> Vec<(Vec<Link>, Tree)> {
    let gravity = Vec3::new(0.3, -1.0, -9.0);
    let all = (20..50).map(|seed| random_links(seed, 2 + seed as usize % 9));
    let built = all.map(|links| (links.clone(), Tree::new(&links, gravity).unwrap()));
    built.filter(|(_, tree)| tree.freedoms() > 0).collect()
}

#[test]
fn inverse_dynamics_agrees_with_newton_and_euler_of_every_link() {
    for (links, tree) in samples() {
        let mut work = TreeWork::new(&tree);
        let (q, v, dv) = random_state(&tree, 3);
        let wanted = oracle::inverse_dynamics(&links, &tree.gravity, &q, &vec![0.0; v.len()], &v, &dv);
        let mut tau = vec![0.0; v.len()];
        tree.kinematics(&q, &mut work);
        tree.inverse_dynamics(&v, Some(&dv), &[], &mut work, &mut tau);
        assert!(worst(&tau, &wanted) < 1e-12, "{:e}", worst(&tau, &wanted));
    }
}

#[test]
fn derivatives_are_those_of_exact_differentiation() {
    for (links, tree) in samples() {
        let mut work = TreeWork::new(&tree);
        let (q, v, dv) = random_state(&tree, 4);
        let n = v.len();
        tree.kinematics(&q, &mut work);
        let (mut by_q, mut by_v) = (TreeSquareMatrix::default(), TreeSquareMatrix::default());
        tree.inverse_dynamics_derivatives(&v, &dv, &mut work, &mut by_q, &mut by_v);
        let (mut dense_q, mut dense_v) = (vec![0.0; n * n], vec![0.0; n * n]);
        by_q.to_dense(&tree, &mut dense_q);
        by_v.to_dense(&tree, &mut dense_v);
        let jets = |x: &[f64], j: usize| -> Vec<Jet> {
            x.iter().enumerate().map(|(i, x)| Jet::line(*x, if i == j { 1.0 } else { 0.0 })).collect()
        };
        for j in 0..n {
            let (o, none) = (vec![0.0; n], usize::MAX);
            let slope = |delta: usize, velocity: usize| -> Vec<f64> {
                let (delta, velocity, dv) = (jets(&o, delta), jets(&v, velocity), jets(&dv, none));
                oracle::inverse_dynamics(&links, &tree.gravity, &q, &delta, &velocity, &dv)
                    .iter()
                    .map(|x| x.f1)
                    .collect()
            };
            let column = |dense: &[f64]| -> Vec<f64> { (0..n).map(|i| dense[i * n + j]).collect() };
            let (e_q, e_v) =
                (worst(&column(&dense_q), &slope(j, none)), worst(&column(&dense_v), &slope(none, j)));
            assert!(e_q < 1e-10 && e_v < 1e-10, "dof {j} of {:?}: {e_q:e} {e_v:e}", tree.joints());
        }
    }
}

#[test]
fn derivatives_of_forward_dynamics_are_its_differences() {
    for (name, tree) in trees() {
        let mut work = TreeWork::new(&tree);
        let (q, v, tau) = random_state(&tree, 5);
        let n = v.len();
        let mut forward = |q: &[f64], v: &[f64], tau: &[f64]| {
            let mut dv = vec![0.0; n];
            tree.forward_dynamics_aba(q, v, tau, &[], &mut work, &mut dv);
            dv
        };
        let dv = forward(&q, &v, &tau);
        let mut other = TreeWork::new(&tree);
        tree.kinematics(&q, &mut other);
        let [mut by_q, mut by_v, mut by_tau] = [0; 3].map(|_| vec![0.0; n * n]);
        tree.forward_dynamics_derivatives(&v, &dv, &mut other, &mut by_q, &mut by_v, &mut by_tau);
        let e = 1e-5;
        for j in 0..n {
            let along = |s: f64| -> Vec<f64> { (0..n).map(|i| if i == j { s } else { 0.0 }).collect() };
            let moved =
                |x: &[f64], s: f64| -> Vec<f64> { x.iter().zip(along(s)).map(|(x, d)| x + d).collect() };
            let turned = |s: f64| {
                let mut q = q.clone();
                tree.integrate(&mut q, &along(s), 1.0);
                q
            };
            let slope = |a: Vec<f64>, b: Vec<f64>| -> Vec<f64> {
                a.iter().zip(&b).map(|(a, b)| (a - b) / (2.0 * e)).collect()
            };
            for (what, dense, slope) in [
                ("q", &by_q, slope(forward(&turned(e), &v, &tau), forward(&turned(-e), &v, &tau))),
                ("v", &by_v, slope(forward(&q, &moved(&v, e), &tau), forward(&q, &moved(&v, -e), &tau))),
                ("tau", &by_tau, slope(forward(&q, &v, &moved(&tau, e)), forward(&q, &v, &moved(&tau, -e)))),
            ] {
                let column: Vec<f64> = (0..n).map(|i| dense[i * n + j]).collect();
                let error = worst(&column, &slope);
                assert!(error < 1e-6, "{name}: dv by {what}{j}: {error:e}");
            }
        }
    }
}

/// Largest error of q after `time` seconds, and the largest drift of the energy relative to the first above rest.
fn swing(scheme: Scheme<'_>, h: f64, time: f64) -> (Vec<f64>, f64) {
    let tree = chain(10);
    let mut work = TreeWork::new(&tree);
    let (mut q, mut v) = (vec![0.1; 10], vec![0.0; 10]);
    let mut energy = |q: &[f64], v: &[f64]| {
        tree.kinematics(q, &mut work);
        tree.velocities(v, &mut work);
        tree.kinetic_energy(v, &work) + tree.gravity_energy(&work)
    };
    let (rest, first) = (energy(&[0.0; 10], &v), energy(&q, &v));
    let mut other = TreeWork::new(&tree);
    let mut drift = 0.0f64;
    for _ in 0..(time / h).round() as u32 {
        let report = tree.step(scheme, &mut q, &mut v, h, &mut other, |_, _, _| {});
        assert!(report.converged);
        drift = drift.max((energy(&q, &v) - first).abs() / (first - rest));
    }
    (q, drift)
}

/// State 0 of `references/chain10__chain10__mjcf.json` (MuJoCo 4.0.0, checked against Pinocchio 4.1.0).
mod mujoco {
    pub(super) const Q: [f64; 10] = [
        0.023643, 0.900927, -0.711681, 0.897299, -0.376337, -0.153347, 0.655405, -0.181602, 0.099187,
        -0.944882,
    ];
    pub(super) const V: [f64; 10] = [
        0.507026, 0.076287, -0.340537, 0.576857, -0.39361, -0.093004, -0.731917, -0.193774, -0.59309,
        -0.475373,
    ];
    pub(super) const TAU: [f64; 10] = [
        0.500729, -0.439182, -0.029618, 0.961474, 0.923314, 0.44958, 0.082454, -0.446218, -0.678696, 0.939851,
    ];
    pub(super) const BIAS: [f64; 10] = [
        -1.5623330136637472,
        2.8983666921616322,
        -1.0007893047179497,
        1.978480166163512,
        -0.6069012417084159,
        0.9487798722154549,
        -0.2802553408094739,
        0.3630559442587394,
        -0.062144121323529894,
        0.016394142726879335,
    ];
    pub(super) const ACCELERATION: [f64; 10] = [
        260.55006376703784,
        -44.30534702617989,
        -477.07575666744566,
        -129.39974169697462,
        418.2085814303729,
        1196.2947400656958,
        390.08306550032967,
        -1878.9777626025218,
        -1074.594960709376,
        5868.592403261489,
    ];
    pub(super) const FIRST_ROW_OF_M: [f64; 10] = [
        0.06173114589156162,
        -0.07666506941917951,
        0.04885006248559089,
        -0.04481650529236181,
        0.032764902147252736,
        -0.026490426023346534,
        0.017987979530972854,
        -0.010863895209845435,
        0.004641915644873127,
        -0.0007438885445173894,
    ];
    pub(super) const LAST_POSITION: [f64; 3] =
        [0.31828640188397517, 0.6336688550280329, -0.12002076823655909];
    pub(super) const KINETIC: f64 = 0.03841972830536527;
    pub(super) const POTENTIAL: f64 = -1.2987976518681157;
    /// q after 10 s at 5 ms from `references/trajectories`: semi-implicit Euler and Runge-Kutta.
    pub(super) const EULER: [f64; 10] = [
        0.22021588176054308,
        -0.12740578627406857,
        0.027300917174983813,
        -0.029687799201156332,
        0.007810582225322474,
        -0.018996772306137284,
        0.08440793334225195,
        -0.09752811485310489,
        0.05114141362087937,
        0.00886705706301466,
    ];
    pub(super) const RUNGE_KUTTA: [f64; 10] = [
        0.21596938158553008,
        -0.1218510695426637,
        0.018698747090227306,
        -0.028551079450576975,
        0.019202023709287537,
        -0.020165247241766354,
        0.08329578398025114,
        -0.08388025031290729,
        0.052441319487182905,
        0.018126232160504675,
    ];
}

#[test]
fn a_chain_has_the_numbers_of_mujoco() {
    let tree = chain(10);
    let mut work = TreeWork::new(&tree);
    let (mut bias, mut dv, mut M) = ([0.0; 10], [0.0; 10], [0.0; 100]);
    tree.kinematics(&mujoco::Q, &mut work);
    tree.velocities(&mujoco::V, &mut work);
    assert!(worst(tree.link_position(9, &work).as_slice(), &mujoco::LAST_POSITION) < 1e-14);
    assert!((tree.kinetic_energy(&mujoco::V, &work) - mujoco::KINETIC).abs() < 1e-14);
    assert!((tree.gravity_energy(&work) - mujoco::POTENTIAL).abs() < 1e-14);
    tree.bias(&mujoco::V, &mut work, &mut bias);
    assert!(worst(&bias, &mujoco::BIAS) < 1e-14);
    tree.mass_matrix(&mut work).to_dense(&tree, &mut M);
    assert!(worst(&M[..10], &mujoco::FIRST_ROW_OF_M) < 1e-14);
    tree.forward_dynamics_aba(&mujoco::Q, &mujoco::V, &mujoco::TAU, &[], &mut work, &mut dv);
    assert!(worst(&dv, &mujoco::ACCELERATION) < 1e-10);
}

#[test]
fn a_chain_swings_as_in_mujoco() {
    for (scheme, wanted) in
        [(Scheme::SemiImplicitEuler, mujoco::EULER), (Scheme::RungeKutta4, mujoco::RUNGE_KUTTA)]
    {
        let (q, _) = swing(scheme, 5e-3, 10.0);
        assert!(worst(&q, &wanted) < 1e-9, "{scheme:?}: {:e}", worst(&q, &wanted));
    }
}

#[test]
fn every_scheme_keeps_the_energy_as_well_as_it_promises() {
    // Measured with MuJoCo and Pinocchio: `knowledge/articulated.md`, 2e. The midpoint rule is not among theirs.
    for (h, euler, runge_kutta, midpoint) in
        [(1e-3, 1.05e-2, 2.0e-10, 1e-6), (2e-3, 2.1e-2, 6.5e-9, 4e-6), (5e-3, 5.4e-2, 6.4e-7, 2e-5)]
    {
        let drift = |scheme| swing(scheme, h, 10.0).1;
        let (a, b, c) =
            (drift(Scheme::SemiImplicitEuler), drift(Scheme::RungeKutta4), drift(Scheme::Midpoint));
        assert!((a / euler - 1.0).abs() < 0.05, "Euler at {h}: {a:e}");
        assert!(b < 2.0 * runge_kutta, "Runge-Kutta at {h}: {b:e}");
        assert!(c < midpoint, "midpoint at {h}: {c:e}");
    }
}

#[test]
fn the_random_trees_have_every_kind_of_joint() {
    let kinds: Vec<JointKind> =
        samples().iter().flat_map(|(_, tree)| tree.joints().to_vec()).map(|j| j.kind).collect();
    let count = |wanted: fn(&JointKind) -> bool| kinds.iter().filter(|kind| wanted(kind)).count();
    for (what, found) in [
        ("free", count(|k| *k == JointKind::Free)),
        ("ball", count(|k| *k == JointKind::Ball)),
        ("hinge", count(|k| *k == JointKind::Hinge)),
        ("slide", count(|k| *k == JointKind::Slider)),
        ("screw", count(|k| matches!(k, JointKind::Screw { .. }))),
        ("universal", count(|k| *k == JointKind::Universal)),
        ("planar", count(|k| *k == JointKind::Planar)),
    ] {
        assert!(found >= 3, "{what}: {found}");
    }
    assert!(samples().iter().flat_map(|(links, _)| links).any(|link| link.joints.len() == 3));
}

#[test]
fn points_move_as_their_jacobian_says() {
    for (name, tree) in trees() {
        let (mut work, mut moved) = (TreeWork::new(&tree), TreeWork::new(&tree));
        let (q, v, _) = random_state(&tree, 7);
        let n = v.len();
        tree.kinematics(&q, &mut work);
        tree.velocities(&v, &mut work);
        let (mut linear, mut angular) = (vec![0.0; 3 * n], vec![0.0; 3 * n]);
        for link in 0..tree.link_count() {
            let local = Vec3::new(0.3, -0.2, 0.1);
            let x = tree.link_pose(link, &work).point(&local);
            tree.point_jacobian(link, &x, &work, &mut linear, &mut angular);
            let rows = |J: &[f64]| Vec3::from_fn(|i, _| (0..n).map(|d| J[i * n + d] * v[d]).sum());
            let motion = tree.point_velocity(link, &x, &work);
            assert!((rows(&linear) - motion.linear).norm() < 1e-13, "{name}");
            assert!((rows(&angular) - motion.angular).norm() < 1e-13, "{name}");
            // Along q ⊕ e v, the curve of constant v: position, its first and its second derivative.
            let e = 1e-4;
            let mut at = |s: f64| {
                let mut q = q.clone();
                tree.integrate(&mut q, &v, s);
                tree.kinematics(&q, &mut moved);
                let pose = tree.link_pose(link, &moved);
                (pose.point(&local), crate::math::rotation::matrix(&pose.rotation))
            };
            let ((a, A), (b, B), (c, C)) = (at(-e), at(0.0), at(e));
            assert!((b - x).norm() < 1e-14);
            assert!(((c - a) / (2.0 * e) - motion.linear).norm() < 1e-6, "{name}");
            let spin = (C - A) / (2.0 * e) * B.transpose();
            assert!((spin - crate::math::skew(&motion.angular)).norm() < 1e-6, "{name}");
            let bias = tree.point_bias_acceleration(link, &x, &work);
            let wanted = (c - 2.0 * b + a) / (e * e);
            assert!(
                (wanted - bias.linear).norm() < 2e-6 * (1.0 + wanted.norm()),
                "{name}: {wanted} {}",
                bias.linear
            );
        }
    }
}
