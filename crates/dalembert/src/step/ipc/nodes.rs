//! The linear system where all that moves are nodes: cloth, solids, rods, particles.
//!
//! $A = L + D + L^T + E$ over 3×3 blocks: D and L hold inertia and forces, at places that are found once, and all contacts
//! that fall on these places; E holds the contacts between nodes that no force joins. Inertia makes A well conditioned
//! unless the material is very stiff, so conjugate gradients need few iterations, and Newton's method needs few digits.
//!
//! **Symmetric Gauss-Seidel, at the price of one product** (Eisenstat 1981). The preconditioner is
//! $M = (D + L)D^{-1}(D + L)^T$, positive definite if D is. With $\hat r = (D + L)^{-1}r$ and $\hat x = (D + L)^T x$ the system is
//! $\hat A\hat x = \hat b$, preconditioned by $D^{-1}$, and since $A = (D + L) + (D + L)^T - D + E$,
//!
//! $$ \hat A p = t + (D + L)^{-1}(p - D t + E t),\qquad t = (D + L)^{-T}p, $$
//!
//! which runs through each triangle once. $x$ grows by α t where x̂ grows by α p. $\rho = \hat r^T D\hat r = r^T M^{-1}r$ \[J\] tells
//! when to stop.

use super::potential::Potential;
use crate::collide::{HessianSink, Sym3};
use crate::math::{Mat3, Vec3, add_triple, set_triple, triple};
use crate::model::{ContactModel, Model};

/// No row: the block is held.
const HELD: u32 = u32::MAX;
/// Most iterations; where more are needed a factor is faster.
const MOST: u32 = 120;

/// A, and how it is solved.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    /// Row of each block.
    row: Vec<u32>,
    rows: usize,
    /// The blocks that inertia and forces hand over, in their order, and where each goes: a row of D or a place of L^T.
    places: Vec<(u32, u32)>,
    slots: Vec<(u32, Slot)>,
    /// L^T by rows.
    start: Vec<u32>,
    columns: Vec<u32>,
    upper: Vec<Mat3>,
    diagonal: Vec<Mat3>,
    /// The same without contacts.
    bare_upper: Vec<Mat3>,
    bare_diagonal: Vec<Mat3>,
    inverse: Vec<Mat3>,
    /// E, one of each two mirror images.
    far: Vec<(u32, u32, Mat3)>,
    /// Least mass of a row \[kg\].
    pub least_mass: f64,
    b: Vec<f64>,
    x: Vec<f64>,
    p: Vec<f64>,
    t: Vec<f64>,
    w: Vec<f64>,
}

/// Where a block goes: to a place of L^T as it is or turned over, to a row of D, nowhere.
#[derive(Debug, Clone, Copy)]
enum Slot {
    Upper,
    Lower,
    Diagonal,
    Held,
}

/// a += b.
#[inline(always)]
fn plus(a: &mut Mat3, b: &Mat3) {
    a.as_mut_slice().iter_mut().zip(b.as_slice()).for_each(|(a, b)| *a += b);
}

/// True if the model has nothing but nodes that move, and nothing but forces with an energy that act on them.
pub(super) fn only_nodes(model: &Model, contact: &ContactModel) -> bool {
    let held = contact.held.iter().filter(|h| **h).count();
    model.layout.nv == 3 * model.layout.particles
        && model.constraints.is_empty()
        && model.robots.is_empty()
        && contact.rows.is_empty()
        && contact.joints.terms.is_empty()
        && contact.articulations.is_empty()
        && model.filters.len() <= held
        && model.forces.iter().all(|f| f.force.is_conservative())
        && contact.affine.iter().all(|&first| (first..first + 4).all(|i| contact.held[i as usize]))
}

impl Nodes {
    /// Takes inertia and forces where the potential was evaluated last. False if a force acts on what is carried.
    pub(super) fn assemble(&mut self, model: &Model, potential: &Potential) -> bool {
        if self.row.len() == model.layout.particles && self.fill(model, potential) {
            return true;
        }
        self.find_places(model, potential) && self.fill(model, potential)
    }

