//! Newton's method on Coulomb's law itself, for islands that know their impulses nearly.
//!
//! The rounds of [`super::dense`] hold $s = \mu|u_t|$ while they solve: they get there from anywhere, but what slips costs
//! many of them. Near the answer the law is solved as it is. With $y = p - \rho(u + \mu|u_t| n)$, ρ = 3/tr W, a contact parts if
//! the projection of y onto its cone is zero, sticks if y is inside, and slips along $t = y_t/|y_t|$ otherwise. Then
//!
//! | | p starts as | Δp along | asks for |
//! |---|---|---|---|
//! | parts | 0 | | |
//! | sticks | p | three axes | $u^+ = 0$ |
//! | slips | $p_n(n + \mu t)$ | $n + \mu t$ | $u_n^+ = 0$ |
//! | | | $b = n\times t$ | $b\cdot u^+ + b\cdot\Delta p/\kappa = 0$, $\kappa = \mu p_n/\lvert u_t\rvert$ |
//! | row between its bounds | its impulse | one | rate⁺ = target |
//!
//! The last line of slipping is the slope of $p_t = -\mu p_n u_t/|u_t|$: the impulse turns as the velocity does. The others have
//! a softness, so that points which hold the same body twice share what they bear. It acts on the change alone, so 10⁻⁴ W
//! costs nothing near the answer, and a robot that is held more often than it has dofs does not leave it for a large change
//! that makes a small difference. In directions that are nearly undetermined such steps come slowly to what is left, though: where a
//! step does not halve it, the next one is less soft, by a factor of 30 each time, down to 10⁻⁸ W. It goes far, impulses that
//! slip turn on its way, and that leaves an error of second order where all is determined: the steps that follow are soft
//! again and take it away. The soft steps make a little of that error themselves. Where no more than this is left, one that is
//! ten times as soft ends the search. Where all that leads nowhere, steps
//! with one softness, 10⁻⁴ W and then 10⁻⁸ W, begin anew; who slips is then found anew in every step. One small system, not symmetric where
//! something slips, gives Δp; steps follow until the law holds, and if they do not get there the rounds have their turn from
//! where the steps began. A step may be followed by others with the same factors, which cost little.
//!
//! A robot that is held more often than it has dofs creeps at points whose impulse is as large across as friction lets it be:
//! slower than the tolerance, so that the signs of rounding say whether they stick. Held, they would ask for impulses outside
//! their cones. So what was on the rim, or left its cone by a step, slips on in the steps that follow and in the next try of the
//! step, as long as y is within a thousandth of the rim; farther inside it sticks.

use std::ops::Range;

use super::dense::{Dense, add};
use super::direct::STIFF;
use super::lanes::Lanes;
use super::units::{Parts, Unit};
use crate::math::Vec3;

/// Steps, and those that are less and less soft.
const STEPS: u32 = 8;
const CLIMBING_STEPS: u32 = 12;
/// Steps that do not make the best of all before the search ends.
const PATIENCE: u32 = 2;

/// W over the softness of the first step, which shies away from large changes.
const SHY: f64 = 1e4;
/// A soft step that leaves more than half is followed by one that is less soft than any before by this factor.
const CLIMB: f64 = 30.0;
/// But where it leaves less than this multiple of the tolerance, one that is softer by the other factor comes first.
const NEARLY: f64 = 4.0;
const GENTLE: f64 = 10.0;

/// Part of the radius of the cone within which a point that slipped is on the rim still.
const RIM: f64 = 1e-3;

/// Times that points which leave their cones are let slip.
const LET_SLIP: u32 = 4;

/// Steps that leave more than this multiple of what there was before them lead away.
const ASTRAY: f64 = 10.0;

/// Part of the tolerance at which no further step is made.
const POLISHED: f64 = 1e-4;
/// Where a search began with more than this multiple of the tolerance the next one will have to search as well: then the
/// tolerance is enough.
const FAR: f64 = 10.0;

/// A direction in which the impulse of a unit may change, what is asked of u there, and its softness.
#[derive(Debug, Clone, Copy)]
struct Way {
    at: usize,
    /// Numbers of the unit.
    dim: usize,
    along: [f64; 3],
    test: [f64; 3],
    softness: f64,
    /// Which of the three axes it is, if its unit sticks.
    axis: Option<usize>,
}

