use super::*;
use nalgebra::{DMatrix, DVector};

/// Numbers between −1 and 1, the same each time (SplitMix64).
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn number(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }
}

struct System {
    couplings: Vec<Coupling>,
    mass: Vec<Block>,
    jacobian: Vec<Block>,
    regularization: Vec<[f64; 6]>,
    f: Vec<f64>,
    g: Vec<f64>,
}

impl System {
    /// Full 6×6 masses, random joint blocks and right-hand sides.
    fn random(primal: usize, couplings: Vec<Coupling>, random: &mut Random) -> Self {
        let mass = (0..primal)
            .map(|_| {
                let b = DMatrix::from_fn(6, 6, |_, _| random.number());
                let m = &b * b.transpose() + DMatrix::identity(6, 6);
                std::array::from_fn(|i| m[(i / 6, i % 6)])
            })
            .collect();
        let mut jacobian = Vec::new();
        for c in &couplings {
            for _ in &c.nodes {
                // Well-conditioned rows: products along a chain of wild blocks grow without bound.
                let (turn, sign) = (random.below(6), random.number().signum());
                jacobian.push(std::array::from_fn(|i| {
                    let (row, column) = (i / 6, i % 6);
                    let main = if (row + turn) % 6 == column { sign } else { 0.0 };
                    if row < c.rows { main + 0.15 * random.number() } else { 0.0 }
                }));
            }
        }
        let f = (0..6 * primal).map(|_| random.number()).collect();
        let g = (0..6 * couplings.len())
            .map(|i| if i % 6 < couplings[i / 6].rows { random.number() } else { 0.0 })
            .collect();
        let regularization = vec![[0.0; 6]; couplings.len()];
        Self { couplings, mass, jacobian, regularization, f, g }
    }

    fn kkt(&self) -> Kkt {
        Kkt::new(self.mass.len(), &self.couplings)
    }

    fn dense_a(&self) -> DMatrix<f64> {
        let mut a = DMatrix::zeros(self.g.len(), self.f.len());
        let mut blocks = self.jacobian.iter();
        for (j, c) in self.couplings.iter().enumerate() {
            for &b in &c.nodes {
                let block = blocks.next().unwrap();
                for i in 0..36 {
                    a[(6 * j + i / 6, 6 * b as usize + i % 6)] += block[i];
                }
            }
        }
        a
    }

    fn dense_m(&self) -> DMatrix<f64> {
        let mut m = DMatrix::zeros(self.f.len(), self.f.len());
        for (b, block) in self.mass.iter().enumerate() {
            for i in 0..36 {
                m[(6 * b + i / 6, 6 * b + i % 6)] = block[i];
            }
        }
        m
    }

    /// K with 1 on the diagonal of rows not in use.
    fn dense(&self) -> DMatrix<f64> {
        let (n, m) = (self.f.len(), self.g.len());
        let a = self.dense_a();
        let mut k = DMatrix::zeros(n + m, n + m);
        k.view_mut((0, 0), (n, n)).copy_from(&self.dense_m());
        k.view_mut((n, 0), (m, n)).copy_from(&a);
        k.view_mut((0, n), (n, m)).copy_from(&a.transpose());
        for j in 0..m {
            let used = j % 6 < self.couplings[j / 6].rows;
            k[(n + j, n + j)] = if used { -self.regularization[j / 6][j % 6] } else { 1.0 };
        }
        k
    }

    /// Factors and solves.
    fn solve(&self) -> (FactorReport, Vec<f64>, Vec<f64>) {
        let mut kkt = self.kkt();
        let report = kkt.factor(|b| self.mass[b], &self.jacobian, &self.regularization);
        let (mut x, mut y) = (self.f.clone(), self.g.clone());
        kkt.solve(&mut x, &mut y);
        (report, x, y)
    }

    /// Largest residual, divided by the largest product that enters it.
    fn residual(&self, x: &[f64], y: &[f64]) -> f64 {
        let (mut f, mut g) = (self.f.clone(), self.g.clone());
        self.kkt().subtract_product(
            |b| self.mass[b],
            &self.jacobian,
            &self.regularization,
            x,
            y,
            &mut f,
            &mut g,
        );
        let largest =
            |v: &[f64]| v.iter().fold(0.0_f64, |s, v| if v.is_nan() { f64::NAN } else { s.max(v.abs()) });
        let size = |b: &[Block]| b.iter().map(|b| largest(b)).fold(0.0, f64::max);
        let (m, a) = (size(&self.mass), size(&self.jacobian));
        let top = largest(&self.f) + m * largest(x) + a * largest(y);
        let bottom = largest(&self.g) + a * largest(x);
        (largest(&f) / top).max(largest(&g) / bottom)
    }
}

