//! Joints of a tree of bodies solved exactly, four equal trees at a time.
//!
//! Given velocities v and rates e that the rows are to change by, the impulses λ with
//!
//! $$ M x = A^T\lambda, \qquad A x = e $$
//!
//! change the velocities by x. Every body b but the root has one joint with its parent p, $A_b x_b + A_p x_p = e$. From
//! the leaves to the root a body with what hangs on it answers like one body with the mass $\hat M_b$: it moves by
//! $x_b = \hat M_b^{-1}(f_b + A_b^T\lambda)$, where f comes from its children. Put into the row, with
//! $Y = \hat M_b^{-1}A_b^T$ and $D = A_b Y$,
//!
//! $$ \lambda = D^{-1}(s - A_p x_p), \qquad s = e - Y^T f_b, $$
//!
//! so that the parent feels the force $A_p^T D^{-1} s$ and the mass $A_p^T D^{-1} A_p$ more (Baraff 1996; in other words
//! Featherstone's articulated inertia, with all coordinates kept). With $G = D^{-1}A_p$ a solution is one way up,
//! $s = e - A_b \hat M_b^{-1} f_b$, $f_p \mathrel{+}= G^T s$, and one way down, $\lambda = D^{-1} s - G x_p$,
//! $x_b = \hat M_b^{-1} (f_b + A_b^T\lambda)$. D has full rank if the rows of the joint are independent on its body alone.

use wide::f64x4 as Lanes;

/// Most rows of a joint.
const ROWS: usize = 6;

/// Six numbers of a body per lane: linear, then angular.
pub(super) type V6 = [Lanes; 6];

/// A body of a tree; parents come before their children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Limb {
    /// Place of the parent; `u32::MAX` for the world or if it is free.
    pub(super) parent: u32,
    /// Rows of the joint with the parent or the world; 0 for a root that is free.
    pub(super) rows: u8,
    /// Nothing hangs on it.
    pub(super) leaf: bool,
}

/// No parent.
pub(super) const FREE: u32 = u32::MAX;

/// The factored joints of four trees of one shape. A solution reads all of it, so what can be left out is.
#[derive(Debug, Clone, Default)]
pub(super) struct Factors {
    /// Inverse masses of bodies on which nothing hangs, in the order of limbs.
    leaves: Vec<Alone>,
    /// $\hat M^{-1}$ of the others.
    inner: Vec<[V6; 6]>,
    /// Of each row, in the order of limbs.
    rows: Vec<Row>,
    /// D⁻¹ of each limb with a joint, row by row.
    answers: Vec<Lanes>,
    /// Impulse of each row in this part of the step, and in all of them.
    impulse: Vec<Lanes>,
    sum: Vec<Lanes>,
    masses: Vec<[V6; 6]>,
}

/// One row of a joint.
#[derive(Debug, Clone, Copy)]
struct Row {
    own: V6,
    parent: V6,
    /// Row of G.
    g: V6,
}

fn zero() -> Lanes {
    Lanes::splat(0.0)
}

const fn none() -> V6 {
    [Lanes::ZERO; 6]
}

#[inline(always)]
fn dot6(a: &V6, b: &V6) -> Lanes {
    let low = a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]));
    a[5].mul_add(b[5], a[4].mul_add(b[4], a[3].mul_add(b[3], low)))
}

#[inline(always)]
fn add6(a: &mut V6, s: Lanes, b: &V6) {
    for k in 0..6 {
        a[k] = s.mul_add(b[k], a[k]);
    }
}

/// The inverse of the first n rows and columns of a symmetric positive matrix; the rest is zero. Pivots that are nothing
/// beside their diagonals count as not there: such rows answer with nothing.
#[inline]
fn inverse(a: &[V6; 6], n: usize) -> [V6; 6] {
    const WEAK: f64 = 1e-13;
    // L with A = L Lᵀ, its diagonal inverted, then W = L⁻¹, then WᵀW.
    let mut l = [none(); 6];
    let mut w = [none(); 6];
    for i in 0..n {
        for j in 0..=i {
            let mut sum = a[i][j];
            for k in 0..j {
                sum = (-l[i][k]).mul_add(l[j][k], sum);
            }
            l[i][j] = if i == j {
                let there = sum.simd_gt(a[i][i] * Lanes::splat(WEAK));
                let root = there.select(sum, Lanes::ONE).sqrt();
                there & (Lanes::ONE / root)
            } else {
                sum * l[j][j]
            };
        }
    }
    for i in 0..n {
        w[i][i] = l[i][i];
        for j in 0..i {
            let mut sum = zero();
            for k in j..i {
                sum = l[i][k].mul_add(w[k][j], sum);
            }
            w[i][j] = -sum * l[i][i];
        }
    }
    let mut out = [none(); 6];
    for i in 0..n {
        for j in 0..=i {
            let mut sum = zero();
            for row in &w[i..n] {
                sum = row[i].mul_add(row[j], sum);
            }
            (out[i][j], out[j][i]) = (sum, sum);
        }
    }
    out
}

