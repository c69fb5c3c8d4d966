//! The numeric half of a factorisation: what one elimination does to its blocks.

use std::ops::Range;

use super::pattern::{Link, NONE, Pivot};
use super::{Block, Blocks, FactorReport};
use crate::math::simd::fma;
use crate::solve::dense::inverse_ldl;

pub(super) fn dot6(a: &[f64; 6], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |s, (&a, &b)| fma(a, b, s))
}

pub(super) fn norm(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |s, &v| fma(v, v, s)).sqrt()
}

#[inline(always)]
pub(super) fn rows<const R: usize, const C: usize>(numbers: &[f64]) -> &[[f64; C]; R] {
    numbers.as_chunks::<C>().0[..R].try_into().expect("R rows")
}

#[inline(always)]
pub(super) fn rows_mut<const R: usize, const C: usize>(numbers: &mut [f64]) -> &mut [[f64; C]; R] {
    (&mut numbers.as_chunks_mut::<C>().0[..R]).try_into().expect("R rows")
}

/// S = C Cᵀ becomes W = C⁻¹ (lower triangle, zero above); returns the pivots of S. A pivot that is not positive gives a zero
/// row.
#[inline(always)]
fn inverse_cholesky<const N: usize>(s: &mut [[f64; N]; N]) -> [f64; N] {
    let [d, mut inverse] = inverse_ldl(s, [0.0; N]);
    for k in 0..N {
        inverse[k] = inverse[k].sqrt();
    }
    for k in 0..N {
        for c in 0..N {
            s[k][c] = if c <= k { s[k][c] * inverse[k] } else { 0.0 };
        }
    }
    d
}

/// The same for a primal block; returns the number of bad pivots.
#[inline(always)]
pub(super) fn inverse_cholesky_primal(s: &mut [[f64; 6]; 6], touched: bool) -> usize {
    // Mass and inertia about the centre of mass: two halves that know nothing of each other.
    let apart = !touched && (0..3).all(|i| (3..6).all(|c| s[i][c] == 0.0 && s[c][i] == 0.0));
    let mut d = [0.0; 6];
    if apart {
        let mut a: [[f64; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|c| s[i][c]));
        let mut b: [[f64; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|c| s[i + 3][c + 3]));
        let (d_a, d_b) = (inverse_cholesky(&mut a), inverse_cholesky(&mut b));
        for i in 0..3 {
            (d[i], d[i + 3]) = (d_a[i], d_b[i]);
            for c in 0..3 {
                (s[i][c], s[i + 3][c + 3]) = (a[i][c], b[i][c]);
            }
        }
    } else {
        d = inverse_cholesky(s);
    }
    d.iter().filter(|&&d| !(d > 0.0 && d.is_finite())).count()
}

pub(super) fn pivot_primal(p: &Pivot, own: &mut [f64], mass: &Block, report: &mut FactorReport) {
    let w = rows_mut::<6, 6>(own);
    let m = rows::<6, 6>(mass);
    let mut s = *m;
    if p.touched {
        for i in 0..6 {
            for c in 0..6 {
                s[i][c] += w[i][c];
            }
        }
    }
    report.bad_pivots += inverse_cholesky_primal(&mut s, p.touched);
    *w = s;
}

/// Puts the coupling blocks of a pivot in place, on top of what earlier eliminations left there.
#[inline(always)]
pub(super) fn load<const N: usize>(
    own: &mut [f64],
    links: &[Link],
    jacobian: &(impl Blocks + ?Sized),
    primal: bool,
) {
    let mut at = N * N;
    for link in links {
        let n = link.size as usize;
        if link.source != NONE {
            let a = rows::<6, 6>(&jacobian[link.source as usize]);
            let to = &mut own[at..at + N * n];
            if primal {
                by_size!(link.size, C => put::<N, C>(to, link.touched, |i, c| a[c][i]));
            } else {
                put::<N, 6>(to, link.touched, |i, c| a[i][c]);
            }
        }
        at += N * n;
    }
}

#[inline(always)]
fn put<const R: usize, const C: usize>(to: &mut [f64], add: bool, from: impl Fn(usize, usize) -> f64) {
    let to = rows_mut::<R, C>(to);
    for i in 0..R {
        for c in 0..C {
            to[i][c] = if add { to[i][c] + from(i, c) } else { from(i, c) };
        }
    }
}