impl Way {
    /// The one number of a row of W that it takes, if it goes along one axis.
    fn place(&self) -> Option<usize> {
        match self.axis {
            Some(k) => Some(self.at + k),
            None => (self.dim == 1).then_some(self.at),
        }
    }
}

/// How steps go: W over the softness of the first, and whether some of the next ones are less and less soft and all remember
/// who slips.
#[derive(Debug, Clone, Copy)]
struct Pace {
    stiff: f64,
    climb: bool,
}

/// Buffers.
#[derive(Debug, Default)]
pub(super) struct Swift {
    ways: Vec<Way>,
    /// A test times W.
    V: Vec<f64>,
    /// The matrix, then its factors, and which rows were exchanged; rows begin at multiples of four.
    A: Vec<f64>,
    order: Vec<usize>,
    /// Right sides, then unknowns, and what is half solved.
    y: Vec<f64>,
    half: Vec<f64>,
    /// Ways whose numbers lie side by side in a row of W: the first, its place there, how many; and the others.
    runs: Vec<[usize; 3]>,
    mixed: Vec<usize>,
    start: Vec<f64>,
    from: Vec<f64>,
    from_u: Vec<f64>,
    /// Units that slip on while they are near their rims, within this part of the radius of their cones.
    slips: Vec<bool>,
    near: f64,
    kept: Vec<f64>,
    kept_u: Vec<f64>,
    /// Steps that began with the smallest softness led away in this search: they are not tried again.
    astray: bool,
}

impl Swift {
    /// For another search.
    pub(super) fn begin(&mut self) {
        self.astray = false;
    }
}

impl Dense {
    /// True if p, put onto its sets, meets the law within the tolerance; otherwise p and u are as they were. `before` is
    /// how far p is from what the laws allow.
    pub(super) fn go_swiftly(&mut self, parts: &Parts, swift: &mut Swift, before: f64) -> bool {
        if self.units.iter().any(|(unit, _)| matches!(unit, Unit::Spin(_))) {
            return false;
        }
        swift.start.clear();
        swift.start.extend_from_slice(&self.p);
        let pace = |stiff: f64, climb: bool| Pace { stiff, climb };
        let paces = [pace(SHY, true), pace(SHY, false), pace(STIFF, false)];
        for pace in &paces[..if swift.astray { 2 } else { 3 }] {
            // What slipped before slips on, unless that proves wrong.
            swift.slips.clear();
            swift.slips.extend((0..self.units.len()).map(|i| self.on_rim(parts, i)));
            swift.near = if pace.climb { RIM } else { 1.0 };
            if self.go_along(parts, swift, *pace, before) {
                return true;
            }
            self.p.copy_from_slice(&swift.start);
            self.velocities_of_p();
        }
        false
    }

    /// Steps at a pace; false if they do not get there.
    fn go_along(&mut self, parts: &Parts, swift: &mut Swift, pace: Pace, before: f64) -> bool {
        let (mut best, mut patience, mut far) = (f64::INFINITY, PATIENCE, 0);
        let (mut stiff, mut level) = (pace.stiff, pace.stiff);
        for _ in 0..if pace.climb { CLIMBING_STEPS } else { STEPS } {
            if !self.step_once(parts, swift, stiff) {
                return false;
            }
            self.go_on(parts, swift, before);
            if self.left <= self.tolerance {
                return true;
            }
            let astray = !(self.left <= ASTRAY * before);
            far = if astray { far + 1 } else { 0 };
            // Impulses that turn far leave much to the step that follows.
            if far > u32::from(stiff > pace.stiff) {
                swift.astray |= pace.stiff == STIFF;
                return false;
            }
            let better = self.left < 0.5 * best;
            best = best.min(self.left);
            if !pace.climb {
                swift.slips.fill(false);
            } else if stiff > pace.stiff || better {
                stiff = pace.stiff;
                continue;
            } else if stiff == pace.stiff && self.left < NEARLY * self.tolerance {
                stiff = pace.stiff / GENTLE;
                continue;
            } else if level < STIFF {
                level = (level * CLIMB).min(STIFF);
                stiff = level;
                continue;
            }
            if better {
                patience = PATIENCE;
            } else {
                patience -= 1;
                if patience == 0 {
                    return false;
                }
            }
        }
        false
    }

