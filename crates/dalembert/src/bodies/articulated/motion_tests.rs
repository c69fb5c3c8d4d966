//! Trees in motion: energy, momentum, order of the schemes, batches.

use super::tests::{GRAVITY, chain, random_links, random_state, trees, worst};
use super::*;
use crate::joints::JointKind;
use crate::math::{Mat3, Pose, Vec3};

/// Energy of gravity and motion at (q, v).
fn energy(tree: &Tree, q: &[f64], v: &[f64], work: &mut TreeWork) -> f64 {
    tree.kinematics(q, work);
    tree.velocities(v, work);
    tree.kinetic_energy(v, work) + tree.gravity_energy(work)
}

#[test]
fn energy_grows_by_the_power_of_the_forces() {
    for (name, tree) in trees() {
        let mut work = TreeWork::new(&tree);
        let (q, v, tau) = random_state(&tree, 8);
        let n = v.len();
        let mut dv = vec![0.0; n];
        tree.forward_dynamics(&q, &v, &tau, &[], &mut work, &mut dv);
        let mut M_v = vec![0.0; n];
        tree.mass_times(&v, &mut work, &mut M_v);
        let T: f64 = 0.5 * M_v.iter().zip(&v).map(|(a, b)| a * b).sum::<f64>();
        tree.velocities(&v, &mut work);
        assert!((T - tree.kinetic_energy(&v, &work)).abs() < 1e-12 * T, "{name}");
        let e = 1e-5;
        let mut at = |s: f64| {
            let mut q = q.clone();
            // q ⊕ s (v + s dv/2): the second order of the curve does not matter to a central difference.
            tree.integrate(&mut q, &v, s);
            let v: Vec<f64> = v.iter().zip(&dv).map(|(v, dv)| v + s * dv).collect();
            energy(&tree, &q, &v, &mut work)
        };
        let rate = (at(e) - at(-e)) / (2.0 * e);
        let power: f64 = tau.iter().zip(&v).map(|(a, b)| a * b).sum();
        assert!((rate - power).abs() < 1e-6 * (1.0 + T), "{name}: {rate} {power}");
    }
}

#[test]
fn the_mass_matrix_is_positive_definite_and_both_algorithms_agree() {
    for (name, mut tree) in trees() {
        let mut work = TreeWork::new(&tree);
        let (q, v, tau) = random_state(&tree, 10);
        let n = v.len();
        let mut results = [vec![0.0; n], vec![0.0; n]];
        for (forward, dv) in
            [ForwardDynamics::Articulated, ForwardDynamics::Factored].into_iter().zip(&mut results)
        {
            tree.forward = forward;
            tree.forward_dynamics(&q, &v, &tau, &[], &mut work, dv);
        }
        assert!(worst(&results[0], &results[1]) < 1e-10, "{name}");
        let mut M = vec![0.0; n * n];
        tree.mass_matrix(&mut work).to_dense(&tree, &mut M);
        let M = nalgebra::DMatrix::from_row_slice(n, n, &M);
        assert_eq!(M, M.transpose());
        assert!(M.symmetric_eigenvalues().min() > 0.0, "{name}");
    }
}

/// A floating tree: a free body with a ball, a slide and a hinge on it.
fn floating() -> Tree {
    let part = |name: &str, parent: Option<usize>, kind: JointKind| Link {
        name: name.into(),
        parent,
        placement: Pose::at(Vec3::new(0.3, 0.1, 0.0)),
        mass: 1.0,
        center: Vec3::new(0.1, 0.0, 0.05),
        inertia: Mat3::from_diagonal(&Vec3::new(0.02, 0.03, 0.04)),
        joints: vec![Joint::new(name, kind, Vec3::new(0.0, 1.0, 1.0))],
        ..Link::default()
    };
    let links = [
        part("base", None, JointKind::Free),
        part("ball", Some(0), JointKind::Ball),
        part("hinge", Some(1), JointKind::Hinge),
        part("slide", Some(0), JointKind::Slider),
    ];
    Tree::new(&links, Vec3::zeros()).unwrap()
}

#[test]
fn a_floating_tree_keeps_its_momentum() {
    let tree = floating();
    let mut work = TreeWork::new(&tree);
    let (q_0, v_0, tau) = random_state(&tree, 11);
    let mut momentum = |q: &[f64], v: &[f64]| {
        tree.kinematics(q, &mut work);
        tree.velocities(v, &mut work);
        tree.centroidal_momentum(&work)
    };
    let mut other = TreeWork::new(&tree);
    let mut drift = |h: f64| {
        let (mut q, mut v) = (q_0.clone(), v_0.clone());
        let (P, L) = momentum(&q, &v);
        for _ in 0..(1.0 / h).round() as u32 {
            // Forces inside the tree, none on the free joint.
            tree.step(Scheme::RungeKutta4, &mut q, &mut v, h, &mut other, |_, _, out| {
                out[6..].copy_from_slice(&tau[6..]);
            });
        }
        let (P_1, L_1) = momentum(&q, &v);
        (P_1 - P).norm() + (L_1 - L).norm()
    };
    let (a, b) = (drift(0.004), drift(0.002));
    assert!(b < 1e-6 && a / b > 12.0, "{a:e} {b:e}");
}

