//! Laws that every force, mapping and filter obeys; new ones join by adding themselves to `check::samples`.

use dalembert::check::{self, samples};

#[test]
fn every_force_is_the_slope_of_its_energy() {
    for seed in 0..5 {
        let cluster = samples::Cluster::new(seed);
        for s in samples::forces().iter().filter(|s| s.force.is_conservative()) {
            let worst = check::force_against_energy(&*s.force, &cluster.points());
            assert!(worst < 1e-7, "{}: relative error {worst:e}", s.name);
        }
    }
}

#[test]
fn every_stiffness_is_the_slope_of_its_force() {
    for seed in 0..5 {
        let cluster = samples::Cluster::new(seed);
        for s in samples::forces() {
            let worst = check::stiffness_against_force(&*s.force, &cluster.points());
            assert!(worst < 1e-7, "{}: relative error {worst:e}", s.name);
        }
    }
}

#[test]
fn every_damping_is_the_slope_of_its_force_in_velocity() {
    for seed in 0..5 {
        let cluster = samples::Cluster::new(seed);
        for s in samples::forces() {
            let worst = check::damping_against_force(&*s.force, &cluster.points());
            assert!(worst < 1e-7, "{}: relative error {worst:e}", s.name);
        }
    }
}

#[test]
fn forces_that_are_not_slopes_only_take_energy_out() {
    for seed in 0..20 {
        let cluster = samples::Cluster::new(seed);
        for s in samples::forces().iter().filter(|s| !s.force.is_conservative()) {
            let power = check::dissipated_power(&*s.force, &cluster.points());
            assert!(power < 0.0, "{}: {power} W", s.name);
        }
    }
}

#[test]
fn internal_forces_and_torques_sum_to_zero() {
    for seed in 0..5 {
        let cluster = samples::Cluster::new(seed);
        for s in samples::forces().iter().filter(|s| s.force.is_internal()) {
            let (force, torque) = check::internal_balance(&*s.force, &cluster.points());
            assert!(force < 1e-14 && torque < 1e-12, "{}: {force:e} {torque:e}", s.name);
        }
    }
}

#[test]
fn turning_the_scene_turns_the_force() {
    let cluster = samples::Cluster::new(3);
    for s in samples::forces().iter().filter(|s| s.turns) {
        let error = check::turning_error(&*s.force, &cluster.points());
        assert!(error < 1e-12, "{}: {error:e}", s.name);
    }
}

#[test]
fn the_stiffness_of_an_energy_is_symmetric() {
    let cluster = samples::Cluster::new(1);
    let p = cluster.points();
    let n = p.x.len();
    for s in samples::forces().iter().filter(|s| s.force.is_conservative()) {
        let (y, z): (Vec<f64>, Vec<f64>) = (0..n).map(|i| ((i as f64).sin(), (1.7 * i as f64).cos())).unzip();
        let (mut ky, mut kz) = (vec![0.0; n], vec![0.0; n]);
        s.force.add_stiffness_times(&p, &y, &mut ky);
        s.force.add_stiffness_times(&p, &z, &mut kz);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let size = dot(&ky, &ky).sqrt() * dot(&z, &z).sqrt() + 1e-300;
        // Closures have difference quotients for a stiffness, good to nine digits.
        let closure = s.name.starts_with("user closure");
        let limit = if closure { 1e-8 } else { 1e-13 };
        assert!((dot(&ky, &z) - dot(&kz, &y)).abs() / size < limit, "{}", s.name);
    }
}

#[test]
fn a_local_force_is_the_same_through_any_window() {
    let cluster = samples::Cluster::new(2);
    let p = cluster.points();
    for s in samples::forces().iter().filter(|s| s.force.is_local()) {
        let mut whole = vec![0.0; p.x.len()];
        s.force.add_force(&p, &mut whole);
        for (first, count) in [(0, 3), (2, 5), (7, 5), (11, 1)] {
            let part = 3 * first..3 * (first + count);
            let window = dalembert::forces::Points {
                first,
                x: &p.x[part.clone()],
                v: &p.v[part.clone()],
                mass: &p.mass[first..first + count],
                ..p
            };
            let mut f = vec![0.0; 3 * count];
            s.force.add_force(&window, &mut f);
            assert_eq!(f, whole[part], "{} from {first}", s.name);
        }
    }
}

#[test]
fn mappings_pass_on_the_same_power() {
    for s in samples::mappings() {
        let power = check::mapping_power_error(&*s.mapping, &s.q, s.layout.len_v(), s.child.clone());
        assert!(power < 1e-14, "{}: {power:e}", s.name);
    }
}

#[test]
fn carried_points_move_with_their_velocity() {
    for s in samples::mappings() {
        let rate = check::mapping_velocity_error(&*s.mapping, &s.layout, &s.q, s.child.clone(), &*s.advance);
        assert!(rate < 1e-9, "{}: {rate:e}", s.name);
    }
}