/// Inverts the pivot of a dual node and drops its dependent rows.
#[inline(always)]
pub(super) fn pivot_dual<const N: usize>(
    p: &Pivot,
    own: &mut [f64],
    regularization: &[f64; 6],
    given: &[f64],
    links: &[Link],
    blocks: (&(impl Blocks + ?Sized), Range<usize>),
    relative: f64,
    report: &mut FactorReport,
) {
    let m = p.rows as usize;
    let mut s = if p.touched { *rows::<N, N>(own) } else { [[0.0; N]; N] };
    let mut scale = [1.0; N];
    for i in 0..N {
        if i < m {
            s[i][i] += regularization[i];
            scale[i] = if p.touched { given[i] } else { 0.0 } + regularization[i];
        } else {
            for c in 0..N {
                (s[i][c], s[c][i]) = (0.0, 0.0);
            }
            s[i][i] = 1.0;
        }
    }
    let mut w = s;
    let d = inverse_cholesky(&mut w);
    let mut ratio = 1.0_f64;
    let mut safe = true;
    for i in 0..N {
        // The factor 1000 leaves doubtful cases to the search for the best rows.
        safe &= d[i] > 1e3 * relative * scale[i] && d[i].is_finite();
        ratio = ratio.min(d[i] / scale[i]);
    }
    if safe {
        report.smallest_pivot_ratio = report.smallest_pivot_ratio.min(ratio);
    } else {
        w = drop_dependent(s, m, &scale, relative, own, links, blocks, report);
    }
    for i in m..N {
        w[i] = [0.0; N];
    }
    *rows_mut::<N, N>(own) = w;
}

/// As [`inverse_cholesky`], for the rows that are left when dependent ones are taken out. Which rows depend is found
/// with diagonal pivoting: the row that has kept most of its scale goes next.
#[inline(never)]
fn drop_dependent<const N: usize>(
    s: [[f64; N]; N],
    m: usize,
    scale: &[f64; N],
    relative: f64,
    own: &[f64],
    links: &[Link],
    blocks: (&(impl Blocks + ?Sized), Range<usize>),
    report: &mut FactorReport,
) -> [[f64; N]; N] {
    let mut t = s;
    let mut kept = [false; N];
    for _ in 0..m {
        let mut best = (relative, N);
        for i in (0..m).filter(|&i| !kept[i]) {
            let ratio = t[i][i] / scale[i];
            if ratio > best.0 && ratio.is_finite() {
                best = (ratio, i);
            }
        }
        let (ratio, k) = best;
        if k == N {
            break;
        }
        kept[k] = true;
        report.smallest_pivot_ratio = report.smallest_pivot_ratio.min(ratio);
        for i in (0..m).filter(|&i| !kept[i]) {
            let l = t[i][k] / t[k][k];
            for c in 0..m {
                t[i][c] = fma(-l, t[k][c], t[i][c]);
            }
        }
    }
    let mut w = s;
    for i in (0..m).filter(|&i| !kept[i]) {
        report.weak_rows += 1;
        report.bad_pivots += !s[i][i].is_finite() as usize;
        report.early_rows +=
            is_early::<N>(i, &s, &kept, scale, own, links, (blocks.0, blocks.1.clone())) as usize;
        for c in 0..N {
            (w[i][c], w[c][i]) = (0.0, 0.0);
        }
        w[i][i] = 1.0;
    }
    inverse_cholesky(&mut w);
    for i in (0..m).filter(|&i| !kept[i]) {
        w[i] = [0.0; N];
    }
    w
}