#[test]
fn a_free_joint_has_world_velocity_and_link_spin() {
    let (mass, center) = (2.0, Vec3::new(0.2, -0.1, 0.3));
    let link = Link {
        mass,
        center,
        inertia: Mat3::from_diagonal(&Vec3::new(0.2, 0.3, 0.4)),
        joints: vec![Joint::new("free", JointKind::Free, Vec3::z())],
        ..Link::default()
    };
    let tree = Tree::new(&[link], GRAVITY).unwrap();
    let mut work = TreeWork::new(&tree);
    let (q, v, _) = random_state(&tree, 12);
    tree.kinematics(&q, &mut work);
    tree.velocities(&v, &mut work);
    let pose = tree.link_pose(0, &work);
    assert_eq!(pose.position.as_slice(), &q[..3]);
    let motion = tree.point_velocity(0, &pose.position, &work);
    assert!((motion.linear - Vec3::new(v[0], v[1], v[2])).norm() < 1e-15);
    assert!((motion.angular - pose.rotation * Vec3::new(v[3], v[4], v[5])).norm() < 1e-15);
    // Nothing but gravity: the centre of mass falls, so the origin accelerates by g − ω̇×c − ω×(ω×c).
    let mut dv = [0.0; 6];
    tree.forward_dynamics(&q, &v, &[0.0; 6], &[], &mut work, &mut dv);
    let arm = pose.rotation * center;
    let (w, dw) = (motion.angular, pose.rotation * Vec3::new(dv[3], dv[4], dv[5]));
    let a = Vec3::new(dv[0], dv[1], dv[2]) + dw.cross(&arm) + w.cross(&w.cross(&arm));
    assert!((a - GRAVITY).norm() < 1e-13, "{a}");
}

#[test]
fn passive_forces_are_gradients_of_energy_and_losses() {
    for (name, tree) in trees() {
        let mut work = TreeWork::new(&tree);
        let (q, v, _) = random_state(&tree, 13);
        let n = v.len();
        tree.kinematics(&q, &mut work);
        let (mut still, mut moving) = (vec![0.0; n], vec![0.0; n]);
        tree.add_passive_forces(&q, &vec![0.0; n], &mut work, &mut still);
        tree.add_passive_forces(&q, &v, &mut work, &mut moving);
        let loss: f64 = (0..n).map(|d| (moving[d] - still[d]) * v[d]).sum();
        assert!(loss <= 0.0, "{name}");
        // Springs and lifted weights: gravity compensation is a potential too.
        let e = 1e-5;
        let mut lifted = |q: &[f64]| {
            tree.kinematics(q, &mut work);
            let lift = |k: usize| {
                let link = &tree.links[k];
                link.gravity_compensation * link.mass * tree.gravity.dot(&tree.link_center(k, &work))
            };
            tree.spring_energy(q) + (0..tree.link_count()).map(lift).sum::<f64>()
        };
        for d in 0..n {
            let mut along = vec![0.0; n];
            along[d] = 1.0;
            let mut at = |s: f64| {
                let mut q = q.clone();
                tree.integrate(&mut q, &along, s);
                lifted(&q)
            };
            let slope = (at(e) - at(-e)) / (2.0 * e);
            assert!(
                (slope + still[d]).abs() < 1e-7 * (1.0 + slope.abs()),
                "{name} {d}: {slope} {}",
                still[d]
            );
        }
    }
}

#[test]
fn integrating_and_differencing_undo_each_other() {
    for (name, tree) in trees() {
        let (q, v, _) = random_state(&tree, 14);
        let (mut there, mut back) = (q.clone(), vec![0.0; v.len()]);
        tree.integrate(&mut there, &v, 1.0);
        tree.difference(&q, &there, &mut back);
        assert!(worst(&back, &v) < 1e-13, "{name}");
    }
}

/// Error of a scheme after 0.4 s with h and with h/2, against Runge-Kutta with small steps.
fn order(tree: &Tree, scheme: Scheme<'_>, h: f64) -> f64 {
    let run = |scheme: Scheme<'_>, h: f64| {
        let mut work = TreeWork::new(tree);
        let (mut q, mut v, tau) = random_state(tree, 15);
        for _ in 0..(0.4 / h).round() as u32 {
            assert!(
                tree.step(scheme, &mut q, &mut v, h, &mut work, |_, _, out| out
                    .iter_mut()
                    .zip(&tau)
                    .for_each(|(out, tau)| *out += tau))
                    .converged
            );
        }
        (q, v)
    };
    let (q, v) = run(Scheme::RungeKutta4, 2.5e-4);
    let error = |h: f64| {
        let (other, velocity) = run(scheme, h);
        let mut gap = vec![0.0; v.len()];
        tree.difference(&q, &other, &mut gap);
        gap.iter()
            .zip(velocity.iter().zip(&v))
            .map(|(x, (a, b))| x * x + (a - b) * (a - b))
            .sum::<f64>()
            .sqrt()
    };
    (error(h) / error(0.5 * h)).log2()
}