/// Blocks of a joint between two bodies: the first `rows` of (1 −\[r\]; 0 1) as seen from each.
fn joint_blocks(rows: usize, random: &mut Random) -> [Block; 2] {
    let mut one = |sign: f64| {
        let r = [0.5 + 0.1 * random.number(), 0.3 * random.number(), 0.3 * random.number()];
        let skew = [[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]];
        let mut b = [0.0; 36];
        for i in 0..rows {
            b[6 * i + i] = sign;
            if i < 3 {
                for c in 0..3 {
                    b[6 * i + 3 + c] = -sign * skew[i][c];
                }
            }
        }
        b
    };
    [one(1.0), one(-1.0)]
}

/// Mass m and inertia m (0.1, 0.12, 0.15).
fn body(m: f64) -> Block {
    let mut b = [0.0; 36];
    for i in 0..6 {
        b[7 * i] = m * if i < 3 { 1.0 } else { [0.1, 0.12, 0.15][i - 3] };
    }
    b
}

/// Makes blocks and masses those of a mechanism.
fn mechanism(primal: usize, couplings: Vec<Coupling>, random: &mut Random) -> System {
    let mut s = System::random(primal, couplings, random);
    s.mass = (0..primal).map(|_| body(1.0 + 0.5 * random.number())).collect();
    s.jacobian.clear();
    for c in &s.couplings {
        s.jacobian.extend(&joint_blocks(c.rows, random)[..c.nodes.len()]);
    }
    s
}

fn chain(links: usize, rows: usize) -> Vec<Coupling> {
    (0..links as u32 - 1).map(|i| Coupling::new([i, i + 1], rows)).collect()
}

fn tree(n: usize, random: &mut Random) -> Vec<Coupling> {
    (1..n)
        .map(|i| Coupling {
            nodes: vec![random.below(i) as u32, i as u32],
            rows: 1 + random.below(6),
            pivot_after_one: random.below(4) > 0,
        })
        .collect()
}

fn agrees_with_dense(s: &System, tolerance: f64) {
    let (report, x, y) = s.solve();
    assert_eq!(report.weak_rows, 0, "{report:?}");
    let residual = s.residual(&x, &y);
    assert!(residual <= 1e-12, "residual {residual:e}");
    let b = DVector::from_iterator(s.f.len() + s.g.len(), s.f.iter().chain(&s.g).copied());
    let dense = s.dense().lu().solve(&b).expect("regular");
    let error = x.iter().chain(&y).zip(&dense).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(error <= tolerance * dense.amax(), "error {error:e}");
}

#[test]
fn trees_agree_with_dense_elimination() {
    let mut random = Random(1);
    for n in 1..24 {
        let couplings = tree(n, &mut random);
        agrees_with_dense(&System::random(n, couplings, &mut random), 1e-9);
    }
}

#[test]
fn chains_and_stars_agree_with_dense_elimination() {
    let mut random = Random(2);
    for rows in 1..=6 {
        agrees_with_dense(&System::random(15, chain(15, rows), &mut random), 1e-8);
        agrees_with_dense(&mechanism(15, chain(15, rows), &mut random), 1e-8);
        let star = (1..15).map(|i| Coupling::new([0, i], rows)).collect();
        agrees_with_dense(&System::random(15, star, &mut random), 1e-8);
    }
}

/// A ring of n bodies, optionally with a hub joined to all of them.
fn ring(n: u32, hub: bool, rows: usize) -> Vec<Coupling> {
    let mut c: Vec<_> = (0..n).map(|i| Coupling::new([i, (i + 1) % n], rows)).collect();
    if hub {
        c.extend((0..n).map(|i| Coupling::new([i, n], 1)));
    }
    c
}

#[test]
fn loops_agree_with_dense_elimination() {
    let mut random = Random(4);
    for n in 3..20 {
        for rows in 1..=4 {
            agrees_with_dense(&System::random(n as usize, ring(n, false, rows), &mut random), 1e-7);
            agrees_with_dense(&System::random(n as usize + 1, ring(n, true, rows), &mut random), 1e-7);
        }
    }
}