    /// False if the blocks are not those of the last time.
    fn fill(&mut self, model: &Model, potential: &Potential) -> bool {
        self.bare_upper.fill(Mat3::zeros());
        self.bare_diagonal.fill(Mat3::zeros());
        let Self { places, slots, bare_upper: upper, bare_diagonal: diagonal, .. } = self;
        let (mut k, mut same) = (0, true);
        potential.each_block(model, &mut |i, j, block| {
            let place = (i as u32, j as u32);
            if places.get(k) != Some(&place) {
                same = false;
                return;
            }
            let (slot, kind) = slots[k];
            k += 1;
            match kind {
                Slot::Upper => plus(&mut upper[slot as usize], block),
                Slot::Lower => plus(&mut upper[slot as usize], &block.transpose()),
                Slot::Diagonal => plus(&mut diagonal[slot as usize], block),
                Slot::Held => {}
            }
        });
        same && k == places.len()
    }

    fn find_places(&mut self, model: &Model, potential: &Potential) -> bool {
        let n = model.layout.particles;
        self.row.clear();
        self.rows = 0;
        self.least_mass = f64::INFINITY;
        for i in 0..n {
            let held = model.filters.block(i).is_some_and(|C| C == Mat3::zeros());
            self.row.push(if held { HELD } else { self.rows as u32 });
            if !held {
                self.rows += 1;
                self.least_mass = self.least_mass.min(model.particles.mass[i]);
            }
        }
        self.places.clear();
        let places = &mut self.places;
        potential.each_block(model, &mut |i, j, _| places.push((i as u32, j as u32)));
        if self.places.iter().any(|(i, j)| *i as usize >= n || *j as usize >= n) {
            self.row.clear();
            return false;
        }
        let row = &self.row;
        let of = |(i, j): (u32, u32)| {
            let (r, c) = (row[i as usize], row[j as usize]);
            (r != HELD && c != HELD).then(|| (r.min(c), r.max(c)))
        };
        let mut all: Vec<(u32, u32)> =
            self.places.iter().filter_map(|p| of(*p)).filter(|(r, c)| r != c).collect();
        all.sort_unstable();
        all.dedup();
        self.slots.clear();
        self.slots.extend(self.places.iter().map(|p| match of(*p) {
            None => (0, Slot::Held),
            Some((r, c)) if r == c => (r, Slot::Diagonal),
            // Every pair of rows was put into the list.
            Some(pair) => {
                let turned = row[p.0 as usize] > row[p.1 as usize];
                let kind = if turned { Slot::Lower } else { Slot::Upper };
                (all.partition_point(|q| *q < pair) as u32, kind)
            }
        }));
        self.start.clear();
        self.start.extend((0..=self.rows as u32).map(|r| all.partition_point(|q| q.0 < r) as u32));
        self.columns.clear();
        self.columns.extend(all.iter().map(|q| q.1));
        self.bare_upper.resize(all.len(), Mat3::zeros());
        self.bare_diagonal.resize(self.rows, Mat3::zeros());
        true
    }

    /// Begins anew with what was assembled last, without contacts.
    pub(super) fn strip(&mut self) {
        self.far.clear();
        self.upper.clone_from(&self.bare_upper);
        self.diagonal.clone_from(&self.bare_diagonal);
    }

    /// A third of the trace of every diagonal block, without contacts.
    pub(super) fn mean_diagonal(&self) -> Vec<f64> {
        let of = |r: &u32| if *r == HELD { 0.0 } else { self.bare_diagonal[*r as usize].trace() / 3.0 };
        self.row.iter().map(of).collect()
    }