    /// Further steps with the factors at hand as long as each leaves a quarter or less, kept if they are good: what a step
    /// leaves comes from impulses that turn, and the factors are good for that still. Then one more than asked for, unless
    /// what there was `before` the search is far above the tolerance: the next step of time begins from impulses that stay
    /// true for longer.
    fn go_on(&mut self, parts: &Parts, swift: &mut Swift, before: f64) {
        let enough = if before > FAR * self.tolerance { self.tolerance } else { POLISHED * self.tolerance };
        while self.left > enough {
            let left = self.left;
            swift.kept.clear();
            swift.kept.extend_from_slice(&self.p);
            swift.kept_u.clear();
            swift.kept_u.extend_from_slice(&self.u);
            let went = self.go_ways(swift);
            if went {
                self.project_all(parts);
            }
            if !went || !(self.left < left) {
                self.p.copy_from_slice(&swift.kept);
                self.u.copy_from_slice(&swift.kept_u);
                self.left = left;
                return;
            }
            if left <= self.tolerance || self.left > 0.25 * left {
                return;
            }
        }
    }

    /// A step from p, whose velocities u are known, and the projection onto the sets, with what is `left` there; false if
    /// the system is singular.
    ///
    /// A point that seems to stick and by the step would leave its cone slips: the step is made again with that known.
    fn step_once(&mut self, parts: &Parts, swift: &mut Swift, stiff: f64) -> bool {
        swift.from.clear();
        swift.from.extend_from_slice(&self.p);
        swift.from_u.clear();
        swift.from_u.extend_from_slice(&self.u);
        for again in 0..=LET_SLIP {
            if again > 0 {
                self.p.copy_from_slice(&swift.from);
                self.u.copy_from_slice(&swift.from_u);
            }
            let stick = self.choose_ways(parts, stiff, swift);
            if self.p != swift.from {
                self.velocities_of_p();
            }
            if !self.step_ways(swift) {
                return false;
            }
            if !stick || !self.leave_cones(parts, swift) {
                break;
            }
        }
        self.project_all(parts);
        true
    }

    /// p onto the sets, with its velocities and what is `left`.
    fn project_all(&mut self, parts: &Parts) {
        for i in 0..self.units.len() {
            let (unit, at) = self.units[i];
            let p = parts.project(unit, &self.of(&self.p, i), 0.0);
            (0..Self::dim(unit)).for_each(|r| self.p[at + r] = p[r]);
        }
        self.velocities_of_p();
        self.left = self.unrest(parts, &self.p, &self.u);
    }

    /// True if the impulse of a unit is as far across as friction lets it be.
    fn on_rim(&self, parts: &Parts, i: usize) -> bool {
        let Unit::Cone(k) = self.units[i].0 else { return false };
        let (c, p) = (&parts.contacts[k], self.of(&self.p, i));
        let normal = c.normal.dot(&p);
        normal > 0.0 && (p - normal * c.normal).norm() >= c.friction * normal * (1.0 - 1e-9)
    }

    /// Marks the points that stick outside their cones; true if there is a new one.
    fn leave_cones(&self, parts: &Parts, swift: &mut Swift) -> bool {
        let mut any = false;
        for (i, &(unit, _)) in self.units.iter().enumerate() {
            if let Unit::Cone(k) = unit
                && !swift.slips[i]
            {
                let (c, p) = (&parts.contacts[k], self.of(&self.p, i));
                let normal = c.normal.dot(&p);
                let out = normal > 0.0 && (p - normal * c.normal).norm() > c.friction * normal * (1.0 + 1e-9);
                swift.slips[i] = out;
                any |= out;
            }
        }
        any
    }