#[test]
fn graphs_with_anchors_and_many_loops_agree_with_dense_elimination() {
    let mut random = Random(5);
    for case in 0..60 {
        let n = 4 + random.below(16);
        // At most five of six freedoms per body are taken, so that the rows are independent.
        let mut left = 5 * n;
        let mut couplings = Vec::new();
        while left > 3 {
            let rows = 1 + random.below(3);
            left -= rows;
            let first = random.below(n) as u32;
            let mut nodes = vec![first];
            for _ in 0..random.below(if case % 2 == 0 { 2 } else { 4 }) {
                let other = random.below(n) as u32;
                if !nodes.contains(&other) {
                    nodes.push(other);
                }
            }
            couplings.push(Coupling { nodes, rows, pivot_after_one: random.below(5) > 0 });
        }
        // Random rows hit one body more often than it has freedoms; softness keeps K regular.
        let mut s = System::random(n, couplings, &mut random);
        s.regularization.iter_mut().for_each(|r| *r = [0.05; 6]);
        agrees_with_dense(&s, 1e-7);
    }
}

#[test]
fn a_fixed_hub_with_hinged_arms_loses_no_rank() {
    // Eliminating the hub first and giving its six freedoms to one arm would drop the rows of the anchor.
    let mut random = Random(6);
    for arms in 1..8 {
        for (anchor, rows) in [(6, 5), (6, 3), (3, 3), (5, 6)] {
            let mut couplings = vec![Coupling::new([0], anchor)];
            couplings.extend((1..=arms).map(|i| Coupling::new([0, i], rows)));
            agrees_with_dense(&mechanism(arms as usize + 1, couplings, &mut random), 1e-8);
        }
    }
    // Two anchored bodies with a chain between them, the ends listed last.
    for n in 2..9u32 {
        let mut couplings = chain(n as usize, 3);
        couplings.push(Coupling::new([0], 3));
        couplings.push(Coupling::new([n - 1], 3));
        agrees_with_dense(&mechanism(n as usize, couplings, &mut random), 1e-7);
    }
}

#[test]
fn hard_and_soft_rows_mix() {
    let mut random = Random(7);
    for _ in 0..20 {
        let mut s = System::random(12, ring(11, true, 3), &mut random);
        for r in &mut s.regularization {
            *r = std::array::from_fn(|_| [0.0, 1e-6, 1.0, 1e3][random.below(4)]);
        }
        agrees_with_dense(&s, 1e-7);
    }
}

#[test]
fn trees_have_no_fill() {
    let blocks = |n: usize, c: &[Coupling]| Pattern::new(n, c).fill();
    let star: Vec<_> = (1..=1000).map(|i| Coupling::new([0, i], 5)).collect();
    assert_eq!(blocks(1001, &star), 2000);
    for rows in [3, 5] {
        // With three rows joints may be joined through their body: one block more per link.
        let n = 100_000;
        assert!(blocks(n, &chain(n, rows)) <= 3 * (n - 1));
    }
    let mut random = Random(8);
    let couplings = tree(10_000, &mut random);
    assert!(blocks(10_000, &couplings) <= 3 * 9_999);
    // A ring adds at most a border of one node; a second joint beside each (a motor) and anchors add no more.
    assert!(blocks(10_000, &ring(10_000, false, 5)) <= 4 * 10_000);
    let mut driven = chain(10_000, 5);
    driven.extend(chain(10_000, 1));
    driven.extend([Coupling::new([0], 6), Coupling::new([9_999], 3)]);
    assert!(blocks(10_000, &driven) <= 10 * 10_000, "{}", blocks(10_000, &driven));
    let mut ladder = ring(10_000, false, 5);
    ladder.extend((0..5_000).map(|i| Coupling::new([i, 9_999 - i], 5)));
    assert!(blocks(10_000, &ladder) <= 12 * 10_000, "{}", blocks(10_000, &ladder));
}

