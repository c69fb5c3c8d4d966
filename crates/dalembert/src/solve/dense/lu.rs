//! Gaussian elimination $A = LU$ of small matrices that need not be symmetric, four rows and four columns at a time, with
//! threshold pivoting where that is needed (Golub and Van Loan 2013, 3.2 and 3.4).
//!
//! Rows begin at multiples of four, and there are so many of them: those behind the last unknown are rows of the unit matrix,
//! so that nothing ends in the middle of a four. Where A is symmetric and positive definite no rows have to be exchanged,
//! however different they are in size, since $\sum_k L_{ik}^2 U_{kk} \le A_{ii}$. Where that sum is not much larger A is as good
//! as that, which is almost always; otherwise all begins anew with exchanges.

use crate::math::simd::Lanes;

/// Σ L² U over the diagonal of A up to which rows stay in their order.
const GROWTH: f64 = 100.0;
/// Where they are exchanged a row takes at most this multiple of one above it.
const MOST_SHARE: f64 = 10.0;

/// A, then U in its upper half and −L below it; rows of `fours` fours.
#[derive(Debug, Default)]
pub(crate) struct Lu {
    A: Vec<[f64; 4]>,
    fours: usize,
    /// One over each pivot.
    inverse: Vec<f64>,
    /// The row that each row was exchanged with; empty if none was.
    order: Vec<usize>,
    /// `GROWTH` times the diagonal of A.
    bounds: Vec<f64>,
}

impl Lu {
    /// Room for n unknowns: nothing is known of it but rows behind the n-th, which are as they should be.
    pub(crate) fn begin(&mut self, n: usize) -> &mut [[f64; 4]] {
        self.fours = n.div_ceil(4).max(1);
        let wide = 4 * self.fours;
        self.A.resize(wide * self.fours, [0.0; 4]);
        for i in n..wide {
            let row = &mut self.A.as_flattened_mut()[i * wide..(i + 1) * wide];
            row.fill(0.0);
            row[i] = 1.0;
        }
        &mut self.A
    }

    /// Eliminates in the order of the rows; false if that is not good enough. A is lost then.
    pub(crate) fn factor(&mut self) -> bool {
        let Self { A, fours, inverse, order, bounds } = self;
        let fours = *fours;
        order.clear();
        inverse.clear();
        bounds.clear();
        bounds.extend((0..4 * fours).map(|i| GROWTH * A[i * fours + i / 4][i % 4]));
        let (bounds, _) = bounds.as_chunks::<4>();
        let mut worst = Lanes::splat(f64::NEG_INFINITY);
        for block in 0..fours {
            let (above, below) = A.split_at_mut(4 * (block + 1) * fours);
            let (a, rest) = above[4 * block * fours..].split_at_mut(fours);
            let (b, rest) = rest.split_at_mut(fours);
            let (c, d) = rest.split_at_mut(fours);
            let mut own = [a[block], b[block], c[block], d[block]];
            let Some(scale) = eliminate(&mut own, &bounds[block]) else { return false };
            inverse.extend_from_slice(&scale);
            [a[block], b[block], c[block], d[block]] = own;
            let (a, b, c) = (&a[block + 1..], &mut b[block + 1..], &mut c[block + 1..]);
            let d = &mut d[block + 1..];
            for (((a, b), c), d) in a.iter().zip(&mut *b).zip(&mut *c).zip(&mut *d) {
                take(b, own[1][0], a);
                take(c, own[2][0], a);
                take(c, own[2][1], b);
                take(d, own[3][0], a);
                take(d, own[3][1], b);
                take(d, own[3][2], c);
            }
            let pivots = [0, 1, 2, 3].map(|k| Lanes::splat(own[k][k].abs()));
            for (rows, bound) in below.chunks_exact_mut(4 * fours).zip(&bounds[block + 1..]) {
                let shares = shares(std::array::from_fn(|i| rows[i * fours + block]), &own, &scale);
                let growth =
                    shares.iter().zip(&pivots).fold(Lanes::ZERO, |sum, (s, u)| (*s * *s).mul_add(*u, sum));
                worst = worst.max(growth - Lanes::from(*bound));
                let shares = Lanes::transpose(shares).map(Lanes::to_array);
                for (row, shares) in rows.chunks_exact_mut(fours).zip(shares) {
                    let (done, rest) = row.split_at_mut(block + 1);
                    done[block] = shares;
                    let shares = shares.map(Lanes::splat);
                    for ((((x, a), b), c), d) in rest.iter_mut().zip(a).zip(&*b).zip(&*c).zip(&*d) {
                        let mut sum = shares[0].mul_add(Lanes::from(*a), Lanes::from(*x));
                        sum = shares[1].mul_add(Lanes::from(*b), sum);
                        sum = shares[2].mul_add(Lanes::from(*c), sum);
                        *x = shares[3].mul_add(Lanes::from(*d), sum).to_array();
                    }
                }
            }
        }
        worst.to_array().iter().all(|worst| *worst <= 0.0)
    }