/// Inverse mass and inertia of four bodies as they are alone: 1/m, and I⁻¹ in world axes (xx, yy, zz, xy, xz, yz).
#[derive(Debug, Clone, Copy)]
pub(super) struct Alone {
    pub(super) inv_mass: Lanes,
    pub(super) inv_inertia: V6,
}

impl Alone {
    /// M.
    fn mass(&self) -> [V6; 6] {
        let [xx, yy, zz, xy, xz, yz] = self.inv_inertia;
        let (a, b, c) = (yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy);
        let s = Lanes::ONE / (xx * a + xy * b + xz * c);
        let (d, e, f) = (xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy);
        let inertia = [[s * a, s * b, s * c], [s * b, s * d, s * e], [s * c, s * e, s * f]];
        let mut out = [none(); 6];
        for i in 0..3 {
            out[i][i] = Lanes::ONE / self.inv_mass;
            out[3 + i][3..].copy_from_slice(&inertia[i]);
        }
        out
    }

    /// M⁻¹ x.
    #[inline(always)]
    fn answer(&self, x: &V6) -> V6 {
        let [xx, yy, zz, xy, xz, yz] = self.inv_inertia;
        let m = self.inv_mass;
        let row = |a: Lanes, b: Lanes, c: Lanes| c.mul_add(x[5], b.mul_add(x[4], a * x[3]));
        [m * x[0], m * x[1], m * x[2], row(xx, xy, xz), row(xy, yy, yz), row(xz, yz, zz)]
    }
}

/// A x.
#[inline(always)]
fn times(a: &[V6; 6], x: &V6) -> V6 {
    std::array::from_fn(|k| dot6(&a[k], x))
}

impl Factors {
    /// Room for trees of this shape; all impulses are zero.
    pub(super) fn begin(&mut self, limbs: &[Limb]) {
        let rows = limbs.iter().map(|l| l.rows as usize).sum();
        self.rows.resize(rows, Row { own: none(), parent: none(), g: none() });
        for list in [&mut self.impulse, &mut self.sum] {
            list.clear();
            list.resize(rows, zero());
        }
        self.answers.resize(limbs.iter().map(|l| l.rows as usize * l.rows as usize).sum(), zero());
        let leaves = limbs.iter().filter(|l| l.leaf).count();
        self.leaves.resize(leaves, Alone { inv_mass: zero(), inv_inertia: none() });
        self.inner.resize(limbs.len() - leaves, [none(); 6]);
    }

    /// Sets a row of the Jacobian: what multiplies the velocities of the body and of its parent.
    pub(super) fn set_row(&mut self, row: usize, own: V6, parent: V6) {
        (self.rows[row].own, self.rows[row].parent) = (own, parent);
    }

    /// Eliminates from the leaves to the root.
    pub(super) fn factor(&mut self, limbs: &[Limb], alone: impl Iterator<Item = Alone>) {
        let Self { leaves, inner, rows, answers, masses, .. } = self;
        masses.clear();
        let mut leaf = 0;
        for (limb, alone) in limbs.iter().zip(alone) {
            // A leaf gets no more mass.
            masses.push(if limb.leaf { [none(); 6] } else { alone.mass() });
            if limb.leaf {
                leaves[leaf] = alone;
                leaf += 1;
            }
        }
        let (mut end, mut inside, mut last) = (rows.len(), inner.len(), answers.len());
        for (b, limb) in limbs.iter().enumerate().rev() {
            let n = limb.rows as usize;
            let rows = &mut rows[end - n..end];
            let answer = &mut answers[last - n * n..last];
            (end, last) = (end - n, last - n * n);
            let mut y = [none(); 6];
            if limb.leaf {
                leaf -= 1;
                rows.iter().zip(&mut y).for_each(|(row, y)| *y = leaves[leaf].answer(&row.own));
            } else {
                inside -= 1;
                inner[inside] = inverse(&masses[b], 6);
                rows.iter().zip(&mut y).for_each(|(row, y)| *y = times(&inner[inside], &row.own));
            }
            let mut d = [none(); 6];
            for i in 0..n {
                for j in 0..=i {
                    d[i][j] = dot6(&rows[i].own, &y[j]);
                    d[j][i] = d[i][j];
                }
            }
            let d = inverse(&d, n);
            for i in 0..n {
                answer[n * i..n * i + n].copy_from_slice(&d[i][..n]);
            }
            if limb.parent == FREE {
                continue;
            }
            for i in 0..n {
                let mut g = none();
                for j in 0..n {
                    add6(&mut g, d[i][j], &rows[j].parent);
                }
                rows[i].g = g;
            }
            let mass = &mut masses[limb.parent as usize];
            for row in rows.iter() {
                for k in 0..6 {
                    add6(&mut mass[k], row.parent[k], &row.g);
                }
            }
        }
    }

