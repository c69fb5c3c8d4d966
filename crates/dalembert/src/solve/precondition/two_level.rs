//! Two-level preconditioner with balancing (Mandel 1993): what neighbours cannot see of each other, a coarse matrix solves at
//! once.
//!
//! Nodes are gathered in aggregates of some tens that lie together and touch. The columns of Z are the six rigid motions
//! of each aggregate: an elastic body moves nearly so in the small, whatever it does in the large. With the coarse
//! matrix $A_c = Z^T A Z$, $Q = Z A_c^{-1} Z^T$ and the incomplete Cholesky factor B,
//!
//! $$P^{-1} = Q + (I - Q A)\, B^{-1} (I - A Q)$$
//!
//! is positive definite for any positive definite B, and in $z = P^{-1} r$
//!
//! - $c = A_c^{-1} Z^T r$, $w = B^{-1} (r - (AZ) c)$;
//! - $d = A_c^{-1} (AZ)^T w$, $z = w + Z (c - d)$,
//!
//! A itself no longer occurs. A row of A without off-diagonal numbers stands for a held coordinate: Z is zero there.

use super::IncompleteCholesky;
use crate::math::{Blocks, Mat3, Vec3, add_triple, set_triple, skew, triple};
use crate::solve::block_matrix::BlockMatrix;
use crate::solve::direct::{Direct, Factor};
use crate::solve::order::divide;

/// Largest number of nodes in an aggregate.
const AGGREGATE: usize = 32;

/// A motion of an aggregate that differs from the others by less than this is none.
const LEAST_MODE: f64 = 1e-6;

const NONE: u32 = u32::MAX;

/// Three rows of Z or of AZ within one aggregate: two blocks side by side.
type Wide = [Mat3; 2];

/// Incomplete Cholesky and a coarse matrix of rigid motions.
#[derive(Debug, Default)]
pub struct TwoLevel {
    smoother: IncompleteCholesky,
    /// Aggregate of each node, or `NONE`, and the rows of Z there.
    aggregate: Vec<u32>,
    Z: Vec<Wide>,
    count: usize,
    /// Rows of AZ: where each begins, in which aggregates, and the blocks.
    start: Vec<u32>,
    columns: Vec<u32>,
    AZ: Vec<Wide>,
    coarse_list: Blocks,
    coarse: BlockMatrix,
    direct: Direct,
    usable: bool,
    c: Vec<f64>,
    d: Vec<f64>,
    t: Vec<f64>,
}

impl TwoLevel {
    /// For `a`, whose block rows belong to points at `positions`.
    pub fn new(a: &BlockMatrix, positions: &[f64]) -> Self {
        let mut two = Self::default();
        two.refill(a, positions);
        two
    }

    /// The same for other numbers or positions.
    ///
    /// # Panics
    /// If there is not one position per block row.
    pub fn refill(&mut self, a: &BlockMatrix, positions: &[f64]) {
        assert_eq!(positions.len(), 3 * a.rows(), "one position per block row");
        self.smoother.refill(a);
        self.gather(a, positions);
        self.find_modes(a, positions);
        self.multiply(a);
        self.usable = self.count > 0 && self.direct.factor(&self.coarse, None) == Ok(Factor::Cholesky);
        let n = 6 * self.count;
        self.c.resize(n, 0.0);
        self.d.resize(n, 0.0);
        self.t.resize(3 * a.rows(), 0.0);
    }

    /// Cuts sets of nodes in two until they are small, then into parts that touch.
    fn gather(&mut self, a: &BlockMatrix, positions: &[f64]) {
        let n = a.rows();
        self.aggregate.clear();
        self.aggregate.resize(n, NONE);
        self.count = 0;
        let alone = |i: usize| {
            let (columns, blocks) = a.row(i);
            columns.iter().zip(blocks).all(|(&j, block)| j as usize == i || *block == Mat3::zeros())
        };
        let mut open = vec![(0..n as u32).filter(|&i| !alone(i as usize)).collect::<Vec<u32>>()];
        // Number of the small set that a node is in, while it waits to be reached.
        let mut waiting = vec![NONE; n];
        let (mut sets, mut reached) = (0, vec![]);
        while let Some(mut nodes) = open.pop() {
            if nodes.len() > AGGREGATE {
                let middle = divide(&mut nodes, positions);
                let high = nodes.split_off(middle);
                open.push(high);
                open.push(nodes);
                continue;
            }
            nodes.iter().for_each(|&i| waiting[i as usize] = sets);
            for &first in &nodes {
                if waiting[first as usize] != sets {
                    continue;
                }
                waiting[first as usize] = NONE;
                reached.push(first);
                while let Some(i) = reached.pop() {
                    self.aggregate[i as usize] = self.count as u32;
                    for &j in a.row(i as usize).0 {
                        if waiting[j as usize] == sets {
                            waiting[j as usize] = NONE;
                            reached.push(j);
                        }
                    }
                }
                self.count += 1;
            }
            sets += 1;
        }
    }