    /// The same with exchanges; false if A is singular.
    pub(crate) fn factor_with_exchanges(&mut self) -> bool {
        let wide = 4 * self.fours;
        let A = self.A.as_flattened_mut();
        self.order.clear();
        self.inverse.clear();
        for k in 0..wide {
            let (above, below) = A.split_at_mut((k + 1) * wide);
            let top = &mut above[k * wide..];
            let largest = |(pivot, most): (usize, f64), (i, row): (usize, &[f64])| {
                if row[k].abs() > most { (k + 1 + i, row[k].abs()) } else { (pivot, most) }
            };
            let (mut pivot, most) = below.chunks_exact(wide).enumerate().fold((k, top[k].abs()), largest);
            if !(most > 0.0) {
                return false;
            }
            if MOST_SHARE * top[k].abs() >= most {
                pivot = k;
            }
            self.order.push(pivot);
            if pivot != k {
                let at = (pivot - k - 1) * wide;
                top.swap_with_slice(&mut below[at..at + wide]);
            }
            let scale = 1.0 / top[k];
            self.inverse.push(scale);
            for row in below.chunks_exact_mut(wide) {
                let share = -scale * row[k];
                row[k] = share;
                row[k + 1..].iter_mut().zip(&top[k + 1..]).for_each(|(x, t)| *x = share.mul_add(*t, *x));
            }
        }
        true
    }

    /// y ← A⁻¹ y, as many numbers as there are unknowns; zeros are put behind them.
    ///
    /// Four rows at a time: what they take of all that is known, four sums side by side, then of each other.
    pub(crate) fn solve(&self, y: &mut Vec<f64>) {
        let Self { A, fours, inverse, order, .. } = self;
        let fours = *fours;
        y.resize(4 * fours, 0.0);
        order.iter().enumerate().for_each(|(k, pivot)| y.swap(k, *pivot));
        let (y, _) = y.as_chunks_mut::<4>();
        let (inverse, _) = inverse.as_chunks::<4>();
        for (block, rows) in A.chunks_exact(4 * fours).enumerate() {
            let (known, rest) = y.split_at_mut(block);
            let l: [[f64; 4]; 4] = std::array::from_fn(|i| rows[i * fours + block]);
            let [a, mut b, mut c, mut d] = (Lanes::from(rest[0]) + sums(rows, fours, 0, known)).to_array();
            b = l[1][0].mul_add(a, b);
            c = l[2][1].mul_add(b, l[2][0].mul_add(a, c));
            d = l[3][2].mul_add(c, l[3][1].mul_add(b, l[3][0].mul_add(a, d)));
            rest[0] = [a, b, c, d];
        }
        for (block, rows) in A.chunks_exact(4 * fours).enumerate().rev() {
            let (rest, known) = y.split_at_mut(block + 1);
            let u: [[f64; 4]; 4] = std::array::from_fn(|i| rows[i * fours + block]);
            let [mut a, mut b, mut c, mut d] =
                (Lanes::from(rest[block]) - sums(rows, fours, block + 1, known)).to_array();
            let scale = &inverse[block];
            d *= scale[3];
            c = (-u[2][3]).mul_add(d, c) * scale[2];
            b = (-u[1][2]).mul_add(c, (-u[1][3]).mul_add(d, b)) * scale[1];
            a = (-u[0][1]).mul_add(b, (-u[0][2]).mul_add(c, (-u[0][3]).mul_add(d, a))) * scale[0];
            rest[block] = [a, b, c, d];
        }
    }
}

/// Four rows among themselves: one over their pivots, if their shares are small enough.
#[inline(always)]
fn eliminate(rows: &mut [[f64; 4]; 4], bounds: &[f64; 4]) -> Option<[f64; 4]> {
    let (mut scale, mut growth) = ([0.0; 4], [0.0; 4]);
    for k in 0..4 {
        let pivot = rows[k][k];
        scale[k] = 1.0 / pivot;
        for i in k + 1..4 {
            let share = -scale[k] * rows[i][k];
            (k + 1..4).for_each(|j| rows[i][j] = share.mul_add(rows[k][j], rows[i][j]));
            rows[i][k] = share;
            growth[i] += share * share * pivot.abs();
        }
    }
    let small = growth.iter().zip(bounds).all(|(growth, bound)| growth <= bound);
    (small && rows[3][3] != 0.0).then_some(scale)
}

