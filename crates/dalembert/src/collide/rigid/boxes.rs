//! Box against box: the fifteen directions of the separating axis test (Gottschalk, Lin and Manocha 1996).
//!
//! The largest s(n) of two overlapping boxes is taken at a normal of a face of either (three and three, one sign each)
//! or across an edge of each (nine). For boxes apart the largest s over these directions decides whether they are, and
//! is their distance unless a corner or an edge is nearest to a corner.

use crate::math::simd::Lanes;

use super::geometry::Frame;
use crate::math::{Mat3, Vec3};

/// Which features define the direction: a face of a, a face of b, or an edge of each (axis numbers).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Axis {
    FaceA(u8),
    FaceB(u8),
    Edges(u8, u8),
}

/// Edges closer to parallel than this sine define no direction.
const PARALLEL: f64 = 1e-5;

/// Two boxes, the second seen from the first.
pub(super) struct Pair {
    /// Axes of b in those of a.
    pub(super) C: Mat3,
    /// From the centre of b to that of a, in the axes of a and of b.
    pub(super) d_A: Vec3,
    pub(super) d_B: Vec3,
}

impl Pair {
    #[inline(always)]
    pub(super) fn new(a: &Frame, b: &Frame) -> Self {
        let d = a.x - b.x;
        Self { C: a.R.tr_mul(&b.R), d_A: a.R.tr_mul(&d), d_B: b.R.tr_mul(&d) }
    }

    /// s of one axis; `None` for parallel edges.
    #[inline(always)]
    fn separation(&self, h_a: &Vec3, h_b: &Vec3, axis: Axis) -> Option<f64> {
        let C = &self.C;
        let (d, reach, length) = match axis {
            Axis::FaceA(i) => {
                let i = i as usize;
                let reach =
                    h_a[i] + h_b.x * C[(i, 0)].abs() + h_b.y * C[(i, 1)].abs() + h_b.z * C[(i, 2)].abs();
                (self.d_A[i], reach, 1.0)
            }
            Axis::FaceB(j) => {
                let j = j as usize;
                let reach =
                    h_b[j] + h_a.x * C[(0, j)].abs() + h_a.y * C[(1, j)].abs() + h_a.z * C[(2, j)].abs();
                (self.d_B[j], reach, 1.0)
            }
            // In axes of a: e_i × c with c column j of C.
            Axis::Edges(i, j) => {
                let (i, j) = (i as usize, j as usize);
                let (k, l) = ((i + 1) % 3, (i + 2) % 3);
                // e_i × c has component −c_l along k and c_k along l.
                let d = self.d_A[l] * C[(k, j)] - self.d_A[k] * C[(l, j)];
                let (p, q) = ((j + 1) % 3, (j + 2) % 3);
                // |(e_i × c_j)·c_p| = |e_i·c_q|.
                let reach = h_a[k] * C[(l, j)].abs()
                    + h_a[l] * C[(k, j)].abs()
                    + h_b[p] * C[(i, q)].abs()
                    + h_b[q] * C[(i, p)].abs();
                let length = (C[(k, j)] * C[(k, j)] + C[(l, j)] * C[(l, j)]).sqrt();
                if length < PARALLEL {
                    return None;
                }
                (d, reach, length)
            }
        };
        Some((d.abs() - reach) / length)
    }
}

/// The direction as a unit vector from b towards a.
fn direction(a: &Frame, b: &Frame, axis: Axis, sign: f64) -> Vec3 {
    let column = |R: &Mat3, i: u8| -> Vec3 { R.column(i as usize).into_owned() };
    match axis {
        Axis::FaceA(i) => column(&a.R, i) * sign,
        Axis::FaceB(j) => column(&b.R, j) * sign,
        Axis::Edges(i, j) => column(&a.R, i).cross(&column(&b.R, j)).normalize() * sign,
    }
}

/// s of one direction, the one that decided last time.
pub(super) fn separation_along(pair: &Pair, h_a: &Vec3, h_b: &Vec3, axis: Axis) -> f64 {
    pair.separation(h_a, h_b, axis).unwrap_or(f64::NEG_INFINITY)
}

/// What the fifteen directions say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Separated {
    pub(super) axis: Axis,
    /// Unit, from b towards a.
    pub(super) normal: Vec3,
    /// The largest s \[m\].
    pub(super) s: f64,
    /// Turns the axis into the normal.
    pub(super) sign: f64,
}

