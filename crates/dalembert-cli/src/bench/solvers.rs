//! Linear solvers on one implicit step of elastic boxes: set-up and solution, one thread.

use std::hint::black_box;
use std::time::Instant;

use dalembert::check::{Cells, ElasticBox};
use dalembert::solve::block_matrix::BlockMatrix;
use dalembert::solve::cg::{CgOptions, CgStop, CgWork, cg, plain};
use dalembert::solve::direct::Direct;
use dalembert::solve::order::Ordering;
use dalembert::solve::precondition::{BlockJacobi, IncompleteCholesky, TwoLevel};

use super::{Bencher, on_one_thread};

/// Time step [s].
const H: f64 = 0.01;

/// Large factors take a second: a few runs must do.
const MOST_REPEATS: u32 = 3;

/// Boxes from slender to bulky.
pub(super) fn linear_solvers(b: &mut Bencher) {
    let bar = |nodes, size| ElasticBox { nodes, size, ..ElasticBox::cantilever(Cells::Hexahedra) };
    let samples = [
        ("cantilever", ElasticBox::cantilever(Cells::Hexahedra), 1e-6),
        ("cantilever_tets", ElasticBox::cantilever(Cells::Tetrahedra), 1e-6),
        ("beam", bar([10, 10, 100], [0.02, 0.02, 0.2]), 1e-6),
        ("cube", ElasticBox::cube(22, Cells::Hexahedra), 1e-6),
        ("cube_loose", ElasticBox::cube(22, Cells::Hexahedra), 1e-2),
    ];
    for (name, sample, tolerance) in samples {
        let repeat = b.repeat.min(MOST_REPEATS);
        let rows = on_one_thread(|| rows(&sample, tolerance, repeat));
        for row in rows {
            b.row(format!("{name} {}", row.0), 3 * sample.count(), row.1, row.2);
        }
    }
}

/// Shortest of some times [s].
fn best(repeat: u32, mut f: impl FnMut()) -> f64 {
    (0..repeat)
        .map(|_| {
            let start = Instant::now();
            f();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

/// Name, seconds in all and note of each solver.
fn rows(sample: &ElasticBox, tolerance: f64, repeat: u32) -> Vec<(&'static str, f64, String)> {
    let a = BlockMatrix::new(sample.count(), &sample.system(H));
    let (f, weights, positions) = (sample.gravity(H), sample.weights(), sample.positions());
    let options = CgOptions { tolerance, weights: Some(&weights), ..CgOptions::default() };
    let mut work = CgWork::default();
    let mut x = vec![0.0; f.len()];
    let mut rows = vec![];
    let mut add = |name, set_up: f64, precondition: &mut dyn FnMut(&[f64], &mut [f64])| {
        let mut report = None;
        let solve = best(repeat, || {
            x.fill(0.0);
            let times = |p: &[f64], out: &mut [f64]| a.times(p, out);
            report = Some(cg(times, &mut *precondition, &f, &mut x, &options, &mut work));
        });
        let iterations = report.map_or(0, |r| r.iterations);
        let failed = if report.is_some_and(|r| r.stop == CgStop::Converged) { "" } else { ", not converged" };
        let note = format!("{iterations} iterations, {:.2} + {:.2} ms{failed}", 1e3 * set_up, 1e3 * solve);
        rows.push((name, set_up + solve, note));
    };
    add("plain", 0.0, &mut plain);

    let mut jacobi = BlockJacobi::new(&a);
    let set_up = best(repeat, || jacobi.refill(&a));
    add("jacobi", set_up, &mut |r, z| jacobi.apply(r, z));

    let mut cholesky = IncompleteCholesky::new(&a);
    let set_up = best(repeat, || cholesky.refill(&a));
    add("incomplete", set_up, &mut |r, z| cholesky.apply(r, z));

    let mut two_level = TwoLevel::new(&a, &positions);
    let set_up = best(repeat, || two_level.refill(&a, &positions));
    add("two_level", set_up, &mut |r, z| two_level.apply(r, z));

    let orders =
        [("direct_degree", Ordering::MinimumDegree), ("direct_dissection", Ordering::NestedDissection)];
    for (name, ordering) in orders {
        let mut direct = Direct::new(ordering);
        let start = Instant::now();
        let first = direct.factor(&a, Some(&positions));
        let analysis = start.elapsed().as_secs_f64();
        let set_up = best(repeat, || {
            black_box(direct.factor(&a, Some(&positions))).ok();
        });
        let mut residual = f64::NAN;
        let solve = if first.is_ok() {
            best(repeat, || residual = direct.solve(&a, &f, &mut x, Some(&weights)))
        } else {
            f64::NAN
        };
        let note = format!(
            "{:.1e} numbers, {:.2} + {:.2} ms, {:.2} more for a new pattern, residual {residual:.0e}",
            direct.factor_size() as f64,
            1e3 * set_up,
            1e3 * solve,
            1e3 * (analysis - set_up)
        );
        rows.push((name, set_up + solve, note));
    }
    rows
}
