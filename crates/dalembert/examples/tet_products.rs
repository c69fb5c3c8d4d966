//! Times one product K·u of corotated tetrahedra: displacements rotated in and forces out, against turned gradients.
//! Teaches what the cached tangent of `Tets` is for.
//! cargo run --release -p dalembert --example tet_products
#![allow(non_snake_case)]

use std::hint::black_box;
use std::time::Instant;

use dalembert::forces::nary::{Law, Material, Tets};
use dalembert::forces::{Force, Points, Tangent};
use dalembert::math::{Mat3, Random, Vec3, polar_rotation};
use dalembert::model::PointId;

/// A beam of the given numbers of points, six tetrahedra per cell around its diagonal.
fn beam(n: [usize; 3]) -> (Vec<Vec3>, Vec<[PointId; 4]>) {
    let at = |i: usize, j: usize, k: usize| PointId((i + n[0] * (j + n[1] * k)) as u32);
    let (mut rest, mut tets) = (Vec::new(), Vec::new());
    for k in 0..n[2] {
        for j in 0..n[1] {
            for i in 0..n[0] {
                rest.push(Vec3::new(i as f64, j as f64, k as f64));
                if i + 1 < n[0] && j + 1 < n[1] && k + 1 < n[2] {
                    let h = [
                        [0, 0, 0],
                        [1, 0, 0],
                        [1, 1, 0],
                        [0, 1, 0],
                        [0, 0, 1],
                        [1, 0, 1],
                        [1, 1, 1],
                        [0, 1, 1],
                    ]
                    .map(|[a, b, c]| at(i + a, j + b, k + c));
                    for t in
                        [[0, 5, 1, 6], [0, 1, 2, 6], [0, 2, 3, 6], [0, 3, 7, 6], [0, 7, 4, 6], [0, 4, 5, 6]]
                    {
                        tets.push(t.map(|c| h[c]));
                    }
                }
            }
        }
    }
    (rest, tets)
}

/// Best of many runs \[ms\].
fn best(mut run: impl FnMut()) -> f64 {
    let once = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64() * 1e3
    };
    (0..300).map(|_| once(&mut run)).fold(f64::INFINITY, f64::min)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "{:>8} {:>8} {:>11} {:>11} {:>7} {:>11}",
        "tets", "threads", "rotated ms", "turned ms", "ratio", "force ms"
    );
    for n in [[10, 10, 40], [16, 16, 76]] {
        let (rest, tets) = beam(n);
        let batch = Tets::new(&rest, &tets, Material { law: Law::Corotated, young: 2000.0, poisson: 0.3 })?;
        let mut random = Random::new(1);
        let x: Vec<f64> =
            rest.iter().flat_map(|x| x.as_slice().to_vec()).map(|x| x + random.between(-0.1, 0.1)).collect();
        let dx: Vec<f64> = x.iter().map(|_| random.between(-1.0, 1.0)).collect();
        let p = Points { time: 0.0, first: 0, x: &x, v: &[], mass: &[] };
        let turns: Vec<Mat3> = batch.deformations(&p).map(|F| polar_rotation(&F)).collect();
        let mut cache = Vec::new();
        batch.linearize(&p, Tangent::Projected, &mut cache);
        let mut apart = 0.0f64;
        for threads in [1, 2] {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build()?.install(|| {
                let (mut a, mut b, mut f) = (vec![0.0; x.len()], vec![0.0; x.len()], vec![0.0; x.len()]);
                let rotated = best(|| batch.add_rotated_times(&turns, black_box(&dx), &mut a));
                let turned = best(|| batch.add_tangent_times(&p, &cache, black_box(&dx), &mut b));
                let force = best(|| batch.add_force(black_box(&p), &mut f));
                let size = a.iter().fold(0.0, |s: f64, a| s.max(a.abs()));
                apart = a.iter().zip(&b).fold(apart, |s, (a, b)| s.max((a - b).abs() / size));
                println!(
                    "{:>8} {threads:>8} {rotated:>11.3} {turned:>11.3} {:>7.2} {force:>11.3}",
                    batch.len(),
                    rotated / turned
                );
            });
        }
        assert!(apart < 1e-10, "both ways give the same product: {apart:e}");
    }
    Ok(())
}