    /// Who parts, sticks and slips; p becomes what the steps start from. True if something sticks.
    fn choose_ways(&mut self, parts: &Parts, stiff: f64, swift: &mut Swift) -> bool {
        let Swift { ways, slips, near, .. } = swift;
        let near = *near;
        let mut sticks = false;
        ways.clear();
        for i in 0..self.units.len() {
            let (unit, at) = self.units[i];
            let (u, p, rho) = (self.of(&self.u, i), self.of(&self.p, i), parts.weight(unit));
            let softness = 1.0 / (stiff * rho);
            let mut new = p;
            match unit {
                Unit::Cone(k) => {
                    let c = &parts.contacts[k];
                    let (n, mu) = (&c.normal, c.friction);
                    let across = u - n.dot(&u) * n;
                    let y = p - rho * (u + mu * across.norm() * n);
                    let normal = n.dot(&y);
                    let side = y - normal * n;
                    let size = side.norm();
                    let mut way = |along: Vec3, test: Vec3, softness: f64| {
                        let (along, test) = (along.into(), test.into());
                        ways.push(Way { at, dim: 3, along, test, softness, axis: None });
                    };
                    if mu * size <= -normal || (mu == 0.0 && normal <= 0.0) {
                        new = Vec3::zeros();
                    } else if mu == 0.0 {
                        new = n.dot(&p).max(0.0) * n;
                        way(*n, *n, softness);
                    } else if size <= mu * normal && !(slips[i] && size >= (1.0 - near) * mu * normal) {
                        sticks = true;
                        for k in 0..3 {
                            let mut one = [0.0; 3];
                            one[k] = 1.0;
                            ways.push(Way { at, dim: 3, along: one, test: one, softness, axis: Some(k) });
                        }
                    } else {
                        let (t, pressed) = (side / size.max(f64::MIN_POSITIVE), n.dot(&p).max(0.0));
                        let rim = n + mu * t;
                        new = pressed * rim;
                        way(rim, *n, softness);
                        let (b, fast) = (n.cross(&t), (size - mu * pressed).max(0.0) / rho);
                        if pressed > 0.0 {
                            way(b, b, softness.max(fast / (mu * pressed)));
                        }
                    }
                }
                Unit::Row(k) => {
                    let row = &parts.rows[k];
                    let y = p.x - rho * u.x;
                    new.x = y.clamp(row.low, row.high);
                    if new.x == y {
                        new.x = p.x;
                        let one = [1.0, 0.0, 0.0];
                        ways.push(Way { at, dim: 1, along: one, test: one, softness, axis: None });
                    }
                }
                Unit::Spin(_) => {}
            }
            (0..Self::dim(unit)).for_each(|r| self.p[at + r] = new[r]);
        }
        sticks
    }

    /// p += Δp; false if the system is singular.
    fn step_ways(&mut self, swift: &mut Swift) -> bool {
        let (n, r) = (self.n, swift.ways.len());
        let Swift { ways, V, A, order, runs, mixed, .. } = swift;
        runs.clear();
        mixed.clear();
        for (j, way) in ways.iter().enumerate() {
            match (way.place(), runs.last_mut()) {
                (None, _) => mixed.push(j),
                (Some(at), Some([first, from, len])) if [*first + *len, *from + *len] == [j, at] => *len += 1,
                (Some(at), _) => runs.push([j, at, 1]),
            }
        }
        V.resize(n, 0.0);
        let wide = width(r);
        A.resize(r * wide, 0.0);
        for (i, (way, row)) in ways.iter().zip(A.chunks_exact_mut(wide)).enumerate() {
            let W = |k: usize| &self.W[k * n..][..n];
            let V = match way.place() {
                Some(at) => W(at),
                None => {
                    V.fill(0.0);
                    let tests = (0..3).filter(|k| way.test[*k] != 0.0);
                    tests.for_each(|k| add(V, way.test[k], W(way.at + k)));
                    &V[..]
                }
            };
            for &[j, from, len] in &*runs {
                row[j..j + len].copy_from_slice(&V[from..from + len]);
            }
            for &j in &*mixed {
                let (c, v) = (&ways[j].along, &V[ways[j].at..][..3]);
                row[j] = c[0] * v[0] + c[1] * v[1] + c[2] * v[2];
            }
            row[i] += way.softness;
            row[r..].fill(0.0);
        }
        factor(A, r, order) && self.go_ways(swift)
    }

    /// p += Δp with the factors at hand; false if it is not finite.
    fn go_ways(&mut self, swift: &mut Swift) -> bool {
        let Swift { ways, A, order, y, half, .. } = swift;
        y.clear();
        y.extend(ways.iter().map(|w| -(0..w.dim).map(|k| w.test[k] * self.u[w.at + k]).sum::<f64>()));
        solve(A, order, y, half);
        for (way, y) in ways.iter().zip(&*y) {
            (0..way.dim).for_each(|k| self.p[way.at + k] += y * way.along[k]);
        }
        y.iter().all(|y| y.is_finite())
    }
}