    /// Changes the velocities so that no row moves, and counts the impulses.
    pub(super) fn hold(&mut self, limbs: &[Limb], v: &mut [V6], room: &mut Vec<V6>) {
        self.solve(limbs, v, room, |_| zero());
        let m = limbs.len();
        let mut row = 0;
        for (limb, lambda) in limbs.iter().zip(&room[m..2 * m]) {
            for lambda in &lambda[..limb.rows as usize] {
                self.impulse[row] += *lambda;
                row += 1;
            }
        }
    }

    /// Moves, in place of velocities, that change the rows by the numbers given. Impulses are left alone.
    pub(super) fn change(&mut self, limbs: &[Limb], by: &[Lanes], x: &mut [V6], room: &mut Vec<V6>) {
        x.fill(none());
        self.solve(limbs, x, room, |k| by[k]);
    }

    /// Changes v so that A v has the rates asked for. `room` holds λ of the limbs afterwards, behind as many other numbers.
    #[inline(always)]
    fn solve(&self, limbs: &[Limb], v: &mut [V6], room: &mut Vec<V6>, asked: impl Fn(usize) -> Lanes) {
        let m = limbs.len();
        // f from the children, then what it moves the body by, then x; λ.
        room.clear();
        room.resize(2 * m, none());
        let (f, lambda) = room.split_at_mut(m);
        let Self { leaves, inner, rows, answers, .. } = self;
        let (mut end, mut inside) = (rows.len(), inner.len());
        for (b, limb) in limbs.iter().enumerate().rev() {
            let n = limb.rows as usize;
            end -= n;
            let rows = &rows[end..end + n];
            let mut own = v[b];
            if !limb.leaf {
                inside -= 1;
                f[b] = times(&inner[inside], &f[b]);
                (0..6).for_each(|k| own[k] += f[b][k]);
            }
            let s = &mut lambda[b];
            for (k, row) in rows.iter().enumerate() {
                s[k] = asked(end + k) - dot6(&row.own, &own);
            }
            if limb.parent != FREE {
                let (parent, to) = (&v[limb.parent as usize], &mut f[limb.parent as usize]);
                for (row, s) in rows.iter().zip(s) {
                    *s -= dot6(&row.parent, parent);
                    add6(to, *s, &row.g);
                }
            }
        }
        let (mut first, mut at, mut leaf) = (0, 0, 0);
        for (b, limb) in limbs.iter().enumerate() {
            let n = limb.rows as usize;
            let rows = &rows[first..first + n];
            let answer = &answers[at..at + n * n];
            (first, at) = (first + n, at + n * n);
            let s = lambda[b];
            let mut push = none();
            for (i, row) in rows.iter().enumerate() {
                let mut l = zero();
                for j in 0..n {
                    l = answer[n * i + j].mul_add(s[j], l);
                }
                if limb.parent != FREE {
                    l -= dot6(&row.g, &f[limb.parent as usize]);
                }
                lambda[b][i] = l;
                add6(&mut push, l, &row.own);
            }
            let x = if limb.leaf {
                leaf += 1;
                leaves[leaf - 1].answer(&push)
            } else {
                let moved = times(&inner[inside], &push);
                inside += 1;
                std::array::from_fn(|k| f[b][k] + moved[k])
            };
            f[b] = x;
            (0..6).for_each(|k| v[b][k] += x[k]);
        }
    }

    /// Adds the impulses of a part of the step to those of the whole.
    pub(super) fn add_up(&mut self) {
        self.sum.iter_mut().zip(&self.impulse).for_each(|(sum, p)| *sum += *p);
    }

    /// The impulse of a row in all parts, per lane.
    pub(super) fn sum(&self, row: usize) -> [f64; 4] {
        self.sum[row].to_array()
    }
}

