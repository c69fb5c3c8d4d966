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
        let report = kkt.factor(&self.mass, &self.jacobian, &self.regularization);
        let (mut x, mut y) = (self.f.clone(), self.g.clone());
        kkt.solve(&mut x, &mut y);
        (report, x, y)
    }

    /// Largest residual, divided by the largest product that enters it.
    fn residual(&self, x: &[f64], y: &[f64]) -> f64 {
        let (mut f, mut g) = (self.f.clone(), self.g.clone());
        self.kkt().subtract_product(&self.mass, &self.jacobian, &self.regularization, x, y, &mut f, &mut g);
        let largest =
            |v: &[f64]| v.iter().fold(0.0_f64, |s, v| if v.is_nan() { f64::NAN } else { s.max(v.abs()) });
        let size = |b: &[Block]| b.iter().map(|b| largest(b)).fold(0.0, f64::max);
        let (m, a) = (size(&self.mass), size(&self.jacobian));
        let top = largest(&self.f) + m * largest(x) + a * largest(y);
        let bottom = largest(&self.g) + a * largest(x);
        (largest(&f) / top).max(largest(&g) / bottom)
    }
}

/// Blocks of a joint between two bodies: the first `rows` of (1 −[r]; 0 1) as seen from each.
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

#[test]
fn prints_time_per_link() {
    let mut random = Random(3);
    for rows in [3, 5] {
        for n in [1_000, 100_000] {
            let s = mechanism(n, chain(n, rows), &mut random);
            let clock = std::time::Instant::now();
            let mut kkt = s.kkt();
            let symbolic = clock.elapsed().as_nanos() as f64 / n as f64;
            let (mut factor, mut solve) = (f64::MAX, f64::MAX);
            for _ in 0..(1_000_000 / n).clamp(5, 300) {
                let clock = std::time::Instant::now();
                kkt.factor(&s.mass, &s.jacobian, &s.regularization);
                factor = factor.min(clock.elapsed().as_nanos() as f64 / n as f64);
                let (mut x, mut y) = (s.f.clone(), s.g.clone());
                let clock = std::time::Instant::now();
                kkt.solve(&mut x, &mut y);
                solve = solve.min(clock.elapsed().as_nanos() as f64 / n as f64);
            }
            println!(
                "{rows} rows, {n} links: symbolic {symbolic:.0}, factor {factor:.0}, solve {solve:.0} ns per link"
            );
        }
    }
}
