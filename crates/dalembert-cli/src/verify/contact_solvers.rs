//! Solvers of contact by themselves: problems of the literature, without bodies.

use dalembert::math::{Blocks, Mat3};
use dalembert::solve::block_matrix::BlockMatrix;
use dalembert::solve::coulomb::{CoulombStop, residual, solve_coulomb};
use dalembert::solve::lcp::{self, solve_lcp};
use serde_json::Value;

use super::{Outcome, Table, numbers};

const LCP: &str = include_str!("../../data/cases/lcp_small_set.json");
const BOX: &str = include_str!("../../data/cases/fclib_periobox_60c.json");

/// Complementarity problems with known solutions: the residual, and the distance to the nearest solution listed.
pub(super) fn lcp_small_set(table: &mut Table) -> Outcome {
    let data: Value = serde_json::from_str(LCP)?;
    let problems = data["parameters"].as_object().ok_or("there are no problems")?;
    for (name, problem) in problems {
        let q = numbers(&problem["q"])?;
        let rows = problem["M"].as_array().ok_or("M is missing")?;
        let M = rows.iter().map(numbers).collect::<Result<Vec<_>, _>>()?.concat();
        let mut z = vec![0.0; q.len()];
        let report = solve_lcp(&M, &q, &mut z);
        table.absolute("", format!("{name}: residual"), lcp::residual(&M, &q, &z), 0.0, 1e-12);
        if name == "lcp_CPS_1" {
            // Every z on this line is a solution.
            table.absolute("", format!("{name}: z1 + z2"), z[0] + z[1], 1.0, 1e-12);
            continue;
        }
        let solutions = data["reference"][name].as_array().ok_or("there is no solution")?;
        let mut nearest = f64::INFINITY;
        for solution in solutions {
            let solution = numbers(solution)?;
            let off = solution.iter().zip(&z).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            nearest = nearest.min(off);
        }
        table.absolute("", format!("{name}: z - z_ref, {:?}", report.end), nearest, 0.0, 1e-12);
    }
    Ok(())
}

/// Sixty contacts of a periodic box of grains: the residual that plain sweeps reach slowly.
pub(super) fn periodic_box(table: &mut Table) -> Outcome {
    let data: Value = serde_json::from_str(BOX)?;
    let p = &data["parameters"];
    let (q, mu, x) = (numbers(&p["q"])?, numbers(&p["mu"])?, numbers(&p["x"])?);
    let (start, columns) = (numbers(&p["p"])?, numbers(&p["i"])?);
    let n = mu.len();
    let mut dense = vec![0.0; 9 * n * n];
    for row in 0..3 * n {
        for k in start[row] as usize..start[row + 1] as usize {
            dense[3 * n * row + columns[k] as usize] = x[k];
        }
    }
    let mut list = Blocks::default();
    for i in 0..n {
        for j in 0..n {
            let block = Mat3::from_fn(|a, b| dense[3 * n * (3 * i + a) + 3 * j + b]);
            if i == j || block != Mat3::zeros() {
                list.add(i, j, block);
            }
        }
    }
    let W = BlockMatrix::new(n, &list);
    let mut r = vec![0.0; 3 * n];
    let stop = CoulombStop { tolerance: 1e-8, most_sweeps: 2000, memory: 20 };
    let report = solve_coulomb(&W, &q, &mu, &stop, &mut r);
    let left = residual(&W, &q, &mu, &r);
    table.absolute("", format!("residual after {} sweeps", report.sweeps), left, 0.0, 1e-8);
    // The measure itself against the case: plain sweeps from rest leave this much.
    let mut r = vec![0.0; 3 * n];
    let stop = CoulombStop { tolerance: 0.0, most_sweeps: 300, memory: 0 };
    solve_coulomb(&W, &q, &mu, &stop, &mut r);
    let wanted = data["reference"]["nsgs_residual_by_sweep"]["300"].as_f64().ok_or("there is no residual")?;
    let order = (residual(&W, &q, &mu, &r) / wanted).log10();
    table.absolute("", "300 plain sweeps: orders of magnitude off", order, 0.0, 1.0);
    Ok(())
}