/// Numbers of a row of n unknowns.
fn width(n: usize) -> usize {
    n.next_multiple_of(4).max(4)
}

/// A ← U in its upper half and below it what each row took of those above, rows exchanged where that is needed: `order` says
/// with which. False if A is singular.
///
/// Four columns at a time: all rows below take these four first, one after the other, and the rest of four rows at once later;
/// a row whose turn it is takes the rest of those of its own four before it.
fn factor(A: &mut [f64], n: usize, order: &mut Vec<usize>) -> bool {
    let wide = width(n);
    order.clear();
    for first in (0..n).step_by(4) {
        let (block, last) = (first / 4, (first + 4).min(n));
        for k in first..last {
            let own = A[k * wide + k].abs();
            let (mut pivot, mut most) = (k, own);
            for (i, row) in A[k * wide..].chunks_exact(wide).enumerate() {
                let size = row[k].abs();
                if size > most {
                    (pivot, most) = (k + i, size);
                }
            }
            if !(most > 0.0) {
                return false;
            }
            // The diagonal is good enough almost always, and rows stay where they are.
            if own >= 0.1 * most {
                pivot = k;
            }
            order.push(pivot);
            let (above, below) = A.split_at_mut((k + 1) * wide);
            let own = &mut above[k * wide..];
            if pivot != k {
                let at = (pivot - k - 1) * wide;
                own.swap_with_slice(&mut below[at..at + wide]);
            }
            let (before, own) = above.split_at_mut(k * wide);
            let (own, _) = own.as_chunks_mut::<4>();
            let (done, rest) = own.split_at_mut(block + 1);
            let before = before[first * wide..].as_chunks::<4>().0.chunks_exact(wide / 4);
            for (share, top) in done[block].iter().zip(before) {
                rest.iter_mut().zip(&top[block + 1..]).for_each(|(a, t)| take(a, *share, t));
            }
            let scale = 1.0 / done[block][k - first];
            // What rows took before stays.
            let mut top = done[block];
            top[..k - first].fill(0.0);
            for row in below.chunks_exact_mut(wide) {
                let row = &mut row.as_chunks_mut::<4>().0[block];
                let share = -scale * row[k - first];
                take(row, share, &top);
                row[k - first] = share;
            }
        }
        let (above, below) = A.split_at_mut(last * wide);
        let tops = above[first * wide..].as_chunks::<4>().0.chunks_exact(wide / 4);
        let mut tops = tops.map(|top| &top[block + 1..]);
        let (Some(a), Some(b), Some(c), Some(d)) = (tops.next(), tops.next(), tops.next(), tops.next())
        else {
            break;
        };
        for row in below.chunks_exact_mut(wide) {
            let (done, rest) = row.as_chunks_mut::<4>().0.split_at_mut(block + 1);
            let shares = done[block].map(Lanes::splat);
            for ((((x, a), b), c), d) in rest.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                let mut sum = shares[0].mul_add(Lanes::from(*a), Lanes::from(*x));
                sum = shares[1].mul_add(Lanes::from(*b), sum);
                sum = shares[2].mul_add(Lanes::from(*c), sum);
                *x = shares[3].mul_add(Lanes::from(*d), sum).to_array();
            }
        }
    }
    true
}

#[inline(always)]
fn take(row: &mut [f64; 4], share: f64, top: &[f64; 4]) {
    *row = Lanes::splat(share).mul_add(Lanes::from(*top), Lanes::from(*row)).to_array();
}

/// y ← A⁻¹ y, after [`factor`], and some zeros behind it.
///
/// Four rows at a time: what they take of all that is known, four sums side by side, then of each other.
fn solve(A: &[f64], order: &[usize], y: &mut Vec<f64>, half: &mut Vec<f64>) {
    let n = order.len();
    let wide = width(n);
    order.iter().enumerate().for_each(|(k, pivot)| y.swap(k, *pivot));
    y.resize(wide, 0.0);
    half.clear();
    half.resize(wide, 0.0);
    for first in (0..n).step_by(4) {
        let rows = &A[first * wide..];
        let known = sums(rows, wide, 0..first, half);
        for (i, row) in rows.chunks_exact(wide).take(4).enumerate() {
            let own: f64 = (0..i).map(|j| row[first + j] * half[first + j]).sum();
            half[first + i] = y[first + i] + known[i] + own;
        }
    }
    y.fill(0.0);
    for first in (0..n).step_by(4).rev() {
        let rows = &A[first * wide..];
        let known = sums(rows, wide, first + 4..wide, y);
        let count = (n - first).min(4);
        for i in (0..count).rev() {
            let row = &rows[i * wide + first..][..4];
            let own: f64 = (i + 1..count).map(|j| row[j] * y[first + j]).sum();
            y[first + i] = (half[first + i] - known[i] - own) / row[i];
        }
    }
}