    /// Rigid motions of each aggregate about its centre, made orthonormal.
    fn find_modes(&mut self, a: &BlockMatrix, positions: &[f64]) {
        let n = a.rows();
        let mut members = vec![vec![]; self.count];
        for (i, &k) in self.aggregate.iter().enumerate().filter(|(_, k)| **k != NONE) {
            members[k as usize].push(i);
        }
        self.Z.clear();
        self.Z.resize(n, [Mat3::zeros(); 2]);
        let mut free: Vec<Vec3> = vec![];
        for nodes in &members {
            let centre = nodes.iter().map(|&i| triple(positions, i)).sum::<Vec3>() / nodes.len() as f64;
            let arm = |i: usize| triple(positions, i) - centre;
            let size = nodes.iter().map(|&i| arm(i).norm()).fold(0.0, f64::max);
            let size = if size > 0.0 { size } else { 1.0 };
            free.clear();
            free.extend(nodes.iter().map(|&i| free_coordinates(a, i)));
            // Column c of all nodes, one after another against those before it (twice is enough, Kahan).
            for c in 0..6 {
                for (&i, free) in nodes.iter().zip(&free) {
                    let column = if c < 3 {
                        Vec3::ith(c, 1.0)
                    } else {
                        -skew(&(arm(i) / size)).column(c - 3).into_owned()
                    };
                    set_column(&mut self.Z[i], c, column.component_mul(free));
                }
                let before = self.norm(nodes, c);
                for _ in 0..2 {
                    for e in 0..c {
                        let overlap: f64 =
                            nodes.iter().map(|&i| column(&self.Z[i], e).dot(&column(&self.Z[i], c))).sum();
                        for &i in nodes {
                            let rest = column(&self.Z[i], c) - column(&self.Z[i], e) * overlap;
                            set_column(&mut self.Z[i], c, rest);
                        }
                    }
                }
                let left = self.norm(nodes, c);
                let scale = if left > LEAST_MODE * before { 1.0 / left } else { 0.0 };
                for &i in nodes {
                    let unit = column(&self.Z[i], c) * scale;
                    set_column(&mut self.Z[i], c, unit);
                }
            }
        }
    }

    fn norm(&self, nodes: &[usize], c: usize) -> f64 {
        nodes.iter().map(|&i| column(&self.Z[i], c).norm_squared()).sum::<f64>().sqrt()
    }

    /// AZ and Zᵀ A Z.
    fn multiply(&mut self, a: &BlockMatrix) {
        self.start.clear();
        self.start.push(0);
        self.columns.clear();
        self.AZ.clear();
        self.coarse_list.entries.clear();
        let mut place = vec![NONE; self.count];
        let mut largest = 0.0f64;
        for i in 0..a.rows() {
            let first = self.columns.len();
            let (columns, blocks) = a.row(i);
            for (&j, block) in columns.iter().zip(blocks) {
                let k = self.aggregate[j as usize];
                if k == NONE {
                    continue;
                }
                if place[k as usize] == NONE {
                    place[k as usize] = self.columns.len() as u32;
                    self.columns.push(k);
                    self.AZ.push([Mat3::zeros(); 2]);
                }
                let sum = &mut self.AZ[place[k as usize] as usize];
                for s in 0..2 {
                    sum[s] += block * self.Z[j as usize][s];
                }
            }
            for e in first..self.columns.len() {
                place[self.columns[e] as usize] = NONE;
            }
            self.start.push(self.columns.len() as u32);
            largest = largest.max(a.diagonal(i).amax());
            let own = self.aggregate[i];
            if own == NONE {
                continue;
            }
            for e in first..self.columns.len() {
                for s in 0..2 {
                    for t in 0..2 {
                        let block = self.Z[i][s].tr_mul(&self.AZ[e][t]);
                        self.coarse_list.add(2 * own as usize + s, 2 * self.columns[e] as usize + t, block);
                    }
                }
            }
        }
        // A motion that an aggregate does not have gets an equation of its own.
        let mut has = vec![[false; 6]; self.count];
        for (i, &k) in self.aggregate.iter().enumerate().filter(|(_, k)| **k != NONE) {
            (0..6).for_each(|c| has[k as usize][c] |= column(&self.Z[i], c) != Vec3::zeros());
        }
        for (k, has) in has.iter().enumerate() {
            for s in 0..2 {
                let missing = Vec3::from_fn(|c, _| if has[3 * s + c] { 0.0 } else { largest });
                self.coarse_list.add(2 * k + s, 2 * k + s, Mat3::from_diagonal(&missing));
            }
        }
        self.coarse.refill(2 * self.count, &self.coarse_list);
    }