#[test]
fn geometric_stiffness_is_the_slope_of_the_gathered_force() {
    for s in samples::mappings() {
        let error =
            check::mapping_stiffness_error(&*s.mapping, &s.layout, &s.q, s.child.clone(), &*s.advance);
        assert!(error < 1e-7, "{}: {error:e}", s.name);
    }
}

#[test]
fn a_chain_of_mappings_is_one_mapping() {
    use dalembert::mapping::{Mapping, RigidPoints, Subset, Weighted, carry_all, gather_all};
    use dalembert::math::{Random, Vec3, dot};
    use dalembert::mesh::{TetMesh, Weights};
    use dalembert::state::{Layout, PointId};

    // A rigid body carries the nodes of a block, the block carries points inside it, and two of those have a second
    // name: three mappings deep, each child is still fixed to the body.
    let block = TetMesh::block(Vec3::new(1.0, 0.6, 0.8), [2, 1, 1]).unwrap();
    let inside = [Vec3::new(0.1, 0.2, -0.1), Vec3::new(-0.4, 0.1, 0.3), Vec3::new(0.9, 0.9, 0.9)];
    let nodes = block.points.len();
    let layout =
        Layout { nq: 7 + 3, nv: 6 + 3, rigid: 1, particles: 1, points: 1 + nodes + 5, ..Layout::default() };
    let weights = Weights::in_tets(&block, &inside).unwrap().offset(1);
    let names = vec![PointId(nodes as u32 + 3), PointId(nodes as u32 + 1)];
    let mappings: Vec<Box<dyn Mapping>> = vec![
        Box::new(RigidPoints::new(layout, 0, 0, 1, block.points.clone())),
        Box::new(Weighted::new(layout, weights, 1 + nodes)),
        Box::new(Subset::new(layout, names, 4 + nodes)),
    ];
    let direct: Vec<Vec3> = [&block.points[..], &inside, &[inside[2], inside[0]]].concat();
    let one: Vec<Box<dyn Mapping>> = vec![Box::new(RigidPoints::new(layout, 0, 0, 1, direct))];

    let mut random = Random::new(9);
    let mut numbers = |n: usize| -> Vec<f64> { (0..n).map(|_| random.between(-1.0, 1.0)).collect() };
    let (mut q, v, f) = (numbers(layout.len_q()), numbers(layout.len_v()), numbers(layout.len_v()));
    let length = dot(&q[3..7], &q[3..7]).sqrt();
    q[3..7].iter_mut().for_each(|x| *x /= length);
    let run = |mappings: &[Box<dyn Mapping>]| {
        let (mut q, mut v, mut gathered) = (q.clone(), v.clone(), f.clone());
        carry_all(mappings, &mut q, &mut v);
        gather_all(mappings, &q, &mut gathered);
        // Power on all points and on the body alone.
        (dot(&f, &v), dot(&gathered[..9], &v[..9]), [q, v, gathered[..9].to_vec()].concat())
    };
    let ((points, body, chain), (_, _, single)) = (run(&mappings), run(&one));
    assert!((points - body).abs() < 1e-13 * points.abs().max(1.0));
    let apart = chain.iter().zip(&single).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(apart < 1e-13, "{apart:e}");
}

#[test]
fn filtering_twice_is_filtering_once() {
    for (name, filter) in samples::filters() {
        let error = check::filter_error(&filter, 12);
        assert!(error < 1e-15, "{name}: {error:e}");
        assert!(filter.directions() > 0, "{name} filters nothing");
    }
}

#[test]
fn the_jacobian_of_a_constraint_gives_the_rate_of_its_violation() {
    for s in samples::constraints() {
        let (rate, bias) = check::constraint_errors(&*s.constraint, &s.bodies, 0.4);
        assert!(rate < 1e-9, "{}: Ċ off by {rate:e}", s.name);
        assert!(bias < 1e-8, "{}: J̇q̇ off by {bias:e}", s.name);
    }
}

#[test]
fn multipliers_do_no_work_along_allowed_motion() {
    for s in samples::constraints() {
        let work = check::constraint_work(&*s.constraint, &s.bodies, 0.4);
        assert!(work < 1e-12, "{}: {work:e}", s.name);
    }
}

#[test]
fn the_blocks_of_a_mapping_are_its_jacobian_and_the_symmetric_part_of_its_stiffness() {
    for s in samples::mappings() {
        let (jacobian, stiffness) =
            check::mapping_block_errors(&*s.mapping, &s.layout, &s.q, s.child.clone());
        assert!(jacobian < 1e-14 && stiffness < 1e-13, "{}: {jacobian:e} {stiffness:e}", s.name);
    }
}

#[test]
fn the_exact_tangent_is_the_stiffness_and_the_projected_one_is_never_negative() {
    for seed in 0..5 {
        let cluster = samples::Cluster::new(seed);
        for s in samples::forces() {
            let (exact, lowest) = check::tangent_errors(&*s.force, &cluster.points());
            assert!(exact < 1e-12, "{}: {exact:e} from the stiffness", s.name);
            if s.force.has_projection() {
                assert!(lowest > -1e-9, "{}: eigenvalue {lowest:e} of the largest", s.name);
            }
        }
    }
}