/// Σ a x of the first four rows of A, or of as many as there are, over some columns: whole fours.
#[inline(always)]
fn sums(A: &[f64], wide: usize, columns: Range<usize>, x: &[f64]) -> [f64; 4] {
    let (x, _) = x[columns.clone()].as_chunks::<4>();
    let mut sums = [Lanes::ZERO; 4];
    let mut rows = A.chunks_exact(wide).map(|row| row[columns.clone()].as_chunks::<4>().0);
    if let (Some(a), Some(b), Some(c), Some(d)) = (rows.next(), rows.next(), rows.next(), rows.next()) {
        for ((((a, b), c), d), x) in a.iter().zip(b).zip(c).zip(d).zip(x) {
            let x = Lanes::from(*x);
            sums[0] = Lanes::from(*a).mul_add(x, sums[0]);
            sums[1] = Lanes::from(*b).mul_add(x, sums[1]);
            sums[2] = Lanes::from(*c).mul_add(x, sums[2]);
            sums[3] = Lanes::from(*d).mul_add(x, sums[3]);
        }
    } else {
        for (row, sum) in A.chunks_exact(wide).zip(&mut sums) {
            for (a, x) in row[columns.clone()].as_chunks::<4>().0.iter().zip(x) {
                *sum = Lanes::from(*a).mul_add(Lanes::from(*x), *sum);
            }
        }
    }
    sums.map(|s| {
        let [a, b, c, d] = s.to_array();
        (a + b) + (c + d)
    })
}

#[cfg(test)]
mod tests {
    use super::{factor, solve, width};

    /// y with A y = b, or none if A is singular.
    fn solved(n: usize, a: impl Fn(usize, usize) -> f64, b: impl Fn(usize) -> f64) -> Option<Vec<f64>> {
        let mut rows = vec![0.0; n * width(n)];
        for (i, row) in rows.chunks_exact_mut(width(n)).enumerate() {
            (0..n).for_each(|j| row[j] = a(i, j));
        }
        let mut y: Vec<f64> = (0..n).map(b).collect();
        let mut order = Vec::new();
        factor(&mut rows, n, &mut order).then(|| {
            solve(&rows, &order, &mut y, &mut Vec::new());
            y
        })
    }

    #[test]
    fn elimination_solves_with_and_without_exchanges() {
        // Rows that need an exchange at the first pivot, and a matrix that is not symmetric.
        let (a, b) = ([[0.0, 2.0, 1.0], [3.0, 0.5, -1.0], [1.0, -1.0, 4.0]], [3.0, 2.5, -2.0]);
        let y = solved(3, |i, j| a[i][j], |i| b[i]).unwrap();
        for i in 0..3 {
            let left: f64 = (0..3).map(|j| a[i][j] * y[j]).sum::<f64>() - b[i];
            assert!(left.abs() < 1e-14, "{i} {left}");
        }
        assert!(solved(2, |i, j| [[1.0, 2.0], [2.0, 4.0]][i][j], |_| 1.0).is_none());
        // All lengths of the last four; columns in another order make exchanges.
        for n in 1..24 {
            let a = |i: usize, j: usize| {
                ((3 * i + 7 * j + i * j) as f64).sin() + if (i + 1) % n == j { 3.0 } else { 0.0 }
            };
            let b = |i: usize| (i as f64).cos();
            let y = solved(n, a, b).unwrap();
            for i in 0..n {
                let left: f64 = (0..n).map(|j| a(i, j) * y[j]).sum::<f64>() - b(i);
                assert!(left.abs() < 1e-11, "{n} {i} {left}");
            }
        }
    }
}