/// What four rows take of four above them, which are eliminated: a lane for each row.
#[inline(always)]
fn shares(rows: [[f64; 4]; 4], above: &[[f64; 4]; 4], scale: &[f64; 4]) -> [Lanes; 4] {
    let [a, mut b, mut c, mut d] = Lanes::transpose(rows.map(Lanes::from));
    let part = |i: usize, j: usize| Lanes::splat(above[i][j]);
    let a = a * Lanes::splat(-scale[0]);
    (b, c, d) = (a.mul_add(part(0, 1), b), a.mul_add(part(0, 2), c), a.mul_add(part(0, 3), d));
    let b = b * Lanes::splat(-scale[1]);
    (c, d) = (b.mul_add(part(1, 2), c), b.mul_add(part(1, 3), d));
    let c = c * Lanes::splat(-scale[2]);
    d = c.mul_add(part(2, 3), d);
    [a, b, c, d * Lanes::splat(-scale[3])]
}

#[inline(always)]
fn take(row: &mut [f64; 4], share: f64, top: &[f64; 4]) {
    *row = Lanes::splat(share).mul_add(Lanes::from(*top), Lanes::from(*row)).to_array();
}

/// Σ a x of four rows, over as many fours as x has, from one on.
#[inline(always)]
fn sums(rows: &[[f64; 4]], fours: usize, from: usize, x: &[[f64; 4]]) -> Lanes {
    let row = |i: usize| &rows[i * fours + from..][..x.len()];
    let mut sums = [Lanes::ZERO; 4];
    for ((((a, b), c), d), x) in row(0).iter().zip(row(1)).zip(row(2)).zip(row(3)).zip(x) {
        let x = Lanes::from(*x);
        sums[0] = Lanes::from(*a).mul_add(x, sums[0]);
        sums[1] = Lanes::from(*b).mul_add(x, sums[1]);
        sums[2] = Lanes::from(*c).mul_add(x, sums[2]);
        sums[3] = Lanes::from(*d).mul_add(x, sums[3]);
    }
    let [a, b, c, d] = Lanes::transpose(sums);
    (a + b) + (c + d)
}

#[cfg(test)]
mod tests {
    use super::Lu;

    /// y with A y = b, or none if A is singular; and whether rows were exchanged.
    fn solved(
        n: usize,
        a: impl Fn(usize, usize) -> f64,
        b: impl Fn(usize) -> f64,
    ) -> Option<(Vec<f64>, bool)> {
        let mut factors = Lu::default();
        let fill = |factors: &mut Lu| {
            let wide = n.next_multiple_of(4);
            let rows = factors.begin(n).as_flattened_mut();
            (0..n * wide).for_each(|k| rows[k] = if k % wide < n { a(k / wide, k % wide) } else { 0.0 });
        };
        fill(&mut factors);
        let plain = factors.factor();
        if !plain {
            fill(&mut factors);
            if !factors.factor_with_exchanges() {
                return None;
            }
        }
        let mut y: Vec<f64> = (0..n).map(b).collect();
        factors.solve(&mut y);
        Some((y, !plain))
    }

    #[test]
    fn elimination_solves_with_and_without_exchanges() {
        // Rows that need an exchange at the first pivot, and a matrix that is not symmetric.
        let (a, b) = ([[0.0, 2.0, 1.0], [3.0, 0.5, -1.0], [1.0, -1.0, 4.0]], [3.0, 2.5, -2.0]);
        let (y, exchanged) = solved(3, |i, j| a[i][j], |i| b[i]).unwrap();
        assert!(exchanged);
        for i in 0..3 {
            let left: f64 = (0..3).map(|j| a[i][j] * y[j]).sum::<f64>() - b[i];
            assert!(left.abs() < 1e-14, "{i} {left}");
        }
        assert!(solved(2, |i, j| [[1.0, 2.0], [2.0, 4.0]][i][j], |_| 1.0).is_none());
        // All lengths of the last four; columns in another order make exchanges, a strong diagonal makes none.
        for (n, shift) in (1..24).flat_map(|n| [(n, 0), (n, 1)]) {
            let a = |i: usize, j: usize| {
                let strong =
                    if (i + shift) % n == j { 3.0 + 2.0 * n as f64 * (1 - shift) as f64 } else { 0.0 };
                ((3 * i + 7 * j + i * j) as f64).sin() + strong
            };
            let b = |i: usize| (i as f64).cos();
            let (y, exchanged) = solved(n, a, b).unwrap();
            assert!(!(exchanged && shift == 0), "{n}");
            for i in 0..n {
                let left: f64 = (0..n).map(|j| a(i, j) * y[j]).sum::<f64>() - b(i);
                assert!(left.abs() < 1e-11, "{n} {i} {left}");
            }
        }
    }
}