/// Whether dropped row i still pulls on nodes to come: what is left of its blocks, once the kept rows are eliminated,
/// is not small against the row itself.
fn is_early<const N: usize>(
    i: usize,
    s: &[[f64; N]; N],
    kept: &[bool; N],
    scale: &[f64; N],
    own: &[f64],
    links: &[Link],
    blocks: (&(impl Blocks + ?Sized), Range<usize>),
) -> bool {
    // Row i of S and of the blocks, minus multiples of the kept rows.
    let mut t = *s;
    let mut combination = [0.0; N];
    combination[i] = 1.0;
    let mut factors = [[0.0; N]; N];
    for k in (0..N).filter(|&k| kept[k]) {
        for r in (0..N).filter(|&r| r == i || (kept[r] && r > k)) {
            let l = t[r][k] / t[k][k];
            factors[r][k] = l;
            for c in 0..N {
                t[r][c] = fma(-l, t[k][c], t[r][c]);
            }
        }
    }
    for k in (0..N).rev().filter(|&k| kept[k]) {
        let later: f64 = (k + 1..N).filter(|&r| kept[r]).map(|r| factors[r][k] * combination[r]).sum();
        combination[k] = -factors[i][k] - later;
    }
    let largest = |row: &[f64]| row.iter().fold(0.0_f64, |s, v| s.max(v.abs()));
    let size = blocks.1.map(|b| largest(&rows::<6, 6>(&blocks.0[b])[i])).fold(0.0, f64::max);
    let mut at = N * N;
    for link in links {
        let n = link.size as usize;
        for c in 0..n {
            let left: f64 = (0..N).map(|r| combination[r] * own[at + r * n + c]).sum();
            if left.abs() > 1e-5 * if link.primal { size } else { scale[i] } {
                return true;
            }
        }
        at += N * n;
    }
    false
}

/// H = W K_vu for each later neighbour, then K_uw −= σ HᵤᵀH_w for each pair of them.
#[inline(always)]
pub(super) fn eliminate<const N: usize>(
    p: &Pivot,
    own: &mut [f64],
    links: &[Link],
    targets: &[u32],
    later: &mut [f64],
    given: &mut [f64],
) {
    let (w, blocks) = own.split_at_mut(N * N);
    let w = rows::<N, N>(w);
    let mut at = 0;
    for link in links {
        by_size!(link.size, C => triangle_times::<N, C>(w, &mut blocks[at..at + C * N]));
        at += link.size as usize * N;
    }
    // Diagonal blocks of dual nodes are kept with their sign turned, so that they are positive.
    let sign = if p.primal { -1.0 } else { 1.0 };
    let (mut at, mut t) = (0, 0);
    for (i, u) in links.iter().enumerate() {
        let n = u.size as usize;
        let h_u = &blocks[at..at + N * n];
        let diagonal = if u.primal { sign } else { -sign };
        let (to, first) = target(targets[t], p.end, later);
        let mut squares = [0.0; 6];
        by_size!(u.size, C => {
            let sum = product::<N, C, C>(h_u, h_u, to, diagonal, first);
            (0..C).for_each(|c| squares[c] = sum[c][c]);
        });
        if !u.primal {
            let given = &mut given[u.slot as usize..u.slot as usize + n];
            if first {
                given.fill(0.0);
            }
            if p.primal {
                given.iter_mut().zip(squares).for_each(|(g, s)| *g += s);
            }
        }
        t += 1;
        at += N * n;
        let mut from = at;
        for v in &links[i + 1..] {
            let n = v.size as usize;
            let h_w = &blocks[from..from + N * n];
            from += N * n;
            let (to, first) = target(targets[t], p.end, later);
            t += 1;
            by_size!(u.size, C => by_size!(v.size, L => fill::<N, C, L>(h_u, h_w, to, sign, first)));
        }
    }
}

/// [`product`] between two different neighbours, which trees do not need.
#[inline(never)]
fn fill<const K: usize, const E: usize, const L: usize>(
    u: &[f64],
    v: &[f64],
    to: &mut [f64],
    sign: f64,
    first: bool,
) {
    product::<K, E, L>(u, v, to, sign, first);
}

#[inline(always)]
fn target(code: u32, base: u32, later: &mut [f64]) -> (&mut [f64], bool) {
    (&mut later[(code / 2 - base) as usize..], code % 2 == 1)
}

/// B ← W B with lower triangular W.
#[inline(always)]
fn triangle_times<const N: usize, const C: usize>(w: &[[f64; N]; N], b: &mut [f64]) {
    let b = rows_mut::<N, C>(b);
    let mut h = [[0.0; C]; N];
    for k in 0..N {
        for l in 0..=k {
            for c in 0..C {
                h[k][c] = fma(w[k][l], b[l][c], h[k][c]);
            }
        }
    }
    *b = h;
}