    /// z ← P⁻¹ r.
    pub fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        if !self.usable {
            return self.smoother.apply(r, z);
        }
        // c = A_c⁻¹ Zᵀ r
        self.c.fill(0.0);
        for (i, (&k, Z)) in self.aggregate.iter().zip(&self.Z).enumerate() {
            if k != NONE {
                add_wide_transposed(&mut self.c, k, Z, &triple(r, i));
            }
        }
        self.direct.solve_in_place(&mut self.c);
        // z = w = B⁻¹ (r − AZ c)
        for i in 0..self.aggregate.len() {
            let mut t = triple(r, i);
            for e in self.start[i] as usize..self.start[i + 1] as usize {
                t -= wide_times(&self.AZ[e], self.columns[e], &self.c);
            }
            set_triple(&mut self.t, i, &t);
        }
        self.smoother.apply(&self.t, z);
        // d = A_c⁻¹ (AZ)ᵀ w
        self.d.fill(0.0);
        for i in 0..self.aggregate.len() {
            let w = triple(z, i);
            for e in self.start[i] as usize..self.start[i + 1] as usize {
                add_wide_transposed(&mut self.d, self.columns[e], &self.AZ[e], &w);
            }
        }
        self.direct.solve_in_place(&mut self.d);
        // z = w + Z (c − d)
        self.c.iter_mut().zip(&self.d).for_each(|(c, d)| *c -= d);
        for (i, (&k, Z)) in self.aggregate.iter().zip(&self.Z).enumerate() {
            if k != NONE {
                add_triple(z, i, &wide_times(Z, k, &self.c));
            }
        }
    }
}

/// 1 for each coordinate of node `i` that A ties to others, 0 for the rest.
fn free_coordinates(a: &BlockMatrix, i: usize) -> Vec3 {
    let (columns, blocks) = a.row(i);
    Vec3::from_fn(|k, _| {
        let tied = columns
            .iter()
            .zip(blocks)
            .any(|(&j, block)| (0..3).any(|l| block[(k, l)] != 0.0 && (j as usize != i || l != k)));
        if tied { 1.0 } else { 0.0 }
    })
}

fn column(Z: &Wide, c: usize) -> Vec3 {
    Z[c / 3].column(c % 3).into_owned()
}

fn set_column(Z: &mut Wide, c: usize, value: Vec3) {
    Z[c / 3].set_column(c % 3, &value);
}

/// The three rows times the six numbers of aggregate `k`.
#[inline]
fn wide_times(Z: &Wide, k: u32, c: &[f64]) -> Vec3 {
    Z[0] * triple(c, 2 * k as usize) + Z[1] * triple(c, 2 * k as usize + 1)
}