    /// δ with A δ = b in what may move, zero elsewhere: until ρ has fallen by η² or below `floor` \[J\]. Iterations and
    /// √(ρ/ρ₀); none if A is not positive definite or asks for too many iterations.
    pub(super) fn solve(
        &mut self,
        b: &[f64],
        delta: &mut Vec<f64>,
        eta: f64,
        floor: f64,
    ) -> Option<(u32, f64)> {
        delta.clear();
        delta.resize(b.len(), 0.0);
        self.inverse.clear();
        for D in &self.diagonal {
            self.inverse.push(D.try_inverse()?);
        }
        let n = 3 * self.rows;
        self.b.resize(n, 0.0);
        for (i, &r) in self.row.iter().enumerate().filter(|(_, r)| **r != HELD) {
            set_triple(&mut self.b, r as usize, &triple(b, i));
        }
        for list in [&mut self.x, &mut self.t, &mut self.w, &mut self.p] {
            list.clear();
            list.resize(n, 0.0);
        }
        // b becomes r̂.
        let mut r = std::mem::take(&mut self.b);
        let mut p = std::mem::take(&mut self.p);
        self.forward(&mut r);
        let mut rho = self.weigh(&r, &mut p);
        let (first, mut iterations) = (rho, 0);
        let enough = floor.max(eta * eta * first);
        while rho > enough && iterations < MOST {
            iterations += 1;
            let curvature = self.times(&p);
            if !(curvature > 0.0) {
                break;
            }
            let alpha = rho / curvature;
            for k in 0..n {
                self.x[k] += alpha * self.t[k];
                r[k] -= alpha * self.w[k];
            }
            let before = rho;
            let mut z = std::mem::take(&mut self.w);
            rho = self.weigh(&r, &mut z);
            self.w = z;
            let beta = rho / before;
            for k in 0..n {
                p[k] = self.w[k] + beta * p[k];
            }
        }
        (self.b, self.p) = (r, p);
        if !(rho <= enough) {
            return None;
        }
        for (i, &r) in self.row.iter().enumerate().filter(|(_, r)| **r != HELD) {
            set_triple(delta, i, &triple(&self.x, r as usize));
        }
        Some((iterations, if first > 0.0 { (rho / first).sqrt() } else { 0.0 }))
    }

    /// x ← (D + L)⁻¹ x.
    fn forward(&self, x: &mut [f64]) {
        for r in 0..self.rows {
            let y = self.inverse[r] * triple(x, r);
            set_triple(x, r, &y);
            for k in self.start[r] as usize..self.start[r + 1] as usize {
                add_triple(x, self.columns[k] as usize, &-self.upper[k].tr_mul(&y));
            }
        }
    }

    /// z ← D r; returns r·z.
    fn weigh(&self, r: &[f64], z: &mut [f64]) -> f64 {
        let mut sum = 0.0;
        for (i, D) in self.diagonal.iter().enumerate() {
            let r = triple(r, i);
            let y = D * r;
            sum += r.dot(&y);
            set_triple(z, i, &y);
        }
        sum
    }

    /// t ← (D + L)⁻ᵀ p, w ← Â p; returns p·w.
    fn times(&mut self, p: &[f64]) -> f64 {
        let Self { rows, start, columns, upper, inverse, far, t, w, .. } = self;
        for r in (0..*rows).rev() {
            let mut y: Vec3 = triple(p, r);
            for k in start[r] as usize..start[r + 1] as usize {
                y -= upper[k] * triple(t, columns[k] as usize);
            }
            set_triple(t, r, &(inverse[r] * y));
            // p − D t is what the columns to the right took from it.
            set_triple(w, r, &(triple(p, r) - y));
        }
        for (r, c, block) in far.iter() {
            let (r, c) = (*r as usize, *c as usize);
            add_triple(w, r, &(block * triple(t, c)));
            add_triple(w, c, &(block * triple(t, r)));
        }
        let mut w = std::mem::take(&mut self.w);
        self.forward(&mut w);
        let mut sum = 0.0;
        for k in 0..w.len() {
            w[k] += self.t[k];
            sum += p[k] * w[k];
        }
        self.w = w;
        sum
    }
}