/// The direction with the largest s. Faces win ties, within rounding, over edges, and faces of a over those of b.
#[inline]
pub(super) fn separate(
    pair: &Pair,
    (a, h_a): (&Frame, &Vec3),
    (b, h_b): (&Frame, &Vec3),
    enough: f64,
) -> Separated {
    let size = h_a.amax() + h_b.amax();
    let mut best = (f64::NEG_INFINITY, Axis::FaceA(0), 1.0);
    if !pair.faces(h_a, h_b, 1e-12 * size, enough, &mut best) {
        pair.edges(h_a, h_b, 1e-9 * size, enough, &mut best);
    }
    let (s, axis, sign) = best;
    Separated { axis, normal: direction(a, b, axis, sign), s, sign }
}

type Best = (f64, Axis, f64);

/// Takes `new` if it is larger by more than `bonus`; true if that is enough.
#[inline(always)]
fn consider(best: &mut Best, (s, d, axis): (f64, f64, Axis), bonus: f64, enough: f64) -> bool {
    if s > best.0 + bonus {
        *best = (s, axis, if d < 0.0 { -1.0 } else { 1.0 });
    }
    best.0 > enough
}

impl Pair {
    /// All six faces, as [`separation`](Self::separation) has them; true if one is enough.
    #[inline(always)]
    fn faces(&self, h_a: &Vec3, h_b: &Vec3, bonus: f64, enough: f64, best: &mut Best) -> bool {
        let q = self.C.abs();
        for i in 0..3 {
            let reach = h_a[i] + h_b.x * q[(i, 0)] + h_b.y * q[(i, 1)] + h_b.z * q[(i, 2)];
            let d = self.d_A[i];
            if consider(best, (d.abs() - reach, d, Axis::FaceA(i as u8)), 0.0, enough) {
                return true;
            }
        }
        for j in 0..3 {
            let reach = h_b[j] + h_a.x * q[(0, j)] + h_a.y * q[(1, j)] + h_a.z * q[(2, j)];
            let d = self.d_B[j];
            if consider(best, (d.abs() - reach, d, Axis::FaceB(j as u8)), bonus, enough) {
                return true;
            }
        }
        false
    }

    /// All nine pairs of edges.
    #[inline(always)]
    fn edges(&self, h_a: &Vec3, h_b: &Vec3, bonus: f64, enough: f64, best: &mut Best) {
        const NEXT: [usize; 5] = [0, 1, 2, 0, 1];
        let (C, q) = (&self.C, self.C.abs());
        // The three edges of b side by side, and a fourth that is never in question.
        let row = |i: usize| Lanes::new([C[(i, 0)], C[(i, 1)], C[(i, 2)], 0.0]);
        let rows = [row(0), row(1), row(2)];
        let (h_m, h_n) = (
            Lanes::new([h_b.y, h_b.z, h_b.x, f64::INFINITY]),
            Lanes::new([h_b.z, h_b.x, h_b.y, f64::INFINITY]),
        );
        for i in 0..3 {
            let (k, l) = (NEXT[i + 1], NEXT[i + 2]);
            let d = Lanes::splat(self.d_A[l]) * rows[k] - Lanes::splat(self.d_A[k]) * rows[l];
            let reach = Lanes::splat(h_a[k]) * rows[l].abs()
                + Lanes::splat(h_a[l]) * rows[k].abs()
                + h_m * Lanes::new([q[(i, 2)], q[(i, 0)], q[(i, 1)], 1.0])
                + h_n * Lanes::new([q[(i, 1)], q[(i, 2)], q[(i, 0)], 1.0]);
            let overlap = d.abs() - reach;
            // Overlaps only grow when they are divided by the length, which is at most 1.
            let worse = overlap.simd_lt(Lanes::splat(0.0)) & overlap.simd_le(Lanes::splat(best.0 + bonus));
            let parallel = (rows[k] * rows[k] + rows[l] * rows[l]).simd_lt(Lanes::splat(PARALLEL * PARALLEL));
            if (worse | parallel).all() {
                continue;
            }
            for j in 0..3 {
                let (m, n) = (NEXT[j + 1], NEXT[j + 2]);
                let d = self.d_A[l] * C[(k, j)] - self.d_A[k] * C[(l, j)];
                let reach = h_a[k] * q[(l, j)] + h_a[l] * q[(k, j)] + h_b[m] * q[(i, n)] + h_b[n] * q[(i, m)];
                let overlap = d.abs() - reach;
                if overlap < 0.0 && overlap <= best.0 + bonus {
                    continue;
                }
                let length = (C[(k, j)] * C[(k, j)] + C[(l, j)] * C[(l, j)]).sqrt();
                if length < PARALLEL {
                    continue;
                }
                if consider(best, (overlap / length, d, Axis::Edges(i as u8, j as u8)), bonus, enough) {
                    return;
                }
            }
        }
    }
}
