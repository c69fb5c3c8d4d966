//! Soft solids: products with the tangent of corotated tetrahedra, and whole implicit steps of two beams.

use std::time::Instant;

use dalembert::forces::nary::{Law, Material, Tets};
use dalembert::forces::{Blocks, Force, Points, Tangent};
use dalembert::math::polar_rotation;
use dalembert::mesh::{Region, TetMesh};
use dalembert::prelude::*;
use dalembert::scene::{Elements, SoftBody, Solid};
use dalembert::solve::block_matrix::BlockMatrix;
use dalembert::solve::linear::{LinearSolver, Preconditioner};
use dalembert::state::PointId;

use super::scenes::build;
use super::{Bencher, on_one_thread};

/// Nodes of the two beams.
const BEAMS: [[usize; 3]; 2] = [[10, 10, 40], [16, 16, 76]];

/// Per tetrahedron: rotate in and out, rotated gradients, assembled blocks; and the gradients on all threads.
pub(super) fn tet_products(b: &mut Bencher) {
    for nodes in BEAMS {
        let cells = nodes.map(|n| n - 1);
        let Ok(mesh) = TetMesh::block(Vec3::new(0.1, 0.1, 0.4), cells) else { return };
        let ids: Vec<[PointId; 4]> = mesh.tets.iter().map(|t| t.map(PointId)).collect();
        let material = Material { law: Law::Corotated, young: 2e3, poisson: 0.3 };
        let Ok(tets) = Tets::new(&mesh.points, &ids, material) else { return };
        let (n, count) = (mesh.points.len(), mesh.tets.len());
        // Twisted, so that every element has turned by its own angle.
        let x: Vec<f64> = mesh
            .points
            .iter()
            .flat_map(|p| {
                let (s, c) = (4.0 * p.z).sin_cos();
                [c * p.x - s * p.y, s * p.x + c * p.y, 1.05 * p.z]
            })
            .collect();
        let (v, mass) = (vec![0.0; 3 * n], vec![1.0; n]);
        let points = Points { time: 0.0, first: 0, x: &x, v: &v, mass: &mass };
        let y: Vec<f64> = (0..3 * n).map(|i| (0.37 * i as f64).sin()).collect();
        let mut out = vec![0.0; 3 * n];
        let turns: Vec<Mat3> = tets.deformations(&points).map(|f| polar_rotation(&f)).collect();
        let mut cache = Vec::new();
        tets.linearize(&points, Tangent::Projected, &mut cache);
        let mut blocks = Blocks::default();
        tets.add_tangent_blocks(&points, Tangent::Projected, &mut blocks);
        let matrix = BlockMatrix::new(n, &blocks);
        let (plain, gradients, rows) = on_one_thread(|| {
            let (mut plain, mut fast, mut rows) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
            // In turns, so that all three see the same machine.
            for _ in 0..b.repeat.max(3) {
                plain = plain.min(seconds(|| tets.add_rotated_times(&turns, &y, &mut out)));
                fast = fast.min(seconds(|| tets.add_tangent_times(&points, &cache, &y, &mut out)));
                rows = rows.min(seconds(|| matrix.add_times(&y, &mut out)));
            }
            (plain, fast, rows)
        });
        let threads = b.best(|| tets.add_tangent_times(&points, &cache, &y, &mut out));
        b.row("tets_rotate_in_out", count, plain, "corotated, rotate in, rotate out");
        b.row("tets_gradients", count, gradients, format!("{:.2} times as fast", plain / gradients));
        b.row("tets_blocks", count, rows, format!("{:.2} times as fast, assembled 3x3 blocks", plain / rows));
        let note = format!("{:.2} times as fast as on one thread", gradients / threads);
        b.row("tets_gradients_threads", count, threads, note);
    }
}

fn seconds(f: impl FnOnce()) -> f64 {
    let clock = Instant::now();
    f();
    clock.elapsed().as_secs_f64()
}

/// Whole steps of both beams, of tetrahedra and hexahedra: 20 iterations, and to 1e-6 with the best solver.
pub(super) fn soft_beams(b: &mut Bencher) {
    for nodes in BEAMS {
        for (name, elements) in [("tets", Elements::Tets), ("hexes", Elements::Hexes)] {
            let twenty = LinearSolver::Cg {
                preconditioner: Preconditioner::None,
                tolerance: 1e-30,
                most_iterations: 20,
            };
            for (what, solver) in [("20", twenty), ("best", LinearSolver::Automatic { tolerance: 1e-6 })] {
                let mut scene = Scene { dt: 0.01, ..Scene::default() };
                scene.method = Method::Implicit(Implicit { solver, ..Implicit::default() });
                let solid = Solid::Box { size: Vec3::new(0.1, 0.1, 0.4), cells: nodes.map(|n| n - 1) };
                scene.add(SoftBody { elements, young: 2e3, ..SoftBody::new("beam", solid) });
                let low = Vec3::new(-1.0, -1.0, -0.21);
                scene.add(Fix::inside("beam", Region::Box { low, high: Vec3::new(1.0, 1.0, -0.199) }));
                let mut sim = build(scene);
                let steps = 3;
                let time = on_one_thread(|| {
                    let _ = sim.step();
                    (0..steps).map(|_| seconds(|| drop(sim.step()))).fold(f64::INFINITY, f64::min)
                });
                let solver = sim.report.linear.map_or("", |l| l.solver.name());
                let note = format!("{} iterations, {solver}", sim.report.linear_iterations);
                b.row(format!("beam_{name}_{what}"), nodes.iter().product(), time, note);
            }
        }
    }
}