#[test]
fn every_scheme_has_its_order() {
    let mut links = random_links(4, 5);
    links[0].joints = vec![Joint::new("ball", JointKind::Ball, Vec3::z())];
    let tree = Tree::new(&links, GRAVITY).unwrap();
    let implicit = Scheme::ImplicitDamping { damping: &[], stiffness: &[] };
    for (scheme, wanted, h) in [
        (Scheme::SemiImplicitEuler, 1.0, 2e-3),
        (implicit, 1.0, 2e-3),
        (Scheme::RungeKutta4, 4.0, 4e-3),
        (Scheme::PlainRungeKutta4, 2.0, 4e-3),
        (Scheme::Midpoint, 2.0, 4e-3),
    ] {
        let found = order(&tree, scheme, h);
        assert!((found - wanted).abs() < 0.25, "{scheme:?}: {found}");
    }
}

#[test]
fn stiff_servos_stay_bounded_when_implicit() {
    let tree = chain(10);
    let mut work = TreeWork::new(&tree);
    let (k, b) = (vec![1e6; 10], vec![1e4; 10]);
    let (mut q, mut v) = (vec![0.3; 10], vec![0.0; 10]);
    let scheme = Scheme::ImplicitDamping { damping: &b, stiffness: &k };
    for _ in 0..2000 {
        tree.step(scheme, &mut q, &mut v, 0.01, &mut work, |q, v, tau| {
            for d in 0..10 {
                tau[d] += k[d] * (0.1 - q[d]) - b[d] * v[d];
            }
        });
    }
    assert!(q.iter().all(|q| (q - 0.1).abs() < 1e-4) && v.iter().all(|v| v.abs() < 1e-4), "{q:?} {v:?}");
}

#[test]
fn a_batch_moves_as_its_states_alone() {
    let tree = floating();
    let mut batch = TreeBatch::new(&tree, 37);
    let states: Vec<_> = (0..batch.len()).map(|k| random_state(&tree, k as u64)).collect();
    for (k, (q, v, _)) in states.iter().enumerate() {
        let (to_q, to_v) = batch.state_mut(&tree, k);
        to_q.copy_from_slice(q);
        to_v.copy_from_slice(v);
    }
    let push = |k: usize, _: &[f64], _: &[f64], tau: &mut [f64]| tau[7] += 0.1 * k as f64;
    batch.step(&tree, Scheme::SemiImplicitEuler, 0.01, 20, push);
    let mut work = TreeWork::new(&tree);
    for (k, (mut q, mut v, _)) in states.into_iter().enumerate() {
        for _ in 0..20 {
            tree.step(Scheme::SemiImplicitEuler, &mut q, &mut v, 0.01, &mut work, |q, v, t| push(k, q, v, t));
        }
        assert_eq!(batch.state_mut(&tree, k), (&mut q[..], &mut v[..]));
    }
}

#[test]
fn links_that_are_no_tree_are_refused_by_name() {
    let link = |name: &str, parent| Link {
        name: name.into(),
        parent,
        mass: 1.0,
        inertia: Mat3::identity(),
        joints: vec![Joint::hinge("hinge", Vec3::x())],
        ..Link::default()
    };
    let error = |links: &[Link]| Tree::new(links, GRAVITY).unwrap_err().to_string();
    assert_eq!(error(&[link("a", Some(3))]), "link `a` has parent number 3, but there are only 1 links");
    assert_eq!(error(&[link("a", Some(1)), link("b", Some(0))]), "link `a` is its own ancestor");
    let light = Link { mass: 0.0, inertia: Mat3::zeros(), ..link("a", None) };
    assert!(error(&[light]).contains("moves neither mass nor armature"));
    let mut below = link("b", Some(0));
    below.joints[0].kind = JointKind::Free;
    assert!(error(&[link("a", None), below]).contains("must be the first joint"));
    let mut flat = link("a", None);
    flat.joints[0].axis = Vec3::zeros();
    assert!(error(&[flat]).contains("axis without direction"));
    // Parents may stand behind their children: q follows the tree, links keep their numbers.
    let tree = Tree::new(&[link("tip", Some(1)), link("root", None)], GRAVITY).unwrap();
    assert_eq!(tree.joints()[0].link, 1);
}

#[test]
fn velocities_without_accelerations_are_those_with_them() {
    for (name, tree) in trees() {
        let (q, v, _) = random_state(&tree, 11);
        let (mut one, mut two) = (TreeWork::new(&tree), TreeWork::new(&tree));
        tree.kinematics(&q, &mut one);
        tree.velocities(&v, &mut one);
        tree.kinematics(&q, &mut two);
        tree.velocities_in(1..tree.node_count(), &v, &mut two);
        for link in 0..tree.link_count() {
            let x = tree.link_position(link, &one) + Vec3::new(0.3, -0.1, 0.2);
            let (a, b) = (tree.point_velocity(link, &x, &one), tree.point_velocity(link, &x, &two));
            let off = (a.linear - b.linear).norm() + (a.angular - b.angular).norm();
            assert!(off <= 1e-13 * (1.0 + a.linear.norm() + a.angular.norm()), "{name} {link}: {off:e}");
        }
    }
}