const _: () = assert!(ROWS == crate::joints::MOST_ROWS);

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::{DMatrix, DVector};

    fn next(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Any tree of n bodies, joints of 1 to 6 rows, the root free or held.
    fn limbs(n: usize, held: bool, seed: &mut u64) -> Vec<Limb> {
        let some = |seed: &mut u64, most: usize| ((0.5 + 0.5 * next(seed)) * most as f64) as usize % most;
        let root = Limb { parent: FREE, rows: if held { 1 + some(seed, 6) as u8 } else { 0 }, leaf: true };
        let mut limbs = vec![root];
        for k in 1..n {
            let parent = some(seed, k) as u32;
            limbs[parent as usize].leaf = false;
            limbs.push(Limb { parent, rows: 1 + some(seed, 6) as u8, leaf: true });
        }
        limbs
    }

    /// Trees of random rows and masses, one per lane, against the dense system A M⁻¹ Aᵀ λ = e.
    #[test]
    fn joints_of_random_trees_are_held_as_by_a_dense_solve() {
        let mut seed = 5;
        for (n, held) in [(1, true), (2, false), (3, true), (7, false), (11, false), (16, true)] {
            let limbs = limbs(n, held, &mut seed);
            let rows: usize = limbs.iter().map(|l| l.rows as usize).sum();
            let mut A = vec![DMatrix::<f64>::zeros(rows, 6 * n); 4];
            let mut inv_mass = vec![DMatrix::<f64>::zeros(6 * n, 6 * n); 4];
            let mut v = vec![DVector::<f64>::zeros(6 * n); 4];
            for l in 0..4 {
                v[l].iter_mut().for_each(|v| *v = next(&mut seed));
                let mut row = 0;
                for (b, limb) in limbs.iter().enumerate() {
                    for _ in 0..limb.rows {
                        for k in 0..6 {
                            A[l][(row, 6 * b + k)] = next(&mut seed);
                            if limb.parent != FREE {
                                A[l][(row, 6 * limb.parent as usize + k)] = next(&mut seed);
                            }
                        }
                        row += 1;
                    }
                    let turn = nalgebra::Matrix3::from_fn(|_, _| next(&mut seed));
                    let inertia = turn * turn.transpose() + nalgebra::Matrix3::identity();
                    let inv = 0.5 + next(&mut seed).abs();
                    for i in 0..3 {
                        inv_mass[l][(6 * b + i, 6 * b + i)] = inv;
                        for j in 0..3 {
                            inv_mass[l][(6 * b + 3 + i, 6 * b + 3 + j)] = inertia[(i, j)];
                        }
                    }
                }
            }
            let lanes = |f: &dyn Fn(usize) -> f64| Lanes::new(std::array::from_fn(f));
            let mut factors = Factors::default();
            factors.begin(&limbs);
            let mut row = 0;
            for (b, limb) in limbs.iter().enumerate() {
                for _ in 0..limb.rows {
                    let of = |b: usize| -> V6 { std::array::from_fn(|k| lanes(&|l| A[l][(row, 6 * b + k)])) };
                    let parent = if limb.parent == FREE { none() } else { of(limb.parent as usize) };
                    factors.set_row(row, of(b), parent);
                    row += 1;
                }
            }
            let alone: Vec<Alone> = (0..n)
                .map(|b| {
                    let places = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
                    let at = |i: usize, j: usize| lanes(&|l| inv_mass[l][(6 * b + i, 6 * b + j)]);
                    Alone { inv_mass: at(0, 0), inv_inertia: places.map(|(i, j)| at(3 + i, 3 + j)) }
                })
                .collect();
            factors.factor(&limbs, alone.into_iter());
            let mut found: Vec<V6> =
                (0..n).map(|b| std::array::from_fn(|k| lanes(&|l| v[l][6 * b + k]))).collect();
            factors.hold(&limbs, &mut found, &mut Vec::new());
            factors.add_up();
            for l in 0..4 {
                let D = &A[l] * &inv_mass[l] * A[l].transpose();
                let lambda = D.lu().solve(&-(&A[l] * &v[l])).unwrap();
                let wanted = &v[l] + &inv_mass[l] * A[l].transpose() * &lambda;
                let size = 1.0 + lambda.amax();
                for b in 0..n {
                    for k in 0..6 {
                        let (a, b) = (found[b][k].to_array()[l], wanted[6 * b + k]);
                        assert!((a - b).abs() < 1e-9 * size, "{n} bodies: {a} {b}");
                    }
                }
                for row in 0..rows {
                    assert!((factors.sum(row)[l] - lambda[row]).abs() < 1e-8 * size, "row {row}");
                }
            }
        }
    }
}