/// Spread of the dual solution: y with least Σ scale y², from the dense pseudo-inverse.
fn least_norm(s: &System, x: &[f64], scales: &[[f64; 6]]) -> DVector<f64> {
    let a = s.dense_a();
    let rhs = DVector::from_column_slice(&s.f) - s.dense_m() * DVector::from_column_slice(x);
    let root = DVector::from_fn(s.g.len(), |i, _| {
        if i % 6 < s.couplings[i / 6].rows { scales[i / 6][i % 6].sqrt() } else { 1.0 }
    });
    let mut scaled = a.transpose();
    for i in 0..root.len() {
        scaled.column_mut(i).scale_mut(1.0 / root[i]);
    }
    let z = scaled.svd(true, true).solve(&rhs, 1e-9).unwrap();
    z.component_div(&root)
}

/// A planar ring of hinges in three dimensions, some joints doubled, and a right-hand side that some motion satisfies.
fn redundant(random: &mut Random) -> (System, usize) {
    let n = 6;
    // Bodies at angles around a circle, joints in the middle of two neighbours: r from body to joint.
    let at = |i: f64| {
        let a = i * std::f64::consts::TAU / n as f64;
        [a.cos(), a.sin(), 0.0]
    };
    let mut couplings = ring(n, false, 5);
    couplings.push(Coupling::new([0, 1], 3));
    couplings.push(Coupling::new([2], 6));
    couplings.push(Coupling::new([2], 2));
    let mut s = mechanism(n as usize, couplings, random);
    s.jacobian.clear();
    for (j, c) in s.couplings.iter().enumerate() {
        let place = if j < n as usize { at(j as f64 + 0.5) } else { at([0.5, 2.0, 2.0][j - n as usize]) };
        for (k, &b) in c.nodes.iter().enumerate() {
            let sign = if k == 0 { 1.0 } else { -1.0 };
            let center = at(b as f64);
            let r: [f64; 3] = std::array::from_fn(|i| place[i] - center[i]);
            let skew = [[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]];
            let mut block = [0.0; 36];
            for i in 0..c.rows {
                block[7 * i] = sign;
                if i < 3 {
                    (0..3).for_each(|m| block[6 * i + 3 + m] = -sign * skew[i][m]);
                }
            }
            s.jacobian.push(block);
        }
    }
    let motion = DVector::from_fn(s.f.len(), |_, _| random.number());
    let a = s.dense_a();
    s.g = (&a * motion).as_slice().to_vec();
    let total: usize = s.couplings.iter().map(|c| c.rows).sum();
    let rank = a.rank(1e-9);
    (s, total - rank)
}

#[test]
fn dependent_rows_are_counted_and_all_equations_hold() {
    let mut random = Random(9);
    for _ in 0..10 {
        let (s, redundant) = redundant(&mut random);
        let (report, x, y) = s.solve();
        assert!(redundant > 5);
        assert_eq!((report.weak_rows, report.early_rows), (redundant, 0), "{report:?}");
        let residual = s.residual(&x, &y);
        assert!(residual < 1e-12, "residual {residual:e}");
    }
}

#[test]
fn refinement_finds_the_multiplier_of_least_norm() {
    let mut random = Random(10);
    let (s, _) = redundant(&mut random);
    let (_, x_basic, y_basic) = s.solve();
    let mut kkt = s.kkt();
    let mut scales = vec![[0.0; 6]; s.couplings.len()];
    kkt.row_scales(|b| s.mass[b], &s.jacobian, &mut scales);
    for delta in [1e-7, 1e-9] {
        let regularization: Vec<_> = scales.iter().map(|r| r.map(|r| delta * r)).collect();
        let report = kkt.factor(|b| s.mass[b], &s.jacobian, &regularization);
        assert_eq!(report.weak_rows, 0, "{report:?}");
        let (mut x, mut y) = (s.f.clone(), s.g.clone());
        let mut residuals = [[0.0; 2]; 4];
        kkt.solve_refined(|b| s.mass[b], &s.jacobian, &s.regularization, &mut x, &mut y, &mut residuals);
        assert!(residuals[3][0] < 1e-11 && residuals[3][1] < 1e-13, "{residuals:?}");
        let error = x.iter().zip(&x_basic).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(error < 1e-12, "x differs by {error:e}");
        let least = least_norm(&s, &x, &scales);
        let error = (DVector::from_column_slice(&y) - &least).amax();
        assert!(error < 1e-14 / delta * least.amax().max(1.0), "δ = {delta:e}: y differs by {error:e}");
        assert!((DVector::from_column_slice(&y_basic) - &least).amax() > 1e-3);
    }
}