#[inline]
fn add_wide_transposed(c: &mut [f64], k: u32, Z: &Wide, r: &Vec3) {
    add_triple(c, 2 * k as usize, &Z[0].tr_mul(r));
    add_triple(c, 2 * k as usize + 1, &Z[1].tr_mul(r));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Cells, ElasticBox};
    use crate::math::{Random, dot, outer};
    use crate::solve::cg::{CgOptions, CgStop, CgWork, cg};

    fn vector(n: usize, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..n).map(|_| random.between(-1.0, 1.0)).collect()
    }

    /// A rope of springs along z, a cloud of loose particles, a pair, and one coordinate held.
    fn mixture() -> (BlockMatrix, Vec<f64>) {
        let n = 100;
        let mut list = Blocks::default();
        (0..n).for_each(|i| list.add(i, i, Mat3::identity()));
        let z = Vec3::z();
        for i in 0..60 {
            list.add_pair(i, i + 1, outer(&z, &z) * 1e4 + Mat3::identity() * 10.0);
        }
        list.add_pair(98, 99, Mat3::identity() * 5.0);
        // Coordinate x of node 30 is held.
        for (i, j, block) in &mut list.entries {
            if *i == 30 || *j == 30 {
                let keep = Mat3::from_diagonal(&Vec3::new(0.0, 1.0, 1.0));
                let row = if *i == 30 { keep } else { Mat3::identity() };
                let column = if *j == 30 { keep } else { Mat3::identity() };
                *block = row * *block * column;
            }
        }
        list.add(30, 30, Mat3::from_diagonal(&Vec3::new(1.0, 0.0, 0.0)));
        let positions = (0..n).flat_map(|i| [0.0, 0.0, i as f64]).collect();
        (BlockMatrix::new(n, &list), positions)
    }

    fn check_symmetric_and_positive(a: &BlockMatrix, positions: &[f64]) {
        let mut two = TwoLevel::new(a, positions);
        let n = 3 * a.rows();
        let (r, s) = (vector(n, 1), vector(n, 2));
        let (mut z, mut t) = (vec![0.0; n], vec![0.0; n]);
        two.apply(&r, &mut z);
        two.apply(&s, &mut t);
        assert!(dot(&r, &z) > 0.0 && dot(&s, &t) > 0.0);
        assert!((dot(&r, &t) - dot(&s, &z)).abs() < 1e-9 * (dot(&r, &z) * dot(&s, &t)).sqrt());
    }

    #[test]
    fn it_is_symmetric_and_positive() {
        let sample = ElasticBox::cube(6, Cells::Hexahedra);
        let a = BlockMatrix::new(sample.count(), &sample.system(0.1));
        check_symmetric_and_positive(&a, &sample.positions());
        let (a, positions) = mixture();
        check_symmetric_and_positive(&a, &positions);
        // All in one place: no motion is a rotation.
        check_symmetric_and_positive(&a, &vec![0.0; positions.len()]);
        // Nothing to gather.
        check_symmetric_and_positive(&BlockMatrix::new(2, &Blocks::default()), &[0.0; 6]);
    }

    #[test]
    fn ropes_loose_particles_and_held_coordinates_are_solved() {
        let (a, positions) = mixture();
        let b = vector(3 * a.rows(), 3);
        let mut two = TwoLevel::new(&a, &positions);
        let mut x = vec![0.0; b.len()];
        let report = cg(
            |p, out| a.times(p, out),
            |r, z| two.apply(r, z),
            &b,
            &mut x,
            &CgOptions { tolerance: 1e-10, ..CgOptions::default() },
            &mut CgWork::default(),
        );
        assert!(report.stop == CgStop::Converged && report.iterations < 10, "{report:?}");
        assert!((x[90] - b[90]).abs() < 1e-9, "the held coordinate stands alone");
    }

    #[test]
    fn iterations_hardly_grow_with_the_length_of_a_bar() {
        let count = |length: usize| {
            let sample = ElasticBox {
                nodes: [4, 4, length],
                size: [0.03, 0.03, 0.01 * (length - 1) as f64],
                ..ElasticBox::cantilever(Cells::Hexahedra)
            };
            let a = BlockMatrix::new(sample.count(), &sample.system(1.0));
            let mut two = TwoLevel::new(&a, &sample.positions());
            let mut x = vec![0.0; 3 * a.rows()];
            let weights = sample.weights();
            let options = CgOptions { weights: Some(&weights), ..CgOptions::default() };
            let work = &mut CgWork::default();
            let times = |p: &[f64], out: &mut [f64]| a.times(p, out);
            let report = cg(times, |r, z| two.apply(r, z), &sample.gravity(1.0), &mut x, &options, work);
            assert_eq!(report.stop, CgStop::Converged);
            report.iterations
        };
        let counts = [count(20), count(40), count(80)];
        assert!(counts[2] < 2 * counts[0], "bars of 20, 40, 80 planes: {counts:?}");
    }
}