impl HessianSink for Nodes {
    fn add(&mut self, row: u32, column: u32, N: &Sym3) {
        let (r, c) = (self.row[row as usize], self.row[column as usize]);
        if r == HELD || c == HELD {
            return;
        }
        let [xx, xy, xz, yy, yz, zz] = *N;
        let N = Mat3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz);
        if r == c {
            self.diagonal[r as usize] += N;
            return;
        }
        let (r, c) = (r.min(c), r.max(c));
        let range = self.start[r as usize] as usize..self.start[r as usize + 1] as usize;
        match self.columns[range.clone()].binary_search(&c) {
            Ok(k) => self.upper[range.start + k] += N,
            Err(_) => self.far.push((r, c, N)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    /// A grid of rows with springs between neighbours, a few contacts on and off these places.
    fn sample(random: &mut Random) -> Nodes {
        let side = 9u32;
        let rows = side * side;
        let mut nodes = Nodes { rows: rows as usize, row: (0..rows).collect(), ..Nodes::default() };
        let mut pairs = Vec::new();
        for i in 0..rows {
            if i % side + 1 < side {
                pairs.push((i, i + 1));
            }
            if i + side < rows {
                pairs.push((i, i + side));
            }
        }
        pairs.sort_unstable();
        nodes.start = (0..=rows).map(|r| pairs.partition_point(|q| q.0 < r) as u32).collect();
        nodes.columns = pairs.iter().map(|q| q.1).collect();
        nodes.diagonal = vec![Mat3::from_diagonal_element(3.0); rows as usize];
        for (i, j) in &pairs {
            let n = Vec3::from_fn(|_, _| random.between(-1.0, 1.0));
            let K = 4.0 * n * n.transpose();
            nodes.diagonal[*i as usize] += K;
            nodes.diagonal[*j as usize] += K;
            nodes.upper.push(-K);
        }
        for _ in 0..20 {
            let n = Vec3::from_fn(|_, _| random.between(-1.0, 1.0)).normalize();
            let [i, j] = [0; 2].map(|_| (random.bits() % u64::from(rows)) as u32);
            for (a, b, sign) in [(i, i, 1.0), (j, j, 1.0), (i, j, -1.0)] {
                if i != j {
                    nodes.add(a, b, &crate::collide::dyad(sign * 30.0, &n));
                }
            }
        }
        nodes
    }

    /// A x, block by block.
    fn product(nodes: &Nodes, x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; x.len()];
        for r in 0..nodes.rows {
            add_triple(&mut y, r, &(nodes.diagonal[r] * triple(x, r)));
            for k in nodes.start[r] as usize..nodes.start[r + 1] as usize {
                let c = nodes.columns[k] as usize;
                add_triple(&mut y, r, &(nodes.upper[k] * triple(x, c)));
                add_triple(&mut y, c, &(nodes.upper[k].tr_mul(&triple(x, r))));
            }
        }
        for (r, c, N) in &nodes.far {
            add_triple(&mut y, *r as usize, &(N * triple(x, *c as usize)));
            add_triple(&mut y, *c as usize, &(N * triple(x, *r as usize)));
        }
        y
    }

    #[test]
    fn it_solves_with_contacts_on_and_off_the_places_of_forces() {
        let mut random = Random::new(5);
        let mut nodes = sample(&mut random);
        assert!(!nodes.far.is_empty());
        let wanted: Vec<f64> = (0..3 * nodes.rows).map(|_| random.between(-1.0, 1.0)).collect();
        let b = product(&nodes, &wanted);
        let mut x = Vec::new();
        let (iterations, _) = nodes.solve(&b, &mut x, 1e-10, 0.0).unwrap();
        assert!(iterations > 5 && iterations < 80, "{iterations}");
        let off = x.iter().zip(&wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-7, "{off}");
        // Few digits take few iterations.
        let (few, left) = nodes.solve(&b, &mut x, 1e-2, 0.0).unwrap();
        assert!(few < iterations / 2 && left <= 1e-2, "{few} {left}");
    }

    #[test]
    fn a_matrix_that_is_not_positive_is_refused() {
        let mut random = Random::new(6);
        let mut nodes = sample(&mut random);
        nodes.add(3, 40, &[500.0, 0.0, 0.0, 500.0, 0.0, 500.0]);
        let b: Vec<f64> = (0..3 * nodes.rows).map(|_| random.between(-1.0, 1.0)).collect();
        assert!(nodes.solve(&b, &mut Vec::new(), 1e-10, 0.0).is_none());
        nodes.diagonal[0] = Mat3::zeros();
        assert!(nodes.solve(&b, &mut Vec::new(), 1e-10, 0.0).is_none());
    }
}
