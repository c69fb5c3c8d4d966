//! Robots in reduced coordinates: kernels and whole steps, per dof.
//!
//! The chains are those of `peers/articulated/make_chain.py`, so that a row can be held against MuJoCo and Pinocchio.
//! A kernel gets sixteen random states in turn and includes the poses of the links; n is the number of dofs.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use dalembert::bodies::articulated::{
    ForwardDynamics, Joint, Link, Scheme, Tree, TreeBatch, TreeSquareMatrix, TreeWork,
};
use dalembert::joints::JointKind;
use dalembert::math::{Mat3, Pose, Random, Vec3};
use dalembert::robot::{Robot, RobotScheme};

use dalembert_formats::robot::{ReadOptions, read_robot, read_robot_text};
use dalembert_formats::source::Includes;

use super::{Bencher, on_one_thread};
use crate::commands::examples::SCENES;
use crate::verify::unknown;

fn tree(links: &[Link]) -> Tree {
    Tree::new(links, Vec3::new(0.0, 0.0, -9.81)).unwrap_or_else(|e| panic!("a bench is broken: {e}"))
}

fn rod(parent: Option<usize>, at: Vec3, mass: f64, length: f64, joint: Joint) -> Link {
    let (side, across) = (mass / 12.0 * (4e-4 + length * length), mass / 6.0 * 4e-4);
    Link {
        parent,
        placement: Pose::at(at),
        mass,
        center: Vec3::new(0.0, 0.0, -length / 2.0),
        inertia: Mat3::from_diagonal(&Vec3::new(side, side, across)),
        joints: vec![joint],
        ..Link::default()
    }
}

/// Rods of 0.1 m hanging from each other on hinges about y and x in turn.
fn chain(n: usize) -> Tree {
    let links: Vec<Link> = (0..n)
        .map(|i| {
            let axis = if i % 2 == 0 { Vec3::y() } else { Vec3::x() };
            let at = Vec3::new(0.0, 0.0, if i == 0 { 0.0 } else { -0.1 });
            rod(i.checked_sub(1), at, 0.1, 0.1, Joint::hinge("hinge", axis))
        })
        .collect();
    tree(&links)
}

/// An arm of seven hinges about z and y in turn, with rotors.
fn arm() -> Tree {
    let links: Vec<Link> = (0..7usize)
        .map(|i| {
            let axis = if i % 2 == 0 { Vec3::z() } else { Vec3::y() };
            let joint = Joint { armature: 0.1, damping: 1.0, ..Joint::hinge("hinge", axis) };
            rod(i.checked_sub(1), Vec3::new(0.0, 0.0, 0.2), 3.0 - 0.3 * i as f64, 0.2, joint)
        })
        .collect();
    tree(&links)
}

/// A floating body with 29 hinges: legs of six, a waist of three, arms of six, a neck of two. 35 dofs.
fn humanoid() -> Tree {
    let (x, y, z) = (Vec3::x(), Vec3::y(), Vec3::z());
    let mut links = vec![rod(None, z, 10.0, 0.2, Joint::new("free", JointKind::Free, z))];
    let mut limb = |mut parent: usize, first: Vec3, step: f64, mass: f64, axes: &[Vec3]| {
        for (k, axis) in axes.iter().enumerate() {
            let at = if k == 0 { first } else { Vec3::new(0.0, 0.0, step) };
            links.push(rod(Some(parent), at, mass, step.abs(), Joint::hinge("hinge", *axis)));
            parent = links.len() - 1;
        }
        parent
    };
    for side in [-1.0, 1.0] {
        limb(0, Vec3::new(0.0, 0.1 * side, -0.1), -0.15, 2.0, &[z, x, y, y, y, x]);
    }
    let chest = limb(0, Vec3::new(0.0, 0.0, 0.1), 0.1, 4.0, &[z, y, x]);
    for side in [-1.0, 1.0] {
        limb(chest, Vec3::new(0.0, 0.2 * side, 0.3), -0.12, 1.0, &[y, x, z, y, z, y]);
    }
    limb(chest, Vec3::new(0.0, 0.0, 0.35), 0.05, 1.5, &[z, y]);
    tree(&links)
}

/// Sixteen random states: coordinates, velocities and forces.
fn states(tree: &Tree) -> Vec<[Vec<f64>; 3]> {
    let mut random = Random::new(1);
    let mut numbers = || -> Vec<f64> { (0..tree.freedoms()).map(|_| random.between(-1.0, 1.0)).collect() };
    let mut state = || {
        let mut q = tree.neutral().to_vec();
        tree.integrate(&mut q, &numbers(), 1.0);
        [q, numbers(), numbers()]
    };
    (0..16).map(|_| state()).collect()
}

