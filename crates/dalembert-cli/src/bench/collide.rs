//! Contact geometry, one thread, CPU time: candidates, contacts, their Hessian with assembly, additive CCD; and the judge of CCD.

use dalembert::collide::barrier::LogBarrier;
use dalembert::collide::ccd::CcdOptions;
use dalembert::collide::{Broad, Candidates, ContactSet, Sym3, corpus, exact};
use dalembert::forces::Blocks;
use dalembert::math::Mat3;
use dalembert::solve::block_matrix::BlockMatrix;

use super::collide_scenes::{self, ContactScene};
use super::{Bencher, on_one_thread};

/// More pairs than any scene here has.
const MOST_PAIRS: usize = 10_000_000;

/// Kernels on three scenes.
pub(super) fn collide(b: &mut Bencher) {
    for scene in collide_scenes::all() {
        let rows = on_one_thread(|| kernels(b, &scene));
        for (name, n, seconds, note) in rows {
            b.row(format!("{}_{name}", scene.name), n, seconds, note);
        }
    }
}

/// CPU time that this thread has used [s], where the system tells it; a busy machine disturbs it less than a clock.
fn cpu_time() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? * 1e-9)
}

/// CPU time of one call, the best of three batches of a fifth of a second or the asked number of repeats each; by the
/// clock where there is no CPU time. The system counts in ticks of milliseconds, hence batches.
fn cost(b: &Bencher, mut f: impl FnMut()) -> f64 {
    f();
    if cpu_time().is_none() {
        return b.best(f);
    }
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let (start, clock) = (cpu_time().unwrap_or(0.0), std::time::Instant::now());
        let mut count = 0;
        while count < b.repeat || clock.elapsed().as_secs_f64() < 0.2 {
            f();
            count += 1;
        }
        best = best.min((cpu_time().unwrap_or(0.0) - start) / f64::from(count));
    }
    best
}

type Measured = (&'static str, usize, f64, String);

fn kernels(b: &Bencher, scene: &ContactScene) -> Vec<Measured> {
    let mut rows = Vec::new();
    let (x0, x1) = scene.positions();
    let (surface, blocks) = scene.surface(false);
    let gap_max = scene.gap_max;
    let (mut near, mut swept) = (Candidates::default(), Candidates::default());
    let mut broad = Broad::default();
    let seconds = cost(b, || {
        broad.forget();
        let _ = broad.near(&surface, &x0, gap_max, MOST_PAIRS, &mut near);
    });
    rows.push(("lbvh", near.len(), seconds, "build and query, per candidate".into()));
    let seconds = cost(b, || {
        let _ = broad.near(&surface, &x0, gap_max, MOST_PAIRS, &mut near);
    });
    rows.push(("refit", near.len(), seconds, "refit and query, per candidate".into()));
    let seconds = cost(b, || {
        broad.forget();
        let _ = broad.swept(&surface, &x0, &x1, 0.0, MOST_PAIRS, &mut swept);
    });
    rows.push(("lbvh_swept", swept.len(), seconds, "along the step, per candidate".into()));

    let mut set = ContactSet::default();
    let seconds = cost(b, || set.update_merged(&surface, &near, &x0, gap_max));
    rows.push(("contacts", near.len(), seconds, format!("{} contacts, per candidate", set.len())));

    let law = LogBarrier { gap_max };
    let (mut forces, mut stiffnesses) = (Vec::new(), Vec::new());
    let mut gradient = vec![0.0; 3 * blocks];
    let seconds = cost(b, || {
        set.barrier(&law, 1.0, &mut forces, &mut stiffnesses);
        set.add_gradient(&forces, &mut gradient);
    });
    rows.push(("gradient", set.len(), seconds, "energy and gradient, per contact".into()));
    rows.push(("hessian", set.len(), hessian(b, &set, &stiffnesses, blocks), "points, assembled".into()));
    let (surface, blocks) = scene.surface(true);
    set.update_merged(&surface, &near, &x0, gap_max);
    set.barrier(&law, 1.0, &mut forces, &mut stiffnesses);
    let note = "affine bodies, assembled".into();
    rows.push(("hessian_abd", set.len(), hessian(b, &set, &stiffnesses, blocks), note));

    let mut step = 0.0;
    let seconds = cost(b, || step = swept.free_step(&surface, &x0, &x1, 1.0, &CcdOptions::default()));
    rows.push(("ccd", swept.len(), seconds, format!("free step {step:.4}")));
    let mut meet = 0;
    let seconds = cost(b, || meet = exact::intersections(&surface, &x0).len());
    let pairs = surface.edges.len() + surface.triangles.len();
    rows.push(("exact", pairs, seconds, format!("{meet} intersections, per edge or triangle")));
    rows
}

/// Sum of all stiffnesses as a sparse matrix, its pattern found anew each time [s].
fn hessian(b: &Bencher, set: &ContactSet, stiffnesses: &[Sym3], blocks: usize) -> f64 {
    let mut list = Blocks::default();
    cost(b, || {
        list.entries.clear();
        set.add_hessian(stiffnesses, &mut |row: u32, column: u32, n: &Sym3| {
            let block = Mat3::new(n[0], n[1], n[2], n[1], n[3], n[4], n[2], n[4], n[5]);
            list.entries.push((row, column, block));
            if row != column {
                list.entries.push((column, row, block));
            }
        });
        std::hint::black_box(BlockMatrix::new(blocks, &list));
    })
}

/// A million hard pairs before the judge; the note says how many broke the law.
pub(super) fn ccd_law(b: &mut Bencher) {
    let count = 1_000_000;
    let (mut late, mut unproven, mut short) = (0u64, 0u64, 0u64);
    let start = std::time::Instant::now();
    for k in 0..count {
        match corpus::judge(&corpus::pair(2, k), 3000) {
            Ok(verdict) => {
                unproven += u64::from(!verdict.proven);
                short += u64::from(verdict.short);
            }
            Err(_) => late += 1,
        }
    }
    let note = format!("{late} late, {unproven} too near to prove, {short} stopped early");
    b.row("ccd_law", count as usize, start.elapsed().as_secs_f64(), note);
}