/// to += sign UᵀV, or to = sign UᵀV if nothing is there yet. Returns UᵀV.
#[inline(always)]
fn product<const K: usize, const E: usize, const L: usize>(
    u: &[f64],
    v: &[f64],
    to: &mut [f64],
    sign: f64,
    first: bool,
) -> [[f64; L]; E] {
    let (u, v) = (rows::<K, E>(u), rows::<K, L>(v));
    let to = rows_mut::<E, L>(to);
    let mut sum = [[0.0; L]; E];
    for k in 0..K {
        for i in 0..E {
            for c in 0..L {
                sum[i][c] = fma(u[k][i], v[k][c], sum[i][c]);
            }
        }
    }
    for i in 0..E {
        for c in 0..L {
            to[i][c] = if first { sign * sum[i][c] } else { fma(sign, sum[i][c], to[i][c]) };
        }
    }
    sum
}

/// The six numbers of a node.
#[inline(always)]
fn side<'a>(primal: bool, node: u32, x: &'a mut [f64], y: &'a mut [f64]) -> &'a mut [f64; 6] {
    let list = if primal { x } else { y };
    &mut list.as_chunks_mut::<6>().0[node as usize]
}

#[inline(always)]
pub(super) fn forwards<const N: usize>(p: &Pivot, own: &[f64], links: &[Link], x: &mut [f64], y: &mut [f64]) {
    let (w, mut blocks) = own.split_at(N * N);
    let w = rows::<N, N>(w);
    let mine = side(p.primal, p.node, x, y);
    let mut z = [0.0; N];
    for k in 0..N {
        for l in 0..=k {
            z[k] = fma(w[k][l], mine[l], z[k]);
        }
    }
    mine[..N].copy_from_slice(&z);
    let sign = if p.primal { -1.0 } else { 1.0 };
    for k in 0..N {
        z[k] *= sign;
    }
    for link in links {
        let to = side(link.primal, link.node, x, y);
        by_size!(link.size, C => add_transposed::<N, C>(blocks, &z, to));
        blocks = &blocks[link.size as usize * N..];
    }
}

/// to += Hᵀ z.
#[inline(always)]
fn add_transposed<const N: usize, const C: usize>(h: &[f64], z: &[f64; N], to: &mut [f64]) {
    let h = rows::<N, C>(h);
    let to: &mut [f64; C] = (&mut to[..C]).try_into().expect("C numbers");
    for k in 0..N {
        for c in 0..C {
            to[c] = fma(h[k][c], z[k], to[c]);
        }
    }
}

#[inline(always)]
pub(super) fn backwards<const N: usize>(
    p: &Pivot,
    own: &[f64],
    links: &[Link],
    x: &mut [f64],
    y: &mut [f64],
) {
    let (w, mut blocks) = own.split_at(N * N);
    let w = rows::<N, N>(w);
    let mut z = [0.0; N];
    z.copy_from_slice(&side(p.primal, p.node, x, y)[..N]);
    for link in links {
        let from = side(link.primal, link.node, x, y);
        by_size!(link.size, C => subtract_times::<N, C>(blocks, from, &mut z));
        blocks = &blocks[link.size as usize * N..];
    }
    let sign = if p.primal { 1.0 } else { -1.0 };
    let mut solution = [0.0; N];
    for k in 0..N {
        for c in 0..N {
            solution[c] = fma(w[k][c], z[k], solution[c]);
        }
    }
    let mine = side(p.primal, p.node, x, y);
    for c in 0..N {
        mine[c] = sign * solution[c];
    }
    mine[N..].fill(0.0);
}

/// z −= H x.
#[inline(always)]
fn subtract_times<const N: usize, const C: usize>(h: &[f64], x: &[f64], z: &mut [f64; N]) {
    let h = rows::<N, C>(h);
    let x: &[f64; C] = x[..C].try_into().expect("C numbers");
    for k in 0..N {
        for c in 0..C {
            z[k] = fma(-h[k][c], x[c], z[k]);
        }
    }
}