/// Shortest mean time of a call in windows of about a fifth of a millisecond, which other programs disturb little [s].
fn shortest(b: &Bencher, mut call: impl FnMut(usize)) -> f64 {
    call(0);
    let clock = Instant::now();
    (0..4).for_each(&mut call);
    let count = ((8e-4 / clock.elapsed().as_secs_f64()) as usize).max(1);
    (0..20 * b.repeat)
        .map(|_| {
            let clock = Instant::now();
            (0..count).for_each(&mut call);
            clock.elapsed().as_secs_f64() / count as f64
        })
        .fold(f64::INFINITY, f64::min)
}

pub(super) fn articulated(b: &mut Bencher) {
    for (model, tree) in own() {
        time_kernels(b, &model, &tree);
        steps(b, &model, tree);
    }
    for (model, tree) in shared() {
        match tree {
            Ok(tree) => time_kernels(b, &model, &tree),
            Err(reason) => b.row("shared", 1, f64::NAN, reason),
        }
    }
    robots(b);
    batch(b);
}

/// One kernel on one model, so often and nothing else.
pub(super) fn calls(kernel: &str, model: &str, count: usize) -> Result<(), String> {
    let of_others = shared().into_iter().filter_map(|(name, tree)| Some((name, tree.ok()?)));
    let all: Vec<(String, Tree)> = own().into_iter().chain(of_others).collect();
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let Some((_, tree)) = all.iter().find(|(name, _)| name == model) else {
        return Err(unknown("model", model, &names));
    };
    let mut kernels_there = Vec::new();
    kernels(tree, &mut |name, call| {
        kernels_there.push(name.to_owned());
        if name == kernel {
            (0..count).for_each(call);
        }
    });
    if kernels_there.iter().any(|name| name == kernel) {
        return Ok(());
    }
    Err(unknown("kernel", kernel, &kernels_there.iter().map(String::as_str).collect::<Vec<_>>()))
}

/// Models made here.
fn own() -> Vec<(String, Tree)> {
    let chains = [10, 30, 100, 300].map(|n| (format!("chain{n}"), chain(n)));
    chains.into_iter().chain([("arm7".into(), arm()), ("humanoid35".into(), humanoid())]).collect()
}

/// Models of others, where `DALEMBERT_SHARED` says where they are.
fn shared() -> Vec<(String, Result<Tree, String>)> {
    let Some(folder) = std::env::var_os("DALEMBERT_SHARED") else { return Vec::new() };
    [
        ("urdf_panda/panda.urdf", false),
        ("urdf_solo12/solo12.urdf", true),
        ("urdf_simple_humanoid/simple_humanoid.urdf", true),
    ]
    .map(|(path, floating_base)| {
        let path = Path::new(&folder).join("models").join(path);
        let options = ReadOptions { floating_base, ..ReadOptions::default() };
        let read = read_robot(&path, &options).map_err(|e| e.to_string());
        let tree = read.and_then(|(robot, _)| robot.tree().map_err(|e| e.to_string()));
        (path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), tree)
    })
    .into()
}

/// Whole steps of our own robots from their files, servos, limits, friction and loops included: as MuJoCo runs the same
/// files with contact off.
fn robots(b: &mut Bencher) {
    for name in ["arm", "humanoid", "quadruped", "hand", "delta"] {
        let file = format!("robots/{name}.xml");
        let Some((_, text)) = SCENES.iter().find(|(known, _)| *known == file) else { continue };
        let read = read_robot_text(file, *text, Includes::Embedded(SCENES), &ReadOptions::default());
        let (robot, _) = read.unwrap_or_else(|e| panic!("a bench is broken: {e}"));
        let h = robot.options.timestep;
        let robot = Robot::new(robot).unwrap_or_else(|e| panic!("a bench is broken: {e}"));
        let (start, mut work) = (robot.start(), robot.work());
        let (mut state, mut steps) = (start.clone(), 0);
        let mut rows = 0;
        let seconds = shortest(b, |_| {
            // A second of motion at a time, so that a robot in the air does not fall for ever.
            if steps % 500 == 0 {
                state.copy_from(&start);
            }
            steps += 1;
            match robot.step(RobotScheme::Implicit, &mut state, h, &mut work) {
                Ok(report) => rows = report.rows,
                Err(error) => panic!("a bench is broken: {error}"),
            }
        });
        b.row("step_robot", robot.tree.freedoms(), seconds, format!("{name}, {rows} rows"));
    }
}

fn time_kernels(b: &mut Bencher, model: &str, tree: &Tree) {
    kernels(tree, &mut |kernel, call| {
        let seconds = shortest(b, call);
        b.row(kernel, tree.freedoms(), seconds, model);
    });
}

/// Times a kernel under a name; the kernel is told how often to run.
type Measure<'a> = dyn FnMut(&str, &mut dyn FnMut(usize)) + 'a;

