//! Laws of trees: random ones with every kind of joint, and chains against numbers from outside.

use super::*;
use crate::math::rotation::exp;
use crate::math::{Mat3, Pose, Random, Vec3};

const GRAVITY: Vec3 = Vec3::new(0.0, 0.0, -9.81);

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

/// A random forest with every kind of joint, several of them on some links, fixed and weightless links between.
pub(super) fn random_links(seed: u64, count: usize) -> Vec<Link> {
    let mut random = Random::new(seed);
    (0..count)
        .map(|i| {
            let r = &mut random;
            let parent = if i == 0 || r.unit() < 0.1 { None } else { Some((r.bits() % i as u64) as usize) };
            let joint_count = [0, 1, 1, 1, 2, 3][(r.bits() % 6) as usize];
            let joints = (0..joint_count)
                .map(|number| {
                    let kind = match r.bits() % 9 {
                        0 if parent.is_none() && number == 0 => JointKind::Free,
                        0 | 1 => JointKind::Ball,
                        2 => JointKind::Slide,
                        3 => JointKind::Screw { pitch: r.between(-0.5, 0.5) },
                        4 => JointKind::Universal { second_axis: vector(r) },
                        5 => JointKind::Planar,
                        6 if number > 0 => JointKind::Fixed,
                        _ => JointKind::Hinge,
                    };
                    Joint {
                        name: format!("j{i}.{number}"),
                        kind,
                        anchor: 0.3 * vector(r),
                        axis: vector(r),
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
        tree.articulate(&[], &mut work);
        tree.solve_articulated(&mut work, &mut y);
        assert!(worst(&y, &x) < 1e-10, "{name}: {:e}", worst(&y, &x));
    }
}