#[test]
fn mass_ratios_of_a_million_keep_nine_digits() {
    let mut random = Random(11);
    for rows in [1, 3, 5, 6] {
        for heavy_last in [false, true] {
            let mut s = mechanism(60, chain(60, rows), &mut random);
            for (i, m) in s.mass.iter_mut().enumerate() {
                *m = body(if (i >= 30) == heavy_last { 1e6 } else { 1.0 });
            }
            s.mass[17] = body(1e6);
            let (report, x, y) = s.solve();
            let residual = s.residual(&x, &y);
            assert!(report.weak_rows == 0 && residual < 1e-12, "{residual:e} {report:?}");
            // Each equation against its own terms: row by row, not against the heaviest body.
            let (mut f, mut g) = (s.f.clone(), s.g.clone());
            let kkt = s.kkt();
            kkt.subtract_product(|b| s.mass[b], &s.jacobian, &s.regularization, &x, &y, &mut f, &mut g);
            let largest = |v: &[f64]| v.iter().fold(0.0_f64, |s, v| s.max(v.abs()));
            assert!(largest(&f) < 1e-9 * (1.0 + largest(&y)), "{:e} of {:e}", largest(&f), largest(&y));
            assert!(largest(&g) < 1e-9 * (1.0 + largest(&x)), "{:e} of {:e}", largest(&g), largest(&x));
        }
    }
}

#[test]
fn bad_numbers_end_without_panic() {
    let mut random = Random(12);
    for bad in [f64::NAN, f64::INFINITY, 0.0, -1.0, 1e300] {
        for place in 0..3 {
            let mut s = mechanism(8, ring(8, false, 5), &mut random);
            match place {
                0 => s.mass[3] = [bad; 36],
                1 => s.jacobian[5] = [bad; 36],
                _ => s.regularization[2] = [bad; 6],
            }
            let (report, x, _) = s.solve();
            if bad.is_nan() {
                assert!(report.bad_pivots > 0, "place {place}: {report:?}");
                assert!(place == 2 || x.iter().any(|x| x.is_nan()), "place {place}");
            }
        }
    }
}

#[test]
fn systems_without_bodies_or_joints_are_solved() {
    let mut kkt = Kkt::new(0, &[]);
    assert_eq!(kkt.factor(|_| unreachable!(), &[], &[]).weak_rows, 0);
    kkt.solve(&mut [], &mut []);
    let mut kkt = Kkt::new(1, &[]);
    kkt.factor(|_| body(2.0), &[], &[]);
    let mut x = [2.0; 6];
    kkt.solve(&mut x, &mut []);
    assert!((x[0] - 1.0).abs() < 1e-15);
    // A joint that holds nothing has only dependent rows.
    let mut kkt = Kkt::new(0, &[Coupling::new([], 3)]);
    assert_eq!(kkt.factor(|_| unreachable!(), &[], &[[0.0; 6]]).weak_rows, 3);
    let mut y = [1.0; 6];
    kkt.solve(&mut [], &mut y);
    assert_eq!(y, [0.0; 6]);
}

#[test]
fn the_same_system_gives_the_same_bits() {
    let once = || {
        let mut random = Random(13);
        let (s, _) = redundant(&mut random);
        let (_, x, y) = s.solve();
        x.iter().chain(&y).map(|v| v.to_bits()).collect::<Vec<_>>()
    };
    assert_eq!(once(), once());
}

#[test]
fn a_wrong_promise_of_independent_rows_is_reported_and_refined_away() {
    let mut random = Random(14);
    let mut s = mechanism(3, chain(3, 5), &mut random);
    s.jacobian[0][..6].fill(0.0);
    let (report, ..) = s.solve();
    assert_eq!((report.weak_rows, report.early_rows), (1, 1));
    let mut kkt = s.kkt();
    let mut scales = [[0.0; 6]; 2];
    kkt.row_scales(|b| s.mass[b], &s.jacobian, &mut scales);
    let report = kkt.factor(|b| s.mass[b], &s.jacobian, &scales.map(|s| s.map(|r| 1e-7 * r)));
    assert_eq!(report.weak_rows, 0);
    let (mut x, mut y) = (s.f.clone(), s.g.clone());
    kkt.solve_refined(|b| s.mass[b], &s.jacobian, &s.regularization, &mut x, &mut y, &mut [[0.0; 2]; 3]);
    assert!(s.residual(&x, &y) < 1e-12);
    // Told the truth, the joint waits for both bodies.
    s.couplings[0].pivot_after_one = false;
    agrees_with_dense(&s, 1e-10);
}