/// Hands every kernel to `measure`: its name, and the call with the state of a number.
fn kernels(tree: &Tree, measure: &mut Measure<'_>) {
    let (n, states) = (tree.freedoms(), states(tree));
    let (mut work, mut out) = (TreeWork::new(tree), vec![0.0; n]);
    let mut row = |kernel: &str, call: &mut dyn FnMut(&[Vec<f64>; 3])| {
        measure(kernel, &mut |k| call(&states[k % 16]));
    };
    row("poses", &mut |[q, _, _]| {
        tree.kinematics(q, &mut work);
        black_box(&work);
    });
    row("rnea", &mut |[q, v, a]| {
        tree.kinematics(q, &mut work);
        tree.inverse_dynamics(v, Some(a), &[], &mut work, &mut out);
        black_box(&out);
    });
    row("crba", &mut |[q, _, _]| {
        tree.kinematics(q, &mut work);
        black_box(tree.mass_matrix(&mut work));
    });
    row("crba_factor", &mut |[q, _, _]| {
        tree.kinematics(q, &mut work);
        tree.mass_matrix(&mut work);
        tree.factor_mass(&mut work);
        black_box(&work);
    });
    row("aba", &mut |[q, v, tau]| {
        tree.forward_dynamics_aba(q, v, tau, &[], &mut work, &mut out);
        black_box(&out);
    });
    let (mut by_q, mut by_v) = (TreeSquareMatrix::default(), TreeSquareMatrix::default());
    row("d_rnea", &mut |[q, v, a]| {
        tree.kinematics(q, &mut work);
        tree.inverse_dynamics_derivatives(v, a, &mut work, &mut by_q, &mut by_v);
        black_box(&by_q);
    });
    if n <= 100 {
        let (mut by_q, mut by_v) = (vec![0.0; n * n], vec![0.0; n * n]);
        row("d_aba", &mut |[q, v, tau]| {
            tree.forward_dynamics_aba(q, v, tau, &[], &mut work, &mut out);
            tree.forward_dynamics_derivatives(v, &out, &mut work, &mut by_q, &mut by_v, &mut []);
            black_box(&by_q);
        });
    }
}

fn steps(b: &mut Bencher, model: &str, mut tree: Tree) {
    let (n, chosen) = (tree.freedoms(), tree.forward);
    let row = |b: &mut Bencher, name: &str, tree: &Tree, scheme: Scheme<'_>, note: &str| {
        let mut work = TreeWork::new(tree);
        // From rest, in small steps, so that the motion stays the same sort of motion.
        let (mut q, mut v) = (tree.neutral().to_vec(), vec![0.01; n]);
        let (h, mut iterations) = (if scheme == Scheme::Midpoint { 1e-3 } else { 1e-5 }, 0);
        let seconds = shortest(b, |_| {
            iterations = tree.step(scheme, &mut q, &mut v, h, &mut work, |_, _, _| {}).iterations;
        });
        let note = if iterations > 0 { format!(", {iterations} iterations") } else { note.to_owned() };
        b.row(name, n, seconds, format!("{model}{note}"));
    };
    for (name, forward) in
        [("step_aba", ForwardDynamics::Articulated), ("step_factor", ForwardDynamics::Factored)]
    {
        tree.forward = forward;
        let note = if chosen == forward { ", chosen" } else { "" };
        row(b, name, &tree, Scheme::SemiImplicitEuler, note);
    }
    tree.forward = chosen;
    row(b, "step_rk4", &tree, Scheme::RungeKutta4, "");
    row(b, "step_midpoint", &tree, Scheme::Midpoint, "");
}

/// 1000 humanoids, two steps at a time, on one thread and on all.
fn batch(b: &mut Bencher) {
    let (tree, count, steps) = (humanoid(), 1_000, 2);
    let mut first = TreeBatch::new(&tree, count);
    let states = states(&tree);
    for k in 0..count {
        let (q, v) = first.state_mut(&tree, k);
        q.copy_from_slice(&states[k % 16][0]);
        v.copy_from_slice(&states[k % 16][1]);
    }
    let mut second = first.clone();
    let run = |batch: &mut TreeBatch| {
        batch.step(&tree, Scheme::SemiImplicitEuler, 1e-5, steps, |_, _, _, _| {});
    };
    let (mut alone, mut together) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..10 {
        let (one, all) = b.best_of_two(|| on_one_thread(|| run(&mut first)), || run(&mut second));
        (alone, together) = (alone.min(one), together.min(all));
    }
    let per_step = steps as f64;
    b.row("batch", count, alone / per_step, "humanoid35, one thread");
    let note = format!("humanoid35, {} threads: {:.2} times", rayon::current_num_threads(), alone / together);
    b.row("batch_threads", count, together / per_step, note);
}