#[test]
fn factoring_and_solving_at_once_gives_the_same_bits() {
    let mut random = Random(15);
    for couplings in [chain(600, 3), tree(40, &mut random), ring(9, true, 5)] {
        let bodies = couplings.iter().flat_map(|c| &c.nodes).max().unwrap() + 1;
        let s = mechanism(bodies as usize, couplings, &mut random);
        let mass = |b: usize| s.mass[b];
        let bits = |x: &[f64], y: &[f64]| x.iter().chain(y).map(|v| v.to_bits()).collect::<Vec<_>>();
        let mut kkt = s.kkt();
        let (mut x, mut y) = (s.f.clone(), s.g.clone());
        let first = kkt.factor(mass, &s.jacobian, &s.regularization);
        kkt.solve(&mut x, &mut y);
        let (mut x2, mut y2) = (s.f.clone(), s.g.clone());
        let second = kkt.factor_and_solve(mass, &s.jacobian, &s.regularization, &mut x2, &mut y2);
        assert_eq!(first, second);
        assert_eq!(bits(&x, &y), bits(&x2, &y2));
    }
}

#[test]
fn a_sorted_pattern_solves_the_same_system_chunk_by_chunk() {
    let mut random = Random(16);
    let s = mechanism(900, tree(900, &mut random), &mut random);
    let (_, x, y) = s.solve();
    let Sorted { pattern, nodes, couplings } = Pattern::sorted(900, &s.couplings);
    let mut start = vec![0];
    s.couplings.iter().for_each(|c| start.push(start[start.len() - 1] + c.nodes.len()));
    let jacobian: Vec<Block> = couplings
        .iter()
        .flat_map(|&j| s.jacobian[start[j as usize]..start[j as usize + 1]].iter().copied())
        .collect();
    let take = |from: &[f64], list: &[u32]| -> Vec<f64> {
        list.iter().flat_map(|&n| from[6 * n as usize..6 * n as usize + 6].to_vec()).collect()
    };
    let (mut u, mut w) = (take(&s.f, &nodes), take(&s.g, &couplings));
    let mut kkt = Kkt::of(&pattern);
    let chunks = kkt.pattern().chunks().to_vec();
    assert!(chunks.len() > 2);
    let (mut ready, mut jacobian_now) = ((0, 0), vec![[f64::NAN; 36]; jacobian.len()]);
    let sorted_start: Vec<usize> = std::iter::once(0)
        .chain(couplings.iter().scan(0, |at, &j| {
            *at += s.couplings[j as usize].nodes.len();
            Some(*at)
        }))
        .collect();
    let mut report = FactorReport::default();
    for chunk in &chunks {
        // Nothing beyond the chunk may be read, and nothing before the windows.
        assert_eq!((chunk.nodes.start, chunk.couplings.start), ready);
        ready = (chunk.nodes.end, chunk.couplings.end);
        let now = sorted_start[chunk.couplings.start]..sorted_start[chunk.couplings.end];
        jacobian_now[now.clone()].copy_from_slice(&jacobian[now.clone()]);
        jacobian_now[..now.end.saturating_sub(pattern.block_window)].fill([f64::NAN; 36]);
        let masses = ready.0.saturating_sub(pattern.node_window)..ready.0;
        let mass = |b: usize| if masses.contains(&b) { s.mass[nodes[b] as usize] } else { [f64::NAN; 36] };
        kkt.factor_chunk(chunk, mass, &jacobian_now, &s.regularization, &mut u, &mut w, &mut report);
    }
    kkt.solve_backwards(&mut u, &mut w);
    assert_eq!(ready, (900, couplings.len()));
    let (x, y) = (take(&x, &nodes), take(&y, &couplings));
    let worst = u.iter().chain(&w).zip(x.iter().chain(&y)).fold(0.0f64, |e, (a, b)| e.max((a - b).abs()));
    assert!(worst < 1e-9, "{worst:e}");
}

#[test]
fn the_windows_of_a_long_chain_are_short() {
    let pattern = Pattern::sorted(20_000, &chain(20_000, 3)).pattern;
    assert!(pattern.node_window <= 1_024, "{} masses", pattern.node_window);
    assert!(pattern.block_window <= 2_048, "{} blocks", pattern.block_window);
}
